package read

import (
	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/format"
)

// Segment is consecutive rows of a tensor that lie together: in one chunk, or one sample in tiles,
// or rows without a sample.
type Segment struct {
	Row   int64          // first row in the dataset
	Rows  int64          // how many
	Chunk *chunk.Chunk   // nil: no row has a sample
	First int64          // the row of the chunk that the first row is
	Tiles []*chunk.Chunk // of one sample in tiles, Chunk being the first. Shared, read-only
}

// part returns rows [from, to) of the dataset, which are in s.
func (s *Segment) part(from, to int64) Segment {
	p := *s
	p.Row, p.Rows = from, to-from
	if p.Chunk != nil {
		p.First += from - s.Row
	}
	return p
}

// continues reports whether p continues s, in rows and in the chunk.
func (s *Segment) continues(p *Segment) bool {
	return s.Row+s.Rows == p.Row && s.Chunk == p.Chunk && s.Tiles == nil && p.Tiles == nil && (s.Chunk == nil || s.First+s.Rows == p.First)
}

// Append appends a segment, which the last one may continue, once the chunk is seen to hold it.
func (s *Segment) Append(out []Segment) ([]Segment, error) {
	if err := s.check(); err != nil {
		return out, err
	}
	if n := len(out) - 1; n >= 0 && out[n].continues(s) {
		out[n].Rows += s.Rows
		return out, nil
	}
	return append(out, *s), nil
}

// check refuses a segment that the chunk does not hold: the map is damaged.
func (s *Segment) check() error {
	if s.Chunk == nil || s.Tiles != nil {
		return nil
	}
	if last, n := s.First+s.Rows-1, s.Chunk.Index.Rows(); s.First < 0 || last >= n {
		return Beyond(s.Chunk, last, n)
	}
	return nil
}

// Beyond returns the error of a map that points at row at of a chunk of n rows.
func Beyond(ch *chunk.Chunk, at, n int64) error {
	return errs.Op("read chunk", ch.Key).New(errs.Corrupt, "the map points at sample %d, it has %d", at, n)
}

// Items returns where the items of all rows lie in the chunk.
func (s *Segment) Items() (first, count int64) {
	first, _ = s.Chunk.Index.RowItemsRange(s.First)
	last, n := s.Chunk.Index.RowItemsRange(s.First + s.Rows - 1)
	return first, last + n - first
}

// Spans appends the bytes that reading the segment takes.
func (s *Segment) Spans(out []chunk.Span) []chunk.Span {
	if s.Chunk == nil {
		return out
	}
	for _, t := range s.Tiles {
		out = t.Spans(0, t.Index.Items(), out)
	}
	if s.Tiles != nil {
		return out
	}
	first, count := s.Items()
	return s.Chunk.Spans(first, count, out)
}

// Ref fills ref for row i of the segment. It checks that the chunk has the row.
func (s *Segment) Ref(i int64, ref *chunk.Ref) error {
	if s.Chunk == nil {
		*ref = chunk.Ref{Row: s.Row + i}
		return nil
	}
	x, row, at := s.Chunk.Index, s.Row+i, s.First+i
	switch {
	case s.Tiles != nil:
		*ref = chunk.Ref{Row: s.Row, Chunk: s.Chunk, Items: 1, Tiles: s.Tiles, Shape: x.Tile().Sample}
		size, err := ref.Shape.Bytes(x.DType())
		ref.Size, ref.Stored = size, size
		return err
	case x.Sequence():
		if at < 0 || at >= x.Rows() {
			return Beyond(s.Chunk, at, x.Rows())
		}
		first, count := x.RowItemsRange(at)
		*ref = chunk.Ref{Row: row, Chunk: s.Chunk, Item: first, Items: count}
		for k := first; k < first+count; k++ {
			ref.Stored += x.ItemBytes(k)
			ref.Size += decodedBytes(x, k)
		}
		return nil
	}
	if at < 0 || at >= x.Items() {
		return Beyond(s.Chunk, at, x.Items())
	}
	if x.Absent(at) {
		*ref = chunk.Ref{Row: row}
		return nil
	}
	ItemRef(s.Chunk, row, at, ref)
	return nil
}

// ItemRef fills ref for one item of a chunk, which belongs to a row of the dataset.
func ItemRef(ch *chunk.Chunk, row, item int64, ref *chunk.Ref) {
	x := ch.Index
	*ref = chunk.Ref{Row: row, Chunk: ch, Item: item, Items: 1, Shape: x.Shape(item), Stored: ch.StoredBytes(item), Size: decodedBytes(x, item)}
}

// decodedBytes returns the size of an item after decoding.
func decodedBytes(x *format.Index, item int64) int64 {
	if x.SampleCodec() == codec.None {
		return x.ItemBytes(item)
	}
	n := int64(x.DType().Size())
	for _, d := range x.Shape(item) {
		n *= d // the product was checked when the directory was decoded
	}
	return n
}
