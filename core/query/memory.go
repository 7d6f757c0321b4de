package query

import (
	"slices"

	"deeplake/core/array"
	"deeplake/core/errs"
)

// hold counts memory against the budget of the query, before it is allocated.
func (r *run) hold(bytes int64) error {
	if total := r.used.Add(bytes); total > r.o.Budget {
		return overBudget(r.o)
	}
	return nil
}

// release takes back what hold counted, once the memory is free.
func (r *run) release(bytes int64) { r.used.Add(-bytes) }

func overBudget(o *Options) error {
	return errs.Op("run a query", "").New(errs.Invalid, "it takes more than %d MB of memory; select less, add LIMIT, or allow more with memory=", o.Budget>>20)
}

// work returns the account of a call. Memory that the call reserves is counted until release.
func (r *run) work(what string) *array.Work { return array.NewWork(what, r.alive, r.hold) }

// do computes a column. The memory of the result stays counted, that of work space does not.
func (r *run) do(what string, fn func(w *array.Work) (*array.Column, error)) (*array.Column, error) {
	w := r.work(what)
	out, err := fn(w)
	if w.Err() != nil {
		err = w.Err()
	}
	if err != nil {
		r.release(w.Made())
		return nil, err
	}
	r.release(max(0, w.Made()-out.Bytes()))
	return out, nil
}

// concat joins columns. The caller releases the parts.
func (r *run) concat(t array.Type, parts []*array.Column) (*array.Column, error) {
	return r.do("a column", func(w *array.Work) (*array.Column, error) { return array.Concat(w, t, parts) })
}

// become converts a column.
func (r *run) become(c *array.Column, t array.Type) (*array.Column, error) {
	return r.do("CAST", func(w *array.Work) (*array.Column, error) { return array.Become(w, c, t) })
}

// expand returns a column without Const, after its memory is counted.
func (r *run) expand(c *array.Column) (*array.Column, error) {
	if err := r.hold(c.ExpandBytes()); err != nil {
		return nil, err
	}
	return c.Expand(), nil
}

// ledger counts the live values of a batch: those of a frame and of the frames of some of its rows.
type ledger struct {
	r       *run
	columns []counted
}

// counted is a live column with the memory that is counted for it.
type counted struct {
	column *array.Column
	bytes  int64
}

// add counts a column whose memory is counted in the run already.
func (l *ledger) add(c *array.Column, bytes int64) {
	if bytes > 0 {
		l.columns = append(l.columns, counted{c, bytes})
	}
}

// hold counts a column that was just made.
func (l *ledger) hold(c *array.Column) error {
	bytes := c.Bytes()
	l.add(c, bytes)
	return l.r.hold(bytes)
}

// keep counts a column as memory of the query: it stays when the batch ends. It returns the bytes.
func (l *ledger) keep(c *array.Column) (int64, error) {
	for i, k := range l.columns {
		if k.column == c {
			l.columns = slices.Delete(l.columns, i, i+1)
			return k.bytes, nil
		}
	}
	bytes := c.Bytes()
	return bytes, l.r.hold(bytes)
}

// end releases the memory of the batch.
func (l *ledger) end() {
	for _, k := range l.columns {
		l.r.release(k.bytes)
	}
	l.columns = nil
}

// counted computes a column that is counted until the batch ends.
func (f *frame) counted(fn func(w *array.Work) (*array.Column, error)) (*array.Column, error) {
	return f.call("a batch", func(w *array.Work, _ []*array.Column) (*array.Column, error) { return fn(w) }, nil)
}

// call computes an operator for a batch. Its memory is counted before it is allocated, and the
// result stays counted until the batch ends.
func (f *frame) call(op string, fn operation, values []*array.Column) (*array.Column, error) {
	w := f.run.work(op)
	out, err := outcome(op, fn, w, values)
	made := w.Made()
	if err != nil {
		f.run.release(made)
		return nil, err
	}
	kept := min(made, out.Bytes())
	f.run.release(made - kept)
	f.ledger.add(out, kept)
	return out, nil
}

// fold computes an operator of constants while the query is checked. The values stay as long as the
// plan.
func (c *checker) fold(op string, fn operation, values []*array.Column) (*array.Column, error) {
	alive := func() error {
		if c.ctx.Err() != nil {
			return errs.Cause(c.ctx, "prepare a query")
		}
		return nil
	}
	held := c.held
	w := array.NewWork(op, alive, func(bytes int64) error {
		if held += bytes; held > c.o.Budget {
			return overBudget(c.o)
		}
		return nil
	})
	out, err := outcome(op, fn, w, values)
	if err == nil {
		c.held += min(w.Made(), out.Bytes())
	}
	return out, err
}
