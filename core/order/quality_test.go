package order

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// The set that quality is measured on: ImageNet-1k as folders sort it, by class.
const (
	classRows   = 1_280_000
	classSample = 110_000 // bytes
)

// BenchmarkOrderWritten writes the first two epochs of each order of the set to the folder
// ORDER_DIR, for measurements of their quality. Rows are int32 in the byte order of x86. Without
// the folder it is skipped.
func BenchmarkOrderWritten(b *testing.B) {
	folder := os.Getenv("ORDER_DIR")
	if folder == "" {
		b.Skip("ORDER_DIR is not set")
	}
	for _, c := range []struct {
		name, kind  string
		windowBytes int64
	}{{"window-2GB", Window, 2 << 30}, {"window-512MiB", Window, defaultShuffleBytes}, {"full", Full, defaultShuffleBytes}} {
		b.Run(c.name, func(b *testing.B) {
			rows := make([]int64, 256)
			for b.Loop() {
				for epoch := range uint64(2) {
					o := Options{Shuffle: c.kind, Seed: 1, ShuffleBytes: c.windowBytes, Blocks: evenBlocks(classRows, 8_000_000/classSample)}
					made, err := New(o, classRows, classSample)
					if err != nil {
						b.Fatal(err)
					}
					w := made.Cursor(epoch)
					data := make([]byte, 0, 4*classRows)
					for pos := int64(0); pos < classRows; pos += int64(len(rows)) {
						w.Fill(rows, pos)
						for _, row := range rows {
							data = binary.LittleEndian.AppendUint32(data, uint32(row))
						}
					}
					if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%s-%d", c.name, epoch)), data, 0o600); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2/classRows, "ns/row")
		})
	}
}

// BenchmarkPlan reports the time from a new order to the rows of a batch. The batch lies at the
// beginning or in the middle of an epoch of a billion rows.
func BenchmarkPlan(b *testing.B) {
	const rows = 1_000_000_000
	rng := rand.New(rand.NewPCG(1, 1))
	batch := make([]int64, 256)
	for _, kind := range []string{Window, Full} {
		b.Run(kind, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				newCursor(newOrder(kind, rows, 1, classSample, defaultShuffleBytes), 0).Fill(batch, rng.Int64N(rows-256))
			}
		})
	}
	for _, mode := range []string{MixRandom, MixExact} {
		m := mixed(b, MixPolicy{Mode: mode, Weights: []float64{0.6, 0.4}, Length: rows}, rows/2, rows/2)
		b.Run("mix-"+mode, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				epochOrderOf(b, m, Options{Shuffle: Window}).Cursor(0).Fill(batch, rng.Int64N(rows-256))
			}
		})
	}
}

// A billion rows are planned with the memory of a few: no kind of order has a table.
func TestPlanOfABillionRows(t *testing.T) { // not parallel: it counts allocations
	const rows, most = 1_000_000_000, 1 << 20
	batch := make([]int64, 256)
	for _, kind := range []string{Sequential, Window, Full, Mixed} {
		var m *views
		if kind == Mixed {
			m = mixed(t, MixPolicy{Weights: []float64{0.6, 0.4}, Length: rows}, rows/2, rows/2)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var w *Cursor
		if kind == Mixed {
			w = epochOrderOf(t, m, Options{Shuffle: Window}).Cursor(0)
		} else {
			w = newCursor(newOrder(kind, rows, 1, classSample, defaultShuffleBytes), 0)
		}
		for _, pos := range []int64{0, rows / 3, rows - 256} {
			w.Fill(batch, pos)
			for _, row := range batch {
				if row < 0 || row >= rows {
					t.Fatalf("%s: row %d", kind, row)
				}
			}
		}
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > most {
			t.Errorf("%s: %d bytes for the plan of %d rows, want at most %d", kind, got, rows, most)
		}
	}
}

// The way to any position does not grow with the number of windows before it: here there are 10^14,
// and a step for each would not end.
func TestAnyPositionIsNear(t *testing.T) {
	t.Parallel()
	const rows = 1 << 47
	w := newCursor(windowOrder(rows, 1, 1, 2, 3), 0)
	r := rand.New(rand.NewPCG(2, 2))
	for range 1000 {
		pos := r.Int64N(rows)
		if row := w.row(pos); row < 0 || row >= rows {
			t.Fatalf("row at %d is %d", pos, row)
		}
	}
	m := mixed(t, MixPolicy{Weights: []float64{0.6, 0.3, 0.1}, Length: rows}, 1<<40, 1<<40, 3)
	c := epochOrderOf(t, m, Options{Shuffle: Full})
	for range 200 {
		pos := r.Int64N(rows)
		if row := c.Cursor(9).row(pos); row < 0 || row >= m.Len() {
			t.Fatalf("row at %d of the mixture is %d", pos, row)
		}
	}
}
