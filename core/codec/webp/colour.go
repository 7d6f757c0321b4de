package webp

import "image"

// convert makes RGB of the planes with the arithmetic of libwebp: chroma between samples is
// interpolated with weights of 9, 3, 3 and 1 ("fancy upsampling"), rounded twice. A fourth channel
// is opaque.
func convert(to canvas, f *frame, img *image.YCbCr) {
	chroma := func(y int) pair {
		n := (f.width + 1) / 2
		return pair{img.Cb[y*img.CStride:][:n], img.Cr[y*img.CStride:][:n]}
	}
	luma := func(y int) []byte { return img.Y[y*img.YStride:][:f.width] }
	convertRow(to.row(f, 0), luma(0), chroma(0), chroma(0), to.pixel)
	for y := 1; y < f.height; y++ {
		// Odd rows are nearer to the chroma above them, even ones to their own.
		near, far := y/2, (y+1)/2
		if y%2 == 0 {
			far = y/2 - 1
		}
		far = min(far, (f.height-1)/2)
		convertRow(to.row(f, y), luma(y), chroma(near), chroma(far), to.pixel)
	}
}

// pair is a row of both chroma planes.
type pair struct{ u, v []byte }

// both packs the samples at x into one word, so that they are interpolated at once.
func (p pair) both(x int) uint32 { return uint32(p.u[x]) | uint32(p.v[x])<<16 }

// convertRow makes pixels of a row whose chroma lies between two rows of samples, three times as
// near to near.
func convertRow(to, luma []byte, near, far pair, pixel int) {
	n, f := near.both(0), far.both(0)
	put(to, luma[0], (3*n+f+0x00020002)>>2, pixel)
	last := (len(luma) - 1) / 2
	for x := 1; x <= last; x++ {
		nextN, nextF := near.both(x), far.both(x)
		sum := n + nextN + f + nextF + 0x00080008
		rising, falling := (sum+2*(nextN+f))>>3, (sum+2*(n+nextF))>>3
		put(to[(2*x-1)*pixel:], luma[2*x-1], (rising+n)>>1, pixel)
		put(to[2*x*pixel:], luma[2*x], (falling+nextN)>>1, pixel)
		n, f = nextN, nextF
	}
	if x := len(luma) - 1; x%2 == 1 {
		put(to[x*pixel:], luma[x], (3*n+f+0x00020002)>>2, pixel)
	}
}

// put stores one pixel. chroma is packed as by both, with bits in between that mean nothing.
func put(to []byte, luma byte, chroma uint32, pixel int) {
	y, u, v := int32(luma)*19077>>8, int32(chroma&0xff), int32(chroma>>16&0xff)
	to = to[:pixel]
	to[0] = clip(y + v*26149>>8 - 14234)
	to[1] = clip(y - u*6419>>8 - v*13320>>8 + 8708)
	to[2] = clip(y + u*33050>>8 - 17685)
	if pixel == 4 {
		to[3] = 255
	}
}

// clip brings a value with 6 bits of fraction to a byte.
func clip(v int32) byte {
	if uint32(v) < 1<<14 {
		return byte(v >> 6)
	}
	return byte(^(v >> 31))
}
