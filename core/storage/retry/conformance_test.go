package retry_test

import (
	"testing"

	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/storage/limit"
	"deeplake/core/storage/mem"
	"deeplake/core/storage/retry"
	"deeplake/core/storage/storagetest"
)

func open(t *testing.T, space *mem.Space) storage.Provider {
	t.Helper()
	p, err := space.Open(t.Context(), "place", storage.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestConformance: the decorators keep the promises of a provider, with and without ranges, and
// with faults below them.
func TestConformance(t *testing.T) {
	t.Parallel()
	plain := func(p storage.Provider) storage.Provider { return p }
	ranged := func(p storage.Provider) storage.Provider { return faultstore.NewRanged(p, nil) }
	faulty := func(p storage.Provider) storage.Provider {
		s := faultstore.NewRanged(p, nil)
		var plan faultstore.Plan
		for i := range 200 {
			// The first fault that hits decides, so each of these hits one call in about seventeen,
			// all over the calls.
			do := []faultstore.Action{faultstore.Again(storage.Soon, 0), faultstore.BreakAt(1000)}[i%2]
			if i == 1 {
				// once: of calls that race, the same one might be hit again, and that is
				// credentials that stay expired
				do = faultstore.Again(storage.Refresh, 0)
			}
			plan = append(plan, faultstore.Fault{Skip: 17*i + i%5, Do: do})
		}
		s.SetPlan(plan)
		return s
	}
	for _, c := range []struct {
		name  string
		below func(storage.Provider) storage.Provider
	}{{"plain", plain}, {"ranged", ranged}, {"faulty", faulty}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			storagetest.Run(t, func(t *testing.T) (storage.Provider, func() storage.Provider) {
				var space mem.Space
				policy, limiter := retry.New(retry.Options{}), limit.New(storage.Settings{MaxConnections: 3})
				next := func() storage.Provider {
					p := policy.Provider(limiter.Provider(c.below(open(t, &space))))
					t.Cleanup(func() { _ = p.Close() })
					return p
				}
				return next(), next
			})
		})
	}
}
