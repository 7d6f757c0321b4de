package annotations

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
)

// task returns a task of Label Studio with results.
func task(id int, image string, results ...string) string {
	return fmt.Sprintf(`{"id": %d, "data": {"n": 1, "image": %q}, "annotations": [{"was_cancelled": true, "result": [{}]}, {"id": 1, "was_cancelled": false, "result": [%s]}, {"result": [5]}]}`,
		id, image, strings.Join(results, ","))
}

const (
	studioBox     = `{"id": "x", "type": "rectanglelabels", "original_width": 200, "original_height": 100, "value": {"x": 10, "y": 20, "width": 30, "height": 40.5, "rotation": 0, "rectanglelabels": ["cat"]}}`
	studioTurned  = `{"type": "rectanglelabels", "original_width": 200, "original_height": 100, "value": {"x": 50, "y": 20, "width": 10, "height": 40, "rotation": 90, "rectanglelabels": ["cat", "dog"]}}`
	studioPolygon = `{"type": "polygonlabels", "original_width": null, "value": {"points": [[10, 20], [30, 20], [30, 60.5]], "closed": true, "polygonlabels": ["dog"]}}`
	studioPoint   = `{"type": "keypointlabels", "original_width": 200, "original_height": 100, "value": {"x": 1.5, "y": 3, "width": 0.5, "keypointlabels": ["eye"]}}`
	studioChoices = `{"type": "choices", "value": {"choices": ["sunny", "warm"]}}`
	studioBrush   = `{"type": "brushlabels", "value": {"format": "rle", "rle": [0, 1], "brushlabels": ["cat"]}}`
)

