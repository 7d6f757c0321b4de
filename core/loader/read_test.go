package loader

import (
	"context"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/order"
	"deeplake/core/tensor"
)

// readOnce reads with a reader of its own, which is closed before the batch is looked at.
func readOnce(ctx context.Context, src Source, rows []int64, o ReadOptions) (*Batch, error) {
	r := NewReader(src)
	defer r.Close()
	return r.Read(ctx, rows, o)
}

func TestReaderServesManyAndCloses(t *testing.T) {
	t.Parallel()
	r := NewReader(SourceOf(fakeSet(50)))
	g := task.New(context.Background(), 0)
	for k := range 8 {
		g.Go(func(ctx context.Context) error {
			for i := range int64(50) {
				b, err := r.Read(ctx, []int64{i, (i + int64(k)) % 50}, ReadOptions{CollateOf: fakeCollate(), ReturnIndex: true})
				if err != nil {
					return err
				}
				got := getInt64(b.Data(&b.Columns[len(b.Columns)-1]), 0) // _index comes last
				b.Release()
				if got != i+1000 { // the row in the dataset
					return errs.New(errs.Internal, "row %d came for row %d", got, i)
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	if _, err := r.Read(context.Background(), []int64{1}, ReadOptions{CollateOf: fakeCollate()}); !errs.Is(err, errs.Closed) {
		t.Fatalf("a read after Close: %v, want errs.Closed", err)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	src := fakeSet(100)
	for name, rows := range map[string][]int64{
		"one":      {7},
		"in order": {1, 2, 3, 50},
		"any":      {99, 0, 41, 41, 3, 99},
		"none":     {},
	} {
		for _, workers := range []int{0, 1, 2} {
			o := ReadOptions{CollateOf: fakeCollate(), ReturnIndex: true, Workers: workers}
			b, err := readOnce(context.Background(), SourceOf(src), rows, o)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := verify(t, src, Options{CollateOf: o.CollateOf}, b); !slices.Equal(got, rows) {
				t.Errorf("%s: rows %v, want %v", name, got, rows)
			}
			b.Release()
		}
	}
}

func TestReadManyOnThreads(t *testing.T) {
	t.Parallel()
	src := fakeSet(5000)
	rows := drawsOf(newOrder(t, order.Full, 5000, 1, 0, 0), 0)
	b, err := readOnce(context.Background(), SourceOf(src), rows, ReadOptions{CollateOf: fakeCollate(), ReturnIndex: true, Workers: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	if got := verify(t, src, Options{CollateOf: fakeCollate()}, b); !slices.Equal(got, rows) {
		t.Error("rows are not those asked for")
	}
}

func TestReadNothing(t *testing.T) {
	t.Parallel()
	b, err := readOnce(context.Background(), SourceOf(fakeSet(3)), nil, ReadOptions{Tensors: []string{"images", "text", "maybe"}, CollateOf: map[string]string{"maybe": List}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	if c := column(t, b, "images"); c.Kind != KindArray || c.Shape.String() != "(0,)" || c.DType != tensor.Uint8 {
		t.Errorf("images %+v", c)
	}
	if c := column(t, b, "text"); c.Kind != KindBytes || c.Count != 0 || c.Size != 0 {
		t.Errorf("text %+v", c)
	}
	if c := column(t, b, "maybe"); c.Kind != KindList || c.Count != 0 {
		t.Errorf("maybe %+v", c)
	}
}

// A tensor with an open dtype has only holes.
func TestReadUndecided(t *testing.T) {
	t.Parallel()
	src := newFake(2, &fakeColumn{name: "x", dtype: 0, text: func(int64) ([]byte, bool) { return nil, false }})
	b, err := readOnce(context.Background(), SourceOf(src), []int64{0, 1}, ReadOptions{Collate: List})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	if c := column(t, b, "x"); c.Kind != KindList || !slices.Equal(c.Null, []bool{true, true}) {
		t.Errorf("column %+v, want two nulls", c)
	}
}

func TestReadFails(t *testing.T) {
	t.Parallel()
	src := fakeSet(100)
	src.columns["images"].read = damaged(errs.Corrupt, 60, 20)
	done, cancel := context.WithCancel(context.Background())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		rows []int64
		o    ReadOptions
		kind errs.Kind
		text string
	}{
		"negative row":   {nil, []int64{3, -1}, ReadOptions{}, errs.Range, "row -1 is outside [0, 100)"},
		"row too large":  {nil, []int64{100}, ReadOptions{}, errs.Range, "row 100"},
		"unknown tensor": {nil, []int64{1}, ReadOptions{Tensors: []string{"lables"}}, errs.NotFound, `did you mean "labels"?`},
		"collate":        {nil, []int64{1}, ReadOptions{Collate: "sum"}, errs.Invalid, "collate"},
		"damaged":        {nil, []int64{5, 60, 20}, ReadOptions{Collate: List}, errs.Corrupt, `row 1060 of tensor "images"`},
		"canceled":       {done, []int64{5}, ReadOptions{Collate: List}, errs.Canceled, ""},
	} {
		ctx := c.ctx
		if ctx == nil {
			ctx = context.Background()
		}
		for _, workers := range []int{1, 3} {
			c.o.Workers = workers
			r := NewReader(SourceOf(src))
			defer r.Close()
			b, err := r.Read(ctx, c.rows, c.o)
			if b != nil || !errs.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s: %v, %v, want %s with %q", name, b, err, c.kind, c.text)
			}
		}
	}
}

func TestReadPanics(t *testing.T) {
	t.Parallel()
	src := fakeSet(10)
	src.columns["images"].read = func(context.Context, int64) error { panic("bug") }
	if _, err := readOnce(context.Background(), SourceOf(src), []int64{1}, ReadOptions{Collate: List}); !errs.Is(err, errs.Internal) {
		t.Errorf("%v, want an internal error", err)
	}
}

// BenchmarkReadOne measures the cost of reading one decoded row besides the decoder.
func BenchmarkReadOne(b *testing.B) {
	src := SourceOf(&syntheticSource{1000, []*synthetic{{name: "images", encoded: true, stored: 40_000, shape: tensor.Shape{250, 250, 3}}}})
	b.ReportAllocs()
	for b.Loop() {
		batch, err := readOnce(context.Background(), src, []int64{7}, ReadOptions{})
		if err != nil {
			b.Fatal(err)
		}
		batch.Release()
	}
}
