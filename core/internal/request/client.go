package request

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpproxy"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// Defaults of the settings that a Client has a use for.
const (
	DefaultConnections = 64
	defaultConnect     = 3 * time.Second
	defaultTimeout     = 5 * time.Second

	idleTimeout = 90 * time.Second
	// patienceFactor times the timeout bounds a stall of a write, and the wait for its answer. A
	// store needs longer for a part of 16 MiB, or for a copy, than for finding a range.
	patienceFactor = 6
	// firstTries is how often connecting may fail before a host that never answered counts as
	// wrong, not as busy.
	firstTries = 3
)

// Client owns the connections to one store. It is an http.RoundTripper and has the Do that SDKs
// need. Both follow no redirection. Both return classified errors, with a storage.Fault if a retry
// makes sense. All methods may be called in parallel.
type Client struct {
	reads *http.Transport // GET and HEAD
	guard *Guard          // GET and HEAD of hosts that must be public
	// the rest: their answers take longer, and their bodies are watched while they are sent
	writes *http.Transport
	host   string        // for messages: the user's name of the store
	limit  time.Duration // of one attempt to connect
	wait   time.Duration // for an answer

	reached atomic.Bool  // the other side has answered something
	failed  atomic.Int32 // attempts to connect that failed before it did
	skew    atomic.Int64 // nanoseconds that the store's clock is ahead of ours

	secrets secrets
}

// NewClient prepares connections by the settings s. environ is storage.Options.Environ. Messages
// name the other side by host. NewClient sends nothing.
func NewClient(host string, s storage.Settings, environ map[string]string) (*Client, error) {
	roots, err := authorities(s.CAFile, Lookup(environ)("SSL_CERT_FILE"))
	if err != nil {
		return nil, err
	}
	proxy, err := proxyOf(s.Proxy, Lookup(environ))
	if err != nil {
		return nil, err
	}
	c := &Client{host: host, limit: seconds(s.ConnectTimeout, defaultConnect), wait: seconds(s.Timeout, defaultTimeout)}
	c.Keep(s.Secrets()...)
	dialer := &net.Dialer{Timeout: c.limit, KeepAlive: 30 * time.Second}
	transport := func(dial func(ctx context.Context, network, addr string) (net.Conn, error), wait time.Duration) *http.Transport {
		return &http.Transport{
			Proxy:                 proxy,
			DialContext:           dial,
			TLSClientConfig:       &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:   c.limit,
			MaxIdleConnsPerHost:   2 * Connections(s), // hedged requests come on top
			IdleConnTimeout:       idleTimeout,
			DisableCompression:    true,
			ExpectContinueTimeout: time.Second,
			ResponseHeaderTimeout: wait,
			// HTTP/2 halves the throughput of ranges and doubles their cost.
			TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
		}
	}
	c.reads = transport(dialer.DialContext, c.wait)
	c.guard = newGuard(c.reads, c.limit)
	patience := patienceFactor * c.wait
	c.writes = transport(func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &watched{Conn: conn, patience: patience}, nil
	}, patience)
	return c, nil
}

// Connections is the number of requests that s allows at once.
func Connections(s storage.Settings) int {
	if s.MaxConnections > 0 {
		return s.MaxConnections
	}
	return DefaultConnections
}

// Patience is the time that an answer to anything but a range may take as a whole, body included.
func (c *Client) Patience() time.Duration { return patienceFactor * c.wait }

// Transport shows how connections are made, for others to be made alike. It is not to be changed.
func (c *Client) Transport() *http.Transport { return c.reads }

// Close drops the idle connections. Requests in flight go on.
func (c *Client) Close() {
	c.guard.CloseIdleConnections() // and those of c.reads
	c.writes.CloseIdleConnections()
}

// Reached reports whether the other side has ever answered.
func (c *Client) Reached() bool { return c.reached.Load() }

// Now returns the time by the store's clock, as far as SetDate knows it.
func (c *Client) Now() time.Time { return time.Now().Add(time.Duration(c.skew.Load())) }

// SetDate takes over the store's clock from the Date of an answer that refused a request for its
// time. It returns how far the store's clock is ahead of this machine's, and whether that is news:
// if not, the time was not the reason.
func (c *Client) SetDate(h http.Header) (ahead time.Duration, news bool) {
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0, false
	}
	ahead = time.Until(date).Round(time.Second)
	before := time.Duration(c.skew.Swap(int64(ahead)))
	return ahead, (ahead - before).Abs() > time.Minute
}

