package version_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/version"
	"deeplake/core/version/versiontest"
)

// successor fills a dataset that waits, in a transaction that is not committed. The returned
// fixture has its tensors.
func successor(t *testing.T, store storage.Provider, repo *version.Repo, head *version.Snapshot) (*versiontest.Fixture, *version.Txn) {
	t.Helper()
	f := &versiontest.Fixture{Store: store, X: format.NewUUID(), Label: format.NewUUID()}
	txn := repo.Begin(head)
	txn.Schema().Tensors = append(txn.Schema().Tensors,
		format.TensorSchema{ID: f.X, Name: "x", HType: "generic", Compression: "none", ChunkBytes: 1 << 20},
		format.TensorSchema{ID: f.Label, Name: "label", HType: "class_label", DType: "int64", Compression: "none", ChunkBytes: 1 << 20, ClassNames: []string{"new"}})
	f.Add(txn, 5, 0x77)
	if err := store.Put(context.Background(), format.DataKey(versiontest.Numbered(0x77), 0), make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	return f, txn
}

// TestOverwriteAtCommit: the old dataset stays unchanged, and can be written, until the first
// commit of the new one. After it no object of the old one is left.
func TestOverwriteAtCommit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := versiontest.MemStore(t)
	old := versiontest.Everything(t, versiontest.New(t, store))
	versiontest.FakeChunks(t, store, old)
	named := versiontest.Names(t, old)
	waiting, head, err := version.OverwriteAtCommit(ctx, store, "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	f, txn := successor(t, store, waiting, head)
	now, s, err := version.OpenHead(ctx, store, "test")
	if err != nil || now.TSF.UUID != old.TSF.UUID || !slices.Equal(versiontest.Names(t, now), named) || s.Rows() < versiontest.BaseRows {
		t.Fatalf("before the commit there is %+v, %v", s, err)
	}
	versiontest.Whole(t, now)
	before := versiontest.KeysOf(t, store)
	f.Commit(t, txn, "first")
	now, s, err = version.OpenHead(ctx, store, "test")
	if err != nil || now.TSF.UUID != waiting.TSF.UUID || s.Rows() != 5 || s.Record.Version != 1 {
		t.Fatalf("after the commit there is %+v, %v", s, err)
	}
	versiontest.Whole(t, now)
	if got := versiontest.Names(t, now); !slices.Equal(got, []string{"branch main"}) {
		t.Fatalf("the new dataset has %q", got)
	}
	for _, key := range versiontest.KeysOf(t, store) {
		if slices.Contains(before, key) && !strings.HasPrefix(key, "log/"+waiting.TSF.Main.String()) && !strings.HasPrefix(key, "data/"+versiontest.Numbered(0x77).String()) && key != format.TSFKey() {
			t.Errorf("%q of the old dataset is left", key)
		}
	}
	next := waiting.Begin(s)
	f.Add(next, 2, 0x78)
	if got := f.Commit(t, next, "second"); got.Rows() != 7 {
		t.Fatalf("the second commit has %d rows", got.Rows())
	}
	if waits, err := waiting.Withdraw(ctx); waits || err != nil {
		t.Fatalf("withdraw where nothing waits = %v, %v", waits, err)
	}
	if _, s, err = version.OpenHead(ctx, store, "test"); err != nil || s.Rows() != 7 {
		t.Fatalf("then there is %+v, %v", s, err)
	}
}

// TestOverwriteAtCommitNothing: where there is no dataset, the new one is there before its first
// commit.
func TestOverwriteAtCommitNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := versiontest.MemStore(t)
	made, _, err := version.OverwriteAtCommit(ctx, store, "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	if now, err := version.Open(ctx, store, "test"); err != nil || now.TSF.UUID != made.TSF.UUID {
		t.Fatalf("there is %+v, %v", now, err)
	}
	if waits, err := made.Withdraw(ctx); waits || err != nil {
		t.Fatalf("withdraw = %v, %v", waits, err)
	}
}

