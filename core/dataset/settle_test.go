package dataset

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// numbersOf returns a sample of numbers, which must be exact in d.
func numbersOf(d tensor.DType, values ...float64) tensor.Sample {
	var data []byte
	for _, v := range values {
		wide := binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
		from := tensor.Float64
		if !d.Takes(from) {
			wide, from = binary.LittleEndian.AppendUint64(nil, uint64(int64(v))), tensor.Int64
		}
		part, bad := tensor.Convert(d, from, wide)
		if bad >= 0 {
			panic(fmt.Sprintf("%v is no %s", v, d))
		}
		data = append(data, part...)
	}
	return tensor.Sample{DType: d, Shape: tensor.Shape{int64(len(values))}, Data: data}
}

func literal(s tensor.Sample) tensor.Sample { s.Literal = true; return s }

// nothing is an empty list of the host language.
var nothing = tensor.Sample{DType: tensor.Float64, Shape: tensor.Shape{0}, Literal: true}

// appendColumns appends each column by a call of its own.
func appendColumns(d *Dataset, columns ...tensor.Rows) error {
	for _, c := range columns {
		c.Tensor = "x"
		n := int64(len(c.Samples))
		if c.Array != nil {
			n = 1
			if size, _ := c.Array.Shape.Bytes(c.Array.DType); size > 0 {
				n = int64(len(c.Array.Data)) / size
			}
		}
		if err := d.Append(context.Background(), []tensor.Rows{c}, n); err != nil {
			return err
		}
	}
	return nil
}

