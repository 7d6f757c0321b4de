package dataset

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/tensor"
)

// This file gives the samples of a column the dtype of their tensor; docs/htypes.md has the rule.

// settle decides the dtype of an open tensor by the first samples that it gets, all those of col.
// Holes, and empty lists without a dtype, leave a tensor open.
//
//   - Samples with dtypes decide: the dtype that holds them all, if the htype allows it.
//   - Plain numbers of the host language take the default dtype of the htype where it holds them,
//     else bool, int64, uint64, float64 or complex128.
//   - Files decide by the first one.
func (c *checker) settle(col *tensor.Rows) error {
	if err := c.settleTime(col); err != nil {
		return err
	}
	if err := c.settleFiles(col); err != nil || !c.open {
		return err
	}
	var typed, empty, plain tensor.DType // empty: of samples without elements, which decide last
	note := func(d tensor.DType, literal bool, n int) {
		switch {
		case !d.Fixed():
		case literal && n == 0:
		case literal && d == tensor.Uint64 && plain.IsInteger():
			plain = d // the host language has no dtype that holds larger numbers
		case literal && plain == tensor.Uint64 && d.IsInteger():
		case literal:
			plain = joined(plain, d)
		case n == 0:
			empty = joined(empty, d)
		default:
			typed = joined(typed, d)
		}
	}
	if a := col.Array; a != nil {
		note(a.DType, a.Literal, len(a.Data))
	}
	for i := range col.Samples {
		s := &col.Samples[i]
		switch s.Form {
		case tensor.FormArray:
			note(s.DType, s.Literal, len(s.Data))
		case tensor.FormLink:
			note(s.DType, false, 1)
		case tensor.FormEncoded:
			if d := c.fileDType(s.Data); d != 0 && typed == 0 {
				typed = d
			}
		}
	}
	if typed == 0 && plain == 0 {
		typed = empty
	}
	switch {
	case typed != 0:
		if d := joined(typed, plain); d == typed || plain.IsFloat() || plain.IsComplex() {
			typed = d
		}
		if c.allows(typed) == nil {
			c.decide(typed)
		} else {
			c.decide(c.dtype)
		}
	case plain != 0:
		c.decide(c.plainDType(plain, col))
	case c.ct != c.given: // an array without elements has decided on the compression
		c.decide(c.dtype)
	}
	return nil
}

// settleFiles decides the compression of a tensor whose creator chose none. A file as the first
// sample gives its codec, and an array leaves the default of the htype. Masks whose stated dtype a
// file does not hold keep that default, too.
func (c *checker) settleFiles(col *tensor.Rows) error {
	if c.ct.files != format.FilesOpen {
		return nil
	}
	first := tensor.FormHole
	var id codec.ID
	var d tensor.DType // of the file
	if col.Array != nil {
		first = tensor.FormArray
	}
	for i := range col.Samples {
		s := &col.Samples[i]
		if first = s.Form; first == tensor.FormHole {
			continue
		}
		if first == tensor.FormLink {
			id, d = codec.ID(s.Link.Codec), s.DType
		} else if first == tensor.FormEncoded {
			id, _ = c.codec.Sniff(s.Data) // none: the check of the sample says so
			d = c.fileDType(s.Data)
		}
		break
	}
	if first == tensor.FormHole {
		return nil
	}
	ct := *c.given
	c.ct, ct.files = &ct, ""
	if id == codec.None || c.ct.htype.IsMask() && (id != codec.PNG || !c.open && d != c.dtype) {
		return nil
	}
	ct.files = format.FilesOwn
	return ct.setCompression(id, c.codec)
}

func joined(a, b tensor.DType) tensor.DType {
	switch {
	case a == 0:
		return b
	case b == 0:
		return a
	}
	return tensor.Join(a, b)
}

// decide ends the search for a dtype. A generic tensor has none before.
func (c *checker) decide(d tensor.DType) {
	if d != 0 {
		c.dtype, c.open = d, false
	}
}

// plainDType returns the dtype for numbers of the host language, which came as d.
func (c *checker) plainDType(d tensor.DType, col *tensor.Rows) tensor.DType {
	if c.dtype == 0 || c.allows(d) == nil && !c.holds(c.dtype, col) {
		return d
	}
	return c.dtype
}

// holds reports whether d holds the plain numbers of a column.
func (c *checker) holds(d tensor.DType, col *tensor.Rows) bool {
	fits := func(from tensor.DType, data []byte) bool {
		if len(data) == 0 {
			return true
		}
		if !d.Takes(from) {
			return false
		}
		_, bad := tensor.Convert(d, from, data)
		return bad < 0
	}
	if a := col.Array; a != nil {
		return fits(a.DType, a.Data)
	}
	for i := range col.Samples {
		if s := &col.Samples[i]; s.Form == tensor.FormArray && !fits(s.DType, s.Data) {
			return false
		}
	}
	return true
}

