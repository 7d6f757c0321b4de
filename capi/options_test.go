package main

import (
	"strings"
	"testing"

	"deeplake/core/errs"
)

type wishes struct {
	Size  int               `json:"batch_size"`
	Names []string          `json:"names"`
	Map   map[string]string `json:"decode"`
	Drop  bool              `json:"drop_last"`
}

func TestParse(t *testing.T) {
	t.Parallel()
	var o wishes
	if err := parse("op", ` {"batch_size": 3, "names": ["a"], "decode": {"a": "bytes"}} `, &o); err != nil {
		t.Fatal(err)
	}
	if o.Size != 3 || len(o.Names) != 1 || o.Map["a"] != "bytes" {
		t.Errorf("parsed %+v", o)
	}
	if err := parse("op", " ", &o); err != nil || o.Size != 3 {
		t.Errorf("nothing: %v, %+v", err, o)
	}
	for _, c := range []struct{ name, text, want string }{
		{"unknown key", `{"batchsize": 3}`, `unknown option "batchsize" (want one of ["batch_size" "names" "decode" "drop_last"]); did you mean "batch_size"?`},
		{"wrong type", `{"batch_size": "3"}`, `option "batch_size" is a string, want a number`},
		{"fraction", `{"batch_size": 1.5}`, `option "batch_size"`},
		{"too large", `{"batch_size": 1e99}`, `option "batch_size"`},
		{"list", `{"names": 1}`, `want a list`},
		{"object", `{"decode": []}`, `want an object`},
		{"bool", `{"drop_last": 1}`, `want true or false`},
		{"no object", `[1]`, "op: "},
		{"cut", `{"batch_size": 1`, "no JSON object"},
		{"behind", `{} {}`, "something follows"},
	} {
		err := parse("op", c.text, &wishes{})
		if !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"batch_size": 3}`)
	f.Add(`{"x": "\ud800"}`)
	f.Fuzz(func(t *testing.T, text string) {
		if err := parse("op", text, &wishes{}); err != nil && !errs.Is(err, errs.Invalid) {
			t.Errorf("%v is no errs.Invalid", err)
		}
	})
}
