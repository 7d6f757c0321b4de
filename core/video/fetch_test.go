package video

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/media"
	"deeplake/go/tests/clock"
)

// invent makes a file, and a table of packets that lie anywhere in it, with parts that cut them.
func invent(r *rand.Rand) ([]byte, *format.VideoTable) {
	sizes := []int{1, 100, 5_000, 200_000}
	large := r.IntN(100) // of few files one packet is
	gaps := []int{0, 0, 1, 3_000, mergeGap, mergeGap + 1, 300_000}
	v := &media.Video{Codec: "h264", Width: 1, Height: 1, Ticks: 1}
	at := 0
	for i := range 1 + r.IntN(40) {
		at += gaps[r.IntN(len(gaps))]
		n := 1 + r.IntN(sizes[r.IntN(len(sizes))])
		if i == large {
			n = []int{requestBytes, windowBytes}[r.IntN(2)] + 7
		}
		v.Packets = append(v.Packets, media.Packet{Offset: int64(at), Bytes: int64(n), Time: int64(i), Key: i == 0})
		if at += n; r.IntN(20) == 0 {
			at = r.IntN(at) // the next packet overlaps others
		}
	}
	if r.IntN(2) == 0 {
		r.Shuffle(len(v.Packets), func(a, b int) { v.Packets[a], v.Packets[b] = v.Packets[b], v.Packets[a] })
	}
	end := int64(0)
	for _, p := range v.Packets {
		end = max(end, p.Offset+p.Bytes)
	}
	file := noise(r, int(end)+r.IntN(1000))
	t := &format.VideoTable{Video: v, Bytes: int64(len(file))}
	most := []int{1 << 30, 100, 70_000, 3 << 20}[r.IntN(4)]
	for from := 0; from < len(file); {
		n := 1 + r.IntN(min(most, len(file)-from))
		if len(t.Parts) > 5_000 {
			n = len(file) - from
		}
		t.Parts = append(t.Parts, format.VideoPart{Bytes: int64(n), CRC: format.CRC(file[from : from+n])})
		from += n
	}
	return file, t
}

// inMemory makes a stored video of a table, without parts if bare.
func inMemory(table *format.VideoTable, bare bool) *stored {
	s := &stored{table: table}
	at := int64(0)
	for _, p := range table.Parts {
		at += p.Bytes
		if !bare {
			s.ends = append(s.ends, at)
		}
	}
	return s
}

// TestPacketsOfRuns: the packets of a group equal the bytes of the file, wherever they lie, and of
// whatever parts the runs are made.
func TestPacketsOfRuns(t *testing.T) {
	t.Parallel()
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 11))
		file, table := invent(r)
		s := inMemory(table, r.IntN(3) == 0)
		packets := table.Video.Packets
		first := r.IntN(len(packets))
		group := media.Group{First: first, Last: first + r.IntN(len(packets)-first)}
		next := group.First
		for _, window := range s.windows(group) {
			if window.First != next || window.Last < window.First {
				t.Fatalf("seed %d: window %v follows packet %d", seed, window, next-1)
			}
			next = window.Last + 1
			checkWindow(t, fmt.Sprintf("seed %d, window %v", seed, window), s, window, file)
		}
		if next != group.Last+1 {
			t.Fatalf("seed %d: the windows of %v end at %d", seed, group, next)
		}
	}
}

