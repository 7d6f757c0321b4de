package version_test

import (
	"context"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/storage/cache"
	"deeplake/core/storage/faultstore"
	"deeplake/core/version/versiontest"
)

// TestBitThatFellOverOnTheWay: an object that was damaged on the network, and is cached so, is
// requested once more.
func TestBitThatFellOverOnTheWay(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	inner := versiontest.MemStore(t)
	f := rich(t, inner)
	for kind, key := range kinds(t, f) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			data, err := inner.Get(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			broken := faultstore.NewRanged(inner, nil)
			reading := []faultstore.Op{faultstore.Get, faultstore.Range, faultstore.ReadAt}
			store := cache.New(broken, cache.NewMemory(64<<20), func(string) bool { return true })
			mine := &versiontest.Fixture{Store: store, X: f.X, Label: f.Label}
			flip := faultstore.FlipBit(int64(4 * len(data)))
			broken.SetPlan(faultstore.Plan{{Ops: reading, Prefix: key, Do: flip}})
			if err := readAll(mine); err != nil {
				t.Errorf("one flipped bit: %v", err)
			}
			asked := 0
			for _, c := range broken.Calls() {
				if c.Key == key {
					asked++
				}
			}
			if asked != 2 {
				t.Errorf("asked %d times for the object, want 2", asked)
			}
			broken.SetPlan(faultstore.Plan{{Ops: reading, Prefix: key, Times: faultstore.Always, Do: faultstore.Fail(errs.Storage)}})
			if err := readAll(mine); err != nil {
				t.Errorf("the good object is not in the cache: %v", err)
			}
		})
	}
}
