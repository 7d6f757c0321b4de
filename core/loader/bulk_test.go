package loader

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/read"
	"deeplake/core/storage"
	"deeplake/core/storage/local"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
)

// watched is a view of which it is seen which columns are read in bulk; alone hides that they can
// be.
type watched struct {
	View[*dataset.Column]
	alone bool
	found atomic.Int64 // reads in bulk
}

func (w *watched) Column(name string) (read.Column, error) {
	c, err := w.View.Column(name)
	if err != nil || w.alone {
		return aloneColumn{c}, err
	}
	return &watchedColumn{Column: c, of: w}, nil
}

// Access counts the bulk reads that the column plans.
func (c *watchedColumn) Access() read.Access {
	a := c.Column.Access()
	plan := a.GatherPlan
	a.GatherPlan = func(ctx context.Context, rows []int64) (*chunk.GatherPlan, error) {
		l, err := plan(ctx, rows)
		if l != nil {
			c.of.found.Add(1)
		}
		return l, err
	}
	return a
}

type watchedColumn struct {
	*dataset.Column
	of *watched
}

// alone is a column that cannot be read in bulk.
type aloneColumn struct{ *dataset.Column }

// Access omits bulk reads and all other optional abilities.
func (aloneColumn) Access() read.Access { return read.Access{} }

// bulkSet is a dataset of numbers in chunks of all sorts.
type bulkSet struct {
	d     *dataset.Dataset
	env   *dataset.Env
	space *mem.Space
	rows  int64
}

func (s *bulkSet) fill(t testing.TB, r *rand.Rand, n int64) []tensor.Rows {
	t.Helper()
	var out []tensor.Rows
	for _, spec := range bulkTensors() {
		dtype, _ := tensor.ParseDType(spec.DType)
		size, err := append(tensor.Shape{n}, spec.Shape...).Bytes(dtype)
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, size)
		for i := range data {
			if data[i] = byte(r.Uint32()); dtype == tensor.Bool || i%3 > 0 {
				// something to compress
				data[i] &= 1
			}
		}
		out = append(out, tensor.Rows{Tensor: spec.Name, Array: &tensor.Array{DType: dtype, Shape: append(tensor.Shape{}, spec.Shape...), Data: data}})
	}
	return out
}

// bulkTensors are tensors of every dtype, shape and compression.
func bulkTensors() []dataset.TensorSpec {
	var out []dataset.TensorSpec
	codecs, shapes := []string{"none", "lz4", "zstd"}, []tensor.Shape{{}, {3}, {2, 2}, {1}}
	for i, dtype := range []string{"bool", "uint8", "int8", "uint16", "int16", "float16", "bfloat16", "uint32", "int32", "float32", "uint64", "int64", "float64", "complex64", "complex128"} {
		for k := range 2 {
			out = append(out, dataset.TensorSpec{Name: fmt.Sprintf("%s_%d", dtype, k), DType: dtype, Shape: shapes[(i+k)%4*(1-k)], Compression: codecs[(i+k)%3],
				ChunkBytes: 1 << 12})
		}
	}
	// chunks of many blocks
	return append(out, dataset.TensorSpec{Name: "wide", DType: "float64", Shape: tensor.Shape{64}})
}

func newBulkSet(t testing.TB, r *rand.Rand, uri string, far bool) *bulkSet {
	t.Helper()
	ctx := context.Background()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	space := &mem.Space{}
	open := func(ctx context.Context, rest string, o storage.Options) (storage.Provider, error) {
		p, err := space.Open(ctx, rest, o)
		if err != nil || !far {
			return p, err
		}
		f := newRemoteStore(p)
		f.latency, f.rate = 1, 1e12
		return f, nil
	}
	env := &dataset.Env{Stores: storage.Registry{"mem": open, "file": local.Open}, Codecs: all.All(), Writer: "test"}
	d, err := dataset.Create(ctx, env, uri, dataset.CreateOptions{})
	check(err)
	t.Cleanup(func() { _ = d.Close() })
	for _, spec := range bulkTensors() {
		check(d.CreateTensor(ctx, spec))
	}
	check(d.CreateTensor(ctx, dataset.TensorSpec{Name: "holes", DType: "int32"}))
	check(d.CreateTensor(ctx, dataset.TensorSpec{Name: "ragged", DType: "uint8"}))
	s := &bulkSet{d: d, env: env, space: space}
	for range 1 + r.IntN(3) {
		n := 1 + r.Int64N(3000)
		rows := s.fill(t, r, n)
		rows = append(rows, tensor.Rows{Tensor: "ragged", Array: &tensor.Array{DType: tensor.Uint8, Shape: tensor.Shape{r.Int64N(3)}, Data: nil}})
		ragged := rows[len(rows)-1].Array
		ragged.Data = make([]byte, n*ragged.Shape[0])
		holes := tensor.Rows{Tensor: "holes", Samples: make([]tensor.Sample, n)}
		few := r.IntN(3)
		for i := range holes.Samples {
			if few == 0 || few == 1 && r.IntN(50) > 0 {
				holes.Samples[i] = tensor.Sample{Form: tensor.FormArray, DType: tensor.Int32, Shape: tensor.Shape{}, Data: []byte{1, 2, byte(i), 4}}
			} else {
				holes.Samples[i].Form = tensor.FormHole
			}
		}
		rows = append(rows, holes)
		check(d.Append(ctx, rows, n))
		s.rows += n
		if r.IntN(2) == 0 {
			_, err = d.Commit(ctx, "")
			check(err)
		}
	}
	for range r.IntN(3) { // updates in place
		var at []int64
		for row := range s.rows {
			if r.IntN(40) == 0 {
				at = append(at, row)
			}
		}
		if len(at) > 0 {
			rows := s.fill(t, r, int64(len(at)))
			check(d.Update(ctx, at, rows[r.IntN(len(rows)):]))
		}
	}
	if r.IntN(2) == 0 {
		var at []int64
		for row := range s.rows {
			if r.IntN(30) == 0 {
				at = append(at, row)
			}
		}
		check(d.DeleteRows(ctx, at))
		s.rows -= int64(len(at))
	}
	_, err = d.Commit(ctx, "")
	check(err)
	return s
}