// fileDType returns the dtype of a file by its header, 0 if that cannot be read: the check of the
// sample says why.
func (c *checker) fileDType(data []byte) tensor.DType {
	id, ok := c.codec.Sniff(data)
	if !ok {
		return 0
	}
	sc, err := c.codec.Sample(id)
	if err != nil {
		return 0
	}
	h, err := c.codec.Header(sc, data, c.ct.channels)
	if err != nil {
		return 0
	}
	return h.DType
}

// allows refuses a dtype that samples of the tensor cannot have, by its htype or its codec.
func (c *checker) allows(d tensor.DType) error {
	if err := c.ct.htype.CheckDType(d); err != nil {
		return err
	}
	if c.ct.sampleCodec != nil {
		return c.ct.sampleCodec.Describe().CheckDType(d)
	}
	return nil
}

// settleTime holds the times of a column against the tensor, which takes their type if it is open.
// It replaces missing times by holes, and converts the others to the unit of the tensor.
func (c *checker) settleTime(col *tensor.Rows) error {
	if col.Counts == "" {
		return nil
	}
	from, err := tensor.ParseTime(col.Counts)
	if err != nil {
		return err
	}
	if c.open && c.dtype == 0 && c.time.Kind == tensor.NoTime {
		c.time = from
		c.time.Zoneless = false
		c.decide(tensor.Int64)
	}
	if err := c.time.CheckTakes(from); err != nil {
		if c.ct.htype.Base != "generic" {
			return errs.New(errs.Type, "sample is %s, which htype %s does not take; store it in a tensor of htype generic", from, c.ct.htype)
		}
		return err
	}
	holes(col)
	counts := func(row int, shape tensor.Shape, d tensor.DType, data []byte) ([]byte, error) {
		if d != tensor.Int64 {
			return nil, errs.New(errs.Type, "times are counted by %s, want int64", d)
		}
		out, bad := tensor.ConvertTimes(c.time, from, data)
		if bad >= 0 {
			at := rowError
			if n, err := shape.Elements(); row < 0 && err == nil && n > 0 {
				row, at = bad/int(n), c.atRow
			}
			return nil, at(row, errs.New(errs.Invalid, "sample has the time %s of %s, which %s does not hold; round it, or create the tensor with dtype=%q",
				element(d, data, bad), from, c.time, from.String()))
		}
		return out, nil
	}
	if a := col.Array; a != nil {
		data, err := counts(-1, a.Shape, a.DType, a.Data)
		if err != nil {
			return err
		}
		col.Array = &tensor.Array{DType: a.DType, Shape: a.Shape, Data: data}
		return nil
	}
	samples := append([]tensor.Sample{}, col.Samples...)
	for i := range samples {
		s := &samples[i]
		if s.Form != tensor.FormArray {
			continue
		}
		data, err := counts(i, s.Shape, s.DType, s.Data)
		if err != nil {
			return err
		}
		s.Data = data
	}
	col.Samples = samples
	return nil
}

// holes replaces rows that are one missing time by holes.
func holes(col *tensor.Rows) {
	missing := func(shape tensor.Shape, data []byte) bool {
		return len(shape) == 0 && len(data) == 8 && int64(binary.LittleEndian.Uint64(data)) == tensor.NotATime
	}
	if a := col.Array; a != nil && len(a.Shape) == 0 {
		found := false
		for at := 0; at+8 <= len(a.Data); at += 8 {
			found = found || missing(a.Shape, a.Data[at:at+8])
		}
		if !found {
			return
		}
		*col = col.Spread()
	}
	samples := append([]tensor.Sample{}, col.Samples...)
	for i := range samples {
		if s := &samples[i]; s.Form == tensor.FormArray && missing(s.Shape, s.Data) {
			*s = tensor.Sample{Form: tensor.FormHole}
		}
	}
	col.Samples = samples
}

// waiting is a row of an open tensor that has no elements. A chunk has a dtype, so that the row is
// written once a sample decides one.
type waiting struct {
	row    int64
	shapes []tensor.Shape // of its samples: one, or those of a list
}

// await keeps the rows of a column that decides no dtype.
func (w *writer) await(c *checked, at func(int64) int64) {
	id, next := c.ct.schema.ID, 0
	wait := func(row, n int64) {
		r := waiting{row: at(row)}
		for range n {
			r.shapes = append(r.shapes, c.samples[next].Shape.Clone())
			next++
		}
		w.waiting[id] = append(w.waiting[id], r)
	}
	if c.items != nil {
		for row, n := range c.items {
			if n != hole {
				wait(int64(row), n)
			}
		}
		return
	}
	for row, s := range c.samples {
		if s.Form == tensor.FormHole {
			next++
		} else {
			wait(int64(row), 1)
		}
	}
}

