package array

import (
	"sort"
	"strconv"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// nameOf returns the name of a class, or its number where it has none.
func nameOf(names []string, v int64) string {
	if v >= 0 && v < int64(len(names)) {
		return names[v]
	}
	return strconv.FormatInt(v, 10)
}

// LabelText returns the names of labels.
func LabelText(w *Work, c *Column) *Column {
	t := c.Type.WithDType(tensor.String)
	names := c.Names
	return Map(w, t, c, Lanes[int64](c.Data), func(dst []string, a []int64) {
		for i, v := range a {
			dst[i] = nameOf(names, v)
		}
	})
}

// TextLists returns rows that are texts along one axis, such as the names of several labels, as
// lists of texts. NULL stays NULL.
func TextLists(w *Work, c *Column) (*Column, error) {
	list := Of(tensor.String)
	list.List = true
	if c.DType == 0 {
		return Nothing(list, c.N), nil
	}
	c = c.ExpandIn(w)
	if !w.Reserve(int64(c.N)*8 + int64(c.Elements())*TextBytes) {
		return nil, w.Err()
	}
	texts, ends := Elems[string](c), make([]int, c.N)
	items := make([]string, 0, len(texts))
	for i := range ends {
		if !c.IsNull(i) {
			if s := c.ShapeAt(i); len(s) > 1 {
				return nil, InRow(errs.Type, i, "row %d has texts of shape %s, want at most one axis", Here, s)
			}
			lo, hi := c.Span(i)
			items = append(items, texts[lo:hi]...)
		}
		ends[i] = len(items)
	}
	return FromLists(FromStrings(items, nil), ends, c.Null), nil
}

// LabelNumbers returns the class numbers of names. A name that is no class is an error.
func LabelNumbers(w *Work, c *Column, names []string) (*Column, error) {
	index := make(map[string]int64, len(names))
	for i, name := range names {
		index[name] = int64(i)
	}
	t := c.Type.WithDType(tensor.Int64)
	var bad error
	out := Map(w, t, c, Direct(Elems[string](c)), func(dst []int64, a []string) {
		for i, name := range a {
			v, ok := index[name]
			if !ok && bad == nil {
				bad = errs.New(errs.NotFound, "no class is called %q%s", name, classHint(name, names))
			}
			dst[i] = v
		}
	})
	if c.Null != nil && c.Null[0] && c.Stored() == 1 {
		bad = nil
	}
	return out, bad
}

// classHint suggests a name, or lists a few.
func classHint(name string, names []string) string {
	if s := errs.Suggest(name, names); s != "" {
		return s
	}
	if len(names) == 0 {
		return " (there are no class names)"
	}
	some := append([]string{}, names...)
	sort.Strings(some)
	list := ""
	for i, n := range some[:min(len(some), 8)] {
		if i > 0 {
			list += ", "
		}
		list += strconv.Quote(n)
	}
	if len(some) > 8 {
		list += ", ..."
	}
	return " (want one of " + list + ")"
}
