package cache

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"deeplake/core/errs"
)

// claims tell other processes which pages this one fetches, so that they wait for the pages instead
// of fetching them too. A claim is a lock on bytes of an empty file, one byte for each page. The
// system drops the locks of a process that ends, however it ends: no claim survives its process,
// and no file needs cleaning.
//
// The goroutines of a process share its locks, so their claims are also kept in memory. Claims are
// advice: without locks, or against the advice, a page is fetched twice at worst. All methods may
// be called in parallel.
type claims struct {
	locks    locker // nil: other processes know nothing of the claims
	patience time.Duration

	mu   sync.Mutex
	off  bool                // the locks have failed
	mine map[*claim]struct{} // those of this process
	slow map[int]time.Time   // processes that are not waited for until then
	met  time.Time           // when a lock of another process was last in the way
}

// locker locks bytes of a file for this process.
type locker interface {
	// try locks n bytes from at on. If another process holds some of them, it locks none, and
	// returns one of the locks in the way.
	try(at, n int64) (other holder, err error)
	unlock(at, n int64)
}

// holder is a lock of another process, or a claim of this one. The zero value is none.
type holder struct {
	pid     int // 0 or less: unknown
	from, n int64
	busy    bool // this process awaits bytes for it
}

const (
	// Time to wait for a holder without a sign of life. A holder that fetches drops the lock of
	// each page that has come, so that its lock changes. It may take the timeout of a request until
	// the first page comes, and a part of that for the request after it.
	claimPatience = 8 * time.Second
	// The same for a claim of this process for which nothing is awaited: its reader takes its time,
	// and may be the one that waits.
	idlePatience = 2 * time.Second
	// A page is waited for no longer than this, even if its holder works.
	longestWait = 30 * time.Second
	// A process that was too slow is not waited for during this time: one that has stopped costs a
	// small part of the time of the others.
	slowPause = time.Minute
	// Other processes count as fetching for this time after the last of their locks was met.
	crowdTime = 10 * time.Second
	// A page that several processes have claimed in vain is fetched without a wait.
	mostHolders = 3

	leastPoll = time.Millisecond
	mostPoll  = 20 * time.Millisecond

	// claimPages are the pages of an object that can be claimed: those of a TiB.
	claimPages = 1 << 22
)

func newClaims(l locker) *claims {
	return &claims{locks: l, patience: claimPatience, mine: map[*claim]struct{}{}, slow: map[int]time.Time{}}
}

// claimBase is the place of the locks of an object. Objects of equal places only wait in vain.
func claimBase(uri, key string) int64 {
	text := make([]byte, 0, 256)
	text = binary.LittleEndian.AppendUint64(text, uint64(len(uri)))
	sum := sha256.Sum256(append(append(text, uri...), key...))
	return int64(binary.LittleEndian.Uint64(sum[:]) >> 1 &^ (claimPages - 1))
}

// claim is pages of an object that others wait for. One goroutine uses it. nil is a claim on
// nothing, for a request without bounds.
type claim struct {
	of         *claims
	base       int64
	next, last int64 // changed under the mutex of the claims
	idle       atomic.Bool
}

// setIdle says whether the claim is idle: its process awaits no bytes for it.
func (c *claim) setIdle(idle bool) {
	if c != nil {
		c.idle.Store(idle)
	}
}

// within is last, or the last page that the claim covers if that comes first.
func (c *claim) within(last int64) int64 {
	if c == nil {
		return last
	}
	return min(last, c.last)
}

// landed ends the claim on the pages before page to.
func (c *claim) landed(to int64) {
	if c != nil {
		c.of.reduce(c, to, c.last)
	}
}

// shrink ends the claim on the pages behind last.
func (c *claim) shrink(last int64) {
	if c != nil {
		c.of.reduce(c, c.next, last)
	}
}

// end ends the claim.
func (c *claim) end() {
	if c != nil {
		c.of.reduce(c, c.last+1, c.last)
	}
}

