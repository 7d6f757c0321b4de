package jsonl

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"deeplake/core/arrow"
	"deeplake/core/errs"
	"deeplake/core/internal/jsontext"
)

// cell is a value of a line, still as JSON; p is nil where the line has none.
type cell struct {
	p    []byte
	kind jsontext.Kind
}

// key is a column that is being read.
type key struct {
	name       string
	isDocument bool
	isRounded  bool          // float64 may round integers
	kinds      jsontext.Kind // of all values, without nulls
	digits     digits        // of all integers
	cells      []cell
}

// builder collects the lines of a batch.
type builder struct {
	wanted    []string
	documents []string
	rounded   []string
	byName    map[string]int
	keys      []*key
	rows      int
	line      []cell // of the present line, by column
}

// add reads a line, or changes nothing.
func (b *builder) add(p []byte) error {
	s := &jsontext.Scanner{P: p}
	if s.Space(); s.P[s.At] != '{' {
		return errs.New(errs.Invalid, "is no JSON object")
	}
	if !utf8.Valid(p) {
		return errs.New(errs.Corrupt, "is not UTF-8; convert the file first, as with iconv -f LATIN1 -t UTF-8")
	}
	clear(b.line)
	known := len(b.keys)
	err := s.Members(0, func(quoted []byte) error { return b.member(s, quoted) })
	if err == nil {
		if s.Space(); s.At < len(s.P) {
			err = s.Wrong()
		}
	}
	for i, k := range b.keys {
		if err != nil {
			break
		}
		err = k.takes(b.line[i])
	}
	if err != nil {
		for _, k := range b.keys[known:] { // of this line alone
			delete(b.byName, k.name)
		}
		b.keys, b.line = b.keys[:known], b.line[:known]
		return err
	}
	for i, k := range b.keys {
		k.add(b.line[i])
	}
	b.rows++
	return nil
}

// member reads a member of the line's object.
func (b *builder) member(s *jsontext.Scanner, quoted []byte) error {
	name, err := jsontext.Plain(quoted)
	if err != nil {
		return err
	}
	i, ok := b.byName[string(name)]
	if !ok && b.wanted != nil && !slices.Contains(b.wanted, string(name)) {
		_, err := s.Value(1)
		return err
	}
	if !ok {
		if len(b.keys) == maxColumns {
			return errs.New(errs.Invalid, "has another key, %q, and there are %d", name, maxColumns)
		}
		i = len(b.keys)
		k := &key{name: string(name), cells: make([]cell, b.rows)}
		k.isDocument, k.isRounded = slices.Contains(b.documents, k.name), slices.Contains(b.rounded, k.name)
		b.byName[k.name] = i
		b.keys, b.line = append(b.keys, k), append(b.line, cell{})
	}
	s.Space()
	from := s.At
	kind, err := s.Value(1)
	if err != nil {
		return err
	}
	b.line[i] = cell{s.P[from:s.At:s.At], kind}
	if kind == jsontext.Text && !b.keys[i].isDocument { // texts without escapes stay in place
		b.line[i].p, err = jsontext.Plain(s.P[from+1 : s.At-1])
	}
	return err
}

// add appends a value.
func (k *key) add(c cell) {
	k.kinds |= c.kind &^ jsontext.Null
	k.digits |= digitsOf(c)
	k.cells = append(k.cells, c)
}

// takes refuses a value of another kind than those before, and a number with which float64 would
// round an integer.
func (k *key) takes(c cell) error {
	const numbers = jsontext.Int | jsontext.Float
	is := c.kind &^ jsontext.Null
	if is == 0 || k.isDocument {
		return nil
	}
	if is&numbers != 0 && k.kinds&^numbers == 0 {
		if all := k.digits | digitsOf(c); !k.isRounded && all&isInexact != 0 && all.needFloats(k.kinds|is) {
			return errs.New(errs.Type, "has %.40s for %q, and float64 would round an integer of the column; give it htype json, or dtype float64", c.p, k.name)
		}
		return nil
	}
	if k.kinds == 0 || k.kinds&is != 0 {
		return nil
	}
	first := jsontext.Kind(1)
	for k.kinds&first == 0 {
		first <<= 1
	}
	return errs.New(errs.Type, "has %s for %q, and lines before have %s; write one kind, or give htype json", is, k.name, first)
}

// digits are facts about the integers of a column.
type digits uint8

const (
	isNegative digits = 1 << iota
	isUnsigned        // beyond int64
	isBig             // beyond uint64, too
	isInexact         // float64 has not all of its digits
)

