package session

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// This file writes parameters as the `params` of a saved view; FORMAT.md, section 13, defines them.
// decode.go reads them again.

// document returns the `params` of the query, [] if it has none. The last entry holds the commits
// of the datasets that the query names.
func (c *checked) document() (json.RawMessage, error) {
	parts := []string{}
	for i, p := range c.params {
		part, err := p.document()
		if err != nil {
			return nil, errs.New(errs.KindOf(err), "parameter %d: %w", i+1, err)
		}
		if slices.Contains(c.batched, i) {
			part = `{"each":` + part + `}`
		}
		if c.names != nil {
			part = `{"name":` + quote(c.names[i]) + `,"value":` + part + `}`
		}
		parts = append(parts, part)
	}
	if used := c.share.sources.used; len(used) > 0 {
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(used)) {
			pairs = append(pairs, quote(name)+":"+quote(used[name]))
		}
		parts = append(parts, `{"commits":{`+strings.Join(pairs, ",")+`}}`)
	}
	return json.RawMessage("[" + strings.Join(parts, ",") + "]"), nil
}

// document returns one parameter. Plain values become JSON values. Other values become objects. The
// first member of an object names the kind.
func (p Param) document() (string, error) {
	a := p.given.Array
	switch {
	case p.given.Counts != "" && !isInt(a):
		return "", errs.New(errs.Type, "a saved view keeps no arrays that count %q", p.given.Counts)
	case a == nil:
		return sampleDocument(&p.given.Samples[0])
	case p.given.Counts != "":
		return unitDocument(p.given.Counts, int64(binary.NativeEndian.Uint64(a.Data)))
	}
	if len(a.Shape) == 0 {
		switch a.DType {
		case tensor.Bool:
			return strconv.FormatBool(a.Data[0] != 0), nil
		case tensor.Int64:
			return strconv.FormatInt(int64(binary.NativeEndian.Uint64(a.Data)), 10), nil
		case tensor.Float64:
			return floatDocument(math.Float64frombits(binary.NativeEndian.Uint64(a.Data))), nil
		}
	}
	return arrayDocument(a.DType, a.Shape, a.Data)
}

func sampleDocument(s *tensor.Sample) (string, error) {
	switch {
	case s.Form == tensor.FormHole:
		return "null", nil
	case s.DType == tensor.String:
		return quote(string(s.Data)), nil
	case s.DType == tensor.JSON:
		return `{"json":` + string(s.Data) + `}`, nil
	case s.DType == tensor.Bytes:
		return `{"bytes":"` + base64.StdEncoding.EncodeToString(s.Data) + `"}`, nil
	}
	return arrayDocument(s.DType, s.Shape, s.Data)
}

// unitDocument writes a date, a time or a duration.
func unitDocument(unit string, n int64) (string, error) {
	switch {
	case unit == "date":
		at := time.Unix(0, 0).UTC().AddDate(0, 0, int(max(-1e6, min(n, 1e7))))
		return `{"date":"` + at.Format("2006-01-02") + `"}`, checkYear(at)
	case unit == "interval":
		return fmt.Sprintf(`{"interval":%d}`, n), nil
	case strings.HasPrefix(unit, "timestamp"):
		zone := strings.TrimPrefix(unit, "timestamp")
		offset, err := parseZone(zone)
		if err != nil {
			return "", err
		}
		at := time.UnixMicro(n).UTC().Add(offset)
		layout := "2006-01-02T15:04:05"
		if at.Nanosecond() != 0 {
			layout += ".000000"
		}
		return `{"timestamp":"` + at.Format(layout) + zone + `"}`, checkYear(at)
	}
	return fmt.Sprintf(`{"time":%d,"dtype":%q}`, n, unit), nil
}

func checkYear(at time.Time) error {
	if y := at.Year(); y < 1 || y > 9999 {
		return errs.New(errs.Invalid, "it lies in the year %d, and a saved view keeps the years 1 to 9999", y)
	}
	return nil
}

// arrayTypes are the dtypes by their names in NumPy: byte order, kind and size of an element.
var arrayTypes = map[string]tensor.DType{
	"|b1": tensor.Bool, "|i1": tensor.Int8, "|u1": tensor.Uint8,
	"<i2": tensor.Int16, "<i4": tensor.Int32, "<i8": tensor.Int64,
	"<u2": tensor.Uint16, "<u4": tensor.Uint32, "<u8": tensor.Uint64,
	"<f2": tensor.Float16, "<f4": tensor.Float32, "<f8": tensor.Float64,
}

// arrayDocument writes an array, little-endian and in C order.
func arrayDocument(d tensor.DType, shape tensor.Shape, data []byte) (string, error) {
	for name, of := range arrayTypes {
		if of == d {
			if nativeOrder != '<' {
				data = swapped(data, d.Size())
			}
			return fmt.Sprintf(`{"array":"%s","dtype":%q,"shape":[%s]}`, base64.StdEncoding.EncodeToString(data), name, axes(shape)), nil
		}
	}
	return "", errs.New(errs.Type, "a saved view keeps no values of dtype %s", d)
}

func axes(shape tensor.Shape) string {
	text := make([]string, len(shape))
	for i, n := range shape {
		text[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(text, ",")
}

// nativeOrder is the letter of this machine's byte order.
var nativeOrder = func() byte {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return '<'
	}
	return '>'
}()

// swapped returns a copy of data with the bytes of each element in reverse.
func swapped(data []byte, size int) []byte {
	out := slices.Clone(data)
	for i := 0; i+size <= len(out); i += size {
		slices.Reverse(out[i : i+size])
	}
	return out
}

// floatDocument writes a float with the fewest digits that give it back. A whole one keeps its
// ".0", so that it stays a float; exponents begin at 1e16 and 1e-5, as Python writes them.
func floatDocument(v float64) string {
	switch {
	case math.IsNaN(v):
		return `{"number":"nan"}`
	case math.IsInf(v, 0):
		return `{"number":"` + strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, 64), "+")) + `"}`
	}
	if size := math.Abs(v); size != 0 && (size < 1e-4 || size >= 1e16) {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// quote writes a text in JSON. It escapes quotes, backslashes and control characters alone.
func quote(text string) string {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch escape, ok := short[r]; {
		case ok:
			b.WriteString(escape)
		case r < ' ':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
