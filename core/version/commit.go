package version

import (
	"context"
	"reflect"
	"slices"

	"deeplake/core/errs"
	"deeplake/core/format"
)

// commitTries bounds how often a commit is laid on top of another writer's before it gives up: far more than writers
// that can pass each other in the time of one commit.
const commitTries = 1000

// unclearTries is how often the answer to the conditional write is asked for again when the store fails to give it.
const unclearTries = 3

// Commit stores the transaction as the commit after the head, laying it on top of what others have committed since its
// base. On success the new head is returned. After errs.Conflict nothing of the transaction is visible. After an error of
// the store the commit may have been made, if the answer to its last write was lost and could not be looked up; then
// Commit again finds it, and returns it as if for the first time. After any error the transaction may be committed again.
func (t *Txn) Commit(ctx context.Context, message, author string) (*Snapshot, error) {
	onto, done, err := t.catchUp(ctx, t.base)
	if err != nil || done {
		return onto, err
	}
	if err := t.storeSides(ctx); err != nil {
		return nil, err
	}
	for range commitTries {
		next, err := t.build(ctx, onto)
		if err != nil {
			return nil, err
		}
		rec := next.Record
		rec.UUID, rec.Message, rec.Author = format.NewUUID(), message, author
		rec.Time = notBefore(t.repo.Now(), onto.Record)
		data, err := t.store(ctx, next)
		if err != nil {
			return nil, err
		}
		won, err := t.repo.put(ctx, rec, data)
		if won || err != nil {
			t.tried = append(t.tried, attempt{rec.UUID, t.changes, t.schema.Clone()})
		}
		if err != nil {
			return nil, err
		}
		if won {
			next.held = nil
			return next, nil
		}
		if onto, done, err = t.catchUp(ctx, onto); err != nil || done {
			return onto, err
		}
	}
	return nil, errs.New(errs.Conflict, "commit to %q: %d other commits came first; commit again", t.repo.Store.URI(), commitTries)
}

// store writes everything that the record of next names and returns the encoded record.
func (t *Txn) store(ctx context.Context, next *Snapshot) ([]byte, error) {
	rec := next.Record
	if !t.deleted.IsEmpty() {
		data, err := format.EncodeBitmap(next.Deleted)
		if err != nil {
			return nil, err
		}
		id := format.NewUUID()
		if err := t.repo.Store.Put(ctx, format.MapKey(id), data); err != nil {
			return nil, err
		}
		rec.Deleted = &id
	}
	schema, err := format.EncodeSchema(next.Schema)
	if err != nil {
		return nil, err
	}
	if len(schema) > format.InlineSchema {
		id := format.NewUUID()
		if err := t.repo.Store.Put(ctx, format.MapKey(id), schema); err != nil {
			return nil, err
		}
		rec.Schema, rec.SchemaPage = nil, &id
	}
	ops, err := format.EncodeOps(rec.Ops)
	if err != nil {
		return nil, err
	}
	if len(ops) > format.InlineOps {
		id := format.NewUUID()
		if err := t.repo.Store.Put(ctx, format.TxnKey(id), ops); err != nil {
			return nil, err
		}
		rec.Ops, rec.Txn = nil, &id
	}
	if err := t.repo.Pages.upload(ctx, next.held); err != nil {
		return nil, err
	}
	return format.EncodeRecord(rec)
}

// put is the conditional write. It reports whether rec is the commit of its number: an answer that was lost is looked up.
func (r *Repo) put(ctx context.Context, rec *format.Record, data []byte) (bool, error) {
	key := format.RecordKey(rec.Branch, rec.Version)
	for try := 0; ; try++ {
		err := r.Store.PutIfAbsent(ctx, key, data)
		if err == nil {
			return true, nil
		}
		found, readErr := r.record(ctx, rec.Version)
		switch {
		case readErr == nil:
			return found.UUID == rec.UUID, nil
		case errs.Is(readErr, errs.NotFound) && try+1 < unclearTries && ctx.Err() == nil:
			continue // nobody has the number: the same write again
		default:
			return false, errs.Wrap(errs.Storage, "commit to", r.Store.URI(), err)
		}
	}
}

// catchUp follows the commits after onto, checking that none contradicts the transaction, and returns the newest. When
// one of them is the transaction itself, whose answer was lost, it returns that one and done.
func (t *Txn) catchUp(ctx context.Context, onto *Snapshot) (s *Snapshot, done bool, err error) {
	last := onto.Record
	for v := onto.Record.Version + 1; ; v++ {
		rec, err := t.repo.record(ctx, v)
		if errs.Is(err, errs.NotFound) {
			break
		}
		if err != nil {
			return nil, false, err
		}
		if i := slices.IndexFunc(t.tried, func(a attempt) bool { return a.commit == rec.UUID }); i >= 0 {
			s, err := t.found(ctx, rec, t.tried[i])
			return s, err == nil, err
		}
		theirs, err := t.repo.ops(ctx, rec)
		if err != nil {
			return nil, false, err
		}
		if err := t.check(rec, theirs); err != nil {
			return nil, false, err
		}
		last = rec
	}
	if last == onto.Record {
		return onto, false, nil
	}
	s, err = t.repo.load(ctx, last)
	return s, false, err
}

// found is the transaction's own commit, made by an attempt that got no answer.
func (t *Txn) found(ctx context.Context, rec *format.Record, made attempt) (*Snapshot, error) {
	if made.changes != t.changes || !reflect.DeepEqual(made.schema, t.schema) {
		return nil, errs.New(errs.Conflict, "commit: the commit before, whose answer was lost, became version %d (commit %s), and there are changes after it; discard(), look at the new head and apply those again",
			rec.Version, rec.UUID)
	}
	return t.repo.load(ctx, rec)
}

// ops reads what a commit did.
func (r *Repo) ops(ctx context.Context, rec *format.Record) ([]format.Op, error) {
	if rec.Txn == nil {
		return rec.Ops, nil
	}
	key := format.TxnKey(*rec.Txn)
	data, err := r.Store.Get(ctx, key)
	if err != nil {
		return nil, missing(err, "read transaction", key)
	}
	ops, err := format.DecodeOps(data)
	return ops, errs.Wrap(errs.Corrupt, "read transaction", key, err)
}
