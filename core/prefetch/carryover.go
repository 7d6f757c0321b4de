package prefetch

// CarryOver holds whole buffers of a prefetcher for the next one over the same pool.
type CarryOver struct{ objects map[string]*object }

// Empty reports whether there are no buffers.
func (l CarryOver) Empty() bool { return len(l.objects) == 0 }

// Drop frees buffers that no prefetcher will take over.
func (l CarryOver) Drop(memory *BufferPool) {
	p := &Prefetcher{pool: memory}
	for _, o := range l.objects {
		for _, e := range o.extents {
			if b := e.buffer; b.mem != nil {
				p.free(b)
			}
		}
	}
}

// KeepAll keeps all buffers to the end of the pass, and for the next pass. It has no effect if the
// plan exceeds the limit.
func (p *Prefetcher) KeepAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep = !p.full()
}

// TakeOver begins with the buffers of an earlier prefetcher of the same pool.
func (p *Prefetcher) TakeOver(carryOver CarryOver) {
	if carryOver.Empty() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.objects = carryOver.objects
	seen := map[*buffer]bool{}
	for _, o := range carryOver.objects {
		for _, e := range o.extents {
			p.planned += e.span.Bytes
			p.useful += e.span.Bytes
			if !seen[e.buffer] {
				seen[e.buffer] = true
				p.buffered += e.buffer.size()
			}
		}
	}
	p.counts.PeakBuffered = p.buffered
}

// Close returns the whole buffers that KeepAll keeps, and frees all others. Goroutines that used
// the prefetcher must have ended.
func (p *Prefetcher) Close() CarryOver {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	remaining := map[string]*object{}
	for name, o := range p.objects {
		carryOver := &object{}
		for _, e := range o.extents {
			b := e.buffer
			switch {
			case b == nil || b.users == 0:
			case p.keep && b.err == nil && b.running == 0:
				carryOver.extents = append(carryOver.extents, e)
				carryOver.bytes += e.span.Bytes
				e.first, e.last, e.needs = 0, -1, 0
			default:
				b.users = 0
				p.free(b)
			}
		}
		if len(carryOver.extents) > 0 {
			remaining[name] = carryOver
		}
	}
	for b := range p.carriers { // of requests that ended in a panic
		p.free(b)
	}
	for _, s := range p.cold {
		s.Release()
	}
	p.objects, p.queue, p.cold = map[string]*object{}, nil, nil
	p.used, p.carriers = map[int][]*extent{}, map[*buffer]bool{}
	return CarryOver{remaining}
}
