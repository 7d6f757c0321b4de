package parquet

import (
	"encoding/binary"

	"deeplake/core/errs"
)

// The encodings of values and levels.
const (
	codingPlain       = 0
	codingPlainDict   = 2
	codingRLE         = 3
	codingBits        = 4 // of levels of old writers
	codingDelta       = 5
	codingDeltaLength = 6
	codingDeltaBytes  = 7
	codingDict        = 8
	codingSplit       = 9
)

// runs reads numbers of width bits, in runs of equal ones and groups of packed ones.
type runs struct {
	p     []byte
	width int
	equal int // numbers left of a run
	value uint32
	group []byte // packed numbers
	at    int    // number of the next one in group
	left  int    // numbers left in group
}

func newRuns(p []byte, width int) (*runs, error) {
	if width < 0 || width > 32 {
		return nil, errs.New(errs.Corrupt, "numbers have %d bits", width)
	}
	return &runs{p: p, width: width}, nil
}

// more reads the head of the next run or group.
func (r *runs) more() error {
	head, n := binary.Uvarint(r.p)
	if n <= 0 || head>>1 == 0 || head>>1 > 1<<31 {
		return errs.New(errs.Corrupt, "a page has fewer numbers than its header says")
	}
	r.p = r.p[n:]
	if head&1 == 0 {
		size := (r.width + 7) / 8
		if len(r.p) < size {
			return errs.New(errs.Corrupt, "a run of numbers is cut")
		}
		r.value = 0
		for i := range size {
			r.value |= uint32(r.p[i]) << (8 * i)
		}
		if r.width < 32 && r.value>>r.width != 0 {
			return errs.New(errs.Corrupt, "a number of %d bits is %d", r.width, r.value)
		}
		r.p, r.equal = r.p[size:], int(head>>1)
		return nil
	}
	count := int(head>>1) * 8
	size := int(head>>1) * r.width
	if size > len(r.p) {
		// The last group of some writers ends with its last number.
		if r.width == 0 || len(r.p)*8/r.width == 0 {
			return errs.New(errs.Corrupt, "a group of numbers is cut")
		}
		size, count = len(r.p), len(r.p)*8/r.width
	}
	r.group, r.p = r.p[:size], r.p[size:]
	r.at, r.left = 0, count
	return nil
}

// read fills dst with the next numbers.
func read[T byte | int32](r *runs, dst []T) error {
	for len(dst) > 0 {
		switch {
		case r.equal > 0:
			n := min(r.equal, len(dst))
			value := T(r.value)
			for i := range dst[:n] {
				dst[i] = value
			}
			r.equal -= n
			dst = dst[n:]
		case r.left > 0:
			n := min(r.left, len(dst))
			unpackBits(r.group, r.width, r.at, dst[:n])
			r.at += n
			r.left -= n
			dst = dst[n:]
		default:
			if err := r.more(); err != nil {
				return err
			}
		}
	}
	return nil
}

// unpackBits reads numbers of width bits from number at on. p has all of them.
func unpackBits[T byte | int32](p []byte, width, at int, dst []T) {
	if width == 0 {
		clear(dst)
		return
	}
	mask := uint64(1)<<width - 1
	bit := at * width
	i := 0
	for ; i < len(dst) && bit>>3+8 <= len(p); i++ {
		dst[i] = T(binary.LittleEndian.Uint64(p[bit>>3:]) >> (bit & 7) & mask)
		bit += width
	}
	for ; i < len(dst); i++ {
		dst[i] = T(tail(p[bit>>3:]) >> (bit & 7) & mask)
		bit += width
	}
}

// tail reads up to eight bytes as a number.
func tail(p []byte) (v uint64) {
	for i, b := range p[:min(8, len(p))] {
		v |= uint64(b) << (8 * i)
	}
	return v
}

// bitsOf returns the bits of the largest level.
func bitsOf(level int) (n int) {
	for ; level > 0; level >>= 1 {
		n++
	}
	return n
}

