package annotations

import (
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// kitti is the annotations of KITTI's detection benchmark: "label_2/000001.txt" is about
// "image_2/000001.png", and a line is an object with its boxes in the picture and in space.
type kitti struct {
	source Source
	names  *Names
	scores bool // lines have a confidence
	calibs bool // there are files of calibration
}

// kittiFolders are the folders of pictures and of labels.
var kittiFolders = [...][2]string{{"image_2", "label_2"}, {"image_02", "label_02"}}

// kittiFields is the number of fields of a line without a confidence.
const kittiFields = 15

// openKITTI recognizes a folder "label_2" beside "image_2".
func openKITTI(ctx context.Context, p *Place) (Set, error) {
	k := &kitti{source: p.Source, names: p.Names}
	found := false
	for _, dir := range p.Names.PictureFolders() {
		place := kittiPlace(dir+"/x", 1)
		labels := p.Names.folders[path.Dir(place)]
		if place == "" || labels == nil || labels.count[".txt"] == 0 {
			continue
		}
		for _, key := range labels.first[".txt"] {
			data, err := readAll(ctx, p.Source, key)
			if err != nil {
				return nil, errs.New(errs.KindOf(err), "%s: %w", key, err)
			}
			line, _, _ := strings.Cut(strings.TrimLeft(string(data), "\ufeff \t\r\n"), "\n")
			n := len(strings.Fields(line))
			found = found || n == kittiFields || n == kittiFields+1
			k.scores = k.scores || n == kittiFields+1
		}
		calibs := p.Names.folders[path.Join(path.Dir(dir), "calib")]
		k.calibs = k.calibs || calibs != nil && calibs.count[".txt"] > 0
	}
	switch {
	case found:
		return k, nil
	case p.Asked:
		return nil, errs.New(errs.NotFound, "no folder label_2 with files of KITTI lies beside a folder image_2 with pictures")
	}
	return nil, nil
}

// kittiPlace returns the name of a picture's file of another kind: 1 for labels. "": the picture is
// in no folder of KITTI.
func kittiPlace(key string, kind int) string {
	for _, names := range kittiFolders {
		if path.Base(path.Dir(key)) == names[0] {
			return withExt(path.Join(path.Dir(path.Dir(key)), names[kind], path.Base(key)), ".txt")
		}
	}
	return ""
}

func (k *kitti) Tensors() []dataset.TensorSpec {
	floats := func(name string) dataset.TensorSpec {
		return dataset.TensorSpec{Name: name, HType: "generic", DType: "float32", Compression: "shuffle"}
	}
	out := []dataset.TensorSpec{
		{Name: "boxes", HType: "bbox", DType: "float32", Info: map[string]any{"coords": map[string]any{"mode": "LTRB", "type": "pixel"}}},
		{Name: "labels", HType: "class_label", AddClasses: true},
		floats("truncated"),
		{Name: "occluded", HType: "generic", DType: "int64", Compression: "shuffle"},
		floats("alpha"), floats("dimensions"), floats("locations"), floats("rotations"),
	}
	if k.scores {
		out = append(out, floats("scores"))
	}
	if k.calibs {
		out = append(out, dataset.TensorSpec{Name: "calibration", HType: "text"})
	}
	return out
}

// Has reports whether a picture is of the left colour camera, the only one with labels.
func (k *kitti) Has(key string) bool { return kittiPlace(key, 1) != "" }

// Why names the folders with labels.
func (k *kitti) Why(string) string { return "only pictures in image_2 have labels" }

// Lost calls nothing: labels name no pictures.
func (k *kitti) Lost(string, func(string)) {}

func (k *kitti) Faults() ([]Fault, int64) { return nil, 0 }

// Uses reports whether a file has labels or a calibration.
func (k *kitti) Uses(key string) bool {
	folder := path.Base(path.Dir(key))
	isOf := folder == "calib" || slices.ContainsFunc(kittiFolders[:], func(names [2]string) bool { return folder == names[1] })
	return isOf && path.Ext(key) == ".txt"
}

// kittiObjects is the objects of a picture: numbers by field.
type kittiObjects struct {
	classes []string
	numbers [][kittiFields]float64 // without the class; the last is the confidence
}

func (k *kitti) Read(ctx context.Context, p Picture) (*Row, error) {
	r := &Row{}
	data, err := readAll(ctx, k.source, kittiPlace(p.Key, 1))
	switch {
	case errs.Is(err, errs.NotFound): // of the test split
	case err != nil:
		return nil, err
	case !utf8.Valid(data):
		return nil, errs.New(errs.Invalid, "its labels are no text in UTF-8")
	default:
		o, err := readKITTI(string(data), r)
		if err != nil {
			return nil, err
		}
		k.rowOf(r, o)
	}
	if !k.calibs {
		return r, nil
	}
	calib := path.Join(path.Dir(path.Dir(p.Key)), "calib", path.Base(withExt(p.Key, ".txt")))
	switch data, err := readAll(ctx, k.source, calib); {
	case errs.Is(err, errs.NotFound):
	case err != nil:
		return nil, err
	case !utf8.Valid(data):
		r.Faults = append(r.Faults, "its calibration is no text in UTF-8")
	default:
		r.text("calibration", string(data))
	}
	return r, nil
}

// readKITTI reads the lines of a file. Bad ones are faults of r.
func readKITTI(text string, r *Row) (o kittiObjects, err error) {
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		number++
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(o.classes) == maxObjects {
			return o, errs.New(errs.Invalid, "it has more than %d objects", maxObjects)
		}
		if err := o.add(fields); err != nil {
			r.Faults = append(r.Faults, fmt.Sprintf("line %d %v", number, err))
		}
	}
	return o, nil
}

