package ahead

import (
	"context"
	"time"

	"deeplake/core/chunk"
)

// How requests are cut. What they may hold besides what is needed soon depends on the line.
const (
	MaxRequest    = 16 << 20  // bytes of one request; of a block that is larger, several requests bring parts
	firstRequest  = 4 << 20   // the same for what the first batch waits for
	narrowGap     = 64 << 10  // bytes that nobody needs cost less than a request: they are read through
	wideGap       = 3 << 19   // these are where at least as many are needed
	maxRequests   = 64        // on their way at once
	smallPiece    = 64 << 10  // fewer bytes are not worth a slab
	requestsSlack = 0.2       // part of all requests that may be added for an early first batch
	smallObject   = 1 << 20   // an object of which no more is planned is one request at once
	aimRequest    = 8_000_000 // bytes of a request when all goes well
	earlyTurns    = 4         // times what the line delivers in a turn, until the first batch is decoded
	headRest      = 8         // one part in so many of the first batch's bytes may be late
	earlyBytes    = 32 << 20  // asked for beside those of the first batch, or as many as that has, until it is decoded
)

// pump sends requests as long as the bounds allow it.
func (h *Hoard) pump() {
	for h.gate && !h.stopped && h.running < maxRequests && h.flying < maxFlight {
		for len(h.queue) > 0 && (h.queue[0].gone || h.queue[0].piece != nil) {
			h.queue = h.queue[1:]
		}
		if len(h.queue) == 0 {
			return
		}
		e := h.queue[0]
		if h.held > 0 && h.held+e.span.Bytes > h.options.Limit || !h.first(e.first) && (h.flying >= h.bound() || !h.mayFollow()) {
			return
		}
		from, to, extents := h.grow(e)
		if h.held > 0 && h.held+to-from > h.options.Limit {
			return
		}
		h.start(from, to, extents)
	}
}

// leading reports whether the first batch is not decoded yet.
func (h *Hoard) leading() bool { return h.watermark*h.options.Batch < h.options.Lead }

// bound is how many bytes may be on their way. While the first batch is being decoded, that is no more than keeps a line in
// use: to receive bytes takes the same processors.
func (h *Hoard) bound() int64 {
	if h.leading() {
		return max(int64(earlyTurns*h.line.turn()), minFlight)
	}
	request := float64(aimRequest)
	if h.counts.Requests > 0 {
		request = float64(h.counts.Bytes) / float64(h.counts.Requests)
	}
	return h.line.flight(request)
}

// mayFollow reports whether more than the first batch needs may be asked for: when its first bytes would come as the last
// ones of that batch do. Until that is decoded as much follows as it has itself: to decode it takes no longer than to receive
// that where the line is slower than the decoders, and where it is faster the rest would take the processors from them.
func (h *Hoard) mayFollow() bool {
	if h.leading() && h.counts.Bytes-h.head.all >= max(earlyBytes, h.head.all) {
		return false
	}
	left := h.head.flying
	return left == 0 || float64(left) <= h.line.turn() || left <= h.head.all/headRest
}

// grow puts the neighbours of e that were not asked for in one piece with it.
func (h *Hoard) grow(e *extent) (from, to int64, extents []*extent) {
	o := h.objects[e.span.Object]
	most, early := int64(MaxRequest), e.first < h.exact && o.bytes > smallObject
	if early {
		most = firstRequest
	}
	spare := h.line.spare()
	if o.bytes <= smallObject {
		spare = smallObject
	}
	from, to = e.span.Offset, e.end()
	useful := e.span.Bytes
	extents = []*extent{e}
	at := o.search(from)
	join := func(x *extent, gap int64) (joined, last bool) {
		if gap > wideGap || max(to, x.end())-min(from, x.span.Offset) > most {
			return false, true
		}
		if x.piece != nil {
			return false, false
		}
		if gap > narrowGap && max(to, x.end())-min(from, x.span.Offset) > 2*(useful+x.span.Bytes) || early && x.first >= h.exact || max(x.first-e.first, e.first-x.first) > h.reach {
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

// start asks for a piece.
func (h *Hoard) start(from, to int64, extents []*extent) {
	n := to - from
	p := &piece{off: from, left: len(extents), head: h.first(extents[0].first)}
	for _, e := range extents {
		e.piece = p
		h.counts.Used += e.span.Bytes
		h.useful += e.span.Bytes
	}
	if n < smallPiece {
		p.mem = make([]byte, n)
	} else if s, fresh, err := h.shelf.get(n); err != nil {
		p.err = err
		return
	} else {
		p.slab, p.mem = s, s.Bytes()[:n:n]
		if fresh && !h.options.Untouched {
			h.touchSoon(s)
		}
	}
	h.held += p.size()
	h.counts.PeakHeld = max(h.counts.PeakHeld, h.held)
	h.counts.Bytes += n
	p.running = int((n + MaxRequest - 1) / MaxRequest)
	h.flying += n
	if p.head {
		h.head.all += n
		h.head.flying += n
	}
	h.running += int64(p.running)
	h.counts.Requests += int64(p.running)
	p.parts = make([]portion, p.running)
	for i := range p.parts {
		lo, hi := int64(i)*n/int64(len(p.parts)), int64(i+1)*n/int64(len(p.parts))
		p.parts[i] = portion{lo, hi, lo}
		h.group.Go(func(ctx context.Context) error {
			h.bring(ctx, extents[0].span.Part(from+lo, hi-lo), p, i)
			return nil
		})
	}
}

// bring does one request of p.
func (h *Hoard) bring(ctx context.Context, s chunk.Span, p *piece, part int) {
	q := &p.parts[part]
	began, begun := time.Now(), time.Time{}
	err := h.options.Fetch(s, ctx, p.mem[q.from:q.to:q.to], func(n int64) {
		now := time.Now()
		h.mu.Lock()
		defer h.mu.Unlock()
		if begun.IsZero() {
			begun = now
			h.line.answered(now.Sub(began))
		}
		if n > 0 {
			h.landed(p, part, n, now)
		}
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if err == nil && !begun.IsZero() {
		h.line.ended(s.Bytes, now.Sub(begun))
	}
	h.arrived(p, part, now.Sub(began), err)
}

// landed notes n bytes more of a part of p.
func (h *Hoard) landed(p *piece, part int, n int64, now time.Time) {
	p.parts[part].filled += n
	h.flying -= n
	if p.head {
		h.head.flying -= n
	}
	h.line.landed(n, now)
	p.wake()
	h.pump()
}

// arrived ends one request of p.
func (h *Hoard) arrived(p *piece, part int, took time.Duration, err error) {
	missing := p.parts[part].to - p.parts[part].filled // after a failure
	h.flying -= missing
	if p.head {
		h.head.flying -= missing
	}
	h.running--
	if h.running == 0 {
		h.line.idle(time.Now())
	}
	h.counts.Took += took
	if h.options.Requested != nil {
		h.options.Requested(time.Now().Add(-took), p.parts[part].to-p.parts[part].from)
	}
	h.counts.Longest = max(h.counts.Longest, took)
	if p.err == nil {
		p.err = err
	}
	p.wake()
	if p.running--; p.running == 0 && p.left == 0 {
		h.free(p)
	}
	h.pump()
}
