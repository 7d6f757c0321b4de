package v3

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Bounds of numbers in files.
const (
	maxColumns = tensor.MaxDims + 1 // of a table of shapes
	maxItems   = 1 << 26            // samples of a chunk
	maxRows    = 1 << 40            // samples of a tensor
)

// wire takes fields off the front of a file. The first fault ends it.
type wire struct {
	p   []byte
	err error
}

func (w *wire) fail(format string, args ...any) {
	if w.err == nil {
		w.err = errs.New(errs.Corrupt, format, args...)
	}
}

// take returns the next n bytes, nil after a fault.
func (w *wire) take(n int64, what string) []byte {
	if w.err == nil && (n < 0 || n > int64(len(w.p))) {
		w.fail("it is cut within its %s: %d bytes are left, want %d", what, len(w.p), n)
	}
	if w.err != nil {
		return nil
	}
	out := w.p[:n:n]
	w.p = w.p[n:]
	return out
}

func (w *wire) u8(what string) int64 {
	if b := w.take(1, what); b != nil {
		return int64(b[0])
	}
	return 0
}

func (w *wire) i32(what string) int64 {
	if b := w.take(4, what); b != nil {
		return int64(int32(binary.LittleEndian.Uint32(b)))
	}
	return 0
}

// version takes the version of the writer, as numbers.
func (w *wire) version() (text string) {
	text = string(w.take(w.u8("version"), "version"))
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' {
			w.fail("its version is no text")
			return ""
		}
	}
	return text
}

// olderThan compares dotted versions number by number. Text that is no number counts as 0.
func olderThan(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		var m, n int
		if i < len(x) {
			m, _ = strconv.Atoi(x[i])
		}
		if i < len(y) {
			n, _ = strconv.Atoi(y[i])
		}
		if m != n {
			return m < n
		}
	}
	return false
}

// header is the tables in front of the samples of a chunk.
type header struct {
	shapes    []shapeRun
	places    []placeRun
	bytes     int64 // of the header: the samples begin here
	hasShapes bool  // the table of shapes has rows
}

// shapeRun is the shape of items up to last.
type shapeRun struct {
	shape tensor.Shape
	last  int64
}

// placeRun says where items up to last lie: each size bytes, the first at start.
type placeRun struct{ size, start, last int64 }

// headerBytes returns the size of the header that data begins with. It returns 0 if data is too
// short to say so.
func headerBytes(data []byte) (int64, error) {
	w := wire{p: data}
	if len(data) < 1 || int64(len(data)) < 9+int64(data[0]) {
		return 0, nil
	}
	w.version()
	s, k := w.i32("table of shapes"), w.i32("table of shapes")
	if err := checkTable(&w, s, k); err != nil {
		return 0, err
	}
	shapes := 4 * s * k
	if int64(len(w.p)) < shapes+4 {
		return 0, nil
	}
	w.take(shapes, "table of shapes")
	b := w.i32("table of places")
	if b < 0 || b > maxItems {
		return 0, errs.New(errs.Corrupt, "its table of places has %d rows", b)
	}
	return 13 + int64(data[0]) + shapes + 12*b, w.err
}

// checkTable bounds the table of shapes: its product is computed in 64 bits.
func checkTable(w *wire, rows, columns int64) error {
	if w.err == nil && (rows < 0 || rows > maxItems || columns < 0 || columns > maxColumns || rows > 0 && columns < 1) {
		w.fail("its table of shapes has %d rows of %d columns", rows, columns)
	}
	return w.err
}

