package session

import (
	"context"
	"encoding/binary"
	"slices"
	"testing"

	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/order"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
)

const rows = 10

// fixture is a dataset of ten rows with the int64 tensor "x" that counts them.
type fixture struct {
	*Session
	env *dataset.Env
	ds  *dataset.Dataset
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	env := &dataset.Env{Stores: storage.Registry{"mem": (&mem.Space{}).Open}, Codecs: all.All(), Writer: "test"}
	ds, err := dataset.Create(t.Context(), env, "mem://ten", dataset.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ds.Close() })
	if err := ds.CreateTensor(t.Context(), dataset.TensorSpec{Name: "x", DType: "int64"}); err != nil {
		t.Fatal(err)
	}
	column := tensor.Rows{Tensor: "x", Array: &tensor.Array{DType: tensor.Int64, Data: numbers(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)}}
	if err := ds.Append(t.Context(), []tensor.Rows{column}, rows); err != nil {
		t.Fatal(err)
	}
	if _, err := ds.Commit(t.Context(), "ten rows"); err != nil {
		t.Fatal(err)
	}
	return &fixture{New(env), env, ds}
}

func numbers(values ...int64) []byte {
	var out []byte
	for _, v := range values {
		out = binary.NativeEndian.AppendUint64(out, uint64(v))
	}
	return out
}

func (f *fixture) view(t *testing.T) *View {
	t.Helper()
	v, err := f.ds.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return NewView(v)
}

func (f *fixture) query(t *testing.T, of *View, text string, params ...Param) (*View, Info) {
	t.Helper()
	v, info, err := f.Query(t.Context(), of, &Query{Text: text, Params: params})
	if err != nil {
		t.Fatal(err)
	}
	return v, info
}

