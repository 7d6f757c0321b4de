package scan

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"deeplake/core/array"
	"deeplake/core/chunk"
	"deeplake/core/dataset"
	"deeplake/core/dataset/origin"
	"deeplake/core/errs"
	"deeplake/core/query"
	"deeplake/core/read"
	"deeplake/core/storage"
)

var (
	_ read.Column = (*dataset.Column)(nil)
	_ read.Column = stored{}
	_ read.Column = (*computedColumn)(nil)
)

// Result has the rows of a view or of a query. They can be read, loaded, selected from and queried.
// A Result never changes and may be used in parallel. It is valid until its datasets are closed.
// It owns nothing but memory, which the garbage collector frees.
type Result struct {
	// the view that has all rows and columns of the result; nil: none has
	view        *dataset.View
	base        *dataset.View   // of the queried dataset
	origin      *dataset.View   // the source of its rows, one for one; nil: none, or several
	sourceRows  []*dataset.View // the rows of datasets that came of it
	reads       []*dataset.View // all that it was computed from, with base
	table       *Table
	part        bool   // of another result
	fingerprint string // of the query and the selections from its result
}

// Plain returns the rows of a view.
func Plain(v *dataset.View) *Result {
	own := []*dataset.View{v}
	return &Result{view: v, base: v, origin: v, sourceRows: own, reads: own, table: Of(v)}
}

// NewResult returns the result of a query on a view.
//
// words identify everything besides the datasets that decides the rows: the query in its canonical
// form, parameters, seed, and the Words of a result that was queried. reads are all views that the
// query reads, with base and the Reads of a queried result. Their order must be the same whenever
// the query is the same.
//
// Computed columns are stored in memory, in the chunks of a dataset of their own, except in
// WebAssembly. A column of one element type that is computed on read stays so. ctx ends the
// computing of the others.
func NewResult(ctx context.Context, env *dataset.Env, base *dataset.View, reads []*dataset.View, r *query.Result, words string) (*Result, error) {
	return newResult(ctx, env, base, reads, r, words, keepComputed)
}

// keeping makes the fields of outputs, by their numbers, that are not computed on each read.
type keeping func(ctx context.Context, env *dataset.Env, r *query.Result, outputs []int, fields []*field) error

func newResult(ctx context.Context, env *dataset.Env, base *dataset.View, reads []*dataset.View, r *query.Result, words string, keep keeping) (*Result, error) {
	a := &Result{base: base, reads: reads, table: &Table{name: base.URI(), rows: r.N}, fingerprint: words}
	d := sourceViews{result: r, views: map[sourceView]*dataset.View{}}
	var others []int
	for i := range r.Outputs {
		o := &r.Outputs[i]
		f := &field{name: unused(o.Name, a.table.fields)}
		switch {
		case o.Source >= 0:
			if err := d.stored(ctx, o, f); err != nil {
				return nil, err
			}
		case o.Values == nil && !o.Type.List && o.Type.DType != 0:
			f.compute, f.typ = o.Compute, o.Type
		default:
			others = append(others, i)
		}
		a.table.fields = append(a.table.fields, f)
	}
	if err := keep(ctx, env, r, others, a.table.fields); err != nil {
		return nil, err
	}
	if err := d.finish(ctx, a); err != nil {
		return nil, err
	}
	return a, nil
}

// unused is name, or one like it that no field has.
func unused(name string, fields []*field) string {
	has := func(name string) bool {
		return slices.ContainsFunc(fields, func(f *field) bool { return f.name == name })
	}
	out := name
	for i := 1; has(out); i++ {
		out = fmt.Sprintf("%s_%d", name, i)
	}
	return out
}

// sourceView is a view with source rows of a result.
type sourceView struct {
	source int
	view   *dataset.View
}

// sourceViews makes views of source rows.
type sourceViews struct {
	result *query.Result
	views  map[sourceView]*dataset.View
}

