package dataset

import (
	"context"
	"fmt"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/version"
	"deeplake/core/version/maintain"
)

// BranchInfo is a branch and its newest commit.
type BranchInfo struct {
	Name string            `json:"name"`
	Head version.Committed `json:"head"`
}

// TagInfo is a tag and its commit.
type TagInfo struct {
	Name    string            `json:"name"`
	Message string            `json:"message"`
	Author  string            `json:"author"`
	Time    string            `json:"time"` // RFC 3339
	Commit  version.Committed `json:"commit"`
}

// LogEntry is a commit in a graph of commits.
type LogEntry struct {
	version.Committed
	Parents []string `json:"parents"` // the commit before it, then the one that a merge took in
	Names   []string `json:"names"`   // branches and tags that name it
}

// refsInFlight is the number of refs that are looked up at once.
const refsInFlight = 16

// Versions reads and changes the commits of a dataset and their names, without changing its rows.
// All methods may be called in parallel.
type Versions struct{ d *Dataset }

// Versions gives access to commits and names.
func (d *Dataset) Versions() Versions { return Versions{d} }

// repository returns the open branch, and the commit below the uncommitted changes.
func (d *Dataset) repository() (*version.Repo, *version.Snapshot, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.open(); err != nil {
		return nil, nil, err
	}
	return d.repo, d.head, nil
}

// writable is repository for operations that write names or objects but no rows.
func (d *Dataset) writable() (*version.Repo, *version.Snapshot, error) {
	repo, head, err := d.repository()
	if err == nil {
		err = d.ours()
	}
	if err == nil {
		err = d.notInTask("change")
	}
	if err == nil && d.ro.Load() && !d.past.Load() {
		err = errs.New(errs.ReadOnly, "dataset %q is opened read-only; open it for writing", d.URI())
	}
	return repo, head, err
}

// Branch returns the name of the branch that commits go to.
func (d *Dataset) Branch() string { return *d.branch.Load() }

// Branches lists the branches by name.
func (v Versions) Branches(ctx context.Context) ([]BranchInfo, error) {
	repo, _, err := v.d.repository()
	if err != nil {
		return nil, err
	}
	all, err := repo.Branches(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]BranchInfo, len(all))
	g := task.New(ctx, refsInFlight)
	for i, b := range all {
		g.Go(func(ctx context.Context) error {
			on, err := repo.On(ctx, b.Name)
			if err != nil {
				return err
			}
			head, err := on.Head(ctx)
			if err != nil {
				return err
			}
			out[i] = BranchInfo{b.Name, version.Describe(head.Record)}
			return nil
		})
	}
	return out, g.Wait()
}

// BranchOfCommit returns the name of the branch that has the commit which the dataset is at. It is
// that of Branch if no branch with a name has it, or if the store lists nothing.
func (v Versions) BranchOfCommit(ctx context.Context) (string, error) {
	repo, head, err := v.d.repository()
	if err != nil {
		return "", err
	}
	id := head.Record.Branch
	if id == repo.TSF.Main {
		return format.Main, nil
	}
	all, err := repo.Branches(ctx)
	if err != nil && !errs.Is(err, errs.Unsupported) {
		return "", err
	}
	for _, b := range all {
		if b.ID == id {
			return b.Name, nil
		}
	}
	return repo.Branch(), nil
}

// snapshot returns the commit that ref names; "" is the newest one that this dataset has seen.
func snapshot(ctx context.Context, repo *version.Repo, head *version.Snapshot, ref string) (*version.Snapshot, error) {
	if ref == "" {
		return head, nil
	}
	return repo.At(ctx, ref)
}

// CreateBranch makes a branch that begins at the commit that ref names, "" for the dataset's
// current commit. The dataset stays on its own branch. Uncommitted changes are not in the new
// branch.
func (v Versions) CreateBranch(ctx context.Context, name, ref string) error {
	repo, head, err := v.d.writable()
	if err != nil {
		return err
	}
	if head, err = snapshot(ctx, repo, head, ref); err != nil {
		return err
	}
	_, _, err = repo.CreateBranch(ctx, name, head, v.d.env.author())
	return err
}

