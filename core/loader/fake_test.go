package loader

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/order"
	"deeplake/core/read"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

// firstRow is the dataset row of row 0 of a fake view, so that the two cannot be mixed up
// unnoticed.
const firstRow = 1000

// fake is a view that computes samples from their rows.
type fake struct {
	rows    int64
	names   []string
	columns map[string]*fakeColumn
	stored  int64
	// made and not closed cannot be seen: chunk.Worker is concrete; this counts made ones
	workers atomic.Int64
}

// fakeColumn is one tensor of a fake.
type fakeColumn struct {
	name    string
	dtype   tensor.DType
	seq     bool
	encoded bool
	shape   func(row int64) tensor.Shape               // arrays; nil result: a hole
	text    func(row int64) ([]byte, bool)             // string, json, bytes; false: a hole
	items   func(row int64) int64                      // sequence; -1: a hole
	find    func(row int64) error                      // of Resolve
	read    func(ctx context.Context, row int64) error // of Decode and Stored, called first
	blocks  int64                                      // see read.Access.Unpacked
}

func newFake(rows int64, columns ...*fakeColumn) *fake {
	f := &fake{rows: rows, columns: map[string]*fakeColumn{}, stored: rows * 1000}
	for _, c := range columns {
		f.names = append(f.names, c.name)
		f.columns[c.name] = c
	}
	return f
}

func fixedShape(s ...int64) func(int64) tensor.Shape {
	shape := append(tensor.Shape{}, s...) // not nil, also without axes
	return func(int64) tensor.Shape { return shape }
}

func (f *fake) Len() int64      { return f.rows }
func (f *fake) Names() []string { return f.names }

func (f *fake) Column(name string) (*fakeColumn, error) {
	if c, ok := f.columns[name]; ok {
		return c, nil
	}
	return nil, errs.New(errs.NotFound, "no tensor %q", name)
}

func (f *fake) StoredBytes(context.Context) (int64, error) { return f.stored, nil }

func (f *fake) Remote() bool           { return false }
func (f *fake) Traffic() storage.Stats { return storage.Stats{} }

func (f *fake) Identity() (dataset, commit, selection string, err error) {
	return "", "", "", errs.New(errs.Unsupported, "the rows do not say which dataset they are of")
}

func (f *fake) NewWorker() *chunk.Worker {
	f.workers.Add(1)
	return chunk.NewWorker(nil)
}

func (c *fakeColumn) Name() string        { return c.name }
func (c *fakeColumn) DType() tensor.DType { return c.dtype }
func (c *fakeColumn) Sequence() bool      { return c.seq }
func (c *fakeColumn) Encoded() bool       { return c.encoded }

// itemBits is where Ref.Item keeps the item of a sequence, below the row.
const itemBits = 16

var theChunk = &chunk.Chunk{}

func (c *fakeColumn) ref(row, item int64) chunk.Ref {
	r := chunk.Ref{Row: row + firstRow, Chunk: theChunk, Item: row<<itemBits | item, Items: 1}
	data, ok := c.content(row, item)
	if !ok {
		return chunk.Ref{Row: r.Row}
	}
	if c.dtype.Fixed() {
		r.Shape = c.shape(row + item)
	}
	r.Size = int64(len(data))
	r.Stored = int64(len(storedForm(data)))
	return r
}

func (c *fakeColumn) Resolve(_ context.Context, rows []int64, refs []chunk.Ref) error {
	for i, row := range rows {
		if c.find != nil {
			if err := c.find(row); err != nil {
				return err
			}
		}
		switch {
		case !c.seq:
			refs[i] = c.ref(row, 0)
		case c.items(row) < 0:
			refs[i] = chunk.Ref{Row: row + firstRow}
		default:
			refs[i] = chunk.Ref{Row: row + firstRow, Chunk: theChunk, Item: row << itemBits, Items: c.items(row)}
		}
	}
	return nil
}

