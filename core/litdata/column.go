package litdata

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"deeplake/core/arrow/gather"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// imageNames are the ends of names of image files.
func imageNames() []string {
	return []string{"jpg", "jpeg", "png", "webp", "bmp", "gif", "tif", "tiff"}
}

// newColumn returns the column of an encoding.
func newColumn(encoding string) (gather.Column, error) {
	name, parameter, _ := strings.Cut(encoding, ":")
	switch name {
	case "str", "text":
		return &gather.Texts{Format: "U"}, nil
	case "json":
		return &gather.Texts{Format: "U", JSON: true, Plain: plainJSON}, nil
	case "bytes", "video", "audio", "nifti", "mesh", "pdf", "tifffile", "tiff":
		return &gather.Texts{Format: "Z"}, nil
	case "int":
		return &gather.Numbers{DType: tensor.Int64}, nil
	case "float":
		return &gather.Numbers{DType: tensor.Float64}, nil
	case "bool":
		return &gather.Numbers{DType: tensor.Bool}, nil
	case "file":
		if !slices.Contains(imageNames(), parameter) {
			return &gather.Texts{Format: "Z"}, nil
		}
		return &gather.Files{}, nil
	case "jpeg", "image":
		return &gather.Files{}, nil
	case "jpeg_array":
		return &gather.Files{List: true}, nil
	case "pil":
		return &gather.Arrays{Read: gather.Pixels}, nil
	case "numpy":
		return &gather.Arrays{Read: numpyArray}, nil
	case "tensor":
		return &gather.Arrays{Read: torchArray}, nil
	case "no_header_numpy":
		return flat(parameter, numpyType)
	case "no_header_tensor":
		return flat(parameter, torchType)
	case "pickle", "graph":
		return nil, errs.New(errs.Unsupported, "has pickles, which can run programs; leave the value out by columns=")
	}
	return nil, errs.New(errs.Unsupported, "has the encoding %q, which is none that is read; leave the value out by columns=", encoding)
}

// numpyType returns the dtype of NumPy with a number; 0: none that arrays have.
func numpyType(n uint32) tensor.DType {
	all := []tensor.DType{
		tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64, tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64,
		tensor.Float16, tensor.Float32, tensor.Float64, 0, 0, tensor.Bool,
	}
	if n >= uint32(len(all)) {
		return 0
	}
	return all[n]
}

// torchType returns the dtype of PyTorch with a number; 0: none that arrays have.
func torchType(n uint32) tensor.DType {
	all := []tensor.DType{
		tensor.Float32, tensor.Float32, tensor.Float64, tensor.Float64, 0, 0, 0, 0, tensor.Float16, tensor.Float16, 0, tensor.Uint8, tensor.Int8,
		tensor.Int16, tensor.Int16, tensor.Int32, tensor.Int32, tensor.Int64, tensor.Int64, tensor.Bool, tensor.Uint16,
	}
	if n >= uint32(len(all)) {
		return 0
	}
	return all[n]
}

// noType is the error of a dtype that arrays cannot have.
func noType(n any) error {
	return errs.New(errs.Unsupported, "has arrays of the dtype with number %v, want integers, floats of 16 to 64 bits, or bools; leave the value out by columns=", n)
}

// flat returns the column of arrays with one axis, whose encoding states the dtype.
func flat(parameter string, typeOf func(uint32) tensor.DType) (gather.Column, error) {
	n, err := strconv.ParseUint(parameter, 10, 32)
	if err != nil || typeOf(uint32(n)) == 0 {
		return nil, noType(parameter)
	}
	d := typeOf(uint32(n))
	return &gather.Arrays{DType: d, Read: func(p []byte) (tensor.DType, []int64, []byte, error) {
		return d, []int64{int64(len(p) / d.Size())}, p, nil
	}}, nil
}

func numpyArray(p []byte) (d tensor.DType, shape []int64, data []byte, err error) {
	return shaped(p, binary.LittleEndian, numpyType)
}

func torchArray(p []byte) (d tensor.DType, shape []int64, data []byte, err error) {
	return shaped(p, binary.BigEndian, torchType)
}

// shaped reads an array: the number of its dtype, that of its axes, their sizes, and its elements,
// which are little-endian in either case.
func shaped(p []byte, order binary.ByteOrder, typeOf func(uint32) tensor.DType) (d tensor.DType, shape []int64, data []byte, err error) {
	if len(p) < 8 {
		return 0, nil, nil, errs.New(errs.Corrupt, "has %d bytes for an array", len(p))
	}
	number, axes := order.Uint32(p), int64(order.Uint32(p[4:]))
	if d = typeOf(number); d == 0 {
		return 0, nil, nil, noType(number)
	}
	if p = p[8:]; axes > tensor.MaxDims || 4*axes > int64(len(p)) {
		return 0, nil, nil, errs.New(errs.Corrupt, "has an array of %d axes in %d bytes, want at most %d axes", axes, len(p), tensor.MaxDims)
	}
	shape = make([]int64, axes)
	for i := range shape {
		n := order.Uint32(p[4*i:])
		if n > math.MaxInt32 {
			return 0, nil, nil, errs.New(errs.Corrupt, "has an array with an axis of %d", n)
		}
		shape[i] = int64(n)
	}
	return d, shape, p[4*axes:], nil
}
