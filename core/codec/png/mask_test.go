package png

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

const maskHeight, maskWidth = 7, 21

// maskFile writes a mask of numbers below 2^depth. gray files keep them as gray values, others as
// indices of a palette.
func maskFile(t *testing.T, depth int, gray bool) (file []byte, numbers []uint16) {
	t.Helper()
	numbers = make([]uint16, maskHeight*maskWidth)
	for i := range numbers {
		numbers[i] = uint16(i*i+i/5) & (1<<depth - 1)
	}
	if gray {
		return build("IHDR", ihdr(maskWidth, maskHeight, byte(depth), typeGray, 0, 0, 0), "IDAT", deflate(maskRows(numbers, depth)), "IEND", ""), numbers
	}
	palette := make(color.Palette, 1<<depth)
	for i := range palette {
		palette[i] = color.RGBA{R: byte(7 * i), G: byte(i * i), B: byte(i), A: 255}
	}
	img := image.NewPaletted(image.Rect(0, 0, maskWidth, maskHeight), palette)
	for i, v := range numbers {
		img.Pix[i] = byte(v)
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), numbers
}

// maskRows packs numbers as a PNG file has them, without filters.
func maskRows(numbers []uint16, depth int) string {
	var rows []byte
	for y := range maskHeight {
		rows = append(rows, 0)
		var bits, have int
		for _, v := range numbers[y*maskWidth:][:maskWidth] {
			bits, have = bits<<depth|int(v), have+depth
			for ; have >= 8; have -= 8 {
				rows = append(rows, byte(bits>>(have-8)))
			}
			bits &= 1<<have - 1
		}
		if have > 0 {
			rows = append(rows, byte(bits<<(8-have)))
		}
	}
	return string(rows)
}

func TestMasks(t *testing.T) {
	t.Parallel()
	for _, gray := range []bool{true, false} {
		for _, depth := range []int{1, 2, 4, 8, 16} {
			if depth == 16 && !gray {
				continue
			}
			t.Run(fmt.Sprintf("depth %d gray %v", depth, gray), func(t *testing.T) {
				t.Parallel()
				file, numbers := maskFile(t, depth, gray)
				labels, dtype := []byte{}, tensor.Uint8
				for _, v := range numbers {
					if depth == 16 {
						dtype, labels = tensor.Uint16, binary.LittleEndian.AppendUint16(labels, v)
					} else {
						labels = append(labels, byte(v))
					}
				}
				bools := make([]byte, len(numbers))
				for i, v := range numbers {
					if v != 0 {
						bools[i] = 1
					}
				}
				checkMask(t, file, codec.Labels, dtype, labels)
				checkMask(t, file, codec.Binary, tensor.Bool, bools)
			})
		}
	}
}

// checkMask decodes a file and regions of it, and reads its shape from the whole and its beginning.
func checkMask(t *testing.T, file []byte, want codec.Channels, dtype tensor.DType, pix []byte) {
	t.Helper()
	shape := tensor.Shape{maskHeight, maskWidth}
	h, err := New().Header(file, want)
	if err != nil || h.DType != dtype || !h.Shape.Equal(shape) {
		t.Fatalf("Header = %v, %v, want %s %s", h, err, dtype, shape)
	}
	if h, more, err := New().Head(file, want); err != nil || more || h.DType != dtype || !h.Shape.Equal(shape) {
		t.Fatalf("Head = %v, %v, %v, want %s %s", h, more, err, dtype, shape)
	}
	d := New().NewDecoder()
	defer d.Close()
	got := make([]byte, len(pix))
	if err := d.Decode(got, file, want); err != nil || !bytes.Equal(got, pix) {
		t.Fatalf("numbers differ (%v):\n%v\n%v", err, got, pix)
	}
	r := codec.Region{X: 3, Y: 2, Width: 11, Height: 4}
	part, err := decodeROI(d, file, r, want, dtype.Size())
	if err != nil || !bytes.Equal(part, cutOut(pix, maskWidth, dtype.Size(), r)) {
		t.Fatalf("region differs (%v)", err)
	}
}

// TestMasksOfAnyFile: labels of a gray file are its pixels, interlaced or not. A file with colour
// or alpha has none.
func TestMasksOfAnyFile(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join("..", "testdata", "*.png"))
	if err != nil {
		t.Fatal(err)
	}
	read, refused := 0, 0
	for _, path := range paths {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var p picture
		if p.parse(file) != nil {
			continue
		}
		h, err := New().Header(file, codec.Labels)
		if p.colour != typeGray && p.colour != typePalette {
			refused++
			if !errs.Is(err, errs.Type) || !strings.Contains(err.Error(), "a mask has one number a pixel") {
				t.Errorf("%s: %v, want a refusal", path, err)
			}
			continue
		}
		labels := make([]byte, p.height*p.width*h.DType.Size())
		if err := decodeNew(labels, file, codec.Labels); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if p.colour != typeGray || p.depth < 8 {
			continue
		}
		read++
		gray := make([]byte, len(labels))
		if err := decodeNew(gray, file, codec.AsStored); err != nil || !bytes.Equal(gray, labels) {
			t.Errorf("%s: labels differ from the gray values (%v)", path, err)
		}
	}
	if read < 2 || refused < 2 {
		t.Errorf("%d gray files and %d with colour, want 2 or more of each", read, refused)
	}
}

// TestBoolsAsPNG: bools are stored as one bit a pixel.
func TestBoolsAsPNG(t *testing.T) {
	t.Parallel()
	for _, width := range []int64{1, 7, 8, 9, 64} {
		for _, shape := range []tensor.Shape{{5, width}, {5, width, 1}} {
			bools := make([]byte, 5*width)
			for i := range bools {
				bools[i] = byte(i*i/3) & 1
			}
			file, err := New().Encode(nil, bools, tensor.Bool, shape, codec.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len(bools))
			if err := decodeNew(got, file, codec.Binary); err != nil || !bytes.Equal(got, bools) {
				t.Fatalf("%s: bools differ (%v)", shape, err)
			}
			if img, err := png.Decode(bytes.NewReader(file)); err != nil || img.ColorModel() != color.GrayModel {
				t.Errorf("%s: image/png reads %T, %v", shape, img, err)
			}
		}
	}
	if _, err := New().Encode(nil, make([]byte, 12), tensor.Bool, tensor.Shape{2, 2, 3}, codec.Options{}); !errs.Is(err, errs.Type) {
		t.Errorf("bools of three channels: %v, want an error of type", err)
	}
}
