package compute

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"deeplake/core/array"
	"deeplake/core/array/arraytest"
	"deeplake/core/tensor"
)

// TestNativeLoops compares the loops in C with the loops in Go, for lengths around the width of
// vectors and any alignment.
func TestNativeLoops(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	t.Run("uint8", func(t *testing.T) { nativeLoops[uint8](t, r) })
	t.Run("uint16", func(t *testing.T) { nativeLoops[uint16](t, r) })
	t.Run("uint32", func(t *testing.T) { nativeLoops[uint32](t, r) })
	t.Run("uint64", func(t *testing.T) { nativeLoops[uint64](t, r) })
	t.Run("int8", func(t *testing.T) { nativeLoops[int8](t, r) })
	t.Run("int16", func(t *testing.T) { nativeLoops[int16](t, r) })
	t.Run("int32", func(t *testing.T) { nativeLoops[int32](t, r) })
	t.Run("int64", func(t *testing.T) { nativeLoops[int64](t, r) })
	t.Run("float32", func(t *testing.T) { nativeLoops[float32](t, r); totalLoops[float32](t, r) })
	t.Run("float64", func(t *testing.T) { nativeLoops[float64](t, r); totalLoops[float64](t, r) })
}

func nativeLoops[T array.Number](t *testing.T, r *rand.Rand) {
	compareLoops(t, r, map[nativeOp]kernel[T, bool]{opEqual: equal[T], opLess: less[T], opLessEqual: lessEqual[T]})
	d := array.DTypeOf([]T(nil))
	for _, n := range []int{64, 65, 79, 1000, 1024, 1031} {
		v := arraytest.RandomNumbers[T](r, n+3, false)[r.IntN(4):][:n-1]
		for _, most := range []bool{false, true} {
			if got, ok := ExtremeNative(d, most, v); ok && got != ExtremePlain(v, most) {
				t.Errorf("extreme of %d values, most %v: %v, want %v", len(v), most, got, ExtremePlain(v, most))
			}
		}
		if whole, sum, lost, ok := SumNative(d, v); ok {
			want := 0.0
			for _, e := range v {
				want += float64(e)
			}
			if got := float64(whole) + sum + lost; got != want {
				t.Errorf("sum of %d values: %v, want %v", len(v), got, want)
			}
		}
	}
}

func totalLoops[T float32 | float64](t *testing.T, r *rand.Rand) {
	compareLoops(t, r, map[nativeOp]kernel[T, bool]{opEqualTotal: equalTotal[T], opLessTotal: lessTotal[T]})
	d := array.DTypeOf([]T(nil))
	v := arraytest.RandomNumbers[T](r, 100, false)
	v[70] = T(math.NaN())
	if _, ok := ExtremeNative(d, true, v); ok {
		t.Error("an extreme was found next to NaN, which Go has to look for")
	}
}

func compareLoops[T array.Number](t *testing.T, r *rand.Rand, ops map[nativeOp]kernel[T, bool]) {
	d := array.DTypeOf([]T(nil))
	for op, plain := range ops {
		for _, n := range []int{64, 65, 95, 1024, 1029} {
			a, b := arraytest.RandomNumbers[T](r, n+3, true)[r.IntN(4):][:n-1], arraytest.RandomNumbers[T](r, n+3, true)[r.IntN(4):][:n-1]
			for side := range 3 {
				x, y := a, b
				switch side {
				case 1:
					y = b[5:6]
				case 2:
					x = a[5:6]
				}
				got, want := make([]bool, n-1), make([]bool, n-1)
				if !compareNative(d, op, got, x, y) {
					continue
				}
				plain(want, x, y)
				for i := range got {
					if got[i] != want[i] {
						t.Fatalf("operator %d, side %d, length %d: %v and %v give %v", op, side, n-1, at(x, i), at(y, i), got[i])
					}
				}
			}
		}
	}
}

