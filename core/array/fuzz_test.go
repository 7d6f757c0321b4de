package array

import (
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

func TestParseTime(t *testing.T) {
	for _, c := range []struct {
		unit Unit
		text string
		want string // as it is written again; "" for an error
	}{
		{Date, "2024-02-29", "2024-02-29"}, {Date, " 2024-2-9 ", "2024-02-09"}, {Date, "2023-02-29", ""}, {Date, "2024-13-01", ""}, {Date, "2024-01-31 10:00", "2024-01-31"},
		{Date, "2024-01-31x", ""}, {Date, "", ""}, {Date, "-0044-03-15", "-0044-03-15"}, {Date, "1969-12-31", "1969-12-31"},
		{Timestamp, "2024-01-31", "2024-01-31 00:00:00"}, {Timestamp, "2024-01-31T12:30:15.25Z", "2024-01-31 12:30:15.25"}, {Timestamp, "2024-01-31 12:30", "2024-01-31 12:30:00"},
		{Timestamp, "2024-01-31 12:30:00+02:00", "2024-01-31 10:30:00"}, {Timestamp, "2024-01-31 12:30:00 -0130", "2024-01-31 14:00:00"}, {Timestamp, "2024-01-31 24:00", ""}, {Timestamp, "2024-01-31 12:60", ""},
		{Timestamp, "2024-01-31 12:30:00.1234567", "2024-01-31 12:30:00.123456"}, {Timestamp, "1969-12-31 23:59:59.999999", "1969-12-31 23:59:59.999999"},
		{Timestamp, "2024-01-31 12:30:00.", ""}, {Timestamp, "2024-01-31 12:30:00+", ""}, {Timestamp, "999999-01-01", ""},
		{Interval, "1 day 2 hours", "1 day 02:00:00"}, {Interval, "1 day 02:00:00.5", "1 day 02:00:00.5"}, {Interval, "-3 minutes", "-00:03:00"}, {Interval, "1.5h", "01:30:00"}, {Interval, "2 weeks", "14 days"},
		{Interval, "1 month", ""}, {Interval, "1", ""}, {Interval, "", ""}, {Interval, "1e300 days", ""}, {Interval, "-1 day -02:00", "-1 day -02:00:00"}, {Interval, "5 us", "00:00:00.000005"}, {Interval, "300 ms", "00:00:00.3"},
	} {
		v, err := ParseTime(c.unit, c.text)
		switch {
		case err != nil && c.want != "":
			t.Errorf("%s %q: %v", c.unit, c.text, err)
		case err == nil && FormatTime(c.unit, v) != c.want:
			t.Errorf("%s %q: got %s, want %q", c.unit, c.text, FormatTime(c.unit, v), c.want)
		}
	}
}

var stamps = regexp.MustCompile(`^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?$`)

func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"2024-01-31", "2024-01-31 12:30:00.5+01:00", "1 day 2 hours", "-1 day -02:00:00", "1.5e3 ms", "9999999 weeks"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, u := range []Unit{Date, Timestamp, Interval} {
			v, err := ParseTime(u, s)
			if err != nil {
				if !errs.Is(err, errs.Invalid) {
					t.Errorf("%s %q: %v", u, s, err)
				}
				continue
			}
			again, err := ParseTime(u, FormatTime(u, v))
			if err != nil || again != v {
				t.Errorf("%s %q is %d, written %q, read %d %v", u, s, v, FormatTime(u, v), again, err)
			}
		}
		if stamps.MatchString(s) {
			want, bad := time.Parse("2006-01-02 15:04:05.999999", s)
			got, err := ParseTime(Timestamp, s)
			if (bad == nil) != (err == nil) || bad == nil && want.UnixMicro() != got {
				t.Errorf("%q: %d %v, want %v %v", s, got, err, want, bad)
			}
		}
	})
}

// FuzzJSON looks keys up as encoding/json would find them.
func FuzzJSON(f *testing.F) {
	f.Add(`{"a": {"b": [1, 2, "c"]}}`, "a", int64(0))
	f.Add(`[1, {"k": null}, "x", -2.5e3]`, "k", int64(-1))
	f.Add(`"text"`, "", int64(1))
	f.Add(` {"a": 1, "a": 2} `, "a", int64(1))
	f.Fuzz(func(t *testing.T, s, key string, at int64) {
		c := From(Of(tensor.JSON), []string{s}, nil)
		got, err := Index(c, []Item{{At: Constant(Of(tensor.String), key, 1)}})
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		var want any
		if json.Unmarshal([]byte(s), &object) == nil {
			want = object[key]
		}
		sameJSON(t, s, got, want)
		if got, err = Index(c, []Item{{At: Constant(Of(tensor.Int64), at, 1)}}); err != nil {
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
			if out, err := Find(name).Apply(c); err != nil || sound(out) != "" {
				t.Errorf("%s of %q: %v", name, s, err)
			}
		}
		if json.Valid([]byte(s)) && canonicalJSON(canonicalJSON(s)) != canonicalJSON(s) {
			t.Errorf("%q is %q, and that is %q", s, canonicalJSON(s), canonicalJSON(canonicalJSON(s)))
		}
		AppendKey(nil, c, 0)
		if _, err := Order([]Key{{Column: c}}); err != nil {
			t.Error(err)
		}
	})
}

func sameJSON(t *testing.T, of string, got *Column, want any) {
	t.Helper()
	if want == nil {
		if !got.IsNull(0) {
			t.Errorf("%q: got %s, want NULL", of, show(got, nil))
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
		m := newMatcher(p, fold)
		if got := m.match(s); got != want {
			t.Errorf("%q LIKE %q, fold %v: %v, want %v", s, p, fold, got, want)
		}
	})
}

// FuzzSlice holds slices against Python's rules, written down one element after the other.
func FuzzSlice(f *testing.F) {
	f.Add(int64(5), int64(1), int64(-1), int64(2), uint8(7))
	f.Add(int64(0), int64(math.MinInt64), int64(math.MaxInt64), int64(-1), uint8(5))
	f.Add(int64(5), int64(math.MaxInt64), int64(math.MinInt64), int64(math.MinInt64), uint8(7))
	f.Fuzz(func(t *testing.T, size, low, high, step int64, given uint8) {
		if size < 0 || size > 1000 || step == 0 {
			return
		}
		hasLow, hasHigh := given&1 != 0, given&2 != 0
		clip := func(v, least, most int64) int64 {
			if v < 0 {
				if v < -size {
					v = least
				} else {
					v += size
				}
			}
			return min(max(v, least), most)
		}
		from, to := int64(0), size
		if step < 0 {
			from, to = size-1, -1
		}
		if hasLow {
			if from = clip(low, 0, size); step < 0 {
				from = clip(low, -1, size-1)
			}
		}
		if hasHigh {
			if to = clip(high, 0, size); step < 0 {
				to = clip(high, -1, size-1)
			}
		}
		var want []int64
		for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
			want = append(want, i)
			if step > size || step < -size {
				break
			}
		}
		c := sliceOf(size, low, high, step, hasLow, hasHigh)
		if c.count != len(want) {
			t.Fatalf("%d[%d:%d:%d] %d: %d elements, want %d", size, low, high, step, given, c.count, len(want))
		}
		for i, w := range want {
			if got := int64(c.start + i*c.step); got != w {
				t.Fatalf("%d[%d:%d:%d] %d: element %d is %d, want %d", size, low, high, step, given, i, got, w)
			}
		}
	})
}
