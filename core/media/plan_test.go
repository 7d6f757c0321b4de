package media

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
)

// track makes a video of frames of 10 ticks. Letters are packets in the order of decoding, each
// with its place in the order of showing: "k" and "K" are keys, capitals are hidden.
func track(kinds string, places ...int) *Video {
	v := &Video{Codec: "h264", Width: 8, Height: 8, Ticks: 100, End: int64(10 * len(kinds))}
	for i, c := range kinds {
		p := Packet{Offset: int64(100 * i), Bytes: 100, Time: int64(10 * i)}
		if places != nil {
			p.Time = int64(10 * places[i])
		}
		p.Key, p.Hidden = strings.ContainsRune("kK", c), strings.ContainsRune("KP", c)
		v.Packets = append(v.Packets, p)
	}
	return v
}

func TestShown(t *testing.T) {
	t.Parallel()
	v := track("kppkppP", 0, 2, 1, 5, 3, 3, 4)
	shown := v.Shown()
	if want := []int32{0, 2, 1, 4, 5, 3}; !slices.Equal(shown, want) {
		t.Fatalf("shown = %v, want %v", shown, want)
	}
	for time, want := range map[int64]int{-1: -1, 0: 0, 9: 0, 10: 1, 29: 2, 30: 4, 49: 4, 50: 5, 1 << 50: 5} {
		if got := v.At(shown, time); got != want {
			t.Errorf("at %d: frame %d, want %d", time, got, want)
		}
	}
	if got := (&Video{}).At(nil, 3); got != -1 {
		t.Errorf("of no frames: %d", got)
	}
}

// TestShownOfAny: frames in any order.
func TestShownOfAny(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	v := track(strings.Repeat("k", 5000), r.Perm(5000)...)
	for i, frame := range v.Shown() {
		if v.Packets[frame].Time != int64(10*i) {
			t.Fatalf("frame %d is shown at %d", frame, 10*i)
		}
	}
}

func TestNeeds(t *testing.T) {
	t.Parallel()
	open := track("kppkppp", 0, 2, 1, 5, 3, 4, 6) // packets 4 and 5 lead the key packet 3
	for _, c := range []struct {
		name   string
		v      *Video
		frames []int
		want   []Group
		fault  string
	}{
		{"none", open, nil, nil, ""},
		{"one", open, []int{2}, []Group{{0, 2}}, ""},
		{"a key", open, []int{3}, []Group{{3, 3}}, ""},
		{"leading", open, []int{4}, []Group{{0, 4}}, ""},
		{"trailing", open, []int{6}, []Group{{3, 6}}, ""},
		{"both", open, []int{6, 5}, []Group{{0, 6}}, ""},
		{"apart", open, []int{6, 1, 1}, []Group{{0, 1}, {3, 6}}, ""},
		{"one group", open, []int{2, 0}, []Group{{0, 2}}, ""},
		{"all keys", track("kkkk"), []int{3, 0, 1}, []Group{{0, 0}, {1, 1}, {3, 3}}, ""},
		{"hidden", track("KPPp"), []int{3}, []Group{{0, 3}}, ""},
		{"no key", track("ppkp"), []int{3, 1}, nil, "before frame 1,"},
		{"leads the first", track("kp", 1, 0), []int{1}, nil, "before frame 1,"},
		{"outside", open, []int{7}, nil, "frame 7 is not one of 7"},
		{"negative", open, []int{-1}, nil, "frame -1 is not one of 7"},
	} {
		got, err := c.v.Needs(c.frames)
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), c.fault) || !errs.Is(err, errs.Corrupt) && !errs.Is(err, errs.Range) {
				t.Errorf("%s: %v, want %q", c.name, err, c.fault)
			}
			continue
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v (%v), want %v", c.name, got, err, c.want)
		}
	}
}

// TestNeedsOfAny compares with the definition, on videos that no encoder makes.
func TestNeedsOfAny(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 1 + r.IntN(30)
		v := track(strings.Repeat("p", n))
		for i := range v.Packets {
			v.Packets[i].Key = i == 0 || r.IntN(4) == 0
			v.Packets[i].Time = int64(r.IntN(40))
		}
		var frames []int
		for range r.IntN(6) {
			frames = append(frames, r.IntN(n))
		}
		got, err := v.Needs(frames)
		want, ok := defined(v, frames)
		if (err == nil) != ok || ok && !slices.Equal(got, want) {
			t.Fatalf("seed %d: %v (%v), want %v", seed, got, err, want)
		}
	}
}

// defined are the groups by their definition: that of each frame alone, joined while two overlap.
func defined(v *Video, frames []int) ([]Group, bool) {
	var all []Group
	for _, f := range frames {
		first := f
		for first >= 0 && !(v.Packets[first].Key && v.Packets[first].Time <= v.Packets[f].Time) {
			first--
		}
		if first < 0 {
			return nil, false
		}
		all = append(all, Group{first, f})
	}
	slices.SortFunc(all, func(a, b Group) int { return a.First - b.First })
	var out []Group
	for _, g := range all {
		if n := len(out); n > 0 && g.First <= out[n-1].Last {
			out[n-1].Last = max(out[n-1].Last, g.Last)
			continue
		}
		out = append(out, g)
	}
	return out, true
}

// TestNeedsIsLinear holds that a long group is walked once, not once for each frame.
func TestNeedsIsLinear(t *testing.T) {
	t.Parallel()
	const n = 1 << 18
	v := track("k" + strings.Repeat("p", n-1))
	frames := make([]int, n)
	for i := range frames {
		frames[i] = n - 1 - i
	}
	got, err := v.Needs(frames)
	if err != nil || !slices.Equal(got, []Group{{0, n - 1}}) {
		t.Fatalf("%v, %v", got, err)
	}
}

// hour is a video of 60 frames a second with two B-frames between others.
func hour() *Video {
	v := track(strings.Repeat("k"+strings.Repeat("p", 249), 864))
	for i := 0; i+2 < len(v.Packets); i += 3 {
		a, b, c := &v.Packets[i], &v.Packets[i+1], &v.Packets[i+2]
		a.Time, b.Time, c.Time = c.Time, a.Time, b.Time
	}
	return v
}

func BenchmarkShown(b *testing.B) {
	v := hour()
	for b.Loop() {
		v.Shown()
	}
}

func BenchmarkNeeds(b *testing.B) {
	v, shown := hour(), hour().Shown()
	frames := make([]int, 16)
	for b.Loop() {
		for i := range frames {
			frames[i] = int(shown[200_100+i])
		}
		if _, err := v.Needs(frames); err != nil {
			b.Fatal(err)
		}
	}
}
