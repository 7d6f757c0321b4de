package csv

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"deeplake/core/arrow"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

func ctx() context.Context { return context.Background() }

// read returns the types of the columns, and all values as texts: nulls as "-".
func read(from io.Reader, o Options) (types []string, rows [][]string, err error) {
	r, err := NewReader(from, o)
	if err != nil {
		return nil, nil, err
	}
	types = make([]string, len(r.Columns()))
	for {
		b, err := r.Next(ctx())
		if err != nil || b == nil {
			return types, rows, err
		}
		fields, _ := b.Fields()
		first := len(rows)
		for i, c := range fields {
			if !c.IsNull() || types[i] == "" {
				types[i] = c.Type()
			}
			for row, value := range texts(c) {
				if i == 0 {
					rows = append(rows, nil)
				}
				rows[first+row] = append(rows[first+row], value)
			}
		}
	}
}

// texts returns the values of a column: texts as they are, times as numbers, others as JSON.
func texts(c *arrow.Column) (out []string) {
	isTime := strings.HasPrefix(c.Type(), "date") || strings.HasPrefix(c.Type(), "timestamp")
	to := tensor.Target{HType: tensor.HType{Base: "json"}, DType: tensor.JSON}
	switch {
	case c.Type() == "string":
		to = tensor.Target{HType: tensor.HType{Base: "text"}, DType: tensor.String}
	case isTime:
		to = tensor.Target{HType: tensor.HType{Base: "generic"}}
	}
	rows, err := c.Rows(to)
	if err != nil {
		return slices.Repeat([]string{err.Error()}, int(c.Len()))
	}
	rows = rows.Spread()
	for _, s := range rows.Samples {
		if s.Form == tensor.FormHole {
			out = append(out, "-")
			continue
		}
		if isTime {
			out = append(out, strconv.FormatInt(int64(binary.LittleEndian.Uint64(s.Data)), 10))
			continue
		}
		out = append(out, string(s.Data))
	}
	return out
}

// TestTypes: the type of a column by its values, which lose nothing.
func TestTypes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values, kind string
		want         string // the values; "": as they are written
	}{
		{"1 -5 0", "int64", ""},
		{"1 NA 3", "int64", "1 - 3"},
		{"9223372036854775807 -9223372036854775808", "int64", ""},
		{"9223372036854775808 1", "uint64", ""},
		{"18446744073709551616 1", "string", ""},
		{"9223372036854775808 -1", "string", ""},
		{"007 1", "string", ""},
		{"-05 1", "string", ""},
		{"+5 1", "string", ""},
		{"0 -0 10", "int64", "0 0 10"},
		{"1.5 2", "double", "1.5 2.0"},
		{"1e3 .5 5.", "double", "1000.0 0.5 5.0"},
		{"1.5 18446744073709551616", "double", "1.5 1.8446744073709552e+19"},
		{"1e999 1", "string", ""},
		{"00.5 1", "string", ""},
		{"1.5.2 1", "string", ""},
		{"0x10 1", "string", ""},
		{"1_000 1", "string", ""},
		{"- 1", "string", ""},
		{"true False TRUE", "bool", "true false true"},
		{"true 1", "string", ""},
		{"truth 1", "string", ""},
		{"2026-11-29 1969-12-31 1970-01-01", "date32[day]", "20786 -1 0"},
		{"2026-02-29 2024-02-29", "string", ""},
		{"2026-11-29T10:00 2026-11-29", "timestamp[us]", "1795946400000000 1795910400000000"},
		{"2026-11-29T10:00:59.123456789", "timestamp[ns]", "1795946459123456789"},
		{"2026-11-29T10:00:59.123456789 3000-01-01T00:00:00", "string", ""},
		{"2026-11-29T10:00:00+05:30 2026-11-29T10:00:00Z", "timestamp[us, tz=UTC]", "1795926600000000 1795946400000000"},
		{"2026-11-29T10:00:00+05:30 2026-11-29T10:00:00", "string", ""},
		{"2026-11-29T25:00:00 2026-11-29T10:00:00", "string", ""},
		{"12:30:00 13:00:00", "string", ""},
		{"NA null", "null", "- -"},
		{"NA x", "string", ""},
		{"inf -inf 1", "double", ""},
		{"a 1 2", "string", ""},
	} {
		file := "a,b\n"
		for _, v := range strings.Fields(c.values) {
			file += v + ",\"" + v + "\"\n"
		}
		types, rows, err := read(strings.NewReader(file), Options{})
		if err != nil {
			t.Fatal(c.values, err)
		}
		var got []string
		for _, row := range rows {
			got = append(got, row[0])
			if row[0] != row[1] {
				t.Errorf("%q: %q with quotes is %q", c.values, row[0], row[1])
			}
		}
		want := c.want
		if want == "" {
			want = c.values
		}
		if types[0] != c.kind || strings.Join(got, " ") != want && c.values != "inf -inf 1" {
			t.Errorf("%q: %s %q, want %s %q", c.values, types[0], got, c.kind, want)
		}
	}
}

