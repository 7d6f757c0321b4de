package order

import (
	"cmp"
	"sync"

	"deeplake/core/errs"
)

// Options choose an order.
type Options struct {
	Shuffle      string // Sequential, Window or Full
	Seed         uint64
	ShuffleBytes int64 // stored bytes of a window
	// of the rows; nil: every row comes once
	Weights  *Weights
	Length   int64 // rows of an epoch that Weights draw; 0: as many as there are
	Distinct bool  // draw every row once at most
	// first rows of runs that are read at once, in order, and the number of rows: windows slide
	// over them. Nil: not known, or Slides is false.
	Blocks []int64
}

// EpochOrder is an Order with the data that the Order only names: weights, or the parts of a
// mixture. It gives the cursors of all epochs. All methods may be called in parallel.
type EpochOrder struct {
	order   Order
	of      int64 // rows of the view
	weights *Weights
	mixture *mixture

	mu     sync.Mutex
	again  *alias // without a key; serves all epochs
	layers *strata
	newest uint64 // epoch of once
	once   chosen

	blocks   []int64  // of sliding windows
	slides   *sliding // of the epoch slidesOf
	slidesOf uint64
}

// Purposes of keys. Blocks have 0, and windows the numbers from 1.
const (
	drawPurpose = 1 << 63
	partPurpose = 3 << 62
	mixPurpose  = 5 << 61
	// and the next number
	slicePurpose = 7 << 61
	itemPurpose  = slicePurpose + 2
)

// New chooses the order of a view of rows rows. rowBytes is the stored size of a row on average;
// only Window needs it. With weights, o.Length draws make an epoch.
func New(o Options, rows, rowBytes int64) (*EpochOrder, error) {
	c := &EpochOrder{of: rows}
	kind, positions, draw := o.Shuffle, rows, ""
	if o.Weights == nil && (o.Length != 0 || o.Distinct) {
		return nil, errs.New(errs.Invalid, "length and replacement=False are about draws by weights; give weights")
	}
	if w := o.Weights; w != nil {
		if w.Rows() != rows {
			return nil, errs.New(errs.Invalid, "%d weights for %d rows, want one for each row", w.Rows(), rows)
		}
		var err error
		if positions, draw, err = w.draws(o); err != nil {
			return nil, err
		}
		if kind == Sequential {
			kind = Full
		}
		c.weights = w
	}
	if len(o.Blocks) > 0 && kind == Window && draw == "" {
		if err := checkBlocks(o.Blocks, rows); err != nil {
			return nil, err
		}
		c.order, c.blocks = newSlidingOrder(o.Seed, rowBytes, o.ShuffleBytes, o.Blocks), o.Blocks
		return c, nil
	}
	c.order = newOrder(kind, positions, o.Seed, rowBytes, o.ShuffleBytes)
	if draw != "" {
		c.order.Draw, c.order.Of, c.order.Weights = draw, rows, c.weights.digest
	}
	return c, nil
}

// draws returns how many draws an epoch has, and how they are made.
func (w *Weights) draws(o Options) (int64, string, error) {
	if o.Length < 0 || o.Length > maxDraws {
		return 0, "", errs.New(errs.Invalid, "length is %d, want 1 to %d, or 0 for the number of rows", o.Length, int64(maxDraws))
	}
	if w.Rows() == 0 {
		if o.Length > 0 {
			return 0, "", errs.New(errs.Invalid, "length is %d, and there is no row to draw", o.Length)
		}
		return 0, "", nil
	}
	if !o.Distinct {
		return cmp.Or(o.Length, w.Rows()), DrawAgain, nil
	}
	if o.Length > w.positive {
		return 0, "", errs.New(errs.Invalid, "length is %d, and only %d rows have a weight above 0; draw with replacement, or fewer", o.Length, w.positive)
	}
	return cmp.Or(o.Length, w.positive), DrawOnce, nil
}

// Order returns the parameters, as a state stores them.
func (c *EpochOrder) Order() Order { return c.order }

// Cursor computes the rows of an epoch. Each goroutine takes one of its own.
func (c *EpochOrder) Cursor(epoch uint64) *Cursor {
	w := newCursor(c.order, epoch)
	w.of = c.of
	switch {
	case c.mixture != nil:
		w.mix = c.mixture.cursor(epoch)
	case c.order.Draw != "":
		w.draws = c.draws(epoch)
	case c.blocks != nil:
		w.sliding = c.slidingOf(epoch)
	}
	return w
}

// slidingOf gives the sliding windows of an epoch. They are cached until a call for another epoch.
func (c *EpochOrder) slidingOf(epoch uint64) *sliding {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.slides == nil || c.slidesOf != epoch {
		c.slides, c.slidesOf = newSliding(&c.order, c.blocks, epoch), epoch
	}
	return c.slides
}

// draws gives the draws of an epoch. Tables that serve all epochs are computed once; the draws of
// one epoch are cached until a call for another epoch.
func (c *EpochOrder) draws(epoch uint64) draws {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := keyOf(c.order.Seed, epoch, drawPurpose)
	switch {
	case c.order.Draw == DrawOnce:
		if c.once == nil || c.newest != epoch {
			c.once, c.newest = choose(c.weights, c.order.Rows, key, c.order.Kind == Window), epoch
		}
		return c.once
	case c.order.Kind == Window:
		if c.layers == nil {
			c.layers = newStrata(c.weights, c.order.Rows)
		}
		s := *c.layers
		s.key = key
		return &s
	}
	if c.again == nil {
		c.again = newAlias(c.weights)
	}
	a := *c.again
	a.key = key
	return &a
}