// values reads an int64 column of all rows of a view.
func values(t *testing.T, v *View, name string) []int64 {
	t.Helper()
	at := make([]int64, v.Len())
	for i := range at {
		at[i] = int64(i)
	}
	b, err := v.Read(t.Context(), at, loader.ReadOptions{Tensors: []string{name}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	return column(b)
}

// column returns the first column of a batch.
func column(b *loader.Batch) []int64 {
	var out []int64
	data := b.Slab.Bytes()[b.Columns[0].Offset:]
	for i := range int(b.Rows) {
		out = append(out, int64(binary.NativeEndian.Uint64(data[8*i:])))
	}
	return out
}

func want(t *testing.T, what string, got []int64, values ...int64) {
	t.Helper()
	if !slices.Equal(got, values) {
		t.Errorf("%s is %v, want %v", what, got, values)
	}
}

func TestFromViewToBatches(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	all := f.view(t)
	defer all.Close()
	least, err := NewParam(&tensor.Rows{Array: &tensor.Array{DType: tensor.Int64, Data: numbers(5)}})
	if err != nil {
		t.Fatal(err)
	}
	result, info := f.query(t, all, "SELECT x, x * 2 AS y WHERE x > ? ORDER BY x DESC", least)
	if info.URI != "mem://ten" || len(info.Outputs) != 2 || !info.Outputs[1].Computed || info.Outputs[0].Computed {
		t.Errorf("info is %+v", info)
	}
	part, err := result.Slice(0, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	result.Close() // the part keeps the datasets of the query open
	picked, err := part.Select([]int64{2, 0})
	if err != nil {
		t.Fatal(err)
	}
	part.Close()
	defer picked.Close()
	want(t, "y", values(t, picked, "y"), 14, 18)
	at := make([]int64, 2)
	if err := picked.Rows(at); err != nil {
		t.Fatal(err)
	}
	want(t, "rows", at, 7, 9)

	l, err := picked.Load(t.Context(), loader.Options{BatchSize: 2, Tensors: []string{"y"}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	epoch, err := l.Start(t.Context(), order.Pass{})
	if err != nil {
		t.Fatal(err)
	}
	defer epoch.Close()
	b, err := epoch.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want(t, "a batch", column(b), 14, 18)
	b.Release()
}

func TestSavedViews(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	all := f.view(t)
	defer all.Close()
	large, _ := f.query(t, all, "SELECT x WHERE x > 7")
	computed, _ := f.query(t, all, "SELECT x + 1 AS y WHERE x > 7")
	again, _ := f.query(t, computed, "SELECT y + 1 AS z")
	for name, v := range map[string]*View{"large": large, "computed": computed} {
		if err := v.Save(t.Context(), f.ds, name, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := large.Save(t.Context(), f.ds, "large", false); !errs.Is(err, errs.Exists) {
		t.Errorf("a second save gives %v", err)
	}
	if err := again.Save(t.Context(), f.ds, "again", false); !errs.Is(err, errs.Unsupported) {
		t.Errorf("saving what is computed from a result gives %v", err)
	}
	for _, v := range []*View{large, computed, again} {
		v.Close()
	}
	for name, c := range map[string]struct {
		column string
		want   []int64
		asked  bool
	}{"large": {"x", []int64{8, 9}, false}, "computed": {"y", []int64{9, 10}, true}} {
		v, info, err := f.Load(t.Context(), f.ds, name, &Query{})
		if err != nil {
			t.Fatal(err)
		}
		if (info.Query != "") != c.asked || info.URI != "mem://ten" {
			t.Errorf("%s: info is %+v", name, info)
		}
		want(t, name, values(t, v, c.column), c.want...)
		v.Close()
	}
	if _, _, err := f.Load(t.Context(), f.ds, "no", &Query{}); !errs.Is(err, errs.NotFound) {
		t.Errorf("loading a view that was never saved gives %v", err)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	all := f.view(t)
	defer all.Close()
	for _, analyze := range []bool{false, true} {
		info, err := f.Explain(t.Context(), all, &Query{Text: "SELECT x WHERE x > 3"}, analyze)
		if err != nil {
			t.Fatal(err)
		}
		if info.Explanation == nil || info.Text == "" || (info.Explanation.Done != nil) != analyze {
			t.Errorf("analyze %v: %+v", analyze, info)
		}
	}
	if _, err := all.Explain(t.Context()); !errs.Is(err, errs.Invalid) {
		t.Errorf("explaining all rows gives %v", err)
	}
	v, _ := f.query(t, all, "SELECT x WHERE x > 3")
	defer v.Close()
	if info, err := v.Explain(t.Context()); err != nil || info.Explanation.Done == nil {
		t.Errorf("explaining a result gives %+v, %v", info, err)
	}
}

// A view closed by one caller stays closed for later callers, and keeps data that others read.
func TestClosedViews(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	v, info := f.query(t, nil, `SELECT x FROM "mem://ten" WHERE x < 2`)
	if len(info.Commits) != 1 {
		t.Errorf("commits are %v", info.Commits)
	}
	part, err := v.Slice(0, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	v.Close()
	want(t, "x", values(t, part, "x"), 0)
	part.Close()
	if _, err := part.Slice(0, 1, 1); !errs.Is(err, errs.Closed) {
		t.Errorf("a slice of a closed view gives %v", err)
	}
	if _, _, err := f.Query(t.Context(), part, &Query{Text: "SELECT x"}); !errs.Is(err, errs.Closed) {
		t.Errorf("a query of a closed view gives %v", err)
	}
}

// TestSavedParams asks a saved query again, by its name and by the text of its parameters.
func TestSavedParams(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	all := f.view(t)
	defer all.Close()
	rows := intRows("", 6)
	six, err := NewParam(&rows)
	if err != nil {
		t.Fatal(err)
	}
	asked, _ := f.query(t, all, "SELECT x + ? AS y WHERE x > 7", six)
	defer asked.Close()
	if err := asked.Save(t.Context(), f.ds, "v", false); err != nil {
		t.Fatal(err)
	}
	saved, err := f.ds.Versions().Views(t.Context())
	if err != nil || len(saved) != 1 || string(saved[0].Params) != "[6]" {
		t.Fatalf("got %+v, %v, want the parameters [6]", saved, err)
	}
	loaded, _, err := f.Load(t.Context(), f.ds, "v", &Query{})
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Close()
	want(t, "a loaded view", values(t, loaded, "y"), 14, 15)
	again, _, err := f.Query(t.Context(), all, &Query{Text: saved[0].Query, SavedParams: saved[0].Params})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	want(t, "the query of a saved view", values(t, again, "y"), 14, 15)
	if _, _, err := f.Query(t.Context(), all, &Query{Text: saved[0].Query, SavedParams: []byte(`[{}]`)}); !errs.Is(err, errs.Corrupt) {
		t.Errorf("a damaged parameter gives %v", err)
	}
}

// TestNamesInQueries resolves deeplake:// by the environment of the query.
func TestNamesInQueries(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	copied := f.view(t)
	defer copied.Close()
	if err := f.Materialize(t.Context(), copied, Copy{URI: "mem://acme/ten"}); err != nil {
		t.Fatal(err)
	}
	q := &Query{Text: `SELECT x FROM "deeplake://acme/ten" WHERE x > 7`}
	q.Storage.Environ = map[string]string{"HOME": "/nowhere", "DEEPLAKE_ROOTS": "acme=mem://acme"}
	v, info, err := f.Query(t.Context(), nil, q)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	want(t, "rows of a name", values(t, v, "x"), 8, 9)
	if info.URI != "mem://acme/ten" || info.Commits["deeplake://acme/ten"] == "" {
		t.Errorf("got %+v, want the place and the commit of the name", info)
	}
	q.Text = `SELECT x FROM "deeplake://acme"`
	if _, _, err := f.Query(t.Context(), nil, q); !errs.Is(err, errs.Invalid) {
		t.Errorf("half a name gives %v", err)
	}
}

func TestRefusedQueries(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	all := f.view(t)
	defer all.Close()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		of   *View
		q    Query
		kind errs.Kind
	}{
		"budget":     {t.Context(), all, Query{Text: "SELECT x", Budget: -1}, errs.Invalid},
		"text":       {t.Context(), all, Query{Text: "SELECT"}, errs.Invalid},
		"no dataset": {t.Context(), nil, Query{Text: "SELECT 1 AS x"}, errs.Invalid},
		"canceled":   {gone, all, Query{Text: "SELECT SUM(x) AS y"}, errs.Canceled},
	} {
		if _, _, err := f.Query(c.ctx, c.of, &c.q); !errs.Is(err, c.kind) {
			t.Errorf("%s: %v, want %v", name, err, c.kind)
		}
	}
	if _, err := NewParam(&tensor.Rows{Tensor: "week"}); !errs.Is(err, errs.Invalid) {
		t.Errorf("an unknown unit gives %v", err)
	}
	half := tensor.Rows{Array: &tensor.Array{DType: tensor.BFloat16, Data: make([]byte, 2)}}
	if _, err := NewParam(&half); !errs.Is(err, errs.Type) {
		t.Errorf("a bfloat16 parameter gives %v", err)
	}
}

func TestWeightsAndMixes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	all := f.view(t)
	defer all.Close()
	if _, err := all.WithWeights(make([]float64, 3)); !errs.Is(err, errs.Invalid) {
		t.Errorf("three weights for ten rows give %v", err)
	}
	weighed, err := all.WithWeights([]float64{0, 0, 0, 0, 0, 0, 0, 0, 0, 1})
	if err != nil {
		t.Fatal(err)
	}
	defer weighed.Close()
	l, err := weighed.Load(t.Context(), loader.Options{BatchSize: 4, Length: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	epoch, err := l.Start(t.Context(), order.Pass{})
	if err != nil {
		t.Fatal(err)
	}
	defer epoch.Close()
	b, err := epoch.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want(t, "a batch of the one row with a weight", column(b), 9, 9, 9, 9)
	b.Release()
	if _, err := Mix(t.Context(), []Part{{all, "a"}, {weighed, "b"}}, order.MixPolicy{}, loader.Options{BatchSize: 1}); !errs.Is(err, errs.Invalid) {
		t.Errorf("a mix of rows with weights gives %v", err)
	}
	m, err := Mix(t.Context(), []Part{{all, "a"}, {all, "b"}}, order.MixPolicy{Mode: "sequential"}, loader.Options{BatchSize: 5})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if n, err := m.Batches(order.Pass{}); err != nil || n != 4 {
		t.Errorf("the mix has %d batches, %v; want 4", n, err)
	}
}

func TestMaterialize(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	all := f.view(t)
	defer all.Close()
	v, _ := f.query(t, all, "SELECT x WHERE x > 7")
	defer v.Close()
	if err := f.Materialize(t.Context(), v, Copy{URI: "mem://copy"}); err != nil {
		t.Fatal(err)
	}
	copied, info := f.query(t, nil, `SELECT * FROM "mem://copy"`)
	defer copied.Close()
	if info.URI != "mem://copy" || copied.Describe().Rows != 2 {
		t.Errorf("the copy is %+v", info)
	}
	want(t, "x", values(t, copied, "x"), 8, 9)
}
