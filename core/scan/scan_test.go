package scan

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"deeplake/core/array"
	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/query"
	"deeplake/core/storage"
	"deeplake/core/storage/local"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
	"deeplake/core/version"
)

func testEnv() *dataset.Env {
	return &dataset.Env{Stores: storage.Registry{"mem": (&mem.Space{}).Open, "file": local.Open}, Codecs: all.All(), Writer: "test"}
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// kinds returns the tensors of the datasets of these tests: everything that is stored in a way of
// its own.
func kinds() []dataset.TensorSpec {
	return []dataset.TensorSpec{
		{Name: "x", DType: "int64"},
		{Name: "packed", DType: "int32", Compression: "zstd"},
		{Name: "flag", DType: "bool"},
		{Name: "half", DType: "float16"},
		{Name: "label", HType: "class_label", ClassNames: []string{"cat", "dog", "owl"}},
		{Name: "t", HType: "text"},
		{Name: "meta", HType: "json"},
		{Name: "vector", HType: "embedding", DType: "float32"},
		{Name: "ragged", DType: "uint8", Compression: "lz4"},
		{Name: "boxes", HType: "bbox", Info: map[string]any{"coords": map[string]any{"mode": "LTWH"}}},
		{Name: "image", HType: "image.rgb", Compression: "png"},
		{Name: "large", DType: "uint16", ChunkBytes: 64 << 10}, // some samples are cut into tiles
		{Name: "list", HType: "sequence[generic]", DType: "int16"},
		{Name: "words", HType: "sequence[text]"},
		{Name: "sparse", DType: "float64"},
		{Name: "open"},
	}
}

func arrayOf(d tensor.DType, s tensor.Shape, r *rand.Rand) tensor.Sample {
	n, _ := s.Bytes(d)
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	if d == tensor.Bool {
		for i := range data {
			data[i] &= 1
		}
	}
	return tensor.Sample{DType: d, Shape: s, Data: data}
}

func textOf(d tensor.DType, s string) tensor.Sample {
	return tensor.Sample{Form: tensor.FormText, DType: d, Data: []byte(s)}
}

// appendRows appends n rows of kinds.
func appendRows(t testing.TB, d *dataset.Dataset, n int, r *rand.Rand) {
	t.Helper()
	cols := map[string]*tensor.Rows{}
	var rows []tensor.Rows
	for _, k := range kinds() {
		rows = append(rows, tensor.Rows{Tensor: k.Name})
	}
	for i := range rows {
		cols[rows[i].Tensor] = &rows[i]
	}
	add := func(name string, s ...tensor.Sample) {
		c := cols[name]
		c.Samples = append(c.Samples, s...)
		if name == "list" || name == "words" {
			c.RowItems = append(c.RowItems, int64(len(s)))
		}
	}
	for i := range n {
		add("x", arrayOf(tensor.Int64, tensor.Shape{}, r))
		add("packed", arrayOf(tensor.Int32, tensor.Shape{}, r))
		add("flag", arrayOf(tensor.Bool, tensor.Shape{}, r))
		add("half", arrayOf(tensor.Float16, tensor.Shape{2}, r))
		add("label", tensor.Sample{DType: tensor.Int64, Shape: tensor.Shape{}, Data: binary.LittleEndian.AppendUint64(nil, uint64(r.IntN(3)))})
		add("t", textOf(tensor.String, fmt.Sprintf("%*d", r.IntN(40), i)))
		add("meta", textOf(tensor.JSON, fmt.Sprintf(`{"i":%d}`, i)))
		add("vector", arrayOf(tensor.Float32, tensor.Shape{5}, r))
		add("ragged", arrayOf(tensor.Uint8, tensor.Shape{int64(r.IntN(5)), int64(r.IntN(4))}, r))
		add("boxes", arrayOf(tensor.Float32, tensor.Shape{int64(r.IntN(4)), 4}, r))
		add("image", arrayOf(tensor.Uint8, tensor.Shape{int64(8 + r.IntN(9)), int64(8 + r.IntN(9)), 3}, r))
		side := int64(20 + r.IntN(30))
		if r.IntN(4) == 0 {
			side = int64(300 + r.IntN(50))
		}
		add("large", arrayOf(tensor.Uint16, tensor.Shape{side, side + 7}, r))
		var list, words []tensor.Sample
		for range r.IntN(4) {
			list = append(list, arrayOf(tensor.Int16, tensor.Shape{3}, r))
			words = append(words, textOf(tensor.String, fmt.Sprint(r.IntN(1e6))))
		}
		add("list", list...)
		add("words", words...)
		if r.IntN(3) > 0 {
			add("sparse", tensor.Sample{Form: tensor.FormHole})
		} else {
			add("sparse", arrayOf(tensor.Float64, tensor.Shape{}, r))
		}
		add("open", tensor.Sample{Form: tensor.FormHole})
	}
	if err := d.Append(context.Background(), rows, int64(n)); err != nil {
		t.Fatal(err)
	}
}

// testDataset has rows of several commits, of which some were replaced and some deleted, and some
// that are not committed.
func testDataset(t testing.TB, uri string, seed uint64) *dataset.Dataset {
	t.Helper()
	ctx := context.Background()
	r := rand.New(rand.NewPCG(seed, 1))
	d := must[*dataset.Dataset](t)(dataset.Create(ctx, testEnv(), uri, dataset.CreateOptions{}))
	t.Cleanup(func() { _ = d.Close() })
	for _, k := range kinds() {
		if err := d.CreateTensor(ctx, k); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		appendRows(t, d, 25+r.IntN(20), r)
		_ = must[version.Committed](t)(d.Commit(ctx, "more"))
	}
	x := arrayOf(tensor.Int64, tensor.Shape{}, r)
	large := arrayOf(tensor.Uint16, tensor.Shape{320, 310}, r)
	for _, row := range []int64{3, 40, 41} {
		if err := d.Update(ctx, []int64{row}, []tensor.Rows{{Tensor: "x", Samples: []tensor.Sample{x}}, {Tensor: "large", Samples: []tensor.Sample{large}}}); err != nil {
			t.Fatal(err)
		}
	}
	_ = must[version.Committed](t)(d.Commit(ctx, "update"))
	if err := d.DeleteRows(ctx, []int64{0, 7, 8, 9, 33}); err != nil {
		t.Fatal(err)
	}
	_ = must[version.Committed](t)(d.Commit(ctx, "delete"))
	appendRows(t, d, 9, r)
	return d
}

// testViews are views of all sorts.
func testViews(t testing.TB, d *dataset.Dataset, r *rand.Rand) map[string]*dataset.View {
	v := must[*dataset.View](t)(d.View(context.Background()))
	n := v.Len()
	shuffled, some, selected := make([]int64, n), []int64{}, make([]int64, n)
	for i := range shuffled {
		shuffled[i], selected[i] = r.Int64N(n), r.Int64N(n+n/4)
		if selected[i] >= n {
			selected[i] = -1
		}
		if r.IntN(3) == 0 {
			some = append(some, int64(i))
		}
	}
	return map[string]*dataset.View{
		"all": v, "part": must[*dataset.View](t)(v.Slice(5, n-3, 1)), "strided": must[*dataset.View](t)(v.Slice(2, n, 3)),
		"backwards": must[*dataset.View](t)(v.Slice(n-1, 0, -1)), "some": must[*dataset.View](t)(v.Select(some)),
		"shuffled": must[*dataset.View](t)(v.Select(shuffled)), "drawn": must[*dataset.View](t)(v.SelectOrMissing(t.Context(), selected)),
		"none": must[*dataset.View](t)(v.Slice(0, 0, 1)),
	}
}

// cell is an expected value: its bytes, item by item, as the dataset itself reads them.
type cell struct {
	hole   bool
	shapes []tensor.Shape
	data   [][]byte
}

// oracle reads a column row by row.
func oracle(t testing.TB, v *dataset.View, name string) []cell {
	t.Helper()
	w := v.NewWorker()
	defer w.Close()
	return rowByRow(t, must[*dataset.Column](t)(v.Column(name)), v.Len(), w)
}

// widened converts halves.
func widened(data []byte) []byte {
	var out []byte
	for i := 0; i < len(data); i += 2 {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(slowHalf(binary.LittleEndian.Uint16(data[i:]))))
	}
	return out
}

