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
	return reopen(t, root, storage.Options{}), root
}

func reopen(t *testing.T, root string, o storage.Options) *Source {
	t.Helper()
	s, err := OpenSource(context.Background(), root, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.(*Source)
}

// TestSourceListing: byte order of whole names, links to files and directories, parts of the
// listing.
func TestSourceListing(t *testing.T) {
	t.Parallel()
	all := []string{"A", "a-b/x", "a.b", "a/ b", "a/c/d", "a0", "ä/ü"}
	s, root := newSource(t, all...)
	for link, to := range map[string]string{"a/link": "../a0", "dirlink": "a/c", "a0b": "ä", "gone": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	all = append(all, "a/link", "a0b/ü", "dirlink/d", "gone")
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

// TestLinksInCircles lists links to directories that contain them as unreadable, and each file
// behind other links once for each path.
func TestLinksInCircles(t *testing.T) {
	t.Parallel()
	_, root := newSource(t, "a/x", "b/y")
	s := reopen(t, root, storage.Options{FollowLinks: true})
	for link, to := range map[string]string{
		"a/self": ".", "a/up": "..", "a/b": "../b", "b/root": root, "out": filepath.Dir(root), "again": "a",
	} {
		if err := os.Symlink(to, filepath.Join(root, filepath.FromSlash(link))); err != nil {
			t.Fatal(err)
		}
	}
	var files, left []string
	if err := s.Objects(context.Background(), "", "", func(e storage.Entry) bool {
		if !strings.HasPrefix(e.Key, "out/") && !strings.HasSuffix(e.Key, "/") {
			files = append(files, e.Key)
		}
		if strings.HasSuffix(e.Key, "/") {
			left = append(left, e.Key)
			if _, err := s.Range(context.Background(), e.Key, 0, -1, ""); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "cycle") {
				t.Errorf("read %q: %v", e.Key, err)
			}
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a/b/y", "a/x", "again/b/y", "again/x", "b/y"}; !slices.Equal(files, want) {
		t.Errorf("files = %q, want %q", files, want)
	}
	want := []string{"a/b/root/", "a/self/", "a/up/", "again/b/root/", "again/self/", "again/up/", "b/root/", "out/" + filepath.Base(root) + "/"}
	if !slices.Equal(left, want) {
		t.Errorf("left out: %q, want %q", left, want)
	}
}

// TestLinksOut: links out of the folder are listed as unreadable, whatever they lead to, and those
// within it are followed.
func TestLinksOut(t *testing.T) {
	t.Parallel()
	s, root := newSource(t, "a/x", "b/y")
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	beside := root + "-beside" // a prefix by name, not a parent
	for _, err := range []error{
		os.Mkdir(beside, 0o755), os.WriteFile(filepath.Join(beside, "z"), []byte("z"), 0o600),
		os.Symlink(other, filepath.Join(root, "b", "chain")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"file": filepath.Join(other, "secret"), "folder": other, "a/up": "../..", "a/chained": "../b/chain/secret", "beside": beside,
		"a/absolute": filepath.Join(root, "b"), "a/relative": "../b/y",
	} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	var files, left []string
	if err := s.Objects(t.Context(), "", "", func(e storage.Entry) bool {
		body, err := s.Range(t.Context(), e.Key, 0, -1, "")
		if err == nil {
			files = append(files, e.Key)
			return body.Close() == nil && e.Size >= 0
		}
		left = append(left, e.Key)
		if e.Size != -1 || !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "leads out of the folder") || !strings.Contains(err.Error(), "--follow-links") {
			t.Errorf("%+v: %v", e, err)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a/absolute/y", "a/relative", "a/x", "b/y"}; !slices.Equal(files, want) {
		t.Errorf("files = %q, want %q", files, want)
	}
	if want := []string{"a/absolute/chain/", "a/chained", "a/up/", "b/chain/", "beside/", "file", "folder/"}; !slices.Equal(left, want) {
		t.Errorf("left out: %q, want %q", left, want)
	}
	if body, err := s.Range(t.Context(), "folder/secret", 0, -1, ""); err == nil {
		t.Errorf("read a file behind a link out of the folder: %v", body)
	}
	names := 0
	if err := s.Names(t.Context(), func(string) bool { names++; return true }); err != nil || names != len(files) {
		t.Errorf("%d names, %v, want %d", names, err, len(files))
	}
	s = reopen(t, root, storage.Options{FollowLinks: true})
	body, err := s.Range(t.Context(), "folder/secret", 0, -1, "")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(body); string(got) != "secret" || err != nil || body.Close() != nil {
		t.Errorf("with FollowLinks: %q, %v", got, err)
	}
}

// TestLinkTakesPlaceOfFile: a link out of the folder that takes the place of a listed file is not
// followed, however often the two change places.
func TestLinkTakesPlaceOfFile(t *testing.T) {
	t.Parallel()
	s, root := newSource(t, "a/x")
	other := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(other, []byte("secret of a/x"), 0o600); err != nil {
		t.Fatal(err)
	}
	path, link, file := filepath.Join(root, "a", "x"), filepath.Join(root, "link"), filepath.Join(root, "file")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			_, _, _, _ = os.Symlink(other, link), os.Rename(link, path), os.WriteFile(file, []byte("content of a/x"), 0o600), os.Rename(file, path)
		}
	}()
	// The rounds go on until both the file and the link were met: the scheduler may hold the other
	// goroutine for hundreds of them.
	read, refused := 0, 0
	for n := 0; n < 2000 || read < 100 || refused < 100; n++ {
		body, err := s.Range(t.Context(), "a/x", 0, -1, "")
		if err != nil {
			refused++
			continue
		}
		got, err := io.ReadAll(body)
		if _ = body.Close(); err == nil && strings.Contains(string(got), "secret") {
			t.Fatalf("read %q", got)
		}
		read++
	}
	close(stop)
	<-done
}

// TestNestedLinks bounds the paths through directories that link to each other.
func TestNestedLinks(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("d%02d/x", i))
	}
	s, root := newSource(t, names...)
	for i := range 19 {
		for _, link := range []string{"l", "m"} {
			if err := os.Symlink(fmt.Sprintf("../d%02d", i+1), filepath.Join(root, fmt.Sprintf("d%02d", i), link)); err != nil {
				t.Fatal(err)
			}
		}
	}
	n, left := 0, 0
	if err := s.Objects(context.Background(), "d00/", "", func(e storage.Entry) bool {
		if n++; strings.HasSuffix(e.Key, "/") {
			left++
		}
		return true
	}); err != nil || n != 511+512 || left != 512 {
		t.Errorf("%d names, %d of them left out, %v", n, left, err)
	}
}

// TestUnreadableFolder returns the reason of the file system.
func TestUnreadableFolder(t *testing.T) {
	t.Parallel()
	s, root := newSource(t, "shut/x", "y")
	if err := os.Chmod(filepath.Join(root, "shut"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(root, "shut"), 0o700) })
	if _, err := os.ReadDir(filepath.Join(root, "shut")); err == nil {
		t.Skip("this user reads all folders")
	}
	if _, err := s.Range(context.Background(), "shut/", 0, 1, ""); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("%v, want permission denied", err)
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
