package ingest

import (
	"context"
	"sync"

	"deeplake/core/storage"
)

// Format is a kind of object that an import takes in: an image or a video, or an archive of
// members. A format is one file of this package and one line of formats. Its rows fill tensors of
// the table in columns.go, which all formats share, since objects of several formats lie in one
// source.
type Format struct {
	// Probe reports whether an object is of this format, by its name alone. The first format of the
	// table that accepts a name takes the object.
	Probe func(key string) bool
	// Cost estimates the memory of an object between its request and its last written row.
	Cost func(im *importer, e storage.Entry) int64
	// Portions bounds the slices of rows that wait for the writer; 0 means 1.
	Portions int
	// Members says that one object becomes many rows. If the object changes, its new rows are
	// appended and its earlier rows deleted. Otherwise an object is one row, which is updated.
	Members bool
	// Rows reads an object and sends its rows. Faults of single rows are rows with a reason. An
	// error is about the whole object.
	Rows func(ctx context.Context, im *importer, o *object) error
}

// formats lists all formats. The last one takes every name.
var formats = sync.OnceValue(func() []Format { return []Format{tarFormat(), fileFormat()} })

// formatOf returns the format of an object.
func formatOf(key string) *Format {
	all := formats()
	for i := range all {
		if all[i].Probe(key) {
			return &all[i]
		}
	}
	return &all[len(all)-1]
}
