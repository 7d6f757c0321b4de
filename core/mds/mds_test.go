package mds

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"deeplake/core/arrow"
	"deeplake/core/arrow/arrowtest"
	"deeplake/core/arrow/gather"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// wanted is a column of a forged shard.
type wanted struct {
	name, encoding string
	size           int64 // 0: it varies
}

// forged makes a shard of version 2.
func forged(columns []wanted, samples ...[][]byte) []byte {
	c := map[string]any{"version": 2, "format": "mds"}
	var names, encodings []string
	var sizes []any
	for _, one := range columns {
		names, encodings = append(names, one.name), append(encodings, one.encoding)
		if one.size > 0 {
			sizes = append(sizes, one.size)
		} else {
			sizes = append(sizes, nil)
		}
	}
	c["column_names"], c["column_encodings"], c["column_sizes"] = names, encodings, sizes
	text, _ := json.Marshal(c)
	head := 4*(len(samples)+2) + len(text)
	out, body := binary.LittleEndian.AppendUint32(nil, uint32(len(samples))), []byte(nil)
	for _, values := range samples {
		out = binary.LittleEndian.AppendUint32(out, uint32(head+len(body)))
		for i, v := range values {
			if columns[i].size == 0 {
				body = binary.LittleEndian.AppendUint32(body, uint32(len(v)))
			}
		}
		body = append(body, bytes.Join(values, nil)...)
	}
	out = binary.LittleEndian.AppendUint32(out, uint32(head+len(body)))
	return append(append(out, text...), body...)
}

// all reads a shard to its end, and returns its samples by column.
func all(t *testing.T, data []byte, o gather.Options) map[string][]tensor.Sample {
	t.Helper()
	r, err := NewReader(iotest.HalfReader(bytes.NewReader(data)), o)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]tensor.Sample{}
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
			out[c.Name()] = append(out[c.Name()], arrowtest.Samples(t, c)...)
		}
	}
}

// TestOwnWriter reads a shard that the package itself has written. test_mds.py compares all values.
func TestOwnWriter(t *testing.T) {
	data, err := os.ReadFile("testdata/set/shard.00000.mds")
	if err != nil {
		t.Fatal(err)
	}
	whole := all(t, data, gather.Options{})
	rest := all(t, data, gather.Options{From: 2, Columns: []string{"label", "jpg", "any"}})
	if len(whole) != 20 || len(rest) != 3 || len(whole["label"]) < 4 || len(rest["label"]) != len(whole["label"])-2 {
		t.Fatalf("%d columns, %d of %d", len(whole), len(rest), len(whole["label"]))
	}
	if got := whole["label"][1].Data; !bytes.Equal(got, binary.LittleEndian.AppendUint64(nil, uint64(1<<64-2))) || !bytes.Equal(rest["label"][0].Data, whole["label"][2].Data) {
		t.Errorf("labels: %x", got)
	}
	if got := whole["any"][3].Shape; got.String() != "(4,)" || whole["fixed"][0].Shape.String() != "(2, 3)" {
		t.Errorf("arrays: %s", got)
	}
	if got := whole["jpg"][0]; got.Form != tensor.FormEncoded || !bytes.HasPrefix(got.Data, []byte{0xff, 0xd8}) {
		t.Errorf("a picture: %v", got.Form)
	}
	for n := range len(data) - 1 {
		if n > 3000 && n%211 != 0 {
			continue
		}
		r, err := NewReader(bytes.NewReader(data[:n]), gather.Options{})
		for err == nil {
			var b *arrow.Batch
			if b, err = r.Next(context.Background()); b == nil {
				break
			}
		}
		if !errs.Is(err, errs.Corrupt) {
			t.Fatalf("the first %d bytes: %v", n, err)
		}
	}
}

// TestPlaces: image files, also those of lists, come with their positions.
func TestPlaces(t *testing.T) {
	data, err := os.ReadFile("testdata/set/shard.00000.mds")
	if err != nil {
		t.Fatal(err)
	}
	for from := range int64(3) {
		r, err := NewReader(iotest.HalfReader(bytes.NewReader(data)), gather.Options{From: from, Places: true})
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		fields, _ := b.Fields()
		for _, c := range fields {
			n := arrowtest.Placed(t, data, c)
			if mayBe := c.IsFile() || strings.HasSuffix(c.Type(), "binary"); mayBe != (n > 0) {
				t.Errorf("column %q has %d files with positions", c.Name(), n)
			}
		}
	}
}

