package dataset

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/storage/faultstore"
	"deeplake/core/storage/mem"
	"deeplake/core/version/maintain"
)

// TestRechunkKilled stops a rechunk at every call, in every way. The head is the old commit or the
// rechunked one, with the same samples. Another rechunk and a gc end the work.
func TestRechunkKilled(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, do := range map[string]faultstore.Action{
		"fails": faultstore.Fail(errs.Storage), "crash": faultstore.Crash(), "crash after": faultstore.CrashAfter(), "lost answer": faultstore.LostAnswer(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 0; ; n++ {
				space := &mem.Space{}
				env, store := faulty(t, space.Open)
				d := numberedDataset(t, env, "x://d")
				for i := range int64(4) {
					appendNumbers(t, d, 10*i, 10*i+1)
					commit(t, d, fmt.Sprint(i))
				}
				updateNumbers(t, d, 3, 100)
				commit(t, d, "update")
				want, before := numbersIn(t, d), d.head.Record.Version
				broken := must[*Dataset](t)(Open(ctx, env, "x://d", OpenOptions{}))
				faults := store()
				called := len(faults.Calls())
				faults.SetPlan(faultstore.Plan{{Skip: n, Do: do}})
				r, failed := broken.Rechunk(ctx, RechunkOptions{All: true})
				hit := len(faults.Calls())-called > n
				_ = broken.Close()
				if failed == nil && r.Commit == nil {
					t.Fatalf("call %d: the rechunk did nothing", n)
				}
				if !hit && failed != nil {
					t.Fatalf("no call was hit, and %v", failed)
				}
				for _, again := range []bool{false, true} {
					now := must[*Dataset](t)(Open(ctx, env, "x://d", OpenOptions{}))
					if again {
						must[RechunkReport](t)(now.Rechunk(ctx, RechunkOptions{All: true}))
						must[maintain.GCReport](t)(now.Versions().GC(ctx, maintain.GCOptions{}))
					}
					v := now.head.Record.Version
					if !again && (v != before && v != before+1 || failed == nil && v != before+1) {
						t.Fatalf("call %d, %v: version %d, was %d", n, failed, v, before)
					}
					if got := numbersIn(t, now); !slices.Equal(got, want) {
						t.Fatalf("call %d, %v: rows %v, want %v", n, failed, got, want)
					}
					wantWhole(t, now)
					_ = now.Close()
				}
				if !hit {
					if n < 8 {
						t.Fatalf("a rechunk made %d calls", n)
					}
					return
				}
			}
		})
	}
}
