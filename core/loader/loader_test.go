package loader

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"deeplake/core/errs"
	"deeplake/core/order"
	"deeplake/core/tensor"
)

// drain reads an epoch to its end, verifies every batch and returns the rows in order, batch by
// batch.
func drain(t testing.TB, src *fake, o Options, e *Epoch) [][]int64 {
	t.Helper()
	var all [][]int64
	for b := next(t, e); b != nil; b = next(t, e) {
		all = append(all, verify(t, src, o, b))
		b.Release()
	}
	if b := next(t, e); b != nil {
		t.Fatalf("a batch behind the end")
	}
	return all
}

func flat(batches [][]int64) []int64 { return slices.Concat(batches...) }

func TestEpochDeliversEachRowOnce(t *testing.T) {
	t.Parallel()
	for _, rows := range []int64{0, 1, 2, 7, 64, 333} {
		for _, size := range []int{1, 3, 7, 64, 500} {
			for _, shuffle := range []string{order.Sequential, order.Window, order.Full} {
				src := fakeSet(rows)
				o := Options{BatchSize: size, Shuffle: shuffle, Seed: 5, Workers: 3, CollateOf: fakeCollate(), ReturnIndex: true}
				l := open(t, src, o)
				batches := drain(t, src, o, start(t, l, 0))
				if int64(len(batches)) != batchesOf(t, l) {
					t.Fatalf("%d rows by %d: %d batches, len says %d", rows, size, len(batches), batchesOf(t, l))
				}
				got := flat(batches)
				if int64(len(got)) != rows {
					t.Fatalf("%d rows by %d: %d delivered", rows, size, len(got))
				}
				onceEach(t, got, o)
				if shuffle == order.Sequential && !slices.IsSorted(got) {
					t.Fatalf("sequential order is %v", got)
				}
				for i, b := range batches[:max(len(batches)-1, 0)] {
					if len(b) != size {
						t.Fatalf("batch %d of %d has %d rows, want %d", i, len(batches), len(b), size)
					}
				}
			}
		}
	}
}

// TestOnDemand makes no batch before Next waits for one, and the same ones as a loader that works
// ahead.
func TestOnDemand(t *testing.T) {
	t.Parallel()
	src := fakeSet(100)
	o := Options{BatchSize: 7, Shuffle: order.Window, Seed: 3, CollateOf: fakeCollate(), ReturnIndex: true}
	want := drain(t, src, o, start(t, open(t, src, o), 0))
	o.OnDemand, o.Workers, o.Prefetch = true, 9, 9
	e := start(t, open(t, src, o), 0)
	made := src.workers.Load()
	var got [][]int64
	for b := next(t, e); b != nil; b = next(t, e) {
		got = append(got, verify(t, src, o, b))
		b.Release()
		e.mu.Lock()
		if planned := len(e.queue); planned > 0 || e.asked {
			t.Errorf("after batch %d: %d batches are under way, asked %t", len(got), planned, e.asked)
		}
		e.mu.Unlock()
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if n := src.workers.Load() - made; n > 1 {
		t.Errorf("%d decode threads, want 1", n)
	}
}

// TestOnDemandWaits starts nothing until the first Next.
func TestOnDemandWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := fakeSet(100)
		e := start(t, open(t, src, Options{BatchSize: 7, OnDemand: true, CollateOf: fakeCollate()}), 0)
		synctest.Wait() // every goroutine of the epoch waits
		e.mu.Lock()
		planned := len(e.queue)
		e.mu.Unlock()
		if planned != 0 {
			t.Errorf("%d batches were begun before Next", planned)
		}
		next(t, e).Release()
		synctest.Wait()
		if s := e.Stats(); s.InFlight != 0 || s.Batches != 1 {
			t.Errorf("after one Next: %d batches handed over, %d under way, want 1 and 0", s.Batches, s.InFlight)
		}
		e.Close()
	})
}

