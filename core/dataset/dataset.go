package dataset

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
	"deeplake/core/version"
)

// Dataset is an open dataset: the newest commit it has seen, and uncommitted changes on top of it.
// All methods may be called in parallel. Methods that write wait for each other.
type Dataset struct {
	env    *Env
	store  storage.Provider
	repo   *version.Repo
	branch atomic.Pointer[string] // the name of repo's, for readers without the lock
	asked  OpenOptions
	past   atomic.Bool // at a commit of the past: opened so, or by Checkout
	ro     atomic.Bool

	foreign string // the format that store presents; "": it is this one

	chunks *chunkCache
	links  *linkSources

	// of the long operation that was begun last; nil: there was none
	working atomic.Pointer[version.Progress]

	mu     sync.Mutex
	closed bool
	head   *version.Snapshot
	w      *writer           // nil: nothing changed since head
	seen   *version.Snapshot // the snapshot of View while w != nil; nil: not made yet
	log    changes
	task   *taskOf                  // nil: the dataset is no task of a distributed write
	leases map[format.UUID]*leasing // of the distributed writes that began here
}

// Create makes a dataset without rows and opens it. A wrong tensor fails before anything is stored
// or replaced.
func Create(ctx context.Context, env *Env, uri string, o CreateOptions) (*Dataset, error) {
	schema, err := firstSchema(ctx, env, o.Tensors)
	if err != nil {
		return nil, err
	}
	store, err := env.Stores.Open(ctx, uri, creating(o.Storage))
	if err != nil {
		return nil, err
	}
	if err := vacant(ctx, env, store); err != nil {
		_ = store.Close()
		return nil, err
	}
	begin := version.Create
	switch {
	case o.Overwrite && o.AtCommit:
		begin = version.OverwriteAtCommit
	case o.Overwrite:
		begin = version.Overwrite
	}
	repo, head, err := begin(ctx, store, env.Writer, schema)
	if err != nil {
		_ = store.Close()
		return nil, err
	}
	return newDataset(env, store, repo, head, o.Storage), nil
}

