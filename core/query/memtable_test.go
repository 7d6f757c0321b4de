package query_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"deeplake/core/array"
	"deeplake/core/query"
	"deeplake/core/tensor"
)

// memTable is a table in memory. It tells zones of a few rows each, so that pruning happens in
// small tests.
type memTable struct {
	name    string
	n       int
	fields  []query.Field
	types   []array.Type
	columns []*array.Column
	zone    int // rows of a zone
}

var _ query.Table = (*memTable)(nil)

// whole returns the table within one that wraps it.
func (t *memTable) whole() *memTable { return t }

func (t *memTable) Name() string           { return t.name }
func (t *memTable) Rows() int64            { return int64(t.n) }
func (t *memTable) Columns() []query.Field { return t.fields }
func (t *memTable) Reader() query.Reader   { return &memReader{t: t} }

func (t *memTable) Resolve(_ context.Context, column int) (array.Type, error) {
	return t.types[column], nil
}

func (t *memTable) Zones(_ context.Context, column int, from, to int64) ([]query.Zone, error) {
	var out []query.Zone
	for at := from; at < to; {
		end := min((at/int64(t.zone)+1)*int64(t.zone), to)
		out = append(out, zoneOf(t.columns[column], at, end))
		at = end
	}
	return out, nil
}

func zoneOf(c *array.Column, from, to int64) query.Zone {
	z := query.Zone{From: from, To: to, Hole: true, Bytes: 8 * (to - from)}
	bounds, shapes := c.Scalar() && c.DType.Fixed(), !c.List && c.DType.Fixed()
	for row := from; row < to; row++ {
		if c.IsNull(int(row)) {
			bounds = false
			continue
		}
		z.Hole = false
		if !shapes {
			continue
		}
		s := c.ShapeAt(int(row))
		if z.MinShape == nil {
			z.MinShape, z.MaxShape = append(tensor.Shape{}, s...), append(tensor.Shape{}, s...)
		}
		if len(s) != len(z.MinShape) {
			shapes, z.MinShape, z.MaxShape = false, nil, nil
			continue
		}
		for i := range s {
			z.MinShape[i], z.MaxShape[i] = min(z.MinShape[i], s[i]), max(z.MaxShape[i], s[i])
		}
	}
	if !bounds {
		return z
	}
	for row := from; row < to; row++ {
		v := c.Value(int(row))
		if f, ok := v.(float64); ok && math.IsNaN(f) {
			z.Min, z.Max = nil, nil
			return z
		}
		if row == from || less(v, z.Min) {
			z.Min = v
		}
		if row == from || less(z.Max, v) {
			z.Max = v
		}
	}
	return z
}

func less(a, b any) bool {
	switch x := a.(type) {
	case int64:
		return x < b.(int64)
	case uint64:
		return x < b.(uint64)
	case float64:
		return x < b.(float64)
	case bool:
		return !x && b.(bool)
	}
	return false
}

// memReader reads a memTable.
type memReader struct {
	t    *memTable
	read int64
}

func (r *memReader) Bytes() (read, decoded int64) { return r.read, r.read }
func (r *memReader) Close()                       {}

func (r *memReader) Read(ctx context.Context, column int, rows query.Rows, want query.Want, part []query.Span) (*array.Column, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	at := make([]int, rows.N)
	for i := range at {
		at[i] = int(rows.At(i))
	}
	c := r.t.columns[column].Take(at)
	switch want {
	case query.Nulls:
		out := make([]bool, c.N)
		for i := range out {
			out[i] = c.IsNull(i)
		}
		return array.FromBools(out, nil), nil
	case query.Shapes:
		shapes := make([]tensor.Shape, c.N)
		var data []int64
		for i := range shapes {
			if !c.IsNull(i) {
				s := c.ShapeAt(i)
				shapes[i] = tensor.Shape{int64(len(s))}
				data = append(data, s...)
			}
		}
		return array.FromRows(array.Type{DType: tensor.Int64, Dims: 1}, shapes, data), nil
	case query.Length:
		out, null := make([]int64, c.N), make([]bool, c.N)
		for i := range out {
			if null[i] = c.IsNull(i); null[i] {
				continue
			}
			if c.List {
				out[i] = c.ShapeAt(i)[0]
			} else if s, ok := c.Value(i).(string); ok {
				out[i] = int64(len(s))
			}
		}
		return array.FromInts(out, null), nil
	}
	r.read += c.Bytes()
	if part == nil {
		return c, nil
	}
	items := make([]array.Item, len(part))
	for i, s := range part {
		items[i] = array.Item{Ellipsis: s.Ellipsis, At: number(s.At), Low: number(s.Low), High: number(s.High), Step: number(s.Step)}
		items[i].Slice = s.At == nil && !s.Ellipsis
	}
	return array.Index(nil, c, items)
}

