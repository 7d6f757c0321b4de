package webp

import (
	"encoding/binary"
	"slices"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

const maxSide = 1<<14 - 1 // the most that libwebp writes

// Encode appends a lossless WebP of pix to dst and returns the extended slice. pix is uint8 of
// shape (h, w), (h, w, 1), (h, w, 3) RGB or (h, w, 4) RGBA; gray becomes RGB of equal values, which
// codec.Gray reads back exactly. Another dtype or shape is errs.Type, a side of 0 or over 16383
// errs.Invalid. After an error dst is unchanged. There are no options: there is no encoder of lossy
// files here.
func (*Codec) Encode(dst, pix []byte, d tensor.DType, s tensor.Shape, o codec.Options) ([]byte, error) {
	if o != (codec.Options{}) {
		return dst, errs.Op("encode webp", "").New(errs.Unsupported, "quality and subsampling do not apply; arrays become lossless files, lossy ones are stored as they are")
	}
	if d != tensor.Uint8 {
		return dst, errs.Op("encode webp", "").New(errs.Type, "sample has dtype %s, want uint8; cast it or use png", d)
	}
	if len(s) != 2 && (len(s) != 3 || s[2] != 1 && s[2] != 3 && s[2] != 4) {
		return dst, errs.Op("encode webp", "").New(errs.Type, "sample has shape %s, want (h, w), (h, w, 1), (h, w, 3) or (h, w, 4); use png", s)
	}
	channels := int64(1)
	if len(s) == 3 {
		channels = s[2]
	}
	if s[0] < 1 || s[1] < 1 || s[0] > maxSide || s[1] > maxSide {
		return dst, errs.Op("encode webp", "").New(errs.Invalid, "sample has shape %s, want sides of 1 to %d; use png", s, maxSide)
	}
	if n := s[0] * s[1] * channels; int64(len(pix)) != n {
		return dst, errs.Op("encode webp", "").New(errs.Invalid, "got %d bytes of pixels, want %d for shape %s", len(pix), n, s)
	}
	begin := len(dst)
	w := bitWriter{to: append(dst, "RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00"...)}
	w.image(pix, int(s[1]), int(s[0]), int(channels))
	out := w.flush()
	size := len(out) - begin - firstChunk - chunkHead
	if size%2 == 1 {
		out = append(out, 0)
	}
	binary.LittleEndian.PutUint32(out[begin+4:], uint32(len(out)-begin-8))
	binary.LittleEndian.PutUint32(out[begin+firstChunk+4:], uint32(size))
	return out, nil
}

// The coding of a VP8L image. Each pixel is green, red, blue and alpha, each less what its
// neighbours predict.
const (
	predictor     = 0
	subtractGreen = 2
	selectMode    = 11 // predict from the left or from above, whichever the corner says is nearer
	maxBits       = 15 // of a code
	greens        = 256 + 24
	distances     = 40
)

// bitWriter appends bits, the lowest first.
type bitWriter struct {
	to    []byte
	bits  uint64
	count uint
}

func (w *bitWriter) put(v uint32, n uint) {
	w.bits |= uint64(v) << w.count
	for w.count += n; w.count >= 8; w.count -= 8 {
		w.to = append(w.to, byte(w.bits))
		w.bits >>= 8
	}
}

func (w *bitWriter) flush() []byte {
	w.put(0, (8-w.count)%8)
	return w.to
}

// image writes the VP8L bitstream of pixels of 1, 3 or 4 channels.
func (w *bitWriter) image(pix []byte, width, height, channels int) {
	w.put(0x2f, 8)
	w.put(uint32(width-1), 14)
	w.put(uint32(height-1), 14)
	w.put(uint32(channels)/4, 1) // has alpha
	w.put(0, 3)
	w.put(1|subtractGreen<<1, 3)
	w.put(1|predictor<<1, 3)
	w.put(7, 3) // one mode for tiles of 512 x 512: codes of one symbol, which take no bits a pixel
	w.put(0, 1)
	for _, v := range []uint32{selectMode, 0, 0, 255, 0} {
		w.single(v)
	}
	w.put(0, 3) // no more transforms, no colour cache, one group of codes

	rest := residuals(pix, width, height, channels)
	var counts [4][greens]int
	for i := 0; i+4 <= len(rest); i += 4 {
		for c := range counts {
			counts[c][rest[i+c]]++
		}
	}
	codes := [4][]code{w.codes(counts[0][:])}
	for c := 1; c < 4; c++ {
		codes[c] = w.codes(counts[c][:256])
	}
	w.single(0) // of distances, of which there are none
	for i := 0; i+4 <= len(rest); i += 4 {
		for c := range codes {
			if k := codes[c][rest[i+c]]; k.length > 0 {
				w.put(uint32(k.bits), uint(k.length))
			}
		}
	}
}

// single writes a code of one symbol, below 256.
func (w *bitWriter) single(symbol uint32) {
	w.put(1|0<<1|1<<2, 3)
	w.put(symbol, 8)
}

// residuals are the pixels in the order green, red - green, blue - green, alpha, less their
// predictions.
func residuals(pix []byte, width, height, channels int) []byte {
	row := 4 * width
	v := make([]byte, row*height)
	for i, p := 0, pix; i < len(v); i, p = i+4, p[channels:] {
		v[i+3] = 255
		switch channels {
		case 1:
			v[i] = p[0]
		case 4:
			v[i+3] = p[3]
			fallthrough
		default:
			v[i], v[i+1], v[i+2] = p[1], p[0]-p[1], p[2]-p[1]
		}
	}
	for i := len(v) - 4; i >= 4; i -= 4 { // backwards, so that neighbours are still pixels
		from := v[i-4:]
		switch {
		case i < row:
		case i%row == 0 || nearerAbove(v, i, row):
			from = v[i-row:]
		}
		for c := range 4 {
			v[i+c] -= from[c]
		}
	}
	v[3] -= 255
	return v
}

// nearerAbove reports whether the mode takes the pixel above: the change from the corner to the
// left one is smaller.
func nearerAbove(v []byte, i, row int) bool {
	left, above, corner := v[i-4:i], v[i-row:i-row+4], v[i-row-4:i-row]
	toLeft, toAbove := 0, 0
	for c := range 4 {
		toLeft += distance(above[c], corner[c])
		toAbove += distance(left[c], corner[c])
	}
	return toLeft >= toAbove
}

func distance(a, b byte) int { return max(int(a)-int(b), int(b)-int(a)) }

// code is a prefix code, its first bit lowest.
type code struct {
	bits   uint16
	length byte
}

// codes makes a prefix code for the counts, and writes it.
func (w *bitWriter) codes(counts []int) []code {
	codes := make([]code, len(counts))
	used := 0
	for i, n := range counts {
		if n > 0 {
			codes[i].length = 1
			used++
		}
	}
	if used == 1 {
		i := slices.IndexFunc(codes, func(k code) bool { return k.length > 0 })
		codes[i].length = 0
		w.single(uint32(i))
		return codes
	}
	for least := 1; !lengths(codes, counts, least); least *= 2 {
	}
	w.put(0, 1)
	w.put(19-4, 4)
	for _, length := range []uint32{0, 0, 4, 4, 4, 4, 4, 4, 0, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4} {
		w.put(length, 3) // lengths 0 to 15 take four bits each; there are no repetitions
	}
	w.put(0, 1) // all lengths follow
	for _, k := range codes {
		w.put(reversed(uint32(k.length), 4), 4)
	}
	next := uint32(0)
	for length := byte(1); length <= maxBits; length++ {
		for i := range codes {
			if codes[i].length == length {
				codes[i].bits = uint16(reversed(next, uint(length)))
				next++
			}
		}
		next <<= 1
	}
	return codes
}

func reversed(v uint32, n uint) (r uint32) {
	for range n {
		r = r<<1 | v&1
		v >>= 1
	}
	return r
}

// lengths sets the lengths of Huffman's code, where counts below least count as least. It reports
// whether all fit.
func lengths(codes []code, counts []int, least int) bool {
	type node struct{ count, parent int }
	nodes := make([]node, 0, 2*len(counts))
	var leaves []int // symbols by node
	for i, n := range counts {
		if n > 0 {
			nodes, leaves = append(nodes, node{count: max(n, least)}), append(leaves, i)
		}
	}
	order := make([]int, len(leaves))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return nodes[a].count - nodes[b].count })
	// Sums come in rising order: the two smallest are at the front of either list.
	sums := len(nodes)
	smallest := func() int {
		if len(order) == 0 || sums < len(nodes) && nodes[sums].count < nodes[order[0]].count {
			sums++
			return sums - 1
		}
		i := order[0]
		order = order[1:]
		return i
	}
	for range len(leaves) - 1 {
		a, b := smallest(), smallest()
		nodes[a].parent, nodes[b].parent = len(nodes), len(nodes)
		nodes = append(nodes, node{count: nodes[a].count + nodes[b].count})
	}
	depth := make([]int, len(nodes))
	for i := len(nodes) - 2; i >= 0; i-- {
		depth[i] = depth[nodes[i].parent] + 1
		if depth[i] > maxBits {
			return false
		}
	}
	for i, symbol := range leaves {
		codes[symbol].length = byte(depth[i])
	}
	return true
}
