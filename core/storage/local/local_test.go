//go:build linux || darwin

package local

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/storagetest"
)

// openAt opens dir, making it, and closes it with the test.
func openAt(t testing.TB, dir string) *Provider {
	t.Helper()
	p, err := Open(t.Context(), dir, storage.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() }) // the test may have closed it
	return p.(*Provider)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, func(t *testing.T) (storage.Provider, func() storage.Provider) {
		dir := t.TempDir()
		return openAt(t, dir), func() storage.Provider { return openAt(t, dir) }
	})
}

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		path   string
		create bool
		kind   errs.Kind // 0: opens
	}{
		{"directory", t.Context(), dir, false, 0},
		{"trailing slash", t.Context(), dir + "/", false, 0},
		{"missing", t.Context(), dir + "/x/y", false, errs.NotFound},
		{"missing, made", t.Context(), dir + "/p/q/r", true, 0},
		{"file", t.Context(), file, false, errs.NotFound},
		{"file, create", t.Context(), file, true, errs.Invalid},
		{"below a file", t.Context(), file + "/x", false, errs.NotFound},
		{"below a file, create", t.Context(), file + "/x", true, errs.Invalid},
		{"no path", t.Context(), "", true, errs.Invalid},
		{"zero byte", t.Context(), dir + "/a\x00b", true, errs.Invalid},
		{"cancelled", gone, dir, false, errs.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Open(c.ctx, c.path, storage.Options{Create: c.create})
			if c.kind != 0 {
				if !errs.Is(err, c.kind) || !strings.Contains(err.Error(), strings.TrimSuffix(c.path, "a\x00b")) {
					t.Errorf("got %v, want kind %q and the path", err, c.kind)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := "file://" + filepath.Clean(c.path); p.URI() != want {
				t.Errorf("uri: got %q, want %q", p.URI(), want)
			}
			if err := p.Put(t.Context(), "k", nil); err != nil {
				t.Error(err)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestURIOpensAgain does not run in parallel: it changes the working directory.
func TestURIOpensAgain(t *testing.T) {
	t.Chdir(t.TempDir())
	registry := storage.Registry{"file": Open}
	p, err := registry.Open(t.Context(), "rel/~x", storage.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Put(t.Context(), "k", []byte("v")); err != nil {
		t.Fatal(err)
	}
	t.Chdir("/")
	again, err := registry.Open(t.Context(), p.URI(), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got, err := again.Get(t.Context(), "k"); err != nil || string(got) != "v" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestListSkipsWhatIsNoObject has names in the directory that no key can be.
func TestListSkipsWhatIsNoObject(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := openAt(t, dir)
	for _, key := range []string{"a/b", "c"} {
		if err := p.Put(t.Context(), key, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".tmp-0-1", "a/.tmp-0-1", "with\nline", "latin \xfc", "back\\slash"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Skipf("the file system refuses %q: %v", name, err)
		}
	}
	for link, target := range map[string]string{"loop": ".", "a/up": "..", "dangling": "nowhere", "link": "c"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	deep := dir
	for range 4 { // keys of more than storage.MaxKeyBytes
		deep = filepath.Join(deep, strings.Repeat("d", 250))
	}
	if err := os.MkdirAll(deep, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(deep, "f"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := p.List(t.Context(), "", "", func(o storage.Object) bool { got = append(got, o.Key); return true }); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a/b", "c", "link"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestListOfADirectoryThatIsRemovedMeanwhile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(path, 0o777); err != nil {
		t.Fatal(err)
	}
	dir, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	names, complete, err := readNames(dir, entryBound{room: storage.MaxKeyBytes}, firstPage)
	if len(names) != 0 || !complete || err != nil {
		t.Errorf("got %v, %v, %v, want nothing", names, complete, err)
	}
}

// TestListSkipsDirectoriesBeforeAfter: one that lies before is not even opened.
func TestListSkipsDirectoriesBeforeAfter(t *testing.T) {
	t.Parallel()
	if unix.Geteuid() == 0 {
		t.Skip("permissions do not bind root")
	}
	dir := t.TempDir()
	p := openAt(t, dir)
	for _, key := range []string{"a/1", "b/1", "b/2"} {
		if err := p.Put(t.Context(), key, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Chmod(dir+"/a", 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Chmod(dir+"/a", 0o777) })
	var got []string
	if err := p.List(t.Context(), "", "b/1", func(o storage.Object) bool { got = append(got, o.Key); return true }); err != nil {
		t.Fatal(err)
	}
	if want := []string{"b/2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := p.List(t.Context(), "", "", func(storage.Object) bool { return true }); !errs.Is(err, errs.Storage) {
		t.Errorf("directory that may not be read: got %v, want a storage error", err)
	}
}
