package version_test

import (
	"context"
	"deeplake/go/tests/clock"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/version"
	"deeplake/core/version/versiontest"
)

// trip is the time that each call of a remoteStore takes, of a clock that stands still otherwise.
// Elapsed time counts the calls in sequence.
const trip = time.Second

// remoteStore is a store at a distance.
type remoteStore struct {
	storage.Provider
	calls atomic.Int64
	bytes atomic.Int64 // written
}

func (s *remoteStore) travel(n int) {
	clock.Pass(trip)
	s.calls.Add(1)
	s.bytes.Add(int64(n))
}

func (s *remoteStore) Get(ctx context.Context, key string) ([]byte, error) {
	s.travel(0)
	return s.Provider.Get(ctx, key)
}

func (s *remoteStore) Put(ctx context.Context, key string, data []byte) error {
	s.travel(len(data))
	return s.Provider.Put(ctx, key, data)
}

func (s *remoteStore) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	s.travel(len(data))
	return s.Provider.PutIfAbsent(ctx, key, data)
}

func (s *remoteStore) List(ctx context.Context, prefix, after string, fn func(storage.Object) bool) error {
	s.travel(0)
	return s.Provider.List(ctx, prefix, after, fn)
}

// Range makes the store one whose reads are requests.
func (s *remoteStore) Range(context.Context, string, int64, int64, string) (storage.Body, error) {
	return nil, errs.New(errs.Unsupported, "commits are read whole")
}

// largeFixture is a dataset of chunks chunks of 1,000 rows in both tensors.
func largeFixture(t *testing.T, chunks int) *versiontest.Fixture {
	f := versiontest.New(t, versiontest.MemStore(t))
	txn := f.Begin(t)
	for i := range chunks {
		at := txn.Rows()
		for _, id := range []format.UUID{f.X, f.Label} {
			txn.AddChunk(id, format.Entry{Session: versiontest.Numbered(2), Ordinal: int64(i), Bytes: 8 << 20}, []format.RowRange{{Start: at, Count: 1000}}, false, []byte{2})
		}
		txn.Extend(1000)
	}
	f.Commit(t, txn, "large")
	return f
}

// TestRoundTrips counts the calls in sequence of the protocol. A commit of rows has one more before
// it, that stores the chunks.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	bytes := map[int]int64{}
	for _, chunks := range []int{900, 10_000} { // 0.9 and 10 million rows
		f := largeFixture(t, chunks)
		synctest.Test(t, func(t *testing.T) {
			ctx := context.Background()
			far := &remoteStore{Provider: f.Store}
			var head *version.Snapshot
			var repo *version.Repo
			measure := func(what string, most int64, do func() error) {
				t.Helper()
				began, calls, wrote := time.Now(), far.calls.Load(), far.bytes.Load()
				if err := do(); err != nil {
					t.Fatal(err)
				}
				trips := int64(time.Since(began) / trip)
				t.Logf("%d chunks, %s: %d round trips in sequence, %d calls, %d bytes written", chunks, what, trips, far.calls.Load()-calls, far.bytes.Load()-wrote)
				if trips > most {
					t.Errorf("%s takes %d round trips in sequence, want at most %d", what, trips, most)
				}
			}
			measure("open", 2, func() (err error) { repo, head, err = version.OpenHead(ctx, far, "test"); return err })
			txn := repo.Begin(head)
			f.Add(txn, 1000, 9)
			before := far.bytes.Load()
			measure("append of 1,000 rows", 5, func() (err error) { head, err = txn.Commit(ctx, "far", ""); return err })
			bytes[chunks] = far.bytes.Load() - before
			txn = repo.Begin(head)
			f.Add(txn, 1000, 10)
			// The pages, the record, and that the dataset is still the same.
			measure("append again", 3, func() (err error) { head, err = txn.Commit(ctx, "far", ""); return err })
			txn = repo.Begin(head)
			f.Update(txn, 11, 5, 200_000, 400_000, 600_000, 800_000)
			txn.Delete([]int64{7})
			measure("update and delete", 4, func() (err error) { head, err = txn.Commit(ctx, "far", ""); return err })
			old := f.Begin(t) // behind the next commits
			for range 5 {
				txn = f.Begin(t)
				f.Add(txn, 1, 12)
				f.Commit(t, txn, "near")
			}
			late := repo.Begin(old.Base())
			f.Add(late, 1, 13)
			measure("append after 5 other commits, and waiting", 16, func() (err error) { head, err = late.Commit(ctx, "far", ""); return err })
			var on *version.Repo
			measure("create branch", 3, func() (err error) { on, head, err = repo.CreateBranch(ctx, "b", head, ""); return err })
			measure("delete branch", 3, func() error { return repo.DeleteBranch(ctx, "b") })
			measure("create tag", 2, func() (err error) { _, err = on.CreateTag(ctx, "v1", head, "", ""); return err })
		})
	}
	if small, large := bytes[900], bytes[10_000]; large > small+small/2+4096 {
		t.Errorf("an append writes %d bytes to a small dataset and %d to a large one", small, large)
	}
}

// TestRemoteWriters lets 24 writers append to one branch of a store that is 25 ms away. Nothing is
// lost, and the test bounds the time that they take together.
func TestRemoteWriters(t *testing.T) {
	t.Parallel()
	f := versiontest.New(t, versiontest.MemStore(t))
	synctest.Test(t, func(t *testing.T) {
		const writers, rounds = 24, 5
		began := time.Now()
		var worst atomic.Int64
		g := task.New(context.Background(), 0)
		for w := range writers {
			g.Go(func(ctx context.Context) error {
				repo, err := version.Open(ctx, &latent{Provider: f.Store, delay: 25 * time.Millisecond}, "test")
				if err != nil {
					return err
				}
				head, err := repo.Head(ctx)
				for round := range rounds {
					if err != nil {
						return err
					}
					at := time.Now()
					txn := repo.Begin(head)
					f.Add(txn, 1, byte(10+w))
					head, err = txn.Commit(ctx, fmt.Sprint(w, " ", round), "")
					if took := int64(time.Since(at)); took > worst.Load() {
						worst.Store(took)
					}
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		took := time.Since(began)
		t.Logf("%d commits by %d writers in %v: %.1f a second, the slowest took %v", writers*rounds, writers, took, float64(writers*rounds)/took.Seconds(), time.Duration(worst.Load()))
		head := f.Begin(t).Base()
		if head.Record.Version != 1+writers*rounds || head.Rows() != versiontest.BaseRows+writers*rounds {
			t.Fatalf("version %d has %d rows", head.Record.Version, head.Rows())
		}
		if took > 2*time.Minute {
			t.Errorf("%d commits took %v", writers*rounds, took)
		}
	})
}

// latent delays every call of the protocol.
type latent struct {
	storage.Provider
	delay time.Duration
}

func (s *latent) Get(ctx context.Context, key string) ([]byte, error) {
	clock.Pass(s.delay)
	return s.Provider.Get(ctx, key)
}

func (s *latent) Put(ctx context.Context, key string, data []byte) error {
	clock.Pass(s.delay)
	return s.Provider.Put(ctx, key, data)
}

func (s *latent) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	clock.Pass(s.delay / 2)
	err := s.Provider.PutIfAbsent(ctx, key, data)
	clock.Pass(s.delay / 2)
	return err
}

func (s *latent) List(ctx context.Context, prefix, after string, fn func(storage.Object) bool) error {
	clock.Pass(s.delay)
	return s.Provider.List(ctx, prefix, after, fn)
}
