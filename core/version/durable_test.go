package version_test

import (
	"context"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/version"
	"deeplake/core/version/versiontest"
)

// unsafeStore stores all objects, and cannot make names durable while broken.
type unsafeStore struct {
	storage.Provider
	broken bool
	unsafe map[string]bool // keys whose names are not durable
}

func (s *unsafeStore) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	err := s.Provider.PutIfAbsent(ctx, key, data)
	if s.broken && (err == nil || s.unsafe[key]) {
		s.unsafe[key] = true
		return errs.Wrap(errs.Storage, "put-if-absent", key, &storage.NotDurable{Err: errs.New(errs.Storage, "the disk fails")})
	}
	delete(s.unsafe, key)
	return err
}

// TestCommitIsDurable: a commit whose record stands and may not outlive a crash is not
// acknowledged, nor is a branch or a tag. The same call again, on a disk that works, finds the
// commit, makes it durable and is acknowledged.
func TestCommitIsDurable(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	inner, err := new(mem.Space).Open(ctx, "d", storage.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	store := &unsafeStore{Provider: inner, unsafe: map[string]bool{}}
	f := versiontest.New(t, store)
	repo, head, err := version.OpenHead(ctx, store, "test")
	if err != nil {
		t.Fatal(err)
	}
	txn := repo.Begin(head)
	f.Add(txn, 5, 2)
	store.broken = true
	for range 2 {
		if _, err := txn.Commit(ctx, "five", ""); !errs.Is(err, errs.Storage) || !versiontest.Contains(err, "the disk fails") {
			t.Fatalf("on a failing disk: %v", err)
		}
	}
	if _, _, err := repo.CreateBranch(ctx, "b", head, ""); !versiontest.Contains(err, "the disk fails") {
		t.Errorf("a branch on a failing disk: %v", err)
	}
	store.broken = false
	s, err := txn.Commit(ctx, "five", "")
	if err != nil || s.Record.Version != head.Record.Version+1 {
		t.Fatalf("on the mended disk: %+v, %v", s, err)
	}
	if store.unsafe[format.RecordKey(s.Record.Branch, s.Record.Version)] {
		t.Error("the commit was acknowledged and is not durable")
	}
}
