// Package cache keeps local copies of pages of immutable objects. A Store is a decorator with one
// layer of copies, in memory or on disk; Stores can be chained. The cache is optional: any failure
// of it is a miss. It affects no request but a miss.
//
// Processes that share a directory claim the pages that they fetch, so that each page is fetched
// once (claim.go). A claim ends with its process, and is waited for within bounds. No other lock is
// visible to other processes: files are whole when they get their names.
package cache

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"sync"
	"sync/atomic"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// PageBytes is the unit of lookup. A random sample of 40 KB brings one or two pages
// with it: about 3 ms more on a connection of 90 MB/s, where the request itself takes 25.
const PageBytes = 256 << 10

// SegmentBytes is the unit in which a disk keeps pages if it can: all pages of an aligned segment
// that came together. Making a file costs from 20 µs on a fresh file system to 700 on a worn one,
// which for single pages would be up to 3 s for a gigabyte that is streamed.
const SegmentBytes = segmentPages * PageBytes

const segmentPages = 16

const (
	// gapPages that are there already are fetched again rather than to split a request.
	gapPages = 4
	// wholeBytes bounds the objects that Get looks for in the cache.
	wholeBytes = 1 << 30
	// runPages bounds one request for missing pages.
	runPages = 256
	// blindPages are dropped with an object whose size is not known.
	blindPages = 64
)

// page is a part of an object; all pages but the last have PageBytes.
type page struct {
	data []byte
	size int64 // of the object; -1: not known
}

// name tells pages of all objects of all stores apart.
type name [16]byte

func nameOf(uri, key string, number, unit int64) name {
	var head [24]byte
	binary.LittleEndian.PutUint64(head[:], uint64(len(uri)))
	binary.LittleEndian.PutUint64(head[8:], uint64(number))
	binary.LittleEndian.PutUint64(head[16:], uint64(unit))
	text := make([]byte, 0, 256)
	text = append(append(append(text, head[:]...), uri...), key...)
	sum := sha256.Sum256(text)
	return name(sum[:16])
}

// pageKey finds a page: by its own name, or as a part of a segment.
type pageKey struct {
	page, segment name
	slot          int // of the page in the segment
}

func pageKeyOf(uri, key string, number int64) pageKey {
	return pageKey{nameOf(uri, key, number, PageBytes), nameOf(uri, key, number/segmentPages, SegmentBytes), int(number % segmentPages)}
}

// Layer stores pages: NewMemory or NewDisk. Stores may share one, and fetch a page once
// then.
type Layer interface {
	// load finds a page. Its data may lie in buf, and must not be changed.
	load(at pageKey, buf []byte) (page, bool)
	// has is a guess, cheaper than load.
	has(at pageKey) bool
	// keep copies p.
	keep(at pageKey, p page)
	// keepSegment copies the pages of a segment, of which at is the first; false: keep them one by
	// one.
	keepSegment(at pageKey, data []byte, size int64) bool
	drop(at pageKey)
	// faults are the pages that could not be kept or were damaged, and the first reason.
	faults() (int64, string)
	// claims are the pages that other processes are fetching, nil where waiting would not help.
	claims() *claims

	common() *shared
}

// shared is the state that Stores on the same layer have in common.
type shared struct {
	flights flights
	buffers sync.Pool // of *[]byte with room for an entry

	// A page that was requested before an object went away must not be kept after that: keeping
	// holds fresh for reading, and an object that goes counts removals.
	fresh    sync.RWMutex
	removals int64
}

func (s *shared) common() *shared { return s }

func (s *shared) buffer() *[]byte {
	if b, ok := s.buffers.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, maxEntry+1)
	return &b
}

// Store is a provider with a layer of pages. All methods may be called in parallel.
type Store struct {
	inner  storage.Provider
	ranger storage.Ranger // nil if inner is none
	layer  Layer
	*shared
	id        string // storage.CacheKey of inner
	cacheable func(key string) bool
	also      atomic.Pointer[func(key string) (string, bool)] // see KeepAlso; nil: none

	hits, misses, bytes atomic.Int64
	closed              atomic.Bool
}

var (
	_ storage.Provider = (*Store)(nil)
	_ storage.Streamer = (*Store)(nil)
	_ storage.Copier   = (*Store)(nil)
	_ storage.Wrapper  = (*Store)(nil)
	_ storage.Meter    = (*Store)(nil)

	_ storage.Forgetter = (*Store)(nil)
	_ storage.Keeper    = (*Store)(nil)
	_ storage.Ranger    = (*Store)(nil)
)

