package v3

import (
	"context"
	"io"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

const (
	// headBytes is the part of a chunk that is read at first: most headers are smaller.
	headBytes = 64 << 10
	// maxObject bounds a chunk that is read as a whole.
	maxObject = 1 << 31
)

// object is a chunk of Deep Lake 3 of which the header was read.
type object struct {
	store  storage.Provider
	key    string
	size   int64
	tag    string // of its content; "": the store has none
	header *header
	head   []byte // the bytes of the header, and maybe more
}

// openObject reads the header of a chunk.
func openObject(ctx context.Context, p storage.Provider, key string) (*object, error) {
	o := &object{store: p, key: key}
	err := o.read(ctx)
	if errs.Is(err, errs.NotFound) {
		err = errs.Op("read chunk", key).New(errs.Corrupt, "the index names it and it is missing: the last write was cut short; open an older commit")
	}
	if err != nil {
		return nil, errs.Wrap(errs.Corrupt, "read chunk", key, err)
	}
	return o, nil
}

func (o *object) read(ctx context.Context) error {
	if err := o.first(ctx); err != nil {
		return err
	}
	for {
		want, err := headerBytes(o.head)
		switch {
		case err != nil:
			return err
		case want == 0 && int64(len(o.head)) == o.size || want > o.size:
			return errs.New(errs.Corrupt, "its header of %d bytes is cut: it has %d bytes", want, o.size)
		case want > 0 && want <= int64(len(o.head)):
			o.header, err = decodeHeader(o.head)
			return err
		}
		if want == 0 { // the table of shapes is long: its length is known with more bytes
			want = min(o.size, 4*int64(len(o.head)))
		}
		have := int64(len(o.head))
		o.head = append(o.head, make([]byte, want-have)...)
		if err := o.store.ReadAt(ctx, o.key, o.head[have:], have); err != nil {
			return err
		}
	}
}

// first reads the first bytes, and learns the size.
func (o *object) first(ctx context.Context) error {
	if r, ok := storage.As[storage.Ranger](o.store); ok {
		b, err := r.Range(ctx, o.key, 0, headBytes, "")
		if err != nil {
			return err
		}
		defer b.Close()
		o.size, o.tag = b.Size(), b.Tag()
		if o.head, err = io.ReadAll(b); err != nil {
			return err
		}
		if o.size >= 0 {
			return nil
		}
	}
	if m, ok := storage.As[storage.Mapper](o.store); ok {
		if at, err := m.Map(ctx, o.key); err == nil {
			o.size = int64(len(at.Data))
			o.head = make([]byte, min(headBytes, o.size))
			return o.store.ReadAt(ctx, o.key, o.head, 0)
		}
	}
	data, err := o.store.Get(ctx, o.key)
	o.head, o.size = data, int64(len(data))
	return err
}

// payload is the number of bytes behind the header.
func (o *object) payload() int64 { return o.size - o.header.bytes }

// bytes returns bytes behind the header.
func (o *object) bytes(ctx context.Context, off, n int64) ([]byte, error) {
	if n > maxObject {
		return nil, errs.Op("read chunk", o.key).New(errs.Unsupported, "it has %d bytes, want at most %d", n, int64(maxObject))
	}
	if from := o.header.bytes + off; from+n <= int64(len(o.head)) {
		return o.head[from : from+n : from+n], nil
	}
	out := make([]byte, n)
	return out, o.store.ReadAt(ctx, o.key, out, o.header.bytes+off)
}

// all returns all bytes behind the header.
func (o *object) all(ctx context.Context) ([]byte, error) { return o.bytes(ctx, 0, o.payload()) }
