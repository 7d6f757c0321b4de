package media

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// parter is a container that makes parts without a head.
type parter struct{ Container }

func (parter) Part(cut *Video) (*Part, error) { return &Part{Tables: cut}, nil }

// countedFile is a file that counts its reads.
type countedFile struct {
	Bytes
	reads int
}

func (f *countedFile) ReadAt(ctx context.Context, dst []byte, off int64) error {
	f.reads++
	return f.Bytes.ReadAt(ctx, dst, off)
}

// refreshing returns a film of H.264 with a packet for each letter: I an IDR picture, R a key
// packet whose frames are complete a packet later, O one that is complete at once, and P no key
// packet.
func refreshing(kinds string) (*Video, *countedFile) {
	v, file := &Video{Codec: "h264", Setup: []byte{1, 100, 0, 31, 0xff}, Width: 2, Height: 2, Ticks: 10, End: int64(len(kinds))}, &countedFile{}
	messages := map[rune][]byte{'R': {0, 0, 0, 5, 6, 6, 1, 0x40, 0x80}, 'O': {0, 0, 0, 5, 6, 6, 1, 0x80, 0x80}}
	for i, kind := range kinds {
		slice := unit(4, 2, 1, 5000)
		if kind == 'I' {
			slice = unit(4, 3, 5, 5000)
		}
		packet := append(slices.Clone(messages[kind]), slice...)
		v.Packets = append(v.Packets, Packet{Offset: int64(len(file.Bytes)), Bytes: int64(len(packet)), Time: int64(i), Key: kind != 'P'})
		file.Bytes = append(file.Bytes, packet...)
	}
	return v, file
}

// TestPartsBeginComplete holds where the part of a frame begins, and how often the file is read.
func TestPartsBeginComplete(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kinds        string
		frame, first int64
		reads        int
	}{
		{"IPPIPP", 5, 3, 1},
		{"IPPIPP", 2, 0, 0}, // the first key packet is all there is
		{"IPPOPP", 5, 3, 1},
		{"IPPRPP", 5, 0, 1},
		{"IPPRPPRPP", 8, 0, 2},
		{"IPPIPPRPP", 8, 3, 2},
		{"RPPRPP", 5, 0, 1}, // no picture is complete at once
		{"I" + strings.Repeat("PR", 100), 200, 0, mostRefreshes},
	} {
		v, file := refreshing(c.kinds)
		cutter := NewCutter(Containers{parter{}}, v)
		for again, reads := range []int{c.reads, 0} {
			file.reads = 0
			part, err := cutter.Part(t.Context(), file, c.frame, c.frame+1)
			if err != nil {
				t.Fatalf("%s: %v", c.kinds, err)
			}
			cut, _ := part.Tables.(*Video)
			shown := cut.Shown()
			if cut.Packets[0].Offset != v.Packets[c.first].Offset || len(shown) != 1 || cut.Packets[shown[0]].Time != 0 {
				t.Errorf("%.20s, frame %d: the part begins at byte %d and shows %d frames", c.kinds, c.frame, cut.Packets[0].Offset, len(shown))
			}
			if file.reads > reads && (again == 0 || file.reads > 1) {
				t.Errorf("%.20s, frame %d: %d reads, want %d", c.kinds, c.frame, file.reads, reads)
			}
		}
		if keys := strings.Count(c.kinds, "P"); slices.ContainsFunc(v.Packets[1:], func(p Packet) bool { return p.Key }) != (len(c.kinds)-keys > 1) {
			t.Errorf("%.20s: the track was changed", c.kinds)
		}
	}
	v, file := refreshing("IPPRPP")
	v.Codec = "hevc"
	part, err := NewCutter(Containers{parter{}}, v).Part(t.Context(), file, 5, 6)
	if err != nil || file.reads > 0 {
		t.Fatalf("another codec: %d reads, %v", file.reads, err)
	}
	if cut, _ := part.Tables.(*Video); len(cut.Packets) != 3 {
		t.Errorf("another codec: %d packets", len(cut.Packets))
	}
	if _, err := NewCutter(nil, v).Part(t.Context(), file, 5, 6); err == nil {
		t.Error("no container makes files")
	}
}
