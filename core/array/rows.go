package array

import "deeplake/core/tensor"

// StoredAt returns the index at which a row is stored: 0 for all rows of a Const column.
func (c *Column) StoredAt(row int) int {
	if c.Const {
		return 0
	}
	return row
}

// Stored returns the number of rows in memory.
func (c *Column) Stored() int {
	if c.Const {
		return 1
	}
	return c.N
}

// IsNull reports whether the row has no value.
func (c *Column) IsNull(row int) bool {
	return c.DType == 0 || c.Null != nil && c.Null[c.StoredAt(row)]
}

// Nulls returns the NULL flags of all rows, nil if there is none; a Const column has one.
func (c *Column) Nulls() []bool {
	if c.DType == 0 && c.Null == nil {
		out := make([]bool, c.Stored())
		for i := range out {
			out[i] = true
		}
		return out
	}
	return c.Null
}

// Uniform reports whether all rows have the shape Same.
func (c *Column) Uniform() bool { return c.Shapes == nil && c.Items == nil }

// RowSize returns the number of elements of a row of a uniform column.
func (c *Column) RowSize() int { return SizeOf(c.Same) }

// SizeOf returns the number of elements of a shape without unknown axes.
func SizeOf(s tensor.Shape) int {
	n := 1
	for _, d := range s {
		n *= int(d)
	}
	return n
}

// ShapeAt returns the shape of a row: nil for NULL, the number of items for a list.
func (c *Column) ShapeAt(row int) tensor.Shape {
	switch {
	case c.IsNull(row):
		return nil
	case c.Items != nil || c.List:
		lo, hi := c.ItemSpan(row)
		return tensor.Shape{int64(hi - lo)}
	case c.Shapes != nil:
		return c.Shapes[c.StoredAt(row)]
	case c.Same == nil:
		return tensor.Shape{}
	}
	return c.Same
}

// Span returns the bounds of the elements of a row in Data.
func (c *Column) Span(row int) (lo, hi int) {
	row = c.StoredAt(row)
	if c.Shapes != nil {
		return c.Starts[row], c.Starts[row+1]
	}
	k := c.RowSize()
	return row * k, (row + 1) * k
}

// ItemSpan returns the bounds of the items of a list in Items.
func (c *Column) ItemSpan(row int) (lo, hi int) {
	row = c.StoredAt(row)
	if len(c.Ends) == 0 {
		return 0, 0
	}
	if row > 0 {
		lo = c.Ends[row-1]
	}
	return lo, c.Ends[row]
}

// Value returns a row for scripts and JSON: nil, bool, int64, uint64, float64, string, or a column
// of this one row for arrays and lists.
func (c *Column) Value(row int) any {
	if c.IsNull(row) {
		return nil
	}
	if c.List || len(c.ShapeAt(row)) > 0 {
		return c.Take([]int{row}).Expand() // its data alone
	}
	lo, _ := c.Span(row)
	return c.Vector().At(lo)
}

// Slice returns the rows [from, to). It shares memory with c.
func (c *Column) Slice(from, to int) *Column {
	out := *c
	out.N = to - from
	if c.Const {
		return &out
	}
	if c.Null != nil {
		out.Null = c.Null[from:to:to]
	}
	switch {
	case c.Items != nil:
		lo, hi := 0, 0
		if from > 0 {
			lo = c.Ends[from-1]
		}
		if hi = lo; to > from {
			hi = c.Ends[to-1]
		}
		out.Items = c.Items.Slice(lo, hi)
		out.Ends = make([]int, to-from)
		for i := range out.Ends {
			out.Ends[i] = c.Ends[from+i] - lo
		}
	case c.Shapes != nil:
		out.Shapes = c.Shapes[from:to:to]
		out.Starts = c.Starts[from : to+1 : to+1]
	case c.Data != nil:
		k := c.RowSize()
		out.Data = c.Vector().Cut(from*k, to*k).Data()
	}
	return &out
}

