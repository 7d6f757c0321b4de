package version_test

import (
	"context"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/storage/local"
	"deeplake/core/version"
	"deeplake/core/version/versiontest"
)

// countingStore counts the looks at objects and the listings of records.
type countingStore struct {
	storage.Provider
	looks, lists atomic.Int64
}

func (s *countingStore) Unwrap() storage.Provider { return s.Provider }

func (s *countingStore) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	s.looks.Add(1)
	return s.Provider.ReadAt(ctx, key, dst, off)
}

func (s *countingStore) List(ctx context.Context, prefix, after string, fn func(storage.Object) bool) error {
	if strings.HasPrefix(prefix, format.RecordsPrefix()) {
		s.lists.Add(1)
	}
	return s.Provider.List(ctx, prefix, after, fn)
}

// TestOpenNearHint: on a local disk the newest commit is found by a number of looks that does not
// grow with the commits, without a listing of them; whatever the hint says, the commit is the same.
func TestOpenNearHint(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	inner, err := local.Open(ctx, t.TempDir(), storage.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	f := versiontest.New(t, inner)
	for i := range 140 {
		txn := f.Begin(t)
		f.Add(txn, 1, byte(i))
		f.Commit(t, txn, "more")
	}
	repo := f.Repo(t)
	want := f.Begin(t).Base().Record.Version
	hint := format.HintKey(repo.BranchID())
	written, err := inner.Get(ctx, hint)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		hint  []byte // nil: none
		lists int64
		looks int64 // at most
	}{
		{"as written", written, 0, 20},
		{"the newest", format.EncodeHint(want), 0, 9},
		{"the first", format.EncodeHint(0), 0, 26},
		{"behind the newest", format.EncodeHint(want + 1), 1, 1},
		{"far behind", format.EncodeHint(math.MaxInt64), 1, 1},
		{"none", nil, 1, 0},
		{"damaged", []byte("{}"), 1, 0},
	} {
		if err := inner.Delete(ctx, hint); err != nil {
			t.Fatal(err)
		}
		if c.hint != nil {
			if err := inner.Put(ctx, hint, c.hint); err != nil {
				t.Fatal(err)
			}
		}
		store := &countingStore{Provider: inner}
		_, head, err := version.OpenHead(ctx, store, "test")
		if err != nil || head.Record.Version != want {
			t.Errorf("hint %s: %v, version %v, want %d", c.name, err, head, want)
			continue
		}
		if store.lists.Load() != c.lists || store.looks.Load() > c.looks {
			t.Errorf("hint %s: %d listings and %d looks, want %d and at most %d", c.name, store.lists.Load(), store.looks.Load(), c.lists, c.looks)
		}
	}
	// A lost record: the commits behind it are found, and its number is not given away.
	if err := inner.Delete(ctx, format.RecordKey(repo.BranchID(), want-3)); err != nil {
		t.Fatal(err)
	}
	for n := want - 8; n <= want; n++ {
		if err := inner.Put(ctx, hint, format.EncodeHint(n)); err != nil {
			t.Fatal(err)
		}
		if _, head, err := version.OpenHead(ctx, inner, "test"); err != nil || head.Record.Version != want {
			t.Errorf("hint %d, a record is lost: %v, version %v, want %d", n, err, head, want)
		}
	}
}