// slowHalf is half by the words of the standard.
func slowHalf(bits uint16) float32 {
	sign := 1.0
	if bits>>15 == 1 {
		sign = -1
	}
	exp, frac := int(bits>>10&31), float64(bits&1023)
	switch {
	case exp == 31 && frac == 0:
		return float32(sign * math.Inf(1))
	case exp == 31:
		return math.Float32frombits(uint32(bits>>15)<<31 | 0x7f800000 | uint32(bits&1023)<<13)
	case exp == 0:
		return float32(math.Copysign(math.Ldexp(frac/1024, -14), sign))
	}
	return float32(sign * math.Ldexp(1+frac/1024, exp-15))
}

func TestHalf(t *testing.T) {
	t.Parallel()
	for bits := range 1 << 16 {
		got, want := math.Float32bits(Half(uint16(bits))), math.Float32bits(slowHalf(uint16(bits)))
		if got != want {
			t.Fatalf("half(%#04x) = %#08x, want %#08x", bits, got, want)
		}
	}
}

// sameCell compares row i of a column with the expected value.
func sameCell(t *testing.T, c *array.Column, i int, want cell, half bool) {
	t.Helper()
	if c.IsNull(i) != want.hole {
		t.Fatalf("row %d: null is %v, want %v", i, c.IsNull(i), want.hole)
	}
	if want.hole {
		return
	}
	from, to, of := i, i+1, c
	if c.List {
		from, to, of = start(c, i), c.Ends[i], c.Items
	}
	if to-from != len(want.data) {
		t.Fatalf("row %d has %d items, want %d", i, to-from, len(want.data))
	}
	for k := from; k < to; k++ {
		data, s := want.data[k-from], want.shapes[k-from]
		if half {
			data = widened(data)
		}
		if got := valueBytes(of, k); !bytes.Equal(got, data) || of.DType.Fixed() && !of.ShapeAt(k).Equal(s) {
			t.Fatalf("row %d, item %d: %v of shape %v, want %v of %v", i, k-from, got[:min(len(got), 20)], of.ShapeAt(k), data[:min(len(data), 20)], s)
		}
	}
}

