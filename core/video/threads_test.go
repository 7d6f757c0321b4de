package video

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestThreadsOfDamagedFilms holds that several threads give the frames in front of a damaged
// packet, and the errors behind it, as one thread does.
func TestThreadsOfDamagedFilms(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	file, v := fixture(t, "gop250.mp4")
	read := func(s *set, cores int, frame int64) (string, []byte) {
		r := s.open(t, "mem")
		r.slots = make(chan struct{}, cores)
		info, err := r.Info(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		pixels := make([]byte, info.Height*info.Width*3)
		return fmt.Sprint(r.Frames(t.Context(), 0, []int64{frame}, pixels)), pixels
	}
	whole, failed := newSet(t, file), 0
	for n := range 30 {
		broken := bytes.Clone(file)
		p := v.Packets[150+random.IntN(80)]
		for range 1 + random.IntN(40) {
			broken[p.Offset+random.Int64N(p.Bytes)] = byte(random.UintN(256))
		}
		s := newSet(t, broken)
		frame := 60 + random.Int64N(80)
		_, want := read(whole, 1, frame)
		if err, got := read(s, 5, frame); err != "<nil>" || !bytes.Equal(got, want) {
			t.Errorf("film %d: frame %d in front of the damage: %s, or other pixels", n, frame, err)
		}
		for range 2 {
			frame := 200 + random.Int64N(40)
			want, _ := read(s, 1, frame)
			if want != "<nil>" {
				failed++
			}
			if got, _ := read(s, 5, frame); got != want {
				t.Errorf("film %d: frame %d: by threads %s, want %s", n, frame, got, want)
			}
		}
	}
	if failed == 0 {
		t.Error("no damage was found: the test tests nothing")
	}
}
