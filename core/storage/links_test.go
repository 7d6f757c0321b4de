package storage

import (
	"strings"
	"testing"

	"deeplake/core/errs"
)

// TestLinkPolicy is the table of docs/storage.md about the reach of a dataset.
func TestLinkPolicy(t *testing.T) {
	t.Parallel()
	secret := Settings{BearerToken: "hunter2", Headers: map[string]Secret{"X-Key": "hunter2"}, SecretAccessKey: "hunter2", AccessKeyID: "me",
		CustomerKey: "hunter2", Endpoint: "https://minio.example", Timeout: 7}
	other := Settings{BearerToken: "other"}
	rules := []LinkRule{
		{"https://cdn.example/a", &other}, {"https://cdn.example/a/private", nil}, {"http://", &Settings{}}, {"file:///data", &Settings{}},
		{"gcs://pictures", &other},
	}
	for _, c := range []struct {
		home, to string
		rules    []LinkRule
		// "own", "plain", "other", "" for refused; "!" for a host that must be public
		want string
	}{
		{"s3://mine/set", "s3://mine/pictures/x.jpg", nil, "own"},
		{"s3://mine/set", "s3://other/x.jpg", nil, ""},
		{"s3://mine/set", "s3://mine.evil/x.jpg", nil, ""},
		{"s3://mine/set", "gs://mine/x.jpg", nil, ""},
		{"gcs://mine/set", "gs://mine/x.jpg", nil, "own"},
		{"s3://mine/set", "https://mine/x.jpg", nil, ""},
		{"s3://mine/set", "file:///etc/passwd", nil, ""},
		{"s3://mine/set", "mem://x/y", nil, ""},
		{"https://a.example/set", "file:///etc/passwd", nil, ""},
		{"https://a.example/set", "https://a.example/x.jpg", nil, "own"},
		{"https://a.example/set", "https://A.example:443/x.jpg", nil, "own"},
		{"https://a.example/set", "http://a.example/x.jpg", nil, ""},
		{"https://a.example/set", "https://a.example:8443/x.jpg", nil, ""},
		{"https://a.example/set", "https://a.example@evil.example/x.jpg", nil, ""},
		{"https://a.example/set", "http://169.254.169.254/latest", nil, ""},
		{"/sets/own", "file:///data/x.jpg", nil, "own"},
		{"file:///sets/own", "/data/x.jpg", nil, "own"},
		{"mem://set", "file:///data/x.jpg", nil, "own"},
		{"/sets/own", "https://a.example/x.jpg", nil, ""},
		{"/sets/own", "s3://mine/x.jpg", nil, ""},
		{"", "s3://mine/x.jpg", nil, ""},

		{"s3://mine/set", "https://cdn.example/a/x.jpg", rules, "other"},
		{"s3://mine/set", "https://cdn.example/a", rules, "other"},
		{"s3://mine/set", "https://cdn.example/ab/x.jpg", rules, ""},
		{"s3://mine/set", "https://cdn.example/a/../x.jpg", rules, ""},
		{"s3://mine/set", "https://cdn.example/a/%2e%2e/x.jpg", rules, ""},
		{"s3://mine/set", "https://cdn.example/a/private/x.jpg", rules, ""},
		{"https://cdn.example/set", "https://cdn.example/a/private/x.jpg", rules, ""},
		{"https://cdn.example/set", "https://cdn.example/a/x.jpg", rules, "other"},
		{"s3://mine/set", "http://evil.example/x.jpg", rules, "plain!"},
		{"s3://mine/set", "file:///data/x.jpg", rules, "plain"},
		{"s3://mine/set", "file:///data/../etc/passwd", rules, ""},
		{"s3://mine/set", "file:///database/x.jpg", rules, ""},
		{"s3://mine/set", "gs://pictures/x.jpg", rules, "other"},
	} {
		p := NewLinkPolicy(c.home, Options{Settings: secret, Links: c.rules})
		g, err := p.Stored(c.to)
		got := map[Secret]string{"hunter2": "own", "other": "other", "": "plain"}[g.Settings.BearerToken]
		if g.Public {
			got += "!"
		}
		if err != nil {
			got = ""
			if !errs.Is(err, errs.Denied) || !strings.Contains(err.Error(), "link_storage") || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s to %s: %v", c.home, c.to, err)
			}
		}
		if got != c.want {
			t.Errorf("%s to %s is %q, want %q (%v)", c.home, c.to, got, c.want, err)
		}
	}
}

