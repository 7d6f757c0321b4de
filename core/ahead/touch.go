package ahead

import (
	"context"

	"deeplake/core/internal/slab"
)

// touchSoon lets the memory of s be found while its bytes are on their way: at the start nobody has better things to do
// until the first ones come.
func (h *Hoard) touchSoon(s *slab.Slab) {
	s.Retain()
	h.cold = append(h.cold, s)
	if !h.touching {
		h.touching = true
		h.group.Go(h.touch)
	}
}

// touch finds the memory of one slab after the other, in the order in which they are needed.
func (h *Hoard) touch(context.Context) error {
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
