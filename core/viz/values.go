package viz

import (
	"context"
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/session"
	"deeplake/core/tensor"
)

// numbers reads a column of single numbers: 0 where one is missing.
func numbers(ctx context.Context, v *session.View, name string) ([]float64, error) {
	col, err := v.Column(name)
	if err != nil {
		return nil, err
	}
	rows := make([]int64, v.Len())
	for i := range rows {
		rows[i] = int64(i)
	}
	refs := make([]chunk.Ref, len(rows))
	if err := col.Resolve(ctx, rows, refs); err != nil {
		return nil, err
	}
	w := v.NewWorker()
	defer w.Close()
	out := make([]float64, len(rows))
	data := make([]byte, 8)
	for i := range refs {
		if refs[i].Hole() {
			continue
		}
		if refs[i].Size > int64(len(data)) {
			return nil, errs.Op("read column", name).New(errs.Internal, "row %d has %d bytes, want a number", i, refs[i].Size)
		}
		if err := col.Decode(ctx, &refs[i], data[:refs[i].Size], w); err != nil {
			return nil, err
		}
		if out[i], err = numberOf(col.DType(), data[:refs[i].Size]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// numberOf returns a number of any dtype that queries compute.
func numberOf(d tensor.DType, data []byte) (float64, error) {
	if len(data) != d.Size() {
		return 0, errs.New(errs.Internal, "a number of %s has %d bytes", d, len(data))
	}
	bits := make([]byte, 8)
	copy(bits, data)
	u := binary.LittleEndian.Uint64(bits)
	switch d {
	case tensor.Bool, tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64:
		return float64(u), nil
	case tensor.Int8:
		return float64(int8(u)), nil
	case tensor.Int16:
		return float64(int16(u)), nil
	case tensor.Int32:
		return float64(int32(u)), nil
	case tensor.Int64:
		return float64(int64(u)), nil
	case tensor.Float32:
		return float64(math.Float32frombits(uint32(u))), nil
	case tensor.Float64:
		return math.Float64frombits(u), nil
	}
	return 0, errs.New(errs.Internal, "a number of %s", d)
}

// sortedRows returns the rows of a set, at most mostListed.
func sortedRows(set map[int64]bool) []int64 {
	rows := append([]int64{}, slices.Sorted(maps.Keys(set))...)
	return rows[:min(len(rows), mostListed)]
}

// element returns number i of an array. Complex numbers and text have none.
func element(d tensor.DType, data []byte, i int) float64 {
	switch d {
	case tensor.Bool, tensor.Uint8:
		return float64(data[i])
	case tensor.Int8:
		return float64(int8(data[i]))
	case tensor.Uint16:
		return float64(binary.LittleEndian.Uint16(data[2*i:]))
	case tensor.Int16:
		return float64(int16(binary.LittleEndian.Uint16(data[2*i:])))
	case tensor.Uint32:
		return float64(binary.LittleEndian.Uint32(data[4*i:]))
	case tensor.Int32:
		return float64(int32(binary.LittleEndian.Uint32(data[4*i:])))
	case tensor.Uint64:
		return float64(binary.LittleEndian.Uint64(data[8*i:]))
	case tensor.Int64:
		return float64(int64(binary.LittleEndian.Uint64(data[8*i:])))
	case tensor.Float32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
	case tensor.Float64:
		return math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
	case tensor.Float16:
		return fromFloat16(binary.LittleEndian.Uint16(data[2*i:]))
	case tensor.BFloat16:
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(data[2*i:])) << 16))
	}
	return math.NaN()
}

func fromFloat16(bits uint16) float64 {
	sign, exponent, fraction := 1.0, int(bits>>10&31), float64(bits&1023)
	if bits>>15 != 0 {
		sign = -1
	}
	switch {
	case exponent == 31 && fraction != 0:
		return math.NaN()
	case exponent == 31:
		return math.Inf(int(sign))
	case exponent == 0:
		return sign * math.Ldexp(fraction, -24)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}
