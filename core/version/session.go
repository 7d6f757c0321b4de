package version

import (
	"context"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
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
		for _, edit := range c.rewrites {
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
