package version

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/version/chunkmap"
	"deeplake/core/version/rowset"
)

// inlineSides is the size up to which a fragment has the directories of its chunks in itself. The
// commit then puts those of many fragments into one page.
const inlineSides = 3 << 10

// part are the rows that a fragment appends: the transaction's, from start on.
type part struct {
	id          format.UUID
	start, rows int64
}

// Collector adds the fragments of a distributed write to a transaction.
type Collector struct {
	txn   *Txn
	write format.Write
	parts []part
	added []*format.Fragment // in order
	tasks map[string]bool
	ids   map[format.UUID]string // the tasks of parts
	// sizes of the chunks that the fragments name, by session and ordinal; -1: not known
	chunks map[format.UUID]map[int64]int64
	leased func() bool // the lease of the write is known to stand
}

// MakeFragment returns the changes of the transaction as a part of the distributed write w. All
// chunks are durable. The transaction is not used any more.
func MakeFragment(ctx context.Context, t *Txn, w format.Write, task string) (*format.Fragment, error) {
	if err := t.mayBePart(); err != nil {
		return nil, err
	}
	for _, c := range t.columns {
		c.closeSide(t.full)
	}
	if t.inlineBytes() > inlineSides {
		if err := t.Spill()(ctx); err != nil {
			return nil, err
		}
	}
	f := &format.Fragment{Write: w, Task: task, Time: t.began, Rows: t.rows}
	before := t.base.Schema.Index()
	for i := range t.schema.Tensors {
		ts := &t.schema.Tensors[i]
		if old := before[ts.ID]; old == nil || !reflect.DeepEqual(old, ts) {
			f.Tensors = append(f.Tensors, *ts)
		}
	}
	var gone []int64
	for it := t.deleted.Iterator(); it.HasNext(); {
		gone = append(gone, int64(it.Next()))
	}
	f.Deleted = ranges(gone)
	names := map[format.UUID]format.UUID{}
	for id, side := range t.full {
		switch side := side.(type) {
		case *chunkmap.StoredSide:
			names[id] = side.Name
		case chunkmap.SidePage:
			f.Sides = append(f.Sides, format.FragmentSide{ID: id, Dirs: side.Dirs})
		}
	}
	slices.SortFunc(f.Sides, func(a, b format.FragmentSide) int { return slices.Compare(a.ID[:], b.ID[:]) })
	named := func(entries []format.Entry) []format.Entry {
		out := slices.Clone(entries)
		for i := range out {
			if name, ok := names[out[i].Side]; ok {
				out[i].Side = name
			}
		}
		return out
	}
	for _, ts := range t.schema.Tensors {
		c := t.columns[ts.ID]
		if c == nil {
			continue
		}
		col := format.FragmentColumn{Tensor: ts.ID, Bytes: c.bytes, Unknown: c.mixed, Appended: named(c.appended)}
		if !c.mixed {
			col.Min, col.Max = c.min, c.max
		}
		slices.SortFunc(col.Appended, func(a, b format.Entry) int { return cmp.Compare(a.Row, b.Row) })
		for _, of := range []struct {
			to    *[]format.FragmentEdit
			edits []chunkmap.Edit
		}{{&col.Updated, c.updates(t.base.Record.Rows, t.base.Record.Rows)}, {&col.Filled, chunkmap.InOrder(c.filled)}, {&col.Rewrites, chunkmap.InOrder(c.rewrites)}} {
			for _, e := range of.edits {
				*of.to = append(*of.to, format.FragmentEdit{Rows: format.RowRange{Start: e.From, Count: e.To - e.From}, Entries: named(e.Entries)})
			}
		}
		f.Columns = append(f.Columns, col)
	}
	return f, nil
}

