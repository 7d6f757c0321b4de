package ingest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/storage/storagetest"
	"deeplake/core/version/maintain"
)

// TestOtherOptions: a later run with options that earlier rows contradict is refused, and names
// both values.
func TestOtherOptions(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, map[string][]byte{"x/a.png": picture(t, 1, "png"), "y/b.png": picture(t, 2, "png")})
	for name, c := range map[string]struct {
		was, now Options
		want     string // "": it goes on
	}{
		"same":             {Options{Compression: "jpeg", Size: 8}, Options{Compression: "jpeg", Size: 8}, ""},
		"auto keeps":       {Options{Compression: "jpeg"}, Options{}, ""},
		"what auto chose":  {Options{}, Options{Compression: "png"}, ""},
		"compression":      {Options{}, Options{Compression: "jpeg"}, "compression=png lies there, got jpeg"},
		"pixels":           {Options{Compression: "webp"}, Options{Compression: "none"}, "compression=webp lies there, got none"},
		"size":             {Options{Compression: "none", Size: 8}, Options{Compression: "none", Size: 16}, "size=8 lies there, got 16"},
		"size left out":    {Options{Compression: "none", Size: 8}, Options{}, "size=8 lies there, got 0"},
		"labels":           {Options{}, Options{Labels: "none"}, "labels=auto lies there, got none"},
		"labels were none": {Options{Labels: "none"}, Options{}, "labels=none lies there, got auto"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := testEnv()
			run(t, env, "mem://d", root, c.was)
			if c.want == "" {
				if r := run(t, env, "mem://d", root, c.now); r.Unchanged != 2 {
					t.Errorf("report: %+v", r)
				}
			} else if text := fail(t, env, "mem://d", root, c.now, errs.Exists); !strings.Contains(text, c.want) {
				t.Errorf("%q is not in %q", c.want, text)
			}
		})
	}
}

// interrupt runs an import that commits after each row, and ends at the first file that fails.
func interrupt(t *testing.T, env *dataset.Env, lake *storagetest.Lake, fails func(key string) bool) {
	t.Helper()
	lake.Fail = func(key string, _, _ int64) error {
		if fails(key) {
			return errs.Op("read", key).New(errs.Storage, "the network is gone")
		}
		return nil
	}
	fail(t, env, "mem://d", "lake://b", Options{Checkpoint: 1, Workers: 1}, errs.Storage)
	lake.Fail = nil
}

// TestInterruptedAtAnyName: an import that stops at a name that is not UTF-8 goes on behind it.
func TestInterruptedAtAnyName(t *testing.T) {
	t.Parallel()
	env, lake := lakeEnv()
	for i := range 6 {
		lake.Put(fmt.Sprintf("\xc0%d.jpg", i), picture(t, i, "jpeg"))
	}
	interrupt(t, env, lake, func(key string) bool { return key >= "\xc03.jpg" })
	if r := run(t, env, "mem://d", "lake://b", Options{Checkpoint: 1}); r.Resumed == 0 || r.Rows != 6 {
		t.Errorf("report: %+v", r)
	}
}

