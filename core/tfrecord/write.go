package tfrecord

import (
	"encoding/binary"
	"io"
	"math"

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
	isList     = 1<<3 | inLengths // of the values of a BytesList, or the packed ones of another
)

// AppendExample appends a tf.train.Example, without a frame.
func AppendExample(dst []byte, features []Feature) []byte {
	var all, entry, value, list []byte
	for i := range features {
		f := &features[i]
		field := byte(1)
		switch list = list[:0]; {
		case f.Floats != nil:
			field = 2
			list = append(list, isList)
			list = binary.AppendUvarint(list, uint64(4*len(f.Floats)))
			for _, v := range f.Floats {
				list = binary.LittleEndian.AppendUint32(list, math.Float32bits(v))
			}
		case f.Ints != nil:
			field = 3
			n := 0
			for _, v := range f.Ints {
				n += varintBytes(uint64(v))
			}
			list = append(list, isList)
			list = binary.AppendUvarint(list, uint64(n))
			for _, v := range f.Ints {
				list = binary.AppendUvarint(list, uint64(v))
			}
		default:
			for _, p := range f.Bytes {
				list = appendField(list, isList, p)
			}
		}
		value = appendField(value[:0], field<<3|inLengths, list)
		entry = appendField(entry[:0], isKey, []byte(f.Name))
		entry = appendField(entry, isValue, value)
		all = appendField(all, isEntry, entry)
	}
	return appendField(dst, isFeatures, all)
}

func appendField(dst []byte, tag byte, p []byte) []byte {
	dst = append(dst, tag)
	dst = binary.AppendUvarint(dst, uint64(len(p)))
	return append(dst, p...)
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
