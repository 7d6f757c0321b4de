package png

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"

	"github.com/klauspost/compress/zlib"
)

// sample makes pixels with smooth and noisy parts, so that every row filter is chosen somewhere.
func sample(seed uint64, h, w, channels, size int) []byte {
	r := rand.New(rand.NewPCG(seed, 7))
	pix := make([]byte, h*w*channels*size)
	for i := range pix {
		y, x := i/(w*channels*size), i/(channels*size)%w
		switch y % 5 {
		case 0:
			pix[i] = byte(r.Uint32())
		case 1:
			pix[i] = byte(3 * x)
		case 2:
			pix[i] = byte(x*y + i%size)
		default:
			pix[i] = byte(x + y + int(r.Uint32()%3))
		}
	}
	return pix
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	c := New()
	d := c.NewDecoder()
	defer d.Close()
	for _, side := range [][2]int{{1, 1}, {1, 9}, {9, 1}, {17, 31}, {64, 200}} {
		for channels := 1; channels <= 4; channels++ {
			for _, dtype := range []tensor.DType{tensor.Uint8, tensor.Uint16} {
				s := tensor.Shape{int64(side[0]), int64(side[1]), int64(channels)}
				pix := sample(1, side[0], side[1], channels, dtype.Size())
				file, err := c.Encode([]byte("head"), pix, dtype, s, codec.Options{})
				if err != nil {
					t.Fatalf("%s %s: %v", dtype, s, err)
				}
				file = bytes.TrimPrefix(file, []byte("head"))
				h, err := c.Header(file, codec.AsStored)
				if err != nil || h.DType != dtype || !h.Shape.Equal(s) {
					t.Fatalf("%s %s: Header = %v, %v", dtype, s, h, err)
				}
				got := make([]byte, len(pix))
				if err := d.Decode(got, file, codec.AsStored); err != nil || !bytes.Equal(got, pix) {
					t.Fatalf("%s %s: pixels differ (%v)", dtype, s, err)
				}
				if _, err := png.Decode(bytes.NewReader(file)); err != nil {
					t.Fatalf("%s %s: image/png: %v", dtype, s, err)
				}
			}
		}
	}
}

