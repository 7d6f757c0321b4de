package version

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/version/chunkmap"
)

// Branch is a branch by name.
type Branch struct {
	Name string
	ID   format.UUID
}

// Tag is a commit that has a name for good.
type Tag struct {
	Name string
	format.Tag
}

// refTries bounds how often a change of a branch's name is repeated because another writer changed
// it.
const refTries = 16

// On binds to another branch; errs.NotFound if there is none of that name.
func (r *Repo) On(ctx context.Context, branch string) (*Repo, error) {
	if branch == r.name && branch == format.Main {
		return r, nil
	}
	if branch == format.Main {
		return r.bound(format.Main, r.TSF.Main), nil
	}
	if err := format.CheckRefName(branch); err != nil {
		return nil, errs.Wrap(errs.Invalid, "open branch", branch, err)
	}
	head, _, err := r.branchHead(ctx, branch)
	if err != nil {
		return nil, err
	}
	if head.Branch.IsZero() {
		return nil, r.noSuchBranch(ctx, branch)
	}
	return r.bound(branch, head.Branch), nil
}

func (r *Repo) noSuchBranch(ctx context.Context, name string) error {
	branches, err := r.Branches(ctx)
	if errs.Is(err, errs.Unsupported) {
		return errs.New(errs.NotFound, "dataset %q has no branch %q", r.Store.URI(), name)
	}
	if err != nil {
		return err
	}
	names := make([]string, len(branches))
	for i, b := range branches {
		names[i] = b.Name
	}
	return errs.New(errs.NotFound, "dataset %q has no branch %q; its branches are %s%s", r.Store.URI(), name, quoted(names), errs.Suggest(name, names))
}

// nextNumber is the number behind that of the newest object about a name, whose keys begin with
// after; 0: there is none.
func (r *Repo) nextNumber(
	ctx context.Context, prefix, after string, parse func(key string) (string, uint64, error), key func(n uint64) string,
) (next uint64, err error) {
	var bad error
	err = List(ctx, r.Store, prefix, after, func(o storage.Object) bool {
		if !strings.HasPrefix(o.Key, after) {
			return false
		}
		_, n, err := parse(o.Key)
		next, bad = max(next, n+1), err
		return err == nil
	})
	if errs.Is(err, errs.Unsupported) {
		last, err := r.lastNumber(ctx, 0, func(ctx context.Context, n uint64) (err error) {
			_, err = r.Store.Get(ctx, key(n))
			return err
		})
		if err != nil || last < 0 {
			return 0, err
		}
		return uint64(last) + 1, nil
	}
	if err != nil {
		return 0, err
	}
	return next, bad
}

// branchHead reads the newest object about a name: its number is next-1. Without one, next is 0.
func (r *Repo) branchHead(ctx context.Context, name string) (head format.Head, next uint64, err error) {
	if next, err = r.nextNumber(ctx, format.HeadsPrefix(), format.HeadAfter(name), format.ParseHeadKey, func(n uint64) string { return format.HeadKey(name, n) }); err != nil || next == 0 {
		return head, next, err
	}
	head, err = r.readHead(ctx, format.HeadKey(name, next-1))
	return head, next, err
}

func (r *Repo) readHead(ctx context.Context, key string) (format.Head, error) {
	return chunkmap.FetchRequired(ctx, r.Store, "read branch", key, func(data []byte) (format.Head, error) {
		if r.replaced(data) {
			return format.Head{}, nil
		}
		return format.DecodeHead(data, r.bind(key))
	})
}

