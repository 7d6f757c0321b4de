package format

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// says reports whether an error has a kind and words.
func says(err error, kind errs.Kind, words string) bool {
	return errs.Is(err, kind) && strings.Contains(err.Error(), words)
}

// TestStrictFragment changes a right fragment. The encoder refuses it as invalid, and the decoder
// refuses its bytes as corrupt, in the same words where it can tell.
func TestStrictFragment(t *testing.T) {
	t.Parallel()
	const same = "same"
	foreign := id(0x58)
	for _, c := range []struct {
		name   string
		change func(f *Fragment)
		encode string // words of the encoder
		decode string // words of the decoder of the content; "": it has another part of the message
	}{
		{"no task", func(f *Fragment) { f.Task = "" }, "the key of a task has 0 bytes, want 1 to 256", ""},
		{"long task", func(f *Fragment) { f.Task = strings.Repeat("k", 257) }, "has 257 bytes, want 1 to 256", ""},
		{"task with a line break", func(f *Fragment) { f.Task = "a\nb" }, "has control characters", ""},
		{"task with a NUL", func(f *Fragment) { f.Task = "\x00" }, "has control characters", ""},
		{"task with a DEL", func(f *Fragment) { f.Task = "a\x7f" }, "has control characters", ""},
		{"task with a C1 control character", func(f *Fragment) { f.Task = "a\u0085" }, "has control characters", ""},
		{"task not UTF-8", func(f *Fragment) { f.Task = "a\xff" }, "is not UTF-8", ""},
		{"no write", func(f *Fragment) { f.Write.ID = UUID{} }, "a uuid is zero", ""},
		{"no commit", func(f *Fragment) { f.Write.Commit = UUID{} }, "a uuid is zero", ""},
		{"far time", func(f *Fragment) { f.Time = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }, "time is in the year 10000", ""},
		{"negative rows", func(f *Fragment) { f.Rows = -1 }, "it appends -1 rows", same},
		{"too many rows", func(f *Fragment) { f.Rows = MaxRows + 1 }, "it appends 72057594037927937 rows", same},

		{"tensor twice", func(f *Fragment) { f.Tensors = append(f.Tensors, f.Tensors[0]) }, "its name or id stands twice", same},

		{"empty range", func(f *Fragment) { f.Deleted[0].Count = 0 }, "are empty, out of order or beyond", same},
		{"negative range", func(f *Fragment) { f.Deleted[0].Count = -1 }, "are empty, out of order or beyond", "deleted rows is 18446744073709551615"},
		{"range before the first row", func(f *Fragment) { f.Deleted[0].Start = -1 }, "are empty, out of order or beyond", "deleted rows is 18446744073709551615"},
		{"ranges fall", func(f *Fragment) { f.Deleted[0].Start = 50 }, "are empty, out of order or beyond", "deleted rows is "},
		{"ranges overlap", func(f *Fragment) { f.Deleted[0].Count = 5 }, "are empty, out of order or beyond", "deleted rows is "},
		{"range too far", func(f *Fragment) { f.Deleted[2].Start = MaxRows }, "are empty, out of order or beyond", same},
		{"range that ends too far", func(f *Fragment) { f.Deleted[2] = RowRange{MaxRows - 1, 2} }, "are empty, out of order or beyond", same},
		{"range that overflows", func(f *Fragment) { f.Deleted[2].Count = math.MaxInt64 }, "are empty, out of order or beyond", "deleted rows is "},
		{"ranges that overflow together", func(f *Fragment) { f.Deleted = []RowRange{{MaxRows - 1, 1}, {2*MaxRows - 1, MaxRows}} }, "are empty, out of order or beyond", same},

		{"side page without a name", func(f *Fragment) { f.Sides[0].ID = UUID{} }, "side page 00000000000000000000000000000000 has 2", same},
		{"side page twice", func(f *Fragment) { f.Sides = append(f.Sides, f.Sides[0]) }, "or is there twice", same},
		{"side page of nothing", func(f *Fragment) { f.Sides[0].Dirs = nil }, "has 0 directories", same},
		{"empty directory", func(f *Fragment) { f.Sides[0].Dirs[0] = nil }, "has 0 bytes", same},
		{"slot behind the side page", func(f *Fragment) { f.Columns[0].Appended[1].Slot = 2 }, "row 10 has directories 2 to 2 of the 2", same},
		{"tiles behind the side page", func(f *Fragment) {
			e := &f.Columns[0].Appended[1]
			e.Rows, e.First, e.Tiles = 1, 0, 2
		}, "row 10 has directories 1 to 2 of the 2", same},
		{"slot that overflows", func(f *Fragment) { f.Columns[0].Appended[1].Slot = math.MaxInt64 }, "row 10 has directories", ""},
		{"negative slot", func(f *Fragment) { f.Columns[0].Appended[1].Slot = -1 }, "row 10 has directories", ""},

		{"column without a tensor", func(f *Fragment) { f.Columns[0].Tensor = UUID{} }, "the tensor of a column is zero, or has two columns", same},
		{"column twice", func(f *Fragment) { f.Columns[1].Tensor = f.Columns[0].Tensor }, "the tensor of a column is zero, or has two columns", same},
		{"negative bytes", func(f *Fragment) { f.Columns[0].Bytes = -1 }, "it has -1 bytes", "bytes of a column is 18446744073709551615"},
		{"too many bytes", func(f *Fragment) { f.Columns[0].Bytes = 1<<62 + 1 }, "it has 4611686018427387905 bytes", "bytes of a column is 4611686018427387905"},
		{"bounds and none", func(f *Fragment) { f.Columns[0].Unknown = true }, "it has bounds, and samples without bounds", ""},
		{"half bounds", func(f *Fragment) { f.Columns[0].Max = nil }, "do not fit together", ""},
		{"bounds turned round", func(f *Fragment) { f.Columns[0].Min[0] = 641 }, "do not fit together", same},
		{"bounds of 33 axes", func(f *Fragment) {
			f.Columns[0].Min, f.Columns[0].Max = make(tensor.Shape, 33), make(tensor.Shape, 33)
		}, "do not fit together", "axes of a column is 33, want at most 32"},

		{"chunk of another write", func(f *Fragment) { f.Columns[0].Appended[2].Session = foreign }, "row 12 has a chunk of session " + foreign.String() + ", which is not one of the write", same},
		{"updated chunk of another write", func(f *Fragment) { f.Columns[0].Updated[1].Entries[0].Session = foreign }, "row 100 has a chunk of session", same},
		{"filled chunk of another write", func(f *Fragment) { f.Columns[1].Filled[0].Entries[0].Session = foreign }, "row 0 has a chunk of session", same},
		{"rewritten chunk of another write", func(f *Fragment) { f.Columns[0].Rewrites[0].Entries[0].Session = foreign }, "row 40 has a chunk of session", same},
		{"chunk of no session", func(f *Fragment) { f.Columns[0].Appended[2].Session = UUID{} }, "row 12 has a chunk of session", ""},
		{"more rows than appended", func(f *Fragment) { f.Rows = 19 }, "a chunk has rows up to 20, and its rows are [0, +19)", same},
		{"no rows appended", func(f *Fragment) { f.Rows = 0 }, "and its rows are [0, +0)", same},
		{"chunk without rows", func(f *Fragment) { f.Columns[0].Appended[2].Rows = 0 }, "are empty, out of order or beyond", ""},
		{"chunks fall", func(f *Fragment) { f.Columns[0].Appended[2].Row = 5 }, "are empty, out of order or beyond", ""},
		{"chunk of a huge size", func(f *Fragment) { f.Columns[0].Appended[0].Bytes = MaxObjectBytes + 1 }, "1099511627777 bytes, want", ""},
		{"chunk before its range", func(f *Fragment) { f.Columns[0].Updated[0].Entries[0].Row = 9 }, "are empty, out of order or beyond", "the entry of row 9 is in none of the ranges"},
		{"chunk behind its range", func(f *Fragment) { f.Columns[0].Updated[1].Entries[0].Row = 101 }, "a chunk has rows up to 102, and its rows are [100, +1)", "the entry of row 101 is in none of the ranges"},
		{"chunk across two ranges", func(f *Fragment) { f.Columns[1].Filled[0].Entries[0].Rows = 61 }, "a chunk has rows up to 61, and its rows are [0, +60)", "the entry of row 0 is in none of the ranges"},
		{"chunk of the range behind", func(f *Fragment) {
			f.Columns[1].Filled[0].Entries[0] = Entry{Row: 60, Rows: 1, Session: ours(0x51)}
		}, "a chunk has rows up to 61, and its rows are [0, +60)", ""},
		{"edits fall", func(f *Fragment) {
			f.Columns[0].Rewrites = append(f.Columns[0].Rewrites, FragmentEdit{Rows: RowRange{3, 1}})
		}, "are empty, out of order or beyond", "rows is 18446744073709551549"},
		{"edit of no rows", func(f *Fragment) { f.Columns[1].Filled[1].Rows.Count = 0 }, "are empty, out of order or beyond", same},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := goldenFragment()
			f.Tensors = slices.Clone(f.Tensors)
			c.change(f)
			if message, _, _, err := EncodeFragment(f); !says(err, errs.Invalid, c.encode) || message != nil {
				t.Errorf("the encoder says %v, want %q", err, c.encode)
			}
			if c.decode == "" {
				return
			}
			words := c.decode
			if words == same {
				words = c.encode
			}
			got := &Fragment{Write: f.Write, Task: f.Task, Time: f.Time, Rows: f.Rows}
			if err := got.DecodeContent(framed(t, uncheckedPayload(f))); !says(err, errs.Corrupt, words) || got.Columns != nil {
				t.Errorf("the decoder says %v, want %q", err, words)
			}
		})
	}
	f := goldenFragment()
	f.Tensors[0].DType = "uint9"
	if _, _, _, err := EncodeFragment(f); !says(err, errs.Unsupported, `dtype "uint9" is not known`) {
		t.Errorf("unknown dtype: %v", err)
	}
	if err := bareFragment().DecodeContent(framed(t, uncheckedPayload(f))); !says(err, errs.Unsupported, `dtype "uint9" is not known`) {
		t.Errorf("unknown dtype: %v", err)
	}
}

