package session

import (
	"context"
	"sync"

	"deeplake/core/arrow/stream"
	"deeplake/core/chunk"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/order"
	"deeplake/core/query"
	"deeplake/core/read"
	"deeplake/core/scan"
	"deeplake/core/tensor"
)

// View is rows of a view of a dataset, or of the result of a query. All methods may be called in
// parallel. The caller closes it, after every loader and reader that was made of it.
type View struct {
	view   *dataset.View // nil: a result
	result *scan.Result  // of the view, from the first use on
	once   sync.Once
	source loader.Source
	reader *loader.Reader

	weights *order.Weights // nil: none
	share   *share         // nil: nothing was opened for the view
	spec    *checked       // the query that the view is the result of; nil: none
	done    *query.Done

	videos sync.Map
}

// Videos is where readers of the view keep the tables of videos for each other: [][]byte by tensor,
// as video.Reader keeps them.
func (v *View) Videos() *sync.Map { return &v.videos }

// NewView returns a view of the rows of v. The dataset of v must be open as long as the view is.
func NewView(v *dataset.View) *View {
	source := loader.SourceOf(v)
	return &View{view: v, source: source, reader: loader.NewReader(source)}
}

// viewOfResult returns a view of the rows of a result. It takes over one share of s.
func viewOfResult(r *scan.Result, s *share) *View {
	source := loader.SourceOf(r)
	return &View{result: r, source: source, reader: loader.NewReader(source), share: s}
}

// table returns the rows as a table of queries.
func (v *View) table() *scan.Result {
	v.once.Do(func() {
		if v.result == nil {
			v.result = scan.Plain(v.view)
		}
	})
	return v.result
}

// subset makes a view of other rows of v.
func (v *View) subset(ofView func(*dataset.View) (*dataset.View, error), ofResult func(*scan.Result) (*scan.Result, error)) (*View, error) {
	if v.view != nil {
		part, err := ofView(v.view)
		if err != nil {
			return nil, err
		}
		return NewView(part), nil
	}
	if err := v.share.take(); err != nil {
		return nil, err
	}
	part, err := ofResult(v.result)
	if err != nil {
		v.share.leave()
		return nil, err
	}
	return viewOfResult(part, v.share), nil
}

// Len returns the number of rows.
func (v *View) Len() int64 { return v.source.Len() }

// Describe returns the rows and tensors.
func (v *View) Describe() dataset.Description {
	if v.view != nil {
		return v.view.Describe()
	}
	return v.result.Describe()
}

// Select returns a view of the given rows of v, in the given order. It keeps rows.
func (v *View) Select(rows []int64) (*View, error) {
	return v.subset(
		func(d *dataset.View) (*dataset.View, error) { return d.Select(rows) },
		func(r *scan.Result) (*scan.Result, error) { return r.Select(rows) })
}

// Slice returns a view of the rows start, start+step, ... up to but without stop. All must exist.
func (v *View) Slice(start, stop, step int64) (*View, error) {
	return v.subset(
		func(d *dataset.View) (*dataset.View, error) { return d.Slice(start, stop, step) },
		func(r *scan.Result) (*scan.Result, error) { return r.Slice(start, stop, step) })
}

// Rows writes the dataset row of each row into dst, which has room for Len numbers.
func (v *View) Rows(dst []int64) error {
	if v.view == nil {
		return v.result.Rows(dst)
	}
	v.view.Rows(dst)
	return nil
}

// Origin returns the rows of a dataset that these are, one for one. Rows that a query joined,
// grouped or computed are errs.Unsupported.
func (v *View) Origin() (*dataset.View, error) {
	if v.view != nil {
		return v.view, nil
	}
	if of := v.result.Origin(); of != nil {
		return of, nil
	}
	return nil, errs.New(errs.Unsupported, "the rows of this result are not rows of one dataset: they are joined, grouped or computed")
}

// Row returns the row of the dataset that row i is, or -1 if it is no row of one dataset.
func (v *View) Row(i int64) int64 {
	if v.view == nil {
		return v.result.Row(i)
	}
	return v.view.Row(i)
}

// Outdated reports whether a sample may have changed since the view was made, as
// dataset.View.Outdated does. A result of a query never changes.
func (v *View) Outdated(tensor string, row int64) bool {
	return v.view != nil && v.view.Outdated(tensor, row)
}

// WithWeights returns a view of the same rows, with weights with which loaders draw them.
func (v *View) WithWeights(weights []float64) (*View, error) {
	if int64(len(weights)) != v.Len() {
		return nil, errs.Op("weigh rows", "").New(errs.Invalid, "%d weights for %d rows, want one for each row", len(weights), v.Len())
	}
	w, err := order.NewWeights(weights)
	if err != nil {
		return nil, errs.Wrap(errs.Invalid, "weigh rows", "", err)
	}
	weighed, err := v.again(v.source)
	if err != nil {
		return nil, err
	}
	weighed.weights = w
	return weighed, nil
}

// again returns a view of the same rows that reads them from a source.
func (v *View) again(source loader.Source) (*View, error) {
	if err := v.share.take(); err != nil {
		return nil, err
	}
	out := &View{view: v.view, source: source, reader: loader.NewReader(source), share: v.share}
	if v.view == nil {
		out.result = v.result
	}
	return out, nil
}

// Source returns the rows as a source of loaders.
func (v *View) Source() loader.Source { return v.source }

// Presented is the rows of a view as a source shows them.
type Presented struct {
	Source loader.Source
	Close  func() // ends the source; nil: there is nothing to end
}