// decodeHeader decodes the header of a chunk. data may go on behind it.
func decodeHeader(data []byte) (*header, error) {
	w := wire{p: data}
	w.version()
	s, k := w.i32("table of shapes"), w.i32("table of shapes")
	if err := checkTable(&w, s, k); err != nil {
		return nil, err
	}
	h := &header{hasShapes: s > 0}
	table := w.take(4*s*k, "table of shapes")
	b := w.i32("table of places")
	if w.err == nil && (b < 0 || b > maxItems) {
		w.fail("its table of places has %d rows", b)
	}
	places := w.take(12*b, "table of places")
	if w.err != nil {
		return nil, w.err
	}
	h.bytes = int64(len(data) - len(w.p))
	axes := make(tensor.Shape, 0, max(0, s*(k-1)))
	last := int64(-1)
	h.shapes = make([]shapeRun, s)
	for i := range h.shapes {
		row, from := table[4*k*int64(i):], len(axes)
		for j := range k - 1 {
			axes = append(axes, int64(binary.LittleEndian.Uint32(row[4*j:])))
		}
		end := int64(binary.LittleEndian.Uint32(row[4*(k-1):]))
		if end <= last || end >= maxItems {
			return nil, errs.New(errs.Corrupt, "row %d of its table of shapes ends at item %d, the one before at %d", i, end, last)
		}
		h.shapes[i], last = shapeRun{axes[from:len(axes):len(axes)], end}, end
	}
	last = -1
	h.places = make([]placeRun, b)
	for i := range h.places {
		row := places[12*i:]
		r := placeRun{int64(binary.LittleEndian.Uint32(row)), int64(binary.LittleEndian.Uint32(row[4:])), int64(binary.LittleEndian.Uint32(row[8:]))}
		if r.last <= last || r.last >= maxItems {
			return nil, errs.New(errs.Corrupt, "row %d of its table of places ends at item %d, the one before at %d", i, r.last, last)
		}
		h.places[i], last = r, r.last
	}
	return h, nil
}

// items is the number of samples that the header knows.
func (h *header) items() int64 {
	if n := len(h.shapes); n > 0 {
		return h.shapes[n-1].last + 1
	}
	if n := len(h.places); n > 0 {
		return h.places[n-1].last + 1
	}
	return 0
}

// chunkRow is a row of the index of chunks: the chunk of items up to last.
type chunkRow struct {
	id   uint64
	last int64
}

// name is the name of the object of a chunk.
func (r chunkRow) name() string { return strconv.FormatUint(r.id, 16) }

// decodeChunkIndex decodes chunks_index/unsharded. An empty file has no rows. first-rows that hold
// no item are left out.
func decodeChunkIndex(data []byte) ([]chunkRow, error) {
	if len(data) == 0 {
		return nil, nil
	}
	w := wire{p: data}
	size := int64(4)
	if !olderThan(w.version(), "2.7.6") {
		size = w.u8("size of a number")
	}
	if w.err == nil && size != 4 && size != 8 {
		w.fail("its numbers have %d bytes, want 4 or 8", size)
	}
	if w.err == nil && int64(len(w.p))%(2*size) != 0 {
		w.fail("%d bytes are no rows of two numbers of %d bytes", len(w.p), size)
	}
	if w.err != nil {
		return nil, w.err
	}
	rows := make([]chunkRow, 0, int64(len(w.p))/(2*size))
	last := int64(-1)
	for p := w.p; len(p) > 0; p = p[2*size:] {
		var id, end uint64
		if size == 4 {
			id, end = uint64(binary.LittleEndian.Uint32(p)), uint64(binary.LittleEndian.Uint32(p[4:]))
		} else {
			id, end = binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:])
		}
		if end == 1<<(8*size)-1 && len(rows) == 0 { // a chunk that has no item yet
			continue
		}
		if end >= maxRows || int64(end) < last {
			return nil, errs.New(errs.Corrupt, "row %d ends at item %d, the one before at %d", len(rows), end, last)
		}
		rows = append(rows, chunkRow{id, int64(end)})
		last = int64(end)
	}
	return rows, nil
}

// tiling says how a large sample lies in tiles.
type tiling struct{ sample, tile tensor.Shape }

