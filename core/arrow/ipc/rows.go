package ipc

import (
	"context"
	"math"
	"slices"

	"deeplake/core/arrow"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
)

const (
	// batchRows bounds a batch. Record batches are read together up to groupBytes and groupBlocks.
	batchRows   = 1 << 16
	groupBytes  = 8 << 20
	groupBlocks = 256
	// aheadGroups are read before they are needed, far of them across a network.
	aheadGroups, farGroups = 2, 4
	// aheadBytes bounds their bytes, but for one group.
	aheadBytes = 256 << 20
)

// Options choose the rows and columns of a file.
type Options struct {
	Columns []string // nil: all
	From    int64    // the first row
	// Ahead requests bytes further ahead: for stores across a network.
	Ahead bool
}

// Rows reads the rows of a file in batches. One goroutine at a time may use it.
type Rows struct {
	f      *File
	group  *task.Group
	depth  int
	picked []int
	types  *arrow.Type

	// the next messages of the file
	at           int64 // of a stream
	rest         []block
	skip         int64
	dictionaries dictionaries
	isEnd        bool

	queue []*load
	bytes int64 // of the queue
	ready *arrow.Column
	share float64 // bytes of the file for a row of ready
	next  int64
}

// load is a group of record batches on their way.
type load struct {
	blocks       []block
	skip         int64 // rows of the first one
	bytes        int64
	dictionaries dictionaries
	done         chan struct{}
	parts        []*arrow.Data
	err          error
}

// Read begins to read rows. The result must be closed. A column that is not there is errs.NotFound.
func (f *File) Read(ctx context.Context, o Options) (*Rows, error) {
	r := &Rows{f: f, depth: aheadGroups, at: f.first, rest: f.batches, skip: o.From, next: o.From}
	var err error
	if r.picked, err = f.picked(o.Columns); err != nil {
		return nil, err
	}
	all := made(f.schema)
	r.types = &arrow.Type{Format: all.Format, Metadata: all.Metadata}
	for _, i := range r.picked {
		r.types.Children = append(r.types.Children, all.Children[i])
	}
	if o.Ahead {
		r.depth = farGroups
	}
	r.dictionaries = dictionaries{}
	for _, b := range f.dictionaries {
		if err := r.dictionary(ctx, b); err != nil {
			return nil, err
		}
	}
	r.group = task.New(ctx, 0)
	return r, nil
}

// Close ends requests that are on their way.
func (r *Rows) Close() {
	r.group.Stop()
	_ = r.group.Wait()
}

// Position is the number of the next row in the file.
func (r *Rows) Position() int64 { return r.next }

// Next returns the next rows, a struct of columns, and how many bytes of the file they take; nil
// behind the last row.
func (r *Rows) Next(ctx context.Context) (*arrow.Column, int64, error) {
	for r.ready == nil || r.ready.Len() == 0 {
		if err := r.request(ctx); err != nil {
			return nil, 0, err
		}
		if len(r.queue) == 0 {
			if r.skip > 0 {
				return nil, 0, errs.New(errs.Invalid, "the file has %d rows, and reading begins at %d", r.next-r.skip, r.next)
			}
			return nil, 0, nil
		}
		l := r.queue[0]
		r.queue = r.queue[1:]
		select {
		case <-l.done:
		case <-ctx.Done():
			return nil, 0, errs.Wrap(errs.Canceled, "read", "", ctx.Err())
		}
		r.bytes -= l.bytes
		if l.err != nil {
			return nil, 0, l.err
		}
		c, err := arrow.MakeColumn(r.types, l.parts...)
		if err != nil {
			return nil, 0, errs.New(errs.Corrupt, "%w", err)
		}
		r.ready, r.share = c.Slice(l.skip, c.Len()-l.skip), float64(l.bytes)/float64(max(1, c.Len()))
	}
	n := min(r.ready.Len(), batchRows)
	out := r.ready.Slice(0, n)
	r.ready = r.ready.Slice(n, r.ready.Len()-n)
	r.next += n
	return out, int64(math.Ceil(r.share * float64(n))), nil
}

