package dataset

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"slices"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/version"
	"deeplake/core/version/chunkmap"
)

// A distributed write: Writes.Begin in one program, OpenTask and FragmentOf in any number of
// others, and Writes.Commit in one. FORMAT.md has what travels between them.

// DefaultLease is the time within which a lease is renewed, unless the caller says otherwise.
const DefaultLease = time.Hour

// leaseParts is the number of renewals within the time of a lease.
const leaseParts = 4

// taskOf is the task of a distributed write that a dataset is open for.
type taskOf struct {
	write format.Write
	key   string
	made  bool // its fragment
}

// unmade refuses changes behind the fragment.
func (t *taskOf) unmade() error {
	if t == nil || !t.made {
		return nil
	}
	return errs.Op("write for task", t.key).New(errs.Invalid, "its fragment is made; open another task for more rows")
}

// number gives tensors the ids that they have in all tasks.
func (t *taskOf) number(all []format.TensorSchema) {
	ids := map[format.UUID]format.UUID{}
	for i := range all {
		id := t.write.TensorID(all[i].Name)
		ids[all[i].ID], all[i].ID = id, id
	}
	for i := range all {
		if of := all[i].Reduces; of != nil {
			if id, ok := ids[of.Tensor]; ok {
				all[i].Reduces.Tensor = id
			}
		}
		if id, ok := ids[all[i].FramesOf]; ok {
			all[i].FramesOf = id
		}
	}
}

// notInTask refuses work on the whole dataset in a task.
func (d *Dataset) notInTask(verb string) error {
	if d.task == nil {
		return nil
	}
	return errs.New(errs.Invalid, "%s dataset %q: it is open for task %q of a distributed write; call fragment(), and hand its result to the program that commits", verb, d.URI(), d.task.key)
}

// leasing renews the lease of a write.
type leasing struct {
	lease  *version.Lease
	within time.Duration
	group  *task.Group
	last   chan time.Time // of the last renewal; has one value
}

func lease(ctx context.Context, r *version.Repo, write format.Write, within time.Duration) (*leasing, error) {
	l := &leasing{lease: version.NewLease(r, write, within), within: within, group: task.New(context.Background(), 0), last: make(chan time.Time, 1)}
	began := time.Now()
	if err := l.lease.Begin(ctx); err != nil {
		return nil, err
	}
	l.last <- began
	l.group.Go(l.renew)
	return l, nil
}

// renew goes on until the group is stopped. A renewal that fails is tried again at the next turn.
func (l *leasing) renew(ctx context.Context) error {
	turns := time.NewTicker(l.within / leaseParts)
	defer turns.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-turns.C:
		}
		began := time.Now()
		if l.lease.Renew(ctx) == nil {
			<-l.last
			l.last <- began
		}
	}
}

// stands reports whether the lease has half of its time left.
func (l *leasing) stands() bool {
	last := <-l.last
	l.last <- last
	return time.Since(last) < l.within/2
}

// stop ends the renewals.
func (l *leasing) stop() {
	l.group.Stop()
	_ = l.group.Wait()
}

// Writes are the distributed writes to a dataset.
type Writes struct{ d *Dataset }

// WritesTo returns the distributed writes to d.
func WritesTo(d *Dataset) Writes { return Writes{d} }

// Begin begins a distributed write on top of the dataset's commit, and returns its token: a
// JSON object for OpenTask and Commit. The lease keeps the chunks of the tasks, and the commit,
// from every gc. It is renewed until End or Close, and ends within the given time after that.
func (w Writes) Begin(ctx context.Context, within time.Duration) ([]byte, error) {
	d := w.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.mayBegin("begin a distributed write to"); err != nil {
		return nil, err
	}
	rec := d.head.Record
	plan := format.Write{Dataset: d.repo.TSF.UUID, Base: format.BranchPoint{Branch: rec.Branch, Version: rec.Version}, Commit: rec.UUID, ID: format.NewUUID()}
	token, err := format.EncodeWrite(plan)
	if err != nil {
		return nil, err
	}
	l, err := lease(ctx, d.repo, plan, within)
	if err != nil {
		return nil, err
	}
	if d.leases == nil {
		d.leases = map[format.UUID]*leasing{}
	}
	d.leases[plan.ID] = l
	return token, nil
}

// mayBegin refuses a distributed write where nothing can be written. The caller holds the lock.
func (d *Dataset) mayBegin(verb string) error {
	if _, err := d.transaction(); err != nil {
		return err
	}
	return d.settled(verb)
}

// End ends the lease of a write. What its tasks have written, and no commit names, is garbage.
func (w Writes) End(ctx context.Context, token []byte) error {
	d := w.d
	plan, err := format.DecodeWrite(token)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.open(); err != nil {
		return err
	}
	if l := d.leases[plan.ID]; l != nil {
		l.stop()
		delete(d.leases, plan.ID)
	}
	return version.NewLease(d.repo, plan, DefaultLease).End(ctx)
}

