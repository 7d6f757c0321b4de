package loader

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/read"
	"deeplake/core/samplecache"
	"deeplake/core/tensor"
)

// shelved is a cache of the rows that it may keep.
type mapCache struct {
	may func(item int64) bool

	mu   sync.Mutex
	data map[int64][]byte
	hits int64
}

func (s *mapCache) Load(r *chunk.Ref, dst []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.data[r.Item]
	if ok {
		s.hits++
		copy(dst, data)
	}
	return ok
}

func (s *mapCache) Store(r *chunk.Ref, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.may(r.Item >> itemBits) {
		s.data[r.Item] = bytes.Clone(data)
	}
}

func (s *mapCache) Has(r *chunk.Ref) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.data[r.Item] != nil
}

func (s *mapCache) Stats() samplecache.Stats { return samplecache.Stats{Hits: s.hits} }
func (s *mapCache) Close()                   {}

func TestSampleCache(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	broken := errors.New("row 3 is broken")
	decodes := map[int64]int{}
	col := &fakeColumn{name: "images", dtype: tensor.Uint8, encoded: true, shape: fixedShape(4, 4, 3),
		read: func(_ context.Context, row int64) error {
			decodes[row]++
			if row == 3 {
				return broken
			}
			return nil
		}}
	cache := &mapCache{data: map[int64][]byte{}, may: func(row int64) bool { return row%2 == 1 }}
	cachedCol := cached(col, cache)
	access := cachedCol.Access()
	if access.Prefetch != nil {
		t.Error("a column is read ahead that cannot be")
	}
	refs := make([]chunk.Ref, 8)
	if err := cachedCol.Resolve(ctx, []int64{0, 1, 2, 3, 4, 5, 6, 7}, refs); err != nil {
		t.Fatal(err)
	}
	w := chunk.NewWorker(nil)
	for pass := range 3 {
		dst, list, failed := make([][]byte, 8), make([]*chunk.Ref, 8), map[int]error{}
		for i := range refs {
			dst[i], list[i] = make([]byte, refs[i].Size), &refs[i]
		}
		access.DecodeRun(ctx, list, dst, w, func(i int, err error) { failed[i] = err })
		if len(failed) != 1 || !errors.Is(failed[3], broken) {
			t.Fatalf("pass %d: failed %v, want row 3", pass, failed)
		}
		for i := range refs {
			want, _ := col.content(int64(i), 0)
			if i != 3 && !bytes.Equal(dst[i], want) {
				t.Errorf("pass %d: row %d differs", pass, i)
			}
		}
	}
	for row, n := range map[int64]int{0: 3, 1: 1, 2: 3, 3: 3, 5: 1, 7: 1} {
		if decodes[row] != n {
			t.Errorf("row %d was decoded %d times, want %d", row, decodes[row], n)
		}
	}
	one := make([]byte, refs[5].Size)
	if err := cachedCol.Decode(ctx, &refs[5], one, w); err != nil || decodes[5] != 1 {
		t.Errorf("one by one: %v, row 5 decoded %d times", err, decodes[5])
	}
}

// prefetchFake is a fake column that is read ahead.
type prefetchFake struct {
	*fakeColumn
	asked [][][2]int64
}

func (c *prefetchFake) Access() read.Access {
	return read.Access{Prefetch: c.prefetch, StoredBytes: 1}
}

func (c *prefetchFake) prefetch(_ context.Context, runs [][2]int64) ([]chunk.Span, error) {
	c.asked = append(c.asked, runs)
	return make([]chunk.Span, len(runs)), nil
}

// TestCachedIsNotFetched: bytes of cached samples are not requested.
func TestCachedIsNotFetched(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	col := &prefetchFake{fakeColumn: &fakeColumn{name: "images", dtype: tensor.Uint8, encoded: true, shape: fixedShape(2)}}
	cache := &mapCache{data: map[int64][]byte{}, may: func(int64) bool { return true }}
	cachedCol := cached(col, cache).Access()
	all := [][2]int64{{0, 10}, {20, 5000}}
	if spans, err := cachedCol.Prefetch(ctx, all); err != nil || len(spans) != 2 || len(col.asked) != 1 {
		t.Fatalf("nothing is kept: %d spans, %v, asked %v", len(spans), err, col.asked)
	}
	for _, row := range []int64{0, 3, 4, 9, 20, 4999} {
		cache.data[row<<itemBits] = []byte{1}
	}
	spans, err := cachedCol.Prefetch(ctx, all)
	want := [][2]int64{{1, 3}, {5, 9}, {21, 4999}}
	if got := col.asked[len(col.asked)-1]; err != nil || len(spans) != 3 || len(got) != 3 || [3][2]int64(got) != [3][2]int64(want) {
		t.Errorf("asked for %v, want %v (%v)", got, want, err)
	}
}
