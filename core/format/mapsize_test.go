package format

import (
	"reflect"
	"testing"

	"deeplake/core/tensor"
)

// TestMapSize bounds the map of a petabyte of photographs: 125 million chunks of 8 MB, below 400 MB
// of leaf and inner pages.
func TestMapSize(t *testing.T) {
	t.Parallel()
	const chunks, pages = 125_000_000, 16
	leaf, inner := 0, Inner{Height: 1}
	for i := range pages {
		l := jpegEntries(MaxPageEntries)
		data := must(EncodeLeaf(l))
		if back := must(DecodeLeaf(data)); !reflect.DeepEqual(back, l) {
			t.Fatal("a leaf page changed on the way")
		}
		leaf += len(data)
		inner.Children = append(inner.Children, Child{First: int64(i) * 77 * MaxPageEntries, Page: NewUUID(), Entries: MaxPageEntries})
	}
	all := float64(leaf+len(must(EncodeInner(inner)))) / (pages * MaxPageEntries) * chunks / 1e6
	t.Logf("%.1f MB of map for a petabyte", all)
	if all >= 400 {
		t.Errorf("%.1f MB of map for a petabyte, want less than 400", all)
	}
}

func TestCoarse(t *testing.T) {
	t.Parallel()
	bounds := func(lo, hi tensor.Shape) Stats { return Stats{MinShape: lo, MaxShape: hi} }
	for _, c := range []struct {
		name               string
		in, before, result Stats
	}{
		{"none", Stats{}, bounds(tensor.Shape{1}, tensor.Shape{2}), Stats{}},
		{"one shape", bounds(tensor.Shape{5, 7}, tensor.Shape{5, 7}), Stats{}, bounds(tensor.Shape{5, 7}, tensor.Shape{5, 7})},
		{"an axis varies", bounds(tensor.Shape{5, 0, 3}, tensor.Shape{9, 1, 3}), Stats{}, bounds(tensor.Shape{4, 0, 3}, tensor.Shape{16, 1, 3})},
		{"powers of two stay", bounds(tensor.Shape{4}, tensor.Shape{16}), Stats{}, bounds(tensor.Shape{4}, tensor.Shape{16})},
		{"bounds before hold", bounds(tensor.Shape{5}, tensor.Shape{9}), bounds(tensor.Shape{3}, tensor.Shape{20}), bounds(tensor.Shape{3}, tensor.Shape{20})},
		{"bounds before are too loose", bounds(tensor.Shape{64}, tensor.Shape{100}), bounds(tensor.Shape{8}, tensor.Shape{1024}), bounds(tensor.Shape{64}, tensor.Shape{128})},
		{"bounds before do not hold", bounds(tensor.Shape{5}, tensor.Shape{9}), bounds(tensor.Shape{6}, tensor.Shape{8}), bounds(tensor.Shape{4}, tensor.Shape{16})},
		{"other axes before", bounds(tensor.Shape{5}, tensor.Shape{9}), bounds(tensor.Shape{4, 4}, tensor.Shape{16, 16}), bounds(tensor.Shape{4}, tensor.Shape{16})},
		{"a range is kept", Stats{HasRange: true, Min: 1, Max: 2, MinShape: tensor.Shape{5}, MaxShape: tensor.Shape{9}}, Stats{},
			Stats{HasRange: true, Min: 1, Max: 2, MinShape: tensor.Shape{4}, MaxShape: tensor.Shape{16}}},
		{"the largest", bounds(tensor.Shape{0}, tensor.Shape{tensor.MaxSampleBytes}), Stats{}, bounds(tensor.Shape{0}, tensor.Shape{tensor.MaxSampleBytes})},
	} {
		if got := c.in.Coarse(c.before); !reflect.DeepEqual(got, c.result) || got.check() != nil {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.result)
		}
	}
}
