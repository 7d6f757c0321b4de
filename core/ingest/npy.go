package ingest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"deeplake/core/tensor"
)

// maxArrayHeader bounds the header of an NPY file, as NumPy does.
const maxArrayHeader = 10_000

// arrayTypes are the dtypes of NPY files by their name without the byte order.
var arrayTypes = map[string]tensor.DType{
	"b1": tensor.Bool, "u1": tensor.Uint8, "u2": tensor.Uint16, "u4": tensor.Uint32, "u8": tensor.Uint64,
	"i1": tensor.Int8, "i2": tensor.Int16, "i4": tensor.Int32, "i8": tensor.Int64,
	"f2": tensor.Float16, "f4": tensor.Float32, "f8": tensor.Float64, "c8": tensor.Complex64, "c16": tensor.Complex128,
}

// The header of an NPY file is a literal of Python, a dict with these keys in any order.
var (
	arrayDescr   = regexp.MustCompile(`['"]descr['"]\s*:\s*(?:['"]([^'"]*)['"]|\S)`)
	arrayShape   = regexp.MustCompile(`['"]shape['"]\s*:\s*\(([0-9L,\s]*)\)`)
	arrayFortran = regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)`)
)

// readArray reads an NPY file of size bytes. It allocates memory for the elements only after the
// header has told as many bytes as there are. reason is a fault of the file, err one of data.
func readArray(data io.Reader, size int64) (s tensor.Sample, reason string, err error) {
	const none = "not an NPY file"
	start := make([]byte, 8, 12)
	if size < int64(cap(start)) {
		return s, none, nil
	}
	if _, err := io.ReadFull(data, start); err != nil {
		return s, "", err
	}
	if !bytes.HasPrefix(start, []byte("\x93NUMPY")) {
		return s, none, nil
	}
	field := 2 // bytes of the length of the header
	if start[6] > 1 {
		field = 4
	}
	length := start[8 : 8+field]
	if _, err := io.ReadFull(data, length); err != nil {
		return s, "", err
	}
	n := int64(binary.LittleEndian.Uint32(append(slices.Clone(length), 0, 0)))
	switch left := size - 8 - int64(field); {
	case start[6] < 1 || start[6] > 3:
		return s, fmt.Sprintf("an NPY file of version %d, want 1 to 3", start[6]), nil
	case n > maxArrayHeader:
		return s, fmt.Sprintf("its header has %d bytes, want at most %d", n, maxArrayHeader), nil
	case n > left:
		return s, fmt.Sprintf("its header has %d bytes, and %d are left", n, left), nil
	}
	header := make([]byte, n)
	if _, err := io.ReadFull(data, header); err != nil {
		return s, "", err
	}
	swapped := false
	if s.DType, s.Shape, swapped, reason = arrayOf(string(header)); reason != "" {
		return s, reason, nil
	}
	want, bad := s.Shape.Bytes(s.DType)
	if have := size - 8 - int64(field) - n; bad != nil || want != have {
		return s, fmt.Sprintf("an array of shape %s and dtype %s, and %d bytes follow its header", s.Shape, s.DType, have), nil
	}
	s.Data = make([]byte, want)
	if _, err := io.ReadFull(data, s.Data); err != nil {
		return s, "", err
	}
	normalize(s.DType, swapped, s.Data)
	return s, "", nil
}

// arrayOf reads the header of an NPY file. swapped says that elements begin with their high byte.
func arrayOf(header string) (d tensor.DType, shape tensor.Shape, swapped bool, reason string) {
	descr, axes, order := arrayDescr.FindStringSubmatch(header), arrayShape.FindStringSubmatch(header), arrayFortran.FindStringSubmatch(header)
	if descr == nil {
		return 0, nil, false, "its header gives no dtype"
	}
	name := strings.TrimLeft(descr[1], "<>=|")
	d, known := arrayTypes[name]
	switch {
	case name == "":
		return 0, nil, false, "a structured array; store its fields as arrays of their own"
	case name[0] == 'O':
		return 0, nil, false, "it holds Python objects, which are not read; store numbers, or JSON in a .json member"
	case !known:
		return 0, nil, false, fmt.Sprintf("its dtype is %.50q, want bool, integers, floats or complex numbers; convert it with astype", descr[1])
	case axes == nil || order == nil:
		return 0, nil, false, "its header gives no shape and order"
	}
	shape = tensor.Shape{}
	for axis := range strings.SplitSeq(axes[1], ",") {
		if axis = strings.TrimSuffix(strings.TrimSpace(axis), "L"); axis == "" {
			continue
		}
		n, err := strconv.ParseInt(axis, 10, 64)
		if err != nil || len(shape) == tensor.MaxDims {
			return 0, nil, false, fmt.Sprintf("its shape is (%.100s), want at most %d axes of at most 2^63 - 1", axes[1], tensor.MaxDims)
		}
		shape = append(shape, n)
	}
	if order[1] == "True" && len(shape) > 1 {
		return 0, nil, false, "its elements are in Fortran order; store numpy.ascontiguousarray of it"
	}
	return d, shape, descr[1][0] == '>', ""
}

// normalize makes elements little-endian, and bools 0 or 1.
func normalize(d tensor.DType, swapped bool, p []byte) {
	size := d.Size()
	if d == tensor.Complex64 || d == tensor.Complex128 {
		size /= 2
	}
	for at := 0; swapped && at < len(p); at += size {
		slices.Reverse(p[at : at+size])
	}
	if d != tensor.Bool {
		return
	}
	for i := range p {
		p[i] = min(p[i], 1)
	}
}
