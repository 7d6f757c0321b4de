package ingest

import (
	"bufio"
	"io"

	"github.com/klauspost/compress/gzip"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// stream reads the bytes of an archive in order.
type stream interface {
	io.Reader
	offset() int64 // of the next byte of the archive
	failed() error // of the source, not of the archive
	close()
}

// readThrough is the size up to which a part to leave out is read and dropped.
const readThrough = 1 << 20

// reread reads an object and can leave parts out. It reads through short parts. Behind long ones it
// sends a new request.
type reread struct {
	open  func(off int64) (storage.Body, error)
	size  int64
	body  storage.Body
	ahead *bufio.Reader
	at    int64 // offset of the next byte of ahead
	pos   int64 // offset of the caller's next byte
	err   error // of the source, not of the content
}

func newReread(size int64, open func(off int64) (storage.Body, error)) *reread {
	return &reread{open: open, size: size, ahead: bufio.NewReaderSize(nil, 64<<10)}
}

// Read gives io.EOF at the end of the object only.
func (r *reread) Read(p []byte) (int, error) {
	if r.pos >= r.size || len(p) == 0 {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	if err := r.reach(); err != nil {
		r.err = err
		return 0, err
	}
	n, err := r.ahead.Read(p[:min(int64(len(p)), r.size-r.pos)])
	r.at += int64(n)
	r.pos = r.at
	if err == io.EOF && n == 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil && n == 0 {
		r.err = err
		return 0, err
	}
	return n, nil
}

// reach makes ahead stand at pos.
func (r *reread) reach() error {
	if gap := r.pos - r.at; r.body != nil && gap >= 0 && gap <= readThrough {
		n, err := r.ahead.Discard(int(gap))
		r.at += int64(n)
		return err
	}
	r.close()
	body, err := r.open(r.pos)
	if err != nil {
		return err
	}
	r.body, r.at = body, r.pos
	r.ahead.Reset(body)
	return nil
}

// Seek moves within the object, or behind it.
func (r *reread) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.pos
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return r.pos, errs.New(errs.Invalid, "seek to %d", offset)
	}
	r.pos = offset
	return offset, nil
}

func (r *reread) offset() int64 { return r.pos }
func (r *reread) failed() error { return r.err }

func (r *reread) close() {
	if r.body != nil {
		_ = r.body.Close()
		r.body = nil
	}
}

// inflated reads the content of an object that is compressed with gzip. It holds a window of the
// content, however large that is.
type inflated struct {
	from  *reread
	gzip  *gzip.Reader // nil: the beginning of the object is not read
	pos   int64
	alive func() error // says why the reader should stop: content may have no end
}

// Read returns io.EOF after the checksum of the content.
func (r *inflated) Read(p []byte) (int, error) {
	if err := r.alive(); err != nil {
		r.from.err = err
		return 0, err
	}
	if r.gzip == nil {
		z, err := gzip.NewReader(bufio.NewReader(r.from))
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, err
		}
		r.gzip = z
	}
	n, err := r.gzip.Read(p)
	r.pos += int64(n)
	return n, err
}

func (r *inflated) offset() int64 { return r.pos }
func (r *inflated) failed() error { return r.from.err }
func (r *inflated) close()        { r.from.close() }
