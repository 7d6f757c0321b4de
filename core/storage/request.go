package storage

import (
	"context"
	"fmt"
	"io"
	"time"
)

// Ranger is implemented by providers whose reads are requests over a network. Decorators need it to
// ask twice and take whichever answers first, to watch a body, and to go on with one that broke
// off.
type Ranger interface {
	// Range asks for n bytes from offset off (n < 0: all that follow) and returns when the answer
	// has begun. tag is the Tag that the object must have, "" for any; an object with another one
	// is errs.Conflict. Bytes that begin at the end or behind it are errs.Corrupt, but for those
	// from the first on of an object that is empty; no bytes may be requested at the end. ctx
	// covers the body too. When it ends Range returns at once: its caller has no other way to leave
	// it.
	Range(ctx context.Context, key string, off, n int64, tag string) (Body, error)
}

// Body is the content of an answer: Read gives exactly Len bytes and then io.EOF; a body that
// breaks off is an error with a Fault. Close may be called early.
type Body interface {
	io.ReadCloser
	// Len is the number of bytes requested, fewer where the object ends before.
	Len() int64
	// Size is the number of bytes of the whole object, -1 where the store does not say.
	Size() int64
	// Tag tells versions of the content apart (an ETag, a generation); "" where the store gives
	// none.
	Tag() string
}

// NoRanges is found by errors.As in the error of a server that answers requests for parts with
// whole objects: no part of a large object can be read there.
type NoRanges struct{ Host string }

func (e *NoRanges) Error() string {
	return fmt.Sprintf("%q answers a request for a part with the whole object; use a server that supports ranges", e.Host)
}

// Repeat says whether and when a failed request may be repeated.
type Repeat uint8

// The kinds of Repeat. An error without a Fault is final.
const (
	// a broken connection, a fault of the server: a new request may well succeed
	Soon    Repeat = iota + 1
	Later          // the store asks for fewer requests: wait, and send less
	Refresh        // the credentials have expired: once more with fresh ones
)

// Fault is found by errors.As in the error of a request that is worth repeating.
type Fault struct {
	Repeat Repeat
	Wait   time.Duration // that the store requested; 0: none
	Err    error
}

func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap gives the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Retryable reports that another request may succeed. errs.FieldsOf asks for it.
func (f *Fault) Retryable() bool { return true }

// Copier is implemented by providers that can copy an object within the store, without moving its
// bytes through here.
type Copier interface {
	// CopyFrom copies srcKey of src to key, visible and durable as after Put. done is false where
	// src is not a provider of the same store, or this object cannot be copied there; nothing has
	// happened then.
	CopyFrom(ctx context.Context, src Provider, srcKey, key string) (done bool, err error)
}

// Source holds objects that others write: under any name, and with content that may change.
// All methods may be called in parallel.
type Source interface {
	Ranger
	// Objects calls fn for every object whose name starts with prefix and is greater than after (""
	// for all), in byte order of names where the store lists so, until fn returns false. It holds
	// one page of the listing at a time.
	Objects(ctx context.Context, prefix, after string, fn func(Entry) bool) error
	// URI is the address that opens the source again. Secrets are not part of it.
	URI() string
	// Close releases connections.
	Close() error
}

// Entry is one object of a Source.
type Entry struct {
	Key      string // any bytes
	Size     int64  // -1: not known
	Tag      string // as Body.Tag; "" where the listing has none
	Modified time.Time
}

// SourceOpener opens the part of a URI behind "scheme://" as a Source.
type SourceOpener func(ctx context.Context, rest string, o Options) (Source, error)

// Sources maps a URI scheme to its opener, as Registry does for providers.
type Sources map[string]SourceOpener

// Open finds the scheme of uri and opens it. A uri without "://" is a path of the "file" scheme.
func (s Sources) Open(ctx context.Context, uri string, o Options) (Source, error) {
	scheme, rest := split(uri)
	open, ok := s[scheme]
	if !ok {
		return nil, unknownScheme(uri, scheme, s)
	}
	return open(ctx, rest, o)
}
