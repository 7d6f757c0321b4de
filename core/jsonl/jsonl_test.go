package jsonl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"deeplake/core/arrow"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// rows reads all rows of all batches as maps of JSON values, with the numbers of their lines.
func rows(t testing.TB, r *Reader) (out []map[string]any, lines []int64, err error) {
	t.Helper()
	for {
		b, err := r.Next(context.Background())
		if err != nil || b == nil {
			return out, lines, err
		}
		from := len(out)
		for range b.Len() {
			out = append(out, map[string]any{})
		}
		lines = append(lines, b.Rows...)
		fields, _ := b.Fields()
		for _, c := range fields {
			for i, v := range values(t, c) {
				if v != nil {
					out[from+i][c.Name()] = v
				}
			}
		}
	}
}

// values returns the rows of a column as JSON values; texts as they are.
func values(t testing.TB, c *arrow.Column) (out []any) {
	t.Helper()
	r, err := c.Rows(tensor.Target{HType: tensor.HType{Base: "json"}, DType: tensor.JSON})
	if err != nil {
		t.Fatal(c.Name(), err)
	}
	isText := c.Type() == "string" && c.Infer().HType == "text"
	for _, s := range r.Spread().Samples {
		var v any
		if s.Form != tensor.FormHole && isText {
			v = string(s.Data)
		} else if s.Form != tensor.FormHole {
			if err := json.Unmarshal(s.Data, &v); err != nil {
				t.Fatal(c.Name(), err)
			}
		}
		out = append(out, v)
	}
	return out
}

// TestLines reads lines of every kind of value, with the types of their columns.
func TestLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines string
		want  []map[string]any
		types map[string]string
	}{
		"numbers": {"{\"a\": 1}\n{\"a\": -2}\n", []map[string]any{{"a": 1.0}, {"a": -2.0}}, map[string]string{"a": "int64"}},
		"floats":  {"{\"a\": 1}\n{\"a\": 0.5e1}", []map[string]any{{"a": 1.0}, {"a": 5.0}}, map[string]string{"a": "double"}},
		"large":   {"{\"a\": 18446744073709551615}", []map[string]any{{"a": 18446744073709551615.0}}, map[string]string{"a": "uint64"}},
		"huge":    {"{\"a\": 18446744073709551616}", []map[string]any{{"a": 18446744073709551616.0}}, map[string]string{"a": "double"}},
		"whole":   {"{\"a\": 9007199254740994}\n{\"a\": 0.5}\n{\"a\": -9007199254740992}", []map[string]any{{"a": 9007199254740994.0}, {"a": 0.5}, {"a": -9007199254740992.0}}, map[string]string{"a": "double"}},
		"digits":  {"{\"a\": [9007199254740993, 0.5]}", []map[string]any{{"a": []any{9007199254740992.0, 0.5}}}, map[string]string{"a": "string"}},
		"bools":   {"{\"a\": true}\n{\"a\": false}\n{}", []map[string]any{{"a": true}, {"a": false}, {}}, map[string]string{"a": "bool"}},
		"texts": {
			`{"a": "\u00fc \"q\" \\ / \n", "b": "日本"}` + "\r\n" + `{"a": "", "b": null}`,
			[]map[string]any{{"a": "\u00fc \"q\" \\ / \n", "b": "日本"}, {"a": ""}}, map[string]string{"a": "string", "b": "string"},
		},
		"lists": {
			`{"a": [1, 2], "b": ["x"], "c": [[1.5], []], "d": [], "e": [true]}` + "\n" + `{"a": [], "b": ["y", "z"], "c": [], "d": []}`,
			[]map[string]any{
				{"a": []any{1.0, 2.0}, "b": []any{"x"}, "c": []any{[]any{1.5}, []any{}}, "d": []any{}, "e": []any{true}},
				{"a": []any{}, "b": []any{"y", "z"}, "c": []any{}, "d": []any{}},
			},
			map[string]string{"a": "list<int64>", "b": "list<string>", "c": "list<list<double>>", "d": "list<null>", "e": "list<bool>"},
		},
		"documents": {
			`{"a": {"x": [1, {"y": null}]}, "b": [1, "x"], "c": [null], "d": [[1], 2], "e": [{"z": 1}]}`,
			[]map[string]any{{
				"a": map[string]any{"x": []any{1.0, map[string]any{"y": nil}}}, "b": []any{1.0, "x"}, "c": []any{nil}, "d": []any{[]any{1.0}, 2.0},
				"e": []any{map[string]any{"z": 1.0}},
			}},
			map[string]string{"a": "string", "b": "string", "c": "string", "d": "string", "e": "string"},
		},
		"nulls":    {`{"a": null}`, []map[string]any{{}}, map[string]string{"a": "null"}},
		"late":     {"{\"a\": 1}\n\n  \n{\"b\": \"x\"}", []map[string]any{{"a": 1.0}, {"b": "x"}}, map[string]string{"a": "int64", "b": "string"}},
		"twice":    {`{"a": 1, "a": 2}`, []map[string]any{{"a": 2.0}}, nil},
		"mark":     {"\xef\xbb\xbf{\"a\": 1}", []map[string]any{{"a": 1.0}}, nil},
		"escaped":  {`{"\u0061b": 1}`, []map[string]any{{"ab": 1.0}}, nil},
		"no lines": {" \n\n", nil, nil},
		"empty":    {"", nil, nil},
	} {
		for how, from := range map[string]io.Reader{
			"at once": strings.NewReader(c.lines), "byte by byte": iotest.OneByteReader(strings.NewReader(c.lines)), "with its end": iotest.DataErrReader(strings.NewReader(c.lines)),
		} {
			got, _, err := rows(t, NewReader(from, Options{}))
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s, %s: %v, %v, want %v", name, how, got, err, c.want)
			}
		}
		if b, _ := NewReader(strings.NewReader(c.lines), Options{}).Next(t.Context()); c.types != nil {
			fields, _ := b.Fields()
			got := map[string]string{}
			for _, f := range fields {
				got[f.Name()] = f.Type()
			}
			if !reflect.DeepEqual(got, c.types) {
				t.Errorf("%s: types %v, want %v", name, got, c.types)
			}
		}
	}
}

