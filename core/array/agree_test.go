package array

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// operators is what is no function but works like one, for the test below.
func operators() []Function {
	var out []Function
	for _, op := range []string{"+", "-", "*", "/", "%", "^"} {
		out = append(out, Function{Name: op, Least: 2, Most: 2, Check: binaryCheck(op), Call: binaryCall(op)})
	}
	for _, op := range []string{"=", "!=", "<", "<=", ">", ">="} {
		out = append(out, Function{Name: op, Least: 2, Most: 2,
			Check: func(a []Type) (Type, error) { return CompareType(op, a[0], a[1]) },
			Call:  func(c []*Column) (*Column, error) { return Compare(op, c[0], c[1]) }})
	}
	for _, to := range []string{"bool", "tinyint", "uint64", "bigint", "real", "double", "text", "date", "timestamp", "interval", "json"} {
		out = append(out, Function{Name: "CAST AS " + to, Least: 1, Most: 1,
			Check: func(a []Type) (Type, error) { return CastType(a[0], to) },
			Call: func(c []*Column) (*Column, error) {
				t, err := CastType(c[0].Type, to)
				if err != nil {
					return nil, err
				}
				return Cast(c[0], t)
			}})
	}
	index := func(name string, n int, items func(at []*Column) []Item) Function {
		types := func(a []Type) []Item {
			var c []*Column
			for _, t := range a[1:] {
				c = append(c, Empty(t))
			}
			return items(c)
		}
		return Function{Name: name, Least: n, Most: n,
			Check: func(a []Type) (Type, error) { return IndexType(a[0], types(a)) },
			Call:  func(c []*Column) (*Column, error) { return Index(c[0], items(c[1:])) }}
	}
	return append(out,
		Function{Name: "NEG", Least: 1, Most: 1, Check: func(a []Type) (Type, error) { return NegType(a[0]) }, Call: func(c []*Column) (*Column, error) { return Neg(c[0]) }},
		Function{Name: "||", Least: 2, Most: 2, Check: func(a []Type) (Type, error) { return ConcatType(a[0], a[1]) }, Call: func(c []*Column) (*Column, error) { return ConcatText(c[0], c[1]) }},
		Function{Name: "LIKE", Least: 2, Most: 2, Check: func(a []Type) (Type, error) { return LikeType(a[0], a[1]) }, Call: func(c []*Column) (*Column, error) { return Like(c[0], c[1], true) }},
		Function{Name: "TRUTH", Least: 1, Most: 1, Check: func(a []Type) (Type, error) { return Of(tensor.Bool), TruthType(a[0]) }, Call: func(c []*Column) (*Column, error) { return Truth(c[0]) }},
		Function{Name: "STACK", Least: 1, Most: 3, Check: StackType, Call: Stack},
		index("x[i]", 2, func(c []*Column) []Item { return []Item{{At: c[0]}} }),
		index("x[i:]", 2, func(c []*Column) []Item { return []Item{{Slice: true, Low: c[0]}} }),
		index("x[::i, ...]", 2, func(c []*Column) []Item { return []Item{{Slice: true, Step: c[0]}, {Ellipsis: true}} }),
		index("x[..., :i]", 2, func(c []*Column) []Item { return []Item{{Ellipsis: true}, {Slice: true, High: c[0]}} }),
		index("x[:, i]", 2, func(c []*Column) []Item { return []Item{{Slice: true}, {At: c[0]}} }),
	)
}

// TestCallAgreesWithCheck calls everything with everything. The result has to have the type that
// Check promised, and must not depend on the form in which rows come: uniform or ragged, together
// or one by one as constants.
func TestCallAgreesWithCheck(t *testing.T) {
	all := samples()
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
					args := make([]*Column, n)
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
func agrees(t *testing.T, f *Function, pick []string, args []*Column) bool {
	what := f.Name + "(" + strings.Join(pick, ", ") + ")"
	want, err := f.Accepts(typesOf(args))
	if err != nil {
		if k := errs.KindOf(err); k == errs.Internal {
			t.Errorf("%s: %v", what, err)
		}
		return false
	}
	got, err := f.Call(args)
	if err != nil {
		if k := errs.KindOf(err); k == errs.Internal {
			t.Errorf("%s: %v", what, err)
		}
		return false
	}
	if s := sound(got); s != "" {
		t.Errorf("%s: %s", what, s)
		return false
	}
	if s := fits(got, want); s != "" {
		t.Errorf("%s: %s", what, s)
	}
	if len(args) == 0 {
		return true
	}
	if got.N != sampleRows {
		t.Errorf("%s: %d rows", what, got.N)
		return false
	}
	ragged := make([]*Column, len(args))
	for i, a := range args {
		ragged[i] = raggedForm(a)
	}
	if again, err := f.Call(ragged); err != nil || rows(again) != rows(got) {
		t.Errorf("%s: ragged %s, uniform %s", what, show(again, err), show(got, nil))
	}
	var one []string
	for i := range sampleRows {
		single := make([]*Column, len(args))
		for k, a := range args {
			single[k] = alone(a, i)
		}
		c, err := f.Call(single)
		if errs.Is(err, errs.NotFound) {
			return true // a constant has to be the name of a class
		}
		if err != nil {
			t.Errorf("%s: row %d alone: %v", what, i, err)
			return false
		}
		if c.N != 1 || sound(c) != "" {
			t.Errorf("%s: row %d alone has %d rows: %s", what, i, c.N, sound(c))
			return false
		}
		one = append(one, showRow(c, 0))
	}
	if a, b := strings.Join(one, " "), rows(got); a != b {
		t.Errorf("%s: row by row %s, together %s", what, a, b)
	}
	none := make([]*Column, len(args))
	for i, a := range args {
		none[i] = a.Slice(0, 0)
	}
	if c, err := f.Call(none); err != nil || c.N != 0 || sound(c) != "" {
		t.Errorf("%s: of no rows: %s", what, show(c, err))
	}
	for i, a := range args {
		none[i] = &Column{Type: a.Type}
	}
	if c, err := f.Call(none); err != nil || c.N != 0 || sound(c) != "" {
		t.Errorf("%s: of columns that hold nothing at all: %s", what, show(c, err))
	}
	return true
}

func rows(c *Column) string {
	var out []string
	for i := range c.N {
		out = append(out, showRow(c, i))
	}
	return strings.Join(out, " ")
}

// fits says where a column is not what was promised.
func fits(c *Column, want Type) string {
	got := c.Type
	switch {
	case want.DType == 0 && got.DType == 0:
	case got.DType != want.DType || got.Unit != want.Unit || got.List != want.List || !slices.Equal(got.Names, want.Names) || got.Boxes != want.Boxes:
		return fmt.Sprintf("got %+v, promised %+v", got, want)
	case want.Dims != Unranked && got.Dims != want.Dims:
		return fmt.Sprintf("got %d axes, promised %d", got.Dims, want.Dims)
	case !want.List && want.Dims != Unranked:
		for i := range c.N {
			if s := c.ShapeAt(i); s != nil && !s.Fits(want.axes()) {
				return fmt.Sprintf("row %d of shape %s, promised %s", i, s, want)
			}
		}
	}
	return ""
}
