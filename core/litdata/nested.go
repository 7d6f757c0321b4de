package litdata

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"deeplake/core/errs"
)

// Tags of nested values. JSON itself begins with a larger byte.
const (
	tagJSON = iota
	tagTexts
	tagIntegers
	tagFloats
	tagBools
	tagDict
	tagRecords
	tagText
	tagInteger
	tagFloat
	tagBool
	tagNone
	lastTag = 0x20
)

// Tags of the fields of records.
const (
	fieldNone = iota + 0x10
	fieldText
	fieldInteger
	fieldFloat
	fieldBool
)

// nestedGrowth bounds the JSON of a value by its bytes: records repeat their keys.
const nestedGrowth = 256

// nested reads a nested value, and appends it as JSON.
type nested struct {
	p    []byte
	out  []byte
	most int
}

// plainJSON returns a nested value as JSON.
func plainJSON(p []byte) ([]byte, error) {
	if len(p) == 0 || p[0] > lastTag {
		return p, nil
	}
	r := &nested{p: p, most: 4096 + nestedGrowth*len(p)}
	if err := r.value(0); err != nil {
		return nil, err
	}
	if len(r.p) > 0 {
		return nil, errs.New(errs.Corrupt, "has %d bytes behind a nested value", len(r.p))
	}
	return r.out, nil
}

// take returns the next n bytes.
func (r *nested) take(n uint64) ([]byte, error) {
	if n > uint64(len(r.p)) {
		return nil, errs.New(errs.Corrupt, "has %d bytes for a part of a nested value, want %d", len(r.p), n)
	}
	out := r.p[:n]
	r.p = r.p[n:]
	return out, nil
}

func (r *nested) size() (uint64, error) {
	p, err := r.take(4)
	if err != nil {
		return 0, err
	}
	return uint64(binary.LittleEndian.Uint32(p)), nil
}

// list appends n values between brackets, each behind a comma but the first.
func (r *nested) list(n uint64, brackets string, each func() error) error {
	r.out = append(r.out, brackets[0])
	for i := range n {
		if i > 0 {
			r.out = append(r.out, ',')
		}
		if err := each(); err != nil {
			return err
		}
		if len(r.out) > r.most {
			return errs.New(errs.Invalid, "has a nested value with more than %d bytes of JSON", r.most)
		}
	}
	r.out = append(r.out, brackets[1])
	return nil
}

// value appends a value at a depth.
func (r *nested) value(depth int) error {
	tag, err := r.take(1)
	if err != nil {
		return err
	}
	switch tag[0] {
	case tagText:
		return r.text()
	case tagInteger:
		return r.integer()
	case tagFloat:
		return r.float()
	case tagBool:
		return r.bool()
	case tagNone:
		r.out = append(r.out, "null"...)
		return nil
	}
	n, err := r.size()
	if err != nil {
		return err
	}
	switch tag[0] {
	case tagJSON:
		p, err := r.take(n)
		if err == nil && !json.Valid(p) {
			err = errs.New(errs.Corrupt, "has %.40q, which is no JSON", p)
		}
		r.out = append(r.out, p...)
		return err
	case tagTexts:
		return r.list(n, "[]", r.text)
	case tagIntegers:
		return r.list(n, "[]", r.integer)
	case tagFloats:
		return r.list(n, "[]", r.float)
	case tagBools:
		return r.list(n, "[]", r.bool)
	case tagRecords:
		return r.records(n)
	case tagDict:
		if depth >= maxDepth {
			return errs.New(errs.Invalid, "has a nested value deeper than %d", maxDepth)
		}
		return r.list(n, "{}", func() error {
			if err := r.text(); err != nil {
				return err
			}
			r.out = append(r.out, ':')
			return r.value(depth + 1)
		})
	}
	return errs.New(errs.Corrupt, "has a nested value with the tag %d", tag[0])
}

// records appends dicts that have the same keys.
func (r *nested) records(n uint64) error {
	width, err := r.size()
	if err != nil {
		return err
	}
	if width == 0 {
		return errs.New(errs.Corrupt, "has %d records without keys", n)
	}
	var keys [][]byte
	start := len(r.out)
	for range width {
		at := len(r.out)
		if err := r.text(); err != nil {
			return err
		}
		keys = append(keys, append(append([]byte(nil), r.out[at:]...), ':'))
	}
	r.out = r.out[:start]
	return r.list(n, "[]", func() error {
		next := 0
		return r.list(width, "{}", func() error {
			r.out = append(r.out, keys[next]...)
			next++
			return r.field()
		})
	})
}

// field appends the value of a record.
func (r *nested) field() error {
	tag, err := r.take(1)
	if err != nil {
		return err
	}
	switch tag[0] {
	case fieldNone:
		r.out = append(r.out, "null"...)
		return nil
	case fieldText:
		return r.text()
	case fieldInteger:
		return r.integer()
	case fieldFloat:
		return r.float()
	case fieldBool:
		return r.bool()
	}
	return errs.New(errs.Corrupt, "has a record with the tag %d", tag[0])
}

func (r *nested) text() error {
	n, err := r.size()
	if err != nil {
		return err
	}
	p, err := r.take(n)
	if err != nil {
		return err
	}
	if !utf8.Valid(p) {
		return errs.New(errs.Invalid, "has a text that is not UTF-8")
	}
	quoted, err := json.Marshal(string(p))
	r.out = append(r.out, quoted...)
	return err
}

func (r *nested) integer() error {
	p, err := r.take(8)
	if err == nil {
		r.out = strconv.AppendInt(r.out, int64(binary.LittleEndian.Uint64(p)), 10)
	}
	return err
}

func (r *nested) float() error {
	p, err := r.take(8)
	if err != nil {
		return err
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(p))
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return errs.New(errs.Unsupported, "has %v in a nested value, which JSON cannot hold; leave the value out by columns=", v)
	}
	at := len(r.out)
	r.out = strconv.AppendFloat(r.out, v, 'g', -1, 64)
	for _, c := range r.out[at:] {
		if c == '.' || c == 'e' {
			return nil
		}
	}
	r.out = append(r.out, ".0"...) // it stays a float
	return nil
}

func (r *nested) bool() error {
	p, err := r.take(1)
	if err == nil {
		r.out = strconv.AppendBool(r.out, p[0] != 0)
	}
	return err
}
