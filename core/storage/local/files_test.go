//go:build linux || darwin

package local

import (
	"context"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
)

// isOpen says whether fd is a descriptor of this process. Only for descriptors that no parallel
// test can get: see callers.
func isOpen(fd int) bool {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == nil
}

// held counts the descriptors that c keeps.
func held(c *files) int {
	n := 0
	for i := range c.shards {
		c.shards[i].mu.RLock()
		n += len(c.shards[i].byKey)
		if len(c.shards[i].byKey) != len(c.shards[i].ring) {
			n = -1 << 20
		}
		c.shards[i].mu.RUnlock()
	}
	return n
}

func putAll(t testing.TB, p *Provider, n int) []string {
	t.Helper()
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("data/%d", i)
		if err := p.Put(t.Context(), keys[i], fmt.Appendf(nil, "content of %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

func readOne(ctx context.Context, p *Provider, keys []string, i int) error {
	want := fmt.Sprintf("content of %d", i)
	dst := make([]byte, len(want))
	if err := p.ReadAt(ctx, keys[i], dst, 0); err != nil {
		return err
	}
	if string(dst) != want {
		return fmt.Errorf("read %q: got %q, want %q", keys[i], dst, want)
	}
	return nil
}

func TestDescriptorsAreBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keys := putAll(t, openAt(t, dir), 400)
	for _, limit := range []int{1, 2, 7, 256} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			p := openAt(t, dir)
			p.files = newFiles(limit)
			g := task.New(t.Context(), 0)
			for r := range 8 {
				g.Go(func(ctx context.Context) error {
					for i := range 2000 {
						if err := readOne(ctx, p, keys, (i*(2*r+1)+i/17)%len(keys)); err != nil {
							return err
						}
						if i%97 == 0 {
							p.files.drop(keys[i%len(keys)])
						}
					}
					return nil
				})
			}
			if err := g.Wait(); err != nil {
				t.Fatal(err)
			}
			if n := held(p.files); n < 1 || n > limit {
				t.Errorf("holds %d descriptors, want 1 to %d", n, limit)
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			if n := held(p.files); n != 0 {
				t.Errorf("after close: holds %d descriptors", n)
			}
		})
	}
}

// TestReadObjectStays: descriptors that are used again stay; others are closed.
func TestReadObjectStays(t *testing.T) {
	t.Parallel()
	p := openAt(t, t.TempDir())
	p.files = newFiles(4)
	keys := putAll(t, p, 50)
	for i := 1; i < len(keys); i++ {
		for _, j := range []int{0, i} {
			if err := readOne(t.Context(), p, keys, j); err != nil {
				t.Fatal(err)
			}
		}
		f := p.files.acquire(keys[0])
		if f == nil {
			t.Fatalf("the descriptor read all the time was given up after %d others", i)
		}
		f.release()
	}
}

// TestFileInUseIsNotClosed does not run in parallel: it looks at the number of a closed descriptor.
func TestFileInUseIsNotClosed(t *testing.T) {
	for name, out := range map[string]func(c *files, key string){
		"drop":     func(c *files, key string) { c.drop(key) },
		"drop all": func(c *files, _ string) { c.dropAll() },
		"close":    func(c *files, _ string) { c.close() },
		"evict": func(c *files, _ string) {
			for i := range 3 {
				if f, ok := c.insert(fmt.Sprint(i), devNull(t), 0); ok {
					f.release()
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newFiles(1)
			defer c.close()
			fd := devNull(t)
			f, ok := c.insert("k", fd, c.generation("k"))
			if !ok {
				t.Fatal("not inserted")
			}
			out(c, "k")
			if again := c.acquire("k"); again != nil {
				t.Error("still found")
			}
			if !isOpen(fd) {
				t.Error("closed under its reader")
			}
			f.release()
			if isOpen(fd) {
				t.Error("not closed after its last reader")
			}
		})
	}
}

func devNull(t *testing.T) int {
	t.Helper()
	fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

// TestLateDescriptorIsNotKept: one that was opened before a drop would answer for a deleted object.
func TestLateDescriptorIsNotKept(t *testing.T) {
	c := newFiles(4)
	gen := c.generation("k")
	c.drop("k")
	f, ok := c.insert("k", devNull(t), gen)
	if !ok {
		t.Fatal("the reader of the late descriptor did not get it")
	}
	if c.acquire("k") != nil {
		t.Error("kept")
	}
	f.release()

	c.close()
	fd := devNull(t)
	if _, ok := c.insert("k", fd, c.generation("k")); ok || isOpen(fd) {
		t.Errorf("insert after close: ok is %v, descriptor open is %v", ok, isOpen(fd))
	}
}

func TestWarmReadDoesNotAllocate(t *testing.T) {
	p := openAt(t, t.TempDir())
	if err := p.Put(t.Context(), "data/a", make([]byte, 10_000)); err != nil {
		t.Fatal(err)
	}
	ctx, dst := t.Context(), make([]byte, 4000)
	if n := testing.AllocsPerRun(100, func() {
		if err := p.ReadAt(ctx, "data/a", dst, 100); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func TestTooManyOpenFilesGivesUpIdleOnes(t *testing.T) {
	// Not parallel: it lowers the limit of the process.
	p := openAt(t, t.TempDir())
	keys := putAll(t, p, 60)
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	top := devNull(t)
	unix.Close(top)
	tight := before
	tight.Cur = min(before.Cur, uint64(top)+20)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &tight); err != nil {
		t.Skipf("limit cannot be lowered: %v", err)
	}
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &before) }()
	for i := range keys {
		if err := readOne(t.Context(), p, keys, i); err != nil {
			t.Fatal(err)
		}
	}
	if n := held(p.files); n >= len(keys) {
		t.Errorf("holds %d descriptors under a limit of about 20", n)
	}
}

func TestForeignFilesAreNotObjects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := openAt(t, dir)
	if err := unix.Mkfifo(dir+"/pipe", 0o666); err != nil {
		t.Skipf("no named pipes here: %v", err)
	}
	if _, err := p.Get(t.Context(), "pipe"); !errs.Is(err, errs.NotFound) {
		t.Errorf("get of a named pipe: got %v, want not found", err)
	}
	f, err := unix.Open(dir+"/huge", unix.O_CREAT|unix.O_WRONLY, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(f)
	if err := unix.Ftruncate(f, 1<<40); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
	if _, err := p.Get(t.Context(), "huge"); !errs.Is(err, errs.Corrupt) {
		t.Errorf("get of a file of 1 TiB: got %v, want corrupt", err)
	}
}
