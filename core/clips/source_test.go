package clips

import (
	"bytes"
	"context"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/media/mediatest"
	"deeplake/core/read"
)

// refsOf resolves rows of a column.
func refsOf(t testing.TB, col read.Column, rows ...int64) []chunk.Ref {
	t.Helper()
	refs := make([]chunk.Ref, len(rows))
	if err := col.Resolve(t.Context(), rows, refs); err != nil {
		t.Fatal(err)
	}
	return refs
}

// TestOtherColumnsStay: tensors beside the videos are those of the rows of the clips.
func TestOtherColumnsStay(t *testing.T) {
	t.Parallel()
	s := newSet(t, nil, mediatest.Fixture(t, "h264.mp4"), mediatest.Fixture(t, "gop250.mp4"))
	p := s.place(t, "mem", options(nil))
	col, err := p.Column("n")
	if err != nil {
		t.Fatal(err)
	}
	w := p.NewWorker()
	defer w.Close()
	for i, row := range p.rows {
		got := make([]byte, 8)
		if err := col.Decode(t.Context(), &refsOf(t, col, int64(i))[0], got, w); err != nil || int64(got[0]) != row {
			t.Fatalf("clip %d is of row %d, its number is %d, or %v", i, row, got[0], err)
		}
	}
	if a := col.Access(); a.Clips || a.DecodeFrames != nil {
		t.Errorf("the numbers have the abilities of clips: %+v", a)
	}
	if _, err := p.Column("y"); !errs.Is(err, errs.NotFound) {
		t.Errorf("an unknown column: %v", err)
	}
}

