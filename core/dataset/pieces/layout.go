package pieces

import (
	"context"
	"math"
	"slices"
	"sort"

	"deeplake/core/errs"
	"deeplake/core/version/chunkmap"
)

// layout says how the live rows of a leaf are copied: bases, and patches over them. It is found
// once for each version of the leaf.
type layout struct {
	from, end int64   // rows of the dataset
	bases     []base  // in order of rows, counted from the first one; source is a ref of the leaf
	patches   []patch // as bases
	whole     bool    // every row has a sample, and none lies in tiles
}

// layoutOf returns the layout of a leaf.
func layoutOf(x *chunkmap.Leaf, s *chunkmap.Segments) *layout {
	l := &layout{from: s.Rows[0], end: s.Rows[len(s.Refs)], whole: true}
	if l.end-l.from > math.MaxUint32 {
		l.whole = false
		return l
	}
	shifts := make([]int64, len(x.Chunks)) // from a row to its item, of the last piece
	for i := range shifts {
		shifts[i] = math.MinInt64
	}
	on := base{source: -1}
	for k, ref := range s.Refs {
		if ref == chunkmap.NoSample || x.Chunks[ref].Tiles > 0 {
			l.whole = false
			return l
		}
		at, item, n := s.Rows[k]-l.from, s.Items[k], s.Rows[k+1]-s.Rows[k]
		if int32(ref) == on.source && item-at == on.item-on.at {
			on.n = at + n - on.at
			continue
		}
		again := shifts[ref] == item-at
		shifts[ref] = item - at
		if n > patchRows || again || on.source < 0 || item > math.MaxUint32-patchRows {
			l.flush(on)
			on = base{source: int32(ref), item: item, at: at, n: n}
			continue
		}
		l.patches = append(l.patches, patch{at: uint32(at), item: uint32(item), n: uint16(n), source: ref})
	}
	l.flush(on)
	l.patches = slices.Clip(l.patches)
	return l
}

func (l *layout) flush(b base) {
	if b.source >= 0 {
		l.bases = append(l.bases, b)
	}
}

// laid is the rows of a leaf that are copied.
type laid struct {
	*layout
	low, high int64   // of the layout's rows
	numbers   []int32 // of the sources, by ref of the leaf; one more
	patches   []patch // that touch the rows
}

// lay finds rows [from, to) of the dataset in leaves of many pieces. It returns false if some are
// in other leaves, if one has no sample, or lies in tiles.
func (r *Copier) lay(ctx context.Context, of *Rows, from, to int64) (bool, error) {
	r.laid = r.laid[:0]
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
		l := s.Memo(func() any { return layoutOf(x, s) }).(*layout)
		if !l.whole {
			return false, nil
		}
		p := laid{layout: l, low: row - l.from, high: min(to, l.end) - l.from, numbers: make([]int32, len(x.Chunks))}
		if err := r.need(ctx, of, x, &p); err != nil {
			return false, err
		}
		r.laid = append(r.laid, p)
		row = l.from + p.high
	}
	return true, nil
}

// need finds the items that the rows of p need.
func (r *Copier) need(ctx context.Context, of *Rows, x *chunkmap.Leaf, p *laid) error {
	open := func(ref int32) (err error) {
		if p.numbers[ref] == 0 {
			p.numbers[ref], err = r.number(ctx, of, &x.Chunks[ref], true)
		}
		return err
	}
	for i := range p.bases {
		if b, ok := p.bases[i].within(p.low, p.high); ok {
			if err := open(b.source); err != nil {
				return err
			}
			r.sources[p.numbers[b.source]-1].wants(b.item, b.n)
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
		r.sources[p.numbers[q.source]-1].wants(int64(q.item), int64(q.n))
	}
	return nil
}

// wants adds n items.
func (s *source) wants(item, n int64) {
	s.low, s.high, s.wanted = min(s.low, item), max(s.high, item+n), s.wanted+n
}

// within returns the part of a base in rows [low, high).
func (b base) within(low, high int64) (base, bool) {
	if cut := low - b.at; cut > 0 {
		b.at, b.item, b.n = low, b.item+cut, b.n-cut
	}
	b.n = min(b.n, high-b.at)
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

// copyLaid copies the samples of the rows, of so many bytes each.
func (r *Copier) copyLaid(dst []byte, size int64) {
	for i := range r.laid {
		p := &r.laid[i]
		for k := range p.bases {
			if b, ok := p.bases[k].within(p.low, p.high); ok {
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
