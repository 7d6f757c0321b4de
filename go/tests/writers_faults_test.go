package tests

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/version"
	"deeplake/core/version/maintain"
	"deeplake/go/tests/faultproxy"
)

// Everything that writes, with a fault at its first request, at its second, and so on until it
// needs no more. Afterwards it has happened once, or not at all and there was an error; and the
// same call again makes it once.

// site is a dataset that is reached through something that makes faults, and directly.
type site struct {
	*stand         // through it
	calm    *stand // past it
	d       *dataset.Dataset
	watcher *dataset.Dataset // past it

	labels []int64 // that main has, in any order, but for the changes of the round
	next   int64
}

// faulty makes faults: arm hits the request number n from now on, disarm ends that and tells
// whether there was one.
type faulty struct {
	arm    func(n int)
	disarm func() (hit bool)
	cured  bool // no call may fail
	dead   bool // the handle cannot be used any more
}

// operation is a call that writes. i is the number of the round, for names.
type operation struct {
	name    string
	inside  bool // it opens stores of its own
	prepare func(ctx context.Context, s *site, i int) error
	run     func(ctx context.Context, s *site, i int) error
	// again is a user's next step after an error; nil: run.
	again func(ctx context.Context, s *site, i int) error
	// times is how often the operation is to be seen, by s.watcher. An error means half of it.
	times func(ctx context.Context, s *site, i int) (int, error)
}

func operations() []operation {
	return append(append(nameOperations(), commitOperations()...), maintenanceOperations()...)
}

// counted wants as many rows of a label as there are commits with a message, and all else as it
// was.
func (s *site) counted(ctx context.Context, label int64, message string) (int, error) {
	log, err := s.watcher.Log(ctx, 0)
	if err != nil {
		return 0, err
	}
	n := 0
	for i, c := range log {
		if c.Version != uint64(len(log)-1-i) {
			return 0, fmt.Errorf("version %d is at place %d of %d", c.Version, i, len(log))
		}
		if c.Message == message {
			n++
		}
	}
	got, err := labelsOf(ctx, s.watcher)
	if err != nil {
		return 0, err
	}
	want := slices.Clone(s.labels)
	if label >= 0 {
		want = append(want, slices.Repeat([]int64{label}, n)...)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		return 0, fmt.Errorf("%d commits %q, and the rows %v, want %v", n, message, got, want)
	}
	return n, nil
}

// take gives a label that no row had.
func (s *site) take() int64 { s.next++; return s.next - 1 }

// distributed is a job of one task, whose commit has a key: a program that runs it again begins
// another write.
func distributed(ctx context.Context, s *site, label int64, message string) (err error) {
	d, err := s.open(ctx, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	token, err := dataset.WritesTo(d).Begin(ctx, dataset.DefaultLease)
	if err != nil {
		return err
	}
	env, o := s.program()
	part, err := dataset.OpenTask(ctx, env, s.uri, token, "task", o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, part.Close()) }()
	if err = extend(ctx, part, label); err != nil {
		return err
	}
	fragment, err := dataset.FragmentOf(ctx, part)
	if err != nil {
		return err
	}
	_, err = dataset.WritesTo(d).Commit(ctx, token, [][]byte{fragment}, dataset.CommitFragmentsOptions{Message: message, Key: message})
	if err != nil {
		return err
	}
	return dataset.WritesTo(d).End(ctx, token)
}