// mayBePart refuses changes that several tasks cannot make side by side.
func (t *Txn) mayBePart() error {
	what := ""
	here := t.schema.Index()
	if t.info {
		what = "sets the info of the dataset"
	}
	for i := range t.base.Schema.Tensors {
		old := &t.base.Schema.Tensors[i]
		switch my := here[old.ID]; {
		case my == nil:
			what = fmt.Sprintf("deletes tensor %q", old.Name)
		case my.Name != old.Name:
			what = fmt.Sprintf("renames tensor %q to %q", old.Name, my.Name)
		case my.ClassChange != old.ClassChange:
			what = fmt.Sprintf("renames, merges or removes classes of tensor %q", old.Name)
		}
	}
	if what == "" {
		return nil
	}
	return errs.Op("make fragment", "").New(errs.Invalid, "a task appends, updates and deletes rows and creates tensors, and this one %s; do that in a commit before the write", what)
}

// inlineBytes is the size of the directories that are not stored yet.
func (t *Txn) inlineBytes() (n int) {
	for _, side := range t.full {
		if side, ok := side.(chunkmap.SidePage); ok {
			for _, dir := range side.Dirs {
				n += len(dir)
			}
		}
	}
	return n
}

// Collect returns the collector of fragments of w for a transaction without changes. leased reports
// whether the lease of the write is known to stand; nil: it is not.
func Collect(t *Txn, w format.Write, leased func() bool) *Collector {
	t.collector = &Collector{txn: t, write: w, tasks: map[string]bool{}, ids: map[format.UUID]string{}, chunks: map[format.UUID]map[int64]int64{}, leased: leased}
	return t.collector
}

// Renumberings returns those that the labels of a fragment need before Add: tasks that add classes
// side by side give different classes the same number. A fragment that Add leaves out needs none.
func (c *Collector) Renumberings(f *format.Fragment) []Renumbering {
	t := c.txn
	if c.tasks[f.Task] {
		return nil
	}
	var out []Renumbering
	for i := range f.Tensors {
		theirs := &f.Tensors[i]
		mine := t.schema.ByID(theirs.ID)
		if mine == nil || theirs.ClassNames == nil || mine.ClassNames == nil {
			continue
		}
		names, numbers := uniteClasses(theirs.ClassNames, mine.ClassNames)
		if !inPlace(numbers) {
			out = append(out, Renumbering{Tensor: theirs.ID, Names: names, Numbers: numbers})
		}
	}
	return out
}

// Add adds a fragment of the write behind those before it. It returns false, and adds nothing, if
// it has another attempt of the task. A fragment that contradicts one before it is errs.Conflict,
// and the transaction can only be dropped.
func (c *Collector) Add(f *format.Fragment) (bool, error) {
	t := c.txn
	if f.Write != c.write {
		return false, foreignFragment(f, c.write)
	}
	if c.tasks[f.Task] {
		return false, nil
	}
	c.tasks[f.Task] = true
	if err := t.checkClasses(f); err != nil {
		return false, err
	}
	if err := t.addSchema(f); err != nil {
		return false, err
	}
	if err := t.checkDeleted(f); err != nil {
		return false, err
	}
	base, from := t.base.Record.Rows, t.rows
	shift := func(row int64) int64 {
		if row >= base {
			return row + from
		}
		return row
	}
	for i := range f.Columns {
		if err := t.addColumn(f, &f.Columns[i], shift); err != nil {
			return false, err
		}
	}
	for _, r := range f.Deleted {
		if r.Start+r.Count > base+f.Rows {
			return false, badFragment(f, "it deletes row %d of %d", r.Start+r.Count-1, base+f.Rows)
		}
		// A range may lie on both sides of the end of the base.
		if end := min(r.Start+r.Count, base); r.Start < end {
			t.deleted.AddRange(uint64(r.Start), uint64(end))
		}
		if start := max(r.Start, base); start < r.Start+r.Count {
			t.deleted.AddRange(uint64(start+from), uint64(r.Start+r.Count+from))
		}
	}
	if len(f.Deleted) > 0 {
		t.live = nil
	}
	if f.Rows > 0 {
		id := c.write.AppendID(f.Task)
		c.parts, c.ids[id] = append(c.parts, part{id, from, f.Rows}), f.Task
		t.rows += f.Rows
	}
	if f.Time.Before(t.began) {
		t.began = f.Time
	}
	c.added = append(c.added, f)
	t.changes++
	return true, nil
}

