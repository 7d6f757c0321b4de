package loader

import (
	"context"
	"slices"
	"sort"
	"sync"
	"time"

	"deeplake/core/chunk"
	"deeplake/core/internal/slab"
	"deeplake/core/internal/task"
)

// How requests are cut. What they may hold besides what is needed soon depends on the line.
const (
	maxRequest    = 16 << 20  // bytes of one request, but for a single block that is larger
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
)

// hoard holds bytes of objects from before they are needed until they are not needed any more. They are planned by the
// stretch: the part of a pass whose bytes are needed at about the same time. All methods may be called in parallel.
//
// What was planned is asked for in the order of planning, a piece at a time, as much at once as the line delivers in a
// while. Neighbours are one request: whenever they are needed on a line that is far, only if they are needed together on one
// that is narrow. What the first batch waits for goes ahead of all else. Pieces are kept to the end of the last stretch that
// needs them. Bytes that somebody waits for are asked for at once, whatever the bounds say, so that no order of events can
// end in everybody waiting.
type hoard struct {
	group *task.Group
	shelf *shelf

	limit int64                                                                           // of bytes held and on their way, which are the same memory
	batch int64                                                                           // rows of a batch
	lead  int64                                                                           // positions that go ahead of all others
	reach int                                                                             // pieces join what is needed at most so many stretches later
	fetch func(s chunk.Span, ctx context.Context, dst []byte, landed func(n int64)) error // chunk.Span.Stream

	mu        sync.Mutex
	changed   sync.Cond // bytes were planned, or released, or the gate opened
	objects   map[string]*object
	queue     []*extent
	touched   map[int][]*extent // by the stretch that needs them, last or not
	stretches []int64           // where each ends, as a position of the pass
	released  int               // stretches that are over
	indexed   int64             // positions before it are planned
	wanted    int64             // positions that somebody waits for
	complete  bool              // nothing more will be planned
	stopped   bool
	gate      bool // requests may be sent
	keep      bool // for the next pass
	exact     int  // what stretches before it need is fetched by itself
	finished  map[int64]bool
	watermark int64 // batches before it are done

	cold      []*slab.Slab // memory that was never touched, held for touch
	touching  bool
	untouched bool // memory is left as it is

	planned int64 // bytes of extents
	useful  int64 // of them, those in pieces
	held    int64 // bytes of pieces
	flying  int64 // bytes on their way
	running int64 // requests on their way
	line    line
	head    struct{ all, flying int64 } // bytes that the first batch waits for
	counts  fetchCounts
	track   *track // requests are shown on it; nil: they are not
}

// fetchCounts are the sums of a hoard.
type fetchCounts struct {
	requests, bytes, used, direct int64
	held                          int64         // most bytes held
	took                          time.Duration // of all requests together
	longest                       time.Duration
	waited, index                 time.Duration // for bytes, all workers together; for plans
}

// object is the planned bytes of one object: extents in order, disjoint.
type object struct {
	extents []*extent
	bytes   int64
}

// extent is planned bytes that follow each other: whole blocks.
type extent struct {
	span  chunk.Span
	first int    // stretch that needs it first
	last  int    // stretch that needs it last, as far as is known
	piece *piece // nil: not asked for
	gone  bool   // released unread
}

func (e *extent) end() int64 { return e.span.Offset + e.span.Bytes }

func newHoard(g *task.Group, memory *shelf, limit, batch int64) *hoard {
	h := &hoard{group: g, shelf: memory, limit: limit, batch: batch, lead: batch, reach: 1, fetch: chunk.Span.Stream,
		objects: map[string]*object{}, touched: map[int][]*extent{}, finished: map[int64]bool{}}
	h.changed.L = &h.mu
	return h
}

// plan adds a stretch that ends before position to and needs spans.
func (h *hoard) plan(to int64, spans [][]chunk.Span) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.stretches)
	h.stretches = append(h.stretches, to)
	h.indexed = to
	for _, list := range spans {
		for _, s := range list {
			h.cover(n, s)
		}
	}
	h.pump()
	h.changed.Broadcast()
}