// surelySmall is the most characters of an integer that each type holds.
const surelySmall = 15

// digitsOf returns the facts about a value; 0: it is no integer.
func digitsOf(c cell) (d digits) {
	if c.kind&jsontext.Int == 0 {
		return 0
	}
	if c.p[0] == '-' {
		d = isNegative
	}
	if len(c.p) <= surelySmall {
		return d
	}
	if _, err := strconv.ParseInt(text(c.p), 10, 64); err != nil {
		d |= isUnsigned
		if _, err := strconv.ParseUint(text(c.p), 10, 64); err != nil {
			d |= isBig
		}
	}
	if !arrow.IsExact(text(c.p)) {
		d |= isInexact
	}
	return d
}

// needFloats reports whether no type of integers holds numbers of some kinds.
func (d digits) needFloats(kinds jsontext.Kind) bool {
	const both = isNegative | isUnsigned
	return kinds&jsontext.Float != 0 || d&isBig != 0 || d&both == both
}

// column makes the struct of all columns.
func (b *builder) column() (*arrow.Column, error) {
	all := &arrow.Type{Format: "+s"}
	data := &arrow.Data{Rows: int64(b.rows)}
	for _, k := range b.keys {
		t, d, err := k.build()
		if err != nil {
			return nil, err
		}
		t.Name = k.name
		all.Children, data.Children = append(all.Children, t), append(data.Children, d)
	}
	return arrow.MakeColumn(all, data)
}

// text returns a number of JSON as a string that is used at once.
func text(p []byte) string { return unsafe.String(unsafe.SliceData(p), len(p)) }

// build makes the array of a column by the kinds of its values.
func (k *key) build() (*arrow.Type, *arrow.Data, error) {
	switch {
	case k.isDocument || k.kinds&jsontext.Object != 0:
		t, d := k.texts(true)
		return t, d, nil
	case k.kinds == 0:
		return &arrow.Type{Format: "n"}, &arrow.Data{Rows: int64(len(k.cells))}, nil
	case k.kinds == jsontext.Bool:
		t, d := k.bools()
		return t, d, nil
	case k.kinds&(jsontext.Int|jsontext.Float) != 0:
		return k.numbers()
	case k.kinds == jsontext.Text:
		t, d := k.texts(false)
		return t, d, nil
	}
	if t, d, ok := k.lists(); ok {
		return t, d, nil
	}
	t, d := k.texts(true)
	return t, d, nil
}

// valid returns the bitmap of cells with a value; nil: all have one.
func valid(cells []cell) []byte {
	some := false
	out := make([]byte, (len(cells)+7)/8)
	for i, c := range cells {
		if c.kind&^jsontext.Null != 0 {
			out[i>>3] |= 1 << (i & 7)
		} else {
			some = true
		}
	}
	if !some {
		return nil
	}
	return out
}

// texts returns texts, or values as JSON.
func (k *key) texts(documents bool) (*arrow.Type, *arrow.Data) {
	t := &arrow.Type{Format: "u"}
	d := &arrow.Data{Rows: int64(len(k.cells)), Valid: valid(k.cells), Ends: make([]int64, 1, len(k.cells)+1)}
	if documents {
		t.Metadata = map[string]string{"ARROW:extension:name": "arrow.json"}
	}
	for _, c := range k.cells {
		if c.kind&^jsontext.Null != 0 {
			d.Values = append(d.Values, c.p...)
		}
		d.Ends = append(d.Ends, int64(len(d.Values)))
	}
	return t, d
}

func (k *key) bools() (*arrow.Type, *arrow.Data) {
	d := &arrow.Data{Rows: int64(len(k.cells)), Valid: valid(k.cells), Values: make([]byte, (len(k.cells)+7)/8)}
	for i, c := range k.cells {
		if c.kind == jsontext.Bool && c.p[0] == 't' {
			d.Values[i>>3] |= 1 << (i & 7)
		}
	}
	return &arrow.Type{Format: "b"}, d
}

