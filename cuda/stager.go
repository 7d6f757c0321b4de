//go:build cgo && linux

package cuda

import (
	"errors"
	"sync"

	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/slab"
)

// Stager brings batches to a device. It fulfils [loader.Stager].
type Stager struct {
	device   *Device
	memory   *slab.Ring // of batches
	scratch  *slab.Ring // of the device, for packed images
	tables   *slab.Ring // of the host, for tasks of kernels
	decoded  *slab.Ring // of the device, for what nvJPEG decodes
	decoders chan int   // of nvJPEG that no batch uses; nil: nvJPEG is not open

	open sync.RWMutex // held by Stage and Reclaim; Close waits for them

	mu      sync.Mutex
	budget  int64     // of memory
	copying []copying // the earliest copy first
	balance balance
	refused int // batches in a row
	stats   loader.StagerStats
	closed  bool
}

// copying is memory of a copy that has not ended.
type copying struct {
	host    *slab.Slab
	decoded *slab.Slab // its input of nvJPEG; may be nil
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
		s.decoders = make(chan int, nvjpegDecoders)
		for n := range nvjpegDecoders {
			s.decoders <- n
		}
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
	if err == nil {
		s.decoded, err = d.unordered(scratchBytes)
	}
	if err != nil {
		s.closeRings()
		_ = d.Close() // nothing runs on it
		return nil, err
	}
	return s, nil
}

