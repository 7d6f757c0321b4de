package dataset

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// fresh returns an empty dataset with one tensor.
func fresh(t testing.TB, spec TensorSpec) *Dataset {
	t.Helper()
	d, err := Create(context.Background(), testEnv(), "mem://d", CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	if spec.Name == "" {
		spec.Name = "x"
	}
	if err := d.CreateTensor(context.Background(), spec); err != nil {
		t.Fatal(err)
	}
	return d
}

func zeros(d tensor.DType, shape ...int64) tensor.Sample {
	s := tensor.Shape(shape)
	if s == nil {
		s = tensor.Shape{}
	}
	n, err := s.Bytes(d)
	if err != nil {
		return tensor.Sample{}
	}
	return tensor.Sample{DType: d, Shape: s, Data: make([]byte, n)}
}

func text(s string) tensor.Sample {
	return tensor.Sample{Form: tensor.FormText, DType: tensor.String, Data: []byte(s)}
}

func jsonText(s string) tensor.Sample {
	return tensor.Sample{Form: tensor.FormText, DType: tensor.JSON, Data: []byte(s)}
}

func opaque(s string) tensor.Sample {
	return tensor.Sample{Form: tensor.FormText, DType: tensor.Bytes, Data: []byte(s)}
}

// appendOne appends one row to tensor x, of several items where the tensor has sequences.
func appendOne(d *Dataset, samples ...tensor.Sample) error {
	col := tensor.Rows{Tensor: "x", Samples: samples}
	if h, err := d.Describe(); err == nil && h.Tensors[0].Sequence {
		col.RowItems = []int64{int64(len(samples))}
	}
	return d.Append(context.Background(), []tensor.Rows{col}, 1)
}

// TestHTypes: each htype accepts its values and refuses others, with the reason.
func TestHTypes(t *testing.T) {
	t.Parallel()
	type no struct {
		sample tensor.Sample
		why    string
	}
	cases := []struct {
		spec TensorSpec
		yes  []tensor.Sample
		no   []no
	}{
		{TensorSpec{HType: "generic"}, []tensor.Sample{zeros(tensor.Complex128, 2, 3), zeros(tensor.Complex128), zeros(tensor.Complex128, 0)},
			[]no{{text("a"), "a str, want an array of dtype complex128"}}},
		{TensorSpec{HType: "generic", Shape: tensor.Shape{2, -1}, DType: "bool"}, []tensor.Sample{zeros(tensor.Bool, 2, 7), zeros(tensor.Bool, 2, 0)},
			[]no{{zeros(tensor.Bool, 3, 7), "shape (3, 7), want (2, ?)"}, {zeros(tensor.Bool, 2), "shape (2,), want (2, ?)"}}},
		{TensorSpec{HType: "generic", DType: "bytes"}, []tensor.Sample{opaque("\xff\x00"), opaque("")},
			[]no{{text("a"), "a str, want bytes"}, {zeros(tensor.Int8), "array of int8, want bytes"}}},
		{TensorSpec{HType: "generic", DType: "string"}, []tensor.Sample{text("ü"), text("")}, []no{{opaque("a"), "bytes, want a str"}, {text("\xff"), "not valid UTF-8"}}},
		{TensorSpec{HType: "image"}, []tensor.Sample{zeros(tensor.Uint8, 4, 5, 3), zeros(tensor.Uint8, 4, 5), zeros(tensor.Uint8, 4, 5, 7)},
			[]no{{zeros(tensor.Float32, 4, 5, 3), "dtype float32, want uint8"}, {zeros(tensor.Uint8, 4, 5, 0), "want (height, width, channels)"},
				{zeros(tensor.Uint8, 4), "shape (4,)"}, {text("a"), "a str, want an array"}}},
		{TensorSpec{HType: "image.rgb"}, []tensor.Sample{zeros(tensor.Uint8, 4, 5, 3)},
			[]no{{zeros(tensor.Uint8, 4, 5, 4), "want (height, width, 3)"}, {zeros(tensor.Uint8, 4, 5), "(4, 5, 1), want (height, width, 3)"}}},
		{TensorSpec{HType: "image.gray"}, []tensor.Sample{zeros(tensor.Uint8, 4, 5, 1), zeros(tensor.Uint8, 4, 5)}, []no{{zeros(tensor.Uint8, 4, 5, 3), "want (height, width, 1)"}}},
		{TensorSpec{HType: "image", Compression: "jpeg"}, []tensor.Sample{zeros(tensor.Uint8, 4, 5, 3), zeros(tensor.Uint8, 4, 5)},
			[]no{{zeros(tensor.Uint8, 4, 5, 4), "4 channels, a jpeg file has 1 or 3"}, {zeros(tensor.Uint8, 0, 5, 3), "cannot be empty"}, {zeros(tensor.Uint8, 3, 40, 50), "permute(1, 2, 0)"}, {text("a.jpg"), "deeplake.read(path)"}, {opaque("x"), "deeplake.read(bytes)"}, {zeros(tensor.Uint8, 1, 65501, 1), "65500 pixels a side"}}},
		{TensorSpec{HType: "image", Compression: "png"}, []tensor.Sample{zeros(tensor.Uint8, 4, 5, 4), zeros(tensor.Uint8, 4, 5, 2)}, []no{{zeros(tensor.Uint8, 4, 5, 5), "5 channels, a png file has 1 to 4"}}},
		{TensorSpec{HType: "class_label", ClassNames: []string{"dog"}, AddClasses: true}, []tensor.Sample{zeros(tensor.Int64), zeros(tensor.Int64, 3), zeros(tensor.Uint8), text("cat")},
			[]no{{zeros(tensor.Float32), "dtype float32"}, {zeros(tensor.Int64, 2, 2), "want () or (labels,)"}, {text(""), "is empty"}}},
		{TensorSpec{HType: "class_label", DType: "uint8", ClassNames: []string{"dog"}}, []tensor.Sample{zeros(tensor.Uint8), text("dog")},
			[]no{{text("dgo"), `none of the 1 of the tensor; did you mean "dog"?`}}},
		{TensorSpec{HType: "tag"}, []tensor.Sample{jsonText(`["a","b"]`), jsonText(`"a"`), text("a"), jsonText(`[]`)},
			[]no{{jsonText(`{"a":1}`), "a string or a list of strings"}, {jsonText(`[1]`), "list of strings"}, {jsonText(`[null]`), "list of strings"}, {jsonText(`null`), "list of strings"}}},
		{TensorSpec{HType: "bbox"}, []tensor.Sample{zeros(tensor.Float32, 3, 4), zeros(tensor.Float32, 0, 4)},
			[]no{{zeros(tensor.Float32, 3, 5), "want (boxes, 4)"}, {zeros(tensor.Float32, 4), "want (boxes, 4)"}, {zeros(tensor.Complex64, 1, 4), "dtype complex64, want float32; cast it to uint8 or"}}},
		{TensorSpec{HType: "binary_mask"}, []tensor.Sample{zeros(tensor.Bool, 4, 5), zeros(tensor.Bool, 4, 5, 2)}, []no{{zeros(tensor.Float32, 4, 5), "dtype float32, want bool; cast it to bool"}, {zeros(tensor.Bool, 4), "want (height, width)"}}},
		{TensorSpec{HType: "segment_mask"}, []tensor.Sample{zeros(tensor.Uint32, 4, 5)}, []no{{zeros(tensor.Uint32, 4), "want (height, width)"}}},
		{TensorSpec{HType: "instance_label"}, []tensor.Sample{zeros(tensor.Uint32), zeros(tensor.Uint32, 4, 5)}, []no{{zeros(tensor.Uint32, 1, 1, 1, 1), "want (), (instances,)"}}},
		{TensorSpec{HType: "keypoints_coco"}, []tensor.Sample{zeros(tensor.Int32, 51, 2), zeros(tensor.Int32, 0, 0)}, []no{{zeros(tensor.Int32, 50, 2), "want (3 x keypoints, instances)"}}},
		{TensorSpec{HType: "point"}, []tensor.Sample{zeros(tensor.Int32, 5, 2), zeros(tensor.Int32, 5, 3)}, []no{{zeros(tensor.Int32, 5, 4), "want (points, 2) or (points, 3)"}, {zeros(tensor.Int32, 2), "want (points, 2)"}}},
		{TensorSpec{HType: "polygon"}, []tensor.Sample{zeros(tensor.Float32, 5, 2)}, []no{{zeros(tensor.Float32, 5, 4), "a list of polygons"}}},
		{TensorSpec{HType: "text"}, []tensor.Sample{text("a"), text("")}, []no{{zeros(tensor.Uint8, 3), "array of uint8, want a str"}, {jsonText(`[]`), "a JSON value, want a str"}}},
		{TensorSpec{HType: "json"}, []tensor.Sample{jsonText(`{"a":[1,null]}`), jsonText(`3`), text("a")}, []no{{jsonText(`{"a":`), "which is no JSON"}, {jsonText(""), "which is no JSON"}, {opaque("{}"), "bytes, want a value that JSON can hold"}}},
		{TensorSpec{HType: "list"}, []tensor.Sample{jsonText(`[1,"a",null]`), jsonText(`[]`)}, []no{{jsonText(`{}`), "{}, want a list"}, {jsonText(`null`), "null, want a list"}, {text("a"), `"a", want a list`}}},
		{TensorSpec{HType: "embedding"}, []tensor.Sample{zeros(tensor.Float32, 8), zeros(tensor.Float32, 8)}, []no{{zeros(tensor.Float32, 9), "shape (9,), want (8,)"}, {zeros(tensor.Float32, 8, 1), "want (dimensions,), equal for all rows"}}},
		{TensorSpec{HType: "video"}, []tensor.Sample{opaque("MOVING12"), opaque("MOVING")},
			[]no{{text("a.mp4"), "deeplake.read(path) gives the one at a path"}, {zeros(tensor.Uint8, 4), "array of uint8, want a video file"}, {opaque("GIF89a"), "no video of MOVING (it begins with 47 49"}}},
		{TensorSpec{HType: "intrinsics"}, []tensor.Sample{zeros(tensor.Float32, 3, 3)}, []no{{zeros(tensor.Float32, 3, 4), "want (3, 3)"}, {zeros(tensor.Complex64, 3, 3), "dtype complex64, want float32"}}},
		{TensorSpec{HType: "sequence[image]", Compression: "png"}, []tensor.Sample{zeros(tensor.Uint8, 4, 5, 3)}, []no{{zeros(tensor.Uint8, 4), "shape (4,)"}, {zeros(tensor.Uint8, 0, 5, 3), "cannot be empty"}}},
		{TensorSpec{HType: "sequence[class_label]"}, []tensor.Sample{text("a"), zeros(tensor.Int64)}, []no{{zeros(tensor.Float32), "dtype float32"}}},
		{TensorSpec{HType: "sequence[text]"}, []tensor.Sample{text("a")}, []no{{zeros(tensor.Float32), "array of float32, want a str"}}},
	}
	seen := map[string]bool{}
	for _, c := range cases {
		seen[c.spec.HType] = true
		t.Run(c.spec.HType+" "+c.spec.DType+c.spec.Compression, func(t *testing.T) {
			t.Parallel()
			d := fresh(t, c.spec)
			for i, s := range c.yes {
				if err := appendOne(d, s); err != nil {
					t.Errorf("sample %d of %s %s: %v", i, s.DType, s.Shape, err)
				}
			}
			for i, n := range c.no {
				err := appendOne(d, n.sample)
				if err == nil || !strings.Contains(err.Error(), n.why) || !strings.Contains(err.Error(), `"x"`) {
					t.Errorf("refused sample %d: %v, want one that says %q", i, err, n.why)
				}
				if err != nil && !errs.Is(err, errs.Type) && !errs.Is(err, errs.Invalid) {
					t.Errorf("refused sample %d: the error is %s", i, errs.KindOf(err))
				}
			}
			v := must[*View](t)(d.View(context.Background()))
			if v.Len() != int64(len(c.yes)) {
				t.Fatalf("%d rows, want %d: a refused row is there", v.Len(), len(c.yes))
			}
			for i, got := range readAll(t, v, "x") {
				if c.yes[i].Form == tensor.FormArray && c.spec.HType != "class_label" && c.spec.Compression != "jpeg" && !bytes.Equal(got, c.yes[i].Data) {
					t.Errorf("row %d differs", i)
				}
			}
		})
	}
	for _, h := range tensor.HTypes() {
		if !seen[h] {
			t.Errorf("htype %s is not tried", h)
		}
	}
}

// TestErrorNamesTheRow: the message says tensor, row, got and wanted.
func TestErrorNamesTheRow(t *testing.T) {
	t.Parallel()
	d := fresh(t, TensorSpec{DType: "uint8"})
	err := d.Append(context.Background(), []tensor.Rows{{Tensor: "x", Samples: []tensor.Sample{zeros(tensor.Uint8, 2), zeros(tensor.Uint8), zeros(tensor.Float32, 2)}}}, 3)
	if got, want := fmt.Sprint(err), `append to tensor "x": row 2: sample has dtype float32, want uint8; cast it, or create the tensor with dtype="float32"`; got != want {
		t.Fatalf("%s\nwant %s", got, want)
	}
	if v := must[*View](t)(d.View(context.Background())); v.Len() != 0 {
		t.Fatalf("%d rows", v.Len())
	}
}

func TestClassLabels(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	int32s := func(v ...int32) *tensor.Array {
		a := &tensor.Array{DType: tensor.Int32, Shape: tensor.Shape{}}
		for _, x := range v {
			a.Data = binary.LittleEndian.AppendUint32(a.Data, uint32(x))
		}
		return a
	}
	d := fresh(t, TensorSpec{HType: "class_label", ClassNames: []string{"a", "b"}, AddClasses: true, DType: "uint8"})
	add := func(col tensor.Rows, n int64) error {
		col.Tensor = "x"
		return d.Append(ctx, []tensor.Rows{col}, n)
	}
	refused := func(err error, want string) {
		t.Helper()
		if !errs.Is(err, errs.Type) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want one that says %q", err, want)
		}
	}
	if err := add(tensor.Rows{Array: int32s(1, 0, 1)}, 3); err != nil {
		t.Fatal(err)
	}
	if err := add(tensor.Rows{Samples: []tensor.Sample{text("c"), text("a"), {Form: tensor.FormHole}, text("c")}}, 4); err != nil {
		t.Fatal(err)
	}
	refused(add(tensor.Rows{Array: int32s(1, 3)}, 2), "class label 3 is outside the 3 class names")
	refused(add(tensor.Rows{Array: int32s(-1)}, 1), "class label -1 is negative")
	// A refused append adds no names.
	refused(add(tensor.Rows{Samples: []tensor.Sample{text("new"), zeros(tensor.Float32)}}, 2), "dtype float32")
	desc, err := d.Describe()
	if err != nil || fmt.Sprint(desc.Tensors[0].ClassNames) != "[a b c]" {
		t.Fatalf("class names = %v, %v", desc.Tensors[0].ClassNames, err)
	}
	got := readAll(t, must[*View](t)(d.View(ctx)), "x")
	if want := [][]byte{{1}, {0}, {1}, {2}, {0}, nil, {2}}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("labels = %v, want %v", got, want)
	}
	// The 257th name has no label in uint8.
	many := make([]tensor.Sample, 254)
	for i := range many {
		many[i] = text(fmt.Sprint("n", i))
	}
	refused(add(tensor.Rows{Samples: many}, 254), "does not fit dtype uint8")
	if err := add(tensor.Rows{Samples: many[:253]}, 253); err != nil {
		t.Fatal(err)
	}

	open := fresh(t, TensorSpec{HType: "class_label", DType: "int8"}) // no names: any label
	if err := open.Append(ctx, []tensor.Rows{{Tensor: "x", Array: int32s(127)}}, 1); err != nil {
		t.Fatal(err)
	}
	refused(open.Append(ctx, []tensor.Rows{{Tensor: "x", Array: int32s(128)}}, 1), "class label 128 does not fit dtype int8")
	big := binary.LittleEndian.AppendUint64(nil, math.MaxUint64)
	refused(open.Append(ctx, []tensor.Rows{{Tensor: "x", Array: &tensor.Array{DType: tensor.Uint64, Shape: tensor.Shape{}, Data: big}}}, 1), "too large")
}