// TestColumnOfClips holds that clips refuse the reads of whole files.
func TestColumnOfClips(t *testing.T) {
	t.Parallel()
	s := newSet(t, mediatest.Fixture(t, "h264.mp4"))
	p := s.place(t, "mem", options(nil))
	col, err := p.Column("x")
	if err != nil {
		t.Fatal(err)
	}
	a := col.Access()
	if !a.Clips || a.DecodeFrames == nil || a.HType != "generic" || a.Tables != "" || a.Zones != nil || a.GatherPlan != nil || a.DecodeROIs != nil {
		t.Errorf("clips have abilities of files: %+v", a)
	}
	refs := refsOf(t, col, 0, 1)
	if refs[0].Draw() == refs[1].Draw() {
		t.Error("two clips of a video have the same draws")
	}
	w := p.NewWorker()
	defer w.Close()
	if err := col.Stored(t.Context(), &refs[0], nil, w); !errs.Is(err, errs.Unsupported) {
		t.Errorf("the stored form of a clip: %v", err)
	}
	for _, row := range []int64{-1, p.Len()} {
		if err := col.Resolve(t.Context(), []int64{row}, refs[:1]); !errs.Is(err, errs.Range) {
			t.Errorf("clip %d: %v", row, err)
		}
	}
	if spans, err := a.Prefetch(t.Context(), [][2]int64{{0, 1}, {p.Len() - 1, p.Len() + 1}}); len(spans) < 2 || !errs.Is(err, errs.Range) {
		t.Errorf("the spans of a run that is too long: %d, %v", len(spans), err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Prefetch(done, [][2]int64{{0, 2}}); !errs.Is(err, errs.Canceled) {
		t.Errorf("spans for a context that has ended: %v", err)
	}
}

// TestStoredBytesIsNear: the estimate is near the bytes of all clips.
func TestStoredBytesIsNear(t *testing.T) {
	t.Parallel()
	s := newSet(t, film(t, 40, 3_000, 1), nil, film(t, 90, 1_000, 2), mediatest.Fixture(t, "h264.mp4"))
	for _, o := range []Options{options(nil), options(func(o *Options) { o.Length, o.Stride, o.Step = 4, 12, 7 }), options(func(o *Options) { o.Length, o.Frames = 1, true })} {
		p := s.place(t, "mem", o)
		got, err := p.StoredBytes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		col, _ := p.Column("x")
		want := int64(0)
		for i := range p.Len() {
			want += refsOf(t, col, i)[0].Stored
		}
		if again, err := p.StoredBytes(t.Context()); again != got || err != nil || col.Access().StoredBytes != got {
			t.Errorf("StoredBytes is %d, then %d, and of the column %d", got, again, col.Access().StoredBytes)
		}
		if got < want*7/10 || got > want*13/10 {
			t.Errorf("%+v: StoredBytes is %d, the clips take %d", o, got, want)
		}
	}
	none := newSet(t, nil).place(t, "mem", options(nil))
	if _, err := none.StoredBytes(t.Context()); err != nil || none.Len() != 0 {
		t.Errorf("%d clips of no video: %v", none.Len(), err)
	}
}

// TestIdentity: clips of other options, places or rows are others.
func TestIdentity(t *testing.T) {
	t.Parallel()
	s := newSet(t, mediatest.Fixture(t, "h264.mp4"), mediatest.Fixture(t, "gop250.mp4"))
	v := s.view(t, "mem")
	r := videos(t, v)
	rows, starts := []int64{0, 0, 1}, []int64{0, 8, 16}
	seen := map[string]string{}
	identity := func(name string, o Options, rows, starts []int64) string {
		t.Helper()
		all, err := v.Select(rows)
		if err != nil {
			t.Fatal(err)
		}
		src, err := Over(loader.SourceOf(all), r, o, rows, starts)
		if err != nil {
			t.Fatal(err)
		}
		dataset, commit, selection, err := src.Identity()
		if err != nil || dataset == "" || commit == "" {
			t.Fatalf("%s: %q, %q, %v", name, dataset, commit, err)
		}
		return selection
	}
	for name, change := range map[string]func(o *Options){
		"none": nil, "length": func(o *Options) { o.Length++ }, "stride": func(o *Options) { o.Stride++ }, "fps": func(o *Options) { o.FPS = 10 },
		"short": func(o *Options) { o.Short = Repeat }, "frames": func(o *Options) { o.Length, o.Frames = 1, true },
	} {
		of := identity(name, options(change), rows, starts)
		if other, ok := seen[of]; ok {
			t.Errorf("changes of %s and %s have the identity %q", name, other, of)
		}
		seen[of] = name
	}
	for name, at := range map[string][2][]int64{"starts": {rows, {0, 8, 17}}, "rows": {{0, 1, 1}, starts}, "order": {{0, 0, 1}, {8, 0, 16}}, "fewer": {rows[:2], starts[:2]}} {
		of := identity(name, options(nil), at[0], at[1])
		if other, ok := seen[of]; ok {
			t.Errorf("changes of %s and %s have the identity %q", name, other, of)
		}
		seen[of] = name
	}
	if a, b := identity("a", options(nil), rows, starts), identity("b", options(nil), rows, starts); a != b {
		t.Errorf("the same clips are %q and %q", a, b)
	}
}

// TestReadOptions: rows of clips are read by number, in any order.
func TestReadOptions(t *testing.T) {
	t.Parallel()
	s := newSet(t, mediatest.Fixture(t, "h264.mp4"), nil, mediatest.Fixture(t, "gop250.mp4"))
	for _, scheme := range []string{"mem", "far"} {
		p := s.place(t, scheme, options(func(o *Options) { o.Step = 3 }))
		r := loader.NewReader(p)
		defer r.Close()
		rows := []int64{5, 0, p.Len() - 1, 5}
		b, err := r.Read(t.Context(), rows, loader.ReadOptions{Collate: loader.List, ReturnIndex: true})
		if err != nil {
			t.Fatal(err)
		}
		for c := range b.Columns {
			col := &b.Columns[c]
			if col.Name != "x" {
				continue
			}
			for i, row := range rows {
				frames := make([]int64, p.o.Length)
				for k := range frames {
					frames[k] = p.starts[row] + int64(k)
				}
				if !bytes.Equal(b.Item(col, i), pixels(t, p.reader, p.rows[row], frames)) {
					t.Errorf("%s: row %d is another clip", scheme, row)
				}
			}
		}
		b.Release()
		if _, err := r.Read(t.Context(), []int64{p.Len()}, loader.ReadOptions{}); !errs.Is(err, errs.Range) {
			t.Errorf("%s: a row behind the end: %v", scheme, err)
		}
	}
}