func TestEncodeTwoAxes(t *testing.T) {
	t.Parallel()
	pix := sample(2, 8, 9, 1, 1)
	file, err := New().Encode(nil, pix, tensor.Uint8, tensor.Shape{8, 9}, codec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if h, err := New().Header(file, codec.AsStored); err != nil || !h.Shape.Equal(tensor.Shape{8, 9, 1}) {
		t.Errorf("Header = %v, %v, want shape (8, 9, 1)", h, err)
	}
}

// TestWishes16 covers what no golden file can: Pillow has no pixels of 16 bits and several
// channels.
func TestWishes16(t *testing.T) {
	t.Parallel()
	little := func(values ...uint16) (b []byte) {
		for _, v := range values {
			b = binary.LittleEndian.AppendUint16(b, v)
		}
		return b
	}
	for _, test := range []struct {
		name     string
		channels int64
		pix      []byte
		want     codec.Channels
		got      []byte
	}{
		{"gray to rgb", 1, little(0x1234), codec.RGB, little(0x1234, 0x1234, 0x1234)},
		{"gray and alpha to rgb", 2, little(0x1234, 7), codec.RGB, little(0x1234, 0x1234, 0x1234)},
		{"gray and alpha to gray", 2, little(0x1234, 7), codec.Gray, little(0x1234)},
		{"rgb to gray", 3, little(1000, 2000, 40000), codec.Gray, little(6033)},
		{"white to gray", 3, little(0xffff, 0xffff, 0xffff), codec.Gray, little(0xffff)},
		{"rgba to rgb", 4, little(1, 2, 3, 4), codec.RGB, little(1, 2, 3)},
	} {
		file, err := New().Encode(nil, test.pix, tensor.Uint16, tensor.Shape{1, 1, test.channels}, codec.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(test.got))
		if err := decodeNew(got, file, test.want); err != nil || !bytes.Equal(got, test.got) {
			t.Errorf("%s: got %v, want %v (%v)", test.name, got, test.got, err)
		}
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
		{"dtype", tensor.Float32, tensor.Shape{4, 5, 3}, codec.Options{}, errs.Type, "dtype float32, want bool, uint8 or uint16"},
		{"one axis", tensor.Uint8, tensor.Shape{60}, codec.Options{}, errs.Type, "shape (60,), want"},
		{"five channels", tensor.Uint8, tensor.Shape{4, 3, 5}, codec.Options{}, errs.Type, "shape (4, 3, 5), want"},
		{"no rows", tensor.Uint8, tensor.Shape{0, 5, 3}, codec.Options{}, errs.Invalid, "sides of 1 to"},
		{"too large", tensor.Uint8, tensor.Shape{1 << 30, 1 << 30, 3}, codec.Options{}, errs.Invalid, "more than"},
		{"bytes", tensor.Uint16, tensor.Shape{4, 5, 3}, codec.Options{}, errs.Invalid, "got 60 bytes of pixels, want 120"},
		{"quality", tensor.Uint8, tensor.Shape{4, 5, 3}, codec.Options{Quality: 9}, errs.Invalid, "do not apply"},
	} {
		dst, err := New().Encode([]byte("head"), pix, test.dtype, test.shape, test.options)
		if !errs.Is(err, test.kind) || !strings.Contains(err.Error(), test.text) || string(dst) != "head" {
			t.Errorf("%s: got %q, %v, want %s: ... %s ...", test.name, dst, err, test.kind, test.text)
		}
	}
}

// build writes a PNG by hand. Each part is a chunk type and its body; "crc:" before the type breaks
// the checksum.
func build(parts ...string) []byte {
	file := []byte(signature)
	for i := 0; i < len(parts); i += 2 {
		name, broken := strings.CutPrefix(parts[i], "crc:")
		body := name + parts[i+1]
		sum := crc32.ChecksumIEEE([]byte(body))
		if broken {
			sum++
		}
		file = binary.BigEndian.AppendUint32(file, uint32(len(parts[i+1])))
		file = append(file, body...)
		file = binary.BigEndian.AppendUint32(file, sum)
	}
	return file
}

func ihdr(w, h uint32, depth, colour, compression, filter, interlace byte) string {
	b := binary.BigEndian.AppendUint32(nil, w)
	b = binary.BigEndian.AppendUint32(b, h)
	return string(append(b, depth, colour, compression, filter, interlace))
}

func deflate(rows string) string {
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	_, _ = w.Write([]byte(rows))
	_ = w.Close()
	return out.String()
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	head, pixels := ihdr(2, 2, 8, typeGray, 0, 0, 0), deflate("\x00ab\x00cd")
	palette := ihdr(2, 2, 8, typePalette, 0, 0, 0)
	for _, test := range []struct {
		name   string
		file   []byte
		header bool // Header sees it
		kind   errs.Kind
		text   string
	}{
		{"empty", nil, true, errs.Corrupt, "not a PNG"},
		{"jpeg", []byte("\xff\xd8\xff\xe0 and so on"), true, errs.Corrupt, "not a PNG"},
		{"signature alone", build(), true, errs.Corrupt, "cut"},
		{"no header chunk", build("IDAT", pixels, "IEND", ""), true, errs.Corrupt, "IHDR"},
		{"two headers", build("IHDR", head, "IHDR", head, "IDAT", pixels, "IEND", ""), true, errs.Corrupt, "IHDR"},
		{"short header", build("IHDR", head[:12], "IDAT", pixels, "IEND", ""), true, errs.Corrupt, "12 bytes"},
		{"broken header", build("crc:IHDR", head, "IDAT", pixels, "IEND", ""), true, errs.Corrupt, "checksum"},
		{"no end", build("IHDR", head, "IDAT", pixels), true, errs.Corrupt, "cut"},
		{"no pixels", build("IHDR", head, "IEND", ""), true, errs.Corrupt, "no pixels"},
		{"no width", build("IHDR", ihdr(0, 2, 8, 0, 0, 0, 0), "IDAT", pixels, "IEND", ""), true, errs.Corrupt, "0 x 2"},
		{"negative height", build("IHDR", ihdr(2, 1<<31, 8, 0, 0, 0, 0), "IDAT", pixels, "IEND", ""), true, errs.Corrupt, "sides"},
		{"hostile size", build("IHDR", ihdr(100_000, 100_000, 8, 2, 0, 0, 0), "IDAT", pixels, "IEND", ""), true, errs.Corrupt, "cannot hold"},
		{"largest size", build("IHDR", ihdr(maxSide, maxSide, 16, 6, 0, 0, 0), "IDAT", pixels, "IEND", ""), true, errs.Corrupt, "cannot hold"},
		{"3 bits", build("IHDR", ihdr(2, 2, 3, 0, 0, 0, 0), "IDAT", pixels, "IEND", ""), true, errs.Corrupt, "does not exist"},
		{"palette of 16 bits", build("IHDR", ihdr(2, 2, 16, 3, 0, 0, 0), "IDAT", pixels, "IEND", ""), true, errs.Corrupt, "does not exist"},
		{"colour type 5", build("IHDR", ihdr(2, 2, 8, 5, 0, 0, 0), "IDAT", pixels, "IEND", ""), true, errs.Corrupt, "does not exist"},
		{"compression 1", build("IHDR", ihdr(2, 2, 8, 0, 1, 0, 0), "IDAT", pixels, "IEND", ""), true, errs.Unsupported, "compression 1"},
		{"interlace 2", build("IHDR", ihdr(2, 2, 8, 0, 0, 0, 2), "IDAT", pixels, "IEND", ""), true, errs.Unsupported, "interlace 2"},
		{"critical chunk", build("CgBI", "", "IHDR", head, "IDAT", pixels, "IEND", ""), true, errs.Corrupt, "IHDR"},
		{"later critical chunk", build("IHDR", head, "ABCD", "", "IDAT", pixels, "IEND", ""), true, errs.Unsupported, "may not be skipped"},
		{"pixels apart", build("IHDR", head, "IDAT", pixels[:5], "tEXt", "", "IDAT", pixels[5:], "IEND", ""), true, errs.Corrupt, "consecutive"},
		{"no palette", build("IHDR", palette, "IDAT", pixels, "IEND", ""), true, errs.Corrupt, "palette is missing"},
		{"palette of 4 bytes", build("IHDR", palette, "PLTE", "abcd", "IDAT", pixels, "IEND", ""), true, errs.Corrupt, "palette of 4"},
		{"palette of 257", build("IHDR", palette, "PLTE", strings.Repeat("abc", 257), "IDAT", pixels, "IEND", ""), true, errs.Corrupt, "palette of 771"},
		{"late palette", build("IHDR", palette, "IDAT", pixels, "PLTE", "abc", "IEND", ""), true, errs.Corrupt, "misplaced"},
		{"early transparency", build("IHDR", palette, "tRNS", "a", "PLTE", "abc", "IDAT", pixels, "IEND", ""), true, errs.Corrupt, "misplaced"},
		{"broken pixels", build("IHDR", head, "crc:IDAT", pixels, "IEND", ""), false, errs.Corrupt, "checksum"},
		{"few pixels", build("IHDR", head, "IDAT", deflate("\x00ab\x00c"), "IEND", ""), false, errs.Corrupt, "damaged or cut"},
		{"many pixels", build("IHDR", head, "IDAT", deflate("\x00ab\x00cde"), "IEND", ""), false, errs.Corrupt, "more pixels"},
		{"filter 5", build("IHDR", head, "IDAT", deflate("\x00ab\x05cd"), "IEND", ""), false, errs.Corrupt, "filter 5"},
		{"no zlib", build("IHDR", head, "IDAT", "garbage", "IEND", ""), false, errs.Corrupt, "damaged"},
		{"zlib checksum", build("IHDR", head, "IDAT", pixels[:len(pixels)-1]+"\x00", "IEND", ""), false, errs.Corrupt, "damaged"},
	} {
		_, err := New().Header(test.file, codec.AsStored)
		if test.header && (!errs.Is(err, test.kind) || !strings.Contains(err.Error(), test.text)) || !test.header && err != nil {
			t.Errorf("%s: Header: got %v, want %s: ... %s ... (seen %v)", test.name, err, test.kind, test.text, test.header)
		}
		err = decodeNew(make([]byte, 4), test.file, codec.AsStored)
		if !errs.Is(err, test.kind) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: Decode: got %v, want %s: ... %s ...", test.name, err, test.kind, test.text)
		}
	}
}