// TestWrongLines: each wrong line is an error with its number, or is left out.
func TestWrongLines(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	for line, want := range map[string]string{
		`{"a": 1`: "is no JSON: it is cut", `[1]`: "is no JSON object", `7`: "is no JSON object", `{"a": 01}`: "byte 7", `{"a": 1.}`: "is no JSON", `{"a": +1}`: "is no JSON",
		`{"a": tru}`: "is no JSON", `{"a" 1}`: "is no JSON", `{a: 1}`: "is no JSON", `{"a": 1} 2`: "is no JSON", `{"a": 1,}`: "is no JSON", `{"a": "\x"}`: "is no JSON",
		`{"a": "\u12"}`: "is no JSON", "{\"a\": \"\x01\"}": "is no JSON", "{\"a\": \"\xff\"}": "is not UTF-8", `{"a": ` + deep + `}`: "deep", `{"a": "x"}`: "has a text for \"a\", and lines before have a number",
		`{"a": [1]}`: "has a list", `{"b": "x\ud83d"}`: "half a character", `{"b": "\ude00\ud83d"}`: "half a character", `{"\ud83d": 1}`: "half a character",
		`{"new": 1, "a": "x"}`: "has a text",
	} {
		text := "{\"a\": 5}\n" + line + "\n{\"a\": 6}\n"
		_, _, err := rows(t, NewReader(strings.NewReader(text), Options{}))
		if err == nil || !strings.Contains(err.Error(), "line 2 ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
		var left []int64
		got, lines, err := rows(t, NewReader(strings.NewReader(text), Options{LeaveOut: func(n int64, err error) error {
			left = append(left, n)
			return nil
		}}))
		if err != nil || !reflect.DeepEqual(got, []map[string]any{{"a": 5.0}, {"a": 6.0}}) || !slices.Equal(left, []int64{1}) || !slices.Equal(lines, []int64{0, 2}) {
			t.Errorf("%s left out: %v, lines %v, left %v, %v", line, got, lines, left, err)
		}
	}
}

// TestLongIntegers holds that nothing computes with an integer of a million digits.
func TestLongIntegers(t *testing.T) {
	t.Parallel()
	lines := "{\"a\": 0.5}\n{\"a\": " + strings.Repeat("7", 8<<20) + "}"
	_, _, err := rows(t, NewReader(strings.NewReader(lines), Options{}))
	if want := `line 2 has 7777777777777777777777777777777777777777 for "a", and float64 would round`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%.200v", err)
	}
}

