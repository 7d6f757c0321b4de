package loader

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// numbered is a view of so many rows with a label, the row, in 40 kB a row.
func numbered(rows int64) *fake {
	f := newFake(rows, &fakeColumn{name: "labels", dtype: tensor.Int64, shape: fixedShape()})
	f.stored = rows * 40_000
	return f
}

func mixed(t testing.TB, b MixPolicy, rows ...int64) *Mix {
	t.Helper()
	parts := make([]Part, len(rows))
	for i, n := range rows {
		parts[i] = Part{Source: SourceOf(numbered(n)), Label: fmt.Sprintf("set%d", i)}
	}
	m, err := NewMix(parts, nil, b)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func epochOrderOf(t testing.TB, m *Mix, o Options) *EpochOrder {
	t.Helper()
	o.BatchSize = 1
	o, err := o.normal()
	if err != nil {
		t.Fatal(err)
	}
	c, err := newEpochOrder(context.Background(), m, &o)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.order.check(); err != nil {
		t.Fatal(err)
	}
	return c
}

// split is the rows of each view in the order of an epoch.
func split(m *Mix, rows []int64) [][]int64 {
	out := make([][]int64, len(m.parts))
	for _, row := range rows {
		p := m.part(row)
		out[p] = append(out[p], row-m.starts[p])
	}
	return out
}

func TestApportionmentOneByOne(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 5))
	for range 300 {
		weights, rows := make([]float64, 1+r.IntN(12)), make([]int64, 0, 12)
		for i := range weights {
			weights[i] = math.Exp(2 * r.NormFloat64())
			if i > 0 && r.IntN(3) == 0 {
				weights[i] = weights[i-1] // ties
			}
			rows = append(rows, 1+r.Int64N(50))
		}
		seats := newApportionment(weights, rows)
		if r.IntN(3) == 0 {
			seats = newApportionment(nil, rows)
		}
		had, got := make([]int64, len(rows)), make([]int64, len(rows))
		for total := range int64(400) {
			seats.counts(got, total)
			if !slices.Equal(got, had) {
				t.Fatalf("seats %v: after %d turns %v at once, one by one %v", seats.of, total, got, had)
			}
			had[seats.next(had)]++
		}
	}
}

// Without weights an epoch is every row of every view once, in every mode and order.
func TestMixVisitsEachRowOnce(t *testing.T) {
	t.Parallel()
	for _, rows := range [][]int64{{1}, {5, 5}, {1, 2, 300}, {9000, 17, 4500, 1}, {4096, 4096}} {
		for _, mode := range []string{"", MixExact, MixSequential} {
			for _, shuffle := range []string{Sequential, Window, Full} {
				m := mixed(t, MixPolicy{Mode: mode}, rows...)
				c := epochOrderOf(t, m, Options{Shuffle: shuffle, ShuffleBytes: 16 << 20})
				for epoch := range uint64(2) {
					got := drawsOf(c, epoch)
					if int64(len(got)) != m.Len() {
						t.Fatalf("%v %q %q: %d rows, want %d", rows, mode, shuffle, len(got), m.Len())
					}
					onceEach(t, got, c.order)
					for p, own := range split(m, got) {
						if shuffle == Sequential && !slices.IsSorted(own) {
							t.Fatalf("%v %q: rows of view %d out of order", rows, mode, p)
						}
					}
					if mode == MixSequential && !slices.IsSortedFunc(got, func(a, b int64) int { return m.part(a) - m.part(b) }) {
						t.Fatalf("%v: views take turns in sequence", rows)
					}
				}
			}
		}
	}
}

// Exact: every batch, wherever it begins, has the shares of the weights to within two rows, and a
// whole batch of whole shares has just these.
func TestExactBatches(t *testing.T) {
	t.Parallel()
	weights := []float64{0.5, 0.3, 0.2}
	m := mixed(t, MixPolicy{Mode: MixExact, Weights: weights}, 5000, 8000, 700)
	rows := drawsOf(epochOrderOf(t, m, Options{Shuffle: Full}), 1)
	for _, size := range []int{10, 20, 50, 64, 7} {
		for from := 0; from+size <= len(rows); from += size {
			count := make([]int, 3)
			for _, row := range rows[from : from+size] {
				count[m.part(row)]++
			}
			for p, n := range count {
				want := weights[p] * float64(size)
				if off := math.Abs(float64(n) - want); off >= 2 || size%10 == 0 && off > 1e-9 {
					t.Fatalf("rows %d to %d have %v of the views, want shares %v", from, from+size, count, weights)
				}
			}
		}
	}
}

