package compute

import (
	"encoding/json"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"

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
		}, Call: func(args []*array.Column) (*array.Column, error) { return lists(list, args, keysOf) }},
		{Name: "JSON_TYPE", Least: 1, Most: 1, Doc: "JSON_TYPE(json): object, array, string, number, bool or null", Check: func(args []array.Type) (array.Type, error) {
			if x := args[0]; x.DType != 0 && (x.DType != tensor.JSON || !x.Scalar()) {
				return array.Type{}, wrong("JSON_TYPE", 0, x, "json")
			}
			return text, nil
		}, Call: func(args []*array.Column) (*array.Column, error) {
			x := args[0]
			if x.DType == 0 {
				return array.Nothing(text, x.N), nil
			}
			return array.MapText(x, text, func(s string) (string, bool) { return jsonKind(s), true }), nil
		}},
		{Name: "SPLIT", Least: 2, Most: 2, Doc: "SPLIT(text, separator): a list of the parts", Check: func(args []array.Type) (array.Type, error) {
			return list, wantText("SPLIT", args, 0, 2)
		}, Call: func(args []*array.Column) (*array.Column, error) {
			return lists(list, args, func(s []string) ([]string, bool) { return strings.Split(s[0], s[1]), true })
		}},
		pattern("REGEXP_MATCHES", 2, 2, 2, array.Of(tensor.Bool), "REGEXP_MATCHES(text, pattern): whether a part of the text matches (RE2)", func(r *regexp.Regexp, args []string, _ []int64) any {
			return r.MatchString(args[0])
		}),
		pattern("REGEXP_REPLACE", 3, 3, 3, text, "REGEXP_REPLACE(text, pattern, new): with every match replaced; $1 is the first group (RE2)", func(r *regexp.Regexp, args []string, _ []int64) any {
			out := r.ReplaceAllString(args[0], args[2])
			if len(out) > array.MaxRow {
				return nil
			}
			return out
		}),
		pattern("REGEXP_EXTRACT", 2, 3, 2, text, "REGEXP_EXTRACT(text, pattern[, group]): the first match, or a group of it; empty where there is none (RE2)", func(r *regexp.Regexp, args []string, n []int64) any {
			m := r.FindStringSubmatch(args[0])
			group := int64(0)
			if len(n) > 0 {
				group = n[0]
			}
			if group < 0 || group >= int64(len(m)) {
				return ""
			}
			return m[group]
		}),
		textFunction("LPAD", 2, 2, 1, text, "(text, count): spaces in front until there are count characters; the first count of more", func(s []string, n []int64) any { return pad(s[0], n[0], true) }),
		textFunction("RPAD", 2, 2, 1, text, "(text, count): spaces behind until there are count characters; the first count of more", func(s []string, n []int64) any { return pad(s[0], n[0], false) }),
		textFunction("LEVENSHTEIN", 2, 2, 2, array.Of(tensor.Int64), "(a, b): how many characters have to change", func(s []string, _ []int64) any { return levenshtein([]rune(s[0]), []rune(s[1])) }),
	}
}

func pad(s string, count int64, left bool) any {
	size := int64(utf8.RuneCountInString(s))
	switch {
	case count > array.MaxRow:
		return nil
	case size >= count:
		return cutText(s, 0, max(count, 0))
	}
	space := strings.Repeat(" ", int(count-size))
	if left {
		return space + s
	}
	return s + space
}

func levenshtein(a, b []rune) int64 {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return int64(row[len(b)])
}

// lists makes a list of texts of each row; !ok is NULL.
func lists(t array.Type, args []*array.Column, f func(s []string) ([]string, bool)) (*array.Column, error) {
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
			c[i], read[i] = texts(c[i])
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
				parts, ok := f(s)
				null[i] = !ok
				if items = append(items, parts...); len(items) > array.MaxBatch/array.TextBytes {
					return nil, array.TooLarge("a list of texts")
				}
			}
			ends[i] = len(items)
		}
		if items == nil {
			items = []string{}
		}
		return array.FromLists(array.FromStrings(items, nil), ends, null), nil
	}, args...)
}

func keysOf(s []string) ([]string, bool) {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(s[0]), &object) != nil || object == nil {
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
func pattern(name string, least, most, texts int, t array.Type, doc string, f func(r *regexp.Regexp, args []string, n []int64) any) Function {
	return Function{Name: name, Least: least, Most: most, Doc: doc, Check: func(args []array.Type) (array.Type, error) {
		if err := wantText(name, args, 0, texts); err != nil {
			return array.Type{}, err
		}
		return t, wantInts(name, args, texts, len(args))
	}, Call: func(args []*array.Column) (*array.Column, error) {
		var r *regexp.Regexp
		var bad error
		last := ""
		call := textFunction(name, least, most, texts, t, "", func(s []string, n []int64) any {
			if r == nil || s[1] != last {
				var err error
				if len(s[1]) > 10000 {
					err = errs.New(errs.Invalid, "it has %d characters, want at most 10000", len(s[1]))
				} else {
					r, err = regexp.Compile(s[1])
				}
				if err != nil {
					if bad == nil {
						bad = errs.New(errs.Invalid, "%s: the pattern %.100q cannot be read: %w", name, s[1], err)
					}
					r = regexp.MustCompile("")
				}
				last = s[1]
			}
			return f(r, s, n)
		})
		out, err := call.Call(args)
		if bad != nil {
			return nil, bad
		}
		return out, err
	}}
}
