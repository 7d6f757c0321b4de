package scan

import (
	"context"
	"slices"
	"sync"

	"deeplake/core/array"
	"deeplake/core/dataset"
	"deeplake/core/dataset/origin"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/query"
	"deeplake/core/tensor"
)

// Table is the rows of a view, or of an Result, as a query asks them. It is valid until the
// datasets are closed that it is of. All methods may be called in parallel.
type Table struct {
	name   string
	rows   int64
	fields []*field
	source *field // the files from which rows were imported; nil: none was

	once  sync.Once
	films []*field // see tablesOfVideos
}

var (
	_ query.Table       = (*Table)(nil)
	_ query.RemoteTable = (*Table)(nil)
)

// field is a column of a table: a tensor of a view with as many rows as the table, or a column
// computed on read.
type field struct {
	name     string
	view     *dataset.View
	column   *dataset.Column
	tablesOf int // of a table of videos: the field of these
	// the column was computed, and is in a dataset in memory
	inMemory bool
	// instead of view and column
	compute func(ctx context.Context, rows []int64) (*array.Column, error)

	mu       sync.Mutex
	resolved bool
	typ      array.Type // of a computed column; else once resolved
}

// remote reports whether reading samples takes requests over a network: to the dataset's store, or
// to linked images.
func (f *field) remote() bool {
	return f.view.StoreRemote() || f.column.Encoded() && f.view.Remote()
}

// Of returns the rows of a view as a table, with the tensors that it lists.
func Of(view *dataset.View) *Table {
	t := &Table{name: view.URI(), rows: view.Len(), source: sourceField(view)}
	for _, name := range view.Names() {
		if c, err := view.Column(name); err == nil { // a view has the tensors that it lists
			t.fields = append(t.fields, &field{name: name, view: view, column: c})
		}
	}
	return t
}

// Name returns the URI of the dataset.
func (t *Table) Name() string { return t.name }

// Rows returns the number of rows.
func (t *Table) Rows() int64 { return t.rows }

// Columns lists the tensors in order of creation. The number of axes is left open: see Resolve.
func (t *Table) Columns() []query.Field {
	out := make([]query.Field, len(t.fields), len(t.fields)+1)
	for i, f := range t.fields {
		out[i] = f.describe()
	}
	for _, f := range t.tablesOfVideos() {
		out[f.tablesOf].Videos = &query.Videos{Column: len(out), About: aboutVideo}
		out = append(out, query.Field{Name: f.name, Type: array.Of(tensor.Bytes), Hidden: true, Cost: costOfFile})
	}
	if t.source != nil {
		out = append(out, query.Field{Name: t.source.name, Type: t.source.typ, Hidden: true, Cost: costOfSource})
	}
	return out
}

// field returns a column by its number in Columns.
func (t *Table) field(column int) *field {
	at := column - len(t.fields)
	if at < 0 {
		return t.fields[column]
	}
	if films := t.tablesOfVideos(); at < len(films) {
		return films[at]
	}
	return t.source
}

// tablesOfVideos returns the tables of the videos among the fields, of which there are all by now.
func (t *Table) tablesOfVideos() []*field {
	t.once.Do(func() {
		for i, f := range t.fields {
			if f.column == nil {
				continue
			}
			if name := f.column.Access().Tables; name != "" {
				if c, err := f.view.Column(name); err == nil {
					t.films = append(t.films, &field{name: name, view: f.view, column: c, tablesOf: i})
				}
			}
		}
	})
	return t.films
}

// aboutVideo reads the table of a video.
func aboutVideo(table []byte) (query.VideoFacts, error) {
	t, err := format.DecodeVideo(table)
	if err != nil {
		return query.VideoFacts{}, err
	}
	v := t.Video
	height, width := v.Size()
	facts := query.VideoFacts{Height: int64(height), Width: int64(width), End: v.Seconds(v.End)}
	first := v.End
	for i := range v.Packets {
		if p := &v.Packets[i]; !p.Hidden {
			facts.Frames++
			first = min(first, p.Time)
		}
	}
	facts.Begin = v.Seconds(first)
	return facts, nil
}

// sourceField returns the column of the files from which the rows of v were imported. It is nil if
// v has no imported rows, or is nil.
func sourceField(v *dataset.View) *field {
	if v == nil {
		return nil
	}
	if _, err := v.Column(origin.Tensor); err != nil {
		return nil
	}
	return &field{name: "source", typ: array.Of(tensor.String), compute: func(ctx context.Context, rows []int64) (*array.Column, error) {
		found, err := dataset.Origins(ctx, v, rows)
		if err != nil {
			return nil, err
		}
		text, null := make([]string, len(rows)), make([]bool, len(rows))
		for i, o := range found {
			if null[i] = o == nil; o != nil {
				text[i] = o.String()
			}
		}
		return array.FromStrings(text, null), nil
	}}
}

