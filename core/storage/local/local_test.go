//go:build linux || darwin

package local

import (
	"testing"

	"deeplake/core/storage"
	"deeplake/core/storage/storagetest"
)

// openAt opens dir, making it, and closes it with the test.
func openAt(t testing.TB, dir string) *Provider {
	t.Helper()
	p, err := Open(t.Context(), dir, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() }) // the test may have closed it
	return p.(*Provider)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, func(t *testing.T) (storage.Provider, func() storage.Provider) {
		dir := t.TempDir()
		return openAt(t, dir), func() storage.Provider { return openAt(t, dir) }
	})
}