func commitAll(t *testing.T, d *Dataset) {
	t.Helper()
	if _, err := d.Commit(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
}

// shapeAt returns the shape of the sample in a row, "none" for a hole.
func shapeAt(t *testing.T, v *View, name string, row int64) string {
	t.Helper()
	refs := make([]chunk.Ref, 1)
	if err := must[*Column](t)(v.Column(name)).Resolve(context.Background(), []int64{row}, refs); err != nil {
		t.Fatal(err)
	}
	if refs[0].Hole() {
		return "none"
	}
	return refs[0].Shape.String()
}

func samplesOf(s ...tensor.Sample) tensor.Rows { return tensor.Rows{Samples: s} }

// TestDTypeOfATensor: the first samples decide the dtype where the htype lets them, and later ones
// are converted.
func TestDTypeOfATensor(t *testing.T) {
	t.Parallel()
	u8, i64, f32, f64 := numbersOf(tensor.Uint8, 1), numbersOf(tensor.Int64, 1), numbersOf(tensor.Float32, 1), numbersOf(tensor.Float64, 0.5)
	for _, c := range []struct {
		htype, dtype string
		columns      []tensor.Rows
		want         string
	}{
		{"generic", "", []tensor.Rows{samplesOf(u8)}, "uint8"},
		{"generic", "", []tensor.Rows{samplesOf(u8, numbersOf(tensor.Int16, -3))}, "int16"},
		{"generic", "", []tensor.Rows{samplesOf(u8), samplesOf(numbersOf(tensor.Int64, 255))}, "uint8"},
		{"generic", "", []tensor.Rows{samplesOf(f32), samplesOf(i64), samplesOf(f64)}, "float32"},
		{"generic", "", []tensor.Rows{samplesOf(literal(i64), literal(f64))}, "float64"},
		{"generic", "", []tensor.Rows{samplesOf(literal(i64)), samplesOf(u8)}, "int64"},
		{"generic", "", []tensor.Rows{samplesOf(literal(numbersOf(tensor.Uint64, 5)), literal(i64))}, "uint64"},
		{"generic", "", []tensor.Rows{samplesOf(literal(i64), literal(numbersOf(tensor.Uint64, 5)))}, "uint64"},
		{"generic", "", []tensor.Rows{samplesOf(u8, literal(i64))}, "uint8"},
		{"generic", "", []tensor.Rows{samplesOf(nothing, literal(i64))}, "int64"},
		{"generic", "", []tensor.Rows{samplesOf(literal(i64), nothing)}, "int64"},
		{"generic", "", []tensor.Rows{samplesOf(nothing), samplesOf(nothing, tensor.Sample{Form: tensor.FormHole}), samplesOf(literal(i64)), samplesOf(nothing)}, "int64"},
		{"generic", "", []tensor.Rows{samplesOf(nothing)}, "float64"},
		{"generic", "", []tensor.Rows{samplesOf(zeros(tensor.Float64, 0), u8)}, "uint8"},
		{"generic", "", []tensor.Rows{samplesOf(u8), samplesOf(zeros(tensor.Float64, 0))}, "uint8"},
		{"generic", "", []tensor.Rows{samplesOf(zeros(tensor.Float32, 0, 4))}, "float32"},
		{"generic", "int16", []tensor.Rows{samplesOf(literal(i64)), samplesOf(numbersOf(tensor.Uint64, 7), zeros(tensor.Bool, 3))}, "int16"},
		{"generic", "float16", []tensor.Rows{samplesOf(f64), samplesOf(f32), samplesOf(i64)}, "float16"},
		{"generic", "complex64", []tensor.Rows{samplesOf(f64), samplesOf(i64), samplesOf(zeros(tensor.Complex128, 2))}, "complex64"},
		{"generic", "bool", []tensor.Rows{samplesOf(i64), samplesOf(u8)}, "bool"},
		{"bbox", "", []tensor.Rows{samplesOf(zeros(tensor.Int64, 2, 4))}, "int64"},
		{"bbox", "", []tensor.Rows{samplesOf(literal(zeros(tensor.Int64, 2, 4))), samplesOf(zeros(tensor.Float64, 2, 4))}, "float32"},
		{"bbox", "", []tensor.Rows{samplesOf(nothing), samplesOf(zeros(tensor.Float64, 2, 4))}, "float64"},
		{"embedding", "", []tensor.Rows{samplesOf(f64)}, "float64"},
		{"embedding", "", []tensor.Rows{samplesOf(literal(f64))}, "float32"},
		{"embedding", "float32", []tensor.Rows{samplesOf(f64)}, "float32"},
		{"segment_mask", "", []tensor.Rows{samplesOf(zeros(tensor.Uint8, 4, 5))}, "uint8"},
		{"segment_mask", "", []tensor.Rows{samplesOf(zeros(tensor.Bool, 4, 5))}, "uint32"},
		{"segment_mask", "", []tensor.Rows{samplesOf(literal(zeros(tensor.Int64, 4, 5)))}, "uint32"},
		{"binary_mask", "", []tensor.Rows{samplesOf(zeros(tensor.Uint8, 4, 5))}, "bool"},
		{"class_label", "", []tensor.Rows{samplesOf(zeros(tensor.Uint8)), samplesOf(zeros(tensor.Bool))}, "int64"},
		{"keypoints_coco", "", []tensor.Rows{samplesOf(literal(zeros(tensor.Float64, 3, 1)))}, "float64"},
		{"image", "", []tensor.Rows{samplesOf(zeros(tensor.Uint16, 4, 5))}, "uint16"},
		{"image", "", []tensor.Rows{samplesOf(zeros(tensor.Int64, 4, 5))}, "uint8"},
	} {
		t.Run(fmt.Sprintf("%s %s %d", c.htype, c.dtype, len(c.columns)), func(t *testing.T) {
			t.Parallel()
			d := fresh(t, TensorSpec{HType: c.htype, DType: c.dtype})
			if err := appendColumns(d, c.columns...); err != nil {
				t.Fatal(err)
			}
			v := must[*View](t)(d.View(context.Background()))
			col := must[*Column](t)(v.Column("x"))
			if got := col.DType().String(); got != c.want {
				t.Errorf("dtype %s, want %s", got, c.want)
			}
			rows := int64(0)
			for _, one := range c.columns {
				rows += int64(len(one.Samples))
			}
			if got := readAll(t, v, "x"); int64(len(got)) != rows {
				t.Errorf("%d rows, want %d", len(got), rows)
			}
		})
	}
}

// TestValuesOfOtherDTypes: values arrive as they are, or are refused with the row and a way out.
func TestValuesOfOtherDTypes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec TensorSpec
		rows tensor.Rows
		want string // of the values, or the error
	}{
		{TensorSpec{DType: "uint8"}, samplesOf(numbersOf(tensor.Int64, 255), numbersOf(tensor.Int64, 256)), `row 1: sample has the value 256, which uint8 does not hold; cast it, or create the tensor with dtype="int64"`},
		{TensorSpec{DType: "uint8"}, samplesOf(numbersOf(tensor.Float64, 3)), `row 0: sample has dtype float64, want uint8; cast it, or create the tensor with dtype="float64"`},
		{TensorSpec{DType: "float32"}, samplesOf(numbersOf(tensor.Int64, 1<<24, 1<<24+1)), `row 0: sample has the value 16777217, which float32 does not hold; cast it, or create the tensor with dtype="int64"`},
		{TensorSpec{DType: "float32"}, samplesOf(numbersOf(tensor.Float64, 1e39)), `row 0: sample has the value 1e+39, which float32 does not hold; cast it, or create the tensor with dtype="float64"`},
		{TensorSpec{DType: "bool"}, samplesOf(numbersOf(tensor.Uint8, 0, 1, 2)), `row 0: sample has the value 2, which bool does not hold`},
		{TensorSpec{DType: "int64"}, samplesOf(zeros(tensor.Complex64, 1)), `sample has dtype complex64, want int64; cast it, or create the tensor with dtype="complex64"`},
		{TensorSpec{HType: "binary_mask"}, samplesOf(tensor.Sample{DType: tensor.Uint8, Shape: tensor.Shape{1, 1}, Data: []byte{255}}), `sample has the value 255, which bool does not hold; cast it to bool`},
		{TensorSpec{HType: "image", Compression: "png"}, samplesOf(zeros(tensor.Float32, 4, 5, 3)), `sample has dtype float32, want uint8; cast it to uint8 or uint16; compression "none" holds float32`},
		{TensorSpec{HType: "class_label"}, samplesOf(zeros(tensor.Float32)), `sample has dtype float32, want int64; cast it to uint8 or uint16 or uint32 or uint64 or int8 or int16 or int32 or int64`},
		{TensorSpec{HType: "embedding", DType: "float16"}, samplesOf(zeros(tensor.Complex64, 2)), `cast it to uint8 or`},
	} {
		d := fresh(t, c.spec)
		err := appendColumns(d, c.rows)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.spec, err, c.want)
		}
		if n := must[*View](t)(d.View(context.Background())).Len(); n != 0 {
			t.Errorf("%+v: %d rows of a refused column", c.spec, n)
		}
	}
	// A column in one piece names the row, too.
	d := fresh(t, TensorSpec{DType: "int8"})
	a := numbersOf(tensor.Int64, 1, 2, 3, 128)
	err := appendColumns(d, tensor.Rows{Array: &tensor.Array{DType: a.DType, Shape: tensor.Shape{2}, Data: a.Data}})
	if want := `append to tensor "x": row 1: sample has the value 128`; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// TestEmptyListsWaitForADType: they are rows of their shape at their place, whatever comes after.
