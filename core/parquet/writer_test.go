package parquet

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"deeplake/core/arrow"
	"deeplake/core/arrow/arrowtest"
	"deeplake/core/errs"
	"deeplake/core/internal/ahead"
)

// maker makes types and arrays of random content.
type maker struct{ *rand.Rand }

func (m maker) one(of ...string) string { return of[m.IntN(len(of))] }

var leafTypes = []string{
	"b", "c", "C", "s", "S", "i", "I", "l", "L", "e", "f", "g", "u", "U", "z", "Z", "tdD", "tss:", "tsm:UTC", "tsu:Europe/Berlin", "tsn:",
	"tDs", "tDm", "tDu", "tDn", "dictionary",
}

func leafOf(name, format string) *arrow.Type {
	if format == "dictionary" {
		return &arrow.Type{Name: name, Format: "i", Dictionary: &arrow.Type{Format: "u"}}
	}
	return &arrow.Type{Name: name, Format: format}
}

func (m maker) typ(name string, depth int) *arrow.Type {
	if depth == 0 || m.IntN(3) == 0 {
		return leafOf(name, m.one(leafTypes...))
	}
	t := &arrow.Type{Name: name}
	switch t.Format = m.one("+l", "+L", "+w", "+s"); t.Format {
	case "+s":
		for i := range 1 + m.IntN(3) {
			t.Children = append(t.Children, m.typ(fmt.Sprint("f", i), depth-1))
		}
		return t
	case "+w":
		t.Format = fmt.Sprint("+w:", m.IntN(4))
	}
	t.Children = []*arrow.Type{m.typ("item", depth-1)}
	return t
}

func (m maker) valid(rows int64) []byte {
	if m.IntN(3) == 0 {
		return nil
	}
	nulls := m.one("none", "few", "half", "many", "all")
	var b bitmap
	for range rows {
		share := map[string]float64{"none": 0, "few": 0.02, "half": 0.5, "many": 0.98, "all": 1}[nulls]
		b.add(m.Float64() >= share)
	}
	return append(b.p, 0xa5)
}

// ends are offsets that begin above 0.
func (m maker) ends(rows, most int64) []int64 {
	out := []int64{m.Int64N(5)}
	for range rows {
		out = append(out, out[len(out)-1]+m.Int64N(most+1))
	}
	return out
}

func (m maker) data(t *arrow.Type, rows int64) *arrow.Data {
	d := &arrow.Data{Rows: rows, Valid: m.valid(rows)}
	switch {
	case t.Dictionary != nil:
		d.Dictionary = m.data(t.Dictionary, 1+m.Int64N(6))
		for range rows {
			d.Values = binary.LittleEndian.AppendUint32(d.Values, uint32(m.Int64N(d.Dictionary.Rows)))
		}
	case t.Format == "+s":
		for _, c := range t.Children {
			d.Children = append(d.Children, m.data(c, rows+m.Int64N(3)))
		}
	case t.Format == "+l" || t.Format == "+L":
		d.Ends = m.ends(rows, m.Int64N(4))
		d.Children = []*arrow.Data{m.data(t.Children[0], d.Ends[rows]+m.Int64N(3))}
	case strings.HasPrefix(t.Format, "+w"):
		var size int64
		_, _ = fmt.Sscanf(t.Format, "+w:%d", &size)
		d.Children = []*arrow.Data{m.data(t.Children[0], rows*size)}
	case strings.Contains("uUzZ", t.Format):
		d.Ends = m.ends(rows, m.Int64N(6))
		for range d.Ends[rows] {
			d.Values = append(d.Values, "ab"[m.IntN(2)])
		}
	default:
		few := m.IntN(2) == 0
		width := cmp.Or(bitsOfType(t), 8) / 8
		for range rows * max(1, width) {
			switch {
			case t.Format[0] == 't':
				d.Values = append(d.Values, 0)
			case few:
				d.Values = append(d.Values, byte(m.IntN(2)))
			default:
				d.Values = append(d.Values, byte(m.Uint32()))
			}
		}
		if t.Format[0] == 't' && !few {
			for i := int64(0); i < rows; i++ {
				binary.LittleEndian.PutUint32(d.Values[i*width:], uint32(m.IntN(1<<20)))
			}
		}
	}
	return d
}

