package prefetch

import (
	"context"

	"deeplake/core/slab"
)

// prefaultSoon faults in the memory of s while its bytes are in flight. At the start of an epoch
// the processors are idle until the first bytes arrive.
func (p *Prefetcher) prefaultSoon(s *slab.Slab) {
	s.Retain()
	p.cold = append(p.cold, s)
	if !p.prefaulting {
		p.prefaulting = true
		p.group.Go(p.prefault)
	}
}

// prefault faults in one slab after the other, in the order of their use.
func (p *Prefetcher) prefault(context.Context) error {
	for {
		p.mu.Lock()
		if len(p.cold) == 0 || p.stopped {
			p.prefaulting = false
			p.mu.Unlock()
			return nil
		}
		s := p.cold[0]
		p.cold = p.cold[1:]
		p.mu.Unlock()
		s.Prefault()
		s.Release()
	}
}
