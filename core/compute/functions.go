package compute

import (
	"sort"
	"sync"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Function is a function that a query calls by name. Check returns the type of the result before
// any data is read. Call computes it. Both are safe for concurrent use.
type Function struct {
	Name        string
	Least, Most int // arguments; Most -1: any number
	Check       func(args []array.Type) (array.Type, error)
	Call        func(w *array.Work, args []*array.Column) (*array.Column, error)
	// Bounded is Call for a caller that needs no values beyond a limit. Such values may be replaced
	// by any other value beyond the limit, which costs less. Nil: the function has no such form.
	Bounded func(w *array.Work, args []*array.Column, l Limit) (*array.Column, error)
	Doc     string // its signature and meaning, in a line
	Facts
}

var known = sync.OnceValue(func() map[string]*Function {
	m := map[string]*Function{}
	for _, list := range [][]Function{mathFunctions(), reduceFunctions(), shapeFunctions(), vectorFunctions(), textFunctions(), moreTexts(), boxFunctions(), timeFunctions(),
		choiceFunctions()} {
		for _, f := range list {
			m[f.Name] = &f
		}
	}
	for name, of := range map[string]string{"POWER": "POW", "CEILING": "CEIL", "AVG": "MEAN", "MIN": "AMIN", "MAX": "AMAX", "SUBSTR": "SUBSTRING",
		"LEN": "LENGTH", "IFNULL": "COALESCE", "CHAR_LENGTH": "LENGTH", "CHARACTER_LENGTH": "LENGTH", "STRPOS": "INSTR", "LCASE": "LOWER", "UCASE": "UPPER",
		"STDDEV": "STD", "PREFIX": "STARTS_WITH", "SUFFIX": "ENDS_WITH", "REGEXP_LIKE": "REGEXP_MATCHES"} {
		if f := m[of]; f != nil {
			g := *f
			g.Name = name
			g.Doc = "the same as " + of
			m[name] = &g
		}
	}
	return m
})

// Find finds a function by its name in upper case, nil if there is none.
func Find(name string) *Function { return known()[name] }

// Names lists the names of all functions.
func Names() []string {
	m := known()
	out := make([]string, 0, len(m))
	for name := range m {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// wrong returns the error of an argument that a function does not accept.
func wrong(name string, arg int, got array.Type, want string) error {
	return errs.New(errs.Type, "%s: argument %d is %s, want %s", name, arg+1, got, want)
}

// wantNumbers refuses arguments that are no numbers.
func wantNumbers(name string, args []array.Type) error {
	for i, t := range args {
		if t.DType != 0 && (!t.Number() || t.List) {
			return wrong(name, i, t, "numbers")
		}
	}
	return nil
}

// wantText refuses arguments that are not single texts.
func wantText(name string, args []array.Type, from, to int) error {
	for i := from; i < min(to, len(args)); i++ {
		if t := args[i]; t.DType != 0 && !(t.Scalar() && (t.Text() || t.Label() || t.DType == tensor.JSON)) {
			return wrong(name, i, t, "text")
		}
	}
	return nil
}

// wantInts refuses arguments that are not single whole numbers.
func wantInts(name string, args []array.Type, from, to int) error {
	for i := from; i < min(to, len(args)); i++ {
		if t := args[i]; t.DType != 0 && !(t.Scalar() && t.Integer()) {
			return wrong(name, i, t, "a whole number")
		}
	}
	return nil
}

// scalars computes one value a row of scalar arguments; a NULL among them makes NULL, as does !ok.
func scalars[R array.Element](w *array.Work, t array.Type, args []*array.Column, f func(i int) (R, bool)) (*array.Column, error) {
	n, constant := array.RowsOf(args...)
	held := n
	if constant {
		held = 1
	}
	out := &array.Column{Type: t.WithAxes(tensor.Shape{}), N: n, Const: constant, Same: tensor.Shape{}}
	dst, ok := array.Room[R](w, held)
	if !ok {
		return nil, w.Err()
	}
	null := array.AnyNull(held, args...)
	for i := range dst {
		if !w.Step(rowSteps) {
			return nil, w.Err()
		}
		if null != nil && null[i] {
			continue
		}
		v, ok := f(i)
		if !ok {
			if null == nil {
				null = make([]bool, held)
			}
			null[i] = true
			continue
		}
		dst[i] = v
	}
	out.Data, out.Null = dst, null
	return out, nil
}

// rowSteps is the number of steps that a row costs at least.
const rowSteps = 8

// flags makes n results of a condition, and as many marks of NULL.
func flags(w *array.Work, n int) (dst, null []bool, ok bool) {
	both, ok := array.Room[bool](w, 2*n)
	if !ok {
		return nil, nil, false
	}
	return both[:n:n], both[n:], true
}

// texts reads text, names of labels and JSON strings.
func texts(w *array.Work, c *array.Column) (*array.Column, func(i int) string) {
	switch {
	case c.DType == 0:
		return c, func(int) string { return "" }
	case c.Label():
		c = array.LabelText(w, c)
	case c.DType == tensor.JSON:
		c = array.JSONTexts(w, c, c.Type.WithDType(tensor.String))
	}
	d := array.Elems[string](c)
	if c.Const {
		return c, func(int) string { return d[0] }
	}
	return c, func(i int) string { return d[i] }
}

// ints reads whole numbers.
func ints(c *array.Column) func(i int) int64 {
	d := array.As[int64](c.Data)
	switch {
	case c.DType == 0:
		return func(int) int64 { return 0 }
	case c.Const:
		return func(int) int64 { return d[0] }
	}
	return func(i int) int64 { return d[i] }
}

// fixed returns a Check with one result type for all arguments.
func fixed(t array.Type, check func(args []array.Type) error) func(args []array.Type) (array.Type, error) {
	return func(args []array.Type) (array.Type, error) { return t, check(args) }
}
