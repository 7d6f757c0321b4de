package codec

import (
	"bytes"
	"encoding/binary"
	"unsafe"

	"deeplake/core/tensor"
)

// Orientation says how an image is turned for display, by the numbers of the Exif tag Orientation
// (0x0112, "Exif 2.32", section 4.6.4). 0 and 1 stand for the stored image.
type Orientation uint8

// The orientations.
const (
	AsIs       Orientation = 1
	MirroredX  Orientation = 2 // left and right change places
	Rotated180 Orientation = 3
	MirroredY  Orientation = 4 // top and bottom change places
	Transposed Orientation = 5
	Rotated90  Orientation = 6 // clockwise
	Transverse Orientation = 7 // transposed along the other diagonal
	Rotated270 Orientation = 8 // clockwise
)

// Turned reports whether the image is displayed in another way than it is stored.
func (o Orientation) Turned() bool { return o > AsIs && o <= Rotated270 }

// SwapsSides reports whether height and width change places.
func (o Orientation) SwapsSides() bool { return o >= Transposed && o <= Rotated270 }

// Shape returns the shape of the turned image, whose first two axes are height and width. It shares
// memory with s where nothing changes.
func (o Orientation) Shape(s tensor.Shape) tensor.Shape {
	if !o.SwapsSides() || len(s) < 2 {
		return s
	}
	turned := append(tensor.Shape(nil), s...)
	turned[0], turned[1] = s[1], s[0]
	return turned
}

// flips says from which end rows and columns of the stored image are read.
func (o Orientation) flips() (rows, columns bool) {
	switch o {
	case MirroredX:
		return false, true
	case Rotated180, Transverse:
		return true, true
	case MirroredY, Rotated90:
		return true, false
	case Rotated270:
		return false, true
	}
	return false, false
}

// StoredRegion returns where the region r of the turned image of height x width lies in the stored
// image. r lies within it.
func (o Orientation) StoredRegion(r Region, height, width int) Region {
	if o.SwapsSides() {
		r.X, r.Y, r.Width, r.Height = r.Y, r.X, r.Height, r.Width
		height, width = width, height
	}
	rows, columns := o.flips()
	if rows {
		r.Y = height - r.Y - r.Height
	}
	if columns {
		r.X = width - r.X - r.Width
	}
	return r
}

// TurnedROI returns the region of the stored image that has the pixels of part, a region of the
// turned image of height x width, with a sink that turns them for the one of part. mem has room for
// the region.
func (o Orientation) TurnedROI(part ROI, height, width, pixel int, mem []byte) ROI {
	stored := o.StoredRegion(part.Region, height, width)
	return ROI{Region: stored, To: &turner{o: o, stored: stored, row: part.Width * pixel, pixel: pixel, mem: mem, to: part.To}}
}

// turner turns the pixels of a region for another sink.
type turner struct {
	o          Orientation
	stored     Region
	row, pixel int // bytes of the turned region
	mem        []byte
	to         PixelSink
}

// Native implements PixelSink: pixels are turned in Go.
func (t *turner) Native() (call, arg unsafe.Pointer) { return nil, nil }

// Deliver implements PixelSink.
func (t *turner) Deliver(pix []byte, stride int) error {
	t.o.Turn(t.mem, pix, t.stored.Height, t.stored.Width, t.pixel, stride)
	return t.to.Deliver(t.mem, t.row)
}

// Decode decodes a file with d and turns its image into dst, the array of shape turned. scratch has
// room for as many bytes.
func (o Orientation) Decode(d Decoder, dst, data []byte, turned tensor.Shape, form Channels, scratch []byte) error {
	scratch = scratch[:len(dst)]
	if err := d.Decode(scratch, data, form); err != nil {
		return err
	}
	stored := o.Shape(turned)
	height, width := int(stored[0]), int(stored[1])
	pixel := len(dst) / (height * width)
	o.Turn(dst, scratch, height, width, pixel, width*pixel)
	return nil
}

