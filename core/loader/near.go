package loader

import (
	"cmp"
	"slices"

	"deeplake/core/chunk"
)

// byPart lists the items of a tensor of parts of samples, as clips are, in the memory of out: parts
// of one sample follow each other, in order of their bytes. order is that of the rows.
func byPart(out, order []int32, refs []chunk.Ref) []int32 {
	out = append(out[:0], order...)
	slices.SortStableFunc(out, func(a, b int32) int {
		x, y := &refs[a], &refs[b]
		first, _ := extent(x)
		second, _ := extent(y)
		return cmp.Or(cmp.Compare(x.Source, y.Source), cmp.Compare(x.Row, y.Row), cmp.Compare(first, second))
	})
	return out
}

// extent returns the range of bytes that a part of a sample needs of its object; (0, 0) if it needs
// none.
func extent(r *chunk.Ref) (from, to int64) {
	if r.Partial == nil || len(r.Partial.Spans) == 0 {
		return 0, 0
	}
	from = r.Partial.Spans[0].Offset
	for _, s := range r.Partial.Spans {
		from, to = min(from, s.Offset), max(to, s.Offset+s.Bytes)
	}
	return from, to
}

// shared follows the items of a job.
type shared struct {
	last *chunk.Ref
	to   int64 // the end of the bytes that the last items need
}

// add reports whether an item is a part of the sample of the item before, and needs bytes that this
// or an earlier one needs. The decoder of such parts does less for all of them than one by one.
func (s *shared) add(r *chunk.Ref) bool {
	from, to := extent(r)
	same := s.last != nil && s.last.Source == r.Source && s.last.Chunk == r.Chunk && s.last.Item == r.Item && from < s.to
	if !same {
		s.to = 0
	}
	s.last, s.to = r, max(s.to, to)
	return same
}