// rowRequests makes requests of rows: ranges and lists, in and out of order.
func rowRequests(n int64, r *rand.Rand) []query.Rows {
	out := []query.Rows{{N: n}, {}, {List: []int64{}}}
	if n == 0 {
		return out
	}
	from := r.Int64N(n)
	list := make([]int64, n)
	for i := range list {
		list[i] = r.Int64N(n)
	}
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	return append(out, query.Rows{From: from, N: r.Int64N(n - from + 1)}, query.Rows{List: list, N: n}, query.Rows{List: sorted, N: int64(len(sorted))})
}

func TestRead(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		for _, uri := range []string{"mem://d", "file://" + t.TempDir() + "/d"} {
			r := rand.New(rand.NewPCG(seed, 2))
			d := testDataset(t, uri, seed)
			for name, v := range testViews(t, d, r) {
				table := Of(v)
				reader := table.Reader()
				defer reader.Close()
				for column, f := range table.Columns() {
					t.Run(fmt.Sprintf("%d %s %s %s", seed, uri[:4], name, f.Name), func(t *testing.T) {
						readAll(t, table, reader, column, oracle(t, v, f.Name), r)
					})
				}
			}
		}
	}
}

func readAll(t *testing.T, table *Table, reader query.Reader, column int, want []cell, r *rand.Rand) {
	ctx := context.Background()
	typ := must[array.Type](t)(table.Resolve(ctx, column))
	for _, rows := range rowRequests(table.Rows(), r) {
		c := must[*array.Column](t)(reader.Read(ctx, column, rows, query.Values, nil))
		if r.IntN(2) == 0 { // memory that is used again
			reader.(query.Recycler).Recycle(c)
			c = must[*array.Column](t)(reader.Read(ctx, column, rows, query.Values, nil))
		}
		shapes := must[*array.Column](t)(reader.Read(ctx, column, rows, query.Shapes, nil))
		nulls := must[*array.Column](t)(reader.Read(ctx, column, rows, query.Nulls, nil))
		lengths := must[*array.Column](t)(reader.Read(ctx, column, rows, query.Length, nil))
		if int64(c.N) != rows.N || c.DType != typ.DType || c.List != typ.List {
			t.Fatalf("%d rows of %s, want %d of %s", c.N, c.DType, rows.N, typ.DType)
		}
		for i := range c.N {
			cell := want[rows.At(i)]
			sameCell(t, c, i, cell, table.fields[column].column.DType() == tensor.Float16)
			if nulls.Data.([]bool)[i] != cell.hole || shapes.IsNull(i) != cell.hole || lengths.IsNull(i) != cell.hole {
				t.Fatalf("row %d: null is %v, %v, %v, want %v", i, nulls.Data.([]bool)[i], shapes.IsNull(i), lengths.IsNull(i), cell.hole)
			}
			if cell.hole {
				continue
			}
			shape, length := tensor.Shape{}, int64(1)
			switch {
			case typ.List:
				shape, length = tensor.Shape{int64(len(cell.data))}, int64(len(cell.data))
			case typ.DType.Fixed():
				if shape = cell.shapes[0]; len(shape) > 0 {
					length = shape[0]
				}
				if typ.Dims >= 0 && !shape.Fits(typ.Shape) {
					t.Fatalf("row %d has shape %v, the type says %v", i, shape, typ.Shape)
				}
			default:
				length = int64(len(cell.data[0]))
			}
			got := valueBytes(shapes, i)
			if int64(len(got)) != 8*int64(len(shape)) || lengths.Data.([]int64)[i] != length {
				t.Fatalf("row %d: shape %v, length %d, want %v, %d", i, got, lengths.Data.([]int64)[i], shape, length)
			}
			for k, n := range shape {
				if int64(binary.LittleEndian.Uint64(got[8*k:])) != n {
					t.Fatalf("row %d: shape %v, want %v", i, got, shape)
				}
			}
		}
	}
}

