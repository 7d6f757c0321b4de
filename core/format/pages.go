package format

import (
	"fmt"
	"math"
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
