package cache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/storage/cache"
)

// files are the sizes of what lies in dir, by path.
func files(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "??", "*"))
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int64{}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		sizes[path] = info.Size()
	}
	return sizes
}

// TestSegments: each segment is stored as one file, and its pages are found one by one.
func TestSegments(t *testing.T) {
	t.Parallel()
	const size = 3*cache.SegmentBytes + cache.PageBytes + 100
	for _, c := range []struct {
		name            string
		limit           int64
		off, n          int // of the first read
		get             bool
		segments, pages int
	}{
		{"all", 1 << 30, 0, size, false, 3, 2},
		{"get", 1 << 30, 0, 0, true, 3, 2},
		{"from the middle of one", 1 << 30, 5 * cache.PageBytes, size - 5*cache.PageBytes, false, 2, 13},
		{"to the middle of one", 1 << 30, 0, cache.SegmentBytes + 5*cache.PageBytes + 7, false, 1, 6},
		{"one but for a byte at both ends", 1 << 30, 1, cache.SegmentBytes - 2, false, 0, 16},
		{"a small cache", 16 << 20, 0, size, false, 0, 50},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			store, data := remote(t, size)
			p := cache.New(store, cache.NewDisk(dir, c.limit), nil)
			if c.get {
				if got, err := p.Get(t.Context(), "k"); err != nil || !bytes.Equal(got, data) {
					t.Fatalf("get: %d bytes, %v", len(got), err)
				}
				c.n = size
			} else {
				read(t, p, data, c.off, c.n)
			}
			segments, pages := 0, 0
			for _, n := range files(t, dir) {
				if n > cache.SegmentBytes {
					segments++
				} else {
					pages++
				}
			}
			if segments != c.segments || pages != c.pages {
				t.Errorf("%d segments and %d pages, want %d and %d", segments, pages, c.segments, c.pages)
			}
			other := cache.New(store, cache.NewDisk(dir, c.limit), nil)
			read(t, other, data, c.off, c.n)
			for at := c.off; at+1000 <= c.off+c.n; at += 1<<20 + 777 {
				read(t, other, data, at, 1000)
			}
			if got := len(store.Calls()); got != 1 {
				t.Errorf("%d requests, want 1", got)
			}
			read(t, other, data, 0, size) // the missing pages
			if err := other.Delete(t.Context(), "k"); err != nil {
				t.Fatal(err)
			}
			if left := files(t, dir); len(left) != 0 {
				t.Errorf("left of a deleted object: %v", left)
			}
		})
	}
}

// TestDamagedSegments: the page that is damaged is a miss, and the file goes.
func TestDamagedSegments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		damage func(file []byte) []byte
		hit    bool // of a page that is whole
	}{
		{"a bit of page 3", func(f []byte) []byte { f[3*cache.PageBytes+5] ^= 1; return f }, true},
		{"short", func(f []byte) []byte { return f[:len(f)-1] }, false},
		{"half", func(f []byte) []byte { return f[:len(f)/2] }, false},
		{"long", func(f []byte) []byte { return append(f, 0) }, false},
		{"empty", func([]byte) []byte { return nil }, false},
		{"a bit of the trailer", func(f []byte) []byte { f[len(f)-20] ^= 1; return f }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			store, data := remote(t, cache.SegmentBytes)
			p := cache.New(store, cache.NewDisk(dir, 1<<30), nil)
			read(t, p, data, 0, len(data))
			for path := range files(t, dir) {
				whole, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, c.damage(whole), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			read(t, p, data, 0, 100)
			if hit := len(store.Calls()) == 1; hit != c.hit {
				t.Errorf("page 0 is a hit: %v, want %v", hit, c.hit)
			}
			read(t, p, data, 3*cache.PageBytes, 100)
			if s := storage.StatsOf(p); s.CacheFaults != 1 || !strings.Contains(s.CacheFault, "cache segment") {
				t.Errorf("faults: %d, %q", s.CacheFaults, s.CacheFault)
			}
			for path, n := range files(t, dir) {
				if n > cache.PageBytes+100 {
					t.Errorf("%s of %d bytes is still there", path, n)
				}
			}
		})
	}
}

// TestSegmentsHoldTheLimit, with two that share the directory.
func TestSegmentsHoldTheLimit(t *testing.T) {
	t.Parallel()
	const bound = 72 << 20
	dir := t.TempDir()
	store, data := remote(t, cache.SegmentBytes)
	const objects = 40
	for i := range objects {
		if err := store.Put(t.Context(), fmt.Sprint("k", i), data); err != nil {
			t.Fatal(err)
		}
	}
	g := task.New(t.Context(), 0)
	for worker := range 2 {
		p := cache.New(store, cache.NewDisk(dir, bound), nil)
		g.Go(func(ctx context.Context) error {
			dst := make([]byte, cache.SegmentBytes)
			for i := range objects {
				if err := p.ReadAt(ctx, fmt.Sprint("k", (i+worker*objects/2)%objects), dst, 0); err != nil {
					return err
				}
				if !bytes.Equal(dst, data) {
					return errors.New("wrong bytes")
				}
				if got, _, _ := diskBytes(t, dir); got > bound {
					return fmt.Errorf("%d bytes, more than %d", got, bound)
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if got, _, _ := diskBytes(t, dir); got < bound/2 {
		t.Errorf("%d bytes are kept, of %d", got, bound)
	}
}
