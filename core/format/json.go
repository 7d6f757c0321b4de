package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// damaged classifies the error of a decoder: Corrupt, unless it is Unsupported already.
func damaged(what string, err error) error { return classify(errs.Corrupt, "decode "+what, err) }

// refused classifies what an encoder was given: Invalid, unless it is Unsupported already.
func refused(what string, err error) error { return classify(errs.Invalid, "encode "+what, err) }

func classify(k errs.Kind, op string, err error) error {
	if err == nil {
		return nil
	}
	if errs.Is(err, errs.Unsupported) {
		k = errs.Unsupported
	}
	return &errs.Error{Kind: k, Op: op, Err: err}
}

// marshal renders v compactly, without the escapes that are meant for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// members takes one JSON object apart, member by member and by exact name. The first error stays;
// the caller asks for it at the end.
type members struct {
	of   string
	left map[string]json.RawMessage
	err  error
}

// open begins with an object that strictJSON has passed.
func open(of string, raw json.RawMessage) *members {
	m := &members{of: of, left: map[string]json.RawMessage{}}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '{' {
		m.fail("", errors.New("want a json object"))
		return m
	}
	if err := eachMember(raw, func(name string, value json.RawMessage) error { m.left[name] = value; return nil }); err != nil {
		m.fail("", err)
	}
	return m
}

func (m *members) fail(name string, err error) {
	if m.err != nil {
		return
	}
	if name != "" {
		err = fmt.Errorf("member %q: %w", name, err)
	}
	m.err = fmt.Errorf("%s: %w", m.of, err)
}

