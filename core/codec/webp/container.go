package webp

import (
	"encoding/binary"

	"deeplake/core/errs"
)

// Flags of the VP8X chunk.
const (
	flagAnimation = 1 << 1
	flagAlpha     = 1 << 4
)

const (
	chunkHead  = 8          // tag and size
	firstChunk = 12         // after "RIFF", the size and "WEBP"
	frameHead  = 16         // of an ANMF chunk
	maxCanvas  = 1<<32 - 1  // pixels
	maxRIFF    = 1<<32 - 10 // bytes after the size
)

// picture is the decoded container: the canvas, and the place of the first frame.
type picture struct {
	width, height int  // of the canvas
	alpha         bool // the file has a fourth channel
	frame         frame
}

// frame is one image of the file. bitstream and plane are parts of it.
type frame struct {
	x, y, width, height int // on the canvas
	lossless            bool
	bitstream           []byte
	plane               []byte // the ALPH chunk of a lossy image
	alpha               bool   // the bitstream of a lossless image, or an ALPH chunk, says so
}

// walk is a list of chunks. Where partial, data may end before end does.
type walk struct {
	data    []byte
	at, end int
	partial bool
}

// chunk is one chunk. Of a partial walk, body may be cut; size is that of all of it.
type chunk struct {
	tag  string
	body []byte
	size int
}

func corrupt(format string, args ...any) error {
	return errs.Op("read webp header", "").New(errs.Corrupt, ""+format, args...)
}

// next reads the chunk at the place of the walk. more means that the data of a partial walk ends
// within its head.
func (w *walk) next() (c chunk, more bool, err error) {
	if w.end-w.at < chunkHead {
		return c, false, corrupt("no image before byte %d, the end of its list of chunks", w.end)
	}
	if len(w.data)-w.at < chunkHead {
		return c, true, nil
	}
	size := int64(binary.LittleEndian.Uint32(w.data[w.at+4:]))
	begin := w.at + chunkHead
	if size+size&1 > int64(w.end-begin) {
		return c, false, corrupt("the chunk at byte %d has %d bytes, the list that holds it only %d more", w.at, size, w.end-begin)
	}
	c = chunk{tag: known(w.data[w.at : w.at+4]), size: int(size)}
	c.body = w.data[min(begin, len(w.data)):min(begin+c.size, len(w.data))]
	w.at = begin + c.size + c.size&1
	return c, false, nil
}

// known is the tag as a constant, "" for chunks without a say in the pixels.
func known(tag []byte) string {
	switch string(tag) {
	case "VP8 ":
		return "VP8 "
	case "VP8L":
		return "VP8L"
	case "VP8X":
		return "VP8X"
	case "ALPH":
		return "ALPH"
	case "ANMF":
		return "ANMF"
	}
	return ""
}

// parse reads the container up to the first frame. whole means that data is the whole file: a cut
// one is refused. Otherwise more means that data ends too early to tell the shape, and the frame of
// an animation is not looked for.
func parse(data []byte, whole bool) (p picture, more bool, err error) {
	for i, want := range []byte("RIFF\x00\x00\x00\x00WEBP") {
		if i < len(data) && want != 0 && data[i] != want {
			return p, false, corrupt("not a WebP file (no signature)")
		}
	}
	if len(data) < firstChunk {
		return p, true, cutUnless(!whole, len(data))
	}
	size := int64(binary.LittleEndian.Uint32(data[4:]))
	if size < 4+chunkHead || size > maxRIFF {
		return p, false, corrupt("the file says that it has %d bytes more", size)
	}
	if whole && size > int64(len(data)-8) {
		return p, false, cutUnless(false, len(data))
	}
	w := walk{data: data[:min(int64(len(data)), 8+size)], at: firstChunk, end: int(8 + size), partial: !whole}
	more, err = p.read(&w)
	return p, more, err
}

func cutUnless(partial bool, n int) error {
	if partial {
		return nil
	}
	return corrupt("the file is cut after %d bytes", n)
}

