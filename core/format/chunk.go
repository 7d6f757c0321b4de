package format

import (
	"encoding/binary"
	"fmt"

	"deeplake/core/errs"
)

const (
	chunkMagic   = "TSFC"
	trailerMagic = "CFST"
)

// EncodeChunkHead makes the first ChunkHeadBytes of a chunk. Ordinal is at least 0.
func EncodeChunkHead(h ChunkHead) []byte {
	out := make([]byte, ChunkHeadBytes)
	copy(out, chunkMagic)
	out[4] = chunkVersion
	copy(out[16:], h.Session[:])
	binary.LittleEndian.PutUint64(out[32:], uint64(h.Ordinal))
	copy(out[40:], h.Tensor[:])
	binary.LittleEndian.PutUint32(out[60:], CRC(out[:60]))
	return out
}

// DecodeChunkHead reads the head at the start of data, which may go on behind it. The caller checks
// that it is the head of the wanted chunk.
func DecodeChunkHead(data []byte) (ChunkHead, error) {
	if len(data) < ChunkHeadBytes {
		return ChunkHead{}, errs.New(errs.Corrupt, "head of chunk has %d bytes, want %d", len(data), ChunkHeadBytes)
	}
	data = data[:ChunkHeadBytes]
	if string(data[:4]) != chunkMagic {
		return ChunkHead{}, errs.New(errs.Corrupt, "chunk begins with %q, want %q", data[:4], chunkMagic)
	}
	if got, want := CRC(data[:60]), binary.LittleEndian.Uint32(data[60:]); got != want {
		return ChunkHead{}, errs.New(errs.Corrupt, "head of chunk has checksum %#08x, want %#08x", got, want)
	}
	if data[4] != chunkVersion {
		return ChunkHead{}, errs.New(errs.Unsupported, "chunk has format version %d, want %d; a newer version of this library may read it", data[4], chunkVersion)
	}
	for _, i := range []int{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 56, 57, 58, 59} {
		if data[i] != 0 {
			return ChunkHead{}, errs.New(errs.Unsupported, "chunk has %d in reserved byte %d; a newer version of this library may read it", data[i], i)
		}
	}
	h := ChunkHead{Session: UUID(data[16:32]), Tensor: UUID(data[40:56])}
	ordinal := binary.LittleEndian.Uint64(data[32:])
	if ordinal > MaxRows || h.Session.IsZero() || h.Tensor.IsZero() {
		return ChunkHead{}, errs.New(errs.Corrupt, "head of chunk has session %s, ordinal %d, tensor %s", h.Session, ordinal, h.Tensor)
	}
	h.Ordinal = int64(ordinal)
	return h, nil
}

// Trailer is the last ChunkTrailerBytes of a chunk.
type Trailer struct {
	Offset int64  // of the stored directory; the blocks end here
	Stored int64  // bytes of the directory as stored
	Raw    int64  // bytes of the directory before compression
	Codec  byte   // its compression: 0 none, 2 zstd
	CRC    uint32 // of the stored directory
}

// EncodeChunkTail makes what follows the blocks of a chunk: the directory, compressed if that
// helps, and the trailer. dirOffset is where it will lie: ChunkHeadBytes and all blocks. The
// chunk's size is dirOffset and len of the result.
func EncodeChunkTail(dirOffset int64, rawDir []byte) ([]byte, error) {
	codec, stored := pack(rawDir)
	return sealTail(dirOffset, codec, stored, len(rawDir))
}

func sealTail(dirOffset int64, codec byte, stored []byte, rawBytes int) ([]byte, error) {
	t := Trailer{Offset: dirOffset, Stored: int64(len(stored)), Raw: int64(rawBytes), Codec: codec, CRC: CRC(stored)}
	if err := t.check(dirOffset + t.Stored + ChunkTrailerBytes); err != nil {
		return nil, refused("chunk trailer", err)
	}
	out := append(make([]byte, 0, len(stored)+ChunkTrailerBytes), stored...)
	out = binary.LittleEndian.AppendUint64(out, uint64(t.Offset))
	out = binary.LittleEndian.AppendUint32(out, uint32(t.Stored))
	out = binary.LittleEndian.AppendUint32(out, uint32(t.Raw))
	out = append(out, codec, 0, 0, 0)
	out = binary.LittleEndian.AppendUint32(out, t.CRC)
	out = binary.LittleEndian.AppendUint32(out, CRC(out[len(stored):]))
	return append(out, trailerMagic...), nil
}

