package mp4

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/media"
	"deeplake/core/media/mediatest"
)

// box makes a box of numbers, bytes and other boxes.
func box(kind string, parts ...any) []byte {
	p := append([]byte{0, 0, 0, 0}, kind...)
	for _, part := range parts {
		switch v := part.(type) {
		case []byte:
			p = append(p, v...)
		case string:
			p = append(p, v...)
		case int:
			p = binary.BigEndian.AppendUint32(p, uint32(v))
		case int64:
			p = binary.BigEndian.AppendUint64(p, uint64(v))
		case int16:
			p = binary.BigEndian.AppendUint16(p, uint16(v))
		}
	}
	binary.BigEndian.PutUint32(p, uint32(len(p)))
	return p
}

func zeros(n int) []byte { return make([]byte, n) }

// parts are the boxes of a forged file. Empty ones are left out.
type parts struct {
	matrix                                   []byte
	elst, dref, entry, inside                []byte
	stts, ctts, stss, stsz, stsc, stco, mvex []byte
	handler                                  string
}

// straight is the matrix of pictures that are shown as they are.
func straight() []byte { return box("", 1<<16, 0, 0, 0, 1<<16, 0, 0, 0, 1<<30)[4:] }

// valid are the parts of a file of four frames of 10 bytes, 100 ticks each.
func valid() parts {
	return parts{
		stts: box("stts", 0, 1, 4, 100), stsz: box("stsz", 0, 10, 4), stsc: box("stsc", 0, 1, 1, 4, 1), stco: box("stco", 0, 1, 40),
	}
}

// file puts the parts together: 40 bytes of data at byte 40, and the tables behind them.
func (s parts) file() []byte {
	if s.entry == nil {
		s.entry = box("vp09", zeros(6), int16(1), zeros(16), int16(64), int16(48), zeros(50), s.inside)
	}
	if s.matrix == nil {
		s.matrix = straight()
	}
	if s.handler == "" {
		s.handler = "vide"
	}
	var edts, dinf []byte
	if s.elst != nil {
		edts = box("edts", s.elst)
	}
	if s.dref != nil {
		dinf = box("dinf", box("dref", 0, 1, s.dref))
	}
	stbl := box("stbl", box("stsd", 0, 1, s.entry), s.stts, s.ctts, s.stss, s.stsz, s.stsc, s.stco)
	mdia := box("mdia", box("mdhd", 0, 0, 0, 1000, 0, 0), box("hdlr", 0, 0, s.handler, zeros(13)), box("minf", dinf, stbl))
	tkhd := box("tkhd", 1, 0, 0, 7, 0, 0, zeros(16), s.matrix, 0, 0)
	mvhd := box("mvhd", 0, 0, 0, 500, 0, 0, zeros(12), straight(), zeros(28))
	moov := box("moov", mvhd, box("trak", tkhd, edts, mdia), s.mvex)
	head := box("ftyp", "isom", 0, "isom", zeros(12))
	return slices.Concat(head, box("mdat", zeros(40)), moov)
}

