// Package arraytest owns sample columns of every type for tests, their text form, and the check of
// a column's invariants. Only tests import it.
package arraytest
