// Package storage owns the contract between datasets and stores: Provider, key rules, and the table
// of URI schemes. It never looks into the bytes. It neither retries nor caches: decorators do.
package storage

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"deeplake/core/errs"
)

// Provider keeps immutable objects under keys. All methods may be called in parallel. Errors are
// classified by errs.Kind and name the key; a missing object is errs.NotFound, a store that fails
// is errs.Storage.
type Provider interface {
	// Get returns the whole object. The slice is the caller's.
	Get(ctx context.Context, key string) ([]byte, error)

	// ReadAt fills all of dst from offset off of the object. An object that ends before is
	// errs.Corrupt (objects are immutable, hence truncated). On error the content of dst is
	// undefined.
	ReadAt(ctx context.Context, key string, dst []byte, off int64) error

	// Put stores data under a key that no other writer uses; readers see all of it or nothing. It
	// may be durable only when a later PutIfAbsent of the same Provider has returned.
	Put(ctx context.Context, key string, data []byte) error

	// PutIfAbsent stores data unless the key exists (errs.Exists). It is the one atomic operation:
	// of several callers, in any process, exactly one succeeds. When it returns nil, data and every
	// earlier Put are durable. Where answers can be lost, errs.Exists may speak of this very call,
	// and after any other error the object may stand: callers who must know read it back. With a
	// NotDurable in the error the object stands for every reader, and a crash of the machine may
	// take it away: the same call again makes it durable, and is errs.Exists then.
	PutIfAbsent(ctx context.Context, key string, data []byte) error

	// List calls fn in byte order of keys for every object whose key starts with prefix and is
	// greater than after ("" for all), until fn returns false. prefix is "" or ends with "/".
	List(ctx context.Context, prefix, after string, fn func(Object) bool) error

	// Delete removes objects; missing ones are no error.
	Delete(ctx context.Context, keys ...string) error

	// URI is the address that opens this provider again. Secrets are not part of it.
	URI() string

	// Close releases descriptors and connections. Calls after it are errs.Closed.
	Close() error
}

// Streamer is implemented by providers that take an object piece by piece, so that a writer needs
// no memory for it.
type Streamer interface {
	// Create begins an object. Nothing is visible before Finish has returned nil.
	Create(ctx context.Context, key string) (Stream, error)
}

// Stream is one object being written, by one goroutine at a time.
type Stream interface {
	// Write appends p. It does not keep p.
	Write(p []byte) (int, error)
	// Finish makes the object visible, durable as after Put.
	Finish(ctx context.Context) error
	// Abort drops the object. After Finish it does nothing.
	Abort()
}

// Located is implemented by providers whose objects several URIs reach.
type Located interface {
	// Location identifies the objects: all URIs that reach them give the same one, while they
	// exist.
	Location() string
}

// Location identifies the objects of p, by its URI if p is not Located. Two providers of one
// location reach the same objects.
func Location(p Provider) string {
	if at, ok := As[Located](p); ok {
		return at.Location()
	}
	return p.URI()
}

// NoBucket is found by errors.As in an errs.NotFound that is about the bucket, so that it does not
// pass for one about an object.
type NoBucket struct{ Err error }

func (n *NoBucket) Error() string { return n.Err.Error() }

// Unwrap gives the cause.
func (n *NoBucket) Unwrap() error { return n.Err }

// NotDurable is found by errors.As in the error of a PutIfAbsent whose object stands but may not
// outlive a crash.
type NotDurable struct{ Err error }

func (n *NotDurable) Error() string { return n.Err.Error() }

// Unwrap gives the cause.
func (n *NotDurable) Unwrap() error { return n.Err }

// Object is one entry of a listing.
type Object struct {
	Key  string
	Size int64
	// Modified is when the object got its content, by the clock of the store; the zero time where
	// the store does not say.
	Modified time.Time
}

// Sweeper is implemented by providers that can leave behind something that is no object when a
// writer is killed: a temporary file, parts of an upload.
type Sweeper interface {
	// Sweep removes such leftovers that were not touched since before, and returns their number and
	// bytes. With dry it removes nothing.
	Sweep(ctx context.Context, before time.Time, dry bool) (n, bytes int64, err error)
}

// MaxKeyBytes bounds a key.
const MaxKeyBytes = 900

// CheckKey verifies the key rules: relative, "/"-separated, no empty part, no part that is "." or
// "..", at most MaxKeyBytes bytes of UTF-8 without control characters and "\". No key may be the
// directory of another.
func CheckKey(key string) error {
	if key == "" || len(key) > MaxKeyBytes {
		return errs.New(errs.Invalid, "key %q: has %d bytes, want 1 to %d", key, len(key), MaxKeyBytes)
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "" || part == "." || part == ".." {
			return errs.New(errs.Invalid, "key %q: part %q is not allowed", key, part)
		}
	}
	if !utf8.ValidString(key) {
		return errs.New(errs.Invalid, "key %q: it is not UTF-8", key)
	}
	for _, c := range key {
		if c == '\\' || !unicode.IsGraphic(c) {
			return errs.New(errs.Invalid, "key %q: character %U is not allowed", key, c)
		}
	}
	return nil
}

// Create begins an object on p. It is streamed if p is a Streamer, else collected in memory and Put
// by Finish. Decorators are Streamers that call Create on the provider below.
func Create(ctx context.Context, p Provider, key string) (Stream, error) {
	if s, ok := p.(Streamer); ok {
		return s.Create(ctx, key)
	}
	return &buffered{p: p, key: key}, nil
}

// buffered is the Stream of a provider that takes whole objects only.
type buffered struct {
	p    Provider
	key  string
	data []byte
	done bool // finished or aborted
}

func (b *buffered) Write(p []byte) (int, error) {
	if b.done {
		return 0, b.ended("write")
	}
	b.data = append(b.data, p...)
	return len(p), nil
}

func (b *buffered) Finish(ctx context.Context) error {
	if b.done {
		return b.ended("finish")
	}
	data := b.data
	b.Abort()
	return b.p.Put(ctx, b.key, data)
}

func (b *buffered) Abort() { b.data, b.done = nil, true }

func (b *buffered) ended(op string) error {
	return errs.Op(op, b.key).New(errs.Closed, "the stream was finished or aborted")
}

// Opener opens a provider for the part of a URI behind "scheme://".
type Opener func(ctx context.Context, rest string, o Options) (Provider, error)

// Registry maps a URI scheme ("file", "mem") to its opener. It is a value, passed down by the
// main program.
type Registry map[string]Opener

// Open finds the scheme of uri and opens its provider. A uri without "://" is a path of the "file"
// scheme.
func (r Registry) Open(ctx context.Context, uri string, o Options) (Provider, error) {
	scheme, rest := split(uri)
	open, ok := r[scheme]
	if !ok {
		return nil, unknownScheme(uri, scheme, r)
	}
	return open(ctx, rest, o)
}

func split(uri string) (scheme, rest string) {
	scheme, rest, found := strings.Cut(uri, "://")
	if !found {
		return "file", uri
	}
	return scheme, rest
}

func unknownScheme[O any](uri, scheme string, known map[string]O) error {
	if scheme == "hub" || scheme == "al" {
		return errs.Op("open", uri).New(errs.Unsupported, "%s:// names datasets of a hosted service of another company; copy the bucket or the folder with its files, and open that by its address", scheme)
	}
	names := slices.Sorted(maps.Keys(known))
	return errs.Op("open", uri).New(errs.Unsupported, "no storage provider for scheme %q (want one of %v)%s", scheme, names, errs.Suggest(scheme, names))
}
