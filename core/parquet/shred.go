package parquet

import (
	"math"

	"deeplake/core/arrow"
	"deeplake/core/errs"
)

// live is the definition level of an entry that no node so far has ended.
const live = 0xff

// span is a range of rows of an array.
type span struct{ from, to int64 }

// entries are the levels of rows on the way from a column to one of its leaves. A step makes new
// entries and changes none: fields of a struct share those of the struct.
type entries struct {
	n     int
	reps  []byte // nil: all are 0
	defs  []byte // live, or the final level; nil: all are live
	spans []span // places of the live ones in the array, in order
}

func addSpan(spans []span, from, to int64) []span {
	if k := len(spans) - 1; k >= 0 && spans[k].to == from {
		spans[k].to = to
		return spans
	}
	return append(spans, span{from, to})
}

// fill sets all bytes.
func fill(p []byte, v byte) {
	if len(p) == 0 {
		return
	}
	p[0] = v
	for n := 1; n < len(p); n *= 2 {
		copy(p[n:], p[:n])
	}
}

// runEnd returns where bits that equal bit i end.
func runEnd(p []byte, i, end int64) int64 {
	set, whole := bitAt(p, i), byte(0)
	if set {
		whole = 0xff
	}
	for i < end {
		switch {
		case i&7 == 0 && i+8 <= end && p[i>>3] == whole:
			i += 8
		case bitAt(p, i) != set:
			return i
		default:
			i++
		}
	}
	return end
}

// nulls ends entries whose row is null, at a definition level.
func (e entries) nulls(valid []byte, level int) entries {
	if valid == nil || e.allValid(valid) {
		return e
	}
	out := entries{n: e.n, reps: e.reps, defs: make([]byte, e.n)}
	if e.defs == nil {
		fill(out.defs, live)
	} else {
		copy(out.defs, e.defs)
	}
	at := 0
	for _, s := range e.spans {
		for i := s.from; i < s.to; {
			end := runEnd(valid, i, s.to)
			isNull := !bitAt(valid, i)
			if !isNull {
				out.spans = addSpan(out.spans, i, end)
			}
			at = out.pass(at, end-i, isNull, byte(level), e.defs == nil)
			i = end
		}
	}
	return out
}

func (e entries) allValid(valid []byte) bool {
	for _, s := range e.spans {
		if s.from < s.to && (!bitAt(valid, s.from) || runEnd(valid, s.from, s.to) < s.to) {
			return false
		}
	}
	return true
}

// pass goes over the next n live entries from number at on, and ends them if they are null. all:
// no other entries lie between.
func (e entries) pass(at int, n int64, isNull bool, level byte, all bool) int {
	if all {
		if isNull {
			fill(e.defs[at:at+int(n)], level)
		}
		return at + int(n)
	}
	for n > 0 {
		if e.defs[at] == live {
			if n--; isNull {
				e.defs[at] = level
			}
		}
		at++
	}
	return at
}

// lists turns lists into their items: a list of none is an entry of its own. start returns where
// list i begins in the child.
func (n *outNode) lists(e entries, start func(i int64) int64) (entries, error) {
	total, ended := int64(e.n), e.defs != nil
	for _, s := range e.spans {
		for i := s.from; i < s.to; i++ {
			if size := start(i+1) - start(i); size == 0 {
				ended = true
			} else if total += size - 1; total > math.MaxInt32 {
				return e, writing(n.name).New(errs.Unsupported, "a row group has 2^31 items of lists or more; write smaller ones")
			}
		}
	}
	out := entries{n: int(total), reps: make([]byte, total)}
	if ended {
		out.defs = make([]byte, total)
	}
	at, to := 0, 0 // of the entries before, and of the new ones
	next := func(def byte) {
		if e.reps != nil {
			out.reps[to] = e.reps[at]
		}
		if ended {
			out.defs[to] = def
		}
		at++
		to++
	}
	endedBefore := func() {
		for e.defs != nil && at < e.n && e.defs[at] != live {
			next(e.defs[at])
		}
	}
	for _, s := range e.spans {
		for i := s.from; i < s.to; i++ {
			endedBefore()
			from, end := start(i), start(i+1)
			if from == end {
				next(byte(n.defined))
				continue
			}
			out.spans = addSpan(out.spans, from, end)
			next(live)
			rest := to + int(end-from) - 1
			fill(out.reps[to:rest], byte(n.repeats+1))
			if ended {
				fill(out.defs[to:rest], live)
			}
			to = rest
		}
	}
	endedBefore()
	return out, nil
}

