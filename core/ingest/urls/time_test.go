package urls

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"deeplake/go/tests/clock"
)

// TestRetries: what may pass is repeated, after the pause that the host asks for and within the
// time of the object; the rest is not.
func TestRetries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		answers string // the statuses in turn, with Retry-After; the last one repeats
		reason  string
		asked   int
		least   time.Duration // that it takes
		most    time.Duration
	}{
		{"once", "200", "", 1, 0, 0},
		{"busy", "503 200", "", 2, pause / 2, pause},
		{"too many, for long", "429/7 200", "", 2, 7 * time.Second, 7 * time.Second},
		{"too many, for too long", "429/31 200", "429 Too Many Requests", 1, 0, 0},
		{"too many, in the past", "429/-5 200", "", 2, pause / 2, pause},
		{"too many, no number", "429/soon 200", "", 2, pause / 2, pause},
		{"timeout", "408 200", "", 2, pause / 2, pause},
		{"broken", "break break 200", "", 3, 3 * pause / 2, 3 * pause},
		{"always broken", "break", "the connection broke", 3, 3 * pause / 2, 3 * pause},
		{"half", "half 200", "", 2, pause / 2, pause},
		{"always half", "half", "the connection broke", 3, 3 * pause / 2, 3 * pause},
		{"always busy", "500", "500 Internal Server Error", 3, 3 * pause / 2, 3 * pause},
		{"an unknown status", "599", "599", 3, 3 * pause / 2, 3 * pause},
		{"busy, then missing", "503 404 200", "404 Not Found", 2, pause / 2, pause},
		{"missing", "404 200", "404 Not Found", 1, 0, 0},
		{"forbidden", "403/1 200", "403 Forbidden", 1, 0, 0},
		{"waits beyond the timeout", "503/14 503/14 503/14 200", "503 Service Unavailable", 3, 28 * time.Second, 28 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var count atomic.Int32
			answers := strings.Fields(c.answers)
			handler := func(w http.ResponseWriter, r *http.Request) {
				answer := answers[min(int(count.Add(1)), len(answers))-1]
				if answer == "break" {
					panic(http.ErrAbortHandler)
				}
				if answer == "half" {
					w.Header().Set("Content-Length", "10")
					fmt.Fprint(w, "half")
					w.(http.Flusher).Flush()
					panic(http.ErrAbortHandler)
				}
				code, wait, found := strings.Cut(answer, "/")
				if found {
					w.Header().Set("Retry-After", wait)
				}
				status, _ := strconv.Atoi(code)
				w.WriteHeader(status)
				fmt.Fprint(w, "body")
			}
			inBubble(t, Options{}, handler, func(t *testing.T, f *Fetcher, _ *site) {
				began := time.Now()
				r := fetch(t, f, "http://a.example/")[0]
				took := time.Since(began)
				if r.Reason != c.reason || int(count.Load()) != c.asked {
					t.Errorf("reason %q after %d requests, want %q after %d", r.Reason, count.Load(), c.reason, c.asked)
				}
				if took < c.least || took > c.most {
					t.Errorf("it took %v, want %v to %v", took, c.least, c.most)
				}
				if c.reason == "" && string(r.Data) != "body" {
					t.Errorf("data %q", r.Data)
				}
			})
		})
	}
}