// The cost of reading a value in nanoseconds, as the loader measured it.
const (
	costOfValue    = 5
	costOfFile     = 2000 // and by the byte:
	costPerStored  = 10
	costPerDecoded = 0.5
	costPerByte    = 0.25
	costOfCompute  = 100_000
	costOfSource   = 400
)

func (f *field) describe() query.Field {
	if f.compute != nil {
		return query.Field{Name: f.name, Type: f.typ, Cost: costOfCompute}
	}
	q := query.Field{Name: f.name, Type: typeOf(f.column), TextLists: f.column.Access().HType == "tag"}
	q.Bytes, q.Size = f.column.SampleBytes()
	if q.Cost = costOfValue + costPerByte*q.Size; f.column.Encoded() {
		q.Cost = costOfFile + costPerStored*q.Bytes + costPerDecoded*q.Size
	}
	return q
}

// typeOf returns the type of a tensor by its schema.
func typeOf(c *dataset.Column) array.Type {
	t := array.Type{DType: c.DType(), Dims: array.Unranked, List: c.Sequence(), HType: c.HTypeOf().Base, Names: c.ClassNames()}
	switch {
	case t.DType == tensor.Float16 || t.DType == tensor.BFloat16:
		t.DType = tensor.Float32
	case t.DType == tensor.Int64:
		t.Unit = unitOf(c.Access().Time)
	case t.DType != 0 && !t.DType.Fixed():
		t.Dims, t.Shape = 0, tensor.Shape{}
	}
	if t.HType == "bbox" {
		coords, _ := c.Access().Info["coords"].(map[string]any)
		t.Boxes, _ = coords["mode"].(string)
		switch coords["type"] {
		case "pixel":
			t.BoxUnit = array.Pixel
		case "fractional":
			t.BoxUnit = array.Fractional
		}
	}
	return t
}

// nameFile adds the file of the row at fault to an error.
func (f *field) nameFile(ctx context.Context, err error) error {
	if f.column == nil {
		return err
	}
	access := f.column.Access()
	return access.NameFile(ctx, err)
}

// Resolve returns the facts that hold for all values of a column in this version. It caches them.
func (t *Table) Resolve(ctx context.Context, column int) (array.Type, error) {
	f := t.field(column)
	if f.compute != nil {
		return f.typ, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.resolved {
		return f.typ, nil
	}
	typ := typeOf(f.column)
	if typ.Dims == array.Unranked {
		least, most, err := f.column.Bounds(ctx)
		if err != nil {
			return typ, errs.Wrap(errs.Storage, "read index of tensor", f.name, err)
		}
		switch {
		case most != nil:
			typ.Dims, typ.Shape = len(most), make(tensor.Shape, len(most))
			for i := range most {
				if typ.Shape[i] = most[i]; least[i] != most[i] {
					typ.Shape[i] = -1
				}
			}
		case f.column.Empty():
			typ.Dims, typ.Shape = unseen(f.column)
		}
	}
	f.typ, f.resolved = typ, true
	return typ, nil
}

// unseen returns the shape of a tensor without samples: the declared one, the one that its htype
// demands, or that of scalars.
func unseen(c *dataset.Column) (int, tensor.Shape) {
	if s := c.Spec().Shape; s != nil {
		return len(s), s
	}
	for n := range 3 {
		s := make(tensor.Shape, n)
		for i := range s {
			s[i] = 3 // fits axes in multiples of three, and points
		}
		if c.HTypeOf().CheckShape(s) == nil {
			for i := range s {
				s[i] = -1
			}
			return n, s
		}
	}
	return array.Unranked, nil
}

// Zones returns the facts of index pages about rows [from, to) of a column.
func (t *Table) Zones(ctx context.Context, column int, from, to int64) ([]query.Zone, error) {
	f := t.field(column)
	if f.compute != nil {
		return []query.Zone{{From: from, To: to}}, nil
	}
	zones, err := f.column.Zones(ctx, from, to)
	if err != nil {
		return nil, errs.Wrap(errs.Storage, "read index of tensor", f.name, err)
	}
	out := make([]query.Zone, len(zones))
	for i := range zones {
		z := &zones[i]
		out[i] = query.Zone{From: z.From, To: z.To, Hole: z.Hole, Bytes: int64(z.Bytes)}
		if !z.Known {
			continue
		}
		if !f.column.Sequence() { // else they are of the items
			out[i].MinShape, out[i].MaxShape = z.Stats.MinShape, z.Stats.MaxShape
		}
		if z.Stats.HasRange {
			out[i].Min, out[i].Max = bound(f.column.DType(), z.Stats.Min), bound(f.column.DType(), z.Stats.Max)
			f.microBounds(&out[i])
		}
	}
	return out, nil
}

// Reader returns the memory and the decoders of one goroutine.
func (t *Table) Reader() query.Reader { return &reader{table: t} }

// Remote reports whether reads are requests over a network.
func (t *Table) Remote() bool {
	return slices.ContainsFunc(t.fields, func(f *field) bool { return f.view != nil && f.remote() })
}