// turnBlock is the side of the squares in which sides change places, so that rows of both images
// stay in the cache.
const turnBlock = 32

// Turn fills dst with the turned image. src has height rows of width pixels of the given bytes;
// rows begin every stride bytes.
func (o Orientation) Turn(dst, src []byte, height, width, pixel, stride int) {
	fromEnd, fromRight := o.flips()
	// in src: the place of the first pixel of dst, and the steps to those below and beside it
	first, downwards, across := 0, stride, pixel
	if fromEnd {
		first, downwards = first+(height-1)*stride, -stride
	}
	if fromRight {
		first, across = first+(width-1)*pixel, -pixel
	}
	if !o.SwapsSides() {
		for y := range height {
			row := dst[y*width*pixel:][:width*pixel]
			if from := first + y*downwards; across > 0 {
				copy(row, src[from:])
			} else {
				turnRow(row, src, from, across, pixel)
			}
		}
		return
	}
	for y0 := 0; y0 < width; y0 += turnBlock {
		for x0 := 0; x0 < height; x0 += turnBlock {
			n := min(turnBlock, height-x0)
			for y := y0; y < min(y0+turnBlock, width); y++ {
				turnRow(dst[(y*height+x0)*pixel:][:n*pixel], src, first+y*across+x0*downwards, downwards, pixel)
			}
		}
	}
}

// turnRow fills row with pixels of src that begin at from and lie step bytes apart.
func turnRow(row, src []byte, from, step, pixel int) {
	switch pixel {
	case 1:
		for x := range row {
			row[x], from = src[from], from+step
		}
	case 3:
		// Four bytes at once: the next pixel overwrites the fourth.
		for len(row) > 3 && from+4 <= len(src) {
			binary.LittleEndian.PutUint32(row, binary.LittleEndian.Uint32(src[from:]))
			row, from = row[3:], from+step
		}
		for ; len(row) >= 3; row = row[3:] {
			copy(row[:3], src[from:])
			from += step
		}
	default:
		for x := 0; x < len(row); x += pixel {
			copy(row[x:x+pixel], src[from:])
			from += step
		}
	}
}

// The layout of TIFF, in which Exif data is written.
const (
	tiffHead       = 8  // byte order, 42, position of the first directory
	tiffEntry      = 12 // of a directory: tag, type, count, value
	tagOrientation = 0x0112
)

// wholeNumber returns the bytes of a value of a type of TIFF for whole numbers; 0: it is no such
// type. Exif wants SHORT, and some programs write others.
func wholeNumber(kind uint16) int {
	switch kind {
	case 3, 8: // SHORT, SSHORT
		return 2
	case 4, 9: // LONG, SLONG
		return 4
	}
	return 0
}

// ExifOrientation reads the orientation in Exif data, which begins with the head of TIFF. It is
// AsIs for data without a valid one.
func ExifOrientation(data []byte) Orientation {
	data = bytes.TrimPrefix(data, []byte("Exif\x00\x00")) // some writers of PNG and WebP keep it
	if len(data) < tiffHead {
		return AsIs
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch string(data[:4]) {
	case "II*\x00":
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return AsIs
	}
	at := int64(order.Uint32(data[4:]))
	if at < tiffHead || at > int64(len(data)-2) {
		return AsIs
	}
	entries := data[at+2:]
	for range order.Uint16(data[at:]) {
		if len(entries) < tiffEntry {
			return AsIs
		}
		if order.Uint16(entries) == tagOrientation {
			o := order.Uint32(entries[8:])
			size := wholeNumber(order.Uint16(entries[2:]))
			if size == 2 {
				o = uint32(order.Uint16(entries[8:]))
			}
			if size == 0 || order.Uint32(entries[4:]) != 1 || o < 1 || o > 8 {
				return AsIs
			}
			return Orientation(o)
		}
		entries = entries[tiffEntry:]
	}
	return AsIs
}