// deltas reads integers as the differences between them, in blocks of packed ones.
type deltas struct {
	p     []byte
	block int // integers of a block
	minis int // parts of a block, each with bits of its own
	total int
	done  int   // integers that were read
	value int64 // the last one
	least int64 // the smallest difference of the block
	bits  []byte
	mini  int    // number of the part
	part  []byte // packed differences of it
	left  int    // of them, not read
	at    int
}

// maxBlock bounds the integers of a block, so that a few bytes cannot stand for endless ones.
const maxBlock = 1 << 16

func newDeltas(p []byte) (*deltas, error) {
	d := &deltas{p: p}
	var head [3]uint64
	for i := range head {
		v, n := binary.Uvarint(d.p)
		if n <= 0 {
			return nil, errs.New(errs.Corrupt, "the head of integers is cut")
		}
		head[i], d.p = v, d.p[n:]
	}
	first, n := binary.Varint(d.p)
	if n <= 0 || head[0] == 0 || head[0] > maxBlock || head[1] == 0 || head[1] > head[0] || head[0]%head[1] != 0 || head[2] > 1<<31 {
		return nil, errs.New(errs.Corrupt, "the head of integers has blocks of %d in %d parts, and %d integers", head[0], head[1], head[2])
	}
	d.p, d.value = d.p[n:], first
	d.block, d.minis, d.total = int(head[0]), int(head[1]), int(head[2])
	return d, nil
}

// nextBlock reads the head of a block.
func (d *deltas) nextBlock() error {
	least, n := binary.Varint(d.p)
	if n <= 0 || len(d.p)-n < d.minis {
		return errs.New(errs.Corrupt, "a block of integers is cut")
	}
	d.least = least
	d.bits, d.p = d.p[n:n+d.minis], d.p[n+d.minis:]
	d.mini = 0
	return nil
}

// nextPart takes the bytes of the next part.
func (d *deltas) nextPart() error {
	if d.bits == nil || d.mini == d.minis {
		if err := d.nextBlock(); err != nil {
			return err
		}
	}
	width := int(d.bits[d.mini])
	count := d.block / d.minis
	size := (count*width + 7) / 8
	if width > 64 {
		return errs.New(errs.Corrupt, "differences have %d bits", width)
	}
	if size > len(d.p) { // the last part may end with its last integer
		if have := min(count, d.total-d.done); (have*width+7)/8 > len(d.p) {
			return errs.New(errs.Corrupt, "a block of integers is cut")
		}
		size = len(d.p)
	}
	d.part, d.p = d.p[:size], d.p[size:]
	d.left, d.at = count, 0
	d.mini++
	return nil
}

// read fills dst with the next integers.
func (d *deltas) read(dst []int64) error {
	if len(dst) > d.total-d.done {
		return errs.New(errs.Corrupt, "a page has fewer integers than its header says")
	}
	for i := range dst {
		if d.done == 0 {
			dst[i] = d.value
			d.done++
			continue
		}
		if d.left == 0 {
			if err := d.nextPart(); err != nil {
				return err
			}
		}
		width := int(d.bits[d.mini-1])
		d.value += d.least + int64(wideBits(d.part, width, d.at*width))
		d.at++
		d.left--
		d.done++
		dst[i] = d.value
	}
	return nil
}

// end returns the bytes behind all integers. Only a new reader has it.
func (d *deltas) end() ([]byte, error) {
	for d.done = min(1, d.total); d.done < d.total; {
		if err := d.nextPart(); err != nil {
			return nil, err
		}
		d.done += d.left
	}
	return d.p, nil
}

// wideBits reads a number of up to 64 bits.
func wideBits(p []byte, width, bit int) uint64 {
	if width == 0 {
		return 0
	}
	at, shift := bit>>3, bit&7
	var v uint64
	if at+8 <= len(p) {
		v = binary.LittleEndian.Uint64(p[at:]) >> shift
	} else {
		v = tail(p[min(at, len(p)):]) >> shift
	}
	if shift+width > 64 && at+8 < len(p) {
		v |= uint64(p[at+8]) << (64 - shift)
	}
	if width < 64 {
		v &= 1<<width - 1
	}
	return v
}
