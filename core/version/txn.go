package version

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/tensor"
	"deeplake/core/version/chunkmap"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// Txn gathers changes on top of a snapshot. Rows that it appends are counted from the end of that
// snapshot's axis: row base.Record.Rows+i is the i-th appended row, wherever it comes to lie when
// the commit is rebased. A Txn is used by one goroutine at a time.
type Txn struct {
	repo    *Repo
	base    *Snapshot
	schema  *format.Schema // working copy
	began   time.Time      // by this machine's wall clock
	id      format.UUID    // identity of the appended rows
	rows    int64          // appended rows
	columns map[format.UUID]*columnChange
	deleted *roaring64.Bitmap // rows as above
	info    bool              // the dataset's info was set

	full    chunkmap.Pending // side pages that nothing is added to any more
	live    *RowMap          // of the rows that are not deleted; nil: to be made
	gone    int64            // number of deleted rows, with those of the base, if live is set
	changes int              // counts the changes, for tried
	// schemaBytes is about the encoded size of the schema, with the tensors that were added; 0: not
	// counted yet.
	schemaBytes int64
	tried       []attempt
	draft       *Snapshot // see Draft
	drafted     int       // changes, at that time

	// OnRenumber gives labels of the transaction their new numbers, and returns the number of rows
	// that it writes again. Nil: classes that two writers number differently are a conflict.
	OnRenumber func(ctx context.Context, r Renumbering) (rows int64, err error)
	renumbered []Renumbered

	// Key, if not empty, is a name of the change: a commit that has it stands for this one.
	// With KeyBefore commits before the base count too.
	Key       string
	KeyBefore bool
	collector *Collector // nil: no fragments are added

	// rows that other commits updated in tensors that are rewritten here
	newer map[format.UUID][]format.RowRange
	// the last other commit that did something to a tensor
	touched map[format.UUID]*format.Record
}

// attempt is a commit that was made, or may have been, as there was no clear answer: a later Commit
// looks for it.
type attempt struct {
	commit  format.UUID
	changes int
	schema  *format.Schema
	unsafe  bool // it stands, and may not outlive a crash
}

// columnChange holds the changes of a transaction to one tensor.
type columnChange struct {
	appended []format.Entry         // Row counted from the first appended row
	updated  map[int64]format.Entry // one row each, rows as in Txn; without rows: a hole
	// rows of the base that got samples in a tensor that the base does not have; updated is laid
	// over them
	filled []chunkmap.Edit
	// rows of the base that got other chunks with the same samples, in any order
	rewrites []chunkmap.Edit
	bytes    int64
	min, max tensor.Shape // bounds of the shapes written; max nil: none with a shape
	mixed    bool         // samples differ in the number of axes: bounds are unknown
	before   format.Stats // of the chunk before
	side     format.UUID  // the side page being filled; zero: none yet
	salt     format.UUID  // of that page
	dirs     [][]byte     // its directories
	sideSize int
}

// Begin starts a transaction on top of s.
func (r *Repo) Begin(s *Snapshot) *Txn {
	return &Txn{
		repo: r, base: s, schema: s.Schema.Clone(), began: r.Now().Round(0), id: format.NewUUID(),
		columns: map[format.UUID]*columnChange{}, deleted: roaring64.New(), full: chunkmap.Pending{},
		newer: map[format.UUID][]format.RowRange{}, touched: map[format.UUID]*format.Record{},
	}
}

// Base is the snapshot under the transaction.
func (t *Txn) Base() *Snapshot { return t.base }

// Schema is the schema with the changes of the transaction. The caller may add tensors, add class
// names, set a dtype, a shape that was open or a chunk size, and set info (then with SetInfo).
func (t *Txn) Schema() *format.Schema { return t.schema }

// SetInfo replaces the info of the dataset.
func (t *Txn) SetInfo(info map[string]any) {
	t.schema.Info = info
	t.info = true
	t.changes++
}

// ChangeClasses is SetClassNames for a change besides additions.
func (t *Txn) ChangeClasses(id format.UUID, names []string) {
	t.schema.ByID(id).ClassChange = format.NewUUID()
	t.SetClassNames(id, names)
}

