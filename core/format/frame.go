package format

import (
	"encoding/binary"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/zstd"

	"deeplake/core/errs"
)

// Kind says what the payload of a frame is.
type Kind byte

// The kinds of frame.
const (
	KindRecord Kind = 'R'
	KindLeaf   Kind = 'L'
	KindInner  Kind = 'N'
	KindSide   Kind = 'S'
	KindBitmap Kind = 'B'
	KindSchema Kind = 'C'
	KindTxn    Kind = 'T'
	KindView   Kind = 'V'

	KindColumns Kind = 'K' // from version 2 on
)

const frameMagic = "TSF1"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CRC is the CRC-32C of data, the one checksum of the format.
func CRC(data []byte) uint32 { return crc32.Checksum(data, castagnoli) }

// String names k for messages.
func (k Kind) String() string {
	switch k {
	case KindRecord:
		return "commit record"
	case KindLeaf:
		return "leaf page"
	case KindInner:
		return "inner page"
	case KindSide:
		return "side page"
	case KindBitmap:
		return "bitmap page"
	case KindSchema:
		return "schema page"
	case KindTxn:
		return "transaction summary"
	case KindView:
		return "saved view"
	case KindColumns:
		return "columns page"
	}
	return "unknown kind"
}

// caps are the largest whole object and the largest uncompressed payload of a kind; 0, 0 for an
// unknown kind.
func (k Kind) caps() (object, raw int64) {
	switch k {
	case KindRecord:
		return MaxRecordBytes, MaxRecordRaw
	case KindLeaf, KindInner:
		return maxHeadBytes + MaxPageRaw, MaxPageRaw
	case KindSide:
		return maxHeadBytes + MaxSideRaw, MaxSideRaw
	case KindBitmap, KindSchema, KindTxn, KindView, KindColumns:
		return maxHeadBytes + MaxBlobRaw, MaxBlobRaw
	}
	return 0, 0
}

// maxHeadBytes is the longest head of a frame, that of version 2.
const maxHeadBytes = FrameHeadBytes + FrameSaltBytes

// EncodeFrame puts payload under a frame of kind k and version 1, compressed if that saves at least
// one eighth. Over a cap of the kind it is errs.Invalid. The result is a new slice; Salted makes
// version 2 of it.
func EncodeFrame(k Kind, payload []byte) ([]byte, error) {
	if _, maxRaw := k.caps(); int64(len(payload)) > maxRaw {
		return nil, errs.New(errs.Invalid, "%s has %d bytes, want at most %d", k, len(payload), maxRaw)
	}
	codec, stored := pack(payload)
	return sealFrame(k, codec, stored, len(payload))
}

// sealFrame writes the head in front of stored.
func sealFrame(k Kind, codec byte, stored []byte, rawBytes int) ([]byte, error) {
	maxObject, maxRaw := k.caps()
	if int64(rawBytes) > maxRaw {
		return nil, errs.New(errs.Invalid, "%s has %d bytes, want at most %d", k, rawBytes, maxRaw)
	}
	if n := int64(FrameHeadBytes + len(stored)); n > maxObject {
		return nil, errs.New(errs.Invalid, "%s has %d bytes as stored, want at most %d", k, n, maxObject)
	}
	out := make([]byte, FrameHeadBytes, FrameHeadBytes+len(stored))
	copy(out, frameMagic)
	out[4], out[5], out[6] = byte(k), FirstVersion, codec
	binary.LittleEndian.PutUint32(out[8:], uint32(rawBytes))
	binary.LittleEndian.PutUint32(out[12:], uint32(len(stored)))
	binary.LittleEndian.PutUint32(out[16:], CRC(stored))
	binary.LittleEndian.PutUint32(out[20:], CRC(out[:20]))
	return append(out, stored...), nil
}

// RawBytes is the size of the payload of a frame that was just encoded, before compression.
func RawBytes(frame []byte) int64 { return int64(binary.LittleEndian.Uint32(frame[8:])) }

// Salted turns a frame of version 1 into one of version 2 with the same payload, which carries
// salt. The result is a new slice.
func Salted(frame []byte, salt UUID) []byte {
	out := make([]byte, 0, len(frame)+FrameSaltBytes)
	out = append(append(append(out, frame[:FrameHeadBytes]...), salt[:]...), frame[FrameHeadBytes:]...)
	out[5] = 2
	binary.LittleEndian.PutUint32(out[16:], CRC(out[FrameHeadBytes:]))
	binary.LittleEndian.PutUint32(out[20:], CRC(out[:20]))
	return out
}

// frameHead is the decoded head of a frame.
type frameHead struct {
	version  int
	codec    byte
	rawBytes int64
	salt     UUID // zero in version 1
	bytes    int  // of the head
}

// DecodeFrame checks that data is one whole frame of kind k, of any version, and returns its
// payload, which may be a part of data.
func DecodeFrame(k Kind, data []byte) ([]byte, error) {
	payload, _, err := decodeFrame(k, data)
	return payload, err
}

