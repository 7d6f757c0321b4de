package export

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"deeplake/core/arrow"
	"deeplake/core/arrow/stream"
	"deeplake/core/errs"
	"deeplake/core/parquet"
	"deeplake/core/session"
	"deeplake/core/tensor"
)

// parquetFiles writes Parquet files in the layout of the Hugging Face hub, such as
// data/train-00000-of-00002.parquet, with the features of the columns in their metadata.
type parquetFiles struct {
	e        *exporter
	features []byte
	step     int64 // rows of a batch
}

// rowGroupBytes bounds the memory of a file that is written.
const rowGroupBytes = 32 << 20

func openParquet(ctx context.Context, e *exporter) (writer, error) {
	stored, err := e.view.StoredBytes(ctx)
	if err != nil {
		return nil, err
	}
	w := &parquetFiles{e: e, step: max(1, min(batchBytes/max(1, stored/e.view.Len())/2, 1<<14))}
	features := map[string]any{}
	for _, c := range e.columns {
		if f := featureOf(c); f != nil {
			features[c.Name()] = f
		}
	}
	for _, c := range e.columns {
		if t, err := tensor.ParseTime(c.of.Time); err == nil && c.of.Time != "" && (t.Kind == tensor.Interval || t.Zone != "" && t.Zone != "UTC") {
			e.note(c.Name(), "Parquet has no "+c.of.Time+": zones become UTC, and intervals integers; schema.json keeps them")
		}
	}
	for _, split := range e.report.Splits {
		if !regexp.MustCompile(`^\w+(\.\w+)*$`).MatchString(split) {
			e.note(splitTensor, fmt.Sprintf("%q is a name that datasets.load_dataset refuses; it takes letters, digits and _", split))
		}
	}
	w.features, err = json.Marshal(map[string]any{"info": map[string]any{"features": features}})
	return w, err
}

// featureOf returns the feature of a column in the terms of Hugging Face datasets; nil: that of its
// type.
func featureOf(c *column) any {
	switch {
	case c.kind == isImage && c.list:
		return map[string]any{"feature": map[string]any{"_type": "Image"}, "_type": "List"}
	case c.kind == isImage:
		return map[string]any{"_type": "Image"}
	case c.kind != isLabel || len(c.of.ClassNames) == 0:
		return nil
	case c.scalar():
		return classLabel(c)
	}
	return map[string]any{"feature": classLabel(c), "_type": "List"}
}

func classLabel(c *column) any {
	return map[string]any{"names": c.of.ClassNames, "_type": "ClassLabel"}
}

func (w *parquetFiles) part(ctx context.Context, p *part) (any, error) {
	split := p.split
	if split == "" {
		split = "train"
	}
	key := fmt.Sprintf("data/%s-%05d-of-%05d.parquet", split, p.number, p.of)
	view, err := w.rows(p)
	if err != nil {
		return nil, err
	}
	defer view.Close()
	names, images := []string{}, []string{}
	for _, c := range w.e.columns {
		if c.kind == isImage {
			images = append(images, c.Name())
		} else {
			names = append(names, c.Name())
		}
	}
	s, err := view.Batches(ctx, stream.Options{Tensors: names, Images: stream.Encoded, BatchRows: w.step})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return nil, w.e.whole(ctx, p, key, func(f *file) error {
		to, err := parquet.NewWriter(f, w.typeOf(s.Type()), parquet.WriterOptions{
			GroupBytes: rowGroupBytes, Metadata: map[string]string{"huggingface": string(w.features)}, Plain: images,
		})
		if err != nil {
			return err
		}
		for at := int64(0); at < p.n; {
			b := &stream.Batch{Data: &arrow.Data{Rows: min(w.step, p.n-at)}}
			if len(names) > 0 {
				if b, err = s.Next(ctx); err != nil {
					return err
				}
				if b == nil {
					return errs.New(errs.Internal, "%d rows came of %d", at, p.n)
				}
			}
			n := b.Data.Rows
			err = w.write(ctx, to, p, at, b.Data)
			b.Release()
			if err != nil {
				return err
			}
			at += n
			w.e.wrote(n)
		}
		return to.Close()
	})
}

func (w *parquetFiles) finish(ctx context.Context, _ [][]byte) error {
	return w.e.describe(ctx, func(c *column) string {
		if c.kind == isImage && c.list {
			return ""
		}
		return c.Name()
	})
}

// rows returns a view of the rows of a part.
func (w *parquetFiles) rows(p *part) (*session.View, error) {
	if p.rows != nil {
		return w.e.view.Select(p.rowsOf(0, p.n))
	}
	return w.e.view.Slice(p.from, p.from+p.n, 1)
}

// typeOf returns the type of the rows in the file. Images become structs of bytes and a path, as
// Hugging Face stores them.
func (w *parquetFiles) typeOf(others *arrow.Type) *arrow.Type {
	t := &arrow.Type{Format: "+s"}
	next := 0
	for _, c := range w.e.columns {
		if c.kind != isImage {
			of := others.Children[next]
			if next++; c.kind == isLabel {
				of = withoutNames(of)
			}
			t.Children = append(t.Children, of)
			continue
		}
		of := &arrow.Type{Name: c.Name(), Format: "+s", Children: []*arrow.Type{{Name: "bytes", Format: "Z"}, {Name: "path", Format: "U"}}}
		if c.list {
			of.Name = "item"
			of = &arrow.Type{Name: c.Name(), Format: "+L", Children: []*arrow.Type{of}}
		}
		t.Children = append(t.Children, of)
	}
	return t
}

