// Package invariant checks invariants of the library, and owns its only panic. The checks run in
// tests (build tag "invariants") and cost nothing otherwise. Input from outside is never checked
// here: bad input is an error.
package invariant

// Check panics with message unless holds; without the build tag it does nothing. The argument is
// evaluated in every build: put expensive ones behind "if invariant.Enabled".
func Check(holds bool, message string) {
	if Enabled && !holds {
		panic("broken invariant: " + message)
	}
}
