package version

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"deeplake/core/format"
	"deeplake/core/version/chunkmap"
	"deeplake/core/version/rowset"
)

// Renumbering gives labels of a tensor the numbers that their classes have in another list.
type Renumbering struct {
	Tensor  format.UUID
	Names   []string   // of all classes, in the order of the new numbers
	Numbers []int64    // the new number of each old one; NoClass: no label may have it
	Rows    rowset.Set // rows whose labels have old numbers, as the axis counts them
}

// NoClass is the number of a removed class.
const NoClass = -1

// Renumbered is the report of a Renumbering.
type Renumbered struct {
	Tensor  string   `json:"tensor"`
	Classes []string `json:"classes"` // those of the moved numbers
	Rows    int64    `json:"rows"`    // rows that were written again
}

// Renumber makes a transaction on top of s in which the labels of r have their new numbers, and
// returns the number of rows that it writes again. No commit is made of it. A label of a removed
// class is errs.Conflict.
type Renumber func(ctx context.Context, s *Snapshot, r Renumbering) (t *Txn, rows int64, err error)

// uniteClasses adds the classes of mine to those of onto. numbers are those that the classes of
// mine have in names.
func uniteClasses(mine, onto []string) (names []string, numbers []int64) {
	names, numbers = slices.Clone(onto), make([]int64, len(mine))
	for i, name := range mine {
		at := slices.Index(names, name)
		if at < 0 {
			at, names = len(names), append(names, name)
		}
		numbers[i] = int64(at)
	}
	return names, numbers
}

// classesDiffer says why labels of mine have no meaning in onto, "" if they have one. Names mean
// the same classes if no side renamed, merged or removed some, or if both did and agree on the
// names. Numbers without names mean none. has and theyHave tell whether the sides have labels.
func classesDiffer(mine, onto *format.TensorSchema, agreed, has, theyHave bool) string {
	switch {
	case agreed, slices.Equal(mine.ClassNames, onto.ClassNames):
		return ""
	case mine.ClassChange != onto.ClassChange:
		return fmt.Sprintf("%%[1]s has the classes %q, %%[2]s they are %q, and some were renamed, merged or removed", someClasses(onto.ClassNames), someClasses(mine.ClassNames))
	case len(mine.ClassNames) == 0 && has, len(onto.ClassNames) == 0 && theyHave:
		return fmt.Sprintf("%%[1]s has the classes %q, %%[2]s they are %q, and the others have labels by number", someClasses(onto.ClassNames), someClasses(mine.ClassNames))
	}
	return ""
}

// agree reports whether both sides renamed, merged or removed classes since before, and have the
// same names.
func agree(before, a, b *format.TensorSchema) bool {
	return before != nil && a.ClassChange != before.ClassChange && b.ClassChange != before.ClassChange && sameClasses(a.ClassNames, b.ClassNames)
}

// sameClasses reports whether two lists have the same names, in any order.
func sameClasses(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(name string) bool { return !slices.Contains(b, name) })
}

// laterChange returns the ClassChange of two sides with the same classes, the same from either
// side.
func laterChange(a, b format.UUID) format.UUID {
	if bytes.Compare(a[:], b[:]) < 0 {
		return b
	}
	return a
}

func someClasses(names []string) []string { return names[:min(len(names), 10)] }

// begins reports whether a list of classes begins with another one.
func begins(names, first []string) bool {
	return len(first) <= len(names) && slices.Equal(names[:len(first)], first)
}

// inPlace reports whether numbers are those that the classes had before.
func inPlace(numbers []int64) bool { return firstMoved(numbers) < 0 }

// firstMoved returns the first class that has another number, -1 if none has.
func firstMoved(numbers []int64) int {
	for i, n := range numbers {
		if int64(i) != n {
			return i
		}
	}
	return -1
}

// renumber gives the labels of the transaction the numbers that their classes have in onto.
func (t *Txn) renumber(ctx context.Context, onto *Snapshot) error {
	if onto == t.base {
		return nil
	}
	for i := range t.schema.Tensors {
		my := &t.schema.Tensors[i]
		before, their := t.base.Schema.ByID(my.ID), onto.Schema.ByID(my.ID)
		if before == nil || their == nil || my.ClassNames == nil && their.ClassNames == nil {
			continue
		}
		untouched := reflect.DeepEqual(onto.Record.Columns[my.ID].Root, t.base.Record.Columns[my.ID].Root)
		changed := my.ClassChange != before.ClassChange
		if !changed && slices.Equal(my.ClassNames, before.ClassNames) && !t.labels(my.ID) {
			continue // theirs stand
		}
		if changed && untouched && their.ClassChange == before.ClassChange && slices.Equal(their.ClassNames, before.ClassNames) {
			continue // there are no other labels since
		}
		agreed := agree(before, my, their)
		what := classesDiffer(my, their, agreed, t.labels(my.ID), !untouched)
		if changed && !agreed {
			what = "%[1]s wrote labels or classes, %[2]s classes were renamed, merged or removed"
		}
		names, numbers := uniteClasses(my.ClassNames, their.ClassNames)
		if what == "" && !inPlace(numbers) && t.OnRenumber == nil {
			what = "%[1]s numbered the classes otherwise, %[2]s nothing can renumber labels"
		}
		if what != "" {
			return t.conflict(onto.Record, classNamesTwice, my.Name, nil, "tensor %q: %s", my.Name, fmt.Sprintf(what, "another commit", "here"))
		}
		moved := firstMoved(numbers) >= 0
		if !moved && slices.Equal(names, my.ClassNames) {
			continue
		}
		r := Renumbering{Tensor: my.ID, Names: names, Numbers: numbers,
			Rows: rowset.Of(append(ranges(t.Updated(my.ID)), format.RowRange{Start: t.base.Record.Rows, Count: t.rows}))}
		report := Renumbered{Tensor: my.Name, Classes: r.moved(my.ClassNames)}
		t.SetClassNames(my.ID, names)
		if !moved {
			continue
		}
		var err error
		if report.Rows, err = t.OnRenumber(ctx, r); err != nil {
			return err
		}
		t.renumbered = append(t.renumbered, report)
	}
	return nil
}

