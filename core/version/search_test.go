package version_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/version"
	"deeplake/core/version/versiontest"
)

// keyedCommit commits a row under a key.
func keyedCommit(t *testing.T, f *versiontest.Fixture, repo *version.Repo, head *version.Snapshot, key string) *version.Snapshot {
	t.Helper()
	txn := repo.Begin(head)
	f.Add(txn, 1, 7)
	txn.Key, txn.KeyBefore = key, true
	next, err := txn.Commit(context.Background(), key, "")
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// TestRequestsBehindAHead: a commit behind the head is found in few requests, most of them at once,
// by its id as by its key. A program that commits with keys reads each record once.
func TestRequestsBehindAHead(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := versiontest.New(t, versiontest.MemStore(t))
	repo := f.Repo(t)
	head := f.Begin(t).Base()
	const commits = 200
	made := map[uint64]format.UUID{}
	for i := range commits {
		head = keyedCommit(t, f, repo, head, fmt.Sprint("job ", i))
		made[head.Record.Version] = head.Record.UUID
	}
	newest := head.Record.Version
	synctest.Test(t, func(t *testing.T) {
		far := &remoteStore{Provider: f.Store}
		measure := func(what string, trips, calls int64, do func() error) {
			t.Helper()
			began, before := time.Now(), far.calls.Load()
			if err := do(); err != nil {
				t.Fatal(err)
			}
			took, made := int64(time.Since(began)/trip), far.calls.Load()-before
			t.Logf("%s: %d requests, %d in sequence", what, made, took)
			if took > trips || made > calls {
				t.Errorf("%s: %d requests, %d in sequence; want at most %d and %d", what, made, took, calls, trips)
			}
		}
		open := func() (*version.Repo, *version.Snapshot) {
			repo, err := version.Open(ctx, &remoteStore{Provider: f.Store}, "test")
			if err != nil {
				t.Fatal(err)
			}
			head, err := repo.Head(ctx)
			if err != nil {
				t.Fatal(err)
			}
			repo.Store = far
			return repo, head
		}
		for _, c := range []struct {
			behind       uint64
			trips, calls int64
		}{{0, 0, 0}, {1, 1, 1}, {10, 4, 15}, {100, 7, 127}, {190, 8, 191}} {
			repo, _ := open()
			// It reads the newest record, the expiries and the tensors besides.
			measure(fmt.Sprintf("the id of a commit that %d follow", c.behind), c.trips+3, c.calls+3, func() error {
				s, err := repo.At(ctx, made[newest-c.behind].String())
				if err == nil && s.Record.Version != newest-c.behind {
					t.Errorf("it is version %d, want %d", s.Record.Version, newest-c.behind)
				}
				return err
			})
			repo, head := open()
			measure(fmt.Sprintf("the key of a commit that %d follow", c.behind), c.trips, c.calls, func() error {
				txn := repo.Begin(head)
				f.Add(txn, 1, 8)
				txn.Key, txn.KeyBefore = fmt.Sprint("job ", commits-1-c.behind), true
				s, err := txn.Commit(ctx, "again", "")
				if err == nil && s.Record.UUID != made[newest-c.behind] {
					t.Errorf("it is version %d, want %d", s.Record.Version, newest-c.behind)
				}
				return err
			})
		}
		repo, head := open()
		for i, c := range []struct{ trips, calls int64 }{{14, commits + 10}, {4, 8}, {4, 8}} {
			measure(fmt.Sprintf("a new key, %d commits after another", i), c.trips, c.calls, func() error {
				head = keyedCommit(t, f, repo, head, fmt.Sprint("new job ", i))
				return nil
			})
		}
		was := head.Record.Version
		measure("a key that was looked at before", 1, 1, func() error {
			if s := keyedCommit(t, f, repo, head, "job 3"); s.Record.UUID != made[newest-(commits-1-3)] {
				t.Errorf("it is version %d", s.Record.Version)
			}
			return nil
		})
		if head.Record.Version != was {
			t.Errorf("the head is version %d, want %d", head.Record.Version, was)
		}
	})
}

// TestKeysAcrossBranches: a key is known in all branches that come from its commit, and in no
// other; what one branch has read does not lead another astray.
func TestKeysAcrossBranches(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := versiontest.New(t, versiontest.MemStore(t))
	main := f.Repo(t)
	head := keyedCommit(t, f, main, f.Begin(t).Base(), "first")
	first := head.Record.UUID
	work, at, err := main.CreateBranch(ctx, "work", head, "")
	if err != nil {
		t.Fatal(err)
	}
	old := head
	for _, key := range []string{"of main", "x", "y"} {
		head = keyedCommit(t, f, main, head, key)
	}
	at = keyedCommit(t, f, work, at, "of work")
	ofWork := at.Record.UUID
	for range 2 {
		if s := keyedCommit(t, f, work, at, "first"); s.Record.UUID != first {
			t.Errorf("the key of main in work is version %d", s.Record.Version)
		}
		if s := keyedCommit(t, f, work, at, "of work"); s.Record.UUID != ofWork {
			t.Errorf("the key of work is version %d", s.Record.Version)
		}
	}
	if s := keyedCommit(t, f, work, at, "of main"); s.Record.Branch != at.Record.Branch || s.Record.Version != at.Record.Version+1 {
		t.Errorf("a key of main alone is %+v in work", s.Record)
	}
	// A transaction on an older version finds keys after it, too.
	if s := keyedCommit(t, f, main, old, "y"); s.Record.UUID != head.Record.UUID {
		t.Errorf("a key after the base is version %d, want %d", s.Record.Version, head.Record.Version)
	}
	deeper, on, err := work.CreateBranch(ctx, "deeper", at, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"first", "of work"} {
		want := map[string]format.UUID{"first": first, "of work": ofWork}[key]
		if s := keyedCommit(t, f, deeper, on, key); s.Record.UUID != want {
			t.Errorf("%q below two branches is %+v", key, s.Record)
		}
	}
}

// TestKeysOverForgedRecords: a search for a key refuses a commit whose parent is not the commit
// before it, and a branch that begins behind itself, and ends.
func TestKeysOverForgedRecords(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, forge := range map[string]func(rec *format.Record, head *format.Record){
		"its parent is not the commit": func(rec, _ *format.Record) {
			other := versiontest.Numbered(77)
			rec.Parent = &other
		},
		"its branch begins behind itself": func(rec, head *format.Record) {
			rec.Version, rec.Parent = 0, &head.UUID
			rec.Base = &format.BranchPoint{Branch: head.Branch, Version: head.Version}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := versiontest.New(t, versiontest.MemStore(t))
			repo := f.Repo(t)
			work, head, err := repo.CreateBranch(ctx, "work", f.Begin(t).Base(), "")
			if err != nil {
				t.Fatal(err)
			}
			var recs []*format.Record
			for i := range 3 {
				head = keyedCommit(t, f, work, head, fmt.Sprint(i))
				recs = append(recs, head.Record)
			}
			of := recs[1]
			if name == "its branch begins behind itself" {
				key := format.RecordKey(head.Record.Branch, 0)
				if of, err = format.DecodeRecord(versiontest.MustGet(t, f.Store, key)); err != nil {
					t.Fatal(err)
				}
			}
			rec := *of
			key := format.RecordKey(rec.Branch, rec.Version)
			forge(&rec, head.Record)
			data, err := format.EncodeRecord(&rec)
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Store.Put(ctx, key, data); err != nil {
				t.Fatal(err)
			}
			fresh, err := version.Open(ctx, f.Store, "test")
			if err != nil {
				t.Fatal(err)
			}
			at, err := fresh.At(ctx, "work")
			if err != nil {
				t.Fatal(err)
			}
			txn := fresh.Begin(at)
			f.Add(txn, 1, 9)
			txn.Key, txn.KeyBefore = "no such key", true
			if _, err := txn.Commit(ctx, "", ""); !errs.Is(err, errs.Corrupt) || !versiontest.Contains(err, name) {
				t.Errorf("got %v", err)
			}
		})
	}
}
