package ffcv

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"slices"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

const (
	version     = 2
	headerBytes = 24
	// A field has its type, its name and its arguments.
	nameBytes  = 16
	fieldBytes = 1 + nameBytes + 1024
	// allocationBytes are the number of a sample, a position and a size.
	allocationBytes = 24
	// maxFields bounds the fields, maxValue a value, and maxAllocations the table of allocations.
	maxFields      = 1 << 10
	maxValue       = 1 << 30
	maxAllocations = 1 << 26
)

// kind is the type of a field, as a file states it.
type kind uint8

const (
	kindFloat  kind = 0
	kindInt    kind = 1
	kindImage  kind = 2
	kindBytes  kind = 3
	kindArray  kind = 4
	kindJSON   kind = 5
	kindTensor kind = 6
	kindCustom kind = 255
)

// field is a column of the samples.
type field struct {
	name string
	kind kind
	at   int64 // of its value in a record
	// of arrays
	dtype   tensor.DType
	swapped bool // numbers are big-endian
	shape   []int64
	bytes   int64 // of an array
	err     error // the field cannot be read
}

// size returns the bytes of a field in a record, and what their position is a multiple of. Structs
// of NumPy that are not aligned themselves may begin anywhere.
func (k kind) size() (size, align int64) {
	switch k {
	case kindImage:
		return 13, 1
	case kindBytes, kindJSON:
		return 16, 1
	}
	return 8, 8
}

// readHeader reads what precedes the records.
func (f *File) readHeader(ctx context.Context) error {
	var head [headerBytes]byte
	if f.size < headerBytes {
		return errs.New(errs.Corrupt, "it has %d bytes, and a header alone %d; this is no file of FFCV, or it is cut", f.size, headerBytes)
	}
	if err := f.from.ReadAt(ctx, head[:], 0); err != nil {
		return err
	}
	le := binary.LittleEndian
	fields, page, samples, table := int64(le.Uint16(head[2:])), int64(le.Uint32(head[4:])), le.Uint64(head[8:]), le.Uint64(head[16:])
	switch v := le.Uint16(head[:]); {
	case v != version:
		return errs.New(errs.Unsupported, "it has version %d, want %d; this is no file of FFCV, or one of another version", v, version)
	case page == 0 || bits.OnesCount64(uint64(page)) != 1:
		return errs.New(errs.Corrupt, "its pages have %d bytes, want a power of two; this is no file of FFCV, or it is damaged", page)
	case fields == 0 || fields > maxFields:
		return errs.New(errs.Invalid, "it states %d fields, want 1 to %d", fields, maxFields)
	case table == 0:
		return errs.New(errs.Corrupt, "it has no table of allocations, which FFCV writes last: its writer did not end; write the file again")
	case table > uint64(f.size) || (f.size-int64(table))%allocationBytes != 0:
		return errs.New(errs.Corrupt, "its table of allocations begins at byte %d, and the file has %d: it is cut or damaged", table, f.size)
	}
	f.page, f.table = page, int64(table)
	f.records = headerBytes + fields*fieldBytes
	if f.records > f.table {
		return errs.New(errs.Corrupt, "it states %d fields, which end at byte %d, and its table of allocations begins at byte %d", fields, f.records, f.table)
	}
	text := make([]byte, fields*fieldBytes)
	if err := f.from.ReadAt(ctx, text, headerBytes); err != nil {
		return err
	}
	if err := f.parseFields(text); err != nil {
		return err
	}
	if most := (f.table - f.records) / f.record; samples > uint64(most) {
		return errs.New(errs.Corrupt, "it states %d samples of %d bytes, and there are bytes for %d", samples, f.record, most)
	}
	f.rows = int64(samples)
	f.data = f.records + f.rows*f.record
	if over := f.data % f.page; over != 0 {
		f.data += f.page - over
	}
	return nil
}