func commitOperations() []operation {
	message := func(i int) string { return fmt.Sprintf("commit %d", i) }
	commit := func(ctx context.Context, s *site, i int) error {
		if err := extend(ctx, s.d, s.next-1); err != nil {
			return err
		}
		_, err := s.d.Commit(ctx, message(i))
		return err
	}
	return []operation{{
		name:    "commit",
		prepare: func(_ context.Context, s *site, _ int) error { s.take(); return nil },
		run:     commit,
		again: func(ctx context.Context, s *site, i int) error {
			v, err := s.d.View(ctx)
			if err == nil && v.Len() > int64(len(s.labels)) {
				_, err = s.d.Commit(ctx, message(i))
				return err
			}
			if err := errors.Join(s.d.Discard(ctx), s.d.Refresh(ctx)); err != nil {
				return err
			}
			return commit(ctx, s, i)
		},
		times: func(ctx context.Context, s *site, i int) (int, error) { return s.counted(ctx, s.next-1, message(i)) },
	}, {
		name: "distributed write", inside: true,
		prepare: func(_ context.Context, s *site, _ int) error { s.take(); return nil },
		run: func(ctx context.Context, s *site, i int) error {
			return distributed(ctx, s, s.next-1, fmt.Sprintf("write %d", i))
		},
		times: func(ctx context.Context, s *site, i int) (int, error) {
			return s.counted(ctx, s.next-1, fmt.Sprintf("write %d", i))
		},
	}, {
		name: "merge",
		prepare: func(ctx context.Context, s *site, i int) error {
			name := fmt.Sprintf("side%d", i)
			if err := s.watcher.Versions().CreateBranch(ctx, name, ""); err != nil {
				return err
			}
			side, err := s.calm.open(ctx, name)
			if err != nil {
				return err
			}
			err = extend(ctx, side, s.take())
			if err == nil {
				_, err = side.Commit(ctx, "on the side")
			}
			return errors.Join(err, side.Close())
		},
		run: func(ctx context.Context, s *site, i int) error {
			_, _, err := s.d.Merge(ctx, fmt.Sprintf("side%d", i), version.OnConflictError, fmt.Sprintf("merge %d", i))
			return err
		},
		times: func(ctx context.Context, s *site, i int) (int, error) {
			return s.counted(ctx, s.next-1, fmt.Sprintf("merge %d", i))
		},
	}, {
		name: "rechunk",
		run: func(ctx context.Context, s *site, i int) error {
			_, err := s.d.Rechunk(ctx, dataset.RechunkOptions{All: true, Message: fmt.Sprintf("rechunk %d", i)})
			return err
		},
		times: func(ctx context.Context, s *site, i int) (int, error) {
			return s.counted(ctx, -1, fmt.Sprintf("rechunk %d", i))
		},
	}}
}

// named tells whether a branch or tag of that name is there, and wants it to hold what main holds.
func (s *site) named(ctx context.Context, name string) (bool, error) {
	branches, err := s.watcher.Versions().Branches(ctx)
	if err != nil {
		return false, err
	}
	tags, err := s.watcher.Versions().Tags(ctx)
	if err != nil {
		return false, err
	}
	n := 0
	for _, b := range branches {
		if b.Name == name {
			n++
		}
	}
	for _, tag := range tags {
		if tag.Name == name {
			n++
		}
	}
	if n != 1 {
		return false, nil
	}
	d, err := s.watcher.At(ctx, name)
	if err != nil {
		return false, err
	}
	defer func() { _ = d.Close() }()
	got, err := labelsOf(ctx, d)
	if slices.Sort(got); err == nil && !slices.Equal(got, s.labels) {
		err = fmt.Errorf("%q has the rows %v, want %v", name, got, s.labels)
	}
	return true, err
}

func nameOperations() []operation {
	appears := func(prefix string) func(context.Context, *site, int) (int, error) {
		return func(ctx context.Context, s *site, i int) (int, error) {
			there, err := s.named(ctx, fmt.Sprint(prefix, i))
			return map[bool]int{true: 1}[there], err
		}
	}
	goes := func(prefix string) func(context.Context, *site, int) (int, error) {
		return func(ctx context.Context, s *site, i int) (int, error) {
			there, err := s.named(ctx, fmt.Sprint(prefix, i))
			return map[bool]int{false: 1}[there], err
		}
	}
	branch := func(ctx context.Context, d *dataset.Dataset, i int) error {
		return d.Versions().CreateBranch(ctx, fmt.Sprint("branch", i), "")
	}
	tag := func(ctx context.Context, d *dataset.Dataset, i int) error {
		_, err := d.Versions().CreateTag(ctx, fmt.Sprint("tag", i), "", "a tag")
		return err
	}
	return []operation{{
		name:  "create branch",
		run:   func(ctx context.Context, s *site, i int) error { return branch(ctx, s.d, i) },
		times: appears("branch"),
	}, {
		name:    "delete branch",
		prepare: func(ctx context.Context, s *site, i int) error { return branch(ctx, s.watcher, i) },
		run: func(ctx context.Context, s *site, i int) error {
			return s.d.Versions().DeleteBranch(ctx, fmt.Sprint("branch", i))
		},
		times: goes("branch"),
	}, {
		name:  "create tag",
		run:   func(ctx context.Context, s *site, i int) error { return tag(ctx, s.d, i) },
		times: appears("tag"),
	}, {
		name:    "delete tag",
		prepare: func(ctx context.Context, s *site, i int) error { return tag(ctx, s.watcher, i) },
		run: func(ctx context.Context, s *site, i int) error {
			return s.d.Versions().DeleteTag(ctx, fmt.Sprint("tag", i))
		},
		times: goes("tag"),
	}}
}

