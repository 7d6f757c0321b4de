package jpeg

import (
	"bytes"
	"encoding/binary"

	"deeplake/core/codec"
	"deeplake/core/errs"
)

// Markers, the second byte after 0xff.
const (
	mTEM  = 0x01
	mSOF0 = 0xc0
	mSOF2 = 0xc2
	mDHT  = 0xc4
	mJPG  = 0xc8
	mDAC  = 0xcc
	mSOFf = 0xcf
	mRST0 = 0xd0
	mRST7 = 0xd7
	mSOI  = 0xd8
	mEOI  = 0xd9
	mSOS  = 0xda
)

// frame is the content of the header. scan is the offset of the first SOS segment.
type frame struct {
	width, height, components int
	hMax, vMax                int // largest sampling factors
	h, v                      [4]int
	scan                      int
	// scans: a decoder keeps the coefficients of the whole image until the last one
	several bool
}

// parse reads the segments before the first scan. Bytes between segments that are no marker are
// skipped, as libjpeg and Pillow do.
func parse(data []byte) (frame, error) {
	if len(data) < 2 || data[0] != 0xff || data[1] != mSOI {
		return frame{}, errs.Op("read jpeg header", "").New(errs.Corrupt, "not a JPEG file (no start-of-image marker)")
	}
	var f frame
	for pos := 2; ; {
		marker, at := nextMarker(data, pos)
		if marker == 0 {
			return frame{}, cut(len(data))
		}
		pos = at + 2
		if marker == mTEM || marker >= mRST0 && marker <= mRST7 {
			continue // these carry no length
		}
		if marker == mSOI || marker == mEOI {
			return frame{}, errs.Op("read jpeg header", "").New(errs.Corrupt, "marker 0x%02x at byte %d, before the first scan", marker, at)
		}
		if len(data)-pos < 2 {
			return frame{}, cut(len(data))
		}
		n := int(binary.BigEndian.Uint16(data[pos:]))
		if n < 2 {
			return frame{}, errs.Op("read jpeg header", "").New(errs.Corrupt, "segment 0x%02x at byte %d has length %d, want at least 2", marker, at, n)
		}
		if len(data)-pos < n {
			return frame{}, cut(len(data))
		}
		if marker == mSOS {
			f.scan = at
			f.several = f.several || n < 3 || int(data[pos+2]) != f.components
			return f.finish()
		}
		if err := f.segment(marker, at, data[pos+2:pos+n]); err != nil {
			return frame{}, err
		}
		pos += n
	}
}

// nextMarker finds the first 0xff byte at or after pos that a byte other than 0xff and 0 follows,
// and returns that byte and the position of the 0xff right before it; 0 when there is none.
func nextMarker(data []byte, pos int) (marker byte, at int) {
	for {
		i := bytes.IndexByte(data[pos:], 0xff)
		if i < 0 {
			return 0, 0
		}
		for pos += i; pos+1 < len(data) && data[pos+1] == 0xff; {
			pos++
		}
		if pos+1 >= len(data) {
			return 0, 0
		}
		if data[pos+1] != 0 {
			return data[pos+1], pos
		}
		pos += 2
	}
}

func cut(n int) error {
	return errs.Op("read jpeg header", "").New(errs.Corrupt, "file ends within the header, after %d bytes", n)
}

// segment takes the frame header and refuses the processes that are not built in; other segments
// are libjpeg's business.
func (f *frame) segment(marker byte, at int, body []byte) error {
	switch {
	case marker == mDAC || marker >= 0xc9 && marker <= 0xcb || marker >= 0xcd && marker <= mSOFf:
		return errs.Op("read jpeg header", "").New(errs.Unsupported, "arithmetic coding is not built in; save the file as a baseline JPEG")
	case marker == 0xc3 || marker >= 0xc5 && marker <= 0xc7 || marker == mJPG:
		return errs.Op("read jpeg header", "").New(errs.Unsupported, "lossless and hierarchical JPEG are not built in (marker 0x%02x); save the file as a baseline JPEG", marker)
	case marker < mSOF0 || marker > mSOF2:
		return nil
	case f.components != 0:
		return errs.Op("read jpeg header", "").New(errs.Corrupt, "second frame header at byte %d", at)
	case len(body) < 6 || len(body) != 6+3*int(body[5]):
		return errs.Op("read jpeg header", "").New(errs.Corrupt, "frame header at byte %d has %d bytes, which do not fit its components", at, len(body))
	}
	f.several = marker == mSOF2
	return f.start(body)
}

