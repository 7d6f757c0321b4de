package tensor

import (
	"strings"
	"testing"

	"deeplake/core/errs"
)

func TestDTypesHaveOneNameEach(t *testing.T) {
	t.Parallel()
	seen := map[string]DType{}
	for _, d := range DTypes() {
		got, err := ParseDType(d.String())
		if err != nil || got != d || !d.Valid() {
			t.Errorf("%v parses to %v, %v", d, got, err)
		}
		if other, ok := seen[d.String()]; ok {
			t.Errorf("%d and %d are both %q", d, other, d)
		}
		seen[d.String()] = d
		if d.Fixed() != (d < String) {
			t.Errorf("%v: fixed = %v", d, d.Fixed())
		}
	}
	if _, err := ParseDType("flaot32"); !errs.Is(err, errs.Type) || !strings.Contains(err.Error(), `did you mean "float32"?`) {
		t.Errorf("a misspelt dtype: %v", err)
	}
	if DType(99).Valid() {
		t.Error("dtype 99 is valid")
	}
}

func TestShapeArithmetic(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		shape Shape
		dtype DType
		want  int64 // -1: refused
	}{
		{"scalar", Shape{}, Int64, 8},
		{"matrix", Shape{3, 5}, Float32, 60},
		{"empty", Shape{0, 1 << 30}, Uint8, 0},
		{"empty, hostile", Shape{0, 1 << 50}, Uint8, -1},
		{"negative", Shape{2, -1}, Uint8, -1},
		{"overflow", Shape{1 << 32, 1 << 32}, Uint8, -1},
		{"too large in bytes", Shape{1 << 38}, Float64, -1},
		{"largest", Shape{1 << 40}, Uint8, 1 << 40},
		{"axes", make(Shape, MaxDims+1), Uint8, -1},
	} {
		got, err := c.shape.Bytes(c.dtype)
		if (err != nil) != (c.want < 0) || (err == nil && got != c.want) {
			t.Errorf("%s: %d, %v, want %d", c.name, got, err, c.want)
		}
	}
}

func TestShapeTexts(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]Shape{"()": {}, "(4,)": {4}, "(?, 3)": {-1, 3}} {
		if s.String() != want {
			t.Errorf("%v is written %q, want %q", []int64(s), s, want)
		}
	}
	scalar := Shape{}
	if scalar.Clone() == nil || Shape(nil).Clone() != nil {
		t.Error("a clone confuses a scalar with no shape")
	}
	if !(Shape{2, 3}).Fits(Shape{-1, 3}) || (Shape{2, 4}).Fits(Shape{-1, 3}) || (Shape{2}).Fits(Shape{-1, 3}) {
		t.Error("Fits is wrong")
	}
}

func TestHTypes(t *testing.T) {
	t.Parallel()
	for _, name := range HTypes() {
		h, err := ParseHType(name)
		if err != nil || h.String() != name {
			t.Errorf("%q parses to %v, %v", name, h, err)
			continue
		}
		if d := h.DefaultDType(); d != 0 && h.CheckDType(d) != nil {
			t.Errorf("%q refuses its own default dtype %v", name, d)
		}
		if empty := h.Empty(); empty != nil && h.CheckShape(empty) != nil {
			t.Errorf("%q refuses its own empty shape %v", name, empty)
		}
		s, err := ParseHType("sequence[" + name + "]")
		if list := name == "polygon" || name == "video"; (err != nil) != list || (err == nil && (!s.Sequence || !s.List())) {
			t.Errorf("sequence[%s]: %v, %v", name, s, err)
		}
	}
	for _, bad := range []string{"", "imgae", "sequence[image", "sequence[nothing]", "sequence[sequence[image]]"} {
		if h, err := ParseHType(bad); !errs.Is(err, errs.Invalid) {
			t.Errorf("%q parses to %v, %v", bad, h, err)
		}
	}
}

func TestHTypeShapes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		htype string
		shape Shape
		ok    bool
	}{
		{"image.rgb", Shape{4, 5, 3}, true}, {"image.rgb", Shape{4, 5, 4}, false}, {"image.gray", Shape{4, 5, 1}, true},
		{"image", Shape{4, 5, 0}, false}, {"image", Shape{4, 5}, false},
		{"class_label", Shape{}, true}, {"class_label", Shape{3}, true}, {"class_label", Shape{3, 3}, false},
		{"bbox", Shape{7, 4}, true}, {"bbox", Shape{4}, false}, {"bbox", Shape{7, 5}, false},
		{"binary_mask", Shape{4, 4}, true}, {"binary_mask", Shape{4}, false},
		{"keypoints_coco", Shape{51, 2}, true}, {"keypoints_coco", Shape{50, 2}, false},
		{"point", Shape{9, 2}, true}, {"point", Shape{9, 4}, false}, {"polygon", Shape{9, 3}, true},
		{"embedding", Shape{768}, true}, {"embedding", Shape{1, 768}, false},
		{"intrinsics", Shape{3, 3}, true}, {"intrinsics", Shape{3, 4}, false}, {"generic", Shape{1, 2, 3, 4}, true},
	} {
		h, err := ParseHType(c.htype)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.CheckShape(c.shape); (err == nil) != c.ok {
			t.Errorf("%s of %s: %v", c.htype, c.shape, err)
		}
	}
}
