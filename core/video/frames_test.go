package video

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/media"
	"deeplake/core/media/ffmpeg"
	"deeplake/core/media/mediatest"
)

// ways read frames of a row, each by its own entry of a Reader.
func ways() map[string]func(ctx context.Context, r *Reader, row int64, list []int64) ([]byte, error) {
	clip := func(decode func(ctx context.Context, r *Reader, ref *chunk.Ref, w *chunk.Worker, dst []byte) error) func(ctx context.Context, r *Reader, row int64, list []int64) ([]byte, error) {
		return func(ctx context.Context, r *Reader, row int64, list []int64) ([]byte, error) {
			var ref chunk.Ref
			if err := r.Clip(ctx, row, list, &ref); err != nil {
				return nil, err
			}
			w := r.source.NewWorker()
			defer w.Close()
			dst := make([]byte, ref.Size)
			return dst, decode(ctx, r, &ref, w, dst)
		}
	}
	return map[string]func(ctx context.Context, r *Reader, row int64, list []int64) ([]byte, error){
		"Frames": func(ctx context.Context, r *Reader, row int64, list []int64) ([]byte, error) {
			info, err := r.Info(ctx, row)
			if err != nil {
				return nil, err
			}
			dst := make([]byte, len(list)*info.Height*info.Width*3)
			return dst, r.Frames(ctx, row, list, dst)
		},
		"DecodeClip": clip(func(ctx context.Context, r *Reader, ref *chunk.Ref, w *chunk.Worker, dst []byte) error {
			return r.DecodeClip(ctx, ref, dst, w)
		}),
		"DecodeFrames": clip(func(ctx context.Context, r *Reader, ref *chunk.Ref, w *chunk.Worker, dst []byte) error {
			came := make([]bool, ref.Shape[0])
			each := ref.Size / max(1, ref.Shape[0])
			var err error
			r.DecodeFrames(ctx, []*chunk.Ref{ref}, w, func(_, frame int, pix []byte, stride int) error {
				if came[frame] || int64(stride) != 3*ref.Shape[2] || int64(len(pix)) != each {
					return errs.New(errs.Internal, "frame %d of %d bytes in rows of %d, %v", frame, len(pix), stride, came)
				}
				came[frame] = true
				copy(dst[int64(frame)*each:], pix)
				return nil
			}, func(_ int, failed error) { err = failed })
			if err == nil && slices.Contains(came, false) {
				err = errs.New(errs.Internal, "frames did not come: %v", came)
			}
			return err
		}),
	}
}

// check reads frames in every way, and compares them with those of the whole track.
func check(t *testing.T, r *Reader, row int64, list []int64, want [][]byte) {
	t.Helper()
	for name, read := range ways() {
		got, err := read(t.Context(), r, row, list)
		if err != nil {
			t.Fatalf("%s of %v: %v", name, list, err)
		}
		for i, f := range list {
			each := len(want[f])
			if !bytes.Equal(got[i*each:][:each], want[f]) {
				t.Fatalf("%s of %v: frame %d differs", name, list, f)
			}
		}
		if len(list) > 0 && len(got) != len(list)*len(want[0]) {
			t.Fatalf("%s of %v: %d bytes", name, list, len(got))
		}
	}
}

func upTo(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i)
	}
	return out
}

// lists are random frames of n: with repeats, near each other, and none.
func lists(r *rand.Rand, n, count int) [][]int64 {
	out := [][]int64{{}, upTo(n)}
	for range count {
		list := make([]int64, 1+r.IntN(8))
		begin, reach := r.IntN(n), n
		if r.IntN(2) == 0 {
			reach = min(n, 6)
		}
		for i := range list {
			list[i] = int64((begin + r.IntN(reach)) % n)
		}
		out = append(out, list)
	}
	return out
}

// movies are the names of the fixtures that are videos, each with a file and its track.
func movies(t testing.TB) (names []string, files [][]byte, tracks []*media.Video) {
	t.Helper()
	entries, err := os.ReadDir("../media/mp4/testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name, described := strings.CutSuffix(e.Name(), ".json")
		if !described {
			continue
		}
		file, v := fixture(t, name)
		names, files, tracks = append(names, name), append(files, file), append(tracks, v)
	}
	if len(names) < 30 {
		t.Fatalf("%d fixtures", len(names))
	}
	return names, files, tracks
}

// TestFramesOfFixtures: any frames equal those of the whole track, decoded in order.
func TestFramesOfFixtures(t *testing.T) {
	t.Parallel()
	names, files, tracks := movies(t)
	s := newSet(t, append(files, nil)...)
	for _, scheme := range []string{"mem", "far"} {
		r := s.open(t, scheme)
		for row, name := range names {
			t.Run(scheme+"/"+name, func(t *testing.T) {
				want := frames(t, tracks[row], files[row])
				random := rand.New(rand.NewPCG(uint64(row), 1))
				for _, list := range lists(random, len(want), 6) {
					check(t, r, int64(row), list, want)
				}
			})
		}
		for name, read := range ways() {
			if _, err := read(t.Context(), r, int64(len(names)), []int64{0}); !errs.Is(err, errs.NotFound) {
				t.Errorf("%s of a row without a video: %v", name, err)
			}
			for _, bad := range [][]int64{{-1}, {0, 1 << 40}} {
				if _, err := read(t.Context(), r, 0, bad); !errs.Is(err, errs.Range) {
					t.Errorf("%s of %v: %v", name, bad, err)
				}
			}
		}
		if err := r.Frames(t.Context(), 0, []int64{0}, make([]byte, 7)); !errs.Is(err, errs.Invalid) {
			t.Errorf("Frames into 7 bytes: %v", err)
		}
	}
}

