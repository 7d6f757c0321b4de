// Package tensor owns the types of values: DType, Shape, HType, Sample, and the arithmetic of
// indices. It does no I/O and knows no codec.
package tensor

import (
	"strings"

	"deeplake/core/errs"
)

// DType is an element type. The numeric values are stored in chunks and schemas and never change.
type DType uint8

// The dtypes. String and JSON are UTF-8, Bytes is opaque; these three have no fixed element size
// and no shape.
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

var dtypes = map[DType]string{
	Bool: "bool", Uint8: "uint8", Uint16: "uint16", Uint32: "uint32", Uint64: "uint64",
	Int8: "int8", Int16: "int16", Int32: "int32", Int64: "int64",
	Float16: "float16", BFloat16: "bfloat16", Float32: "float32", Float64: "float64",
	Complex64: "complex64", Complex128: "complex128",
	String: "string", JSON: "json", Bytes: "bytes",
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
		if dtypes[d] == name {
			return d, nil
		}
		names = append(names, dtypes[d])
	}
	return 0, errs.New(errs.Type, "unknown dtype %q (want one of %s)%s", name, strings.Join(names, ", "), errs.Suggest(name, names))
}

// Valid reports whether d is a known dtype.
func (d DType) Valid() bool { _, ok := dtypes[d]; return ok }

// Size is the number of bytes of one element, 0 for String, JSON and Bytes.
func (d DType) Size() int {
	switch d {
	case Bool, Uint8, Int8:
		return 1
	case Uint16, Int16, Float16, BFloat16:
		return 2
	case Uint32, Int32, Float32:
		return 4
	case Uint64, Int64, Float64, Complex64:
		return 8
	case Complex128:
		return 16
	}
	return 0
}

// Fixed reports whether elements have a fixed size, so that samples are arrays.
func (d DType) Fixed() bool { return d.Size() > 0 }

// String is the NumPy name.
func (d DType) String() string {
	if n, ok := dtypes[d]; ok {
		return n
	}
	return "dtype(?)"
}
