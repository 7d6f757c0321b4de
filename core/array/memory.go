package array

import "unsafe"

// Bytes is about how much memory the column takes. A large text that several rows share counts
// once.
func (c *Column) Bytes() int64 {
	n := int64(len(c.Null)) + 8*int64(len(c.Starts)+len(c.Ends)) + shapeBytes*int64(len(c.Shapes))
	if v := vectorOf(c.Data); v != nil {
		n += v.bytes()
	}
	if c.Items != nil {
		n += c.Items.Bytes()
	}
	return n
}

// shapeBytes is the memory of the shape of a row.
const shapeBytes = 24

// largeText is the size from which Bytes looks whether rows share a text.
const largeText = 256

// TextBytes is the memory of the characters of all texts.
func (c *Column) TextBytes() int64 {
	if c.Items != nil {
		return c.Items.TextBytes()
	}
	return textBytes(Elems[string](c))
}

func textBytes(texts []string) (n int64) {
	var seen map[*byte]int
	for _, s := range texts {
		if len(s) < largeText {
			n += int64(len(s))
			continue
		}
		if seen == nil {
			seen = map[*byte]int{}
		}
		at := unsafe.StringData(s)
		if known := seen[at]; len(s) > known {
			n += int64(len(s) - known)
			seen[at] = len(s)
		}
	}
	return n
}

// TakeBytes is the memory that Take of the rows allocates. Texts share their characters with c.
func (c *Column) TakeBytes(rows []int) int64 {
	n := int64(len(rows))
	switch {
	case c.Const || c.DType == 0:
		return n
	case c.Uniform() && !c.List:
		return n * (1 + int64(c.RowSize())*elementSize(c.DType))
	case c.List:
		var items []int64 // where each item begins, in bytes, if items have shapes of their own
		if c.Items != nil && !c.Items.Uniform() {
			items = make([]int64, c.Items.N+1)
			one := []int{0}
			for i := range c.Items.N {
				one[0] = i
				items[i+1] = items[i] + c.Items.TakeBytes(one)
			}
		}
		total := n * 9
		for _, r := range rows {
			if r < 0 {
				continue
			}
			lo, hi := c.ItemSpan(r)
			switch {
			case items != nil:
				total += items[hi] - items[lo] + 8*int64(hi-lo)
			case c.Items != nil:
				total += int64(hi-lo) * (9 + int64(c.Items.RowSize())*elementSize(c.DType))
			}
		}
		return total
	}
	elements := int64(0)
	for _, r := range rows {
		if r >= 0 {
			elements += int64(c.Starts[r+1] - c.Starts[r])
		}
	}
	return n*(1+8+shapeBytes) + elements*elementSize(c.DType)
}

// TakeIn is Take after its memory is reserved; without rows, it is not.
func (c *Column) TakeIn(w *Work, rows []int) *Column {
	if !w.Reserve(c.TakeBytes(rows)) {
		return Empty(c.Type)
	}
	return c.Take(rows)
}

// ExpandBytes is the memory that Expand allocates.
func (c *Column) ExpandBytes() int64 {
	if !c.Const {
		return 0
	}
	held := *c
	held.Const, held.N = false, 1
	return int64(c.N) * held.TakeBytes([]int{0})
}

// ExpandIn is Expand after its memory is reserved; without rows, it is not.
func (c *Column) ExpandIn(w *Work) *Column {
	if !w.Reserve(c.ExpandBytes()) {
		return Empty(c.Type)
	}
	return c.Expand()
}
