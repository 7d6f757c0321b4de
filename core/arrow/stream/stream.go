package stream

import (
	"context"
	"slices"
	"sync"

	"deeplake/core/array"
	"deeplake/core/arrow"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/loader"
	"deeplake/core/scan"
	"deeplake/core/slab"
	"deeplake/core/tensor"
)

// What pictures are.
const (
	Encoded = "encoded" // files as they are stored
	Pixels  = "pixels"  // arrays
)

// Options of a stream.
type Options struct {
	Tensors []string `json:"tensors"` // nil: all
	Images  string   `json:"images"`
	// of a batch at most; 0: as many as are read at once
	BatchRows int64 `json:"batch_rows"`
}

// Source is the rows of a stream.
type Source struct {
	Table   *scan.Table
	Tensors []dataset.TensorDescription
	Stored  func(tensor string) (*loader.StoredReader, error)
}

// Bounds of a batch, and the memory that a stream keeps for the next ones.
const (
	batchRows  = 1 << 17
	batchBytes = 64 << 20
	keptBytes  = 64 << 20
	// fewer rows in place are copied with those behind them
	leastBorrowed = 1 << 12
)

// Stream gives batches in order. One goroutine at a time may use it.
type Stream struct {
	source  Source
	columns []*column
	readers []*scan.Owned
	stored  []*loader.StoredReader // of columns of files
	names   []*arrow.Data          // dictionaries of columns with labels
	slabs   []*slab.Slab           // of the dictionaries
	ring    *slab.Ring
	typ     *arrow.Type
	at      int64
	step    int64 // rows of a batch, at most
}

// Batch is some rows. Its memory is valid until Release.
type Batch struct {
	Data *arrow.Data // a struct of the columns

	mu    sync.Mutex
	slabs []*slab.Slab
	keep  []any
}

// Release frees the memory of the batch. A second call does nothing.
func (b *Batch) Release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.slabs {
		s.Release()
	}
	b.slabs, b.keep = nil, nil
}

// Open returns the stream of a source. The caller closes it; batches outlive it.
func Open(ctx context.Context, source Source, o Options) (*Stream, error) {
	if o.Images != Encoded && o.Images != Pixels {
		return nil, errs.Op("convert to Arrow", "").New(errs.Invalid, "images is %q, want %q or %q", o.Images, Encoded, Pixels)
	}
	if o.BatchRows < 0 {
		return nil, errs.Op("convert to Arrow", "").New(errs.Invalid, "batches have %d rows, want at least 1", o.BatchRows)
	}
	s := &Stream{source: source, ring: slab.NewLocalRing(keptBytes), step: batchRows}
	if err := s.open(ctx, o); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Stream) open(ctx context.Context, o Options) error {
	fields := s.source.Table.Columns()
	names := o.Tensors
	if names == nil {
		for _, t := range s.source.Tensors {
			names = append(names, t.Name)
		}
	}
	s.typ = &arrow.Type{Format: "+s"}
	total := int64(0)
	for _, name := range names {
		index := -1
		for i := range fields {
			if fields[i].Name == name && !fields[i].Hidden {
				index = i
			}
		}
		at := slices.IndexFunc(s.source.Tensors, func(t dataset.TensorDescription) bool { return t.Name == name })
		if index < 0 || at < 0 {
			return errs.Op("convert tensor", name).New(errs.NotFound, "there is no such tensor")
		}
		typ, err := s.source.Table.Resolve(ctx, index)
		if err != nil {
			return err
		}
		c, err := describe(&s.source.Tensors[at], typ, o.Images)
		if err != nil {
			return errs.Wrap(errs.Unsupported, "convert tensor", name, err)
		}
		c.index, c.bytes = index, largest(&s.source.Tensors[at], c, fields[index].Bytes, fields[index].Size)
		s.columns = append(s.columns, c)
		s.readers = append(s.readers, s.source.Table.Owned(s.ring))
		s.names = append(s.names, nil)
		if c.labels != nil {
			names, memory, err := dictionary(c.labels, s.ring)
			if err != nil {
				return errs.Wrap(errs.Invalid, "convert tensor", name, err)
			}
			s.names[len(s.names)-1], s.slabs = names, append(s.slabs, memory)
		}
		var stored *loader.StoredReader
		if c.form == formFiles {
			if stored, err = s.source.Stored(name); err != nil {
				return err
			}
		}
		s.stored = append(s.stored, stored)
		if c.axes == array.Unranked {
			if err := s.rank(ctx, len(s.columns)-1); err != nil {
				return err
			}
		}
		s.typ.Children = append(s.typ.Children, c.typ)
		total += c.bytes
	}
	s.step = min(batchRows, max(1, batchBytes/max(1, total)))
	if o.BatchRows > 0 {
		s.step = min(s.step, o.BatchRows)
	}
	return nil
}

// largest estimates the bytes of the largest value of a column.
func largest(d *dataset.TensorDescription, c *column, stored, size float64) int64 {
	if c.form != formNumbers {
		return int64(stored)
	}
	if n, err := d.MaxShape.Elements(); err == nil && d.MaxShape != nil && !c.list {
		return n * int64(max(1, c.dtype.Size()))
	}
	return int64(size)
}

