package dataset

import (
	"context"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/tensor"
	"deeplake/core/version"
)

// finishesInFlight is the number of sealed chunks that are made durable at once, while the next
// ones are being filled.
const finishesInFlight = 8

// writer is the changes of a dataset since its head: a transaction and the chunks that are being
// filled for it.
type writer struct {
	d       *Dataset
	txn     *version.Txn
	session *chunk.Session
	types   map[string]*columnType
	byID    map[format.UUID]*columnType
	made    map[format.UUID][]*columnType // the tensors that are made of each one
	groups  map[string]string             // a tensor of each group
	adding  opened                        // chunks of appended rows
	fixing  opened                        // chunks of updated rows
	waiting map[format.UUID][]waiting     // empty samples of tensors without a dtype
	// class labels without names that have labels by number
	labelled map[format.UUID]bool
	group    *task.Group
	beside   func(fn func()) // runs fn in a goroutine, for blocks to be compressed
	// of the call that writes now: when it ends nothing waits for a place in group
	caller context.Context
	broken error // why the transaction can only be discarded
	// abort drops everything. It, empty and preview are values: programs that never make a writer
	// do not link how chunks and commits are written.
	abort func()
	// empty reports whether nothing was changed
	empty func() bool
	// preview makes everything durable, and returns the snapshot that a commit would make
	preview func(ctx context.Context) (*version.Snapshot, error)
}

// opened are the chunks being filled, one for each tensor.
type opened map[format.UUID]*filling

// filling is a chunk being filled, and the rows that its items belong to.
type filling struct {
	builder *chunk.Builder
	runs    []format.RowRange
}

func (o *filling) took(row, count int64) {
	if n := len(o.runs); n > 0 && o.runs[n-1].Start+o.runs[n-1].Count == row {
		o.runs[n-1].Count += count
		return
	}
	o.runs = append(o.runs, format.RowRange{Start: row, Count: count})
}

func newWriter(d *Dataset) (*writer, error) { return newWriterOn(d, d.head) }

// newWriterOn makes a writer on top of s.
func newWriterOn(d *Dataset, s *version.Snapshot) (*writer, error) {
	w := &writer{
		d: d, txn: d.repo.Begin(s), session: chunk.NewSession(d.store), types: map[string]*columnType{},
		adding: opened{}, fixing: opened{}, waiting: map[format.UUID][]waiting{}, labelled: map[format.UUID]bool{},
		group: newGroup(), caller: context.Background(),
	}
	// Blocks wait for a processor, not their builders: those bound how many wait, and go on with
	// columns that are not compressed.
	packers, cores := task.New(context.Background(), 0), make(chan struct{}, task.Cores())
	w.beside = func(fn func()) {
		packers.Go(func(context.Context) error {
			cores <- struct{}{}
			defer func() { <-cores }()
			fn()
			return nil
		})
	}
	w.abort, w.empty, w.preview = w.dropAll, w.untouched, w.flushed
	w.txn.OnRenumber = w.renumber
	return w, w.resolveTypes()
}

// flushed is preview.
func (w *writer) flushed(ctx context.Context) (*version.Snapshot, error) {
	if err := w.flush(ctx); err != nil {
		return nil, err
	}
	return w.txn.Preview(ctx)
}

// newGroup makes a group that outlives the call which starts it: its goroutines end with the
// writer's flush or abort.
func newGroup() *task.Group { return task.New(context.Background(), finishesInFlight) }

// resolveTypes reads the schema again, after it has changed.
func (w *writer) resolveTypes() error {
	schema := w.txn.Schema()
	clear(w.types)
	w.groups, w.byID, w.made = map[string]string{}, map[format.UUID]*columnType{}, map[format.UUID][]*columnType{}
	for i := range schema.Tensors {
		if err := w.resolveType(&schema.Tensors[i]); err != nil {
			return err
		}
	}
	return nil
}

// resolveType reads the schema of one tensor.
func (w *writer) resolveType(ts *format.TensorSchema) error {
	ct, err := resolve(ts, w.d.env.Codecs)
	if err != nil {
		return err
	}
	w.types[ts.Name], w.byID[ts.ID] = ct, ct
	if of := ts.MadeOf(); !of.IsZero() {
		w.made[of] = append(w.made[of], ct)
	}
	for i := range len(ts.Name) {
		if ts.Name[i] == '/' {
			w.groups[ts.Name[:i]] = ts.Name
		}
	}
	return nil
}