// firstSchema makes the schema of a new dataset with these tensors, in a dataset in memory.
func firstSchema(ctx context.Context, env *Env, tensors []TensorSpec) (*format.Schema, error) {
	if len(tensors) == 0 {
		return &format.Schema{}, nil
	}
	memory := *env
	memory.Stores = storage.Registry{"mem": (&mem.Space{}).Open}
	trial, err := Create(ctx, &memory, "mem://schema", CreateOptions{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = trial.Close() }()
	for _, spec := range tensors {
		if err := trial.CreateTensor(ctx, spec); err != nil {
			return nil, err
		}
	}
	return trial.schema(), nil
}

// creating is o for a place that may be made.
func creating(o storage.Options) storage.Options {
	o.Create = true
	return o
}

// Open opens a dataset for reading, and for writing unless o forbids it.
func Open(ctx context.Context, env *Env, uri string, o OpenOptions) (*Dataset, error) {
	store, err := env.Stores.Open(ctx, uri, o.Storage)
	if errs.Is(err, errs.NotFound) {
		return nil, errs.Op("open dataset", uri).New(errs.NotFound, "there is no dataset; create it first: %w", err)
	}
	if err != nil {
		return nil, err
	}
	d, err := open(ctx, env, store, o)
	if err != nil {
		_ = store.Close()
		return nil, err
	}
	return d, nil
}

func open(ctx context.Context, env *Env, store storage.Provider, o OpenOptions) (*Dataset, error) {
	repo, head, err := find(ctx, env, store, o)
	foreign := ""
	if errs.Is(err, errs.NotFound) {
		var as storage.Provider
		if as, foreign, err = present(ctx, env.For(o.Storage.Settings), store, err); err == nil {
			store = as
			repo, head, err = find(ctx, env, store, o)
		}
	}
	if err != nil {
		return nil, err
	}
	d := newDataset(env, store, repo, head, o.Storage)
	d.asked, d.foreign = o, foreign
	d.past.Store(o.At != "")
	d.ro.Store(o.At != "" || o.ReadOnly || foreign != "")
	return d, nil
}

// reopen opens the store of the dataset once more.
func (d *Dataset) reopen(ctx context.Context) (storage.Provider, error) {
	store, err := d.env.Stores.Open(ctx, d.URI(), d.asked.Storage)
	if err != nil || d.foreign == "" {
		return store, err
	}
	as, _, err := present(ctx, d.env, store, errs.Op("open dataset", d.URI()).New(errs.NotFound, "it is gone"))
	if err != nil {
		_ = store.Close()
	}
	return as, err
}

// find reads the commit that o names.
func find(ctx context.Context, env *Env, store storage.Provider, o OpenOptions) (*version.Repo, *version.Snapshot, error) {
	if (o.Branch == "" || o.Branch == format.Main) && o.At == "" {
		return version.OpenHead(ctx, store, env.Writer)
	}
	repo, err := version.Open(ctx, store, env.Writer)
	if err == nil && o.Branch != "" {
		repo, err = repo.On(ctx, o.Branch)
	}
	if err != nil {
		return nil, nil, err
	}
	if o.At == "" {
		head, err := repo.Head(ctx)
		return repo, head, err
	}
	head, err := repo.At(ctx, o.At)
	return repo, head, err
}

func newDataset(env *Env, store storage.Provider, repo *version.Repo, head *version.Snapshot, o storage.Options) *Dataset {
	env = env.For(o.Settings)
	links := newLinkSources(env, store.URI(), o)
	d := &Dataset{env: env, store: store, head: head, chunks: newChunkCache(store, repo.TSF.UUID, links), links: links, asked: OpenOptions{Storage: o}}
	d.on(repo)
	return d
}

// Exists reports whether a dataset is at uri.
func Exists(ctx context.Context, env *Env, uri string, o storage.Options) (bool, error) {
	store, err := env.Stores.Open(ctx, uri, o)
	if errs.Is(err, errs.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = store.Close() }()
	found, err := version.Exists(ctx, store)
	if err == nil && !found {
		if err = vacant(ctx, env, store); errs.Is(err, errs.Exists) {
			found, err = true, nil
		}
	}
	return found, err
}

// Delete removes the dataset at uri with all its versions, or the remains of an interrupted
// deletion or copy. Without either it fails with errs.NotFound.
func Delete(ctx context.Context, env *Env, uri string, o storage.Options) error {
	store, err := env.Stores.Open(ctx, uri, o)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	return version.Delete(ctx, store)
}

// URI returns the address that opens the dataset again.
func (d *Dataset) URI() string { return d.store.URI() }

// ReadOnly reports whether writing is refused.
func (d *Dataset) ReadOnly() bool { return d.ro.Load() }

// Close drops uncommitted changes and releases the store. Views of the dataset fail afterwards.
// A second Close does nothing.
func (d *Dataset) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.drop()
	d.closed = true
	for _, l := range d.leases {
		l.stop()
	}
	d.links.close()
	return d.store.Close()
}

// Withdraw gives up a dataset that waits to replace another one at its first commit, and closes it.
// It reports whether this is one: then the other one is still there.
func (d *Dataset) Withdraw(ctx context.Context) (bool, error) {
	d.mu.Lock()
	repo := d.repo
	d.mu.Unlock()
	waits, err := repo.Withdraw(ctx)
	if waits {
		_ = d.Close()
	}
	return waits, err
}

// drop forgets the uncommitted changes.
func (d *Dataset) drop() {
	if d.w != nil {
		d.w.abort()
	}
	d.w, d.seen = nil, nil
	d.log.everything()
}

func (d *Dataset) open() error {
	if d.closed {
		return errs.New(errs.Closed, "dataset %q is closed; open it again", d.store.URI())
	}
	return nil
}

// writer returns the transaction for a change that may concern every sample.
func (d *Dataset) writer() (*writer, error) {
	w, err := d.transaction()
	if err == nil {
		d.log.everything()
	}
	return w, err
}

// transaction returns the transaction to change, beginning one if there is none. The caller notes
// the change in the log.
func (d *Dataset) transaction() (*writer, error) {
	if err := d.open(); err != nil {
		return nil, err
	}
	if err := d.ours(); err != nil {
		return nil, err
	}
	if err := d.task.unmade(); err != nil {
		return nil, err
	}
	if d.past.Load() && d.asked.At == "" {
		return nil, errs.New(errs.ReadOnly, "dataset %q is checked out at version %d, which cannot be changed; checkout(%q) returns to the branch, and checkout(name, create=True) makes a branch of this version",
			d.URI(), d.head.Record.Version, d.Branch())
	}
	if d.past.Load() {
		return nil, errs.New(errs.ReadOnly, "dataset %q is opened at version %d, which cannot be changed; open it without at=", d.URI(), d.head.Record.Version)
	}
	if d.ro.Load() {
		return nil, errs.New(errs.ReadOnly, "dataset %q is opened read-only; open it for writing", d.URI())
	}
	if d.w == nil {
		w, err := newWriter(d)
		if err == nil && d.task != nil {
			w.session.ID = d.task.write.Session()
		}
		if err != nil {
			return nil, err
		}
		d.w = w
	}
	if err := d.w.check(); err != nil {
		return nil, err
	}
	d.seen = nil
	return d.w, nil
}

