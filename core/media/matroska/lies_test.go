package matroska

import (
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/media"
)

// TestLies gives damaged files, and compares the errors.
func TestLies(t *testing.T) {
	t.Parallel()
	encoded := func(of ...any) func(*parts) {
		return func(s *parts) { s.tracks = tracks(entry(el("6d80", el("6240", of...)))) }
	}
	of := func(more ...any) func(*parts) { return func(s *parts) { s.tracks = tracks(entry(more...)) } }
	blocks := func(all ...any) func(*parts) { return func(s *parts) { s.clusters = cluster(0, all...) } }
	for _, c := range []struct {
		name string
		make func(*parts)
		kind errs.Kind
		text string
	}{
		{"encrypted", encoded(el("5033", "\x01"), el("5035")), errs.Unsupported, "is encrypted; give it decrypted"},
		{"encrypted without its type", encoded(el("5035")), errs.Unsupported, "is encrypted"},
		{"compressed", encoded(el("5034")), errs.Unsupported, `compressed by algorithm 0 (element "ContentEncodings"); copy its packets`},
		{"compressed by LZO", encoded(el("5034", el("4254", "\x02"))), errs.Unsupported, "compressed by algorithm 2"},
		{"stripped", encoded(el("5034", el("4254", "\x03"), el("4255", "\x00\x00\x01"))), errs.Unsupported, "first bytes of all its packets are left out"},
		{"a codec", of(el("86", "V_MPEG2")), errs.Unsupported, `codec "V_MPEG2"`},
		{"a codec of Windows", of(el("86", "V_MS/VFW/FOURCC")), errs.Unsupported, `codec "V_MS/VFW/FOURCC"`},
		{"no parameters", of(el("86", "V_MPEG4/ISO/AVC")), errs.Invalid, `no element "CodecPrivate"`},
		{"large parameters", of(el("63a2", make([]byte, media.MaxSetupBytes+1))), errs.Invalid, `"CodecPrivate" has 65537 bytes`},
		{"no number", of(el("d7", "")), errs.Invalid, `no element "TrackNumber"`},
		{"no width", of(el("e0", el("b0", 0))), errs.Invalid, "pictures are 0 x 48"},
		{"too high", of(el("e0", el("ba", 1<<20))), errs.Invalid, "pictures are 64 x 1048576"},
		{"joined", of(el("e2")), errs.Unsupported, `made of others (element "TrackOperation")`},
		{"slow", of(el("23314f", 0.5)), errs.Unsupported, `their own scale, 0.5 (element "TrackTimestampScale")`},
		{"a long number", of(el("d7", 0, 1)), errs.Invalid, `"TrackNumber" at byte`},
		{"an odd float", of(el("23314f", "abc")), errs.Invalid, "want a number of 4 or 8"},
		{"a scale of nothing", func(s *parts) { s.info = el("1549a966", el("2ad7b1", 0)) }, errs.Invalid, `"TimestampScale" at byte`},
		{"an endless scale", func(s *parts) { s.info = el("1549a966", el("2ad7b1", -1)) }, errs.Invalid, "is 18446744073709551615 nanoseconds"},
		{"times beyond any", func(s *parts) {
			s.info = el("1549a966", el("2ad7b1", 333_333_333_333))
			s.clusters = cluster(1<<40, simple(0))
		}, errs.Invalid, `"SimpleBlock" at byte 152 has a time that no track can have`},
		{"a cluster beyond any time", func(s *parts) { s.clusters = cluster(-1, simple(0)) }, errs.Invalid, `"Timestamp" at byte`},
		{"a duration beyond any", blocks(el("a0", grouped(0), el("9b", -1))), errs.Invalid, `"BlockDuration" at byte`},
		{"an end beyond any", blocks(el("a0", grouped(9), el("9b", media.MaxTime))), errs.Invalid, "the last frame ends at"},
		{"no time", func(s *parts) { s.clusters = el("1f43b675", simple(0)) }, errs.Invalid, `"SimpleBlock" at byte 116 comes before the element "Timestamp"`},
		{"no bytes", blocks(simple(0), el("a3", "\x81\x00\x00\x80")), errs.Invalid, "frame 1 has no bytes"},
		{"no head", blocks(el("a3", "\x81\x00\x00")), errs.Invalid, "no head of a block in its 3 bytes"},
		{"no number of a track", blocks(el("a3", "\x00abcdefghijkl")), errs.Invalid, "no head of a block in its 13 bytes"},
		{"nothing", blocks(el("a3")), errs.Invalid, "no head of a block in its 0 bytes"},
		{"lacing of Xiph", blocks(el("a3", "\x81\x00\x00\x82\x01\x01ab")), errs.Unsupported, "several frames (lacing)"},
		{"lacing of one size", blocks(el("a3", "\x81\x00\x00\x84\x01ab")), errs.Unsupported, "several frames (lacing)"},
		{"lacing of EBML", blocks(el("a0", el("a1", "\x81\x00\x00\x06\x01\x81ab"))), errs.Unsupported, "several frames (lacing)"},
		{"two blocks", blocks(el("a0", grouped(0), grouped(9))), errs.Invalid, `has a second element "Block"`},
		{"an encrypted block", blocks(el("af", "x")), errs.Unsupported, "is encrypted"},
		{"only invisible ones", blocks(el("a3", "\x81\x00\x00\x88x")), errs.Invalid, "none of its 1 frames is shown"},
		{"no frames", blocks(), errs.Invalid, "no frames"},
		{"no clusters", func(s *parts) { s.clusters = nil }, errs.Invalid, "no frames"},
		{"no tracks", func(s *parts) { s.tracks = tracks() }, errs.Invalid, "it has no tracks"},
		{"no track of pictures", func(s *parts) { s.tracks = tracks(entry(el("83", "\x02"))) }, errs.Invalid, "tracks of other kinds: 1"},
		{"no element Tracks", func(s *parts) { s.tracks = nil }, errs.Invalid, `"Cluster" at byte 42 comes before an element "Tracks"`},
		{"nothing at all", func(s *parts) { s.tracks, s.clusters = nil, nil }, errs.Invalid, `without an element "Tracks"`},
		{"another place", func(s *parts) {
			s.before, s.tracks = el("114d9b74", el("4dbb", el("53ab", bare("1654ae6b")), el("53ac", 0))), nil
		}, errs.Invalid, `"SeekHead" places "Tracks" at byte 42, where "SeekHead" is`},
		{"a place behind the file", func(s *parts) {
			s.before, s.tracks = el("114d9b74", el("4dbb", el("53ab", bare("1654ae6b")), el("53ac", 1<<30))), nil
		}, errs.Invalid, `comes before an element "Tracks"`},
		{"a size within tables", func(s *parts) { s.tracks = tracks(append(entry(), "\xae\x85\xd7"...)) }, errs.Invalid, `"TrackEntry" at byte 108 has 5 bytes, and element "Tracks" ends at byte 111`},
		{"no size within tables", func(s *parts) { s.tracks = tracks(append(entry(), "\xae\xff"...)) }, errs.Invalid, `"TrackEntry" at byte 108 states no size`},
		{"no element within tables", func(s *parts) { s.tracks = tracks(append(entry(), 0)) }, errs.Invalid, "has no element at byte 108"},
		{"a block beyond its cluster", func(s *parts) {
			s.clusters = slices.Concat(cluster(0, append(bare("a3"), "\x88\x81\x00\x00\x80"...)), s.clusters)
		}, errs.Invalid, `"SimpleBlock" at byte 129 has 8 bytes, and element "Cluster" ends at byte 135`},
		{"a block beyond its group", func(s *parts) {
			s.clusters = slices.Concat(cluster(0, el("a0", append(bare("a1"), "\x88\x81\x00\x00\x80"...)), simple(0), simple(0)))
		}, errs.Invalid, `"Block" at byte 134 has 8 bytes, and element "BlockGroup" ends`},
		{"a block without a size", blocks(append(bare("a3"), "\xff\x81\x00\x00\x80x"...)), errs.Invalid, "states no size"},
		{"no element", blocks("\x00", simple(0)), errs.Invalid, "no element begins at byte 129, where one must, but 00 a3 10 00"},
		{"a cluster within a cluster", func(s *parts) { s.clusters = slices.Concat(cluster(0, open("1f43b675")), s.clusters) }, errs.Invalid, `"Cluster" at byte 129 states no size`},
		{"a large element", func(s *parts) { s.before = append(bare("1549a966"), "\x0f\x00\x00\x00\x01"...) }, errs.Invalid, "the file ends at byte"},
		{"a kind", func(s *parts) { s.header = el("1a45dfa3", el("4282", "pictures")) }, errs.Invalid, `"DocType" states the kind "pictures"`},
		{"no kind", func(s *parts) { s.header = el("1a45dfa3") }, errs.Invalid, `states the kind ""`},
		{"a later version", func(s *parts) { s.header = el("1a45dfa3", el("4282", "webm"), el("4285", "\x05")) }, errs.Unsupported, "version 5 of Matroska"},
		{"long ids", func(s *parts) { s.header = el("1a45dfa3", el("4282", "webm"), el("42f2", "\x05")) }, errs.Unsupported, "ids of 5 bytes"},
		{"long sizes", func(s *parts) { s.header = el("1a45dfa3", el("4282", "webm"), el("42f3", "\x09")) }, errs.Unsupported, "sizes of 9"},
		{"no header", func(s *parts) { s.header = el("ec", "x") }, errs.Invalid, `begins with element 0xEC, want "EBML"`},
		{"a header without a size", func(s *parts) { s.header = open("1a45dfa3") }, errs.Invalid, `"EBML" at byte 0 states no size`},
	} {
		s := valid()
		c.make(&s)
		_, err := index(s.file())
		if !errs.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %q", c.name, err, c.text)
		}
	}
}