// checkWindow holds the bounds of a window and of its runs, and its packets against the file.
func checkWindow(t *testing.T, name string, s *stored, window media.Group, file []byte) {
	t.Helper()
	packets, sum := s.table.Video.Packets[window.First:window.Last+1], int64(0)
	largest := requestBytes
	for _, p := range packets {
		sum += p.Bytes
		from, to := s.whole(p.Offset, p.Offset+p.Bytes)
		largest = max(largest, int(to-from))
	}
	if sum > windowBytes && len(packets) > 1 {
		t.Fatalf("%s: %d packets of %d bytes", name, len(packets), sum)
	}
	f, before := fetched(s.runs(window)), int64(-1)
	for i := range f {
		run := &f[i]
		if run.from < before || run.from >= run.to || run.to > int64(len(file)) || run.to-run.from > int64(largest) {
			t.Fatalf("%s: run of bytes %d to %d behind %d, of a file of %d", name, run.from, run.to, before, len(file))
		}
		before = run.to
		run.data = make([]byte, run.to-run.from)
		for _, p := range run.pieces { // the rest is of no packet
			copy(run.data[p.from-run.from:p.to-run.from], file[p.from:])
		}
		if err := s.checkRun(run); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for i := range packets {
		p := &packets[i]
		if !bytes.Equal(f.packet(p), file[p.Offset:][:p.Bytes]) {
			t.Fatalf("%s: packet %d differs", name, window.First+i)
		}
	}
}

// TestRunsAreFew: neighbouring packets come by one request, packets that are far apart do not.
func TestRunsAreFew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		bytes, gap int64
		packets    int
		want       int
	}{
		{"small", 100, 0, 1000, 1},
		{"sound between", 5_000, 20_000, 50, 1},
		{"far apart", 5_000, mergeGap + 1, 50, 50},
		{"large", 1 << 20, 0, 4, 2},
		{"larger than a request", requestBytes + 1, 0, 1, 1},
	} {
		v := &media.Video{}
		for i := range c.packets {
			v.Packets = append(v.Packets, media.Packet{Offset: int64(i) * (c.bytes + c.gap), Bytes: c.bytes})
		}
		s := inMemory(&format.VideoTable{Video: v}, true)
		got := 0
		for _, w := range s.windows(media.Group{First: 0, Last: c.packets - 1}) {
			got += len(s.runs(w))
		}
		if got != c.want {
			t.Errorf("%s: %d requests, want %d", c.name, got, c.want)
		}
	}
}

// needed returns the bytes of the chunk that frames need: the parts that their groups touch.
func needed(t *testing.T, s *stored, list []int64) (parts map[int]bool, places []place) {
	t.Helper()
	w, err := s.plan(list)
	if err != nil {
		t.Fatal(err)
	}
	parts = map[int]bool{}
	for _, g := range w.groups {
		for _, p := range s.table.Video.Packets[g.First : g.Last+1] {
			for i := s.partAt(p.Offset); i <= s.partAt(p.Offset+p.Bytes-1); i++ {
				parts[i] = true
			}
		}
	}
	for i := range s.ends {
		if parts[i] {
			places = append(places, partPlace(t, s, i))
		}
	}
	return parts, places
}

// partPlace returns where a part lies in its chunk.
func partPlace(t *testing.T, s *stored, i int) place {
	t.Helper()
	span, err := s.ref.Part(s.start(i), s.ends[i]-s.start(i))
	if err != nil {
		t.Fatal(err)
	}
	return place{span.Object, span.Offset, span.Offset + span.Bytes}
}

// joined puts neighbouring places together.
func joined(places []place) []place {
	var out []place
	for _, p := range places {
		if k := len(out) - 1; k >= 0 && out[k].key == p.key && p.from <= out[k].to {
			out[k].to = max(out[k].to, p.to)
			continue
		}
		out = append(out, p)
	}
	return out
}

// TestReadsNeededPartsAlone: of a large file with a key frame each 30 frames, the parts that the
// groups of frames touch are read, each once, and nothing else.
func TestReadsNeededPartsAlone(t *testing.T) {
	t.Parallel()
	s, want, random := filmed(t, 1, film{fixture: "gop250.mp4", packets: 30, copies: 20, pad: 9_000})
	for _, scheme := range []string{"mem", "far"} {
		r := s.open(t, scheme)
		of := find(t, r, 0)
		for _, list := range append(lists(random, len(want), 20), []int64{0}, []int64{int64(len(want)) - 1}) {
			for name, read := range ways() {
				if _, err := read(t.Context(), r, 0, list[:min(len(list), 1)]); err != nil {
					t.Fatal(err) // reads pages of the index
				}
				s.store.reset(nil, nil)
				got, err := read(t.Context(), r, 0, list)
				if err != nil {
					t.Fatalf("%s of %v: %v", name, list, err)
				}
				_, places := needed(t, of, list)
				seen, bytes := s.store.seen(), int64(0)
				for _, p := range seen {
					bytes += p.to - p.from
				}
				total := int64(0)
				for _, p := range joined(places) {
					total += p.to - p.from
				}
				if !slices.Equal(joined(seen), joined(places)) {
					t.Fatalf("%s, %s of %v: read %v, want %v", scheme, name, list, joined(seen), joined(places))
				}
				// A part of two windows of a group is read for each.
				if spare := int64(len(places)) * 80_000; bytes > total+min(spare, total/10) {
					t.Errorf("%s, %s of %v: %d bytes are read, want %d", scheme, name, list, bytes, total)
				}
				if len(list) > 0 && len(got) == 0 {
					t.Fatal("no frames")
				}
			}
		}
	}
}

