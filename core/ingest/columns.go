package ingest

import (
	"context"
	"slices"

	"deeplake/core/dataset"
	"deeplake/core/dataset/origin"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

const (
	imageTensor = "images" // of the pictures
	videoTensor = "videos"
	labelTensor = "labels" // of the class folders, and of .cls members
)

// value is the sample of a row for one tensor.
type value struct {
	tensor.Sample
	tensor string // of a named member, the wanted one until chooseTensors
	kind   *kind
	named  bool   // a member with a name of its own, whose tensor chooseTensors finds
	path   string // names the member in a report
	memory []byte // of the sample, for im.buffers once the row is written; nil: not reused
	// of annotations, in the place of Sample: the items of a list, or the names of classes
	items []tensor.Sample
	names []string
}

// row is a pending row, or the reason it was skipped.
type row struct {
	path    string // names it in a report
	reason  string // not empty: it is left out
	values  []value
	bytes   int64 // read from the source
	from    origin.Origin
	other   bool     // the file has no name of a picture, and is none
	faults  []string // annotations that are left out
	objects int64    // annotations that are taken in
	// about annotations that are taken in
	warning string
}

// value returns the value of a tensor; nil if the row has none.
func (r *row) value(name string) *value {
	for i := range r.values {
		if r.values[i].tensor == name {
			return &r.values[i]
		}
	}
	return nil
}

// isOfVideos reports whether the row has videos and no images.
func (r *row) isOfVideos() bool {
	has := func(k *kind) bool { return slices.ContainsFunc(r.values, func(v value) bool { return v.kind == k }) }
	return has(videoKind) && !has(imageKind)
}

// size is the memory of the samples.
func (r *row) size() (n int64) {
	for i := range r.values {
		n += int64(len(r.values[i].Data)) + packets(&r.values[i].Sample)
		for j := range r.values[i].items {
			n += int64(len(r.values[i].items[j].Data))
		}
	}
	return n
}

func size(rows []row) (n int64) {
	for i := range rows {
		n += rows[i].size()
	}
	return n
}

// set gives a tensor with a fixed name its sample.
func (r *row) set(k *kind, s tensor.Sample) {
	r.values = append(r.values, value{Sample: s, tensor: k.fixed, kind: k})
}

// sample returns the row's sample of a tensor, a hole if it has none.
func (r *row) sample(name string) tensor.Sample {
	if name == origin.Tensor {
		return textSample(tensor.Bytes, r.from.Encode())
	}
	if v := r.value(name); v != nil {
		return v.Sample
	}
	return tensor.Sample{Form: tensor.FormHole}
}

func textSample(d tensor.DType, p []byte) tensor.Sample {
	return tensor.Sample{Form: tensor.FormText, DType: d, Data: p}
}

// columns returns the values of rows for every tensor of the dataset. An update leaves out tensors
// for which a row has none.
func (im *importer) columns(rows []row, update bool) []tensor.Rows {
	var cols []tensor.Rows
	for name, list := range im.tensors {
		col := tensor.Rows{Tensor: name, Samples: make([]tensor.Sample, 0, len(rows))}
		holes, known := 0, map[string]int{}
		for i := range rows {
			if v := rows[i].value(name); v != nil && v.kind == annotationKind && (list || v.names != nil) {
				v.addTo(&col, list, known)
				continue
			}
			s := rows[i].sample(name)
			if s.Form == tensor.FormHole {
				holes++
			}
			if col.Samples = append(col.Samples, s); list {
				col.RowItems = append(col.RowItems, 1) // a hole
			}
		}
		if !update || holes == 0 {
			cols = append(cols, col)
		}
	}
	return cols
}

// makeTensors creates the tensors for which the rows have values and the dataset has none yet.
func (im *importer) makeTensors(ctx context.Context, rows []row) error {
	for i := range rows {
		for j := range rows[i].values {
			v := &rows[i].values[j]
			if _, there := im.tensors[v.tensor]; there || v.kind == annotationKind {
				continue
			}
			spec := dataset.TensorSpec{Name: v.tensor, HType: v.kind.htype}
			switch {
			case v.tensor == imageTensor:
				spec = im.imageSpec()
			case v.kind == imageKind || v.kind == arrayKind:
				spec.DType = v.DType.String()
				spec.Upright = im.o.Upright && v.kind == imageKind
			case v.tensor == labelTensor && im.numbering[labelTensor] == labelsByName:
				spec.ClassNames = im.o.Classes
			}
			if told := im.asDescribed(spec, v.kind); im.d.CreateTensor(ctx, told) == nil {
				im.tensors[v.tensor] = false
				continue
			}
			if err := im.d.CreateTensor(ctx, spec); err != nil {
				return err
			}
			im.tensors[v.tensor] = false
		}
	}
	return nil
}

// appendRow appends a row. A sample of an archive loses the members that the dataset refuses and
// keeps the others; the report lists both.
func (im *importer) appendRow(ctx context.Context, r *row) error {
	for {
		err := im.d.Append(ctx, im.columns([]row{*r}, false), 1)
		if err == nil || !bad(err) {
			return err
		}
		name := errs.FieldsOf(err).Object
		v := r.value(name)
		if v == nil || v.path == "" || v.kind == labelKind || len(r.values) == 1 {
			return err
		}
		im.leaveOut(v.path, err.Error())
		im.buffers.put(v.memory)
		r.values = slices.DeleteFunc(r.values, func(o value) bool { return o.tensor == name })
	}
}
