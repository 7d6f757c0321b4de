package v3

import (
	"fmt"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/storage/mem"
	versions "deeplake/core/version"
	"deeplake/core/version/maintain"
)

// copyOf copies a fixture with its history to dst.
func copyOf(t *testing.T, name string, dst storage.Provider) (maintain.CopyReport, error) {
	t.Helper()
	s, err := presented(t.Context(), inMemory(t, fixture(t, name)))
	if err != nil || s == nil {
		t.Fatal(err)
	}
	return s.Convert(t.Context(), dst, nil, nil, maintain.CopyOptions{History: true, Progress: &versions.Progress{}})
}

// whole checks a copy: fsck finds nothing, and each branch has its head.
func whole(t *testing.T, name string, dst storage.Provider) {
	t.Helper()
	repo, err := versions.Open(t.Context(), dst, "test")
	if err != nil {
		t.Fatal(err)
	}
	report, err := maintain.Fsck(t.Context(), repo, maintain.FsckOptions{})
	if err != nil || len(report.Problems) > 0 {
		t.Fatalf("%s: fsck finds %v, %v", name, report.Problems, err)
	}
	branches, err := repo.Branches(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range branches {
		on, err := repo.On(t.Context(), b.Name)
		if err == nil {
			_, err = on.Head(t.Context())
		}
		if err != nil {
			t.Errorf("%s: branch %q: %v", name, b.Name, err)
		}
	}
}

// TestCrashedCopies ends a copy at every call that writes: before it, and after it without an
// answer. There is no dataset then, or a whole one. Another copy makes a whole one.
func TestCrashedCopies(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"views", "rechunked", "tiled"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			counting := faultstore.New(emptyStore(t), nil)
			if _, err := copyOf(t, name, counting); err != nil {
				t.Fatal(err)
			}
			writes := 0
			for _, c := range counting.Calls() {
				if c.Op != faultstore.Get && c.Op != faultstore.ReadAt && c.Op != faultstore.List {
					writes++
				}
			}
			step := max(1, writes/25) // some of the calls of large ones
			for skip := 0; skip < writes; skip += step {
				for _, do := range []faultstore.Action{faultstore.Crash(), faultstore.CrashAfter()} {
					crashedCopy(t, name, skip, do)
				}
			}
		})
	}
}

func crashedCopy(t *testing.T, name string, skip int, do faultstore.Action) {
	t.Helper()
	dst := emptyStore(t)
	_, err := copyOf(t, name, faultstore.New(dst, faultstore.Plan{{Ops: faultstore.Writing(), Skip: skip, Do: do}}))
	if err == nil {
		t.Fatalf("a copy that crashed at write %d reports success", skip)
	}
	if found, err := versions.Exists(t.Context(), dst); err != nil || found {
		if err != nil {
			t.Fatal(err)
		}
		whole(t, fmt.Sprintf("crash at write %d", skip), dst)
		return
	}
	if _, err := copyOf(t, name, dst); err != nil {
		t.Fatalf("crash at write %d: the next copy: %v", skip, err)
	}
	whole(t, fmt.Sprintf("after a crash at write %d", skip), dst)
}

// emptyStore returns a store in memory.
func emptyStore(t *testing.T) storage.Provider {
	t.Helper()
	p, err := (&mem.Space{}).Open(t.Context(), "copy", storage.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCopiesOfDamage(t *testing.T) {
	t.Parallel()
	dst := emptyStore(t)
	if _, err := copyOf(t, "failed_extend", dst); !errs.Is(err, errs.Corrupt) {
		t.Errorf("a damaged chunk gives %v, want it to be named", err)
	}
	if _, err := dst.Get(t.Context(), format.TSFKey()); !errs.Is(err, errs.NotFound) {
		t.Errorf("a copy that failed leaves a dataset (%v)", err)
	}
}
