package version

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sort"
	"strconv"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/tensor"
	"deeplake/core/version/chunkmap"
	"deeplake/core/version/rowset"
)

// ConflictError says where two commits, two branches, or two tasks of a distributed write
// contradict each other. It is found by errors.As in an error that is errs.Conflict.
type ConflictError struct {
	Kind   string // our operation and theirs, in the words of FORMAT.md: "update x delete"
	Tensor string // "" where it is not about one
	// the first 16 of the rows it is about, as the user counts them in the commit that was worked
	// on
	Rows   []int64
	Count  int64     // of all those rows
	Winner Committed // the commit that stands; zero between tasks
	What   string    // the contradiction in words
	Remedy string    // the way out
	op     string    // "commit" or "merge"
}

// Error has all of it.
func (e *ConflictError) Error() string {
	if e.Winner.Commit == "" {
		return e.What + "; " + e.Remedy
	}
	return fmt.Sprintf("%s: conflict with version %d (commit %s, %q by %q): %s; %s",
		e.op, e.Winner.Version, e.Winner.Commit, e.Winner.Message, e.Winner.Author, e.What, e.Remedy)
}

const commitRemedy = "call discard() and refresh(), and apply the change again"

// conflict is the error of a commit that contradicts rec. rows are physical ones of the base; %s in
// what stands for them.
func (t *Txn) conflict(rec *format.Record, kind, tensor string, rows []int64, what string, args ...any) error {
	e := &ConflictError{Kind: kind, Tensor: tensor, Winner: Describe(rec), Remedy: commitRemedy, op: "commit"}
	e.setRows(t.base, rows)
	e.What = fmt.Sprintf(what, args...)
	if len(rows) > 0 {
		e.What = strings.ReplaceAll(e.What, "{rows}", rowList(e.Rows, e.Count))
	}
	return errs.New(errs.Conflict, "%w", e)
}

// setRows takes the rows in as the user counts them in s.
func (e *ConflictError) setRows(s *Snapshot, rows []int64) {
	e.Count = int64(len(rows))
	for _, row := range rows[:min(len(rows), shownRows)] {
		e.Rows = append(e.Rows, s.Live.Logical(row))
	}
}

// remedyOfTwo is the way out of most conflicts of two tasks.
const remedyOfTwo = "leave one of the two out, or make it again"

// clash is the conflict of a fragment with one before it. rows are of the base; {rows} in what
// stands for them.
func (t *Txn) clash(f *format.Fragment, kind, tensor, remedy string, rows rowset.Set, what string, args ...any) error {
	e := &ConflictError{Kind: kind, Tensor: tensor, Count: rows.Count(), Remedy: remedy, What: fmt.Sprintf(what, args...)}
	for _, row := range rows.First(shownRows) {
		e.Rows = append(e.Rows, t.base.Live.Logical(row))
	}
	if len(e.Rows) > 0 {
		e.What = strings.ReplaceAll(e.What, "{rows}", rowList(e.Rows, e.Count))
	}
	return errs.Op("commit fragment of task", f.Task).New(errs.Conflict, "%w", e)
}

// mostUpdated bounds the rows of a tensor that one task updates one by one: each takes memory here.
const mostUpdated = 1 << 26

// checkWritten refuses samples for rows to which a fragment before this one gives samples, or which
// it deletes.
func (t *Txn) checkWritten(f *format.Fragment, fc *format.FragmentColumn) error {
	id, c, base := fc.Tensor, t.columns[fc.Tensor], t.base.Record.Rows
	name, updated := t.tensorName(id), rowset.Of(editRows(fc.Updated))
	if updated.Count() > mostUpdated {
		return badFragment(f, "it updates more than %d rows of tensor %q", mostUpdated, name)
	}
	mine := writtenTo(f, id, base)
	_, twice := t.firstUpdated(id, mine)
	for _, r := range mine {
		if _, found := slices.BinarySearchFunc(c.filled, chunkmap.Edit{From: r.Start, To: r.Start + r.Count}, overlap); found {
			twice = true
		}
	}
	if twice {
		other, rows := t.collector.meets(mine, func(g *format.Fragment) rowset.Set { return writtenTo(g, id, base) })
		return t.clash(f, "update x update", name, remedyOfTwo, rows, "it writes tensor %q at {rows}, as %s does", name, other)
	}
	if t.deleted.IsEmpty() {
		return nil
	}
	updated = updated.And(rowset.Set{{Count: base}})
	for _, r := range updated {
		for row := r.Start; row < r.Start+r.Count; row++ {
			if t.deleted.Contains(uint64(row)) {
				other, rows := t.collector.meets(updated, func(g *format.Fragment) rowset.Set { return rowset.Of(g.Deleted) })
				return t.clash(f, "update x delete", name, remedyOfTwo, rows, "it updates tensor %q at {rows}, which %s deletes", name, other)
			}
		}
	}
	return nil
}

