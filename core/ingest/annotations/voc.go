package annotations

import (
	"context"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// voc is the annotations of XML files, one of each picture, as Pascal VOC, ImageNet and tools for
// labelling have them.
type voc struct {
	source Source
	names  *Names
	// of the classes in the first files: some, or some not, are of Pascal VOC
	isVOC, isOther bool
	extras         vocExtras
	// the splits of lists in "ImageSets/Main", by folder and name of a picture
	splits map[string]string
	listed []string // the names of these splits, in order
}

// vocExtras are the values that some sets have.
type vocExtras struct{ occluded, pose, classMasks, objectMasks, synsets bool }

// vocPairs are folders of pictures, with those of their XML files.
var vocPairs = [...][2]string{
	{"JPEGImages", "Annotations"}, {"Data", "Annotations"}, {"images", "annotations"}, {"images", "Annotations"}, {"images", "annotations/xmls"}, {"images", "xmls"}, {"images", "labels"},
}

// vocMasks are the folders of masks, beside that of the pictures.
const (
	vocClassMasks  = "SegmentationClass"
	vocObjectMasks = "SegmentationObject"
	vocLists       = "ImageSets/Main"
)

// vocClasses returns the classes of Pascal VOC.
func vocClasses() []string {
	return []string{
		"aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog", "horse", "motorbike", "person",
		"pottedplant", "sheep", "sofa", "train", "tvmonitor",
	}
}

// openVOC recognizes XML files with the root "annotation" where pictures have them.
func openVOC(ctx context.Context, p *Place) (Set, error) {
	v := &voc{source: p.Source, names: p.Names, splits: map[string]string{}}
	seen := map[string]bool{}
	found := 0
	for _, dir := range p.Names.PictureFolders() {
		for _, place := range v.xmlPlaces(path.Join(dir, "x.jpg")) {
			f := p.Names.folders[path.Dir(place)]
			if f == nil || seen[path.Dir(place)] {
				continue
			}
			seen[path.Dir(place)] = true
			for _, key := range f.first[".xml"] {
				data, err := readAll(ctx, p.Source, key)
				if err != nil {
					return nil, errs.New(errs.KindOf(err), "%s: %w", key, err)
				}
				if v.look(data) {
					found++
				}
			}
		}
		v.lookBeside(dir)
	}
	if found == 0 {
		if p.Asked {
			return nil, errs.New(errs.NotFound, "no XML file with the root <annotation> lies where a picture has one: Annotations/a.xml for JPEGImages/a.jpg, or a.xml beside a.jpg")
		}
		return nil, nil
	}
	return v, v.readLists(ctx)
}

// xmlPlaces returns where the XML file of a picture may be.
func (v *voc) xmlPlaces(key string) (keys []string) {
	for _, pair := range vocPairs {
		place := withExt(replaced(key, pair[0], pair[1]), ".xml")
		if f := v.names.folders[path.Dir(place)]; place != ".xml" && f != nil && f.count[".xml"] > 0 {
			keys = append(keys, place)
		}
	}
	if f := v.names.folders[path.Dir(key)]; f != nil && f.count[".xml"] > 0 {
		keys = append(keys, withExt(key, ".xml"))
	}
	return keys
}

// look notes the values of a file. It reports whether it is of this layout.
func (v *voc) look(data []byte) bool {
	a, err := readXML(data)
	if err != nil {
		return false
	}
	for _, o := range a.Objects {
		v.extras.pose = v.extras.pose || o.Pose != nil
		v.extras.occluded = v.extras.occluded || o.Occluded != nil
		isKnown := slices.Contains(vocClasses(), o.Name)
		v.isVOC, v.isOther = v.isVOC || isKnown, v.isOther || !isKnown
	}
	return true
}

// synset is the name of a folder of ImageNet.
var synset = regexp.MustCompile(`^n\d{8}$`)

// lookBeside notes the folders with masks beside one with pictures.
func (v *voc) lookBeside(dir string) {
	if path.Base(dir) == "JPEGImages" {
		beside := path.Dir(dir)
		v.extras.classMasks = v.extras.classMasks || v.names.pictures(path.Join(beside, vocClassMasks)) > 0
		v.extras.objectMasks = v.extras.objectMasks || v.names.pictures(path.Join(beside, vocObjectMasks)) > 0
	}
	v.extras.synsets = v.extras.synsets || synset.MatchString(path.Base(dir))
}

// readLists reads which pictures belong to which split.
func (v *voc) readLists(ctx context.Context) error {
	for _, dir := range v.names.all(".txt") {
		root, ok := strings.CutSuffix("/"+dir, "/"+vocLists)
		if !ok {
			continue
		}
		for _, split := range []string{"train", "val", "test"} {
			data, err := readAll(ctx, v.source, path.Join(dir, split+".txt"))
			if errs.Is(err, errs.NotFound) {
				continue
			}
			if err != nil {
				return errs.New(errs.KindOf(err), "%s/%s.txt: %w", dir, split, err)
			}
			if !slices.Contains(v.listed, split) {
				v.listed = append(v.listed, split)
			}
			for line := range strings.Lines(string(data)) {
				if fields := strings.Fields(line); len(fields) > 0 {
					v.splits[strings.TrimPrefix(root+"/"+fields[0], "/")] = split
				}
			}
		}
	}
	return nil
}

func (v *voc) Tensors() []dataset.TensorSpec {
	info := map[string]any{"coords": map[string]any{"mode": "LTRB", "type": "pixel"}}
	classes := []string(nil)
	if v.isVOC && !v.isOther {
		classes = vocClasses()
		info["first_pixel"] = 1
	}
	each := func(name, dtype string) dataset.TensorSpec {
		return dataset.TensorSpec{Name: name, HType: "generic", DType: dtype, Compression: "shuffle"}
	}
	out := []dataset.TensorSpec{
		{Name: "boxes", HType: "bbox", DType: "float32", Info: info},
		{Name: "labels", HType: "class_label", ClassNames: classes, AddClasses: true},
		each("difficult", "bool"), each("truncated", "bool"),
	}
	for _, one := range []struct {
		has  bool
		spec dataset.TensorSpec
	}{
		{v.extras.occluded, each("occluded", "bool")},
		{v.extras.pose, dataset.TensorSpec{Name: "poses", HType: "sequence[text]"}},
		{v.extras.classMasks, dataset.TensorSpec{Name: "class_masks", HType: "segment_mask", DType: "uint8"}},
		{v.extras.objectMasks, dataset.TensorSpec{Name: "object_masks", HType: "instance_label", DType: "uint8"}},
		{v.extras.synsets, dataset.TensorSpec{Name: "synset", HType: "class_label", AddClasses: true}},
		{len(v.listed) > 0, dataset.TensorSpec{Name: "split", HType: "class_label", ClassNames: v.listed}},
	} {
		if one.has {
			out = append(out, one.spec)
		}
	}
	return out
}

// Has reports true for all pictures that are no masks: one without an XML file has no objects.
func (v *voc) Has(key string) bool { return !v.isMask(key) }

func (v *voc) isMask(key string) bool {
	folders := strings.Split(path.Dir(key), "/")
	folder := folders[len(folders)-1]
	return slices.Contains(folders, "annotations") || slices.Contains(folders, "Annotations") || v.extras.classMasks && folder == vocClassMasks || v.extras.objectMasks && folder == vocObjectMasks
}

// Why says that a picture is a mask.
func (v *voc) Why(string) string { return "it lies among the annotations" }

// Lost calls nothing: a picture finds its file.
func (v *voc) Lost(string, func(string)) {}

func (v *voc) Faults() ([]Fault, int64) { return nil, 0 }

// Uses reports whether a file is an XML file, a list, or a mask.
func (v *voc) Uses(key string) bool {
	return path.Ext(key) == ".xml" || v.isMask(key) || slices.Contains(strings.Split(path.Dir(key), "/"), "ImageSets")
}

func (v *voc) Read(ctx context.Context, p Picture) (*Row, error) {
	r := &Row{}
	for _, place := range v.xmlPlaces(p.Key) {
		data, err := readAll(ctx, v.source, place)
		if errs.Is(err, errs.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		a, err := readXML(data)
		if err != nil {
			return nil, errs.New(errs.KindOf(err), "%s: %w", place, err)
		}
		v.rowOf(r, a)
		break
	}
	folder, name := path.Dir(p.Key), strings.TrimSuffix(path.Base(p.Key), path.Ext(p.Key))
	for _, mask := range []struct {
		has          bool
		folder, name string
	}{{v.extras.classMasks, vocClassMasks, "class_masks"}, {v.extras.objectMasks, vocObjectMasks, "object_masks"}} {
		if !mask.has {
			continue
		}
		data, err := readAll(ctx, v.source, path.Join(path.Dir(folder), mask.folder, name+".png"))
		if errs.Is(err, errs.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		r.file(mask.name, data)
	}
	if split, ok := v.splits[path.Join(path.Dir(folder), name)]; ok {
		r.class("split", split)
	}
	if word := path.Base(folder); v.extras.synsets && synset.MatchString(word) {
		r.class("synset", word)
	}
	return r, nil
}

// rowOf sets the values of the objects of a file. A bad one is a fault.
func (v *voc) rowOf(r *Row, a *xmlAnnotation) {
	var boxes []float32
	var names, poses []string
	var difficult, truncated, occluded []bool
	for i := range a.Objects {
		o := &a.Objects[i]
		box, err := o.numbers()
		if err != nil {
			r.Faults = append(r.Faults, "object "+strconv.Itoa(i)+" "+err.Error())
			continue
		}
		boxes, names = append(boxes, box[:]...), append(names, o.Name)
		difficult, truncated, occluded = append(difficult, isOne(o.Difficult)), append(truncated, isOne(o.Truncated)), append(occluded, isOne(o.Occluded))
		pose := ""
		if o.Pose != nil {
			pose = *o.Pose
		}
		poses = append(poses, pose)
	}
	r.Objects = int64(len(names))
	r.boxes("boxes", boxes)
	r.labels("labels", names)
	r.bools("difficult", difficult)
	r.bools("truncated", truncated)
	if v.extras.occluded {
		r.bools("occluded", occluded)
	}
	if v.extras.pose {
		r.texts("poses", poses)
	}
}

func isOne(text *string) bool {
	return text != nil && (strings.TrimSpace(*text) == "1" || strings.EqualFold(strings.TrimSpace(*text), "true"))
}

// numbers returns the box of an object.
func (o *xmlObject) numbers() (box [4]float32, err error) {
	if o.Name = strings.TrimSpace(o.Name); o.Name == "" || !utf8.ValidString(o.Name) {
		return box, errs.New(errs.Invalid, "has no name")
	}
	if o.Box == nil {
		return box, errs.New(errs.Invalid, "has no bndbox")
	}
	for i, text := range []string{o.Box.Left, o.Box.Top, o.Box.Right, o.Box.Bottom} {
		x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || math.IsNaN(x) || math.Abs(x) > math.MaxFloat32 {
			return box, errs.New(errs.Invalid, "has %.40q for %s of its box, want a number", text, []string{"xmin", "ymin", "xmax", "ymax"}[i])
		}
		box[i] = float32(x)
	}
	return box, nil
}

// class sets one class by its name.
func (r *Row) class(tensorName, class string) {
	r.add(Value{Tensor: tensorName, Sample: tensor.Sample{Form: tensor.FormText, DType: tensor.String, Data: []byte(class)}})
}