// TestForged indexes unusual files that are valid.
func TestForged(t *testing.T) {
	t.Parallel()
	at := func(v *media.Video) (out []int64) {
		for _, p := range v.Packets {
			if !p.Hidden {
				out = append(out, p.Time)
			}
		}
		return out
	}
	for _, c := range []struct {
		name  string
		make  func(*parts)
		times []int64
		end   int64
	}{
		{"plain", func(*parts) {}, []int64{0, 100, 200, 300}, 400},
		{"no last duration", func(s *parts) { s.stts = box("stts", 0, 2, 3, 70, 1, 0) }, []int64{0, 70, 140, 210}, 280},
		{"no durations", func(s *parts) { s.stts = box("stts", 0, 1, 4, 0) }, []int64{0, 0, 0, 0}, 1},
		{"empty run", func(s *parts) { s.stts = box("stts", 0, 3, 1, 50, 0, 9, 3, 100) }, []int64{0, 50, 150, 250}, 350},
		{"offsets", func(s *parts) { s.ctts = box("ctts", 0, 3, 1, 0, 2, -100, 1, 50) }, []int64{0, 0, 100, 350}, 450},
		{"64-bit offsets", func(s *parts) {
			s.stco = box("co64", 0, 2, int64(40), int64(50))
			s.stsc = box("stsc", 0, 2, 1, 1, 1, 2, 3, 1)
		}, []int64{0, 100, 200, 300}, 400},
		{"compact sizes", func(s *parts) { s.stsz = box("stz2", 0, 4, 4, "\x12\x3f") }, []int64{0, 100, 200, 300}, 400},
		{"compact bytes", func(s *parts) { s.stsz = box("stz2", 0, 8, 4, "\x01\x02\x03\x04") }, []int64{0, 100, 200, 300}, 400},
		{"compact words", func(s *parts) { s.stsz = box("stz2", 0, 16, 4, 1<<16|2, 3<<16|4) }, []int64{0, 100, 200, 300}, 400},
		{"begins at a frame", func(s *parts) { s.elst = box("elst", 0, 1, 150, 100, 1<<16) }, []int64{0, 100, 200}, 300},
		{"begins within a frame", func(s *parts) { s.elst = box("elst", 0, 1, 125, 150, 1<<16) }, []int64{-50, 50, 150}, 250},
		{"begins within the last", func(s *parts) { s.elst = box("elst", 0, 1, 25, 350, 1<<16) }, []int64{-50}, 50},
		{"ends early", func(s *parts) { s.elst = box("elst", 0, 1, 100, 0, 1<<16) }, []int64{0, 100}, 200},
		{"ends within a frame", func(s *parts) { s.elst = box("elst", 0, 1, 101, 0, 1<<16) }, []int64{0, 100, 200}, 202},
		{"to the end", func(s *parts) { s.elst = box("elst", 0, 1, 0, 200, 1<<16) }, []int64{0, 100}, 200},
		{"late", func(s *parts) { s.elst = box("elst", 0, 3, 10, -1, 1<<16, 15, -1, 1<<16, 200, 0, 1<<16) }, []int64{50, 150, 250, 350}, 450},
		{"late and cut", func(s *parts) { s.elst = box("elst", 0, 2, 25, -1, 1<<16, 100, 100, 1<<16) }, []int64{50, 150}, 250},
		{"late only", func(s *parts) { s.elst = box("elst", 0, 1, 25, -1, 1<<16) }, []int64{50, 150, 250, 350}, 450},
		{"a pause behind", func(s *parts) { s.elst = box("elst", 0, 2, 100, 0, 1<<16, 25, -1, 1<<16) }, []int64{0, 100}, 200},
		{"continued", func(s *parts) { s.elst = box("elst", 0, 2, 50, 0, 1<<16, 100, 101, 1<<16) }, []int64{0, 100, 200, 300}, 400},
		{"64-bit edits", func(s *parts) {
			s.elst = box("elst", 1<<24, 2, int64(25), int64(-1), 1<<16, int64(100), int64(100), 1<<16)
		}, []int64{50, 150}, 250},
		{"no edits", func(s *parts) { s.elst = box("elst", 0, 0) }, []int64{0, 100, 200, 300}, 400},
		{"a reference to itself", func(s *parts) { s.dref = box("url ", 1) }, []int64{0, 100, 200, 300}, 400},
		{"a reference without a name", func(s *parts) { s.dref = box("url ", 0, "\x00") }, []int64{0, 100, 200, 300}, 400},
		{"more times than frames", func(s *parts) { s.stts = box("stts", 0, 1, 9, 100) }, []int64{0, 100, 200, 300}, 400},
		{"a QuickTime list", func(s *parts) { s.stco = append(s.stco, 0, 0, 0, 0) }, []int64{0, 100, 200, 300}, 400},
	} {
		s := valid()
		c.make(&s)
		v, err := index(s.file())
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := at(v); !slices.Equal(got, c.times) || v.End != c.end {
			t.Errorf("%s: %v, end %d, want %v, %d", c.name, got, v.End, c.times, c.end)
		}
	}
}