// take removes a member. A missing one is an error; null is returned as nil.
func (m *members) take(name string) json.RawMessage {
	raw, ok := m.left[name]
	if !ok {
		m.fail(name, errors.New("is missing"))
		return nil
	}
	delete(m.left, name)
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// value decodes a member that may not be null into a string, number or UUID.
func (m *members) value(name string, dst any) {
	m.decode(name, m.take(name), dst)
}

func (m *members) decode(name string, raw json.RawMessage, dst any) {
	if m.err != nil {
		return
	}
	if raw == nil {
		m.fail(name, errors.New("is null"))
		return
	}
	if err := scalar(raw, dst); err != nil {
		m.fail(name, err)
	}
}

// scalar decodes a string, a number or a uuid; of raw null it is an error.
func scalar(raw json.RawMessage, dst any) error {
	var err error
	switch dst := dst.(type) {
	case *string:
		*dst, err = text(raw)
	case *OpKind:
		var s string
		s, err = text(raw)
		*dst = OpKind(s)
	case *UUID:
		var s string
		if s, err = text(raw); err == nil {
			*dst, err = ParseUUID(s)
		}
	case *int64:
		*dst, err = strconv.ParseInt(string(raw), 10, 64)
	case *uint64:
		*dst, err = strconv.ParseUint(string(raw), 10, 64)
	case *int:
		*dst, err = strconv.Atoi(string(raw))
	case *json.RawMessage:
		if *dst = raw; string(raw) == "null" {
			err = errors.New("is null")
		}
	default:
		err = fmt.Errorf("cannot be decoded into %T", dst)
	}
	return err
}

// end refuses unknown members.
func (m *members) end() error {
	if m.err == nil {
		if unknown := slices.Sorted(maps.Keys(m.left)); len(unknown) > 0 {
			m.fail(clip(unknown[0]), errors.New("is not known"))
		}
	}
	return m.err
}

// uuidOrNull decodes a uuid that may be null but not zero.
func (m *members) uuidOrNull(name string) *UUID {
	raw := m.take(name)
	if raw == nil {
		return nil
	}
	var u UUID
	m.decode(name, raw, &u)
	return &u
}

// count decodes an integer of 0 to limit.
func (m *members) count(name string, limit int64) int64 {
	var n int64
	m.value(name, &n)
	if n < 0 || n > limit {
		m.fail(name, fmt.Errorf("is %d, want 0 to %d", n, limit))
		return 0
	}
	return n
}

// list decodes an array without nulls; null itself is nil.
func list[T any](m *members, name string) []T {
	raw := m.take(name)
	if raw == nil {
		return nil
	}
	out, err := elements[T](raw)
	if err != nil {
		m.fail(name, err)
	}
	return out
}

// elements decodes an array without nulls. The result is not nil.
func elements[T any](raw json.RawMessage) ([]T, error) {
	if len(raw) == 0 || raw[0] != '[' {
		return nil, errors.New("want a json array")
	}
	out := []T{}
	err := eachElement(raw, func(value json.RawMessage) error {
		var v T
		if err := scalar(value, &v); err != nil {
			return fmt.Errorf("element %d: %w", len(out), err)
		}
		out = append(out, v)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// shape decodes a shape; null is nil, which is not the same as no axes.
func (m *members) shape(name string) tensor.Shape { return tensor.Shape(list[int64](m, name)) }

// object decodes free-form members. Numbers stay json.Number, so that no digit is lost.
func (m *members) object(name string) map[string]any {
	raw := m.take(name)
	if m.err != nil {
		return nil
	}
	if string(raw) == "{}" {
		return map[string]any{}
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var out map[string]any
	if err := dec.Decode(&out); err != nil || out == nil {
		m.fail(name, errors.New("want a json object"))
	}
	return out
}

// versioned reads the two members that say whether the rest can be understood. They come before
// every other check, since a newer version has other members.
func versioned(of string, raw json.RawMessage, known ...string) (m *members, used []string, err error) {
	m = open(of, raw)
	if m.err != nil {
		return nil, nil, m.err
	}
	format := string(m.take("format"))
	n, err := strconv.ParseUint(format, 10, 64)
	if m.err == nil && err == nil && n != Version {
		return nil, nil, errs.New(errs.Unsupported, "%s has format version %d, want %d; %s", of, n, Version, otherLibrary(n))
	}
	features := m.take("features")
	switch {
	case m.err != nil:
		return nil, nil, m.err
	case err != nil || strconv.FormatUint(n, 10) != format:
		return nil, nil, fmt.Errorf("%s has format version %q, want %d", of, clip(format), Version)
	}
	used, err = elements[string](features)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("%s: member \"features\": want an array of names", of)
	}
	for i, name := range used {
		if !slices.Contains(known, name) || slices.Contains(used[:i], name) {
			return nil, nil, errs.New(errs.Unsupported, "%s uses the feature %q, which is not known; a newer version of this library may read it", of, clip(name))
		}
	}
	return m, used, nil
}

// checkText refuses strings that JSON would change.
func checkText(name, s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("%s is not UTF-8", name)
	}
	return nil
}

// checkInfo refuses free-form values that would not come back as they are.
func checkInfo(v any, depth int) error {
	if depth > maxJSONDepth {
		return fmt.Errorf("info is nested deeper than %d", maxJSONDepth)
	}
	switch v := v.(type) {
	case string:
		return checkText("info", v)
	case map[string]any:
		for name, child := range v {
			if err := checkText("info", name); err != nil {
				return err
			}
			if err := checkInfo(child, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, child := range v {
			if err := checkInfo(child, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// first is the first error that is one.
func first(found ...error) error {
	for _, err := range found {
		if err != nil {
			return err
		}
	}
	return nil
}

// orEmpty makes nil info the empty object that JSON wants.
func orEmpty(info map[string]any) map[string]any {
	if info == nil {
		return map[string]any{}
	}
	return info
}

// cloneValue copies a free-form value deeply.
func cloneValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return cloneInfo(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = cloneValue(v[i])
		}
		return out
	}
	return v
}

func cloneInfo(info map[string]any) map[string]any {
	if info == nil {
		return nil
	}
	out := make(map[string]any, len(info))
	for name, v := range info {
		out[name] = cloneValue(v)
	}
	return out
}
