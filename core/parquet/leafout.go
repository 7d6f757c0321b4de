package parquet

import (
	"encoding/binary"
	"math"
	"slices"

	"deeplake/core/arrow"
	"deeplake/core/errs"
)

// maxValue bounds the bytes of a text, so that its page stays below the bound of the format.
const maxValue = 1 << 30

// outLeaf collects the entries of a leaf for a row group.
type outLeaf struct {
	column  string
	path    []string
	kind    physical
	order   order
	width   int  // bytes of a value in memory; 0: texts
	wide    int  // bytes of a value in a page; bools have a bit
	seconds bool // times, which become milliseconds
	coded   bool // texts that come as numbers of a dictionary
	asIs    bool // pages are never compressed

	defined, repeats int // levels of a value

	entries int
	reps    []byte // nil: all are 0
	defs    []byte // nil: all are values
	count   int    // values
	// values are as in Arrow, with a byte for each bool. Texts are as in a page, behind their
	// lengths, unless they are coded.
	values []byte
	codes  []int32
	texts  *textSet // of the codes
	wideOf int64    // bytes of all values in plain pages, of coded texts
}

func (l *outLeaf) isText() bool { return l.width == 0 }

// size is the memory of the entries.
func (l *outLeaf) size() int64 {
	n := len(l.reps) + len(l.defs) + len(l.values) + 4*len(l.codes)
	if l.texts != nil {
		n += len(l.texts.data)
	}
	return int64(n)
}

// reset forgets all entries and keeps the memory.
func (l *outLeaf) reset() {
	l.entries, l.count, l.wideOf = 0, 0, 0
	l.reps, l.defs, l.values, l.codes, l.texts = l.reps[:0], nil, l.values[:0], l.codes[:0], nil
}

// check checks that the values of an array lie in its memory.
func (l *outLeaf) check(d *arrow.Data) error {
	have, size := int64(len(d.Values)), d.Rows
	switch {
	case l.coded:
		if size *= 4; d.Dictionary == nil {
			return writing(l.column).New(errs.Invalid, "an array has no dictionary")
		}
		texts := &outLeaf{column: l.column}
		if err := texts.check(d.Dictionary); err != nil {
			return err
		}
		if v := d.Dictionary.Valid; v != nil && int64(len(v)) < (d.Dictionary.Rows+7)/8 {
			return writing(l.column).New(errs.Invalid, "a dictionary has %d texts, and a bitmap of %d bytes", d.Dictionary.Rows, len(v))
		}
	case l.isText():
		_, err := checkEnds(l.column, d, have, maxValue)
		return err
	case l.kind == boolean:
		size = (size + 7) / 8
	default:
		size *= int64(l.width)
	}
	if have < size {
		return writing(l.column).New(errs.Invalid, "an array of %d rows has %d bytes, want %d", d.Rows, have, size)
	}
	return nil
}

// add appends entries of an array.
func (l *outLeaf) add(d *arrow.Data, e entries) error {
	if l.coded && d.Dictionary.Valid != nil {
		e = e.nulls(codedNulls(d), l.defined-1)
	}
	if l.repeats > 0 {
		if at := len(l.reps); e.reps == nil {
			l.reps = append(l.reps, make([]byte, e.n)...)
			clear(l.reps[at:])
		} else {
			l.reps = append(l.reps, e.reps...)
		}
	}
	l.addDefs(e)
	l.entries += e.n
	for _, s := range e.spans {
		l.count += int(s.to - s.from)
	}
	switch {
	case l.coded:
		return l.addCodes(d, e.spans)
	case l.isText():
		l.addTexts(d, e.spans)
	case l.kind == boolean:
		for _, s := range e.spans {
			for i := s.from; i < s.to; i++ {
				l.values = append(l.values, d.Values[i>>3]>>(i&7)&1)
			}
		}
	case l.seconds:
		return l.addSeconds(d, e.spans)
	default:
		width := int64(l.width)
		for _, s := range e.spans {
			l.values = append(l.values, d.Values[s.from*width:s.to*width]...)
		}
	}
	return nil
}

func (l *outLeaf) addDefs(e entries) {
	if e.defs == nil && l.defs == nil {
		return
	}
	value, at := byte(l.defined), len(l.defs)
	if l.defs == nil {
		l.defs = make([]byte, l.entries, l.entries+e.n)
		fill(l.defs, value)
		at = l.entries
	}
	if e.defs == nil {
		l.defs = append(l.defs, make([]byte, e.n)...)
		fill(l.defs[at:], value)
		return
	}
	l.defs = append(l.defs, e.defs...)
	for i, def := range l.defs[at:] {
		if def == live {
			l.defs[at+i] = value
		}
	}
}

func (l *outLeaf) addTexts(d *arrow.Data, spans []span) {
	start, size := startsOf(d), int64(0)
	for _, s := range spans {
		size += start(s.to) - start(s.from) + 4*(s.to-s.from)
	}
	l.values = slices.Grow(l.values, int(size))
	for _, s := range spans {
		if d.Ends != nil {
			l.values = appendTexts(l.values, d.Values, d.Ends[s.from:s.to+1])
		} else {
			l.values = appendTexts(l.values, d.Values, d.Ends32[s.from:s.to+1])
		}
	}
}

// appendTexts appends texts behind their lengths.
func appendTexts[T int32 | int64](dst, data []byte, ends []T) []byte {
	for i, from := range ends[:len(ends)-1] {
		text := data[from:ends[i+1]]
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(text)))
		dst = append(dst, text...)
	}
	return dst
}

func (l *outLeaf) addSeconds(d *arrow.Data, spans []span) error {
	for _, s := range spans {
		for i := s.from; i < s.to; i++ {
			v := int64(binary.LittleEndian.Uint64(d.Values[8*i:]))
			if v > math.MaxInt64/1000 || v < math.MinInt64/1000 {
				return writing(l.column).New(errs.Range, "a time is %d seconds from 1970, which milliseconds of 64 bits do not reach", v)
			}
			l.values = binary.LittleEndian.AppendUint64(l.values, uint64(v*1000))
		}
	}
	return nil
}

// codedNulls returns a bitmap of the rows whose text is not null. Codes are checked later.
func codedNulls(d *arrow.Data) []byte {
	var valid bitmap
	for i := range d.Rows {
		code := int64(int32(le32(d.Values[4*i:])))
		valid.add(code < 0 || code >= d.Dictionary.Rows || bitAt(d.Dictionary.Valid, code))
	}
	return valid.p
}

// addCodes appends numbers of a dictionary, as those of the dictionary of the row group.
func (l *outLeaf) addCodes(d *arrow.Data, spans []span) error {
	if l.texts == nil {
		l.texts = newTextSet()
	}
	dict := d.Dictionary
	start := startsOf(dict)
	numbers := make([]int32, dict.Rows) // of the row group, plus one; 0: not known
	for _, s := range spans {
		for i := s.from; i < s.to; i++ {
			code := int64(int32(le32(d.Values[4*i:])))
			if code < 0 || code >= dict.Rows {
				return writing(l.column).New(errs.Invalid, "a row has number %d of a dictionary of %d texts", code, dict.Rows)
			}
			if numbers[code] == 0 {
				numbers[code] = l.texts.add(dict.Values[start(code):start(code+1)]) + 1
			}
			number := numbers[code] - 1
			l.codes = append(l.codes, number)
			l.wideOf += int64(4 + l.texts.length(number))
		}
	}
	return nil
}
