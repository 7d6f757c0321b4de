package annotations

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
)

// vocFile returns an XML file with objects.
func vocFile(objects ...string) string {
	return `<?xml version="1.0" encoding="utf-8"?><annotation><folder>x</folder><size><width>8</width></size>` + strings.Join(objects, "\n") + "</annotation>"
}

func vocObject(name string, more string) string {
	return fmt.Sprintf("<object><name>%s</name>%s<bndbox><xmin>1</xmin><ymin> 2 </ymin><xmax>3.5</xmax><ymax>4</ymax></bndbox></object>", name, more)
}

func TestVOC(t *testing.T) {
	dog := vocFile(vocObject("dog", "<pose>Left</pose><truncated>1</truncated><difficult>0</difficult><part><name>head</name><bndbox><xmin>9</xmin></bndbox></part>"), vocObject("cat", "<difficult>1</difficult>"))
	files := tree{
		"VOC2012/JPEGImages/a.jpg": "", "VOC2012/JPEGImages/b.jpg": "", "VOC2012/Annotations/a.xml": dog,
		"VOC2012/SegmentationClass/a.png": "the classes", "VOC2012/SegmentationObject/a.png": "the objects",
		"VOC2012/ImageSets/Main/train.txt": "a\n", "VOC2012/ImageSets/Main/val.txt": "b  1\n", "VOC2012/ImageSets/Main/trainval.txt": "a\nb\n", "VOC2012/ImageSets/Main/dog_train.txt": "a -1\n",
	}
	set := files.open(t, "", nil)
	if set.Has("VOC2012/SegmentationClass/a.png") || !set.Uses("VOC2012/ImageSets/Main/dog_train.txt") || !set.Uses("VOC2012/Annotations/a.xml") || set.Uses("VOC2012/JPEGImages/a.jpg") {
		t.Error("other files belong to the set")
	}
	specs := set.Tensors()
	if got := specs[1].ClassNames; len(got) != 20 || !specs[1].AddClasses || specs[0].Info["first_pixel"] != 1 {
		t.Errorf("classes: %v", got)
	}
	r := read(t, set, Picture{"VOC2012/JPEGImages/a.jpg", 8, 8})
	for name, want := range map[string][]float64{"boxes": {1, 2, 3.5, 4, 1, 2, 3.5, 4}, "truncated": {1, 0}, "difficult": {0, 1}} {
		if got := numbers(t, value(t, r, name).Sample); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got := value(t, r, "labels").Names; !slices.Equal(got, []string{"dog", "cat"}) || r.Objects != 2 || r.Faults != nil {
		t.Errorf("labels: %q", got)
	}
	for name, want := range map[string]string{"class_masks": "the classes", "object_masks": "the objects", "split": "train"} {
		if got := string(value(t, r, name).Sample.Data); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if poses := value(t, r, "poses").Items; string(poses[0].Data) != "Left" || len(poses[1].Data) != 0 {
		t.Errorf("poses: %v", poses)
	}
	r = read(t, set, Picture{"VOC2012/JPEGImages/b.jpg", 8, 8})
	if len(r.Values) != 1 || string(value(t, r, "split").Sample.Data) != "val" {
		t.Errorf("a picture without XML: %+v", r)
	}
}

func TestVOCPlaces(t *testing.T) {
	one := vocFile(vocObject("bolt", ""))
	for name, c := range map[string]struct {
		files tree
		key   string
	}{
		"ImageNet": {tree{"Data/CLS-LOC/train/n01440764/a.JPEG": "", "Annotations/CLS-LOC/train/n01440764/a.xml": vocFile(vocObject("n01440764", ""))}, "Data/CLS-LOC/train/n01440764/a.JPEG"},
		"pets":     {tree{"images/a.jpg": "", "annotations/a.xml": one}, "images/a.jpg"},
		"Oxford":   {tree{"images/a.jpg": "", "annotations/xmls/a.xml": one, "annotations/trimaps/a.png": ""}, "images/a.jpg"},
		"beside":   {tree{"train/a.jpg": "", "train/a.xml": one}, "train/a.jpg"},
		"flat":     {tree{"a.jpg": "", "a.xml": one}, "a.jpg"},
	} {
		set := c.files.open(t, "", nil)
		r := read(t, set, Picture{c.key, 8, 8})
		if r.Objects != 1 || set.Tensors()[1].ClassNames != nil {
			t.Errorf("%s: %+v", name, r)
		}
		if set.Has("annotations/trimaps/a.png") {
			t.Errorf("%s: a trimap is a picture", name)
		}
		if name == "ImageNet" && string(value(t, r, "synset").Sample.Data) != "n01440764" {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestVOCFaults(t *testing.T) {
	for object, want := range map[string]string{
		"<object><bndbox/></object>":                                          "has no name",
		"<object><name>dog</name></object>":                                   "has no bndbox",
		"<object><name>dog</name><bndbox><xmin>1</xmin></bndbox></object>":    `has "" for ymin of its box, want a number`,
		"<object><name>dog</name><bndbox><xmin>nan</xmin></bndbox></object>":  `has "nan" for xmin of its box, want a number`,
		"<object><name>dog</name><bndbox><xmin>1e40</xmin></bndbox></object>": `has "1e40" for xmin of its box, want a number`,
	} {
		files := tree{"a.jpg": "", "a.xml": vocFile(vocObject("dog", ""), object)}
		r := read(t, files.open(t, "voc", nil), Picture{"a.jpg", 8, 8})
		if len(r.Faults) != 1 || r.Faults[0] != "object 1 "+want || r.Objects != 1 {
			t.Errorf("%s: %q, want %q", object, r.Faults, want)
		}
	}
	for name, text := range map[string]string{
		"cut":         vocFile(vocObject("dog", ""))[:90],
		"an entity":   `<!DOCTYPE x [<!ENTITY e "eee">]><annotation><object><name>&e;</name></object></annotation>`,
		"no entity":   `<annotation><object><name>&e;</name></object></annotation>`,
		"a file":      `<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><annotation>&e;</annotation>`,
		"Latin-1":     `<?xml version="1.0" encoding="ISO-8859-1"?><annotation></annotation>`,
		"another":     `<annotations></annotations>`,
		"nothing":     "",
		"deep values": strings.Repeat("<annotation>", 200_000),
	} {
		files := tree{"a.jpg": "", "a.xml": vocFile(vocObject("dog", ""))}
		set := files.open(t, "voc", nil)
		files["a.xml"] = text
		if _, err := set.Read(context.Background(), Picture{"a.jpg", 8, 8}); !errs.Is(err, errs.Corrupt) && !errs.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, files := range []tree{{"a.jpg": ""}, {"a.jpg": "", "a.xml": "<html/>"}, {"a.jpg": "", "other/a.xml": vocFile()}} {
		if _, _, err := Open(context.Background(), "voc", files.place()); !errs.Is(err, errs.NotFound) {
			t.Errorf("%v: %v", files, err)
		}
	}
}

// FuzzVOC reads forged files. A row has as many boxes as labels.
func FuzzVOC(f *testing.F) {
	f.Add(vocFile(vocObject("dog", "<pose>Left</pose>"), vocObject("cat", "")))
	f.Fuzz(func(t *testing.T, text string) {
		a, err := readXML([]byte(text))
		if err != nil {
			return
		}
		r := &Row{}
		(&voc{}).rowOf(r, a)
		if n := value(t, r, "boxes").Sample.Shape[0]; n != r.Objects || n != int64(len(value(t, r, "labels").Names)) {
			t.Fatalf("%d boxes of %d objects", n, r.Objects)
		}
	})
}
