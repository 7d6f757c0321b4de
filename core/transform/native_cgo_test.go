//go:build cgo

package transform

import (
	"strings"
	"testing"

	"deeplake/core/errs"
)

// TestNoMemory: what cannot be had is an error, and the arena goes on as it was.
func TestNoMemory(t *testing.T) {
	t.Parallel()
	var a arena
	defer a.free()
	if _, err := a.ints(1 << 60); !errs.Is(err, errs.Internal) || !strings.Contains(err.Error(), "out of memory") {
		t.Errorf("%v, want out of memory", err)
	}
	if b, err := a.ints(3); err != nil || len(b) != 3 || len(a.blocks) != 1 {
		t.Errorf("afterwards: %d numbers, %v, %d blocks", len(b), err, len(a.blocks))
	}
}