// deleteRows deletes rows and commits. It returns the number of rows that are left.
func deleteRows(t *testing.T, env *dataset.Env, uri string, rows ...int64) int64 {
	t.Helper()
	ctx := t.Context()
	d, err := dataset.Open(ctx, env, uri, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if err := d.DeleteRows(ctx, rows); err != nil {
		t.Fatal(err)
	}
	c, err := d.Commit(ctx, "curated")
	if err != nil {
		t.Fatal(err)
	}
	return c.Rows
}

// TestDeletedRows: files whose rows were deleted are not imported again, by the next run and later
// ones, unless they have changed.
func TestDeletedRows(t *testing.T) {
	t.Parallel()
	env, root := testEnv(), t.TempDir()
	put := func(seed int, names ...string) {
		for i, name := range names {
			write(t, root, map[string][]byte{name: picture(t, seed+i, "png")})
		}
	}
	check := func(when string, o Options, added, deleted int64, want ...string) {
		t.Helper()
		r := run(t, env, "mem://d", root, o)
		got := origins(t, env, "mem://d")
		slices.Sort(got)
		if r.Added != added || r.Deleted != deleted || !slices.Equal(got, want) || r.Skipped != 0 {
			t.Errorf("%s: added %d, deleted %d, rows %v, want %d, %d, %v\n%s", when, r.Added, r.Deleted, got, added, deleted, want, reasons(r))
		}
	}
	put(0, "a.png", "b.png", "c.png", "d.png")
	check("the first run", Options{}, 4, 0, "a.png", "b.png", "c.png", "d.png")
	deleteRows(t, env, "mem://d", 0, 2)
	check("nothing new", Options{}, 0, 2, "b.png", "d.png")
	put(10, "bb.png", "e.png")
	check("new files", Options{Checkpoint: 1}, 2, 2, "b.png", "bb.png", "d.png", "e.png")
	check("once more", Options{}, 0, 2, "b.png", "bb.png", "d.png", "e.png")
	deleteRows(t, env, "mem://d", 3) // e.png
	put(20, "f.png")
	check("deleted again", Options{}, 1, 3, "b.png", "bb.png", "d.png", "f.png")
	check("and once more", Options{}, 0, 3, "b.png", "bb.png", "d.png", "f.png")
	write(t, root, map[string][]byte{"c.png": append(picture(t, 77, "png"), 0)}) // another size
	check("a changed file", Options{}, 1, 2, "b.png", "bb.png", "c.png", "d.png", "f.png")
	if err := os.Remove(filepath.Join(root, "a.png")); err != nil {
		t.Fatal(err)
	}
	check("a file that is gone", Options{}, 0, 1, "b.png", "bb.png", "c.png", "d.png", "f.png")
	deleteRows(t, env, "mem://d", 0, 1, 2, 3, 4)
	if r := run(t, env, "mem://d", root, Options{}); r.Rows != 0 || r.Deleted != 6 || r.Added != 0 {
		t.Errorf("without rows: %+v", r)
	}
	check("overwritten", Options{Overwrite: true}, 6, 0, "b.png", "bb.png", "c.png", "d.png", "e.png", "f.png")
	deleteRows(t, env, "mem://d", 5)
	check("after an overwrite", Options{}, 0, 1, "b.png", "bb.png", "c.png", "d.png", "e.png")
}

// TestDeletedBetweenRuns: rows that are deleted after an interrupted run stay deleted.
func TestDeletedBetweenRuns(t *testing.T) {
	t.Parallel()
	env, lake := lakeEnv()
	for i := range 6 {
		lake.Put(fmt.Sprintf("%d.jpg", i), picture(t, i, "jpeg"))
	}
	interrupt(t, env, lake, func(key string) bool { return key == "4.jpg" })
	if left := deleteRows(t, env, "mem://d", 1); left != 3 {
		t.Fatal(left)
	}
	if r := run(t, env, "mem://d", "lake://b", Options{Checkpoint: 1}); r.Rows != 5 || !r.Complete {
		t.Errorf("continued: %+v", r)
	}
	for range 2 {
		r := run(t, env, "mem://d", "lake://b", Options{})
		if got := origins(t, env, "mem://d"); r.Deleted != 1 || !slices.Equal(got, []string{"0.jpg", "2.jpg", "3.jpg", "4.jpg", "5.jpg"}) {
			t.Errorf("%+v: %v", r, got)
		}
	}
	// Without that version, the file is imported again.
	d, err := dataset.Open(t.Context(), env, "mem://d", dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if _, err := d.Versions().GC(t.Context(), maintain.GCOptions{Expire: &maintain.Retention{}}); err != nil {
		t.Fatal(err)
	}
	if r := run(t, env, "mem://d", "lake://b", Options{}); r.Deleted != 0 || r.Added != 1 {
		t.Errorf("after expire: %+v", r)
	}
}
