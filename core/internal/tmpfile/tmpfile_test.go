package tmpfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func open(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	return root
}

func TestFile(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(root *os.Root) (*File, error){
		"as the system has it":  func(root *os.Root) (*File, error) { return New(root, ".", "new-") },
		"with a temporary name": func(root *os.Root) (*File, error) { return named(root, ".", "new-") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			root := open(t, dir)
			path := filepath.Join(dir, "x")
			write := func(text string, name func(f *File) error) error {
				f, err := make(root)
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := f.Close(); err != nil {
						t.Error(err)
					}
				}()
				if _, err := f.Write([]byte(text)); err != nil {
					t.Fatal(err)
				}
				return name(f)
			}
			expect := func(text string) {
				t.Helper()
				entries, err := os.ReadDir(dir)
				if err != nil {
					t.Fatal(err)
				}
				if text == "" {
					if len(entries) != 0 {
						t.Errorf("%v is there, want nothing", entries)
					}
					return
				}
				got, err := os.ReadFile(path)
				if err != nil || string(got) != text || len(entries) != 1 {
					t.Errorf("%d files and %q, %v, want one with %q", len(entries), got, err, text)
				}
			}
			if err := write("given up", func(*File) error { return nil }); err != nil {
				t.Error(err)
			}
			expect("")
			if err := write("one", func(f *File) error { return f.Link("x") }); err != nil {
				t.Error(err)
			}
			expect("one")
			if err := write("two", func(f *File) error { return f.Link("x") }); !errors.Is(err, fs.ErrExist) {
				t.Errorf("%v, want that it exists", err)
			}
			expect("one")
			if err := write("three", func(f *File) error { return f.Replace("x") }); err != nil {
				t.Error(err)
			}
			expect("three")
			if err := write("four", func(f *File) error { return f.Link("no/x") }); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v, want that there is no folder", err)
			}
			if err := write("five", func(f *File) error { return f.Replace("no/x") }); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v, want that there is no folder", err)
			}
		})
	}
}

// While it is written there is nothing that a kill could leave.
func TestNothingIsThereBefore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := open(t, dir)
	f, err := New(root, ".", "new-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if f.temp == "" && len(entries) != 0 || f.temp != "" && runtime.GOOS == "linux" && len(entries) != 1 {
		t.Errorf("%v is there", entries)
	}
	if _, err := New(root, "no", "new-"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want that there is no folder", err)
	}
}
