package order

import "math/bits"

// balanced is a keyed bijection of [0, n) whose images are spread evenly: any run of consecutive
// numbers has its share of the images in every part of [0, n), to within a few. A random
// permutation misses a share by its root. Ranks divide the images into equal parts, and take equal
// numbers of rows at each step: so hardly any row is of a neighbour's block.
//
// [0, n) is cut into 2^width strata of as equal sizes as can be. A round has one image of each
// stratum, the next one in each round. Within a round, strata follow each other in the van der
// Corput sequence in base 2, scrambled by Owen's method with a key of its own (Owen, "Randomly
// Permuted (t,m,s)-Nets and (t,s)-Sequences", 1995; as a hash: Burley, "Practical Hash-based Owen
// Scrambling", 2020). Strata that have one image more than the others give it in a last, shorter
// round. The first stratum begins anywhere.
//
// Images are slots of a window. Rows are at random in the slots of their block, and blocks in those
// of the window, so that each row comes at each position equally often. Blocks beside each other in
// a window never share a batch that is small against the number of blocks.
//
// It is a value of fixed size, safe in parallel. It is part of order versions 3 and 4.
type balanced struct {
	n, first int64  // images, and that of the first stratum
	width    uint   // of the numbers of strata, in bits
	least    int64  // images of a stratum; extra strata have one more
	extra    int64  // images of the last round
	stride   int64  // of the last round over the extra strata
	key      uint64 // of rounds
}

// mostStrata bounds the strata of a window. A batch of no more rows has them of different strata.
const mostStrata = 1 << 12

// newBalanced makes the bijection of [0, n) that belongs to key. n is 1 at least.
func newBalanced(n int64, key uint64) balanced {
	b := balanced{n: n, first: int64(mix(^key) % uint64(n)), key: key}
	// Two images a stratum at least: the last round is short then.
	b.width = uint(bits.Len64(uint64(min(max(n/2, 1), mostStrata))) - 1)
	b.least, b.extra = n>>b.width, n&(1<<b.width-1)
	if b.extra > 0 {
		b.stride = strideOf(b.extra)
	}
	return b
}

// strideOf returns a step through the circle [0, n) that comes to every number, and of which any
// run is spread evenly: the first one from n divided by the golden ratio on that has no factor in
// common with n.
func strideOf(n int64) int64 {
	hi, _ := bits.Mul64(uint64(n), golden)
	step := max(int64(hi), 1)
	for gcd(step, n) > 1 {
		step++ // at the latest n - 1, which has none
	}
	return step
}

func gcd(a, b int64) int64 {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// at returns the image of i, 0 <= i < n.
func (b *balanced) at(i int64) int64 {
	round, stratum := i>>b.width, i&(1<<b.width-1)
	if round < b.least {
		stratum = int64(scrambled(uint64(stratum), mix(b.key^uint64(round)), b.width))
	} else {
		// the place among the strata that have an image more, and then the stratum
		hi, lo := bits.Mul64(uint64(stratum), uint64(b.stride))
		_, rem := bits.Div64(hi, lo, uint64(b.extra))
		place := (int64(rem) + int64(b.key%uint64(b.extra))) % b.extra
		stratum = ((place+1)<<b.width+b.extra-1)/b.extra - 1
	}
	image := b.first + b.least*stratum + b.extra*stratum>>b.width + round
	if image >= b.n {
		image -= b.n
	}
	return image
}

// scrambled reverses the lowest width bits of i, and scrambles them: each bit of the result is
// flipped or not, by the key and the bits above it.
func scrambled(i, key uint64, width uint) uint64 {
	// Each bit of a sum or product depends on its own place and lower ones alone.
	i ^= i * 0x3d20adea
	i += key
	i *= key>>16 | 1
	i ^= i * 0x05526c56
	i ^= i * 0x53a22864
	return bits.Reverse64(i) >> (64 - width) // a shift by 64 is 0
}