// TestLies gives damaged tables, and compares the errors.
func TestLies(t *testing.T) {
	t.Parallel()
	other := box("vp09", zeros(6), int16(1), zeros(16), int16(32), int16(48), zeros(50))
	for _, c := range []struct {
		name string
		make func(*parts)
		kind errs.Kind
		text string
	}{
		{"2^31 frames of one size", func(s *parts) { s.stsz = box("stsz", 0, 10, -1<<31) }, errs.Invalid, "2147483648 frames or more"},
		{"2^24 frames of one size", func(s *parts) { s.stsz = box("stsz", 0, 10, 1<<24) }, errs.Invalid, "167772160 bytes or more"},
		{"2^31 frames of no size", func(s *parts) { s.stsz = box("stsz", 0, 0, -1<<31) }, errs.Invalid, "states 2147483648 sizes"},
		{"sizes behind the box", func(s *parts) { s.stsz = box("stsz", 0, 0, 4, 1, 1, 1) }, errs.Invalid, `"stsz" states 4 sizes of 32 bits, and has 12 bytes`},
		{"odd bits", func(s *parts) { s.stsz = box("stz2", 0, 7, 4, 0) }, errs.Invalid, "sizes of 7 bits"},
		{"no sizes", func(s *parts) { s.stsz = nil }, errs.Invalid, `neither box "stsz"`},
		{"a frame of no bytes", func(s *parts) { s.stsz = box("stsz", 0, 0, 4, 1, 1, 0, 1) }, errs.Invalid, "frame 2 has no bytes"},
		{"no frames", func(s *parts) { s.stsz = box("stsz", 0, 0, 0) }, errs.Invalid, "has no frames"},
		{"behind the file", func(s *parts) { s.stco = box("stco", 0, 1, 1<<30) }, errs.Invalid, "before or within frame 0"},
		{"at no offset", func(s *parts) { s.stco = box("co64", 0, 1, int64(-5)) }, errs.Invalid, "an offset that no file has"},
		{"at the last offset", func(s *parts) { s.stco = box("co64", 0, 1, int64(math.MaxInt64)) }, errs.Invalid, "an offset that no file has"},
		{"the last frame cut", func(s *parts) { s.stsz = box("stsz", 0, 0, 4, 10, 10, 10, 1<<20) }, errs.Invalid, "within frame 3"},
		{"the same bytes again", func(s *parts) {
			s.stco = box("stco", 0, 1<<8, bytes.Repeat([]byte{0, 0, 0, 40}, 1<<8))
			s.stsz = box("stsz", 0, 10, 1<<10)
		}, errs.Invalid, "10240 bytes or more"},
		{"too few chunks", func(s *parts) { s.stsc = box("stsc", 0, 1, 1, 3, 1) }, errs.Invalid, "has 4 frames, and the chunks have 3"},
		{"no chunks", func(s *parts) { s.stco = box("stco", 0, 0) }, errs.Invalid, "the chunks have 0"},
		{"empty chunks", func(s *parts) { s.stsc = box("stsc", 0, 1, 1, 0, 1) }, errs.Invalid, "the chunks have 0"},
		{"no offsets", func(s *parts) { s.stco = nil }, errs.Invalid, `neither box "stco"`},
		{"no groups of chunks", func(s *parts) { s.stsc = nil }, errs.Invalid, `no box "stsc"`},
		{"groups out of order", func(s *parts) { s.stsc = box("stsc", 0, 2, 1, 1, 1, 1, 1, 1) }, errs.Invalid, "begins with chunk 1"},
		{"a late group", func(s *parts) { s.stsc = box("stsc", 0, 1, 2, 4, 1) }, errs.Invalid, "begins with chunk 2"},
		{"counts beyond the box", func(s *parts) { s.stsc = box("stsc", 0, 1<<30, 1, 4, 1) }, errs.Invalid, `"stsc" states 1073741824 entries`},
		{"times beyond the box", func(s *parts) { s.stts = box("stts", 0, -1, 4, 1) }, errs.Invalid, `"stts" states 4294967295 entries`},
		{"too few times", func(s *parts) { s.stts = box("stts", 0, 1, 3, 1) }, errs.Invalid, `"stts" has times of 3 frames, want 4`},
		{"too few offsets of times", func(s *parts) { s.ctts = box("ctts", 0, 1, 3, 1) }, errs.Invalid, `"ctts" has times of 3 frames, want 4`},
		{"no times", func(s *parts) { s.stts = nil }, errs.Invalid, `no box "stts"`},
		{"a negative duration", func(s *parts) { s.stts = box("stts", 0, 1, 4, -1) }, errs.Invalid, "duration of 4294967295 ticks"},
		{"keys out of order", func(s *parts) { s.stss = box("stss", 0, 2, 3, 1) }, errs.Invalid, "frame 3 before frame 1"},
		{"no description", func(s *parts) { s.stsc = box("stsc", 0, 1, 1, 4, 2) }, errs.Invalid, "description 2"},
		{"too many descriptions", func(s *parts) { s.entry = bytes.Repeat(box("free"), maxEntries+1) }, errs.Invalid, "more than 1024 descriptions"},
		{"two descriptions", func(s *parts) {
			s.entry = slices.Concat(box("vp09", zeros(6), int16(1), zeros(16), int16(64), int16(48), zeros(50)), other)
			s.stsc, s.stco = box("stsc", 0, 2, 1, 2, 1, 2, 2, 2), box("stco", 0, 2, 40, 60)
		}, errs.Unsupported, "change within the track, at frame 2"},
		{"no width", func(s *parts) { s.entry = box("vp09", zeros(78)) }, errs.Invalid, "pictures are 0 x 0"},
		{"too wide", func(s *parts) { s.entry = box("vp09", zeros(24), int16(-1), int16(1), zeros(50)) }, errs.Invalid, "pictures are 65535 x 1"},
		{"a short description", func(s *parts) { s.entry = box("vp09", zeros(70)) }, errs.Invalid, `"vp09" has 70 bytes`},
		{"no parameters", func(s *parts) { s.entry = box("avc1", zeros(24), int16(64), int16(48), zeros(50)) }, errs.Invalid, `"avc1" has no box "avcC"`},
		{"large parameters", func(s *parts) {
			s.entry = box("av01", zeros(24), int16(64), int16(48), zeros(50), box("av1C", zeros(media.MaxSetupBytes+1)))
		}, errs.Invalid, `"av1C" has 65537 bytes`},
		{"damaged parameters", func(s *parts) {
			s.entry = box("mp4v", zeros(24), int16(64), int16(48), zeros(50), box("esds", 0, "\x03\x80"))
		}, errs.Invalid, `"esds" is damaged`},
		{"MPEG-2", func(s *parts) {
			s.entry = box("mp4v", zeros(24), int16(64), int16(48), zeros(50), box("esds", 0, "\x03\x14\x00\x00\x00\x04\x0f\x61", zeros(14)))
		}, errs.Unsupported, "object type 0x61"},
		{"encrypted", func(s *parts) { s.inside = box("sinf", 0) }, errs.Unsupported, "encrypted"},
		{"a codec", func(s *parts) { s.entry = box("vvc1", zeros(78)) }, errs.Unsupported, `codec "vvc1"`},
		{"another file", func(s *parts) { s.dref = box("url ", 0, "http://host/x\x00") }, errs.Unsupported, "lie in another file"},
		{"another file of QuickTime", func(s *parts) { s.dref = box("alis", 0, "\x00\x01") }, errs.Unsupported, "lie in another file"},
		{"other tracks", func(s *parts) { s.handler = "text" }, errs.Invalid, "no track of pictures (tracks of other kinds: 1)"},
		{"edits apart", func(s *parts) { s.elst = box("elst", 0, 2, 50, 0, 1<<16, 50, 200, 1<<16) }, errs.Unsupported, "several parts"},
		{"a pause between", func(s *parts) { s.elst = box("elst", 0, 3, 50, 0, 1<<16, 5, -1, 1<<16, 50, 100, 1<<16) }, errs.Unsupported, "several parts"},
		{"half the rate", func(s *parts) { s.elst = box("elst", 0, 1, 50, 0, 1<<15) }, errs.Unsupported, "changes the rate to 0.5"},
		{"no rate", func(s *parts) { s.elst = box("elst", 0, 1, 50, 0, 0) }, errs.Unsupported, "changes the rate to 0"},
		{"behind the track", func(s *parts) { s.elst = box("elst", 0, 1, 50, 5000, 1<<16) }, errs.Invalid, "shows none of its 4 frames"},
		{"before the track", func(s *parts) { s.elst = box("elst", 0, 1, 50, -2, 1<<16) }, errs.Invalid, "that no track can have"},
		{"an endless edit", func(s *parts) { s.elst = box("elst", 1<<24, 1, int64(-1), int64(0), 1<<16) }, errs.Invalid, "that no track can have"},
		{"a late edit", func(s *parts) { s.elst = box("elst", 1<<24, 1, int64(1), int64(math.MaxInt64), 1<<16) }, errs.Invalid, "that no track can have"},
		{"edits beyond the box", func(s *parts) { s.elst = box("elst", 0, 9, 1, 1, 1) }, errs.Invalid, `"elst" states 9 entries`},
		{"a box beyond its own", func(s *parts) { s.stts = append(box("stts", 0, 1, 4, 100), 0, 1, 0, 0, 'x', 'x', 'x', 'x') }, errs.Invalid, `"xxxx" within "stbl"`},
		{"a box of 4 bytes", func(s *parts) { s.stts = append(box("stts", 0, 1, 4, 100), 0, 0, 0, 4, 'x', 'x', 'x', 'x') }, errs.Invalid, `"xxxx" within "stbl"`},
	} {
		s := valid()
		c.make(&s)
		_, err := index(s.file())
		if !errs.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %q", c.name, err, c.text)
		}
	}
}

