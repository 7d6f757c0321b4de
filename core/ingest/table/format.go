package table

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"

	"deeplake/core/arrow"
	"deeplake/core/arrow/ipc"
	"deeplake/core/errs"
	"deeplake/core/parquet"
)

// Format is a kind of file with a table: one line of formats.
type Format struct {
	Name string
	// Extensions are the ends of names of such files.
	Extensions []string
	// Pattern are the names of such files, for a format whose extension is one of others; nil: the
	// extensions tell.
	Pattern *regexp.Regexp
	// Schema opens a file, and reads what precedes its rows.
	Schema func(ctx context.Context, f opened) (Table, error)
	// Open says that files state no types: later rows may have wider numbers. Such files may be
	// compressed as a whole.
	Open bool
	// Keys says that each row names its columns: later ones may have others.
	Keys bool
	// Written says that values tell the type of a column. The reader gives it one type in all
	// files, by source.known or source.forms.
	Written bool
	// Links says that the format stores image files without change, so that links can lead to them.
	Links bool
	// Parts says that the format reads its compression itself, which is gzip. Names of its files
	// may end with "-00000-of-00001".
	Parts bool
	// Index leaves out listed files that are no part of the table; nil: all are.
	Index func(s *source, ctx context.Context) error
}

// Table is an open file. Its methods may be called in parallel.
type Table interface {
	// Columns are the names of the columns.
	Columns() []string
	// Rows is the number of rows; -1: not known.
	Rows() int64
	// Types returns some columns without rows; nil: all.
	Types(ctx context.Context, columns []string) (*arrow.Column, error)
	// Read begins to read rows.
	Read(ctx context.Context, o ReadOptions) (Batches, error)
}

// ReadOptions choose the rows and columns of a file.
type ReadOptions struct {
	Columns []string // nil: all
	From    int64    // position of the first row
	Ahead   bool     // requests bytes ahead: for stores across a network
	Places  bool     // image files come with their positions in the file
	// LeaveOut is told of a row that cannot be read; nil: it is an error.
	LeaveOut func(row int64, err error) error
}

// Batches are rows of a file. One goroutine at a time may use them.
type Batches interface {
	// Next returns the next rows; a nil column at the end.
	Next(ctx context.Context) (Batch, error)
	Close()
}

// Batch is rows of a file, a struct of columns.
type Batch struct {
	*arrow.Column
	To    int64   // position behind the rows in the file
	Lines []int64 // positions of the rows; nil: they are consecutive
	Bytes int64   // of the file; 0: not known
}

// numbered reads rows that have numbers in their file.
type numbered interface {
	// Next returns the next rows, nil behind the last one.
	Next(ctx context.Context) (*arrow.Batch, error)
	// Position is the number of the next row.
	Position() int64
}

// numberedRows are the Batches of such a reader.
type numberedRows struct {
	numbered
	end func()
}

// Next returns the next rows.
func (r *numberedRows) Next(ctx context.Context) (Batch, error) {
	b, err := r.numbered.Next(ctx)
	if err != nil || b == nil {
		return Batch{To: r.Position()}, err
	}
	return Batch{Column: b.Column, To: r.Position(), Lines: b.Rows, Bytes: b.Bytes}, nil
}

// Close ends the requests.
func (r *numberedRows) Close() { r.end() }

// at is the position of a row in the file, whose batch begins at from.
func (b Batch) at(from int64, row int) int64 {
	if b.Lines != nil {
		return b.Lines[row]
	}
	return from + int64(row)
}

// namesOf returns the names of the columns of a struct.
func namesOf(c *arrow.Column) (names []string) {
	fields, _ := c.Fields()
	for _, f := range fields {
		names = append(names, f.Name())
	}
	return names
}

// formats lists all formats.
var formats = []Format{
	{Name: "parquet", Extensions: []string{".parquet", ".pq"}, Schema: openParquet, Links: true},
	{Name: "feather", Extensions: []string{".feather", ".arrow", ".ipc"}, Schema: openArrow},
	{Name: "csv", Extensions: []string{".csv", ".tsv"}, Schema: openCSV, Open: true, Written: true},
	{Name: "mds", Extensions: []string{".mds", ".mds.zstd", ".mds.gz", ".mds.bz2", ".mds.br", ".mds.snappy"}, Schema: openShards, Index: (*source).indexed, Links: true},
	{Name: "litdata", Pattern: chunkName, Schema: openChunks, Index: (*source).described, Links: true},
	{Name: "tfrecord", Extensions: []string{".tfrecord", ".tfrecords", ".tfrec"}, Schema: openRecords, Open: true, Keys: true, Written: true, Parts: true, Links: true},
	{Name: "ffcv", Extensions: []string{".beton"}, Schema: openBeton, Links: true},
	{Name: "json", Extensions: []string{".jsonl", ".ndjson"}, Schema: openLines, Open: true, Keys: true},
}