// pick returns rows in some order.
func pick(r *rand.Rand, n int64) []int64 {
	rows := make([]int64, bulkRows+r.IntN(2000))
	from := r.Int64N(n)
	for i := range rows {
		rows[i] = r.Int64N(n)
	}
	switch r.IntN(4) {
	case 0:
		slices.Sort(rows)
	case 1:
		slices.Sort(rows)
		rows = slices.Compact(rows)
	case 2: // rows that follow each other
		for i := range rows {
			rows[i] = (from + int64(i)) % n
		}
	}
	return rows
}

// both reads in bulk and one by one.
func both(t testing.TB, v View[*dataset.Column], rows []int64, o ReadOptions) (bulk, alone *Batch, inBulk bool, bulkErr, aloneErr error) {
	t.Helper()
	one, other := &watched{View: v}, &watched{View: v, alone: true}
	bulk, bulkErr = readOnce(context.Background(), one, rows, o)
	alone, aloneErr = readOnce(context.Background(), other, rows, o)
	return bulk, alone, one.found.Load() > 0, bulkErr, aloneErr
}

// TestBulk: samples read in bulk equal samples read one by one, for any rows of any numbers.
func TestBulk(t *testing.T) {
	t.Parallel()
	rounds, _ := strconv.Atoi(os.Getenv("DEEPLAKE_BULK_ROUNDS"))
	for seed := range uint64(max(rounds, 6)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 21))
			uri := "mem://d"
			if seed%2 == 0 {
				uri = "file://" + t.TempDir() + "/d"
			}
			s := newBulkSet(t, r, uri, seed%4 == 1)
			whole, err := s.d.View(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for range 4 {
				v := whole
				switch r.IntN(4) {
				case 2:
					rows := pick(r, s.rows)
					for i := range rows {
						if r.IntN(9) == 0 {
							rows[i] = -1
						}
					}
					if v, err = whole.SelectOrMissing(context.Background(), rows); err == nil {
						compareMarked(t, v, pick(r, v.Len()), "holes")
					}
					v = whole
				case 0:
					v, err = whole.Select(pick(r, s.rows))
				case 1:
					v, err = whole.Slice(s.rows-1, -1, -1-r.Int64N(2))
				}
				if err != nil {
					t.Fatal(err)
				}
				names := append([]string{}, v.Names()...)
				for _, name := range names {
					compareBulk(t, v, pick(r, v.Len()), []string{name}, name != "holes" && name != "ragged")
				}
				compareMarked(t, v, pick(r, v.Len()), "holes")
				compareBulk(t, v, pick(r, v.Len()), names[:2+r.IntN(10)], true)
			}
		})
	}
}

func compareBulk(t *testing.T, v *dataset.View, rows []int64, names []string, must bool) {
	t.Helper()
	bulk, alone, inBulk, err, want := both(t, v, rows, ReadOptions{Tensors: names, Workers: 2})
	if err != nil || want != nil {
		if fmt.Sprint(err) != fmt.Sprint(want) {
			t.Errorf("%v: %v, want %v", names, err, want)
		}
		return
	}
	defer bulk.Release()
	defer alone.Release()
	if must && len(rows) >= bulkRows && !inBulk {
		t.Errorf("%v: %d rows were read one by one", names, len(rows))
	}
	for i := range names {
		a, b := &bulk.Columns[i], &alone.Columns[i]
		if a.Name != b.Name || a.DType != b.DType || a.Kind != b.Kind || !a.Shape.Equal(b.Shape) || a.Count != b.Count || a.Offset != b.Offset || a.Size != b.Size {
			t.Fatalf("column %+v, want %+v", a, b)
		}
		if !bytes.Equal(bulk.Data(a), alone.Data(b)) {
			t.Fatalf("%s: %d rows differ from what is read one by one", a.Name, len(rows))
		}
	}
}

