package loader

import (
	"encoding/binary"
	"slices"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

const (
	align        = 64      // of every array, as vector code and DLPack consumers need
	maxSlabBytes = 1 << 46 // no machine has more; keeps the sums below from overflowing
)

// part is one tensor of a batch under construction.
type part struct {
	field    *field
	rows     []chunk.Ref   // of the rows, holes included
	refs     []chunk.Ref   // of the items: rows itself, or the items of sequences
	splits   []int64       // sequence: rows+1
	null     []bool        // rows that are holes; nil: none
	at       []int64       // offset of each item in the slab
	padded   tensor.Shape  // the shape that KindArray items grow to
	longest  int64         // items of the longest sequence, where sequences become arrays
	kept     [][]bool      // of boxes: those of each item that are not dropped
	outcomes []outcome     // of the items after transforms; empty: there are none
	images   *stagedImages // of a field whose images a device finishes
	near     []int32       // of parts of samples: the items in order of their bytes
}

// count returns the number of items.
func (p *part) count() int { return len(p.refs) }

// length returns the number of bytes that item i fills.
func (p *part) length(i int) int64 {
	r := &p.refs[i]
	switch {
	case r.Hole():
		return 0
	case p.field.stored:
		return r.Stored
	case len(p.outcomes) > 0:
		return p.outcomes[i].size
	}
	return r.Size
}

// shape returns the shape of item i in the batch.
func (p *part) shape(i int) tensor.Shape {
	if len(p.outcomes) > 0 {
		return p.outcomes[i].shape
	}
	return p.refs[i].Shape
}

// layout reserves memory in a slab, front to back.
type layout struct{ used int64 }

// reserve reserves size bytes at the next multiple of 64.
func (l *layout) reserve(size int64) (int64, error) {
	off := (l.used + align - 1) &^ (align - 1)
	if size < 0 || size > maxSlabBytes-off {
		return 0, errs.New(errs.Invalid, "the batch needs more than %d bytes; use a smaller batch_size", int64(maxSlabBytes))
	}
	l.used = off + size
	return off, nil
}

// array reserves count times size bytes.
func (l *layout) array(count int, size int64) (int64, error) {
	if size > 0 && int64(count) > maxSlabBytes/size {
		return l.reserve(-1)
	}
	return l.reserve(int64(count) * size)
}

// column lays out one part and describes it: its own column, and for Pad that of the shapes.
func (l *layout) column(p *part) ([]BatchColumn, error) {
	f := p.field
	c := BatchColumn{Name: f.name, DType: f.dtype, Count: p.count(), Splits: p.splits, Null: p.null}
	p.at = slices.Grow(p.at[:0], p.count())[:p.count()]
	p.images = nil
	switch {
	case f.text:
		return l.bytes(p, c)
	case f.joined:
		return l.joined(p, c)
	case f.seq || f.collate == List:
		return l.list(p, c)
	case f.collate == Pad:
		return l.pad(p, c)
	}
	return l.stack(p, c)
}

// bytes lays items end to end behind their starts.
func (l *layout) bytes(p *part, c BatchColumn) ([]BatchColumn, error) {
	c.Kind = KindBytes
	var err error
	if c.Starts, err = l.array(p.count()+1, 8); err != nil {
		return nil, err
	}
	for i := range p.at {
		n := p.length(i)
		if n < 0 || n > maxSlabBytes-c.Size {
			return nil, errs.New(errs.Invalid, "the batch needs more than %d bytes of tensor %q; use a smaller batch_size", int64(maxSlabBytes), p.field.name)
		}
		p.at[i] = c.Size
		c.Size += n
	}
	if c.Offset, err = l.reserve(c.Size); err != nil {
		return nil, err
	}
	for i := range p.at {
		p.at[i] += c.Offset
	}
	return []BatchColumn{c}, nil
}

// list lays out each item by itself; those of a dense field end to end if they have one shape.
func (l *layout) list(p *part, c BatchColumn) ([]BatchColumn, error) {
	c.Kind = KindList
	c.Items = make([]Item, p.count())
	if p.field.dense && p.uniform() {
		if _, err := l.slots(p, BatchColumn{}, p.shape(0)); err != nil {
			return nil, err
		}
		for i := range c.Items {
			size, err := p.arraySize(i)
			if err != nil {
				return nil, err
			}
			c.Items[i] = Item{Offset: p.at[i], Size: size, Shape: p.shape(i)}
		}
		return []BatchColumn{c}, nil
	}
	for i := range p.refs {
		if p.refs[i].Hole() {
			continue
		}
		size, err := p.arraySize(i)
		if err != nil {
			return nil, err
		}
		off, err := l.reserve(size)
		if err != nil {
			return nil, err
		}
		p.at[i] = off
		c.Items[i] = Item{Offset: off, Size: size, Shape: p.shape(i)}
	}
	return []BatchColumn{c}, nil
}

// uniform reports whether all items have samples of one shape.
func (p *part) uniform() bool {
	for i := range p.refs {
		if p.refs[i].Hole() || !p.shape(i).Equal(p.shape(0)) {
			return false
		}
	}
	return len(p.refs) > 0
}

// stack demands one shape.
func (l *layout) stack(p *part, c BatchColumn) ([]BatchColumn, error) {
	if len(p.refs) == 0 {
		return l.slots(p, c, nil) // the shape of samples is not known
	}
	first := &p.refs[0]
	for i := range p.refs {
		r := &p.refs[i]
		if !p.shape(i).Equal(p.shape(0)) {
			return nil, errs.Op("stack tensor", p.field.name).New(errs.Type, "row %d has shape %s, row %d has shape %s; use collate=\"pad\", collate=\"list\" or a transform that makes them equal", first.Row, p.shape(0), r.Row, p.shape(i))
		}
	}
	return l.slots(p, c, p.shape(0))
}

// pad gives every sample the largest size along each axis, or the one that the user gave. A further
// column holds the sizes before padding.
func (l *layout) pad(p *part, c BatchColumn) ([]BatchColumn, error) {
	if len(p.refs) == 0 {
		return l.slots(p, c, nil)
	}
	if err := p.pad(p.field.padding.Length); err != nil {
		return nil, err
	}
	cols, err := l.slots(p, c, p.padded)
	if err != nil || len(p.padded) == 0 {
		return cols, err
	}
	return l.shapes(cols, len(p.padded))
}

// shapes adds the column of the sizes before padding.
func (l *layout) shapes(cols []BatchColumn, axes int) ([]BatchColumn, error) {
	rows := int64(cols[0].Count)
	c := BatchColumn{Name: cols[0].Name + ShapeSuffix, DType: tensor.Int64, Kind: KindArray, Count: cols[0].Count,
		Shape: tensor.Shape{rows, int64(axes)}, Size: rows * int64(axes) * 8}
	var err error
	if c.Offset, err = l.reserve(c.Size); err != nil {
		return nil, err
	}
	return append(cols, c), nil
}

// pad finds the shape that the items grow to. length is that of the first axes, as in Padding.
func (p *part) pad(length []int64) error {
	first, op := &p.refs[0], errs.Op("pad tensor", p.field.name)
	p.padded = append(p.padded[:0], p.shape(0)...)
	if len(length) > len(p.padded) {
		return op.New(errs.Invalid, "row %d has shape %s, and length has %d axes; give a length for each of its axes at most", first.Row, p.shape(0), len(length))
	}
	for i := range p.refs {
		if len(p.shape(i)) != len(p.padded) {
			return op.New(errs.Type, "row %d has shape %s, row %d has shape %s, and padding keeps the number of axes; use collate=\"list\" or a transform that makes them equal", first.Row, p.shape(0), p.refs[i].Row, p.shape(i))
		}
		for d, n := range p.shape(i) {
			p.padded[d] = max(p.padded[d], n)
			if d < len(length) && length[d] > 0 && n > length[d] && !p.field.padding.Truncate {
				return op.New(errs.Type, "row %d has shape %s, which exceeds the length %d of axis %d; give a larger length, or truncate=True", p.refs[i].Row, p.shape(i), length[d], d)
			}
		}
	}
	for d, n := range length {
		if n > 0 {
			p.padded[d] = n
		}
	}
	return nil
}

// mostItems returns the number of items of a sequence that are delivered.
func (f *field) mostItems() int64 {
	if !f.joined || !f.padding.Truncate || len(f.padding.Length) == 0 || f.padding.Length[0] == 0 {
		return maxItems
	}
	return f.padding.Length[0]
}

// joined makes one array of the sequences: their items have one shape and number, or are padded.
func (l *layout) joined(p *part, c BatchColumn) ([]BatchColumn, error) {
	if err := p.join(); err != nil {
		return nil, err
	}
	rows := len(p.splits) - 1
	whole := append(tensor.Shape{p.longest}, p.padded...)
	size, err := whole.Bytes(p.field.dtype)
	if err != nil {
		return nil, errs.Wrap(errs.Invalid, "load tensor", p.field.name, err)
	}
	c.Kind, c.Splits, c.Count = KindArray, nil, rows
	if c.Offset, err = l.array(rows, size); err != nil {
		return nil, err
	}
	c.Size, c.Shape = int64(rows)*size, append(tensor.Shape{int64(rows)}, whole...)
	for row := range rows {
		from, to := p.splits[row], p.splits[row+1]
		for i := from; i < to; i++ {
			if _, err := p.arraySize(int(i)); err != nil {
				return nil, err
			}
			p.at[i] = c.Offset + int64(row)*size + (i-from)*(size/p.longest)
		}
	}
	if p.field.collate != Pad {
		return []BatchColumn{c}, nil
	}
	return l.shapes([]BatchColumn{c}, len(whole))
}

// join finds the number of items and the shape that the sequences of a batch get.
func (p *part) join() error {
	f := p.field
	var length []int64 // of the items
	p.longest, p.padded = 0, p.padded[:0]
	for row := range p.splits[1:] {
		n := p.splits[row+1] - p.splits[row]
		if f.collate == Stack && row > 0 && n != p.longest {
			return errs.Op("stack tensor", f.name).New(errs.Type, "row %d has %d items, row %d has %d; use \"pad\" or \"list\" for it in collate, or select sequences of one length", p.rows[0].Row, p.longest, p.rows[row].Row, n)
		}
		p.longest = max(p.longest, n)
	}
	if f.collate == Pad && len(f.padding.Length) > 0 {
		length = f.padding.Length[1:]
		if n := f.padding.Length[0]; n > 0 {
			for row := range p.splits[1:] {
				if got := p.splits[row+1] - p.splits[row]; got > n {
					return errs.Op("pad tensor", f.name).New(errs.Type, "row %d has %d items, which exceeds the length %d; give a larger length, or truncate=True", p.rows[row].Row, got, n)
				}
			}
			p.longest = n
		}
	}
	switch {
	case len(p.refs) == 0:
		p.padded = append(p.padded, length...) // the shape of items is not known
		return nil
	case f.collate == Pad:
		return p.pad(length)
	}
	p.padded = append(p.padded, p.shape(0)...)
	for i := range p.refs {
		if !p.shape(i).Equal(p.padded) {
			return errs.Op("stack tensor", f.name).New(errs.Type, "an item of row %d has shape %s, one of row %d has shape %s; use \"pad\" or \"list\" for it in collate, or a transform that makes them equal", p.refs[0].Row, p.padded, p.refs[i].Row, p.shape(i))
		}
	}
	return nil
}

// slots lays arrays of one shape end to end.
func (l *layout) slots(p *part, c BatchColumn, shape tensor.Shape) ([]BatchColumn, error) {
	size, err := shape.Bytes(p.field.dtype)
	if err != nil {
		return nil, errs.Wrap(errs.Invalid, "load tensor", p.field.name, err)
	}
	for i := range p.refs {
		if _, err := p.arraySize(i); err != nil {
			return nil, err
		}
	}
	c.Kind = KindArray
	if c.Offset, err = l.array(p.count(), size); err != nil {
		return nil, err
	}
	for i := range p.at {
		p.at[i] = c.Offset + int64(i)*size
	}
	c.Size = int64(p.count()) * size
	c.Shape = append(tensor.Shape{int64(p.count())}, shape...)
	if p.field.staged && c.Size > 0 && (p.field.augment != nil || len(shape) == 3) {
		err = l.reserveImages(p, &c)
	}
	return []BatchColumn{c}, err
}

// marks lays out the columns that a batch has beside its tensors.
func (l *layout) marks(pl *planner, p *plan, b *Batch) error {
	for _, m := range []struct {
		name   string
		dtype  tensor.DType
		wanted bool
	}{{IndexName, tensor.Int64, pl.index}, {SourceName, tensor.Int64, pl.source}, {ValidName, tensor.Bool, p.marked}} {
		if !m.wanted {
			continue
		}
		n := int64(b.Rows)
		c := BatchColumn{Name: m.name, DType: m.dtype, Kind: KindArray, Count: b.Rows, Shape: tensor.Shape{n}, Size: n * int64(m.dtype.Size())}
		var err error
		if c.Offset, err = l.reserve(c.Size); err != nil {
			return err
		}
		b.Columns = append(b.Columns, c)
	}
	return nil
}

// mark fills the columns that marks laid out.
func (p *plan) mark(b *Batch, columns []BatchColumn) {
	for i := range columns {
		data := b.Data(&columns[i])
		switch columns[i].Name {
		case IndexName:
			for i, row := range p.rows {
				putInt64(data, i, row)
			}
		case SourceName:
			for i, source := range p.sources {
				putInt64(data, i, int64(source))
			}
		case ValidName:
			clear(data)
			for i := range p.valid {
				data[i] = 1
			}
		}
	}
}

// arraySize returns the size of item i, which must be that of its shape: otherwise a neighbour
// would be overwritten.
func (p *part) arraySize(i int) (int64, error) {
	r := &p.refs[i]
	size, err := p.shape(i).Bytes(p.field.dtype)
	if err == nil && size != p.length(i) {
		err = errs.New(errs.Corrupt, "sample has %d bytes, want %d for shape %s of %s", p.length(i), size, p.shape(i), p.field.dtype)
	}
	if err != nil {
		return 0, rowError(p.field.name, r.Row, err)
	}
	return size, nil
}

// fixed writes the values known before any sample is read: starts of bytes, shapes of padded
// arrays.
func fixed(mem []byte, p *part, cols []BatchColumn) {
	c := &cols[0]
	if c.Kind == KindBytes {
		for i, at := range p.at {
			putInt64(mem[c.Starts:], i, at-c.Offset)
		}
		putInt64(mem[c.Starts:], p.count(), c.Size)
	}
	if len(cols) == 1 {
		return
	}
	dst, n := mem[cols[1].Offset:], int(cols[1].Shape[1])
	if p.field.joined {
		p.fixedJoined(mem, dst, c)
		return
	}
	for i := range p.refs {
		for d, v := range p.shape(i) {
			putInt64(dst, i*n+d, min(v, p.padded[d]))
		}
	}
}

// fixedJoined writes the shapes of padded sequences, and fills up behind their items.
func (p *part) fixedJoined(mem, shapes []byte, c *BatchColumn) {
	axes := len(p.padded) + 1
	for row := range c.Count {
		from, to := p.splits[row], p.splits[row+1]
		putInt64(shapes, row*axes, to-from)
		for d := range p.padded {
			largest := int64(0)
			for i := from; i < to; i++ {
				largest = max(largest, min(p.shape(int(i))[d], p.padded[d]))
			}
			putInt64(shapes, row*axes+1+d, largest)
		}
		if p.longest > 0 {
			size := c.Size / int64(c.Count)
			begin := c.Offset + int64(row)*size
			fillUp(mem[begin+(to-from)*(size/p.longest):begin+size], p.field.fill)
		}
	}
}

// exceeds reports whether item i is cut to the shape that it gets.
func (p *part) exceeds(i int) bool {
	if !p.field.padding.Truncate || !p.field.padded() {
		return false
	}
	for d, n := range p.shape(i) {
		if n > p.padded[d] {
			return true
		}
	}
	return false
}

// target returns the memory that item i is read into: its place in mem, or memory of its own if it
// is cut afterwards.
func (p *part) target(mem []byte, i int) []byte {
	n := p.length(i)
	if p.exceeds(i) {
		return make([]byte, n)
	}
	at := p.at[i]
	return mem[at : at+n : at+n]
}

// grow gives item i, which is in data, its padded shape.
func (p *part) grow(mem []byte, i int, data []byte) {
	if !p.field.padded() {
		return
	}
	from, elem := p.shape(i), int64(p.field.dtype.Size())
	if !p.exceeds(i) {
		spread(mem[p.at[i]:], from, p.padded, elem, p.field.fill)
		return
	}
	size := elem
	for _, n := range p.padded {
		size *= n
	}
	dst := mem[p.at[i] : p.at[i]+size]
	fillUp(dst, p.field.fill)
	overlap(dst, data, from, p.padded, elem)
}

// overlap copies the elements that have a place in an array of shape from and in one of shape to.
func overlap(dst, src []byte, from, to tensor.Shape, elem int64) {
	if len(from) == 0 {
		copy(dst[:elem], src)
		return
	}
	size, want := elem, elem // of an entry of the first axis
	for d := range from[1:] {
		size, want = size*from[d+1], want*to[d+1]
	}
	n := min(from[0], to[0])
	if from[1:].Equal(to[1:]) {
		copy(dst[:n*want], src)
		return
	}
	for i := range n {
		overlap(dst[i*want:(i+1)*want], src[i*size:(i+1)*size], from[1:], to[1:], elem)
	}
}

// fillUp fills mem with an element; nil: with zeros.
func fillUp(mem, element []byte) {
	if element == nil {
		clear(mem)
		return
	}
	for n := copy(mem, element); n < len(mem); n *= 2 {
		copy(mem[n:], mem[:n])
	}
}

// spread converts the C-order array of shape from at the front of mem to shape to, in place. It
// fills up the added parts. No axis of to is smaller. Runs move towards the end, last one first, so
// that none is overwritten unread.
func spread(mem []byte, from, to tensor.Shape, elem int64, fill []byte) {
	// Axes that are equal at the end belong to one run.
	axis := len(from)
	run := elem
	for axis > 0 && from[axis-1] == to[axis-1] {
		axis--
		run *= from[axis]
	}
	if axis == 0 {
		return
	}
	src, dst := run*from[axis-1], run*to[axis-1]
	outer, want := int64(1), int64(1)
	for d := range axis - 1 {
		outer *= from[d]
		want *= to[d]
	}
	if outer == 0 || src == 0 {
		fillUp(mem[:want*dst], fill)
		return
	}
	end := want * dst // everything from here on is in its final state
	for k := outer - 1; k >= 0; k-- {
		position := int64(0) // of run k among the runs of to
		rest, scale := k, int64(1)
		for d := axis - 2; d >= 0; d-- {
			position += rest % from[d] * scale
			rest /= from[d]
			scale *= to[d]
		}
		at := position * dst
		copy(mem[at:at+src], mem[k*src:(k+1)*src])
		fillUp(mem[at+src:end], fill)
		end = at
	}
}

func putInt64(mem []byte, i int, v int64) { binary.NativeEndian.PutUint64(mem[i*8:], uint64(v)) }

func getInt64(mem []byte, i int) int64 { return int64(binary.NativeEndian.Uint64(mem[i*8:])) }
