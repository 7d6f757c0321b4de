package ipc

import (
	"context"
	"encoding/binary"
	"runtime"
	"slices"
	"strings"
	"testing"

	"deeplake/core/arrow"
	"deeplake/core/arrow/arrowtest"
	"deeplake/core/errs"
	"deeplake/core/internal/ahead"
	"deeplake/core/tensor"
)

const rowCount = 41

func files(t testing.TB) map[string][]byte {
	out := arrowtest.Files(t, "testdata/*.arrow", 4)
	for name, p := range arrowtest.Files(t, "testdata/*.stream", 4) {
		out[name] = p
	}
	return out
}

func open(t testing.TB, p []byte) *File {
	t.Helper()
	f, err := Open(t.Context(), ahead.Memory(p), int64(len(p)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// readAll reads the columns that a tensor holds.
func readAll(t testing.TB, f *File, o Options) (map[string][]any, int64) {
	t.Helper()
	if o.Columns == nil {
		for _, name := range f.Columns() {
			if !slices.Contains([]string{"union", "runs", "time"}, name) {
				o.Columns = append(o.Columns, name)
			}
		}
	}
	rows, err := f.Read(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	return arrowtest.All(t, func(ctx context.Context) (*arrow.Column, error) {
		c, size, err := rows.Next(ctx)
		if c != nil && size <= 0 {
			t.Errorf("%d rows take %d bytes of the file", c.Len(), size)
		}
		return c, err
	})
}

// TestGoldenFiles reads files and streams that pyarrow has written, from each row on.
func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	want := arrowtest.Golden(t, "testdata")
	for name, p := range files(t) {
		for _, from := range []int64{0, 1, 16, 17, 18, 40, 41} {
			got, n := readAll(t, open(t, p), Options{From: from, Ahead: from%2 == 0})
			if n != rowCount-from {
				t.Fatalf("%s: %d rows from %d on", name, n, from)
			}
			for column, values := range want {
				if !slices.EqualFunc(got[column], values[from:], arrowtest.Same) {
					t.Errorf("%s: column %q from row %d on\n got %v\nwant %v", name, column, from, got[column], values[from:])
				}
			}
		}
	}
}

// TestColumns reads each column alone, and no bytes of others that are far from it.
func TestColumns(t *testing.T) {
	t.Parallel()
	want := arrowtest.Golden(t, "testdata")
	for name, p := range files(t) {
		for column := range want {
			got, _ := readAll(t, open(t, p), Options{Columns: []string{column}})
			if len(got) != 1 || !slices.EqualFunc(got[column], want[column], arrowtest.Same) {
				t.Errorf("%s: column %q alone is %v", name, column, got)
			}
		}
		f := open(t, p)
		if _, err := f.Read(t.Context(), Options{Columns: []string{"none"}}); !errs.Is(err, errs.NotFound) {
			t.Error(err)
		}
		rows, err := f.Read(t.Context(), Options{From: 42})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := rows.Next(t.Context()); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "41 rows") {
			t.Error(err)
		}
		rows.Close()
	}
}

// TestOtherTypes: columns that no tensor holds have their rows, and say so.
func TestOtherTypes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plain.arrow", "plain.stream"} {
		f := open(t, files(t)[name])
		rows, err := f.Read(t.Context(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		batch, _, err := rows.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		fields, _ := batch.Fields()
		for _, c := range fields {
			_, err := c.Rows(tensor.Target{HType: tensor.HType{Base: "generic"}})
			if isOther := slices.Contains([]string{"union", "runs", "time"}, c.Name()); isOther && (!errs.Is(err, errs.Type) || c.Len() == 0) {
				t.Errorf("%s: %d rows, %v", c.Name(), c.Len(), err)
			}
		}
		rows.Close()
	}
}

// TestDictionaries reads a dictionary that grows, and one that later record batches replace.
func TestDictionaries(t *testing.T) {
	t.Parallel()
	want := map[string][]any{
		"deltas.words":   {"b", "a", nil, "c", "a", nil, "dd", "a", nil},
		"replaced.words": {"a", "b", nil, "a", "c", nil, "a", "dd", nil},
	}
	for name, p := range arrowtest.Files(t, "testdata/*.words", 2) {
		got, _ := readAll(t, open(t, p), Options{})
		if !slices.Equal(got["category"], want[name]) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// counted counts the bytes that are read.
type counted struct {
	ahead.Memory
	n *int64
}

func (c counted) ReadAt(ctx context.Context, p []byte, off int64) error {
	*c.n += int64(len(p))
	return c.Memory.ReadAt(ctx, p, off)
}

// TestRequests: a column that is read alone takes its own bytes of the record batch.
func TestRequests(t *testing.T) {
	t.Parallel()
	p := files(t)["plain.arrow"]
	f, n := open(t, p), int64(0)
	f.r = counted{ahead.Memory(p), &n}
	b := f.batches[0]
	meta, err := f.metadata(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	last := len(f.schema.children) - 1
	spans, err := (&cursor{batch: meta}).skip(f.schema.children[0])
	if err != nil {
		t.Fatal(err)
	}
	n = 0
	if _, err := readSpans(t.Context(), f.r, b.off+b.meta, spans); err != nil || n > 128 {
		t.Errorf("the first column has %d bytes: %v", n, err)
	}
	if _, err := f.columns(t.Context(), b, meta, f.schema, []int{last}, nil); err != nil {
		t.Error(err)
	}
}

// TestCutFiles: each file that is cut is an error, or a stream with fewer record batches.
func TestCutFiles(t *testing.T) {
	t.Parallel()
	for name, p := range files(t) {
		for size := 0; size < len(p)-10; size += 97 {
			rows, err := readForged(p[:size])
			if err == nil && (!strings.HasSuffix(name, ".stream") || rows%17 != 0) {
				t.Fatalf("%s of %d bytes has %d rows", name, size, rows)
			}
		}
	}
}

// TestBadFiles: the errors of other files, and of old formats, name the fault.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p    string
		kind errs.Kind
		want string
	}{
		{"", errs.Corrupt, "has 0 bytes"},
		{"a,b\n1,2\n3,4\n", errs.Corrupt, "is no file and no stream of Arrow"},
		{"FEA1 and more", errs.Unsupported, "Feather 1"},
		{"ARROW1\x00\x00 and more bytes", errs.Corrupt, "it is cut"},
		{"PAR1 and more bytes PAR1", errs.Corrupt, "is no file and no stream of Arrow"},
		{"\xff\xff\xff\xff\x00\x00\x00\x00", errs.Corrupt, "it has no message"},
	} {
		if _, err := Open(t.Context(), ahead.Memory(c.p), int64(len(c.p))); errs.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.p, err)
		}
	}
}

// TestSizesThatLie: buffers that claim to be large are refused before memory is allocated.
func TestSizesThatLie(t *testing.T) {
	t.Parallel()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p := binary.LittleEndian.AppendUint64(nil, 1<<31)
	for _, k := range []packing{lz4Frames, zstdBuffers} {
		if _, err := (&unpacker{}).unpack(k, append(p, "some bytes of nothing"...), maxBody); err == nil {
			t.Error("a buffer of 2 GiB was decompressed from nothing")
		}
	}
	for _, b := range []*batch{
		{rows: 1 << 30, nodes: []int64{1 << 30, 0}},
		{rows: 1 << 30, nodes: []int64{1 << 30, 1 << 30}, buffers: []span{{0, 8}, {8, 8}}},
	} {
		for _, format := range []string{"n", "l", "u", "vu", "+s", "w:0"} {
			f := &field{Type: &arrow.Type{Format: "+s"}}
			f.add(&field{Type: &arrow.Type{Name: "x", Format: format}})
			b.buffers = append(b.buffers[:min(2, len(b.buffers))], span{0, 16})
			b.views = []int64{0}
			d, err := (&File{r: ahead.Memory(make([]byte, 64))}).columns(t.Context(), block{}, b, f, []int{0}, nil)
			if err == nil {
				_, err = arrow.MakeColumn(made(f), d)
			}
			if err == nil && format != "w:0" && format != "+s" {
				t.Errorf("%d rows of %s have %d buffers", b.rows, format, len(b.buffers))
			}
		}
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 64<<20 {
		t.Errorf("%d bytes were allocated", after.TotalAlloc-before.TotalAlloc)
	}
}

// readForged reads a file by each column, as far as it goes.
func readForged(p []byte) (rows int64, err error) {
	ctx := context.Background()
	f, err := Open(ctx, ahead.Memory(p), int64(len(p)))
	if err != nil {
		return 0, err
	}
	r, err := f.Read(ctx, Options{})
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for {
		c, _, err := r.Next(ctx)
		if err != nil || c == nil {
			return rows, err
		}
		rows += c.Len()
		fields, _ := c.Fields()
		for _, one := range fields {
			_, _ = one.Rows(tensor.Target{HType: tensor.HType{Base: "json"}, DType: tensor.JSON})
			_, _ = one.Rows(tensor.Target{HType: tensor.HType{Base: "generic"}})
		}
		if rows > 1<<20 {
			return rows, nil
		}
	}
}

// FuzzFile reads forged files: each has rows, or an error.
func FuzzFile(f *testing.F) {
	for _, p := range files(f) {
		f.Add(p)
	}
	for _, p := range arrowtest.Files(f, "testdata/*.words", 2) {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		if _, err := readForged(p); errs.Is(err, errs.Internal) {
			t.Error(err)
		}
	})
}
