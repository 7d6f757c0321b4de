package viz

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"

	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
)

// newVectors makes a server of vectors in two clusters; row 3 is missing, row 5 has a NaN.
func newVectors(t *testing.T, rows int) *fixture {
	t.Helper()
	env := &dataset.Env{Stores: storage.Registry{"mem": (&mem.Space{}).Open}, Codecs: all.All(), Writer: "test"}
	ds, err := dataset.Create(t.Context(), env, "mem://vectors", dataset.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ds.Close() })
	for _, s := range []dataset.TensorSpec{{Name: "vector", HType: "embedding", DType: "float32"}, {Name: "ragged", DType: "float32"}, {Name: "caption", HType: "text"}} {
		if err := ds.CreateTensor(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	var vectors, ragged, captions []tensor.Sample
	for i := range rows {
		v := []float32{float32(i%2) * 10, 0, float32(i%4) / 4}
		if i == 5 {
			v[1] = float32(math.NaN())
		}
		one := array(tensor.Float32, little(v), 3)
		if i == 3 {
			one = tensor.Sample{Form: tensor.FormHole}
		}
		vectors = append(vectors, one)
		captions = append(captions, text(tensor.String, "x"))
		ragged = append(ragged, array(tensor.Float32, little(make([]float32, 1+i%2)), 1+i%2))
	}
	if err := ds.Append(t.Context(), []tensor.Rows{{Tensor: "vector", Samples: vectors}, {Tensor: "ragged", Samples: ragged}, {Tensor: "caption", Samples: captions}}, int64(rows)); err != nil {
		t.Fatal(err)
	}
	f := serve(t, env, ds)
	return f
}

func TestProject(t *testing.T) {
	t.Parallel()
	f := newVectors(t, 20)
	code, answer := f.post("project", map[string]any{"view": f.view, "column": "vector"})
	if code != 200 || string(answer[:4]) != "DLP1" {
		t.Fatalf("status %d: %.200s", code, answer)
	}
	size := binary.LittleEndian.Uint32(answer[4:])
	var head projection
	if err := json.Unmarshal(answer[8:8+size], &head); err != nil {
		t.Fatal(err)
	}
	if head.Points != 18 || head.Skipped != 2 || head.Dim != 3 || head.Step != 1 || head.Share[0] < 0.98 {
		t.Errorf("head %+v", head)
	}
	points := answer[8+size:]
	if len(points) != 12*head.Points {
		t.Fatalf("%d bytes of points", len(points))
	}
	for i := range head.Points {
		x := math.Float32frombits(binary.LittleEndian.Uint32(points[12*i:]))
		row := int(binary.LittleEndian.Uint32(points[12*i+8:]))
		if row == 3 || row == 5 || (x > 0) != (row%2 == 1) || math.Abs(float64(x)) < 4 {
			t.Errorf("row %d is at %v", row, x)
		}
	}
	_, sampled := f.post("project", map[string]any{"view": f.view, "column": "vector", "rows": 8})
	if err := json.Unmarshal(sampled[8:8+binary.LittleEndian.Uint32(sampled[4:])], &head); err != nil || head.Step != 3 {
		t.Errorf("of at most 8 rows: %+v, %v", head, err)
	}
	for _, c := range []struct {
		body map[string]any
		want int
	}{
		{map[string]any{"view": f.view, "column": "ragged"}, 400},
		{map[string]any{"view": f.view, "column": "caption"}, 400},
		{map[string]any{"view": f.view, "column": "none"}, 404},
		{map[string]any{"view": f.view, "column": "vector", "method": "umap"}, 400},
		{map[string]any{"view": f.view, "column": "vector", "rows": 1 << 40}, 400},
	} {
		if code, answer := f.post("project", c.body); code != c.want {
			t.Errorf("%v: status %d, want %d: %.200s", c.body, code, c.want, answer)
		}
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var v viewInfo
	f.call("select", map[string]any{"view": f.view, "rows": []int{7, 2, 2}}, &v)
	if v.Rows != 3 || v.View == f.view {
		t.Errorf("view %+v", v)
	}
	var part viewInfo
	f.call("select", map[string]any{"view": v.View, "rows": []int{0}}, &part)
	f.call("close", map[string]any{"view": v.View}, &struct{}{})
	if part.Rows != 1 {
		t.Errorf("a part of a selection has %d rows", part.Rows)
	}
	for _, rows := range [][]int64{{-1}, {zooRows}, make([]int64, mostSelected+1)} {
		if code, _ := f.post("select", map[string]any{"view": f.view, "rows": rows}); code != 400 {
			t.Errorf("%d rows from %d on: status %d", len(rows), rows[0], code)
		}
	}
}
