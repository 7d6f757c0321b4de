package version

import (
	"context"
	"fmt"
	"slices"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/version/chunkmap"
	"deeplake/core/version/rowset"
)

// Strategy decides conflicts of a merge.
type Strategy string

// The strategies.
const (
	OnConflictError  Strategy = "error"  // the merge fails with a ConflictError
	OnConflictOurs   Strategy = "ours"   // the branch that is merged into keeps its values
	OnConflictTheirs Strategy = "theirs" // the commit that is merged in wins
)

// StrategyOf returns the strategy of a name, for an operation; "" is OnConflictError.
func StrategyOf(op, name string) (Strategy, error) {
	on := Strategy(name)
	if on == "" {
		return OnConflictError, nil
	}
	if known := []Strategy{OnConflictError, OnConflictOurs, OnConflictTheirs}; !slices.Contains(known, on) {
		return "", errs.Op(op, "").New(errs.Invalid, "on_conflict is %q, want one of %q", on, known)
	}
	return on, nil
}

// Merge merges the commit theirs, of any branch, and its ancestors into this branch, as one commit
// on top of the newest one. It takes rows that theirs added, with their identities, updates of rows
// that both have, deletions, tensors and names. Chunks are shared, not copied. If only theirs has
// changes the commit is made all the same, since a branch is a log of its own. If theirs has none,
// done is false and s is the head.
//
// Classes are the same by name: labels that theirs numbers otherwise get the numbers of ours, by
// OnRenumber. If the sides contradict each other, on decides. Lost classes, differing dtypes and
// shapes, and two tensors of one name cannot be decided: they are always errs.Conflict, with a
// ConflictError. If another writer commits first, the merge is computed again. After an error
// nothing is visible, or, if an answer was lost, all of it: merging again then finds nothing to do.
func (r *Repo) Merge(ctx context.Context, theirs *Snapshot, on Strategy, message, author string) (s *Snapshot, done bool, err error) {
	switch on {
	case OnConflictError, OnConflictOurs, OnConflictTheirs:
	default:
		return nil, false, errs.Op("merge", "").New(errs.Invalid, "on_conflict is %q, want %q, %q or %q", on, OnConflictError, OnConflictOurs, OnConflictTheirs)
	}
	if err := CheckCommitted("merge into", r.name, theirs); err != nil {
		return nil, false, err
	}
	h := r.history()
	return r.lay(ctx, "merge into", func(head *Snapshot) (*Snapshot, error) {
		next, err := h.merged(ctx, head, theirs, on)
		if next != nil {
			next.Record.Message, next.Record.Author = message, author
			next.Record.Merged = &format.BranchPoint{Branch: theirs.Record.Branch, Version: theirs.Record.Version}
			next.Record.Time = notBefore(r.Now(), head.Record, theirs.Record)
		}
		return next, err
	})
}

// lay commits the snapshot that next makes of the head, and again of the newer head if another
// writer commits first. The record of the snapshot has message, author and time. If next returns
// nil there is nothing to do: done is false and s is the head.
func (r *Repo) lay(ctx context.Context, op string, next func(head *Snapshot) (*Snapshot, error)) (s *Snapshot, done bool, err error) {
	race := race{}
	for range commitTries {
		race.start()
		head, err := r.Head(ctx)
		if err != nil {
			return nil, false, err
		}
		next, err := next(head)
		if err != nil {
			return nil, false, errs.Wrap(errs.Internal, op, r.name, err)
		}
		if next == nil {
			return head, false, nil
		}
		rec := next.Record
		rec.UUID = format.NewUUID()
		data, _, err := r.store(ctx, next)
		if err != nil {
			return nil, false, err
		}
		winner, err := r.put(ctx, rec, data)
		if err != nil {
			return nil, false, err
		}
		if winner == rec {
			next.held = nil
			return next, true, nil
		}
		if err := race.lost(ctx); err != nil {
			return nil, false, errs.Wrap(errs.Canceled, op, r.name, err)
		}
	}
	return nil, false, tooManyRaces(r)
}

