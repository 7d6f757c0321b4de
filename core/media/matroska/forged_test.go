package matroska

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"deeplake/core/media"
	"deeplake/core/media/mediatest"
)

// bare makes an element without its size.
func bare(kind string) []byte {
	p, err := hex.DecodeString(kind)
	if err != nil {
		panic(err)
	}
	return p
}

// open makes the head of an element without a size.
func open(kind string) []byte { return append(bare(kind), 0xff) }

// el makes an element of numbers, texts, bytes and other elements.
func el(kind string, parts ...any) []byte {
	var body []byte
	for _, part := range parts {
		switch v := part.(type) {
		case []byte:
			body = append(body, v...)
		case string:
			body = append(body, v...)
		case int:
			body = binary.BigEndian.AppendUint64(body, uint64(v))
		case float64:
			body = binary.BigEndian.AppendUint64(body, math.Float64bits(v))
		case float32:
			body = binary.BigEndian.AppendUint32(body, math.Float32bits(v))
		}
	}
	return slices.Concat(bare(kind), binary.BigEndian.AppendUint32(nil, uint32(len(body))|1<<28), body)
}

func header() []byte { return el("1a45dfa3", el("4282", "webm"), el("4285", "\x02"), el("ec", "void")) }

// entry makes the track 1, of pictures of 64 x 48, with more elements.
func entry(more ...any) []byte {
	return el("ae", append([]any{el("d7", "\x01"), el("83", "\x01"), el("86", "V_VP9"), el("e0", el("b0", 64), el("ba", 48))}, more...)...)
}

func tracks(entries ...any) []byte { return el("1654ae6b", entries...) }

// video makes an element Video of pictures of 64 x 48, with more elements.
func video(more ...any) []byte {
	return el("e0", append([]any{el("b0", 64), el("ba", 48)}, more...)...)
}

func cluster(time int, blocks ...any) []byte {
	return el("1f43b675", append([]any{el("e7", time)}, blocks...)...)
}

// simple makes the block of a key frame of 3 bytes.
func simple(time int16) []byte { return el("a3", "\x81", word(time), "\x80qrs") }

// grouped is simple for groups.
func grouped(time int16) []byte { return el("a1", "\x81", word(time), "\x00abc") }

func word(v int16) []byte { return binary.BigEndian.AppendUint16(nil, uint16(v)) }

// parts are those of a forged file.
type parts struct{ header, before, info, tracks, clusters []byte }

// valid are the parts of a file of four frames, 40 ms each.
func valid() parts {
	return parts{
		header: header(), tracks: tracks(entry()),
		clusters: slices.Concat(cluster(0, simple(0), simple(40)), cluster(80, simple(0), simple(40))),
	}
}

func (s parts) body() []byte { return slices.Concat(s.before, s.info, s.tracks, s.clusters) }
func (s parts) file() []byte { return slices.Concat(s.header, el("18538067", s.body())) }

