package compute

import (
	"testing"

	"deeplake/core/array"
	"deeplake/core/tensor"
)

// TestRegular: two columns have one shape each, and the shapes differ. They are not measured side
// by side. In every row one of them is NULL, so that no row shows the difference.
func TestRegular(t *testing.T) {
	t.Parallel()
	of := func(n int, null ...bool) *array.Column {
		c := array.FromArrays(array.Type{DType: tensor.Float32}, tensor.Shape{int64(n)}, make([]float32, n*len(null)), null)
		c.Type.Shape = tensor.Shape{-1}
		return c
	}
	x, y := of(64, false, true), of(2, true, false)
	for _, m := range []measure{dot, cosine, l1Apart, l2Apart, unequal} {
		if newPairing(m, x, y).regular() || newPairing(m, y, x).regular() {
			t.Error("vectors of 64 and of 2 elements are measured together")
		}
		if !newPairing(m, x, of(64, true, false)).regular() {
			t.Error("vectors of 64 elements are not")
		}
	}
	for _, name := range []string{"DOT", "COSINE_SIMILARITY", "L1_DISTANCE", "L2_DISTANCE", "HAMMING_DISTANCE"} {
		if v, err := Find(name).Call(nil, []*array.Column{x, y}); err != nil || v.N != 2 || !v.IsNull(0) || !v.IsNull(1) {
			t.Errorf("%s: %v, %v, want NULL twice", name, v, err)
		}
	}
}
