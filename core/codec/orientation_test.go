package codec_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/codec/all"
	"deeplake/core/codec/codectest"
	"deeplake/core/tensor"
)

// upright lists the pixels of a 2 x 3 image, 1 2 3 over 4 5 6, in each orientation.
var upright = map[codec.Orientation]string{
	0: "123/456", 1: "123/456", 2: "321/654", 3: "654/321", 4: "456/123",
	5: "14/25/36", 6: "41/52/63", 7: "63/52/41", 8: "36/25/14", 9: "123/456",
}

// TestOrientations turns an image of every size of pixel, and each region of it.
func TestOrientations(t *testing.T) {
	t.Parallel()
	const height, width, stride = 2, 3, 40
	for o, want := range upright {
		for _, pixel := range []int{1, 2, 3, 4, 6, 8} {
			src := make([]byte, height*stride)
			for i := range height * width {
				for b := range pixel {
					src[i/width*stride+i%width*pixel+b] = byte('1' + i + 16*b)
				}
			}
			dst := make([]byte, height*width*pixel)
			o.Turn(dst, src, height, width, pixel, stride)
			shape := o.Shape(tensor.Shape{height, width, int64(pixel)})
			h, w := int(shape[0]), int(shape[1])
			if got := text(dst, h, w, pixel); got != want {
				t.Errorf("orientation %d, pixels of %d bytes: %s, want %s", o, pixel, got, want)
			}
			checkRegions(t, o, src, dst, h, w, pixel, stride)
		}
	}
}

// checkRegions turns every region of an image by itself.
func checkRegions(t *testing.T, o codec.Orientation, src, whole []byte, h, w, pixel, stride int) {
	t.Helper()
	for y := range h {
		for x := range w {
			for height := 1; height <= h-y; height++ {
				for width := 1; width <= w-x; width++ {
					s := o.StoredRegion(codec.Region{X: x, Y: y, Width: width, Height: height}, h, w)
					part := make([]byte, height*width*pixel)
					o.Turn(part, src[s.Y*stride+s.X*pixel:], s.Height, s.Width, pixel, stride)
					for row := range height {
						if want := whole[((y+row)*w+x)*pixel:][:width*pixel]; !bytes.Equal(part[row*width*pixel:][:width*pixel], want) {
							t.Fatalf("orientation %d: region %d x %d at (%d, %d) differs in row %d", o, width, height, x, y, row)
						}
					}
				}
			}
		}
	}
}

func text(pix []byte, h, w, pixel int) string {
	out := ""
	for y := range h {
		if y > 0 {
			out += "/"
		}
		for x := range w {
			out += string(pix[(y*w+x)*pixel])
		}
	}
	return out
}

// TestTurnOfLargeImages turns an image of several blocks there and back.
func TestTurnOfLargeImages(t *testing.T) {
	t.Parallel()
	back := map[codec.Orientation]codec.Orientation{6: 8, 8: 6}
	const height, width = 75, 131
	src := make([]byte, height*width*3)
	for i := range src {
		src[i] = byte(i * 7 / 3)
	}
	for o := codec.AsIs; o <= codec.Rotated270; o++ {
		turned, again := make([]byte, len(src)), make([]byte, len(src))
		o.Turn(turned, src, height, width, 3, width*3)
		s := o.Shape(tensor.Shape{height, width, 3})
		inverse := o
		if b, ok := back[o]; ok {
			inverse = b
		}
		inverse.Turn(again, turned, int(s[0]), int(s[1]), 3, int(s[1])*3)
		if !bytes.Equal(again, src) {
			t.Errorf("orientation %d and back: other pixels", o)
		}
	}
}

// exif is Exif data with one entry.
func exif(order binary.ByteOrder, tag, kind uint16, count uint32, value uint16) []byte {
	head := map[binary.ByteOrder]string{binary.LittleEndian: "II*\x00", binary.BigEndian: "MM\x00*"}[order]
	b := []byte(head)
	put := order.(binary.AppendByteOrder)
	b = put.AppendUint32(b, 8)
	b = put.AppendUint16(b, 2)
	b = append(b, make([]byte, 12)...) // another entry
	b = put.AppendUint16(b, tag)
	b = put.AppendUint16(b, kind)
	b = put.AppendUint32(b, count)
	b = put.AppendUint16(b, value)
	return append(b, 0, 0)
}

// TestExifOrientation reads the tag in both byte orders. Invalid data turns nothing.
func TestExifOrientation(t *testing.T) {
	t.Parallel()
	little, big := binary.LittleEndian, binary.BigEndian
	for name, c := range map[string]struct {
		data []byte
		want codec.Orientation
	}{
		"little":        {exif(little, 0x0112, 3, 1, 6), 6},
		"big":           {exif(big, 0x0112, 3, 1, 8), 8},
		"prefixed":      {append([]byte("Exif\x00\x00"), exif(big, 0x0112, 3, 1, 3)...), 3},
		"another tag":   {exif(big, 0x0111, 3, 1, 3), 1},
		"a long":        {exif(little, 0x0112, 4, 1, 3), 3},
		"a large long":  {exif(big, 0x0112, 4, 1, 3), 1}, // 3 << 16
		"a byte":        {exif(big, 0x0112, 1, 1, 3), 1},
		"two":           {exif(big, 0x0112, 3, 2, 3), 1},
		"nine":          {exif(big, 0x0112, 3, 1, 9), 1},
		"zero":          {exif(big, 0x0112, 3, 1, 0), 1},
		"no data":       {nil, 1},
		"no byte order": {append([]byte("XX"), exif(big, 0x0112, 3, 1, 3)[2:]...), 1},
	} {
		if got := codec.ExifOrientation(c.data); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
		for n := range c.data {
			if got := codec.ExifOrientation(c.data[:n]); got != c.want && got != codec.AsIs {
				t.Errorf("%s, cut after %d bytes: %d", name, n, got)
			}
		}
	}
}

// TestUprightHeaders: headers of an upright form have the sides of the turned image, from the whole
// file and from its beginning.
func TestUprightHeaders(t *testing.T) {
	t.Parallel()
	reg := all.All()
	for _, id := range []codec.ID{codec.JPEG, codec.PNG, codec.WebP} {
		sc, err := reg.Sample(id)
		if err != nil {
			t.Fatal(err)
		}
		pix := make([]byte, 20*30*3)
		file, err := sc.Encode(nil, pix, tensor.Uint8, tensor.Shape{20, 30, 3}, codec.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for o := codec.Orientation(1); o <= 8; o++ {
			data := codectest.WithExif(t, id, file, exif(binary.BigEndian, 0x0112, 3, 1, uint16(o)))
			want := o.Shape(tensor.Shape{20, 30, 3})
			for _, form := range []codec.Channels{codec.AsStored, codec.RGB} {
				if h, err := reg.Header(sc, data, form|codec.Upright); err != nil || !h.Shape.Equal(want) {
					t.Errorf("%s, orientation %d: %v, %v; want %v", id.Name(), o, h.Shape, err, want)
				}
				if h, err := reg.Header(sc, data, form); err != nil || !h.Shape.Equal(tensor.Shape{20, 30, 3}) {
					t.Errorf("%s, orientation %d, as stored: %v, %v", id.Name(), o, h.Shape, err)
				}
			}
			for n := range data {
				h, more, err := reg.Head(sc.(codec.HeadCodec), data[:n], codec.RGB|codec.Upright)
				if err != nil || !more && !h.Shape.Equal(want) {
					t.Fatalf("%s, orientation %d, the first %d bytes: %v, %v, want %v", id.Name(), o, n, h.Shape, err, want)
				}
			}
		}
	}
}