// compareMarked compares marked holes with the holes of a list.
func compareMarked(t *testing.T, v *dataset.View, rows []int64, name string) {
	t.Helper()
	alone, err := readOnce(context.Background(), SourceOf[*dataset.Column](v), rows, ReadOptions{Tensors: []string{name}, Collate: List})
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Release()
	want := &alone.Columns[0]
	holes := 0
	for i := range rows {
		if want.Null != nil && want.Null[i] {
			holes++
		}
	}
	b, err := readOnce(context.Background(), SourceOf[*dataset.Column](v), rows, ReadOptions{Tensors: []string{name}, MarkHoles: true})
	if holes == len(rows) {
		if !errs.Is(err, errs.Type) {
			t.Errorf("holes alone: %v, want errs.Type", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	if len(b.Columns) != 1+min(holes, 1) {
		t.Fatalf("%d columns with %d holes", len(b.Columns), holes)
	}
	for i := range rows {
		got := b.Data(&b.Columns[0])[4*i : 4*i+4]
		null := holes > 0 && b.Data(&b.Columns[1])[i] == 1
		if null != (want.Null != nil && want.Null[i]) || !null && !bytes.Equal(got, alone.Item(want, i)) || null && !bytes.Equal(got, make([]byte, 4)) {
			t.Fatalf("row %d of %d: %v, null is %v", i, len(rows), got, null)
		}
	}
}

// TestBulkLeaves: samples of several shapes, of another stored form, or large are read one by one.
func TestBulkLeaves(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := &dataset.Env{Stores: storage.Registry{"mem": (&mem.Space{}).Open}, Codecs: all.All(), Writer: "test"}
	d, err := dataset.Create(ctx, env, "mem://d", dataset.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	number := func(i int, d tensor.DType, s ...int64) tensor.Sample {
		n, _ := tensor.Shape(s).Bytes(d)
		return tensor.Sample{Form: tensor.FormArray, DType: d, Shape: append(tensor.Shape{}, s...), Data: bytes.Repeat([]byte{byte(i)}, int(n))}
	}
	specs := []dataset.TensorSpec{{Name: "tiled", DType: "uint8", ChunkBytes: 1 << 12}, {Name: "large", DType: "uint8"}, {Name: "empty", DType: "uint8"},
		{Name: "late", DType: "uint8"}, {Name: "list", HType: "sequence", DType: "uint8"}, {Name: "text", HType: "text"}, {Name: "png", HType: "image", Compression: "png"}}
	const n = 4
	var rows []tensor.Rows
	for _, spec := range specs {
		if err := d.CreateTensor(ctx, spec); err != nil {
			t.Fatal(err)
		}
		one := tensor.Rows{Tensor: spec.Name}
		for i := range n {
			switch spec.Name {
			case "tiled":
				one.Samples = append(one.Samples, number(i, tensor.Uint8, 150, 150))
			case "large":
				one.Samples = append(one.Samples, number(i, tensor.Uint8, bulkSample+1))
			case "empty":
				one.Samples = append(one.Samples, number(i, tensor.Uint8, 0))
			case "late":
				one.Samples = append(one.Samples, number(i, tensor.Uint8, 1+int64(i/(n-1))))
			case "list":
				one.Samples, one.RowItems = append(one.Samples, number(i, tensor.Uint8, 2)), append(one.RowItems, 1)
			case "text":
				one.Samples = append(one.Samples, tensor.Sample{Form: tensor.FormText, DType: tensor.String, Data: []byte("word")})
			default:
				one.Samples = append(one.Samples, number(i, tensor.Uint8, 3, 5, 3))
			}
		}
		rows = append(rows, one)
	}
	if err := d.Append(ctx, rows, n); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Commit(ctx, ""); err != nil {
		t.Fatal(err)
	}
	v, err := d.View(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range specs {
		at := make([]int64, bulkRows)
		for i := range at {
			at[i] = int64(i % n)
		}
		bulk, alone, inBulk, err, want := both(t, v, at, ReadOptions{Tensors: []string{spec.Name}, Workers: 2})
		if fmt.Sprint(err) != fmt.Sprint(want) || err == nil != (spec.Name != "late") {
			t.Errorf("%s: %v, want %v", spec.Name, err, want)
		}
		if inBulk && spec.Name != "large" { // which is found in bulk, and not read so
			t.Errorf("%s was found in bulk", spec.Name)
		}
		if err != nil {
			continue
		}
		if a, b := &bulk.Columns[0], &alone.Columns[0]; a.Kind != b.Kind || !a.Shape.Equal(b.Shape) || !bytes.Equal(bulk.Data(a), alone.Data(b)) {
			t.Errorf("%s: read in bulk is not as it is", spec.Name)
		}
		bulk.Release()
		alone.Release()
	}
}
