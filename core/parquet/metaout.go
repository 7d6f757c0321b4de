package parquet

import (
	"maps"
	"slices"
)

// chunkOut describes a column of a row group that was written.
type chunkOut struct {
	codec      int64
	encodings  []int64
	values     int64 // entries
	size, wide int64 // as those of chunkMeta
	data       int64
	dictionary int64 // 0: none
	nulls      int64
	least      []byte // nil: no bounds
	greatest   []byte
}

// from is where the pages of the chunk begin.
func (c *chunkOut) from() int64 {
	if c.dictionary > 0 {
		return c.dictionary
	}
	return c.data
}

// element writes a line of the schema.
func (t *thriftOut) element(e *element, root bool) {
	t.open()
	if e.isLeaf {
		t.i32(1, int64(e.kind))
	}
	if e.length > 0 {
		t.i32(2, e.length)
	}
	if !root {
		t.i32(3, e.repetition)
	}
	t.text(4, e.name)
	if !e.isLeaf {
		t.i32(5, e.children)
	}
	if e.converted >= 0 {
		t.i32(6, e.converted)
	}
	if e.logical.id != 0 {
		t.logical(&e.logical)
	}
	t.end()
}

func (t *thriftOut) logical(l *logical) {
	t.sub(10)
	t.sub(l.id)
	switch l.id {
	case isTimestamp:
		t.bool(1, l.utc)
		t.sub(2)
		t.empty(l.unit)
		t.end()
	case isInteger:
		t.field(1, thriftByte)
		t.p = append(t.p, byte(l.bits))
		t.bool(2, l.signed)
	}
	t.end()
	t.end()
}

// group writes the metadata of a row group.
func (t *thriftOut) group(leaves []*outLeaf, chunks []chunkOut, rows int64, number int) {
	wide, size := int64(0), int64(0)
	t.open()
	t.list(1, thriftStruct, len(chunks))
	for i := range chunks {
		c := &chunks[i]
		wide, size = wide+c.wide, size+c.size
		t.open()
		t.i64(2, 0) // no copy of this metadata lies behind the pages
		t.chunk(leaves[i], c)
		t.end()
	}
	t.i64(2, wide)
	t.i64(3, rows)
	t.i64(5, chunks[0].from())
	t.i64(6, size)
	if number <= 1<<15-1 {
		t.int(7, thriftI16, int64(number))
	}
	t.end()
}

func (t *thriftOut) chunk(l *outLeaf, c *chunkOut) {
	t.sub(3)
	t.i32(1, int64(l.kind))
	t.list(2, thriftI32, len(c.encodings))
	for _, e := range c.encodings {
		t.p = append(t.p, byte(e)<<1)
	}
	t.list(3, thriftBinary, len(l.path))
	for _, name := range l.path {
		t.item(name)
	}
	t.i32(4, c.codec)
	t.i64(5, c.values)
	t.i64(6, c.wide)
	t.i64(7, c.size)
	t.i64(9, c.data)
	if c.dictionary > 0 {
		t.i64(11, c.dictionary)
	}
	t.sub(12)
	t.i64(3, c.nulls)
	if c.least != nil {
		t.text(5, string(c.greatest))
		t.text(6, string(c.least))
		t.bool(7, true)
		t.bool(8, true)
	}
	t.end()
	t.end()
}

// pageHead returns the header of a page of version 1, or of a dictionary.
func pageHead(kind, wide, size, values, encoding int64) []byte {
	t := &thriftOut{}
	t.open()
	t.i32(1, kind)
	t.i32(2, wide)
	t.i32(3, size)
	if kind == dictionaryPage {
		t.sub(7)
	} else {
		t.sub(5)
	}
	t.i32(1, values)
	t.i32(2, encoding)
	if kind == dataPage {
		t.i32(3, codingRLE)
		t.i32(4, codingRLE)
	}
	t.end()
	t.end()
	return t.p
}

// footer returns the metadata of the file.
func (w *Writer) footer() []byte {
	t := &thriftOut{}
	t.open()
	t.i32(1, 2)
	t.list(2, thriftStruct, len(w.elements))
	for i := range w.elements {
		t.element(&w.elements[i], i == 0)
	}
	t.i64(3, w.rows)
	t.list(4, thriftStruct, w.groups)
	t.p = append(t.p, w.meta.p...)
	if len(w.o.Metadata) > 0 {
		t.list(5, thriftStruct, len(w.o.Metadata))
		for _, key := range slices.Sorted(maps.Keys(w.o.Metadata)) {
			t.open()
			t.text(1, key)
			t.text(2, w.o.Metadata[key])
			t.end()
		}
	}
	t.text(6, "deeplake")
	// Readers take the bounds of columns into account only where their order is stated.
	t.list(7, thriftStruct, len(w.leaves))
	for range w.leaves {
		t.open()
		t.empty(1)
		t.end()
	}
	t.end()
	return t.p
}