// SetClassNames replaces the class names of a tensor. The caller gives its labels their numbers.
func (t *Txn) SetClassNames(id format.UUID, names []string) {
	t.schema.ByID(id).ClassNames = names
	t.changes++
}

// Rows is the length of the row axis with the appended rows.
func (t *Txn) Rows() int64 { return t.base.Record.Rows + t.rows }

// Extend appends n rows. Tensors that get no chunk for them have holes there.
func (t *Txn) Extend(n int64) {
	t.rows += n
	t.changes++
}

// Cut drops the rows of t from one on, counted as in Txn and appended by it, and brings the schema
// back. Chunks keep the samples of dropped rows, unused.
func Cut(t *Txn, row int64, schema *format.Schema) {
	t.schema, t.rows, t.live = schema, row-t.base.Record.Rows, nil
	for _, c := range t.columns {
		kept := c.appended[:0]
		for _, e := range c.appended {
			if e.Row < t.rows {
				e.Rows = min(e.Rows, t.rows-e.Row)
				kept = append(kept, e)
			}
		}
		c.appended = kept
		for at := range c.updated {
			if at >= row {
				delete(c.updated, at)
			}
		}
	}
	t.changes++
}

// Delete removes rows.
func (t *Txn) Delete(rows []int64) {
	for _, row := range rows {
		t.deleted.Add(uint64(row))
	}
	t.live = nil
	t.changes++
}

// Live maps the rows that the user counts in this transaction to rows as in Txn, and gives their
// number.
func (t *Txn) Live() (RowMap, int64) {
	if t.deleted.IsEmpty() {
		return t.base.Live, t.Rows() - t.base.Record.DeletedRows
	}
	if t.live == nil {
		gone := roaring64.Or(t.base.Deleted, t.deleted)
		m := NewRowMap(gone)
		t.live, t.gone = &m, int64(gone.GetCardinality())
	}
	return *t.live, t.Rows() - t.gone
}

// Rows of another version that Locate does not find.
const (
	Deleted int64 = -1 // the row was deleted
	Absent  int64 = -2 // the row is not, or not yet, on the axis: another branch has it
)

// Locate finds rows of s, a snapshot of the same dataset, in the transaction by their identities.
// It returns the present number of each, as the user counts; Deleted or Absent where there is none.
func (t *Txn) Locate(ctx context.Context, s *Snapshot, rows []int64) ([]int64, error) {
	var appended []format.Entry
	if t.rows > 0 {
		appended = t.identities(t.base.Record.Rows)
	}
	known, err := align(ctx, s, t.base, appended...)
	if err != nil {
		return nil, err
	}
	live, _ := t.Live()
	out, from := make([]int64, len(rows)), s.Live.Cursor()
	for i, row := range rows {
		at, _ := from.Run(row)
		to, ok := known.Find(at)
		switch {
		case !ok:
			out[i] = Absent
		case t.base.Deleted.Contains(uint64(to)) || t.deleted.Contains(uint64(to)):
			out[i] = Deleted
		default:
			out[i] = live.Logical(to)
		}
	}
	return out, nil
}

// Empty reports whether a commit would change nothing.
func (t *Txn) Empty() bool {
	return t.rows == 0 && t.deleted.IsEmpty() && !t.info && !t.touchesColumns() && schemasEqual(t.base.Schema, t.schema)
}

func (t *Txn) touchesColumns() bool {
	for _, c := range t.columns {
		if len(c.appended)+len(c.updated)+len(c.filled)+len(c.rewrites) > 0 {
			return true
		}
	}
	return false
}

// HasElements reports whether a tensor may have a sample with an element. It knows the chunks that
// the transaction was given.
func (t *Txn) HasElements(id format.UUID) bool {
	some := func(bounds tensor.Shape) bool { return bounds == nil || !slices.Contains(bounds, 0) }
	if col := t.base.Record.Columns[id]; col.Root != nil && some(col.MaxShape) {
		return true
	}
	c := t.columns[id]
	return c != nil && len(c.appended)+len(c.updated)+len(c.filled) > 0 && (c.mixed || some(c.max))
}

