package annotations

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
)

func TestYOLO(t *testing.T) {
	const boxes = "1 0.5 0.25 0.5 0.125\n\n0 0.1 0.2 0.3 0.4\r\n"
	for name, c := range map[string]struct {
		files   tree
		key     string
		classes []string
	}{
		"ultralytics":       {tree{"data.yaml": "names: [cat, dog]\nnc: 2\n", "images/train/a.jpg": "", "labels/train/a.txt": boxes}, "images/train/a.jpg", []string{"cat", "dog"}},
		"a map of names":    {tree{"coco8.yml": "names:\n  0: cat\n  1: dog\n", "train/images/a.jpg": "", "train/labels/a.txt": boxes}, "train/images/a.jpg", []string{"cat", "dog"}},
		"a gap":             {tree{"d.yaml": "names: {0: cat, 2: dog, 1: ''}", "images/a.jpg": "", "labels/a.txt": boxes}, "images/a.jpg", []string{"cat", "(1)", "dog"}},
		"a name twice":      {tree{"d.yaml": "names: [cat, cat]", "images/a.jpg": "", "labels/a.txt": boxes}, "images/a.jpg", []string{"cat", "cat (1)"}},
		"darknet":           {tree{"classes.txt": "cat\ndog\n\n", "obj/a.jpg": "", "obj/a.txt": boxes}, "obj/a.jpg", []string{"cat", "dog"}},
		"names beside":      {tree{"obj.names": "\ufeffcat\r\ndog", "a.jpg": "", "a.txt": boxes}, "a.jpg", []string{"cat", "dog"}},
		"no names":          {tree{"images/a.jpg": "", "labels/a.txt": boxes}, "images/a.jpg", nil},
		"another yaml":      {tree{"conf.yaml": "a: [b", "images/a.jpg": "", "labels/a.txt": boxes}, "images/a.jpg", nil},
		"two folders alike": {tree{"d.yaml": "names: [cat, dog]", "images/images/a.jpg": "", "images/labels/a.txt": boxes}, "images/images/a.jpg", []string{"cat", "dog"}},
	} {
		set := c.files.open(t, "", nil)
		specs := set.Tensors()
		if len(specs) != 2 || !slices.Equal(specs[1].ClassNames, c.classes) || specs[1].AddClasses != (c.classes != nil) {
			t.Errorf("%s: %+v", name, specs)
		}
		r := read(t, set, Picture{c.key, 80, 40})
		labels := value(t, r, "labels")
		if c.classes == nil && !slices.Equal(numbers(t, labels.Sample), []float64{1, 0}) {
			t.Errorf("%s: labels %v", name, labels.Sample)
		}
		want := []string(nil)
		if c.classes != nil {
			want = []string{c.classes[1], c.classes[0]}
		}
		if got := labels.Names; !slices.Equal(got, want) || r.Objects != 2 || r.Faults != nil {
			t.Errorf("%s: labels %q, faults %q", name, got, r.Faults)
		}
		got := numbers(t, value(t, r, "boxes").Sample)
		for i, v := range []float64{.5, .25, .5, .125, .1, .2, .3, .4} {
			if got[i] != float64(float32(v)) {
				t.Errorf("%s: boxes %v", name, got)
			}
		}
		for key := range c.files {
			if uses := set.Uses(key); uses == (kindOf(key) == picture) && key != "conf.yaml" {
				t.Errorf("%s: uses %s: %v", name, key, uses)
			}
		}
		if empty := read(t, set, Picture{strings.Replace(c.key, "a.jpg", "b.jpg", 1), 8, 8}); empty.Objects != 0 || value(t, empty, "boxes").Sample.Shape.String() != "(0, 4)" {
			t.Errorf("%s: a background: %v", name, empty)
		}
	}
}

