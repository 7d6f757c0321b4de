package dataset

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"deeplake/core/format"
	"deeplake/core/version"
)

// Graph lists at most limit ancestors of the dataset's commit, merged commits included, a commit
// before its parents. limit <= 0 means all. With all, it lists the commits of all branches and
// tags.
func (v Versions) Graph(ctx context.Context, limit int, all bool) ([]LogEntry, error) {
	repo, head, err := v.d.repository()
	if err != nil {
		return nil, err
	}
	branches, err := v.Branches(ctx)
	if err != nil {
		return nil, err
	}
	tags, err := v.Tags(ctx)
	if err != nil {
		return nil, err
	}
	if !v.d.past.Load() {
		if head, err = repo.Head(ctx); err != nil {
			return nil, err
		}
	}
	names := map[string][]string{}
	starts := []*version.Snapshot{head}
	add := func(name, ref, commit string) error {
		names[commit] = append(names[commit], name)
		if !all || commit == head.Record.UUID.String() {
			return nil
		}
		s, err := repo.At(ctx, ref)
		if err == nil {
			starts = append(starts, s)
		}
		return err
	}
	for _, b := range branches {
		if err := add(b.Name, fmt.Sprintf("%s@%d", b.Name, b.Head.Version), b.Head.Commit); err != nil {
			return nil, err
		}
	}
	for _, t := range tags {
		if err := add(t.Name, t.Commit.Commit, t.Commit.Commit); err != nil {
			return nil, err
		}
	}
	return graph(ctx, repo, starts, names, limit)
}

// graph joins the histories of starts.
func graph(ctx context.Context, repo *version.Repo, starts []*version.Snapshot, names map[string][]string, limit int) ([]LogEntry, error) {
	seen := map[format.UUID]bool{}
	var out []LogEntry
	var recs []*format.Record
	for _, s := range starts {
		nodes, err := repo.Graph(ctx, s, limit)
		if err != nil {
			return nil, err
		}
		for _, n := range nodes {
			if seen[n.Record.UUID] {
				continue
			}
			seen[n.Record.UUID] = true
			e := LogEntry{Committed: version.Describe(n.Record), Parents: []string{}, Names: names[n.Record.UUID.String()]}
			for _, p := range n.Parents {
				e.Parents = append(e.Parents, p.String())
			}
			if e.Names == nil {
				e.Names = []string{}
			}
			out = append(out, e)
			recs = append(recs, n.Record)
		}
	}
	described, err := version.DescribeAll(ctx, repo, recs)
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].Committed = described[i]
	}
	if len(starts) > 1 {
		// Times never fall from commit to commit; a stable order keeps commits of one time before
		// their parents.
		slices.SortStableFunc(out, func(a, b LogEntry) int { return cmp.Compare(b.Time.UnixNano(), a.Time.UnixNano()) })
	}
	if limit > 0 && len(out) > limit {
		out = out[:limit]
	}
	return out, nil
}

// Log lists at most limit commits with their changes, the newest first; limit <= 0 means all. A
// dataset of the past lists its own history.
func (v Versions) Log(ctx context.Context, limit int) ([]version.Committed, error) {
	repo, head, err := v.d.repository()
	if err == nil && !v.d.past.Load() {
		head, err = repo.Head(ctx)
	}
	if err != nil {
		return nil, err
	}
	recs, err := repo.LogFrom(ctx, head, limit)
	if err != nil {
		return nil, err
	}
	return version.DescribeAll(ctx, repo, recs)
}

// History lists at most limit commits that changed a row, the newest first; limit <= 0 means all.
// The row is counted as in View. An uncommitted row has no history. It omits hidden tensors.
func (v Versions) History(ctx context.Context, row int64, limit int) ([]version.RowChange, error) {
	repo, head, rows, err := v.places([]int64{row})
	if err != nil || rows[0] >= head.Record.Rows {
		return []version.RowChange{}, err
	}
	out, err := version.RowHistory(ctx, repo, head, rows[0], limit)
	for i := range out {
		out[i].Tensors = slices.DeleteFunc(out[i].Tensors, hidden)
	}
	return out, err
}

