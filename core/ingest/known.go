package ingest

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
	"strconv"

	"deeplake/core/chunk"
	"deeplake/core/dataset"
	"deeplake/core/dataset/origin"
	"deeplake/core/errs"
)

// span is count rows from start on.
type span struct{ start, count int64 }

// known is an object with its rows, as spans of neighbours.
type known struct {
	origin.Origin
	rows []span
}

// knownRows iterates over the origins of the rows of a view in byte order of keys. Rows lie in runs
// of rising keys, one or a few for each earlier import. The runs are read in parallel, a piece of
// each at a time, and merged.
type knownRows struct {
	col    *dataset.Column
	worker *chunk.Worker
	runs   runHeap
	piece  int // rows that a run reads at once
	buf    []byte
}

const (
	// pieceRows bounds the rows that all runs hold together.
	pieceRows = 1 << 17
	// leastPiece is the least number of rows that a run reads at once. It takes precedence.
	leastPiece = 32
	// scanRows is the number of rows of one read in the search for the beginnings of runs.
	scanRows = 4096
)

// keyRun is a run of rows with rising keys. at holds the objects that are read and not yet taken.
type keyRun struct {
	next, end int64
	at        []known
}

type runHeap []*keyRun

func (h runHeap) Len() int { return len(h) }
func (h runHeap) Less(i, j int) bool {
	a, b := &h[i].at[0], &h[j].at[0]
	if a.Path != b.Path {
		return a.Path < b.Path
	}
	return a.rows[0].start < b.rows[0].start
}
func (h runHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(x any)   { *h = append(*h, x.(*keyRun)) }
func (h *runHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// openKnown finds the runs of a view, without the objects whose keys are not greater than after. A
// view without origins has no runs, and neither has a nil view. The result must be closed.
func openKnown(ctx context.Context, v *dataset.View, after string) (*knownRows, error) {
	if v == nil {
		return &knownRows{}, nil
	}
	k := &knownRows{worker: v.NewWorker()}
	col, err := v.Column(origin.Tensor)
	if errs.Is(err, errs.NotFound) {
		return k, nil
	}
	if err != nil {
		k.close()
		return nil, err
	}
	k.col = col
	starts, err := k.findRuns(ctx, v.Len())
	if err != nil {
		k.close()
		return nil, err
	}
	k.piece = max(leastPiece, pieceRows/max(1, len(starts)))
	for i, start := range starts {
		end := v.Len()
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		r := &keyRun{next: start, end: end}
		more, err := k.advance(ctx, r, after)
		if err != nil {
			k.close()
			return nil, err
		}
		if more {
			k.runs = append(k.runs, r)
		}
	}
	heap.Init(&k.runs)
	return k, nil
}

func (k *knownRows) close() {
	if k.worker != nil {
		k.worker.Close()
	}
}

// findRuns reads all origins once and returns the first rows of runs: their keys are less than the
// key before them.
func (k *knownRows) findRuns(ctx context.Context, n int64) ([]int64, error) {
	starts := []int64{0}
	last := ""
	for from := int64(0); from < n; from += scanRows {
		err := k.read(ctx, from, min(n, from+scanRows), func(row int64, o origin.Origin) {
			if o.Path < last {
				starts = append(starts, row)
			}
			last = o.Path
		})
		if err != nil {
			return nil, err
		}
	}
	return starts, nil
}

// read calls fn for the rows from ... to-1 that have an origin.
func (k *knownRows) read(ctx context.Context, from, to int64, fn func(row int64, o origin.Origin)) error {
	rows := make([]int64, to-from)
	for i := range rows {
		rows[i] = from + int64(i)
	}
	refs := make([]chunk.Ref, len(rows))
	if err := k.col.Resolve(ctx, rows, refs); err != nil {
		return err
	}
	for i := range refs {
		r := &refs[i]
		if r.Hole() {
			continue
		}
		if int64(cap(k.buf)) < r.Stored {
			k.buf = make([]byte, 2*r.Stored)
		}
		p := k.buf[:r.Stored]
		if err := k.col.Stored(ctx, r, p, k.worker); err != nil {
			return err
		}
		o, err := origin.Decode(p)
		if err != nil {
			return err
		}
		fn(from+int64(i), o.File())
	}
	return nil
}

// advance reads until r holds an object whose key is greater than after, with all its rows of the
// run. more reports whether there is such an object.
func (k *knownRows) advance(ctx context.Context, r *keyRun, after string) (more bool, err error) {
	for {
		for len(r.at) > 0 && r.at[0].Path <= after && after != "" {
			r.at = r.at[1:]
		}
		// The last object that was read may go on in the next piece.
		if len(r.at) > 1 || r.next >= r.end {
			return len(r.at) > 0, nil
		}
		to := min(r.end, r.next+int64(k.piece))
		r.at = append([]known{}, r.at...)
		err := k.read(ctx, r.next, to, func(row int64, o origin.Origin) {
			if n := len(r.at); n > 0 && r.at[n-1].Origin == o {
				r.at[n-1].add(row)
				return
			}
			r.at = append(r.at, known{Origin: o, rows: []span{{row, 1}}})
		})
		if err != nil {
			return false, err
		}
		r.next = to
	}
}

// add appends a row that lies behind the others.
func (k *known) add(row int64) {
	if last := &k.rows[len(k.rows)-1]; last.start+last.count == row {
		last.count++
		return
	}
	k.rows = append(k.rows, span{row, 1})
}

// peek is the object with the smallest key; nil when there are no more. It is valid until the next
// call of take.
func (k *knownRows) peek() *known {
	if len(k.runs) == 0 {
		return nil
	}
	return &k.runs[0].at[0]
}

// take removes the object with the smallest key and returns it, with its rows in all runs. The
// version written last gives the origin.
func (k *knownRows) take(ctx context.Context) (known, error) {
	out := *k.peek()
	for {
		r := k.runs[0]
		r.at = r.at[1:]
		more, err := k.advance(ctx, r, "")
		if err != nil {
			return out, err
		}
		if more {
			heap.Fix(&k.runs, 0)
		} else {
			heap.Pop(&k.runs)
		}
		next := k.peek()
		if next == nil || next.Path != out.Path {
			return out, nil
		}
		out.Origin, out.rows = next.Origin, append(out.rows, next.rows...)
	}
}

// mostVersions bounds the earlier versions that an import compares.
const mostVersions = 16

// earlier is the rows of the version that an earlier import made. Files whose rows were deleted
// since are not imported again.
type earlier struct {
	*knownRows
	version uint64
	d       *dataset.Dataset
}

// identify reads the identity of the dataset. A copy without history has another one than the state
// says, and has no earlier versions.
func (im *importer) identify(v *dataset.View) (err error) {
	was := im.identity
	if im.identity, _, _, err = v.Identity(); was != im.identity {
		im.versions = nil
	}
	return err
}

// findEarlier finds the versions that earlier imports made, and that are no longer the newest.
func (im *importer) findEarlier(desc dataset.Description, state map[string]any) {
	im.identity, _ = state["dataset"].(string)
	numbers, _ := state["earlier"].([]any)
	for _, n := range append(numbers, state["version"]) {
		n, err := strconv.ParseUint(fmt.Sprint(n), 10, 64)
		if err == nil && n > 0 && n < desc.Head.Version && !slices.Contains(im.versions, n) {
			im.versions = append(im.versions, n)
		}
	}
}

// earlierVersions returns the versions for the state. A complete run that compared all files keeps
// those with rows of files that it left out; any other run keeps all.
func (im *importer) earlierVersions(complete bool) []uint64 {
	out := im.versions
	if complete && im.began == "" {
		im.mu.Lock()
		defer im.mu.Unlock()
		out = slices.Clone(im.deleted)
		slices.Sort(out)
	}
	return append([]uint64{}, out[max(0, len(out)-mostVersions):]...)
}

// openEarlier opens the earlier versions that are still there.
func (im *importer) openEarlier(ctx context.Context) (all []*earlier, err error) {
	for _, n := range im.versions {
		d, err := dataset.Open(ctx, im.env, im.place, dataset.OpenOptions{At: strconv.FormatUint(n, 10), Storage: im.o.Storage})
		if errs.Is(err, errs.NotFound) {
			continue // expired
		}
		if err != nil {
			return all, err
		}
		e := &earlier{version: n, d: d, knownRows: &knownRows{}}
		all = append(all, e)
		v, err := d.View(ctx)
		if err != nil {
			return all, err
		}
		if e.knownRows, err = openKnown(ctx, v, im.after); err != nil {
			e.knownRows = &knownRows{}
			return all, err
		}
	}
	return all, nil
}

func closeEarlier(all []*earlier) {
	for _, e := range all {
		e.close()
		_ = e.d.Close()
	}
}

// wasDeleted reports whether an object has no rows now, had some after an earlier import, and has
// not changed since.
func (im *importer) wasDeleted(ctx context.Context, all []*earlier, o *object) (found bool, err error) {
	for _, e := range all {
		for k := e.peek(); k != nil && k.Path <= o.Key; k = e.peek() {
			taken, err := e.take(ctx)
			if err != nil {
				return false, err
			}
			if now := o.origin(); o.was != nil || taken.Path != o.Key || !now.Vague() && !taken.file().Same(now) {
				continue
			}
			found = true
			im.mu.Lock()
			if !slices.Contains(im.deleted, e.version) {
				im.deleted = append(im.deleted, e.version)
			}
			im.mu.Unlock()
		}
	}
	return found, nil
}
