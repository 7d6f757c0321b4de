package array

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// opaque is JSON that is no single value.
type opaque struct{ text string }

// parseJSON gives nil, bool, int64, uint64, float64, string or opaque. ok is false where the text
// is no JSON.
func parseJSON(s string) (v any, ok bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, false
	}
	switch c := s[0]; {
	case s == "null":
		return nil, true
	case s == "true":
		return true, true
	case s == "false":
		return false, true
	case c == '{' || c == '[':
		return opaque{s}, true
	case c == '"':
		var out string
		if json.Unmarshal([]byte(s), &out) != nil {
			return nil, false
		}
		return out, true
	}
	if v, err := strconv.ParseInt(s, 10, 64); err == nil {
		return v, true
	}
	if v, err := strconv.ParseUint(s, 10, 64); err == nil {
		return v, true
	}
	v2, err := strconv.ParseFloat(s, 64)
	return v2, err == nil
}

// jsonText is a value as text: a string without its quotes, null as nothing.
func jsonText(s string) (string, bool) {
	v, ok := parseJSON(s)
	switch x := v.(type) {
	case nil:
		return "", false
	case string:
		return x, true
	}
	return s, ok
}

// pathJSON finds a key of an object, or an item of a list where byNumber.
func pathJSON(s, key string, at int64, byNumber bool) (string, bool) {
	s = strings.TrimSpace(s)
	if s == "" || byNumber != (s[0] == '[') || !byNumber && s[0] != '{' {
		return "", false
	}
	if byNumber {
		var list []json.RawMessage
		if json.Unmarshal([]byte(s), &list) != nil {
			return "", false
		}
		if at < 0 {
			at += int64(len(list))
		}
		if at < 0 || at >= int64(len(list)) {
			return "", false
		}
		return found(list[at])
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(s), &object) != nil {
		return "", false
	}
	return found(object[key])
}

// found says that null is nothing.
func found(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", false
	}
	return string(raw), true
}

// canonicalJSON writes equal values alike.
func canonicalJSON(s string) string {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return s
	}
	out, err := json.Marshal(plain(v))
	if err != nil {
		return s
	}
	return string(out)
}

// plain makes numbers of one value equal, however they are written.
func plain(v any) any {
	switch x := v.(type) {
	case json.Number:
		if i, err := x.Int64(); err == nil {
			return i
		}
		if f, err := x.Float64(); err == nil {
			if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
				return int64(f)
			}
			return f
		}
	case []any:
		for i := range x {
			x[i] = plain(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = plain(x[k])
		}
	}
	return v
}

// rank orders kinds of values: bools, numbers, strings, the rest.
func rank(v any) int {
	switch v.(type) {
	case bool:
		return 0
	case int64, uint64, float64:
		return 1
	case string:
		return 2
	}
	return 3
}

func asFloat(v any) float64 {
	switch x := v.(type) {
	case bool:
		if x {
			return 1
		}
	case int64:
		return float64(x)
	case uint64:
		return float64(x)
	case float64:
		return x
	}
	return 0
}

// compareValues compares single values; ok is false where they are of different kinds.
func compareValues(a, b any) (int, bool) {
	if a == nil || b == nil || rank(a) != rank(b) {
		return 0, false
	}
	switch x := a.(type) {
	case string:
		return strings.Compare(x, b.(string)), true
	case opaque:
		return strings.Compare(canonicalJSON(x.text), canonicalJSON(b.(opaque).text)), true
	case int64:
		if y, ok := b.(int64); ok {
			return compareOrdered(x, y), true
		}
	}
	return compareFloat(asFloat(a), asFloat(b)), true
}

// coarse is the same for values that compareValues finds equal; of others, large whole numbers may
// have it in common with their neighbours.
func coarse(v any) string {
	switch x := v.(type) {
	case string:
		return "text " + x
	case opaque:
		return "json " + canonicalJSON(x.text)
	case bool:
		return strconv.FormatBool(x)
	}
	return strconv.FormatFloat(same64(asFloat(v)), 'g', -1, 64)
}

// Coarse gives values of JSON, and what is compared with them, a text that is the same wherever =
// holds, so that not all pairs need be compared.
func Coarse(c *Column) (*Column, error) {
	if c.Label() {
		c = labelText(c)
	}
	return forAll(func(c []*Column, n int) (*Column, error) {
		dst, null := make([]string, n), make([]bool, n)
		for i := range dst {
			v := jsonValue(c[0], i)
			if null[i] = v == nil; v != nil {
				dst[i] = coarse(v)
			}
		}
		return FromStrings(dst, null), nil
	}, c)
}

// compareJSON compares numbers with numbers and strings with strings; what cannot be compared is
// NULL.
func compareJSON(op string, t Type, x, y *Column) (*Column, error) {
	return forAll(func(c []*Column, n int) (*Column, error) {
		x, y := c[0], c[1]
		if x.Label() {
			x = labelText(x)
		}
		if y.Label() {
			y = labelText(y)
		}
		out := &Column{Type: t, N: n, Same: tensor.Shape{}, Null: make([]bool, n)}
		dst := make([]bool, n)
		for i := range n {
			a, b := jsonValue(x, i), jsonValue(y, i)
			order, ok := compareValues(a, b)
			if _, whole := a.(opaque); whole && op != "=" && op != "!=" {
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

func jsonValue(c *Column, i int) any {
	v := c.Value(i)
	if s, ok := v.(string); ok && c.DType == tensor.JSON {
		v, _ = parseJSON(s)
	}
	return v
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

// castJSON writes values as JSON.
func castJSON(x *Column, t Type) *Column {
	if x.Label() {
		x = labelText(x)
	}
	out, _ := forAll(func(c []*Column, n int) (*Column, error) {
		out := &Column{Type: t, N: n, Same: tensor.Shape{}, Null: c[0].nulls()}
		dst := make([]string, n)
		for i := range n {
			if !c[0].IsNull(i) {
				dst[i] = toJSON(c[0], i)
			}
		}
		out.Data = dst
		return out, nil
	}, x)
	return out
}

func toJSON(c *Column, i int) string {
	v := c.Value(i)
	switch x := v.(type) {
	case int64:
		if c.Unit != None {
			v = FormatTime(c.Unit, x)
		}
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return "null"
		}
	case string:
		if json.Valid([]byte(x)) {
			return x
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// fromJSON makes numbers, bools and times of JSON values; a value of another kind is an error.
func fromJSON(x *Column, t Type) (*Column, error) {
	return forAll(func(c []*Column, n int) (*Column, error) {
		x := c[0]
		out := &Column{Type: t, N: n, Same: tensor.Shape{}, Null: make([]bool, n)}
		v := allocate(t.DType, n)
		src, _ := x.Data.([]string)
		for i := range n {
			var value any
			if !x.IsNull(i) {
				value, _ = parseJSON(src[i])
			}
			var one any
			var err error
			switch y := value.(type) {
			case nil:
				out.Null[i] = true
				continue
			case string:
				one, err = parseOne(y, t)
			case opaque:
				err = inRow(errs.Type, i, "CAST: the JSON value of row %d is no %s", here, t)
			default:
				if one = single(t.DType, y); one == nil || t.Unit != None {
					err = inRow(errs.Range, i, "CAST: %s of row %d does not fit %s", src[i], here, t)
				}
			}
			if err != nil {
				return nil, err
			}
			v.copy(i, vectorOf(one))
		}
		out.Data = v.data()
		return out, nil
	}, x)
}
