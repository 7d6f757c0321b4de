package loader

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/chunk"
	"deeplake/core/internal/task"
	"deeplake/core/order"
	"deeplake/core/prefetch"
	"deeplake/core/read"
	"deeplake/go/tests/clock"
)

// network is a line to a store, of which nothing but its times is there.
type network struct {
	first time.Duration // to the first byte
	each  float64       // bytes a second of one request
	all   float64       // of all together
}

// filesOf is a set of files of equal size in chunks of 8 MB.
type filesOf struct {
	rows, bytes int64
	decode      float64 // bytes a second of one decode thread
	chunks      bool    // the order knows the chunks
}

// order returns the shuffled order of an epoch.
func (f filesOf) order(t *testing.T) *order.EpochOrder {
	if !f.chunks {
		return newOrder(t, order.Window, f.rows, 0, f.bytes, DefaultShuffleBytes)
	}
	blocks := []int64{}
	for row := int64(0); row < f.rows; row += plannedChunk / f.bytes {
		blocks = append(blocks, row)
	}
	o, err := order.New(order.Options{Shuffle: order.Window, ShuffleBytes: DefaultShuffleBytes, Blocks: append(blocks, f.rows)}, f.rows, f.bytes)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// planned is the only column of a filesOf. Its blocks are single rows.
type planned struct{ filesOf }

const plannedChunk = 8 << 20

func (p planned) access() read.Access {
	return read.Access{Prefetch: p.prefetch, StoredBytes: p.rows * p.bytes}
}

func (p planned) location(row int64) (object string, off int64) {
	each := plannedChunk / p.bytes
	return fmt.Sprint(row / each), row % each * p.bytes
}

func (p planned) prefetch(_ context.Context, runs [][2]int64) (spans []chunk.Span, _ error) {
	for _, r := range runs {
		for row := r[0]; row < r[1]; row++ {
			object, off := p.location(row)
			if n := len(spans) - 1; n >= 0 && spans[n].Object == object && spans[n].Offset+spans[n].Bytes == off && spans[n].Bytes+p.bytes <= 4<<20 {
				spans[n].Bytes += p.bytes
				continue
			}
			spans = append(spans, chunk.Span{Object: object, Offset: off, Bytes: p.bytes})
		}
	}
	return spans, nil
}

// journey has the figures of an epoch.
type journey struct {
	first, total time.Duration
	ideal        time.Duration // of the slower one: decoding alone, or the line alone
	requests     int64
	bytes        float64       // fetched as a part of those stored
	used         float64       // as a part of the line's capacity until the last byte came
	waited       time.Duration // by a decode thread, after the first batch
	held         int64         // bytes at most
}

// travel runs an epoch of shuffled batches of 256 on two decode threads. It takes no time: the
// clock is synctest's.
func travel(t *testing.T, n network, f filesOf) (j journey) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		const batch, threads = 256, 2
		began := time.Now()
		g := task.New(t.Context(), 0)
		memory := prefetch.NewBufferPool(math.MaxInt64)
		defer memory.Close()
		o := f.order(t)
		all := newPipe(n.all)
		var mu sync.Mutex
		var last time.Duration
		fetch := func(s chunk.Span, ctx context.Context, _ []byte, landed func(n int64)) error {
			clock.Pass(n.first)
			landed(0)
			own := newPipe(n.each)
			for left := s.Bytes; left > 0; left -= quantum {
				step := min(left, quantum)
				clock.Pass(max(own.take(step), all.take(step)))
				landed(step)
			}
			mu.Lock()
			last = time.Since(began)
			mu.Unlock()
			return nil
		}
		h := prefetch.New(g, memory, prefetch.Options{Limit: DefaultShuffleBytes * 5 / 2, Batch: batch, Fetch: fetch, SkipPrefault: true})
		r := newPrefetchSchedule(o.Share(order.Pass{World: 1}, batch, order.TailExact), []read.Access{planned{f}.access()}, batch, h.Limit(), DefaultShuffleBytes)
		g.Go(func(ctx context.Context) error { return planWindows(ctx, h, r) })
		d := &decoding{files: f, prefetcher: h, cursor: o.Cursor(0), batch: batch, carryOver: map[int64]int64{}}
		threadsOf := task.New(t.Context(), 0)
		for range threads {
			threadsOf.Go(func(ctx context.Context) error { return d.run(ctx, &j, began) })
		}
		if err := threadsOf.Wait(); err != nil {
			t.Error(err)
		}
		j.total = time.Since(began)
		c := h.Figures()
		j.requests, j.bytes = c.Requests, float64(c.Bytes)/float64(f.rows*f.bytes)
		j.held = c.PeakBuffered
		j.used = float64(c.Bytes) / n.all / last.Seconds()
		j.waited = (c.Waited - d.firstWaited) / threads
		j.ideal = time.Duration(max(float64(f.rows*f.bytes)/n.all, float64(f.rows*f.bytes)/f.decode/threads) * 1e9)
		h.Stop()
		_ = g.Wait()
		h.Close()
	})
	return j
}

