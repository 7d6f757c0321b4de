package version_test

import (
	"math/rand/v2"
	"testing"

	"deeplake/core/version"
	"deeplake/core/version/versiontest"
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

// TestRowMapIsKept loads versions of the same deleted rows, which share one map, and others between
// them.
func TestRowMapIsKept(t *testing.T) {
	t.Parallel()
	f := versiontest.New(t, versiontest.MemStore(t))
	repo := f.Repo(t)
	load := func() *version.Snapshot {
		t.Helper()
		s, err := repo.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	remove := func(rows ...int64) {
		t.Helper()
		txn := f.Begin(t)
		txn.Delete(rows)
		f.Commit(t, txn, "deleted")
	}
	remove(1, 5)
	first := load()
	txn := f.Begin(t)
	f.Add(txn, 3, 7)
	f.Commit(t, txn, "appended")
	second := load()
	if second.Record.Version == first.Record.Version || second.Live.Name() != first.Live.Name() {
		t.Error("two versions with the same deleted rows have maps of their own")
	}
	remove(2)
	third := load()
	if third.Live.Name() == first.Live.Name() || third.Live.Physical(1) != 3 || first.Live.Physical(1) != 2 {
		t.Errorf("row 1 is physical row %d, and %d before; want 3 and 2", third.Live.Physical(1), first.Live.Physical(1))
	}
	if third.Rows() != 10 || second.Rows() != 11 || first.Rows() != 8 {
		t.Errorf("%d, %d and %d rows, want 8, 11 and 10", first.Rows(), second.Rows(), third.Rows())
	}
}
