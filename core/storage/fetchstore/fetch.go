//go:build js

package fetchstore

import (
	"context"
	"errors"
	"io"
	"strconv"
	"syscall/js"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// request is one fetch.
type request struct {
	url, method, ranges string
	fresh               bool // an answer in the browser's cache must be confirmed by the server
}

// response is the answer to a request, and the way to end it.
type response struct {
	js.Value
	status int
	stop   func()
	wait   func(promise js.Value) (js.Value, error) // until the context ends
	ended  func() error                             // why the context has ended; nil: it has not
}

// send returns when the answer has begun. No credentials of the browser go with it, and no address
// of the page.
func (r *request) send(ctx context.Context) (*response, error) {
	control := js.Global().Get("AbortController").New()
	headers := map[string]any{}
	if r.ranges != "" {
		headers["Range"] = r.ranges
	}
	cache := "default"
	if r.fresh {
		cache = "no-cache"
	}
	value, err := await(ctx, js.Global().Call("fetch", r.url, map[string]any{
		"method": r.method, "headers": headers, "signal": control.Get("signal"), "cache": cache,
		"credentials": "omit", "referrerPolicy": "no-referrer", "redirect": "follow",
	}))
	if err != nil {
		control.Call("abort")
		return nil, err
	}
	stop := func() { control.Call("abort") }
	wait := func(promise js.Value) (js.Value, error) { return await(ctx, promise) }
	return &response{value, value.Get("status").Int(), stop, wait, func() error { return context.Cause(ctx) }}, nil
}

// header returns a header, "" where there is none or the page may not see it.
func (r *response) header(name string) string {
	if v := r.Get("headers").Call("get", name); v.Type() == js.TypeString {
		return v.String()
	}
	return ""
}

// foreign reports whether headers may be hidden.
func (r *response) foreign() bool { return r.Get("type").String() == "cors" }

func (r *response) length() int64 {
	n, err := strconv.ParseInt(r.header("Content-Length"), 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// tag is the ETag, or the time of the last change where there is none, or it is hidden.
func (r *response) tag() string {
	if tag := r.header("ETag"); tag != "" {
		return tag
	}
	return r.header("Last-Modified")
}

// await waits for a promise. When ctx ends first, the promise is left alone.
func await(ctx context.Context, promise js.Value) (js.Value, error) {
	type result struct {
		value js.Value
		err   error
	}
	done := make(chan result, 1)
	var kept, broken js.Func
	settle := func(r result) any {
		kept.Release()
		broken.Release()
		done <- r
		return nil
	}
	kept = js.FuncOf(func(_ js.Value, args []js.Value) any { return settle(result{value: args[0]}) })
	broken = js.FuncOf(func(_ js.Value, args []js.Value) any {
		return settle(result{err: errors.New(args[0].Call("toString").String())})
	})
	promise.Call("then", kept, broken)
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return js.Undefined(), context.Cause(ctx)
	}
}

// body is the storage.Body of a response. One goroutine at a time reads it.
type body struct {
	in     *response // nil: nothing comes
	host   string
	reader js.Value // of the stream, from the first read on
	piece  js.Value // bytes that have come and were not read
	length int64    // bytes that were promised
	left   int64    // of them
	size   int64
	tag    string
	err    error // after it broke
}

var _ storage.Body = (*body)(nil)

// Read gives the promised bytes and then io.EOF.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if b.left == 0 {
		return 0, io.EOF
	}
	if b.piece.IsUndefined() {
		if b.err = b.next(); b.err != nil {
			return 0, b.err
		}
	}
	p = p[:min(int64(len(p)), b.left)]
	n := js.CopyBytesToGo(p, b.piece)
	if n == b.piece.Length() {
		b.piece = js.Undefined()
	} else {
		b.piece = b.piece.Call("subarray", n)
	}
	if b.left -= int64(n); b.left == 0 {
		b.in.stop()
	}
	return n, nil
}

// next waits for bytes. The end of the context ends the wait and the fetch.
func (b *body) next() error {
	if b.reader.IsUndefined() {
		b.reader = b.in.Get("body").Call("getReader")
	}
	got, err := b.in.wait(b.reader.Call("read"))
	if err == nil && got.Get("done").Bool() {
		err = io.ErrUnexpectedEOF
	}
	if cause := b.in.ended(); err != nil && cause != nil {
		b.in.stop()
		return errs.New(errs.Canceled, "%w", cause)
	}
	if err != nil {
		return &storage.Fault{Repeat: storage.Soon, Err: errs.New(errs.Storage,
			"connection to %q broke after %d of %d bytes: %w", b.host, b.length-b.left, b.length, err)}
	}
	b.piece = got.Get("value")
	return nil
}

// Close ends the fetch. It may be called again.
func (b *body) Close() error {
	if b.err == nil && b.left > 0 {
		b.err = errs.New(errs.Closed, "read of a body that was closed")
	}
	if b.in != nil {
		b.in.stop()
	}
	return nil
}

func (b *body) Len() int64  { return b.length }
func (b *body) Size() int64 { return b.size }
func (b *body) Tag() string { return b.tag }
