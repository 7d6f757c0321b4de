package clips

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/loader"
	"deeplake/core/media"
	"deeplake/core/video"
)

// timed makes a file whose frames are shown at ticks; they cannot be decoded.
func timed(t testing.TB, ticks int64, times []int64, end int64) []byte {
	t.Helper()
	v := &media.Video{Codec: "vp9", Width: 16, Height: 16, Ticks: ticks, End: end}
	for i, time := range times {
		v.Packets = append(v.Packets, media.Packet{Offset: int64(i), Bytes: 1, Time: time, Key: true})
	}
	head, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return append(append(fmt.Appendf(nil, "REEL%012d", len(head)), head...), make([]byte, len(times))...)
}

// TestTimesWithinVideos: whatever the rate, each position of a clip is a time at which a frame is
// shown. The first file has 1199 frames at 24 a second: at a rate of 23.98 the last position lies
// shortly before its end.
func TestTimesWithinVideos(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(24, 1))
	rates := []float64{23.98, 29.98, 23.976, 24000. / 1001, 29.97, 30000. / 1001, 59.94, 24, 25, 30, 0.3, 1. / 3}
	steady := make([]int64, 1199)
	for i := range steady {
		steady[i] = int64(i)
	}
	files := [][]byte{timed(t, 24, steady, 1199), timed(t, 30, steady, 1499)}
	for range 60 {
		ticks := []int64{24, 25, 30, 60, 600, 1000, 12_800, 90_000}[r.IntN(8)]
		at := r.Int64N(3*ticks) - ticks
		var times []int64
		for range 1 + r.IntN(200) {
			times = append(times, at)
			at += 1 + r.Int64N(ticks/10+1)
		}
		if at > 0 {
			files = append(files, timed(t, ticks, times, at))
		}
	}
	s := newSet(t, files...)
	for _, fps := range rates {
		p := s.place(t, "mem", options(func(o *Options) { o.Length, o.FPS, o.Short = 2, fps, Repeat }))
		col := column{of: p.Source}
		seen := map[int64]bool{}
		for i := range p.rows {
			refsOf(t, &col, int64(i))
			seen[p.rows[i]] = true
		}
		if len(seen) != len(files) {
			t.Errorf("at %v a second %d of %d videos have clips", fps, len(seen), len(files))
		}
	}
}

// TestKeptTables: the tables of the first rows are kept, up to a number of bytes, and others are
// read where they are needed.
func TestKeptTables(t *testing.T) {
	t.Parallel()
	var files [][]byte
	for i := range 40 {
		files = append(files, timed(t, 24, []int64{0, 1, 2, 3}[:1+i%4], 8), nil)
	}
	s := newSet(t, files...)
	for _, most := range []int64{0, 100, 400, 1 << 20} {
		v := s.view(t, "mem")
		src := &counted{Source: loader.SourceOf(v)}
		r, err := video.Open(src, "x", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if err := keepTables(t.Context(), src, r, most); err != nil {
			t.Fatal(err)
		}
		before := src.workers
		for row := range int64(len(files)) {
			if _, err := r.Info(t.Context(), row); (err == nil) != (files[row] != nil) {
				t.Errorf("row %d: %v", row, err)
			}
		}
		if kept := most == 1<<20; kept != (src.workers == before) {
			t.Errorf("of at most %d bytes of tables: %d readers of others", most, src.workers-before)
		}
	}
}

// counted counts the workers that it makes.
type counted struct {
	loader.Source
	workers int
}

func (c *counted) NewWorker() *chunk.Worker {
	c.workers++
	return c.Source.NewWorker()
}
