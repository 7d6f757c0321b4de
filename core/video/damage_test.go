package video

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/media"
)

// TestDamageIsFound flips a byte of each part in turn. Frames that need the part are refused, and
// the others are right.
func TestDamageIsFound(t *testing.T) {
	t.Parallel()
	s, want, random := filmed(t, 5, film{fixture: "gop250.mp4", packets: 30, copies: 8, pad: 9_000})
	for _, scheme := range []string{"mem", "far"} {
		r := s.open(t, scheme)
		of := find(t, r, 0)
		for part := range of.ends {
			bad := partPlace(t, of, part)
			at := bad.from + random.Int64N(bad.to-bad.from)
			s.store.reset(nil, flip(bad.key, at))
			for name, read := range ways() {
				for _, list := range lists(random, len(want), 6)[2:] {
					parts, _ := needed(t, of, list)
					got, err := read(t.Context(), r, 0, list)
					switch {
					case parts[part] && (!errs.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "checksum")):
						t.Fatalf("%s, %s of %v: %v, and part %d is damaged", scheme, name, list, err, part)
					case !parts[part] && err != nil:
						t.Fatalf("%s, %s of %v: %v, and only part %d is damaged", scheme, name, list, err, part)
					case err == nil && !bytes.Equal(got[:len(want[0])], want[list[0]]):
						t.Fatalf("%s, %s of %v: the frames differ", scheme, name, list)
					}
				}
			}
		}
		s.store.reset(nil, nil)
		check(t, r, 0, []int64{0, int64(len(want)) - 1}, want)
	}
}

// flip turns a bit of a byte of an object each time it is read.
func flip(key string, at int64) func(p place, dst []byte) {
	return func(p place, dst []byte) {
		if p.key == key && p.from <= at && at < p.to {
			dst[at-p.from] ^= 4
		}
	}
}

// TestNetworkIsAskedAgain: bytes that were damaged once on their way are requested once more.
func TestNetworkIsAskedAgain(t *testing.T) {
	t.Parallel()
	s, want, random := filmed(t, 6, film{fixture: "gop250.mp4", packets: 30, copies: 4, pad: 9_000})
	r := s.open(t, "far")
	of := find(t, r, 0)
	for part := range of.ends {
		bad := partPlace(t, of, part)
		for name, read := range ways() {
			times := 0
			s.store.reset(nil, func(p place, dst []byte) {
				s.store.mu.Lock()
				defer s.store.mu.Unlock()
				if p.key == bad.key && p.from <= bad.from && bad.from < p.to {
					if times++; times == 1 {
						flip(bad.key, bad.from)(p, dst)
					}
				}
			})
			list := []int64{int64(random.IntN(len(want)))}
			parts, _ := needed(t, of, list)
			got, err := read(t.Context(), r, 0, list)
			if err != nil || !bytes.Equal(got, want[list[0]]) {
				t.Errorf("%s of %v: the frame differs, or %v", name, list, err)
			}
			if parts[part] != (times == 2) {
				t.Errorf("%s of %v: part %d was read %d times", name, list, part, times)
			}
		}
	}
}

// retable gives a reader the table of row 0 with a change.
func retable(t *testing.T, r *Reader, file []byte, v *media.Video, change func(*format.VideoTable)) {
	t.Helper()
	own := *v
	own.Packets = append([]media.Packet(nil), v.Packets...)
	own.Setup = bytes.Clone(v.Setup)
	table := format.NewVideoTable(&own, file)
	change(table)
	raw, err := format.EncodeVideo(table)
	if err != nil {
		t.Fatal(err)
	}
	r.KeepTables([][]byte{raw})
}