// find returns the schema of a tensor, with uncommitted changes; nil if there is none.
func (d *Dataset) find(name string) *format.TensorSchema {
	if d.w == nil {
		return d.head.Schema.Find(name)
	}
	if ct := d.w.types[name]; ct != nil {
		return ct.schema
	}
	return nil
}

// CreateTensor adds a tensor. Rows that exist already are holes in it.
func (d *Dataset) CreateTensor(_ context.Context, spec TensorSpec) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.open(); err != nil {
		return err
	}
	ts, err := newTensor(spec, d.env.Codecs)
	if err != nil {
		return err
	}
	made, err := newMade(&ts, spec.Downsample)
	if err != nil {
		return errs.Wrap(errs.Invalid, "create tensor", spec.Name, err)
	}
	if old := d.find(spec.Name); old != nil {
		if !spec.ExistOK {
			return errs.Op("create tensor", spec.Name).New(errs.Exists, "it exists; use exist_ok, or take another name")
		}
		if err := sameLevels(d.schema(), old, spec.Downsample); err != nil {
			return err
		}
		if spec.Compression == "" { // a default is no wish, and files decide others
			ts.Compression = ""
		}
		return sameTensor(old, &ts)
	}
	w, err := d.writer()
	if err != nil {
		return err
	}
	return w.create(append([]format.TensorSchema{ts}, made...))
}

// schema returns the schema, with uncommitted changes.
func (d *Dataset) schema() *format.Schema {
	if d.w == nil {
		return d.head.Schema
	}
	return d.w.txn.Schema()
}

// sameTensor refuses exist_ok for a tensor that is another kind of thing.
func sameTensor(old, ts *format.TensorSchema) error {
	for _, f := range []struct{ what, old, got string }{
		{"htype", old.HType, ts.HType}, {"dtype", stated(old), stated(ts)}, {"compression", old.Compression, ts.Compression},
	} {
		if f.old != f.got && f.got != "" && f.old != "" {
			return errs.Op("create tensor", old.Name).New(errs.Exists, "it exists with %s %s, not %s", f.what, f.old, f.got)
		}
	}
	if old.Upright != ts.Upright {
		return errs.Op("create tensor", old.Name).New(errs.Exists, "it exists with apply_exif_orientation %v, not %v", old.Upright, ts.Upright)
	}
	return nil
}

// stated returns the dtype of a tensor with what its numbers count, "" if no sample decided it.
func stated(ts *format.TensorSchema) string {
	switch {
	case ts.Open:
		return ""
	case ts.Time != "":
		return ts.Time
	}
	return ts.DType
}

// SetInfo replaces the dataset's info.
func (d *Dataset) SetInfo(_ context.Context, info map[string]any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	w, err := d.writer()
	if err != nil {
		return err
	}
	w.txn.SetInfo(maps.Clone(info))
	return nil
}

// Append adds rows, all or none of them: every column is checked before anything is written. All
// columns have rows values, and every tensor has a column. Append keeps no reference to the
// columns' data. If the store fails in between, the transaction can only be discarded. Committed
// rows are safe.
func (d *Dataset) Append(ctx context.Context, cols []tensor.Rows, rows int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	w, err := d.writer()
	if err != nil {
		return err
	}
	w.caller = ctx
	return w.append(ctx, cols, rows)
}

// Update replaces the samples of rows, counted as the user counts them with uncommitted changes, in
// the tensors of cols.
func (d *Dataset) Update(ctx context.Context, rows []int64, cols []tensor.Rows) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	w, err := d.transaction()
	if err != nil {
		return err
	}
	w.caller = ctx
	d.log.update(w.touched(cols), rows)
	return w.update(ctx, rows, cols)
}

