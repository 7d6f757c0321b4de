package chunk

import (
	"math/rand/v2"
	"testing"

	"deeplake/core/tensor"
)

// TestExtremes compares the statistics of scalars that come together, from an address of any
// alignment, with those of the same scalars one by one.
func TestExtremes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 7))
	for d := tensor.Bool; d <= tensor.Float64; d++ {
		if !ordered(d) {
			continue
		}
		for range 50 {
			memory := make([]byte, 1+r.IntN(9)*d.Size())
			for i := range memory {
				if memory[i] = byte(r.UintN(256)); d == tensor.Bool {
					memory[i] &= 1
				}
			}
			data := memory[1:]
			together, single := newStatistics(&Spec{DType: d}), newStatistics(&Spec{DType: d})
			together.add(Item{Data: data, Shape: tensor.Shape{}})
			for at := 0; at < len(data); at += d.Size() {
				single.add(Item{Data: data[at : at+d.Size()], Shape: tensor.Shape{}})
			}
			a, b := together.result(), single.result()
			if a.HasRange != b.HasRange || a.Min != b.Min || a.Max != b.Max {
				t.Fatalf("%s, %x: %+v together, %+v one by one", d, data, a, b)
			}
		}
	}
}
