package ingest

import (
	"context"
	"slices"

	"deeplake/core/dataset"
	"deeplake/core/tensor"
)

// imageTensor is the tensor of the pictures.
const imageTensor = "images"

// column is a tensor that rows fill: its definition, and the value of a row, a hole without one.
type column struct {
	spec  dataset.TensorSpec
	value func(r *row) tensor.Sample
}

// optional lists the tensors that an import creates with the first row that has a value for them.
func optional() []column {
	return []column{
		{dataset.TensorSpec{Name: "labels", HType: "class_label"}, func(r *row) tensor.Sample {
			if r.label != nil {
				return tensor.Sample{DType: tensor.Int64, Shape: tensor.Shape{}, Data: r.label}
			}
			if r.class != "" {
				return textSample(tensor.String, []byte(r.class))
			}
			return hole()
		}},
		{dataset.TensorSpec{Name: "text", HType: "text"}, func(r *row) tensor.Sample { return textSample(tensor.String, r.text) }},
		{dataset.TensorSpec{Name: "json", HType: "json"}, func(r *row) tensor.Sample { return textSample(tensor.JSON, r.json) }},
	}
}

// valueOf returns the function that makes the samples of a tensor.
func valueOf(name string) func(r *row) tensor.Sample {
	switch name {
	case imageTensor:
		return func(r *row) tensor.Sample {
			if r.image.Form == tensor.FormArray && r.image.Data == nil {
				return hole()
			}
			return r.image
		}
	case originTensor:
		return func(r *row) tensor.Sample { return textSample(tensor.Bytes, r.from.encode()) }
	}
	if i := slices.IndexFunc(optional(), func(c column) bool { return c.spec.Name == name }); i >= 0 {
		return optional()[i].value
	}
	return nil
}

func hole() tensor.Sample { return tensor.Sample{Form: tensor.FormHole} }

// textSample returns a sample of text, a hole if p is nil.
func textSample(d tensor.DType, p []byte) tensor.Sample {
	if p == nil {
		return hole()
	}
	return tensor.Sample{Form: tensor.FormText, DType: d, Data: p}
}

// columns returns the values of rows for every tensor of the import. An update leaves out tensors
// for which a row has none.
func (im *importer) columns(rows []row, update bool) []tensor.Rows {
	var cols []tensor.Rows
	for name := range im.tensors {
		col, value := tensor.Rows{Tensor: name, Samples: make([]tensor.Sample, len(rows))}, valueOf(name)
		holes := 0
		for i := range rows {
			if col.Samples[i] = value(&rows[i]); col.Samples[i].Form == tensor.FormHole {
				holes++
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
	for _, c := range optional() {
		has := func(r row) bool { return c.value(&r).Form != tensor.FormHole }
		if im.tensors[c.spec.Name] || !slices.ContainsFunc(rows, has) {
			continue
		}
		if c.spec.Name == "labels" && im.kind == labelsByName {
			c.spec.ClassNames = im.o.Classes
		}
		if err := im.d.CreateTensor(ctx, c.spec); err != nil {
			return err
		}
		im.tensors[c.spec.Name] = true
	}
	return nil
}
