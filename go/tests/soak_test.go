package tests

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"deeplake/core/chunk"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/version/maintain"
	"deeplake/go/tests/faultproxy"
)

// The soak: everything that changes a dataset at once, on a store with faults. DEEPLAKE_SOAK is its
// seconds.

const (
	soakSeconds = 25
	soakWriters = 4
	soakReaders = 4
	// soakGrace is the grace period of gc. Half of it is the deadline of a session: objects of a
	// longer one may be collected before its commit.
	soakGrace = 20 * time.Second
	soakRetry = 4 // seconds that one call may take
)

// soak is one run.
type soak struct {
	t *testing.T
	s *stand

	mu sync.Mutex
	// labels on main: true, where a commit was acknowledged; false, where it failed for good
	told     map[int64]bool
	problems []error

	commits, reads, lost, collected, expired, rechunked, checks, branches atomic.Int64
}

// fault sorts out errors that the faults of the store explain.
func (k *soak) fault(what string, err error) {
	if err == nil || errs.Is(err, errs.Storage) || errs.Is(err, errs.Conflict) || errs.Is(err, errs.Canceled) {
		if err != nil {
			k.lost.Add(1)
		}
		return
	}
	k.problem(fmt.Errorf("%s: %w", what, err))
}

func (k *soak) problem(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.problems) < 20 {
		k.problems = append(k.problems, err)
	}
}

// every runs fn until ctx ends, at most once a period.
func every(ctx context.Context, period time.Duration, fn func(n int)) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			fn(n)
		}
	}
}

// with opens a branch as a program of its own, for half the grace period at most.
func (k *soak) with(ctx context.Context, what, branch string, fn func(ctx context.Context, d *dataset.Dataset) error) {
	ctx, cancel := context.WithTimeout(ctx, soakGrace/2)
	defer cancel()
	d, err := k.s.open(ctx, branch)
	if err == nil {
		err = errors.Join(fn(ctx, d), d.Close())
	}
	k.fault(what, err)
}

// write appends rows of new labels and commits them, again where the answer is not clear.
func (k *soak) write(ctx context.Context, d *dataset.Dataset, labels []int64) error {
	err := extend(ctx, d, labels...)
	if err == nil {
		for range 3 {
			if _, err = d.Commit(ctx, "rows"); err == nil {
				break
			}
		}
	}
	return err
}

func (k *soak) writer(ctx context.Context, w int) {
	next := int64(w) << 40
	every(ctx, 100*time.Millisecond, func(int) {
		k.with(ctx, "writer", "", func(ctx context.Context, d *dataset.Dataset) error {
			for range 1 + rand.IntN(5) {
				var labels []int64
				for range 1 + rand.IntN(4) {
					next++
					labels = append(labels, next)
				}
				err := k.write(ctx, d, labels)
				k.mu.Lock()
				for _, label := range labels {
					k.told[label] = err == nil
				}
				k.mu.Unlock()
				if err != nil {
					return err
				}
				k.commits.Add(1)
			}
			return nil
		})
	})
}

// reader reads random rows of the head. It reports rows that were acknowledged before it opened and
// are missing.
func (k *soak) reader(ctx context.Context) {
	every(ctx, 100*time.Millisecond, func(int) {
		k.mu.Lock()
		least := 0
		for _, acknowledged := range k.told {
			if acknowledged {
				least++
			}
		}
		k.mu.Unlock()
		k.with(ctx, "reader", "", func(ctx context.Context, d *dataset.Dataset) error {
			v, err := d.View(ctx)
			if err != nil {
				return err
			}
			if v.Len() < int64(least) {
				k.problem(fmt.Errorf("a reader sees %d rows, %d were acknowledged before", v.Len(), least))
			}
			k.reads.Add(1)
			return k.spot(ctx, v)
		})
	})
}

// spot reads a few rows and holds each text against its label.
func (k *soak) spot(ctx context.Context, v *dataset.View) error {
	if v.Len() == 0 {
		return nil
	}
	var rows []int64
	for range 16 {
		rows = append(rows, rand.Int64N(v.Len()))
	}
	var read [2][][]byte
	for i, name := range []string{"label", "text"} {
		col, err := v.Column(name)
		if err != nil {
			return err
		}
		refs := make([]chunk.Ref, len(rows))
		if err := col.Resolve(ctx, rows, refs); err != nil {
			return err
		}
		w := v.NewWorker()
		defer w.Close()
		for n := range refs {
			data := make([]byte, refs[n].Size)
			if err := col.Decode(ctx, &refs[n], data, w); err != nil {
				return err
			}
			read[i] = append(read[i], data)
		}
	}
	for n, number := range read[0] {
		if label := int64(binary.LittleEndian.Uint64(number)); string(read[1][n]) != string(labelText(label)) {
			k.problem(fmt.Errorf("row %d has the label %d and the text %q", rows[n], label, read[1][n]))
		}
	}
	return nil
}

