package scan

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"deeplake/core/array"
	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/loader"
	"deeplake/core/order"
	"deeplake/core/query"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
)

// stateTensors are the tensors of a dataset of states: numbers, text and vectors.
var stateTensors = []dataset.TensorSpec{
	{Name: "a", DType: "float32"}, {Name: "d", DType: "int64"}, {Name: "t", HType: "text"}, {Name: "v", HType: "embedding"},
}

// stateRows returns values for n rows: those of a first append, or of an update.
func stateRows(n int, updated bool, r *rand.Rand) []tensor.Rows {
	a, d, v := make([]float32, n), make([]int64, n), make([]float32, 16*n)
	texts := tensor.Rows{Tensor: "t"}
	for i := range n {
		a[i], d[i] = float32(r.NormFloat64()), r.Int64N(40000)
		texts.Samples = append(texts.Samples, textOf(tensor.String, fmt.Sprintf("word %d and %d", i%97, i)))
	}
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	out := []tensor.Rows{
		{Tensor: "a", Array: &tensor.Array{DType: tensor.Float32, Shape: tensor.Shape{}, Data: array.Bytes(a)}},
		{Tensor: "v", Array: &tensor.Array{DType: tensor.Float32, Shape: tensor.Shape{16}, Data: array.Bytes(v)}}, texts,
	}
	if !updated {
		out = append(out, tensor.Rows{Tensor: "d", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: array.Bytes(d)}})
	}
	return out
}

