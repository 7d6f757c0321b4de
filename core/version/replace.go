package version

import (
	"bytes"
	"context"
	"sync"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
)

// predecessor is the dataset that another one is to replace, in the same place.
type predecessor struct {
	tsf  format.TSF
	data []byte // its tsf.json

	mu     sync.Mutex
	doomed []string // the objects that were there before those of the new dataset
	asked  bool     // the store was asked to make tsf.json name the new dataset
	placed bool     // it does
	done   bool     // and doomed is removed
}

// waiting is what tsf.json says of the dataset in the place: the old one while own waits.
func (o *predecessor) waiting(own format.TSF) format.TSF {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.placed {
		return own
	}
	return o.tsf
}

// prepare stores the first record of a dataset that waits to replace another one.
func (r *Repo) prepare(ctx context.Context, schema *format.Schema) (*Repo, *Snapshot, error) {
	const op = "overwrite dataset"
	p := r.Store
	// What is there before the new dataset is, belongs to the old one or to none that counts.
	for _, prefix := range format.Prefixes() {
		if err := p.List(ctx, prefix, "", func(o storage.Object) bool {
			if format.OurKey(o.Key) {
				r.old.doomed = append(r.old.doomed, o.Key)
			}
			return true
		}); err != nil {
			return nil, nil, errs.Wrap(errs.Storage, op, p.URI(), err)
		}
	}
	rec, err := r.begin(ctx, schema)
	if err != nil {
		return nil, nil, err
	}
	s, err := r.load(ctx, rec)
	return r, s, err
}

// takePlace puts r in the place of the dataset that it is to replace; if there is none, or if that
// is done, it does nothing. After an error it may be called again.
func (r *Repo) takePlace(ctx context.Context) error {
	const op = "overwrite dataset"
	o, p := r.old, r.Store
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.placed {
		if err := r.rename(ctx); err != nil {
			return err
		}
		// This write makes the one before durable: nothing of the old dataset is gone before the
		// new one is there.
		if err := putOurs(ctx, p, format.HintKey(r.TSF.Main), format.EncodeHint(0)); err != nil {
			return errs.Wrap(errs.Storage, op, p.URI(), err)
		}
		o.placed = true
	}
	if o.done {
		return nil
	}
	if err := r.clean(ctx, o.doomed); err != nil {
		return errs.New(errs.KindOf(err), "overwrite dataset %q: the new dataset is there, and objects of the old one are left; gc() removes them: %w", p.URI(), err)
	}
	o.done, o.doomed = true, nil
	return nil
}

// rename makes tsf.json name r, unless it does or names another dataset than the old one.
func (r *Repo) rename(ctx context.Context) error {
	const op = "overwrite dataset"
	p := r.Store
	tsf, err := format.EncodeTSF(r.TSF)
	if err != nil {
		return err
	}
	found, err := p.Get(ctx, format.TSFKey())
	switch {
	case err == nil && bytes.Equal(found, tsf):
		return nil // a try before had no answer
	case err == nil && !bytes.Equal(found, r.old.data), errs.Is(err, errs.NotFound) && bucketGone(err) == nil:
		return errs.New(errs.Conflict, "overwrite dataset %q: it was deleted or overwritten beside this; try again", p.URI())
	case err != nil:
		return errs.Wrap(errs.Storage, op, p.URI(), err)
	}
	r.old.asked = true
	if err := p.Put(ctx, format.TSFKey(), tsf); err != nil {
		if found, failed := p.Get(ctx, format.TSFKey()); failed != nil || !bytes.Equal(found, tsf) {
			return errs.Wrap(errs.Storage, op, p.URI(), err)
		}
	}
	return nil
}

// Withdraw removes the records of a dataset that waits to replace another one, and reports whether
// r was one. Its other objects have no name, and gc removes them. After a write of tsf.json without
// an answer it removes nothing: the write may still come.
func (r *Repo) Withdraw(ctx context.Context) (bool, error) {
	o := r.old
	if o == nil {
		return false, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.placed || o.asked {
		return !o.placed, nil
	}
	main := r.TSF.Main
	err := r.Store.Delete(ctx, format.RecordKey(main, 1), format.RecordKey(main, 0))
	return true, errs.Wrap(errs.Storage, "withdraw the overwrite of", r.Store.URI(), err)
}