// TestTablesThatLie: tables that do not fit the video are refused, where that can be known, and
// otherwise decoders refuse. Nothing hangs, and the next video is read.
func TestTablesThatLie(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(8, 8))
	file, v := film{fixture: "h264.mp4", copies: 2, pad: 20_000}.make(t, random)
	want := frames(t, v, file)
	s := newSet(t, file)
	for _, c := range []struct {
		name   string
		change func(*format.VideoTable)
		want   []errs.Kind
		text   string
	}{
		{"a larger file", func(f *format.VideoTable) { f.Bytes++; f.Parts[len(f.Parts)-1].Bytes++ }, []errs.Kind{errs.Corrupt}, "run fsck"},
		{"a smaller file", func(f *format.VideoTable) {
			f.Parts = append(f.Parts, format.VideoPart{Bytes: 1})
			f.Bytes += 1
		}, []errs.Kind{errs.Corrupt}, "run fsck"},
		{"no parts", func(f *format.VideoTable) { f.Parts = nil }, []errs.Kind{errs.Corrupt}, "no checksums"},
		{"another checksum", func(f *format.VideoTable) {
			for i := range f.Parts {
				f.Parts[i].CRC++
			}
		}, []errs.Kind{errs.Corrupt}, "checksum"},
		{"packets that are none", func(f *format.VideoTable) {
			for i := range f.Video.Packets {
				f.Video.Packets[i].Offset = 3
			}
		}, []errs.Kind{errs.Corrupt}, "decode"},
		{"packets of one byte", func(f *format.VideoTable) {
			for i := range f.Video.Packets {
				f.Video.Packets[i].Bytes = 1
			}
		}, []errs.Kind{errs.Corrupt}, ""},
		{"another width", func(f *format.VideoTable) { f.Video.Width += 2 }, []errs.Kind{errs.Unsupported}, "pixels"},
		{"large frames", func(f *format.VideoTable) { f.Video.Width, f.Video.Height = 4096, 1024 }, []errs.Kind{errs.Unsupported}, "pixels"},
		{"no key packets", func(f *format.VideoTable) {
			for i := range f.Video.Packets {
				f.Video.Packets[i].Key = false
			}
		}, []errs.Kind{errs.Corrupt}, "no key frame"},
		{"another codec", func(f *format.VideoTable) { f.Video.Codec = "hevc" }, []errs.Kind{errs.Corrupt, errs.Unsupported}, ""},
		{"another codec", func(f *format.VideoTable) { f.Video.Codec = "av1" }, []errs.Kind{errs.Corrupt, errs.Unsupported}, ""},
		{"no setup", func(f *format.VideoTable) { f.Video.Setup = nil }, []errs.Kind{errs.Corrupt}, ""},
		{"hidden frames", func(f *format.VideoTable) {
			for i := range f.Video.Packets {
				f.Video.Packets[i].Hidden = true
			}
		}, []errs.Kind{errs.Range}, "the video has 0"},
		{"no packets", func(f *format.VideoTable) { f.Video.Packets = nil }, []errs.Kind{errs.Range}, "the video has 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, scheme := range []string{"mem", "far"} {
				for name, read := range ways() {
					r := s.open(t, scheme)
					retable(t, r, file, v, c.change)
					_, err := read(t.Context(), r, 0, []int64{5})
					if len(c.want) == 1 && !errs.Is(err, c.want[0]) || len(c.want) == 2 && !errs.Is(err, c.want[0]) && !errs.Is(err, c.want[1]) {
						t.Errorf("%s, %s: %v, want one of %v", scheme, name, err, c.want)
					}
					if err == nil || !strings.Contains(err.Error(), c.text) {
						t.Errorf("%s, %s: %v, want %q", scheme, name, err, c.text)
					}
					if n := len(r.pool.idle); n != 0 {
						t.Errorf("%s, %s: %d decoders are idle behind an error", scheme, name, n)
					}
				}
			}
		})
	}
	r := s.open(t, "mem")
	retable(t, r, file, v, func(*format.VideoTable) {})
	check(t, r, 0, []int64{5}, want)
}

// TestFramesOfOneTime: frames that the file shows at the same time come in the order of decoding,
// alone as well as together.
func TestFramesOfOneTime(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(8, 9))
	for _, name := range []string{"gop2.mp4", "gop250.mp4", "h264.mp4"} {
		file, v := film{fixture: name, packets: 12, copies: 1, pad: 20}.make(t, random)
		want := frames(t, v, file)
		r := newSet(t, file).open(t, "mem")
		shown := v.Shown()
		retable(t, r, file, v, func(f *format.VideoTable) {
			for i := 1; i < len(shown); i += 2 {
				p := f.Video.Packets
				p[shown[i]].Time = p[shown[i-1]].Time
			}
		})
		s := find(t, r, 0)
		var order [][]byte // of the frames, as the table says
		for _, p := range s.shown {
			order = append(order, want[indexOf(shown, p)])
		}
		check(t, r, 0, upTo(len(order)), order)
		for i := range order {
			check(t, r, 0, []int64{int64(i)}, order)
		}
	}
}

func indexOf(list []int32, v int32) int {
	for i := range list {
		if list[i] == v {
			return i
		}
	}
	return -1
}

// TestFailedReads: errors of a store are those of the frames, and name tensor and row.
func TestFailedReads(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(8, 7))
	file, _ := film{fixture: "h264.mp4", copies: 4, pad: 20_000}.make(t, random)
	s := newSet(t, file)
	for _, scheme := range []string{"mem", "far"} {
		r := s.open(t, scheme)
		find(t, r, 0)
		for name, read := range ways() {
			s.store.reset(func(context.Context, place) error { return errs.New(errs.Storage, "gone") }, nil)
			if _, err := read(t.Context(), r, 0, []int64{0, 30}); !errs.Is(err, errs.Storage) || !strings.Contains(err.Error(), "gone") {
				t.Errorf("%s, %s: %v", scheme, name, err)
			}
			s.store.reset(nil, nil)
		}
	}
}