// TestNamesAfterNumbers: labels by number do not get the names of later rows.
func TestNamesAfterNumbers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	numbers := tensor.Rows{Tensor: "x", Samples: []tensor.Sample{zeros(tensor.Int64)}}
	names := tensor.Rows{Tensor: "x", Samples: []tensor.Sample{text("cat")}}
	mixed := tensor.Rows{Tensor: "x", Samples: []tensor.Sample{zeros(tensor.Int64), text("cat")}}
	refused := func(when string, err error) {
		t.Helper()
		if !errs.Is(err, errs.Type) || !strings.Contains(err.Error(), `class name "cat": the tensor has labels by number`) {
			t.Errorf("%s: %v", when, err)
		}
	}
	d := fresh(t, TensorSpec{HType: "class_label"})
	refused("in one call", d.Append(ctx, []tensor.Rows{mixed}, 2))
	if err := d.Append(ctx, []tensor.Rows{numbers}, 1); err != nil {
		t.Fatal(err)
	}
	refused("in a later call", d.Append(ctx, []tensor.Rows{names}, 1))
	refused("by an update", d.Update(ctx, []int64{0}, []tensor.Rows{names}))
	if _, err := d.Commit(ctx, ""); err != nil {
		t.Fatal(err)
	}
	refused("after a commit", d.Append(ctx, []tensor.Rows{names}, 1))

	named := fresh(t, TensorSpec{HType: "class_label"})
	for _, rows := range []tensor.Rows{{Tensor: "x", Samples: []tensor.Sample{{Form: tensor.FormHole}}}, names, numbers} {
		if err := named.Append(ctx, []tensor.Rows{rows}, 1); err != nil {
			t.Error(err)
		}
	}
}

