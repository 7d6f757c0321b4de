package order

import (
	"cmp"
	"slices"

	"deeplake/core/errs"
)

// The ways to end an epoch with a partial last global batch. A global batch is the rows that all
// ranks take in one step. In every way all ranks take the same number of steps.
const (
	// the last rows are spread so that the ranks' numbers differ by at most one; a rank without a
	// row repeats one
	TailExact = "exact"
	TailDrop  = "drop" // the last rows are left out
	TailPad   = "pad"  // rows from the start of the epoch fill the last batches up
)

// MaxWorld bounds the number of ranks.
const MaxWorld = 1 << 20

// Pass is the part of an epoch that one rank goes through. The zero value is all of epoch 0.
type Pass struct {
	Epoch int64 `json:"epoch"`
	// in the order of the epoch; earlier positions were delivered, by any ranks
	Position int64 `json:"position"`
	Rank     int   `json:"rank"`
	World    int   `json:"world_size"` // number of ranks; 0: 1
}

// Check fills in the defaults of a pass over rows positions, and refuses one outside of them.
func (p Pass) Check(rows int64) (Pass, error) {
	p.World = cmp.Or(p.World, 1)
	switch {
	case p.Epoch < 0:
		return p, errs.New(errs.Invalid, "epoch is %d, want at least 0", p.Epoch)
	case p.World < 1 || p.World > MaxWorld:
		return p, errs.New(errs.Invalid, "world_size is %d, want 1 to %d", p.World, MaxWorld)
	case p.Rank < 0 || p.Rank >= p.World:
		return p, errs.New(errs.Invalid, "rank is %d, want 0 to %d, as world_size is %d", p.Rank, p.World-1, p.World)
	case p.Position < 0 || p.Position > rows:
		return p, errs.New(errs.Invalid, "position is %d, want 0 to %d, the rows of an epoch", p.Position, rows)
	}
	return p, nil
}

// Share computes the rows of an epoch that a rank takes, batch by batch. A global batch is the same
// set of rows for every number of ranks. Only its division depends on the ranks.
//
// The local positions of a share count the rows that the rank takes, from the start of the pass.
//
// Methods that return rows use buffers of the share, so each goroutine has its own.
type Share struct {
	cursor *Cursor
	total  int64 // positions of the epoch
	from   int64 // the first position of the pass
	batch  int64 // rows of a rank in a step
	rank   int64
	world  int64
	tail   string

	keys   []int32 // of the positions of a global batch: the window parts of their blocks
	counts []int32 // of positions, by part
	whole  []int64 // a batch of which a part is requested
	sorted []int64 // rows of Runs
	opened int64   // sliding windows before it are those of earlier calls of Opened
}

// Share returns the share of a pass, of batch rows a step and rank.
func (c *EpochOrder) Share(p Pass, batch int64, tail string) *Share {
	s := c.order.Share(p, batch, tail)
	s.cursor = c.Cursor(uint64(p.Epoch))
	return s
}

// Share returns a share that counts the rows of a pass. It cannot compute them.
func (o Order) Share(p Pass, batch int64, tail string) *Share {
	return &Share{total: o.Rows, from: p.Position, batch: batch, rank: int64(p.Rank), world: int64(p.World), tail: tail}
}

// step returns the number of rows that all ranks take at once.
func (s *Share) step() int64 { return s.batch * s.world }

// World returns the number of ranks.
func (s *Share) World() int64 { return s.world }

// Alone reports whether there is one rank. Its local positions are then contiguous in the epoch.
func (s *Share) Alone() bool { return s.world == 1 }

// Steps returns the number of batches, the same on every rank.
func (s *Share) Steps() int64 {
	left := s.total - s.from
	if s.tail != TailDrop {
		left += s.step() - 1
	}
	return left / s.step()
}

// reach counts the rows that all ranks together get in step seq, without repeated ones.
func (s *Share) reach(seq int64) int64 { return min(s.step(), s.total-s.from-seq*s.step()) }

// Behind returns the position behind step seq.
func (s *Share) Behind(seq int64) int64 { return s.from + seq*s.step() + s.reach(seq) }

// cut returns where the part of a rank begins in the n rows of a step, once these are in the order
// of the division.
func (s *Share) cut(rank, n int64) int64 {
	if s.tail == TailExact {
		return rank*(n/s.world) + min(rank, n%s.world)
	}
	return min(rank*s.batch, n)
}

