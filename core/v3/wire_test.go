package v3

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// raw decodes hexadecimal digits with blanks between, as the page of the format shows bytes.
func raw(t testing.TB, digits string) []byte {
	t.Helper()
	p, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// le are numbers of 32 bits.
func le(all ...uint32) string {
	var out []byte
	for _, v := range all {
		out = binary.LittleEndian.AppendUint32(out, v)
	}
	return string(out)
}

// le64 are numbers of 64 bits.
func le64(all ...uint64) string {
	var out []byte
	for _, v := range all {
		out = binary.LittleEndian.AppendUint64(out, v)
	}
	return string(out)
}

// be64 are big-endian numbers of 64 bits.
func be64(all ...uint64) string {
	var out []byte
	for _, v := range all {
		out = binary.BigEndian.AppendUint64(out, v)
	}
	return string(out)
}

// ver is a version as it stands in front of a file.
func ver(text string) string { return string(rune(len(text))) + text }

// damage is an input and a part of the error that it gives.
type damage struct{ data, want string }

// refuse holds that a decoder finds all damage, by the errors wanted, without memory for it.
func refuse(t *testing.T, all map[string]damage, decode func(p []byte) error) {
	t.Helper()
	for name, c := range all {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := decode([]byte(c.data))
		runtime.ReadMemStats(&after)
		if !errs.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
			t.Errorf("%s: it took %d bytes of memory", name, n)
		}
	}
}

