//go:build cgo && linux

package cuda

import (
	"errors"
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
	refused int // batches in a row
	stats   loader.StagerStats
	closed  bool
}

var _ loader.Stager = (*Stager)(nil)

// scratchBytes of unused scratch memory stay allocated.
const scratchBytes = 256 << 20

// Options are those of a Stager.
type Options struct {
	// let the device decode whole files too, to pixels that may differ from libjpeg-turbo's
	Inexact bool
	// libraries of nvJPEG to try before that of the system
	NVJPEG []string
}

// NewStager opens device number for the batches of a loader. It must be closed.
func NewStager(number int, o Options) (loader.Stager, error) {
	d, err := Open(number)
	if err != nil {
		return nil, err
	}
	s := &Stager{device: d}
	if o.Inexact {
		err = d.openFiles(o.NVJPEG)
		s.balance.files = true
	}
	if err == nil {
		s.memory, err = d.Memory(0)
	}
	if err == nil {
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
	p, err := s.releaseCopied()
	if err != nil {
		return nil, err
	}
	if len(batch.Images) > 0 {
		s.balance.see(p)
	}
	memory, err := s.get(s.memory, batch.Size)
	if err != nil {
		return nil, err
	}
	err = s.begin(batch, memory)
	s.countRefused(err)
	if err != nil {
		memory.Release()
		return nil, err
	}
	batch.Host.Retain()
	s.copying = append(s.copying, batch.Host)
	s.stats.Copies++
	s.stats.Images += int64(len(batch.Images))
	return memory, nil
}

// mostRefused batches in a row end the use of nvJPEG: each costs the CPU what it was to save.
const mostRefused = 4

// countRefused counts the batches in a row with a file that nvJPEG has refused.
func (s *Stager) countRefused(err error) {
	if !errors.Is(err, loader.ErrRefused) {
		s.refused = 0
		return
	}
	if s.refused++; s.refused == mostRefused {
		s.balance.noFiles()
	}
}

// begin queues the work of a batch.
func (s *Stager) begin(batch *loader.Staging, memory *slab.Slab) error {
	ranges := make([]copyRange, 0, len(batch.Copies)+1)
	bytes := int64(0)
	for _, c := range batch.Copies {
		ranges = append(ranges, copyRange{from: c.From, to: c.To, size: c.Size})
		bytes += c.Size
	}
	if len(batch.Images) == 0 {
		err := s.device.stage(memory, nil, batch.Host, ranges, nil, nil)
		if err == nil {
			s.stats.Bytes += bytes
		}
		return err
	}
	p, err := planImages(batch)
	if err != nil {
		return err
	}
	scratch, err := s.get(s.scratch, max(p.tasks()+p.taskBytes(), 1))
	if err != nil {
		return err
	}
	// The copy stream alone uses it, in order: the next batch may have it at once.
	defer scratch.Release()
	if p.taskBytes() > 0 {
		if err := s.stageTasks(p, scratch, memory); err != nil {
			return err
		}
	}
	err = s.device.stage(memory, scratch, batch.Host, append(ranges, p.ranges...), p.fileList(), p.launches(scratch))
	if err == nil {
		s.stats.Bytes += bytes + p.copied
		s.stats.Files += int64(len(p.whole))
	}
	return err
}

// stageTasks begins to copy the tasks of a plan to the scratch memory.
func (s *Stager) stageTasks(p *plan, scratch, memory *slab.Slab) error {
	size := p.taskBytes()
	table, err := s.tables.Get(size)
	if err != nil {
		return err
	}
	p.write(table, scratch, memory)
	if err := s.device.stage(scratch, nil, table, []copyRange{{to: p.tasks(), size: size}}, nil, nil); err != nil {
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

// releaseCopied drops the slabs of the copies that have ended, and tells what the device does.
// Copies end in their order. The caller has the lock.
func (s *Stager) releaseCopied() (progress, error) {
	for len(s.copying) > 0 {
		p, err := s.device.progress(s.copying[0])
		if err != nil || p != idle {
			return p, err
		}
		s.copying[0].Release()
		s.copying = append(s.copying[:0], s.copying[1:]...)
	}
	return idle, nil
}

// Split implements [loader.Stager].
func (s *Stager) Split() loader.Split {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.balance.split()
}

// Stats implements [loader.Stager].
func (s *Stager) Stats() loader.StagerStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.stats
	all.Split, all.Memory = s.balance.split(), s.memory.Stats()
	return all
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
