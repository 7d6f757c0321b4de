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
	slabBytes  = batchBytes / 8 * 9 // of a batch: rings round up
	// fewer rows in place are copied with those behind them
	leastBorrowed = 1 << 12
	// batches that are read at once from a store
	lanes = 4
	// stored texts of a column from which batches are cut by their sizes
	manyBytes = 1 << 20
)

// rings is the memory of the stream that was closed last, for the next one.
var rings = slab.NewSpare(slab.NewLocalRing)

// Stream gives batches in order. One goroutine at a time may use it.
type Stream struct {
	source  Source
	columns []*column
	readers [][]*scan.Owned        // of each lane: one for each column
	stored  []*loader.StoredReader // of columns of files
	ahead   *task.Group            // of batches that are read before they are taken; nil: none is
	queue   []*future              // of those, in order
	taken   int                    // the number of batches that were begun
	names   []*arrow.Data          // dictionaries of columns with labels
	slabs   []*slab.Slab           // of the dictionaries
	ring    *slab.Ring
	typ     *arrow.Type
	at      int64
	step    int64 // rows of a batch, at most
	failed  error // of every call that follows; nil: none
	closed  bool
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

// future is a batch on its way.
type future struct {
	done  chan struct{}
	batch *Batch
	err   error
}

// Open returns the stream of a source. The caller closes it; batches outlive it.
func Open(ctx context.Context, source Source, o Options) (*Stream, error) {
	if o.Images != Encoded && o.Images != Pixels {
		return nil, errs.Op("convert to Arrow", "").New(errs.Invalid, "images is %q, want %q or %q", o.Images, Encoded, Pixels)
	}
	if o.BatchRows < 0 {
		return nil, errs.Op("convert to Arrow", "").New(errs.Invalid, "batches have %d rows, want at least 1", o.BatchRows)
	}
	s := &Stream{source: source, step: batchRows, readers: make([][]*scan.Owned, 1)}
	if source.Table.Remote() {
		s.readers = make([][]*scan.Owned, lanes)
		s.ahead = task.New(context.Background(), 0)
	}
	// The batch of the user and the one before it, beside those that are read.
	s.ring = rings.Get(int64(len(s.readers)+2) * slabBytes)
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
		c.uneven = c.form != formNumbers && !c.list && s.source.Tensors[at].Bytes > manyBytes
		s.columns = append(s.columns, c)
		for lane := range s.readers {
			s.readers[lane] = append(s.readers[lane], s.source.Table.Owned(s.ring))
		}
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
	values, memory, err := s.readers[0][i].Read(ctx, c.index, 0, n)
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

// Close frees readers, and batches that were read ahead. Others stay valid.
func (s *Stream) Close() {
	if s.closed {
		return
	}
	s.closed = true
	s.failed = errs.Op("convert to Arrow", "").New(errs.Closed, "the stream is closed")
	s.drop()
	for _, lane := range s.readers {
		for _, r := range lane {
			r.Close()
		}
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
	rings.Put(s.ring)
}

// Next returns the next batch, nil behind the last one. The caller releases it. A call that ctx
// ends may be repeated: no row is lost. After any other error, and after Close, every call fails.
func (s *Stream) Next(ctx context.Context) (*Batch, error) {
	if s.failed != nil {
		return nil, s.failed
	}
	var b *Batch
	var err error
	if s.ahead == nil {
		b, err = s.now(ctx)
	} else {
		b, err = s.oldest(ctx)
	}
	if err != nil && ctx.Err() == nil {
		s.failed = err
		s.drop()
	}
	return b, err
}

// now reads the next batch.
func (s *Stream) now(ctx context.Context) (*Batch, error) {
	if s.at >= s.source.Table.Rows() {
		return nil, nil
	}
	n, err := s.fit(ctx, 0)
	if err != nil {
		return nil, err
	}
	b, err := s.batch(ctx, 0, s.at, n)
	if err == nil {
		s.at += b.Data.Rows
	}
	return b, err
}

// oldest begins batches until all lanes have one, and waits for the first of them.
func (s *Stream) oldest(ctx context.Context) (*Batch, error) {
	for len(s.queue) < lanes && s.at < s.source.Table.Rows() {
		n, err := s.fit(ctx, s.taken%lanes)
		if err != nil {
			return nil, err
		}
		s.begin(s.at, n)
		s.at += n
	}
	if len(s.queue) == 0 {
		return nil, nil
	}
	f := s.queue[0]
	select {
	case <-f.done:
	case <-ctx.Done():
		return nil, errs.Cause(ctx, "convert to Arrow")
	}
	if f.err != nil {
		return nil, f.err // stays the first: later batches are not taken for it
	}
	s.queue = s.queue[1:]
	return f.batch, nil
}

// drop ends the batches that were read ahead.
func (s *Stream) drop() {
	if s.ahead == nil {
		return
	}
	s.ahead.Stop()
	_ = s.ahead.Wait() // the futures have the errors
	for _, f := range s.queue {
		if f.batch != nil {
			f.batch.Release()
		}
	}
	s.queue = nil
}

// fit returns the number of rows of the next batch: fewer where the values of a column would exceed
// its bytes.
func (s *Stream) fit(ctx context.Context, lane int) (int64, error) {
	n := min(s.step, s.source.Table.Rows()-s.at)
	for i, c := range s.columns {
		if !c.uneven {
			continue
		}
		sizes, err := s.readers[lane][i].Lengths(ctx, c.index, s.at, n)
		if err != nil {
			return 0, err
		}
		total := int64(0)
		for k, size := range sizes {
			if total += size; total > batchBytes && k > 0 {
				n = int64(k)
				break
			}
		}
	}
	return n, nil
}

// begin reads a batch of n rows in the background. A lane is free again when its batch was taken.
func (s *Stream) begin(from, n int64) {
	f, lane := &future{done: make(chan struct{})}, s.taken%lanes
	s.taken++
	s.queue = append(s.queue, f)
	s.ahead.Go(func(ctx context.Context) error {
		defer close(f.done)
		f.err = task.Call(func() (err error) {
			f.batch, err = s.batch(ctx, lane, from, n)
			return err
		})
		return nil
	})
}

// batch makes a batch of n rows, or of fewer where these lie in the memory of this machine.
func (s *Stream) batch(ctx context.Context, lane int, from, n int64) (*Batch, error) {
	m := &memory{ring: s.ring, batch: &Batch{}}
	for _, names := range s.slabs {
		names.Retain()
		m.own(names)
	}
	part := &part{s: s, readers: s.readers[lane], from: from, n: n, memory: m}
	data, err := part.columns(ctx)
	if err != nil {
		m.batch.Release()
		return nil, err
	}
	m.batch.Data = &arrow.Data{Rows: part.n, Children: data}
	return m.batch, nil
}
