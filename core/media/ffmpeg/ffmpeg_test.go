//go:build cgo && linux

package ffmpeg

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/media"
	"deeplake/core/media/mediatest"
	"deeplake/core/media/mp4"
)

// packet is one of a stream of testdata.
type packet struct {
	time int64
	key  bool
	data []byte
}

func (p *packet) UnmarshalJSON(text []byte) error {
	var key int
	return json.Unmarshal(text, &[]any{&p.time, &key, &p.data})
}

// stream is a file of testdata, which tools/packets.py writes.
type stream struct {
	Codec   string
	Size    [2]int
	Pixels  media.PixelFormat
	Setup   []byte
	Packets []packet
	Frames  []string // MD5 of the planes as the program ffmpeg decodes them
}

func (s *stream) video() *media.Video {
	v := &media.Video{Codec: s.Codec, Setup: s.Setup, Width: s.Size[0], Height: s.Size[1]}
	for _, p := range s.Packets {
		v.Packets = append(v.Packets, media.Packet{Time: p.time, Key: p.key, Bytes: int64(len(p.data))})
	}
	return v
}

// times are those at which frames are shown.
func (s *stream) times() []int64 {
	var out []int64
	for _, p := range s.Packets {
		out = append(out, p.time)
	}
	slices.Sort(out)
	return out
}

func streams(t testing.TB) map[string]*stream {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata has no streams: %v", err)
	}
	out := map[string]*stream{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		s := &stream{}
		if err := json.Unmarshal(text, s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[strings.TrimSuffix(filepath.Base(name), ".json")] = s
	}
	return out
}

func open(t testing.TB, l *Library, v *media.Video) *Decoder {
	t.Helper()
	d, err := l.Open(v, 1)
	if errs.Is(err, errs.Unsupported) && os.Getenv(variable) != "" {
		t.Skipf("the FFmpeg of %s: %v", variable, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// eachStream runs a test with a decoder of each stream.
func eachStream(t *testing.T, test func(t *testing.T, s *stream, d *Decoder)) {
	t.Helper()
	l := mediatest.FFmpeg(t, Load)
	t.Logf("%s in %s", l.version, l.path)
	for name, s := range streams(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s, open(t, l, s.video()))
		})
	}
}

// decoded is a frame as tests compare it.
type decoded struct {
	time int64
	hash string
}

// decoded returns the frames of the stream.
func (s *stream) decoded() (out []decoded) {
	for i, time := range s.times() {
		out = append(out, decoded{time, s.Frames[i]})
	}
	return out
}

