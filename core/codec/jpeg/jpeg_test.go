package jpeg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

func golden(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// filesOf are the JPEG files of a folder by name, of which there must be some.
func filesOf(t testing.TB, folder ...string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(append(folder, "*.jpg")...))
	if err != nil || len(paths) < 4 {
		t.Fatalf("files of %v are missing (%v)", folder, err)
	}
	files := map[string][]byte{}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(p)] = data
	}
	return files
}

// decodeNew decodes with a decoder of its own.
func decodeNew(data []byte, want codec.Channels, size int) ([]byte, error) {
	d := New().NewDecoder()
	defer d.Close()
	dst := make([]byte, size)
	return dst, d.Decode(dst, data, want)
}

// marker finds the position of a segment.
func marker(t *testing.T, data []byte, m byte) int {
	t.Helper()
	for at := 2; at+4 <= len(data); at += 2 + int(binary.BigEndian.Uint16(data[at+2:])) {
		if data[at+1] == m {
			return at
		}
	}
	t.Fatalf("no marker 0x%02x", m)
	return 0
}

// edit returns a copy of data that change was applied to.
func edit(data []byte, change func([]byte)) []byte {
	c := bytes.Clone(data)
	change(c)
	return c
}

func splice(data []byte, at, remove int, insert string) []byte {
	return append(append(append([]byte{}, data[:at]...), insert...), data[at+remove:]...)
}

func TestHeaderRefuses(t *testing.T) {
	t.Parallel()
	file := golden(t, "420.jpg")
	sof, sos := marker(t, file, mSOF0), marker(t, file, mSOS)
	set := func(at int, b ...byte) []byte { return edit(file, func(c []byte) { copy(c[at:], b) }) }
	for _, test := range []struct {
		name string
		data []byte
		kind errs.Kind
		text string
	}{
		{"empty", nil, errs.Corrupt, "not a JPEG"},
		{"png", golden(t, "rgb.png"), errs.Corrupt, "not a JPEG"},
		{"only the start", file[:2], errs.Corrupt, "ends within the header"},
		{"cut in a segment", file[:sof+5], errs.Corrupt, "ends within the header"},
		{"cut in the scan", file[:len(file)-40], errs.Corrupt, "no end-of-image marker"},
		{"end marker lost", file[:len(file)-2], errs.Corrupt, "no end-of-image marker"},
		{"12 bits", set(sof+4, 12), errs.Unsupported, "12-bit"},
		{"extended, 12 bits", set(sof+1, 0xc1, 0, 17, 12), errs.Unsupported, "12-bit"},
		{"arithmetic", set(sof+1, 0xc9), errs.Unsupported, "arithmetic"},
		{"arithmetic progressive", set(sof+1, 0xca), errs.Unsupported, "arithmetic"},
		{"arithmetic conditioning", set(sof+1, 0xcc), errs.Unsupported, "arithmetic"},
		{"lossless", set(sof+1, 0xc3), errs.Unsupported, "lossless"},
		{"hierarchical", set(sof+1, 0xc5), errs.Unsupported, "hierarchical"},
		{"no width", set(sof+7, 0, 0), errs.Corrupt, "width is 0"},
		{"height later", set(sof+5, 0, 0), errs.Unsupported, "height is given after"},
		{"too wide", set(sof+7, 0xff, 0xff), errs.Unsupported, "at most 65500"},
		{"hostile size", set(sof+5, 0xff, 0, 0xff, 0), errs.Corrupt, "cannot hold 65280 x 65280 pixels"},
		{"two components", splice(set(sof+2, 0, 14, 8, 0, 31, 0, 17, 2), sof+16, 3, ""), errs.Unsupported, "2 colour components"},
		{"length against components", set(sof+9, 4), errs.Corrupt, "do not fit its components"},
		{"sampling factor 0", set(sof+11, 0x02), errs.Corrupt, "sampling factors"},
		{"sampling factor 5", set(sof+11, 0x52), errs.Corrupt, "sampling factors"},
		{"segment length 1", set(sof+2, 0, 1), errs.Corrupt, "has length 1"},
		{"two frames", splice(file, sof, 0, string(file[sof:sof+19])), errs.Corrupt, "second frame"},
		{"no frame", splice(file, sof, 19, ""), errs.Corrupt, "without a frame"},
		{"end before the scan", splice(file, sof, len(file)-sof-2, ""), errs.Corrupt, "before the first scan"},
		{"scan lost", file[:sos], errs.Corrupt, "ends within the header"},
	} {
		if _, err := New().Header(test.data, codec.AsStored); !errs.Is(err, test.kind) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: Header: got %v, want %s: ... %s ...", test.name, err, test.kind, test.text)
		}
	}
	if _, err := New().Header(file, 2); !errs.Is(err, errs.Invalid) {
		t.Errorf("2 channels: got %v, want invalid", err)
	}
}

