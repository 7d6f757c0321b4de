package array

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Compound is JSON that is no single value.
type Compound struct{ Text string }

// ParseJSON gives nil, bool, int64, uint64, float64, string or opaque. ok is false if the text
// is no JSON.
func ParseJSON(s string) (v any, ok bool) {
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
		return Compound{s}, true
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

// JSONText returns a value as text: a string without its quotes, null as nothing.
func JSONText(s string) (string, bool) {
	v, ok := ParseJSON(s)
	switch x := v.(type) {
	case nil:
		return "", false
	case string:
		return x, true
	}
	return s, ok
}

// StepJSON counts the steps of parsing a document. The caller parses it after that; false, it may
// not.
func StepJSON(w *Work, s string) bool { return w.Step(textSteps + 4*len(s)) }

// largeJSON is the size of a document from which parsing can be stopped in between.
const largeJSON = 1 << 20

// JSONList returns the items of a list; false: the document is none, or the work is to stop.
func JSONList(w *Work, s string) ([]json.RawMessage, bool) {
	if len(s) < largeJSON {
		var list []json.RawMessage
		return list, json.Unmarshal([]byte(s), &list) == nil
	}
	var list []json.RawMessage
	ok := eachMember(w, s, '[', func(_ string, value json.RawMessage) { list = append(list, value) })
	return list, ok
}

// JSONObject returns the members of an object; false: the document is none, or the work is to stop.
func JSONObject(w *Work, s string) (map[string]json.RawMessage, bool) {
	if len(s) < largeJSON {
		var object map[string]json.RawMessage
		return object, json.Unmarshal([]byte(s), &object) == nil && object != nil
	}
	object := map[string]json.RawMessage{}
	ok := eachMember(w, s, '{', func(key string, value json.RawMessage) { object[key] = value })
	return object, ok
}

// eachMember calls fn for the members of a list or an object, which begins with open.
func eachMember(w *Work, s string, open json.Delim, fn func(key string, value json.RawMessage)) bool {
	d := json.NewDecoder(&stepReader{w: w, s: s})
	if t, err := d.Token(); err != nil || t != open {
		return false
	}
	for d.More() {
		key := ""
		if open == '{' {
			t, err := d.Token()
			if err != nil {
				return false
			}
			key, _ = t.(string)
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return false
		}
		fn(key, value)
	}
	if _, err := d.Token(); err != nil {
		return false
	}
	_, err := d.Token()
	return errors.Is(err, io.EOF)
}

// stepReader reads a document until the work is to stop.
type stepReader struct {
	w *Work
	s string
}

func (r *stepReader) Read(p []byte) (int, error) {
	if r.s == "" {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), 64<<10)], r.s)
	if !r.w.Step(n) {
		return 0, r.w.Err()
	}
	r.s = r.s[n:]
	return n, nil
}

// pathJSON finds a key of an object, or an item of a list where byNumber.
func pathJSON(w *Work, s, key string, at int64, byNumber bool) (string, bool) {
	s = strings.TrimSpace(s)
	if s == "" || byNumber != (s[0] == '[') || !byNumber && s[0] != '{' {
		return "", false
	}
	if byNumber {
		list, ok := JSONList(w, s)
		if !ok {
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
	object, ok := JSONObject(w, s)
	if !ok {
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

// CanonicalJSON writes equal values alike.
func CanonicalJSON(s string) string {
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

// JSONRank orders kinds of values: bools, numbers, strings, the rest.
func JSONRank(v any) int {
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

// AsFloat returns a bool or number as float64.
func AsFloat(v any) float64 {
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

// JSONValue returns the value of a row. JSON is parsed: a list or object becomes a Compound.
func JSONValue(c *Column, i int) any {
	v := c.Value(i)
	if s, ok := v.(string); ok && c.DType == tensor.JSON {
		v, _ = ParseJSON(s)
	}
	return v
}

// castJSON writes values as JSON.
func castJSON(w *Work, x *Column, t Type) *Column {
	if x.Label() {
		x = LabelText(w, x)
	}
	out, _ := ForAll(func(c []*Column, n int) (*Column, error) {
		out := &Column{Type: t, N: n, Same: tensor.Shape{}, Null: c[0].Nulls()}
		dst, ok := Room[string](w, n)
		for i := range dst {
			if !ok || !w.Step(textSteps) {
				break
			}
			if !c[0].IsNull(i) {
				dst[i] = toJSON(w, c[0], i)
			}
		}
		out.Data = dst
		return out, nil
	}, x)
	return out
}

func toJSON(w *Work, c *Column, i int) string {
	v := c.Value(i)
	size := 2 * numberText // and as much again in the buffer
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
		size = quotedSize(x)
	}
	if !w.Reserve(int64(size)) {
		return "null"
	}
	var b bytes.Buffer
	b.Grow(size)
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// quotedSize is at least the bytes of a text as JSON, quotes and the end of a line included.
func quotedSize(s string) int {
	n := len(s) + 3
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			n++
		case c < ' ', c == 0x7f:
			n += 5
		case c >= utf8.RuneSelf:
			if r, size := utf8.DecodeRuneInString(s[i:]); size > 1 && r != '\u2028' && r != '\u2029' {
				i += size - 1
			} else {
				n += 5
			}
		}
	}
	return n
}

// fromJSON makes numbers, bools and times of JSON values; a value of another kind is an error.
func fromJSON(w *Work, x *Column, t Type) (*Column, error) {
	return ForAll(func(c []*Column, n int) (*Column, error) {
		x := c[0]
		out := &Column{Type: t, N: n, Same: tensor.Shape{}, Null: make([]bool, n)}
		v, ok := RoomOf(w, t.DType, n)
		if !ok {
			return nil, w.Err()
		}
		src, _ := x.Data.([]string)
		for i := range n {
			var value any
			if !x.IsNull(i) {
				if !StepJSON(w, src[i]) {
					break
				}
				value, _ = ParseJSON(src[i])
			}
			var one any
			var err error
			switch y := value.(type) {
			case nil:
				out.Null[i] = true
				continue
			case string:
				one, err = parseOne(y, t)
			case Compound:
				err = InRow(errs.Type, i, "CAST: the JSON value of row %d is no %s", Here, t)
			default:
				if one = single(t.DType, y); one == nil || t.Unit != None {
					err = InRow(errs.Range, i, "CAST: %s of row %d does not fit %s", src[i], Here, t)
				}
			}
			if err != nil {
				return nil, err
			}
			v.copy(i, vectorOf(one))
		}
		out.Data = v.Data()
		return out, nil
	}, x)
}
