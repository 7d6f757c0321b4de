package csv

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"
	"unsafe"

	"deeplake/core/arrow"
)

// Kinds are the kinds of one value, or of the values of a column together.
type Kinds uint16

const (
	isInt     Kinds = 1 << iota // of 64 bits
	isUint                      // of 64 bits without a sign, and not of 64 with one
	isBig                       // an integer beyond those
	isMinus                     // a negative one
	isFloat                     // with a point or an exponent
	isPadded                    // an integer that begins with 0
	isInexact                   // an integer of which float64 would lose digits
	isBool
	isDate
	isTime  // of no zone
	isZoned // with its distance to UTC
	isNano  // with more than six digits of a second
	isFar   // beyond the years that 64 bits of nanoseconds count
	isText  // anything else

	integers = isInt | isUint | isBig | isMinus | isInexact
	numbers  = integers | isFloat
	times    = isDate | isTime | isZoned | isNano | isFar
)

// The kinds of columns.
const (
	Text       = isText
	Integers   = isInt
	Unsigned   = isInt | isUint
	Floats     = isInt | isFloat
	Bools      = isBool
	Dates      = isDate
	Times      = isTime
	Nanos      = isTime | isNano
	Zoned      = isZoned
	ZonedNanos = isZoned | isNano
)

// Join returns the kind of a column that has the values of two.
func Join(a, b Kinds) Kinds { return joined(a | b) }

// Known describes a column before it is read.
type Known struct {
	Kinds Kinds // of earlier values; 0: there are none
	Fixed bool  // a value of another kind is an error
	// Lenient says that the user has stated the kind: 007 is 7, and 1 is true.
	Lenient bool
	Holes   bool // a missing value is none among texts too
}

// String names a kind for messages.
func (k Kinds) String() string {
	switch {
	case k&isFloat != 0:
		return "numbers"
	case k&numbers != 0:
		return "integers"
	case k&isBool != 0:
		return "true and false"
	case k&(isTime|isZoned) != 0:
		return "times"
	}
	return "dates"
}

// column is a column that is read.
type column struct {
	Known
	name  string
	cells []cell
	bad   []int // rows of the batch with a value of another kind, if the kind is fixed
}

// value returns a value without the spaces around it.
func value(buf []byte, c cell) []byte {
	p := buf[c.from:c.to]
	for len(p) > 0 && (p[0] == ' ' || p[0] == '\t') {
		p = p[1:]
	}
	for len(p) > 0 && (p[len(p)-1] == ' ' || p[len(p)-1] == '\t') {
		p = p[:len(p)-1]
	}
	return p
}

// classify reads the kinds of a batch, and fixes them. Values of other kinds than those that were
// fixed before are bad.
func (c *column) classify(buf []byte) {
	c.bad = c.bad[:0]
	takes := c.Kinds.takes()
	for row, one := range c.cells {
		if c.Kinds == isText {
			break
		}
		k := c.kindOf(value(buf, one))
		switch {
		case c.Fixed && k&^takes != 0:
			c.bad = append(c.bad, row)
		case !c.Fixed && k&^c.Kinds != 0:
			c.Kinds = joined(c.Kinds | k)
		}
	}
	c.Fixed = c.Kinds != 0
}

// takes returns the kinds of values for which a column of a kind has a place.
func (k Kinds) takes() Kinds {
	time := isFar
	if k&isNano != 0 {
		time = isNano
	}
	switch {
	case k&isText != 0:
		return math.MaxUint16
	case k&isFloat != 0:
		return numbers &^ isInexact
	case k&isUint != 0:
		return isInt | isUint | isInexact
	case k&integers != 0:
		return isInt | isMinus | isInexact
	case k&isBool != 0:
		return isBool
	case k&isZoned != 0:
		return isZoned | time
	case k&isTime != 0:
		return isTime | isDate | time
	}
	return isDate | isFar
}