func (t *Txn) column(id format.UUID) *columnChange {
	c := t.columns[id]
	if c == nil {
		c = &columnChange{updated: map[int64]format.Entry{}}
		t.columns[id] = c
	}
	return c
}

// AddChunk puts the items of a sealed chunk, from e.First on, on runs of rows, counted as in Txn.
// With update they replace the samples of the rows, else the rows must be appended ones without
// samples. dirs are the encoded directories of the chunk, or of its tiles in order; they go into a
// side page.
func (t *Txn) AddChunk(id format.UUID, e format.Entry, runs []format.RowRange, update bool, dirs ...[]byte) {
	c := t.column(id)
	e = c.place(t, e, dirs)
	for _, run := range runs {
		if !update {
			e.Row, e.Rows = run.Start-t.base.Record.Rows, run.Count
			c.appended = append(c.appended, e)
			e.First += run.Count
			continue
		}
		if run.Count >= fillRows && run.Start+run.Count <= t.base.Record.Rows && t.base.Schema.ByID(id) == nil {
			e.Row, e.Rows = run.Start, run.Count
			c.fill(e)
			e.First += run.Count
			continue
		}
		for row := run.Start; row < run.Start+run.Count; row++ {
			e.Row, e.Rows = row, 1
			c.updated[row] = e
			e.First++
		}
	}
}

// fillRows is the least run of rows that is kept as one. A commit may rewrite shorter ones, row by
// row.
const fillRows = 64

// fill gives rows of the base samples in a tensor that it does not have. A column of many rows
// takes memory for each chunk so, not for each row.
func (c *columnChange) fill(e format.Entry) {
	run := chunkmap.Edit{From: e.Row, To: e.Row + e.Rows, Entries: []format.Entry{e}}
	if n := len(c.updated); n > 0 {
		for row := run.From; row < run.To; row++ {
			delete(c.updated, row)
		}
	}
	if n := len(c.filled); n > 0 && c.filled[n-1].To > run.From {
		c.filled = chunkmap.InOrder(append(chunkmap.Without(c.filled, []format.RowRange{{Start: run.From, Count: e.Rows}}), run))
		return
	}
	c.filled = append(c.filled, run)
}

// place gives the directories of a new chunk their place in a side page, and counts the chunk.
func (c *columnChange) place(t *Txn, e format.Entry, dirs [][]byte) format.Entry {
	t.changes++
	e.Side, e.Slot = c.slot(t, &e, dirs)
	c.bytes += e.Bytes
	c.widen(e.Stats.MinShape, e.Stats.MaxShape, e.Stats.MaxShape == nil)
	e.Stats = e.Stats.Coarse(c.before)
	c.before = e.Stats
	return e
}

// slot puts the directories of the chunks of an entry into a side page.
func (c *columnChange) slot(t *Txn, e *format.Entry, dirs [][]byte) (side format.UUID, slot int64) {
	size := 0
	for _, d := range dirs {
		size += len(d)
	}
	if c.sideSize > format.SideTarget || c.sideSize+size > format.MaxSideRaw || len(c.dirs)+len(dirs) > format.MaxSideSlots {
		c.closeSide(t.full)
	}
	if c.side.IsZero() {
		c.side, c.salt = format.NewUUID(), format.SideSalt(e.Session, e.Ordinal)
	}
	slot = int64(len(c.dirs))
	c.sideSize += size
	c.dirs = append(c.dirs, dirs...)
	return c.side, slot
}

// closeSide puts the side page being filled to the full ones: from now on it may be stored, and
// must not change.
func (c *columnChange) closeSide(full chunkmap.Pending) {
	if !c.side.IsZero() {
		full[c.side] = chunkmap.SidePage{Dirs: c.dirs, Salt: c.salt}
	}
	c.side, c.dirs, c.sideSize = format.UUID{}, nil, 0
}

