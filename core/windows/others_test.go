package windows

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/dataset"
	"deeplake/core/loader"
	"deeplake/core/storage/faultstore"
)

// source opens the rows of a set.
func (s *set) source(t testing.TB, scheme string) loader.Source {
	t.Helper()
	d, err := dataset.Open(context.Background(), s.env, scheme+"://set", dataset.OpenOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	v, err := d.View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return loader.SourceOf(v)
}

// TestOthers lists tensors with an entry for each frame. Numbers of episodes are none.
func TestOthers(t *testing.T) {
	t.Parallel()
	for _, frames := range [][]int{{3, 5, 7}, {4}, {3, -1, 7}, {2, 2}} {
		src := newSet(t, frames...).source(t, "mem")
		for named, want := range map[string][]string{"state": {"items"}, "items": {"state"}} {
			o := Options{FPS: 10, Step: 1, Tensors: []Tensor{{Name: named, Times: []float64{0}}}}
			got, err := Others(t.Context(), src, nil, o)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%v beside %s: %v, %v, want %v", frames, named, got, err, want)
			}
		}
	}
	none, err := Others(t.Context(), newSet(t).source(t, "mem"), nil, options(nil))
	if err != nil || none != nil {
		t.Errorf("no rows: %v, %v", none, err)
	}
}

// TestPagesAreReadAtOnce: on a store, the index pages of all tensors are requested side by side, so
// windows wait for two of them and not for those of each tensor.
func TestPagesAreReadAtOnce(t *testing.T) {
	t.Parallel()
	s := newSet(t, 3, 5, 7)
	synctest.Test(t, func(t *testing.T) {
		src := s.source(t, "far")
		const delay = time.Second
		before := len(s.store.Calls())
		s.store.SetPlan(faultstore.Plan{{Ops: faultstore.Reading(), Times: faultstore.Always, Do: faultstore.Delay(delay)}})
		began := time.Now()
		if _, err := Place(t.Context(), src, nil, options(nil)); err != nil {
			t.Fatal(err)
		}
		calls := len(s.store.Calls()) - before
		if waited := time.Since(began); calls < 3 || waited > 2*delay {
			t.Errorf("%d requests took the time of %d in sequence", calls, int(waited/delay))
		}
	})
}
