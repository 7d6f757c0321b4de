package viz

import (
	"slices"
	"testing"

	"deeplake/core/dataset"
	"deeplake/core/tensor"
)

func TestLabelsOf(t *testing.T) {
	t.Parallel()
	label := func(name string, most ...int64) tensorInfo {
		return tensorInfo{Name: name, Draw: "label", MaxShape: append(tensor.Shape{}, most...)}
	}
	boxes := tensorInfo{Name: "boxes", Draw: "boxes", MaxShape: tensor.Shape{2, 4}}
	for _, c := range []struct {
		what string
		of   tensorInfo
		all  []tensorInfo
		want []string
	}{
		{"the class of the picture is none of the boxes", boxes, []tensorInfo{label("kind"), label("box_class", 2)}, []string{"box_class"}},
		{"one label for all", boxes, []tensorInfo{label("kind")}, []string{"kind"}},
		{"lists that had one label so far", boxes, []tensorInfo{label("kind"), label("labels", 1)}, []string{"labels"}},
		{"truth and prediction", tensorInfo{Name: "pred_boxes", Draw: "boxes"}, []tensorInfo{label("gt_labels", 5), label("pred_labels", 5)}, []string{"pred_labels"}},
		{"names that say nothing", boxes, []tensorInfo{label("labels", 5), label("tags", 5)}, []string{"labels", "tags"}},
		{"names alike", boxes, []tensorInfo{label("tags", 5), label("box_labels", 5)}, []string{"box_labels"}},
		{"a label of unknown shape", boxes, []tensorInfo{label("kind"), {Name: "new", Draw: "label"}}, []string{"new"}},
		{"labels of another group", boxes, []tensorInfo{{Name: "a/labels", Group: "a", Draw: "label"}}, nil},
		{"one mask, and the labels of boxes", tensorInfo{Name: "mask", Draw: "mask", MaxShape: tensor.Shape{9, 9}}, []tensorInfo{label("box_class", 2)}, nil},
		{"one mask, and one label", tensorInfo{Name: "mask", Draw: "mask", MaxShape: tensor.Shape{9, 9}}, []tensorInfo{label("kind")}, []string{"kind"}},
		{"planes of a mask", tensorInfo{Name: "masks", Draw: "mask", MaxShape: tensor.Shape{9, 9, 3}}, []tensorInfo{label("classes", 3)}, []string{"classes"}},
		{"a segment mask", tensorInfo{Name: "segments", Draw: "segments"}, []tensorInfo{label("labels", 5)}, nil},
	} {
		var got []string
		for _, l := range labelsOf(c.all, &c.of) {
			got = append(got, l.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// TestTimesHaveTheirName: the page writes numbers that count time as text.
func TestTimesHaveTheirName(t *testing.T) {
	t.Parallel()
	d := "int64"
	got := layout([]dataset.TensorDescription{
		{Name: "seen", HType: "generic", DType: &d, Time: "timestamp[us, UTC]"}, {Name: "n", HType: "generic", DType: &d},
	})
	if got[0].Time != "timestamp[us, UTC]" || got[1].Time != "" {
		t.Errorf("times are %q and %q", got[0].Time, got[1].Time)
	}
}
