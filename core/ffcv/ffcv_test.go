package ffcv

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"deeplake/core/arrow"
	"deeplake/core/arrow/arrowtest"
	"deeplake/core/arrow/gather"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// stored is a file in memory.
type stored []byte

// ReadAt reads a part of it.
func (s stored) ReadAt(_ context.Context, p []byte, off int64) error {
	if off < 0 || off > int64(len(s)) || int64(len(p)) > int64(len(s))-off {
		return errs.New(errs.Corrupt, "bytes %d to %d are requested of %d", off, off+int64(len(p)), len(s))
	}
	copy(p, s[off:])
	return nil
}

// smallPage is the page of forged files. FFCV itself writes none below 2 MiB.
const smallPage = 1 << 12

// wanted is a field of a forged file.
type wanted struct {
	name  string
	kind  kind
	shape []uint64
	descr string
}

// pixelsOf is an image of pixels.
type pixelsOf struct {
	width, height uint16
	data          []byte
}

// forged makes a file of samples: values are float64, int64, pixelsOf, or the bytes that lie in a
// page.
func forged(fields []wanted, samples ...[]any) []byte {
	le := binary.LittleEndian
	var about, records, pages, table []byte
	record := 0
	for _, f := range fields {
		one := append([]byte{byte(f.kind)}, f.name...)
		one = append(one, make([]byte, 1+nameBytes-len(one))...)
		if f.descr != "" {
			for i := range 32 {
				n := uint64(0)
				if i < len(f.shape) {
					n = f.shape[i]
				}
				one = le.AppendUint64(one, n)
			}
			one = append(le.AppendUint64(one, uint64(len(f.descr))), f.descr...)
		}
		about = append(about, append(one, make([]byte, fieldBytes-len(one))...)...)
	}
	has8 := slices.ContainsFunc(fields, func(f wanted) bool { return f.kind != kindImage && f.kind != kindBytes && f.kind != kindJSON })
	pad := func(n int) int {
		if has8 {
			return (n + 7) &^ 7
		}
		return n
	}
	for _, f := range fields {
		switch f.kind {
		case kindImage:
			record += 13
		case kindBytes, kindJSON:
			record += 16
		default:
			record = (record+7)&^7 + 8
		}
	}
	record = pad(record)
	start := (headerBytes + len(about) + record*len(samples) + smallPage - 1) &^ (smallPage - 1)
	put := func(sample int, p []byte) uint64 {
		at := uint64(start + len(pages))
		pages = append(pages, p...)
		table = append(le.AppendUint64(le.AppendUint64(le.AppendUint64(nil, uint64(sample)), at), uint64(len(p))), table...)
		return at
	}
	for n, values := range samples {
		var one []byte
		for i, f := range fields {
			if f.kind != kindImage && f.kind != kindBytes && f.kind != kindJSON {
				one = append(one, make([]byte, (len(one)+7)&^7-len(one))...)
			}
			switch v := values[i].(type) {
			case int:
				one = le.AppendUint64(one, uint64(v))
			case pixelsOf:
				one = le.AppendUint16(le.AppendUint16(append(one, modeRaw), v.width), v.height)
				one = le.AppendUint64(one, put(n, v.data))
			case []byte:
				at := put(n, v)
				switch f.kind {
				case kindImage:
					one = le.AppendUint64(append(one, modeJPEG, 4, 0, 3, 0), at)
				case kindBytes, kindJSON:
					one = le.AppendUint64(le.AppendUint64(one, at), uint64(len(v)))
				default:
					one = le.AppendUint64(one, at)
				}
			}
		}
		records = append(records, append(one, make([]byte, record-len(one))...)...)
	}
	pages = append(pages, make([]byte, (len(pages)+smallPage-1)&^(smallPage-1)-len(pages))...)
	out := le.AppendUint32(le.AppendUint16(le.AppendUint16(nil, version), uint16(len(fields))), smallPage)
	out = le.AppendUint64(le.AppendUint64(out, uint64(len(samples))), uint64(start+len(pages)))
	out = append(append(out, about...), records...)
	out = append(out, make([]byte, start-len(out))...)
	return append(append(out, pages...), table...)
}

