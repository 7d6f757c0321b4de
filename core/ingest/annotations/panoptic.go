package annotations

import (
	"bytes"
	"context"
	"encoding/binary"
	"image"
	"image/png"
	"path"
	"strings"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/internal/jsontext"
	"deeplake/core/tensor"
)

// addSegments takes the segments of a picture of a panoptic file: e has their list, and the name of
// a PNG file, whose colours are their ids.
func (f *cocoFile) addSegments(e *element) error {
	image, name, has := int64(0), "", false
	var segments []cocoEntry
	err := e.members(func(key string, v []byte, kind jsontext.Kind) (err error) {
		switch key {
		case "image_id":
			image, err = f.idOf(v, kind)
			has = true
		case "file_name":
			name, err = nameOf(v, kind, key)
		case "segments_info":
			n := 0
			err = items(v, kind, key, func(v []byte, _ jsontext.Kind) error {
				o, err := f.segment(&element{p: v, of: e.of, at: e.at})
				if n++; err != nil {
					return errs.New(errs.KindOf(err), "has a segment, number %d, that %w", n-1, err)
				}
				segments = append(segments, o)
				return nil
			})
		}
		return err
	})
	switch {
	case err != nil:
	case !has:
		err = errs.New(errs.Invalid, "has no image_id")
	case name == "":
		err = errs.New(errs.Invalid, "has no file_name")
	case len(segments) > maxObjects:
		err = errs.New(errs.Invalid, "has %d segments, want at most %d", len(segments), maxObjects)
	}
	if err != nil {
		f.fault(e, err)
		return nil
	}
	if f.pngs == nil {
		f.pngs = map[int32]string{}
	}
	f.outlines, f.points = f.outlines[:0], f.points[:0]
	for i := range segments {
		if err := f.put(&segments[i], image); err != nil {
			return err
		}
	}
	f.pngs[f.imageOf(image)] = name
	return nil
}

// segment reads a segment.
func (f *cocoFile) segment(e *element) (o cocoEntry, err error) {
	hasID, hasCategory := false, false
	err = e.members(func(key string, v []byte, kind jsontext.Kind) (err error) {
		switch key {
		case "id":
			o.id, err = f.idOf(v, kind)
			hasID = true
		case "category_id":
			o.category, err = f.idOf(v, kind)
			hasCategory = true
		default:
			_, err = o.common(key, v, kind)
		}
		return err
	})
	if err == nil && (!hasID || !hasCategory) {
		err = errs.New(errs.Invalid, "has no id or no category_id")
	}
	return o, err
}

// describePanoptic makes the tensors of panoptic files. They have a group of their own: their
// objects are not those of other files.
func (c *coco) describePanoptic(add func(dataset.TensorSpec)) {
	add(dataset.TensorSpec{Name: "panoptic/segments", HType: "instance_label", DType: "uint32"})
	add(dataset.TensorSpec{Name: "panoptic/boxes", HType: "bbox", DType: "float32", Info: map[string]any{"coords": map[string]any{"mode": "LTWH", "type": "pixel"}}})
	add(dataset.TensorSpec{Name: "panoptic/labels", HType: "class_label", ClassNames: c.classes, AddClasses: true, Info: c.idInfo()})
	add(dataset.TensorSpec{Name: "panoptic/areas", HType: "generic", DType: "float64", Compression: "shuffle"})
	add(dataset.TensorSpec{Name: "panoptic/crowds", HType: "generic", DType: "bool", Compression: "shuffle"})
	add(dataset.TensorSpec{Name: "panoptic/ids", HType: "generic", DType: "int64", Compression: "shuffle"})
}

// segments sets the values of a picture's segments.
func (c *coco) segments(ctx context.Context, r *Row, p Picture, ref cocoRef) error {
	f := ref.file
	name, ok := f.pngs[ref.image]
	if !ok {
		return nil
	}
	numbers := f.objectsOf(ref.image)
	n := len(numbers)
	boxes, labels, areas, crowds, ids := make([]float32, 0, 4*n), make([]string, n), make([]float64, n), make([]bool, n), make([]int64, n)
	for i, at := range numbers {
		o := f.object(at)
		boxes = append(boxes, o.box[:]...)
		labels[i], areas[i], crowds[i], ids[i] = c.className(f, o.category), o.area, o.crowd, o.id
	}
	data, err := readAll(ctx, c.source, path.Join(f.masksIn, cleanName(name)))
	if err != nil {
		return errs.New(errs.KindOf(err), "its segments: %w", err)
	}
	if err := r.colours("panoptic/segments", p, data); err != nil {
		return errs.New(errs.KindOf(err), "%s: %w", name, err)
	}
	r.boxes("panoptic/boxes", boxes)
	r.labels("panoptic/labels", labels)
	r.doubles("panoptic/areas", areas)
	r.bools("panoptic/crowds", crowds)
	r.ints("panoptic/ids", ids)
	r.Objects += int64(n)
	return nil
}

// colours sets a number for each pixel of a PNG file: red + 256 green + 65,536 blue.
func (r *Row) colours(name string, p Picture, data []byte) error {
	head, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return errs.New(errs.Corrupt, "is no PNG file: %w", err)
	}
	if int64(head.Width) != p.Width || int64(head.Height) != p.Height {
		return errs.New(errs.Invalid, "has %d x %d pixels, and the picture %d x %d", head.Width, head.Height, p.Width, p.Height)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return errs.New(errs.Corrupt, "is no PNG file: %w", err)
	}
	var pix []byte
	var stride int
	switch m := picture.(type) {
	case *image.RGBA:
		pix, stride = m.Pix, m.Stride
	case *image.NRGBA:
		pix, stride = m.Pix, m.Stride
	default:
		return errs.New(errs.Type, "has no colours of 8 bits, which are the ids of segments")
	}
	out := make([]byte, 0, 4*p.Width*p.Height)
	for y := range head.Height {
		for x := range head.Width {
			q := pix[y*stride+4*x:]
			out = binary.LittleEndian.AppendUint32(out, uint32(q[0])|uint32(q[1])<<8|uint32(q[2])<<16)
		}
	}
	r.array(name, tensor.Uint32, tensor.Shape{p.Height, p.Width}, out)
	return nil
}

// locateSegments finds the folder of the PNG files of a panoptic file, which has its name.
func (f *cocoFile) locateSegments(names *Names) {
	word := strings.TrimSuffix(path.Base(f.key), path.Ext(f.key))
	f.masksIn = path.Join(path.Dir(f.key), word)
	for _, dir := range names.all(picture) {
		if path.Base(dir) == word {
			f.masksIn = dir
		}
	}
}
