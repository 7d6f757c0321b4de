package compute

import (
	"cmp"
	"strconv"
	"strings"

	"deeplake/core/array"
	"deeplake/core/tensor"
)

// compareLabels compares labels with text, or with labels that have other names.
func compareLabels(op string, t array.Type, x, y *array.Column) (*array.Column, error) {
	if !x.Label() {
		return compareLabels(flip(op), t, y, x)
	}
	if y.Text() && y.Const {
		numbers, err := array.LabelNumbers(y, x.Names)
		if err != nil {
			return nil, err
		}
		if op == "=" || op == "!=" {
			return compareAs(asInts, op, t, x, numbers)
		}
	}
	a, b := array.LabelText(x), y
	if y.Label() {
		b = array.LabelText(y)
	}
	return compareText(op, t, a, b)
}

// compareJSON compares numbers with numbers and strings with strings. Values of different kinds
// give NULL.
func compareJSON(op string, t array.Type, x, y *array.Column) (*array.Column, error) {
	return array.ForAll(func(c []*array.Column, n int) (*array.Column, error) {
		x, y := c[0], c[1]
		if x.Label() {
			x = array.LabelText(x)
		}
		if y.Label() {
			y = array.LabelText(y)
		}
		out := &array.Column{Type: t, N: n, Same: tensor.Shape{}, Null: make([]bool, n)}
		dst := make([]bool, n)
		for i := range n {
			a, b := array.JSONValue(x, i), array.JSONValue(y, i)
			order, ok := compareValues(a, b)
			if _, whole := a.(array.Compound); whole && op != "=" && op != "!=" {
				ok = false
			}
			if out.Null[i] = !ok; ok {
				dst[i] = holds(op, order)
			}
		}
		out.Data = dst
		return out, nil
	}, x, y)
}

func holds(op string, order int) bool {
	switch op {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

// compareValues compares single values; ok is false if they are of different kinds.
func compareValues(a, b any) (int, bool) {
	if a == nil || b == nil || array.JSONRank(a) != array.JSONRank(b) {
		return 0, false
	}
	switch x := a.(type) {
	case string:
		return strings.Compare(x, b.(string)), true
	case array.Compound:
		return strings.Compare(array.CanonicalJSON(x.Text), array.CanonicalJSON(b.(array.Compound).Text)), true
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y), true
		}
	}
	return array.CompareFloat(array.AsFloat(a), array.AsFloat(b)), true
}

// coarse returns the same for values that compareValues finds equal; of others, large whole numbers
// may have it in common with their neighbours.
func coarse(v any) string {
	switch x := v.(type) {
	case string:
		return "text " + x
	case array.Compound:
		return "json " + array.CanonicalJSON(x.Text)
	case bool:
		return strconv.FormatBool(x)
	}
	return strconv.FormatFloat(array.CanonicalFloat(array.AsFloat(v)), 'g', -1, 64)
}

// Coarse maps values that are compared as JSON to texts. Values that = finds equal have equal
// texts, so a join need not compare all pairs.
func Coarse(c *array.Column) (*array.Column, error) {
	if c.Label() {
		c = array.LabelText(c)
	}
	return array.ForAll(func(c []*array.Column, n int) (*array.Column, error) {
		dst, null := make([]string, n), make([]bool, n)
		for i := range dst {
			v := array.JSONValue(c[0], i)
			if null[i] = v == nil; v != nil {
				dst[i] = coarse(v)
			}
		}
		return array.FromStrings(dst, null), nil
	}, c)
}
