package loader

import (
	"fmt"
	"os"
	"testing"

	"deeplake/core/format"
)

// TestMain makes the zstd coders of core/format, which all tests share, before any test. Objects
// made in a synctest bubble must not be used outside of it.
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
	rings.Off() // tests look at the figures of rings
	os.Exit(m.Run())
}
