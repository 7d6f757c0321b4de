//go:build !js

package tql

import (
	"slices"
	"strconv"
	"strings"

	"deeplake/core/errs"
)

// Reorders reports whether Bind may return an order.
const Reorders = true

// Bind returns for each parameter of the query text the number of its value among n values: those
// of names, in any order, or with nil names those of each ? in order. It returns nil if the values
// have the order of the parameters. It refuses unused values, and names without a value.
func (s *Statement) Bind(text string, names []string, n int) ([]int, error) {
	at, why := s.At, ""
	byName := len(s.Params) > 0 && s.Params[0].Name != ""
	switch {
	case names == nil && byName && n > 0:
		at, why = s.Params[0].Pos(), "the parameters have names, as :"+s.Params[0].Name+", and the values none; give the values by name"
	case names == nil && n > len(s.Params):
		why = strconv.Itoa(n) + " values are given for its parameters, and it has " + strconv.Itoa(len(s.Params)) + " of them"
	case names != nil && len(s.Params) > 0 && !byName:
		at, why = s.Params[0].Pos(), "the parameter has no name, and the values have; write a name, as in :label, or give the values in order"
	case names != nil:
		return s.bind(text, names, n)
	}
	if why != "" {
		return nil, Errorf(text, at, errs.Invalid, "%s", why)
	}
	return nil, nil
}

func (s *Statement) bind(text string, names []string, n int) ([]int, error) {
	numbers := map[string]int{}
	for i, name := range names {
		numbers[name] = i
	}
	if len(numbers) != len(names) || len(names) != n {
		return nil, Errorf(text, s.At, errs.Invalid, "%d values have %d names, want one for each, and none twice", n, len(numbers))
	}
	order := make([]int, len(s.Params))
	var missing *Param
	var known []string
	for i, p := range s.Params {
		number, ok := numbers[p.Name]
		if !ok && missing == nil {
			missing = p
		}
		order[i], known = number, append(known, p.Name)
		delete(numbers, p.Name)
	}
	left := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, ok := numbers[name]
		return !ok
	})
	if missing != nil {
		hint := errs.Suggest(missing.Name, left)
		if hint == "" && len(left) > 0 {
			hint = "; the query does not use " + strings.Join(left, ", ")
		}
		return nil, Errorf(text, missing.Pos(), errs.Invalid, "there is no value for :%s%s", missing.Name, hint)
	}
	if len(left) == 0 {
		return order, nil
	}
	hint := errs.Suggest(left[0], known)
	switch {
	case strings.Contains(text, ":"+left[0]):
		hint = "; in an index a parameter has parentheses, (:" + left[0] + ")"
	case hint == "" && len(known) > 0:
		hint = "; it has :" + strings.Join(known, ", :")
	}
	return nil, Errorf(text, s.At, errs.Invalid, "the value %q is unused: the query has no :%s%s", left[0], left[0], hint)
}
