package version_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/version/versiontest"
)

// agedStore dates the objects below prefix back by age.
type agedStore struct {
	storage.Provider
	prefix string
	age    time.Duration
}

func (s *agedStore) List(ctx context.Context, prefix, after string, fn func(storage.Object) bool) error {
	return s.Provider.List(ctx, prefix, after, func(o storage.Object) bool {
		if strings.HasPrefix(o.Key, s.prefix) {
			o.Modified = o.Modified.Add(-s.age)
		}
		return fn(o)
	})
}

// TestLongSession: objects that a gc has removed, or may remove before the record stands, are not
// committed.
func TestLongSession(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const day = 24 * time.Hour
	for _, c := range []struct {
		name   string
		open   time.Duration // how long the transaction is
		age    time.Duration // of its newest chunk
		side   time.Duration // age of its side page, stored ahead of the commit
		remove string        // an object that a gc has removed
		says   string        // "": it is committed
	}{
		{name: "short", open: time.Minute},
		{name: "hours", open: 5 * time.Hour, age: 5 * time.Hour, side: 5 * time.Hour},
		{name: "long, and still at it", open: 30 * day, age: time.Hour, side: time.Hour},
		{name: "idle for a week", open: 7 * day, age: 7 * day, says: "gc removes what is not committed"},
		{name: "an old side page", open: 7 * day, age: time.Hour, side: 7 * day, says: "gc removes what is not committed"},
		{name: "a chunk is gone", open: 2 * time.Hour, remove: "data/", says: "is missing"},
		{name: "a side page is gone", open: 2 * time.Hour, remove: "map/", says: "is missing"},
		{name: "the clock went back", open: -2 * time.Hour, remove: "data/", says: "is missing"},
	} {
		store := versiontest.MemStore(t)
		f := versiontest.New(t, store)
		sides := &agedStore{&agedStore{store, "data/", c.age}, "none", c.side}
		f.Store = sides
		txn := f.Begin(t)
		f.Add(txn, 3, 7)
		key := format.DataKey(versiontest.Numbered(7), 0)
		if err := store.Put(ctx, key, []byte("chunk")); err != nil {
			t.Fatal(err)
		}
		txn.CloseSide(f.X)
		if err := txn.Spill()(ctx); err != nil {
			t.Fatal(err)
		}
		pages := txn.SidePages()
		if sides.prefix = format.MapKey(pages[0]); c.remove == "map/" {
			key = sides.prefix
		}
		if c.remove != "" {
			if err := store.Delete(ctx, key); err != nil {
				t.Fatal(err)
			}
		}
		txn.Repo().Now = func() time.Time { return time.Now().Add(c.open) }
		_, err := txn.Commit(ctx, c.name, "tester")
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.says != "" && (!errs.Is(err, errs.Conflict) || !versiontest.Contains(err, c.says) || !versiontest.Contains(err, "discard()")):
			t.Errorf("%s: commit = %v", c.name, err)
		}
	}
}
