package viz

import (
	"context"
	"fmt"
	"testing"

	"deeplake/core/internal/task"
	"deeplake/core/tensor"
)

// TestProgress asks for the progress of a count while it waits for the store.
func TestProgress(t *testing.T) {
	t.Parallel()
	f, far := newNumbers(t, tensor.Float32, func(v float64) any { return float32(v) })
	column := map[string]string{"view": f.view, "column": "n"}
	progress := func() (p progressInfo) {
		t.Helper()
		f.call("progress", column, &p)
		return p
	}
	if p := progress(); p != (progressInfo{}) {
		t.Errorf("before the count: %+v", p)
	}
	release := far.hold()
	counting := task.New(t.Context(), 0)
	counting.Go(func(context.Context) error {
		if status, data := f.post("stats", column); status != 200 {
			return fmt.Errorf("%d %s", status, data)
		}
		return nil
	})
	<-far.held
	if p := progress(); p.Total != 2*zoneRows || p.Done < 0 || p.Done >= p.Total {
		t.Errorf("within the count: %+v", p)
	}
	release()
	if err := counting.Wait(); err != nil {
		t.Fatal(err)
	}
	if p := progress(); p != (progressInfo{}) {
		t.Errorf("after the count: %+v", p)
	}
	if status, _ := f.refused("progress", map[string]string{"view": "v99", "column": "n"}); status != 404 {
		t.Errorf("a view that is not open: %d", status)
	}
}

// TestCounts has two counts of one column: the end of the earlier one leaves the later one.
func TestCounts(t *testing.T) {
	var c counts
	key := countKey{"v1", "n"}
	_, endFirst := c.begin(key, 1)
	second, endSecond := c.begin(key, 2)
	endFirst()
	if c.get(key) != second {
		t.Error("the end of another count ended this one")
	}
	endSecond()
	if c.get(key) != nil || len(c.all) != 0 {
		t.Error("a count has no end")
	}
}