// merged is ours with theirs taken in, nil if there is nothing to take in.
func (h *history) merged(ctx context.Context, ours, theirs *Snapshot, on Strategy) (*Snapshot, error) {
	ap, err := h.divergence(ctx, ours.Record, theirs.Record)
	if err != nil {
		return nil, err
	}
	if !news(ap.b) {
		return nil, nil
	}
	m := &merger{repo: h.repo, ours: ours, theirs: theirs, on: on, restored: rowset.Set{},
		numbers: map[format.UUID]*Renumbering{}, moved: map[format.UUID][]string{}, foreign: map[format.UUID]string{}}
	if m.base, err = h.repo.load(ctx, ap.base); err != nil {
		return nil, err
	}
	if m.mine, err = h.changes(ctx, ap.a, ours); err != nil {
		return nil, err
	}
	if m.news, err = h.changes(ctx, ap.b, theirs); err != nil {
		return nil, err
	}
	if m.known, err = align(ctx, theirs, ours); err != nil {
		return nil, err
	}
	return m.run(ctx)
}

// news reports whether commits did anything but begin a branch.
func news(recs []*format.Record) bool {
	for _, rec := range recs {
		if rec.Version > 0 {
			return true
		}
	}
	return false
}

// merger works out what one merge does. Rows are those of ours unless a name says otherwise.
type merger struct {
	repo               *Repo
	base, ours, theirs *Snapshot
	on                 Strategy
	// what either side did since the base; news counted in rows of theirs
	mine, news *changed

	known rowset.Alignment // from rows of theirs that ours has
	// from rows of theirs that it has not, to the end of the axis
	fresh  rowset.Alignment
	schema *format.Schema                       // that comes of it
	there  map[format.UUID]*format.TensorSchema // the tensors of theirs
	whole  map[format.UUID]bool

	updates    map[format.UUID]rowset.Set   // rows that get their value
	numbers    map[format.UUID]*Renumbering // of the tensors whose labels get other numbers
	moved      map[format.UUID][]string     // their classes
	foreign    map[format.UUID]string       // why labels of theirs must not be taken, by tensor
	renumbered []Renumbered

	deleted  rowset.Set // rows that ours deletes
	restored rowset.Set // rows that ours had deleted and has again
}

// run decides, then builds.
func (m *merger) run(ctx context.Context) (*Snapshot, error) {
	m.there = m.theirs.Schema.Index()
	if err := m.mergeSchemas(); err != nil {
		return nil, err
	}
	m.place()
	if err := m.decide(ctx); err != nil {
		return nil, err
	}
	return m.build(ctx)
}

// conflict is the error of a merge. rows are counted in ours.
func (m *merger) conflict(kind, tensor string, rows rowset.Set, remedy, what string, args ...any) error {
	e := &ConflictError{Kind: kind, Tensor: tensor, Winner: Describe(m.theirs.Record), Remedy: remedy, op: "merge", Count: rows.Count()}
	for _, row := range rows.First(shownRows) {
		e.Rows = append(e.Rows, m.ours.Live.Logical(row))
	}
	e.What = fmt.Sprintf(what, args...)
	if len(rows) > 0 {
		e.What += " at " + rowList(e.Rows, e.Count)
	}
	return errs.New(errs.Conflict, "%w", e)
}

const mergeRemedy = `merge with on_conflict="ours" or "theirs", or make the two agree first`

// schemaRemedy is the way out of a clash of schemas, which on_conflict does not decide.
func schemaRemedy(kind string) string {
	switch kind {
	case classNamesTwice:
		return "on_conflict does not decide it; rename, merge and add classes until both sides have the same names, commit, and merge again"
	case appendTwice:
		return "on_conflict does not decide it; append the rows of one side to the other again, as the other has them"
	}
	return "on_conflict does not decide it; call rename_tensor() on one side, commit, and merge again"
}

// place finds the rows that only theirs has, and gives them places at the end of the axis.
func (m *merger) place() {
	all := rowset.Of([]format.RowRange{{Start: 0, Count: m.theirs.Record.Rows}})
	there := make([]format.RowRange, len(m.known))
	for i, s := range m.known {
		there[i] = format.RowRange{Start: s.From, Count: s.Rows}
	}
	at := m.ours.Record.Rows
	for _, r := range all.Minus(rowset.Of(there)) {
		m.fresh = append(m.fresh, rowset.Segment{From: r.Start, To: at, Rows: r.Count})
		at += r.Count
	}
}