// DeleteRows removes rows. Later rows move up in the user's numbering.
func (d *Dataset) DeleteRows(_ context.Context, rows []int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	w, err := d.writer()
	if err != nil {
		return err
	}
	physical, err := w.physical(rows)
	if err != nil {
		return err
	}
	w.txn.Delete(physical)
	return nil
}

// Commit makes the changes durable and visible as a new version. With nothing to commit it makes no
// version and returns the head. After errs.Conflict the changes are still there.
func (d *Dataset) Commit(ctx context.Context, message string) (version.Committed, error) {
	return CommitOnce(ctx, d, message, "")
}

// CommitOnce is Commit, unless a commit of the branch's history has the key: then that one is the
// result, and the changes are dropped. The dataset does not go back to it. "" is no key.
func CommitOnce(ctx context.Context, d *Dataset, message, key string) (none version.Committed, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.notInTask("commit to"); err != nil {
		return none, err
	}
	w, err := d.writer()
	if err != nil {
		return none, err
	}
	if w.empty() {
		d.drop()
		return version.Describe(d.head.Record), nil
	}
	if err := w.flush(ctx); err != nil {
		return none, err
	}
	if err := w.fold(ctx); err != nil {
		return none, err
	}
	w.txn.Key, w.txn.KeyBefore = key, true
	if err := d.checkBranch(ctx, d.head.Record.Branch); err != nil {
		return d.standing(ctx, w.txn, err)
	}
	head, err := w.txn.Commit(ctx, message, d.env.author())
	if err != nil {
		return none, err
	}
	return d.moveTo(head), nil
}

// Discard drops the uncommitted changes.
func (d *Dataset) Discard(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.open(); err != nil {
		return err
	}
	d.drop()
	return nil
}

// Refresh moves on to the newest commit. It is refused while there are uncommitted changes:
// committing does it then.
func (d *Dataset) Refresh(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.open(); err != nil {
		return err
	}
	if d.past.Load() {
		return nil
	}
	if err := d.notInTask("refresh"); err != nil {
		return err
	}
	if d.w != nil && !d.w.empty() {
		return errs.Op("refresh dataset", d.URI()).New(errs.Conflict, "there are uncommitted changes; commit() takes in what others committed, discard() drops the changes")
	}
	head, err := d.repo.Head(ctx)
	if err != nil {
		return err
	}
	d.drop()
	d.head = head
	return nil
}

// Log lists at most limit commits, the newest first; limit <= 0 means all. A dataset of the past
// lists its own history.
func (d *Dataset) Log(ctx context.Context, limit int) ([]version.Committed, error) {
	repo, head, err := d.repository()
	if err != nil {
		return nil, err
	}
	if !d.past.Load() {
		if head, err = repo.Head(ctx); err != nil {
			return nil, err
		}
	}
	recs, err := repo.LogFrom(ctx, head, limit)
	if err != nil {
		return nil, err
	}
	out := make([]version.Committed, 0, len(recs))
	for _, rec := range recs {
		out = append(out, version.Describe(rec))
	}
	return out, nil
}

// access returns how another handle of this session opens the dataset: it follows the links that
// this one has added.
func (d *Dataset) access() storage.Options {
	o := d.asked.Storage
	o.Named = d.links.names()
	return o
}

// At opens a commit of the past, as OpenOptions.At names it, in a dataset of its own.
func (d *Dataset) At(ctx context.Context, ref string) (*Dataset, error) {
	if ref == "" {
		return nil, errs.Op("at", "").New(errs.Invalid, "want a version number, a commit or a time")
	}
	d.mu.Lock()
	closed, branch := d.open(), d.repo.Branch()
	d.mu.Unlock()
	if closed != nil {
		return nil, closed
	}
	return Open(ctx, d.env, d.URI(), OpenOptions{Branch: branch, At: ref, Storage: d.access()})
}

// View returns all present rows, uncommitted changes included. It does not change with the dataset.
func (d *Dataset) View(ctx context.Context) (*View, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.open(); err != nil {
		return nil, err
	}
	s, dirty := d.head, d.w != nil && !d.w.empty()
	if dirty {
		if d.seen == nil {
			seen, err := d.w.preview(ctx)
			if err != nil {
				return nil, err
			}
			d.seen = seen
		}
		s = d.seen
	}
	return newView(d, s, dirty)
}

// String names the dataset in messages.
func (d *Dataset) String() string { return fmt.Sprintf("dataset %q", d.URI()) }
