package faultstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/storage/storagetest"
)

func open(t *testing.T, s *mem.Space) storage.Provider {
	t.Helper()
	p, err := s.Open(t.Context(), "faults", storage.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newStore(t *testing.T, plan ...Fault) (*Store, storage.Provider) {
	t.Helper()
	inner := open(t, &mem.Space{})
	return New(inner, plan), inner
}

// script makes one call of each kind; the numbers are those of the calls. It returns the errors in
// order.
func script(ctx context.Context, s *Store) []error {
	result := make([]error, 0, 9)
	add := func(err error) { result = append(result, err) }
	add(s.Put(ctx, "data/a", []byte("0123456789")))    // 0
	add(s.PutIfAbsent(ctx, "log/1", []byte("commit"))) // 1
	_, err := s.Get(ctx, "log/1")
	add(err)                                                                 // 2
	add(s.ReadAt(ctx, "data/a", make([]byte, 4), 3))                         // 3
	add(s.List(ctx, "data/", "", func(storage.Object) bool { return true })) // 4
	w, err := s.Create(ctx, "data/b")                                        // 5
	add(err)
	if err != nil {
		return append(result, err, err, s.Delete(ctx, "data/x", "log/x"))
	}
	_, err = w.Write([]byte("stream")) // 6
	add(err)
	add(w.Finish(ctx))                    // 7
	add(s.Delete(ctx, "data/x", "log/x")) // 8
	return result
}

func TestConformanceWithoutFaults(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, func(t *testing.T) (storage.Provider, func() storage.Provider) {
		var space mem.Space
		return New(open(t, &space), nil), func() storage.Provider { return New(open(t, &space), nil) }
	})
}

func TestCallsAreRecordedInOrder(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	if err := errors.Join(script(t.Context(), s)...); err != nil {
		t.Fatal(err)
	}
	want := []Call{
		{Put, "data/a", 10}, {PutIfAbsent, "log/1", 6}, {Get, "log/1", 0}, {ReadAt, "data/a", 4}, {List, "data/", 0},
		{Create, "data/b", 0}, {Write, "data/b", 6}, {Finish, "data/b", 0}, {Delete, "data/x log/x", 0},
	}
	if got := s.Calls(); !slices.Equal(got, want) {
		t.Errorf("calls: got %v, want %v", got, want)
	}
}

func TestWhichCallsAreHit(t *testing.T) {
	t.Parallel()
	fail := Fail(errs.ReadOnly)
	for _, c := range []struct {
		name string
		plan Plan
		want []int
	}{
		{"none", nil, nil},
		{"the first", Plan{{Do: fail}}, []int{0}},
		{"number 3", Plan{{Skip: 3, Do: fail}}, []int{3}},
		{"two from number 2", Plan{{Skip: 2, Times: 2, Do: fail}}, []int{2, 3}},
		{"all from number 6", Plan{{Skip: 6, Times: Always, Do: fail}}, []int{6, 7, 8}},
		{"by op", Plan{{Ops: []Op{Write, Delete}, Times: Always, Do: fail}}, []int{6, 8}},
		{"by prefix", Plan{{Prefix: "log/", Times: Always, Do: fail}}, []int{1, 2, 8}},
		{"by op and prefix", Plan{{Ops: Writing(), Prefix: "log/", Times: Always, Do: fail}}, []int{1, 8}},
		{"reading", Plan{{Ops: Reading(), Times: Always, Do: fail}}, []int{2, 3, 4}},
		{"second of a prefix", Plan{{Prefix: "data/", Skip: 1, Do: fail}}, []int{3}},
		{"two faults", Plan{{Skip: 1, Do: fail}, {Ops: []Op{Get}, Do: fail}}, []int{1, 2}},
		{"the first fault wins, both count", Plan{{Do: LostAnswer()}, {Skip: 1, Do: fail}}, []int{0, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, _ := newStore(t, c.plan...)
			var got []int
			for i, err := range script(t.Context(), s) {
				if err != nil && strings.Contains(err.Error(), "injected") {
					got = append(got, i)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("failed calls: got %v, want %v", got, c.want)
			}
		})
	}
}

func TestFailDoesNothingLostAnswerDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		do     Action
		kind   errs.Kind
		stored bool
	}{
		{"fail", Fail(errs.Conflict), errs.Conflict, false},
		{"fail with", FailWith(errs.New(errs.Range, "mine")), errs.Range, false},
		{"lost answer", LostAnswer(), errs.Storage, true},
		{"crash", Crash(), errs.Storage, false},
		{"crash after", CrashAfter(), errs.Storage, true},
	} {
		for _, op := range []Op{Put, PutIfAbsent, Finish} {
			t.Run(fmt.Sprintf("%s %s", c.name, op), func(t *testing.T) {
				t.Parallel()
				ctx := t.Context()
				s, inner := newStore(t, Fault{Ops: []Op{op}, Do: c.do})
				err := write(ctx, s, op, "k", []byte("v"))
				if !errs.Is(err, c.kind) {
					t.Errorf("got %v, want kind %q", err, c.kind)
				}
				if _, err := inner.Get(ctx, "k"); (err == nil) != c.stored {
					t.Errorf("stored: got %v (%v), want %v", err == nil, err, c.stored)
				}
			})
		}
	}
}