func badFragment(f *format.Fragment, what string, args ...any) error {
	return errs.Op("commit fragment of task", f.Task).New(errs.Invalid, "%s; make the fragment again", fmt.Sprintf(what, args...))
}

func foreignFragment(f *format.Fragment, w format.Write) error {
	op := errs.Op("commit fragment of task", f.Task)
	switch {
	case f.Write.Dataset != w.Dataset:
		return op.New(errs.Invalid, "it is of dataset %s, and this write is of %s; commit it where its write began", f.Write.Dataset, w.Dataset)
	case f.Write.ID != w.ID:
		return op.New(errs.Invalid, "it is of write %s, and this is write %s; commit it with the write that its task belongs to", f.Write.ID, w.ID)
	}
	return op.New(errs.Invalid, "it was made on commit %s, and its write began on commit %s; make the fragment again", f.Write.Commit, w.Commit)
}

// addSchema lays the schema of a fragment on that of the fragments before it.
func (t *Txn) addSchema(f *format.Fragment) error {
	if len(f.Tensors) == 0 {
		return nil
	}
	theirs := t.base.Schema.Clone()
	known := theirs.Index()
	added := []format.TensorSchema{}
	for i := range f.Tensors {
		ts := f.Tensors[i]
		switch old := known[ts.ID]; {
		case old == nil && ts.ID != f.Write.TensorID(ts.Name):
			return badFragment(f, "it has the tensor %q, which is none of version %d", ts.Name, t.base.Record.Version)
		case old == nil:
			added = append(added, ts)
		case old.Name != ts.Name || old.HType != ts.HType || old.ClassChange != ts.ClassChange:
			return badFragment(f, "it makes another tensor of %q", old.Name)
		default:
			*old = ts
		}
	}
	theirs.Tensors = append(theirs.Tensors, added...)
	here := t.schema.Index()
	for i := range added {
		if my := here[added[i].ID]; my != nil {
			if err := t.checkCreated(f, my, &added[i]); err != nil {
				return err
			}
		}
	}
	words := sides{laid: "here"}
	out, c := layTensors(t.base.Schema, theirs, t.schema, words)
	if c != nil {
		words.stands = t.collector.creator(c.id)
		_, c = layTensors(t.base.Schema, theirs, t.schema, words)
		return t.clash(f, c.kind, c.tensor, remedyOfTwo, nil, "%s", c.what)
	}
	t.schema = out
	return nil
}

// addColumn adds the changes of a fragment to one tensor.
func (t *Txn) addColumn(f *format.Fragment, fc *format.FragmentColumn, shift func(int64) int64) error {
	ts := t.schema.ByID(fc.Tensor)
	if ts == nil {
		return badFragment(f, "it has samples of a tensor %s, which it does not create and version %d has not", fc.Tensor, t.base.Record.Version)
	}
	c := t.column(fc.Tensor)
	base, fresh := t.base.Record.Rows, t.base.Schema.ByID(fc.Tensor) == nil
	if !fresh && len(fc.Filled) > 0 {
		return badFragment(f, "it fills tensor %q, which has samples", ts.Name)
	}
	for _, edits := range [][]format.FragmentEdit{fc.Filled, fc.Rewrites} {
		if n := len(edits); n > 0 && edits[n-1].Rows.Start+edits[n-1].Rows.Count > base {
			return badFragment(f, "it writes rows of tensor %q behind the %d of version %d", ts.Name, base, t.base.Record.Version)
		}
	}
	if n := len(fc.Updated); n > 0 && fc.Updated[n-1].Rows.Start+fc.Updated[n-1].Rows.Count > base+f.Rows {
		return badFragment(f, "it updates rows of tensor %q that it does not have", ts.Name)
	}
	c.bytes += fc.Bytes
	if fc.Unknown || fc.Max != nil {
		c.widen(fc.Min, fc.Max, fc.Unknown)
	}
	place := t.placer(f, c)
	if err := t.checkWritten(f, fc); err != nil {
		return err
	}
	for _, e := range fc.Appended {
		e = place(e)
		e.Row += t.rows
		c.appended = append(c.appended, e)
	}
	c.addUpdates(fc, shift, place)
	for _, edit := range fc.Filled {
		run := chunkmap.Edit{From: edit.Rows.Start, To: edit.Rows.Start + edit.Rows.Count}
		for _, e := range edit.Entries {
			run.Entries = append(run.Entries, place(e))
		}
		k, _ := slices.BinarySearchFunc(c.filled, run, overlap)
		c.filled = slices.Insert(c.filled, k, run)
	}
	if len(fc.Rewrites) > 0 {
		// Both layouts hold the same samples.
		var rows []format.RowRange
		for _, edit := range fc.Rewrites {
			rows = append(rows, edit.Rows)
		}
		c.rewrites = chunkmap.Without(chunkmap.InOrder(c.rewrites), rows)
		for _, edit := range fc.Rewrites {
			run := chunkmap.Edit{From: edit.Rows.Start, To: edit.Rows.Start + edit.Rows.Count}
			for _, e := range edit.Entries {
				run.Entries = append(run.Entries, place(e))
			}
			c.rewrites = append(c.rewrites, run)
		}
	}
	return nil
}

