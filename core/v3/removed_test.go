package v3

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"deeplake/core/format"
	"deeplake/core/version/rowset"
)

// operations draws the operations of each commit of a branch, the first one left out.
func operations(t *testing.T, f files, branch int) (out []string) {
	t.Helper()
	ctx := context.Background()
	s, err := presented(ctx, inMemory(t, f))
	if err != nil {
		t.Fatal(err)
	}
	b := &s.loader.tree.branches[branch]
	last, err := s.last(ctx, branch)
	if err != nil {
		t.Fatal(err)
	}
	for n := uint64(2); n <= last; n++ {
		data, err := s.Get(ctx, format.RecordKey(b.id, n))
		if err != nil {
			t.Fatal(err)
		}
		rec, err := format.DecodeRecord(data)
		if err != nil {
			t.Fatal(err)
		}
		var text []string
		names := map[format.UUID]string{}
		for _, ts := range rec.Schema.Tensors {
			names[ts.ID] = ts.Name
		}
		for _, op := range rec.Ops {
			line := string(op.Op)
			if op.Op == format.OpUpdate {
				line += " " + names[op.Tensor]
			}
			if op.Op == format.OpAppend {
				line += fmt.Sprintf(" %d+%d", op.Start, op.Rows)
			}
			for _, r := range op.Ranges {
				line += fmt.Sprintf(" %d+%d", r.Start, r.Count)
			}
			text = append(text, line)
		}
		out = append(out, strings.Join(text, ", "))
	}
	return out
}

// TestRemovedRows tells removed rows from those that stayed, where ids of samples tell them apart.
func TestRemovedRows(t *testing.T) {
	t.Parallel()
	one := func(f files, change func(f files)) files {
		f = maps.Clone(f)
		change(f)
		return f
	}
	removed := fixture(t, "removed")
	coarse := "delete 0+20, append 20+20"
	for name, c := range map[string]struct {
		f    files
		want []string
	}{
		"of all tensors": {removed, []string{
			"delete 0+1 4+1 17+1, append 20+3, update numbers 7+1", "update text 3+1", "delete 12+5",
		}},
		"of one tensor": {fixture(t, "removed_apart"), []string{"delete 0+6, append 6+6"}},
		"without ids":   {fixture(t, "removed_bare"), []string{"delete 0+6, append 6+5"}},
		"ids that are damaged": {one(removed, func(f files) {
			for key := range f {
				if strings.Contains(key, "_labels_id/chunks/") {
					f[key] = f[key][:len(f[key])-8]
				}
			}
		}), []string{coarse, "update text 22+1", "delete 20+20, append 40+15"}},
		"ids that are gone": {one(removed, func(f files) {
			for key := range f {
				if strings.Contains(key, "_text_id/") {
					delete(f, key)
				}
			}
		}), []string{coarse, "update text 22+1", "delete 20+20, append 40+15"}},
	} {
		if got := operations(t, c.f, 0); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	// The first commit of the branch is record 1.
	if got := operations(t, removed, 1); len(got) != 0 {
		t.Errorf("side: %q", got)
	}
}

// TestLost finds old ids among new ones.
func TestLost(t *testing.T) {
	for _, c := range []struct {
		old, now []uint64
		want     rowset.Set
	}{
		{nil, nil, rowset.Set{}},
		{[]uint64{1, 2, 3}, []uint64{1, 2, 3, 4}, rowset.Set{}},
		{[]uint64{1, 2, 3, 4}, []uint64{2, 9}, rowset.Set{{Start: 0, Count: 1}, {Start: 2, Count: 2}}},
		{[]uint64{1, 2}, nil, rowset.Set{{Start: 0, Count: 2}}},
	} {
		if got := lost(c.old, c.now); !slices.Equal(got, c.want) {
			t.Errorf("%d of %d: %v, want %v", c.now, c.old, got, c.want)
		}
	}
}

// TestAxis places rows and entries among deleted rows.
func TestAxis(t *testing.T) {
	a := axis{live: rowset.Set{{Start: 1, Count: 3}, {Start: 6, Count: 2}, {Start: 10, Count: 5}}, physical: 16}
	if got, want := fmt.Sprint(a.deleted()), "[{0 1} {4 2} {8 2} {15 1}]"; got != want {
		t.Errorf("deleted %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(a.within(rowset.Set{{Start: 0, Count: 1}, {Start: 2, Count: 4}, {Start: 9, Count: 7}})), "[{1 1} {3 1} {6 2} {10 1} {14 1}]"; got != want {
		t.Errorf("within %s, want %s", got, want)
	}
	var got []string
	for _, e := range a.placed([]format.Entry{{Row: 0, Rows: 2}, {Row: 2, Rows: 4, First: 7}, {Row: 6, Rows: 1, Tiles: 4}, {Row: 7, Rows: 9}}) {
		got = append(got, fmt.Sprintf("%d+%d from %d", e.Row, e.Rows, e.First))
	}
	if text, want := strings.Join(got, ", "), "1+2 from 0, 3+1 from 7, 6+2 from 8, 10+1 from 10, 11+1 from 0, 12+3 from 0"; text != want {
		t.Errorf("placed %s, want %s", text, want)
	}
}
