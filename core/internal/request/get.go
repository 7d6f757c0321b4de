package request

import (
	"context"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/internal/ranges"
	"deeplake/core/storage"
)

// Dialect has the differences of a store from HTTP. A nil field means plain HTTP.
type Dialect struct {
	// Sign completes the request after all other headers are set, once for each time it is sent.
	Sign func(ctx context.Context, rq *http.Request) error
	// Tag returns the version of the object. Default: ETag.
	Tag func(h http.Header) string
	// Require adds the condition that the object has tag. Default: If-Match, for a tag that is a
	// strong ETag.
	Require func(rq *http.Request, tag string)
	// Explain names the meaning of a refusal. It may use Response.Explain for unknown ones.
	Explain func(a *Response) error
	// Admit inspects the head of an acceptable answer. It may refuse one from another kind of
	// store.
	Admit func(host string, h http.Header) error
	// Redirects is the number of redirections that are followed, never from https to http. Headers
	// in Private are not sent to other hosts.
	Redirects int
	Private   []string
	// Public asks a host only if its address is public; so are hosts that a redirection leads to.
	// AllowPrivate lifts both.
	Public       bool
	AllowPrivate bool
}

// Get requests n bytes from offset off of the object that rq names (n < 0: all that follow). It
// returns when the answer has begun and been checked, by the contract of storage.Ranger. rq is a
// request of method GET with URL and Header; Get does not change it. A range of no bytes requests
// the head alone.
func (c *Client) Get(ctx context.Context, d *Dialect, rq *http.Request, off, n int64, tag string) (storage.Body, error) {
	b, err := c.get(ctx, d, rq, off, n, tag)
	if err != nil {
		return nil, c.Hide(err)
	}
	return b, nil
}

func (c *Client) get(ctx context.Context, d *Dialect, rq *http.Request, off, n int64, tag string) (*body, error) {
	if off < 0 {
		return nil, errs.New(errs.Invalid, "offset %d is negative", off)
	}
	n = min(n, math.MaxInt64-off)
	rq, rs, err := c.ask(ctx, d, rq, off, n, tag)
	if err != nil {
		return nil, err
	}
	b, err := c.open(d, rq, rs, off, n)
	if err != nil {
		return nil, err
	}
	if b.in == nil {
		b.tag = tag // the answer is about the range; a condition was met
	} else if tag != "" && b.tag != tag {
		b.Close()
		return nil, errs.New(errs.Conflict, "the object has changed (its tag is %q, want %q)", b.tag, tag)
	}
	return b, nil
}

// ask sends rq, following redirections, and returns the request that was answered.
func (c *Client) ask(ctx context.Context, d *Dialect, rq *http.Request, off, n int64, tag string) (*http.Request, *http.Response, error) {
	header := make(http.Header, len(rq.Header)+8)
	for k, v := range rq.Header {
		header[k] = v
	}
	rq = rq.WithContext(ctx)
	rq.Header = header
	if n == 0 {
		rq.Method = http.MethodHead
	} else if text := ranges.Text(off, n); text != "" {
		header["Range"] = []string{text}
	}
	if tag != "" {
		d.require(rq, tag)
	}
	first := rq.URL
	for hop := 0; ; hop++ {
		if d.Sign != nil {
			if err := d.Sign(ctx, rq); err != nil {
				return nil, nil, err
			}
		}
		var by http.RoundTripper = c.reads
		if !d.AllowPrivate && (d.Public || !sameHost(rq.URL, first)) {
			by = c.guard
		}
		c.secrets.note(rq, d.Private...) // what follows a redirection carries less
		rs, err := c.send(rq, by)
		if err != nil {
			return nil, nil, err
		}
		if hop >= d.Redirects || !IsRedirect(rs.StatusCode) || rs.Header.Get("Location") == "" {
			return rq, rs, nil
		}
		rs.Body.Close()
		if rq, err = d.follow(rq, rs.Header.Get("Location")); err != nil {
			return nil, nil, err
		}
	}
}

func (d *Dialect) require(rq *http.Request, tag string) {
	switch {
	case d.Require != nil:
		d.Require(rq, tag)
	case strings.HasPrefix(tag, `"`): // a weak tag never matches; Get compares it
		rq.Header["If-Match"] = []string{tag}
	}
}

// IsRedirect reports whether a status sends the request to another address.
func IsRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// follow returns the request to the target of a redirect of rq. Private headers stay with their
// host.
func (d *Dialect) follow(rq *http.Request, location string) (*http.Request, error) {
	u, err := Follow(rq.URL, location)
	if err != nil {
		return nil, err
	}
	next := rq.Clone(rq.Context())
	next.URL, next.Host = u, ""
	if !sameHost(rq.URL, u) {
		for _, name := range d.Private {
			next.Header.Del(name)
		}
	}
	return next, nil
}

// Follow returns the target of a redirection from an address: a web address without a password, and
// never http after https.
func Follow(from *url.URL, location string) (*url.URL, error) {
	u, err := from.Parse(location)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errs.New(errs.Storage, "%q redirects to what is not a web address", from.Host)
	}
	if from.Scheme == "https" && u.Scheme == "http" {
		return nil, errs.New(errs.Denied, "%q redirects from https to http, which is not followed", from.Host)
	}
	if u.User != nil {
		return nil, errs.New(errs.Storage, "%q redirects to an address with a name or a password", from.Host)
	}
	return u, nil
}

func sameHost(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// open checks the head of an answer. It closes every response that it does not return.
func (c *Client) open(d *Dialect, rq *http.Request, rs *http.Response, off, n int64) (*body, error) {
	b := &body{client: c, rq: rq, host: rq.URL.Host, in: rs.Body, size: -1, tag: d.tag(rs.Header)}
	var err error
	switch {
	case rs.StatusCode == http.StatusOK && n == 0:
		b.size = rs.ContentLength
		if b.size >= 0 && off > b.size {
			err = ranges.Beyond(off, b.size)
		}
	case rs.StatusCode == http.StatusOK:
		b.length, b.size, err = answerOf(b.host, rs).Whole(off, n)
	case rs.StatusCode == http.StatusPartialContent && n != 0:
		b.length, b.size, err = answerOf(b.host, rs).Part(off, n)
	case rs.StatusCode == http.StatusRequestedRangeNotSatisfiable && n != 0:
		err = b.outside(rs, off)
	default:
		return nil, d.explain(c.Refusal(rq, rs))
	}
	if err == nil && d.Admit != nil {
		err = d.Admit(b.host, rs.Header)
	}
	if err != nil {
		rs.Body.Close() // and the connection: the rest in it is untrusted or long
		return nil, err
	}
	b.left = b.length
	return b, nil
}

func (d *Dialect) tag(h http.Header) string {
	if d.Tag != nil {
		return d.Tag(h)
	}
	return h.Get("Etag")
}

func (d *Dialect) explain(a *Response) error {
	if d.Explain != nil {
		return d.Explain(a)
	}
	return a.Identify(a.Explain())
}

// outside takes the answer to a range without a byte in the object.
func (b *body) outside(rs *http.Response, off int64) (err error) {
	_, _ = io.CopyN(io.Discard, rs.Body, maxText) // leaves the connection for the next
	rs.Body.Close()
	b.in = nil
	b.size, err = answerOf(b.host, rs).Outside(off)
	return err
}

func answerOf(host string, rs *http.Response) ranges.Answer {
	return ranges.Answer{Host: host, Length: rs.ContentLength, Range: rs.Header.Get("Content-Range")}
}