// parseFields reads the fields, and lays out a record as a C compiler does.
func (f *File) parseFields(text []byte) error {
	at, most := int64(0), int64(1)
	for i := range len(text) / fieldBytes {
		p := text[i*fieldBytes:][:fieldBytes]
		one := field{kind: kind(p[0])}
		name, _, _ := bytes.Cut(p[1:1+nameBytes], []byte{0})
		one.name = string(name)
		isPlain := !slices.ContainsFunc(name, func(b byte) bool { return b < 0x20 || b >= 0x7f })
		switch {
		case one.name == "" || !isPlain:
			return errs.New(errs.Corrupt, "field %d has the name %q, want ASCII; this is no file of FFCV, or it is damaged", i, name)
		case slices.ContainsFunc(f.fields, func(o field) bool { return o.name == one.name }):
			return errs.New(errs.Corrupt, "two fields have the name %q; FFCV cuts names at %d characters", one.name, nameBytes)
		case one.kind == kindCustom:
			return errs.New(errs.Unsupported, "field %q has a custom type, whose bytes only its writer's program knows (type %d); write the file without it", one.name, one.kind)
		case one.kind > kindTensor:
			return errs.New(errs.Unsupported, "field %q has type %d, want a float, an int, an image, bytes, an array, JSON or a tensor (0 to %d)", one.name, one.kind, kindTensor)
		case one.kind == kindArray || one.kind == kindTensor:
			one.err = one.parseArray(p[1+nameBytes:])
		}
		size, align := one.kind.size()
		at = aligned(at, align)
		one.at = at
		at, most = at+size, max(most, align)
		f.fields = append(f.fields, one)
	}
	f.record = aligned(at, most)
	return nil
}

func aligned(n, to int64) int64 { return (n + to - 1) / to * to }

// parseArray reads the shape and the dtype of arrays.
func (f *field) parseArray(p []byte) error {
	const axes = 32
	for i := range axes {
		n := binary.LittleEndian.Uint64(p[8*i:])
		if n > maxValue {
			return errs.New(errs.Corrupt, "has arrays with an axis of %d", n)
		}
		f.shape = append(f.shape, int64(n))
	}
	for len(f.shape) > 0 && f.shape[len(f.shape)-1] == 0 { // there is no number of axes
		f.shape = f.shape[:len(f.shape)-1]
	}
	n, text := binary.LittleEndian.Uint64(p[8*axes:]), p[8*axes+8:]
	if n > uint64(len(text)) {
		return errs.New(errs.Corrupt, "describes its dtype by %d bytes, want at most %d", n, len(text))
	}
	var all [][]json.RawMessage
	var descr string
	if json.Unmarshal(text[:n], &all) != nil || len(all) != 1 || len(all[0]) != 2 || json.Unmarshal(all[0][1], &descr) != nil {
		return errs.New(errs.Unsupported, "has arrays of the dtype %.60q, want numbers", text[:n])
	}
	order, name := "", descr
	if descr != "" && strings.ContainsAny(descr[:1], "<>|=") {
		order, name = descr[:1], descr[1:]
	}
	f.dtype, f.swapped = dtypes[name], order == ">" && name[1] != '1'
	if f.dtype == 0 {
		return errs.New(errs.Unsupported, "has arrays of the dtype %q, want bools, integers or floats of 16, 32 or 64 bits", descr)
	}
	size, err := tensor.Shape(f.shape).Bytes(f.dtype)
	if err != nil || len(f.shape) > tensor.MaxDims || size > maxValue {
		return errs.New(errs.Unsupported, "has arrays of %s and shape %v, want at most %d axes and %d bytes", f.dtype, f.shape, tensor.MaxDims, maxValue)
	}
	f.bytes = size
	return nil
}

// dtypes are those of NumPy, without the order of bytes.
var dtypes = map[string]tensor.DType{
	"b1": tensor.Bool, "i1": tensor.Int8, "u1": tensor.Uint8, "i2": tensor.Int16, "u2": tensor.Uint16, "i4": tensor.Int32, "u4": tensor.Uint32,
	"i8": tensor.Int64, "u8": tensor.Uint64, "f2": tensor.Float16, "f4": tensor.Float32, "f8": tensor.Float64,
}
