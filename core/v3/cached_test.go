package v3

import (
	"bytes"
	"context"
	"maps"
	"strings"
	"sync"
	"testing"

	"deeplake/core/storage"
	"deeplake/core/storage/cache"
)

// counted is a store with ranges that counts the requests for each object.
type counted struct {
	disk
	mu   sync.Mutex
	seen map[string]int
}

func (c *counted) count(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[key]++
}

func (c *counted) Get(ctx context.Context, key string) ([]byte, error) {
	c.count(key)
	return c.disk.Get(ctx, key)
}

func (c *counted) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	c.count(key)
	return c.disk.ReadAt(ctx, key, dst, off)
}

func (c *counted) Range(ctx context.Context, key string, off, n int64, tag string) (storage.Body, error) {
	c.count(key)
	return ranged{c.disk}.Range(ctx, key, off, n, tag)
}

// chunks counts the requests for chunks of closed commits and of heads, since the last call.
func (c *counted) chunks(t *tree) (closed, heads int) {
	for key, n := range c.seen {
		if _, ok := t.version(key); ok {
			closed += n
		} else if strings.Contains(key, "/chunks/") {
			heads += n
		}
	}
	c.seen = map[string]int{}
	return closed, heads
}

// TestCaches keeps chunks of closed commits, and no others: a chunk that the writer of a head has
// changed in place is read anew, and so is one of another dataset at the same place.
func TestCaches(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := maps.Clone(fixture(t, "removed"))
	layer := cache.NewMemory(64 << 20)
	read := func() (*content, int, int) {
		store := &counted{disk: disk{f}, seen: map[string]int{}}
		s, err := presented(ctx, cache.New(cache.New(store, layer, func(string) bool { return false }), layer, func(string) bool { return false }))
		if err != nil {
			t.Fatal(err)
		}
		got := readAll(ctx, s)
		if len(got.failed) > 0 {
			t.Fatal(got.failed)
		}
		closed, heads := store.chunks(s.loader.tree)
		return got, closed, heads
	}
	first, closed, heads := read()
	if closed == 0 || heads == 0 {
		t.Fatalf("%d requests for chunks of closed commits, %d for those of heads", closed, heads)
	}
	if _, closed, again := read(); closed != 0 || again != heads {
		t.Errorf("again %d requests for chunks of closed commits, %d for those of heads, want 0 and %d", closed, again, heads)
	}

	change := func(closed bool) (changed, differ int) {
		t.Helper()
		s, err := presented(ctx, disk{f})
		if err != nil {
			t.Fatal(err)
		}
		for key, data := range f {
			if _, ok := s.loader.tree.version(key); ok == closed && strings.Contains("/"+key, "/numbers/chunks/") {
				f[key] = append(data[:len(data)-1:len(data)-1], data[len(data)-1]^1)
				changed++
			}
		}
		got, _, _ := read()
		for key, columns := range got.values {
			for row, v := range columns[idOf("tensor", "numbers")] {
				if w, ok := first.values[key][idOf("tensor", "numbers")][row]; !ok || w.bytes != v.bytes {
					differ++
				}
			}
		}
		return changed, differ
	}
	if changed, differ := change(false); changed == 0 || differ == 0 {
		t.Errorf("%d chunks of heads have changed, %d rows differ", changed, differ)
	}
	f = maps.Clone(fixture(t, "removed"))
	f[versionFile] = bytes.ReplaceAll(f[versionFile], []byte(`"commit_time": 1`), []byte(`"commit_time": 2`))
	if changed, differ := change(true); changed == 0 || differ == 0 {
		t.Errorf("%d chunks of another dataset have changed, %d rows differ", changed, differ)
	}
}

// TestContentNames names the content of chunks.
func TestContentNames(t *testing.T) {
	when := 1.5
	tr := &tree{nodes: map[string]*node{rootCommit: {Time: &when}, "a": {Time: &when}, "head": {}}}
	for key, want := range map[string]string{
		"x/chunks/1": rootCommit + "@1.5", "g/x/chunks/1": rootCommit + "@1.5", "versions/a/x/chunks/1": "a@1.5",
		"versions/head/x/chunks/1": "", "versions/gone/x/chunks/1": "", "versions/chunks/1": "",
		"x/tensor_meta.json": "", "versions/a/x/chunk_set": "", ".queries/q/x/chunks/1": "", metaFile: "",
	} {
		if got, ok := tr.version(key); got != want || ok != (want != "") {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}
