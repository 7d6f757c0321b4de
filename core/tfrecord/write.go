package tfrecord

import (
	"encoding/binary"
	"io"
	"math"
	"slices"

	"deeplake/core/errs"
)

// Feature is a feature of an example to write: exactly one of its lists is set.
type Feature struct {
	Name   string
	Bytes  [][]byte
	Floats []float32
	Ints   []int64
}

// The fields of the messages Example, Features and Feature, with their wire types.
const (
	inLengths  = 2
	isFeatures = 1<<3 | inLengths // of Example
	isEntry    = 1<<3 | inLengths // of Features
	isKey      = 1<<3 | inLengths // of an entry
	isValue    = 2<<3 | inLengths
	isItems    = 1<<3 | inLengths // a value of a BytesList, or the packed ones of another list
)

// AppendExample appends a tf.train.Example, without a frame. It computes sizes first, so that
// values are copied once.
func AppendExample(dst []byte, features []Feature) []byte {
	all := 0
	for i := range features {
		all += fieldBytes(features[i].entryBytes())
	}
	dst = slices.Grow(dst, fieldBytes(all))
	dst = appendHead(dst, isFeatures, all)
	for i := range features {
		f := &features[i]
		number, list := f.listBytes()
		dst = appendHead(dst, isEntry, f.entryBytes())
		dst = append(appendHead(dst, isKey, len(f.Name)), f.Name...)
		dst = appendHead(dst, isValue, fieldBytes(list))
		dst = appendHead(dst, number<<3|inLengths, list)
		switch {
		case f.Floats != nil:
			dst = appendHead(dst, isItems, 4*len(f.Floats))
			for _, v := range f.Floats {
				dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
			}
		case f.Ints != nil:
			dst = appendHead(dst, isItems, f.intBytes())
			for _, v := range f.Ints {
				dst = binary.AppendUvarint(dst, uint64(v))
			}
		default:
			for _, p := range f.Bytes {
				dst = append(appendHead(dst, isItems, len(p)), p...)
			}
		}
	}
	return dst
}

// listBytes returns the number of the list's field in a Feature, and the bytes of the list.
func (f *Feature) listBytes() (number byte, n int) {
	switch {
	case f.Floats != nil:
		return 2, fieldBytes(4 * len(f.Floats))
	case f.Ints != nil:
		return 3, fieldBytes(f.intBytes())
	}
	for _, p := range f.Bytes {
		n += fieldBytes(len(p))
	}
	return 1, n
}

func (f *Feature) intBytes() (n int) {
	for _, v := range f.Ints {
		n += varintBytes(uint64(v))
	}
	return n
}

// entryBytes returns the bytes of a feature with its name.
func (f *Feature) entryBytes() int {
	_, list := f.listBytes()
	return fieldBytes(len(f.Name)) + fieldBytes(fieldBytes(list))
}

// fieldBytes returns the bytes of a field with its tag and length.
func fieldBytes(n int) int { return 1 + varintBytes(uint64(n)) + n }

func appendHead(dst []byte, tag byte, n int) []byte {
	return binary.AppendUvarint(append(dst, tag), uint64(n))
}

func varintBytes(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}

// WriteRecord writes a record with its length and checksums.
func WriteRecord(w io.Writer, data []byte) error {
	if len(data) > maxRecord {
		return errs.New(errs.Invalid, "the record has %d bytes, want at most %d", len(data), int64(maxRecord))
	}
	var head [headBytes]byte
	binary.LittleEndian.PutUint64(head[:], uint64(len(data)))
	binary.LittleEndian.PutUint32(head[8:], checksum(head[:8]))
	if _, err := w.Write(head[:]); err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	var tail [tailBytes]byte
	binary.LittleEndian.PutUint32(tail[:], checksum(data))
	_, err := w.Write(tail[:])
	return err
}
