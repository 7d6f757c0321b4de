package local

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

func newSource(t *testing.T, files ...string) (*Source, string) {
	t.Helper()
	root := t.TempDir()
	for _, name := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("content of "+name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := OpenSource(context.Background(), root, storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s.(*Source), root
}

// TestSourceListing: byte order of whole names, links to files and not to directories, parts of the
// listing.
func TestSourceListing(t *testing.T) {
	t.Parallel()
	all := []string{"A", "a-b/x", "a.b", "a/ b", "a/c/d", "a0", "ä/ü"}
	s, root := newSource(t, all...)
	for link, to := range map[string]string{"a/link": "../a0", "dirlink": "a/c", "gone": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	all = append(all, "a/link", "gone")
	slices.Sort(all)
	for _, c := range []struct{ prefix, after string }{{"", ""}, {"a/", ""}, {"a", ""}, {"", "a-b/x"}, {"", "a/c"}, {"", "a/c/d"}, {"a/", "a/ b"}, {"", "zz"}, {"a/c/d", ""}} {
		var want, got []string
		for _, key := range all {
			if strings.HasPrefix(key, c.prefix) && key > c.after {
				want = append(want, key)
			}
		}
		err := s.Objects(context.Background(), c.prefix, c.after, func(e storage.Entry) bool {
			got = append(got, e.Key)
			if (e.Key == "gone") != (e.Size < 0) || (e.Size >= 0) != (e.Tag != "") {
				t.Errorf("%+v", e)
			}
			return true
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("prefix %q after %q: %q, %v, want %q", c.prefix, c.after, got, err, want)
		}
	}
	var names []string
	if err := s.Names(context.Background(), func(key string) bool {
		names = append(names, key)
		return len(names) < 4
	}); err != nil || !slices.Equal(names, all[:4]) {
		t.Errorf("names = %q, %v, want %q", names, err, all[:4])
	}
}

// TestSourceRange reads parts of a file and refuses missing and changed ones.
func TestSourceRange(t *testing.T) {
	t.Parallel()
	s, root := newSource(t, "d/file", "empty")
	if err := os.Truncate(filepath.Join(root, "empty"), 0); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	read := func(key string, off, n int64, tag string) (string, storage.Body, error) {
		b, err := s.Range(ctx, key, off, n, tag)
		if err != nil {
			return "", nil, err
		}
		defer func() { _ = b.Close() }()
		data, err := io.ReadAll(b)
		return string(data), b, err
	}
	text, b, err := read("d/file", 0, -1, "")
	if err != nil || text != "content of d/file" || b.Len() != 17 || b.Size() != 17 || b.Tag() == "" {
		t.Fatalf("%q, %v", text, err)
	}
	if text, _, err = read("d/file", 8, 2, b.Tag()); err != nil || text != "of" {
		t.Errorf("%q, %v", text, err)
	}
	if text, _, err = read("d/file", 11, 1000, ""); err != nil || text != "d/file" {
		t.Errorf("%q, %v", text, err)
	}
	if text, _, err = read("empty", 0, -1, ""); err != nil || text != "" {
		t.Errorf("%q, %v", text, err)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(root, "d", "file"), later, later); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key    string
		off, n int64
		tag    string
		want   errs.Kind
	}{
		{"none", 0, 1, "", errs.NotFound}, {"../x", 0, 1, "", errs.Invalid}, {"/etc/passwd", 0, 1, "", errs.Invalid},
		{"d/file", 17, 1, "", errs.Corrupt}, {"d/file", 18, -1, "", errs.Corrupt}, {"d/file", 0, 1, b.Tag(), errs.Conflict},
	} {
		if _, _, err := read(c.key, c.off, c.n, c.tag); !errs.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", fmt.Sprint(c), err, c.want)
		}
	}
	if _, _, err := read("d", 0, 1, ""); err == nil {
		t.Error("a directory was read")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := read("d/file", 0, 1, ""); !errs.Is(err, errs.Closed) {
		t.Errorf("after Close: %v", err)
	}
}
