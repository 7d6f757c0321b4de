package dataset

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"deeplake/core/codec/all"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
	"deeplake/core/version"
	"deeplake/core/version/maintain"
)

// The programs are random calls on two handles of one dataset, with a fault at any call to the
// store. Lists of rows in memory give the expected results. DEEPLAKE_PROGRAMS sets their number
// (default: as many as fit into programTime), DEEPLAKE_SEED selects one.

// programTime bounds the test without DEEPLAKE_PROGRAMS.
const programTime = 12 * time.Second

// stepKind is the action of a step.
type stepKind int

const (
	stepAppend stepKind = iota
	stepUpdate
	stepDelete
	stepCommit
	stepDiscard
	stepRefresh
	stepAddTensor
	stepDropTensor
	stepRenameTensor
	stepNewBranch
	stepCheckout
	stepMerge
	stepTag
	stepReopen
	stepRechunk
	stepGC
	stepDiff
	stepRestore
	stepRevert
	stepKinds
)

func (k stepKind) String() string {
	return []string{
		"append", "update", "delete", "commit", "discard", "refresh", "add tensor", "drop tensor", "rename tensor", "new branch", "checkout", "merge",
		"tag", "reopen", "rechunk", "gc", "diff", "restore", "revert",
	}[k]
}

// step is one call. Its numbers mean something in any state, so that steps can be left out of a
// program that fails.
type step struct {
	handle int
	kind   stepKind
	a, b   uint64
	fault  int // the call to the store, from 1, that goes wrong; 0: none
	how    int
}

func (s step) String() string {
	out := fmt.Sprintf("handle %d: %s %d %d", s.handle, s.kind, s.a%1000, s.b%1000)
	if s.fault > 0 {
		out += fmt.Sprintf(", call %d %s", s.fault, []string{"fails", "loses its answer", "finds the store unreachable"}[s.how])
	}
	return out
}

func randomProgram(seed uint64) []step {
	rng := rand.New(rand.NewPCG(seed, 7))
	weights := []stepKind{
		stepAppend, stepAppend, stepAppend, stepUpdate, stepUpdate, stepDelete, stepCommit, stepCommit, stepCommit, stepDiscard, stepRefresh,
		stepNewBranch, stepCheckout, stepCheckout, stepMerge, stepMerge, stepTag, stepReopen, stepRechunk, stepGC, stepAddTensor, stepDiff, stepRestore, stepRevert, stepRevert,
	}
	if seed%4 == 0 { // tensors come, go and change names; on one branch
		weights = []stepKind{
			stepAppend, stepAppend, stepUpdate, stepDelete, stepCommit, stepCommit, stepRefresh, stepAddTensor, stepDropTensor, stepRenameTensor,
			stepReopen, stepRechunk, stepGC, stepTag, stepRestore, stepRevert,
		}
	}
	out := make([]step, 8+rng.IntN(40))
	for i := range out {
		out[i] = step{handle: rng.IntN(2), kind: weights[rng.IntN(len(weights))], a: rng.Uint64(), b: rng.Uint64()}
		if rng.IntN(8) == 0 {
			out[i].fault, out[i].how = 1+rng.IntN(12), rng.IntN(3)
		}
	}
	return out
}

// handle is one of the two users.
type handle struct {
	d      *Dataset
	faults *faultstore.Store
	branch string
	base   int // commit
	pend   pending
	since  int64 // hour of the oldest pending change
}

// world is a dataset and its expected state.
type world struct {
	ctx     context.Context
	space   *mem.Space
	hour    atomic.Int64
	handles [2]*handle
	commits []wantCommit
	heads   map[string]int
	tags    map[string]int
	past    map[int]int64     // hours at which commits were followed by others
	expires bool              // some gc was told to expire versions
	below   map[string]uint64 // of each branch: no version from here on was ever to be expired
	next    int               // numbers of rows, tensors, values, names
}

func (w *world) number() int { w.next++; return w.next }

func (w *world) env(h *handle) *Env {
	open := func(ctx context.Context, name string, o storage.Options) (storage.Provider, error) {
		p, err := w.space.Open(ctx, name, o)
		if err != nil || h == nil {
			return p, err
		}
		h.faults = faultstore.New(p, nil)
		return h.faults, nil
	}
	return &Env{Stores: storage.Registry{"mem": open}, Codecs: all.All(), Writer: "test", foldRows: 2}
}