// groupClash finds a tensor that cannot be beside one of this name, as one name would be a group of
// the other.
func (w *writer) groupClash(name string) (other string, ok bool) {
	if other, ok = w.groups[name]; ok {
		return other, true
	}
	for i := range len(name) {
		if name[i] == '/' && w.types[name[:i]] != nil {
			return name[:i], true
		}
	}
	return "", false
}

func (w *writer) addTensor(ts format.TensorSchema) {
	schema := w.txn.Schema()
	moves := len(schema.Tensors) == cap(schema.Tensors) // every type points into the slice
	schema.Tensors = append(schema.Tensors, ts)
	err := error(nil)
	if moves {
		err = w.resolveTypes()
	} else {
		err = w.resolveType(&schema.Tensors[len(schema.Tensors)-1])
	}
	if err != nil {
		w.broken = err
	}
}

// renamed follows a change of names in the schema.
func (w *writer) renamed() error {
	if err := w.resolveTypes(); err != nil {
		w.broken = err
	}
	return w.broken
}

// check reports why the transaction cannot go on.
func (w *writer) check() error {
	if w.broken == nil && w.group.Context().Err() != nil {
		w.broken = w.group.Wait()
	}
	if w.broken == nil {
		return nil
	}
	return errs.Wrap(errs.Storage, "write to dataset", w.d.URI(),
		errs.New(errs.KindOf(w.broken), "%w; what is committed is safe, discard() and write again", w.broken))
}

// fail notes an error of the store in the middle of a write, after which tensors may differ in
// length.
func (w *writer) fail(err error) error {
	w.broken = err
	return w.check()
}

// untouched is empty.
func (w *writer) untouched() bool {
	return w.txn.Empty() && len(w.adding) == 0 && len(w.fixing) == 0
}

// physical maps rows as the user counts them to rows as in version.Txn.
func (w *writer) physical(rows []int64) ([]int64, error) {
	live, n := w.txn.Live()
	out := make([]int64, len(rows))
	for i, row := range rows {
		if row < 0 || row >= n {
			return nil, errs.New(errs.Range, "row %d is out of range, the dataset has %d rows", row, n)
		}
		out[i] = live.Physical(row)
	}
	return out, nil
}

// opened returns the chunk being filled for a tensor in set.
func (w *writer) opened(set opened, ct *columnType) *filling {
	o := set[ct.schema.ID]
	if o == nil {
		o = &filling{builder: chunk.NewBuilder(ct.spec(), w.session)}
		set[ct.schema.ID] = o
	}
	return o
}

// sealed hands a complete chunk of rows to the transaction and makes it durable in the background.
func (w *writer) sealed(ct *columnType, s *chunk.Sealed, runs []format.RowRange, update bool) {
	e := format.Entry{Session: s.Session, Ordinal: s.Ordinal, Bytes: s.Bytes, Stats: s.Stats}
	w.addChunk(ct, e, runs, update, s.Dir)
	w.finish(s.Stream.Finish, s.Stream.Abort)
}

// spill stores the side pages that are full, in the background.
func (w *writer) spill() {
	if store := w.txn.Spill(); store != nil {
		w.group.GoFor(w.caller, store)
	}
}

// addChunk hands an entry to the transaction, and stores the side pages that this fills.
func (w *writer) addChunk(ct *columnType, e format.Entry, runs []format.RowRange, update bool, dirs ...[]byte) {
	w.txn.AddChunk(ct.schema.ID, e, runs, update, dirs...)
	w.spill()
}

func (w *writer) finish(finish func(context.Context) error, abort func()) {
	w.group.GoFor(w.caller, func(ctx context.Context) error {
		if err := finish(ctx); err != nil {
			abort()
			return err
		}
		return nil
	})
}

// take gives the items of count rows from row on to the chunk o, and hands over a chunk that this
// completed.
func (w *writer) take(o *filling, ct *columnType, s *chunk.Sealed, row, count int64, update bool) {
	o.take(s, row, count, func(runs []format.RowRange) { w.sealed(ct, s, runs, update) })
}

// take notes count rows from row on. If they completed a chunk, sealed receives its rows. Only the
// row added last can be in the next chunk.
func (o *filling) take(s *chunk.Sealed, row, count int64, sealed func(runs []format.RowRange)) {
	if s == nil {
		o.took(row, count)
		return
	}
	in := int64(0)
	for _, r := range o.runs {
		in += r.Count
	}
	whole := s.Rows == in+count
	if whole {
		o.took(row, count)
	}
	sealed(o.runs)
	o.runs = nil
	if !whole {
		o.took(row, count)
	}
}