// reduce leaves of a claim the pages from next to last.
func (c *claims) reduce(of *claim, next, last int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next = min(max(next, of.next), of.last+1)
	last = max(min(last, of.last), next-1)
	c.unlock(of.base+of.next, next-of.next)
	c.unlock(of.base+last+1, of.last-last)
	if of.next, of.last = next, last; next > last {
		delete(c.mine, of)
	}
}

func (c *claims) unlock(at, n int64) {
	if n > 0 && c.locks != nil && !c.off {
		c.locks.unlock(at, n)
	}
}

// take claims pages from first on, up to last or a page that is claimed already. Where the first
// is, it returns the claim in the way. It returns neither for pages that cannot be claimed.
func (c *claims) take(base, first, last int64) (got *claim, other holder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last = min(last, claimPages-1)
	for o := range c.mine {
		if o.base != base || o.last < first || o.next > last {
			continue
		}
		if o.next <= first {
			return nil, holder{os.Getpid(), base + o.next, o.last - o.next + 1, !o.idle.Load()}
		}
		last = o.next - 1
	}
	if last, other = c.lock(base, first, last); other != (holder{}) || last < first {
		return nil, other
	}
	got = &claim{of: c, base: base, next: first, last: last}
	c.mine[got] = struct{}{}
	return got, holder{}
}

// lock locks the pages from first on, up to last or a page that another process has locked. Where
// that is the first, it returns its holder.
func (c *claims) lock(base, first, last int64) (end int64, other holder) {
	for c.locks != nil && !c.off && first <= last {
		var err error
		if other, err = c.locks.try(base+first, last-first+1); err != nil {
			c.off = true
		}
		if err != nil || other == (holder{}) {
			return last, holder{}
		}
		last, c.met = other.from-base-1, time.Now()
	}
	return last, other
}

// crowded reports whether other processes have lately fetched pages near those of this one.
func (c *claims) crowded() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.met) < crowdTime
}

// await claims pages from first on, at most up to last. While the first is claimed already, it
// waits: until there finds the page, or waiting does not help. Then the claim is nil.
func (c *claims) await(ctx context.Context, op, key string, base, first, last int64, there func() (bool, error)) (*claim, error) {
	got, other := c.take(base, first, last)
	if other == (holder{}) {
		return got, nil
	}
	w := wait{began: time.Now(), holder: other}
	w.since = w.began
	timer := time.NewTimer(leastPoll)
	defer timer.Stop()
	for !c.hopeless(&w, other, time.Now()) {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, &errs.Error{Kind: errs.Canceled, Op: op, Object: key, Err: context.Cause(ctx)}
		}
		if found, err := there(); found || err != nil {
			return nil, err
		}
		if got, other = c.take(base, first, last); other == (holder{}) {
			return got, nil
		}
		timer.Reset(min(max(time.Since(w.began)/4, leastPoll), mostPoll))
	}
	return nil, nil
}

// wait is the state while a page is waited for.
type wait struct {
	began   time.Time
	since   time.Time // of the last sign of life
	holder  holder
	holders int // processes that have claimed the page one after the other, but for the first
}

// hopeless reports that the page should be fetched although other has claimed it.
func (c *claims) hopeless(w *wait, other holder, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other.pid != w.holder.pid {
		w.holders++
	}
	if other != w.holder || other.busy {
		w.holder, w.since = other, now
	}
	patience := c.patience
	if other.pid == os.Getpid() {
		patience = idlePatience
	}
	if now.Before(c.slow[other.pid]) || w.holders >= mostHolders || now.Sub(w.began) >= longestWait {
		return true
	}
	if now.Sub(w.since) < patience {
		return false
	}
	if other.pid != os.Getpid() { // its other claims may be busy
		c.slow[other.pid] = now.Add(slowPause)
	}
	return true
}

// reserve claims page number of an object and those behind it, at most up to last, before they are
// fetched. It may have waited: the page may be there now.
func (s *Store) reserve(ctx context.Context, op, key string, number, last int64) (*claim, error) {
	c := s.layer.claims()
	if c == nil {
		return nil, nil
	}
	at := s.keyOf(key, number)
	return c.await(ctx, op, key, claimBase(s.id, s.named(key)), number, last, func() (bool, error) {
		return s.layer.has(at), s.admit(ctx, op, key)
	})
}
