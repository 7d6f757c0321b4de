package version

import (
	"context"
	"fmt"
	"slices"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/version/chunkmap"
	"deeplake/core/version/rowset"
)

// Head is the newest commit of the branch: a listing of one key, or a few looks from a hint on,
// then a read.
func (r *Repo) Head(ctx context.Context) (*Snapshot, error) {
	rec, err := r.headRecord(ctx)
	if err != nil {
		return nil, err
	}
	return r.load(ctx, rec)
}

func (r *Repo) headRecord(ctx context.Context) (*format.Record, error) {
	if storage.ListsWhole(r.Store) {
		if version, found, err := r.near(ctx); err != nil || found {
			if err != nil {
				return nil, err
			}
			return r.listed(ctx, version)
		}
	}
	head := int64(-1)
	var bad error
	err := List(ctx, r.Store, format.RecordPrefix(r.branch), "", func(o storage.Object) bool {
		_, v, err := format.ParseRecordKey(o.Key)
		head, bad = int64(v), err
		return false
	})
	if errs.Is(err, errs.Unsupported) {
		return r.seek(ctx)
	}
	if err == nil {
		err = bad
	}
	if err != nil {
		return nil, err
	}
	if head < 0 {
		return nil, r.noCommit(ctx)
	}
	return r.listed(ctx, uint64(head))
}

// listed reads a commit record of the branch that a listing has shown.
func (r *Repo) listed(ctx context.Context, version uint64) (*format.Record, error) {
	rec, err := r.record(ctx, version)
	if errs.Is(err, errs.NotFound) {
		err = chunkmap.Missing(err, "read commit", format.RecordKey(r.branch, version))
	}
	return rec, err
}

// noCommit is the error of a branch without commits: damage, unless the dataset was overwritten or
// deleted.
func (r *Repo) noCommit(ctx context.Context) error {
	if err := r.unmoved(ctx, "read", "open it again"); err != nil {
		return err
	}
	if r.name == format.Main {
		return errs.Op("open dataset", r.Store.URI()).New(errs.Corrupt, "branch %q has no commit under %q, where tsf.json says that it is", r.name, format.RecordPrefix(r.branch))
	}
	return errs.Op("open dataset", r.Store.URI()).New(errs.Corrupt, "branch %q has no commit under %q", r.name, format.RecordPrefix(r.branch))
}

// record reads one commit record of the branch; errs.NotFound if there is none.
func (r *Repo) record(ctx context.Context, version uint64) (*format.Record, error) {
	return r.recordAt(ctx, format.BranchPoint{Branch: r.branch, Version: version})
}

