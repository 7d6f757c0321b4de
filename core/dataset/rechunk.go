package dataset

import (
	"context"
	"slices"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/read"
	"deeplake/core/storage"
	"deeplake/core/version"
	"deeplake/core/version/chunkmap"
)

// RechunkOptions are the options of Rechunk.
type RechunkOptions struct {
	Tensors []string `json:"tensors"` // none: all
	// 0: as each tensor has it; else its size from now on, too
	ChunkBytes int64  `json:"chunk_bytes"`
	All        bool   `json:"all"` // also ranges that are laid out well
	Message    string `json:"message"`
	// pieces of chunks that begin in these rows, as the user counts them; Stop 0: all
	Start int64 `json:"start"`
	Stop  int64 `json:"stop"`
}

// RechunkReport has the counts of a Rechunk.
type RechunkReport struct {
	Rows   int64              `json:"rows"`   // samples that were written again
	Bytes  int64              `json:"bytes"`  // of the chunks that hold them now
	Before int64              `json:"before"` // pieces of chunks that the maps of the tensors name
	After  int64              `json:"after"`
	Commit *version.Committed `json:"commit"` // nil: everything lay well, nothing was done
}

// rangeBytes is the most of a chunk that is read at once.
const rangeBytes = 16 << 20

// rangesInFlight bounds the pieces read at once, and so the memory of Rechunk.
const rangesInFlight = 8

// Rechunk rewrites samples in small or half-used chunks, as updates and deletions leave them, to
// full chunks in row order, and commits. Samples, rows and their identities do not change. Stored
// files are not encoded again. A gc frees the space once no version needs the old chunks. After an
// error nothing has changed. In a task of a distributed write it does not commit: the fragment has
// the new layout.
func (d *Dataset) Rechunk(ctx context.Context, o RechunkOptions) (RechunkReport, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var report RechunkReport
	progress := d.begun()
	w, err := d.writer()
	if err != nil {
		return report, err
	}
	if d.task == nil {
		if err = d.settled("rechunk"); err == nil {
			err = d.checkBranch(ctx, d.head.Record.Branch)
		}
	} else if !w.empty() {
		err = errs.New(errs.Conflict, "rechunk in task %q: it has changed rows; rechunk in a task of its own", d.task.key)
	}
	if err != nil {
		return report, err
	}
	if n := d.head.Rows(); o.Start < 0 || o.Stop < 0 || o.Stop > n || o.Stop > 0 && o.Start >= o.Stop {
		return report, errs.Op("rechunk", "").New(errs.Range, "rows %d to %d of %d", o.Start, o.Stop, n)
	}
	if o.ChunkBytes != 0 && (o.ChunkBytes < format.MinChunkBytes || o.ChunkBytes > format.MaxChunkBytes) {
		return report, errs.Op("rechunk", "").New(errs.Invalid, "chunk_bytes is %d, want %d to %d", o.ChunkBytes, format.MinChunkBytes, format.MaxChunkBytes)
	}
	r := &rechunk{w: w, o: o, report: &report, progress: progress}
	if err := r.run(ctx); err != nil {
		d.drop()
		return report, err
	}
	if d.task != nil {
		return report, nil
	}
	if w.empty() {
		d.drop()
		return report, nil
	}
	if o.Message == "" {
		o.Message = "rechunk"
	}
	head, err := w.txn.Commit(ctx, o.Message, d.env.author())
	if err != nil {
		d.drop()
		return report, err
	}
	d.head, d.w, d.seen = head, nil, nil
	for _, id := range r.done {
		report.After += head.Record.Columns[id].Chunks
	}
	c := version.Describe(head.Record)
	report.Commit = &c
	return report, nil
}

// rechunk is one run.
type rechunk struct {
	w      *writer
	o      RechunkOptions
	report *RechunkReport
	done   []format.UUID

	progress *version.Progress // in rows of a tensor
}

func (r *rechunk) run(ctx context.Context) error {
	names := r.o.Tensors
	if len(names) == 0 {
		for i := range r.w.txn.Schema().Tensors {
			names = append(names, r.w.txn.Schema().Tensors[i].Name)
		}
	}
	for _, name := range names {
		ct := r.w.types[name]
		if ct == nil {
			return errs.Wrap(errs.NotFound, "rechunk tensor", name, unknownTensor(r.w.txn.Schema(), name))
		}
		if slices.Contains(r.done, ct.schema.ID) {
			return errs.Op("rechunk", "").New(errs.Invalid, "tensor %q is given twice", name)
		}
		r.done = append(r.done, ct.schema.ID)
		r.report.Before += r.w.txn.Base().Record.Columns[ct.schema.ID].Chunks
		all := r.o.All
		if r.o.ChunkBytes != 0 && r.o.ChunkBytes != ct.schema.ChunkBytes {
			ct.schema.ChunkBytes, all = r.o.ChunkBytes, true
		}
		t := &retensor{rechunk: r, ct: ct, all: all, tree: r.w.txn.Base().Tree(ct.schema.ID)}
		if err := t.run(ctx); err != nil {
			return errs.Wrap(errs.Storage, "rechunk tensor", name, err)
		}
	}
	return r.w.flush(ctx)
}

