package ipc

import (
	"cmp"
	"context"
	"math"
	"slices"

	"deeplake/core/arrow"
	"deeplake/core/errs"
	"deeplake/core/internal/ahead"
)

const (
	// maxBody bounds the bytes of a record batch, and of its buffers after decompression.
	maxBody = 4 << 30
	// maxEmpty bounds the rows of columns without bytes, such as those that are all null.
	maxEmpty = 1 << 24
	// gapBytes between buffers are read with them.
	gapBytes = 64 << 10
)

// span is a part of a message's body.
type span struct{ off, size int64 }

func (s span) end() int64 { return s.off + s.size }

// batch is the metadata of a record batch: what its buffers are, in the order of the schema.
type batch struct {
	rows    int64
	nodes   []int64 // the rows of an array, and how many are null
	buffers []span
	views   []int64 // buffers of each column of views, behind those that others have
	packing packing
	legacy  bool // unions and runs have bitmaps, as before version 5 of the format
	id      int64
	isDelta bool
}

// parseBatch reads the metadata of a message with body bytes behind it.
func parseBatch(m table, body int64) (*batch, error) {
	b := &batch{legacy: m.number(0, 2, 0) < 4}
	t := m.table(2)
	if m.kind() == dictionaryMessage {
		b.id, b.isDelta = t.number(0, 8, 0), t.number(2, 1, 0) != 0
		t = t.table(1)
	}
	if version := m.number(0, 2, 0); version < 3 {
		return nil, errs.New(errs.Unsupported, "it has version %d of Arrow's metadata, want 4 or 5; write the file again", version+1)
	}
	b.rows, b.nodes, b.views = t.number(0, 8, 0), t.structs(1, 2), t.structs(4, 1)
	for pair := range slices.Chunk(t.structs(2, 2), 2) {
		s := span{pair[0], pair[1]}
		if s.off < 0 || s.size < 0 || s.off > body-s.size {
			return nil, errs.New(errs.Corrupt, "a buffer has %d bytes at %d, and its record batch %d", s.size, s.off, body)
		}
		b.buffers = append(b.buffers, s)
	}
	if c := t.table(3); c.at >= 0 {
		if method := c.number(1, 1, 0); method != 0 {
			return nil, errs.New(errs.Unsupported, "buffers have the compression method %d, which is not known", method)
		}
		b.packing = packing(1 + c.number(0, 1, 0))
	}
	if m.err == nil && (b.rows < 0 || b.rows > math.MaxInt32) {
		return nil, errs.New(errs.Corrupt, "a record batch has %d rows", b.rows)
	}
	return b, m.err
}

// body is the part of a record batch that was read.
type body struct {
	spans []span
	parts [][]byte
}

// readSpans reads parts of a body that begins at off: those that are near each other at once.
func readSpans(ctx context.Context, r ahead.ReaderAt, off int64, wanted []span) (*body, error) {
	slices.SortFunc(wanted, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.off, b.off), cmp.Compare(a.size, b.size))
	})
	b, all := &body{}, int64(0)
	for _, s := range wanted {
		if s.size == 0 {
			continue
		}
		last := len(b.spans) - 1
		if last >= 0 && s.off <= b.spans[last].end()+gapBytes {
			b.spans[last].size = max(b.spans[last].end(), s.end()) - b.spans[last].off
			continue
		}
		from := s.off &^ 63 // numbers stay aligned
		b.spans = append(b.spans, span{from, s.end() - from})
	}
	for _, s := range b.spans {
		all += s.size
	}
	if all > maxBody {
		return nil, errs.New(errs.Unsupported, "a record batch has %d bytes, want at most %d; write smaller ones", all, int64(maxBody))
	}
	for _, s := range b.spans {
		p := make([]byte, s.size)
		if err := r.ReadAt(ctx, p, off+s.off); err != nil {
			return nil, err
		}
		b.parts = append(b.parts, p)
	}
	return b, nil
}

// bytes returns a part that was read.
func (b *body) bytes(s span) ([]byte, error) {
	if s.size == 0 {
		return nil, nil
	}
	for i, have := range b.spans {
		if s.off >= have.off && s.end() <= have.end() {
			return b.parts[i][s.off-have.off:][:s.size:s.size], nil
		}
	}
	return nil, errs.New(errs.Internal, "a buffer at %d was not read", s.off)
}

// cursor walks the arrays of a batch in the order of the schema.
type cursor struct {
	*batch
	node, buffer, view int
}

func damaged() error {
	return errs.New(errs.Corrupt, "a record batch has fewer arrays than its schema has columns")
}

// array returns the rows of the next array.
func (c *cursor) array() (rows int64, hasNulls bool, err error) {
	if 2*c.node+1 >= len(c.nodes) {
		return 0, false, damaged()
	}
	rows, nulls := c.nodes[2*c.node], c.nodes[2*c.node+1]
	if c.node++; rows < 0 || rows > math.MaxInt32 || nulls > rows {
		return 0, false, errs.New(errs.Corrupt, "an array has %d rows, of which %d are null", rows, nulls)
	}
	return rows, nulls != 0, nil
}

