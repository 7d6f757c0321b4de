package mds

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"deeplake/core/arrow/gather"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// newColumn returns the column of an encoding.
func newColumn(text string) (gather.Column, error) {
	name, parameters := encoding(text)
	switch name {
	case "str", "str_decimal":
		return &gather.Texts{Format: "U"}, nil
	case "json":
		return &gather.Texts{Format: "U", JSON: true}, nil
	case "bytes":
		return &gather.Texts{Format: "Z"}, nil
	case "int":
		return &gather.Numbers{DType: tensor.Int64}, nil
	case "str_int":
		return &gather.Numbers{DType: tensor.Int64, Digits: true}, nil
	case "str_float":
		return &gather.Numbers{DType: tensor.Float64, Digits: true}, nil
	case "jpeg", "png":
		return &gather.Files{}, nil
	case "jpeg_array", "jpegarray":
		return &gather.Files{List: true}, nil
	case "list[jpeg]", "list[png]":
		return &gather.Files{List: true, Zero: true}, nil
	case "pil":
		return &gather.Arrays{Read: gather.Pixels}, nil
	case "ndarray":
		return newArrays(parameters)
	case "pkl":
		return nil, errs.New(errs.Unsupported, "has pickles, which can run programs; leave the column out by columns=")
	}
	if d := gather.DTypeOf(name); d != 0 {
		return &gather.Numbers{DType: d}, nil
	}
	return nil, errs.New(errs.Unsupported, "has the encoding %q, which is none that is read; leave the column out by columns=", text)
}

// arrayType returns the dtype of arrays with a code; 0: none.
func arrayType(code byte) tensor.DType {
	return map[byte]tensor.DType{
		8: tensor.Uint8, 9: tensor.Int8, 16: tensor.Uint16, 17: tensor.Int16, 18: tensor.Float16, 32: tensor.Uint32, 33: tensor.Int32, 34: tensor.Float32,
		64: tensor.Uint64, 65: tensor.Int64, 66: tensor.Float64,
	}[code]
}

// newArrays returns the column of arrays whose encoding may state a dtype, and then a shape.
func newArrays(parameters []string) (gather.Column, error) {
	var dtype tensor.DType
	var fixed []int64
	if len(parameters) > 0 {
		if dtype = gather.DTypeOf(parameters[0]); dtype == 0 {
			return nil, errs.New(errs.Unsupported, "has arrays of %q", parameters[0])
		}
	}
	if len(parameters) > 1 {
		for text := range strings.SplitSeq(parameters[1], ",") {
			n, err := strconv.ParseInt(text, 10, 32)
			if err != nil || n < 0 {
				return nil, errs.New(errs.Corrupt, "has arrays of the shape %q", parameters[1])
			}
			fixed = append(fixed, n)
		}
	}
	return &gather.Arrays{DType: dtype, Read: func(p []byte) (tensor.DType, []int64, []byte, error) {
		d := dtype
		if d == 0 {
			if len(p) == 0 || arrayType(p[0]) == 0 {
				return 0, nil, nil, errs.New(errs.Corrupt, "has an array without a dtype")
			}
			d, p = arrayType(p[0]), p[1:]
		}
		if fixed != nil {
			return d, fixed, p, nil
		}
		shape, rest, err := shapeOf(p)
		return d, shape, rest, err
	}}, nil
}

// shapeOf reads a shape: a byte with the number of axes and the width of their sizes.
func shapeOf(p []byte) (shape []int64, rest []byte, err error) {
	if len(p) == 0 {
		return nil, nil, errs.New(errs.Corrupt, "has an array without a shape")
	}
	axes, width := int(p[0]>>2), 1<<(p[0]&3)
	if p = p[1:]; len(p) < axes*width {
		return nil, nil, errs.New(errs.Corrupt, "has an array whose shape is cut")
	}
	for range axes {
		var size [8]byte
		copy(size[:], p[:width])
		n := binary.LittleEndian.Uint64(size[:])
		if n > math.MaxInt32 {
			return nil, nil, errs.New(errs.Corrupt, "has an array with an axis of %d", n)
		}
		shape, p = append(shape, int64(n)), p[width:]
	}
	return shape, p, nil
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
