package table

import (
	"context"

	"deeplake/core/arrow"
	"deeplake/core/jsonl"
)

// Bounds of the bytes that are read of a file without types to find its columns.
const (
	mostSampled  = 16 << 20
	leastSampled = 1 << 20
)

// sampled returns how many bytes of a file are read to find its columns. The files that are open
// together share the memory for them.
func (s *source) sampled() int64 {
	return max(leastSampled, min(mostSampled, openFiles*leastSampled/int64(max(1, len(s.files)))))
}

// lines is a file of JSON lines. Its first ones tell its columns.
type lines struct {
	file  opened
	types *arrow.Column
	names []string
}

func openLines(ctx context.Context, f opened) (Table, error) {
	t := &lines{file: f}
	// A line that is no JSON tells no columns. Reading it is an error, or it is left out.
	r, end, err := t.reader(ctx, jsonl.Options{Most: f.s.sampled(), Documents: f.s.documents, Rounded: f.s.rounded, LeaveOut: func(int64, error) error { return nil }}, false)
	if err != nil {
		return nil, err
	}
	defer end()
	b, err := r.Next(ctx)
	if err != nil || b == nil {
		t.types, _ = arrow.MakeColumn(&arrow.Type{Format: "+s"}, &arrow.Data{})
		return t, err
	}
	t.types = b.Column.Slice(0, 0)
	t.names = namesOf(t.types)
	return t, nil
}

// reader opens the file, and returns a function that ends its requests.
func (t *lines) reader(ctx context.Context, o jsonl.Options, isAhead bool) (*jsonl.Reader, func(), error) {
	plain, end, err := t.file.plain(ctx, isAhead)
	if err != nil {
		return nil, nil, err
	}
	return jsonl.NewReader(plain, o), end, nil
}

// Columns are the keys of the first lines.
func (t *lines) Columns() []string { return t.names }

// Rows is not known.
func (t *lines) Rows() int64 { return -1 }

// Types returns the columns of the first lines.
func (t *lines) Types(_ context.Context, columns []string) (*arrow.Column, error) {
	return t.types.Pick(columns), nil
}

// Read begins to read lines.
func (t *lines) Read(ctx context.Context, o ReadOptions) (Batches, error) {
	r, end, err := t.reader(ctx, jsonl.Options{Columns: o.Columns, Documents: t.file.s.documents, Rounded: t.file.s.rounded, From: o.From, LeaveOut: o.LeaveOut}, o.Ahead)
	if err != nil {
		return nil, err
	}
	return &numberedRows{r, end}, nil
}