// RowNames returns names of rows, counted as in View, that no commit changes. That of an
// uncommitted row is "".
func (v Versions) RowNames(ctx context.Context, rows []int64) ([]string, error) {
	_, head, places, err := v.places(rows)
	if err != nil {
		return nil, err
	}
	return version.RowNames(ctx, head, places)
}

// places finds the places of rows, on the axis of the commit below the uncommitted changes. Those
// of uncommitted rows are behind its end.
func (v Versions) places(rows []int64) (*version.Repo, *version.Snapshot, []int64, error) {
	d := v.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.open(); err != nil {
		return nil, nil, nil, err
	}
	live, n := d.head.Live, d.head.Rows()
	if d.w != nil {
		live, n = d.w.txn.Live()
	}
	out := make([]int64, len(rows))
	for i, row := range rows {
		if row < 0 || row >= n {
			return nil, nil, nil, outOfRange(row, n)
		}
		out[i] = live.Physical(row)
	}
	return d.repo, d.head, out, nil
}

// Diff returns the changes from the commit that a names to the commit that b names. "" names the
// dataset's current commit. It reads no sample, and omits uncommitted changes and hidden tensors.
func (v Versions) Diff(ctx context.Context, a, b string) (*version.Diff, error) {
	repo, head, err := v.d.repository()
	if err != nil {
		return nil, err
	}
	from, err := snapshot(ctx, repo, head, a)
	if err != nil {
		return nil, err
	}
	to, err := snapshot(ctx, repo, head, b)
	if err != nil {
		return nil, err
	}
	d, err := repo.Diff(ctx, from, to)
	if err == nil {
		d.Tensors = slices.DeleteFunc(d.Tensors, func(t version.TensorDiff) bool { return hidden(t.Name) })
	}
	return d, err
}

// Restore makes the current branch show the rows and the schema of the commit that ref names, as a
// commit; see version.Repo.Restore. It reports whether there was anything to change.
func (v Versions) Restore(ctx context.Context, ref, message string) (version.Committed, bool, error) {
	return v.d.replace(ctx, "restore", ref, func(repo *version.Repo, at *version.Snapshot) (*version.Snapshot, bool, error) {
		if message == "" {
			message = fmt.Sprintf("restore version %d (%s)", at.Record.Version, short(at))
		}
		return repo.Restore(ctx, at, message, v.d.env.author())
	})
}

// Revert undoes the changes of the commit that ref names, as a commit on the current branch; see
// version.Repo.Revert. It reports whether there was anything to undo. After errs.Conflict nothing
// has changed; its version.ConflictError lists the conflicts.
func (v Versions) Revert(ctx context.Context, ref string, on version.Strategy, message string) (version.Committed, bool, error) {
	return v.d.replace(ctx, "revert a commit of", ref, func(repo *version.Repo, at *version.Snapshot) (*version.Snapshot, bool, error) {
		if message == "" {
			message = fmt.Sprintf("revert version %d (%s)", at.Record.Version, short(at))
			if at.Record.Message != "" {
				message += ": " + at.Record.Message
			}
		}
		return repo.Revert(ctx, at, on, message, v.d.env.author())
	})
}

// short is the beginning of a commit's id, as logs print it.
func short(s *version.Snapshot) string { return s.Record.UUID.String()[:8] }

// replace commits the contents that do makes of the commit that ref names.
func (d *Dataset) replace(ctx context.Context, verb, ref string, do func(*version.Repo, *version.Snapshot) (*version.Snapshot, bool, error)) (version.Committed, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var none version.Committed
	if _, err := d.writer(); err != nil { // read-only, closed
		return none, false, err
	}
	if err := d.settled(verb); err != nil {
		return none, false, err
	}
	d.drop()
	at, err := d.repo.At(ctx, ref)
	if err != nil {
		return none, false, err
	}
	d.repo.OnRenumber = d.renumber
	head, done, err := do(d.repo, at)
	if err != nil {
		return none, false, err
	}
	d.head = head
	made := version.Describe(head.Record)
	made.Renumbered = head.Renumbered
	return made, done, nil
}
