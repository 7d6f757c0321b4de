package format

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// golden is one file of testdata: a value, its bytes and how they are printed.
type golden struct {
	name   string
	value  any
	encode func() ([]byte, error)
	decode func([]byte) (any, error)
	layout func(*dumper)
	// the bytes depend on a library: they must decode, but need not be written the same again
	frozen bool
}

func erase[T any](f func([]byte) (T, error)) func([]byte) (any, error) {
	return func(data []byte) (any, error) { return f(data) }
}

// bound is erase for a decoder of objects with a name.
func bound[T any](f func([]byte, Binding) (T, error), b Binding) func([]byte) (any, error) {
	return func(data []byte) (any, error) { return f(data, b) }
}

// plainFrame is a frame without compression, which a reader of the golden file could not follow.
func plainFrame(k Kind, salt UUID, payload []byte, err error) func() ([]byte, error) {
	return func() ([]byte, error) {
		if err != nil {
			return nil, err
		}
		frame, err := sealFrame(k, packNone, payload, len(payload))
		return salted(frame, salt), err
	}
}

func salted(frame []byte, salt UUID) []byte {
	SetSalt(frame, salt)
	return frame
}

// in is the binding of an object of the dataset of the golden files.
func in(key string) Binding { return Binding{Dataset: id(0x11), Key: key} }

