package table

import (
	"context"
	"maps"
	"strings"

	"deeplake/core/arrow"
	"deeplake/core/tfrecord"
)

// records is a TFRecord file. Its first records tell the types of its columns.
type records struct {
	file  opened
	types *arrow.Column
	names []string
	forms map[string]tfrecord.Form // after the first records
}

func openRecords(ctx context.Context, f opened) (Table, error) {
	t := &records{file: f}
	// A record that cannot be read tells no types. Reading it is an error, or it is left out.
	r, end, err := t.reader(ctx, tfrecord.Options{Most: f.s.sampled(), LeaveOut: func(int64, error) error { return nil }}, false)
	if err != nil {
		return nil, err
	}
	defer end()
	b, err := r.Next(ctx)
	if err != nil {
		return nil, err
	}
	t.forms = r.Forms()
	if b == nil {
		t.types, err = arrow.MakeColumn(&arrow.Type{Format: "+s"}, &arrow.Data{})
		return t, err
	}
	t.types = b.Column.Slice(0, 0)
	t.names = namesOf(t.types)
	return t, nil
}

// reader opens the file, and returns a function that ends its requests.
func (t *records) reader(ctx context.Context, o tfrecord.Options, isAhead bool) (*tfrecord.Reader, func(), error) {
	stored, end := t.file.inOrder(ctx, isAhead)
	o.Known = t.file.s.forms
	r, err := tfrecord.NewReader(stored, o)
	if err != nil {
		end()
		return nil, nil, err
	}
	return r, end, nil
}

// recordForm returns the form of the bytes that a tensor takes.
func recordForm(htype, dtype string) tfrecord.Form {
	switch {
	case strings.HasPrefix(htype, "image") || htype == "segment_mask" || htype == "binary_mask":
		return tfrecord.File
	case htype == "text" || htype == "json" || htype == "class_label" || dtype == "string":
		return tfrecord.Text
	case dtype == "bytes":
		return tfrecord.Bytes
	}
	return tfrecord.Unknown
}

// Columns are the names of the first records.
func (t *records) Columns() []string { return t.names }

// Rows is not known.
func (t *records) Rows() int64 { return -1 }

// Types returns the columns of the first records.
func (t *records) Types(_ context.Context, columns []string) (*arrow.Column, error) {
	return t.types.Pick(columns), nil
}

// Read begins to read records.
func (t *records) Read(ctx context.Context, o ReadOptions) (Batches, error) {
	r, end, err := t.reader(ctx, tfrecord.Options{Columns: o.Columns, From: o.From, LeaveOut: o.LeaveOut, Places: o.Places}, o.Ahead)
	if err != nil {
		return nil, err
	}
	return &numberedRows{r, func() {
		maps.Copy(t.file.s.forms, r.Forms()) // columns keep their forms in later files
		end()
	}}, nil
}
