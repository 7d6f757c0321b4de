package loader

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/order"
)

// known is a fake view that says which rows it has.
type known struct {
	*fake
	dataset, commit, selection string
}

func (k known) Identity() (dataset, commit, selection string, err error) {
	return k.dataset, k.commit, k.selection, nil
}

func stateLoader(t *testing.T, k known, o Options) *Loader {
	t.Helper()
	if k.fake == nil {
		k.fake = fakeSet(100)
	}
	o.CollateOf = fakeCollate()
	if o.BatchSize == 0 {
		o.BatchSize = 8
	}
	l, err := Open(t.Context(), SourceOf(k), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestStateFitsOrSaysWhatDiffers(t *testing.T) {
	t.Parallel()
	base := known{dataset: "d", commit: "c", selection: "0+1*100"}
	o := Options{Shuffle: order.Window, Seed: 3, ShuffleBytes: 10_000}
	s, err := stateLoader(t, base, o).State(4, 56)
	if err != nil {
		t.Fatal(err)
	}
	state := encode(t, s)
	with := func(change func(k *known, o *Options)) *Loader {
		k, own := base, o
		change(&k, &own)
		return stateLoader(t, k, own)
	}
	for name, change := range map[string]func(k *known, o *Options){
		"the same":   func(*known, *Options) {},
		"batch size": func(_ *known, o *Options) { o.BatchSize = 5 },
		"threads":    func(_ *known, o *Options) { o.Workers, o.Prefetch, o.FetchBytes = 7, 9, 1<<20 },
		"tail":       func(_ *known, o *Options) { o.Tail = order.TailPad },
		"tensors":    func(_ *known, o *Options) { o.Tensors = []string{"labels", "boxes", "maybe"} },
	} {
		if p, err := with(change).Resume(state); err != nil || p.Epoch != 4 || p.Position != 56 {
			t.Errorf("%s: %+v, %v, want epoch 4 from 56", name, p, err)
		}
	}
	for name, c := range map[string]struct {
		change func(k *known, o *Options)
		want   []string
	}{
		"dataset":       {func(k *known, _ *Options) { k.dataset, k.commit = "e", "f" }, []string{`the dataset is "e" here and was "d"`}},
		"commit":        {func(k *known, _ *Options) { k.commit = "f" }, []string{`the commit is "f" here and was "c"`}},
		"not committed": {func(k *known, _ *Options) { k.commit = "" }, []string{"this loader is of rows that were not committed"}},
		"selection": {func(k *known, _ *Options) { k.selection, k.fake = "1+1*99", fakeSet(99) },
			[]string{`selection of rows is "1+1*99" here`, "number of rows is 99 here and was 100"}},
		"seed":          {func(_ *known, o *Options) { o.Seed = 4 }, []string{"seed is 4 here and was 3"}},
		"shuffle":       {func(_ *known, o *Options) { o.Shuffle = order.Full }, []string{`shuffle is "full" here and was "window"`}},
		"shuffle_bytes": {func(_ *known, o *Options) { o.ShuffleBytes = 40_000 << 20 }, []string{"what shuffle_bytes makes is"}},
		"several":       {func(k *known, o *Options) { k.commit, o.Seed = "f", 9 }, []string{"commit", "; seed is 9"}},
	} {
		l := with(c.change)
		_, err := l.Resume(state)
		if !errs.Is(err, errs.Invalid) {
			t.Errorf("%s: %v, want invalid", name, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q in it", name, err, want)
			}
		}
	}
}

// A state of an order of another version says so.
func TestStateOfAnotherVersion(t *testing.T) {
	t.Parallel()
	l := stateLoader(t, known{dataset: "d", commit: "c", selection: "s"}, Options{Shuffle: order.Window})
	s, err := l.State(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.Order = order.Order{Version: order.SlidingVersion, Kind: order.Window, Rows: s.Order.Rows, OpenBlocks: 7, Slices: 32, Layout: "0123456789abcdef"}
	_, err = l.Resume(encode(t, s))
	if want := "the version of the order is 3 here and was 4"; !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q in it", err, want)
	}
}

func TestStateIsReadStrictly(t *testing.T) {
	t.Parallel()
	l := stateLoader(t, known{dataset: "d", commit: "c", selection: "s"}, Options{})
	s, err := l.State(0, 100)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.State(0, 101); !errs.Is(err, errs.Invalid) {
		t.Errorf("a state behind the end: %v, want invalid", err)
	}
	var form map[string]any
	if err := json.Unmarshal(encode(t, s), &form); err != nil {
		t.Fatal(err)
	}
	with := func(key string, value any) map[string]any {
		m := maps.Clone(form)
		m[key] = value
		return m
	}
	later := s
	later.Order.Version += 2
	impossible := s
	impossible.Order.Kind, impossible.Order.Draw = order.Full, order.DrawOnce
	random := s
	random.Order.Kind = "random"
	uncommitted := s
	uncommitted.Commit = ""
	for want, given := range map[string][]byte{
		"no state of a loader":                []byte(`{"_snapshot": 1}`),
		"is no state":                         []byte(`[1, 2`),
		"version 2, want 1":                   encode(t, with("deeplake", 2)),
		"is version 3, want 1":                encode(t, later),
		"from 0 rows by":                      encode(t, impossible),
		"unknown order \"random\"":            encode(t, random),
		"unknown field":                       encode(t, with("sampler", 1)),
		"is damaged":                          encode(t, with("epoch", "1")),
		"position is 101":                     encode(t, with("position", 101)),
		"epoch is -1":                         encode(t, with("epoch", -1)),
		"bytes, want at most":                 bytes.Repeat([]byte(" "), maxStateBytes+1),
		"the state is of rows that were not ": encode(t, uncommitted),
	} {
		if _, err := l.Resume(given); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", given, err, want)
		}
	}
	if _, err := stateLoader(t, known{}, Options{}).Resume(encode(t, s)); err == nil {
		t.Error("a state of other rows was taken")
	}
}

// A source that does not say which rows it has gives no state.
func TestStateOfUnknownRows(t *testing.T) {
	t.Parallel()
	l := open(t, fakeSet(3), Options{BatchSize: 1, CollateOf: fakeCollate()})
	if _, err := l.State(0, 0); err == nil {
		t.Error("a state of nobody knows what")
	}
}

func TestStateIsSmall(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("f", 32)
	s := State{Version: math.MaxInt64, Dataset: "mix-" + name, Commit: "mix-" + name, Selection: "mix-" + name + "*9223372036854775807", Epoch: math.MaxInt64, Position: math.MaxInt64,
		Order: order.Order{Version: math.MaxInt64, Kind: order.Window, Rows: math.MaxInt64, Seed: math.MaxUint64, BlockRows: math.MaxInt64, FirstBlocks: math.MaxInt64, WindowBlocks: math.MaxInt64,
			Draw: order.DrawAgain, Of: math.MaxInt64, Weights: name, Mix: "sequential", Parts: name}}
	if n := len(encode(t, s)); n >= 1024 {
		t.Errorf("the largest state has %d bytes, want fewer than 1024", n)
	}
}

func FuzzState(f *testing.F) {
	s := State{Version: StateVersion, Dataset: "d", Commit: "c", Selection: "s", Order: order.Order{Version: order.WindowVersion, Kind: order.Window, Rows: 10, BlockRows: 1, FirstBlocks: 1, WindowBlocks: 2}, Position: 5}
	data, err := json.Marshal(s)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"deeplake":1,"order":{"order":1}}`))
	f.Add([]byte(`{"deeplake":"1"}`))
	l, err := Open(f.Context(), SourceOf(known{fake: fakeSet(10), dataset: "d", commit: "c", selection: "s"}), Options{BatchSize: 2, CollateOf: fakeCollate()})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(l.Close)
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := l.Resume(data)
		if err != nil {
			return
		}
		e, err := l.Start(t.Context(), p) // every batch taken is a point to resume from
		if err != nil {
			t.Fatalf("state %q gives pass %+v, which does not start: %v", data, p, err)
		}
		e.Close()
	})
}
