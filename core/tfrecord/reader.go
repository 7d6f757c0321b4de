package tfrecord

import (
	"context"
	"io"
	"maps"
	"slices"
	"unicode/utf8"

	"deeplake/core/arrow"
	"deeplake/core/errs"
)

const (
	// batchRows and batchBytes bound a batch.
	batchRows  = 1 << 16
	batchBytes = 16 << 20
	// maxColumns bounds the names of features, and maxCells the values of a batch, those that
	// records lack included.
	maxColumns = 1 << 14
	maxCells   = 1 << 20
)

// Form is the type of a column: Text, File or Bytes for one of bytes, with List for one whose
// records have several values, or none.
type Form uint8

// The forms of columns. Text is in UTF-8, files are image files.
const (
	Unknown Form = iota
	Text
	File
	Bytes
	List Form = 1 << 7
)

// Join returns the form that holds the values of two.
func Join(a, b Form) Form {
	list := (a | b) & List
	switch a, b = a&^List, b&^List; {
	case a == Unknown || a == b:
		return b | list
	case b == Unknown:
		return a | list
	}
	return Bytes | list
}

// Options choose records and their columns.
type Options struct {
	Columns []string        // nil: all names
	Known   map[string]Form // of columns whose form is decided; the first batch decides others
	From    int64           // records that are passed over
	Most    int64           // bytes of a batch; 0: the default
	Places  bool            // image files come with their positions in the file
	// LeaveOut is told of a record that is left out, counted from 0; nil: it is an error.
	LeaveOut func(record int64, err error) error
}

// Reader reads records. One goroutine at a time may use it.
type Reader struct {
	frames *frames
	o      Options
	forms  map[string]Form
	kinds  map[string]kind
}

// NewReader returns a reader of a file, which may be compressed by gzip or zlib.
func NewReader(from io.Reader, o Options) (*Reader, error) {
	f, err := newFrames(from)
	if err != nil {
		return nil, err
	}
	forms := map[string]Form{}
	maps.Copy(forms, o.Known)
	return &Reader{frames: f, o: o, forms: forms, kinds: map[string]kind{}}, nil
}

// Position is the number of the next record.
func (r *Reader) Position() int64 { return r.frames.n }

// Forms returns the forms of the columns of bytes that were read.
func (r *Reader) Forms() map[string]Form { return maps.Clone(r.forms) }

// column collects the values of a name.
type column struct {
	name  string
	cells []feature
}

// Next returns the next records, nil behind the last one. Its memory stays valid.
func (r *Reader) Next(ctx context.Context) (*arrow.Batch, error) {
	b := &batch{byName: map[string]int{}, r: r}
	out := &arrow.Batch{}
	most := r.o.Most
	if most == 0 {
		most = batchBytes
	}
	for len(out.Rows) < batchRows && out.Bytes < most && len(out.Rows)*len(b.columns) < maxCells {
		number := r.frames.n
		if ctx.Err() != nil && number%1024 == 0 {
			return nil, errs.Wrap(errs.Canceled, "read records", "", ctx.Err())
		}
		if number < r.o.From {
			if ok, err := r.frames.skip(); err != nil || !ok {
				return nil, err
			}
			continue
		}
		p, ok, err := r.frames.next(nil)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		at := int64(-1)
		if r.o.Places {
			at = r.frames.at(int64(len(p)))
		}
		if err := b.add(p, at); err != nil {
			err = errs.New(errs.KindOf(err), "record %d %w", number, err)
			if r.o.LeaveOut == nil {
				return nil, err
			}
			if err := r.o.LeaveOut(number, err); err != nil {
				return nil, err
			}
			continue
		}
		out.Rows = append(out.Rows, number)
		out.Bytes += int64(len(p)) + headBytes + tailBytes
	}
	if len(out.Rows) == 0 {
		return nil, nil
	}
	var err error
	out.Column, err = b.column()
	return out, err
}

// batch collects records.
type batch struct {
	r       *Reader
	byName  map[string]int
	columns []*column
	rows    int
}

// add takes a record whose data lies at a position of the file, or changes nothing but empty
// columns.
func (b *batch) add(p []byte, at int64) error {
	found := map[string]feature{}
	err := example(p, func(name []byte, f *feature) error {
		if b.r.o.Columns != nil && !slices.Contains(b.r.o.Columns, string(name)) {
			return nil
		}
		if len(name) == 0 || !utf8.Valid(name) {
			return errs.New(errs.Invalid, "has a feature with the name %.40q, want text", name)
		}
		if was := b.r.kinds[string(name)]; was != 0 && !f.isEmpty() && was != f.kind {
			return errs.New(errs.Type, "has %s for %q, and records before have %s", f.kind, name, was)
		}
		f.place(p, at)
		found[string(name)] = *f // the last one counts
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if _, known := b.byName[name]; known {
			continue
		}
		if len(b.columns) == maxColumns {
			return errs.New(errs.Invalid, "has another feature, %q, and there are %d", name, maxColumns)
		}
		b.byName[name] = len(b.columns)
		b.columns = append(b.columns, &column{name: name, cells: make([]feature, b.rows)})
	}
	for _, c := range b.columns {
		f := found[c.name]
		if c.cells = append(c.cells, f); !f.isEmpty() {
			b.r.kinds[c.name] = f.kind
		}
	}
	b.rows++
	return nil
}

// column makes the struct of all columns.
func (b *batch) column() (*arrow.Column, error) {
	all := &arrow.Type{Format: "+s"}
	data := &arrow.Data{Rows: int64(b.rows)}
	for _, c := range b.columns {
		t, d := c.build(b.r)
		t.Name = c.name
		all.Children, data.Children = append(all.Children, t), append(data.Children, d)
	}
	return arrow.MakeColumn(all, data)
}