func number(v *int64) *array.Column {
	if v == nil {
		return nil
	}
	return array.Constant(array.Of(tensor.Int64), *v, 1)
}

// columnOf makes a column of JSON values. kind is "int64", "text", "class_label(cat, dog)",
// "bbox(LTWH)", "date" or the like.
func columnOf(kind, values string) (*array.Column, error) {
	d := json.NewDecoder(strings.NewReader(values))
	d.UseNumber()
	var rows []any
	if err := d.Decode(&rows); err != nil {
		return nil, err
	}
	base, rest, _ := strings.Cut(strings.TrimSuffix(kind, ")"), "(")
	if item, ok := strings.CutPrefix(base, "sequence["); ok {
		return listOf(strings.TrimSuffix(item, "]"), rows)
	}
	t := array.Type{Dims: array.Unranked}
	switch base {
	case "text":
		t.DType, t.HType, t.Dims, t.Shape = tensor.String, "text", 0, tensor.Shape{}
	case "json":
		t.DType, t.HType, t.Dims, t.Shape = tensor.JSON, "json", 0, tensor.Shape{}
	case "date", "timestamp":
		t.DType, t.Unit = tensor.Int64, map[string]array.Unit{"date": array.Date, "timestamp": array.Timestamp}[base]
	case "class_label":
		t.DType, t.HType = tensor.Int64, base
		for _, name := range strings.Split(rest, ",") {
			t.Names = append(t.Names, strings.TrimSpace(name))
		}
	case "bbox":
		t.DType, t.HType, t.Boxes = tensor.Float32, base, rest
	default:
		dtype, err := tensor.ParseDType(base)
		if err != nil {
			return nil, err
		}
		t.DType = dtype
	}
	return fill(t, rows)
}