// states returns views of equal datasets of n rows, each changed in its way.
func states(t testing.TB, env *dataset.Env, n int, uri func(name string) string) map[string]*dataset.View {
	t.Helper()
	ctx := context.Background()
	r := rand.New(rand.NewPCG(4, 8))
	third := make([]int64, 0, n/3+1)
	for row := 0; row < n; row += 3 {
		third = append(third, int64(row))
	}
	commit := func(d *dataset.Dataset) {
		t.Helper()
		if _, err := d.Commit(ctx, ""); err != nil {
			t.Fatal(err)
		}
	}
	out := map[string]*dataset.View{}
	make := func(name string, change func(d *dataset.Dataset) error) *dataset.View {
		t.Helper()
		d := must[*dataset.Dataset](t)(dataset.Create(ctx, env, uri(name), dataset.CreateOptions{}))
		t.Cleanup(func() { _ = d.Close() })
		for _, spec := range stateTensors {
			if err := d.CreateTensor(ctx, spec); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Append(ctx, stateRows(n, false, r), int64(n)); err != nil {
			t.Fatal(err)
		}
		commit(d)
		if err := change(d); err != nil {
			t.Fatal(err)
		}
		commit(d)
		out[name] = must[*dataset.View](t)(d.View(ctx))
		return out[name]
	}
	fresh := make("fresh", func(*dataset.Dataset) error { return nil })
	out["every second row"] = must[*dataset.View](t)(fresh.Slice(0, int64(n), 2))
	make("a third deleted", func(d *dataset.Dataset) error { return d.DeleteRows(ctx, third) })
	make("a third updated", func(d *dataset.Dataset) error { return d.Update(ctx, third, stateRows(len(third), true, r)) })
	make("in ten commits", func(d *dataset.Dataset) error {
		for k := range 10 {
			var part []int64
			for i := k; i < len(third); i += 10 {
				part = append(part, third[i])
			}
			if err := d.Update(ctx, part, stateRows(len(part), true, r)); err != nil {
				return err
			}
			commit(d)
		}
		return nil
	})
	make("deleted and updated", func(d *dataset.Dataset) error {
		some := func(part int) (rows []int64) {
			v := must[*dataset.View](t)(d.View(ctx))
			for row := range v.Len() {
				if r.IntN(part) == 0 {
					rows = append(rows, row)
				}
			}
			return rows
		}
		if err := d.DeleteRows(ctx, some(4)); err != nil {
			return err
		}
		for range 5 {
			commit(d)
			part := some(50)
			if err := d.Update(ctx, part, stateRows(len(part), true, r)); err != nil {
				return err
			}
			if err := d.DeleteRows(ctx, some(100)); err != nil {
				return err
			}
		}
		return nil
	})
	make("a year of commits", func(d *dataset.Dataset) error {
		for range 100 {
			var part []int64
			for row := range int64(n) {
				if r.IntN(100) == 0 {
					part = append(part, row)
				}
			}
			if err := d.Update(ctx, part, stateRows(len(part), true, r)); err != nil {
				return err
			}
			commit(d)
		}
		return nil
	})
	return out
}

var stateNames = []string{"fresh", "every second row", "a third deleted", "a third updated", "in ten commits", "deleted and updated", "a year of commits"}

// readCounter counts the reads of a store, each of a block of a chunk or of several.
type readCounter struct{ reads, bytes atomic.Int64 }

// stateWork are the queries of the datasets of states.
var stateWork = []struct{ name, text string }{
	{"SUM", "SELECT SUM(a) AS s"},
	{"WHERE", "SELECT * WHERE a > 0.5 AND d % 7 = 1"},
	{"LIKE", "SELECT * WHERE t LIKE '%word 13%'"},
	{"GROUP BY", "SELECT d % 100 AS g, COUNT(*) AS n GROUP BY g"},
	{"ORDER BY", "SELECT d ORDER BY a LIMIT 10"},
	{"nearest", "SELECT d ORDER BY L2_NORM(v - ?) LIMIT 10"},
}

// stateVector is the parameter of the query for the nearest vectors.
func stateVector() *array.Column {
	return &array.Column{Type: array.Type{DType: tensor.Float32, Dims: 1, Shape: tensor.Shape{16}}, N: 1, Same: tensor.Shape{16}, Data: make([]float32, 16)}
}

// TestStateReads counts the reads of blocks that queries and epochs make of datasets which were
// changed. A path that reads rows one by one needs thousands.
func TestStateReads(t *testing.T) {
	t.Parallel()
	const rows = 30_000
	ctx := context.Background()
	counter, space := &readCounter{}, &mem.Space{}
	open := func(ctx context.Context, name string, o storage.Options) (p storage.Provider, err error) {
		p, err = space.Open(ctx, name, o)
		return &counting{p, counter}, err
	}
	env := &dataset.Env{Stores: storage.Registry{"mem": open}, Codecs: all.All(), Writer: "test"}
	views := states(t, env, rows, func(name string) string { return "mem://" + strings.ReplaceAll(name, " ", "-") })
	count := func(run func()) (reads, bytes int64) {
		reads, bytes = counter.reads.Load(), counter.bytes.Load()
		run()
		return counter.reads.Load() - reads, counter.bytes.Load() - bytes
	}
	check := func(work string, run func(v *dataset.View)) {
		t.Helper()
		fresh, all := count(func() { run(views["fresh"]) })
		for _, name := range stateNames[1:] {
			v := views[name]
			reads, bytes := count(func() { run(v) })
			// Every chunk of updates that rows still lie in may be read once more for each thread.
			most, mostBytes := 3*fresh+16, 3*all+1<<20
			if name == "a year of commits" {
				most, mostBytes = 20*fresh+2000, 6*all+16<<20
			}
			if reads > most || bytes > mostBytes {
				t.Errorf("%s, %s: %d reads of %d bytes; the new dataset takes %d of %d", work, name, reads, bytes, fresh, all)
			}
		}
	}
	for _, q := range stateWork {
		check(q.name, func(v *dataset.View) {
			o := query.Options{}
			if q.name == "nearest" {
				o.Params = []any{stateVector()}
			}
			p := must[*query.Plan](t)(query.Prepare(ctx, q.text, Of(v), nil, o))
			must[*query.Result](t)(p.Run(ctx))
		})
	}
	for _, shuffle := range []string{order.Sequential, order.Window} {
		for _, tensors := range [][]string{{"a", "d"}, {"v"}, {"t"}} {
			check(fmt.Sprint("epoch ", shuffle, tensors), func(v *dataset.View) {
				epoch(t, Plain(v), loader.Options{BatchSize: 1024, Tensors: tensors, Shuffle: shuffle}, 0)
			})
		}
	}
	check("column", func(v *dataset.View) {
		reader := loader.NewReader(Plain(v))
		defer reader.Close()
		list := make([]int64, v.Len())
		for i := range list {
			list[i] = int64(i)
		}
		must[*loader.Batch](t)(reader.Read(ctx, list, loader.ReadOptions{Tensors: []string{"a"}})).Release()
	})
}

// TestRemoteStates counts the requests of queries over a network, and the times that they wait for
// each other: chunks of updates come with one request each, all at once.
func TestRemoteStates(t *testing.T) {
	const rows = 30_000
	ctx := context.Background()
	space := &mem.Space{}
	near := &dataset.Env{Stores: storage.Registry{"mem": space.Open}, Codecs: all.All(), Writer: "test"}
	uri := func(name string) string { return "mem://" + strings.ReplaceAll(name, " ", "-") }
	views := states(t, near, rows, uri)
	answer := func(t *testing.T, v *dataset.View, text string) string {
		t.Helper()
		var params []any
		if strings.Contains(text, "?") {
			params = append(params, stateVector())
		}
		p := must[*query.Plan](t)(query.Prepare(ctx, text, Of(v), nil, query.Options{Params: params}))
		r := must[*query.Result](t)(p.Run(ctx))
		out := fmt.Sprint(r.N)
		for i := range r.Sources {
			out += fmt.Sprint(" ", r.Sources[i].Rows)
		}
		for i := range r.Outputs {
			if r.Outputs[i].Values != nil {
				out += fmt.Sprint(" ", r.Outputs[i].Name, " ", r.Outputs[i].Values.Data)
			}
		}
		return out
	}
	for _, q := range stateWork {
		want := map[string]string{}
		for name, v := range views {
			want[name] = answer(t, v, q.text)
		}
		synctest.Test(t, func(t *testing.T) {
			measure := func(name string) (requests int, took time.Duration) {
				var store *remoteStore
				far := &dataset.Env{Codecs: all.All(), Writer: "test", Stores: storage.Registry{"mem": func(ctx context.Context, name string, o storage.Options) (storage.Provider, error) {
					p, err := space.Open(ctx, name, o)
					store = &remoteStore{Provider: p, bytes: map[string]int64{}}
					return store, err
				}}}
				began := time.Now()
				d := must[*dataset.Dataset](t)(dataset.Open(ctx, far, uri(name), dataset.OpenOptions{ReadOnly: true}))
				defer func() { _ = d.Close() }()
				if got := answer(t, must[*dataset.View](t)(d.View(ctx)), q.text); got != want[name] {
					t.Errorf("%s, %s: %.200s over a network, want %.200s", q.name, name, got, want[name])
				}
				return store.asked, time.Since(began)
			}
			fresh, waited := measure("fresh")
			for _, name := range stateNames[2:] {
				most := fresh + 1 // the page of deleted rows
				switch name {
				case "deleted and updated":
					most += 6
				case "a year of commits": // and the updates since the last rewriting
					most += 24
				}
				if n, took := measure(name); n > most || took > waited+40*time.Millisecond {
					t.Errorf("%s, %s: %d requests in %s, want at most %d; a new dataset takes %d in %s", q.name, name, n, took, most, fresh, waited)
				}
			}
		})
	}
}

// counting is a store whose reads are counted.
type counting struct {
	storage.Provider
	to *readCounter
}

func (c *counting) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	c.to.reads.Add(1)
	c.to.bytes.Add(int64(len(dst)))
	return c.Provider.ReadAt(ctx, key, dst, off)
}