func (c *fakeColumn) Items(_ context.Context, ref *chunk.Ref, items []chunk.Ref) error {
	if int64(len(items)) != ref.Items {
		return errs.New(errs.Internal, "%d items, want %d", len(items), ref.Items)
	}
	for i := range items {
		items[i] = c.ref(ref.Item>>itemBits, int64(i))
	}
	return nil
}

func (c *fakeColumn) Access() read.Access {
	a := read.Access{DecodeRun: c.decodeRun}
	if c.blocks > 0 {
		a.Unpacked = func(context.Context) (int64, error) { return c.blocks, nil }
	}
	return a
}

// decodeRun decodes one by one, from the last to the first: no caller may count on an order.
func (c *fakeColumn) decodeRun(ctx context.Context, refs []*chunk.Ref, dst [][]byte, w *chunk.Worker, failed func(i int, err error)) {
	for i := len(refs) - 1; i >= 0; i-- {
		if err := c.Decode(ctx, refs[i], dst[i], w); err != nil {
			failed(i, err)
		}
	}
}

func (c *fakeColumn) Decode(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error {
	return c.copy(ctx, ref, dst, w, func(b []byte) []byte { return b })
}

func (c *fakeColumn) Stored(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error {
	return c.copy(ctx, ref, dst, w, storedForm)
}

func (c *fakeColumn) copy(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker, form func([]byte) []byte) error {
	if w == nil {
		return errs.New(errs.Internal, "no worker")
	}
	row, item := ref.Item>>itemBits, ref.Item&(1<<itemBits-1)
	if c.read != nil {
		if err := c.read(ctx, row); err != nil {
			for i := range dst {
				dst[i] = 0xee // output of a failed decoder must never show
			}
			return err
		}
	}
	data, _ := c.content(row, item)
	data = form(data)
	if len(data) != len(dst) {
		return errs.New(errs.Internal, "place of %d bytes for %d", len(dst), len(data))
	}
	copy(dst, data)
	return nil
}

// content returns the content of the sample; false: there is none.
func (c *fakeColumn) content(row, item int64) ([]byte, bool) {
	if c.text != nil {
		return c.text(row)
	}
	shape := c.shape(row + item)
	if shape == nil {
		return nil, false
	}
	n, err := shape.Bytes(c.dtype)
	if err != nil {
		panic(err)
	}
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(row*31 + item*17 + int64(i)*7 + 1)
	}
	if c.dtype == tensor.Int64 && n == 8 {
		binary.NativeEndian.PutUint64(data, uint64(row))
	}
	return data, true
}

// storedForm returns the "file" of a sample: a mark, then its bytes.
func storedForm(data []byte) []byte { return append([]byte("F:"), data...) }

// fakeSet returns a view with a column of every sort.
func fakeSet(rows int64) *fake {
	return newFake(rows,
		&fakeColumn{name: "images", dtype: tensor.Uint8, encoded: true, shape: fixedShape(6, 5, 3)},
		&fakeColumn{name: "labels", dtype: tensor.Int64, shape: fixedShape()},
		&fakeColumn{name: "boxes", dtype: tensor.Float32, shape: func(r int64) tensor.Shape { return tensor.Shape{r % 4, 4} }},
		&fakeColumn{name: "text", dtype: tensor.String, text: func(r int64) ([]byte, bool) {
			return fmt.Appendf(nil, "row %d%s", r, bytes.Repeat([]byte{'x'}, int(r%11))), true
		}},
		&fakeColumn{name: "frames", dtype: tensor.Uint16, seq: true, items: func(r int64) int64 { return r % 3 },
			shape: func(k int64) tensor.Shape { return tensor.Shape{1 + k%5} }},
		&fakeColumn{name: "maybe", dtype: tensor.Uint8, shape: func(r int64) tensor.Shape {
			if r%5 == 2 {
				return nil
			}
			return tensor.Shape{r % 7}
		}},
	)
}

// fakeCollate makes fakeSet loadable: boxes padded, frames and maybe as lists.
func fakeCollate() map[string]string {
	return map[string]string{"boxes": Pad, "maybe": List}
}

func open(t testing.TB, src *fake, o Options) *Loader {
	t.Helper()
	l, err := Open(context.Background(), SourceOf(src), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Close()
		if s := l.ring.Stats(); s.Slabs != 0 {
			t.Errorf("%d slabs after Close", s.Slabs)
		}
	})
	return l
}

