package s3

import (
	"context"
	"errors"
	"io"
	"net/http"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// trustBytes bounds the memory that is allocated by the length that a store names.
const trustBytes = 64 << 20

// Range asks for a part of the object; storage.Ranger.
func (p *Provider) Range(ctx context.Context, key string, off, n int64, tag string) (storage.Body, error) {
	if err := p.admit(ctx, "read", key); err != nil {
		return nil, err
	}
	return p.ranged(ctx, key, off, n, tag)
}

// Range asks for a part of the object called name, any bytes; storage.Ranger.
func (s *Source) Range(ctx context.Context, name string, off, n int64, tag string) (storage.Body, error) {
	if err := s.admit(ctx, "read", name); err != nil {
		return nil, err
	}
	if name == "" {
		return nil, errs.Op("read", "").New(errs.Invalid, "the name is empty")
	}
	return s.ranged(ctx, name, off, n, tag)
}

func (p *part) ranged(ctx context.Context, name string, off, n int64, tag string) (storage.Body, error) {
	rq := p.request(http.MethodGet, p.where.Load().url(p.prefix+name))
	p.unlock(rq.Header)
	b, err := p.net.Get(ctx, &p.read, rq, off, n, tag)
	if err != nil {
		return nil, errs.Wrap(errs.Storage, "read", name, p.bucketFirst(ctx, err, n == 0))
	}
	p.seen.Store(true)
	return b, nil
}

// bucketFirst requests the bucket if an answer leaves the reason open: answers to HEAD have no
// text, and a missing object may mean a missing bucket until the bucket has answered once.
func (p *part) bucketFirst(ctx context.Context, err error, headOnly bool) error {
	var missing *missingBucket
	unclear := errs.Is(err, errs.NotFound) && !p.seen.Load() || errs.Is(err, errs.Denied) && headOnly
	if !unclear || errors.As(err, &missing) {
		return err
	}
	if _, listErr := p.page(ctx, "", "", nil, 1); errs.Is(listErr, errs.Denied) || errors.As(listErr, &missing) {
		return listErr
	}
	return err
}

// ReadAt fills dst; storage.Provider.
func (p *Provider) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
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
func (p *Provider) Get(ctx context.Context, key string) ([]byte, error) {
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
