//go:build js

package fetchstore

import (
	"context"
	"net/url"
	"strings"
	"sync/atomic"

	"deeplake/core/errs"
	"deeplake/core/internal/ranges"
	"deeplake/core/storage"
	"deeplake/core/storage/web"
)

// Stores opens URLs of one origin.
type Stores struct {
	// Origin is all that may be asked, as "https://data.example.com".
	Origin string
}

// Opener opens URLs of scheme, "http" or "https". A query in the URL, such as a signature, goes to
// the server with each object.
func (s *Stores) Opener(scheme string) storage.Opener {
	return func(ctx context.Context, rest string, _ storage.Options) (storage.Provider, error) {
		base, err := url.Parse(scheme + "://" + rest)
		switch {
		case ctx.Err() != nil:
			return nil, errs.New(errs.Canceled, "open a URL: %w", context.Cause(ctx))
		case err != nil || base.Hostname() == "" || base.User != nil:
			return nil, errs.Op("open", scheme+"://...").New(errs.Invalid, `not a URL that can be read (want for example "https://example.com/data")`)
		case scheme+"://"+base.Host != s.Origin:
			return nil, errs.Op("open", scheme+"://"+base.Host).New(errs.Denied, "this page may read %q alone", s.Origin)
		}
		base.Fragment = ""
		return web.Provider{Site: &site{base: base}}, nil
	}
}

// site is a URL. Each request is a fetch.
type site struct {
	base    *url.URL
	reached atomic.Bool // the server has answered something
	closed  atomic.Bool
}

var _ web.Site = (*site)(nil)

// Base is the URL that objects lie below.
func (s *site) Base() *url.URL { return s.base }

// URI is the URL without its query, which may be a signature.
func (s *site) URI() string {
	u := *s.base
	u.RawQuery = ""
	return u.String()
}

// Close ends the use of the site.
func (s *site) Close() error {
	if s.closed.Swap(true) {
		return errs.Op("close", s.URI()).New(errs.Closed, "the store was closed")
	}
	return nil
}

// Admit refuses calls after Close, and those whose context has ended.
func (s *site) Admit(ctx context.Context, op, object string) error {
	if s.closed.Load() {
		return errs.Op(op, object).New(errs.Closed, "the store was closed")
	}
	if ctx.Err() != nil {
		return errs.Wrap(errs.Canceled, op, object, context.Cause(ctx))
	}
	return nil
}

// Ask requests a part of the object at u; storage.Ranger.
func (s *site) Ask(ctx context.Context, key string, u *url.URL, off, n int64, tag string) (storage.Body, error) {
	b, err := s.ask(ctx, key, u, off, n)
	if err == nil && tag != "" && b.in != nil && b.tag != tag {
		_ = b.Close() // nothing was read
		err = errs.New(errs.Conflict, "the object has changed (its tag is %q, want %q)", b.tag, tag)
	}
	if err != nil {
		return nil, errs.Wrap(errs.Storage, "read", key, err)
	}
	return b, nil
}

func (s *site) ask(ctx context.Context, key string, u *url.URL, off, n int64) (*body, error) {
	if off < 0 {
		return nil, errs.New(errs.Invalid, "offset %d is negative", off)
	}
	r := request{url: u.String(), method: "GET", fresh: !strings.HasPrefix(key, "data/") && !strings.HasPrefix(key, "map/")}
	if n == 0 {
		r.method = "HEAD"
	} else if r.ranges = ranges.Text(off, n); r.ranges == "" {
		r.ranges = "bytes=0-" // a browser asks for compressed bytes without a range
	}
	in, err := r.send(ctx)
	if err != nil {
		return nil, s.unreached(ctx, err)
	}
	s.reached.Store(true)
	b := &body{in: in, host: u.Host, size: -1, tag: in.tag()}
	a := ranges.Answer{Host: u.Host, Length: in.length(), Range: in.header("Content-Range")}
	a.Hidden = a.Range == "" && in.foreign()
	switch {
	case in.status == 200 && n == 0:
		if b.size = a.Length; b.size >= 0 && off > b.size {
			err = ranges.Beyond(off, b.size)
		}
	case in.status == 200:
		b.length, b.size, err = a.Whole(off, n)
	case in.status == 206 && n != 0:
		b.length, b.size, err = a.Part(off, n)
	case in.status == 416 && n != 0:
		b.size, err = a.Outside(off)
	default:
		err = meaning(u.Host, in.status)
	}
	b.left = b.length
	if err != nil || b.length == 0 {
		in.stop()
		b.in = nil
	}
	return b, err
}

// unreached is the error of a request without an answer. Browsers do not say why. A server that has
// answered before will do so again; one that never has may not allow this page to read it.
func (s *site) unreached(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errs.New(errs.Canceled, "%w", context.Cause(ctx))
	}
	if s.reached.Load() {
		return &storage.Fault{Repeat: storage.Soon, Err: errs.New(errs.Storage, "%q cannot be reached: %w", s.base.Host, err)}
	}
	return errs.New(errs.Storage, "%q cannot be reached, or does not allow this page to read it: it must allow the page's origin by CORS, "+
		"with the header Range (%w)", s.base.Host, err)
}

// meaning is the error of a status that is no success.
func meaning(host string, status int) error {
	switch {
	case status == 401 || status == 403:
		return errs.New(errs.Denied, "%q refuses the request (status %d): the object must be public, or the signature in the URL valid", host, status)
	case status == 404 || status == 410:
		return errs.New(errs.NotFound, "no such object at %q", host)
	case status == 429 || status == 503:
		return &storage.Fault{Repeat: storage.Later, Err: errs.New(errs.Storage, "%q asks for fewer requests (status %d)", host, status)}
	case status >= 500:
		return &storage.Fault{Repeat: storage.Soon, Err: errs.New(errs.Storage, "%q fails (status %d)", host, status)}
	}
	return errs.New(errs.Storage, "%q answers with status %d", host, status)
}
