package chunk

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/codec/all"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/storage/local"
	"deeplake/core/tensor"
)

// TestBorrow: items are shown where they lie as Items reads them, and not at all where they are
// damaged, compressed or cannot be shown.
func TestBorrow(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	reg := all.All()
	memory := memStore(t)
	disk, err := local.Open(ctx, t.TempDir(), storage.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = disk.Close() })
	for name, store := range map[string]storage.Provider{"memory": memory, "disk": disk} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const n = 20_000
			c := storeNumbers(t, store, n)
			w := NewWorker(reg)
			defer w.Close()
			r := rand.New(rand.NewPCG(1, 2))
			for range 200 {
				item := r.Int64N(n)
				count := 1 + r.Int64N(min(n-item, 5000))
				want := make([]byte, 8*count)
				if err := w.Items(ctx, c, item, count, want); err != nil {
					t.Fatal(err)
				}
				got, keep := c.Borrow(ctx, item, count)
				if got == nil && (name == "memory" || runtime.GOOS == "linux") || got != nil && !bytes.Equal(got, want) {
					t.Fatalf("items %d to %d are shown as %d bytes, which are not those that are read", item, item+count, len(got))
				}
				runtime.KeepAlive(keep)
			}
			if got, _ := c.Borrow(ctx, 3, 0); got != nil {
				t.Error("no items were shown")
			}
			damage := storeNumbers(t, store, n)
			flipped, err := store.Get(ctx, damage.Key)
			if err != nil {
				t.Fatal(err)
			}
			flipped[100_000] ^= 1
			if err := store.Put(ctx, damage.Key, flipped); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if got, _ := damage.Borrow(ctx, 0, n); got != nil {
					t.Fatal("damaged items were shown")
				}
				if got, _ := damage.Borrow(ctx, 0, 1000); got == nil && (name == "memory" || runtime.GOOS == "linux") {
					t.Error("items before the damage were not shown")
				}
			}
			if err := w.Items(ctx, damage, 0, n, make([]byte, 8*n)); !errs.Is(err, errs.Corrupt) {
				t.Errorf("read damaged items = %v, want errs.Corrupt", err)
			}
			short := storeNumbers(t, store, n)
			if err := store.Put(ctx, short.Key, flipped[:70_000]); err != nil {
				t.Fatal(err)
			}
			if got, _ := short.Borrow(ctx, 0, n); got != nil {
				t.Error("items were shown of a chunk that ends before them")
			}
		})
	}
	t.Run("not shown", func(t *testing.T) {
		t.Parallel()
		c := storeNumbers(t, memory, 100)
		for name, other := range map[string]*Chunk{
			"by hand":   {Store: c.Store, Key: c.Key, Index: c.Index},
			"no mapper": {Store: faultstore.New(memory, nil), Key: c.Key, Index: c.Index, mapped: new(atomic.Pointer[mappedChunk])},
			"pictures":  storePictures(t, memory, reg, codec.JPEG, 1)[0].Chunk,
		} {
			if got, keep := other.Borrow(ctx, 0, 1); got != nil || keep != nil {
				t.Errorf("%s: an item was shown", name)
			}
		}
	})
}

// storeNumbers makes a chunk of n numbers, one after the other.
func storeNumbers(t *testing.T, store storage.Provider, n int) *Chunk {
	t.Helper()
	session := NewSession(store)
	b := NewBuilder(&Spec{DType: tensor.Int64, Target: 8 << 20}, session)
	for i := range n {
		if _, err := b.Add(t.Context(), Item{Data: binary.LittleEndian.AppendUint64(nil, uint64(i)*0x9e3779b97f4a7c15), Shape: tensor.Shape{}}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := b.Seal()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stream.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := Open(store, "", "data/"+s.Session.String()+"/0", s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// countedReads is a provider that can show objects, and counts the reads.
type countedReads struct {
	storage.Provider
	storage.Mapper
	reads atomic.Int64
}

func (c *countedReads) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	c.reads.Add(1)
	return c.Provider.ReadAt(ctx, key, dst, off)
}

// TestPreferMapped: samples that were read once are copied from where they lie, those of few to a
// chunk and those that are damaged are read each time.
func TestPreferMapped(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	reg := all.All()
	memory := memStore(t)
	for _, c := range []struct {
		name          string
		samples       int
		again, damage bool
		want          int64 // reads of two rounds
	}{
		{"read once", 40, true, false, 40},
		{"by a worker that does not look", 40, false, false, 80},
		{"few", mappedBlocks - 1, true, false, 2 * (mappedBlocks - 1)},
		{"one damaged", 40, true, true, 41},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := make([][]byte, c.samples)
			for i := range want {
				want[i] = bytes.Repeat([]byte{byte(i)}, 5000) // a block each
			}
			refs := storeFiles(t, memory, codec.JPEG, want, tensor.Shape{20, 30, 3})
			const broken = 7
			if c.damage {
				whole, err := memory.Get(ctx, refs[0].Chunk.Key)
				if err != nil {
					t.Fatal(err)
				}
				off, _, _ := refs[0].Chunk.Index.BlockRange(broken)
				whole[off+3] ^= 1
				if err := memory.Put(ctx, refs[0].Chunk.Key, whole); err != nil {
					t.Fatal(err)
				}
			}
			store := &countedReads{Provider: memory, Mapper: memory.(storage.Mapper)}
			w := NewWorker(reg)
			defer w.Close()
			if c.again {
				w.PreferMapped()
			}
			for round := range 2 {
				for i, ref := range refs {
					ref.Chunk.Store = store
					got := make([]byte, ref.Stored)
					err := w.Stored(ctx, ref, got)
					if c.damage && i == broken {
						if !errs.Is(err, errs.Corrupt) {
							t.Errorf("round %d: a damaged sample = %v, want errs.Corrupt", round, err)
						}
					} else if err != nil || !bytes.Equal(got, want[i]) {
						t.Errorf("round %d: sample %d is not as it is stored: %v", round, i, err)
					}
				}
			}
			if n := store.reads.Load(); n != c.want {
				t.Errorf("%d reads, want %d", n, c.want)
			}
			ended, end := context.WithCancel(ctx)
			end()
			if err := w.Stored(ended, refs[0], make([]byte, refs[0].Stored)); !errs.Is(err, errs.Canceled) {
				t.Errorf("a read that was given up = %v, want errs.Canceled", err)
			}
		})
	}
}
