package litdata

import (
	"io"

	"deeplake/core/arrow/gather"
)

// Reader reads the items of a chunk. One goroutine at a time may use it.
type Reader struct {
	*gather.Reader
	chunk *chunk
}

// NewReader reads what precedes the items of a chunk of the index, which may be compressed.
func NewReader(from io.Reader, index *Index, o gather.Options) (*Reader, error) {
	c, err := openChunk(from, index)
	if err != nil {
		c.close()
		return nil, err
	}
	return &Reader{gather.NewReader(items{c}, o), c}, nil
}

// Close ends the use of the reader.
func (r *Reader) Close() { r.chunk.close() }

// Columns are the names of the values of an item.
func (x *Index) Columns() (names []string) {
	for _, leaf := range x.Leaves {
		names = append(names, leaf.Name)
	}
	return names
}

// Rows is the number of items.
func (r *Reader) Rows() int64 { return int64(len(r.chunk.offsets)) - 1 }

// items is a chunk as a source of rows.
type items struct{ *chunk }

// Columns are the names of the values.
func (s items) Columns() []string { return s.index.Columns() }

// NewColumn makes the collector of a value.
func (s items) NewColumn(i int) (gather.Column, error) { return newColumn(s.index.Leaves[i].Encoding) }

// Position is the number of the next item.
func (s items) Position() int64 { return s.n }

// Skip passes over items, at most those before the item from.
func (s items) Skip(from int64) (ok bool, err error) { return s.skip(from) }

// Next returns the values of the next item.
func (s items) Next() (row gather.Row, ok bool, err error) {
	p, ok, err := s.next()
	if err != nil || !ok {
		return row, ok, err
	}
	row.Bytes, row.At = int64(len(p)), -1
	if s.unpacker == nil { // nothing is compressed; the sizes of values precede them
		row.At = int64(s.offsets[s.n-1]) + 4*int64(len(s.index.Leaves))
	}
	row.Values, err = s.index.divide(p)
	return row, true, err
}

// Words are those of messages.
func (s items) Words() (row, column string) { return "item", "the value" }
