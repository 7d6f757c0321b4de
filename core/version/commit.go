package version

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/version/chunkmap"
)

// commitTries bounds how often a commit is laid on top of another writer's before it gives up: far
// more than writers that can pass each other in the time of one commit.
const commitTries = 1000

// unclearTries is the number of times that a conditional write without an answer is looked up.
const unclearTries = 3

// Commit stores the transaction as the commit after the head, laying it on top of what others have
// committed since its base. It takes the base for the head and looks again only when it has lost
// the race for the next number: pages that are not in memory are read, all that is new is written
// at once, then the record. On success the new head is returned. After errs.Conflict nothing of the
// transaction is visible, and errors.As finds a ConflictError that says more. After an error of the
// store the commit may have been made, if the answer to its last write was lost and could not be
// looked up; then Commit again finds it, and returns it as if for the first time. After any error
// the transaction may be committed again. Commit does not check that the branch still has its name.
//
// A dataset that was deleted or overwritten since it was opened is errs.Conflict: Commit checks
// that beside the upload of pages, and once more when the record stands, before it reports success.
func (t *Txn) Commit(ctx context.Context, message, author string) (*Snapshot, error) {
	s, err := t.commit(ctx, message, author)
	if err != nil && IsDamage(err) {
		if changed := t.repo.same(ctx, "commit to"); errs.Is(changed, errs.Conflict) {
			return nil, changed // that is why objects are missing
		}
	}
	return s, err
}

func (t *Txn) commit(ctx context.Context, message, author string) (*Snapshot, error) {
	clear(t.newer)
	clear(t.touched)
	for _, c := range t.columns {
		c.closeSide(t.full)
	}
	onto := t.base
	if len(t.tried) > 0 || t.collector != nil || t.Key != "" {
		var done bool
		var err error
		if s, err := t.keyed(ctx); s != nil || err != nil {
			return s, err
		}
		if onto, done, err = t.catchUp(ctx, onto, nil); err != nil || done {
			return onto, err
		}
	}
	if err := t.kept(ctx); err != nil {
		return nil, err
	}
	race := race{}
	for range commitTries {
		race.start()
		if err := t.renumber(ctx, onto); err != nil {
			return nil, err
		}
		next, err := t.next(ctx, onto)
		if err != nil {
			return nil, err
		}
		rec := next.Record
		rec.UUID, rec.Message, rec.Author = format.NewUUID(), message, author
		if rec.Key = t.Key; t.Key != "" {
			rec.Features = append(slices.Clone(rec.Features), format.FeatureKeyed)
		}
		rec.Time = notBefore(t.repo.Now(), onto.Record)
		data, stored, err := t.repo.store(ctx, next)
		if err != nil {
			return nil, err
		}
		t.full.MarkStored(stored)
		winner, err := t.repo.put(ctx, rec, data)
		if err != nil || winner == rec {
			t.tried = append(t.tried, attempt{rec.UUID, t.changes, t.schema.Clone(), notDurable(err)})
		}
		if err != nil {
			return nil, err
		}
		if winner == rec {
			next.held, next.Renumbered = nil, t.renumbered
			return next, nil
		}
		if err := race.lost(ctx); err != nil {
			return nil, errs.Wrap(errs.Canceled, "commit to", t.repo.Store.URI(), err)
		}
		var done bool
		if onto, done, err = t.catchUp(ctx, onto, winner); err != nil || done {
			return onto, err
		}
	}
	return nil, tooManyRaces(t.repo)
}

func tooManyRaces(r *Repo) error {
	return errs.Op("commit to", r.Store.URI()).New(errs.Conflict, "%d other commits came first; commit again", commitTries)
}

// race spreads the attempts of writers that want the same number. It waits before reading the
// newest commits: after a wait they would be old.
type race struct {
	began  time.Time
	losses int
}

// Bounds of the wait after a lost race. Longer waits than a few attempts only let the others win
// more often: of 24 writers 25 ms from their store, 5 s at most made 10 commits a second and four
// attempts make 16.
const (
	leastWait    = 100 * time.Microsecond
	mostAttempts = 4
)

func (r *race) start() { r.began = time.Now() }