// decide settles which rows are updated, deleted and restored.
func (m *merger) decide(ctx context.Context) error {
	gone, goneThere := m.ours.deletedRows(), m.theirs.deletedRows()
	// Rows that are not deleted any more were restored. Deletions that ours has too are no news.
	deletedThere := m.known.Apply(m.news.deleted.And(goneThere)).Minus(gone)
	deletedHere := m.mine.deleted.And(gone)
	var updatedHere, updatedThere rowset.Set
	m.updates = map[format.UUID]rowset.Set{}
	for i := range m.schema.Tensors {
		ts := &m.schema.Tensors[i]
		if m.whole[ts.ID] || m.there[ts.ID] == nil {
			updatedHere = append(updatedHere, m.mine.updated[ts.ID]...)
			continue
		}
		here := m.mine.updated[ts.ID]
		there := m.known.Apply(m.news.updated[ts.ID].Minus(goneThere))
		both, back, err := m.contradict(ctx, ts, here.And(there).Minus(gone))
		if err != nil {
			return err
		}
		there = there.Minus(back)
		if m.on == OnConflictOurs {
			there = there.Minus(both)
		}
		m.updates[ts.ID] = there
		updatedHere, updatedThere = append(updatedHere, here...), append(updatedThere, there...)
	}
	if rows := deletedThere.And(rowset.Of(updatedHere)); len(rows) > 0 {
		switch m.on {
		case OnConflictError:
			return m.conflict("update x delete", "", rows, mergeRemedy, "it deletes rows that this branch updates,")
		case OnConflictOurs:
			deletedThere = deletedThere.Minus(rows)
		}
	}
	m.deleted = deletedThere
	m.restored = rowset.Of(updatedThere).And(gone)
	if rows := m.restored.And(deletedHere); len(rows) > 0 {
		switch m.on {
		case OnConflictError:
			return m.conflict("delete x update", "", rows, mergeRemedy, "it updates rows that this branch deletes,")
		case OnConflictOurs:
			m.restored = m.restored.Minus(rows)
		}
	}
	for id, rows := range m.updates {
		m.updates[id] = rows.Minus(gone).Or(m.restored)
	}
	return nil
}

// contradict returns those of rows, which both sides updated in a tensor, that differ; and those
// that are in theirs as in the base, which stay as they are in ours.
func (m *merger) contradict(ctx context.Context, ts *format.TensorSchema, rows rowset.Set) (both, back rowset.Set, err error) {
	if len(rows) == 0 {
		return rows, nil, nil
	}
	rows, err = chunkmap.DifferingRows(ctx, m.ours.Tree(ts.ID), m.theirs.Tree(ts.ID), m.known.Inverse().Within(rows))
	if err != nil || len(rows) == 0 {
		return rows, nil, err
	}
	if rows, back, err = m.netUpdates(ctx, ts.ID, rows); err != nil || len(rows) == 0 || m.on != OnConflictError {
		return rows, back, err
	}
	return nil, nil, m.conflict("update x update", ts.Name, rows, mergeRemedy, "both update tensor %q", ts.Name)
}

// netUpdates returns those of rows, which both sides updated in a tensor, that are in neither side
// as in the base; and those that are in theirs as there. A revert gives a row its old sample.
func (m *merger) netUpdates(ctx context.Context, id format.UUID, rows rowset.Set) (both, back rowset.Set, err error) {
	here, err := align(ctx, m.base, m.ours)
	if err != nil {
		return nil, nil, err
	}
	was := here.Inverse().Within(rows) // from rows of ours to rows of the base
	ours, err := chunkmap.DifferingRows(ctx, m.ours.Tree(id), m.base.Tree(id), was)
	if chunkmap.Absent(err) {
		return rows, nil, nil // the base is expired
	}
	if err != nil {
		return nil, nil, err
	}
	there, err := align(ctx, m.base, m.theirs)
	if err != nil {
		return nil, nil, err
	}
	known := m.known.Inverse()
	theirs, err := chunkmap.DifferingRows(ctx, m.theirs.Tree(id), m.base.Tree(id), there.Inverse().Within(known.Apply(rows)))
	if err != nil {
		return nil, nil, err
	}
	old := was.Set() // rows that the base has
	back = old.Minus(m.known.Apply(theirs))
	return rows.Minus(back).Minus(old.Minus(ours)), back, nil
}