// epoch loads all batches.
func epoch(t testing.TB, src loader.Source, o loader.Options, n int64) {
	t.Helper()
	ctx := context.Background()
	l := must[*loader.Loader](t)(loader.Open(ctx, src, o))
	defer l.Close()
	e := must[*loader.Epoch](t)(l.Start(ctx, order.Pass{Epoch: n}))
	defer e.Close()
	for {
		batch := must[*loader.Batch](t)(e.Next(ctx))
		if batch == nil {
			return
		}
		batch.Release()
	}
}

// BenchmarkStates runs queries of datasets that were changed in several ways. The figure to compare
// is the time a row.
func BenchmarkStates(b *testing.B) {
	ctx := context.Background()
	views := states(b, testEnv(), 200_000, func(string) string { return "file://" + b.TempDir() + "/d" })
	for _, q := range stateWork {
		for _, name := range stateNames {
			v := views[name]
			b.Run(q.name+"/"+name, func(b *testing.B) {
				o := query.Options{}
				if q.name == "nearest" {
					o.Params = []any{stateVector()}
				}
				for b.Loop() {
					p, err := query.Prepare(ctx, q.text, Of(v), nil, o)
					if err != nil {
						b.Fatal(err)
					}
					if _, err := p.Run(ctx); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(v.Len()), "ns/row")
			})
		}
	}
}

