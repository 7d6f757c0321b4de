package read

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestStride(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, each := range []int64{1, 2, 3, 4, 8, 12} {
		for _, step := range []int64{1, 2, 3, 7} {
			for _, n := range []int64{0, 1, 3, 4, 5, 8, 9, 100} {
				for _, shift := range []int64{0, 1} { // from an aligned address
					memory := make([]byte, shift+max(0, (n-1)*step+1)*each)
					for i := range memory {
						memory[i] = byte(r.UintN(256))
					}
					from, want := memory[shift:], []byte{}
					for i := range n {
						want = append(want, from[i*step*each:][:each]...)
					}
					got := make([]byte, n*each)
					if Stride(got, from, each, step); !bytes.Equal(got, want) {
						t.Fatalf("%d values of %d bytes, step %d: got %x, want %x", n, each, step, got, want)
					}
				}
			}
		}
	}
}

func BenchmarkStride(b *testing.B) {
	const n = 1 << 20
	from, to := make([]byte, 8*n), make([]byte, 4*n)
	b.SetBytes(int64(len(from)))
	for b.Loop() {
		Stride(to, from, 4, 2)
	}
}
