package urls

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"deeplake/core/errs"
	"deeplake/core/internal/request"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
)

// Options bound the work of a Fetcher. Zero fields have defaults.
type Options struct {
	// Workers is the number of requests at once; default 256. Silent requests do not count: with
	// them there may be 17 times as many.
	Workers int
	// PerHost is the number of requests at once to a host, silent ones included; default 16.
	PerHost int
	// Attempts bounds the requests for an object; default 3. Refused and broken connections, 408,
	// 429 and 5xx are tried again, after a pause or the time of Retry-After.
	Attempts int
	MaxBytes int64 // of an object; default 64 MiB
	// Memory bounds the bytes that were fetched and not released; default 256 MiB. Exempt are the
	// first batch that is not released, and those up to one that the caller waits for.
	Memory int64
	// Spill bounds the bytes of the files with objects that memory has no room for; default: there
	// are none. Objects come no faster than Memory and Spill in the time of Silence, where each
	// batch has one without an answer.
	Spill       int64
	SpillFolder string // of these files; default: that of the system for temporary files
	// Timeout is the time of an object, with all attempts and its body; default 30 s. Waiting for a
	// busy host does not count.
	Timeout time.Duration
	// Silence is the time of a request without a byte; default that of Storage, else 10 s. It is
	// never more than Timeout.
	Silence time.Duration
	// Storage has the connections: CAFile, Proxy, ConnectTimeout, Timeout and AllowPrivate. Of its
	// headers only User-Agent and Accept are sent.
	Storage storage.Settings
	Environ map[string]string // storage.Options.Environ
}

// Result is the object of a URL, or a reason. For the URL "" neither Data nor Reason is set.
type Result struct {
	Data   []byte // not empty
	Reason string // why there are no data, without secrets
	URL    string // where redirections led, without secrets; "" without one
	Bytes  int64  // received as bodies, attempts that failed included
}

// Fetcher fetches objects. All methods may be called in parallel.
type Fetcher struct {
	o      Options
	header http.Header
	send   http.RoundTripper
	guard  *request.Guard
	group  *task.Group
	began  time.Time
	spill  spill

	mu     sync.Mutex // for all that follows
	queue  queue
	memory memory
	pool   pool
	closed bool
}

// New makes a Fetcher that works until Close, or until ctx ends; Close gives the connections back
// all the same. New sends nothing.
func New(ctx context.Context, o Options) (*Fetcher, error) { return open(ctx, o, nil) }

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// open is New with another way to connect; nil: the network.
func open(ctx context.Context, o Options, dial dialFunc) (*Fetcher, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	header, err := headerOf(o.Storage.Headers)
	if err != nil {
		return nil, err
	}
	client, err := request.NewClient("URL", o.Storage, o.Environ)
	if err != nil {
		return nil, err
	}
	f := &Fetcher{o: o, header: header, guard: client.Guard(), began: time.Now()}
	f.group = task.New(ctx, 0)
	for _, t := range []*http.Transport{f.guard.Direct, f.guard.Public} {
		if dial != nil {
			t.DialContext = dial
		}
		t.MaxIdleConnsPerHost = o.PerHost
		t.MaxIdleConns = 2 * o.Workers
		t.IdleConnTimeout = idleTime
		t.MaxResponseHeaderBytes = maxHead
		t.ResponseHeaderTimeout = 0 // watch does it
	}
	f.send = f.guard
	if o.Storage.AllowPrivate {
		f.send = f.guard.Direct
	}
	f.queue.hosts = map[string]*host{}
	f.memory.usual = firstBytes
	f.spill.folder, f.spill.most = o.SpillFolder, o.Spill
	f.pool.start(&f.mu)
	f.group.Go(f.watch)
	return f, nil
}

const (
	// maxHead bounds the head of an answer.
	maxHead = 64 << 10
	// idleTime bounds the life of an unused connection: most hosts of a table have few objects.
	idleTime = 20 * time.Second
	// defaultSilence is shorter than the default Timeout: all later objects wait for a silent one.
	defaultSilence = 10 * time.Second
)

