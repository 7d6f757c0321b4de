package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/tensor"
	"deeplake/core/version"
)

// TestConflictsOfTasks holds that a conflict of two tasks names its subject and both tasks, in any
// order of their fragments.
func TestConflictsOfTasks(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	create := func(spec TensorSpec) func(d *Dataset) {
		if spec.Name == "" {
			spec.Name = "n"
		}
		return func(d *Dataset) {
			if err := d.CreateTensor(ctx, spec); err != nil {
				t.Fatal(err)
			}
		}
	}
	update := func(rows ...int64) func(d *Dataset) {
		return func(d *Dataset) {
			for _, row := range rows {
				updateNumbers(t, d, row, 900+row)
			}
		}
	}
	remove := func(rows ...int64) func(d *Dataset) { return func(d *Dataset) { deleteRows(t, d, rows...) } }
	// fill writes rows of a new tensor. Long runs and short ones are kept in different ways.
	fill := func(from, to int64) func(d *Dataset) {
		return func(d *Dataset) {
			create(TensorSpec{DType: "int64"})(d)
			rows := make([]int64, to-from)
			for i := range rows {
				rows[i] = from + int64(i)
			}
			column := tensor.Rows{Tensor: "n", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: int64s(rows...)}}
			if err := d.Update(ctx, rows, []tensor.Rows{column}); err != nil {
				t.Fatal(err)
			}
		}
	}
	samples := func(dt tensor.DType, shape tensor.Shape) func(d *Dataset) {
		return func(d *Dataset) {
			create(TensorSpec{HType: "embedding"})(d)
			n, _ := shape.Bytes(dt)
			s := tensor.Sample{Form: tensor.FormArray, DType: dt, Shape: shape, Data: make([]byte, n)}
			if err := d.Update(ctx, []int64{int64(len(shape)) + shape[0]}, []tensor.Rows{{Tensor: "n", Samples: []tensor.Sample{s}}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	const twice, created = "update x update", "add_tensor x add_tensor"
	image := func(change func(s *TensorSpec)) func(d *Dataset) {
		s := TensorSpec{HType: "image"}
		change(&s)
		return create(s)
	}
	plain := image(func(*TensorSpec) {})
	for name, c := range map[string]struct {
		a, b   func(d *Dataset)
		kinds  string // of b behind a, and of a behind b
		tensor string
		rows   []int64
		count  int64
		words  string
	}{
		"rows":              {update(1, 3, 5, 6), update(9, 6, 3), twice + "|" + twice, "x", []int64{3, 6}, 2, "rows 3, 6"},
		"rows that go":      {update(1, 3, 5), remove(0, 5), "delete x update|update x delete", "x", []int64{5}, 1, "row 5"},
		"long runs":         {fill(0, 100), fill(90, 200), twice + "|" + twice, "n", []int64{90, 91, 92, 93, 94, 95, 96, 97, 98, 99}, 10, `tensor "n" at rows 90, 91`},
		"long and short":    {fill(0, 100), fill(98, 110), twice + "|" + twice, "n", []int64{98, 99}, 2, "rows 98, 99"},
		"short and long":    {fill(97, 99), fill(98, 200), twice + "|" + twice, "n", []int64{98}, 1, "row 98"},
		"dtypes":            {create(TensorSpec{DType: "int64"}), create(TensorSpec{DType: "float32"}), created, "n", nil, 0, "dtype"},
		"dtypes of samples": {samples(tensor.Float32, tensor.Shape{2}), samples(tensor.Float64, tensor.Shape{2}), created, "n", nil, 0, "dtype"},
		"shapes of samples": {samples(tensor.Float32, tensor.Shape{2}), samples(tensor.Float32, tensor.Shape{3}), created, "n", nil, 0, "shape"},
		"htypes":            {plain, create(TensorSpec{HType: "bbox"}), created, "n", nil, 0, "htype"},
		"shapes":            {create(TensorSpec{DType: "int64"}), create(TensorSpec{DType: "int64", Shape: tensor.Shape{2}}), created, "n", nil, 0, "shape"},
		"compressions":      {image(func(s *TensorSpec) { s.Compression = "png" }), image(func(s *TensorSpec) { s.Compression = "jpeg" }), created, "n", nil, 0, "compression"},
		"qualities": {image(func(s *TensorSpec) { s.Compression, s.Quality = "jpeg", 80 }), image(func(s *TensorSpec) { s.Compression = "jpeg" }), created, "n", nil, 0,
			"quality"},
		"subsamplings": {image(func(s *TensorSpec) { s.Compression, s.Subsampling = "jpeg", "4:4:4" }), image(func(s *TensorSpec) { s.Compression = "jpeg" }), created, "n", nil, 0,
			"subsampling"},
		"chunks":       {plain, image(func(s *TensorSpec) { s.ChunkBytes = 1 << 20 }), created, "n", nil, 0, "chunk_bytes"},
		"orientations": {plain, image(func(s *TensorSpec) { s.Upright = true }), created, "n", nil, 0, "apply_exif_orientation"},
		"levels":       {image(func(s *TensorSpec) { s.Compression = "png" }), image(func(s *TensorSpec) { s.Compression, s.Downsample = "png", []int64{2, 2} }), created, "n", nil, 0, "downsample"},
		"factors": {image(func(s *TensorSpec) { s.Compression, s.Downsample = "png", []int64{4, 1} }), image(func(s *TensorSpec) { s.Compression, s.Downsample = "png", []int64{2, 2} }), created, "n", nil, 0,
			"downsample"},
		"info":           {create(TensorSpec{DType: "int64", Info: map[string]any{"unit": "m"}}), create(TensorSpec{DType: "int64", Info: map[string]any{"unit": "cm"}}), created, "n", nil, 0, `info {"unit":"cm"}`},
		"info and none":  {create(TensorSpec{DType: "int64", Info: map[string]any{"unit": strings.Repeat("m", 200)}}), create(TensorSpec{DType: "int64"}), created, "n", nil, 0, "mmm..."},
		"closed classes": {create(TensorSpec{HType: "class_label", ClassNames: []string{"a", "b"}}), create(TensorSpec{HType: "class_label", ClassNames: []string{"a"}}), created, "n", nil, 0, "class_names"},
		"open classes":   {create(TensorSpec{HType: "class_label", ClassNames: []string{"a"}}), create(TensorSpec{HType: "class_label", ClassNames: []string{"a"}, AddClasses: true}), created, "n", nil, 0, "class_names"},
		"a group":        {create(TensorSpec{Name: "g", DType: "int64"}), create(TensorSpec{Name: "g/n", DType: "int64"}), created, "g/n|g", nil, 0, "cannot be both"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := testEnv()
			d := numberedDataset(t, env, "mem://d")
			numbers := make([]int64, 210)
			appendNumbers(t, d, numbers...)
			deleteRows(t, d, 2, 4) // rows are told as the user counts them
			commit(t, d, "rows")
			token := begin(t, d)
			idle := inTask(t, env, "mem://d", token, "idle", func(d *Dataset) { appendNumbers(t, d, 1) })
			a, b := inTask(t, env, "mem://d", token, "a", c.a), inTask(t, env, "mem://d", token, "b", c.b)
			for k, parts := range [][][]byte{{idle, a, b}, {idle, b, a}} {
				_, err := WritesTo(d).Commit(ctx, token, parts, CommitFragmentsOptions{AllowMissing: true})
				var got *version.ConflictError
				if !errs.Is(err, errs.Conflict) || !errors.As(err, &got) {
					t.Fatalf("%v", err)
				}
				kinds, tensors := strings.Split(c.kinds, "|"), strings.Split(c.tensor, "|")
				if want := kinds[k%len(kinds)]; got.Kind != want {
					t.Errorf("the kind is %q, want %q: %v", got.Kind, want, err)
				}
				if want := tensors[k%len(tensors)]; got.Tensor != want || !slices.Equal(got.Rows, c.rows) || got.Count != c.count {
					t.Errorf("it is about %d rows %v of %q, want %d, %v of %q: %v", got.Count, got.Rows, got.Tensor, c.count, c.rows, want, err)
				}
				words := []string{`task "a"`, `task "b"`}
				if k == 0 || !strings.Contains(c.words, "info") {
					words = append(words, c.words)
				}
				for _, want := range words {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%q is not in %q", want, err)
					}
				}
				if got.Winner.Commit != "" || got.Remedy == "" {
					t.Errorf("it names the commit %+v", got.Winner)
				}
			}
			must[WriteReport](t)(WritesTo(d).Commit(ctx, token, [][]byte{idle, b}, CommitFragmentsOptions{AllowMissing: true}))
			wantWhole(t, d)
		})
	}
}

// TestTasksCreateTheSame: what samples decide is no conflict.
func TestTasksCreateTheSame(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, order := range [][]codec.ID{{codec.JPEG, codec.PNG, codec.None}, {codec.None, codec.PNG, codec.JPEG}, {codec.PNG, codec.None, codec.JPEG}} {
		env := testEnv()
		d := must[*Dataset](t)(Create(ctx, env, "mem://d", CreateOptions{}))
		token := begin(t, d)
		var parts [][]byte
		for i, id := range order {
			parts = append(parts, inTask(t, env, "mem://d", token, fmt.Sprint(i), func(d *Dataset) {
				for _, spec := range []TensorSpec{{Name: "i", HType: "image", Info: map[string]any{"n": int64(3), "of": []any{1.5, "x"}}}, {Name: "l", HType: "class_label"}} {
					if err := d.CreateTensor(ctx, spec); err != nil {
						t.Fatal(err)
					}
				}
				if id == codec.None {
					return // a task without samples decides nothing
				}
				file := fileOf(t, id, picture(uint64(i), false, 16, int64(20+i), 3))
				cols := []tensor.Rows{
					{Tensor: "i", Samples: []tensor.Sample{file}},
					{Tensor: "l", Samples: []tensor.Sample{{Form: tensor.FormText, DType: tensor.String, Data: []byte(id.Name())}}},
				}
				if err := d.Append(ctx, cols, 1); err != nil {
					t.Fatal(err)
				}
			}))
		}
		if r := must[WriteReport](t)(WritesTo(d).Commit(ctx, token, parts, CommitFragmentsOptions{})); r.Rows != 2 {
			t.Errorf("%d rows, want 2", r.Rows)
		}
		if ts := d.head.Schema.Find("i"); ts.Files != format.FilesOwn {
			t.Errorf("%v: files are stored as %q", order, ts.Files)
		}
		readAll(t, must[*View](t)(d.View(ctx)), "i")
		wantWhole(t, d)
		_ = d.Close()
	}
}