// TestLongGroups: a group of many megabytes is fetched window by window, at most one of them while
// another is decoded, and its frames are right.
func TestLongGroups(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 250))
	file, v := film{fixture: "gop250.mp4", packets: 240, copies: 1, pad: 120_000}.make(t, random)
	want := frames(t, v, file)
	s := newSet(t, file)
	for _, scheme := range []string{"mem", "far"} {
		r := s.open(t, scheme)
		of := find(t, r, 0)
		last := int64(len(want)) - 1
		w, err := of.plan([]int64{last})
		if err != nil || len(w.groups) != 1 {
			t.Fatalf("%v, %v", w, err)
		}
		windows := of.windows(w.groups[0])
		if len(windows) < 5 {
			t.Fatalf("%d windows of %d bytes", len(windows), len(file))
		}
		for name, read := range ways() {
			s.store.reset(nil, nil)
			got, err := read(t.Context(), r, 0, []int64{last})
			if err != nil || !bytes.Equal(got, want[last]) {
				t.Fatalf("%s, %s: the frame differs, or %v", scheme, name, err)
			}
			if most := int64(windowBytes + 2*200_000); s.store.most > most {
				t.Errorf("%s, %s: %d bytes are asked for at once, want at most %d", scheme, name, s.store.most, most)
			}
		}
		checkOrder(t, s, r, of, windows, last)
	}
}

// checkOrder holds that a window is requested once the one before it has come.
func checkOrder(t *testing.T, s *set, r *Reader, of *stored, windows []media.Group, last int64) {
	t.Helper()
	var begins []int64 // of windows in the chunk
	for _, w := range windows {
		span, err := of.ref.Part(of.runs(w)[0].from, 1)
		if err != nil {
			t.Fatal(err)
		}
		begins = append(begins, span.Offset)
	}
	windowOf := func(p place) int {
		k, found := slices.BinarySearch(begins, p.from)
		if !found {
			k--
		}
		return k
	}
	running := make([]int, len(windows)) // reads of each window
	var faults []string
	s.store.reset(func(_ context.Context, p place) error {
		s.store.mu.Lock()
		defer s.store.mu.Unlock()
		k := windowOf(p)
		running[k]++
		for other, n := range running {
			if n > 0 && other != k {
				faults = append(faults, fmt.Sprintf("window %d is asked for, %d has not come", k, other))
			}
		}
		return nil
	}, func(p place, _ []byte) {
		s.store.mu.Lock()
		defer s.store.mu.Unlock()
		running[windowOf(p)]--
	})
	defer s.store.reset(nil, nil)
	for name, read := range ways() {
		if _, err := read(t.Context(), r, 0, []int64{last}); err != nil || len(faults) > 0 {
			t.Errorf("%s: %v, %v", name, faults, err)
		}
	}
}

// TestMixedPackets: files whose packets lie in any order and apart give the same frames.
func TestMixedPackets(t *testing.T) {
	t.Parallel()
	for i, f := range []film{
		{fixture: "h264.mp4", copies: 3, pad: 30_000, mixed: true},
		{fixture: "h264_open.mp4", copies: 2, pad: 1_000, gap: 300_000},
		{fixture: "gop2.mp4", copies: 3, pad: 70_000, gap: 50_000, mixed: true},
		{fixture: "h264.mp4", packets: 4, copies: 2, pad: windowBytes + 100, gap: 10},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			s, want, random := filmed(t, uint64(i), f)
			for _, scheme := range []string{"mem", "far"} {
				r := s.open(t, scheme)
				for _, list := range lists(random, len(want), 8) {
					check(t, r, 0, list, want)
				}
			}
		})
	}
}

