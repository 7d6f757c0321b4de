package parquet

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"deeplake/core/arrow/arrowtest"
	"deeplake/core/errs"
	"deeplake/core/internal/ahead"
	"deeplake/core/tensor"
)

func golden(t testing.TB) map[string][]any { return arrowtest.Golden(t, "testdata") }

func files(t testing.TB) map[string][]byte { return arrowtest.Files(t, "testdata/*.parquet", 7) }

func readAll(t testing.TB, r ahead.ReaderAt, size int64, o Options) (map[string][]any, int64) {
	t.Helper()
	f, err := Open(t.Context(), r, size)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := f.Read(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	return arrowtest.All(t, rows.Next)
}

// TestGoldenFiles reads files that pyarrow has written, from each row on.
func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	want := golden(t)
	for name, p := range files(t) {
		for _, from := range []int64{0, 1, 16, 17, 18, 40, 41} {
			got, n := readAll(t, ahead.Memory(p), int64(len(p)), Options{From: from})
			if n != 41-from {
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

// TestColumns reads some columns, which touches no other column.
func TestColumns(t *testing.T) {
	t.Parallel()
	want := golden(t)
	for name, p := range files(t) {
		for column := range want {
			got, _ := readAll(t, ahead.Memory(p), int64(len(p)), Options{Columns: []string{column}})
			if len(got) != 1 || !slices.EqualFunc(got[column], want[column], arrowtest.Same) {
				t.Errorf("%s: column %q alone is %v", name, column, got)
			}
		}
	}
	p := files(t)["plain.parquet"]
	f, err := Open(t.Context(), ahead.Memory(p), int64(len(p)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read(t.Context(), Options{Columns: []string{"none"}}); !errs.Is(err, errs.NotFound) {
		t.Error(err)
	}
	if _, err := f.Read(t.Context(), Options{From: 42}); !errs.Is(err, errs.Invalid) {
		t.Error(err)
	}
}

// TestReadAhead reads blocks of a few bytes, ahead and not, with the same result.
func TestReadAhead(t *testing.T) {
	t.Parallel()
	want := golden(t)
	for name, p := range files(t) {
		f, err := Open(t.Context(), ahead.Memory(p), int64(len(p)))
		if err != nil {
			t.Fatal(err)
		}
		for _, isAhead := range []bool{false, true} {
			rows, err := f.Read(t.Context(), Options{Ahead: isAhead})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range rows.leaves {
				var pages []ahead.Segment
				for i := range c.chunks {
					pages = append(pages, ahead.Segment{Off: c.chunks[i].from(), Size: c.chunks[i].size})
				}
				c.stream = ahead.New(f.r, ahead.Options{Group: rows.group, Step: 7, Depth: 3}, pages...)
			}
			batch, err := rows.Next(t.Context())
			if err != nil {
				t.Fatal(name, err)
			}
			fields, _ := batch.Fields()
			for _, c := range fields {
				if got := arrowtest.Documents(t, c); !slices.EqualFunc(got, want[c.Name()], arrowtest.Same) {
					t.Errorf("%s, ahead %v: column %q is %v", name, isAhead, c.Name(), got)
				}
			}
			rows.Close()
		}
	}
}

// failing is a file whose reads fail from an offset on.
type failing struct {
	ahead.Memory
	from int64
}

// ReadAt fails behind the offset.
func (f failing) ReadAt(ctx context.Context, p []byte, off int64) error {
	if off+int64(len(p)) > f.from {
		return errs.New(errs.Storage, "the disk is gone")
	}
	return f.Memory.ReadAt(ctx, p, off)
}

// TestFailingReads: an error of the store keeps its kind, and ends readers ahead.
func TestFailingReads(t *testing.T) {
	t.Parallel()
	p := files(t)["plain.parquet"]
	f, err := Open(t.Context(), ahead.Memory(p), int64(len(p)))
	if err != nil {
		t.Fatal(err)
	}
	f.r = failing{ahead.Memory(p), 500}
	for _, ahead := range []bool{false, true} {
		rows, err := f.Read(t.Context(), Options{Ahead: ahead})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rows.Next(t.Context()); !errs.Is(err, errs.Storage) {
			t.Errorf("ahead %v: %v, want a storage error", ahead, err)
		}
		rows.Close()
	}
}

// TestRefused are files that are cut, foreign, encrypted or forged in their sizes.
func TestRefused(t *testing.T) {
	t.Parallel()
	good := files(t)["plain.parquet"]
	ends := func(text string) []byte { return append(slices.Clone(good[:len(good)-4]), text...) }
	length := slices.Clone(good)
	length[len(length)-5] = 0x7f
	for name, c := range map[string]struct {
		p    []byte
		kind errs.Kind
		text string
	}{
		"empty":     {nil, errs.Corrupt, "no Parquet file"},
		"short":     {good[:11], errs.Corrupt, "no Parquet file"},
		"cut":       {good[:len(good)-1], errs.Corrupt, "does not end as a Parquet file"},
		"encrypted": {ends("PARE"), errs.Unsupported, "encrypted"},
		"length":    {length, errs.Corrupt, "its metadata has"},
		"no footer": {append(make([]byte, 100), 50, 0, 0, 0, 'P', 'A', 'R', '1'), errs.Corrupt, "no schema"},
	} {
		_, err := Open(t.Context(), ahead.Memory(c.p), int64(len(c.p)))
		if !errs.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %q", name, err, c.text)
		}
	}
}

// TestSizesThatLie: a page of few bytes that claims to be large is refused before memory is
// allocated for it.
func TestSizesThatLie(t *testing.T) {
	var before, after runtime.MemStats
	for _, codec := range []int64{plainPages, snappyPages, gzipPages, brotliPages, hadoopPages, zstdPages, lz4Pages, lzoPages, 99} {
		runtime.ReadMemStats(&before)
		for _, wide := range []int64{-1, 1 << 29, 1 << 30, maxPage, maxPage + 1, 1 << 40} {
			if _, err := unpack(codec, []byte("some bytes of no compression"), wide); err == nil {
				t.Errorf("codec %d: a page of %d bytes is accepted", codec, wide)
			}
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
			t.Errorf("codec %d: %d bytes were allocated", codec, n)
		}
	}
	// A large page is taken where its compressed bytes are many, and not where they are few. Those
	// of "dense" are no Zstandard, which is found out behind the bounds.
	zeros, random := make([]byte, freePage+1), make([]byte, freePage/densePage+1)
	for name, c := range map[string]struct {
		p    []byte
		wide int64
		want errs.Kind
	}{
		"dense":    {random, int64(len(random)) * densePage, errs.Corrupt},
		"too thin": {random, int64(len(random))*densePage + 1, errs.Unsupported},
		"zeros":    {packedZeros(t, zeros), int64(len(zeros)), errs.Unsupported},
	} {
		if _, err := unpack(zstdPages, c.p, c.wide); !errs.Is(err, c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	// 2^31 integers of two bytes: a block of endless equal ones.
	endless := []byte{0x80, 0x80, 0x80, 0x80, 0x08, 1, 0xff, 0xff, 0xff, 0xff, 0x07, 0}
	if _, err := newDeltas(endless); err == nil {
		t.Error("a block of 2^31 integers is accepted")
	}
}

func packedZeros(t *testing.T, p []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(p, nil)
}

// FuzzFile reads forged files: whatever their bytes, the result is rows or an error.
func FuzzFile(f *testing.F) {
	for _, p := range files(f) {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		file, err := Open(context.Background(), ahead.Memory(p), int64(len(p)))
		if err != nil {
			return
		}
		if _, err := file.Types(nil); err != nil {
			return
		}
		rows, err := file.Read(context.Background(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for range 4 {
			batch, err := rows.Next(context.Background())
			if err != nil || batch == nil {
				return
			}
			fields, _ := batch.Fields()
			for _, c := range fields {
				_ = c.Infer()
				_, _ = c.Rows(tensor.Target{HType: tensor.HType{Base: "json"}, DType: tensor.JSON})
				_, _ = c.Rows(tensor.Target{HType: tensor.HType{Base: "generic"}, Open: true})
			}
		}
	})
}

// FuzzRuns tries runs of numbers and groups of packed ones.
func FuzzRuns(f *testing.F) {
	f.Add([]byte{3, 0x88, 0xc6, 0xfa}, 3, 8)
	f.Add([]byte{0xc8, 1, 5}, 3, 100)
	f.Fuzz(func(t *testing.T, p []byte, width, n int) {
		r, err := newRuns(p, width)
		if err != nil || n < 0 || n > 1<<16 {
			return
		}
		_ = read(r, make([]int32, n))
		r, _ = newRuns(p, width)
		_ = read(r, make([]byte, n))
	})
}

// FuzzTexts tries differences and texts of every encoding.
func FuzzTexts(f *testing.F) {
	f.Add([]byte{0x80, 1, 4, 3, 2, 2, 0, 0, 0, 0, 'a', 'b', 'c', 'd', 'e'}, 3, 3)
	f.Fuzz(func(t *testing.T, p []byte, n, width int) {
		if n < 0 || n > 1<<12 || width < 0 || width > 64 {
			return
		}
		places := placer{wanted: true, p: p}
		of := []decoder{&textPlain{p, places}, &boolPlain{p: p}}
		if d, err := newTextLengths(p, places); err == nil {
			of = append(of, d)
		}
		if d, err := newTextPrefixes(p, width, places); err == nil {
			of = append(of, d)
		}
		if d, err := newDeltas(p); err == nil {
			of = append(of, &integers{deltas: d, width: 4})
		}
		if width > 1 {
			of = append(of, &split{p: p, width: width}, &fixedPlain{p: p, width: width})
		}
		for _, d := range of {
			v := &vector{}
			if err := d.read(v, n); err == nil && len(v.ends) > 0 && int(v.ends[len(v.ends)-1]) != len(v.data) {
				t.Errorf("%T: texts end at %d of %d bytes", d, v.ends[len(v.ends)-1], len(v.data))
			}
			for i, at := range v.at {
				if at < 0 || i+1 >= len(v.ends) {
					continue
				}
				if text := v.data[v.ends[i]:v.ends[i+1]]; !bytes.Equal(text, p[at:at+int64(len(text))]) {
					t.Errorf("%T: text %d does not lie at byte %d", d, i, at)
				}
			}
		}
	})
}