// retensor is the work on one tensor.
type retensor struct {
	*rechunk
	ct   *columnType
	all  bool
	tree chunkmap.Tree

	gather  []placedEntry // entries of the run that is being gathered
	chunks  int           // that they are in
	waste   bool          // one of them has something in its chunk that no row needs
	builder *chunk.Builder
	runs    []format.RowRange
	holes   []format.RowRange
}

// placedEntry is an entry and its chunk.
type placedEntry struct {
	format.Entry
	chunk *chunk.Chunk
}

func (t *retensor) run(ctx context.Context) error {
	var entries []format.Entry
	base := t.w.txn.Base()
	from, to := int64(0), base.Record.Rows
	if t.o.Stop > 0 {
		if t.o.Start > 0 {
			from = base.Live.Physical(t.o.Start)
		}
		if t.o.Stop < base.Rows() {
			to = base.Live.Physical(t.o.Stop)
		}
	}
	if err := t.tree.Scan(ctx, from, to, func(e format.Entry) bool {
		if e.Row >= from && e.Row < to { // else it is of the rows before
			entries = append(entries, e)
		}
		return true
	}); err != nil {
		return err
	}
	for i := range entries {
		t.progress.TotalItems.Add(entries[i].Rows)
	}
	t.builder = chunk.NewBuilder(t.ct.spec(), t.w.session)
	defer func() { t.builder.Abort() }()
	for len(entries) > 0 {
		n := 1
		for n < len(entries) && entries[n].Session == entries[0].Session && entries[n].Ordinal == entries[0].Ordinal {
			n++
		}
		if err := t.chunk(ctx, entries[:n]); err != nil {
			return err
		}
		for i := range entries[:n] {
			t.progress.Items.Add(entries[i].Rows)
		}
		entries = entries[n:]
	}
	if err := t.rewrite(ctx); err != nil {
		return err
	}
	s, err := t.builder.Seal()
	if err != nil {
		return err
	}
	if s != nil {
		t.sealed(s)
	}
	if len(t.holes) > 0 {
		t.w.txn.AddHoles(t.ct.schema.ID, t.holes, false)
	}
	return nil
}

// chunk decides about consecutive entries of one chunk. They continue the current run, or end it
// because they need no rewriting.
func (t *retensor) chunk(ctx context.Context, entries []format.Entry) error {
	e := &entries[0]
	if e.Tiles > 0 {
		return t.rewrite(ctx) // a chunk for each tile: there is no better place
	}
	ch, err := t.w.d.chunks.get(ctx, t.tree, e, 0, false)
	if err == nil {
		err = t.ct.fits(ch)
	}
	if err != nil {
		return err
	}
	needed := int64(0) // rows of the chunk that are
	for i := range entries {
		if first, n := entries[i].First, entries[i].Rows; first < 0 || first > ch.Index.Rows()-n {
			return read.Beyond(ch, first+n-1, ch.Index.Rows())
		}
		needed += entries[i].Rows - t.deletedIn(entries[i].Row, entries[i].Rows)
	}
	waste := needed != ch.Index.Rows()
	if !t.all && !waste && e.Bytes >= t.ct.schema.ChunkBytes/2 {
		return t.rewrite(ctx)
	}
	for i := range entries {
		t.gather = append(t.gather, placedEntry{entries[i], ch})
	}
	t.chunks, t.waste = t.chunks+1, t.waste || waste
	return nil
}

func (t *retensor) deletedIn(row, n int64) int64 {
	deleted := t.w.txn.Base().Deleted
	before := uint64(0)
	if row > 0 {
		before = deleted.Rank(uint64(row - 1))
	}
	return int64(deleted.Rank(uint64(row+n-1)) - before)
}

// rewrite writes the gathered run again, unless it is one chunk that is merely small.
func (t *retensor) rewrite(ctx context.Context) error {
	run := t.gather
	worth := t.chunks > 1 || t.waste || t.all
	t.gather, t.chunks, t.waste = nil, 0, false
	if len(run) == 0 || !worth {
		return nil
	}
	var parts []rowRange
	for i := range run {
		parts = append(parts, t.rowRanges(&run[i])...)
	}
	for len(parts) > 0 {
		n := min(len(parts), rangesInFlight)
		if err := t.write(ctx, parts[:n]); err != nil {
			return err
		}
		parts = parts[n:]
	}
	return nil
}

// rowRange is live rows of one chunk that follow each other, and the bytes that they lie in.
type rowRange struct {
	of       *placedEntry
	row, n   int64 // physical rows
	from, to int64 // bytes of the chunk
	data     []byte
}