// WithSource returns a view of the same rows whose tensors are those of another source, for reading
// and loading. Queries, selections and descriptions are those of v.
func (v *View) WithSource(present func(loader.Source) (Presented, error)) (*View, error) {
	p, err := present(v.source)
	if err != nil {
		return nil, err
	}
	out, err := v.again(p.Source)
	if err != nil {
		if p.Close != nil {
			p.Close()
		}
		return nil, err
	}
	out.share = newShare(&share{end: p.Close, above: out.share})
	return out, nil
}

// Sources names the files from which rows were imported, nil for a row that was not, and for a row
// that is joined, grouped or computed.
func (v *View) Sources(ctx context.Context, rows []int64) ([]*string, error) {
	of := v.view
	if of == nil {
		of = v.result.Origin()
	}
	out := make([]*string, len(rows))
	for _, row := range rows {
		if row < 0 || row >= v.Len() {
			return nil, errs.Op("read sources", "").New(errs.Range, "row %d is outside [0, %d)", row, v.Len())
		}
	}
	if of == nil {
		return out, nil
	}
	found, err := dataset.Origins(ctx, of, rows)
	if err != nil {
		return nil, err
	}
	for i, o := range found {
		if o != nil {
			name := o.String()
			out[i] = &name
		}
	}
	return out, nil
}

// RowOptions are the options of TransformRow.
type RowOptions struct {
	loader.ReadOptions
	Row    int64                     `json:"row"` // its number, for draws
	HTypes map[string]string         `json:"htypes"`
	Infos  map[string]map[string]any `json:"infos"`
}

// TransformRow makes a batch of one row of columns in memory, each with one array. The caller
// releases it.
func TransformRow(ctx context.Context, columns []tensor.Rows, o RowOptions) (*loader.Batch, error) {
	given := &loader.Given{Row: o.Row}
	for i := range columns {
		c := &columns[i]
		if c.Array == nil {
			return nil, errs.Op("transform row", "").New(errs.Type, "the sample of %q is no array of numbers", c.Tensor)
		}
		s := tensor.Sample{DType: c.Array.DType, Shape: append(tensor.Shape{}, c.Array.Shape...), Data: c.Array.Data}
		if n, err := s.Shape.Bytes(s.DType); err != nil || n != int64(len(s.Data)) {
			return nil, errs.Op("transform row", "").New(errs.Invalid, "the sample of %q has %d bytes, want those of shape %s of %s", c.Tensor, len(s.Data), s.Shape, s.DType)
		}
		given.Columns = append(given.Columns, loader.GivenColumn{Named: c.Tensor, HType: o.HTypes[c.Tensor], Info: o.Infos[c.Tensor], Sample: s})
	}
	return loader.Transform(ctx, given, o.ReadOptions)
}

// Read reads rows into a batch, which the caller releases.
func (v *View) Read(ctx context.Context, rows []int64, o loader.ReadOptions) (*loader.Batch, error) {
	return v.reader.Read(ctx, rows, o)
}

// Stored returns a reader of the stored bytes of a tensor.
func (v *View) Stored(tensor string) (*loader.StoredReader, error) {
	return loader.NewStoredReader(v.source, tensor)
}

// Batches returns the rows as record batches of Arrow. The caller closes them, before the view.
func (v *View) Batches(ctx context.Context, o stream.Options) (*stream.Stream, error) {
	table := v.table().Table()
	return stream.Open(ctx, stream.Source{Table: table, Tensors: v.Describe().Tensors, Stored: v.Stored}, o)
}

// Column returns a tensor of the view, for readers of single samples. It is valid as long as the
// view is.
func (v *View) Column(tensor string) (read.Column, error) { return v.source.Column(tensor) }

// NewWorker makes the scratch memory and decoders of one goroutine that reads columns. The caller
// closes it.
func (v *View) NewWorker() *chunk.Worker { return v.source.NewWorker() }

// Remote reports whether reads are requests over a network.
func (v *View) Remote() bool { return v.source.Remote() }

// Identity names the dataset, the commit and the selection of rows; see loader.Source.
func (v *View) Identity() (dataset, commit, selection string, err error) { return v.source.Identity() }

// StoredBytes estimates the size of all rows, as stored; see loader.Source.
func (v *View) StoredBytes(ctx context.Context) (int64, error) { return v.source.StoredBytes(ctx) }

// Load plans batches of the view. The caller closes the loader before the view.
func (v *View) Load(ctx context.Context, o loader.Options) (*loader.Loader, error) {
	o.Weights = v.weights
	return loader.Open(ctx, v.source, o)
}

// Part is a view of a mix, with a name for messages.
type Part struct {
	View  *View
	Label string
}

// Mix plans batches of several views together. The caller closes the loader before the views.
func Mix(ctx context.Context, parts []Part, policy order.MixPolicy, o loader.Options) (*loader.Loader, error) {
	sources := make([]loader.Part, len(parts))
	for i, p := range parts {
		if p.View.weights != nil {
			return nil, errs.Op("mix views", "").New(errs.Invalid, "the rows of view %d, %s, have weights; give weights to the views instead", i, p.Label)
		}
		sources[i] = loader.Part{Source: p.View.source, Label: p.Label}
	}
	mix, err := loader.NewMix(sources, o.Tensors, policy)
	if err != nil {
		return nil, err
	}
	return loader.Open(ctx, mix, o)
}

// Close ends the view. It closes everything opened for the view that no other view reads.
func (v *View) Close() {
	v.reader.Close()
	v.share.leave()
}

// whole reports whether the view is all rows of a commit.
func (v *View) whole() bool {
	if v.view == nil {
		return false
	}
	_, _, selection, err := v.view.Identity()
	all, other := v.view.Counted(v.view.Describe().Head.Rows), ""
	if err == nil {
		_, _, other, err = all.Identity()
	}
	return err == nil && selection == other
}
