package scan

import (
	"context"

	"deeplake/core/array"
	"deeplake/core/query"
	"deeplake/core/tensor"
)

// computed reads a column of a table that is computed.
func computed(ctx context.Context, f *field, rows query.Rows, want query.Want, part []query.Span) (*array.Column, error) {
	list := rows.List
	if list == nil {
		list = make([]int64, rows.N)
		for i := range list {
			list[i] = rows.From + int64(i)
		}
	}
	c, err := f.compute(ctx, list)
	if err != nil {
		return nil, err
	}
	if want != query.Values {
		return aboutValues(c, want), nil
	}
	if part != nil {
		return index(c, part)
	}
	return c, nil
}

// aboutValues derives from values the facts that index pages have of stored ones.
func aboutValues(c *array.Column, want query.Want) *array.Column {
	c = c.Expand()
	v := &values{typ: c.Type}
	nulls := make([]bool, c.N)
	sizes, shapes := make([]int64, c.N), []tensor.Shape(nil)
	if want == query.Shapes {
		shapes = make([]tensor.Shape, c.N)
	}
	for i := range nulls {
		if nulls[i] = c.IsNull(i); nulls[i] {
			continue
		}
		if c.List {
			items := int64(c.Ends[i] - start(c, i))
			if sizes[i] = items; shapes != nil {
				shapes[i] = tensor.Shape{items}
			}
			continue
		}
		bytes := int64(0)
		if text, ok := c.Data.([]string); ok {
			bytes = int64(len(text[i]))
		}
		v.shape(i, c.ShapeAt(i), sizes, shapes, bytes)
	}
	scalar := array.Type{DType: tensor.Int64, Shape: tensor.Shape{}}
	switch want {
	case query.Nulls:
		scalar.DType = tensor.Bool
		return &array.Column{Type: scalar, N: c.N, Same: tensor.Shape{}, Data: nulls}
	case query.Shapes:
		return shapesColumn(shapes, nulls)
	}
	return &array.Column{Type: scalar, N: c.N, Null: nulls, Same: tensor.Shape{}, Data: sizes}
}
