package export

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/session"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
)

const testRows = 24

// world is a dataset of images with annotations, and stores for files whose calls may fail.
type world struct {
	env    *dataset.Env
	ds     *dataset.Dataset
	faults *faultstore.Store // the store "faulty", once it was opened
	plan   faultstore.Plan
}

func picture(t testing.TB, n int) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 20+n%3, 16))
	for i := range img.Pix {
		img.Pix[i] = uint8(i * (n + 3))
	}
	img.Set(0, 0, color.White)
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{}
	space := &mem.Space{}
	open := func(ctx context.Context, name string, o storage.Options) (storage.Provider, error) {
		p, err := space.Open(ctx, name, o)
		if err != nil || !strings.HasPrefix(name, "faulty") {
			return p, err
		}
		w.faults = faultstore.New(p, w.plan)
		return w.faults, nil
	}
	w.env = &dataset.Env{Stores: storage.Registry{"mem": open}, Codecs: all.All(), Writer: "test"}
	var err error
	ctx := t.Context()
	if w.ds, err = dataset.Create(ctx, w.env, "mem://data", dataset.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.ds.Close() })
	for _, spec := range []dataset.TensorSpec{
		{Name: "images", HType: "image.rgb", Compression: "png"},
		{Name: "class", HType: "class_label", ClassNames: []string{"cat", "golden retriever"}},
		{Name: "text", HType: "text"},
		{Name: "meta", HType: "json"},
		{Name: "vector", HType: "embedding", DType: "float32", Shape: tensor.Shape{4}},
		{Name: "boxes", HType: "bbox", DType: "float32", Info: map[string]any{"coords": map[string]any{"mode": "LTWH", "type": "pixel"}}},
		{Name: "labels", HType: "class_label", ClassNames: []string{"x", "y"}},
		{Name: "split", HType: "class_label", ClassNames: []string{"train", "val"}},
	} {
		if err := w.ds.CreateTensor(ctx, spec); err != nil {
			t.Fatal(err)
		}
	}
	columns := make([]tensor.Rows, 8)
	for k, name := range []string{"images", "class", "text", "meta", "vector", "boxes", "labels", "split"} {
		columns[k].Tensor = name
	}
	for i := range testRows {
		n := i % 3 // objects
		box := make([]float32, 4*n)
		for k := range box {
			box[k] = float32(i+k) / 2
		}
		labels := make([]int64, n)
		for k, s := range []tensor.Sample{
			{Form: tensor.FormEncoded, Data: picture(t, i)},
			array(tensor.Int64, tensor.Shape{}, int64(i%2)),
			{Form: tensor.FormText, DType: tensor.String, Data: fmt.Appendf(nil, "row %d, é", i)},
			{Form: tensor.FormText, DType: tensor.JSON, Data: fmt.Appendf(nil, `{"n":%d}`, i)},
			array(tensor.Float32, tensor.Shape{4}, []float32{float32(i), 1, 2, 3}),
			array(tensor.Float32, tensor.Shape{int64(n), 4}, box),
			array(tensor.Int64, tensor.Shape{int64(n)}, labels),
			array(tensor.Int64, tensor.Shape{}, int64(i/16)),
		} {
			columns[k].Samples = append(columns[k].Samples, s)
		}
	}
	if err := w.ds.Append(ctx, columns, testRows); err != nil {
		t.Fatal(err)
	}
	if _, err := w.ds.Commit(ctx, "rows"); err != nil {
		t.Fatal(err)
	}
	return w
}

// array makes a sample of numbers.
func array(d tensor.DType, shape tensor.Shape, values any) tensor.Sample {
	var data bytes.Buffer
	if err := binary.Write(&data, binary.LittleEndian, values); err != nil {
		panic(err)
	}
	return tensor.Sample{Form: tensor.FormArray, DType: d, Shape: shape, Data: data.Bytes()}
}

func (w *world) view(t testing.TB) *session.View {
	t.Helper()
	v, err := w.ds.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	view := session.NewView(v)
	t.Cleanup(view.Close)
	return view
}

// export writes all rows to a place.
func (w *world) export(t testing.TB, uri string, o Options) (*Report, error) {
	t.Helper()
	j, err := Start(w.env, w.view(t), uri, o)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	r, err := j.Wait(t.Context())
	if p, _ := j.Poll(t.Context()); err == nil && (p.Rows != r.Rows || p.Total != r.Rows) {
		t.Errorf("%s: the progress says %d of %d rows, want %d", o.Format, p.Rows, p.Total, r.Rows)
	}
	return r, err
}

