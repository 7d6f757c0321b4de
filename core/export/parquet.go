package export

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"deeplake/core/arrow"
	"deeplake/core/arrow/stream"
	"deeplake/core/parquet"
	"deeplake/core/session"
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
	w.features, err = json.Marshal(map[string]any{"info": map[string]any{"features": features}})
	return w, err
}

// featureOf returns the feature of a column in the terms of Hugging Face datasets; nil: that of its
// type.
func featureOf(c *column) any {
	switch {
	case isFiles(c):
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
	var names []string
	for _, c := range w.e.columns {
		names = append(names, c.Name())
	}
	s, err := view.Batches(ctx, stream.Options{Tensors: names, Images: stream.Encoded, BatchRows: w.step})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return nil, w.e.whole(ctx, p, key, func(f *file) error {
		t := &arrow.Type{Format: "+s"}
		for i, c := range s.Type().Children {
			t.Children = append(t.Children, w.typeOf(w.e.columns[i], c))
		}
		to, err := parquet.NewWriter(f, t, parquet.WriterOptions{GroupBytes: rowGroupBytes, Metadata: map[string]string{"huggingface": string(w.features)}})
		if err != nil {
			return err
		}
		for at := int64(0); ; {
			b, err := s.Next(ctx)
			if err != nil {
				return err
			}
			if b == nil {
				return to.Close()
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
	})
}

func (w *parquetFiles) finish(ctx context.Context, _ [][]byte) error {
	return w.e.describe(ctx, func(c *column) bool { return c.list })
}

// rows returns a view of the rows of a part.
func (w *parquetFiles) rows(p *part) (*session.View, error) {
	if p.rows != nil {
		return w.e.view.Select(p.rowsOf(0, p.n))
	}
	return w.e.view.Slice(p.from, p.from+p.n, 1)
}

// isFiles reports whether a column has image files: they become structs of bytes and a path, as
// Hugging Face stores them.
func isFiles(c *column) bool { return c.kind == isImage && c.Encoded() && !c.list }

// typeOf returns the type of a column in the file.
func (w *parquetFiles) typeOf(c *column, t *arrow.Type) *arrow.Type {
	switch {
	case isFiles(c):
		return &arrow.Type{Name: t.Name, Format: "+s", Children: []*arrow.Type{{Name: "bytes", Format: "Z"}, {Name: "path", Format: "U"}}}
	case c.kind == isLabel:
		return withoutNames(t)
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

// write writes a batch, the rows behind at of the part.
func (w *parquetFiles) write(ctx context.Context, to *parquet.Writer, p *part, at int64, d *arrow.Data) error {
	out := &arrow.Data{Rows: d.Rows, Children: make([]*arrow.Data, len(d.Children))}
	var paths *arrow.Data
	for i, c := range d.Children {
		out.Children[i] = c
		switch of := w.e.columns[i]; {
		case isFiles(of):
			if paths == nil {
				var err error
				if paths, err = w.paths(ctx, p, at, d.Rows); err != nil {
					return err
				}
			}
			inner := *c
			inner.Valid = nil
			out.Children[i] = &arrow.Data{Rows: c.Rows, Valid: c.Valid, Children: []*arrow.Data{&inner, paths}}
		case of.kind == isLabel:
			out.Children[i] = wideCodes(c)
		}
	}
	return to.Write(out)
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
