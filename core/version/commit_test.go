package version_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/storage/local"
	"deeplake/core/version"
	"deeplake/core/version/versiontest"
)

func bitmap() *roaring64.Bitmap { return roaring64.New() }

func TestCommitThenRead(t *testing.T) {
	t.Parallel()
	f := versiontest.New(t, versiontest.MemStore(t))
	txn := f.Begin(t)
	f.Mixed(txn)
	preview, err := txn.Preview(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"x1.0 label1.0 ", "x1.1 label1.1 ", "x3.0 label1.2 ", "x1.3 label1.3 ", "x1.5 label1.5 ", "x1.6 label1.6 ", "x1.7 label1.7 ",
		"x1.8 label1.8 ", "x3.1 label1.9 ", "x3.2 label2.0 ", "x2.2 label2.2 ", "x []", "label [a b]", "map[k:v]",
	}
	if got := versiontest.State(t, preview); !slices.Equal(got, want) {
		t.Fatalf("preview = %q\nwant %q", got, want)
	}
	if got := versiontest.State(t, f.Commit(t, txn, "mixed")); !slices.Equal(got, want) {
		t.Fatalf("commit = %q\nwant %q", got, want)
	}
	if got := versiontest.State(t, f.Begin(t).Base()); !slices.Equal(got, want) {
		t.Fatalf("reopened = %q\nwant %q", got, want)
	}
}

// TestPreviewAfterFailedCommit: a preview adds nothing to the pages of a failed commit.
func TestPreviewAfterFailedCommit(t *testing.T) {
	t.Parallel()
	store := faultstore.New(versiontest.MemStore(t), nil)
	f := versiontest.New(t, store)
	txn := f.Begin(t)
	f.Add(txn, 2, 2)
	store.SetPlan(faultstore.Plan{{Ops: []faultstore.Op{faultstore.PutIfAbsent}, Times: faultstore.Always, Do: faultstore.Fail(errs.Storage)}})
	if _, err := txn.Commit(context.Background(), "fails", ""); !errs.Is(err, errs.Storage) {
		t.Fatalf("commit = %v", err)
	}
	store.SetPlan(nil)
	f.Add(txn, 2, 3)
	s, err := txn.Preview(context.Background())
	if err != nil || s.Rows() != versiontest.BaseRows+4 {
		t.Fatal(s.Rows(), err)
	}
	want := versiontest.State(t, s)
	if got := versiontest.State(t, f.Commit(t, txn, "again")); !slices.Equal(got, want) {
		t.Fatalf("commit = %q\nwant %q", got, want)
	}
	if got := versiontest.State(t, f.Begin(t).Base()); !slices.Equal(got, want) {
		t.Fatalf("reopened = %q\nwant %q", got, want)
	}
}

// TestCommitFaults lets each storage call of a commit go wrong in each way, of one that finds its
// base to be the head and of one that has lost a race. The dataset is then the old or the new
// version, and the same commit done again succeeds and is there once.
func TestCommitFaults(t *testing.T) {
	t.Parallel()
	actions := map[string]faultstore.Action{
		"fail": faultstore.Fail(errs.Storage), "exists": faultstore.Fail(errs.Exists), "lost answer": faultstore.LostAnswer(),
		"crash": faultstore.Crash(), "crash after": faultstore.CrashAfter(),
	}
	for _, race := range []bool{false, true} {
		after, calls := commitWithFaults(t, nil, race, nil)
		if calls < 6 {
			t.Fatalf("a commit makes %d calls; the test is too small", calls)
		}
		for name, do := range actions {
			for n := range calls {
				t.Run(fmt.Sprintf("%s %d %t", name, n, race), func(t *testing.T) {
					t.Parallel()
					commitWithFaults(t, faultstore.Plan{{Skip: n, Do: do}}, race, after)
				})
			}
		}
	}
}

// faultyFixture is a dataset as seen without faults, and by a writer behind a store that can have
// some.
func faultyFixture(t *testing.T) (f, mine *versiontest.Fixture, broken *faultstore.Store) {
	t.Helper()
	inner := versiontest.MemStore(t)
	f = versiontest.New(t, inner)
	broken = faultstore.New(inner, nil)
	return f, &versiontest.Fixture{Store: broken, X: f.X, Label: f.Label}, broken
}

