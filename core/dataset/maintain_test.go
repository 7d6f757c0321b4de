package dataset

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"deeplake/core/codec/all"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/storage/mem"
	"deeplake/core/version"
	"deeplake/core/version/maintain"
)

// clock is a time that a test moves.
type clock struct{ days atomic.Int64 }

func (c *clock) now() time.Time {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(c.days.Load()) * 24 * time.Hour)
}

// datedEnv returns an environment of stores with a fake clock.
func datedEnv() (*Env, *mem.Space, *clock) {
	c := &clock{}
	space := &mem.Space{Now: c.now}
	return &Env{Stores: storage.Registry{"mem": space.Open}, Codecs: all.All(), Writer: "test"}, space, c
}

func openedStore(t *testing.T, space *mem.Space, name string) storage.Provider {
	t.Helper()
	return must[storage.Provider](t)(space.Open(context.Background(), name, storage.Options{Create: true}))
}

func keysBelow(t *testing.T, p storage.Provider, prefix string) []string {
	t.Helper()
	var out []string
	if err := p.List(context.Background(), prefix, "", func(o storage.Object) bool {
		out = append(out, o.Key)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestGC removes only unreachable objects that are older than the grace period.
func TestGC(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env, space, clock := datedEnv()
	store := openedStore(t, space, "d")
	d := numberedDataset(t, env, "mem://d")
	appendNumbers(t, d, 1, 2)
	commit(t, d, "two")
	must[TagInfo](t)(d.Versions().CreateTag(ctx, "v1", "", ""))
	updateNumbers(t, d, 0, 5)
	commit(t, d, "an update")

	if err := d.Checkout(ctx, "doomed", true); err != nil {
		t.Fatal(err)
	}
	appendNumbers(t, d, 6, 7)
	commit(t, d, "on a branch")
	if err := d.Checkout(ctx, "main", false); err != nil {
		t.Fatal(err)
	}
	whole := len(keysBelow(t, store, "data/")) + len(keysBelow(t, store, "map/"))

	// A writer that never commits.
	lost := must[*Dataset](t)(Open(ctx, env, "mem://d", OpenOptions{}))
	appendNumbers(t, lost, 8)
	must[*View](t)(lost.View(ctx)) // its chunks are in the store
	if err := lost.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(keysBelow(t, store, "data/")) + len(keysBelow(t, store, "map/")); n <= whole {
		t.Fatalf("%d objects, want more than %d", n, whole)
	}
	gc := func(o maintain.GCOptions) maintain.GCReport {
		t.Helper()
		return must[maintain.GCReport](t)(d.Versions().GC(ctx, o))
	}
	if r := gc(maintain.GCOptions{OlderThan: version.GCGrace}); r.Objects != 0 || r.Young == 0 {
		t.Fatalf("on the first day: %+v", r)
	}
	clock.days.Store(3)
	// A slow writer, which began on day 3 and commits on day 9.
	slow := must[*Dataset](t)(Open(ctx, env, "mem://d", OpenOptions{}))
	defer slow.Close()
	appendNumbers(t, slow, 100, 101)
	must[*View](t)(slow.View(ctx))
	reader := must[*Dataset](t)(Open(ctx, env, "mem://d", OpenOptions{At: "v1"}))
	defer reader.Close()
	if err := d.Versions().DeleteBranch(ctx, "doomed"); err != nil {
		t.Fatal(err)
	}
	clock.days.Store(8)
	d.repo.Now = clock.now
	dry := gc(maintain.GCOptions{OlderThan: version.GCGrace, DryRun: true})
	r := gc(maintain.GCOptions{OlderThan: version.GCGrace})
	if dry.DryRun = false; dry != r || r.Objects == 0 || r.Young == 0 {
		t.Fatalf("on day 8: %+v, dry %+v", r, dry)
	}
	if again := gc(maintain.GCOptions{OlderThan: version.GCGrace}); again.Objects != 0 {
		t.Fatalf("a second time: %+v", again)
	}
	if n := len(keysBelow(t, store, "data/")) + len(keysBelow(t, store, "map/")); n < whole {
		t.Fatalf("%d objects of %d are left while the branch was deleted a short time ago", n, whole)
	}
	clock.days.Store(9)
	commit(t, slow, "slow")
	wantNumbers(t, slow, 5, 2, 100, 101)
	wantNumbers(t, reader, 1, 2)

	clock.days.Store(11) // the branch has been gone for eight days
	if r := gc(maintain.GCOptions{OlderThan: version.GCGrace}); r.Objects == 0 {
		t.Fatalf("the deleted branch: %+v", r)
	}
	clock.days.Store(30)
	if r := gc(maintain.GCOptions{OlderThan: version.GCGrace}); r.Young != 0 {
		t.Fatalf("on day 30: %+v", r)
	}
	if err := d.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	fresh := must[*Dataset](t)(Open(ctx, env, "mem://d", OpenOptions{}))
	defer fresh.Close()
	wantNumbers(t, fresh, 5, 2, 100, 101)
	past := must[*Dataset](t)(Open(ctx, env, "mem://d", OpenOptions{At: "v1"}))
	defer past.Close()
	wantNumbers(t, past, 1, 2)
	if report := must[maintain.FsckReport](t)(d.Versions().Fsck(ctx, maintain.FsckOptions{})); len(report.Problems) != 0 || report.Orphans != 0 {
		t.Fatalf("after all: %+v", report)
	}
	_, err := d.Versions().GC(ctx, maintain.GCOptions{OlderThan: -1})
	wantError(t, err, errs.Invalid)
}

// TestGCNow: without a grace period all garbage goes at once.
func TestGCNow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := numberedDataset(t, testEnv(), "mem://d")
	appendNumbers(t, d, 1, 2)
	must[*View](t)(d.View(ctx))
	if err := d.Discard(ctx); err != nil {
		t.Fatal(err)
	}
	appendNumbers(t, d, 3)
	commit(t, d, "kept")
	if r := must[maintain.GCReport](t)(d.Versions().GC(ctx, maintain.GCOptions{})); r.Objects == 0 || r.Young != 0 {
		t.Fatalf("%+v", r)
	}
	wantNumbers(t, d, 3)
	again := must[*Dataset](t)(Open(ctx, d.env, "mem://d", OpenOptions{}))
	defer again.Close()
	wantNumbers(t, again, 3)
}

// damaged is a dataset with objects of every kind, in a store of its own that can be changed beside
// it.
func damagedDataset(t *testing.T) (*Dataset, storage.Provider) {
	t.Helper()
	ctx := context.Background()
	env, space, _ := datedEnv()
	d := numberedDataset(t, env, "mem://d")
	many := make([]int64, 4000)
	for i := range many {
		many[i] = int64(i)
	}
	appendNumbers(t, d, many...)
	commit(t, d, "many")
	updateNumbers(t, d, 10, -1)
	if err := d.DeleteRows(ctx, []int64{0, 1}); err != nil {
		t.Fatal(err)
	}
	commit(t, d, "changes")
	must[TagInfo](t)(d.Versions().CreateTag(ctx, "v1", "", ""))
	if err := d.Versions().CreateBranch(ctx, "work", ""); err != nil {
		t.Fatal(err)
	}
	return d, openedStore(t, space, "d")
}

// TestFsck damages every object of a dataset in every way, and looks whether it is named.
func TestFsck(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, store := damagedDataset(t)
	if r := must[maintain.FsckReport](t)(d.Versions().Fsck(ctx, maintain.FsckOptions{})); len(r.Problems) != 0 || r.Chunks != 4 || r.Commits != 5 || r.Bytes == 0 {
		t.Fatalf("of a whole dataset: %+v", r)
	}
	for _, key := range keysBelow(t, store, "") {
		if key == format.TSFKey() || strings.HasPrefix(key, "hint/") {
			continue // without it there is no dataset; hints mean nothing
		}
		data := must[[]byte](t)(store.Get(ctx, key))
		for what, edit := range map[string]func() []byte{
			"missing":   func() []byte { return nil },
			"truncated": func() []byte { return data[:len(data)*2/3] },
			"flipped":   func() []byte { b := slices.Clone(data); b[len(b)/2] ^= 4; return b },
		} {
			if err := store.Delete(ctx, key); err != nil {
				t.Fatal(err)
			}
			if b := edit(); b != nil {
				if err := store.Put(ctx, key, b); err != nil {
					t.Fatal(err)
				}
			}
			again := must[*version.Repo](t)(version.Open(ctx, store, "test"))
			r, err := maintain.Fsck(ctx, again, maintain.FsckOptions{})
			if err != nil {
				t.Fatalf("%s %q: %v", what, key, err)
			}
			if named := slices.ContainsFunc(r.Problems, func(p maintain.Problem) bool { return p.Key == key && p.Error != "" && p.Lost != "" }); !named {
				// An object that is missing by its name alone may never have existed.
				if what != "missing" || !(strings.HasPrefix(key, "refs/") || strings.HasPrefix(key, "log/")) {
					t.Errorf("%s %q is not in %+v", what, key, r.Problems)
				}
			}
			if !strings.HasPrefix(key, "log/") && !strings.HasPrefix(key, "refs/") || what != "missing" {
				if _, err := maintain.GC(ctx, again, maintain.GCOptions{}); err == nil && !strings.HasPrefix(key, "data/") && !isSide(data) {
					t.Errorf("%s %q: gc worked on", what, key)
				}
			}
			if err := store.Put(ctx, key, data); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func isSide(data []byte) bool { return len(data) > 5 && data[4] == byte(format.KindSide) }

// TestFsckRows: the report names the rows that are lost, as the user counts them.
func TestFsckRows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, store := damagedDataset(t)
	id := d.head.Schema.Find("x").ID
	e, _, err := d.head.Tree(id).Find(ctx, 2000)
	if err != nil {
		t.Fatal(err)
	}
	key := format.DataKey(e.Session, e.Ordinal)
	data := must[[]byte](t)(store.Get(ctx, key))
	flipped := slices.Clone(data)
	flipped[format.ChunkHeadBytes+8*1000] ^= 1 // row 1000 as appended, 998 now
	if err := store.Put(ctx, key, flipped); err != nil {
		t.Fatal(err)
	}
	r := must[maintain.FsckReport](t)(d.Versions().Fsck(ctx, maintain.FsckOptions{}))
	if len(r.Problems) != 1 || r.Problems[0].Tensor != "x" || r.Problems[0].Key != key || r.Problems[0].Branch != "main" || r.Problems[0].Version != 3 {
		t.Fatalf("%+v", r)
	}
	p := r.Problems[0]
	hit := slices.ContainsFunc(p.Rows, func(x format.RowRange) bool { return x.Start <= 998 && 998 < x.Start+x.Count })
	if !hit || p.Count < 1 || p.Count >= 3998 || !strings.Contains(p.Error, "checksum") {
		t.Fatalf("%+v", p)
	}
	if r := must[maintain.FsckReport](t)(d.Versions().Fsck(ctx, maintain.FsckOptions{MapsOnly: true})); len(r.Problems) != 0 {
		t.Fatalf("without data: %+v", r)
	}
	if err := store.Delete(ctx, key); err != nil {
		t.Fatal(err)
	}
	if r := must[maintain.FsckReport](t)(d.Versions().Fsck(ctx, maintain.FsckOptions{MapsOnly: true})); len(r.Problems) != 1 || r.Problems[0].Count != 3997 {
		t.Fatalf("a missing chunk: %+v", r)
	}
}

// TestFsckRepair: side pages are made again from the chunks, and the dataset reads as before.
func TestFsckRepair(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, store := damagedDataset(t)
	want := numbersIn(t, d)
	broken := 0
	for _, key := range keysBelow(t, store, "map/") {
		data := must[[]byte](t)(store.Get(ctx, key))
		if !isSide(data) {
			continue
		}
		broken++
		if broken%2 == 0 {
			data[len(data)-1] ^= 1
			if err := store.Put(ctx, key, data); err != nil {
				t.Fatal(err)
			}
		} else if err := store.Delete(ctx, key); err != nil {
			t.Fatal(err)
		}
	}
	found := must[maintain.FsckReport](t)(d.Versions().Fsck(ctx, maintain.FsckOptions{}))
	if broken < 2 || len(found.Problems) != broken || found.Problems[0].Repair == "" || found.Problems[0].Done {
		t.Fatalf("%d are broken: %+v", broken, found)
	}
	fixed := must[maintain.FsckReport](t)(d.Versions().Fsck(ctx, maintain.FsckOptions{Repair: true}))
	if len(fixed.Problems) != broken || !fixed.Problems[0].Done {
		t.Fatalf("%+v", fixed)
	}
	if r := must[maintain.FsckReport](t)(d.Versions().Fsck(ctx, maintain.FsckOptions{})); len(r.Problems) != 0 {
		t.Fatalf("after the repair: %+v", r)
	}
	again := must[*Dataset](t)(Open(ctx, d.env, "mem://d", OpenOptions{}))
	defer again.Close()
	wantNumbers(t, again, want...)
}

// TestCopy copies between stores, with and without history.
func TestCopy(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, _ := damagedDataset(t)
	env := d.env
	want := numbersIn(t, d)
	appendNumbers(t, d, 1, 2, 3)
	must[*View](t)(d.View(ctx)) // garbage that is not copied
	if err := d.Discard(ctx); err != nil {
		t.Fatal(err)
	}
	for _, history := range []bool{false, true} {
		dst := fmt.Sprintf("mem://copy-%v", history)
		o := CopyOptions{CopyOptions: maintain.CopyOptions{History: history, Message: "a copy"}}
		r := must[maintain.CopyReport](t)(Copy(ctx, env, "mem://d", dst, o))
		if r.Objects == 0 || r.Bytes == 0 || r.Skipped != 0 {
			t.Fatalf("%+v", r)
		}
		c := must[*Dataset](t)(Open(ctx, env, dst, OpenOptions{}))
		defer c.Close()
		wantNumbers(t, c, want...)
		branches, tags := must[[]BranchInfo](t)(c.Versions().Branches(ctx)), must[[]TagInfo](t)(c.Versions().Tags(ctx))
		log := must[[]version.Committed](t)(c.Log(ctx, 0))
		if history != (len(branches) == 2) || history != (len(tags) == 1) || history != (len(log) == 4) {
			t.Fatalf("history %v: %d branches, %d tags, %d commits", history, len(branches), len(tags), len(log))
		}
		if !history && log[0].Message != "a copy" {
			t.Fatalf("the commit says %q", log[0].Message)
		}
		if f := must[maintain.FsckReport](t)(c.Versions().Fsck(ctx, maintain.FsckOptions{})); len(f.Problems) != 0 || f.Orphans != 0 {
			t.Fatalf("history %v: %+v", history, f)
		}
		updateNumbers(t, c, 0, 42)
		appendNumbers(t, c, 43)
		commit(t, c, "on")
		wantNumbers(t, d, want...)
		_, err := Copy(ctx, env, "mem://d", dst, o)
		wantError(t, err, errs.Exists, "delete it")
	}
	_, err := Copy(ctx, env, "mem://d", "mem://other", CopyOptions{CopyOptions: maintain.CopyOptions{History: true}, At: "1"})
	wantError(t, err, errs.Invalid, "history", "give one of the two")
	_, err = Copy(ctx, env, "mem://d", "mem://d", CopyOptions{})
	wantError(t, err, errs.Invalid, "itself")
}

// TestProgress: a long operation counts its finished work, and the counts add up.
func TestProgress(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, _ := damagedDataset(t)
	v := d.Versions()
	if p := v.Progress(); p.Items.Load() != 0 {
		t.Fatalf("nothing was begun, and %d items are done", p.Items.Load())
	}
	fsck := must[maintain.FsckReport](t)(v.Fsck(ctx, maintain.FsckOptions{}))
	if p := v.Progress(); p.Items.Load() != fsck.Chunks || p.Bytes.Load() != fsck.Bytes || p.TotalItems.Load() != fsck.Chunks || p.TotalBytes.Load() != fsck.Bytes {
		t.Fatalf("fsck of %d chunks: %d of %d", fsck.Chunks, p.Items.Load(), p.TotalItems.Load())
	}
	gc := must[maintain.GCReport](t)(v.GC(ctx, maintain.GCOptions{}))
	if p := v.Progress(); p.Items.Load() != gc.Commits+gc.Kept+gc.Objects {
		t.Fatalf("gc of %+v: %d", gc, p.Items.Load())
	}
	done := must[maintain.CopyReport](t)(v.Copy(ctx, "mem://to", storage.Options{}, maintain.CopyOptions{History: true}))
	if p := v.Progress(); p.Items.Load() != done.Objects || p.TotalItems.Load() == 0 || p.Bytes.Load() != done.Bytes {
		t.Fatalf("copy of %+v: %d of %d", done, p.Items.Load(), p.TotalItems.Load())
	}
	must[RechunkReport](t)(d.Rechunk(ctx, RechunkOptions{All: true}))
	if p := v.Progress(); p.Items.Load() != p.TotalItems.Load() || p.Items.Load() < 2*4000 || p.Bytes.Load() == 0 {
		t.Fatalf("rechunk: %d of %d", p.Items.Load(), p.TotalItems.Load())
	}
}

// TestCopyGoesOn: a copy stopped at any call leaves no dataset, and the next copy continues its
// work.
func TestCopyGoesOn(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, _ := damagedDataset(t)
	want := numbersIn(t, d)
	space := &mem.Space{}
	skipped := int64(0)
	for n := 0; ; n++ {
		inner := openedStore(t, space, fmt.Sprintf("c%d", n))
		faults := faultstore.New(inner, faultstore.Plan{{Ops: faultstore.Writing(), Skip: n, Do: faultstore.Crash()}})
		_, err := maintain.Copy(ctx, d.repo, d.head, faults, maintain.CopyOptions{History: true})
		if found := must[bool](t)(version.Exists(ctx, inner)); found != (err == nil) {
			t.Fatalf("crash at write %d: error %v, a dataset is there: %v", n, err, found)
		}
		if err == nil {
			break
		}
		r := must[maintain.CopyReport](t)(maintain.Copy(ctx, d.repo, d.head, inner, maintain.CopyOptions{History: true}))
		skipped += r.Skipped
		repo := must[*version.Repo](t)(version.Open(ctx, inner, "test"))
		if f := must[maintain.FsckReport](t)(maintain.Fsck(ctx, repo, maintain.FsckOptions{})); len(f.Problems) != 0 {
			t.Fatalf("crash at write %d: %+v", n, f)
		}
	}
	if skipped == 0 {
		t.Fatal("no copy took up what another had left")
	}
	wantNumbers(t, d, want...)
}

// TestCopyRefusesDamage: a damaged dataset is not copied.
func TestCopyRefusesDamage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, store := damagedDataset(t)
	for _, key := range slices.Concat(keysBelow(t, store, "data/"), keysBelow(t, store, "map/")) {
		data := must[[]byte](t)(store.Get(ctx, key))
		flipped := slices.Clone(data)
		flipped[len(flipped)/2] ^= 1
		for _, edit := range [][]byte{nil, flipped} {
			if err := store.Delete(ctx, key); err != nil {
				t.Fatal(err)
			}
			if edit != nil {
				if err := store.Put(ctx, key, edit); err != nil {
					t.Fatal(err)
				}
			}
			_, err := Copy(ctx, d.env, "mem://d", "mem://to", CopyOptions{CopyOptions: maintain.CopyOptions{History: true}})
			if !errs.Is(err, errs.Corrupt) {
				t.Errorf("copy with %q damaged: %v", key, err)
			}
		}
		if err := store.Put(ctx, key, data); err != nil {
			t.Fatal(err)
		}
	}
}
