package version

import (
	"context"
	"fmt"
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

// NoClass is the number of a class that is gone.
const NoClass = -1

// Renumbered is the report of a Renumbering.
type Renumbered struct {
	Tensor  string   `json:"tensor"`
	Classes []string `json:"classes"` // those of the moved numbers
	Rows    int64    `json:"rows"`    // rows that were written again
}

// Renumber makes a transaction on top of s in which the labels of r have their new numbers, and
// returns the number of rows that it writes again. No commit is made of it. A label of a class that
// is gone is errs.Conflict.
type Renumber func(ctx context.Context, s *Snapshot, r Renumbering) (t *Txn, rows int64, err error)

// uniteClasses brings what mine changed in a list of classes since base into onto. Classes are the
// same by name. A name that one side has lost may be another class there, so it is a contradiction.
// numbers are those that the classes of mine have in the result. what is the contradiction in
// words, with %[1]s for the side of onto and %[2]s for that of mine. The last classes, which a
// restore has taken back, are there again.
func uniteClasses(base, mine, onto []string) (names []string, numbers []int64, what string) {
	if begins(base, onto) {
		onto = base
	}
	for i, old := range base {
		switch {
		case slices.Contains(mine, old):
		case slices.Contains(onto, old):
			return nil, nil, fmt.Sprintf("%%[1]s has class %q, %%[2]s it is removed or renamed", old)
		case i < min(len(mine), len(onto)) && mine[i] != onto[i]:
			return nil, nil, fmt.Sprintf("%%[1]s has class %q in the place of %q, %%[2]s %q", onto[i], old, mine[i])
		}
	}
	names, numbers = slices.Clone(onto), make([]int64, len(mine))
	for i, name := range mine {
		at := slices.Index(names, name)
		if at < 0 {
			if slices.Contains(base, name) {
				return nil, nil, fmt.Sprintf("%%[1]s removed or renamed class %q, %%[2]s it is there", name)
			}
			at, names = len(names), append(names, name)
		}
		numbers[i] = int64(at)
	}
	return names, numbers, ""
}

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

// renumber gives the labels of the transaction the numbers that their classes have in onto. It
// changes nothing where another contradiction remains, which mergeSchema reports.
func (t *Txn) renumber(ctx context.Context, onto *Snapshot) error {
	if onto == t.base {
		return nil
	}
	for i := range t.schema.Tensors {
		my := &t.schema.Tensors[i]
		before, their := t.base.Schema.ByID(my.ID), onto.Schema.ByID(my.ID)
		if before == nil || their == nil {
			continue
		}
		same := slices.Equal(my.ClassNames, before.ClassNames)
		if same && (!t.labels(my.ID) || slices.Equal(before.ClassNames, their.ClassNames)) {
			continue
		}
		names, numbers, what := uniteClasses(before.ClassNames, my.ClassNames, their.ClassNames)
		if what == "" && same && t.OnRenumber == nil && !inPlace(numbers) {
			what = "%[1]s numbered the classes otherwise, %[2]s nothing can renumber labels"
		}
		if what != "" && same {
			return t.conflict(onto.Record, "append x class_names", my.Name, nil, "tensor %q: %s", my.Name, fmt.Sprintf(what, "another commit", "here"))
		}
		if what != "" || inPlace(numbers) || t.OnRenumber == nil {
			continue
		}
		rows := rowset.Of(append(ranges(t.Updated(my.ID)), format.RowRange{Start: t.base.Record.Rows, Count: t.rows}))
		r := Renumbering{Tensor: my.ID, Names: names, Numbers: numbers, Rows: rows}
		moved := r.moved(my.ClassNames)
		my.ClassNames = names
		t.changes++
		n, err := t.OnRenumber(ctx, r)
		if err != nil {
			return err
		}
		t.renumbered = append(t.renumbered, Renumbered{Tensor: my.Name, Classes: moved, Rows: n})
	}
	return nil
}

// labels reports whether the transaction has samples of a tensor.
func (t *Txn) labels(id format.UUID) bool {
	c := t.columns[id]
	return c != nil && len(c.appended)+len(c.updated) > 0
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

// uniteClasses finds the tensors of theirs whose labels need other numbers in ours, and gives them
// the common list. The schemas are copies, which it changes.
func (m *merger) uniteClasses(base, ours, theirs *format.Schema) error {
	was, here := base.Index(), ours.Index()
	known := int64(0)
	for _, s := range m.known {
		known += s.Rows
	}
	for i := range theirs.Tensors {
		their := &theirs.Tensors[i]
		my, before := here[their.ID], was[their.ID]
		if my == nil || slices.Equal(my.ClassNames, their.ClassNames) {
			continue
		}
		var first []string
		if before != nil {
			first = before.ClassNames
			if slices.Equal(first, my.ClassNames) && known == m.ours.Record.Rows && len(m.mine.updated[my.ID]) == 0 {
				// This branch has no labels since: all numbers are those of theirs.
				before.ClassNames, my.ClassNames = their.ClassNames, their.ClassNames
				continue
			}
		}
		same := slices.Equal(first, their.ClassNames)
		if same && known == m.theirs.Record.Rows && len(m.news.updated[my.ID]) == 0 {
			continue // theirs has no labels since
		}
		names, numbers, what := uniteClasses(first, their.ClassNames, my.ClassNames)
		switch {
		case what != "" && same:
			return m.conflict("class_names x append", my.Name, nil, schemaRemedy(classNamesTwice), "tensor %q: %s", my.Name,
				fmt.Sprintf(what, "this branch", "in the one to be merged"))
		case what == "" && inPlace(numbers):
			my.ClassNames, their.ClassNames = names, names
			continue
		case what != "" || m.repo.OnRenumber == nil:
			continue
		}
		r := &Renumbering{Tensor: their.ID, Names: names, Numbers: numbers}
		m.numbers[their.ID] = r
		m.moved[their.ID] = r.moved(their.ClassNames)
		their.ClassNames = names
	}
	return nil
}

// source returns the tree of theirs from which entries of a tensor are taken, with the numbers that
// its classes have in ours. New side pages go into b.
func (m *merger) source(ctx context.Context, b *build, id format.UUID, from rowset.Alignment) (chunkmap.Tree, error) {
	tree, r := m.theirs.Tree(id), m.numbers[id]
	if r == nil || len(from) == 0 {
		return tree, nil
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
