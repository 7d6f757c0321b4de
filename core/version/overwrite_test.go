package version

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
)

// names lists the branches, tags and views of a dataset.
func names(t testing.TB, r *Repo) []string {
	t.Helper()
	ctx := context.Background()
	branches, err1 := r.Branches(ctx)
	tags, err2 := r.Tags(ctx)
	views, err3 := r.Views(ctx)
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	var out []string
	for _, b := range branches {
		out = append(out, "branch "+b.Name)
	}
	for _, tag := range tags {
		out = append(out, "tag "+tag.Name)
	}
	for _, v := range views {
		out = append(out, "view "+v.Name)
	}
	return out
}

// whole fails unless fsck finds nothing.
func whole(t testing.TB, r *Repo) {
	t.Helper()
	report, err := r.Fsck(context.Background(), FsckOptions{MapsOnly: true})
	if err != nil || len(report.Problems) > 0 {
		t.Fatalf("fsck: %+v, %v", report.Problems, err)
	}
}

// TestOverwriteUnderWriter: what a writer commits to a dataset that was overwritten or deleted
// since it began, at whatever moment, is a conflict that says so, and never reported as done.
func TestOverwriteUnderWriter(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, change := range []struct {
		name string
		do   func(p storage.Provider) error
		says string
	}{
		{"overwritten", func(p storage.Provider) error { _, _, err := Overwrite(ctx, p, "test", nil); return err }, "was overwritten"},
		{"deleted", func(p storage.Provider) error { return Delete(ctx, p) }, "was deleted"},
		{"deleted in part", func(p storage.Provider) error {
			return mark(ctx, p, mustGet(t, p, format.TSFKey()))
		}, "was deleted"},
	} {
		for _, when := range []string{"before the commit", "before the record", "after the record"} {
			inner := memStore(t)
			repo, head, err := Create(ctx, inner, "test", nil)
			if err != nil {
				t.Fatal(err)
			}
			fillFixture(t, inner, repo, head)
			hook := &afterStore{Provider: inner}
			f := &fixture{store: hook}
			f.x, f.label = numbered(1), numbered(2)
			txn := f.begin(t)
			for i := range txn.Schema().Tensors {
				*[]*format.UUID{&f.x, &f.label}[i] = txn.Schema().Tensors[i].ID
			}
			f.add(txn, 3, 7)
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
				if _, err := txn.Commit(ctx, "lost", "tester"); !errs.Is(err, errs.Conflict) || !contains(err, change.says) || !contains(err, "discard()") {
					t.Fatalf("%s %s: commit = %v", change.name, when, err)
				}
			}
			if change.name != "overwritten" {
				continue
			}
			now, err := Open(ctx, inner, "test")
			if err != nil {
				t.Fatal(err)
			}
			if s, err := now.Head(ctx); err != nil || s.Rows() != 0 || s.Record.Version != 0 {
				t.Fatalf("the new dataset is %+v, %v", s, err)
			}
			whole(t, now)
		}
	}
}

