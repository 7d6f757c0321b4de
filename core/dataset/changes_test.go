package dataset

import (
	"testing"

	"deeplake/core/tensor"
)

// TestOutdated: a view knows which samples were updated after it was made, whatever view asks, and
// every other change outdates all of them.
func TestOutdated(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := must[*Dataset](t)(Create(ctx, testEnv(), "mem://d", CreateOptions{}))
	defer func() { _ = d.Close() }()
	for _, s := range []TensorSpec{{Name: "x", DType: "int64"}, {Name: "y", DType: "int64"}} {
		if err := d.CreateTensor(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	numbers := func(name string, n int) tensor.Rows {
		rows := tensor.Rows{Tensor: name}
		for i := range n {
			rows.Samples = append(rows.Samples, numbersOf(tensor.Int64, float64(i)))
		}
		return rows
	}
	if err := d.Append(ctx, []tensor.Rows{numbers("x", 10), numbers("y", 10)}, 10); err != nil {
		t.Fatal(err)
	}
	view := func() *View {
		v, err := d.View(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	old := view()
	backwards, err := old.Slice(9, -1, -1)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Update(ctx, []int64{2, 5}, []tensor.Rows{numbers("x", 2)}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		v      *View
		tensor string
		row    int64
		want   bool
	}{
		{old, "x", 2, true}, {old, "x", 5, true}, {old, "x", 3, false}, {old, "x", -1, true},
		{old, "y", 2, false}, {old, "y", -1, false}, {old, "", 2, true}, {old, "", 3, false}, {old, "", -1, true},
		// rows of the view, not of the dataset
		{backwards, "x", 7, true}, {backwards, "x", 2, false},
		{view(), "x", 2, false}, {view(), "", -1, false},
	} {
		if got := c.v.Outdated(c.tensor, c.row); got != c.want {
			t.Errorf("tensor %q, row %d: outdated is %v, want %v", c.tensor, c.row, got, c.want)
		}
	}
	for _, c := range []struct {
		name   string
		change func() error
	}{
		{"append", func() error { return d.Append(ctx, []tensor.Rows{numbers("x", 1), numbers("y", 1)}, 1) }},
		{"delete", func() error { return d.DeleteRows(ctx, []int64{0}) }},
		{"commit", func() error { _, err := d.Commit(ctx, "all"); return err }},
		{"info", func() error { return d.SetInfo(ctx, map[string]any{"a": 1}) }},
		{"discard", func() error { return d.Discard(ctx) }},
		{"create", func() error { return d.CreateTensor(ctx, TensorSpec{Name: "z"}) }},
	} {
		v := view()
		if err := c.change(); err != nil {
			t.Fatal(err)
		}
		if !v.Outdated("y", 4) {
			t.Errorf("after %s a view is as good as a new one", c.name)
		}
	}
}

// TestManyUpdates: updates of too many rows to list concern every row of their tensor.
func TestManyUpdates(t *testing.T) {
	t.Parallel()
	var c changes
	rows := make([]int64, maxUpdated)
	for i := range rows {
		rows[i] = int64(2 * i)
	}
	c.update([]string{"x"}, rows)
	if !c.since(0, "x", 6) || c.since(0, "x", 7) || c.since(0, "y", 6) || c.since(1, "x", 6) {
		t.Error("a list of rows is not held")
	}
	c.update([]string{"x"}, []int64{7})
	if !c.since(0, "x", 9) || !c.since(1, "x", 9) || c.since(2, "x", 9) {
		t.Error("an update beyond the list does not concern every row")
	}
	if c.update([]string{"x"}, []int64{9}); c.since(2, "x", 8) || !c.since(2, "x", 9) {
		t.Error("the list does not begin again")
	}
}