func TestTolerates(t *testing.T) {
	t.Parallel()
	head, pixels := ihdr(2, 2, 8, typeGray, 0, 0, 0), deflate("\x00ab\x02cd")
	for name, file := range map[string][]byte{
		"plain":                     build("IHDR", head, "IDAT", pixels, "IEND", ""),
		"bytes after the end":       append(build("IHDR", head, "IDAT", pixels, "IEND", ""), "more"...),
		"text with broken checksum": build("IHDR", head, "crc:tEXt", "hello", "IDAT", pixels, "IEND", ""),
		"empty pieces":              build("IHDR", head, "IDAT", "", "IDAT", pixels[:3], "IDAT", "", "IDAT", pixels[3:], "IEND", ""),
		"suggested palette":         build("IHDR", head, "PLTE", "abc", "IDAT", pixels, "IEND", ""),
		"transparent colour":        build("IHDR", head, "tRNS", "\x00a", "IDAT", pixels, "IEND", ""),
	} {
		got := make([]byte, 4)
		err := decodeNew(got, file, codec.AsStored)
		if want := []byte{'a', 'b', 'a' + 'c', 'b' + 'd'}; err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: got %v, want %v (%v)", name, got, want, err)
		}
	}
	// An index outside the palette is black.
	file := build("IHDR", ihdr(2, 1, 8, typePalette, 0, 0, 0), "PLTE", "abc", "IDAT", deflate("\x00\x00\x09"), "IEND", "")
	got := make([]byte, 6)
	if err := decodeNew(got, file, codec.AsStored); err != nil || string(got) != "abc\x00\x00\x00" {
		t.Errorf("index outside the palette: got %q (%v)", got, err)
	}
}

