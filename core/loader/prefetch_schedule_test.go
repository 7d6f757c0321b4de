package loader

import (
	"fmt"
	"testing"

	"deeplake/core/order"
	"deeplake/core/read"
)

// TestInTurn: windows in random order list their bytes batch by batch. In the order of addresses,
// the batches of a window would be complete together at its end.
func TestInTurn(t *testing.T) {
	t.Parallel()
	const batch, limit = 64, 64 << 20
	for _, c := range []struct {
		kind   string
		bytes  int64
		inTurn bool
	}{{order.Full, 40_000, true}, {order.Full, 1000, false}, {order.Sequential, 40_000, false}} {
		f := filesOf{rows: 800_000_000 / c.bytes, bytes: c.bytes}
		o := newOrder(t, c.kind, f.rows, 0, f.bytes, DefaultShuffleBytes)
		share, other := o.Share(order.Pass{World: 1}, batch, order.TailExact), o.Share(order.Pass{World: 1}, batch, order.TailExact)
		r := newPrefetchSchedule(share, []read.Access{planned{f}.access()}, batch, limit, DefaultShuffleBytes)
		wide := 0
		for r.at < r.end {
			from := r.at
			to, lists := r.nextPart(t.Context())
			if batches := int((to - from + batch - 1) / batch); !c.inTurn {
				if len(lists) != 1 {
					t.Fatalf("%s, rows of %d bytes: a window of %d batches has %d lists, want one", c.kind, c.bytes, batches, len(lists))
				}
				continue
			} else if len(lists) != batches {
				t.Fatalf("a window of %d batches has %d lists", batches, len(lists))
			}
			wide = max(wide, len(lists))
			for k, spans := range lists {
				want, got := map[string]bool{}, map[string]bool{}
				for _, run := range other.Runs(from+int64(k)*batch, min(from+int64(k+1)*batch, to)) {
					for row := run[0]; row < run[1]; row++ {
						object, off := planned{f}.location(row)
						want[fmt.Sprint(object, " ", off)] = true
					}
				}
				for _, s := range spans {
					for off := s.Offset; off < s.Offset+s.Bytes; off += f.bytes {
						got[fmt.Sprint(s.Object, " ", off)] = true
					}
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("batch %d of the window at %d is listed with other bytes than its rows have", k, from)
				}
			}
		}
		if c.inTurn && wide < 4 {
			t.Errorf("the widest window has %d batches, want several", wide)
		}
	}
}

// TestFirstBatchAlone: where its rows lie in a small part of the chunks, the first batch of a
// window is requested before the others are planned, and the window goes on behind it.
func TestFirstBatchAlone(t *testing.T) {
	t.Parallel()
	const batch, limit = 64, 1 << 30
	f := filesOf{rows: 5000, bytes: 10_000}
	for _, c := range []struct {
		kind   string
		chunks int64
		first  int64
	}{
		{order.Window, 0, f.rows}, {order.Window, 255, f.rows}, {order.Window, 256, batch}, {order.Window, 1250, batch},
		{order.Full, 1250, 2 * batch}, {order.Sequential, 1250, 2 * batch},
	} {
		o := newOrder(t, c.kind, f.rows, 0, f.bytes, DefaultShuffleBytes)
		share := o.Share(order.Pass{World: 1}, batch, order.TailExact)
		column := planned{f}.access()
		column.Chunks = c.chunks
		r := newPrefetchSchedule(share, []read.Access{column}, batch, limit, DefaultShuffleBytes)
		first, spans := r.nextPart(t.Context())
		if bytes := unionBytes(spans[0]); first != c.first || bytes < first*f.bytes {
			t.Errorf("%s with %d chunks: the first window ends at %d with %d bytes, want %d", c.kind, c.chunks, first, bytes, c.first)
		}
		windows := 1
		for ; r.at < r.end; windows++ {
			r.nextPart(t.Context())
		}
		if c.kind == order.Window && windows > 2 {
			t.Errorf("%d windows, want two", windows)
		}
	}
}
