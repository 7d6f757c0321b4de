package loader

import (
	"deeplake/core/errs"
)

// OrderVersion names the meaning of an Order. A change that moves a single row anywhere needs the
// next number, because states written by users pin it.
const OrderVersion = 1

// The kinds of order.
const (
	Sequential = ""       // row after row
	Window     = "window" // blocks permuted, rows drawn from a window of open blocks
	Full       = "full"   // one permutation of all rows
	Mixed      = "mixed"  // rows of several views, each in an order of its own
)

// Order says in which order an epoch visits rows. It is a pure function of its fields and the
// epoch; it needs no memory per row, and any position can be computed at once.
//
// Order version 1, kind Window: rows are cut into blocks of BlockRows, the last one shorter. Cipher
// 0 permutes the blocks. The permuted blocks are cut into windows: the first has FirstBlocks
// blocks, each next one twice as many up to WindowBlocks, while more than two such windows remain;
// what remains then is one window, or two equal ones (the first gets the odd block) when it is more
// than WindowBlocks. Within window w, cipher w+1 permutes the rows. So the first batch touches few
// blocks, and no window is a small rest that would hold a few classes only.
//
// With Draw, what is ordered is not rows but draws by weight, which Full takes from all rows and
// Window in order of rows, so that a window of draws is read in large pieces. With kind Mixed,
// Parts stands for the orders of the views.
type Order struct {
	Version      int    `json:"order"`
	Kind         string `json:"kind"`
	Rows         int64  `json:"rows"` // positions of an epoch
	Seed         uint64 `json:"seed"`
	BlockRows    int64  `json:"block_rows,omitempty"`
	FirstBlocks  int64  `json:"first_blocks,omitempty"`
	WindowBlocks int64  `json:"window_blocks,omitempty"`
	Draw         string `json:"draw,omitempty"`    // "", DrawAgain or DrawOnce
	Of           int64  `json:"of,omitempty"`      // rows that are drawn from
	Weights      string `json:"weights,omitempty"` // their digest
	Mix          string `json:"mix,omitempty"`     // mode of a mixture
	// digest of the views' orders, their weights and what else orders a mixture
	Parts string `json:"parts,omitempty"`
}

const (
	blockBytes = 1 << 20 // aim of a block: small enough to mix classes
	// and where a window holds a small part of the rows, so that their requests are not too small
	remoteBytes = 2 << 20
	maxBlocks   = 1 << 48   // far beyond any view, far from overflow
	fewBlocks   = 256       // of a window; blocks are no larger where there would be fewer
	firstBlocks = 4         // to read before the first batch is mixed
	fewBytes    = 128 << 20 // fewer are read at once: all rows are one window
)

// newOrder chooses the blocks and windows for rows whose stored size is rowBytes on average.
func newOrder(kind string, rows int64, seed uint64, rowBytes, windowBytes int64) Order {
	o := Order{Version: OrderVersion, Kind: kind, Rows: rows, Seed: seed}
	if kind != Window {
		return o
	}
	rowBytes = max(rowBytes, 1)
	aim := int64(blockBytes)
	if rows/2 > windowBytes/rowBytes {
		aim = min(max(windowBytes/fewBlocks, blockBytes), remoteBytes)
	}
	o.BlockRows = max((aim+rowBytes-1)/rowBytes, 1)
	o.WindowBlocks = min(max(windowBytes/rowBytes/o.BlockRows, 1), maxBlocks)
	o.FirstBlocks = min(firstBlocks, o.WindowBlocks)
	if rows <= fewBytes/rowBytes {
		o.FirstBlocks = min(fewBytes/blockBytes, o.WindowBlocks)
	}
	return o
}

