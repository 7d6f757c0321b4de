package gcs

import (
	"bytes"
	"context"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// Get returns the whole object.
func (p *Provider) Get(ctx context.Context, key string) ([]byte, error) {
	const op = "get"
	if err := p.admit(ctx, op, key); err != nil {
		return nil, err
	}
	b, err := p.open(ctx, op, key, 0, -1, "")
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if b.Len() > MaxWholeBytes {
		return nil, errs.Op("get", key).New(errs.Corrupt, "object in %q has %d bytes, want at most %d", p.URI(), b.Len(), MaxWholeBytes)
	}
	// The length that the store names is believed up to a bound; ReadFrom needs a little room to
	// see the end.
	data := bytes.NewBuffer(make([]byte, 0, min(b.Len(), trustBytes)+bytes.MinRead))
	if _, err := data.ReadFrom(b); err != nil {
		return nil, errs.Wrap(errs.Storage, op, key, err)
	}
	return data.Bytes(), nil
}

// ReadAt fills dst by one request, straight from the connection.
func (p *Provider) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	const op = "read"
	if err := p.admit(ctx, op, key); err != nil {
		return err
	}
	if off < 0 {
		return errs.Op("read", key).New(errs.Invalid, "offset %d is negative", off)
	}
	if off > math.MaxInt64-int64(len(dst)) {
		return errs.Op("read", key).New(errs.Corrupt, "object is truncated (want %d bytes at offset %d)", len(dst), off)
	}
	b, err := p.open(ctx, op, key, off, int64(len(dst)), "")
	if err != nil {
		return err
	}
	defer b.Close()
	if b.Len() < int64(len(dst)) {
		return errs.Op("read", key).New(errs.Corrupt, "object is truncated (got %d bytes at offset %d, want %d)", b.Len(), off, len(dst))
	}
	_, err = io.ReadFull(b, dst)
	return errs.Wrap(errs.Storage, op, key, err)
}

// Range asks for a part of the object; the tag is its generation.
func (p *Provider) Range(ctx context.Context, key string, off, n int64, tag string) (storage.Body, error) {
	if err := p.admit(ctx, "read", key); err != nil {
		return nil, err
	}
	return p.open(ctx, "read", key, off, n, tag)
}

// Range asks for a part of the object; the tag is its generation.
func (s *Source) Range(ctx context.Context, key string, off, n int64, tag string) (storage.Body, error) {
	if err := s.admit(ctx, "read", key); err != nil {
		return nil, err
	}
	return s.open(ctx, "read", key, off, n, tag)
}

// open begins a range request.
func (p *root) open(ctx context.Context, op, key string, off, n int64, tag string) (storage.Body, error) {
	if n == 0 {
		return p.openEmpty(ctx, op, key, off, tag)
	}
	b, err := p.client.net.Get(ctx, p.client.dialect, p.download(key), off, n, tag)
	if err != nil {
		return nil, p.readError(ctx, op, key, err)
	}
	if b.Tag() == "" && b.Len() > 0 { // a refusal of a range behind the end has none
		b.Close()
		return nil, errs.Op(op, key).New(errs.Storage, "%q does not answer as Google Cloud Storage; check the endpoint", p.client.base.Host)
	}
	p.seen.Store(true)
	return b, nil
}

// openEmpty requests the metadata of the object: HTTP has no range without a byte, and downloads
// have no HEAD.
func (p *root) openEmpty(ctx context.Context, op, key string, off int64, tag string) (storage.Body, error) {
	if off < 0 {
		return nil, errs.Op(op, key).New(errs.Invalid, "offset %d is negative", off)
	}
	attrs, err := p.object(key).Attrs(ctx)
	if err != nil {
		return nil, p.readError(ctx, op, key, p.sdkError(ctx, err))
	}
	p.seen.Store(true)
	e := &empty{size: attrs.Size, tag: strconv.FormatInt(attrs.Generation, 10)}
	switch {
	case tag != "" && tag != e.tag:
		return nil, errs.Op(op, key).New(errs.Conflict, "the object has changed (its tag is %q, want %q)", e.tag, tag)
	case off > e.size:
		return nil, errs.Op(op, key).New(errs.Corrupt, "object is truncated (has %d bytes, want some at offset %d)", e.size, off)
	}
	return e, nil
}

// empty is a storage.Body without a byte.
type empty struct {
	size int64
	tag  string
}

func (*empty) Read([]byte) (int, error) { return 0, io.EOF }
func (*empty) Close() error             { return nil }
func (*empty) Len() int64               { return 0 }
func (e *empty) Size() int64            { return e.size }
func (e *empty) Tag() string            { return e.tag }

// download is the request for the bytes of an object, as they are stored.
func (p *root) download(key string) *http.Request {
	c := p.client
	query := url.Values{"alt": {"media"}}
	if c.project != "" {
		query.Set("userProject", c.project)
	}
	u := *c.base
	base := u.Path
	name := p.prefix + key
	u.Path = base + "/download/storage/v1/b/" + p.bucket + "/o/" + name
	u.RawPath = (&url.URL{Path: base}).EscapedPath() + "/download/storage/v1/b/" + p.bucket + "/o/" + url.PathEscape(name)
	u.RawQuery = query.Encode()
	h := make(http.Header, 4)
	// Without it the store unpacks objects that were uploaded as gzip, and ignores ranges.
	h["Accept-Encoding"] = []string{"gzip"}
	if c.customer != nil {
		for k, v := range c.customer.header {
			h[k] = v
		}
	}
	return &http.Request{Method: http.MethodGet, URL: &u, Header: h, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Host: u.Host}
}

func generation(h http.Header) string { return h.Get("X-Goog-Generation") }

// requireGeneration adds the condition to the query, which is the request's own.
func requireGeneration(rq *http.Request, tag string) {
	u := *rq.URL
	u.RawQuery += "&ifGenerationMatch=" + url.QueryEscape(tag)
	rq.URL = &u
}
