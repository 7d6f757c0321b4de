package dataset

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/area"
	"deeplake/core/tensor"
	"deeplake/core/version"
)

// picture makes pixels from a seed.
func randomPicture(r *rand.Rand, channels, size int) tensor.Sample {
	h, w := 1+r.IntN(90), 1+r.IntN(90)
	s := tensor.Sample{Form: tensor.FormArray, DType: tensor.Uint8, Shape: tensor.Shape{int64(h), int64(w), int64(channels)}, Data: make([]byte, h*w*channels*size)}
	if size == 2 {
		s.DType = tensor.Uint16
	}
	for i := range s.Data {
		s.Data[i] = byte(r.Uint32())
	}
	return s
}

// sampleOf reads a row as an array; nil: it has none.
func sampleOf(t *testing.T, v *View, name string, row int64) *tensor.Sample {
	t.Helper()
	c := must[*Column](t)(v.Column(name))
	var refs [1]chunk.Ref
	if err := c.Resolve(t.Context(), []int64{row}, refs[:]); err != nil {
		t.Fatal(err)
	}
	if refs[0].Hole() {
		return nil
	}
	w := v.NewWorker()
	defer w.Close()
	out := &tensor.Sample{DType: c.DType(), Shape: refs[0].Shape, Data: make([]byte, refs[0].Size)}
	if err := c.Decode(t.Context(), &refs[0], out.Data, w); err != nil {
		t.Fatal(err)
	}
	return out
}

// checkLevels compares each level of all rows with the level before.
func checkLevels(t *testing.T, d *Dataset, name string, layers int, factor int64) {
	t.Helper()
	v := must[*View](t)(d.View(t.Context()))
	levels := must[*Column](t)(v.Column(name)).Access().Levels
	if len(levels) != layers {
		t.Fatalf("%d levels, want %d", len(levels), layers)
	}
	before, all := name, factor
	for _, l := range levels {
		if l.Name != fmt.Sprintf("_%s_downsampled_%d", name, all) || l.Factor != all {
			t.Errorf("the level is %+v", l)
		}
		for row := range v.Len() {
			from, got := sampleOf(t, v, before, row), sampleOf(t, v, l.Name, row)
			if (from == nil) != (got == nil) {
				t.Fatalf("row %d of %s: %v of %v", row, l.Name, got, from)
			}
			if from == nil {
				continue
			}
			h, w := (from.Shape[0]+factor-1)/factor, (from.Shape[1]+factor-1)/factor
			want := make([]byte, int(h*w*from.Shape[2])*from.DType.Size())
			area.Reduce(want, from.Data, int(from.Shape[0]), int(from.Shape[1]), int(h), int(w), int(from.Shape[2]), from.DType.Size())
			if !got.Shape.Equal(tensor.Shape{h, w, from.Shape[2]}) || !bytes.Equal(got.Data, want) {
				t.Fatalf("row %d of %s has %v and other pixels than %v makes", row, l.Name, got.Shape, from.Shape)
			}
		}
		before, all = l.Name, all*factor
	}
}

