package annotations

import (
	"context"
	"slices"
	"testing"

	"deeplake/core/errs"
)

const kittiLine = "Car 0.5 1 -1.5 10 20 30.5 40 1.5 1.6 3.7 -2 1.75 12.25 0.25"

func TestKITTI(t *testing.T) {
	files := tree{
		"training/image_2/000001.png": "", "training/label_2/000001.txt": kittiLine + "\nDontCare -1 -1 -10 1 2 3 4 -1 -1 -1 -1000 -1000 -1000 -10\n",
		"training/calib/000001.txt": "P2: 1 0 0\n", "testing/image_2/000001.png": "", "training/image_3/000001.png": "",
	}
	set := files.open(t, "", nil)
	if set.Has("training/image_3/000001.png") || !set.Uses("training/label_2/000001.txt") || !set.Uses("training/calib/000001.txt") || set.Uses("training/image_2/000001.png") {
		t.Error("other files belong to the set")
	}
	r := read(t, set, Picture{"training/image_2/000001.png", 100, 50})
	if got := value(t, r, "labels").Names; !slices.Equal(got, []string{"Car", "DontCare"}) || r.Objects != 2 || r.Faults != nil {
		t.Errorf("labels: %q, faults %q", got, r.Faults)
	}
	for name, want := range map[string][]float64{
		"boxes": {10, 20, 30.5, 40, 1, 2, 3, 4}, "truncated": {.5, -1}, "occluded": {1, -1}, "alpha": {-1.5, -10},
		"locations": {-2, 1.75, 12.25, -1000, -1000, -1000}, "rotations": {.25, -10},
	} {
		if got := numbers(t, value(t, r, name).Sample); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got := value(t, r, "dimensions").Sample.Shape.String(); got != "(2, 3)" || string(value(t, r, "calibration").Sample.Data) != "P2: 1 0 0\n" {
		t.Errorf("dimensions: %s", got)
	}
	// The test split has no labels: its rows have no values.
	if r := read(t, set, Picture{"testing/image_2/000001.png", 100, 50}); len(r.Values) != 0 {
		t.Errorf("without labels: %+v", r)
	}
}

func TestKITTIFaults(t *testing.T) {
	for line, want := range map[string]string{
		"Car 1 2":                               "has 3 fields, want 15, and one more for a confidence",
		kittiLine + " 0.5 1":                    "has 17 fields, want 15, and one more for a confidence",
		"Car x 1 0 1 2 3 4 1 1 1 1 1 1 1":       `has "x" in field 2, want a number`,
		"Car 0 1.5 0 1 2 3 4 1 1 1 1 1 1 1":     `has "1.5" in field 3, want an integer`,
		"Car 0 1 0 1 2 3 nan 1 1 1 1 1 1 1":     `has "nan" in field 8, want a number`,
		"Car 0 1 0 1 2 3 4 1 1 1 1 1 1 1e39 .5": `has "1e39" in field 15, want a number`,
	} {
		files := tree{"image_2/a.png": "", "label_2/a.txt": kittiLine + " 0.75\n" + line}
		r := read(t, files.open(t, "kitti", nil), Picture{"image_2/a.png", 8, 8})
		if len(r.Faults) != 1 || r.Faults[0] != "line 2 "+want || r.Objects != 1 {
			t.Errorf("%s: %q, want %q", line, r.Faults, want)
		}
		if got := numbers(t, value(t, r, "scores").Sample); !slices.Equal(got, []float64{.75}) {
			t.Errorf("scores: %v", got)
		}
	}
	for _, files := range []tree{{"image_2/a.png": ""}, {"image_2/a.png": "", "label_2/a.txt": "x"}, {"a.png": "", "label_2/a.txt": kittiLine}} {
		if _, _, err := Open(context.Background(), "kitti", files.place()); !errs.Is(err, errs.NotFound) {
			t.Errorf("%v: %v", files, err)
		}
	}
}

// FuzzKITTI reads forged labels. A row has as many boxes as labels.
func FuzzKITTI(f *testing.F) {
	f.Add(kittiLine + "\n" + kittiLine + " 1")
	f.Fuzz(func(t *testing.T, labels string) {
		r := &Row{}
		o, err := readKITTI(labels, r)
		if err != nil {
			return
		}
		(&kitti{scores: true}).rowOf(r, o)
		if n := value(t, r, "boxes").Sample.Shape[0]; n != r.Objects || n != int64(len(value(t, r, "labels").Names)) {
			t.Fatalf("%d boxes of %d objects", n, r.Objects)
		}
	})
}