func maintenanceOperations() []operation {
	ops := []operation{{
		name: "gc",
		prepare: func(ctx context.Context, s *site, _ int) error {
			env, o := s.calm.program()
			p, err := env.Stores.Open(ctx, s.calm.uri, o)
			if err != nil {
				return err
			}
			for _, key := range []string{format.DataKey(format.NewUUID(), 0), format.MapKey(format.NewUUID())} {
				err = errors.Join(err, p.Put(ctx, key, []byte("garbage")))
			}
			return errors.Join(err, p.Close())
		},
		run: func(ctx context.Context, s *site, _ int) error {
			_, err := s.d.Versions().GC(ctx, maintain.GCOptions{})
			return err
		},
		times: func(ctx context.Context, s *site, _ int) (int, error) {
			if _, err := s.counted(ctx, -1, ""); err != nil {
				return 0, err
			}
			report, err := s.watcher.Versions().Fsck(ctx, maintain.FsckOptions{})
			if err == nil && len(report.Problems) > 0 {
				err = fmt.Errorf("fsck: %+v", report.Problems)
			}
			return map[bool]int{true: 1}[report.Orphans == 0], err
		},
	}}
	for name, history := range map[string]bool{"copy": false, "copy with history": true} {
		to := func(s *site, i int) string { return fmt.Sprintf("%s-%s-%d", s.uri, name[len(name)-4:], i) }
		ops = append(ops, operation{
			name: name, inside: true,
			run: func(ctx context.Context, s *site, i int) error {
				env, o := s.program()
				way := dataset.OpenOptions{Storage: o}
				_, err := dataset.Copy(ctx, env, s.uri, to(s, i), dataset.CopyOptions{CopyOptions: maintain.CopyOptions{History: history}, From: way, To: way})
				return err
			},
			times: func(ctx context.Context, s *site, i int) (int, error) { return s.copied(ctx, to(s, i)) },
		})
	}
	return append(ops, operation{
		name: "create", inside: true,
		run: func(ctx context.Context, s *site, i int) error {
			env, o := s.program()
			d, err := dataset.Create(ctx, env, fmt.Sprintf("%s-new-%d", s.uri, i), dataset.CreateOptions{Storage: o})
			if err != nil {
				return err
			}
			return d.Close()
		},
		times: func(ctx context.Context, s *site, i int) (int, error) {
			return s.there(ctx, fmt.Sprintf("%s-new-%d", s.uri, i), func(d *dataset.Dataset) error {
				log, err := d.Log(ctx, 0)
				if err == nil && len(log) != 1 {
					err = fmt.Errorf("%d commits in a new dataset", len(log))
				}
				return err
			})
		},
	})
}

