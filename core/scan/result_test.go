package scan

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"deeplake/core/array"
	"deeplake/core/chunk"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/order"
	"deeplake/core/query"
	"deeplake/core/read"
	"deeplake/core/storage"
	"deeplake/core/tensor"
	"deeplake/core/version"
)

// ask results a query on a view.
func ask(t testing.TB, env *dataset.Env, v *dataset.View, text string, params ...any) *Result {
	t.Helper()
	return resultOf(t, env, Plain(v), text, params...)
}

// resultOf asks a query of a result.
func resultOf(t testing.TB, env *dataset.Env, a *Result, text string, params ...any) *Result {
	t.Helper()
	return keptResult(t, env, a, keepComputed, text, params...)
}

// keptResult asks a query of a result, and keeps computed columns in a given way.
func keptResult(t testing.TB, env *dataset.Env, a *Result, keep keeping, text string, params ...any) *Result {
	t.Helper()
	ctx := context.Background()
	tables := NewTables(env, "", false, storage.Options{})
	t.Cleanup(func() { _ = tables.Close() })
	p, err := query.Prepare(ctx, text, a.Table(), tables, query.Options{Params: params})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	r, err := p.Run(ctx)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	words := fmt.Sprintf("%s\x00%s %v", a.Fingerprint(), p.Text(), params)
	return must[*Result](t)(newResult(ctx, env, a.Base(), slices.Concat(a.Reads(), tables.Views()), r, words, keep))
}

// cells reads a column of a result row by row.
func cells(t testing.TB, a *Result, name string) []cell {
	t.Helper()
	w := a.NewWorker()
	defer w.Close()
	return rowByRow(t, must[read.Column](t)(a.Column(name)), a.Len(), w)
}

// rowByRow decodes each of n rows by itself. The stored form must exist, too.
func rowByRow(t testing.TB, col read.Column, n int64, w *chunk.Worker) []cell {
	t.Helper()
	ctx := context.Background()
	out := make([]cell, n)
	for i := range out {
		refs := make([]chunk.Ref, 1)
		if err := col.Resolve(ctx, []int64{int64(i)}, refs); err != nil {
			t.Fatal(err)
		}
		if out[i].hole = refs[0].Hole(); out[i].hole {
			continue
		}
		if col.Sequence() {
			items := make([]chunk.Ref, refs[0].Items)
			if err := col.Items(ctx, &refs[0], items); err != nil {
				t.Fatal(err)
			}
			refs = items
		}
		for k := range refs {
			data, stored := make([]byte, refs[k].Size), make([]byte, refs[k].Stored)
			if err := col.Decode(ctx, &refs[k], data, w); err != nil {
				t.Fatal(err)
			}
			if err := col.Stored(ctx, &refs[k], stored, w); err != nil && refs[k].Tiles == nil {
				t.Fatal(err)
			}
			out[i].data, out[i].shapes = append(out[i].data, data), append(out[i].shapes, refs[k].Shape)
		}
	}
	return out
}

// says returns a column in short: numbers, text, null, lists in brackets.
func says(t testing.TB, a *Result, name string) string {
	t.Helper()
	col := must[read.Column](t)(a.Column(name))
	var rows []string
	for _, c := range cells(t, a, name) {
		var items []string
		for _, data := range c.data {
			switch d := col.DType(); {
			case !d.Fixed():
				items = append(items, string(data))
			case d == tensor.Int64:
				for i := 0; i < len(data); i += 8 {
					items = append(items, fmt.Sprint(int64(binary.LittleEndian.Uint64(data[i:]))))
				}
			case d == tensor.Float64:
				items = append(items, fmt.Sprint(math.Float64frombits(binary.LittleEndian.Uint64(data))))
			case d == tensor.Float32:
				for i := 0; i < len(data); i += 4 {
					items = append(items, fmt.Sprint(math.Float32frombits(binary.LittleEndian.Uint32(data[i:]))))
				}
			default:
				items = append(items, fmt.Sprint(data))
			}
		}
		switch {
		case c.hole:
			rows = append(rows, "null")
		case col.Sequence():
			rows = append(rows, "["+strings.Join(items, " ")+"]")
		default:
			rows = append(rows, strings.Join(items, ","))
		}
	}
	return strings.Join(rows, " ")
}

