package version

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/version/chunkmap"
)

// overwriteTries bounds the restarts of an overwrite because the dataset was made or replaced
// beside it.
const overwriteTries = 3

// Overwrite makes a dataset in p as Create does, in the place of one that may be there. The new one
// has an identity of its own: writers of the old one get errs.Conflict at their next commit. One
// write of tsf.json changes the old dataset into the new one; the objects of the old one are
// removed after it. An overwrite that is broken off leaves the old dataset or the new one, and gc,
// another overwrite or a deletion removes the rest.
func Overwrite(ctx context.Context, p storage.Provider, writer string, schema *format.Schema) (*Repo, *Snapshot, error) {
	for try := 1; ; try++ {
		r, s, err := overwrite(ctx, p, writer, schema)
		if err == nil {
			if err = r.takePlace(ctx); err != nil {
				// Left-overs of a failure are garbage.
				_, _ = r.Withdraw(context.WithoutCancel(ctx))
			}
		}
		if err == nil {
			return r, s, nil
		}
		if !errs.Is(err, errs.Conflict) && !errs.Is(err, errs.Exists) || try == overwriteTries {
			return nil, nil, err
		}
	}
}

// OverwriteAtCommit is Overwrite, but a dataset that is there stays until the first commit of the
// new one. The commit fails with errs.Conflict if another overwrite or a deletion came first. Where
// there is no dataset, or only a part of one, the new one is made at once.
func OverwriteAtCommit(ctx context.Context, p storage.Provider, writer string, schema *format.Schema) (*Repo, *Snapshot, error) {
	return overwrite(ctx, p, writer, schema)
}

// overwrite makes a dataset, which waits to replace one that is there.
func overwrite(ctx context.Context, p storage.Provider, writer string, schema *format.Schema) (*Repo, *Snapshot, error) {
	data, err := p.Get(ctx, format.TSFKey())
	if err != nil && !errs.Is(err, errs.NotFound) {
		return nil, nil, errs.Wrap(errs.Storage, "overwrite dataset", p.URI(), err)
	}
	if err != nil {
		// No other object is removed: it may be the first record of a dataset that is being made.
		for _, prefix := range format.NamePrefixes() {
			if _, err := removeBelow(ctx, p, prefix, func(storage.Object) bool { return true }); err != nil {
				return nil, nil, errs.Wrap(errs.Storage, "overwrite dataset", p.URI(), err)
			}
		}
		return Create(ctx, p, writer, schema)
	}
	old, err := format.DecodeTSF(data)
	if err != nil || old.Deleting {
		if err := Delete(ctx, p); err != nil {
			return nil, nil, err
		}
		return Create(ctx, p, writer, schema)
	}
	replaces := append(slices.Clone(old.Replaces), old.UUID)
	r := newRepo(p, format.TSF{
		UUID: format.NewUUID(), Main: format.NewUUID(), Replaces: replaces[max(0, len(replaces)-format.MaxReplaced):],
	}, writer)
	r.old = &predecessor{tsf: old, data: data}
	return r.prepare(ctx, schema)
}

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

