package dataset

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// mask returns an array of numbers below most.
func mask(d tensor.DType, most int, shape ...int64) tensor.Sample {
	s := zeros(d, shape...)
	size := d.Size()
	for i := 0; i < len(s.Data); i += size {
		v := (i / size * 7) % most
		s.Data[i] = byte(v)
		if size > 1 {
			s.Data[i+1] = byte(v >> 8)
		}
	}
	return s
}

// TestMaskFiles: the first sample decides dtype and compression of a tensor of masks.
func TestMaskFiles(t *testing.T) {
	t.Parallel()
	small, wide := mask(tensor.Uint8, 21, 30, 40), mask(tensor.Uint16, 900, 30, 40)
	file, wideFile := fileOf(t, codec.PNG, small), fileOf(t, codec.PNG, wide)
	bools := mask(tensor.Bool, 2, 30, 40)
	boolFile := fileOf(t, codec.PNG, bools)
	as := func(d tensor.DType, s tensor.Sample) []byte {
		out, bad := tensor.Convert(d, s.DType, s.Data)
		if bad >= 0 {
			t.Fatalf("element %d of %s does not fit %s", bad, s.DType, d)
		}
		return out
	}
	for _, c := range []struct {
		name        string
		spec        TensorSpec
		samples     []tensor.Sample
		dtype       tensor.DType
		compression string
		values      []tensor.Sample // of the samples
		verbatim    []int           // rows whose file is stored unchanged
	}{
		{"a file first", TensorSpec{HType: "segment_mask"}, []tensor.Sample{file, file}, tensor.Uint8, "png", []tensor.Sample{small, small}, []int{0, 1}},
		{"a wide file first", TensorSpec{HType: "instance_label"}, []tensor.Sample{wideFile, file}, tensor.Uint16, "png", []tensor.Sample{wide, small}, []int{0}},
		{"a file, then arrays", TensorSpec{HType: "segment_mask"}, []tensor.Sample{file, small, mask(tensor.Int64, 21, 30, 40)}, tensor.Uint8, "png", []tensor.Sample{small, small, small}, []int{0}},
		{"an array, then a file", TensorSpec{HType: "segment_mask"}, []tensor.Sample{small, file}, tensor.Uint8, "shuffle", []tensor.Sample{small, small}, nil},
		{"a stated dtype", TensorSpec{HType: "segment_mask", DType: "int64"}, []tensor.Sample{file, wideFile}, tensor.Int64, "shuffle", []tensor.Sample{small, wide}, nil},
		{"the dtype of the file", TensorSpec{HType: "segment_mask", DType: "uint8"}, []tensor.Sample{file, small}, tensor.Uint8, "png", []tensor.Sample{small, small}, []int{0}},
		{"a stated compression", TensorSpec{HType: "segment_mask", Compression: "zstd"}, []tensor.Sample{file}, tensor.Uint8, "zstd", []tensor.Sample{small}, nil},
		{"png, arrays", TensorSpec{HType: "segment_mask", Compression: "png"}, []tensor.Sample{wide, file}, tensor.Uint16, "png", []tensor.Sample{wide, small}, nil},
		{"bools", TensorSpec{HType: "binary_mask"}, []tensor.Sample{boolFile, bools, file}, tensor.Bool, "png", nil, []int{0, 2}},
		{"bools, an array first", TensorSpec{HType: "binary_mask"}, []tensor.Sample{bools, boolFile}, tensor.Bool, "shuffle", []tensor.Sample{bools, bools}, nil},
		{"lists", TensorSpec{HType: "sequence[segment_mask]", Compression: "png"}, []tensor.Sample{file}, tensor.Uint8, "png", []tensor.Sample{small}, []int{0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := fresh(t, c.spec)
			for _, s := range c.samples { // a call each: later calls follow the first
				if err := appendOne(d, s); err != nil {
					t.Fatal(err)
				}
			}
			commitAll(t, d)
			v := must[*View](t)(d.View(context.Background()))
			col := must[*Column](t)(v.Column("x"))
			if spec := col.Spec(); len(c.samples) > 0 && (col.DType() != c.dtype || spec.Compression != c.compression) {
				t.Errorf("tensor is %s in %q, want %s in %q", col.DType(), spec.Compression, c.dtype, c.compression)
			}
			got := readAll(t, v, "x")
			for i, value := range c.values {
				if !bytes.Equal(got[i], as(c.dtype, value)) {
					t.Errorf("row %d differs", i)
				}
			}
			for i, s := range c.samples {
				stored := storedAt(t, v, int64(i))
				if same := s.Form == tensor.FormEncoded && bytes.Equal(stored, s.Data); same != slices.Contains(c.verbatim, i) {
					t.Errorf("row %d: the file is stored unchanged: %v", i, same)
				}
			}
		})
	}
}

func storedAt(t *testing.T, v *View, row int64) []byte {
	t.Helper()
	col := must[*Column](t)(v.Column("x"))
	refs := make([]chunk.Ref, 1)
	if err := col.Resolve(context.Background(), []int64{row}, refs); err != nil {
		t.Fatal(err)
	}
	w := v.NewWorker()
	defer w.Close()
	out := make([]byte, refs[0].Stored)
	if err := col.Stored(context.Background(), &refs[0], out, w); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestMaskFilesRefused: the errors of files that are no masks, and of masks that no file holds,
// name a way out.
func TestMaskFilesRefused(t *testing.T) {
	t.Parallel()
	file := fileOf(t, codec.PNG, mask(tensor.Uint8, 21, 30, 40))
	large := mask(tensor.Uint16, 900, 30, 40)
	for _, c := range []struct {
		name    string
		spec    TensorSpec
		samples []tensor.Sample
		kind    errs.Kind
		want    string
	}{
		{"a photo", TensorSpec{HType: "segment_mask"}, []tensor.Sample{fileOf(t, codec.JPEG, picture(1, false, 9, 9, 3))}, errs.Type, "a JPEG file keeps colors"},
		{"a WebP", TensorSpec{HType: "binary_mask"}, []tensor.Sample{fileOf(t, codec.WebP, picture(1, false, 9, 9, 3))}, errs.Type, "a WebP file keeps colors"},
		{"colors", TensorSpec{HType: "segment_mask"}, []tensor.Sample{fileOf(t, codec.PNG, picture(1, false, 9, 9, 3))}, errs.Type, "3 channels, a mask has one number a pixel"},
		{"large numbers of a file", TensorSpec{HType: "segment_mask"}, []tensor.Sample{file, fileOf(t, codec.PNG, large)}, errs.Invalid, "which uint8 does not hold"},
		{"large numbers of an array", TensorSpec{HType: "segment_mask"}, []tensor.Sample{file, large}, errs.Invalid, "which uint8 does not hold"},
		{"many masks in one", TensorSpec{HType: "segment_mask"}, []tensor.Sample{file, mask(tensor.Uint8, 3, 30, 40, 2)}, errs.Type, `create the tensor with compression="shuffle"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var err error
			d := fresh(t, c.spec)
			for i, s := range c.samples {
				if err != nil {
					t.Fatalf("sample %d: %v", i, err)
				}
				err = appendOne(d, s)
			}
			if !errs.Is(err, c.kind) || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("got %v, want %s with %q", err, c.kind, c.want)
			}
		})
	}
}
