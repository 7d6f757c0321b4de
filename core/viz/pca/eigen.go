package pca

import (
	"math"
	"slices"
)

// eigen returns the eigenvalues of a small symmetric matrix, falling, and the eigenvectors as
// columns, by the rotations of Jacobi.
func eigen(a []float64, n int) ([]float64, []float64) {
	v := make([]float64, n*n)
	for i := range n {
		v[i*n+i] = 1
	}
	for range 60 {
		off, all := 0.0, 0.0
		for i := range n {
			for j := range n {
				all += a[i*n+j] * a[i*n+j]
				if i != j {
					off += a[i*n+j] * a[i*n+j]
				}
			}
		}
		if off <= 1e-32*all {
			break
		}
		for p := range n {
			for q := p + 1; q < n; q++ {
				jacobi(a, v, n, p, q)
			}
		}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case a[i*n+i] > a[j*n+j]:
			return -1
		case a[i*n+i] < a[j*n+j]:
			return 1
		}
		return 0
	})
	values, vectors := make([]float64, n), make([]float64, n*n)
	for k, from := range order {
		values[k] = a[from*n+from]
		for i := range n {
			vectors[i*n+k] = v[i*n+from]
		}
	}
	return values, vectors
}

// jacobi rotates the plane of p and q so that their element becomes 0.
func jacobi(a, v []float64, n, p, q int) {
	if a[p*n+q] == 0 {
		return
	}
	theta := (a[q*n+q] - a[p*n+p]) / (2 * a[p*n+q])
	t := 1 / (math.Abs(theta) + math.Sqrt(theta*theta+1))
	if theta < 0 {
		t = -t
	}
	c := 1 / math.Sqrt(t*t+1)
	s := t * c
	for k := range n {
		x, y := a[k*n+p], a[k*n+q]
		a[k*n+p], a[k*n+q] = c*x-s*y, s*x+c*y
	}
	for k := range n {
		x, y := a[p*n+k], a[q*n+k]
		a[p*n+k], a[q*n+k] = c*x-s*y, s*x+c*y
		x, y = v[k*n+p], v[k*n+q]
		v[k*n+p], v[k*n+q] = c*x-s*y, s*x+c*y
	}
}
