package versiontest

import (
	"context"
	"strings"
	"testing"

	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/version"
	"deeplake/core/version/maintain"
)

// Everything writes objects of every kind: it loses races, gives and deletes names, merges, and
// saves a view.
func Everything(t testing.TB, f *Fixture) *version.Repo {
	t.Helper()
	ctx := context.Background()
	small := f.Repo(t) // a writer of small pages
	small.Pages.MaxEntries, small.Pages.MaxPieces = 40, 1000
	head, err := small.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	txn := small.Begin(head)
	f.AddChunks(txn, 60, 20)
	head = f.Commit(t, txn, "many rows")
	var odd []int64
	for row := int64(21); row < 1200; row += 2 {
		odd = append(odd, row)
	}
	txn = small.Begin(head)
	f.Update(txn, 21, odd...)
	if root := f.Commit(t, txn, "a tree of pages").Record.Columns[f.X].Root; root.Height == 0 {
		t.Fatal("the tree has no inner page")
	}
	ours, theirs := f.Begin(t), f.Begin(t)
	f.Mixed(ours)
	f.Add(theirs, 4, 9)
	f.Commit(t, theirs, "the winner")
	head = f.Commit(t, ours, "laid on top")
	repo := f.Repo(t)
	on, first, err := repo.CreateBranch(ctx, "try", head, "tester")
	if err != nil {
		t.Fatal(err)
	}
	txn = on.Begin(first)
	f.AddLarge(txn, 11)
	f.Add(txn, 1, 13)
	if store := txn.Spill(); store == nil || store(ctx) != nil {
		t.Fatal("a full side page is not stored ahead of its commit")
	}
	f.Update(txn, 12, 1)
	tip := f.Commit(t, txn, "on the branch")
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
	merged, done, err := repo.Merge(ctx, tip, version.OnConflictError, "merge", "tester")
	if err != nil || !done {
		t.Fatal(done, err)
	}
	if got := State(t, merged); len(got) < 10 {
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
	if _, err := maintain.GC(ctx, repo, maintain.GCOptions{Expire: &maintain.Retention{Last: 1}}); err != nil {
		t.Fatal(err)
	}
	return repo
}

// Copier copies chunks as a store does, without looking at them.
type Copier struct{ storage.Provider }

// URI differs from that of the source.
func (c Copier) URI() string { return "mem://copy" }

// CopyFrom copies objects below data/.
func (c Copier) CopyFrom(ctx context.Context, src storage.Provider, srcKey, key string) (bool, error) {
	if !strings.HasPrefix(key, "data/") {
		return false, nil
	}
	data, err := src.Get(ctx, srcKey)
	if err != nil {
		return false, err
	}
	return true, c.Put(ctx, key, data)
}

// FakeChunks puts 100 bytes under the key of every chunk that the dataset names and lacks.
func FakeChunks(t testing.TB, store storage.Provider, repo *version.Repo) {
	t.Helper()
	ctx := context.Background()
	report, err := maintain.Fsck(ctx, repo, maintain.FsckOptions{MapsOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range report.Problems {
		if p.What != "chunk" {
			continue
		}
		if err := store.Put(ctx, p.Key, make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
}

// KeysOf lists all that a store holds.
func KeysOf(t testing.TB, p storage.Provider) []string {
	t.Helper()
	var keys []string
	if err := p.List(context.Background(), "", "", func(o storage.Object) bool {
		keys = append(keys, o.Key)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return keys
}

// Names lists the branches, tags and views of a dataset.
func Names(t testing.TB, r *version.Repo) []string {
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

// Whole fails unless fsck finds nothing.
func Whole(t testing.TB, r *version.Repo) {
	t.Helper()
	report, err := maintain.Fsck(context.Background(), r, maintain.FsckOptions{MapsOnly: true})
	if err != nil || len(report.Problems) > 0 {
		t.Fatalf("fsck: %+v, %v", report.Problems, err)
	}
}

// MustGet returns an object.
func MustGet(t testing.TB, p storage.Provider, key string) []byte {
	t.Helper()
	data, err := p.Get(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