// small returns a dataset of six rows.
func small(t testing.TB, env *dataset.Env, uri string) *dataset.Dataset {
	t.Helper()
	ctx := context.Background()
	d := must[*dataset.Dataset](t)(dataset.Create(ctx, env, uri, dataset.CreateOptions{}))
	t.Cleanup(func() { _ = d.Close() })
	for _, s := range []dataset.TensorSpec{
		{Name: "x", DType: "int64"}, {Name: "y", DType: "float64"}, {Name: "name", HType: "text"}, {Name: "label", HType: "class_label", ClassNames: []string{"cat", "dog"}},
		{Name: "v", HType: "embedding", DType: "float32"}, {Name: "day", DType: "date"},
	} {
		if err := d.CreateTensor(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	x := []int64{5, 3, 8, 1, 9, 2}
	label := []int64{0, 1, 0, 1, 1, 0}
	rows := []tensor.Rows{
		{Tensor: "x", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: array.Bytes(x)}},
		{Tensor: "y"}, {Tensor: "name"},
		{Tensor: "label", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: array.Bytes(label)}},
		{Tensor: "v", Array: &tensor.Array{DType: tensor.Float32, Shape: tensor.Shape{2}, Data: array.Bytes([]float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})}},
		{Tensor: "day", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: array.Bytes(x)}},
	}
	for i := range x {
		y := tensor.Sample{DType: tensor.Float64, Shape: tensor.Shape{}, Data: array.Bytes([]float64{float64(i) / 2})}
		if i == 2 {
			y = tensor.Sample{Form: tensor.FormHole}
		}
		rows[1].Samples = append(rows[1].Samples, y)
		rows[2].Samples = append(rows[2].Samples, textOf(tensor.String, string(rune('a'+i))))
	}
	if err := d.Append(ctx, rows, int64(len(x))); err != nil {
		t.Fatal(err)
	}
	_ = must[version.Committed](t)(d.Commit(ctx, "six"))
	return d
}

