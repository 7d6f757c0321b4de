package dataset

import (
	"context"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/storage"
)

// TestChunksOfCopies: byte by byte the same dataset at another place has chunks of other
// identities, and the same place opened again has the same ones.
func TestChunksOfCopies(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env, space, _ := datedEnv()
	d := numberedDataset(t, env, "mem://one")
	appendNumbers(t, d, 1, 2, 3)
	commit(t, d, "three")
	from, to := openedStore(t, space, "one"), openedStore(t, space, "two")
	for _, key := range keysBelow(t, from, "") {
		if err := to.Put(ctx, key, must[[]byte](t)(from.Get(ctx, key))); err != nil {
			t.Fatal(err)
		}
	}
	id := func(uri string) chunk.ID {
		d := must[*Dataset](t)(Open(ctx, env, uri, OpenOptions{Storage: storage.Options{}}))
		defer func() { _ = d.Close() }()
		c := must[*Column](t)(must[*View](t)(d.View(ctx)).Column("x"))
		refs := make([]chunk.Ref, 1)
		if err := c.Resolve(ctx, []int64{1}, refs); err != nil {
			t.Fatal(err)
		}
		return refs[0].Chunk.ID
	}
	if one := id("mem://one"); one == id("mem://two") || one != id("mem://one") {
		t.Error("chunks of two places have one identity, or those of one place two")
	}
}
