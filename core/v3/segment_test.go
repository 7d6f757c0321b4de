package v3

import (
	"fmt"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// TestSegments joins the tables of a chunk to runs of items.
func TestSegments(t *testing.T) {
	two, five := tensor.Shape{2}, tensor.Shape{5}
	for name, c := range map[string]struct {
		h     header
		n     int64
		k     kind
		total int64
		want  string // n, shape, size and start of each; or the error
	}{
		"none": {want: ""},
		"the worked example": {
			h: header{shapes: []shapeRun{{tensor.Shape{2, 3}, 4}}, places: []placeRun{{24, 0, 4}}}, n: 5, total: 120, want: "5x(2, 3):24@0",
		},
		"ragged": {
			h: header{shapes: []shapeRun{{two, 1}, {five, 3}, {two, 5}}, places: []placeRun{{8, 0, 1}, {20, 16, 3}, {8, 56, 5}}}, n: 6, total: 72,
			want: "2x(2,):8@0 2x(5,):20@16 2x(2,):8@56",
		},
		"one size of several shapes": {
			h: header{shapes: []shapeRun{{tensor.Shape{1, 2}, 1}, {tensor.Shape{2, 1}, 3}}, places: []placeRun{{8, 0, 3}}}, n: 4, total: 32,
			want: "2x(1, 2):8@0 2x(2, 1):8@16",
		},
		"one shape in several rows": {
			h: header{shapes: []shapeRun{{two, 3}}, places: []placeRun{{8, 0, 0}, {8, 8, 3}}}, n: 4, total: 32, want: "1x(2,):8@0 3x(2,):8@8",
		},
		"no tables' rows in front": {h: header{places: []placeRun{{0, 0, 2}}}, n: 3, k: kind{axes: 2}, want: "3x(0, 0):0@0"},
		"no shape yet": {
			h: header{shapes: []shapeRun{{tensor.Shape{0}, 1}, {two, 2}}, places: []placeRun{{0, 0, 1}, {8, 0, 2}}}, n: 3, total: 8, want: "2x(0,):0@0 1x(2,):8@0",
		},
		"nothing, anywhere": {
			h: header{shapes: []shapeRun{{tensor.Shape{0}, 1}, {two, 2}}, places: []placeRun{{0, 1 << 31, 1}, {8, 0, 2}}}, n: 3, total: 8, want: "2x(0,):0@0 1x(2,):8@0",
		},
		"images of two axes": {
			h: header{shapes: []shapeRun{{tensor.Shape{4, 5}, 0}}, places: []placeRun{{9, 0, 0}}}, n: 1, k: kind{image: true}, total: 9, want: "1x(4, 5, 1):9@0",
		},
		"no places": {h: header{shapes: []shapeRun{{tensor.Shape{4, 5, 3}, 2}}}, n: 3, want: "3x(4, 5, 3):0@0"},
		"more samples": {
			h: header{shapes: []shapeRun{{two, 4}}, places: []placeRun{{8, 0, 4}}}, n: 4, want: "it has 5 samples, the index says 4",
		},
		"fewer samples": {
			h: header{shapes: []shapeRun{{two, 4}}, places: []placeRun{{8, 0, 4}}}, n: 6, want: "it has 5 samples, the index says 6",
		},
		"none of them": {n: 6, want: "it has 0 samples, the index says 6"},
		"too few places": {
			h: header{shapes: []shapeRun{{two, 4}}, places: []placeRun{{8, 0, 2}}}, n: 5, want: "its table of places ends at item 3 of 5",
		},
		"a gap": {
			h: header{shapes: []shapeRun{{two, 3}}, places: []placeRun{{8, 0, 1}, {8, 24, 3}}}, n: 4, total: 40, want: "2 items of 8 bytes lie at 24, want them at 16 of 40",
		},
		"not in order": {
			h: header{shapes: []shapeRun{{two, 1}}, places: []placeRun{{8, 8, 0}, {8, 0, 1}}}, n: 2, total: 16, want: "lie at 8, want them at 0 of 16",
		},
		"one over the other": {
			h: header{shapes: []shapeRun{{two, 1}}, places: []placeRun{{8, 0, 0}, {8, 0, 1}}}, n: 2, total: 16, want: "lie at 0, want them at 8 of 16",
		},
		"beyond the end": {
			h: header{shapes: []shapeRun{{two, 1}}, places: []placeRun{{8, 0, 1}}}, n: 2, total: 15, want: "2 items of 8 bytes lie at 0, want them at 0 of 15",
		},
		"before the end": {
			h: header{shapes: []shapeRun{{two, 1}}, places: []placeRun{{8, 0, 1}}}, n: 2, total: 17, want: "its items have 16 bytes, it has 17",
		},
		"sizes, huge": {
			h: header{shapes: []shapeRun{{two, maxItems - 1}}, places: []placeRun{{1<<32 - 1, 0, maxItems - 1}}}, n: maxItems, total: 1 << 40, want: "want them at 0 of",
		},
	} {
		o := &object{header: &c.h}
		items, err := o.segments(c.n, &c.k)
		if err == nil {
			err = inOrder(items, c.total)
		}
		if err != nil {
			if !errs.Is(err, errs.Corrupt) || c.want == "" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
			continue
		}
		var got []string
		n := int64(0)
		for _, s := range items {
			got = append(got, fmt.Sprintf("%dx%s:%d@%d", s.n, s.shape, s.size, s.start))
			n += s.n
		}
		if text := strings.Join(got, " "); text != c.want || n != c.n {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
		each, err := spread(items, c.total)
		if err != nil || int64(len(each)) != c.n || inOrder(each, c.total) != nil {
			t.Errorf("%s: %d items, %v", name, len(each), err)
		}
		runs := int64(0)
		for i, r := range shapesOf(items) {
			if runs += r.Count; i > 0 && r.Shape.Equal(shapesOf(items)[i-1].Shape) {
				t.Errorf("%s: run %d has the shape of the one before", name, i)
			}
		}
		if runs != c.n {
			t.Errorf("%s: shapes of %d items", name, runs)
		}
	}
}

// TestSpread bounds the items of a chunk that are listed.
func TestSpread(t *testing.T) {
	if _, err := spread([]segment{{n: maxItems, shape: tensor.Shape{0}}}, 100); !errs.Is(err, errs.Corrupt) {
		t.Error(err)
	}
	if all, err := spread([]segment{{n: maxSpread, shape: tensor.Shape{0}}}, 0); err != nil || len(all) != maxSpread {
		t.Error(len(all), err)
	}
}

// TestArrays holds the sizes of arrays against their shapes.
func TestArrays(t *testing.T) {
	for _, c := range []struct {
		s    segment
		d    tensor.DType
		want bool
	}{
		{segment{n: 1, shape: tensor.Shape{2, 3}, size: 24}, tensor.Int32, true},
		{segment{n: 1, shape: tensor.Shape{3, 2}, size: 24}, tensor.Int32, true},
		{segment{n: 1, shape: tensor.Shape{2, 3}, size: 24}, tensor.Int16, false},
		{segment{n: 1, shape: tensor.Shape{0, 3}, size: 0}, tensor.Int16, true},
		{segment{n: 1, shape: tensor.Shape{}, size: 4}, tensor.Float32, true},
		{segment{n: 1, shape: tensor.Shape{1<<32 - 1, 1<<32 - 1, 1<<32 - 1}, size: 1}, tensor.Uint8, false},
		{segment{n: 1, shape: tensor.Shape{1 << 31, 1 << 31, 4}, size: 0}, tensor.Uint8, false},
	} {
		if err := checkArrays([]segment{c.s}, c.d); (err == nil) != c.want {
			t.Errorf("%+v of %s: %v", c.s, c.d, err)
		}
	}
}
