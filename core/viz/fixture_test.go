package viz

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/session"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
)

// fixture is a service of a dataset with a tensor of each kind, and a page of it.
type fixture struct {
	*Service
	t    *testing.T
	ds   *dataset.Dataset
	view string
}

const zooRows = 12

// newZoo makes the dataset. Row i has a picture of 40+4i x 60 whose pixels are 20i, label i % 3,
// i % 3 boxes, and the score i / 10, but none in row 5.
func newZoo(t *testing.T) (*dataset.Env, *dataset.Dataset) {
	t.Helper()
	env := &dataset.Env{Stores: storage.Registry{"mem": (&mem.Space{}).Open}, Codecs: all.All(), Writer: "test"}
	ds, err := dataset.Create(t.Context(), env, "mem://zoo", dataset.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ds.Close() })
	for _, s := range []dataset.TensorSpec{
		{Name: "image", HType: "image.rgb", Compression: "jpeg"},
		{Name: "raw", HType: "image.gray", DType: "uint16"},
		{Name: "label", HType: "class_label", ClassNames: []string{"cat", "dog", "owl's"}},
		{Name: "boxes", HType: "bbox", Info: map[string]any{"coords": map[string]any{"mode": "LTWH", "type": "fractional"}}},
		{Name: "mask", HType: "binary_mask"},
		{Name: "outline", HType: "polygon"},
		{Name: "caption", HType: "text"},
		{Name: "meta", HType: "json"},
		{Name: "score", DType: "float64"},
		{Name: "night", DType: "bool"},
		{Name: "truth/tags", HType: "class_label"},
		{Name: "clip", HType: "sequence[image.rgb]", Compression: "png"},
	} {
		if err := ds.CreateTensor(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	cols := map[string]*tensor.Rows{}
	add := func(name string, samples ...tensor.Sample) {
		c := cols[name]
		if c == nil {
			c = &tensor.Rows{Tensor: name}
			cols[name] = c
		}
		c.Samples = append(c.Samples, samples...)
		if name == "outline" || name == "clip" {
			c.RowItems = append(c.RowItems, int64(len(samples)))
		}
	}
	for i := range zooRows {
		h := 40 + 4*i
		add("image", array(tensor.Uint8, bytes.Repeat([]byte{byte(20 * i)}, h*60*3), h, 60, 3))
		add("raw", array(tensor.Uint16, pixels16(100*100, i), 100, 100, 1))
		add("label", array(tensor.Int64, little(int64(i%3))))
		add("boxes", array(tensor.Float32, little(make([]float32, 4*(i%3))), i%3, 4))
		add("mask", array(tensor.Bool, bytes.Repeat([]byte{1}, h*60), h, 60))
		add("outline", array(tensor.Float32, little(make([]float32, 6)), 3, 2), array(tensor.Float32, little(make([]float32, 8)), 4, 2))
		add("caption", text(tensor.String, fmt.Sprintf("number %d <img src=x onerror=alert(1)>", i)))
		add("meta", text(tensor.JSON, fmt.Sprintf(`{"camera": "c%d"}`, i%2)))
		add("night", array(tensor.Bool, []byte{byte(i & 1)}))
		if i == 5 {
			add("score", tensor.Sample{Form: tensor.FormHole})
		} else {
			add("score", array(tensor.Float64, little(float64(i)/10)))
		}
		add("truth/tags", array(tensor.Int64, little([]int64{int64(i % 2), 7}), 2))
		var clip []tensor.Sample
		for k := range i % 4 {
			clip = append(clip, array(tensor.Uint8, bytes.Repeat([]byte{byte(k)}, 8*8*3), 8, 8, 3))
		}
		add("clip", clip...)
	}
	var list []tensor.Rows
	for _, c := range cols {
		list = append(list, *c)
	}
	if err := ds.Append(t.Context(), list, zooRows); err != nil {
		t.Fatal(err)
	}
	if _, err := ds.Commit(t.Context(), "the zoo"); err != nil {
		t.Fatal(err)
	}
	return env, ds
}

func array(d tensor.DType, data []byte, shape ...int) tensor.Sample {
	s := tensor.Sample{Form: tensor.FormArray, DType: d, Shape: tensor.Shape{}, Data: data}
	for _, n := range shape {
		s.Shape = append(s.Shape, int64(n))
	}
	return s
}

func text(d tensor.DType, value string) tensor.Sample {
	return tensor.Sample{Form: tensor.FormText, DType: d, Data: []byte(value)}
}

func little(v any) []byte {
	out, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		panic(err)
	}
	return out
}

func pixels16(n, i int) []byte {
	out := make([]uint16, n)
	for k := range out {
		out[k] = uint16(1000*i + k%100)
	}
	return little(out)
}

// newFixture makes a service of the zoo, and opens its view.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	env, ds := newZoo(t)
	return serve(t, env, ds)
}