// write stores data by op.
func write(ctx context.Context, p storage.Provider, op Op, key string, data []byte) error {
	switch op {
	case Put:
		return p.Put(ctx, key, data)
	case PutIfAbsent:
		return p.PutIfAbsent(ctx, key, data)
	}
	w, err := storage.Create(ctx, p, key)
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := w.Write(data); err != nil {
		return err
	}
	return w.Finish(ctx)
}

// TestCrashAtEveryCall: a killed process leaves the results of the calls before the crash, and no
// call is done afterwards.
func TestCrashAtEveryCall(t *testing.T) {
	t.Parallel()
	for n := range 10 {
		s, inner := newStore(t, Fault{Skip: n, Do: Crash()})
		result := script(t.Context(), s)
		if len(result) != 9 {
			t.Fatalf("crash at call %d: %d results, want 9", n, len(result))
		}
		for i, err := range result {
			if (err != nil) != (i >= n) {
				t.Errorf("crash at call %d: call %d: got %v", n, i, err)
			}
		}
		if s.Crashed() != (n < 9) {
			t.Errorf("crash at call %d: crashed is %v", n, s.Crashed())
		}
		for key, call := range map[string]int{"data/a": 0, "log/1": 1, "data/b": 7} {
			if _, err := inner.Get(t.Context(), key); (err == nil) != (n > call) {
				t.Errorf("crash at call %d: get %q: %v", n, key, err)
			}
		}
	}
}

func TestSetPlanEndsACrash(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t, Fault{Do: Crash()})
	for i := range 2 {
		if err := s.Put(t.Context(), "a", nil); !errs.Is(err, errs.Storage) {
			t.Fatalf("call %d: got %v, want a crash", i, err)
		}
	}
	s.SetPlan(nil)
	if err := s.Put(t.Context(), "a", nil); err != nil {
		t.Error(err)
	}
}

func TestNoSpace(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	plan := Plan{{Prefix: "data/", Times: Always, Do: NoSpace(10)}}
	full := func(what string, err error) {
		t.Helper()
		if !errs.Is(err, errs.Storage) || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("%s: got %v, want no space", what, err)
		}
	}
	for range 2 { // a plan serves twice
		s := New(open(t, &mem.Space{}), plan)
		if err := s.Put(ctx, "data/a", make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
		w, err := s.Create(ctx, "data/b")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := w.Write(make([]byte, 4)); n != 4 || err != nil {
			t.Fatalf("write that fits: got %d, %v", n, err)
		}
		n, err := w.Write(make([]byte, 4))
		if n != 2 {
			t.Errorf("write over the end: got %d bytes, want 2", n)
		}
		full("write", err)
		full("put", s.Put(ctx, "data/c", make([]byte, 1)))
		full("put-if-absent", s.PutIfAbsent(ctx, "data/c", make([]byte, 1)))
		if err := s.Put(ctx, "log/a", make([]byte, 100)); err != nil {
			t.Errorf("put elsewhere: %v", err)
		}
	}
}

