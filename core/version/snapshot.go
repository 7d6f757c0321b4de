package version

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"
	"sync"
	"unsafe"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/version/chunkmap"
	"deeplake/core/version/rowset"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// Snapshot is one commit, or the preview of one: a schema, a row axis and a tree per tensor. It
// never changes and may be used in parallel.
type Snapshot struct {
	Record  *format.Record
	Schema  *format.Schema
	Deleted *roaring64.Bitmap // deleted physical rows; never nil
	Live    RowMap
	pages   *chunkmap.Store
	held    chunkmap.Pending // a preview's pages

	Renumbered []Renumbered // by the commit or merge that made the snapshot
}

// Tree is the chunk map of a tensor.
func (s *Snapshot) Tree(tensor format.UUID) chunkmap.Tree {
	return chunkmap.NewTree(s.pages, s.held, s.Record.Columns[tensor].Root, tensor)
}

// RowIDs is the tree of row identities.
func (s *Snapshot) RowIDs() chunkmap.Tree {
	return chunkmap.NewTree(s.pages, s.held, s.Record.RowIDs, format.UUID{})
}

// Rows is the number of rows that are not deleted.
func (s *Snapshot) Rows() int64 { return s.Record.Rows - s.Record.DeletedRows }

// RowMap maps the rows that a user counts, deleted ones left out, to physical rows. The zero value
// is the identity. It knows no end: rows that are appended behind the axis it was made for are
// mapped too.
type RowMap struct {
	logical  []int64 // first user row of each run of live rows
	physical []int64 // its physical row
	blocks   []int32 // of each 2^shift user rows, the run of the first
	shift    uint8
}

// longRun is the number of deleted rows in a row from which on their end is looked up instead of
// counted.
const longRun = 64

