package request

import (
	"context"
	"errors"
	"io"
	"net/http"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// body is the storage.Body of a response. One goroutine at a time reads it.
type body struct {
	client *Client
	rq     *http.Request // its context covers the body
	host   string
	in     io.ReadCloser // nil: nothing comes
	length int64         // bytes that were promised
	left   int64         // of them
	size   int64
	tag    string
	err    error // after it broke
}

var _ storage.Body = (*body)(nil)

// Read gives the promised bytes and then io.EOF. It reads the end of the response together with the
// last byte: only then can the next request use the connection.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if b.left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.in.Read(p)
	b.left -= int64(n)
	if b.left == 0 {
		if err == nil {
			b.drain()
		}
		return n, nil
	}
	if err != nil {
		b.err = b.broken(err)
	}
	return n, b.err
}

// drain reads past the end. It ignores errors: the requested bytes are there, and a connection with
// more data in it is not used again.
func (b *body) drain() {
	var one [1]byte
	_, _ = b.in.Read(one[:])
}

func (b *body) broken(err error) error {
	if ctx := b.rq.Context(); ctx.Err() != nil {
		return errs.New(errs.Canceled, "%w", context.Cause(ctx))
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &storage.Fault{Repeat: storage.Soon, Err: errs.New(errs.Storage,
		"connection to %q broke after %d of %d bytes: %w", b.host, b.length-b.left, b.length, b.client.CleanError(rootOf(err)))}
}

// Close gives the connection back, or drops it if the answer was not read to its end. It may be
// called again.
func (b *body) Close() error {
	if b.err == nil && b.left > 0 {
		b.err = errs.New(errs.Closed, "read of a body that was closed")
	}
	if b.in == nil {
		return nil
	}
	return b.in.Close()
}

func (b *body) Len() int64  { return b.length }
func (b *body) Size() int64 { return b.size }
func (b *body) Tag() string { return b.tag }

// MaxAnswer bounds the body of an answer that an SDK reads as a whole. A page of 1,000 objects with
// the longest names takes 4 MiB.
const MaxAnswer = 16 << 20

// Bound makes the body of rs fail beyond MaxAnswer bytes.
func Bound(rs *http.Response) { rs.Body = &bounded{rs.Body, MaxAnswer} }

type bounded struct {
	io.ReadCloser
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errs.New(errs.Storage, "an answer of the store is longer than %d MiB; check the endpoint", MaxAnswer>>20)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
