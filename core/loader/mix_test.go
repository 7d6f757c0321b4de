package loader

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/order"
	"deeplake/core/read"
	"deeplake/core/tensor"
)

// numbered returns a view of so many rows with a label, the row, in 40 kB a row.
func numbered(rows int64) *fake {
	f := newFake(rows, &fakeColumn{name: "labels", dtype: tensor.Int64, shape: fixedShape()})
	f.stored = rows * 40_000
	return f
}

func mixed(t testing.TB, b order.MixPolicy, rows ...int64) *Mix {
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
		policy order.MixPolicy
		want   string
	}{
		"no views":         {nil, nil, order.MixPolicy{}, "mix: there is no view"},
		"no rows":          {[]Part{set, empty}, nil, order.MixPolicy{}, "view 1, empty, has no rows; leave it out"},
		"another type":     {[]Part{set, other}, nil, order.MixPolicy{}, `tensor "labels": it is int64 in view 0, s3://a/set, and float32 in view 1, other`},
		"nothing common":   {[]Part{set, texts}, nil, order.MixPolicy{}, "no tensor is in all views: "},
		"missing":          {[]Part{set, texts}, []string{"text"}, order.MixPolicy{}, `no tensor "text"`},
		"few weights":      {two, nil, order.MixPolicy{Weights: []float64{1}}, "1 weights for 2 views"},
		"zero weight":      {two, nil, order.MixPolicy{Weights: []float64{1, 0}}, "weight of view 1 is 0"},
		"nan":              {two, nil, order.MixPolicy{Weights: []float64{math.NaN(), 1}}, "weight of view 0 is NaN"},
		"mode":             {two, nil, order.MixPolicy{Mode: "exakt"}, `mode is "exakt"`},
		"stop":             {two, nil, order.MixPolicy{Stop: "never"}, `stop is "never"`},
		"length":           {two, nil, order.MixPolicy{Length: -1}, "length is -1"},
		"weights in order": {two, nil, order.MixPolicy{Mode: order.MixSequential, Weights: []float64{1, 1}}, "takes neither weights"},
	} {
		if _, err := NewMix(c.parts, c.names, c.policy); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	m := mixed(t, order.MixPolicy{Weights: []float64{1, 1e-15}, Stop: order.AllExhausted}, 5, 1_000_000_000)
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
	m, err := NewMix([]Part{{SourceOf(a), "a"}, {SourceOf(b), "b"}}, nil, order.MixPolicy{Weights: []float64{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	for _, shuffle := range []string{order.Sequential, order.Window, order.Full} {
		o := Options{BatchSize: 32, CollateOf: fakeCollate(), ReturnIndex: true, Shuffle: shuffle, Workers: 3}
		l, err := Open(context.Background(), m, o)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		want := drawsOf(l.order, 1)
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
	m, err := NewMix([]Part{{SourceOf(a), "a"}, {SourceOf(b), "mem://b"}}, nil, order.MixPolicy{})
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

// regional is a column that decodes regions, and notes of which rows.
type regional struct {
	*fakeColumn
	info map[string]any
	rows []int64
}

func (c *regional) Access() read.Access {
	return read.Access{DecodeROIs: c.decodeROIs, HType: "image", Info: c.info}
}

func (c *regional) decodeROIs(_ context.Context, refs []*chunk.Ref, _ []codec.ROI, _ *chunk.Worker, failed func(i int, err error)) {
	for i, r := range refs {
		c.rows = append(c.rows, r.Row-firstRow)
		if r.Row-firstRow == 3 {
			failed(i, errs.New(errs.Corrupt, "checksum"))
		}
	}
}

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
	m, err := NewMix([]Part{one, two}, nil, order.MixPolicy{})
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
	col.Access().DecodeROIs(t.Context(), at, make([]codec.ROI, len(rows)), nil, func(i int, err error) {
		failed = append(failed, i)
		if view := fmt.Sprintf("view %d of the mixture", refs[i].Source); !strings.Contains(err.Error(), view) {
			t.Errorf("%v, want %q in it", err, view)
		}
	})
	if !slices.Equal(a.rows, []int64{9, 0, 2, 3}) || !slices.Equal(b.rows, []int64{3, 2}) || !slices.Equal(failed, []int{2, 5}) {
		t.Errorf("regions of rows %v and %v, failed %v", a.rows, b.rows, failed)
	}
	if a := col.Access(); a.HType != "image" || a.Info["coords"] != "LTWH" {
		t.Errorf("it is said to be %q with %v", a.HType, a.Info)
	}

	m, err = NewMix([]Part{one, {SourceOf(numbered(4)), "plain"}}, nil, order.MixPolicy{})
	if err == nil {
		t.Errorf("coords of one view and none of the other: %v", m.Names())
	}
	three, _ := set(nil)
	if m, err = NewMix([]Part{three, {SourceOf(numbered(4)), "plain"}}, nil, order.MixPolicy{}); err != nil {
		t.Fatal(err)
	}
	if m.columns["labels"].Access().DecodeROIs != nil {
		t.Error("regions are decoded though one of the views cannot")
	}
}
