package parquet

import (
	"encoding/binary"

	"deeplake/core/errs"
)

// The types of thrift's compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

// maxThriftDepth bounds structs within structs.
const maxThriftDepth = 32

// thrift reads thrift's compact protocol. The first fault ends it: later reads give zero values.
type thrift struct {
	p     []byte
	at    int
	depth int
	err   error
}

func (t *thrift) fail(format string, args ...any) {
	if t.err == nil {
		t.err = errs.New(errs.Corrupt, format, args...)
	}
	t.at = len(t.p)
}

func (t *thrift) byte() byte {
	if t.at >= len(t.p) {
		t.fail("the metadata is cut")
		return 0
	}
	t.at++
	return t.p[t.at-1]
}

func (t *thrift) unsigned() uint64 {
	v, n := binary.Uvarint(t.p[t.at:])
	if n <= 0 {
		t.fail("the metadata has no number at byte %d", t.at)
		return 0
	}
	t.at += n
	return v
}

// int reads an integer of any width.
func (t *thrift) int() int64 {
	v := t.unsigned()
	return int64(v>>1) ^ -int64(v&1)
}

// bytes reads a text or bytes, which stay where they are.
func (t *thrift) bytes() []byte {
	n := t.unsigned()
	if n > uint64(len(t.p)-t.at) {
		t.fail("the metadata has a text of %d bytes, and %d are left", n, len(t.p)-t.at)
		return nil
	}
	t.at += int(n)
	return t.p[t.at-int(n) : t.at]
}

// fields calls field for each field of a struct, which reads the value or returns false. Fields
// that are not read are skipped.
func (t *thrift) fields(field func(id int64, kind byte) bool) {
	if t.depth++; t.depth > maxThriftDepth {
		t.fail("the metadata has structs more than %d deep", maxThriftDepth)
	}
	id := int64(0)
	for t.err == nil {
		head := t.byte()
		kind := head & 15
		if head == 0 || t.err != nil {
			break
		}
		if delta := int64(head >> 4); delta > 0 {
			id += delta
		} else {
			id = t.int()
		}
		if !field(id, kind) {
			t.skip(kind)
		}
	}
	t.depth--
}

// list calls item for each item of a list, which reads it.
func (t *thrift) list(item func()) {
	n, _ := t.items()
	for range n {
		if t.err != nil {
			return
		}
		item()
	}
}

// items reads the head of a list. Each item has a byte or more, so that n bounds an allocation.
func (t *thrift) items() (n int, kind byte) {
	head := t.byte()
	count := uint64(head >> 4)
	if count == 15 {
		count = t.unsigned()
	}
	if count > uint64(len(t.p)-t.at) {
		t.fail("the metadata has a list of %d items, and %d bytes are left", count, len(t.p)-t.at)
		return 0, 0
	}
	return int(count), head & 15
}

// skip passes over a value.
func (t *thrift) skip(kind byte) {
	switch kind {
	case thriftTrue, thriftFalse:
	case thriftByte:
		t.byte()
	case thriftI16, thriftI32, thriftI64:
		t.unsigned()
	case thriftDouble:
		if t.at+8 > len(t.p) {
			t.fail("the metadata is cut")
			return
		}
		t.at += 8
	case thriftBinary:
		t.bytes()
	case thriftList, thriftSet:
		n, of := t.items()
		t.skipItems(n, of)
	case thriftMap:
		n := t.unsigned()
		if n == 0 {
			return
		}
		if n > uint64(len(t.p)-t.at) {
			t.fail("the metadata has a map of %d items, and %d bytes are left", n, len(t.p)-t.at)
			return
		}
		kinds := t.byte()
		t.skipItems(int(n), kinds>>4, kinds&15)
	case thriftStruct:
		t.fields(func(int64, byte) bool { return false })
	default:
		t.fail("the metadata has a value of type %d", kind)
	}
}

// skipItems passes over n items of a collection, each a value of every type in kinds.
func (t *thrift) skipItems(n int, kinds ...byte) {
	for range n {
		for _, kind := range kinds {
			if t.err != nil {
				return
			}
			if kind == thriftTrue || kind == thriftFalse {
				kind = thriftByte // in collections a bool has a byte
			}
			t.skip(kind)
		}
	}
}