// TestNamedPlaces: places that the user names are reached anywhere, and secrets stay with their
// server.
func TestNamedPlaces(t *testing.T) {
	t.Parallel()
	secret := Settings{BearerToken: "hunter2", SecretAccessKey: "hunter2", AccessKeyID: "me", Endpoint: "https://minio.example", Timeout: 7}
	for _, c := range []struct {
		home, to string
		own      bool
	}{
		{"s3://mine/set", "s3://theirs/x", true}, // the same endpoint
		{"s3://mine/set", "gs://theirs/x", false},
		{"s3://mine/set", "https://minio.example/x", false},
		{"/set", "s3://theirs/x", false},
		{"https://a.example/set", "https://a.example/other", true},
		{"https://a.example/set", "https://b.example/other", false},
		{"https://a.example/set", "http://a.example/other", false},
	} {
		o := NewLinkPolicy(c.home, Options{Settings: secret}).Named(c.to)
		if own := o.Settings.BearerToken != ""; own != c.own || o.Settings.Timeout != 7 || o.Public {
			t.Errorf("%s names %s: %+v, want its own secrets: %v", c.home, c.to, o.Settings, c.own)
		}
		if o.Settings.BearerToken == "" && (o.Settings.SecretAccessKey != "" || o.Settings.AccessKeyID != "" || o.Settings.Endpoint != "") {
			t.Errorf("%s names %s: got %+v", c.home, c.to, o.Settings)
		}
	}
}

func TestLinkRulesAreChecked(t *testing.T) {
	t.Parallel()
	for _, prefixes := range [][]string{{"bucket"}, {"://x"}, {"https://a/../b"}, {"s3://a", "s3://a/"}, {"gs://a", "gcs://a"}, {"https://%zz"}} {
		var rules []LinkRule
		for _, p := range prefixes {
			rules = append(rules, LinkRule{Prefix: p})
		}
		if err := CheckLinkRules(rules); !errs.Is(err, errs.Invalid) {
			t.Errorf("%q: %v", prefixes, err)
		}
	}
	if err := CheckLinkRules([]LinkRule{{"https://", nil}, {"file:///", nil}, {"s3://a/b", nil}, {"s3://a/bc", nil}}); err != nil {
		t.Error(err)
	}
}

func TestRedactURL(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://h/x?X-Amz-Signature=s3cret&id=5":      "https://h/x?X-Amz-Signature=***&id=5",
		"https://h/x?a=1;sig=s3cret#f":                 "https://h/x?a=1;sig=***#f",
		"https://me:s3cret@h/x":                        "https://***@h/x",
		"https://h/x?access_token=s3cret&Token=s3cret": "https://h/x?access_token=***&Token=***",
		"s3://b/x?sig=1":                               "s3://b/x?sig=1",
		"https://h/x@y":                                "https://h/x@y",
		"/a/b?c=d":                                     "/a/b?c=d",
	} {
		if got := RedactURL(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}

func FuzzLinkPolicy(f *testing.F) {
	f.Add("https://a.example/x", "https://a.example/set")
	f.Add("file://../x", "s3://b/c")
	f.Add("https://h/x?sig=1", "gs://b")
	f.Fuzz(func(t *testing.T, to, home string) {
		p := NewLinkPolicy(home, Options{Settings: Settings{BearerToken: "hunter2"}})
		if g, err := p.Stored(to); err == nil {
			a, _ := parseAddress(to)
			b, _ := parseAddress(home)
			if a.isLocal() != b.isLocal() || !a.isLocal() && a.host != b.host {
				t.Errorf("%q leads to %q: %+v", home, to, g)
			}
		}
		RedactURL(to)
		Presigned(to)
	})
}
