// Package tensor owns the vocabulary of values: DType, Shape, HType, Sample and the arithmetic of indices. It does no
// I/O and knows no codec.
package tensor

import (
	"strings"

	"deeplake/core/errs"
)

// DType is an element type. The numeric values are stored in chunks and schemas and never change.
type DType uint8

// The dtypes. String and JSON are UTF-8, Bytes is opaque; these three have no fixed element size and no shape.
const (
	Bool       DType = 1
	Uint8      DType = 2
	Uint16     DType = 3
	Uint32     DType = 4
	Uint64     DType = 5
	Int8       DType = 6
	Int16      DType = 7
	Int32      DType = 8
	Int64      DType = 9
	Float16    DType = 10
	BFloat16   DType = 11
	Float32    DType = 12
	Float64    DType = 13
	Complex64  DType = 14
	Complex128 DType = 15
	String     DType = 32
	JSON       DType = 33
	Bytes      DType = 34
)

var dtypes = map[DType]struct {
	name string
	size int
}{
	Bool: {"bool", 1}, Uint8: {"uint8", 1}, Uint16: {"uint16", 2}, Uint32: {"uint32", 4}, Uint64: {"uint64", 8},
	Int8: {"int8", 1}, Int16: {"int16", 2}, Int32: {"int32", 4}, Int64: {"int64", 8},
	Float16: {"float16", 2}, BFloat16: {"bfloat16", 2}, Float32: {"float32", 4}, Float64: {"float64", 8},
	Complex64: {"complex64", 8}, Complex128: {"complex128", 16},
	String: {"string", 0}, JSON: {"json", 0}, Bytes: {"bytes", 0},
}

// DTypes lists every dtype in order of its stored value.
func DTypes() []DType {
	return []DType{Bool, Uint8, Uint16, Uint32, Uint64, Int8, Int16, Int32, Int64, Float16, BFloat16, Float32, Float64,
		Complex64, Complex128, String, JSON, Bytes}
}

// ParseDType finds a dtype by its NumPy name.
func ParseDType(name string) (DType, error) {
	names := make([]string, 0, len(dtypes))
	for _, d := range DTypes() {
		if dtypes[d].name == name {
			return d, nil
		}
		names = append(names, dtypes[d].name)
	}
	return 0, errs.New(errs.Type, "unknown dtype %q (want one of %s)%s", name, strings.Join(names, ", "), errs.Suggest(name, names))
}

// Valid reports whether d is a known dtype.
func (d DType) Valid() bool { _, ok := dtypes[d]; return ok }

// Size is the number of bytes of one element, 0 for String, JSON and Bytes.
func (d DType) Size() int { return dtypes[d].size }

// Fixed reports whether elements have a fixed size, so that samples are arrays.
func (d DType) Fixed() bool { return dtypes[d].size > 0 }

// String is the NumPy name.
func (d DType) String() string {
	if n, ok := dtypes[d]; ok {
		return n.name
	}
	return "dtype(?)"
}
