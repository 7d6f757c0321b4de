package version_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/version"
	"deeplake/core/version/maintain"
	"deeplake/core/version/versiontest"
)

// TestOverwriteUnderWriter: a commit to a dataset that was overwritten or deleted since the writer
// began, at whatever moment, is a conflict that says so, and is never reported as done.
func TestOverwriteUnderWriter(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, change := range []struct {
		name string
		do   func(p storage.Provider) error
		says string
	}{
		{"overwritten", func(p storage.Provider) error { _, _, err := version.Overwrite(ctx, p, "test", nil); return err }, "was overwritten"},
		{"deleted", func(p storage.Provider) error { return version.Delete(ctx, p) }, "was deleted"},
		{"deleted in part", func(p storage.Provider) error {
			return version.Mark(ctx, p, versiontest.MustGet(t, p, format.TSFKey()))
		}, "was deleted"},
	} {
		for _, when := range []string{"before the commit", "before the record", "after the record"} {
			inner := versiontest.MemStore(t)
			repo, head, err := version.Create(ctx, inner, "test", nil)
			if err != nil {
				t.Fatal(err)
			}
			versiontest.Fill(t, inner, repo, head)
			hook := &afterStore{Provider: inner}
			f := &versiontest.Fixture{Store: hook}
			f.X, f.Label = versiontest.Numbered(1), versiontest.Numbered(2)
			txn := f.Begin(t)
			for i := range txn.Schema().Tensors {
				*[]*format.UUID{&f.X, &f.Label}[i] = txn.Schema().Tensors[i].ID
			}
			f.Add(txn, 3, 7)
			once := func(key string) {
				if strings.HasPrefix(key, "log/") {
					hook.before, hook.after = nil, nil
					if err := change.do(inner); err != nil {
						t.Error(err)
					}
				}
			}
			switch when {
			case "before the commit":
				once("log/")
			case "before the record":
				hook.before = once
			default:
				hook.after = once
			}
			for range 2 { // it stays so
				if _, err := txn.Commit(ctx, "lost", "tester"); !errs.Is(err, errs.Conflict) || !versiontest.Contains(err, change.says) || !versiontest.Contains(err, "discard()") {
					t.Fatalf("%s %s: commit = %v", change.name, when, err)
				}
			}
			if change.name != "overwritten" {
				continue
			}
			now, err := version.Open(ctx, inner, "test")
			if err != nil {
				t.Fatal(err)
			}
			if s, err := now.Head(ctx); err != nil || s.Rows() != 0 || s.Record.Version != 0 {
				t.Fatalf("the new dataset is %+v, %v", s, err)
			}
			versiontest.Whole(t, now)
		}
	}
}

// TestNamesUnderOverwrite: a program that holds a dataset open gives, takes and reads no names in
// the one that was put in its place.
func TestNamesUnderOverwrite(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	changes := map[string]func(p storage.Provider) error{
		"was overwritten": func(p storage.Provider) error { _, _, err := version.Overwrite(ctx, p, "test", nil); return err },
		"was deleted":     func(p storage.Provider) error { return version.Delete(ctx, p) },
	}
	names := map[string]func(r *version.Repo, head *version.Snapshot) error{
		"create branch": func(r *version.Repo, head *version.Snapshot) error {
			_, _, err := r.CreateBranch(ctx, "b", head, "")
			return err
		},
		"delete branch": func(r *version.Repo, _ *version.Snapshot) error { return r.DeleteBranch(ctx, "b") },
		"create tag": func(r *version.Repo, head *version.Snapshot) error {
			_, err := r.CreateTag(ctx, "t", head, "", "")
			return err
		},
		"delete tag": func(r *version.Repo, _ *version.Snapshot) error { return r.DeleteTag(ctx, "t") },
		"save view": func(r *version.Repo, _ *version.Snapshot) error {
			return r.SaveView(ctx, "v", format.View{Deleted: true}, true)
		},
		"delete view": func(r *version.Repo, _ *version.Snapshot) error { return r.DeleteView(ctx, "v") },
		"read":        func(r *version.Repo, _ *version.Snapshot) error { _, err := r.Head(ctx); return err },
	}
	for says, change := range changes {
		for name, do := range names {
			p := versiontest.MemStore(t)
			repo, head, err := version.Create(ctx, p, "test", nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := change(p); err != nil {
				t.Fatal(err)
			}
			before := versiontest.KeysOf(t, p)
			if err := do(repo, head); !errs.Is(err, errs.Conflict) || !versiontest.Contains(err, says) || !versiontest.Contains(err, name) {
				t.Errorf("%s where the dataset %s: %v", name, says, err)
			}
			for _, key := range versiontest.KeysOf(t, p) {
				if !slices.Contains(before, key) && !strings.HasPrefix(key, "log/") {
					// a record that no name leads to is garbage
					t.Errorf("%s where the dataset %s: wrote %q", name, says, key)
				}
			}
		}
	}
}

// afterStore calls functions before and after each put-if-absent.
type afterStore struct {
	storage.Provider
	before, after func(key string)
}

func (s *afterStore) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	if s.before != nil {
		s.before(key)
	}
	err := s.Provider.PutIfAbsent(ctx, key, data)
	if s.after != nil {
		s.after(key)
	}
	return err
}

