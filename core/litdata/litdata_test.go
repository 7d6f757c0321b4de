package litdata

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"

	"deeplake/core/arrow/arrowtest"
	"deeplake/core/arrow/gather"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// indexOf is an index of items with values "0", "1" and so on.
func indexOf(encodings ...string) *Index {
	x := &Index{}
	for i, e := range encodings {
		x.Leaves = append(x.Leaves, Leaf{string(rune('a' + i)), e})
	}
	return x
}

// itemOf makes an item of values.
func itemOf(values ...string) []byte {
	var out []byte
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(v)))
	}
	return append(out, strings.Join(values, "")...)
}

// words are numbers of 32 bits.
func words(order binary.AppendByteOrder, all ...uint32) string {
	var out []byte
	for _, w := range all {
		out = order.AppendUint32(out, w)
	}
	return string(out)
}

func le(all ...uint32) string { return words(binary.LittleEndian, all...) }

// classic makes a chunk of items.
func classic(items ...[]byte) []byte {
	at := uint32(4 * (len(items) + 2))
	head := []uint32{uint32(len(items)), at}
	for _, p := range items {
		at += uint32(len(p))
		head = append(head, at)
	}
	return append([]byte(le(head...)), bytes.Join(items, nil)...)
}

func packed(p []byte) []byte {
	w, _ := zstd.NewWriter(nil)
	return w.EncodeAll(p, nil)
}

// framed makes a chunk of compressed frames, each of some items.
func framed(each int, items ...[]byte) []byte {
	offsets, at := []uint32{0}, uint32(0)
	for _, p := range items {
		at += uint32(len(p))
		offsets = append(offsets, at)
	}
	count := (len(items) + each - 1) / each
	place := 24 + 4*len(offsets) + 24*count
	var table, body string
	for from := 0; from < len(items); from += each {
		to := min(from+each, len(items))
		raw := bytes.Join(items[from:to], nil)
		p := packed(raw)
		table += le(uint32(from), uint32(to-from), uint32(place+len(body)), 0, uint32(len(p)), uint32(len(raw)))
		body += string(p)
	}
	return []byte(framedMagic + le(1, uint32(len(items)), uint32(each), uint32(count)) + le(offsets...) + table + body)
}

