package annotations

import (
	"context"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
)

// TestRecognized opens places without a name of a layout. Texts of other kinds make none.
func TestRecognized(t *testing.T) {
	const box, words = "0 .5 .5 .5 .5\n", "a b c d e f g h i j k l m n o"
	for name, c := range map[string]struct {
		files tree
		want  string
	}{
		"a README of 15 words":        {tree{"cats/a.jpg": "", "README.txt": words}, ""},
		"YOLO and a README":           {tree{"README.txt": words, "images/a.jpg": "", "labels/a.txt": box}, "yolo"},
		"an outline of 14 numbers":    {tree{"obj.names": "cat", "a.jpg": "", "a.txt": "0" + strings.Repeat(" .1 .2", 7)}, "yolo"},
		"a byte order mark":           {tree{"images/a.jpg": "", "labels/a.txt": "\ufeff" + box}, "yolo"},
		"a class with a decimal":      {tree{"images/a.jpg": "", "labels/a.txt": "0.0 .5 .5 .5 .5"}, "yolo"},
		"captions and a large YAML":   {tree{"a.jpg": "", "a.txt": "a caption", "x.yaml": strings.Repeat("#", maxSettings+1)}, ""},
		"captions and names of YAML":  {tree{"a.jpg": "", "a.txt": "a caption", "x.yaml": "names: {x: y}"}, ""},
		"a large text":                {tree{"a.jpg": "", "a.txt": strings.Repeat("x", maxFile+1)}, ""},
		"KITTI":                       {tree{"image_2/a.png": "", "label_2/a.txt": kittiLine}, "kitti"},
		"KITTI after an empty line":   {tree{"image_2/a.png": "", "label_2/a.txt": "\n" + kittiLine}, "kitti"},
		"KITTI with folders of video": {tree{"image_02/a.png": "", "label_02/a.txt": kittiLine}, "kitti"},
	} {
		set, got, err := Open(context.Background(), "", c.files.place())
		if err != nil || got != c.want || (set != nil) != (c.want != "") {
			t.Errorf("%s: %q, want %q: %v", name, got, c.want, err)
		}
	}
}

// TestForgedNumbers reads numbers that no float32 or int64 has. Each costs its line.
func TestForgedNumbers(t *testing.T) {
	const pose = "names: [p]\nkpt_shape: [1, 3]"
	for _, c := range []struct{ settings, line, want string }{
		{pose, "0 .5 .5 .5 .5 9 .5 2", "line 1 has the coordinate 9, want a share of the picture, 0 to 1"},
		{pose, "0 .5 .5 .5 .5 .5 1e300 2", "line 1 has the coordinate 1e300, want a share of the picture, 0 to 1"},
		{pose, "0 .5 .5 .5 .5 .5 .5 1e300", `line 1 has "1e300", want a number of float32`},
		{pose, "0 .5 .5 .5 .5 .5 .5 2 .9", ""},
		{"names: [p]", "0 .5 .5 .5 .5 1e300", `line 1 has "1e300", want a number of float32`},
	} {
		files := tree{"d.yaml": c.settings, "images/a.jpg": "", "labels/a.txt": c.line}
		r := read(t, files.open(t, "yolo", nil), Picture{"images/a.jpg", 8, 4})
		if strings.Join(r.Faults, "") != c.want {
			t.Errorf("%s: %q, want %q", c.line, r.Faults, c.want)
		}
	}
	files := tree{"image_2/a.png": "", "label_2/a.txt": "\ufeff" + kittiLine + "\nCar 0 1e30 0 1 2 3 4 1 1 1 1 1 1 1"}
	r := read(t, files.open(t, "kitti", nil), Picture{"image_2/a.png", 8, 4})
	if got := value(t, r, "labels").Names; !slices.Equal(got, []string{"Car"}) || !slices.Equal(r.Faults, []string{`line 2 has "1e30" in field 3, want an integer`}) {
		t.Errorf("kitti: %q, %q", got, r.Faults)
	}
}

// TestLargeLabels reads one picture of a set whose other one has a label file that is too large.
func TestLargeLabels(t *testing.T) {
	files := tree{"images/a.jpg": "", "images/b.jpg": "", "labels/a.txt": "x\n0 .1 .1 .2 .1 .2 .2", "labels/b.txt": strings.Repeat("0 .5 .5 .5 .5\n", maxFile/14+2)}
	set := files.open(t, "", nil)
	if r := read(t, set, Picture{"images/a.jpg", 8, 4}); r.Objects != 1 || len(r.Faults) != 1 || len(value(t, r, "polygons").Items) != 1 {
		t.Errorf("an outline after a bad line: %+v", r)
	}
	if _, err := set.Read(context.Background(), Picture{"images/b.jpg", 8, 4}); !errs.Is(err, errs.Invalid) {
		t.Errorf("a large file: %v", err)
	}
}