// request asks for groups until enough are on their way.
func (r *Rows) request(ctx context.Context) error {
	for !r.isEnd && len(r.queue) < r.depth && (len(r.queue) == 0 || r.bytes < aheadBytes) {
		l := &load{done: make(chan struct{})}
		if err := r.gather(ctx, l); err != nil {
			return err
		}
		if len(l.blocks) == 0 {
			return nil
		}
		l.dictionaries = r.dictionaries
		r.bytes += l.bytes
		r.queue = append(r.queue, l)
		r.group.Go(func(ctx context.Context) error {
			defer close(l.done)
			l.err = task.Call(func() (err error) {
				l.parts, err = r.read(ctx, l)
				return err
			})
			return nil
		})
	}
	return nil
}

// gather collects the next record batches that are read together.
func (r *Rows) gather(ctx context.Context, l *load) error {
	for len(l.blocks) < groupBlocks && l.bytes < groupBytes {
		b, ok, err := r.block(ctx, len(l.blocks) == 0)
		if err != nil || !ok {
			return err
		}
		if r.skip > 0 {
			rows, err := r.f.rowsOf(ctx, b)
			if err != nil {
				return err
			}
			if rows <= r.skip {
				r.skip -= rows
				continue
			}
			l.skip, r.skip = r.skip, 0
		}
		l.blocks = append(l.blocks, b)
		l.bytes += b.meta + b.body
	}
	return nil
}

// block returns the next record batch; ok is false at the end, and before a dictionary unless
// others may change it.
func (r *Rows) block(ctx context.Context, mayChange bool) (b block, ok bool, err error) {
	if !r.f.isStream {
		if len(r.rest) == 0 {
			r.isEnd = true
			return b, false, nil
		}
		b, r.rest = r.rest[0], r.rest[1:]
		return b, true, nil
	}
	for {
		b, p, err := r.f.message(ctx, r.at)
		if err != nil {
			return b, false, err
		}
		if b.meta == 0 {
			r.isEnd = true
			return b, false, nil
		}
		m, err := parseMessage(p)
		if err != nil {
			return b, false, err
		}
		switch m.kind() {
		case batchMessage:
			r.at = b.end()
			return b, true, nil
		case dictionaryMessage:
			if !mayChange {
				return b, false, nil
			}
			if err := r.dictionary(ctx, b); err != nil {
				return b, false, err
			}
		}
		r.at = b.end()
	}
}

// metadata reads the metadata of a record batch.
func (f *File) metadata(ctx context.Context, b block) (*batch, error) {
	p := make([]byte, b.meta)
	if err := f.r.ReadAt(ctx, p, b.off); err != nil {
		return nil, err
	}
	m, err := parseMessage(p)
	if err != nil {
		return nil, err
	}
	if kind := m.kind(); kind != batchMessage && kind != dictionaryMessage {
		return nil, errs.New(errs.Corrupt, "a message of type %d lies in the place of a record batch", kind)
	}
	return parseBatch(m, b.body)
}

// rowsOf returns the number of rows of a record batch.
func (f *File) rowsOf(ctx context.Context, b block) (int64, error) {
	m, err := f.metadata(ctx, b)
	if err != nil {
		return 0, err
	}
	return m.rows, nil
}

