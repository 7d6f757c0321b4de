package loader

import (
	"slices"
	"testing"

	"deeplake/core/order"
)

// Batches have the drawn rows, repeated draws included.
func TestLoaderDraws(t *testing.T) {
	t.Parallel()
	const rows = 300
	values := make([]float64, rows)
	for i := range values {
		values[i] = float64(i % 5)
	}
	for _, o := range []Options{{}, {Shuffle: order.Window, Length: 1000}, {Distinct: true, Length: 77}} {
		o.BatchSize, o.Weights, o.ReturnIndex, o.CollateOf = 32, weigh(t, values...), true, fakeCollate()
		l := open(t, fakeSet(rows), o)
		want := drawsOf(l.order, 2)
		got := flat(drain(t, fakeSet(rows), l.options, start(t, l, 2)))
		if !slices.Equal(got, want) {
			t.Errorf("%+v: rows %v, want %v", l.order.Order(), got, want)
		}
	}
}

func weigh(t testing.TB, values ...float64) *order.Weights {
	t.Helper()
	w, err := order.NewWeights(values)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// newOrder returns an order of so many rows.
func newOrder(t testing.TB, kind string, rows int64, seed uint64, rowBytes, windowBytes int64) *order.EpochOrder {
	t.Helper()
	c, err := order.New(order.Options{Shuffle: kind, Seed: seed, ShuffleBytes: windowBytes}, rows, rowBytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// drawsOf returns the rows of an epoch in order.
func drawsOf(c *order.EpochOrder, epoch uint64) []int64 {
	rows := make([]int64, c.Order().Rows)
	c.Cursor(epoch).Fill(rows, 0)
	return rows
}

// onceEach fails unless rows holds each of [0, len(rows)) once.
func onceEach(t *testing.T, rows []int64, what any) {
	t.Helper()
	seen := make([]bool, len(rows))
	for pos, r := range rows {
		if r < 0 || r >= int64(len(rows)) || seen[r] {
			t.Fatalf("%+v: position %d gives row %d, outside or a second time", what, pos, r)
		}
		seen[r] = true
	}
}