// runEnd is the first row behind start that is not deleted, found in steps that grow and then
// shrink.
func runEnd(deleted *roaring64.Bitmap, start uint64) uint64 {
	before := deleted.Rank(start)
	// the n rows behind start are deleted
	all := func(n uint64) bool { return deleted.Rank(start+n)-before == n }
	lo, hi := uint64(0), uint64(longRun)
	for all(hi) {
		lo, hi = hi, 2*hi
	}
	for lo+1 < hi {
		if mid := lo + (hi-lo)/2; all(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return start + lo + 1
}

// NewRowMap makes the map for an axis without the deleted rows.
func NewRowMap(deleted *roaring64.Bitmap) RowMap {
	var m RowMap
	if deleted.IsEmpty() {
		return m
	}
	at, live := int64(0), int64(0)
	add := func(to int64) { // rows [at, to) are live
		if to > at {
			m.logical = append(m.logical, live)
			m.physical = append(m.physical, at)
			live += to - at
		}
	}
	for it := deleted.Iterator(); it.HasNext(); {
		d := it.Next()
		add(int64(d))
		end := d + 1
		for end < d+longRun && it.HasNext() && it.PeekNext() == end {
			it.Next()
			end++
		}
		if end == d+longRun {
			end = runEnd(deleted, d)
			it.AdvanceIfNeeded(end)
		}
		at = int64(end)
	}
	m.logical = append(m.logical, live)
	m.physical = append(m.physical, at)
	m.index()
	return m
}

// Physical is the physical row of user row i, which must be below the number of live rows.
func (m RowMap) Physical(i int64) int64 {
	if m.logical == nil {
		return i
	}
	k := m.run(i)
	return m.physical[k] + i - m.logical[k]
}

// RowCursor maps user rows that mostly rise. It is for one goroutine.
type RowCursor struct {
	m RowMap
	k int // the last run
}

// Name tells maps apart: it is nil if no row is deleted, and else differs from that of other maps.
func (m *RowMap) Name() *int64 { return unsafe.SliceData(m.logical) }

// Cursor returns a cursor of m.
func (m RowMap) Cursor() RowCursor { return RowCursor{m: m} }

// Run returns the physical row of user row i, and the first user row behind i whose physical row
// does not follow.
func (c *RowCursor) Run(i int64) (row, behind int64) {
	m := &c.m
	if m.logical == nil {
		return i, math.MaxInt64
	}
	if k := c.k; m.logical[k] > i || k+1 < len(m.logical) && m.logical[k+1] <= i {
		c.k = m.run(i)
	}
	behind = math.MaxInt64
	if c.k+1 < len(m.logical) {
		behind = m.logical[c.k+1]
	}
	return m.physical[c.k] + i - m.logical[c.k], behind
}

// run returns the run of user row i.
func (m *RowMap) run(i int64) int {
	b := min(i>>m.shift, int64(len(m.blocks))-1)
	return rowset.Seek(m.logical, int(m.blocks[b]), i)
}

// index makes the blocks, about one for each run: searches begin near their end.
func (m *RowMap) index() {
	n := len(m.logical)
	if n == 0 {
		return
	}
	for m.logical[n-1]>>m.shift >= int64(n) {
		m.shift++
	}
	m.blocks = make([]int32, m.logical[n-1]>>m.shift+1)
	k := 0
	for b := range m.blocks {
		for k+1 < n && m.logical[k+1] <= int64(b)<<m.shift {
			k++
		}
		m.blocks[b] = int32(k)
	}
}

// Runs calls fn for the physical rows [from, to) of each run of user rows [start, end) that lie
// together, in order.
func (m RowMap) Runs(start, end int64, fn func(from, to int64)) {
	if start >= end {
		return
	}
	if m.logical == nil {
		fn(start, end)
		return
	}
	for k := m.run(start); start < end; k++ {
		stop := end
		if k+1 < len(m.logical) {
			stop = min(end, m.logical[k+1])
		}
		fn(m.physical[k]+start-m.logical[k], m.physical[k]+stop-m.logical[k])
		start = stop
	}
}

// Between returns the runs that hold user rows [start, end), of which there are some: the first
// user row of each, which may be before start, and its physical row. The slices are shared,
// read-only.
func (m RowMap) Between(start, end int64) (logical, physical []int64) {
	if m.logical == nil {
		return []int64{start}, []int64{start}
	}
	k := m.run(start)
	n := sort.Search(len(m.logical), func(k int) bool { return m.logical[k] >= end })
	return m.logical[k:n], m.physical[k:n]
}

// Logical is the inverse of Physical. For a deleted row it is the number of the next row that is
// not deleted.
func (m RowMap) Logical(row int64) int64 {
	if m.logical == nil {
		return row
	}
	k := sort.Search(len(m.physical), func(k int) bool { return m.physical[k] > row }) - 1
	if k < 0 {
		return 0
	}
	n := m.logical[k] + row - m.physical[k]
	if k+1 < len(m.logical) {
		n = min(n, m.logical[k+1])
	}
	return n
}

// load reads the parts of a record, at once, that are needed before any row is read.
func (r *Repo) load(ctx context.Context, rec *format.Record) (*Snapshot, error) {
	s := &Snapshot{Record: rec, Schema: rec.Schema, Deleted: roaring64.New(), pages: r.Pages}
	g := task.New(ctx, 0)
	if rec.SchemaPage != nil {
		g.Go(func(ctx context.Context) (err error) {
			s.Schema, err = r.schemaPage(ctx, *rec.SchemaPage)
			return err
		})
	}
	if rec.Deleted != nil {
		g.Go(func(ctx context.Context) (err error) {
			s.Deleted, s.Live, err = r.deletions(ctx, rec)
			return err
		})
	}
	if rec.ColumnsPage != nil {
		g.Go(func(ctx context.Context) error {
			columns, err := r.columnsPage(ctx, *rec.ColumnsPage)
			whole := *rec
			whole.Columns = columns
			s.Record = &whole
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if rec.ColumnsPage != nil || rec.SchemaPage != nil {
		if err := format.CheckColumns(s.Record.Columns, s.Schema); err != nil {
			return nil, errs.Wrap(errs.Corrupt, "read commit", format.RecordKey(rec.Branch, rec.Version), err)
		}
	}
	return s, nil
}

// deletions are the deleted rows of the version that was loaded last. Versions one behind the other
// mostly share them, and their row map takes 30 ns for each deleted row.
type deletions struct {
	mu      sync.Mutex
	page    format.UUID
	deleted *roaring64.Bitmap
	live    RowMap
}

// deletions returns the deleted rows of a record and the map of the others, which are shared.
func (r *Repo) deletions(ctx context.Context, rec *format.Record) (*roaring64.Bitmap, RowMap, error) {
	d := r.lastDeletions
	d.mu.Lock()
	deleted, live, known := d.deleted, d.live, d.page == *rec.Deleted
	d.mu.Unlock()
	if !known {
		var err error
		if deleted, err = chunkmap.FetchPage(ctx, r.Pages, "read deleted rows", *rec.Deleted, format.DecodeBitmap); err != nil {
			return nil, RowMap{}, err
		}
	}
	if err := checkDeleted(rec, deleted); err != nil || known {
		return deleted, live, err
	}
	live = NewRowMap(deleted)
	d.mu.Lock()
	d.page, d.deleted, d.live = *rec.Deleted, deleted, live
	d.mu.Unlock()
	return deleted, live, nil
}

func (r *Repo) schemaPage(ctx context.Context, id format.UUID) (*format.Schema, error) {
	return chunkmap.FetchPage(ctx, r.Pages, "read schema", id, format.DecodeSchema)
}

func (r *Repo) columnsPage(ctx context.Context, id format.UUID) (map[format.UUID]format.Column, error) {
	return chunkmap.FetchPage(ctx, r.Pages, "read columns", id, format.DecodeColumns)
}

// checkDeleted holds deleted rows against their record.
func checkDeleted(rec *format.Record, deleted *roaring64.Bitmap) error {
	n, last := deleted.GetCardinality(), uint64(0)
	if n > 0 {
		last = deleted.Maximum()
	}
	if int64(n) != rec.DeletedRows || last >= uint64(rec.Rows) {
		return errs.Op("read deleted rows", format.MapKey(*rec.Deleted)).New(errs.Corrupt, "%d rows up to %d, want %d below %d", n, last, rec.DeletedRows, rec.Rows)
	}
	return nil
}

// deletedRows are the deleted rows of the axis.
func (s *Snapshot) deletedRows() rowset.Set {
	out := rowset.Set{}
	at := int64(0)
	m := s.Live
	for k := range m.physical {
		if m.physical[k] > at {
			out = append(out, format.RowRange{Start: at, Count: m.physical[k] - at})
		}
		if k+1 < len(m.logical) {
			at = m.physical[k] + m.logical[k+1] - m.logical[k]
		}
	}
	return out
}

// liveRows are the rows of the axis that are not deleted.
func (s *Snapshot) liveRows() rowset.Set {
	return rowset.Of([]format.RowRange{{Start: 0, Count: s.Record.Rows}}).Minus(s.deletedRows())
}

// asCounted is a set of physical rows as the user counts them; deleted ones fall away.
func (s *Snapshot) asCounted(rows rowset.Set) RowSet {
	live := rows.Minus(s.deletedRows())
	out := make([]format.RowRange, len(live))
	for i, r := range live {
		out[i] = format.RowRange{Start: s.Live.Logical(r.Start), Count: r.Count}
	}
	set := rowset.Of(out)
	return RowSet{Count: set.Count(), Ranges: set}
}

// align finds the rows of a on the axis of b by their identities. Pages that both have are not
// read. appended are the identities of rows behind the axis of b, as its tree would have them.
func align(ctx context.Context, a, b *Snapshot, appended ...format.Entry) (rowset.Alignment, error) {
	as, bs, err := chunkmap.Unshared(ctx, a.RowIDs(), b.RowIDs())
	if err != nil {
		return nil, err
	}
	byID := map[format.UUID][]format.Entry{}
	for _, e := range append(bs, appended...) {
		byID[e.Session] = append(byID[e.Session], e)
	}
	for _, list := range byID {
		slices.SortFunc(list, func(x, y format.Entry) int { return cmp.Compare(x.First, y.First) })
	}
	var out rowset.Alignment
	at := int64(0)
	same := func(to int64) { // rows up to to lie in pages that both have
		if to > at {
			out = append(out, rowset.Segment{From: at, To: at, Rows: to - at})
		}
	}
	for _, e := range as {
		same(e.Row)
		at = e.Row + e.Rows
		list := byID[e.Session]
		for i := sort.Search(len(list), func(i int) bool { return list[i].First+list[i].Rows > e.First }); i < len(list) && list[i].First < e.First+e.Rows; i++ {
			from, to := max(e.First, list[i].First), min(e.First+e.Rows, list[i].First+list[i].Rows)
			out = append(out, rowset.Segment{From: e.Row + from - e.First, To: list[i].Row + from - list[i].First, Rows: to - from})
		}
	}
	same(a.Record.Rows)
	return out, nil
}
