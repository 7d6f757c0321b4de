package table

import (
	"context"
	"path"
	"strings"

	"deeplake/core/arrow"
	"deeplake/core/errs"
	"deeplake/core/parquet"
)

// Format is a kind of file with a table: one line of formats.
type Format struct {
	Name string
	// Extensions are the ends of names of such files.
	Extensions []string
	// Schema opens a file, and reads what precedes its rows.
	Schema func(ctx context.Context, r parquet.ReaderAt, size int64) (Table, error)
}

// Table is an open file. Its methods may be called in parallel.
type Table interface {
	// Columns are the names of the columns.
	Columns() []string
	// Rows is the number of rows.
	Rows() int64
	// Types returns some columns without rows; nil: all.
	Types(columns []string) (*arrow.Column, error)
	// Read begins to read some columns from a row on.
	Read(ctx context.Context, columns []string, from int64, ahead bool) (Batches, error)
}

// Batches are rows of a file. One goroutine at a time may use them.
type Batches interface {
	// Next returns the next rows, a struct of columns; nil at the end.
	Next(ctx context.Context) (*arrow.Column, error)
	Close()
}

// formats lists all formats.
var formats = []Format{{Name: "parquet", Extensions: []string{".parquet", ".pq"}, Schema: openParquet}}

// formatOf returns the format that a name tells; nil: none.
func formatOf(key string) *Format {
	extension := strings.ToLower(path.Ext(key))
	for i := range formats {
		for _, e := range formats[i].Extensions {
			if e == extension {
				return &formats[i]
			}
		}
	}
	return nil
}

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

func openParquet(ctx context.Context, r parquet.ReaderAt, size int64) (Table, error) {
	f, err := parquet.Open(ctx, r, size)
	if err != nil {
		return nil, err
	}
	return parquetTable{f}, nil
}

// Read begins to read rows.
func (t parquetTable) Read(ctx context.Context, columns []string, from int64, ahead bool) (Batches, error) {
	return t.File.Read(ctx, parquet.Options{Columns: columns, From: from, Ahead: ahead})
}