// Spill takes the side pages that are full out of the transaction and returns the function that
// stores them, nil if there are none: else a long session would hold the directories of all its
// chunks. The function may run beside the transaction; it must have returned before the next
// Preview or Commit, and its error fails the transaction.
func (t *Txn) Spill() func(context.Context) error {
	full, stored := chunkmap.Pending{}, map[format.UUID]*chunkmap.StoredSide{}
	for id, v := range t.full {
		if side, ok := v.(chunkmap.SidePage); ok {
			full[id], stored[id] = side, &chunkmap.StoredSide{}
			t.full[id] = stored[id]
		}
	}
	if len(full) == 0 {
		return nil
	}
	return func(ctx context.Context) error {
		x, err := t.repo.Pages.Seal(ctx, full)
		if err != nil {
			return err
		}
		for id, side := range stored {
			side.Name = x.Name(id)
		}
		return t.repo.Pages.Upload(ctx, x, nil)
	}
}

// widen takes the bounds of more samples in; unknown says that some have no shape.
func (c *columnChange) widen(lo, hi tensor.Shape, unknown bool) {
	switch {
	case unknown || c.mixed:
		c.mixed = true
	case c.max == nil:
		c.min, c.max = lo.Clone(), hi.Clone()
	case len(c.max) != len(hi):
		c.mixed = true
	default:
		for i := range hi {
			c.min[i] = min(c.min[i], lo[i])
			c.max[i] = max(c.max[i], hi[i])
		}
	}
}

// MayAdd refuses a tensor that a commit would have no room for: errs.Invalid.
func (t *Txn) MayAdd(ts *format.TensorSchema) error {
	if n := len(t.schema.Tensors); n >= format.MaxTensors {
		return errs.Op("create tensor", ts.Name).New(errs.Invalid, "a dataset has at most %d tensors, and this one has %d; put the others into another dataset", format.MaxTensors, n)
	}
	one, err := (&format.Schema{Tensors: []format.TensorSchema{*ts}}).Bytes()
	if err == nil && t.schemaBytes == 0 {
		t.schemaBytes, err = t.schema.Bytes()
	}
	if err != nil {
		return errs.Wrap(errs.Invalid, "create tensor", ts.Name, err)
	}
	if t.schemaBytes += one; t.schemaBytes > format.MaxBlobRaw {
		t.schemaBytes -= one
		return errs.Op("create tensor", ts.Name).New(errs.Invalid, "its class names and info take %d bytes, and with them the schema of the dataset has %d, want at most %d; keep large tables in tensors", one, t.schemaBytes+one, format.MaxBlobRaw)
	}
	return nil
}

// DropTensor removes a tensor with all its values; errs.NotFound if there is none of that name.
// Older commits keep it.
func (t *Txn) DropTensor(name string) error {
	ts := t.schema.Find(name)
	if ts == nil {
		return errs.Op("delete tensor", name).New(errs.NotFound, "there is no such tensor")
	}
	delete(t.columns, ts.ID)
	t.schema.Tensors = slices.DeleteFunc(t.schema.Tensors, func(other format.TensorSchema) bool { return other.Name == name })
	t.changes++
	return nil
}

// RenameTensor gives a tensor another name, or, where old is a group, puts all its tensors into the
// group name. Values and history stay with the tensor. errs.NotFound if there is neither,
// errs.Exists if a name is taken; nothing is changed then.
func (t *Txn) RenameTensor(old, name string) error {
	next := slices.Clone(t.schema.Tensors)
	found := false
	for i := range next {
		if rest, ok := strings.CutPrefix(next[i].Name, old); ok && (rest == "" || rest[0] == '/') {
			next[i].Name, found = name+rest, true
		}
	}
	if !found {
		return errs.Op("rename tensor", old).New(errs.NotFound, "there is no such tensor or group")
	}
	if err := checkNames(next); err != nil {
		return errs.Wrap(errs.Exists, "rename tensor", old, err)
	}
	for i := range next {
		if len(next[i].Name) > format.MaxTensorNameLen {
			return errs.Op("rename tensor", old).New(errs.Invalid, "the name %q has %d bytes, want at most %d", next[i].Name, len(next[i].Name), format.MaxTensorNameLen)
		}
	}
	t.schema.Tensors = next
	t.changes++
	return nil
}

