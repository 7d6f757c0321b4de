package mds

import (
	"io"

	"deeplake/core/arrow/gather"
)

// Reader reads the samples of a shard. One goroutine at a time may use it.
type Reader struct {
	*gather.Reader
	shard *shard
}

// NewReader reads the header of a shard. Positions are those in the file that was decompressed.
func NewReader(from io.Reader, o gather.Options) (*Reader, error) {
	s, err := openShard(from)
	if err != nil {
		return nil, err
	}
	return &Reader{gather.NewReader(samples{s}, o), s}, nil
}

// Rows is the number of samples.
func (r *Reader) Rows() int64 { return int64(len(r.shard.offsets)) - 1 }

// samples is a shard as a source of rows.
type samples struct{ *shard }

// Columns are the names of the columns.
func (s samples) Columns() []string { return s.config.Names }

// NewColumn makes the collector of a column.
func (s samples) NewColumn(i int) (gather.Column, error) { return newColumn(s.config.Encodings[i]) }

// Position is the number of the next sample.
func (s samples) Position() int64 { return s.n }

// Skip passes over the next sample.
func (s samples) Skip(int64) (ok bool, err error) { return s.skip() }

// Next returns the values of the next sample.
func (s samples) Next() (row gather.Row, ok bool, err error) {
	row.Values, ok, err = s.next()
	for _, p := range row.Values {
		row.Bytes += int64(len(p))
	}
	if ok {
		row.At = int64(s.offsets[s.n]) - row.Bytes // the sizes of values precede them
	}
	return row, ok, err
}

// Words are those of messages.
func (s samples) Words() (row, column string) { return "sample", "column" }
