package tfrecord

import (
	"encoding/binary"

	"deeplake/core/errs"
)

// The fields of the messages, and how they are written.
const (
	wireVarint, wire64, wireBytes, wire32 = 0, 1, 2, 5

	maxFieldNumber = 1<<29 - 1
)

// field is a field of a message of protocol buffers.
type field struct {
	number int
	wire   int
	n      uint64 // of a number
	data   []byte // of bytes
}

// message reads the fields of a message.
func message(p []byte, each func(f field) error) error {
	for len(p) > 0 {
		key, n := binary.Uvarint(p)
		if n <= 0 || key>>3 == 0 || key>>3 > maxFieldNumber {
			return errs.New(errs.Corrupt, "is no tf.train.Example: a field has no number")
		}
		p = p[n:]
		f := field{number: int(key >> 3), wire: int(key & 7)}
		switch f.wire {
		case wireVarint:
			f.n, n = binary.Uvarint(p)
		case wire64, wire32:
			n = map[int]int{wire64: 8, wire32: 4}[f.wire]
			if len(p) < n {
				n = 0
				break
			}
			for i := range n {
				f.n |= uint64(p[i]) << (8 * i)
			}
		case wireBytes:
			length, used := binary.Uvarint(p)
			if n = 0; used > 0 && length <= uint64(len(p)-used) {
				n = used + int(length)
				f.data = p[used:n]
			}
		default:
			return errs.New(errs.Corrupt, "is no tf.train.Example: field %d is written in way %d", f.number, f.wire)
		}
		if n <= 0 {
			return errs.New(errs.Corrupt, "is no tf.train.Example: field %d is cut", f.number)
		}
		p = p[n:]
		if err := each(f); err != nil {
			return err
		}
	}
	return nil
}

// kind is the type of a feature's values.
type kind uint8

const (
	isBytes kind = 1 + iota
	isFloat
	isInt
)

// String names a kind in messages.
func (k kind) String() string {
	return [...]string{"no values", "bytes", "floats", "integers"}[k]
}

// feature is the values of one name. It shares memory with its record.
type feature struct {
	kind   kind
	texts  [][]byte
	at     []int64  // positions of the texts in the file; nil: not known
	floats []uint32 // their bits
	ints   []int64
	// of a SequenceExample: the values of each step; then the others are not set
	steps   []feature
	isSteps bool
}

// place notes where the texts lie. They are parts of the record p, which lies at a position of the
// file; -1: it does not.
func (f *feature) place(p []byte, at int64) {
	if at < 0 {
		return
	}
	for _, text := range f.texts {
		f.at = append(f.at, at+int64(cap(p)-cap(text))) // both end with the memory of p
	}
	for i := range f.steps {
		f.steps[i].place(p, at)
	}
}

func (f *feature) len() int {
	switch f.kind {
	case isBytes:
		return len(f.texts)
	case isFloat:
		return len(f.floats)
	case isInt:
		return len(f.ints)
	}
	return 0
}

// isEmpty reports whether a feature has no value. The kind of an empty list says nothing.
func (f *feature) isEmpty() bool { return f.kind == 0 || f.len() == 0 && len(f.steps) == 0 }

// example calls each with the features of a record: an Example, or a SequenceExample.
func example(p []byte, each func(name []byte, f *feature) error) error {
	return message(p, func(f field) error {
		switch {
		case f.wire != wireBytes:
			return nil
		case f.number == 1: // features, or the context
			return message(f.data, func(f field) error {
				if f.number != 1 || f.wire != wireBytes {
					return nil
				}
				return entry(f.data, func(value []byte, into *feature) error { return into.read(value) }, each)
			})
		case f.number == 2:
			return message(f.data, func(f field) error {
				if f.number != 1 || f.wire != wireBytes {
					return nil
				}
				return entry(f.data, readSteps, each)
			})
		}
		return nil
	})
}

// entry reads an entry of a map: a name, and a value.
func entry(p []byte, read func(value []byte, into *feature) error, each func(name []byte, f *feature) error) error {
	var name, value []byte
	err := message(p, func(f field) error {
		switch {
		case f.number == 1 && f.wire == wireBytes:
			name = f.data
		case f.number == 2 && f.wire == wireBytes:
			value = f.data
		}
		return nil
	})
	if err != nil {
		return err
	}
	var f feature
	if err := read(value, &f); err != nil {
		return err
	}
	return each(name, &f)
}

// maxSteps bounds the steps of a record.
const maxSteps = 1 << 22

// readSteps reads the values of each step.
func readSteps(p []byte, into *feature) error {
	into.isSteps = true
	return message(p, func(f field) error {
		if f.number != 1 || f.wire != wireBytes {
			return nil
		}
		if len(into.steps) == maxSteps {
			return errs.New(errs.Invalid, "has more than %d steps", maxSteps)
		}
		var step feature
		err := step.read(f.data)
		into.steps = append(into.steps, step)
		if !step.isEmpty() {
			into.kind = step.kind
		}
		return err
	})
}

// read reads a feature. The last list counts.
func (f *feature) read(p []byte) error {
	return message(p, func(list field) error {
		if list.wire != wireBytes || list.number < int(isBytes) || list.number > int(isInt) {
			return nil
		}
		if f.kind != kind(list.number) {
			*f = feature{kind: kind(list.number)}
		}
		return message(list.data, func(v field) error {
			if v.number != 1 {
				return nil
			}
			return f.value(v)
		})
	})
}

// value adds a value, or several that are packed.
func (f *feature) value(v field) error {
	switch {
	case f.kind == isBytes && v.wire == wireBytes:
		f.texts = append(f.texts, v.data)
	case f.kind == isFloat && v.wire == wire32:
		f.floats = append(f.floats, uint32(v.n))
	case f.kind == isFloat && v.wire == wireBytes:
		if len(v.data)%4 != 0 {
			return errs.New(errs.Corrupt, "is no tf.train.Example: %d bytes are no floats", len(v.data))
		}
		for p := v.data; len(p) > 0; p = p[4:] {
			f.floats = append(f.floats, binary.LittleEndian.Uint32(p))
		}
	case f.kind == isInt && v.wire == wireVarint:
		f.ints = append(f.ints, int64(v.n))
	case f.kind == isInt && v.wire == wireBytes:
		for p := v.data; len(p) > 0; {
			x, n := binary.Uvarint(p)
			if n <= 0 {
				return errs.New(errs.Corrupt, "is no tf.train.Example: an integer is cut")
			}
			f.ints, p = append(f.ints, int64(x)), p[n:]
		}
	default:
		return errs.New(errs.Corrupt, "is no tf.train.Example: %s are written in way %d", f.kind, v.wire)
	}
	return nil
}
