package loader

import "sync"

// pool keeps what goroutines work with between jobs: as many as were at work at once. All methods
// may be called in parallel.
type pool[T interface{ Close() }] struct {
	make func() T

	mu     sync.Mutex
	free   []T
	closed bool
}

func (p *pool[T]) borrow() T {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		one := p.free[n-1]
		p.free = p.free[:n-1]
		return one
	}
	return p.make()
}

// giveBack takes one back; after close it is closed.
func (p *pool[T]) giveBack(one T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		one.Close()
		return
	}
	p.free = append(p.free, one)
}

func (p *pool[T]) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.free {
		one.Close()
	}
	p.free, p.closed = nil, true
}
