//go:build linux || darwin

package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
)

// tracer records the calls on which durability rests, and can fail one.
type tracer struct {
	mu    sync.Mutex
	calls []string
	fail  map[string]error // by the first word of the call
}

func trace(p *Provider) *tracer {
	tr := &tracer{fail: make(map[string]error)}
	sys := p.sys
	rel := func(path string) string {
		if r, err := filepath.Rel(p.root, path); err == nil {
			return r
		}
		return path
	}
	p.sys.syncFile = func(fd int) error {
		return tr.note("file", func() error { return sys.syncFile(fd) })
	}
	p.sys.syncDir = func(path string) error {
		return tr.note("dir "+rel(path), func() error { return sys.syncDir(path) })
	}
	p.sys.link = func(from, to string) error {
		return tr.note("link "+rel(to), func() error { return sys.link(from, to) })
	}
	p.sys.renameExclusive = func(from, to string) error {
		return tr.note("move "+rel(to), func() error { return sys.renameExclusive(from, to) })
	}
	return tr
}

func (tr *tracer) note(call string, do func() error) error {
	word, _, _ := strings.Cut(call, " ")
	tr.mu.Lock()
	tr.calls = append(tr.calls, call)
	err := tr.fail[word]
	tr.mu.Unlock()
	if err != nil {
		return err
	}
	return do()
}

func (tr *tracer) take() []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	calls := tr.calls
	tr.calls = nil
	return calls
}

func (tr *tracer) setFail(word string, err error) {
	tr.mu.Lock()
	tr.fail[word] = err
	tr.mu.Unlock()
}