func (o *Options) complete() error {
	if o.Workers < 0 || o.PerHost < 0 || o.Attempts < 0 || o.MaxBytes < 0 || o.Memory < 0 || o.Spill < 0 || o.Timeout < 0 || o.Silence < 0 {
		return errs.Op("fetch URLs", "").New(errs.Invalid, "an option is negative")
	}
	fill(&o.Workers, 256)
	fill(&o.PerHost, 16)
	fill(&o.Attempts, 3)
	fill(&o.MaxBytes, 64<<20)
	fill(&o.Memory, 256<<20)
	fill(&o.Timeout, 30*time.Second)
	if given := o.Storage.Timeout; given > 0 && given < 1e6 {
		fill(&o.Silence, time.Duration(given*float64(time.Second)))
	}
	fill(&o.Silence, defaultSilence)
	o.Silence = min(o.Silence, o.Timeout)
	return nil
}

func fill[T comparable](field *T, otherwise T) {
	var zero T
	if *field == zero {
		*field = otherwise
	}
}

// Close ends all requests, and returns when no goroutine works any more. Wait of a batch that is
// not complete, or has objects on the disk, then returns errs.Closed. It may be called again.
func (f *Fetcher) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.group.Stop()
	_ = f.group.Wait()             // told by Batch.Wait
	f.guard.CloseIdleConnections() // and those that are still being made
	f.spill.close()
}

// Batch is some URLs on their way. All methods may be called in parallel.
type Batch struct {
	f       *Fetcher
	done    chan struct{} // closed with the last result, or by Release
	results []Result      // each is set once, before done; those in laid under loading
	loading sync.Mutex    // of load; taken before Fetcher.mu

	// under Fetcher.mu
	order    int // of Start
	urls     []string
	next     int          // the first of urls that is not queued
	left     int          // results that are missing
	held     int64        // bytes of the results
	laid     []laidObject // results that the spill has
	released bool
}

// Start queues URLs and returns at once. The caller must not change urls before Release. Batches
// are fetched in the order of Start, and should be released in it.
func (f *Fetcher) Start(urls []string) *Batch {
	b := &Batch{f: f, done: make(chan struct{}), results: make([]Result, len(urls)), urls: urls, left: len(urls)}
	if len(urls) == 0 {
		close(b.done)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.group.Context().Err() != nil {
		return b
	}
	f.queue.add(b)
	f.hire(len(urls) - f.pool.idle)
	f.pool.wake.Broadcast()
	return b
}

// Wait returns the results in the order of the URLs, when all are there. They are the caller's to
// read until Release. If ctx ends first it returns errs.Canceled, and Wait may be called again. It
// exempts b and the batches before it from the budget, so that earlier ones may be kept meanwhile.
func (b *Batch) Wait(ctx context.Context) ([]Result, error) {
	select {
	case <-b.done: // also if ctx has ended
	default:
		b.f.await(b)
		select {
		case <-b.done:
		case <-ctx.Done():
			return nil, errs.Op("fetch URLs", "").New(errs.Canceled, "%w", context.Cause(ctx))
		case <-b.f.group.Context().Done():
			return nil, b.f.ended()
		}
	}
	return b.load()
}

// await exempts b, and the batches before it, from the budget.
func (f *Fetcher) await(b *Batch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue.awaited = max(f.queue.awaited, b.order)
	f.pool.wake.Broadcast()
}

// ended returns the error of batches that a closed or canceled Fetcher did not complete.
func (f *Fetcher) ended() error {
	cause := context.Cause(f.group.Context())
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case errs.Is(cause, errs.Internal):
		return cause
	case f.closed:
		return errs.Op("fetch URLs", "").New(errs.Closed, "the fetcher was closed")
	}
	return errs.Op("fetch URLs", "").New(errs.Canceled, "%w", cause)
}

// Release gives the memory of the results back to the budget, and ends requests that are on their
// way. Data that the caller keeps stay as they are, uncounted. It may be called again.
func (b *Batch) Release() {
	f := b.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if b.released {
		return
	}
	b.released = true
	if b.left > 0 {
		f.pool.stop(b)
		close(b.done)
	}
	f.memory.give(b.held)
	for _, one := range b.laid {
		f.spill.drop(one.place)
	}
	b.held, b.results, b.urls, b.laid = 0, nil, nil, nil
	f.queue.drop(b)
	f.pool.wake.Broadcast() // there is room, and another batch is the first
}
