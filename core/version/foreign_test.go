package version_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/version"
	"deeplake/core/version/maintain"
	"deeplake/core/version/versiontest"
)

// TestForeignFiles: files that others leave in the folders of a dataset hinder no operation. gc and
// delete leave them, and fsck lists them.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		".DS_Store", "._0", ".nfs00000000012a", "Thumbs.db", "desktop.ini", "@eaDir/x@SynoResource", "zz~", "0", "~tmp",
		"0d2f.multipart-17", "18446744073709551615.part",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			store := versiontest.MemStore(t)
			f := rich(t, store)
			repo, head, err := version.OpenHead(ctx, store, "test")
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := repo.CreateBranch(ctx, "side", head, "me"); err != nil {
				t.Fatal(err)
			}
			if _, err := repo.CreateTag(ctx, "v1", head, "", "me"); err != nil {
				t.Fatal(err)
			}
			saved := format.View{Branch: head.Record.Branch, Commit: head.Record.UUID, Query: "SELECT *", Params: []byte("[]")}
			if err := repo.SaveView(ctx, "first", saved, false); err != nil {
				t.Fatal(err)
			}
			// The fixture has no chunks.
			before, err := maintain.Fsck(ctx, repo, maintain.FsckOptions{MapsOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			strange := litter(t, store, name)
			same := func(operation string) {
				t.Helper()
				for _, key := range strange {
					if _, err := store.Get(ctx, key); err != nil {
						t.Fatalf("%s: %q: %v", operation, key, err)
					}
				}
			}
			if err := readAll(f); err != nil {
				t.Fatalf("read: %v", err)
			}
			repo, again, err := version.OpenHead(ctx, store, "test")
			if err != nil || again.Record.UUID != head.Record.UUID {
				t.Fatalf("open: %v", err)
			}
			branches, err := repo.Branches(ctx)
			if err != nil || len(branches) != 2 {
				t.Errorf("branches: %v, %v", branches, err)
			}
			tags, err := repo.Tags(ctx)
			if err != nil || len(tags) != 1 {
				t.Errorf("tags: %v, %v", tags, err)
			}
			views, err := repo.Views(ctx)
			if err != nil || len(views) != 1 {
				t.Errorf("views: %v, %v", views, err)
			}
			txn := f.Begin(t)
			f.Add(txn, 10, 1)
			head = f.Commit(t, txn, "beside them")
			if log, err := repo.Log(ctx, 0); err != nil || log[0].UUID != head.Record.UUID {
				t.Errorf("log: %v", err)
			}
			report, err := maintain.Fsck(ctx, repo, maintain.FsckOptions{MapsOnly: true})
			slices.Sort(report.Foreign)
			if err != nil || report.Orphans != before.Orphans || !slices.Equal(report.Foreign, strange) {
				t.Errorf("fsck: %d orphans, want %d; foreign %q, want %q; %v", report.Orphans, before.Orphans, report.Foreign, strange, err)
			}
			for _, p := range report.Problems {
				if slices.Contains(strange, p.Key) {
					t.Errorf("fsck: %q is damage: %s", p.Key, p.Error)
				}
			}
			if _, err := maintain.GC(ctx, repo, maintain.GCOptions{}); err != nil {
				t.Errorf("gc: %v", err)
			}
			same("gc")
			if err := version.Delete(ctx, store); err != nil {
				t.Errorf("delete: %v", err)
			}
			same("delete")
		})
	}
}

// litter puts a file of this name into every folder of a dataset, and returns their keys in order.
func litter(t *testing.T, store storage.Provider, name string) []string {
	t.Helper()
	ctx := context.Background()
	folders := map[string]bool{}
	if err := store.List(ctx, "", "", func(o storage.Object) bool {
		for at, c := range o.Key {
			if c == '/' {
				folders[o.Key[:at+1]] = true
			}
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for folder := range folders {
		keys = append(keys, folder+name)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if format.OurKey(key) {
			t.Fatalf("%q is a key of the format", key)
		}
		if err := store.Put(ctx, key, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

// TestLitterLeavesAPlaceVacant: what file browsers leave does not keep a dataset from a place; any
// other file does.
func TestLitterLeavesAPlaceVacant(t *testing.T) {
	t.Parallel()
	for name, free := range map[string]bool{
		"log/.DS_Store": true, "data/._x": true, "refs/@eaDir/a/b": true, "views/Thumbs.db": true, "map/.nfs01": true,
		"data/photo.jpg": false, "log/notes.txt": false,
	} {
		store := versiontest.MemStore(t)
		if err := store.Put(context.Background(), name, []byte("x")); err != nil {
			t.Fatal(err)
		}
		err := version.Vacant(context.Background(), "create dataset", store, nil)
		if free && err != nil || !free && (!errs.Is(err, errs.Exists) || !strings.Contains(err.Error(), name)) {
			t.Errorf("%s: %v, want vacant %v", name, err, free)
		}
	}
}