// decodeTiles decodes tiles_index/unsharded: the samples in tiles, by item.
func decodeTiles(data []byte) (map[int64]tiling, error) {
	if len(data) == 0 {
		return nil, nil
	}
	w := wire{p: data}
	w.version()
	out, err := tileTable(&w, binary.LittleEndian)
	if err == nil {
		return out, nil
	}
	// Writers before 2.2.1 gave no version, and big-endian numbers.
	old := wire{p: data}
	if out, failed := tileTable(&old, binary.BigEndian); failed == nil {
		return out, nil
	}
	return nil, err
}

func tileTable(w *wire, order binary.ByteOrder) (map[int64]tiling, error) {
	number := func(what string) int64 {
		if b := w.take(8, what); b != nil {
			if n := order.Uint64(b); n < maxRows {
				return int64(n)
			}
			w.fail("its %s is beyond %d", what, int64(maxRows))
		}
		return 0
	}
	n := number("number of samples")
	if n == 0 && w.err == nil {
		if len(w.p) > 0 {
			w.fail("%d bytes follow no samples", len(w.p))
		}
		return nil, w.err
	}
	d := number("number of axes")
	if w.err == nil && (d < 1 || d > tensor.MaxDims || n > int64(len(w.p))/(8+16*d) || int64(len(w.p)) != n*(8+16*d)) {
		w.fail("%d bytes are not %d samples of %d axes in tiles", len(w.p), n, d)
	}
	if w.err != nil {
		return nil, w.err
	}
	out := make(map[int64]tiling, n)
	for range n {
		item := number("number of a sample")
		axes := make(tensor.Shape, 2*d)
		for i := range axes {
			axes[i] = number("shape of a sample")
		}
		t := tiling{axes[:d:d], axes[d:]}
		for i := range d {
			if w.err == nil && (t.tile[i] < 1 || t.sample[i] < 1) {
				w.fail("sample %d of shape %s has tiles of shape %s", item, t.sample, t.tile)
			}
		}
		if w.err != nil {
			return nil, w.err
		}
		out[item] = t
	}
	return out, nil
}

// count is the number of tiles; 0: they are too many.
func (t tiling) count() int64 {
	n := int64(1)
	for i := range t.sample {
		k := (t.sample[i] + t.tile[i] - 1) / t.tile[i]
		if k > maxItems/n {
			return 0
		}
		n *= k
	}
	return n
}

// decodeGrid decodes a sample that is a grid of links: its shape, and the links in C order.
func decodeGrid(data []byte) (tensor.Shape, [][]byte, error) {
	w := wire{p: data}
	w.version()
	axes := w.u8("number of axes")
	if w.err == nil && (axes < 1 || axes > tensor.MaxDims) {
		w.fail("a grid of links has %d axes, want 1 to %d", axes, tensor.MaxDims)
	}
	table := w.take(4*axes, "shape of a grid")
	n := int64(1)
	shape := make(tensor.Shape, 0, axes)
	for ; len(table) > 0 && w.err == nil; table = table[4:] {
		size := int64(binary.LittleEndian.Uint32(table))
		if shape = append(shape, size); size < 1 || size > int64(len(w.p))/n {
			w.fail("%d bytes are no grid of shape %s of links", len(w.p), shape)
			break
		}
		n *= size
	}
	links := make([][]byte, 0, n)
	for range n {
		if w.err != nil {
			break
		}
		end := bytes.IndexByte(w.p, 0)
		if end < 0 {
			w.fail("link %d of %d of a grid has no end", len(links), n)
			break
		}
		links = append(links, w.take(int64(end)+1, "link")[:end])
	}
	if w.err == nil && len(w.p) > 0 {
		w.fail("%d bytes follow a grid of %d links", len(w.p), n)
	}
	if w.err != nil {
		return nil, nil, w.err
	}
	return shape, links, nil
}

// sequenceRun is sequences up to last, of items each; the first begins at item first.
type sequenceRun struct{ items, first, last int64 }

