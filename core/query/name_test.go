package query_test

import (
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/query"
)

func TestCheckName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		kind errs.Kind
		want string
	}{
		{"", errs.Invalid, "want letters, digits and _, 64 at most"},
		{"1x", errs.Invalid, "want letters"},
		{"é", errs.Invalid, "want letters"},
		{"a b", errs.Invalid, "want letters"},
		{strings.Repeat("x", 65), errs.Invalid, "64 at most"},
		{"sum", errs.Exists, "there is a built-in one"},
		{"select", errs.Invalid, "a word of the language"},
		{"Extract", errs.Invalid, "a word of the language"},
	} {
		if err := query.CheckName(c.name); !errs.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v", c.name, err)
		}
	}
	for _, name := range []string{"x", "_1", "Mine", strings.Repeat("x", 64)} {
		if err := query.CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}
