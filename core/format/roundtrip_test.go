package format

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// same encodes want, decodes that, and compares.
func same[T any](t *testing.T, want T, encode func(T) ([]byte, error), decode func([]byte) (T, error)) []byte {
	t.Helper()
	data, err := encode(want)
	if err != nil {
		t.Fatalf("encode %+v: %v", want, err)
	}
	got, err := decode(data)
	if err != nil {
		t.Fatalf("decode %+v: %v", want, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("round trip:\n got %+v\nwant %+v", got, want)
	}
	return data
}

func TestRoundTrips(t *testing.T) {
	t.Parallel()
	t.Run("leaf", func(t *testing.T) {
		seeds(t, 200, func(t *testing.T, g *gen) { same(t, g.leaf(), EncodeLeaf, DecodeLeaf) })
	})
	t.Run("pieces", func(t *testing.T) {
		seeds(t, 200, func(t *testing.T, g *gen) { same(t, g.pieces(), EncodePieces, DecodePieces) })
	})
	t.Run("inner", func(t *testing.T) {
		seeds(t, 100, func(t *testing.T, g *gen) { same(t, g.inner(), EncodeInner, DecodeInner) })
	})
	t.Run("side", func(t *testing.T) {
		seeds(t, 100, func(t *testing.T, g *gen) { same(t, g.side(), EncodeSide, DecodeSide) })
	})
	t.Run("schema", func(t *testing.T) {
		seeds(t, 100, func(t *testing.T, g *gen) { same(t, g.schema(), EncodeSchema, DecodeSchema) })
	})
	t.Run("ops", func(t *testing.T) {
		seeds(t, 100, func(t *testing.T, g *gen) { same(t, g.ops(1000), EncodeOps, DecodeOps) })
	})
	t.Run("record", func(t *testing.T) {
		seeds(t, 300, func(t *testing.T, g *gen) { same(t, g.record(), EncodeRecord, DecodeRecord) })
	})
	t.Run("bitmap", func(t *testing.T) {
		seeds(t, 60, func(t *testing.T, g *gen) {
			want := g.bitmap()
			data, err := EncodeBitmap(want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := DecodeBitmap(data)
			if err != nil {
				t.Fatal(err)
			}
			if !got.Equals(want) {
				t.Fatalf("round trip changed a bitmap of %d rows into one of %d", want.GetCardinality(), got.GetCardinality())
			}
		})
	})
	t.Run("directory", func(t *testing.T) {
		seeds(t, 600, func(t *testing.T, g *gen) {
			want := g.directory()
			raw, err := EncodeDirectory(want)
			if err != nil {
				t.Fatalf("encode %+v: %v", want, err)
			}
			got, err := DecodeDirectory(raw)
			if err != nil {
				t.Fatalf("decode %+v: %v", want, err)
			}
			x := got.index
			if got.index = nil; !reflect.DeepEqual(got, want) {
				t.Fatalf("round trip:\n got %+v\nwant %+v", got, want)
			}
			checkIndex(t, want, x)
			checkIndex(t, want, want.Index())
		})
	})
	t.Run("chunk head", func(t *testing.T) {
		seeds(t, 20, func(t *testing.T, g *gen) {
			want := ChunkHead{g.uuid(), g.size(1 << 50), g.uuid()}
			if got, err := DecodeChunkHead(append(EncodeChunkHead(want), 1, 2, 3)); err != nil || got != want {
				t.Fatalf("got %+v, %v, want %+v", got, err, want)
			}
		})
	})
	t.Run("chunk tail", func(t *testing.T) {
		seeds(t, 200, func(t *testing.T, g *gen) {
			want := g.directory()
			raw, _ := EncodeDirectory(want)
			at := want.Index().End()
			tail, err := EncodeChunkTail(at, raw)
			if err != nil {
				t.Fatal(err)
			}
			size := at + int64(len(tail))
			trailer, err := DecodeTrailer(tail[len(tail)-ChunkTrailerBytes:], size)
			if err != nil {
				t.Fatal(err)
			}
			d, err := trailer.Directory(tail[:trailer.Stored])
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := EncodeDirectory(d); !bytes.Equal(again, raw) {
				t.Fatal("the directory changed")
			}
			if _, err := DecodeTrailer(tail[len(tail)-ChunkTrailerBytes:], size+1); !errs.Is(err, errs.Corrupt) {
				t.Fatalf("trailer of a chunk one byte too long: %v", err)
			}
			tail, _ = EncodeChunkTail(at+1, raw)
			trailer, _ = DecodeTrailer(tail[len(tail)-ChunkTrailerBytes:], size+1)
			if _, err := trailer.Directory(tail[:trailer.Stored]); !errs.Is(err, errs.Corrupt) {
				t.Fatalf("directory that leaves a gap behind the blocks: %v", err)
			}
		})
	})
}

// checkIndex compares every answer with the slow way.
func checkIndex(t *testing.T, d *Directory, x *Index) {
	t.Helper()
	if x.Linked() != (d.Links != nil) {
		t.Fatalf("linked: %v", x.Linked())
	}
	if d.Links != nil {
		checkLinks(t, d, x)
		checkRows(t, d, x)
		return
	}
	blocks := naiveBlocks(d)
	if x.Blocks() != len(blocks) || x.Items() != d.Items {
		t.Fatalf("%d blocks, %d items, want %d, %d", x.Blocks(), x.Items(), len(blocks), d.Items)
	}
	var shapes []tensor.Shape
	for _, run := range d.Shapes {
		for range run.Count {
			shapes = append(shapes, run.Shape)
		}
	}
	item, offset := int64(0), int64(ChunkHeadBytes)
	for b, items := range blocks {
		firstItem, inBlock := item, int64(0)
		for _, n := range items {
			if gb, gf := x.BlockOf(item); gb != b || gf != firstItem {
				t.Fatalf("item %d: block %d from %d, want %d from %d", item, gb, gf, b, firstItem)
			}
			if off, got := x.ItemInBlock(item); off != inBlock || got != n || x.ItemBytes(item) != n {
				t.Fatalf("item %d: %d at %d, want %d at %d", item, got, off, n, inBlock)
			}
			if d.DType.Fixed() != (x.Shape(item) != nil) || (shapes != nil && !x.Shape(item).Equal(shapes[item])) {
				t.Fatalf("item %d: shape %v", item, x.Shape(item))
			}
			inBlock += n
			item++
		}
		stored := inBlock
		if d.BlockBytes != nil {
			stored = d.BlockBytes[b]
		}
		if o, s, r := x.BlockRange(b); o != offset || s != stored || r != inBlock || x.BlockItems(b) != int64(len(items)) || x.CRC(b) != d.BlockCRC[b] {
			t.Fatalf("block %d: %d of %d at %d, want %d of %d at %d", b, s, r, o, stored, inBlock, offset)
		}
		offset += stored
	}
	if x.End() != offset {
		t.Fatalf("blocks end at %d, want %d", x.End(), offset)
	}
	checkRows(t, d, x)
}

func checkLinks(t *testing.T, d *Directory, x *Index) {
	t.Helper()
	if x.Blocks() != 0 || x.Items() != d.Items || x.End() != ChunkHeadBytes {
		t.Fatalf("%d blocks, %d items, end %d, want 0, %d, %d", x.Blocks(), x.Items(), x.End(), d.Items, ChunkHeadBytes)
	}
	for i, r := range d.Links.Ranges {
		o := d.Links.Objects[r.Object]
		want := Link{URL: o.URL, Tag: o.Tag, Size: o.Size, Offset: r.Offset, Length: r.Length, Head: d.Links.Heads.of(int64(i))}
		if got := x.Link(int64(i)); !reflect.DeepEqual(got, want) || x.ItemBytes(int64(i)) != r.Length+int64(len(want.Head)) || got.Bytes() != x.ItemBytes(int64(i)) {
			t.Fatalf("item %d: %+v of %d bytes, want %+v", i, got, x.ItemBytes(int64(i)), want)
		}
	}
}

func checkRows(t *testing.T, d *Directory, x *Index) {
	t.Helper()
	rows := d.RowItems
	if rows == nil {
		for range d.Items {
			rows = append(rows, 1)
		}
	}
	if x.Rows() != int64(len(rows)) || x.Sequence() != (d.RowItems != nil) {
		t.Fatalf("%d rows, want %d", x.Rows(), len(rows))
	}
	at := int64(0)
	for row, n := range rows {
		if f, c := x.RowItemsRange(int64(row)); f != at || c != n {
			t.Fatalf("row %d: %d items from %d, want %d from %d", row, c, f, n, at)
		}
		at += n
	}
}

func TestIndexMemory(t *testing.T) {
	t.Parallel()
	const n = 10_000
	sizes := make([]int64, n)
	for i := range sizes {
		sizes[i] = int64(9000 + i%1000)
	}
	images := &Directory{DType: tensor.Uint8, SampleCodec: 32, Items: n, Shapes: []ShapeRun{{n, tensor.Shape{250, 250, 3}}}, Sizes: sizes, PerBlock: 1, BlockCRC: make([]uint32, n)}
	arrays := &Directory{DType: tensor.Uint8, FixedSize: -1, Items: n, Shapes: []ShapeRun{{n, tensor.Shape{7}}}, PerBlock: 1000, BlockCRC: make([]uint32, 10)}
	if got := images.Index().MemoryBytes(); got > 12*n {
		t.Errorf("index of %d images takes %d bytes, want at most 12 an item", n, got)
	}
	if got := arrays.Index().MemoryBytes(); got > 1000 {
		t.Errorf("index of %d equal arrays in 10 blocks takes %d bytes, want at most 1000", n, got)
	}
}

// TestIndexAllocates holds lookups to none: they run for every sample.
func TestIndexAllocates(t *testing.T) { // not parallel: it counts allocations
	x := photos().dir.Index()
	var off int64
	if n := testing.AllocsPerRun(100, func() {
		block, _ := x.BlockOf(1)
		off, _, _ = x.BlockRange(block)
		_, _ = x.ItemInBlock(1)
		_, _ = x.RowItemsRange(1)
		_ = x.Shape(1)
	}); n != 0 || off == 0 {
		t.Errorf("a lookup allocates %v times, block at %d", n, off)
	}
}

// TestIndexLarge takes the path of offsets that do not fit 32 bits.
func TestIndexLarge(t *testing.T) {
	t.Parallel()
	d := &Directory{DType: tensor.Bytes, Items: 3, Sizes: []int64{3 << 30, 3 << 30, 5}, PerBlock: 1, BlockCRC: make([]uint32, 3)}
	checkIndex(t, d, d.Index())
	shapes := &Directory{DType: tensor.Int64, FixedSize: -1, Items: 3, Shapes: []ShapeRun{{2, tensor.Shape{1 << 30}}, {1, tensor.Shape{2}}}, BlockItems: []int64{1, 2}, BlockCRC: make([]uint32, 2)}
	checkIndex(t, shapes, shapes.Index())
}

func TestTSFRoundTrip(t *testing.T) {
	t.Parallel()
	same(t, TSF{UUID: id(1), Main: id(2)}, EncodeTSF, DecodeTSF)
	same(t, TSF{UUID: id(1), Main: id(2), Deleting: true}, EncodeTSF, DecodeTSF)
	same(t, TSF{UUID: id(1), Main: id(2), Deleting: true, Replaces: []UUID{id(3), id(4)}}, EncodeTSF, DecodeTSF)
	for _, bad := range [][]UUID{{{}}, {id(1)}, {id(3), id(3)}, make([]UUID, MaxReplaced+1)} {
		if _, err := EncodeTSF(TSF{UUID: id(1), Main: id(2), Replaces: bad}); !errs.Is(err, errs.Invalid) {
			t.Errorf("it replaces %v: %v", bad, err)
		}
	}
	if _, err := EncodeTSF(TSF{UUID: id(1)}); !errs.Is(err, errs.Invalid) {
		t.Errorf("zero main: %v", err)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	u := id(0xab)
	hex := strings.Repeat("ab", 16)
	for got, want := range map[string]string{
		TSFKey():                     "tsf.json",
		RecordKey(u, 0):              "log/" + hex + "/18446744073709551615",
		RecordKey(u, 1):              "log/" + hex + "/18446744073709551614",
		RecordKey(u, math.MaxUint64): "log/" + hex + "/00000000000000000000",
		MapKey(u):                    "map/" + hex,
		TxnKey(u):                    "txn/" + hex,
		DataKey(u, 0):                "data/" + hex + "/0",
		DataKey(u, 1234567890123):    "data/" + hex + "/1234567890123",
		RecordPrefix(u) + "|":        "log/" + hex + "/|",
		DataPrefix(u) + "|":          "data/" + hex + "/|",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, v := range []uint64{0, 1, 77, math.MaxUint64} {
		if b, got, err := ParseRecordKey(RecordKey(u, v)); err != nil || b != u || got != v {
			t.Errorf("version %d: %v %d %v", v, b, got, err)
		}
	}
	for _, key := range []string{"", "log/", "log/" + hex, "log/" + hex + "/1", "log/" + hex + "/99999999999999999999", "log/" + hex + "/+8446744073709551615",
		"map/" + hex + "/18446744073709551615", "log/" + strings.ToUpper(hex) + "/18446744073709551615", "log/log/" + hex + "/18446744073709551615", "log/" + hex + "/18446744073709551615/"} {
		if _, _, err := ParseRecordKey(key); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%q: %v, want corrupt", key, err)
		}
		if OurKey(key) {
			t.Errorf("%q is taken for ours", key)
		}
	}
	for _, key := range []string{
		TSFKey(), RecordKey(u, 7), MapKey(u), TxnKey(u), DataKey(u, 0), DataKey(u, math.MaxInt64), HintKey(u), ViewKey("é", 3),
		HeadKey("dev", 0), TagKey("v1"), BuriedTagKey("v1"), ExpiryKey(Expiry{u, 9}),
	} {
		if !OurKey(key) {
			t.Errorf("%q is not taken for ours", key)
		}
	}
	for _, key := range []string{
		"data", "tsf.json/x", "x/tsf.json", "map/" + hex + "0", "map/" + strings.ToUpper(hex), "txn/", "data/" + hex, "data/" + hex + "/01", "data/" + hex + "/-1",
		"data/" + hex + "/+1", "data/" + hex + "/9223372036854775808", "data/" + hex + "/1/2", "hint/x", "views/cats", "views/Cats.0", "refs/heads/main.0", "refs/heads/dev.00",
		"refs/tags/V1", "refs/expired/" + hex + "/1", "refs/dev.0", "Map/" + hex, "probe/x",
	} {
		if OurKey(key) {
			t.Errorf("%q is taken for ours", key)
		}
	}
}

func TestUUID(t *testing.T) {
	t.Parallel()
	u := NewUUID()
	if u == NewUUID() || u.IsZero() {
		t.Error("two uuids are the same, or one is zero")
	}
	if got, err := ParseUUID(u.String()); err != nil || got != u {
		t.Errorf("%v, %v, want %v", got, err, u)
	}
	text, err := json.Marshal(map[UUID]UUID{u: u})
	var back map[UUID]UUID
	if err != nil || json.Unmarshal(text, &back) != nil || back[u] != u {
		t.Errorf("json: %s %v", text, err)
	}
	for _, s := range []string{"", "ab", strings.Repeat("AB", 16), strings.Repeat("ag", 16), strings.Repeat("ab", 17)} {
		if _, err := ParseUUID(s); !errs.Is(err, errs.Invalid) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestSchemaClone(t *testing.T) {
	t.Parallel()
	s := &Schema{Tensors: []TensorSchema{{ID: id(1), Name: "a", Shape: tensor.Shape{1}, ClassNames: []string{"x"}, Info: map[string]any{"l": []any{map[string]any{"k": "v"}}}}}, Info: map[string]any{"i": "j"}}
	c := s.Clone()
	if !reflect.DeepEqual(s, c) {
		t.Fatalf("clone differs: %+v", c)
	}
	ct := c.Find("a")
	ct.Name, ct.Shape[0], ct.ClassNames[0] = "b", 2, "y"
	ct.Info["l"].([]any)[0].(map[string]any)["k"] = "w"
	c.Info["i"] = 1
	st := s.ByID(id(1))
	if st.Name != "a" || st.Shape[0] != 1 || st.ClassNames[0] != "x" || st.Info["l"].([]any)[0].(map[string]any)["k"] != "v" || s.Info["i"] != "j" {
		t.Errorf("a change of the clone reached the original: %+v", s)
	}
	if s.Find("b") != nil || s.ByID(id(2)) != nil || (*Schema)(nil).Clone() != nil {
		t.Error("found what is not there")
	}
}

func TestFrameCompresses(t *testing.T) {
	t.Parallel()
	dull := bytes.Repeat([]byte("abcd"), 1000)
	data, err := EncodeFrame(KindSide, dull)
	if err != nil || len(data) > 200 || data[6] != packZstd {
		t.Fatalf("%d bytes of pattern take %d, %v", len(dull), len(data), err)
	}
	if got, err := DecodeFrame(KindSide, data); err != nil || !bytes.Equal(got, dull) {
		t.Fatalf("round trip: %v", err)
	}
	noise := make([]byte, 4000)
	for i := range noise {
		noise[i] = byte(i * i * 7919 >> 7)
	}
	for i := range noise { // whitened, so that zstd gains nothing
		u := CRC(noise[:i+1])
		noise[i] ^= byte(u)
	}
	if data, err = EncodeFrame(KindSide, noise); err != nil || data[6] != packNone || len(data) != FrameHeadBytes+len(noise) {
		t.Fatalf("noise: %d bytes, codec %d, %v", len(data), data[6], err)
	}
}

func TestRecordNormalises(t *testing.T) {
	t.Parallel()
	r := &Record{Dataset: id(3), UUID: id(1), Branch: id(2), Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("x", 3600)), Schema: &Schema{}}
	data, err := EncodeRecord(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeRecord(data)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Time.Equal(r.Time) || got.Time.Location() != time.UTC || got.Columns == nil || got.Ops == nil || got.Schema.Tensors == nil || got.Schema.Info == nil {
		t.Errorf("got %+v", got)
	}
	r.Message = strings.Repeat("x", MaxRecordRaw)
	if _, err := EncodeRecord(r); !errs.Is(err, errs.Invalid) {
		t.Errorf("a record of 4 MiB: %v", err)
	}
}
