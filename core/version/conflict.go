package version

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"sort"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/format"
)

// check holds the transaction against the operations of a commit that came first. The matrix is in FORMAT.md, section 11;
// what concerns schemas alone is decided by mergeSchema, which sees both.
func (t *Txn) check(rec *format.Record, theirs []format.Op) error {
	for _, op := range theirs {
		switch op.Op {
		case format.OpAppend, format.OpAddTensor, format.OpClassNames:
		case format.OpSetInfo:
			if t.info {
				return conflict(rec, "both set the info of the dataset")
			}
		case format.OpUpdate:
			name := t.tensorName(op.Tensor)
			if rows := common(op.Ranges, t.updatedRows(op.Tensor)); len(rows) > 0 {
				return conflict(rec, "both update tensor %q at %s", name, rowList(rows))
			}
			if rows := common(op.Ranges, t.deletedRows); len(rows) > 0 {
				return conflict(rec, "it updated tensor %q at %s, which this commit deletes", name, rowList(rows))
			}
		case format.OpDelete:
			for _, ts := range t.schema.Tensors {
				if rows := common(op.Ranges, t.updatedRows(ts.ID)); len(rows) > 0 {
					return conflict(rec, "it deleted %s, where this commit updates tensor %q", rowList(rows), ts.Name)
				}
			}
		default:
			return errs.New(errs.Unsupported, "commit %s did %q, which this version of the library cannot build on; upgrade it", rec.UUID, op.Op)
		}
	}
	return nil
}

func (t *Txn) tensorName(id format.UUID) string {
	if ts := findID(t.schema, id); ts != nil {
		return ts.Name
	}
	return id.String()
}

// conflict is the error that names the winner and the way out.
func conflict(rec *format.Record, what string, args ...any) error {
	return errs.New(errs.Conflict, "commit: conflict with version %d (commit %s, %q by %q): %s; discard(), look at the new head and apply the change again",
		rec.Version, rec.UUID, rec.Message, rec.Author, fmt.Sprintf(what, args...))
}

// updatedRows are the rows of the base that the transaction updates in a tensor, in any order. Rows that it appended
// itself are not among them: another commit's rows of these numbers are others.
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

// common lists those of rows that lie in ranges, which rise. It takes time for each of rows, not for the length of the
// ranges: those come from a file and may be of any size.
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

// shownRows is how many rows a message lists.
const shownRows = 16

func rowList(rows []int64) string {
	var b strings.Builder
	for i, row := range rows {
		if i == shownRows {
			fmt.Fprintf(&b, ", ... (%d rows)", len(rows))
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d", row)
	}
	if len(rows) == 1 {
		return "row " + b.String()
	}
	return "rows " + b.String()
}

// mergeSchema lays the schema changes of the transaction on top of onto.
func (t *Txn) mergeSchema(onto *format.Schema) (*format.Schema, error) {
	out := onto.Clone()
	for i := range t.schema.Tensors {
		mine := &t.schema.Tensors[i]
		theirs := findID(out, mine.ID)
		if theirs == nil {
			if other := out.Find(mine.Name); other != nil {
				return nil, errs.New(errs.Conflict, "commit: another commit created tensor %q too; discard(), or create it under another name", mine.Name)
			}
			for _, other := range onto.Tensors {
				if isGroupOf(other.Name, mine.Name) || isGroupOf(mine.Name, other.Name) {
					return nil, errs.New(errs.Conflict, "commit: another commit created tensor %q, here is %q, and a name cannot be both a tensor and a group; discard(), or create it under another name", other.Name, mine.Name)
				}
			}
			out.Tensors = append(out.Tensors, *mine)
			continue
		}
		before := findID(t.base.Schema, mine.ID)
		if before == nil || reflect.DeepEqual(*before, *mine) {
			continue
		}
		if err := mergeTensor(before, mine, theirs); err != nil {
			return nil, err
		}
	}
	if t.info {
		out.Info = t.schema.Info
	}
	return out, nil
}

func isGroupOf(group, name string) bool {
	return len(name) > len(group) && name[:len(group)] == group && name[len(group)] == '/'
}

// mergeTensor brings what mine changed since before into theirs: class names that were added, a dtype and a shape that
// were open.
func mergeTensor(before, mine, theirs *format.TensorSchema) error {
	n := min(len(mine.ClassNames), len(theirs.ClassNames))
	for i := range n {
		if mine.ClassNames[i] != theirs.ClassNames[i] {
			return errs.New(errs.Conflict, "commit: another commit named class %d of tensor %q %q, here it is %q; discard() and append the rows again",
				i, mine.Name, theirs.ClassNames[i], mine.ClassNames[i])
		}
	}
	if len(mine.ClassNames) > n {
		theirs.ClassNames = mine.ClassNames
	}
	if before.DType == "" && mine.DType != "" {
		if theirs.DType != "" && theirs.DType != mine.DType {
			return errs.New(errs.Conflict, "commit: another commit gave tensor %q dtype %s, here it is %s; discard() and append the rows again", mine.Name, theirs.DType, mine.DType)
		}
		theirs.DType = mine.DType
	}
	if before.Shape == nil && mine.Shape != nil {
		if theirs.Shape != nil && !theirs.Shape.Equal(mine.Shape) {
			return errs.New(errs.Conflict, "commit: another commit gave tensor %q shape %s, here it is %s; discard() and append the rows again", mine.Name, theirs.Shape, mine.Shape)
		}
		theirs.Shape = mine.Shape
	}
	return nil
}

func schemasEqual(a, b *format.Schema) bool { return reflect.DeepEqual(a.Tensors, b.Tensors) }