func listOf(kind string, rows []any) (*array.Column, error) {
	var all []any
	ends, null := make([]int, len(rows)), make([]bool, len(rows))
	for i, row := range rows {
		if null[i] = row == nil; !null[i] {
			all = append(all, row.([]any)...)
		}
		ends[i] = len(all)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	items, err := columnOf(kind, string(text))
	if err != nil {
		return nil, err
	}
	return array.FromLists(items, ends, null), nil
}

// fill makes a column of rows; the type learns the axes that all of them have.
func fill(t array.Type, rows []any) (*array.Column, error) {
	if !t.DType.Fixed() {
		return fillText(t, rows)
	}
	shapes := make([]tensor.Shape, len(rows))
	var flat []any
	for i, row := range rows {
		if row == nil {
			continue
		}
		s := shapeOf(row)
		if t.HType == "bbox" && len(s) == 1 && s[0] == 0 {
			s = tensor.Shape{0, 4}
		}
		shapes[i] = s
		flat = flatten(flat, row)
	}
	t.Dims, t.Shape = axes(shapes)
	if t.HType == "bbox" && t.Dims == array.Unranked {
		t.Dims, t.Shape = 2, tensor.Shape{-1, 4}
	}
	data, err := elementsOf(t, flat)
	if err != nil {
		return nil, err
	}
	if t.Dims != 0 {
		return array.FromRows(t, shapes, data), nil
	}
	// Scalars: NULL has a place too.
	at, rowAt := make([]int, len(rows)), 0
	for i, s := range shapes {
		if at[i] = -1; s != nil {
			at[i] = rowAt
			rowAt++
		}
	}
	return array.From(t, data, nil).Take(at), nil
}

func fillText(t array.Type, rows []any) (*array.Column, error) {
	text, null := make([]string, len(rows)), make([]bool, len(rows))
	for i, row := range rows {
		null[i] = row == nil
		if s, ok := row.(string); ok && t.DType == tensor.String {
			text[i] = s
		} else if !null[i] {
			b, err := json.Marshal(row)
			if err != nil {
				return nil, err
			}
			text[i] = string(b)
		}
	}
	return array.From(t, text, null), nil
}

// axes returns the bounds of the shapes of all rows.
func axes(shapes []tensor.Shape) (int, tensor.Shape) {
	var all tensor.Shape
	for _, s := range shapes {
		if s == nil {
			continue
		}
		if all == nil {
			all = append(tensor.Shape{}, s...)
		}
		if len(s) != len(all) {
			return array.Unranked, nil
		}
		for i := range s {
			if s[i] != all[i] {
				all[i] = -1
			}
		}
	}
	return len(all), append(tensor.Shape{}, all...)
}

func shapeOf(v any) tensor.Shape {
	switch x := v.(type) {
	case []any:
		if len(x) == 0 {
			return tensor.Shape{0}
		}
		return append(tensor.Shape{int64(len(x))}, shapeOf(x[0])...)
	case map[string]any: // {"shape": [0, 4]}: an array without elements
		s := tensor.Shape{}
		for _, n := range x["shape"].([]any) {
			i, _ := n.(json.Number).Int64()
			s = append(s, i)
		}
		return s
	}
	return tensor.Shape{}
}

func flatten(out []any, v any) []any {
	switch x := v.(type) {
	case []any:
		for _, item := range x {
			out = flatten(out, item)
		}
		return out
	case map[string]any:
		return out
	}
	return append(out, v)
}

// elementsOf makes Data of JSON values.
func elementsOf(t array.Type, flat []any) (any, error) {
	if t.DType == tensor.Bool {
		out := make([]bool, len(flat))
		for i, v := range flat {
			out[i] = v.(bool)
		}
		return out, nil
	}
	floats := make([]float64, len(flat))
	ints := make([]int64, len(flat))
	unsigned := make([]uint64, len(flat))
	for i, v := range flat {
		if err := one(t, v, &floats[i], &ints[i], &unsigned[i]); err != nil {
			return nil, err
		}
	}
	switch t.DType {
	case tensor.Float64:
		return floats, nil
	case tensor.Float32:
		return narrow[float32](floats), nil
	case tensor.Uint64:
		return unsigned, nil
	case tensor.Int64:
		return ints, nil
	case tensor.Int32:
		return narrow[int32](ints), nil
	case tensor.Int16:
		return narrow[int16](ints), nil
	case tensor.Int8:
		return narrow[int8](ints), nil
	case tensor.Uint32:
		return narrow[uint32](ints), nil
	case tensor.Uint16:
		return narrow[uint16](ints), nil
	case tensor.Uint8:
		return narrow[uint8](ints), nil
	}
	return nil, fmt.Errorf("no column of %s in scripts", t.DType)
}

func narrow[T, S int32 | int16 | int8 | uint32 | uint16 | uint8 | float32 | float64 | int64](in []S) []T {
	out := make([]T, len(in))
	for i, v := range in {
		out[i] = T(v)
	}
	return out
}

func one(t array.Type, v any, f *float64, i *int64, u *uint64) (err error) {
	switch x := v.(type) {
	case json.Number:
		if *f, err = x.Float64(); err != nil {
			return err
		}
		if _, err = fmt.Sscan(x.String(), i); err != nil {
			err = nil
		}
		if _, err = fmt.Sscan(x.String(), u); err != nil {
			err = nil
		}
		return nil
	case string:
		if t.Unit != array.None {
			*i, err = array.ParseTime(t.Unit, x)
			return err
		}
		for n, name := range t.Names {
			if name == x {
				*i = int64(n)
				return nil
			}
		}
		special := map[string]float64{"nan": math.NaN(), "inf": math.Inf(1), "-inf": math.Inf(-1)}
		if w, ok := special[x]; ok {
			*f = w
			return nil
		}
	}
	return fmt.Errorf("%v is no %s", v, t)
}