// decide gives an open tensor its dtype, and writes the rows that waited for it.
func (w *writer) decide(ctx context.Context, ct *columnType, d tensor.DType, t tensor.Time) error {
	rows := w.waiting[ct.schema.ID]
	if !d.Fixed() && len(rows) > 0 && !ct.list {
		return errs.Op("append to tensor", ct.schema.Name).New(errs.Type,
			"sample is %s, and row %d before it is an empty list; create the tensor with htype=\"json\"", article(d), rows[0].row)
	}
	ct.dtype, ct.time, ct.open = d, t, false
	ct.schema.DType, ct.schema.Time, ct.schema.Open = d.String(), t.String(), false
	delete(w.waiting, ct.schema.ID)
	for _, r := range rows {
		if err := w.writeEmpty(ctx, ct, r); err != nil {
			return w.fail(errs.Wrap(errs.Storage, "append to tensor", ct.schema.Name, err))
		}
	}
	return nil
}

// writeEmpty stores a row that waited, in the place of the hole that it left.
func (w *writer) writeEmpty(ctx context.Context, ct *columnType, r waiting) error {
	if !ct.list {
		return w.writeItem(ctx, ct, encoded{Item: chunk.Item{Shape: r.shapes[0]}}, r.row, w.fixing, true)
	}
	items := make([]chunk.Item, len(r.shapes))
	for i, shape := range r.shapes {
		items[i].Shape = shape
	}
	o := w.opened(w.fixing, ct)
	s, err := o.builder.AddRow(ctx, items)
	w.take(o, ct, s, r.row, 1, true)
	return err
}

// decideAll gives a dtype to tensors of which every sample waits: the default of their htype, or
// float64 as NumPy's empty lists have it.
func (w *writer) decideAll(ctx context.Context) error {
	for id := range w.waiting {
		ct := w.typeOf(id)
		d := ct.dtype
		if d == 0 {
			d = tensor.Float64
		}
		if err := w.decide(ctx, ct, d, tensor.Time{}); err != nil {
			return err
		}
	}
	return nil
}

// convert returns elements of dtype d in the tensor's dtype. rowBytes is the size of a row in data,
// for a column of many rows; 0: data is of one.
func (c *checker) convert(d tensor.DType, data []byte, rowBytes int) ([]byte, error) {
	if d == c.dtype || len(data) == 0 {
		return data, nil
	}
	if !c.dtype.Takes(d) {
		return nil, c.refusal(d)
	}
	out, bad := tensor.Convert(c.dtype, d, data)
	if bad < 0 {
		return out, nil
	}
	err := errs.New(errs.Invalid, "sample has the value %s, which %s does not hold; %s", element(d, data, bad), c.dtype, c.advice(d))
	if rowBytes > 0 {
		err = c.atRow(bad*d.Size()/rowBytes, err)
	}
	return nil, err
}

func rowError(row int, err error) error {
	if row < 0 {
		return err
	}
	return errs.New(errs.KindOf(err), "row %d: %w", row, err)
}

// refusal returns the error for samples of a dtype that the tensor's does not take.
func (c *checker) refusal(d tensor.DType) error {
	return errs.New(errs.Type, "sample has dtype %s, want %s; %s", d, c.dtype, c.advice(d))
}

// advice returns the remedy for samples of dtype d. A tensor can be created as it says.
func (c *checker) advice(d tensor.DType) string {
	if c.allows(d) == nil {
		return fmt.Sprintf("cast it, or create the tensor with dtype=%q", d)
	}
	names := []string{}
	for _, one := range tensor.DTypes() {
		if one.Fixed() && c.allows(one) == nil {
			names = append(names, one.String())
		}
	}
	text := "cast it to " + strings.Join(names, " or ")
	if c.ct.sampleCodec != nil && c.ct.htype.CheckDType(d) == nil {
		text += fmt.Sprintf("; compression \"none\" holds %s", d)
	}
	return text
}

// element renders element i of data.
func element(d tensor.DType, data []byte, i int) string {
	p := data[i*d.Size():]
	switch {
	case d == tensor.Bool:
		return fmt.Sprint(p[0] != 0)
	case d == tensor.Uint64:
		return fmt.Sprint(binary.LittleEndian.Uint64(p))
	case d.IsInteger():
		v, _ := readInt(d, p)
		return fmt.Sprint(v)
	case d == tensor.Complex64:
		return fmt.Sprint(complex(math.Float32frombits(binary.LittleEndian.Uint32(p)), math.Float32frombits(binary.LittleEndian.Uint32(p[4:]))))
	case d == tensor.Complex128:
		return fmt.Sprint(complex(math.Float64frombits(binary.LittleEndian.Uint64(p)), math.Float64frombits(binary.LittleEndian.Uint64(p[8:]))))
	}
	wide, _ := tensor.Convert(tensor.Float64, d, p[:d.Size()])
	return fmt.Sprint(math.Float64frombits(binary.LittleEndian.Uint64(wide)))
}