// hash returns the MD5 of the planes without what lies between rows.
func hash(f *Frame) string {
	sum := md5.New()
	l, _ := f.Format.Layout()
	for i := range l.Planes {
		row, rows := l.Plane(i, f.Width, f.Height)
		for y := range rows {
			sum.Write(f.Planes[i][y*f.Strides[i]:][:row])
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// receive takes out all frames that are ready.
func receive(d *Decoder, out []decoded) ([]decoded, error) {
	var f Frame
	for {
		more, err := d.Receive(&f)
		if err != nil || !more {
			return out, err
		}
		out = append(out, decoded{f.Mark, hash(&f)})
	}
}

// decode sends packets and returns all frames. A drained decoder needs a Flush.
func decode(d *Decoder, packets []packet) ([]decoded, error) {
	var out []decoded
	for _, p := range packets {
		if err := d.Send(p.data, p.time); err != nil {
			return out, err
		}
		var err error
		if out, err = receive(d, out); err != nil {
			return out, err
		}
	}
	if err := d.Drain(); err != nil {
		return out, err
	}
	return receive(d, out)
}

// compare holds frames against those of ffmpeg from number first on.
func compare(t *testing.T, s *stream, got []decoded, first int) {
	t.Helper()
	want := s.decoded()[first:]
	if len(got) != len(want) {
		t.Fatalf("%d frames, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("frame %d: %+v, want %+v", i, got[i], want[i])
		}
	}
}

// TestPlanes: the planes of every codec are those that the program ffmpeg decodes.
func TestPlanes(t *testing.T) {
	t.Parallel()
	eachStream(t, func(t *testing.T, s *stream, d *Decoder) {
		got, err := decode(d, s.Packets)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, s, got, 0)
		if d.format != s.Pixels {
			t.Errorf("pixels are %s, want %s", d.format, s.Pixels)
		}
	})
}

// TestFlush: a decoder begins again at the last key frame, whatever it did before.
func TestFlush(t *testing.T) {
	t.Parallel()
	eachStream(t, func(t *testing.T, s *stream, d *Decoder) {
		key := 0
		for i, p := range s.Packets {
			if p.key {
				key = i
			}
		}
		first := slices.Index(s.times(), s.Packets[key].time)
		for _, before := range []int{0, 1, 2, len(s.Packets)} {
			if _, err := decode(d, s.Packets[:min(before, len(s.Packets))]); err != nil {
				t.Fatal(err)
			}
			if err := d.Flush(); err != nil {
				t.Fatal(err)
			}
			got, err := decode(d, s.Packets[key:])
			if err != nil {
				t.Fatal(err)
			}
			compare(t, s, got, first)
			if err := d.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestFlushForgets: no frame of a packet before a flush comes behind it. FFmpeg's decoder of HEVC
// delivers those that a drain has made ready; the packets behind are of another film.
func TestFlushForgets(t *testing.T) {
	t.Parallel()
	l := mediatest.FFmpeg(t, Load)
	for _, name := range []string{"hevc_open.mp4", "h264_open.mp4"} {
		file := mediatest.Fixture(t, name)
		v, err := mp4.File{}.Index(t.Context(), media.Bytes(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		d := open(t, l, v)
		send := func(i, mark int) {
			p := v.Packets[i]
			if err := d.Send(file[p.Offset:p.Offset+p.Bytes], int64(mark)); err != nil {
				t.Fatal(err)
			}
		}
		var f Frame
		for before := 1; before < len(v.Packets); before++ {
			for i := range before {
				send(i, 1000+i)
				if _, err := d.Receive(&f); err != nil {
					t.Fatal(err)
				}
			}
			if err := d.Drain(); err != nil {
				t.Fatal(err)
			}
			if _, err := d.Receive(&f); err != nil { // one: others are ready
				t.Fatal(err)
			}
			if err := d.Flush(); err != nil {
				t.Fatal(err)
			}
			for i := range 5 {
				send(i, i)
				for {
					more, err := d.Receive(&f)
					if err != nil {
						t.Fatal(err)
					}
					if !more {
						break
					}
					if f.Mark >= 1000 {
						t.Errorf("%s: the frame of packet %d comes behind a flush after %d packets", name, f.Mark-1000, before)
					}
				}
			}
			if err := d.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestDamage: a packet that is none gives an error that names its time; after a Flush the decoder
// makes the same frames as before.
func TestDamage(t *testing.T) {
	t.Parallel()
	eachStream(t, func(t *testing.T, s *stream, d *Decoder) {
		err := d.Send(slices.Repeat([]byte{0xff}, 300), 4711)
		if err == nil {
			_, err = receive(d, nil)
		}
		// The decoders of MPEG-4 and JPEG may see nothing in it, and want more.
		if err == nil && s.Codec != "mpeg4" && s.Codec != "mjpeg" {
			t.Error("no error of a damaged packet")
		}
		if err != nil && (!errs.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "packet 4711: ")) {
			t.Errorf("error %v (%v), want one that names the packet", err, errs.KindOf(err))
		}
		if err := d.Flush(); err != nil {
			t.Fatal(err)
		}
		got, err := decode(d, s.Packets)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, s, got, 0)
	})
}

// TestParallel: decoders of one library do not disturb each other.
func TestParallel(t *testing.T) {
	t.Parallel()
	l := mediatest.FFmpeg(t, Load)
	all := streams(t)
	g := task.New(t.Context(), 2)
	for _, s := range all {
		for range 2 {
			g.Go(func(context.Context) error {
				d, err := l.Open(s.video(), 1)
				if errs.Is(err, errs.Unsupported) && os.Getenv(variable) != "" {
					return nil
				}
				if err != nil {
					return err
				}
				defer d.Close()
				got, err := decode(d, s.Packets)
				if err != nil {
					return err
				}
				if want := s.decoded(); !slices.Equal(got, want) {
					return errs.New(errs.Internal, "%s: frames %v, want %v", s.Codec, got, want)
				}
				return nil
			})
		}
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestColors holds that colors of the stream win over those of the container.
func TestColors(t *testing.T) {
	t.Parallel()
	l := mediatest.FFmpeg(t, Load)
	all := streams(t)
	cases := []struct {
		stream    string
		container media.Color
		want      media.Color
		site      media.Site
	}{
		{"h264_color", media.Color{Primaries: 9, Transfer: 16, Matrix: 9}, media.Color{Primaries: 1, Transfer: 1, Matrix: 1, Full: true}, media.SiteTopLeft},
		{"h264", media.Color{Primaries: 9, Transfer: 16, Matrix: 9}, media.Color{Primaries: 9, Transfer: 16, Matrix: 9}, media.SiteLeft},
		{"mjpeg", media.Color{}, media.Color{Matrix: 5, Full: true}, media.SiteCenter},
	}
	for _, c := range cases {
		t.Run(c.stream, func(t *testing.T) {
			t.Parallel()
			s := all[c.stream]
			v := s.video()
			v.Color = c.container
			d := open(t, l, v)
			var f Frame
			for _, p := range s.Packets {
				if err := d.Send(p.data, p.time); err != nil {
					t.Fatal(err)
				}
				if more, err := d.Receive(&f); err != nil || more {
					break
				}
			}
			if f.Format == "" {
				if err := d.Drain(); err != nil {
					t.Fatal(err)
				}
				if _, err := d.Receive(&f); err != nil {
					t.Fatal(err)
				}
			}
			if f.Color != c.want || f.Site != c.site {
				t.Errorf("color %+v, site %d, want %+v, %d", f.Color, f.Site, c.want, c.site)
			}
		})
	}
}

// TestMaxPixels: a stream that claims more pixels than its container makes likely is refused.
func TestMaxPixels(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		width, height int
		want          int64
	}{
		{0, 0, 1 << 22}, {-5, 3, 1 << 22}, {1920, 1080, 4 * 1920 * 1152}, {1 << 30, 1 << 30, 4 << 30},
	} {
		if got := maxPixels(&media.Video{Width: c.width, Height: c.height}); got != c.want {
			t.Errorf("maxPixels of %d x %d = %d, want %d", c.width, c.height, got, c.want)
		}
	}
}

// TestLargeFrames: frames beyond the limit are refused, and cost no memory.
func TestLargeFrames(t *testing.T) {
	t.Parallel()
	eachStream(t, func(t *testing.T, s *stream, d *Decoder) {
		d.pixels, d.failed = 1000, true
		err := d.Flush() // which opens FFmpeg's decoder again
		if err == nil {
			_, err = decode(d, s.Packets)
		}
		if !errs.OfSample(err) {
			t.Errorf("%v, want a refusal", err)
		}
	})
}

// TestRefused: what cannot be opened or sent, and calls after Close.
func TestRefused(t *testing.T) {
	t.Parallel()
	l := mediatest.FFmpeg(t, Load)
	for name, v := range map[string]*media.Video{
		"unknown codec": {Codec: "prores"},
		"long setup":    {Codec: "h264", Setup: make([]byte, media.MaxSetupBytes+1)},
	} {
		if d, err := l.Open(v, 1); err == nil || !errs.OfSample(err) {
			t.Errorf("%s: %v, want a refusal", name, err)
			d.Close()
		}
	}
	d := open(t, l, &media.Video{Codec: "mjpeg"})
	if err := d.Send(nil, 5); !errs.Is(err, errs.Corrupt) {
		t.Errorf("empty packet: %v, want errs.Corrupt", err)
	}
	d.Close()
	d.Close()
	_, err := d.Receive(&Frame{})
	for _, err := range []error{err, d.Send([]byte{1}, 0), d.Drain(), d.Flush()} {
		if !errs.Is(err, errs.Closed) {
			t.Errorf("after Close: %v, want errs.Closed", err)
		}
	}
}

// TestLoadMissing: folders without FFmpeg are named together with the remedy.
func TestLoadMissing(t *testing.T) {
	empty := t.TempDir()
	t.Setenv(variable, empty)
	if _, err := Load(nil); !errs.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), empty) || !strings.Contains(err.Error(), remedy) {
		t.Errorf("Load of an empty folder: %v", err)
	}
	wrong := filepath.Join(empty, "libavcodec.so.61")
	if err := os.WriteFile(wrong, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(nil); !errs.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "libavcodec.so.61") {
		t.Errorf("Load of a file that is no library: %v", err)
	}
}

// TestLoadOlder: where the newest libavcodec of a folder does not load, an older one is taken.
func TestLoadOlder(t *testing.T) {
	l := mediatest.FFmpeg(t, Load)
	if !filepath.IsAbs(l.path) {
		t.Skipf("%s is no path", l.path)
	}
	files, err := os.ReadDir(filepath.Dir(l.path))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, f := range files {
		if err := os.Symlink(filepath.Join(filepath.Dir(l.path), f.Name()), filepath.Join(folder, f.Name())); err != nil {
			t.Fatal(err)
		}
	}
	newer := filepath.Join(folder, "libavcodec.so."+strconv.Itoa(newest))
	if err := os.WriteFile(newer, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(variable, folder)
	older, err := Load(nil)
	if err != nil || filepath.Base(older.path) != filepath.Base(l.path) {
		t.Errorf("Load of a folder with %s: %v, want %s", newer, err, l.path)
	}
}

// TestLibraryNames: files are recognized by name and version.
func TestLibraryNames(t *testing.T) {
	t.Parallel()
	files := []string{"libavcodec.so", "libavcodec.so.59.37.100", "libavcodec.so.59", "libavcodec-5e6b81c2.so.62.28.102", "libavcodecs.so.60", "libavcodec.so.591"}
	for major, want := range map[int]string{58: "", 59: "libavcodec.so.59", 60: "", 62: "libavcodec-5e6b81c2.so.62.28.102"} {
		if got := library(files, "avcodec", major); got != want {
			t.Errorf("library of version %d is %q, want %q", major, got, want)
		}
	}
}
