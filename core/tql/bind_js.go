package tql

import "deeplake/core/errs"

// Reorders reports whether Bind may return an order.
const Reorders = false

// Bind checks n values against the parameters, as elsewhere. In the browser only saved views have
// parameters, and these have the order of the text; the program for the browser is to be small.
func (s *Statement) Bind(text string, names []string, n int) ([]int, error) {
	fit := n <= len(s.Params)
	for i := range min(n, len(s.Params)) {
		name := ""
		if names != nil {
			name = names[i]
		}
		fit = fit && s.Params[i].Name == name
	}
	if !fit {
		return nil, Errorf(text, s.At, errs.Invalid, "the values do not fit the parameters; save the view again")
	}
	return nil, nil
}
