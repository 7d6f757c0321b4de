package viz

import (
	"encoding/json"
	"errors"
	"regexp"
	"strconv"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// failure is the body of an answer that is an error.
type failure struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Reason  string `json:"reason,omitempty"` // why all other requests fail too
	// of the query: characters before the fault; line and column count from 1
	Position *int `json:"position,omitempty"`
	Line     int  `json:"line,omitempty"`
	Column   int  `json:"column,omitempty"`
}

// place finds the position that core/tql writes at the beginning of its messages.
var place = regexp.MustCompile(`query, line (\d+), column (\d+): `)

func failureOf(err error) failure {
	f := failure{Kind: errs.KindOf(err).String(), Message: err.Error(), Reason: reasonOf(err)}
	if m := place.FindStringSubmatch(f.Message); m != nil {
		f.Line, _ = strconv.Atoi(m[1])
		f.Column, _ = strconv.Atoi(m[2])
		if q := (*queryError)(nil); errors.As(err, &q) {
			at := position(q.text, f.Line, f.Column)
			f.Position = &at
		}
	}
	return f
}

// reasonOf names what every read of the dataset fails of; "": other reads may succeed.
func reasonOf(err error) string {
	if none := (*storage.NoRanges)(nil); errors.As(err, &none) {
		return "no ranges"
	}
	return ""
}

// Refuse returns the answer to a call that failed: its HTTP status, and its body.
func Refuse(err error) (status int, body []byte) {
	body, _ = json.Marshal(map[string]failure{"error": failureOf(err)}) // text and numbers alone
	return statusOf(errs.KindOf(err)), body
}

func statusOf(k errs.Kind) int {
	switch k {
	case errs.Invalid, errs.Type, errs.Range, errs.Unsupported, errs.ReadOnly:
		return 400
	case errs.Exists:
		return 409
	case errs.NotFound, errs.Closed:
		return 404
	case errs.Denied:
		return 403
	}
	return 500
}
