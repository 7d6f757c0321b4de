package clips

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/loader"
	"deeplake/core/order"
	"deeplake/core/samplecache"
	"deeplake/core/storage/faultstore"
	"deeplake/core/transform"
)

// delivered is a clip of a batch: its video, and its pixels.
type delivered struct {
	row int64
	pix string
}

// open makes a loader of clips.
func open(t testing.TB, src loader.Source, o loader.Options) *loader.Loader {
	t.Helper()
	l, err := loader.Open(t.Context(), src, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// pass runs a pass to its end, or for some batches, and returns the clips and the last position.
func pass(t testing.TB, l *loader.Loader, p order.Pass, batches int) (out []delivered, position int64, s loader.Stats) {
	t.Helper()
	e, err := l.Start(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for range batches {
		b, err := e.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			break
		}
		position = b.Position
		clips := make([]delivered, b.Rows)
		for i := range b.Columns {
			c := &b.Columns[i]
			for k := range clips {
				switch data := b.Data(c); c.Name {
				case "n":
					clips[k].row = int64(binary.LittleEndian.Uint64(data[8*k:]))
				case "x":
					each := int(c.Size) / b.Rows
					clips[k].pix = string(data[k*each:][:each])
				}
			}
		}
		out = append(out, clips...)
		b.Release()
	}
	return out, position, e.Stats()
}

const whole = 1 << 30 // batches

// sorted returns clips in an order of their own.
func sorted(clips []delivered) []delivered {
	out := slices.Clone(clips)
	slices.SortFunc(out, func(a, b delivered) int {
		if a.row != b.row {
			return int(a.row - b.row)
		}
		return strings.Compare(a.pix, b.pix)
	})
	return out
}

// wanted returns the clips of a source, in order, by the reader of videos.
func wanted(t testing.TB, p placed) []delivered {
	t.Helper()
	var out []delivered
	for i, row := range p.rows {
		frames := make([]int64, p.o.Length)
		for k := range frames {
			frames[k] = p.starts[i] + int64(k)*p.o.Stride
		}
		out = append(out, delivered{row, string(pixels(t, p.reader, row, frames))})
	}
	return out
}

// TestEpochs: each clip comes once in an epoch, of whatever order, near and far. Ranks divide the
// clips, and a state goes on where it was made.
func TestEpochs(t *testing.T) {
	t.Parallel()
	s := newSet(t, film(t, 6, 2_000, 1), nil, film(t, 3, 5_000, 2), film(t, 1, 100, 3))
	o := options(func(o *Options) { o.Length, o.Step = 6, 5 })
	want := sorted(wanted(t, s.place(t, "mem", o)))
	if len(want) < 50 {
		t.Fatalf("%d clips", len(want))
	}
	for _, scheme := range []string{"mem", "far"} {
		for _, shuffle := range []string{order.Sequential, order.Window, order.Full} {
			t.Run(scheme+"/"+shuffle, func(t *testing.T) {
				t.Parallel()
				p := s.place(t, scheme, o)
				l := open(t, p, loader.Options{BatchSize: 4, Shuffle: shuffle, Seed: 5, ShuffleBytes: 300_000, Workers: 2})
				for epoch := range int64(2) {
					got, _, _ := pass(t, l, order.Pass{Epoch: epoch}, whole)
					if !slices.Equal(sorted(got), want) {
						t.Fatalf("epoch %d: %d clips, want %d", epoch, len(got), len(want))
					}
					var ranks []delivered
					for rank := range 3 {
						part, _, _ := pass(t, l, order.Pass{Epoch: epoch, Rank: rank, World: 3}, whole)
						ranks = append(ranks, part...)
					}
					if !slices.Equal(sorted(ranks), want) {
						t.Fatalf("epoch %d: the ranks have %d clips, want %d", epoch, len(ranks), len(want))
					}
					first, position, _ := pass(t, l, order.Pass{Epoch: epoch}, 5)
					state, err := l.State(epoch, position)
					if err != nil {
						t.Fatal(err)
					}
					text, err := json.Marshal(state)
					if err != nil {
						t.Fatal(err)
					}
					other := open(t, s.place(t, scheme, o), loader.Options{BatchSize: 3, Shuffle: shuffle, Seed: 5, ShuffleBytes: 300_000})
					at, err := other.Resume(text)
					if err != nil {
						t.Fatal(err)
					}
					rest, _, _ := pass(t, other, at, whole)
					if !slices.Equal(append(first, rest...), got) {
						t.Fatalf("epoch %d: a state behind %d clips goes on with others", epoch, len(first))
					}
				}
			})
		}
	}
}

// TestStateOfOtherClips: a state is not for clips of other options.
func TestStateOfOtherClips(t *testing.T) {
	t.Parallel()
	s := newSet(t, film(t, 3, 100, 1))
	l := open(t, s.place(t, "mem", options(nil)), loader.Options{BatchSize: 2})
	state, err := l.State(0, 2)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(o *Options){"stride": func(o *Options) { o.Stride = 2 }, "step": func(o *Options) { o.Step = 7 }, "fps": func(o *Options) { o.FPS = 25 }} {
		other := open(t, s.place(t, "mem", options(change)), loader.Options{BatchSize: 2})
		if _, err := other.Resume(text); err == nil {
			t.Errorf("%s: a state of other clips is taken", name)
		}
	}
}

// spanBytes is the bytes of the spans of all clips, each byte once.
func spanBytes(t testing.TB, p placed) int64 {
	t.Helper()
	col, err := p.Column("x")
	if err != nil {
		t.Fatal(err)
	}
	var all []chunk.Span
	for i := range p.Len() {
		all = refsOf(t, col, i)[0].Spans(all)
	}
	slices.SortFunc(all, func(a, b chunk.Span) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Offset, b.Offset))
	})
	total, object, end := int64(0), "", int64(0)
	for _, s := range all {
		if s.Object != object {
			object, end = s.Object, 0
		}
		from, to := max(s.Offset, end), s.Offset+s.Bytes
		total, end = total+max(0, to-from), max(to, end)
	}
	return total
}

