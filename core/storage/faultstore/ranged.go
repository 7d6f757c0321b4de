package faultstore

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"time"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// Ranged is a Store that reads as one across a network does. The tag of an object is a hash of its
// content.
type Ranged struct{ *Store }

var (
	_ storage.Provider = (*Ranged)(nil)
	_ storage.Ranger   = (*Ranged)(nil)
)

// NewRanged wraps inner, which need not be a storage.Ranger.
func NewRanged(inner storage.Provider, plan Plan) *Ranged { return &Ranged{New(inner, plan)} }

// Range is one call; reading its body is none. The object is that of the time of the call.
func (s *Ranged) Range(ctx context.Context, key string, off, n int64, tag string) (storage.Body, error) {
	var b *body
	err := s.around(ctx, Call{Range, key, int(n)}, func(h hit) error {
		data, err := s.inner.Get(ctx, key)
		if err != nil {
			return err
		}
		b = &body{ctx: ctx, key: key, tag: tagOf(data), breakAt: -1, stallAt: -1}
		if h.read != nil {
			data, _ = h.read(data, 0)
		}
		if h.body != nil {
			h.body(b)
		}
		if tag != "" && tag != b.tag {
			return errs.Op("read range", key).New(errs.Conflict, "tag is %q, want %q", b.tag, tag)
		}
		return b.cut(data, off, n)
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

func tagOf(data []byte) string {
	return strconv.FormatUint(uint64(crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))), 16)
}

// body gives a range as its action says.
type body struct {
	ctx     context.Context
	key     string
	tag     string
	data    []byte
	size    int64
	pos     int64
	breakAt int64
	stallAt int64
	pace    int64 // bytes per second
	closed  bool
}

func (b *body) cut(data []byte, off, n int64) error {
	b.size = int64(len(data))
	if off < 0 {
		return errs.Op("read range", b.key).New(errs.Invalid, "offset %d is negative", off)
	}
	if off > b.size || off == b.size && n != 0 && off > 0 {
		return errs.Op("read range", b.key).New(errs.Corrupt, "begins at %d, behind the end of %d bytes", off, b.size)
	}
	b.data = data[off:]
	if n >= 0 && n < int64(len(b.data)) {
		b.data = b.data[:n]
	}
	return nil
}

func (b *body) Read(p []byte) (int, error) {
	if b.closed {
		return 0, errs.Op("read range", b.key).New(errs.Closed, "body was closed")
	}
	if err := b.ctx.Err(); err != nil {
		return 0, errs.Wrap(errs.Canceled, string(Range), b.key, err)
	}
	end := b.Len()
	for _, at := range []int64{b.breakAt, b.stallAt} {
		if at >= 0 {
			end = min(end, at)
		}
	}
	switch {
	case b.pos < end:
	case b.pos == b.breakAt:
		return 0, &storage.Fault{Repeat: storage.Soon, Err: errs.Wrap(errs.Storage, string(Range), b.key,
			fmt.Errorf("broke after %d bytes (injected fault)", b.pos))}
	case b.pos == b.stallAt:
		<-b.ctx.Done()
		return 0, errs.Wrap(errs.Canceled, string(Range), b.key, b.ctx.Err())
	default:
		return 0, io.EOF
	}
	if b.pace > 0 {
		p = p[:min(int64(len(p)), max(1, b.pace/10))]
		if err := (Action{delay: time.Second / 10}).wait(b.ctx, Call{Op: Range, Key: b.key}); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.data[b.pos:end])
	b.pos += int64(n)
	return n, nil
}

func (b *body) Close() error { b.closed = true; return nil }
func (b *body) Len() int64   { return int64(len(b.data)) }
func (b *body) Size() int64  { return b.size }
func (b *body) Tag() string  { return b.tag }

// Source is a storage.Source with the faults of a Ranged: its objects are those of the provider.
type Source struct {
	*Ranged
	Untagged bool // as a source that gives no tags
}

var _ storage.Source = (*Source)(nil)

// Range is one call.
func (s *Source) Range(ctx context.Context, key string, off, n int64, tag string) (storage.Body, error) {
	b, err := s.Ranged.Range(ctx, key, off, n, tag)
	if err != nil {
		return nil, err
	}
	if s.Untagged {
		return untagged{b}, nil
	}
	return b, nil
}

type untagged struct{ storage.Body }

func (untagged) Tag() string { return "" }

// Objects is one call, a List.
func (s *Source) Objects(ctx context.Context, prefix, after string, fn func(storage.Entry) bool) error {
	return s.List(ctx, prefix, after, func(o storage.Object) bool {
		return fn(storage.Entry{Key: o.Key, Size: o.Size, Modified: o.Modified})
	})
}
