package storage_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"deeplake/core/storage"
	"deeplake/core/storage/cache"
	"deeplake/core/storage/limit"
	"deeplake/core/storage/mem"
	"deeplake/core/storage/prove"
	"deeplake/core/storage/retry"
)

// able is a provider with the abilities of an object store.
type able struct{ storage.Provider }

func (able) Range(context.Context, string, int64, int64, string) (storage.Body, error) {
	return body{strings.NewReader("abc")}, nil
}

func (able) CopyFrom(context.Context, storage.Provider, string, string) (bool, error) {
	return true, nil
}

func (able) Service() (string, bool) { return "service", true }
func (able) Identity() string        { return "identity" }
func (able) Location() string        { return "location" }

type body struct{ *strings.Reader }

func (b body) Len() int64  { return b.Size() }
func (body) Tag() string   { return "" }
func (body) Close() error  { return nil }
func (b body) Size() int64 { return b.Reader.Size() }

// decorators returns every decorator of the library. In production they stand around each other in
// this order.
func decorators() map[string]func(storage.Provider) storage.Provider {
	each := map[string]func(storage.Provider) storage.Provider{
		"limit": func(p storage.Provider) storage.Provider { return limit.New(storage.Settings{}).Provider(p) },
		"retry": func(p storage.Provider) storage.Provider { return retry.New(retry.Options{}).Provider(p) },
		"prove": func(p storage.Provider) storage.Provider { return new(prove.Proofs).Provider(p) },
		"cache": func(p storage.Provider) storage.Provider { return cache.New(p, cache.NewMemory(1<<20), nil) },
	}
	each["all"] = func(p storage.Provider) storage.Provider {
		for _, name := range []string{"limit", "retry", "prove", "cache"} {
			p = each[name](p)
		}
		return p
	}
	return each
}

func memory(t *testing.T) storage.Provider {
	t.Helper()
	p, err := new(mem.Space).Open(t.Context(), "x", storage.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAbilitiesThroughDecorators(t *testing.T) {
	t.Parallel()
	for name, decorate := range decorators() {
		with, without := decorate(able{memory(t)}), decorate(memory(t))
		defer with.Close()
		defer without.Close()
		if r, ok := storage.As[storage.Ranger](with); !ok {
			t.Errorf("%s hides the Ranger", name)
		} else if b, err := r.Range(t.Context(), "k", 0, 3, ""); err != nil {
			t.Errorf("%s: range: %v", name, err)
		} else if got, err := io.ReadAll(b); string(got) != "abc" || err != nil || b.Close() != nil {
			t.Errorf("%s: a range has %q, %v", name, got, err)
		}
		if c, ok := storage.As[storage.Copier](with); !ok {
			t.Errorf("%s hides the Copier", name)
		} else if done, err := c.CopyFrom(t.Context(), with, "a", "b"); !done || err != nil {
			t.Errorf("%s: copy: %v, %v", name, done, err)
		}
		if h, ok := storage.As[storage.Hosted](with); !ok {
			t.Errorf("%s hides the service", name)
		} else if service, known := h.Service(); service != "service" || !known {
			t.Errorf("%s: service %q, %v", name, service, known)
		}
		if got := storage.Location(with); got != "location" {
			t.Errorf("%s: location %q", name, got)
		}
		if storage.Remote(without) {
			t.Errorf("%s makes a Ranger of a store that is none", name)
		}
		if _, ok := storage.As[storage.Copier](without); ok {
			t.Errorf("%s makes a Copier of a store that is none", name)
		}
		if _, err := storage.RangerOf(without).Range(t.Context(), "k", 0, 1, ""); err == nil {
			t.Errorf("%s: a range of a store without ranges succeeds", name)
		}
	}
}
