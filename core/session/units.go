package session

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"

	"deeplake/core/errs"
	"deeplake/core/scan"
	"deeplake/core/tensor"
)

// normal returns the rows of a parameter in a unit and a dtype that queries have. It shares data
// with in.
func normal(in tensor.Rows) (tensor.Rows, error) {
	for i, s := range in.Samples {
		if s.Form == tensor.FormArray && s.DType == tensor.Float16 {
			in.Samples = append([]tensor.Sample{}, in.Samples...)
			in.Samples[i].DType, in.Samples[i].Data = tensor.Float32, widen(s.Data)
		}
	}
	if a := in.Array; a != nil && a.DType == tensor.Float16 {
		in.Array = &tensor.Array{DType: tensor.Float32, Shape: a.Shape, Data: widen(a.Data)}
	}
	if zone, ok := strings.CutPrefix(in.Counts, "timestamp"); ok {
		in.Counts = "timestamp"
		if _, err := parseZone(zone); err != nil {
			return in, errs.New(errs.Invalid, "%w", err)
		}
		return in, nil
	}
	m := numpyUnit.FindStringSubmatch(in.Counts)
	if m == nil {
		return in, nil
	}
	a := in.Array
	if !isInt(a) {
		return in, errs.New(errs.Type, "it counts %q, and is no int64", in.Counts)
	}
	return numpyRows(m[1], m[2], m[3], int64(binary.NativeEndian.Uint64(a.Data)))
}

// isInt reports whether a is one int64.
func isInt(a *tensor.Array) bool {
	return a != nil && a.DType == tensor.Int64 && len(a.Shape) == 0 && len(a.Data) == 8
}

// numpyRows returns n units of a NumPy type as a date, a timestamp or an interval. multiple is the
// number before the unit, as in "25s". Parts of a microsecond are cut off towards the past.
func numpyRows(kind, multiple, unit string, n int64) (tensor.Rows, error) {
	if n == math.MinInt64 { // NaT
		return sampleRows(tensor.Sample{Form: tensor.FormHole}), nil
	}
	times, err := strconv.ParseInt("0"+multiple, 10, 64)
	if err != nil || times == 0 {
		times = 1
	}
	date := kind == "datetime64"
	if date && unit == "D" && multiple == "" {
		return intRows("date", n), nil
	}
	out := "interval"
	if date {
		out = "timestamp"
	}
	if per := parts[unit]; per > 0 {
		whole, err := product(n, times)
		v := whole / per
		if whole%per < 0 {
			v--
		}
		return intRows(out, v), err
	}
	if date && (unit == "Y" || unit == "M") {
		months, err := product(n, times)
		if err == nil && unit == "Y" {
			months, err = product(months, 12)
		}
		if err != nil || months < -12*300_000 || months > 12*290_000 {
			return tensor.Rows{}, errTooLong
		}
		return intRows(out, time.Date(1970, time.Month(1+months), 1, 0, 0, 0, 0, time.UTC).UnixMicro()), nil
	}
	each := micros[unit]
	v, err := product(n, times)
	if err == nil {
		v, err = product(v, each)
	}
	return intRows(out, v), err
}

// micros has the microseconds of units; months and years have their Gregorian mean. parts has the
// number of each smaller unit in a microsecond.
var (
	micros = map[string]int64{
		"": 1, "us": 1, "ms": 1e3, "s": 1e6, "m": 60e6, "h": 3600e6, "D": 86_400e6, "W": 7 * 86_400e6,
		"M": 2_629_746e6, "Y": 31_556_952e6,
	}
	parts = map[string]int64{"ns": 1e3, "ps": 1e6, "fs": 1e9, "as": 1e12}
)

var errTooLong = errs.New(errs.Invalid, "it lies beyond the microseconds that 64 bits hold")

// product returns a*b, or an error if 64 bits do not hold it.
func product(a, b int64) (int64, error) {
	if p := a * b; a == 0 || p/a == b {
		return p, nil
	}
	return 0, errTooLong
}

// widen returns float16 elements as float32.
func widen(data []byte) []byte {
	out := make([]byte, 0, 2*len(data))
	for i := 0; i+2 <= len(data); i += 2 {
		out = binary.NativeEndian.AppendUint32(out, math.Float32bits(scan.Half(binary.NativeEndian.Uint16(data[i:]))))
	}
	return out
}
