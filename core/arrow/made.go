package arrow

import "deeplake/core/errs"

// Data is an array that a reader of this process has made: rows of a Type, from row 0 on.
type Data struct {
	Rows       int64
	Valid      []byte  // a bit for each row; nil: no row is null
	Values     []byte  // of numbers, times, decimals and fixed bytes; bits of bools; all texts
	Ends       []int64 // Rows+1 offsets of texts in Values, or of lists in their child
	Ends32     []int32 // in place of Ends, in an array for other programs
	Children   []*Data
	Dictionary *Data
	// At has the position of each of Rows texts in the file that they were read from; -1: the file
	// has the text in another form. nil: not known.
	At []int64
}

// Batch is some rows of a file.
type Batch struct {
	*Column         // a struct of the columns
	Rows    []int64 // numbers of the rows in the file; nil: they are consecutive
	Bytes   int64   // of the rows in the file
}

// MakeColumn returns a column of arrays that were made here. It checks that each row lies in their
// memory, which must not change while the column is used. Views of texts and lists, unions and runs
// are not made.
func MakeColumn(of *Type, parts ...*Data) (*Column, error) {
	f, err := fieldOf(of)
	if err != nil {
		return nil, err
	}
	c := &Column{field: f, above: make([][]bool, len(parts))}
	for _, d := range parts {
		v, err := madeOf(f.dataType, d)
		if err != nil {
			return nil, err
		}
		c.parts = append(c.parts, v)
	}
	return c, nil
}

func madeOf(t *dataType, d *Data) (*values, error) {
	if d == nil || d.Rows < 0 || d.Rows > maxLength {
		return nil, errs.New(errs.Invalid, "an array of type %s is missing, or its length is wrong", t.name)
	}
	if len(d.Children) != len(t.fields) && t.kind != kindOther {
		return nil, errs.New(errs.Invalid, "an array of type %s has %d children, want %d", t.name, len(d.Children), len(t.fields))
	}
	if d.Valid != nil && int64(len(d.Valid)) < (d.Rows+7)/8 {
		return nil, errs.New(errs.Invalid, "an array of type %s has %d rows, and a bitmap of %d bytes", t.name, d.Rows, len(d.Valid))
	}
	if d.At != nil && int64(len(d.At)) != d.Rows {
		return nil, errs.New(errs.Internal, "an array of type %s has %d rows, and positions of %d", t.name, d.Rows, len(d.At))
	}
	v := &values{dataType: t, n: d.Rows, valid: d.Valid, data: d.Values, ends: d.Ends, at: d.At}
	if err := v.checkMade(); err != nil || t.kind == kindOther {
		return v, err
	}
	for i, c := range d.Children {
		child, err := madeOf(t.fields[i].dataType, c)
		if err != nil {
			return nil, err
		}
		if least := v.least(); child.n < least {
			return nil, errs.New(errs.Invalid, "child %d of an array of type %s has %d rows, want at least %d", i, t.name, child.n, least)
		}
		v.children = append(v.children, child)
	}
	if t.dictionary == nil {
		return v, nil
	}
	var err error
	v.dict, err = madeOf(t.dictionary, d.Dictionary)
	return v, err
}

// checkMade checks the memory of an array, without its children.
func (v *values) checkMade() error {
	size := int64(0)
	switch v.kind {
	case kindBool:
		size = (v.n + 7) / 8
	case kindNumber:
		size = v.n * int64(v.dtype.Size())
	case kindTime, kindDecimal, kindFixed:
		size = v.n * v.width
	case kindText, kindList, kindMap:
		return v.checkEnds()
	case kindView, kindListView:
		return errs.New(errs.Internal, "an array of type %s was made", v.name)
	}
	if int64(len(v.data)) < size {
		return errs.New(errs.Invalid, "an array of type %s has %d bytes, want %d", v.name, len(v.data), size)
	}
	return nil
}

func (v *values) checkEnds() error {
	if int64(len(v.ends)) != v.n+1 {
		return errs.New(errs.Invalid, "an array of type %s has %d offsets, want %d", v.name, len(v.ends), v.n+1)
	}
	last := int64(maxLength)
	if v.kind == kindText {
		last = int64(len(v.data))
	}
	at := int64(0)
	for i, end := range v.ends {
		if end < at || end > last {
			return errs.New(errs.Invalid, "offset %d of an array of type %s is %d, want %d to %d", i, v.name, end, at, last)
		}
		at = end
	}
	return nil
}
