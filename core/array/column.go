package array

import (
	"deeplake/core/tensor"
)

// Unit is the unit that the numbers of a column count.
type Unit uint8

// The units. All have dtype int64.
const (
	None      Unit = iota
	Date           // days since 1970-01-01
	Timestamp      // microseconds since 1970-01-01 00:00:00, no time zone
	Interval       // microseconds; calendar months are no interval
)

// Unranked as Type.Dims means an unknown number of axes, or one that differs between rows.
const Unranked = -1

// Type describes a column before any of its rows is read.
type Type struct {
	// of the elements; 0: there are none, as of NULL. float16 and bfloat16 come as float32
	DType tensor.DType
	Unit  Unit
	Dims  int          // axes of a row, 0 for scalars; Unranked
	Shape tensor.Shape // len Dims, -1 if rows differ; nil: nothing is known
	List  bool         // a row is a list of values of this type: a sequence, or a group
	HType string       // the meaning, as of a tensor: "bbox"; "": generic
	Names []string     // class names: numbers stand for these; nil: none
	Boxes string       // of bbox: "LTRB" (left, top, right, bottom), "LTWH" or "CCWH"; "" is LTRB
	// A number written in the query. It takes the dtype of the other operand, as a Python number
	// does in NumPy.
	Weak    bool
	BoxUnit BoxUnit // of bbox: what its numbers count
}

// BoxUnit is the meaning of the numbers of boxes. It is a byte, because types are copied often.
type BoxUnit uint8

// The units of boxes.
const (
	NoBoxUnit  BoxUnit = iota // pixels, without saying so
	Pixel                     // pixels
	Fractional                // shares of the picture's width and height
)

var boxUnits = [...]string{NoBoxUnit: "", Pixel: "pixel", Fractional: "fractional"}

// String names the unit as the info of a tensor does.
func (u BoxUnit) String() string { return boxUnits[u] }

// Scalar reports whether each row is a single value.
func (t Type) Scalar() bool { return t.Dims == 0 && !t.List }

// Column is N rows of values. It is immutable, so columns may share memory and be used in parallel.
//
// Exactly one of Data and Items is set, except for N == 0, a column of dtype 0, and Const.
type Column struct {
	Type
	N     int
	Const bool   // all rows are equal: Data, Null, Shapes, Starts, Items and Ends hold one row
	Null  []bool // one a row; nil: no NULL. The values of a NULL row are zeros or nothing

	// Rows of one shape: Same is it, and Data has its elements times the rows. Else Shapes has the
	// shape of each row, nil for NULL, and row i is Data[Starts[i]:Starts[i+1]].
	Same   tensor.Shape
	Shapes []tensor.Shape
	Starts []int

	// Data is []bool, []uint8, []uint16, []uint32, []uint64, []int8, []int16, []int32, []int64,
	// []float32, []float64 or []string (of text, JSON and bytes; one element a row).
	Data any

	// Of a List: the items of row i are rows Ends[i-1] (0 for the first) to Ends[i] of Items.
	Items *Column
	Ends  []int
}
