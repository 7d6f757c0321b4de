package pieces

import (
	"context"
	"math"
	"slices"
	"sort"

	"deeplake/core/errs"
	"deeplake/core/version/chunkmap"
)

// layout says how rows are copied: bases, and patches over them.
type layout struct {
	bases   []base // in order of rows, which count from the first one
	patches []patch

	on     base    // the last base, which may go on
	shifts []int64 // of each source, from a row to its item, of the last piece; noShift: none yet
}

const noShift = math.MinInt64

// reset makes l the layout of no rows, of so many sources.
func (l *layout) reset(sources int) {
	l.bases, l.patches, l.on, l.shifts = l.bases[:0], l.patches[:0], base{source: -1}, l.shifts[:0]
	l.grow(sources)
}

// grow makes place for so many sources.
func (l *layout) grow(sources int) {
	for len(l.shifts) < sources {
		l.shifts = append(l.shifts, noShift)
	}
}

// add adds n rows from at on, which are items of a source. Those of a source whose items lie like
// the rows continue a base, over the rows in between, which become patches.
func (l *layout) add(source int32, at, item, n int64) {
	if source == l.on.source && item-at == l.on.item-l.on.at {
		l.on.n, l.on.own = at+n-l.on.at, l.on.own+n
		return
	}
	again := l.shifts[source] == item-at
	l.shifts[source] = item - at
	if n > patchRows || again || l.on.source < 0 || item > math.MaxUint32-patchRows {
		l.end()
		l.on = base{source: source, item: item, at: at, n: n, own: n}
		return
	}
	l.patches = append(l.patches, patch{at: uint32(at), item: uint32(item), n: uint16(n), source: uint16(source)})
}

// end ends the last base.
func (l *layout) end() {
	if l.on.source >= 0 {
		l.bases = append(l.bases, l.on)
	}
	l.on = base{source: -1}
}

// leafLayout is the layout of the live rows of a leaf, whose sources are its chunks. It is found
// once for each version of the leaf.
type leafLayout struct {
	layout
	from, end int64 // rows of the dataset
	whole     bool  // every row has a sample, and none lies in tiles
}

// layoutOf returns the layout of a leaf.
func layoutOf(x *chunkmap.Leaf, s *chunkmap.Segments) *leafLayout {
	l := &leafLayout{from: s.Rows[0], end: s.Rows[len(s.Refs)]}
	if l.end-l.from > math.MaxUint32 {
		return l
	}
	l.reset(len(x.Chunks))
	for k, ref := range s.Refs {
		if ref == chunkmap.NoSample || x.Chunks[ref].Tiles > 0 {
			return l
		}
		l.add(int32(ref), s.Rows[k]-l.from, s.Items[k], s.Rows[k+1]-s.Rows[k])
	}
	l.layout.end()
	l.patches, l.shifts, l.whole = slices.Clip(l.patches), nil, true
	return l
}

// laid is rows of a layout that are copied.
type laid struct {
	layout    *layout
	low, high int64   // of the layout's rows
	numbers   []int32 // of the Copier's sources, by those of the layout; one more
	patches   []patch // that touch the rows
}

// lay finds rows [from, to) of the dataset in leaves of many pieces. It returns false if some are
// in other leaves, if one has no sample, or lies in tiles.
func (r *Copier) lay(ctx context.Context, of *Rows, from, to int64) (bool, error) {
	live, walk := of.Live.Cursor(), chunkmap.NewWalker(of.Tree)
	for row := from; row < to; {
		physical, _ := live.Run(row)
		x, place, _, _, err := walk.Seek(ctx, physical)
		if err != nil {
			return false, err
		}
		if place < 0 || !x.Mixed() || len(r.sources)+len(x.Chunks) > math.MaxUint16 {
			return false, nil
		}
		s := segments(x, &of.Live)
		l := s.Memo(func() any { return layoutOf(x, s) }).(*leafLayout)
		if !l.whole {
			return false, nil
		}
		p := laid{layout: &l.layout, low: row - l.from, high: min(to, l.end) - l.from, numbers: make([]int32, len(x.Chunks))}
		if err := r.need(ctx, &p, func(ref int32) (int32, error) { return r.number(ctx, of, &x.Chunks[ref], true) }); err != nil {
			return false, err
		}
		r.laid = append(r.laid, p)
		row = l.from + p.high
	}
	return true, nil
}

// need finds the items that the rows of p need. number opens a source of the layout.
func (r *Copier) need(ctx context.Context, p *laid, number func(source int32) (int32, error)) error {
	open := func(source int32) (err error) {
		if p.numbers[source] == 0 {
			p.numbers[source], err = number(source)
		}
		return err
	}
	for i := range p.layout.bases {
		if b, ok := p.layout.bases[i].within(p.low, p.high); ok {
			if err := open(b.source); err != nil {
				return err
			}
			r.sources[p.numbers[b.source]-1].wants(b.item, b.n, b.own)
		}
	}
	all := p.layout.patches
	first := sort.Search(len(all), func(i int) bool { return int64(all[i].at)+int64(all[i].n) > p.low })
	last := first + sort.Search(len(all)-first, func(i int) bool { return int64(all[first+i].at) >= p.high })
	p.patches = all[first:last]
	if ctx.Err() != nil {
		return errs.Cause(ctx, "find samples")
	}
	for i := range p.patches {
		q := &p.patches[i]
		if p.numbers[q.source] == 0 {
			if err := open(int32(q.source)); err != nil {
				return err
			}
		}
		r.sources[p.numbers[q.source]-1].wants(int64(q.item), int64(q.n), int64(q.n))
	}
	return nil
}

// wants adds n items, some of which are wanted.
func (s *source) wants(item, n, wanted int64) {
	s.low, s.high, s.wanted = min(s.low, item), max(s.high, item+n), s.wanted+wanted
}

// within returns the part of a base in rows [low, high). It estimates the rows of its own.
func (b base) within(low, high int64) (base, bool) {
	all := b.n
	if cut := low - b.at; cut > 0 {
		b.at, b.item, b.n = low, b.item+cut, b.n-cut
	}
	if b.n = min(b.n, high-b.at); b.n < all {
		b.own = max(b.own*b.n/all, 1)
	}
	return b, b.n > 0
}

// within returns the part of a patch in rows [low, high), which it touches.
func (p patch) within(low, high int64) patch {
	if cut := low - int64(p.at); cut > 0 {
		p.at, p.item, p.n = uint32(low), p.item+uint32(cut), p.n-uint16(cut)
	}
	p.n = uint16(min(int64(p.n), high-int64(p.at)))
	return p
}

// copy copies the samples of the rows, of so many bytes each.
func (r *Copier) copy(dst []byte, size int64) {
	for i := range r.laid {
		p := &r.laid[i]
		for k := range p.layout.bases {
			if b, ok := p.layout.bases[k].within(p.low, p.high); ok {
				b.source = p.numbers[b.source] - 1
				copy(dst[(b.at-p.low)*size:], b.data(r, size))
			}
		}
		for k, q := range p.patches {
			if k == 0 || k == len(p.patches)-1 {
				q = q.within(p.low, p.high)
			}
			s := &r.sources[p.numbers[q.source]-1]
			copyFew(dst[(int64(q.at)-p.low)*size:], s.data[(int64(q.item)-s.low)*size:], int64(q.n)*size, size)
		}
		dst = dst[(p.high-p.low)*size:]
	}
}