// TestKnownKinds: columns whose tensors are known, or stated by the user.
func TestKnownKinds(t *testing.T) {
	t.Parallel()
	stated := func(k Kinds) Known { return Known{Kinds: k, Fixed: true, Lenient: true} }
	for _, c := range []struct {
		known        Known
		values, kind string
		want         string // or an error
	}{
		{stated(Text), "1 007 true", "string", "1 007 true"},
		{stated(Integers), "1 007", "int64", "1 7"},
		{stated(Floats), "007 1.5 18446744073709551616", "double", "7.0 1.5 1.8446744073709552e+19"},
		{stated(Bools), "1 0 true", "bool", "true false true"},
		{stated(Unsigned), "1 18446744073709551615", "uint64", "1 18446744073709551615"},
		{stated(Times), "2026-11-29", "timestamp[us]", "1795910400000000"},
		{stated(Integers), "1 2.5", "", `line 3 has "2.5" for "a", and the column has integers`},
		{stated(Integers), "x 1", "", `line 2 has "x"`},
		{stated(Unsigned), "1 -1", "", `line 3 has "-1"`},
		{stated(Dates), "2026-11-29 2026-11-29T10:00", "", `line 3 has "2026-11-29T10:00" for "a", and the column has dates`},
		{Known{Kinds: Integers, Fixed: true}, "1 007", "", `line 3 has "007"`},
		{Known{Kinds: Bools, Fixed: true}, "true 1", "", `line 3 has "1"`},
		{Known{Kinds: Text, Holes: true}, "x NA", "string", "x -"},
		{Known{Kinds: Integers}, "1 2.5", "double", "1.0 2.5"},
		{Known{}, "9007199254740993 1", "int64", "9007199254740993 1"},
		{Known{}, "9007199254740993 0.5", "string", "9007199254740993 0.5"},
		{Known{}, "-0.5 -9007199254740993", "string", "-0.5 -9007199254740993"},
		{Known{}, "0.5 9007199254740992 18446744073709551616", "double", "0.5 9.007199254740992e+15 1.8446744073709552e+19"},
		{Known{}, "100000000000000000000001 0.5", "string", "100000000000000000000001 0.5"},
		{Known{}, strings.Repeat("7", 1<<20) + " 0.5", "string", strings.Repeat("7", 1<<20) + " 0.5"},
		{Known{Kinds: Integers, Fixed: true}, "9007199254740993 -1", "int64", "9007199254740993 -1"},
		{stated(Floats), "9007199254740993 0.5", "double", "9.007199254740992e+15 0.5"},
		{Known{Kinds: Floats, Fixed: true}, "0.5 9007199254740993", "", `line 3 has "9007199254740993" for "a", which float64 would round; give it dtype float64, or htype text`},
		{Known{Kinds: Text}, "1 2.5", "string", "1 2.5"},
		{Known{Kinds: Bools}, "1 2", "string", "1 2"},
		{Known{Kinds: Times}, "2026-11-29", "timestamp[us]", "1795910400000000"},
	} {
		types, rows, err := read(strings.NewReader("a\n"+strings.ReplaceAll(c.values, " ", "\n")), Options{Known: map[string]Known{"a": c.known}})
		got := strings.Join(slices.Concat(rows...), " ")
		if err != nil {
			types, got = []string{""}, err.Error()
		}
		if types[0] != c.kind || got != c.want && (c.kind != "" || !strings.Contains(got, c.want)) {
			t.Errorf("%+v, %q: %s %q %v", c.known, c.values, types, got, err)
		}
	}
}

