package urls

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// site is servers in memory, for tests on a fake clock. The handler sees the name of the host.
type site struct {
	handler http.Handler

	mu        sync.Mutex
	listeners map[string]*listener
	dialled   int
	dead      map[string]bool // hosts that accept no connection and say nothing
	gone      map[string]bool // hosts that refuse
	asked     map[string]int  // requests, by host
	active    map[string]int
	most      map[string]int // requests at once
	all, peak int            // the same of all hosts
}

// listener accepts the other ends of pipes.
type listener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *listener) Addr() net.Addr { return &net.TCPAddr{} }

func newSite(handler http.HandlerFunc) *site {
	s := &site{handler: handler, listeners: map[string]*listener{}, dead: map[string]bool{}, gone: map[string]bool{}}
	s.asked, s.active, s.most = map[string]int{}, map[string]int{}, map[string]int{}
	return s
}

func (s *site) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	name := strings.TrimSuffix(addr, ":80")
	s.mu.Lock()
	s.dialled++
	dead, gone, l := s.dead[name], s.gone[name], s.listeners[name]
	if l == nil && !dead && !gone {
		l = &listener{conns: make(chan net.Conn), done: make(chan struct{})}
		s.listeners[name] = l
		server := &http.Server{Handler: s}
		go func() { _ = server.Serve(l) }()
	}
	s.mu.Unlock()
	switch {
	case gone:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	case dead:
		<-ctx.Done()
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: ctx.Err()}
	}
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ServeHTTP counts requests.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked[r.Host]++
	s.active[r.Host]++
	s.all++
	s.most[r.Host] = max(s.most[r.Host], s.active[r.Host])
	s.peak = max(s.peak, s.all)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.active[r.Host]--
		s.all--
	}()
	s.handler.ServeHTTP(w, r)
}

func (s *site) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.listeners {
		l.Close()
	}
}

// requestsAtOnce is the most that there were, to all hosts.
func (s *site) requestsAtOnce() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

func (s *site) requests(host string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[host]
}

// inBubble runs a test on a fake clock, with a fetcher that reaches the handler under every name.
// It fails if a goroutine is left when the fetcher is closed.
func inBubble(t *testing.T, o Options, handler http.HandlerFunc, test func(t *testing.T, f *Fetcher, s *site)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(handler)
		o.Storage.AllowPrivate = true
		if o.Environ == nil {
			o.Environ = map[string]string{}
		}
		f, err := open(t.Context(), o, s.dial)
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		defer f.Close()
		test(t, f, s)
	})
}

// loopback returns a fetcher that may reach this machine.
func loopback(t testing.TB, o Options) *Fetcher {
	t.Helper()
	o.Storage.AllowPrivate = true
	return fetcher(t, o)
}

func fetcher(t testing.TB, o Options) *Fetcher {
	t.Helper()
	if o.Environ == nil {
		o.Environ = map[string]string{}
	}
	f, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// fetch returns the results of one batch, and releases it.
func fetch(t testing.TB, f *Fetcher, urls ...string) []Result {
	t.Helper()
	b := f.Start(urls)
	defer b.Release()
	results, err := b.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != len(urls) {
		t.Fatalf("%d results of %d URLs", len(results), len(urls))
	}
	for i, r := range results {
		if (len(r.Data) > 0) == (r.Reason != "") && urls[i] != "" {
			t.Errorf("%q: %d bytes and reason %q", urls[i], len(r.Data), r.Reason)
		}
	}
	return results
}

// names returns n URLs below a prefix.
func names(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return out
}

// after waits on the fake clock, or until the request is given up.
func after(r *http.Request, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-r.Context().Done():
		return errors.New("the client went")
	}
}

// never waits until the request is given up.
func never(r *http.Request) { <-r.Context().Done() }