// TestTolerates has oddities of real files, which do not touch the pixels.
func TestTolerates(t *testing.T) {
	t.Parallel()
	file := golden(t, "420.jpg")
	want, err := decodeNew(file, codec.AsStored, 31*17*3)
	if err != nil {
		t.Fatal(err)
	}
	sof := marker(t, file, mSOF0)
	for name, data := range map[string][]byte{
		"bytes after the end":             append(bytes.Clone(file), "thumbnail"...),
		"second image after the end":      append(bytes.Clone(file), file...),
		"fill bytes before a marker":      splice(file, sof, 0, "\xff\xff\xff"),
		"unknown application segment":     splice(file, sof, 0, "\xff\xe9\x00\x06\xff\xd9\xff\xd8"),
		"comment with markers":            splice(file, sof, 0, "\xff\xfe\x00\x06\xff\xda\xff\xc0"),
		"stray bytes before the end":      splice(file, len(file)-2, 0, "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
		"zeroes for the band of the scan": edit(file, func(c []byte) { c[marker(t, c, mSOS)+12] = 0 }),
	} {
		if _, err := New().Header(data, codec.AsStored); err != nil {
			t.Errorf("%s: Header: %v", name, err)
		}
		if got, err := decodeNew(data, codec.AsStored, len(want)); err != nil && !pureGo || err == nil && !bytes.Equal(got, want) {
			t.Errorf("%s: Decode: other pixels (%v)", name, err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	file := golden(t, "420.jpg")
	size := 31 * 17 * 3
	sos := marker(t, file, mSOS)
	table := marker(t, file, 0xdb) // libjpeg has Huffman tables of its own for files without
	if pureGo {
		table = marker(t, file, mDHT) // Go decodes without quantization tables
	}
	d := New().NewDecoder()
	good := make([]byte, size)
	if err := d.Decode(good, file, codec.AsStored); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		data []byte
		size int
		want codec.Channels
		kind errs.Kind
	}{
		{"output too small", file, size - 1, codec.AsStored, errs.Invalid},
		{"output too large", file, size + 1, codec.AsStored, errs.Invalid},
		{"output of another wish", file, size, codec.Gray, errs.Invalid},
		{"no output", file, 0, codec.AsStored, errs.Invalid},
		{"wrong wish", file, size, 4, errs.Invalid},
		{"empty file", nil, size, codec.AsStored, errs.Corrupt},
		{"cut in the scan", file[:len(file)-40], size, codec.AsStored, errs.Corrupt},
		{"scan replaced by its end", splice(file, sos+14, len(file)-sos-16, ""), size, codec.AsStored, errs.Corrupt},
		{"scan lost", splice(file, len(file)-100, 98, ""), size, codec.AsStored, errs.Corrupt},
		{"tables lost", splice(file, table, 2+int(binary.BigEndian.Uint16(file[table+2:])), ""), size, codec.AsStored, errs.Corrupt},
	} {
		dst := make([]byte, test.size)
		if err := d.Decode(dst, test.data, test.want); !errs.Is(err, test.kind) {
			t.Errorf("%s: got %v, want %s", test.name, err, test.kind)
		}
		again := make([]byte, size)
		if err := d.Decode(again, file, codec.AsStored); err != nil || !bytes.Equal(again, good) {
			t.Fatalf("%s: the decoder does not recover (%v)", test.name, err)
		}
	}
	d.Close()
	d.Close()
	if err := d.Decode(good, file, codec.AsStored); !errs.Is(err, errs.Closed) {
		t.Errorf("after Close: got %v, want closed", err)
	}
}

// TestTablesAreNotKept decodes a file without Huffman tables after one with tables of its own: it
// must be read with the standard tables, as by a fresh decoder, and a file without quantization
// tables not at all.
func TestTablesAreNotKept(t *testing.T) {
	if pureGo {
		t.Skip("Go's image/jpeg keeps nothing, and wants Huffman tables")
	}
	t.Parallel()
	file := golden(t, "420.jpg")
	size := 31 * 17 * 3
	want, err := decodeNew(file, codec.AsStored, size)
	if err != nil {
		t.Fatal(err)
	}
	strip := func(data []byte, m byte) []byte {
		for bytes.Contains(data[:marker(t, data, mSOS)], []byte{0xff, m, 0}) {
			at := marker(t, data, m)
			data = splice(data, at, 2+int(binary.BigEndian.Uint16(data[at+2:])), "")
		}
		return data
	}
	d := New().NewDecoder()
	defer d.Close()
	got := make([]byte, size)
	if err := d.Decode(got, strip(file, 0xdb), codec.AsStored); !errs.Is(err, errs.Corrupt) {
		t.Errorf("without quantization tables, fresh decoder: got %v, want corrupt", err)
	}
	for _, before := range []string{"optimized.jpg", "progressive.jpg"} {
		if err := d.Decode(got, golden(t, before), codec.AsStored); err != nil {
			t.Fatal(err)
		}
		if err := d.Decode(got, strip(file, mDHT), codec.AsStored); err != nil || !bytes.Equal(got, want) {
			t.Errorf("without Huffman tables, after %s: other pixels (%v)", before, err)
		}
		if err := d.Decode(got, strip(file, 0xdb), codec.AsStored); !errs.Is(err, errs.Corrupt) {
			t.Errorf("without quantization tables, after %s: got %v, want corrupt", before, err)
		}
	}
}

// TestScanBomb repeats the scan of one component, each of which costs a pass over the image.
func TestScanBomb(t *testing.T) {
	t.Parallel()
	file := golden(t, "one.jpg")
	head := string(file[:marker(t, file, mSOS)])
	// A scan of a single component with the first Huffman tables, and one block without
	// coefficients.
	scan := func(component string) string { return "\xff\xda\x00\x08\x01" + component + "\x00\x00\x3f\x00\x2b" }
	bomb := func(n int) []byte {
		return []byte(head + strings.Repeat(scan("\x01"), n) + scan("\x02") + scan("\x03") + "\xff\xd9")
	}
	if _, err := decodeNew(bomb(10), codec.AsStored, 3); err != nil {
		t.Errorf("12 scans: %v", err)
	}
	for n, good := range map[int]bool{maxScans - 2: true, maxScans - 1: false} {
		if _, err := New().Header(bomb(n), codec.AsStored); (err == nil) != good || !good && !strings.Contains(err.Error(), "want at most 100") {
			t.Errorf("header of %d scans: %v", n+2, err)
		}
	}
	if _, err := decodeNew(bomb(maxScans), codec.AsStored, 3); !errs.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "scans") {
		t.Errorf("got %v, want corrupt: too many scans", err)
	}
}

// noSink takes nothing.
type noSink struct{}

func (noSink) Deliver([]byte, int) error          { return nil }
func (noSink) Native() (call, arg unsafe.Pointer) { return nil, nil }

// TestCoefficientBomb gives a small progressive file the largest sides there are: its coefficients
// would take 25 GB.
func TestCoefficientBomb(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"progressive.jpg", "progressive-gray.jpg"} {
		file := bytes.Clone(golden(t, name))
		sides := marker(t, file, mSOF2) + 5
		binary.BigEndian.PutUint16(file[sides:], maxSide)
		binary.BigEndian.PutUint16(file[sides+2:], maxSide)
		if _, err := New().Header(file, codec.AsStored); !errs.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "cannot hold") {
			t.Errorf("%s: header: %v", name, err)
		}
		d := New().NewDecoder()
		if err := d.Decode(nil, file, codec.AsStored); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%s: decode: %v", name, err)
		}
		if p, ok := d.(codec.ROIDecoder); ok {
			if _, err := p.DecodeROIs([][]byte{file}, []codec.ROI{{Region: codec.Region{Width: 1, Height: 1}, To: noSink{}}}, codec.AsStored); !errs.Is(err, errs.Corrupt) {
				t.Errorf("%s: region: %v", name, err)
			}
		}
		d.Close()
		// Where nothing but the limit of pixels stands before the decoder.
		h, _, err := New().Head(file, codec.AsStored)
		if err != nil {
			t.Fatal(err)
		}
		if err := (codec.Limits{}).Check(h.Shape); !errs.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "max_pixels") {
			t.Errorf("%s: limit: %v", name, err)
		}
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	smooth := make([]byte, 40*60*3)
	for i := range smooth {
		smooth[i] = byte(60 + i/180 + 2*(i%3) + i%180/3)
	}
	sizes := map[string]int{}
	for _, test := range []struct {
		name    string
		shape   tensor.Shape
		options codec.Options
		pure    bool // Go's encoder can do it
	}{
		{"default", tensor.Shape{40, 60, 3}, codec.Options{}, true},
		{"quality 90, 4:2:0", tensor.Shape{40, 60, 3}, codec.Options{Quality: 90, Subsampling: "4:2:0"}, true},
		{"quality 60", tensor.Shape{40, 60, 3}, codec.Options{Quality: 60}, true},
		{"4:2:2", tensor.Shape{40, 60, 3}, codec.Options{Subsampling: "4:2:2"}, false},
		{"4:4:4", tensor.Shape{40, 60, 3}, codec.Options{Subsampling: "4:4:4"}, false},
		{"gray of two axes", tensor.Shape{120, 60}, codec.Options{}, true},
		{"gray of three axes", tensor.Shape{120, 60, 1}, codec.Options{Subsampling: "4:4:4"}, true},
	} {
		file, err := New().Encode([]byte("head"), smooth, tensor.Uint8, test.shape, test.options)
		if pureGo && !test.pure {
			if !errs.Is(err, errs.Unsupported) {
				t.Errorf("%s: got %v, want unsupported", test.name, err)
			}
			continue
		}
		if err != nil || !bytes.HasPrefix(file, []byte("head")) {
			t.Fatalf("%s: %v", test.name, err)
		}
		sizes[test.name] = len(file)
		want := test.shape
		if len(want) == 2 {
			want = append(want.Clone(), 1)
		}
		if h, err := New().Header(file[4:], codec.AsStored); err != nil || !h.Shape.Equal(want) {
			t.Errorf("%s: Header = %v, %v, want shape %s", test.name, h, err, want)
		}
		got, err := decodeNew(file[4:], codec.AsStored, len(smooth))
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		total := 0
		for i := range got {
			d := int(got[i]) - int(smooth[i])
			total += max(d, -d)
		}
		if total > 4*len(got) {
			t.Errorf("%s: pixels are off by %.1f on average", test.name, float64(total)/float64(len(got)))
		}
	}
	if sizes["default"] != sizes["quality 90, 4:2:0"] || sizes["quality 60"] >= sizes["default"] {
		t.Errorf("sizes do not follow the options: %v", sizes)
	}
	if !pureGo && (sizes["4:4:4"] <= sizes["4:2:2"] || sizes["4:2:2"] <= sizes["default"]) {
		t.Errorf("sizes do not follow the subsampling: %v", sizes)
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	pix := make([]byte, 4*5*3)
	for _, test := range []struct {
		name    string
		dtype   tensor.DType
		shape   tensor.Shape
		options codec.Options
		kind    errs.Kind
		text    string
	}{
		{"dtype", tensor.Float32, tensor.Shape{4, 5, 3}, codec.Options{}, errs.Type, "dtype float32, want uint8"},
		{"16 bits", tensor.Uint16, tensor.Shape{4, 5, 3}, codec.Options{}, errs.Type, "use png"},
		{"one axis", tensor.Uint8, tensor.Shape{60}, codec.Options{}, errs.Type, "shape (60,), want"},
		{"two channels", tensor.Uint8, tensor.Shape{4, 5, 2}, codec.Options{}, errs.Type, "shape (4, 5, 2), want"},
		{"four channels", tensor.Uint8, tensor.Shape{3, 5, 4}, codec.Options{}, errs.Type, "shape (3, 5, 4), want"},
		{"no rows", tensor.Uint8, tensor.Shape{0, 5, 3}, codec.Options{}, errs.Invalid, "sides of 1 to 65500"},
		{"too wide", tensor.Uint8, tensor.Shape{1, 65501, 3}, codec.Options{}, errs.Invalid, "sides of 1 to 65500"},
		{"bytes", tensor.Uint8, tensor.Shape{4, 6, 3}, codec.Options{}, errs.Invalid, "got 60 bytes of pixels, want 72"},
		{"quality", tensor.Uint8, tensor.Shape{4, 5, 3}, codec.Options{Quality: 101}, errs.Invalid, "quality is 101"},
		{"negative quality", tensor.Uint8, tensor.Shape{4, 5, 3}, codec.Options{Quality: -1}, errs.Invalid, "quality is -1"},
		{"subsampling", tensor.Uint8, tensor.Shape{4, 5, 3}, codec.Options{Subsampling: "4:1:1"}, errs.Invalid, `"4:1:1"`},
	} {
		dst, err := New().Encode([]byte("head"), pix, test.dtype, test.shape, test.options)
		if !errs.Is(err, test.kind) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: got %v, want %s: ... %s ...", test.name, err, test.kind, test.text)
		}
		if string(dst) != "head" {
			t.Errorf("%s: dst is not as it was", test.name)
		}
		var classified *errs.Error
		if !errors.As(err, &classified) {
			t.Errorf("%s: error is not classified", test.name)
		}
	}
}

// TestLargest encodes and decodes the largest sides.
func TestLargest(t *testing.T) {
	t.Parallel()
	for _, s := range []tensor.Shape{{1, maxSide, 3}, {maxSide, 1, 1}} {
		n, _ := s.Bytes(tensor.Uint8)
		file, err := New().Encode(nil, make([]byte, n), tensor.Uint8, s, codec.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := New().Header(file, codec.AsStored); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		if _, err := decodeNew(file, codec.AsStored, int(n)); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
}

func TestDecodeDoesNotAllocate(t *testing.T) {
	if pureGo {
		t.Skip("Go's image/jpeg allocates every image")
	}
	file := golden(t, "420.jpg")
	d := New().NewDecoder()
	defer d.Close()
	dst := make([]byte, 31*17*3)
	if n := testing.AllocsPerRun(100, func() { _ = d.Decode(dst, file, codec.RGB) }); n > 0 {
		t.Errorf("a decode allocates %v times, want 0", n)
	}
}