// TestOverwriteKilled: an overwrite that is killed at any request leaves the old dataset or the new
// one, whole and with all its tensors. Another overwrite, a gc or a deletion leaves no object of
// the old one.
func TestOverwriteKilled(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	// A schema too large for the record: it and its operations have objects of their own.
	wide := &format.Schema{}
	for i := range 3000 {
		name := fmt.Sprint("column ", i)
		wide.Tensors = append(wide.Tensors, format.TensorSchema{
			ID: format.NewUUID(), Name: name, HType: "generic", Compression: "none", ChunkBytes: format.DefaultChunk, Info: map[string]any{},
		})
	}
	for _, do := range []func() faultstore.Action{faultstore.Crash, faultstore.CrashAfter, faultstore.LostAnswer, func() faultstore.Action { return faultstore.Fail(errs.Storage) }} {
		for n := 0; ; n++ {
			inner := versiontest.MemStore(t)
			repo, head, err := version.Create(ctx, inner, "test", nil)
			if err != nil {
				t.Fatal(err)
			}
			repo = versiontest.Everything(t, versiontest.Fill(t, inner, repo, head))
			versiontest.FakeChunks(t, inner, repo)
			old, err := repo.Head(ctx)
			if err != nil {
				t.Fatal(err)
			}
			before, named := versiontest.KeysOf(t, inner), versiontest.Names(t, repo)
			faulty := faultstore.New(inner, faultstore.Plan{{Skip: n, Do: do()}})
			_, _, failed := version.Overwrite(ctx, faulty, "test", wide)
			now, s, err := version.OpenHead(ctx, inner, "test")
			if err != nil {
				t.Fatalf("call %d, %v: open = %v", n, failed, err)
			}
			versiontest.Whole(t, now)
			replaced := now.TSF.UUID != repo.TSF.UUID
			if replaced {
				if got := versiontest.Names(t, now); s.Rows() != 0 || !slices.Equal(got, []string{"branch main"}) {
					t.Fatalf("call %d, %v: the new dataset has %d rows and %q", n, failed, s.Rows(), got)
				}
				if got := len(s.Schema.Tensors); got != len(wide.Tensors) || s.Record.Version != 0 {
					t.Fatalf("call %d, %v: the new dataset has %d tensors at version %d", n, failed, got, s.Record.Version)
				}
			} else {
				if got := versiontest.Names(t, now); s.Record.UUID != old.Record.UUID || !slices.Equal(got, named) {
					t.Fatalf("call %d, %v: the old dataset has %q, want %q", n, failed, got, named)
				}
				for _, key := range before {
					versiontest.MustGet(t, inner, key)
				}
			}
			if failed == nil && !replaced {
				t.Fatalf("call %d: done, and the old dataset is there", n)
			}
			finish(t, n, inner, replaced)
			if len(faulty.Calls()) <= n { // none was hit
				if failed != nil || n < 12 {
					t.Fatalf("an overwrite made %d calls, and %v", n, failed)
				}
				break
			}
		}
	}
}

