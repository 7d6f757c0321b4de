package array

import (
	"strings"
	"time"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// timeFunctions is the functions of dates and timestamps.
func timeFunctions() []Function {
	var out []Function
	for _, f := range fields {
		name := strings.ToUpper(f)
		out = append(out, Function{Name: name, Least: 1, Most: 1, Doc: name + "(x): EXTRACT(" + f + " FROM x)",
			Check: func(args []Type) (Type, error) { return ExtractType(f, args[0]) },
			Call:  func(args []*Column) (*Column, error) { return Extract(f, args[0]) },
			Facts: Facts{Infallible: notOfDates}})
	}
	return append(out,
		Function{Name: "DATE_PART", Least: 2, Most: 2, Doc: "DATE_PART(field, x): EXTRACT of whole numbers, EPOCH(x) counts seconds", Check: func(args []Type) (Type, error) {
			if err := wantText("DATE_PART", args, 0, 1); err != nil {
				return Type{}, err
			}
			return ExtractType("day", args[1])
		}, Call: func(args []*Column) (*Column, error) {
			field, err := constantText("DATE_PART", args[0])
			if err != nil || field == "" {
				return Nothing(Of(tensor.Int64), args[1].N), err
			}
			if strings.EqualFold(strings.TrimSuffix(strings.ToLower(field), "s"), "epoch") {
				return nil, errs.New(errs.Invalid, "DATE_PART: the epoch is no whole number; EPOCH(x) gives it")
			}
			return Extract(field, args[1])
		}},
		Function{Name: "DATE_TRUNC", Least: 2, Most: 2, Doc: "DATE_TRUNC(field, x): the begin of the year, quarter, month, week, day, hour, minute or second", Check: func(args []Type) (Type, error) {
			if err := wantText("DATE_TRUNC", args, 0, 1); err != nil {
				return Type{}, err
			}
			if x := args[1]; x.DType != 0 && x.Unit != Date && x.Unit != Timestamp {
				return Type{}, wrong("DATE_TRUNC", 1, x, "a date or a timestamp")
			}
			t := args[1].to(tensor.Int64)
			t.Unit = Timestamp
			return t, nil
		}, Call: truncate},
		Function{Name: "MAKE_DATE", Least: 3, Most: 3, Doc: "MAKE_DATE(year, month, day): a date, NULL where there is none such", Check: func(args []Type) (Type, error) {
			return OfUnit(Date), wantInts("MAKE_DATE", args, 0, 3)
		}, Call: func(args []*Column) (*Column, error) {
			y, m, d := ints(args[0]), ints(args[1]), ints(args[2])
			return scalars(OfUnit(Date), args, func(i int) (int64, bool) {
				if y(i) < -99999 || y(i) > 999999 || m(i) < 1 || m(i) > 12 || d(i) < 1 || d(i) > 31 {
					return 0, false
				}
				t := time.Date(int(y(i)), time.Month(m(i)), int(d(i)), 0, 0, 0, 0, time.UTC)
				return floorDiv(t.Unix(), 86400), t.Day() == int(d(i))
			})
		}},
		Function{Name: "TO_TIMESTAMP", Least: 1, Most: 1, Doc: "TO_TIMESTAMP(seconds): seconds since 1970 as a timestamp", Check: func(args []Type) (Type, error) {
			t := args[0].to(tensor.Int64)
			t.Unit = Timestamp
			return t, wantNumbers("TO_TIMESTAMP", args)
		}, Call: func(args []*Column) (*Column, error) {
			t := args[0].Type.to(tensor.Int64)
			t.Unit = Timestamp
			over := false
			out := each1(t, args[0], lanes[float64](args[0].Data), func(dst []int64, a []float64) {
				for i, v := range a {
					if !(v > -9e12 && v < 9e12) {
						over = true
						continue
					}
					whole := int64(v)
					dst[i] = whole*1000000 + int64((v-float64(whole))*1e6+0.5*float64(compareFloat(v, 0)))
				}
			})
			if over {
				return nil, errs.New(errs.Range, "TO_TIMESTAMP: a number of seconds is no time")
			}
			return out, nil
		}})
}

// constantText is a text that is the same for all rows; "" where it is NULL.
func constantText(name string, c *Column) (string, error) {
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

func truncate(args []*Column) (*Column, error) {
	x, err := micros(args[1])
	if err != nil {
		return nil, err
	}
	t := x.Type.to(tensor.Int64)
	t.Unit = Timestamp
	field, err := constantText("DATE_TRUNC", args[0])
	if err != nil || field == "" || x.DType == 0 {
		return Nothing(t, args[1].N), err
	}
	f := truncation(strings.TrimSuffix(strings.ToLower(field), "s"))
	if f == nil {
		return nil, errs.New(errs.NotFound, "DATE_TRUNC: there is no field %q%s", field, errs.Suggest(field, fields))
	}
	return each1(t, x, lanes[int64](x.Data), func(dst, a []int64) {
		for i, v := range a {
			dst[i] = f(v)
		}
	}), nil
}

func truncation(field string) func(v int64) int64 {
	unit := map[string]int64{"microsecond": 1, "millisecond": 1000, "second": 1000000, "minute": 60000000, "hour": 3600000000, "day": day}[field]
	switch {
	case unit > 0:
		return func(v int64) int64 { return floorDiv(v, unit) * unit }
	case field == "week": // weeks begin on Monday, the fifth day of 1970
		return func(v int64) int64 { return (floorDiv(floorDiv(v, day)+3, 7)*7 - 3) * day }
	case field != "month" && field != "quarter" && field != "year":
		return nil
	}
	return func(v int64) int64 {
		t := civil(v)
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
