package ahead

// Left is what a hoard has left for the next one over the same shelf: whole pieces.
type Left struct{ objects map[string]*object }

// Empty reports whether nothing is left.
func (l Left) Empty() bool { return len(l.objects) == 0 }

// Drop frees what nobody will take over.
func (l Left) Drop(memory *Shelf) {
	h := &Hoard{shelf: memory}
	for _, o := range l.objects {
		for _, e := range o.extents {
			if p := e.piece; p.mem != nil {
				h.free(p)
			}
		}
	}
}

// KeepAll says that all of the pass has room: nothing is released before the end, and then it is there for the next pass.
func (h *Hoard) KeepAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keep = !h.full()
}

// TakeOver begins with what another hoard of the same shelf has left.
func (h *Hoard) TakeOver(left Left) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.objects = left.objects
	seen := map[*piece]bool{}
	for _, o := range left.objects {
		for _, e := range o.extents {
			h.planned += e.span.Bytes
			h.useful += e.span.Bytes
			if !seen[e.piece] {
				seen[e.piece] = true
				h.held += e.piece.size()
			}
		}
	}
	h.counts.PeakHeld = h.held
}

// Close frees what is held, but for what it returns: whole pieces for the next pass. All goroutines that used the hoard
// have ended.
func (h *Hoard) Close() Left {
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
				e.first, e.last = 0, -1
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
	return Left{kept}
}
