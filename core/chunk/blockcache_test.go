package chunk

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/codec/all"
	"deeplake/core/errs"
	"deeplake/core/storage/faultstore"
	"deeplake/core/tensor"
)

// smallSamples are 17,280 arrays of 77 numbers, in one chunk whose store counts.
func smallSamples(t testing.TB, id codec.ID) (*Chunk, *faultstore.Store, [][]byte) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	w := newWritten(t, Spec{DType: tensor.Int32, BlockCodec: blockCodec(t, id), Target: 8 << 20})
	var want [][]byte
	for range 17_280 {
		it := array(rng, plain, tensor.Int32, 77)
		want = append(want, it.Data)
		w.rows([][]Item{{it}})
	}
	w.seal()
	chunks := w.chunks()
	if len(chunks) != 1 {
		t.Fatalf("%d chunks, want 1", len(chunks))
	}
	store := faultstore.New(w.store, nil)
	chunks[0].Store = store
	return chunks[0], store, want
}

// TestCacheBlocks reads samples in random order, twice each.
func TestCacheBlocks(t *testing.T) {
	for _, id := range []codec.ID{codec.None, codec.LZ4} {
		c, store, want := smallSamples(t, id)
		blocks, whole := int64(c.Index.Blocks()), int64(0)
		for b := range c.Index.Blocks() {
			_, _, raw := c.Index.BlockRange(b)
			whole += raw
		}
		for _, limit := range []int64{0, whole / 2, whole} {
			t.Run(fmt.Sprintf("%v, %d of %d bytes", id, limit, whole), func(t *testing.T) {
				w := NewWorker(all.All())
				defer w.Close()
				cache := NewBlockCache(limit)
				defer cache.Close()
				w.CacheBlocks(cache)
				before := len(store.Calls())
				rng := rand.New(rand.NewPCG(3, 4))
				rows, got := refs(c), make([]byte, 77*4)
				for range 2 {
					for _, i := range rng.Perm(len(rows)) {
						if err := w.Decode(context.Background(), &rows[i], got, codec.AsStored); err != nil {
							t.Fatal(err)
						}
						if !bytes.Equal(got, want[i]) {
							t.Fatalf("row %d differs", i)
						}
						if used, _ := cache.count(t); used > limit {
							t.Fatalf("%d bytes are cached, want at most %d", used, limit)
						}
					}
				}
				all, reads := 2*int64(len(rows)), int64(len(store.Calls())-before)
				switch limit {
				case whole:
					if reads != blocks {
						t.Fatalf("%d reads of %d blocks", reads, blocks)
					}
				case 0:
					if reads < all*3/4 {
						t.Fatalf("%d reads of %d samples: something is kept", reads, all)
					}
				default:
					if reads < all/3 || reads > all*2/3 {
						t.Fatalf("%d reads of %d samples with half of the blocks kept", reads, all)
					}
				}
			})
		}
	}
}

// TestCacheBlocksNoDamage: a block that came damaged is requested again.
func TestCacheBlocksNoDamage(t *testing.T) {
	c, store, want := smallSamples(t, codec.None)
	w := NewWorker(all.All())
	defer w.Close()
	cache := NewBlockCache(64 << 20)
	defer cache.Close()
	w.CacheBlocks(cache)
	rows, got := refs(c), make([]byte, 77*4)
	off, _, _ := c.Index.BlockRange(0)
	broken := faultstore.Plan{{Times: faultstore.Always, Do: faultstore.FlipBit(8*off + 100)}}
	store.SetPlan(broken)
	if err := w.Decode(context.Background(), &rows[5], got, codec.AsStored); !errs.Is(err, errs.Corrupt) {
		t.Fatalf("a damaged block: %v, want %v", err, errs.Corrupt)
	}
	store.SetPlan(nil)
	if err := w.Decode(context.Background(), &rows[5], got, codec.AsStored); err != nil || !bytes.Equal(got, want[5]) {
		t.Fatalf("after it: %v", err)
	}
	store.SetPlan(broken)
	if err := w.Decode(context.Background(), &rows[6], got, codec.AsStored); err != nil || !bytes.Equal(got, want[6]) {
		t.Fatalf("a neighbour, while the store is damaged: %v", err)
	}
}

