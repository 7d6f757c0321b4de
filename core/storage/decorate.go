package storage

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"sync/atomic"
	"time"

	"deeplake/core/errs"
)

// Wrapper is implemented by decorators of a Provider.
type Wrapper interface {
	// Unwrap returns the decorated provider.
	Unwrap() Provider
}

// Innermost removes all decorators of p. A Copier compares two stores by it.
func Innermost(p Provider) Provider {
	for {
		w, ok := p.(Wrapper)
		if !ok {
			return p
		}
		p = w.Unwrap()
	}
}

// As returns the ability T of p, an interface such as [Ranger], [Copier] or [Sweeper]. Type
// assertions do not see through decorators, so callers use As for every ability of a store.
//
// A decorator implements an ability only if the calls must pass through it, for example to count or
// repeat them. Its implementation is returned if a provider below has the ability; otherwise As
// returns the ability of the provider below.
func As[T any](p Provider) (T, bool) {
	able, ok := p.(T)
	w, wraps := p.(Wrapper)
	if !wraps {
		return able, ok
	}
	below, has := As[T](w.Unwrap())
	if ok && has {
		return able, true
	}
	return below, has
}

// RangerOf returns the Ranger of p. Without one it returns a Ranger whose calls are
// errs.Unsupported.
func RangerOf(p Provider) Ranger {
	if r, ok := As[Ranger](p); ok {
		return r
	}
	return noRanger{p}
}

type noRanger struct{ p Provider }

func (n noRanger) Range(_ context.Context, key string, _, _ int64, _ string) (Body, error) {
	return nil, errs.Op("read", key).New(errs.Unsupported, "%q does not answer range requests; use ReadAt", n.p.URI())
}

// Identified is implemented by providers of which the URI does not say everything: two servers may
// have a bucket of one name, and one server may show each account a bucket of its own.
type Identified interface {
	// Identity names endpoint and account. A secret in it is hashed in a way that makes guessing
	// slow.
	Identity() string
}

