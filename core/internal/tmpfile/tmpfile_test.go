package tmpfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestFile(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(dir string) (*File, error){
		"as the system has it": func(dir string) (*File, error) { return New(dir, "new-*") },
		"with a temporary name": func(dir string) (*File, error) {
			f, err := os.CreateTemp(dir, "new-*")
			if err != nil {
				return nil, err
			}
			return &File{f, f.Name()}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "x")
			write := func(text string, name func(f *File) error) error {
				f, err := make(dir)
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
			if err := write("one", func(f *File) error { return f.Link(path) }); err != nil {
				t.Error(err)
			}
			expect("one")
			if err := write("two", func(f *File) error { return f.Link(path) }); !errors.Is(err, fs.ErrExist) {
				t.Errorf("%v, want that it exists", err)
			}
			expect("one")
			if err := write("three", func(f *File) error { return f.Replace(path) }); err != nil {
				t.Error(err)
			}
			expect("three")
			if err := write("four", func(f *File) error { return f.Link(filepath.Join(dir, "no", "x")) }); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v, want that there is no folder", err)
			}
			if err := write("five", func(f *File) error { return f.Replace(filepath.Join(dir, "no", "x")) }); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v, want that there is no folder", err)
			}
		})
	}
}

// While it is written there is nothing that a kill could leave.
func TestNothingIsThereBefore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := New(dir, "new-*")
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
	if _, err := New(filepath.Join(dir, "no"), "new-*"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want that there is no folder", err)
	}
}
