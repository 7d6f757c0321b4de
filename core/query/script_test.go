package query_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"testing"

	"deeplake/core/array"
	"deeplake/core/query"
	"deeplake/core/tensor"
)

// Scripts are the specification of the language; python/tests/query reads the same ones. A script
// is blocks with a blank line between them:
//
//	load NAME                     makes "mem://NAME" of the columns that follow, one a line: name type: [a value a row]
//	query [NAME] [with [1, "a"]]  asks the query that follows, of the table that was loaded last or NAME, with parameters;
//	                              {"name": 1} gives them by name
//	expect [in any order]         the rows, each a JSON list; "names a b" before them says what the columns are called
//	error 1:8 some words          instead: the place of the error, and what its message says
//
// # begins a comment. 3 is an integer and 3.0 is not; "nan", "inf" and "-inf" are numbers where
// there is one. Dates and timestamps are text.
type block struct {
	line        int
	kind        string // load or query
	fingerprint string // behind it
	body        []string
	expect      []string
	order       bool
	fails       string
}

func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.tql")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no scripts: %v", err)
	}
	for _, file := range files {
		for _, zone := range []int{1, 3, 1000} {
			t.Run(fmt.Sprintf("%s/%d", strings.TrimSuffix(filepath.Base(file), ".tql"), zone), func(t *testing.T) {
				t.Parallel()
				runScript(t, file, zone)
			})
		}
	}
}

func runScript(t *testing.T, file string, zone int) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := blocksOf(string(data))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	tables := memTables{}
	last := ""
	for _, b := range blocks {
		if b.kind == "load" {
			if tables["mem://"+b.fingerprint], err = tableOf(b, zone); err != nil {
				t.Fatalf("%s:%d: %v", file, b.line, err)
			}
			last = b.fingerprint
			continue
		}
		if err := runQuery(t.Context(), b, tables, last, zone); err != nil {
			t.Errorf("%s:%d: %s\n%v", file, b.line, strings.Join(b.body, "\n"), err)
		}
	}
}

// blocksOf reads a script.
func blocksOf(text string) ([]*block, error) {
	var out []*block
	var now *block
	part := ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, " ")
		if strings.HasPrefix(line, "#") {
			continue
		}
		first, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "":
			now = nil
		case now == nil:
			if first != "load" && first != "query" {
				return nil, fmt.Errorf("line %d: a block begins with load or query", i+1)
			}
			now = &block{line: i + 1, kind: first, fingerprint: rest, order: true}
			out = append(out, now)
			part = "body"
		case part == "body" && now.kind == "query" && first == "expect":
			part, now.order = "expect", rest != "in any order"
		case part == "body" && now.kind == "query" && first == "error":
			part, now.fails = "error", rest
		case part == "body":
			now.body = append(now.body, line)
		case part == "expect":
			now.expect = append(now.expect, line)
		default:
			return nil, fmt.Errorf("line %d: nothing follows an error", i+1)
		}
	}
	return out, nil
}

func tableOf(b *block, zone int) (*memTable, error) {
	t := &memTable{name: "mem://" + b.fingerprint, n: -1, zone: zone}
	for _, line := range b.body {
		head, values, ok := strings.Cut(line, ": ")
		name, kind, also := strings.Cut(strings.TrimSpace(head), " ")
		if !ok || !also {
			return nil, fmt.Errorf("%q is no column, want name type: [values]", line)
		}
		c, err := columnOf(strings.TrimSpace(kind), values)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", name, err)
		}
		if t.n >= 0 && c.N != t.n {
			return nil, fmt.Errorf("column %q has %d rows, want %d", name, c.N, t.n)
		}
		t.n = c.N
		open := c.Type
		if open.DType.Fixed() {
			open.Dims, open.Shape = array.Unranked, nil
		}
		t.columns, t.types = append(t.columns, c), append(t.types, c.Type)
		t.fields = append(t.fields, query.Field{Name: strings.ReplaceAll(name, "\"", ""), Type: open, Cost: 5, Bytes: 8, Size: 8})
	}
	return t, nil
}

// memTables are the tables of a script.
type memTables map[string]*memTable

func (m memTables) Table(_ context.Context, name, ref string) (query.Table, error) {
	if t := m[name]; t != nil && ref == "" {
		return t, nil
	}
	return nil, fmt.Errorf("open dataset %q: there is none", name)
}

