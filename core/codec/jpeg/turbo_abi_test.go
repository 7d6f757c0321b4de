//go:build cgo && !nolibjpeg

package jpeg

import (
	"os"
	"strings"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// TestOtherLibrary checks the error if the libjpeg at run time has another binary interface than
// the headers of the build. TestLibjpegInterfaces of go/tests builds it that way.
func TestOtherLibrary(t *testing.T) {
	if os.Getenv("DEEPLAKE_TEST_OTHER_LIBJPEG") == "" {
		t.Skip("built for the library that runs")
	}
	file := golden(t, "one.jpg")
	d := New().NewDecoder()
	defer d.Close()
	for range 2 { // the decoder stays unchanged
		if err := d.Decode(make([]byte, 3), file, codec.AsStored); !errs.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "not the one of the build") {
			t.Errorf("decode: %v, want that the library is another", err)
		}
	}
	_, err := New().Encode(nil, make([]byte, 3), tensor.Uint8, tensor.Shape{1, 1, 3}, codec.Options{})
	if !errs.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "not the one of the build") {
		t.Errorf("encode: %v, want that the library is another", err)
	}
}
