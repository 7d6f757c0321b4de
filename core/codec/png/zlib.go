//go:build !js

package png

import (
	"io"

	"github.com/klauspost/compress/zlib"
)

// inflateResetter is implemented by the readers of newInflater.
type inflateResetter = zlib.Resetter

type deflater = zlib.Writer

func newInflater(r io.Reader) (io.ReadCloser, error) { return zlib.NewReader(r) }

func newDeflater(w io.Writer, level int) (*deflater, error) { return zlib.NewWriterLevel(w, level) }
