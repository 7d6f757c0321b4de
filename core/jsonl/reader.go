package jsonl

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"

	"deeplake/core/arrow"
	"deeplake/core/errs"
)

const (
	// batchRows and batchBytes bound a batch.
	batchRows  = 1 << 16
	batchBytes = 16 << 20
	// maxLine bounds a line, and maxColumns the keys of a batch.
	maxLine    = 256 << 20
	maxColumns = 1 << 14
	// maxCells bounds the values of a batch, those that lines lack included.
	maxCells  = 1 << 22
	readBytes = 1 << 20
)

// Options choose lines and their columns.
type Options struct {
	Columns   []string // nil: all keys
	Documents []string // keys whose values are JSON, whatever they are
	Rounded   []string // keys whose integers may be rounded to float64
	From      int64    // lines that are passed over
	Most      int64    // bytes of a batch; 0: the default
	// LeaveOut is told of a line that is left out, counted from 0; nil: it is an error.
	LeaveOut func(line int64, err error) error
}

// Reader reads lines. One goroutine at a time may use it.
type Reader struct {
	from io.Reader
	o    Options
	buf  []byte
	at   int   // of the next line in buf
	end  bool  // from is read
	line int64 // number of the next line
}

// NewReader returns a reader of the lines of from.
func NewReader(from io.Reader, o Options) *Reader { return &Reader{from: from, o: o} }

// next returns the next line without its end; ok is false behind the last one.
func (r *Reader) next() (p []byte, ok bool, err error) {
	scanned := r.at
	for {
		if i := bytes.IndexByte(r.buf[scanned:], '\n'); i >= 0 {
			p, r.at = r.buf[r.at:scanned+i], scanned+i+1
			return p, true, nil
		}
		if r.end {
			p, r.at = r.buf[r.at:], len(r.buf)
			return p, len(p) > 0, nil
		}
		if len(r.buf)-r.at > maxLine {
			return nil, false, errs.New(errs.Invalid, "line %d has more than %d bytes", r.line+1, maxLine)
		}
		scanned = len(r.buf)
		r.buf = slices.Grow(r.buf, readBytes)
		n, err := r.from.Read(r.buf[len(r.buf) : len(r.buf)+readBytes])
		r.buf = r.buf[:len(r.buf)+n]
		if errors.Is(err, io.EOF) {
			r.end = true
		} else if err != nil {
			return nil, false, err
		}
	}
}

// Next returns the next lines, nil behind the last one. Its memory stays valid.
func (r *Reader) Next(ctx context.Context) (*arrow.Batch, error) {
	// Lines of the batch before are in use: those to come get other memory.
	r.buf, r.at = slices.Clone(r.buf[r.at:]), 0
	b := &builder{byName: map[string]int{}, wanted: r.o.Columns, documents: r.o.Documents, rounded: r.o.Rounded}
	most := r.o.Most
	if most == 0 {
		most = batchBytes
	}
	out := &arrow.Batch{}
	for len(out.Rows) < batchRows && out.Bytes < most && len(out.Rows)*len(b.keys) < maxCells {
		p, ok, err := r.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		number := r.line
		r.line++
		if number == 0 {
			p = bytes.TrimPrefix(p, []byte("\xef\xbb\xbf"))
		}
		if number < r.o.From || len(bytes.TrimSpace(p)) == 0 {
			if number%(1<<16) == 0 && ctx.Err() != nil {
				return nil, errs.Wrap(errs.Canceled, "read lines", "", ctx.Err())
			}
			r.pass(out, p)
			continue
		}
		if err := b.add(p); err != nil {
			err = errs.New(errs.KindOf(err), "line %d %w", number+1, err)
			if r.o.LeaveOut == nil {
				return nil, err
			}
			if err := r.o.LeaveOut(number, err); err != nil {
				return nil, err
			}
			r.pass(out, p)
			continue
		}
		out.Rows = append(out.Rows, number)
		out.Bytes += int64(len(p)) + 1
	}
	if len(out.Rows) == 0 {
		return nil, nil
	}
	c, err := b.column()
	if err != nil {
		return nil, err
	}
	out.Column = c
	return out, nil
}

// pass counts a line that is no part of the batch, or forgets it where the batch has none.
func (r *Reader) pass(out *arrow.Batch, p []byte) {
	if len(out.Rows) == 0 {
		r.forget()
		return
	}
	out.Bytes += int64(len(p)) + 1
}

// forget drops lines that were passed over.
func (r *Reader) forget() {
	if r.at > 8*readBytes {
		r.buf = r.buf[:copy(r.buf, r.buf[r.at:])]
		r.at = 0
	}
}

// Position is the number of the next line.
func (r *Reader) Position() int64 { return r.line }
