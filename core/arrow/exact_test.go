package arrow

import (
	"strings"
	"testing"
)

func TestIsExact(t *testing.T) {
	t.Parallel()
	for integer, want := range map[string]bool{
		"0": true, "-7": true, "9007199254740992": true, "9007199254740993": false, "-9007199254740993": false,
		"9007199254740994": true, "18446744073709551616": true, "18446744073709551615": false,
		"0000000000000000000000": true, "1" + strings.Repeat("0", 22): true, "1" + strings.Repeat("0", 23): false,
		strings.Repeat("9", 400): false, "1" + strings.Repeat("0", 1<<20): false,
	} {
		if got := IsExact(integer); got != want {
			t.Errorf("%.40s (%d characters): %v", integer, len(integer), got)
		}
	}
}