func TestYOLOOutlines(t *testing.T) {
	files := tree{"data.yaml": "names: [cat]", "images/a.jpg": "", "labels/a.txt": "0 0.25 0.5 0.5 0.5 0.5 1\n0 0.5 0.5 0.5 0.5\n0 0 0 .5 0 .5 .5 0 .5\n"}
	set := files.open(t, "yolo", func(p *Place) { p.Masks = true })
	r := read(t, set, Picture{"images/a.jpg", 8, 4})
	items := value(t, r, "polygons").Items
	if got := numbers(t, items[0]); len(items) != 3 || !slices.Equal(got, []float64{2, 2, 4, 2, 4, 4}) || items[1].Shape.String() != "(0, 2)" || items[2].Shape.String() != "(4, 2)" {
		t.Errorf("polygons: %v", items)
	}
	if got := numbers(t, value(t, r, "boxes").Sample); !slices.Equal(got[:4], []float64{.375, .75, .25, .5}) {
		t.Errorf("boxes: %v", got)
	}
	if got := value(t, r, "masks").Sample.Shape.String(); got != "(4, 8, 3)" {
		t.Errorf("masks: %s", got)
	}
}

func TestYOLOPose(t *testing.T) {
	for axes, line := range map[int]string{3: "0 .5 .5 .5 .5 .25 .5 2 .75 .5 1", 2: "0 .5 .5 .5 .5 .25 .5 0 0"} {
		files := tree{"data.yaml": fmt.Sprintf("names: [p]\nkpt_shape: [2, %d]", axes), "images/a.jpg": "", "labels/a.txt": line + "\n" + line + " 0.75\n0 .5 .5 .5 .5\n"}
		r := read(t, files.open(t, "", nil), Picture{"images/a.jpg", 8, 4})
		want := []float64{2, 2, 2, 2, 2, 2, 6, 6, 2, 2, 1, 1}
		if axes == 2 {
			want = []float64{2, 2, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0}
		}
		points := value(t, r, "keypoints").Sample
		if got := numbers(t, points); points.Shape.String() != "(6, 2)" || !slices.Equal(got, want) {
			t.Errorf("keypoints of %d: %s %v", axes, points.Shape, got)
		}
		if got := numbers(t, value(t, r, "scores").Sample); !slices.Equal(got, []float64{1, .75}) {
			t.Errorf("scores: %v", got)
		}
		if len(r.Faults) != 1 || r.Faults[0] != fmt.Sprintf("line 3 has 4 numbers behind its class, want %d: a box, and 2 keypoints of %d", 4+2*axes, axes) {
			t.Errorf("faults: %q", r.Faults)
		}
	}
}

