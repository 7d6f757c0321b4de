package clips

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/media/mediatest"
)

// slowly lists the positions at which clips of a video with n positions begin, by trying each.
func slowly(o Options, n int64) []int64 {
	step := o.Step
	if step == 0 {
		step = o.Length * o.Stride
	}
	var out []int64
	for at := range n {
		last := at + (o.Length-1)*o.Stride // position of the clip
		shown := false                     // the end, by the clip before
		if k := len(out) - 1; k >= 0 {
			shown = out[k]+(o.Length-1)*o.Stride >= n-1
		}
		if at%step != 0 || shown || o.Short == Drop && last >= n {
			continue
		}
		out = append(out, at)
	}
	return out
}

// TestPlaceOfOneVideo: clips begin where the slow way puts them. Random ones begin anywhere where a
// whole clip fits, and at the same places again.
func TestPlaceOfOneVideo(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 1))
		o := options(func(o *Options) {
			o.Length, o.Stride, o.Step = 1+r.Int64N(12), 1+r.Int64N(4), r.Int64N(10)
			o.Short = []string{Repeat, Drop}[r.IntN(2)]
		})
		n := r.Int64N(60)
		if got, want := o.place(0, n, nil), slowly(o, n); !slices.Equal(got, want) {
			t.Fatalf("seed %d, %+v of %d: %v, want %v", seed, o, n, got, want)
		}
		o.Windows, o.Count, o.Seed = Random, r.Int64N(20), r.Uint64()
		got, last := o.place(7, n, []int64{-5}), n-o.Length*o.Stride+o.Stride-1
		if o.Short == Repeat && n > 0 {
			last = max(last, 0)
		}
		want := o.Count
		if last < 0 {
			want = 0
		}
		if int64(len(got)) != 1+want || got[0] != -5 || !slices.Equal(got, o.place(7, n, []int64{-5})) {
			t.Fatalf("seed %d, %+v of %d: %v", seed, o, n, got)
		}
		for _, at := range got[1:] {
			if at < 0 || at > last {
				t.Fatalf("seed %d, %+v of %d: %v, want 0 to %d", seed, o, n, got, last)
			}
		}
	}
}

// TestRandomClipsAreSpread: each position is drawn about as often, and rows and seeds differ.
func TestRandomClipsAreSpread(t *testing.T) {
	t.Parallel()
	o := options(func(o *Options) { o.Windows, o.Count, o.Length = Random, 20_000, 3 })
	seen := map[int64]int{}
	for _, at := range o.place(0, 12, nil) {
		seen[at]++
	}
	for at := range int64(10) {
		if n := seen[at]; n < 1700 || n > 2300 {
			t.Errorf("position %d is drawn %d times of 20000, want about 2000", at, n)
		}
	}
	o.Count = 50
	base, row := o.place(0, 1000, nil), o.place(1, 1000, nil)
	o.Seed = 1
	if seed := o.place(0, 1000, nil); slices.Equal(base, row) || slices.Equal(base, seed) || slices.Equal(row, seed) {
		t.Errorf("clips of other rows and seeds are the same: %v", base)
	}
}

// TestOptionsAreChecked: wrong options are errs.Invalid, in Place and in Over.
func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	s := newSet(t, mediatest.Fixture(t, "h264.mp4"))
	v := s.view(t, "mem")
	r := videos(t, v)
	for i, change := range []func(o *Options){
		func(o *Options) { o.Length = 0 },
		func(o *Options) { o.Length = maxLength + 1 },
		func(o *Options) { o.Stride = 0 },
		func(o *Options) { o.Stride = math.MaxInt64 },
		func(o *Options) { o.FPS = -1 },
		func(o *Options) { o.FPS = math.NaN() },
		func(o *Options) { o.FPS = math.Inf(1) },
		func(o *Options) { o.Step = -1 },
		func(o *Options) { o.Count = -1 },
		func(o *Options) { o.Windows = "" },
		func(o *Options) { o.Short = "pad" },
		func(o *Options) { o.Frames = true },
	} {
		o := options(change)
		if _, _, err := Place(t.Context(), loader.SourceOf(v), r, o); !errs.Is(err, errs.Invalid) {
			t.Errorf("case %d: Place: %v", i, err)
		}
		if _, err := Over(loader.SourceOf(v), r, o, []int64{0}, []int64{0}); !errs.Is(err, errs.Invalid) {
			t.Errorf("case %d: Over: %v", i, err)
		}
	}
	o := options(nil)
	for _, at := range [][2][]int64{{{0}, {0, 1}}, {{0, 0}, {0, 1}}, {nil, nil}} {
		if _, err := Over(loader.SourceOf(v), r, o, at[0], at[1]); !errs.Is(err, errs.Invalid) {
			t.Errorf("Over %v: %v", at, err)
		}
	}
	o.Tensor = "y"
	if _, err := Over(loader.SourceOf(v), r, o, []int64{0}, []int64{0}); !errs.Is(err, errs.NotFound) {
		t.Errorf("Over an unknown tensor: %v", err)
	}
}

