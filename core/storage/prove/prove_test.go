package prove_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/storage/prove"
	"deeplake/core/storage/storagetest"
)

// hosted is a service of which a test says how it treats conditions.
type hosted struct {
	storage.Provider
	name    string
	known   bool
	ignores bool // the condition
	// how many writes are done and answered errs.Exists: their first answer was lost
	lies   int
	denies bool                          // every write
	lacks  int                           // how many conditions are refused
	full   bool                          // every write is refused
	after  func(key string, data []byte) // runs after a conditional write
	writes atomic.Int64
}

func (h *hosted) Service() (string, bool) { return h.name, h.known }

func (h *hosted) Put(ctx context.Context, key string, data []byte) error {
	h.writes.Add(1)
	if h.full {
		return errs.Op("put", key).New(errs.Storage, "the quota is used up")
	}
	return h.Provider.Put(ctx, key, data)
}

func (h *hosted) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	h.writes.Add(1)
	if h.denies {
		return errs.Op("put-if-absent", key).New(errs.Denied, "no permission")
	}
	if h.full || h.lacks > 0 {
		h.lacks--
		return errs.Op("put-if-absent", key).New(errs.Unsupported, "not implemented")
	}
	var err error
	if h.ignores {
		err = h.Provider.Put(ctx, key, data)
	} else {
		err = h.Provider.PutIfAbsent(ctx, key, data)
	}
	if err == nil && h.after != nil {
		h.after(key, data)
	}
	if err == nil && h.lies > 0 {
		h.lies--
		return errs.Op("put-if-absent", key).New(errs.Exists, "it exists")
	}
	return err
}

func memory(t *testing.T, space *mem.Space) storage.Provider {
	t.Helper()
	p, err := space.Open(t.Context(), "bucket", storage.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, func(t *testing.T) (storage.Provider, func() storage.Provider) {
		space, proofs := new(mem.Space), new(prove.Proofs)
		open := func() storage.Provider {
			return proofs.Provider(&hosted{Provider: memory(t, space), name: "https://store/bucket"})
		}
		return open(), open
	})
}

// TestIgnoredConditionsAreRefused: every way to write is refused, by name, and nothing is left.
func TestIgnoredConditionsAreRefused(t *testing.T) {
	t.Parallel()
	ctx, inner := t.Context(), memory(t, new(mem.Space))
	p := new(prove.Proofs).Provider(&hosted{Provider: inner, name: "https://store/bucket", ignores: true})
	_, createErr := storage.Create(ctx, p, "data/a")
	for op, err := range map[string]error{
		"put": p.Put(ctx, "map/a", nil), "put-if-absent": p.PutIfAbsent(ctx, "log/1", nil), "create": createErr,
	} {
		if !errs.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "https://store/bucket") || !strings.Contains(err.Error(), "copy the dataset") {
			t.Errorf("%s: got %v, want unsupported, the store and the way out", op, err)
		}
	}
	if err := inner.List(ctx, "", "", func(o storage.Object) bool { t.Errorf("%q is left", o.Key); return true }); err != nil {
		t.Fatal(err)
	}
}

// TestProofIsMadeOnce: one bucket proves itself once, with one write where a probe stands. Reading
// proves nothing.
func TestProofIsMadeOnce(t *testing.T) {
	t.Parallel()
	ctx, inner, proofs := t.Context(), memory(t, new(mem.Space)), new(prove.Proofs)
	write := func(proofs *prove.Proofs, name, key string, want int64) {
		t.Helper()
		h := &hosted{Provider: inner, name: name}
		p := proofs.Provider(h)
		if _, err := p.Get(ctx, "data/none"); !errs.Is(err, errs.NotFound) || h.writes.Load() != 0 {
			t.Errorf("a read: %v, and %d writes", err, h.writes.Load())
		}
		if err := p.PutIfAbsent(ctx, key, nil); err != nil || h.writes.Load() != want {
			t.Errorf("%s %s: %v with %d writes, want %d", name, key, err, h.writes.Load(), want)
		}
	}
	write(proofs, "one", "log/1", 3)            // the probe, its refusal, the record
	write(proofs, "one", "log/2", 1)            // proven
	write(proofs, "two", "log/3", 2)            // the probe stands
	write(new(prove.Proofs), "one", "log/4", 2) // another process
	if p := proofs.Provider(inner); p != inner {
		t.Errorf("a provider that is not hosted became a %T", p)
	}
}

