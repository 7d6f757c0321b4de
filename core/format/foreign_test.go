package format

import (
	"testing"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// TestLeafOfAlikeEntries decodes a page whose entries take less than a byte each.
func TestLeafOfAlikeEntries(t *testing.T) {
	t.Parallel()
	session := NewUUID()
	l := Leaf{Entries: make([]Entry, MaxPageEntries)}
	for i := range l.Entries {
		l.Entries[i] = Entry{Row: int64(2 * i), Rows: 2, Session: session, Ordinal: int64(i), Bytes: 1000}
	}
	data, err := EncodeLeaf(l)
	if err != nil || len(data) >= len(l.Entries) {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	got, err := DecodeLeaf(data)
	if err != nil || len(got.Entries) != len(l.Entries) || got.Entries[1023].Ordinal != 1023 || got.Entries[1023].Row != 2046 {
		t.Errorf("%d entries, %v", len(got.Entries), err)
	}
}

// TestForeign places blocks in an object of another format, without checksums.
func TestForeign(t *testing.T) {
	t.Parallel()
	masks := func(f Foreign) *Directory {
		return &Directory{
			DType: tensor.Uint8, BlockCodec: codec.LZ4, FixedSize: -1, Items: 2, Shapes: []ShapeRun{{2, tensor.Shape{10, 10}}},
			PerBlock: 1, BlockBytes: []int64{20, 30}, Foreign: &f,
		}
	}
	x, err := masks(Foreign{Base: 43, Lead: 4}).CheckedIndex()
	if err != nil {
		t.Fatal(err)
	}
	for block, want := range [][3]int64{{47, 20, 100}, {71, 30, 100}} {
		if at, stored, raw := x.BlockRange(block); [3]int64{at, stored, raw} != want {
			t.Errorf("block %d lies at %d, %d bytes of %d, want %v", block, at, stored, raw, want)
		}
	}
	if !x.Unchecked() || x.End() != 101 {
		t.Errorf("checked %v, end %d", !x.Unchecked(), x.End())
	}
	if _, err := EncodeDirectory(masks(Foreign{})); !errs.Is(err, errs.Invalid) {
		t.Errorf("a directory of another format can be stored (%v)", err)
	}
	for _, f := range []Foreign{{Base: -1}, {Base: MaxObjectBytes + 1}, {Lead: -1}, {Lead: MaxForeignLead + 1}} {
		if _, err := masks(f).CheckedIndex(); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%+v gives %v", f, err)
		}
	}
	images := &Directory{
		DType: tensor.Uint8, SampleCodec: codec.JPEG, FixedSize: -1, Items: 2, Sizes: []int64{0, 9},
		Shapes: []ShapeRun{{1, tensor.Shape{0, 0, 0}}, {1, tensor.Shape{4, 4, 3}}}, PerBlock: 1, Foreign: &Foreign{Base: 1},
	}
	if x, err = images.CheckedIndex(); err != nil || !x.Absent(0) || x.Absent(1) {
		t.Errorf("an image without pixels is no hole (%v)", err)
	}
	images.Foreign, images.BlockCRC = nil, make([]uint32, 2)
	if x, err = images.CheckedIndex(); err != nil || x.Absent(0) {
		t.Errorf("this format has holes in the chunk map alone (%v)", err)
	}
}