// packings are the ends of names of compressed files, whose formats state no compression.
var packings = []string{".gz", ".zst", ".bz2", ".lz4"}

// formatOf returns the format that a name tells; nil: none.
func formatOf(key string) *Format {
	name := strings.ToLower(path.Base(key))
	for i := range formats {
		if p := formats[i].Pattern; p != nil && p.MatchString(name) {
			return &formats[i]
		}
		if slices.ContainsFunc(formats[i].Extensions, func(end string) bool { return strings.Count(end, ".") > 1 && strings.HasSuffix(name, end) }) {
			return &formats[i]
		}
	}
	for _, packing := range packings {
		if plain, ok := strings.CutSuffix(name, packing); ok {
			if f := formatOf(plain); f != nil && f.Open && (!f.Parts || packing == ".gz") {
				return f
			}
			return nil
		}
	}
	plain := partName.ReplaceAllString(name, "")
	for i := range formats {
		f := &formats[i]
		if slices.Contains(f.Extensions, path.Ext(name)) || f.Parts && slices.Contains(f.Extensions, path.Ext(plain)) {
			return f
		}
	}
	return nil
}

// partName is the end of the name of a part, as TensorFlow writes it.
var partName = regexp.MustCompile(`-\d{5,}-of-\d{5,}$`)

// takes reports whether a file without a name of a format may be of this one.
func (f *Format) takes(key string) bool { return f.Parts && partName.MatchString(key) }

// Named reports whether a name is that of a file with a table.
func Named(key string) bool { return formatOf(key) != nil }

// named returns the format of a name, as options give it.
func named(format string) (*Format, error) {
	names := []string{}
	for i := range formats {
		if formats[i].Name == format {
			return &formats[i], nil
		}
		names = append(names, formats[i].Name)
	}
	return nil, errs.New(errs.Invalid, "format is %q, want %s", format, strings.Join(names, ", "))
}

// parquetTable is a Table of core/parquet.
type parquetTable struct{ *parquet.File }

func openParquet(ctx context.Context, f opened) (Table, error) {
	file, err := parquet.Open(ctx, f, f.f.size)
	if err != nil {
		return nil, err
	}
	return parquetTable{file}, nil
}

// Types returns columns without rows.
func (t parquetTable) Types(_ context.Context, columns []string) (*arrow.Column, error) {
	return t.File.Types(columns)
}

// Read begins to read rows.
func (t parquetTable) Read(ctx context.Context, o ReadOptions) (Batches, error) {
	rows, err := t.File.Read(ctx, parquet.Options{Columns: o.Columns, From: o.From, Ahead: o.Ahead, Places: o.Places})
	if err != nil {
		return nil, err
	}
	return parquetRows{rows}, nil
}

type parquetRows struct{ *parquet.Rows }

// Next returns the next rows.
func (r parquetRows) Next(ctx context.Context) (Batch, error) {
	c, err := r.Rows.Next(ctx)
	return Batch{Column: c, To: r.Position()}, err
}

// arrowTable is a Table of core/arrow/ipc.
type arrowTable struct{ *ipc.File }

func openArrow(ctx context.Context, f opened) (Table, error) {
	file, err := ipc.Open(ctx, f, f.f.size)
	if err != nil {
		return nil, err
	}
	return arrowTable{file}, nil
}

// Types returns columns without rows.
func (t arrowTable) Types(_ context.Context, columns []string) (*arrow.Column, error) {
	return t.File.Types(columns)
}

// Rows is not known before the record batches are read.
func (t arrowTable) Rows() int64 { return -1 }

// Read begins to read rows.
func (t arrowTable) Read(ctx context.Context, o ReadOptions) (Batches, error) {
	rows, err := t.File.Read(ctx, ipc.Options{Columns: o.Columns, From: o.From, Ahead: o.Ahead})
	if err != nil {
		return nil, err
	}
	return arrowRows{rows}, nil
}

type arrowRows struct{ *ipc.Rows }

// Next returns the next rows.
func (r arrowRows) Next(ctx context.Context) (Batch, error) {
	c, size, err := r.Rows.Next(ctx)
	return Batch{Column: c, To: r.Position(), Bytes: size}, err
}