func TestYOLOFaults(t *testing.T) {
	for line, want := range map[string]string{
		"x 0 0 0 0":             `begins with "x", want the number of a class`,
		"-1 0 0 0 0":            `begins with "-1", want the number of a class`,
		"0.5 0 0 0 0":           `begins with "0.5", want the number of a class`,
		"2 0 0 0 0":             "has class 2, and there are names of 2",
		"0 0 0 0":               "has 3 numbers behind its class, want 4 of a box, or an even number of an outline",
		"0 0 0 0 0 0 0 0":       "has 7 numbers behind its class, want 4 of a box, or an even number of an outline",
		"0 0 0 0 nan":           `has "nan", want a number`,
		"0 0 0 0 1,5":           `has "1,5", want a number`,
		"0 0 0 0 2":             "has the coordinate 2, want a share of the picture, 0 to 1",
		"0 100 100 50 50":       "has the coordinate 100, want a share of the picture, 0 to 1",
		"0 .1 .1 .2 .1 .2 .2":   "is an outline, and the first 64 files with labels have boxes alone",
		"0 .1 .1 .2 .1 .2 1e99": "has the coordinate 1e99, want a share of the picture, 0 to 1",
	} {
		files := tree{"data.yaml": "names: [cat, dog]", "images/a.jpg": "", "labels/a.txt": "1 .5 .5 .5 .5\n"}
		set := files.open(t, "", nil)
		files["labels/a.txt"] = "1 .5 .5 .5 .5\n" + line
		r := read(t, set, Picture{"images/a.jpg", 8, 8})
		if len(r.Faults) != 1 || r.Faults[0] != "line 2 "+want || r.Objects != 1 {
			t.Errorf("%s: %q, want %q", line, r.Faults, want)
		}
	}
	for name, c := range map[string]struct {
		files tree
		file  string
	}{
		"nothing":        {tree{"a.jpg": ""}, ""},
		"no names":       {tree{"images/a.jpg": "", "labels/a.txt": "0 0 0 0 0", "x.yaml": "nc: 2"}, "x.yaml"},
		"no YAML":        {tree{"images/a.jpg": "", "labels/a.txt": "0 0 0 0 0", "x.yaml": "a: [b"}, "x.yaml"},
		"names of names": {tree{"images/a.jpg": "", "labels/a.txt": "0 0 0 0 0", "x.yaml": "names: [[a]]"}, ""},
		"a class below":  {tree{"images/a.jpg": "", "labels/a.txt": "0 0 0 0 0", "x.yaml": "names: {-1: a}"}, ""},
		"a class beyond": {tree{"images/a.jpg": "", "labels/a.txt": "0 0 0 0 0", "x.yaml": "names: {99999999: a}"}, ""},
		"keypoints":      {tree{"images/a.jpg": "", "labels/a.txt": "0 0 0 0 0", "x.yaml": "names: [a]\nkpt_shape: [3, 4]"}, ""},
		"no text":        {tree{"images/a.jpg": "", "labels/a.txt": "0 0 0 0 0", "classes.txt": "\xff"}, ""},
		"a large file":   {tree{"images/a.jpg": "", "labels/a.txt": "0 0 0 0 0", "x.yaml": strings.Repeat("#", maxSettings+1)}, ""},
	} {
		p := c.files.place()
		p.File = c.file
		if _, _, err := Open(context.Background(), "yolo", p); !errs.Is(err, errs.Invalid) && !errs.Is(err, errs.NotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The first files are of backgrounds.
	blank := tree{"data.yaml": "names: [cat]", "images/a.jpg": "", "labels/a.txt": "\n"}
	set := blank.open(t, "", nil)
	blank["labels/a.txt"] = "0 .1 .1 .2 .1 .2 .2"
	if r := read(t, set, Picture{"images/a.jpg", 10, 10}); r.Objects != 1 || r.Faults != nil {
		t.Errorf("behind backgrounds: %+v", r)
	}
	// Texts beside pictures that are no labels make no set.
	for _, files := range []tree{
		{"a.jpg": "", "a.txt": "a caption"}, {"a.jpg": "", "a.txt": "0 0.5 0.5 0.5 0.5"}, {"images/a.jpg": "", "labels/a.txt": "5 of 7"}, {"images/a.jpg": "", "labels/a.txt": ""}, {"images/a.jpg": "", "notes.txt": "1 2 3 4 5", "d.yaml": "names: [a]"},
	} {
		if set, name, err := Open(context.Background(), "", files.place()); set != nil || err != nil {
			t.Errorf("%v: %s, %v", files, name, err)
		}
	}
}

// FuzzYOLO reads forged labels and settings. A row has as many boxes as labels.
func FuzzYOLO(f *testing.F) {
	f.Add("names: [cat, dog]", "1 .5 .5 .5 .5\n0 .1 .1 .2 .1 .2 .2")
	f.Add("names: {0: p}\nkpt_shape: [1, 3]", "0 .5 .5 .5 .5 .1 .1 2")
	f.Add("a: &a [x, x]\nnames: [*a]", "")
	f.Fuzz(func(t *testing.T, settings, labels string) {
		files := tree{"d.yaml": settings, "images/a.jpg": "", "labels/a.txt": labels}
		p := files.place()
		p.Masks = true
		set, _, err := Open(context.Background(), "yolo", p)
		if err != nil {
			return
		}
		r, err := set.Read(context.Background(), Picture{"images/a.jpg", 9, 7})
		if err != nil {
			return
		}
		boxes, n := value(t, r, "boxes").Sample, int64(len(value(t, r, "labels").Names))
		if labels := value(t, r, "labels"); labels.Names == nil {
			n = labels.Sample.Shape[0]
		}
		if boxes.Shape[0] != n || r.Objects != n {
			t.Fatalf("%s boxes of %d labels", boxes.Shape, n)
		}
		for _, v := range numbers(t, boxes) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("a box has %v", v)
			}
		}
	})
}
