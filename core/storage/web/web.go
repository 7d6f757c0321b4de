// Package web owns the rules for datasets below a URL: the URL of an object, reads by ranges, and
// that nothing can be written or listed. It sends no requests itself.
package web

import (
	"context"
	"io"
	"net/url"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// trustBytes bounds the memory that is allocated by the length that a server names.
const trustBytes = 64 << 20

// Site asks one server.
type Site interface {
	// Base is the URL that objects lie below.
	Base() *url.URL
	// URI is Base without its secrets.
	URI() string
	// Admit refuses calls after Close, and those whose context has ended.
	Admit(ctx context.Context, op, object string) error
	// Ask requests a part of the object at u; storage.Ranger.
	Ask(ctx context.Context, key string, u *url.URL, off, n int64, tag string) (storage.Body, error)
	// Close ends the use of the server.
	Close() error
}

// Provider reads the objects of a dataset below a URL. All methods may be called in parallel.
type Provider struct{ Site }

var (
	_ storage.Provider = Provider{}
	_ storage.Ranger   = Provider{}
	_ storage.Streamer = Provider{}
)

func (p Provider) admit(ctx context.Context, op, key string) error {
	if err := p.Admit(ctx, op, key); err != nil {
		return err
	}
	return errs.Wrap(errs.Invalid, op, "", storage.CheckKey(key))
}

// at is the URL of key, every byte of which is part of the path.
func (p Provider) at(key string) *url.URL {
	u := *p.Base()
	u.RawPath = strings.TrimRight(u.EscapedPath(), "/") + "/" + Escape(key)
	u.Path = strings.TrimRight(u.Path, "/") + "/" + key
	return &u
}

// Escape returns a path with everything escaped that is no part of a path in a URL.
func Escape(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}

// Range asks for a part of the object; storage.Ranger.
func (p Provider) Range(ctx context.Context, key string, off, n int64, tag string) (storage.Body, error) {
	if err := p.admit(ctx, "read", key); err != nil {
		return nil, err
	}
	return p.Ask(ctx, key, p.at(key), off, n, tag)
}

// ReadAt fills dst; storage.Provider.
func (p Provider) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	b, err := p.Range(ctx, key, off, int64(len(dst)), "")
	if err != nil {
		return err
	}
	defer b.Close()
	if b.Len() < int64(len(dst)) {
		return errs.Op("read", key).New(errs.Corrupt, "object is truncated (got %d bytes at offset %d, want %d)", b.Len(), off, len(dst))
	}
	_, err = io.ReadFull(b, dst)
	return errs.Wrap(errs.Storage, "read", key, err)
}

// Get returns the whole object; storage.Provider.
func (p Provider) Get(ctx context.Context, key string) ([]byte, error) {
	b, err := p.Range(ctx, key, 0, -1, "")
	if err != nil {
		return nil, err
	}
	defer b.Close()
	data := make([]byte, 0, min(b.Len(), trustBytes))
	for int64(len(data)) < b.Len() {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := io.ReadFull(b, data[len(data):min(int64(cap(data)), b.Len())])
		data = data[:len(data)+n]
		if err != nil {
			return nil, errs.Wrap(errs.Storage, "read", key, err)
		}
	}
	return data, nil
}

// refuse is the answer to everything that writes.
func (p Provider) refuse(ctx context.Context, op, key string) error {
	if err := p.admit(ctx, op, key); err != nil {
		return err
	}
	return errs.Op(op, key).New(errs.ReadOnly, "%q is a web address, which is for reading; copy the dataset to a store that can be written", p.URI())
}

// Put is refused: errs.ReadOnly.
func (p Provider) Put(ctx context.Context, key string, _ []byte) error {
	return p.refuse(ctx, "put", key)
}

// PutIfAbsent is refused: errs.ReadOnly.
func (p Provider) PutIfAbsent(ctx context.Context, key string, _ []byte) error {
	return p.refuse(ctx, "put-if-absent", key)
}

// Create is refused: errs.ReadOnly.
func (p Provider) Create(ctx context.Context, key string) (storage.Stream, error) {
	return nil, p.refuse(ctx, "create", key)
}

// Delete is refused: errs.ReadOnly.
func (p Provider) Delete(ctx context.Context, keys ...string) error {
	if len(keys) == 0 {
		return nil
	}
	return p.refuse(ctx, "delete", keys[0])
}

// List is refused: errs.Unsupported, since the web has no way to list.
func (p Provider) List(ctx context.Context, prefix, _ string, _ func(storage.Object) bool) error {
	if err := p.Admit(ctx, "list", prefix); err != nil {
		return err
	}
	return errs.Op("list", p.URI()+"/"+prefix).New(errs.Unsupported, "a web server does not list what it has; use the store behind it (s3://, gs://), or a copy")
}