// rowRanges cuts the live rows of an entry into pieces, and notes the deleted ones as holes.
func (t *retensor) rowRanges(p *placedEntry) []rowRange {
	var out []rowRange
	for row := p.Row; row < p.Row+p.Rows; row++ {
		if t.w.txn.Base().Deleted.Contains(uint64(row)) {
			t.holes = addRow(t.holes, row)
			continue
		}
		from, to := p.extent(p.First + row - p.Row)
		if k := len(out) - 1; k >= 0 && out[k].row+out[k].n == row && max(to, out[k].to)-min(from, out[k].from) <= rangeBytes {
			out[k].n++
			if to > from {
				if out[k].to == out[k].from {
					out[k].from = from
				}
				out[k].to = max(out[k].to, to)
			}
			continue
		}
		out = append(out, rowRange{of: p, row: row, n: 1, from: from, to: to})
	}
	return out
}

// extent returns the bytes of the blocks that a row of the chunk lies in; none if it has no items,
// or only links.
func (p *placedEntry) extent(at int64) (from, to int64) {
	x := p.chunk.Index
	first, n := x.RowItemsRange(at)
	if n == 0 || x.Linked() {
		return 0, 0
	}
	b, _ := x.BlockOf(first)
	from, _, _ = x.BlockRange(b)
	b, _ = x.BlockOf(first + n - 1)
	off, size, _ := x.BlockRange(b)
	return from, off + size
}

func addRow(runs []format.RowRange, row int64) []format.RowRange {
	if n := len(runs); n > 0 && runs[n-1].Start+runs[n-1].Count == row {
		runs[n-1].Count++
		return runs
	}
	return append(runs, format.RowRange{Start: row, Count: 1})
}

// write reads pieces side by side, then packs their samples in order.
func (t *retensor) write(ctx context.Context, parts []rowRange) error {
	g := task.New(ctx, rangesInFlight)
	for i := range parts {
		p := &parts[i]
		g.Go(func(ctx context.Context) error {
			p.data = make([]byte, p.to-p.from)
			if len(p.data) == 0 {
				return nil
			}
			return p.of.chunk.Store.ReadAt(ctx, p.of.chunk.Key, p.data, p.from)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i := range parts {
		if err := t.pack(ctx, &parts[i]); err != nil {
			return err
		}
		parts[i].data = nil
	}
	return nil
}

// pack adds the rows of a piece to the open chunk.
func (t *retensor) pack(ctx context.Context, p *rowRange) error {
	worker := chunk.NewWorker(t.w.d.env.Codecs)
	defer worker.Close()
	inMemory := *p.of.chunk
	inMemory.Store = memoryBytes{inMemory.Store, p.from, p.data}
	x := inMemory.Index
	for row := p.row; row < p.row+p.n; row++ {
		first, n := x.RowItemsRange(p.of.First + row - p.of.Row)
		items := make([]chunk.Item, n)
		for k := range items {
			item := first + int64(k)
			items[k].Shape = x.Shape(item)
			if x.Linked() {
				l := x.Link(item)
				items[k].Link, items[k].Codec = &l, x.SampleCodec()
				continue
			}
			if id := x.SampleCodec(); id != t.ct.spec().SampleCodec {
				items[k].Codec = id
			}
			items[k].Data = make([]byte, x.ItemBytes(item))
			ref := chunk.Ref{Row: row, Chunk: &inMemory, Item: item, Items: 1, Stored: x.ItemBytes(item)}
			if err := worker.Stored(ctx, &ref, items[k].Data); err != nil {
				return err
			}
		}
		if err := t.add(ctx, row, items); err != nil {
			return err
		}
	}
	return nil
}

// add packs one row. Only the row added last can be in the next chunk.
func (t *retensor) add(ctx context.Context, row int64, items []chunk.Item) error {
	s, err := t.builder.AddRow(ctx, items)
	if err != nil {
		if s != nil {
			s.Stream.Abort()
		}
		return err
	}
	in := int64(1)
	for _, r := range t.runs {
		in += r.Count
	}
	if s == nil || s.Rows == in {
		t.runs = addRow(t.runs, row)
	}
	if s != nil {
		t.sealed(s)
		if s.Rows != in {
			t.runs = addRow(t.runs, row)
		}
	}
	t.report.Rows++
	return nil
}

// sealed hands a complete chunk of the rows in t.runs to the transaction.
func (t *retensor) sealed(s *chunk.Sealed) {
	e := format.Entry{Session: s.Session, Ordinal: s.Ordinal, Bytes: s.Bytes, Stats: s.Stats}
	t.w.txn.RewriteChunk(t.ct.schema.ID, e, t.runs, s.Dir)
	if store := t.w.txn.Spill(); store != nil {
		t.w.group.Go(store)
	}
	t.w.finish(s.Stream.Finish, s.Stream.Abort)
	t.report.Bytes += s.Bytes
	t.progress.Bytes.Add(s.Bytes)
	t.runs = nil
}

// memoryBytes is a store of which a part of one object is in memory already.
type memoryBytes struct {
	storage.Provider
	from int64
	data []byte
}

// ReadAt copies from the memory.
func (h memoryBytes) ReadAt(_ context.Context, key string, dst []byte, off int64) error {
	if off < h.from || off-h.from > int64(len(h.data)) || copy(dst, h.data[off-h.from:]) < len(dst) {
		return errs.Op("read", key).New(errs.Internal, "%d bytes at %d are not at hand", len(dst), off)
	}
	return nil
}
