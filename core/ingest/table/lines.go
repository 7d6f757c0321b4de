package table

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"context"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"deeplake/core/arrow"
	"deeplake/core/errs"
	"deeplake/core/internal/ahead"
	"deeplake/core/internal/task"
	"deeplake/core/jsonl"
)

const (
	// typeBytes of a file tell its columns.
	typeBytes = 1 << 20
	// aheadBlocks of blockBytes are requested ahead of a file that is read in order.
	blockBytes  = 4 << 20
	aheadBlocks = 4
	// windowBytes bounds the memory of a compressed file.
	windowBytes = 128 << 20
)

// lines is a file of JSON lines. Its first ones tell its columns.
type lines struct {
	file  opened
	types *arrow.Column
	names []string
}

func openLines(ctx context.Context, f opened) (Table, error) {
	t := &lines{file: f}
	// A line that is no JSON tells no columns. Reading it is an error, or it is left out.
	r, end, err := t.reader(ctx, jsonl.Options{Most: typeBytes, LeaveOut: func(int64, error) error { return nil }}, false)
	if err != nil {
		return nil, err
	}
	defer end()
	b, err := r.Next(ctx)
	if err != nil || b == nil {
		t.types, _ = arrow.MakeColumn(&arrow.Type{Format: "+s"}, &arrow.Data{})
		return t, err
	}
	t.types = b.Column.Slice(0, 0)
	fields, _ := t.types.Fields()
	for _, c := range fields {
		t.names = append(t.names, c.Name())
	}
	return t, nil
}

// reader opens the file, and returns a function that ends its requests.
func (t *lines) reader(ctx context.Context, o jsonl.Options, isAhead bool) (*jsonl.Reader, func(), error) {
	how := ahead.Options{Step: blockBytes, Depth: aheadBlocks}
	end := func() {}
	if isAhead {
		how.Group = task.New(ctx, 0)
		end = func() {
			how.Group.Stop()
			_ = how.Group.Wait()
		}
	}
	var all []ahead.Segment
	if size := t.file.f.size; size > 0 {
		all = []ahead.Segment{{Size: size}}
	}
	plain, err := unpacked(ahead.New(t.file, how, all...).Reader(ctx))
	if err != nil {
		end()
		return nil, nil, err
	}
	return jsonl.NewReader(plain, o), end, nil
}

// unpacked decompresses a file whose first bytes say that it is compressed.
func unpacked(from io.Reader) (io.Reader, error) {
	r := bufio.NewReaderSize(from, 64<<10)
	head, err := r.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(r)
		return packed{z, "gzip"}, errs.Wrap(errs.Corrupt, "decompress", "", err)
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(windowBytes), zstd.WithDecoderConcurrency(1))
		return packed{z, "Zstandard"}, errs.Wrap(errs.Corrupt, "decompress", "", err)
	case bytes.HasPrefix(head, []byte("BZh")):
		return packed{bzip2.NewReader(r), "bzip2"}, nil
	}
	return r, nil
}

// packed is a compressed file. Errors of its store keep their kind.
type packed struct {
	io.Reader
	name string
}

// Read decompresses bytes.
func (p packed) Read(dst []byte) (int, error) {
	n, err := p.Reader.Read(dst)
	if err != nil && err != io.EOF && errs.KindOf(err) == errs.Internal {
		err = errs.New(errs.Corrupt, "its %s is damaged or cut: %w", p.name, err)
	}
	return n, err
}

// Columns are the keys of the first lines.
func (t *lines) Columns() []string { return t.names }

// Rows is not known.
func (t *lines) Rows() int64 { return -1 }

// Types returns the columns of the first lines.
func (t *lines) Types(columns []string) (*arrow.Column, error) { return t.types.Pick(columns), nil }

// Read begins to read lines.
func (t *lines) Read(ctx context.Context, o ReadOptions) (Batches, error) {
	r, end, err := t.reader(ctx, jsonl.Options{Columns: o.Columns, Documents: o.Documents, From: o.From, LeaveOut: o.LeaveOut}, o.Ahead)
	if err != nil {
		return nil, err
	}
	return &lineRows{r, end}, nil
}

type lineRows struct {
	*jsonl.Reader
	end func()
}

// Next returns the next lines.
func (r *lineRows) Next(ctx context.Context) (Batch, error) {
	b, err := r.Reader.Next(ctx)
	if err != nil || b == nil {
		return Batch{To: r.Position()}, err
	}
	return Batch{Column: b.Column, To: r.Position(), Lines: b.Lines, Bytes: b.Bytes}, nil
}

// Close ends the requests.
func (r *lineRows) Close() { r.end() }
