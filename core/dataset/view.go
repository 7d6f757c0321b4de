package dataset

import (
	"context"
	"sync"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/version"
)

// View is rows of one version of a dataset, in an order. It never changes and may be used in
// parallel. It is valid until its dataset is closed.
type View struct {
	d     *Dataset
	snap  *version.Snapshot
	dirty bool   // shows changes that are not committed
	made  uint64 // see changes
	types map[string]*columnType
	names []string

	// The rows, as live rows of the snapshot: list, or else start, start+step, ...
	list        []int64
	start, step int64
	n           int64

	// probe looks for links once, for all views of the version.
	probe *sync.Once

	mu      sync.Mutex
	columns map[string]*Column
}

func newView(d *Dataset, s *version.Snapshot, dirty bool) (*View, error) {
	v := &View{d: d, snap: s, dirty: dirty, made: d.log.now(), types: map[string]*columnType{}, names: visible(s.Schema), step: 1, n: s.Rows(), probe: new(sync.Once), columns: map[string]*Column{}}
	for i := range s.Schema.Tensors {
		ts := &s.Schema.Tensors[i]
		ct, err := resolve(ts, d.env.Codecs)
		if err != nil {
			return nil, err
		}
		v.types[ts.Name] = ct
	}
	return v, nil
}

// Len returns the number of rows.
func (v *View) Len() int64 { return v.n }

// Names lists the tensors in order of creation. The slice is shared.
func (v *View) Names() []string { return v.names }

// NewWorker makes the scratch memory and decoders of one goroutine that reads the view.
func (v *View) NewWorker() *chunk.Worker { return chunk.NewWorker(v.d.env.Codecs) }

// StoredBytes estimates the size of the view's rows in all tensors, as stored, from the counters of
// the commit.
func (v *View) StoredBytes(context.Context) (int64, error) {
	if v.snap.Record.Rows == 0 {
		return 0, nil
	}
	total := int64(0)
	for i := range v.snap.Schema.Tensors {
		total += v.snap.Record.Columns[v.snap.Schema.Tensors[i].ID].Bytes
	}
	return int64(float64(total) * float64(v.n) / float64(v.snap.Record.Rows)), nil
}

// live returns the live row of the snapshot at position i, which must be below Len.
func (v *View) live(i int64) int64 {
	if v.list != nil {
		return v.list[i]
	}
	return v.start + i*v.step
}

// Rows fills dst, len(dst) == Len, with the row numbers in the dataset.
func (v *View) Rows(dst []int64) {
	for i := range dst {
		dst[i] = v.live(int64(i))
	}
}

// derive returns a view of other rows of the same version.
func (v *View) derive() *View {
	return &View{d: v.d, snap: v.snap, dirty: v.dirty, made: v.made, types: v.types, names: v.names, step: 1, probe: v.probe, columns: map[string]*Column{}}
}

// Select returns a view of the given rows of v, in that order; repeats are allowed. It does not
// retain rows.
func (v *View) Select(rows []int64) (*View, error) {
	out := v.derive()
	out.list = make([]int64, len(rows))
	out.n = int64(len(rows))
	for i, row := range rows {
		if row < 0 || row >= v.n {
			return nil, outOfRange(row, v.n)
		}
		out.list[i] = v.live(row)
	}
	return out, nil
}

func outOfRange(row, n int64) error {
	return errs.New(errs.Range, "row %d is out of range, there are %d rows", row, n)
}

// Slice returns the view of rows start, start+step, ... before stop (behind stop for a negative
// step), all of which exist.
func (v *View) Slice(start, stop, step int64) (*View, error) {
	if step == 0 {
		return nil, errs.New(errs.Invalid, "slice: step is 0")
	}
	n := int64(0)
	if step > 0 && stop > start {
		n = (stop-start-1)/step + 1
	} else if step < 0 && stop < start {
		n = (start-stop-1)/-step + 1
	}
	out := v.derive()
	if n == 0 {
		return out, nil
	}
	last := start + (n-1)*step
	for _, row := range []int64{start, last} {
		if row < 0 || row >= v.n {
			return nil, outOfRange(row, v.n)
		}
	}
	if v.list != nil {
		out.list = make([]int64, n)
		for i := range out.list {
			out.list[i] = v.list[start+int64(i)*step]
		}
	} else {
		out.start, out.step = v.start+start*v.step, step*v.step
	}
	out.n = n
	return out, nil
}