// finish ends a broken-off overwrite in each of three ways.
func finish(t *testing.T, n int, store storage.Provider, replaced bool) {
	t.Helper()
	ctx := context.Background()
	switch n % 3 {
	case 0:
		if _, _, err := version.Overwrite(ctx, store, "test", nil); err != nil {
			t.Fatalf("call %d: overwrite again = %v", n, err)
		}
	case 1:
		if err := version.Delete(ctx, store); err != nil || len(versiontest.KeysOf(t, store)) > 0 {
			t.Fatalf("call %d: delete = %v, there is %q", n, err, versiontest.KeysOf(t, store))
		}
		return
	case 2:
		if !replaced {
			return
		}
		repo, err := version.Open(ctx, store, "test")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := maintain.GC(ctx, repo, maintain.GCOptions{}); err != nil {
			t.Fatalf("call %d: gc = %v", n, err)
		}
	}
	repo, s, err := version.OpenHead(ctx, store, "test")
	if err != nil {
		t.Fatal(err)
	}
	versiontest.Whole(t, repo)
	mine := []string{format.TSFKey(), format.RecordKey(repo.TSF.Main, 0)}
	for _, page := range []*format.UUID{s.Record.SchemaPage, s.Record.ColumnsPage} {
		if page != nil {
			mine = append(mine, format.MapKey(*page))
		}
	}
	if s.Record.Txn != nil {
		mine = append(mine, format.TxnKey(*s.Record.Txn))
	}
	for _, key := range versiontest.KeysOf(t, store) {
		hint := strings.HasPrefix(key, "hint/")
		if !slices.Contains(mine, key) && !hint && !orphan(t, repo, key) {
			t.Fatalf("call %d: %q is left", n, key)
		}
	}
}

// orphan reports whether key is the first record of an overwrite that did not come to replace
// tsf.json.
func orphan(t *testing.T, r *version.Repo, key string) bool {
	t.Helper()
	if _, version, err := format.ParseRecordKey(key); err != nil || version > 0 {
		return false
	}
	owner, err := format.Owner(versiontest.MustGet(t, r.Store, key))
	return err == nil && owner != r.TSF.UUID && !slices.Contains(r.TSF.Replaces, owner) && !owner.IsZero()
}

// TestNamesOfReplaced: names that a broken-off overwrite left can be given, or are refused with the
// way out, and gc makes room without a gap below a name of the new dataset.
func TestNamesOfReplaced(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := versiontest.MemStore(t)
	versiontest.Everything(t, versiontest.New(t, store))
	plan := faultstore.Plan{{Ops: []faultstore.Op{faultstore.Delete}, Do: faultstore.Crash()}}
	if _, _, err := version.Overwrite(ctx, faultstore.New(store, plan), "test", nil); err == nil {
		t.Fatal("no delete was made")
	}
	repo, head, err := version.OpenHead(ctx, store, "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := repo.CreateBranch(ctx, "try", head, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := repo.CreateTag(ctx, "v1", head, "", ""); !errs.Is(err, errs.Exists) || !versiontest.Contains(err, "gc()") {
		t.Fatalf("create tag = %v", err)
	}
	if err := repo.SaveView(ctx, "cats", format.View{Branch: head.Record.Branch, Commit: head.Record.UUID, Query: "SELECT *", Params: []byte("[]")}, false); err != nil {
		t.Fatal(err)
	}
	want := []string{"branch main", "branch try", "view cats"}
	for range 2 {
		if got := versiontest.Names(t, repo); !slices.Equal(got, want) {
			t.Fatalf("names are %q, want %q", got, want)
		}
		versiontest.Whole(t, repo)
		if _, err := maintain.GC(ctx, repo, maintain.GCOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if keys := versiontest.KeysOf(t, store); !slices.Contains(keys, format.HeadKey("try", 0)) || slices.Contains(keys, format.HeadKey("gone", 0)) {
		t.Errorf("after gc there is %q", keys)
	}
	if _, err := repo.CreateTag(ctx, "v1", head, "", ""); err != nil {
		t.Fatal(err)
	}
}