// TestWriter: shards of ShardWriter are read back, across the blocks that it gathers.
func TestWriter(t *testing.T) {
	fields := []Field{
		{Name: "a", Encoding: "bytes"}, {Name: "b", Encoding: "int16", Size: 2}, {Name: "c", Encoding: "ndarray:float32"}, {Name: "d", Encoding: "ndarray:uint8:2,3", Size: 6},
	}
	w := NewShardWriter(fields)
	const rows = 40
	for i := range rows {
		array, err := AppendShape(nil, []int64{int64(i), 1})
		if err != nil {
			t.Fatal(err)
		}
		array = append(array, make([]byte, 4*i)...)
		large := bytes.Repeat([]byte{byte(i)}, i*blockBytes/100)
		if i == 20 {
			large = make([]byte, blockBytes+1)
		}
		if err := w.Add([][]byte{large, {byte(i), 1}, array, []byte("abcdef")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Add([][]byte{nil, {1}, nil, nil}); !errs.Is(err, errs.Invalid) {
		t.Errorf("a value of another size: %v", err)
	}
	var file bytes.Buffer
	entry, err := w.WriteTo(&file, "shard.00000.mds")
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := entry["raw_data"].(map[string]any)
	if entry["samples"] != rows || raw["bytes"] != int64(file.Len()) || raw["basename"] != "shard.00000.mds" {
		t.Errorf("the entry is %v, and the file has %d bytes", entry, file.Len())
	}
	got := all(t, file.Bytes(), gather.Options{})
	for i := range rows {
		if a := got["a"][i].Data; i != 20 && !bytes.Equal(a, bytes.Repeat([]byte{byte(i)}, i*blockBytes/100)) {
			t.Errorf("sample %d has %d bytes", i, len(a))
		}
		if c := got["c"][i]; !c.Shape.Equal(tensor.Shape{int64(i), 1}) || string(got["d"][i].Data) != "abcdef" || got["b"][i].Data[0] != byte(i) {
			t.Errorf("sample %d has shape %s", i, c.Shape)
		}
	}
}

func TestFaults(t *testing.T) {
	text := func(v string) [][]byte { return [][]byte{[]byte(v)} }
	good := forged([]wanted{{"a", "str", 0}}, text("x"))
	patched := func(at int, v uint32) []byte {
		p := slices.Clone(good)
		binary.LittleEndian.PutUint32(p[at:], v)
		return p
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":         {nil, "it is cut within its number of samples"},
		"many samples":    {patched(0, 1<<30), "it states 1073741824 samples"},
		"an offset":       {patched(4, 3), "sample 0 begins at byte 3, want 12 at least"},
		"back":            {patched(8, 20), "sample 1 begins at byte 20"},
		"no JSON":         {patched(4, 13), "its columns are described by no JSON"},
		"another version": {bytes.Replace(good, []byte(`"version":2`), []byte(`"version":3`), 1), `it has format "mds", version 3, want mds, 2`},
		"sizes":           {forged([]wanted{{"a", "str", 0}, {"a", "str", 0}}), `two columns have the name "a"`},
		"a pickle":        {forged([]wanted{{"a", "pkl", 0}}, text("x")), `column "a" has pickles, which can run programs; leave the column out`},
		"an encoding":     {forged([]wanted{{"a", "video", 0}}, text("x")), `column "a" has the encoding "video"`},
		"arrays of texts": {forged([]wanted{{"a", "ndarray:str", 0}}, text("x")), `column "a" has arrays of "str"`},
		"a size":          {patched(len(good)-5, 9), `sample 0 has 9 bytes for column "a", and 1 are left`},
		"more bytes":      {patched(len(good)-5, 0), "sample 0 has 1 bytes behind its values"},
		"no UTF-8":        {forged([]wanted{{"a", "str", 0}}, text("\xff")), `sample 0 has a text that is not UTF-8, in column "a"`},
		"no JSON value":   {forged([]wanted{{"a", "json", 0}}, text("{")), `sample 0 has "{", which is no JSON`},
		"no integer":      {forged([]wanted{{"a", "str_int", 0}}, text("99999999999999999999")), "want an integer of 64 bits"},
		"no number":       {forged([]wanted{{"a", "str_float", 0}}, text("x")), `has "x", want a number`},
		"an array":        {forged([]wanted{{"a", "ndarray", 0}}, text("\x07")), "has an array without a dtype"},
		"a shape":         {forged([]wanted{{"a", "ndarray", 0}}, text("\x08\x0a\x01")), "has an array whose shape is cut"},
		"a huge array":    {forged([]wanted{{"a", "ndarray:uint8", 0}}, text("\x06\xff\xff\xff\x7f")), "has an array of uint8 and shape [2147483647] in 0 bytes"},
		"another array":   {forged([]wanted{{"a", "ndarray", 0}}, text("\x08\x04\x01x"), text("\x09\x04\x01x")), "sample 1 has an array of int8, and samples before have uint8"},
		"pixels":          {forged([]wanted{{"a", "pil", 0}}, text("\x02\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00Lxyz")), "has an array of uint8 and shape [2 2 1] in 3 bytes"},
		"a mode":          {forged([]wanted{{"a", "pil", 0}}, text("\x02\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00Fxyz")), `has an image of mode "F"`},
		"a list":          {forged([]wanted{{"a", "jpeg_array", 0}}, text("\xff\xff\xff\xff")), "has a list of 4294967295 images in 0 bytes"},
		"files":           {forged([]wanted{{"a", "jpeg_array", 0}}, text("\x01\x00\x00\x00\x05\x00\x00\x00xy")), "has images of 5 bytes in 2"},
	} {
		r, err := NewReader(bytes.NewReader(c.data), gather.Options{})
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
}

// TestLeftOut leaves samples out: no value of them stays in another column.
func TestLeftOut(t *testing.T) {
	columns := []wanted{{"a", "str", 0}, {"b", "ndarray:uint8", 0}, {"c", "jpeg_array", 0}, {"d", "int", 8}, {"e", "str_int", 0}}
	sample := func(a, e string) [][]byte {
		return [][]byte{[]byte(a), []byte("\x04\x01" + a[:1]), []byte("\x01\x00\x00\x00\x01\x00\x00\x00" + a[:1]), binary.LittleEndian.AppendUint64(nil, uint64(a[0])), []byte(e)}
	}
	data := forged(columns, sample("x", "1"), sample("y", "no"), sample("z", "3"))
	var left []int64
	got := all(t, data, gather.Options{LeaveOut: func(n int64, _ error) error { left = append(left, n); return nil }})
	if !slices.Equal(left, []int64{1}) || len(got["a"]) != 2 {
		t.Fatalf("left out: %v", left)
	}
	for name, want := range map[string]string{"a": "z", "b": "z", "c": "z", "d": "z\x00\x00\x00\x00\x00\x00\x00"} {
		if s := got[name][len(got[name])-1]; string(s.Data) != want {
			t.Errorf("%s: %q, want %q", name, s.Data, want)
		}
	}
}

// FuzzShard reads forged shards: columns are as long as samples are many.
func FuzzShard(f *testing.F) {
	data, err := os.ReadFile("testdata/set/shard.00001.mds")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(forged([]wanted{{"a", "ndarray", 0}, {"b", "int32", 4}}, [][]byte{[]byte("\x08\x04\x01x"), {1, 2, 3, 4}}))
	f.Fuzz(func(t *testing.T, p []byte) {
		r, err := NewReader(bytes.NewReader(p), gather.Options{Places: true, LeaveOut: func(int64, error) error { return nil }})
		for err == nil {
			var b *arrow.Batch
			if b, err = r.Next(context.Background()); b == nil {
				return
			}
			fields, _ := b.Fields()
			for _, c := range fields {
				if c.Len() != int64(len(b.Rows)) {
					t.Fatalf("%d values of %d samples", c.Len(), len(b.Rows))
				}
				_, _ = c.Rows(tensor.Target{HType: tensor.HType{Base: "generic"}})
				_ = arrowtest.Placed(t, p, c)
			}
		}
	})
}