// TestRemoteEpochFetchesAhead: the prefetcher fetches the groups of clips, and nothing is read when
// it is needed. In orders near that of the files, clips that share a group do not fetch it again.
func TestRemoteEpochFetchesAhead(t *testing.T) {
	t.Parallel()
	const groups, pad = 15, 9_000
	s := newSet(t, film(t, groups, pad, 1), film(t, groups, pad, 2))
	for _, shuffle := range []string{order.Sequential, order.Window, order.Full} {
		for name, c := range map[string]struct {
			o    Options
			most float64 // bytes that are read, for each that is needed
		}{
			// gaps are read, too
			"one a group":   {options(func(o *Options) { o.Length, o.Step = 8, gop }), 2.2},
			"three a group": {options(func(o *Options) { o.Length, o.Step = 10, 10 }), 1.2},
			"across groups": {options(func(o *Options) { o.Length, o.Step = 20, 15 }), 1.2},
		} {
			t.Run(shuffle+"/"+name, func(t *testing.T) {
				p := s.place(t, "far", c.o)
				want, needed := sorted(wanted(t, p)), spanBytes(t, p)
				store := s.store
				l := open(t, p, loader.Options{BatchSize: 4, Shuffle: shuffle, Seed: 1, Workers: 2})
				if _, err := p.StoredBytes(t.Context()); err != nil {
					t.Fatal(err)
				}
				before := len(store.Calls())
				got, _, stats := pass(t, l, order.Pass{}, whole)
				if !slices.Equal(sorted(got), want) {
					t.Fatalf("%d clips, want %d", len(got), len(want))
				}
				requests, direct, bytes := 0, 0, int64(0)
				for _, call := range store.Calls()[before:] {
					if !strings.HasPrefix(call.Key, "data/") {
						continue
					}
					requests++
					bytes += int64(call.Bytes)
					if call.Op == faultstore.ReadAt {
						direct++
					}
				}
				if stats.Fetch == nil || stats.Fetch.Direct > 0 || direct > 0 {
					t.Fatalf("%d reads when bytes were needed, of %d requests", direct, requests)
				}
				t.Logf("%d clips: %d requests, %d bytes for %d; %d held", len(got), requests, bytes, needed, stats.Fetch.PeakBuffered)
				if shuffle == order.Full {
					return // what lies between is read again, more often where the link is slow
				}
				if float64(bytes) > float64(needed)*c.most {
					t.Errorf("%d bytes are read, the groups have %d", bytes, needed)
				}
				if requests > len(got) {
					t.Errorf("%d requests for %d clips", requests, len(got))
				}
			})
		}
	}
}

// TestSampleCacheKeepsNoClips: clips of one video are not taken for each other.
func TestSampleCacheKeepsNoClips(t *testing.T) {
	t.Parallel()
	s := newSet(t, film(t, 4, 100, 1), film(t, 2, 100, 2))
	for _, o := range []Options{options(func(o *Options) { o.Step = 3 }), options(func(o *Options) { o.Length, o.Frames, o.Stride = 1, true, 1 })} {
		p := s.place(t, "mem", o)
		want := wanted(t, p)
		l := open(t, p, loader.Options{BatchSize: 5, Cache: samplecache.Options{Bytes: 64 << 20}})
		for epoch := range int64(3) {
			got, _, _ := pass(t, l, order.Pass{Epoch: epoch}, whole)
			if !slices.Equal(got, want) {
				t.Fatalf("epoch %d has other clips", epoch)
			}
		}
	}
}