// TestLevelsFollow holds that levels are in step with their tensor after random appends, updates,
// deletes, commits, branches, merges and rechunks.
func TestLevelsFollow(t *testing.T) {
	t.Parallel()
	for seed, spec := range []TensorSpec{
		{Name: "x", HType: "image.rgb", Compression: "png", Downsample: []int64{2, 3}},
		{Name: "x", HType: "image", Compression: "lz4", Downsample: []int64{3, 2}, ChunkBytes: 4096},
		{Name: "x", HType: "image.gray", DType: "uint16", Downsample: []int64{2, 2}},
	} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			r := rand.New(rand.NewPCG(uint64(seed), 4))
			d := must[*Dataset](t)(Create(ctx, testEnv(), fmt.Sprintf("mem://levels%d", seed), CreateOptions{}))
			defer func() { _ = d.Close() }()
			try := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			try(d.CreateTensor(ctx, spec))
			try(d.CreateTensor(ctx, TensorSpec{Name: "n", DType: "int64"}))
			channels, size := 3, 1
			if spec.DType == "uint16" {
				channels, size = 1, 2
			}
			column := func(n int, holes bool) tensor.Rows {
				out := tensor.Rows{Tensor: "x"}
				for range n {
					s := randomPicture(r, channels, size)
					switch {
					case holes && r.IntN(4) == 0:
						s = tensor.Sample{Form: tensor.FormHole}
					case size == 1 && r.IntN(3) == 0: // as a file
						c := must[codec.SampleCodec](t)(d.env.Codecs.Sample(codec.PNG))
						s = tensor.Sample{Form: tensor.FormEncoded, Data: must[[]byte](t)(c.Encode(nil, s.Data, s.DType, s.Shape, codec.Options{}))}
					}
					out.Samples = append(out.Samples, s)
				}
				return out
			}
			numbers := func(n int) tensor.Rows {
				return tensor.Rows{Tensor: "n", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: make([]byte, 8*n)}}
			}
			rows := int64(0)
			step := func() {
				t.Helper()
				switch k := r.IntN(5); {
				case k < 2 || rows < 4:
					n := 1 + r.IntN(5)
					try(d.Append(ctx, []tensor.Rows{column(n, true), numbers(n)}, int64(n)))
					rows += int64(n)
				case k == 2:
					at := []int64{r.Int64N(rows), r.Int64N(rows)}
					at = slices.Compact(at)
					try(d.Update(ctx, at, []tensor.Rows{column(len(at), false)}))
				case k == 3:
					try(d.DeleteRows(ctx, []int64{r.Int64N(rows)}))
					rows--
				default:
					_, err := d.Commit(ctx, "")
					try(err)
				}
			}
			for range 25 {
				step()
			}
			_, err := d.Commit(ctx, "")
			try(err)
			checkLevels(t, d, "x", int(spec.Downsample[1]), spec.Downsample[0])
			before := rows
			try(d.Checkout(ctx, "other", true))
			try(d.Update(ctx, []int64{0}, []tensor.Rows{column(1, false)}))
			try(d.Append(ctx, []tensor.Rows{column(2, true), numbers(2)}, 2))
			_, err = d.Commit(ctx, "")
			try(err)
			checkLevels(t, d, "x", int(spec.Downsample[1]), spec.Downsample[0])
			try(d.Checkout(ctx, "main", false))
			rows = before
			try(d.Update(ctx, []int64{0, 1}, []tensor.Rows{column(2, false)}))
			try(d.RenameTensor(ctx, "x", "y"))
			_, err = d.Commit(ctx, "")
			try(err)
			checkLevels(t, d, "y", int(spec.Downsample[1]), spec.Downsample[0])
			_, _, err = d.Merge(ctx, "other", version.OnConflictTheirs, "")
			try(err)
			checkLevels(t, d, "y", int(spec.Downsample[1]), spec.Downsample[0])
			_, err = d.Rechunk(ctx, RechunkOptions{})
			try(err)
			checkLevels(t, d, "y", int(spec.Downsample[1]), spec.Downsample[0])
		})
	}
}

