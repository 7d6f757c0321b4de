package compute

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"deeplake/core/array"
	"deeplake/core/internal/invariant"
	"deeplake/core/tensor"
)

// Facts are the properties of a function or operator on which planners rely. Each stands beside the
// function that it describes. Under the build tag "invariants", [Facts.Check] holds results against
// them.
type Facts struct {
	// NoAlias promises that a result shares no memory with the arguments. Arguments may then be
	// borrowed for the call.
	NoAlias bool
	// Infallible reports whether the call cannot fail for any row of such arguments, except by
	// exceeding a limit of memory. Nil: the call may fail. A condition that may fail is never
	// evaluated before one that the query writes earlier.
	Infallible func(args []Arg, result array.Type) bool
}

// Arg is an argument as a planner sees it, before a row is read.
type Arg struct {
	array.Type
	Value *array.Column // one row if the argument is constant; else nil
}

// with returns f with facts.
func (f Function) with(facts Facts) Function {
	f.Facts = facts
	return f
}

// FactsOf returns the facts of an operator or function by its name in upper case. A name may have
// details after a space, as in "EXTRACT year". Unknown names have no facts.
func FactsOf(name string) Facts {
	if f := Find(name); f != nil {
		return f.Facts
	}
	if facts, ok := operatorFacts(name); ok {
		return facts
	}
	first, _, _ := strings.Cut(name, " ")
	facts, _ := operatorFacts(first)
	return facts
}

// operatorFacts returns the facts of operators, which have no Function.
func operatorFacts(op string) (Facts, bool) {
	switch op {
	case "AND", "OR", "||":
		return Facts{Infallible: fitting}, true
	case "/":
		return Facts{NoAlias: true, Infallible: fitting}, true
	case "^":
		return Facts{Infallible: fitting}, true
	case "=", "!=", "<", "<=", ">", ">=", "IN":
		return comparisonFacts(), true
	case "+", "-", "*", "negative":
		return Facts{NoAlias: true, Infallible: func(args []Arg, t array.Type) bool {
			return fitting(args, t) && (t.Float() || !slices.ContainsFunc(args, overflows))
		}}, true
	case "%":
		return Facts{NoAlias: true, Infallible: func(args []Arg, t array.Type) bool {
			return t.Scalar() && (t.Float() || !slices.ContainsFunc(args, beyondInt64))
		}}, true
	case "TRUE OF":
		return Facts{NoAlias: true, Infallible: always}, true
	case "NOT", "IS NULL", "IS NOT NULL", "LIKE", "ILIKE":
		return Facts{Infallible: always}, true
	case "EXTRACT":
		return Facts{Infallible: notOfDates}, true
	}
	return Facts{}, false
}

// comparisonFacts returns the facts of comparisons, EQUALS among them.
func comparisonFacts() Facts {
	return Facts{NoAlias: true, Infallible: func(args []Arg, t array.Type) bool { return fitting(args, t) && !parsesTimes(args) }}
}

// always is Infallible of functions that succeed for all rows.
func always([]Arg, array.Type) bool { return true }

// notOfDates is Infallible of EXTRACT: a column of dates may hold texts that are not timestamps.
func notOfDates(args []Arg, _ array.Type) bool { return args[0].Unit != array.Date }

// fitting reports whether shapes always fit together: all arguments but one are scalars, or the
// planner knows all shapes.
func fitting(args []Arg, _ array.Type) bool {
	arrays, all := 0, true
	for _, a := range args {
		if !a.Scalar() {
			arrays, all = arrays+1, all && a.Known()
		}
	}
	return arrays < 2 || all
}

// parsesTimes reports whether a comparison converts texts or dates to times, and may fail at that.
// A constant is tried at once.
func parsesTimes(args []Arg) bool {
	var units []array.Unit // few, of many arguments: IN takes long lists
	for _, a := range args {
		if !slices.Contains(units, a.Unit) {
			units = append(units, a.Unit)
		}
	}
	return slices.ContainsFunc(args, func(a Arg) bool {
		return slices.ContainsFunc(units, func(to array.Unit) bool {
			if a.Unit == to || !a.Text() && a.Unit != array.Date {
				return false
			}
			if a.Value == nil {
				return true
			}
			_, err := array.Cast(a.Value, array.OfUnit(to))
			return err != nil
		})
	})
}

// beyondInt64 reports whether values may not fit int64.
func beyondInt64(a Arg) bool { return a.Value == nil && a.DType == tensor.Uint64 }

// overflows reports whether a sum or product of two such numbers may not fit int64.
func overflows(a Arg) bool {
	if a.Value != nil && a.Scalar() {
		v, ok := a.Value.Value(0).(int64)
		return !ok || v != int64(int32(v))
	}
	return a.DType == tensor.Int64 || a.DType == tensor.Uint64 || a.DType == tensor.Uint32
}

// Check panics, under the build tag "invariants", if the outcome of a call contradicts the facts.
func (f Facts) Check(name string, args []*array.Column, infallible bool, result *array.Column, err error) {
	if !invariant.Enabled {
		return
	}
	if infallible {
		var size *array.SizeError
		invariant.Check(err == nil || errors.As(err, &size), fmt.Sprintf("%s is called infallible and failed: %v", name, err))
	}
	if f.NoAlias && err == nil {
		for _, a := range args {
			invariant.Check(!array.SharesMemory(result.Data, a.Data), name+" is called free of aliases, and its result shares memory")
		}
	}
}
