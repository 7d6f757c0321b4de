package compute

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"deeplake/core/array"
	"deeplake/core/internal/invariant"
)

// Facts are the properties of a function or operator on which planners rely. Each lies beside the
// function that it describes. Under the build tag "invariants", [Facts.Check] checks results
// against them.
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
	if facts, ok := operatorTable()[name]; ok {
		return facts
	}
	first, _, _ := strings.Cut(name, " ")
	return operatorTable()[first]
}

// operator is an operator, which syntax names, with its facts. Each file of operators has a table.
type operator struct {
	name string
	Facts
}

var operatorTable = sync.OnceValue(func() map[string]Facts {
	m := map[string]Facts{}
	for _, o := range slices.Concat(arithOperators, comparisons, logicOperators, likeOperators, textOperators, timeOperators) {
		m[o.name] = o.Facts
	}
	return m
})

// always is Infallible of functions that succeed for all rows.
func always([]Arg, array.Type) bool { return true }

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

// checkBounded panics, under the build tag "invariants", if a value of [Function.Bounded] differs
// from Call's, unless both are beyond the limit.
func checkBounded(f *Function, args []*array.Column, l Limit, result *array.Column) {
	exact, err := f.Call(nil, args)
	if err != nil {
		invariant.Check(false, fmt.Sprintf("%s fails without a limit: %v", f.Name, err))
		return
	}
	got, want := array.Elems[float64](result), array.Elems[float64](exact)
	invariant.Check(len(got) == len(want), f.Name+" has other rows with a limit")
	for i, v := range want {
		same := math.Float64bits(v) == math.Float64bits(got[i]) || v != v && got[i] != got[i]
		invariant.Check(same || l.beyond(v) && l.beyond(got[i]), fmt.Sprintf("%s of row %d is %v with a limit and %v without", f.Name, i, got[i], v))
	}
}

// beyond reports whether the caller does not need v.
func (l Limit) beyond(v float64) bool {
	if l.Above {
		return v > l.At
	}
	return v < l.At
}
