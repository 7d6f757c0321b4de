package version

import (
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

// Revert undoes the changes of the commit undone, which the branch comes from, as one commit on top
// of the newest one. Rows that the commit appended are deleted, deleted rows are there again, and
// updated samples are the old ones. Tensors, names and info are undone too. Class names,
// dtypes and shapes stay, as later samples may need them. A merge is undone against the
// commit before it. Chunks are shared, not copied.
//
// A revert is a merge of the commit before undone, with undone as the base. If later commits
// changed the same, on decides: OnConflictOurs keeps their changes, OnConflictTheirs undoes them
// too. If nothing is left to undo, done is false and s is the head. Faults and other writers are as
// in Merge.
func (r *Repo) Revert(ctx context.Context, undone *Snapshot, on Strategy, message, author string) (s *Snapshot, done bool, err error) {
	switch on {
	case OnConflictError, OnConflictOurs, OnConflictTheirs:
	default:
		return nil, false, errs.Op("revert", "").New(errs.Invalid, "on_conflict is %q, want %q, %q or %q", on, OnConflictError, OnConflictOurs, OnConflictTheirs)
	}
	if err := CheckCommitted("revert on", r.name, undone); err != nil {
		return nil, false, err
	}
	before, err := r.before(ctx, undone.Record)
	if err != nil {
		return nil, false, err
	}
	h := r.history()
	return r.lay(ctx, "revert on", func(head *Snapshot) (*Snapshot, error) {
		next, err := h.reverted(ctx, head, undone, before, on)
		if next != nil {
			next.Record.Message, next.Record.Author = message, author
			next.Record.Time = notBefore(r.Now(), head.Record)
		}
		return next, err
	})
}

// before loads the commit that rec was made on.
func (r *Repo) before(ctx context.Context, rec *format.Record) (*Snapshot, error) {
	if rec.Version == 0 {
		return nil, errs.Op("revert", rec.UUID.String()).New(errs.Invalid, "it is version 0, which begins its branch and changes nothing; revert a later version")
	}
	at := format.BranchPoint{Branch: rec.Branch, Version: rec.Version - 1}
	before, err := r.recordAt(ctx, at)
	if err == nil {
		err = r.unexpired(ctx, before)
	}
	if err != nil {
		return nil, errs.Op("revert", rec.UUID.String()).New(errs.KindOf(err), "it needs the version before it: %w", err)
	}
	return r.load(ctx, before)
}

// reverter works out what one revert does. Its merger has the commit as base, and the commit before
// it as theirs.
type reverter struct {
	merger
	h     *history
	since []*format.Record // commits of ours that do not come before the base, newest first
	axis  rowset.Alignment // from rows of the base to rows of ours
	did   map[format.UUID]rowset.Set
}

// reverted is ours without the changes of undone, nil if there are none.
func (h *history) reverted(ctx context.Context, ours, undone, before *Snapshot, on Strategy) (*Snapshot, error) {
	ap, err := h.divergence(ctx, ours.Record, undone.Record)
	if err != nil {
		return nil, err
	}
	if len(ap.b) > 0 {
		return nil, errs.Op("revert", undone.Record.UUID.String()).New(errs.Invalid, "branch %q does not come from this commit; log() lists the commits that it comes from", h.repo.name)
	}
	v := &reverter{h: h, since: ap.a, did: map[format.UUID]rowset.Set{}, merger: merger{
		repo: h.repo, base: undone, ours: ours, theirs: before, on: on,
		there: before.Schema.Index(), whole: map[format.UUID]bool{}, updates: map[format.UUID]rowset.Set{},
		numbers: map[format.UUID]*Renumbering{}, moved: map[format.UUID][]string{},
	}}
	if v.mine, err = h.changes(ctx, ap.a, ours); err != nil {
		return nil, err
	}
	if v.known, err = align(ctx, before, ours); err != nil {
		return nil, err
	}
	if v.axis, err = align(ctx, undone, ours); err != nil {
		return nil, err
	}
	ops, err := h.repo.ops(ctx, undone.Record)
	if err != nil {
		return nil, err
	}
	for _, op := range ops {
		if op.Op == format.OpUpdate {
			v.did[op.Tensor] = v.did[op.Tensor].Or(op.Ranges)
		}
	}
	if err := v.schemas(ctx); err != nil {
		return nil, err
	}
	if err := v.rows(ctx); err != nil {
		return nil, err
	}
	if c := keepDecided(v.schema, before.Schema, func(id format.UUID) bool { return len(v.updates[id]) > 0 }, revertSides); c != nil {
		return nil, v.clash(ctx, c)
	}
	if c := v.oldClasses(before.Schema); c != nil {
		return nil, v.clash(ctx, c)
	}
	if len(v.deleted) == 0 && len(v.restored) == 0 && v.noUpdates() && sameSchema(v.schema, ours.Schema) {
		return nil, nil
	}
	return v.build(ctx)
}

// oldClasses gives labels that come from before the commit the numbers that their classes have now.
func (v *reverter) oldClasses(before *format.Schema) *clash {
	for id, rows := range v.updates {
		was, is := before.ByID(id), v.schema.ByID(id)
		if len(rows) == 0 || was == nil || is == nil || slices.Equal(was.ClassNames, is.ClassNames) {
			continue
		}
		if what := classesDiffer(was, is, false, true, true); what != "" {
			return &clash{classNamesTwice, id, is.Name, fmt.Sprintf("tensor %q: %s", is.Name, fmt.Sprintf(what, "this branch", revertSides.laid))}
		}
		names, numbers := uniteClasses(was.ClassNames, is.ClassNames)
		is.ClassNames = names
		if !inPlace(numbers) {
			r := &Renumbering{Tensor: id, Names: names, Numbers: numbers}
			v.numbers[id], v.moved[id] = r, r.moved(was.ClassNames)
		}
	}
	return nil
}

func (m *merger) noUpdates() bool {
	for _, rows := range m.updates {
		if len(rows) > 0 {
			return false
		}
	}
	return true
}

var revertSides = sides{"a later commit", "before the commit to be reverted"}

// schemas undoes the changes of the schema.
func (v *reverter) schemas(ctx context.Context) error {
	base, ours, theirs := v.base.Schema.Clone(), v.ours.Schema.Clone(), v.theirs.Schema.Clone()
	here := ours.Index()
	for i := range v.base.Schema.Tensors {
		ts := &v.base.Schema.Tensors[i]
		if err := v.settleTensor(ctx, ts, here[ts.ID], theirs.ByID(ts.ID), base, theirs); err != nil {
			return err
		}
	}
	for i := range theirs.Tensors { // class names stay
		ts := &theirs.Tensors[i]
		was, is := base.ByID(ts.ID), ours.ByID(ts.ID)
		if was == nil || is == nil || ts.ClassNames == nil {
			continue
		}
		if ts.ClassChange != was.ClassChange && is.ClassChange == was.ClassChange && slices.Equal(is.ClassNames, was.ClassNames) &&
			reflect.DeepEqual(v.ours.Record.Columns[ts.ID].Root, v.base.Record.Columns[ts.ID].Root) {
			// The commit changed the classes, and no label is newer.
			is.ClassNames, is.ClassChange = ts.ClassNames, ts.ClassChange
		}
		ts.ClassNames, ts.ClassChange = is.ClassNames, is.ClassChange
		was.ClassNames, was.ClassChange = is.ClassNames, is.ClassChange
	}
	out, c := layTensors(base, theirs, ours, revertSides)
	if c != nil {
		return v.clash(ctx, c)
	}
	known := v.ours.Schema.Index()
	for i := range out.Tensors {
		if id := out.Tensors[i].ID; known[id] == nil {
			v.whole[id] = true
		}
	}
	switch {
	case sameInfo(theirs.Info, base.Info) || sameInfo(theirs.Info, ours.Info):
	case sameInfo(ours.Info, base.Info), v.on == OnConflictTheirs:
		out.Info = theirs.Info
	case v.on == OnConflictError:
		winner := v.lastToDo(ctx, func(op format.Op) bool { return op.Op == format.OpSetInfo })
		return v.again(winner, "set_info x set_info", "", "it has set the info of the dataset again")
	}
	v.schema = out
	return nil
}

// settleTensor decides what becomes of a tensor of the base that the commit created, or that later
// commits dropped or renamed. It changes the schemas so that they do not contradict each other.
func (v *reverter) settleTensor(ctx context.Context, ts, here, there *format.TensorSchema, base, theirs *format.Schema) error {
	ofTensor := func(op format.Op) bool { return op.Tensor == ts.ID }
	switch {
	case here == nil && there == nil:
	case there == nil:
		rows, err := v.filledSince(ctx, ts.ID)
		if err != nil || len(rows) == 0 && !altered(ts, here) {
			return err
		}
		switch v.on {
		case OnConflictError:
			winner := v.lastToDo(ctx, func(op format.Op) bool {
				return ofTensor(op) || op.Op == format.OpAppend && len(rows.And(rowset.Set{{Start: op.Start, Count: op.Rows}})) > 0
			})
			if len(rows) == 0 {
				return v.again(winner, "rename_tensor x drop_tensor", ts.Name, "it changed tensor %q, which the commit to be reverted created", here.Name)
			}
			return v.againAt(winner, "update x drop_tensor", ts.Name, v.ours, rows, "tensor %q, which the commit to be reverted created, has later values at {rows}", here.Name)
		case OnConflictOurs:
			theirs.Tensors = append(theirs.Tensors, *ts)
		}
	case here == nil:
		if !altered(ts, there) && len(v.did[ts.ID]) == 0 {
			return nil
		}
		switch v.on {
		case OnConflictError:
			return v.again(v.lastToDo(ctx, ofTensor), "drop_tensor x update", ts.Name, "it deleted tensor %q, which the commit to be reverted changed", ts.Name)
		case OnConflictTheirs:
			base.Tensors = slices.DeleteFunc(base.Tensors, func(b format.TensorSchema) bool { return b.ID == ts.ID })
		}
	case here.Name != ts.Name && there.Name != ts.Name && here.Name != there.Name:
		switch v.on {
		case OnConflictError:
			return v.again(v.lastToDo(ctx, ofTensor), "rename_tensor x rename_tensor", ts.Name, "it renamed tensor %q, %q before the commit to be reverted, to %q", ts.Name, there.Name, here.Name)
		case OnConflictOurs:
			there.Name = ts.Name
		case OnConflictTheirs:
			here.Name = ts.Name
		}
	}
	return nil
}

// filledSince returns the rows of ours that later commits gave a value in a tensor.
func (v *reverter) filledSince(ctx context.Context, id format.UUID) (rowset.Set, error) {
	live := v.ours.liveRows()
	then := v.axis.Apply(rowset.Set{{Start: 0, Count: v.base.Record.Rows}})
	fresh, tree := live.Minus(then), v.ours.Tree(id)
	if err := v.repo.Pages.Prefetch(ctx, fresh, tree); err != nil {
		return nil, err
	}
	rows, err := tree.Filled(ctx, fresh)
	if err != nil {
		return nil, err
	}
	changed, err := v.changedSince(ctx, id, live)
	return rows.Or(changed), err
}

// changedSince returns those of rows that have another sample in ours than in the base.
func (v *reverter) changedSince(ctx context.Context, id format.UUID, rows rowset.Set) (rowset.Set, error) {
	return v.differing(ctx, id, v.base, v.axis, rows.And(v.mine.updated[id]))
}

// differing returns those of rows whose chunk or item in ours is another one than in s. known leads
// from rows of s to rows of ours.
func (m *merger) differing(ctx context.Context, id format.UUID, s *Snapshot, known rowset.Alignment, rows rowset.Set) (rowset.Set, error) {
	back := known.Inverse().Within(rows)
	if len(back) == 0 {
		return rowset.Set{}, nil
	}
	if err := m.repo.Pages.Prefetch(ctx, rows, m.ours.Tree(id)); err != nil {
		return nil, err
	}
	if err := m.repo.Pages.Prefetch(ctx, back.Inverse().Set(), s.Tree(id)); err != nil {
		return nil, err
	}
	return chunkmap.DifferingRows(ctx, m.ours.Tree(id), s.Tree(id), back)
}

// rows decides which rows get their old samples, are deleted, and are there again.
func (v *reverter) rows(ctx context.Context) error {
	gone, was, then := v.ours.deletedRows(), v.theirs.liveRows(), v.base.liveRows()
	v.deleted = v.axis.Apply(then.Minus(was)).Minus(gone)
	v.restored = v.known.Apply(was.Minus(then)).And(gone)
	lost := rowset.Set{} // rows to be updated that later commits deleted
	for i := range v.schema.Tensors {
		ts := &v.schema.Tensors[i]
		changed, err := v.changedSince(ctx, ts.ID, v.deleted)
		if err != nil {
			return err
		}
		if len(changed) > 0 {
			switch v.on {
			case OnConflictError:
				return v.againAt(v.lastUpdate(ctx, ts.ID, changed), "update x delete", ts.Name, v.ours, changed, "it updated tensor %q at {rows}, which the commit to be reverted appended", ts.Name)
			case OnConflictOurs:
				v.deleted = v.deleted.Minus(changed)
			}
		}
		if v.there[ts.ID] == nil || v.whole[ts.ID] {
			continue
		}
		old := v.known.Apply(v.did[ts.ID].And(was).And(then))
		if v.updates[ts.ID], err = v.update(ctx, ts, old.Minus(gone)); err != nil {
			return err
		}
		if deleted := old.And(gone); len(deleted) > 0 {
			if v.on == OnConflictError {
				winner := v.lastToDo(ctx, func(op format.Op) bool { return op.Op == format.OpDelete && len(deleted.And(op.Ranges)) > 0 })
				return v.againAt(winner, "delete x update", ts.Name, v.base, v.axis.Inverse().Apply(deleted),
					"it deleted {rows} of version %d, whose old values in tensor %q would return", v.base.Record.Version, ts.Name)
			}
			lost = lost.Or(deleted)
		}
	}
	if v.on == OnConflictTheirs {
		v.restored = v.restored.Or(lost)
	}
	for i := range v.schema.Tensors {
		if id := v.schema.Tensors[i].ID; v.there[id] != nil && !v.whole[id] {
			v.updates[id] = v.updates[id].Or(v.restored)
		}
	}
	return nil
}

// update returns those of rows whose old sample in a tensor is to return.
func (v *reverter) update(ctx context.Context, ts *format.TensorSchema, rows rowset.Set) (rowset.Set, error) {
	rows, err := v.differing(ctx, ts.ID, v.theirs, v.known, rows)
	if err != nil {
		return nil, err
	}
	changed, err := v.changedSince(ctx, ts.ID, rows)
	if err != nil || len(changed) == 0 {
		return rows, err
	}
	switch v.on {
	case OnConflictError:
		return nil, v.againAt(v.lastUpdate(ctx, ts.ID, changed), "update x update", ts.Name, v.ours, changed, "it updated tensor %q again at {rows}", ts.Name)
	case OnConflictOurs:
		rows = rows.Minus(changed)
	}
	return rows, nil
}

// lastUpdate is the newest commit since the base that updated some of rows in a tensor.
func (v *reverter) lastUpdate(ctx context.Context, id format.UUID, rows rowset.Set) *format.Record {
	return v.lastToDo(ctx, func(op format.Op) bool {
		return op.Op == format.OpUpdate && op.Tensor == id && len(rows.And(op.Ranges)) > 0
	})
}

// lastToDo is the newest commit since the base with an operation that did accepts, whose rows are
// those of ours; the head if there is none.
func (v *reverter) lastToDo(ctx context.Context, did func(format.Op) bool) *format.Record {
	for _, rec := range v.since {
		ops, err := v.repo.ops(ctx, rec)
		if err != nil {
			break
		}
		axis, err := v.h.axis(ctx, rec, v.ours)
		if err != nil {
			break
		}
		for _, op := range ops {
			switch op.Op {
			case format.OpAppend:
				for _, at := range axis.Apply(rowset.Set{{Start: op.Start, Count: op.Rows}}) {
					op.Start, op.Rows = at.Start, at.Count
					if did(op) {
						return rec
					}
				}
				continue
			case format.OpUpdate, format.OpDelete, format.OpRestore:
				op.Ranges = axis.Apply(op.Ranges)
			}
			if did(op) {
				return rec
			}
		}
	}
	return v.ours.Record
}

const revertRemedy = `revert with on_conflict="ours" to keep what is later, or "theirs" to undo it too`

// again is the error of a revert that contradicts a later commit.
func (v *reverter) again(winner *format.Record, kind, tensor, what string, args ...any) error {
	return v.againAt(winner, kind, tensor, v.ours, nil, what, args...)
}

// againAt is again for rows of s, which {rows} in what stands for.
func (v *reverter) againAt(winner *format.Record, kind, tensor string, s *Snapshot, rows rowset.Set, what string, args ...any) error {
	e := &ConflictError{Kind: kind, Tensor: tensor, Winner: Describe(winner), Remedy: revertRemedy, op: "revert"}
	for _, row := range rows.First(shownRows) {
		e.Rows = append(e.Rows, s.Live.Logical(row))
	}
	e.Count = rows.Count()
	e.What = strings.ReplaceAll(fmt.Sprintf(what, args...), "{rows}", rowList(e.Rows, e.Count))
	return errs.New(errs.Conflict, "%w", e)
}

// clash is the error of schemas that on_conflict does not decide.
func (v *reverter) clash(ctx context.Context, c *clash) error {
	winner := v.lastToDo(ctx, func(op format.Op) bool { return op.Tensor == c.id })
	e := &ConflictError{Kind: c.kind, Tensor: c.tensor, Winner: Describe(winner), What: c.what, op: "revert",
		Remedy: "on_conflict does not decide it; call rename_tensor() or delete_tensor() for the later one, commit, and revert again"}
	if c.kind == classNamesTwice {
		e.Remedy = "on_conflict does not decide it; call rename_class() and add_classes() until the names are those before the commit, and revert again; or update the rows"
	}
	return errs.New(errs.Conflict, "%w", e)
}
