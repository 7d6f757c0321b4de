package parquet

import (
	"bufio"
	"encoding/binary"
	"io"
	"maps"
	"slices"
	"sort"

	"github.com/klauspost/compress/zstd"

	"deeplake/core/arrow"
	"deeplake/core/errs"
)

const (
	groupBytes = 64 << 20
	groupRows  = 1 << 20
)

// WriterOptions are choices of a Writer.
type WriterOptions struct {
	Metadata map[string]string // of the file, written in order of keys
	// GroupBytes bounds the memory of a row group, levels included, unless a row has more; 0: 64
	// MiB. A row group has at most 1<<20 rows too.
	GroupBytes int64
	// Plain are columns whose pages are never compressed, so that others can link to their values.
	Plain []string
}

// Writer writes a Parquet file. One goroutine at a time may use it. The first failure ends it.
type Writer struct {
	w        *bufio.Writer
	o        WriterOptions
	root     *outNode
	elements []element
	leaves   []*outLeaf
	zstd     *zstd.Encoder
	off      int64 // bytes that were written
	rows     int64
	held     int64 // rows of the present row group
	groups   int   // row groups that were written
	meta     thriftOut
	err      error
	closed   bool

	pageBytes, pageEntries int
	groupRows              int64

	// Memory that pages share.
	raw, packed, packedDict []byte
	scratch, numbers        []int32
}

// NewWriter begins a file of rows of type t, a struct of the columns. All columns may have nulls.
func NewWriter(w io.Writer, t *arrow.Type, o WriterOptions) (*Writer, error) {
	p := &planner{}
	root, err := p.plan(t)
	if err != nil {
		return nil, err
	}
	for _, l := range p.leaves {
		l.asIs = slices.Contains(o.Plain, l.path[0])
	}
	o.Metadata = maps.Clone(o.Metadata)
	if o.GroupBytes <= 0 {
		o.GroupBytes = groupBytes
	}
	out := &Writer{
		w: bufio.NewWriterSize(w, 64<<10), o: o, root: root, elements: p.elements, leaves: p.leaves,
		pageBytes: pageBytes, pageEntries: pageEntries, groupRows: groupRows,
	}
	out.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false), zstd.WithWindowSize(pageBytes))
	if err != nil {
		return nil, errs.New(errs.Internal, "zstd: %w", err)
	}
	return out, out.put([]byte(magic))
}

// put writes bytes of the file.
func (w *Writer) put(p []byte) error {
	n, err := w.w.Write(p)
	w.off += int64(n)
	return errs.Wrap(errs.Storage, "write Parquet file", "", err)
}

// Write appends a batch: a struct of the columns. It keeps none of its memory.
func (w *Writer) Write(d *arrow.Data) error {
	if w.err == nil && w.closed {
		return errs.New(errs.Closed, "the Parquet file is closed already")
	}
	if w.err == nil {
		w.err = w.write(d)
	}
	return w.err
}

func (w *Writer) write(d *arrow.Data) error {
	if err := w.root.check(d, 0); err != nil {
		return err
	}
	all := entries{spans: []span{{0, d.Rows}}}
	if d.Valid != nil && !all.allValid(d.Valid) {
		return errs.New(errs.Invalid, "a row of the batch is null, want rows whose columns may be null")
	}
	for from := int64(0); from < d.Rows; {
		rows := w.fits(d, from)
		if rows == 0 && w.held > 0 {
			if err := w.flush(); err != nil {
				return err
			}
			continue
		}
		rows = max(1, rows)
		for i, c := range w.root.children {
			if err := c.shred(d.Children[i], entries{n: int(rows), spans: []span{{from, from + rows}}}); err != nil {
				return err
			}
		}
		from += rows
		w.held += rows
	}
	return nil
}

// fits returns how many rows from a row on have a place in the present row group.
func (w *Writer) fits(d *arrow.Data, from int64) int64 {
	left := w.o.GroupBytes
	for _, l := range w.leaves {
		left -= l.size()
	}
	rows := min(d.Rows-from, w.groupRows-w.held)
	if w.cost(d, from, from+rows) <= left {
		return rows
	}
	return int64(sort.Search(int(rows), func(n int) bool { return w.cost(d, from, from+int64(n)+1) > left }))
}

func (w *Writer) cost(d *arrow.Data, from, to int64) int64 { return w.root.cost(d, from, to) }

// flush writes the present row group.
func (w *Writer) flush() error {
	chunks := make([]chunkOut, len(w.leaves))
	for i, l := range w.leaves {
		var err error
		if chunks[i], err = w.chunk(l); err != nil {
			return err
		}
		l.reset()
	}
	w.meta.group(w.leaves, chunks, w.held, w.groups)
	w.groups++
	w.rows += w.held
	w.held = 0
	return nil
}

// Close writes the remaining rows, and the metadata. Without it there is no file. It repeats the
// first error of the writer.
func (w *Writer) Close() error {
	if w.err == nil && !w.closed {
		w.err = w.end()
	}
	w.closed = true
	return w.err
}

func (w *Writer) end() error {
	if w.held > 0 {
		if err := w.flush(); err != nil {
			return err
		}
	}
	p := w.footer()
	if len(p) > maxFooter {
		return errs.New(errs.Unsupported, "the metadata has %d bytes, want at most %d; write larger row groups", len(p), maxFooter)
	}
	p = binary.LittleEndian.AppendUint32(p, uint32(len(p)))
	if err := w.put(append(p, magic...)); err != nil {
		return err
	}
	return errs.Wrap(errs.Storage, "write Parquet file", "", w.w.Flush())
}
