// Package pca finds the principal components of vectors that come in blocks. It holds sums alone,
// never all vectors, and returns the same bits for the same blocks. It does no I/O.
package pca

import (
	"context"
	"math"
	"math/rand/v2"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
)

// Components is the number of coordinates of each vector.
const Components = 2

// The bounds of the two ways: exactDim bounds the covariance, of exactDim² numbers. The other way
// holds sketch vectors.
const (
	exactDim  = 1024
	sketch    = 16
	powers    = 4
	maxSweeps = 500
)

// Blocks calls use with all vectors, block after block in the same order at every call: n vectors
// of dim numbers, all finite. The values may be overwritten after use returns.
type Blocks func(ctx context.Context, use func(values []float64)) error

// Result is a projection onto the first components.
type Result struct {
	Mean       []float64
	Axes       [Components][]float64 // of length 1, orthogonal; 0 where there is no variance
	Variance   [Components]float64
	Total      float64 // of all components
	Iterations int     // passes over the vectors
}

// Fit finds the components of count vectors: by their covariance up to 1,024 dimensions, else by
// subspace iteration on a random start, the randomised range finder of Halko, Martinsson and Tropp,
// "Finding structure with randomness" (SIAM Review 53, 2011, algorithm 4.4). The element of an axis
// that is greatest in size is positive.
func Fit(ctx context.Context, dim, count int, blocks Blocks) (*Result, error) {
	if dim < 1 || count < 1 {
		return nil, errs.Op("find components", "").New(errs.Invalid, "%d vectors of %d numbers, want at least one of each", count, dim)
	}
	r := &Result{Mean: make([]float64, dim)}
	err := r.pass(ctx, blocks, func(values []float64) {
		for at := 0; at < len(values); at += dim {
			for i, v := range values[at : at+dim] {
				r.Mean[i] += v
			}
		}
	})
	if err != nil {
		return nil, err
	}
	for i := range r.Mean {
		r.Mean[i] /= float64(count)
	}
	if dim <= exactDim {
		err = r.exact(ctx, dim, count, blocks)
	} else {
		err = r.randomised(ctx, dim, count, blocks)
	}
	if err != nil {
		return nil, err
	}
	for k := range r.Axes {
		orient(r.Axes[k])
	}
	return r, nil
}

func (r *Result) pass(ctx context.Context, blocks Blocks, use func(values []float64)) error {
	r.Iterations++
	return blocks(ctx, use)
}

// Project returns the coordinates of a vector.
func (r *Result) Project(v []float64) [Components]float64 {
	var out [Components]float64
	for k, axis := range r.Axes {
		for i, x := range v {
			out[k] += (x - r.Mean[i]) * axis[i]
		}
	}
	return out
}

// exact sums the covariance, and finds its first eigenvectors.
func (r *Result) exact(ctx context.Context, dim, count int, blocks Blocks) error {
	c := make([]float64, dim*dim)
	err := r.pass(ctx, blocks, func(values []float64) {
		for at := 0; at < len(values); at += dim {
			for i := range dim {
				values[at+i] -= r.Mean[i]
			}
		}
		addOuter(ctx, c, values, dim)
	})
	if err != nil {
		return err
	}
	for i := range dim {
		for j := range i {
			c[i*dim+j] = c[j*dim+i]
		}
		r.Total += c[i*dim+i] / float64(count)
	}
	q := start(dim, min(sketch, dim))
	values := r.iterate(q, dim, func(from, to [][]float64) {
		for k := range from {
			for i := range dim {
				to[k][i] = dot(c[i*dim:(i+1)*dim], from[k]) / float64(count)
			}
		}
	})
	return r.keep(ctx, q, values)
}

// addOuter adds the upper half of the sum of outer products. Each thread has rows of the sum, so
// that the sums are the same for any number of threads.
func addOuter(ctx context.Context, c, values []float64, dim int) {
	const rows = 32
	threads := task.New(ctx, task.Cores())
	for from := 0; from < dim; from += rows {
		threads.Go(func(context.Context) error {
			addRows(c, values, dim, from, min(from+rows, dim))
			return nil
		})
	}
	_ = threads.Wait() // the end of the context shows at the next block
}

// addRows adds rows [from, to) of the sum. Four vectors are added at a time, so that a row is
// loaded once for them.
func addRows(c, values []float64, dim, from, to int) {
	at := 0
	for ; at+4*dim <= len(values); at += 4 * dim {
		v := values[at : at+4*dim]
		for i := from; i < to; i++ {
			a, b, d, e := v[i], v[dim+i], v[2*dim+i], v[3*dim+i]
			row := c[i*dim+i : (i+1)*dim]
			p, q, s, t := v[i:dim], v[dim+i:2*dim], v[2*dim+i:3*dim], v[3*dim+i:4*dim]
			p, q, s, t = p[:len(row)], q[:len(row)], s[:len(row)], t[:len(row)]
			for j := range row {
				row[j] += a*p[j] + b*q[j] + d*s[j] + e*t[j]
			}
		}
	}
	for ; at < len(values); at += dim {
		v := values[at : at+dim]
		for i := from; i < to; i++ {
			row, a := c[i*dim:(i+1)*dim], v[i]
			for j := i; j < dim; j++ {
				row[j] += a * v[j]
			}
		}
	}
}

