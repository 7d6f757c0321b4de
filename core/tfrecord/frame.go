package tfrecord

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/bits"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"

	"deeplake/core/errs"
)

const (
	// headBytes are a length and its checksum, tailBytes the checksum of the data.
	headBytes, tailBytes = 12, 4
	// maxRecord bounds a record.
	maxRecord = 1 << 30
	// firstBytes are allocated for a record before any byte of it is there.
	firstBytes = 1 << 20
)

// checksum is that of a frame: a CRC-32C whose bits are turned and added to, since data may have
// checksums of their own.
func checksum(p []byte) uint32 {
	return bits.RotateLeft32(crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli)), -15) + 0xa282ead8
}

// frames reads the records of a file.
type frames struct {
	from *bufio.Reader
	what string // how the file is compressed
	n    int64  // records that were read
	end  int64  // of them, in the bytes that were decompressed
}

// newFrames reads a file that may be compressed as a whole, by gzip or zlib. The first frame says
// that it is not.
func newFrames(from io.Reader) (*frames, error) {
	r := bufio.NewReaderSize(from, 64<<10)
	head, err := r.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	f := &frames{from: r}
	switch {
	case len(head) == headBytes && isHead(head):
	case len(head) > 2 && head[0] == 0x1f && head[1] == 0x8b:
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, errs.New(errs.Corrupt, "its gzip is damaged: %w", err)
		}
		f.from, f.what = bufio.NewReaderSize(z, 64<<10), "gzip"
	case len(head) > 2 && head[0]&0x0f == 8 && (uint16(head[0])<<8|uint16(head[1]))%31 == 0:
		z, err := zlib.NewReader(r)
		if err != nil {
			return nil, errs.New(errs.Corrupt, "its zlib is damaged: %w", err)
		}
		f.from, f.what = bufio.NewReaderSize(z, 64<<10), "zlib"
	}
	return f, nil
}

func isHead(head []byte) bool {
	return binary.LittleEndian.Uint32(head[8:]) == checksum(head[:8])
}

// failed returns the error of a read. The end of the file within a record is damage.
func (f *frames) failed(err error, what string) error {
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return errs.New(errs.Corrupt, "record %d is cut within %s", f.n, what)
	case f.what != "" && errs.KindOf(err) == errs.Internal:
		return errs.New(errs.Corrupt, "its %s is damaged behind record %d: %w", f.what, f.n, err)
	}
	return err
}

// head reads the length of the next record; ok is false behind the last one.
func (f *frames) head() (n int64, ok bool, err error) {
	var head [headBytes]byte
	if _, err := io.ReadFull(f.from, head[:]); errors.Is(err, io.EOF) {
		return 0, false, nil
	} else if err != nil {
		return 0, false, f.failed(err, "its length")
	}
	if !isHead(head[:]) {
		return 0, false, errs.New(errs.Corrupt, "record %d begins with %x, whose checksum does not match; this is no TFRecord file, or it is damaged", f.n, head)
	}
	length := binary.LittleEndian.Uint64(head[:8])
	if length > maxRecord {
		return 0, false, errs.New(errs.Invalid, "record %d has %d bytes, want at most %d", f.n, length, int64(maxRecord))
	}
	return int64(length), true, nil
}

// skip passes over the next record.
func (f *frames) skip() (ok bool, err error) {
	n, ok, err := f.head()
	if err != nil || !ok {
		return false, err
	}
	if _, err := io.CopyN(io.Discard, f.from, n+tailBytes); err != nil {
		return false, f.failed(err, "its data")
	}
	f.passed(n)
	return true, nil
}

// passed counts a record with n bytes of data.
func (f *frames) passed(n int64) {
	f.n++
	f.end += headBytes + n + tailBytes
}

// at is the position of the data of the last record, which has n bytes; -1: the file is compressed.
func (f *frames) at(n int64) int64 {
	if f.what != "" {
		return -1
	}
	return f.end - tailBytes - n
}

// next appends the data of the next record to p.
func (f *frames) next(p []byte) (_ []byte, ok bool, err error) {
	n, ok, err := f.head()
	if err != nil || !ok {
		return p, false, err
	}
	from := len(p)
	for left := n + tailBytes; left > 0; {
		step := min(left, max(firstBytes, int64(len(p)-from)))
		p = slices.Grow(p, int(step))
		at := len(p)
		p = p[:at+int(step)]
		if _, err := io.ReadFull(f.from, p[at:]); err != nil {
			return p[:from], false, f.failed(err, "its data")
		}
		left -= step
	}
	data, tail := p[from:len(p)-tailBytes], p[len(p)-tailBytes:]
	if binary.LittleEndian.Uint32(tail) != checksum(data) {
		return p[:from], false, errs.New(errs.Corrupt, "record %d has data whose checksum does not match", f.n)
	}
	f.passed(n)
	return p[:len(p)-tailBytes], true, nil
}
