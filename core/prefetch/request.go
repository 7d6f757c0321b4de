package prefetch

import (
	"context"
	"time"

	"deeplake/core/chunk"
)

// Bounds of requests. The link bounds the bytes that are not needed soon.
const (
	MaxRequest   = 16 << 20 // bytes of one request; several requests share a larger block
	firstRequest = 4 << 20  // the same for the first batch
	narrowGap    = 64 << 10 // a smaller gap costs less than a request: it is read and dropped
	// a gap of up to this size is read if as many bytes around it are needed
	wideGap         = 3 << 19
	maxRequests     = 64        // in flight
	smallBuffer     = 64 << 10  // smaller buffers lie in Go's heap
	requestsSlack   = 0.2       // share of extra requests allowed for an early first batch
	smallObject     = 1 << 20   // an object with fewer planned bytes is one request
	aimRequest      = 8_000_000 // expected bytes of a request
	slidingSpare    = 2 << 20   // bytes for later windows that a request may carry on any link
	earlyRoundTrips = 4         // round trips of bytes in flight, until the first batch is decoded
	headRest        = 8         // one part in so many of the first batch may arrive late
	// requested beyond the first batch until it is decoded; at least the size of that batch
	earlyBytes = 32 << 20
)

// pump sends requests while the bounds allow them.
func (p *Prefetcher) pump() {
	for p.gate && !p.stopped && p.running < maxRequests && p.flying < maxFlight {
		p.skip()
		if len(p.queue) == 0 {
			return
		}
		e := p.queue[0]
		if e.first >= p.exact && !p.foreseen(e.first) {
			return
		}
		if p.buffered > 0 && p.buffered+e.span.Bytes > p.room() || !p.first(e.first) && (p.flying >= p.bound() || !p.mayFollow()) {
			return
		}
		from, to, extents := p.grow(e)
		need := to - from
		if p.splits(need, extents) {
			need *= 2 // the pieces are copies
		}
		if p.buffered > 0 && p.buffered+need > p.room() {
			return
		}
		p.start(from, to, extents)
	}
}

// skip drops extents from the queue that need no request.
func (p *Prefetcher) skip() {
	for len(p.queue) > 0 && (p.queue[0].gone || p.queue[0].buffer != nil) {
		p.queue = p.queue[1:]
	}
}

// leading reports whether the first batch awaits decoding.
func (p *Prefetcher) leading() bool { return p.watermark*p.options.Batch < p.options.Lead }

// bound returns the bound of the bytes in flight. While the first batch is decoded, it only keeps
// the link in use: receiving takes the same processors as decoding.
func (p *Prefetcher) bound() int64 {
	if p.leading() {
		return max(int64(earlyRoundTrips*p.link.roundTripBytes()), minFlight)
	}
	request := float64(aimRequest)
	if p.counts.Requests > 0 {
		request = float64(p.counts.Bytes) / float64(p.counts.Requests)
	}
	return p.link.flight(request)
}

// mayFollow reports whether requests beyond the first batch may start: once their first bytes would
// arrive with the last bytes of that batch. Until the batch is decoded, only its own size follows.
// On a link slower than the decoders, receiving that takes longer than decoding the batch. On a
// faster link, more bytes would take the processors from the decoders.
func (p *Prefetcher) mayFollow() bool {
	if p.leading() && p.counts.Bytes-p.head.all >= max(earlyBytes, p.head.all) {
		return false
	}
	missing := p.head.flying
	return missing == 0 || float64(missing) <= p.link.roundTripBytes() || missing <= p.head.all/headRest
}

// grow adds neighbouring extents that were not requested yet to the request for e.
func (p *Prefetcher) grow(e *extent) (from, to int64, extents []*extent) {
	o := p.objects[e.span.Object]
	most, early := p.most, e.first < p.exact && o.bytes > smallObject
	if early {
		most = min(most, firstRequest)
	}
	spare := p.link.spare()
	if o.bytes <= smallObject {
		spare = smallObject
	} else if p.ahead > 0 {
		spare = max(spare, slidingSpare)
	}
	from, to = e.span.Offset, e.end()
	useful := e.span.Bytes
	extents = []*extent{e}
	at := o.search(from)
	join := func(x *extent, gap int64) (joined, last bool) {
		if gap > wideGap || max(to, x.end())-min(from, x.span.Offset) > most {
			return false, true
		}
		if x.buffer != nil {
			return false, false
		}
		if gap > narrowGap && max(to, x.end())-min(from, x.span.Offset) > 2*(useful+x.span.Bytes) || early && x.first >= p.exact || max(x.first-e.first, e.first-x.first) > p.joinWindows {
			return false, true
		}
		cost := gap
		if x.first > e.first {
			cost += x.span.Bytes
		}
		if spare -= cost; spare < 0 && cost > 0 {
			return false, true
		}
		extents = append(extents, x)
		useful += x.span.Bytes
		return true, false
	}
	for i := at + 1; i < len(o.extents); i++ {
		x := o.extents[i]
		joined, last := join(x, x.span.Offset-to)
		if last {
			break
		}
		if joined {
			to = x.end()
		}
	}
	for i := at - 1; i >= 0; i-- {
		x := o.extents[i]
		joined, last := join(x, from-x.end())
		if last {
			break
		}
		if joined {
			from = x.span.Offset
		}
	}
	return from, to, extents
}