// TestHolesOfSequences: a row of a sequence may have no sample, which is no empty list.
func TestHolesOfSequences(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	none := tensor.Sample{Form: tensor.FormHole}
	d := fresh(t, TensorSpec{HType: "sequence[generic]", DType: "int64"})
	one := zeros(tensor.Int64)
	rows := tensor.Rows{Tensor: "x", Samples: []tensor.Sample{none, one, one, none, one, none}, RowItems: []int64{1, 2, 1, 0, 1, 1}}
	if err := d.Append(ctx, []tensor.Rows{rows}, 6); err != nil {
		t.Fatal(err)
	}
	v, err := d.View(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got := readAll(t, v, "x")
	for i, want := range []bool{true, false, true, false, false, true} {
		if (got[i] == nil) != want {
			t.Errorf("row %d has the bytes %v, a hole is %v", i, got[i], want)
		}
	}
	bad := tensor.Rows{Tensor: "x", Samples: []tensor.Sample{one, none}, RowItems: []int64{2}}
	if err := d.Append(ctx, []tensor.Rows{bad}, 1); !errs.Is(err, errs.Type) || !strings.Contains(err.Error(), "None in it") {
		t.Errorf("a list with None: %v", err)
	}
	if err := d.Update(ctx, []int64{1}, []tensor.Rows{{Tensor: "x", Samples: []tensor.Sample{none}, RowItems: []int64{1}}}); err != nil {
		t.Errorf("update by None: %v", err)
	}
	if v, err = d.View(ctx); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, v, "x"); got[1] != nil || got[4] == nil {
		t.Errorf("after an update by None, rows 1 and 4 have %v and %v", got[1], got[4])
	}
}