// TestKeys: frames of the box stss are keys; all are where there is no such box, and the first one
// where it is empty.
func TestKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		stss []byte
		want string
	}{
		{"none", nil, "kkkk"},
		{"empty", box("stss", 0, 0), "k---"},
		{"some", box("stss", 0, 2, 2, 4), "-k-k"},
		{"repeated", box("stss", 0, 3, 0, 3, 3), "--k-"},
		{"behind", box("stss", 0, 2, 1, 900), "k---"},
	} {
		s := valid()
		s.stss = c.stss
		v, err := index(s.file())
		if err != nil {
			t.Fatal(c.name, err)
		}
		got := ""
		for _, p := range v.Packets {
			if p.Key {
				got += "k"
			} else {
				got += "-"
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestEntries: colors and turns.
func TestEntries(t *testing.T) {
	t.Parallel()
	turned := func(a, b, c, d int) []byte { return box("", a, b, 0, c, d, 0, 0, 0, 1<<30)[4:] }
	const one = 1 << 16
	for _, c := range []struct {
		name   string
		inside []byte
		matrix []byte
		turns  int
		color  media.Color
	}{
		{"plain", nil, straight(), 0, media.Color{}},
		{"right", nil, turned(0, one, -one, 0), 1, media.Color{}},
		{"half", nil, turned(-one, 0, 0, -one), 2, media.Color{}},
		{"left", nil, turned(0, -one, one, 0), 3, media.Color{}},
		{"mirrored", nil, turned(-one, 0, 0, one), 0, media.Color{}},
		{"oblique", nil, turned(one/2, one/2, -one/2, one/2), 0, media.Color{}},
		{"nclx", box("colr", "nclx", int16(9), int16(16), int16(9), "\x80"), nil, 0, media.Color{Primaries: 9, Transfer: 16, Matrix: 9, Full: true}},
		{"nclc", box("colr", "nclc", int16(1), int16(2), int16(6)), nil, 0, media.Color{Primaries: 1, Matrix: 6}},
		{"a profile and numbers", slices.Concat(box("colr", "prof", zeros(99)), box("colr", "nclx", int16(1), int16(300), int16(1), "\x00")), nil, 0, media.Color{Primaries: 1, Matrix: 1}},
		{"of VP9", box("vpcC", 1<<24, "\x00\x1f\x83\x09\x10\x09\x00\x00"), nil, 0, media.Color{Primaries: 9, Transfer: 16, Matrix: 9, Full: true}},
		{"cut", box("colr", "nclx\x00"), nil, 0, media.Color{}},
	} {
		s := valid()
		s.inside, s.matrix = c.inside, c.matrix
		v, err := index(s.file())
		if err != nil || v.Turns != c.turns || v.Color != c.color || v.Codec != "vp9" || v.Width != 64 || v.Height != 48 {
			t.Errorf("%s: %+v, %v", c.name, v, err)
		}
	}
}

// moof makes a fragment of the track 7 from the boxes behind tfhd.
func moof(flags int, fields []byte, behind ...any) []byte {
	return box("moof", box("traf", append([]any{box("tfhd", flags, 7, fields)}, behind...)...))
}

func TestFragments(t *testing.T) {
	t.Parallel()
	s := valid()
	s.mvex = box("mvex", box("trex", 0, 7, 1, 100, 10, 0))
	plain := s.file()
	n := int64(len(plain))
	word := func(v int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) }
	for _, c := range []struct {
		name   string
		moof   []byte
		places []int64
		times  []int64
		keys   string
		fault  string
	}{
		{"by default", moof(0, nil, box("trun", 1, 2, 8)), []int64{n + 8, n + 18}, []int64{400, 500}, "kk", ""},
		{"two runs", moof(0, nil, box("trun", 1, 1, 8), box("trun", 0, 1)), []int64{n + 8, n + 18}, []int64{400, 500}, "kk", ""},
		{"a time", moof(0, nil, box("tfdt", 0, 900), box("trun", 0, 1)), []int64{n}, []int64{900}, "k", ""},
		{"a long time", moof(0, nil, box("tfdt", 1<<24, int64(1<<33)), box("trun", 0, 1)), []int64{n}, []int64{1 << 33}, "k", ""},
		{"a place", moof(1, box("", int64(40))[4:], box("trun", 1, 1, 2)), []int64{42}, []int64{400}, "k", ""},
		{"flags", moof(0x20, word(0x10000), box("trun", 4, 2, 0)), []int64{n, n + 10}, []int64{400, 500}, "k-", ""},
		{"each", moof(0, nil, box("trun", 0xf00, 2, 50, 3, 0, -20, 60, 4, 1<<24, 20)), []int64{n, n + 3}, []int64{380, 470}, "k-", ""},
		{"of another track", box("moof", box("traf", box("tfhd", 0, 8), box("trun", 0, 1))), nil, nil, "", ""},
		{"many of another track", box("moof", box("traf", box("tfhd", 0x10, 8, -1), box("trun", 0, -1))), nil, nil, "", "within a fragment"},
		{"2^32 packets", moof(0, nil, box("trun", 0, -1)), nil, nil, "", "4294967299 frames or more"},
		{"2^23 packets", moof(0, nil, box("trun", 0, 1<<23)), nil, nil, "", "83886120 bytes or more"},
		{"packets beyond the box", moof(0, nil, box("trun", 0x200, 3, 5, 5)), nil, nil, "", "states 3 packets of 4 bytes"},
		{"no size", moof(0x10, word(0), box("trun", 0, 1)), nil, nil, "", "frame 4 has no bytes"},
		{"behind the file", moof(0, nil, box("trun", 1, 1, 1<<20)), nil, nil, "", "within frame 4"},
		{"before the file", moof(0, nil, box("trun", 1, 1, -1<<20)), nil, nil, "", "that no file has"},
		{"no place", moof(1, box("", int64(-9))[4:], box("trun", 0, 1)), nil, nil, "", "that the file does not have"},
		{"no description", moof(2, word(4), box("trun", 0, 1)), nil, nil, "", "description 4"},
		{"no head", box("moof", box("traf", box("trun", 0, 1))), nil, nil, "", `"traf" has no box "tfhd"`},
		{"a short head", moof(8, nil), nil, nil, "", "and states more"},
		{"a late time", moof(0, nil, box("tfdt", 1<<24, int64(-1))), nil, nil, "", "that no track can have"},
	} {
		v, err := index(slices.Concat(plain, c.moof, box("mdat", zeros(30))))
		if c.fault != "" {
			if !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s: %v, want %q", c.name, err, c.fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var places, times []int64
		keys := ""
		for _, p := range v.Packets[4:] {
			places, times = append(places, p.Offset), append(times, p.Time)
			keys += map[bool]string{true: "k", false: "-"}[p.Key]
		}
		if !slices.Equal(places, c.places) || !slices.Equal(times, c.times) || keys != c.keys {
			t.Errorf("%s: %v at %v, %s, want %v at %v, %s", c.name, times, places, keys, c.times, c.places, c.keys)
		}
	}
}

// TestCut cuts files at every byte. The error names the box that is cut. Fragmented files give the
// frames before the cut.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"h264.mp4", "faststart.mp4", "frag.mp4", "cut.mov"} {
		p, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for n := range len(p) {
			switch _, err := index(p[:n]); {
			case err == nil && name == "frag.mp4":
			case errs.Is(err, errs.Invalid) && (strings.Contains(err.Error(), "the file ends at byte") || strings.Contains(err.Error(), "has no frames")):
			default:
				t.Fatalf("%s: the first %d bytes of %d: %v", name, n, len(p), err)
			}
		}
	}
}

// TestTopLevel: heads of boxes that are not within another one.
func TestTopLevel(t *testing.T) {
	t.Parallel()
	s := valid()
	plain := s.file()
	long := slices.Concat(plain[:32], []byte("\x00\x00\x00\x01wide\x00\x00\x00\x00\x00\x00\x00\x10"), plain[32:])
	if _, err := index(long); err != nil {
		t.Errorf("a long size: %v", err)
	}
	last := slices.Clone(plain)
	binary.BigEndian.PutUint32(last[bytes.Index(last, []byte("moov"))-4:], 0)
	if _, err := index(last); err != nil {
		t.Errorf("a last box of size 0: %v", err)
	}
	for name, c := range map[string]struct {
		p    string
		text string
	}{
		"nothing":          {"", "ends at byte 0"},
		"no tables":        {string(box("mdat", zeros(20))), `without a box "moov"`},
		"data to the end":  {"\x00\x00\x00\x00mdat" + string(plain), `without a box "moov"`},
		"a size of 4":      {"\x00\x00\x00\x04free", "that no box can have"},
		"a size of 2^63":   {"\x00\x00\x00\x01free\x80\x00\x00\x00\x00\x00\x00\x00", "that no box can have"},
		"a long size of 8": {"\x00\x00\x00\x01free\x00\x00\x00\x00\x00\x00\x00\x08", "that no box can have"},
		"a long size, cut": {"\x00\x00\x00\x01free\x00\x00", "that no box can have"},
		"a cut box":        {"\x00\x00\x00\x20moov\x00\x00", `ends at byte 10 within box "moov"`},
		"a cut head":       {"\x00\x00\x00\x08free\x00\x00", "ends at byte 10 within the head of a box"},
		"a fragment":       {string(box("moof", 0)), `before a box "moov"`},
		"compressed":       {string(box("moov", box("cmov", 0))), "is compressed"},
		"a damaged track":  {string(box("moov", box("trak", box("mdia", "\x00\x00\x01\x00hdlr")))), `"hdlr" within "mdia" has 256 bytes`},
		"no tracks":        {string(box("moov", box("udta", 0))), "no tracks"},
	} {
		if _, err := index([]byte(c.p)); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %q", name, err, c.text)
		}
	}
}