func TestZones(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := rand.New(rand.NewPCG(7, 2))
	d := testDataset(t, "mem://d", 7)
	for name, v := range testViews(t, d, r) {
		table := Of(v)
		for column, f := range table.Columns() {
			want := oracle(t, v, f.Name)
			for _, rows := range rowRequests(table.Rows(), r) {
				if rows.List != nil {
					continue
				}
				at := rows.From
				for _, z := range must[[]query.Zone](t)(table.Zones(ctx, column, rows.From, rows.From+rows.N)) {
					if z.From != at || z.To <= z.From {
						t.Fatalf("%s %s: zone %+v does not begin at %d", name, f.Name, z, at)
					}
					for ; at < z.To; at++ {
						inZone(t, &z, want[at], f.Type)
					}
				}
				if at != rows.From+rows.N {
					t.Fatalf("%s %s: zones end at %d, want %d", name, f.Name, at, rows.From+rows.N)
				}
			}
		}
	}
}

// inZone checks a value against its zone.
func inZone(t *testing.T, z *query.Zone, c cell, typ array.Type) {
	t.Helper()
	if z.Hole && !c.hole || z.Min != nil && c.hole {
		t.Fatalf("zone %+v has a row whose hole is %v", z, c.hole)
	}
	if c.hole || typ.List || !typ.DType.Fixed() {
		return
	}
	for i, n := range c.shapes[0] {
		if z.MinShape != nil && (len(z.MinShape) != len(c.shapes[0]) || n < z.MinShape[i] || n > z.MaxShape[i]) {
			t.Fatalf("zone %+v has a value of shape %v", z, c.shapes[0])
		}
	}
	if low, ok := z.Min.(int64); ok && typ.DType == tensor.Int64 {
		if x := int64(binary.LittleEndian.Uint64(c.data[0])); x < low || x > z.Max.(int64) {
			t.Fatalf("zone %+v has %d", z, x)
		}
	}
}

// TestZonesSay holds that something is said at all.
func TestZonesSay(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := Of(must[*dataset.View](t)(testDataset(t, "mem://d", 3).View(ctx)))
	said := map[string]bool{}
	for column, f := range table.Columns() {
		for _, z := range must[[]query.Zone](t)(table.Zones(ctx, column, 0, table.Rows())) {
			said[f.Name+" bounds"] = said[f.Name+" bounds"] || z.Min != nil
			said[f.Name+" shapes"] = said[f.Name+" shapes"] || z.MinShape != nil
			said[f.Name+" hole"] = said[f.Name+" hole"] || z.Hole
		}
	}
	for _, what := range []string{"x bounds", "flag bounds", "label bounds", "x shapes", "image shapes", "large shapes", "sparse hole", "open hole"} {
		if !said[what] {
			t.Errorf("no zone says %s", what)
		}
	}
	dims := map[string]int{"x": 0, "half": 1, "label": 0, "t": 0, "vector": 1, "ragged": 2, "boxes": 2, "image": 3, "large": 2, "list": 1, "open": 0}
	for column, f := range table.Columns() {
		if want, ok := dims[f.Name]; ok {
			if typ := must[array.Type](t)(table.Resolve(ctx, column)); typ.Dims != want {
				t.Errorf("tensor %q has %d axes, want %d", f.Name, typ.Dims, want)
			}
		}
	}
	typ := must[array.Type](t)(table.Resolve(ctx, 9))
	if typ.Boxes != "LTWH" || typ.HType != "bbox" || !slices.Equal(typ.Shape, tensor.Shape{-1, 4}) {
		t.Errorf("boxes are %+v", typ)
	}
}
