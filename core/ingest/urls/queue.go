package urls

import (
	"cmp"
	"container/heap"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// queue has the URLs that wait, in the order of the batches and of the URLs in them.
type queue struct {
	started int
	awaited int      // the last batch that the caller has waited for, by order
	batches []*Batch // that are not released
	fresh   []*Batch // of them: with URLs that no job stands for
	hosts   map[string]*host
	ready   ready
}

// host is a server by name and port.
type host struct {
	key     string
	active  int    // requests
	waiting []*job // in order
	place   int    // in ready, plus one; 0: it is not there

	failures int           // objects in a row without an answer
	shut     time.Duration // until then it is not tried
	reason   string        // of the latest failure
}

const (
	// mostFailures is the number of objects in a row without an answer after which a host is not
	// tried for shutTime. Tables name thousands of objects on dead hosts.
	mostFailures = 16
	shutTime     = 30 * time.Second
	// mostHosts bounds the hosts that are remembered for their failures.
	mostHosts = 1 << 16
)

// job is one URL on its way: in the list of its host, or with a worker.
type job struct {
	batch *Batch
	at    int // in the batch
	url   *url.URL
	host  *host
	moves int           // redirections
	tries int           // attempts that failed
	bytes int64         // received
	need  int64         // bytes that it is known to take
	held  int64         // of the budget
	spent time.Duration // of Timeout, before the present run
	last  atomic.Int64  // when the latest byte came, by Fetcher.now; resting: between attempts
	run
}

// resting is the value of job.last between attempts.
const resting = -1

// run is the state of a job that its worker and watch share.
type run struct {
	cancel func(cause error)
	began  time.Duration // by Fetcher.now
	heard  bool          // the latest attempt got the head of an answer
	first  time.Duration // that the latest answer took; 0: there was none
	late   bool          // it does not count as a worker; under Fetcher.mu
}

// compare orders jobs by the places of their URLs.
func compare(j, k *job) int {
	return cmp.Or(cmp.Compare(j.batch.order, k.batch.order), cmp.Compare(j.at, k.at))
}

func (q *queue) add(b *Batch) {
	q.started++
	b.order = q.started
	q.batches = append(q.batches, b)
	q.fresh = append(q.fresh, b)
}

func (q *queue) drop(b *Batch) {
	is := func(other *Batch) bool { return other == b }
	q.batches = slices.DeleteFunc(q.batches, is)
	q.fresh = slices.DeleteFunc(q.fresh, is)
}

// isExempt reports whether the budget does not hold up b: the caller waits for it, or will do so
// next.
func (q *queue) isExempt(b *Batch) bool {
	return b.order <= q.awaited || len(q.batches) > 0 && q.batches[0] == b
}

// pick returns the first job that may run, with a request of its host and memory for it. It returns
// nil if there is none.
func (f *Fetcher) pick() *job {
	q := &f.queue
	for len(q.ready) > 0 || f.advance() {
		if len(q.ready) == 0 {
			continue // advance has found what needs no request
		}
		h := q.ready[0]
		j := h.waiting[0]
		skip := f.skips(j)
		if !skip && !f.admit(j) {
			return nil // jobs behind it in order wait too
		}
		if h.waiting[0], h.waiting = nil, h.waiting[1:]; len(h.waiting) == 0 {
			h.waiting = nil
		}
		if !skip {
			h.active++
		}
		f.settle(h)
		if !skip {
			return j
		}
	}
	return nil
}

// advance makes the next URL of the batches a job of its host, or gives its result. It returns
// false if all URLs have had that.
func (f *Fetcher) advance() bool {
	q := &f.queue
	for len(q.fresh) > 0 && q.fresh[0].next == len(q.fresh[0].urls) {
		q.fresh = q.fresh[1:]
	}
	if len(q.fresh) == 0 {
		return false
	}
	b := q.fresh[0]
	j := &job{batch: b, at: b.next}
	b.next++
	text := b.urls[j.at]
	if text == "" {
		f.finish(j, Result{})
		return true
	}
	u, reason := parse(text)
	if reason != "" {
		f.finish(j, Result{Reason: reason})
		return true
	}
	f.enqueue(j, u)
	return true
}

// enqueue puts j, with the address u, in the list of the host of u.
func (f *Fetcher) enqueue(j *job, u *url.URL) {
	key := hostOf(u)
	h := f.queue.hosts[key]
	if h == nil {
		f.queue.forget()
		h = &host{key: key}
		f.queue.hosts[key] = h
	}
	j.url, j.host = u, h
	at, _ := slices.BinarySearchFunc(h.waiting, j, compare)
	h.waiting = slices.Insert(h.waiting, at, j)
	f.settle(h)
}

// settle puts h among the hosts with a job that may run, or takes it from them. It forgets a host
// that nothing is known of.
func (f *Fetcher) settle(h *host) {
	q := &f.queue
	switch can := len(h.waiting) > 0 && h.active < f.allowed(h); {
	case can && h.place == 0:
		heap.Push(&q.ready, h)
	case can:
		heap.Fix(&q.ready, h.place-1)
	case h.place != 0:
		heap.Remove(&q.ready, h.place-1)
	}
	if h.active == 0 && len(h.waiting) == 0 && h.failures == 0 {
		delete(q.hosts, h.key)
	}
}

// allowed is the number of requests at once to h. After a failure there are no more than decide
// whether h is shut; after it was, one finds out whether it answers again.
func (f *Fetcher) allowed(h *host) int {
	if h.failures == 0 {
		return f.o.PerHost
	}
	return min(f.o.PerHost, max(1, mostFailures-h.failures))
}

// forget drops the failures of hosts that have nothing to do, if there are too many.
func (q *queue) forget() {
	if len(q.hosts) < mostHosts {
		return
	}
	for key, h := range q.hosts {
		if h.active == 0 && len(h.waiting) == 0 {
			delete(q.hosts, key)
		}
	}
}

// skips reports whether j is to have no request. Then it has its result, if its batch wants one.
func (f *Fetcher) skips(j *job) bool {
	if j.batch.released {
		return true
	}
	if j.host.shut <= f.now() {
		return false
	}
	f.finish(j, Result{Reason: "not tried after " + strconv.Itoa(mostFailures) + " failures of the host: " + j.host.reason, Bytes: j.bytes})
	return true
}

// note remembers whether the host answered for an object.
func (f *Fetcher) note(h *host, answered bool, reason string) {
	if answered {
		h.failures, h.shut = 0, 0
		return
	}
	h.reason = reason
	if h.failures++; h.failures >= mostFailures {
		h.shut = f.now() + shutTime
	}
}

// finish sets the result of j.
func (f *Fetcher) finish(j *job, r Result) {
	b := j.batch
	b.results[j.at] = r
	size := int64(cap(r.Data))
	b.held += size
	f.memory.give(j.held - size)
	j.held = 0
	if b.left--; b.left == 0 {
		close(b.done)
	}
}

// ready is a heap of the hosts with a job that may run, by the order of the jobs.
type ready []*host

var _ heap.Interface = (*ready)(nil)

// Len is the number of hosts.
func (r ready) Len() int { return len(r) }

// Less compares the first jobs of two hosts.
func (r ready) Less(i, k int) bool { return compare(r[i].waiting[0], r[k].waiting[0]) < 0 }

// Swap keeps the places of the hosts.
func (r ready) Swap(i, k int) {
	r[i], r[k] = r[k], r[i]
	r[i].place, r[k].place = i+1, k+1
}

// Push adds a *host at the end.
func (r *ready) Push(h any) {
	added := h.(*host)
	added.place = len(*r) + 1
	*r = append(*r, added)
}

// Pop removes the last host.
func (r *ready) Pop() any {
	last := len(*r) - 1
	h := (*r)[last]
	h.place = 0
	(*r)[last] = nil
	*r = (*r)[:last]
	return h
}
