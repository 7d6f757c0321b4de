package version

import (
	"fmt"
	"os"
	"testing"

	"deeplake/core/format"
)

// TestMain lets the zstd coders of core/format, which all tests share, come into being outside of
// any test: what a synctest bubble makes, nobody outside of it may use.
func TestMain(m *testing.M) {
	schema := &format.Schema{Info: map[string]any{}}
	for i := range 100 {
		schema.Info[fmt.Sprintf("member %d", i)] = "the same again and again"
	}
	data, err := format.EncodeSchema(schema)
	if err == nil {
		_, err = format.DecodeSchema(data)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
