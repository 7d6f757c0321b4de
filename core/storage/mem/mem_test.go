package mem_test

import (
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/storage/storagetest"
)

func open(t *testing.T, s *mem.Space, name string) storage.Provider {
	t.Helper()
	p, err := s.Open(t.Context(), name, storage.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, func(t *testing.T) (storage.Provider, func() storage.Provider) {
		var space mem.Space
		return open(t, &space, "conformance"), func() storage.Provider { return open(t, &space, "conformance") }
	})
}

func TestSpaceKeepsNamesApart(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var one, two mem.Space
	if err := open(t, &one, "a").Put(ctx, "k", []byte("v")); err != nil {
		t.Fatal(err)
	}
	if got, err := open(t, &one, "a").Get(ctx, "k"); err != nil || string(got) != "v" {
		t.Errorf("same name, same space: got %q, %v", got, err)
	}
	for what, p := range map[string]storage.Provider{"other name": open(t, &one, "b"), "other space": open(t, &two, "a")} {
		if _, err := p.Get(ctx, "k"); !errs.Is(err, errs.NotFound) {
			t.Errorf("%s: got %v, want not found", what, err)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	var space mem.Space
	if _, err := space.Open(t.Context(), "a", storage.Options{}); !errs.Is(err, errs.NotFound) || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("open of a missing store: got %v, want not found that names it", err)
	}
	open(t, &space, "a")
	p, err := space.Open(t.Context(), "a", storage.Options{})
	if err != nil || p.URI() != "mem://a" {
		t.Errorf("open of an existing store: got %v, %v", p, err)
	}
	if _, err := space.Open(t.Context(), "", storage.Options{Create: true}); !errs.Is(err, errs.Invalid) {
		t.Errorf("open without a name: got %v, want invalid", err)
	}
	registry := storage.Registry{"mem": space.Open}
	if p, err := registry.Open(t.Context(), "mem://a", storage.Options{}); err != nil || p.URI() != "mem://a" {
		t.Errorf("open by registry: got %v, %v", p, err)
	}
}
