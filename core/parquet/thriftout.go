package parquet

import "encoding/binary"

// thriftOut writes thrift's compact protocol.
type thriftOut struct {
	p    []byte
	last []int64 // number of the last field of each open struct
}

// open begins a struct that is no field: the outermost one, or an item of a list.
func (t *thriftOut) open() { t.last = append(t.last, 0) }

// end ends the innermost struct.
func (t *thriftOut) end() {
	t.p = append(t.p, 0)
	t.last = t.last[:len(t.last)-1]
}

// field begins a field. Those of a struct come in order, less than 16 apart.
func (t *thriftOut) field(id int64, kind byte) {
	last := &t.last[len(t.last)-1]
	t.p = append(t.p, byte(id-*last)<<4|kind)
	*last = id
}

func (t *thriftOut) int(id int64, kind byte, v int64) {
	t.field(id, kind)
	t.p = binary.AppendVarint(t.p, v)
}

func (t *thriftOut) i32(id, v int64) { t.int(id, thriftI32, v) }
func (t *thriftOut) i64(id, v int64) { t.int(id, thriftI64, v) }

func (t *thriftOut) bool(id int64, v bool) {
	kind := byte(thriftFalse)
	if v {
		kind = thriftTrue
	}
	t.field(id, kind)
}

func (t *thriftOut) text(id int64, s string) {
	t.field(id, thriftBinary)
	t.item(s)
}

// item writes a text in a list.
func (t *thriftOut) item(s string) {
	t.p = binary.AppendUvarint(t.p, uint64(len(s)))
	t.p = append(t.p, s...)
}

// list begins a list of n items, which the caller writes.
func (t *thriftOut) list(id int64, kind byte, n int) {
	t.field(id, thriftList)
	if n < 15 {
		t.p = append(t.p, byte(n)<<4|kind)
		return
	}
	t.p = binary.AppendUvarint(append(t.p, 0xf0|kind), uint64(n))
}

// sub begins a struct that is a field.
func (t *thriftOut) sub(id int64) {
	t.field(id, thriftStruct)
	t.open()
}

// empty writes a field that is a struct without fields.
func (t *thriftOut) empty(id int64) {
	t.sub(id)
	t.end()
}
