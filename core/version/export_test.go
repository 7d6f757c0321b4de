package version

import (
	"context"

	"deeplake/core/format"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// The tests are of package version_test, since their fixture imports this package. They reach these
// parts of it.
const (
	HintEvery    = hintEvery
	UnclearTries = unclearTries
)

var (
	Mark   = mark
	NoRows = noRows
)

func (r *Repo) BranchID() format.UUID { return r.branch }

func (r *Repo) PutRecord(ctx context.Context, rec *format.Record, data []byte) (*format.Record, error) {
	return r.put(ctx, rec, data)
}

// AppendID identifies the appended rows.
func (t *Txn) AppendID() format.UUID { return t.id }

func (t *Txn) Repo() *Repo { return t.repo }

func (t *Txn) Check(rec *format.Record, theirs []format.Op) error { return t.check(rec, theirs) }

func (t *Txn) CatchUp(ctx context.Context, onto *Snapshot) error {
	_, _, err := t.catchUp(ctx, onto, nil)
	return err
}

// Changes are the deleted rows of a transaction, and the number of rows that it appends.
func (t *Txn) Changes() (deleted *roaring64.Bitmap, appended int64) { return t.deleted, t.rows }

func (t *Txn) CloseSide(tensor format.UUID) { t.columns[tensor].closeSide(t.full) }

func (t *Txn) SidePages() []format.UUID {
	_, pages := t.stored()
	return pages
}

func (t *Txn) SetSchemaBytes(n int64) { t.schemaBytes = n }

// CommitRestore commits the operation that takes back the deletion of a row, which no transaction
// makes yet.
func (r *Repo) CommitRestore(ctx context.Context, head *Snapshot, row int64) (*Snapshot, error) {
	b := newBuild(r, head, head.Schema, 0)
	b.ops = []format.Op{{Op: format.OpRestore, Ranges: []format.RowRange{{Start: row, Count: 1}}}}
	next, err := b.run(ctx)
	if err != nil {
		return nil, err
	}
	next.Record.UUID, next.Record.Time, next.Record.Message, next.Record.Author = format.NewUUID(), head.Record.Time, "the winner", "tester"
	data, _, err := r.store(ctx, next)
	if err != nil {
		return nil, err
	}
	_, err = r.put(ctx, next.Record, data)
	return next, err
}

// Log is LogFrom of the newest commit.
func (r *Repo) Log(ctx context.Context, limit int) ([]*format.Record, error) {
	head, err := r.headRecord(ctx)
	if err != nil {
		return nil, err
	}
	return r.line(ctx, head, limit)
}
