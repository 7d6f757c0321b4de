package viz

import (
	"encoding/json"
	"slices"
	"testing"
)

// TestSkeleton has the cases of skeletonOf in web/src/draw/shapes.ts.
func TestSkeleton(t *testing.T) {
	t.Parallel()
	pair := func(a, b any) any { return []any{a, b} }
	for _, c := range []struct {
		name string
		info map[string]any
		want [][2]int
	}{
		{"none", nil, nil},
		{"from 0", map[string]any{"skeleton": []any{pair(0.0, 1.0), pair(1.0, 2.0)}}, [][2]int{{0, 1}, {1, 2}}},
		{"from 1", map[string]any{"connections": []any{pair(1.0, 2.0), pair(2.0, 3.0)}}, [][2]int{{0, 1}, {1, 2}}},
		{"beyond", map[string]any{"skeleton": []any{pair(0.0, 3.0), pair(-1.0, 1.0), pair(1e300, 0.0)}}, nil},
		{"no pairs", map[string]any{"skeleton": []any{"a", []any{1.0}, pair("a", 1.0), pair(0.5, 1.0), nil}}, nil},
		{"stored", map[string]any{"skeleton": []any{pair(json.Number("0"), json.Number("2"))}}, [][2]int{{0, 2}}},
		{"no list", map[string]any{"skeleton": "all"}, nil},
	} {
		if got := skeleton(c.info, 3); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