// BenchmarkStatesLoad loads epochs of the same datasets.
func BenchmarkStatesLoad(b *testing.B) {
	ctx := context.Background()
	views := states(b, testEnv(), 200_000, func(string) string { return "file://" + b.TempDir() + "/d" })
	for _, load := range []struct {
		name    string
		options loader.Options
	}{
		{"numbers in order", loader.Options{BatchSize: 1024, Tensors: []string{"a", "d"}}},
		{"numbers shuffled", loader.Options{BatchSize: 1024, Tensors: []string{"a", "d"}, Shuffle: order.Window}},
		{"all shuffled", loader.Options{BatchSize: 1024, Shuffle: order.Window}},
	} {
		for _, name := range stateNames {
			v := views[name]
			b.Run(load.name+"/"+name, func(b *testing.B) {
				l := must[*loader.Loader](b)(loader.Open(ctx, Plain(v), load.options))
				defer l.Close()
				for epoch := int64(0); b.Loop(); epoch++ {
					e := must[*loader.Epoch](b)(l.Start(ctx, order.Pass{Epoch: epoch}))
					for {
						batch := must[*loader.Batch](b)(e.Next(ctx))
						if batch == nil {
							break
						}
						batch.Release()
					}
					e.Close()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(v.Len()), "ns/row")
			})
		}
	}
}

// TestTextsOfGaps holds that few texts of a block do not keep the memory of all of them.
func TestTextsOfGaps(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const size = 200
	d := must[*dataset.Dataset](t)(dataset.Create(ctx, testEnv(), "mem://gaps", dataset.CreateOptions{}))
	defer func() { _ = d.Close() }()
	if err := d.CreateTensor(ctx, dataset.TensorSpec{Name: "t", HType: "text"}); err != nil {
		t.Fatal(err)
	}
	rows := tensor.Rows{Tensor: "t"}
	for i := range 100 {
		rows.Samples = append(rows.Samples, textOf(tensor.String, strings.Repeat(string(rune('a'+i%26)), size)))
	}
	if err := d.Append(ctx, []tensor.Rows{rows}, 100); err != nil {
		t.Fatal(err)
	}
	must[any](t)(d.Commit(ctx, ""))
	table := Of(must[*dataset.View](t)(d.View(ctx)))
	reader := table.Reader()
	defer reader.Close()
	for _, c := range []struct {
		name   string
		rows   []int64
		shared bool // the texts stay where they were read
	}{{"all", []int64{5, 6, 7, 8}, true}, {"few", []int64{5, 60, 90}, false}} {
		texts := must[*array.Column](t)(reader.Read(ctx, 0, query.Rows{N: int64(len(c.rows)), List: c.rows}, query.Values, nil)).Data.([]string)
		for i, row := range c.rows {
			if want := strings.Repeat(string(rune('a'+row%26)), size); texts[i] != want {
				t.Errorf("%s: row %d is %q", c.name, row, texts[i])
			}
		}
		apart := uintptr(unsafe.Pointer(unsafe.StringData(texts[1]))) - uintptr(unsafe.Pointer(unsafe.StringData(texts[0])))
		if shared := apart == uintptr(size*(c.rows[1]-c.rows[0])); shared != c.shared {
			t.Errorf("%s: texts share the memory of a block: %v, want %v", c.name, shared, c.shared)
		}
	}
}