// narrow returns the array with offsets of 32 bits.
func narrow(d *arrow.Data) *arrow.Data {
	out := *d
	if d.Ends != nil {
		out.Ends, out.Ends32 = nil, []int32{}
		for _, end := range d.Ends {
			out.Ends32 = append(out.Ends32, int32(end))
		}
	}
	out.Children = nil
	for _, c := range d.Children {
		out.Children = append(out.Children, narrow(c))
	}
	if d.Dictionary != nil {
		out.Dictionary = narrow(d.Dictionary)
	}
	return &out
}

// readAs returns the type and the array that this package's reader makes of written values.
func readAs(t *arrow.Type, d *arrow.Data) (*arrow.Type, *arrow.Data) {
	to, out := *t, *d
	to.Children, out.Children = nil, nil
	for i, c := range t.Children {
		child, data := readAs(c, d.Children[i])
		to.Children, out.Children = append(to.Children, child), append(out.Children, data)
	}
	switch {
	case strings.HasPrefix(t.Format, "tD"):
		to.Format = "l"
	case strings.HasPrefix(t.Format, "tss:"):
		to.Format = "tsm:"
		out.Values = nil
		for i := range d.Rows {
			v := binary.LittleEndian.Uint64(d.Values[8*i:])
			out.Values = binary.LittleEndian.AppendUint64(out.Values, v*1000)
		}
	case strings.HasPrefix(t.Format, "tsu:"):
		to.Format = "tsu:UTC"
	}
	return &to, &out
}

// value is row i of an array: bytes as text, a list, a dict, or nil for a null.
func value(t *arrow.Type, d *arrow.Data, i int64) any {
	span := func(d *arrow.Data, i int64) (from, to int64) { return d.Ends[i], d.Ends[i+1] }
	width := bitsOfType(t) / 8
	switch {
	case d.Valid != nil && !bitAt(d.Valid, i):
		return nil
	case t.Dictionary != nil:
		return value(t.Dictionary, d.Dictionary, int64(le32(d.Values[4*i:])))
	case t.Format == "+s":
		dict := map[string]any{}
		for k, c := range t.Children {
			dict[c.Name] = value(c, d.Children[k], i)
		}
		return dict
	case t.Format[0] == '+':
		size := int64(0)
		if n, _ := fmt.Sscanf(t.Format, "+w:%d", &size); n == 1 {
			span = func(_ *arrow.Data, i int64) (from, to int64) { return i * size, (i + 1) * size }
		}
		list := []any{}
		for from, to := span(d, i); from < to; from++ {
			list = append(list, value(t.Children[0], d.Children[0], from))
		}
		return list
	case t.Format == "b":
		return bitAt(d.Values, i)
	case width > 0:
		return string(d.Values[i*width : (i+1)*width])
	}
	from, to := span(d, i)
	return string(d.Values[from:to])
}

// documents are the rows of a batch, as dicts.
func documents(typ *arrow.Type, d *arrow.Data) (rows []any) {
	typ, d = readAs(typ, d)
	for i := range d.Rows {
		rows = append(rows, value(typ, d, i))
	}
	return rows
}

// writeAll writes batches. Small pages and groups are those of a hook.
func writeAll(t testing.TB, typ *arrow.Type, o WriterOptions, hook func(*Writer), batches ...*arrow.Data) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, typ, o)
	if err != nil {
		t.Fatal(err)
	}
	if hook != nil {
		hook(w)
	}
	for _, d := range batches {
		if err := w.Write(d); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// readRows reads a file: its rows as dicts, and its footer.
func readRows(t testing.TB, p []byte) ([]any, *footer) {
	t.Helper()
	f, err := Open(t.Context(), ahead.Memory(p), int64(len(p)))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := f.Read(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []any
	for {
		n := rows.size(rows.next)
		if n == 0 {
			return got, f.footer
		}
		batch, err := rows.read(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		rows.next += int64(n)
		if _, err := rows.assembled(t.Context(), batch, n); err != nil {
			t.Fatal(err)
		}
		typ, d := &arrow.Type{Format: "+s"}, &arrow.Data{Rows: int64(n)}
		for _, c := range rows.columns {
			ct, cd, err := c.assemble(batch)
			if err != nil {
				t.Fatal(err)
			}
			typ.Children, d.Children = append(typ.Children, ct), append(d.Children, cd)
		}
		for i := range d.Rows {
			got = append(got, value(typ, d, i))
		}
	}
}

// equalRows compares rows, and reports the first that differs.
func equalRows(t testing.TB, name string, got, want []any) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d rows, want %d", name, len(got), len(want))
	}
	for i := range got {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("%s: row %d\n got %v\nwant %v", name, i, got[i], want[i])
		}
	}
}