// iterate multiplies a basis until its eigenvalues stand still, and returns them.
func (r *Result) iterate(q [][]float64, dim int, multiply func(from, to [][]float64)) []float64 {
	next := make([][]float64, len(q))
	for k := range next {
		next[k] = make([]float64, dim)
	}
	var before, values []float64
	for range maxSweeps {
		multiply(q, next)
		values = rotate(q, next)
		for k := range q {
			copy(q[k], next[k])
		}
		orthonormal(q)
		if before != nil && still(before, values) {
			break
		}
		before = values
	}
	multiply(q, next)
	return rotate(q, next)
}

// still reports whether the first eigenvalues have converged.
func still(before, now []float64) bool {
	for k := range min(Components, len(now)) {
		if math.Abs(now[k]-before[k]) > 1e-13*math.Abs(now[0]) {
			return false
		}
	}
	return true
}

// randomised passes over the vectors once for each power.
func (r *Result) randomised(ctx context.Context, dim, count int, blocks Blocks) error {
	q := start(dim, sketch)
	next := make([][]float64, len(q))
	var values []float64
	for range powers {
		for k := range next {
			next[k] = make([]float64, dim)
		}
		r.Total = 0
		err := r.pass(ctx, blocks, func(block []float64) {
			for at := 0; at < len(block); at += dim {
				v := block[at : at+dim]
				for i := range v {
					v[i] -= r.Mean[i]
				}
				r.Total += dot(v, v) / float64(count)
				for k := range q {
					by := dot(v, q[k]) / float64(count)
					for i, x := range v {
						next[k][i] += by * x
					}
				}
			}
		})
		if err != nil {
			return err
		}
		values = rotate(q, next)
		for k := range q {
			copy(q[k], next[k])
		}
		orthonormal(q)
	}
	return r.keep(ctx, q, values)
}

// keep takes the first vectors of a basis.
func (r *Result) keep(ctx context.Context, q [][]float64, values []float64) error {
	for k := range r.Axes {
		r.Axes[k] = make([]float64, len(r.Mean))
		if k < len(q) && values[k] > 1e-12*r.Total {
			copy(r.Axes[k], q[k])
			r.Variance[k] = values[k]
		}
	}
	if ctx.Err() != nil {
		return errs.Cause(ctx, "find components")
	}
	return nil
}

// start returns an orthonormal basis of random vectors, the same at every call.
func start(dim, count int) [][]float64 {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // no secret
	q := make([][]float64, count)
	for k := range q {
		q[k] = make([]float64, dim)
		for i := range q[k] {
			q[k][i] = random.NormFloat64()
		}
	}
	orthonormal(q)
	return q
}

// orthonormal makes a basis orthonormal (Gram and Schmidt, twice). A vector that depends on the
// others becomes 0.
func orthonormal(q [][]float64) {
	for k := range q {
		before := math.Sqrt(dot(q[k], q[k]))
		for range 2 {
			for j := range k {
				by := dot(q[k], q[j])
				for i := range q[k] {
					q[k][i] -= by * q[j][i]
				}
			}
		}
		length := math.Sqrt(dot(q[k], q[k]))
		if !(length > 1e-14*before) {
			clear(q[k])
			continue
		}
		for i := range q[k] {
			q[k][i] /= length
		}
	}
}

// rotate turns a basis q, and its product with a symmetric matrix, to the eigenvectors within its
// span, by falling eigenvalues, which it returns.
func rotate(q, product [][]float64) []float64 {
	n := len(q)
	small := make([]float64, n*n)
	for i := range n {
		for j := range n {
			small[i*n+j] = (dot(q[i], product[j]) + dot(q[j], product[i])) / 2
		}
	}
	values, vectors := eigen(small, n)
	for _, basis := range [][][]float64{q, product} {
		turned := make([][]float64, n)
		for k := range n {
			turned[k] = make([]float64, len(q[0]))
			for j := range n {
				by := vectors[j*n+k]
				for i, x := range basis[j] {
					turned[k][i] += by * x
				}
			}
		}
		for k := range n {
			copy(basis[k], turned[k])
		}
	}
	return values
}

// dot sums in four parts, which a processor adds at once.
func dot(a, b []float64) float64 {
	b = b[:len(a)]
	var s, t, u, v float64
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s += a[i] * b[i]
		t += a[i+1] * b[i+1]
		u += a[i+2] * b[i+2]
		v += a[i+3] * b[i+3]
	}
	for ; i < len(a); i++ {
		s += a[i] * b[i]
	}
	return s + t + u + v
}

// orient makes the element of a vector that is greatest in size positive.
func orient(v []float64) {
	at := 0
	for i := range v {
		if math.Abs(v[i]) > math.Abs(v[at]) {
			at = i
		}
	}
	if v[at] < 0 {
		for i := range v {
			v[i] = -v[i]
		}
	}
}