// TestHeader decodes headers of chunks: the worked example of the format, ragged tables, no tables.
func TestHeader(t *testing.T) {
	example := raw(t, `
		06 33 2e 39 2e 35 32
		01 00 00 00  03 00 00 00
		02 00 00 00  03 00 00 00  04 00 00 00
		01 00 00 00
		18 00 00 00  00 00 00 00  04 00 00 00
		00 00 00 00  01 00 00 00`)
	for name, c := range map[string]struct {
		data string
		want header
	}{
		"the worked example": {string(example), header{
			shapes: []shapeRun{{tensor.Shape{2, 3}, 4}}, places: []placeRun{{24, 0, 4}}, bytes: 43,
		}},
		"ragged": {ver("3.9.52") + le(3, 2, 2, 1, 5, 3, 2, 5, 3, 8, 0, 1, 20, 16, 3, 8, 56, 5), header{
			shapes: []shapeRun{{tensor.Shape{2}, 1}, {tensor.Shape{5}, 3}, {tensor.Shape{2}, 5}},
			places: []placeRun{{8, 0, 1}, {20, 16, 3}, {8, 56, 5}}, bytes: 19 + 24 + 36,
		}},
		"scalars of old writers": {ver("2.0.5") + le(1, 1, 7, 0), header{shapes: []shapeRun{{tensor.Shape{}, 7}}, places: []placeRun{}, bytes: 22}},
		"no tables":              {ver("") + le(0, 0, 0) + "payload", header{shapes: []shapeRun{}, places: []placeRun{}, bytes: 13}},
		"places alone":           {ver("3.0.1") + le(0, 0, 1, 0, 0, 9), header{shapes: []shapeRun{}, places: []placeRun{{0, 0, 9}}, bytes: 30}},
		"sizes beyond 2 GiB":     {ver("3.0.1") + le(0, 0, 1, math.MaxUint32, math.MaxUint32, 0), header{shapes: []shapeRun{}, places: []placeRun{{math.MaxUint32, math.MaxUint32, 0}}, bytes: 30}},
	} {
		got, err := decodeHeader([]byte(c.data))
		if err != nil {
			t.Error(name, err)
			continue
		}
		if !reflect.DeepEqual(got.shapes, c.want.shapes) || !reflect.DeepEqual(got.places, c.want.places) || got.bytes != c.want.bytes {
			t.Errorf("%s: %+v, want %+v", name, *got, c.want)
		}
		// Each first part says how much is missing, or that it is too short to say so.
		for n := range len(c.data) + 1 {
			switch need, err := headerBytes([]byte(c.data[:n])); {
			case err != nil:
				t.Errorf("%s, the first %d bytes: %v", name, n, err)
			case need != got.bytes && need != 0 || n >= int(got.bytes) && need == 0:
				t.Errorf("%s, the first %d bytes: its header has %d bytes, want %d", name, n, need, got.bytes)
			}
			if _, err := decodeHeader([]byte(c.data[:n])); n < int(got.bytes) && !errs.Is(err, errs.Corrupt) {
				t.Errorf("%s, the first %d bytes: %v", name, n, err)
			}
		}
	}
	for want, c := range map[string]header{
		"6": {shapes: []shapeRun{{nil, 5}}, places: []placeRun{{1, 0, 8}}},
		"9": {places: []placeRun{{1, 0, 8}}},
		"0": {},
	} {
		if got := fmt.Sprint(c.items()); got != want {
			t.Errorf("%+v has %s samples, want %s", c, got, want)
		}
	}
	const minus = math.MaxUint32
	v := ver("3.9.52")
	all := map[string]damage{
		"nothing":              {"", "cut within its version"},
		"no version":           {"\xff3.9", "cut within its version"},
		"no text":              {"\x03\x00\x01\x02" + le(0, 0, 0), "its version is no text"},
		"rows < 0":             {v + le(minus, 2, 0), "has -1 rows of 2 columns"},
		"rows, huge":           {v + le(math.MaxInt32, 2, 0), "has 2147483647 rows"},
		"columns < 0":          {v + le(1, minus, 0), "of -1 columns"},
		"columns, huge":        {v + le(1, math.MaxInt32, 0), "of 2147483647 columns"},
		"both, huge":           {v + le(1<<26, 33, 0), "cut within its table of shapes: 4 bytes are left, want 8858370048"},
		"a product of 2^32":    {v + le(1<<16, 1<<16), "65536 rows of 65536 columns"},
		"both < 0":             {v + le(minus, minus, 0), "has -1 rows of -1 columns"},
		"rows of no columns":   {v + le(1, 0, 0), "has 1 rows of 0 columns"},
		"more rows than bytes": {v + le(1<<20, 2, 0), "cut within its table of shapes"},
		"places < 0":           {v + le(0, 0, minus), "its table of places has -1 rows"},
		"places, huge":         {v + le(0, 0, 1<<26+1), "its table of places has 67108865 rows"},
		"places, more than it": {v + le(0, 0, 1<<26, 1), "cut within its table of places: 4 bytes are left, want 805306368"},
		"shapes, not up":       {v + le(2, 2, 1, 4, 1, 4, 0), "row 1 of its table of shapes ends at item 4, the one before at 4"},
		"shapes, down":         {v + le(2, 2, 1, 4, 1, 3, 0), "ends at item 3, the one before at 4"},
		"shapes, far":          {v + le(1, 2, 1, 1<<26, 0), "ends at item 67108864"},
		"places, not up":       {v + le(0, 0, 2, 1, 0, 4, 1, 5, 4), "row 1 of its table of places ends at item 4"},
		"places, far":          {v + le(0, 0, 1, 1, 0, minus), "ends at item 4294967295"},
	}
	refuse(t, all, func(p []byte) error {
		_, err := decodeHeader(p)
		return err
	})
	for _, name := range []string{"rows < 0", "rows, huge", "columns < 0", "columns, huge", "both < 0", "places < 0", "places, huge", "a product of 2^32"} {
		if n, err := headerBytes([]byte(all[name].data)); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%s: a header of %d bytes, %v", name, n, err)
		}
	}
}

// TestVersions compares versions by their numbers.
func TestVersions(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"2.7.5", "2.7.6", true},
		{"2.7.6", "2.7.6", false},
		{"2.7.10", "2.7.6", false},
		{"2.10.0", "2.7.6", false},
		{"3.0", "2.7.6", false},
		{"2.7", "2.7.6", true},
		{"2.7", "2.7.0", false},
		{"2.7.0", "2.7", false},
		{"", "2.7.6", true},
		{"x.y", "0", false},
		{"99999999999999999999", "2.7.6", false},
	} {
		if got := olderThan(c.a, c.b); got != c.want {
			t.Errorf("%q is older than %q: %v", c.a, c.b, got)
		}
	}
}