// leftovers returns the temporary files below the root.
func leftovers(t *testing.T, p *Provider) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(p.root, func(path string, d fs.DirEntry, err error) error {
		if strings.HasPrefix(d.Name(), tempPrefix) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestNamesAreDurableBeforeTheLink(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := openAt(t, filepath.Join(t.TempDir(), "new", "root"))
	tr := trace(p)
	for _, key := range []string{"data/s1/0", "data/s1/1", "map/a", "data/s2/0"} {
		if err := p.Put(ctx, key, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	s, err := p.Create(ctx, "data/s3/0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(ctx); err != nil {
		t.Fatal(err)
	}
	if got, want := tr.take(), slices.Repeat([]string{"file"}, 5); !slices.Equal(got, want) {
		t.Errorf("puts: got %v, want %v", got, want)
	}
	if err := p.PutIfAbsent(ctx, "log/b/1", []byte("x")); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"file", "dir ..", "dir ../..", "dir .", "dir data", "dir data/s1", "dir data/s2", "dir data/s3", "dir log", "dir map",
		"link log/b/1", "dir log/b",
	}
	got := tr.take()
	slices.Sort(got[1:3])
	slices.Sort(want[1:3])
	if !slices.Equal(got, want) {
		t.Errorf("first put-if-absent: got %v, want %v", got, want)
	}
	if err := p.PutIfAbsent(ctx, "log/b/2", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if got, want := tr.take(), []string{"file", "link log/b/2", "dir log/b"}; !slices.Equal(got, want) {
		t.Errorf("second put-if-absent: got %v, want %v", got, want)
	}
	if err := p.Put(ctx, "data/s1/2", []byte("x")); err != nil {
		t.Fatal(err)
	}
	tr.take()
	if err := p.PutIfAbsent(ctx, "log/b/3", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if got, want := tr.take(), []string{"file", "dir data/s1", "link log/b/3", "dir log/b"}; !slices.Equal(got, want) {
		t.Errorf("third put-if-absent: got %v, want %v", got, want)
	}
}

func TestDirectoryMadeByOthersIsSynchronisedToo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other, p := openAt(t, dir), openAt(t, dir)
	if err := other.Put(t.Context(), "data/s/0", nil); err != nil {
		t.Fatal(err)
	}
	tr := trace(p)
	if err := errors.Join(p.Put(t.Context(), "data/s/1", nil), p.PutIfAbsent(t.Context(), "top", nil)); err != nil {
		t.Fatal(err)
	}
	want := []string{"file", "file", "dir .", "dir data", "dir data/s", "link top", "dir ."}
	if got := tr.take(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestFailedFlushIsRepeated(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := openAt(t, t.TempDir())
	tr := trace(p)
	if err := p.Put(ctx, "data/0", nil); err != nil {
		t.Fatal(err)
	}
	tr.setFail("dir", unix.EIO)
	if err := p.PutIfAbsent(ctx, "log/1", nil); !errs.Is(err, errs.Storage) || !errors.Is(err, unix.EIO) {
		t.Errorf("flush that fails: got %v, want a storage error", err)
	}
	if _, err := p.Get(ctx, "log/1"); !errs.Is(err, errs.NotFound) {
		t.Errorf("stored although the data is not durable: %v", err)
	}
	tr.setFail("dir", nil)
	tr.take()
	if err := p.PutIfAbsent(ctx, "log/1", nil); err != nil {
		t.Fatal(err)
	}
	if got, want := tr.take(), []string{"file", "dir .", "dir data", "link log/1", "dir log"}; !slices.Equal(got, want) {
		t.Errorf("next put-if-absent: got %v, want %v", got, want)
	}
	if left := leftovers(t, p); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFailedSyncAfterTheLink(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := openAt(t, t.TempDir())
	if err := p.PutIfAbsent(ctx, "log/0", nil); err != nil {
		t.Fatal(err)
	}
	tr := trace(p)
	tr.setFail("dir", unix.EIO)
	for range 2 { // the name is taken the second time, and no more durable
		err := p.PutIfAbsent(ctx, "log/1", []byte("x"))
		var at *storage.NotDurable
		if !errs.Is(err, errs.Storage) || !errors.As(err, &at) || !strings.Contains(err.Error(), "stored, but") {
			t.Errorf("got %v, want an error that says it is stored", err)
		}
	}
	if got, err := p.Get(ctx, "log/1"); err != nil || string(got) != "x" {
		t.Errorf("read back: got %q, %v", got, err)
	}
	tr.setFail("dir", nil)
	tr.take()
	if err := p.PutIfAbsent(ctx, "log/1", nil); !errs.Is(err, errs.Exists) {
		t.Errorf("on the mended disk: got %v", err)
	}
	if got, want := tr.take(), []string{"dir log"}; !slices.Equal(got, want) {
		t.Errorf("on the mended disk: got %v, want %v", got, want)
	}
	if err := p.PutIfAbsent(ctx, "log/1", nil); !errs.Is(err, errs.Exists) || len(tr.take()) > 0 {
		t.Errorf("with nothing to flush: %v", err)
	}
	if err := p.PutIfAbsent(ctx, "log/2", nil); err != nil {
		t.Fatal(err)
	}
	if got, want := tr.take(), []string{"file", "link log/2", "dir log"}; !slices.Equal(got, want) {
		t.Errorf("next put-if-absent: got %v, want %v", got, want)
	}
}

func TestFileSystemWithoutHardLinks(t *testing.T) {
	t.Parallel()
	for _, linkErr := range []unix.Errno{unix.EPERM, unix.ENOTSUP, unix.ENOSYS} {
		t.Run(linkErr.Error(), func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			p := openAt(t, t.TempDir())
			tr := trace(p)
			tr.setFail("link", linkErr)
			if err := p.PutIfAbsent(ctx, "log/1", []byte("x")); err != nil {
				t.Fatal(err)
			}
			if err := p.PutIfAbsent(ctx, "log/1", []byte("y")); !errs.Is(err, errs.Exists) {
				t.Errorf("taken key: got %v, want exists", err)
			}
			if err := raceFor(ctx, p, "log/2"); err != nil {
				t.Error(err)
			}
			tr.setFail("move", unix.EINVAL)
			if err := p.PutIfAbsent(ctx, "log/3", nil); !errs.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "hard links") {
				t.Errorf("neither link nor rename: got %v, want unsupported", err)
			}
			if left := leftovers(t, p); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// raceFor lets eight goroutines store one key and wants one winner.
func raceFor(ctx context.Context, p storage.Provider, key string) error {
	won := make(chan bool, 8)
	g := task.New(ctx, 0)
	for range cap(won) {
		g.Go(func(ctx context.Context) error {
			err := p.PutIfAbsent(ctx, key, []byte("x"))
			won <- err == nil
			if errs.Is(err, errs.Exists) {
				return nil
			}
			return err
		})
	}
	err := g.Wait()
	close(won)
	n := 0
	for w := range won {
		if w {
			n++
		}
	}
	if err == nil && n != 1 {
		err = fmt.Errorf("put-if-absent %q: %d winners", key, n)
	}
	return err
}

// TestLostAnswerOfLink: over NFS a link may be made and reported as "exists".
func TestLostAnswerOfLink(t *testing.T) {
	t.Parallel()
	p := openAt(t, t.TempDir())
	p.sys.link = func(from, to string) error {
		if err := unix.Link(from, to); err != nil {
			return err
		}
		return unix.EEXIST
	}
	if err := p.PutIfAbsent(t.Context(), "log/1", []byte("x")); err != nil {
		t.Error(err)
	}
	p.sys.link = func(string, string) error { return unix.EEXIST }
	if err := p.PutIfAbsent(t.Context(), "log/2", []byte("x")); !errs.Is(err, errs.Exists) {
		t.Errorf("link lost to another: got %v, want exists", err)
	}
	if left := leftovers(t, p); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFailedWriteLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		errno unix.Errno
		kind  errs.Kind
		says  string
	}{
		{unix.ENOSPC, errs.Storage, "no space left"},
		{unix.EDQUOT, errs.Storage, "no space left"},
		{unix.EFBIG, errs.Storage, "no space left"},
		{unix.EROFS, errs.ReadOnly, "read-only"},
		{unix.EIO, errs.Storage, "input/output error"},
	} {
		t.Run(c.errno.Error(), func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			p := openAt(t, t.TempDir())
			if err := p.Put(ctx, "data/old", []byte("old")); err != nil {
				t.Fatal(err)
			}
			trace(p).setFail("file", c.errno)
			s, err := p.Create(ctx, "data/new")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Write([]byte("new")); err != nil {
				t.Fatal(err)
			}
			for op, err := range map[string]error{
				"put": p.Put(ctx, "data/old", []byte("new")), "put-if-absent": p.PutIfAbsent(ctx, "data/new", nil), "finish": s.Finish(ctx),
			} {
				if !errs.Is(err, c.kind) || !errors.Is(err, c.errno) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), `"data/`) {
					t.Errorf("%s: got %v, want kind %q, the key and %q", op, err, c.kind, c.says)
				}
			}
			if got, err := p.Get(ctx, "data/old"); err != nil || string(got) != "old" {
				t.Errorf("what was there before: got %q, %v", got, err)
			}
			if _, err := p.Get(ctx, "data/new"); !errs.Is(err, errs.NotFound) {
				t.Errorf("new object: got %v, want not found", err)
			}
			if left := leftovers(t, p); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestDiskFullInAStream writes to the device that is always full.
func TestDiskFullInAStream(t *testing.T) {
	t.Parallel()
	fd, err := unix.Open("/dev/full", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no /dev/full here: %v", err)
	}
	p := openAt(t, t.TempDir())
	s := &stream{p: p, op: "create", key: "data/a", temp: p.path("nothing"), fd: fd}
	n, err := s.Write(make([]byte, 10))
	if n != 0 || !errs.Is(err, errs.Storage) || !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), `create "data/a": no space left`) {
		t.Errorf("got %d, %v, want no space left", n, err)
	}
	s.Abort()
}

func TestReadOnlyDirectory(t *testing.T) {
	t.Parallel()
	if unix.Geteuid() == 0 {
		t.Skip("permissions do not bind root")
	}
	ctx, dir := t.Context(), t.TempDir()
	p := openAt(t, dir)
	if err := p.Put(ctx, "old", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Chmod(dir, 0o777) })
	for op, err := range map[string]error{
		"put": p.Put(ctx, "a", nil), "put below": p.Put(ctx, "d/a", nil), "put-if-absent": p.PutIfAbsent(ctx, "a", nil), "delete": p.Delete(ctx, "old"),
	} {
		if !errs.Is(err, errs.ReadOnly) {
			t.Errorf("%s: got %v, want read-only", op, err)
		}
	}
	if _, err := Open(ctx, dir+"/below", storage.Options{Create: true}); !errs.Is(err, errs.ReadOnly) {
		t.Errorf("open that has to make a directory: got %v, want read-only", err)
	}
}

func TestKeyThatIsADirectory(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := openAt(t, t.TempDir())
	if err := p.Put(ctx, "a/b", nil); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "a/b/c", "a/b/c/d"} {
		if err := p.Put(ctx, key, nil); !errs.Is(err, errs.Invalid) {
			t.Errorf("put %q beside %q: got %v, want invalid", key, "a/b", err)
		}
	}
	if err := p.Put(ctx, strings.Repeat("n", 300), nil); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "too long") {
		t.Errorf("name of 300 bytes: got %v, want invalid", err)
	}
	if err := p.Put(ctx, "a/.tmp-x", nil); !errs.Is(err, errs.Invalid) {
		t.Errorf("reserved name: got %v, want invalid", err)
	}
	if left := leftovers(t, p); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestPutWhileDirectoriesArePruned: a directory that a Delete takes away in between is made again.
func TestPutWhileDirectoriesArePruned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, other := openAt(t, dir), openAt(t, dir)
	g := task.New(t.Context(), 0)
	for w := range 4 {
		mine := p
		if w%2 == 1 {
			mine = other
		}
		g.Go(func(ctx context.Context) error {
			for i := range 100 {
				key := fmt.Sprintf("a/b/%d-%d", w, i)
				if err := mine.Put(ctx, key, []byte("x")); err != nil {
					return err
				}
				if err := mine.Delete(ctx, key); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.stat(p.path("a")); err != unix.ENOENT {
		t.Errorf("directory of deleted objects: got %v, want it gone", err)
	}
}

func TestRootIsGone(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "root")
	p := openAt(t, dir)
	if err := unix.Rmdir(dir); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "a/b"} {
		if err := p.Put(ctx, key, nil); !errs.Is(err, errs.NotFound) || !strings.Contains(err.Error(), dir) {
			t.Errorf("put %q: got %v, want not found that names the directory", key, err)
		}
	}
	if err := p.List(ctx, "", "", func(storage.Object) bool { return true }); err != nil {
		t.Errorf("list: %v", err)
	}
}
