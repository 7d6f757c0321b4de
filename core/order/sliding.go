package order

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"slices"
	"sort"

	"deeplake/core/errs"
)

// Bounds of sliding windows.
const (
	// smaller windows mix more blocks if these are smaller than those of a sliding window
	leastSlidingBytes = 512 << 20
	// larger sets would need too much memory for a number for each block
	mostSlidingBytes = 1 << 40
	slidingMemory    = 2 // bytes of unread slices, as a multiple of shuffle_bytes
	mostSlices       = 32
	leastSliceBytes  = 192 << 10
	mostUnread       = 1 << 14 // unread slices, about: each may be memory of its own
)

// Slides reports whether windows should slide over the blocks of a view. The view must be larger
// than the bytes that a loader holds by default: a smaller view is requested once.
func (o Options) Slides(rows, rowBytes int64) bool {
	rowBytes = max(rowBytes, 1)
	return o.Shuffle == Window && o.Weights == nil && o.ShuffleBytes >= leastSlidingBytes &&
		rows > o.ShuffleBytes/rowBytes*5/2 && rows <= mostSlidingBytes/rowBytes
}

// newSlidingOrder chooses the slices of blocks, and the blocks that a window opens. starts holds
// the first row of each block, and the number of rows.
func newSlidingOrder(seed uint64, rowBytes, windowBytes int64, starts []int64) Order {
	blocks := int64(len(starts) - 1)
	rows := starts[blocks]
	blockBytes := max(rows*max(rowBytes, 1)/blocks, 1)
	o := Order{Version: SlidingVersion, Kind: Window, Rows: rows, Seed: seed, Slices: 1, Layout: digestOf(starts)}
	sliceBytes := max(leastSliceBytes, slidingMemory*windowBytes/mostUnread)
	for o.Slices < mostSlices && 2*o.Slices <= blockBytes/sliceBytes {
		o.Slices *= 2 // a slice has no row if there are fewer rows: the first windows stay small
	}
	// Open blocks have (Slices + 1) / 2 unread slices on average. One more group is being read.
	group := float64(blockBytes) * float64(o.Slices+3) / 2
	o.OpenBlocks = max(int64(slidingMemory*float64(windowBytes)/group), 1)
	return o
}

