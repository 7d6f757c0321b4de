package transform

import "math/bits"

// Key names the sample whose random choices are wanted.
type Key struct {
	Seed  uint64
	Epoch int64
	Row   int64 // in the dataset
}

// source draws for one step of one sample. It is Philox4x32-10 of Salmon, Moraes, Dror and Shaw,
// "Parallel random numbers: as easy as 1, 2, 3" (SC 2011): any draw is computed by itself.
type source struct {
	key  [2]uint32
	ctr  [4]uint32 // number of the draw, step, row
	left []uint32
	out  [4]uint32
}

// newSource begins the draws of a step. The key is drawn from the seed by epoch and stream, so that
// these do not share a counter with the rows.
func newSource(k Key, stream uint32, step int) source {
	e := uint64(k.Epoch)
	sub := philox([4]uint32{uint32(e), uint32(e >> 32), stream, 0x5eed}, [2]uint32{uint32(k.Seed), uint32(k.Seed >> 32)})
	return source{key: [2]uint32{sub[0], sub[1]}, ctr: [4]uint32{0, uint32(step), uint32(k.Row), uint32(uint64(k.Row) >> 32)}}
}

// philox is one block of the generator.
func philox(c [4]uint32, k [2]uint32) [4]uint32 {
	for range 10 {
		hi0, lo0 := bits.Mul32(0xd2511f53, c[0])
		hi1, lo1 := bits.Mul32(0xcd9e8d57, c[2])
		c = [4]uint32{hi1 ^ c[1] ^ k[0], lo1, hi0 ^ c[3] ^ k[1], lo0}
		k[0] += 0x9e3779b9
		k[1] += 0xbb67ae85
	}
	return c
}

func (s *source) word() uint64 {
	if len(s.left) < 2 {
		s.out = philox(s.ctr, s.key)
		s.ctr[0]++
		s.left = s.out[:]
	}
	w := uint64(s.left[0])<<32 | uint64(s.left[1])
	s.left = s.left[2:]
	return w
}

// unit is uniform in [0, 1).
func (s *source) unit() float64 { return float64(s.word()>>11) / (1 << 53) }

// between is uniform in [a, b).
func (s *source) between(a, b float64) float64 { return a + float64((b-a)*s.unit()) }

// below is uniform in [0, n), n > 0.
func (s *source) below(n int) int {
	hi, _ := bits.Mul64(s.word(), uint64(n))
	return int(hi)
}

// streamOf makes a number of the name of a picture, so that two pictures of a row are changed
// independently.
func streamOf(name string) uint32 {
	h := uint32(2166136261) // FNV-1a
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return h
}