// addTiled stores an oversized array as tiles, each a chunk of its own.
func (w *writer) addTiled(ctx context.Context, ct *columnType, it chunk.Item, row int64, update bool) error {
	ct, err := ct.ofArrays(w.d.env.Codecs)
	if err != nil {
		return err
	}
	spec := ct.spec()
	size := int64(ct.dtype.Size())
	tile, err := chunk.TileShape(it.Shape, size, spec.Max())
	if err != nil {
		return err
	}
	n := chunk.Tiles(it.Shape, tile)
	e := format.Entry{Session: w.session.ID, Tiles: n}
	dirs := make([][]byte, n)
	for i := range n {
		data, shape := chunk.Cut(it.Data, it.Shape, tile, i, size)
		item := chunk.Item{Data: data, Shape: shape}
		if ct.sampleCodec != nil {
			if item.Data, err = ct.sampleCodec.Encode(nil, data, ct.dtype, shape, ct.options()); err != nil {
				return err
			}
		}
		s, err := chunk.WriteTile(ctx, spec, w.session, item, format.TileRef{Sample: it.Shape.Clone(), Tile: tile, Index: i})
		if err != nil {
			return err
		}
		if i == 0 {
			e.Ordinal, e.Stats = s.Ordinal, format.Stats{MinShape: it.Shape.Clone(), MaxShape: it.Shape.Clone()}
		}
		e.Bytes += s.Bytes
		dirs[i] = s.Dir
		w.finish(s.Stream.Finish, s.Stream.Abort)
	}
	if o := w.fixing[ct.schema.ID]; update && o != nil {
		// An update of the row before this one would come later, were its chunk left open.
		if err := w.seal(w.fixing, ct.schema.ID, o, update); err != nil {
			return err
		}
	}
	w.addChunk(ct, e, []format.RowRange{{Start: row, Count: 1}}, update, dirs...)
	return nil
}

// flush seals every open chunk and waits until all are durable.
func (w *writer) flush(ctx context.Context) error {
	if err := w.check(); err != nil {
		return err
	}
	w.caller = ctx
	if err := w.decideAll(ctx); err != nil {
		return err
	}
	for _, update := range []bool{false, true} {
		set := w.adding
		if update {
			set = w.fixing
		}
		for id, o := range set {
			if err := w.seal(set, id, o, update); err != nil {
				return w.fail(err)
			}
		}
	}
	if err := w.group.WaitFor(ctx); errs.Is(err, errs.Canceled) && ctx.Err() != nil && w.group.Context().Err() == nil {
		// chunks go on: the next flush waits for them
		return errs.Wrap(errs.Canceled, "write to dataset", w.d.URI(), err)
	} else if err != nil {
		return w.fail(err)
	}
	w.group = newGroup()
	return errs.Wrap(errs.Canceled, "write to dataset", w.d.URI(), ctx.Err())
}

// seal completes a chunk before it is full.
func (w *writer) seal(set opened, id format.UUID, o *filling, update bool) error {
	s, err := o.builder.Seal()
	if err != nil {
		return err
	}
	if s != nil {
		w.sealed(w.typeOf(id), s, o.runs, update)
	}
	delete(set, id)
	return nil
}

func (w *writer) typeOf(id format.UUID) *columnType {
	return w.byID[id]
}

// dropAll is abort.
func (w *writer) dropAll() {
	for _, set := range []opened{w.adding, w.fixing} {
		for _, o := range set {
			o.builder.Abort()
		}
	}
	w.group.Stop()
	_ = w.group.Wait()
}

// columnsOf pairs cols with their types, refusing unknown and repeated names.
func (w *writer) columnsOf(cols []tensor.Rows) ([]*columnType, error) {
	out := make([]*columnType, len(cols))
	seen := map[string]bool{}
	for i, c := range cols {
		ct := w.types[c.Tensor]
		if ct == nil {
			return nil, unknownTensor(w.txn.Schema(), c.Tensor)
		}
		if seen[c.Tensor] {
			return nil, errs.New(errs.Invalid, "tensor %q is given twice", c.Tensor)
		}
		if !ct.schema.MadeOf().IsZero() {
			return nil, errs.New(errs.Invalid, "tensor %q is made of another one, and is written with it", c.Tensor)
		}
		seen[c.Tensor] = true
		out[i] = ct
	}
	return out, nil
}
