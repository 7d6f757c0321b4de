package query

import (
	"slices"
	"sync/atomic"

	"deeplake/core/array"
	"deeplake/core/compute"
)

// scan is the rows of one table that satisfy conditions. It is made of index pages before any row
// is read.
type scan struct {
	table  Table
	origin int // which of the select's
	tables []Table
	conds  []*node // in the order of inTurn
	spans  []span  // rows that may hold; set by prepare
	n      int64   // of spans together
	zones  int     // that were looked at
	cut    int     // of them, that hold no row
}

// span is rows from to to; sure, all of them hold.
type span struct {
	from, to int64
	sure     bool
}

func newScan(tables []Table, origin int, conds []*node) *scan {
	return &scan{table: tables[origin], tables: tables, origin: origin, conds: inBatches(conds)}
}

// prepare finds in the index the rows that may satisfy the conditions.
func (s *scan) prepare(r *run) error {
	n := s.table.Rows()
	s.spans = []span{{0, n, len(s.conds) == 0}}
	sure := 0
	for _, cond := range s.conds {
		t, ok := testOf(cond)
		if !ok {
			continue
		}
		zones, err := s.table.Zones(r.ctx, t.column, 0, n)
		if err != nil {
			return err
		}
		s.zones += len(zones)
		all := s.narrow(zones, t)
		if all {
			sure++
		}
	}
	for i := range s.spans { // a row is sure where every condition is
		s.spans[i].sure = s.spans[i].sure && len(s.conds) == 0
	}
	if sure == len(s.conds) {
		for i := range s.spans {
			s.spans[i].sure = true
		}
	}
	for _, sp := range s.spans {
		s.n += sp.to - sp.from
	}
	r.tally.zones.Add(int64(s.zones))
	r.tally.cut.Add(int64(s.cut))
	return r.alive()
}

// narrow drops rows for which a zone excludes the condition. It reports whether the condition holds
// for all rows that are left.
func (s *scan) narrow(zones []Zone, t test) bool {
	var out []span
	all := true
	k := 0
	for _, sp := range s.spans {
		for k > 0 && (k >= len(zones) || zones[k].From > sp.from) {
			k--
		}
		for at := sp.from; at < sp.to; {
			for k < len(zones) && zones[k].To <= at {
				k++
			}
			if k >= len(zones) || zones[k].From > at {
				// nothing is known; tables leave no gap, but nothing depends on it
				end := sp.to
				if k < len(zones) {
					end = min(end, zones[k].From)
				}
				out, all = addSpan(out, span{at, end, false}), false
				at = end
				continue
			}
			end := min(sp.to, zones[k].To)
			switch t.judge(&zones[k]) {
			case never:
				s.cut++
			case perhaps:
				all = false
				fallthrough
			default:
				out = addSpan(out, span{at, end, false})
			}
			at = end
		}
	}
	s.spans = out
	return all
}

func addSpan(list []span, s span) []span {
	if n := len(list); n > 0 && list[n-1].to == s.from {
		list[n-1].to = s.to
		return list
	}
	return append(list, s)
}

// weight returns the larger of weight and that of the costliest condition. It bounds the rows that
// are computed at once.
func (s *scan) weight(weight float64) float64 {
	if len(s.conds) > 0 {
		weight = max(weight, s.conds[0].weight())
	}
	for _, c := range s.conds {
		if c.slows() {
			weight = max(weight, c.weight())
		}
	}
	return weight
}

func (s *scan) units(r *run, weight float64) int {
	size := s.unitSize(r, weight)
	return int((s.n + int64(size) - 1) / int64(size))
}

func (s *scan) unitSize(r *run, weight float64) int {
	return int(unitOf(s.n, r.batch(s.weight(weight))))
}

// each hands out the rows that hold.
func (s *scan) each(r *run, weight float64, halt *atomic.Int64, do func(unit int, f *frame) error) error {
	batch, size := r.batch(s.weight(weight)), s.unitSize(r, weight)
	starts := make([]int64, len(s.spans)+1) // of spans, counted in rows of all spans
	for i, sp := range s.spans {
		starts[i+1] = starts[i] + sp.to - sp.from
	}
	return parallel(r, s.units(r, weight), halt, func(w *worker, unit int) error {
		from, to := int64(unit)*int64(size), min(s.n, int64(unit+1)*int64(size))
		k, _ := slices.BinarySearchFunc(starts, from, func(start, at int64) int {
			if start <= at {
				return -1
			}
			return 1
		})
		for k--; from < to && !halted(halt, unit); {
			sp := s.spans[k]
			end := min(to, starts[k+1], from+int64(batch))
			all := s.frame(r, w, sp.from+from-starts[k], sp.from+end-starts[k])
			f, err := s.filter(all, sp.sure)
			if err == nil && f.n > 0 {
				err = do(unit, f)
			}
			if all.ledger.end(); err != nil {
				return err
			}
			if f != all { // columns computed for f are copies
				all.recycle()
			}
			if from = end; from == starts[k+1] {
				k++
			}
		}
		return nil
	})
}

func (s *scan) frame(r *run, w *worker, from, to int64) *frame {
	f := &frame{run: r, w: w, tables: s.tables, rows: make([]Rows, len(s.tables)), n: int(to - from), first: from, memo: map[int]*array.Column{}, ledger: &ledger{r: r}}
	f.rows[s.origin] = Rows{From: from, N: to - from}
	return f
}

// filter returns the frame of the rows that hold.
func (s *scan) filter(f *frame, sure bool) (*frame, error) {
	f.run.tally.looked.Add(int64(f.n))
	if looked := f.run.o.Looked; looked != nil {
		looked.Add(int64(f.n))
	}
	if sure {
		return f, nil
	}
	for _, cond := range s.conds {
		if f.n == 0 {
			break
		}
		var err error
		if f, err = f.where(cond); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// where returns the frame of the rows that satisfy a condition. It computes few large rows at once.
func (f *frame) where(cond *node) (*frame, error) {
	step := f.run.batch(cond.weight())
	var picked []int
	for from := 0; from < f.n; from += step {
		to := min(f.n, from+step)
		part := f
		if to-from < f.n {
			rows := make([]int, to-from)
			for i := range rows {
				rows[i] = from + i
			}
			part = f.only(rows)
			part.ledger = &ledger{r: f.run} // the values of a part are free before the next
		}
		v, err := part.eval(cond)
		if part.ledger != f.ledger {
			part.ledger.end()
		}
		if err != nil {
			return nil, err
		}
		if from == 0 && to == f.n {
			return f.only(compute.Pick(v)), nil
		}
		for _, i := range compute.Pick(v) {
			picked = append(picked, from+i)
		}
	}
	return f.only(picked), nil
}
