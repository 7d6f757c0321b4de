package export

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/mds"
	"deeplake/core/tensor"
)

// mdsShards writes shards of MosaicML Streaming: an index and shards for each split.
type mdsShards struct {
	e       *exporter
	columns []*column // in the order of their names
	fields  []mds.Field
	fixed   []tensor.Shape // of arrays whose shape the field states; else nil
}

func openMDS(_ context.Context, e *exporter) (writer, error) {
	w := &mdsShards{e: e, columns: slices.Clone(e.columns)}
	slices.SortFunc(w.columns, func(a, b *column) int { return strings.Compare(a.Name(), b.Name()) })
	for _, c := range w.columns {
		f, fixed, err := w.field(c)
		if err != nil {
			return nil, errs.New(errs.KindOf(err), "tensor %q: %w", c.Name(), err)
		}
		w.fields, w.fixed = append(w.fields, f), append(w.fixed, fixed)
	}
	return w, nil
}

// field returns the encoding of a tensor.
func (w *mdsShards) field(c *column) (mds.Field, tensor.Shape, error) {
	f := mds.Field{Name: c.Name()}
	switch {
	case c.kind == isImage:
		f.Encoding = map[string]string{"jpeg": "jpeg", "webp": "bytes"}[c.of.Compression]
		if f.Encoding == "" {
			f.Encoding = "png" // files of PNG, and arrays
		}
		if f.Encoding == "bytes" {
			w.e.note(c.Name(), "files of WebP are written as bytes: MDS has no encoding for them")
		} else if c.list {
			f.Encoding = "list[" + f.Encoding + "]"
		}
	case c.list && (c.kind == isText || c.kind == isJSON):
		f.Encoding = "json"
	case c.list:
		return f, nil, errs.New(errs.Unsupported, "MDS has no lists of arrays; leave it out by tensors=")
	case c.kind == isText:
		f.Encoding = "str"
	case c.kind == isJSON:
		f.Encoding = "json"
	case c.kind == isBytes || c.kind == isVideo:
		f.Encoding = "bytes"
	default:
		return w.numbers(f, c)
	}
	return f, nil, nil
}

// numbers returns the encoding of numbers: scalars, arrays of one shape, or any arrays.
func (w *mdsShards) numbers(f mds.Field, c *column) (mds.Field, tensor.Shape, error) {
	d := c.dtype
	switch {
	case d.IsComplex():
		return f, nil, errs.New(errs.Unsupported, "MDS has no %s; leave it out by tensors=", d)
	case d == tensor.Bool:
		d = tensor.Uint8
		w.e.note(c.Name(), "bools become uint8")
	case d == tensor.BFloat16:
		d = tensor.Float32
		w.e.note(c.Name(), "bfloat16 becomes float32")
	}
	if c.scalar() {
		f.Encoding, f.Size = d.String(), int64(d.Size())
		return f, tensor.Shape{}, nil
	}
	f.Encoding = "ndarray:" + d.String()
	shape := c.of.Shape
	if n, err := shape.Elements(); len(shape) == 0 || err != nil || n == 0 || slices.Contains(shape, -1) {
		return f, nil, nil
	} else if f.Size = n * int64(d.Size()); f.Size > 1<<30 {
		return f, nil, errs.New(errs.Unsupported, "an array has %d bytes, want at most 1 GiB", f.Size)
	}
	sizes := make([]string, len(shape))
	for i, n := range shape {
		sizes[i] = fmt.Sprint(n)
	}
	f.Encoding += ":" + strings.Join(sizes, ",")
	return f, shape, nil
}

func (w *mdsShards) part(ctx context.Context, p *part) (any, error) {
	shard := mds.NewShardWriter(w.fields)
	values := make([][]byte, len(w.columns))
	err := w.e.batches(ctx, p, w.columns, func(b *batch) error {
		for i, row := range b.rows {
			for k, c := range w.columns {
				v := &b.columns[k][i]
				if v.hole {
					return errs.InRow(errs.Unsupported, row, "row %d of tensor %q has no value, and MDS has none; leave out the row by a query (WHERE %s IS NOT NULL), or the tensor by tensors=", row, c.Name(), c.Name())
				}
				var err error
				if values[k], err = w.value(k, c, v); err != nil {
					return errs.InRow(errs.KindOf(err), row, "row %d of tensor %q: %w", row, c.Name(), err)
				}
			}
			if err := shard.Add(values); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("shard.%05d.mds", p.number)
	var entry map[string]any
	err = w.e.whole(ctx, p, p.in(name), func(f *file) (err error) {
		entry, err = shard.WriteTo(f, name)
		return err
	})
	return entry, err
}

// value returns a value as its field has it.
func (w *mdsShards) value(k int, c *column, v *value) ([]byte, error) {
	switch {
	case c.kind == isImage && c.list:
		var all [][]byte
		for i := range v.items {
			file, err := w.e.picture(&v.items[i])
			if err != nil {
				return nil, err
			}
			all = append(all, file)
		}
		return mds.AppendFiles(nil, all), nil
	case c.kind == isImage:
		return w.e.picture(&v.Sample)
	case c.list:
		return listJSON(c, v), nil
	case c.kind == isText || c.kind == isJSON || c.kind == isBytes || c.kind == isVideo:
		return v.Data, nil
	}
	data := v.Data
	if c.dtype == tensor.BFloat16 {
		data, _ = tensor.Convert(tensor.Float32, tensor.BFloat16, data)
	}
	if fixed := w.fixed[k]; fixed != nil {
		if !v.Shape.Equal(fixed) {
			return nil, errs.New(errs.Type, "it has shape %s, want %s", v.Shape, fixed)
		}
		return data, nil
	}
	head, err := mds.AppendShape(make([]byte, 0, 16+len(data)), v.Shape)
	return append(head, data...), err
}

func (w *mdsShards) finish(ctx context.Context, facts [][]byte) error {
	indexes := map[string][]json.RawMessage{}
	for i, p := range w.e.parts {
		indexes[p.in("index.json")] = append(indexes[p.in("index.json")], facts[i])
	}
	for key, shards := range indexes {
		data, err := json.Marshal(map[string]any{"version": 2, "shards": shards})
		if err != nil {
			return err
		}
		if err := w.e.about(ctx, key, data); err != nil {
			return err
		}
	}
	// Of lists and files of WebP, the importer makes other tensors.
	return w.e.describe(ctx, func(c *column) string {
		if c.list || c.kind == isImage && c.of.Compression == "webp" {
			return ""
		}
		return c.Name()
	})
}