// overlap compares disjoint edits; those that overlap are equal.
func overlap(a, b chunkmap.Edit) int {
	switch {
	case a.To <= b.From:
		return -1
	case b.To <= a.From:
		return 1
	}
	return 0
}

// addUpdates adds the rows that a fragment updates.
func (c *columnChange) addUpdates(fc *format.FragmentColumn, shift func(int64) int64, place func(format.Entry) format.Entry) {
	one := func(row int64, e format.Entry) {
		e.Row = shift(row)
		c.updated[e.Row] = e
	}
	for _, edit := range fc.Updated {
		at := edit.Rows.Start
		for _, e := range edit.Entries {
			for ; at < e.Row; at++ {
				one(at, format.Entry{})
			}
			e = place(e)
			for n := e.Rows; n > 0; n-- {
				e.Rows = 1
				one(at, e)
				e.First++
				at++
			}
		}
		for ; at < edit.Rows.Start+edit.Rows.Count; at++ {
			one(at, format.Entry{})
		}
	}
}

// first names the first fragment that is one.
func (c *Collector) first(is func(g *format.Fragment) bool) string {
	if k := slices.IndexFunc(c.added, is); k >= 0 {
		return fmt.Sprintf("task %q", c.added[k].Task)
	}
	return "a task before it"
}

// creator names the first fragment that creates or changes a tensor.
func (c *Collector) creator(id format.UUID) string {
	return c.first(func(g *format.Fragment) bool {
		return slices.ContainsFunc(g.Tensors, func(ts format.TensorSchema) bool { return ts.ID == id })
	})
}

// meets names the first fragment whose rows of some kind meet mine, and returns those that both
// have.
func (c *Collector) meets(mine rowset.Set, theirs func(g *format.Fragment) rowset.Set) (task string, both rowset.Set) {
	task = c.first(func(g *format.Fragment) bool {
		both = mine.And(theirs(g))
		return len(both) > 0
	})
	return task, both
}

// columnOf is the column of a tensor in a fragment, nil if it has none.
func columnOf(f *format.Fragment, id format.UUID) *format.FragmentColumn {
	for i := range f.Columns {
		if f.Columns[i].Tensor == id {
			return &f.Columns[i]
		}
	}
	return nil
}

func editRows(edits []format.FragmentEdit) []format.RowRange {
	out := make([]format.RowRange, len(edits))
	for i := range edits {
		out[i] = edits[i].Rows
	}
	return out
}

// writtenTo are the first rows, up to base, to which a fragment gives samples of a tensor.
func writtenTo(f *format.Fragment, id format.UUID, base int64) rowset.Set {
	c := columnOf(f, id)
	if c == nil {
		return nil
	}
	return rowset.Of(append(editRows(c.Updated), editRows(c.Filled)...)).And(rowset.Set{{Count: base}})
}