// TestCacheBlocksSmall: blocks of few samples are not kept, nor those of nothing.
func TestCacheBlocksSmall(t *testing.T) {
	for _, size := range []int64{3000, 0} {
		rng := rand.New(rand.NewPCG(1, 2))
		w := newWritten(t, Spec{DType: tensor.Uint8, Target: 8 << 20})
		for range 100 {
			w.rows([][]Item{{array(rng, noise, tensor.Uint8, size)}})
		}
		w.seal()
		worker := NewWorker(all.All())
		cache := NewBlockCache(64 << 20)
		worker.CacheBlocks(cache)
		for _, r := range refs(w.chunks()[0]) {
			if err := worker.Decode(context.Background(), &r, make([]byte, r.Size), codec.AsStored); err != nil {
				t.Fatal(err)
			}
			worker.forget()
		}
		if _, blocks := cache.count(t); blocks > 0 {
			t.Errorf("of samples of %d bytes %d blocks are cached", size, blocks)
		}
		worker.Close()
		cache.Close()
	}
}

// TestCacheBlocksOfAllSizes: cached blocks of differing sizes stay within their bound of memory.
func TestCacheBlocksOfAllSizes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	w := newWritten(t, Spec{DType: tensor.Uint8, Target: 8 << 20})
	for k := range 4000 {
		size := int64(1 + k%700)
		if k%900 == 0 {
			size = 3000 // ends its block late
		}
		w.rows([][]Item{{array(rng, noise, tensor.Uint8, size)}})
	}
	w.seal()
	rows := refs(w.chunks()[0])
	worker := NewWorker(all.All())
	defer worker.Close()
	for limit := 80 << 10; limit < 120<<10; limit += 1000 {
		cache := NewBlockCache(int64(limit))
		worker.CacheBlocks(cache)
		for range 500 {
			r := &rows[rng.IntN(len(rows))]
			if err := worker.Decode(context.Background(), r, make([]byte, r.Size), codec.AsStored); err != nil {
				t.Fatal(err)
			}
			if used, blocks := cache.count(t); used > int64(limit) {
				t.Fatalf("%d bytes in %d blocks are cached, want at most %d", used, blocks, limit)
			}
		}
		cache.Close()
	}
}

// count returns the bytes and the number of cached blocks, after it has held their places against
// each other.
func (c *BlockCache) count(t testing.TB) (bytes int64, blocks int) {
	t.Helper()
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		places := slices.Clone(s.order)
		slices.SortFunc(places, func(a, b *cachedBlock) int { return cmp.Compare(a.at, b.at) })
		end := int64(0)
		for _, b := range places {
			if b.at < end {
				t.Fatal("two blocks lie in the same memory")
			}
			end = b.at + int64(len(b.data))
			bytes += int64(len(b.data))
		}
		if end > s.limit {
			t.Fatalf("blocks end at byte %d of %d", end, s.limit)
		}
		blocks += len(s.blocks)
		s.mu.Unlock()
	}
	return bytes, blocks
}

// TestSharedBlocks: workers of several goroutines read each block once while all of them fit, and
// right samples when they do not. No worker holds memory after it is closed.
func TestSharedBlocks(t *testing.T) {
	t.Parallel()
	for _, id := range []codec.ID{codec.None, codec.Zstd} {
		c, store, want := smallSamples(t, id)
		blocks := int64(c.Index.Blocks())
		for _, limit := range []int64{64 << 20, 1 << 20, 3 << 20} {
			if testing.Short() && limit == 3<<20 {
				continue
			}
			cache := NewBlockCache(limit)
			before := len(store.Calls())
			var g sync.WaitGroup
			for k := range 4 {
				g.Go(func() {
					w := NewWorker(all.All())
					defer w.Close()
					w.CacheBlocks(cache)
					rows, got := refs(c), make([]byte, 77*4)
					for _, i := range rand.New(rand.NewPCG(uint64(k), 4)).Perm(len(rows)) {
						if err := w.Decode(context.Background(), &rows[i], got, codec.AsStored); err != nil || !bytes.Equal(got, want[i]) {
							t.Errorf("row %d: %v, or another sample", i, err)
							return
						}
					}
				})
			}
			g.Wait()
			if reads := int64(len(store.Calls()) - before); limit == 64<<20 && reads != blocks {
				t.Errorf("%v: %d reads of %d blocks", id, reads, blocks)
			}
			cache.count(t)
			cache.Close()
			for i := range cache.shards {
				if s := &cache.shards[i]; s.users != 0 || s.memory != nil {
					t.Errorf("after the end a part has %d users", s.users)
				}
			}
		}
	}
}