func decodeFrame(k Kind, data []byte) ([]byte, frameHead, error) {
	h, err := checkFrameHead(k, data)
	if err != nil {
		return nil, h, err
	}
	if got, want := CRC(data[FrameHeadBytes:]), binary.LittleEndian.Uint32(data[16:]); got != want {
		return nil, h, errs.New(errs.Corrupt, "%s has checksum %#08x, want %#08x", k, got, want)
	}
	payload, err := unpack(h.codec, data[h.bytes:], h.rawBytes)
	if err != nil {
		return nil, h, errs.Wrap(errs.Corrupt, "decode "+k.String(), "", err)
	}
	return payload, h, nil
}

// checkFrameHead believes the version and the kind only under a right checksum, so that a flipped
// bit is not taken for the work of a newer library.
func checkFrameHead(k Kind, data []byte) (h frameHead, err error) {
	if len(data) < FrameHeadBytes {
		return h, errs.New(errs.Corrupt, "%s has %d bytes, want at least %d", k, len(data), FrameHeadBytes)
	}
	if string(data[:4]) != frameMagic {
		return h, errs.New(errs.Corrupt, "%s begins with %q, want %q", k, data[:4], frameMagic)
	}
	if got, want := CRC(data[:20]), binary.LittleEndian.Uint32(data[20:]); got != want {
		return h, errs.New(errs.Corrupt, "head of %s has checksum %#08x, want %#08x", k, got, want)
	}
	if data[5] < FirstVersion || data[5] > Version {
		return h, errs.New(errs.Unsupported, "%s has format version %d, want %d to %d; a newer version of this library may read it", k, data[5], FirstVersion, Version)
	}
	if got := Kind(data[4]); got != k {
		if _, known := got.caps(); known == 0 {
			return h, errs.New(errs.Unsupported, "object of kind %q is not known; a newer version of this library may read it", byte(got))
		}
		return h, errs.New(errs.Corrupt, "object is a %s, want a %s", got, k)
	}
	if data[7] != 0 {
		return h, errs.New(errs.Unsupported, "%s has %d in a reserved byte; a newer version of this library may read it", k, data[7])
	}
	h = frameHead{version: int(data[5]), codec: data[6], rawBytes: int64(binary.LittleEndian.Uint32(data[8:])), bytes: FrameHeadBytes}
	if h.version > FirstVersion {
		if h.bytes = maxHeadBytes; len(data) < h.bytes {
			return h, errs.New(errs.Corrupt, "%s has %d bytes, want at least %d", k, len(data), h.bytes)
		}
		if h.salt = UUID(data[FrameHeadBytes:maxHeadBytes]); h.salt.IsZero() {
			return h, errs.New(errs.Corrupt, "salt of %s is zero", k)
		}
	}
	maxObject, maxRaw := k.caps()
	storedBytes := int64(binary.LittleEndian.Uint32(data[12:]))
	if h.rawBytes > maxRaw || int64(h.bytes)+storedBytes > maxObject {
		return h, errs.New(errs.Corrupt, "%s announces %d bytes stored as %d, want at most %d stored as %d", k, h.rawBytes, storedBytes, maxRaw, maxObject-int64(h.bytes))
	}
	if got := int64(len(data) - h.bytes); got != storedBytes {
		return h, errs.New(errs.Corrupt, "%s has %d bytes behind its head, want %d", k, got, storedBytes)
	}
	return h, nil
}

// Compression of pages, records and directories as stored.
const (
	packNone byte = 0
	packZstd byte = 2
)

// A zstd block holds at most 128 KiB and takes at least 4 bytes, which bounds what stored bytes can
// stand for.
const (
	zstdBlockRaw    = 128 << 10
	zstdBlockStored = 4
)

// zstdDecoder is made once, holds no data between calls and serves parallel callers. A decoder made
// for each page would cost more than the page.
var zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxMemory(MaxBlobRaw), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil
	}
	return d
})

// unpack is the inverse of pack and packParts. It allocates no more than rawBytes, which the caller
// has held against a cap. The result may be stored itself.
func unpack(codec byte, stored []byte, rawBytes int64) ([]byte, error) {
	switch codec {
	case packNone:
		if int64(len(stored)) != rawBytes {
			return nil, errs.New(errs.Corrupt, "uncompressed payload has %d bytes, want %d", len(stored), rawBytes)
		}
		return stored, nil
	case packZstd:
	default:
		return nil, errs.New(errs.Unsupported, "compression %d is not known; a newer version of this library may read it", codec)
	}
	if rawBytes > (int64(len(stored))/zstdBlockStored+1)*zstdBlockRaw {
		return nil, errs.New(errs.Corrupt, "%d bytes of zstd cannot stand for %d", len(stored), rawBytes)
	}
	d := zstdDecoder()
	if d == nil {
		return nil, errs.New(errs.Internal, "zstd decoder refuses its options")
	}
	raw, err := d.DecodeAll(stored, make([]byte, 0, rawBytes))
	if err != nil {
		return nil, errs.New(errs.Corrupt, "zstd payload: %w", err)
	}
	if int64(len(raw)) != rawBytes {
		return nil, errs.New(errs.Corrupt, "zstd payload has %d bytes, want %d", len(raw), rawBytes)
	}
	return raw, nil
}
