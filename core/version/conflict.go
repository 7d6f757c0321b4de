package version

import (
	"fmt"
	"iter"
	"slices"
	"sort"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/format"
)

// ConflictError says where two commits, or two branches, contradict each other. It is found by
// errors.As in an error that is errs.Conflict.
type ConflictError struct {
	Kind   string // our operation and theirs, in the words of FORMAT.md: "update x delete"
	Tensor string // "" where it is not about one
	// the first 16 of the rows it is about, as the user counts them in the commit that was worked
	// on
	Rows   []int64
	Count  int64     // of all those rows
	Winner Committed // the commit that stands
	What   string    // the contradiction in words
	Remedy string    // the way out
	op     string    // "commit" or "merge"
}

// Error has all of it.
func (e *ConflictError) Error() string {
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
