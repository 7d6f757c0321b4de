package format

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"runtime"
	"strings"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// edit replaces one occurrence of old, which must exist.
func edit(t *testing.T, text []byte, old, repl string) []byte {
	t.Helper()
	if !bytes.Contains(text, []byte(old)) {
		t.Fatalf("fixture lacks %q", old)
	}
	return bytes.Replace(text, []byte(old), []byte(repl), 1)
}

// TestStrictRecord edits the payload of a right record.
func TestStrictRecord(t *testing.T) {
	t.Parallel()
	payload, err := goldenRecord().payload()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decodeRecord(payload, frameHead{salt: id(0x11)}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, old, repl string
		want            errs.Kind
	}{
		{"newer version", `"format":2`, `"format":3`, errs.Unsupported},
		{"earlier version", `"format":2`, `"format":1`, errs.Unsupported},
		{"version as text", `"format":2`, `"format":"2"`, errs.Corrupt},
		{"version 2.0", `"format":2`, `"format":2.0`, errs.Corrupt},
		{"version 02", `"format":2`, `"format":02`, errs.Corrupt},
		{"no version", `"format":2,`, ``, errs.Corrupt},
		{"feature", `"features":[]`, `"features":["x"]`, errs.Unsupported},
		{"null features", `"features":[]`, `"features":null`, errs.Corrupt},
		{"null in features", `"features":[]`, `"features":[null]`, errs.Corrupt},
		{"unknown member", `"author":`, `"x":1,"author":`, errs.Corrupt},
		{"missing member", `"author":"Ada",`, ``, errs.Corrupt},
		{"repeated member", `"author":"Ada",`, `"author":"Ada","author":"Ada",`, errs.Corrupt},
		{"member in upper case", `"author":`, `"Author":`, errs.Corrupt},
		{"null text", `"author":"Ada"`, `"author":null`, errs.Corrupt},
		{"number for text", `"author":"Ada"`, `"author":1`, errs.Corrupt},
		{"not UTF-8", `Ada`, "\xff", errs.Corrupt},
		{"behind the value", `"txn":null}`, `"txn":null}{}`, errs.Corrupt},
		{"short uuid", `"uuid":"10`, `"uuid":"`, errs.Corrupt},
		{"upper-case uuid", `0f0f`, `0F0f`, errs.Corrupt},
		{"zero uuid", strings.Repeat("22", 16), strings.Repeat("00", 16), errs.Corrupt},
		{"no parent", `"parent":"` + strings.Repeat("0f", 16) + `"`, `"parent":null`, errs.Corrupt},
		{"base in record 5", `"base":null`, `"base":{"branch":"` + strings.Repeat("ab", 16) + `","version":1}`, errs.Corrupt},
		{"merged without version", `"merged":null`, `"merged":{"branch":"` + strings.Repeat("ab", 16) + `"}`, errs.Corrupt},
		{"negative version", `"version":5`, `"version":-5`, errs.Corrupt},
		{"time with offset", `123456789Z`, `123456789+00:00`, errs.Corrupt},
		{"time in milliseconds", `123456789Z`, `123Z`, errs.Corrupt},
		{"impossible time", `2026-11-21`, `2026-02-30`, errs.Corrupt},
		{"negative rows", `"rows":120`, `"rows":-1`, errs.Corrupt},
		{"huge rows", `"rows":120`, `"rows":99999999999999999999`, errs.Corrupt},
		{"rows over the cap", `"rows":120`, `"rows":72057594037927937`, errs.Corrupt},
		{"more deleted than rows", `"deleted_rows":2`, `"deleted_rows":121`, errs.Corrupt},
		{"deleted without a page", `"deleted":"` + strings.Repeat("d0", 16) + `"`, `"deleted":null`, errs.Corrupt},
		{"high root", `"height":1`, `"height":9`, errs.Corrupt},
		{"root with more members", `"height":1`, `"height":1,"x":1`, errs.Corrupt},
		{"schema and page", `"schema_page":null`, `"schema_page":"` + strings.Repeat("ab", 16) + `"`, errs.Corrupt},
		{"ops and txn", `"txn":null`, `"txn":"` + strings.Repeat("ab", 16) + `"`, errs.Corrupt},
		{"column of no tensor", `"` + strings.Repeat("32", 16) + `":{`, `"` + strings.Repeat("35", 16) + `":{`, errs.Corrupt},
		{"column by name", `"` + strings.Repeat("32", 16) + `":{`, `"labels":{`, errs.Corrupt},
		{"chunks without a root", `"root":null,"chunks":0`, `"root":null,"chunks":1`, errs.Corrupt},
		{"bounds turned round", `"min_shape":[100,`, `"min_shape":[641,`, errs.Corrupt},
		{"bounds of other axes", `"min_shape":[100,`, `"min_shape":[`, errs.Corrupt},
		{"half bounds", `"min_shape":[100,120,3]`, `"min_shape":null`, errs.Corrupt},
		{"unknown dtype", `"dtype":"uint8"`, `"dtype":"uint9"`, errs.Unsupported},
		{"unknown compression", `"compression":"jpeg"`, `"compression":"jxl"`, errs.Unsupported},
		{"unknown subsampling", `4:2:0`, `4:1:1`, errs.Unsupported},
		{"quality", `"quality":90`, `"quality":101`, errs.Corrupt},
		{"chunk_bytes", `"chunk_bytes":8388608`, `"chunk_bytes":0`, errs.Corrupt},
		{"no name", `"name":"images"`, `"name":""`, errs.Corrupt},
		{"long name", `"name":"images"`, `"name":"` + strings.Repeat("i", 256) + `"`, errs.Corrupt},
		{"name twice", `"name":"labels"`, `"name":"images"`, errs.Corrupt},
		{"tensor twice", `"id":"` + strings.Repeat("32", 16), `"id":"` + strings.Repeat("31", 16), errs.Corrupt},
		{"no htype", `"htype":"text"`, `"htype":""`, errs.Corrupt},
		{"axis below -1", `[-1,-1,3]`, `[-2,-1,3]`, errs.Corrupt},
		{"null axis", `[-1,-1,3]`, `[null,-1,3]`, errs.Corrupt},
		{"too many axes", `[-1,-1,3]`, `[` + strings.Repeat("1,", 32) + `1]`, errs.Corrupt},
		{"null class name", `["cat",`, `[null,`, errs.Corrupt},
		{"null info", `"info":{"n":9007199254740993}`, `"info":null`, errs.Corrupt},
		{"info that is a list", `"info":{"n":9007199254740993}`, `"info":[]`, errs.Corrupt},
		{"repeated name in info", `{"n":9007199254740993}`, `{"n":1,"n":1}`, errs.Corrupt},
		{"deep info", `{"n":9007199254740993}`, strings.Repeat(`{"n":`, 70) + "1" + strings.Repeat("}", 70), errs.Corrupt},
		{"unknown operation", `{"op":"set_info"}`, `{"op":"vacuum"}`, errs.Unsupported},
		{"member of another operation", `{"op":"set_info"}`, `{"op":"set_info","from":1}`, errs.Corrupt},
		{"operation without its member", `,"from":1`, ``, errs.Corrupt},
		{"empty append", `"start":100,"rows":20`, `"start":100,"rows":0`, errs.Corrupt},
		{"append behind the rows", `"start":100,"rows":20`, `"start":100,"rows":21`, errs.Corrupt},
		{"no ranges", `"ranges":[[0,2]]`, `"ranges":[]`, errs.Corrupt},
		{"null ranges", `"ranges":[[0,2]]`, `"ranges":null`, errs.Corrupt},
		{"range of three", `[[0,2]]`, `[[0,2,1]]`, errs.Corrupt},
		{"null in a range", `[[0,2]]`, `[[null,2]]`, errs.Corrupt},
		{"empty range", `[[0,2]]`, `[[0,0]]`, errs.Corrupt},
		{"overlapping ranges", `[[3,1],[7,10]]`, `[[3,5],[7,10]]`, errs.Corrupt},
		{"range behind the rows", `[[3,1],[7,10]]`, `[[3,1],[7,114]]`, errs.Corrupt},
		{"range that overflows", `[[3,1],[7,10]]`, `[[3,1],[7,9223372036854775807]]`, errs.Corrupt},
		{"neither ops nor txn", `"ops":[`, `"ops":null,"x":[`, errs.Corrupt},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := edit(t, payload, c.old, c.repl)
			data, err := EncodeFrame(KindRecord, bad)
			if err != nil {
				t.Fatal(err)
			}
			SetSalt(data, id(0x11))
			if _, err := DecodeRecord(data); !errs.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestStrictTSF(t *testing.T) {
	t.Parallel()
	good, _ := EncodeTSF(TSF{UUID: id(1), Main: id(2)})
	for _, c := range []struct {
		name, old, repl string
		want            errs.Kind
	}{
		{"newer version", `"format":2`, `"format":3`, errs.Unsupported},
		{"earlier version", `"format":2`, `"format":1`, errs.Unsupported},
		{"feature", `"features":[]`, `"features":["zip"]`, errs.Unsupported},
		{"feature twice", `"features":[]`, `"features":["deleting","deleting"]`, errs.Unsupported},
		{"replaces nothing", `"features"`, `"replaces":[],"features"`, errs.Corrupt},
		{"member", `"features"`, `"x":1,"features"`, errs.Corrupt},
		{"checksum", `"crc":"`, `"crc":"0`, errs.Corrupt},
		{"space behind the checksum", `"}`, `" }`, errs.Corrupt},
		{"no newline", "}\n", "}", errs.Corrupt},
		{"other main", "0202", "0302", errs.Corrupt},
	} {
		if _, err := DecodeTSF(edit(t, good, c.old, c.repl)); !errs.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := DecodeTSF(append(bytes.Repeat([]byte(" "), maxTSFBytes), good...)); !errs.Is(err, errs.Corrupt) {
		t.Errorf("64 KiB of spaces: %v", err)
	}
}

// rehead changes a byte of a frame's head and makes the checksum right again.
func rehead(data []byte, at int, v byte) []byte {
	data = bytes.Clone(data)
	data[at] = v
	binary.LittleEndian.PutUint32(data[20:], CRC(data[:20]))
	return data
}

// flipped is data with one bit of a byte turned round.
func flipped(data []byte, at int) []byte {
	data = bytes.Clone(data)
	data[at] ^= 1
	return data
}

func TestStrictFrame(t *testing.T) {
	t.Parallel()
	good, _ := EncodeFrame(KindLeaf, []byte("payload"))
	for _, c := range []struct {
		name string
		data []byte
		want errs.Kind
	}{
		{"newer version", rehead(good, 5, 3), errs.Unsupported},
		{"version 0", rehead(good, 5, 0), errs.Unsupported},
		{"version 1", rehead(good, 5, 1), errs.Unsupported},
		{"zero salt", salted(bytes.Clone(good), UUID{}), errs.Corrupt},
		{"flipped salt", flipped(good, FrameSaltAt), errs.Corrupt},
		{"only the first part of the head", good[:FrameSaltAt], errs.Corrupt},
		{"unknown kind", rehead(good, 4, 'Q'), errs.Unsupported},
		{"other kind", rehead(good, 4, 'N'), errs.Corrupt},
		{"unknown compression", rehead(good, 6, 1), errs.Unsupported},
		{"reserved byte", rehead(good, 7, 1), errs.Unsupported},
		{"raw bytes without compression", rehead(good, 8, 6), errs.Corrupt},
		{"raw bytes over the cap", rehead(good, 11, 1), errs.Corrupt},
		{"stored bytes", rehead(good, 12, 6), errs.Corrupt},
		{"not zstd", rehead(good, 6, 2), errs.Corrupt},
	} {
		if _, err := DecodeFrame(KindLeaf, c.data); !errs.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := EncodeFrame(KindLeaf, make([]byte, MaxPageRaw+1)); !errs.Is(err, errs.Invalid) {
		t.Errorf("payload over the cap: %v", err)
	}
	if _, err := EncodeFrame('Q', nil); !errs.Is(err, errs.Invalid) {
		t.Errorf("unknown kind: %v", err)
	}
}

// TestZstdLies has frames whose head or whose zstd frame announces another size than it has.
func TestZstdLies(t *testing.T) { // not parallel: it reads the allocations of the process
	dull := bytes.Repeat([]byte{7}, 1<<20)
	_, packed := pack(dull)
	for name, rawBytes := range map[string]int64{"less": 1<<20 - 1, "more": 1<<20 + 1, "much more": MaxSideRaw} {
		if _, err := unpack(packZstd, packed, rawBytes); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := unpack(packZstd, packed[:16], MaxBlobRaw); !errs.Is(err, errs.Corrupt) {
		t.Errorf("1 GiB in 16 bytes: %v", err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("1 GiB announced in 16 bytes costs %d bytes", n)
	}
}

// TestStrictPages gives binary payloads that differ from right ones in one place.
func TestStrictPages(t *testing.T) {
	t.Parallel()
	u := strings.Repeat("51", 16)
	page := strings.Repeat("a1", 16)
	leaf := func(b []byte) error { _, err := decodeLeaf(b); return err }
	inner := func(b []byte) error { _, err := decodeInner(b); return err }
	side := func(b []byte) error { _, err := decodeSide(b); return err }
	bitmap := func(b []byte) error { _, err := decodeBitmap(b); return err }
	for _, c := range []struct {
		name, hex string
		decode    func([]byte) error
		want      errs.Kind // 0: right
	}{
		{"leaf", "01 00 01" + u + "00 01 0202 6410", leaf, 0},
		{"leaf: no entries", "00 00 01" + u + "00 00", leaf, errs.Corrupt},
		{"leaf: no sessions", "01 00 00 00 01 0202 6410", leaf, errs.Corrupt},
		{"leaf: zero session", "01 00 01" + strings.Repeat("00", 16) + "00 01 0202 6410", leaf, errs.Corrupt},
		{"leaf: long uvarint", "8100 00 01" + u + "00 01 0202 6410", leaf, errs.Corrupt},
		{"leaf: uvarint without end", "01 00 01" + u + "00 01 0202 8080", leaf, errs.Corrupt},
		{"leaf: too many entries", "8108 00 01" + u + "00 01 0202 6410", leaf, errs.Corrupt},
		{"leaf: more sessions than entries", "01 00 02" + u + page + "00 01 0202 6410", leaf, errs.Corrupt},
		{"leaf: column 11", "01 00 01" + u + "00 01 0b02 6410", leaf, errs.Unsupported},
		{"leaf: column 0", "01 00 01" + u + "00 01 0002 6410", leaf, errs.Corrupt},
		{"leaf: columns fall", "01 00 01" + u + "00 02 0301 0202 01 6410", leaf, errs.Corrupt},
		{"leaf: column twice", "01 00 01" + u + "00 02 0202 0202 6410 6410", leaf, errs.Corrupt},
		{"leaf: column of zeros", "01 00 01" + u + "00 02 0202 0301 6410 00", leaf, errs.Corrupt},
		{"leaf: column too long", "01 00 01" + u + "00 01 0203 641000", leaf, errs.Corrupt},
		{"leaf: column behind the end", "01 00 01" + u + "00 01 0203 6410", leaf, errs.Corrupt},
		{"leaf: gap before the first", "01 00 01" + u + "00 02 0101 0202 05 6410", leaf, errs.Corrupt},
		{"leaf: no rows", "01 00 01" + u + "00 01 0301 05", leaf, errs.Corrupt},
		{"leaf: rows in a plane", "01 00 01" + u + "00 01 0203 641102", leaf, 0},
		{"leaf: plane of zeros", "01 00 01" + u + "00 01 0203 641100", leaf, errs.Corrupt},
		{"leaf: nine planes", "01 00 01" + u + "00 01 020b 6419" + "010101010101010101", leaf, errs.Corrupt},
		{"leaf: plane cut off", "01 00 01" + u + "00 01 0203 641201", leaf, errs.Corrupt},
		{"leaf: planes with a sign", "01 00 01" + u + "00 01 0203 640102", leaf, errs.Corrupt},
		{"leaf: another flag of planes", "01 00 01" + u + "00 01 0203 642101", leaf, errs.Corrupt},
		{"leaf: difference over the cap", "01 00 01" + u + "00 01 020a 6418" + "ffffffffffffffff", leaf, errs.Corrupt},
		{"leaf: row over the cap", "01 ffffffffffffffffff01 01" + u + "00 01 0202 6410", leaf, errs.Corrupt},
		{"leaf: session 1 of 1", "01 00 01" + u + "00 02 0202 0401 6410 01", leaf, errs.Corrupt},
		{"leaf: side page 1 of 0", "01 00 01" + u + "00 02 0202 0701 6410 01", leaf, errs.Corrupt},
		{"leaf: slot without a side page", "01 00 01" + u + "00 02 0202 0801 6410 02", leaf, errs.Corrupt},
		{"leaf: negative ordinal", "01 00 01" + u + "00 02 0202 0501 6410 01", leaf, errs.Corrupt},
		{"leaf: tiles for many rows", "01 00 01" + u + "00 02 0202 0901 6410 02", leaf, errs.Corrupt},
		{"leaf: tiles", "01 00 01" + u + "00 02 0202 0901 0110 02", leaf, 0},
		{"leaf: statistics", "01 00 01" + u + "00 02 0202 0a05 0110 04 02010203", leaf, 0},
		{"leaf: empty statistics in one byte", "01 00 01" + u + "00 02 0202 0a02 0110 01 00", leaf, errs.Corrupt},
		{"leaf: flags of statistics", "01 00 01" + u + "00 02 0202 0a02 0110 01 04", leaf, errs.Unsupported},
		{"leaf: statistics turned round", "01 00 01" + u + "00 02 0202 0a05 0110 04 02010302", leaf, errs.Corrupt},
		{"leaf: statistics too long", "01 00 01" + u + "00 02 0202 0a06 0110 05 0201020300", leaf, errs.Corrupt},
		{"inner", "01 01 00 05" + page, inner, 0},
		{"inner: height 0", "00 01 00 05" + page, inner, errs.Corrupt},
		{"inner: height 9", "09 01 00 05" + page, inner, errs.Corrupt},
		{"inner: no children", "01 00", inner, errs.Corrupt},
		{"inner: no entries below", "01 01 00 00" + page, inner, errs.Corrupt},
		{"inner: zero page", "01 01 00 05" + strings.Repeat("00", 16), inner, errs.Corrupt},
		{"inner: rows stand still", "01 02 05 00 01 01" + page + page, inner, errs.Corrupt},
		{"inner: more", "01 01 00 05" + page + "00", inner, errs.Corrupt},
		{"side", "02 01 02 aabbcc", side, 0},
		{"side: no slots", "00", side, errs.Corrupt},
		{"side: empty slot", "02 00 03 aabbcc", side, errs.Corrupt},
		{"side: too short", "02 01 03 aabbcc", side, errs.Corrupt},
		{"side: too long", "02 01 01 aabbcc", side, errs.Corrupt},
		{"side: a million slots", "808040 01", side, errs.Corrupt},
		{"bitmap: empty", "0000000000000000", bitmap, 0},
		{"bitmap: many parts", "ffffffffffffff7f 00000000", bitmap, errs.Corrupt},
		{"bitmap", "0100000000000000 00000000 3a300000 01000000 0000 0000 10000000 0700", bitmap, 0},
		{"bitmap: row over the cap", "0100000000000000 00000001 3a300000 01000000 0000 0000 10000000 0700", bitmap, errs.Corrupt},
		{"bitmap: cookie", "0100000000000000 00000000 39300000 01000000 0000 0000 10000000 0700", bitmap, errs.Corrupt},
		{"bitmap: offset", "0100000000000000 00000000 3a300000 01000000 0000 0000 11000000 0700", bitmap, errs.Corrupt},
		{"bitmap: no containers", "0100000000000000 00000000 3a300000 00000000", bitmap, errs.Corrupt},
		{"bitmap: too many containers", "0100000000000000 00000000 3a300000 ffffffff", bitmap, errs.Corrupt},
		{"bitmap: values fall", "0100000000000000 00000000 3a300000 01000000 0000 0100 10000000 0700 0600", bitmap, errs.Corrupt},
		{"bitmap: run", "0100000000000000 00000000 3b300000 01 0000 0300 0100 0500 0300", bitmap, 0},
		{"bitmap: run of wrong cardinality", "0100000000000000 00000000 3b300000 01 0000 0200 0100 0500 0300", bitmap, errs.Corrupt},
		{"bitmap: run behind the end", "0100000000000000 00000000 3b300000 01 0000 0300 0100 feff 0300", bitmap, errs.Corrupt},
		{"bitmap: flags of no container", "0100000000000000 00000000 3b300000 03 0000 0300 0100 0500 0300", bitmap, errs.Corrupt},
		{"bitmap: keys fall", "0200000000000000 01000000 3a300000 01000000 0000 0000 10000000 0700 00000000 3a300000 01000000 0000 0000 10000000 0700", bitmap, errs.Corrupt},
	} {
		data, err := hex.DecodeString(strings.ReplaceAll(c.hex, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if err = damaged(c.name, c.decode(data)); (err != nil) != (c.want != 0) || (err != nil && !errs.Is(err, c.want)) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

// TestStrictEncoders gives encoders what decoders would refuse.
func TestStrictEncoders(t *testing.T) {
	t.Parallel()
	u := id(1)
	encode := func(_ []byte, err error) error { return err }
	record := func(change func(*Record)) error {
		r := goldenRecord()
		change(r)
		return encode(EncodeRecord(r))
	}
	entry := func(e Entry) error { return encode(EncodeLeaf(Leaf{[]Entry{e}})) }
	pieces := func(change func(*Pieces)) error {
		p := goldenPieces()
		change(&p)
		return encode(EncodePieces(p))
	}
	many := Pieces{Rows: make([]int64, MaxPieces+2), Items: make([]int64, MaxPieces+1), Refs: make([]uint16, MaxPieces+1), Chunks: []Entry{{Rows: 1, Session: u}}}
	for i := range many.Rows {
		many.Rows[i] = int64(i)
	}
	far := roaring64.BitmapOf(MaxRows)
	for name, err := range map[string]error{
		"leaf without entries":  encode(EncodeLeaf(Leaf{})),
		"leaf of 1025":          encode(EncodeLeaf(Leaf{make([]Entry, 1025)})),
		"entry without rows":    entry(Entry{Session: u}),
		"entry without session": entry(Entry{Rows: 1}),
		"negative row":          entry(Entry{Row: -1, Rows: 1, Session: u}),
		"rows overflow":         entry(Entry{Row: MaxRows, Rows: 1 << 62, Session: u}),
		"slot without side":     entry(Entry{Rows: 1, Session: u, Slot: 1}),
		"tiles with rows":       entry(Entry{Rows: 2, Session: u, Tiles: 1}),
		"half statistics":       entry(Entry{Rows: 1, Session: u, Stats: Stats{MinShape: tensor.Shape{1}}}),
		"minimum without range": entry(Entry{Rows: 1, Session: u, Stats: Stats{Min: 1}}),
		"overlapping entries":   encode(EncodeLeaf(Leaf{[]Entry{{Rows: 5, Session: u}, {Row: 4, Rows: 1, Session: u}}})),
		"pieces of nothing":     encode(EncodePieces(Pieces{})),
		"too many pieces":       encode(EncodePieces(many)),
		"pieces without chunks": pieces(func(p *Pieces) { p.Chunks = nil }),
		"pieces of no chunk":    pieces(func(p *Pieces) { p.Refs[2] = 4 }),
		"chunk without a piece": pieces(func(p *Pieces) { p.Chunks = append(p.Chunks, p.Chunks[0]) }),
		"chunks out of order":   pieces(func(p *Pieces) { p.Refs[0], p.Refs[1] = 1, 0 }),
		"chunk of other rows":   pieces(func(p *Pieces) { p.Chunks[1].Row++ }),
		"piece without rows":    pieces(func(p *Pieces) { p.Rows[3] = p.Rows[2] }),
		"pieces out of order":   pieces(func(p *Pieces) { p.Rows[3] = p.Rows[5] }),
		"pieces too far":        pieces(func(p *Pieces) { p.Rows[8] = MaxRows + 1 }),
		"negative item":         pieces(func(p *Pieces) { p.Items[2] = -1 }),
		"item of no sample":     pieces(func(p *Pieces) { p.Items[6] = 1 }),
		"two holes":             pieces(func(p *Pieces) { p.Refs[5], p.Items[5] = NoSample, 0 }),
		"hole at the end":       pieces(func(p *Pieces) { p.Refs[7], p.Chunks = NoSample, p.Chunks[:3] }),
		"pieces of tiles":       pieces(func(p *Pieces) { p.Chunks[1].Rows, p.Chunks[1].Tiles, p.Rows[2] = 1, 2, 1011 }),
		"inner without":         encode(EncodeInner(Inner{Height: 1})),
		"inner of height 0":     encode(EncodeInner(Inner{Children: []Child{{0, u, 1}}})),
		"side without":          encode(EncodeSide(nil)),
		"side with nothing":     encode(EncodeSide([][]byte{{}})),
		"far row":               encode(EncodeBitmap(far)),
		"nil schema":            encode(EncodeSchema(nil)),
		"unnamed tensor":        encode(EncodeSchema(&Schema{Tensors: []TensorSchema{{ID: u}}})),
		"level of nothing":      encode(EncodeSchema(level(func(ts *TensorSchema) { ts.Reduces.Tensor = UUID{} }))),
		"level of itself":       encode(EncodeSchema(level(func(ts *TensorSchema) { ts.Reduces.Tensor = ts.ID }))),
		"level by 1":            encode(EncodeSchema(level(func(ts *TensorSchema) { ts.Reduces.Factor = 1 }))),
		"level by 17":           encode(EncodeSchema(level(func(ts *TensorSchema) { ts.Reduces.Factor = 17 }))),
		"level in sight":        encode(EncodeSchema(level(func(ts *TensorSchema) { ts.Name = "x" }))),
		"level, no feature":     record(func(r *Record) { r.Schema, r.Features = level(func(*TensorSchema) {}), nil }),
		"feature, no level":     record(func(r *Record) { r.Features = []string{FeatureLevels} }),
		"time of floats":        encode(EncodeSchema(one(func(ts *TensorSchema) { ts.Time = "date" }))),
		"open without a dtype":  encode(EncodeSchema(one(func(ts *TensorSchema) { ts.DType, ts.Open = "", true }))),
		"time, no feature":      record(func(r *Record) { r.Schema = one(func(ts *TensorSchema) { ts.DType, ts.Time = "int64", "date" }) }),
		"features out of order": record(func(r *Record) { r.Features = []string{FeatureTimes, FeatureOpen} }),
		"infinite info":         encode(EncodeSchema(&Schema{Info: map[string]any{"x": make(chan int)}})),
		"info not UTF-8":        encode(EncodeSchema(&Schema{Info: map[string]any{"x": []any{"\xff"}}})),
		"operation of no kind":  encode(EncodeOps([]Op{{}})),
		"append of no rows":     encode(EncodeOps([]Op{{Op: OpAppend, Append: u}})),
		"set_info with rows":    encode(EncodeOps([]Op{{Op: OpSetInfo, Rows: 1}})),
		"nil record":            encode(EncodeRecord(nil)),
		"record without schema": record(func(r *Record) { r.Schema = nil }),
		"record without uuid":   record(func(r *Record) { r.UUID = UUID{} }),
		"deleted rows":          record(func(r *Record) { r.Deleted = nil }),
		"message not UTF-8":     record(func(r *Record) { r.Message = "\xff" }),
		"column without tensor": record(func(r *Record) { r.Columns[u] = Column{} }),
		"operation behind rows": record(func(r *Record) { r.Rows = 119 }),
	} {
		if !errs.Is(err, errs.Invalid) && !(name == "unnamed tensor" && err != nil) && !(name == "operation of no kind" && err != nil) {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
}

// TestStrictDirectory changes right directories so that they no longer hold together.
func TestStrictDirectory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		from   func() goldenChunk
		change func(d *Directory)
	}{
		{"items", arrays, func(d *Directory) { d.Items = 4 }},
		{"negative items", arrays, func(d *Directory) { d.Items = -1 }},
		{"too many items", arrays, func(d *Directory) { d.Items = MaxChunkItems + 1 }},
		{"empty run", arrays, func(d *Directory) { d.Shapes = append(d.Shapes, ShapeRun{0, tensor.Shape{1}}) }},
		{"negative axis", arrays, func(d *Directory) { d.Shapes[0].Shape = tensor.Shape{-1} }},
		{"huge shape", arrays, func(d *Directory) { d.Shapes[0].Shape = tensor.Shape{1 << 40, 1 << 40} }},
		{"huge shapes", arrays, func(d *Directory) { d.Shapes[0].Shape = tensor.Shape{1 << 39, 2} }},
		{"too many axes", arrays, func(d *Directory) { d.Shapes[0].Shape = make(tensor.Shape, 33) }},
		{"wrong size", arrays, func(d *Directory) { d.FixedSize = 4 }},
		{"wrong sizes", arrays, func(d *Directory) { d.Sizes = []int64{4, 4, 4} }},
		{"missing sizes", arrays, func(d *Directory) { d.Sizes = []int64{4, 4} }},
		{"no checksums", arrays, func(d *Directory) { d.BlockCRC = nil }},
		{"too many checksums", arrays, func(d *Directory) { d.BlockCRC = append(d.BlockCRC, 1) }},
		{"blocks both ways", arrays, func(d *Directory) { d.BlockItems = []int64{2, 1} }},
		{"negative items per block", arrays, func(d *Directory) { d.PerBlock = -1 }},
		{"no blocks", arrays, func(d *Directory) { d.PerBlock = 0 }},
		{"block sizes", arrays, func(d *Directory) { d.BlockBytes = []int64{8, 2} }},
		{"rows", arrays, func(d *Directory) { d.RowItems = []int64{1, 1} }},
		{"negative row", arrays, func(d *Directory) { d.RowItems = []int64{4, -1} }},
		{"unknown dtype", arrays, func(d *Directory) { d.DType = 77 }},
		{"unknown sample codec", photos, func(d *Directory) { d.SampleCodec = 200 }},
		{"unknown block codec", arrays, func(d *Directory) { d.BlockCodec = 3 }},
		{"text under jpeg", sequences, func(d *Directory) { d.SampleCodec = codec.JPEG }},
		{"text with shapes", sequences, func(d *Directory) { d.Shapes = []ShapeRun{{4, nil}} }},
		{"photos without sizes", photos, func(d *Directory) { d.Sizes = nil }},
		{"negative size", photos, func(d *Directory) { d.Sizes[0] = -1 }},
		{"sizes overflow", photos, func(d *Directory) { d.Sizes = []int64{1 << 62, 1 << 62} }},
		{"sizes over the cap", photos, func(d *Directory) { d.Sizes = []int64{1 << 39, 1<<39 + 1} }},
		{"size times items", photos, func(d *Directory) { d.Sizes, d.FixedSize = nil, 1<<39+1 }},
		{"compressed blocks without sizes", sequences, func(d *Directory) { d.BlockBytes = nil }},
		{"compressed block grew", sequences, func(d *Directory) { d.BlockBytes[0] = 301 }},
		{"compressed block of nothing", sequences, func(d *Directory) { d.BlockBytes[0] = 0 }},
		{"compressed block over the cap", sequences, func(d *Directory) { d.Sizes[0] = MaxBlockRaw + 1 }},
		{"empty block", sequences, func(d *Directory) {
			d.BlockItems = []int64{1, 3, 0}
			d.BlockCRC = make([]uint32, 3)
			d.BlockBytes = []int64{6, 1, 0}
		}},
		{"tile index", tile, func(d *Directory) { d.Tile.Index = 9 }},
		{"negative tile index", tile, func(d *Directory) { d.Tile.Index = -1 }},
		{"tile at another place", tile, func(d *Directory) { d.Tile.Index = 4 }},
		{"tile larger than sample", tile, func(d *Directory) { d.Tile.Tile[0] = 6 }},
		{"flat tile", tile, func(d *Directory) { d.Tile.Tile[0] = 0 }},
		{"tile of other axes", tile, func(d *Directory) { d.Tile.Sample = tensor.Shape{5} }},
		{"tile of a huge sample", tile, func(d *Directory) { d.Tile.Sample = tensor.Shape{1 << 40, 8} }},
		{"link of no object", linked, func(d *Directory) { d.Links.Ranges[2].Object = 2 }},
		{"link of a negative object", linked, func(d *Directory) { d.Links.Ranges[2].Object = -1 }},
		{"link behind its object", linked, func(d *Directory) { d.Links.Ranges[1].Offset = 10240 - 899 }},
		{"link of nothing", linked, func(d *Directory) { d.Links.Ranges[1].Length = 0 }},
		{"link before its object", linked, func(d *Directory) { d.Links.Ranges[1].Offset = -1 }},
		{"link without a scheme", linked, func(d *Directory) { d.Links.Objects[0].URL = "lake/train-0.tar" }},
		{"link with a huge URL", linked, func(d *Directory) { d.Links.Objects[0].URL += strings.Repeat("x", MaxURLBytes) }},
		{"link with a huge tag", linked, func(d *Directory) { d.Links.Objects[0].Tag = strings.Repeat("x", MaxTagBytes+1) }},
		{"linked object of a negative size", linked, func(d *Directory) { d.Links.Objects[0].Size = -2 }},
		{"heads of fewer items", headed, func(d *Directory) { d.Links.Heads.Ends = d.Links.Heads.Ends[1:] }},
		{"heads that are all empty", headed, func(d *Directory) { d.Links.Heads = LinkHeads{Ends: []uint32{0, 0}} }},
		{"a huge head", headed, func(d *Directory) {
			d.Links.Heads = LinkHeads{Data: make([]byte, MaxLinkHeadBytes+1), Ends: []uint32{0, MaxLinkHeadBytes + 1}}
		}},
		{"heads that overlap", headed, func(d *Directory) { d.Links.Heads.Ends[0] = 5 }},
		{"bytes of no head", headed, func(d *Directory) { d.Links.Heads.Ends[1] = 3 }},
		{"links of fewer items", linked, func(d *Directory) { d.Links.Ranges = d.Links.Ranges[:2] }},
		{"linked and sized", linked, func(d *Directory) { d.Sizes = []int64{1, 2, 3} }},
		{"linked and in blocks", linked, func(d *Directory) { d.PerBlock = 1 }},
		{"linked and compressed", linked, func(d *Directory) { d.BlockCodec = codec.Zstd }},
		{"linked arrays of another size", linked, func(d *Directory) { d.SampleCodec = codec.None }},
		{"linked tile", tile, func(d *Directory) { d.Links = &Links{} }},
		{"tiled sequence", tile, func(d *Directory) { d.RowItems = []int64{1} }},
	} {
		d := c.from().dir
		c.change(d)
		if _, err := EncodeDirectory(d); !errs.Is(err, errs.Invalid) && !errs.Is(err, errs.Unsupported) {
			t.Errorf("%s: %v", c.name, err)
		}
		if d.Index() != nil {
			t.Errorf("%s: it has an index", c.name)
		}
	}
}

// TestStrictDirectoryBytes has raw directories that no encoder writes.
func TestStrictDirectoryBytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, hex string
		want      errs.Kind // 0: right
	}{
		{"two scalars", "02000000 02 01 0200 00 01 00 01020304 05060708", 0},
		{"unknown flag", "02000008 02 01 0200 00 01 00 01020304 05060708", errs.Unsupported},
		{"unknown dtype", "63000000 02 01 0200 00 01 00 01020304 05060708", errs.Unsupported},
		{"shapes fall short", "02000000 02 01 0100 00 01 00 01020304 05060708", errs.Corrupt},
		{"a million runs", "02000000 02 c0843d 0200 00 01 00 01020304 05060708", errs.Corrupt},
		{"sizes of arrays", "02000000 02 01 0200 01 01 01 00 01020304 05060708", errs.Corrupt},
		{"way to say sizes", "02000000 02 01 0200 03 01 00 01020304 05060708", errs.Corrupt},
		{"block sizes without codec", "02000000 02 01 0200 00 01 01 01 01 01020304 05060708", errs.Corrupt},
		{"way to say block sizes", "02000000 02 01 0200 00 01 02 01020304 05060708", errs.Corrupt},
		{"checksum missing", "02000000 02 01 0200 00 01 00 01020304", errs.Corrupt},
		{"byte left over", "02000000 02 01 0200 00 01 00 01020304 05060708 00", errs.Corrupt},
		{"2^26 items in one block", "02000000 80808020 01 8080802000 00 80808020 00 01020304", 0},
		{"2^26 blocks", "02000000 80808020 01 8080802000 00 01 00 01020304", errs.Corrupt},
		{"2^26+1 items", "02000000 81808020 01 8180802000 00 80808020 00 01020304", errs.Corrupt},
		{"sizes of 2^26 strings", "20000000 80808020 02 01 00 01020304", errs.Corrupt},
		{"nothing", "20000000 00 02 01 00", 0},
		{"link", "20000004 01 01 00 04613a2f2f 00 00 00 00 05", errs.Corrupt},
		{"link to a", "20000004 01 01 00 05613a2f2f61 00 00 00 00 05", 0},
		{"link of a zero length", "20000004 01 01 00 05613a2f2f61 00 00 00 00 00", errs.Corrupt},
		{"link to b after a", "20000004 01 02 00 05613a2f2f61 00 00 04 0162 00 00 02 00 05", 0},
		{"link that shares too little", "20000004 01 02 00 05613a2f2f61 00 00 04 0161 00 00 02 00 05", errs.Corrupt},
		{"URL that is said twice", "20000004 01 02 00 05613a2f2f61 00 00 03 022f62 00 00 02 00 05", errs.Corrupt},
		{"link in no object", "20000004 01 00 00 00 05", errs.Corrupt},
		{"2^26 links", "20000004 80808020 01 00 05613a2f2f61 00 00 00 00 05", errs.Corrupt},
		{"list of no blocks", "20000000 00 02 00 00 00", 0},
	} {
		data, err := hex.DecodeString(strings.ReplaceAll(c.hex, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = DecodeDirectory(data); (err != nil) != (c.want != 0) || (err != nil && !errs.Is(err, c.want)) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

func TestStrictChunkHead(t *testing.T) {
	t.Parallel()
	good := EncodeChunkHead(ChunkHead{id(1), 3, id(2)})
	change := func(at int, v byte) []byte {
		data := bytes.Clone(good)
		data[at] = v
		binary.LittleEndian.PutUint32(data[60:], CRC(data[:60]))
		return data
	}
	for _, c := range []struct {
		name string
		data []byte
		want errs.Kind
	}{
		{"magic", change(0, 'X'), errs.Corrupt},
		{"newer version", change(4, 2), errs.Unsupported},
		{"reserved", change(15, 1), errs.Unsupported},
		{"reserved behind", change(59, 1), errs.Unsupported},
		{"huge ordinal", change(39, 0x80), errs.Corrupt},
		{"zero tensor", append(append(bytes.Clone(good[:40]), make([]byte, 20)...), 0, 0, 0, 0), errs.Corrupt},
	} {
		if _, err := DecodeChunkHead(c.data); !errs.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

// level is a right schema with a tensor that reduces another one, and a change to it.
func level(change func(ts *TensorSchema)) *Schema {
	s := &Schema{Tensors: []TensorSchema{
		{ID: id(1), Name: "x", HType: "image", DType: "uint8", Compression: "png", ChunkBytes: 1 << 20},
		{ID: id(2), Name: "_x_downsampled_2", HType: "image", DType: "uint8", Compression: "png", ChunkBytes: 1 << 20, Reduces: &Reduction{Tensor: id(1), Factor: 2}},
	}}
	change(&s.Tensors[1])
	return s
}

// one is a right schema with a tensor, and a change to it.
func one(change func(ts *TensorSchema)) *Schema {
	s := &Schema{Tensors: []TensorSchema{{ID: id(1), Name: "x", HType: "generic", DType: "float32", Compression: "none", ChunkBytes: 1 << 20}}}
	change(&s.Tensors[0])
	return s
}

// TestMembersOfASchemaThatAreStrict: optional members of a tensor have one form.
func TestMembersOfASchemaThatAreStrict(t *testing.T) {
	t.Parallel()
	payload, err := one(func(ts *TensorSchema) { ts.Open, ts.Upright = true, true }).payload()
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{`"open":true`: `"open":false`, `"open":true}`: `"open":true,"time":""}`, `"open":true,`: `"open":1,`,
		`"exif_orientation":true`: `"exif_orientation":false`} {
		if changed := strings.Replace(string(payload), from, to, 1); changed != string(payload) {
			if _, err := decodeSchema([]byte(changed)); err == nil {
				t.Errorf("%s is taken for %s", to, from)
			}
		}
	}
}

// TestLevelsAreAFeature holds that a schema with levels comes back, and that its record says so.
func TestLevelsAreAFeature(t *testing.T) {
	t.Parallel()
	r := goldenRecord()
	r.Schema, r.Columns = level(func(*TensorSchema) {}), nil
	r.Features, r.Ops = r.Schema.Features(), nil
	data, err := EncodeRecord(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeRecord(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Features) != 1 || got.Features[0] != FeatureLevels || *got.Schema.Tensors[1].Reduces != *r.Schema.Tensors[1].Reduces {
		t.Errorf("it comes back as %+v", got)
	}
}