// DeleteBranch takes the name of a branch away. Its commits stay until a gc finds that nothing else
// leads to them.
func (v Versions) DeleteBranch(ctx context.Context, name string) error {
	repo, _, err := v.d.writable()
	if err != nil {
		return err
	}
	if name == repo.Branch() && name != format.Main {
		return errs.Op("delete branch", name).New(errs.Invalid, "the dataset is on it; checkout another one first")
	}
	return repo.DeleteBranch(ctx, name)
}

// settled refuses to leave uncommitted changes behind. The caller holds the lock.
func (d *Dataset) settled(verb string) error {
	if err := d.notInTask(verb); err != nil {
		return err
	}
	if d.w != nil && !d.w.empty() {
		return errs.New(errs.Conflict, "%s dataset %q: there are uncommitted changes; commit() or discard() them first", verb, d.URI())
	}
	return nil
}

// Checkout switches to the newest commit of another branch. With create it first makes that branch
// at the current commit. Any other name of a commit, as OpenOptions.At has it, switches to that
// commit, for reading alone: Checkout of a branch leaves it. After an error the dataset has not
// moved.
func (d *Dataset) Checkout(ctx context.Context, name string, create bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.open(); err != nil {
		return err
	}
	if d.asked.At != "" {
		return errs.Op("checkout of dataset", d.URI()).New(errs.ReadOnly, "it is opened at version %d and stays there; open it with branch=, or create a branch at that version", d.head.Record.Version)
	}
	if create && d.asked.ReadOnly {
		return errs.New(errs.ReadOnly, "dataset %q is opened read-only; open it for writing", d.URI())
	}
	if err := d.settled("checkout of"); err != nil {
		return err
	}
	repo, head, err := d.target(ctx, name, create)
	if err != nil {
		return err
	}
	past := repo == nil
	d.drop()
	if !past {
		d.on(repo)
	}
	d.head = head
	d.past.Store(past)
	d.ro.Store(past || d.asked.ReadOnly || d.foreign != "")
	return nil
}

// target finds the branch and the commit that Checkout of name leads to. The branch is nil for a
// commit of the past.
func (d *Dataset) target(ctx context.Context, name string, create bool) (*version.Repo, *version.Snapshot, error) {
	if create {
		return d.repo.CreateBranch(ctx, name, d.head, d.env.author())
	}
	repo, err := d.repo.On(ctx, name)
	if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Invalid) {
		at, err := d.repo.At(ctx, name)
		return nil, at, err
	}
	if err != nil {
		return nil, nil, err
	}
	head, err := repo.Head(ctx)
	return repo, head, err
}

// on binds the dataset to a branch. The caller has the lock, or the only reference to the dataset.
func (d *Dataset) on(repo *version.Repo) {
	name := repo.Branch()
	d.repo = repo
	d.branch.Store(&name)
}

// Tags lists the tags by name.
func (v Versions) Tags(ctx context.Context) ([]TagInfo, error) {
	repo, _, err := v.d.repository()
	if err != nil {
		return nil, err
	}
	all, err := repo.Tags(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]TagInfo, len(all))
	g := task.New(ctx, refsInFlight)
	for i, t := range all {
		g.Go(func(ctx context.Context) error {
			s, err := repo.Tagged(ctx, t)
			if err != nil {
				return err
			}
			out[i] = tagInfo(t, s)
			return nil
		})
	}
	return out, g.Wait()
}

func tagInfo(t version.Tag, s *version.Snapshot) TagInfo {
	return TagInfo{t.Name, t.Message, t.Author, t.Time.Format("2006-01-02T15:04:05.999999999Z07:00"), version.Describe(s.Record)}
}

// CreateTag gives the commit that ref names, "" for the one that the dataset is at, a name for
// good.
func (v Versions) CreateTag(ctx context.Context, name, ref, message string) (TagInfo, error) {
	repo, head, err := v.d.writable()
	if err != nil {
		return TagInfo{}, err
	}
	if head, err = snapshot(ctx, repo, head, ref); err != nil {
		return TagInfo{}, err
	}
	t, err := repo.CreateTag(ctx, name, head, message, v.d.env.author())
	if err != nil {
		return TagInfo{}, err
	}
	return tagInfo(t, head), nil
}

