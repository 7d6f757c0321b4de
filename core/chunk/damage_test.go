package chunk

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/codec/all"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/cache"
	"deeplake/core/storage/faultstore"
)

// fetchedAhead is a ReadAhead of what one read through the store gave.
type fetchedAhead struct {
	store storage.Provider
	calls int
}

func (h *fetchedAhead) Bytes(ctx context.Context, object string, off, n int64) ([]byte, error) {
	h.calls++
	data := make([]byte, n)
	return data, h.store.ReadAt(ctx, object, data, off)
}

// TestBitThatFellOverOnTheWay: a block that came damaged over a network, and is kept so by a cache,
// is read once more; one that stays damaged is errs.Corrupt.
func TestBitThatFellOverOnTheWay(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	reg := all.All()
	inner := memStore(t)
	for name, c := range map[string]struct {
		held  bool
		times int
		want  errs.Kind
		asked int
	}{
		"once":              {false, 1, 0, 2},
		"always":            {false, faultstore.Always, errs.Corrupt, 2},
		"fetched ahead":     {true, 1, 0, 2},
		"once more":         {true, 2, 0, 3},
		"for good, fetched": {true, faultstore.Always, errs.Corrupt, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ref := storePictures(t, inner, reg, codec.None, 1)[0]
			off, n, _ := ref.Chunk.Index.BlockRange(0)
			want := make([]byte, n)
			if err := inner.ReadAt(ctx, ref.Chunk.Key, want, off); err != nil {
				t.Fatal(err)
			}
			reading := []faultstore.Op{faultstore.Get, faultstore.Range, faultstore.ReadAt}
			broken := faultstore.NewRanged(inner, faultstore.Plan{{Ops: reading, Prefix: ref.Chunk.Key, Times: c.times, Do: faultstore.FlipBit(8*off + 100)}})
			store := cache.New(broken, cache.NewMemory(8<<20), func(string) bool { return true })
			ref.Chunk.Store = store
			w := NewWorker(reg)
			defer w.Close()
			ahead := &fetchedAhead{store: store}
			if c.held {
				w.SetReadAhead(ahead)
			}
			got := make([]byte, ref.Size)
			err := w.Decode(ctx, ref, got, codec.AsStored)
			switch {
			case c.want != 0 && !errs.Is(err, c.want), c.want == 0 && err != nil:
				t.Errorf("decode = %v, want kind %v", err, c.want)
			case err == nil && !bytes.Equal(got, want):
				t.Error("other bytes than were stored")
			}
			asked := len(slices.DeleteFunc(broken.Calls(), func(call faultstore.Call) bool { return call.Key != ref.Chunk.Key }))
			if asked != c.asked || c.held && ahead.calls != 1 {
				t.Errorf("asked %d times, want %d", asked, c.asked)
			}
		})
	}
}