// TestHeld holds that columns in place are those of a dataset in memory, to readers and to queries.
func TestHeld(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	v := must[*dataset.View](t)(small(t, env, "mem://d").View(ctx))
	first := "SELECT label, name, LIST(y) AS l, LIST(v) AS w, COUNT(*) AS n, MIN(name) AS low, NULL AS none GROUP BY label, name ORDER BY name"
	a := keptResult(t, env, Plain(v), cacheComputed, first)
	b := keptResult(t, env, Plain(v), holdComputed, first)
	for _, name := range a.Names() {
		if got, want := says(t, b, name), says(t, a, name); got != want {
			t.Errorf("column %q is %s, want %s", name, got, want)
		}
	}
	for _, text := range []string{
		"SELECT name AS r WHERE LENGTH(l) > 0 AND l IS NOT NULL", "SELECT SHAPE(l) AS r", "SELECT l[0] AS r WHERE LENGTH(l) > 0", "SELECT low AS r WHERE n = 1 ORDER BY low DESC",
		"SELECT w[0][0:1] AS r", "SELECT none AS r", "SELECT SHAPE(w) AS r",
	} {
		want := says(t, keptResult(t, env, a, cacheComputed, text), "r")
		if got := says(t, keptResult(t, env, b, holdComputed, text), "r"); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestResult(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	d := small(t, env, "mem://d")
	small(t, env, "mem://other")
	v := must[*dataset.View](t)(d.View(ctx))
	for _, c := range []struct {
		query, rows string            // rows: of the dataset; "none": of no single one
		want        map[string]string // column, its message
	}{
		{"SELECT * WHERE x > 4", "0 2 4", map[string]string{"x": "5 8 9", "y": "0 null 2", "name": "a c e", "label": "0 0 1"}},
		{"SELECT x AS n, name AS x ORDER BY n DESC LIMIT 3", "4 2 0", map[string]string{"n": "9 8 5", "x": "e c a"}},
		{"SELECT x * 2 AS twice, y + 1 AS next, name || '!' AS loud, v[0] AS first WHERE label = 'cat'", "0 2 5",
			map[string]string{"twice": "10 16 4", "next": "1 null 3.5", "loud": "a! c! f!", "first": "0 4 10"}},
		{"SELECT x, x + 1 AS more, x AS again LIMIT 2", "0 1", map[string]string{"x": "5 3", "more": "6 4", "again": "5 3"}},
		{"SELECT label, COUNT(*) AS n, SUM(x) AS total GROUP BY label ORDER BY label", "none", map[string]string{"label": "0 1", "n": "3 3", "total": "15 13"}},
		{"SELECT label, x GROUP BY label ORDER BY label", "none", map[string]string{"label": "0 1", "x": "[5 8 2] [3 1 9]"}},
		{"SELECT a.x AS ax, b.name AS bn FROM \"mem://d\" a LEFT JOIN \"mem://other\" b ON a.x = b.x AND b.label = 'dog' ORDER BY ax", "none",
			map[string]string{"ax": "1 2 3 5 8 9", "bn": "d null b null null e"}},
		{"SELECT day WHERE FALSE", "", map[string]string{"day": ""}},
		{"SELECT NULL AS nothing, 3 AS three LIMIT 2", "0 1", map[string]string{"nothing": "null null", "three": "3 3"}},
		{"SELECT v * 2 AS w, SHAPE(v) AS s LIMIT 2", "0 1", map[string]string{"w": "0,2 4,6", "s": "2 2"}},
	} {
		a := ask(t, env, v, c.query)
		for name, want := range c.want {
			if got := says(t, a, name); got != want {
				t.Errorf("%s: column %q is %s, want %s", c.query, name, got, want)
			}
		}
		rows := make([]int64, a.Len())
		if err := a.Rows(rows); c.rows == "none" {
			if !errs.Is(err, errs.Unsupported) {
				t.Errorf("%s: rows are %v, %v, want an error", c.query, rows, err)
			}
		} else if err != nil || fmt.Sprint(rows) != "["+c.rows+"]" {
			t.Errorf("%s: rows are %v, %v, want %s", c.query, rows, err, c.rows)
		}
		// Parts of a result, and questions to it.
		if a.Len() > 1 {
			part := must[*Result](t)(must[*Result](t)(a.Select([]int64{1, 0, 1})).Slice(0, 2, 1))
			for name, want := range c.want {
				w := strings.Fields(want)
				if strings.Contains(want, "[") {
					w = strings.SplitAfter(want, "] ")
					w[0] = strings.TrimSpace(w[0])
				}
				if got := says(t, part, name); got != w[1]+" "+w[0] {
					t.Errorf("%s: part of column %q is %s, want %s %s", c.query, name, got, w[1], w[0])
				}
			}
		}
		again := resultOf(t, env, a, "SELECT * LIMIT 1 OFFSET 1")
		for name, want := range c.want {
			if w := strings.Fields(want); len(w) > 1 && !strings.Contains(want, "[") && says(t, again, name) != w[1] {
				t.Errorf("%s: asked again, column %q is %s, want %s", c.query, name, says(t, again, name), w[1])
			}
		}
	}
}

func TestResultKeepsWhatColumnsMean(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	d := small(t, env, "mem://d")
	v := must[*dataset.View](t)(d.View(ctx))
	a := ask(t, env, v, "SELECT label AS kind, day AS when_, day + 1 AS later, x AS n, x + 0 AS m, v AS e")
	htypes := map[string]string{"kind": "class_label", "when_": "generic", "later": "generic", "n": "generic", "m": "generic", "e": "embedding"}
	for _, x := range a.Describe().Tensors {
		if x.HType != htypes[x.Name] || x.DType == nil {
			t.Errorf("%q is %s", x.Name, x.HType)
		}
		if x.Name == "kind" && !slices.Equal(x.ClassNames, []string{"cat", "dog"}) {
			t.Errorf("class names are %q", x.ClassNames)
		}
	}
	if got := a.Names(); !slices.Equal(got, []string{"kind", "when_", "later", "n", "m", "e"}) {
		t.Errorf("names are %q", got)
	}
	if _, err := a.Column("kinds"); !errs.Is(err, errs.NotFound) || !strings.Contains(err.Error(), `"kind"`) {
		t.Errorf("unknown column: %v", err)
	}
	if got := ask(t, env, v, "SELECT x, x, y AS x").Names(); !slices.Equal(got, []string{"x", "x_1", "x_2"}) {
		t.Errorf("names that repeat are %q", got)
	}
}

func TestResultIdentity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	d := small(t, env, "mem://d")
	v := must[*dataset.View](t)(d.View(ctx))
	identity := func(a *Result) string {
		t.Helper()
		set, commit, rows, err := a.Identity()
		if err != nil || commit == "" {
			t.Fatal(commit, err)
		}
		return set + commit + rows
	}
	seen := map[string]string{identity(Plain(v)): "all"}
	for _, q := range []string{"SELECT * WHERE x > 4", "SELECT x + 1 AS y WHERE x > 4", "SELECT x + 2 AS y WHERE x > 4", "SELECT label, COUNT(*) GROUP BY label"} {
		a := ask(t, env, v, q)
		id := identity(a)
		if was := seen[id]; was != "" {
			t.Errorf("%s is %s", q, was)
		}
		if id != identity(ask(t, env, v, q)) {
			t.Errorf("%s is not itself", q)
		}
		part := must[*Result](t)(a.Select([]int64{1}))
		seen[id], seen[identity(part)] = q, "part of "+q
		if _, bad := seen[identity(must[*Result](t)(a.Select([]int64{0})))]; bad {
			t.Errorf("%s: parts are alike", q)
		}
	}
	// Of results, and of other datasets: earlier queries count, and every version read.
	other := small(t, env, "mem://other")
	of := func(steps ...string) string {
		a := Plain(v)
		for _, q := range steps {
			a = resultOf(t, env, a, q)
		}
		return identity(a)
	}
	nested := [][]string{
		{"SELECT x + 1 AS y", "SELECT y * 2 AS z"}, {"SELECT x + 100 AS y", "SELECT y * 2 AS z"},
		{"SELECT x, x + 1 AS y", "SELECT *"}, {"SELECT x, x + 2 AS y", "SELECT *"}, {"SELECT x + 1 AS y WHERE x > 2", "SELECT *"},
		{"SELECT x % 3 AS g, COUNT(*) AS n GROUP BY x % 3", "SELECT n ORDER BY g"}, {"SELECT x % 2 AS g, COUNT(*) AS n GROUP BY x % 2", "SELECT n ORDER BY g"},
	}
	foreign := []string{
		"SELECT a.label AS l, COUNT(*) AS n FROM dataset a JOIN \"mem://other\" b ON a.x = b.x GROUP BY a.label",
		"SELECT x + 1 AS y WHERE x < (SELECT MAX(x) FROM \"mem://other\")",
		"SELECT x, x + 1 AS y WHERE x IN (SELECT x FROM \"mem://other\" WHERE x > 4)",
	}
	was := map[string]string{}
	for _, q := range foreign {
		nested = append(nested, []string{q}, []string{q, "SELECT *"})
	}
	for _, steps := range nested {
		id := of(steps...)
		if before := seen[id]; before != "" {
			t.Errorf("%q is %s", steps, before)
		}
		if id != of(steps...) {
			t.Errorf("%q is not itself", steps)
		}
		seen[id], was[steps[0]] = fmt.Sprint(steps), id
	}
	if err := other.DeleteRows(ctx, []int64{0}); err != nil {
		t.Fatal(err)
	}
	_ = must[version.Committed](t)(other.Commit(ctx, ""))
	for _, q := range foreign {
		if of(q, "SELECT *") == was[q] {
			t.Errorf("%s: another version of what was joined is the same", q)
		}
	}
	some := ask(t, env, v, "SELECT * WHERE x > 4")
	same := must[*dataset.View](t)(v.Select([]int64{0, 2, 4}))
	if identity(some) != identity(Plain(same)) {
		t.Error("the same rows are not the same")
	}
}

// TestLoad loads results of all sorts, twice, and goes on from a state.
func TestLoad(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	d := small(t, env, "mem://d")
	v := must[*dataset.View](t)(d.View(ctx))
	lazy := large(t, env)
	for _, a := range []*Result{ask(t, env, v, "SELECT x, name, v * 2 AS w, x + 1 AS z ORDER BY x"), ask(t, env, v, "SELECT x AS z, x AS x WHERE x > 2"), lazy} {
		open := func() *loader.Loader {
			l := must[*loader.Loader](t)(loader.Open(ctx, a, loader.Options{BatchSize: 2, Collate: loader.List, Shuffle: order.Full, Seed: 3, Tensors: []string{"z"}}))
			t.Cleanup(l.Close)
			return l
		}
		read := func(l *loader.Loader, p order.Pass, most int) (rows [][]byte) {
			e := must[*loader.Epoch](t)(l.Start(ctx, p))
			defer e.Close()
			for range most {
				b := must[*loader.Batch](t)(e.Next(ctx))
				if b == nil {
					break
				}
				var all []byte
				for _, it := range b.Columns[0].Items {
					all = append(all, b.Slab.Bytes()[it.Offset:it.Offset+it.Size]...)
				}
				rows = append(rows, all)
				b.Release()
			}
			return rows
		}
		all := read(open(), order.Pass{}, 3)
		s := must[loader.State](t)(open().State(0, 2))
		state := must[[]byte](t)(json.Marshal(s))
		l := open()
		rest := read(l, must[order.Pass](t)(l.Resume(state)), 2)
		if len(all) < 2 || !slices.EqualFunc(all[1:], rest[:len(all)-1], bytes.Equal) {
			t.Errorf("%q: %d batches, then %d others", a.Names(), len(all), len(rest))
		}
		if rows := must[*loader.Batch](t)(loader.NewReader(a).Read(ctx, []int64{1, 0}, loader.ReadOptions{})); rows.Rows != 2 {
			t.Errorf("%q: %d rows read", a.Names(), rows.Rows)
		}
	}
}

// large returns a result with a column that is computed when it is read.
func large(t testing.TB, env *dataset.Env) *Result {
	t.Helper()
	ctx := context.Background()
	d := must[*dataset.Dataset](t)(dataset.Create(ctx, env, "mem://large", dataset.CreateOptions{}))
	t.Cleanup(func() { _ = d.Close() })
	if err := d.CreateTensor(ctx, dataset.TensorSpec{Name: "v", DType: "float32"}); err != nil {
		t.Fatal(err)
	}
	const rows, n = 1100, 16 << 10
	data := make([]float32, rows*n)
	for i := range data {
		data[i] = float32(i / n)
	}
	if err := d.Append(ctx, []tensor.Rows{{Tensor: "v", Array: &tensor.Array{DType: tensor.Float32, Shape: tensor.Shape{n}, Data: array.Bytes(data)}}}, rows); err != nil {
		t.Fatal(err)
	}
	_ = must[version.Committed](t)(d.Commit(ctx, ""))
	v := must[*dataset.View](t)(d.View(ctx))
	a := ask(t, env, v, "SELECT v * 2 AS z, v AS v")
	if a.table.fields[0].compute == nil {
		t.Fatal("a large column is computed at once")
	}
	return a
}

func TestLazy(t *testing.T) {
	t.Parallel()
	env := testEnv()
	a := large(t, env)
	part := must[*Result](t)(a.Select([]int64{900, 3, 3}))
	c := cells(t, part, "z")
	for i, want := range []float32{1800, 6, 6} {
		if got := math.Float32frombits(binary.LittleEndian.Uint32(c[i].data[0][4:])); got != want || len(c[i].data[0]) != 64<<10 || !c[i].shapes[0].Equal(tensor.Shape{16 << 10}) {
			t.Errorf("row %d is %v of %v, want %v", i, got, c[i].shapes[0], want)
		}
	}
	if got := says(t, resultOf(t, env, part, "SELECT z[0] + 1 AS one, SHAPE(z)[0] AS n LIMIT 2"), "one"); got != "1801 7" {
		t.Errorf("asked again: %s", got)
	}
}

func TestSaveAndLoad(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	d := small(t, env, "mem://d")
	v := must[*dataset.View](t)(d.View(ctx))
	asked := 0
	again := func(ctx context.Context, base *dataset.View, s dataset.SavedView) (*Result, error) {
		asked++
		var params []any
		if err := json.Unmarshal(s.Params, &params); err != nil {
			t.Fatal(err)
		}
		return ask(t, env, base, s.Query, params...), nil
	}
	for i, c := range []struct {
		query string
		again bool
		want  map[string]string
	}{
		{"SELECT x AS n, name WHERE x > ? ORDER BY x", false, map[string]string{"n": "5 8 9", "name": "a c e"}},
		{"SELECT x AS n, x * 2 AS m WHERE x > ? ORDER BY x", true, map[string]string{"n": "5 8 9", "m": "10 16 18"}},
		{"SELECT COUNT(*) AS n WHERE x > ?", true, map[string]string{"n": "3"}},
	} {
		a := ask(t, env, v, c.query, 4.0)
		name := fmt.Sprintf("v%d_", i)
		if err := a.Save(ctx, d, name, QuerySpec{Query: c.query, Params: json.RawMessage("[4]"), Seed: 1}, false); err != nil {
			t.Fatal(err)
		}
		if err := d.DeleteRows(ctx, []int64{0}); err != nil { // a view is of its commit
			t.Fatal(err)
		}
		_ = must[version.Committed](t)(d.Commit(ctx, ""))
		asked = 0
		back, at, err := Load(ctx, d, name, again)
		if err != nil {
			t.Fatal(err)
		}
		for column, want := range c.want {
			if got := says(t, back, column); got != want || (asked > 0) != c.again {
				t.Errorf("%s: column %q is %s, want %s; asked %d times", c.query, column, got, want, asked)
			}
		}
		_ = at.Close()
	}
	part := must[*Result](t)(ask(t, env, v, "SELECT x + 1 AS y").Select([]int64{1}))
	if err := part.Save(ctx, d, "part", QuerySpec{Query: "SELECT x + 1 AS y"}, false); !errs.Is(err, errs.Unsupported) {
		t.Errorf("a part of what is computed: %v", err)
	}
	part = must[*Result](t)(Plain(v).Select([]int64{1, 3}))
	if err := part.Save(ctx, d, "plain", QuerySpec{}, false); err != nil {
		t.Error(err)
	}
}

func TestMaterialize(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := rand.New(rand.NewPCG(5, 2))
	d := testDataset(t, "mem://d", 5)
	if err := d.SetInfo(ctx, map[string]any{"who": "me"}); err != nil {
		t.Fatal(err)
	}
	env := testEnv()
	for name, v := range testViews(t, d, r) {
		a := Plain(v)
		uri := "mem://copy-" + name
		if err := a.Materialize(ctx, env, Copy{URI: uri}); err != nil {
			t.Fatal(err)
		}
		c := must[*dataset.Dataset](t)(dataset.Open(ctx, env, uri, dataset.OpenOptions{}))
		w := must[*dataset.View](t)(c.View(ctx))
		if w.Len() != v.Len() {
			t.Fatalf("%s: %d rows, want %d", name, w.Len(), v.Len())
		}
		for _, k := range kinds() {
			want, got := oracle(t, v, k.Name), oracle(t, w, k.Name)
			for i := range want {
				if want[i].hole != got[i].hole || !slices.EqualFunc(want[i].data, got[i].data, bytes.Equal) {
					t.Fatalf("%s: row %d of %q differs", name, i, k.Name)
				}
			}
		}
		if was, is := v.Describe().Info, w.Describe().Info; len(was) == 0 || !maps.Equal(was, is) {
			t.Errorf("%s: the info is %v, want %v", name, is, was)
		}
		x, y := v.Describe().Tensors, w.Describe().Tensors
		for i := range x {
			if x[i].Name != y[i].Name || x[i].HType != y[i].HType || x[i].Compression != y[i].Compression || !slices.Equal(x[i].ClassNames, y[i].ClassNames) {
				t.Errorf("%s: tensor %+v became %+v", name, x[i], y[i])
			}
		}
		if err := a.Materialize(ctx, env, Copy{URI: uri}); !errs.Is(err, errs.Exists) {
			t.Errorf("%s: over what is there: %v", name, err)
		}
		_ = c.Close()
	}
}

func TestMaterializeFails(t *testing.T) {
	t.Parallel()
	env := testEnv()
	d := small(t, env, "mem://d")
	v := must[*dataset.View](t)(d.View(context.Background()))
	ctx, cancel := context.WithCancel(context.Background())
	a := Plain(v)
	a.table.fields = append(a.table.fields, &field{name: "own", typ: array.Type{DType: tensor.Int64, Shape: tensor.Shape{}}, compute: func(ctx context.Context, rows []int64) (*array.Column, error) {
		cancel() // in the middle of the copy
		return &array.Column{Type: array.Type{DType: tensor.Int64, Shape: tensor.Shape{}}, N: len(rows), Same: tensor.Shape{}, Data: make([]int64, len(rows))}, nil
	}})
	if err := a.Materialize(ctx, env, Copy{URI: "mem://copy"}); !errs.Is(err, errs.Canceled) {
		t.Errorf("ended while it copied: %v", err)
	}
	if found, err := dataset.Exists(context.Background(), env, "mem://copy", storage.Options{}); err != nil || found {
		t.Errorf("a dataset is left: %v, %v", found, err)
	}
}

// TestMaterializeOverFails: a copy that fails leaves the dataset that it was to overwrite.
func TestMaterializeOverFails(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	v := must[*dataset.View](t)(small(t, env, "mem://d").View(ctx))
	for name, old := range map[string]string{"there": "mem://old", "nothing": "mem://new"} {
		if name == "there" {
			small(t, env, old)
		}
		a := Plain(v)
		typ := array.Type{DType: tensor.Int64, Shape: tensor.Shape{}}
		a.table.fields = append(a.table.fields, &field{name: "own", typ: typ, compute: func(ctx context.Context, rows []int64) (*array.Column, error) {
			return nil, errs.New(errs.Invalid, "no value for these rows")
		}})
		if err := a.Materialize(ctx, env, Copy{URI: old, Overwrite: true}); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "no value") {
			t.Fatalf("%s: %v", name, err)
		}
		d, err := dataset.Open(ctx, env, old, dataset.OpenOptions{})
		if name == "nothing" {
			if !errs.Is(err, errs.NotFound) {
				t.Errorf("where there was none, a dataset is left: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := says(t, Plain(must[*dataset.View](t)(d.View(ctx))), "x"); got != "5 3 8 1 9 2" {
			t.Errorf("the old dataset has %s", got)
		}
		_ = d.Close()
	}
}

func TestMaterializeOver(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	v := must[*dataset.View](t)(small(t, env, "mem://d").View(ctx))
	small(t, env, "mem://old")
	small(t, env, "mem://other")
	a := ask(t, env, v, "SELECT x + 1 AS more, name, label AS kind WHERE x > 4 ORDER BY x")
	if err := a.Materialize(ctx, env, Copy{URI: "mem://d", Overwrite: true}); !errs.Is(err, errs.Invalid) {
		t.Errorf("over itself: %v", err)
	}
	for _, q := range []string{
		"SELECT a.x + b.x AS s, a.label AS l FROM dataset a JOIN \"mem://other\" b ON a.x = b.x",
		"SELECT COUNT(*) AS n FROM dataset a JOIN \"mem://other\" b ON a.x = b.x",
		"SELECT x + 1 AS y WHERE x < (SELECT MAX(x) FROM \"mem://other\")",
		"SELECT x FROM \"mem://other\"",
	} {
		first := ask(t, env, v, q)
		part := must[*Result](t)(first.Slice(0, 1, 1))
		for i, a := range []*Result{first, resultOf(t, env, first, "SELECT *"), part, resultOf(t, env, part, "SELECT COUNT(*) AS c")} {
			for _, uri := range []string{"mem://d", "mem://other"} {
				if err := a.Materialize(ctx, env, Copy{URI: uri, Overwrite: true}); !errs.Is(err, errs.Invalid) {
					t.Errorf("%s, %d: over %s, which it reads: %v", q, i, uri, err)
				}
			}
		}
	}
	if err := a.Materialize(ctx, env, Copy{URI: "mem://old", Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	d := must[*dataset.Dataset](t)(dataset.Open(ctx, env, "mem://old", dataset.OpenOptions{}))
	defer func() { _ = d.Close() }()
	c := Plain(must[*dataset.View](t)(d.View(ctx)))
	for name, want := range map[string]string{"more": "6 9 10", "name": "a c e", "kind": "0 0 1"} {
		if got := says(t, c, name); got != want {
			t.Errorf("%q is %s, want %s", name, got, want)
		}
	}
	if err := ask(t, env, v, "SELECT x AS \"a//b\"").Materialize(ctx, env, Copy{URI: "mem://bad"}); err == nil || !strings.Contains(err.Error(), "AS") {
		t.Errorf("a column that no tensor can be called: %v", err)
	}
}

func TestTables(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	d := small(t, env, "mem://d")
	tables := NewTables(env, "", false, storage.Options{})
	first := must[query.Table](t)(tables.Table(ctx, "mem://d", ""))
	if err := d.DeleteRows(ctx, []int64{0}); err != nil {
		t.Fatal(err)
	}
	_ = must[version.Committed](t)(d.Commit(ctx, ""))
	if again := must[query.Table](t)(tables.Table(ctx, "mem://d", "")); again != first || again.Rows() != 6 {
		t.Errorf("the newest version changed to one of %d rows", again.Rows())
	}
	if old := must[query.Table](t)(tables.Table(ctx, "mem://d", "1")); old.Rows() != 6 {
		t.Errorf("version 1 has %d rows", old.Rows())
	}
	if now := must[query.Table](t)(tables.Table(ctx, "mem://d", "main")); now.Rows() != 5 {
		t.Errorf("main has %d rows", now.Rows())
	}
	if _, err := tables.Table(ctx, "mem://none", ""); !errs.Is(err, errs.NotFound) {
		t.Errorf("no dataset: %v", err)
	}
	if err := tables.Close(); err != nil {
		t.Error(err)
	}
}

// TestMaterializeOverLink takes other names of the directory that the rows are read from.
func TestMaterializeOverLink(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	dir := t.TempDir()
	if err := os.Symlink(dir+"/d", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	d := small(t, env, dir+"/d")
	v := must[*dataset.View](t)(d.View(ctx))
	for _, uri := range []string{dir + "/link", dir + "/d/../link/", "file://" + dir + "/link"} {
		if err := ask(t, env, v, "SELECT x + 1 AS y").Materialize(ctx, env, Copy{URI: uri, Overwrite: true}); !errs.Is(err, errs.Invalid) {
			t.Errorf("over %q: %v", uri, err)
		}
	}
	if got := says(t, ask(t, env, v, "SELECT x LIMIT 2"), "x"); got != "5 3" {
		t.Errorf("what is left is %s", got)
	}
}