// decoding is the threads' shared work: runs of eight rows, batch after batch.
type decoding struct {
	files      filesOf
	prefetcher *prefetch.Prefetcher
	batch      int64

	mu          sync.Mutex
	cursor      *order.Cursor
	rows        []int64 // of the batch under way, in order
	seq, next   int64
	carryOver   map[int64]int64 // rows of a batch that are not done
	firstWaited time.Duration
}

// take gives the next rows, nil at the end.
func (d *decoding) take(m *meter) (seq int64, rows []int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.next == int64(len(d.rows)) {
		from := d.seq * d.batch
		n := min(d.batch, d.files.rows-from)
		if n <= 0 {
			return 0, nil
		}
		d.prefetcher.Await(from+n, m)
		d.rows, d.next = make([]int64, n), 0
		d.cursor.Fill(d.rows, from)
		d.carryOver[d.seq] = n
		d.seq++
	}
	rows = d.rows[d.next:min(d.next+8, int64(len(d.rows)))]
	d.next += int64(len(rows))
	return d.seq - 1, rows
}

func (d *decoding) run(ctx context.Context, j *journey, began time.Time) error {
	m := &meter{zero: began}
	for {
		seq, rows := d.take(m)
		if rows == nil {
			return nil
		}
		for _, row := range rows {
			object, off := planned{d.files}.location(row)
			if data, err := d.prefetcher.ReadAhead(m).Bytes(ctx, object, off, d.files.bytes); err != nil || data == nil {
				return fmt.Errorf("row %d was not fetched ahead: %w", row, err)
			}
		}
		clock.Pass(time.Duration(float64(int64(len(rows))*d.files.bytes) / d.files.decode * 1e9))
		d.mu.Lock()
		d.carryOver[seq] -= int64(len(rows))
		over := d.carryOver[seq] == 0
		d.mu.Unlock()
		if !over {
			continue
		}
		d.prefetcher.Done(seq)
		if seq == 0 {
			j.first = time.Since(began)
			d.firstWaited = d.prefetcher.Figures().Waited
		}
	}
}

// An epoch reaches the limit of its line: the rate of decoding on a wide line, the line's bytes on
// a narrow one. Few requests are sent where they are expensive. A narrow line is idle at the end:
// the last window, two thirds of the noise here, is decoded when all of it has arrived. Bytes cost
// no processor time here, unlike real ones. Therefore holding bytes back before the first batch is
// decoded shows as a loss of one percent. See docs/design/prefetch.md.
func TestLines(t *testing.T) {
	t.Parallel()
	noise := filesOf{rows: 20_000, bytes: 39_500, decode: 80e6}
	photos := filesOf{rows: 20_000, bytes: 11_000, decode: 48e6}
	const ms = time.Millisecond
	wide, own := math.Inf(1), math.Inf(1)
	for _, c := range []struct {
		name  string
		line  network
		files filesOf

		first    time.Duration // at most
		part     float64       // of the ideal rate, at least
		used     float64       // of the line, at least
		requests int64         // at most
	}{
		{"noise, far", network{25 * ms, 90e6, wide}, noise, 110 * ms, 0.97, 0, 118},
		{"photos, far", network{25 * ms, 90e6, wide}, photos, 80 * ms, 0.93, 0, 33},
		{"noise, far, 1 GB/s", network{25 * ms, 90e6, 1e9}, noise, 110 * ms, 0.92, 0, 118},
		{"photos, far, 1 GB/s", network{25 * ms, 90e6, 1e9}, photos, 80 * ms, 0.90, 0, 33},
		{"noise, 10 Gb/s", network{50 * ms, own, 1.25e9}, noise, 135 * ms, 0.92, 0, 118},
		{"photos, 10 Gb/s", network{50 * ms, own, 1.25e9}, photos, 100 * ms, 0.92, 0, 33},
		{"noise, 1 Gb/s", network{2 * ms, own, 125e6}, noise, 220 * ms, 0.63, 0.97, 800},
		{"photos, 1 Gb/s", network{2 * ms, own, 125e6}, photos, 80 * ms, 0.66, 0.97, 250},
		{"noise, 100 Mb/s", network{20 * ms, own, 12.5e6}, noise, 1500 * ms, 0.92, 0.97, 800},
		{"photos, 100 Mb/s", network{20 * ms, own, 12.5e6}, photos, 450 * ms, 0.92, 0.97, 250},
		{"noise, very far, 1 Gb/s", network{200 * ms, 10e6, 125e6}, noise, 400 * ms, 0.57, 0.9, 118},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := travel(t, c.line, c.files)
			part := j.ideal.Seconds() / j.total.Seconds()
			t.Logf("first batch %v, epoch %.2f s = %.3f of the ideal rate, %d requests, %.3f of the bytes, %.3f of the line until the last byte, waited %.2f s",
				j.first.Round(ms), j.total.Seconds(), part, j.requests, j.bytes, j.used, j.waited.Seconds())
			if j.first > c.first || part < c.part || j.used < c.used || j.requests > c.requests {
				t.Errorf("want the first batch after %v, %.2f of the ideal rate, %.2f of the line and %d requests", c.first, c.part, c.used, c.requests)
			}
		})
	}
}