// TestDigits: integers keep their digits, or are an error, unless the user wants floats.
func TestDigits(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{
		`{"a": 123456789012345678901234567890}`:        `line 1 has 123456789012345678901234567890 for "a"`,
		"{\"a\": -1}\n{\"a\": 18446744073709551615}":   `line 2 has 18446744073709551615 for "a"`,
		"{\"a\": 18446744073709551615}\n\n{\"a\": -1}": `line 3 has -1 for "a"`,
		"{\"a\": 9007199254740993}\n{\"a\": 1.5}":      `line 2 has 1.5 for "a"`,
		"{\"a\": 1.5}\n{\"a\": -9007199254740993}":     `line 2 has -9007199254740993 for "a"`,
		"{\"a\": 9007199254740993}\n{\"a\": 1e400}":    `line 2 has 1e400 for "a"`,
	} {
		if _, _, err := rows(t, NewReader(strings.NewReader(lines), Options{})); !errs.Is(err, errs.Type) || !strings.Contains(err.Error(), want+", and float64 would round an integer of the column; give it htype json, or dtype float64") {
			t.Errorf("%s: %v", lines, err)
		}
		left := 0
		if got, _, err := rows(t, NewReader(strings.NewReader(lines), Options{LeaveOut: func(int64, error) error { left++; return nil }})); err != nil || left != 1 || len(got) != strings.Count(lines, "a")-1 {
			t.Errorf("%s without a line: %v, %d left out, %v", lines, got, left, err)
		}
		if strings.Contains(lines, "1e400") {
			continue // beyond float64
		}
		if got, _, err := rows(t, NewReader(strings.NewReader(lines), Options{Rounded: []string{"a"}})); err != nil || len(got) == 0 {
			t.Errorf("%s as floats: %v", lines, err)
		}
		if got, _, err := rows(t, NewReader(strings.NewReader(lines), Options{Documents: []string{"a"}})); err != nil || len(got) == 0 {
			t.Errorf("%s as JSON: %v", lines, err)
		}
	}
	// A document keeps the digits of its integers.
	b, err := NewReader(strings.NewReader(`{"a": [9007199254740993, 0.5]}`), Options{}).Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fields, _ := b.Fields()
	r, err := fields[0].Rows(tensor.Target{HType: tensor.HType{Base: "json"}, DType: tensor.JSON})
	if err != nil || string(r.Spread().Samples[0].Data) != "[9007199254740993, 0.5]" {
		t.Error(r, err)
	}
	// Whole characters of two escapes stay, and escaped backslashes are no escapes.
	text := `{"a": "\ud83d\ude00", "b": "\\ud83d", "c": "\\\ud83d\ude00"}`
	if got, _, err := rows(t, NewReader(strings.NewReader(text), Options{})); err != nil || !reflect.DeepEqual(got, []map[string]any{{"a": "😀", "b": `\ud83d`, "c": `\😀`}}) {
		t.Error(got, err)
	}
}

