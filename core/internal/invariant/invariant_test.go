package invariant

import "testing"

func TestCheck(t *testing.T) {
	t.Parallel()
	panics := func(holds bool) (got bool) {
		defer func() { got = recover() != nil }()
		Check(holds, "of the test")
		return false
	}
	if panics(true) {
		t.Error("a check that holds panics")
	}
	if panics(false) != Enabled {
		t.Errorf("a check that does not hold panics: %v, want %v", !Enabled, Enabled)
	}
}
