package annotations

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
)

const instances = `{"info": {}, "images": [{"id": 5, "file_name": "a.jpg", "width": 8, "height": 6}, {"file_name": "b.jpg", "id": 9}],
"annotations": [
 {"id": 1, "image_id": 5, "category_id": 7, "bbox": [1, 2, 3.5, 2], "area": 7.125, "iscrowd": 0, "segmentation": [[1, 2, 4.5, 2, 4.5, 4], [0, 0, 1, 0, 1, 1]]},
 {"id": 3, "image_id": 5, "category_id": 2, "bbox": [0, 0, 2, 2], "area": 4, "iscrowd": 1, "segmentation": {"size": [6, 8], "counts": [0, 2, 4, 2, 40]}},
 {"id": 2, "image_id": 5, "category_id": 7, "area": null, "segmentation": [[2, 1, 6, 1, 6, 5]]}],
"categories": [{"id": 7, "name": "dog"}, {"id": 2, "name": "cat", "supercategory": "animal"}]}`

func TestCOCO(t *testing.T) {
	set := tree{"annotations/instances_val2017.json": instances, "val2017/a.jpg": "", "val2017/b.jpg": "", "other/a.jpg": ""}.open(t, "", nil)
	if set.Has("other/a.jpg") || set.Has("val2017/c.jpg") || !set.Uses("annotations/instances_val2017.json") || set.Uses("val2017/a.jpg") {
		t.Error("other files belong to the set")
	}
	lost := func(after string) (keys []string) {
		set.Lost(after, func(key string) { keys = append(keys, key) })
		return keys
	}
	if got := lost(""); !slices.Equal(got, []string{"a.jpg", "b.jpg"}) {
		t.Errorf("lost before a look: %q", got)
	}
	r := read(t, set, Picture{"val2017/a.jpg", 8, 6})
	if got := lost(""); !slices.Equal(got, []string{"b.jpg"}) || lost("b.jpg") != nil {
		t.Errorf("lost: %q", got)
	}
	if got := value(t, r, "labels").Names; !slices.Equal(got, []string{"dog", "cat", "dog"}) {
		t.Errorf("labels: %q", got)
	}
	for name, want := range map[string][]float64{
		"boxes": {1, 2, 3.5, 2, 0, 0, 2, 2, 2, 1, 4, 4}, "areas": {7.125, 4, math.NaN()}, "crowds": {0, 1, 0}, "object_ids": {1, 3, 2}, "image_id": {5},
	} {
		if got := numbers(t, value(t, r, name).Sample); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	outlines := value(t, r, "polygons").Items
	if got := numbers(t, outlines[0]); len(outlines) != 3 || !slices.Equal(got[:6], []float64{1, 2, 4.5, 2, 4.5, 4}) || !math.IsNaN(got[6]) || len(got) != 14 {
		t.Errorf("polygons: %v", got)
	}
	if got := string(value(t, r, "rle").Sample.Data); got != `[null,{"counts":"0240T1","size":[6,8]},null]` {
		t.Errorf("rle: %s", got)
	}
	if empty := read(t, set, Picture{"val2017/b.jpg", 8, 6}); empty.Objects != 0 || value(t, empty, "boxes").Sample.Shape.String() != "(0, 4)" {
		t.Errorf("a picture without objects: %+v", empty)
	}
	if r.Hash() == read(t, set, Picture{"val2017/b.jpg", 8, 6}).Hash() {
		t.Error("other annotations have the same hash")
	}
	specs := set.Tensors()
	if got := specs[1].ClassNames; !slices.Equal(got, []string{"cat", "dog"}) || fmt.Sprint(specs[1].Info["category_ids"]) != "[2 7]" {
		t.Errorf("classes: %v", specs[1])
	}
}

// TestCOCOJoin has objects, keypoints and captions of one picture in three files.
func TestCOCOJoin(t *testing.T) {
	files := tree{
		"train/a.jpg": "", "annotations/instances_train.json": strings.ReplaceAll(instances, `"a.jpg"`, `"http://images.org/train/a.jpg"`),
		"annotations/person_keypoints_train.json": `{"images": [{"id": 5, "file_name": "a.jpg"}], "categories": [{"id": 2, "name": "cat", "keypoints": ["eye", "nose"], "skeleton": [[1, 2]]}],
			"annotations": [{"id": 3, "image_id": 5, "category_id": 2, "bbox": [0, 0, 2, 2], "keypoints": [1, 2, 2, 0, 0, 0], "num_keypoints": 1}, {"id": 77, "image_id": 5, "category_id": 2, "keypoints": [3, 4, 1, 5, 6, 2]}]}`,
		"annotations/captions_train.json": `{"annotations": [{"image_id": 5, "id": 8, "caption": "caf\u00e9"}, {"image_id": 5, "id": 9, "caption": ""}], "images": [{"id": 5, "file_name": "a.jpg"}]}`,
	}
	set := files.open(t, "coco", func(p *Place) { p.Masks = true })
	r := read(t, set, Picture{"train/a.jpg", 8, 6})
	if got := numbers(t, value(t, r, "object_ids").Sample); !slices.Equal(got, []float64{1, 3, 2, 77}) {
		t.Errorf("objects: %v", got)
	}
	points := value(t, r, "keypoints").Sample
	if got := numbers(t, points); points.Shape.String() != "(6, 4)" || !slices.Equal(got, []float64{0, 1, 0, 3, 0, 2, 0, 4, 0, 2, 0, 1, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 2}) {
		t.Errorf("keypoints %s: %v", points.Shape, got)
	}
	if items := value(t, r, "captions").Items; len(items) != 2 || string(items[0].Data) != "café" || r.Objects != 6 {
		t.Errorf("captions: %v of %d objects", items, r.Objects)
	}
	mask := value(t, r, "masks").Sample
	if got := numbers(t, mask); mask.Shape.String() != "(6, 8, 4)" || got[1] != 1 || got[4*8*2+1] != 0 || got[4*(2*8+3)] != 1 || got[4*(3*8+5)+2] != 1 || got[3] != 0 {
		t.Errorf("masks: %v", mask.Shape)
	}
}

func TestPanoptic(t *testing.T) {
	m := image.NewNRGBA(image.Rect(0, 0, 2, 1))
	m.Set(0, 0, color.NRGBA{3, 1, 2, 255})
	m.Set(1, 0, color.NRGBA{9, 0, 0, 255})
	var file bytes.Buffer
	if err := png.Encode(&file, m); err != nil {
		t.Fatal(err)
	}
	files := tree{
		"val/a.jpg": "", "annotations/panoptic_val/a.png": file.String(),
		"annotations/panoptic_val.json": `{"images": [{"id": 1, "file_name": "a.jpg"}], "categories": [{"id": 4, "name": "sky", "isthing": 0}],
			"annotations": [{"image_id": 1, "file_name": "../../a.png", "segments_info": [{"id": 131331, "category_id": 4, "area": 1, "bbox": [0, 0, 1, 1], "iscrowd": 0}]}]}`,
	}
	set := files.open(t, "", nil)
	if !set.Uses("annotations/panoptic_val/a.png") || set.Uses("val/a.jpg") {
		t.Error("the masks are pictures")
	}
	r := read(t, set, Picture{"val/a.jpg", 2, 1})
	segments := value(t, r, "panoptic/segments").Sample
	if segments.Shape.String() != "(1, 2)" || !bytes.Equal(segments.Data, []byte{3, 1, 2, 0, 9, 0, 0, 0}) {
		t.Errorf("segments: %v", segments)
	}
	if got := numbers(t, value(t, r, "panoptic/ids").Sample); !slices.Equal(got, []float64{131331}) || value(t, r, "panoptic/labels").Names[0] != "sky" {
		t.Errorf("ids: %v", got)
	}
	for name, change := range map[string]func(){
		"another size": func() {},
		"no file":      func() { delete(files, "annotations/panoptic_val/a.png") },
		"no PNG":       func() { files["annotations/panoptic_val/a.png"] = "GIF" },
	} {
		change()
		width := int64(2)
		if name == "another size" {
			width = 3
		}
		if _, err := set.Read(context.Background(), Picture{"val/a.jpg", width, 1}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestCOCOFaults has objects that cost themselves. Each document has one good object beside.
func TestCOCOFaults(t *testing.T) {
	const good = `{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}`
	for _, c := range []struct{ images, object, want string }{
		{"", `5`, "annotations 1 is no object"},
		{"", `{"id": 2, "category_id": 1}`, "annotations 1 has no image_id"},
		{"", `{"id": 2, "image_id": 1}`, "annotations 1 has no category_id"},
		{"", `{"id": 2, "image_id": 1, "category_id": 1, "bbox": []}`, "annotations 1 has no bbox, segmentation or keypoints"},
		{"", `{"id": 2, "image_id": 8, "category_id": 1, "bbox": [1, 2, 3, 4]}`, "object 2 is of image 8, which is none of its images"},
		{"", `{"id": 2, "image_id": 1, "category_id": 3, "bbox": [1, 2, 3, 4]}`, "object 2 is of category 3, which is none of its categories"},
		{"", `{"id": [], "image_id": 1, "category_id": 1}`, "annotations 1 has a list for an id, want a number"},
		{"", `{"id": 1.5, "image_id": 1, "category_id": 1}`, "annotations 1 has the id 1.5, want an integer"},
		{"", `{"id": 2, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3]}`, "annotations 1 has 3 numbers in its bbox, want 4: left, top, width, height"},
		{"", `{"id": 2, "image_id": 1, "category_id": 1, "bbox": {"x": 1}}`, `annotations 1 has an object for "bbox", want a list`},
		{"", `{"id": 2, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, "4"]}`, `annotations 1 has a text in "bbox", want a number`},
		{"", `{"id": 2, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 1e300]}`, `annotations 1 has 1e300 in "bbox", want a finite number`},
		{"", `{"id": 2, "image_id": 1, "category_id": 1, "segmentation": [[1, 2, 3]]}`, "annotations 1 has an outline of 3 numbers, want x and y of each point"},
		{"", `{"id": 2, "image_id": 1, "category_id": 1, "segmentation": [1, 2, 3, 4]}`, `annotations 1 has a number for "segmentation", want a list`},
		{"", `{"id": 2, "image_id": 1, "category_id": 1, "segmentation": {"size": [2, 2], "counts": [1, 2]}}`, "annotations 1 has no mask: the runs of its mask have 3 pixels, want 2 x 2"},
		{"", `{"id": 2, "image_id": 1, "category_id": 1, "segmentation": {"size": [2, 2], "counts": [1, 2, 3, 4]}}`, "annotations 1 has no mask: run 2 of its mask has 3 pixels, and the mask 2 x 2"},
		{"", `{"id": 2, "image_id": 1, "category_id": 1, "segmentation": {"size": [2, 2], "counts": "\u00ff"}}`, "annotations 1 has no mask: the runs of its mask have byte 'Ã'"},
		{"", `{"id": 2, "image_id": 1, "category_id": 1, "segmentation": {"size": [2, 2], "counts": "oooo"}}`, "annotations 1 has no mask: the runs of its mask are cut"},
		{"", `{"id": 2, "image_id": 1, "category_id": 1, "segmentation": {"size": [2], "counts": []}}`, "annotations 1 has a mask of size [2], want height and width"},
		{"", `{"id": 2, "image_id": 1, "category_id": 1, "segmentation": {"size": [99999999, 99999999], "counts": [1]}}`, "annotations 1 has a mask of size [99999999, 99999999], want height and width"},
		{"", `{"id": 2, "image_id": 1, "category_id": 1, "keypoints": [1, 2]}`, "annotations 1 has 2 numbers in its keypoints, want x, y and visibility of each"},
		{"", `{"id": 2, "image_id": 1, "category_id": 1, "caption": "x"}`, "annotations 1 is a caption among objects, or an object among captions"},
		{`, {"id": 1, "file_name": "b.jpg"}`, good, "images 1 has the id 1, as an image before"},
		{`, {"id": 2}`, good, "images 1 has no file_name"},
		{`, {"file_name": "b.jpg"}`, good, "images 1 has no id"},
		{`, {"id": 3, "file_name": 5}`, good, `images 1 has a number for "file_name", want a text`},
	} {
		files := tree{"a.jpg": "", "x.json": fmt.Sprintf(`{"images": [{"id": 1, "file_name": "a.jpg"}%s], "annotations": [%s, %s], "categories": [{"id": 1, "name": "c"}]}`, c.images, good, c.object)}
		set := files.open(t, "coco", nil)
		first, all := set.Faults()
		if all != 1 || len(first) != 1 || first[0] != (Fault{"x.json", c.want}) {
			t.Errorf("%s%s: %q, want %q", c.images, c.object, first, c.want)
		}
		n := int64(1)
		if c.images != "" {
			n = 2
		}
		if r := read(t, set, Picture{"a.jpg", 4, 4}); r.Objects != n {
			t.Errorf("%s%s: %d objects, want %d", c.images, c.object, r.Objects, n)
		}
	}
}

// document makes a file of COCO with images by id, and one object of a category in each.
func document(classes string, objects ...string) string {
	images := []string{}
	for i := range objects {
		images = append(images, fmt.Sprintf(`{"id": %d, "file_name": "%d.jpg", "width": 64, "height": 48}`, i+1, i+1))
	}
	return fmt.Sprintf(`{"images": [%s], "annotations": [%s], "categories": [%s]}`, strings.Join(images, ","), strings.Join(objects, ","), classes)
}

func object(id, image, category int) string {
	return fmt.Sprintf(`{"id": %d, "image_id": %d, "category_id": %d, "bbox": [%d, 1, 2, 3]}`, id, image, category, id)
}

// TestCOCOFiles has several files: classes meet by name, and files are about their own images.
func TestCOCOFiles(t *testing.T) {
	const cat, dog = `{"id": 1, "name": "cat"}`, `{"id": 1, "name": "dog"}`
	for name, c := range map[string]struct {
		files tree
		keys  map[string]string // labels
	}{
		"Roboflow": {tree{"train/1.jpg": "", "train/_annotations.coco.json": document(cat, object(1, 1, 1)), "valid/1.jpg": "", "valid/_annotations.coco.json": document(dog, object(1, 1, 1))},
			map[string]string{"train/1.jpg": "cat", "valid/1.jpg": "dog"}},
		"other numbers": {tree{"train/1.jpg": "", "train/x.json": document(cat+`,{"id": 2, "name": "dog"}`, object(1, 1, 2)), "valid/1.jpg": "", "valid/x.json": document(dog+`,{"id": 2, "name": "cat"}`, object(1, 1, 2))},
			map[string]string{"train/1.jpg": "dog", "valid/1.jpg": "cat"}},
		"folders below": {tree{"train/data/1.jpg": "", "train/labels.json": document(cat, object(1, 1, 1)), "val/data/1.jpg": "", "val/labels.json": document(dog, object(1, 1, 1))},
			map[string]string{"train/data/1.jpg": "cat", "val/data/1.jpg": "dog"}},
		"annotations in splits": {tree{"train/images/1.jpg": "", "train/annotations/i.json": document(cat, object(1, 1, 1)), "val/images/1.jpg": "", "val/annotations/i.json": document(dog, object(1, 1, 1))},
			map[string]string{"train/images/1.jpg": "cat", "val/images/1.jpg": "dog"}},
		"words in names": {tree{"images_train/1.jpg": "", "annotations_train.json": document(cat, object(1, 1, 1)), "images_val/1.jpg": "", "annotations_val.json": document(dog, object(1, 1, 1))},
			map[string]string{"images_train/1.jpg": "cat", "images_val/1.jpg": "dog"}},
		"a file elsewhere": {tree{"1.jpg": "", "/x/y/mine.json": document(cat, object(1, 1, 1))}, map[string]string{"1.jpg": "cat"}},
		"another machine":  {tree{"1.jpg": "", "x.json": strings.Replace(document(cat, object(1, 1, 1)), `"1.jpg"`, `"C:\\data\\other\\1.jpg"`, 1)}, map[string]string{"1.jpg": "cat"}},
		"LVIS":             {tree{"v/1.jpg": "", "x.json": strings.Replace(document(cat, object(1, 1, 1)), `"file_name": "`, `"coco_url": "http://images.org/v/`, 1)}, map[string]string{"v/1.jpg": "cat"}},
		"no categories":    {tree{"1.jpg": "", "x.json": document("", object(1, 1, 7))}, map[string]string{"1.jpg": "7"}},
		"NaN":              {tree{"1.jpg": "", "x.json": strings.Replace(document(cat, object(1, 1, 1)), `"bbox"`, `"area": NaN, "bbox"`, 1)}, map[string]string{"1.jpg": "cat"}},
		"twice":            {tree{"1.jpg": "", "x.json": strings.Replace(document(cat, object(1, 1, 1), object(2, 2, 1)), `"2.jpg"`, `"1.jpg"`, 1)}, map[string]string{"1.jpg": "cat cat"}},
	} {
		set := c.files.open(t, "", nil)
		for key, want := range c.keys {
			r := read(t, set, Picture{key, 64, 48})
			if got := strings.Join(value(t, r, "labels").Names, " "); got != want || r.Warning != "" {
				t.Errorf("%s: %s: %q, want %q %s", name, key, got, want, r.Warning)
			}
		}
		set.Lost("", func(key string) { t.Errorf("%s: %s is lost", name, key) })
	}
	// Pictures that cannot be told apart are none of the set, or an error.
	const both = "a.json and b.json"
	for name, c := range map[string]struct {
		files tree
		want  string
	}{
		"one name of two": {tree{"a/1.jpg": "", "b/1.jpg": "", "x.json": document(cat, object(1, 1, 1))}, `x.json names one image "1.jpg", which a/1.jpg is too`},
		"other objects":   {tree{"b/1.jpg": "", "a.json": document(cat, object(1, 1, 1)), "b.json": document(dog, object(1, 1, 1))}, both + " have different objects 1 for it"},
		"other images":    {tree{"b/1.jpg": "", "a.json": document(cat, object(1, 1, 1)), "b.json": strings.ReplaceAll(document(dog, object(1, 1, 1)), `d": 1`, `d": 9`)}, both + " name it, as image 1 and 9"},
	} {
		set := c.files.open(t, "", nil)
		if _, ok := c.files["a/1.jpg"]; ok {
			set.Has("a/1.jpg")
		}
		why := ""
		if set.Has("b/1.jpg") {
			_, err := set.Read(context.Background(), Picture{"b/1.jpg", 64, 48})
			why = fmt.Sprint(err)
		} else {
			why = set.Why("b/1.jpg")
		}
		if !strings.HasPrefix(why, c.want) {
			t.Errorf("%s: %s, want %s", name, why, c.want)
		}
	}
	// A name that fits two pictures counts for the first one alone, in each file by itself.
	apart := tree{"a/1.jpg": "", "b/1.jpg": "", "b/b.json": document(dog, object(2, 1, 1)), "c.json": document(cat, object(1, 1, 1))}.open(t, "", nil)
	for _, key := range []string{"a/1.jpg", "b/1.jpg"} {
		if !apart.Has(key) {
			t.Fatalf("%s is none of the set", key)
		}
	}
	for key, want := range map[string]string{"a/1.jpg": "cat", "b/1.jpg": "dog"} {
		if got := value(t, read(t, apart, Picture{key, 64, 48}), "labels").Names; !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q", key, got)
		}
	}
	// A folder of that very name counts, and not one like it.
	exact := tree{"train/1.jpg": "", "train_more/1.jpg": "", "annotations/i_train.json": document(cat, object(1, 1, 1))}.open(t, "", nil)
	if exact.Has("train_more/1.jpg") || !exact.Has("train/1.jpg") {
		t.Error("a folder with a longer name counts")
	}
	turned := read(t, tree{"1.jpg": "", "x.json": document(cat, object(1, 1, 1))}.open(t, "", nil), Picture{"1.jpg", 48, 64})
	if want := "it has 48 x 64 pixels, and x.json says 64 x 48; apply_exif_orientation turns it as its Exif data says"; turned.Warning != want {
		t.Errorf("warning: %q", turned.Warning)
	}
	words := read(t, tree{"1.jpg": "", "x.json": strings.NewReplacer(`"id": 1, "file`, `"id": "a1", "file`, `"image_id": 1`, `"image_id": "a1"`).Replace(document(cat, object(1, 1, 1)))}.open(t, "", nil), Picture{"1.jpg", 64, 48})
	kinds := tree{"1.jpg": "", "x.json": strings.NewReplacer(`"category_id": 1`, `"category_id": "c"`, `"id": 1, "name"`, `"id": "c", "name"`).Replace(document(cat, object(-5, 1, 1)))}.open(t, "", nil)
	if got := numbers(t, value(t, read(t, kinds, Picture{"1.jpg", 64, 48}), "object_ids").Sample); !slices.Equal(got, []float64{-5}) || kinds.Tensors()[1].Info != nil {
		t.Errorf("ids of classes as texts: objects %v, %v", got, kinds.Tensors()[1].Info)
	}
	if got := string(value(t, words, "image_id").Sample.Data); got != "a1" || string(value(t, words, "object_ids").Items[0].Data) != "1" {
		t.Errorf("an id as text: %q", got)
	}
}

func TestCOCORefused(t *testing.T) {
	for _, c := range []struct {
		files tree
		file  string
		kind  errs.Kind
	}{
		{tree{"a.jpg": ""}, "", errs.NotFound},
		{tree{"a.jpg": "", "x.json": `[1]`}, "x.json", errs.Invalid},
		{tree{"a.jpg": "", "x.json": `{"images": [{"id": 1, "file_name": "a.jpg"}], "annotations": [`}, "", errs.Corrupt},
		{tree{"a.jpg": "", "x.json": `{"images": {}, "annotations": []}`}, "", errs.Invalid},
		{tree{"a.jpg": ""}, "y.json", errs.NotFound},
	} {
		p := c.files.place()
		p.File = c.file
		if _, _, err := Open(context.Background(), "coco", p); !errs.Is(err, c.kind) {
			t.Errorf("%q %q: %v, want %v", c.files, c.file, err, c.kind)
		}
	}
	// A place with other documents has no annotations.
	p := tree{"a.jpg": "", "x.json": `{"name": "x", "annotations": 5}`, "y.json": `[1]`}.place()
	if set, name, err := Open(context.Background(), "", p); set != nil || err != nil {
		t.Errorf("another document: %v, %s, %v", set, name, err)
	}
	if _, _, err := Open(context.Background(), "cocoa", p); !errs.Is(err, errs.Invalid) {
		t.Errorf("another format: %v", err)
	}
}

func TestRuns(t *testing.T) {
	for _, runs := range [][]int64{{6}, {0, 6}, {1, 2, 3}, {0, 1, 1, 1, 1, 1, 1}, {100, 7, 2000, 3, 31, 32, 33, 1 << 20}} {
		total := int64(0)
		for _, n := range runs {
			total += n
		}
		m := &rle{total, 1, encodeRuns(runs)}
		var got []int64
		if err := m.each(func(n int64) { got = append(got, n) }); err != nil || !slices.Equal(got, runs) {
			t.Errorf("%v as %q: %v, %v", runs, m.counts, got, err)
		}
	}
}

// FuzzCOCO opens forged files. Rows of what remains have as many values as objects.
func FuzzCOCO(f *testing.F) {
	f.Add([]byte(instances))
	f.Add([]byte(`{"images": [{"id": 1, "file_name": "a.jpg"}], "annotations": [{"image_id": 1, "caption": "x"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := tree{"val/a.jpg": "", "x_val.json": string(data)}.place()
		p.Masks = true
		set, _, err := Open(context.Background(), "coco", p)
		if err != nil {
			return
		}
		set.Lost("", func(string) {})
		if !set.Has("val/a.jpg") {
			return
		}
		r, err := set.Read(context.Background(), Picture{"val/a.jpg", 8, 6})
		if err != nil {
			return
		}
		for _, v := range r.Values {
			if v.Tensor == "boxes" && v.Sample.Shape[0] != int64(len(value(t, r, "labels").Names)) {
				t.Fatalf("%s of %d labels", v.Sample.Shape, len(value(t, r, "labels").Names))
			}
		}
	})
}