// serve makes a service of all rows of a dataset, and opens its view.
func serve(t *testing.T, env *dataset.Env, ds *dataset.Dataset) *fixture {
	t.Helper()
	v, err := ds.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first, codecs := session.NewView(v), all.All()
	s := New(Options{Session: session.New(env), Codecs: codecs, Dataset: ds, View: first, Compress: JPEG(codecs)})
	t.Cleanup(func() {
		s.Close()
		first.Close()
	})
	f := &fixture{Service: s, t: t, ds: ds}
	f.view = f.open(map[string]string{}).View
	return f
}

func (f *fixture) open(body any) viewInfo {
	f.t.Helper()
	var v viewInfo
	f.call("open", body, &v)
	return v
}

func (f *fixture) query(text string) viewInfo {
	f.t.Helper()
	var v viewInfo
	f.call("query", map[string]string{"view": f.view, "text": text}, &v)
	return v
}

// answer keeps the answer of a call.
type answer struct {
	bytes.Buffer
	media string
}

func (a *answer) Begin(media string) { a.media = media }
func (a *answer) Flush() error       { return nil }

// post calls a function and returns its answer.
func (f *fixture) post(name string, body any) (int, []byte) {
	f.t.Helper()
	in, err := json.Marshal(body)
	if err != nil {
		f.t.Fatal(err)
	}
	var out answer
	if err := f.Call(f.t.Context(), name, in, &out); err != nil {
		if out.media != "" {
			f.t.Errorf("%s: an answer that has begun is refused: %v", name, err)
		}
		return Refuse(err)
	}
	return 200, out.Bytes()
}

// call reads the answer of a function that succeeds.
func (f *fixture) call(name string, body, into any) {
	f.t.Helper()
	status, data := f.post(name, body)
	if status != 200 {
		f.t.Fatalf("%s %v: %d %s", name, body, status, data)
	}
	if err := json.Unmarshal(data, into); err != nil {
		f.t.Fatalf("%s: %v in %s", name, err, data)
	}
}

// refused reads the answer of a function that fails.
func (f *fixture) refused(name string, body any) (int, failure) {
	f.t.Helper()
	status, data := f.post(name, body)
	var answer struct{ Error failure }
	if err := json.Unmarshal(data, &answer); err != nil || status == 200 {
		f.t.Fatalf("%s %v: %d %s", name, body, status, data)
	}
	return status, answer.Error
}

// record is a record as a page reads it.
type record struct {
	header
	body []byte
}

func (r record) numbers16() []uint16 {
	out := make([]uint16, len(r.body)/2)
	_, _ = binary.Decode(r.body, binary.LittleEndian, out)
	return out
}

// read reads samples. The records are in the order of rows and items.
func (f *fixture) read(view string, rows []int64, columns ...wanted) map[string]record {
	f.t.Helper()
	status, data := f.post("samples", map[string]any{"view": view, "rows": rows, "columns": columns})
	if status != 200 {
		f.t.Fatalf("read %v of %v: %d %s", columns, rows, status, data)
	}
	all, err := parseRecords(data)
	if err != nil {
		f.t.Fatal(err)
	}
	out := map[string]record{}
	for _, r := range all {
		name := fmt.Sprintf("%s %d", r.Column, r.Row)
		if r.Item != nil {
			name += fmt.Sprintf(" %d", *r.Item)
		}
		if _, twice := out[name]; twice {
			f.t.Errorf("the record %s comes twice", name)
		}
		out[name] = r
	}
	return out
}

// parseRecords reads an answer of api/samples after web/PROTOCOL.md.
func parseRecords(data []byte) ([]record, error) {
	var all []record
	for len(data) > 0 {
		if len(data) < recordHead || string(data[:4]) != "DLS1" {
			return nil, fmt.Errorf("no record at the end of %d", len(all))
		}
		head, size := uint64(binary.LittleEndian.Uint32(data[4:])), binary.LittleEndian.Uint64(data[8:])
		padded := (size + 7) &^ 7
		if head%8 != 0 || uint64(len(data)) < recordHead+head+padded {
			return nil, fmt.Errorf("record %d has %d and %d bytes, of %d that are left", len(all), head, size, len(data))
		}
		var r record
		if err := json.Unmarshal(data[recordHead:recordHead+head], &r.header); err != nil {
			return nil, err
		}
		r.body = data[recordHead+head:][:size]
		data = data[recordHead+head+padded:]
		if r.End {
			if len(data) > 0 {
				return nil, fmt.Errorf("%d bytes behind the end", len(data))
			}
			return all, nil
		}
		all = append(all, r)
	}
	return nil, fmt.Errorf("no end behind %d records", len(all))
}

// decodeImage returns the shape and the pixels of a file.
func decodeImage(t *testing.T, id codec.ID, file []byte) (tensor.Shape, []byte) {
	t.Helper()
	c, err := all.All().Sample(id)
	if err != nil {
		t.Fatal(err)
	}
	h, err := c.Header(file, codec.AsStored)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := h.Shape.Bytes(h.DType)
	pix := make([]byte, n)
	d := c.NewDecoder()
	defer d.Close()
	if err := d.Decode(pix, file, codec.AsStored); err != nil {
		t.Fatal(err)
	}
	return h.Shape, pix
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
