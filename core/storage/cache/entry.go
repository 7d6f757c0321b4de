package cache

import (
	"encoding/binary"
	"hash/crc32"

	"deeplake/core/errs"
)

// An entry is a file: the bytes of a page, then a trailer of 20 bytes, little endian:
//
//	magic "DLP1" | u32 bytes of data | i64 size of the object, -1 if not known | u32 CRC-32C
//
// The CRC covers the data, the trailer before it, and the name of the page, so that a file under
// another's name is damaged, too.
const (
	magic        = "DLP1"
	trailerBytes = 20
	maxEntry     = PageBytes + trailerBytes
)

// seal gives the trailer of a page.
func seal(n name, p page) [trailerBytes]byte {
	var t [trailerBytes]byte
	copy(t[:], magic)
	binary.LittleEndian.PutUint32(t[4:], uint32(len(p.data)))
	binary.LittleEndian.PutUint64(t[8:], uint64(p.size))
	binary.LittleEndian.PutUint32(t[16:], sum(n, p.data, t[:16]))
	return t
}

func sum(n name, data, head []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	c := crc32.Update(0, table, data)
	c = crc32.Update(c, table, head)
	return crc32.Update(c, table, n[:])
}

// decode checks a file. The page lies in it.
func decode(n name, file []byte) (page, error) {
	if len(file) < trailerBytes || len(file) > maxEntry {
		return page{}, errs.New(errs.Corrupt, "cache entry: %d bytes, want %d to %d", len(file), trailerBytes, maxEntry)
	}
	data, t := file[:len(file)-trailerBytes], file[len(file)-trailerBytes:]
	if string(t[:4]) != magic || binary.LittleEndian.Uint32(t[4:]) != uint32(len(data)) {
		return page{}, errs.New(errs.Corrupt, "cache entry: not one, or of another length than %d bytes", len(data))
	}
	size := int64(binary.LittleEndian.Uint64(t[8:]))
	if got, want := sum(n, data, t[:16]), binary.LittleEndian.Uint32(t[16:]); got != want {
		return page{}, errs.New(errs.Corrupt, "cache entry: checksum 0x%08x, want 0x%08x", got, want)
	}
	if size < -1 || size >= 0 && size < int64(len(data)) || len(data) == 0 && size != 0 {
		return page{}, errs.New(errs.Corrupt, "cache entry: %d bytes of an object of %d", len(data), size)
	}
	return page{data, size}, nil
}

// A segment is a file of all its pages, and a trailer, little endian:
//
//	u32 CRC-32C of each page | i64 size of the object, -1 if not known | magic "DLS1" | u32 CRC-32C
//
// The last CRC covers the trailer before it and the name of the segment. A page is checked without
// the others.
const (
	segmentMagic   = "DLS1"
	segmentTrailer = segmentPages*4 + 16
	segmentFile    = SegmentBytes + segmentTrailer
)

// sealSegment gives the trailer of a segment.
func sealSegment(n name, data []byte, size int64) [segmentTrailer]byte {
	var t [segmentTrailer]byte
	for slot := range segmentPages {
		c := crc32.Checksum(data[slot*PageBytes:][:PageBytes], crc32.MakeTable(crc32.Castagnoli))
		binary.LittleEndian.PutUint32(t[slot*4:], c)
	}
	rest := t[segmentPages*4:]
	binary.LittleEndian.PutUint64(rest, uint64(size))
	copy(rest[8:], segmentMagic)
	binary.LittleEndian.PutUint32(rest[12:], sum(n, nil, t[:segmentTrailer-4]))
	return t
}

// decodeSegment checks one page of a segment against its trailer.
func decodeSegment(n name, slot int, data, trailer []byte) (page, error) {
	if len(data) != PageBytes || len(trailer) != segmentTrailer {
		return page{}, errs.New(errs.Corrupt, "cache segment: %d and %d bytes, want %d and %d", len(data), len(trailer), PageBytes, segmentTrailer)
	}
	rest := trailer[segmentPages*4:]
	if got, want := sum(n, nil, trailer[:segmentTrailer-4]), binary.LittleEndian.Uint32(rest[12:]); string(rest[8:12]) != segmentMagic || got != want {
		return page{}, errs.New(errs.Corrupt, "cache segment: trailer has checksum 0x%08x, want 0x%08x", got, want)
	}
	if got, want := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)), binary.LittleEndian.Uint32(trailer[slot*4:]); got != want {
		return page{}, errs.New(errs.Corrupt, "cache segment: page %d has checksum 0x%08x, want 0x%08x", slot, got, want)
	}
	size := int64(binary.LittleEndian.Uint64(rest))
	if size < -1 || size >= 0 && size < SegmentBytes {
		return page{}, errs.New(errs.Corrupt, "cache segment: is of an object of %d bytes", size)
	}
	return page{data, size}, nil
}