func start(t testing.TB, l *Loader, epoch int64) *Epoch {
	t.Helper()
	e, err := l.Start(context.Background(), order.Pass{Epoch: epoch})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// next returns the next batch, nil at the end.
func next(t testing.TB, e *Epoch) *Batch {
	t.Helper()
	b, err := e.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// column finds a column of a batch.
func column(t testing.TB, b *Batch, name string) *BatchColumn {
	t.Helper()
	for i := range b.Columns {
		if b.Columns[i].Name == name {
			return &b.Columns[i]
		}
	}
	t.Fatalf("batch %d has no column %q", b.Index, name)
	return nil
}

// index returns the rows of a batch in the view.
func index(t testing.TB, b *Batch) []int64 {
	t.Helper()
	c := column(t, b, IndexName)
	if c.Kind != KindArray || len(c.Shape) != 1 || c.Shape[0] != int64(b.Rows) || c.DType != tensor.Int64 {
		t.Fatalf("index column %+v of a batch of %d rows", c, b.Rows)
	}
	rows := make([]int64, b.Rows)
	for i := range rows {
		rows[i] = getInt64(b.Data(c), i) - firstRow
	}
	return rows
}

// verify compares every column of b with the fake. The batch must have an index.
func verify(t testing.TB, src *fake, o Options, b *Batch) []int64 {
	t.Helper()
	rows := index(t, b)
	for _, name := range src.names {
		if o.Tensors != nil && !slices.Contains(o.Tensors, name) {
			continue
		}
		src.columns[name].verify(t, b, rows, cmp.Or(o.CollateOf[name], cmp.Or(o.Collate, Stack)), o.Decode[name] == Raw)
	}
	return rows
}

func (f *fakeColumn) verify(t testing.TB, b *Batch, rows []int64, collate string, stored bool) {
	t.Helper()
	c := column(t, b, f.name)
	if c.Offset%align != 0 || c.Starts%align != 0 {
		t.Fatalf("%s: offsets %d and %d, want multiples of %d", f.name, c.Offset, c.Starts, align)
	}
	item := 0
	for i, row := range rows {
		count := int64(1)
		if f.seq {
			count = max(f.items(row), 0)
			if c.Splits[i] != int64(item) || c.Splits[i+1]-c.Splits[i] != count {
				t.Fatalf("%s row %d: items %d to %d, want %d from %d", f.name, row, c.Splits[i], c.Splits[i+1], count, item)
			}
		}
		for k := range count {
			want, ok := f.content(row, k)
			if null := c.Null != nil && c.Null[i]; null == ok {
				t.Fatalf("%s row %d: null is %v", f.name, row, null)
			}
			if ok {
				f.verifyItem(t, b, c, i, item, row, k, want, collate, stored)
			}
			item++
		}
	}
	if c.Count != item {
		t.Fatalf("%s: %d items, want %d", f.name, c.Count, item)
	}
}

func (f *fakeColumn) verifyItem(t testing.TB, b *Batch, c *BatchColumn, i, item int, row, k int64, want []byte, collate string, stored bool) {
	t.Helper()
	if stored {
		want = storedForm(want)
	}
	var got []byte
	switch {
	case stored || !f.dtype.Fixed() || f.seq || collate == List:
		got = b.Item(c, item)
		if c.Kind == KindList {
			if s := c.Items[item].Shape; !s.Equal(f.shape(row + k)) {
				t.Fatalf("%s row %d: shape %s, want %s", f.name, row, s, f.shape(row+k))
			}
			if c.Items[item].Offset%align != 0 {
				t.Fatalf("%s row %d: array at %d", f.name, row, c.Items[item].Offset)
			}
		}
	default:
		size := int(c.Size) / c.Count
		got = b.Data(c)[i*size : (i+1)*size]
		shape := f.shape(row)
		if collate == Pad && len(shape) > 0 {
			want = padNaive(want, shape, c.Shape[1:], f.dtype.Size(), nil)
			s := column(t, b, f.name+ShapeSuffix)
			for d := range shape {
				if n := getInt64(b.Data(s), i*len(shape)+d); n != shape[d] {
					t.Fatalf("%s row %d: axis %d is said to have %d, want %d", f.name, row, d, n, shape[d])
				}
			}
		} else if !c.Shape[1:].Equal(shape) {
			t.Fatalf("%s: shape %s, want rows of %s", f.name, c.Shape, shape)
		}
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("%s row %d item %d of batch %d: got %x, want %x", f.name, row, k, b.Index, got, want)
	}
}

// padNaive places every element that has a place by its index, among elements of fill; nil: zeros.
func padNaive(data []byte, from, to tensor.Shape, elem int, fill []byte) []byte {
	n, _ := to.Elements()
	out := make([]byte, int(n)*elem)
	if fill != nil {
		out = bytes.Repeat(fill, int(n))
	}
	have, _ := from.Elements()
elements:
	for k := range have {
		rest, position, scale := k, int64(0), int64(1)
		for d := len(from) - 1; d >= 0; d-- {
			if rest%from[d] >= to[d] {
				continue elements
			}
			position += rest % from[d] * scale
			rest /= from[d]
			scale *= to[d]
		}
		copy(out[int(position)*elem:][:elem], data[int(k)*elem:])
	}
	return out
}

func TestSpread(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(8, 9))
	for range 3000 {
		dims, elem := r.IntN(4), 1+r.IntN(3)
		var fill []byte
		if r.IntN(2) == 0 {
			fill = []byte{200, 201, 202}[:elem]
		}
		from, to, cut := make(tensor.Shape, dims), make(tensor.Shape, dims), make(tensor.Shape, dims)
		for d := range from {
			from[d] = r.Int64N(5)
			to[d] = from[d] + r.Int64N(3)
			cut[d] = r.Int64N(7)
		}
		have, _ := from.Elements()
		want, _ := to.Elements()
		data := make([]byte, int(have)*elem)
		for i := range data {
			data[i] = byte(1 + i)
		}
		mem := bytes.Repeat([]byte{0xee}, int(want)*elem+8)
		copy(mem, data)
		spread(mem, from, to, int64(elem), fill)
		if naive := padNaive(data, from, to, elem, fill); !bytes.Equal(mem[:int(want)*elem], naive) {
			t.Fatalf("%s to %s of %d bytes: %x, want %x", from, to, elem, mem[:int(want)*elem], naive)
		}
		if !bytes.Equal(mem[int(want)*elem:], bytes.Repeat([]byte{0xee}, 8)) {
			t.Fatalf("%s to %s: wrote behind the place", from, to)
		}
		places, _ := cut.Elements()
		cropped := make([]byte, int(places)*elem)
		fillUp(cropped, fill)
		overlap(cropped, data, from, cut, int64(elem))
		if naive := padNaive(data, from, cut, elem, fill); !bytes.Equal(cropped, naive) {
			t.Fatalf("%s cut to %s of %d bytes: %x, want %x", from, cut, elem, cropped, naive)
		}
	}
}

// hugeColumn says that its samples are as large as a sample may be.
type hugeColumn struct{ *fakeColumn }

func (c *hugeColumn) Resolve(_ context.Context, rows []int64, refs []chunk.Ref) error {
	for i, row := range rows {
		refs[i] = chunk.Ref{Row: row, Chunk: theChunk, Items: 1, Shape: tensor.Shape{tensor.MaxSampleBytes}, Size: tensor.MaxSampleBytes, Stored: 1}
	}
	return nil
}

type hugeSource struct {
	Source
	column read.Column
}

func (s hugeSource) Column(string) (read.Column, error) { return s.column, nil }