// TestStrictFragmentBytes has contents that no encoder writes.
func TestStrictFragmentBytes(t *testing.T) {
	t.Parallel()
	const schema = `{"tensors":[],"info":{}}`
	u, session := strings.Repeat("31", 16), ours(0x51).String()
	leaf := func(row, rows string) string { return "19 01" + row + "01" + session + "00 01 0202" + rows + "10" }
	long := func(n int) string { // a leaf of n entries of a row each, from row 0
		l := Leaf{Entries: make([]Entry, n)}
		for i := range l.Entries {
			l.Entries[i] = Entry{Row: int64(i), Rows: 1, Session: ours(0x51), Ordinal: int64(i)}
		}
		raw := must(encodeLeaf(l))
		return hex.EncodeToString(appendUvarint(nil, int64(len(raw)))) + hex.EncodeToString(raw)
	}
	huge := hex.EncodeToString(appendUvarint(nil, 1<<50))
	empty := "00 0000 0000 0000"
	for _, c := range []struct {
		name, hex string
		want      errs.Kind // 0: right
		words     string
	}{
		{"nothing", "00 00 00", 0, ""},
		{"a byte left over", "00 00 00 00", errs.Corrupt, "1 bytes are left over"},
		{"least column", "00 00 01" + u + "00 00" + empty, 0, ""},
		{"two least columns", "00 00 02" + u + "00 00" + empty + strings.Repeat("32", 16) + "00 00" + empty, 0, ""},
		{"column missing", "00 00 02" + u + "00 00" + empty, errs.Corrupt, "columns is 2, but only 25 bytes are left"},
		{"2^50 columns", "00 00" + huge + u + "00 00" + empty, errs.Corrupt, "columns is 1125899906842624, want at most"},
		{"a million columns", "00 00 c0843d" + u + "00 00" + empty, errs.Corrupt, "columns is 1000000, but only 25 bytes are left"},
		{"least side page", "00 01" + u + "01 01 07 00", 0, ""},
		{"side page of an empty directory", "00 01" + u + "01 00 00", errs.Corrupt, "a directory of side page " + u + " has 0 bytes"},
		{"2^50 side pages", "00" + huge + u + "01 01 07 00", errs.Corrupt, "side pages is 1125899906842624, but only"},
		{"2^50 directories", "00 01" + u + huge + "01 07 00", errs.Corrupt, "directories is 1125899906842624, want at most"},
		{"a million directories", "00 01" + u + "c0843d 01 07 00", errs.Corrupt, "directories is 1000000, but only 3 bytes are left"},
		{"directory of 2^50 bytes", "00 01" + u + "01" + huge + "07 00", errs.Corrupt, "bytes of a directory is 1125899906842624, want at most"},
		{"directory behind the end", "00 01" + u + "01 09 07 00 00", errs.Corrupt, "directory: 3 bytes are left, want 9"},
		{"2^50 ranges", huge + "00 01 00 00", errs.Corrupt, "deleted rows is 1125899906842624, but only 4 bytes are left"},
		{"all rows", "01 00" + hex.EncodeToString(appendUvarint(nil, MaxRows)) + "00 00", 0, ""},
		{"the last row", "01" + hex.EncodeToString(appendUvarint(nil, MaxRows-1)) + "01 00 00", 0, ""},
		{"a row too far", "01" + hex.EncodeToString(appendUvarint(nil, MaxRows)) + "01 00 00", errs.Corrupt, "deleted rows: rows ["},
		{"a long uvarint", "01 8000 01 00 00", errs.Corrupt, "not a uvarint in its shortest form"},
		{"neighbors", "02 00 01 00 01 00 00", 0, ""},
		{"no rows", "01 00 00 00 00", errs.Corrupt, "are empty, out of order or beyond"},
		{"unknown flag", "00 00 01" + u + "00 04" + empty, errs.Unsupported, "flags 0x04"},
		{"two flags", "00 00 01" + u + "00 03" + empty, errs.Unsupported, "flags 0x03"},
		{"bounds of no axes", "00 00 01" + u + "00 01 00" + empty, 0, ""},
		{"bounds of 2^50 axes", "00 00 01" + u + "00 01" + huge + empty, errs.Corrupt, "axes of a column is 1125899906842624, want at most 32"},
		{"zero tensor", "00 00 01" + strings.Repeat("00", 16) + "00 00" + empty, errs.Corrupt, "the tensor of a column is zero"},
		{"a leaf", "00 00 01" + u + "00 00 01" + leaf("00", "05") + empty[2:], 0, ""},
		{"a leaf at the end", "00 00 01" + u + "00 00 00 0000 0000 01 00 05 01" + leaf("00", "05"), 0, ""},
		{"2^50 leaves", "00 00 01" + u + "00 00" + huge + leaf("00", "05") + empty[2:], errs.Corrupt, "leaves is 1125899906842624, but only"},
		{"leaf of 2^50 bytes", "00 00 01" + u + "00 00 01" + huge + leaf("00", "05") + empty[2:], errs.Corrupt, "bytes of a leaf is 1125899906842624, want at most"},
		{"leaf of no bytes", "00 00 01" + u + "00 00 01 00" + leaf("00", "05") + empty[2:], errs.Corrupt, ""},
		{"leaf with a column to come", "00 00 01" + u + "00 00 01" + strings.Replace(leaf("00", "05"), "0202", "0b02", 1) + empty[2:], errs.Unsupported, "column 11 is not known"},
		{"two leaves of an entry", "00 00 01" + u + "00 00 02" + leaf("00", "05") + leaf("05", "05") + empty[2:], errs.Corrupt, "a leaf that is not the last has 1 entries, want 1024"},
		{"a full leaf and a leaf", "00 00 01" + u + "00 00 00" + "01 00 8108 02" + long(1024) + strings.Replace(leaf("", "01"), "19 01", "1a 01 8008", 1) + "0000 0000", 0, ""},
		{"overlapping leaves", "00 00 01" + u + "00 00 00" + "01 00 8108 02" + long(1024) + strings.Replace(leaf("", "01"), "19 01", "1a 01 ff07", 1) + "0000 0000", errs.Corrupt, "the rows of leaves overlap at 1023"},
		{"a leaf of 1023 and a leaf", "00 00 01" + u + "00 00 00" + "01 00 8108 02" + long(1023) + strings.Replace(leaf("", "01"), "19 01", "1a 01 8008", 1) + "0000 0000", errs.Corrupt, "a leaf that is not the last has 1023 entries"},
		{"entry in no range", "00 00 01" + u + "00 00 00 00 01" + leaf("00", "05") + "0000 0000", errs.Corrupt, "the entry of row 0 is in none of the ranges"},
	} {
		body, err := hex.DecodeString(strings.ReplaceAll(c.hex, " ", ""))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		payload := slices.Concat(appendUvarint(nil, int64(len(schema))), []byte(schema), body)
		f := bareFragment()
		err = f.DecodeContent(framed(t, payload))
		if c.want != 0 {
			if !says(err, c.want, c.words) {
				t.Errorf("%s: got %v, want %v, %q", c.name, err, c.want, c.words)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if again, err := f.payload(); err != nil || !bytes.Equal(again, payload) {
			t.Errorf("%s: it is encoded as\n%x, %v, want\n%x", c.name, again, err, payload)
		}
	}
	for _, c := range []struct{ schema, words string }{
		{`{"tensors":[],"info":{"a":1}}`, "its schema has info"},
		{`{"tensors":null,"info":{}}`, "is null"},
		{`{"tensors":[]}`, "is missing"},
		{`{"tensors":[],"info":{},"x":1}`, "is not known"},
		{`{}{}`, "json has a syntax error"},
		{``, "json has a syntax error"},
	} {
		payload := slices.Concat(appendUvarint(nil, int64(len(c.schema))), []byte(c.schema), []byte{0, 0, 0})
		if err := bareFragment().DecodeContent(framed(t, payload)); !says(err, errs.Corrupt, c.words) {
			t.Errorf("schema %q: %v, want %q", c.schema, err, c.words)
		}
	}
}

// TestFragmentBounds holds that the last row can be written, and that a content of 6 KiB is in its
// message while one of a byte more is not.
func TestFragmentBounds(t *testing.T) {
	t.Parallel()
	f := bareFragment()
	f.Rows = MaxRows
	last := Entry{Row: MaxRows - 1, Rows: 1, First: MaxRows, Session: ours(0x51), Ordinal: MaxRows, Bytes: MaxObjectBytes, Side: id(0x62), Slot: MaxSideSlots - 1}
	whole := Entry{Rows: MaxRows, Session: ours(0x51)}
	f.Columns = []FragmentColumn{
		{Tensor: id(1), Bytes: 1 << 62, Appended: []Entry{last}, Updated: []FragmentEdit{{RowRange{MaxRows - 1, 1}, []Entry{last}}}},
		{Tensor: id(2), Appended: []Entry{whole}, Rewrites: []FragmentEdit{{RowRange{0, MaxRows}, []Entry{whole}}}},
	}
	f.Deleted = []RowRange{{0, MaxRows - 1}, {MaxRows - 1, 1}}
	message, _, _, err := EncodeFragment(f)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeFragment(message); err != nil || !sameFragment(got, f) {
		t.Errorf("got %+v, %v", got, err)
	}
	f = largeFragment()
	dir := f.Sides[0].Dirs[0]
	f.Sides[0].Dirs[0] = dir[:inlineFragment/2]
	rest := FrameHeadBytes + len(must(f.payload())) - inlineFragment/2
	for _, c := range []struct {
		n     int
		large bool
	}{{inlineFragment - rest, false}, {inlineFragment - rest + 1, true}} {
		f.Sides[0].Dirs[0] = dir[:c.n]
		if _, _, object, err := EncodeFragment(f); err != nil || (object != nil) != c.large {
			t.Errorf("a directory of %d bytes gives an object of %d, %v", c.n, len(object), err)
		}
	}
}

// TestFragmentContentReplaces holds that a content replaces the one before, and that one that is
// refused leaves it.
func TestFragmentContentReplaces(t *testing.T) {
	t.Parallel()
	f := bareFragment()
	right := framed(t, must(goldenFragment().payload()))
	wrong := framed(t, uncheckedPayload(largeFragment())[:9000])
	for range 2 {
		if err := f.DecodeContent(right); err != nil {
			t.Fatal(err)
		}
		if err := f.DecodeContent(wrong); !errs.Is(err, errs.Corrupt) {
			t.Fatal(err)
		}
		if len(f.Columns) != 2 || len(f.Sides) != 1 || len(f.Deleted) != 3 {
			t.Fatalf("it has %d columns, %d side pages, %d deleted ranges", len(f.Columns), len(f.Sides), len(f.Deleted))
		}
	}
}

// textOf is the JSON of a golden file.
func textOf(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(goldenPath(name))
	if err != nil {
		t.Fatal(err)
	}
	return undump(t, string(data))
}

// TestStrictFragmentText edits the text of a token, of fragments and of a lease, and makes its
// checksum right.
func TestStrictFragmentText(t *testing.T) {
	t.Parallel()
	write := func(data []byte) error { _, err := DecodeWrite(data); return err }
	fragment := func(data []byte) error { _, err := DecodeFragment(data); return err }
	lease := func(data []byte) error { _, err := DecodeLease(data, in(leaseKey())); return err }
	decoders := map[string]func([]byte) error{"write": write, "fragment": fragment, "fragment-object": fragment, "lease": lease}
	content := func(change func(s string) string) (old, repl string) {
		_, text, _ := strings.Cut(string(textOf(t, "fragment")), `"content":"`)
		old, _, _ = strings.Cut(text, `"`)
		return old, change(old)
	}
	broken, mended := content(func(s string) string { return s[:8] + `\n` + s[8:] })
	short, shorter := content(func(s string) string { return s[:len(s)-4] })
	odd, odder := content(func(s string) string { return s[:len(s)-1] })
	other, frame := content(func(string) string {
		frame, _ := EncodeLeaf(goldenLeaf())
		return base64.StdEncoding.EncodeToString(frame)
	})
	whole, _ := content(func(s string) string { return s })
	for _, c := range []struct {
		name, of, old, repl string
		want                errs.Kind
		words               string
	}{
		{"earlier version", "write", `"format":2`, `"format":1`, errs.Unsupported, "has format version 1, want 2; use one version of this library on all machines"},
		{"newer version", "write", `"format":2`, `"format":3`, errs.Unsupported, "has format version 3, want 2"},
		{"newer version with a member", "write", `"format":2`, `"format":3,"x":1`, errs.Unsupported, "has format version 3, want 2"},
		{"version as text", "write", `"format":2`, `"format":"2"`, errs.Invalid, `member "format"`},
		{"no version", "write", `"format":2,`, ``, errs.Invalid, `member "format": is missing`},
		{"unknown member", "write", `"commit"`, `"x":1,"commit"`, errs.Invalid, `member "x": is not known`},
		{"missing member", "write", `,"commit":"` + strings.Repeat("10", 16) + `"`, ``, errs.Invalid, `member "commit": is missing`},
		{"repeated member", "write", `"version":5`, `"version":5,"version":5`, errs.Invalid, `has the member "version" twice`},
		{"null", "write", `"version":5`, `"version":null`, errs.Invalid, "is null"},
		{"negative version", "write", `"version":5`, `"version":-5`, errs.Invalid, `member "version"`},
		{"zero write", "write", strings.Repeat("57", 16), strings.Repeat("00", 16), errs.Invalid, "a uuid is zero"},
		{"upper-case uuid", "write", strings.Repeat("57", 16), strings.Repeat("5A", 16), errs.Invalid, "lower-case hexadecimal digit"},
		{"a fragment", "write", `"write"`, `"task":"a","write"`, errs.Invalid, `member "task": is not known`},
		{"64 KiB", "write", `"write"`, strings.Repeat(" ", maxRefBytes) + `"write"`, errs.Invalid, "want at most 65536"},

		{"earlier version", "fragment", `"format":2`, `"format":1`, errs.Unsupported, "fragment has format version 1, want 2"},
		{"newer version", "fragment", `"format":2`, `"format":3`, errs.Unsupported, "fragment has format version 3, want 2"},
		{"unknown member", "fragment", `"time"`, `"x":1,"time"`, errs.Invalid, `member "x": is not known`},
		{"no task", "fragment", `"shard \"7\" of ü"`, `""`, errs.Invalid, "the key of a task has 0 bytes, want 1 to 256"},
		{"long task", "fragment", `"shard \"7\" of ü"`, `"` + strings.Repeat("k", 257) + `"`, errs.Invalid, "has 257 bytes, want 1 to 256"},
		{"task with a tab", "fragment", `"shard \"7\" of ü"`, `"a\tb"`, errs.Invalid, "has control characters"},
		{"task not UTF-8", "fragment", `ü`, "\xff", errs.Invalid, "json is not UTF-8"},
		{"task that is a number", "fragment", `"shard \"7\" of ü"`, `7`, errs.Invalid, "want a json string"},
		{"null task", "fragment", `"shard \"7\" of ü"`, `null`, errs.Invalid, `member "task": is null`},
		{"time in seconds", "fragment", `.123456789Z`, `Z`, errs.Invalid, "is not a time in UTC with nanoseconds"},
		{"negative rows", "fragment", `"rows":20`, `"rows":-1`, errs.Invalid, "is -1, want 0 to"},
		{"too many rows", "fragment", `"rows":20`, `"rows":72057594037927937`, errs.Invalid, "is 72057594037927937, want 0 to"},
		{"fewer rows than chunks", "fragment", `"rows":20`, `"rows":19`, errs.Invalid, "a chunk has rows up to 20, and its rows are [0, +19)"},
		{"chunks of another write", "fragment", `"write":"57`, `"write":"58`, errs.Invalid, "which is not one of the write"},
		{"content and object", "fragment", `"object":null`, `"object":"` + strings.Repeat("f1", 16) + `"`, errs.Invalid, "want exactly one of content and object"},
		{"neither content nor object", "fragment-object", `"object":"` + strings.Repeat("f1", 16) + `"`, `"object":null`, errs.Invalid, "want exactly one of content and object"},
		{"zero object", "fragment-object", strings.Repeat("f1", 16), strings.Repeat("00", 16), errs.Invalid, "a uuid is zero"},
		{"object of a short name", "fragment-object", `"object":"f1`, `"object":"`, errs.Invalid, "want 32"},
		{"content without object", "fragment-object", `,"object":"` + strings.Repeat("f1", 16) + `"`, ``, errs.Invalid, `member "object": is missing`},
		{"content that is a number", "fragment-object", `"content":null`, `"content":1`, errs.Invalid, "want exactly one of content and object"},
		{"line break in the content", "fragment", broken, mended, errs.Invalid, "its content is not base64"},
		{"content without its end", "fragment", odd, odder, errs.Invalid, "its content is not base64"},
		{"short content", "fragment", short, shorter, errs.Invalid, "bytes behind its head, want"},
		{"empty content", "fragment", whole, "", errs.Invalid, "fragment has 0 bytes, want at least 40"},
		{"a leaf page", "fragment", other, frame, errs.Invalid, "object is a leaf page, want a fragment"},

		{"no time", "lease", `"seconds":600`, `"seconds":0`, errs.Corrupt, "it lasts no time"},
		{"negative time", "lease", `"seconds":600`, `"seconds":-1`, errs.Corrupt, "is -1, want 0 to 2592000"},
		{"too much time", "lease", `"seconds":600`, `"seconds":2592001`, errs.Corrupt, "is 2592001, want 0 to 2592000"},
		{"time with a fraction", "lease", `"seconds":600`, `"seconds":600.5`, errs.Corrupt, `member "seconds"`},
		{"time as text", "lease", `"seconds":600`, `"seconds":"600"`, errs.Corrupt, `member "seconds"`},
		{"null time", "lease", `"seconds":600`, `"seconds":null`, errs.Corrupt, "is null"},
		{"unknown member", "lease", `"seconds"`, `"x":1,"seconds"`, errs.Corrupt, `member "x": is not known`},
		{"another dataset", "lease", strings.Repeat("11", 16), strings.Repeat("12", 16), errs.Corrupt, "one of the two is of another dataset"},
		{"another key", "lease", ".renewed", ".begun", errs.Corrupt, "another object is in this one's place"},
	} {
		bad := edit(t, textOf(t, c.of), c.old, c.repl)
		if err := decoders[c.of](bad); !gentle(err) {
			t.Errorf("%s of %s, wrong checksum: %v", c.name, c.of, err)
		}
		if err := decoders[c.of](resealed(bad)); !says(err, c.want, c.words) {
			t.Errorf("%s of %s: got %v, want %v, %q", c.name, c.of, err, c.want, c.words)
		}
	}
}

// TestStrictWrite holds that a token has no zero uuid.
func TestStrictWrite(t *testing.T) {
	t.Parallel()
	for i, change := range []func(w *Write){
		func(w *Write) { w.Dataset = UUID{} }, func(w *Write) { w.Base.Branch = UUID{} }, func(w *Write) { w.Commit = UUID{} }, func(w *Write) { w.ID = UUID{} },
	} {
		w := fragmentWrite()
		change(&w)
		if _, err := EncodeWrite(w); !says(err, errs.Invalid, "a uuid is zero") {
			t.Errorf("change %d: %v", i, err)
		}
	}
}

// TestWriteIdentities holds that rows and tensors of a write have the same identity in all attempts
// of a task, and others in other tasks and writes.
func TestWriteIdentities(t *testing.T) {
	t.Parallel()
	w, again, v := fragmentWrite(), fragmentWrite(), fragmentWrite()
	v.ID = id(0x58)
	if w.AppendID("a") != again.AppendID("a") || w.TensorID("a") != again.TensorID("a") {
		t.Error("an identity changes")
	}
	all := map[UUID]string{}
	for name, u := range map[string]UUID{
		"rows of a": w.AppendID("a"), "rows of b": w.AppendID("b"), "tensor a": w.TensorID("a"), "tensor b": w.TensorID("b"),
		"rows of a of another write": v.AppendID("a"), "tensor a of another write": v.TensorID("a"),
	} {
		if was := all[u]; was != "" || u.IsZero() {
			t.Errorf("%s have the identity of %s", name, was)
		}
		all[u] = name
	}
	if got, want := w.AppendID("a").String(), "23edd1998db372cffd2812247d335d69"; got != want {
		t.Errorf("rows have the identity %s, want %s", got, want)
	}
	if got, want := w.TensorID("a").String(), "2e52d49b80cdc5a452dff8bffb05b5f7"; got != want {
		t.Errorf("a tensor has the identity %s, want %s", got, want)
	}
	from, last := w.SessionsFrom(), ""
	for range 20 {
		s := w.Session()
		if !w.Owns(s) || v.Owns(s) || !strings.HasPrefix(DataPrefix(s), from) || DataPrefix(s) == last {
			t.Errorf("session %s of write %s", s, w.ID)
		}
		last = DataPrefix(s)
	}
}

// TestLeaseKeys holds that both keys of a lease are read back, and no others.
func TestLeaseKeys(t *testing.T) {
	t.Parallel()
	u := id(0xab)
	begun, renewed := LeaseKeys(u)
	for key, want := range map[string]bool{begun: false, renewed: true} {
		if w, again, err := ParseLeaseKey(key); w != u || again != want || err != nil {
			t.Errorf("%q is %s, %v, %v", key, w, again, err)
		}
		if !strings.HasPrefix(key, LeasePrefix()) || !OurKey(key) || !slices.Contains(Prefixes(), LeasePrefix()) {
			t.Errorf("%q is not taken for ours", key)
		}
	}
	name := u.String()
	for _, key := range []string{
		"", "leases/", "leases/" + name, "leases/" + name + ".", "leases/" + name + ".ended", "leases/" + name + ".Begun", "leases/" + name + ".begun.begun", "leases/" + name + ".begun/x",
		name + ".begun", "lease/" + name + ".begun", "leases/leases/" + name + ".begun", "leases/" + strings.ToUpper(name) + ".begun", "leases/" + name[1:] + ".begun", "leases/" + name + "0.begun",
	} {
		if w, _, err := ParseLeaseKey(key); !says(err, errs.Corrupt, "is not that of a lease") || !w.IsZero() {
			t.Errorf("%q is %s, %v", key, w, err)
		}
		if OurKey(key) {
			t.Errorf("%q is taken for ours", key)
		}
	}
	for _, within := range []time.Duration{-time.Second, 0, time.Second - 1, MaxLease + 1, math.MaxInt64, math.MinInt64} {
		if _, err := EncodeLease(in(begun), within); !says(err, errs.Invalid, fmt.Sprintf("it is renewed within %s, want a second to", within)) {
			t.Errorf("within %s: %v", within, err)
		}
	}
}

// TestStrictKeyedRecord holds that a record has the feature of an idempotency key if and only if it
// has a key, and that keys have bounds.
func TestStrictKeyedRecord(t *testing.T) {
	t.Parallel()
	level := func(r *Record) {
		r.Schema = goldenSchema()
		r.Schema.Tensors[0].Open = true
		r.Features = append(r.Schema.Features(), FeatureKeyed)
	}
	for name, c := range map[string]struct {
		change func(r *Record)
		want   string // "": right
	}{
		"key of 1 byte":           {func(r *Record) { r.Key = "k" }, ""},
		"key of 1,024 bytes":      {func(r *Record) { r.Key = strings.Repeat("k", MaxKeyBytes) }, ""},
		"key of 1,025 bytes":      {func(r *Record) { r.Key = strings.Repeat("k", MaxKeyBytes+1) }, "the idempotency key has 1025 bytes, want at most 1024"},
		"key not UTF-8":           {func(r *Record) { r.Key = "k\xff" }, "idempotency key is not UTF-8"},
		"key without the feature": {func(r *Record) { r.Features = nil }, "contradicts its idempotency key"},
		"feature without a key":   {func(r *Record) { r.Key = "" }, "contradicts its idempotency key"},
		"feature of a schema too": {level, ""},
		"features out of order":   {func(r *Record) { level(r); slices.Reverse(r.Features) }, "those of its schema"},
		"feature twice":           {func(r *Record) { r.Features = append(r.Features, FeatureKeyed) }, "those of its schema"},
	} {
		r := keyedRecord()
		c.change(r)
		data, err := EncodeRecord(r)
		if c.want != "" {
			if !says(err, errs.Invalid, c.want) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got, err := DecodeRecord(data); err != nil || got.Key != r.Key || !slices.Equal(got.Features, r.Features) {
			t.Errorf("%s: it comes back with %+v, %v", name, got, err)
		}
	}
	payload := must(keyedRecord().payload())
	const key = `"idempotency_key":"job 7, \"shard\" ü"`
	for _, c := range []struct {
		name, old, repl string
		want            errs.Kind
		words           string
	}{
		{"key without the feature", `"features":["idempotency_key"]`, `"features":[]`, errs.Corrupt, `member "idempotency_key": is not known`},
		{"feature without a key", "," + key, ``, errs.Corrupt, `member "idempotency_key": is missing`},
		{"empty key", key, `"idempotency_key":""`, errs.Corrupt, "contradicts its idempotency key"},
		{"null key", key, `"idempotency_key":null`, errs.Corrupt, "is null"},
		{"number", key, `"idempotency_key":7`, errs.Corrupt, "want a json string"},
		{"key of 1,025 bytes", key, `"idempotency_key":"` + strings.Repeat("k", MaxKeyBytes+1) + `"`, errs.Corrupt, "has 1025 bytes, want at most 1024"},
		{"key not UTF-8", `ü`, "\xff", errs.Corrupt, "json is not UTF-8"},
		{"feature twice", `["idempotency_key"]`, `["idempotency_key","idempotency_key"]`, errs.Unsupported, `uses the feature "idempotency_key", which is not known`},
		{"another feature", `["idempotency_key"]`, `["open","idempotency_key"]`, errs.Corrupt, "those of its schema"},
	} {
		if _, err := DecodeRecord(salted(must(EncodeFrame(KindRecord, edit(t, payload, c.old, c.repl))), id(0x11))); !says(err, c.want, c.words) {
			t.Errorf("%s: got %v, want %v, %q", c.name, err, c.want, c.words)
		}
	}
}

// FuzzFragment takes the text of a fragment, and makes its checksum right.
func FuzzFragment(f *testing.F) {
	seed(f, false, "fragment", "fragment-object", "write")
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, resealed(data)} {
			before := allocated()
			v, err := DecodeFragment(data)
			if n := allocated() - before; n > 256<<20 {
				t.Fatalf("%d bytes allocated for %d", n, len(data))
			}
			if err != nil {
				if !gentle(err) || errs.Is(err, errs.Corrupt) {
					t.Fatal(err)
				}
				continue
			}
			v.Object = nil
			again, _, object, err := EncodeFragment(v)
			if err != nil {
				t.Fatalf("encode what was decoded, %+v: %v", v, err)
			}
			back, err := DecodeFragment(again)
			if err == nil && object != nil {
				err, back.Object = back.DecodeContent(object), nil
			}
			if err != nil || !sameFragment(back, v) {
				t.Fatalf("changed on the way: %v\n%+v\n%+v", err, v, back)
			}
		}
	})
}

