package chunk

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/codec/all"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

// counting counts the reads of a store, and damages what they bring while it is told to.
type counting struct {
	storage.Provider
	reads   atomic.Int64
	damaged atomic.Bool
}

func (c *counting) ReadAt(ctx context.Context, key string, p []byte, off int64) error {
	c.reads.Add(1)
	err := c.Provider.ReadAt(ctx, key, p, off)
	if c.damaged.Load() {
		p[0] ^= 1
	}
	return err
}

// smallSamples are 17,280 arrays of 77 numbers, in one chunk whose store counts.
func smallSamples(t *testing.T, id codec.ID) (*Chunk, *counting, [][]byte) {
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
	store := &counting{Provider: w.store}
	chunks[0].Store = store
	return chunks[0], store, want
}

// TestKeep reads samples in random order, twice each.
func TestKeep(t *testing.T) {
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
				w.Keep(limit)
				store.reads.Store(0)
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
				all, reads := 2*int64(len(rows)), store.reads.Load()
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

// TestKeepNoDamage: a block that came damaged is asked for again.
func TestKeepNoDamage(t *testing.T) {
	c, store, want := smallSamples(t, codec.None)
	w := NewWorker(all.All())
	defer w.Close()
	w.Keep(64 << 20)
	rows, got := refs(c), make([]byte, 77*4)
	store.damaged.Store(true)
	if err := w.Decode(context.Background(), &rows[5], got, codec.AsStored); !errs.Is(err, errs.Corrupt) {
		t.Fatalf("a damaged block: %v, want %v", err, errs.Corrupt)
	}
	store.damaged.Store(false)
	if err := w.Decode(context.Background(), &rows[5], got, codec.AsStored); err != nil || !bytes.Equal(got, want[5]) {
		t.Fatalf("after it: %v", err)
	}
	store.damaged.Store(true)
	if err := w.Decode(context.Background(), &rows[6], got, codec.AsStored); err != nil || !bytes.Equal(got, want[6]) {
		t.Fatalf("a neighbour, while the store is damaged: %v", err)
	}
}

// TestKeepSmall: blocks of few samples are not kept, nor those of nothing.
func TestKeepSmall(t *testing.T) {
	for _, size := range []int64{3000, 0} {
		rng := rand.New(rand.NewPCG(1, 2))
		w := newWritten(t, Spec{DType: tensor.Uint8, Target: 8 << 20})
		for range 100 {
			w.rows([][]Item{{array(rng, noise, tensor.Uint8, size)}})
		}
		w.seal()
		worker := NewWorker(all.All())
		worker.Keep(64 << 20)
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