// there is 1 if there is a dataset, which look finds well, else 0.
func (s *site) there(ctx context.Context, uri string, look func(*dataset.Dataset) error) (int, error) {
	env, o := s.calm.program()
	d, err := dataset.Open(ctx, env, uri, dataset.OpenOptions{Storage: o})
	if errs.Is(err, errs.NotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return 1, errors.Join(look(d), d.Close())
}

// copied is 1 if there is a dataset, whole and with the rows of main.
func (s *site) copied(ctx context.Context, uri string) (int, error) {
	return s.there(ctx, uri, func(d *dataset.Dataset) error {
		got, err := labelsOf(ctx, d)
		if slices.Sort(got); err == nil && !slices.Equal(got, s.labels) {
			err = fmt.Errorf("the copy has the rows %v, want %v", got, s.labels)
		}
		report, fsckErr := d.Versions().Fsck(ctx, maintain.FsckOptions{})
		if err = errors.Join(err, fsckErr); err == nil && len(report.Problems) > 0 {
			err = fmt.Errorf("fsck of the copy: %+v", report.Problems)
		}
		return err
	})
}

// newSite makes a dataset of a few commits.
func newSite(t *testing.T, through, calm *stand) *site {
	t.Helper()
	s := &site{stand: through, calm: calm}
	ctx := t.Context()
	if err := calm.create(ctx); err != nil {
		t.Fatal(err)
	}
	s.watcher = calm.mustOpen(t, "")
	for range 3 {
		s.labels = append(s.labels, s.take())
		if err := extend(ctx, s.watcher, s.next-1); err != nil {
			t.Fatal(err)
		}
		if _, err := s.watcher.Commit(ctx, "before"); err != nil {
			t.Fatal(err)
		}
	}
	s.reopen(t)
	return s
}

func (s *site) reopen(t *testing.T) {
	t.Helper()
	if s.d != nil {
		_ = s.d.Close()
	}
	var err error
	if s.d, err = s.open(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
}

// tryEverywhere runs an operation with a fault at each of its requests, or at one in several from a
// random one on. It gives the number of the request that was not made any more, and of errors.
func tryEverywhere(t *testing.T, s *site, op operation, f faulty, stride int) (requests, failures int) {
	t.Helper()
	defer func() { _ = s.d.Close() }()
	for i := rand.IntN(stride); ; i += stride {
		hit, failed := s.round(t, op, f, i)
		if failed {
			failures++
		}
		if !hit {
			checkWhole(t, s.calm, false)
			return i, failures
		}
		if i > 500 {
			t.Fatal("the operation never ends without a fault")
		}
	}
}

// round runs an operation once, with a fault at request i.
func (s *site) round(t *testing.T, op operation, f faulty, i int) (hit, failed bool) {
	t.Helper()
	ctx := t.Context()
	must := func(what string, err error) {
		if err != nil {
			t.Helper()
			t.Fatalf("request %d: %s: %v", i, what, err)
		}
	}
	if op.prepare != nil {
		must("prepare", op.prepare(ctx, s, i))
	}
	must("refresh", s.d.Refresh(ctx))
	f.arm(i)
	err := op.run(ctx, s, i)
	hit, failed = f.disarm(), err != nil
	if err != nil && (f.cured || !hit) {
		t.Errorf("request %d: %v", i, err)
	}
	seen := func(when string) int {
		must("refresh", s.watcher.Refresh(ctx))
		n, seenErr := op.times(ctx, s, i)
		if seenErr != nil {
			t.Fatalf("request %d: %s (%v) it is there by half: %v", i, when, err, seenErr)
		}
		return n
	}
	n := seen("after the fault")
	if n > 1 || n == 0 && err == nil {
		t.Fatalf("request %d: it happened %d times (%v)", i, n, err)
	}
	if f.dead {
		s.reopen(t)
	}
	if err != nil && (n == 0 || !f.dead) {
		again := op.again
		if again == nil || f.dead {
			again = op.run
		}
		must("refresh", orUnsettled(s.d.Refresh(ctx)))
		if againErr := again(ctx, s, i); againErr != nil && (n == 0 || !errs.Is(againErr, errs.Exists) && !errs.Is(againErr, errs.NotFound)) {
			t.Fatalf("request %d: once more after %v: %v", i, err, againErr)
		}
	}
	if n := seen("after another try"); n != 1 {
		t.Fatalf("request %d: it happened %d times after %v and another try", i, n, err)
	}
	s.labels, err = labelsOf(ctx, s.watcher)
	must("read", err)
	slices.Sort(s.labels)
	return hit, failed
}

// orUnsettled passes over errors about uncommitted changes.
func orUnsettled(err error) error {
	if errs.Is(err, errs.Conflict) {
		return nil
	}
	return err
}

// networkFaults are the faults that a network and a store add to a request. Callers do not see the
// faults that repetition cures.
func networkFaults() map[string]struct {
	do    faultproxy.Action
	cured bool
} {
	return map[string]struct {
		do    faultproxy.Action
		cured bool
	}{
		"lost": {faultproxy.LoseAnswer(), true}, "refused": {faultproxy.Refuse(), true}, "reset": {faultproxy.ResetAt(0), true},
		"slow down": {faultproxy.SlowDown(), true}, "internal": {faultproxy.Answer(500, "InternalError", 0), true},
		"409": {faultproxy.Answer(409, "ConditionalRequestConflict", 0), false}, "412": {faultproxy.Answer(412, "PreconditionFailed", 0), false},
	}
}

// TestFaultAtEveryRequest: through a proxy in front of real servers. Without DEEPLAKE_FAULTS=all a
// part of it is run.
func TestFaultAtEveryRequest(t *testing.T) {
	t.Parallel()
	everything := os.Getenv("DEEPLAKE_FAULTS") == "all"
	for _, k := range lakeKinds() {
		for _, op := range operations() {
			for name, fault := range networkFaults() {
				stride := 1
				if op.inside && !everything {
					stride = 5 // a copy makes dozens of requests
				}
				if testing.Short() {
					stride *= 4
				}
				some := name == "lost" || name == "412" && !op.inside
				if k.name == "gcs" {
					some = name == "lost" && (op.name == "commit" || op.name == "merge")
				}
				if !everything && !some {
					continue
				}
				t.Run(k.name+" "+op.name+" "+name, func(t *testing.T) {
					t.Parallel()
					p := proxied(t, k, k.server(t))
					through := bucketStand(t, k, p)
					s := newSite(t, through, through.direct(t, k))
					n, failures := tryEverywhere(t, s, op, faulty{
						cured: fault.cured,
						arm: func(n int) {
							p.Reset()
							p.SetRules(t, faultproxy.Rule{Skip: n, Times: 1, Do: fault.do})
						},
						disarm: func() bool {
							hit := p.Counts().Faults > 0
							p.SetRules(t)
							return hit
						},
					}, stride)
					t.Logf("%d requests, %d of them end in an error", n, failures)
				})
			}
		}
	}
}

// TestFaultAtEveryCall: at every call of a store without retry, where every fault is seen.
func TestFaultAtEveryCall(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]faultstore.Action{
		"fails": faultstore.Fail(errs.Storage), "lost": faultstore.LostAnswer(), "crash": faultstore.Crash(), "crash after": faultstore.CrashAfter(),
	} {
		for _, op := range operations() {
			if op.inside {
				continue
			}
			t.Run(op.name+" "+name, func(t *testing.T) {
				t.Parallel()
				calm := localStand(t, "memory")
				var last *faultstore.Store
				through := &stand{name: "faults", uri: calm.uri, program: func() (*dataset.Env, storage.Options) {
					env, o := calm.program()
					open := env.Stores["mem"]
					env.Stores = storage.Registry{"mem": func(ctx context.Context, rest string, o storage.Options) (storage.Provider, error) {
						inner, err := open(ctx, rest, o)
						last = faultstore.New(inner, nil)
						return last, err
					}}
					return env, o
				}}
				s := newSite(t, through, calm)
				before, at := 0, 0
				n, failures := tryEverywhere(t, s, op, faulty{
					dead: name == "crash" || name == "crash after",
					arm: func(n int) {
						before, at = len(last.Calls()), n
						last.SetPlan(faultstore.Plan{{Skip: n, Do: do}})
					},
					disarm: func() bool {
						hit := len(last.Calls())-before > at
						last.SetPlan(nil)
						return hit
					},
				}, 1)
				t.Logf("%d calls, %d of them end in an error", n, failures)
			})
		}
	}
}
