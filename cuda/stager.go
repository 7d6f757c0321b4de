//go:build cgo && linux

package cuda

import (
	"sync"

	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/slab"
)

// Stager copies batches to a device, in the order of Stage. It fulfils [loader.Stager].
type Stager struct {
	device *Device
	memory *slab.Ring

	mu      sync.Mutex
	budget  int64        // of memory
	copying []*slab.Slab // of the host, the earliest copy first
	copies  int64
	bytes   int64
	closed  bool
}

var _ loader.Stager = (*Stager)(nil)

// NewStager opens device number for the batches of a loader. It must be closed.
func NewStager(number int) (loader.Stager, error) {
	d, err := Open(number)
	if err != nil {
		return nil, err
	}
	memory, err := d.Memory(0)
	if err != nil {
		_ = d.Close() // nothing runs on it
		return nil, err
	}
	return &Stager{device: d, memory: memory}, nil
}

// Host implements [loader.Stager].
func (s *Stager) Host(budget int64) (*slab.Ring, error) { return s.device.Host(budget) }

// SetBudget implements [loader.Stager].
func (s *Stager) SetBudget(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.budget = bytes
	s.memory.SetBudget(bytes)
}

// Stage implements [loader.Stager].
func (s *Stager) Stage(host *slab.Slab, n int64) (*slab.Slab, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errs.New(errs.Closed, "copy a batch: the loader is closed")
	}
	if err := s.releaseCopied(); err != nil {
		return nil, err
	}
	memory, err := s.get(n)
	if err != nil {
		return nil, err
	}
	if err := s.device.Copy(memory, host, n); err != nil {
		memory.Release()
		return nil, err
	}
	host.Retain()
	s.copying = append(s.copying, host)
	s.copies++
	s.bytes += n
	return memory, nil
}

// get gets memory of the device. Where there is too little, it returns the ring's free memory to
// the device and tries again.
func (s *Stager) get(n int64) (*slab.Slab, error) {
	memory, err := s.memory.Get(n)
	if err == nil || s.memory.Stats().FreeSlabs == 0 {
		return memory, err
	}
	s.memory.SetBudget(0)
	defer s.memory.SetBudget(s.budget)
	return s.memory.Get(n)
}

// releaseCopied drops the slabs of the copies that have ended. Copies end in their order. The
// caller has the lock.
func (s *Stager) releaseCopied() error {
	for len(s.copying) > 0 {
		done, err := s.device.Copied(s.copying[0])
		if err != nil || !done {
			return err
		}
		s.copying[0].Release()
		s.copying = append(s.copying[:0], s.copying[1:]...)
	}
	return nil
}

// Stats implements [loader.Stager].
func (s *Stager) Stats() loader.StagerStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return loader.StagerStats{Copies: s.copies, Bytes: s.bytes, Memory: s.memory.Stats()}
}

// Close implements [loader.Stager].
func (s *Stager) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.device.Close() // waits for the copies
	for _, host := range s.copying {
		host.Release()
	}
	s.copying = nil
	s.memory.Close()
	return err
}
