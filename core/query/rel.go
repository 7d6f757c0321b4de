package query

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"deeplake/core/array"
	"deeplake/core/compute"
	"deeplake/core/internal/task"
)

// rel is a list of rows: for each, the row of every source table, and its computed values.
type rel struct {
	n      int
	tables []Table
	rows   [][]int64 // of each table, n of them, -1: none; nil: the table is not joined yet
	extra  []*array.Column
	// positions of the rows when they were made; nil: unused, or the rows are of one table in its
	// order
	places []int64
}

// stand records the positions of rows. Sorting and selecting rows keeps them.
func (rl *rel) stand(r *run) error {
	if !r.places {
		return nil
	}
	rl.places = make([]int64, rl.n)
	for i := range rl.places {
		rl.places[i] = int64(i)
	}
	return r.hold(int64(rl.n) * 8)
}

// flow is rows on their way, in batches.
type flow interface {
	// each calls do with batches, several at once. Batches of one unit come one after the other
	// from one goroutine; units are numbered from 0 in order of rows. Units from halt on need not
	// come any more.
	each(r *run, weight float64, halt *atomic.Int64, do func(unit int, f *frame) error) error
	// units is the largest number of units.
	units(r *run, weight float64) int
}

// The sizes of batches.
const (
	mostRows   = 64 << 10 // more do not pay
	nearRows   = 16 << 10 // of more than nearBytes each, so that values stay in the cache
	nearBytes  = 8
	batchBytes = 8 << 20 // of the values of a batch
	unitRows   = 1 << 20
)

// batchRows is the number of rows that are computed at once where each takes weight bytes.
func batchRows(weight float64) int {
	if weight < 1 {
		return mostRows
	}
	return int(min(mostRows, max(16, batchBytes/weight)))
}

// batch is the number of rows that are computed at once in this run. Over a network a batch is a
// request.
func (r *run) batch(weight float64) int {
	n := batchRows(weight)
	if weight > nearBytes && !r.far {
		n = min(n, nearRows)
	}
	if r.o.Batch > 0 {
		n = min(n, r.o.Batch)
	}
	return n
}

// each hands out the rows of a rel.
func (rl *rel) each(r *run, weight float64, halt *atomic.Int64, do func(unit int, f *frame) error) error {
	size := r.batch(weight)
	return parallel(r, rl.units(r, weight), halt, func(w *worker, unit int) error {
		from := unit * rl.unitSize(size)
		for to := min(rl.n, from+rl.unitSize(size)); from < to && !halted(halt, unit); from += size {
			f := rl.frame(r, w, from, min(to, from+size))
			err := do(unit, f)
			if f.ledger.end(); err != nil {
				return err
			}
		}
		return nil
	})
}

func (rl *rel) unitSize(batch int) int { return int(unitOf(int64(rl.n), batch)) }

// unitOf returns how many consecutive rows of n one goroutine takes: many, so that blocks are read
// once, but fewer than all, so that every goroutine has some. Blocks hold few large rows; smaller
// units then let all goroutines end together. Units of few batches are equal.
func unitOf(n int64, batch int) int64 {
	units := int64(16)
	if batch < mostRows {
		units = 64
	}
	if most := int64(batch); n > most && n < units*most {
		pairs := (n + 2*most - 1) / (2 * most)
		return (n + 2*pairs - 1) / (2 * pairs)
	}
	return max(int64(batch), min(unitRows, n/units, int64(batch)*16))
}

func (rl *rel) units(r *run, weight float64) int {
	size := rl.unitSize(r.batch(weight))
	return (rl.n + size - 1) / size
}

// frame returns a batch of the rows from to to.
func (rl *rel) frame(r *run, w *worker, from, to int) *frame {
	f := &frame{run: r, w: w, tables: rl.tables, n: to - from, first: int64(from), memo: map[int]*array.Column{}, ledger: &ledger{r: r}}
	f.rows = make([]Rows, len(rl.rows))
	for k, list := range rl.rows {
		if list != nil {
			f.rows[k] = Rows{List: list[from:to], N: int64(to - from)}
		}
	}
	switch {
	case rl.places != nil:
		f.places = rl.places[from:to]
	case len(rl.rows) == 1:
		f.places = rl.rows[0][from:to] // ROW_NUMBER and RANDOM are by row of the table
	}
	f.extra = make([]*array.Column, len(rl.extra))
	for k, c := range rl.extra {
		f.extra[k] = c.Slice(from, to)
	}
	return f
}

// take returns the rel of some of the rows, in the order given; -1 is a row without values.
func (rl *rel) take(rows []int) *rel {
	out := &rel{n: len(rows), tables: rl.tables, rows: make([][]int64, len(rl.rows)), extra: make([]*array.Column, len(rl.extra))}
	for k, list := range rl.rows {
		if list == nil {
			continue
		}
		taken := make([]int64, len(rows))
		for i, row := range rows {
			if taken[i] = -1; row >= 0 {
				taken[i] = list[row]
			}
		}
		out.rows[k] = taken
	}
	for k, c := range rl.extra {
		out.extra[k] = c.Take(rows)
	}
	if rl.places != nil {
		out.places = make([]int64, len(rows))
		for i, row := range rows {
			if out.places[i] = -1; row >= 0 {
				out.places[i] = rl.places[row]
			}
		}
	}
	return out
}

