//go:build !linux && !darwin

package local

import (
	"context"
	"os"
	"runtime"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

var _ storage.Opener = Open

// Open is errs.Unsupported: atomic and durable naming was not written for this system.
func Open(_ context.Context, path string, _ storage.Options) (storage.Provider, error) {
	return nil, errs.Op("open directory", path).New(errs.Unsupported, "local datasets are not supported on %s; use mem:// or object storage", runtime.GOOS)
}

// nonblocking is nothing here: there are no named pipes among files.
const nonblocking = 0

// openNonblocking opens a file for reading.
func openNonblocking(path string) (*os.File, error) { return os.Open(path) }
