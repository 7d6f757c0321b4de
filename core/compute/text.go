package compute

import (
	"strings"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// ConcatType returns the type of x || y.
func ConcatType(x, y array.Type) (array.Type, error) {
	word := func(t array.Type) bool { return t.DType == 0 || t.Scalar() && (t.Text() || t.Label()) }
	switch {
	case word(x) && word(y):
		return array.Of(tensor.String), nil
	case x.List && y.List, x.Dims == 1 && y.Dims == 1 && !x.List && !y.List:
		t, err := array.Unify(x, y)
		if err == nil && !t.List {
			t = t.WithAxes(tensor.Shape{-1})
			if a, b := x.Axes()[0], y.Axes()[0]; a >= 0 && b >= 0 {
				t.Shape[0] = a + b
			}
		}
		return t, err
	}
	return array.Type{}, errs.New(errs.Type, "%s || %s: want text with text, or two lists; CAST(... AS TEXT) makes text", x, y)
}

// ConcatText is x || y: texts, lists or arrays of one axis one behind the other.
func ConcatText(w *array.Work, x, y *array.Column) (*array.Column, error) {
	t, err := ConcatType(x.Type, y.Type)
	if err != nil {
		return nil, err
	}
	if x.DType == 0 || y.DType == 0 {
		n, _ := array.RowsOf(x, y)
		return array.Nothing(t, n), nil
	}
	if t.Text() && t.Dims == 0 && !t.List {
		x, a := texts(w, x)
		y, b := texts(w, y)
		return scalars(w, t, []*array.Column{x, y}, func(i int) (string, bool) {
			if p, q := a(i), b(i); w.Reserve(int64(len(p) + len(q))) {
				return p + q, true
			}
			return "", false
		})
	}
	return array.ForAll(func(c []*array.Column, n int) (*array.Column, error) { return joinRows(w, t, c[0], c[1], n) }, x, y)
}

// joinRows appends the elements or items of each row of y to the same row of x.
func joinRows(w *array.Work, t array.Type, x, y *array.Column, n int) (*array.Column, error) {
	null := array.AnyNull(n, x, y)
	x, err := array.Become(w, x, t)
	if err == nil {
		y, err = array.Become(w, y, t)
	}
	if err != nil {
		return nil, err
	}
	if x, y = x.ExpandIn(w), y.ExpandIn(w); w.Err() != nil {
		return nil, w.Err()
	}
	if t.List {
		a, b := array.ItemsOf(x), array.ItemsOf(y)
		if !w.Reserve(16 * int64(a.N+b.N+n)) {
			return nil, w.Err()
		}
		if err := array.WithinBatch(w, "||", a.Elements()+b.Elements(), t.DType, a, b); err != nil {
			return nil, err
		}
		items, err := array.Concat(w, array.ItemType(t), []*array.Column{array.ItemsOf(x), array.ItemsOf(y)})
		if err != nil {
			return nil, err
		}
		var rows []int
		ends := make([]int, n)
		for i := range n {
			if null == nil || !null[i] {
				lo, hi := x.ItemSpan(i)
				for ; lo < hi; lo++ {
					rows = append(rows, lo)
				}
				base := array.ItemsOf(x).N
				for lo, hi = y.ItemSpan(i); lo < hi; lo++ {
					rows = append(rows, base+lo)
				}
			}
			ends[i] = len(rows)
		}
		out := array.FromLists(items.TakeIn(w, rows), ends, null)
		out.Type = t
		return out, nil
	}
	if err := array.WithinBatch(w, "||", x.Elements()+y.Elements(), t.DType, x, y); err != nil {
		return nil, err
	}
	shapes, ok := array.Room[tensor.Shape](w, 2*n)
	if !ok {
		return nil, w.Err()
	}
	shapes = shapes[:n]
	v := array.NewVector(t.DType, x.Elements()+y.Elements())
	at := 0
	for i := range n {
		if null != nil && null[i] {
			continue
		}
		from := at
		for _, c := range []*array.Column{x, y} {
			lo, hi := c.Span(i)
			v.Move(at, c.Vector(), lo, hi)
			at += hi - lo
		}
		shapes[i] = tensor.Shape{int64(at - from)}
	}
	return array.FromRows(t, shapes, v.Cut(0, at).Data()), nil
}

// textFunction returns a function of texts: args from the given number on are whole numbers.
func textFunction(name string, least, most, numbers int, t array.Type, doc string, f func(w *array.Work, s []string, n []int64) any) Function {
	check := func(args []array.Type) (array.Type, error) {
		if err := wantText(name, args, 0, numbers); err != nil {
			return array.Type{}, err
		}
		return t, wantInts(name, args, numbers, len(args))
	}
	return Function{Name: name, Least: least, Most: most, Doc: name + doc, Check: check, Call: func(w *array.Work, args []*array.Column) (*array.Column, error) {
		cols := append([]*array.Column{}, args...)
		var read []func(int) string
		var count []func(int) int64
		for i := range cols {
			if i < numbers {
				var r func(int) string
				cols[i], r = texts(w, cols[i])
				read = append(read, r)
			} else {
				count = append(count, ints(cols[i]))
			}
		}
		s, n := make([]string, len(read)), make([]int64, len(count))
		fill := func(i int) {
			for j := range read {
				s[j] = read[j](i)
			}
			for j := range count {
				n[j] = count[j](i)
			}
		}
		switch t.DType {
		case tensor.Bool:
			return scalars(w, t, cols, func(i int) (bool, bool) { fill(i); return f(w, s, n).(bool), true })
		case tensor.Int64:
			return scalars(w, t, cols, func(i int) (int64, bool) { fill(i); return f(w, s, n).(int64), true })
		}
		over := false
		out, err := scalars(w, t, cols, func(i int) (string, bool) {
			if over || w.Err() != nil {
				return "", true
			}
			fill(i)
			for _, arg := range s {
				w.Allow(int64(len(arg)))
			}
			v, ok := f(w, s, n).(string)
			over = !ok
			return v, true
		})
		if over {
			return nil, errs.New(errs.Invalid, "%s: the text of a row would have more than 1 GiB", name)
		}
		return out, err
	}}
}

func textFunctions() []Function {
	text, truth, whole := array.Of(tensor.String), array.Of(tensor.Bool), array.Of(tensor.Int64)
	trim := func(name, doc string, left, right bool) Function {
		return textFunction(name, 1, 2, 2, text, doc, func(w *array.Work, s []string, _ []int64) any {
			set := " "
			if len(s) > 1 {
				set = s[1]
			}
			return trimmed(w, s[0], set, left, right)
		})
	}
	return []Function{
		{Name: "CONTAINS", Least: 2, Most: 2, Doc: "CONTAINS(text, part): whether part is in the text; of a JSON list whether it is an item", Check: containsType, Call: contains,
			Facts: Facts{Infallible: always}},
		{Name: "EQUALS", Least: 2, Most: 2, Doc: "EQUALS(a, b): whether both are the same text", Check: func(args []array.Type) (array.Type, error) {
			return CompareType("=", args[0], args[1])
		}, Call: func(w *array.Work, args []*array.Column) (*array.Column, error) {
			return Compare(w, "=", args[0], args[1])
		}, Facts: comparisonFacts()},
		{Name: "CONCAT", Least: 1, Most: -1, Doc: "CONCAT(a, b, ...): texts one behind the other, NULL left out", Check: func(args []array.Type) (array.Type, error) {
			for i, t := range args {
				if t.DType != 0 && (!t.Scalar() || t.DType == tensor.Bytes) {
					return array.Type{}, wrong("CONCAT", i, t, "text")
				}
			}
			return text, nil
		}, Call: concat},
		textFunction("LOWER", 1, 1, 1, text, "(text): in small letters", func(w *array.Work, s []string, _ []int64) any { return mapText(w, s[0], strings.ToLower) }).with(Facts{Infallible: always}),
		textFunction("UPPER", 1, 1, 1, text, "(text): in capital letters", func(w *array.Work, s []string, _ []int64) any { return mapText(w, s[0], strings.ToUpper) }).with(Facts{Infallible: always}),
		textFunction("REVERSE", 1, 1, 1, text, "(text): its characters from the last to the first", func(w *array.Work, s []string, _ []int64) any { return backwards(w, s[0]) }),
		trim("TRIM", "(text[, characters]): without spaces, or such characters, at both ends", true, true),
		trim("LTRIM", "(text[, characters]): without spaces, or such characters, at the start", true, false),
		trim("RTRIM", "(text[, characters]): without spaces, or such characters, at the end", false, true),
		textFunction("REPLACE", 3, 3, 3, text, "(text, old, new): with every old replaced", func(w *array.Work, s []string, _ []int64) any {
			if s[1] == "" {
				return s[0]
			}
			return replaceText(w, s[0], s[1], s[2])
		}),
		textFunction("STARTS_WITH", 2, 2, 2, truth, "(text, part): whether the text begins so", func(_ *array.Work, s []string, _ []int64) any { return strings.HasPrefix(s[0], s[1]) }).with(Facts{Infallible: always}),
		textFunction("ENDS_WITH", 2, 2, 2, truth, "(text, part): whether the text ends so", func(_ *array.Work, s []string, _ []int64) any { return strings.HasSuffix(s[0], s[1]) }).with(Facts{Infallible: always}),
		textFunction("INSTR", 2, 2, 2, whole, "(text, part): where part is first, from 1; 0 where it is not", func(w *array.Work, s []string, _ []int64) any {
			i := indexText(w, s[0], s[1])
			if i < 0 {
				return int64(0)
			}
			return int64(countRunes(w, s[0][:i])) + 1
		}),
		textFunction("SUBSTRING", 2, 3, 1, text, "(text, from[, count]): characters from a place, the first is 1, -1 the last", func(w *array.Work, s []string, n []int64) any {
			count := int64(array.MaxRow)
			if len(n) > 1 {
				count = n[1]
			}
			return substring(w, s[0], n[0], count)
		}),
		textFunction("LEFT", 2, 2, 1, text, "(text, count): the first characters; all but the last -count", func(w *array.Work, s []string, n []int64) any {
			return cutText(w, s[0], 0, n[0])
		}),
		textFunction("RIGHT", 2, 2, 1, text, "(text, count): the last characters; all but the first -count", func(w *array.Work, s []string, n []int64) any {
			size := int64(countRunes(w, s[0]))
			if n[0] >= 0 {
				return cutText(w, s[0], max(size-n[0], 0), size)
			}
			return cutText(w, s[0], -max(n[0], -size), size)
		}),
		textFunction("REPEAT", 2, 2, 1, text, "(text, count): several times", func(w *array.Work, s []string, n []int64) any {
			return repeatText(w, s[0], n[0])
		}),
	}
}

// substring is SUBSTRING as DuckDB has it: places count from 1, negative ones from the end, a
// negative count goes left.
func substring(w *array.Work, s string, from, count int64) string {
	size := int64(countRunes(w, s))
	from, count = min(max(from, -array.MaxRow), array.MaxRow), min(max(count, -array.MaxRow), array.MaxRow)
	switch {
	case from > 0:
		from--
	case from < 0:
		from += size
	default:
		from = -1
		if count < 0 {
			return ""
		}
	}
	to := from + count
	if count < 0 {
		from, to = to, from
	}
	return cutText(w, s, max(from, 0), max(min(to, size), 0))
}

// cutText returns the characters [from, to), to counted from the end where it is negative.
func cutText(w *array.Work, s string, from, to int64) string {
	if to < 0 {
		to = max(int64(countRunes(w, s))+to, 0)
	}
	if from >= to {
		return ""
	}
	s = s[skipRunes(w, s, from):]
	return s[:skipRunes(w, s, to-from)]
}

func containsType(args []array.Type) (array.Type, error) {
	out := array.Of(tensor.Bool)
	x, y := args[0], args[1]
	switch {
	case x.DType == 0 || y.DType == 0:
		return out, nil
	case x.DType == tensor.JSON && y.Scalar():
		return out, nil
	case x.Scalar() && (x.Text() || x.Label()):
		return out, wantText("CONTAINS", args, 0, 2)
	case x.List || x.Dims != 0:
		x.List, x.Dims, x.Shape = false, 0, tensor.Shape{}
		if _, err := CompareType("=", x, y); err != nil {
			return array.Type{}, err
		}
		if !y.Scalar() {
			return array.Type{}, wrong("CONTAINS", 1, y, "a single value")
		}
		return out, nil
	}
	return array.Type{}, wrong("CONTAINS", 0, x, "text, JSON, or an array")
}

func contains(w *array.Work, args []*array.Column) (*array.Column, error) {
	x, y := args[0], args[1]
	t := array.Of(tensor.Bool)
	n, _ := array.RowsOf(args...)
	switch {
	case x.DType == 0 || y.DType == 0:
		return array.Nothing(t, n), nil
	case x.DType == tensor.JSON:
		return array.ForAll(func(c []*array.Column, _ int) (*array.Column, error) {
			x, y := c[0], c[1]
			if y.Label() {
				y = array.LabelText(w, y)
			}
			return scalars(w, t, []*array.Column{x, y}, func(i int) (bool, bool) { return containsJSON(w, x.Value(i).(string), array.JSONValue(y, i)) })
		}, x, y)
	case x.List:
		return array.ForAll(func(c []*array.Column, n int) (*array.Column, error) { return containsItem(w, c, n) }, x, y)
	case x.Dims != 0:
		same, err := Compare(w, "=", x, y)
		if err != nil {
			return nil, err
		}
		return Truth(w, same)
	}
	x, a := texts(w, x)
	y, b := texts(w, y)
	return scalars(w, t, []*array.Column{x, y}, func(i int) (bool, bool) { return indexText(w, a(i), b(i)) >= 0, true })
}

// containsItem returns whether a list has an item that is, or has, the value.
func containsItem(w *array.Work, c []*array.Column, n int) (*array.Column, error) {
	x, y := c[0], c[1]
	var rows, owner []int
	if !w.Reserve(32 * int64(array.ItemsOf(x).N)) {
		return nil, w.Err()
	}
	for i := range n {
		lo, hi := x.ItemSpan(i)
		for ; lo < hi; lo++ {
			rows, owner = append(rows, lo), append(owner, i)
		}
	}
	same, err := Compare(w, "=", array.ItemsOf(x).TakeIn(w, rows), y.TakeIn(w, owner))
	if err == nil {
		same, err = Truth(w, same)
	}
	if err != nil {
		return nil, err
	}
	dst := make([]bool, n)
	for _, r := range Pick(same) {
		dst[owner[r]] = true
	}
	out := array.FromBools(dst, array.AnyNull(n, x, y))
	return out.ZeroNulls(), nil
}

func concat(w *array.Work, args []*array.Column) (*array.Column, error) {
	return array.ForAll(func(args []*array.Column, n int) (*array.Column, error) {
		dst, ok := array.Room[string](w, n)
		if !ok {
			return nil, w.Err()
		}
		var read []func(int) string
		var cols []*array.Column
		for _, c := range args {
			if c.DType == 0 {
				continue
			}
			c, err := array.Cast(w, c, array.Of(tensor.String))
			if err != nil {
				return nil, err
			}
			c, r := texts(w, c)
			cols, read = append(cols, c), append(read, r)
		}
		for i := range dst {
			size := 0
			for k, c := range cols {
				if !c.IsNull(i) {
					size += len(read[k](i))
				}
			}
			if len(cols) == 1 {
				w.Allow(int64(size))
			}
			if !w.Step(1+size/16) || !w.Reserve(int64(size)) {
				return nil, w.Err()
			}
			var b strings.Builder
			b.Grow(size)
			for k, c := range cols {
				if !c.IsNull(i) {
					b.WriteString(read[k](i))
				}
			}
			dst[i] = b.String()
		}
		return array.FromStrings(dst, nil), nil
	}, args...)
}

// containsJSON returns whether a list has an item, an object a key, or a string a part.
func containsJSON(w *array.Work, s string, v any) (bool, bool) {
	if !array.StepJSON(w, s) {
		return false, false
	}
	whole, ok := array.ParseJSON(s)
	part, _ := v.(string)
	switch x := whole.(type) {
	case string:
		return strings.Contains(x, part), true
	case array.Compound:
		if list, is := array.JSONList(w, x.Text); is {
			for _, raw := range list {
				item, _ := array.ParseJSON(string(raw))
				if order, known := compareValues(item, v); known && order == 0 {
					return true, true
				}
			}
			return false, true
		}
		object, is := array.JSONObject(w, x.Text)
		_, has := object[part]
		return has, is
	}
	return false, ok
}

var textOperators = []operator{{"||", Facts{Infallible: fitting}}}