// numbers returns integers, or floats if no type of integers holds all numbers.
func (k *key) numbers() (*arrow.Type, *arrow.Data, error) {
	cells := k.cells
	d := &arrow.Data{Rows: int64(len(cells)), Valid: valid(cells), Values: make([]byte, 0, 8*len(cells))}
	if !k.digits.needFloats(k.kinds) {
		if integers(d, cells, func(p []byte) (uint64, error) {
			v, err := strconv.ParseInt(text(p), 10, 64)
			return uint64(v), err
		}) {
			return &arrow.Type{Format: "l"}, d, nil
		}
		if integers(d, cells, func(p []byte) (uint64, error) { return strconv.ParseUint(text(p), 10, 64) }) {
			return &arrow.Type{Format: "L"}, d, nil
		}
	}
	d.Values = d.Values[:0]
	for _, c := range cells {
		v := 0.0
		if c.kind&^jsontext.Null != 0 {
			var err error
			if v, err = strconv.ParseFloat(text(c.p), 64); err != nil {
				return nil, nil, errs.New(errs.Type, "the number %.40s is beyond the range of float64", c.p)
			}
		}
		d.Values = binary.LittleEndian.AppendUint64(d.Values, math.Float64bits(v))
	}
	return &arrow.Type{Format: "g"}, d, nil
}

// integers parses all cells, and reports whether each is an integer of the type.
func integers(d *arrow.Data, cells []cell, parse func(p []byte) (uint64, error)) bool {
	d.Values = d.Values[:0]
	for _, c := range cells {
		v := uint64(0)
		if c.kind&^jsontext.Null != 0 {
			var err error
			if v, err = parse(c.p); err != nil {
				return false
			}
		}
		d.Values = binary.LittleEndian.AppendUint64(d.Values, v)
	}
	return true
}

// lists returns lists of numbers, bools or texts. ok is false for lists of other values, with
// nulls, or of several depths.
func (k *key) lists() (t *arrow.Type, d *arrow.Data, ok bool) {
	depth := 0
	for _, c := range k.cells {
		if c.kind == jsontext.List {
			depth = max(depth, depthOf(c.p))
		}
	}
	l := &nested{ends: make([][]int64, depth)}
	for i := range l.ends {
		l.ends[i] = []int64{0}
	}
	for _, c := range k.cells {
		if c.kind != jsontext.List {
			l.ends[0] = append(l.ends[0], l.ends[0][len(l.ends[0])-1])
			continue
		}
		if l.list(&jsontext.Scanner{P: c.p}, 0) != nil {
			return nil, nil, false
		}
	}
	leaf := &key{name: k.name, isRounded: k.isRounded, cells: make([]cell, 0, len(l.leaves))}
	for _, c := range l.leaves {
		if c.kind&(jsontext.Null|jsontext.Object) != 0 || leaf.takes(c) != nil {
			return nil, nil, false
		}
		leaf.add(c)
	}
	const numbers = jsontext.Int | jsontext.Float
	if n := leaf.kinds; n != jsontext.Bool && n != jsontext.Text && n&^numbers != 0 {
		return nil, nil, false
	}
	var err error
	if t, d, err = leaf.build(); err != nil {
		return nil, nil, false
	}
	for i := len(l.ends) - 1; i >= 0; i-- {
		t = &arrow.Type{Format: "+l", Children: []*arrow.Type{t}}
		d = &arrow.Data{Rows: int64(len(l.ends[i]) - 1), Ends: l.ends[i], Children: []*arrow.Data{d}}
	}
	d.Valid = valid(k.cells)
	return t, d, true
}

// depthOf returns how many lists begin at the beginning of a list.
func depthOf(p []byte) (depth int) {
	s := &jsontext.Scanner{P: p}
	for ; s.At < len(p) && p[s.At] == '['; depth++ {
		s.At++
		s.Space()
	}
	return depth
}

// nested collects lists in lists.
type nested struct {
	ends   [][]int64 // by depth
	leaves []cell
}

// list reads a list at a depth.
func (l *nested) list(s *jsontext.Scanner, depth int) error {
	n := int64(0)
	err := s.Items(depth, func() error {
		n++
		s.Space()
		isList := s.At < len(s.P) && s.P[s.At] == '['
		if depth+1 < len(l.ends) {
			if !isList {
				return errs.New(errs.Type, "lists have several depths")
			}
			return l.list(s, depth+1)
		}
		from := s.At
		kind, err := s.Value(depth)
		if err != nil || isList {
			return errs.New(errs.Type, "lists have several depths")
		}
		c := cell{s.P[from:s.At:s.At], kind}
		if kind == jsontext.Text {
			c.p, err = jsontext.Plain(s.P[from+1 : s.At-1])
		}
		l.leaves = append(l.leaves, c)
		return err
	})
	if err != nil {
		return err
	}
	ends := l.ends[depth]
	l.ends[depth] = append(ends, ends[len(ends)-1]+n)
	return nil
}