// New decorates inner and owns it from then on. The layer stays the caller's. cacheable reports
// whether an object never changes once it exists; nil means all. Other objects pass through. The
// result is a storage.Ranger if inner is one.
func New(inner storage.Provider, layer Layer, cacheable func(key string) bool) storage.Provider {
	if cacheable == nil {
		cacheable = func(string) bool { return true }
	}
	s := &Store{inner: inner, layer: layer, shared: layer.common(), id: storage.CacheKey(inner), cacheable: cacheable}
	s.ranger, _ = storage.As[storage.Ranger](inner)
	return s
}

func (s *Store) keyOf(key string, number int64) pageKey {
	return pageKeyOf(s.id, s.named(key), number)
}

// KeepAlso implements storage.Keeper.
func (s *Store) KeepAlso(version func(key string) (string, bool)) { s.also.Store(&version) }

// keeps reports whether an object is kept.
func (s *Store) keeps(key string) bool {
	if s.cacheable(key) {
		return true
	}
	also := s.also.Load()
	if also == nil {
		return false
	}
	_, ok := (*also)(key)
	return ok
}

// named is the key of an object, with its version where it is kept by that.
func (s *Store) named(key string) string {
	if also := s.also.Load(); also != nil && !s.cacheable(key) {
		if version, ok := (*also)(key); ok {
			return key + "\x00" + version
		}
	}
	return key
}

// keep keeps data, from page number on, which was requested when removals was seen: whole segments
// and single pages.
func (s *Store) keep(key string, number int64, data []byte, size, seen int64) {
	s.fresh.RLock()
	defer s.fresh.RUnlock()
	if s.removals != seen {
		return
	}
	for first := true; first || len(data) > 0; first = false {
		at := s.keyOf(key, number)
		if at.slot == 0 && len(data) >= SegmentBytes && s.layer.keepSegment(at, data[:SegmentBytes], size) {
			data, number = data[SegmentBytes:], number+segmentPages
			continue
		}
		n := min(PageBytes, len(data))
		s.layer.keep(at, page{data[:n], size})
		data, number = data[n:], number+1
	}
}

func (s *Store) seen() int64 {
	s.fresh.RLock()
	defer s.fresh.RUnlock()
	return s.removals
}

// gone drops the cached pages of an object.
func (s *Store) gone(key string) {
	s.fresh.Lock()
	s.removals++
	s.fresh.Unlock()
	last := int64(blindPages)
	buf := s.buffer()
	if p, ok := s.layer.load(s.keyOf(key, 0), *buf); ok && p.size >= 0 {
		last = p.size / PageBytes
	}
	s.buffers.Put(buf)
	for number := int64(0); number <= last; number++ {
		s.layer.drop(s.keyOf(key, number))
	}
}

// Forget drops the cached pages of an object, so that the next read goes to the store.
func (s *Store) Forget(key string) { s.gone(key) }

// written drops what an object was before, if it was.
func (s *Store) written(key string) {
	if s.keeps(key) && s.layer.has(s.keyOf(key, 0)) {
		s.gone(key)
	}
}

// ReadAt fills dst: with one request for all that is missing, but where much between is there.
func (s *Store) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	if len(dst) == 0 || off < 0 || off > math.MaxInt64-int64(len(dst))-PageBytes || !s.keeps(key) {
		return s.inner.ReadAt(ctx, key, dst, off)
	}
	if err := s.admit(ctx, "read", key); err != nil {
		return err
	}
	buf := s.buffer()
	defer s.buffers.Put(buf)
	r := &read{s: s, key: key, dst: dst, off: off, buf: *buf}
	return r.run(ctx)
}

// Get reads the whole object.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	if !s.keeps(key) {
		return s.inner.Get(ctx, key)
	}
	if err := s.admit(ctx, "get", key); err != nil {
		return nil, err
	}
	first := s.keyOf(key, 0)
	for {
		if size, ok := s.known(first); ok {
			data := make([]byte, size)
			if size == 0 {
				return data, nil
			}
			return data, s.ReadAt(ctx, key, data, 0)
		}
		f, mine := s.flights.claim(first.page)
		if mine {
			data, known, err := s.whole(ctx, key, f)
			if known {
				continue
			}
			return data, err
		}
		if _, _, err := f.wait(ctx, "get", key); err != nil {
			return nil, err
		}
	}
}

// known is the size of an object whose first page is there.
func (s *Store) known(first pageKey) (int64, bool) {
	buf := s.buffer()
	defer s.buffers.Put(buf)
	p, ok := s.layer.load(first, *buf)
	return p.size, ok && p.size >= 0 && p.size <= wholeBytes
}