// start requests a buffer for the extents.
func (p *Prefetcher) start(from, to int64, extents []*extent) {
	n := to - from
	b := &buffer{off: from, users: len(extents), head: p.first(extents[0].first)}
	for _, e := range extents {
		e.buffer = b
		p.counts.Used += e.span.Bytes
		p.useful += e.span.Bytes
	}
	if err := p.allocate(b, n); err != nil {
		return
	}
	if p.splits(n, extents) {
		p.split(b, extents)
	}
	p.counts.PeakBuffered = max(p.counts.PeakBuffered, p.buffered)
	p.counts.Bytes += n
	b.running = int((n + MaxRequest - 1) / MaxRequest)
	p.flying += n
	if b.head {
		p.head.all += n
		p.head.flying += n
	}
	p.running += int64(b.running)
	p.counts.Requests += int64(b.running)
	b.parts = make([]portion, b.running)
	for i := range b.parts {
		lo, hi := int64(i)*n/int64(len(b.parts)), int64(i+1)*n/int64(len(b.parts))
		b.parts[i] = portion{lo, hi, lo}
		p.group.Go(func(ctx context.Context) error {
			p.bring(ctx, extents[0].span.Part(from+lo, hi-lo), b, i)
			return nil
		})
	}
}

// allocate gives a buffer n bytes. A failure becomes the error of the buffer.
func (p *Prefetcher) allocate(b *buffer, n int64) error {
	if n < smallBuffer {
		b.mem = make([]byte, n)
	} else if m, fresh, err := p.pool.get(n); err != nil {
		b.err = err
		return err
	} else {
		b.pooled, b.mem = m, m.bytes
		if fresh != nil && !p.options.SkipPrefault {
			p.prefaultSoon(fresh)
		}
	}
	p.buffered += b.size()
	return nil
}

// splits reports whether the windows that need the extents of a request end at different times.
func (p *Prefetcher) splits(n int64, extents []*extent) bool {
	if p.ahead == 0 || n > MaxRequest {
		return false
	}
	least, most := extents[0].last, extents[0].last
	for _, e := range extents {
		least, most = min(least, e.last), max(most, e.last)
	}
	return most-least > 1
}

// split gives each extent a buffer of its own, which gets a copy of its bytes in b.
func (p *Prefetcher) split(b *buffer, extents []*extent) {
	b.users = 0
	p.carriers[b] = true
	for _, e := range extents {
		n := e.span.Bytes
		piece := &buffer{off: e.span.Offset, users: 1, running: 1, parts: []portion{{to: n}}}
		e.buffer = piece
		if err := p.allocate(piece, n); err != nil {
			piece.running = 0
			continue
		}
		b.pieces = append(b.pieces, piece)
	}
}

// bring carries out one request of b.
func (p *Prefetcher) bring(ctx context.Context, s chunk.Span, b *buffer, part int) {
	q := &b.parts[part]
	began, begun := time.Now(), time.Time{}
	err := p.options.Fetch(s, ctx, b.mem[q.from:q.to:q.to], func(n int64) {
		b.copyPieces(q.filled, n) // without the lock: nothing else writes q.filled
		now := time.Now()
		p.mu.Lock()
		defer p.mu.Unlock()
		if begun.IsZero() {
			begun = now
			p.link.answered(now.Sub(began))
		}
		if n > 0 {
			p.received(b, part, n, now)
		}
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if err == nil && !begun.IsZero() {
		p.link.ended(s.Bytes, now.Sub(begun))
	}
	p.arrived(b, part, now.Sub(began), err)
}

// received counts n more bytes of a part of b.
func (p *Prefetcher) received(b *buffer, part int, n int64, now time.Time) {
	b.parts[part].filled += n
	p.flying -= n
	if b.head {
		p.head.flying -= n
	}
	p.link.received(n, now)
	b.wake()
	for _, piece := range b.pieces {
		piece.fill(b.off + b.parts[part].filled)
	}
	p.pump()
}

// arrived ends one request of b.
func (p *Prefetcher) arrived(b *buffer, part int, took time.Duration, err error) {
	missing := b.parts[part].to - b.parts[part].filled // after a failure
	p.flying -= missing
	if b.head {
		p.head.flying -= missing
	}
	p.running--
	if p.running == 0 {
		p.link.idle(time.Now())
	}
	p.counts.Took += took
	if p.options.Requested != nil {
		p.options.Requested(time.Now().Add(-took), b.parts[part].to-b.parts[part].from)
	}
	p.counts.Longest = max(p.counts.Longest, took)
	if b.err == nil {
		b.err = err
	}
	b.wake()
	for _, piece := range b.pieces {
		piece.err = b.err
		piece.wake()
		if piece.running--; piece.users == 0 {
			p.free(piece)
		}
	}
	if b.running--; b.running == 0 && b.users == 0 {
		delete(p.carriers, b)
		p.free(b)
	}
	p.pump()
}
