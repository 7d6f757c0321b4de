package mp4

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/media"
	"deeplake/core/media/mediatest"
)

// container is the one that is tested.
var container File

func index(p []byte) (*media.Video, error) {
	return container.Index(context.Background(), media.Bytes(p), int64(len(p)))
}

// TestAgainstFFmpeg compares every file with FFmpeg's description of it.
func TestAgainstFFmpeg(t *testing.T) {
	t.Parallel()
	mediatest.Described(t, 30, container, comparePackets)
}

// comparePackets: FFmpeg lists packets without the edit list, and the frames that it shows with it.
// Where the edit begins within a frame, FFmpeg leaves that frame out, and lets the next one begin
// at 0. This package does as the standard says. FFmpeg hides no frames of fragments.
func comparePackets(t *testing.T, file []byte, v *media.Video, want *mediatest.Description) {
	m, _, err := (&source{r: media.Bytes(file), size: int64(len(file))}).movie(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shift := v.Packets[0].Time - want.Packets[0][3]
	for i, p := range v.Packets {
		w := want.Packets[i]
		if p.Offset != w[0] || p.Bytes != w[1] || p.Key != (w[2] == 1) || p.Time-w[3] != shift {
			t.Errorf("packet %d = %+v, want %v and a shift of %d", i, p, w, shift)
		}
	}
	shown := map[int64]int64{}
	var frames [][2]int64 // offset and time
	if err := json.Unmarshal(want.Shown, &frames); err != nil {
		t.Fatal(err)
	}
	for _, w := range frames {
		shown[w[0]] = w[1]
	}
	order, early := v.Shown(), int64(0)
	if first := v.Packets[order[0]]; first.Time < 0 && !m.fragmented {
		if _, ok := shown[first.Offset]; ok {
			t.Errorf("FFmpeg shows the frame at %d", first.Time)
		}
		early = v.Packets[order[1]].Time
		shown[first.Offset] = first.Time - early
	}
	for _, p := range v.Packets {
		time, ok := shown[p.Offset]
		if ok && time != p.Time-early {
			t.Errorf("the packet at %d is shown at %d, want %d", p.Offset, p.Time, time+early)
		}
		if ok == p.Hidden && (!m.fragmented || p.Time >= 0) {
			t.Errorf("the packet at %d, time %d: hidden is %t", p.Offset, p.Time, p.Hidden)
		}
	}
	last := v.Packets[order[len(order)-1]].Time
	if v.End <= last || v.End > last+v.Ticks || !slices.IsSorted(mediatest.ShownAt(v)) {
		t.Errorf("the end is %d, the last frame is shown at %d", v.End, last)
	}
}

// TestRefused: what cannot be presented says so.
func TestRefused(t *testing.T) {
	t.Parallel()
	mediatest.Refused(t, container, "encrypted.mp4", errs.Unsupported, "encrypted")
	mediatest.Refused(t, container, "sound.mp4", errs.Invalid, "no track of pictures")
	mediatest.Refused(t, container, "prores.mov", errs.Unsupported, `codec "apch"`)
}

// hour makes the file of an hour of 60 frames a second, but for its data: B-frames, sizes of their
// own, a chunk for each second. It returns its size too.
func hour() (head []byte, size int64) {
	const frames, seconds, each = 216_000, 3600, 1000
	var ctts, stsz, stco, stss []byte
	for i := range frames {
		ctts = append(ctts, box("", 1, 100*[3]int{3, 0, 0}[i%3])[4:]...)
		stsz = append(stsz, box("", each-i%7)[4:]...)
		if i%250 == 0 {
			stss = append(stss, box("", i+1)[4:]...)
		}
	}
	for i := range seconds {
		stco = append(stco, box("", int64(1<<24+60*each*i))[4:]...)
	}
	s := valid()
	s.stts, s.ctts = box("stts", 0, 1, frames, 100), box("ctts", 0, frames, ctts)
	s.stsz, s.stss = box("stsz", 0, 0, frames, stsz), box("stss", 0, len(stss)/4, stss)
	s.stsc, s.stco = box("stsc", 0, 1, 1, 60, 1), box("co64", 0, seconds, stco)
	return s.file(), 1<<24 + frames*each
}

// sparse is a file that begins with some bytes; the others are not read.
type sparse struct {
	media.Bytes
	reads *int
}

func (s sparse) ReadAt(_ context.Context, p []byte, off int64) error {
	*s.reads++
	copy(p, s.Bytes[min(off, int64(len(s.Bytes))):])
	return nil
}

// TestRequests: an hour of video takes two reads.
func TestRequests(t *testing.T) {
	t.Parallel()
	head, size := hour()
	reads := 0
	v, err := container.Index(t.Context(), sparse{head, &reads}, size)
	if err != nil || len(v.Packets) != 216_000 || reads != 2 {
		t.Fatalf("%d reads: %v", reads, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := container.Index(ctx, sparse{head, &reads}, size); !errs.Is(err, errs.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func BenchmarkIndex(b *testing.B) {
	head, size := hour()
	reads := 0
	b.ReportAllocs()
	for b.Loop() {
		if _, err := container.Index(b.Context(), sparse{head, &reads}, size); err != nil {
			b.Fatal(err)
		}
	}
}