// TestSlowHosts: whatever an answer does, its object ends in time, with the reason.
func TestSlowHosts(t *testing.T) {
	t.Parallel()
	handler := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/silent":
			never(r)
		case "/stops":
			fmt.Fprint(w, "half")
			w.(http.Flusher).Flush()
			never(r)
		case "/drips": // never silent for long
			w.Header().Set("Content-Length", "1000000")
			for after(r, 2*time.Second) == nil {
				fmt.Fprint(w, "x")
				w.(http.Flusher).Flush()
			}
		case "/refuses and drips":
			w.WriteHeader(http.StatusNotFound)
			w.(http.Flusher).Flush()
			for after(r, 2*time.Second) == nil {
				fmt.Fprint(w, "x")
				w.(http.Flusher).Flush()
			}
		case "/slow but whole":
			for range 12 {
				_ = after(r, 2*time.Second)
				fmt.Fprint(w, "x")
				w.(http.Flusher).Flush()
			}
		case "/late":
			_ = after(r, 9*time.Second)
			fmt.Fprint(w, "x")
		}
	}
	for _, c := range []struct {
		url, reason string
		takes       time.Duration
	}{
		{"http://a.example/silent", "no answer within 10s", 10 * time.Second},
		{"http://dead.example/", "no answer within 10s", 10 * time.Second},
		{"http://a.example/stops", "the answer stopped for 10s", 10 * time.Second},
		{"http://a.example/drips", "not complete within 30s", 30 * time.Second},
		{"http://a.example/refuses%20and%20drips", "404 Not Found", 10 * time.Second},
		{"http://a.example/slow%20but%20whole", "", 24 * time.Second},
		{"http://a.example/late", "", 9 * time.Second},
	} {
		t.Run(c.url, func(t *testing.T) {
			t.Parallel()
			inBubble(t, Options{}, handler, func(t *testing.T, f *Fetcher, s *site) {
				s.dead["dead.example"] = true
				began := time.Now()
				r := fetch(t, f, c.url)[0]
				if took := time.Since(began); r.Reason != c.reason || took < c.takes || took > c.takes+2*tick {
					t.Errorf("reason %q after %v, want %q after %v", r.Reason, took, c.reason, c.takes)
				}
			})
		})
	}
}

// TestSilentRequestsStallNoOthers: requests that are never answered, and those that wait for
// another attempt, count as workers for a moment only.
func TestSilentRequestsStallNoOthers(t *testing.T) {
	t.Parallel()
	handler := func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.Host, "silent"):
			never(r)
		case strings.HasPrefix(r.Host, "busy"):
			w.Header().Set("Retry-After", "14")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_ = after(r, 10*time.Millisecond)
		fmt.Fprint(w, "x")
	}
	inBubble(t, Options{Workers: 4}, handler, func(t *testing.T, f *Fetcher, s *site) {
		for _, c := range []struct {
			host, reason string
			most         time.Duration
		}{
			// 4 workers meet 40 silent requests. Each is a worker for lateMost at first, and for
			// less when the usual time is known.
			{"silent", "no answer within 10s", 10*lateMost + time.Second},
			{"silent", "no answer within 10s", 10 * time.Second},
			{"busy", "503 Service Unavailable", 2 * time.Second},
		} {
			var silent, good []string
			for i := range 40 {
				silent = append(silent, fmt.Sprintf("http://%s%d.example/", c.host, i))
			}
			for i := range 200 {
				good = append(good, fmt.Sprintf("http://good%d.example/", i))
			}
			began := time.Now()
			first, second := f.Start(silent), f.Start(good)
			results, err := second.Wait(t.Context())
			if took := time.Since(began); err != nil || took > c.most {
				t.Errorf("%s: the good objects took %v (%v), want at most %v", c.host, took, err, c.most)
			}
			for _, r := range results {
				if r.Reason != "" {
					t.Errorf("a good one: %s", r.Reason)
				}
			}
			results, err = first.Wait(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range results {
				if r.Reason != c.reason {
					t.Errorf("a %s one: %q", c.host, r.Reason)
				}
			}
			first.Release()
			second.Release()
		}
	})
}

// TestLateRequestsReturn: workers that were hired for late requests go when those are done.
func TestLateRequestsReturn(t *testing.T) {
	t.Parallel()
	var active, most atomic.Int32
	handler := func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "x")
		if strings.HasPrefix(r.Host, "slow") {
			_ = after(r, 8*time.Second)
			return
		}
		if n := active.Add(1); n > most.Load() {
			most.Store(n)
		}
		_ = after(r, 10*time.Millisecond)
		active.Add(-1)
	}
	inBubble(t, Options{Workers: 3}, handler, func(t *testing.T, f *Fetcher, s *site) {
		var list []string
		for i := range 40 {
			list = append(list, fmt.Sprintf("http://slow%d.example/", i))
		}
		for i := range 5000 {
			list = append(list, fmt.Sprintf("http://quick%d.example/", i%10))
		}
		for _, r := range fetch(t, f, list...) {
			if r.Reason != "" {
				t.Fatal(r.Reason)
			}
		}
		if n := s.requestsAtOnce(); n <= 3 || most.Load() > 3 {
			t.Errorf("%d requests at once, of them %d quick ones, want more than 3, and 3", n, most.Load())
		}
	})
}

