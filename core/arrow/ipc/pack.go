package ipc

import (
	"bytes"
	"encoding/binary"
	"io"
	"sync"
	"unsafe"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"deeplake/core/errs"
)

// packing is the compression of buffers, one more than its number in the format; 0: there is none.
type packing int64

const (
	lz4Frames   packing = 1
	zstdBuffers packing = 2
)

// freeBuffer is the bytes of a buffer that a few compressed ones may stand for. A larger one has at
// most denseBuffer bytes for each compressed one.
const freeBuffer, denseBuffer = 512 << 20, 64

// maxWindow bounds the memory of a decoder.
const maxWindow = 128 << 20

// unpacker decompresses buffers, several at once.
type unpacker struct {
	zstds, lz4s sync.Pool
}

// zstd returns a decoder that is not in use.
func (u *unpacker) zstd() (*zstd.Decoder, error) {
	if z, ok := u.zstds.Get().(*zstd.Decoder); ok {
		return z, nil
	}
	return zstd.NewReader(nil, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(1))
}

// unpack decompresses a buffer: its length, or -1 for bytes as they are, and the bytes. It has at
// most a number of bytes.
func (u *unpacker) unpack(k packing, p []byte, most int64) ([]byte, error) {
	if len(p) < 8 {
		return nil, errs.New(errs.Corrupt, "a compressed buffer has %d bytes", len(p))
	}
	n, p := int64(le64(p)), p[8:]
	if n == -1 {
		return p, nil
	}
	if n < 0 || n > most || n > max(freeBuffer, denseBuffer*int64(len(p))) {
		return nil, errs.New(errs.Unsupported, "a buffer of %d bytes has %d after decompression; write smaller record batches", len(p), n)
	}
	var out []byte
	var err error
	switch k {
	case lz4Frames:
		z, ok := u.lz4s.Get().(*lz4.Reader)
		if !ok {
			z = lz4.NewReader(nil)
		}
		z.Reset(bytes.NewReader(p))
		out, err = readExactly(z, n, len(p))
		u.lz4s.Put(z)
	case zstdBuffers:
		var z *zstd.Decoder
		if z, err = u.zstd(); err != nil {
			return nil, err
		}
		if err = z.Reset(bytes.NewReader(p)); err == nil {
			out, err = readExactly(z, n, len(p))
		}
		_ = z.Reset(nil)
		u.zstds.Put(z)
	default:
		return nil, errs.New(errs.Unsupported, "buffers have the compression %d, which is not known", k-1)
	}
	if err != nil {
		return nil, errs.New(errs.Corrupt, "a buffer cannot be decompressed: %w", err)
	}
	return out, nil
}

// readExactly reads n bytes that size bytes decompress to. Memory grows with the bytes.
func readExactly(r io.Reader, n int64, size int) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, min(n, 16*int64(size)+bytes.MinRead)+bytes.MinRead))
	_, err := io.Copy(b, io.LimitReader(r, n+1))
	if got := int64(b.Len()); err == nil && got != n {
		err = errs.New(errs.Corrupt, "it has %d bytes, and states %d", got, n)
	}
	return b.Bytes(), err
}

// aligned returns bytes at an address for numbers of 64 bits.
func aligned(p []byte) []byte {
	if uintptr(unsafe.Pointer(unsafe.SliceData(p)))%8 == 0 {
		return p
	}
	return append(make([]byte, 0, len(p)+8), p...)
}

func le32(p []byte) uint32 { return binary.LittleEndian.Uint32(p) }
func le64(p []byte) uint64 { return binary.LittleEndian.Uint64(p) }
