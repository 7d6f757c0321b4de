package compute

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"deeplake/core/array"
	"deeplake/core/array/arraytest"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// operators returns the operators in the form of functions, for the test below.
func operators() []Function {
	var out []Function
	for _, op := range []string{"+", "-", "*", "/", "%", "^"} {
		out = append(out, Function{Name: op, Least: 2, Most: 2, Check: binaryCheck(op), Call: binaryCall(op)})
	}
	for _, op := range []string{"=", "!=", "<", "<=", ">", ">="} {
		out = append(out, Function{Name: op, Least: 2, Most: 2,
			Check: func(a []array.Type) (array.Type, error) { return CompareType(op, a[0], a[1]) },
			Call:  func(w *array.Work, c []*array.Column) (*array.Column, error) { return Compare(w, op, c[0], c[1]) }})
	}
	for _, to := range []string{"bool", "tinyint", "uint64", "bigint", "real", "double", "text", "date", "timestamp", "interval", "json"} {
		out = append(out, Function{Name: "CAST AS " + to, Least: 1, Most: 1,
			Check: func(a []array.Type) (array.Type, error) { return array.CastType(a[0], to) },
			Call: func(w *array.Work, c []*array.Column) (*array.Column, error) {
				t, err := array.CastType(c[0].Type, to)
				if err != nil {
					return nil, err
				}
				return array.Cast(w, c[0], t)
			}})
	}
	index := func(name string, n int, items func(at []*array.Column) []array.Item) Function {
		types := func(a []array.Type) []array.Item {
			var c []*array.Column
			for _, t := range a[1:] {
				c = append(c, array.Empty(t))
			}
			return items(c)
		}
		return Function{Name: name, Least: n, Most: n,
			Check: func(a []array.Type) (array.Type, error) { return array.IndexType(a[0], types(a)) },
			Call: func(w *array.Work, c []*array.Column) (*array.Column, error) {
				return array.Index(w, c[0], items(c[1:]))
			}}
	}
	return append(out,
		Function{Name: "NEG", Least: 1, Most: 1, Check: func(a []array.Type) (array.Type, error) { return NegType(a[0]) }, Call: func(w *array.Work, c []*array.Column) (*array.Column, error) { return Neg(w, c[0]) }},
		Function{Name: "||", Least: 2, Most: 2, Check: func(a []array.Type) (array.Type, error) { return ConcatType(a[0], a[1]) }, Call: func(w *array.Work, c []*array.Column) (*array.Column, error) { return ConcatText(w, c[0], c[1]) }},
		Function{Name: "LIKE", Least: 2, Most: 2, Check: func(a []array.Type) (array.Type, error) { return LikeType(a[0], a[1]) }, Call: func(w *array.Work, c []*array.Column) (*array.Column, error) { return Like(w, c[0], c[1], true) }},
		Function{Name: "TRUTH", Least: 1, Most: 1, Check: func(a []array.Type) (array.Type, error) { return array.Of(tensor.Bool), TruthType(a[0]) }, Call: func(w *array.Work, c []*array.Column) (*array.Column, error) { return Truth(w, c[0]) }},
		Function{Name: "STACK", Least: 1, Most: 3, Check: array.StackType, Call: array.Stack},
		index("x[i]", 2, func(c []*array.Column) []array.Item { return []array.Item{{At: c[0]}} }),
		index("x[i:]", 2, func(c []*array.Column) []array.Item { return []array.Item{{Slice: true, Low: c[0]}} }),
		index("x[::i, ...]", 2, func(c []*array.Column) []array.Item { return []array.Item{{Slice: true, Step: c[0]}, {Ellipsis: true}} }),
		index("x[..., :i]", 2, func(c []*array.Column) []array.Item { return []array.Item{{Ellipsis: true}, {Slice: true, High: c[0]}} }),
		index("x[:, i]", 2, func(c []*array.Column) []array.Item { return []array.Item{{Slice: true}, {At: c[0]}} }),
	)
}

// TestCallAgreesWithCheck calls everything with everything. The result has to have the type that
// Check promised, and must not depend on the form in which rows come: uniform or ragged, together
// or one by one as constants.
func TestCallAgreesWithCheck(t *testing.T) {
	all := arraytest.Samples()
	var names []string
	for name := range all {
		names = append(names, name)
	}
	sort.Strings(names)
	third := []string{"weak int", "int64", "name", "query", "null", "matrix"}
	list := operators()
	for _, name := range Names() {
		list = append(list, *Find(name))
	}
	called := 0
	for _, f := range list {
		t.Run(f.Name, func(t *testing.T) {
			for n := max(f.Least, min(1, f.Most)); n <= 3; n++ {
				if f.Most >= 0 && n > f.Most {
					break
				}
				combine(n, names, third, func(pick []string) {
					args := make([]*array.Column, n)
					for i, p := range pick {
						args[i] = all[p]
					}
					if agrees(t, &f, pick, args) {
						called++
					}
				})
			}
		})
	}
	if called < 4000 {
		t.Errorf("only %d calls were allowed", called)
	}
}