// DecodeTrailer reads the last bytes of a chunk of objectBytes.
func DecodeTrailer(last []byte, objectBytes int64) (Trailer, error) {
	if len(last) != ChunkTrailerBytes {
		return Trailer{}, errs.New(errs.Corrupt, "trailer of chunk has %d bytes, want %d", len(last), ChunkTrailerBytes)
	}
	if string(last[28:]) != trailerMagic {
		return Trailer{}, errs.New(errs.Corrupt, "chunk ends with %q, want %q; it is truncated", last[28:], trailerMagic)
	}
	if got, want := CRC(last[:24]), binary.LittleEndian.Uint32(last[24:]); got != want {
		return Trailer{}, errs.New(errs.Corrupt, "trailer of chunk has checksum %#08x, want %#08x", got, want)
	}
	if last[17] != 0 || last[18] != 0 || last[19] != 0 {
		return Trailer{}, errs.New(errs.Unsupported, "trailer of chunk has something in its reserved bytes; a newer version of this library may read it")
	}
	t := Trailer{
		Offset: int64(min(binary.LittleEndian.Uint64(last), MaxObjectBytes+1)),
		Stored: int64(binary.LittleEndian.Uint32(last[8:])),
		Raw:    int64(binary.LittleEndian.Uint32(last[12:])),
		Codec:  last[16],
		CRC:    binary.LittleEndian.Uint32(last[20:]),
	}
	return t, damaged("chunk trailer", t.check(objectBytes))
}

func (t Trailer) check(objectBytes int64) error {
	switch {
	case t.Codec != packNone && t.Codec != packZstd:
		return errs.New(errs.Unsupported, "compression %d is not known; a newer version of this library may read it", t.Codec)
	case t.Offset < ChunkHeadBytes || objectBytes > MaxObjectBytes || t.Offset+t.Stored+ChunkTrailerBytes != objectBytes:
		return fmt.Errorf("directory of %d bytes at %d does not fit a chunk of %d", t.Stored, t.Offset, objectBytes)
	case t.Raw < 1 || t.Raw > MaxDirectoryRaw || t.Stored > t.Raw || (t.Codec == packNone && t.Stored != t.Raw):
		return fmt.Errorf("directory of %d bytes is stored as %d, want at most %d", t.Raw, t.Stored, MaxDirectoryRaw)
	}
	return nil
}

// RawDirectory checks the stored directory and returns it as side pages hold it. The result may be
// stored itself.
func (t Trailer) RawDirectory(stored []byte) ([]byte, error) {
	if int64(len(stored)) != t.Stored {
		return nil, errs.New(errs.Corrupt, "directory of chunk has %d bytes, want %d", len(stored), t.Stored)
	}
	if got := CRC(stored); got != t.CRC {
		return nil, errs.New(errs.Corrupt, "directory of chunk has checksum %#08x, want %#08x", got, t.CRC)
	}
	raw, err := unpack(t.Codec, stored, t.Raw)
	return raw, damaged("chunk directory", err)
}

// Directory checks and decodes the stored directory, and that its blocks end where it begins.
func (t Trailer) Directory(stored []byte) (*Directory, error) {
	raw, err := t.RawDirectory(stored)
	if err != nil {
		return nil, err
	}
	d, err := DecodeDirectory(raw)
	if err != nil {
		return nil, err
	}
	if end := d.Index().End(); end != t.Offset {
		return nil, errs.New(errs.Corrupt, "blocks of chunk end at %d, want %d", end, t.Offset)
	}
	return d, nil
}
