package export

import (
	"context"
	"fmt"
	"slices"

	"deeplake/core/errs"
	"deeplake/core/tensor"
	"deeplake/core/tfrecord"
)

// tfRecords writes TFRecord files of tf.train.Example.
type tfRecords struct{ e *exporter }

func openTFRecord(_ context.Context, e *exporter) (writer, error) {
	for _, c := range e.columns {
		switch {
		case c.list && c.kind != isImage && c.kind != isText && c.kind != isJSON && c.kind != isBytes:
			return nil, errs.New(errs.Unsupported, "tensor %q: an example has no lists of arrays; leave it out by tensors=", c.Name())
		case c.dtype.IsComplex():
			return nil, errs.New(errs.Unsupported, "tensor %q: an example has no %s; leave it out by tensors=", c.Name(), c.dtype)
		case c.dtype == tensor.Float64:
			e.note(c.Name(), "float64 is rounded to float32, the only floats of an example")
		}
		if c.isFlat() {
			e.note(c.Name(), fmt.Sprintf("arrays of several axes are flat, and %q has their shapes", shapeName(c)))
		}
	}
	for _, c := range e.columns {
		if slices.ContainsFunc(e.columns, func(other *column) bool { return c.isFlat() && other.Name() == shapeName(c) }) {
			return nil, errs.New(errs.Unsupported, "tensor %q has the name of the feature with the shapes of %q; leave one out by tensors=", shapeName(c), c.Name())
		}
	}
	return &tfRecords{e}, nil
}

// isFlat reports whether examples have arrays of several axes, which are flat there.
func (c *column) isFlat() bool {
	axes := max(len(c.of.Shape), len(c.of.MaxShape), len(c.of.MinShape))
	isKnown := c.of.Shape != nil || c.of.MaxShape != nil
	return c.kind == isNumbers && !c.list && (axes > 1 || !isKnown)
}

// shapeName returns the name of the feature with the shape of an array. A name below that of the
// array would be one of a group, and no tensor can have it beside the array's.
func shapeName(c *column) string { return c.Name() + "_shape" }

func (w *tfRecords) part(ctx context.Context, p *part) (any, error) {
	name := p.in(fmt.Sprintf("%05d-of-%05d.tfrecord", p.number, p.of))
	return nil, w.e.whole(ctx, p, name, func(f *file) error {
		var features []tfrecord.Feature
		var record []byte
		return w.e.batches(ctx, p, w.e.columns, func(b *batch) error {
			for i, row := range b.rows {
				features = features[:0]
				for k, c := range w.e.columns {
					var err error
					if features, err = w.features(features, c, &b.columns[k][i]); err != nil {
						return errs.InRow(errs.KindOf(err), row, "row %d of tensor %q: %w", row, c.Name(), err)
					}
				}
				record = tfrecord.AppendExample(record[:0], features)
				if err := tfrecord.WriteRecord(f, record); err != nil {
					return errs.InRow(errs.KindOf(err), row, "row %d: %w", row, err)
				}
			}
			return nil
		})
	})
}

func (w *tfRecords) finish(ctx context.Context, _ [][]byte) error {
	// Arrays of several axes come back flat.
	return w.e.describe(ctx, func(c *column) string {
		if c.list || c.isFlat() {
			return ""
		}
		return c.Name()
	})
}

// features appends the features of a value. A missing one has none.
func (w *tfRecords) features(dst []tfrecord.Feature, c *column, v *value) ([]tfrecord.Feature, error) {
	f := tfrecord.Feature{Name: c.Name()}
	items := v.items
	switch {
	case v.hole:
		return dst, nil
	case !c.list:
		items = []tensor.Sample{v.Sample}
	}
	switch c.kind {
	case isImage:
		for i := range items {
			data, err := w.e.picture(&items[i])
			if err != nil {
				return dst, err
			}
			f.Bytes = append(f.Bytes, data)
		}
		return append(dst, f), nil
	case isText, isJSON, isBytes, isVideo:
		for i := range items {
			f.Bytes = append(f.Bytes, items[i].Data)
		}
		return append(dst, f), nil
	}
	var err error
	if v.DType.IsInteger() || v.DType == tensor.Bool {
		f.Ints, err = integers(&v.Sample)
	} else {
		f.Floats, err = singles(&v.Sample)
	}
	if err != nil {
		return dst, err
	}
	if dst = append(dst, f); len(v.Shape) > 1 {
		dst = append(dst, tfrecord.Feature{Name: shapeName(c), Ints: v.Shape})
	}
	return dst, nil
}
