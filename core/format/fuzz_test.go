package format

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"runtime/metrics"
	"testing"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// Each decoder is fuzzed below the checksum of its frame, which no fuzzer guesses, and the
// checksums by themselves.

// seed adds the golden files whose name begins with one of the kinds: whole, or the payload alone.
func seed(f *testing.F, payload bool, kinds ...string) {
	f.Helper()
	for _, kind := range kinds {
		paths, err := filepath.Glob(goldenPath(kind))
		if err != nil || len(paths) == 0 {
			f.Fatalf("no golden file %q: %v", kind, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			data := undump(&testing.T{}, string(text))
			if payload && data[6] != packNone {
				continue
			}
			if payload {
				data = data[FrameHeadBytes:]
			}
			f.Add(data)
		}
	}
}

// allocated returns the bytes that the process has allocated so far.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// bounded fails if decode allocates out of proportion to data.
func bounded(t *testing.T, data []byte, decode func()) {
	t.Helper()
	before := allocated()
	decode()
	if n, limit := allocated()-before, uint64(8<<20+256*len(data)); n > limit {
		t.Fatalf("%d bytes allocated for %d", n, len(data))
	}
}

// stable is the invariant of all decoders: accepted data is encoded and decoded to the same value,
// and they refuse with Corrupt or Unsupported.
func stable[T any](t *testing.T, data []byte, decode func([]byte) (T, error), encode func(T) ([]byte, error)) (T, bool) {
	t.Helper()
	var v T
	var err error
	bounded(t, data, func() { v, err = decode(data) })
	if err != nil {
		return v, false
	}
	again, err := encode(v)
	if err != nil {
		t.Fatalf("encode what was decoded, %+v: %v", v, err)
	}
	back, err := decode(again)
	if err != nil {
		t.Fatalf("decode what was encoded, %+v: %v", v, err)
	}
	if !reflect.DeepEqual(v, back) {
		t.Fatalf("changed on the way:\n%+v\n%+v", v, back)
	}
	return v, true
}

func FuzzDecodeFrame(f *testing.F) {
	seed(f, false, "record*", "leaf*", "bitmap")
	f.Fuzz(func(t *testing.T, data []byte) {
		data = bytes.Clone(data)
		if len(data) >= FrameHeadBytes { // make the checksums right
			binary.LittleEndian.PutUint32(data[16:], CRC(data[FrameSaltAt:]))
			binary.LittleEndian.PutUint32(data[20:], CRC(data[:20]))
		}
		for _, k := range []Kind{KindRecord, KindLeaf, KindSchema} {
			if _, max := k.caps(); len(data) > 12 && int64(binary.LittleEndian.Uint32(data[8:])) > max {
				continue
			}
			payload, err := DecodeFrame(k, data)
			if err != nil {
				if !refusedRight(err) {
					t.Fatal(err)
				}
				continue
			}
			again, err := EncodeFrame(k, payload)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := DecodeFrame(k, again); err != nil || !bytes.Equal(back, payload) {
				t.Fatalf("payload of %d bytes changed on the way: %v", len(payload), err)
			}
		}
	})
}

func FuzzUnpack(f *testing.F) {
	codec, packed := pack(bytes.Repeat([]byte("0123456789abcdef"), 100))
	f.Add(codec, packed, uint32(1600))
	f.Add(codec, packed, uint32(1601))
	f.Fuzz(func(t *testing.T, codec byte, stored []byte, rawBytes uint32) {
		before := allocated()
		raw, err := unpack(codec, stored, int64(rawBytes))
		if n := allocated() - before; n > uint64(len(stored)+4)*zstdBlockRaw+4<<20 {
			t.Fatalf("%d bytes allocated for %d", n, len(stored))
		}
		if err == nil && len(raw) != int(rawBytes) || err != nil && !refusedRight(err) {
			t.Fatalf("%d bytes, want %d: %v", len(raw), rawBytes, err)
		}
	})
}

func FuzzDecodeTSF(f *testing.F) {
	seed(f, false, "tsf*")
	f.Fuzz(func(t *testing.T, data []byte) {
		stable(t, data, DecodeTSF, EncodeTSF)
		if at := bytes.Index(data, []byte(crcMember)); at >= 0 && len(data) >= at+len(crcMember)+8 {
			// make the checksum right
			fixed := []byte(nil)
			fixed = append(fixed, data[:at+len(crcMember)]...)
			fixed = append(fixed, []byte(hex8(CRC(data[:at])))...)
			stable(t, append(fixed, data[at+len(crcMember)+8:]...), DecodeTSF, EncodeTSF)
		}
	})
}

func hex8(v uint32) string {
	u := UUID{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}
	return u.String()[:8]
}

func FuzzDecodeRecord(f *testing.F) {
	seed(f, true, "record*")
	f.Fuzz(func(t *testing.T, data []byte) {
		stable(t, data, func(data []byte) (*Record, error) { return decodeRecord(data, frameHead{salt: id(0x11)}) }, (*Record).payload)
	})
}

func FuzzDecodeSchema(f *testing.F) {
	seed(f, true, "schema")
	f.Fuzz(func(t *testing.T, data []byte) {
		s, ok := stable(t, data, decodeSchema, func(s *Schema) ([]byte, error) { return marshal(s.stored()) })
		if ok && !reflect.DeepEqual(s, s.Clone()) {
			t.Fatalf("clone differs: %+v", s)
		}
	})
}

func FuzzDecodeOps(f *testing.F) {
	seed(f, true, "txn")
	f.Fuzz(func(t *testing.T, data []byte) {
		stable(t, data, decodeOps, func(ops []Op) ([]byte, error) { return marshal(ops) })
	})
}

func FuzzDecodeLeaf(f *testing.F) {
	seed(f, true, "leaf*")
	f.Fuzz(func(t *testing.T, data []byte) {
		l, ok := stable(t, data, decodeLeaf, encodeLeaf)
		for i := 1; ok && i < len(l.Entries); i++ {
			if a, b := l.Entries[i-1], l.Entries[i]; a.Rows < 1 || a.Row+a.Rows > b.Row {
				t.Fatalf("entry %d overlaps the one before: %+v", i, l)
			}
		}
	})
}

func FuzzDecodePieces(f *testing.F) {
	seed(f, true, "pieces")
	f.Fuzz(func(t *testing.T, data []byte) {
		p, ok := stable(t, data, decodePieces, func(p Pieces) ([]byte, error) {
			payload, _, err := encodePieces(p)
			return payload, err
		})
		for i := 0; ok && i < len(p.Refs); i++ {
			if p.Rows[i] >= p.Rows[i+1] || p.Refs[i] != NoSample && int(p.Refs[i]) >= len(p.Chunks) {
				t.Fatalf("place %d: %+v", i, p)
			}
		}
	})
}

func FuzzDecodeInner(f *testing.F) {
	seed(f, true, "inner")
	f.Fuzz(func(t *testing.T, data []byte) {
		stable(t, data, decodeInner, encodeInner)
	})
}

func FuzzDecodeColumns(f *testing.F) {
	seed(f, true, "columns*")
	f.Fuzz(func(t *testing.T, payload []byte) {
		stable(t, payload, decodeColumns, encodeColumns)
	})
}

func FuzzDecodeSide(f *testing.F) {
	seed(f, true, "side")
	f.Fuzz(func(t *testing.T, data []byte) {
		dirs, ok := stable(t, data, decodeSide, encodeSide)
		total := 0
		for _, d := range dirs {
			total += len(d)
		}
		if ok && total >= len(data) {
			t.Fatalf("%d bytes of directories in %d", total, len(data))
		}
	})
}

func FuzzDecodeBitmap(f *testing.F) {
	seed(f, true, "bitmap")
	f.Fuzz(func(t *testing.T, data []byte) {
		var b *roaring64.Bitmap
		var err error
		bounded(t, data, func() { b, err = decodeBitmap(data) })
		if err != nil {
			return
		}
		again, err := encodeBitmap(b)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := decodeBitmap(again); err != nil || !back.Equals(b) {
			t.Fatalf("bitmap of %d rows changed on the way: %v", b.GetCardinality(), err)
		}
		if n := b.GetCardinality(); n > 0 && (!b.Contains(b.Maximum()) || b.Rank(b.Maximum()) != n) {
			t.Fatalf("bitmap of %d rows does not hold together", n)
		}
	})
}

func FuzzDecodeDirectory(f *testing.F) {
	for _, c := range []goldenChunk{arrays(), photos(), sequences(), tile(), linked(), headed()} {
		f.Add(must(EncodeDirectory(c.dir)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var d *Directory
		var err error
		bounded(t, data, func() { d, err = DecodeDirectory(data) })
		if err != nil {
			if !refusedRight(err) {
				t.Fatal(err)
			}
			return
		}
		again, err := EncodeDirectory(d)
		if err != nil {
			t.Fatalf("encode what was decoded, %+v: %v", d, err)
		}
		back, err := DecodeDirectory(again)
		if err != nil {
			t.Fatal(err)
		}
		twice, _ := EncodeDirectory(back)
		if !bytes.Equal(again, twice) {
			t.Fatalf("changed on the way:\n%x\n%x", again, twice)
		}
		probe(t, d.Index())
		probe(t, back.Index())
	})
}

// probe asks the index for the first and last few of everything and holds the answers against each
// other.
func probe(t *testing.T, x *Index) {
	ends := func(n int64, f func(i int64)) {
		for i := range min(n, 50) {
			f(i)
			f(n - 1 - i)
		}
	}
	ends(int64(x.Blocks()), func(b int64) {
		at, stored, raw := x.BlockRange(int(b))
		if at < ChunkHeadBytes || stored < 0 || stored > raw || at+stored > x.End() || x.BlockItems(int(b)) < 1 || x.End() > ChunkHeadBytes+MaxObjectBytes {
			t.Fatalf("block %d: %d of %d at %d, end %d", b, stored, raw, at, x.End())
		}
		x.CRC(int(b))
	})
	ends(x.Items(), func(i int64) {
		if x.Linked() {
			l := x.Link(i)
			if l.Length < 1 || l.Offset < 0 || l.Offset+l.Length > MaxObjectBytes || (l.Size >= 0 && l.Offset+l.Length > l.Size) || l.URL == "" || x.ItemBytes(i) != l.Bytes() {
				t.Fatalf("item %d: %+v", i, l)
			}
			return
		}
		b, firstItem := x.BlockOf(i)
		off, n := x.ItemInBlock(i)
		_, _, raw := x.BlockRange(b)
		if firstItem > i || i >= firstItem+x.BlockItems(b) || off < 0 || n < 0 || off+n > raw || n != x.ItemBytes(i) {
			t.Fatalf("item %d: %d at %d in block %d of %d from %d", i, n, off, b, raw, firstItem)
		}
		if x.DType().Fixed() {
			if want, err := x.Shape(i).Bytes(x.DType()); err != nil || (x.SampleCodec() == 0 && want != n) {
				t.Fatalf("item %d: %d bytes for shape %s: %v", i, n, x.Shape(i), err)
			}
		}
	})
	ends(x.Rows(), func(row int64) {
		if f, n := x.RowItemsRange(row); f < 0 || n < 0 || f+n > x.Items() {
			t.Fatalf("row %d: %d items from %d of %d", row, n, f, x.Items())
		}
	})
}

func FuzzDecodeChunkHead(f *testing.F) {
	f.Add(EncodeChunkHead(ChunkHead{id(1), 7, id(2)}))
	f.Fuzz(func(t *testing.T, data []byte) {
		data = bytes.Clone(data)
		if len(data) >= ChunkHeadBytes {
			binary.LittleEndian.PutUint32(data[60:], CRC(data[:60]))
		}
		h, err := DecodeChunkHead(data)
		if err != nil {
			if !refusedRight(err) {
				t.Fatal(err)
			}
			return
		}
		if !bytes.Equal(EncodeChunkHead(h), data[:ChunkHeadBytes]) {
			t.Fatalf("head %x is written as %x", data[:ChunkHeadBytes], EncodeChunkHead(h))
		}
	})
}

// FuzzDecodeTrailer takes the tail of a chunk, directory and trailer, and makes the checksums
// right.
func FuzzDecodeTrailer(f *testing.F) {
	for _, c := range []goldenChunk{arrays(), sequences(), linked(), headed()} {
		raw := must(EncodeDirectory(c.dir))
		f.Add(must(EncodeChunkTail(c.dir.Index().End(), raw)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < ChunkTrailerBytes {
			return
		}
		data = bytes.Clone(data)
		stored, last := data[:len(data)-ChunkTrailerBytes], data[len(data)-ChunkTrailerBytes:]
		binary.LittleEndian.PutUint32(last[20:], CRC(stored))
		binary.LittleEndian.PutUint32(last[24:], CRC(last[:24]))
		size := int64(binary.LittleEndian.Uint32(last)) + int64(len(data))
		tr, err := DecodeTrailer(last, size)
		if err == nil {
			var d *Directory
			if d, err = tr.Directory(stored); err == nil && d.Index().End() != tr.Offset {
				t.Fatalf("blocks end at %d, want %d", d.Index().End(), tr.Offset)
			}
		}
		if err != nil && !refusedRight(err) {
			t.Fatal(err)
		}
	})
}

func FuzzParseRecordKey(f *testing.F) {
	f.Add(RecordKey(id(1), 5))
	f.Fuzz(func(t *testing.T, key string) {
		b, v, err := ParseRecordKey(key)
		if err == nil && RecordKey(b, v) != key {
			t.Fatalf("%q is read as %s, %d", key, b, v)
		}
	})
}

func FuzzDecodeView(f *testing.F) {
	seed(f, true, "view*")
	f.Add([]byte("\x10{\"deleted\":true}\x00"))
	f.Fuzz(func(t *testing.T, payload []byte) {
		for _, b := range bindings {
			stable(t, payload, func(data []byte) (View, error) { return decodeView(data, b, nil) }, func(v View) ([]byte, error) { return encodeView(v, b, func() bool { return false }) })
		}
	})
}
