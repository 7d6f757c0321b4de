package v4

import (
	"context"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
)

// unlisted is a store that lists nothing, as web servers.
type unlisted struct{ storage.Provider }

func (unlisted) List(context.Context, string, string, func(storage.Object) bool) error {
	return errs.New(errs.Unsupported, "it lists nothing")
}

// refused is a store that fails.
type refused struct {
	storage.Provider
	kind errs.Kind
}

func (r refused) List(context.Context, string, string, func(storage.Object) bool) error {
	return errs.New(r.kind, "it is refused")
}

func TestOpen(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	open := func(keys ...string) storage.Provider {
		p, err := (&mem.Space{}).Open(ctx, "x", storage.Options{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			if err := p.Put(ctx, key, []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
		return p
	}
	for name, c := range map[string]struct {
		p    storage.Provider
		want bool
	}{
		"a dataset":                    {open("_deeplake_log/_meta/0000000001c00000000.jsonl"), true},
		"a dataset on a web server":    {unlisted{open("_deeplake_log/_meta/next_base")}, true},
		"nothing":                      {open(), false},
		"nothing on a web server":      {unlisted{open("tsf.json")}, false},
		"others":                       {open("tsf.json", "_deeplake_log/_meta/readme.txt", "_deeplake_log/x.jsonl"), false},
		"a folder that is not visible": {refused{open(), errs.Denied}, false},
	} {
		p, err := Format{}.Open(ctx, c.p, nil)
		if p != nil || (err != nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && (!errs.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "deeplake.deeplake4(uri, python=...)") || !strings.Contains(err.Error(), "_deeplake_log/_meta/*.jsonl")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (Format{}).Open(ctx, refused{open(), errs.Storage}, nil); !errs.Is(err, errs.Storage) {
		t.Error(err)
	}
}