// TestNamesUnderOverwrite: a program that holds a dataset open gives, takes and reads no names in
// the one that was put in its place.
func TestNamesUnderOverwrite(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	changes := map[string]func(p storage.Provider) error{
		"was overwritten": func(p storage.Provider) error { _, _, err := Overwrite(ctx, p, "test", nil); return err },
		"was deleted":     func(p storage.Provider) error { return Delete(ctx, p) },
	}
	names := map[string]func(r *Repo, head *Snapshot) error{
		"create branch": func(r *Repo, head *Snapshot) error { _, _, err := r.CreateBranch(ctx, "b", head, ""); return err },
		"delete branch": func(r *Repo, _ *Snapshot) error { return r.DeleteBranch(ctx, "b") },
		"create tag":    func(r *Repo, head *Snapshot) error { _, err := r.CreateTag(ctx, "t", head, "", ""); return err },
		"delete tag":    func(r *Repo, _ *Snapshot) error { return r.DeleteTag(ctx, "t") },
		"save view":     func(r *Repo, _ *Snapshot) error { return r.SaveView(ctx, "v", format.View{Deleted: true}, true) },
		"delete view":   func(r *Repo, _ *Snapshot) error { return r.DeleteView(ctx, "v") },
		"read":          func(r *Repo, _ *Snapshot) error { _, err := r.Head(ctx); return err },
	}
	for says, change := range changes {
		for name, do := range names {
			p := memStore(t)
			repo, head, err := Create(ctx, p, "test", nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := change(p); err != nil {
				t.Fatal(err)
			}
			before := keysOf(t, p)
			if err := do(repo, head); !errs.Is(err, errs.Conflict) || !contains(err, says) || !contains(err, name) {
				t.Errorf("%s where the dataset %s: %v", name, says, err)
			}
			for _, key := range keysOf(t, p) {
				if !slices.Contains(before, key) && !strings.HasPrefix(key, "log/") {
					// a record that no name leads to is garbage
					t.Errorf("%s where the dataset %s: wrote %q", name, says, key)
				}
			}
		}
	}
}

func mustGet(t testing.TB, p storage.Provider, key string) []byte {
	t.Helper()
	data, err := p.Get(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	return data
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
			inner := memStore(t)
			repo, head, err := Create(ctx, inner, "test", nil)
			if err != nil {
				t.Fatal(err)
			}
			repo = everything(t, fillFixture(t, inner, repo, head))
			fakeChunks(t, inner, repo)
			old, err := repo.Head(ctx)
			if err != nil {
				t.Fatal(err)
			}
			before, named := keysOf(t, inner), names(t, repo)
			faulty := faultstore.New(inner, faultstore.Plan{{Skip: n, Do: do()}})
			_, _, failed := Overwrite(ctx, faulty, "test", wide)
			now, s, err := OpenHead(ctx, inner, "test")
			if err != nil {
				t.Fatalf("call %d, %v: open = %v", n, failed, err)
			}
			whole(t, now)
			replaced := now.TSF.UUID != repo.TSF.UUID
			if replaced {
				if got := names(t, now); s.Rows() != 0 || !slices.Equal(got, []string{"branch main"}) {
					t.Fatalf("call %d, %v: the new dataset has %d rows and %q", n, failed, s.Rows(), got)
				}
				if got := len(s.Schema.Tensors); got != len(wide.Tensors) || s.Record.Version != 0 {
					t.Fatalf("call %d, %v: the new dataset has %d tensors at version %d", n, failed, got, s.Record.Version)
				}
			} else {
				if got := names(t, now); s.Record.UUID != old.Record.UUID || !slices.Equal(got, named) {
					t.Fatalf("call %d, %v: the old dataset has %q, want %q", n, failed, got, named)
				}
				for _, key := range before {
					mustGet(t, inner, key)
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
		if _, _, err := Overwrite(ctx, store, "test", nil); err != nil {
			t.Fatalf("call %d: overwrite again = %v", n, err)
		}
	case 1:
		if err := Delete(ctx, store); err != nil || len(keysOf(t, store)) > 0 {
			t.Fatalf("call %d: delete = %v, there is %q", n, err, keysOf(t, store))
		}
		return
	case 2:
		if !replaced {
			return
		}
		repo, err := Open(ctx, store, "test")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := repo.GC(ctx, GCOptions{}); err != nil {
			t.Fatalf("call %d: gc = %v", n, err)
		}
	}
	repo, s, err := OpenHead(ctx, store, "test")
	if err != nil {
		t.Fatal(err)
	}
	whole(t, repo)
	mine := []string{format.TSFKey(), format.RecordKey(repo.TSF.Main, 0)}
	for _, page := range []*format.UUID{s.Record.SchemaPage, s.Record.ColumnsPage} {
		if page != nil {
			mine = append(mine, format.MapKey(*page))
		}
	}
	if s.Record.Txn != nil {
		mine = append(mine, format.TxnKey(*s.Record.Txn))
	}
	for _, key := range keysOf(t, store) {
		hint := strings.HasPrefix(key, "hint/")
		if !slices.Contains(mine, key) && !hint && !orphan(t, repo, key) {
			t.Fatalf("call %d: %q is left", n, key)
		}
	}
}

// orphan reports whether key is the first record of an overwrite that did not come to replace
// tsf.json.
func orphan(t *testing.T, r *Repo, key string) bool {
	t.Helper()
	if _, version, err := format.ParseRecordKey(key); err != nil || version > 0 {
		return false
	}
	owner, err := format.Owner(mustGet(t, r.Store, key))
	return err == nil && owner != r.TSF.UUID && !slices.Contains(r.TSF.Replaces, owner) && !owner.IsZero()
}

// TestNamesOfReplaced: names that a broken-off overwrite left can be given, or are refused with the
// way out, and gc makes room without a gap below a name of the new dataset.
func TestNamesOfReplaced(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := memStore(t)
	everything(t, newFixture(t, store))
	plan := faultstore.Plan{{Ops: []faultstore.Op{faultstore.Delete}, Do: faultstore.Crash()}}
	if _, _, err := Overwrite(ctx, faultstore.New(store, plan), "test", nil); err == nil {
		t.Fatal("no delete was made")
	}
	repo, head, err := OpenHead(ctx, store, "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := repo.CreateBranch(ctx, "try", head, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := repo.CreateTag(ctx, "v1", head, "", ""); !errs.Is(err, errs.Exists) || !contains(err, "gc()") {
		t.Fatalf("create tag = %v", err)
	}
	if err := repo.SaveView(ctx, "cats", format.View{Branch: head.Record.Branch, Commit: head.Record.UUID, Query: "SELECT *", Params: []byte("[]")}, false); err != nil {
		t.Fatal(err)
	}
	want := []string{"branch main", "branch try", "view cats"}
	for range 2 {
		if got := names(t, repo); !slices.Equal(got, want) {
			t.Fatalf("names are %q, want %q", got, want)
		}
		whole(t, repo)
		if _, err := repo.GC(ctx, GCOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if keys := keysOf(t, store); !slices.Contains(keys, format.HeadKey("try", 0)) || slices.Contains(keys, format.HeadKey("gone", 0)) {
		t.Errorf("after gc there is %q", keys)
	}
	if _, err := repo.CreateTag(ctx, "v1", head, "", ""); err != nil {
		t.Fatal(err)
	}
}
