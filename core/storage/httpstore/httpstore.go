package httpstore

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"deeplake/core/errs"
	"deeplake/core/internal/request"
	"deeplake/core/storage"
	"deeplake/core/storage/web"
)

// maxRedirects is how often a request may be sent on: mirrors and content networks do it once or
// twice.
const maxRedirects = 5

// Stores opens URLs. Stores with the same settings share connections. The zero value is ready; it
// may be used in parallel and must not be copied.
type Stores struct {
	mu   sync.Mutex
	open map[[sha256.Size]byte]*client
}

// client is connections with the headers that go with each request, and their users.
type client struct {
	net     *request.Client
	header  http.Header
	dialect request.Dialect
	users   int
}

// Provider reads the objects of a dataset below a URL. All methods may be called in parallel.
type Provider struct {
	web.Provider
	site *site
}

var (
	_ storage.Provider = (*Provider)(nil)
	_ web.Site         = (*site)(nil)
	_ storage.Source   = (*Source)(nil)

	_ storage.Identified = (*Provider)(nil)
)

// site is a URL and how to ask there.
type site struct {
	*client
	base    *url.URL
	dialect request.Dialect
	release func()
	closed  atomic.Bool
}

// Opener opens URLs of scheme, "http" or "https".
func (p *Stores) Opener(scheme string) storage.Opener {
	return func(ctx context.Context, rest string, o storage.Options) (storage.Provider, error) {
		at := &site{}
		if err := p.take(ctx, scheme, rest, o, at); err != nil {
			return nil, err
		}
		if at.base.RawQuery != "" {
			at.release()
			return nil, errs.Op("open", at.URI()).New(errs.Invalid, "a dataset has no query in its URL; give what the server needs as headers")
		}
		return &Provider{web.Provider{Site: at}, at}, nil
	}
}

// SourceOpener opens URLs of scheme as a Source: that of a listing file, or of anything that names
// are relative to.
func (p *Stores) SourceOpener(scheme string) storage.SourceOpener {
	return func(ctx context.Context, rest string, o storage.Options) (storage.Source, error) {
		out := &Source{stores: p}
		if err := p.take(ctx, scheme, rest, o, &out.site); err != nil {
			return nil, err
		}
		out.policy = storage.NewLinkPolicy(scheme+"://"+rest, o)
		return out, nil
	}
}

func (p *Stores) take(ctx context.Context, scheme, rest string, o storage.Options, out *site) error {
	base, err := url.Parse(scheme + "://" + rest)
	switch {
	case ctx.Err() != nil:
		return errs.New(errs.Canceled, "open a URL: %w", context.Cause(ctx))
	case err != nil || base.Hostname() == "":
		return errs.Op("open", scheme+"://...").New(errs.Invalid, `not a URL (want for example "https://example.com/data")`)
	case clearSecrets(base, o.Settings):
		return errs.Op("open", scheme+"://"+base.Host).New(errs.Denied, "bearer_token and headers would travel unencrypted; use https, or give allow_insecure=True")
	case base.User != nil:
		return errs.Op("open", scheme+"://"+base.Host).New(errs.Invalid, `the URL holds a name or a password; give them as headers={"Authorization": ...}`)
	}
	base.Fragment = ""
	key := identityOf(o)
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.open[key]
	if c == nil {
		if c, err = connect(o); err != nil {
			return err
		}
		if p.open == nil {
			p.open = map[[sha256.Size]byte]*client{}
		}
		p.open[key] = c
	}
	c.users++
	c.net.Remember(base.RawQuery)
	out.client, out.base, out.dialect = c, base, c.dialect
	out.dialect.Public, out.dialect.AllowPrivate = o.Public, o.Settings.AllowPrivate
	out.release = func() { p.drop(key, c) }
	return nil
}

// clearSecrets reports whether secrets would travel in clear, and the user has not said that they
// may.
func clearSecrets(base *url.URL, s storage.Settings) bool {
	secret := s.BearerToken != "" || len(s.Headers) > 0
	return secret && base.Scheme == "http" && !s.AllowInsecure && !request.IsLoopback(base.Host)
}

func (p *Stores) drop(key [sha256.Size]byte, c *client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.users--; c.users == 0 {
		delete(p.open, key)
		c.net.Close()
	}
}

