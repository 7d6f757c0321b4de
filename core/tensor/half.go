package tensor

import "math"

// Half returns the value of the bits of a float16.
func Half(bits uint16) float32 {
	sign, rest := uint32(bits&0x8000)<<16, uint32(bits&0x7fff)
	switch {
	case rest >= 0x7c00: // infinite, or NaN
		return math.Float32frombits(sign | 0x7f800000 | (rest&0x3ff)<<13)
	case rest >= 0x400:
		return math.Float32frombits(sign | (rest<<13 + (127-15)<<23))
	}
	small := float32(rest) / (1 << 24)
	if sign != 0 {
		return -small
	}
	return small
}

// Brain returns the value of the bits of a bfloat16.
func Brain(bits uint16) float32 { return math.Float32frombits(uint32(bits) << 16) }

// ToHalf rounds v to float16, ties to even. A value that is too large becomes infinite, and NaN
// stays NaN.
func ToHalf(v float64) uint16 {
	b := math.Float64bits(v)
	sign, rest := uint16(b>>48&0x8000), b&^(1<<63)
	switch {
	case rest > 0x7ff0000000000000:
		return sign | 0x7e00
	case rest >= 0x40f0000000000000: // 65,536 and more
		return sign | 0x7c00
	case rest < 0x3f10000000000000: // subnormal: the addition rounds
		return sign | uint16(math.Float64bits(math.Float64frombits(rest)+1<<28)-0x41b0000000000000)
	}
	return sign | uint16((rest-0x3f00000000000000+0x1ffffffffff+rest>>42&1)>>42)
}

// ToBrain rounds v to bfloat16, ties to even. A value that is too large becomes infinite, and NaN
// stays NaN.
func ToBrain(v float32) uint16 {
	b := math.Float32bits(v)
	if v != v {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}
