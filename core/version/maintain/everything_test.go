package maintain_test

import (
	"context"
	"strings"
	"testing"

	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/version/maintain"
	"deeplake/core/version/versiontest"
)

// TestEverything: a dataset with objects of every kind is copied, and all its objects say what they
// belong to.
func TestEverything(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := versiontest.MemStore(t)
	f := versiontest.New(t, store)
	repo := versiontest.Everything(t, f)
	want, err := repo.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]maintain.CopyOptions{"alone": {}, "with history": {History: true}} {
		dst := versiontest.MemStore(t)
		versiontest.FakeChunks(t, store, repo)
		if _, err := maintain.Copy(ctx, f.Repo(t), want, versiontest.Copier{Provider: dst}, o); err != nil {
			t.Fatalf("copy %s: %v", name, err)
		}
		bound(t, dst)
		copied, err := (&versiontest.Fixture{Store: dst}).Repo(t).Head(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Join(versiontest.State(t, copied), "\n"), strings.Join(versiontest.State(t, want), "\n"); got != want {
			t.Fatalf("copy %s:\n%s\nwant\n%s", name, got, want)
		}
	}
	bound(t, store)
	report, err := maintain.Fsck(ctx, repo, maintain.FsckOptions{MapsOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range report.Problems {
		if p.What != "chunk" { // this package writes none
			t.Errorf("fsck finds %+v", p)
		}
	}
}

// bound holds every object of a dataset against its key: it names the dataset and the key, or its
// name is its content.
func bound(t *testing.T, store storage.Provider) {
	t.Helper()
	ctx := context.Background()
	kinds := map[string]int{}
	if err := store.List(ctx, "", "", func(o storage.Object) bool {
		data, err := store.Get(ctx, o.Key)
		if err != nil {
			t.Fatal(err)
		}
		prefix, rest, _ := strings.Cut(o.Key, "/")
		kinds[prefix]++
		if prefix == "map" {
			kinds["map "+string(data[4])]++
		}
		switch prefix {
		case "data", "hint", "tsf.json":
		case "refs":
			if !strings.Contains(string(data), `"key":"`+o.Key+`"`) {
				t.Errorf("object %q says %s", o.Key, data)
			}
		default:
			if int(data[5]) != format.Version {
				t.Errorf("object %q has version %d, want %d", o.Key, data[5], format.Version)
			}
			if id, err := format.ParseUUID(rest); (prefix == "map" || prefix == "txn") && (err != nil || format.ContentName(data) != id) {
				t.Errorf("object %q has content %s", o.Key, format.ContentName(data))
			}
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if kinds["map P"] == 0 || kinds["map N"] == 0 || kinds["log"] == 0 || kinds["tsf.json"] != 1 {
		t.Errorf("objects: %v", kinds)
	}
}
