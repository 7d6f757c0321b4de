package version

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
)

// TestOpenHead: whatever a listing of all branches begins with, or if there is none, the newest
// commit of main is found.
func TestOpenHead(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	listing := []faultstore.Op{faultstore.List}
	for _, r := range []struct {
		name  string
		other int    // -1, 1: a branch whose records are listed before, after those of main
		junk  string // an object
		plan  faultstore.Plan
		lists int // how often it is asked
	}{
		{name: "main alone", lists: 1},
		{name: "another branch after main", other: 1, lists: 1},
		{name: "another branch before main", other: -1, lists: 2},
		{name: "no record at first", junk: "log/.hidden", lists: 1},
		{name: "no listing at first", plan: faultstore.Plan{{Ops: listing, Do: faultstore.Fail(errs.Denied)}}, lists: 2},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			inner := memStore(t)
			f := newFixture(t, inner)
			for i := range 5 {
				txn := f.begin(t)
				f.add(txn, 10, byte(i))
				f.commit(t, txn, "more")
			}
			main := f.begin(t).Base()
			for i := 0; r.other != 0; i++ {
				on, _, err := f.repo(t).CreateBranch(ctx, fmt.Sprint("b", i), main, "")
				if err != nil {
					t.Fatal(err)
				}
				if order := bytes.Compare(on.branch[:], main.Record.Branch[:]); order == r.other {
					break
				} else if r.other > 0 {
					if err := inner.Delete(ctx, format.RecordKey(on.branch, 0)); err != nil {
						// it must not come first
						t.Fatal(err)
					}
				}
			}
			if r.junk != "" {
				if err := inner.Put(ctx, r.junk, []byte("junk")); err != nil {
					t.Fatal(err)
				}
			}
			for remote, store := range map[bool]interface {
				storage.Provider
				Calls() []faultstore.Call
			}{false: faultstore.New(inner, nil), true: faultstore.NewRanged(inner, r.plan)} {
				repo, head, err := OpenHead(ctx, store, "test")
				if err != nil {
					t.Fatal(err)
				}
				if repo.Branch() != format.Main || head.Record.UUID != main.Record.UUID || head.Rows() != main.Rows() {
					t.Errorf("remote %v: branch %s at version %d, want %d", remote, repo.Branch(), head.Record.Version, main.Record.Version)
				}
				lists := 0
				for _, c := range store.Calls() {
					if c.Op == faultstore.List {
						lists++
					}
				}
				if want := map[bool]int{false: 1, true: r.lists}[remote]; lists != want {
					t.Errorf("remote %v: %d listings, want %d", remote, lists, want)
				}
			}
		})
	}
}

// TestOpenHeadOfNothing: OpenHead returns the errors of Open and Head.
func TestOpenHeadOfNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	empty, headless := memStore(t), memStore(t)
	f := newFixture(t, headless)
	main := f.begin(t).Base().Record
	for v := range main.Version + 1 {
		if err := headless.Delete(ctx, format.RecordKey(main.Branch, v)); err != nil {
			t.Fatal(err)
		}
	}
	denied := faultstore.Plan{{Ops: []faultstore.Op{faultstore.List}, Times: faultstore.Always, Do: faultstore.Fail(errs.Denied)}}
	for _, r := range []struct {
		name  string
		store storage.Provider
		want  errs.Kind
	}{
		{"no dataset", faultstore.NewRanged(empty, nil), errs.NotFound},
		{"no commit", faultstore.NewRanged(headless, nil), errs.Corrupt},
		{"no permission", faultstore.NewRanged(f.store, denied), errs.Denied},
	} {
		repo, err := Open(ctx, r.store, "test")
		if err == nil {
			_, err = repo.Head(ctx)
		}
		_, _, got := OpenHead(ctx, r.store, "test")
		if !errs.Is(got, r.want) || got.Error() != err.Error() {
			t.Errorf("%s: got %v, want %v", r.name, got, err)
		}
	}
}
