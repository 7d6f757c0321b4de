package dataset

import (
	"bytes"
	"fmt"
	"testing"

	"deeplake/core/tensor"
)

// TestUnpacked: the estimate of decompressed bytes is near them for small samples, and 0 for those
// that need no other one.
func TestUnpacked(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := must[*Dataset](t)(Create(ctx, testEnv(), "mem://d", CreateOptions{}))
	defer func() { _ = d.Close() }()
	for _, s := range []TensorSpec{{Name: "text", HType: "text"}, {Name: "plain", HType: "text", Compression: "none"}, {Name: "large", DType: "uint8", Compression: "zstd"}} {
		if err := d.CreateTensor(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	const rows = 3000
	text, large := make([]tensor.Sample, rows), make([]tensor.Sample, rows)
	for i := range rows {
		text[i] = tensor.Sample{Form: tensor.FormText, DType: tensor.String, Data: fmt.Appendf(nil, "%0200d", i)}
		large[i] = tensor.Sample{DType: tensor.Uint8, Shape: tensor.Shape{40_000}, Data: bytes.Repeat([]byte{byte(i)}, 40_000)}
	}
	columns := []tensor.Rows{{Tensor: "text", Samples: text}, {Tensor: "plain", Samples: text}, {Tensor: "large", Samples: large}}
	if err := d.Append(ctx, columns, rows); err != nil {
		t.Fatal(err)
	}
	all := must[*View](t)(d.View(ctx))
	tenth := must[*View](t)(all.Slice(0, rows, 10))
	for _, c := range []struct {
		v    *View
		name string
		want int64
	}{{all, "text", 200 * rows}, {tenth, "text", 20 * rows}, {all, "large", 0}, {must[*View](t)(all.Slice(0, 0, 1)), "text", 0}} {
		access := must[*Column](t)(c.v.Column(c.name)).Access()
		got, err := access.Unpacked(ctx)
		if err != nil || got < c.want*9/10 || got > c.want*11/10 {
			t.Errorf("%s of %d rows: %d bytes and %v, want about %d", c.name, c.v.Len(), got, err, c.want)
		}
	}
	if must[*Column](t)(all.Column("plain")).Access().Unpacked != nil {
		t.Error("a tensor without compression has an estimate")
	}
}