func combine(n int, names, third []string, f func(pick []string)) {
	switch n {
	case 0:
		f(nil)
	case 1:
		for _, a := range names {
			f([]string{a})
		}
	case 2:
		for _, a := range names {
			for _, b := range names {
				f([]string{a, b})
			}
		}
	case 3:
		for _, a := range names {
			for _, b := range third {
				for _, c := range third {
					f([]string{a, b, c})
				}
			}
		}
	}
}

// agrees reports whether the call was allowed and succeeded.
func agrees(t *testing.T, f *Function, pick []string, args []*array.Column) bool {
	what := f.Name + "(" + strings.Join(pick, ", ") + ")"
	want, err := f.Accepts(typesOf(args))
	if err != nil {
		if k := errs.KindOf(err); k == errs.Internal {
			t.Errorf("%s: %v", what, err)
		}
		return false
	}
	got, err := f.Call(nil, args)
	if err != nil {
		if k := errs.KindOf(err); k == errs.Internal {
			t.Errorf("%s: %v", what, err)
		}
		return false
	}
	if s := arraytest.Flaw(got); s != "" {
		t.Errorf("%s: %s", what, s)
		return false
	}
	if s := fits(got, want); s != "" {
		t.Errorf("%s: %s", what, s)
	}
	if len(args) == 0 {
		return true
	}
	if got.N != arraytest.SampleRows {
		t.Errorf("%s: %d rows", what, got.N)
		return false
	}
	ragged := make([]*array.Column, len(args))
	for i, a := range args {
		ragged[i] = arraytest.RaggedForm(a)
	}
	if again, err := f.Call(nil, ragged); err != nil || rows(again) != rows(got) {
		t.Errorf("%s: ragged %s, uniform %s", what, arraytest.Show(again, err), arraytest.Show(got, nil))
	}
	var one []string
	for i := range arraytest.SampleRows {
		single := make([]*array.Column, len(args))
		for k, a := range args {
			single[k] = arraytest.OneRow(a, i)
		}
		c, err := f.Call(nil, single)
		if errs.Is(err, errs.NotFound) {
			return true // a constant has to be the name of a class
		}
		if err != nil {
			t.Errorf("%s: row %d alone: %v", what, i, err)
			return false
		}
		if c.N != 1 || arraytest.Flaw(c) != "" {
			t.Errorf("%s: row %d alone has %d rows: %s", what, i, c.N, arraytest.Flaw(c))
			return false
		}
		one = append(one, arraytest.ShowRow(c, 0))
	}
	if a, b := strings.Join(one, " "), rows(got); a != b {
		t.Errorf("%s: row by row %s, together %s", what, a, b)
	}
	none := make([]*array.Column, len(args))
	for i, a := range args {
		none[i] = a.Slice(0, 0)
	}
	if c, err := f.Call(nil, none); err != nil || c.N != 0 || arraytest.Flaw(c) != "" {
		t.Errorf("%s: of no rows: %s", what, arraytest.Show(c, err))
	}
	for i, a := range args {
		none[i] = &array.Column{Type: a.Type}
	}
	if c, err := f.Call(nil, none); err != nil || c.N != 0 || arraytest.Flaw(c) != "" {
		t.Errorf("%s: of columns that hold nothing at all: %s", what, arraytest.Show(c, err))
	}
	return true
}

func rows(c *array.Column) string {
	var out []string
	for i := range c.N {
		out = append(out, arraytest.ShowRow(c, i))
	}
	return strings.Join(out, " ")
}

// fits describes how a column contradicts its type; "" if it does not.
func fits(c *array.Column, want array.Type) string {
	got := c.Type
	switch {
	case want.DType == 0 && got.DType == 0:
	case got.DType != want.DType || got.Unit != want.Unit || got.List != want.List || !slices.Equal(got.Names, want.Names) || got.Boxes != want.Boxes:
		return fmt.Sprintf("got %+v, promised %+v", got, want)
	case want.Dims != array.Unranked && got.Dims != want.Dims:
		return fmt.Sprintf("got %d axes, promised %d", got.Dims, want.Dims)
	case !want.List && want.Dims != array.Unranked:
		for i := range c.N {
			if s := c.ShapeAt(i); s != nil && !s.Fits(want.Axes()) {
				return fmt.Sprintf("row %d of shape %s, promised %s", i, s, want)
			}
		}
	}
	return ""
}
