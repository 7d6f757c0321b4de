package parquet

import (
	"bytes"
	"encoding/binary"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"deeplake/core/errs"
)

// The compressions of pages.
const (
	plainPages  = 0
	snappyPages = 1
	gzipPages   = 2
	lzoPages    = 3
	brotliPages = 4
	hadoopPages = 5 // LZ4 with the frames of Hadoop
	zstdPages   = 6
	lz4Pages    = 7
)

const (
	// maxPage bounds the bytes of a page, as the format does. Writers that look at the size of a
	// page after a thousand values make such pages of large ones.
	maxPage = 1<<31 - 1
	// freePage is the bytes of a page that a few compressed ones may stand for. A larger page has
	// at most densePage bytes for each compressed one, as pictures and sound do.
	freePage, densePage = 512 << 20, 64
)

// most bounds the bytes that a byte of these compressions stands for. So a small page that claims
// to be large is refused before memory is allocated.
var most = map[int64]int64{snappyPages: 32, gzipPages: 1040, hadoopPages: 256, lz4Pages: 256}

// zstdReader has no state between pages.
var zstdReader = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxPage), zstd.WithDecoderConcurrency(0))
})

// unpack decompresses a page of wide bytes.
func unpack(codec int64, p []byte, wide int64) ([]byte, error) {
	wrong := func(got int64, err error) error {
		if err != nil {
			return errs.New(errs.Corrupt, "a page cannot be decompressed: %w", err)
		}
		return errs.New(errs.Corrupt, "a page has %d bytes after decompression, and its header says %d", got, wide)
	}
	if wide < 0 || wide > maxPage {
		return nil, errs.New(errs.Unsupported, "a page has %d bytes, want at most %d", wide, maxPage)
	}
	if wide > max(freePage, int64(len(p))*densePage) {
		return nil, errs.New(errs.Unsupported, "a page of %d bytes has %d after decompression, want at most %d; write the file again, with smaller pages", len(p), wide, int64(freePage))
	}
	if bound, ok := most[codec]; ok && wide > int64(len(p))*bound+1024 {
		return nil, errs.New(errs.Corrupt, "a page of %d bytes claims to have %d after decompression", len(p), wide)
	}
	var out []byte
	var err error
	switch codec {
	case plainPages:
		out = p
	case snappyPages:
		if n, err := snappy.DecodedLen(p); err != nil || int64(n) != wide {
			return nil, wrong(int64(n), err)
		}
		out, err = snappy.Decode(nil, p)
	case gzipPages:
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(p)); err == nil {
			out, err = readBounded(r, wide)
		}
	case brotliPages:
		out, err = readBounded(brotli.NewReader(bytes.NewReader(p)), wide)
	case zstdPages:
		out, err = unpackZstd(p, wide)
	case lz4Pages:
		out, err = unpackLZ4(p, wide)
	case hadoopPages:
		if out, err = unpackHadoop(p, wide); err != nil {
			out, err = unpackLZ4(p, wide) // of writers that left the frames out
		}
	case lzoPages:
		return nil, errs.New(errs.Unsupported, "a page is compressed with LZO; write the file again, with Snappy or Zstandard")
	default:
		return nil, errs.New(errs.Unsupported, "a page has the compression %d, which is not known", codec)
	}
	if err != nil || int64(len(out)) != wide {
		return nil, wrong(int64(len(out)), err)
	}
	return out, nil
}

// readBounded reads all of r, in memory that grows with what comes.
func readBounded(r io.Reader, wide int64) ([]byte, error) {
	var b bytes.Buffer
	_, err := io.Copy(&b, io.LimitReader(r, wide+1))
	return b.Bytes(), err
}

func unpackZstd(p []byte, wide int64) ([]byte, error) {
	r, err := zstdReader()
	if err != nil {
		return nil, err
	}
	var h zstd.Header
	if err := h.Decode(p); err != nil {
		return nil, err
	}
	if h.HasFCS && h.FrameContentSize > uint64(wide) {
		return nil, errs.New(errs.Corrupt, "its frame has %d bytes", h.FrameContentSize)
	}
	return r.DecodeAll(p, nil)
}

func unpackLZ4(p []byte, wide int64) ([]byte, error) {
	out := make([]byte, wide)
	n, err := lz4.UncompressBlock(p, out)
	if err != nil {
		return nil, err
	}
	return out[:n], nil
}

// unpackHadoop reads frames: the size of the bytes, that of their compressed form, and that form.
func unpackHadoop(p []byte, wide int64) ([]byte, error) {
	var out []byte
	for len(p) > 0 {
		if len(p) < 8 {
			return nil, errs.New(errs.Corrupt, "a frame is cut")
		}
		n, size := int64(binary.BigEndian.Uint32(p)), int64(binary.BigEndian.Uint32(p[4:]))
		if p = p[8:]; size > int64(len(p)) || n > wide-int64(len(out)) {
			return nil, errs.New(errs.Corrupt, "a frame has %d bytes of %d", size, len(p))
		}
		part, err := unpackLZ4(p[:size], n)
		if err != nil {
			return nil, err
		}
		out, p = append(out, part...), p[size:]
	}
	return out, nil
}