// TestBlocksInUse: no other block takes the memory of one that a worker holds.
func TestBlocksInUse(t *testing.T) {
	t.Parallel()
	c, _, want := smallSamples(t, codec.Zstd)
	_, _, raw := c.Index.BlockRange(0)
	cache := NewBlockCache(6 * raw)
	var holding []*Worker
	for k := range 4 {
		w := NewWorker(all.All())
		w.CacheBlocks(cache)
		holding = append(holding, w)
		if _, err := w.load(t.Context(), c, k); err != nil {
			t.Fatal(err)
		}
	}
	reader := NewWorker(all.All())
	reader.CacheBlocks(cache)
	got := make([]byte, 77*4)
	for i, r := range refs(c) {
		if err := reader.Decode(t.Context(), &r, got, codec.AsStored); err != nil || !bytes.Equal(got, want[i]) {
			t.Fatalf("row %d: %v, or another sample", i, err)
		}
		cache.count(t)
	}
	for k, w := range holding {
		first := int64(0)
		for b := range k {
			first += c.Index.BlockItems(b)
		}
		if !bytes.HasPrefix(w.data, want[first]) {
			t.Errorf("block %d was overwritten while it was in use", k)
		}
	}
	cache.Close()
	if !bytes.HasPrefix(holding[0].data, want[0]) {
		t.Error("Close overwrites a block in use")
	}
	for _, w := range append(holding, reader) {
		w.Close()
	}
	if cache.shards[0].memory != nil {
		t.Error("the memory is not freed when the last user ends")
	}
}

// TestSharedBlocksThatFail: a worker whose read fails, or ends early, does not fail others that
// wait for the same block.
func TestSharedBlocksThatFail(t *testing.T) {
	t.Parallel()
	c, _, want := smallSamples(t, codec.Zstd)
	cache := NewBlockCache(64 << 20)
	defer cache.Close()
	name := blockName{c, 0}
	started, fail := make(chan struct{}), make(chan struct{})
	var g sync.WaitGroup
	g.Go(func() {
		_, err := cache.load(t.Context(), name, func([]byte) error {
			close(started)
			<-fail
			return errs.New(errs.Storage, "broken")
		})
		if !errs.Is(err, errs.Storage) {
			t.Errorf("the read that fails gives %v", err)
		}
	})
	<-started
	g.Go(func() {
		w := NewWorker(all.All())
		defer w.Close()
		w.CacheBlocks(cache)
		got := make([]byte, 77*4)
		if err := w.Decode(t.Context(), &refs(c)[0], got, codec.AsStored); err != nil || !bytes.Equal(got, want[0]) {
			t.Errorf("another worker gets %v, or another sample", err)
		}
	})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := cache.load(ended, name, nil); !errs.Is(err, errs.Canceled) {
		t.Errorf("a wait that is canceled gives %v", err)
	}
	close(fail)
	g.Wait()
}

func BenchmarkCacheBlocks(b *testing.B) {
	for _, id := range []codec.ID{codec.None, codec.LZ4} {
		c, _, _ := smallSamples(b, id)
		rows := refs(c)
		for _, limit := range []int64{0, 64 << 20} {
			b.Run(fmt.Sprintf("%v, %d MiB", id, limit>>20), func(b *testing.B) {
				w := NewWorker(all.All())
				defer w.Close()
				cache := NewBlockCache(limit)
				defer cache.Close()
				w.CacheBlocks(cache)
				rng, got := rand.New(rand.NewPCG(1, 2)), make([]byte, 77*4)
				for b.Loop() {
					if err := w.Decode(context.Background(), &rows[rng.IntN(len(rows))], got, codec.AsStored); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
