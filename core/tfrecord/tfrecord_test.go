package tfrecord

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"deeplake/core/arrow"
	"deeplake/core/arrow/arrowtest"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// part is a field of bytes.
func part(number int, p ...[]byte) []byte {
	data := bytes.Join(p, nil)
	return append(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(number<<3|wireBytes)), uint64(len(data))), data...)
}

// number is a field of a varint.
func number(n int, v int64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(n<<3|wireVarint)), uint64(v))
}

func texts(all ...string) []byte {
	var list [][]byte
	for _, t := range all {
		list = append(list, part(1, []byte(t)))
	}
	return part(1, list...)
}

func floats(packed bool, all ...float32) []byte {
	var list []byte
	for _, v := range all {
		if !packed {
			list = append(list, 1<<3|wire32)
		}
		list = binary.LittleEndian.AppendUint32(list, math.Float32bits(v))
	}
	if packed {
		return part(2, part(1, list))
	}
	return part(2, list)
}

func ints(packed bool, all ...int64) []byte {
	var list []byte
	for _, v := range all {
		if !packed {
			list = append(list, number(1, v)...)
		} else {
			list = binary.AppendUvarint(list, uint64(v))
		}
	}
	if packed {
		return part(3, part(1, list))
	}
	return part(3, list)
}

// named is an entry of the map of features.
func named(name string, value []byte) []byte { return part(1, part(1, []byte(name)), part(2, value)) }

// record is an Example.
func record(features ...[]byte) []byte { return part(1, features...) }

// file frames records.
func file(records ...[]byte) []byte {
	var out []byte
	for _, p := range records {
		head := binary.LittleEndian.AppendUint64(nil, uint64(len(p)))
		out = append(append(out, head...), binary.LittleEndian.AppendUint32(nil, checksum(head))...)
		out = append(append(out, p...), binary.LittleEndian.AppendUint32(nil, checksum(p))...)
	}
	return out
}

// rows reads a file, and prints the samples of each column: holes as "-".
func rows(t *testing.T, data []byte, o Options) map[string][]string {
	t.Helper()
	r, err := NewReader(iotest.HalfReader(bytes.NewReader(data)), o)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for {
		b, err := r.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			return out
		}
		fields, _ := b.Fields()
		for _, c := range fields {
			for _, s := range arrowtest.Samples(t, c) {
				out[c.Name()] = append(out[c.Name()], printed(&s))
			}
		}
	}
}

func printed(s *tensor.Sample) string {
	switch {
	case s.Form == tensor.FormHole:
		return "-"
	case s.Form == tensor.FormEncoded:
		return fmt.Sprintf("file %x", s.Data)
	case s.Form == tensor.FormText:
		return fmt.Sprintf("%q", s.Data)
	}
	var v []string
	for p := s.Data; len(p) > 0; p = p[s.DType.Size():] {
		if s.DType == tensor.Float32 {
			v = append(v, fmt.Sprint(math.Float32frombits(binary.LittleEndian.Uint32(p))))
		} else {
			v = append(v, fmt.Sprint(int64(binary.LittleEndian.Uint64(p))))
		}
	}
	return s.Shape.String() + " " + strings.Join(v, " ")
}

