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
	"github.com/pierrec/lz4/v4"

	"deeplake/core/errs"
	"deeplake/core/internal/ahead"
	"deeplake/core/internal/task"
)

const (
	// aheadBlocks of blockBytes are requested ahead of a file that is read in order.
	blockBytes  = 4 << 20
	aheadBlocks = 4
	// windowBytes bounds the memory of a compressed file.
	windowBytes = 128 << 20
)

// plain opens a file that is read in order, decompressed. It returns a function that ends its
// requests.
func (o opened) plain(ctx context.Context, isAhead bool) (io.Reader, func(), error) {
	stored, end := o.inOrder(ctx, isAhead)
	plain, err := unpacked(stored)
	if err != nil {
		end()
		return nil, nil, err
	}
	return plain, end, nil
}

// inOrder opens a file that is read in order. It returns a function that ends its requests.
func (o opened) inOrder(ctx context.Context, isAhead bool) (io.Reader, func()) {
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
	if size := o.f.size; size > 0 {
		all = []ahead.Segment{{Size: size}}
	}
	return ahead.New(o, how, all...).Reader(ctx), end
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
	case bytes.HasPrefix(head, []byte{0x04, 0x22, 0x4d, 0x18}):
		return packed{lz4.NewReader(r), "LZ4"}, nil
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
