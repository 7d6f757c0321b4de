package video

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/media"
	"deeplake/core/media/ffmpeg"
	"deeplake/core/media/mediatest"
)

// TestDecodersKeepTheirPlace: clips that follow each other within a long group read and decode its
// packets once, and their frames are those of the whole track. Clips in another order begin at the
// key packet, and have the same frames.
func TestDecodersKeepTheirPlace(t *testing.T) {
	t.Parallel()
	const length = 10
	for _, c := range []struct {
		name  string
		film  film
		cores int
	}{
		{"a group", film{fixture: "gop250.mp4", packets: 240, copies: 1, pad: 9_000}, 1},
		{"a group by five threads", film{fixture: "gop250.mp4", packets: 240, copies: 1, pad: 9_000}, 5},
		{"three groups", film{fixture: "gop250.mp4", packets: 90, copies: 3, pad: 9_000}, 1},
		{"three groups by two threads", film{fixture: "gop250.mp4", packets: 90, copies: 3, pad: 9_000}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, want, random := filmed(t, 3, c.film)
			r := s.open(t, "mem")
			r.slots = make(chan struct{}, c.cores)
			of := find(t, r, 0)
			size := of.table.Bytes
			clips := len(want) / length
			read := func(k int) int64 {
				s.store.reset(nil, nil)
				list := upTo(length)
				for i := range list {
					list[i] += int64(k * length)
				}
				got := make([]byte, length*len(want[0]))
				if err := r.Frames(t.Context(), 0, list, got); err != nil {
					t.Fatal(err)
				}
				for i, frame := range list {
					if each := len(want[frame]); !bytes.Equal(got[i*each:][:each], want[frame]) {
						t.Fatalf("clip %d: frame %d differs", k, frame)
					}
				}
				sum := int64(0)
				for _, p := range s.store.seen() {
					sum += p.to - p.from
				}
				return sum
			}
			_ = read(clips - 1) // the pages of the index
			forth, back := int64(0), int64(0)
			for k := range clips {
				forth += read(k)
			}
			for k := range clips {
				back += read(clips - 1 - k)
			}
			parts := int64(1) // that a clip has beside those of its own
			if c.cores > 1 {
				parts = 2 // packets that threads hold back
			}
			if most := size + int64(clips)*parts*mostPartOf(of); forth > most {
				t.Errorf("clips in order read %d bytes of a file of %d, want at most %d", forth, size, most)
			}
			if back < 3*size {
				t.Errorf("clips in the other order read %d bytes of a file of %d: the film has no long groups", back, size)
			}
			for range 3 * clips {
				read(random.IntN(clips))
			}
		})
	}
}

// mostPartOf returns the size of the largest part of a file: a clip begins within one.
func mostPartOf(s *stored) int64 {
	most, from := int64(0), int64(0)
	for _, end := range s.ends {
		most, from = max(most, end-from), end
	}
	return most
}

// TestPositions says from where a decoder goes on.
func TestPositions(t *testing.T) {
	t.Parallel()
	of, other := &stored{}, &stored{}
	at := &position{of: of, first: 10, sent: 20, inside: map[int32]bool{19: true, 20: true}}
	for _, c := range []struct {
		name   string
		at     *position
		of     *stored
		group  media.Group
		wanted []int32
		want   bool
	}{
		{"packets behind it", at, of, media.Group{First: 10, Last: 40}, []int32{21, 40}, true},
		{"frames that are inside", at, of, media.Group{First: 10, Last: 40}, []int32{19, 20, 21}, true},
		{"a frame that has come out", at, of, media.Group{First: 10, Last: 40}, []int32{18, 21}, false},
		{"nothing to send", at, of, media.Group{First: 10, Last: 20}, []int32{20}, false},
		{"another group", at, of, media.Group{First: 15, Last: 40}, []int32{30}, false},
		{"another video", at, other, media.Group{First: 10, Last: 40}, []int32{30}, false},
		{"no place", nil, of, media.Group{First: 10, Last: 40}, []int32{30}, false},
	} {
		if got := c.at.reaches(c.of, c.group, c.wanted); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestPlacesAreBounded: decoders that keep their places take their share of memory, and those used
// longest ago begin anew.
func TestPlacesAreBounded(t *testing.T) {
	t.Parallel()
	l := mediatest.FFmpeg(t, ffmpeg.Load)
	file, v := fixture(t, "mjpeg.mp4")
	r := newSet(t, file).open(t, "mem")
	of := *find(t, r, 0)
	of.form.width, of.form.height = 1920, 1080
	var made []*ffmpeg.Decoder
	most := idleBytes / int(of.form.memory())
	for i := range most + 2 {
		d, err := l.Open(v, 1)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, d)
		r.pool.put(&of, d, &position{of: &of, sent: i})
	}
	if len(r.pool.idle) != most || r.pool.idle[0].decoder != made[2] {
		t.Fatalf("%d decoders are kept, want the last %d", len(r.pool.idle), most)
	}
	d, err := r.pool.take(&of, 1)
	if err != nil || d != made[2] || len(r.pool.idle) != most-1 {
		t.Errorf("got another decoder than that used longest ago, %v", err)
	}
	d.Close()
	if d, _ := r.pool.resume(&of, media.Group{Last: 100}, []int32{50}); d != made[most+1] {
		t.Error("got another decoder than the nearest one")
	} else {
		d.Close()
	}
}

// TestClipsOfLoadersGoOn: so it is with refs that a loader decodes, whose bytes come ahead of need.
func TestClipsOfLoadersGoOn(t *testing.T) {
	t.Parallel()
	s, want, _ := filmed(t, 4, film{fixture: "gop250.mp4", packets: 240, copies: 1, pad: 2_000})
	r := s.open(t, "mem")
	w := r.source.NewWorker()
	defer w.Close()
	random := rand.New(rand.NewPCG(9, 9))
	at := int64(0)
	for range 40 {
		list := upTo(1 + random.IntN(12))
		for i := range list {
			list[i] = (list[i]*(1+int64(random.IntN(2))) + at) % int64(len(want))
		}
		at = slices.Max(list) + int64(random.IntN(4))
		var ref chunk.Ref
		if err := r.Clip(t.Context(), 0, list, &ref); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, ref.Size)
		if err := r.DecodeClip(t.Context(), &ref, got, w); err != nil {
			t.Fatal(err)
		}
		for i, f := range list {
			if each := len(want[f]); !bytes.Equal(got[i*each:][:each], want[f]) {
				t.Fatalf("%v: frame %d differs", list, f)
			}
		}
	}
}
