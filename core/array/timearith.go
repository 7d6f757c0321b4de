package array

import (
	"math"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

const day = 24 * 3600 * 1000000 // microseconds

// timeArith is ArithType where one side is a date, a timestamp or an interval.
func timeArith(op string, x, y Type) (Type, error) {
	what := arithNames[op]
	unit := None
	ok := true
	if x.DType == 0 {
		x = unknown(op, y)
	}
	if y.DType == 0 {
		y = unknown(op, x)
	}
	whole := func(t Type) bool { return t.Integer() }
	switch a, b := x.Unit, y.Unit; {
	case op == "-" && a == Date && b == Date:
	case op == "-" && a == Timestamp && (b == Timestamp || b == Date), op == "-" && a == Date && b == Timestamp:
		unit = Interval
	case (op == "+" || op == "-") && (a == Date || a == Timestamp) && b == Interval, op == "+" && a == Interval && (b == Date || b == Timestamp):
		unit = Timestamp
	case (op == "+" || op == "-") && a == Interval && b == Interval:
		unit = Interval
	case (op == "+" || op == "-") && a == Date && whole(y), op == "+" && b == Date && whole(x):
		unit = Date
	case (op == "*" || op == "/") && a == Interval && b == None && y.Number(), op == "*" && b == Interval && a == None && x.Number():
		unit = Interval
	default:
		ok = false
	}
	if !ok {
		return Type{}, errs.New(errs.Type, "%s of %s and %s: no such thing; want numbers, or a date or timestamp and an interval", what, x, y)
	}
	t, err := together(what, tensor.Int64, x, y)
	t.Unit = unit
	t.Weak = false
	return t, err
}

// unknown is the type of a NULL that meets a time: one with which op gives something.
func unknown(op string, other Type) Type {
	t := Type{DType: tensor.Int64, Unit: other.Unit, Shape: tensor.Shape{}}
	switch {
	case op == "*" || op == "/":
		t.Unit = None
	case op == "+":
		t.Unit = Interval
	}
	return t
}

// micros makes microseconds of dates.
func micros(c *Column) (*Column, error) {
	if c.Unit != Date {
		return c, nil
	}
	t := c.Type
	t.Unit = Timestamp
	beyond := func(v int64) bool { return v > math.MaxInt64/day || v < math.MinInt64/day }
	over := false
	out := each1(t, c, lanes[int64](c.Data), func(dst, a []int64) {
		for i, v := range a {
			over = over || beyond(v)
			dst[i] = v * day
		}
	})
	if !over {
		return out, nil
	}
	days := all[int64](c.Data)
	for i := range c.held() {
		for lo, hi := c.span(i); lo < hi && !c.IsNull(i); lo++ {
			if beyond(days[lo]) {
				return nil, inRow(errs.Range, i, "%s of row %d does not fit a timestamp, whose years go from -290307 to 294247", FormatTime(Date, days[lo]), here)
			}
		}
	}
	return out, nil
}

func arithTime(op string, t Type, x, y *Column) (*Column, error) {
	plain := t.to(tensor.Int64)
	var out *Column
	var err error
	switch {
	case op == "*" || op == "/": // of an interval
		if x.Unit != Interval {
			x, y = y, x
		}
		if op == "*" && !y.Float() {
			out, err = arithInts(op, plain, x, y)
			break
		}
		out, err = zip(arithNames[op], t.to(tensor.Float64), x, y, lanes[float64](x.Data), lanes[float64](y.Data), floatKernel[float64](op))
		if err == nil {
			out, err = Cast(out, plain)
		}
	case t.Unit == Date || t.Unit == None:
		out, err = arithInts(op, plain, x, y)
	default:
		if x, err = micros(x); err != nil {
			return nil, err
		}
		if y, err = micros(y); err != nil {
			return nil, err
		}
		out, err = arithInts(op, plain, x, y)
	}
	if err != nil {
		return nil, err
	}
	out.Type = t
	return out, nil
}