// TestTopLevel: what lies around the segment.
func TestTopLevel(t *testing.T) {
	t.Parallel()
	s := valid()
	if _, err := index(slices.Concat(s.header, el("ec", "x"), el("18538067", s.body()))); err != nil {
		t.Error("an element before the segment:", err)
	}
	for name, c := range map[string]struct{ p, text string }{
		"nothing":        {"", "ends at byte 0"},
		"one byte":       {"\x1a", "ends at byte 1 within the head of an element"},
		"a header":       {string(s.header), `without an element "Segment"`},
		"a cut segment":  {string(s.header) + "\x18\x53\x80\x67\x90\x00", `within element "Segment", which begins at byte`},
		"a large table":  {string(s.header) + "\x18\x53\x80\x67\xff\x16\x54\xae\x6b\x08\x01\x00\x00\x01" + strings.Repeat("\x00", 16<<20+1), `"Tracks" at byte 39 has 16777217 bytes, want at most`},
		"an open table":  {string(s.header) + "\x18\x53\x80\x67\xff\x16\x54\xae\x6b\xff", "states no size"},
		"a cut head":     {string(s.header) + "\x18\x53\x80\x67\xff\x16\x54", "within the head of an element"},
		"a long size":    {string(s.header) + "\x18\x53\x80\x67\xff\x16\x54\xae\x6b\x01\x7f\xff\xff\xff\xff\xff\xff", `within element "Tracks"`},
		"zeros behind":   {string(s.header) + "\x18\x53\x80\x67\xff" + string(s.body()) + strings.Repeat("\x00", 20), "no element begins at byte"},
		"a short header": {"\x1a\x45\xdf\xa3\x83\x42\x82\x84webm", `element "DocType" at byte 5 has 4 bytes, and element "EBML" ends at byte 8`},
	} {
		if _, err := index([]byte(c.p)); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %q", name, err, c.text)
		}
	}
}