// TestMainMembers: names decide before the order of tensors does.
func TestMainMembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := &exporter{env: w.env, view: w.view(t)}
	e.described = e.view.Describe()
	byName := map[string]*column{}
	for i := range e.described.Tensors {
		c, err := e.newColumn(&e.described.Tensors[i])
		if err != nil {
			t.Fatal(err)
		}
		byName[c.Name()] = c
	}
	for _, c := range []struct {
		kind  kind
		names []string
		given []string // of the columns
		want  int
	}{
		{isImage, []string{"images"}, []string{"text", "images"}, 1}, {isImage, []string{"picture"}, []string{"text", "images"}, 1},
		{isLabel, []string{"labels"}, []string{"class", "split"}, -1}, {isLabel, []string{"split"}, []string{"class", "split"}, 1},
		{isLabel, []string{"labels"}, []string{"labels", "class"}, 1}, // labels has several numbers
		{isText, []string{"caption"}, []string{"text"}, -1}, {isJSON, []string{"json", "meta"}, []string{"text", "meta"}, 1},
	} {
		var columns []*column
		for _, name := range c.given {
			columns = append(columns, byName[name])
		}
		if got := mainOf(columns, c.kind, c.names...); got != c.want {
			t.Errorf("%v of %v: %d, want %d", c.names, c.given, got, c.want)
		}
	}
}

// files returns the content of a place.
func (w *world) files(t testing.TB, uri string) map[string]string {
	t.Helper()
	p, err := w.env.Stores.Open(t.Context(), uri, storage.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	if f, ok := p.(*faultstore.Store); ok {
		f.SetPlan(nil)
	}
	out := map[string]string{}
	if err := p.List(t.Context(), "", "", func(o storage.Object) bool { out[o.Key] = ""; return true }); err != nil {
		t.Fatal(err)
	}
	for key := range out {
		data, err := p.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		out[key] = string(data)
	}
	return out
}

// options of the tests: many parts.
func optionsOf(format string) Options {
	o := Options{Format: format, Pad: format == "zarr"}
	for _, l := range layouts() {
		if l.name == format && l.shard > 0 {
			o.ShardBytes = leastShard
		}
	}
	return o
}

// TestFaults lets each call of the store fail, or be the last one, in each format. The same export
// then makes the files of an undisturbed one.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, format := range Formats() {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r, err := w.export(t, "mem://faulty", optionsOf(format))
			if err != nil {
				t.Fatal(err)
			}
			calls := len(w.faults.Calls())
			want := w.files(t, "mem://faulty")
			if int64(len(want)) != r.Files || r.Rows != testRows || r.Resumed != 0 {
				t.Errorf("%d files, and the report is %+v", len(want), r)
			}
			step, failures := max(1, calls/12), 0
			for k := 0; k < calls; k += step {
				for name, action := range map[string]faultstore.Action{"fail": faultstore.Fail(errs.Storage), "lost": faultstore.LostAnswer(), "crash": faultstore.Crash()} {
					w.plan = faultstore.Plan{{Skip: k, Do: action}}
					place := fmt.Sprintf("mem://faulty-%d-%s", k, name)
					_, failed := w.export(t, place, optionsOf(format))
					w.plan = nil
					if failed == nil {
						// A record that stands already counts as written.
						continue
					}
					if failures++; !errs.Is(failed, errs.Storage) {
						t.Fatalf("call %d, %s: %v", k, name, failed)
					}
					if again, err := w.export(t, place, optionsOf(format)); err != nil {
						// The records were gone: the place has a whole export.
						if !errs.Is(err, errs.Exists) {
							t.Fatalf("call %d, %s, and again: %v", k, name, err)
						}
					} else if again.Files != r.Files || again.Bytes != r.Bytes {
						t.Errorf("call %d, %s: %+v, want %+v", k, name, again, r)
					}
					if got := w.files(t, place); !maps.Equal(got, want) {
						t.Fatalf("call %d, %s: files %q, want %q", k, name, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
					}
				}
			}
			if failures < 24 {
				t.Errorf("only %d faults of %d calls had an effect", failures, calls)
			}
		})
	}
}