// roundTrip writes random batches of a type and reads them.
func roundTrip(t testing.TB, m maker, typ *arrow.Type) {
	t.Helper()
	o := WriterOptions{GroupBytes: []int64{0, 1, 100, 3000}[m.IntN(4)]}
	hook := func(w *Writer) {
		w.pageBytes, w.pageEntries = 1+m.IntN(300), 1+m.IntN(100)
		w.groupRows = 1 + m.Int64N(100)
	}
	if m.IntN(2) == 0 {
		hook = nil
	}
	var batches []*arrow.Data
	var want []any
	for range m.IntN(4) {
		d := m.data(typ, m.Int64N(120))
		d.Valid = nil
		want = append(want, documents(typ, d)...)
		if m.IntN(2) == 0 {
			d = narrow(d)
		}
		batches = append(batches, d)
	}
	p := writeAll(t, typ, o, hook, batches...)
	got, _ := readRows(t, p)
	equalRows(t, describeType(typ), got, want)
}

func describeType(t *arrow.Type) string {
	s := t.Format
	for _, c := range t.Children {
		s += "(" + describeType(c) + ")"
	}
	return s
}

// TestWriterTypes writes each type of values alone, in lists, structs and lists of them.
func TestWriterTypes(t *testing.T) {
	t.Parallel()
	list := func(format string, of *arrow.Type) *arrow.Type {
		item := *of
		item.Name = "item"
		return &arrow.Type{Name: of.Name, Format: format, Children: []*arrow.Type{&item}}
	}
	for i, format := range leafTypes {
		m := maker{rand.New(rand.NewPCG(1, uint64(i)))}
		leaf := leafOf("a", format)
		structs := &arrow.Type{Name: "d", Format: "+s", Children: []*arrow.Type{leaf, list("+l", leafOf("b", format))}}
		of := []*arrow.Type{leaf, leafOf("b", format)}
		for k, c := range []*arrow.Type{list("+l", leaf), list("+L", list("+w:3", leaf)), structs, list("+l", structs), list("+w:2", list("+w:2", leaf))} {
			named := *c
			named.Name = fmt.Sprint("n", k)
			of = append(of, &named)
		}
		for range 15 {
			roundTrip(t, m, &arrow.Type{Format: "+s", Children: of})
		}
	}
}

// TestWriterAtRandom writes random types.
func TestWriterAtRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		m := maker{rand.New(rand.NewPCG(2, seed))}
		typ := m.typ("", 0)
		for typ.Format != "+s" {
			typ = m.typ("", 4)
		}
		roundTrip(t, m, typ)
	}
}

// FuzzWriter writes random types and arrays of a seed and reads them.
func FuzzWriter(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		m := maker{rand.New(rand.NewPCG(a, b))}
		roundTrip(t, m, &arrow.Type{Format: "+s", Children: []*arrow.Type{m.typ("a", 5), m.typ("b", 2)}})
	})
}

func numbers[T any](of ...T) *arrow.Data {
	p, err := binary.Append(nil, binary.LittleEndian, of)
	if err != nil {
		return nil
	}
	return &arrow.Data{Rows: int64(len(of)), Values: p}
}

