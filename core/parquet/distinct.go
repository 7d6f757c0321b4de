package parquet

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// Bounds of a dictionary. The values of one with more are as well written plain.
const (
	maxDistinct      = 1 << 16
	maxDistinctBytes = 1 << 20
	distinctHead     = 32 // bytes of the header of its page
)

// pays reports whether a dictionary and the numbers of n values take fewer bytes than plain ones.
func pays(distinct, dictionary, n int, plain int64) bool {
	numbers := (int64(n)*int64(codeBits(distinct)) + 7) / 8
	return distinct > 0 && int64(dictionary)+numbers+distinctHead < plain
}

// codeBits are the bits of a number of a dictionary. Some readers refuse numbers of no bits.
func codeBits(distinct int) int { return max(1, bitsOf(distinct-1)) }

// textSet numbers distinct texts in the order in which they come.
type textSet struct {
	seed   maphash.Seed
	data   []byte // texts behind their lengths
	starts []int64
	hashes []uint64
	slots  []int32 // numbers plus one, by hash
}

func newTextSet() *textSet {
	return &textSet{seed: maphash.MakeSeed(), slots: make([]int32, 1<<8)}
}

func (s *textSet) length(number int32) int { return int(le32(s.data[s.starts[number]:])) }

// add returns the number of a text.
func (s *textSet) add(text []byte) int32 {
	h := maphash.Bytes(s.seed, text)
	mask := uint64(len(s.slots) - 1)
	at := h & mask
	for ; s.slots[at] != 0; at = (at + 1) & mask {
		number := s.slots[at] - 1
		if s.hashes[number] != h {
			continue
		}
		if from := s.starts[number] + 4; bytes.Equal(text, s.data[from:from+int64(s.length(number))]) {
			return number
		}
	}
	number := int32(len(s.starts))
	s.slots[at] = number + 1
	s.starts = append(s.starts, int64(len(s.data)))
	s.hashes = append(s.hashes, h)
	s.data = binary.LittleEndian.AppendUint32(s.data, uint32(len(text)))
	s.data = append(s.data, text...)
	if 2*len(s.starts) > len(s.slots) {
		s.grow()
	}
	return number
}

func (s *textSet) grow() {
	s.slots = make([]int32, 4*len(s.slots))
	mask := uint64(len(s.slots) - 1)
	for number, h := range s.hashes {
		at := h & mask
		for ; s.slots[at] != 0; at = (at + 1) & mask {
		}
		s.slots[at] = int32(number) + 1
	}
}

// distinctTexts numbers all texts, which lie behind their lengths. It gives up on too many.
func distinctTexts(p []byte, codes []int32) (*textSet, []int32) {
	s := newTextSet()
	for at := 0; at < len(p); {
		size := int(le32(p[at:]))
		if size > maxDistinctBytes {
			return nil, codes
		}
		codes = append(codes, s.add(p[at+4:at+4+size]))
		if at += 4 + size; len(s.starts) > maxDistinct || len(s.data) > maxDistinctBytes {
			return nil, codes
		}
	}
	return s, codes
}

// numberSet numbers distinct values of a width, as textSet does.
type numberSet struct {
	width  int
	data   []byte // the values
	n      int
	direct []int32 // numbers plus one, by values of one or two bytes
	keys   []uint64
	slots  []int32
}

func newNumberSet(width int) *numberSet {
	s := &numberSet{width: width}
	if width <= 2 {
		s.direct = make([]int32, 1<<(8*width))
		return s
	}
	s.keys, s.slots = make([]uint64, 1<<8), make([]int32, 1<<8)
	return s
}

// slot returns the place of a value in the table: its own, or an empty one.
func (s *numberSet) slot(v uint64) int {
	mask := len(s.slots) - 1
	at := int((v^v>>32)*0x9e3779b97f4a7c15>>40) & mask
	for s.slots[at] != 0 && s.keys[at] != v {
		at = (at + 1) & mask
	}
	return at
}

func (s *numberSet) append(v uint64) int32 {
	s.data = binary.LittleEndian.AppendUint64(s.data, v)[:len(s.data)+s.width]
	s.n++
	return int32(s.n)
}

// add adds values. It is false if there are more than most distinct ones.
func (s *numberSet) add(p []byte, most int) bool {
	var block [256]uint64
	for len(p) > 0 && s.n <= most {
		n := load(block[:], p, s.width)
		for _, v := range block[:n] {
			if s.direct != nil {
				if s.direct[v] == 0 {
					s.direct[v] = s.append(v)
				}
				continue
			}
			if at := s.slot(v); s.slots[at] == 0 {
				s.keys[at], s.slots[at] = v, s.append(v)
				if 2*s.n > len(s.slots) {
					s.grow()
				}
			}
		}
		p = p[n*s.width:]
	}
	return s.n <= most
}

func (s *numberSet) grow() {
	keys, slots := s.keys, s.slots
	s.keys, s.slots = make([]uint64, 4*len(keys)), make([]int32, 4*len(slots))
	for i, number := range slots {
		if number != 0 {
			at := s.slot(keys[i])
			s.keys[at], s.slots[at] = keys[i], number
		}
	}
}

// codes appends the numbers of values, all of which were added.
func (s *numberSet) codes(dst []int32, p []byte) []int32 {
	var block [256]uint64
	for len(p) > 0 {
		n := load(block[:], p, s.width)
		for _, v := range block[:n] {
			if s.direct != nil {
				dst = append(dst, s.direct[v]-1)
			} else {
				dst = append(dst, s.slots[s.slot(v)]-1)
			}
		}
		p = p[n*s.width:]
	}
	return dst
}

// load reads as many numbers of a width as fit, and returns how many they are.
func load(dst []uint64, p []byte, width int) int {
	n := min(len(dst), len(p)>>(bits.Len(uint(width))-1))
	dst = dst[:n]
	switch width {
	case 1:
		for i := range dst {
			dst[i] = uint64(p[i])
		}
	case 2:
		for i := range dst {
			dst[i] = uint64(binary.LittleEndian.Uint16(p[2*i:]))
		}
	case 4:
		for i := range dst {
			dst[i] = uint64(binary.LittleEndian.Uint32(p[4*i:]))
		}
	default:
		for i := range dst {
			dst[i] = binary.LittleEndian.Uint64(p[8*i:])
		}
	}
	return n
}
