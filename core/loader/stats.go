package loader

import (
	"fmt"
	"time"

	"deeplake/core/samplecache"
	"deeplake/core/slab"
	"deeplake/core/storage"
)

// Stats are the figures of one epoch so far. Times are in seconds, rates per second of the epoch.
type Stats struct {
	Epoch   int64   `json:"epoch"`
	Seconds float64 `json:"seconds"`
	Batches int64   `json:"batches"` // delivered
	Rows    int64   `json:"rows"`
	Bytes   int64   `json:"bytes"`        // of samples, as delivered
	Stored  int64   `json:"stored_bytes"` // of the same samples, as stored
	RowRate float64 `json:"rows_per_second"`
	// from the start of the epoch until its first batch was handed over
	FirstBatch float64 `json:"first_batch_seconds"`
	Gaps       Gaps    `json:"gaps"`
	Plan       Stage   `json:"plan"`
	Decode     Stage   `json:"decode"` // reading, checking and decoding
	Consumer   Stage   `json:"consumer"`
	Fetch      *Fetch  `json:"fetch,omitempty"` // nil: the rows lie near
	Ready      int     `json:"ready"`           // batches that wait for the consumer
	// the same, on average over the moments when a batch was taken, that one included
	MeanReady float64 `json:"mean_ready"`
	// batches planned and not taken, ready ones included
	InFlight int `json:"in_flight"`
	Prefetch int `json:"prefetch"`
	// of decoded samples, since the loader was opened; nil: none
	Cache *samplecache.Stats `json:"cache,omitempty"`
	Slabs slab.Stats         `json:"slabs"`
	// since the loader was opened; nil: batches stay on the CPU
	Device     *StagerStats `json:"device,omitempty"`
	Skipped    int64        `json:"skipped"` // rows left out
	FirstSkips []SkipNote   `json:"first_skips"`
	// rows delivered with what could be read of a damaged JPEG file
	Accepted      int64      `json:"accepted"`
	FirstAccepted []SkipNote `json:"first_accepted"`
	Bottleneck    string     `json:"bottleneck"`
}

// Stage is the time of the threads of one stage, of all of them together. For the consumer, waiting
// is the time in Next and busy the time between its calls.
type Stage struct {
	Threads int     `json:"threads"`
	Busy    float64 `json:"busy_seconds"`
	Waiting float64 `json:"waiting_seconds"`
	Rate    float64 `json:"rows_per_second"` // that it would reach if it never had to wait
}

// Gaps are the times from one batch handed over to the next, in seconds, the consumer's own work
// included.
type Gaps struct {
	Median  float64 `json:"p50_seconds"`
	P99     float64 `json:"p99_seconds"`
	Longest float64 `json:"longest_seconds"`
}

// Fetch has the figures of requests to remote stores. Waiting is the time that decode threads
// waited for bytes, summed over threads. IndexWaiting is the time that the planner waited for index
// pages.
type Fetch struct {
	Requests     int64   `json:"requests"` // for samples; Store counts requests for index pages
	Bytes        int64   `json:"bytes"`
	BytesUsed    int64   `json:"bytes_used"`   // that a sample needed; the others lay between
	Direct       int64   `json:"direct_reads"` // blocks that were read when they were needed
	Waiting      float64 `json:"waiting_seconds"`
	IndexWaiting float64 `json:"index_waiting_seconds"`
	MeanSeconds  float64 `json:"mean_request_seconds"`
	LongestSec   float64 `json:"longest_request_seconds"`
	InFlight     int64   `json:"in_flight"` // requests on their way now
	// fetched or on their way, and not needed for the last time yet
	Buffered     int64 `json:"held_bytes"`
	PeakBuffered int64 `json:"peak_held_bytes"`
	Limit        int64 `json:"limit_bytes"` // of Buffered
	// of the store since the epoch began, requests of other users included
	Store storage.Stats `json:"store"`
}

// SkipNote is one row that was left out, or accepted with damage.
type SkipNote struct {
	Row    int64  `json:"row"`
	Tensor string `json:"tensor"`
	Error  string `json:"error"`
}

// maxSkipNotes bounds the report; the count goes on.
const maxSkipNotes = 16

// counts are the sums over delivered batches.
type counts struct {
	batches, rows, bytes, stored int64
	skipped, accepted            int64
	skips, accepts               []SkipNote
	firstSkip                    error
	first                        time.Duration // until the first batch was handed over
	// sum, over taken batches, of the batches ready at that time
	ready int64
	gaps  gaps
}

func (c *counts) add(w *work) {
	if w.loaded > 0 {
		c.batches++
	}
	c.rows += w.loaded
	c.bytes += w.bytes
	c.stored += w.storedBytes
	if c.skipped += int64(len(w.skips)); c.firstSkip == nil && len(w.skips) > 0 {
		c.firstSkip = w.skips[0].err
	}
	c.skips = noted(c.skips, w.skips)
	c.accepted += int64(len(w.accepts))
	c.accepts = noted(c.accepts, w.accepts)
}

// noted appends failures to the notes of a report, as far as it goes.
func noted(notes []SkipNote, failures []failure) []SkipNote {
	for _, f := range failures[:min(len(failures), maxSkipNotes-len(notes))] {
		notes = append(notes, SkipNote{Row: f.row, Tensor: f.tensor, Error: f.err.Error()})
	}
	return notes
}

