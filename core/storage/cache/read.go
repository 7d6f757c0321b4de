package cache

import (
	"context"
	"io"
	"time"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// read is one ReadAt.
type read struct {
	s   *Store
	key string
	dst []byte
	off int64
	buf []byte // room for an entry
}

// run takes page after page from where it is.
func (r *read) run(ctx context.Context) error {
	last := (r.off + int64(len(r.dst)) - 1) / PageBytes
	for number := r.off / PageBytes; number <= last; {
		at := r.s.keyOf(r.key, number)
		if p, ok := r.s.layer.load(at, r.buf); ok {
			if err := r.hit(number, p); err != nil {
				return err
			}
			number++
			continue
		}
		f, mine := r.s.flights.claim(at.page)
		if !mine {
			p, ok, err := f.wait(ctx, "read", r.key)
			if err != nil {
				return err
			}
			if ok {
				if err := r.hit(number, p); err != nil {
					return err
				}
				number++
			}
			continue
		}
		next, err := r.bring(ctx, f, number, last)
		if err != nil {
			return err
		}
		number = next
	}
	return nil
}

// bring takes page number, which f claims, from wherever it is by now, and returns the next page.
func (r *read) bring(ctx context.Context, f *flight, number, last int64) (next int64, err error) {
	c, err := r.s.reserve(ctx, "read", r.key, number, min(last, number+runPages-1))
	if err != nil {
		r.s.flights.land(f, page{}, false)
		return 0, err
	}
	defer c.end()
	// it may have landed since the first look
	if p, ok := r.s.layer.load(r.s.keyOf(r.key, number), r.buf); ok {
		r.s.flights.land(f, page{}, false)
		return number + 1, r.hit(number, p)
	}
	return r.miss(ctx, c, f, number, r.s.missing(r.key, number, c.within(last)))
}

func (r *read) hit(number int64, p page) error {
	n, err := r.take(number, p.data)
	if err == nil {
		r.s.hits.Add(1)
		r.s.bytes.Add(int64(n))
	}
	return err
}

// take copies the requested part of page number.
func (r *read) take(number int64, data []byte) (int, error) {
	at := number * PageBytes
	from := max(r.off, at)
	to := min(r.off+int64(len(r.dst)), at+PageBytes)
	if to > at+int64(len(data)) {
		return 0, r.truncated(at + int64(len(data)))
	}
	return copy(r.dst[from-r.off:], data[from-at:to-at]), nil
}

func (r *read) truncated(size int64) error {
	return errs.Op("read", r.key).New(errs.Corrupt, "object is truncated (has %d bytes, want %d at offset %d)", size, len(r.dst), r.off)
}

// miss fetches the pages from number, which f and c claim, to last, by one request; it stops before
// a page that another caller fetches. It returns the next page.
func (r *read) miss(ctx context.Context, c *claim, f *flight, number, last int64) (next int64, err error) {
	mine := []*flight{f}
	for q := number + 1; q <= last; q++ {
		fl := r.s.flights.claimNext(r.s.keyOf(r.key, q).page)
		if fl == nil {
			break
		}
		mine = append(mine, fl)
	}
	n := int64(len(mine))
	c.shrink(number + n - 1)
	landed := 0
	defer func() {
		for _, fl := range mine[landed:] {
			r.s.flights.land(fl, page{}, false)
		}
	}()
	seen := r.s.seen()
	land := func(data []byte, size int64) { // whole pages, but for the last of the object
		r.s.keep(r.key, number+int64(landed), data, size, seen)
		for len(data) > 0 {
			n := min(PageBytes, len(data))
			r.s.misses.Add(1)
			r.s.flights.land(mine[landed], page{data[:n], size}, true)
			data, landed = data[n:], landed+1
		}
		c.landed(number + int64(landed))
	}
	if r.s.ranger == nil {
		err = r.fetchPlain(ctx, number, n, land)
	} else {
		err = r.fetch(ctx, number, n, land)
	}
	return number + n, err
}

// slowSegment is the longest time to wait for the rest of a segment. On a slow link pages land one
// by one, so that other processes see that this one works.
const slowSegment = time.Second / 2

// fetch requests n pages and hands out each when it arrives, or whole segments where all of their
// pages are wanted and come soon.
func (r *read) fetch(ctx context.Context, number, n int64, land func(data []byte, size int64)) error {
	at := number * PageBytes
	b, err := r.s.ranger.Range(ctx, r.key, at, n*PageBytes, "")
	if err != nil {
		return err
	}
	defer b.Close()
	size := sizeOf(b, at, n*PageBytes)
	end := at + min(n*PageBytes, b.Len())
	var segment []byte // of dst, the pages that have come but for those that have landed
	landed := time.Now()
	defer func() {
		if len(segment) > 0 { // these bytes are right, even if the rest failed
			land(segment, size)
		}
	}()
	for begin := at; begin < at+n*PageBytes; begin += PageBytes {
		if begin >= end {
			return r.truncated(begin)
		}
		data, direct := r.destination(begin, min(PageBytes, end-begin))
		if _, err := io.ReadFull(b, data); err != nil {
			return errs.Wrap(errs.Storage, "read", r.key, err)
		}
		if direct && (len(segment) > 0 || begin%SegmentBytes == 0 && end-begin >= SegmentBytes && r.wants(begin, SegmentBytes)) {
			segment = r.dst[begin-r.off-int64(len(segment)):][:len(segment)+len(data)]
			if len(segment) == SegmentBytes || time.Since(landed) > slowSegment {
				land(segment, size)
				segment, landed = nil, time.Now()
			}
			continue
		}
		land(data, size)
		landed = time.Now()
		if !direct || len(data) < PageBytes {
			if _, err := r.take(begin/PageBytes, data); err != nil {
				return err
			}
		}
	}
	return nil
}

// destination returns the buffer for n bytes at begin: a part of dst, if all of them are wanted.
func (r *read) destination(begin, n int64) (data []byte, direct bool) {
	if r.wants(begin, n) {
		return r.dst[begin-r.off:][:n], true
	}
	return r.buf[:n], false
}

// wants is whether dst has room for n bytes at begin.
func (r *read) wants(begin, n int64) bool {
	return begin >= r.off && begin+n <= r.off+int64(len(r.dst))
}

// fetchPlain is for a provider that reads no bytes behind the end of an object: the last page of an
// object is not kept.
func (r *read) fetchPlain(ctx context.Context, number, n int64, land func(data []byte, size int64)) error {
	for i := range n {
		begin := (number + i) * PageBytes
		data, direct := r.destination(begin, PageBytes)
		err := r.s.inner.ReadAt(ctx, r.key, data, begin)
		if errs.Is(err, errs.Corrupt) {
			return r.rest(ctx, begin)
		}
		if err != nil {
			return err
		}
		land(data, -1)
		if !direct {
			if _, err := r.take(number+i, data); err != nil {
				return err
			}
		}
	}
	return nil
}

// rest reads the requested bytes from begin on, and caches none.
func (r *read) rest(ctx context.Context, begin int64) error {
	from := max(r.off, begin)
	return r.s.inner.ReadAt(ctx, r.key, r.dst[from-r.off:], from)
}

// Range gives bytes page by page: those that are there, and between them what requests for the
// missing ones bring. One that insists on a tag goes to the store: pages have none.
func (s *Store) Range(ctx context.Context, key string, off, n int64, tag string) (storage.Body, error) {
	if s.ranger == nil || tag != "" || n == 0 || off < 0 || !s.keeps(key) {
		return storage.RangerOf(s.inner).Range(ctx, key, off, n, tag)
	}
	if err := s.admit(ctx, "read", key); err != nil {
		return nil, err
	}
	buf := s.buffer()
	b := &body{s: s, ctx: ctx, key: key, buf: buf, pos: off}
	known, err := b.begin(n)
	if err == nil && known {
		b.claim.setIdle(true)
		return b, nil
	}
	_ = b.Close() // nothing was given out yet
	if err != nil {
		return nil, err
	}
	return s.ranger.Range(ctx, key, off, n, tag)
}

// body gives bytes of pages. Unlike a ReadAt it has no flights: its reader may take its time, and
// ask for the same page again meanwhile. Other processes do not wait for it longer than for a
// process that has stopped.
type body struct {
	s   *Store
	ctx context.Context // a body lives as long as the context of its Range, by contract
	key string
	buf *[]byte // nil after Close

	pos, end int64 // in the object
	length   int64
	size     int64
	cur      []byte // the rest of the page at pos
	in       storage.Body
	claim    *claim // of the pages that come out of in
	next     int64  // page that comes out of in
	left     int64  // bytes in it
	seen     int64
	err      error
}

// begin finds out how long the body is. It is not known where neither a page nor the store tells
// the object's size.
func (b *body) begin(n int64) (known bool, err error) {
	number := b.pos / PageBytes
	off := b.pos
	b.end = off + n
	if n < 0 || b.end < off {
		b.end = -1
	}
	p, ok, err := b.find(number)
	if err != nil {
		return false, err
	}
	if ok {
		b.size = p.size
	} else if b.size, err = b.ask(number); err != nil {
		return false, err
	}
	if b.size < 0 {
		return false, nil
	}
	if off >= b.size && (b.size > 0 || off > 0) {
		return false, errs.Op("read", b.key).New(errs.Corrupt, "object is truncated (has %d bytes, want some at offset %d)", b.size, off)
	}
	if b.end < 0 || b.end > b.size {
		b.end = b.size
	}
	b.length = b.end - off
	return true, nil
}

// find makes page number the current one if it is in the cache, where other processes may just
// bring it. Else it claims the pages from number on, which are to be requested.
func (b *body) find(number int64) (page, bool, error) {
	b.drop()
	at := b.s.keyOf(b.key, number)
	p, ok := b.s.layer.load(at, *b.buf)
	if !ok {
		last := number + runPages - 1
		if b.end >= 0 {
			last = min(last, (b.end-1)/PageBytes)
		}
		var err error
		if b.claim, err = b.s.reserve(b.ctx, "read", b.key, number, last); err != nil {
			return page{}, false, err
		}
		if p, ok = b.s.layer.load(at, *b.buf); !ok {
			return page{}, false, nil
		}
		b.drop()
	}
	b.s.hits.Add(1)
	b.cut(number, p.data)
	b.s.bytes.Add(int64(len(b.cur)))
	return p, true, nil
}

// ask begins a request for the pages from number on that are missing, and says how large the object
// is.
func (b *body) ask(number int64) (size int64, err error) {
	at, n := number*PageBytes, int64(-1)
	if b.end >= 0 {
		last := b.s.missing(b.key, number, b.claim.within((b.end-1)/PageBytes))
		b.claim.shrink(last)
		n = (last - number + 1) * PageBytes
	}
	b.seen = b.s.seen()
	if b.in, err = b.s.ranger.Range(b.ctx, b.key, at, n, ""); err != nil {
		b.in = nil
		return 0, err
	}
	b.next, b.left = number, b.in.Len()
	return sizeOf(b.in, at, n), nil
}

// cut makes data, which is page number, the current one.
func (b *body) cut(number int64, data []byte) {
	b.cur = data[min(int64(len(data)), b.pos-number*PageBytes):]
	if b.end >= 0 {
		b.cur = b.cur[:min(int64(len(b.cur)), b.end-b.pos)]
	}
}

func (b *body) Read(p []byte) (int, error) {
	switch {
	case b.err != nil:
		return 0, b.err
	case b.pos == b.end:
		return 0, io.EOF
	case len(b.cur) == 0:
		if b.err = b.nextPage(); b.err != nil {
			return 0, b.err
		}
	}
	n := copy(p, b.cur)
	b.cur = b.cur[n:]
	b.pos += int64(n)
	return n, nil
}

// nextPage makes the page at pos the current one.
func (b *body) nextPage() error {
	if err := b.s.admit(b.ctx, "read", b.key); err != nil {
		return err
	}
	defer func() { b.claim.setIdle(true) }() // until the reader wants more
	b.claim.setIdle(false)
	number := b.pos / PageBytes
	if b.in == nil || b.next != number || b.left == 0 {
		_, ok, err := b.find(number)
		if err != nil {
			return err
		}
		if ok {
			return b.some(number)
		}
		if _, err := b.ask(number); err != nil {
			return err
		}
	}
	data := (*b.buf)[:min(PageBytes, b.left)]
	if _, err := io.ReadFull(b.in, data); err != nil {
		return errs.Wrap(errs.Storage, "read", b.key, err)
	}
	b.next++
	b.left -= int64(len(data))
	b.s.misses.Add(1)
	if len(data) == PageBytes || number*PageBytes+int64(len(data)) == b.size {
		b.s.keep(b.key, number, data, b.size, b.seen)
	}
	b.claim.landed(b.next)
	b.cut(number, data)
	return b.some(number)
}

// some checks that the page reaches to where the body is.
func (b *body) some(number int64) error {
	if len(b.cur) > 0 {
		return nil
	}
	return errs.Op("read", b.key).New(errs.Corrupt, "object is truncated (page %d ends before byte %d of %d)", number, b.pos, b.size)
}

// drop ends the request and its claim.
func (b *body) drop() {
	b.claim.end()
	if b.in != nil {
		_ = b.in.Close() // its error does not concern the bytes already read
		b.in = nil
	}
}

// Close may be called early, and again.
func (b *body) Close() error {
	b.drop()
	if b.buf != nil {
		b.s.buffers.Put(b.buf)
		b.buf = nil
	}
	b.cur = nil
	if b.err == nil {
		b.err = errs.Op("read", b.key).New(errs.Closed, "the body was closed")
	}
	return nil
}

func (b *body) Len() int64  { return b.length }
func (b *body) Size() int64 { return b.size }
func (b *body) Tag() string { return "" }
