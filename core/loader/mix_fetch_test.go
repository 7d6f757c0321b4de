package loader

import (
	"slices"
	"testing"
	"testing/synctest"

	"deeplake/core/dataset"
	"deeplake/core/order"
)

// A mixture of remote views requests their bytes once, and not many more if the memory for
// prefetched bytes is too small for all. It prefetches nothing of a local view.
func TestMixFetchesItsViews(t *testing.T) {
	t.Parallel()
	l := plainRemoteSet(t)
	for _, c := range []struct {
		name string
		o    Options
		most float64 // of the bytes of the far views
		near bool    // the second view is
	}{
		{"all fits", Options{Shuffle: order.Window}, 1.15, false},
		{"sequential", Options{FetchBytes: 40 << 20}, 1.2, false},
		{"windows", Options{Shuffle: order.Window, ShuffleBytes: 16 << 20, FetchBytes: 40 << 20}, 1.1, false},
		{"one is near", Options{Shuffle: order.Window, ShuffleBytes: 16 << 20, FetchBytes: 40 << 20}, 1.1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := l.open(t)
				half := int64(plainRows / 2)
				one, err := v.Slice(0, half, 1)
				if err != nil {
					t.Fatal(err)
				}
				from, far := v, int64(plainRows)
				if c.near {
					from, far = l.local, half
				}
				two, err := from.Slice(half, plainRows, 1)
				if err != nil {
					t.Fatal(err)
				}
				m, err := NewMix([]Part{{SourceOf(one), "one"}, {SourceOf(two), "two"}}, nil, order.MixPolicy{})
				if err != nil {
					t.Fatal(err)
				}
				l.remote.reset()
				c.o.BatchSize, c.o.Workers = 128, 2
				ld := open2(t, m, c.o)
				defer ld.Close()
				e := start(t, ld, 0)
				defer e.Close()
				rows := 0
				for b := next(t, e); b != nil; b = next(t, e) {
					rows += b.Rows
					b.Release()
				}
				part := float64(l.remote.bytes["data"]) / float64(far*plainBytes)
				t.Logf("%d requests, %.2f of the bytes", l.remote.gets["data"], part)
				if rows != plainRows || part > c.most {
					t.Errorf("%d rows and %.2f of the bytes, want %d and at most %.2f", rows, part, plainRows, c.most)
				}
			})
		})
	}
}

// The batches of remote views in a mixture equal those of local ones, whether windows of views are
// fetched whole, do not fit, or turn out larger than the average row says.
func TestFetchedMixtureIsLocalMixture(t *testing.T) {
	t.Parallel()
	l := mixedRemoteSet(t, 300)
	mixture := func(v *dataset.View) Source {
		one, err := v.Slice(0, 200, 1)
		if err != nil {
			t.Fatal(err)
		}
		two, err := v.Slice(200, v.Len(), 1)
		if err != nil {
			t.Fatal(err)
		}
		m, err := NewMix([]Part{{SourceOf(one), "one"}, {SourceOf(two), "two"}}, nil, order.MixPolicy{Weights: []float64{0.4, 0.6}, Length: 400})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, c := range []struct {
		name          string
		window, fetch int64
	}{
		{"whole windows", 200 << 10, 500 << 10},
		{"windows do not fit", 200 << 10, 100 << 10},
		{"larger than estimated", 100 << 10, 200 << 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := mixedOptions()
			o.Shuffle, o.ShuffleBytes, o.FetchBytes = order.Window, c.window, c.fetch
			want, _ := epochOf(t, mixture(l.local), o, 2)
			synctest.Test(t, func(t *testing.T) {
				got, _ := epochOf(t, mixture(l.open(t)), o, 2)
				if !slices.Equal(got, want) {
					t.Errorf("%d batches differ from %d local ones", len(got), len(want))
				}
			})
		})
	}
}