// Random: within a batch the shares vary as those of independent draws, nearly, and over a run they
// are exact.
func TestRandomBatches(t *testing.T) {
	t.Parallel()
	m := mixed(t, MixPolicy{Weights: []float64{0.75, 0.25}}, 900_000, 900_000)
	c := epochOrderOf(t, m, Options{Shuffle: Full})
	w := c.cursor(0)
	const size, runs = 64, 100
	sum, squares, n := 0.0, 0.0, 0.0
	for run := range int64(runs) {
		inRun := 0
		for b := range int64(mixRows / size) {
			count := 0
			for i := range int64(size) {
				if m.part(w.row(run*mixRows+b*size+i)) == 1 {
					count++
				}
			}
			inRun += count
			sum, squares, n = sum+float64(count), squares+float64(count)*float64(count), n+1
		}
		if inRun != mixRows/4 {
			t.Fatalf("run %d has %d rows of view 1, want %d", run, inRun, mixRows/4)
		}
	}
	variance := squares/n - sum/n*sum/n
	if want := size * 0.75 * 0.25 * (1 - float64(size)/mixRows); math.Abs(variance/want-1) > 0.1 {
		t.Errorf("variance of a batch is %.2f, want about %.2f", variance, want)
	}
}

func TestMixStops(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy MixPolicy
		rows   []int64
		want   []int64 // rows of each view in an epoch
	}{
		{MixPolicy{Weights: []float64{1, 1}}, []int64{5, 5}, []int64{5, 5}},
		{MixPolicy{Weights: []float64{1, 1}}, []int64{5, 50}, []int64{5, 5}},
		{MixPolicy{Weights: []float64{3, 1}}, []int64{30, 50}, []int64{30, 10}},
		{MixPolicy{Weights: []float64{1, 1}, Stop: AllExhausted}, []int64{5, 50}, []int64{50, 50}},
		{MixPolicy{Weights: []float64{3, 1}, Stop: AllExhausted}, []int64{7, 10}, []int64{29, 10}},
		{MixPolicy{Weights: []float64{3, 1}, Length: 1000}, []int64{7, 10}, []int64{750, 250}},
		{MixPolicy{Length: 20}, []int64{30, 10}, []int64{15, 5}},
	} {
		for _, mode := range []string{MixRandom, MixExact} {
			c.policy.Mode = mode
			m := mixed(t, c.policy, c.rows...)
			got := split(m, drawsOf(epochOrderOf(t, m, Options{Shuffle: Full}), 0))
			for p, own := range got {
				if d := int64(len(own)) - c.want[p]; d < -1 || d > 1 {
					t.Errorf("%+v of %v: %d rows of view %d, want %d", c.policy, c.rows, len(own), p, c.want[p])
				}
				if c.policy.Stop == "" && c.policy.Length == 0 && int64(len(own)) > c.rows[p] {
					t.Errorf("%+v of %v: view %d gave a row twice", c.policy, c.rows, p)
				}
				if c.policy.Stop == AllExhausted && int64(len(own)) < c.rows[p] {
					t.Errorf("%+v of %v: view %d was not exhausted", c.policy, c.rows, p)
				}
				for begin := 0; begin+int(c.rows[p]) <= len(own); begin += int(c.rows[p]) {
					onceEach(t, own[begin:begin+int(c.rows[p])], c.policy)
				}
			}
		}
	}
}

// A shuffled view of which an epoch takes a part goes on in the next: none of its rows comes twice
// before all have come. One in sequence begins anew.
func TestMixGoesOn(t *testing.T) {
	t.Parallel()
	m := mixed(t, MixPolicy{Weights: []float64{1, 1}}, 30, 100)
	c := epochOrderOf(t, m, Options{Shuffle: Full})
	var seen []int64
	for epoch := range uint64(10) {
		seen = append(seen, split(m, drawsOf(c, epoch))[1]...)
	}
	if len(seen) != 300 {
		t.Fatalf("%d rows of view 1, want 300", len(seen))
	}
	for pass := range 3 {
		onceEach(t, seen[pass*100:(pass+1)*100], "view 1")
	}
	if slices.Equal(seen[:100], seen[100:200]) {
		t.Error("the second pass has the order of the first")
	}
	c = epochOrderOf(t, m, Options{})
	for epoch := range uint64(3) {
		for p, own := range split(m, drawsOf(c, epoch)) {
			for i, row := range own {
				if row != int64(i) {
					t.Fatalf("epoch %d: row %d of view %d at its turn %d", epoch, row, p, i)
				}
			}
		}
	}
}

