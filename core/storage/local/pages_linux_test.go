package local

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"deeplake/core/storage"
	"deeplake/go/tests/clock"
)

// Pages are dropped, read ahead and found. Advice about missing objects, or outside of an object,
// does nothing.
func TestPages(t *testing.T) {
	t.Parallel()
	p := openAt(t, t.TempDir())
	var st unix.Statfs_t
	if err := unix.Statfs(p.root, &st); err != nil {
		t.Fatal(err)
	}
	if st.Type == unix.TMPFS_MAGIC {
		t.Skip("the folder lies in memory (tmpfs), which has no other place for pages; set TMPDIR to a disk")
	}
	ctx := t.Context()
	const key, size = "data/a/0", 4 << 20
	if err := p.Put(ctx, key, bytes.Repeat([]byte("pages"), size/5+1)[:size]); err != nil {
		t.Fatal(err)
	}
	var cache storage.PageCache = p
	cache.DropPages(key, 0, size)
	for _, off := range []int64{0, size / 2, size - 1} {
		if cache.Resident(key, off) {
			t.Errorf("the page at %d is in memory after it was dropped", off)
		}
	}
	cache.ReadAhead(key, 0, size)
	clock.Await(t, time.Minute, "the pages read ahead do not come into memory", func() bool {
		return cache.Resident(key, 0) && cache.Resident(key, size/2) && cache.Resident(key, size-1)
	})
	if cache.Resident(key, size) || cache.Resident("missing", 0) || cache.Resident("a//b", 0) {
		t.Error("a page outside of all objects is in memory")
	}
	for _, r := range [][2]int64{{size, 1}, {0, 0}, {1 << 62, 1}, {-5, 3}} {
		cache.ReadAhead(key, r[0], r[1])
		cache.DropPages("missing", r[0], r[1])
	}
	if n := cache.CacheBytes(); n < 1<<20 || n > 1<<50 {
		t.Errorf("the cache has place for %d bytes", n)
	}
}

// The memory left to the page cache is that of the machine, or of the narrowest control group above
// the process. Systems that tell nothing leave none.
func TestAvailableMemory(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"nothing", nil, 0},
		{"machine", map[string]string{"proc/meminfo": "MemTotal: 9 kB\nMemAvailable:    1048576 kB\n"}, gib},
		{"no groups", map[string]string{"proc/meminfo": "MemAvailable: 1048576 kB\n", "proc/self/cgroup": "0::/\n"}, gib},
		{"unlimited group", map[string]string{"proc/meminfo": "MemAvailable: 1048576 kB\n", "proc/self/cgroup": "0::/a/b\n", "groups/a/b/memory.max": "max\n"}, gib},
		{"group", map[string]string{
			"proc/meminfo": "MemAvailable: 1048576 kB\n", "proc/self/cgroup": "0::/a/b\n",
			"groups/a/b/memory.max": "1000000\n", "groups/a/b/memory.current": "700000\n", "groups/a/b/memory.stat": "anon 5\nfile 500000\n",
		}, 800_000},
		{"group above", map[string]string{
			"proc/meminfo": "MemAvailable: 1048576 kB\n", "proc/self/cgroup": "0::/a/b\n",
			"groups/a/b/memory.max": "max\n", "groups/a/memory.max": "5000\n", "groups/a/memory.current": "6000\n",
		}, 0},
		{"version 1", map[string]string{
			"proc/meminfo": "MemAvailable: 1048576 kB\n", "proc/self/cgroup": "7:cpu:/x\n4:memory:/a\n0::/\n",
			"groups/memory/a/memory.limit_in_bytes": "9000\n", "groups/memory/a/memory.usage_in_bytes": "4000\n", "groups/memory/a/memory.stat": "cache 1\ntotal_cache 3000\n",
		}, 8000},
		{"version 1, unlimited", map[string]string{
			"proc/meminfo": "MemAvailable: 1048576 kB\n", "proc/self/cgroup": "4:memory:/\n",
			"groups/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, gib},
		{"damaged", map[string]string{"proc/meminfo": "MemAvailable: many kB\n", "proc/self/cgroup": "x\n::\n"}, 0},
	} {
		root := t.TempDir()
		for name, text := range c.files {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := availableMemory(filepath.Join(root, "proc"), filepath.Join(root, "groups")); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
	}
}
