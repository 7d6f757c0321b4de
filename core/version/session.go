package version

import (
	"context"
	"slices"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/version/chunkmap"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

const (
	// sessionTrust is the age up to which a transaction is taken for too young to have lost objects
	// to a gc that another process runs with a grace period.
	sessionTrust = time.Hour
	// sessionLimit is the age, by the clock of the store, from which a gc may remove objects of a
	// transaction before its commit is done: a day is left for the commit.
	sessionLimit = GCGrace - 24*time.Hour
)

// kept refuses to commit objects that a gc has removed, or may remove before the record stands:
// nothing names the chunks and side pages of a transaction until then.
func (t *Txn) kept(ctx context.Context) error {
	r := t.repo
	if t.collector != nil {
		return t.checkChunks(ctx)
	}
	age := r.Now().Round(0).Sub(t.began) // of the wall clock: a machine that slept has aged
	if age >= 0 && age < sessionTrust {
		return nil
	}
	chunks, sides := t.stored()
	if len(chunks)+len(sides) == 0 {
		return nil
	}
	now, err := r.storeTime(ctx, "commit to", false)
	if err != nil {
		return err
	}
	// A gc removes the chunks of a session when all are old, and side pages one by one.
	for session, ordinals := range chunks {
		var newest time.Time
		if err := List(ctx, r.Store, format.DataPrefix(session), "", func(o storage.Object) bool {
			if _, ordinal, err := format.ParseDataKey(o.Key); err == nil {
				ordinals.Remove(uint64(ordinal))
				if o.Modified.After(newest) {
					newest = o.Modified
				}
			}
			return true
		}); err != nil {
			return errs.Wrap(errs.Storage, "commit to", r.Store.URI(), err)
		}
		if !ordinals.IsEmpty() {
			return t.collected(format.DataKey(session, int64(ordinals.Minimum())))
		}
		if err := t.ripe(format.DataPrefix(session), newest, now); err != nil {
			return err
		}
	}
	for _, page := range sides {
		key, found := format.MapKey(page), storage.Object{}
		if err := List(ctx, r.Store, "map/", key[:len(key)-1], func(o storage.Object) bool {
			if o.Key == key {
				found = o
			}
			return o.Key < key
		}); err != nil {
			return errs.Wrap(errs.Storage, "commit to", r.Store.URI(), err)
		}
		if found.Key == "" {
			return t.collected(key)
		}
		if err := t.ripe(key, found.Modified, now); err != nil {
			return err
		}
	}
	return nil
}

// checkChunks refuses fragments whose chunks are not there, or that a gc may remove before the
// commit is done. One listing tells of all sessions of the write.
func (t *Txn) checkChunks(ctx context.Context) error {
	c, r := t.collector, t.repo
	left := 0
	for _, sizes := range c.chunks {
		left += len(sizes)
	}
	if left == 0 {
		return nil
	}
	var oldest, wrong storage.Object
	err := List(ctx, r.Store, "data/", c.write.SessionsFrom(), func(o storage.Object) bool {
		session, ordinal, err := format.ParseDataKey(o.Key)
		if err != nil || !c.write.Owns(session) {
			return err != nil && left > 0
		}
		want, named := c.chunks[session][ordinal]
		if !named {
			return true
		}
		if left--; want >= 0 && want != o.Size {
			wrong = o
		}
		if oldest.Key == "" || o.Modified.Before(oldest.Modified) {
			oldest = o
		}
		return left > 0 && wrong.Key == ""
	})
	switch {
	case err != nil:
		return errs.Wrap(errs.Storage, "commit to", r.Store.URI(), err)
	case wrong.Key != "":
		session, ordinal, _ := format.ParseDataKey(wrong.Key)
		return errs.Op("commit to", r.Store.URI()).New(errs.Invalid, "%q has %d bytes, and a fragment says %d; make the fragment again", wrong.Key, wrong.Size, c.chunks[session][ordinal])
	case left > 0:
		return errs.Op("commit to", r.Store.URI()).New(errs.Conflict, "%d chunks that fragments name are missing: a gc has removed them, or they were never written; run their tasks again", left)
	case c.leased != nil && c.leased():
		return nil
	}
	now, err := r.storeTime(ctx, "commit to", false)
	if err != nil {
		return err
	}
	return t.ripe(oldest.Key, oldest.Modified, now)
}

// stored are the chunks that the transaction names, by session, and the side pages that it stored
// ahead of its commit.
func (t *Txn) stored() (chunks map[format.UUID]*roaring64.Bitmap, sides []format.UUID) {
	chunks = map[format.UUID]*roaring64.Bitmap{}
	add := func(e *format.Entry) {
		set := chunks[e.Session]
		if set == nil {
			set = roaring64.New()
			chunks[e.Session] = set
		}
		set.AddRange(uint64(e.Ordinal), uint64(e.Ordinal+max(1, e.Tiles)))
	}
	for _, c := range t.columns {
		for i := range c.appended {
			add(&c.appended[i])
		}
		for _, e := range c.updated {
			if e.Rows > 0 { // else a hole
				add(&e)
			}
		}
		for _, edit := range slices.Concat(c.rewrites, c.filled) {
			for i := range edit.Entries {
				add(&edit.Entries[i])
			}
		}
	}
	for _, v := range t.full {
		if side, ok := v.(*chunkmap.StoredSide); ok {
			sides = append(sides, side.Name)
		}
	}
	return chunks, sides
}

func (t *Txn) collected(key string) error {
	return errs.Op("commit to", t.repo.Store.URI()).New(errs.Conflict, "%q is missing: what is written was begun at %s, and a gc has removed it since; discard() it, write it again, and commit more often than gc's older_than", key, t.began.UTC().Format(time.RFC3339Nano))
}

// ripe refuses objects that a gc may remove before the commit is done. A store that dates nothing
// keeps its objects: a gc takes them for young.
func (t *Txn) ripe(key string, modified, now time.Time) error {
	if modified.IsZero() || now.Sub(modified) < sessionLimit {
		return nil
	}
	return errs.Op("commit to", t.repo.Store.URI()).New(errs.Conflict, "%q was written %s ago, and a gc removes what is not committed after %s; discard() it, write it again, and commit at least once a day", key, now.Sub(modified).Round(time.Minute), GCGrace)
}

// GCGrace is the default age from which an object that no commit names is garbage. A commit of
// objects that are almost that old is refused; see Txn.kept.
const GCGrace = 7 * 24 * time.Hour

// storeTime is the time by the clock that dates objects: this machine's own may be days off, and
// then nothing would be young. Where nothing may be written, or the store dates nothing, it is this
// machine's.
func (r *Repo) storeTime(ctx context.Context, op string, dry bool) (time.Time, error) {
	if dry {
		return r.Now(), nil
	}
	probe := format.NewUUID()
	key := format.MapKey(probe)
	if err := r.Store.Put(ctx, key, []byte("gc")); err != nil {
		return time.Time{}, errs.Wrap(errs.Storage, op, r.Store.URI(), err)
	}
	now := r.Now()
	err := List(ctx, r.Store, "map/", key[:len(key)-1], func(o storage.Object) bool {
		if o.Key == key && !o.Modified.IsZero() {
			now = o.Modified
		}
		return o.Key < key
	})
	if err == nil {
		err = r.Store.Delete(ctx, key)
	}
	return now, errs.Wrap(errs.Storage, op, r.Store.URI(), err)
}

// Lease tells every gc that a distributed write goes on: objects that are younger than the lease
// stay, and the commit that the write began on does. It ends unless Renew follows within a time.
type Lease struct {
	repo   *Repo
	write  format.Write
	within time.Duration
}

// NewLease returns the lease of a write, which begins with Begin.
func NewLease(r *Repo, write format.Write, within time.Duration) *Lease {
	return &Lease{r, write, within}
}

// Begin writes the lease. If the commit is expired, that is errs.NotFound, and there is no lease.
func (l *Lease) Begin(ctx context.Context) error {
	w := l.write
	begun, _ := format.LeaseKeys(w.ID)
	data, err := format.EncodeLeaseBegun(l.repo.bind(begun), l.within, &w.Base)
	if err = l.put(ctx, begun, data, err); err != nil {
		return err
	}
	if err := l.Renew(ctx); err != nil {
		return err
	}
	// A gc that has looked for leases before may still expire the commit. It looks again before it
	// removes the commit's objects.
	if err := l.repo.notExpired(ctx, w.Base, w.Commit, w.ID); err != nil {
		_ = l.End(ctx) // else it ends by itself
		return errs.New(errs.KindOf(err), "begin a distributed write: %w", err)
	}
	return nil
}

// Renew goes on with the lease.
func (l *Lease) Renew(ctx context.Context) error {
	_, renewed := format.LeaseKeys(l.write.ID)
	data, err := format.EncodeLease(l.repo.bind(renewed), l.within)
	return l.put(ctx, renewed, data, err)
}

// End removes the lease. One that is missing is no error.
func (l *Lease) End(ctx context.Context) error {
	begun, renewed := format.LeaseKeys(l.write.ID)
	return errs.Wrap(errs.Storage, "end the lease of a write to", l.repo.Store.URI(), l.repo.Store.Delete(ctx, renewed, begun))
}

func (l *Lease) put(ctx context.Context, key string, data []byte, err error) error {
	if err == nil {
		err = l.repo.Store.Put(ctx, key, data)
	}
	return errs.Wrap(errs.Storage, "lease for a write to", l.repo.Store.URI(), err)
}

// lease is the known state of a lease.
type lease struct {
	write          format.UUID
	begun, renewed storage.Object // without a key: it is not there
	within         time.Duration
	base           *format.BranchPoint // nil: none that is known
}

// leases lists the leases, and reads those parts of them that decide. One that has just ended is
// left out. One that cannot be read has the longest time.
func (r *Repo) leases(ctx context.Context) ([]*lease, error) {
	known := map[format.UUID]*lease{}
	var all []*lease
	if err := List(ctx, r.Store, format.LeasePrefix(), "", func(obj storage.Object) bool {
		write, renewed, err := format.ParseLeaseKey(obj.Key)
		if err != nil {
			return true // of another owner
		}
		l := known[write]
		if l == nil {
			l = &lease{write: write, within: format.MaxLease}
			known[write], all = l, append(all, l)
		}
		if renewed {
			l.renewed = obj
		} else {
			l.begun = obj
		}
		return true
	}); err != nil {
		return nil, errs.Wrap(errs.Storage, "list the leases of", r.Store.URI(), err)
	}
	ended := make([]bool, len(all))
	g := task.New(ctx, RefsInFlight)
	for i, l := range all {
		g.Go(func(ctx context.Context) (err error) {
			ended[i], err = l.read(ctx, r)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	left := all[:0]
	for i, l := range all {
		if !ended[i] {
			left = append(left, l)
		}
	}
	return left, nil
}

// read reads the objects of a lease, and reports whether it has ended meanwhile.
func (l *lease) read(ctx context.Context, r *Repo) (ended bool, err error) {
	for _, obj := range []storage.Object{l.begun, l.renewed} {
		if obj.Key == "" {
			continue
		}
		data, err := r.Store.Get(ctx, obj.Key)
		if errs.Is(err, errs.NotFound) {
			return true, nil
		}
		if err != nil {
			return false, errs.Wrap(errs.Storage, "read lease", obj.Key, err)
		}
		var within time.Duration
		var bad error
		if obj.Key == l.begun.Key {
			within, l.base, bad = format.DecodeLeaseBegun(data, r.bind(obj.Key))
		} else {
			within, bad = format.DecodeLease(data, r.bind(obj.Key))
		}
		if l.within = within; bad != nil {
			l.within = format.MaxLease
		}
	}
	return false, nil
}

// last is the object of the last renewal.
func (l *lease) last() storage.Object {
	if l.renewed.Key == "" {
		return l.begun
	}
	return l.renewed
}

// leased reports whether a lease of another write than own keeps a commit. Leases that ended count
// too: a gc removes them before the objects that they kept.
func (r *Repo) leased(ctx context.Context, p format.BranchPoint, own format.UUID) (bool, error) {
	all, err := r.leases(ctx)
	return slices.ContainsFunc(all, func(l *lease) bool { return l.write != own && l.base != nil && *l.base == p }), err
}

// Leased names the objects that leases of distributed writes keep.
type Leased struct {
	Oldest time.Time            // when the oldest one that stands began; zero: none stands
	Bases  []format.BranchPoint // commits on which writes began whose leases stand
	Ended  []storage.Object     // leases that stand no more
}

// Leases returns the objects that current leases keep. A lease that cannot be read stands.
func (o Objects) Leases(ctx context.Context, now time.Time) (out Leased, err error) {
	all, err := o.repo.leases(ctx)
	if err != nil {
		return out, err
	}
	for _, l := range all {
		if last := l.last().Modified; !last.IsZero() && now.Sub(last) > l.within {
			for _, obj := range []storage.Object{l.begun, l.renewed} {
				if obj.Key != "" {
					out.Ended = append(out.Ended, obj)
				}
			}
			continue
		}
		from := l.begun.Modified
		if l.begun.Key == "" {
			from = l.renewed.Modified.Add(-format.MaxLease)
		}
		if out.Oldest.IsZero() || from.Before(out.Oldest) {
			out.Oldest = from
		}
		if l.base != nil {
			out.Bases = append(out.Bases, *l.base)
		}
	}
	return out, nil
}

// OpenWrite opens the dataset in p at the commit on which a distributed write began.
func OpenWrite(ctx context.Context, p storage.Provider, writer string, w format.Write) (*Repo, *Snapshot, error) {
	r, err := Open(ctx, p, writer)
	if err != nil {
		return nil, nil, err
	}
	op := errs.Op("open distributed write to", p.URI())
	if r.TSF.UUID != w.Dataset {
		return nil, nil, op.New(errs.Conflict, "dataset %s is there, and the write is of dataset %s; begin it again", r.TSF.UUID, w.Dataset)
	}
	if w.Base.Branch != r.TSF.Main {
		r = r.bound(w.Base.Branch.String(), w.Base.Branch)
	}
	rec, err := r.recordAt(ctx, w.Base)
	if err == nil && rec.UUID != w.Commit {
		err = op.New(errs.Conflict, "version %d is commit %s, and the write began on commit %s; begin it again", w.Base.Version, rec.UUID, w.Commit)
	}
	if err != nil {
		return nil, nil, err
	}
	var s *Snapshot
	var failed error
	g := task.New(ctx, 0)
	g.Go(func(ctx context.Context) error { return r.unexpired(ctx, rec) })
	g.Go(func(ctx context.Context) error {
		s, failed = r.load(ctx, rec)
		return nil
	})
	if err := g.Wait(); errs.Is(err, errs.NotFound) {
		return nil, nil, op.New(errs.NotFound, "%w; begin the write again", err)
	} else if err != nil {
		return nil, nil, err
	}
	return r, s, failed
}
