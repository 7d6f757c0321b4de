package main

import (
	"sync"
	"testing"

	"deeplake/core/errs"
)

func TestTable(t *testing.T) {
	t.Parallel()
	a, b := table[string]{kind: 1, name: "a"}, table[string]{kind: 2, name: "b"}
	one, two := a.put("one"), a.put("two")
	b.put("other")
	if v, err := a.get(two); v != "two" || err != nil {
		t.Errorf("get: %q, %v", v, err)
	}
	if v, err := a.take(one); v != "one" || err != nil {
		t.Errorf("take: %q, %v", v, err)
	}
	again := a.put("again") // in the slot of one
	for _, c := range []struct {
		name string
		id   uint64
		want errs.Kind
	}{
		{"closed", one, errs.Closed},
		{"zero", 0, errs.Invalid},
		{"no slot", again + 100, errs.Invalid},
		{"all ones", ^uint64(0), errs.Invalid},
		{"of another table", uint64(b.kind)<<56 | 1, errs.Invalid},
		{"of the future", again + 1<<32, errs.Closed},
	} {
		for op, f := range map[string]func(uint64) (string, error){"get": a.get, "take": a.take} {
			if v, err := f(c.id); !errs.Is(err, c.want) || v != "" {
				t.Errorf("%s %s: %q, %v; want %v", op, c.name, v, err, c.want)
			}
		}
	}
	if v, err := a.get(again); v != "again" || err != nil {
		t.Errorf("get after reuse: %q, %v", v, err)
	}
}

// Of several that take one handle, one gets it.
func TestTableTakeOnce(t *testing.T) {
	t.Parallel()
	tab := table[int]{kind: 1, name: "x"}
	for range 100 {
		id := tab.put(1)
		var wg sync.WaitGroup
		took := make(chan int, 4)
		for range 4 {
			wg.Go(func() {
				if v, err := tab.take(id); err == nil {
					took <- v
				}
			})
		}
		wg.Wait()
		if len(took) != 1 {
			t.Fatalf("%d took the handle, want 1", len(took))
		}
	}
	if len(tab.slots) != 1 {
		t.Errorf("%d slots, want 1: slots are reused", len(tab.slots))
	}
}