func runQuery(ctx context.Context, b *block, tables memTables, last string, zone int) error {
	name, params, _ := strings.Cut(" "+b.fingerprint, " with ")
	if name = strings.TrimSpace(name); name == "" {
		name = last
	}
	o := query.Options{Functions: map[string]query.User{}}
	if zone < 1000 { // answers must not depend on which rows are computed together
		o.Batch, o.Threads = zone, 3
	}
	if params != "" {
		var err error
		if o.Params, o.Names, err = paramsOf(params); err != nil {
			return err
		}
	}
	var from query.Table
	if t := tables["mem://"+name]; t != nil {
		from = t
	}
	names, rows, err := answer(ctx, strings.Join(b.body, "\n"), from, tables, o)
	if b.fails != "" {
		return failed(b.fails, err)
	}
	if err != nil {
		return err
	}
	want := b.expect
	if len(want) > 0 && strings.HasPrefix(want[0], "names ") {
		if got := strings.Join(names, " "); got != want[0][len("names "):] {
			return fmt.Errorf("names are %s, want %s", got, want[0][len("names "):])
		}
		want = want[1:]
	}
	return compare(rows, want, b.order)
}

// failed checks the place and the words of an error.
func failed(want string, err error) error {
	if err == nil {
		return fmt.Errorf("it succeeds, want the error %s", want)
	}
	place, words, _ := strings.Cut(want, " ")
	line, column, ok := strings.Cut(place, ":")
	if ok && !strings.Contains(err.Error(), fmt.Sprintf("line %s, column %s:", line, column)) {
		return fmt.Errorf("the error is %w, want it at %s", err, place)
	}
	if !ok {
		words = want
	}
	if !strings.Contains(err.Error(), words) {
		return fmt.Errorf("the error is %w, want it to say %s", err, words)
	}
	return nil
}

func paramsOf(text string) (values []any, names []string, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var given any
	if err := d.Decode(&given); err != nil {
		return nil, nil, err
	}
	switch given := given.(type) {
	case []any:
		values = given
	case map[string]any:
		names = []string{}
		for name, v := range given {
			names, values = append(names, name), append(values, v)
		}
	}
	for i, v := range values {
		switch x := v.(type) {
		case json.Number:
			if n, err := x.Int64(); err == nil {
				values[i] = n
			} else {
				values[i], _ = x.Float64()
			}
		case []any:
			if text, err := json.Marshal(x); err == nil && len(x) > 0 && reflect.TypeOf(x[0]) == reflect.TypeFor[string]() {
				values[i] = array.Constant(array.Of(tensor.JSON), string(text), 1)
				continue
			}
			one, err := json.Marshal([]any{x})
			if err != nil {
				return nil, nil, err
			}
			if values[i], err = columnOf("float64", string(one)); err != nil {
				return nil, nil, err
			}
		}
	}
	return values, names, nil
}

// answer runs a query and reads all of its result.
func answer(ctx context.Context, text string, from query.Table, tables query.Tables, o query.Options) (names []string, rows [][]any, err error) {
	plan, err := query.Prepare(ctx, text, from, tables, o)
	if err != nil {
		return nil, nil, err
	}
	r, err := plan.Run(ctx)
	if err != nil {
		return nil, nil, err
	}
	rows = make([][]any, r.N)
	for i := range r.Outputs {
		c, err := columnOfOutput(ctx, r, &r.Outputs[i])
		if err != nil {
			return nil, nil, err
		}
		names = append(names, r.Outputs[i].Name)
		if int64(c.N) != r.N {
			return nil, nil, fmt.Errorf("output %q has %d rows, want %d", r.Outputs[i].Name, c.N, r.N)
		}
		for row := range rows {
			rows[row] = append(rows[row], plain(c, row))
		}
	}
	return names, rows, nil
}

func columnOfOutput(ctx context.Context, r *query.Result, out *query.Output) (*array.Column, error) {
	if out.Source >= 0 {
		at := make([]int, r.N)
		for i := range at {
			at[i] = int(r.Sources[out.Source].Rows[i])
		}
		return r.Sources[out.Source].Table.(interface{ whole() *memTable }).whole().columns[out.Column].Take(at), nil
	}
	if out.Values != nil {
		return out.Values, nil
	}
	all := make([]int64, r.N)
	for i := range all {
		all[i] = int64(i)
	}
	return out.Compute(ctx, all)
}