func TestIs(t *testing.T) {
	t.Parallel()
	names, _ := filepath.Glob("testdata/*.m[po][4v]")
	if len(names) < 30 {
		t.Fatal(names)
	}
	for _, name := range names {
		p, err := os.ReadFile(name)
		if err != nil || !container.Is(p[:64]) || !container.Is(p[:12]) || container.Is(p[:11]) {
			t.Error(name, err)
		}
	}
	for text, want := range map[string]bool{
		"\x00\x00\x00\x18ftypqt  \x00": true, "\x00\x00\x00\x18ftypheic\x00": false, "\x00\x00\x00\x1cftypavif\x00": false,
		"\x00\x00\x00\x08wide\x00\x00\x10\x00mdat": true, "\x00\x00\x00\x01mdat\x00\x00\x00\x00": true, "\x1aE\xdf\xa3\x01\x00\x00\x00\x00\x00\x00#": false,
		"RIFF\x00\x00\x00\x00AVI ": false, "the ftyp is a box": false, "": false,
	} {
		if got := container.Is([]byte(text)); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// FuzzIndex holds that Index never panics, and that its results are within the limits.
func FuzzIndex(f *testing.F) {
	names, _ := filepath.Glob("testdata/*.m[po][4v]")
	for _, name := range names {
		p, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p)
	}
	s := valid()
	s.mvex = box("mvex", box("trex", 0, 7, 1, 100, 10, 0))
	s.elst = box("elst", 1<<24, 2, int64(25), int64(-1), 1<<16, int64(100), int64(100), 1<<16)
	f.Add(slices.Concat(s.file(), moof(0, nil, box("tfdt", 0, 900), box("trun", 0xf01, 2, 0, 50, 3, 0, -20, 60, 4, 1<<24, 20))))
	f.Fuzz(func(t *testing.T, p []byte) { mediatest.Fuzzed(t, container, p) })
}