// starts returns where each list of an array begins in the child.
func (n *outNode) starts(d *arrow.Data) func(i int64) int64 {
	switch {
	case n.fixed:
		return func(i int64) int64 { return i * n.places }
	case d.Ends != nil:
		return func(i int64) int64 { return d.Ends[i] }
	}
	return func(i int64) int64 { return int64(d.Ends32[i]) }
}

// shred appends entries of an array to the leaves of the node.
func (n *outNode) shred(d *arrow.Data, e entries) error {
	e = e.nulls(d.Valid, n.defined-1)
	var err error
	switch n.shape {
	case leafNode:
		return n.leaf.add(d, e)
	case listNode:
		if e, err = n.lists(e, n.starts(d)); err != nil {
			return err
		}
	}
	for i, c := range n.children {
		if err := c.shred(d.Children[i], e); err != nil {
			return err
		}
	}
	return nil
}

// cost is about the bytes that rows of an array have in memory until their row group is written.
// It grows with the rows.
func (n *outNode) cost(d *arrow.Data, from, to int64) int64 {
	sum := int64(0)
	if from == to {
		return sum
	}
	switch n.shape {
	case leafNode:
		each := int64(n.leaf.width) + 1
		if n.repeats > 0 {
			each++
		}
		if n.leaf.isText() {
			each += 4
		}
		if sum = (to - from) * each; n.leaf.isText() && !n.leaf.coded {
			start := startsOf(d)
			sum += start(to) - start(from)
		}
		return sum
	case listNode:
		start := n.starts(d)
		sum = to - from // lists of no item have levels
		from, to = start(from), start(to)
	}
	for i, c := range n.children {
		sum += c.cost(d.Children[i], from, to)
	}
	return sum
}

// startsOf returns where each text of an array begins.
func startsOf(d *arrow.Data) func(i int64) int64 { return (&outNode{}).starts(d) }

// check checks that the rows of an array lie in its memory.
func (n *outNode) check(d *arrow.Data, least int64) error {
	wrong := func(format string, args ...any) error { return writing(n.name).New(errs.Invalid, format, args...) }
	switch {
	case d == nil || d.Rows < least:
		return wrong("an array is missing or too short, want %d rows", least)
	case d.Valid != nil && int64(len(d.Valid)) < (d.Rows+7)/8:
		return wrong("an array has %d rows, and a bitmap of %d bytes", d.Rows, len(d.Valid))
	case len(d.Children) != len(n.children):
		return wrong("an array has %d children, want %d", len(d.Children), len(n.children))
	}
	switch n.shape {
	case leafNode:
		return n.leaf.check(d)
	case listNode:
		if least = n.places; n.fixed {
			if d.Rows > 0 && least > math.MaxInt64/d.Rows {
				return wrong("an array has %d lists of %d items", d.Rows, least)
			}
			least *= d.Rows
			break
		}
		last, err := checkEnds(n.name, d, math.MaxInt64, math.MaxInt64)
		if err != nil {
			return err
		}
		least = last
	default:
		least = d.Rows
	}
	for i, c := range n.children {
		if err := c.check(d.Children[i], least); err != nil {
			return err
		}
	}
	return nil
}

// checkEnds checks offsets against the size of the values, and the longest text or list
// against its bound. It returns the last offset.
func checkEnds(column string, d *arrow.Data, size, longest int64) (int64, error) {
	n := len(d.Ends32)
	if d.Ends != nil {
		n = len(d.Ends)
	}
	switch {
	case d.Rows == 0 && n == 0:
		return 0, nil
	case d.Rows < 0 || int64(n) < d.Rows+1:
		return 0, writing(column).New(errs.Invalid, "an array of %d rows has %d offsets", d.Rows, n)
	case d.Ends != nil:
		return ordered(column, d.Ends[:d.Rows+1], size, longest)
	}
	return ordered(column, d.Ends32[:d.Rows+1], size, longest)
}

func ordered[T int32 | int64](column string, ends []T, size, longest int64) (int64, error) {
	before := ends[0]
	for i, end := range ends {
		if end < max(before, 0) || int64(end) > size {
			return 0, writing(column).New(errs.Invalid, "offset %d of an array is %d, want %d to %d", i, end, max(before, 0), size)
		}
		if int64(end-before) > longest {
			return 0, writing(column).New(errs.Unsupported, "a value has %d bytes, want at most %d", end-before, longest)
		}
		before = end
	}
	return int64(before), nil
}