// Order and content are the same for any number of threads and batches in flight.
func TestOrderIgnoresThreads(t *testing.T) {
	t.Parallel()
	src := fakeSet(500)
	want := map[string]string{}
	for workers := 1; workers <= 16; workers++ {
		for _, prefetch := range []int{1, 2, 5} {
			for _, shuffle := range []string{order.Window, order.Full} {
				o := Options{BatchSize: 37, Shuffle: shuffle, Seed: 9, Workers: workers, Prefetch: prefetch, CollateOf: fakeCollate(), ReturnIndex: true}
				got := fmt.Sprint(drain(t, src, o, start(t, open(t, src, o), 3)))
				if want[shuffle] == "" {
					want[shuffle] = got
				}
				if got != want[shuffle] {
					t.Fatalf("%s order with %d workers, prefetch %d differs", shuffle, workers, prefetch)
				}
			}
		}
	}
}

func TestOrderIgnoresTensors(t *testing.T) {
	t.Parallel()
	src := fakeSet(300)
	o := Options{BatchSize: 10, Shuffle: order.Window, Workers: 2, CollateOf: fakeCollate(), ReturnIndex: true}
	all := drain(t, src, o, start(t, open(t, src, o), 0))
	o.CollateOf, o.Tensors = nil, []string{"labels"}
	if got := drain(t, src, o, start(t, open(t, src, o), 0)); fmt.Sprint(got) != fmt.Sprint(all) {
		t.Error("a loader of one tensor visits rows in another order")
	}
}

func TestEpochsDiffer(t *testing.T) {
	t.Parallel()
	src := fakeSet(200)
	o := Options{BatchSize: 16, Shuffle: order.Full, Workers: 2, CollateOf: fakeCollate(), ReturnIndex: true}
	l := open(t, src, o)
	first, second, again := flat(drain(t, src, o, start(t, l, 0))), flat(drain(t, src, o, start(t, l, 1))), flat(drain(t, src, o, start(t, l, 0)))
	if slices.Equal(first, second) {
		t.Error("epochs 0 and 1 have the same order")
	}
	if !slices.Equal(first, again) {
		t.Error("epoch 0 twice differs")
	}
	if _, err := l.Start(context.Background(), order.Pass{Epoch: -1}); !errs.Is(err, errs.Invalid) {
		t.Errorf("epoch -1: %v, want invalid", err)
	}
}

func TestDropLast(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rows, batches int64 }{{0, 0}, {9, 0}, {10, 1}, {25, 2}} {
		src := fakeSet(c.rows)
		o := Options{BatchSize: 10, DropLast: true, CollateOf: fakeCollate(), ReturnIndex: true}
		l := open(t, src, o)
		got := drain(t, src, o, start(t, l, 0))
		if batchesOf(t, l) != c.batches || int64(len(got)) != c.batches || int64(len(flat(got))) != 10*c.batches {
			t.Errorf("%d rows: len %d, %d batches delivered, want %d of 10", c.rows, batchesOf(t, l), len(got), c.batches)
		}
	}
}

func TestCollateKinds(t *testing.T) {
	t.Parallel()
	src := fakeSet(40)
	for name, o := range map[string]Options{
		"list":           {Collate: List},
		"pad":            {Collate: Pad, Tensors: []string{"images", "labels", "boxes", "text", "frames"}},
		"stored":         {CollateOf: fakeCollate(), Decode: map[string]string{"images": Raw, "labels": Raw, "maybe": Raw, "frames": Raw, "text": Raw}},
		"named":          {Tensors: []string{"text", "labels"}},
		"stack in a pad": {Collate: Pad, CollateOf: map[string]string{"images": Stack}, Tensors: []string{"images", "boxes"}},
	} {
		o.BatchSize, o.Shuffle, o.ReturnIndex, o.Workers = 7, order.Full, true, 2
		onceEach(t, flat(drain(t, src, o, start(t, open(t, src, o), 0))), name)
	}
}