// handed notes that a batch is handed over while ready ones, this one included, lay there.
func (c *counts) handed(ready int, start time.Time) {
	now := time.Now()
	if c.first == 0 {
		c.first = max(now.Sub(start), 1)
	}
	c.ready += int64(ready)
	c.gaps.add(now)
}

// Stats returns the figures of the epoch so far, or of all of it when it has ended.
func (e *Epoch) Stats() Stats {
	e.mu.Lock()
	s := Stats{Epoch: e.pass.Epoch, Batches: e.counts.batches, Rows: e.counts.rows, Bytes: e.counts.bytes, Stored: e.counts.stored,
		Skipped: e.counts.skipped, FirstSkips: append([]SkipNote{}, e.counts.skips...),
		Accepted: e.counts.accepted, FirstAccepted: append([]SkipNote{}, e.counts.accepts...),
		InFlight: len(e.queue), Prefetch: e.loader.options.Prefetch}
	for _, w := range e.queue {
		if w.ready {
			s.Ready++
		}
	}
	wall := e.meters.end
	g := &e.counts.gaps
	s.FirstBatch, s.Gaps = e.counts.first.Seconds(), Gaps{Median: g.quantile(0.5), P99: g.quantile(0.99), Longest: g.longest.Seconds()}
	s.MeanReady = float64(e.counts.ready) / float64(max(s.Batches, 1))
	e.mu.Unlock()
	if wall == 0 {
		wall = time.Since(e.meters.start)
	}
	s.Seconds = wall.Seconds()
	s.RowRate = float64(s.Rows) / max(s.Seconds, 1e-9)
	s.Slabs = e.loader.ring.Stats()
	if stager := e.loader.stager; stager != nil {
		figures := stager.Stats()
		s.Device = &figures
	}
	if cache := e.loader.cache; cache != nil {
		figures := cache.Stats()
		s.Cache = &figures
	}
	s.Plan.add(&e.meters.planner)
	s.Consumer.add(&e.meters.consumer)
	for i := range e.meters.workers {
		s.Decode.add(&e.meters.workers[i])
	}
	for _, stage := range []*Stage{&s.Plan, &s.Decode, &s.Consumer} {
		if stage.Busy > 0 {
			stage.Rate = float64(s.Rows) * float64(stage.Threads) / stage.Busy
		}
	}
	if e.prefetcher != nil {
		s.Fetch = e.fetchStats()
	}
	if s.Bottleneck = s.bottleneck(); e.loader.options.OnDemand {
		s.Bottleneck = fmt.Sprintf("demand: num_workers=0 makes each batch while the consumer waits, which was %.0f %% of the time; None decodes ahead on every core",
			percent(s.Consumer.Waiting, s.Seconds))
	}
	return s
}

func (s *Stage) add(m *meter) {
	busy, waiting := m.read()
	s.Threads++
	s.Busy += busy.Seconds()
	s.Waiting += waiting.Seconds()
}

// bottleneck names, in one sentence, the stage that the others wait for.
func (s *Stats) bottleneck() string {
	waited := percent(s.Consumer.Waiting, s.Seconds)
	busy := percent(s.Decode.Busy, s.Decode.Busy+s.Decode.Waiting)
	plan := percent(s.Plan.Busy, s.Plan.Busy+s.Plan.Waiting)
	net, index := 0.0, 0.0
	if f := s.Fetch; f != nil {
		net, index = percent(f.Waiting, s.Decode.Busy+s.Decode.Waiting), percent(f.IndexWaiting, s.Seconds)
	}
	switch {
	case waited < 5:
		return fmt.Sprintf("consumer: it waited %.0f %% of the time; %d decode threads were busy %.0f %%", waited, s.Decode.Threads, busy)
	case busy >= 80:
		return fmt.Sprintf("decode: %d of %d threads busy %.0f %%; the consumer waited %.0f %% of the time", s.Decode.Threads, s.Decode.Threads, busy, waited)
	case net >= 20:
		return fmt.Sprintf("fetch: decode threads waited %.0f %% of the time for bytes; %d requests of %.1f MB took %.0f ms each, %.0f MB a second together",
			net, s.Fetch.Requests, mega(s.Fetch.Bytes)/float64(max(s.Fetch.Requests, 1)), s.Fetch.MeanSeconds*1e3, mega(s.Fetch.Bytes)/max(s.Seconds, 1e-9))
	case index >= 20:
		return fmt.Sprintf("fetch: reading index pages took %.0f %% of the time; decode threads were busy %.0f %%, the consumer waited %.0f %%", index, busy, waited)
	case plan >= 50:
		return fmt.Sprintf("plan: finding samples took %.0f %% of the time; decode threads were busy %.0f %%, the consumer waited %.0f %%", plan, busy, waited)
	}
	return fmt.Sprintf("prefetch: %d decode threads busy %.0f %%, the consumer waited %.0f %% of the time; a larger prefetch evens them out", s.Decode.Threads, busy, waited)
}

func mega(bytes int64) float64 { return float64(bytes) / 1e6 }

func percent(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return min(100*part/whole, 100)
}