// taken is take after the memory of the result is counted.
func (rl *rel) taken(r *run, rows []int) (*rel, error) {
	bytes := int64(0)
	for _, list := range rl.rows {
		if list != nil {
			bytes += 8 * int64(len(rows))
		}
	}
	for _, c := range rl.extra {
		bytes += c.TakeBytes(rows)
	}
	if err := r.hold(bytes); err != nil {
		return nil, err
	}
	return rl.take(rows), nil
}

// parallel calls do for the units 0 to n-1 below halt, in order of their numbers, several at once.
// The error is that of the first unit which fails, whatever the threads: those before it were begun
// before it, and are waited for.
func parallel(r *run, n int, halt *atomic.Int64, do func(w *worker, unit int) error) error {
	if n == 0 {
		return r.alive()
	}
	var next atomic.Int64
	var mu sync.Mutex
	var failed error
	first := n // the unit of failed
	g := task.New(r.ctx, 0)
	for range min(r.threads, n) {
		g.Go(func(context.Context) error {
			w := newWorker(r.tally)
			defer w.close()
			for {
				unit := int(next.Add(1)) - 1
				if unit >= n || halted(halt, unit) {
					return nil
				}
				err := r.alive()
				if err == nil {
					err = do(w, unit)
					w.ended()
				}
				if err == nil {
					continue
				}
				next.Store(int64(n)) // no more are begun
				mu.Lock()
				if unit < first {
					first, failed = unit, err
				}
				mu.Unlock()
				return nil
			}
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	return r.alive()
}

func halted(halt *atomic.Int64, unit int) bool { return halt != nil && int64(unit) >= halt.Load() }

// collect makes a rel of a flow: of its rows as they come, or, with most >= 0, of as many of the
// first.
func collect(r *run, src flow, tables []Table, weight float64, keep func(f *frame) ([]int, error), most int64) (*rel, error) {
	if all, ok := src.(*rel); ok && keep == nil && most < 0 {
		return all, nil
	}
	type part struct {
		rows [][]int64
		n    int
	}
	n := src.units(r, weight)
	parts := make([]part, n) // each changed by the goroutine of its unit alone
	var halt atomic.Int64
	halt.Store(int64(n))
	ready := newPrefix(n, most, &halt)
	err := src.each(r, weight, &halt, func(unit int, f *frame) error {
		p := &parts[unit]
		var picked []int
		if keep != nil {
			var err error
			if picked, err = keep(f); err != nil {
				return err
			}
			f = f.only(picked)
		}
		if p.rows == nil {
			p.rows = make([][]int64, len(tables))
		}
		for k := range f.rows {
			if f.rows[k].N == 0 && f.n > 0 {
				continue
			}
			p.rows[k] = slices.Grow(p.rows[k], f.n)
			for i := range f.n {
				p.rows[k] = append(p.rows[k], f.rows[k].At(i))
			}
		}
		p.n += f.n
		ready.count(unit, f.n)
		return r.hold(int64(f.n * 8 * len(tables)))
	})
	if err != nil {
		return nil, err
	}
	out := &rel{tables: tables, rows: make([][]int64, len(tables))}
	for _, p := range parts {
		out.n += p.n
	}
	if most >= 0 {
		out.n = int(min(int64(out.n), most))
	}
	for k := range tables {
		list := make([]int64, 0, out.n)
		for _, p := range parts {
			if p.rows != nil {
				list = append(list, p.rows[k][:min(len(p.rows[k]), out.n-len(list))]...)
			}
		}
		if len(list) == out.n {
			out.rows[k] = list
		}
	}
	return out, nil
}

// prefix detects the first rows' arrival, for any order in which units end.
type prefix struct {
	mu     sync.Mutex
	counts []int64
	most   int64
	halt   *atomic.Int64
}

func newPrefix(n int, most int64, halt *atomic.Int64) *prefix {
	if most < 0 {
		return &prefix{most: -1}
	}
	return &prefix{counts: make([]int64, n), most: most, halt: halt}
}

// count adds rows of a unit. Once the units up to some number have enough, later units need not
// begin.
func (p *prefix) count(unit, rows int) {
	if p.most < 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[unit] += int64(rows)
	total := int64(0)
	for i, n := range p.counts[:min(int64(len(p.counts)), p.halt.Load()+1)] {
		if total += n; total >= p.most {
			p.halt.Store(int64(i)) // unit i has begun, and may end; earlier units continue
			return
		}
	}
}

// filtered returns the rows for which a condition holds.
func filtered(r *run, rows *rel, cond *node) (*rel, error) {
	weight := cond.weight()
	parts := make([][]int, rows.units(r, weight))
	err := rows.each(r, weight, nil, func(unit int, f *frame) error {
		v, err := f.eval(cond)
		if err != nil {
			return err
		}
		for _, i := range compute.Pick(v) {
			parts[unit] = append(parts[unit], int(f.first)+i)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rows.taken(r, slices.Concat(parts...))
}
