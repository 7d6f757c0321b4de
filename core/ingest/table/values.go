package table

import (
	"context"
	"maps"
	"path"
	"strings"
	"unicode/utf8"

	"deeplake/core/arrow"
	"deeplake/core/csv"
	"deeplake/core/errs"
)

// values is a file of comma-separated values, or of values between tabs. Its first records tell the
// types of its columns.
type values struct {
	file     opened
	types    *arrow.Column
	names    []string
	known    map[string]csv.Known // after the first records
	nameless error                // about a column without a name; nil: all have one
}

// setSeparator sets the separator of CSV that the user states; "" states none.
func (s *source) setSeparator(by string) error {
	if by == "" {
		return nil
	}
	if s.format.Name != "csv" {
		return errs.New(errs.Invalid, "separator is of CSV, and the files are %s; leave it out", s.format.Name)
	}
	if by == "tab" || by == `\t` {
		by = "\t"
	}
	if len(by) != 1 || by[0] >= utf8.RuneSelf || strings.Contains("\"\r\n", by) {
		return errs.New(errs.Invalid, "separator is %q, want one character of ASCII, such as ; or tab", by)
	}
	s.separator = by[0]
	return nil
}

func openCSV(ctx context.Context, f opened) (Table, error) {
	t := &values{file: f}
	// A record that cannot be read tells no types. Reading it is an error, or it is left out.
	r, end, err := t.reader(ctx, csv.Options{Most: f.s.sampled(), Nameless: true, LeaveOut: func(int64, error) error { return nil }}, false)
	if err != nil {
		return nil, err
	}
	defer end()
	t.names, t.nameless = r.Columns(), r.CheckNames()
	b, err := r.Next(ctx)
	if err != nil {
		return nil, err
	}
	t.known = r.Known()
	if b != nil {
		t.types = b.Column.Slice(0, 0)
		return t, nil
	}
	all, none := &arrow.Type{Format: "+s"}, &arrow.Data{}
	for _, name := range t.names {
		all.Children, none.Children = append(all.Children, &arrow.Type{Name: name, Format: "n"}), append(none.Children, &arrow.Data{})
	}
	t.types, err = arrow.MakeColumn(all, none)
	return t, err
}

// reader opens the file, and returns a function that ends its requests.
func (t *values) reader(ctx context.Context, o csv.Options, isAhead bool) (*csv.Reader, func(), error) {
	plain, end, err := t.file.plain(ctx, isAhead)
	if err != nil {
		return nil, nil, err
	}
	if o.Comma = t.file.s.separator; o.Comma == 0 && strings.Contains(strings.ToLower(path.Base(t.file.f.key)), ".tsv") {
		o.Comma = '\t'
	}
	o.Known = t.file.s.known
	r, err := csv.NewReader(plain, o)
	if err != nil {
		end()
		return nil, nil, err
	}
	return r, end, nil
}

// knownOf describes the column of a tensor. Labels may be names or numbers.
func knownOf(htype, dtype string) csv.Known {
	k := csv.Known{Holes: htype == "class_label" || htype == "json" || htype == "tag"}
	switch {
	case htype == "text" || htype == "json" || htype == "tag" || dtype == "string" || dtype == "bytes":
		k.Kinds = csv.Text
	case htype == "class_label":
	case dtype == "bool":
		k.Kinds = csv.Bools
	case strings.HasPrefix(dtype, "int"):
		k.Kinds = csv.Integers
	case strings.HasPrefix(dtype, "uint"):
		k.Kinds = csv.Unsigned
	case strings.HasPrefix(dtype, "float"):
		k.Kinds = csv.Floats
	case dtype == "date":
		k.Kinds = csv.Dates
	case strings.HasPrefix(dtype, "timestamp[ns,"):
		k.Kinds = csv.ZonedNanos
	case strings.HasPrefix(dtype, "timestamp[ns"):
		k.Kinds = csv.Nanos
	case strings.HasPrefix(dtype, "timestamp[") && strings.Contains(dtype, ","):
		k.Kinds = csv.Zoned
	case strings.HasPrefix(dtype, "timestamp["):
		k.Kinds = csv.Times
	}
	k.Fixed = k.Kinds != 0
	return k
}

// Columns are the names in the first line.
func (t *values) Columns() []string { return t.names }

// Rows is not known.
func (t *values) Rows() int64 { return -1 }

// Types returns the columns of the first records.
func (t *values) Types(_ context.Context, columns []string) (*arrow.Column, error) {
	return t.types.Pick(columns), nil
}

// Read begins to read records.
func (t *values) Read(ctx context.Context, o ReadOptions) (Batches, error) {
	r, end, err := t.reader(ctx, csv.Options{Columns: o.Columns, From: o.From, LeaveOut: o.LeaveOut}, o.Ahead)
	if err != nil {
		return nil, err
	}
	return &numberedRows{r, func() {
		maps.Copy(t.file.s.known, r.Known()) // columns keep their kinds in later files
		end()
	}}, nil
}