// Valid counts the rows of the batch seq that are not repeated. They come first.
func (s *Share) Valid(seq int64) int64 {
	n := s.reach(seq)
	return s.cut(s.rank+1, n) - s.cut(s.rank, n)
}

// Size counts the rows of the batch seq.
func (s *Share) Size(seq int64) int64 {
	if s.tail == TailExact {
		return max(s.Valid(seq), 1)
	}
	return s.batch
}

// Marked reports whether the batch seq must say which of its rows are valid.
func (s *Share) Marked(seq int64) bool { return s.tail == TailPad || s.reach(seq) < s.world }

// Marks reports whether any batch is Marked.
func (s *Share) Marks() bool {
	n := s.Steps()
	return n > 0 && s.Marked(n-1)
}

// Length counts the local positions.
func (s *Share) Length() int64 {
	n := s.Steps()
	if n == 0 {
		return 0
	}
	return (n-1)*s.batch + s.Size(n-1)
}

// Fill writes the rows of the batch seq, len(rows) == Size(seq), in the order of the epoch.
func (s *Share) Fill(rows []int64, seq int64) {
	base, n := s.from+seq*s.step(), s.reach(seq)
	lo, hi := s.cut(s.rank, n), s.cut(s.rank+1, n)
	if first, last, ok := s.group(base); ok && n > 1 {
		s.pick(rows[:hi-lo], base, n, [2]int64{s.cut(first, n), s.cut(last, n)})
	} else {
		s.cursor.Fill(rows[:hi-lo], base+lo)
	}
	for i := hi - lo; i < int64(len(rows)); i++ {
		again := base + s.rank%n
		if s.tail == TailPad {
			again = (s.rank*s.batch + i - n) % s.total
		}
		rows[i] = s.cursor.row(again)
	}
}

// fillFrom writes the rows of the local positions from, from+1, ... into rows.
func (s *Share) fillFrom(rows []int64, from int64) {
	if s.Alone() {
		n := max(min(int64(len(rows)), s.total-s.from-from), 0)
		s.cursor.Fill(rows[:n], s.from+from)
		rows, from = rows[n:], from+n
	}
	for len(rows) > 0 {
		seq := from / s.batch
		size := s.Size(seq)
		s.whole = grown(s.whole, size)
		s.Fill(s.whole, seq)
		n := copy(rows, s.whole[from-seq*s.batch:])
		rows, from = rows[n:], from+int64(n)
	}
}

// Under a windowed shuffle, the rows of any batch are scattered over the window. Divided by
// position, a global batch would make every rank read every block of every window: each rank would
// read the whole dataset. So ranks divide the blocks of a window, and each takes rows of its own
// blocks.
const (
	// fewBlocksMix is the number of blocks per rank in a window from which on a rank takes rows of
	// its own blocks alone. With fewer, mostSharing neighbours share their blocks, and each reads
	// mostSharing times as much.
	fewBlocksMix = 8
	mostSharing  = 2
	// windowParts is the number of equal parts that the blocks of a window are sorted into. A step
	// that begins in one window and ends in the next is divided at the same part of both.
	windowParts    = 1 << windowPartBits
	windowPartBits = 14
)

// group returns the ranks [first, last) that share blocks with this one in the step at base. The
// step's first position lies in one window. Without ok all ranks share blocks.
func (s *Share) group(base int64) (first, last int64, ok bool) {
	if s.Alone() || s.cursor.order.Kind != Window {
		return 0, s.world, false
	}
	s.cursor.row(base)
	n := int64(1)
	if s.cursor.window.blocks < fewBlocksMix*s.world {
		n = mostSharing
	}
	first = s.rank - s.rank%n
	return first, min(first+n, s.world), n < s.world
}