// plain returns a value as JSON has it: numbers, text, and lists of lists.
func plain(c *array.Column, row int) any {
	if c.IsNull(row) {
		return nil
	}
	v := c.Value(row)
	part, ok := v.(*array.Column)
	if !ok {
		if n, ok := v.(int64); ok && c.Unit == array.Date || c.Unit == array.Timestamp {
			return timeText(c.Unit, n)
		}
		if c.DType == tensor.JSON {
			var decoded any
			d := json.NewDecoder(strings.NewReader(v.(string)))
			d.UseNumber()
			if d.Decode(&decoded) == nil {
				return decoded
			}
		}
		return v
	}
	if part.List {
		items := make([]any, part.ShapeAt(0)[0])
		for i := range items {
			items[i] = plain(part.Items, i)
		}
		return items
	}
	flat := reflect.ValueOf(part.Data)
	at := 0
	return nest(part.ShapeAt(0), func() any {
		at++
		return widened(flat.Index(at - 1).Interface())
	})
}

func nest(s tensor.Shape, next func() any) any {
	if len(s) == 0 {
		return next()
	}
	out := make([]any, s[0])
	for i := range out {
		out[i] = nest(s[1:], next)
	}
	return out
}

func widened(v any) any {
	r := reflect.ValueOf(v)
	switch {
	case r.CanInt():
		return r.Int()
	case r.CanUint():
		return int64(r.Uint())
	case r.CanFloat():
		return r.Float()
	}
	return v
}

func timeText(u array.Unit, n int64) string {
	c, err := array.Cast(nil, array.From(array.OfUnit(u), []int64{n}, nil), array.Of(tensor.String))
	if err != nil {
		return err.Error()
	}
	return c.Value(0).(string)
}

// compare compares rows with the rows of a script.
func compare(rows [][]any, want []string, order bool) error {
	got := make([]string, len(rows))
	for i, row := range rows {
		got[i] = written(row)
	}
	if len(rows) != len(want) {
		return fmt.Errorf("%d rows, want %d:\n%s", len(rows), len(want), strings.Join(got, "\n"))
	}
	wanted := make([][]any, len(want))
	for i, line := range want {
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&wanted[i]); err != nil {
			return fmt.Errorf("expected row %q: %w", line, err)
		}
	}
	if !order {
		sort.Slice(rows, func(i, j int) bool { return written(rows[i]) < written(rows[j]) })
		sort.Slice(wanted, func(i, j int) bool { return written(wanted[i]) < written(wanted[j]) })
	}
	for i := range rows {
		if !same(rows[i], wanted[i]) {
			return fmt.Errorf("row %d is %s, want %s; all rows:\n%s", i, written(rows[i]), written(wanted[i]), strings.Join(got, "\n"))
		}
	}
	return nil
}

// written returns a value as a script has it.
func written(v any) string {
	switch x := v.(type) {
	case []any:
		items := make([]string, len(x))
		for i := range x {
			items[i] = written(x[i])
		}
		return "[" + strings.Join(items, ", ") + "]"
	case float64:
		switch {
		case math.IsNaN(x):
			return `"nan"`
		case math.IsInf(x, 0):
			return `"` + strings.ToLower(strings.TrimPrefix(fmt.Sprint(x), "+")) + `"`
		case x == math.Trunc(x) && math.Abs(x) < 1e15:
			return fmt.Sprintf("%.1f", x)
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

// same compares a value with a script's, floating point numbers to six digits.
func same(got, want any) bool {
	switch w := want.(type) {
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range g {
			if !same(g[i], w[i]) {
				return false
			}
		}
		return true
	case json.Number:
		if g, ok := got.(json.Number); ok { // JSON
			a, _ := g.Float64()
			b, _ := w.Float64()
			return a == b
		}
		whole := !strings.ContainsAny(w.String(), ".eE")
		if whole {
			return fmt.Sprint(got) == w.String() && reflect.TypeOf(got).Kind() != reflect.Float64
		}
		g, ok := got.(float64)
		f, _ := w.Float64()
		return ok && (g == f || math.Abs(g-f) <= 1e-6*math.Max(math.Abs(g), math.Abs(f)) || math.Abs(g-f) < 1e-9)
	case string:
		if g, ok := got.(float64); ok {
			return written(g) == written(w)
		}
		return got == want
	}
	return reflect.DeepEqual(got, want)
}