// joined returns the kind of a column that has values of some kinds: text, if they do not go
// together or would lose digits.
func joined(k Kinds) Kinds {
	switch {
	case k&^numbers == 0:
		if k&(isFloat|isInexact) == isFloat || k&(isFloat|isBig) == 0 && k&(isUint|isMinus) != isUint|isMinus {
			return k
		}
	case k == isBool:
		return k
	case k&^times == 0:
		if k&(isNano|isFar) != isNano|isFar && (k&isZoned == 0 || k&(isDate|isTime) == 0) {
			return k
		}
	}
	return isText
}

// kindOf returns the kind of a value; 0 for one that is missing.
func (c *column) kindOf(p []byte) Kinds {
	if isMissing(p) {
		return 0
	}
	k := kindOf(p)
	if c.Lenient && c.Kinds&isBool != 0 && len(p) == 1 && (p[0] == '0' || p[0] == '1') {
		return isBool
	}
	if c.Lenient && c.Kinds&isFloat != 0 {
		k &^= isInexact
	}
	if k&isPadded == 0 {
		return k
	}
	if c.Lenient && c.Kinds&numbers != 0 {
		return k &^ isPadded
	}
	return isText
}

// isMissing reports whether a value stands for none, unless it is text. These are the spellings
// that pandas and pyarrow take.
func isMissing(p []byte) bool {
	if len(p) == 0 {
		return true
	}
	switch string(p) {
	case "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null", "None", "<NA>":
		return true
	}
	return false
}

func isDigit(b byte) bool { return b-'0' < 10 }

// digits returns how many digits p begins with.
func digits(p []byte) (n int) {
	for n < len(p) && isDigit(p[n]) {
		n++
	}
	return n
}

// kindOf returns the kind of a value that is there.
func kindOf(p []byte) Kinds {
	switch p[0] {
	case 't', 'T', 'f', 'F':
		if _, ok := boolOf(p); ok {
			return isBool
		}
		return isText
	case 'i', 'I':
		if isInfinite(p) {
			return isFloat
		}
		return isText
	}
	q := p
	if q[0] == '-' {
		if q = q[1:]; isInfinite(q) {
			return isFloat
		}
	}
	n := digits(q)
	switch {
	case n == len(q) && n > 0:
		return integer(p, q)
	case n == 4 && len(q) >= 10 && q[4] == '-' && len(p) == len(q):
		return dateOrTime(p)
	case n > 1 && q[0] == '0':
		return isText
	case isFraction(q, n):
		return isFloat
	}
	return isText
}

// integer returns the kind of digits q, in front of which p may have a sign.
func integer(p, q []byte) Kinds {
	k := isInt
	if len(q) > 18 {
		if _, err := strconv.ParseInt(text(p), 10, 64); err != nil {
			k = isUint
			if _, err := strconv.ParseUint(text(p), 10, 64); err != nil {
				k = isBig
			}
		}
	}
	if !arrow.IsExact(text(q)) {
		k |= isInexact
	}
	if len(p) > len(q) {
		k |= isMinus
	}
	if len(q) > 1 && q[0] == '0' {
		k |= isPadded
	}
	return k
}

func isInfinite(p []byte) bool {
	switch string(p) {
	case "inf", "Inf", "INF", "infinity", "Infinity", "INFINITY":
		return true
	}
	return false
}

// isFraction reports whether q, which begins with n digits, is a number with a point or an
// exponent, in the range of float64.
func isFraction(q []byte, n int) bool {
	at := n
	if at < len(q) && q[at] == '.' {
		m := digits(q[at+1:])
		n += m
		at += 1 + m
	}
	if n == 0 {
		return false
	}
	if at < len(q) && (q[at] == 'e' || q[at] == 'E') {
		if at++; at < len(q) && (q[at] == '-' || q[at] == '+') {
			at++
		}
		m := digits(q[at:])
		if m == 0 {
			return false
		}
		at += m
		if at == len(q) && (m > 2 || n > 200) {
			_, err := strconv.ParseFloat(text(q), 64)
			return err == nil
		}
	}
	return at == len(q) && n < 300
}

