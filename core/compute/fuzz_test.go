package compute

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"deeplake/core/array"
	"deeplake/core/array/arraytest"
	"deeplake/core/tensor"
)

// FuzzJSON looks keys up as encoding/json would find them.
func FuzzJSON(f *testing.F) {
	f.Add(`{"a": {"b": [1, 2, "c"]}}`, "a", int64(0))
	f.Add(`[1, {"k": null}, "x", -2.5e3]`, "k", int64(-1))
	f.Add(`"text"`, "", int64(1))
	f.Add(` {"a": 1, "a": 2} `, "a", int64(1))
	f.Fuzz(func(t *testing.T, s, key string, at int64) {
		c := array.From(array.Of(tensor.JSON), []string{s}, nil)
		got, err := array.Index(nil, c, []array.Item{{At: array.Constant(array.Of(tensor.String), key, 1)}})
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		var want any
		if json.Unmarshal([]byte(s), &object) == nil {
			want = object[key]
		}
		sameJSON(t, s, got, want)
		if got, err = array.Index(nil, c, []array.Item{{At: array.Constant(array.Of(tensor.Int64), at, 1)}}); err != nil {
			t.Fatal(err)
		}
		var list []any
		want = nil
		if json.Unmarshal([]byte(s), &list) == nil {
			if at < 0 {
				at += int64(len(list))
			}
			if at >= 0 && at < int64(len(list)) {
				want = list[at]
			}
		}
		sameJSON(t, s, got, want)
		for _, name := range []string{"KEYS", "JSON_TYPE", "LENGTH"} {
			if out, err := Find(name).Apply(c); err != nil || arraytest.Flaw(out) != "" {
				t.Errorf("%s of %q: %v", name, s, err)
			}
		}
		if json.Valid([]byte(s)) && array.CanonicalJSON(array.CanonicalJSON(s)) != array.CanonicalJSON(s) {
			t.Errorf("%q is %q, and that is %q", s, array.CanonicalJSON(s), array.CanonicalJSON(array.CanonicalJSON(s)))
		}
		array.AppendKey(nil, c, 0)
		if _, err := array.Order([]array.Key{{Column: c}}, nil); err != nil {
			t.Error(err)
		}
	})
}

func sameJSON(t *testing.T, of string, got *array.Column, want any) {
	t.Helper()
	if want == nil {
		if !got.IsNull(0) {
			t.Errorf("%q: got %s, want NULL", of, arraytest.Show(got, nil))
		}
		return
	}
	text, _ := got.Value(0).(string)
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		t.Errorf("%q: got %q", of, text)
	}
	a, _ := json.Marshal(v)
	b, _ := json.Marshal(want)
	if string(a) != string(b) {
		t.Errorf("%q: got %s, want %s", of, a, b)
	}
}

// FuzzLike holds LIKE against the regular expression that says the same.
func FuzzLike(f *testing.F) {
	f.Add("abcabd", "a%b_", false)
	f.Add("\u00c4b%", `\u00e4*\%`, true)
	f.Add("", "%", false)
	f.Fuzz(func(t *testing.T, s, p string, fold bool) {
		if strings.ToValidUTF8(s, "") != s || strings.ToValidUTF8(p, "") != p || len(p) > 200 || len(s) > 1000 {
			return
		}
		for _, r := range s + p {
			// these fold to several letters, or to letters that regexp knows and we do not
			if r > 0x100 {
				return
			}
		}
		var b strings.Builder
		b.WriteString("^(?s")
		if fold {
			b.WriteString("i")
		}
		b.WriteString(":")
		escaped := false
		for _, r := range p {
			switch {
			case escaped:
				b.WriteString(regexp.QuoteMeta(string(r)))
				escaped = false
			case r == '\\':
				escaped = true
			case r == '%' || r == '*':
				b.WriteString(".*")
			case r == '_' || r == '?':
				b.WriteString(".")
			default:
				b.WriteString(regexp.QuoteMeta(string(r)))
			}
		}
		if escaped {
			b.WriteString(`\\`)
		}
		want := regexp.MustCompile(b.String() + ")$").MatchString(s)
		m := newMatcher(nil, p, fold)
		if got := m.match(nil, s); got != want {
			t.Errorf("%q LIKE %q, fold %v: %v, want %v", s, p, fold, got, want)
		}
	})
}