// decodeSequences decodes sequence_index/unsharded.
func decodeSequences(data []byte) ([]sequenceRun, error) {
	rows, err := rowsOf(data, 3)
	if err != nil || rows == nil {
		return nil, err
	}
	out := make([]sequenceRun, len(rows)/3)
	last := int64(-1)
	for i := range out {
		r := sequenceRun{rows[3*i], rows[3*i+1], rows[3*i+2]}
		if r.last <= last {
			return nil, errs.New(errs.Corrupt, "row %d ends at sequence %d, the one before at %d", i, r.last, last)
		}
		out[i], last = r, r.last
	}
	return out, nil
}

// rowsOf decodes a version and rows of 32-bit numbers.
func rowsOf(data []byte, columns int) ([]int64, error) {
	if len(data) == 0 {
		return nil, nil
	}
	w := wire{p: data}
	w.version()
	if w.err == nil && len(w.p)%(4*columns) != 0 {
		w.fail("%d bytes are no rows of %d numbers", len(w.p), columns)
	}
	if w.err != nil {
		return nil, w.err
	}
	out := make([]int64, len(w.p)/4)
	for i := range out {
		out[i] = int64(binary.LittleEndian.Uint32(w.p[4*i:]))
	}
	return out, nil
}

// owner says where a chunk of a commit lies, if not under the commit itself.
type owner struct{ commit, key string }

// decodeChunkSet decodes a chunk_set: the chunks that a commit owns or borrows.
func decodeChunkSet(data []byte) (map[string]owner, error) {
	out := map[string]owner{}
	if len(data) == 0 {
		return out, nil
	}
	for entry := range strings.SplitSeq(string(data), ",") {
		parts := strings.SplitN(entry, ":", 3)
		if parts[0] == "" || strings.Trim(parts[0], "0123456789abcdef") != "" {
			return nil, errs.New(errs.Corrupt, "%q is not the name of a chunk", clip(parts[0]))
		}
		o := owner{}
		if len(parts) > 1 {
			o.commit = parts[1]
		}
		if len(parts) > 2 {
			o.key = parts[2]
		}
		out[parts[0]] = o
	}
	return out, nil
}

// changes are the changes of a tensor in a commit.
type changes struct {
	created, info, transformed, cleared bool
	from, to                            int64 // rows that were added
	updated                             []int64
	deleted                             int64 // how many rows
}

// none reports whether nothing was changed.
func (c *changes) none() bool {
	return !c.created && !c.info && !c.transformed && !c.cleared && c.from == c.to && len(c.updated) == 0 && c.deleted == 0
}

// decodeChanges decodes a commit_diff, which is big-endian. An absent file changes nothing.
func decodeChanges(data []byte) (*changes, error) {
	c := &changes{}
	if len(data) == 0 {
		return c, nil
	}
	w := wire{p: data}
	number := func(what string) int64 {
		if b := w.take(8, what); b != nil {
			if n := binary.BigEndian.Uint64(b); n < maxRows {
				return int64(n)
			}
			w.fail("its %s is beyond %d", what, int64(maxRows))
		}
		return 0
	}
	c.created, c.info, c.transformed = w.u8("flags") != 0, w.u8("flags") != 0, w.u8("flags") != 0
	c.from, c.to = number("added rows"), number("added rows")
	n := number("number of updates")
	if w.err == nil && n > int64(len(w.p))/8 {
		w.fail("%d updates in %d bytes", n, len(w.p))
	}
	for i := int64(0); i < n && w.err == nil; i++ {
		c.updated = append(c.updated, number("updated row"))
	}
	c.cleared = w.u8("flags") != 0
	if w.err == nil && len(w.p) > 0 { // since 3.4.0
		c.deleted = number("number of deletions")
	}
	return c, w.err
}

// clip keeps hostile text out of messages beyond a readable length.
func clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "..."
	}
	return s
}
