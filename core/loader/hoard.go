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

// How requests are cut. A request costs about 25 ms until its first byte comes, and as much as 2 MB of bytes do.
const (
	maxRequest    = 16 << 20  // bytes of one request, but for a single block that is larger
	firstRequest  = 4 << 20   // the same for what the first batch waits for
	narrowGap     = 64 << 10  // bytes that nobody needs cost less than a request: they are read through
	wideGap       = 3 << 19   // these are where at least as many are needed
	maxRequests   = 64        // on their way at once
	minFlight     = 128 << 20 // bytes on their way at once, or
	flightPerJob  = 32 << 20  // for each decode thread, up to
	maxFlight     = 256 << 20 //
	smallPiece    = 64 << 10  // fewer bytes are not worth a slab
	requestsSlack = 0.2       // part of all requests that may be added for an early first batch
	smallObject   = 1 << 20   // an object of which no more is planned is one request at once
	aimRequest    = 8_000_000 // bytes of a request when all goes well
)

// hoard holds bytes of objects from before they are needed until they are not needed any more. They are planned by the
// stretch: the part of a pass whose bytes are needed at about the same time. All methods may be called in parallel.
//
// What was planned is asked for in the order of planning, a piece at a time: neighbours are one request, whenever they
// are needed. Pieces are kept to the end of the last stretch that needs them. Bytes that somebody waits for are asked for
// at once, whatever the bounds say, so that no order of events can end in everybody waiting.
type hoard struct {
	group *task.Group
	shelf *shelf

	limit  int64 // of bytes held and on their way, which are the same memory
	flight int64 // of bytes on their way
	batch  int64 // rows of a batch
	reach  int   // pieces join what is needed at most so many stretches later

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

	cold     []*slab.Slab // memory that was never touched, held for touch
	touching bool

	planned int64 // bytes of extents
	useful  int64 // of them, those in pieces
	held    int64 // bytes of pieces
	flying  int64 // bytes on their way
	running int64 // requests on their way
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

// piece is memory that requests fill.
type piece struct {
	mem   []byte
	slab  *slab.Slab // of mem; nil: the Go heap
	off   int64      // in the object
	left  int        // extents that are still needed
	parts int        // requests on their way
	ready chan struct{}
	err   error // set before ready is closed
}

func newHoard(g *task.Group, memory *shelf, limit int64, workers int, batch int64) *hoard {
	h := &hoard{group: g, shelf: memory, limit: limit, batch: batch, reach: 1, flight: min(max(flightPerJob*int64(workers), minFlight), maxFlight),
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

// open lets requests out. What the first stretches need, exact in number, is fetched by itself, so that it comes early;
// all else with its neighbours.
func (h *hoard) open(exact int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gate {
		return
	}
	h.gate, h.exact = true, exact
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
			if p.left--; p.left == 0 && p.parts == 0 {
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

// size is the memory that the piece takes.
func (p *piece) size() int64 {
	if p.slab != nil {
		return shelfSize(int64(len(p.mem)))
	}
	return int64(len(p.mem))
}

// pump sends requests as long as the bounds allow it.
func (h *hoard) pump() {
	for h.gate && !h.stopped && h.running < maxRequests {
		for len(h.queue) > 0 && (h.queue[0].gone || h.queue[0].piece != nil) {
			h.queue = h.queue[1:]
		}
		if len(h.queue) == 0 {
			return
		}
		from, to, extents := h.grow(h.queue[0])
		if n := to - from; h.running > 0 && h.flying+n > h.flight || h.held > 0 && h.held+n > h.limit {
			return
		}
		h.start(from, to, extents)
	}
}

// grow puts the neighbours of e that were not asked for in one piece with it.
func (h *hoard) grow(e *extent) (from, to int64, extents []*extent) {
	o := h.objects[e.span.Object]
	most, early := int64(maxRequest), e.first < h.exact && o.bytes > smallObject
	if early {
		most = firstRequest
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
	p := &piece{off: from, left: len(extents), ready: make(chan struct{})}
	for _, e := range extents {
		e.piece = p
		h.counts.used += e.span.Bytes
		h.useful += e.span.Bytes
	}
	if n < smallPiece {
		p.mem = make([]byte, n)
	} else if s, fresh, err := h.shelf.get(n); err != nil {
		p.err = err
		close(p.ready)
		return
	} else {
		p.slab, p.mem = s, s.Bytes()[:n:n]
		if fresh {
			h.touchSoon(s)
		}
	}
	h.held += p.size()
	h.counts.held = max(h.counts.held, h.held)
	h.counts.bytes += n
	p.parts = int((n + maxRequest - 1) / maxRequest)
	h.flying += n
	h.running += int64(p.parts)
	h.counts.requests += int64(p.parts)
	for i := range int64(p.parts) {
		lo, hi := i*n/int64(p.parts), (i+1)*n/int64(p.parts)
		span, dst := extents[0].span.Part(from+lo, hi-lo), p.mem[lo:hi:hi]
		h.group.Go(func(ctx context.Context) error {
			began := time.Now()
			err := span.Read(ctx, dst)
			h.arrived(p, hi-lo, time.Since(began), err)
			return nil
		})
	}
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
func (h *hoard) arrived(p *piece, n int64, took time.Duration, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.flying -= n
	h.running--
	h.counts.took += took
	h.track.span("request", time.Now().Add(-took), "bytes", n)
	h.counts.longest = max(h.counts.longest, took)
	if p.err == nil {
		p.err = err
	}
	if p.parts--; p.parts == 0 {
		close(p.ready)
		if p.left == 0 {
			h.free(p)
		}
	}
	h.pump()
}

// bytes is what Held.Bytes says. The time of waiting goes to m.
func (h *hoard) bytes(ctx context.Context, object string, off, n int64, m *meter) ([]byte, error) {
	h.mu.Lock()
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
		h.mu.Unlock()
		return nil, nil
	}
	if e.piece == nil {
		h.start(h.grow(e))
	}
	p := e.piece
	h.mu.Unlock()
	if err := h.waitFor(ctx, p, m); err != nil {
		return nil, err
	}
	if p.err != nil {
		if skippable(p.err) {
			return nil, nil // it may be about a neighbour: let the sample read its own
		}
		return nil, p.err
	}
	return p.mem[off-p.off : off-p.off+n : off-p.off+n], nil
}

// waitFor waits until p is there.
func (h *hoard) waitFor(ctx context.Context, p *piece, m *meter) error {
	select {
	case <-p.ready:
		return nil
	default:
	}
	began := time.Now()
	m.pause()
	defer func() {
		m.resume()
		h.mu.Lock()
		h.counts.waited += time.Since(began)
		h.mu.Unlock()
	}()
	select {
	case <-p.ready:
		return nil
	case <-ctx.Done():
		return canceled(ctx)
	}
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
			case h.keep && p.err == nil && p.parts == 0:
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
