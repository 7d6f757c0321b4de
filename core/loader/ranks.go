package loader

import (
	"deeplake/core/errs"
)

// The ways to end an epoch whose rows are no multiple of the global batch, the rows that all ranks
// take in one step. Whatever the way, all ranks take the same number of steps.
const (
	// the last rows are spread so that the ranks' numbers differ by one at most; a rank left with
	// none repeats one
	TailExact = "exact"
	TailDrop  = "drop" // the last rows are left out
	TailPad   = "pad"  // rows from the start of the epoch fill the last batches up
)

// ValidName is the column that says which rows count: false marks a row that was repeated. With
// TailPad every batch has it; with TailExact those of a step in which some rank had to repeat a
// row, on every rank.
const ValidName = "_valid"

// MaxWorld bounds the number of ranks.
const MaxWorld = 1 << 20

// Pass is the part of an epoch that one rank goes through. The zero value is all of epoch 0.
type Pass struct {
	Epoch int64 `json:"epoch"`
	// in the order of the epoch; what lies before it was delivered, by whatever ranks
	Position int64 `json:"position"`
	Rank     int   `json:"rank"`
	World    int   `json:"world_size"` // number of ranks; 0: 1
}

func (p Pass) check(rows int64) (Pass, error) {
	p.World = defaultTo(p.World, 1)
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

// positions is the number of samples of an epoch.
func (o Order) positions() int64 { return o.Rows }

// share says which rows of an epoch a rank takes, batch by batch. A global batch is the same set of
// rows whatever the number of ranks; only how it is cut depends on them. Its plain numbers are
// fixed; fill and what calls it remember things, so each goroutine has its own.
//
// The local positions of a share count the rows that the rank takes, from the start of the pass.
type share struct {
	cursor *orderCursor
	total  int64 // positions of the epoch
	from   int64 // the first position of the pass
	batch  int64 // rows of a rank in a step
	rank   int64
	world  int64
	tail   string

	keys   []int32 // of the positions of a global batch: the shelves of their blocks
	counts []int32 // of positions, by pool
	whole  []int64 // a batch of which a part is asked for
}

// newShare makes the share of a pass. Without a cursor it tells numbers only.
func newShare(w *orderCursor, total int64, p Pass, batch int64, tail string) *share {
	return &share{cursor: w, total: total, from: p.Position, batch: batch, rank: int64(p.Rank), world: int64(p.World), tail: tail}
}

// step is the number of rows that all ranks take at once.
func (s *share) step() int64 { return s.batch * s.world }

// alone reports whether local positions follow each other in the epoch: there is one rank.
func (s *share) alone() bool { return s.world == 1 }

// steps is the number of batches, the same on every rank.
func (s *share) steps() int64 {
	left := s.total - s.from
	if s.tail != TailDrop {
		left += s.step() - 1
	}
	return left / s.step()
}

// reach is the number of rows that ranks together get in step seq, repeated ones aside.
func (s *share) reach(seq int64) int64 { return min(s.step(), s.total-s.from-seq*s.step()) }

// behind is the position that is reached when step seq is over.
func (s *share) behind(seq int64) int64 { return s.from + seq*s.step() + s.reach(seq) }

// cut is where the part of a rank begins in the n rows of a step, once they are in the order that
// they are cut in.
func (s *share) cut(rank, n int64) int64 {
	if s.tail == TailExact {
		return rank*(n/s.world) + min(rank, n%s.world)
	}
	return min(rank*s.batch, n)
}

// valid is the number of rows of the batch seq that are not repeated. They come first.
func (s *share) valid(seq int64) int64 {
	n := s.reach(seq)
	return s.cut(s.rank+1, n) - s.cut(s.rank, n)
}

// size is the number of rows of the batch seq.
func (s *share) size(seq int64) int64 {
	if s.tail == TailExact {
		return max(s.valid(seq), 1)
	}
	return s.batch
}

// marked reports whether the batch seq says which of its rows are valid.
func (s *share) marked(seq int64) bool { return s.tail == TailPad || s.reach(seq) < s.world }

// marks reports whether any batch does.
func (s *share) marks() bool {
	n := s.steps()
	return n > 0 && s.marked(n-1)
}

// length is the number of local positions.
func (s *share) length() int64 {
	n := s.steps()
	if n == 0 {
		return 0
	}
	return (n-1)*s.batch + s.size(n-1)
}

// fill writes the rows of the batch seq, len(rows) == size(seq), in the order of the epoch.
func (s *share) fill(rows []int64, seq int64) {
	base, n := s.from+seq*s.step(), s.reach(seq)
	lo, hi := s.cut(s.rank, n), s.cut(s.rank+1, n)
	if first, last, ok := s.group(base); ok && n > 1 {
		s.pick(rows[:hi-lo], base, n, [2]int64{s.cut(first, n), s.cut(last, n)})
	} else {
		s.cursor.fill(rows[:hi-lo], base+lo)
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
func (s *share) fillFrom(rows []int64, from int64) {
	if s.alone() {
		n := max(min(int64(len(rows)), s.total-s.from-from), 0)
		s.cursor.fill(rows[:n], s.from+from)
		rows, from = rows[n:], from+n
	}
	for len(rows) > 0 {
		seq := from / s.batch
		size := s.size(seq)
		s.whole = grown(s.whole, size)
		s.fill(s.whole, seq)
		n := copy(rows, s.whole[from-seq*s.batch:])
		rows, from = rows[n:], from+int64(n)
	}
}

// Under a windowed shuffle, the rows of any batch lie all over the window. Were a global batch cut
// by position, every rank would read every block of every window: the dataset, as many times as
// there are ranks. So ranks share out the blocks of a window, and each takes rows of its own
// blocks.
const (
	// fewBlocksMix is how many blocks of a window a rank draws its rows from at least: ranks with
	// fewer share theirs with their neighbours, as far as reading does not grow by more than
	// mostSharing.
	fewBlocksMix = 16
	mostSharing  = 4
	// shelves is what the blocks of any window are sorted into: a step that begins in one window
	// and ends in the next is cut at the same part of both.
	shelves = 1 << 14
)

// group is the ranks [first, last) that share blocks with this one in the step at base, which by
// position is in one window or begins there. Without ok all of them do.
func (s *share) group(base int64) (first, last int64, ok bool) {
	if s.alone() || s.cursor.order.Kind != Window {
		return 0, s.world, false
	}
	s.cursor.row(base)
	groups := min(max(s.cursor.window.blocks/fewBlocksMix, (s.world+mostSharing-1)/mostSharing), s.world)
	g := s.rank * groups / s.world
	return (g*s.world + groups - 1) / groups, ((g+1)*s.world + groups - 1) / groups, groups > 1
}

// pick writes the rows that are this rank's among the n at base. Ordered by block, those of its
// group are [run[0], run[1]); among these ranks they are cut by position.
func (s *share) pick(rows []int64, base, n int64, run [2]int64) {
	w := s.cursor
	s.keys, s.counts = grown(s.keys, n), grown(s.counts, shelves)
	clear(s.counts)
	for i := range s.keys {
		block, _ := w.find(base + int64(i))
		s.keys[i] = int32(float64(block-w.window.first) / float64(w.window.blocks) * shelves)
		s.counts[s.keys[i]]++
	}
	sum := int32(0)
	for k, c := range s.counts {
		s.counts[k], sum = sum, sum+c
	}
	// of the rows of the group, those of the ranks before this one
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

// window is the local positions of the batches that begin in the window of the batch at local
// position at: from the first of them, which may be before the pass, to the end of the last.
func (s *share) window(at int64) (begin, end int64) {
	if s.alone() {
		s.cursor.row(min(s.from+at, s.total-1)) // behind the last row it is repeated
		v := &s.cursor.window
		if end = v.begin + v.rows - s.from; v.begin+v.rows == s.total {
			end = s.length() // repeated rows come last
		}
		return v.begin - s.from, min(end, s.length())
	}
	s.cursor.row(s.from + at/s.batch*s.step())
	v := &s.cursor.window
	first, last := ceil(v.begin-s.from, s.step()), ceil(v.begin+v.rows-s.from, s.step())
	return first * s.batch, min(last*s.batch, s.length())
}

// ceil divides and rounds up; a may be negative.
func ceil(a, b int64) int64 {
	if a < 0 {
		return -(-a / b)
	}
	return (a + b - 1) / b
}

// grown is a slice of n elements in the memory of s, if they fit.
func grown[T any](s []T, n int64) []T {
	if int64(cap(s)) < n {
		return make([]T, n)
	}
	return s[:n]
}
