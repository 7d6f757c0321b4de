//go:build linux || darwin

package local

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// files keeps descriptors of objects open for the next read. Which one has to go is decided by
// second chance (an approximation of least recently used whose hit writes at most one bit). A
// reader counts itself in, so that a descriptor that goes is closed only after its last reader; at
// most limit descriptors and those in use are open.
type files struct {
	seed   maphash.Seed
	shards []shard // a power of two of them, so that parallel readers rarely meet on a lock
}

type shard struct {
	mu     sync.RWMutex
	byKey  map[string]*file
	ring   []*file // in order of arrival, examined from hand on
	hand   int
	limit  int
	gen    uint64 // counts drops: a descriptor opened before one must not come in after it
	closed bool
	_      [64]byte // keeps the lock of the next shard off this cache line
}

// file is one open descriptor. refs counts its readers, and the cache as one more.
type file struct {
	key  string
	fd   int
	slot int // place in the shard's ring
	refs atomic.Int32
	used atomic.Bool // read since the hand last passed
}

func newFiles(limit int) *files {
	count := 1
	if limit >= 256 {
		count = 16
	}
	c := &files{seed: maphash.MakeSeed(), shards: make([]shard, count)}
	for i := range c.shards {
		c.shards[i].byKey = make(map[string]*file)
		c.shards[i].limit = limit / count
	}
	return c
}

func (c *files) shard(key string) *shard {
	if len(c.shards) == 1 {
		return &c.shards[0]
	}
	return &c.shards[maphash.String(c.seed, key)&uint64(len(c.shards)-1)]
}

// acquire returns the open file of key, which the caller must release, or nil.
func (c *files) acquire(key string) *file {
	s := c.shard(key)
	s.mu.RLock()
	f := s.byKey[key]
	if f != nil {
		f.refs.Add(1)
	}
	s.mu.RUnlock()
	if f != nil && !f.used.Load() {
		f.used.Store(true)
	}
	return f
}

// release ends one use and closes the descriptor after the last one.
func (f *file) release() {
	if f.refs.Add(-1) == 0 {
		unix.Close(f.fd) // read-only: nothing can be lost
	}
}

// generation is to be taken before the descriptor for insert is opened.
func (c *files) generation(key string) uint64 {
	s := c.shard(key)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.gen
}

// insert hands fd over and returns the file of key, which the caller must release: another one,
// where a parallel reader was faster. A descriptor from before a drop is not kept. ok is false, and
// fd closed, when the cache was closed.
func (c *files) insert(key string, fd int, gen uint64) (f *file, ok bool) {
	f = &file{key: strings.Clone(key), fd: fd}
	f.refs.Store(1)
	s := c.shard(key)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		f.release()
		return nil, false
	}
	if s.gen != gen {
		s.mu.Unlock()
		return f, true
	}
	if other := s.byKey[key]; other != nil {
		other.refs.Add(1)
		s.mu.Unlock()
		f.release()
		return other, true
	}
	var out *file
	if len(s.ring) >= s.limit {
		out = s.evict()
	}
	f.refs.Add(1)
	f.slot = len(s.ring)
	s.ring = append(s.ring, f)
	s.byKey[f.key] = f
	s.mu.Unlock()
	if out != nil {
		out.release()
	}
	return f, true
}

// evict takes one file out, the first from hand on that was not read since the hand last passed.
// The caller holds the lock, and releases the file after it.
func (s *shard) evict() *file {
	for {
		if s.hand >= len(s.ring) {
			s.hand = 0
		}
		f := s.ring[s.hand]
		if !f.used.Swap(false) {
			s.remove(f)
			return f
		}
		s.hand++
	}
}

// remove takes f out of map and ring; the last of the ring fills the gap. The caller holds the
// lock.
func (s *shard) remove(f *file) {
	delete(s.byKey, f.key)
	last := len(s.ring) - 1
	s.ring[f.slot] = s.ring[last]
	s.ring[f.slot].slot = f.slot
	s.ring[last] = nil
	s.ring = s.ring[:last]
}

// drop forgets the descriptor of key, and any that is being opened now.
func (c *files) drop(key string) {
	s := c.shard(key)
	s.mu.Lock()
	s.gen++
	f := s.byKey[key]
	if f != nil {
		s.remove(f)
	}
	s.mu.Unlock()
	if f != nil {
		f.release()
	}
}

// dropAll forgets every descriptor.
func (c *files) dropAll() {
	for i := range c.shards {
		c.shards[i].empty(false)
	}
}

// close forgets every descriptor and takes no more.
func (c *files) close() {
	for i := range c.shards {
		c.shards[i].empty(true)
	}
}

func (s *shard) empty(closed bool) {
	s.mu.Lock()
	s.closed = s.closed || closed
	ring := s.ring
	s.ring, s.hand = nil, 0
	s.byKey = make(map[string]*file)
	s.mu.Unlock()
	for _, f := range ring {
		f.release()
	}
}