// labels reports whether the transaction has samples of a tensor.
func (t *Txn) labels(id format.UUID) bool {
	c := t.columns[id]
	return c != nil && len(c.appended)+len(c.updated)+len(c.filled) > 0
}

// moved lists the classes whose numbers change.
func (r *Renumbering) moved(names []string) (out []string) {
	for i, n := range r.Numbers {
		if n != int64(i) && n != NoClass {
			out = append(out, names[i])
		}
	}
	return out
}

// uniteClasses gives ours and theirs, which are copies, the common list of the classes of each
// tensor. Labels that are taken from theirs get its numbers.
func (m *merger) uniteClasses(base, ours, theirs *format.Schema) error {
	here := ours.Index()
	for i := range theirs.Tensors {
		their := &theirs.Tensors[i]
		my, before := here[their.ID], base.ByID(their.ID)
		if my == nil || slices.Equal(my.ClassNames, their.ClassNames) {
			continue
		}
		has := func(s *Snapshot) bool { return s.Record.Columns[their.ID].Root != nil }
		// Without labels since, theirs has nothing to say.
		idle := before != nil && before.ClassChange == their.ClassChange && slices.Equal(before.ClassNames, their.ClassNames) &&
			reflect.DeepEqual(m.base.Record.Columns[their.ID].Root, m.theirs.Record.Columns[their.ID].Root)
		what := classesDiffer(their, my, agree(before, their, my), has(m.theirs), has(m.ours))
		if what != "" && !idle {
			return m.conflict(classNamesTwice, my.Name, nil, schemaRemedy(classNamesTwice), "tensor %q: %s", my.Name, fmt.Sprintf(what, "this branch", "in the one to be merged"))
		}
		if what != "" {
			m.foreign[their.ID] = fmt.Sprintf(what, "this branch", "in the one to be merged")
			their.ClassNames, their.ClassChange = my.ClassNames, my.ClassChange
			before.ClassNames, before.ClassChange = my.ClassNames, my.ClassChange
			continue
		}
		names, numbers := uniteClasses(their.ClassNames, my.ClassNames)
		if idle {
			names = my.ClassNames
			for k, n := range numbers {
				if n >= int64(len(names)) {
					numbers[k] = NoClass
				}
			}
		}
		if !inPlace(numbers) {
			m.numbers[their.ID] = &Renumbering{Tensor: their.ID, Names: names, Numbers: numbers}
			m.moved[their.ID] = m.numbers[their.ID].moved(their.ClassNames)
		}
		my.ClassNames, their.ClassNames = names, names
	}
	return nil
}

// source returns the tree of theirs from which entries of a tensor are taken, with the numbers that
// its classes have in ours. New side pages go into b.
func (m *merger) source(ctx context.Context, b *build, id format.UUID, from rowset.Alignment) (chunkmap.Tree, error) {
	tree, r := m.theirs.Tree(id), m.numbers[id]
	if len(from) == 0 || r == nil && m.foreign[id] == "" {
		return tree, nil
	}
	if what := m.foreign[id]; what != "" || m.repo.OnRenumber == nil {
		ts := m.schema.ByID(id)
		return tree, m.conflict(classNamesTwice, ts.Name, nil, schemaRemedy(classNamesTwice), "tensor %q: %s", ts.Name, cmp.Or(what, "the sides number the classes otherwise"))
	}
	rows := make([]format.RowRange, len(from))
	for i, s := range from {
		rows[i] = format.RowRange{Start: s.From, Count: s.Rows}
	}
	r.Rows = rowset.Of(rows)
	t, n, err := m.repo.OnRenumber(ctx, m.theirs, *r)
	if err != nil {
		return tree, err
	}
	draft, err := t.Preview(ctx)
	if err != nil {
		return tree, err
	}
	for id, page := range draft.held {
		switch page.(type) {
		case chunkmap.SidePage, *chunkmap.StoredSide:
			b.made[id] = page
		}
	}
	m.renumbered = append(m.renumbered, Renumbered{Tensor: m.schema.ByID(id).Name, Classes: m.moved[id], Rows: n})
	return draft.Tree(id), nil
}
