package loader

import (
	"testing"

	"deeplake/core/order"
	"deeplake/core/tensor"
)

// TestWindowsOfCompressedSamples: a window has no more rows than blocks of them fit into the cache.
// Other orders do not change.
func TestWindowsOfCompressedSamples(t *testing.T) {
	t.Parallel()
	const rows = 1 << 20
	source := func(blocks int64) *fake {
		return newFake(rows, &fakeColumn{name: "x", dtype: tensor.Int64, shape: fixedShape(), blocks: blocks})
	}
	window := func(o Options, f *fake) int64 {
		t.Helper()
		o.BatchSize = 32
		o, err := o.normal()
		if err != nil {
			t.Fatal(err)
		}
		made, err := newEpochOrder(t.Context(), SourceOf(f), &o)
		if err != nil {
			t.Fatal(err)
		}
		return made.Order().WindowBlocks * made.Order().BlockRows
	}
	shuffled := Options{Shuffle: order.Window}
	plain := window(shuffled, source(0)) // 1,000 stored bytes a row
	if plain < 400_000 || window(shuffled, source(unpackedWindow)) != plain {
		t.Errorf("a window has %d rows, and %d whose blocks fit", plain, window(shuffled, source(unpackedWindow)))
	}
	for _, times := range []int64{8, 64} {
		got, most := window(shuffled, source(times*unpackedWindow)), rows/times
		if got > most || got < most*9/10 {
			t.Errorf("%d times the cache: a window has %d rows, want about %d", times, got, most)
		}
	}
	if window(Options{Shuffle: order.Full}, source(64*unpackedWindow)) != window(Options{Shuffle: order.Full}, source(0)) {
		t.Error("an order without windows changes")
	}
}