func textsOf(of ...string) *arrow.Data {
	d := &arrow.Data{Rows: int64(len(of)), Ends: []int64{0}}
	for _, s := range of {
		d.Values = append(d.Values, s...)
		d.Ends = append(d.Ends, int64(len(d.Values)))
	}
	return d
}

func rowsOf(columns ...*arrow.Data) *arrow.Data {
	return &arrow.Data{Rows: columns[0].Rows, Children: columns}
}

func columnsOf(of ...*arrow.Type) *arrow.Type { return &arrow.Type{Format: "+s", Children: of} }

// TestWriterLarge has many row groups, pages, and columns with and without dictionary.
func TestWriterLarge(t *testing.T) {
	t.Parallel()
	const rows = 300_000
	ids, few, texts := make([]int64, rows), make([]int32, rows), make([]string, rows)
	for i := range ids {
		ids[i], few[i], texts[i] = int64(i), int32(i%7), fmt.Sprint("text ", i%1000)
	}
	typ := columnsOf(leafOf("id", "l"), leafOf("few", "i"), leafOf("text", "u"))
	d := rowsOf(numbers(ids...), numbers(few...), textsOf(texts...))
	p := writeAll(t, typ, WriterOptions{GroupBytes: 1 << 20, Metadata: map[string]string{"b": "2", "a": "1"}}, nil, d)
	got, f := readRows(t, p)
	equalRows(t, "large", got, documents(typ, d))
	if !reflect.DeepEqual(f.metadata, map[string]string{"a": "1", "b": "2"}) || len(f.groups) < 5 {
		t.Errorf("metadata %v, %d groups", f.metadata, len(f.groups))
	}
	if n := f.groups[0].rows; n < 20_000 || n > 60_000 {
		t.Errorf("a row group of 1 MiB has %d rows", n)
	}
	c := f.groups[0].columns
	if c[0].dictionary != 0 || c[1].dictionary == 0 || c[2].dictionary == 0 {
		t.Errorf("dictionaries at %d, %d, %d, want none, some, some", c[0].dictionary, c[1].dictionary, c[2].dictionary)
	}
	if len(p) > rows*6 {
		t.Errorf("%d rows take %d bytes", rows, len(p))
	}
}

// TestWriterPacking leaves bytes that do not become smaller as they are.
func TestWriterPacking(t *testing.T) {
	t.Parallel()
	m := maker{rand.New(rand.NewPCG(3, 3))}
	noise := &arrow.Data{Rows: 20, Ends: []int64{0}}
	for range noise.Rows {
		for range 300 << 10 / 8 {
			noise.Values = binary.LittleEndian.AppendUint64(noise.Values, m.Uint64())
		}
		noise.Ends = append(noise.Ends, int64(len(noise.Values)))
	}
	plain := &arrow.Data{Rows: 20, Ends: noise.Ends, Values: make([]byte, len(noise.Values))}
	for i := range plain.Values {
		plain.Values[i] = byte(i >> 12)
	}
	// A text of 5 MiB lies in one page.
	one := textsOf(append(make([]string, 19), strings.Repeat("a long text", 1<<19))...)
	typ := columnsOf(leafOf("noise", "Z"), leafOf("plain", "Z"), leafOf("one", "u"))
	d := rowsOf(noise, plain, one)
	p := writeAll(t, typ, WriterOptions{}, nil, d)
	got, f := readRows(t, p)
	equalRows(t, "packing", got, documents(typ, d))
	if c := f.groups[0].columns; c[0].codec != plainPages || c[1].codec != zstdPages || c[2].codec != zstdPages {
		t.Errorf("codecs %d, %d, %d, want none, zstd and zstd", c[0].codec, c[1].codec, c[2].codec)
	}
}

