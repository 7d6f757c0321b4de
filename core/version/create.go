package version

import (
	"context"
	"slices"
	"sync"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// Exists reports whether p holds a dataset, readable or not. One whose deletion was broken off
// exists: delete() goes on with it.
func Exists(ctx context.Context, p storage.Provider) (bool, error) {
	_, err := p.Get(ctx, format.TSFKey())
	if errs.Is(err, errs.NotFound) {
		return false, nil
	}
	return err == nil, errs.Wrap(errs.Storage, "look for a dataset at", p.URI(), err)
}

// Create makes a dataset in p, without rows; nil is the schema without tensors. It returns
// errs.Exists if p has a dataset, files of another owner in the folders of one, or names that
// another dataset left. A creation that is cut short leaves no dataset.
func Create(ctx context.Context, p storage.Provider, writer string, schema *format.Schema) (*Repo, *Snapshot, error) {
	data, err := p.Get(ctx, format.TSFKey())
	if err == nil {
		return nil, nil, existsError(p, data)
	} else if !errs.Is(err, errs.NotFound) {
		return nil, nil, errs.Wrap(errs.Storage, "look for a dataset at", p.URI(), err)
	}
	if err := Vacant(ctx, "create dataset", p, nil); err != nil {
		return nil, nil, err
	}
	r := newRepo(p, format.TSF{UUID: format.NewUUID(), Main: format.NewUUID()}, writer)
	rec, err := r.begin(ctx, schema)
	if err != nil {
		return nil, nil, err
	}
	tsf, err := format.EncodeTSF(r.TSF)
	if err != nil {
		return nil, nil, err
	}
	if err := PutOurs(ctx, p, format.TSFKey(), tsf); err != nil {
		if errs.Is(err, errs.Exists) {
			return nil, nil, existsError(p, nil)
		}
		return nil, nil, err
	}
	s, err := r.load(ctx, rec)
	return r, s, err
}

// begin stores the first record of the branch main. It has no effect before tsf.json names the
// branch.
func (r *Repo) begin(ctx context.Context, schema *format.Schema) (*format.Record, error) {
	if schema == nil {
		schema = &format.Schema{}
	}
	rec := &format.Record{
		Dataset: r.TSF.UUID, UUID: format.NewUUID(), Branch: r.TSF.Main, Time: r.Now().UTC(), Message: "create dataset", Writer: r.Writer,
		Schema: schema, Features: schema.Features(), Columns: map[format.UUID]format.Column{}, Ops: additions(schema),
	}
	for i := range schema.Tensors {
		rec.Columns[schema.Tensors[i].ID] = format.Column{}
	}
	return rec, r.start(ctx, &Snapshot{Record: rec, Schema: schema, Deleted: roaring64.New()})
}

// start stores a snapshot as the first record of the branch main.
func (r *Repo) start(ctx context.Context, s *Snapshot) error {
	data, pages, blobs, err := r.encode(ctx, s)
	if err != nil {
		return err
	}
	if err := r.Pages.Upload(ctx, pages, blobs); err != nil {
		return err
	}
	return PutOurs(ctx, r.Store, format.RecordKey(r.TSF.Main, 0), data)
}

// copyInto writes the commit at as the first one of a new dataset in dst, which has its pages and
// chunks. It returns the tsf.json of that dataset, which the caller writes.
func (r *Repo) copyInto(ctx context.Context, at *Snapshot, dst storage.Provider, message, author string) (format.TSF, error) {
	to := newRepo(dst, format.TSF{UUID: format.NewUUID(), Main: format.NewUUID()}, r.Writer)
	rec := *at.Record
	rec.Dataset, rec.UUID, rec.Branch, rec.Version = to.TSF.UUID, format.NewUUID(), to.TSF.Main, 0
	rec.Parent, rec.Base, rec.Merged = nil, nil, nil
	rec.Time, rec.Author, rec.Writer = r.Now().UTC().Truncate(time.Nanosecond), author, r.Writer
	if rec.Message = message; rec.Message == "" {
		rec.Message = "copy of " + r.Store.URI()
	}
	rec.Txn, rec.Ops = nil, additions(at.Schema)
	unkey(&rec)
	return to.TSF, to.start(ctx, &Snapshot{Record: &rec, Schema: at.Schema, Deleted: at.Deleted})
}

// additions are the operations that make the tensors of a schema.
func additions(schema *format.Schema) []format.Op {
	ops := make([]format.Op, len(schema.Tensors))
	for i := range schema.Tensors {
		ops[i] = format.Op{Op: format.OpAddTensor, Tensor: schema.Tensors[i].ID}
	}
	return ops
}

// existsError refuses a place that has a dataset; data is its tsf.json, where that was read.
func existsError(p storage.Provider, data []byte) error {
	if tsf, err := format.DecodeTSF(data); err == nil && tsf.Deleting {
		return errs.Op("create dataset", p.URI()).New(errs.Exists, "the dataset there is being deleted; delete() finishes a deletion that was broken off, and so does create with overwrite")
	}
	return errs.Op("create dataset", p.URI()).New(errs.Exists, "a dataset exists there; open it, or create with overwrite")
}

// vacancyLook bounds the objects of a folder that Create looks at. A folder may hold millions of
// left-overs of a deleted dataset, and those do not prevent a new one.
const vacancyLook = 1000

// Vacant refuses a place without a dataset whose folders hold files of another owner, or names that
// another dataset left and expected does not have. Objects of ours without a name are not in the
// way: a writer that makes the same dataset puts such, and gc removes them.
func Vacant(ctx context.Context, op string, p storage.Provider, expected map[string]bool) error {
	var mu sync.Mutex
	foreign, left := "", ""
	g := task.New(ctx, 0)
	for _, prefix := range format.Prefixes() {
		g.Go(func(ctx context.Context) error {
			names, looked := slices.Contains(format.NamePrefixes(), prefix), 0
			err := p.List(ctx, prefix, "", func(o storage.Object) bool {
				mu.Lock()
				defer mu.Unlock()
				if looked++; format.Litter(o.Key) {
					return true
				} else if !format.OurKey(o.Key) {
					foreign = o.Key
				} else if names && !expected[o.Key] {
					left = o.Key
				}
				return looked < vacancyLook && foreign == ""
			})
			if errs.Is(err, errs.Denied) || errs.Is(err, errs.Unsupported) {
				return nil // who may not list cannot know
			}
			return errs.Wrap(errs.Storage, op, p.URI(), err)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	switch {
	case foreign != "":
		return errs.Op(op, p.URI()).New(errs.Exists, "%q lies there, which is no object of a dataset; choose another place, or move it away", foreign)
	case left != "":
		return errs.Op(op, p.URI()).New(errs.Exists, "there is no dataset, but %q of one that was deleted or copied in part; delete() removes what is left", left)
	}
	return nil
}

// Delete removes every object of the dataset, and no other file. The first step marks the dataset
// as being deleted, and the last step removes the mark. A deletion that was cut off continues when
// it is called again. Without a dataset Delete removes the remains of one. It returns errs.NotFound
// if there are none. Writers that have the dataset open get errs.Conflict when they commit.
func Delete(ctx context.Context, p storage.Provider) error {
	data, err := p.Get(ctx, format.TSFKey())
	found := err == nil
	if err != nil && !errs.Is(err, errs.NotFound) {
		return errs.Wrap(errs.Storage, "delete dataset", p.URI(), err)
	}
	if found {
		if err := mark(ctx, p, data); err != nil {
			return errs.Wrap(errs.Storage, "delete dataset", p.URI(), err)
		}
	}
	removed, err := remove(ctx, p)
	if err != nil {
		return errs.Wrap(errs.Storage, "delete dataset", p.URI(), err)
	}
	if !found && removed == 0 {
		return errs.Op("delete dataset", p.URI()).New(errs.NotFound, "there is no dataset")
	}
	// Listings leave the probe out.
	if err := p.Delete(ctx, storage.ProbeKey); err != nil {
		return err
	}
	return p.Delete(ctx, format.TSFKey())
}

// mark makes tsf.json say that the dataset is being deleted. One that cannot be read is replaced.
func mark(ctx context.Context, p storage.Provider, data []byte) error {
	tsf, err := format.DecodeTSF(data)
	if err != nil {
		tsf = format.TSF{UUID: format.NewUUID(), Main: format.NewUUID()}
	}
	if !tsf.Deleting {
		tsf.Deleting = true
		if data, err = format.EncodeTSF(tsf); err != nil {
			return err
		}
		if err := p.Put(ctx, format.TSFKey(), data); err != nil {
			return err
		}
	}
	// This write makes the one before durable: no object is removed while the dataset looks whole.
	return PutOurs(ctx, p, format.HintKey(format.NewUUID()), format.EncodeHint(0))
}

// removePasses is how often a deletion looks for objects of writers that went on beside it.
const removePasses = 3

// remove removes all objects of datasets but tsf.json, and says how many there were.
func remove(ctx context.Context, p storage.Provider) (removed int64, err error) {
	for range removePasses {
		n := int64(0)
		for _, prefix := range format.Prefixes() {
			k, err := removeBelow(ctx, p, prefix, func(storage.Object) bool { return true })
			if n += k; err != nil {
				return removed + n, err
			}
		}
		if removed += n; n == 0 {
			break
		}
	}
	return removed, nil
}

// removeBelow removes the objects of ours below a prefix that doomed passes.
func removeBelow(ctx context.Context, p storage.Provider, prefix string, doomed func(storage.Object) bool) (removed int64, err error) {
	g := task.New(ctx, DeletesInFlight)
	var keys []string
	flush := func() {
		if batch := keys; len(batch) > 0 {
			g.Go(func(ctx context.Context) error { return p.Delete(ctx, batch...) })
		}
		keys = nil
	}
	err = p.List(ctx, prefix, "", func(o storage.Object) bool {
		if format.OurKey(o.Key) && doomed(o) {
			removed++
			if keys = append(keys, o.Key); len(keys) == DeleteBatch {
				flush()
			}
		}
		return g.Context().Err() == nil
	})
	if err == nil {
		flush()
	}
	if failed := g.Wait(); failed != nil {
		return removed, failed
	}
	return removed, err
}

// DeleteBatch is the number of objects that one call to the store removes.
const DeleteBatch = 1000

// DeletesInFlight is the number of such calls that run at once.
const DeletesInFlight = 4
