package tfrecord

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"deeplake/core/arrow"
)

// leaves are values in one piece of memory.
type leaves struct {
	kind   kind
	form   Form
	values []byte
	ends   []int64 // of bytes
	at     []int64 // positions of the texts; -1: not known
	n      int64
}

func (l *leaves) add(f *feature) {
	switch l.kind {
	case isBytes:
		for i, p := range f.texts {
			l.values = append(l.values, p...)
			l.ends = append(l.ends, int64(len(l.values)))
			at := int64(-1)
			if f.at != nil {
				at = f.at[i]
			}
			l.at = append(l.at, at)
		}
	case isFloat:
		for _, v := range f.floats {
			l.values = binary.LittleEndian.AppendUint32(l.values, v)
		}
	case isInt:
		for _, v := range f.ints {
			l.values = binary.LittleEndian.AppendUint64(l.values, uint64(v))
		}
	}
	l.n += int64(f.len())
}

// hole adds a value for a row that has none.
func (l *leaves) hole() {
	switch l.kind {
	case isBytes:
		l.ends = append(l.ends, int64(len(l.values)))
		l.at = append(l.at, -1)
	case isFloat:
		l.values = append(l.values, 0, 0, 0, 0)
	case isInt:
		l.values = append(l.values, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	l.n++
}

// made returns the array of the values. valid marks rows that have one.
func (l *leaves) made(valid []byte) (*arrow.Type, *arrow.Data) {
	switch l.kind {
	case isFloat:
		return &arrow.Type{Format: "f"}, &arrow.Data{Rows: l.n, Valid: valid, Values: l.values}
	case isInt:
		return &arrow.Type{Format: "l"}, &arrow.Data{Rows: l.n, Valid: valid, Values: l.values}
	case isBytes:
		d := &arrow.Data{Rows: l.n, Valid: valid, Values: l.values, Ends: append([]int64{0}, l.ends...)}
		switch l.form {
		case Text:
			return &arrow.Type{Format: "U"}, d
		case File:
			none := &arrow.Data{Rows: l.n, Valid: make([]byte, (l.n+7)/8), Ends: make([]int64, l.n+1)}
			d.Valid, d.At = nil, l.at
			return &arrow.Type{Format: "+s", Children: []*arrow.Type{{Name: "bytes", Format: "Z"}, {Name: "path", Format: "U"}}},
				&arrow.Data{Rows: l.n, Valid: valid, Children: []*arrow.Data{d, none}}
		}
		return &arrow.Type{Format: "Z"}, d
	}
	return &arrow.Type{Format: "n"}, &arrow.Data{Rows: l.n}
}

// formOf returns the form of the values of a column.
func (c *column) formOf() Form {
	form := Unknown
	for i := range c.cells {
		form = Join(form, c.cells[i].form())
	}
	return form
}

func (f *feature) form() Form {
	form := Unknown
	for _, p := range f.texts {
		switch {
		case isFile(p):
			form = Join(form, File)
		case len(p) == 0:
		case utf8.Valid(p):
			form = Join(form, Text)
		default:
			return Bytes
		}
	}
	for i := range f.steps {
		form = Join(form, f.steps[i].form())
	}
	return form
}

// isFile reports whether bytes begin as an image file does.
func isFile(p []byte) bool {
	return bytes.HasPrefix(p, []byte{0xff, 0xd8, 0xff}) || bytes.HasPrefix(p, []byte("\x89PNG\r\n\x1a\n")) ||
		len(p) > 12 && string(p[:4]) == "RIFF" && string(p[8:12]) == "WEBP"
}

// build makes the array of a column. Records that have one value each give numbers, texts or bytes;
// others lists, also in later batches.
func (c *column) build(r *Reader) (*arrow.Type, *arrow.Data) {
	l := &leaves{kind: r.kinds[c.name]}
	isSteps := slices.ContainsFunc(c.cells, func(f feature) bool { return f.isSteps })
	form := r.forms[c.name]
	if l.kind == isBytes && form&^List == Unknown {
		form = Join(form, c.formOf())
	}
	if !isSteps && slices.ContainsFunc(c.cells, func(f feature) bool { return f.len() > 1 || f.kind != 0 && f.len() == 0 }) {
		form |= List
	}
	r.forms[c.name] = form
	if l.form = form &^ List; l.form == Unknown {
		l.form = Text // all are empty
	}
	valid := make([]byte, (len(c.cells)+7)/8)
	for i := range c.cells {
		if f := &c.cells[i]; f.kind != 0 || f.isSteps {
			valid[i/8] |= 1 << (i % 8)
		}
	}
	if isSteps {
		return c.steps(l, valid)
	}
	if form&List == 0 {
		for i := range c.cells {
			if c.cells[i].len() == 0 {
				l.hole()
				continue
			}
			l.add(&c.cells[i])
		}
		return l.made(valid)
	}
	ends := make([]int64, 1, len(c.cells)+1)
	for i := range c.cells {
		l.add(&c.cells[i])
		ends = append(ends, l.n)
	}
	return listOf(l, ends, valid)
}

func listOf(l *leaves, ends []int64, valid []byte) (*arrow.Type, *arrow.Data) {
	t, d := l.made(nil)
	return &arrow.Type{Format: "+L", Children: []*arrow.Type{t}}, &arrow.Data{Rows: int64(len(ends) - 1), Valid: valid, Ends: ends, Children: []*arrow.Data{d}}
}

// steps makes the lists of the steps of each record. If all steps have one value, a record is a
// list of those.
func (c *column) steps(l *leaves, valid []byte) (*arrow.Type, *arrow.Data) {
	one := !slices.ContainsFunc(c.cells, func(f feature) bool {
		return slices.ContainsFunc(f.steps, func(step feature) bool { return step.len() != 1 })
	})
	inner, outer := []int64{0}, []int64{0}
	for i := range c.cells {
		for k := range c.cells[i].steps {
			l.add(&c.cells[i].steps[k])
			inner = append(inner, l.n)
		}
		outer = append(outer, int64(len(inner)-1))
	}
	if one {
		return listOf(l, outer, valid)
	}
	t, d := listOf(l, inner, nil)
	return &arrow.Type{Format: "+L", Children: []*arrow.Type{t}}, &arrow.Data{Rows: int64(len(c.cells)), Valid: valid, Ends: outer, Children: []*arrow.Data{d}}
}