// Any position is computed by itself, late in a long epoch as well.
func TestMixIsRandomAccess(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 6))
	for _, mode := range []string{MixRandom, MixExact, MixSequential} {
		for _, shuffle := range []string{Sequential, Window, Full} {
			b := MixPolicy{Mode: mode}
			if mode != MixSequential {
				b.Weights, b.Stop = []float64{0.7, 0.1, 0.2}, AllExhausted
			}
			m := mixed(t, b, 3000, 5000, 700)
			c := epochOrderOf(t, m, Options{Shuffle: shuffle, ShuffleBytes: 8 << 20})
			all := drawsOf(c, 7)
			w := c.cursor(7)
			for range 300 {
				pos := r.Int64N(c.order.Rows)
				if got := w.row(pos); got != all[pos] {
					t.Fatalf("%s %s: row at %d is %d, in a run %d", mode, shuffle, pos, got, all[pos])
				}
			}
		}
	}
	m := mixed(t, MixPolicy{Weights: []float64{0.9, 0.1}, Length: 1 << 40}, 1_000_000_000, 77)
	c := epochOrderOf(t, m, Options{Shuffle: Window})
	for _, pos := range []int64{0, 1 << 30, 1<<40 - 1} {
		if row := c.cursor(1 << 40).row(pos); row < 0 || row >= m.Len() {
			t.Errorf("row at %d is %d", pos, row)
		}
	}
}

// The order of one view does not depend on how much the others hold, nor on their number of bytes,
// where windows are all of a view; and two views of the same rows are not in the same order.
func TestMixViewsAreIndependent(t *testing.T) {
	t.Parallel()
	b := MixPolicy{Weights: []float64{1, 1}}
	m := mixed(t, b, 500, 500)
	own := split(m, drawsOf(epochOrderOf(t, m, Options{Shuffle: Full}), 0))
	if slices.Equal(own[0], own[1]) {
		t.Error("two views of the same rows come in the same order")
	}
	m = mixed(t, b, 500, 5000)
	if other := split(m, drawsOf(epochOrderOf(t, m, Options{Shuffle: Full}), 0)); !slices.Equal(own[0], other[0]) {
		t.Error("the order of view 0 depends on the rows of view 1")
	}
}

func TestMixOrderPinsParts(t *testing.T) {
	t.Parallel()
	base := epochOrderOf(t, mixed(t, MixPolicy{Weights: []float64{1, 2}}, 10, 20), Options{}).order
	for name, c := range map[string]*EpochOrder{
		"weights": epochOrderOf(t, mixed(t, MixPolicy{Weights: []float64{1, 3}}, 10, 20), Options{}),
		"rows":    epochOrderOf(t, mixed(t, MixPolicy{Weights: []float64{1, 2}}, 10, 21), Options{}),
		"mode":    epochOrderOf(t, mixed(t, MixPolicy{Weights: []float64{1, 2}, Mode: MixExact}, 10, 20), Options{}),
		"length":  epochOrderOf(t, mixed(t, MixPolicy{Weights: []float64{1, 2}, Length: 5}, 10, 20), Options{}),
		"shuffle": epochOrderOf(t, mixed(t, MixPolicy{Weights: []float64{1, 2}}, 10, 20), Options{Shuffle: Full}),
	} {
		if c.order == base {
			t.Errorf("%s: %+v is not told from %+v", name, c.order, base)
		}
	}
	if again := epochOrderOf(t, mixed(t, MixPolicy{Weights: []float64{2, 4}}, 10, 20), Options{}).order; again != base {
		t.Errorf("the same shares give %+v and %+v", again, base)
	}
	m := mixed(t, MixPolicy{Weights: []float64{1, 2}}, 10, 20)
	if got, want := fmt.Sprint(drawsOf(epochOrderOf(t, m, Options{Shuffle: Full, Seed: 42}), 3)[:8]), "[23 15 11 19 29 20 9 16]"; got != want {
		t.Errorf("rows %s, want %s: order version %d must never change", got, want, OrderVersion)
	}
}