// commitWithFaults commits once as plan says and once more without faults, and checks the dataset
// after either; want is the outcome. It returns the outcome and the calls of the first commit.
func commitWithFaults(t *testing.T, plan faultstore.Plan, race bool, want []string) (after []string, calls int) {
	t.Helper()
	f, mine, broken := faultyFixture(t)
	txn := mine.Begin(t)
	mine.Mixed(txn)
	if race {
		other := f.Begin(t)
		f.Add(other, 2, 9)
		f.Commit(t, other, "other")
	}
	old := f.Begin(t).Base()
	before, version := versiontest.State(t, old), old.Record.Version
	from := len(broken.Calls())
	broken.SetPlan(plan)
	_, failed := txn.Commit(context.Background(), "mixed", "")
	calls = len(broken.Calls()) - from

	head := f.Begin(t).Base()
	got := versiontest.State(t, head)
	isNew := head.Record.Version == version+1 && (want == nil || slices.Equal(got, want))
	if isOld := slices.Equal(got, before) && head.Record.Version == version; !isOld && !isNew || failed == nil && !isNew {
		t.Fatalf("after %v the head is version %d: %q", failed, head.Record.Version, got)
	}
	broken.SetPlan(nil)
	if failed != nil {
		if _, err := txn.Commit(context.Background(), "mixed", ""); err != nil {
			t.Fatalf("the second try, after %v: %v", failed, err)
		}
	}
	head = f.Begin(t).Base()
	after = versiontest.State(t, head)
	if head.Record.Version != version+1 || want != nil && !slices.Equal(after, want) {
		t.Fatalf("after %v and a second try the head is version %d: %q, want %q", failed, head.Record.Version, after, want)
	}
	return after, calls
}

// TestLostCommit: the answer is lost and cannot be looked up, and then others commit too.
func TestLostCommit(t *testing.T) {
	t.Parallel()
	lose := faultstore.Plan{{Ops: []faultstore.Op{faultstore.PutIfAbsent}, Do: faultstore.CrashAfter()}}
	setup := func(t *testing.T) (*versiontest.Fixture, *faultstore.Store, *version.Txn) {
		f, mine, broken := faultyFixture(t)
		txn := mine.Begin(t)
		mine.Add(txn, 3, 2)
		broken.SetPlan(lose)
		if _, err := txn.Commit(context.Background(), "lost", ""); !errs.Is(err, errs.Storage) {
			t.Fatalf("commit = %v", err)
		}
		broken.SetPlan(nil)
		other := f.Begin(t)
		f.Add(other, 1, 3)
		f.Commit(t, other, "other")
		return f, broken, txn
	}
	t.Run("again", func(t *testing.T) {
		t.Parallel()
		f, _, txn := setup(t)
		s, err := txn.Commit(context.Background(), "lost", "")
		if err != nil || s.Record.Version != 2 || s.Record.Message != "lost" {
			t.Fatalf("commit = %+v, %v", s, err)
		}
		if head := f.Begin(t).Base(); head.Record.Rows != versiontest.BaseRows+4 || head.Record.Version != 3 {
			t.Fatalf("%d rows in version %d", head.Record.Rows, head.Record.Version)
		}
	})
	t.Run("with more", func(t *testing.T) {
		t.Parallel()
		f, _, txn := setup(t)
		f.Add(txn, 1, 4)
		if _, err := txn.Commit(context.Background(), "more", ""); !errs.Is(err, errs.Conflict) || !versiontest.Contains(err, "became version 2") {
			t.Fatalf("commit = %v", err)
		}
	})
	t.Run("with a schema change", func(t *testing.T) {
		t.Parallel()
		f, _, txn := setup(t)
		txn.Schema().ByID(f.Label).ClassNames = []string{"a", "z"}
		if _, err := txn.Commit(context.Background(), "more", ""); !errs.Is(err, errs.Conflict) {
			t.Fatalf("commit = %v", err)
		}
	})
}

// TestUnclearCommit: the store says again and again that the record exists, and that it does not.
// That is a fault of the store, which a commit may be tried again after, and not a thing that the
// caller has named wrongly.
func TestUnclearCommit(t *testing.T) {
	t.Parallel()
	_, mine, broken := faultyFixture(t)
	txn := mine.Begin(t)
	mine.Add(txn, 3, 2)
	exists := faultstore.Fault{Ops: []faultstore.Op{faultstore.PutIfAbsent}, Do: faultstore.Fail(errs.Exists)}

	exists.Times = version.UnclearTries
	broken.SetPlan(faultstore.Plan{exists})
	if _, err := txn.Commit(context.Background(), "unclear", ""); !errs.Is(err, errs.Storage) || !versiontest.Contains(err, "commit again") {
		t.Fatalf("commit = %v (%v)", err, errs.KindOf(err))
	}
	exists.Times = version.UnclearTries - 1 // the last try is not hit
	broken.SetPlan(faultstore.Plan{exists})
	s, err := txn.Commit(context.Background(), "clear", "")
	if err != nil || s.Record.Rows != versiontest.BaseRows+3 {
		t.Fatalf("commit = %+v, %v", s, err)
	}
}