// waiting returns the dataset that tsf.json names: the old one while own waits.
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
	// Objects from before the new dataset belong to the old one, or to none that counts.
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
		// This write makes the one before durable: nothing of the old dataset is removed before
		// the new one is there.
		if err := PutOurs(ctx, p, format.HintKey(r.TSF.Main), format.EncodeHint(0)); err != nil {
			return errs.Wrap(errs.Storage, op, p.URI(), err)
		}
		o.placed = true
	}
	if o.done {
		return nil
	}
	if err := r.clean(ctx, o.doomed); err != nil {
		return errs.Op("overwrite dataset", p.URI()).New(errs.KindOf(err), "the new dataset is there, and objects of the old one are left; gc() removes them: %w", err)
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
		return errs.Op("overwrite dataset", p.URI()).New(errs.Conflict, "it was deleted or overwritten beside this; try again")
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
// an answer it removes nothing, since the write may still come, and returns an error.
func (r *Repo) Withdraw(ctx context.Context) (bool, error) {
	o := r.old
	if o == nil {
		return false, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.placed:
		return false, nil
	case o.asked:
		return true, errs.Op("overwrite dataset", r.Store.URI()).New(errs.Storage, "the store gave no answer, so either the old dataset is there or the new one; open it to see")
	}
	main := r.TSF.Main
	err := r.Store.Delete(ctx, format.RecordKey(main, 1), format.RecordKey(main, 0))
	return true, errs.Wrap(errs.Storage, "withdraw the overwrite of", r.Store.URI(), err)
}

// clean removes the objects that were there before r was, but for records of datasets that r does
// not replace: one of them may be the first record of a dataset that is to replace r.
func (r *Repo) clean(ctx context.Context, doomed []string) error {
	branches, err := r.replacedBranches(ctx, doomed)
	if err != nil {
		return err
	}
	doomed = slices.DeleteFunc(doomed, func(key string) bool {
		branch, _, err := format.ParseRecordKey(key)
		return err == nil && !branches[branch]
	})
	// Names go first: a name without its branch would be an error.
	names := 0
	for names < len(doomed) && slices.ContainsFunc(format.NamePrefixes(), func(prefix string) bool { return strings.HasPrefix(doomed[names], prefix) }) {
		names++
	}
	if names > 0 {
		if err := r.Store.Delete(ctx, doomed[:names]...); err != nil {
			return err
		}
	}
	g := task.New(ctx, DeletesInFlight)
	for batch := range slices.Chunk(doomed[names:], DeleteBatch) {
		g.Go(func(ctx context.Context) error { return r.Store.Delete(ctx, batch...) })
	}
	return g.Wait()
}

// replacedBranches are the branches, of the records among keys, that belong to a dataset that r
// replaces.
func (r *Repo) replacedBranches(ctx context.Context, keys []string) (map[format.UUID]bool, error) {
	var branches []format.UUID
	var first []string
	for _, key := range keys {
		branch, _, err := format.ParseRecordKey(key)
		if err == nil && branch != r.TSF.Main && (len(branches) == 0 || branches[len(branches)-1] != branch) {
			branches, first = append(branches, branch), append(first, key)
		}
	}
	replaced := make([]bool, len(first))
	g := task.New(ctx, RefsInFlight)
	for i, key := range first {
		g.Go(func(ctx context.Context) error {
			data, err := r.Store.Get(ctx, key)
			if errs.Is(err, errs.NotFound) {
				return nil
			}
			replaced[i] = err == nil && r.replaced(data)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	out := map[format.UUID]bool{}
	for i, branch := range branches {
		out[branch] = replaced[i]
	}
	return out, nil
}

// replaced reports whether a named object or a record belongs to a dataset that r replaces: then it
// is garbage, and no part of r.
func (r *Repo) replaced(data []byte) bool {
	if len(r.TSF.Replaces) == 0 {
		return false
	}
	owner, err := format.Owner(data)
	return err == nil && slices.Contains(r.TSF.Replaces, owner)
}

// same refuses to write where another dataset has taken the place of r: errs.Conflict.
func (r *Repo) same(ctx context.Context, op string) error {
	return r.unmoved(ctx, op, "this is in no dataset now; discard() the changes, or open a dataset and write them there")
}

// unmoved checks that no other dataset has taken the place of r, else it is errs.Conflict.
func (r *Repo) unmoved(ctx context.Context, op, remedy string) error {
	var now format.TSF
	err := chunkmap.Fetch(ctx, r.Store, format.TSFKey(), func(data []byte) (err error) {
		now, err = format.DecodeTSF(data)
		return errs.Wrap(errs.Corrupt, "read", format.TSFKey(), err)
	})
	was := r.TSF
	if err == nil && now.UUID != was.UUID && r.old != nil {
		was = r.old.waiting(was)
	}
	switch {
	case errs.Is(err, errs.NotFound) && bucketGone(err) == nil, err == nil && now.Deleting && now.UUID == was.UUID:
		return errs.Op(op, r.Store.URI()).New(errs.Conflict, "the dataset was deleted since it was opened; %s", remedy)
	case err != nil:
		return errs.Wrap(errs.Storage, op, r.Store.URI(), err)
	case now.UUID != was.UUID || now.Main != was.Main:
		return errs.Op(op, r.Store.URI()).New(errs.Conflict, "the dataset was overwritten by another one since it was opened; %s", remedy)
	}
	return nil
}

// sameBeside runs same beside the caller's requests. The caller waits for the group before it
// writes, and before it returns.
func (r *Repo) sameBeside(ctx context.Context, op string) *task.Group {
	g := task.New(ctx, 0)
	g.Go(func(ctx context.Context) error { return r.same(ctx, op) })
	return g
}

// removeLeftovers removes the named objects and records of the datasets that r replaces, which
// interrupted overwrites left. Their pages and chunks have no names, and are garbage like any
// other. With dry it only counts them.
func (r *Repo) removeLeftovers(ctx context.Context, dry bool) (objects, size int64, err error) {
	if len(r.TSF.Replaces) == 0 {
		return 0, 0, nil
	}
	sizes := map[string]int64{}
	var keys []string
	for _, prefix := range append(format.NamePrefixes(), format.RecordsPrefix()) {
		if err := List(ctx, r.Store, prefix, "", func(o storage.Object) bool {
			if format.OurKey(o.Key) {
				keys, sizes[o.Key] = append(keys, o.Key), o.Size
			}
			return true
		}); err != nil {
			return 0, 0, err
		}
	}
	branches, err := r.replacedBranches(ctx, keys)
	if err != nil {
		return 0, 0, err
	}
	var doomed []string
	mine := map[string]bool{} // names of branches and views that objects of r are about
	for _, key := range keys {
		if branch, _, err := format.ParseRecordKey(key); err == nil {
			if branches[branch] {
				doomed = append(doomed, key)
			}
			continue
		}
		data, err := r.Store.Get(ctx, key)
		if err != nil {
			return 0, 0, err
		}
		if r.replaced(data) {
			doomed = append(doomed, key)
		} else {
			mine[numbersOf(key)] = true
		}
	}
	// The numbers of a name are taken without a gap, so older ones stay below those of r.
	doomed = slices.DeleteFunc(doomed, func(key string) bool { return mine[numbersOf(key)] })
	for _, key := range doomed {
		objects++
		size += sizes[key]
	}
	if !dry && len(doomed) > 0 {
		err = r.Store.Delete(ctx, doomed...)
	}
	return objects, size, err
}

// numbersOf is a key up to the number at its end; "" where it has none.
func numbersOf(key string) string {
	if _, _, err := format.ParseHeadKey(key); err != nil {
		if _, _, err := format.ParseViewKey(key); err != nil {
			return "no number: " + key
		}
	}
	return key[:strings.LastIndexByte(key, '.')]
}

// unreplaced drops the named objects that belong to a dataset that r replaces.
func (r *Repo) unreplaced(ctx context.Context, named []storage.Object) ([]storage.Object, error) {
	if len(r.TSF.Replaces) == 0 {
		return named, nil
	}
	var out []storage.Object
	for _, o := range named {
		data, err := r.Store.Get(ctx, o.Key)
		if err != nil {
			return nil, err
		}
		if !r.replaced(data) {
			out = append(out, o)
		}
	}
	return out, nil
}
