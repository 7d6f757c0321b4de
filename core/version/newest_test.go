package version_test

import (
	"context"
	"sync/atomic"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/version"
	"deeplake/core/version/versiontest"
)

// webServer is a store behind a web server: objects can be read, and nothing can be listed.
type webServer struct {
	storage.Provider
	hides  bool // answers that a missing object must not be read
	closed atomic.Bool
	asked  atomic.Int64
}

func (s *webServer) Get(ctx context.Context, key string) ([]byte, error) {
	s.asked.Add(1)
	if s.closed.Load() {
		return nil, errs.Op("get", key).New(errs.Denied, "denied")
	}
	data, err := s.Provider.Get(ctx, key)
	if s.hides && errs.Is(err, errs.NotFound) {
		err = errs.Op("get", key).New(errs.Denied, "denied")
	}
	return data, err
}

func (s *webServer) List(_ context.Context, prefix, _ string, _ func(storage.Object) bool) error {
	return errs.Op("list", prefix).New(errs.Unsupported, "a web server does not list")
}

// TestHeadWithoutListing: the newest commit is found by its number, with few requests, whatever the
// hint says.
func TestHeadWithoutListing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := versiontest.MemStore(t)
	f := versiontest.New(t, store)
	branch := f.Begin(t).Base().Record.Branch
	hints := map[string][]byte{
		"none": nil, "garbage": []byte("<html>"), "first": format.EncodeHint(0), "stale": format.EncodeHint(3), "too high": format.EncodeHint(1 << 40),
		"no number": format.EncodeHint(1 << 63),
	}
	for number := f.Begin(t).Base().Record.Version; number <= 70; number++ {
		written, err := store.Get(ctx, format.HintKey(branch))
		if has := err == nil; has != (number >= version.HintEvery) {
			t.Fatalf("at version %d: is there a hint? %v", number, err)
		} else if n, err := format.DecodeHint(written); has && (n != version.HintEvery-1 || err != nil) {
			t.Fatalf("the hint says %d, %v", n, err)
		}
		for name, hint := range hints {
			for _, hides := range []bool{false, true} {
				web := &webServer{Provider: &replaced{store, format.HintKey(branch), hint}, hides: hides}
				head, err := (&versiontest.Fixture{Store: web}).Repo(t).Head(ctx)
				if err != nil || head.Record.Version != number {
					t.Fatalf("hint %s: head %+v, %v, want version %d", name, head, err, number)
				}
				if n := web.asked.Load(); n > 20 {
					t.Errorf("hint %s: %d requests for version %d", name, n, number)
				}
			}
		}
		txn := f.Begin(t)
		f.Add(txn, 10, 1)
		f.Commit(t, txn, "more")
	}
	web := &webServer{Provider: store}
	repo := (&versiontest.Fixture{Store: web}).Repo(t)
	before := web.asked.Load()
	if _, err := repo.Head(ctx); err != nil || web.asked.Load()-before > 10 {
		t.Errorf("with the hint as it was written: %d requests, %v", web.asked.Load()-before, err)
	}
	web.closed.Store(true)
	if _, err := repo.Head(ctx); !errs.Is(err, errs.Denied) {
		t.Errorf("without permission: %v", err)
	}
}

// replaced has other content under one key, or none.
type replaced struct {
	storage.Provider
	key  string
	data []byte
}

func (r *replaced) Get(ctx context.Context, key string) ([]byte, error) {
	switch {
	case key != r.key:
		return r.Provider.Get(ctx, key)
	case r.data == nil:
		return nil, errs.Op("get", key).New(errs.NotFound, "there is no such object")
	}
	return r.data, nil
}

// TestNamesWithoutListing: branches and tags are found, and missing ones are errs.NotFound.
func TestNamesWithoutListing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := versiontest.MemStore(t)
	f := versiontest.New(t, store)
	repo := f.Repo(t)
	head := f.Begin(t).Base()
	for range 3 { // the name is given again and again
		if _, _, err := repo.CreateBranch(ctx, "dev", head, "me"); err != nil {
			t.Fatal(err)
		}
		if err := repo.DeleteBranch(ctx, "dev"); err != nil {
			t.Fatal(err)
		}
	}
	dev, _, err := repo.CreateBranch(ctx, "dev", head, "me")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repo.CreateTag(ctx, "v1", head, "", "me"); err != nil {
		t.Fatal(err)
	}
	web := (&versiontest.Fixture{Store: &webServer{Provider: store}}).Repo(t)
	on, err := web.On(ctx, "dev")
	if err != nil || on.BranchID() != dev.BranchID() {
		t.Fatalf("branch dev: %v", err)
	}
	for _, ref := range []string{"dev", "v1", "0", "dev@0", head.Record.UUID.String()} {
		if _, err := web.At(ctx, ref); err != nil {
			t.Errorf("at %q: %v", ref, err)
		}
	}
	if _, err := web.On(ctx, "other"); !errs.Is(err, errs.NotFound) {
		t.Errorf("a branch that is not there: %v", err)
	}
	for _, ref := range []string{"other", "77", "abcdef0"} {
		if _, err := web.At(ctx, ref); !errs.Is(err, errs.NotFound) {
			t.Errorf("at %q: %v, want not found", ref, err)
		}
	}
}