// TestWrongColumns: Append and Update refuse wrong columns before they check samples.
func TestWrongColumns(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := fresh(t, TensorSpec{Name: "images", DType: "uint8"})
	if err := d.CreateTensor(ctx, TensorSpec{Name: "group/seq", HType: "sequence[generic]", DType: "uint8"}); err != nil {
		t.Fatal(err)
	}
	images := tensor.Rows{Tensor: "images", Samples: []tensor.Sample{zeros(tensor.Uint8)}}
	seq := tensor.Rows{Tensor: "group/seq", Samples: []tensor.Sample{zeros(tensor.Uint8)}, RowItems: []int64{1}}
	with := func(col tensor.Rows, change func(*tensor.Rows)) tensor.Rows {
		change(&col)
		return col
	}
	cases := []struct {
		name string
		cols []tensor.Rows
		rows int64
		kind errs.Kind
		want string
	}{
		{"unknown tensor", []tensor.Rows{with(images, func(c *tensor.Rows) { c.Tensor = "image" }), seq}, 1, errs.NotFound, `there is no tensor "image"; the tensors are "images", "group/seq"; did you mean "images"?`},
		{"a group", []tensor.Rows{with(images, func(c *tensor.Rows) { c.Tensor = "group" }), seq}, 1, errs.NotFound, `"group" is a group, not a tensor`},
		{"twice", []tensor.Rows{images, images}, 1, errs.Invalid, `tensor "images" is given twice`},
		{"missing", []tensor.Rows{images}, 1, errs.Invalid, `no values for tensor "group/seq"`},
		{"too few samples", []tensor.Rows{images, seq}, 2, errs.Invalid, "1 samples for 2 rows"},
		{"too many samples", []tensor.Rows{images, with(seq, func(c *tensor.Rows) { c.RowItems = []int64{0} })}, 1, errs.Invalid, "the rows have 0 items together, but there are 1 samples"},
		{"too many items", []tensor.Rows{images, with(seq, func(c *tensor.Rows) { c.RowItems = []int64{2} })}, 1, errs.Invalid, "row 0 has 2 items"},
		{"huge items", []tensor.Rows{images, with(seq, func(c *tensor.Rows) { c.RowItems = []int64{math.MaxInt64} })}, 1, errs.Invalid, "row 0 has"},
		{"negative items", []tensor.Rows{images, with(seq, func(c *tensor.Rows) { c.RowItems = []int64{-1} })}, 1, errs.Invalid, "row 0 has -1 items"},
		{"no list", []tensor.Rows{images, with(seq, func(c *tensor.Rows) { c.RowItems = nil })}, 1, errs.Type, "a row of htype sequence[generic] is a list of samples"},
		{"an array for lists", []tensor.Rows{images, {Tensor: "group/seq", Array: &tensor.Array{DType: tensor.Uint8, Shape: tensor.Shape{}, Data: []byte{1}}}}, 1, errs.Type, "is a list of samples"},
		{"an array of another length", []tensor.Rows{{Tensor: "images", Array: &tensor.Array{DType: tensor.Uint8, Shape: tensor.Shape{3}, Data: make([]byte, 7)}}, seq}, 1, errs.Invalid, "have 7 bytes together"},
		{"an array whose size overflows", []tensor.Rows{{Tensor: "images", Array: &tensor.Array{DType: tensor.Uint8, Shape: tensor.Shape{1 << 40}, Data: nil}}, seq}, 1 << 24, errs.Invalid, "have 0 bytes together"},
		{"a sample of another length", []tensor.Rows{{Tensor: "images", Samples: []tensor.Sample{{DType: tensor.Uint8, Shape: tensor.Shape{3}, Data: []byte{1}}}}, seq}, 1, errs.Invalid, "has 1 bytes, want 3"},
		{"an overflowing shape", []tensor.Rows{{Tensor: "images", Samples: []tensor.Sample{{DType: tensor.Uint8, Shape: tensor.Shape{1 << 40, 1 << 40}}}}, seq}, 1, errs.Invalid, "elements"},
		{"a negative axis", []tensor.Rows{{Tensor: "images", Samples: []tensor.Sample{{DType: tensor.Uint8, Shape: tensor.Shape{-1}}}}, seq}, 1, errs.Invalid, "negative axis"},
		{"negative rows", nil, -1, errs.Invalid, "append -1 rows"},
	}
	for _, c := range cases {
		if err := d.Append(ctx, c.cols, c.rows); !errs.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want one that is %s and says %q", c.name, err, c.kind, c.want)
		}
	}
	if err := d.Append(ctx, []tensor.Rows{{Tensor: "images"}}, 0); err != nil {
		t.Errorf("zero rows: %v", err)
	}
	if err := d.Update(ctx, []int64{0}, []tensor.Rows{images}); !errs.Is(err, errs.Range) || !strings.Contains(err.Error(), "row 0 is out of range, the dataset has 0 rows") {
		t.Errorf("update of no row: %v", err)
	}
	if err := d.Append(ctx, []tensor.Rows{images, seq}, 1); err != nil {
		t.Fatal(err)
	}
	if err := d.Update(ctx, []int64{0}, []tensor.Rows{{Tensor: "images", Samples: []tensor.Sample{{Form: tensor.FormHole}}}}); err != nil {
		t.Errorf("update with None: %v", err)
	}
	if err := d.Update(ctx, []int64{-1}, []tensor.Rows{images}); !errs.Is(err, errs.Range) {
		t.Errorf("update of row -1: %v", err)
	}
	if err := d.Update(ctx, nil, nil); err != nil {
		t.Errorf("update of nothing: %v", err)
	}
	v := must[*View](t)(d.View(ctx))
	if v.Len() != 1 {
		t.Fatalf("%d rows", v.Len())
	}
	if _, err := v.Column("imags"); !errs.Is(err, errs.NotFound) || !strings.Contains(err.Error(), `did you mean "images"?`) {
		t.Errorf("column: %v", err)
	}

	none, err := Create(ctx, testEnv(), "mem://none", CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = none.Close() }()
	if err := none.Append(ctx, nil, 3); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "no tensors yet") {
		t.Errorf("append without tensors: %v", err)
	}
}

