package codec_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/codec/all"
	"deeplake/core/tensor"
)

// array is one expectation of testdata/golden.json: what Pillow reads from a file.
type array struct {
	dtype  string
	shape  tensor.Shape
	offset int
}

func (a *array) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&a.dtype, &a.shape, &a.offset})
}

func readGolden(t *testing.T) (index map[string]map[string]array, pixels []byte) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &index); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join("testdata", "golden.bin.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if pixels, err = io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	return index, pixels
}

// TestPixelsEqualPillow decodes every golden file in the three wishes, with one decoder of each
// kind.
func TestPixelsEqualPillow(t *testing.T) {
	t.Parallel()
	index, pixels := readGolden(t)
	if len(index) < 30 {
		t.Fatalf("golden.json lists %d files, want at least 30", len(index))
	}
	registry := all.All()
	decoders := map[codec.ID]codec.Decoder{}
	for _, id := range []codec.ID{codec.JPEG, codec.PNG, codec.WebP} {
		c, err := registry.Sample(id)
		if err != nil {
			t.Fatal(err)
		}
		decoders[id] = c.NewDecoder()
		defer decoders[id].Close()
	}
	for name, kinds := range index {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		id, ok := registry.Sniff(data)
		if !ok {
			t.Fatalf("%s: Sniff does not know it", name)
		}
		c, _ := registry.Sample(id)
		for kind, want := range kinds {
			got := decodeAs(t, c, decoders[id], name, data, kind, want)
			tolerance := 0
			if id == codec.JPEG {
				tolerance = jpegTolerance(name)
			}
			compare(t, name+" "+kind, got, pixels[want.offset:want.offset+len(got)], tolerance)
		}
	}
}

func decodeAs(t *testing.T, c codec.SampleCodec, d codec.Decoder, name string, data []byte, kind string, want array) []byte {
	t.Helper()
	wish := map[string]codec.Channels{"stored": codec.AsStored, "fifth": codec.AsStored, "rgb": codec.RGB, "gray": codec.Gray}[kind]
	h, err := c.Header(data, wish)
	if err != nil {
		t.Fatalf("%s %s: Header: %v", name, kind, err)
	}
	shape := h.Shape.Clone()
	if kind == "fifth" {
		shape[0] /= 5
	}
	if h.DType.String() != want.dtype || !shape.Equal(want.shape) {
		t.Fatalf("%s %s: got %s %s, want %s %s", name, kind, h.DType, shape, want.dtype, want.shape)
	}
	size, _ := h.Shape.Bytes(h.DType)
	dst := bytes.Repeat([]byte{0xa5}, int(size)+8)
	if err := d.Decode(dst[:size], data, wish); err != nil {
		t.Fatalf("%s %s: Decode: %v", name, kind, err)
	}
	if !bytes.Equal(dst[size:], bytes.Repeat([]byte{0xa5}, 8)) {
		t.Fatalf("%s %s: Decode wrote behind its output", name, kind)
	}
	if kind != "fifth" {
		return dst[:size]
	}
	row := int(h.Shape[1] * h.Shape[2])
	var fifth []byte
	for y := 0; y < int(h.Shape[0]); y += 5 {
		fifth = append(fifth, dst[y*row:(y+1)*row]...)
	}
	return fifth
}

func compare(t *testing.T, what string, got, want []byte, tolerance int) {
	t.Helper()
	worst, at, differ := 0, 0, 0
	for i := range got {
		d := int(got[i]) - int(want[i])
		if d = max(d, -d); d > 0 {
			differ++
		}
		if d > worst {
			worst, at = d, i
		}
	}
	if worst > tolerance {
		t.Errorf("%s: byte %d is %d, want %d; %d of %d bytes differ", what, at, got[at], want[at], differ, len(got))
	} else if differ > 0 {
		t.Logf("%s: %d of %d bytes differ by at most %d", what, differ, len(got), worst)
	}
}

// TestGoldenFilesCut cuts every golden file at every length: none may be taken for whole.
func TestGoldenFilesCut(t *testing.T) {
	t.Parallel()
	index, _ := readGolden(t)
	registry := all.All()
	for name := range index {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		id, _ := registry.Sniff(data)
		c, _ := registry.Sample(id)
		d := c.NewDecoder()
		h, err := c.Header(data, codec.AsStored)
		if err != nil {
			t.Fatal(err)
		}
		size, _ := h.Shape.Bytes(h.DType)
		dst := make([]byte, size)
		for n := range len(data) {
			if _, err := c.Header(data[:n], codec.AsStored); err == nil {
				t.Fatalf("%s: Header accepts the first %d of %d bytes", name, n, len(data))
			}
			if n%7 == 0 || n > len(data)-20 {
				if err := d.Decode(dst, data[:n], codec.AsStored); err == nil {
					t.Fatalf("%s: Decode accepts the first %d of %d bytes", name, n, len(data))
				}
			}
		}
		if err := d.Decode(dst, append(data, "trailing"...), codec.AsStored); err != nil {
			t.Errorf("%s: bytes after the end are not tolerated: %v", name, err)
		}
		d.Close()
	}
}

func TestSniff(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		data string
		id   codec.ID
		ok   bool
	}{
		{"", codec.None, false},
		{"\xff\xd8", codec.None, false},
		{"\xff\xd8\xff\xe0", codec.JPEG, true},
		{"\x89PNG\r\n\x1a\n", codec.PNG, true},
		{"\x89PNG\n\x1a\n", codec.None, false},
		{"RIFF\x10\x00\x00\x00WEBPVP8L", codec.WebP, true},
		{"RIFF\x10\x00\x00\x00WEB", codec.None, false},
		{"RIFF\x10\x00\x00\x00WAVEfmt ", codec.None, false},
		{strings.Repeat("x", 20), codec.None, false},
	} {
		if id, ok := all.All().Sniff([]byte(test.data)); id != test.id || ok != test.ok {
			t.Errorf("Sniff(%q) = %d, %v, want %d, %v", test.data, id, ok, test.id, test.ok)
		}
	}
}