func TestLostAnswersProveNothing(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for lies, want := range map[int]error{1: nil, 2: nil} {
		h := &hosted{Provider: memory(t, new(mem.Space)), name: "store", lies: lies}
		if err := new(prove.Proofs).Provider(h).Put(ctx, "map/a", nil); !errors.Is(err, want) {
			t.Errorf("%d answers lost: %v", lies, err)
		}
	}
	// A store that answers as if it refused, and writes all the same.
	h := &hosted{Provider: memory(t, new(mem.Space)), name: "store", ignores: true, lies: 100}
	if err := new(prove.Proofs).Provider(h).Put(ctx, "map/a", nil); !errs.Is(err, errs.Unsupported) {
		t.Errorf("a store that refuses and writes: %v", err)
	}
}

// TestRefusedConditions: a store that refuses the condition and takes the write without it is named
// for that. Any other reason of a refusal stays the error, and one that passes is none.
func TestRefusedConditions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		h    *hosted
		kind errs.Kind
		want string
	}{
		"always":        {&hosted{name: "https://store/bucket", lacks: 1000}, errs.Unsupported, `"https://store/bucket" takes an object and refuses the same one on the condition that it is absent; two writers`},
		"Google by S3":  {&hosted{name: "https://storage.googleapis.com/bucket", lacks: 1000}, errs.Unsupported, `open it as "gs://bucket"`},
		"once":          {&hosted{name: "store", lacks: 1}, 0, ""},
		"another cause": {&hosted{name: "store", full: true}, errs.Storage, "the quota is used up"},
	} {
		inner := memory(t, new(mem.Space))
		c.h.Provider = inner
		err := new(prove.Proofs).Provider(c.h).Put(t.Context(), "map/a", nil)
		if c.want == "" && err != nil || c.want != "" && (!errs.Is(err, c.kind) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if err := inner.List(t.Context(), "", "", func(o storage.Object) bool {
			if c.want != "" {
				t.Errorf("%s: %q is left", name, o.Key)
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReadOnlyCredentials: they read, and a write says that it is denied and not that the store is
// unfit.
func TestReadOnlyCredentials(t *testing.T) {
	t.Parallel()
	ctx, inner := t.Context(), memory(t, new(mem.Space))
	if err := inner.Put(ctx, "tsf.json", []byte("x")); err != nil {
		t.Fatal(err)
	}
	p := new(prove.Proofs).Provider(&hosted{Provider: inner, name: "store", denies: true})
	if _, err := p.Get(ctx, "tsf.json"); err != nil {
		t.Error(err)
	}
	if err := p.Put(ctx, "map/a", nil); !errs.Is(err, errs.Denied) {
		t.Errorf("a write: %v", err)
	}
}

// TestReadBack: a commit is not acknowledged where another writer's object stands, and the service
// is proven again.
func TestReadBack(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{false, true} {
		ctx, inner := t.Context(), memory(t, new(mem.Space))
		h := &hosted{Provider: inner, name: "store", known: known}
		p := new(prove.Proofs).Provider(h)
		if err := p.PutIfAbsent(ctx, "log/1", []byte("ours")); err != nil {
			t.Fatal(err)
		}
		h.after = func(key string, _ []byte) {
			if key == "log/2" {
				_ = inner.Put(ctx, key, []byte("theirs"))
			}
		}
		err := p.PutIfAbsent(ctx, "log/2", []byte("ours"))
		if known && err != nil {
			t.Errorf("a known service is read back: %v", err)
		}
		if !known && (!errs.Is(err, errs.Storage) || !strings.Contains(err.Error(), "another object")) {
			t.Errorf("theirs stands: got %v", err)
		}
		h.ignores = true
		if err := p.PutIfAbsent(ctx, "log/3", nil); errs.Is(err, errs.Unsupported) == known {
			t.Errorf("known %v: after that: %v", known, err)
		}
	}
}