// CacheKey returns a key that no two stores share unless they hold the same objects. Wrappers of p
// do not change it. It reveals no secret.
func CacheKey(p Provider) string {
	inner := Innermost(p)
	h := sha256.New()
	parts := []string{inner.URI()}
	if at, ok := As[Identified](p); ok {
		parts = append(parts, at.Identity())
	}
	for _, part := range parts {
		_ = binary.Write(h, binary.LittleEndian, uint64(len(part)))
		_, _ = h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Remote reports whether reads of p are requests over a network, whatever it is wrapped in.
func Remote(p Provider) bool {
	_, ok := As[Ranger](p)
	return ok
}

// ProbeKey is the object with which core/storage/prove checks that a store refuses to overwrite. It
// stays: the next process needs one refused write and no new object, and credentials that may not
// delete, versions and retention of a bucket do no harm. Listings leave it out; Delete of a dataset
// names it.
const ProbeKey = "probe/put-if-absent"

// Hosted is implemented by providers of protocols that several services speak, some of them without
// conditional writes.
type Hosted interface {
	// Service names the endpoint and the bucket. known reports whether its vendor promises that
	// PutIfAbsent never overwrites.
	Service() (name string, known bool)
}

// Origin tells stores of all services apart, and is the same in every process: the URI, and the
// service that answers it.
func Origin(p Provider) string {
	if h, ok := As[Hosted](p); ok {
		name, _ := h.Service()
		return name + " " + p.URI()
	}
	return p.URI()
}

// WholeLister is implemented by providers whose List reads all names of a directory to find the
// first.
type WholeLister interface {
	// ListsWhole does nothing.
	ListsWhole()
}

// ListsWhole reports whether p is a WholeLister, whatever it is wrapped in.
func ListsWhole(p Provider) bool {
	_, ok := As[WholeLister](p)
	return ok
}

// Forgetter is implemented by decorators that keep copies of objects.
type Forgetter interface {
	// Forget drops the cached bytes of an object.
	Forget(key string)
}

// Forget drops the copies that the decorators of p keep of an object. A reader that finds an object
// damaged calls it before reading again: caches keep a bit that fell over on the network.
func Forget(p Provider, key string) {
	for {
		if f, ok := p.(Forgetter); ok {
			f.Forget(key)
		}
		w, ok := p.(Wrapper)
		if !ok {
			return
		}
		p = w.Unwrap()
	}
}

// Keeper is implemented by caches.
type Keeper interface {
	// KeepAlso makes the cache keep further objects: those for which version returns true. Under
	// one key and one version there is never another content.
	KeepAlso(version func(key string) (string, bool))
}

// KeepAlso tells the caches among the decorators of p which further objects never change. It is
// called before p is read.
func KeepAlso(p Provider, version func(key string) (string, bool)) {
	for {
		if k, ok := p.(Keeper); ok {
			k.KeepAlso(version)
		}
		w, ok := p.(Wrapper)
		if !ok {
			return
		}
		p = w.Unwrap()
	}
}

// Stats counts the work of the decorators of a store since they were opened. All but the gauges
// only grow.
type Stats struct {
	Requests     int64 `json:"requests"` // sent to the store, repetitions and hedges among them
	BytesRead    int64 `json:"bytes_read"`
	BytesWritten int64 `json:"bytes_written"`

	Retries   int64 `json:"retries"`    // requests that repeat one that failed
	Resumes   int64 `json:"resumes"`    // of them, those that go on in the middle of a body
	Stalls    int64 `json:"stalls"`     // requests given up because nothing, or too little, came
	Throttles int64 `json:"throttles"`  // answers that ask for fewer requests
	Hedges    int64 `json:"hedges"`     // requests sent because the first byte of another was late
	HedgeWins int64 `json:"hedge_wins"` // of them, those that answered first
	GaveUp    int64 `json:"gave_up"`    // calls that failed in spite of repetitions

	Waits       int64         `json:"waits"` // requests that had to wait for a slot
	WaitTime    time.Duration `json:"wait_time"`
	Connections int64         `json:"connections"` // gauge: requests that may run at once now

	CacheHits   int64  `json:"cache_hits"`   // pages
	CacheMisses int64  `json:"cache_misses"` // pages
	CacheBytes  int64  `json:"cache_bytes"`  // given to callers without asking the store
	CacheFaults int64  `json:"cache_faults"` // pages that could not be kept, or were damaged
	CacheFault  string `json:"cache_fault"`  // the first of them, in words
}

// Add counts o in as well. Gauges and words are taken over where s has none.
func (s *Stats) Add(o Stats) {
	s.Requests += o.Requests
	s.BytesRead += o.BytesRead
	s.BytesWritten += o.BytesWritten
	s.Retries += o.Retries
	s.Resumes += o.Resumes
	s.Stalls += o.Stalls
	s.Throttles += o.Throttles
	s.Hedges += o.Hedges
	s.HedgeWins += o.HedgeWins
	s.GaveUp += o.GaveUp
	s.Waits += o.Waits
	s.WaitTime += o.WaitTime
	s.CacheHits += o.CacheHits
	s.CacheMisses += o.CacheMisses
	s.CacheBytes += o.CacheBytes
	s.CacheFaults += o.CacheFaults
	if s.Connections == 0 {
		s.Connections = o.Connections
	}
	if s.CacheFault == "" {
		s.CacheFault = o.CacheFault
	}
}

// Since returns the counts since before. Gauges and words are those of s.
func (s Stats) Since(before Stats) Stats {
	gauge, words := s.Connections, s.CacheFault
	before.Requests, before.BytesRead, before.BytesWritten = -before.Requests, -before.BytesRead, -before.BytesWritten
	before.Retries, before.Resumes, before.Stalls, before.Throttles = -before.Retries, -before.Resumes, -before.Stalls, -before.Throttles
	before.Hedges, before.HedgeWins, before.GaveUp = -before.Hedges, -before.HedgeWins, -before.GaveUp
	before.Waits, before.WaitTime = -before.Waits, -before.WaitTime
	before.CacheHits, before.CacheMisses, before.CacheBytes, before.CacheFaults = -before.CacheHits, -before.CacheMisses, -before.CacheBytes, -before.CacheFaults
	s.Add(before)
	s.Connections, s.CacheFault = gauge, words
	return s
}

// Meter is implemented by decorators.
type Meter interface {
	// Stats counts the work of the decorator and of all below it.
	Stats() Stats
}

// StatsOf asks a Provider or Source that may be a Meter; others count nothing.
func StatsOf(store any) Stats {
	if m, ok := store.(Meter); ok {
		return m.Stats()
	}
	return Stats{}
}

// Attempts runs one request, try, and repeats it after a Fault. op and object name it in errors; n
// is the number of bytes that it moves. Each call of try gets the context of its attempt.
type Attempts func(ctx context.Context, op, object string, n int64, try func(ctx context.Context) error) error

type attemptsKey struct{}

// WithAttempts lets the provider below repeat its requests one by one. Decorators set it for calls
// that cannot be repeated as a whole: Create, for the parts of the stream, and CopyFrom.
func WithAttempts(ctx context.Context, a Attempts) context.Context {
	return context.WithValue(ctx, attemptsKey{}, a)
}

// AttemptsOf returns the Attempts of a call. A provider runs each request of a Stream or copy
// through them. Without a decorator above, they call try once.
func AttemptsOf(ctx context.Context) Attempts {
	if a, ok := ctx.Value(attemptsKey{}).(Attempts); ok {
		return a
	}
	return func(ctx context.Context, _, _ string, _ int64, try func(ctx context.Context) error) error {
		return try(ctx)
	}
}

// RequestTimer measures a request from the moment at which it is sent: a decorator below may hold
// it back first. It travels in the context, as net/http/httptrace does, since the decorators
// between have no use for it. The methods of a nil RequestTimer do nothing; all may be called in
// parallel.
type RequestTimer struct {
	began atomic.Int64 // nanoseconds since the epoch; 0: it waits
}

// StartTimer returns a RequestTimer of a request that is sent now.
func StartTimer() *RequestTimer {
	t := &RequestTimer{}
	t.Start()
	return t
}

// Pause says that the request is held back.
func (t *RequestTimer) Pause() {
	if t != nil {
		t.began.Store(0)
	}
}

// Start says that the request is sent now.
func (t *RequestTimer) Start() {
	if t != nil {
		t.began.Store(time.Now().UnixNano())
	}
}

// Age is the time since the request was sent; waiting is true while it is held back.
func (t *RequestTimer) Age(now time.Time) (age time.Duration, waiting bool) {
	began := t.began.Load()
	if began == 0 {
		return 0, true
	}
	return time.Duration(now.UnixNano() - began), false
}

type timerKey struct{}

// WithTimer attaches t to the context of a request.
func WithTimer(ctx context.Context, t *RequestTimer) context.Context {
	return context.WithValue(ctx, timerKey{}, t)
}

// TimerOf returns the RequestTimer of a request, or nil.
func TimerOf(ctx context.Context) *RequestTimer {
	t, _ := ctx.Value(timerKey{}).(*RequestTimer)
	return t
}