// TestLateRequestsAreBounded: a table of silent hosts does not open connections without end.
func TestLateRequestsAreBounded(t *testing.T) {
	t.Parallel()
	handler := func(w http.ResponseWriter, r *http.Request) { never(r) }
	inBubble(t, Options{Workers: 2, Silence: 5 * time.Minute, Timeout: 5 * time.Minute}, handler, func(t *testing.T, f *Fetcher, s *site) {
		var list []string
		for i := range 100 {
			list = append(list, fmt.Sprintf("http://silent%d.example/", i))
		}
		b := f.Start(list)
		defer b.Release()
		clock.Pass(4 * time.Minute)
		if want := 2 * (1 + mostLate); s.requestsAtOnce() != want {
			t.Errorf("%d requests at once, want %d", s.requestsAtOnce(), want)
		}
	})
}

// TestDeadHost: a host without answers gets no requests for a while, so that a table with thousands
// of its objects ends. When it answers again, its objects come.
func TestDeadHost(t *testing.T) {
	t.Parallel()
	var up atomic.Bool
	handler := func(w http.ResponseWriter, r *http.Request) {
		if !up.Load() && r.Host == "a.example" {
			never(r)
		}
		fmt.Fprint(w, "x")
	}
	inBubble(t, Options{}, handler, func(t *testing.T, f *Fetcher, s *site) {
		s.gone["gone.example"] = true
		began := time.Now()
		results := fetch(t, f, append(names("http://a.example/", 5000), names("http://gone.example/", 5000)...)...)
		if took := time.Since(began); took > f.o.Silence+2*tick {
			t.Errorf("a dead host took %v, want little more than %v", took, f.o.Silence)
		}
		tried := map[string]int{}
		for _, r := range results {
			tried[r.Reason]++
		}
		for _, reason := range []string{"no answer within 10s", "connection refused"} {
			skipped := tried["not tried after 16 failures of the host: "+reason]
			if tried[reason] < mostFailures || tried[reason] > mostFailures+1 || tried[reason]+skipped != 5000 {
				t.Errorf("%s: %v", reason, tried)
			}
		}
		clock.Pass(shutTime)
		before := s.requests("a.example")
		b := f.Start(names("http://a.example/", 100))
		clock.Pass(f.o.Silence + 2*tick)
		if n := s.requests("a.example") - before; n != 1 {
			t.Errorf("%d requests to a host that was shut, want one", n)
		}
		b.Release()
		up.Store(true)
		clock.Pass(shutTime)
		for _, r := range fetch(t, f, names("http://a.example/", 100)...) {
			if string(r.Data) != "x" {
				t.Errorf("the host is up: %q", r.Reason)
			}
		}
	})
}

// TestFailuresInARow: a host that answers now and then is always asked.
func TestFailuresInARow(t *testing.T) {
	t.Parallel()
	handler := func(w http.ResponseWriter, r *http.Request) {
		if n, _ := strconv.Atoi(r.URL.Path[1:]); n%10 != 0 {
			panic(http.ErrAbortHandler)
		}
		http.NotFound(w, r)
	}
	inBubble(t, Options{PerHost: 1, Attempts: 1}, handler, func(t *testing.T, f *Fetcher, s *site) {
		for i, r := range fetch(t, f, names("http://a.example/", 200)...) {
			want := "the connection broke"
			if i%10 == 0 {
				want = "404 Not Found"
			}
			if r.Reason != want {
				t.Fatalf("%d: %q, want %q", i, r.Reason, want)
			}
		}
	})
}