// fixtures are videos of all kinds of timing.
func fixtures() []string {
	return []string{"h264.mp4", "vfr.mp4", "rate.mp4", "cut.mp4", "cut.mov", "late.mp4", "negative.mp4", "mjpeg.mp4", "hevc_open.mp4", "gop250.mp4"}
}

// TestClipsOfRows: rows without a video have no clips, and each clip has its frames: by number, or
// those shown at times.
func TestClipsOfRows(t *testing.T) {
	t.Parallel()
	var files [][]byte
	for _, name := range fixtures() {
		files = append(files, nil, mediatest.Fixture(t, name))
	}
	files = append(files, nil, nil)
	s := newSet(t, files...)
	for i, o := range []Options{
		options(nil),
		options(func(o *Options) { o.Short = Repeat }),
		options(func(o *Options) { o.Length, o.Stride, o.Step = 3, 5, 2 }),
		options(func(o *Options) { o.Length, o.Step, o.FPS = 4, 3, 10 }),
		options(func(o *Options) { o.Length, o.Short, o.FPS = 5, Repeat, 7.3 }),
		options(func(o *Options) { o.Length, o.Stride, o.FPS = 2, 3, 61 }),
		options(func(o *Options) { o.Length, o.FPS = 1, 0.01 }),
		options(func(o *Options) { o.Windows, o.Count, o.Length = Random, 5, 4 }),
		options(func(o *Options) { o.Windows, o.Count, o.Length, o.Short, o.FPS = Random, 5, 70, Repeat, 5 }),
		options(func(o *Options) { o.Length, o.Frames, o.Stride = 1, true, 3 }),
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			p := s.place(t, "mem", o)
			rows := slices.Clone(p.rows)
			if !slices.IsSorted(rows) || len(rows) != len(p.starts) {
				t.Fatalf("rows %v, starts %v", p.rows, p.starts)
			}
			col := column{of: p.Source}
			for row := range int64(len(files)) {
				if files[row] == nil {
					if slices.Contains(rows, row) {
						t.Errorf("row %d has clips and no video", row)
					}
					continue
				}
				checkClips(t, p, &col, row)
			}
		})
	}
}

// checkClips compares the clips of a row with the positions of the slow way, and their frames with
// those at these positions.
func checkClips(t *testing.T, p placed, col *column, row int64) {
	t.Helper()
	at := positionsOf(t, p, row)
	var starts []int64
	w := p.NewWorker()
	defer w.Close()
	for i := range p.rows {
		if p.rows[i] != row {
			continue
		}
		starts = append(starts, p.starts[i])
		var frames []int64
		for k := range p.o.Length {
			frames = append(frames, at[min(p.starts[i]+k*p.o.Stride, int64(len(at))-1)])
		}
		refs := refsOf(t, col, int64(i))
		got := make([]byte, refs[0].Size)
		if err := col.Decode(t.Context(), &refs[0], got, w); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, pixels(t, p.reader, row, frames)) {
			t.Fatalf("row %d: the clip at %d is not of the frames %v", row, p.starts[i], frames)
		}
		if axes := len(refs[0].Shape); p.o.Frames && axes != 3 || !p.o.Frames && (axes != 4 || refs[0].Shape[0] != p.o.Length) {
			t.Fatalf("the clip has shape %v", refs[0].Shape)
		}
	}
	if p.o.Windows == Random {
		if len(starts) != int(p.o.Count) && int64(len(at)) >= p.o.reach() {
			t.Errorf("row %d of %d positions: clips at %v", row, len(at), starts)
		}
	} else if want := slowly(p.o, int64(len(at))); !slices.Equal(starts, want) {
		t.Errorf("row %d of %d positions: clips at %v, want %v", row, len(at), starts, want)
	}
}

// positionsOf lists the frames that clips of a row are made of, by the times of all frames.
func positionsOf(t *testing.T, p placed, row int64) []int64 {
	t.Helper()
	info, err := p.reader.Info(t.Context(), row)
	if err != nil {
		t.Fatal(err)
	}
	times := make([]float64, info.Frames)
	if err := p.reader.Times(t.Context(), row, times); err != nil {
		t.Fatal(err)
	}
	var out []int64
	for k := range info.Frames * 100 {
		if p.o.FPS == 0 {
			if k < info.Frames {
				out = append(out, int64(k))
			}
			continue
		}
		time := times[0] + float64(k)/p.o.FPS
		if k > 0 && time > info.Duration-1e-5 {
			break
		}
		frame := 0
		for frame+1 < len(times) && times[frame+1] <= time+1e-7 {
			frame++
		}
		out = append(out, int64(frame))
	}
	return out
}
