package parquet

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// maxBound is the length of the longest text that is written as a bound of a column.
const maxBound = 64

// bounds returns the least and the greatest of some values, nil if none is written: for NaN, which
// has no place in the order, and for long texts.
func (l *outLeaf) bounds(p []byte) (least, greatest []byte) {
	if len(p) == 0 {
		return nil, nil
	}
	if l.isText() {
		return textBounds(p)
	}
	top := uint64(1) << (8*l.width - 1)
	low, high := ^uint64(0), uint64(0)
	var block [256]uint64
	for len(p) > 0 {
		n := load(block[:], p, l.width)
		p = p[n*l.width:]
		switch l.order {
		case signedOrder:
			for _, v := range block[:n] {
				low, high = min(low, v^top), max(high, v^top)
			}
		case floatOrder:
			for _, v := range block[:n] {
				v = floatKey(v, top)
				low, high = min(low, v), max(high, v)
			}
		default:
			for _, v := range block[:n] {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	switch l.order {
	case signedOrder:
		low, high = low^top, high^top
	case floatOrder:
		// The bits of infinity; those of NaN are greater.
		infinity := map[int]uint64{2: 0x7c00, 4: 0x7f800000, 8: 0x7ff0 << 48}[l.width]
		if high > infinity|top || low < floatKey(infinity|top, top) {
			return nil, nil
		}
		// Readers may take both zeros as equal: the bounds hold either.
		if low == top {
			low = top - 1
		}
		if high == top-1 {
			high = top
		}
		low, high = floatBits(low, top), floatBits(high, top)
	}
	return l.bound(low), l.bound(high)
}

// floatKey maps the bits of a float to a number in the order of floats, -0 right before 0. top is
// the bit of the sign.
func floatKey(v, top uint64) uint64 {
	if v&top != 0 {
		return ^v & (top | (top - 1))
	}
	return v | top
}

// floatBits undoes floatKey.
func floatBits(key, top uint64) uint64 {
	if key&top != 0 {
		return key ^ top
	}
	return ^key & (top | (top - 1))
}

// bound returns a value as plain pages have it.
func (l *outLeaf) bound(v uint64) []byte {
	p := binary.LittleEndian.AppendUint64(nil, v)[:l.width]
	return l.plain(nil, p)
}

// plain appends values of a fixed width, except bools, as plain pages have them.
func (l *outLeaf) plain(dst, p []byte) []byte {
	if l.wide == l.width {
		return append(dst, p...)
	}
	at := len(dst)
	dst = slices.Grow(dst, len(p)/l.width*4)[:at+len(p)/l.width*4]
	out := dst[at:]
	switch l.width {
	case 1:
		for i, v := range p {
			wide := uint32(v)
			if l.order == signedOrder {
				wide = uint32(int8(v))
			}
			binary.LittleEndian.PutUint32(out[4*i:], wide)
		}
	default:
		for i := range len(p) / 2 {
			v := binary.LittleEndian.Uint16(p[2*i:])
			wide := uint32(v)
			if l.order == signedOrder {
				wide = uint32(int16(v))
			}
			binary.LittleEndian.PutUint32(out[4*i:], wide)
		}
	}
	return dst
}

// textBounds are the bounds of texts that lie behind their lengths.
func textBounds(p []byte) (least, greatest []byte) {
	for at := 0; at < len(p); {
		end := at + 4 + int(le32(p[at:]))
		text := p[at+4 : end : end]
		if at == 0 || bytes.Compare(text, least) < 0 {
			least = text
		}
		if at == 0 || bytes.Compare(text, greatest) > 0 {
			greatest = text
		}
		at = end
	}
	if len(least) > maxBound || len(greatest) > maxBound {
		return nil, nil
	}
	return append([]byte{}, least...), append([]byte{}, greatest...)
}
