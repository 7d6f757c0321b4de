package chunk

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"deeplake/core/tensor"
)

// TestTextsApart adds texts that lie together, apart, and out of order in the memory of the caller.
func TestTextsApart(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 5))
	data := make([]byte, 4096)
	for i := range data {
		data[i] = byte('a' + r.IntN(26))
	}
	for range 200 {
		var starts, ends []int64
		at, want := int64(0), []byte{}
		for range 1 + r.IntN(40) {
			switch r.IntN(4) {
			case 0:
				at += r.Int64N(9) // a gap
			case 1:
				at = r.Int64N(1000) // anywhere
			}
			n := r.Int64N(20)
			starts, ends = append(starts, at), append(ends, at+n)
			want = append(want, data[at:at+n]...)
			at += n
		}
		b := NewBuilder(&Spec{DType: tensor.String, Target: 1 << 20}, NewSession(memStore(t)))
		rows, _, err := b.AddTexts(context.Background(), data, starts, ends)
		if err != nil || rows != int64(len(starts)) {
			t.Fatal(rows, err)
		}
		if !bytes.Equal(b.block, want) {
			t.Fatalf("texts %v to %v: got %q, want %q", starts, ends, b.block, want)
		}
		for i := range starts {
			if b.dir.Sizes[i] != ends[i]-starts[i] {
				t.Fatalf("sizes %v, want those of %v to %v", b.dir.Sizes, starts, ends)
			}
		}
		b.Abort()
	}
}
