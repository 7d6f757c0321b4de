package ingest

import (
	"context"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// TestFit brings pictures of one colour each to one size.
func TestFit(t *testing.T) {
	t.Parallel()
	env := testEnv()
	f, err := newFit(env.Codecs, 8)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	for name, test := range map[string]struct {
		codec codec.ID
		shape tensor.Shape
	}{
		"wide jpeg":   {codec.JPEG, tensor.Shape{20, 50, 3}},
		"tall png":    {codec.PNG, tensor.Shape{31, 9, 3}},
		"grey png":    {codec.PNG, tensor.Shape{9, 10, 1}},
		"small jpeg":  {codec.JPEG, tensor.Shape{2, 3, 3}},
		"exact":       {codec.PNG, tensor.Shape{8, 8, 3}},
		"single line": {codec.PNG, tensor.Shape{1, 40, 3}},
	} {
		sc, err := env.Codecs.Sample(test.codec)
		if err != nil {
			t.Fatal(err)
		}
		n, _ := test.shape.Bytes(tensor.Uint8)
		pix := make([]byte, n)
		for i := range pix {
			pix[i] = 200
		}
		file, err := sc.Encode(nil, pix, tensor.Uint8, test.shape, codec.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := f.apply(file)
		if err != nil || !s.Shape.Equal(tensor.Shape{8, 8, 3}) || len(s.Data) != 8*8*3 {
			t.Errorf("%s: %v of %d bytes, %v", name, s.Shape, len(s.Data), err)
			continue
		}
		for i, v := range s.Data {
			if v < 199 || v > 201 {
				t.Errorf("%s: byte %d is %d, want 200", name, i, v)
				break
			}
		}
	}
	if _, err := f.apply([]byte("\xff\xd8\xff\xe0 nothing")); !bad(err) {
		t.Errorf("a damaged file: %v", err)
	}
}

func TestFitIsChecked(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"negative": {Size: -1},
		"too much": {Size: maxFitSide + 1},
		"links":    {Size: 8, Link: true},
	} {
		if j, err := Start(testEnv(), "mem://fit", t.TempDir(), o); !errs.Is(err, errs.Invalid) {
			t.Errorf("%s: %v, want invalid", name, err)
			if j != nil {
				_, _ = j.Wait(context.Background())
			}
		}
	}
}
