// Package faultproxy owns a reverse proxy for HTTP/1.1 that delays, bounds, breaks and falsifies
// answers where rules say so, and counts requests. It passes heads on unchanged, Host included, so
// that signatures of S3 stay valid. It knows neither buckets nor the product; only tests and
// benchmarks import it.
package faultproxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Dialect is the form of an error that the proxy makes up.
type Dialect string

// The dialects.
const (
	DialectS3   Dialect = "s3"   // XML
	DialectGCS  Dialect = "gcs"  // JSON
	DialectHTTP Dialect = "http" // plain text
)

// Config names the server behind the proxy.
type Config struct {
	Upstream string // "http://host:port"
	Listen   string // address of this machine; "": 127.0.0.1, which only this machine reaches
	Dialect  Dialect
	Profile  Profile
	Seed     uint64 // of everything that is left to chance

	// RewriteHost makes the server see its own address as Host, for servers that look at it and
	// sign nothing (fake-gcs-server); addresses of the server in heads of answers become the
	// proxy's.
	RewriteHost bool
}

// Proxy listens on a free port of Config.Listen. Methods may be called in parallel.
type Proxy struct {
	URL string // "http://127.0.0.1:PORT"

	upstream string // host:port
	config   Config
	listener net.Listener
	closed   chan struct{}
	open     sync.WaitGroup
	book     book

	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

// Start starts a proxy.
func Start(c Config) (*Proxy, error) {
	u, err := url.Parse(c.Upstream)
	if err != nil || u.Scheme != "http" || u.Host == "" {
		return nil, fmt.Errorf("proxy for %q: want http://host:port", c.Upstream)
	}
	if err := check(c.Profile.Rules); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(c.Listen, "127.0.0.1"), "0"))
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		URL: "http://" + l.Addr().String(), upstream: u.Host, config: c, listener: l,
		closed: make(chan struct{}), conns: map[net.Conn]struct{}{},
	}
	p.book.set(c.Profile, c.Seed)
	p.open.Go(p.accept)
	return p, nil
}

// New starts a proxy for one test.
func New(t testing.TB, c Config) *Proxy {
	t.Helper()
	p, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// SetProfile changes the link and the rules for the requests that come from now on. Rules count
// again.
func (p *Proxy) SetProfile(profile Profile) error {
	if err := check(profile.Rules); err != nil {
		return err
	}
	p.book.set(profile, p.config.Seed)
	return nil
}

// SetRules changes the rules and keeps the link. A rule that makes no sense ends the test.
func (p *Proxy) SetRules(t testing.TB, rules ...Rule) {
	t.Helper()
	if err := check(rules); err != nil {
		t.Fatal(err)
	}
	p.book.setRules(rules, p.config.Seed)
}

// SetLink changes the link and keeps the rules, which go on counting.
func (p *Proxy) SetLink(l Link) { p.book.setLink(l) }

// Struck is closed when the rule number i, from 0, hits a request, before anything happens to it.
// Rules that are set again, or a Reset, come with channels of their own.
func (p *Proxy) Struck(i int) <-chan struct{} { return p.book.struckBy(i) }

// Counts returns the figures since the start or the last Reset.
func (p *Proxy) Counts() Counts { return p.book.counts() }

// Reset sets all counters to zero, those of the rules too, and forgets the requests seen.
func (p *Proxy) Reset() { p.book.reset() }

// Requests are the requests since the start or the last Reset in the order in which they came, at
// most the first hundred thousand that were answered.
func (p *Proxy) Requests() []Request { return p.book.requests() }

// Close breaks all connections and returns when nothing runs any more.
func (p *Proxy) Close() {
	p.mu.Lock()
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	_ = p.listener.Close()
	for conn := range p.conns {
		_ = conn.Close()
	}
	p.mu.Unlock()
	p.open.Wait()
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if sleep(10*time.Millisecond, p.closed) != nil { // no descriptors left, for one
				return
			}
			continue
		}
		if !p.track(conn) {
			return
		}
		p.open.Go(func() {
			defer p.drop(conn)
			newClient(p, conn.(*net.TCPConn)).serve()
		})
	}
}

// track remembers an open connection; false: the proxy is closed, and so is conn.
func (p *Proxy) track(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.closed:
		_ = conn.Close()
		return false
	default:
	}
	p.conns[conn] = struct{}{}
	return true
}

func (p *Proxy) drop(conn net.Conn) {
	p.mu.Lock()
	delete(p.conns, conn)
	p.mu.Unlock()
	_ = conn.Close()
}

// dial connects to the server.
func (p *Proxy) dial() (*net.TCPConn, error) {
	d := net.Dialer{Timeout: 10 * time.Second}
	conn, err := d.DialContext(context.Background(), "tcp", p.upstream)
	if err != nil {
		return nil, err
	}
	if !p.track(conn) {
		return nil, errClosed
	}
	return conn.(*net.TCPConn), nil
}
