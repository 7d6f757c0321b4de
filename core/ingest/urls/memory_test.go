package urls

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/go/tests/clock"
)

// TestMemory: bytes of batches that wait never exceed the budget, however large the objects turn
// out. A slow first batch stops the later ones, not itself.
func TestMemory(t *testing.T) {
	t.Parallel()
	const budget = 1 << 20
	for _, c := range []struct {
		name    string
		size    int
		chunked bool
		memory  int64
	}{
		{"small", 10 << 10, false, budget},
		{"middle", 100 << 10, false, budget},
		{"middle, without a length", 100 << 10, true, budget},
		{"large", 900 << 10, false, budget},
		{"large, without a length", 900 << 10, true, budget},
		{"larger than the budget", 3 << 20, false, budget},
		{"larger than the budget, without a length", 3 << 20, true, budget},
		{"no budget", 50 << 10, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var f *Fetcher
			over := func() {
				f.mu.Lock()
				defer f.mu.Unlock()
				used := f.memory.used
				if len(f.queue.batches) > 0 { // without the bytes of the first one
					used -= f.queue.batches[0].held
					for j := range f.pool.active {
						if f.queue.isExempt(j.batch) {
							used -= j.held
						}
					}
				}
				if used > c.memory {
					t.Errorf("%d bytes are used, want %d", used, c.memory)
				}
			}
			handler := func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/0/0") {
					_ = after(r, 5*time.Second)
				}
				if c.chunked {
					w.(http.Flusher).Flush()
				} else {
					w.Header().Set("Content-Length", fmt.Sprint(c.size))
				}
				for left := c.size; left > 0; {
					n, err := w.Write(make([]byte, min(left, 10<<10)))
					if left -= n; err != nil {
						return
					}
					over()
				}
			}
			const batches, each = 12, 8
			inBubble(t, Options{Workers: 8, Memory: c.memory}, handler, func(t *testing.T, fetcher *Fetcher, s *site) {
				f = fetcher
				started, whole := startAll(f, batches, each)
				if most := int(c.memory)/c.size + each; whole > most || whole < each-1 {
					t.Errorf("%d objects are there before the first is taken, want %d to %d", whole, each-1, most)
				}
				for n, b := range started {
					results, err := b.Wait(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					for _, r := range results {
						if len(r.Data) != c.size {
							t.Fatalf("batch %d: %d bytes, reason %q", n, len(r.Data), r.Reason)
						}
					}
					b.Release()
					b.Release()
				}
				if f.memory.used != 0 {
					t.Errorf("%d bytes are used at the end", f.memory.used)
				}
			})
		})
	}
}

// TestHeldBatches: a caller may keep batches while it waits for later ones. Then those exceed the
// budget, and the rest keeps to it.
func TestHeldBatches(t *testing.T) {
	t.Parallel()
	const size = 100 << 10
	handler := func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(make([]byte, size)) }
	inBubble(t, Options{Memory: 300 << 10}, handler, func(t *testing.T, f *Fetcher, s *site) {
		var all []*Batch
		for n := range 40 {
			all = append(all, f.Start(names(fmt.Sprintf("http://a.example/%d/", n), 2)))
		}
		// out of order, too: all before it complete
		for _, n := range []int{0, 1, 2, 12, 5} {
			if _, err := all[n].Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if n := s.requests("a.example"); n < 26 || n > 30 {
			t.Errorf("%d objects were asked for, want the 26 that were waited for and hardly more", n)
		}
		for _, b := range all[:13] {
			b.Release()
		}
		for _, b := range all[13:] {
			if _, err := b.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.Release()
		}
		if f.memory.used != 0 {
			t.Errorf("%d bytes are used at the end", f.memory.used)
		}
	})
}

// TestTimeOfAbandonedAttempts: an object that is given up for want of memory has its whole time
// when there is room.
func TestTimeOfAbandonedAttempts(t *testing.T) {
	t.Parallel()
	asked := 0
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/first" {
			w.Header().Set("Content-Length", strconv.Itoa(90<<10))
			_, _ = w.Write(make([]byte, 90<<10))
			return
		}
		asked++
		for _, kib := range []int{40, 60} {
			_, _ = w.Write(make([]byte, kib<<10))
			w.(http.Flusher).Flush()
			_ = after(r, 6*time.Second)
		}
	}
	inBubble(t, Options{Memory: 250 << 10, Timeout: 15 * time.Second}, handler, func(t *testing.T, f *Fetcher, _ *site) {
		first, second := f.Start([]string{"http://a.example/first"}), f.Start([]string{"http://b.example/second"})
		clock.Pass(10 * time.Second)
		first.Release()
		results, err := second.Wait(t.Context())
		if err != nil || len(results[0].Data) != 100<<10 || asked != 2 {
			t.Errorf("%d bytes after %d requests, reason %q (%v)", len(results[0].Data), asked, results[0].Reason, err)
		}
		second.Release()
	})
}

// TestReservedMemory: what failed gives all of its memory back.
func TestReservedMemory(t *testing.T) {
	t.Parallel()
	handler := func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "http://b.example/x", http.StatusFound)
		case r.URL.Path == "/large":
			_, _ = w.Write(make([]byte, 1<<20))
		case r.URL.Path == "/broken":
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write(make([]byte, 50_000))
			panic(http.ErrAbortHandler)
		default:
			http.NotFound(w, r)
		}
	}
	inBubble(t, Options{MaxBytes: 200_000}, handler, func(t *testing.T, f *Fetcher, _ *site) {
		b := f.Start([]string{"http://a.example/moved", "http://a.example/large", "http://a.example/broken", "http://a.example/", "", "no URL"})
		if _, err := b.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.mu.Lock()
		if f.memory.used != 0 || b.held != 0 {
			t.Errorf("%d bytes are used, %d by the batch", f.memory.used, b.held)
		}
		f.mu.Unlock()
		b.Release()
	})
}

// TestAnnouncedLength: memory grows with the bytes that come, not with those that an answer
// announces.
func TestAnnouncedLength(t *testing.T) {
	f := loopback(t, Options{})
	const size = 64 << 20
	for _, sent := range []int{10, firstBytes + 10} {
		rs := &http.Response{ContentLength: size, Body: io.NopCloser(io.LimitReader(zeros{}, int64(sent)))}
		b := &Batch{f: f}
		f.queue.batches = []*Batch{b}
		before := allocated()
		out := f.receive(t.Context(), &job{batch: b, run: run{heard: true}}, rs)
		if grown := allocated() - before; grown > 8*uint64(firstBytes) || out.reason != "the connection broke" {
			t.Errorf("%d bytes that announced %d: %d bytes of memory, reason %q", sent, size, grown, out.reason)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// allocated is the memory that was allocated since the process began.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// startAll starts batches of objects, and returns how many objects have come after four seconds.
func startAll(f *Fetcher, batches, each int) (started []*Batch, come int) {
	for n := range batches {
		started = append(started, f.Start(names(fmt.Sprintf("http://a.example/%d/", n), each)))
	}
	clock.Pass(4 * time.Second)
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range started {
		come += each - b.left
	}
	return started, come
}