func connect(o storage.Options) (*client, error) {
	c := &client{header: http.Header{}}
	for name, value := range o.Settings.Headers {
		key := textproto.CanonicalMIMEHeaderKey(name)
		if name == "" || strings.ContainsAny(name, " :\r\n\x00") || strings.ContainsAny(value.Reveal(), "\r\n\x00") {
			return nil, errs.New(errs.Invalid, "header %q is not one that can be sent", name)
		}
		if slices.Contains([]string{"Range", "If-Match", "Host", "Content-Length", "Accept-Encoding"}, key) {
			return nil, errs.New(errs.Invalid, "header %q is set by each request; leave it out", name)
		}
		c.header[key] = []string{value.Reveal()}
	}
	if token := o.Settings.BearerToken.Reveal(); token != "" {
		c.header["Authorization"] = []string{"Bearer " + token}
	}
	c.dialect = request.Dialect{
		Tag: tagOf, Explain: explain, Redirects: maxRedirects, Private: slices.Collect(maps.Keys(c.header)),
	}
	var err error
	c.net, err = request.NewClient("URL", o.Settings, o.Environ)
	return c, err
}

// identityOf is equal for what may share connections; a hash, so that no secret lies about twice.
func identityOf(o storage.Options) [sha256.Size]byte {
	h := sha256.New()
	add := func(values ...any) {
		for _, v := range values {
			text := fmt.Sprint(v)
			_ = binary.Write(h, binary.LittleEndian, uint64(len(text)))
			h.Write([]byte(text))
		}
	}
	s := o.Settings
	add(s.BearerToken.Reveal(), s.CAFile, s.Proxy, s.MaxConnections, s.ConnectTimeout, s.Timeout, len(s.Headers))
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		add(name, s.Headers[name].Reveal())
	}
	for _, name := range slices.Sorted(maps.Keys(o.Environ)) {
		add(name, o.Environ[name])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// tagOf is the ETag, or the time of the last change where there is none.
func tagOf(h http.Header) string {
	if tag := h.Get("Etag"); tag != "" {
		return tag
	}
	return h.Get("Last-Modified")
}

// explain gives the meaning of a refusal; Dialect.Explain.
func explain(a *request.Response) error { return a.Identify(meaning(a)) }

func meaning(a *request.Response) error {
	switch {
	case a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden:
		return errs.New(errs.Denied, "%q answers %s; give bearer_token or headers that it accepts", a.Host, a.Quote())
	case a.Status == http.StatusNotFound || a.Status == http.StatusGone:
		return errs.New(errs.NotFound, "no such object at %q", a.Host)
	case a.Status/100 == 3:
		return errs.New(errs.Storage, "%q sends requests on more than %d times, or nowhere", a.Host, maxRedirects)
	}
	return a.Explain()
}

// Base is the address that objects lie below.
func (s *site) Base() *url.URL { return s.base }

// URI is the address, without settings and without the query, which may be a signature.
func (s *site) URI() string {
	u := *s.base
	u.RawQuery = ""
	return u.String()
}

// hashRounds is how often the hash of headers is repeated: a password in one is not found by trying
// likely ones.
const hashRounds = 20_000

// Identity is that of the site.
func (p *Provider) Identity() string { return p.site.identity() }

// identity is a hash of the headers: a server may answer each user with objects of their own.
func (s *site) identity() string {
	if len(s.header) == 0 {
		return ""
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.header)) {
		fmt.Fprintf(&text, "%q %q\n", name, s.header[name])
	}
	key, err := pbkdf2.Key(sha256.New, text.String(), []byte("deeplake cache "+s.base.Host), hashRounds, sha256.Size)
	if err != nil { // a mode of the runtime that allows no such hash
		return "headers of " + strconv.Itoa(os.Getpid())
	}
	return hex.EncodeToString(key)
}

// Close ends the use of the connections, which are closed with the last user.
func (s *site) Close() error {
	if s.closed.Swap(true) {
		return errClosed("close", s.URI())
	}
	s.release()
	return nil
}

func errClosed(op, object string) error {
	return errs.Wrap(errs.Closed, op, object, errors.New("the store was closed"))
}

// Admit refuses calls after Close, and those whose context has ended.
func (s *site) Admit(ctx context.Context, op, object string) error {
	if s.closed.Load() {
		return errClosed(op, object)
	}
	if ctx.Err() != nil {
		return errs.Wrap(errs.Canceled, op, object, context.Cause(ctx))
	}
	return nil
}

// isHome reports whether u is on the site's own host.
func (s *site) isHome(u *url.URL) bool { return u.Scheme == s.base.Scheme && u.Host == s.base.Host }

// Ask requests a part of u, which is on the site's own host.
func (s *site) Ask(ctx context.Context, name string, u *url.URL, off, n int64, tag string) (storage.Body, error) {
	rq := &http.Request{Method: http.MethodGet, URL: u, Header: s.header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	if !s.isHome(u) {
		return nil, errs.Op("read", storage.RedactURL(name)).New(errs.Internal, "it is not on host %q", s.base.Host)
	}
	b, err := s.net.Get(ctx, &s.dialect, rq, off, n, tag)
	if err != nil {
		return nil, errs.Wrap(errs.Storage, "read", storage.RedactURL(name), err)
	}
	return b, nil
}
