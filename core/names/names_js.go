package names

import (
	"strings"

	"deeplake/core/errs"
)

// Resolve returns an address unchanged. A browser has neither a configuration, which names need,
// nor folders.
func Resolve(uri string, _ Environ) (string, error) {
	if strings.HasPrefix(uri, Scheme) {
		return "", errs.Op("resolve uri", uri).New(errs.Unsupported, "a page knows no names of datasets; give an address")
	}
	return uri, nil
}
