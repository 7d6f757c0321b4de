package version

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
)

// Repo is a dataset as a sequence of commits in one store. It may be used in parallel.
type Repo struct {
	Store  storage.Provider
	TSF    format.TSF
	Pages  *Pages
	Writer string           // names the software in records
	Now    func() time.Time // the clock; a test may set its own
}

func newRepo(p storage.Provider, tsf format.TSF, writer string) *Repo {
	return &Repo{Store: p, TSF: tsf, Pages: NewPages(p), Writer: writer, Now: time.Now}
}

// Exists reports whether p holds a dataset, readable or not.
func Exists(ctx context.Context, p storage.Provider) (bool, error) {
	_, err := p.Get(ctx, format.TSFKey())
	if errs.Is(err, errs.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// Create makes an empty dataset in p; errs.Exists if there is one. A creation that is cut short leaves no dataset.
func Create(ctx context.Context, p storage.Provider, writer string) (*Repo, *Snapshot, error) {
	if found, err := Exists(ctx, p); err != nil {
		return nil, nil, err
	} else if found {
		return nil, nil, existsError(p)
	}
	r := newRepo(p, format.TSF{Format: format.Version, UUID: format.NewUUID(), Main: format.NewUUID()}, writer)
	rec := &format.Record{
		UUID: format.NewUUID(), Branch: r.TSF.Main, Time: r.Now().UTC(), Message: "create dataset", Writer: writer,
		Schema: &format.Schema{}, Columns: map[format.UUID]format.Column{}, Ops: []format.Op{},
	}
	data, err := format.EncodeRecord(rec)
	if err != nil {
		return nil, nil, err
	}
	if err := putOurs(ctx, p, format.RecordKey(rec.Branch, 0), data); err != nil {
		return nil, nil, err
	}
	tsf, err := format.EncodeTSF(r.TSF)
	if err != nil {
		return nil, nil, err
	}
	if err := putOurs(ctx, p, format.TSFKey(), tsf); err != nil {
		if errs.Is(err, errs.Exists) {
			return nil, nil, existsError(p)
		}
		return nil, nil, err
	}
	s, err := r.load(ctx, rec)
	return r, s, err
}

// putOurs is a conditional write of bytes that nobody else writes: where they stand, it has succeeded, answer or not.
func putOurs(ctx context.Context, p storage.Provider, key string, data []byte) error {
	err := p.PutIfAbsent(ctx, key, data)
	if err == nil {
		return nil
	}
	if found, readErr := p.Get(ctx, key); readErr == nil && bytes.Equal(found, data) {
		return nil
	}
	return err
}

func existsError(p storage.Provider) error {
	return errs.New(errs.Exists, "create dataset %q: a dataset exists there; open it, or create with overwrite", p.URI())
}

// Open reads what p says about itself. It reads no commit.
func Open(ctx context.Context, p storage.Provider, writer string) (*Repo, error) {
	data, err := p.Get(ctx, format.TSFKey())
	if errs.Is(err, errs.NotFound) {
		return nil, errs.New(errs.NotFound, "open dataset %q: there is no dataset (no object %q); create it first", p.URI(), format.TSFKey())
	}
	if err != nil {
		return nil, err
	}
	tsf, err := format.DecodeTSF(data)
	if err != nil {
		return nil, errs.Wrap(errs.Corrupt, "open dataset", p.URI(), err)
	}
	return newRepo(p, tsf, writer), nil
}

// Delete removes every object of the dataset, the one that makes it exist first.
func Delete(ctx context.Context, p storage.Provider) error {
	if err := p.Delete(ctx, format.TSFKey()); err != nil {
		return err
	}
	var keys []string
	for _, prefix := range []string{"log/", "refs/", "hint/", "map/", "txn/", "data/"} {
		if err := p.List(ctx, prefix, "", func(o storage.Object) bool {
			keys = append(keys, o.Key)
			return true
		}); err != nil {
			return err
		}
	}
	return p.Delete(ctx, keys...)
}

// Head is the newest commit.
func (r *Repo) Head(ctx context.Context) (*Snapshot, error) {
	rec, err := r.headRecord(ctx)
	if err != nil {
		return nil, err
	}
	return r.load(ctx, rec)
}

func (r *Repo) headRecord(ctx context.Context) (*format.Record, error) {
	var rec *format.Record
	err := r.records(ctx, func(next *format.Record) bool {
		rec = next
		return false
	})
	if err == nil && rec == nil {
		err = errs.New(errs.Corrupt, "open dataset %q: it has no commit under %q", r.Store.URI(), format.RecordPrefix(r.TSF.Main))
	}
	return rec, err
}

// record reads one commit record; errs.NotFound if there is none.
func (r *Repo) record(ctx context.Context, version uint64) (*format.Record, error) {
	key := format.RecordKey(r.TSF.Main, version)
	data, err := r.Store.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	rec, err := format.DecodeRecord(data)
	if err != nil {
		return nil, errs.Wrap(errs.Corrupt, "read commit", key, err)
	}
	if rec.Branch != r.TSF.Main || rec.Version != version {
		return nil, errs.New(errs.Corrupt, "read commit %q: the record says branch %s version %d", key, rec.Branch, rec.Version)
	}
	return rec, nil
}

// records calls fn for every commit from the newest to the oldest until it returns false.
func (r *Repo) records(ctx context.Context, fn func(*format.Record) bool) error {
	head := int64(-1)
	var bad error
	if err := r.Store.List(ctx, format.RecordPrefix(r.TSF.Main), "", func(o storage.Object) bool {
		_, v, err := format.ParseRecordKey(o.Key)
		head, bad = int64(v), err
		return false
	}); err != nil {
		return err
	}
	if bad != nil {
		return bad
	}
	for v := head; v >= 0; v-- {
		rec, err := r.record(ctx, uint64(v))
		if errs.Is(err, errs.NotFound) {
			return missing(err, "read commit", format.RecordKey(r.TSF.Main, uint64(v)))
		}
		if err != nil || !fn(rec) {
			return err
		}
	}
	return nil
}

// Log returns at most limit commits, the newest first; limit <= 0 means all.
func (r *Repo) Log(ctx context.Context, limit int) ([]*format.Record, error) {
	var out []*format.Record
	err := r.records(ctx, func(rec *format.Record) bool {
		out = append(out, rec)
		return limit <= 0 || len(out) < limit
	})
	return out, err
}

// minCommitPrefix is the least number of digits by which a commit may be named.
const minCommitPrefix = 6

// At finds a commit by what a user calls it: a version number ("12"), a commit uuid or at least its first six digits, or
// a time in RFC 3339, which means the last commit not later than it.
func (r *Repo) At(ctx context.Context, ref string) (*Snapshot, error) {
	if n, err := strconv.ParseUint(ref, 10, 63); err == nil && len(ref) < 20 {
		rec, err := r.record(ctx, n)
		if err == nil {
			return r.load(ctx, rec)
		}
		if !errs.Is(err, errs.NotFound) {
			return nil, err
		}
		if len(ref) < minCommitPrefix {
			return nil, r.noSuchCommit(ctx, fmt.Sprintf("version %d", n))
		}
	}
	var found *format.Record
	var err error
	if when, notTime := time.Parse(time.RFC3339Nano, ref); notTime == nil {
		found, err = r.atTime(ctx, when)
	} else if isHex(ref) && len(ref) >= minCommitPrefix && len(ref) <= 32 {
		found, err = r.atPrefix(ctx, ref)
	} else {
		return nil, errs.New(errs.Invalid, "at %q: want a version number, a commit (at least %d hexadecimal digits) or a time like 2026-01-31T12:00:00Z", ref, minCommitPrefix)
	}
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, r.noSuchCommit(ctx, fmt.Sprintf("%q", ref))
	}
	return r.load(ctx, found)
}

// atTime finds the last commit that is not later than when, nil if all are. Times never fall from commit to commit.
func (r *Repo) atTime(ctx context.Context, when time.Time) (*format.Record, error) {
	head, err := r.headRecord(ctx)
	if err != nil || !head.Time.After(when) {
		return head, err
	}
	var found *format.Record
	lo, hi := uint64(0), head.Version // versions below lo are not later than when, from hi on all are
	for lo < hi {
		mid := lo + (hi-lo)/2
		rec, err := r.record(ctx, mid)
		if err != nil {
			return nil, missing(err, "read commit", format.RecordKey(r.TSF.Main, mid))
		}
		if rec.Time.After(when) {
			hi = mid
		} else {
			found, lo = rec, mid+1
		}
	}
	return found, nil
}

// atPrefix finds the commit whose uuid begins with prefix, nil if none does.
func (r *Repo) atPrefix(ctx context.Context, prefix string) (*format.Record, error) {
	var found *format.Record
	var twice error
	err := r.records(ctx, func(rec *format.Record) bool {
		if strings.HasPrefix(rec.UUID.String(), prefix) {
			if found != nil {
				twice = errs.New(errs.Invalid, "at %q: commits %s and %s both begin with it; give more digits", prefix, found.UUID, rec.UUID)
			}
			found = rec
		}
		return twice == nil && (found == nil || len(prefix) < 32)
	})
	if err == nil {
		err = twice
	}
	return found, err
}

func (r *Repo) noSuchCommit(ctx context.Context, what string) error {
	head, err := r.headRecord(ctx)
	if err != nil {
		return err
	}
	return errs.New(errs.NotFound, "at %s: dataset %q has no such commit; its versions are 0 to %d, see log()", what, r.Store.URI(), head.Version)
}

func isHex(s string) bool {
	return strings.Trim(s, "0123456789abcdef") == ""
}
