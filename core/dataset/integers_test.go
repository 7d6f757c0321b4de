package dataset

import (
	"slices"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// TestIntegers: single integers of any dtype are read, and other samples refused.
func TestIntegers(t *testing.T) {
	t.Parallel()
	d := must[*Dataset](t)(Create(t.Context(), testEnv(), "mem://d", CreateOptions{}))
	defer func() { _ = d.Close() }()
	for _, spec := range []TensorSpec{{Name: "x", DType: "int64"}, {Name: "label", HType: "class_label", ClassNames: []string{"a"}, AddClasses: true}, {Name: "pair", DType: "int64"}, {Name: "t", HType: "text"}} {
		if err := d.CreateTensor(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	for row, label := range []string{"b", "a", ""} {
		one := tensor.Sample{Form: tensor.FormText, DType: tensor.String, Data: []byte(label)}
		if label == "" {
			one = tensor.Sample{Form: tensor.FormHole}
		}
		err := d.Append(t.Context(), []tensor.Rows{
			{Tensor: "x", Samples: []tensor.Sample{{DType: tensor.Int64, Shape: tensor.Shape{}, Data: int64s(int64(row - 1))}}}, {Tensor: "label", Samples: []tensor.Sample{one}},
			{Tensor: "pair", Samples: []tensor.Sample{{DType: tensor.Int64, Shape: tensor.Shape{2}, Data: int64s(1, 2)}}},
			{Tensor: "t", Samples: []tensor.Sample{{Form: tensor.FormText, DType: tensor.String, Data: []byte("12345678")}}},
		}, 1)
		if err != nil {
			t.Fatal(err)
		}
	}
	v := must[*View](t)(d.View(t.Context()))
	for name, want := range map[string][]int64{"x": {1, -1}, "label": {-1, 1}, "pair": nil, "t": nil} {
		got, err := Integers(t.Context(), must[*Column](t)(v.Column(name)), []int64{2, 0})
		if want == nil && !errs.Is(err, errs.Type) || want != nil && (err != nil || !slices.Equal(got, want)) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