// Take returns the given rows in their order; -1 gives NULL.
func (c *Column) Take(rows []int) *Column {
	if len(rows) == 0 {
		return Empty(c.Type)
	}
	out := &Column{Type: c.Type, N: len(rows)}
	missing := false
	for _, r := range rows {
		if r < 0 {
			missing = true
			break
		}
	}
	if c.Const && !missing {
		*out = *c
		out.N = len(rows)
		return out
	}
	if c.Const {
		held := make([]int, len(rows))
		for i, r := range rows {
			held[i] = min(r, 0)
		}
		rows = held
	}
	if missing || c.Null != nil {
		out.Null = make([]bool, len(rows))
		for i, r := range rows {
			out.Null[i] = r < 0 || c.IsNull(r)
		}
	}
	switch {
	case c.DType == 0:
	case c.List:
		c.takeLists(out, rows)
	case c.Shapes != nil:
		c.takeRagged(out, rows)
	default:
		k := c.RowSize()
		out.Same = c.Same
		v := NewVector(c.DType, len(rows)*k)
		v.Gather(0, c.Vector(), rows, k)
		out.Data = v.Data()
	}
	return out
}

func (c *Column) takeRagged(out *Column, rows []int) {
	out.Shapes = make([]tensor.Shape, len(rows))
	out.Starts = make([]int, len(rows)+1)
	n := 0
	for i, r := range rows {
		if r >= 0 {
			out.Shapes[i] = c.Shapes[r]
			n += c.Starts[r+1] - c.Starts[r]
		}
		out.Starts[i+1] = n
	}
	from, to := c.Vector(), NewVector(c.DType, n)
	for i, r := range rows {
		if r >= 0 {
			to.Move(out.Starts[i], from, c.Starts[r], c.Starts[r+1])
		}
	}
	out.Data = to.Data()
}

func (c *Column) takeLists(out *Column, rows []int) {
	out.Ends = make([]int, len(rows))
	var list []int
	for i, r := range rows {
		if r >= 0 {
			lo, hi := c.ItemSpan(r)
			for j := lo; j < hi; j++ {
				list = append(list, j)
			}
		}
		out.Ends[i] = len(list)
	}
	if c.Items != nil {
		out.Items = c.Items.Take(list)
	}
}

// Expand returns the column without Const.
func (c *Column) Expand() *Column {
	if !c.Const {
		return c
	}
	held := *c
	held.Const, held.N = false, 1
	return held.Take(make([]int, c.N))
}

// OnlyRow returns the one row of a Const column, by itself.
func (c *Column) OnlyRow() *Column {
	out := *c
	out.Const, out.N = false, 1
	return &out
}

// Repeat makes a column of one row represent n rows.
func (c *Column) Repeat(n int) *Column {
	out := *c
	out.Const, out.N = true, n
	return &out
}

// ForAll runs f on the columns. If all are Const, f gets one row, and its result represents all
// rows.
func ForAll(f func(cols []*Column, n int) (*Column, error), cols ...*Column) (*Column, error) {
	n, constant := RowsOf(cols...)
	if !constant {
		long := make([]*Column, len(cols))
		for i, c := range cols {
			if long[i] = c; c.Const && c.N != n {
				long[i] = c.Repeat(n)
			}
		}
		return f(long, n)
	}
	single := make([]*Column, len(cols))
	for i, c := range cols {
		single[i] = c.OnlyRow()
	}
	out, err := f(single, 1)
	if err != nil {
		return nil, err
	}
	return out.Repeat(n), nil
}

// RowsOf is the number of rows that columns have together, and whether all are Const.
func RowsOf(cols ...*Column) (n int, constant bool) {
	for _, c := range cols {
		if !c.Const {
			return c.N, false
		}
		n = max(n, c.N)
	}
	return n, len(cols) > 0
}

// AnyNull returns the rows in which at least one column is NULL; nil if there are none.
func AnyNull(n int, cols ...*Column) []bool {
	var out []bool
	for _, c := range cols {
		nulls := c.Nulls()
		if nulls == nil || c.Const && !nulls[0] {
			continue
		}
		if out == nil {
			out = make([]bool, n)
		}
		if c.Const {
			for i := range out {
				out[i] = true
			}
			continue
		}
		for i, null := range nulls[:n] {
			out[i] = out[i] || null
		}
	}
	return out
}

// ZeroNulls makes the rows without a value zero.
func (c *Column) ZeroNulls() *Column {
	if c.Null == nil || !c.Uniform() || c.Data == nil {
		return c
	}
	v, k := c.Vector(), c.RowSize()
	for i, null := range c.Null {
		if null {
			v.clear(i*k, (i+1)*k)
		}
	}
	return c
}