// Branches lists the branches by name, main among them.
func (r *Repo) Branches(ctx context.Context) ([]Branch, error) {
	last := map[string]uint64{}
	var bad error
	if err := List(ctx, r.Store, format.HeadsPrefix(), "", func(o storage.Object) bool {
		name, n, err := format.ParseHeadKey(o.Key)
		if bad = err; err == nil {
			last[name] = max(last[name], n)
		}
		return err == nil
	}); err != nil {
		return nil, err
	}
	if bad != nil {
		return nil, bad
	}
	all := []Branch{{format.Main, r.TSF.Main}}
	for name := range last {
		all = append(all, Branch{Name: name})
	}
	g := task.New(ctx, RefsInFlight)
	for i := range all[1:] {
		b := &all[1+i]
		g.Go(func(ctx context.Context) error {
			head, err := r.readHead(ctx, format.HeadKey(b.Name, last[b.Name]))
			b.ID = head.Branch
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(b Branch) bool { return b.ID.IsZero() })
	slices.SortFunc(all, func(a, b Branch) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// RefsInFlight is the number of refs read at once.
const RefsInFlight = 16

// CheckCommitted refuses a snapshot that is not a commit.
func CheckCommitted(op, name string, at *Snapshot) error {
	if at.Record.UUID.IsZero() {
		return errs.Op(op, name).New(errs.Invalid, "there are uncommitted changes; commit() or discard() them first")
	}
	return nil
}

// checkNewRef checks the name of a new branch or tag. Digits that could begin the uuid of a commit
// are no name: they would hide that commit.
func checkNewRef(op, name string) error {
	if err := format.CheckRefName(name); err != nil {
		return errs.Wrap(errs.Invalid, op, name, err)
	}
	if isPrefix(name) {
		return errs.Op(op, name).New(errs.Invalid, "%d to 32 hexadecimal digits would mean a commit; add another letter, \"-\" or \"_\"", minCommitPrefix)
	}
	return nil
}

// noTag refuses the name of a tag for a new branch.
func (r *Repo) noTag(ctx context.Context, name string) error {
	_, err := r.tag(ctx, name)
	if errs.Is(err, errs.NotFound) {
		return nil
	}
	if err == nil {
		err = errs.Op("create branch", name).New(errs.Exists, "a tag of dataset %q has that name; take another name", r.Store.URI())
	}
	return err
}

// noBranch refuses the name of a branch for a new tag.
func (r *Repo) noBranch(ctx context.Context, name string) error {
	head, _, err := r.branchHead(ctx, name)
	if errs.Is(err, errs.Denied) {
		return nil // for who may write and not list, branches are not known
	}
	if err == nil && !head.Branch.IsZero() {
		err = errs.Op("create tag", name).New(errs.Exists, "a branch of dataset %q has that name; take another name", r.Store.URI())
	}
	return err
}

// CreateBranch makes a branch that begins as the commit at, and binds to it; errs.Exists if a
// branch or a tag has that name. It reads and writes the same few objects whatever the size of the
// dataset. A commit that is expired is errs.NotFound. Of several creations of a branch at the same
// time one succeeds.
func (r *Repo) CreateBranch(ctx context.Context, name string, at *Snapshot, author string) (*Repo, *Snapshot, error) {
	if err := checkNewRef("create branch", name); err != nil {
		return nil, nil, err
	}
	if err := CheckCommitted("create branch", name, at); err != nil {
		return nil, nil, err
	}
	on := r.bound(name, format.NewUUID())
	rec := on.first(at.Record, author)
	data, err := format.EncodeRecord(rec)
	if err != nil {
		return nil, nil, err
	}
	// These checks run beside the first writes of claim, and end before the write of the name.
	g := r.sameBeside(ctx, "create branch in")
	g.Go(func(ctx context.Context) error {
		return errs.Wrap(errs.NotFound, "create branch", name, r.unexpired(ctx, at.Record))
	})
	g.Go(func(ctx context.Context) error { return r.noTag(ctx, name) })
	err = r.claim(ctx, name, rec, data, g.Wait)
	if failed := g.Wait(); failed != nil {
		err = failed
	}
	if err != nil {
		return nil, nil, err
	}
	return on, &Snapshot{Record: rec, Schema: at.Schema, Deleted: at.Deleted, Live: at.Live, pages: r.Pages}, nil
}

// first is record 0 of the branch, which leaves its parent at the commit base.
func (r *Repo) first(base *format.Record, author string) *format.Record {
	rec := *base
	rec.UUID, rec.Branch, rec.Version = format.NewUUID(), r.branch, 0
	rec.Parent, rec.Base, rec.Merged = &base.UUID, &format.BranchPoint{Branch: base.Branch, Version: base.Version}, nil
	rec.Time = notBefore(r.Now(), base)
	rec.Author, rec.Message, rec.Writer = author, "create branch \""+r.name+"\"", r.Writer
	rec.Ops, rec.Txn = []format.Op{}, nil
	unkey(&rec)
	return &rec
}

// notBefore is now, or the time of the newest of recs where a clock lags behind it.
func notBefore(now time.Time, recs ...*format.Record) time.Time {
	now = now.UTC()
	for _, rec := range recs {
		if now.Before(rec.Time) {
			now = rec.Time
		}
	}
	return now
}

// claim stores record 0 of a new branch and gives it the name, unless may has an error.
func (r *Repo) claim(ctx context.Context, name string, rec *format.Record, data []byte, may func() error) error {
	stored := false
	for range refTries {
		head, next, err := r.branchHead(ctx, name)
		switch {
		case err != nil:
			return err
		case head.Branch == rec.Branch:
			return nil // an answer was lost
		case name == format.Main || !head.Branch.IsZero():
			return errs.Op("create branch", name).New(errs.Exists, "it exists in dataset %q; open it, or take another name", r.Store.URI())
		}
		if !stored {
			if err := PutOurs(ctx, r.Store, format.RecordKey(rec.Branch, 0), data); err != nil {
				return err
			}
			stored = true
		}
		if err := may(); err != nil {
			return err
		}
		key := format.HeadKey(name, next)
		if err := PutOurs(ctx, r.Store, key, format.EncodeHead(format.Head{Branch: rec.Branch}, r.bind(key))); !errs.Is(err, errs.Exists) {
			return err
		}
	}
	return errs.Op("create branch", name).New(errs.Conflict, "others go on creating and deleting it in dataset %q; try again", r.Store.URI())
}

// DeleteBranch takes the name away from a branch; errs.NotFound if there is none. Its commits stay
// where they are until a gc finds that no other name leads to them. A writer that commits
// to it at the same moment loses the commit with the branch. main cannot be deleted.
func (r *Repo) DeleteBranch(ctx context.Context, name string) error {
	if name == format.Main {
		return errs.Op("delete branch", name).New(errs.Invalid, "every dataset has it")
	}
	if err := format.CheckRefName(name); err != nil {
		return errs.Wrap(errs.Invalid, "delete branch", name, err)
	}
	g := r.sameBeside(ctx, "delete branch of")
	for range refTries {
		head, next, err := r.branchHead(ctx, name)
		if changed := g.Wait(); changed != nil {
			return changed
		}
		if err != nil {
			return err
		}
		if head.Branch.IsZero() {
			return errs.Wrap(errs.NotFound, "delete branch", name, r.noSuchBranch(ctx, name))
		}
		key := format.HeadKey(name, next)
		if err := PutOurs(ctx, r.Store, key, format.EncodeHead(format.Head{}, r.bind(key))); !errs.Is(err, errs.Exists) {
			return err
		}
	}
	return errs.Op("delete branch", name).New(errs.Conflict, "others go on creating and deleting it in dataset %q; try again", r.Store.URI())
}

// Tags lists the tags by name, without deleted ones.
func (r *Repo) Tags(ctx context.Context) ([]Tag, error) {
	var names []string
	gone := map[string]bool{}
	var bad error
	if err := List(ctx, r.Store, format.TagsPrefix(), "", func(o storage.Object) bool {
		name, buried, err := format.ParseTagKey(o.Key)
		if bad = err; buried {
			gone[name] = true
		} else {
			names = append(names, name)
		}
		return err == nil
	}); err != nil {
		return nil, err
	}
	if bad != nil {
		return nil, bad
	}
	names = slices.DeleteFunc(names, func(name string) bool { return gone[name] })
	slices.Sort(names)
	tags := make([]Tag, len(names))
	g := task.New(ctx, RefsInFlight)
	for i, name := range names {
		g.Go(func(ctx context.Context) (err error) {
			tags[i], err = r.readTag(ctx, name)
			if errs.Is(err, errs.NotFound) && len(r.TSF.Replaces) > 0 {
				return nil // of a dataset that was overwritten
			}
			return err
		})
	}
	err := g.Wait()
	return slices.DeleteFunc(tags, func(t Tag) bool { return t.Commit.IsZero() }), err
}

// readTag reads a tag, deleted or not; errs.NotFound if there never was one.
func (r *Repo) readTag(ctx context.Context, name string) (Tag, error) {
	tag := Tag{Name: name}
	key := format.TagKey(name)
	err := chunkmap.Fetch(ctx, r.Store, key, func(data []byte) (err error) {
		if r.replaced(data) {
			return errs.Op("read tag", name).New(errs.NotFound, "it is of a dataset that was overwritten; gc() removes it")
		}
		tag.Tag, err = format.DecodeTag(data, r.bind(key))
		return errs.Wrap(errs.Corrupt, "read tag", name, err)
	})
	return tag, err
}

// tag reads a tag that is not deleted.
func (r *Repo) tag(ctx context.Context, name string) (Tag, error) {
	t, err := r.readTag(ctx, name)
	if err != nil {
		return Tag{}, err
	}
	buried, err := r.tagBuried(ctx, name)
	if err == nil && buried {
		err = errs.New(errs.NotFound, "tag %q of dataset %q is deleted", name, r.Store.URI())
	}
	return t, err
}

func (r *Repo) tagBuried(ctx context.Context, name string) (bool, error) {
	key := format.BuriedTagKey(name)
	err := chunkmap.Fetch(ctx, r.Store, key, func(data []byte) error {
		if r.replaced(data) {
			return errs.Op("read", key).New(errs.NotFound, "it is of a dataset that was overwritten")
		}
		return errs.Wrap(errs.Corrupt, "read", key, format.DecodeBuried(data, r.bind(key)))
	})
	if errs.Is(err, errs.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// CreateTag gives the commit at a name for good; errs.Exists if a tag has or had that name, or a
// branch has it, errs.NotFound if the commit is expired. If another writer creates a branch of that
// name at the same time, both may succeed; At then refuses the name.
func (r *Repo) CreateTag(ctx context.Context, name string, at *Snapshot, message, author string) (Tag, error) {
	if err := checkNewRef("create tag", name); err != nil {
		return Tag{}, err
	}
	if name == format.Main {
		return Tag{}, errs.Op("create tag", name).New(errs.Exists, "a branch of dataset %q has that name; take another name", r.Store.URI())
	}
	if err := CheckCommitted("create tag", name, at); err != nil {
		return Tag{}, err
	}
	g := r.sameBeside(ctx, "create tag in")
	g.Go(func(ctx context.Context) error { return r.noBranch(ctx, name) })
	err := r.unexpired(ctx, at.Record)
	if changed := g.Wait(); changed != nil {
		return Tag{}, changed
	}
	if err != nil {
		return Tag{}, errs.Wrap(errs.NotFound, "create tag", name, err)
	}
	t := format.Tag{Branch: at.Record.Branch, Version: at.Record.Version, Commit: at.Record.UUID, Time: r.Now().UTC(), Author: author, Message: message}
	data, err := format.EncodeTag(t, r.bind(format.TagKey(name)))
	if err != nil {
		return Tag{}, err
	}
	err = PutOurs(ctx, r.Store, format.TagKey(name), data)
	if !errs.Is(err, errs.Exists) {
		return Tag{name, t}, err
	}
	if buried, asked := r.tagBuried(ctx, name); asked == nil && buried {
		return Tag{}, errs.Op("create tag", name).New(errs.Exists, "there was one in dataset %q, and a name is given once; take another", r.Store.URI())
	}
	if _, err := r.readTag(ctx, name); errs.Is(err, errs.NotFound) && len(r.TSF.Replaces) > 0 {
		return Tag{}, errs.Op("create tag", name).New(errs.Exists, "the dataset that %q replaces left one of that name; gc() removes it, or take another name", r.Store.URI())
	}
	return Tag{}, errs.Op("create tag", name).New(errs.Exists, "it exists in dataset %q; take another name", r.Store.URI())
}

// DeleteTag buries a tag; errs.NotFound if there is none. The name can never be used again.
func (r *Repo) DeleteTag(ctx context.Context, name string) error {
	if err := format.CheckRefName(name); err != nil {
		return errs.Wrap(errs.Invalid, "delete tag", name, err)
	}
	g := r.sameBeside(ctx, "delete tag of")
	_, err := r.tag(ctx, name)
	if changed := g.Wait(); changed != nil {
		return changed
	}
	if err != nil {
		if !errs.Is(err, errs.NotFound) {
			return err
		}
		return errs.Op("delete tag", name).New(errs.NotFound, "dataset %q has no such tag", r.Store.URI())
	}
	key := format.BuriedTagKey(name)
	return PutOurs(ctx, r.Store, key, format.EncodeBuried(r.bind(key)))
}

// shownNames is the number of names that a message lists.
const shownNames = 16

func quoted(names []string) string {
	var b strings.Builder
	for i, name := range names {
		if i == shownNames {
			b.WriteString(", ...")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("\"" + name + "\"")
	}
	return b.String()
}