// TestLaterBatches: columns keep their kind. A value of another kind is an error with its line, or
// its record is left out.
func TestLaterBatches(t *testing.T) {
	t.Parallel()
	file := "n,text,big,time\n"
	for i := range 100 {
		file += fmt.Sprintf("%d,%d,1.5,2026-01-01\n", i, i)
		if i == 0 {
			file = strings.Replace(file, "0,0,", "0,x,", 1)
		}
	}
	types, rows, err := read(strings.NewReader(file), Options{Most: 100})
	if err != nil || len(rows) != 100 || rows[99][1] != "99" || !slices.Equal(types, []string{"int64", "string", "double", "date32[day]"}) {
		t.Fatal(types, len(rows), err)
	}
	for _, c := range []struct{ line, want string }{
		{"oh,1,1,\n", `line 102 has "oh" for "n", and the column has integers; give it another dtype, or htype text`},
		{"1,1,1,noon\n", `line 102 has "noon" for "time", and the column has dates`},
		{"007,1,1,\n", `line 102 has "007" for "n"`},
		{"2.5,1,1,\n", `line 102 has "2.5" for "n", and the column has integers`},
		{"1,1\n", "line 102 has another number of values than the first line: 2, want 4"},
		{"1,\xff,1,\n", "line 102 is not UTF-8"},
	} {
		broken := file + c.line + "5,y,1,\n"
		_, _, err := read(strings.NewReader(broken), Options{Most: 100})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.line, err)
		}
		var left []int64
		_, rows, err := read(strings.NewReader(broken), Options{Most: 100, LeaveOut: func(row int64, err error) error {
			if !strings.Contains(err.Error(), c.want) {
				t.Error(err)
			}
			left = append(left, row)
			return nil
		}})
		if err != nil || len(rows) != 101 || rows[100][1] != "y" || !slices.Equal(left, []int64{100}) {
			t.Errorf("%q: %d rows, without %v: %v", c.line, len(rows), left, err)
		}
		stop := errors.New("stop")
		if _, _, err := read(strings.NewReader(broken), Options{LeaveOut: func(int64, error) error { return stop }, Most: 100}); !errors.Is(err, stop) {
			t.Error(err)
		}
	}
}

// TestRandomRecords: what encoding/csv has written comes back, however the file is cut into reads
// and batches, from each record on.
func TestRandomRecords(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		pieces := []string{"", "a", "\"", ",", "\n", "ü", " ", "\"\"", "12", ";", "\t"}
		columns := 2 + rng.IntN(4)
		var file bytes.Buffer
		w := csv.NewWriter(&file)
		w.UseCRLF = seed%3 == 0
		if seed%4 == 0 {
			w.Comma = '\t'
		}
		known := map[string]Known{}
		var names []string
		for i := range columns {
			names = append(names, "c"+strconv.Itoa(i))
			known[names[i]] = Known{Kinds: Text}
		}
		want := [][]string{}
		_ = w.Write(names)
		for range rng.IntN(40) {
			row := make([]string, columns)
			for i := range row {
				for range rng.IntN(4) {
					row[i] += pieces[rng.IntN(len(pieces))]
				}
			}
			_ = w.Write(row)
			for i := range row {
				if w.UseCRLF { // which it writes within quotes too
					row[i] = strings.ReplaceAll(row[i], "\n", "\r\n")
				}
			}
			want = append(want, row)
		}
		w.Flush()
		from := rng.Int64N(int64(len(want)) + 1)
		for _, o := range []Options{{}, {Most: 1}, {Most: 50, From: from}} {
			if o.Known = known; seed%5 > 0 {
				o.Comma = byte(w.Comma)
			}
			var reader io.Reader = bytes.NewReader(file.Bytes())
			if rng.IntN(2) == 0 {
				reader = iotest.OneByteReader(reader)
			}
			_, got, err := read(reader, o)
			if err != nil || !slices.EqualFunc(got, want[o.From:], slices.Equal) {
				t.Fatalf("seed %d, %+v: %v\n got %q\nwant %q", seed, o, err, got, want[o.From:])
			}
		}
	}
}