func TestBatchColumns(t *testing.T) {
	t.Parallel()
	l := open(t, fakeSet(8), Options{BatchSize: 8, CollateOf: fakeCollate(), ReturnIndex: true})
	b := next(t, start(t, l, 0))
	defer b.Release()
	for _, c := range []struct {
		name  string
		kind  Kind
		dtype tensor.DType
		shape string
		nulls bool
	}{
		{"images", KindArray, tensor.Uint8, "(8, 6, 5, 3)", false},
		{"labels", KindArray, tensor.Int64, "(8,)", false},
		{"boxes", KindArray, tensor.Float32, "(8, 3, 4)", false},
		{"boxes_shape", KindArray, tensor.Int64, "(8, 2)", false},
		{"text", KindBytes, tensor.String, "()", false},
		{"frames", KindList, tensor.Uint16, "()", false},
		{"maybe", KindList, tensor.Uint8, "()", true},
		{IndexName, KindArray, tensor.Int64, "(8,)", false},
	} {
		got := column(t, b, c.name)
		if got.Kind != c.kind || got.DType != c.dtype || got.Shape.String() != c.shape || (got.Null != nil) != c.nulls {
			t.Errorf("%s: kind %d, %s, shape %s, null %v, want %+v", c.name, got.Kind, got.DType, got.Shape, got.Null, c)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	clash := newFake(3, &fakeColumn{name: "a", dtype: tensor.Uint8, shape: fixedShape(2)}, &fakeColumn{name: "a_shape", dtype: tensor.Uint8, shape: fixedShape(2)},
		&fakeColumn{name: IndexName, dtype: tensor.Uint8, shape: fixedShape(2)})
	for name, c := range map[string]struct {
		src  *fake
		o    Options
		kind errs.Kind
		text string
	}{
		"no batch size":    {nil, Options{}, errs.Invalid, "batch_size is 0"},
		"negative batch":   {nil, Options{BatchSize: -1}, errs.Invalid, "batch_size is -1"},
		"huge batch":       {nil, Options{BatchSize: 1 << 40}, errs.Invalid, "batch_size"},
		"shuffle":          {nil, Options{BatchSize: 1, Shuffle: "ful"}, errs.Invalid, `did you mean "full"?`},
		"on_error":         {nil, Options{BatchSize: 1, OnError: "ignore"}, errs.Invalid, "on_error"},
		"collate":          {nil, Options{BatchSize: 1, Collate: "stak"}, errs.Invalid, `did you mean "stack"?`},
		"collate of one":   {nil, Options{BatchSize: 1, CollateOf: map[string]string{"boxes": "padd"}}, errs.Invalid, `"boxes": collate is "padd"`},
		"workers":          {nil, Options{BatchSize: 1, Workers: -2}, errs.Invalid, "num_workers is -2"},
		"prefetch":         {nil, Options{BatchSize: 1, Prefetch: 1 << 20}, errs.Invalid, "prefetch"},
		"shuffle_bytes":    {nil, Options{BatchSize: 1, ShuffleBytes: -1}, errs.Invalid, "shuffle_bytes"},
		"unknown tensor":   {nil, Options{BatchSize: 1, Tensors: []string{"image"}}, errs.NotFound, `did you mean "images"?`},
		"unknown collate":  {nil, Options{BatchSize: 1, CollateOf: map[string]string{"box": Pad}}, errs.NotFound, `no tensor "box"`},
		"unknown decode":   {nil, Options{BatchSize: 1, Decode: map[string]string{"imagse": Raw}}, errs.NotFound, `did you mean "images"?`},
		"decode":           {nil, Options{BatchSize: 1, Decode: map[string]string{"images": "byte"}}, errs.Invalid, `did you mean "bytes"?`},
		"no tensors":       {nil, Options{BatchSize: 1, Tensors: []string{}}, errs.Invalid, "no tensors"},
		"named twice":      {nil, Options{BatchSize: 1, Tensors: []string{"text", "text"}}, errs.Invalid, "twice"},
		"clash with pad":   {clash, Options{BatchSize: 1, Collate: Pad}, errs.Invalid, "a_shape"},
		"clash with index": {clash, Options{BatchSize: 1, ReturnIndex: true}, errs.Invalid, "_index"},
	} {
		src := c.src
		if src == nil {
			src = fakeSet(3)
		}
		_, err := Open(context.Background(), SourceOf(src), c.o)
		if !errs.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %s with %q", name, err, c.kind, c.text)
		}
	}
}

func TestMisfitsAreNamed(t *testing.T) {
	t.Parallel()
	ragged := func(r int64) tensor.Shape { return tensor.Shape{3 + r/2, 4} }
	mixed := func(r int64) tensor.Shape { return make(tensor.Shape, 1+r/2) }
	hole := func(r int64) tensor.Shape {
		if r == 2 {
			return nil
		}
		return tensor.Shape{1}
	}
	for name, c := range map[string]struct {
		shape   func(int64) tensor.Shape
		collate string
		want    []string
	}{
		"stack":     {ragged, Stack, []string{`"x"`, "row 1000 has shape (3, 4)", "row 1002 has shape (4, 4)", "pad", "list", "transform"}},
		"pad":       {mixed, Pad, []string{`"x"`, "row 1002 has shape (0, 0)", "list"}},
		"hole":      {hole, Stack, []string{`row 1002 of tensor "x" has no sample`, "list"}},
		"hole, pad": {hole, Pad, []string{`row 1002 of tensor "x" has no sample`}},
	} {
		src := newFake(4, &fakeColumn{name: "x", dtype: tensor.Uint8, shape: c.shape})
		e := start(t, open(t, src, Options{BatchSize: 4, Collate: c.collate}), 0)
		_, err := e.Next(context.Background())
		if !errs.Is(err, errs.Type) {
			t.Errorf("%s: %v, want a type error", name, err)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v, want %q in it", name, err, w)
			}
		}
	}
}