// TestWriterGolden holds the bytes of a small file.
func TestWriterGolden(t *testing.T) {
	t.Parallel()
	list := &arrow.Type{Name: "list", Format: "+l", Children: []*arrow.Type{leafOf("item", "f")}}
	typ := columnsOf(leafOf("int", "l"), leafOf("text", "u"), list, leafOf("time", "tsu:UTC"))
	lists := &arrow.Data{Rows: 3, Ends: []int64{0, 2, 2, 3}, Valid: []byte{5}, Children: []*arrow.Data{numbers[float32](1, 2, 3)}}
	texts := textsOf("a", "", "b")
	texts.Valid = []byte{6}
	p := writeAll(t, typ, WriterOptions{Metadata: map[string]string{"k": "v"}}, nil, rowsOf(numbers[int64](1, -2, 3), texts, lists, numbers[int64](0, 1, 2)))
	sum := sha256.Sum256(p)
	if got := hex.EncodeToString(sum[:8]); len(p) != goldenSize || got != goldenSum {
		t.Errorf("the file has %d bytes, sum %s, want %d, %s:\n%s", len(p), got, goldenSize, goldenSum, hex.Dump(p))
	}
}

const (
	goldenSize = 555
	goldenSum  = "26481b0fa93b4588"
)

// TestWriterBounds are the statistics of values.
func TestWriterBounds(t *testing.T) {
	t.Parallel()
	le := func(v any) string {
		p, _ := binary.Append(nil, binary.LittleEndian, v)
		return string(p)
	}
	nan, zero := math.NaN(), math.Copysign(0, -1)
	long := strings.Repeat("x", maxBound+1)
	for i, c := range []struct {
		format       string
		data         *arrow.Data
		least, great string
	}{
		{"c", numbers[int8](3, -4, 5), le(int32(-4)), le(int32(5))},
		{"C", numbers[uint8](3, 200, 5), le(uint32(3)), le(uint32(200))},
		{"s", numbers[int16](3, -400, 5), le(int32(-400)), le(int32(5))},
		{"S", numbers[uint16](3, 65535), le(uint32(3)), le(uint32(65535))},
		{"i", numbers[int32](3, math.MinInt32, 5), le(int32(math.MinInt32)), le(int32(5))},
		{"I", numbers[uint32](3, 1<<31), le(uint32(3)), le(uint32(1 << 31))},
		{"l", numbers[int64](math.MaxInt64, -1), le(int64(-1)), le(int64(math.MaxInt64))},
		{"L", numbers[uint64](7, 1<<63), le(uint64(7)), le(uint64(1 << 63))},
		{"g", numbers(1.5, -2.5, math.Inf(1)), le(-2.5), le(math.Inf(1))},
		{"g", numbers(1.5, nan), "", ""},
		{"g", numbers(1.5, math.Copysign(nan, -1)), "", ""},
		{"g", numbers(0.0, 1), le(zero), le(1.0)},
		{"g", numbers(-1, zero), le(-1.0), le(0.0)},
		{"f", numbers[float32](1, -3), le(float32(-3)), le(float32(1))},
		{"e", numbers[uint16](0x3c00, 0xc000), le(uint16(0xc000)), le(uint16(0x3c00))},
		{"e", numbers[uint16](0x3c00, 0x7e00), "", ""},
		{"b", &arrow.Data{Rows: 3, Values: []byte{2}}, "\x00", "\x01"},
		{"u", textsOf("b", "\xff", "ab"), "ab", "\xff"},
		{"u", textsOf("b", long), "", ""},
		{"tdD", numbers[int32](3, -4), le(int32(-4)), le(int32(3))},
	} {
		w, err := NewWriter(&bytes.Buffer{}, columnsOf(leafOf("a", c.format)), WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(rowsOf(c.data)); err != nil {
			t.Fatal(err)
		}
		got, err := w.chunk(w.leaves[0])
		if err != nil || string(got.least) != c.least || string(got.greatest) != c.great {
			t.Errorf("case %d: %x, %x, %v, want %x, %x", i, got.least, got.greatest, err, c.least, c.great)
		}
	}
}

// failingWriter fails after some bytes.
type failingWriter struct{ left int }

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errors.New("no space")
	}
	return len(p), nil
}

