package version

import (
	"bytes"
	"context"
	"sync/atomic"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/version/chunkmap"
)

// Repo is one branch of a dataset: a sequence of commits in one store. It may be used in parallel.
type Repo struct {
	Store  storage.Provider
	TSF    format.TSF
	Pages  *chunkmap.Store
	Writer string           // names the software in records
	Now    func() time.Time // the clock; a test may set its own
	// OnRenumber gives labels of a merged commit the numbers of this branch. Nil: classes that the
	// two number differently are a conflict.
	OnRenumber Renumber

	name   string // of the branch
	branch format.UUID
	old    *predecessor // nil: r replaces no dataset that was there when it was made

	lastDeletions *deletions // shared by all branches
	keys          *keyIndex  // shared by all branches
}

func newRepo(p storage.Provider, tsf format.TSF, writer string) *Repo {
	return &Repo{Store: p, TSF: tsf, Pages: chunkmap.NewStore(p), Writer: writer, Now: time.Now, name: format.Main, branch: tsf.Main, lastDeletions: &deletions{}, keys: &keyIndex{of: map[format.UUID]*branchKeys{}}}
}

// Branch is the name of the branch that r is bound to.
func (r *Repo) Branch() string { return r.name }

// bound is r on another branch. The two share store and pages.
func (r *Repo) bound(name string, branch format.UUID) *Repo {
	other := *r
	other.name, other.branch = name, branch
	return &other
}

// bind is the binding of the object under key.
func (r *Repo) bind(key string) format.Binding {
	return format.Binding{Dataset: r.TSF.UUID, Key: key}
}

// PutOurs writes bytes that no other writer writes, conditionally. If the key holds them, the write
// has succeeded, even without an answer.
func PutOurs(ctx context.Context, p storage.Provider, key string, data []byte) error {
	err := putAbsent(ctx, p, key, data)
	if err == nil || notDurable(err) {
		return err
	}
	if found, readErr := p.Get(ctx, key); readErr == nil && bytes.Equal(found, data) {
		return nil
	}
	return err
}

// Open reads what p says about itself and binds to the branch main. It reads no commit.
func Open(ctx context.Context, p storage.Provider, writer string) (*Repo, error) {
	var tsf format.TSF
	err := chunkmap.Fetch(ctx, p, format.TSFKey(), func(data []byte) (err error) {
		tsf, err = format.DecodeTSF(data)
		return errs.Wrap(errs.Corrupt, "read", format.TSFKey(), err)
	})
	if gone := bucketGone(err); gone != nil {
		return nil, errs.Wrap(errs.NotFound, "open dataset", p.URI(), gone)
	}
	if errs.Is(err, errs.NotFound) {
		return nil, errs.Op("open dataset", p.URI()).New(errs.NotFound, "there is no dataset (no object %q); create it first", format.TSFKey())
	}
	if err != nil {
		return nil, errs.Wrap(errs.Storage, "open dataset", p.URI(), err)
	}
	if tsf.Deleting {
		return nil, errs.Op("open dataset", p.URI()).New(errs.NotFound, "it is being deleted; delete() finishes a deletion that was broken off")
	}
	return newRepo(p, tsf, writer), nil
}

// OpenHead is Open and Head. A store at a distance lists records while it says which branch is
// main: where there is no other branch, the first of all is the newest of main.
func OpenHead(ctx context.Context, p storage.Provider, writer string) (*Repo, *Snapshot, error) {
	var first format.BranchPoint // zero: not known
	g := task.New(ctx, 0)
	if storage.Remote(p) {
		g.Go(func(ctx context.Context) error {
			_ = List(ctx, p, format.RecordsPrefix(), "", func(o storage.Object) bool {
				// if it fails, main's will say why
				if branch, version, err := format.ParseRecordKey(o.Key); err == nil {
					first = format.BranchPoint{Branch: branch, Version: version}
				}
				return false
			})
			return nil
		})
	}
	r, err := Open(ctx, p, writer)
	if err != nil {
		g.Stop()
	}
	if panicked := g.Wait(); err == nil {
		err = panicked
	}
	if err != nil {
		return nil, nil, err
	}
	if first.Branch != r.branch {
		s, err := r.Head(ctx)
		return r, s, err
	}
	rec, err := r.listed(ctx, first.Version)
	if err != nil {
		return nil, nil, err
	}
	s, err := r.load(ctx, rec)
	return r, s, err
}

// Progress counts the work of a long operation. It may be read at any time. Methods of a nil
// Progress do nothing.
type Progress struct {
	Items, Bytes           atomic.Int64 // objects, or rows of a tensor, that are done
	TotalItems, TotalBytes atomic.Int64 // to be done; 0 until that is known, and where it never is
}

func (p *Progress) Did(items, bytes int64) {
	if p != nil {
		p.Items.Add(items)
		p.Bytes.Add(bytes)
	}
}

func (p *Progress) Expect(items, bytes int64) {
	if p != nil {
		p.TotalItems.Add(items)
		p.TotalBytes.Add(bytes)
	}
}

// List calls fn for the objects of a dataset below prefix, in the order of their keys, until fn
// returns false. File browsers, network disks and uploads that were broken off leave files among
// them: a file whose key is none of the format is passed over.
func List(ctx context.Context, p storage.Provider, prefix, after string, fn func(storage.Object) bool) error {
	return p.List(ctx, prefix, after, func(o storage.Object) bool {
		return !format.OurKey(o.Key) || fn(o)
	})
}

// IsDamage reports whether err is about the object and not about reaching the store.
func IsDamage(err error) bool {
	return errs.Is(err, errs.Corrupt) || errs.Is(err, errs.Unsupported) || errs.Is(err, errs.NotFound)
}