func goldens() []golden {
	text := func(d *dumper) { d.json(len(d.data)) }
	tsf := TSF{UUID: id(0x11), Main: id(0x22)}
	tag := Tag{Branch: id(0x22), Version: 5, Commit: id(0x10), Time: time.Date(2026, 11, 21, 7, 30, 0, 123456789, time.UTC), Author: "Ada", Message: "as \"published\""}
	head, gone, expiry, views := in("refs/heads/try.0"), in("refs/heads/try.1"), in(ExpiryKey(Expiry{id(0x22), 40})), in(ViewKey("cats", 3))
	record, schema, ops := goldenRecord(), goldenSchema(), goldenOps()
	page, columns := id(0xe0), goldenRecord().Columns
	large := goldenRecord()
	large.Columns, large.ColumnsPage = nil, &page
	delete(columns, id(0x33)) // it says nothing
	columns[id(0x34)] = Column{MinShape: tensor.Shape{2}, MaxShape: tensor.Shape{300}}
	leaf, inner := goldenLeaf(), Inner{Height: 1, Children: []Child{{0, id(0xa1), 1024}, {819_200, id(0xa2), 1024}, {1_638_400, id(0xa3), 7}}}
	dirs := [][]byte{must(EncodeDirectory(arrays().dir)), must(EncodeDirectory(photos().dir))}
	bitmap := roaring64.BitmapOf(3, 5, 1<<20, 1<<33+7)
	bitmap.AddRange(70_000, 80_000)
	record1, err1 := record.payload()
	record2, err2 := large.payload()
	schema1, err3 := marshal(schema.stored())
	ops1, err4 := marshal(ops)
	leaf1, err5 := encodeLeaf(leaf)
	pieces := goldenPieces()
	pieces1, _, err11 := encodePieces(pieces)
	inner1, err6 := encodeInner(inner)
	side1, err7 := encodeSide(dirs)
	bitmap1, err8 := encodeBitmap(bitmap)
	columns1, err9 := encodeColumns(columns)
	view := goldenView()
	view1, err10 := encodeView(view, views, func() bool { return false })
	salt := id(0x77)
	list := []golden{
		{name: "tsf", value: tsf, encode: func() ([]byte, error) { return EncodeTSF(tsf) }, decode: erase(DecodeTSF), layout: text},
		{name: "head", value: Head{Branch: id(0x23)}, encode: func() ([]byte, error) { return EncodeHead(Head{Branch: id(0x23)}, head), nil }, decode: bound(DecodeHead, head), layout: text},
		{name: "head-deleted", value: Head{}, encode: func() ([]byte, error) { return EncodeHead(Head{}, gone), nil }, decode: bound(DecodeHead, gone), layout: text},
		{name: "hint", value: uint64(1000), encode: func() ([]byte, error) { return EncodeHint(1000), nil }, decode: erase(DecodeHint), layout: text},
		{name: "expiry", value: Expiry{id(0x22), 40}, encode: func() ([]byte, error) { return EncodeExpiry(Expiry{id(0x22), 40}, expiry) }, decode: bound(DecodeExpiry, expiry), layout: text},
		{name: "tag", value: tag, encode: func() ([]byte, error) { return EncodeTag(tag, in("refs/tags/v1")) }, decode: bound(DecodeTag, in("refs/tags/v1")), layout: text},
		{name: "tag-deleted", value: true, encode: func() ([]byte, error) { return EncodeBuried(in("refs/tags/v1.deleted")), nil }, decode: func(data []byte) (any, error) {
			return true, DecodeBuried(data, in("refs/tags/v1.deleted"))
		}, layout: text},
		{name: "record", value: record, encode: plainFrame(KindRecord, id(0x11), record1, err1), decode: erase(DecodeRecord), layout: func(d *dumper) { d.frame(d.json) }},
		{name: "record-columns", value: large, encode: plainFrame(KindRecord, id(0x11), record2, err2), decode: erase(DecodeRecord), layout: func(d *dumper) { d.frame(d.json) }},
		{name: "schema", value: schema, encode: plainFrame(KindSchema, salt, schema1, err3), decode: erase(DecodeSchema), layout: func(d *dumper) { d.frame(d.json) }},
		{name: "columns", value: columns, encode: plainFrame(KindColumns, salt, columns1, err9), decode: erase(DecodeColumns), layout: func(d *dumper) { d.frame(d.columns) }},
		{name: "txn", value: ops, encode: plainFrame(KindTxn, salt, ops1, err4), decode: erase(DecodeOps), layout: func(d *dumper) { d.frame(d.json) }},
		{name: "leaf", value: leaf, encode: plainFrame(KindLeaf, salt, leaf1, err5), decode: erase(DecodeLeaf), layout: func(d *dumper) { d.frame(d.leaf) }},
		{name: "leaf-zstd", value: leaf, encode: func() ([]byte, error) {
			frame, err := EncodeLeaf(leaf)
			return salted(frame, salt), err
		}, decode: erase(DecodeLeaf), layout: func(d *dumper) { d.frame(d.leaf) }, frozen: true},
		{name: "pieces", value: pieces, encode: plainFrame(KindPieces, salt, pieces1, err11), decode: erase(DecodePieces), layout: func(d *dumper) { d.frame(d.pieces) }},
		{name: "inner", value: inner, encode: plainFrame(KindInner, salt, inner1, err6), decode: erase(DecodeInner), layout: func(d *dumper) { d.frame(d.inner) }},
		{name: "side", value: dirs, encode: plainFrame(KindSide, salt, side1, err7), decode: erase(DecodeSide), layout: func(d *dumper) { d.frame(d.side) }},
		{name: "view", value: view, encode: plainFrame(KindView, id(0x11), view1, err10), decode: bound(DecodeView, views), layout: func(d *dumper) { d.frame(d.view) }},
		{name: "bitmap", value: bitmap.ToArray(), encode: plainFrame(KindBitmap, salt, bitmap1, err8), decode: func(data []byte) (any, error) {
			b, err := DecodeBitmap(data)
			if err != nil {
				return nil, err
			}
			return b.ToArray(), nil
		}, layout: func(d *dumper) { d.frame(d.bitmap) }},
		{name: "video", value: goldenVideo(), encode: func() ([]byte, error) { return EncodeVideo(goldenVideo()) }, decode: erase(DecodeVideo), layout: (*dumper).video},
	}
	for _, c := range []goldenChunk{arrays(), photos(), sequences(), tile(), linked(), headed()} {
		list = append(list, golden{name: c.name, value: c.object(), encode: func() ([]byte, error) { return c.object(), nil }, decode: erase(readChunk), layout: func(d *dumper) { d.chunk(c.sizes()) }})
	}
	return list
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// goldenView has a run, single rows, one that repeats, and rows that are missing.
func goldenView() View {
	return View{Branch: id(0x22), Version: 5, Commit: id(0x10), Time: time.Date(2026, 11, 21, 7, 30, 0, 123456789, time.UTC), Author: "Ada",
		Query: "SELECT image AS crop, label FROM a LEFT JOIN b WHERE label = ?", Params: []byte(`["cat",0.5]`), Seed: 7,
		Columns: []ViewColumn{{"crop", ""}, {"label", "label"}}, Listed: true,
		Rows: []ViewRun{{1000, 500}, {3, 1}, {3, 1}, {5, 1}, {-1, 2}, {6, 1}}}
}

// goldenLeaf has two sessions, a hole, an update in the middle of a chunk, a tiled sample and
// statistics.
func goldenLeaf() Leaf {
	chunk := Entry{Session: id(0x51), Side: id(0x61)}
	next := func(row, rows, first, ordinal, bytes, slot int64) Entry {
		e := chunk
		e.Row, e.Rows, e.First, e.Ordinal, e.Bytes, e.Slot = row, rows, first, ordinal, bytes, slot
		return e
	}
	a, b := next(1000, 400, 0, 7, 8_388_000, 0), next(1400, 10, 0, 8, 8_390_000, 1)
	a.Stats = Stats{MinShape: tensor.Shape{100, 120, 3}, MaxShape: tensor.Shape{640, 480, 3}}
	updated := Entry{Row: 1410, Rows: 1, Session: id(0x52), Bytes: 9000}
	updated.Stats = Stats{HasRange: true, Min: 3, Max: math.MaxUint64}
	rest := next(1411, 389, 11, 8, 8_390_000, 1)
	tiled := next(2000, 1, 0, 9, 90_000_000, 2)
	tiled.Tiles = 6
	last := next(2001, 5, 0, 15, 100_000, 8)
	return Leaf{Entries: []Entry{a, b, updated, rest, tiled, last}}
}

// goldenPieces is a chunk of 100 rows of which two commits updated some, behind it a hole and a
// chunk of other rows.
func goldenPieces() Pieces {
	home := Entry{Row: 1000, Rows: 10, First: 20, Session: id(0x51), Ordinal: 7, Bytes: 8_388_000, Side: id(0x61), Slot: 3, Stats: Stats{HasRange: true, Min: 1, Max: 900}}
	first := Entry{Row: 1010, Rows: 2, Session: id(0x52), Bytes: 80, Side: id(0x62)}
	second := Entry{Row: 1040, Rows: 1, Session: id(0x53), Bytes: 40, Side: id(0x63)}
	last := Entry{Row: 1130, Rows: 5, Session: id(0x51), Ordinal: 8, Bytes: 100_000, Side: id(0x61), Slot: 4}
	return Pieces{
		Rows:   []int64{1000, 1010, 1012, 1040, 1041, 1042, 1100, 1130, 1135},
		Items:  []int64{20, 0, 32, 0, 2, 62, 0, 0},
		Refs:   []uint16{0, 1, 0, 2, 1, 0, NoSample, 3},
		Chunks: []Entry{home, first, second, last},
	}
}

func goldenSchema() *Schema {
	return &Schema{
		Tensors: []TensorSchema{
			{ID: id(0x31), Name: "images", HType: "image.rgb", DType: "uint8", Shape: tensor.Shape{-1, -1, 3}, Compression: "jpeg", Quality: 90, Subsampling: "4:2:0", ChunkBytes: DefaultChunk, Info: map[string]any{}},
			{ID: id(0x32), Name: "labels", HType: "class_label", DType: "uint32", Shape: tensor.Shape{}, Compression: "none", ChunkBytes: DefaultChunk, ClassNames: []string{"cat", "dog"}, Info: map[string]any{"source": "a <b> & c"}},
			{ID: id(0x33), Name: "notes", HType: "text", DType: "string", Compression: "zstd", ChunkBytes: DefaultChunk, Info: map[string]any{"n": json.Number("9007199254740993")}},
		},
		Info: map[string]any{"title": "Zürich"},
	}
}

func goldenOps() []Op {
	return []Op{
		{Op: OpAppend, Append: id(0x71), Start: 100, Rows: 20},
		{Op: OpAddTensor, Tensor: id(0x32)},
		{Op: OpDropTensor, Tensor: id(0x34)},
		{Op: OpRenameTensor, Tensor: id(0x31)},
		{Op: OpSetInfo},
		{Op: OpClassNames, Tensor: id(0x32), From: 1},
		{Op: OpUpdate, Tensor: id(0x31), Ranges: []RowRange{{3, 1}, {7, 10}}},
		{Op: OpDelete, Ranges: []RowRange{{0, 2}}},
		{Op: OpRewrite, Tensor: id(0x31)},
		{Op: OpRestore, Ranges: []RowRange{{5, 1}}},
	}
}

func goldenRecord() *Record {
	parent, deleted := id(0x0f), id(0xd0)
	return &Record{
		Dataset: id(0x11), UUID: id(0x10), Branch: id(0x22), Version: 5, Parent: &parent, Time: time.Date(2026, 11, 21, 7, 30, 0, 123456789, time.UTC),
		Author: "Ada", Message: "add the first photographs", Writer: "deeplake 0.1.0", Rows: 120, DeletedRows: 2, Deleted: &deleted,
		RowIDs: &Root{id(0xc0), 0}, Schema: goldenSchema(), Columns: map[UUID]Column{
			id(0x31): {Root: &Root{id(0xc1), 1}, Chunks: 1200, Bytes: 10_000_000_000, MinShape: tensor.Shape{100, 120, 3}, MaxShape: tensor.Shape{640, 480, 3}},
			id(0x32): {Root: &Root{id(0xc2), 0}, Chunks: 1, Bytes: 624, MinShape: tensor.Shape{}, MaxShape: tensor.Shape{}},
			id(0x33): {},
		},
		Ops: goldenOps(),
	}
}

// goldenChunk is a tiny whole chunk.
type goldenChunk struct {
	name   string
	blocks []string // as stored
	dir    *Directory
}

func (c goldenChunk) sizes() (sizes []int) {
	for _, b := range c.blocks {
		sizes = append(sizes, len(b))
	}
	return sizes
}

// crcs completes the directory.
func (c goldenChunk) crcs() goldenChunk {
	for _, b := range c.blocks {
		c.dir.BlockCRC = append(c.dir.BlockCRC, CRC([]byte(b)))
		if c.dir.BlockCodec != codec.None {
			c.dir.BlockBytes = append(c.dir.BlockBytes, int64(len(b)))
		}
	}
	return c
}

func (c goldenChunk) object() []byte {
	out := EncodeChunkHead(ChunkHead{Session: id(0x51), Ordinal: 7, Tensor: id(0x31)})
	for _, b := range c.blocks {
		out = append(out, b...)
	}
	raw := must(EncodeDirectory(c.dir))
	return append(out, must(sealTail(int64(len(out)), packNone, raw, len(raw)))...)
}

// arrays: three uint8 arrays in two shapes, two to a block.
func arrays() goldenChunk {
	return goldenChunk{"chunk-arrays", []string{"abcdefgh", "xyz"}, &Directory{DType: tensor.Uint8, FixedSize: -1, Items: 3, PerBlock: 2,
		Shapes: []ShapeRun{{2, tensor.Shape{2, 2}}, {1, tensor.Shape{3}}}}}.crcs()
}

// photos: files of a sample codec, each in a block of its own.
func photos() goldenChunk {
	return goldenChunk{"chunk-photos", []string{"<jpeg>", "<a larger jpeg>"}, &Directory{DType: tensor.Uint8, SampleCodec: codec.JPEG, FixedSize: -1, Items: 2, PerBlock: 1,
		Sizes: []int64{6, 15}, Shapes: []ShapeRun{{1, tensor.Shape{250, 250, 3}}, {1, tensor.Shape{375, 500, 3}}}}}.crcs()
}

// sequences: four strings in rows of 2, 0 and 2, in uneven blocks under zstd, of which the second
// did not shrink.
func sequences() goldenChunk {
	return goldenChunk{"chunk-sequence", []string{"<zstd>", "d"}, &Directory{DType: tensor.String, BlockCodec: codec.Zstd, FixedSize: -1, Items: 4, BlockItems: []int64{1, 3},
		Sizes: []int64{300, 1, 0, 0}, RowItems: []int64{2, 0, 2}}}.crcs()
}

// tile: the tile in the second row and last column of a sample of 5 x 8 cut into 2 x 3.
func tile() goldenChunk {
	return goldenChunk{"chunk-tile", []string{"abcdefgh"}, &Directory{DType: tensor.Uint16, FixedSize: -1, Items: 1, PerBlock: 1,
		Shapes: []ShapeRun{{1, tensor.Shape{2, 2}}}, Tile: &TileRef{Sample: tensor.Shape{5, 8}, Tile: tensor.Shape{2, 3}, Index: 5}}}.crcs()
}

// linked: two members of one archive and a file without a tag, in a row of two and a row of one.
func linked() goldenChunk {
	return goldenChunk{"chunk-linked", nil, &Directory{DType: tensor.Uint8, SampleCodec: codec.JPEG, FixedSize: -1, Items: 3,
		Shapes: []ShapeRun{{2, tensor.Shape{250, 250, 3}}, {1, tensor.Shape{375, 500, 3}}}, RowItems: []int64{2, 1},
		Links: &Links{
			Objects: []LinkObject{{"s3://lake/train-0.tar", "\"e1\"", 10240}, {"s3://lake/train/a.jpg", "", -1}},
			Ranges:  []LinkRange{{0, 512, 1000}, {0, 2048, 900}, {1, 0, 800}},
		}}}
}

// headed: the second of two videos is a part of a file, with a head of its own.
func headed() goldenChunk {
	return goldenChunk{"chunk-headed", nil, &Directory{DType: tensor.Bytes, FixedSize: -1, Items: 2,
		Links: &Links{
			Objects: []LinkObject{{"s3://lake/episodes.mp4", "\"e1\"", 10240}},
			Ranges:  []LinkRange{{0, 0, 10240}, {0, 2048, 900}},
			Heads:   LinkHeads{Data: []byte("head"), Ends: []uint32{0, 4}},
		}}}
}

// readChunk reads a whole chunk as a reader would and returns the object if every part checks.
func readChunk(data []byte) ([]byte, error) {
	if _, err := DecodeChunkHead(data); err != nil {
		return nil, err
	}
	trailer, err := DecodeTrailer(data[max(0, len(data)-ChunkTrailerBytes):], int64(len(data)))
	if err != nil {
		return nil, err
	}
	d, err := trailer.Directory(data[trailer.Offset : trailer.Offset+trailer.Stored])
	if err != nil {
		return nil, err
	}
	x := d.Index()
	for b := range x.Blocks() {
		at, n, _ := x.BlockRange(b)
		if CRC(data[at:at+n]) != x.CRC(b) {
			return nil, errs.New(errs.Corrupt, "block %d is damaged", b)
		}
	}
	return data, nil
}

func goldenPath(name string) string { return filepath.Join("testdata", name+".golden") }

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, g := range goldens() {
		t.Run(g.name, func(t *testing.T) {
			data, err := g.encode()
			if err != nil {
				t.Fatal(err)
			}
			if *rewrite {
				if err := os.WriteFile(goldenPath(g.name), []byte(dump(t, data, g.layout)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			text, err := os.ReadFile(goldenPath(g.name))
			if err != nil {
				t.Fatal(err)
			}
			stored := undump(t, string(text))
			if !g.frozen && !bytes.Equal(data, stored) {
				t.Errorf("encoded bytes differ from %s:\n%s", goldenPath(g.name), dump(t, data, g.layout))
			}
			if dump(t, stored, g.layout) != string(text) {
				t.Errorf("annotations of %s do not fit its bytes; run with -rewrite and look at the difference", goldenPath(g.name))
			}
			got, err := g.decode(stored)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, g.value) {
				t.Errorf("decoded\n got %+v\nwant %+v", got, g.value)
			}
		})
	}
}

func refusedRight(err error) bool {
	return errs.Is(err, errs.Corrupt) || errs.Is(err, errs.Unsupported)
}

// TestDamage cuts every golden object at every byte and flips every bit of it.
func TestDamage(t *testing.T) {
	t.Parallel()
	for _, g := range goldens() {
		t.Run(g.name, func(t *testing.T) {
			text, err := os.ReadFile(goldenPath(g.name))
			if err != nil {
				t.Fatal(err)
			}
			data := undump(t, string(text))
			for n := range data {
				if _, err := g.decode(data[:n:n]); !refusedRight(err) {
					t.Fatalf("cut to %d of %d bytes: %v", n, len(data), err)
				}
			}
			if _, err := g.decode(append(bytes.Clone(data), 0)); !refusedRight(err) {
				t.Fatalf("one byte more: %v", err)
			}
			for bit := range 8 * len(data) {
				bad := bytes.Clone(data)
				bad[bit/8] ^= 1 << (bit % 8)
				if _, err := g.decode(bad); !refusedRight(err) {
					t.Fatalf("bit %d of byte %d flipped: %v", bit%8, bit/8, err)
				}
			}
		})
	}
}

// TestOtherKinds gives every frame to every decoder of another kind.
func TestOtherKinds(t *testing.T) {
	t.Parallel()
	for _, g := range goldens() {
		for _, other := range goldens() {
			data, _ := g.encode()
			kind, _, _ := strings.Cut(g.name, "-")
			if strings.HasPrefix(other.name, kind) {
				continue
			}
			if _, err := other.decode(data); !refusedRight(err) {
				t.Errorf("%s taken for %s: %v", g.name, other.name, err)
			}
		}
	}
}