// TestWriterErrors are types and arrays that cannot be written.
func TestWriterErrors(t *testing.T) {
	t.Parallel()
	deep := leafOf("a", "l")
	for range 40 {
		deep = &arrow.Type{Name: "a", Format: "+l", Children: []*arrow.Type{deep}}
	}
	for _, c := range []struct {
		t    *arrow.Type
		kind errs.Kind
		text string
	}{
		{nil, errs.Invalid, "no struct of columns"},
		{leafOf("a", "l"), errs.Invalid, "no struct of columns"},
		{columnsOf(), errs.Invalid, "no struct of columns"},
		{columnsOf(leafOf("a", "l"), leafOf("a", "l")), errs.Invalid, "must differ"},
		{columnsOf(leafOf("a", "vu")), errs.Unsupported, `"a": values have the Arrow type "vu"`},
		{columnsOf(leafOf("a", "d:10,2")), errs.Unsupported, `"d:10,2"`},
		{columnsOf(leafOf("a", "n")), errs.Unsupported, `"n"`},
		{columnsOf(&arrow.Type{Name: "s", Format: "+s", Children: []*arrow.Type{leafOf("b", "ttu")}}), errs.Unsupported, `"s.b"`},
		{columnsOf(&arrow.Type{Name: "s", Format: "+s"}), errs.Unsupported, "no fields"},
		{columnsOf(&arrow.Type{Name: "s", Format: "+w:x", Children: []*arrow.Type{leafOf("b", "l")}}), errs.Invalid, "want a size"},
		{columnsOf(&arrow.Type{Name: "s", Format: "i", Dictionary: leafOf("", "l")}), errs.Unsupported, "stand for values"},
		{columnsOf(&arrow.Type{Name: "s", Format: "l", Dictionary: leafOf("", "u")}), errs.Unsupported, "stand for values"},
		{columnsOf(deep), errs.Unsupported, "too deep"},
	} {
		if _, err := NewWriter(&bytes.Buffer{}, c.t, WriterOptions{}); !errs.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%v: want %q", err, c.text)
		}
	}
	coded := &arrow.Data{Rows: 1, Values: []byte{2, 0, 0, 0}, Dictionary: textsOf("a", "b")}
	list := &arrow.Type{Name: "a", Format: "+l", Children: []*arrow.Type{leafOf("item", "i")}}
	for _, c := range []struct {
		t    *arrow.Type
		d    *arrow.Data
		kind errs.Kind
		text string
	}{
		{leafOf("a", "l"), nil, errs.Invalid, "missing"},
		{leafOf("a", "l"), &arrow.Data{Rows: 2, Values: make([]byte, 15)}, errs.Invalid, "15 bytes, want 16"},
		{leafOf("a", "l"), &arrow.Data{Rows: 9, Valid: []byte{1}, Values: make([]byte, 72)}, errs.Invalid, "bitmap of 1"},
		{leafOf("a", "u"), &arrow.Data{Rows: 1, Ends: []int64{0, 2}, Values: []byte{1}}, errs.Invalid, "offset 1"},
		{leafOf("a", "u"), &arrow.Data{Rows: 2, Ends32: []int32{0, 2, 1}, Values: []byte{1, 2}}, errs.Invalid, "offset 2"},
		{leafOf("a", "u"), &arrow.Data{Rows: 1, Values: []byte{1}}, errs.Invalid, "0 offsets"},
		{leafOf("a", "z"), &arrow.Data{Rows: 1, Ends: []int64{0, maxValue + 1}, Values: make([]byte, maxValue+1)}, errs.Unsupported, "a value has"},
		{leafOf("a", "tss:"), numbers[int64](math.MaxInt64/1000 + 1), errs.Range, "do not reach"},
		{leafOf("a", "dictionary"), coded, errs.Invalid, "number 2 of a dictionary of 2"},
		{leafOf("a", "dictionary"), numbers[int32](0), errs.Invalid, "no dictionary"},
		{list, &arrow.Data{Rows: 1, Ends: []int64{0, 2}, Children: []*arrow.Data{numbers[int32](1)}}, errs.Invalid, "want 2 rows"},
		{list, &arrow.Data{Rows: 1, Ends: []int64{0, 2}}, errs.Invalid, "0 children, want 1"},
	} {
		w, err := NewWriter(&bytes.Buffer{}, columnsOf(c.t), WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		rows := &arrow.Data{Rows: 1, Children: []*arrow.Data{c.d}}
		if err = w.Write(rows); !errs.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%v: want %q", err, c.text)
		}
		if again := w.Close(); !errors.Is(again, err) {
			t.Errorf("Close after a failure: %v", again)
		}
	}
	w, err := NewWriter(&failingWriter{10}, columnsOf(leafOf("a", "l")), WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(rowsOf(numbers[int64](1))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); !errs.Is(err, errs.Storage) {
		t.Error(err)
	}
	if w, err = NewWriter(&bytes.Buffer{}, columnsOf(leafOf("a", "l")), WriterOptions{}); err != nil {
		t.Fatal(err)
	}
	null := rowsOf(numbers[int64](1))
	null.Valid = []byte{0}
	if err := w.Write(null); !errs.Is(err, errs.Invalid) {
		t.Error(err)
	}
	if w, err = NewWriter(&bytes.Buffer{}, columnsOf(leafOf("a", "l")), WriterOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := cmp.Or(w.Close(), w.Close()); err != nil {
		t.Error(err)
	}
	if err := w.Write(rowsOf(numbers[int64](1))); !errs.Is(err, errs.Closed) {
		t.Error(err)
	}
}

// TestWriterEmpty writes a file without rows.
func TestWriterEmpty(t *testing.T) {
	t.Parallel()
	p := writeAll(t, columnsOf(leafOf("a", "l")), WriterOptions{}, nil)
	f, err := Open(context.Background(), ahead.Memory(p), int64(len(p)))
	if err != nil || f.Rows() != 0 || len(f.Columns()) != 1 {
		t.Error(f, err)
	}
}

// BenchmarkWriter writes columns of a million numbers, texts and lists.
func BenchmarkWriter(b *testing.B) {
	const rows = 1 << 18
	m := maker{rand.New(rand.NewPCG(4, 4))}
	ids, values, texts := make([]int64, rows), make([]float64, rows), make([]string, rows)
	pixels := make([]uint8, 16*rows)
	lists := &arrow.Data{Rows: rows, Ends: []int64{0}, Children: []*arrow.Data{numbers(pixels...)}}
	for i := range ids {
		ids[i], values[i], texts[i] = int64(i), m.Float64(), fmt.Sprint("a text of ", m.IntN(rows))
		lists.Ends = append(lists.Ends, int64(16*(i+1)))
	}
	for i := range lists.Children[0].Values {
		lists.Children[0].Values[i] = byte(m.Uint32())
	}
	for _, c := range []struct {
		name string
		t    *arrow.Type
		d    *arrow.Data
	}{
		{"int64", leafOf("a", "l"), numbers(ids...)},
		{"double", leafOf("a", "g"), numbers(values...)},
		{"text", leafOf("a", "u"), textsOf(texts...)},
		{"list", &arrow.Type{Name: "a", Format: "+l", Children: []*arrow.Type{leafOf("item", "C")}}, lists},
	} {
		b.Run(c.name, func(b *testing.B) {
			size := len(c.d.Values)
			for _, child := range c.d.Children {
				size += len(child.Values)
			}
			b.SetBytes(int64(size))
			for range b.N {
				_ = writeAll(b, columnsOf(c.t), WriterOptions{}, nil, rowsOf(c.d))
			}
		})
	}
}

// TestPlainColumns: pages of columns that are to stay plain hold their values as they are.
func TestPlainColumns(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte("a text that compresses well "), 100)
	d := textsOf(string(text)+"1", string(text)+"2", string(text)+"1")
	typ := columnsOf(leafOf("plain", "Z"), leafOf("packed", "Z"))
	p := writeAll(t, typ, WriterOptions{Plain: []string{"plain"}}, nil, rowsOf(d, d))
	f, err := Open(t.Context(), ahead.Memory(p), int64(len(p)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Read(t.Context(), Options{Places: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	batch, err := r.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fields, _ := batch.Fields()
	if plain, packed := arrowtest.Placed(t, p, fields[0]), arrowtest.Placed(t, p, fields[1]); plain != 3 || packed != 0 {
		t.Errorf("%d and %d values have positions, want 3 and 0", plain, packed)
	}
}