// TestLevelsAreGuarded holds that levels are hidden, that they change with their tensor alone, and
// that what cannot have them is refused.
func TestLevelsAreGuarded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := must[*Dataset](t)(Create(ctx, testEnv(), "mem://guarded", CreateOptions{}))
	defer func() { _ = d.Close() }()
	spec := TensorSpec{Name: "x", HType: "image.rgb", Compression: "jpeg", Downsample: []int64{2, 2}}
	for _, bad := range []TensorSpec{
		{Name: "a", HType: "image", Downsample: []int64{1, 2}}, {Name: "a", HType: "image", Downsample: []int64{2}},
		{Name: "a", HType: "image", Downsample: []int64{2, 0}}, {Name: "a", HType: "image", Downsample: []int64{16, 16}},
		{Name: "a", HType: "image", Downsample: []int64{2, -1 << 62}}, {Name: "a", HType: "image", DType: "float32", Downsample: []int64{2, 1}},
		{Name: "a", HType: "sequence[image]", Downsample: []int64{2, 1}}, {Name: "a", HType: "binary_mask", Downsample: []int64{2, 1}},
	} {
		if err := d.CreateTensor(ctx, bad); !errs.Is(err, errs.Invalid) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if err := d.CreateTensor(ctx, spec); err != nil {
		t.Fatal(err)
	}
	spec.ExistOK = true
	if err := d.CreateTensor(ctx, spec); err != nil {
		t.Error(err)
	}
	spec.Downsample = []int64{2, 3}
	if err := d.CreateTensor(ctx, spec); !errs.Is(err, errs.Exists) {
		t.Errorf("other levels: %v", err)
	}
	level := "_x_downsampled_2"
	one := randomPicture(rand.New(rand.NewPCG(1, 1)), 3, 1)
	if err := d.Append(ctx, []tensor.Rows{{Tensor: "x", Samples: []tensor.Sample{one}}, {Tensor: level, Samples: []tensor.Sample{one}}}, 1); !errs.Is(err, errs.Invalid) {
		t.Errorf("an append to a level: %v", err)
	}
	c := must[codec.SampleCodec](t)(d.env.Codecs.Sample(codec.JPEG))
	file := must[[]byte](t)(c.Encode(nil, one.Data, one.DType, one.Shape, codec.Options{}))
	cut := tensor.Sample{Form: tensor.FormEncoded, Data: append(file[:len(file)/2:len(file)/2], 0xff, 0xd9)}
	if err := d.Append(ctx, []tensor.Rows{{Tensor: "x", Samples: []tensor.Sample{cut}}}, 1); !errs.Is(err, errs.Corrupt) {
		t.Errorf("a damaged file: %v", err)
	}
	if err := d.Append(ctx, []tensor.Rows{{Tensor: "x", Samples: []tensor.Sample{one, {Form: tensor.FormEncoded, Data: file}}}}, 2); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Commit(ctx, ""); err != nil {
		t.Fatal(err)
	}
	v := must[*View](t)(d.View(ctx))
	about := v.Describe().Tensors
	if !slices.Equal(v.Names(), []string{"x"}) || len(about) != 1 || len(about[0].Levels) != 2 || about[0].Levels[1].Factor != 4 || about[0].Levels[0].Bytes == 0 {
		t.Errorf("names %v, tensors %+v", v.Names(), about)
	}
	if got := must[*Column](t)(v.Column("x")).Spec().Downsample; !slices.Equal(got, []int64{2, 2}) {
		t.Errorf("the spec has downsample %v", got)
	}
	if got := v.snap.Record.Features; !slices.Equal(got, []string{format.FeatureLevels}) {
		t.Errorf("the record has features %v", got)
	}
	if s := sampleOf(t, v, level, 1); s == nil || s.Shape[0] != (one.Shape[0]+1)/2 {
		t.Errorf("the level of a file is %v", s)
	}
	if err := d.DeleteTensor(ctx, level); !errs.Is(err, errs.Invalid) {
		t.Errorf("deleting a level: %v", err)
	}
	if err := d.RenameTensor(ctx, level, "z"); !errs.Is(err, errs.Invalid) {
		t.Errorf("renaming a level: %v", err)
	}
	if err := d.DeleteTensor(ctx, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Commit(ctx, ""); err != nil {
		t.Fatal(err)
	}
	v = must[*View](t)(d.View(ctx))
	if len(v.snap.Schema.Tensors) != 0 || v.snap.Record.Features != nil {
		t.Errorf("behind the end: %+v", v.snap.Schema.Tensors)
	}
}
