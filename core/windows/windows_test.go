package windows

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/order"
	"deeplake/core/read"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
)

// set is a dataset of episodes. Entry f of episode e is the numbers 1000e+f and -f.
type set struct {
	env   *dataset.Env
	store *faultstore.Ranged // of the view far away that was opened last
}

// newSet stores episodes of so many frames; -1: a row without arrays.
func newSet(t testing.TB, frames ...int) *set {
	t.Helper()
	space := &mem.Space{}
	s := &set{}
	s.env = &dataset.Env{Codecs: all.All(), Writer: "test", Stores: storage.Registry{
		"mem": space.Open,
		"far": func(ctx context.Context, rest string, o storage.Options) (storage.Provider, error) {
			p, err := space.Open(ctx, rest, o)
			s.store = faultstore.NewRanged(p, nil)
			return s.store, err
		},
	}}
	d, err := dataset.Create(t.Context(), s.env, "mem://set", dataset.CreateOptions{Tensors: []dataset.TensorSpec{
		{Name: "state", DType: "int32", Compression: "lz4"}, {Name: "items", HType: "sequence", DType: "int32"}, {Name: "n", DType: "int64"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	for e, n := range frames {
		state, items := tensor.Sample{Form: tensor.FormHole}, []tensor.Sample{{Form: tensor.FormHole}}
		if n >= 0 {
			data := []byte{}
			items = nil
			for f := range n {
				entry := binary.LittleEndian.AppendUint32(nil, uint32(1000*e+f))
				entry = binary.LittleEndian.AppendUint32(entry, uint32(-f))
				data = append(data, entry...)
				items = append(items, tensor.Sample{DType: tensor.Int32, Shape: tensor.Shape{2}, Data: entry})
			}
			state = tensor.Sample{DType: tensor.Int32, Shape: tensor.Shape{int64(n), 2}, Data: data}
		}
		number := tensor.Sample{DType: tensor.Int64, Shape: tensor.Shape{}, Data: binary.LittleEndian.AppendUint64(nil, uint64(e))}
		rows := []tensor.Rows{{Tensor: "state", Samples: []tensor.Sample{state}}, {Tensor: "items", Samples: items, RowItems: []int64{int64(len(items))}}, {Tensor: "n", Samples: []tensor.Sample{number}}}
		if err := d.Append(t.Context(), rows, 1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Commit(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	return s
}

// windows makes the source of windows, and returns the places beside it.
func (s *set) windows(t testing.TB, scheme string, o Options) (*Source, *Places) {
	t.Helper()
	d, err := dataset.Open(context.Background(), s.env, scheme+"://set", dataset.OpenOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	v, err := d.View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	places, err := Place(t.Context(), loader.SourceOf(v), nil, o)
	if err != nil {
		t.Fatal(err)
	}
	each, err := v.Select(places.Rows)
	if err != nil {
		t.Fatal(err)
	}
	src, err := Over(loader.SourceOf(each), nil, o, places)
	if err != nil {
		t.Fatal(err)
	}
	return src, places
}

// options returns windows of both tensors of arrays, changed.
func options(change func(o *Options)) Options {
	o := Options{FPS: 10, Step: 1, Tolerance: 1e-4, Tensors: []Tensor{
		{Name: "state", Times: []float64{-0.2, 0, 0.1}}, {Name: "items", Times: []float64{0.1, -0.1}},
	}}
	if change != nil {
		change(&o)
	}
	return o
}

// window is the expected values of a window, as bytes.
func window(e, frame, n int, away []int) (values, pads []byte) {
	for _, d := range away {
		f := min(max(frame+d, 0), n-1)
		values = binary.LittleEndian.AppendUint32(values, uint32(1000*e+f))
		values = binary.LittleEndian.AppendUint32(values, uint32(-f))
		pads = append(pads, 0)
		if f != frame+d {
			pads[len(pads)-1] = 1
		}
	}
	return values, pads
}

// TestWindowsOfLoaders: each window comes once, with the entries of its frame, near and far, in
// each order.
func TestWindowsOfLoaders(t *testing.T) {
	t.Parallel()
	frames := []int{5, -1, 1, 0, 12}
	s := newSet(t, frames...)
	for _, scheme := range []string{"mem", "far"} {
		for _, shuffle := range []string{order.Sequential, order.Window, order.Full} {
			t.Run(scheme+"/"+shuffle, func(t *testing.T) {
				t.Parallel()
				src, places := s.windows(t, scheme, options(func(o *Options) { o.Step = 2 }))
				if want := []int64{0, 0, 0, 2, 4, 4, 4, 4, 4, 4}; !slices.Equal(places.Rows, want) {
					t.Fatalf("windows of rows %v", places.Rows)
				}
				l, err := loader.Open(t.Context(), src, loader.Options{BatchSize: 3, Shuffle: shuffle, Seed: 2, Workers: 2})
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				e, err := l.Start(t.Context(), order.Pass{})
				if err != nil {
					t.Fatal(err)
				}
				defer e.Close()
				got := map[string]int{}
				for {
					b, err := e.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if b == nil {
						break
					}
					parts := make([][]string, b.Rows)
					for i := range b.Columns {
						c := &b.Columns[i]
						data := b.Data(c)
						each := len(data) / b.Rows
						for k := range parts {
							parts[k] = append(parts[k], c.Name+string(data[k*each:][:each]))
						}
					}
					for _, p := range parts {
						got[strings.Join(p, "|")]++
					}
					b.Release()
				}
				for i, row := range places.Rows {
					state, pad := window(int(row), int(places.Frames[i]), frames[row], []int{-2, 0, 1})
					items, itemPad := window(int(row), int(places.Frames[i]), frames[row], []int{1, -1})
					number := binary.LittleEndian.AppendUint64(nil, uint64(row))
					want := strings.Join([]string{"state" + string(state), "state_is_pad" + string(pad), "items" + string(items), "items_is_pad" + string(itemPad), "n" + string(number), "frame_index" + string(binary.LittleEndian.AppendUint64(nil, uint64(places.Frames[i])))}, "|")
					if got[want] != 1 {
						t.Errorf("window %d of row %d comes %d times", places.Frames[i], row, got[want])
					}
				}
				if len(got) != len(places.Rows) {
					t.Errorf("%d windows, want %d", len(got), len(places.Rows))
				}
			})
		}
	}
}

// TestColumns: abilities of the samples do not apply to windows, and windows that are not there, or
// whose rows have changed, are errors.
func TestColumns(t *testing.T) {
	t.Parallel()
	s := newSet(t, 5, 3)
	src, places := s.windows(t, "mem", options(nil))
	w := src.NewWorker()
	defer w.Close()
	for _, name := range []string{"state", "items", "state_is_pad", "frame_index"} {
		col, err := src.Column(name)
		if err != nil {
			t.Fatal(err)
		}
		a := col.Access()
		if col.Name() != name || col.Sequence() || !a.Clips || a.Zones != nil || a.GatherPlan != nil || a.CopyRange != nil || a.DecodeROIs != nil {
			t.Errorf("%s: %+v", name, a)
		}
		for _, row := range []int64{-1, src.Len()} {
			if err := col.Resolve(t.Context(), []int64{row}, make([]chunk.Ref, 1)); !errs.Is(err, errs.Range) {
				t.Errorf("%s: window %d: %v", name, row, err)
			}
		}
		refs := make([]chunk.Ref, 2)
		if err := col.Resolve(t.Context(), []int64{1, 2}, refs); err != nil {
			t.Fatal(err)
		}
		if name == "state" || name == "items" {
			if refs[0].Draw() == refs[1].Draw() {
				t.Errorf("%s: two windows have the same draws", name)
			}
			if err := col.Stored(t.Context(), &refs[0], nil, w); !errs.Is(err, errs.Unsupported) {
				t.Errorf("%s: the stored form: %v", name, err)
			}
		}
		dst := bytes.Repeat([]byte{9}, int(refs[1].Size))
		if err := col.Decode(t.Context(), &refs[1], dst, w); err != nil || bytes.Contains(dst, []byte{9, 9}) {
			t.Errorf("%s: %v, %v", name, dst, err)
		}
	}
	if _, err := src.Column("nothing"); !errs.Is(err, errs.NotFound) {
		t.Errorf("an unknown column: %v", err)
	}
	number, err := src.Column("n")
	if err != nil {
		t.Fatal(err)
	}
	// Three entries of state and two of items, of 8 bytes each, at each of 8 frames.
	all, err := src.StoredBytes(t.Context())
	if own := all - number.Access().StoredBytes; err != nil || own < 300 || own > 340 {
		t.Errorf("StoredBytes of arrays is %d, %v", own, err)
	}
	changed := *places
	changed.Lengths = slices.Clone(places.Lengths)
	changed.Lengths[0] = 4
	other, err := Over(src.Source, nil, options(nil), &changed)
	if err != nil {
		t.Fatal(err)
	}
	col, _ := other.Column("state")
	if err := col.Resolve(t.Context(), []int64{0}, make([]chunk.Ref, 1)); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "make windows again") {
		t.Errorf("a row of another length: %v", err)
	}
	for name, change := range map[string]func(p *Places){
		"too few frames": func(p *Places) { p.Frames = p.Frames[1:] },
		"a frame beyond": func(p *Places) { p.Frames = slices.Repeat([]int64{5}, len(p.Frames)) },
		"a frame before": func(p *Places) { p.Frames = slices.Repeat([]int64{-1}, len(p.Frames)) },
	} {
		p := *places
		change(&p)
		if _, err := Over(src.Source, nil, options(nil), &p); !errs.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// counted counts the samples of its columns that are decoded.
type counted struct {
	loader.Source
	decoded *int
}

type countedColumn struct {
	read.Column
	decoded *int
}

func (s counted) Column(name string) (read.Column, error) {
	col, err := s.Source.Column(name)
	return countedColumn{col, s.decoded}, err
}

func (c countedColumn) Decode(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error {
	*c.decoded++
	return c.Column.Decode(ctx, ref, dst, w)
}

// TestSamplesAreReadOnce: windows of one row that are decoded together read its array once, and
// each item of its sequence.
func TestSamplesAreReadOnce(t *testing.T) {
	t.Parallel()
	s := newSet(t, 50, 30)
	src, places := s.windows(t, "mem", options(nil))
	decoded := 0
	src, err := Over(counted{src.Source, &decoded}, nil, options(nil), places)
	if err != nil {
		t.Fatal(err)
	}
	n := int(src.Len())
	rows := make([]int64, n)
	for i := range rows {
		rows[i] = int64(i)
	}
	w := src.NewWorker()
	defer w.Close()
	for name, once := range map[string]int{"state": 2, "items": 80} {
		col, err := src.Column(name)
		if err != nil {
			t.Fatal(err)
		}
		refs := make([]chunk.Ref, n)
		if err := col.Resolve(t.Context(), rows, refs); err != nil {
			t.Fatal(err)
		}
		list, got, want := make([]*chunk.Ref, n), make([][]byte, n), make([]byte, 0)
		for i := range refs {
			list[i], got[i] = &refs[i], make([]byte, refs[i].Size)
			one := make([]byte, refs[i].Size)
			if err := col.Decode(t.Context(), &refs[i], one, w); err != nil {
				t.Fatal(err)
			}
			want = append(want, one...)
		}
		decoded = 0
		col.Access().DecodeRun(t.Context(), list, got, w, func(i int, err error) { t.Errorf("%s: window %d: %v", name, i, err) })
		if decoded != once || !bytes.Equal(bytes.Join(got, nil), want) {
			t.Errorf("%s: %d samples and items are decoded, want %d", name, decoded, once)
		}
	}
}

// TestIdentityOfWindows: windows of other times, frames or rows are others.
func TestIdentityOfWindows(t *testing.T) {
	t.Parallel()
	s := newSet(t, 5, 3)
	seen := map[string]bool{}
	for _, change := range []func(o *Options){nil, func(o *Options) { o.Step = 2 }, func(o *Options) { o.Tensors[0].Times[0] = -0.1 }, func(o *Options) { o.Tensors = o.Tensors[:1] }} {
		src, _ := s.windows(t, "mem", options(change))
		_, _, selection, err := src.Identity()
		if err != nil || seen[selection] {
			t.Errorf("%s stands twice, %v", selection, err)
		}
		seen[selection] = true
	}
	a, _ := s.windows(t, "mem", options(nil))
	if _, _, selection, _ := a.Identity(); !seen[selection] {
		t.Error("the same windows have another identity")
	}
}

// TestOptionsThatAreRefused: each error names the option and its value.
func TestOptionsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newSet(t, 5)
	src, _ := s.windows(t, "mem", options(nil))
	for text, change := range map[string]func(o *Options){
		"fps is 0":             func(o *Options) { o.FPS = 0 },
		"fps is NaN":           func(o *Options) { o.FPS = math.NaN() },
		"step is 0":            func(o *Options) { o.Step = 0 },
		"tolerance is 0.05":    func(o *Options) { o.Tolerance = 0.05 },
		"tolerance is NaN":     func(o *Options) { o.Tolerance = math.NaN() },
		"no tensor is named":   func(o *Options) { o.Tensors = nil },
		"is named twice":       func(o *Options) { o.Tensors[1] = o.Tensors[0] },
		"0 times":              func(o *Options) { o.Tensors[0].Times = nil },
		"3 times":              func(o *Options) { o.Tensors[0].Single = true },
		"0.05 s is 0.050000 s": func(o *Options) { o.Tensors[0].Times[1] = 0.05 },
		"too far":              func(o *Options) { o.Tensors[0].Times[1] = math.Inf(1) },
		"no tensor of this":    func(o *Options) { o.Tensors[0].Name = "nothing" },
	} {
		o := options(change)
		if _, err := Place(t.Context(), src.Source, nil, o); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: got %v", text, err)
		}
		if _, err := Over(src.Source, nil, o, &Places{}); err == nil {
			t.Errorf("%s: a source", text)
		}
	}
	o := options(func(o *Options) { o.Tensors[1] = Tensor{Name: "n", Times: []float64{0}} })
	if _, err := Place(t.Context(), src.Source, nil, o); !errs.Is(err, errs.Type) || !strings.Contains(err.Error(), "single number") {
		t.Errorf("numbers: %v", err)
	}
}
