package compute

import (
	"sort"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// moreTexts returns the functions of texts that make lists or read patterns.
func moreTexts() []Function {
	text := array.Of(tensor.String)
	list := text
	list.List = true
	return []Function{
		{Name: "KEYS", Least: 1, Most: 1, Doc: "KEYS(json): the keys of an object, in order of the alphabet; NULL of anything else", Check: func(args []array.Type) (array.Type, error) {
			if x := args[0]; x.DType != 0 && (x.DType != tensor.JSON || !x.Scalar()) {
				return array.Type{}, wrong("KEYS", 0, x, "json")
			}
			return list, nil
		}, Call: func(w *array.Work, args []*array.Column) (*array.Column, error) { return lists(w, list, args, keysOf) }},
		{Name: "JSON_TYPE", Least: 1, Most: 1, Doc: "JSON_TYPE(json): object, array, string, number, bool or null", Check: func(args []array.Type) (array.Type, error) {
			if x := args[0]; x.DType != 0 && (x.DType != tensor.JSON || !x.Scalar()) {
				return array.Type{}, wrong("JSON_TYPE", 0, x, "json")
			}
			return text, nil
		}, Call: func(w *array.Work, args []*array.Column) (*array.Column, error) {
			x := args[0]
			if x.DType == 0 {
				return array.Nothing(text, x.N), nil
			}
			return array.MapText(w, x, text, func(s string) (string, bool) { return jsonKind(s), true }), nil
		}},
		{Name: "SPLIT", Least: 2, Most: 2, Doc: "SPLIT(text, separator): a list of the parts", Check: func(args []array.Type) (array.Type, error) {
			return list, wantText("SPLIT", args, 0, 2)
		}, Call: func(w *array.Work, args []*array.Column) (*array.Column, error) {
			return lists(w, list, args, func(w *array.Work, s []string) ([]string, bool) { return splitText(w, s[0], s[1]), true })
		}},
		pattern("REGEXP_MATCHES", 2, 2, 2, array.Of(tensor.Bool), "REGEXP_MATCHES(text, pattern): whether a part of the text matches (RE2)", func(w *array.Work, p *regex, args []string, _ []int64) any {
			return p.matches(w, args[0])
		}),
		pattern("REGEXP_REPLACE", 3, 3, 3, text, "REGEXP_REPLACE(text, pattern, new): with every match replaced; $1 is the first group (RE2)", func(w *array.Work, p *regex, args []string, _ []int64) any {
			return p.replace(w, args[0], args[2])
		}),
		pattern("REGEXP_EXTRACT", 2, 3, 2, text, "REGEXP_EXTRACT(text, pattern[, group]): the first match, or a group of it; empty where there is none (RE2)", func(w *array.Work, p *regex, args []string, n []int64) any {
			group := int64(0)
			if len(n) > 0 {
				group = n[0]
			}
			return p.extract(w, args[0], group)
		}),
		textFunction("LPAD", 2, 2, 1, text, "(text, count): spaces in front until there are count characters; the first count of more", func(w *array.Work, s []string, n []int64) any { return pad(w, s[0], n[0], true) }),
		textFunction("RPAD", 2, 2, 1, text, "(text, count): spaces behind until there are count characters; the first count of more", func(w *array.Work, s []string, n []int64) any { return pad(w, s[0], n[0], false) }),
		textFunction("LEVENSHTEIN", 2, 2, 2, array.Of(tensor.Int64), "(a, b): how many characters have to change", func(w *array.Work, s []string, _ []int64) any { return levenshtein(w, s[0], s[1]) }),
	}
}

// lists makes a list of texts of each row; !ok is NULL.
func lists(w *array.Work, t array.Type, args []*array.Column, f func(w *array.Work, s []string) ([]string, bool)) (*array.Column, error) {
	n, _ := array.RowsOf(args...)
	if anyUntyped(args) {
		return array.Nothing(t, n), nil
	}
	return array.ForAll(func(c []*array.Column, n int) (*array.Column, error) {
		c = append([]*array.Column{}, c...)
		read := make([]func(int) string, len(c))
		for i := range c {
			if c[i].DType == tensor.JSON {
				d := array.Elems[string](c[i])
				at := c[i].StoredAt
				read[i] = func(row int) string { return d[at(row)] }
				continue
			}
			c[i], read[i] = texts(w, c[i])
		}
		if !w.Reserve(9 * int64(n)) {
			return nil, w.Err()
		}
		null := make([]bool, n)
		copy(null, array.AnyNull(n, c...))
		ends := make([]int, n)
		var items []string
		s := make([]string, len(c))
		for i := range n {
			if !null[i] {
				for k := range c {
					s[k] = read[k](i)
				}
				parts, ok := f(w, s)
				if null[i] = !ok; !w.Reserve(int64(len(parts))*array.TextBytes) || !w.Step(rowSteps+len(parts)) {
					return nil, w.Err()
				}
				items = append(items, parts...)
			}
			ends[i] = len(items)
		}
		if items == nil {
			items = []string{}
		}
		return array.FromLists(array.FromStrings(items, nil), ends, null), nil
	}, args...)
}

func keysOf(w *array.Work, s []string) ([]string, bool) {
	if !array.StepJSON(w, s[0]) {
		return nil, false
	}
	object, ok := array.JSONObject(w, s[0])
	if !ok {
		return nil, false
	}
	out := make([]string, 0, len(object))
	for k := range object {
		out = append(out, k)
	}
	sort.Strings(out)
	return out, true
}

func jsonKind(s string) string {
	v, _ := array.ParseJSON(s)
	switch x := v.(type) {
	case nil:
		return "null"
	case bool:
		return "bool"
	case string:
		return "string"
	case array.Compound:
		if x.Text[0] == '[' {
			return "array"
		}
		return "object"
	}
	return "number"
}

// pattern returns a function with a regular expression as its second argument. It compiles a
// constant one once.
func pattern(name string, least, most, texts int, t array.Type, doc string, f func(w *array.Work, p *regex, args []string, n []int64) any) Function {
	return Function{Name: name, Least: least, Most: most, Doc: doc, Check: func(args []array.Type) (array.Type, error) {
		if err := wantText(name, args, 0, texts); err != nil {
			return array.Type{}, err
		}
		return t, wantInts(name, args, texts, len(args))
	}, Call: func(w *array.Work, args []*array.Column) (*array.Column, error) {
		var p *regex
		var bad error
		last := ""
		call := textFunction(name, least, most, texts, t, "", func(w *array.Work, s []string, n []int64) any {
			if p == nil || s[1] != last {
				var err error
				if p, err = newRegex(w, s[1]); err != nil {
					if bad == nil {
						bad = errs.New(errs.Invalid, "%s: the pattern %.100q cannot be read: %w", name, s[1], err)
					}
					p = emptyRegex()
				}
				last = s[1]
			}
			return f(w, p, s, n)
		})
		out, err := call.Call(w, args)
		if bad != nil {
			return nil, bad
		}
		return out, err
	}}
}