// checkDeleted refuses to delete rows that a fragment before this one updates.
func (t *Txn) checkDeleted(f *format.Fragment) error {
	for _, ts := range t.schema.Tensors {
		if t.columns[ts.ID] == nil {
			continue
		}
		if _, found := t.firstUpdated(ts.ID, f.Deleted); found {
			base := t.base.Record.Rows
			other, rows := t.collector.meets(rowset.Of(f.Deleted), func(g *format.Fragment) rowset.Set { return writtenTo(g, ts.ID, base) })
			return t.clash(f, "delete x update", ts.Name, remedyOfTwo, rows, "it deletes {rows}, where %s updates tensor %q", other, ts.Name)
		}
	}
	return nil
}

// checkClasses refuses labels by number beside classes with names.
func (t *Txn) checkClasses(f *format.Fragment) error {
	changed := map[format.UUID]*format.TensorSchema{}
	for i := range f.Tensors {
		changed[f.Tensors[i].ID] = &f.Tensors[i]
	}
	for i := range f.Columns {
		c := &f.Columns[i]
		mine, theirs := t.schema.ByID(c.Tensor), changed[c.Tensor]
		if theirs == nil {
			theirs = t.base.Schema.ByID(c.Tensor)
		}
		if mine == nil || theirs == nil {
			continue
		}
		has := len(c.Appended)+len(c.Updated)+len(c.Filled) > 0
		if what := classesDiffer(theirs, mine, false, has, t.labels(c.Tensor)); what != "" {
			other := t.collector.first(func(g *format.Fragment) bool { return columnOf(g, c.Tensor) != nil })
			return t.clash(f, classNamesTwice, mine.Name, remedyOfTwo, nil, "tensor %q: %s", mine.Name, fmt.Sprintf(what, other, "here"))
		}
	}
	return nil
}

// stateOf is the dtype that samples have decided, "" if none has.
func stateOf(ts *format.TensorSchema) string {
	if undecided(ts) {
		return ""
	}
	return dtypeName(ts)
}

// property is something that a tensor has from its creation.
type property struct {
	name, value string
	open        bool // "" is one that no sample has decided
}

// stated are the properties of a tensor beside its levels, which are in all.
func stated(ts *format.TensorSchema, all []format.TensorSchema) []property {
	shape, compression, classes, levels := "any", ts.Compression, "open", "none"
	if h, err := tensor.ParseHType(ts.HType); ts.Shape != nil {
		shape = ts.Shape.String()
	} else if err == nil && h.Fixed() {
		shape = ""
	}
	if ts.Files == format.FilesOpen {
		compression = ""
	}
	if ts.Closed {
		classes = fmt.Sprintf("%q", slices.Sorted(slices.Values(ts.ClassNames)))
	}
	for i := range all {
		if of := all[i].Reduces; of != nil && of.Tensor == ts.ID {
			levels = strconv.FormatInt(of.Factor, 10)
		}
	}
	info, err := json.Marshal(ts.Info)
	if err != nil || len(ts.Info) == 0 {
		info = []byte("{}")
	}
	return []property{
		{"htype", ts.HType, false},
		{"dtype", stateOf(ts), true},
		{"shape", shape, true},
		{"compression", compression, true},
		{"quality", strconv.Itoa(ts.Quality), false},
		{"subsampling", ts.Subsampling, false},
		{"chunk_bytes", strconv.FormatInt(ts.ChunkBytes, 10), false},
		{"class_names", classes, false},
		{"apply_exif_orientation", strconv.FormatBool(ts.Upright), false},
		{"downsample", levels, false},
		{"info", string(info), false},
	}
}

