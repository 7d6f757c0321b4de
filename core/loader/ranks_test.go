package loader

import "testing"

// batchesOf is the number of batches of an epoch on one rank.
func batchesOf(t testing.TB, l *Loader) int64 {
	t.Helper()
	n, err := l.Batches(Pass{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
