package chunk

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
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
				w.CacheBlocks(limit)
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
						if w.recent.used > limit {
							t.Fatalf("%d bytes are kept, want at most %d", w.recent.used, limit)
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
	w.CacheBlocks(64 << 20)
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
		worker.CacheBlocks(64 << 20)
		for _, r := range refs(w.chunks()[0]) {
			if err := worker.Decode(context.Background(), &r, make([]byte, r.Size), codec.AsStored); err != nil {
				t.Fatal(err)
			}
			worker.data = nil
		}
		if len(worker.recent.data)+len(worker.recent.order) > 0 {
			t.Errorf("of samples of %d bytes blocks are kept: %d, of which %d are known", size, len(worker.recent.order), len(worker.recent.data))
		}
		worker.Close()
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
		worker.CacheBlocks(int64(limit))
		for range 500 {
			r := &rows[rng.IntN(len(rows))]
			if err := worker.Decode(context.Background(), r, make([]byte, r.Size), codec.AsStored); err != nil {
				t.Fatal(err)
			}
			held := 0
			for _, data := range worker.recent.data {
				held += cap(data)
			}
			if held > limit || int64(held) != worker.recent.used || len(worker.recent.order) != len(worker.recent.data) {
				t.Fatalf("%d bytes in %d blocks are kept, counted as %d in %d, want at most %d", held, len(worker.recent.data),
					worker.recent.used, len(worker.recent.order), limit)
			}
		}
	}
}

func BenchmarkCacheBlocks(b *testing.B) {
	for _, id := range []codec.ID{codec.None, codec.LZ4} {
		c, _, _ := smallSamples(b, id)
		rows := refs(c)
		for _, limit := range []int64{0, 64 << 20} {
			b.Run(fmt.Sprintf("%v, %d MiB", id, limit>>20), func(b *testing.B) {
				w := NewWorker(all.All())
				defer w.Close()
				w.CacheBlocks(limit)
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
