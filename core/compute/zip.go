package compute

import (
	"unsafe"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// kernel computes dst of a and b, each as long as dst or a single value.
type kernel[A, R any] func(dst []R, a, b []A)

// zipper is the state of zip, which pairs the rows of two columns, element by element.
type zipper[A, R array.Element] struct {
	w    *array.Work
	what string
	x, y *array.Column
	a, b array.Lane[A]
	n    int
	t    array.Type
	f    kernel[A, R]
	sa   []A
	sb   []A
}

// zip computes one column of two, row by row and broadcast as NumPy does. a and b read the elements
// of x and y.
func zip[A, R array.Element](w *array.Work, what string, t array.Type, x, y *array.Column, a, b array.Lane[A], f kernel[A, R]) (*array.Column, error) {
	n, constant := array.RowsOf(x, y)
	z := &zipper[A, R]{w: w, what: what, x: x, y: y, a: a, b: b, n: n, t: t, f: f, sa: make([]A, array.Block), sb: make([]A, array.Block)}
	if constant {
		z.x, z.y, z.n = x.OnlyRow(), y.OnlyRow(), 1
	}
	if x.DType == 0 || y.DType == 0 {
		return array.Nothing(t, n), nil
	}
	z.a, z.b = hold(z.x, a), hold(z.y, b)
	out, err := z.run()
	if err == nil {
		err = w.Err()
	}
	if err != nil {
		return nil, err
	}
	if constant {
		out = out.Repeat(n)
	}
	return out, nil
}

// hold converts a constant once.
func hold[A any](c *array.Column, l array.Lane[A]) array.Lane[A] {
	if !c.Const {
		return l
	}
	lo, hi := c.Span(0)
	if c.IsNull(0) {
		return l
	}
	v := l(lo, hi, make([]A, hi-lo))
	return func(from, to int, _ []A) []A { return v[from-lo : to-lo] }
}

func (z *zipper[A, R]) run() (*array.Column, error) {
	x, y := z.x, z.y
	out := &array.Column{Type: z.t, N: z.n, Null: array.AnyNull(z.n, x, y)}
	if !x.Uniform() || !y.Uniform() {
		return z.ragged(out)
	}
	same, ok := array.BroadcastShapes(x.Same, y.Same)
	if !ok {
		for i := range z.n {
			if out.Null == nil || !out.Null[i] {
				return nil, array.InRow(errs.Type, i, "%s of row %d: the shapes %s and %s do not fit each other", z.what, array.Here, x.Same, y.Same)
			}
		}
		return array.Nothing(z.t, z.n), nil
	}
	if z.n > 0 {
		if err := array.CheckRow(z.what, 0, same, z.t.DType); err != nil {
			return nil, err
		}
	}
	k, kx, ky := array.SizeOf(same), x.RowSize(), y.RowSize()
	if err := array.WithinBatch(z.w, z.what, z.n*k, z.t.DType, x, y); err != nil {
		return nil, err
	}
	dst := make([]R, z.n*k)
	out.Same, out.Data = append(tensor.Shape{}, same...), dst
	switch {
	case k == 0 || z.n == 0:
	case kx == k && ky == k && !x.Const && !y.Const:
		z.blocks(dst, 0, len(dst), 0, len(dst))
	case kx == k && !x.Const && y.Const && ky == 1:
		z.blocks(dst, 0, len(dst), 0, 1)
	case ky == k && !y.Const && x.Const && kx == 1:
		z.blocks(dst, 0, 1, 0, len(dst))
	case kx == k && ky == k && k <= array.Block/4:
		z.tiled(dst, k)
	default:
		for i := range z.n {
			z.row(dst[i*k:(i+1)*k], same, i)
		}
	}
	return out.ZeroNulls(), nil
}

// blocks runs the kernel over elements in the same order, or against a single element.
func (z *zipper[A, R]) blocks(dst []R, alo, ahi, blo, bhi int) {
	n := len(dst)
	one, two := ahi-alo == n, bhi-blo == n
	var a, b []A
	if !one {
		a = z.a(alo, ahi, z.sa)
	}
	if !two {
		b = z.b(blo, bhi, z.sb)
	}
	for at := 0; at < n && z.w.Step(2*array.Block); at += array.Block {
		end := min(at+array.Block, n)
		if one {
			a = z.a(alo+at, alo+end, z.sa)
		}
		if two {
			b = z.b(blo+at, blo+end, z.sb)
		}
		z.f(dst[at:end], a, b)
	}
}

// tiled repeats a short constant, so that many rows are one run.
func (z *zipper[A, R]) tiled(dst []R, k int) {
	many := array.Block / k * k
	repeat := func(l array.Lane[A]) []A {
		v, out := l(0, k, make([]A, k)), make([]A, 0, many)
		for len(out) < many {
			out = append(out, v...)
		}
		return out
	}
	var a, b []A
	if z.x.Const {
		a = repeat(z.a)
	}
	if z.y.Const {
		b = repeat(z.b)
	}
	for at := 0; at < len(dst) && z.w.Step(2*many); at += many {
		end := min(at+many, len(dst))
		va, vb := a, b
		if a == nil {
			va = z.a(at, end, z.sa)
		}
		if b == nil {
			vb = z.b(at, end, z.sb)
		}
		z.f(dst[at:end], va[:end-at], vb[:end-at])
	}
}

// row computes one row of any shapes.
func (z *zipper[A, R]) row(dst []R, shape tensor.Shape, i int) {
	alo, ahi := z.x.Span(i)
	blo, bhi := z.y.Span(i)
	n := len(dst)
	if n == 0 || !z.w.Step(rowSteps) {
		return
	}
	if (ahi-alo == n || ahi-alo == 1) && (bhi-blo == n || bhi-blo == 1) {
		z.blocks(dst, alo, ahi, blo, bhi)
		return
	}
	var one A
	if !z.w.Reserve(2*int64(n)*int64(unsafe.Sizeof(one))) || !z.w.Step(16*n) {
		return
	}
	a := broadcast(z.w, z.a(alo, ahi, make([]A, ahi-alo)), z.x.ShapeAt(i), shape)
	b := broadcast(z.w, z.b(blo, bhi, make([]A, bhi-blo)), z.y.ShapeAt(i), shape)
	z.f(dst, a, b)
}

// shapeBytes is the memory of a row of its own shape: the shape and where its elements begin.
const shapeBytes = 32

func (z *zipper[A, R]) ragged(out *array.Column) (*array.Column, error) {
	if !z.w.Reserve(shapeBytes * int64(z.n+1)) {
		return nil, z.w.Err()
	}
	out.Shapes, out.Starts = make([]tensor.Shape, z.n), make([]int, z.n+1)
	for i := range z.n {
		if out.Null == nil || !out.Null[i] {
			a, b := z.x.ShapeAt(i), z.y.ShapeAt(i)
			s, ok := array.BroadcastShapes(a, b)
			if !ok {
				return nil, array.InRow(errs.Type, i, "%s of row %d: the shapes %s and %s do not fit each other", z.what, array.Here, a, b)
			}
			if err := array.CheckRow(z.what, i, s, z.t.DType); err != nil {
				return nil, err
			}
			out.Shapes[i] = s
			out.Starts[i+1] = array.SizeOf(s)
		}
		out.Starts[i+1] += out.Starts[i]
	}
	if err := array.WithinBatch(z.w, z.what, out.Starts[z.n], z.t.DType, z.x, z.y); err != nil {
		return nil, err
	}
	dst := make([]R, out.Starts[z.n])
	out.Data = dst
	for i, s := range out.Shapes {
		z.row(dst[out.Starts[i]:out.Starts[i+1]], s, i)
	}
	return out, nil
}

// broadcast repeats v, of shape from, until it has the shape to.
func broadcast[T any](w *array.Work, v []T, from, to tensor.Shape) []T {
	n := array.SizeOf(to)
	if len(v) == n {
		return v
	}
	steps := make([]int, len(to)) // how far the next along an axis is in v
	step := 1
	for i := len(from) - 1; i >= 0; i-- {
		if from[i] != 1 {
			steps[len(to)-len(from)+i] = step
		}
		step *= int(from[i])
	}
	out := make([]T, n)
	at := make([]int64, len(to))
	src := 0
	for i := range out {
		if i%array.Block == 0 && !w.Step(4*array.Block) {
			break
		}
		out[i] = v[src]
		for d := len(to) - 1; d >= 0; d-- {
			at[d]++
			src += steps[d]
			if at[d] < to[d] {
				break
			}
			src -= steps[d] * int(at[d])
			at[d] = 0
		}
	}
	return out
}