// start takes the body of a frame header whose length fits.
func (f *frame) start(body []byte) error {
	f.height, f.width = int(binary.BigEndian.Uint16(body[1:])), int(binary.BigEndian.Uint16(body[3:]))
	f.components = int(body[5])
	switch {
	case body[0] != 8:
		return errs.Op("read jpeg header", "").New(errs.Unsupported, "%d-bit samples are not built in, want 8; save the file with 8 bits", body[0])
	case f.components != 1 && f.components != 3 && f.components != 4:
		return errs.Op("read jpeg header", "").New(errs.Unsupported, "%d colour components, want 1, 3 or 4", f.components)
	case f.width == 0:
		return errs.Op("read jpeg header", "").New(errs.Corrupt, "width is 0")
	case f.height == 0:
		return errs.Op("read jpeg header", "").New(errs.Unsupported, "height is given after the pixels, which is not built in; save the file again")
	case f.width > maxSide || f.height > maxSide:
		return errs.Op("read jpeg header", "").New(errs.Unsupported, "image is %d x %d, want sides of at most %d", f.width, f.height, maxSide)
	}
	for c := range f.components {
		h, v := int(body[7+3*c]>>4), int(body[7+3*c]&15)
		if h < 1 || h > 4 || v < 1 || v > 4 {
			return errs.Op("read jpeg header", "").New(errs.Corrupt, "component %d has sampling factors %d x %d, want 1 to 4", c, h, v)
		}
		f.hMax, f.vMax = max(f.hMax, h), max(f.vMax, v)
		f.h[c], f.v[c] = h, v
	}
	return nil
}

func (f *frame) finish() (frame, error) {
	if f.components == 0 {
		return frame{}, errs.Op("read jpeg header", "").New(errs.Corrupt, "scan at byte %d without a frame header", f.scan)
	}
	return *f, nil
}

// checkScan refuses a file that cannot be whole, without decoding it. Within a scan 0xff is always
// followed by 0 or a restart marker, so a file that was cut has no end marker after its first scan;
// whatever follows the end marker is allowed. Every block of 8 x 8 coefficients takes at least one
// bit, which bounds the pixels that the bytes can hold, and the memory that a decoder takes for
// them, to 1024 times the size of the file. cut admits a file without its end marker.
func (f *frame) checkScan(data []byte, cut bool) error {
	rest := data[f.scan:]
	if !cut && !bytes.HasSuffix(rest, []byte{0xff, mEOI}) && bytes.LastIndex(rest, []byte{0xff, mEOI}) < 0 {
		return errs.Op("read jpeg header", "").New(errs.Corrupt, "no end-of-image marker; the file is cut after %d bytes", len(data))
	}
	need := int64(0)
	for c := range f.components {
		need += blocks(f.width, f.h[c], f.hMax) * blocks(f.height, f.v[c], f.vMax)
	}
	if need > 8*int64(len(rest)) {
		return errs.Op("read jpeg header", "").New(errs.Corrupt, "%d bytes cannot hold %d x %d pixels", len(rest), f.width, f.height)
	}
	if n := f.scans(rest); n > maxScans {
		return errs.Op("read jpeg header", "").New(errs.Corrupt, "%d scans, want at most %d; save the file again as a baseline JPEG", n, maxScans)
	}
	return nil
}

// blocks counts the blocks along a side of a component.
func blocks(side, sampling, most int) int64 {
	samples := (int64(side)*int64(sampling) + int64(most) - 1) / int64(most)
	return (samples + 7) / 8
}

// scans counts the scans of a file that has several, up to one more than is allowed. rest begins
// with the first.
func (f *frame) scans(rest []byte) int {
	if !f.several {
		return 1
	}
	n := 0
	for pos := 0; n <= maxScans; {
		marker, at := nextMarker(rest, pos)
		if marker == 0 || marker == mEOI {
			break
		}
		pos = at + 2
		if marker == mTEM || marker >= mRST0 && marker <= mRST7 {
			continue
		}
		if marker == mSOS {
			n++
		}
		if len(rest)-pos < 2 {
			break
		}
		pos = min(pos+int(binary.BigEndian.Uint16(rest[pos:])), len(rest))
	}
	return n
}

// segments is data up to a segment that it cuts, for which libjpeg would refuse the whole file. The
// decoder of a scan needs no such help.
func (f *frame) segments(data []byte) []byte {
	for pos := f.scan; ; {
		marker, at := nextMarker(data, pos)
		if marker == 0 || marker == mEOI {
			return data
		}
		pos = at + 2
		if marker == mTEM || marker >= mRST0 && marker <= mRST7 {
			continue
		}
		if len(data)-pos < 2 || len(data)-pos < int(binary.BigEndian.Uint16(data[pos:])) {
			return data[:at]
		}
		pos += int(binary.BigEndian.Uint16(data[pos:]))
	}
}

// channels is the last axis that want makes of the file.
func (f *frame) channels(want codec.Channels) (int, error) {
	switch want {
	case codec.AsStored:
		return f.components, nil
	case codec.Gray, codec.RGB:
		return int(want), nil
	}
	return 0, errs.Wrap(errs.Invalid, "read jpeg header", "", want.Unknown("JPEG"))
}