// take returns the next buffers.
func (c *cursor) take(n int64) ([]span, error) {
	if n < 0 || n > int64(len(c.buffers)-c.buffer) {
		return nil, damaged()
	}
	out := c.buffers[c.buffer:][:n]
	c.buffer += int(n)
	return out, nil
}

// buffersOf returns the buffers of the next array, without those of its children.
func (c *cursor) buffersOf(f *field) ([]span, error) {
	n := buffersOf(f)
	if f.values == nil && (f.Format == "vu" || f.Format == "vz") {
		if c.view >= len(c.views) {
			return nil, damaged()
		}
		c.view++
		if c.views[c.view-1] < 0 {
			return nil, damaged()
		}
		n += c.views[c.view-1]
	}
	if c.legacy && (isUnion(f) || f.values == nil && f.Format == "+r") {
		n++
	}
	return c.take(n)
}

// buffersOf is the number of buffers of a type, without those that views add.
func buffersOf(f *field) int64 {
	switch {
	case f.values != nil:
		return 2
	case f.Format == "n", f.Format == "+r":
		return 0
	case f.Format == "+s", f.Format[:min(2, len(f.Format))] == "+w":
		return 1
	case isUnion(f):
		return map[byte]int64{'s': 1, 'd': 2}[f.Format[2]]
	case slices.Contains([]string{"u", "U", "z", "Z", "+vl", "+vL"}, f.Format):
		return 3
	}
	return 2
}

func isUnion(f *field) bool { return len(f.Format) > 2 && f.Format[:2] == "+u" }

// skip passes over a column, and returns its buffers.
func (c *cursor) skip(f *field) ([]span, error) {
	if _, _, err := c.array(); err != nil {
		return nil, err
	}
	out, err := c.buffersOf(f)
	if err != nil {
		return nil, err
	}
	out = slices.Clone(out)
	for _, child := range f.children {
		below, err := c.skip(child)
		if err != nil {
			return nil, err
		}
		out = append(out, below...)
	}
	return out, nil
}

// decoder makes the arrays of a batch from its body.
type decoder struct {
	cursor
	*unpacker
	body         *body
	dictionaries dictionaries
	left         int64 // bytes that buffers may have after decompression
}

// dictionaries are the values of dictionaries by number.
type dictionaries map[int64]*arrow.Data

// bytes returns a buffer, decompressed.
func (d *decoder) bytes(s span) ([]byte, error) {
	p, err := d.body.bytes(s)
	if err == nil && len(p) > 0 && d.packing != 0 {
		p, err = d.unpacker.unpack(d.packing, p, d.left)
		d.left -= int64(len(p))
	}
	return aligned(p), err
}

