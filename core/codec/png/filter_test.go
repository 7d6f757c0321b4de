package png

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestUnfilter holds the three ways to undo filters to each other and to the filters, for every
// size of pixel and rows of all lengths. Bytes around the rows stay.
func TestUnfilter(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []byte {
		b := make([]byte, n, n+slack)
		for i := range b {
			b[i] = byte(rng.Uint32() >> (rng.Uint32() % 8))
		}
		return b
	}
	ways := map[string]func(rows, above []byte, pixel int) int{"vector": unfilterRows, "plain": unfilterRowsPlain, "go": unfilterRowsGo}
	for _, pixel := range []int{1, 2, 3, 4, 6, 8} {
		for pixels := 1; pixels < 70; pixels++ {
			size, n := pixel*pixels, 1+rng.IntN(9)
			above, want, filtered := random(size), []byte{}, []byte{}
			up := above
			for range n {
				filter, row, out := byte(rng.IntN(5)), random(size), make([]byte, size)
				applyFilter(filter, out, row, up, pixel)
				filtered = append(append(filtered, filter), out...)
				want = append(append(want, filter), row...)
				up = row
			}
			for name, unfilter := range ways {
				room := append(bytes.Clone(filtered), bytes.Repeat([]byte{0xa5}, 16)...)
				if got := unfilter(room[:len(filtered)], above, pixel); got != n {
					t.Fatalf("%s: %d of %d rows", name, got, n)
				}
				if !bytes.Equal(room[:len(filtered)], want) {
					t.Fatalf("%s, %d pixels of %d bytes: other rows than were filtered", name, pixels, pixel)
				}
				if !bytes.Equal(room[len(filtered):], bytes.Repeat([]byte{0xa5}, 16)) {
					t.Fatalf("%s, %d pixels of %d bytes: bytes behind the rows changed", name, pixels, pixel)
				}
				at := rng.IntN(n)
				room[at*(size+1)] = byte(5 + rng.IntN(251))
				if got := unfilter(room[:len(filtered)], above, pixel); got != at {
					t.Fatalf("%s: row %d has no filter, and %d rows were undone", name, at, got)
				}
			}
		}
	}
}