// cover notes that stretch n needs s.
func (h *hoard) cover(n int, s chunk.Span) {
	o := h.objects[s.Object]
	if o == nil {
		o = &object{}
		h.objects[s.Object] = o
	}
	off, end := s.Offset, s.Offset+s.Bytes
	at := o.search(off)
	for off < end {
		if at < len(o.extents) && o.extents[at].span.Offset <= off {
			e := o.extents[at]
			if e.last != n {
				e.last = n
				h.touched[n] = append(h.touched[n], e)
			}
			off = e.end()
			at++
			continue
		}
		to := end
		if at < len(o.extents) {
			to = min(end, o.extents[at].span.Offset)
		}
		e := &extent{span: s.Part(off, to-off), first: n, last: n}
		o.extents = slices.Insert(o.extents, at, e)
		h.touched[n] = append(h.touched[n], e)
		h.queue = append(h.queue, e)
		h.planned += to - off
		o.bytes += to - off
		off = to
		at++
	}
}

// search is the first extent that ends behind off.
func (o *object) search(off int64) int {
	return sort.Search(len(o.extents), func(i int) bool { return o.extents[i].end() > off })
}

// sparse is the number of stretches, the first ones, that need so few extents that to fetch them by themselves adds few
// requests to those for everything planned.
func (h *hoard) sparse() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	room := requestsSlack * float64(h.planned) / aimRequest
	for n := range h.stretches {
		for _, e := range h.touched[n] {
			if e.first == n && e.piece == nil && h.objects[e.span.Object].bytes > smallObject {
				room--
			}
		}
		if room < 0 {
			return n
		}
	}
	return len(h.stretches)
}

// first reports whether the first batch needs stretch n.
func (h *hoard) first(n int) bool { return n == 0 || h.stretches[n-1] < h.lead }

// open lets requests out. What the first stretches need, exact in number, is fetched by itself, so that it comes early;
// all else with its neighbours.
func (h *hoard) open(exact int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gate {
		return
	}
	h.gate, h.exact = true, exact
	for h.exact < len(h.stretches)-1 && h.first(h.exact) {
		h.exact++ // there are others, which it would wait for
	}
	h.pump()
	h.changed.Broadcast()
}

// end says that nothing more will be planned.
func (h *hoard) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.complete = true
	h.changed.Broadcast()
}

// stop wakes all who wait for planning.
func (h *hoard) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	h.changed.Broadcast()
}

// awaitRoom waits until more may be planned; false: it is over.
func (h *hoard) awaitRoom() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.full() && h.wanted <= h.indexed && !h.stopped {
		h.changed.Wait()
	}
	return !h.stopped
}

// full reports whether as much is planned as may be held, with what lies between.
func (h *hoard) full() bool {
	toCome := h.planned - h.useful
	if h.reach == 0 {
		toCome *= 2 // pieces are half gaps at worst
	}
	return toCome+h.held >= h.limit
}

// over is full, for those who do not hold the lock.
func (h *hoard) over() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.full()
}

// await waits until the positions before to are planned.
func (h *hoard) await(to int64, m *meter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if to > h.wanted {
		h.wanted = to
		h.changed.Broadcast()
	}
	began := time.Now()
	for h.indexed < to && !h.complete && !h.stopped {
		m.pause()
		h.changed.Wait()
		m.resume()
	}
	h.counts.index += time.Since(began)
}

// done says that nobody needs the bytes of batch seq any more.
func (h *hoard) done(seq int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.finished[seq] = true
	for h.finished[h.watermark] {
		delete(h.finished, h.watermark)
		h.watermark++
	}
	for !h.keep && h.released < len(h.stretches) && h.stretches[h.released] <= h.watermark*h.batch {
		h.release(h.released)
		h.released++
	}
	h.pump()
	h.changed.Broadcast()
}

// release forgets what no later stretch needs.
func (h *hoard) release(n int) {
	for _, e := range h.touched[n] {
		if e.last != n {
			continue
		}
		o := h.objects[e.span.Object]
		at := o.search(e.span.Offset)
		o.extents = slices.Delete(o.extents, at, at+1)
		o.bytes -= e.span.Bytes
		if len(o.extents) == 0 {
			delete(h.objects, e.span.Object)
		}
		h.planned -= e.span.Bytes
		e.gone = true
		if p := e.piece; p != nil {
			h.useful -= e.span.Bytes
			if p.left--; p.left == 0 && p.running == 0 {
				h.free(p)
			}
		}
	}
	delete(h.touched, n)
}