func TestOversizedBatch(t *testing.T) {
	t.Parallel()
	src := newFake(100, &fakeColumn{name: "x", dtype: tensor.Uint8, shape: fixedShape(1)})
	huge := &hugeColumn{src.columns["x"]}
	l, err := Open(context.Background(), hugeSource{SourceOf(src), huge}, Options{BatchSize: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = start(t, l, 0).Next(context.Background())
	if !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "batch") {
		t.Errorf("a batch beyond memory: %v, want invalid", err)
	}
}

// Several loaders and several epochs of one loader at once, each verified.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	src := fakeSet(300)
	o := Options{BatchSize: 32, Shuffle: order.Window, Workers: 2, CollateOf: fakeCollate(), ReturnIndex: true}
	l := open(t, src, o)
	epochs := []*Epoch{start(t, l, 0), start(t, l, 1), start(t, open(t, src, o), 0)}
	seen := make([][]int64, len(epochs))
	r := rand.New(rand.NewPCG(1, 1))
	for left := len(epochs); left > 0; {
		k := r.IntN(len(epochs))
		if epochs[k] == nil {
			continue
		}
		b := next(t, epochs[k])
		if b == nil {
			epochs[k] = nil
			left--
			continue
		}
		seen[k] = append(seen[k], verify(t, src, o, b)...)
		b.Release()
	}
	for k := range seen {
		onceEach(t, seen[k], k)
	}
	if !slices.Equal(seen[0], seen[2]) || slices.Equal(seen[0], seen[1]) {
		t.Error("orders of epochs at once are not those of epochs alone")
	}
}

// A consumer may keep every batch: the ring grows and counts it, and content stays.
func TestKeepEveryBatch(t *testing.T) {
	t.Parallel()
	src := fakeSet(400)
	o := Options{BatchSize: 20, Workers: 2, CollateOf: fakeCollate(), ReturnIndex: true, SlabBytes: 1}
	l := open(t, src, o)
	e := start(t, l, 0)
	var cachedCol []*Batch
	for b := next(t, e); b != nil; b = next(t, e) {
		cachedCol = append(cachedCol, b)
	}
	if s := l.Stats().Slabs; s.Grown == 0 || s.Slabs < int64(len(cachedCol)) {
		t.Errorf("slab stats %+v with %d batches held", s, len(cachedCol))
	}
	for _, b := range cachedCol {
		verify(t, src, o, b)
		b.Retain()
		b.Release()
		verify(t, src, o, b)
		b.Release()
	}
	if s := l.Stats().Slabs; s.Slabs != s.FreeSlabs || s.Bytes > s.Budget {
		t.Errorf("slab stats %+v with no batch held", s)
	}
}