// lost waits for a random part of an attempt's time, or of some after several losses.
func (r *race) lost(ctx context.Context) error {
	r.losses++
	wait := max(leastWait, time.Since(r.began)) * time.Duration(min(r.losses, mostAttempts))
	timer := time.NewTimer(rand.N(wait))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// store writes everything that the record of next names, at once, and returns the encoded record.
// The pages that next holds get their names, and the record the names of the roots.
func (r *Repo) store(ctx context.Context, next *Snapshot) ([]byte, *chunkmap.Sealed, error) {
	data, x, blobs, err := r.encode(ctx, next)
	if err != nil {
		return nil, nil, err
	}
	aside := task.New(ctx, 0)
	r.hint(aside, next.Record)
	aside.Go(func(ctx context.Context) error { return r.same(ctx, "commit to") })
	err = r.Pages.Upload(ctx, x, blobs)
	if changed := aside.Wait(); changed != nil {
		err = changed
	}
	return data, x, err
}

// encode encodes the record of next, its pages, and blobs by key, without writing any.
func (r *Repo) encode(ctx context.Context, next *Snapshot) (data []byte, x *chunkmap.Sealed, blobs map[string][]byte, err error) {
	rec := next.Record
	if x, err = r.Pages.Seal(ctx, next.held); err != nil {
		return nil, nil, nil, err
	}
	rec.RowIDs = x.Root(rec.RowIDs)
	for id, col := range rec.Columns {
		if root := x.Root(col.Root); root != col.Root {
			col.Root = root
			rec.Columns[id] = col
		}
	}
	if blobs, err = r.aside(next); err != nil {
		return nil, nil, nil, err
	}
	data, err = format.EncodeRecord(rec)
	return data, x, blobs, err
}

// aside encodes the objects of next besides its trees, by key, and makes the record name
// it.
func (r *Repo) aside(next *Snapshot) (map[string][]byte, error) {
	rec, blobs := next.Record, map[string][]byte{}
	put := func(key func(format.UUID) string, data []byte) *format.UUID {
		name := format.ContentName(data)
		blobs[key(name)] = data
		return &name
	}
	if rec.DeletedRows > 0 && rec.Deleted == nil {
		data, err := format.EncodeBitmap(next.Deleted)
		if err != nil {
			return nil, err
		}
		rec.Deleted = put(format.MapKey, data)
	}
	if rec.SchemaPage == nil {
		schema, err := format.EncodeSchema(next.Schema)
		if err != nil {
			return nil, err
		}
		if len(schema) > format.InlineSchema || format.RawBytes(schema) > format.InlineRaw {
			rec.Schema, rec.SchemaPage = nil, put(format.MapKey, schema)
		}
	}
	ops, err := format.EncodeOps(rec.Ops)
	if err != nil {
		return nil, err
	}
	if format.RawBytes(ops) > format.InlineOps {
		rec.Ops, rec.Txn = nil, put(format.TxnKey, ops)
	}
	if rec.ColumnsPage = nil; !format.LargeColumns(rec.Columns) {
		return blobs, nil
	}
	columns, err := format.EncodeColumns(rec.Columns)
	if err != nil {
		return nil, err
	}
	rec.ColumnsPage = put(format.MapKey, columns)
	return blobs, nil
}

// put is the conditional write. It returns the commit that has the number of rec: rec itself, or
// another one that came first. An answer that was lost is looked up. A record that stands and may
// not outlive a crash is an error.
func (r *Repo) put(ctx context.Context, rec *format.Record, data []byte) (*format.Record, error) {
	key := format.RecordKey(rec.Branch, rec.Version)
	for try := 0; ; try++ {
		err := putAbsent(ctx, r.Store, key, data)
		if err == nil {
			return rec, r.confirm(ctx)
		}
		if notDurable(err) {
			return nil, errs.Wrap(errs.Storage, "commit to", r.Store.URI(), err)
		}
		found, readErr := r.recordAt(ctx, format.BranchPoint{Branch: rec.Branch, Version: rec.Version})
		switch {
		case readErr == nil && found.UUID == rec.UUID:
			return rec, r.confirm(ctx)
		case readErr == nil:
			return found, nil
		case errs.Is(readErr, errs.NotFound) && try+1 < unclearTries && ctx.Err() == nil:
			continue // the number is free: the same write again
		case errs.Is(err, errs.Exists) && errs.Is(readErr, errs.NotFound) && bucketGone(readErr) == nil:
			return nil, errs.Op("commit to", r.Store.URI()).New(errs.Storage, "the store says of %q that it exists and, asked for it, that it does not, %d times; commit again", key, try+1)
		case errs.Is(err, errs.Exists):
			// the number is taken, perhaps by this very commit
			return nil, errs.Wrap(errs.Storage, "commit to", r.Store.URI(), readErr)
		default:
			return nil, errs.Wrap(errs.Storage, "commit to", r.Store.URI(), err)
		}
	}
}

// confirm checks the dataset's identity once more, for a record that stands, and lets a dataset
// that waits take its place. It repeats requests that fail: on an error the caller would commit the
// same changes twice.
func (r *Repo) confirm(ctx context.Context) error {
	for try := 1; ; try++ {
		err := r.same(ctx, "commit to")
		if err == nil {
			err = r.takePlace(ctx)
		}
		if !errs.Is(err, errs.Storage) || try == unclearTries {
			return err
		}
	}
}

// putAbsent is a conditional write, repeated until the object is durable.
func putAbsent(ctx context.Context, p storage.Provider, key string, data []byte) error {
	for try := 1; ; try++ {
		err := p.PutIfAbsent(ctx, key, data)
		if !notDurable(err) || try == unclearTries {
			return err
		}
	}
}

func notDurable(err error) bool {
	var stands *storage.NotDurable
	return errors.As(err, &stands)
}

// bucketGone returns the error of a missing bucket, nil if only an object is missing.
func bucketGone(err error) (gone *storage.NoBucket) {
	errors.As(err, &gone)
	return gone
}

// catchUp follows the commits after onto, of which the first may be known, checking that none
// contradicts the transaction, and returns the newest. When one of them is the transaction itself,
// whose answer was lost, it returns that one and done.
func (t *Txn) catchUp(ctx context.Context, onto *Snapshot, known *format.Record) (s *Snapshot, done bool, err error) {
	last := onto.Record
	err = t.repo.after(ctx, onto.Record, known, func(rec *format.Record) (bool, error) {
		if i := slices.IndexFunc(t.tried, func(a attempt) bool { return a.commit == rec.UUID }); i >= 0 {
			s, err = t.found(ctx, rec, t.tried[i])
			done = err == nil
			return false, err
		}
		if t.Key != "" && rec.Key == t.Key {
			s, err = t.repo.load(ctx, rec)
			done = err == nil
			return false, err
		}
		theirs, err := t.repo.ops(ctx, rec)
		if err != nil {
			return false, err
		}
		if t.collector.committedBy(theirs) {
			s, err = t.repo.load(ctx, rec)
			done = err == nil
			return false, err
		}
		last = rec
		return true, t.check(rec, theirs)
	})
	if err != nil || done {
		return s, done, err
	}
	if last == onto.Record {
		return onto, false, nil
	}
	s, err = t.repo.load(ctx, last)
	return s, false, err
}

// Catching up reads a few records at a time, then more.
const (
	firstAhead = 4
	mostAhead  = 64
)

// after calls fn for the commits of a branch that follow rec, in order, until it returns false. The
// first one may be known.
func (r *Repo) after(ctx context.Context, rec, known *format.Record, fn func(*format.Record) (bool, error)) error {
	at := format.BranchPoint{Branch: rec.Branch, Version: rec.Version + 1}
	if known != nil {
		if more, err := fn(known); err != nil || !more {
			return err
		}
		at.Version++
	}
	for n := uint64(firstAhead); ; n = min(2*n, mostAhead) {
		recs, err := r.recordsUp(ctx, at, n)
		if err != nil {
			return err
		}
		for _, rec := range recs {
			if rec == nil {
				return nil
			}
			if more, err := fn(rec); err != nil || !more {
				return err
			}
		}
		at.Version += n
	}
}

// keyed returns the commit up to the base that has the key of the transaction, nil if there is
// none, or if it need not be known.
func (t *Txn) keyed(ctx context.Context) (*Snapshot, error) {
	rec, err := t.keyedRecord(ctx)
	if rec == nil || err != nil {
		return nil, err
	}
	return t.repo.load(ctx, rec)
}

func (t *Txn) keyedRecord(ctx context.Context) (*format.Record, error) {
	if t.Key == "" || !t.KeyBefore {
		return nil, nil
	}
	return t.repo.withKey(ctx, t.base.Record, t.Key)
}

// Standing returns the commit that has the key of a transaction, in the history of its base or
// after it, nil if there is none. It commits nothing, so the branch may be gone: at is nil if a gc
// has removed the commit's pages since.
func Standing(ctx context.Context, t *Txn) (rec *format.Record, at *Snapshot, err error) {
	if rec, err = t.keyedRecord(ctx); rec == nil && err == nil && t.Key != "" {
		err = t.repo.after(ctx, t.base.Record, nil, func(next *format.Record) (bool, error) {
			if next.Key == t.Key {
				rec = next
			}
			return rec == nil, nil
		})
	}
	if rec == nil || err != nil {
		return nil, nil, err
	}
	if at, err = t.repo.load(ctx, rec); chunkmap.Absent(err) {
		return rec, nil, nil
	}
	return rec, at, err
}

// keyIndex has the idempotency keys of records that were read: a program that commits often looks
// at each record once.
type keyIndex struct {
	mu sync.Mutex
	of map[format.UUID]*branchKeys
}

// branchKeys are those of the first commits of a branch.
type branchKeys struct {
	known    uint64              // the number of these commits
	versions map[string]uint64   // with the key
	base     *format.BranchPoint // of the branch
}

// find looks for a key in the commits up to p, as far as they are known. rest is the first commit
// that is not, nil if all are.
func (x *keyIndex) find(p format.BranchPoint, key string) (found, rest *format.BranchPoint, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for range len(x.of) + 1 {
		b := x.of[p.Branch]
		if b == nil || b.known <= p.Version {
			return nil, &p, nil
		}
		if v, ok := b.versions[key]; ok && v <= p.Version {
			return &format.BranchPoint{Branch: p.Branch, Version: v}, nil, nil
		}
		if b.base == nil {
			return nil, nil, nil
		}
		p = *b.base
	}
	return nil, nil, circular(p)
}

// circular is the error of a branch that began on itself, or on a branch that began on it.
func circular(p format.BranchPoint) error {
	return errs.Op("read commit", format.RecordKey(p.Branch, p.Version)).New(errs.Corrupt, "its branch begins behind itself")
}

// note takes in commits of one branch, the newest first, down to those that are known.
func (x *keyIndex) note(recs []*format.Record) {
	x.mu.Lock()
	defer x.mu.Unlock()
	last := recs[len(recs)-1]
	b := x.of[last.Branch]
	if b == nil {
		b = &branchKeys{versions: map[string]uint64{}}
		x.of[last.Branch] = b
	}
	if last.Version > b.known {
		return
	}
	if last.Version == 0 {
		b.base = last.Base
	}
	for _, rec := range recs {
		if v, ok := b.versions[rec.Key]; rec.Key != "" && (!ok || rec.Version < v) {
			b.versions[rec.Key] = rec.Version
		}
	}
	b.known = max(b.known, recs[0].Version+1)
}

// withKey returns the commit that has an idempotency key among rec and those before it, nil if none
// has. It reads the records that this Repo has not looked at, and stops at the commit.
func (r *Repo) withKey(ctx context.Context, rec *format.Record, key string) (*format.Record, error) {
	h := r.searched()
	var fresh []*format.Record      // of one branch
	began := map[format.UUID]bool{} // branches, at their first commits
	for rec.Key != key {
		fresh = append(fresh, rec)
		if rec.Version == 0 && began[rec.Branch] {
			return nil, circular(format.BranchPoint{Branch: rec.Branch})
		}
		began[rec.Branch] = began[rec.Branch] || rec.Version == 0
		var found, rest *format.BranchPoint
		var err error
		p, ok := parent(rec)
		if ok {
			found, rest, err = r.keys.find(p, key)
		}
		if err != nil {
			return nil, err
		}
		if rest == nil || rest.Branch != rec.Branch {
			r.keys.note(fresh)
			fresh = nil
		}
		switch {
		case found != nil:
			return r.recordAt(ctx, *found)
		case rest == nil:
			return nil, nil
		}
		before, err := h.get(ctx, *rest)
		if err == nil && *rest == p {
			err = follows(rec, before)
		}
		if err != nil {
			return nil, err
		}
		rec = before
	}
	return rec, nil
}

// unkey takes the idempotency key out of a record that another commit is made of.
func unkey(rec *format.Record) {
	rec.Key = ""
	rec.Features = slices.DeleteFunc(slices.Clone(rec.Features), func(name string) bool { return name == format.FeatureKeyed })
}

// found is the transaction's own commit, made by an attempt that got no answer.
func (t *Txn) found(ctx context.Context, rec *format.Record, made attempt) (*Snapshot, error) {
	if made.changes != t.changes || !reflect.DeepEqual(made.schema, t.schema) {
		return nil, errs.Op("commit", "").New(errs.Conflict, "the commit before, whose answer was lost, became version %d (commit %s), and there are changes after it; call discard() and refresh(), and apply those again",
			rec.Version, rec.UUID)
	}
	if made.unsafe {
		key := format.RecordKey(rec.Branch, rec.Version)
		data, err := t.repo.Store.Get(ctx, key)
		if err == nil {
			err = putAbsent(ctx, t.repo.Store, key, data)
		}
		if err != nil && !errs.Is(err, errs.Exists) {
			return nil, errs.Wrap(errs.Storage, "commit to", t.repo.Store.URI(), err)
		}
	}
	if err := t.repo.confirm(ctx); err != nil {
		return nil, err
	}
	return t.repo.load(ctx, rec)
}

// ops reads the operations of a commit.
func (r *Repo) ops(ctx context.Context, rec *format.Record) ([]format.Op, error) {
	if rec.Txn == nil {
		return rec.Ops, nil
	}
	return chunkmap.FetchOps(ctx, r.Pages, *rec.Txn)
}