// TestTimes: each frame is the one at its time, and up to the next one's.
func TestTimes(t *testing.T) {
	t.Parallel()
	names, files, tracks := movies(t)
	r := newSet(t, files...).open(t, "mem")
	for row, name := range names {
		info, err := r.Info(t.Context(), int64(row))
		if err != nil {
			t.Fatal(err)
		}
		times := make([]float64, info.Frames)
		if err := r.Times(t.Context(), int64(row), times); err != nil {
			t.Fatal(err)
		}
		if info.Frames != len(tracks[row].Shown()) || !slices.IsSorted(times) || info.Begin != times[0] || times[len(times)-1] >= info.Duration {
			t.Errorf("%s: %+v, %v", name, info, times)
		}
		got := make([]int64, len(times))
		if err := r.At(t.Context(), int64(row), times, got); err != nil || !slices.Equal(got, upTo(len(times))) {
			t.Errorf("%s: at %v are the frames %v, %v", name, times, got, err)
		}
		for i := range times {
			end := info.Duration
			if i+1 < len(times) {
				end = times[i+1]
			}
			times[i] = (times[i] + end) / 2
		}
		if err := r.At(t.Context(), int64(row), times, got); err != nil || !slices.Equal(got, upTo(len(times))) {
			t.Errorf("%s: at %v are the frames %v, %v", name, times, got, err)
		}
		for _, none := range []float64{info.Begin - 0.01, info.Duration, 1e300, -1e300, nan()} {
			if err := r.At(t.Context(), int64(row), []float64{none}, got[:1]); !errs.Is(err, errs.Range) {
				t.Errorf("%s: at %v is frame %d, %v", name, none, got[0], err)
			}
		}
	}
}

func nan() float64 { zero := 0.0; return zero / zero }

// TestDecodersAreReused: videos of one form share decoders, which forget the one before.
func TestDecodersAreReused(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 3))
	one, first := film{fixture: "h264.mp4", copies: 2}.make(t, random)
	two, second := film{fixture: "h264.mp4", packets: 12, copies: 3, pad: 40}.make(t, random)
	other, third := film{fixture: "gop2.mp4", copies: 1}.make(t, random)
	s := newSet(t, one, two, other)
	r := s.open(t, "mem")
	tracks, files := []*media.Video{first, second, third}, [][]byte{one, two, other}
	var want [][][]byte
	for i := range files {
		want = append(want, frames(t, tracks[i], files[i]))
	}
	if formOf(first) != formOf(second) {
		t.Fatal("the first two films have other forms")
	}
	for range 20 {
		row := random.IntN(3)
		// Nothing follows the last frame, for which a decoder would keep its place.
		last := int64(len(want[row]) - 1)
		check(t, r, int64(row), []int64{last}, want[row])
	}
	if s.opens.Load() != 2 || len(r.pool.idle) != 2 {
		t.Errorf("%d decoders were made, %d are idle, want 2", s.opens.Load(), len(r.pool.idle))
	}
	r.Close()
	if len(r.pool.idle) != 0 {
		t.Error("decoders are idle behind Close")
	}
}

// TestIdleDecodersAreBounded: of many forms the ones used last stay.
func TestIdleDecodersAreBounded(t *testing.T) {
	t.Parallel()
	l := mediatest.FFmpeg(t, ffmpeg.Load)
	file, v := fixture(t, "mjpeg.mp4")
	r := newSet(t, file).open(t, "mem")
	of := *find(t, r, 0)
	for i := range mostIdle + 5 {
		d, err := l.Open(v, 1)
		if err != nil {
			t.Fatal(err)
		}
		of.form.width = i
		r.pool.put(&of, d, nil)
	}
	var got []int
	for _, one := range r.pool.idle {
		got = append(got, one.form.width)
	}
	if len(got) != mostIdle || got[0] != 5 || !slices.IsSorted(got) {
		t.Errorf("idle are %v", got)
	}
}

// TestFramesInParallel reads many videos at once by one Reader.
func TestFramesInParallel(t *testing.T) {
	t.Parallel()
	names := []string{"h264.mp4", "h264_open.mp4", "hevc_open.mp4", "vp9.mp4", "turned.mp4", "mjpeg.mp4", "gop250.mp4", "av1.mp4"}
	var files [][]byte
	var want [][][]byte
	for _, name := range names {
		file, v := fixture(t, name)
		files, want = append(files, file), append(want, frames(t, v, file))
	}
	s := newSet(t, files...)
	for _, scheme := range []string{"mem", "far"} {
		r := s.open(t, scheme)
		all := ways()
		g := task.New(t.Context(), 8)
		for i := range 60 {
			g.Go(func(ctx context.Context) error {
				random := rand.New(rand.NewPCG(uint64(i), 5))
				row := random.IntN(len(names))
				list := lists(random, len(want[row]), 1)[2]
				for name, read := range all {
					got, err := read(ctx, r, int64(row), list)
					if err != nil {
						return err
					}
					for k, f := range list {
						if each := len(want[row][f]); !bytes.Equal(got[k*each:][:each], want[row][f]) {
							return fmt.Errorf("%s of %s, %v: frame %d differs", name, names[row], list, f)
						}
					}
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
	}
}