func TestMixRefuses(t *testing.T) {
	t.Parallel()
	set := Part{SourceOf(numbered(3)), "s3://a/set"}
	other := Part{SourceOf(newFake(3, &fakeColumn{name: "labels", dtype: tensor.Float32, shape: fixedShape()})), "other"}
	texts := Part{SourceOf(newFake(3, &fakeColumn{name: "text", dtype: tensor.String})), "texts"}
	empty := Part{SourceOf(numbered(0)), "empty"}
	two := []Part{set, set}
	for name, c := range map[string]struct {
		parts  []Part
		names  []string
		policy MixPolicy
		want   string
	}{
		"no views":         {nil, nil, MixPolicy{}, "mix 0 views: want 1 to 1024"},
		"no rows":          {[]Part{set, empty}, nil, MixPolicy{}, "view 1, empty, has no rows; leave it out"},
		"another type":     {[]Part{set, other}, nil, MixPolicy{}, `tensor "labels": it is int64 in view 0, s3://a/set, and float32 in view 1, other`},
		"nothing common":   {[]Part{set, texts}, nil, MixPolicy{}, "no tensor is in all of them"},
		"missing":          {[]Part{set, texts}, []string{"text"}, MixPolicy{}, `no tensor "text"`},
		"few weights":      {two, nil, MixPolicy{Weights: []float64{1}}, "1 weights for 2 views"},
		"zero weight":      {two, nil, MixPolicy{Weights: []float64{1, 0}}, "weight of view 1 is 0"},
		"nan":              {two, nil, MixPolicy{Weights: []float64{math.NaN(), 1}}, "weight of view 0 is NaN"},
		"mode":             {two, nil, MixPolicy{Mode: "exakt"}, `mode is "exakt"`},
		"stop":             {two, nil, MixPolicy{Stop: "never"}, `stop is "never"`},
		"length":           {two, nil, MixPolicy{Length: -1}, "length is -1"},
		"weights in order": {two, nil, MixPolicy{Mode: MixSequential, Weights: []float64{1, 1}}, "takes neither weights"},
	} {
		if _, err := NewMix(c.parts, c.names, c.policy); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	m := mixed(t, MixPolicy{Weights: []float64{1, 1e-15}, Stop: AllExhausted}, 5, 1_000_000_000)
	if _, err := newEpochOrder(context.Background(), m, &Options{}); !errs.Is(err, errs.Invalid) {
		t.Errorf("an epoch without end: %v", err)
	}
	if _, err := newEpochOrder(context.Background(), m, &Options{Weights: weigh(t, 1)}); !errs.Is(err, errs.Invalid) {
		t.Errorf("weights of rows: %v", err)
	}
}

// Batches of a mixture hold the samples of their views, of every sort, and say which view each is
// of.
func TestLoaderMixes(t *testing.T) {
	t.Parallel()
	a, b := fakeSet(90), fakeSet(200)
	m, err := NewMix([]Part{{SourceOf(a), "a"}, {SourceOf(b), "b"}}, nil, MixPolicy{Weights: []float64{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	for _, shuffle := range []string{Sequential, Window, Full} {
		o := Options{BatchSize: 32, CollateOf: fakeCollate(), ReturnIndex: true, Shuffle: shuffle, Workers: 3}
		l, err := Open(context.Background(), m, o)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		want := drawsOf(l.epochOrder, 1)
		e := start(t, l, 1)
		var got []int64
		for batch := next(t, e); batch != nil; batch = next(t, e) {
			sources := column(t, batch, SourceName)
			for i, row := range verify(t, b, o, batch) {
				// both sets have the same samples in the same rows
				got = append(got, m.starts[getInt64(batch.Data(sources), i)]+row)
			}
			batch.Release()
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: rows %v, want %v", shuffle, got, want)
		}
	}
}

// A sample that cannot be read is named with its view and its row there.
func TestMixNamesTheView(t *testing.T) {
	t.Parallel()
	a, b := numbered(10), numbered(10)
	b.columns["labels"].read = func(_ context.Context, row int64) error {
		if row == 4 {
			return errs.New(errs.Corrupt, "checksum")
		}
		return nil
	}
	m, err := NewMix([]Part{{SourceOf(a), "a"}, {SourceOf(b), "mem://b"}}, nil, MixPolicy{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(context.Background(), m, Options{BatchSize: 20})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = start(t, l, 0).Next(context.Background())
	if want := fmt.Sprintf("read row %d of tensor %q: checksum (view 1 of the mixture, mem://b)", 4+firstRow, "labels"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// BenchmarkMix reports what a row costs, and what it costs to go on in the middle of an epoch.
func BenchmarkMix(b *testing.B) {
	for _, mode := range []string{MixRandom, MixExact} {
		m := mixed(b, MixPolicy{Mode: mode, Weights: []float64{5, 3, 2, 1, 1, 1, 1, 1}, Length: 1_000_000_000}, 1e8, 1e8, 1e8, 1e8, 1e8, 1e8, 1e8, 1e8)
		b.Run(mode, func(b *testing.B) {
			w := epochOrderOf(b, m, Options{Shuffle: Window}).cursor(0)
			rows := make([]int64, 256)
			pos := int64(0)
			for b.Loop() {
				w.fill(rows, pos)
				pos += 256
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/row")
		})
		b.Run(mode+"-resume", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				epochOrderOf(b, m, Options{Shuffle: Window}).cursor(0).row(999_999_999)
			}
		})
	}
}

// regional is a column that decodes regions, and notes of which rows.
type regional struct {
	*fakeColumn
	info map[string]any
	rows []int64
}

func (c *regional) DecodeROIs(_ context.Context, refs []*chunk.Ref, _ []codec.ROI, _ *chunk.Worker, failed func(i int, err error)) {
	for i, r := range refs {
		c.rows = append(c.rows, r.Row-firstRow)
		if r.Row-firstRow == 3 {
			failed(i, errs.New(errs.Corrupt, "checksum"))
		}
	}
}

func (c *regional) HType() string        { return "image" }
func (c *regional) Info() map[string]any { return c.info }

// Regions are decoded by the view that has the sample, where all views decode regions.
func TestMixHandsOutRegions(t *testing.T) {
	t.Parallel()
	set := func(info map[string]any) (Part, *regional) {
		f := numbered(10)
		c := &regional{fakeColumn: f.columns["labels"], info: info}
		return Part{hugeSource{SourceOf(f), c}, "set"}, c
	}
	one, a := set(map[string]any{"coords": "LTWH"})
	two, b := set(map[string]any{"coords": "LTWH", "other": 1})
	m, err := NewMix([]Part{one, two}, nil, MixPolicy{})
	if err != nil {
		t.Fatal(err)
	}
	col, err := m.Column("labels")
	if err != nil {
		t.Fatal(err)
	}
	rows := []int64{9, 0, 13, 12, 2, 3}
	refs := make([]chunk.Ref, len(rows))
	if err := col.Resolve(t.Context(), rows, refs); err != nil {
		t.Fatal(err)
	}
	at := make([]*chunk.Ref, len(rows))
	for i := range refs {
		at[i] = &refs[i]
	}
	var failed []int
	col.(ROIColumn).DecodeROIs(t.Context(), at, make([]codec.ROI, len(rows)), nil, func(i int, err error) {
		failed = append(failed, i)
		if view := fmt.Sprintf("view %d of the mixture", refs[i].Source); !strings.Contains(err.Error(), view) {
			t.Errorf("%v, want %q in it", err, view)
		}
	})
	if !slices.Equal(a.rows, []int64{9, 0, 2, 3}) || !slices.Equal(b.rows, []int64{3, 2}) || !slices.Equal(failed, []int{2, 5}) {
		t.Errorf("regions of rows %v and %v, failed %v", a.rows, b.rows, failed)
	}
	if d := col.(described); d.HType() != "image" || d.Info()["coords"] != "LTWH" {
		t.Errorf("it is said to be %q with %v", d.HType(), d.Info())
	}

	m, err = NewMix([]Part{one, {SourceOf(numbered(4)), "plain"}}, nil, MixPolicy{})
	if err == nil {
		t.Errorf("coords of one view and none of the other: %v", m.Names())
	}
	three, _ := set(nil)
	if m, err = NewMix([]Part{three, {SourceOf(numbered(4)), "plain"}}, nil, MixPolicy{}); err != nil {
		t.Fatal(err)
	}
	if _, ok := m.columns["labels"].(ROIColumn); ok {
		t.Error("regions are decoded though one of the views cannot")
	}
}
