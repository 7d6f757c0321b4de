package tensor

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"testing"
)

// put stores a number as an element of d. It returns false where d does not hold it exactly.
func put(d DType, v *big.Float) ([]byte, bool) {
	exact := func(f float64, same bool) bool { return same && new(big.Float).SetFloat64(f).Cmp(v) == 0 }
	f, acc := v.Float64()
	le := binary.LittleEndian
	whole, _ := v.Int(nil)
	isInt := v.IsInt()
	switch d {
	case Bool:
		return []byte{byte(whole.Int64())}, isInt && (whole.Int64() == 0 || whole.Int64() == 1) && whole.IsInt64()
	case Float16:
		bits := ToHalf(f)
		return le.AppendUint16(nil, bits), acc == big.Exact && exact(float64(Half(bits)), !math.IsInf(float64(Half(bits)), 0))
	case BFloat16:
		bits := ToBrain(float32(f))
		return le.AppendUint16(nil, bits), acc == big.Exact && exact(float64(Brain(bits)), !math.IsInf(float64(Brain(bits)), 0))
	case Float32:
		return le.AppendUint32(nil, math.Float32bits(float32(f))), acc == big.Exact && float64(float32(f)) == f
	case Float64:
		return le.AppendUint64(nil, math.Float64bits(f)), acc == big.Exact
	case Complex64:
		return append(le.AppendUint32(nil, math.Float32bits(float32(f))), 0, 0, 0, 0), acc == big.Exact && float64(float32(f)) == f
	case Complex128:
		return append(le.AppendUint64(nil, math.Float64bits(f)), make([]byte, 8)...), acc == big.Exact
	}
	size := d.Size()
	low, high := new(big.Int), new(big.Int).Lsh(big.NewInt(1), uint(8*size))
	if d >= Int8 {
		low.Neg(high.Rsh(high, 1))
	}
	if !isInt || whole.Cmp(low) < 0 || whole.Cmp(high) >= 0 {
		return nil, false
	}
	bits := new(big.Int).And(whole, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	return le.AppendUint64(nil, bits)[:size], true
}

// TestConvert converts numbers between all dtypes, against arithmetic of any precision.
func TestConvert(t *testing.T) {
	t.Parallel()
	var numbers []*big.Float
	for _, bits := range []uint{0, 1, 7, 8, 10, 11, 15, 16, 24, 31, 32, 53, 62, 63, 64} {
		for _, d := range []int64{-1, 0, 1} {
			n := new(big.Int).Add(new(big.Int).Lsh(big.NewInt(1), bits), big.NewInt(d))
			numbers = append(numbers, new(big.Float).SetInt(n))
			if n.Sign() != 0 {
				numbers = append(numbers, new(big.Float).SetInt(new(big.Int).Neg(n)))
			}
		}
	}
	for _, f := range []float64{0.1, 0.5, 1.0 / 3, 65504, 65520, 1e-30, 1e30, 1e300, 5e-324, 6e-8, math.MaxFloat32} {
		numbers = append(numbers, big.NewFloat(f), big.NewFloat(-f))
	}
	for _, from := range DTypes() {
		for _, to := range DTypes() {
			if !from.Fixed() || !to.Fixed() || !to.Takes(from) {
				continue
			}
			for _, v := range numbers {
				data, ok := put(from, v)
				if !ok {
					continue
				}
				want, exact := put(to, v)
				f, _ := v.Float64()
				if from.IsFloat() || from.IsComplex() { // rounded, if it stays finite
					limit := map[DType]float64{Float16: 65520, BFloat16: 3.3961775292304957e38, Float32: 3.4028235677973366e38, Complex64: 3.4028235677973366e38}[to]
					exact = limit == 0 || math.Abs(f) < limit
				}
				// an element before it, so that the index counts
				zero, _ := put(from, new(big.Float))
				out, bad := Convert(to, from, append(append([]byte{}, zero...), data...))
				if exact != (bad < 0) || bad == 0 {
					t.Errorf("%s to %s: %s has bad = %d, want exact = %v", from, to, v.Text('g', 20), bad, exact)
				} else if exact && string(out[to.Size():]) != string(want) {
					t.Errorf("%s to %s: %s is % x, want % x", from, to, v.Text('g', 20), out[to.Size():], want)
				}
			}
		}
	}
}

func TestConvertKeepsNaNAndInfinity(t *testing.T) {
	t.Parallel()
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		data := binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
		for _, to := range []DType{Float16, BFloat16, Float32} {
			out, bad := Convert(to, Float64, data)
			if got := floats(to, out)[0]; bad >= 0 || got != v && got == got || math.IsNaN(v) != math.IsNaN(got) {
				t.Errorf("%v becomes %v in %s", v, got, to)
			}
		}
	}
}

// TestConvertOfUnalignedBytes: arrays of a caller may begin at any address.
func TestConvertOfUnalignedBytes(t *testing.T) {
	t.Parallel()
	data := make([]byte, 17)
	copy(data[1:], binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 7), 300))
	if out, bad := Convert(Uint16, Int64, data[1:]); bad >= 0 || fmt.Sprint(out) != "[7 0 44 1]" {
		t.Errorf("%v, bad %d", out, bad)
	}
}

func TestTakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		to, from DType
		want     bool
	}{
		{Uint8, Bool, true}, {Bool, Uint8, true}, {Float32, Int64, true}, {Complex64, Int8, true},
		{Int64, Float32, false}, {Bool, Float32, false}, {Float16, Float64, true}, {Float32, Complex64, false},
		{Complex64, Complex128, true}, {String, Uint8, false}, {Uint8, Bytes, false}, {JSON, JSON, false},
	} {
		if got := c.to.Takes(c.from); got != c.want {
			t.Errorf("%s takes %s: %v", c.to, c.from, got)
		}
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, want DType }{
		{Uint8, Uint8, Uint8}, {Uint8, Int8, Int16}, {Bool, Float32, Float32}, {Uint16, Float32, Float32}, {Int32, Float32, Float64},
		{Int64, Float64, Float64}, {Uint64, Int64, Uint64}, {Int64, Uint64, Int64}, {Uint32, Int8, Int64}, {Float16, BFloat16, Float32},
		{Float64, Complex64, Complex128}, {Float32, Complex64, Complex64}, {Int8, Float16, Float16}, {Uint8, BFloat16, BFloat16}, {Int64, Float32, Float64},
	} {
		if got := Join(c.a, c.b); got != c.want {
			t.Errorf("%s and %s join to %s, want %s", c.a, c.b, got, c.want)
		}
	}
}