// TestBadFiles: files that have no columns, or records without an end.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, want string
	}{
		{"", "it is empty"},
		{"\n\n", "it is empty"},
		{"a;b\n1;2;3\n", `names one column, "a;b"; no separator divides`},
		{"a,b\n\"x,1\n", "line 2 has a quote that is not closed"},
		{"a,b\n\"x\"y,1\n", "line 2 has \"y,1\\n\" behind a closing quote"},
		{"\xff\xfea\x00", "it is UTF-16"},
		{"a,\xff\n", "line 1 is not UTF-8"},
		{"a,b\r1,2\r", "carriage returns alone"},
		{"a,,b\n1,2,3\n", "column 2 has no name"},
		{strings.Repeat("a,", maxColumns) + "a\n", "want at most"},
	} {
		_, _, err := read(strings.NewReader(c.file), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q: %v", c.file, err)
		}
	}
}

// TestSeparators: the first records tell what lies between values.
func TestSeparators(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2*readBytes)
	for file, want := range map[string][]string{
		"a,b\n1,2\n":                   {"1", "2"},
		"a;b\r\n1;2\r\n":               {"1", "2"},
		"a\tb\n1\t2\n":                 {"1", "2"},
		"\n\xef\xbb\xbfa|b|c\n\n1|2|3": {"1", "2", "3"},
		"\xef\xbb\xbf\"a;1\";\"b,c\"\n\"x\ny;z\";\"2,5\"":    {"x\ny;z", "2,5"},
		"name;price, EUR;day\nx;1,5;mon\ny;2;tue\nz;3;wed\n": {"x", "1,5", "mon"},
		"id,label(a|b|c)\n1,a\n":                             {"1", "a"},
		"id,\"text;\"\n1,\"a;b;c\"\n":                        {"1", "a;b;c"},
		"id,what (a; b; c)\n1,\"x, y; z; w\"\n":              {"1", "x, y; z; w"},
		"a,b (x;y)\n1,2;3\n4,5\n6,7\n":                       {"1", "2;3"},
		"a;b\n1,5;2\nhalf a line\n1;2\n":                     nil, // one line is wrong
		"text\nhello; world, this | is\ttext\n":              nil, // one column, two values
		"text\n\"hello; world, this | is\ttext\"\n":          {"hello; world, this | is\ttext"},
		"a;b\n" + long + ";2\n":                              {long, "2"},
		"a,b\n" + long + ",2\n":                              {long, "2"},
	} {
		_, rows, err := read(strings.NewReader(file), Options{})
		if want == nil {
			if !errs.Is(err, errs.Invalid) {
				t.Errorf("%.40q: %v", file, err)
			}
		} else if err != nil || len(rows) == 0 || !slices.Equal(rows[0], want) {
			t.Errorf("%.40q: %.80q, want %.80q: %v", file, rows, want, err)
		}
	}
	// Two separators fit: the user states the one that is meant.
	for file, want := range map[string]string{
		"Name, Vorname;Ort\nMueller, Hans;Berlin\n":      `',' divides its lines into 2 values, and ';' into 2`,
		"Umsatz (EUR, netto);Menge\n1,5;2\n":             `state the one that is meant, by --separator (separator=...)`,
		"City, State\tPop\nAustin, TX\t1\nReno, NV\t2\n": `',' divides its lines into 2 values, and '\t' into 2`,
		"a;b,c;d,e\n1;2,3;4,5\n":                         `',' divides its lines into 3 values, and ';' into 3`,
	} {
		if _, _, err := read(strings.NewReader(file), Options{}); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", file, err)
		}
	}
	if _, rows, err := read(strings.NewReader("Name, Vorname;Ort\nMueller, Hans;Berlin\n"), Options{Comma: ';'}); err != nil || !slices.Equal(rows[0], []string{"Mueller, Hans", "Berlin"}) {
		t.Errorf("%q: %v", rows, err)
	}
	// A file of names alone has no rows.
	r, err := NewReader(iotest.OneByteReader(strings.NewReader("a;b\n")), Options{})
	if err != nil || !slices.Equal(r.Columns(), []string{"a", "b"}) {
		t.Error(r, err)
	}
}