// recordAt reads one commit record; errs.NotFound if there is none.
func (r *Repo) recordAt(ctx context.Context, p format.BranchPoint) (*format.Record, error) {
	key := format.RecordKey(p.Branch, p.Version)
	var rec *format.Record
	err := chunkmap.Fetch(ctx, r.Store, key, func(data []byte) (err error) {
		if rec, err = format.DecodeRecord(data); err != nil {
			return errs.Wrap(errs.Corrupt, "read commit", key, err)
		}
		if rec.Branch != p.Branch || rec.Version != p.Version {
			return errs.Op("read commit", key).New(errs.Corrupt, "the record says branch %s version %d", rec.Branch, rec.Version)
		}
		if rec.Dataset != r.TSF.UUID {
			return errs.Op("read commit", key).New(errs.Corrupt, "the record is not of the dataset and format version of tsf.json (dataset %s, want %s)", rec.Dataset, r.TSF.UUID)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rec, nil
}

// line is the commit rec and those before it, without what merges took in.
func (r *Repo) line(ctx context.Context, rec *format.Record, limit int) ([]*format.Record, error) {
	h := r.history()
	var out []*format.Record
	for {
		out = append(out, rec)
		p, ok := parent(rec)
		if !ok || limit > 0 && len(out) == limit {
			return out, nil
		}
		before, err := h.get(ctx, p)
		if err != nil {
			return nil, err
		}
		if err := follows(rec, before); err != nil {
			return nil, err
		}
		rec = before
	}
}

// follows verifies that the parent of rec is the commit before it.
func follows(rec, before *format.Record) error {
	if rec.Parent == nil || before.UUID != *rec.Parent {
		return errs.Op("read commit", format.RecordKey(rec.Branch, rec.Version)).New(errs.Corrupt, "its parent is not the commit %s before it", before.UUID)
	}
	return nil
}

// Node is a commit in the graph of a history.
type Node struct {
	Record  *format.Record
	Parents []format.UUID // the commit before it, then the one that a merge took in
}

// Graph returns at most limit commits that s comes from, s first, with those that merges took in;
// limit <= 0 means all. A commit stands before its parents; where that leaves a choice, the newer
// one comes first.
func (r *Repo) Graph(ctx context.Context, s *Snapshot, limit int) ([]Node, error) {
	h := r.history()
	open := []*format.Record{s.Record}
	seen := map[format.UUID]bool{s.Record.UUID: true}
	var out []Node
	for len(open) > 0 && (limit <= 0 || len(out) < limit) {
		k := newest(open, func(rec *format.Record) *format.Record { return rec })
		rec := open[k]
		open = append(open[:k], open[k+1:]...)
		n := Node{Record: rec}
		for _, p := range parents(rec) {
			before, err := h.get(ctx, p)
			if err != nil {
				return nil, err
			}
			n.Parents = append(n.Parents, before.UUID)
			if !seen[before.UUID] {
				seen[before.UUID] = true
				open = append(open, before)
			}
		}
		out = append(out, n)
	}
	return out, nil
}

// newest is the index of the element with the newest commit. A commit is never older than its
// parents; of a branch at the same time the higher number is newer, and a branch is newer than the
// one it left.
func newest[T any](list []T, rec func(T) *format.Record) int {
	best := 0
	for i := range list {
		if a, b := rec(list[i]), rec(list[best]); a.Time.After(b.Time) || a.Time.Equal(b.Time) && later(a, b) {
			best = i
		}
	}
	return best
}

func later(a, b *format.Record) bool {
	if a.Branch == b.Branch {
		return a.Version > b.Version
	}
	return a.Base != nil && a.Base.Branch == b.Branch
}

// parent is the commit before rec on its line.
func parent(rec *format.Record) (format.BranchPoint, bool) {
	switch {
	case rec.Version > 0:
		return format.BranchPoint{Branch: rec.Branch, Version: rec.Version - 1}, true
	case rec.Base != nil:
		return *rec.Base, true
	}
	return format.BranchPoint{}, false
}

// parents is the commit before rec, and the one that it took in if it is a merge.
func parents(rec *format.Record) []format.BranchPoint {
	var out []format.BranchPoint
	if p, ok := parent(rec); ok {
		out = append(out, p)
	}
	if rec.Merged != nil {
		out = append(out, *rec.Merged)
	}
	return out
}

// historyAhead is the most records that are read at once.
const historyAhead = 64

// history reads records backwards, several at once: a reader of one wants the one before it next.
// Each run of a branch is longer than the one before. It is used by one goroutine.
type history struct {
	repo *Repo
	recs map[format.BranchPoint]*format.Record
	next map[format.UUID]uint64 // how many records of a branch are read at once next time
	grow uint64                 // the factor of that
}

func (r *Repo) history() *history {
	return &history{repo: r, recs: map[format.BranchPoint]*format.Record{}, next: map[format.UUID]uint64{}, grow: 4}
}

// searched is the history for a reader who stops when a commit is found: runs double in length, so
// that few records behind it are read.
func (r *Repo) searched() *history {
	h := r.history()
	h.grow = 2
	return h
}

// get reads the record at p, which must be there since another record names it.
func (h *history) get(ctx context.Context, p format.BranchPoint) (*format.Record, error) {
	if rec := h.recs[p]; rec != nil {
		return rec, nil
	}
	n := min(max(1, h.next[p.Branch]), p.Version+1)
	h.next[p.Branch] = min(h.grow*max(1, h.next[p.Branch]), historyAhead)
	recs, err := h.repo.recordsUp(ctx, format.BranchPoint{Branch: p.Branch, Version: p.Version - (n - 1)}, n)
	if err != nil {
		return nil, err
	}
	for i, rec := range recs {
		at := format.BranchPoint{Branch: p.Branch, Version: p.Version - (n - 1) + uint64(i)}
		if rec == nil {
			key := format.RecordKey(at.Branch, at.Version)
			return nil, chunkmap.Missing(errs.Op("get", key).New(errs.NotFound, "there is no such object"), "read commit", key)
		}
		h.recs[at] = rec
	}
	return h.recs[p], nil
}

// recordsUp reads n records of a branch from p on, at once. One that is not there is nil.
func (r *Repo) recordsUp(ctx context.Context, p format.BranchPoint, n uint64) ([]*format.Record, error) {
	recs := make([]*format.Record, n)
	g := task.New(ctx, 0)
	for i := range recs {
		g.Go(func(ctx context.Context) error {
			rec, err := r.recordAt(ctx, format.BranchPoint{Branch: p.Branch, Version: p.Version + uint64(i)})
			if err != nil && !errs.Is(err, errs.NotFound) {
				return err
			}
			recs[i] = rec
			return nil
		})
	}
	return recs, g.Wait()
}

// Committed describes a commit in the words of a log.
type Committed struct {
	Commit  string    `json:"commit"`
	Version uint64    `json:"version"`
	Time    time.Time `json:"time"`
	Author  string    `json:"author"`
	Message string    `json:"message"`
	Rows    int64     `json:"rows"`
	// labels that the commit gave other numbers, as other classes came first; of a new commit alone
	Renumbered []Renumbered `json:"renumbered,omitempty"`
	Changes    *Changes     `json:"changes,omitempty"` // only in logs
	Key        string       `json:"idempotency_key,omitempty"`
}

// Describe makes the log entry of a record.
func Describe(rec *format.Record) Committed {
	return Committed{
		Commit: rec.UUID.String(), Version: rec.Version, Time: rec.Time, Author: rec.Author, Message: rec.Message,
		Rows: rec.Rows - rec.DeletedRows, Key: rec.Key,
	}
}

// LogFrom returns at most limit commits that s comes from, s first; limit <= 0 means all. It
// follows the branch to where it left another one, and goes on there. Commits that merges took in
// are not listed, see Graph.
func (r *Repo) LogFrom(ctx context.Context, s *Snapshot, limit int) ([]*format.Record, error) {
	return r.line(ctx, s.Record, limit)
}

// Changes counts the rows that a commit changed against the one before it.
type Changes struct {
	Added   int64 `json:"added"` // rows that it has and the one before has not
	Updated int64 `json:"updated"`
	Deleted int64 `json:"deleted"`
}

// DescribeAll makes the log entries of records, with their changes. It reads the operations of
// large commits, at once. The changes of a commit whose operations are lost stay nil.
func DescribeAll(ctx context.Context, r *Repo, recs []*format.Record) ([]Committed, error) {
	out := make([]Committed, len(recs))
	g := task.New(ctx, chunkmap.InFlight)
	for i, rec := range recs {
		out[i] = Describe(rec)
		g.Go(func(ctx context.Context) error {
			ops, err := r.ops(ctx, rec)
			if err == nil {
				out[i].Changes = changesOf(rec, ops)
			}
			if IsDamage(err) {
				return nil // a log is there to find out what happened
			}
			return err
		})
	}
	return out, g.Wait()
}

func changesOf(rec *format.Record, ops []format.Op) *Changes {
	if rec.Version == 0 {
		if rec.Base != nil { // it repeats the commit that the branch begins at
			return &Changes{}
		}
		return &Changes{Added: rec.Rows - rec.DeletedRows}
	}
	var added, updated, deleted rowset.Set
	for _, op := range ops {
		switch op.Op {
		case format.OpAppend:
			added = append(added, format.RowRange{Start: op.Start, Count: op.Rows})
		case format.OpRestore:
			added = append(added, op.Ranges...)
		case format.OpUpdate:
			updated = append(updated, op.Ranges...)
		case format.OpDelete:
			deleted = append(deleted, op.Ranges...)
		}
	}
	added, updated, deleted = rowset.Of(added), rowset.Of(updated), rowset.Of(deleted)
	return &Changes{
		Added: added.Minus(deleted).Count(), Updated: updated.Minus(added).Minus(deleted).Count(), Deleted: deleted.Minus(added).Count(),
	}
}

// RowChange is a commit that changed a row.
type RowChange struct {
	Commit  Committed `json:"commit"`
	Change  string    `json:"change"`  // "added", "updated", "deleted" or "restored"
	Tensors []string  `json:"tensors"` // that it set, by their names in the commit
	// the number of the row in the commit; -1 if it is not there or not known
	Row int64 `json:"row"`
}

// RowHistory returns at most limit commits that changed a row of s, given by its place, the newest
// first; limit <= 0 means all. Of a merge it lists the commits that the merge took in.
func RowHistory(ctx context.Context, r *Repo, s *Snapshot, row int64, limit int) ([]RowChange, error) {
	id, ok, err := s.RowIDs().Find(ctx, row)
	if err != nil || !ok {
		return nil, err
	}
	h, out := r.history(), []RowChange{}
	axes := map[format.UUID]rowset.Alignment{}
	open, seen := []*format.Record{s.Record}, map[format.UUID]bool{s.Record.UUID: true}
	for len(open) > 0 && (limit <= 0 || len(out) < limit) {
		k := newest(open, func(rec *format.Record) *format.Record { return rec })
		rec := open[k]
		open = slices.Delete(open, k, k+1)
		axis, ok := axes[rec.Branch]
		if !ok {
			if axis, err = h.axis(ctx, rec, s); err != nil {
				return nil, err
			}
			axes[rec.Branch] = axis
		}
		before := parents(rec)
		if at := axis.Inverse().Within(rowset.Set{{Start: row, Count: 1}}); len(at) > 0 {
			c, origin, err := r.rowChange(ctx, rec, at[0].To, id.Session)
			if err != nil {
				return nil, err
			}
			if c != nil {
				out = append(out, *c)
			}
			if origin {
				return out, nil // commits before it do not have the row
			}
		}
		for _, p := range before {
			up, err := h.get(ctx, p)
			if err != nil {
				return nil, err
			}
			if !seen[up.UUID] {
				seen[up.UUID] = true
				open = append(open, up)
			}
		}
	}
	return out, nil
}

// rowChange returns the change of a row by a commit, nil for none, and whether the commit is the
// one that appended the row, as one of session.
func (r *Repo) rowChange(ctx context.Context, rec *format.Record, row int64, session format.UUID) (*RowChange, bool, error) {
	if rec.Merged != nil {
		return nil, false, nil
	}
	ops, err := r.ops(ctx, rec)
	if err != nil {
		return nil, false, err
	}
	change, origin, ids := "", false, map[format.UUID]bool{}
	if _, older := parent(rec); !older && row < rec.Rows {
		change, origin = "added", true // the first version of a copy
	}
	for _, op := range ops {
		here := len(rowset.Set(op.Ranges).And(rowset.Set{{Start: row, Count: 1}})) > 0
		switch {
		case op.Op == format.OpAppend && op.Start <= row && row < op.Start+op.Rows:
			change, origin = "added", op.Append == session
		case op.Op == format.OpRestore && here:
			change = "restored"
		case op.Op == format.OpDelete && here:
			change = "deleted"
		case op.Op == format.OpUpdate && here:
			if ids[op.Tensor] = true; change == "" {
				change = "updated"
			}
		}
	}
	if change == "" {
		return nil, false, nil
	}
	c := &RowChange{Commit: Describe(rec), Change: change, Tensors: []string{}, Row: -1}
	c.Commit.Changes = changesOf(rec, ops)
	s, err := r.load(ctx, rec)
	if err == nil {
		err = c.describe(ctx, s, row, ids)
	}
	if err == nil && c.Row >= 0 {
		err = r.unexpired(ctx, rec)
	}
	if chunkmap.Absent(err) { // it is expired
		c.Row, err = -1, nil
	}
	return c, origin, err
}

// describe adds the names of tensors, and the number of the row. ids are those that were updated.
func (c *RowChange) describe(ctx context.Context, s *Snapshot, row int64, ids map[format.UUID]bool) error {
	if c.Change == "deleted" {
		return nil
	}
	c.Row = s.Live.Logical(row)
	for i := range s.Schema.Tensors {
		ts := &s.Schema.Tensors[i]
		has := ids[ts.ID]
		if c.Change == "added" || c.Change == "restored" {
			var err error
			if _, has, err = s.Tree(ts.ID).Find(ctx, row); err != nil {
				return err
			}
		}
		if has {
			c.Tensors = append(c.Tensors, ts.Name)
		}
	}
	return nil
}

// RowNames returns names of rows, given by their places, that no commit changes: the append that
// made the row, and its number in it.
func RowNames(ctx context.Context, s *Snapshot, rows []int64) ([]string, error) {
	out := make([]string, len(rows))
	for i, row := range rows {
		e, ok, err := s.RowIDs().Find(ctx, row)
		if err != nil {
			return nil, err
		}
		if ok {
			out[i] = fmt.Sprintf("%s:%d", e.Session, e.First+row-e.Row)
		}
	}
	return out, nil
}