// TestTensorSpecs: CreateTensor refuses wrong specs.
func TestTensorSpecs(t *testing.T) {
	t.Parallel()
	d := fresh(t, TensorSpec{Name: "a/b", DType: "uint8"})
	cases := []struct {
		spec TensorSpec
		want string
	}{
		{TensorSpec{Name: ""}, "want 1 to 255"},
		{TensorSpec{Name: strings.Repeat("n", 256)}, "256 bytes"},
		{TensorSpec{Name: "a//b"}, "a part of the name is empty"},
		{TensorSpec{Name: "_index"}, `begin with "_"`},
		{TensorSpec{Name: "a\nb"}, "control character"},
		{TensorSpec{Name: "a"}, "both a tensor and a group"},
		{TensorSpec{Name: "a/b/c"}, "both a tensor and a group"},
		{TensorSpec{Name: "a/b"}, "it exists; use exist_ok"},
		{TensorSpec{Name: "a/b", DType: "int8", ExistOK: true}, "it exists with dtype uint8, not int8"},
		{TensorSpec{Name: "n", HType: "imag"}, `did you mean "image"?`},
		{TensorSpec{Name: "n", DType: "flot32"}, `did you mean "float32"?`},
		{TensorSpec{Name: "n", HType: "sequence[polygon]"}, "is a list already"},
		{TensorSpec{Name: "n", HType: "bbox", DType: "bool"}, "htype bbox cannot have dtype bool"},
		{TensorSpec{Name: "n", HType: "bbox", Shape: tensor.Shape{3, 5}}, "does not suit htype bbox"},
		{TensorSpec{Name: "n", Shape: tensor.Shape{-2}}, "negative axis"},
		{TensorSpec{Name: "n", Shape: make(tensor.Shape, 33)}, "33 axes"},
		{TensorSpec{Name: "n", Shape: tensor.Shape{1 << 40, 1 << 40}}, "elements"},
		{TensorSpec{Name: "n", HType: "text", Shape: tensor.Shape{3}}, "has no shape"},
		{TensorSpec{Name: "n", Compression: "jpg2"}, "jpg2"},
		{TensorSpec{Name: "n", Compression: "jpeg", DType: "uint8"}, "is for images"},
		{TensorSpec{Name: "n", HType: "image", DType: "uint16", Compression: "jpeg"}, "needs dtype uint8"},
		{TensorSpec{Name: "n", HType: "image", Compression: "png", Quality: 5}, `settings of "jpeg"`},
		{TensorSpec{Name: "n", HType: "image", Compression: "jpeg", Quality: 101}, "want 1 to 100"},
		{TensorSpec{Name: "n", HType: "image", Compression: "jpeg", Subsampling: "4:1:1"}, `"4:2:0"`},
		{TensorSpec{Name: "n", ChunkBytes: 1}, "want 4096 to"},
		{TensorSpec{Name: "n", ClassNames: []string{"a"}}, "class_names are for htypes class_label and segment_mask"},
		{TensorSpec{Name: "n", HType: "class_label", ClassNames: []string{"a", "b", "a"}}, `has "a" twice, at 0 and 2`},
		{TensorSpec{Name: "n", Info: map[string]any{"f": math.NaN()}}, "info is not JSON"},
	}
	for _, c := range cases {
		if err := d.CreateTensor(context.Background(), c.spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want one that says %q", c.spec, err, c.want)
		}
	}
	desc, err := d.Describe()
	if err != nil || len(desc.Tensors) != 1 {
		t.Fatalf("%d tensors, %v", len(desc.Tensors), err)
	}
}