// rank reads the first rows of a column whose number of axes no index tells.
func (s *Stream) rank(ctx context.Context, i int) error {
	c := s.columns[i]
	n := min(s.source.Table.Rows(), 256)
	if n == 0 {
		c.first(nil)
		return nil
	}
	values, memory, err := s.readers[i].Read(ctx, c.index, 0, n)
	if err != nil {
		return err
	}
	c.first(values.Expand())
	if memory != nil {
		memory.Release()
	}
	return nil
}

// Type returns the type of the batches, a struct of the columns.
func (s *Stream) Type() *arrow.Type { return s.typ }

// Close frees readers. Batches stay valid.
func (s *Stream) Close() {
	for _, r := range s.readers {
		r.Close()
	}
	for _, r := range s.stored {
		if r != nil {
			r.Close()
		}
	}
	for _, memory := range s.slabs {
		memory.Release()
	}
	s.slabs = nil
	s.ring.Close()
}

// Next returns the next batch, nil behind the last one. The caller releases it. After an error, the
// stream has no more batches.
func (s *Stream) Next(ctx context.Context) (*Batch, error) {
	rows := s.source.Table.Rows()
	if s.at >= rows {
		return nil, nil
	}
	m := &memory{ring: s.ring, batch: &Batch{}}
	for _, names := range s.slabs {
		names.Retain()
		m.own(names)
	}
	data, n, err := s.next(ctx, m, min(s.step, rows-s.at))
	if err != nil {
		m.batch.Release()
		s.at = rows
		return nil, err
	}
	m.batch.Data = &arrow.Data{Rows: n, Children: data}
	s.at += n
	return m.batch, nil
}

// next makes the columns of the next n rows at most.
func (s *Stream) next(ctx context.Context, m *memory, n int64) ([]*arrow.Data, int64, error) {
	borrowed, n, err := s.borrow(ctx, m, n)
	if err != nil {
		return nil, 0, err
	}
	out := make([]*arrow.Data, len(s.columns))
	group := task.New(ctx, max(2, task.Cores()))
	for i, c := range s.columns {
		if borrowed[i] == nil {
			group.Go(func(ctx context.Context) (err error) {
				if c.form == formFiles {
					out[i], err = s.files(ctx, m, i, n)
				} else {
					out[i], err = s.read(ctx, m, i, n)
				}
				return err
			})
		}
	}
	for i, values := range borrowed {
		if values != nil && err == nil {
			out[i], err = s.convert(m, i, values, true)
		}
	}
	if failed := group.Wait(); failed != nil {
		err = failed
	}
	return out, n, err
}

// borrow finds the columns whose next n rows lie in memory, and cuts n so that they lie together.
func (s *Stream) borrow(ctx context.Context, m *memory, n int64) ([]*array.Column, int64, error) {
	borrowed := make([]*array.Column, len(s.columns))
	cut := n
	for i, c := range s.columns {
		if c.form != formNumbers || c.list || c.labels != nil || c.time.Kind == tensor.Date || c.axes > 0 && c.fixed == nil {
			continue
		}
		values, keep, err := s.readers[i].Borrow(ctx, c.index, s.at, n)
		if err != nil {
			return nil, 0, err
		}
		if values == nil || int64(values.N) < n && values.N < leastBorrowed {
			continue
		}
		borrowed[i] = values
		m.hold(keep)
		cut = min(cut, int64(values.N))
	}
	for i, c := range borrowed {
		if c != nil && int64(c.N) > cut {
			borrowed[i] = c.Slice(0, int(cut))
		}
	}
	return borrowed, cut, nil
}

// read makes a column of the next n rows, which it copies.
func (s *Stream) read(ctx context.Context, m *memory, i int, n int64) (*arrow.Data, error) {
	values, slab, err := s.readers[i].Read(ctx, s.columns[i].index, s.at, n)
	if err != nil {
		return nil, err
	}
	if slab != nil {
		m.own(slab)
	}
	return s.convert(m, i, values.Expand(), slab != nil)
}

// files makes a column of the next n files.
func (s *Stream) files(ctx context.Context, m *memory, i int, n int64) (*arrow.Data, error) {
	rows, sizes := make([]int64, n), make([]int64, n)
	for k := range rows {
		rows[k] = s.at + int64(k)
	}
	if err := s.stored[i].Sizes(ctx, rows, sizes); err != nil {
		return nil, err
	}
	out := &arrow.Data{Rows: n}
	var err error
	if out.Ends, err = m.offsets(n, func(k int64) int64 { return max(0, sizes[k]) }); err != nil {
		return nil, err
	}
	if out.Valid, err = m.valid(n, func(k int64) bool { return sizes[k] < 0 }); err != nil {
		return nil, err
	}
	if out.Values, err = m.bytes(out.Ends[n]); err != nil {
		return nil, err
	}
	places := make([][]byte, n)
	for k := range places {
		places[k] = out.Values[out.Ends[k]:out.Ends[k+1]:out.Ends[k+1]]
	}
	return out, s.stored[i].Read(ctx, rows, places)
}
