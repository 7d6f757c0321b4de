package pca

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// blocksOf gives vectors in blocks of a few.
func blocksOf(all []float64, dim int) Blocks {
	return func(ctx context.Context, use func([]float64)) error {
		for at := 0; at < len(all); at += 7 * dim {
			if err := ctx.Err(); err != nil {
				return err
			}
			use(append([]float64{}, all[at:min(at+7*dim, len(all))]...))
		}
		return nil
	}
}

// TestKnownComponents has vectors along two orthogonal directions, whose variances are known.
func TestKnownComponents(t *testing.T) {
	t.Parallel()
	for _, dim := range []int{1, 2, 5, 300, 1024, 1025, 1500} {
		first, second := make([]float64, dim), make([]float64, dim)
		first[0] = 1
		if dim > 1 {
			first[0], first[1] = -0.6, -0.8
			second[0], second[1] = -0.8, 0.6
		}
		var all []float64
		const n = 40
		for k := range n {
			a, b := 3.0, 1.0
			if k%2 == 0 {
				a = -3
			}
			if k%4 < 2 {
				b = -1
			}
			for i := range dim {
				all = append(all, 5+a*first[i]+b*second[i])
			}
		}
		r, err := Fit(t.Context(), dim, n, blocksOf(all, dim))
		if err != nil {
			t.Fatal(err)
		}
		want := [2]float64{9, 1}
		if dim == 1 {
			want[1] = 0
		}
		for k := range want {
			if math.Abs(r.Variance[k]-want[k]) > 1e-9 {
				t.Errorf("dim %d: variance %d is %v, want %v", dim, k, r.Variance[k], want[k])
			}
		}
		if math.Abs(r.Total-want[0]-want[1]) > 1e-9 {
			t.Errorf("dim %d: all variance is %v, want %v", dim, r.Total, want[0]+want[1])
		}
		if dim > 1 && (math.Abs(r.Axes[0][1]-0.8) > 1e-9 || math.Abs(r.Axes[1][0]-0.8) > 1e-9) {
			t.Errorf("dim %d: axes begin with %v and %v; the greatest element of each is positive", dim, r.Axes[0][:2], r.Axes[1][:2])
		}
	}
}

// TestAxesAreEigenvectors checks C a = s a on vectors without structure.
func TestAxesAreEigenvectors(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	const dim, n = 30, 500
	all := make([]float64, dim*n)
	for i := range all {
		all[i] = random.NormFloat64() * (1 + float64(i%dim)/10)
	}
	r, err := Fit(t.Context(), dim, n, blocksOf(all, dim))
	if err != nil {
		t.Fatal(err)
	}
	for k, axis := range r.Axes {
		got := make([]float64, dim)
		for at := 0; at < len(all); at += dim {
			by := 0.0
			for i := range dim {
				by += (all[at+i] - r.Mean[i]) * axis[i] / n
			}
			for i := range dim {
				got[i] += by * (all[at+i] - r.Mean[i])
			}
		}
		for i := range dim {
			if math.Abs(got[i]-r.Variance[k]*axis[i]) > 1e-5 {
				t.Fatalf("component %d: C a = %v at %d, want %v", k, got[i], i, r.Variance[k]*axis[i])
			}
		}
	}
	if math.Abs(dot(r.Axes[0], r.Axes[1])) > 1e-9 || r.Variance[0] < r.Variance[1] {
		t.Errorf("axes have the product %v and variances %v", dot(r.Axes[0], r.Axes[1]), r.Variance)
	}
}

func TestNoVariance(t *testing.T) {
	t.Parallel()
	r, err := Fit(t.Context(), 3, 4, blocksOf([]float64{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}, 3))
	if err != nil {
		t.Fatal(err)
	}
	if r.Variance != [2]float64{} || r.Total != 0 || r.Project([]float64{9, 9, 9}) != [2]float64{} {
		t.Errorf("equal vectors: %+v", r)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Fit(ctx, 1, 8, blocksOf(make([]float64, 8), 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkFit(b *testing.B) {
	random := rand.New(rand.NewPCG(5, 6))
	const dim, n = 512, 4096
	all := make([]float64, dim*n)
	for i := range all {
		all[i] = random.NormFloat64()
	}
	b.SetBytes(dim * n * 4)
	for b.Loop() {
		if _, err := Fit(b.Context(), dim, n, blocksOf(all, dim)); err != nil {
			b.Fatal(err)
		}
	}
}
