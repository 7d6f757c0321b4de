package episodes

import (
	"context"
	"io"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// headBytes are read with the first request of a file.
const headBytes = 64 << 10

// files is the source, of which files below its root alone are read.
type files struct {
	storage.Source
	root  string // that addresses of its files begin with
	isWeb bool   // it lists nothing, and escapes in names count
}

// object is a file of the source, at the version that was opened.
type object struct {
	of   *files
	key  string
	size int64
	tag  string
	head []byte // its beginning
}

// open requests the beginning of a file.
func (f *files) open(ctx context.Context, key string) (*object, error) {
	body, err := f.request(ctx, key, 0, headBytes, "")
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	if body.Size() < 0 {
		return nil, errs.New(errs.Unsupported, "the source does not say how large it is")
	}
	o := &object{of: f, key: key, size: body.Size(), tag: body.Tag(), head: make([]byte, body.Len())}
	if _, err := io.ReadFull(body, o.head); err != nil {
		return nil, errs.Wrap(errs.Storage, "read", key, err)
	}
	return o, nil
}

// request asks for bytes of a file below the root.
func (f *files) request(ctx context.Context, key string, off, n int64, tag string) (storage.Body, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if f.isWeb && strings.ContainsAny(key, "%?#") {
		return nil, errs.New(errs.Invalid, "the path %q has characters that change an address", short(key))
	}
	return f.Range(ctx, key, off, n, tag)
}

// whole reads a file of at most so many bytes.
func (f *files) whole(ctx context.Context, key string, most int64) ([]byte, error) {
	body, err := f.request(ctx, key, 0, -1, "")
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	if body.Len() > most {
		return nil, errs.New(errs.Invalid, "%s has %d bytes, want at most %d", key, body.Len(), most)
	}
	data, err := io.ReadAll(io.LimitReader(body, most+1))
	return data, errs.Wrap(errs.Storage, "read", key, err)
}

// ReadAt reads bytes of the version that was opened.
func (o *object) ReadAt(ctx context.Context, dst []byte, off int64) error {
	if n := int64(len(dst)); off >= 0 && off+n <= int64(len(o.head)) {
		copy(dst, o.head[off:])
		return nil
	}
	body, err := o.of.request(ctx, o.key, off, int64(len(dst)), o.tag)
	if errs.Is(err, errs.Conflict) {
		return errs.New(errs.Conflict, "it was changed meanwhile; run the import again")
	}
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	if body.Len() < int64(len(dst)) {
		return errs.New(errs.Corrupt, "it ends after %d bytes, want %d", off+body.Len(), o.size)
	}
	_, err = io.ReadFull(body, dst)
	return errs.Wrap(errs.Storage, "read", o.key, err)
}

// url is the address of a file.
func (f *files) url(key string) string { return strings.TrimSuffix(f.root, "/") + "/" + key }

// bad reports whether err is about the content of a file and not about the store.
func bad(err error) bool {
	switch errs.KindOf(err) {
	case errs.Invalid, errs.Type, errs.Corrupt, errs.Unsupported, errs.Conflict, errs.NotFound, errs.Range:
		return true
	}
	return false
}

// reason says in a report why a file cannot be used.
func reason(err error) string {
	if errs.Is(err, errs.NotFound) {
		return "the file is missing"
	}
	return err.Error()
}