// DeleteTag buries a tag: its name is never used again.
func (v Versions) DeleteTag(ctx context.Context, name string) error {
	repo, _, err := v.d.writable()
	if err != nil {
		return err
	}
	return repo.DeleteTag(ctx, name)
}

// moveTo makes head, the commit that stands for the uncommitted changes, the version that the
// dataset shows, unless it is an older one or of another branch. The caller holds the lock.
func (d *Dataset) moveTo(head *version.Snapshot) version.Committed {
	rec, now := head.Record, d.head.Record
	if rec.Branch == now.Branch && rec.Version >= now.Version {
		d.head = head
	}
	d.drop()
	made := version.Describe(rec)
	made.Renumbered = head.Renumbered
	return made
}

// Merge merges the commit that ref names, with its ancestors, into the current branch, as a commit.
// It reports whether there was anything to merge. After errs.Conflict nothing has changed; its
// version.ConflictError lists the conflicts.
func (d *Dataset) Merge(ctx context.Context, ref string, on version.Strategy, message string) (version.Committed, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var none version.Committed
	if _, err := d.writer(); err != nil { // read-only, closed
		return none, false, err
	}
	if err := d.settled("merge into"); err != nil {
		return none, false, err
	}
	if err := d.checkBranch(ctx, d.head.Record.Branch); err != nil {
		return none, false, err
	}
	d.drop()
	if message == "" {
		message = fmt.Sprintf("merge %q into %q", ref, d.repo.Branch())
	}
	theirs, err := d.repo.At(ctx, ref)
	if err != nil {
		return none, false, err
	}
	d.repo.OnRenumber = d.renumber
	head, done, err := d.repo.Merge(ctx, theirs, on, message, d.env.author())
	if err != nil {
		return none, false, err
	}
	d.head = head
	made := version.Describe(head.Record)
	made.Renumbered = head.Renumbered
	return made, done, nil
}

// RenameTensor gives a tensor, or a group of tensors, another name. Values and history stay with
// it.
func (d *Dataset) RenameTensor(_ context.Context, old, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := checkName(name); err != nil {
		return errs.Wrap(errs.Invalid, "rename tensor", old, err)
	}
	w, err := d.writer()
	if err != nil {
		return err
	}
	if err := w.isNotMade("rename", old); err != nil {
		return err
	}
	if hidden(old) {
		return errs.Wrap(errs.NotFound, "rename tensor", old, unknownTensor(w.txn.Schema(), old))
	}
	if err := w.txn.RenameTensor(old, name); err != nil {
		return err
	}
	if err := w.renameMade(); err != nil {
		w.broken = err
		return err
	}
	return w.renamed()
}

// DeleteTensor removes a tensor. Older versions keep it.
func (d *Dataset) DeleteTensor(_ context.Context, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	w, err := d.writer()
	if err != nil {
		return err
	}
	ts := w.txn.Schema().Find(name)
	if ts == nil || hidden(name) && ts.MadeOf().IsZero() {
		return errs.Wrap(errs.NotFound, "delete tensor", name, unknownTensor(w.txn.Schema(), name))
	}
	if err := w.isNotMade("delete", name); err != nil {
		return err
	}
	gone := map[format.UUID]string{ts.ID: name}
	for _, l := range w.madeFrom(ts.ID) {
		gone[l.ct.schema.ID] = l.ct.schema.Name
	}
	for id, name := range gone {
		if err := w.txn.DropTensor(name); err != nil {
			return err
		}
		for _, set := range []opened{w.adding, w.fixing} {
			if o := set[id]; o != nil {
				o.builder.Abort()
				delete(set, id)
			}
		}
	}
	return w.renamed()
}

// GC removes objects that no commit needs; see version.Repo.GC.
func (v Versions) GC(ctx context.Context, o maintain.GCOptions) (maintain.GCReport, error) {
	repo, _, err := v.d.writable()
	if err != nil {
		return maintain.GCReport{}, err
	}
	o.Progress = v.d.begun()
	return maintain.GC(ctx, repo, o)
}

