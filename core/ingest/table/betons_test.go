package table

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"sync/atomic"
	"testing"

	"deeplake/core/errs"
)

// betonOf is the file of core/ffcv/testdata, with 120 samples.
func betonOf(t testing.TB) []byte {
	t.Helper()
	p, err := os.ReadFile("../../ffcv/testdata/all.beton.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(p))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestBetons takes in files of FFCV, whichever request fails. Each row comes once, and few bytes
// are requested of the fields that are not taken.
func TestBetons(t *testing.T) {
	t.Parallel()
	const rows = 120
	data := betonOf(t)
	bad := bytes.Clone(data)
	binary.LittleEndian.PutUint64(bad[8:], 1<<40) // samples
	failures := 0
	for skip := range int64(16) {
		w := newWorld(t)
		w.lake.Put("a.beton", data)
		w.lake.Put("b.beton", data)
		w.lake.Put("c.beton", bad)
		var requests atomic.Int64
		w.lake.Fail = func(string, int64, int64) error {
			if requests.Add(1) == skip+1 {
				return errs.New(errs.Storage, "the network is gone")
			}
			return nil
		}
		o := Options{Checkpoint: 50, Columns: []string{"label", "image", "meta"}, LeaveOut: true}
		r, err := w.run(t.Context(), o)
		if err != nil {
			if failures++; !errs.Is(err, errs.Storage) {
				t.Fatal(skip, err)
			}
			w.lake.Fail = nil
			r, err = w.run(t.Context(), o)
		}
		if err != nil || r.Rows != 2*rows || !r.Complete || r.Skipped != 1 || r.Skips[0].Path != "c.beton" {
			t.Fatal(skip, r, err)
		}
		for i, label := range w.ints(t, "label") {
			if label != int64(i%rows-3) {
				t.Fatalf("%d: row %d has label %d", skip, i, label)
			}
		}
	}
	if failures < 8 {
		t.Errorf("%d requests failed", failures)
	}
	w := newWorld(t)
	w.lake.Put("a.beton", data)
	if _, err := w.run(t.Context(), Options{Columns: []string{"label"}}); err != nil {
		t.Fatal(err)
	}
	if n := w.lake.Bytes.Load(); n > 200<<10 {
		t.Errorf("%d bytes were read for a field of numbers", n)
	}
}
