package dataset

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"deeplake/core/chunk"
	"deeplake/core/dataset/origin"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/tensor"
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

// Identity names the rows of v, in the same words on every machine. It returns the identity of the
// dataset, which a copy with its history keeps. Then it returns the commit, empty if v shows
// uncommitted changes, and the selection. Views of the same rows in the same order have the same
// selection, however they were made.
func (v *View) Identity() (dataset, commit, selection string, err error) {
	repo, _, err := v.d.repository()
	if err != nil {
		return "", "", "", err
	}
	if !v.dirty {
		commit = v.snap.Record.UUID.String()
	}
	return repo.TSF.UUID.String(), commit, v.selection(), nil
}

// rowsOf returns the present numbers of the rows of v, a view of any version of the dataset, with
// version.Deleted for rows that were deleted since. Rows of another dataset, or that its present
// version lacks, are refused: they are never taken for others by their numbers.
func (w *writer) rowsOf(ctx context.Context, v *View) ([]int64, error) {
	of := w.txn.Base().Record.Dataset
	if v.snap.Record.Dataset != of {
		return nil, errs.New(errs.Invalid, "the view is of dataset %q, which is another one; want a view of this dataset", v.URI())
	}
	rows := make([]int64, v.n)
	v.Rows(rows)
	if i := slices.Index(rows, -1); i >= 0 {
		return nil, errs.New(errs.Invalid, "row %d of the view is no row of the dataset: an outer join found none; leave it out", i)
	}
	out, err := w.txn.Locate(ctx, v.snap, rows)
	if err != nil {
		return nil, err
	}
	if i := slices.Index(out, version.Absent); i >= 0 {
		return nil, errs.New(errs.Invalid, "row %d of the view, row %d of its version, is not in the present version: it was discarded, or lies on another branch; make the view again", i, rows[i])
	}
	return out, nil
}

// RowsOf is the rows of a view as rows to change, wherever they lie now. The view may be of any
// version of the dataset, and of uncommitted rows.
type RowsOf struct {
	d *Dataset
	v *View
}

// RowsOf returns the rows of v for changes of d.
func (d *Dataset) RowsOf(v *View) RowsOf { return RowsOf{d, v} }

// Update is Dataset.Update for these rows. A row that was deleted since is refused.
func (r RowsOf) Update(ctx context.Context, cols []tensor.Rows) error {
	d, v := r.d, r.v
	d.mu.Lock()
	defer d.mu.Unlock()
	w, err := d.transaction()
	if err != nil {
		return err
	}
	w.caller = ctx
	rows, err := w.rowsOf(ctx, v)
	if err != nil {
		return errs.Wrap(errs.Invalid, "update the rows of a view", "", err)
	}
	if i := slices.Index(rows, version.Deleted); i >= 0 {
		return errs.Op("update the rows of a view", "").New(errs.Range, "row %d of the view, row %d of its version, was deleted since; make the view again", i, v.live(int64(i)))
	}
	d.log.update(w.touched(cols), rows)
	return w.update(ctx, rows, cols)
}

// Delete is Dataset.DeleteRows for these rows. Those that were deleted since stay deleted.
func (r RowsOf) Delete(ctx context.Context) error {
	d, v := r.d, r.v
	d.mu.Lock()
	defer d.mu.Unlock()
	w, err := d.writer()
	if err != nil {
		return err
	}
	rows, err := w.rowsOf(ctx, v)
	if err != nil {
		return errs.Wrap(errs.Invalid, "delete the rows of a view", "", err)
	}
	rows = slices.DeleteFunc(rows, func(row int64) bool { return row == version.Deleted })
	physical, err := w.physical(rows)
	if err != nil {
		return err
	}
	w.txn.Delete(physical)
	return nil
}

// selection names the rows: a regular selection by its numbers, any other by a digest.
func (v *View) selection() string {
	start, step, regular := v.start, v.step, true
	if v.list != nil {
		start, step, regular = progression(v.list)
	}
	if v.n < 2 {
		step = 1
	}
	if v.n == 0 {
		start = 0
	}
	if regular {
		return fmt.Sprintf("%d+%d*%d", start, step, v.n)
	}
	sum := sha256.New()
	block := make([]byte, 0, 8<<10)
	for i, row := range v.list {
		block = binary.LittleEndian.AppendUint64(block, uint64(row))
		if len(block) == cap(block) || i == len(v.list)-1 {
			_, _ = sum.Write(block) // a hash never fails
			block = block[:0]
		}
	}
	return fmt.Sprintf("%s*%d", hex.EncodeToString(sum.Sum(nil)[:16]), v.n)
}

// progression reports whether rows are start, start+step, ...
func progression(rows []int64) (start, step int64, ok bool) {
	if len(rows) == 0 {
		return 0, 1, true
	}
	if len(rows) == 1 {
		return rows[0], 1, true
	}
	start, step = rows[0], rows[1]-rows[0]
	for i, row := range rows {
		if row != start+int64(i)*step {
			return 0, 0, false
		}
	}
	return start, step, true
}

// OriginSpec makes the hidden tensor with the file of each row.
func OriginSpec() TensorSpec {
	return TensorSpec{Name: origin.Tensor, DType: "bytes", Compression: "zstd", Hidden: true}
}

// Origins returns the files from which rows of v were imported, nil for a row that was not. A view
// of a dataset without imported rows has none.
func Origins(ctx context.Context, v *View, rows []int64) ([]*origin.Origin, error) {
	out := make([]*origin.Origin, len(rows))
	c, err := v.Column(origin.Tensor)
	if errs.Is(err, errs.NotFound) {
		return out, nil
	}
	for _, row := range rows {
		if err == nil && (row < 0 || row >= v.n) {
			err = outOfRange(row, v.n)
		}
	}
	refs := make([]chunk.Ref, len(rows))
	if err == nil {
		err = c.Resolve(ctx, rows, refs)
	}
	if err != nil {
		return nil, errs.Wrap(errs.Internal, "read tensor", origin.Tensor, err)
	}
	w := v.NewWorker()
	defer w.Close()
	var p []byte
	for i := range refs {
		r := &refs[i]
		if r.Hole() {
			continue
		}
		if p = slices.Grow(p[:0], int(r.Stored))[:r.Stored]; err == nil {
			err = c.Stored(ctx, r, p, w)
		}
		if err == nil {
			var o origin.Origin
			o, err = origin.Decode(p)
			out[i] = &o
		}
		if err != nil {
			return nil, errs.Op("read tensor", origin.Tensor).New(errs.KindOf(err), "row %d: %w", r.Row, err)
		}
	}
	return out, nil
}

// originOf names the file of a row of the dataset, "" if there is none or it cannot be read.
func (v *View) originOf(ctx context.Context, row int64) string {
	all := v.derive()
	all.n = v.snap.Rows()
	found, err := Origins(ctx, all, []int64{row})
	if err != nil || found[0] == nil {
		return ""
	}
	return found[0].String()
}
