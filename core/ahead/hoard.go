package ahead

import (
	"context"
	"slices"
	"sort"
	"sync"
	"time"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/internal/slab"
	"deeplake/core/internal/task"
)

// Options are what a hoard is told of its use.
type Options struct {
	Limit int64 // bytes held and on their way, which are the same memory
	Batch int64 // positions of a batch
	Lead  int64 // positions that go ahead of all others; 0: those of the first batch

	Fetch     func(s chunk.Span, ctx context.Context, dst []byte, landed func(n int64)) error // nil: chunk.Span.Stream
	Requested func(began time.Time, bytes int64)                                              // a request has ended; nil: nobody cares
	Untouched bool                                                                            // new memory is left as it is
}

// Waiter is told when a goroutine waits.
type Waiter interface {
	Pause()
	Resume()
}

// Hoard holds bytes of objects from before they are needed until they are not needed any more. They are planned by the
// stretch: the part of a pass whose bytes are needed at about the same time. All methods may be called in parallel.
//
// What was planned is asked for in the order of planning, a piece at a time, as much at once as the line delivers in a
// while. Neighbours are one request: whenever they are needed on a line that is far, only if they are needed together on one
// that is narrow. What the first batch waits for goes ahead of all else. Pieces are kept to the end of the last stretch that
// needs them. Bytes that somebody waits for are asked for at once, whatever the bounds say, so that no order of events can
// end in everybody waiting.
type Hoard struct {
	group   *task.Group
	shelf   *Shelf
	options Options

	mu        sync.Mutex
	reach     int       // pieces join what is needed at most so many stretches later
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
	line    line
	head    struct{ all, flying int64 } // bytes that the first batch waits for
	counts  Figures
}

// Figures are what a hoard has done.
type Figures struct {
	Requests, Bytes int64         // asked for
	Used            int64         // of the bytes, those that were planned
	Direct          int64         // reads that it could not serve
	Running, Flying int64         // requests, and their bytes, that are on their way
	Held, PeakHeld  int64         // bytes, those on their way with them
	Took, Longest   time.Duration // of all requests together; of one
	Waited, Index   time.Duration // for bytes, all goroutines together; for plans
}

// Figures says what h has done so far.
func (h *Hoard) Figures() Figures {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.counts
	f.Running, f.Flying, f.Held = h.running, h.flying, h.held
	return f
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

// New makes a hoard whose goroutines belong to g. It must be closed, after g has ended.
func New(g *task.Group, memory *Shelf, o Options) *Hoard {
	if o.Lead == 0 {
		o.Lead = o.Batch
	}
	if o.Fetch == nil {
		o.Fetch = chunk.Span.Stream
	}
	h := &Hoard{group: g, shelf: memory, options: o, reach: 1,
		objects: map[string]*object{}, touched: map[int][]*extent{}, finished: map[int64]bool{}}
	h.changed.L = &h.mu
	return h
}

// Join lets pieces hold what is needed at most reach stretches later, where the line does not forbid it.
func (h *Hoard) Join(reach int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reach = reach
}

// Limit is how many bytes may be held.
func (h *Hoard) Limit() int64 { return h.options.Limit }

// Plan adds a stretch that ends before position to and needs spans.
func (h *Hoard) Plan(to int64, spans [][]chunk.Span) {
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
func (h *Hoard) cover(n int, s chunk.Span) {
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

// Sparse is the number of stretches, the first ones, that need so few extents that to fetch them by themselves adds few
// requests to those for everything planned.
func (h *Hoard) Sparse() int {
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
func (h *Hoard) first(n int) bool { return n == 0 || h.stretches[n-1] < h.options.Lead }

// Open lets requests out. What the first stretches need, exact in number, is fetched by itself, so that it comes early;
// all else with its neighbours.
func (h *Hoard) Open(exact int) {
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

// End says that nothing more will be planned.
func (h *Hoard) End() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.complete = true
	h.changed.Broadcast()
}

// Stop wakes all who wait for planning.
func (h *Hoard) Stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	h.changed.Broadcast()
}

// AwaitRoom waits until more may be planned; false: it is over.
func (h *Hoard) AwaitRoom() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.full() && h.wanted <= h.indexed && !h.stopped {
		h.changed.Wait()
	}
	return !h.stopped
}

// full reports whether as much is planned as may be held, with what lies between.
func (h *Hoard) full() bool {
	toCome := h.planned - h.useful
	if h.reach == 0 {
		toCome *= 2 // pieces are half gaps at worst
	}
	return toCome+h.held >= h.options.Limit
}

// Over is full, for those who do not hold the lock.
func (h *Hoard) Over() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.full()
}

// Await waits until the positions before to are planned.
func (h *Hoard) Await(to int64, w Waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if to > h.wanted {
		h.wanted = to
		h.changed.Broadcast()
	}
	began := time.Now()
	for h.indexed < to && !h.complete && !h.stopped {
		w.Pause()
		h.changed.Wait()
		w.Resume()
	}
	h.counts.Index += time.Since(began)
}

// Done says that nobody needs the bytes of batch seq any more.
func (h *Hoard) Done(seq int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.finished[seq] = true
	for h.finished[h.watermark] {
		delete(h.finished, h.watermark)
		h.watermark++
	}
	for !h.keep && h.released < len(h.stretches) && h.stretches[h.released] <= h.watermark*h.options.Batch {
		h.release(h.released)
		h.released++
	}
	h.pump()
	h.changed.Broadcast()
}

// release forgets what no later stretch needs.
func (h *Hoard) release(n int) {
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

func (h *Hoard) free(p *piece) {
	h.held -= p.size()
	if p.slab != nil {
		h.shelf.put(p.slab, int64(len(p.mem)))
	}
	p.mem, p.slab = nil, nil
}

// bytes is what Held.Bytes says. Waits are told to w.
func (h *Hoard) bytes(ctx context.Context, object string, off, n int64, w Waiter) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for !h.gate && !h.stopped {
		began := time.Now()
		w.Pause()
		h.changed.Wait()
		w.Resume()
		h.counts.Waited += time.Since(began)
	}
	e := h.find(object, off, n)
	if e == nil || h.stopped {
		h.counts.Direct++
		return nil, nil
	}
	if e.piece == nil {
		h.start(h.grow(e))
	}
	p := e.piece
	from, to := off-p.off, off-p.off+n
	if p.err == nil && !p.has(from, to) {
		if err := h.waitFor(ctx, p, from, to, w); err != nil {
			return nil, err
		}
	}
	if p.err != nil {
		if errs.OfSample(p.err) {
			return nil, nil // it may be about a neighbour: let the sample read its own
		}
		return nil, p.err
	}
	return p.mem[from:to:to], nil
}

// find is the extent that holds n bytes at off.
func (h *Hoard) find(object string, off, n int64) *extent {
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

// Hand is h as one goroutine sees it, whose waits are told to w.
func (h *Hoard) Hand(w Waiter) chunk.Held { return hand{h, w} }

type hand struct {
	hoard  *Hoard
	waiter Waiter
}

// Bytes is as chunk.Held says.
func (h hand) Bytes(ctx context.Context, object string, off, n int64) ([]byte, error) {
	return h.hoard.bytes(ctx, object, off, n, h.waiter)
}
