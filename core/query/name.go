package query

import (
	"slices"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/tql"
)

// maxName bounds the name of a user's function, in bytes.
const maxName = 64

// CheckName refuses a name that a user's function cannot have. A built-in function of that name is
// errs.Exists; case does not count.
func CheckName(name string) error {
	for i, c := range []byte(name) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return badName(name)
		}
	}
	if name == "" || len(name) > maxName {
		return badName(name)
	}
	upper := strings.ToUpper(name)
	if slices.Contains(FunctionNames(), upper) {
		return errs.Op("register function", upper).New(errs.Exists, "there is a built-in one of that name; take another")
	}
	if slices.Contains(tql.Reserved(), upper) {
		return errs.Op("register function", upper).New(errs.Invalid, "it is a word of the language; take another")
	}
	return nil
}

func badName(name string) error {
	return errs.Op("register function", "").New(errs.Invalid, "name is %q, want letters, digits and _, %d at most", name, maxName)
}
