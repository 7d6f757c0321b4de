package loader

import (
	"context"
	"sync"

	"deeplake/core/errs"
)

// epoch order is an Order with what is too large to be told: weights, or the parts of a mixture. It
// gives the cursors of all epochs and may be used in parallel.
type EpochOrder struct {
	order   Order
	of      int64 // rows of the view
	weights *Weights
	policy  *mixture

	mu     sync.Mutex
	again  *alias // keyless; of all epochs
	layers *strata
	newest uint64 // epoch of once
	once   chosen
}

// Purposes of keys beside those of the ciphers: 0 permutes blocks, the following ones windows.
const (
	drawPurpose = 1 << 63
	partPurpose = 3 << 62
	mixPurpose  = 5 << 61
)

// newEpochOrder chooses the order for a view. With weights, o.Length draws make an epoch.
func newEpochOrder(ctx context.Context, src Source, o *Options) (*EpochOrder, error) {
	if m, ok := src.(*Mix); ok {
		return m.epochOrder(ctx, o)
	}
	c := &EpochOrder{of: src.Len()}
	kind, rows, draw := o.Shuffle, src.Len(), ""
	if o.Weights == nil && (o.Length != 0 || o.Distinct) {
		return nil, errs.New(errs.Invalid, "length and replacement=False are about draws by weights; give weights")
	}
	if w := o.Weights; w != nil {
		if w.Rows() != rows {
			return nil, errs.New(errs.Invalid, "%d weights for %d rows, want one for each row", w.Rows(), rows)
		}
		var err error
		if rows, draw, err = w.draws(o); err != nil {
			return nil, err
		}
		if kind == Sequential {
			kind = Full
		}
		c.weights = w
	}
	rowBytes, err := bytesOfRow(ctx, src, kind)
	if err != nil {
		return nil, err
	}
	c.order = newOrder(kind, rows, o.Seed, rowBytes, o.ShuffleBytes)
	if draw != "" {
		c.order.Draw, c.order.Of, c.order.Weights = draw, src.Len(), c.weights.digest
	}
	return c, nil
}

// bytesOfRow is the stored size of a row on average, where the order depends on it.
func bytesOfRow(ctx context.Context, src Source, kind string) (int64, error) {
	rows := src.Len()
	if kind != Window || rows == 0 {
		return 0, nil
	}
	stored, err := src.StoredBytes(ctx)
	return (stored + rows - 1) / rows, err
}

// draws says how many draws an epoch has, and how they are made.
func (w *Weights) draws(o *Options) (int64, string, error) {
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
		return defaultTo(o.Length, w.Rows()), DrawAgain, nil
	}
	if o.Length > w.positive {
		return 0, "", errs.New(errs.Invalid, "length is %d, and only %d rows have a weight above 0; draw with replacement, or fewer", o.Length, w.positive)
	}
	return defaultTo(o.Length, w.positive), DrawOnce, nil
}

// cursor computes the rows of an epoch. Each goroutine takes one of its own.
func (c *EpochOrder) cursor(epoch uint64) *orderCursor {
	w := newOrderCursor(c.order, epoch)
	w.of = c.of
	switch {
	case c.policy != nil:
		w.mix = c.policy.cursor(epoch)
	case c.order.Draw != "":
		w.sampled = c.draws(epoch)
	}
	return w
}

// draws gives the draws of an epoch. Tables that hold for all epochs are made once, those of an
// epoch kept until another is asked for.
func (c *EpochOrder) draws(epoch uint64) sampledRow {
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

// sampledRuns are the rows of runs of draws, which windows take in order of rows.
func (w *orderCursor) sampledRuns(draws [][2]int64) [][2]int64 {
	var rows []int64
	for _, run := range draws {
		for i := run[0]; i < run[1]; i++ {
			rows = append(rows, w.sampled.row(i))
		}
	}
	return runsOf(rows)
}