// boolOf reads a bool.
func boolOf(p []byte) (is, ok bool) {
	switch string(p) {
	case "true", "True", "TRUE", "1":
		return true, true
	case "false", "False", "FALSE", "0":
		return false, true
	}
	return false, false
}

// text returns bytes as a string that is used at once.
func text(p []byte) string { return unsafe.String(unsafe.SliceData(p), len(p)) }

// dateOrTime returns the kind of a value in the form of ISO 8601.
func dateOrTime(p []byte) Kinds {
	t, ok := parseTime(p)
	if !ok {
		return isText
	}
	k := isTime
	switch {
	case t.isDate:
		k = isDate
	case t.isZoned:
		k = isZoned
	}
	if t.isNano {
		k |= isNano
	}
	if t.seconds < -9223372036 || t.seconds >= 9223372036 {
		k |= isFar
	}
	return k
}

// moment is a date or a time.
type moment struct {
	seconds, nanos          int64
	isDate, isZoned, isNano bool
}

// parseTime reads 2026-11-29, or a time behind it: 12:30, 12:30:59, 12:30:59.123456789, with Z or
// a distance such as +05:30 behind that. T or a space lies between date and time.
func parseTime(p []byte) (m moment, ok bool) {
	year, month, day := number(p, 0, 4), number(p, 5, 2), number(p, 8, 2)
	if p[4] != '-' || p[7] != '-' || year < 0 || month < 1 || month > 12 || day < 1 {
		return m, false
	}
	date := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if date.Day() != day {
		return m, false
	}
	m.seconds = date.Unix()
	if len(p) == 10 {
		m.isDate = true
		return m, true
	}
	if len(p) < 16 || p[10] != 'T' && p[10] != ' ' || p[13] != ':' {
		return m, false
	}
	hour, minute, second := number(p, 11, 2), number(p, 14, 2), 0
	p = p[16:]
	if len(p) >= 3 && p[0] == ':' {
		second = number(p, 1, 2)
		if p = p[3:]; len(p) > 1 && p[0] == '.' {
			n := digits(p[1:])
			if n == 0 || n > 9 {
				return m, false
			}
			m.isNano = n > 6
			for i := range 9 {
				m.nanos *= 10
				if i < n {
					m.nanos += int64(p[1+i] - '0')
				}
			}
			p = p[1+n:]
		}
	}
	if hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 {
		return m, false
	}
	m.seconds += int64(hour*3600 + minute*60 + second)
	return m.zone(p)
}

// zone reads the distance to UTC.
func (m moment) zone(p []byte) (moment, bool) {
	switch {
	case len(p) == 0:
	case len(p) == 1 && p[0] == 'Z':
		m.isZoned = true
	case (p[0] == '+' || p[0] == '-') && (len(p) == 3 || len(p) == 5 || len(p) == 6 && p[3] == ':'):
		hours, minutes := number(p, 1, 2), 0
		if len(p) > 3 {
			minutes = number(p, len(p)-2, 2)
		}
		if hours < 0 || hours > 23 || minutes < 0 || minutes > 59 {
			return m, false
		}
		away := int64(hours*3600 + minutes*60)
		if p[0] == '-' {
			away = -away
		}
		m.seconds, m.isZoned = m.seconds-away, true
	default:
		return m, false
	}
	return m, true
}

// number reads n digits at a place; -1 if they are none.
func number(p []byte, at, n int) (out int) {
	for _, b := range p[at : at+n] {
		if !isDigit(b) {
			return -1
		}
		out = 10*out + int(b-'0')
	}
	return out
}