func TestLabelStudio(t *testing.T) {
	files := tree{
		"a.jpg": "", "b.jpg": "", "x.json": "\ufeff [" + task(7, "/data/upload/1/ab12cd34-a.jpg", studioBox, studioTurned, studioPolygon, studioPoint, studioChoices, `{"type": "relation"}`) + "," +
			task(8, "s3://bucket/c/b.jpg?sign=1") + `, {"id": 9, "data": {"photo": "/data/local-files/?d=d%20e/gone.jpg&x=1"}, "completions": []}]`,
	}
	set := files.open(t, "", func(p *Place) { p.Masks = true })
	names := []string{}
	for _, spec := range set.Tensors() {
		names = append(names, spec.Name)
	}
	if !slices.Equal(names, []string{"boxes", "labels", "polygons", "masks", "points", "point_labels", "choices", "task_id"}) {
		t.Errorf("tensors: %q", names)
	}
	r := read(t, set, Picture{"a.jpg", 400, 200})
	for name, want := range map[string][]float64{
		"boxes": {20, 20, 80, 60.5, 60, 20, 100, 40, 60, 20, 100, 40, 40, 40, 120, 121}, "task_id": {7},
	} {
		if got := numbers(t, value(t, r, name).Sample); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for name, want := range map[string][]string{"labels": {"cat", "cat", "dog", "dog"}, "point_labels": {"eye"}, "choices": {"sunny", "warm"}} {
		if got := value(t, r, name).Names; !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := string(value(t, r, "points").Sample.Data); got != "[[[3,3]]]" || r.Objects != 7 {
		t.Errorf("points: %s, %d objects", got, r.Objects)
	}
	items := value(t, r, "polygons").Items
	if got := numbers(t, items[1]); !slices.Equal(got, []float64{100, 20, 100, 40, 60, 40, 60, 20}) || items[0].Shape.String() != "(0, 2)" {
		t.Errorf("a turned box: %v", got)
	}
	if got := numbers(t, items[3]); !slices.Equal(got, []float64{40, 40, 120, 40, 120, 121}) {
		t.Errorf("an outline: %v", got)
	}
	if r := read(t, set, Picture{"b.jpg", 8, 4}); r.Objects != 0 || numbers(t, value(t, r, "task_id").Sample)[0] != 8 {
		t.Errorf("a picture without results: %+v", r)
	}
	lost := []string{}
	set.Lost("", func(key string) { lost = append(lost, key) })
	if !slices.Equal(lost, []string{"d e/gone.jpg"}) || !set.Uses("x.json") {
		t.Errorf("lost %q", lost)
	}
	if first, all := set.Faults(); all != 0 {
		t.Errorf("faults: %q", first)
	}
}

func TestLabelStudioPictures(t *testing.T) {
	for key, want := range map[string]int64{
		"a/x.jpg": 1, "b/x.jpg": 2, "s/b/x.jpg": 2, "data/upload/3/0123abcd-y.jpg": 3, "0123abcd-y.jpg": 3, "y.jpg": 3,
		"x.jpg": 0, "c/x.jpg": 0, "z.jpg": 0, "12345678-.jpg": 0, "local/v w.png": 5, "q.jpg": 6,
	} {
		set := tree{"x.json": "[" + strings.Join([]string{
			task(1, "https://host/a/x.jpg?token=5"), task(2, "gs://bucket/b/x.jpg"), task(3, "/data/upload/3/0123abcd-y.jpg"), task(4, "/data/upload/3/0123abcg-z.jpg"),
			task(5, "/data/local-files/?d=mnt/local/v%20w.png"), task(6, `c:\pictures\q.jpg`),
		}, ",") + "]"}.open(t, "labelstudio", nil)
		if !set.Has(key) {
			if want != 0 {
				t.Errorf("%s: none, want task %d", key, want)
			}
			continue
		}
		if got := numbers(t, value(t, read(t, set, Picture{key, 8, 8}), "task_id").Sample); int64(got[0]) != want {
			t.Errorf("%s: task %v, want %d", key, got, want)
		}
	}
}

func TestLabelStudioFaults(t *testing.T) {
	const of = "result 1 of task 0 "
	for result, want := range map[string]string{
		`5`:                                of + "is no object",
		`{"type": 5}`:                      of + `has a number for "type", want a text`,
		`{"value": {}}`:                    of + `is of type "", want rectanglelabels, polygonlabels, keypointlabels or choices`,
		`{"type": "ellipselabels"}`:        of + `is of type "ellipselabels", want rectanglelabels, polygonlabels, keypointlabels or choices`,
		`{"type": "choices"}`:              of + "has no value",
		`{"type": "choices", "value": {}}`: of + "has no label",
		`{"type": "choices", "value": {"choices": "x"}}`:                                                                           of + `has a text for "choices", want a list`,
		`{"type": "choices", "value": {"choices": [""]}}`:                                                                          of + `has the label "", want a name in UTF-8`,
		"{\"type\": \"choices\", \"value\": {\"choices\": [\"\xff\"]}}":                                                            of + `has the label "\xff", want a name in UTF-8`,
		`{"type": "rectanglelabels", "value": {"x": 1, "y": 1, "width": 1, "rectanglelabels": ["x"]}}`:                             of + "has no height",
		`{"type": "rectanglelabels", "value": {"x": "1"}}`:                                                                         of + `has a text in "x", want a number`,
		`{"type": "rectanglelabels", "value": {"x": 1e400}}`:                                                                       of + `has 1e400 in "x", want a finite number`,
		`{"type": "rectanglelabels", "value": {"x": 2e9}}`:                                                                         of + `has 2e+09 for x, want a coordinate`,
		`{"type": "rectanglelabels", "original_width": 0.5}`:                                                                       of + `has 0.5 for original_width, want the pixels of a side`,
		`{"type": "rectanglelabels", "value": {"x": 1, "y": 1, "width": 1, "height": 1, "rotation": 5, "rectanglelabels": ["x"]}}`: of + "is turned, and has no original_width and original_height",
		`{"type": "keypointlabels", "value": {"x": 1, "keypointlabels": ["x"]}}`:                                                   of + "has no y",
		`{"type": "polygonlabels", "value": {"points": [], "polygonlabels": ["x"]}}`:                                               of + "has no points",
		`{"type": "polygonlabels", "value": {"points": [[1, 2], [3]], "polygonlabels": ["x"]}}`:                                    of + "has a point of 1 numbers, want x and y",
		studioBrush + "," + studioBrush:                                                                                            of + "is the mask of a brush, and those of this file are left out; export them as masks",
	} {
		set := tree{"a.jpg": "", "x.json": "[" + task(1, "a.jpg", studioChoices, result) + "]"}.open(t, "labelstudio", nil)
		first, all := set.Faults()
		if all != 1 || first[0] != (Fault{"x.json", want}) {
			t.Errorf("%s: %q, want %q", result, first, want)
		}
		if r := read(t, set, Picture{"a.jpg", 8, 8}); r.Objects != 2 {
			t.Errorf("%s: %d objects", result, r.Objects)
		}
	}
	for task, want := range map[string]string{
		`5`:                            "task 1 is no object",
		`{"id": "x"}`:                  `task 1 has "x" for its id, want an integer`,
		`{"id": 1.5}`:                  `task 1 has 1.5 for its id, want an integer`,
		`{"data": 5}`:                  "task 1 is no object",
		`{"data": {"text": "x"}}`:      "task 1 has no picture in its data",
		`{"data": {"image": ".."}}`:    `task 1 has ".." for a name, want the name of a picture`,
		`{"data": {"image": "a.jpg"}}`: `task 1 has the picture "a.jpg", as one before`,
		`{"data": {"image": "b.jpg"}, "annotations": {}}`:                                                                                      `task 1 has an object for "annotations", want a list`,
		`{"data": {"image": "b.jpg"}, "annotations": [{"result": {}}]}`:                                                                        `task 1 has an object for "result", want a list`,
		`{"data": {"image": "b.jpg"}, "annotations": [{"result": [` + strings.Repeat(studioChoices+",", maxObjects/2) + studioChoices + "]}]}": "task 1 has more than 100000 shapes",
	} {
		set := tree{"a.jpg": "", "x.json": "[" + taskOfA + "," + task + "]"}.open(t, "labelstudio", nil)
		if first, all := set.Faults(); all != 1 || first[0] != (Fault{"x.json", want}) {
			t.Errorf("%.100s: %q, want %q", task, first, want)
		}
	}
}

const taskOfA = `{"data": {"image": "a.jpg"}, "annotations": []}`

func TestLabelStudioErrors(t *testing.T) {
	const small = `[{"image": "/data/upload/a.jpg", "id": 1, "label": [{"x": 1, "rectanglelabels": ["x"], "original_width": 8}], "annotator": 1, "annotation_id": 1}]`
	for name, c := range map[string]struct {
		text, format, file string
		want               errs.Kind
	}{
		"JSON-MIN":       {small, "labelstudio", "", errs.Unsupported},
		"JSON-MIN found": {small, "", "", errs.Unsupported},
		"cut":            {"[" + taskOfA, "labelstudio", "", errs.Corrupt},
		"two":            {"[" + taskOfA + "] 5", "labelstudio", "", errs.Corrupt},
		"another":        {`[{"a": 1}]`, "labelstudio", "", errs.NotFound},
		"one asked":      {`{"data": 1, "annotations": 2}`, "labelstudio", "x.json", errs.Invalid},
		"a name":         {"[]", "labelstudio", "y.json", errs.NotFound},
	} {
		p := tree{"a.jpg": "", "x.json": c.text}.place()
		p.File = c.file
		if _, _, err := Open(context.Background(), c.format, p); !errs.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := Open(ctx, "labelstudio", tree{"x.json": "[" + taskOfA + "]"}.place()); !errs.Is(err, errs.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// FuzzLabelStudio reads forged files. A row has as many boxes as labels, outlines and masks.
func FuzzLabelStudio(f *testing.F) {
	f.Add([]byte("[" + task(1, "a.jpg", studioBox, studioTurned, studioPolygon, studioPoint, studioChoices, studioBrush) + "]"))
	f.Add([]byte(`[{"id": 2, "data": {"photo": "/data/local-files/?d=x/a.jpg"}, "completions": [{"result": []}]}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := tree{"a.jpg": "", "x.json": string(data)}.place()
		p.Masks = true
		set, _, err := Open(context.Background(), "labelstudio", p)
		if err != nil {
			return
		}
		checkDrawn(t, set, Picture{"x/a.jpg", 9, 7})
		set.Lost("", func(string) {})
	})
}