// checkNames refuses tensors of one name, and a name that is both a tensor and a group.
func checkNames(tensors []format.TensorSchema) error {
	taken := make(map[string]bool, len(tensors))
	for i := range tensors {
		if taken[tensors[i].Name] {
			return errs.New(errs.Exists, "there is a tensor %q already", tensors[i].Name)
		}
		taken[tensors[i].Name] = true
	}
	for i := range tensors {
		for k, c := range tensors[i].Name {
			if c == '/' && taken[tensors[i].Name[:k]] {
				return errs.New(errs.Exists, "%q would be both a tensor and the group of %q", tensors[i].Name[:k], tensors[i].Name)
			}
		}
	}
	return nil
}

// RewriteChunk puts the items of a sealed chunk, from e.First on, on runs of rows of the base,
// rising, where they stand for the same samples as before: only the layout changes. Rows that an
// update of this transaction, or of a commit that comes first, has given another sample keep that
// one. dirs are as in AddChunk.
func (t *Txn) RewriteChunk(id format.UUID, e format.Entry, runs []format.RowRange, dirs ...[]byte) {
	c := t.column(id)
	e = c.place(t, e, dirs)
	for _, run := range runs {
		e.Row, e.Rows = run.Start, run.Count
		c.rewrites = append(c.rewrites, chunkmap.Edit{From: run.Start, To: run.Start + run.Count, Entries: []format.Entry{e}})
		e.First += run.Count
	}
}

// FoldChunk is RewriteChunk for a chunk that has the new samples of rows which this transaction
// updates, too. Where it has an item for a deleted row, the row keeps the sample that it has: a
// merge may restore it.
func (t *Txn) FoldChunk(id format.UUID, e format.Entry, runs []format.RowRange, deleted func(row int64) bool, dirs ...[]byte) {
	c := t.column(id)
	e = c.place(t, e, dirs)
	// A commit that failed may have left rewrites of the same rows.
	c.rewrites = chunkmap.Without(chunkmap.InOrder(c.rewrites), runs)
	for _, run := range runs {
		for row := run.Start; row < run.Start+run.Count; row++ {
			one := e
			one.Row, one.Rows = row, 1
			e.First++
			if deleted(row) {
				continue
			}
			if _, updated := c.updated[row]; updated {
				c.updated[row] = one
				continue
			}
			if n := len(c.rewrites) - 1; n >= 0 && c.rewrites[n].To == row && len(c.rewrites[n].Entries) == 1 && chunkmap.Follows(&c.rewrites[n].Entries[0], &one) {
				c.rewrites[n].To++
				c.rewrites[n].Entries[0].Rows++
				continue
			}
			c.rewrites = append(c.rewrites, chunkmap.Edit{From: row, To: row + 1, Entries: []format.Entry{one}})
		}
	}
}

// Updated returns the rows of the base that the transaction updates in a tensor, in order.
func (t *Txn) Updated(id format.UUID) []int64 {
	c := t.columns[id]
	if c == nil {
		return nil
	}
	rows := slices.Sorted(maps.Keys(c.updated))
	n, _ := slices.BinarySearch(rows, t.base.Record.Rows)
	return rows[:n]
}

// DeletedRows returns the rows of the base that the transaction deletes, in order.
func (t *Txn) DeletedRows() []int64 {
	var rows []int64
	for it := t.deleted.Iterator(); it.HasNext(); {
		row := int64(it.Next())
		if row >= t.base.Record.Rows {
			break
		}
		rows = append(rows, row)
	}
	return rows
}

// AddHoles takes away what rows hold in a tensor, counted as in Txn. With update they lose their
// samples, else they must be deleted rows of the base.
func (t *Txn) AddHoles(id format.UUID, runs []format.RowRange, update bool) {
	c := t.column(id)
	t.changes++
	for _, run := range runs {
		if !update {
			c.rewrites = append(c.rewrites, chunkmap.Edit{From: run.Start, To: run.Start + run.Count})
			continue
		}
		for row := run.Start; row < run.Start+run.Count; row++ {
			c.updated[row] = format.Entry{Row: row}
		}
	}
}