func TestEmptyListsWaitForADType(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := fresh(t, TensorSpec{})
	wide := tensor.Sample{DType: tensor.Float64, Shape: tensor.Shape{0, 3}, Literal: true}
	for _, c := range []tensor.Rows{samplesOf(nothing), samplesOf(wide, tensor.Sample{Form: tensor.FormHole}), samplesOf(literal(numbersOf(tensor.Int64, 7, 8))), samplesOf(nothing)} {
		if err := appendColumns(d, c); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Update(ctx, []int64{0}, []tensor.Rows{{Tensor: "x", Samples: []tensor.Sample{literal(numbersOf(tensor.Int64, 9))}}}); err != nil {
		t.Fatal(err)
	}
	commitAll(t, d)
	v := must[*View](t)(d.View(ctx))
	got := []string{}
	for _, row := range []int64{0, 1, 2, 3, 4} {
		got = append(got, fmt.Sprint(shapeAt(t, v, "x", row)))
	}
	if want := "[(1,) (0, 3) none (2,) (0,)]"; fmt.Sprint(got) != want {
		t.Errorf("shapes %v, want %s", got, want)
	}

	d = fresh(t, TensorSpec{})
	if err := appendColumns(d, samplesOf(nothing)); err != nil {
		t.Fatal(err)
	}
	err := appendColumns(d, samplesOf(text("a")))
	if !errs.Is(err, errs.Type) || !strings.Contains(err.Error(), `row 0 before it is an empty list`) {
		t.Errorf("text after an empty list: %v", err)
	}
}

// TestTimes: numbers that count time keep unit and zone, and missing times are holes.
func TestTimes(t *testing.T) {
	t.Parallel()
	at := func(name string, values ...int64) tensor.Rows {
		r := tensor.Rows{Counts: name, Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}}}
		for _, v := range values {
			r.Array.Data = binary.LittleEndian.AppendUint64(r.Array.Data, uint64(v))
		}
		return r
	}
	plain := func(values ...int64) tensor.Rows { r := at("date", values...); r.Counts = ""; return r }
	for _, c := range []struct {
		dtype   string
		columns []tensor.Rows
		want    string // the time of the tensor, or the error
		values  string
	}{
		{"", []tensor.Rows{at("timestamp[ns, Europe/Berlin]", 5, 6)}, "timestamp[ns, Europe/Berlin]", "[5 6]"},
		{"", []tensor.Rows{at("datetime64[ms]", 5, tensor.NotATime), at("timestamp[s]", 2), plain(9)}, "timestamp[ms]", "[5 none 2000 9]"},
		{"date", []tensor.Rows{at("timestamp[us]", 86_400e6)}, "date", "[1]"},
		{"date", []tensor.Rows{at("timestamp[us]", 0, 1)}, `row 1: sample has the time 1 of timestamp[us], which date does not hold; round it, or create the tensor with dtype="timestamp[us]"`, ""},
		{"timestamp[us, UTC]", []tensor.Rows{at("datetime64[ns]", 1000), at("timestamp[us, +02:00]", 3)}, "timestamp[us, UTC]", "[1 3]"},
		{"timestamp[us, UTC]", []tensor.Rows{at("timestamp[us]", 3)}, "give it a zone", ""},
		{"int64", []tensor.Rows{at("timestamp[us]", 3)}, `want plain numbers; create the tensor with dtype="timestamp[us]"`, ""},
		{"float32", []tensor.Rows{at("interval[us]", 3)}, `want plain numbers; create the tensor with dtype="interval[us]"`, ""},
		{"interval[s]", []tensor.Rows{at("timestamp[s]", 3)}, "want interval[s]", ""},
	} {
		d := fresh(t, TensorSpec{DType: c.dtype})
		if err := appendColumns(d, c.columns...); err != nil {
			if c.values != "" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", c.dtype, err, c.want)
			}
			continue
		}
		commitAll(t, d)
		v := must[*View](t)(d.View(context.Background()))
		got := []string{}
		for row, data := range readAll(t, v, "x") {
			if shapeAt(t, v, "x", int64(row)) == "none" {
				got = append(got, "none")
			} else {
				got = append(got, fmt.Sprint(int64(binary.LittleEndian.Uint64(data))))
			}
		}
		name := must[Description](t)(d.Describe()).Tensors[0].Time
		if name != c.want || fmt.Sprint(got) != c.values {
			t.Errorf("%s: %s %v, want %s %s", c.dtype, name, got, c.want, c.values)
		}
	}
	d := fresh(t, TensorSpec{HType: "class_label"})
	if err := appendColumns(d, at("timestamp[us]", 3)); err == nil || !strings.Contains(err.Error(), "htype generic") {
		t.Errorf("a time as a label: %v", err)
	}
}

