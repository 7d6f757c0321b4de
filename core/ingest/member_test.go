package ingest

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/dataset"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

// array is an NPY file of version 1.
func array(descr, rest string, data []byte) []byte {
	header := fmt.Sprintf("{'descr': %s, %s, }\n", descr, rest)
	out := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(header)))
	return append(append(out, header...), data...)
}

// floats is an NPY file of float32 numbers.
func floats(values ...float32) []byte {
	data, _ := binary.Append(nil, binary.LittleEndian, values)
	return array("'<f4'", fmt.Sprintf("'fortran_order': False, 'shape': (%d,)", len(values)), data)
}

// drawn is a PNG file of one kind of pixels.
func drawn(t *testing.T, img interface {
	image.Image
	Set(x, y int, c color.Color)
}) []byte {
	t.Helper()
	img.Set(1, 0, color.White)
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// schema returns htype and dtype of each tensor.
func schema(t *testing.T, env *dataset.Env, uri string) map[string]string {
	t.Helper()
	d, err := dataset.Open(context.Background(), env, uri, dataset.OpenOptions{Storage: sourceLinks()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	desc, err := d.Describe()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, one := range desc.Tensors {
		dtype := "?"
		if one.DType != nil {
			dtype = *one.DType
		}
		out[one.Name] = one.HType + " " + dtype
	}
	return out
}

// shapes returns the shapes of the samples of a tensor, "-" for a hole.
func shapes(t *testing.T, env *dataset.Env, uri, name string) string {
	t.Helper()
	ctx := context.Background()
	d, err := dataset.Open(ctx, env, uri, dataset.OpenOptions{Storage: sourceLinks()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	v, err := d.View(ctx)
	if err != nil {
		t.Fatal(err)
	}
	col, err := v.Column(name)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := range v.Len() {
		refs := make([]chunk.Ref, 1)
		if err := col.Resolve(ctx, []int64{i}, refs); err != nil {
			t.Fatal(err)
		}
		if refs[0].Hole() {
			out = append(out, "-")
			continue
		}
		out = append(out, refs[0].Shape.String())
	}
	return strings.Join(out, " ")
}

// TestNamedMembers: members with names of their own fill tensors of their own, rows without one
// have a hole there, and every image is linked byte for byte.
func TestNamedMembers(t *testing.T) {
	t.Parallel()
	a, b := picture(t, 1, "jpeg"), picture(t, 2, "jpeg")
	gray := drawn(t, image.NewGray(image.Rect(0, 0, 7, 5)))
	deep := drawn(t, image.NewGray16(image.Rect(0, 0, 7, 5)))
	palette := drawn(t, image.NewPaletted(image.Rect(0, 0, 7, 5), color.Palette{color.Black, color.White}))
	one, meta := floats(1, 2, 3), []byte(`{"k": 1}`)
	for name, c := range map[string]struct {
		members []entry
		schema  map[string]string // of tensors besides images
		rows    map[string][][]byte
		shapes  map[string]string
		out     []string
	}{
		"images of every kind": {
			members: []entry{{"a.jpg", a}, {"a.seg.png", gray}, {"a.depth.png", deep}, {"a.mask.png", palette}, {"b.jpg", b}},
			schema:  map[string]string{"seg": "image uint8", "depth": "image uint16", "mask": "image uint8"},
			rows:    map[string][][]byte{"images": {a, b}, "seg": {gray, nil}, "depth": {deep, nil}, "mask": {palette, nil}},
			shapes:  map[string]string{"seg": "(5, 7, 1) -", "depth": "(5, 7, 1) -", "mask": "(5, 7, 3) -"},
		},
		"no main image": {
			members: []entry{{"a.input.jpg", a}, {"a.seg.png", gray}, {"b.seg.png", palette}},
			schema:  map[string]string{"input": "image uint8", "seg": "image uint8"},
			rows:    map[string][][]byte{"images": {nil, nil}, "input": {a, nil}, "seg": {gray, palette}},
			shapes:  map[string]string{"seg": "(5, 7, 1) (5, 7, 3)"},
		},
		"first met in a later row": {
			members: []entry{{"a.jpg", a}, {"b.jpg", b}, {"b.embedding.npy", one}, {"b.npy", one}},
			schema:  map[string]string{"embedding": "generic float32", "npy": "generic float32"},
			rows:    map[string][][]byte{"embedding": {nil, one[len(one)-12:]}, "npy": {nil, one[len(one)-12:]}},
			shapes:  map[string]string{"embedding": "- (3,)"},
		},
		"texts": {
			members: []entry{{"a.jpg", a}, {"a.txt", []byte("t")}, {"a.caption.txt", []byte("c")}, {"a.meta.json", meta}, {"b.json", []byte("2")}},
			schema:  map[string]string{"text": "text string", "caption": "text string", "meta": "json json", "json": "json json"},
			rows:    map[string][][]byte{"text": {[]byte("t"), nil}, "caption": {[]byte("c"), nil}, "meta": {meta, nil}, "json": {nil, []byte("2")}},
		},
		"labels": {
			members: []entry{{"a.cls", []byte("3")}, {"a.top.cls", []byte("cat")}, {"b.top.cls", []byte("dog")}, {"c.top.cls", []byte("1")}},
			schema:  map[string]string{"labels": "class_label int64", "top": "class_label int64"},
			rows:    map[string][][]byte{"labels": {{3, 0, 0, 0, 0, 0, 0, 0}, nil}},
			out:     []string{`a.tar: c: its label is the number 1, and the labels of tensor "top" are names`},
		},
		"names that are no identifiers": {
			members: []entry{{"a.SEG-2.left.PNG", gray}, {"a.0.jpg", a}, {"a._x.txt", []byte("x")}, {"a.größe.txt", []byte("g")}, {"a.\xff.txt", []byte("f")}},
			schema: map[string]string{
				"seg_2_left": "image uint8", "member_0": "image uint8", "member_x": "text string", "größe": "text string", "member_": "text string",
			},
			rows: map[string][][]byte{"seg_2_left": {gray}, "member_0": {a}, "größe": {[]byte("g")}},
		},
		"names of the import": {
			members: []entry{{"a.jpg", a}, {"a.images.jpg", b}, {"a.labels.npy", one}, {"a.text.txt", []byte("x")}, {"a.json.json", meta}, {"a.npy.npy", one}},
			schema: map[string]string{
				"images_image": "image uint8", "labels_npy": "generic float32", "text_txt": "text string", "json_json": "json json", "npy": "generic float32",
			},
			rows: map[string][][]byte{"images": {a}, "images_image": {b}},
		},
		"one name, two kinds": {
			members: []entry{{"a.seg.png", gray}, {"a.seg.npy", one}, {"b.seg.npy", one}, {"b.seg.jpg", b}, {"c.seg_npy.txt", []byte("x")}},
			schema:  map[string]string{"seg": "image uint8", "seg_npy": "generic float32", "seg_npy_txt": "text string"},
			rows:    map[string][][]byte{"seg": {gray, b, nil}, "seg_npy": {one[len(one)-12:], one[len(one)-12:], nil}},
		},
		"both names in use": {
			members: []entry{{"a.seg.png", gray}, {"a.seg_npy.png", gray}, {"a.seg.npy", one}, {"b.seg.npy", one}, {"c.seg.png", gray}},
			schema:  map[string]string{"seg": "image uint8", "seg_npy": "image uint8"},
			rows:    map[string][][]byte{"seg": {gray, gray}},
			out:     []string{`a.seg.npy: tensors "seg" and "seg_npy" hold something else`, "b.seg.npy: tensors", "b: all its members are left out"},
		},
		"twice in a sample": {
			members: []entry{{"a.seg.png", gray}, {"a.seg.jpg", a}, {"a.s-1.npy", one}, {"a.s_1.npy", one}, {"a.npy", one}, {"a.npy.npy", one}},
			schema:  map[string]string{"seg": "image uint8", "s_1": "generic float32", "npy": "generic float32"},
			rows:    map[string][][]byte{"seg": {gray}},
			out:     []string{"a.seg.jpg: a second seg image", "a.s_1.npy: a second s_1 npy", "a.npy.npy: a second npy"},
		},
		"behind another sample": {
			members: []entry{{"a.seg.png", gray}, {"b.seg.png", gray}, {"a.caption.txt", []byte("x")}},
			schema:  map[string]string{"seg": "image uint8"},
			rows:    map[string][][]byte{"seg": {gray, gray}},
			out:     []string{"a.caption.txt: other samples"},
		},
		"another dtype than the first": {
			members: []entry{
				{"a.depth.png", gray}, {"a.v.npy", array("'|u1'", "'fortran_order': False, 'shape': ()", []byte{7})},
				{"b.jpg", b}, {"b.depth.png", deep}, {"b.v.npy", array("'<u2'", "'fortran_order': False, 'shape': ()", []byte{9, 0})},
				{"c.jpg", a}, {"c.v.npy", array("'<u2'", "'fortran_order': False, 'shape': ()", []byte{0, 1})},
			},
			schema: map[string]string{"depth": "image uint8", "v": "generic uint8"},
			rows:   map[string][][]byte{"images": {nil, b, a}, "depth": {gray, nil, nil}, "v": {{7}, {9}, nil}},
			out:    []string{"b.depth.png: append to tensor \"depth\"", "c.v.npy: append to tensor \"v\""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, lake := lakeEnv()
			lake.Put("a.tar", archive(t, tar.FormatPAX, c.members...))
			r := run(t, env, "mem://d", "lake://b", Options{Link: true})
			c.schema["images"] = "image.rgb uint8"
			if got := schema(t, env, "mem://d"); fmt.Sprint(got) != fmt.Sprint(c.schema) {
				t.Errorf("tensors are %v\nwant %v\n%s", got, c.schema, reasons(r))
			}
			for name, want := range c.rows {
				if got := stored(t, env, "mem://d", name); len(got) != len(want) || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
					t.Errorf("%s: %d rows, want %d, or other content", name, len(got), len(want))
				}
			}
			for name, want := range c.shapes {
				if got := shapes(t, env, "mem://d", name); got != want {
					t.Errorf("%s has shapes %s, want %s", name, got, want)
				}
			}
			for _, want := range c.out {
				if !strings.Contains(reasons(r), want) {
					t.Errorf("%q is not in:\n%s", want, reasons(r))
				}
			}
			if r.Skipped != int64(len(c.out)) {
				t.Errorf("%d are left out, want %d:\n%s", r.Skipped, len(c.out), reasons(r))
			}
			if again := run(t, env, "mem://d", "lake://b", Options{Link: true}); again.Unchanged != 1 || again.Version != r.Version {
				t.Errorf("again: %+v", again)
			}
		})
	}
}

// TestArraysOfShards reads NPY files of every dtype, and refuses others with the reason.
func TestArraysOfShards(t *testing.T) {
	t.Parallel()
	const c1 = "'fortran_order': False, 'shape': (2,)"
	two := func(descr string, data ...byte) []byte { return array(descr, c1, data) }
	long := append([]byte("\x93NUMPY\x02\x00\x11\x27\x00\x00"), bytes.Repeat([]byte{' '}, 10_001)...)
	second := append([]byte("\x93NUMPY\x02\x00\x3d\x00\x00\x00"), []byte("{'descr':'<i2','fortran_order':False,'shape':(1L, 1)}       \n")...)
	for name, c := range map[string]struct {
		file   []byte
		dtype  string // "": it is left out
		data   []byte
		shape  string
		reason string
	}{
		"bool":               {two("'|b1'", 2, 0), "bool", []byte{1, 0}, "(2,)", ""},
		"uint8":              {two("'|u1'", 9, 255), "uint8", []byte{9, 255}, "(2,)", ""},
		"int16":              {two("'<i2'", 1, 2, 3, 4), "int16", []byte{1, 2, 3, 4}, "(2,)", ""},
		"int16, high first":  {two("'>i2'", 1, 2, 3, 4), "int16", []byte{2, 1, 4, 3}, "(2,)", ""},
		"float16":            {two("'<f2'", 0, 60, 0, 64), "float16", []byte{0, 60, 0, 64}, "(2,)", ""},
		"complex, high":      {array("'>c8'", "'fortran_order': False, 'shape': ()", []byte{1, 2, 3, 4, 5, 6, 7, 8}), "complex64", []byte{4, 3, 2, 1, 8, 7, 6, 5}, "()", ""},
		"empty":              {array("'<f8'", "'fortran_order': False, 'shape': (0, 4)", nil), "float64", []byte{}, "(0, 4)", ""},
		"other order of key": {array(`"|i1"`, `"shape": (1, 2), "fortran_order": False`, []byte{1, 2}), "int8", []byte{1, 2}, "(1, 2)", ""},
		"version 2":          {append(second, 5, 0), "int16", []byte{5, 0}, "(1, 1)", ""},
		"Fortran, one axis":  {array("'|u1'", "'fortran_order': True, 'shape': (2,)", []byte{1, 2}), "uint8", []byte{1, 2}, "(2,)", ""},
		"Fortran":            {array("'|u1'", "'fortran_order': True, 'shape': (1, 2)", []byte{1, 2}), "", nil, "", "Fortran order"},
		"objects":            {two("'|O'", 1), "", nil, "", "Python objects"},
		"structured":         {two("[('a', '<i4'), ('shape', '<i4')]", 1), "", nil, "", "a structured array"},
		"text":               {two("'<U5'", 1), "", nil, "", `"<U5"`},
		"times":              {two("'<M8[ns]'", 1), "", nil, "", `"<M8[ns]"`},
		"long double":        {two("'<f16'", 1), "", nil, "", `"<f16"`},
		"cut":                {two("'<i2'", 1, 2, 3), "", nil, "", "3 bytes follow its header"},
		"too long":           {two("'<i2'", 1, 2, 3, 4, 5), "", nil, "", "5 bytes follow its header"},
		"huge shape":         {array("'<f8'", "'fortran_order': False, 'shape': (1099511627776, 1099511627776)", nil), "", nil, "", "0 bytes follow its header"},
		"overflow":           {array("'<f8'", "'fortran_order': False, 'shape': (9223372036854775808,)", nil), "", nil, "", "want at most 32 axes"},
		"negative":           {array("'<f8'", "'fortran_order': False, 'shape': (-1,)", nil), "", nil, "", "no shape"},
		"many axes":          {array("'<f8'", "'fortran_order': False, 'shape': ("+strings.Repeat("1, ", 33)+")", make([]byte, 8)), "", nil, "", "at most 32 axes"},
		"no dtype":           {array("", c1, nil)[:30], "", nil, "", "header has"},
		"no keys":            {array("0}", "0", nil), "", nil, "", "a structured array"},
		"long header":        {long, "", nil, "", "header has 10001 bytes, want at most 10000"},
		"version 9":          {append([]byte("\x93NUMPY\x09"), make([]byte, 20)...), "", nil, "", "version 9"},
		"pickle":             {[]byte("\x80\x04\x95 and so on"), "", nil, "", "not an NPY file"},
		"short":              {[]byte("\x93NUMPY\x01\x00"), "", nil, "", "not an NPY file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, lake := lakeEnv()
			lake.Put("a.tar", archive(t, tar.FormatPAX, entry{"a.jpg", picture(t, 1, "jpeg")}, entry{"a.v.npy", c.file}))
			r := run(t, env, "mem://d", "lake://b", Options{Link: true})
			dtype, has := schema(t, env, "mem://d")["v"]
			if r.Rows != 1 || has != (c.dtype != "") || !strings.Contains(reasons(r), c.reason) || (r.Skipped > 0) == has {
				t.Fatalf("%d rows, dtype %q, reasons %q", r.Rows, dtype, reasons(r))
			}
			if !has {
				return
			}
			if got := stored(t, env, "mem://d", "v")[0]; dtype != "generic "+c.dtype || !bytes.Equal(got, c.data) || shapes(t, env, "mem://d", "v") != c.shape {
				t.Errorf("%s %s: %v, want %s %s: %v", dtype, shapes(t, env, "mem://d", "v"), got, c.dtype, c.shape, c.data)
			}
		})
	}
}

// TestMembersAreBounded: names of files with dots do not make tensors without end, and copied
// members of one sample not memory.
func TestMembersAreBounded(t *testing.T) {
	t.Parallel()
	a := picture(t, 1, "jpeg")
	var dotted, apart []entry
	for i := range maxMembers + 6 {
		dotted = append(dotted, entry{fmt.Sprintf("photo.%d.jpg", i), a})
		apart = append(apart, entry{fmt.Sprintf("%d.x%d.txt", i, i), []byte("x")})
	}
	big := make([]byte, maxCopied)
	for i := range big {
		big[i] = ' '
	}
	long := strings.Repeat("n", maxMemberName)
	for name, c := range map[string]struct {
		members       []entry
		tensors, rows int
		out           int64
		want          string
	}{
		"one sample":   {dotted, maxMembers + 1, 1, 6, "its sample has more than 64 members"},
		"many samples": {apart, maxMembers + 1, maxMembers, 12, "64 tensors of members already"},
		"large":        {[]entry{{"a.jpg", a}, {"a.txt", append(big, ' ')}}, 1, 1, 1, "it has 16777217 bytes, want at most 16777216"},
		"large sample": {[]entry{{"a.1.txt", big}, {"a.2.txt", big}, {"a.3.txt", big}, {"a.4.txt", big}, {"a.5.txt", []byte("x")}, {"b.5.txt", []byte("x")}}, 6, 2, 1, "it has 1 bytes, want at most 0"},
		"long name":    {[]entry{{"a." + long + ".jpg", a}, {"a." + long + "n.jpg", a}}, 2, 1, 1, "would have 201 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, lake := lakeEnv()
			lake.Put("a.tar", archive(t, tar.FormatPAX, c.members...))
			r := run(t, env, "mem://d", "lake://b", Options{Link: true})
			if got := schema(t, env, "mem://d"); len(got) != c.tensors || r.Rows != int64(c.rows) || r.Skipped != c.out || !strings.Contains(reasons(r), c.want) {
				t.Errorf("%d tensors and %d rows, want %d and %d; %d left out, want %d:\n%s", len(got), r.Rows, c.tensors, c.rows, r.Skipped, c.out, reasons(r))
			}
		})
	}
}

// TestLaterMembers: later runs keep the tensors of members apart from those of other writers, and
// replace the rows of changed shards.
func TestLaterMembers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	a, gray := picture(t, 1, "jpeg"), drawn(t, image.NewGray(image.Rect(0, 0, 7, 5)))
	env, lake := lakeEnv()
	lake.Put("a.tar", archive(t, tar.FormatPAX, entry{"1.jpg", a}, entry{"1.seg.png", gray}, entry{"1.seg.npy", floats(1)}))
	lake.Put("b.tar", archive(t, tar.FormatPAX, entry{"1.jpg", a}))
	run(t, env, "mem://d", "lake://b", Options{Link: true})
	d, err := dataset.Open(ctx, env, "mem://d", dataset.OpenOptions{Storage: storage.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range []dataset.TensorSpec{{Name: "mine", DType: "int8"}, {Name: "group/x"}, {Name: "frames", HType: "sequence[text]"}} {
		if err := d.CreateTensor(ctx, spec); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Commit(ctx, ""); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	lake.Put("a.tar", archive(t, tar.FormatPAX, entry{"1.seg.png", gray}, entry{"1.seg.npy", floats(2)}, entry{"2.seg.png", gray},
		entry{"2.mine.npy", floats(3)}, entry{"2.group.txt", []byte("g")}))
	r := run(t, env, "mem://d", "lake://b", Options{Link: true})
	if r.Rows != 3 || r.Removed != 1 || r.Added != 2 || r.Unchanged != 1 || r.Skipped != 0 {
		t.Fatalf("report: %+v\n%s", r, reasons(r))
	}
	want := map[string]string{
		"images": "(16, 21, 3) - -", "seg": "- (5, 7, 1) (5, 7, 1)", "seg_npy": "- (1,) -", "mine": "- - -", "mine_npy": "- - (1,)",
		"group_txt": "- - ()", "frames": "- - -",
	}
	for name, want := range want {
		if got := shapes(t, env, "mem://d", name); got != want {
			t.Errorf("%s has shapes %s, want %s", name, got, want)
		}
	}
	if got := stored(t, env, "mem://d", "seg_npy")[1]; !bytes.Equal(got, []byte{0, 0, 0, 64}) {
		t.Errorf("the array is %v, want that of the new shard", got)
	}
}

// FuzzArray has NPY files of any bytes: no panic, no more memory than the file has, and samples
// whose shape and data agree.
func FuzzArray(f *testing.F) {
	f.Add(floats(1, 2))
	f.Add(array("'>c16'", "'fortran_order': True, 'shape': (1, )", make([]byte, 16)))
	f.Add([]byte("\x93NUMPY\x03\x00\xff\xff\xff\xff{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, reason, err := readArray(bytes.NewReader(data), int64(len(data)))
		if err != nil || reason != "" {
			if err != nil {
				t.Fatal(err)
			}
			return
		}
		if n, err := s.Shape.Bytes(s.DType); err != nil || n != int64(len(s.Data)) || n > int64(len(data)) || s.Form != tensor.FormArray {
			t.Fatalf("shape %s of %s has %d bytes, %v", s.Shape, s.DType, len(s.Data), err)
		}
	})
}