// begun makes the counters of a long operation, which Progress shows from then on.
func (d *Dataset) begun() *version.Progress {
	p := &version.Progress{}
	d.working.Store(p)
	return p
}

// Progress is how far the GC, Fsck, Copy or Rechunk that was begun last has come. It does not wait
// for it.
func (v Versions) Progress() *version.Progress {
	if p := v.d.working.Load(); p != nil {
		return p
	}
	return &version.Progress{}
}

// Fsck looks for damage; see version.Repo.Fsck.
func (v Versions) Fsck(ctx context.Context, o maintain.FsckOptions) (maintain.FsckReport, error) {
	repo, _, err := v.d.repository()
	if err == nil && v.d.foreign != "" {
		err = errs.Op("fsck", v.d.URI()).New(errs.Unsupported, "it is a dataset of %s, which has no checksums; deeplake.copy(source, target) reads all of it", v.d.foreign)
	}
	if err == nil && o.Repair {
		repo, _, err = v.d.writable()
	}
	if err != nil {
		return maintain.FsckReport{}, err
	}
	o.Progress = v.d.begun()
	return maintain.Fsck(ctx, repo, o)
}

// CopyOptions are the options of Copy.
type CopyOptions struct {
	maintain.CopyOptions
	At       string // the commit to copy, only without history; "" is the newest one of main
	From, To OpenOptions
}

// Copy makes the dataset at dst a copy of the one at src; see maintain.Copy. A version to copy with
// the history of all is errs.Invalid.
func Copy(ctx context.Context, env *Env, src, dst string, o CopyOptions) (maintain.CopyReport, error) {
	var none maintain.CopyReport
	if o.History && o.At != "" {
		return none, errs.Op("copy", src).New(errs.Invalid, "history copies all versions, and at one of them; give one of the two")
	}
	o.From.At, o.From.ReadOnly = o.At, true
	from, err := Open(ctx, env, src, o.From)
	if err != nil {
		return none, err
	}
	defer func() { _ = from.Close() }()
	return from.Versions().Copy(ctx, dst, o.To.Storage, o.CopyOptions)
}

// Copy makes the dataset at dst a copy of this one, or without history of the commit that it is at;
// see maintain.Copy.
func (v Versions) Copy(ctx context.Context, dst string, reach storage.Options, o maintain.CopyOptions) (maintain.CopyReport, error) {
	repo, head, err := v.d.repository()
	if err != nil {
		return maintain.CopyReport{}, err
	}
	to, err := v.d.env.Stores.Open(ctx, dst, creating(reach))
	if err != nil {
		return maintain.CopyReport{}, err
	}
	defer func() { _ = to.Close() }()
	if o.Author == "" {
		o.Author = v.d.env.author()
	}
	if err := vacant(ctx, v.d.env, to); err != nil {
		return maintain.CopyReport{}, err
	}
	o.Progress = v.d.begun()
	if v.d.foreign != "" {
		return v.convert(ctx, repo, head, to, o)
	}
	return maintain.Copy(ctx, repo, head, to, o)
}

// convert writes a dataset of another format in this one.
func (v Versions) convert(ctx context.Context, repo *version.Repo, head *version.Snapshot, to storage.Provider, o maintain.CopyOptions) (maintain.CopyReport, error) {
	var none maintain.CopyReport
	store, ok := repo.Store.(Converter)
	if !ok {
		return none, errs.Op("copy", v.d.URI()).New(errs.Unsupported, "a dataset of %s cannot be copied", v.d.foreign)
	}
	if storage.Location(repo.Store) == storage.Location(to) {
		return none, errs.Op("copy", to.URI()).New(errs.Invalid, "the destination is the dataset itself")
	}
	found, err := version.Exists(ctx, to)
	if err == nil && found {
		err = errs.New(errs.Exists, "copy %q to %q: a dataset exists there; delete it, or copy to another place", v.d.URI(), to.URI())
	}
	if err != nil {
		return none, err
	}
	return store.Convert(ctx, to, head.Record, v.d.links, o)
}
