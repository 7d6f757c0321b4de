// Package invariant owns the checks of what the library believes about itself, and the only panic
// of the project. They are made in tests (build tag "invariants") and cost nothing otherwise. It
// never checks what comes from outside: that is an error, not a broken belief.
package invariant

// Check panics with message unless holds; without the build tag it does nothing. The argument is
// evaluated all the same: put what costs time behind "if invariant.Enabled".
func Check(holds bool, message string) {
	if Enabled && !holds {
		panic("broken invariant: " + message)
	}
}