// TestChunkIndex decodes indexes of chunks with numbers of 64 bits and, before 2.7.6, of 32 bits.
func TestChunkIndex(t *testing.T) {
	v := ver("3.9.52") + "\x08"
	for name, c := range map[string]struct {
		data string
		want []chunkRow
	}{
		"no file":     {"", nil},
		"no rows":     {v, []chunkRow{}},
		"64 bits":     {string(raw(t, "06 33 2e 39 2e 35 32 08  ef cd ab 89 67 45 23 01  04 00 00 00 00 00 00 00")), []chunkRow{{0x0123456789abcdef, 4}}},
		"32 bits":     {string(raw(t, "06 33 2e 39 2e 35 32 04  ef cd ab 89  04 00 00 00")), []chunkRow{{0x89abcdef, 4}}},
		"2.7.5":       {string(raw(t, "05 32 2e 37 2e 35  ef cd ab 89  04 00 00 00  01 00 00 00  09 00 00 00")), []chunkRow{{0x89abcdef, 4}, {1, 9}}},
		"2.7.6":       {string(raw(t, "05 32 2e 37 2e 36 08  ef cd ab 89 67 45 23 01  04 00 00 00 00 00 00 00")), []chunkRow{{0x0123456789abcdef, 4}}},
		"tiles":       {v + le64(7, 0, 8, 0, 9, 0), []chunkRow{{7, 0}, {8, 0}, {9, 0}}},
		"no item yet": {v + le64(7, math.MaxUint64, 8, 2), []chunkRow{{8, 2}}},
		"none, old":   {ver("2.0.5") + le(7, math.MaxUint32, 8, 2), []chunkRow{{8, 2}}},
	} {
		if got, err := decodeChunkIndex([]byte(c.data)); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
	if got := (chunkRow{id: 0x0123456789abcdef}).name(); got != "123456789abcdef" {
		t.Error(got)
	}
	refuse(t, map[string]damage{
		"a version":   {"\x06", "cut within its version"},
		"no size":     {ver("3.9.52"), "cut within its size of a number"},
		"a size":      {ver("3.9.52") + "\x02" + le(1, 2), "its numbers have 2 bytes"},
		"half a row":  {v + le64(1), "8 bytes are no rows of two numbers of 8 bytes"},
		"32 as 64":    {ver("2.7.6") + le(7, 2), "its numbers have 7 bytes"},
		"down":        {v + le64(1, 4, 2, 3), "row 1 ends at item 3, the one before at 4"},
		"far":         {v + le64(1, 1<<40), "ends at item 1099511627776"},
		"no item, 2":  {v + le64(1, 4, 2, math.MaxUint64), "row 1 ends at item 18446744073709551615"},
		"below 0":     {v + le64(1, 1<<63), "ends at item"},
		"a tail":      {v + le64(1, 4) + "x", "17 bytes are no rows"},
		"no text":     {"\x02\x01\x02\x08", "no text"},
		"32 bits, up": {ver("2.0.5") + le(1, 4, 2, 3), "row 1 ends at item 3"},
	}, func(p []byte) error {
		_, err := decodeChunkIndex(p)
		return err
	})
}

// TestTiles decodes indexes of tiles, those of writers before 2.2.1 too.
func TestTiles(t *testing.T) {
	want := map[int64]tiling{5: {tensor.Shape{1000, 900, 3}, tensor.Shape{500, 450, 3}}}
	v := ver("3.9.52")
	for name, data := range map[string]string{
		"little-endian": string(raw(t, `
			06 33 2e 39 2e 35 32
			01 00 00 00 00 00 00 00  03 00 00 00 00 00 00 00
			05 00 00 00 00 00 00 00
			e8 03 00 00 00 00 00 00  84 03 00 00 00 00 00 00  03 00 00 00 00 00 00 00
			f4 01 00 00 00 00 00 00  c2 01 00 00 00 00 00 00  03 00 00 00 00 00 00 00`)),
		"big-endian": be64(1, 3, 5, 1000, 900, 3, 500, 450, 3),
	} {
		if got, err := decodeTiles([]byte(data)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
	}
	for name, data := range map[string]string{"no file": "", "none": v + le64(0), "none, old": be64(0)} {
		if got, err := decodeTiles([]byte(data)); err != nil || len(got) != 0 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for want, c := range map[int64]tiling{
		4:        {tensor.Shape{1000, 900, 3}, tensor.Shape{500, 450, 3}},
		6:        {tensor.Shape{1001, 900, 3}, tensor.Shape{500, 450, 3}},
		1:        {tensor.Shape{7}, tensor.Shape{9}},
		maxItems: {tensor.Shape{maxItems}, tensor.Shape{1}},
		0:        {tensor.Shape{1 << 39, 1 << 39}, tensor.Shape{1, 1}},
	} {
		if got := c.count(); got != want {
			t.Errorf("%v: %d tiles, want %d", c, got, want)
		}
	}
	refuse(t, map[string]damage{
		"a version":      {"\x06", "cut within its version"},
		"a number":       {v + "1234", "cut within its number of samples"},
		"no axes":        {v + le64(1, 0), "0 bytes are not 1 samples of 0 axes"},
		"many axes":      {v + le64(1, 33), "of 33 axes"},
		"axes, huge":     {v + le64(1, 1<<61), "its number of axes is beyond"},
		"samples, huge":  {v + le64(1<<63, 3), "its number of samples is beyond"},
		"many samples":   {v + le64(1<<39, 32), "are not 549755813888 samples of 32 axes"},
		"a product of 0": {v + le64(1<<39, 1<<4, 1), "are not 549755813888 samples of 16 axes"},
		"cut":            {v + le64(1, 1, 0, 4), "16 bytes are not 1 samples of 1 axes"},
		"a tail":         {v + le64(1, 1, 0, 4, 2) + "x", "25 bytes are not 1 samples of 1 axes"},
		"behind none":    {v + le64(0, 1), "8 bytes follow no samples"},
		"tiles of 0":     {v + le64(1, 1, 0, 4, 0), "sample 0 of shape (4,) has tiles of shape (0,)"},
		"a sample of 0":  {v + le64(1, 1, 0, 0, 4), "sample 0 of shape (0,) has tiles of shape (4,)"},
		"below 0":        {v + le64(1, 1, 0, 4, 1<<63), "its shape of a sample is beyond"},
	}, func(p []byte) error {
		_, err := decodeTiles(p)
		return err
	})
}

// TestSequenceIndex decodes indexes of sequences.
func TestSequenceIndex(t *testing.T) {
	v := ver("3.9.52")
	for name, c := range map[string]struct {
		data string
		want []sequenceRun
	}{
		"no file": {"", nil},
		"no rows": {v, []sequenceRun{}},
		"rows": {string(raw(t, `06 33 2e 39 2e 35 32
			03 00 00 00 00 00 00 00 01 00 00 00
			00 00 00 00 06 00 00 00 04 00 00 00
			02 00 00 00 06 00 00 00 05 00 00 00`)), []sequenceRun{{3, 0, 1}, {0, 6, 4}, {2, 6, 5}}},
	} {
		if got, err := decodeSequences([]byte(c.data)); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
	refuse(t, map[string]damage{
		"a version": {"\x06", "cut within its version"},
		"half":      {v + le(1, 0), "8 bytes are no rows of 3 numbers"},
		"not up":    {v + le(1, 0, 4, 1, 5, 4), "row 1 ends at sequence 4, the one before at 4"},
		"down":      {v + le(1, 0, 4, 1, 5, 3), "row 1 ends at sequence 3, the one before at 4"},
	}, func(p []byte) error {
		_, err := decodeSequences(p)
		return err
	})
}

// TestChunkSet decodes the lists of the chunks of a commit.
func TestChunkSet(t *testing.T) {
	for data, want := range map[string]map[string]owner{
		"":                     {},
		"1a":                   {"1a": {}},
		"1a,2b":                {"1a": {}, "2b": {}},
		"1a:c0,2b,3c:c1:a/b:c": {"1a": {commit: "c0"}, "2b": {}, "3c": {commit: "c1", key: "a/b:c"}},
	} {
		if got, err := decodeChunkSet([]byte(data)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v, want %v", data, got, err, want)
		}
	}
	refuse(t, map[string]damage{
		"no name":     {"1a,,2b", `"" is not the name of a chunk`},
		"no last":     {"1a,", `"" is not the name of a chunk`},
		"a name":      {"xyz", `"xyz" is not the name of a chunk`},
		"upper case":  {"1A", `"1A" is not the name`},
		"a path":      {"../1a", `"../1a" is not the name`},
		"bytes":       {"\x00\xff", "is not the name of a chunk"},
		"a long name": {strings.Repeat("x", 1000), strings.Repeat("x", 64) + `..." is not`},
	}, func(p []byte) error {
		_, err := decodeChunkSet(p)
		return err
	})
}

// TestChanges decodes the changes of a tensor, with and without the tail that new writers add.
func TestChanges(t *testing.T) {
	body := string(raw(t, `01 00 00
		00 00 00 00 00 00 00 02  00 00 00 00 00 00 00 05
		00 00 00 00 00 00 00 02  00 00 00 00 00 00 00 01  00 00 00 00 00 00 00 00
		00`))
	rows := changes{created: true, from: 2, to: 5, updated: []int64{1, 0}}
	popped := rows
	popped.deleted = 1
	for name, c := range map[string]struct {
		data string
		want changes
		none bool
	}{
		"no file":      {"", changes{}, true},
		"no tail":      {body, rows, false},
		"a tail":       {body + be64(1, 4, 1234), popped, false},
		"no ids":       {body + be64(1, 4), popped, false},
		"nothing":      {"\x00\x00\x00" + be64(3, 3, 0) + "\x00", changes{from: 3, to: 3}, true},
		"info":         {"\x00\x01\x00" + be64(3, 3, 0) + "\x00" + be64(0), changes{info: true, from: 3, to: 3}, false},
		"transformed":  {"\x00\x00\x01" + be64(3, 3, 0) + "\x00" + be64(0), changes{transformed: true, from: 3, to: 3}, false},
		"cleared":      {"\x00\x00\x00" + be64(0, 0, 0) + "\x01" + be64(0), changes{cleared: true}, false},
		"one row":      {"\x00\x00\x00" + be64(0, 1, 0) + "\x00", changes{to: 1}, false},
		"a row popped": {"\x00\x00\x00" + be64(0, 0, 0) + "\x00" + be64(1, 0), changes{deleted: 1}, false},
	} {
		got, err := decodeChanges([]byte(c.data))
		if err != nil || !reflect.DeepEqual(*got, c.want) || got.none() != c.none {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
	refuse(t, map[string]damage{
		"flags":        {"\x01\x00", "cut within its flags"},
		"rows":         {"\x01\x00\x00" + be64(2), "cut within its added rows"},
		"rows, huge":   {"\x01\x00\x00" + be64(0, 1<<63, 0) + "\x00", "its added rows is beyond"},
		"many updates": {"\x01\x00\x00" + be64(0, 0, 1<<39), "549755813888 updates in 0 bytes"},
		"more updates": {"\x01\x00\x00" + be64(0, 0, 2, 1) + "\x00", "2 updates in 9 bytes"},
		"huge updates": {"\x01\x00\x00" + be64(0, 0, 1<<61), "its number of updates is beyond"},
		"an update":    {"\x01\x00\x00" + be64(0, 0, 1, 1<<50) + "\x00", "its updated row is beyond"},
		"no end":       {"\x01\x00\x00" + be64(0, 0, 0), "cut within its flags"},
		"a tail":       {body + "\x00", "cut within its number of deletions"},
		"deletions":    {body + be64(1<<63), "its number of deletions is beyond"},
	}, func(p []byte) error {
		_, err := decodeChanges(p)
		return err
	})
}

// TestGrid decodes grids of links.
func TestGrid(t *testing.T) {
	v := ver("3.9.52")
	shape, links, err := decodeGrid([]byte(v + "\x03" + le(2, 1, 1) + "a\x00b/c.jpg\x00"))
	if err != nil || !shape.Equal(tensor.Shape{2, 1, 1}) || len(links) != 2 || string(links[0]) != "a" || string(links[1]) != "b/c.jpg" {
		t.Errorf("%s, %q, %v", shape, links, err)
	}
	for data, want := range map[string]string{
		"":                                "it is cut within its version",
		v:                                 "it is cut within its number of axes",
		v + "\x00":                        "a grid of links has 0 axes",
		v + "\xff" + le(1):                "a grid of links has 255 axes",
		v + "\x02" + le(1):                "it is cut within its shape of a grid",
		v + "\x01" + le(0) + "a\x00":      "are no grid of shape (0,) of links",
		v + "\x01" + le(3) + "a\x00":      "2 bytes are no grid of shape (3,) of links",
		v + "\x02" + le(1<<31, 1<<31):     "0 bytes are no grid of shape (2147483648,) of links",
		v + "\x01" + le(1) + "abc":        "link 0 of 1 of a grid has no end",
		v + "\x01" + le(1) + "a\x00b":     "1 bytes follow a grid of 1 links",
		v + "\x01" + le(2) + "a\x00b\x01": "link 1 of 2 of a grid has no end",
	} {
		if _, _, err := decodeGrid([]byte(data)); !errs.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", data, err, want)
		}
	}
}
