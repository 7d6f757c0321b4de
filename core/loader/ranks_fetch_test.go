package loader

import (
	"context"
	"testing"
	"testing/synctest"

	"deeplake/core/order"
)

// passOf runs one pass over a fresh lake, and returns its rows and its requests to the store.
func passOf(t *testing.T, l *remoteSet, o Options, p order.Pass) (rows, bytes int64, requests int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		v := l.open(t)
		l.remote.reset()
		ld := open2(t, SourceOf(v), o)
		defer ld.Close()
		e, err := ld.Start(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		for b := next(t, e); b != nil; b = next(t, e) {
			rows += int64(b.Rows)
			b.Release()
		}
		bytes, requests = l.remote.bytes["data"], l.remote.gets["data"]
	})
	return rows, bytes, requests
}

// Together, the ranks request little more than the dataset. A pass that begins late requests little
// more than the rest.
func TestRanksFetchTheirShare(t *testing.T) {
	t.Parallel()
	l := plainRemoteSet(t)
	const stored = plainRows * plainBytes
	for _, c := range []struct {
		name  string
		o     Options
		world int
		from  int64   // rows that lie behind
		most  float64 // as a multiple of the rest, in all ranks
	}{
		{"sequential", Options{}, 4, 0, 1.1},
		{"sequential, from the middle", Options{}, 4, 1024, 1.1},
		{"window", Options{Shuffle: order.Window, ShuffleBytes: 256 << 20}, 4, 0, 1.45},
		{"window, from the middle", Options{Shuffle: order.Window, ShuffleBytes: 256 << 20}, 4, 1024, 1.6},
		{"window of one rank, from the middle", Options{Shuffle: order.Window, ShuffleBytes: 256 << 20}, 1, 1024, 1.8},
		{"slides", Options{Shuffle: order.Window, ShuffleBytes: 24 << 20, blockBytes: 2 << 20}, 4, 0, 1.6},
		{"slides, from the middle", Options{Shuffle: order.Window, ShuffleBytes: 24 << 20, blockBytes: 2 << 20}, 4, 1024, 1.6},
		{"slides, one rank, from the middle", Options{Shuffle: order.Window, ShuffleBytes: 24 << 20, blockBytes: 2 << 20}, 1, 1024, 1.3},
		{"full", Options{Shuffle: order.Full}, 4, 0, 1.9},
		{"full of one rank, from the middle", Options{Shuffle: order.Full}, 1, 1024, 1.8},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.BatchSize, c.o.Workers = 512/c.world, 2
			var rows, bytes int64
			requests := 0
			for rank := range c.world {
				n, b, q := passOf(t, l, c.o, order.Pass{World: c.world, Rank: rank, Position: c.from})
				rows, bytes, requests = rows+n, bytes+b, requests+q
			}
			if rows != plainRows-c.from {
				t.Errorf("%d rows, want %d", rows, plainRows-c.from)
			}
			part := float64(bytes) / (stored * float64(plainRows-c.from) / plainRows)
			t.Logf("%d requests, %.2f of the bytes that are left", requests, part)
			if part > c.most {
				t.Errorf("ranks asked for %.2f of what is left, want at most %.2f", part, c.most)
			}
		})
	}
}