func (h *hoard) free(p *piece) {
	h.held -= p.size()
	if p.slab != nil {
		h.shelf.put(p.slab, int64(len(p.mem)))
	}
	p.mem, p.slab = nil, nil
}

// pump sends requests as long as the bounds allow it.
func (h *hoard) pump() {
	for h.gate && !h.stopped && h.running < maxRequests && h.flying < maxFlight {
		for len(h.queue) > 0 && (h.queue[0].gone || h.queue[0].piece != nil) {
			h.queue = h.queue[1:]
		}
		if len(h.queue) == 0 {
			return
		}
		e := h.queue[0]
		if h.held > 0 && h.held+e.span.Bytes > h.limit || !h.first(e.first) && (h.flying >= h.bound() || !h.mayFollow()) {
			return
		}
		from, to, extents := h.grow(e)
		if h.held > 0 && h.held+to-from > h.limit {
			return
		}
		h.start(from, to, extents)
	}
}

// bound is how many bytes may be on their way. While the first batch is being decoded, that is no more than keeps a line in
// use: to receive bytes takes the same processors.
func (h *hoard) bound() int64 {
	if h.watermark*h.batch < h.lead {
		return max(int64(earlyTurns*h.line.turn()), minFlight)
	}
	request := float64(aimRequest)
	if h.counts.requests > 0 {
		request = float64(h.counts.bytes) / float64(h.counts.requests)
	}
	return h.line.flight(request)
}

// mayFollow reports whether more than the first batch needs may be asked for: when its first bytes would come as the last
// ones of that batch do.
func (h *hoard) mayFollow() bool {
	left := h.head.flying
	return left == 0 || float64(left) <= h.line.turn() || left <= h.head.all/headRest
}