// withoutNames returns a type whose labels are numbers: the features have the names.
func withoutNames(t *arrow.Type) *arrow.Type {
	out := *t
	if out.Dictionary != nil {
		out.Format, out.Dictionary = "l", nil
	}
	out.Children = nil
	for _, c := range t.Children {
		out.Children = append(out.Children, withoutNames(c))
	}
	return &out
}

// write writes a batch, the rows behind at of the part. d has the columns that are no images.
func (w *parquetFiles) write(ctx context.Context, to *parquet.Writer, p *part, at int64, d *arrow.Data) error {
	images, err := w.images(ctx, p, at, d.Rows)
	if err != nil {
		return err
	}
	out := &arrow.Data{Rows: d.Rows}
	next := 0
	for i, c := range w.e.columns {
		if c.kind == isImage {
			out.Children = append(out.Children, images[i])
			continue
		}
		of := d.Children[next]
		if next++; c.kind == isLabel {
			of = wideCodes(of)
		}
		out.Children = append(out.Children, of)
	}
	return to.Write(out)
}

// images returns the columns of images of n rows, by their numbers among all columns.
func (w *parquetFiles) images(ctx context.Context, p *part, at, n int64) (map[int]*arrow.Data, error) {
	var columns []*column
	for _, c := range w.e.columns {
		if c.kind == isImage {
			columns = append(columns, c)
		}
	}
	if len(columns) == 0 {
		return nil, nil
	}
	paths, err := w.paths(ctx, p, at, n)
	if err != nil {
		return nil, err
	}
	made := make([]*files, len(columns))
	for k, c := range columns {
		made[k] = &files{list: c.list, ends: []int64{0}, lists: []int64{0}}
	}
	rows := &part{rows: p.rowsOf(at, n), n: n}
	for done := int64(0); done < n; {
		b, err := w.e.batch(ctx, rows, done, columns)
		if err != nil {
			return nil, err
		}
		for k := range columns {
			made[k].room(b.columns[k])
			for i := range b.rows {
				if err := made[k].add(w.e, &b.columns[k][i]); err != nil {
					return nil, errs.InRow(errs.KindOf(err), b.rows[i], "row %d of tensor %q: %w", b.rows[i], columns[k].Name(), err)
				}
			}
		}
		done += int64(len(b.rows))
	}
	out := map[int]*arrow.Data{}
	for i, c := range w.e.columns {
		if k := slices.Index(columns, c); k >= 0 {
			out[i] = made[k].data(paths)
		}
	}
	return out, nil
}

// files are the image files of rows, or lists of them.
type files struct {
	list  bool
	bytes []byte
	ends  []int64 // of files
	lists []int64 // of lists in files
	valid []byte  // a bit for each row
	rows  int64
}

// room makes room for the files of values, so that no file is copied twice.
func (f *files) room(values []value) {
	size := 0
	for i := range values {
		size += len(values[i].Data)
		for k := range values[i].items {
			size += len(values[i].items[k].Data)
		}
	}
	f.bytes = slices.Grow(f.bytes, size)
}

func (f *files) add(e *exporter, v *value) error {
	if f.rows%8 == 0 {
		f.valid = append(f.valid, 0)
	}
	if !v.hole {
		f.valid[f.rows/8] |= 1 << (f.rows % 8)
	}
	f.rows++
	items := v.items
	if !f.list {
		items = []tensor.Sample{v.Sample}
	}
	for i := range items {
		if !v.hole {
			data, err := e.picture(&items[i])
			if err != nil {
				return err
			}
			f.bytes = append(f.bytes, data...)
		}
		f.ends = append(f.ends, int64(len(f.bytes)))
	}
	f.lists = append(f.lists, int64(len(f.ends)-1))
	return nil
}

// data returns the column. Images of lists have no paths.
func (f *files) data(paths *arrow.Data) *arrow.Data {
	n := int64(len(f.ends) - 1)
	all := &arrow.Data{Rows: n, Values: f.bytes, Ends: f.ends}
	if !f.list {
		return &arrow.Data{Rows: n, Valid: f.valid, Children: []*arrow.Data{all, paths}}
	}
	none := &arrow.Data{Rows: n, Valid: make([]byte, (n+7)/8), Ends: make([]int64, n+1)}
	return &arrow.Data{Rows: f.rows, Valid: f.valid, Ends: f.lists, Children: []*arrow.Data{{Rows: n, Children: []*arrow.Data{all, none}}}}
}

// wideCodes returns numbers of labels as int64.
func wideCodes(d *arrow.Data) *arrow.Data {
	out := *d
	if d.Dictionary != nil {
		out.Dictionary, out.Values = nil, widened(d.Values, d.Rows)
	}
	out.Children = nil
	for _, c := range d.Children {
		out.Children = append(out.Children, wideCodes(c))
	}
	return &out
}

// paths returns the names of the files of rows, without folders. Rows without a file have null.
func (w *parquetFiles) paths(ctx context.Context, p *part, at, n int64) (*arrow.Data, error) {
	sources, err := w.e.view.Sources(ctx, p.rowsOf(at, n))
	if err != nil {
		return nil, err
	}
	out := &arrow.Data{Rows: n, Valid: make([]byte, (n+7)/8), Ends: make([]int64, 1, n+1)}
	for i, s := range sources {
		if s != nil {
			name := (*s)[strings.LastIndexByte(*s, '/')+1:]
			out.Values = append(out.Values, name...)
			out.Valid[i/8] |= 1 << (i % 8)
		}
		out.Ends = append(out.Ends, int64(len(out.Values)))
	}
	return out, nil
}
