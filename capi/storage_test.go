package main

import (
	"strings"
	"testing"

	"deeplake/core/errs"
)

func TestReach(t *testing.T) {
	t.Parallel()
	o, err := reach("op", `{"storage": {"endpoint": "http://x", "secret_access_key": "t0psecret", "path_style": true, "headers": {"A": "b"}}, "environ": {"HOME": "/h"}}`)
	if err != nil {
		t.Fatal(err)
	}
	s := o.Settings
	if s.Endpoint != "http://x" || s.SecretAccessKey.Reveal() != "t0psecret" || s.PathStyle == nil || !*s.PathStyle || o.Environ["HOME"] != "/h" {
		t.Errorf("read %+v", o)
	}
	o, err = reach("op", `{"link_storage": {"s3://b": {"timeout": 7}, "https://a": null}, "named": ["s3://c/"]}`)
	if err != nil || len(o.Links) != 2 || o.Links[0].Prefix != "https://a" || o.Links[0].Settings != nil || o.Links[1].Settings.Timeout != 7 || len(o.Named) != 1 {
		t.Errorf("links: %+v, %v", o, err)
	}
	if o, err = reach("op", ""); err != nil || o.Environ != nil {
		t.Errorf("nothing: %+v, %v", o, err)
	}
}

func TestWrongSettingsShowNoSecret(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{`{"storage": {"secret_acces_key": "73570"}}`, `storage settings: unknown option "secret_acces_key"`},
		{`{"storage": {"secret_acces_key": "73570"}}`, `did you mean "secret_access_key"?`},
		{`{"storage": {"secret_access_key": 73570}}`, `option "secret_access_key" is a number, want a string`},
		{`{"storage": {"headers": {"A": 73570}}}`, `is a number, want a string`},
		{`{"storage": {"secret_access_key": "73570}}`, "no JSON object"},
		{`{"storage": "73570"}`, "storage settings"},
		{`{"storage": {"timeout": "73570"}}`, `option "timeout" is a string, want a number`},
		{`{"link_storage": {"s3://b": {"bearer_token": 73570}}}`, `link_storage: option "bearer_token" is a number`},
		{`{"link_storage": {"bucket": {"bearer_token": "73570"}}}`, `"bucket" is no prefix of URLs`},
		{`{"environ": {"AWS_SECRET_ACCESS_KEY": 73570}}`, "is a number, want a string"},
		{`{"credentials": "73570"}`, `op: unknown option "credentials" (want one of ["storage" "link_storage" "named" "environ"])`},
	} {
		_, err := reach("op", c.text)
		if !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "73570") {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
}
