package maintain_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/version"
	"deeplake/core/version/maintain"
	"deeplake/core/version/versiontest"
)

// TestCopyKilled: a copy that is killed at any request leaves no dataset, or the whole copy. The
// same call continues it, also after a deletion of the part. Names come last.
func TestCopyKilled(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	src := versiontest.MemStore(t)
	repo := versiontest.Everything(t, versiontest.New(t, src))
	versiontest.FakeChunks(t, src, repo)
	head, err := repo.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join(versiontest.State(t, head), "\n")
	for _, history := range []bool{false, true} {
		for _, do := range []func() faultstore.Action{faultstore.Crash, faultstore.CrashAfter, func() faultstore.Action { return faultstore.Fail(errs.Storage) }} {
			for n := 0; ; n++ {
				inner := versiontest.MemStore(t)
				faulty := faultstore.New(inner, faultstore.Plan{{Skip: n, Do: do()}})
				_, failed := maintain.Copy(ctx, repo, head, versiontest.Copier{Provider: faulty}, maintain.CopyOptions{History: history})
				found, err := version.Exists(ctx, inner)
				if err != nil || failed == nil && !found {
					t.Fatal(failed, found, err)
				}
				named := slices.ContainsFunc(versiontest.KeysOf(t, inner), func(key string) bool { return strings.HasPrefix(key, "refs/") })
				if _, err := inner.Get(ctx, format.RecordKey(repo.TSF.Main, 0)); named && err != nil {
					t.Fatalf("call %d, %v: there are names before records: %v", n, failed, err)
				}
				if n%2 == 1 && !found {
					if err := version.Delete(ctx, inner); err != nil && !errs.Is(err, errs.NotFound) {
						t.Fatalf("call %d, %v: delete = %v", n, failed, err)
					}
				}
				_, err = maintain.Copy(ctx, repo, head, versiontest.Copier{Provider: inner}, maintain.CopyOptions{History: history})
				if found && !errs.Is(err, errs.Exists) || !found && err != nil {
					t.Fatalf("call %d, %v: copy again = %v", n, failed, err)
				}
				copied, s, err := version.OpenHead(ctx, inner, "test")
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(versiontest.State(t, s), "\n"); got != want {
					t.Fatalf("call %d: the copy is\n%s\nwant\n%s", n, got, want)
				}
				if history && !slices.Equal(versiontest.Names(t, copied), versiontest.Names(t, repo)) {
					t.Fatalf("call %d: the copy has %q", n, versiontest.Names(t, copied))
				}
				versiontest.Whole(t, copied)
				if len(faulty.Calls()) <= n {
					if failed != nil || n < 10 {
						t.Fatalf("a copy made %d calls, and %v", n, failed)
					}
					break
				}
			}
		}
	}
}

// TestCopyCompares: objects that exist at the destination are compared by their bytes, and foreign
// objects are refused.
func TestCopyCompares(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	src := versiontest.MemStore(t)
	repo := versiontest.Everything(t, versiontest.New(t, src))
	versiontest.FakeChunks(t, src, repo)
	head, err := repo.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	dst := versiontest.MemStore(t)
	if _, err := maintain.Copy(ctx, repo, head, versiontest.Copier{Provider: dst}, maintain.CopyOptions{History: true}); err != nil {
		t.Fatal(err)
	}
	kept := versiontest.KeysOf(t, dst)
	for _, key := range kept { // all are of the right size, and wrong
		data := versiontest.MustGet(t, dst, key)
		data[len(data)-1] ^= 1
		if err := dst.Put(ctx, key, data); err != nil {
			t.Fatal(err)
		}
	}
	if err := dst.Delete(ctx, format.TSFKey()); err != nil {
		t.Fatal(err)
	}
	report, err := maintain.Copy(ctx, repo, head, versiontest.Copier{Provider: dst}, maintain.CopyOptions{History: true})
	if err != nil || report.Skipped > 0 {
		t.Fatalf("copy = %+v, %v", report, err)
	}
	for _, key := range kept {
		if got, want := versiontest.MustGet(t, dst, key), versiontest.MustGet(t, src, key); key != format.TSFKey() && string(got) != string(want) {
			t.Errorf("%s differs", key)
		}
	}
	for key, says := range map[string]string{format.TagKey("other"): "delete()", format.ViewKey("x", 0): "delete()", "map/notes.txt": "another place"} {
		for _, history := range []bool{false, true} {
			var taken storage.Provider = versiontest.MemStore(t)
			if err := taken.Put(ctx, key, []byte("mine")); err != nil {
				t.Fatal(err)
			}
			if _, err := maintain.Copy(ctx, repo, head, versiontest.Copier{Provider: taken}, maintain.CopyOptions{History: history}); !errs.Is(err, errs.Exists) || !versiontest.Contains(err, says) {
				t.Errorf("%s: copy = %v", key, err)
			}
			if got := versiontest.KeysOf(t, taken); !slices.Equal(got, []string{key}) {
				t.Errorf("%s: there is %q", key, got)
			}
		}
	}
}