// pick writes the rows of this rank among the n at base. The rows of its group, sorted by block,
// are [run[0], run[1]). Within the group, rows are divided by position.
func (s *Share) pick(rows []int64, base, n int64, run [2]int64) {
	w := s.cursor
	s.keys, s.counts = grown(s.keys, n), grown(s.counts, windowParts)
	clear(s.counts)
	for i := range s.keys {
		s.keys[i] = w.part(base + int64(i))
		s.counts[s.keys[i]]++
	}
	sum := int32(0)
	for k, c := range s.counts {
		s.counts[k], sum = sum, sum+c
	}
	// count the group's rows of the ranks before this one
	skip := s.cut(s.rank, n) - run[0]
	taken := 0
	for i, k := range s.keys {
		at := int64(s.counts[k])
		s.counts[k]++
		if at < run[0] || at >= run[1] {
			continue
		}
		if skip--; skip >= 0 {
			continue
		}
		if taken == len(rows) {
			return
		}
		rows[taken] = w.row(base + int64(i))
		taken++
	}
}

// Window returns the local positions of the batches that begin in the shuffle window of the batch
// at local position at: from the first batch, which may be before the pass, to the end of the last.
func (s *Share) Window(at int64) (begin, end int64) {
	if s.Alone() {
		s.cursor.row(min(s.from+at, s.total-1)) // behind the last row come repeated ones
		v := &s.cursor.window
		if end = v.begin + v.rows - s.from; v.begin+v.rows == s.total {
			end = s.Length() // repeated rows come last
		}
		return v.begin - s.from, min(end, s.Length())
	}
	s.cursor.row(s.from + at/s.batch*s.step())
	v := &s.cursor.window
	first, last := ceil(v.begin-s.from, s.step()), ceil(v.begin+v.rows-s.from, s.step())
	return first * s.batch, min(last*s.batch, s.Length())
}

// ceil divides and rounds up; a may be negative.
func ceil(a, b int64) int64 {
	if a < 0 {
		return -(-a / b)
	}
	return (a + b - 1) / b
}

// grown returns a slice of n elements, in the memory of s if they fit.
func grown[T any](s []T, n int64) []T {
	if int64(cap(s)) < n {
		return make([]T, n)
	}
	return s[:n]
}

// Runs returns the rows at local positions [from, to), as runs in order of rows.
func (s *Share) Runs(from, to int64) [][2]int64 {
	if s.cursor.order.Kind == Sequential && s.Alone() && s.from+to <= s.total {
		return [][2]int64{{s.from + from, s.from + to}}
	}
	s.sorted = grown(s.sorted, to-from)
	s.fillFrom(s.sorted, from)
	slices.Sort(s.sorted)
	return Runs(s.sorted)
}

// WindowRuns returns the rows of the shuffle window that the last call of Window was about, as runs
// in order of rows. It needs no step a row, unlike Runs. The share must be Alone.
func (s *Share) WindowRuns() [][2]int64 { return s.cursor.blockRuns() }

// Lifetime returns the most windows from the one that opens a block to the last that needs a slice
// of it; 0: windows do not slide.
func (s *Share) Lifetime() int {
	// Slices that are left over come in half as many windows as a block has slices.
	return int(s.cursor.order.Slices * 3 / 2)
}

// BlockRows returns the rows of a block on average, where windows slide.
func (s *Share) BlockRows() int64 {
	return ceil(s.cursor.of, max(int64(len(s.cursor.sliding.blocks)), 1))
}

// Opened returns the rows of the blocks that windows have opened since the last call, up to the
// window of the last call of Window: runs in order. It is nil if windows do not slide.
func (s *Share) Opened() [][2]int64 {
	w := s.cursor
	if w.sliding == nil {
		return nil
	}
	from := s.opened
	s.opened = w.window.index + 1
	return w.sliding.opened(from, s.opened)
}

// UnreadRows returns the rows of open blocks that later windows need, on average; 0: windows do not
// slide.
func (s *Share) UnreadRows() int64 {
	o := &s.cursor.order
	if s.cursor.sliding == nil {
		return 0
	}
	return o.OpenBlocks * s.BlockRows() * (o.Slices + 1) / 2
}

// Everything returns the number of rows of the view if the pass takes every one of them, in an
// order without windows; else 0.
func (s *Share) Everything() int64 {
	w := s.cursor
	whole := w.order.Kind == Full || w.order.Kind == Mixed && w.order.Rows >= w.of
	if !whole || w.draws != nil || !s.Alone() || s.from > 0 {
		return 0
	}
	return w.of
}

// Of returns the number of rows of the view.
func (s *Share) Of() int64 { return s.cursor.of }

// Kind returns the kind of the order.
func (s *Share) Kind() string { return s.cursor.order.Kind }