// TestOtherExport: a place with files, or with a part of another export, is refused.
func TestOtherExport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	crash := faultstore.Plan{{Skip: 10, Do: faultstore.Crash()}}
	for name, c := range map[string]struct {
		first, second Options
		change        bool // a commit between the two
		want          string
	}{
		"format":  {optionsOf("mds"), optionsOf("tfrecord"), false, `part of another export (format "mds")`},
		"tensors": {optionsOf("mds"), Options{Format: "mds", ShardBytes: leastShard, Tensors: []string{"text"}}, false, "with other options"},
		"shards":  {optionsOf("mds"), Options{Format: "mds"}, false, "with other options"},
		"version": {optionsOf("webdataset"), optionsOf("webdataset"), true, "of other rows, or of another version"},
	} {
		place := "mem://faulty-" + name
		w.plan = crash
		if _, err := w.export(t, place, c.first); !errs.Is(err, errs.Storage) {
			t.Fatalf("%s: %v", name, err)
		}
		w.plan = nil
		if c.change {
			if err := w.ds.SetInfo(t.Context(), map[string]any{"a": 1.0}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.ds.Commit(t.Context(), "changed"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.export(t, place, c.second); !errs.Is(err, errs.Exists) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	// A run that fails before it has written a file does not keep the place. One that was killed
	// does: others cannot know that it runs no more.
	for name, c := range map[string]struct {
		do   faultstore.Action
		free bool
	}{"fails": {faultstore.Fail(errs.Storage), true}, "killed": {faultstore.Crash(), false}} {
		w.plan = faultstore.Plan{{Ops: []faultstore.Op{faultstore.Create}, Times: faultstore.Always, Do: c.do}}
		if _, err := w.export(t, "mem://faulty-early-"+name, optionsOf("mds")); !errs.Is(err, errs.Storage) {
			t.Fatal(err)
		}
		w.plan = nil
		if r, err := w.export(t, "mem://faulty-early-"+name, optionsOf("tfrecord")); (err == nil) != c.free {
			t.Errorf("behind a run that %s: %+v, %v", name, r, err)
		}
	}
	if _, err := w.export(t, "mem://data", optionsOf("mds")); !errs.Is(err, errs.Invalid) {
		t.Errorf("into the dataset: %v", err)
	}
	if _, err := w.export(t, "mem://full", optionsOf("mds")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.export(t, "mem://full", optionsOf("mds")); !errs.Is(err, errs.Exists) || !strings.Contains(err.Error(), "the place has files") {
		t.Errorf("twice: %v", err)
	}
}

// TestDamagedParts: a continued export writes a part again if its file is missing or has another
// size.
func TestDamagedParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.export(t, "mem://whole", optionsOf("webdataset")); err != nil {
		t.Fatal(err)
	}
	want := w.files(t, "mem://whole")
	w.plan = faultstore.Plan{{Ops: []faultstore.Op{faultstore.PutIfAbsent}, Skip: 6, Do: faultstore.Crash()}}
	if _, err := w.export(t, "mem://faulty", optionsOf("webdataset")); !errs.Is(err, errs.Storage) {
		t.Fatal(err)
	}
	w.plan = nil
	p, err := w.env.Stores.Open(t.Context(), "mem://faulty", storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for key := range w.files(t, "mem://faulty") {
		if strings.HasSuffix(key, ".tar") && damaged < 2 {
			if damaged++; damaged == 1 {
				err = p.Delete(t.Context(), key)
			} else {
				err = p.Put(t.Context(), key, []byte("cut"))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	r, err := w.export(t, "mem://faulty", optionsOf("webdataset"))
	if err != nil || damaged < 2 || r.Resumed == 0 {
		t.Fatal(damaged, r, err)
	}
	if got := w.files(t, "mem://faulty"); !maps.Equal(got, want) {
		t.Errorf("files %q, want %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// TestHostileNames: text of a dataset makes no names of files that lead elsewhere.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../evil", "..", ".hidden", "a/b", "a\\b", "/etc/passwd", "a\nb", strings.Repeat("x", 300), ""} {
		w := newWorld(t)
		ctx := t.Context()
		for _, spec := range []dataset.TensorSpec{{Name: "class", HType: "text"}, {Name: "split", HType: "text"}} {
			if err := w.ds.DeleteTensor(ctx, spec.Name); err != nil {
				t.Fatal(err)
			}
			if err := w.ds.CreateTensor(ctx, spec); err != nil {
				t.Fatal(err)
			}
		}
		sample := tensor.Sample{Form: tensor.FormText, DType: tensor.String, Data: []byte(name)}
		if err := w.ds.Update(ctx, []int64{3}, []tensor.Rows{{Tensor: "split", Samples: []tensor.Sample{sample}}}); err != nil {
			t.Fatal(err)
		}
		for _, format := range Formats() {
			if _, err := w.export(t, "mem://out-"+format, optionsOf(format)); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), `give splits="none"`) {
				t.Errorf("split %q, %s: %v", name, format, err)
			}
		}
		if isPart(name) {
			t.Errorf("%q passes as the folder of a class", name)
		}
	}
}

// TestParts: parts are all rows, in order, whatever the sizes.
func TestParts(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{1, 2, 3, 7, 100, 1 << 40} {
		for _, count := range []int64{1, 2, 3, 5} {
			at := int64(0)
			for k := range min(count, n) {
				from, to := share(n, min(count, n), k), share(n, min(count, n), k+1)
				if from != at || to <= from {
					t.Errorf("part %d of %d of %d rows: [%d, %d), want it from %d on", k, count, n, from, to, at)
				}
				at = to
			}
			if at != n {
				t.Errorf("%d parts of %d rows end at %d", count, n, at)
			}
		}
	}
}

// TestStems are the names that files get of the places they were imported from.
func TestStems(t *testing.T) {
	t.Parallel()
	e := &exporter{env: &dataset.Env{Codecs: all.All()}}
	long := strings.Repeat("a", mostPart+1)
	for _, c := range []struct {
		whole               bool
		source, split, want string
	}{
		{false, "cat/1.jpg", "", "1"}, {true, "cat/1.jpg", "", "cat/1"}, {true, "train/cat/1.JPEG", "train", "cat/1"},
		{true, "train2017/1.jpg", "train", "1"}, {true, "images/1.jpg", "", "1"}, {true, "a.tar/cat/1", "", "a.tar/cat/1"},
		{true, "images/train/1.jpg", "train", "1"}, {true, "train/images/1.jpg", "train", "1"}, {false, "images/1.jpg", "", "1"},
		{true, "https://host/p/1.png", "", "host/p/1"}, {true, "a/../1.jpg", "", ""}, {true, "/etc/passwd", "", ""},
		{false, "..", "", ""}, {false, "x/.hidden", "", ""}, {true, "a//b.jpg", "", ""}, {false, "a\x00b.jpg", "", ""},
		{false, long + ".jpg", "", ""}, {true, "a\\b.jpg", "", ""}, {false, "café 猫.webp", "", "café 猫"}, {false, "1.txt", "", "1.txt"},
	} {
		n := &namer{e: e, whole: c.whole}
		if got := n.stem(c.source, c.split); got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.source, c.split, got, c.want)
		}
	}
}

// TestNumbersAsText: numbers are read back as they were.
func TestNumbersAsText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    float64
		d    tensor.DType
		want string
	}{
		{0.1, tensor.Float64, "0.1"}, {float64(float32(0.1)), tensor.Float32, "0.1"}, {3, tensor.Float32, "3"}, {math.Copysign(0, -1), tensor.Float32, "-0"},
		{1e-9, tensor.Float64, "1e-09"}, {1e300, tensor.Float64, "1e+300"}, {math.NaN(), tensor.Float64, "null"}, {math.Inf(1), tensor.Float32, "null"},
		{123456.789, tensor.Float64, "123456.789"},
	} {
		if got := string(appendFloat(nil, c.v, c.d)); got != c.want {
			t.Errorf("%v: %q, want %q", c.v, got, c.want)
		}
	}
}

// TestNPY compares with files that NumPy 2.3 has written.
func TestNPY(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s    tensor.Sample
		head string
	}{
		{array(tensor.Float32, tensor.Shape{2}, []float32{1, 2}), "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"},
		{array(tensor.Int64, tensor.Shape{}, int64(1)), "{'descr': '<i8', 'fortran_order': False, 'shape': (), }"},
		{array(tensor.Uint8, tensor.Shape{1, 2}, []uint8{1, 2}), "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2), }"},
		{array(tensor.Bool, tensor.Shape{0, 2}, []bool{}), "{'descr': '|b1', 'fortran_order': False, 'shape': (0, 2), }"},
	} {
		got, err := npy(&c.s)
		if err != nil || len(got)%64 != len(c.s.Data)%64 || string(got[10:10+len(c.head)]) != c.head || !bytes.HasSuffix(got, append([]byte("\n"), c.s.Data...)) {
			t.Errorf("%q, %v", got, err)
		}
	}
	if _, err := npy(&tensor.Sample{DType: tensor.BFloat16, Shape: tensor.Shape{1}, Data: []byte{0, 0}}); !errs.Is(err, errs.Unsupported) {
		t.Errorf("bfloat16: %v", err)
	}
}

// TestRings divides outlines at points of NaN.
func TestRings(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for _, c := range []struct {
		xy   []float64
		want int
	}{{nil, 0}, {[]float64{1, 2, 3, 4}, 1}, {[]float64{1, 2, nan, nan, 3, 4}, 2}, {[]float64{nan, nan, 3, 4, nan, nan}, 1}, {[]float64{1, nan}, 1}} {
		if got := rings(c.xy); len(got) != c.want {
			t.Errorf("%v: %v, want %d", c.xy, got, c.want)
		}
	}
}
