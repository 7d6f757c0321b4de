package version_test

import (
	"context"
	"slices"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage/faultstore"
	"deeplake/core/version"
	"deeplake/core/version/maintain"
	"deeplake/core/version/versiontest"
)

// foreignKeys are files of other owners in the folders of a dataset.
func foreignKeys() []string {
	hex := versiontest.Numbered(0xab).String()
	return []string{
		"data/" + hex + "/01", "data/" + hex + "/x", "data/mine.bin", "hint/" + hex + ".txt", "log/" + hex + "/1", "log/app.log",
		"map/notes.txt", "map/" + hex[1:], "txn/a/b",
	}
}

// TestForeignFilesStay: files of other owners in the folders of a dataset outlive gc and delete,
// and no dataset is made among them.
func TestForeignFilesStay(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, key := range append(foreignKeys(), "refs/heads/README", "refs/x", "views/a.html") {
		store := versiontest.MemStore(t)
		if err := store.Put(ctx, key, []byte("mine")); err != nil {
			t.Fatal(err)
		}
		if _, _, err := version.Create(ctx, store, "test", nil); !errs.Is(err, errs.Exists) || !versiontest.Contains(err, key) || !versiontest.Contains(err, "another place") {
			t.Errorf("%s: create = %v", key, err)
		}
		if err := version.Delete(ctx, store); !errs.Is(err, errs.NotFound) {
			t.Errorf("%s: delete without a dataset = %v", key, err)
		}
		if got := versiontest.KeysOf(t, store); !slices.Equal(got, []string{key}) {
			t.Errorf("%s: there is %q", key, got)
		}
	}
	store := versiontest.MemStore(t)
	f := versiontest.New(t, store)
	want := foreignKeys()
	slices.Sort(want)
	for _, key := range want {
		if err := store.Put(ctx, key, []byte("mine")); err != nil {
			t.Fatal(err)
		}
	}
	repo := versiontest.Everything(t, f)
	if err := store.Put(ctx, format.MapKey(versiontest.Numbered(0xcd)), []byte("garbage")); err != nil {
		t.Fatal(err)
	}
	r, err := maintain.GC(ctx, repo, maintain.GCOptions{})
	if err != nil || r.Objects == 0 {
		t.Fatalf("gc = %+v, %v", r, err)
	}
	for _, key := range want {
		if _, err := store.Get(ctx, key); err != nil {
			t.Errorf("after gc: %v", err)
		}
	}
	if err := version.Delete(ctx, store); err != nil {
		t.Fatal(err)
	}
	if got := versiontest.KeysOf(t, store); !slices.Equal(got, want) {
		t.Errorf("after delete there is %q, want %q", got, want)
	}
}

// TestDeleteKilled: a deletion that is killed at any request has not begun, or says that it has; it
// goes on when it is called again, and a dataset that is made there then knows no old name.
func TestDeleteKilled(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, do := range []func() faultstore.Action{faultstore.Crash, faultstore.CrashAfter, func() faultstore.Action { return faultstore.Fail(errs.Storage) }} {
		for n := 0; ; n++ {
			inner := versiontest.MemStore(t)
			repo := versiontest.Everything(t, versiontest.New(t, inner))
			versiontest.FakeChunks(t, inner, repo)
			before := versiontest.KeysOf(t, inner)
			failed := version.Delete(ctx, faultstore.New(inner, faultstore.Plan{{Skip: n, Do: do()}}))
			left := versiontest.KeysOf(t, inner)
			found, err := version.Exists(ctx, inner)
			if err != nil {
				t.Fatal(err)
			}
			_, _, opened := version.OpenHead(ctx, inner, "test")
			_, _, created := version.Create(ctx, inner, "test", nil)
			switch {
			case opened == nil:
				if !found || !slices.Equal(left, before) || !errs.Is(created, errs.Exists) {
					t.Fatalf("call %d, %v: it opens, and exists says %v, create %v; %d of %d objects", n, failed, found, created, len(left), len(before))
				}
			case found:
				if !errs.Is(opened, errs.NotFound) || !versiontest.Contains(opened, "is being deleted") || !versiontest.Contains(opened, "delete()") {
					t.Fatalf("call %d, %v: open = %v", n, failed, opened)
				}
				if !errs.Is(created, errs.Exists) || !versiontest.Contains(created, "is being deleted") {
					t.Fatalf("call %d, %v: create = %v", n, failed, created)
				}
			case created != nil || len(left) > 0:
				t.Fatalf("call %d, %v: no dataset, and create = %v; there is %q", n, failed, created, left)
			}
			if err := version.Delete(ctx, inner); err != nil {
				t.Fatalf("call %d, %v: delete again = %v", n, failed, err)
			}
			if left := versiontest.KeysOf(t, inner); len(left) > 0 {
				t.Fatalf("call %d, %v: after another delete there is %q", n, failed, left)
			}
			fresh, _, err := version.Create(ctx, inner, "test", nil)
			if err != nil {
				t.Fatal(err)
			}
			if branches, err := fresh.Branches(ctx); err != nil || len(branches) != 1 {
				t.Fatalf("call %d: branches %v, %v", n, branches, err)
			}
			if tags, err := fresh.Tags(ctx); err != nil || len(tags) > 0 {
				t.Fatalf("call %d: tags %v, %v", n, tags, err)
			}
			if failed == nil {
				if n < 10 {
					t.Fatalf("a deletion made %d calls only", n)
				}
				break
			}
		}
	}
}

// TestLeftNames: names that a deletion or a copy left without a dataset are not given to a new one.
func TestLeftNames(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := versiontest.MemStore(t)
	versiontest.Everything(t, versiontest.New(t, store))
	if err := store.Delete(ctx, format.TSFKey()); err != nil {
		// as deletions did before there was a mark
		t.Fatal(err)
	}
	if _, _, err := version.Create(ctx, store, "test", nil); !errs.Is(err, errs.Exists) || !versiontest.Contains(err, "refs/") && !versiontest.Contains(err, "views/") || !versiontest.Contains(err, "delete()") {
		t.Fatalf("create = %v", err)
	}
	if err := version.Delete(ctx, store); err != nil {
		t.Fatal(err)
	}
	if _, _, err := version.Create(ctx, store, "test", nil); err != nil {
		t.Fatal(err)
	}
}
