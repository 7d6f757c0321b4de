package annotations

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math"
	"slices"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// tree is a Source in memory, by names of files.
type tree map[string]string

func (t tree) Open(_ context.Context, key string) (io.ReadCloser, error) {
	text, ok := t[key]
	if !ok {
		return nil, errs.New(errs.NotFound, "there is no %s", key)
	}
	return io.NopCloser(bytes.NewReader([]byte(text))), nil
}

// place returns the place of a tree, in which files whose text is "" are pictures.
func (t tree) place() *Place {
	p := &Place{Source: t, Names: &Names{}}
	keys := make([]string, 0, len(t))
	for key := range t {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		p.Names.Add(key)
	}
	return p
}

// open reads the annotations of a tree.
func (t tree) open(tb testing.TB, format string, change func(p *Place)) Set {
	tb.Helper()
	p := t.place()
	if change != nil {
		change(p)
	}
	set, _, err := Open(context.Background(), format, p)
	if err != nil || set == nil {
		tb.Fatalf("open %q: %v, %v", format, set, err)
	}
	return set
}

// value returns the value of a tensor in a row.
func value(tb testing.TB, r *Row, name string) *Value {
	tb.Helper()
	for i := range r.Values {
		if r.Values[i].Tensor == name {
			return &r.Values[i]
		}
	}
	tb.Fatalf("the row has no %q", name)
	return nil
}

// numbers returns the elements of a sample.
func numbers(tb testing.TB, s tensor.Sample) (out []float64) {
	tb.Helper()
	for data := s.Data; len(data) > 0; data = data[s.DType.Size():] {
		switch s.DType {
		case tensor.Float32:
			out = append(out, float64(math.Float32frombits(binary.LittleEndian.Uint32(data))))
		case tensor.Float64:
			out = append(out, math.Float64frombits(binary.LittleEndian.Uint64(data)))
		case tensor.Int64:
			out = append(out, float64(int64(binary.LittleEndian.Uint64(data))))
		case tensor.Int32:
			out = append(out, float64(int32(binary.LittleEndian.Uint32(data))))
		case tensor.Bool:
			out = append(out, float64(data[0]))
		default:
			tb.Fatalf("dtype %s", s.DType)
		}
	}
	return out
}

// read returns the annotations of a picture of the set.
func read(tb testing.TB, set Set, p Picture) *Row {
	tb.Helper()
	if !set.Has(p.Key) {
		tb.Fatalf("%s is none of the set", p.Key)
	}
	r, err := set.Read(context.Background(), p)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}
