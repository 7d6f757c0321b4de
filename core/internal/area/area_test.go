package area

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// slow computes the average of each area from its definition.
func slow(pix []uint64, h, w, oh, ow, c int) []uint64 {
	out := make([]uint64, oh*ow*c)
	overlap := func(i, n, o, on int) uint64 { // in parts of 1/(n*on)
		from, to := max(i*on, o*n), min((i+1)*on, (o+1)*n)
		return uint64(max(to-from, 0))
	}
	for Y := range oh {
		for X := range ow {
			for k := range c {
				sum := uint64(0)
				for y := range h {
					if wy := overlap(y, h, Y, oh); wy > 0 {
						for x := range w {
							sum += pix[(y*w+x)*c+k] * wy * overlap(x, w, X, ow)
						}
					}
				}
				total := uint64(h) * uint64(w)
				out[(Y*ow+X)*c+k] = (sum + total/2) / total
			}
		}
	}
	return out
}

// TestMean compares with the definition: any sizes, cut into any tiles.
func TestMean(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		h, w, c, size := 1+r.IntN(40), 1+r.IntN(40), 1+r.IntN(4), 1+r.IntN(2)
		oh, ow := 1+r.IntN(h), 1+r.IntN(w)
		if seed%3 == 0 { // whole factors
			oh, ow = (h+1)/2, (w+1)/2
			h, w = 2*oh, 2*ow
		}
		pix, numbers := make([]byte, h*w*c*size), make([]uint64, h*w*c)
		for i := range numbers {
			if numbers[i] = uint64(r.IntN(1 << (8 * size))); size == 2 {
				binary.LittleEndian.PutUint16(pix[2*i:], uint16(numbers[i]))
			} else {
				pix[i] = byte(numbers[i])
			}
		}
		var want []byte
		for _, v := range slow(numbers, h, w, oh, ow, c) {
			if size == 2 {
				want = binary.LittleEndian.AppendUint16(want, uint16(v))
			} else {
				want = append(want, byte(v))
			}
		}
		got := make([]byte, len(want))
		m := New(h, w, oh, ow, c, size, got)
		th, tw := 1+r.IntN(h), 1+r.IntN(w)
		for y := 0; y < h; y += th {
			for x := 0; x < w; x += tw {
				m.Add(pix[(y*w+x)*c*size:], w*c*size, y, x, min(th, h-y), min(tw, w-x))
			}
			m.Done(min(y+th, h))
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %d x %d x %d to %d x %d in tiles of %d x %d differs", seed, h, w, c, oh, ow, th, tw)
		}
		clear(got)
		if Reduce(got, pix, h, w, oh, ow, c, size); !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %d x %d x %d to %d x %d in one piece differs", seed, h, w, c, oh, ow)
		}
	}
}
