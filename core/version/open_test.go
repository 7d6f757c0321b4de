package version_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/version"
	"deeplake/core/version/versiontest"
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
		lists int // the number of its requests
	}{
		{name: "main alone", lists: 1},
		{name: "another branch after main", other: 1, lists: 1},
		{name: "another branch before main", other: -1, lists: 2},
		{name: "no record at first", junk: "log/.hidden", lists: 1},
		{name: "no listing at first", plan: faultstore.Plan{{Ops: listing, Do: faultstore.Fail(errs.Denied)}}, lists: 2},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			inner := versiontest.MemStore(t)
			f := versiontest.New(t, inner)
			for i := range 5 {
				txn := f.Begin(t)
				f.Add(txn, 10, byte(i))
				f.Commit(t, txn, "more")
			}
			main := f.Begin(t).Base()
			for i := 0; r.other != 0; i++ {
				on, _, err := f.Repo(t).CreateBranch(ctx, fmt.Sprint("b", i), main, "")
				if err != nil {
					t.Fatal(err)
				}
				id := on.BranchID()
				if order := bytes.Compare(id[:], main.Record.Branch[:]); order == r.other {
					break
				} else if r.other > 0 {
					if err := inner.Delete(ctx, format.RecordKey(on.BranchID(), 0)); err != nil {
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
				repo, head, err := version.OpenHead(ctx, store, "test")
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
	empty, headless := versiontest.MemStore(t), versiontest.MemStore(t)
	f := versiontest.New(t, headless)
	main := f.Begin(t).Base().Record
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
		{"no permission", faultstore.NewRanged(f.Store, denied), errs.Denied},
	} {
		repo, err := version.Open(ctx, r.store, "test")
		if err == nil {
			_, err = repo.Head(ctx)
		}
		_, _, got := version.OpenHead(ctx, r.store, "test")
		if !errs.Is(got, r.want) || got.Error() != err.Error() {
			t.Errorf("%s: got %v, want %v", r.name, got, err)
		}
	}
}

// TestOtherVersions: datasets and records of another format version are refused.
func TestOtherVersions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for number, says := range map[int]string{1: "no release", 3: "newer version"} {
		store := versiontest.MemStore(t)
		f := versiontest.New(t, store)
		repo := f.Repo(t)
		data := versiontest.MustGet(t, store, format.TSFKey())
		text := strings.Replace(string(data), `"format":2`, fmt.Sprintf(`"format":%d`, number), 1)
		if err := store.Put(ctx, format.TSFKey(), []byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := version.Open(ctx, store, "test"); !errs.Is(err, errs.Unsupported) || !versiontest.Contains(err, says) {
			t.Errorf("a dataset of version %d: %v", number, err)
		}
		if err := store.Put(ctx, format.TSFKey(), data); err != nil {
			t.Fatal(err)
		}
		key := format.RecordKey(repo.TSF.Main, 0)
		record := versiontest.MustGet(t, store, key)
		record[5] = byte(number)
		binary.LittleEndian.PutUint32(record[20:], format.CRC(record[:20]))
		if err := store.Put(ctx, key, record); err != nil {
			t.Fatal(err)
		}
		if _, err := repo.At(ctx, "0"); !errs.Is(err, errs.Unsupported) || !versiontest.Contains(err, says) {
			t.Errorf("a record of version %d: %v", number, err)
		}
	}
}
