// Package arrowtest compares the columns that a reader of files makes with what pyarrow reads.
//
// It owns the form of values in the tests' files. It knows no format.
package arrowtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"deeplake/core/arrow"
	"deeplake/core/tensor"
)

// Golden are the values of all columns of the files of a folder, as pyarrow has read them.
func Golden(t testing.TB, folder string) map[string][]any {
	t.Helper()
	p, err := os.ReadFile(filepath.Join(folder, "values.json"))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(p))
	d.UseNumber()
	var want map[string][]any
	if err := d.Decode(&want); err != nil {
		t.Fatal(err)
	}
	return want
}

// Files are the files whose names match, at least some of them.
func Files(t testing.TB, pattern string, least int) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) < least {
		t.Fatal(names, err)
	}
	out := map[string][]byte{}
	for _, name := range names {
		if out[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// All reads all batches: the values of each column, and the number of rows.
func All(t testing.TB, next func(ctx context.Context) (*arrow.Column, error)) (map[string][]any, int64) {
	t.Helper()
	got, n := map[string][]any{}, int64(0)
	for {
		batch, err := next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if batch == nil {
			return got, n
		}
		n += batch.Len()
		fields, _ := batch.Fields()
		for _, c := range fields {
			got[c.Name()] = append(got[c.Name()], Documents(t, c)...)
		}
	}
}

// Samples returns the rows of a column as the tensor takes them that it makes.
func Samples(t testing.TB, c *arrow.Column) []tensor.Sample {
	t.Helper()
	in := c.Infer()
	htype, err := tensor.ParseHType(cmp.Or(in.HType, "image"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := c.Rows(tensor.Target{HType: htype})
	if err != nil {
		t.Fatalf("%s: %v", c.Name(), err)
	}
	spread := rows.Spread()
	return spread.Samples
}

// Placed returns the number of files in a column whose positions in the file are known. It checks
// that they lie there. Columns without files have none.
func Placed(t testing.TB, file []byte, c *arrow.Column) (n int) {
	t.Helper()
	for _, htype := range []string{"image", "sequence[image]"} {
		target, err := tensor.ParseHType(htype)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := c.Rows(tensor.Target{HType: target})
		if err != nil {
			continue // it is no such column
		}
		for i := range rows.Samples {
			s := &rows.Samples[i]
			if s.Link == nil {
				continue
			}
			if at := s.Link.Offset; s.Link.Length != int64(len(s.Data)) || at < 0 || at+s.Link.Length > int64(len(file)) || !bytes.Equal(file[at:][:len(s.Data)], s.Data) {
				t.Fatalf("column %q: %d bytes of file %d do not lie at %d", c.Name(), s.Link.Length, i, at)
			}
			n++
		}
	}
	return n
}

// Documents returns the rows of a column as JSON, nil for a null.
func Documents(t testing.TB, c *arrow.Column) (out []any) {
	t.Helper()
	rows, err := c.Rows(tensor.Target{HType: tensor.HType{Base: "json"}, DType: tensor.JSON})
	if err != nil {
		t.Fatal(c.Name(), err)
	}
	rows = rows.Spread()
	for _, s := range rows.Samples {
		if s.Form == tensor.FormHole {
			out = append(out, nil)
			continue
		}
		if strings.HasSuffix(c.Type(), "string") || strings.HasPrefix(c.Type(), "dictionary") {
			out = append(out, string(s.Data)) // texts are JSON already
			continue
		}
		d := json.NewDecoder(bytes.NewReader(s.Data))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatal(c.Name(), err)
		}
		out = append(out, v)
	}
	return out
}

// Same compares values, numbers by their value.
func Same(a, b any) bool {
	x, isNumber := a.(json.Number)
	y, also := b.(json.Number)
	if isNumber && also {
		if x == y {
			return true
		}
		f, _ := x.Float64()
		g, _ := y.Float64()
		return f == g && strings.ContainsAny(string(x+y), ".e")
	}
	p, isList := a.([]any)
	q, alsoList := b.([]any)
	if isList && alsoList {
		return slices.EqualFunc(p, q, Same)
	}
	v, isDict := a.(map[string]any)
	w, alsoDict := b.(map[string]any)
	if isDict && alsoDict && len(v) == len(w) {
		for key := range v {
			if !Same(v[key], w[key]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}