func TestReadFaults(t *testing.T) {
	t.Parallel()
	const object = "0123456789"
	for _, c := range []struct {
		name     string
		do       Action
		get      string
		from, to int
		read     string // "" for errs.Corrupt
	}{
		{"flip in the range", FlipBit(3*8 + 1), "0121456789", 2, 6, "2145"},
		{"flip before the range", FlipBit(0), "1123456789", 2, 6, "2345"},
		{"flip behind the range", FlipBit(9 * 8), "0123456788", 2, 6, "2345"},
		{"flip behind the end", FlipBit(1000), object, 2, 6, "2345"},
		{"truncate before the range", Truncate(1), "0", 2, 6, ""},
		{"truncate in the range", Truncate(5), "01234", 2, 6, ""},
		{"truncate behind the range", Truncate(6), "012345", 2, 6, "2345"},
		{"truncate to nothing", Truncate(0), "", 0, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			s, inner := newStore(t, Fault{Ops: Reading(), Times: Always, Do: c.do})
			if err := s.Put(ctx, "k", []byte(object)); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Get(ctx, "k"); err != nil || string(got) != c.get {
				t.Errorf("get: got %q, %v, want %q", got, err, c.get)
			}
			dst := make([]byte, c.to-c.from)
			err := s.ReadAt(ctx, "k", dst, int64(c.from))
			if c.read == "" && !errs.Is(err, errs.Corrupt) {
				t.Errorf("read: got %v, want corrupt", err)
			}
			if c.read != "" && (err != nil || string(dst) != c.read) {
				t.Errorf("read: got %q, %v, want %q", dst, err, c.read)
			}
			if got, _ := inner.Get(ctx, "k"); string(got) != object {
				t.Errorf("the object itself became %q", got)
			}
		})
	}
}

func TestBlock(t *testing.T) {
	t.Parallel()
	reached, release := make(chan struct{}), make(chan struct{})
	s, inner := newStore(t, Fault{Ops: []Op{PutIfAbsent}, Times: 2, Do: Block(reached, release)})
	g := task.New(t.Context(), 0)
	g.Go(func(ctx context.Context) error { return s.PutIfAbsent(ctx, "a", nil) })
	<-reached
	if _, err := inner.Get(t.Context(), "a"); !errs.Is(err, errs.NotFound) {
		t.Errorf("before the release: got %v, want not found", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	canceled := make(chan error, 1)
	g.Go(func(context.Context) error { canceled <- s.PutIfAbsent(ctx, "b", nil); return nil })
	<-reached
	cancel()
	if err := <-canceled; !errs.Is(err, errs.Canceled) {
		t.Errorf("cancelled while blocked: got %v", err)
	}
	close(release)
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := inner.Get(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if _, err := inner.Get(t.Context(), "b"); !errs.Is(err, errs.NotFound) {
		t.Errorf("the cancelled call was done: %v", err)
	}
}

// TestParallelCallsAreAllCounted: exactly Times of them are hit.
func TestParallelCallsAreAllCounted(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t, Fault{Skip: 100, Times: 7, Do: Fail(errs.Storage)})
	g := task.New(t.Context(), 0)
	failed := make(chan int, 8)
	for range 8 {
		g.Go(func(ctx context.Context) error {
			n := 0
			for range 50 {
				if s.Put(ctx, "k", nil) != nil {
					n++
				}
			}
			failed <- n
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	close(failed)
	total := 0
	for n := range failed {
		total += n
	}
	if total != 7 || len(s.Calls()) != 400 {
		t.Errorf("got %d failures of %d calls, want 7 of 400", total, len(s.Calls()))
	}
}