// digestOf returns the digest of numbers.
func digestOf(numbers []int64) string {
	sum := sha256.New()
	var word [8]byte
	for _, n := range numbers {
		binary.LittleEndian.PutUint64(word[:], uint64(n))
		sum.Write(word[:])
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

func (o Order) checkSliding() error {
	if o.Kind != Window || o.Draw != "" || o.OpenBlocks < 1 || o.OpenBlocks > maxBlocks || o.Slices < 1 || o.Slices > mostSlices || o.Slices&(o.Slices-1) != 0 || o.Layout == "" {
		return errs.New(errs.Invalid, "order %q that opens %d blocks a window, in %d slices, by layout %q: want %q, 1 block to 2^48, and a power of two up to %d", o.Kind, o.OpenBlocks, o.Slices, o.Layout, Window, mostSlices)
	}
	return nil
}

// checkBlocks refuses blocks that do not partition the rows of a view.
func checkBlocks(starts []int64, rows int64) error {
	n := len(starts) - 1
	if n < 1 || starts[0] != 0 || starts[n] != rows || !slices.IsSorted(starts) {
		return errs.New(errs.Internal, "blocks of an order do not partition its %d rows", rows)
	}
	return nil
}

// sliding holds the sliding windows of one epoch. It is immutable and safe in parallel.
//
// Order version 4: the blocks are opened in an order that is spread evenly over the view. Window w
// opens the next OpenBlocks of them. It takes a slice of each block that one of the last Slices
// windows has opened. Slice i of a block is the part of its rows that is i-th in an order of its
// own. Slices that remain when all blocks are open are permuted and cut into equal windows. The
// rows of a slice are permuted among themselves. Then the balanced permutation of key w+1 permutes
// the rows of window w; its slices are in the order in which ranks divide them.
// docs/design/order.md gives the reasons.
type sliding struct {
	starts []int64 // of the blocks, and their end
	count  int64   // slices of a block
	open   int64   // blocks that a window opens
	blocks []int32 // in the order in which they are opened; a place is an index into it
	key    uint64  // of the order of slices
	groups int64   // windows that open blocks
	rest   []int64 // numbers of the slices in later windows, in order
	begins []int64 // first positions of the windows, and the end
}

// newSliding computes the windows of an epoch: a step for each slice.
func newSliding(o *Order, starts []int64, epoch uint64) *sliding {
	s := &sliding{starts: starts, count: o.Slices, open: o.OpenBlocks, blocks: spread(len(starts)-1, keyOf(o.Seed, epoch, 0)), key: keyOf(o.Seed, epoch, slicePurpose)}
	n := int64(len(s.blocks))
	s.groups = (n-1)/s.open + 1
	var left []int64
	for place := max(0, s.groups-s.count+1) * s.open; place < n; place++ {
		for i := s.groups - place/s.open; i < s.count; i++ {
			left = append(left, place*s.count+i)
		}
	}
	windows := s.groups
	if len(left) > 0 {
		c := newCipher(int64(len(left)), keyOf(o.Seed, epoch, slicePurpose+1))
		s.rest = make([]int64, len(left))
		for i := range s.rest {
			s.rest[i] = left[c.at(int64(i))]
		}
		windows += (int64(len(left))-1)/(s.open*s.count) + 1
	}
	s.begins = make([]int64, windows+1)
	for w := range windows {
		rows := int64(0)
		s.each(w, func(number int64) {
			from, to := s.slice(number)
			rows += to - from
		})
		s.begins[w+1] = s.begins[w] + rows
	}
	return s
}

// spread returns a permutation of [0, n) of which every prefix lies evenly in the range: the van
// der Corput sequence in base 2, scrambled (Owen, "Randomly Permuted (t,m,s)-Nets and
// (t,s)-Sequences", 1995), without the numbers from n on.
func spread(n int, key uint64) []int32 {
	width := bits.Len(uint(n - 1))
	out := make([]int32, 0, n)
	for i := range uint64(1) << width {
		x := bits.Reverse64(i) >> (64 - width) // a shift by 64 is 0
		y := x
		for d := range width { // a bit is flipped or not, by the bits above it
			y ^= mix(key^(x>>(d+1))<<6^uint64(d)) & 1 << d
		}
		if y < uint64(n) {
			out = append(out, int32(y))
		}
	}
	return out
}

// each calls do with the numbers of the slices of window w. A number is the place of the block
// times count, plus i for the slice that is i-th.
func (s *sliding) each(w int64, do func(number int64)) {
	if w >= s.groups {
		n, k := int64(len(s.rest)), int64(len(s.begins))-1-s.groups
		for _, number := range s.rest[(w-s.groups)*n/k : (w-s.groups+1)*n/k] {
			do(number)
		}
		return
	}
	for place := max(0, w-s.count+1) * s.open; place < min((w+1)*s.open, int64(len(s.blocks))); place++ {
		do(place*s.count + w - place/s.open)
	}
}

// opened returns the rows of the blocks that windows [from, to) open, as runs in order.
func (s *sliding) opened(from, to int64) [][2]int64 {
	var runs [][2]int64
	for place := from * s.open; place < min(to*s.open, int64(len(s.blocks))); place++ {
		b := s.blocks[place]
		runs = append(runs, [2]int64{s.starts[b], s.starts[b+1]})
	}
	slices.SortFunc(runs, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	return runs
}

// slice returns the rows [from, to) of a slice.
func (s *sliding) slice(number int64) (from, to int64) {
	block := int64(s.blocks[number/s.count])
	i := number%s.count ^ int64(mix(s.key^uint64(block)))&(s.count-1)
	start, rows := s.starts[block], s.starts[block+1]-s.starts[block]
	return start + rows*i/s.count, start + rows*(i+1)/s.count
}

// slidingWindow is the slices of the window that a cursor is in, in the order of their parts.
type slidingWindow struct {
	keys     []uint64 // of the slices while they are sorted: part, and place among those below
	unsorted []int64
	numbers  []int64
	from     []int64 // first rows
	ends     []int64 // rows of the window up to the end of each slice
}

// openSliding enters the window of a position.
func (w *Cursor) openSliding(pos int64) {
	s, v := w.sliding, &w.slices
	at := int64(sort.Search(len(s.begins), func(i int) bool { return s.begins[i] > pos })) - 1
	v.keys, v.unsorted = v.keys[:0], v.unsorted[:0]
	v.numbers, v.from, v.ends = v.numbers[:0], v.from[:0], v.ends[:0]
	s.each(at, func(number int64) {
		if from, to := s.slice(number); from < to {
			v.keys = append(v.keys, uint64(partOf(number/s.count))<<32|uint64(len(v.keys)))
			v.unsorted = append(v.unsorted, number)
		}
	})
	slices.Sort(v.keys)
	rows := int64(0)
	for _, key := range v.keys {
		number := v.unsorted[uint32(key)]
		from, to := s.slice(number)
		rows += to - from
		v.numbers, v.from, v.ends = append(v.numbers, number), append(v.from, from), append(v.ends, rows)
	}
	w.window = window{index: at, blocks: int64(len(v.numbers)), begin: s.begins[at], rows: rows}
	w.window.inner = newBalanced(rows, keyOf(w.order.Seed, w.epoch, uint64(at)+1))
}

// partOf returns the part of a block of sliding windows by its place: a number whose high bits
// divide the blocks among ranks. It is the second dimension of Sobol's sequence, as the order of
// opening follows the first. So any run of places is spread evenly over the parts, and the blocks
// of a part over the view (Sobol, "On the distribution of points in a cube", 1967).
func partOf(place int64) (part uint32) {
	for v := uint32(1) << 31; place > 0; place, v = place>>1, v^v>>1 {
		if place&1 == 1 {
			part ^= v
		}
	}
	return part
}

// sliceAt returns which slice of the window has the row at one position, and its slot there.
func (w *Cursor) sliceAt(pos int64) (i int, slot int64) {
	if pos < w.window.begin || pos >= w.window.begin+w.window.rows {
		w.openSliding(pos)
	}
	ends := w.slices.ends
	slot = w.window.inner.at(pos - w.window.begin)
	if i = sort.Search(len(ends), func(i int) bool { return ends[i] > slot }); i > 0 {
		slot -= ends[i-1]
	}
	return i, slot
}

// slide returns the row at one position.
func (w *Cursor) slide(pos int64) int64 {
	i, slot := w.sliceAt(pos)
	v := &w.slices
	rows := v.ends[i]
	if i > 0 {
		rows -= v.ends[i-1]
	}
	return v.from[i] + w.shuffled(slot, rows, v.numbers[i])
}

// slidingRuns lists the rows of the window that the cursor is in, as runs in order.
func (w *Cursor) slidingRuns() [][2]int64 {
	v := &w.slices
	runs := make([][2]int64, len(v.from))
	before := int64(0)
	for i, from := range v.from {
		runs[i] = [2]int64{from, from + v.ends[i] - before}
		before = v.ends[i]
	}
	slices.SortFunc(runs, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	return runs
}

// part returns the part, of windowParts, of the window that the block of a position belongs to.
// Ranks divide the parts. A block of sliding windows is in one part in all of its windows.
func (w *Cursor) part(pos int64) int32 {
	if w.sliding != nil {
		i, _ := w.sliceAt(pos)
		return int32(w.slices.keys[i] >> (64 - windowPartBits))
	}
	block, _ := w.find(pos)
	return int32(float64(block-w.window.first) / float64(w.window.blocks) * windowParts)
}