// read reads a chunk to its end, and returns its values by name.
func read(t testing.TB, data []byte, x *Index, o gather.Options) (map[string][]tensor.Sample, error) {
	t.Helper()
	r, err := NewReader(iotest.HalfReader(bytes.NewReader(data)), x, o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	out := map[string][]tensor.Sample{}
	for {
		b, err := r.Next(context.Background())
		if err != nil || b == nil {
			return out, err
		}
		fields, _ := b.Fields()
		for _, c := range fields {
			out[c.Name()] = append(out[c.Name()], arrowtest.Samples(t.(*testing.T), c)...)
		}
	}
}

// golden reads the index of a set that the package itself has written.
func golden(t testing.TB, name string) *Index {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	x, err := ParseIndex(data)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestOwnWriter reads sets of the package itself. test_litdata.py compares all values.
func TestOwnWriter(t *testing.T) {
	for name, columns := range map[string]int{"full": 22, "frames": 3, "items": 3, "whole": 3, "pair": 2, "text": 1, "tokens": 1} {
		x := golden(t, name)
		rows := 0
		for _, c := range x.Chunks {
			data, err := os.ReadFile(filepath.Join("testdata", name, c.Name))
			if err != nil {
				t.Fatal(err)
			}
			got, err := read(t, data, x, gather.Options{})
			if err != nil {
				t.Fatal(name, err)
			}
			if len(got) != columns {
				t.Errorf("%s has %d columns", name, len(got))
			}
			first := x.Leaves[0].Name
			if int64(len(got[first])) != c.Items {
				t.Errorf("%s: %d items, want %d", c.Name, len(got[first]), c.Items)
			}
			rows += len(got[first])
			for from := range c.Items + 2 {
				rest, err := read(t, data, x, gather.Options{From: from, Columns: []string{first}})
				if want := max(0, int(c.Items-from)); err != nil || len(rest[first]) != want || want > 0 && !bytes.Equal(rest[first][0].Data, got[first][from].Data) {
					t.Fatalf("%s from %d: %d items, %v", name, from, len(rest[first]), err)
				}
			}
		}
		if rows != 11 {
			t.Errorf("%s has %d rows", name, rows)
		}
	}
	x := golden(t, "full")
	if names := x.Columns(); !slices.Contains(names, "deep/pair/1") {
		t.Errorf("the names are %q", names)
	}
	data, err := os.ReadFile("testdata/plain/chunk-0-0.bin")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := Footer(data[len(data)-FooterBytes:], int64(len(data))); err != nil || n != int64(len(data))-FooterBytes-24 {
		t.Errorf("the Arrow file has %d bytes of %d, %v", n, len(data), err)
	}
	if _, err := Footer([]byte(le(99)+footerMagic), 100); !errs.Is(err, errs.Corrupt) {
		t.Error(err)
	}
}

// TestLeaves reads forged values of each encoding.
func TestLeaves(t *testing.T) {
	be := binary.BigEndian
	number := func(v uint64) string { return string(binary.LittleEndian.AppendUint64(nil, v)) }
	for encoding, c := range map[string]struct{ value, want, shape string }{
		"str":                {"é", "é", "()"},
		"text":               {"a", "a", "()"},
		"bytes":              {"\xff", "\xff", "()"},
		"video:mp4":          {"\xff", "\xff", "()"},
		"file:xyz":           {"\xff", "\xff", "()"},
		"int":                {number(5), number(5), "()"},
		"float":              {number(math.Float64bits(2.5)), number(math.Float64bits(2.5)), "()"},
		"bool":               {"\x01", "\x01", "()"},
		"jpeg":               {"\xff\xd8x", "\xff\xd8x", "()"},
		"image:png":          {"\x89PNG", "\x89PNG", "()"},
		"file:jpg":           {"\xff\xd8x", "\xff\xd8x", "()"},
		"pil":                {le(1, 2, 1) + "Lxy", "xy", "(2, 1, 1)"},
		"numpy":              {le(4, 2, 1, 3) + "xyz", "xyz", "(1, 3)"},
		"no_header_numpy:1":  {"xxyy", "xxyy", "(2,)"},
		"no_header_numpy:13": {"\x01\x00\x02", "\x01\x00\x01", "(3,)"},
		"tensor":             {words(be, 11, 2, 3, 1) + "xyz", "xyz", "(3, 1)"},
		"no_header_tensor:9": {"xxyyzz", "xxyyzz", "(3,)"},
		"json":               {`{"a":1}`, `{"a":1}`, "()"},
	} {
		got, err := read(t, classic(itemOf(c.value)), indexOf(encoding), gather.Options{})
		if err != nil {
			t.Errorf("%s: %v", encoding, err)
			continue
		}
		if s := got["a"][0]; string(s.Data) != c.want || c.shape != "()" && s.Shape.String() != c.shape {
			t.Errorf("%s: %q %s, want %q %s", encoding, s.Data, s.Shape, c.want, c.shape)
		}
	}
}

// TestNested reads nested values as JSON.
func TestNested(t *testing.T) {
	text := func(s string) string { return le(uint32(len(s))) + s }
	number := func(v uint64) string { return string(binary.LittleEndian.AppendUint64(nil, v)) }
	for want, p := range map[string]string{
		`[1]`:                        "\x00" + text("[1]"),
		`["a","\"é"]`:                "\x01" + le(2) + text("a") + text(`"é`),
		`[-1,2]`:                     "\x02" + le(2) + number(math.MaxUint64) + number(2),
		`[1.0,0.5]`:                  "\x03" + le(2) + number(math.Float64bits(1)) + number(math.Float64bits(.5)),
		`[true,false]`:               "\x04" + le(2) + "\x01\x00",
		`{"k":null,"l":"x"}`:         "\x05" + le(2) + text("k") + "\x0b" + text("l") + "\x07" + text("x"),
		`[{"a":null,"b":true}]`:      "\x06" + le(1, 2) + text("a") + text("b") + "\x10\x14\x01",
		`[{"a":"x"},{"a":7}]`:        "\x06" + le(2, 1) + text("a") + "\x11" + text("x") + "\x12" + number(7),
		`[{"a":1e+30}]`:              "\x06" + le(1, 1) + text("a") + "\x13" + number(math.Float64bits(1e30)),
		`{"a":{"b":[]},"c":3}`:       "\x05" + le(2) + text("a") + "\x05" + le(1) + text("b") + "\x01" + le(0) + text("c") + "\x08" + number(3),
		`{"f":2.5,"g":true,"h":[2]}`: "\x05" + le(3) + text("f") + "\x09" + number(math.Float64bits(2.5)) + text("g") + "\x0a\x01" + text("h") + "\x02" + le(1) + number(2),
	} {
		got, err := plainJSON([]byte(p))
		if err != nil || string(got) != want || !json.Valid(got) {
			t.Errorf("%q, %v, want %s", got, err, want)
		}
	}
	for want, p := range map[string]string{
		"want 4":               "\x01\x02",
		"want 8":               "\x02" + le(1<<31),
		"without keys":         "\x06" + le(1<<31, 0),
		"the tag 12":           "\x0c" + le(1),
		"a record with":        "\x06" + le(1, 1) + text("a") + "\x20",
		"behind a nested":      "\x0b\x0b",
		"no JSON":              "\x00" + text("{"),
		"not UTF-8":            "\x07" + text("\xff"),
		"JSON cannot hold":     "\x09" + number(math.Float64bits(math.NaN())),
		"deeper than 64":       strings.Repeat("\x05"+le(1)+text("k"), 100),
		"bytes of JSON":        "\x06" + le(2000, 1) + text(strings.Repeat("k", 4000)) + strings.Repeat("\x10", 2000),
		"for a part of a":      "\x05" + le(1) + text("k"),
		"has 1 bytes for a pa": "\x08x",
	} {
		if _, err := plainJSON([]byte(p)); err == nil || !strings.Contains(err.Error(), want) || errs.KindOf(err) == errs.Internal {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestIndex reads indexes, and refuses others.
func TestIndex(t *testing.T) {
	leaf := `{"type":null,"context":null,"children_spec":[]}`
	spec := func(tree string) string {
		p, _ := json.Marshal("[1, " + tree + "]")
		return `"data_spec":` + string(p)
	}
	dict := func(keys, children string) string {
		k, _ := json.Marshal(keys)
		return `{"type":"builtins.dict","context":` + string(k) + `,"children_spec":[` + children + `]}`
	}
	config := func(parts ...string) string {
		return `{"chunks":[{"filename":"chunk-0-0.bin","chunk_size":2}],"config":{` + strings.Join(parts, ",") + `}}`
	}
	two := `"data_format":["int","str"]`
	for text, want := range map[string]string{
		config(two, spec(dict(`["a","b"]`, leaf+","+leaf))):                                                               "a b",
		config(two, spec(dict(`["a"]`, `{"type":"builtins.list","context":"null","children_spec":[`+leaf+","+leaf+`]}`))): "a/0 a/1",
		config(two, spec(`{"type":"builtins.tuple","context":"null","children_spec":[`+leaf+","+leaf+`]}`)):               "0 1",
		config(two, spec(dict(`[1,"b"]`, leaf+","+leaf))):                                                                 "1 b",
		config(`"data_format":["int"]`, spec(leaf)):                                                                       "value",
		config(two, `"data_spec":null`):                                                                                   "0 1",
	} {
		x, err := ParseIndex([]byte(text))
		if err != nil || strings.Join(x.Columns(), " ") != want || x.Chunks[0] != (Chunk{"chunk-0-0.bin", 2}) {
			t.Errorf("%v %v, want %s", x, err, want)
		}
	}
	if x, err := ParseIndex([]byte(`{"version":2,"shards":[]}`)); x != nil || err != nil {
		t.Error("an index of MDS:", x, err)
	}
	for text, want := range map[string]string{
		"{":                                  "is no index",
		`{"chunks":[]}`:                      "no config",
		config(two, `"data_spec":"x"`):       "want a version and a tree",
		config(two, `"data_spec":"[2, {}]"`): "of version 2",
		config(two, spec(leaf)):              "of 1 values, and 2 encodings",
		config(two, spec(dict(`["a","a"]`, leaf+","+leaf))):                                                                                 `two values named "a"`,
		config(two, spec(dict(`["a"]`, leaf+","+leaf))):                                                                                     "1 keys and 2 values",
		config(two, spec(dict(`[null,"a"]`, leaf+","+leaf))):                                                                                "want a text or a number",
		config(two, spec(`{"type":"x.Y","context":"null","children_spec":[`+leaf+`]}`)):                                                     `of the type "x.Y"`,
		config(two, spec(strings.Repeat(`{"type":"builtins.list","context":"null","children_spec":[`, 100)+leaf+strings.Repeat("]}", 100))): "deeper than 64",
		config(`"item_loader":"TokensLoader"`, two):                                                                                         "has tokens in the encodings",
		config(`"item_loader":"My"`):                                                                                                        `item loader "My"`,
		config(`"compression_level":"row"`):                                                                                                 "compression level row",
	} {
		if _, err := ParseIndex([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || errs.KindOf(err) == errs.Internal {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestCut reads chunks that end early, of each layout.
func TestCut(t *testing.T) {
	x := indexOf("str", "int")
	items := [][]byte{itemOf("x", "12345678"), itemOf("yyy", "12345678"), itemOf("", "12345678")}
	one := *x
	one.Packed = true
	for name, c := range map[string]struct {
		data  []byte
		index *Index
	}{
		"classic": {classic(items...), x},
		"frames":  {framed(2, items...), x},
		"whole":   {packed(classic(items...)), x},
		"items":   {classic(packed(items[0]), packed(items[1])), &one},
	} {
		if got, err := read(t, c.data, c.index, gather.Options{}); err != nil || len(got["a"]) < 2 || string(got["a"][1].Data) != "yyy" {
			t.Fatal(name, got, err)
		}
		for n := range len(c.data) {
			if _, err := read(t, c.data[:n], c.index, gather.Options{}); !errs.Is(err, errs.Corrupt) {
				// The last bytes of a compressed file are its end, behind all items.
				if name != "whole" || n < len(c.data)-8 {
					t.Fatalf("%s, the first %d bytes: %v", name, n, err)
				}
			}
		}
	}
}

func TestFaults(t *testing.T) {
	good := classic(itemOf("x"), itemOf("y"))
	patched := func(p []byte, at int, v uint32) []byte {
		p = slices.Clone(p)
		binary.LittleEndian.PutUint32(p[at:], v)
		return p
	}
	frames := framed(1, itemOf("x"), itemOf("y"))
	sample := &Index{Leaves: []Leaf{{"a", "str"}}, Packed: true}
	one := func(encoding, value string) ([]byte, *Index) { return classic(itemOf(value)), indexOf(encoding) }
	type fault struct {
		data  []byte
		index *Index
		want  string
	}
	x := indexOf("str")
	all := map[string]fault{
		"many items":       {patched(good, 0, 1<<30), x, "it states 1073741824 items"},
		"more items":       {patched(good, 0, 1000), x, "it is cut within its offsets"},
		"an offset":        {patched(good, 4, 3), x, "item 0 begins at byte 3, want 16"},
		"back":             {patched(good, 8, 5), x, "item 0 ends at byte 5, and begins at 16"},
		"a size":           {patched(good, 16, 9), x, `item 0 has 9 bytes for the value "a", and 1 are left`},
		"more bytes":       {patched(good, 16, 0), x, "item 0 has 1 bytes behind its values"},
		"no sizes":         {classic([]byte("abc")), x, "item 0 has 3 bytes for the sizes of 1 values"},
		"a version":        {patched(frames, 8, 2), x, "its frames have version 2"},
		"many frames":      {patched(frames, 20, 3), x, "it states 3 frames of 2 items"},
		"few frames":       {patched(frames, 20, 1), x, "its frames have 1 items, want 2"},
		"a frame's item":   {patched(frames, 36, 1), x, "frame 0 has 1 items from item 1"},
		"a frame's place":  {patched(frames, 44, 1), x, "at byte 1, want some from item 0"},
		"a frame's size":   {patched(frames, 56, 7), x, "frame 0 has 7 bytes, and its items 5"},
		"a frame's stored": {patched(frames, 52, 3), x, "frame 1 has"},
		"no Zstandard":     {classic(itemOf("x")), sample, "item 0 cannot be decompressed"},
	}
	delete(all, "a frame's stored")
	for name, c := range map[string]struct{ encoding, value, want string }{
		"a pickle":      {"pickle", "x", `the value "a" has pickles`},
		"a graph":       {"graph", "x", `the value "a" has pickles`},
		"an encoding":   {"mine", "x", `the value "a" has the encoding "mine"`},
		"complex":       {"no_header_numpy:11", "", "dtype with number 11"},
		"brain floats":  {"tensor", words(binary.BigEndian, 10, 1, 0), "dtype with number 10"},
		"no number":     {"no_header_tensor:x", "", "dtype with number x"},
		"an int":        {"int", "x", "item 0 has 1 bytes for a int64, in the value \"a\""},
		"no UTF-8":      {"str", "\xff", "not UTF-8"},
		"an array":      {"numpy", "x", "has 1 bytes for an array"},
		"axes":          {"numpy", le(4, 1<<30), "has an array of 1073741824 axes in 0 bytes"},
		"a huge array":  {"numpy", le(4, 2, 1<<20, 1<<20), "in 0 bytes"},
		"a huge axis":   {"numpy", le(4, 1, 1<<31), "with an axis of 2147483648"},
		"half a number": {"no_header_numpy:0", "", ""},
		"odd":           {"no_header_numpy:1", "xyz", "in 3 bytes"},
		"a list":        {"jpeg_array", le(9), "a list of 9 images in 0 bytes"},
	} {
		if c.want != "" {
			data, x := one(c.encoding, c.value)
			all[name] = fault{data, x, c.want}
		}
	}
	for name, c := range all {
		if _, err := read(t, c.data, c.index, gather.Options{}); err == nil || !strings.Contains(err.Error(), c.want) || errs.KindOf(err) == errs.Internal {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestLeftOut leaves items out: no value of them stays in another column.
func TestLeftOut(t *testing.T) {
	x := indexOf("str", "bool", "numpy", "jpeg_array", "json", "str")
	row := func(a, last string) []byte {
		return itemOf(a, "\x01", le(4, 1, 1)+a, le(1, 1)+a, `"`+a+`"`, last)
	}
	var left []int64
	got, err := read(t, classic(row("x", "1"), row("y", "\xff"), []byte("?"), row("z", "3")), x, gather.Options{LeaveOut: func(n int64, _ error) error { left = append(left, n); return nil }})
	if err != nil || !slices.Equal(left, []int64{1, 2}) {
		t.Fatal(left, err)
	}
	for _, name := range []string{"a", "c", "d"} {
		if all := got[name]; len(all) != 2 || string(all[1].Data) != "z" {
			t.Errorf("%s: %d values", name, len(all))
		}
	}
}

// FuzzChunk reads forged chunks of each layout: columns are as long as items are many.
func FuzzChunk(f *testing.F) {
	encodings := []string{"str", "int", "jpeg_array", "numpy", "tensor", "pil", "json", "no_header_numpy:1", "bool"}
	items := [][]byte{itemOf("é", "12345678", le(1, 1)+"x", le(4, 1, 1)+"x", words(binary.BigEndian, 11, 1, 1)+"x", le(1, 1, 1)+"Lx", "\x06"+le(1, 1, 1)+"k\x10", "xx", "\x01")}
	items = append(items, items[0])
	f.Add(classic(items...), false)
	f.Add(framed(1, items...), false)
	f.Add(packed(classic(items...)), false)
	f.Add(classic(packed(items[0]), packed(items[1])), true)
	f.Fuzz(func(t *testing.T, p []byte, isPacked bool) {
		x := indexOf(encodings...)
		x.Packed = isPacked
		r, err := NewReader(bytes.NewReader(p), x, gather.Options{From: int64(len(p) % 2), Places: true, LeaveOut: func(int64, error) error { return nil }})
		if err != nil {
			return
		}
		defer r.Close()
		for {
			b, err := r.Next(context.Background())
			if err != nil || b == nil {
				return
			}
			fields, _ := b.Fields()
			for _, c := range fields {
				if c.Len() != int64(len(b.Rows)) {
					t.Fatalf("%d values of %d items", c.Len(), len(b.Rows))
				}
				_, _ = c.Rows(tensor.Target{HType: tensor.HType{Base: "generic"}})
				_ = arrowtest.Placed(t, p, c)
			}
		}
	})
}
