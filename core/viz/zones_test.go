package viz

import (
	"fmt"
	"math"
	"testing"

	"deeplake/core/dataset"
	"deeplake/core/tensor"
)

const zoneRows = 40_000

// numberAt is the number of a row: the least and the greatest are in rows that no sample has.
func numberAt(i int) float64 {
	switch i {
	case 12_345:
		return 500
	case 33_333:
		return -70.5
	}
	return float64(i%97) / 2
}

// newNumbers makes a dataset of numbers in several chunks, of which every tenth row lacks one.
func newNumbers(t *testing.T, d tensor.DType, put func(v float64) any) (*fixture, *farStore) {
	t.Helper()
	env, ds, far := newFar(t, dataset.TensorSpec{Name: "n", DType: d.String(), ChunkBytes: 32 << 10},
		dataset.TensorSpec{Name: "i", DType: "int64"})
	n, rows := tensor.Rows{Tensor: "n"}, tensor.Rows{Tensor: "i"}
	for i := range zoneRows {
		if i%10 == 9 {
			n.Samples = append(n.Samples, tensor.Sample{Form: tensor.FormHole})
		} else {
			n.Samples = append(n.Samples, array(d, little(put(numberAt(i)))))
		}
		rows.Samples = append(rows.Samples, array(tensor.Int64, little(int64(i))))
	}
	if err := ds.Append(t.Context(), []tensor.Rows{n, rows}, zoneRows); err != nil {
		t.Fatal(err)
	}
	if _, err := ds.Commit(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	return serve(t, env, ds), far
}

// counted asks for statistics of all rows, and of a sample.
func (f *fixture) counted(view string) (exact, about statsInfo) {
	f.t.Helper()
	f.call("stats", map[string]any{"view": view, "column": "n"}, &exact)
	f.call("stats", map[string]any{"view": view, "column": "n", "sample": 600}, &about)
	return exact, about
}

// sameAxis holds a first answer against the exact one.
func (f *fixture) sameAxis(what, view string) {
	f.t.Helper()
	exact, about := f.counted(view)
	if fmt.Sprint(about.Exact) != "[missing min max]" || about.Sampled != 600 || exact.Sampled != 0 || len(exact.Exact) != 0 {
		f.t.Fatalf("%s: exact %v of %d rows", what, about.Exact, about.Sampled)
	}
	if *about.Min != *exact.Min || *about.Max != *exact.Max || about.Missing != exact.Missing || about.Kind != exact.Kind {
		f.t.Errorf("%s: the sample says %v to %v, %d missing, %s; all rows %v to %v, %d missing, %s", what,
			*about.Min, *about.Max, about.Missing, about.Kind, *exact.Min, *exact.Max, exact.Missing, exact.Kind)
	}
	if len(about.Bins) != len(exact.Bins) {
		f.t.Fatalf("%s: %d bins, then %d", what, len(about.Bins), len(exact.Bins))
	}
	sum := int64(0)
	for i, b := range about.Bins {
		if sum += b.Rows; b.From != exact.Bins[i].From || b.To != exact.Bins[i].To || about.Filters[i] != exact.Filters[i] {
			f.t.Errorf("%s: bin %d is %v to %v, then %v to %v", what, i, b.From, b.To, exact.Bins[i].From, exact.Bins[i].To)
		}
	}
	if present := exact.Rows - exact.Missing; sum < present-binCount || sum > present+binCount {
		f.t.Errorf("%s: the sample stands for %d rows, there are %d", what, sum, present)
	}
}

// TestRangeOfSamples holds that a sample has the axis of the exact histogram, whatever became of
// the chunks.
func TestRangeOfSamples(t *testing.T) {
	t.Parallel()
	f, _ := newNumbers(t, tensor.Float32, func(v float64) any { return float32(v) })
	f.sameAxis("all rows", f.view)
	if _, about := f.counted(f.view); *about.Max != 500 || *about.Min != -70.5 || about.Missing != zoneRows/10 {
		t.Fatalf("the range is %v to %v, %d missing", *about.Min, *about.Max, about.Missing)
	}
	f.sameAxis("rows of a query", f.query("SELECT * WHERE i % 3 = 1").View)
	f.sameAxis("rows in another order", f.query("SELECT * ORDER BY i DESC").View)
	f.sameAxis("a computed column", f.query("SELECT n * 2 AS n").View)
	f.sameAxis("a slice", f.query("SELECT * LIMIT 30000 OFFSET 100").View)

	column := tensor.Rows{Tensor: "n", Samples: []tensor.Sample{array(tensor.Float32, little(float32(40)))}}
	if err := f.ds.Update(t.Context(), []int64{12_345}, []tensor.Rows{column}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ds.Commit(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if err := f.ds.DeleteRows(t.Context(), []int64{33_333}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ds.Commit(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	changed := f.open(map[string]string{"at": "main"}).View
	f.sameAxis("after an update and a deletion", changed)
	if _, about := f.counted(changed); *about.Max != 48 || *about.Min != 0 {
		t.Errorf("the range after them is %v to %v", *about.Min, *about.Max)
	}
}

// TestRangeOfWholeNumbers has negative numbers, whose bits are no unsigned ones.
func TestRangeOfWholeNumbers(t *testing.T) {
	t.Parallel()
	f, _ := newNumbers(t, tensor.Int16, func(v float64) any { return int16(v) })
	f.sameAxis("int16", f.view)
}

// TestNoRange has numbers of which the chunk map has no range: the sample must not claim one.
func TestNoRange(t *testing.T) {
	t.Parallel()
	for _, odd := range []float64{math.NaN(), math.Inf(1)} {
		f, _ := newNumbers(t, tensor.Float64, func(v float64) any {
			if v == 500 {
				return odd
			}
			return v
		})
		exact, about := f.counted(f.view)
		if fmt.Sprint(about.Exact) != "[missing]" || about.Missing != exact.Missing || *exact.Max != 48 || *about.Max > 48 {
			t.Errorf("%v: %v are exact, the greatest numbers are %v and %v", odd, about.Exact, *about.Max, *exact.Max)
		}
	}
}
