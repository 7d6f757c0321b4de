package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"deeplake/core/tensor"
)

// EncodeInner makes an inner page, frame included. One that DecodeInner would not take is
// errs.Invalid.
func EncodeInner(n Inner) ([]byte, error) {
	payload, err := encodeInner(n)
	if err != nil {
		return nil, refused("inner page", err)
	}
	return EncodeFrame(KindInner, payload)
}

// DecodeInner is the strict inverse of EncodeInner. Nothing in the result is shared with data.
func DecodeInner(data []byte) (Inner, error) {
	payload, err := DecodeFrame(KindInner, data)
	if err != nil {
		return Inner{}, err
	}
	n, err := decodeInner(payload)
	return n, damaged("inner page", err)
}

// Entries is the number of leaf entries below all children.
func (n Inner) Entries() int64 {
	sum := int64(0)
	for _, c := range n.Children {
		sum += c.Entries
	}
	return sum
}

func encodeInner(n Inner) ([]byte, error) {
	if err := n.check(); err != nil {
		return nil, err
	}
	out := appendUvarint([]byte{byte(n.Height)}, int64(len(n.Children)))
	last := int64(0)
	for _, c := range n.Children {
		out = appendUvarint(out, c.First-last)
		last = c.First
	}
	for _, c := range n.Children {
		out = appendUvarint(out, c.Entries)
	}
	for _, c := range n.Children {
		out = append(out, c.Page[:]...)
	}
	return out, nil
}

func decodeInner(payload []byte) (Inner, error) {
	r := reader{b: payload}
	n := Inner{Height: int(r.byte("height"))}
	n.Children = make([]Child, r.count(MaxPageEntries, 18, "children"))
	row := int64(0)
	for i := range n.Children {
		if row += r.uvarint(MaxRows, "first row"); row > MaxRows {
			r.fail("first row is %d, want at most %d", row, int64(MaxRows))
		}
		n.Children[i].First = row
	}
	for i := range n.Children {
		n.Children[i].Entries = r.uvarint(MaxRows, "leaf entries")
	}
	for i := range n.Children {
		n.Children[i].Page = r.uuid("page")
	}
	if err := r.end(); err != nil {
		return Inner{}, err
	}
	return n, n.check()
}

// check validates an inner page. Encoder and decoder call it.
func (n Inner) check() error {
	if n.Height < 1 || n.Height > MaxHeight {
		return fmt.Errorf("height is %d, want 1 to %d", n.Height, MaxHeight)
	}
	if c := len(n.Children); c < 1 || c > MaxPageEntries {
		return fmt.Errorf("%d children, want 1 to %d", c, MaxPageEntries)
	}
	last, entries := int64(-1), int64(0)
	for i, c := range n.Children {
		if c.First <= last || c.First > MaxRows {
			return fmt.Errorf("child %d begins at row %d behind one at %d, want rising rows up to %d", i, c.First, last, int64(MaxRows))
		}
		if c.Entries < 1 || c.Entries > math.MaxInt64-entries || c.Page.IsZero() {
			return fmt.Errorf("child %d has %d leaf entries and page %s", i, c.Entries, c.Page)
		}
		last, entries = c.First, entries+c.Entries
	}
	return nil
}

// EncodeSide makes a side page, frame included, of raw directories in the order of their slots.
func EncodeSide(dirs [][]byte) ([]byte, error) {
	payload, err := encodeSide(dirs)
	if err != nil {
		return nil, refused("side page", err)
	}
	return EncodeFrame(KindSide, payload)
}

// DecodeSide is the strict inverse of EncodeSide. The directories may be parts of data;
// DecodeDirectory checks them.
func DecodeSide(data []byte) ([][]byte, error) {
	payload, err := DecodeFrame(KindSide, data)
	if err != nil {
		return nil, err
	}
	dirs, err := decodeSide(payload)
	return dirs, damaged("side page", err)
}

