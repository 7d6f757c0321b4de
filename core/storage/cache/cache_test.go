package cache_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/storage/cache"
	"deeplake/core/storage/faultstore"
	"deeplake/core/storage/limit"
	"deeplake/core/storage/mem"
	"deeplake/core/storage/retry"
	"deeplake/core/storage/storagetest"
)

const kib = 1 << 10

func open(t *testing.T, space *mem.Space) storage.Provider {
	t.Helper()
	p, err := space.Open(t.Context(), "place", storage.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// pattern is n bytes that differ from place to place.
func pattern(n int) []byte {
	data := make([]byte, n)
	x := uint64(88172645463325252)
	for i := range data {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		data[i] = byte(x)
	}
	return data
}

// remote is a store across a network, with an object "k" of n bytes.
func remote(t *testing.T, n int, plan ...faultstore.Fault) (*faultstore.Ranged, []byte) {
	t.Helper()
	inner := open(t, &mem.Space{})
	data := pattern(n)
	if err := inner.Put(t.Context(), "k", data); err != nil {
		t.Fatal(err)
	}
	return faultstore.NewRanged(inner, plan), data
}

// layers are one of each kind.
func layers(t *testing.T) map[string]cache.Layer {
	return map[string]cache.Layer{"memory": cache.NewMemory(64 << 20), "disk": cache.NewDisk(t.TempDir(), 64<<20)}
}

func read(t *testing.T, p storage.Provider, data []byte, off, n int) {
	t.Helper()
	dst := make([]byte, n)
	if err := p.ReadAt(t.Context(), "k", dst, int64(off)); err != nil {
		t.Fatalf("read %d bytes at %d: %v", n, off, err)
	}
	if !bytes.Equal(dst, data[off:off+n]) {
		t.Fatalf("read %d bytes at %d: wrong bytes", n, off)
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	plain := func(p storage.Provider) storage.Provider { return p }
	ranged := func(p storage.Provider) storage.Provider { return faultstore.NewRanged(p, nil) }
	memory := func(*testing.T) []cache.Layer { return []cache.Layer{cache.NewMemory(8 << 20)} }
	disk := func(t *testing.T) []cache.Layer { return []cache.Layer{cache.NewDisk(t.TempDir(), 32<<20)} }
	both := func(t *testing.T) []cache.Layer { return append(disk(t), memory(t)...) }
	for _, c := range []struct {
		name   string
		below  func(storage.Provider) storage.Provider
		layers func(*testing.T) []cache.Layer
	}{
		{"memory over plain", plain, memory},
		{"disk over plain", plain, disk},
		{"memory over ranged", ranged, memory},
		{"disk over ranged", ranged, disk},
		{"memory over disk over retry over limit", func(p storage.Provider) storage.Provider {
			return retry.New(retry.Options{}).Provider(limit.New(storage.Settings{}).Provider(ranged(p)))
		}, both},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			storagetest.Run(t, func(t *testing.T) (storage.Provider, func() storage.Provider) {
				var space mem.Space
				chain := c.layers(t)
				next := func() storage.Provider {
					p := c.below(open(t, &space))
					for _, l := range chain {
						p = cache.New(p, l, nil)
					}
					t.Cleanup(func() { _ = p.Close() })
					return p
				}
				return next(), next
			})
		})
	}
}

// TestRequests: a miss is one request, whatever it covers, and a hit is none.
func TestRequests(t *testing.T) {
	t.Parallel()
	type step struct{ off, n, requests int }
	const size = 40*cache.PageBytes + 1000
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"small, again, neighbours in the page", []step{{1000, 40 * kib, 1}, {1000, 40 * kib, 0}, {0, 256 * kib, 0}}},
		{"across pages", []step{{250 * kib, 40 * kib, 1}, {0, 512 * kib, 0}}},
		{"megabytes", []step{{0, 8 << 20, 1}, {0, 8 << 20, 0}, {3 << 20, 777, 0}}},
		{"what is missing at the end", []step{{0, 1 << 20, 1}, {0, 2 << 20, 1}, {0, 2 << 20, 0}}},
		{"a hole in the middle", []step{{0, 1 << 20, 1}, {2 << 20, 1 << 20, 1}, {0, 3 << 20, 1}}},
		{"holes between few pages there", []step{{1 << 20, 1 << 20, 1}, {3 << 20, 1 << 20, 1}, {0, 5 << 20, 1}, {0, 5 << 20, 0}}},
		{"holes between many pages there", []step{{1 << 20, 4 << 20, 1}, {0, 6 << 20, 2}, {0, 6 << 20, 0}}},
		{"the end", []step{{size - 10, 10, 1}, {size - 1000, 1000, 0}, {size - 5000, 5000, 1}}},
		{"all", []step{{0, size, 1}, {0, size, 0}}},
	} {
		for kind, layer := range layers(t) {
			t.Run(c.name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				store, data := remote(t, size)
				p := cache.New(store, layer, nil)
				for i, s := range c.steps {
					before := len(store.Calls())
					read(t, p, data, s.off, s.n)
					if got := len(store.Calls()) - before; got != s.requests {
						t.Errorf("step %d: %d requests, want %d", i, got, s.requests)
					}
				}
			})
		}
	}
}

