package storagetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// Lake is a storage.Source in memory, of objects that a test puts there, changes and takes away.
// All methods may be called in parallel.
type Lake struct {
	// Delay passes before a request is answered.
	Delay time.Duration
	// Fail may give a request its error.
	Fail func(key string, off, n int64) error
	// Untagged lakes give no tags.
	Untagged bool

	Listings atomic.Int64 // pages of a thousand
	Requests atomic.Int64 // ranges
	Bytes    atomic.Int64 // given out
	InFlight atomic.Int64
	Peak     atomic.Int64 // most requests at once

	mu      sync.Mutex
	objects map[string]lakeObject
	names   []string // sorted; nil: to be made
	changes int64
}

type lakeObject struct {
	data []byte
	tag  string
}

var _ storage.Source = (*Lake)(nil)

// Put stores an object under a fresh tag.
func (l *Lake) Put(key string, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.objects == nil {
		l.objects = map[string]lakeObject{}
	}
	l.changes++
	o := lakeObject{data: data}
	if !l.Untagged {
		o.tag = fmt.Sprintf("\"%d\"", l.changes)
	}
	l.objects[key], l.names = o, nil
}

// Remove takes an object away.
func (l *Lake) Remove(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.objects, key)
	l.names = nil
}

// Open is a storage.SourceOpener of the lake; the part of the URI behind the first "/" is a prefix.
func (l *Lake) Open(_ context.Context, rest string, _ storage.Options) (storage.Source, error) {
	bucket, prefix, _ := strings.Cut(rest, "/")
	if prefix != "" && !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	return &lakeView{Lake: l, bucket: bucket, prefix: prefix}, nil
}

// lakeView is a lake below a prefix.
type lakeView struct {
	*Lake
	bucket, prefix string
}

func (v *lakeView) URI() string {
	return strings.TrimSuffix("lake://"+v.bucket+"/"+v.prefix, "/")
}

func (v *lakeView) Objects(ctx context.Context, prefix, after string, fn func(storage.Entry) bool) error {
	if after != "" {
		after = v.prefix + after
	}
	return v.Lake.Objects(ctx, v.prefix+prefix, after, func(e storage.Entry) bool {
		e.Key = strings.TrimPrefix(e.Key, v.prefix)
		return fn(e)
	})
}

func (v *lakeView) Range(ctx context.Context, key string, off, n int64, tag string) (storage.Body, error) {
	return v.Lake.Range(ctx, v.prefix+key, off, n, tag)
}

// URI names the lake.
func (l *Lake) URI() string { return "lake://test" }

// Close does nothing.
func (l *Lake) Close() error { return nil }

// Objects lists in byte order.
func (l *Lake) Objects(ctx context.Context, prefix, after string, fn func(storage.Entry) bool) error {
	l.mu.Lock()
	if l.names == nil {
		for name := range l.objects {
			l.names = append(l.names, name)
		}
		slices.Sort(l.names)
	}
	names := l.names
	l.mu.Unlock()
	i, found := slices.BinarySearch(names, max(prefix, after))
	if found && after >= prefix {
		i++
	}
	for listed := 0; i < len(names) && strings.HasPrefix(names[i], prefix); i++ {
		if listed%1000 == 0 {
			l.Listings.Add(1)
			if err := l.wait(ctx); err != nil {
				return err
			}
		}
		listed++
		l.mu.Lock()
		o, ok := l.objects[names[i]]
		l.mu.Unlock()
		if ok && !fn(storage.Entry{Key: names[i], Size: int64(len(o.data)), Tag: o.tag}) {
			return nil
		}
	}
	return nil
}

func (l *Lake) wait(ctx context.Context) error {
	if l.Delay > 0 {
		timer := time.NewTimer(l.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return errs.Wrap(errs.Canceled, "read", "lake", ctx.Err())
	}
	return nil
}

// Range answers after Delay.
func (l *Lake) Range(ctx context.Context, key string, off, n int64, tag string) (storage.Body, error) {
	l.Requests.Add(1)
	now := l.InFlight.Add(1)
	defer l.InFlight.Add(-1)
	for peak := l.Peak.Load(); now > peak && !l.Peak.CompareAndSwap(peak, now); peak = l.Peak.Load() {
	}
	if err := l.wait(ctx); err != nil {
		return nil, err
	}
	if l.Fail != nil {
		if err := l.Fail(key, off, n); err != nil {
			return nil, err
		}
	}
	l.mu.Lock()
	o, ok := l.objects[key]
	l.mu.Unlock()
	size := int64(len(o.data))
	switch {
	case !ok:
		return nil, errs.Op("read", key).New(errs.NotFound, "there is no such object")
	case tag != "" && tag != o.tag:
		return nil, errs.Op("read", key).New(errs.Conflict, "it has changed (tag %q, want %q)", o.tag, tag)
	case off > size || off == size && n != 0 && size > 0:
		return nil, errs.Op("read", key).New(errs.Corrupt, "it has %d bytes, want some from %d on", size, off)
	}
	end := size
	if n >= 0 {
		end = min(size, off+n)
	}
	l.Bytes.Add(end - off)
	return &lakeBody{Reader: bytes.NewReader(o.data[off:end]), n: end - off, size: size, tag: o.tag}, nil
}

type lakeBody struct {
	io.Reader
	n, size int64
	tag     string
}

func (b *lakeBody) Close() error { return nil }
func (b *lakeBody) Len() int64   { return b.n }
func (b *lakeBody) Size() int64  { return b.size }
func (b *lakeBody) Tag() string  { return b.tag }