func encodeSide(dirs [][]byte) ([]byte, error) {
	if n := len(dirs); n < 1 || n > MaxSideSlots {
		return nil, fmt.Errorf("%d slots, want 1 to %d", n, MaxSideSlots)
	}
	out := appendUvarint(nil, int64(len(dirs)))
	total := 0
	for i, d := range dirs {
		if len(d) == 0 {
			return nil, fmt.Errorf("slot %d is empty", i)
		}
		out = appendUvarint(out, int64(len(d)))
		if total += len(d); total > MaxSideRaw {
			return nil, fmt.Errorf("directories have more than %d bytes", MaxSideRaw)
		}
	}
	for _, d := range dirs {
		out = append(out, d...)
	}
	return out, nil
}

func decodeSide(payload []byte) ([][]byte, error) {
	r := reader{b: payload}
	n := r.count(MaxSideSlots, 2, "slots")
	if r.err == nil && n == 0 {
		return nil, fmt.Errorf("no slots")
	}
	sizes := reader{b: r.b}
	for range n {
		r.uvarint(MaxSideRaw, "bytes of a directory")
	}
	dirs := make([][]byte, n)
	for i := range dirs {
		size := sizes.uvarint(MaxSideRaw, "bytes of a directory")
		if dirs[i] = r.bytes(size, "directory"); r.err == nil && size == 0 {
			r.fail("slot %d is empty", i)
		}
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	return dirs, nil
}

// Constants of the portable Roaring serialization.
const (
	roaringPlain     = 12346 // cookie: no run containers
	roaringRuns      = 12347 // low half of the cookie: some are runs
	roaringOffsets   = 4     // with runs, offsets are stored from this number of containers on
	roaringArrayMax  = 4096  // a container of more values is 8 KiB of bits
	roaringBitsBytes = 8192
)

// EncodeBitmap makes a bitmap page, frame included. It neither changes nor keeps b. A position of
// MaxRows or more is errs.Invalid.
func EncodeBitmap(b *roaring64.Bitmap) ([]byte, error) {
	payload, err := encodeBitmap(b)
	if err != nil {
		return nil, refused("bitmap page", err)
	}
	return EncodeFrame(KindBitmap, payload)
}

// DecodeBitmap is the inverse of EncodeBitmap. The bitmap is the caller's and shares nothing with
// data. It checks the serialization itself, because the library trusts counts and order; memory
// stays in proportion to the payload.
func DecodeBitmap(data []byte) (*roaring64.Bitmap, error) {
	payload, err := DecodeFrame(KindBitmap, data)
	if err != nil {
		return nil, err
	}
	b, err := decodeBitmap(payload)
	return b, damaged("bitmap page", err)
}

func encodeBitmap(b *roaring64.Bitmap) ([]byte, error) {
	if !b.IsEmpty() && b.Maximum() >= MaxRows {
		return nil, fmt.Errorf("row is %d, want less than %d", b.Maximum(), int64(MaxRows))
	}
	packed := b.Clone()
	packed.RunOptimize()
	return packed.ToBytes()
}

func decodeBitmap(payload []byte) (*roaring64.Bitmap, error) {
	if err := checkBitmap(payload); err != nil {
		return nil, err
	}
	b := roaring64.New()
	if n, err := b.ReadFrom(bytes.NewReader(payload)); err != nil || n != int64(len(payload)) {
		return nil, fmt.Errorf("roaring bitmap: %d of %d bytes read: %w", n, len(payload), errors.Join(err))
	}
	return b, nil
}

func (r *reader) u16(what string) int64 {
	if b := r.bytes(2, what); b != nil {
		return int64(binary.LittleEndian.Uint16(b))
	}
	return 0
}

func (r *reader) u32(what string) int64 {
	if b := r.bytes(4, what); b != nil {
		return int64(binary.LittleEndian.Uint32(b))
	}
	return 0
}

func (r *reader) u64(what string) uint64 {
	if b := r.bytes(8, what); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// checkBitmap walks the whole serialization.
func checkBitmap(payload []byte) error {
	r := reader{b: payload}
	n := r.u64("number of 32-bit bitmaps")
	if n > uint64(len(r.b)) {
		r.fail("%d 32-bit bitmaps in %d bytes", n, len(r.b))
	}
	last := int64(-1)
	for i := uint64(0); i < n && r.err == nil; i++ {
		key := r.u32("high half")
		if key <= last || key >= MaxRows>>32 {
			r.fail("high half %d behind %d, want rising ones below %d", key, last, int64(MaxRows>>32))
		}
		last = key
		r.roaring32()
	}
	return r.end()
}

// roaring32 takes one 32-bit bitmap.
func (r *reader) roaring32() {
	start := len(r.b)
	cookie := r.u32("cookie")
	var n int64
	var runs []byte
	switch {
	case cookie == roaringPlain:
		n = r.u32("containers")
	case cookie&0xffff == roaringRuns:
		n = cookie>>16 + 1
		runs = r.bytes((n+7)/8, "run flags")
	default:
		r.fail("cookie is %d", cookie)
	}
	if n < 1 || n > 1<<16 {
		r.fail("%d containers, want 1 to 65536", n)
	}
	heads := reader{b: r.bytes(4*n, "container heads")}
	var offsets reader
	hasOffsets := runs == nil || n >= roaringOffsets
	if hasOffsets {
		offsets.b = r.bytes(4*n, "container offsets")
	}
	last := int64(-1)
	for i := int64(0); i < n && r.err == nil; i++ {
		key, card := heads.u16("key"), heads.u16("cardinality")+1
		if key <= last {
			r.fail("container key %d behind %d", key, last)
		}
		last = key
		if at := int64(start - len(r.b)); r.err == nil && hasOffsets && offsets.u32("offset") != at {
			r.fail("offset of container %d is not %d", i, at)
		}
		r.container(card, runs != nil && runs[i/8]>>(i%8)&1 == 1)
	}
	if runs != nil && r.err == nil && n%8 != 0 && runs[n/8]>>(n%8) != 0 {
		r.fail("run flags beyond %d containers", n)
	}
}

// container takes the values of one container and holds them against its cardinality.
func (r *reader) container(card int64, isRuns bool) {
	switch last := int64(-1); {
	case isRuns:
		body := reader{b: r.bytes(4*r.u16("runs"), "runs")}
		for len(body.b) > 0 {
			start, more := body.u16("start"), body.u16("length")
			if start <= last || start+more > 0xffff {
				r.fail("run [%d, +%d] behind %d", start, more, last)
			}
			last = start + more
			card -= more + 1
		}
		if card != 0 {
			r.fail("runs miss their cardinality by %d", card)
		}
	case card <= roaringArrayMax:
		body := reader{b: r.bytes(2*card, "array")}
		for len(body.b) > 0 {
			v := body.u16("value")
			if v <= last {
				r.fail("value %d behind %d", v, last)
			}
			last = v
		}
	default:
		body := reader{b: r.bytes(roaringBitsBytes, "bits")}
		for len(body.b) > 0 {
			card -= int64(bits.OnesCount64(body.u64("bits")))
		}
		if card != 0 {
			r.fail("bits miss their cardinality by %d", card)
		}
	}
}

// minColumnBytes is the least size of a column in a page: its tensor, no root, and bounds of no
// axes.
const minColumnBytes = 16 + 1 + 1

// LargeColumns reports whether columns are too large for a record, and go into a page. It estimates
// their size as JSON.
func LargeColumns(columns map[UUID]Column) bool {
	n := 0
	for _, c := range columns {
		n += columnJSON + 2*axisJSON*len(c.MaxShape)
	}
	return n > InlineColumns
}

const (
	columnJSON = 180 // bytes of a column without axes, at most
	axisJSON   = 4   // of an axis, about
)

// EncodeColumns makes a page of columns, frame included. Columns that say nothing are left out. One
// that DecodeColumns would not take is errs.Invalid.
func EncodeColumns(columns map[UUID]Column) ([]byte, error) {
	payload, err := encodeColumns(columns)
	if err != nil {
		return nil, refused("columns page", err)
	}
	return EncodeFrame(KindColumns, payload)
}

// DecodeColumns is the strict inverse of EncodeColumns. Nothing in the result is shared with data.
func DecodeColumns(data []byte) (map[UUID]Column, error) {
	payload, err := DecodeFrame(KindColumns, data)
	if err != nil {
		return nil, err
	}
	columns, err := decodeColumns(payload)
	return columns, damaged("columns page", err)
}

// empty reports whether a column says nothing.
func (c Column) empty() bool { return c.Root == nil && c.MaxShape == nil }

func encodeColumns(columns map[UUID]Column) ([]byte, error) {
	if err := CheckColumns(columns, nil); err != nil {
		return nil, err
	}
	ids := slices.SortedFunc(maps.Keys(columns), func(a, b UUID) int { return bytes.Compare(a[:], b[:]) })
	ids = slices.DeleteFunc(ids, func(id UUID) bool { return columns[id].empty() })
	out := appendUvarint(make([]byte, 0, 64*len(ids)), int64(len(ids)))
	for _, id := range ids {
		c := columns[id]
		out = append(out, id[:]...)
		if c.Root == nil {
			out = append(out, 0)
		} else {
			out = append(append(out, byte(c.Root.Height+1)), c.Root.Page[:]...)
			out = appendUvarint(appendUvarint(out, c.Chunks), c.Bytes)
		}
		if c.MaxShape == nil {
			out = append(out, 0)
			continue
		}
		out = append(out, byte(len(c.MaxShape)+1))
		for i := range c.MaxShape {
			out = appendUvarint(appendUvarint(out, c.MinShape[i]), c.MaxShape[i]-c.MinShape[i])
		}
	}
	return out, nil
}

func decodeColumns(payload []byte) (map[UUID]Column, error) {
	r := reader{b: payload}
	n := r.count(MaxBlobRaw, minColumnBytes, "columns")
	columns := make(map[UUID]Column, n)
	var last UUID
	for range n {
		id := r.uuid("tensor")
		if r.err == nil && bytes.Compare(last[:], id[:]) >= 0 {
			return nil, fmt.Errorf("tensor %s stands behind tensor %s", id, last)
		}
		last = id
		c := r.column()
		if r.err != nil {
			return nil, r.err
		}
		if c.empty() {
			return nil, errors.New("a column says nothing and should be left out")
		}
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("column %s: %w", id, err)
		}
		columns[id] = c
	}
	return columns, r.end()
}

// column takes one column. The caller checks it.
func (r *reader) column() (c Column) {
	if height := int(r.byte("height of a root")); height > 0 {
		c.Root = &Root{Page: r.uuid("root"), Height: height - 1}
		c.Chunks, c.Bytes = r.uvarint(MaxRows, "chunks"), r.uvarint(1<<62, "bytes")
	}
	axes := int64(r.byte("axes"))
	if axes == 0 {
		return c
	}
	if axes--; axes > tensor.MaxDims || 2*axes > int64(len(r.b)) {
		r.fail("%d axes, want at most %d", axes, tensor.MaxDims)
		return c
	}
	c.MinShape, c.MaxShape = make(tensor.Shape, axes), make(tensor.Shape, axes)
	for i := range axes {
		c.MinShape[i] = r.uvarint(tensor.MaxSampleBytes, "axis")
		c.MaxShape[i] = c.MinShape[i] + r.uvarint(tensor.MaxSampleBytes, "axis")
	}
	return c
}