// TestOverwriteAtCommitLate: a dataset that waits is not put in the place of another one than it
// was made for, and leaves that one alone.
func TestOverwriteAtCommitLate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for says, change := range map[string]func(p storage.Provider) error{
		"was overwritten": func(p storage.Provider) error { _, _, err := version.Overwrite(ctx, p, "test", nil); return err },
		"was deleted":     func(p storage.Provider) error { return version.Delete(ctx, p) },
		"was deleted since": func(p storage.Provider) error {
			return version.Mark(ctx, p, versiontest.MustGet(t, p, format.TSFKey()))
		},
	} {
		for _, when := range []string{"before the record", "after the record"} {
			inner := versiontest.MemStore(t)
			versiontest.Everything(t, versiontest.New(t, inner))
			hook := &afterStore{Provider: inner}
			waiting, head, err := version.OverwriteAtCommit(ctx, hook, "test", nil)
			if err != nil {
				t.Fatal(err)
			}
			_, txn := successor(t, inner, waiting, head)
			once := func(key string) {
				if strings.HasPrefix(key, "log/") {
					hook.before, hook.after = nil, nil
					if err := change(inner); err != nil {
						t.Error(err)
					}
				}
			}
			if when == "before the record" {
				hook.before = once
			} else {
				hook.after = once
			}
			if _, err := txn.Commit(ctx, "late", "tester"); !errs.Is(err, errs.Conflict) {
				t.Fatalf("%s %s: commit = %v", says, when, err)
			}
			if waits, err := waiting.Withdraw(ctx); !waits || err != nil {
				t.Fatalf("%s %s: withdraw = %v, %v", says, when, waits, err)
			}
			for _, key := range versiontest.KeysOf(t, inner) {
				if strings.HasPrefix(key, "log/"+waiting.TSF.Main.String()) {
					t.Errorf("%s %s: %q is left", says, when, key)
				}
			}
			now, err := version.Open(ctx, inner, "test")
			if says != "was overwritten" {
				if !errs.Is(err, errs.NotFound) {
					t.Fatalf("%s %s: there is %+v, %v", says, when, now, err)
				}
				continue
			}
			if err != nil || now.TSF.UUID == waiting.TSF.UUID {
				t.Fatalf("%s %s: there is %+v, %v", says, when, now, err)
			}
			versiontest.Whole(t, now)
		}
	}
}

// TestOverwriteAtCommitKilled: whichever request fails, of making the new dataset and of its first
// commit, the old dataset is there unchanged, or the new one with all its rows.
func TestOverwriteAtCommitKilled(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, do := range []func() faultstore.Action{faultstore.Crash, faultstore.CrashAfter, faultstore.LostAnswer, func() faultstore.Action { return faultstore.Fail(errs.Storage) }} {
		for n := 0; ; n++ {
			inner := versiontest.MemStore(t)
			old := versiontest.Everything(t, versiontest.New(t, inner))
			versiontest.FakeChunks(t, inner, old)
			was, err := old.Head(ctx)
			if err != nil {
				t.Fatal(err)
			}
			before, named := versiontest.KeysOf(t, inner), versiontest.Names(t, old)
			faulty := faultstore.New(inner, faultstore.Plan{{Skip: n, Do: do()}})
			waiting, head, failed := version.OverwriteAtCommit(ctx, faulty, "test", nil)
			var txn *version.Txn
			if failed == nil {
				_, txn = successor(t, inner, waiting, head)
				_, failed = txn.Commit(ctx, "first", "tester")
			}
			look := func(when string, failed error) bool {
				now, s, err := version.OpenHead(ctx, inner, "test")
				if err != nil {
					t.Fatalf("call %d, %s, %v: open = %v", n, when, failed, err)
				}
				versiontest.Whole(t, now)
				if now.TSF.UUID == old.TSF.UUID {
					if got := versiontest.Names(t, now); s.Record.UUID != was.Record.UUID || !slices.Equal(got, named) {
						t.Fatalf("call %d, %s, %v: the old dataset has %q, want %q", n, when, failed, got, named)
					}
					for _, key := range before {
						versiontest.MustGet(t, inner, key)
					}
					return false
				}
				if got := versiontest.Names(t, now); s.Rows() != 5 || !slices.Equal(got, []string{"branch main"}) {
					t.Fatalf("call %d, %s, %v: the new dataset has %d rows and %q", n, when, failed, s.Rows(), got)
				}
				versiontest.MustGet(t, inner, format.DataKey(versiontest.Numbered(0x77), 0))
				return true
			}
			if replaced := look("then", failed); failed == nil && !replaced {
				t.Fatalf("call %d: committed, and the old dataset is there", n)
			}
			switch {
			case txn != nil && failed != nil && n%2 == 0: // the same commit once more
				if s, err := txn.Commit(ctx, "first", "tester"); err == nil && (!look("committed again", nil) || s.Rows() != 5) {
					t.Fatalf("call %d, %v: committed again, and the old dataset is there", n, failed)
				}
			case txn != nil && failed != nil:
				replaced := look("then", failed)
				_, _ = waiting.Withdraw(ctx)
				if look("withdrawn", failed) != replaced {
					t.Fatalf("call %d, %v: withdrawing has changed the dataset", n, failed)
				}
			}
			if len(faulty.Calls()) <= n { // none was hit
				if failed != nil || n < 12 {
					t.Fatalf("an overwrite and a commit made %d calls, and %v", n, failed)
				}
				break
			}
		}
	}
}
