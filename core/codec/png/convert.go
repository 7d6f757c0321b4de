package png

import "encoding/binary"

// expand brings width pixels of the file to whole samples of the array, in its channels and byte
// order.
func (p *picture) expand(to, raw []byte, width int) {
	switch {
	case p.depth == 16:
		for i := 0; i+1 < len(raw) && i+1 < len(to); i += 2 {
			to[i], to[i+1] = raw[i+1], raw[i]
		}
	case p.colour == typePalette && p.transparent:
		for x := range width {
			copy(to[4*x:4*x+4], p.palette[p.index(raw, x)][:])
		}
	case p.colour == typePalette:
		for x := range width {
			copy(to[3*x:3*x+3], p.palette[p.index(raw, x)][:3])
		}
	case p.depth < 8:
		scale := byte(255 / (1<<p.depth - 1))
		for x := range width {
			to[x] = p.index(raw, x) * scale
		}
	default:
		copy(to, raw)
	}
}

// labels takes width numbers of the file as they are.
func (p *picture) labels(to, raw []byte, width int) {
	switch p.depth {
	case 16:
		p.expand(to, raw, width)
	case 8:
		copy(to, raw)
	default:
		for x := range width {
			to[x] = p.index(raw, x)
		}
	}
}

// binary stores for width numbers of the file whether they differ from 0.
func (p *picture) binary(to, raw []byte, width int) {
	for x := range width {
		v := byte(0)
		if p.depth == 16 {
			v = raw[2*x] | raw[2*x+1]
		} else {
			v = p.index(raw, x)
		}
		to[x] = 0
		if v != 0 {
			to[x] = 1
		}
	}
}

// index is sample x of a row with one sample of at most 8 bits a pixel.
func (p *picture) index(raw []byte, x int) byte {
	if p.depth == 8 {
		return raw[x]
	}
	bit := x * int(p.depth)
	return raw[bit/8] >> (8 - int(p.depth) - bit%8) & (1<<p.depth - 1)
}

// mix8 makes to channels (1 or 3) of from other channels; alpha, the second of 2 or fourth of 4, is
// dropped.
func mix8(dst, src []byte, from, to int) {
	for ; len(src) >= from && len(dst) >= to; src, dst = src[from:], dst[to:] {
		switch {
		case from < 3 && to == 1:
			dst[0] = src[0]
		case from < 3:
			dst[0], dst[1], dst[2] = src[0], src[0], src[0]
		case to == 3:
			dst[0], dst[1], dst[2] = src[0], src[1], src[2]
		default:
			dst[0] = byte(luma(uint32(src[0]), uint32(src[1]), uint32(src[2])))
		}
	}
}

// mix16 is mix8 for samples of two bytes.
func mix16(dst, src []byte, from, to int) {
	for ; len(src) >= 2*from && len(dst) >= 2*to; src, dst = src[2*from:], dst[2*to:] {
		r := binary.LittleEndian.Uint16(src)
		g, b := r, r
		if from >= 3 {
			g, b = binary.LittleEndian.Uint16(src[2:]), binary.LittleEndian.Uint16(src[4:])
		}
		if to == 1 {
			binary.LittleEndian.PutUint16(dst, uint16(luma(uint32(r), uint32(g), uint32(b))))
			continue
		}
		binary.LittleEndian.PutUint16(dst, r)
		binary.LittleEndian.PutUint16(dst[2:], g)
		binary.LittleEndian.PutUint16(dst[4:], b)
	}
}

// luma does not overflow for samples of 16 bits, and is v where all three are v.
func luma(r, g, b uint32) uint32 { return (19595*r + 38470*g + 7471*b + 0x8000) >> 16 }