// TestNativeMeasures holds vectors measured in C against the same in Go, of every length up to some
// and of every pair of dtypes.
func TestNativeMeasures(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 2))
	dtypes := []tensor.DType{tensor.Float32, tensor.Float64, tensor.Int8, tensor.Uint8, tensor.Int32}
	names := map[string]measure{"DOT": dot, "COSINE_SIMILARITY": cosine, "L1_DISTANCE": l1Apart, "L2_DISTANCE": l2Apart, "LINF_DISTANCE": linfApart,
		"HAMMING_DISTANCE": unequal}
	for name, m := range names {
		for _, d := range dtypes {
			for _, e := range dtypes {
				for _, n := range []int{1, 7, 16, 31, 64, 100, 771} {
					const rows = 70
					x, y := arraytest.RandomRows(r, d, rows, n), arraytest.RandomRows(r, e, rows, n)
					one := array.Constant(y.Type, y.Slice(3, 4), rows)
					for _, other := range []*array.Column{y, one} {
						got, err := Find(name).Apply(x, other)
						if err != nil {
							t.Fatal(err)
						}
						u, v := array.As[float64](x.Data), array.As[float64](other.Data)
						for i := range rows {
							lo, hi := x.Span(i)
							from, to := other.Span(i)
							a, b := u[lo:hi], v[from:to]
							if s := far(measured(m, d == tensor.Uint8 && e == d, a, b), array.AsFloat(got.Value(i))); s {
								t.Fatalf("%s of %s and %s, %d elements, row %d: %v, want %v", name, d, e, n, i, got.Value(i), measured(m, d == tensor.Uint8 && e == d, a, b))
							}
						}
					}
				}
			}
		}
	}
}

func far(a, b float64) bool {
	if a != a || b != b {
		return cmp.Compare(a, b) != 0
	}
	return math.Abs(a-b) > 1e-9*(1+math.Abs(a))
}

func measured(m measure, bytes bool, a, b []float64) float64 {
	if m != unequal {
		return measureFloats(m, a, b)
	}
	if !bytes {
		return float64(different(a, b))
	}
	n := 0.0
	for i := range a {
		for v := uint8(a[i]) ^ uint8(b[i]); v != 0; v &= v - 1 {
			n++
		}
	}
	return n
}

// TestLargeBytes has products that 32 bits cannot hold together.
func TestLargeBytes(t *testing.T) {
	const n = 100000
	v, w := make([]uint8, n), make([]int8, n)
	for i := range v {
		v[i], w[i] = 255, -128
	}
	for _, c := range []*array.Column{array.FromArrays(array.Type{DType: tensor.Uint8}, tensor.Shape{n}, v, nil), array.FromArrays(array.Type{DType: tensor.Int8}, tensor.Shape{n}, w, nil)} {
		got, err := Find("DOT").Apply(c, c)
		one := array.As[int64](c.Data)[0]
		if err != nil || got.Value(0) != n*one*one {
			t.Errorf("%s: %s, want %d", c.DType, arraytest.Show(got, err), n*one*one)
		}
	}
}

func TestNorms(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 3))
	for name, m := range map[string]measure{"L1_NORM": l1, "L2_NORM": l2, "LINF_NORM": linf} {
		for _, d := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.Int8} {
			for _, n := range []int{1, 5, 40, 333} {
				x := arraytest.RandomRows(r, d, 20, n)
				got, err := Find(name).Apply(x)
				if err != nil {
					t.Fatal(err)
				}
				for i := range 20 {
					if want := normOf(array.As[float64](x.Data)[i*n:(i+1)*n], m); far(want, array.AsFloat(got.Value(i))) {
						t.Fatalf("%s of %d %s: %v, want %v", name, n, d, got.Value(i), want)
					}
				}
			}
		}
	}
	nan := array.FromArrays(array.Type{DType: tensor.Float32}, tensor.Shape{100}, append(make([]float32, 99), float32(math.NaN())), nil)
	for _, name := range []string{"L1_NORM", "L2_NORM", "LINF_NORM"} {
		if got, err := Find(name).Apply(nan); err != nil || got.Value(0).(float64) == got.Value(0).(float64) {
			t.Errorf("%s with NaN: %s", name, arraytest.Show(got, err))
		}
	}
}

func TestPick(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for n := range 300 {
		for _, share := range []int{1, 2, 20} {
			d := make([]bool, n+3)
			for i := range d {
				d[i] = r.IntN(share) == 0
			}
			d = d[r.IntN(3):][:n]
			var want []int
			for i, v := range d {
				if v {
					want = append(want, i)
				}
			}
			if got := Pick(array.FromBools(d, nil)); !slices.Equal(got, want) {
				t.Fatalf("%v: %v", d, got)
			}
			null := make([]bool, n)
			for i := range null {
				null[i] = r.IntN(3) == 0
			}
			want = slices.DeleteFunc(want, func(i int) bool { return null[i] })
			if got := Pick(array.FromBools(d, null)); !slices.Equal(got, want) {
				t.Fatalf("%v, NULL %v: %v", d, null, got)
			}
		}
	}
}
