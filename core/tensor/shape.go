package tensor

import (
	"slices"
	"strconv"
	"strings"

	"deeplake/core/errs"
)

// MaxDims is the largest number of axes of a sample.
const MaxDims = 32

// MaxSampleBytes bounds a sample, so that a hostile shape cannot ask for more memory than any
// machine has.
const MaxSampleBytes = 1 << 40

// Shape is the size of a sample along each axis, outermost first. Axis sizes are >= 0; in a schema
// -1 means "varies".
type Shape []int64

// Elements is the product of the axes. It fails on a negative axis, too many axes, and a product
// over MaxSampleBytes, in which axes of 0 do not count: nothing may overflow on the way to 0.
func (s Shape) Elements() (int64, error) {
	if len(s) > MaxDims {
		return 0, errs.New(errs.Invalid, "shape has %d axes, want at most %d", len(s), MaxDims)
	}
	n := int64(1)
	zero := false
	for _, d := range s {
		switch {
		case d < 0:
			return 0, errs.New(errs.Invalid, "shape %s has a negative axis", s)
		case d == 0:
			zero = true
		case n > MaxSampleBytes/d:
			return 0, errs.New(errs.Invalid, "shape %s has more than %d elements", s, int64(MaxSampleBytes))
		default:
			n *= d
		}
	}
	if zero {
		return 0, nil
	}
	return n, nil
}

// Bytes is the size of a C-order array of this shape.
func (s Shape) Bytes(d DType) (int64, error) {
	n, err := s.Elements()
	if err != nil {
		return 0, err
	}
	if n > MaxSampleBytes/int64(max(d.Size(), 1)) {
		return 0, errs.New(errs.Invalid, "shape %s of %s has more than %d bytes", s, d, int64(MaxSampleBytes))
	}
	return n * int64(d.Size()), nil
}

// Equal reports whether both shapes have the same axes.
func (s Shape) Equal(o Shape) bool {
	if len(s) != len(o) {
		return false
	}
	for i := range s {
		if s[i] != o[i] {
			return false
		}
	}
	return true
}

// Clone is a copy that shares nothing. The shape of a scalar stays distinct from nil.
func (s Shape) Clone() Shape { return slices.Clone(s) }

// String renders "(2, 3)", with "?" for an axis that varies.
func (s Shape) String() string {
	parts := make([]string, len(s))
	for i, d := range s {
		parts[i] = strconv.FormatInt(d, 10)
		if d < 0 {
			parts[i] = "?"
		}
	}
	if len(s) == 1 {
		return "(" + parts[0] + ",)"
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
