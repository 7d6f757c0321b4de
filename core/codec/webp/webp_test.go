package webp

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

func TestRoundTrips(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	c, d := New(), New().NewDecoder()
	defer d.Close()
	for _, shape := range []tensor.Shape{
		{1, 1, 3}, {1, 1, 4}, {1, 1}, {1, 1, 1}, {1, 50, 3}, {50, 1, 3}, {2, 2, 4}, {33, 37, 3}, {600, 530, 3}, {64, 64, 1},
		{3, maxSide, 3}, {maxSide, 1, 4},
	} {
		size, _ := shape.Bytes(tensor.Uint8)
		for name, fill := range map[string]func(i int) byte{
			"flat":   func(int) byte { return 200 },
			"slope":  func(i int) byte { return byte(i / 7) },
			"noise":  func(int) byte { return byte(rng.Uint32()) },
			"skewed": func(int) byte { return byte(rng.ExpFloat64() * 4) },
			"rare":   func(i int) byte { return byte(1 << (rng.Uint32() & rng.Uint32() & rng.Uint32() & 7)) },
		} {
			pix := make([]byte, size)
			for i := range pix {
				pix[i] = fill(i)
			}
			file, err := c.Encode([]byte("before"), pix, tensor.Uint8, shape, codec.Options{})
			if err != nil {
				t.Fatalf("%s %s: %v", shape, name, err)
			}
			file = file[len("before"):]
			want := codec.AsStored
			if len(shape) == 2 || shape[2] == 1 {
				want = codec.Gray
			}
			h, err := c.Header(file, want)
			if err != nil || !h.Shape[:2].Equal(shape[:2]) || h.DType != tensor.Uint8 {
				t.Fatalf("%s %s: header %v, %v", shape, name, h, err)
			}
			got := make([]byte, len(pix))
			if err := d.Decode(got, file, want); err != nil || !bytes.Equal(got, pix) {
				t.Fatalf("%s %s: %v, or other pixels", shape, name, err)
			}
		}
	}
}

// TestLongCodes: counts like Fibonacci's would give codes of more than 15 bits.
func TestLongCodes(t *testing.T) {
	t.Parallel()
	var pix []byte
	for i, a, b := 0, 1, 1; i < 24; i, a, b = i+1, b, a+b {
		pix = append(pix, bytes.Repeat([]byte{byte(3 * i), 0, 0}, a)...)
	}
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(pix)/3, func(i, j int) { pix[3*i], pix[3*j] = pix[3*j], pix[3*i] })
	counts := make([]int, 40)
	for i, a, b := 0, 1, 1; i < len(counts); i, a, b = i+1, b, a+b {
		counts[i] = a
	}
	codes := (&bitWriter{}).codes(counts)
	sum := 0
	for _, k := range codes {
		if k.length < 1 || k.length > maxBits {
			t.Fatalf("a code of %d bits", k.length)
		}
		sum += 1 << (maxBits - k.length)
	}
	if sum != 1<<maxBits {
		t.Fatalf("the code is not complete: %d of %d", sum, 1<<maxBits)
	}
	shape := tensor.Shape{int64(len(pix) / 3 / 24), 24, 3}
	pix = pix[:shape[0]*24*3]
	file, err := New().Encode(nil, pix, tensor.Uint8, shape, codec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(pix))
	if err := New().NewDecoder().Decode(got, file, codec.AsStored); err != nil || !bytes.Equal(got, pix) {
		t.Fatalf("%v, or other pixels", err)
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		d    tensor.DType
		s    tensor.Shape
		n    int
		o    codec.Options
		kind errs.Kind
		says string
	}{
		"quality":      {tensor.Uint8, tensor.Shape{2, 2, 3}, 12, codec.Options{Quality: 80}, errs.Unsupported, "lossless"},
		"uint16":       {tensor.Uint16, tensor.Shape{2, 2, 3}, 24, codec.Options{}, errs.Type, "uint16"},
		"two channels": {tensor.Uint8, tensor.Shape{2, 2, 2}, 8, codec.Options{}, errs.Type, "(2, 2, 2)"},
		"empty":        {tensor.Uint8, tensor.Shape{0, 2, 3}, 0, codec.Options{}, errs.Invalid, "sides"},
		"wide":         {tensor.Uint8, tensor.Shape{1, maxSide + 1, 3}, 3 * (maxSide + 1), codec.Options{}, errs.Invalid, "16383"},
		"short":        {tensor.Uint8, tensor.Shape{2, 2, 3}, 11, codec.Options{}, errs.Invalid, "12"},
	} {
		out, err := New().Encode([]byte("x"), make([]byte, test.n), test.d, test.s, test.o)
		if !errs.Is(err, test.kind) || !strings.Contains(err.Error(), test.says) || string(out) != "x" {
			t.Errorf("%s: %v, %q", name, err, out)
		}
	}
}

func goldenFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// set is a copy of data with other bytes from at on.
func set(data []byte, at int, b ...byte) []byte {
	data = bytes.Clone(data)
	copy(data[at:], b)
	return data
}

func TestDamagedFilesAreRefused(t *testing.T) {
	t.Parallel()
	lossy, exact := goldenFile(t, "lossy.webp"), goldenFile(t, "lossless.webp")
	alpha, moving := goldenFile(t, "alpha.webp"), goldenFile(t, "animated-offset.webp")
	anmf := bytes.Index(moving, []byte("ANMF"))
	for name, data := range map[string][]byte{
		"no RIFF":               set(lossy, 0, 'L'),
		"RIFF of 0 bytes":       set(lossy, 4, 0, 0, 0, 0),
		"RIFF of 4 GiB":         set(lossy, 4, 255, 255, 255, 255),
		"chunk of 4 GiB":        set(lossy, 16, 255, 255, 255, 255),
		"chunk past the end":    set(lossy, 16, lossy[16]+2),
		"an unknown chunk":      set(lossy, 12, 'V', 'P', '9', ' '),
		"VP8 is no key frame":   set(lossy, 20, lossy[20]|1),
		"VP8 is not shown":      set(lossy, 20, lossy[20]&^16),
		"VP8 without sync code": set(lossy, 23, 0),
		"VP8 of width 0":        set(lossy, 26, 0, 0),
		"VP8's first partition": set(lossy, 21, 255, 255),
		"VP8L signature":        set(exact, 20, 0),
		"VP8L version":          set(exact, 24, exact[24]|0xe0),
		"VP8X of 2 bytes":       set(alpha, 16, 2),
		"another canvas":        set(alpha, 24, alpha[24]+1),
		"canvas over 2^32":      set(alpha, 24, 255, 255, 255, 255, 255, 255),
		"frame outside":         set(moving, anmf+8, 20),
		"frame far outside":     set(moving, anmf+8, 255, 255, 255, 255, 255, 255),
		"frame of another size": set(moving, anmf+14, 10),
		"frame of 3 bytes":      set(moving, anmf+4, 3, 0, 0),
	} {
		if h, err := New().Header(data, codec.AsStored); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%s: header %v, %v", name, h, err)
		}
		if err := New().NewDecoder().Decode(make([]byte, 1), data, codec.AsStored); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%s: decode %v", name, err)
		}
	}
	alph := bytes.Index(alpha, []byte("ALPH"))
	for name, data := range map[string][]byte{
		"alpha's compression": set(alpha, alph+8, 2),
		"alpha's bits":        set(alpha, alph+9, bytes.Repeat([]byte{255}, 40)...),
		"raw alpha is short":  set(alpha, alph+8, 0),
		"VP8L's bits":         set(exact, 25, bytes.Repeat([]byte{255}, 80)...),
	} {
		h, err := New().Header(data, codec.AsStored)
		if err != nil {
			t.Fatal(err)
		}
		size, _ := h.Shape.Bytes(h.DType)
		if err := New().NewDecoder().Decode(make([]byte, size), data, codec.AsStored); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSizesBeforeMemory: a file of a few bytes that says it is huge is told from its header, for
// nothing.
func TestSizesBeforeMemory(t *testing.T) {
	file := binary.LittleEndian.AppendUint32([]byte("RIFF"), 18)
	file = append(file, "WEBPVP8L\x06\x00\x00\x00\x2f\xff\xff\xff\x0f\x00"...)
	h, err := New().Header(file, codec.RGB)
	if err != nil || !h.Shape.Equal(tensor.Shape{16384, 16384, 3}) {
		t.Fatalf("%v, %v", h, err)
	}
	d := New().NewDecoder()
	defer d.Close()
	var small [1]byte
	if n := testing.AllocsPerRun(10, func() {
		if err := d.Decode(small[:], file, codec.RGB); !errs.Is(err, errs.Invalid) {
			t.Fatal(err)
		}
	}); n > 30 {
		t.Errorf("%v allocations for an error", n)
	}
	if err := (codec.Limits{MaxPixels: 1 << 20}).Check(h.Shape); !errs.Is(err, errs.Unsupported) {
		t.Errorf("the limit of pixels: %v", err)
	}
}

func TestClosedDecoder(t *testing.T) {
	t.Parallel()
	d := New().NewDecoder()
	d.Close()
	d.Close()
	if err := d.Decode(nil, nil, codec.AsStored); !errs.Is(err, errs.Closed) {
		t.Error(err)
	}
}

// TestPanicsAreErrors holds that a decoder which panics costs its own file only.
func TestPanicsAreErrors(t *testing.T) {
	t.Parallel()
	d := &decoder{canvas: make([]byte, 8)}
	err := d.contain(func() error {
		var none []int
		_ = none[len(d.canvas)]
		return nil
	})
	if !errs.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "index out of range") || d.canvas != nil {
		t.Errorf("error is %v, want one about a corrupt file, and no buffers kept", err)
	}
}
