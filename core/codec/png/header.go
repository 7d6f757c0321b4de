package png

import (
	"encoding/binary"
	"hash/crc32"
	"strings"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Colour types.
const (
	typeGray      = 0
	typeRGB       = 2
	typePalette   = 3
	typeGrayAlpha = 4
	typeRGBA      = 6
)

const (
	maxSide   = 1<<31 - 1
	maxRatio  = 1032    // of deflate: 258 bytes for two bits
	chunkSize = 12      // of a chunk without data: length, type, checksum
	idatName  = "IDAT"  // the pixels, may be in several chunks
	ancillary = 1 << 29 // of the big-endian type: set for chunks that a reader may skip
)

// picture holds the chunks before the pixels, and the position of the pixels.
type picture struct {
	width, height int
	depth, colour byte
	interlaced    bool
	palette       [256][4]byte // RGBA; entries that the file lacks are opaque black
	entries       int
	transparent   bool // the palette has alpha

	idat     int   // position of the first IDAT chunk
	pieces   int   // number of IDAT chunks
	idatSize int64 // bytes of pixels in them
}

// chunk is one chunk at a position of the file; next is the position of the one after it.
type chunk struct {
	name string
	body []byte
	sum  uint32
	next int
}

func (c *chunk) intact(data []byte, at int) bool {
	return checksum(data[at+4:at+8+len(c.body)]) == c.sum
}

// checksum is that of a chunk's type and body.
func checksum(b []byte) uint32 { return crc32.ChecksumIEEE(b) }

// readChunk fails where the file ends within the chunk. name shares no memory with data.
func readChunk(data []byte, at int) (chunk, error) {
	if len(data)-at < chunkSize {
		return chunk{}, errs.Op("read png header", "").New(errs.Corrupt, "file is cut after %d bytes", len(data))
	}
	n := binary.BigEndian.Uint32(data[at:])
	if int64(n) > int64(len(data)-at-chunkSize) {
		return chunk{}, errs.Op("read png header", "").New(errs.Corrupt, "chunk at byte %d has %d bytes, the file only %d more", at, n, len(data)-at-chunkSize)
	}
	body := data[at+8 : at+8+int(n)]
	return chunk{
		name: known(data[at+4 : at+8]), body: body, next: at + chunkSize + int(n),
		sum: binary.BigEndian.Uint32(data[at+8+int(n):]),
	}, nil
}

// known maps a chunk type to a constant, "" for one that readers may skip and "?" for others.
func known(name []byte) string {
	switch string(name) {
	case "IHDR":
		return "IHDR"
	case "PLTE":
		return "PLTE"
	case "tRNS":
		return "tRNS"
	case idatName:
		return idatName
	case "IEND":
		return "IEND"
	}
	if binary.BigEndian.Uint32(name)&ancillary != 0 {
		return ""
	}
	return "?"
}

// parse walks all chunks up to IEND. Bytes after it are allowed. The decoder verifies the checksums
// of IDAT. Those of chunks that do not affect pixels are not verified.
func (p *picture) parse(data []byte) error {
	if !strings.HasPrefix(string(data[:min(len(data), len(signature))]), signature) {
		return errs.Op("read png header", "").New(errs.Corrupt, "not a PNG file (no signature)")
	}
	last := ""
	for at := len(signature); ; {
		c, err := readChunk(data, at)
		if err != nil {
			return err
		}
		if c.name != "" && c.name != "?" && c.name != idatName && !c.intact(data, at) {
			return errs.Op("read png header", "").New(errs.Corrupt, "checksum of the chunk at byte %d does not match", at)
		}
		if (at == len(signature)) != (c.name == "IHDR") {
			return errs.Op("read png header", "").New(errs.Corrupt, "IHDR is not the first chunk, or comes twice")
		}
		if c.name == "IEND" {
			return p.finish()
		}
		if err := p.take(&c, at, last); err != nil {
			return err
		}
		last, at = c.name, c.next
	}
}

// take handles one chunk, after the one named last.
func (p *picture) take(c *chunk, at int, last string) error {
	switch c.name {
	case "IHDR":
		return p.takeHeader(c.body)
	case "PLTE":
		return p.takePalette(c.body)
	case "tRNS":
		return p.takeTransparency(c.body)
	case idatName:
		if p.pieces > 0 && last != idatName {
			return errs.Op("read png header", "").New(errs.Corrupt, "pixels are not in consecutive chunks (byte %d)", at)
		}
		if p.pieces == 0 {
			p.idat = at
		}
		p.pieces++
		p.idatSize += int64(len(c.body))
	case "?":
		return errs.Op("read png header", "").New(errs.Unsupported, "chunk at byte %d is of an unknown kind that may not be skipped", at)
	}
	return nil
}

func (p *picture) takeHeader(b []byte) error {
	if len(b) != 13 {
		return errs.Op("read png header", "").New(errs.Corrupt, "IHDR has %d bytes, want 13", len(b))
	}
	w, h := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	if w == 0 || h == 0 || w > maxSide || h > maxSide {
		return errs.Op("read png header", "").New(errs.Corrupt, "image is %d x %d, want sides of 1 to %d", w, h, maxSide)
	}
	p.width, p.height, p.depth, p.colour = int(w), int(h), b[8], b[9]
	if b[10] != 0 || b[11] != 0 || b[12] > 1 {
		return errs.Op("read png header", "").New(errs.Unsupported, "compression %d, filter %d, interlace %d, want 0, 0 and 0 or 1", b[10], b[11], b[12])
	}
	p.interlaced = b[12] == 1
	var ok bool
	switch p.colour {
	case typeGray:
		ok = p.depth == 1 || p.depth == 2 || p.depth == 4 || p.depth == 8 || p.depth == 16
	case typePalette:
		ok = p.depth == 1 || p.depth == 2 || p.depth == 4 || p.depth == 8
	case typeRGB, typeGrayAlpha, typeRGBA:
		ok = p.depth == 8 || p.depth == 16
	}
	if !ok {
		return errs.Op("read png header", "").New(errs.Corrupt, "colour type %d with %d bits does not exist", p.colour, p.depth)
	}
	for i := range p.palette {
		p.palette[i] = [4]byte{0, 0, 0, 255}
	}
	return nil
}

func (p *picture) takePalette(b []byte) error {
	if len(b) == 0 || len(b)%3 != 0 || len(b) > 3*len(p.palette) || p.pieces > 0 || p.entries > 0 {
		return errs.Op("read png header", "").New(errs.Corrupt, "palette of %d bytes is misplaced, or not 1 to 256 colours", len(b))
	}
	p.entries = len(b) / 3
	for i := range p.entries {
		copy(p.palette[i][:3], b[3*i:])
	}
	return nil
}

func (p *picture) takeTransparency(b []byte) error {
	if p.colour != typePalette {
		return nil // a single colour, which leaves the pixels as they are
	}
	if len(b) > len(p.palette) || p.pieces > 0 || p.entries == 0 {
		return errs.Op("read png header", "").New(errs.Corrupt, "transparency of %d bytes is misplaced, or more than 256 entries", len(b))
	}
	p.transparent = true
	for i, a := range b {
		p.palette[i][3] = a
	}
	return nil
}

// finish checks the whole, at IEND.
func (p *picture) finish() error {
	if p.pieces == 0 {
		return errs.Op("read png header", "").New(errs.Corrupt, "no pixels")
	}
	if p.colour == typePalette && p.entries == 0 {
		return errs.Op("read png header", "").New(errs.Corrupt, "palette is missing")
	}
	// In floating point, as the sides can be up to 2^31; the bound need not be exact.
	need := float64(p.height) * float64(p.width) * float64(p.bits()) / 8
	if need > maxRatio*float64(p.idatSize) {
		return errs.Op("read png header", "").New(errs.Corrupt, "%d bytes cannot hold %d x %d pixels", p.idatSize, p.width, p.height)
	}
	return nil
}

// bits is the size of a pixel in the file.
func (p *picture) bits() int {
	samples := [...]int{typeGray: 1, typeRGB: 3, typePalette: 1, typeGrayAlpha: 2, typeRGBA: 4}[p.colour]
	return samples * int(p.depth)
}

// channels is the last axis of the array as stored.
func (p *picture) channels() int {
	switch {
	case p.colour == typePalette && p.transparent:
		return 4
	case p.colour == typePalette:
		return 3
	}
	return p.bits() / int(p.depth)
}

// dtype returns the dtype of the array in the form that want says.
func (p *picture) dtype(want codec.Channels) tensor.DType {
	switch {
	case want == codec.Binary:
		return tensor.Bool
	case p.depth == 16:
		return tensor.Uint16
	}
	return tensor.Uint8
}

// wanted returns the number of channels that want makes of the file.
func (p *picture) wanted(want codec.Channels) (int, error) {
	switch want {
	case codec.AsStored:
		return p.channels(), nil
	case codec.Gray, codec.RGB:
		return int(want), nil
	case codec.Labels, codec.Binary:
		if p.colour == typeGray || p.colour == typePalette {
			return 1, nil
		}
		return 0, errs.Op("read png header", "").New(errs.Type,
			"image has %d channels, a mask has one number a pixel; save it with mode L, I;16 or P, or decode it first", p.channels())
	}
	return 0, errs.Wrap(errs.Invalid, "read png header", "", want.Unknown("PNG"))
}

// header returns the header of the array in the form that want says.
func (p *picture) header(want codec.Channels) (codec.Header, error) {
	c, err := p.wanted(want)
	if err != nil {
		return codec.Header{}, err
	}
	h := codec.Header{DType: p.dtype(want), Shape: tensor.Shape{int64(p.height), int64(p.width), int64(c)}}
	if want == codec.Labels || want == codec.Binary {
		h.Shape = h.Shape[:2]
	}
	if _, err := h.Shape.Bytes(h.DType); err != nil {
		return codec.Header{}, errs.Op("read png header", "").New(errs.Unsupported, "image is too large: %w", err)
	}
	return h, nil
}
