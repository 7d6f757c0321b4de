package dataset

import (
	"context"
	"encoding/binary"
	"unicode/utf8"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// checkTexts checks texts or bytes in one piece of memory. Class names become an array of labels,
// and values that need a check or a change each become samples.
func (c *checked) checkTexts(col *tensor.Rows) error {
	t := col.Texts
	switch {
	case t == nil:
		return nil
	case c.check.ct.htype.Base == "class_label" && t.DType == tensor.String:
		labels := make([]byte, 0, c.check.dtype.Size()*len(t.Starts))
		for i := range t.Starts {
			var err error
			if labels, err = c.check.appendLabel(labels, t.At(i)); err != nil {
				return c.check.atRow(i, err)
			}
		}
		col.Texts, col.Array = nil, &tensor.Array{DType: c.check.dtype, Shape: tensor.Shape{}, Data: labels}
		return nil
	case c.check.dtype == 0:
		c.check.decide(t.DType)
	}
	if t.DType != c.check.dtype || t.DType == tensor.JSON {
		*col = col.Spread()
		return nil
	}
	for i := range t.Starts {
		if n := t.Ends[i] - t.Starts[i]; n > maxItemBytes {
			return c.check.atRow(i, errs.New(errs.Invalid, "sample has %d bytes, want at most %d", n, int64(maxItemBytes)))
		}
	}
	if t.DType == tensor.String {
		if i := invalidText(t); i >= 0 {
			return c.check.atRow(i, errs.New(errs.Type, "sample is not valid UTF-8"))
		}
	}
	c.texts = t
	return nil
}

// invalidText returns the first text that is not valid UTF-8, -1 if all are.
func invalidText(t *tensor.Texts) int {
	n := len(t.Starts)
	if n == 0 {
		return -1
	}
	// Texts that follow each other are valid if all are valid together and none begins within a
	// character: one pass over long memory takes a fraction of the time.
	together := true
	for i := 0; i < n && together; i++ {
		from, to := t.Starts[i], t.Ends[i]
		together = (i == 0 || from == t.Ends[i-1]) && (from == to || utf8.RuneStart(t.Data[from]))
	}
	if together && utf8.Valid(t.Data[t.Starts[0]:t.Ends[n-1]]) {
		return -1
	}
	for i := range n {
		if !utf8.Valid(t.At(i)) {
			return i
		}
	}
	return -1
}

// appendLabel appends the label of a class name, and adds the name to the list.
func (c *checker) appendLabel(labels, name []byte) ([]byte, error) {
	label, ok := c.names[string(name)]
	if !ok {
		var err error
		if label, err = c.classNumber(string(name)); err != nil {
			return labels, err
		}
	}
	if c.dtype == tensor.Int64 {
		return binary.LittleEndian.AppendUint64(labels, uint64(label)), nil
	}
	labels, fits := appendInt(labels, c.dtype, label)
	if !fits {
		return labels, errs.New(errs.Type, "class name %q would get label %d, which does not fit dtype %s", name, label, c.dtype)
	}
	return labels, nil
}

// count counts the rows that are marked as given.
func count(marks []bool, as bool) int64 {
	n := int64(0)
	for _, m := range marks {
		if m == as {
			n++
		}
	}
	return n
}

// atRow names the row of a value in an error. value counts the rows that have one.
func (c *checker) atRow(value int, err error) error {
	if value < 0 {
		return err
	}
	row := value
	for i, missing := range c.missing {
		if missing {
			continue
		}
		if value == 0 {
			row = i
			break
		}
		value--
	}
	return rowError(row, err)
}

// writeTexts stores n texts, from text first on.
func (w *writer) writeTexts(ctx context.Context, c *checked, first, n int64, at func(int64) int64, set opened, update bool) error {
	for i := int64(0); i < n; {
		k := int(first + i)
		if update {
			if err := w.writeItem(ctx, c.ct, encoded{Item: chunk.Item{Data: c.texts.At(k)}}, at(i), set, update); err != nil {
				return err
			}
			i++
			continue
		}
		o := w.opened(set, c.ct)
		end := int(first + n)
		took, s, err := o.builder.AddTexts(ctx, c.texts.Data, c.texts.Starts[k:end], c.texts.Ends[k:end])
		w.take(o, c.ct, s, at(i), took, update)
		if err != nil {
			return err
		}
		i += took
	}
	return nil
}
