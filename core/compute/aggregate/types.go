package aggregate

import (
	"strings"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// wantScalars refuses columns that an aggregate cannot take. NULL always passes.
func wantScalars(name string, x array.Type, ok bool, want string) error {
	if x.DType == 0 || x.Scalar() && ok {
		return nil
	}
	return errs.New(errs.Type, "%s of %s: want %s", name, x, want)
}

func plainNumber(x array.Type) bool { return x.Number() && !x.Label() }

func countType(string, array.Type) (array.Type, error) { return array.Of(tensor.Int64), nil }

func sumType(name string, x array.Type) (array.Type, error) {
	out := array.Of(tensor.Float64)
	if !x.Float() {
		out = array.Type{DType: tensor.Int64, Unit: x.Unit, Shape: tensor.Shape{}}
	}
	return out, wantScalars(name, x, plainNumber(x) || x.Unit == array.Interval, "numbers, one a row")
}

func averageType(name string, x array.Type) (array.Type, error) {
	out := array.Of(tensor.Float64)
	if x.Unit == array.Interval {
		out = array.OfUnit(array.Interval)
	}
	return out, wantScalars(name, x, plainNumber(x) || x.Unit == array.Interval, "numbers, one a row")
}

func plainNumbers(name string, x array.Type) (array.Type, error) {
	return array.Of(tensor.Float64), wantScalars(name, x, plainNumber(x), "numbers, one a row")
}

func boolsType(name string, x array.Type) (array.Type, error) {
	return array.Of(tensor.Bool), wantScalars(name, x, x.DType == tensor.Bool, "bools, one a row")
}

func textsType(name string, x array.Type) (array.Type, error) {
	return array.Of(tensor.String), wantScalars(name, x, x.Text() || x.Label(), "text")
}

func extremeType(name string, x array.Type) (array.Type, error) {
	x.Weak = false
	return x, wantScalars(name, x, x.DType != tensor.JSON && x.DType != tensor.Bytes, "single values with an order")
}

// oneOfValues returns the type of an aggregate that returns one of its values.
func oneOfValues(_ string, x array.Type) (array.Type, error) {
	x.Weak = false
	return x, nil
}

func listType(_ string, x array.Type) (array.Type, error) {
	if x.List {
		return array.Type{}, errs.New(errs.Type, "LIST of a %s: a list cannot hold lists", x)
	}
	x.List, x.Weak = true, false
	return x, nil
}

type maker = func(name string, distinct bool, x, result array.Type) Aggregator

// distinctOnce passes each different value on once if the query says DISTINCT.
func distinctOnce(make maker) maker {
	return func(name string, distinct bool, x, result array.Type) Aggregator {
		a := make(name, distinct, x, result)
		if distinct {
			a = &distinctly{inner: a, seen: map[string]struct{}{}}
		}
		return a
	}
}

func count(name string, distinct bool, x, result array.Type) Aggregator {
	if distinct && countsWords(x) {
		return newCountingWords(x)
	}
	return distinctOnce(func(string, bool, array.Type, array.Type) Aggregator { return &counting{} })(name, distinct, x, result)
}

func sum(_ string, _ bool, x, result array.Type) Aggregator {
	if x.Float() {
		return &sumFloats{t: result}
	}
	return &sumInts{t: result}
}

func average(_ string, _ bool, x, result array.Type) Aggregator {
	if x.Float() {
		return &sumFloats{t: result, mean: true}
	}
	return &sumInts{t: result, mean: true}
}

func deviation(name string, _ bool, _, _ array.Type) Aggregator {
	return &spreading{root: name[0] == 'S', all: strings.HasSuffix(name, "_POP")}
}

func least(_ string, _ bool, _, result array.Type) Aggregator    { return newExtreme(result, false) }
func greatest(_ string, _ bool, _, result array.Type) Aggregator { return newExtreme(result, true) }

func gather(name string, distinct bool, x, result array.Type) Aggregator {
	return &gathering{name: name, x: x, t: result, distinct: distinct, separator: ","}
}
