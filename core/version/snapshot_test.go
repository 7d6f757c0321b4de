package version_test

import (
	"math/rand/v2"
	"testing"

	"deeplake/core/version"
)

// TestRowMap holds the map of live rows against a count.
func TestRowMap(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 3))
	for round := range 200 {
		rows := rng.Int64N(300)
		gone := bitmap()
		var live []int64
		if round%3 == 0 {
			rows *= 200 // long runs, over the ends of containers
		}
		run, kept := int64(0), false
		for row := range rows {
			if round%3 == 0 {
				if run--; run < 0 {
					run, kept = rng.Int64N(1<<rng.IntN(15)), !kept
				}
				if !kept {
					gone.Add(uint64(row))
					continue
				}
				live = append(live, row)
				continue
			}
			if rng.IntN(4) < round%5 {
				gone.Add(uint64(row))
			} else {
				live = append(live, row)
			}
		}
		live = append(live, rows, rows+1, rows+2) // rows that are appended later
		m := version.NewRowMap(gone)
		for i, want := range live {
			if got := m.Physical(int64(i)); got != want {
				t.Fatalf("round %d: row %d is physical row %d, want %d (deleted: %v)", round, i, got, want, gone)
			}
		}
	}
}

// TestManyDeleted: a run of deleted rows costs no time, however long it is.
func TestManyDeleted(t *testing.T) {
	t.Parallel()
	gone := bitmap()
	gone.AddRange(5, 3<<32)
	gone.AddRange(4<<32, 5<<32)
	m := version.NewRowMap(gone)
	for i, want := range map[int64]int64{0: 0, 4: 4, 5: 3 << 32, 5 + 1<<32 - 1: 4<<32 - 1, 5 + 1<<32: 5 << 32} {
		if got := m.Physical(i); got != want {
			t.Errorf("row %d is physical row %d, want %d", i, got, want)
		}
	}
}
