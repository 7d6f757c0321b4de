package loader

import (
	"context"
	"testing"

	"deeplake/core/dataset"
	"deeplake/core/tensor"
)

// The arrays of a list lie end to end for other processes if they have one shape. Each is aligned
// to 64 bytes otherwise: where shapes differ, a sample is missing, or the user gets the list.
func TestListsForProcesses(t *testing.T) {
	t.Parallel()
	l := newRemoteSet(t, func(d *dataset.Dataset) {
		create(t, d, dataset.TensorSpec{Name: "same", DType: "uint16"}, dataset.TensorSpec{Name: "varied", DType: "uint8"},
			dataset.TensorSpec{Name: "holes", DType: "uint8"}, dataset.TensorSpec{Name: "plain", DType: "uint8"})
		sample := func(dtype tensor.DType, items int64) tensor.Sample {
			size, err := tensor.Shape{items}.Bytes(dtype)
			if err != nil {
				t.Fatal(err)
			}
			return tensor.Sample{DType: dtype, Shape: tensor.Shape{items}, Data: make([]byte, size)}
		}
		for i := range int64(8) {
			hole := tensor.Sample{Form: tensor.FormHole}
			if i != 3 {
				hole = sample(tensor.Uint8, 5)
			}
			rows := []tensor.Rows{{Tensor: "same", Samples: []tensor.Sample{sample(tensor.Uint16, 5)}}, {Tensor: "varied", Samples: []tensor.Sample{sample(tensor.Uint8, 5+i)}},
				{Tensor: "holes", Samples: []tensor.Sample{hole}}, {Tensor: "plain", Samples: []tensor.Sample{sample(tensor.Uint8, 5)}}}
			if err := d.Append(context.Background(), rows, 1); err != nil {
				t.Fatal(err)
			}
		}
	})
	lists := map[string]string{"same": Rows, "varied": Rows, "holes": Rows}
	for _, shared := range []bool{true, false} {
		ld := open2(t, SourceOf(l.local), Options{BatchSize: 8, Collate: List, CollateOf: lists, Shareable: shared})
		defer ld.Close()
		e := start(t, ld, 0)
		b := next(t, e)
		defer b.Release()
		for i := range b.Columns {
			c := &b.Columns[i]
			for k := range c.Items {
				step := c.Items[k].Offset - c.Items[max(k-1, 0)].Offset
				switch dense := shared && c.Name == "same"; {
				case c.Items[k].Shape == nil: // a hole
				case dense && k > 0 && step != 10:
					t.Errorf("%q: array %d begins %d bytes behind the one before, want 10", c.Name, k, step)
				case (!dense || k == 0) && c.Items[k].Offset%align != 0:
					t.Errorf("%q: array %d begins at %d, want a multiple of %d (shared: %v)", c.Name, k, c.Items[k].Offset, align, shared)
				}
			}
		}
	}
}