// build makes the array of a batch.
func (c *column) build(buf []byte) (*arrow.Type, *arrow.Data) {
	d := &arrow.Data{Rows: int64(len(c.cells))}
	k := c.Kinds
	switch {
	case k == 0:
		return &arrow.Type{Format: "n"}, d
	case k == isText:
		c.texts(d, buf)
		return &arrow.Type{Format: "u"}, d
	case k == isBool:
		d.Values = make([]byte, (len(c.cells)+7)/8)
		c.each(d, buf, func(row int, p []byte) {
			if is, _ := boolOf(p); is {
				d.Values[row>>3] |= 1 << (row & 7)
			}
		})
		return &arrow.Type{Format: "b"}, d
	case k&^isFar == isDate:
		d.Values = make([]byte, 4*len(c.cells))
		c.each(d, buf, func(row int, p []byte) {
			m, _ := parseTime(p)
			binary.LittleEndian.PutUint32(d.Values[4*row:], uint32(int32(m.seconds/86400)-before(m.seconds)))
		})
		return &arrow.Type{Format: "tdD"}, d
	case k&times != 0:
		return c.times(d, buf)
	}
	return c.numbers(d, buf)
}

// before is 1 for seconds that lie in a day before the one they are divided into.
func before(seconds int64) int32 {
	if seconds%86400 < 0 {
		return 1
	}
	return 0
}

// each calls set for the values that are there, and marks the others as missing.
func (c *column) each(d *arrow.Data, buf []byte, set func(row int, p []byte)) {
	for row, one := range c.cells {
		p := value(buf, one)
		if !isMissing(p) {
			set(row, p)
			continue
		}
		if d.Valid == nil {
			d.Valid = make([]byte, (len(c.cells)+7)/8)
			for i := range d.Valid {
				d.Valid[i] = 0xff
			}
		}
		d.Valid[row>>3] &^= 1 << (row & 7)
	}
}

// texts makes texts of values as they are written.
func (c *column) texts(d *arrow.Data, buf []byte) {
	size := 0
	for _, one := range c.cells {
		size += int(one.to - one.from)
	}
	d.Values, d.Ends = make([]byte, 0, size), make([]int64, 1, len(c.cells)+1)
	if c.Holes {
		c.each(d, buf, func(int, []byte) {}) // which marks missing ones
	}
	for _, one := range c.cells {
		d.Values = append(d.Values, buf[one.from:one.to]...)
		d.Ends = append(d.Ends, int64(len(d.Values)))
	}
}

// times makes timestamps of microseconds, or of nanoseconds if a value has them.
func (c *column) times(d *arrow.Data, buf []byte) (*arrow.Type, *arrow.Data) {
	format, unit := "tsu:", int64(1e6)
	if c.Kinds&isNano != 0 {
		format, unit = "tsn:", 1e9
	}
	if c.Kinds&isZoned != 0 {
		format += "UTC"
	}
	d.Values = make([]byte, 8*len(c.cells))
	c.each(d, buf, func(row int, p []byte) {
		m, _ := parseTime(p)
		binary.LittleEndian.PutUint64(d.Values[8*row:], uint64(m.seconds*unit+m.nanos/(1e9/unit)))
	})
	return &arrow.Type{Format: format}, d
}

// numbers makes integers, or floats if one of the numbers is no integer.
func (c *column) numbers(d *arrow.Data, buf []byte) (*arrow.Type, *arrow.Data) {
	d.Values = make([]byte, 8*len(c.cells))
	put := func(row int, v uint64) { binary.LittleEndian.PutUint64(d.Values[8*row:], v) }
	switch {
	case c.Kinds&(isFloat|isUint|isBig) == 0:
		c.each(d, buf, func(row int, p []byte) {
			v, _ := strconv.ParseInt(text(p), 10, 64)
			put(row, uint64(v))
		})
		return &arrow.Type{Format: "l"}, d
	case c.Kinds&(isFloat|isMinus|isBig) == 0:
		c.each(d, buf, func(row int, p []byte) {
			v, _ := strconv.ParseUint(text(p), 10, 64)
			put(row, v)
		})
		return &arrow.Type{Format: "L"}, d
	}
	c.each(d, buf, func(row int, p []byte) {
		v, _ := strconv.ParseFloat(text(p), 64)
		put(row, math.Float64bits(v))
	})
	return &arrow.Type{Format: "g"}, d
}