// Of a set that is larger than fetch_bytes, a chunk of 8 MB is one request, unless the line is
// narrow. The first windows take some more.
func TestLinesOfLargerSets(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	wide, own := math.Inf(1), math.Inf(1)
	for _, c := range []struct {
		name  string
		line  network
		files filesOf

		first    time.Duration // at most
		part     float64       // of the ideal rate, at least
		requests float64       // of those of 8 MB, at most
	}{
		{"far", network{25 * ms, 90e6, wide}, filesOf{rows: 60_000, bytes: 110_000, decode: 80e6}, 240 * ms, 0.98, 1.1},
		{"far, small rows", network{25 * ms, 90e6, wide}, filesOf{rows: 200_000, bytes: 11_000, decode: 48e6}, 80 * ms, 0.98, 1.1},
		{"10 Gb/s", network{50 * ms, own, 1.25e9}, filesOf{rows: 60_000, bytes: 110_000, decode: 80e6}, 280 * ms, 0.98, 1.1},
		{"1 Gb/s", network{2 * ms, own, 125e6}, filesOf{rows: 30_000, bytes: 110_000, decode: 80e6}, 520 * ms, 0.84, 4.6},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, chunks := range []bool{false, true} {
				if testing.Short() && !chunks {
					continue
				}
				c.files.chunks = chunks
				j := travel(t, c.line, c.files)
				part := j.ideal.Seconds() / j.total.Seconds()
				requests := float64(j.requests) / (float64(c.files.rows*c.files.bytes) / 8e6)
				t.Logf("chunks known %v: first batch %v, %.3f of the ideal rate, %.2f of the requests of 8 MB, %.3f of the bytes, %.3f of the line, waited %.2f s, %d MiB held",
					chunks, j.first.Round(ms), part, requests, j.bytes, j.used, j.waited.Seconds(), j.held>>20)
				if chunks && (j.first > c.first || part < c.part || requests > c.requests || j.bytes > 1.01 || j.held > DefaultShuffleBytes*5/2+prefetch.MaxRequest) {
					t.Errorf("want the first batch after %v, %.2f of the ideal rate and %.2f of the requests", c.first, c.part, c.requests)
				}
			}
		})
	}
}

// Labels of a large set are planned once, behind the first batch, and not for each window.
func TestSmallColumnsArePlannedOnce(t *testing.T) {
	t.Parallel()
	const batch, limit, block = 256, DefaultShuffleBytes * 5 / 2, 16 << 10
	f := filesOf{rows: 60_000, bytes: 110_000, chunks: true}
	labels := read.Access{StoredBytes: 8 * f.rows, Prefetch: func(_ context.Context, runs [][2]int64) (spans []chunk.Span, _ error) {
		for _, r := range runs {
			from, to := r[0]*8/block*block, (r[1]*8+block-1)/block*block
			spans = append(spans, chunk.Span{Object: "labels", Offset: from, Bytes: to - from})
		}
		return spans, nil
	}}
	for _, world := range []int{1, 4} {
		r := newPrefetchSchedule(f.order(t).Share(order.Pass{World: world}, batch, order.TailExact), []read.Access{planned{f}.access(), labels}, batch, limit, DefaultShuffleBytes)
		r.separateSmall()
		whole := 0
		for r.at < r.end {
			before := r.at
			_, windows := r.next(t.Context())
			for _, w := range windows {
				bytes := int64(0)
				for _, list := range w.Spans {
					for _, s := range list {
						if s.Object == "labels" {
							bytes += s.Bytes
						}
					}
				}
				switch {
				case w.Until == r.end && bytes >= 8*f.rows:
					whole++
				case bytes > 0 && before >= batch:
					t.Errorf("%d ranks: %d bytes of labels are planned for positions %d to %d", world, bytes, before, w.Until)
				}
			}
		}
		if whole != 1 {
			t.Errorf("%d ranks: all labels are planned %d times, want once", world, whole)
		}
	}
}