// OpenTask opens the dataset at uri for one task of a distributed write. Rows are those of the
// commit that the write began on, for all tasks. Attempts of a task have the same key; one of them
// is committed. FragmentOf takes the place of Commit.
func OpenTask(ctx context.Context, env *Env, uri string, token []byte, key string, o storage.Options) (*Dataset, error) {
	w, err := format.DecodeWrite(token)
	if err == nil {
		if bad := format.CheckTask(key); bad != nil {
			err = errs.Op("open task", key).New(errs.Invalid, "%w", bad)
		}
	}
	if err != nil {
		return nil, err
	}
	store, err := env.Stores.Open(ctx, uri, o)
	if err != nil {
		return nil, err
	}
	repo, base, err := version.OpenWrite(ctx, store, env.Writer, w)
	if err != nil {
		_ = store.Close()
		return nil, err
	}
	d := newDataset(env, store, repo, base, o)
	d.task = &taskOf{write: w, key: key}
	return d, nil
}

// FragmentOf makes all changes of a task durable, and returns their description: a JSON object for
// Writes.Commit. The dataset can be read, and not changed any more.
func FragmentOf(ctx context.Context, d *Dataset) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.open(); err != nil {
		return nil, err
	}
	if d.task == nil {
		return nil, errs.New(errs.Invalid, "dataset %q is not open for a task of a distributed write; call distributed_write() and task(), or commit()", d.URI())
	}
	w, err := d.transaction()
	if err != nil {
		return nil, err
	}
	if err := w.flush(ctx); err != nil {
		return nil, err
	}
	if err := w.fold(ctx); err != nil {
		return nil, err
	}
	f, err := version.MakeFragment(ctx, w.txn, d.task.write, d.task.key)
	if err != nil {
		return nil, err
	}
	message, name, object, err := format.EncodeFragment(f)
	if err == nil && object != nil {
		err = d.store.Put(ctx, format.TxnKey(name), object)
	}
	if err != nil {
		return nil, errs.Wrap(errs.Storage, "make fragment of task", d.task.key, err)
	}
	d.task.made = true
	return message, nil
}

// CommitFragmentsOptions are the options of Writes.Commit.
type CommitFragmentsOptions struct {
	Message string `json:"message"`
	// Key is as in CommitOnce. "": a commit of the same fragments, since the write began, stands
	// for this one.
	Key string `json:"idempotency_key"`
	// AllowMissing accepts a new tensor that has samples in some of the rows before the write only.
	AllowMissing bool `json:"allow_missing"`
}

// WriteReport describes a commit of fragments.
type WriteReport struct {
	version.Committed
	Fragments int      `json:"fragments"` // that the commit took in
	Repeated  []string `json:"repeated"`  // keys of tasks of which it left an attempt out
}

