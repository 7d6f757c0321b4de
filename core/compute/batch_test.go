package compute

import (
	"strings"
	"testing"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// TestBatchBound: functions refuse to make batches that grow beyond 1 GiB, before they allocate
// them.
func TestBatchBound(t *testing.T) {
	if testing.Short() {
		t.Skip("fills gigabytes")
	}
	t.Parallel()
	const n = 2100
	long := strings.Repeat("a", 1<<19)
	texts := make([]string, n)
	for i := range texts {
		texts[i] = long
	}
	text := array.FromStrings(texts, nil)
	one := func(s string) *array.Column { return array.FromStrings([]string{s}, nil).Take(make([]int, n)) }
	wide := array.FromArrays(array.Of(tensor.Float64).WithAxes(tensor.Shape{1 << 15}), tensor.Shape{1 << 15}, make([]float64, n<<15), nil)
	list := array.FromLists(wide, endsOf(n), nil)
	call := func(name string, args ...*array.Column) error { _, err := callOf(name, args...); return err }
	cases := map[string]func() error{
		"REPLACE": func() error { return call("REPLACE", text, one("a"), one("aaaaaaaaaaaaaaaa")) },
		"CONCAT":  func() error { return call("CONCAT", text, text) },
		"REPEAT":  func() error { return call("REPEAT", text, array.From(array.Of(tensor.Int64), repeated(n, 1000), nil)) },
		"lists": func() error {
			_, err := lists(new(array.Work), array.Type{DType: tensor.String, List: true}, []*array.Column{text}, splitAll)
			return err
		},
		"text ||":  func() error { _, err := ConcatText(new(array.Work), text, text); return err },
		"array ||": func() error { _, err := ConcatText(new(array.Work), wide, wide); return err },
		"list ||":  func() error { _, err := ConcatText(new(array.Work), list, list); return err },
		"ARRAY": func() error {
			_, err := array.Stack(new(array.Work), []*array.Column{wide, wide, wide, wide})
			return err
		},
	}
	for name, do := range cases {
		if err := do(); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "1 GiB") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := callOf("TRIM", text); err != nil {
		t.Errorf("TRIM, as large as its argument: %v", err)
	}
}

func splitAll(_ *array.Work, s []string) ([]string, bool) { return strings.Split(s[0], ""), true }

func endsOf(n int) []int {
	ends := make([]int, n)
	for i := range ends {
		ends[i] = i + 1
	}
	return ends
}

func repeated(n int, v int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func callOf(name string, args ...*array.Column) (*array.Column, error) {
	for _, f := range textFunctions() {
		if f.Name == name {
			return f.Call(new(array.Work), args)
		}
	}
	return nil, errs.New(errs.NotFound, "no function %s", name)
}