// Column finds a tensor. A column is made once and shared.
func (v *View) Column(name string) (*Column, error) {
	ct := v.types[name]
	if ct == nil {
		return nil, unknownTensor(v.snap.Schema, name)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.columns[name]
	if c == nil {
		c = newColumn(v, ct)
		v.columns[name] = c
	}
	return c, nil
}

// Describe describes the view.
func (v *View) Describe() Description {
	return describe(v.d, v.snap, v.dirty, v.n)
}

// Row returns the row of the dataset at position i, which must be below Len. -1 means none; see
// SelectOrMissing.
func (v *View) Row(i int64) int64 { return v.live(i) }

// Regular reports whether the rows of v are start, start+step, ... of the dataset.
func (v *View) Regular() (start, step int64, ok bool) { return v.start, v.step, v.list == nil }

// selectBlock is the number of rows between checks of the context: a megabyte of them.
const selectBlock = 1 << 17

// SelectOrMissing is Select for rows of which some may be -1. Such a row has no sample in any
// tensor.
func (v *View) SelectOrMissing(ctx context.Context, rows []int64) (*View, error) {
	out := v.derive()
	out.list = make([]int64, len(rows))
	out.n = int64(len(rows))
	for i, row := range rows {
		if i%selectBlock == 0 && ctx.Err() != nil {
			return nil, errs.Cause(ctx, "select rows")
		}
		switch {
		case row == -1:
			out.list[i] = -1
		case row < 0 || row >= v.n:
			return nil, outOfRange(row, v.n)
		default:
			out.list[i] = v.live(row)
		}
	}
	return out, nil
}

// Outdated reports whether a sample may have changed in its dataset since the view was made: that
// of a row, -1 for any, in a tensor, "" for any. A change of other samples leaves the view as good
// as a new one, which costs more to make.
func (v *View) Outdated(tensor string, row int64) bool {
	if row >= 0 && row < v.n {
		row = v.live(row)
	}
	return v.d.log.since(v.made, tensor, row)
}

// URI returns the URI of the dataset.
func (v *View) URI() string { return v.d.URI() }

// Location names the place of the dataset, as storage.Location does: equal for two addresses of one
// place.
func (v *View) Location() string { return storage.Location(v.d.store) }

// Counted returns a view of n rows that can only be sliced: it checks the arguments of Slice.
func (v *View) Counted(n int64) *View {
	out := v.derive()
	out.n = n
	return out
}

// StoreRemote reports whether the dataset lies across a network.
func (v *View) StoreRemote() bool { return storage.Remote(v.d.store) }

// Remote reports whether reads are requests over a network, so that prefetching pays: those of the
// dataset, or those of linked images. The first call looks at a few rows of them.
func (v *View) Remote() bool {
	if v.StoreRemote() {
		return true
	}
	v.probe.Do(v.findLinks)
	return v.d.links.far.Load()
}

// probedTensors bounds the tensors in which links are looked for.
const probedTensors = 16

// findLinks opens the chunks of the first row, of one in the middle and of the last one, in tensors
// that may hold links. Opening a chunk notes where its links lead. Readers meet its faults again.
func (v *View) findLinks() {
	rows := v.snap.Rows()
	if rows == 0 {
		return
	}
	left := probedTensors
	for _, name := range v.names {
		ct := v.types[name]
		if !ct.htype.IsImage() && !ct.htype.IsMask() || v.d.links.far.Load() || left == 0 {
			continue
		}
		left--
		f := (&Column{view: v, ct: ct, tree: v.snap.Tree(ct.schema.ID)}).finder()
		for _, row := range []int64{0, rows / 2, rows - 1} {
			_, _ = f.find(context.Background(), row)
		}
	}
}

// Traffic returns the counters of the store since it was opened.
func (v *View) Traffic() storage.Stats { return storage.StatsOf(v.d.store) }

// maxUpdated bounds the rows of a tensor that are listed as updated. Updates of more rows take
// chunks of their own, which a new view of the tensor reads as fast as others.
const maxUpdated = 1 << 16

// changes counts the changes of a dataset since it was opened, and remembers which samples the
// latest ones have updated. A view of uncommitted rows seals the chunks that are being filled; an
// older view is as good for samples that were not updated since.
type changes struct {
	mu      sync.Mutex
	count   uint64
	all     uint64 // count at the last change that may concern every sample
	updated map[string]*updates
}

// updates are those of one tensor.
type updates struct {
	last uint64           // count at the last one
	many uint64           // count at the last one that is not listed
	rows map[int64]uint64 // count at the last one, by row
}

// now returns the count, which a view keeps.
func (c *changes) now() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// everything notes a change that may concern every sample, and the numbers of rows.
func (c *changes) everything() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	c.all, c.updated = c.count, nil
}

// update notes that rows of tensors were updated.
func (c *changes) update(tensors []string, rows []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	if c.updated == nil {
		c.updated = map[string]*updates{}
	}
	for _, name := range tensors {
		u := c.updated[name]
		if u == nil {
			u = &updates{rows: map[int64]uint64{}}
			c.updated[name] = u
		}
		u.last = c.count
		if len(u.rows)+len(rows) > maxUpdated {
			u.many, u.rows = c.count, map[int64]uint64{}
			continue
		}
		for _, row := range rows {
			u.rows[row] = c.count
		}
	}
}

// since reports whether a sample may have changed after the count since. Tensor "" is all of them,
// row -1 all rows.
func (c *changes) since(since uint64, tensor string, row int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all > since {
		return true
	}
	if tensor != "" {
		u := c.updated[tensor]
		return u != nil && u.since(since, row)
	}
	for _, u := range c.updated {
		if u.since(since, row) {
			return true
		}
	}
	return false
}

func (u *updates) since(since uint64, row int64) bool {
	if row < 0 {
		return u.last > since
	}
	return u.many > since || u.rows[row] > since
}