// whole gets the object from below and keeps its pages, unless its size is known by now. f is the
// flight of the first page.
func (s *Store) whole(ctx context.Context, key string, f *flight) (data []byte, known bool, err error) {
	var first page
	defer func() { s.flights.land(f, first, err == nil && !known) }()
	c, err := s.reserve(ctx, "get", key, 0, claimPages-1)
	if err != nil {
		return nil, false, err
	}
	defer c.end()
	if _, known = s.known(s.keyOf(key, 0)); known {
		return nil, true, nil
	}
	seen := s.seen()
	if data, err = s.inner.Get(ctx, key); err != nil {
		return nil, false, err
	}
	size := int64(len(data))
	first = page{data[:min(size, PageBytes)], size}
	if size <= wholeBytes {
		s.keep(key, 0, data, size, seen)
	}
	s.misses.Add(max(1, (size+PageBytes-1)/PageBytes))
	return data, false, nil
}

// Put stores data below.
func (s *Store) Put(ctx context.Context, key string, data []byte) error {
	defer s.written(key)
	return s.inner.Put(ctx, key, data)
}

// PutIfAbsent stores data below. Whatever it returns, the next read of the key asks the store: an
// answer that was lost is looked up, and a copy that another store or a neighbour left here must
// not answer.
func (s *Store) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	if s.keeps(key) {
		defer s.gone(key)
	}
	return s.inner.PutIfAbsent(ctx, key, data)
}

// List is the inner provider's.
func (s *Store) List(ctx context.Context, prefix, after string, fn func(storage.Object) bool) error {
	return s.inner.List(ctx, prefix, after, fn)
}

// Delete removes objects from the store and their pages from this cache. Pages in the caches of
// other processes stay until they age out.
func (s *Store) Delete(ctx context.Context, keys ...string) error {
	defer func() {
		for _, key := range keys {
			if s.keeps(key) {
				s.gone(key)
			}
		}
	}()
	return s.inner.Delete(ctx, keys...)
}

// Create begins an object below.
func (s *Store) Create(ctx context.Context, key string) (storage.Stream, error) {
	w, err := storage.Create(ctx, s.inner, key)
	if err != nil {
		return nil, err
	}
	return &stream{w, s, key}, nil
}

type stream struct {
	storage.Stream
	s   *Store
	key string
}

func (w *stream) Finish(ctx context.Context) error {
	defer w.s.written(w.key)
	return w.Stream.Finish(ctx)
}

// CopyFrom copies within the store, where that can.
func (s *Store) CopyFrom(ctx context.Context, src storage.Provider, srcKey, key string) (bool, error) {
	inner, ok := storage.As[storage.Copier](s.inner)
	if !ok {
		return false, nil
	}
	defer s.written(key)
	return inner.CopyFrom(ctx, storage.Innermost(src), srcKey, key)
}

// URI is the inner provider's.
func (s *Store) URI() string { return s.inner.URI() }

// Unwrap returns the decorated provider.
func (s *Store) Unwrap() storage.Provider { return s.inner }

// Stats counts what this provider and all below it have done; the faults are the layer's.
func (s *Store) Stats() storage.Stats {
	n, what := s.layer.faults()
	out := storage.Stats{
		CacheHits: s.hits.Load(), CacheMisses: s.misses.Load(), CacheBytes: s.bytes.Load(), CacheFaults: n, CacheFault: what,
	}
	out.Add(storage.StatsOf(s.inner))
	return out
}

// Close closes the inner provider. Cached pages stay.
func (s *Store) Close() error {
	s.closed.Store(true)
	return s.inner.Close()
}

// admit refuses the calls that the inner provider would refuse.
func (s *Store) admit(ctx context.Context, op, key string) error {
	if s.closed.Load() {
		return errs.Op(op, key).New(errs.Closed, "the storage was closed")
	}
	if ctx.Err() != nil {
		return &errs.Error{Kind: errs.Canceled, Op: op, Object: key, Err: context.Cause(ctx)}
	}
	return nil
}

// missing is the last page of the request that begins with page first, which is missing: the last
// missing one up to last, unless more than gapPages before it are there. While other processes
// fetch, many gaps are theirs: none is fetched again.
func (s *Store) missing(key string, first, last int64) int64 {
	end, there, gap := first, 0, gapPages
	if s.layer.claims().crowded() {
		gap = 0
	}
	last = min(last, first+runPages-1)
	for q := first + 1; q <= last && there <= gap; q++ {
		if s.layer.has(s.keyOf(key, q)) {
			there++
		} else {
			end, there = q, 0
		}
	}
	return end
}

// sizeOf is the size of the object of which b is the part from off, as far as the answer tells.
func sizeOf(b storage.Body, off, asked int64) int64 {
	if size := b.Size(); size >= 0 {
		return size
	}
	if n := b.Len(); asked < 0 || n < asked {
		return off + n
	}
	return -1
}
