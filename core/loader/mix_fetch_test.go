package loader

import (
	"testing"
	"testing/synctest"

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
		{"all fits", Options{Shuffle: order.Window}, 1.25, false},
		{"sequential", Options{FetchBytes: 40 << 20}, 1.2, false},
		{"windows", Options{Shuffle: order.Window, ShuffleBytes: 16 << 20, FetchBytes: 40 << 20}, 1.65, false},
		{"one is near", Options{Shuffle: order.Window, ShuffleBytes: 16 << 20, FetchBytes: 40 << 20}, 1.3, true},
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
