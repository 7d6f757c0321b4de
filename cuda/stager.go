//go:build cgo && linux

package cuda

import (
	"sync"

	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/slab"
)

// Stager brings batches to a device, in the order of Stage. It fulfils [loader.Stager].
type Stager struct {
	device  *Device
	memory  *slab.Ring // of batches
	scratch *slab.Ring // of the device, for packed images
	tables  *slab.Ring // of the host, for tasks of kernels

	mu      sync.Mutex
	budget  int64        // of memory
	copying []*slab.Slab // of the host, the earliest copy first
	balance balance
	copies  int64
	bytes   int64
	images  int64
	closed  bool
}

var _ loader.Stager = (*Stager)(nil)

// scratchBytes of unused scratch memory stay allocated.
const scratchBytes = 256 << 20

// NewStager opens device number for the batches of a loader. It must be closed.
func NewStager(number int) (loader.Stager, error) {
	d, err := Open(number)
	if err != nil {
		return nil, err
	}
	s := &Stager{device: d}
	if s.memory, err = d.Memory(0); err == nil {
		s.scratch, err = d.Memory(scratchBytes)
	}
	if err == nil {
		s.tables, err = d.Host(scratchBytes)
	}
	if err != nil {
		s.closeRings()
		_ = d.Close() // nothing runs on it
		return nil, err
	}
	return s, nil
}

func (s *Stager) closeRings() {
	for _, r := range []*slab.Ring{s.memory, s.scratch, s.tables} {
		if r != nil {
			r.Close()
		}
	}
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
func (s *Stager) Stage(batch *loader.Staging) (*slab.Slab, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errs.New(errs.Closed, "copy a batch: the loader is closed")
	}
	if err := s.releaseCopied(); err != nil {
		return nil, err
	}
	if len(batch.Images) > 0 {
		s.balance.see(len(s.copying) > 0)
	}
	memory, err := s.get(s.memory, batch.Size)
	if err != nil {
		return nil, err
	}
	if err := s.begin(batch, memory); err != nil {
		memory.Release()
		return nil, err
	}
	batch.Host.Retain()
	s.copying = append(s.copying, batch.Host)
	s.copies++
	s.images += int64(len(batch.Images))
	return memory, nil
}

// begin queues the work of a batch.
func (s *Stager) begin(batch *loader.Staging, memory *slab.Slab) error {
	ranges := make([]copyRange, 0, len(batch.Copies)+1)
	for _, c := range batch.Copies {
		ranges = append(ranges, copyRange{from: c.From, to: c.To, size: c.Size})
		s.bytes += c.Size
	}
	if len(batch.Images) == 0 {
		return s.device.stage(memory, nil, batch.Host, ranges, nil)
	}
	p, err := planImages(batch)
	if err != nil {
		return err
	}
	scratch, err := s.get(s.scratch, p.tasks()+p.taskBytes())
	if err != nil {
		return err
	}
	// The copy stream alone uses it, in order: the next batch may have it at once.
	defer scratch.Release()
	if err := s.stageTasks(p, scratch, memory); err != nil {
		return err
	}
	s.bytes += p.copied
	return s.device.stage(memory, scratch, batch.Host, append(ranges, p.ranges...), p.launches(scratch))
}

// stageTasks begins to copy the tasks of a plan to the scratch memory.
func (s *Stager) stageTasks(p *plan, scratch, memory *slab.Slab) error {
	size := p.taskBytes()
	table, err := s.tables.Get(size)
	if err != nil {
		return err
	}
	p.write(table, scratch, memory)
	if err := s.device.stage(scratch, nil, table, []copyRange{{to: p.tasks(), size: size}}, nil); err != nil {
		table.Release()
		return err
	}
	s.copying = append(s.copying, table)
	return nil
}

// get gets memory of the device. Where there is too little, it returns the free memory of the rings
// to the device and tries again.
func (s *Stager) get(ring *slab.Ring, n int64) (*slab.Slab, error) {
	got, err := ring.Get(n)
	if err == nil || s.memory.Stats().FreeSlabs+s.scratch.Stats().FreeSlabs == 0 {
		return got, err
	}
	s.memory.SetBudget(0)
	s.scratch.SetBudget(0)
	defer s.memory.SetBudget(s.budget)
	defer s.scratch.SetBudget(scratchBytes)
	return ring.Get(n)
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

// CPUShare implements [loader.Stager].
func (s *Stager) CPUShare() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.balance.share()
}

// Stats implements [loader.Stager].
func (s *Stager) Stats() loader.StagerStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return loader.StagerStats{Copies: s.copies, Bytes: s.bytes, Images: s.images, Shared: s.balance.share(), Memory: s.memory.Stats()}
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
	s.closeRings()
	return err
}