// TestFramesOfAClipAreTransformedAlike: all frames of a clip have the same draws, clips have their
// own, and epochs, too.
func TestFramesOfAClipAreTransformedAlike(t *testing.T) {
	t.Parallel()
	s := newSet(t, film(t, 4, 100, 1))
	const side = 16
	var spec transform.Spec
	if err := json.Unmarshal(fmt.Appendf(nil, `[{"op":"RandomCrop","size":[%d,%d]},{"op":"HorizontalFlip"}]`, side, side), &spec); err != nil {
		t.Fatal(err)
	}
	o := options(func(o *Options) { o.Length, o.Step = 6, 6 })
	for _, scheme := range []string{"mem", "far"} {
		p := s.place(t, scheme, o)
		want := wanted(t, p)
		info, err := p.reader.Info(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		l := open(t, p, loader.Options{BatchSize: 4, Seed: 9, Transform: map[string]transform.Spec{"x": spec}})
		ways := map[string]bool{}
		var before []delivered
		for epoch := range int64(2) {
			got, _, _ := pass(t, l, order.Pass{Epoch: epoch}, whole)
			for i := range got {
				way := cropOf(want[i].pix, got[i].pix, info.Width, info.Height, side)
				if way == "" {
					t.Fatalf("%s: the frames of clip %d are no crop of the same place", scheme, i)
				}
				ways[way] = true
			}
			if slices.Equal(got, before) {
				t.Errorf("%s: the draws of two epochs are the same", scheme)
			}
			before = got
		}
		if len(ways) < 10 {
			t.Errorf("%s: the clips are cut in %d ways", scheme, len(ways))
		}
	}
}

// cropOf returns the offset and the flip of the crop that makes each frame of cut from that of
// clip; "": no single one does.
func cropOf(clip, cut string, width, height, side int) string {
	each, small := 3*width*height, 3*side*side
	for y := range height - side + 1 {
		for x := range width - side + 1 {
			for _, flip := range []bool{false, true} {
				fits := true
				for f := 0; fits && f*each < len(clip); f++ {
					fits = isCrop(clip[f*each:], cut[f*small:], 3*width, x, y, side, flip)
				}
				if fits {
					return fmt.Sprint(x, y, flip)
				}
			}
		}
	}
	return ""
}

func isCrop(frame, cut string, stride, x, y, side int, flip bool) bool {
	row := make([]byte, 3*side)
	for k := range side {
		copy(row, frame[(y+k)*stride+3*x:])
		for i := 0; flip && i < side/2; i++ {
			for c := range 3 {
				a, b := 3*i+c, 3*(side-1-i)+c
				row[a], row[b] = row[b], row[a]
			}
		}
		if !bytes.Equal(row, []byte(cut[3*k*side:][:3*side])) {
			return false
		}
	}
	return true
}

// TestRandomClipsOfEpochs: each epoch draws new clips, Count of each video, all within it. Every
// reader of an epoch gets the same clips, near and far.
func TestRandomClipsOfEpochs(t *testing.T) {
	t.Parallel()
	s := newSet(t, film(t, 3, 100, 1), nil, film(t, 2, 2_000, 2), film(t, 1, 100, 3))
	o := options(func(o *Options) { o.Windows, o.Count, o.Length, o.Stride, o.Seed = Random, 7, 4, 3, 11 })
	of := map[int64][]delivered{}
	for _, scheme := range []string{"mem", "far"} {
		p := s.place(t, scheme, o)
		if p.Len() != 21 {
			t.Fatalf("%d clips, want 7 of 3 videos", p.Len())
		}
		possible := map[delivered]bool{}
		for _, row := range []int64{0, 2, 3} {
			info, err := p.reader.Info(t.Context(), row)
			if err != nil {
				t.Fatal(err)
			}
			for at := range int64(info.Frames) - 9 {
				possible[delivered{row, string(pixels(t, p.reader, row, []int64{at, at + 3, at + 6, at + 9}))}] = true
			}
		}
		l := open(t, p, loader.Options{BatchSize: 4, Seed: 3, Shuffle: order.Full})
		for epoch := range int64(4) {
			got, _, _ := pass(t, l, order.Pass{Epoch: epoch}, whole)
			counts := map[int64]int{}
			for _, c := range got {
				if counts[c.row]++; !possible[c] {
					t.Fatalf("%s: a clip of row %d of epoch %d is none", scheme, c.row, epoch)
				}
			}
			if len(counts) != 3 || counts[0] != 7 || counts[2] != 7 || counts[3] != 7 {
				t.Errorf("%s: epoch %d has clips %v", scheme, epoch, counts)
			}
			got = sorted(got)
			if want, ok := of[epoch]; ok && !slices.Equal(got, want) {
				t.Errorf("%s: epoch %d has other clips than elsewhere", scheme, epoch)
			}
			for other, clips := range of {
				if other != epoch && slices.Equal(clips, got) {
					t.Errorf("%s: epochs %d and %d have the same clips", scheme, other, epoch)
				}
			}
			of[epoch] = got
		}
		if !slices.Equal(of[0], sorted(wanted(t, p))) {
			t.Errorf("%s: the first epoch has not the clips that were placed", scheme)
		}
	}
}

// TestEpochOverDamagedNetwork: bytes that come damaged once are requested again, those that stay
// damaged are an error of their row.
func TestEpochOverDamagedNetwork(t *testing.T) {
	t.Parallel()
	s := newSet(t, film(t, 8, 6_000, 1))
	o := options(func(o *Options) { o.Length, o.Step = 10, 10 })
	want := wanted(t, s.place(t, "mem", o))
	p := s.place(t, "far", o)
	const bit = 8 * 700_000
	data := faultstore.Fault{Ops: []faultstore.Op{faultstore.Range, faultstore.ReadAt}, Prefix: "data/", Times: 1, Do: faultstore.FlipBit(bit)}
	reads := func(skip int) int {
		l := open(t, p, loader.Options{BatchSize: 3})
		defer l.Close()
		data.Skip, data.Times = skip, 1
		s.store.SetPlan(faultstore.Plan{data})
		before := len(s.store.Calls())
		if got, _, _ := pass(t, l, order.Pass{}, whole); !slices.Equal(got, want) {
			t.Errorf("skip %d: other clips", skip)
		}
		return len(s.store.Calls()) - before
	}
	reads(faultstore.Always)          // the pages of the dataset, which are kept
	plain := reads(faultstore.Always) // that many calls come first: none is hit
	// Requests run side by side, so the damaged byte is in one or the other.
	again, tries := 0, 0
	for ; tries < plain || again == 0 && tries < 20*plain; tries++ {
		if reads(tries%plain) > plain {
			again++
		}
	}
	if again == 0 {
		t.Errorf("no request is made again in %d passes with damage to one of %d", tries, plain)
	}
	data.Skip, data.Times = 0, faultstore.Always
	s.store.SetPlan(faultstore.Plan{data})
	l := open(t, p, loader.Options{BatchSize: 1, OnError: loader.Skip})
	got, _, stats := pass(t, l, order.Pass{}, whole)
	if stats.Skipped < 1 || stats.Skipped > 4 || int(stats.Skipped)+len(got) != len(want) {
		t.Errorf("%d clips are skipped, %d are delivered, of %d: %+v", stats.Skipped, len(got), len(want), stats.FirstSkips)
	}
	for _, note := range stats.FirstSkips {
		if note.Row != 0 || !strings.Contains(fmt.Sprint(note), "checksum") {
			t.Errorf("skipped: %+v", note)
		}
	}
}

// TestBatchesDecodeGroupsOnce: a batch reads, and so decodes, a group of packets once for all of
// its clips, with transforms and without, also where clips are single frames.
func TestBatchesDecodeGroupsOnce(t *testing.T) {
	t.Parallel()
	const pad = 20_000
	s := newSet(t, film(t, 4, pad, 7), film(t, 2, pad, 8))
	const size = 6 * gop * pad // of both files, and little more
	for name, change := range map[string]func(o *Options){
		"clips":  func(o *Options) { o.Length, o.Step = 6, 2 },
		"frames": func(o *Options) { o.Length, o.Step, o.Frames = 1, 1, true },
	} {
		for _, steps := range []string{"[]", `[{"op":"HorizontalFlip","p":0}]`} {
			var spec transform.Spec
			if err := json.Unmarshal([]byte(steps), &spec); err != nil {
				t.Fatal(err)
			}
			p := s.place(t, "near", options(change))
			o := loader.Options{BatchSize: int(p.Len()), Shuffle: order.Full, Seed: 5, Workers: 2}
			if len(spec) > 0 {
				o.Transform = map[string]transform.Spec{"x": spec}
			}
			want := sorted(wanted(t, p))
			l := open(t, p, o)
			before := len(s.near.Calls())
			got, _, _ := pass(t, l, order.Pass{}, whole)
			if !slices.Equal(sorted(got), want) {
				t.Errorf("%s, transforms %s: other clips", name, steps)
			}
			read := 0
			for _, call := range s.near.Calls()[before:] {
				if strings.HasPrefix(call.Key, "data/") {
					read += call.Bytes
				}
			}
			if read < size || read > size*11/10 {
				t.Errorf("%s, transforms %s: %d bytes are read for one batch, the files have %d", name, steps, read, size)
			}
		}
	}
}