func TestRace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		writers, rounds int
		disk            bool
	}{{2, 12, false}, {8, 12, false}, {24, 5, false}, {24, 3, true}} {
		t.Run(fmt.Sprint(c.writers, " ", c.disk), func(t *testing.T) {
			t.Parallel()
			writers, rounds := c.writers, c.rounds
			store := versiontest.MemStore(t)
			if c.disk {
				var err error
				if store, err = local.Open(context.Background(), t.TempDir(), storage.Options{Create: true}); err != nil {
					t.Fatal(err)
				}
				defer func() { _ = store.Close() }()
			}
			f := versiontest.New(t, store)
			began := time.Now()
			g := task.New(context.Background(), 0)
			for w := range writers {
				g.Go(func(ctx context.Context) error {
					repo, err := version.Open(ctx, f.Store, "test")
					if err != nil {
						return err
					}
					head, err := repo.Head(ctx)
					if err != nil {
						return err
					}
					for round := range rounds {
						txn := repo.Begin(head)
						f.Add(txn, int64(1+round%3), byte(10+w))
						if w < versiontest.BaseRows {
							f.Update(txn, byte(100+w), int64(w)) // a row of one's own
						}
						if head, err = txn.Commit(ctx, fmt.Sprintf("writer %d round %d", w, round), ""); err != nil {
							return err
						}
						if head.Record.Rows != txn.Rows()+head.Record.Rows-txn.Base().Record.Rows-int64(1+round%3) {
							return errs.New(errs.Internal, "rows do not add up")
						}
					}
					return nil
				})
			}
			if err := g.Wait(); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d commits by %d writers in %v", writers*rounds, writers, time.Since(began))
			head := f.Begin(t).Base()
			if want := uint64(1 + writers*rounds); head.Record.Version != want {
				t.Fatalf("head is version %d, want %d", head.Record.Version, want)
			}
			got := map[string]int{}
			for _, word := range versiontest.State(t, head)[:head.Rows()] {
				got[word]++
			}
			want := map[string]int{}
			for row := range versiontest.BaseRows {
				word := fmt.Sprintf("x1.%d label1.%d ", row, row)
				if int(row) < writers {
					word = fmt.Sprintf("x%d.0 label1.%d ", 100+row, row)
				}
				want[word]++
			}
			for w := range writers {
				for round := range rounds {
					for i := range 1 + round%3 {
						want[fmt.Sprintf("x%d.%d label%d.%d ", 10+w, i, 10+w, i)]++
					}
				}
			}
			if !maps.Equal(got, want) {
				t.Fatalf("rows = %v\nwant %v", got, want)
			}
		})
	}
}

// TestAt names commits in every way.
func TestAt(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := versiontest.New(t, versiontest.MemStore(t))
	repo := f.Repo(t)
	clock := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	var commits []*version.Snapshot
	for i := range 9 {
		at := clock.Add(time.Duration(i) * time.Hour)
		if i == 5 {
			at = clock // a clock that went back: times still rise
		}
		repo.Now = func() time.Time { return at }
		head, err := repo.Head(ctx)
		if err != nil {
			t.Fatal(err)
		}
		txn := repo.Begin(head)
		f.Add(txn, 1, byte(i+2))
		commits = append(commits, f.Commit(t, txn, fmt.Sprint("commit ", i)))
	}
	last := commits[len(commits)-1].Record
	cases := []struct {
		ref  string
		want uint64
		kind errs.Kind
	}{
		{ref: "0", want: 0}, {ref: "1", want: 1}, {ref: "10", want: 10},
		{ref: "11", kind: errs.NotFound}, {ref: "99999999999999999999999", kind: errs.NotFound},
		{ref: commits[3].Record.UUID.String(), want: 5},
		{ref: commits[3].Record.UUID.String()[:12], want: 5},
		{ref: "2031-01-01T00:00:00Z", want: last.Version},
		{ref: clock.Add(time.Hour).Format(time.RFC3339Nano), want: 3},
		{ref: clock.Add(time.Hour - 1).Format(time.RFC3339Nano), want: 2},
		{ref: clock.Add(4 * time.Hour).Format(time.RFC3339Nano), want: 7},
		{ref: "2030-01-01T09:30:00+08:00", want: 3},
		{ref: "2001-01-01T00:00:00Z", kind: errs.NotFound},
		// fewer digits than a record has stand for the end of the last one
		{ref: commits[3].Record.Time.Format("2006-01-02T15:04:05Z"), want: 5},
		{ref: commits[3].Record.Time.Format("2006-01-02T15:04:05.000Z"), want: 5},
		{ref: commits[3].Record.Time.Add(-time.Second).Format("2006-01-02T15:04:05,000Z"), want: 4},
		{ref: commits[3].Record.Time.Format("2006-01-02 15:04:05.000Z"), want: 5}, {ref: commits[3].Record.Time.Format("2006-01-02 15:04:05+00:00"), want: 5},
		{ref: commits[3].Record.Time.Format("2006-01-02 15:04:05.000"), kind: errs.Invalid},
		{ref: commits[3].Record.Time.Format("2006-01-02T15:04:05"), kind: errs.Invalid},
		{ref: strings.Repeat("f", 32), kind: errs.NotFound},
		{ref: "abc", kind: errs.NotFound}, {ref: "yesterday", kind: errs.NotFound}, {ref: "-1", kind: errs.Invalid}, {ref: "", kind: errs.Invalid},
	}
	for _, c := range cases {
		s, err := repo.At(ctx, c.ref)
		switch {
		case c.kind != 0:
			if !errs.Is(err, c.kind) || !versiontest.Contains(err, "at ") {
				t.Errorf("At(%q) = %v, want an error that is %s", c.ref, err, c.kind)
			}
		case err != nil || s.Record.Version != c.want:
			t.Errorf("At(%q) = %+v, %v, want version %d", c.ref, s, err, c.want)
		}
	}
	log, err := repo.Log(ctx, 0)
	if err != nil || len(log) != 11 || log[0].UUID != last.UUID || log[10].Version != 0 {
		t.Fatalf("log has %d commits: %v", len(log), err)
	}
	for i, rec := range log[:10] {
		if rec.Time.Before(log[i+1].Time) || *rec.Parent != log[i+1].UUID {
			t.Errorf("commit %d is before its parent, or not its child", rec.Version)
		}
	}
	if log, err = repo.Log(ctx, 3); err != nil || len(log) != 3 {
		t.Fatalf("log of 3 has %d: %v", len(log), err)
	}
}

