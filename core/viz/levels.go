package viz

import (
	"context"

	"deeplake/core/chunk"
)

// smaller is a level of a column of pictures.
type smaller struct {
	column *wantedColumn
	factor int64
}

// levels returns the levels of a column, the smallest first. A result of a query shows them only
// where it has the rows of their dataset.
func (c *wantedColumn) levels(v *openView) []smaller {
	if !isPicture(c.htype) || c.want.Pixels <= 0 || c.Sequence() {
		return nil
	}
	all := c.Access().Levels
	var out []smaller
	for i := len(all) - 1; i >= 0; i-- {
		col, err := v.Column(all[i].Name)
		if err != nil || col.DType() != c.DType() || col.Sequence() {
			continue
		}
		out = append(out, smaller{&wantedColumn{Column: col, want: c.want, htype: c.htype}, all[i].Factor})
	}
	return out
}

// level makes a sample one of the smallest level that still has the wanted pixels. A level that is
// missing, or is none of the sample, is left alone.
func (c *wantedColumn) level(ctx context.Context, levels []smaller, one *sample) {
	s := one.ref.Shape
	if len(levels) == 0 || one.ref.Hole() || len(s) < 2 {
		return
	}
	longer := max(s[0], s[1])
	if c.want.Region != nil {
		r, err := c.want.clipped(s)
		if err != nil {
			return // it will be said with the sample
		}
		longer = r.longer()
	}
	for _, l := range levels {
		if longer/l.factor < int64(c.want.Pixels) {
			continue
		}
		var ref [1]chunk.Ref
		if l.column.Resolve(ctx, []int64{one.row}, ref[:]) != nil || ref[0].Hole() || ref[0].Row != one.ref.Row || ref[0].Source != one.ref.Source {
			continue
		}
		t := ref[0].Shape
		if len(t) != len(s) || t[0] != (s[0]+l.factor-1)/l.factor || t[1] != (s[1]+l.factor-1)/l.factor || !t[2:].Equal(s[2:]) {
			continue
		}
		one.column, one.ref, one.full, one.factor = l.column, ref[0], s, l.factor
		return
	}
}

// whole returns the shape of the sample itself.
func (one *sample) whole() []int64 {
	if one.full != nil {
		return one.full
	}
	return one.ref.Shape
}
