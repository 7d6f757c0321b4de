package chunk

import (
	"context"
	"sync/atomic"

	"deeplake/core/codec"
	"deeplake/core/storage"
)

// shown is a chunk that can be looked at where it lies.
type shown struct {
	m       *storage.Mapping // nil: it cannot
	checked []atomic.Uint64  // a bit for each block whose checksum was found right
}

// show maps the chunk, once for all. It returns nil where that cannot be done.
func (c *Chunk) show(ctx context.Context) *shown {
	if s := c.shown.Load(); s != nil {
		return s
	}
	s := &shown{}
	if m, ok := c.Store.(storage.Mapper); ok && !c.Index.Linked() && c.Index.BlockCodec() == codec.None && c.Index.SampleCodec() == codec.None {
		var err error
		if s.m, err = m.Map(ctx, c.Key); err != nil {
			if ctx.Err() != nil {
				return s
			}
			s.m = nil
		}
	}
	if s.m != nil {
		s.checked = make([]atomic.Uint64, (c.Index.Blocks()+63)/64)
	}
	if c.shown.CompareAndSwap(nil, s) {
		return s
	}
	return c.shown.Load()
}

// Lend shows consecutive items as they are stored, where they lie in memory and have no compression. Each block is held
// against its checksum the first time that somebody looks at it. keep has to be held as long as data is used. data is nil
// where the items have to be read: then Items says what is wrong, if anything is.
func (c *Chunk) Lend(ctx context.Context, item, count int64) (data []byte, keep any) {
	if count <= 0 || c.shown == nil {
		return nil, nil
	}
	s := c.show(ctx)
	if s.m == nil {
		return nil, nil
	}
	x := c.Index
	first, at := x.BlockOf(item)
	last, _ := x.BlockOf(item + count - 1)
	from, _, _ := x.BlockRange(first)
	end, n, _ := x.BlockRange(last)
	if end += n; end > int64(len(s.m.Data)) {
		return nil, nil
	}
	for b := first; b <= last; b++ {
		if s.checked[b/64].Load()&(1<<(b%64)) == 0 {
			if !s.check(c, b, last) {
				return nil, nil
			}
			break
		}
	}
	from += x.ItemsBytes(at, item-at)
	return s.m.Data[from : from+x.ItemsBytes(item, count)], s.m
}

// check brings blocks into memory and holds those against their checksums that nobody has looked at.
func (s *shown) check(c *Chunk, first, last int) bool {
	from, _, _ := c.Index.BlockRange(first)
	end, n, _ := c.Index.BlockRange(last)
	if s.m.Ready != nil && s.m.Ready(from, end+n-from) != nil {
		return false
	}
	for b := first; b <= last; b++ {
		word, bit := &s.checked[b/64], uint64(1)<<(b%64)
		if word.Load()&bit != 0 {
			continue
		}
		at, n, _ := c.Index.BlockRange(b)
		if checkBlock(c, b, s.m.Data[at:at+n]) != nil {
			return false
		}
		word.Or(bit)
	}
	return true
}