func TestGetAndRangeShareThePages(t *testing.T) {
	t.Parallel()
	const size = 3*cache.PageBytes + 77
	for kind, layer := range layers(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			store, data := remote(t, size)
			p := cache.New(store, layer, nil)
			got, err := p.Get(t.Context(), "k")
			if err != nil || !bytes.Equal(got, data) {
				t.Fatalf("get: %d bytes, %v", len(got), err)
			}
			before := len(store.Calls())
			got, err = p.Get(t.Context(), "k")
			if err != nil || !bytes.Equal(got, data) {
				t.Fatalf("second get: %d bytes, %v", len(got), err)
			}
			for _, c := range []struct{ off, n int64 }{{0, -1}, {0, size}, {5, 10}, {cache.PageBytes - 1, 2}, {size - 1, 100}, {100, -1}} {
				b, err := p.(storage.Ranger).Range(t.Context(), "k", c.off, c.n, "")
				if err != nil {
					t.Fatalf("range %v: %v", c, err)
				}
				want := data[c.off:]
				if c.n >= 0 && c.n < int64(len(want)) {
					want = want[:c.n]
				}
				got, err := io.ReadAll(b)
				if err != nil || !bytes.Equal(got, want) || b.Len() != int64(len(want)) || b.Size() != size {
					t.Errorf("range %v: %d bytes, %v, length %d of %d", c, len(got), err, b.Len(), b.Size())
				}
				if err := b.Close(); err != nil {
					t.Error(err)
				}
			}
			if got := len(store.Calls()) - before; got != 0 {
				t.Errorf("%d requests for what was there", got)
			}
			if s := p.(storage.Meter).Stats(); s.CacheHits == 0 || s.CacheMisses != 4 || s.CacheBytes < size || s.CacheFaults != 0 {
				t.Errorf("stats: %+v", s)
			}
		})
	}
}

// TestRangeFills: one request fills the cache with its body, also if the range begins within cached
// pages.
func TestRangeFills(t *testing.T) {
	t.Parallel()
	const size = 8*cache.PageBytes + 77
	store, data := remote(t, size)
	p := cache.New(cache.New(store, cache.NewDisk(t.TempDir(), 64<<20), nil), cache.NewMemory(64<<20), nil)
	read(t, p, data, 0, 100)
	before := len(store.Calls())
	for range 2 {
		b, err := p.(storage.Ranger).Range(t.Context(), "k", 50, -1, "")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(b)
		if err != nil || !bytes.Equal(got, data[50:]) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
		b.Close()
	}
	if got := len(store.Calls()) - before; got != 1 {
		t.Errorf("%d requests, want 1: %v", got, store.Calls()[before:])
	}
}

func TestOnlyWhatNeverChangesIsKept(t *testing.T) {
	t.Parallel()
	store, data := remote(t, 1000)
	p := cache.New(store, cache.NewMemory(1<<20), func(key string) bool { return key != "k" })
	for range 2 {
		read(t, p, data, 0, 10)
	}
	if got := len(store.Calls()); got != 2 {
		t.Errorf("%d requests, want 2", got)
	}
	b, err := p.(storage.Ranger).Range(t.Context(), "k", 0, 5, "")
	if err != nil || b.Tag() == "" {
		t.Errorf("a range that is not cached must come from the store, with its tag: %v", err)
	}
}

func TestTagsGoToTheStore(t *testing.T) {
	t.Parallel()
	store, _ := remote(t, 1000)
	p := cache.New(store, cache.NewMemory(1<<20), nil).(storage.Ranger)
	if _, err := p.Range(t.Context(), "k", 0, 5, "other"); !errs.Is(err, errs.Conflict) {
		t.Errorf("got %v, want a conflict", err)
	}
}