// TestOptions reads some keys, documents of any kind, and the lines from one on.
func TestOptions(t *testing.T) {
	t.Parallel()
	text := "{\"a\": 1, \"b\": 2}\n{\"a\": \"x\", \"b\": 3}\n\n{\"a\": [\"\\u0041\"], \"b\": 4}"
	o := Options{Columns: []string{"a"}, Documents: []string{"a"}}
	got, _, err := rows(t, NewReader(strings.NewReader(text), o))
	if err != nil || !reflect.DeepEqual(got, []map[string]any{{"a": 1.0}, {"a": "x"}, {"a": []any{"A"}}}) {
		t.Error(got, err)
	}
	for from, want := range [][]int64{{0, 1, 3}, {1, 3}, {3}, {3}, nil} {
		o.From = int64(from)
		if _, lines, err := rows(t, NewReader(strings.NewReader(text), o)); err != nil || !slices.Equal(lines, want) {
			t.Errorf("from %d: lines %v, want %v, %v", from, lines, want, err)
		}
	}
	gone := errors.New("gone")
	if _, _, err := rows(t, NewReader(iotest.ErrReader(gone), o)); !errors.Is(err, gone) {
		t.Error(err)
	}
}

// TestBatches: batches are bounded by bytes and by cells, and keep their memory.
func TestBatches(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	for i := range 3000 {
		fmt.Fprintf(&text, "{\"id\": %d, \"key %d\": \"%s\"}\n", i, i, strings.Repeat("x", i%50))
	}
	r := NewReader(&text, Options{Most: 20_000})
	var batches []*arrow.Batch
	for {
		b, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			break
		}
		batches = append(batches, b)
	}
	if len(batches) < 5 {
		t.Fatalf("%d batches", len(batches))
	}
	next := 0.0
	for _, b := range batches {
		fields, _ := b.Fields()
		for _, v := range values(t, fields[0]) {
			if v != next {
				t.Fatalf("id %v, want %v", v, next)
			}
			next++
		}
	}
	wide := strings.Repeat("{}\n", 1<<15) + "{" + strings.Repeat("\"x\": 1, ", 1) + "\"y\": 2}\n"
	for i := range 2000 {
		wide += fmt.Sprintf("{\"k%d\": 1}\n", i)
	}
	b, err := NewReader(strings.NewReader(wide), Options{}).Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if fields, _ := b.Fields(); len(fields)*int(b.Len()) > maxCells+int(b.Len()) {
		t.Errorf("%d columns of %d rows", len(fields), b.Len())
	}
	many := "{"
	for i := range maxColumns + 1 {
		many += fmt.Sprintf("\"k%d\": 1,", i)
	}
	if _, err := NewReader(strings.NewReader(many+"\"z\": 1}"), Options{}).Next(t.Context()); !errs.Is(err, errs.Invalid) {
		t.Error(err)
	}
}

// FuzzLines reads forged lines. What encoding/json takes for an object is a row with its values.
func FuzzLines(f *testing.F) {
	for _, line := range []string{`{"a": [1, [2.5e3], "\u00e9", null, {"b": true}]}`, `{"a":1}` + "\n" + `{"b":"x"}`, `{"a": [[1], [2, 3]]}`, `{`, `{"a": -0.0E+1}`} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		got, lines, err := rows(t, NewReader(bytes.NewReader(p), Options{LeaveOut: func(int64, error) error { return nil }}))
		if err != nil {
			if !strings.Contains(err.Error(), "beyond the range of float64") {
				t.Fatal(err)
			}
			return
		}
		all := bytes.Split(bytes.TrimPrefix(p, []byte("\xef\xbb\xbf")), []byte("\n"))
		for i, n := range lines {
			var want map[string]any
			if err := json.Unmarshal(all[n], &want); err != nil {
				t.Fatalf("line %d is read, and is no JSON: %v", n, err)
			}
			for key, v := range want {
				if v != nil && !reflect.DeepEqual(got[i][key], v) {
					t.Fatalf("line %d: %q is %v, want %v", n, key, got[i][key], v)
				}
			}
		}
	})
}