// TestForged indexes unusual files that are valid.
func TestForged(t *testing.T) {
	t.Parallel()
	plain := []int64{0, 40, 80, 120}
	info := func(parts ...any) []byte { return el("1549a966", parts...) }
	for _, c := range []struct {
		name  string
		make  func(*parts)
		times []int64
		end   int64
		ticks int64
	}{
		{"plain", func(*parts) {}, plain, 160, 1000},
		{"a scale", func(s *parts) { s.info = info(el("2ad7b1", 100_000)) }, plain, 160, 10_000},
		{"a scale of 1", func(s *parts) { s.info = info(el("2ad7b1", "\x01")) }, plain, 160, 1_000_000_000},
		{"an odd scale", func(s *parts) { s.info = info(el("2ad7b1", 333_333)) }, []int64{0, 13_333_320, 26_666_640, 39_999_960}, 53_333_280, 1_000_000_000},
		{"a second", func(s *parts) { s.info = info(el("2ad7b1", 1_000_000_000)) }, plain, 160, 1},
		{"two seconds", func(s *parts) { s.info = info(el("2ad7b1", 2_000_000_000)) }, []int64{0, 80e9, 160e9, 240e9}, 320e9, 1_000_000_000},
		{"two elements Info", func(s *parts) { s.info = slices.Concat(info(), info(el("2ad7b1", 1))) }, plain, 160, 1000},
		{"a duration", func(s *parts) { s.tracks = tracks(entry(el("23e383", 33_400_000))) }, plain, 153, 1000},
		{"a duration of nothing", func(s *parts) { s.tracks = tracks(entry(el("23e383", 1))) }, plain, 160, 1000},
		{"an endless duration", func(s *parts) { s.tracks = tracks(entry(el("23e383", -1))) }, plain, 160, 1000},
		{"one frame", func(s *parts) { s.clusters = cluster(7, simple(0)) }, []int64{7}, 8, 1000},
		{"one frame to the end", func(s *parts) {
			s.info, s.clusters = info(el("4489", 500.0)), cluster(7, simple(0))
		}, []int64{7}, 500, 1000},
		{"one frame to a short end", func(s *parts) {
			s.info, s.clusters = info(el("4489", float32(500))), cluster(7, simple(0))
		}, []int64{7}, 500, 1000},
		{"one frame to no end", func(s *parts) {
			s.info, s.clusters = info(el("4489", math.NaN())), cluster(7, simple(0))
		}, []int64{7}, 8, 1000},
		{"frames of one time", func(s *parts) { s.clusters = cluster(5, simple(0), simple(0)) }, []int64{5, 5}, 6, 1000},
		{"out of order", func(s *parts) { s.clusters = cluster(0, simple(0), simple(90), simple(60), simple(30)) }, []int64{0, 90, 60, 30}, 120, 1000},
		{"before the cluster", func(s *parts) { s.clusters = cluster(100, simple(-40), simple(0)) }, []int64{60, 100}, 140, 1000},
		{"negative times", func(s *parts) { s.clusters = cluster(0, simple(-40), simple(0)) }, []int64{-40, 0}, 40, 1000},
		{"groups", func(s *parts) {
			s.clusters = cluster(0, el("a0", grouped(0)), el("a0", el("9b", 70), grouped(40), el("fb", "\xff")))
		}, []int64{0, 40}, 110, 1000},
		{"an empty group", func(s *parts) { s.clusters = cluster(0, el("a0"), simple(9)) }, []int64{9}, 10, 1000},
		{"invisible", func(s *parts) { s.clusters = cluster(0, simple(0), el("a3", "\x81\x00\x09\x08x"), simple(20)) }, []int64{0, 20}, 40, 1000},
		{"another track", func(s *parts) {
			s.clusters = cluster(0, simple(0), el("a3", "\x82\x00\x63\x06\x09x"), el("a3", "\x41\x02\x00\x63\x06"), el("a0", el("a1", "\x82\x00\x63\x80x"), grouped(9)))
		}, []int64{0}, 1, 1000},
		{"a long number", func(s *parts) {
			s.tracks = tracks(entry(el("d7", 300)))
			s.clusters = cluster(0, el("a3", "\x41\x2c\x00\x05\x80x"), el("a3", "\x08\x00\x00\x01\x2c\x00\x06\x80x"))
		}, []int64{5, 6}, 7, 1000},
		{"unknown elements", func(s *parts) {
			s.before = slices.Concat(el("ec", "xxx"), el("bf", "crc!"), el("1043a770", "\x00"), el("1941a469", "\x00\x00"), el("4fff", ""))
			s.clusters = slices.Concat(cluster(0, el("ab", "\x05"), el("5854", "\x00"), simple(3)), el("1c53bb6b", "\x00"), el("1254c367", "x"))
		}, []int64{3}, 4, 1000},
		{"stripped by nothing", func(s *parts) {
			s.tracks = tracks(entry(el("6d80", el("6240", el("5034", el("4254", "\x03"), el("4255"))))))
		}, plain, 160, 1000},
		{"late tables", func(s *parts) {
			seek := func(kind string, place int) []byte { return el("4dbb", el("53ab", bare(kind)), el("53ac", place)) }
			s.info = info(el("2ad7b1", 100_000))
			size := len(el("114d9b74", seek("1654ae6b", 0), seek("1549a966", 0)))
			at := size + len(s.clusters)
			s.before = slices.Concat(el("114d9b74", seek("1654ae6b", at+len(s.info)), seek("1549a966", at)), s.clusters)
			s.clusters = nil
		}, plain, 160, 10_000},
		{"tracks of which one is a default", func(s *parts) {
			s.tracks = tracks(entry(el("d7", "\x04"), el("b9", "\x00")), entry(el("d7", "\x03"), el("88", "\x00")), entry(), entry(el("d7", "\x05")))
		}, plain, 160, 1000},
		{"a track that is not enabled", func(s *parts) {
			s.tracks = tracks(el("ae", el("d7", "\x02"), el("83", "\x02")), entry(el("b9", "\x00")))
		}, plain, 160, 1000},
	} {
		s := valid()
		c.make(&s)
		for way, p := range map[string][]byte{"": s.file(), " without a size": slices.Concat(s.header, open("18538067"), s.body())} {
			v, err := index(p)
			if err != nil {
				t.Errorf("%s%s: %v", c.name, way, err)
				continue
			}
			if got := shownAt(v); !slices.Equal(got, c.times) || v.End != c.end || v.Ticks != c.ticks {
				t.Errorf("%s%s: %v, end %d of %d ticks, want %v, %d, %d", c.name, way, got, v.End, v.Ticks, c.times, c.end, c.ticks)
			}
		}
	}
}

