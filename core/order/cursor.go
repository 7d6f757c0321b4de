package order

import (
	"cmp"
	"math/bits"
	"slices"
)

// Cursor computes the rows of one epoch. It remembers the window of the last position, so each
// goroutine has its own.
type Cursor struct {
	order  Order
	of     int64     // rows of the view
	draws  draws     // maps numbers of draws to rows; nil: the order is one of rows
	mix    *mixOrder // computes the rows of kind Mixed
	epoch  uint64
	outer  cipher // Full: of rows; Window: of blocks
	items  cipher // of the rows of a block or of a slice, tweaked by its number
	blocks int64
	short  int64 // rows that the last block lacks
	last   int64 // image of the last block under the outer cipher
	window window

	sliding *sliding // nil: the windows do not slide
	slices  slidingWindow
}

// window is a run of permuted blocks [first, first+blocks) that holds the positions [begin,
// begin+rows).
type window struct {
	index, first, blocks int64
	begin, rows          int64
	inner                balanced
}

func newCursor(o Order, epoch uint64) *Cursor {
	w := &Cursor{order: o, of: o.Rows, epoch: epoch}
	if o.Kind == Window {
		w.items = newCipher(max(o.BlockRows, 1), keyOf(o.Seed, epoch, itemPurpose))
	}
	switch {
	case o.Rows == 0 || o.Version == SlidingVersion:
	case o.Kind == Full:
		w.outer = newCipher(o.Rows, keyOf(o.Seed, epoch, 0))
	case o.Kind == Window:
		w.blocks = (o.Rows-1)/o.BlockRows + 1
		w.outer = newCipher(w.blocks, keyOf(o.Seed, epoch, 0))
		w.short = w.blocks*o.BlockRows - o.Rows
		w.last = w.outer.find(w.blocks - 1)
	}
	return w
}

// Fill writes the rows of the positions from, from+1, ... into rows. All must be below Order.Rows.
func (w *Cursor) Fill(rows []int64, from int64) {
	for i := range rows {
		rows[i] = w.row(from + int64(i))
	}
}

// row returns the row at one position.
func (w *Cursor) row(pos int64) int64 {
	if w.draws != nil {
		return w.draws.row(w.permuted(pos))
	}
	return w.permuted(pos)
}

// permuted returns the row at one position, or the number of the draw there.
func (w *Cursor) permuted(pos int64) int64 {
	switch w.order.Kind {
	case Full:
		if w.draws != nil {
			return pos // draws are in random order already
		}
		return w.outer.at(pos)
	case Window:
		if w.sliding != nil {
			return w.slide(pos)
		}
		block, slot := w.find(pos)
		rows := w.order.BlockRows
		if block == w.last {
			rows -= w.short
		}
		return w.outer.at(block)*w.order.BlockRows + w.shuffled(slot, rows, block)
	case Mixed:
		return w.mix.row(pos)
	}
	return pos
}

// find returns the permuted block of the row at one position of a windowed order, and its slot in
// that block.
func (w *Cursor) find(pos int64) (block, slot int64) {
	if pos < w.window.begin || pos >= w.window.begin+w.window.rows {
		w.open(pos)
	}
	v := &w.window
	slot = v.inner.at(pos - v.begin)
	// Slots count rows of the window block by block. Slots behind the short block move up, as if
	// it were full.
	if q := w.last - v.first; q >= 0 && slot >= (q+1)*w.order.BlockRows-w.short {
		slot += w.short
	}
	return v.first + slot/w.order.BlockRows, slot % w.order.BlockRows
}

// shuffled returns the row in the slot of a block or slice of rows rows, which are permuted.
func (w *Cursor) shuffled(item, rows, number int64) int64 {
	random := mix(w.items.keys[0] ^ uint64(number))
	if rows <= 3 { // each permutation is a rotation, or a rotation backwards
		if random&1 == 1 {
			item = rows - 1 - item
		}
		return rotated(item, rows, random)
	}
	if w.items.n != uint64(rows) {
		w.items.resize(rows)
	}
	// Few rows are not permuted evenly by a cipher alone.
	return rotated(w.items.tweaked(rotated(item, rows, random), random), rows, random*golden)
}

// rotated moves i on the circle [0, n) by a random number of steps, from the high bits of random.
func rotated(i, n int64, random uint64) int64 {
	by, _ := bits.Mul64(random, uint64(n))
	if i += int64(by); i >= n {
		i -= n
	}
	return i
}

// rowsBefore counts the rows in the first n permuted blocks.
func (w *Cursor) rowsBefore(n int64) int64 {
	rows := n * w.order.BlockRows
	if n > w.last {
		rows -= w.short
	}
	return rows
}

// open finds the window of a position: a step per doubling, then one division.
func (w *Cursor) open(pos int64) {
	v := window{blocks: w.order.FirstBlocks}
	full := w.order.WindowBlocks
	for {
		left := w.blocks - v.first
		if left <= 2*v.blocks {
			w.close(v, left, pos)
			return
		}
		if pos < w.rowsBefore(v.first+v.blocks) {
			w.enter(v)
			return
		}
		if v.blocks == full {
			// Equal windows from here on. Skip windows that surely end before pos (the short block
			// may add one), and never into the rest that is cut differently.
			skip := (pos - w.rowsBefore(v.first)) / (full * w.order.BlockRows)
			skip = max(min(skip, (left-1)/full-1), 1)
			v.first += skip * full
			v.index += skip
			continue
		}
		v.first += v.blocks
		v.index++
		v.blocks = min(2*v.blocks, full)
	}
}

// close enters the window of pos among the last left blocks, which are cut into one window or two.
func (w *Cursor) close(v window, left, pos int64) {
	v.blocks = left
	if left > w.order.WindowBlocks {
		half := (left + 1) / 2
		v.blocks = half
		if pos >= w.rowsBefore(v.first+half) {
			v.first += half
			v.blocks = left - half
			v.index++
		}
	}
	w.enter(v)
}

func (w *Cursor) enter(v window) {
	v.begin = w.rowsBefore(v.first)
	v.rows = w.rowsBefore(v.first+v.blocks) - v.begin
	v.inner = newBalanced(v.rows, keyOf(w.order.Seed, w.epoch, uint64(v.index)+1))
	w.window = v
}

// blockRuns lists the rows of the window that the cursor is in, as runs in order.
func (w *Cursor) blockRuns() [][2]int64 {
	if w.sliding != nil {
		return w.slidingRuns()
	}
	runs := make([][2]int64, 0, w.window.blocks)
	for i := range w.window.blocks {
		from := w.outer.at(w.window.first+i) * w.order.BlockRows
		runs = append(runs, [2]int64{from, min(from+w.order.BlockRows, w.order.Rows)})
	}
	slices.SortFunc(runs, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	if w.draws == nil {
		return runs
	}
	var rows []int64
	for _, run := range runs { // draws in a window are in order of rows
		for i := run[0]; i < run[1]; i++ {
			rows = append(rows, w.draws.row(i))
		}
	}
	return Runs(rows)
}

// Runs joins sorted rows, which may repeat, to runs [from, to).
func Runs(rows []int64) (runs [][2]int64) {
	for _, row := range rows {
		if n := len(runs) - 1; n >= 0 && row <= runs[n][1] {
			runs[n][1] = row + 1
			continue
		}
		runs = append(runs, [2]int64{row, row + 1})
	}
	return runs
}