func (d *sourceViews) table(i int) (*Table, error) {
	t, ok := d.result.Sources[i].Table.(*Table)
	if !ok {
		return nil, errs.New(errs.Internal, "rows of table %q are of no dataset", d.result.Sources[i].Table.Name())
	}
	return t, nil
}

// rows returns the source rows of a view.
func (d *sourceViews) rows(ctx context.Context, i int, v *dataset.View) (*dataset.View, error) {
	key := sourceView{i, v}
	if out := d.views[key]; out != nil {
		return out, nil
	}
	out, err := selectRows(ctx, v, d.result.Sources[i].Rows)
	if err == nil {
		d.views[key] = out
	}
	return out, err
}

// selectRows returns a view of rows of v, where -1 is a row of NULL. Rows at equal distances make a
// slice, which lists none of them.
func selectRows(ctx context.Context, v *dataset.View, rows []int64) (*dataset.View, error) {
	n := int64(len(rows))
	if n > 1 && rows[0] >= 0 && rows[1] > rows[0] {
		step := rows[1] - rows[0]
		regular := true
		for i := range rows {
			if regular = rows[i] == rows[0]+int64(i)*step; !regular {
				break
			}
		}
		if regular {
			return v.Slice(rows[0], rows[n-1]+1, step)
		}
	}
	return v.SelectOrMissing(ctx, rows)
}

// stored makes f the column of a table at its source rows.
func (d *sourceViews) stored(ctx context.Context, o *query.Output, f *field) error {
	t, err := d.table(o.Source)
	if err != nil {
		return err
	}
	from := t.field(o.Column)
	if from.compute != nil {
		f.typ = from.typ
		f.compute = at(from.compute, d.result.Sources[o.Source].Rows)
		return nil
	}
	if f.view, err = d.rows(ctx, o.Source, from.view); err != nil {
		return err
	}
	f.inMemory = from.inMemory
	f.column, err = f.view.Column(from.column.Name())
	return err
}

// at computes other rows: row i is rows[i], or NULL for -1.
func at(compute func(ctx context.Context, rows []int64) (*array.Column, error), list []int64) func(ctx context.Context, rows []int64) (*array.Column, error) {
	return func(ctx context.Context, rows []int64) (*array.Column, error) {
		own, places := make([]int64, 0, len(rows)), make([]int, len(rows))
		missing := false
		for i, row := range rows {
			if places[i] = -1; list[row] >= 0 {
				places[i] = len(own)
				own = append(own, list[row])
			} else {
				missing = true
			}
		}
		c, err := compute(ctx, own)
		if err != nil || !missing {
			return c, err
		}
		return c.Take(places), nil
	}
}

// finish notes the views that the rows are of. Columns in memory are of no dataset of the user.
func (d *sourceViews) finish(ctx context.Context, a *Result) error {
	for i := range d.result.Sources {
		t, err := d.table(i)
		if err != nil {
			return err
		}
		for _, f := range t.fields {
			if f.view == nil || f.inMemory {
				continue
			}
			v, err := d.rows(ctx, i, f.view)
			if err != nil {
				return err
			}
			if !slices.Contains(a.sourceRows, v) {
				a.sourceRows = append(a.sourceRows, v)
			}
		}
	}
	if len(a.sourceRows) == 1 && len(d.result.Sources) == 1 {
		a.origin = a.sourceRows[0]
	}
	plain := a.origin != nil
	for _, f := range a.table.fields {
		plain = plain && f.view == a.origin
	}
	if plain {
		a.view = a.origin
	}
	a.table.source = sourceField(a.origin)
	return nil
}

// Len returns the number of rows.
func (a *Result) Len() int64 { return a.table.rows }

// Names lists the columns in order.
func (a *Result) Names() []string {
	names := make([]string, len(a.table.fields))
	for i, f := range a.table.fields {
		names[i] = f.name
	}
	return names
}

// Table returns the result as a query asks it.
func (a *Result) Table() *Table { return a.table }

// View returns the view that has the same rows and tensors, perhaps under other names; false: there
// is none.
func (a *Result) View() (*dataset.View, bool) { return a.view, a.view != nil }

