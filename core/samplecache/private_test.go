//go:build unix

package samplecache

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"deeplake/core/errs"
)

// TestDirectoryOfAttacker: links and FIFOs in the directory of a cache reach no file outside, and
// nothing waits for them.
func TestDirectoryOfAttacker(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	victim := filepath.Join(out, "victim")
	for name, put := range map[string]func(path string) error{
		"link":        func(path string) error { return os.Symlink(victim, path) },
		"link folder": func(path string) error { return os.Symlink(out, filepath.Dir(path)) },
		"FIFO":        func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		dir := t.TempDir()
		samples := picture(t, 1, 5)
		d := disk(t, dir, 64<<20)
		path := filepath.Join(dir, d.of(samples[0].ref.Chunk).path)
		write(t, victim, []byte("data"))
		if name != "link folder" {
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := put(path); err != nil {
			t.Fatal(err)
		}
		storeAll(d, samples)
		if n := loads(t, d, samples); n != 0 {
			t.Errorf("%s: %d samples are kept", name, n)
		}
		if s := d.Stats(); s.Faults == 0 {
			t.Errorf("%s: no fault", name)
		}
		got, err := os.ReadFile(victim)
		entries, failed := os.ReadDir(out)
		if err != nil || failed != nil || string(got) != "data" || len(entries) != 1 {
			t.Errorf("%s: the folder outside has %v, and the victim %q: %v", name, entries, got, errors.Join(err, failed))
		}
	}
}

// TestDirectoryOfOthers: a directory that other accounts can write is refused.
func TestDirectoryOfOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenDisk(dir, 1<<20); !errs.Is(err, errs.Invalid) {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("the directory has %v, %v", entries, err)
	}
}