// RoundTrip sends rq.
func (c *Client) RoundTrip(rq *http.Request) (*http.Response, error) {
	c.secrets.note(rq) // of SDKs, which call it directly
	if rq.Method == http.MethodGet || rq.Method == http.MethodHead {
		return c.send(rq, c.reads)
	}
	return c.send(rq, c.writes)
}

func (c *Client) send(rq *http.Request, by http.RoundTripper) (*http.Response, error) {
	rs, err := by.RoundTrip(rq)
	if err != nil {
		return nil, c.sendError(rq, err)
	}
	c.reached.Store(true)
	return rs, nil
}

// Do sends rq. SDKs call it in place of http.Client.Do.
func (c *Client) Do(rq *http.Request) (*http.Response, error) { return c.RoundTrip(rq) }

// watched is a connection that breaks when a write makes no progress for so long.
type watched struct {
	net.Conn
	patience time.Duration
}

func (w *watched) Write(p []byte) (int, error) {
	if err := w.SetWriteDeadline(time.Now().Add(w.patience)); err != nil {
		return 0, err
	}
	return w.Conn.Write(p)
}

// Lookup reads variables of storage.Options.Environ: a nil map means the environment of the
// process.
func Lookup(environ map[string]string) func(name string) string {
	if environ == nil {
		return os.Getenv
	}
	return func(name string) string { return environ[name] }
}

func seconds(given float64, otherwise time.Duration) time.Duration {
	if given > 0 && given < 1e6 {
		return time.Duration(given * float64(time.Second))
	}
	return otherwise
}

// authorities returns the certificates of the system and of the files. Nil means the system's. The
// first connection that needs these reads them, because all of them take 20 ms.
func authorities(files ...string) (*x509.CertPool, error) {
	var pool *x509.CertPool
	for _, name := range files {
		if name == "" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, errs.Op("read certificates", name).New(errs.Invalid, "%w; check ca_file", errors.Unwrap(err))
		}
		found := false
		if systemHas(name) {
			found = hasCertificate(text)
		} else {
			if pool == nil {
				if pool, err = x509.SystemCertPool(); err != nil {
					pool = x509.NewCertPool()
				}
			}
			found = pool.AppendCertsFromPEM(text)
		}
		if !found {
			return nil, errs.Op("read certificates", name).New(errs.Invalid, "no certificate in it (want PEM)")
		}
	}
	return pool, nil
}

// systemHas reports whether crypto/x509 reads the system's certificates from this file. On macOS
// and Windows crypto/x509 asks the system and reads no file.
func systemHas(name string) bool {
	return runtime.GOOS == "linux" && name == os.Getenv("SSL_CERT_FILE")
}

// hasCertificate reports whether PEM text has a certificate that can be read.
func hasCertificate(text []byte) bool {
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return false
		}
		if block.Type == "CERTIFICATE" && len(block.Headers) == 0 { // as x509.CertPool takes them
			if _, err := x509.ParseCertificate(block.Bytes); err == nil {
				return true
			}
		}
		text = rest
	}
}

// proxyOf returns the proxy of the settings for every host, else the environment's for each host.
func proxyOf(given string, lookup func(string) string) (func(*http.Request) (*url.URL, error), error) {
	if given != "" {
		u, err := url.Parse(given)
		if err != nil || u.Host == "" {
			// The text may hold a password, so the message does not repeat it.
			return nil, errs.New(errs.Invalid, `proxy: not a URL (want for example "http://proxy.example:3128")`)
		}
		return http.ProxyURL(u), nil
	}
	either := func(upper, lower string) string {
		if v := lookup(lower); v != "" {
			return v
		}
		return lookup(upper)
	}
	choose := (&httpproxy.Config{
		HTTPProxy: either("HTTP_PROXY", "http_proxy"), HTTPSProxy: either("HTTPS_PROXY", "https_proxy"),
		NoProxy: either("NO_PROXY", "no_proxy"),
	}).ProxyFunc()
	return func(rq *http.Request) (*url.URL, error) { return choose(rq.URL) }, nil
}