func TestDecoderRecovers(t *testing.T) {
	t.Parallel()
	files := [][]byte{}
	for _, name := range []string{"rgb.png", "interlaced.png", "palette4.png", "rgba16.png"} {
		data, err := os.ReadFile(filepath.Join("..", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, data)
	}
	c := New()
	d := c.NewDecoder()
	defer d.Close()
	for round := range 3 {
		for i, file := range files {
			h, err := c.Header(file, codec.AsStored)
			if err != nil {
				t.Fatal(err)
			}
			n, _ := h.Shape.Bytes(h.DType)
			dst, fresh := make([]byte, n), make([]byte, n)
			if err := d.Decode(dst, file[:len(file)-20], codec.AsStored); !errs.Is(err, errs.Corrupt) {
				t.Errorf("cut file: got %v, want corrupt", err)
			}
			if err := d.Decode(dst[1:], file, codec.AsStored); !errs.Is(err, errs.Invalid) {
				t.Errorf("wrong size: got %v, want invalid", err)
			}
			if err := d.Decode(dst, file, codec.AsStored); err != nil {
				t.Fatal(err)
			}
			if err := decodeNew(fresh, file, codec.AsStored); err != nil || !bytes.Equal(dst, fresh) {
				t.Errorf("round %d, file %d: a reused decoder differs from a fresh one (%v)", round, i, err)
			}
		}
	}
	d.Close()
	d.Close()
	if err := d.Decode(make([]byte, 3), files[0], codec.AsStored); !errs.Is(err, errs.Closed) {
		t.Errorf("after Close: got %v, want closed", err)
	}
}

// TestMemory decodes a file of a thousandth of its pixels: little more than the output may be
// allocated.
func TestMemory(t *testing.T) {
	const side = 3000
	file, err := New().Encode(nil, make([]byte, side*side), tensor.Uint8, tensor.Shape{side, side, 1}, codec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, side*side)
	d := New().NewDecoder()
	defer d.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := d.Decode(dst, file, codec.AsStored); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 512<<10 {
		t.Errorf("the decoder allocates %d bytes for a file of %d", n, len(file))
	}
	if n := testing.AllocsPerRun(5, func() { _ = d.Decode(dst, file, codec.AsStored) }); n > 1 {
		t.Errorf("a further decode allocates %v times, want at most 1", n)
	}
}

// decodeNew decodes with a decoder of its own.
func decodeNew(dst, data []byte, want codec.Channels) error {
	d := New().NewDecoder()
	defer d.Close()
	return d.Decode(dst, data, want)
}