func (s *Stager) closeRings() {
	for _, r := range []*slab.Ring{s.memory, s.scratch, s.tables, s.decoded} {
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

// Stage implements [loader.Stager]. Copies and kernels are queued by one batch at a time. nvJPEG
// takes the CPU for milliseconds: several batches decode files at once.
func (s *Stager) Stage(batch *loader.Staging) (*slab.Slab, error) {
	s.open.RLock()
	defer s.open.RUnlock()
	p, err := planImages(batch)
	if err != nil {
		return nil, err
	}
	memory, decoded, err := s.reserve(batch, p)
	if err != nil {
		return nil, err
	}
	if decoded != nil {
		n := <-s.decoders
		err = s.device.decode(n, decoded, batch.Host, p.whole)
		s.decoders <- n
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.countRefused(err); err == nil {
		err = s.begin(batch, p, memory, decoded)
		if err != nil && decoded != nil {
			s.device.settle()
		}
	}
	if err != nil {
		memory.Release()
		if decoded != nil {
			decoded.Release()
		}
		return nil, err
	}
	s.stats.Copies++
	s.stats.Images += int64(len(batch.Images))
	return memory, nil
}

// reserve notes what the device does and gets memory for a batch: its own, and for the files that
// nvJPEG decodes, nil if there are none.
func (s *Stager) reserve(batch *loader.Staging, p *plan) (memory, decoded *slab.Slab, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, errs.Op("copy a batch", "").New(errs.Closed, "the loader is closed")
	}
	now, err := s.releaseCopied()
	if err != nil {
		return nil, nil, err
	}
	if len(batch.Images) > 0 {
		if now == idle && len(s.decoders) < cap(s.decoders) {
			now = working // on the files of an earlier batch
		}
		s.balance.see(now)
	}
	if len(p.whole) > 0 {
		if cap(s.decoders) == 0 {
			return nil, nil, loader.ErrRefused
		}
		if decoded, err = s.get(s.decoded, p.pixels); err != nil {
			return nil, nil, err
		}
	}
	if memory, err = s.get(s.memory, batch.Size); err != nil && decoded != nil {
		decoded.Release()
	}
	return memory, decoded, err
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

// begin queues the work of a batch. The caller has the lock.
func (s *Stager) begin(batch *loader.Staging, p *plan, memory, decoded *slab.Slab) error {
	w := stagingWork{to: memory, decoded: decoded, from: batch.Host, ranges: make([]copyRange, 0, len(batch.Copies)+len(p.ranges)), moves: p.moves}
	bytes := p.copied
	for _, c := range batch.Copies {
		w.ranges = append(w.ranges, copyRange{from: c.From, to: c.To, size: c.Size})
		bytes += c.Size
	}
	w.ranges = append(w.ranges, p.ranges...)
	if p.taskBytes() > 0 {
		scratch, err := s.get(s.scratch, p.tasks()+p.taskBytes())
		if err != nil {
			return err
		}
		// The copy stream alone uses it, in order: the next batch may have it at once.
		defer scratch.Release()
		if err := s.stageTasks(p, scratch, decoded, memory); err != nil {
			return err
		}
		w.scratch, w.launches = scratch, p.launches(scratch)
	}
	if err := s.device.stage(w); err != nil {
		return err
	}
	s.stats.Bytes += bytes
	s.stats.Files += int64(len(p.whole))
	batch.Host.Retain()
	s.copying = append(s.copying, copying{batch.Host, decoded})
	return nil
}

// stageTasks begins to copy the tasks of a plan to the scratch memory.
func (s *Stager) stageTasks(p *plan, scratch, decoded, memory *slab.Slab) error {
	size := p.taskBytes()
	table, err := s.tables.Get(size)
	if err != nil {
		return err
	}
	p.write(table, scratch, decoded, memory)
	if err := s.device.stage(stagingWork{to: scratch, from: table, ranges: []copyRange{{to: p.tasks(), size: size}}}); err != nil {
		table.Release()
		return err
	}
	s.copying = append(s.copying, copying{host: table})
	return nil
}

// get gets memory of the device. Where there is too little, it returns the free memory of the rings
// to the device and tries again.
func (s *Stager) get(ring *slab.Ring, n int64) (*slab.Slab, error) {
	got, err := ring.Get(n)
	if err == nil || s.memory.Stats().FreeSlabs+s.scratch.Stats().FreeSlabs+s.decoded.Stats().FreeSlabs == 0 {
		return got, err
	}
	s.memory.SetBudget(0)
	s.scratch.SetBudget(0)
	s.decoded.SetBudget(0)
	defer s.memory.SetBudget(s.budget)
	defer s.scratch.SetBudget(scratchBytes)
	defer s.decoded.SetBudget(scratchBytes)
	return ring.Get(n)
}

// releaseCopied drops the slabs of the copies that have ended, and tells what the device does.
// Copies end in their order. The caller has the lock.
func (s *Stager) releaseCopied() (progress, error) {
	for len(s.copying) > 0 {
		p, err := s.device.progress(s.copying[0].host)
		if err != nil || p != idle {
			return p, err
		}
		s.copying[0].release()
		s.copying = append(s.copying[:0], s.copying[1:]...)
	}
	return idle, nil
}

// Reclaim implements [loader.Stager].
func (s *Stager) Reclaim(wait bool) (bool, error) {
	s.open.RLock()
	defer s.open.RUnlock()
	oldest, got, err := s.ended()
	if oldest == nil {
		return got, err
	}
	defer oldest.Release()
	if !wait {
		return false, nil
	}
	if err := s.device.await(oldest); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.releaseCopied() // this call or another one drops the slab
	return err == nil, err
}

// ended drops the slabs of the copies that have ended. If there were none, it returns the slab of
// the host of the earliest copy, with a reference; nil: nothing is copied.
func (s *Stager) ended() (oldest *slab.Slab, got bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.copying)
	if before == 0 {
		return nil, false, nil
	}
	if _, err = s.releaseCopied(); err != nil || len(s.copying) < before {
		return nil, err == nil, err
	}
	oldest = s.copying[0].host
	oldest.Retain()
	return oldest, false, nil
}

func (c copying) release() {
	c.host.Release()
	if c.decoded != nil {
		c.decoded.Release()
	}
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
	s.open.Lock()
	defer s.open.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.device.Close() // waits for the copies
	for _, c := range s.copying {
		c.release()
	}
	s.copying = nil
	s.closeRings()
	return err
}