// branch makes a branch, commits to it, reads it by another program and deletes it.
func (k *soak) branch(ctx context.Context, n int) {
	name := fmt.Sprintf("branch-%d", n)
	created := false
	k.with(ctx, "branch", "", func(ctx context.Context, d *dataset.Dataset) error {
		err := d.Versions().CreateBranch(ctx, name, "main")
		created = err == nil
		return err
	})
	if !created { // a fault of the store, or the deadline
		return
	}
	labels := []int64{-int64(n)*10 - 1, -int64(n)*10 - 2}
	written := false
	k.with(ctx, "branch", name, func(ctx context.Context, d *dataset.Dataset) error {
		err := k.write(ctx, d, labels)
		written = err == nil
		return err
	})
	if written {
		k.with(ctx, "branch", name, func(ctx context.Context, d *dataset.Dataset) error {
			found, err := labelsOf(ctx, d)
			if err == nil && !(slices.Contains(found, labels[0]) && slices.Contains(found, labels[1])) {
				k.problem(fmt.Errorf("branch %q lacks what was acknowledged", name))
			}
			k.branches.Add(1)
			return err
		})
	}
	k.with(ctx, "branch", "", func(ctx context.Context, d *dataset.Dataset) error {
		if err := d.Versions().DeleteBranch(ctx, name); !errs.Is(err, errs.NotFound) {
			return err
		}
		return nil
	})
}

func (k *soak) collect(ctx context.Context) {
	k.with(ctx, "gc", "", func(ctx context.Context, d *dataset.Dataset) error {
		r, err := d.Versions().GC(ctx, maintain.GCOptions{OlderThan: soakGrace, Expire: &maintain.Retention{Age: 5 * time.Second, Last: 3}})
		k.collected.Add(r.Objects)
		k.expired.Add(r.Expired)
		if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Corrupt) {
			// it stops before a damaged dataset: then fsck says more
			k.problem(fmt.Errorf("gc: %w", err))
		}
		return err
	})
}

func (k *soak) check(ctx context.Context, repair bool) {
	k.with(ctx, "fsck", "", func(ctx context.Context, d *dataset.Dataset) error {
		r, err := d.Versions().Fsck(ctx, maintain.FsckOptions{Repair: repair})
		if err == nil && len(r.Problems) > 0 {
			k.problem(fmt.Errorf("fsck: %d problems, the first: %+v", len(r.Problems), r.Problems[0]))
		}
		k.checks.Add(1)
		return err
	})
}

// TestSoak: writers, readers, gc, expiry, rechunk, fsck and branches at once, on a store that
// refuses, breaks connections and loses answers. At the end every row that was acknowledged is
// there once, no other is, and fsck finds nothing.
func TestSoak(t *testing.T) {
	t.Parallel()
	kind := lakeKinds()[0]
	p := proxied(t, kind, kind.server(t))
	through := bucketStand(t, kind, p)
	program := through.program
	k := &soak{t: t, s: through, told: map[int64]bool{}}
	if err := through.create(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.SetRules(t,
		faultproxy.Rule{P: 0.01, Do: faultproxy.Answer(503, "SlowDown", 0)},
		faultproxy.Rule{Method: "PUT", P: 0.01, Do: faultproxy.LoseAnswer()},
		faultproxy.Rule{P: 0.005, Do: faultproxy.Refuse()},
		faultproxy.Rule{Method: "GET", P: 0.01, Do: faultproxy.ResetAt(faultproxy.Middle)},
	)
	retrying := *through
	retrying.program = func() (env *dataset.Env, o storage.Options) {
		env, o = program()
		o.Settings.RetryTime = soakRetry
		return env, o
	}
	k.s = &retrying

	seconds := soakSeconds
	if testing.Short() {
		seconds = 10
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(figure("DEEPLAKE_SOAK", seconds))*time.Second)
	defer cancel()
	var running sync.WaitGroup
	start := func(fn func()) {
		running.Add(1)
		go func() {
			defer running.Done()
			fn()
		}()
	}
	for w := range soakWriters {
		start(func() { k.writer(ctx, w+1) })
	}
	for range soakReaders {
		start(func() { k.reader(ctx) })
	}
	start(func() {
		every(ctx, 2*time.Second, func(n int) { k.branch(ctx, n) })
	})
	start(func() {
		every(ctx, 2*time.Second, func(int) { k.collect(ctx) })
	})
	start(func() {
		every(ctx, 3*time.Second, func(n int) { k.check(ctx, n%2 == 1) })
	})
	start(func() {
		every(ctx, 3*time.Second, func(int) {
			k.with(ctx, "rechunk", "", func(ctx context.Context, d *dataset.Dataset) error {
				r, err := d.Rechunk(ctx, dataset.RechunkOptions{})
				k.rechunked.Add(r.Rows)
				return err
			})
		})
	})
	running.Wait()

	p.SetRules(t)
	k.s = through
	ctx = t.Context()
	d := through.mustOpen(t, "")
	found, err := labelsOf(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	times := map[int64]int{}
	for _, label := range found {
		times[label]++
	}
	acknowledged := 0
	for label, told := range k.told {
		if told {
			acknowledged++
		}
		if n := times[label]; n > 1 || told && n == 0 {
			t.Errorf("label %d stands %d times, its writer was told %v", label, n, told)
		}
	}
	for label := range times {
		if _, known := k.told[label]; !known {
			t.Errorf("label %d is on main, and no writer put it there", label)
		}
	}
	k.check(ctx, false)
	for _, err := range k.problems {
		t.Error(err)
	}
	t.Logf("%d commits with %d rows acknowledged, %d rows found; %d reads, %d branches, %d objects collected, %d versions expired, %d rows rechunked, %d checks, %d calls failed; proxy: %+v",
		k.commits.Load(), acknowledged, len(found), k.reads.Load(), k.branches.Load(), k.collected.Load(), k.expired.Load(), k.rechunked.Load(), k.checks.Load(), k.lost.Load(), p.Counts())
	if k.commits.Load() == 0 || k.reads.Load() == 0 || k.checks.Load() < 2 {
		t.Error("the soak did nothing")
	}
}