// read reads a file to its end, and returns its values by name.
func read(t testing.TB, data []byte, o gather.Options) (map[string][]tensor.Sample, error) {
	t.Helper()
	f, err := Open(t.Context(), stored(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	if _, err := f.Types(t.Context(), o.Columns); err != nil {
		return nil, err
	}
	r, err := f.Read(t.Context(), Options{Options: o})
	if err != nil {
		return nil, err
	}
	out := map[string][]tensor.Sample{}
	for {
		b, err := r.Next(t.Context())
		if err != nil || b == nil {
			return out, err
		}
		fields, _ := b.Fields()
		for _, c := range fields {
			out[c.Name()] = append(out[c.Name()], arrowtest.Samples(t, c)...)
		}
	}
}

func picture(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := jpeg.Encode(&out, image.NewGray(image.Rect(0, 0, 4, 3)), nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestLayouts reads records in which fields follow each other in several orders.
func TestLayouts(t *testing.T) {
	t.Parallel()
	file := picture(t)
	all := map[string]wanted{
		"i": {name: "i", kind: kindInt}, "p": {name: "p", kind: kindImage}, "b": {name: "b", kind: kindBytes}, "j": {name: "j", kind: kindJSON},
		"a": {name: "a", kind: kindArray, shape: []uint64{2, 3}, descr: `[["", "<u2"]]`}, "s": {name: "s", kind: kindTensor, shape: []uint64{2}, descr: `[["", ">i2"]]`},
	}
	values := func(n int) map[string]any {
		return map[string]any{"i": n - 1, "p": file, "b": []byte(strings.Repeat("x", n)), "j": []byte("{\"a\":1}\x00"), "a": bytes.Repeat([]byte{byte(n), 0}, 6), "s": []byte{0, byte(n), 1, 0}}
	}
	for _, order := range []string{"pi", "ip", "pbi", "bpja", "j", "sapbij", "p", "b", "a"} {
		var fields []wanted
		samples := make([][]any, 5)
		for _, name := range strings.Split(order, "") {
			fields = append(fields, all[name])
			for n := range samples {
				samples[n] = append(samples[n], values(n)[name])
			}
		}
		for from := range int64(3) {
			got, err := read(t, forged(fields, samples...), gather.Options{From: from})
			if err != nil {
				t.Fatal(order, err)
			}
			for _, name := range strings.Split(order, "") {
				for k, s := range got[name] {
					n := k + int(from)
					want := map[string][]byte{
						"i": binary.LittleEndian.AppendUint64(nil, uint64(n-1)), "p": file, "b": bytes.Repeat([]byte("x"), n), "j": []byte(`{"a":1}`),
						"a": bytes.Repeat([]byte{byte(n), 0}, 6), "s": {byte(n), 0, 0, 1},
					}[name]
					if !bytes.Equal(s.Data, want) || name == "a" && s.Shape.String() != "(2, 3)" {
						t.Fatalf("%s: sample %d has %q %s, want %q", order, n, s.Data, s.Shape, want)
					}
				}
				if len(got[name]) != 5-int(from) {
					t.Fatalf("%s: %d samples from %d", order, len(got[name]), from)
				}
			}
		}
	}
}

// TestGolden reads a file that NumPy has laid out, as FFCV does. test_ffcv.py compares all values.
func TestGolden(t *testing.T) {
	t.Parallel()
	p, err := os.ReadFile("testdata/all.beton.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(p))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	got, err := read(t, data, gather.Options{})
	if err != nil || len(got) != 11 || len(got["label"]) != 120 {
		t.Fatal(err, len(got), len(got["label"]))
	}
	for n := range 120 {
		var meta struct{ Row string }
		if err := json.Unmarshal(got["meta"][n].Data, &meta); err != nil || meta.Row != fmt.Sprint(n) {
			t.Fatal(n, err, meta)
		}
		if s := got["label"][n]; binary.LittleEndian.Uint64(s.Data) != uint64(n-3) || got["pixels"][n].Shape.String() != fmt.Sprintf("(%d, 24, 3)", 20+(n+1)%3) {
			t.Fatal(n, s.Data, got["pixels"][n].Shape)
		}
		if s := got["image"][n]; s.Form != tensor.FormEncoded || !bytes.HasPrefix(s.Data, []byte{0xff, 0xd8}) || !bytes.HasSuffix(s.Data, []byte{0xff, 0xd9}) {
			t.Fatal(n, s.Form)
		}
	}
	for n := int64(0); n < int64(len(data)); n += 40_009 {
		if _, err := read(t, data[:n], gather.Options{}); !errs.Is(err, errs.Corrupt) {
			t.Fatalf("the first %d bytes: %v", n, err)
		}
	}
}

// TestPlaces: JPEG files and bytes come with their positions, pixels without.
func TestPlaces(t *testing.T) {
	t.Parallel()
	file := picture(t)
	raw := pixelsOf{1, 2, []byte("abcdef")}
	data := forged([]wanted{{name: "a", kind: kindImage}, {name: "b", kind: kindBytes}, {name: "c", kind: kindImage}}, []any{file, file, raw}, []any{file, file, file}, []any{raw, []byte{}, file})
	f, err := Open(t.Context(), stored(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Read(t.Context(), Options{Options: gather.Options{Places: true}, Parallel: true})
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fields, _ := b.Fields()
	for _, c := range fields {
		if n := arrowtest.Placed(t, data, c); n != 2 {
			t.Errorf("field %q has %d files with positions", c.Name(), n)
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	one := func(kind kind, descr string, shape ...uint64) []wanted {
		return []wanted{{name: "a", kind: kind, descr: descr, shape: shape}}
	}
	good := forged(one(kindBytes, ""), []any{[]byte("abc")}, []any{[]byte("xyz")})
	patched := func(p []byte, at int, v uint64) []byte {
		p = slices.Clone(p)
		binary.LittleEndian.PutUint64(p[at:], v)
		return p
	}
	const records = headerBytes + fieldBytes
	files := forged(one(kindImage, ""), []any{picture(t)}, []any{picture(t)})
	arrays := forged(one(kindArray, `[["", "<f4"]]`, 2), []any{make([]byte, 8)})
	both := []wanted{{name: "a", kind: kindInt}, {name: "a", kind: kindInt}}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"two names":          {forged(both, []any{1, 2}), `two fields have the name "a"`},
		"no name":            {forged([]wanted{{name: ""}}, []any{1}), "field 0 has the name"},
		"no ASCII":           {forged([]wanted{{name: "é"}}, []any{1}), "want ASCII"},
		"beyond the file":    {patched(good, records+8, 1<<62), "sample 0 has a value of 4611686018427387904 bytes, want at most 4096"},
		"in the header":      {patched(good, records, 4), "sample 0 has a value of 3 bytes at byte 4, and the pages are bytes 4096 to 8192"},
		"in the table":       {patched(good, records+16, 8190), "sample 1 has a value of 3 bytes at byte 8190"},
		"overlap":            {overlapping(), "some overlap"},
		"no JSON":            {forged(one(kindJSON, ""), []any{[]byte("{\x00")}), `sample 0 has "{", which is no JSON, in field "a"`},
		"JSON without end":   {forged(one(kindJSON, ""), []any{[]byte("{}")}), "does not end by a NUL"},
		"files that overlap": {patched(files, len(files)-24+8, binary.LittleEndian.Uint64(files[len(files)-48+8:])+1), "that overlap"},
		"an axis":            {forged(one(kindArray, `[["", "<f4"]]`, 1<<40), []any{[]byte{}}), `field "a" has arrays with an axis of 1099511627776; leave the field out`},
		"axes":               {forged(one(kindArray, `[["", "<f4"]]`, 1<<20, 1<<20), []any{[]byte{}}), "want at most 32 axes and 1073741824 bytes"},
		"a dtype":            {forged(one(kindTensor, `[["", "<c16"]]`, 2), []any{[]byte{}}), `the dtype "<c16"`},
		"objects":            {forged(one(kindArray, `[["", "|O"]]`, 2), []any{[]byte{}}), `the dtype "|O"`},
		"no dtype":           {forged(one(kindArray, `{}`, 2), []any{[]byte{}}), `the dtype "{}"`},
		"an empty dtype":     {forged(one(kindArray, `[["", ""]]`, 2), []any{[]byte{}}), `the dtype ""`},
		"a dtype's length":   {patched(arrays, headerBytes+1+nameBytes+8*32, 1<<40), "describes its dtype by 1099511627776 bytes"},
		"an array":           {patched(arrays, records, 1<<63), "sample 0 has a value of 8 bytes at byte 9223372036854775808"},
	} {
		if _, err := read(t, c.data, gather.Options{}); err == nil || !strings.Contains(err.Error(), c.want) || errs.KindOf(err) == errs.Internal {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// overlapping is a file whose samples are all the same page.
func overlapping() []byte {
	samples := [][]any{{bytes.Repeat([]byte("x"), smallPage)}}
	for range 9000 {
		samples = append(samples, []any{[]byte{}})
	}
	data := forged([]wanted{{name: "a", kind: kindBytes}}, samples...)
	const records = headerBytes + fieldBytes
	for n := range samples {
		copy(data[records+16*n:][:16], data[records:])
	}
	return data
}

// TestLeftOut leaves samples out: no value of them stays in another field.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	fields := []wanted{{name: "a", kind: kindBytes}, {name: "b", kind: kindImage}, {name: "c", kind: kindJSON}}
	row := func(a, c string) []any {
		return []any{[]byte(a), pixelsOf{1, 1, []byte(a + a + a)}, []byte(c)}
	}
	data := forged(fields, row("x", "1\x00"), row("y", "no\x00"), row("z", "3\x00"), row("w", "4\x00"))
	data[headerBytes+3*fieldBytes+3*45+16] = 9 // a mode of the last image
	var left []int64
	got, err := read(t, data, gather.Options{LeaveOut: func(n int64, _ error) error { left = append(left, n); return nil }})
	if err != nil || !slices.Equal(left, []int64{1, 3}) || len(got["a"]) != 2 || string(got["a"][1].Data) != "z" || string(got["b"][1].Data) != "zzz" {
		t.Fatal(left, err, got)
	}
}

// FuzzFile reads forged files: columns are as long as samples are many.
func FuzzFile(f *testing.F) {
	file := picture(f)
	raw := pixelsOf{1, 2, []byte("abcdef")}
	fields := []wanted{
		{name: "p", kind: kindImage}, {name: "i", kind: kindInt}, {name: "f"}, {name: "b", kind: kindBytes}, {name: "j", kind: kindJSON},
		{name: "a", kind: kindArray, shape: []uint64{2}, descr: `[["", ">i2"]]`},
	}
	f.Add(forged(fields, []any{file, 1, 2, []byte("xy"), []byte("{}\x00"), []byte("abcd")}, []any{raw, 1, 2, []byte{}, []byte("1\x00"), []byte("abcd")}))
	f.Add(forged(fields[:1], []any{raw}, []any{raw}))
	f.Fuzz(func(t *testing.T, p []byte) {
		for _, leave := range []func(int64, error) error{nil, func(int64, error) error { return nil }} {
			o, err := Open(context.Background(), stored(p), int64(len(p)))
			if err != nil {
				return
			}
			_, _ = o.Types(context.Background(), nil)
			r, err := o.Read(context.Background(), Options{Options: gather.Options{Places: true, LeaveOut: leave, From: int64(len(p) % 2)}})
			for err == nil {
				var b *arrow.Batch
				if b, err = r.Next(context.Background()); b == nil {
					break
				}
				columns, _ := b.Fields()
				for _, c := range columns {
					if c.Len() != int64(len(b.Rows)) {
						t.Fatalf("%d values of %d samples", c.Len(), len(b.Rows))
					}
					_ = arrowtest.Placed(t, p, c)
				}
			}
			if errs.KindOf(err) == errs.Internal && err != nil {
				t.Fatal(err)
			}
		}
	})
}