// TestClassesOfAColumn: a column may number its classes by names of its own.
func TestClassesOfAColumn(t *testing.T) {
	t.Parallel()
	codes := func(names []string, v ...float64) tensor.Rows {
		a := numbersOf(tensor.Int8, v...)
		return tensor.Rows{Names: names, Array: &tensor.Array{DType: tensor.Int8, Shape: tensor.Shape{}, Data: a.Data}}
	}
	holed := tensor.Rows{Names: []string{"fox", "eel"}, Samples: []tensor.Sample{{Form: tensor.FormHole}, {DType: tensor.Uint8, Shape: tensor.Shape{}, Data: []byte{1}}}}
	for _, c := range []struct {
		have    []string
		columns []tensor.Rows
		want    string
	}{
		{nil, []tensor.Rows{codes([]string{"cat", "dog", "fox"}, 2, 1)}, "[2 1] of [cat dog fox]"},
		{nil, []tensor.Rows{codes([]string{"cat", "dog"}, 1), codes([]string{"dog", "ant", "cat"}, 0, 1, 2)}, "[1 1 2 0] of [cat dog ant]"},
		{[]string{"dog"}, []tensor.Rows{codes([]string{"cat", "dog"}, 1, 0), holed}, "[0 1 none 3] of [dog cat fox eel]"},
		{[]string{"dog", "closed"}, []tensor.Rows{codes([]string{"cat", "dog"}, 1)}, "[0] of [dog closed]"},
		{[]string{"dog", "closed"}, []tensor.Rows{codes([]string{"dgo", "dog"}, 1, 0)}, `row 1: class "dgo" is none of the 2 of the tensor; did you mean "dog"?`},
		{nil, []tensor.Rows{codes([]string{"cat"}, 0, 1)}, "row 1: class number 1 is outside the 1 names"},
		{nil, []tensor.Rows{codes([]string{"cat", ""}, 0)}, "is empty or not valid"},
	} {
		d := fresh(t, TensorSpec{HType: "class_label", ClassNames: c.have, AddClasses: !slices.Contains(c.have, "closed")})
		if err := appendColumns(d, c.columns...); err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			continue
		}
		commitAll(t, d)
		v := must[*View](t)(d.View(context.Background()))
		got := []string{}
		for row, data := range readAll(t, v, "x") {
			if shapeAt(t, v, "x", int64(row)) == "none" {
				got = append(got, "none")
			} else {
				got = append(got, fmt.Sprint(int64(binary.LittleEndian.Uint64(data))))
			}
		}
		if text := fmt.Sprint(got, " of ", must[Description](t)(d.Describe()).Tensors[0].ClassNames); text != c.want {
			t.Errorf("%s, want %s", text, c.want)
		}
	}
	d := fresh(t, TensorSpec{HType: "class_label"})
	if err := appendColumns(d, samplesOf(zeros(tensor.Int64)), codes([]string{"cat"}, 0)); err == nil || !strings.Contains(err.Error(), "labels by number") {
		t.Errorf("names after numbers: %v", err)
	}
	d = fresh(t, TensorSpec{})
	if err := appendColumns(d, codes([]string{"cat"}, 0)); err == nil || !strings.Contains(err.Error(), "htype generic does not have") {
		t.Errorf("names of a generic tensor: %v", err)
	}
}