// TestNames: the mark of UTF-8 is no part of a name, and a first column without a name, the index
// of a data frame, is left out.
func TestNames(t *testing.T) {
	t.Parallel()
	for file, want := range map[string][]string{
		"\xef\xbb\xbfa,b\n1,2\n":       {"a", "b"},
		"\xef\xbb\xbf\"a\",\"b\"\n1,2": {"a", "b"},
		"\n\r\na,b\r\n\r\n1,2\r\n":     {"a", "b"},
		",a\n0,2\n":                    {"a"},
	} {
		r, err := NewReader(strings.NewReader(file), Options{})
		if err != nil || !slices.Equal(r.Columns(), want) {
			t.Fatalf("%q: %v", file, err)
		}
		b, err := r.Next(ctx())
		if err != nil || b == nil || b.Len() != 1 {
			t.Fatalf("%q: %v", file, err)
		}
		fields, _ := b.Fields()
		if got := texts(fields[len(fields)-1]); got[0] != "2" {
			t.Errorf("%q: %q", file, got)
		}
	}
	_, rows, err := read(strings.NewReader(",a,,b\n0,2,3,4\n"), Options{Columns: []string{"b"}})
	if err != nil || len(rows) != 1 || len(rows[0]) != 1 || rows[0][0] != "4" {
		t.Error(rows, err)
	}
}

// endless gives some bytes again and again, n in all.
type endless struct {
	text string
	n    int64
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.n <= 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) {
		k := copy(p[n:], e.text[e.at:])
		n, e.at = n+k, (e.at+k)%len(e.text)
	}
	e.n -= int64(n)
	return n, nil
}

// TestMemoryOfLinesThatAreNone: empty lines, and lines that are left out, are not collected.
func TestMemoryOfLinesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, head := range []string{"", "a,b\n", "a,b\n1,2\n"} {
		for _, text := range []string{"\n", "1,2," + strings.Repeat("3", 1000) + "\n", strings.Repeat(",", 1000)} {
			if head == "" && len(text) > 1000 {
				continue
			}
			from := io.MultiReader(strings.NewReader(head), &endless{text: text, n: 24 << 20})
			r, err := NewReader(from, Options{LeaveOut: func(int64, error) error { return nil }})
			if err != nil {
				continue
			}
			for {
				b, err := r.Next(ctx())
				if err != nil && len(text) != 1000 {
					t.Fatal(err)
				}
				if b == nil {
					break
				}
			}
			if cap(r.buf) > 21<<20 && len(text) != 1000 || cap(r.record.cells) > 2*maxColumns {
				t.Errorf("%q and lines %q: a buffer of %d bytes", head, text, cap(r.buf))
			}
		}
	}
}

// TestReadFails: an error of the store keeps its kind.
func TestReadFails(t *testing.T) {
	t.Parallel()
	gone := errs.New(errs.NotFound, "gone")
	for _, n := range []int{0, 2, 10} {
		from := io.MultiReader(strings.NewReader("a,b\n1,2\n3,4\n"[:n]), iotest.ErrReader(gone))
		if _, _, err := read(from, Options{}); !errs.Is(err, errs.NotFound) {
			t.Error(n, err)
		}
	}
}

// FuzzRecords reads forged files: each is rows, or an error. What encoding/csv reads is the same.
func FuzzRecords(f *testing.F) {
	for _, file := range []string{"a,b\n1,2\n", "a,b\n\"x\"\"y\",\"\n\"\n", "a\n\n1\n", "a,b\n2026-01-01T00:00:00Z,1e5\n007,-1\n"} {
		f.Add([]byte(file), uint8(0))
		f.Add([]byte(file), uint8(3))
	}
	f.Fuzz(func(t *testing.T, p []byte, most uint8) {
		o := Options{Most: int64(most), LeaveOut: func(int64, error) error { return nil }}
		if _, _, err := read(bytes.NewReader(p), o); errs.Is(err, errs.Internal) {
			t.Error(err)
		}
		r := csv.NewReader(bytes.NewReader(p))
		want, err := r.ReadAll()
		if err != nil || len(want) == 0 || bytes.ContainsRune(p, '\r') || bytes.HasPrefix(p, []byte("\xef\xbb\xbf")) {
			return
		}
		o.Known = map[string]Known{}
		for _, name := range want[0] {
			o.Known[name] = Known{Kinds: Text}
		}
		_, got, err := read(bytes.NewReader(p), o)
		if err == nil && bytes.Equal(p, bytes.ToValidUTF8(p, nil)) && want[0][0] != "" && !slices.EqualFunc(got, want[1:], slices.Equal) {
			t.Errorf("%q: got %q, want %q", p, got, want[1:])
		}
	})
}
