package chunk

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"deeplake/core/codec/zstd"
	"deeplake/core/format"
	"deeplake/core/tensor"
)

// TestPackingKeepsOrder compresses some blocks beside the builder, in any order, and others by the
// builder itself. The chunk has the same bytes as without.
func TestPackingKeepsOrder(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	texts := make([][]byte, 60_000)
	for i := range texts {
		texts[i] = fmt.Appendf(nil, "text %d of some words, %x", i, i*i)
	}
	build := func(beside func(i int) func(fn func())) (blocks, dir []byte) {
		space := memStore(t)
		session := &Session{ID: format.UUID{1}, Store: space}
		b := NewBuilder(&Spec{Tensor: format.UUID{2}, DType: tensor.String, BlockCodec: zstd.New(), Target: 64 << 20}, session)
		for i, text := range texts {
			session.Go = beside(i)
			if _, err := b.Add(ctx, Item{Data: text}); err != nil {
				t.Fatal(err)
			}
		}
		s, err := b.Seal()
		if err != nil {
			t.Fatal(err)
		}
		if session.Packing() {
			t.Error("blocks are left")
		}
		if err := s.Stream.Finish(ctx); err != nil {
			t.Fatal(err)
		}
		data, err := space.Get(ctx, format.DataKey(session.ID, s.Ordinal))
		if err != nil {
			t.Fatal(err)
		}
		return data, s.Dir
	}
	want, wantDir := build(func(int) func(func()) { return nil })
	got, gotDir := build(func(i int) func(fn func()) {
		if i/5000%2 == 0 {
			return nil
		}
		return func(fn func()) {
			go func() {
				for range i % 7 * 10_000 { // later blocks end earlier
					_ = fmt.Sprint()
				}
				fn()
			}()
		}
	})
	if !bytes.Equal(got, want) || !bytes.Equal(gotDir, wantDir) {
		t.Errorf("%d and %d bytes differ from %d and %d", len(got), len(gotDir), len(want), len(wantDir))
	}
}
