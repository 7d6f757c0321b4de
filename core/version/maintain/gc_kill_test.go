package maintain_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage/faultstore"
	"deeplake/core/version"
	"deeplake/core/version/chunkmap"
	"deeplake/core/version/maintain"
	"deeplake/core/version/versiontest"
)

// TestGCKilled: a gc that expires and is killed at any write (a read changes nothing) leaves the
// newest commit, all names and a whole dataset; another gc ends its work.
func TestGCKilled(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, do := range []func() faultstore.Action{faultstore.Crash, faultstore.CrashAfter, faultstore.LostAnswer, func() faultstore.Action { return faultstore.Fail(errs.Storage) }} {
		for n := 0; ; n++ {
			inner := versiontest.MemStore(t)
			f := versiontest.New(t, inner)
			repo := versiontest.Everything(t, f)
			for i := range byte(3) {
				txn := f.Begin(t)
				f.Add(txn, 2, 20+i)
				f.Commit(t, txn, "more")
			}
			head, err := repo.Head(ctx)
			if err != nil {
				t.Fatal(err)
			}
			versiontest.FakeChunks(t, inner, repo)
			for _, key := range []string{format.MapKey(versiontest.Numbered(0xcd)), format.TxnKey(versiontest.Numbered(0xcd)), format.DataKey(versiontest.Numbered(0xcd), 1)} {
				if err := inner.Put(ctx, key, []byte("garbage")); err != nil {
					t.Fatal(err)
				}
			}
			want, named := strings.Join(versiontest.State(t, head), "\n"), versiontest.Names(t, repo)
			faulty := faultstore.New(inner, faultstore.Plan{{Ops: faultstore.Writing(), Skip: n, Do: do()}})
			collected, err := version.Open(ctx, inner, "test")
			if err != nil {
				t.Fatal(err)
			}
			collected.Store, collected.Pages = faulty, chunkmap.NewStore(faulty)
			_, failed := maintain.GC(ctx, collected, maintain.GCOptions{Expire: &maintain.Retention{Last: 1}})
			for range 2 {
				now, s, err := version.OpenHead(ctx, inner, "test")
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(versiontest.State(t, s), "\n"); got != want || !slices.Equal(versiontest.Names(t, now), named) {
					t.Fatalf("call %d, %v: the dataset has %q and\n%s\nwant %q and\n%s", n, failed, versiontest.Names(t, now), got, named, want)
				}
				versiontest.Whole(t, now)
				if _, err := maintain.GC(ctx, now, maintain.GCOptions{Expire: &maintain.Retention{Last: 1}}); err != nil {
					t.Fatalf("call %d, %v: gc again = %v", n, failed, err)
				}
			}
			report, err := maintain.Fsck(ctx, repo, maintain.FsckOptions{MapsOnly: true})
			if err != nil || report.Orphans > 0 {
				t.Fatalf("call %d, %v: %d objects are left, %v", n, failed, report.Orphans, err)
			}
			writes := 0
			for _, c := range faulty.Calls() {
				if slices.Contains(faultstore.Writing(), c.Op) {
					writes++
				}
			}
			if writes <= n {
				if failed != nil || n < 5 {
					t.Fatalf("a gc made %d writes, and %v", n, failed)
				}
				break
			}
		}
	}
}