// read reads the record batches of a group.
func (r *Rows) read(ctx context.Context, l *load) ([]*arrow.Data, error) {
	from := r.f
	isWhole := len(r.picked) == len(r.f.schema.children)
	first, last := l.blocks[0], l.blocks[len(l.blocks)-1]
	// Small record batches one behind the other are one request.
	if size := last.end() - first.off; size > 0 && (isWhole && size <= 2*groupBytes || size <= gapBytes) {
		p := make([]byte, size)
		if err := r.f.r.ReadAt(ctx, p, first.off); err != nil {
			return nil, err
		}
		from = &File{r: part{p, first.off}, size: r.f.size, unpacker: r.f.unpacker}
	}
	var out []*arrow.Data
	for _, b := range l.blocks {
		meta, err := from.metadata(ctx, b)
		if err != nil {
			return nil, err
		}
		d, err := from.columns(ctx, b, meta, r.f.schema, r.picked, l.dictionaries)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

// columns reads some columns of a record batch.
func (f *File) columns(ctx context.Context, b block, meta *batch, schema *field, picked []int, known dictionaries) (*arrow.Data, error) {
	var wanted []span
	at := make([]cursor, len(schema.children))
	c := cursor{batch: meta}
	for i, column := range schema.children {
		at[i] = c
		spans, err := c.skip(column)
		if err != nil {
			return nil, err
		}
		if slices.Contains(picked, i) {
			wanted = append(wanted, spans...)
		}
	}
	body, err := readSpans(ctx, f.r, b.off+b.meta, wanted)
	if err != nil {
		return nil, err
	}
	out, left := &arrow.Data{Rows: meta.rows}, int64(maxBody)
	for _, i := range picked {
		d := decoder{cursor: at[i], unpacker: f.unpacker, body: body, dictionaries: known, left: left}
		one, err := d.data(schema.children[i])
		if err != nil {
			return nil, errs.New(errs.KindOf(err), "column %q: %w", schema.children[i].Name, err)
		}
		if one.Rows != meta.rows {
			return nil, errs.New(errs.Corrupt, "column %q has %d rows in a record batch of %d", schema.children[i].Name, one.Rows, meta.rows)
		}
		left = d.left
		out.Children = append(out.Children, one)
	}
	if len(picked) == 0 && meta.rows > maxEmpty {
		return nil, errs.New(errs.Unsupported, "a record batch without columns has %d rows, want at most %d", meta.rows, maxEmpty)
	}
	return out, nil
}

// part is a part of a file, in memory.
type part struct {
	p   []byte
	off int64
}

// ReadAt fills p.
func (m part) ReadAt(_ context.Context, p []byte, off int64) error {
	if off < m.off || off-m.off > int64(len(m.p)-len(p)) {
		return errs.New(errs.Corrupt, "its messages overlap")
	}
	copy(p, m.p[off-m.off:])
	return nil
}

// dictionary reads the values of a dictionary, unless no column that is read has it.
func (r *Rows) dictionary(ctx context.Context, b block) error {
	meta, err := r.f.metadata(ctx, b)
	if err != nil {
		return err
	}
	var of *field
	for _, i := range r.picked {
		if of == nil {
			of = r.f.schema.children[i].withDictionary(meta.id)
		}
	}
	if of == nil {
		return nil
	}
	d, err := r.f.columns(ctx, b, meta, &field{children: []*field{of.values}}, []int{0}, r.dictionaries)
	if err != nil {
		return errs.New(errs.KindOf(err), "dictionary %d: %w", meta.id, err)
	}
	values := d.Children[0]
	if meta.isDelta && r.dictionaries[meta.id] != nil {
		if values, err = joined(of.values, r.dictionaries[meta.id], values); err != nil {
			return err
		}
	}
	// Groups on their way have the dictionaries of before.
	known := dictionaries{meta.id: values}
	for id, d := range r.dictionaries {
		if id != meta.id {
			known[id] = d
		}
	}
	r.dictionaries = known
	return nil
}

// withDictionary returns the field below f whose dictionary has a number; nil: there is none.
func (f *field) withDictionary(id int64) *field {
	if f.values != nil {
		if f.id == id {
			return f
		}
		return f.values.withDictionary(id)
	}
	for _, child := range f.children {
		if of := child.withDictionary(id); of != nil {
			return of
		}
	}
	return nil
}

// joined puts the texts of a dictionary behind those before.
func joined(of *field, a, b *arrow.Data) (*arrow.Data, error) {
	if a.Ends == nil || b.Ends == nil || a.Valid != nil || b.Valid != nil || len(of.children) > 0 {
		return nil, errs.New(errs.Unsupported, "a dictionary of type %q grows; write it as a whole", of.Format)
	}
	end := a.Ends[a.Rows]
	if end < 0 || end > int64(len(a.Values)) {
		return nil, errs.New(errs.Corrupt, "texts of a dictionary end at %d of %d bytes", end, len(a.Values))
	}
	out := &arrow.Data{Rows: a.Rows + b.Rows, Values: slices.Concat(a.Values[:end], b.Values), Ends: slices.Clone(a.Ends)}
	for _, e := range b.Ends[1:] {
		out.Ends = append(out.Ends, end+e)
	}
	return out, nil
}
