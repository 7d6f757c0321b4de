package array

import (
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// kernel computes dst of a and b, each as long as dst or a single value.
type kernel[A, R any] func(dst []R, a, b []A)

// zipper is what zip works with: two columns whose rows meet, element by element.
type zipper[A, R element] struct {
	what string
	x, y *Column
	a, b lane[A]
	n    int
	t    Type
	f    kernel[A, R]
	sa   []A
	sb   []A
}

// zip computes one column of two, row by row and broadcast as NumPy does. a and b read the elements
// of x and y.
func zip[A, R element](what string, t Type, x, y *Column, a, b lane[A], f kernel[A, R]) (*Column, error) {
	n, constant := rowsOf(x, y)
	z := &zipper[A, R]{what: what, x: x, y: y, a: a, b: b, n: n, t: t, f: f, sa: make([]A, block), sb: make([]A, block)}
	if constant {
		z.x, z.y, z.n = x.once(), y.once(), 1
	}
	if x.DType == 0 || y.DType == 0 {
		return Nothing(t, n), nil
	}
	z.a, z.b = hold(z.x, a), hold(z.y, b)
	out, err := z.run()
	if err != nil {
		return nil, err
	}
	if constant {
		out = out.repeated(n)
	}
	return out, nil
}

// hold converts a constant once.
func hold[A any](c *Column, l lane[A]) lane[A] {
	if !c.Const {
		return l
	}
	lo, hi := c.span(0)
	if c.IsNull(0) {
		return l
	}
	v := l(lo, hi, make([]A, hi-lo))
	return func(from, to int, _ []A) []A { return v[from-lo : to-lo] }
}

func (z *zipper[A, R]) run() (*Column, error) {
	x, y := z.x, z.y
	out := &Column{Type: z.t, N: z.n, Null: anyNull(z.n, x, y)}
	if !x.uniform() || !y.uniform() {
		return z.ragged(out)
	}
	same, ok := spread(x.Same, y.Same)
	if !ok {
		for i := range z.n {
			if out.Null == nil || !out.Null[i] {
				return nil, inRow(errs.Type, i, "%s of row %d: the shapes %s and %s do not fit each other", z.what, here, x.Same, y.Same)
			}
		}
		return Nothing(z.t, z.n), nil
	}
	if z.n > 0 {
		if err := room(z.what, 0, same, z.t.DType); err != nil {
			return nil, err
		}
	}
	k, kx, ky := elements(same), x.each(), y.each()
	if err := withinBatch(z.what, z.n*k, z.t.DType, x, y); err != nil {
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
	case kx == k && ky == k && k <= block/4:
		z.tiled(dst, k)
	default:
		for i := range z.n {
			z.row(dst[i*k:(i+1)*k], same, i)
		}
	}
	return out.blank(), nil
}

// blocks runs the kernel over elements that stand in the same order, or against a single one.
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
	for at := 0; at < n; at += block {
		end := min(at+block, n)
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
	many := block / k * k
	repeat := func(l lane[A]) []A {
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
	for at := 0; at < len(dst); at += many {
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
	alo, ahi := z.x.span(i)
	blo, bhi := z.y.span(i)
	n := len(dst)
	if n == 0 {
		return
	}
	if (ahi-alo == n || ahi-alo == 1) && (bhi-blo == n || bhi-blo == 1) {
		z.blocks(dst, alo, ahi, blo, bhi)
		return
	}
	a := broadcast(z.a(alo, ahi, make([]A, ahi-alo)), z.x.ShapeAt(i), shape)
	b := broadcast(z.b(blo, bhi, make([]A, bhi-blo)), z.y.ShapeAt(i), shape)
	z.f(dst, a, b)
}

func (z *zipper[A, R]) ragged(out *Column) (*Column, error) {
	out.Shapes, out.Starts = make([]tensor.Shape, z.n), make([]int, z.n+1)
	for i := range z.n {
		if out.Null == nil || !out.Null[i] {
			a, b := z.x.ShapeAt(i), z.y.ShapeAt(i)
			s, ok := spread(a, b)
			if !ok {
				return nil, inRow(errs.Type, i, "%s of row %d: the shapes %s and %s do not fit each other", z.what, here, a, b)
			}
			if err := room(z.what, i, s, z.t.DType); err != nil {
				return nil, err
			}
			out.Shapes[i] = s
			out.Starts[i+1] = elements(s)
		}
		out.Starts[i+1] += out.Starts[i]
	}
	if err := withinBatch(z.what, out.Starts[z.n], z.t.DType, z.x, z.y); err != nil {
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
func broadcast[T any](v []T, from, to tensor.Shape) []T {
	n := elements(to)
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

// each1 computes every element of a column by itself, in blocks; NULL rows are left zero.
func each1[A, R element](t Type, x *Column, a lane[A], f func(dst []R, a []A)) *Column {
	if x.DType == 0 {
		return Nothing(t, x.N)
	}
	out := *x
	out.Type = t
	lo, n := 0, x.total()
	if x.Shapes != nil {
		lo = x.Starts[0]
	}
	dst := make([]R, n)
	scratch := make([]A, block)
	for at := 0; at < n; at += block {
		end := min(at+block, n)
		f(dst[at:end], a(lo+at, lo+end, scratch))
	}
	if lo > 0 {
		out.Starts = make([]int, len(x.Starts))
		for i, s := range x.Starts {
			out.Starts[i] = s - lo
		}
	}
	out.Data = dst
	return out.blank()
}