func (o *kittiObjects) add(fields []string) error {
	if len(fields) != kittiFields && len(fields) != kittiFields+1 {
		return errs.New(errs.Invalid, "has %d fields, want %d, and one more for a confidence", len(fields), kittiFields)
	}
	var v [kittiFields]float64
	v[kittiFields-1] = 1
	for i, f := range fields[1:] {
		x, err := strconv.ParseFloat(f, 64)
		if err != nil || math.IsNaN(x) || math.Abs(x) > math.MaxFloat32 {
			return errs.New(errs.Invalid, "has %.40q in field %d, want a number", f, i+2)
		}
		if i == 1 && (x != math.Trunc(x) || math.Abs(x) > math.MaxInt32) {
			return errs.New(errs.Invalid, "has %.40q in field %d, want an integer", f, i+2)
		}
		v[i] = x
	}
	o.classes, o.numbers = append(o.classes, fields[0]), append(o.numbers, v)
	return nil
}

// rowOf sets the values of the objects.
func (k *kitti) rowOf(r *Row, o kittiObjects) {
	n := int64(len(o.classes))
	r.Objects = n
	floats := func(from, to int) (v []float32) {
		for i := range o.numbers {
			for _, x := range o.numbers[i][from:to] {
				v = append(v, float32(x))
			}
		}
		return v
	}
	occluded := make([]int64, n)
	for i := range o.numbers {
		occluded[i] = int64(o.numbers[i][1])
	}
	r.boxes("boxes", floats(3, 7))
	r.labels("labels", o.classes)
	r.floats("truncated", tensor.Shape{n}, floats(0, 1))
	r.ints("occluded", occluded)
	r.floats("alpha", tensor.Shape{n}, floats(2, 3))
	r.floats("dimensions", tensor.Shape{n, 3}, floats(7, 10))
	r.floats("locations", tensor.Shape{n, 3}, floats(10, 13))
	r.floats("rotations", tensor.Shape{n}, floats(13, 14))
	if k.scores {
		r.floats("scores", tensor.Shape{n}, floats(14, 15))
	}
}
