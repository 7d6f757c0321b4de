package film

import (
	"bytes"
	"image"
	"image/jpeg"
	"math"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/media"
	"deeplake/core/media/ffmpeg"
	"deeplake/core/media/matroska"
	"deeplake/core/media/mediatest"
	"deeplake/core/media/mp4"
	"deeplake/core/session"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/storage/storagetest"
	"deeplake/core/tensor"
	"deeplake/core/video"
	"deeplake/core/viz"
)

// set is a view of videos, and the films of it.
type set struct {
	*View
	view  *session.View
	lake  *storagetest.Lake
	loads atomic.Int64 // of the library
}

// newSet stores files, and links to the last ones.
func newSet(t *testing.T, library func() (*ffmpeg.Library, error), linked int, files ...[]byte) *set {
	t.Helper()
	s := &set{lake: &storagetest.Lake{}}
	env := &dataset.Env{
		Codecs: all.All(), Writer: "test", Containers: containers(),
		Stores: storage.Registry{"mem": (&mem.Space{}).Open}, Sources: storage.Sources{"lake": s.lake.Open},
	}
	o := storage.Options{Links: []storage.LinkRule{{Prefix: "lake://test", Settings: &storage.Settings{}}}}
	ds, err := dataset.Create(t.Context(), env, "mem://set", dataset.CreateOptions{Storage: o, Tensors: []dataset.TensorSpec{{Name: "x", HType: "video"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ds.Close() })
	for i, file := range files {
		one := tensor.Sample{Form: tensor.FormEncoded, Data: file}
		if i >= len(files)-linked {
			s.lake.Put("film", file)
			one = tensor.Sample{Form: tensor.FormLink, Link: &tensor.Link{URL: "lake://test/film", Length: int64(len(file))}}
		}
		if err := ds.Append(t.Context(), []tensor.Rows{{Tensor: "x", Samples: []tensor.Sample{one}}}, 1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ds.Commit(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	v, err := ds.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.view = session.NewView(v)
	counted := func() (*ffmpeg.Library, error) {
		s.loads.Add(1)
		return library()
	}
	s.View = New(counted, viz.JPEG(all.All()), containers()).Open(s.view).(*View)
	t.Cleanup(func() {
		s.Close()
		s.view.Close()
	})
	return s
}

// poster makes the picture of a row.
func (s *set) poster(t *testing.T, row int64, pixels int) viz.Poster {
	t.Helper()
	col, err := s.view.Column("x")
	if err != nil {
		t.Fatal(err)
	}
	var refs [1]chunk.Ref
	if err := col.Resolve(t.Context(), []int64{row}, refs[:]); err != nil {
		t.Fatal(err)
	}
	p, err := s.Poster(t.Context(), "x", row, &refs[0], pixels)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPosters compares pictures with the first frames.
func TestPosters(t *testing.T) {
	t.Parallel()
	library := mediatest.FFmpeg(t, ffmpeg.Load)
	load := func() (*ffmpeg.Library, error) { return library, nil }
	names := []string{"gop250.mp4", "h264_open.mp4", "audio.mp4"}
	var files [][]byte
	for _, name := range names {
		files = append(files, mediatest.Fixture(t, name))
	}
	s := newSet(t, load, 1, files...)
	r, err := video.Open(s.view, "x", load)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for row, name := range names {
		info, err := r.Info(t.Context(), int64(row))
		if err != nil {
			t.Fatal(err)
		}
		pix := make([]byte, info.Width*info.Height*3)
		if err := r.Frames(t.Context(), int64(row), []int64{0}, pix); err != nil {
			t.Fatal(err)
		}
		for _, pixels := range []int{16, 32, 4096} {
			p := s.poster(t, int64(row), pixels)
			if p.Reason != "" || p.Codec != info.Codec || p.Bytes != int64(len(files[row])) || p.Frames != int64(info.Frames) || p.Seconds <= 0 || p.Media != "image/jpeg" {
				t.Fatalf("%s: %+v", name, p)
			}
			got, err := jpeg.Decode(bytes.NewReader(p.File))
			if err != nil {
				t.Fatal(err)
			}
			longer := min(max(info.Width, info.Height), pixels)
			if size := got.Bounds().Size(); max(size.X, size.Y) != longer {
				t.Errorf("%s at %d: %v", name, pixels, size)
			}
			if got, want := meanOf(got), mean(pix); max(got-want, want-got) > 6 {
				t.Errorf("%s at %d: the mean of the pixels is %v, want %v", name, pixels, got, want)
			}
		}
	}
	before := s.loads.Load()
	s.poster(t, 0, 16)
	if s.loads.Load() != before {
		t.Error("a picture is not kept")
	}
}

// TestNoLibrary: without FFmpeg the facts come, with the reason.
func TestNoLibrary(t *testing.T) {
	t.Parallel()
	s := newSet(t, func() (*ffmpeg.Library, error) {
		return nil, errs.New(errs.Unsupported, "no FFmpeg here")
	}, 0, mediatest.Fixture(t, "gop250.mp4"))
	for range 2 {
		p := s.poster(t, 0, 64)
		if p.File != nil || !strings.Contains(p.Reason, "no FFmpeg here") || p.Codec != "h264" || p.Width < 8 || p.Frames < 2 {
			t.Errorf("%+v", p)
		}
	}
	if s.loads.Load() != 2 {
		t.Errorf("the library is looked for %d times, want at each picture", s.loads.Load())
	}
}

// TestDamagedFrame: a first frame that is no picture costs the picture alone.
func TestDamagedFrame(t *testing.T) {
	t.Parallel()
	library := mediatest.FFmpeg(t, ffmpeg.Load)
	file := bytes.Clone(mediatest.Fixture(t, "gop250.mp4"))
	v, err := mp4.File{}.Index(t.Context(), media.Bytes(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range v.Packets {
		for i := range file[p.Offset:][:p.Bytes] {
			file[p.Offset+int64(i)] = byte(i * 7)
		}
	}
	p := newSet(t, func() (*ffmpeg.Library, error) { return library, nil }, 0, file).poster(t, 0, 64)
	if p.File != nil || p.Reason == "" || p.Codec != "h264" {
		t.Errorf("%+v", p)
	}
}

// TestLinkedFile: the bytes of a linked file are read from where it lies, and one that has changed
// is damage.
func TestLinkedFile(t *testing.T) {
	t.Parallel()
	file := mediatest.Fixture(t, "gop250.mp4")
	s := newSet(t, nil, 1, file)
	info, err := s.Info(t.Context(), "x", 0)
	if err != nil || info.Media != "video/mp4" || info.Name != "x-0.mp4" || info.Bytes != int64(len(file)) {
		t.Fatalf("%+v, %v", info, err)
	}
	for _, at := range [][2]int{{0, len(file)}, {1, 2}, {100, 1000}, {len(file) - 1, len(file)}, {5, 5}} {
		dst := make([]byte, at[1]-at[0])
		if err := s.ReadAt(t.Context(), "x", 0, dst, int64(at[0])); err != nil || !bytes.Equal(dst, file[at[0]:at[1]]) {
			t.Errorf("bytes %v: %v", at, err)
		}
	}
	for _, at := range []int64{-1, int64(len(file)), 1 << 62} {
		if err := s.ReadAt(t.Context(), "x", 0, make([]byte, 1), at); !errs.Is(err, errs.Range) {
			t.Errorf("the byte at %d: %v", at, err)
		}
	}
	s.lake.Put("film", append(bytes.Clone(file), 0))
	if err := s.ReadAt(t.Context(), "x", 0, make([]byte, 9), 0); !errs.Is(err, errs.Corrupt) {
		t.Errorf("a file that has changed: %v", err)
	}
}

func TestTimesAroundATime(t *testing.T) {
	t.Parallel()
	s := newSet(t, nil, 0, mediatest.Fixture(t, "gop250.mp4"))
	info, err := s.Info(t.Context(), "x", 0)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]float64, info.Frames)
	r, err := s.reader("x")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Times(t.Context(), 0, want); err != nil {
		t.Fatal(err)
	}
	for _, at := range []float64{-5, 0, want[1], (want[1] + want[2]) / 2, want[len(want)-1], 1e9} {
		for _, n := range []int{1, 3, 100000} {
			first, times, err := r.Near(t.Context(), 0, at, n)
			next := slices.IndexFunc(want, func(one float64) bool { return one > at })
			if next < 0 {
				next = len(want)
			}
			if from, to := max(next-n, 0), min(next+n, len(want)); err != nil || first != int64(from) || !slices.Equal(times, want[from:to]) {
				t.Errorf("%d around %v: %d from %d on, %v", n, at, len(times), first, err)
			}
		}
	}
}

// TestTables: the times of frames, without a decoder.
func TestTables(t *testing.T) {
	t.Parallel()
	s := newSet(t, nil, 0, mediatest.Fixture(t, "gop250.mp4"))
	info, err := s.Info(t.Context(), "x", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []float64{math.Inf(-1), -1, info.Duration / 2, 1e300, math.NaN()} {
		got, err := s.Times(t.Context(), "x", 0, at)
		if err != nil || got.Frames != int64(info.Frames) || got.Duration != info.Duration || got.Width != info.Width || got.Height != info.Height {
			t.Errorf("at %v: %+v, %v, want %+v", at, got, err, info)
		}
		if n := len(got.Times); n == 0 || n > 2*mostTimes || got.First+int64(n) > got.Frames {
			t.Errorf("at %v: %d times from %d on, of %d frames", at, n, got.First, got.Frames)
		}
	}
	if _, err := s.Times(t.Context(), "y", 0, 0); !errs.Is(err, errs.NotFound) {
		t.Errorf("no tensor: %v", err)
	}
}

func containers() media.Containers { return media.Containers{mp4.File{}, matroska.File{}} }

// TestKinds: media types and endings are of the table, whatever a file or a tensor is called.
func TestKinds(t *testing.T) {
	t.Parallel()
	films := New(nil, nil, containers())
	for folder, kinds := range map[string]map[string]string{
		"mp4":      {".mp4": "video/mp4", ".mov": "video/quicktime"},
		"matroska": {".webm": "video/webm", ".mkv": "video/x-matroska"},
	} {
		names, err := os.ReadDir("../../media/" + folder + "/testdata")
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, name := range names {
			for ending, want := range kinds {
				if !strings.HasSuffix(name.Name(), ending) {
					continue
				}
				file, err := os.ReadFile("../../media/" + folder + "/testdata/" + name.Name())
				if err != nil {
					t.Fatal(err)
				}
				if kind, end := films.kindOf(file[:min(len(file), media.HeadBytes)]); kind != want || end != ending {
					t.Errorf("%s is %s, %s", name.Name(), kind, end)
				}
				seen++
			}
		}
		if seen < 5 {
			t.Errorf("%d files of %s", seen, folder)
		}
	}
	for _, head := range []string{"", "x", "<html><script>", "\x1aE\xdf", "\x00\x00\x00\x18ftyp"} {
		if kind, end := films.kindOf([]byte(head)); kind != "application/octet-stream" || end != ".bin" {
			t.Errorf("%q is %s, %s", head, kind, end)
		}
	}
	for _, c := range containers() {
		for _, extension := range c.Extensions() {
			if types[extension] == "" {
				t.Errorf("files of %s have no media type", extension)
			}
		}
	}
	for name, want := range map[string]string{
		"films": "films", "a/b": "a-b", `"; x=y`: "x-y", "\r\nSet-Cookie: a": "Set-Cookie--a", "../..": "video", "ÄÖ": "video", strings.Repeat("x", 500): strings.Repeat("x", mostName),
	} {
		if got := safe(name); got != want {
			t.Errorf("%q is saved as %q, want %q", name, got, want)
		}
	}
}

func mean(pix []byte) float64 {
	sum := 0
	for _, b := range pix {
		sum += int(b)
	}
	return float64(sum) / float64(len(pix))
}

func meanOf(img image.Image) float64 {
	var pix []byte
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			r, g, b, _ := img.At(x, y).RGBA()
			pix = append(pix, byte(r>>8), byte(g>>8), byte(b>>8))
		}
	}
	return mean(pix)
}