// TestSingleFlight: many callers that miss the same pages at once make one request. A caller that
// leaves, even the one that sent the request, harms no other.
func TestSingleFlight(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"stays", "leaves"} {
		t.Run("the first "+first, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { singleFlight(t, first == "leaves") })
		})
	}
}

func singleFlight(t *testing.T, leaves bool) {
	release := make(chan struct{})
	store, data := remote(t, 3*cache.PageBytes, faultstore.Fault{Do: faultstore.Block(nil, release)})
	p := cache.New(store, cache.NewMemory(64<<20), nil)
	g := task.New(t.Context(), 0)
	ask := func(ctx context.Context, n int) chan error {
		done := make(chan error, 1)
		g.Go(func(context.Context) error {
			dst := make([]byte, n)
			err := p.ReadAt(ctx, "k", dst, 0)
			if err == nil && !bytes.Equal(dst, data[:n]) {
				err = errors.New("wrong bytes")
			}
			done <- err
			return nil
		})
		synctest.Wait()
		return done
	}
	firstCtx, leave := context.WithCancel(t.Context())
	defer leave()
	first := ask(firstCtx, 100)
	var others []chan error
	for range 8 {
		others = append(others, ask(t.Context(), len(data)))
	}
	waiting, cancel := context.WithCancel(t.Context())
	canceled := ask(waiting, 100)
	cancel()
	if err := <-canceled; !errs.Is(err, errs.Canceled) {
		t.Errorf("one who waits and leaves: %v", err)
	}
	if got := len(store.Calls()); got != 1 {
		t.Errorf("%d requests for one page, want 1", got)
	}
	if leaves {
		leave()
		if err := <-first; !errs.Is(err, errs.Canceled) {
			t.Errorf("the first: %v", err)
		}
	} else {
		close(release)
		if err := <-first; err != nil {
			t.Errorf("the first: %v", err)
		}
	}
	for i, other := range others {
		if err := <-other; err != nil {
			t.Errorf("number %d of those who wait: %v", i, err)
		}
	}
	if got := len(store.Calls()); got != 2 {
		t.Errorf("%d requests, want 2: the first one, and what was missing then", got)
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

func TestMissingObjectsAreAskedForAgain(t *testing.T) {
	t.Parallel()
	for kind, layer := range layers(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			store, _ := remote(t, 10)
			p := cache.New(store, layer, nil)
			if _, err := p.Get(t.Context(), "new"); !errs.Is(err, errs.NotFound) {
				t.Fatal(err)
			}
			if err := store.Put(t.Context(), "new", []byte("there")); err != nil {
				t.Fatal(err)
			}
			if got, err := p.Get(t.Context(), "new"); err != nil || string(got) != "there" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestMemoryHoldsItsLimit(t *testing.T) {
	t.Parallel()
	const bound = 3 * cache.PageBytes
	layer := cache.NewMemory(bound)
	store, data := remote(t, 20*cache.PageBytes)
	p := cache.New(store, layer, nil)
	for off := 0; off < len(data); off += cache.PageBytes / 2 {
		read(t, p, data, off, 1000)
		if got := layer.Bytes(); got > bound || got == 0 {
			t.Fatalf("%d bytes are held, want at most %d", got, bound)
		}
	}
	none := cache.NewMemory(1000) // less than a page
	read(t, cache.New(store, none, nil), data, 0, cache.PageBytes)
	if got := none.Bytes(); got != 0 {
		t.Errorf("%d bytes are held over a limit of 1000", got)
	}
}

// diskBytes returns the bytes and pages in dir, and the number of temporary files.
func diskBytes(t *testing.T, dir string) (bytes int64, pages, temporary int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // a page that was removed meanwhile
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		if filepath.Dir(path) == filepath.Join(dir, "tmp") {
			temporary++
		} else {
			pages++
			bytes += info.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes, pages, temporary
}

// TestDiskHoldsItsLimit: with several that share the directory and know nothing of each other.
func TestDiskHoldsItsLimit(t *testing.T) {
	t.Parallel()
	const bound = 8 << 20
	dir := t.TempDir()
	store, data := remote(t, 60*cache.PageBytes)
	g := task.New(t.Context(), 0)
	for worker := range 3 {
		p := cache.New(store, cache.NewDisk(dir, bound), nil)
		g.Go(func(ctx context.Context) error {
			for i := range 60 {
				off := (i*7 + worker*20) % 60 * cache.PageBytes
				dst := make([]byte, 1000)
				if err := p.ReadAt(ctx, "k", dst, int64(off)); err != nil {
					return err
				}
				if !bytes.Equal(dst, data[off:off+1000]) {
					return errors.New("wrong bytes")
				}
				if got, _, _ := diskBytes(t, dir); got > bound {
					return errors.New("the limit does not hold")
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	got, pages, temporary := diskBytes(t, dir)
	if got > bound || got < bound/2 || pages == 0 || temporary != 0 {
		t.Errorf("%d bytes in %d pages and %d temporary files, want up to %d bytes", got, pages, temporary, bound)
	}
}

// TestDiskForgetsWhatWasUsedLongestAgo, by the times of the files.
func TestDiskForgetsWhatWasUsedLongestAgo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, data := remote(t, 40*cache.PageBytes)
	p := cache.New(store, cache.NewDisk(dir, 8<<20), nil)
	for i := range 20 {
		read(t, p, data, i*cache.PageBytes, 10)
	}
	old := time.Now().Add(-10 * time.Hour)
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			err = os.Chtimes(path, old, old)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	read(t, p, data, 5*cache.PageBytes, 10) // used now
	for i := range 15 {
		read(t, p, data, (20+i)*cache.PageBytes, 10)
	}
	before := len(store.Calls())
	read(t, p, data, 5*cache.PageBytes, 10)
	if got := len(store.Calls()) - before; got != 0 {
		t.Error("the page that was used last was removed before others")
	}
	read(t, p, data, 34*cache.PageBytes, 10)
	if got := len(store.Calls()) - before; got != 0 {
		t.Error("the page that came last was not kept")
	}
}

// TestOthersPagesAreFound: another run, or another process, finds the pages of the first one; other
// stores do not.
func TestOthersPagesAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, data := remote(t, 1000)
	read(t, cache.New(store, cache.NewDisk(dir, 64<<20), nil), data, 0, 10)
	before := len(store.Calls())
	// with another limit, too
	read(t, cache.New(store, cache.NewDisk(dir, 32<<20), nil), data, 10, 10)
	if got := len(store.Calls()) - before; got != 0 {
		t.Errorf("%d requests of the second run", got)
	}
	var space mem.Space
	other, err := space.Open(t.Context(), "elsewhere", storage.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cache.New(other, cache.NewDisk(dir, 64<<20), nil).Get(t.Context(), "k"); !errs.Is(err, errs.NotFound) {
		t.Errorf("a store without the object: %v", err)
	}
}

// TestPutsAreResolvedByTheStore: after a conditional write a read asks the store, whatever was kept
// under the key before.
func TestPutsAreResolvedByTheStore(t *testing.T) {
	t.Parallel()
	var space mem.Space
	store, err := space.Open(t.Context(), "resolved", storage.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, layer := range []cache.Layer{cache.NewMemory(1 << 20), cache.NewDisk(dir, 64<<20)} {
		p := cache.New(store, layer, nil)
		for key, text := range map[string]string{"log/a/1": "old", "log/a/2": "older"} {
			if err := store.Put(t.Context(), key, []byte(text)); err != nil {
				t.Fatal(err)
			}
			if _, err := p.Get(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			if err := store.Put(t.Context(), key, []byte("theirs")); err != nil {
				// as another incarnation of the dataset
				t.Fatal(err)
			}
			if err := p.PutIfAbsent(t.Context(), key, []byte("mine")); !errs.Is(err, errs.Exists) {
				t.Fatal(err)
			}
			if got, err := p.Get(t.Context(), key); err != nil || string(got) != "theirs" {
				t.Errorf("after the refusal %q, %v", got, err)
			}
		}
	}
}

// TestDamagedPages are misses, and are removed.
func TestDamagedPages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		damage func(file []byte) []byte
	}{
		{"empty", func([]byte) []byte { return nil }},
		{"short", func(f []byte) []byte { return f[:len(f)-1] }},
		{"half", func(f []byte) []byte { return f[:len(f)/2] }},
		{"long", func(f []byte) []byte { return append(f, 0) }},
		{"zeros", func(f []byte) []byte { return make([]byte, len(f)) }},
		{"a bit of the data", func(f []byte) []byte { f[17] ^= 4; return f }},
		{"a bit of the size", func(f []byte) []byte { f[len(f)-10] ^= 4; return f }},
		{"a bit of the checksum", func(f []byte) []byte { f[len(f)-1] ^= 4; return f }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			store, data := remote(t, 1000)
			p := cache.New(store, cache.NewDisk(dir, 64<<20), nil)
			read(t, p, data, 0, 10)
			files, err := filepath.Glob(filepath.Join(dir, "??", "*"))
			if err != nil || len(files) != 1 {
				t.Fatalf("files %q, %v", files, err)
			}
			whole, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(files[0], c.damage(bytes.Clone(whole)), 0o600); err != nil {
				t.Fatal(err)
			}
			read(t, p, data, 0, 1000)
			if got := len(store.Calls()); got != 2 {
				t.Errorf("%d requests, want 2", got)
			}
			if now, err := os.ReadFile(files[0]); err != nil || !bytes.Equal(now, whole) {
				t.Errorf("the page is not whole again: %d bytes, %v", len(now), err)
			}
			if s := storage.StatsOf(p); s.CacheFaults != 1 || !strings.Contains(s.CacheFault, "cache entry") {
				t.Errorf("faults: %d, %q", s.CacheFaults, s.CacheFault)
			}
		})
	}
}

// TestLeftovers: temporary files of killed processes go after an hour, those of living ones stay.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cache.NewDisk(dir, 1<<20)
	old, young := filepath.Join(dir, "tmp", "page-1"), filepath.Join(dir, "tmp", "page-2")
	for _, path := range []string{old, young} {
		if err := os.WriteFile(path, []byte("half a pa"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	then := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(old, then, then); err != nil {
		t.Fatal(err)
	}
	cache.NewDisk(dir, 1<<20)
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("the old one: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("the young one: %v", err)
	}
}

// TestDirectoryThatCannotBeWritten: all works, and the reason is told.
func TestDirectoryThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	store, data := remote(t, 3*cache.PageBytes)
	p := cache.New(store, cache.NewDisk(filepath.Join(file, "cache"), 64<<20), nil)
	for range 2 {
		read(t, p, data, 0, len(data))
	}
	if got := len(store.Calls()); got != 2 {
		t.Errorf("%d requests, want 2", got)
	}
	if s := storage.StatsOf(p); s.CacheFaults == 0 || !strings.Contains(s.CacheFault, "not a directory") {
		t.Errorf("faults: %d, %q", s.CacheFaults, s.CacheFault)
	}
}

// TestDirectoryThatGoesAway while it is in use is made again.
func TestDirectoryThatGoesAway(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	store, data := remote(t, 3*cache.PageBytes)
	p := cache.New(store, cache.NewDisk(dir, 64<<20), nil)
	read(t, p, data, 0, len(data))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	read(t, p, data, 0, len(data))
	if _, pages, _ := diskBytes(t, dir); pages != 3 {
		t.Errorf("%d pages, want 3", pages)
	}
	if got := len(store.Calls()); got != 2 {
		t.Errorf("%d requests, want 2", got)
	}
}

// TestErrorsInTheMiddle of a body: the pages before the error are kept and right, the others are
// requested again.
func TestErrorsInTheMiddle(t *testing.T) {
	t.Parallel()
	for kind, layer := range layers(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			const size = 6 * cache.PageBytes
			store, data := remote(t, size, faultstore.Fault{Do: faultstore.BreakAt(2*cache.PageBytes + 100)})
			p := cache.New(store, layer, nil)
			if err := p.ReadAt(t.Context(), "k", make([]byte, size), 0); !errs.Is(err, errs.Storage) {
				t.Fatalf("got %v", err)
			}
			read(t, p, data, 0, 2*cache.PageBytes)
			if got := len(store.Calls()); got != 1 {
				t.Errorf("%d requests for what had come, want 1", got)
			}
			read(t, p, data, 0, size)
			if got := len(store.Calls()); got != 2 {
				t.Errorf("%d requests, want 2", got)
			}
		})
	}
}

// TestForget: bytes that came damaged from the store stay in the cache until a reader notices.
func TestForget(t *testing.T) {
	t.Parallel()
	const size = cache.SegmentBytes + 1000
	store, data := remote(t, size, faultstore.Fault{Do: faultstore.FlipBit(8 * 5000)})
	var p storage.Provider = store
	for _, layer := range []cache.Layer{cache.NewDisk(t.TempDir(), 1<<30), cache.NewMemory(64 << 20)} {
		p = cache.New(retry.New(retry.Options{}).Provider(p), layer, nil)
	}
	dst := make([]byte, size)
	for range 2 {
		if err := p.ReadAt(t.Context(), "k", dst, 0); err != nil || bytes.Equal(dst, data) {
			t.Fatalf("want damaged bytes, %v", err)
		}
	}
	storage.Forget(p, "k")
	read(t, p, data, 0, size)
	if got := len(store.Calls()); got != 2 {
		t.Errorf("%d requests, want 2", got)
	}
}