// TestCanceled: a reader whose context ends while bytes are on their way says so, and reads again.
func TestCanceled(t *testing.T) {
	t.Parallel()
	s, want, _ := filmed(t, 1, film{fixture: "gop250.mp4", packets: 120, copies: 2, pad: 60_000})
	for _, scheme := range []string{"mem", "far"} {
		r := s.open(t, scheme)
		find(t, r, 0)
		for name, read := range ways() {
			for waits := range 4 {
				ctx, cancel := context.WithCancel(t.Context())
				s.store.reset(func(ctx context.Context, _ place) error {
					if len(s.store.seen()) <= waits {
						return nil
					}
					cancel()
					<-ctx.Done()
					return errs.Cause(ctx, "read")
				}, nil)
				if _, err := read(ctx, r, 0, upTo(len(want))); !errs.Is(err, errs.Canceled) {
					t.Errorf("%s, %s: %v", scheme, name, err)
				}
				cancel()
				s.store.reset(nil, nil)
				check(t, r, 0, []int64{3, 200}, want)
			}
			done, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := read(done, r, 0, []int64{100}); !errs.Is(err, errs.Canceled) {
				t.Errorf("%s, %s of a context that has ended: %v", scheme, name, err)
			}
		}
	}
}

// TestFetchedAhead: parts that were fetched ahead are not read again, and the others are read once.
func TestFetchedAhead(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(2, 4))
	file, v := film{fixture: "gop250.mp4", packets: 100, copies: 2, pad: 20_000, gap: 9_000}.make(t, random)
	s := newSet(t, file)
	for _, scheme := range []string{"mem", "far"} {
		r := s.open(t, scheme)
		of := find(t, r, 0)
		begin := partPlace(t, of, 0).from
		for range 50 {
			share := random.IntN(5)
			there := map[int]bool{}
			for i := range of.ends {
				there[i] = random.IntN(4) < share
			}
			s.store.reset(nil, nil)
			first := random.IntN(len(v.Packets))
			window := of.windows(media.Group{First: first, Last: min(first+random.IntN(60), len(v.Packets)-1)})[0]
			f, err := of.fetch(t.Context(), window, aheadOf(of, begin, there, file))
			if err != nil {
				t.Fatal(err)
			}
			for i := window.First; i <= window.Last; i++ {
				p := &v.Packets[i]
				if !bytes.Equal(f.packet(p), file[p.Offset:][:p.Bytes]) {
					t.Fatalf("packet %d differs", i)
				}
			}
			for _, p := range s.store.seen() {
				for i := of.partAt(p.from - begin); i < len(of.ends) && of.start(i) < p.to-begin; i++ {
					if there[i] {
						t.Fatalf("%s: part %d was there, and is read", scheme, i)
					}
					there[i] = true
				}
			}
		}
	}
}

// aheadOf has some parts of a file, which begins at a byte of its chunk.
func aheadOf(s *stored, begin int64, there map[int]bool, file []byte) ahead {
	return func(_ context.Context, span chunk.Span, dst []byte) (bool, error) {
		from := span.Offset - begin
		for i := s.partAt(from); i < len(s.ends) && s.start(i) < from+span.Bytes; i++ {
			if !there[i] {
				return false, nil
			}
		}
		copy(dst, file[from:])
		return true, nil
	}
}

// TestRoundTrips: from an open dataset to a frame, four requests follow each other at most. Index
// pages of videos and of their tables are read side by side.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	file, _ := fixture(t, "gop250.mp4")
	synctest.Test(t, func(t *testing.T) {
		s := newSet(t, nil, file)
		r := s.open(t, "far")
		s.store.got = func() { clock.Pass(time.Second) }
		s.store.reset(func(context.Context, place) error {
			clock.Pass(time.Second)
			return nil
		}, nil)
		begin := time.Now()
		info, err := r.Info(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Frames(t.Context(), 1, []int64{3}, make([]byte, info.Width*info.Height*3)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took < 3*time.Second || took > 4*time.Second {
			t.Errorf("a frame takes %v, of a second for each request", took)
		}
		if _, err := r.Info(t.Context(), 0); !errs.Is(err, errs.NotFound) {
			t.Errorf("a row without a video: %v", err)
		}
	})
}
