package s3_test

import (
	"testing"

	"deeplake/core/storage"
	"deeplake/core/storage/s3"
	"deeplake/core/storage/storagetest"
	"deeplake/go/tests/objectstore"
)

// options are those of a user who has said everything; the environment of the tests plays no part.
func options(s *objectstore.Server) storage.Options {
	return storage.Options{Create: true, Settings: s.Settings(), Environ: map[string]string{}}
}

func open(t testing.TB, stores *s3.Stores, rest string, o storage.Options) storage.Provider {
	t.Helper()
	p, err := stores.Open(t.Context(), rest, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func TestConformance(t *testing.T) {
	t.Parallel()
	server := objectstore.S3(t)
	stores := new(s3.Stores)
	storagetest.Run(t, func(t *testing.T) (storage.Provider, func() storage.Provider) {
		rest := server.NewBucket(t) + "/a/prefix"
		reopen := func() storage.Provider { return open(t, stores, rest, options(server)) }
		return reopen(), reopen
	})
}