// data makes the next array, of a type that core/arrow makes.
func (d *decoder) data(f *field) (*arrow.Data, error) {
	rows, hasNulls, err := d.array()
	if err != nil {
		return nil, err
	}
	spans, err := d.buffersOf(f)
	if err != nil {
		return nil, err
	}
	if rows > maxEmpty && isEmpty(f, spans) {
		return nil, errs.New(errs.Unsupported, "column %q has %d rows without a byte in a record batch, want at most %d; write smaller ones", f.Name, rows, maxEmpty)
	}
	out := &arrow.Data{Rows: rows}
	if isOther(f) { // no tensor holds it: its bytes are not needed
		for _, child := range f.children {
			if _, err := d.skip(child); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	if hasNulls && len(spans) > 0 && spans[0].size > 0 {
		if out.Valid, err = d.bytes(spans[0]); err != nil {
			return nil, err
		}
	}
	switch buffers := buffersOf(f); {
	case f.values == nil && (f.Format == "vu" || f.Format == "vz"):
		err = d.views(out, spans[1], spans[2:])
	case f.values == nil && (f.Format == "+vl" || f.Format == "+vL"):
		err = d.listViews(out, spans[1], spans[2], f.Format == "+vL")
	case f.values == nil && hasEnds(f):
		if out.Ends, err = d.ends(spans[1], rows, isWide(f)); err == nil && buffers == 3 {
			out.Values, err = d.bytes(spans[2])
		}
	case buffers == 2:
		out.Values, err = d.bytes(spans[1])
	}
	if err != nil {
		return nil, err
	}
	for _, child := range f.children {
		below, err := d.data(child)
		if err != nil {
			return nil, err
		}
		out.Children = append(out.Children, below)
	}
	if f.values != nil {
		if out.Dictionary = d.dictionaries[f.id]; out.Dictionary == nil {
			return nil, errs.New(errs.Corrupt, "dictionary %d of column %q is missing", f.id, f.Name)
		}
	}
	return out, nil
}

// isEmpty reports whether no bytes stand for the rows of an array.
func isEmpty(f *field, spans []span) bool {
	return (len(f.children) == 0 || f.Format == "+w:0") && !slices.ContainsFunc(spans, func(s span) bool { return s.size > 0 })
}

func hasEnds(f *field) bool {
	return slices.Contains([]string{"u", "U", "z", "Z", "+l", "+L", "+m"}, f.Format)
}

func isWide(f *field) bool { return slices.Contains([]string{"U", "Z", "+L"}, f.Format) }

// isOther reports whether core/arrow knows the type, and no tensor holds it.
func isOther(f *field) bool {
	return f.values == nil && (isUnion(f) || f.Format == "+r" || len(f.Format) > 1 && (f.Format[:2] == "tt" || f.Format[:2] == "ti"))
}

// ends returns the offsets of rows.
func (d *decoder) ends(s span, rows int64, wide bool) ([]int64, error) {
	p, err := d.bytes(s)
	if err != nil {
		return nil, err
	}
	if rows == 0 && len(p) == 0 {
		return []int64{0}, nil
	}
	return integers(p, rows+1, wide)
}

// integers returns numbers of 32 bits, or with wide of 64.
func integers(p []byte, n int64, wide bool) ([]int64, error) {
	width := int64(4)
	if wide {
		width = 8
	}
	if int64(len(p)) < n*width {
		return nil, errs.New(errs.Corrupt, "a buffer of offsets has %d bytes, want %d", len(p), n*width)
	}
	out := make([]int64, n)
	for i := range out {
		if wide {
			out[i] = int64(le64(p[8*i:]))
		} else {
			out[i] = int64(int32(le32(p[4*i:])))
		}
	}
	return out, nil
}

// views turns views of texts into texts one behind the other. A view has the length of the text,
// and the text, or its first four bytes, the number of a buffer and the offset there.
func (d *decoder) views(out *arrow.Data, s span, buffers []span) error {
	p, err := d.bytes(s)
	if err != nil {
		return err
	}
	if int64(len(p)) < 16*out.Rows {
		return errs.New(errs.Corrupt, "an array of %d views has %d bytes", out.Rows, len(p))
	}
	from := make([][]byte, len(buffers))
	for i, s := range buffers {
		if from[i], err = d.bytes(s); err != nil {
			return err
		}
	}
	out.Ends = make([]int64, 1, out.Rows+1)
	for i := range out.Rows {
		view := p[16*i:][:16]
		n := int64(int32(le32(view)))
		switch isNull := out.Valid != nil && i>>3 < int64(len(out.Valid)) && out.Valid[i>>3]>>(i&7)&1 == 0; {
		case isNull:
		case n < 0:
			return errs.New(errs.Corrupt, "view %d has %d bytes", i, n)
		case n <= 12:
			out.Values = append(out.Values, view[4:4+n]...)
		default:
			buffer, at := int64(int32(le32(view[8:]))), int64(int32(le32(view[12:])))
			if buffer < 0 || buffer >= int64(len(from)) || at < 0 || at > int64(len(from[buffer]))-n {
				return errs.New(errs.Corrupt, "view %d has %d bytes at %d of buffer %d, which do not lie there", i, n, at, buffer)
			}
			if d.left -= n; d.left < 0 { // views may name the same bytes many times
				return errs.New(errs.Unsupported, "the views of a record batch have more than %d bytes; write smaller ones", int64(maxBody))
			}
			out.Values = append(out.Values, from[buffer][at:at+n]...)
		}
		out.Ends = append(out.Ends, int64(len(out.Values)))
	}
	return nil
}

// listViews turns views of lists into lists, if they lie one behind the other.
func (d *decoder) listViews(out *arrow.Data, starts, sizes span, wide bool) error {
	p, err := d.bytes(starts)
	if err != nil {
		return err
	}
	from, err := integers(p, out.Rows, wide)
	if err != nil {
		return err
	}
	if p, err = d.bytes(sizes); err != nil {
		return err
	}
	n, err := integers(p, out.Rows, wide)
	if err != nil {
		return err
	}
	out.Ends = make([]int64, 1, out.Rows+1)
	for i := range n {
		last := out.Ends[len(out.Ends)-1]
		if i == 0 {
			last = from[0]
			out.Ends[0] = last
		}
		if from[i] != last && n[i] != 0 {
			return errs.New(errs.Unsupported, "views of lists do not lie one behind the other; cast them to lists")
		}
		if n[i] < 0 || n[i] > math.MaxInt64-last {
			return errs.New(errs.Corrupt, "list %d has %d items", i, n[i])
		}
		out.Ends = append(out.Ends, last+n[i])
	}
	return nil
}

// made returns the type of the arrays that data makes.
func made(f *field) *arrow.Type {
	out := &arrow.Type{Name: f.Name, Format: f.Format, Metadata: f.Metadata}
	switch {
	case f.values != nil:
		out.Dictionary = made(f.values)
	case f.Format == "vu" || f.Format == "vz":
		out.Format = map[string]string{"vu": "U", "vz": "Z"}[f.Format]
	case f.Format == "+vl" || f.Format == "+vL":
		out.Format = "+" + f.Format[2:]
	}
	for _, child := range f.children {
		out.Children = append(out.Children, made(child))
	}
	return out
}
