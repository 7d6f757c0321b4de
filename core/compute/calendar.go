package compute

import (
	"strings"
	"time"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// timeFunctions returns the functions of dates and timestamps.
func timeFunctions() []Function {
	var out []Function
	for _, f := range fields {
		name := strings.ToUpper(f)
		out = append(out, Function{Name: name, Least: 1, Most: 1, Doc: name + "(x): EXTRACT(" + f + " FROM x)",
			Check: func(args []array.Type) (array.Type, error) { return ExtractType(f, args[0]) },
			Call:  func(w *array.Work, args []*array.Column) (*array.Column, error) { return Extract(w, f, args[0]) },
			Facts: Facts{Infallible: notOfDates}})
	}
	return append(out,
		Function{Name: "DATE_PART", Least: 2, Most: 2, Doc: "DATE_PART(field, x): EXTRACT of whole numbers, EPOCH(x) counts seconds", Check: func(args []array.Type) (array.Type, error) {
			if err := wantText("DATE_PART", args, 0, 1); err != nil {
				return array.Type{}, err
			}
			return ExtractType("day", args[1])
		}, Call: func(w *array.Work, args []*array.Column) (*array.Column, error) {
			field, err := constantText("DATE_PART", args[0])
			if err != nil || field == "" {
				return array.Nothing(array.Of(tensor.Int64), args[1].N), err
			}
			if strings.EqualFold(strings.TrimSuffix(strings.ToLower(field), "s"), "epoch") {
				return nil, errs.New(errs.Invalid, "DATE_PART: the epoch is no whole number; EPOCH(x) gives it")
			}
			return Extract(w, field, args[1])
		}},
		Function{Name: "DATE_TRUNC", Least: 2, Most: 2, Doc: "DATE_TRUNC(field, x): the begin of the year, quarter, month, week, day, hour, minute or second", Check: func(args []array.Type) (array.Type, error) {
			if err := wantText("DATE_TRUNC", args, 0, 1); err != nil {
				return array.Type{}, err
			}
			if x := args[1]; x.DType != 0 && x.Unit != array.Date && x.Unit != array.Timestamp {
				return array.Type{}, wrong("DATE_TRUNC", 1, x, "a date or a timestamp")
			}
			t := args[1].WithDType(tensor.Int64)
			t.Unit = array.Timestamp
			return t, nil
		}, Call: truncate},
		Function{Name: "MAKE_DATE", Least: 3, Most: 3, Doc: "MAKE_DATE(year, month, day): a date, NULL where there is none such", Check: func(args []array.Type) (array.Type, error) {
			return array.OfUnit(array.Date), wantInts("MAKE_DATE", args, 0, 3)
		}, Call: func(w *array.Work, args []*array.Column) (*array.Column, error) {
			y, m, d := ints(args[0]), ints(args[1]), ints(args[2])
			return scalars(w, array.OfUnit(array.Date), args, func(i int) (int64, bool) {
				if y(i) < -99999 || y(i) > 999999 || m(i) < 1 || m(i) > 12 || d(i) < 1 || d(i) > 31 {
					return 0, false
				}
				t := time.Date(int(y(i)), time.Month(m(i)), int(d(i)), 0, 0, 0, 0, time.UTC)
				return array.FloorDiv(t.Unix(), 86400), t.Day() == int(d(i))
			})
		}},
		Function{Name: "TO_TIMESTAMP", Least: 1, Most: 1, Doc: "TO_TIMESTAMP(seconds): seconds since 1970 as a timestamp", Check: func(args []array.Type) (array.Type, error) {
			t := args[0].WithDType(tensor.Int64)
			t.Unit = array.Timestamp
			return t, wantNumbers("TO_TIMESTAMP", args)
		}, Call: func(w *array.Work, args []*array.Column) (*array.Column, error) {
			t := args[0].Type.WithDType(tensor.Int64)
			t.Unit = array.Timestamp
			over := false
			out := array.Map(w, t, args[0], array.Lanes[float64](args[0].Data), func(dst []int64, a []float64) {
				for i, v := range a {
					if !(v > -9e12 && v < 9e12) {
						over = true
						continue
					}
					whole := int64(v)
					dst[i] = whole*1000000 + int64((v-float64(whole))*1e6+0.5*float64(array.CompareFloat(v, 0)))
				}
			})
			if over {
				return nil, errs.New(errs.Range, "TO_TIMESTAMP: a number of seconds is no time")
			}
			return out, nil
		}})
}

// constantText returns a text that is the same for all rows; "" if it is NULL.
func constantText(name string, c *array.Column) (string, error) {
	if c.DType == 0 {
		return "", nil
	}
	if !c.Const && c.N != 1 {
		for i := 1; i < c.N; i++ {
			if c.Value(i) != c.Value(0) {
				return "", errs.New(errs.Unsupported, "%s: the field differs from row to row; write it in quotes", name)
			}
		}
		if c.N == 0 {
			return "", nil
		}
	}
	s, _ := c.Value(0).(string)
	return s, nil
}

func truncate(w *array.Work, args []*array.Column) (*array.Column, error) {
	x, err := array.ToMicros(w, args[1])
	if err != nil {
		return nil, err
	}
	t := x.Type.WithDType(tensor.Int64)
	t.Unit = array.Timestamp
	field, err := constantText("DATE_TRUNC", args[0])
	if err != nil || field == "" || x.DType == 0 {
		return array.Nothing(t, args[1].N), err
	}
	f := truncation(strings.TrimSuffix(strings.ToLower(field), "s"))
	if f == nil {
		return nil, errs.New(errs.NotFound, "DATE_TRUNC: there is no field %q%s", field, errs.Suggest(field, fields))
	}
	return array.Map(w, t, x, array.Lanes[int64](x.Data), func(dst, a []int64) {
		for i, v := range a {
			dst[i] = f(v)
		}
	}), nil
}

func truncation(field string) func(v int64) int64 {
	unit := map[string]int64{"microsecond": 1, "millisecond": 1000, "second": 1000000, "minute": 60000000, "hour": 3600000000, "day": array.MicrosPerDay}[field]
	switch {
	case unit > 0:
		return func(v int64) int64 { return array.FloorDiv(v, unit) * unit }
	case field == "week": // weeks begin on Monday, the fifth day of 1970
		return func(v int64) int64 {
			return (array.FloorDiv(array.FloorDiv(v, array.MicrosPerDay)+3, 7)*7 - 3) * array.MicrosPerDay
		}
	case field != "month" && field != "quarter" && field != "year":
		return nil
	}
	return func(v int64) int64 {
		t := array.Civil(v)
		m := t.Month()
		switch field {
		case "quarter":
			m = (m-1)/3*3 + 1
		case "year":
			m = 1
		}
		return time.Date(t.Year(), m, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	}
}

var fields = []string{"year", "month", "day", "hour", "minute", "second", "epoch", "dow", "isodow", "doy", "week", "quarter",
	"millisecond", "microsecond"}

// ExtractType returns the type of EXTRACT(field FROM x).
func ExtractType(field string, x array.Type) (array.Type, error) {
	field = strings.TrimSuffix(strings.ToLower(field), "s")
	known := false
	for _, f := range fields {
		known = known || f == field
	}
	if !known {
		return array.Type{}, errs.New(errs.NotFound, "EXTRACT: there is no field %q (want one of %s)%s", field, strings.Join(fields, ", "), errs.Suggest(field, fields))
	}
	if x.DType != 0 && x.Unit == array.None {
		return array.Type{}, errs.New(errs.Type, "EXTRACT from %s: want a date, a timestamp or an interval", x)
	}
	if field == "epoch" {
		return x.WithDType(tensor.Float64), nil
	}
	return x.WithDType(tensor.Int64), nil
}

// Extract is EXTRACT(field FROM x). Weeks follow ISO 8601. Milliseconds and microseconds count from
// the beginning of the minute, as in SQL.
func Extract(w *array.Work, field string, x *array.Column) (*array.Column, error) {
	t, err := ExtractType(field, x.Type)
	if err != nil || x.DType == 0 {
		return array.Nothing(t, x.N), err
	}
	field = strings.TrimSuffix(strings.ToLower(field), "s")
	x2, err := array.ToMicros(w, x)
	if err != nil {
		return nil, err
	}
	a := array.Lanes[int64](x2.Data)
	if field == "epoch" {
		return array.Map(w, t, x2, a, func(dst []float64, a []int64) {
			for i, v := range a {
				dst[i] = float64(v) / 1e6
			}
		}), nil
	}
	f := part(field, x.Unit == array.Interval)
	return array.Map(w, t, x2, a, func(dst, a []int64) {
		for i, v := range a {
			dst[i] = f(v)
		}
	}), nil
}

// part computes a field of microseconds.
func part(field string, interval bool) func(v int64) int64 {
	switch field {
	case "hour":
		if interval {
			return func(v int64) int64 { return v % array.MicrosPerDay / 3600000000 }
		}
		return func(v int64) int64 {
			return (v - array.FloorDiv(v, array.MicrosPerDay)*array.MicrosPerDay) / 3600000000
		}
	case "minute", "second", "millisecond", "microsecond":
		by := map[string]int64{"minute": 60000000, "second": 1000000, "millisecond": 1000, "microsecond": 1}[field]
		around := int64(60000000)
		if field == "minute" {
			around *= 60
		}
		if interval {
			return func(v int64) int64 { return v % around / by }
		}
		return func(v int64) int64 { return (v - array.FloorDiv(v, around)*around) / by }
	case "day":
		if interval {
			return func(v int64) int64 { return v / array.MicrosPerDay }
		}
	}
	if interval {
		return func(int64) int64 { return 0 }
	}
	return func(v int64) int64 {
		t := array.Civil(v)
		switch field {
		case "year":
			return int64(t.Year())
		case "month":
			return int64(t.Month())
		case "quarter":
			return int64(t.Month()+2) / 3
		case "dow":
			return int64(t.Weekday())
		case "isodow":
			return (int64(t.Weekday())+6)%7 + 1
		case "doy":
			return int64(t.YearDay())
		case "week":
			_, w := t.ISOWeek()
			return int64(w)
		}
		return int64(t.Day())
	}
}

// sameTime brings dates, timestamps and texts of such to one unit.
func sameTime(w *array.Work, x, y *array.Column) (*array.Column, *array.Column, error) {
	var err error
	if x.Text() {
		x, err = array.Cast(w, x, array.OfUnit(y.Unit))
	} else if y.Text() {
		y, err = array.Cast(w, y, array.OfUnit(x.Unit))
	}
	if err == nil && x.Unit != y.Unit {
		if x, err = array.ToMicros(w, x); err == nil {
			y, err = array.ToMicros(w, y)
		}
	}
	return x, y, err
}

// timeArith is ArithType where one side is a date, a timestamp or an interval.
func timeArith(op string, x, y array.Type) (array.Type, error) {
	what := arithNames[op]
	unit := array.None
	ok := true
	if x.DType == 0 {
		x = unknown(op, y)
	}
	if y.DType == 0 {
		y = unknown(op, x)
	}
	whole := func(t array.Type) bool { return t.Integer() }
	switch a, b := x.Unit, y.Unit; {
	case op == "-" && a == array.Date && b == array.Date:
	case op == "-" && a == array.Timestamp && (b == array.Timestamp || b == array.Date), op == "-" && a == array.Date && b == array.Timestamp:
		unit = array.Interval
	case (op == "+" || op == "-") && (a == array.Date || a == array.Timestamp) && b == array.Interval, op == "+" && a == array.Interval && (b == array.Date || b == array.Timestamp):
		unit = array.Timestamp
	case (op == "+" || op == "-") && a == array.Interval && b == array.Interval:
		unit = array.Interval
	case (op == "+" || op == "-") && a == array.Date && whole(y), op == "+" && b == array.Date && whole(x):
		unit = array.Date
	case (op == "*" || op == "/") && a == array.Interval && b == array.None && y.Number(), op == "*" && b == array.Interval && a == array.None && x.Number():
		unit = array.Interval
	default:
		ok = false
	}
	if !ok {
		return array.Type{}, errs.New(errs.Type, "%s of %s and %s: no such thing; want numbers, or a date or timestamp and an interval", what, x, y)
	}
	t, err := array.BroadcastTypes(what, tensor.Int64, x, y)
	t.Unit = unit
	t.Weak = false
	return t, err
}

// unknown returns the type of a NULL that meets a time: one with which op gives something.
func unknown(op string, other array.Type) array.Type {
	t := array.Type{DType: tensor.Int64, Unit: other.Unit, Shape: tensor.Shape{}}
	switch {
	case op == "*" || op == "/":
		t.Unit = array.None
	case op == "+":
		t.Unit = array.Interval
	}
	return t
}

func arithTime(w *array.Work, op string, t array.Type, x, y *array.Column) (*array.Column, error) {
	plain := t.WithDType(tensor.Int64)
	var out *array.Column
	var err error
	switch {
	case op == "*" || op == "/": // of an interval
		if x.Unit != array.Interval {
			x, y = y, x
		}
		if op == "*" && !y.Float() {
			out, err = arithInts(w, op, plain, x, y)
			break
		}
		out, err = zip(w, arithNames[op], t.WithDType(tensor.Float64), x, y, array.Lanes[float64](x.Data), array.Lanes[float64](y.Data), floatKernel[float64](op))
		if err == nil {
			out, err = array.Cast(w, out, plain)
		}
	case t.Unit == array.Date || t.Unit == array.None:
		out, err = arithInts(w, op, plain, x, y)
	default:
		if x, err = array.ToMicros(w, x); err != nil {
			return nil, err
		}
		if y, err = array.ToMicros(w, y); err != nil {
			return nil, err
		}
		out, err = arithInts(w, op, plain, x, y)
	}
	if err != nil {
		return nil, err
	}
	out.Type = t
	return out, nil
}

var timeOperators = []operator{{"EXTRACT", Facts{Infallible: notOfDates}}}

// notOfDates is Infallible of EXTRACT: a column of dates may hold texts that are not timestamps.
func notOfDates(args []Arg, _ array.Type) bool { return args[0].Unit != array.Date }
