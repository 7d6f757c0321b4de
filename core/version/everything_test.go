package version

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
)

// everything does what writes objects of every kind: races that are lost, names, deletions, a
// merge, a view.
func everything(t *testing.T, f *fixture) *Repo {
	t.Helper()
	ctx := context.Background()
	txn := f.begin(t)
	f.add(txn, 2500, 20)
	f.commit(t, txn, "many rows")
	var odd []int64
	for row := int64(21); row < 2500; row += 2 {
		odd = append(odd, row)
	}
	txn = f.begin(t)
	f.update(txn, 21, odd...)
	if root := f.commit(t, txn, "a tree of pages").Record.Columns[f.x].Root; root.Height == 0 {
		t.Fatal("the tree has no inner page")
	}
	ours, theirs := f.begin(t), f.begin(t)
	f.mixed(ours)
	f.add(theirs, 4, 9)
	f.commit(t, theirs, "the winner")
	head := f.commit(t, ours, "laid on top")
	repo := f.repo(t)
	on, first, err := repo.CreateBranch(ctx, "try", head, "tester")
	if err != nil {
		t.Fatal(err)
	}
	txn = on.Begin(first)
	f.add(txn, 2, 11)
	txn.columns[f.x].closeSide(txn.full)
	if store := txn.Spill(); store == nil || store(ctx) != nil {
		t.Fatal("a full side page is not stored ahead of its commit")
	}
	f.update(txn, 12, 1)
	tip := f.commit(t, txn, "on the branch")
	if _, _, err := repo.CreateBranch(ctx, "gone", head, "tester"); err != nil {
		t.Fatal(err)
	}
	if err := repo.DeleteBranch(ctx, "gone"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"v1", "v2"} {
		if _, err := repo.CreateTag(ctx, name, head, "", "tester"); err != nil {
			t.Fatal(err)
		}
	}
	if err := repo.DeleteTag(ctx, "v2"); err != nil {
		t.Fatal(err)
	}
	merged, done, err := repo.Merge(ctx, tip, OnConflictError, "merge", "tester")
	if err != nil || !done {
		t.Fatal(done, err)
	}
	if got := state(t, merged); len(got) < 10 {
		t.Fatalf("merged: %q", got)
	}
	v := format.View{Branch: merged.Record.Branch, Version: merged.Record.Version, Commit: merged.Record.UUID, Query: "SELECT *", Params: []byte("[]")}
	for _, name := range []string{"cats", "dogs"} {
		if err := repo.SaveView(ctx, name, v, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := repo.DeleteView(ctx, "dogs"); err != nil {
		t.Fatal(err)
	}
	if _, err := repo.GC(ctx, GCOptions{Expire: &Retention{Last: 1}}); err != nil {
		t.Fatal(err)
	}
	return repo
}

// TestEverything: a dataset with objects of every kind is copied, and all its objects say what they
// belong to.
func TestEverything(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := memStore(t)
	f := newFixture(t, store)
	repo := everything(t, f)
	want, err := repo.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]CopyOptions{"alone": {}, "with history": {History: true}} {
		dst := memStore(t)
		fakeChunks(t, store, repo)
		if _, err := Copy(ctx, f.repo(t), want, copier{dst}, o); err != nil {
			t.Fatalf("copy %s: %v", name, err)
		}
		bound(t, dst)
		copied, err := (&fixture{store: dst}).repo(t).Head(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Join(state(t, copied), "\n"), strings.Join(state(t, want), "\n"); got != want {
			t.Fatalf("copy %s:\n%s\nwant\n%s", name, got, want)
		}
	}
	bound(t, store)
	report, err := repo.Fsck(ctx, FsckOptions{MapsOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range report.Problems {
		if p.What != "chunk" { // this package writes none
			t.Errorf("fsck finds %+v", p)
		}
	}
}

// copier copies chunks as a store does, without looking at them.
type copier struct{ storage.Provider }

func (c copier) URI() string { return "mem://copy" }

func (c copier) CopyFrom(ctx context.Context, src storage.Provider, srcKey, key string) (bool, error) {
	if !strings.HasPrefix(key, "data/") {
		return false, nil
	}
	data, err := src.Get(ctx, srcKey)
	if err != nil {
		return false, err
	}
	return true, c.Put(ctx, key, data)
}

// fakeChunks puts something under the key of every chunk that the dataset names.
func fakeChunks(t *testing.T, store storage.Provider, repo *Repo) {
	t.Helper()
	ctx := context.Background()
	tips, err := repo.roots(ctx, repo.Now(), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	expired, err := repo.expiries(ctx, repo.Now(), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := newMarker(repo)
	w.expired = expired.below()
	if err := w.markAll(ctx, tips); err != nil {
		t.Fatal(err)
	}
	for session, ordinals := range w.chunks {
		for it := ordinals.Iterator(); it.HasNext(); {
			if err := store.Put(ctx, format.DataKey(session, int64(it.Next())), make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
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
	if kinds["map"] == 0 || kinds["log"] == 0 || kinds["tsf.json"] != 1 {
		t.Errorf("objects: %v", kinds)
	}
}

// TestOtherVersions: datasets and records of another format version are refused.
func TestOtherVersions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for version, says := range map[int]string{1: "no release", 3: "newer version"} {
		store := memStore(t)
		f := newFixture(t, store)
		repo := f.repo(t)
		data := mustGet(t, store, format.TSFKey())
		text := strings.Replace(string(data), `"format":2`, fmt.Sprintf(`"format":%d`, version), 1)
		if err := store.Put(ctx, format.TSFKey(), []byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(ctx, store, "test"); !errs.Is(err, errs.Unsupported) || !contains(err, says) {
			t.Errorf("a dataset of version %d: %v", version, err)
		}
		if err := store.Put(ctx, format.TSFKey(), data); err != nil {
			t.Fatal(err)
		}
		key := format.RecordKey(repo.TSF.Main, 0)
		record := mustGet(t, store, key)
		record[5] = byte(version)
		binary.LittleEndian.PutUint32(record[20:], format.CRC(record[:20]))
		if err := store.Put(ctx, key, record); err != nil {
			t.Fatal(err)
		}
		if _, err := repo.At(ctx, "0"); !errs.Is(err, errs.Unsupported) || !contains(err, says) {
			t.Errorf("a record of version %d: %v", version, err)
		}
	}
}