// Origin returns the rows that these are of, one for one; nil: there are none, or of several.
func (a *Result) Origin() *dataset.View { return a.origin }

// Base returns the queried view.
func (a *Result) Base() *dataset.View { return a.base }

// Reads returns all views that the result was computed from, with Base. Callers must not change it.
func (a *Result) Reads() []*dataset.View { return a.reads }

// Fingerprint identifies the query and the selections from its result; "" of a view.
func (a *Result) Fingerprint() string { return a.fingerprint }

// Column finds a column by name.
func (a *Result) Column(name string) (read.Column, error) {
	for i, f := range a.table.fields {
		if f.name != name {
			continue
		}
		switch {
		case f.compute != nil:
			return &computedColumn{field: f, rows: a.table.rows}, nil
		case f.column.Name() == name:
			return f.column, nil
		}
		return stored{Column: a.table.fields[i].column, name: name}, nil
	}
	of := a.view
	if name == origin.Tensor {
		of = a.origin
	}
	if of != nil {
		c, err := of.Column(name) // a hidden tensor, or the message of a dataset
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	return nil, errs.New(errs.NotFound, "there is no column %q; the columns are %q%s", name, a.Names(), errs.Suggest(name, a.Names()))
}

// StoredBytes estimates the size of all rows, as stored.
func (a *Result) StoredBytes(ctx context.Context) (int64, error) {
	if a.view != nil {
		return a.view.StoredBytes(ctx)
	}
	total := int64(0)
	for _, f := range a.table.fields {
		if f.column != nil {
			total += f.column.StoredBytes()
		}
	}
	return total, nil
}

// NewWorker makes the scratch memory and decoders of one goroutine.
func (a *Result) NewWorker() *chunk.Worker { return a.base.NewWorker() }

// Remote reports whether reads are requests over a network.
func (a *Result) Remote() bool {
	return a.table.Remote()
}

// Traffic returns the counters of the stores since they were opened.
func (a *Result) Traffic() storage.Stats {
	var sum storage.Stats
	seen := map[string]bool{}
	for _, v := range a.reads {
		if uri := v.URI(); !seen[uri] {
			seen[uri] = true
			sum.Add(v.Traffic())
		}
	}
	return sum
}

// Identity identifies the rows, as dataset.View.Identity does. The query identifies rows of no
// single view: the same query of the same commits has the same rows.
func (a *Result) Identity() (dataset, commit, selection string, err error) {
	if a.view != nil {
		return a.view.Identity()
	}
	if dataset, commit, _, err = a.base.Identity(); err != nil {
		return "", "", "", err
	}
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%s\x00%d", a.fingerprint, a.table.rows)
	seen := map[string]bool{} // asked again, two names of a version may be one
	for _, v := range slices.Concat(a.sourceRows, a.reads) {
		d, c, rows, err := v.Identity()
		if err != nil {
			return "", "", "", err
		}
		if c == "" {
			commit = "" // uncommitted rows may change
		}
		if line := fmt.Sprintf("\x00%s %s %s", d, c, rows); !seen[line] {
			seen[line] = true
			_, _ = sum.Write([]byte(line))
		}
	}
	return dataset, commit, fmt.Sprintf("query %s*%d", hex.EncodeToString(sum.Sum(nil)[:16]), a.table.rows), nil
}

// Rows fills dst, len(dst) == Len, with the rows of the result's dataset, -1 for none. A result
// from several datasets, or from none, is errs.Unsupported.
func (a *Result) Rows(dst []int64) error {
	if a.origin == nil {
		return errs.New(errs.Unsupported, "the rows of this result are not rows of one dataset: they are joined, grouped or computed")
	}
	a.origin.Rows(dst)
	return nil
}

// Row returns the row of the result's dataset that row i is, or -1: row i was joined, grouped or
// computed, or an outer join found no row.
func (a *Result) Row(i int64) int64 {
	if a.origin == nil {
		return -1
	}
	return a.origin.Row(i)
}

// Select returns the given rows, in that order; repeats are allowed. It does not retain rows.
func (a *Result) Select(rows []int64) (*Result, error) {
	for _, row := range rows {
		if row < 0 || row >= a.table.rows {
			return nil, errs.New(errs.Range, "row %d is out of range, there are %d rows", row, a.table.rows)
		}
	}
	rows = slices.Clone(rows)
	sum := sha256.New()
	for _, row := range rows {
		_, _ = sum.Write(binary.LittleEndian.AppendUint64(nil, uint64(row)))
	}
	words := fmt.Sprintf("%s\x00select %x", a.fingerprint, sum.Sum(nil)[:16])
	return a.derive(int64(len(rows)), words, func(v *dataset.View) (*dataset.View, error) { return v.Select(rows) },
		func(i int64) int64 { return rows[i] })
}

// Slice returns rows start, start+step, ... before stop, as dataset.View.Slice has it.
func (a *Result) Slice(start, stop, step int64) (*Result, error) {
	part, err := a.base.Counted(a.table.rows).Slice(start, stop, step)
	if err != nil {
		return nil, err
	}
	words := fmt.Sprintf("%s\x00slice %d %d %d", a.fingerprint, start, part.Len(), step)
	return a.derive(part.Len(), words, func(v *dataset.View) (*dataset.View, error) { return v.Slice(start, stop, step) },
		func(i int64) int64 { return start + i*step })
}

// derive is n other rows of a.
func (a *Result) derive(n int64, words string, of func(*dataset.View) (*dataset.View, error), row func(i int64) int64) (*Result, error) {
	out := &Result{base: a.base, reads: a.reads, part: true, fingerprint: words, table: &Table{name: a.table.name, rows: n}}
	views := map[*dataset.View]*dataset.View{}
	same := func(v *dataset.View) (*dataset.View, error) {
		if v == nil || views[v] != nil {
			return views[v], nil
		}
		w, err := of(v)
		views[v] = w
		return w, err
	}
	var err error
	for _, v := range []struct{ from, to **dataset.View }{{&a.view, &out.view}, {&a.origin, &out.origin}} {
		if *v.to, err = same(*v.from); err != nil {
			return nil, err
		}
	}
	out.table.source = sourceField(out.origin)
	for _, v := range a.sourceRows {
		w, err := same(v)
		if err != nil {
			return nil, err
		}
		out.sourceRows = append(out.sourceRows, w)
	}
	for _, f := range a.table.fields {
		g := &field{name: f.name, inMemory: f.inMemory, compute: f.compute, typ: f.typ}
		if f.compute != nil {
			g.compute = func(ctx context.Context, rows []int64) (*array.Column, error) {
				own := make([]int64, len(rows))
				for i, r := range rows {
					own[i] = row(r)
				}
				return f.compute(ctx, own)
			}
		} else if g.view, err = same(f.view); err != nil {
			return nil, err
		} else if g.column, err = g.view.Column(f.column.Name()); err != nil {
			return nil, err
		}
		out.table.fields = append(out.table.fields, g)
	}
	return out, nil
}

// Describe describes the columns of the result. The counters of its tensors belong to their
// commits.
func (a *Result) Describe() dataset.Description {
	if a.view == a.base && a.view != nil {
		return a.view.Describe()
	}
	out := a.base.Describe()
	out.Rows, out.Tensors = a.table.rows, make([]dataset.TensorDescription, 0, len(a.table.fields))
	known := map[*dataset.View][]dataset.TensorDescription{}
	for _, f := range a.table.fields {
		if f.compute != nil {
			out.Tensors = append(out.Tensors, describeType(f.name, f.typ))
			continue
		}
		if known[f.view] == nil {
			known[f.view] = f.view.Describe().Tensors
		}
		for _, t := range known[f.view] {
			if t.Name == f.column.Name() {
				t.Name = f.name
				out.Tensors = append(out.Tensors, t)
			}
		}
	}
	return out
}