func TestAtAmbiguous(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := versiontest.New(t, versiontest.MemStore(t))
	repo := f.Repo(t)
	for i := range 2 {
		head, err := repo.Head(ctx)
		if err != nil {
			t.Fatal(err)
		}
		rec := *head.Record
		rec.Version++
		rec.Parent = &head.Record.UUID
		rec.UUID = format.UUID{0: 0xab, 1: 0xcd, 2: 0xef, 3: byte(i), 15: 1}
		rec.Ops = nil
		data, err := format.EncodeRecord(&rec)
		if err != nil {
			t.Fatal(err)
		}
		if winner, err := repo.PutRecord(ctx, &rec, data); err != nil || winner != &rec {
			t.Fatal(winner, err)
		}
	}
	if _, err := repo.At(ctx, "abcdef"); !errs.Is(err, errs.Invalid) || !versiontest.Contains(err, "more digits") {
		t.Fatalf("At = %v", err)
	}
	if s, err := repo.At(ctx, "abcdef01"); err != nil || s.Record.Version != 3 {
		t.Fatalf("At = %v, %v", s, err)
	}
}

// TestCreateFaults: a creation that goes wrong leaves no dataset, or a whole one.
func TestCreateFaults(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, do := range []faultstore.Action{faultstore.Fail(errs.Storage), faultstore.LostAnswer(), faultstore.Crash(), faultstore.CrashAfter()} {
		for n := range 11 {
			inner := versiontest.MemStore(t)
			store := faultstore.New(inner, faultstore.Plan{{Skip: n, Do: do}})
			_, _, failed := version.Create(ctx, store, "test", nil)
			found, err := version.Exists(ctx, inner)
			if err != nil || failed == nil && !found {
				t.Fatal(failed, found, err)
			}
			if !found {
				if _, _, err := version.Create(ctx, inner, "test", nil); err != nil {
					t.Fatalf("call %d: create again, after %v: %v", n, failed, err)
				}
			}
			repo, err := version.Open(ctx, inner, "test")
			if err != nil {
				t.Fatal(err)
			}
			if head, err := repo.Head(ctx); err != nil || head.Rows() != 0 {
				t.Fatal(head, err)
			}
		}
	}
	store := faultstore.New(versiontest.MemStore(t), faultstore.Plan{{Ops: []faultstore.Op{faultstore.PutIfAbsent}, Times: 2, Do: faultstore.LostAnswer()}})
	if _, _, err := version.Create(ctx, store, "test", nil); err != nil {
		t.Fatalf("answers were lost, the writes done: %v", err)
	}
	if _, _, err := version.Create(ctx, store, "test", nil); !errs.Is(err, errs.Exists) {
		t.Fatalf("create again = %v", err)
	}
}