func (p *picture) read(w *walk) (more bool, err error) {
	c, more, err := w.next()
	if err != nil || more {
		return more, err
	}
	if c.tag != "VP8X" {
		if more, err = p.frame.take(c); err != nil || more {
			return more, err
		}
		if p.frame.bitstream == nil {
			return false, corrupt("the first chunk is none of VP8, VP8L and VP8X")
		}
		p.width, p.height, p.alpha = p.frame.width, p.frame.height, p.frame.alpha
		return false, nil
	}
	if c.size < 10 {
		return false, corrupt("VP8X has %d bytes, want 10", c.size)
	}
	if len(c.body) < 10 {
		return true, nil
	}
	p.width, p.height = 1+uint24(c.body[4:]), 1+uint24(c.body[7:])
	if int64(p.width)*int64(p.height) > maxCanvas {
		return false, corrupt("the canvas is %d x %d, want at most 2^32 - 1 pixels", p.width, p.height)
	}
	p.alpha = c.body[0]&flagAlpha != 0
	if c.body[0]&flagAnimation != 0 {
		if w.partial {
			return false, nil
		}
		return false, p.animation(w)
	}
	if more, err = p.frame.read(w); err != nil || more {
		return more, err
	}
	if p.frame.width != p.width || p.frame.height != p.height {
		return false, corrupt("the image is %d x %d, its canvas %d x %d", p.frame.width, p.frame.height, p.width, p.height)
	}
	// As libwebp: a lossless image knows best, a lossy one has alpha where either chunk says so.
	p.alpha = p.frame.alpha || p.alpha && !p.frame.lossless
	return false, nil
}

// animation finds the first frame.
func (p *picture) animation(w *walk) error {
	for {
		c, _, err := w.next()
		if err != nil {
			return err
		}
		if c.tag != "ANMF" {
			continue
		}
		if c.size < frameHead {
			return corrupt("a frame of the animation has %d bytes, want at least %d", c.size, frameHead)
		}
		x, y, width, height := 2*uint24(c.body), 2*uint24(c.body[3:]), 1+uint24(c.body[6:]), 1+uint24(c.body[9:])
		if x > p.width-width || y > p.height-height {
			return corrupt("a frame of %d x %d at (%d, %d) is outside the canvas of %d x %d", width, height, x, y, p.width, p.height)
		}
		f := frame{x: x, y: y}
		if _, err := f.read(&walk{data: c.body, at: frameHead, end: c.size}); err != nil {
			return err
		}
		if f.width != width || f.height != height {
			return corrupt("the image of a frame is %d x %d, the frame %d x %d", f.width, f.height, width, height)
		}
		p.frame = f
		return nil
	}
}

// read takes chunks up to the bitstream.
func (f *frame) read(w *walk) (more bool, err error) {
	for f.bitstream == nil {
		c, more, err := w.next()
		if err != nil || more {
			return more, err
		}
		if more, err = f.take(c); err != nil || more {
			return more, err
		}
	}
	return false, nil
}

// take reads the header of a bitstream, or keeps an alpha plane.
func (f *frame) take(c chunk) (more bool, err error) {
	switch c.tag {
	case "ALPH":
		f.plane, f.alpha = c.body, true
		return false, nil
	case "VP8 ":
		return f.lossy(c)
	case "VP8L":
		return f.exact(c)
	}
	return false, nil
}

// lossy reads the header of a VP8 frame.
func (f *frame) lossy(c chunk) (more bool, err error) {
	b := c.body
	if c.size < 10 {
		return false, corrupt("VP8 has %d bytes, want at least 10", c.size)
	}
	if len(b) < 10 {
		return true, nil
	}
	tag := uint24(b)
	f.width, f.height = int(binary.LittleEndian.Uint16(b[6:])&0x3fff), int(binary.LittleEndian.Uint16(b[8:])&0x3fff)
	switch {
	case tag&1 != 0 || tag>>4&1 == 0 || tag>>1&7 > 3 || string(b[3:6]) != "\x9d\x01\x2a":
		return false, corrupt("VP8 does not begin with a key frame that is shown")
	case tag>>5 >= c.size:
		return false, corrupt("the first partition has %d bytes, VP8 only %d", tag>>5, c.size)
	case f.width == 0 || f.height == 0:
		return false, corrupt("image is %d x %d, want sides of 1 to 16383", f.width, f.height)
	}
	f.bitstream = b
	return false, nil
}

// exact reads the header of a VP8L image.
func (f *frame) exact(c chunk) (more bool, err error) {
	b := c.body
	if c.size < 5 {
		return false, corrupt("VP8L has %d bytes, want at least 5", c.size)
	}
	if len(b) < 5 {
		return true, nil
	}
	bits := binary.LittleEndian.Uint32(b[1:])
	if b[0] != 0x2f || bits>>29 != 0 {
		return false, corrupt("VP8L has the signature 0x%02x and version %d, want 0x2f and 0", b[0], bits>>29)
	}
	f.width, f.height = 1+int(bits&0x3fff), 1+int(bits>>14&0x3fff)
	f.lossless, f.alpha, f.bitstream = true, f.alpha || bits>>28&1 != 0, b
	return false, nil
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