func newWorld() (*world, error) {
	w := &world{ctx: context.Background(), heads: map[string]int{}, tags: map[string]int{}, past: map[int]int64{}, below: map[string]uint64{}}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w.space = &mem.Space{Now: func() time.Time { return start.Add(time.Duration(w.hour.Load()) * time.Hour) }}
	d, err := Create(w.ctx, w.env(nil), "mem://d", CreateOptions{})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	id := w.number()
	if err := d.CreateTensor(w.ctx, TensorSpec{Name: fmt.Sprint("t", id), HType: "text", ChunkBytes: 4096}); err != nil {
		return nil, err
	}
	if _, err := d.Commit(w.ctx, "begin"); err != nil {
		return nil, err
	}
	w.commits = []wantCommit{{tensors: map[int]string{id: fmt.Sprint("t", id)}, order: []int{id}}}
	w.heads["main"] = 0
	for i := range w.handles {
		w.handles[i] = &handle{branch: "main"}
		if err := w.reopen(w.handles[i]); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *world) close() {
	for _, h := range w.handles {
		if h != nil && h.d != nil {
			_ = h.d.Close()
		}
	}
}

func (w *world) reopen(h *handle) error {
	if h.d != nil {
		_ = h.d.Close()
	}
	d, err := Open(w.ctx, w.env(h), "mem://d", OpenOptions{Branch: h.branch})
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	h.d, h.base, h.pend = d, w.heads[h.branch], newPending()
	return nil
}

// now returns the expected state of a handle.
func (w *world) now(h *handle) wantCommit { return h.pend.onto(&w.commits[h.base]) }

// add makes a version the head of a branch.
func (w *world) add(branch string, c wantCommit, merged ...int) {
	c.parents = append([]int{w.heads[branch]}, merged...)
	c.merge = len(merged) > 0
	w.commits = append(w.commits, c)
	w.past[w.heads[branch]] = w.hour.Load()
	w.heads[branch] = len(w.commits) - 1
}

// run does one step, and reports its failure.
func (w *world) run(s step) error {
	w.hour.Add(int64(s.a>>32) % 20)
	h := w.handles[s.handle]
	if s.fault > 0 {
		do := []faultstore.Action{faultstore.Fail(errs.Storage), faultstore.LostAnswer(), faultstore.Crash()}[s.how]
		h.faults.SetPlan(faultstore.Plan{{Skip: s.fault - 1, Do: do}})
		defer func() { h.faults.SetPlan(nil) }()
	}
	calm := func() { h.faults.SetPlan(nil) }
	dirty := !h.pend.empty()
	err := w.step(h, s, calm)
	if !dirty && !h.pend.empty() {
		h.since = w.hour.Load()
	}
	return err
}

func (w *world) step(h *handle, s step, calm func()) error {
	switch s.kind {
	case stepAppend, stepUpdate, stepDelete:
		return w.change(h, s, calm)
	case stepCommit:
		return w.commit(h, calm)
	case stepDiscard:
		h.pend = newPending()
		return h.d.Discard(w.ctx)
	case stepRefresh:
		err := h.d.Refresh(w.ctx)
		if !h.pend.empty() {
			if !errs.Is(err, errs.Conflict) {
				return fmt.Errorf("refresh with changes: %w", orNone(err))
			}
			return nil
		}
		if err == nil {
			h.base = w.heads[h.branch]
		}
		return failed(err, s)
	case stepAddTensor:
		id := w.number()
		name := fmt.Sprint("t", id)
		if err := h.d.CreateTensor(w.ctx, TensorSpec{Name: name, HType: "text", ChunkBytes: 4096}); err != nil {
			return err
		}
		h.pend.created[id] = name
		h.pend.order = append(h.pend.order, id)
		return nil
	case stepDropTensor, stepRenameTensor:
		return w.alter(h, s, calm)
	case stepReopen:
		calm()
		return w.reopen(h)
	case stepGC:
		return w.gc(h, s)
	}
	if !h.pend.empty() { // the next steps need a clean handle
		if err := h.d.Checkout(w.ctx, "main", false); !errs.Is(err, errs.Conflict) {
			return fmt.Errorf("checkout with changes: %w", orNone(err))
		}
		return nil
	}
	switch s.kind {
	case stepNewBranch:
		return w.newBranch(h, s, calm)
	case stepCheckout:
		name := w.branchName(s.a)
		err := h.d.Checkout(w.ctx, name, false)
		if err == nil {
			h.branch, h.base = name, w.heads[name]
		}
		return failed(err, s)
	case stepMerge:
		return w.merge(h, s, calm)
	case stepTag:
		name := fmt.Sprint("tag", w.number())
		_, err := h.d.Versions().CreateTag(w.ctx, name, "", "")
		if err == nil {
			w.tags[name] = h.base
		}
		if w.mayBeExpired(h, err) {
			return nil
		}
		return failed(err, s)
	case stepRechunk:
		return w.rechunk(h, s, calm)
	case stepDiff:
		return w.diff(h, s)
	case stepRestore:
		return w.restore(h, s, calm)
	case stepRevert:
		return w.revert(h, s, calm)
	}
	return nil
}

func orNone(err error) error {
	if err == nil {
		return fmt.Errorf("no error")
	}
	return err
}

// failed passes errors on that no fault explains.
func failed(err error, s step) error {
	if err == nil || s.fault > 0 && errs.Is(err, errs.Storage) {
		return nil
	}
	return fmt.Errorf("%s: %w", s.kind, err)
}

func (w *world) branchName(n uint64) string {
	names := slices.Sorted(maps.Keys(w.heads))
	return names[n%uint64(len(names))]
}

// change appends, updates or deletes.
func (w *world) change(h *handle, s step, calm func()) error {
	now := w.now(h)
	var live []int // ids
	for _, r := range now.rows {
		if !r.dead {
			live = append(live, r.id)
		}
	}
	if s.kind != stepAppend && len(live) == 0 || len(now.order) == 0 {
		return nil
	}
	var err error
	var done func()
	at := int(s.a % uint64(max(1, len(live))))
	n := 1 + int(s.b%3)
	switch s.kind {
	case stepAppend:
		rows := make([]wantRow, n)
		for i := range rows {
			rows[i] = wantRow{id: w.number(), vals: map[int]string{}}
		}
		var cols []tensor.Rows
		for _, id := range now.order {
			col := tensor.Rows{Tensor: now.tensors[id]}
			for i := range rows {
				rows[i].vals[id] = fmt.Sprint("v", w.number())
				col.Samples = append(col.Samples, textSample(rows[i].vals[id]))
			}
			cols = append(cols, col)
		}
		err = h.d.Append(w.ctx, cols, int64(n))
		done = func() { h.pend.added = append(h.pend.added, rows...) }
	case stepUpdate:
		id := now.order[s.b%uint64(len(now.order))]
		value := fmt.Sprint("u", w.number())
		if s.b%5 == 0 && now.row(live[at]).vals[id] != "" {
			value = "-" // in the place of a text
		}
		err = h.d.Update(w.ctx, []int64{int64(at)}, []tensor.Rows{{Tensor: now.tensors[id], Samples: []tensor.Sample{textSample(value)}}})
		done = func() { h.update(live[at], id, value) }
	case stepDelete:
		var rows []int64
		for i := at; i < min(at+n, len(live)); i++ {
			rows = append(rows, int64(i))
		}
		err = h.d.DeleteRows(w.ctx, rows)
		done = func() {
			for _, i := range rows {
				h.pend.deleted[live[i]] = true
			}
		}
	}
	if err == nil {
		done()
		return nil
	}
	if failed(err, s) == nil {
		calm()
		h.pend = newPending()
		return h.d.Discard(w.ctx)
	}
	return err
}

func (h *handle) update(row, id int, value string) {
	for i := range h.pend.added {
		if h.pend.added[i].id == row {
			h.pend.added[i].vals[id] = value
			return
		}
	}
	if h.pend.updated[row] == nil {
		h.pend.updated[row] = map[int]string{}
	}
	h.pend.updated[row][id] = value
}

// textSample is a text; "-" is a hole.
func textSample(s string) tensor.Sample {
	if s == "-" {
		return tensor.Sample{Form: tensor.FormHole}
	}
	return tensor.Sample{Form: tensor.FormText, DType: tensor.String, Data: []byte(s)}
}

// verdict is the expected outcome of a commit.
type verdict int

const (
	mustWork verdict = iota
	mustConflict
	either
)

// judge holds the pending changes of a handle against the versions that came first.
func (w *world) judge(h *handle) verdict {
	v := mustWork
	for at := w.heads[h.branch]; at != h.base; at = w.commits[at].parents[0] {
		c, before := &w.commits[at], &w.commits[w.commits[at].parents[0]]
		if len(c.order) < len(before.order) || !maps.Equal(names2(c, before), names2(before, before)) {
			// tensors were dropped or renamed: the matrix decides by the touched tensors
			v = either
		}
		for i := range before.rows {
			was, is := &before.rows[i], c.row(before.rows[i].id)
			mine := h.pend.updated[was.id]
			if c.replaced && len(mine) > 0 && v == mustWork {
				v = either // it may have updated the row with the value that was there
			}
			if was.dead && !is.dead && v == mustWork {
				v = either // a restored row counts as updated
			}
			if is.dead && !was.dead && len(mine) > 0 {
				return mustConflict
			}
			for id, value := range is.vals {
				if value == was.vals[id] {
					continue
				}
				// A commit created the tensor and updated it, or a restore brought it back.
				if _, had := before.tensors[id]; !had {
					if h.pend.deleted[was.id] {
						v = either
					}
					continue
				}
				if _, both := mine[id]; both || h.pend.deleted[was.id] {
					return mustConflict
				}
			}
		}
	}
	return v
}

// names2 returns the names in c of the tensors of of.
func names2(c, of *wantCommit) map[int]string {
	out := map[int]string{}
	for _, id := range of.order {
		out[id] = c.tensors[id]
	}
	return out
}

// commit commits, again without faults where the answer is not clear.
func (w *world) commit(h *handle, calm func()) error {
	want := w.judge(h)
	empty := h.pend.empty()
	message := fmt.Sprint("commit ", w.number())
	_, err := h.d.Commit(w.ctx, message)
	if err != nil && errs.Is(err, errs.Storage) {
		calm()
		_, err = h.d.Commit(w.ctx, message)
	}
	switch {
	case err == nil && empty:
		return nil
	case err == nil && want == mustConflict:
		return fmt.Errorf("commit: no conflict")
	case err == nil:
		c := h.pend.onto(&w.commits[w.heads[h.branch]])
		w.add(h.branch, c)
		h.base, h.pend = w.heads[h.branch], newPending()
		return nil
	case errs.Is(err, errs.Conflict) && want != mustWork, errs.Is(err, errs.Storage):
		// In the second case the chunks were lost before the record was tried: nothing is
		// committed.
		calm()
		h.pend = newPending()
		return h.d.Discard(w.ctx)
	}
	return fmt.Errorf("commit: %w", err)
}

// alter drops or renames a tensor, alone.
func (w *world) alter(h *handle, s step, calm func()) error {
	calm()
	if !h.pend.empty() {
		return nil
	}
	if err := h.d.Refresh(w.ctx); err != nil {
		return err
	}
	h.base = w.heads[h.branch]
	c := w.commits[h.base].clone()
	if len(c.order) < 2 {
		return nil
	}
	k := int(s.a % uint64(len(c.order)))
	id := c.order[k]
	if s.kind == stepDropTensor {
		if err := h.d.DeleteTensor(w.ctx, c.tensors[id]); err != nil {
			return err
		}
		delete(c.tensors, id)
		c.order = slices.Delete(c.order, k, k+1)
		for i := range c.rows {
			delete(c.rows[i].vals, id)
		}
	} else {
		name := fmt.Sprint("g", s.b%3, "/r", w.number())
		if err := h.d.RenameTensor(w.ctx, c.tensors[id], name); err != nil {
			return err
		}
		c.tensors[id] = name
	}
	if _, err := h.d.Commit(w.ctx, s.kind.String()); err != nil {
		return err
	}
	w.add(h.branch, c)
	h.base = w.heads[h.branch]
	return nil
}

func (w *world) newBranch(h *handle, s step, calm func()) error {
	if len(w.heads) > 4 {
		return nil
	}
	name := fmt.Sprint("b", w.number())
	err := h.d.Checkout(w.ctx, name, true)
	if w.mayBeExpired(h, err) {
		return nil
	}
	if err != nil {
		if err := failed(err, s); err != nil {
			return err
		}
		calm()
		if err := h.d.Checkout(w.ctx, name, false); errs.Is(err, errs.NotFound) {
			return nil
		} else if err != nil {
			return err
		}
	}
	c := w.commits[h.base].clone()
	c.parents = []int{h.base}
	w.commits = append(w.commits, c)
	w.heads[name] = len(w.commits) - 1
	h.branch, h.base = name, w.heads[name]
	return nil
}

// rechunk changes nothing that can be seen.
func (w *world) rechunk(h *handle, s step, calm func()) error {
	message := fmt.Sprint("rechunk ", w.number())
	head := w.heads[h.branch]
	r, err := h.d.Rechunk(w.ctx, RechunkOptions{Message: message, All: s.a%2 == 0})
	made := err == nil && r.Commit != nil
	if err != nil {
		if err := failed(err, s); err != nil {
			return err
		}
		calm()
		if made, err = w.newestIs(h, message); err != nil {
			return err
		}
		if err := h.d.Refresh(w.ctx); err != nil {
			return err
		}
		h.base = head
	}
	if made {
		w.add(h.branch, w.commits[head].clone())
		h.base = w.heads[h.branch]
	}
	return nil
}

// newestIs reports whether the newest commit of the handle's branch has that message.
func (w *world) newestIs(h *handle, message string) (bool, error) {
	log, err := h.d.Log(w.ctx, 1)
	return err == nil && log[0].Message == message, err
}

// ancestors returns a commit and all that it comes from.
func (w *world) ancestors(at int) map[int]bool {
	out, todo := map[int]bool{}, []int{at}
	for len(todo) > 0 {
		at, todo = todo[0], todo[1:]
		if !out[at] {
			out[at] = true
			todo = append(todo, w.commits[at].parents...)
		}
	}
	return out
}

// mergeBase returns the one commit that both come from and that no other such commit comes from; ok
// is false if there are several.
func (w *world) mergeBase(a, b int) (base int, ok bool) {
	of, common := w.ancestors(b), []int{}
	for at := range w.ancestors(a) {
		if of[at] {
			common = append(common, at)
		}
	}
	base = slices.Max(common)
	before := w.ancestors(base)
	for _, at := range common {
		if !before[at] {
			return 0, false
		}
	}
	return base, true
}

// merge takes another branch in.
func (w *world) merge(h *handle, s step, calm func()) error {
	name := w.branchName(s.a)
	ours, theirs := w.heads[h.branch], w.heads[name]
	base, ok := w.mergeBase(ours, theirs)
	if name == h.branch || !ok {
		return nil
	}
	on := []version.Strategy{version.OnConflictError, version.OnConflictOurs, version.OnConflictTheirs}[s.b%3]
	want, conflict, clear := threeWay(&w.commits[base], &w.commits[ours], &w.commits[theirs], on)
	if !clear || w.returned(base, ours) || w.returned(base, theirs) {
		return nil
	}
	message := fmt.Sprint("merge ", w.number())
	_, done, err := h.d.Merge(w.ctx, name, on, message)
	if err != nil && errs.Is(err, errs.Storage) {
		if err := failed(err, s); err != nil {
			return err
		}
		calm()
		var lookErr error
		if done, lookErr = w.newestIs(h, message); lookErr != nil {
			return lookErr
		}
		if err := h.d.Refresh(w.ctx); err != nil {
			return err
		}
		h.base = ours
		if !done {
			return nil
		}
		err = nil
	}
	switch {
	case conflict && on == version.OnConflictError:
		if !errs.Is(err, errs.Conflict) {
			return fmt.Errorf("merge %q: want a conflict, got %w", name, orNone(err))
		}
		return nil
	case err != nil:
		return fmt.Errorf("merge %q (%s): %w", name, on, err)
	}
	h.base = ours
	if done {
		w.add(h.branch, want, theirs)
		h.base = w.heads[h.branch]
	} else if fmt.Sprint(want.shown()) != fmt.Sprint(w.commits[ours].shown()) {
		return fmt.Errorf("merge %q: nothing was done, want %v", name, want.shown())
	}
	return nil
}

// diff counts rows that were added and deleted.
func (w *world) diff(h *handle, s step) error {
	name := w.branchName(s.a)
	a, b := &w.commits[w.heads[name]], &w.commits[h.base]
	d, err := h.d.Versions().Diff(w.ctx, name, "")
	if err != nil {
		return failed(err, s)
	}
	live := func(c *wantCommit, id int) bool { r := c.row(id); return r != nil && !r.dead }
	added, deleted := int64(0), int64(0)
	for _, r := range b.rows {
		if !r.dead && !live(a, r.id) {
			added++
		}
	}
	for _, r := range a.rows {
		if !r.dead && !live(b, r.id) {
			deleted++
		}
	}
	if d.Added.Count != added || d.Deleted.Count != deleted {
		return fmt.Errorf("diff %q: %d rows added and %d deleted, want %d and %d", name, d.Added.Count, d.Deleted.Count, added, deleted)
	}
	return nil
}

// check looks at everything from outside.
func (w *world) check() error {
	for i, h := range w.handles {
		h.faults.SetPlan(nil)
		now := w.now(h)
		if err := shows(w.ctx, h.d, &now, fmt.Sprint("handle ", i)); err != nil {
			return err
		}
	}
	names := maps.Clone(w.heads)
	maps.Copy(names, w.tags)
	for name, at := range names {
		d, err := Open(w.ctx, w.env(nil), "mem://d", OpenOptions{At: name})
		if err != nil {
			return fmt.Errorf("open %q: %w", name, err)
		}
		err = shows(w.ctx, d, &w.commits[at], name)
		_ = d.Close()
		if err != nil {
			return err
		}
	}
	d := w.handles[0].d
	report, err := d.Versions().Fsck(w.ctx, maintain.FsckOptions{})
	if err == nil && len(report.Problems) > 0 {
		err = fmt.Errorf("fsck found %+v", report.Problems)
	}
	if err != nil {
		return err
	}
	return w.checkPast()
}

// execute runs a program and returns the number of completed steps, and the failure.
func execute(program []step) (int, error) {
	w, err := newWorld()
	if err != nil {
		return 0, err
	}
	defer w.close()
	for i, s := range program {
		if err := w.run(s); err != nil {
			return i + 1, fmt.Errorf("step %d, %s: %w", i, s, err)
		}
		h := w.handles[s.handle]
		h.faults.SetPlan(nil)
		now := w.now(h)
		if err := shows(w.ctx, h.d, &now, fmt.Sprintf("after step %d, %s, handle %d", i, s, s.handle)); err != nil {
			return i + 1, err
		}
	}
	return len(program), w.check()
}

// minimised leaves steps out of a failing program as long as it fails.
func minimised(program []step) []step {
	for size := len(program) / 2; size > 0; {
		shorter := false
		for from := 0; from+size <= len(program); from += size {
			try := slices.Concat(program[:from], program[from+size:])
			if _, err := execute(try); err != nil {
				program, shorter = try, true
				break
			}
		}
		if !shorter {
			size /= 2
		}
	}
	return program
}

func TestPrograms(t *testing.T) {
	t.Parallel()
	first, count, end := uint64(time.Now().UnixNano()), 1<<30, time.Now().Add(programTime)
	if testing.Short() {
		end = time.Now().Add(programTime / 6)
	}
	if s := os.Getenv("DEEPLAKE_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first, count = n, 1
	}
	if s := os.Getenv("DEEPLAKE_PROGRAMS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		count, end = n, time.Now().Add(24*time.Hour)
	}
	done := 0
	for i := 0; i < count && time.Now().Before(end); i++ {
		seed := first + uint64(i)
		program := randomProgram(seed)
		n, err := execute(program)
		done++
		if err == nil {
			continue
		}
		small := minimised(program[:n])
		_, err = execute(small)
		var lines []string
		for _, s := range small {
			lines = append(lines, s.String())
		}
		t.Fatalf("DEEPLAKE_SEED=%d (program %d): %v\nthe shortest program that fails:\n  %s", seed, i, err, strings.Join(lines, "\n  "))
	}
	t.Logf("%d programs from seed %d", done, first)
}