// placer gives the chunks of a fragment their places in side pages, and notes their sizes.
func (t *Txn) placer(f *format.Fragment, c *columnChange) func(format.Entry) format.Entry {
	dirs := map[format.UUID][][]byte{}
	for i := range f.Sides {
		dirs[f.Sides[i].ID] = f.Sides[i].Dirs
	}
	type slot struct {
		side format.UUID
		slot int64
	}
	placed := map[slot]slot{}
	return func(e format.Entry) format.Entry {
		t.collector.noteChunks(&e)
		own, ok := dirs[e.Side]
		if !ok {
			return e
		}
		at := slot{e.Side, e.Slot}
		to, ok := placed[at]
		if !ok {
			to.side, to.slot = c.slot(t, &e, own[e.Slot:e.Slot+max(1, e.Tiles)])
			placed[at] = to
		}
		e.Side, e.Slot = to.side, to.slot
		return e
	}
}

// noteChunks keeps the sizes of the chunks of an entry.
func (c *Collector) noteChunks(e *format.Entry) {
	sizes := c.chunks[e.Session]
	if sizes == nil {
		sizes = map[int64]int64{}
		c.chunks[e.Session] = sizes
	}
	if e.Tiles == 0 {
		sizes[e.Ordinal] = e.Bytes
		return
	}
	for i := range e.Tiles {
		sizes[e.Ordinal+i] = -1
	}
}

// WrittenRows returns the rows that have samples of the transaction in a tensor, as the axis counts
// them.
func (c *Collector) WrittenRows(id format.UUID) []format.RowRange {
	t := c.txn
	change := t.columns[id]
	if change == nil {
		return nil
	}
	out := append(ranges(t.Updated(id)), chunkmap.RangesOf(change.filled)...)
	return rowset.Of(append(out, format.RowRange{Start: t.base.Record.Rows, Count: t.rows}))
}

// MissingRows returns the first rows of the base, as the user counts them, that lack a sample in a
// tensor which fragments have filled in part. all is their number.
func (c *Collector) MissingRows() (tensor string, rows []int64, all int64) {
	t := c.txn
	whole := rowset.Of([]format.RowRange{{Start: 0, Count: t.base.Record.Rows}}).Minus(t.base.deletedRows())
	for _, ts := range t.schema.Tensors {
		change := t.columns[ts.ID]
		if change == nil || t.base.Schema.ByID(ts.ID) != nil || strings.HasPrefix(ts.Name, "_") {
			continue
		}
		given := append(chunkmap.RangesOf(change.filled), ranges(t.Updated(ts.ID))...)
		if len(given) == 0 {
			continue // the tensor is of appended rows alone
		}
		missing := whole.Minus(rowset.Of(append(given, ranges(t.DeletedRows())...)))
		for _, r := range missing {
			for row := r.Start; row < r.Start+r.Count && len(rows) < shownRows; row++ {
				rows = append(rows, t.base.Live.Logical(row))
			}
		}
		if all = missing.Count(); all > 0 {
			return ts.Name, rows, all
		}
	}
	return "", nil, 0
}

// committedBy reports whether a commit has the rows of exactly these tasks: other attempts of them,
// or the same in another order. Rows tell the task they are of. A task that appended none leaves no
// such mark, so with one the answer is false.
func (c *Collector) committedBy(theirs []format.Op) bool {
	if c == nil || len(c.parts) == 0 || len(c.parts) < len(c.tasks) {
		return false
	}
	n := 0
	for _, op := range theirs {
		if op.Op != format.OpAppend {
			continue
		}
		if _, ours := c.ids[op.Append]; !ours {
			return false
		}
		n++
	}
	return n == len(c.parts)
}

// checkAppended refuses rows that another commit has of the same task.
func (t *Txn) checkAppended(rec *format.Record, op format.Op) error {
	if t.collector == nil {
		return nil
	}
	task, twice := t.collector.ids[op.Append]
	if !twice {
		return nil
	}
	return errs.New(errs.Conflict, "%w", &ConflictError{
		Kind: "append x append", Winner: Describe(rec), op: "commit",
		What: fmt.Sprintf("it has the rows of task %q of this write", task), Remedy: "leave out the fragments that are committed",
	})
}