// checkCreated refuses a tensor that a fragment creates in another way than one before it did.
// their is that of the fragment.
func (t *Txn) checkCreated(f *format.Fragment, my, their *format.TensorSchema) error {
	mine := stated(my, t.schema.Tensors)
	for i, p := range stated(their, f.Tensors) {
		have := mine[i].value
		switch {
		case p.value == have, p.open && (p.value == "" || have == ""):
			continue
		case p.name == "compression" && my.Files == format.FilesOwn && their.Files == format.FilesOwn:
			continue // of the first file of each; chunks have their codec
		}
		other := t.collector.first(func(g *format.Fragment) bool {
			k := slices.IndexFunc(g.Tensors, func(ts format.TensorSchema) bool { return ts.ID == my.ID })
			return k >= 0 && stated(&g.Tensors[k], g.Tensors)[i].value == have
		})
		return t.clash(f, "add_tensor x add_tensor", my.Name, fmt.Sprintf("create the tensor before the write, or give its %s (schema=)", p.name), nil,
			"it creates tensor %q with %s %s, %s with %s", my.Name, p.name, shown(p.value), other, shown(have))
	}
	if my.Files == format.FilesOpen {
		my.Compression, my.Files = their.Compression, their.Files
	}
	return nil
}

// shown is a value in a message.
func shown(value string) string {
	const most = 80
	switch {
	case value == "":
		return "none"
	case len(value) > most:
		return strings.ToValidUTF8(value[:most], "") + "..."
	}
	return value
}