// FuzzFragmentContent takes the content of a fragment without its frame.
func FuzzFragmentContent(f *testing.F) {
	seed(f, true, "fragment-content")
	f.Add(must(bareFragment().payload()))
	f.Fuzz(func(t *testing.T, payload []byte) { oneForm(t, payload) })
}

// FuzzWrite takes the token of a write, and makes its checksum right.
func FuzzWrite(f *testing.F) {
	seed(f, false, "write", "fragment")
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, resealed(data)} {
			stable(t, data, DecodeWrite, EncodeWrite)
			if _, err := DecodeWrite(data); err != nil && !gentle(err) {
				t.Fatal(err)
			}
		}
	})
}

// FuzzLease takes a lease and the key of one, and makes the checksum right.
func FuzzLease(f *testing.F) {
	data, _ := EncodeLease(in(leaseKey()), leaseWithin)
	f.Add(data, leaseKey())
	begun, _ := LeaseKeys(id(0xab))
	f.Add([]byte(`{"seconds":1,"crc":"00000000"}`+"\n"), begun)
	f.Fuzz(func(t *testing.T, data []byte, key string) {
		if write, renewed, err := ParseLeaseKey(key); err == nil {
			if begun, again := LeaseKeys(write); key != begun && (!renewed || key != again) || renewed && key == begun {
				t.Fatalf("%q is read as %s, %v", key, write, renewed)
			}
		}
		for _, data := range [][]byte{data, resealed(data)} {
			decode := func(data []byte) (time.Duration, error) { return DecodeLease(data, in(leaseKey())) }
			stable(t, data, decode, func(within time.Duration) ([]byte, error) { return EncodeLease(in(leaseKey()), within) })
			if _, err := decode(data); err != nil && !refusedRight(err) {
				t.Fatal(err)
			}
		}
	})
}
