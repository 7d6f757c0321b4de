package urls

import (
	"os"
	"sync"

	"deeplake/core/errs"
)

// spill keeps objects in files while an earlier one holds up their batch. The files have no name.
// All methods may be called in parallel.
type spill struct {
	folder string
	most   int64 // bytes of the files; 0: there is none

	mu      sync.Mutex
	used    int64 // bytes of the files
	present *segment
	open    map[*segment]struct{}
}

// segment is a file of a spill. It is closed when none of its objects is kept.
type segment struct {
	file *os.File
	size int64
	live int // objects
}

// place is where a spill has an object; the zero value is none.
type place struct {
	in       *segment
	at, size int64
}

// segmentBytes is the size of a segment after which there is another one.
const segmentBytes = 64 << 20

// put writes an object. It returns no place if there is no room for it.
func (s *spill) put(data []byte) place {
	p := s.reserve(int64(len(data)))
	if p.in == nil {
		return p
	}
	if _, err := p.in.file.WriteAt(data, p.at); err != nil {
		s.drop(p)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.most = 0 // the disk is full, or broken
		return place{}
	}
	return p
}

func (s *spill) reserve(size int64) place {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used+size > s.most {
		return place{}
	}
	if s.present == nil || s.present.size >= segmentBytes {
		file, err := os.CreateTemp(s.folder, "deeplake-urls-*")
		if err != nil {
			s.most = 0
			return place{}
		}
		_ = os.Remove(file.Name()) // a system that keeps it loses it with its temporary files
		s.present = &segment{file: file}
		if s.open == nil {
			s.open = map[*segment]struct{}{}
		}
		s.open[s.present] = struct{}{}
	}
	p := place{s.present, s.present.size, size}
	p.in.size += size
	p.in.live++
	s.used += size
	return p
}

// get reads an object.
func (s *spill) get(p place) ([]byte, error) {
	data := make([]byte, p.size)
	if _, err := p.in.file.ReadAt(data, p.at); err != nil {
		return nil, errs.Op("fetch URLs", "").New(errs.Storage, "read an object that waited on this disk: %w", err)
	}
	return data, nil
}

// drop forgets an object.
func (s *spill) drop(p place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.in.live--; p.in.live > 0 {
		return
	}
	if s.present == p.in {
		s.present = nil
	}
	if _, there := s.open[p.in]; there {
		_ = p.in.file.Close()
		delete(s.open, p.in)
		s.used -= p.in.size
	}
}

// close forgets all objects.
func (s *spill) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := range s.open {
		_ = one.file.Close()
	}
	s.open, s.present, s.most = nil, nil, 0
}

// laidObject is a result that the spill has.
type laidObject struct {
	at int // in the batch
	place
}

// lay moves an object into the spill if its batch waits for another one and memory is scarce.
func (f *Fetcher) lay(j *job, out *outcome) {
	if out.data == nil || !f.isScarce(j.batch) {
		return
	}
	if out.place = f.spill.put(out.data); out.place.in != nil {
		out.data = nil
	}
}

// isScarce reports whether the objects of b had better wait on the disk.
func (f *Fetcher) isScarce(b *Batch) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !b.released && !f.queue.isExempt(b) && f.memory.used > f.o.Memory/2
}

// load reads the objects of a complete batch that the spill has, and returns the results.
func (b *Batch) load() ([]Result, error) {
	f := b.f
	b.loading.Lock()
	defer b.loading.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if laid, results := b.laid, b.results; len(laid) > 0 {
		b.laid = nil
		f.mu.Unlock()
		size, err := f.spill.take(laid, results)
		f.mu.Lock()
		switch {
		case err != nil && f.closed:
			return nil, errs.Op("fetch URLs", "").New(errs.Closed, "the fetcher was closed")
		case err != nil:
			return nil, err
		}
		if !b.released {
			b.held += size
			f.memory.used += size
		}
	}
	if b.released {
		return nil, errs.Op("fetch URLs", "").New(errs.Closed, "the batch was released")
	}
	return b.results, nil
}

// take reads objects into their results, and drops them from the spill.
func (s *spill) take(laid []laidObject, results []Result) (size int64, err error) {
	for _, one := range laid {
		if err == nil {
			results[one.at].Data, err = s.get(one.place)
		}
		s.drop(one.place)
		size += one.size
	}
	return size, err
}
