package chunk

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/codec/all"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage/faultstore"
	"deeplake/core/tensor"
)

// TestWhole opens a small chunk with one request and reads it without another one. Damage on the
// way is mended by one more request; a chunk that stays damaged says so when it is read.
func TestWhole(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWritten(t, Spec{DType: tensor.Int32, Target: 1 << 20, BlockCodec: blockCodec(t, codec.LZ4)})
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		w.rows([][]Item{{array(rng, noise, tensor.Int32)}})
	}
	w.seal()
	s, sound := w.sealed[0], w.chunks()[0]
	key, head := sound.Key, format.ChunkHead{Session: s.Session, Ordinal: s.Ordinal, Tensor: w.spec.Tensor}
	off, _, _ := sound.Index.BlockRange(0)
	other := head
	other.Tensor = format.NewUUID()
	for name, c := range map[string]struct {
		head     format.ChunkHead
		plan     faultstore.Plan
		size     int64
		opens    errs.Kind
		reads    errs.Kind
		requests int
	}{
		"sound":                     {head, nil, s.Bytes, 0, 0, 1},
		"a block, once":             {head, faultstore.Plan{{Do: faultstore.FlipBit(8*off + 100)}}, s.Bytes, 0, 0, 2},
		"a block, always":           {head, faultstore.Plan{{Times: faultstore.Always, Do: faultstore.FlipBit(8*off + 100)}}, s.Bytes, 0, errs.Corrupt, 4},
		"the directory, once":       {head, faultstore.Plan{{Do: faultstore.FlipBit(8*s.Bytes - 400)}}, s.Bytes, 0, 0, 2},
		"the directory, always":     {head, faultstore.Plan{{Times: faultstore.Always, Do: faultstore.FlipBit(8*s.Bytes - 400)}}, s.Bytes, errs.Corrupt, 0, 2},
		"another chunk":             {other, nil, s.Bytes, errs.Corrupt, 0, 2},
		"of another size":           {head, nil, s.Bytes - 1, errs.Corrupt, 0, 2},
		"too short for a chunk":     {head, nil, 50, errs.Corrupt, 0, 2},
		"a negative size":           {head, nil, -1, errs.Corrupt, 0, 2},
		"the store is down":         {head, faultstore.Plan{{Do: faultstore.Fail(errs.Storage)}}, s.Bytes, errs.Storage, 0, 1},
		"larger than a small chunk": {head, nil, WholeBytes + 1, errs.Internal, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := faultstore.NewRanged(w.store, c.plan)
			got, err := OpenWhole(ctx, store, "", key, c.size, c.head)
			switch {
			case !failed(err, c.opens):
				t.Fatalf("open = %v, want kind %v; the chunk has %d bytes", err, c.opens, s.Bytes)
			case err == nil:
				if got.ID != sound.ID || len(got.Spans(0, 5000, nil)) > 0 != (c.reads != 0) {
					t.Errorf("identity %x, want %x; %d spans", got.ID, sound.ID, len(got.Spans(0, 5000, nil)))
				}
				io := NewWorker(all.All())
				defer io.Close()
				a, b := make([]byte, 20_000), make([]byte, 20_000)
				if err := io.Items(ctx, sound, 0, 5000, a); err != nil {
					t.Fatal(err)
				}
				if err := io.Items(ctx, got, 0, 5000, b); !failed(err, c.reads) || c.reads == 0 && !slices.Equal(a, b) {
					t.Errorf("read = %v, want kind %v", err, c.reads)
				}
			}
			if n := len(store.Calls()); n != c.requests {
				t.Errorf("%d requests, want %d: %v", n, c.requests, store.Calls())
			}
		})
	}
}

// failed reports whether err is of a kind; 0: whether there is none.
func failed(err error, kind errs.Kind) bool {
	return (err == nil) == (kind == 0) && (kind == 0 || errs.Is(err, kind))
}