// Commit commits the fragments of a distributed write, their rows in the order given, all
// or none of them. The commits of others since the write began are taken in as Commit does. A
// fragment of a task that is committed already is errs.Conflict. The dataset moves to the new
// version.
func (w Writes) Commit(ctx context.Context, token []byte, fragments [][]byte, o CommitFragmentsOptions) (WriteReport, error) {
	d := w.d
	report := WriteReport{Repeated: []string{}}
	plan, err := format.DecodeWrite(token)
	if err != nil {
		return report, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.mayBegin("commit fragments to"); err != nil {
		return report, err
	}
	fragments = trimmed(fragments)
	d.drop()
	key, before := o.Key, true
	if key == "" {
		key, before = keyOf(fragments), false
	}
	if err := format.CheckKey(key); err != nil {
		return report, errs.Op("commit to", d.URI()).New(errs.Invalid, "%w", err)
	}
	deleted := d.checkBranch(ctx, plan.Base.Branch)
	if deleted != nil && !errs.Is(deleted, errs.NotFound) {
		return report, deleted
	}
	repo, base := d.repo, d.head
	if base.Record.UUID != plan.Commit {
		if repo, base, err = version.OpenWrite(ctx, d.store, d.env.Writer, plan); err != nil {
			return report, cmp.Or(deleted, err)
		}
	}
	if deleted != nil {
		txn := repo.Begin(base)
		txn.Key, txn.KeyBefore = key, before
		report.Committed, err = d.standing(ctx, txn, deleted)
		return report, err
	}
	parts, err := d.decodeFragments(ctx, fragments)
	if err != nil {
		return report, err
	}
	on, err := newWriterOn(&Dataset{env: d.env, store: d.store, repo: repo, head: base, chunks: d.chunks, links: d.links}, base)
	if err != nil {
		return report, err
	}
	defer func() { on.abort() }()
	on.session.ID = plan.Session()
	var leased func() bool
	if l := d.leases[plan.ID]; l != nil {
		leased = l.stands
	}
	collector := version.Collect(on.txn, plan, leased)
	if err := on.addFragments(ctx, collector, plan, parts, &report); err != nil {
		return report, err
	}
	if name, rows, all := collector.MissingRows(); all > 0 && !o.AllowMissing {
		return report, errs.Op("commit to", d.URI()).New(errs.Invalid, "no fragment has samples of the new tensor %q for %d rows, of which the first are %d; add the fragments of those rows, or allow missing ones (allow_missing=True)", name, all, rows)
	}
	if on.untouched() {
		report.Committed = version.Describe(d.head.Record)
		return report, nil
	}
	on.txn.Key, on.txn.KeyBefore = key, before
	head, err := on.txn.Commit(ctx, o.Message, d.env.author())
	if err != nil {
		return report, err
	}
	report.Committed = d.moveTo(head)
	return report, nil
}

// trimmed returns fragments as they were encoded: ways of sending texts lose or change their ends.
func trimmed(fragments [][]byte) [][]byte {
	out := make([][]byte, len(fragments))
	for i, f := range fragments {
		out[i] = slices.Concat(bytes.TrimSpace(f), []byte{'\n'})
	}
	return out
}

// checkBranch refuses to commit to a branch that was deleted: no name would lead to the commit. The
// caller holds the lock.
func (d *Dataset) checkBranch(ctx context.Context, branch format.UUID) error {
	if branch == d.repo.TSF.Main {
		return nil
	}
	all, err := d.repo.Branches(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(b version.Branch) bool { return b.ID == branch }) {
		return errs.Op("commit to", d.URI()).New(errs.NotFound, "the branch was deleted, and no name would lead to the commit; make the changes on another branch")
	}
	return nil
}

// standing returns the commit that has the key of a transaction whose branch was deleted. Else it
// returns deleted, which says so. The caller holds the lock.
func (d *Dataset) standing(ctx context.Context, t *version.Txn, deleted error) (none version.Committed, err error) {
	if !errs.Is(deleted, errs.NotFound) {
		return none, deleted
	}
	rec, at, err := version.Standing(ctx, t)
	switch {
	case err != nil:
		return none, err
	case rec == nil:
		return none, deleted
	case at == nil:
		d.drop()
		return version.Describe(rec), nil
	}
	return d.moveTo(at), nil
}

// keyOf is the key of a commit of these fragments.
func keyOf(fragments [][]byte) string {
	var all []byte
	for _, f := range fragments {
		name := format.ContentName(f)
		all = append(all, name[:]...)
	}
	name := format.ContentName(all)
	return "fragments " + hex.EncodeToString(name[:])
}

// contentsInFlight is the number of large fragments that are read at once.
const contentsInFlight = 16

// decodeFragments decodes fragments, and reads the contents of large ones.
func (d *Dataset) decodeFragments(ctx context.Context, fragments [][]byte) ([]*format.Fragment, error) {
	out := make([]*format.Fragment, len(fragments))
	g := task.New(ctx, contentsInFlight)
	for i, data := range fragments {
		f, err := format.DecodeFragment(data)
		if err != nil {
			_ = g.Wait()
			return nil, errs.New(errs.KindOf(err), "fragment %d: %w", i, err)
		}
		if out[i] = f; f.Object == nil {
			continue
		}
		g.Go(func(ctx context.Context) error {
			return chunkmap.FetchContent(ctx, d.store, f)
		})
	}
	return out, g.Wait()
}

// addFragments adds fragments to the transaction, in their order.
func (w *writer) addFragments(ctx context.Context, collector *version.Collector, plan format.Write, parts []*format.Fragment, report *WriteReport) error {
	for _, f := range parts {
		for _, r := range collector.Renumberings(f) {
			again, err := w.renumbered(ctx, plan, f, r)
			if err != nil {
				return err
			}
			f = again
		}
		added, err := collector.Add(f)
		switch {
		case err != nil:
			return err
		case added:
			report.Fragments++
		case !slices.Contains(report.Repeated, f.Task):
			report.Repeated = append(report.Repeated, f.Task)
		}
	}
	return w.resolveTypes()
}

// renumbered returns a fragment with labels of which the classes have other numbers in the
// fragments before it.
func (w *writer) renumbered(ctx context.Context, plan format.Write, f *format.Fragment, r version.Renumbering) (*format.Fragment, error) {
	own, err := newWriterOn(w.d, w.txn.Base())
	if err != nil {
		return nil, err
	}
	defer own.abort()
	own.session.ID = plan.Session()
	collector := version.Collect(own.txn, plan, nil)
	if _, err := collector.Add(f); err != nil {
		return nil, err
	}
	if err := own.resolveTypes(); err != nil {
		return nil, err
	}
	r.Rows = collector.WrittenRows(r.Tensor)
	if _, err := own.renumber(ctx, r); err != nil {
		return nil, err
	}
	return version.MakeFragment(ctx, own.txn, plan, f.Task)
}