// grow puts the neighbours of e that were not asked for in one piece with it.
func (h *hoard) grow(e *extent) (from, to int64, extents []*extent) {
	o := h.objects[e.span.Object]
	most, early := int64(maxRequest), e.first < h.exact && o.bytes > smallObject
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
func (h *hoard) start(from, to int64, extents []*extent) {
	n := to - from
	p := &piece{off: from, left: len(extents), head: h.first(extents[0].first)}
	for _, e := range extents {
		e.piece = p
		h.counts.used += e.span.Bytes
		h.useful += e.span.Bytes
	}
	if n < smallPiece {
		p.mem = make([]byte, n)
	} else if s, fresh, err := h.shelf.get(n); err != nil {
		p.err = err
		return
	} else {
		p.slab, p.mem = s, s.Bytes()[:n:n]
		if fresh && !h.untouched {
			h.touchSoon(s)
		}
	}
	h.held += p.size()
	h.counts.held = max(h.counts.held, h.held)
	h.counts.bytes += n
	p.running = int((n + maxRequest - 1) / maxRequest)
	h.flying += n
	if p.head {
		h.head.all += n
		h.head.flying += n
	}
	h.running += int64(p.running)
	h.counts.requests += int64(p.running)
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
func (h *hoard) bring(ctx context.Context, s chunk.Span, p *piece, part int) {
	q := &p.parts[part]
	began, begun := time.Now(), time.Time{}
	err := h.fetch(s, ctx, p.mem[q.from:q.to:q.to], func(n int64) {
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
func (h *hoard) landed(p *piece, part int, n int64, now time.Time) {
	p.parts[part].filled += n
	h.flying -= n
	if p.head {
		h.head.flying -= n
	}
	h.line.landed(n, now)
	p.wake()
	h.pump()
}

// touchSoon lets the memory of s be found while its bytes are on their way: at the start nobody has better things to do
// until the first ones come.
func (h *hoard) touchSoon(s *slab.Slab) {
	s.Retain()
	h.cold = append(h.cold, s)
	if !h.touching {
		h.touching = true
		h.group.Go(h.touch)
	}
}

// touch finds the memory of one slab after the other, in the order in which they are needed.
func (h *hoard) touch(context.Context) error {
	for {
		h.mu.Lock()
		if len(h.cold) == 0 || h.stopped {
			h.touching = false
			h.mu.Unlock()
			return nil
		}
		s := h.cold[0]
		h.cold = h.cold[1:]
		h.mu.Unlock()
		s.Touch()
		s.Release()
	}
}

// arrived ends one request of p.
func (h *hoard) arrived(p *piece, part int, took time.Duration, err error) {
	missing := p.parts[part].to - p.parts[part].filled // after a failure
	h.flying -= missing
	if p.head {
		h.head.flying -= missing
	}
	h.running--
	if h.running == 0 {
		h.line.idle(time.Now())
	}
	h.counts.took += took
	h.track.span("request", time.Now().Add(-took), "bytes", p.parts[part].to-p.parts[part].from)
	h.counts.longest = max(h.counts.longest, took)
	if p.err == nil {
		p.err = err
	}
	p.wake()
	if p.running--; p.running == 0 && p.left == 0 {
		h.free(p)
	}
	h.pump()
}

// bytes is what Held.Bytes says. The time of waiting goes to m.
func (h *hoard) bytes(ctx context.Context, object string, off, n int64, m *meter) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for !h.gate && !h.stopped {
		began := time.Now()
		m.pause()
		h.changed.Wait()
		m.resume()
		h.counts.waited += time.Since(began)
	}
	e := h.find(object, off, n)
	if e == nil || h.stopped {
		h.counts.direct++
		return nil, nil
	}
	if e.piece == nil {
		h.start(h.grow(e))
	}
	p := e.piece
	from, to := off-p.off, off-p.off+n
	if p.err == nil && !p.has(from, to) {
		if err := h.waitFor(ctx, p, from, to, m); err != nil {
			return nil, err
		}
	}
	if p.err != nil {
		if skippable(p.err) {
			return nil, nil // it may be about a neighbour: let the sample read its own
		}
		return nil, p.err
	}
	return p.mem[from:to:to], nil
}

// find is the extent that holds n bytes at off.
func (h *hoard) find(object string, off, n int64) *extent {
	o := h.objects[object]
	if o == nil {
		return nil
	}
	at := o.search(off)
	if at == len(o.extents) || o.extents[at].span.Offset > off || o.extents[at].end() < off+n {
		return nil
	}
	return o.extents[at]
}

// keepAll says that all of the pass has room: nothing is released before the end, and then it is there for the next pass.
func (h *hoard) keepAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keep = !h.full()
}

// takeOver begins with what another hoard of the same shelf has left.
func (h *hoard) takeOver(objects map[string]*object) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.objects = objects
	seen := map[*piece]bool{}
	for _, o := range objects {
		for _, e := range o.extents {
			h.planned += e.span.Bytes
			h.useful += e.span.Bytes
			if !seen[e.piece] {
				seen[e.piece] = true
				h.held += e.piece.size()
			}
		}
	}
	h.counts.held = h.held
}

// close frees what is held, but for what it returns: whole pieces for the next pass. All goroutines that used the hoard
// have ended.
func (h *hoard) close() map[string]*object {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	kept := map[string]*object{}
	for name, o := range h.objects {
		left := &object{}
		for _, e := range o.extents {
			p := e.piece
			switch {
			case p == nil || p.left == 0:
			case h.keep && p.err == nil && p.running == 0:
				left.extents = append(left.extents, e)
				left.bytes += e.span.Bytes
				e.first, e.last = 0, 0
			default:
				p.left = 0
				h.free(p)
			}
		}
		if len(left.extents) > 0 {
			kept[name] = left
		}
	}
	for _, s := range h.cold {
		s.Release()
	}
	h.objects, h.queue, h.cold = map[string]*object{}, nil, nil
	h.touched = map[int][]*extent{}
	return kept
}

// hand is a hoard as one worker sees it.
type hand struct {
	hoard *hoard
	meter *meter
}

var _ chunk.Held = hand{}

// Bytes is as chunk.Held says.
func (h hand) Bytes(ctx context.Context, object string, off, n int64) ([]byte, error) {
	return h.hoard.bytes(ctx, object, off, n, h.meter)
}