// check refuses an order that no loader has made; it comes out of a state that a user has kept.
func (o Order) check() error {
	if o.Version != OrderVersion {
		return errs.New(errs.Unsupported, "its order is version %d, want %d; use the version of the library that made it", o.Version, OrderVersion)
	}
	if o.Rows < 0 {
		return errs.New(errs.Invalid, "order of %d rows, want 0 or more", o.Rows)
	}
	switch o.Draw {
	case "":
	case DrawAgain, DrawOnce:
		if o.Kind == Sequential || o.Kind == Mixed || o.Of < 1 || o.Rows > maxDraws || (o.Draw == DrawOnce && o.Rows > o.Of) {
			return errs.New(errs.Invalid, "order of %d draws %q from %d rows by %q: want %q or %q, and no more draws than rows where they are drawn %q", o.Rows, o.Draw, o.Of, o.Kind, Full, Window, DrawOnce)
		}
	default:
		return errs.New(errs.Invalid, "unknown draw %q (want %q or %q)", o.Draw, DrawAgain, DrawOnce)
	}
	switch o.Kind {
	case Sequential, Full, Mixed:
		return nil
	case Window:
		if o.BlockRows < 1 || o.FirstBlocks < 1 || o.WindowBlocks < o.FirstBlocks || o.WindowBlocks > maxBlocks || o.BlockRows > maxBlocks {
			return errs.New(errs.Invalid, "order of blocks of %d rows, %d to %d blocks a window: want at least 1, and rising, each below 2^48", o.BlockRows, o.FirstBlocks, o.WindowBlocks)
		}
		return nil
	}
	return errs.New(errs.Invalid, "unknown order %q (want %q, %q or %q)", o.Kind, Sequential, Window, Full)
}

// cursor computes the rows of one epoch. It remembers the window of the last position, so each
// goroutine has its own.
type orderCursor struct {
	order   Order
	of      int64      // rows that it cursors over: those of the view
	sampled sampledRow // nil: places of the order are rows
	mix     *mixOrder  // Mixed: what the cursor does instead
	epoch   uint64
	outer   cipher // Full: of rows; Window: of blocks
	blocks  int64
	short   int64 // rows that the last block lacks
	last    int64 // where the outer cipher puts the last block
	window  window
}

// window is a run of permuted blocks [first, first+blocks) that holds the positions [begin,
// begin+rows).
type window struct {
	index, first, blocks int64
	begin, rows          int64
	inner                cipher
}

func newOrderCursor(o Order, epoch uint64) *orderCursor {
	w := &orderCursor{order: o, of: o.Rows, epoch: epoch}
	switch {
	case o.Rows == 0:
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

// fill writes the rows of the positions from, from+1, ... into rows. All must be below Order.Rows.
func (w *orderCursor) fill(rows []int64, from int64) {
	for i := range rows {
		rows[i] = w.row(from + int64(i))
	}
}

// row is the row at one position.
func (w *orderCursor) row(pos int64) int64 {
	if w.sampled != nil {
		return w.sampled.row(w.place(pos))
	}
	return w.place(pos)
}

// place is the row at one position, or the number of the draw.
func (w *orderCursor) place(pos int64) int64 {
	switch w.order.Kind {
	case Full:
		if w.sampled != nil {
			return pos // draws are in random order already
		}
		return w.outer.at(pos)
	case Window:
		return w.sample(pos)
	case Mixed:
		return w.mix.row(pos)
	}
	return pos
}

func (w *orderCursor) sample(pos int64) int64 {
	block, item := w.find(pos)
	return w.outer.at(block)*w.order.BlockRows + item
}

// find says which of the permuted blocks the row at one position of a windowed order is in, and
// where in it.
func (w *orderCursor) find(pos int64) (block, item int64) {
	if pos < w.window.begin || pos >= w.window.begin+w.window.rows {
		w.open(pos)
	}
	v := &w.window
	slot := v.inner.at(pos - v.begin)
	// Slots count rows of the window block by block. Behind the short block they are moved up, as
	// if it were full.
	if q := w.last - v.first; q >= 0 && slot >= (q+1)*w.order.BlockRows-w.short {
		slot += w.short
	}
	return v.first + slot/w.order.BlockRows, slot % w.order.BlockRows
}

// rowsBefore is the number of rows in the first n permuted blocks.
func (w *orderCursor) rowsBefore(n int64) int64 {
	rows := n * w.order.BlockRows
	if n > w.last {
		rows -= w.short
	}
	return rows
}

// open finds the window of a position: a step per doubling, then one division.
func (w *orderCursor) open(pos int64) {
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
			// Equal windows from here on. Skip so many that surely lie before pos (the short block
			// may make it one more), and never into the rest that is cut differently.
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
func (w *orderCursor) close(v window, left, pos int64) {
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

func (w *orderCursor) enter(v window) {
	v.begin = w.rowsBefore(v.first)
	v.rows = w.rowsBefore(v.first+v.blocks) - v.begin
	v.inner = newCipher(v.rows, keyOf(w.order.Seed, w.epoch, uint64(v.index)+1))
	w.window = v
}