func TestRecords(t *testing.T) {
	const jpeg = "\xff\xd8\xff\xe0 a file"
	data := file(
		record(named("label", ints(true, 7)), named("text", texts("café")), named("image/encoded", texts(jpeg)), named("v", floats(true, 1.5, -2)), named("raw", texts("\xff\xfe")), named("ids", ints(false, 1, 2, 3))),
		record(named("label", ints(false, -1)), named("text", texts("")), named("image/encoded", texts(jpeg)), named("v", floats(false, 3, 4)), named("raw", texts("a")), named("ids", ints(false))),
		record(named("text", texts("x")), named("v", floats(false, 5, 6)), named("new", ints(true, math.MinInt64))),
	)
	want := map[string][]string{
		"label": {"() 7", "() -1", "-"}, "text": {`"café"`, `""`, `"x"`}, "image/encoded": {"file ffd8ffe020612066696c65", "file ffd8ffe020612066696c65", "-"},
		"v": {"(2,) 1.5 -2", "(2,) 3 4", "(2,) 5 6"}, "raw": {`"\xff\xfe"`, `"a"`, "-"}, "ids": {"(3,) 1 2 3", "(0,) ", "-"}, "new": {"-", "-", "() -9223372036854775808"},
	}
	var zipped, deflated bytes.Buffer
	for _, w := range []io.WriteCloser{gzip.NewWriter(&zipped), zlib.NewWriter(&deflated)} {
		if _, err := w.Write(data); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
	}
	for name, p := range map[string][]byte{"plain": data, "gzip": zipped.Bytes(), "zlib": deflated.Bytes()} {
		got := rows(t, p, Options{})
		for key, values := range want {
			if !slices.Equal(got[key], values) {
				t.Errorf("%s: %s: %q, want %q", name, key, got[key], values)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: columns %v", name, got)
		}
	}
	got := rows(t, data, Options{Columns: []string{"label", "raw"}, From: 1, Known: map[string]Form{"raw": Text}})
	if len(got) != 2 || !slices.Equal(got["label"], []string{"() -1", "-"}) || !slices.Equal(got["raw"], []string{`"a"`, "-"}) {
		t.Errorf("two columns from record 1 on: %v", got)
	}
	one := file(record(named("ids", ints(true, 4))))
	if got := rows(t, one, Options{Known: map[string]Form{"ids": List}}); !slices.Equal(got["ids"], []string{"(1,) 4"}) {
		t.Errorf("one value of a column of lists: %v", got)
	}
	if got := rows(t, nil, Options{}); len(got) != 0 {
		t.Errorf("an empty file: %v", got)
	}
}

func TestSequences(t *testing.T) {
	steps := func(name string, all ...[]byte) []byte {
		var list [][]byte
		for _, f := range all {
			list = append(list, part(1, f))
		}
		return part(2, part(1, part(1, []byte(name)), part(2, list...)))
	}
	one := append(record(named("id", ints(true, 1))), append(steps("frames", texts("a"), texts("b")), steps("boxes", floats(true, 1, 2), floats(true, 3, 4))...)...)
	two := append(record(named("id", ints(true, 2))), append(steps("frames", texts("c")), steps("boxes", floats(true, 5, 6))...)...)
	got := rows(t, file(one, two), Options{})
	if !slices.Equal(got["id"], []string{"() 1", "() 2"}) || !slices.Equal(got["boxes"], []string{"(2, 2) 1 2 3 4", "(1, 2) 5 6"}) || len(got["frames"]) < 2 {
		t.Errorf("sequences: %v", got)
	}
}

func TestFaults(t *testing.T) {
	good := file(record(named("a", ints(true, 1))))
	flip := func(p []byte, at int) []byte {
		p = slices.Clone(p)
		p[at] ^= 1
		return p
	}
	huge := binary.LittleEndian.AppendUint64(nil, 1<<40)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"no TFRecord":   {[]byte("some text that is none of it"), "this is no TFRecord file"},
		"a length":      {flip(good, 0), "record 0 begins with"},
		"data":          {flip(good, len(good)-6), "record 0 has data whose checksum does not match"},
		"a short head":  {append(slices.Clone(good), 1, 2, 3), "record 1 is cut within its length"},
		"short data":    {good[:len(good)-3], "record 0 is cut within its data"},
		"a huge record": {append(huge, binary.LittleEndian.AppendUint32(nil, checksum(huge))...), "record 0 has 1099511627776 bytes"},
		"a long record": {file(make([]byte, 1<<21))[:1<<16], "record 0 is cut within its data"},
		"no message":    {file([]byte{0xff}), "record 0 is no tf.train.Example: a field has no number"},
		"a cut field":   {file([]byte{1<<3 | wireBytes, 9, 1}), "record 0 is no tf.train.Example: field 1 is cut"},
		"a group":       {file([]byte{1<<3 | 3}), "record 0 is no tf.train.Example: field 1 is written in way 3"},
		"odd floats":    {file(record(named("a", part(2, part(1, []byte{1, 2, 3}))))), "record 0 is no tf.train.Example: 3 bytes are no floats"},
		"a cut integer": {file(record(named("a", part(3, part(1, []byte{0x80}))))), "record 0 is no tf.train.Example: an integer is cut"},
		"a way":         {file(record(named("a", part(1, number(1, 5))))), "record 0 is no tf.train.Example: bytes are written in way 0"},
		"a name":        {file(record(named("\xff", ints(true, 1)))), `record 0 has a feature with the name "\xff", want text`},
		"another kind":  {file(record(named("a", ints(true, 1))), record(named("a", texts("x")))), `record 1 has bytes for "a", and records before have integers`},
	} {
		r, err := NewReader(bytes.NewReader(c.data), Options{})
		for err == nil {
			var b *arrow.Batch
			if b, err = r.Next(context.Background()); b == nil {
				break
			}
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || errs.KindOf(err) == errs.Internal {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	// Records that are none are left out; damage of the file ends it.
	var left []int64
	data := file(record(named("a", ints(true, 1))), []byte{0xff}, record(named("a", texts("x"))), record(named("a", ints(true, 4))))
	got := rows(t, data, Options{LeaveOut: func(n int64, _ error) error { left = append(left, n); return nil }})
	if !slices.Equal(got["a"], []string{"() 1", "() 4"}) || !slices.Equal(left, []int64{1, 2}) {
		t.Errorf("%v without %v", got, left)
	}
}

// FuzzRecords reads forged files, and forged messages in valid frames.
func FuzzRecords(f *testing.F) {
	f.Add(record(named("a", ints(true, 1)), named("b", texts("x")), named("c", floats(false, 1))), true)
	f.Add(file(record(named("a", ints(false, 1, 2)))), false)
	f.Fuzz(func(t *testing.T, p []byte, framed bool) {
		data := p
		if framed {
			data = file(p, p)
		}
		r, err := NewReader(bytes.NewReader(data), Options{Places: true})
		for err == nil {
			var b *arrow.Batch
			if b, err = r.Next(context.Background()); b == nil {
				return
			}
			fields, ok := b.Fields()
			if !ok {
				t.Fatal("no struct")
			}
			for _, c := range fields {
				if c.Len() != int64(len(b.Rows)) {
					t.Fatalf("%d values of %d records", c.Len(), len(b.Rows))
				}
				_, _ = c.Rows(tensor.Target{HType: tensor.HType{Base: "generic"}})
				_ = arrowtest.Placed(t, data, c)
			}
		}
	})
}

// TestWrite: AppendExample writes the messages that the functions of this file make, and the reader
// takes the records of WriteRecord.
func TestWrite(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	const rows = 300
	for i := range rows {
		many := make([]int64, i)
		for k := range many {
			many[k] = 1<<k%63 - int64(i)
		}
		name := fmt.Sprintf("row %d %s", i, strings.Repeat("x", i))
		got := AppendExample(nil, []Feature{
			{Name: "name", Bytes: [][]byte{[]byte(name)}},
			{Name: "label", Ints: []int64{int64(i) - 150}},
			{Name: "vector", Floats: []float32{float32(i), 0.5}},
			{Name: "many", Ints: many},
			{Name: "none", Bytes: [][]byte{}},
		})
		var want []byte
		for _, f := range []struct {
			name  string
			value []byte
		}{{"name", texts(name)}, {"label", ints(true, int64(i)-150)}, {"vector", floats(true, float32(i), 0.5)}, {"many", ints(true, many...)}, {"none", texts()}} {
			want = append(want, part(1, part(1, []byte(f.name)), part(2, f.value))...)
		}
		if want = part(1, want); !bytes.Equal(got, want) {
			t.Fatalf("row %d: %x, want %x", i, got, want)
		}
		if err := WriteRecord(&file, got); err != nil {
			t.Fatal(err)
		}
	}
	f, err := newFrames(&file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if _, ok, err := f.next(nil); err != nil || !ok {
			t.Fatalf("record %d: %v, %v", i, ok, err)
		}
	}
	if _, ok, err := f.next(nil); ok || err != nil {
		t.Errorf("behind the last record: %v, %v", ok, err)
	}
}