func shownAt(v *media.Video) (out []int64) {
	for _, p := range v.Packets {
		if !p.Hidden {
			out = append(out, p.Time)
		}
	}
	return out
}

// TestOpen: clusters without a size end where an element of the segment begins, and the segment
// where another one does.
func TestOpen(t *testing.T) {
	t.Parallel()
	live := slices.Concat(open("1f43b675"), el("e7", 0), simple(0), el("ec", "x"), simple(40))
	again := slices.Concat(open("1f43b675"), el("e7", 80), simple(0))
	s := valid()
	for name, c := range map[string]struct {
		clusters, behind []byte
		frames           int
	}{
		"one":              {live, nil, 2},
		"two":              {slices.Concat(live, again), nil, 3},
		"tags behind":      {slices.Concat(live, el("1254c367", "x"), again, el("1c53bb6b", "x")), nil, 3},
		"sized ones too":   {slices.Concat(live, s.clusters, again), nil, 7},
		"an empty one":     {slices.Concat(open("1f43b675"), live), nil, 2},
		"another segment":  {live, slices.Concat(open("18538067"), s.tracks, s.clusters), 2},
		"another file":     {live, s.file(), 2},
		"a second element": {slices.Concat(live, s.tracks, el("1549a966", el("2ad7b1", 1))), nil, 2},
	} {
		v, err := index(slices.Concat(s.header, open("18538067"), s.tracks, c.clusters, c.behind))
		if err != nil || len(v.Packets) != c.frames || v.Ticks != 1000 {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
		if c.behind != nil {
			continue
		}
		v, err = index(slices.Concat(s.header, el("18538067", s.tracks, c.clusters), []byte("what follows is not looked at")))
		if err != nil || len(v.Packets) != c.frames {
			t.Errorf("%s within a size: %+v, %v", name, v, err)
		}
	}
}

// TestTrack: codecs, setups, colors and turns.
func TestTrack(t *testing.T) {
	t.Parallel()
	pose := func(parts ...any) []byte { return el("e0", el("7670", parts...)) }
	of := func(codec string) []byte { return slices.Concat(el("86", codec), el("63a2", "setup")) }
	turned := func(turns int) media.Video { return media.Video{Codec: "vp9", Turns: turns} }
	colored := func(c media.Color) media.Video { return media.Video{Codec: "vp9", Color: c} }
	for _, c := range []struct {
		name string
		more []byte
		want media.Video
	}{
		{"plain", nil, media.Video{Codec: "vp9"}},
		{"H.264", of("V_MPEG4/ISO/AVC"), media.Video{Codec: "h264", Setup: []byte("setup")}},
		{"H.265", of("V_MPEGH/ISO/HEVC"), media.Video{Codec: "hevc", Setup: []byte("setup")}},
		{"AV1", of("V_AV1"), media.Video{Codec: "av1", Setup: []byte("setup")}},
		{"VP9", of("V_VP9"), media.Video{Codec: "vp9"}},
		{"VP8", of("V_VP8"), media.Video{Codec: "vp8"}},
		{"MPEG-4", of("V_MPEG4/ISO/ASP"), media.Video{Codec: "mpeg4", Setup: []byte("setup")}},
		{"MPEG-4, simple", of("V_MPEG4/ISO/SP\x00\x00"), media.Video{Codec: "mpeg4", Setup: []byte("setup")}},
		{"MPEG-4, advanced", of("V_MPEG4/ISO/AP"), media.Video{Codec: "mpeg4", Setup: []byte("setup")}},
		{"Motion JPEG", of("V_MJPEG"), media.Video{Codec: "mjpeg"}},
		{"left", pose(el("7675", 90.0)), turned(3)},
		{"right", pose(el("7675", float32(-90))), turned(1)},
		{"half", pose(el("7675", 180.0)), turned(2)},
		{"half the other way", pose(el("7675", -180.0)), turned(2)},
		{"right by three", pose(el("7675", 270.0)), turned(1)},
		{"oblique", pose(el("7675", 45.0)), turned(0)},
		{"mirrored", pose(el("7673", 180.0), el("7675", 90.0)), turned(0)},
		{"pitched", pose(el("7674", 1.0), el("7675", 90.0)), turned(0)},
		{"a sphere", pose(el("7671", "\x01"), el("7675", 90.0)), turned(0)},
		{"no roll", pose(el("7675")), turned(0)},
		{"colors", el("e0", el("55b0", el("55b1", "\x09"), el("55b9", "\x02"), el("55ba", "\x10"), el("55bb", "\x09"))), colored(media.Color{Primaries: 9, Transfer: 16, Matrix: 9, Full: true})},
		{"colors not stated", el("e0", el("55b0", el("55b1", "\x02"), el("55b9", "\x01"), el("55ba", 256), el("55bb", "\x06"))), colored(media.Color{Primaries: 6})},
	} {
		s := valid()
		s.tracks = tracks(entry(c.more))
		v, err := index(s.file())
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		w := c.want
		if v.Codec != w.Codec || string(v.Setup) != string(w.Setup) || v.Turns != w.Turns || v.Color != w.Color || v.Width != 64 || v.Height != 48 {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
}

// TestKeys finds key frames by the flag of a SimpleBlock and by the references of a BlockGroup, and
// hidden pictures of VP8.
func TestKeys(t *testing.T) {
	t.Parallel()
	s := valid()
	s.clusters = cluster(0, simple(0), el("a3", "\x81\x00\x01\x00x"), el("a0", grouped(2)), el("a0", grouped(3), el("fb", "\x00")), el("a0", el("fb", "\x00"), grouped(4)), el("a3", "\x81\x00\x05\x81x"))
	for codec, want := range map[string]string{"V_VP9": "k-k--k", "V_VP8": "k-K_-k"} {
		s.tracks = tracks(entry(el("86", codec)))
		if codec == "V_VP8" { // a bit of the first byte says that it is shown
			s.clusters = cluster(0, simple(0), el("a3", "\x81\x00\x01\x00\x10"), el("a0", grouped(2)), el("a0", el("a1", "\x81\x00\x03\x00\x2f"), el("fb", "\x00")), el("a0", el("fb", "\x00"), el("a1", "\x81\x00\x04\x00\x11")), el("a3", "\x81\x00\x05\x81\x12"))
		}
		v, err := index(s.file())
		if err != nil {
			t.Fatal(codec, err)
		}
		got := ""
		for _, p := range v.Packets {
			got += map[[2]bool]string{{true, false}: "k", {true, true}: "K", {false, false}: "-", {false, true}: "_"}[[2]bool{p.Key, p.Hidden}]
		}
		if got != want {
			t.Errorf("%s: %s, want %s", codec, got, want)
		}
	}
}

// TestNested holds that an element within itself is entered once.
func TestNested(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"55b0", "7670", "e0", "6d80"} {
		var p []byte
		for range 3000 {
			p = el(kind, p)
		}
		s := valid()
		s.tracks = tracks(entry(video(p), p))
		if _, err := index(s.file()); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// FuzzIndex holds that Index never panics, and that its results are within the limits.
func FuzzIndex(f *testing.F) {
	names, _ := filepath.Glob("testdata/*.[mw][ek][bva]")
	more, _ := filepath.Glob("testdata/*.webm")
	for _, name := range append(names, more...) {
		p, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p)
	}
	s := valid()
	s.info = el("1549a966", el("2ad7b1", 333_333), el("4489", 500.0))
	s.tracks = tracks(entry(el("6d80", el("6240", el("5034", el("4254", "\x03")))), video(el("55b0", el("55b1", "\x01")), el("7670", el("7675", 90.0)))))
	f.Add(s.file())
	f.Fuzz(func(t *testing.T, p []byte) {
		v := mediatest.Fuzzed(t, container, p)
		if v == nil {
			return
		}
		end := int64(0)
		for i, one := range v.Packets {
			if one.Offset < end {
				t.Fatalf("packet %d = %+v, the one before ends at %d", i, one, end)
			}
			end = one.Offset + one.Bytes
		}
	})
}