// check holds the transaction against the operations of a commit that came first. The matrix is in
// FORMAT.md, section 11; what concerns schemas alone is decided by mergeSchema, which sees both.
func (t *Txn) check(rec *format.Record, theirs []format.Op) error {
	for _, op := range theirs {
		if !op.Tensor.IsZero() {
			t.touched[op.Tensor] = rec
		}
		var err error
		switch op.Op {
		case format.OpAppend:
			err = t.checkAppended(rec, op)
		case format.OpAddTensor, format.OpRewrite:
		case format.OpRestore:
			t.keepRestored(op)
		case format.OpClassNames, format.OpRenameTensor:
			err = t.checkDropped(rec, op)
		case format.OpSetInfo:
			if t.info {
				err = t.conflict(rec, "set_info x set_info", "", nil, "both set the info of the dataset")
			}
		case format.OpUpdate:
			err = t.checkUpdate(rec, op)
		case format.OpDelete:
			err = t.checkDelete(rec, op)
		case format.OpDropTensor:
			err = t.checkDrop(rec, op)
		default:
			err = errs.New(errs.Unsupported, "commit %s did %q, which this version of the library cannot build on; upgrade it", rec.UUID, op.Op)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keepRestored keeps the samples of rows that another commit has restored: a rewrite may have left
// them out.
func (t *Txn) keepRestored(op format.Op) {
	for id, c := range t.columns {
		if len(c.rewrites) > 0 {
			t.newer[id] = append(t.newer[id], op.Ranges...)
		}
	}
}

// checkDropped refuses their operations on a tensor that this transaction drops.
func (t *Txn) checkDropped(rec *format.Record, op format.Op) error {
	old := t.base.Schema.ByID(op.Tensor)
	if old == nil || t.schema.ByID(op.Tensor) != nil {
		return nil
	}
	did := map[format.OpKind]string{format.OpClassNames: "added class names to", format.OpRenameTensor: "renamed", format.OpUpdate: "updated rows of"}
	return t.conflict(rec, "drop_tensor x "+string(op.Op), old.Name, nil, "it %s tensor %q, which this commit deletes", did[op.Op], old.Name)
}

func (t *Txn) checkUpdate(rec *format.Record, op format.Op) error {
	if err := t.checkDropped(rec, op); err != nil {
		return err
	}
	name := t.tensorName(op.Tensor)
	if rows := common(op.Ranges, t.updatedRows(op.Tensor)); len(rows) > 0 {
		return t.conflict(rec, "update x update", name, rows, "both update tensor %q at {rows}", name)
	}
	if rows := common(op.Ranges, t.deletedRows); len(rows) > 0 {
		return t.conflict(rec, "delete x update", name, rows, "it updated tensor %q at {rows}, which this commit deletes", name)
	}
	if c := t.columns[op.Tensor]; c != nil && len(c.rewrites) > 0 {
		t.newer[op.Tensor] = append(t.newer[op.Tensor], op.Ranges...)
	}
	return nil
}

func (t *Txn) checkDelete(rec *format.Record, op format.Op) error {
	for _, ts := range t.schema.Tensors {
		if rows := common(op.Ranges, t.updatedRows(ts.ID)); len(rows) > 0 {
			return t.conflict(rec, "update x delete", ts.Name, rows, "it deleted {rows}, where this commit updates tensor %q", ts.Name)
		}
	}
	return nil
}

// checkDrop holds what this transaction does to a tensor against its removal. Rows that it appends
// lose their value.
func (t *Txn) checkDrop(rec *format.Record, op format.Op) error {
	old, mine := t.base.Schema.ByID(op.Tensor), t.schema.ByID(op.Tensor)
	if old == nil || mine == nil {
		return nil
	}
	rows := slices.Sorted(t.updatedRows(op.Tensor))
	switch {
	case len(rows) > 0:
		return t.conflict(rec, "update x drop_tensor", old.Name, rows, "it deleted tensor %q, which this commit updates at {rows}", old.Name)
	case mine.Name != old.Name:
		return t.conflict(rec, "rename_tensor x drop_tensor", old.Name, nil, "it deleted tensor %q, which this commit renames to %q", old.Name, mine.Name)
	case !slices.Equal(mine.ClassNames, old.ClassNames):
		return t.conflict(rec, "class_names x drop_tensor", old.Name, nil, "it deleted tensor %q, to which this commit adds class names", old.Name)
	}
	return nil
}

func (t *Txn) tensorName(id format.UUID) string {
	if ts := t.schema.ByID(id); ts != nil {
		return ts.Name
	}
	return id.String()
}

// updatedRows are the rows of the base that the transaction updates in a tensor, in any order. Rows
// that it appended itself are not among them: another commit's rows of these numbers are others.
func (t *Txn) updatedRows(id format.UUID) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		c := t.columns[id]
		if c == nil {
			return
		}
		for row := range c.updated {
			if row < t.base.Record.Rows && !yield(row) {
				return
			}
		}
	}
}

// deletedRows are the rows of the base that the transaction deletes.
func (t *Txn) deletedRows(yield func(int64) bool) {
	for it := t.deleted.Iterator(); it.HasNext(); {
		if row := int64(it.Next()); row >= t.base.Record.Rows || !yield(row) {
			return
		}
	}
}

// firstUpdated returns the first row of the base in ranges that the transaction updates in a
// tensor. It looks at the fewer of the two.
func (t *Txn) firstUpdated(id format.UUID, in []format.RowRange) (row int64, found bool) {
	updated, all := t.columns[id].updated, int64(0)
	for _, r := range in {
		all += r.Count
	}
	if int64(len(updated)) <= all {
		rows := common(in, t.updatedRows(id))
		if len(rows) == 0 {
			return 0, false
		}
		return rows[0], true
	}
	for _, r := range in {
		for row := r.Start; row < min(r.Start+r.Count, t.base.Record.Rows); row++ {
			if _, found := updated[row]; found {
				return row, true
			}
		}
	}
	return 0, false
}

// common lists those of rows that lie in ranges, which rise. It takes time for each of rows, not
// for the length of the ranges: those come from a file and may be of any size.
func common(ranges []format.RowRange, rows iter.Seq[int64]) []int64 {
	var in []int64
	for row := range rows {
		k := sort.Search(len(ranges), func(k int) bool { return ranges[k].Start+ranges[k].Count > row })
		if k < len(ranges) && ranges[k].Start <= row {
			in = append(in, row)
		}
	}
	slices.Sort(in)
	return in
}

// shownRows is the number of rows that a conflict lists.
const shownRows = 16

// rowList names the first of count rows.
func rowList(rows []int64, count int64) string {
	var b strings.Builder
	for i, row := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d", row)
	}
	switch {
	case count == 1:
		return "row " + b.String()
	case count > int64(len(rows)):
		fmt.Fprintf(&b, ", ... (%d rows)", count)
	}
	return "rows " + b.String()
}
