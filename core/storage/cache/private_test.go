//go:build unix

package cache_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/cache"
)

// TestDirectoryOfAttacker reads through directories in which another account has put links and
// FIFOs. Every byte is right, nothing outside changes, and no read waits.
func TestDirectoryOfAttacker(t *testing.T) {
	t.Parallel()
	link := func(name string) func(dir, out string) error {
		return func(dir, out string) error { return os.Symlink(out, filepath.Join(dir, name)) }
	}
	everyFolder := func(put func(path string) error) func(dir, out string) error {
		return func(dir, _ string) (err error) {
			for _, a := range "0123456789abcdef" {
				for _, b := range "0123456789abcdef" {
					err = errors.Join(err, put(filepath.Join(dir, string(a)+string(b))))
				}
			}
			return err
		}
	}
	for name, attack := range map[string]func(dir, out string) error{
		"a link at tmp": link("tmp"),
		"a link at claims": func(dir, out string) error {
			return os.Symlink(filepath.Join(out, "new"), filepath.Join(dir, "claims"))
		},
		"a link at the victim": func(dir, out string) error {
			return os.Symlink(filepath.Join(out, "victim"), filepath.Join(dir, "claims"))
		},
		"links at every folder": func(dir, out string) error {
			return everyFolder(func(p string) error { return os.Symlink(out, p) })(dir, out)
		},
		"a FIFO at tmp":          func(dir, _ string) error { return syscall.Mkfifo(filepath.Join(dir, "tmp"), 0o600) },
		"a FIFO at claims":       func(dir, _ string) error { return syscall.Mkfifo(filepath.Join(dir, "claims"), 0o600) },
		"FIFOs at every folder":  everyFolder(func(p string) error { return syscall.Mkfifo(p, 0o600) }),
		"files at every folder":  everyFolder(func(p string) error { return os.WriteFile(p, nil, 0o600) }),
		"a folder at claims":     func(dir, _ string) error { return os.Mkdir(filepath.Join(dir, "claims"), 0o700) },
		"a file in place of tmp": func(dir, _ string) error { return os.WriteFile(filepath.Join(dir, "tmp"), nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, out := t.TempDir(), t.TempDir()
			victim := filepath.Join(out, "victim")
			old := time.Now().Add(-48 * time.Hour)
			if err := errors.Join(os.WriteFile(victim, []byte("data"), 0o600), os.Chtimes(victim, old, old), attack(dir, out)); err != nil {
				t.Fatal(err)
			}
			store, data := remote(t, 3*cache.PageBytes)
			for range 2 {
				read(t, cache.New(store, cache.NewDisk(dir, 64<<20), nil), data, 0, len(data))
			}
			entries, err := os.ReadDir(out)
			got, failed := os.ReadFile(victim)
			if err != nil || failed != nil || len(entries) != 1 || string(got) != "data" {
				t.Errorf("the folder outside has %v, and the victim %q: %v, %v", entries, got, err, failed)
			}
		})
	}
}

// TestPagesThatAreFIFOs: a page in whose place there is a FIFO or a link is a miss.
func TestPagesThatAreFIFOs(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(path, out string) error{
		"FIFO":   func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
		"link":   func(path, out string) error { return os.Symlink(filepath.Join(out, "victim"), path) },
		"folder": func(path, _ string) error { return os.Mkdir(path, 0o700) },
	} {
		dir, out := t.TempDir(), t.TempDir()
		if err := os.WriteFile(filepath.Join(out, "victim"), bytes.Repeat([]byte("x"), 100), 0o600); err != nil {
			t.Fatal(err)
		}
		store, data := remote(t, 3*cache.PageBytes)
		read(t, cache.New(store, cache.NewDisk(dir, 64<<20), nil), data, 0, len(data))
		pages := 0
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() || e.Name() == "claims" {
				return err
			}
			pages++
			return errors.Join(os.Remove(path), put(path, out))
		})
		if err != nil || pages == 0 {
			t.Fatal(pages, err)
		}
		p := cache.New(store, cache.NewDisk(dir, 64<<20), nil)
		read(t, p, data, 0, len(data))
		if s := storage.StatsOf(p); s.CacheFaults == 0 {
			t.Errorf("%s: no fault", name)
		}
		if info, err := os.Stat(filepath.Join(out, "victim")); err != nil || info.Size() != 100 {
			t.Errorf("%s: the victim is %v, %v", name, info, err)
		}
	}
}

// TestDirectoryOfOthers: a directory that other accounts can write is refused, and not touched.
func TestDirectoryOfOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	d := cache.NewDisk(dir, 64<<20)
	if err := d.Refused(); !errs.Is(err, errs.Invalid) {
		t.Errorf("got %v", err)
	}
	store, data := remote(t, 3*cache.PageBytes)
	read(t, cache.New(store, d, nil), data, 0, len(data))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("the directory has %v, %v", entries, err)
	}
	if err := cache.NewDisk(filepath.Join(dir, "mine"), 64<<20).Refused(); err != nil {
		t.Errorf("a folder within it: %v", err)
	}
}
