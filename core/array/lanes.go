package array

// Lane gives the elements [lo, hi) of a column as T; scratch has room for them if they need
// converting.
type Lane[T any] func(lo, hi int, scratch []T) []T

// Direct reads elements that need no conversion.
func Direct[T any](d []T) Lane[T] { return func(lo, hi int, _ []T) []T { return d[lo:hi:hi] } }

func widen[T, S Number](d []S) Lane[T] {
	return func(lo, hi int, scratch []T) []T {
		d, out := d[lo:hi], scratch[:hi-lo]
		for i, v := range d {
			out[i] = T(v)
		}
		return out
	}
}

func fromBools[T Number](d []bool) Lane[T] {
	return func(lo, hi int, scratch []T) []T {
		d, out := d[lo:hi], scratch[:hi-lo]
		for i, v := range d {
			out[i] = 0
			if v {
				out[i] = 1
			}
		}
		return out
	}
}

// Lanes reads numbers as T. The caller avoids values that T cannot hold.
func Lanes[T Number](data any) Lane[T] {
	if d, ok := data.([]T); ok {
		return Direct(d)
	}
	switch d := data.(type) {
	case []bool:
		return fromBools[T](d)
	case []uint8:
		return widen[T](d)
	case []uint16:
		return widen[T](d)
	case []uint32:
		return widen[T](d)
	case []uint64:
		return widen[T](d)
	case []int8:
		return widen[T](d)
	case []int16:
		return widen[T](d)
	case []int32:
		return widen[T](d)
	case []int64:
		return widen[T](d)
	case []float32:
		return widen[T](d)
	case []float64:
		return widen[T](d)
	}
	return Direct[T](nil)
}

// As gives every element as T, without a copy where they are T.
func As[T Number](data any) []T {
	n := 0
	if v := vectorOf(data); v != nil {
		n = v.Len()
	}
	if d, ok := data.([]T); ok {
		return d
	}
	return Lanes[T](data)(0, n, make([]T, n))
}

// Map computes every element of a column by itself, in blocks; NULL rows are left zero.
func Map[A, R Element](w *Work, t Type, x *Column, a Lane[A], f func(dst []R, a []A)) *Column {
	if x.DType == 0 {
		return Nothing(t, x.N)
	}
	out := *x
	out.Type = t
	lo, n := 0, x.Elements()
	if x.Shapes != nil {
		lo = x.Starts[0]
	}
	dst, ok := Room[R](w, n)
	if !ok {
		return Nothing(t, x.N)
	}
	scratch := make([]A, Block)
	for at := 0; at < n && w.Step(Block); at += Block {
		end := min(at+Block, n)
		f(dst[at:end], a(lo+at, lo+end, scratch))
	}
	if lo > 0 {
		out.Starts = make([]int, len(x.Starts))
		for i, s := range x.Starts {
			out.Starts[i] = s - lo
		}
	}
	out.Data = dst
	return out.ZeroNulls()
}
