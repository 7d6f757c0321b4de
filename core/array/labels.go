package array

import (
	"sort"
	"strconv"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// nameOf is the name of a class, or its number where it has none.
func nameOf(names []string, v int64) string {
	if v >= 0 && v < int64(len(names)) {
		return names[v]
	}
	return strconv.FormatInt(v, 10)
}

// labelText is the names of labels.
func labelText(c *Column) *Column {
	t := c.Type.to(tensor.String)
	names := c.Names
	return each1(t, c, lanes[int64](c.Data), func(dst []string, a []int64) {
		for i, v := range a {
			dst[i] = nameOf(names, v)
		}
	})
}

// labelNumbers is the numbers of names, which are those of classes; another name is an error.
func labelNumbers(c *Column, names []string) (*Column, error) {
	index := make(map[string]int64, len(names))
	for i, name := range names {
		index[name] = int64(i)
	}
	t := c.Type.to(tensor.Int64)
	var bad error
	out := each1(t, c, direct(elems[string](c)), func(dst []int64, a []string) {
		for i, name := range a {
			v, ok := index[name]
			if !ok && bad == nil {
				bad = errs.New(errs.NotFound, "no class is called %q%s", name, classHint(name, names))
			}
			dst[i] = v
		}
	})
	if c.Null != nil && c.Null[0] && c.held() == 1 {
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

// compareLabels compares labels with text, or with labels that have other names.
func compareLabels(op string, t Type, x, y *Column) (*Column, error) {
	if !x.Label() {
		return compareLabels(flip(op), t, y, x)
	}
	if y.Text() && y.Const {
		numbers, err := labelNumbers(y, x.Names)
		if err != nil {
			return nil, err
		}
		if op == "=" || op == "!=" {
			return compareAs(asInts, op, t, x, numbers)
		}
	}
	a, b := labelText(x), y
	if y.Label() {
		b = labelText(y)
	}
	return compareText(op, t, a, b)
}
