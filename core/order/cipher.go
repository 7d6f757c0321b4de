package order

import "math/bits"

// rounds of the Feistel network. Six already pass the tests here; eight cost 4 ns more and leave a
// margin.
const rounds = 8

// cipher is a keyed bijection of [0, n): a Feistel network over the smallest power of two that
// holds n, walked along its cycle until it falls inside. It is a value of fixed size, safe in
// parallel. It is part of all orders that shuffle: a change of its output needs new versions.
type cipher struct {
	n     uint64
	low   uint // bits of the lower half
	maskL uint64
	maskH uint64
	keys  [rounds]uint64
}

// newCipher makes the bijection of [0, n) that belongs to key. n is 1 at least.
func newCipher(n int64, key uint64) cipher {
	c := cipher{}
	for i := range c.keys {
		key += golden
		c.keys[i] = mix(key)
	}
	c.resize(n)
	return c
}

// resize makes it a bijection of [0, n).
func (c *cipher) resize(n int64) {
	c.n = uint64(n)
	width := max(uint(bits.Len64(c.n-1)), 2)
	c.low = width / 2
	c.maskL = 1<<c.low - 1
	c.maskH = 1<<(width-c.low) - 1
}

// at returns the image of i, 0 <= i < n.
func (c *cipher) at(i int64) int64 { return c.tweaked(i, 0) }

// tweaked returns the image of i under another bijection for each tweak.
func (c *cipher) tweaked(i int64, tweak uint64) int64 {
	x := uint64(i)
	for {
		l, h := x&c.maskL, x>>c.low
		for r := 0; r < rounds; r += 2 {
			l ^= scramble(h^tweak^c.keys[r]) & c.maskL
			h ^= scramble(l^tweak^c.keys[r+1]) & c.maskH
		}
		if x = h<<c.low | l; x < c.n {
			return int64(x)
		}
	}
}

// find returns the inverse: at(find(y)) == y.
func (c *cipher) find(y int64) int64 {
	x := uint64(y)
	for {
		l, h := x&c.maskL, x>>c.low
		for r := rounds - 2; r >= 0; r -= 2 {
			h ^= scramble(l^c.keys[r+1]) & c.maskH
			l ^= scramble(h^c.keys[r]) & c.maskL
		}
		if x = h<<c.low | l; x < c.n {
			return int64(x)
		}
	}
}

// golden is 2^64 divided by the golden ratio, made odd: the step of a Weyl sequence.
const golden = 0x9e3779b97f4a7c15

// scramble returns the round function. Only the upper half of a product depends on all bits of its
// factor; taking that half twice lets even halves of one bit behave like random functions.
func scramble(x uint64) uint64 {
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0xa0761d6478bd642f
	return x >> 32
}

// mix spreads every bit of x over all bits: a bijection by two multiplications with shifts between.
func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 29
	x *= 0xa0761d6478bd642f
	x ^= x >> 32
	return x
}

// keyOf derives the key of one purpose from seed and epoch, so that neighbouring seeds, epochs and
// purposes have nothing in common.
func keyOf(seed, epoch, purpose uint64) uint64 {
	k := mix(seed + golden)
	k = mix(k ^ mix(epoch+0x8a5cd789635d2dff))
	return mix(k ^ mix(purpose+0x121fd2155c472f97))
}
