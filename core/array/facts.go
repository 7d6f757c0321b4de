package array

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

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
	Infallible func(args []Arg, result Type) bool
}

// Arg is an argument as a planner sees it, before a row is read.
type Arg struct {
	Type
	Value *Column // one row if the argument is constant; else nil
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
		return Facts{NoAlias: true, Infallible: func(args []Arg, t Type) bool {
			return fitting(args, t) && (t.Float() || !slices.ContainsFunc(args, overflows))
		}}, true
	case "%":
		return Facts{NoAlias: true, Infallible: func(args []Arg, t Type) bool {
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
	return Facts{NoAlias: true, Infallible: func(args []Arg, t Type) bool { return fitting(args, t) && !parsesTimes(args) }}
}

// always is Infallible of functions that succeed for all rows.
func always([]Arg, Type) bool { return true }

// notOfDates is Infallible of EXTRACT: a column of dates may hold texts that are not timestamps.
func notOfDates(args []Arg, _ Type) bool { return args[0].Unit != Date }

// fitting reports whether shapes always fit together: all arguments but one are scalars, or the
// planner knows all shapes.
func fitting(args []Arg, _ Type) bool {
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
	return slices.ContainsFunc(args, func(a Arg) bool {
		return slices.ContainsFunc(args, func(b Arg) bool {
			if a.Unit == b.Unit || !a.Text() && a.Unit != Date {
				return false
			}
			if a.Value == nil {
				return true
			}
			_, err := Cast(a.Value, OfUnit(b.Unit))
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

// Known reports whether all rows have one shape that the planner knows.
func (t Type) Known() bool {
	return t.Shape != nil && !slices.ContainsFunc(t.Shape, func(n int64) bool { return n < 0 })
}

// Check panics, under the build tag "invariants", if the outcome of a call contradicts the facts.
func (f Facts) Check(name string, args []*Column, infallible bool, result *Column, err error) {
	if !invariant.Enabled {
		return
	}
	if infallible {
		var size *sizeError
		invariant.Check(err == nil || errors.As(err, &size), fmt.Sprintf("%s is called infallible and failed: %v", name, err))
	}
	if f.NoAlias && err == nil {
		for _, a := range args {
			invariant.Check(!sharesMemory(result.Data, a.Data), name+" is called free of aliases, and its result shares memory")
		}
	}
}

// sharesMemory reports whether the Data of two columns share memory.
func sharesMemory(a, b any) bool {
	a0, a1 := bounds(a)
	b0, b1 := bounds(b)
	return a0 < b1 && b0 < a1
}

// bounds returns the addresses of the first byte of Data and of the byte after the last.
func bounds(d any) (uintptr, uintptr) {
	v := vectorOf(d)
	if v == nil || v.len() == 0 {
		return 0, 0
	}
	return v.span()
}

// span returns the memory of the elements as addresses, for comparison only.
func (v vec[T]) span() (uintptr, uintptr) {
	first := uintptr(unsafe.Pointer(unsafe.SliceData(v)))
	return first, first + uintptr(len(v))*unsafe.Sizeof(v[0])
}
