package format

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/klauspost/compress/zstd"

	"deeplake/core/errs"
)

// Kind is the kind of a frame's payload.
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

	KindColumns Kind = 'K'
	KindPieces  Kind = 'P'

	KindFragment Kind = 'F'
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
	case KindPieces:
		return "page of pieces"
	case KindFragment:
		return "fragment"
	}
	return "unknown kind"
}

// caps are the largest whole object and the largest uncompressed payload of a kind; 0, 0 for an
// unknown kind.
func (k Kind) caps() (object, raw int64) {
	switch k {
	case KindRecord:
		return MaxRecordBytes, MaxRecordRaw
	case KindLeaf, KindPieces, KindInner:
		return FrameHeadBytes + MaxPageRaw, MaxPageRaw
	case KindSide:
		return FrameHeadBytes + MaxSideRaw, MaxSideRaw
	case KindBitmap, KindSchema, KindTxn, KindView, KindColumns, KindFragment:
		return FrameHeadBytes + MaxBlobRaw, MaxBlobRaw
	}
	return 0, 0
}

// EncodeFrame puts payload under a frame of kind k, compressed if that saves at least one eighth.
// Over a cap of the kind it is errs.Invalid. The result is a new slice with a random salt, so that
// no two objects have one name.
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
	out[4], out[5], out[6] = byte(k), Version, codec
	binary.LittleEndian.PutUint32(out[8:], uint32(rawBytes))
	binary.LittleEndian.PutUint32(out[12:], uint32(len(stored)))
	out = append(out, stored...)
	SetSalt(out, NewUUID())
	return out, nil
}

// RawBytes is the size of the payload of a frame that was just encoded, before compression.
func RawBytes(frame []byte) int64 { return int64(binary.LittleEndian.Uint32(frame[8:])) }

// SetSalt gives a frame that was just encoded another salt, in place.
func SetSalt(frame []byte, salt UUID) {
	copy(frame[FrameSaltAt:], salt[:])
	binary.LittleEndian.PutUint32(frame[16:], CRC(frame[FrameSaltAt:]))
	binary.LittleEndian.PutUint32(frame[20:], CRC(frame[:20]))
}

// otherLibrary says which library reads a format version that this one does not.
func otherLibrary(version uint64) string {
	if version > Version {
		return "a newer version of this library may read it"
	}
	return "no release of this library has written it"
}

// frameHead is the decoded head of a frame.
type frameHead struct {
	codec    byte
	rawBytes int64
	salt     UUID
}

// DecodeFrame checks that data is one whole frame of kind k, and returns its payload, which may be
// a part of data.
func DecodeFrame(k Kind, data []byte) ([]byte, error) {
	payload, _, err := decodeFrame(k, data)
	return payload, err
}

func decodeFrame(k Kind, data []byte) ([]byte, frameHead, error) {
	h, err := checkFrameHead(k, data)
	if err != nil {
		return nil, h, err
	}
	if got, want := CRC(data[FrameSaltAt:]), binary.LittleEndian.Uint32(data[16:]); got != want {
		return nil, h, errs.New(errs.Corrupt, "%s has checksum %#08x, want %#08x", k, got, want)
	}
	payload, err := unpack(h.codec, data[FrameHeadBytes:], h.rawBytes)
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
	if data[5] != Version {
		return h, errs.New(errs.Unsupported, "%s has format version %d, want %d; %s", k, data[5], Version, otherLibrary(uint64(data[5])))
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
	h = frameHead{codec: data[6], rawBytes: int64(binary.LittleEndian.Uint32(data[8:])), salt: UUID(data[FrameSaltAt:FrameHeadBytes])}
	if h.salt.IsZero() {
		return h, errs.New(errs.Corrupt, "salt of %s is zero", k)
	}
	maxObject, maxRaw := k.caps()
	storedBytes := int64(binary.LittleEndian.Uint32(data[12:]))
	if h.rawBytes > maxRaw || FrameHeadBytes+storedBytes > maxObject {
		return h, errs.New(errs.Corrupt, "%s announces %d bytes stored as %d, want at most %d stored as %d", k, h.rawBytes, storedBytes, maxRaw, maxObject-FrameHeadBytes)
	}
	if got := int64(len(data) - FrameHeadBytes); got != storedBytes {
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
// for each page would cost more than the page. It is made at the start: a decoder that is first
// used within a synctest bubble cannot be used outside of it.
var zstdDecoder = newDecoder()

func newDecoder() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxMemory(MaxBlobRaw), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil
	}
	return d
}

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
	d := zstdDecoder
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
