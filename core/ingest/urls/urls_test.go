package urls

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/go/tests/clock"
)

// TestOrder: results come in the order of the URLs, whatever the order of the answers.
func TestOrder(t *testing.T) {
	t.Parallel()
	handler := func(w http.ResponseWriter, r *http.Request) {
		if after(r, rand.N(3*time.Second)) == nil {
			fmt.Fprint(w, r.Host+r.URL.Path)
		}
	}
	inBubble(t, Options{Workers: 20, PerHost: 3}, handler, func(t *testing.T, f *Fetcher, _ *site) {
		var batches []*Batch
		var all [][]string
		for n := range 12 {
			var list []string
			for i := range n * 20 {
				list = append(list, fmt.Sprintf("http://host%d.example/%d/%d", rand.N(9), n, i))
			}
			if n > 2 {
				list[1] = ""
			}
			all = append(all, list)
			batches = append(batches, f.Start(list))
		}
		for n, b := range batches {
			results, err := b.Wait(t.Context())
			if err != nil || len(results) != len(all[n]) {
				t.Fatalf("batch %d: %d results, %v", n, len(results), err)
			}
			for i, r := range results {
				if want := strings.TrimPrefix(all[n][i], "http://"); string(r.Data) != want || r.Reason != "" {
					t.Fatalf("batch %d: %q and reason %q, want %q", n, r.Data, r.Reason, want)
				}
			}
			b.Release()
		}
	})
}

// TestBodies: bodies of all sizes arrive whole, with and without a length.
func TestBodies(t *testing.T) {
	t.Parallel()
	body := func(n int) []byte {
		out := make([]byte, n)
		for i := range out {
			out[i] = byte(i*i>>7 ^ i)
		}
		return out
	}
	handler := func(w http.ResponseWriter, r *http.Request) {
		var n int
		var how string
		fmt.Sscanf(r.URL.Path, "/%d/%s", &n, &how)
		if how == "chunked" {
			w.(http.Flusher).Flush()
		}
		_, _ = w.Write(body(n))
	}
	inBubble(t, Options{}, handler, func(t *testing.T, f *Fetcher, _ *site) {
		for _, n := range []int{1, 4095, bodyBytes - 1, bodyBytes, bodyBytes + 1, firstBytes, firstBytes + 1, 2*firstBytes + 1, 1_000_000} {
			for _, how := range []string{"sized", "chunked"} {
				r := fetch(t, f, fmt.Sprintf("http://a.example/%d/%s", n, how))[0]
				if !bytes.Equal(r.Data, body(n)) || r.Bytes != int64(n) {
					t.Errorf("%d bytes, %s: %d bytes came, Bytes is %d, reason %q", n, how, len(r.Data), r.Bytes, r.Reason)
				}
				if cap(r.Data) > n+n/2 {
					t.Errorf("%d bytes, %s: they keep %d", n, how, cap(r.Data))
				}
			}
		}
	})
}

// TestConnectionsAreReused: also after refusals.
func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	handler := func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/missing") {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, "x")
	}
	inBubble(t, Options{PerHost: 4}, handler, func(t *testing.T, f *Fetcher, s *site) {
		fetch(t, f, append(names("http://a.example/missing", 100), names("http://a.example/x", 100)...)...)
		if n := s.requests("a.example"); n != 200 || s.dialled > 20 {
			// a connection that is made may be overtaken by one that becomes idle
			t.Errorf("%d requests over %d connections, want 200 over few", n, s.dialled)
		}
	})
}

// TestPerHost: no host has more requests at once than it may, and all that it may. Redirections to
// it count.
func TestPerHost(t *testing.T) {
	t.Parallel()
	handler := func(w http.ResponseWriter, r *http.Request) {
		if after(r, 20*time.Millisecond) != nil {
			return
		}
		if strings.HasPrefix(r.URL.Path, "/moved") {
			http.Redirect(w, r, "http://b.example/x", http.StatusFound)
			return
		}
		fmt.Fprint(w, "x")
	}
	inBubble(t, Options{Workers: 64, PerHost: 5}, handler, func(t *testing.T, f *Fetcher, s *site) {
		list := append(names("http://a.example:80/moved", 100), names("http://A.example/", 100)...)
		for _, r := range fetch(t, f, append(list, names("http://b.example/", 100)...)...) {
			if r.Reason != "" {
				t.Fatal(r.Reason)
			}
		}
		if n := s.requests("b.example"); s.most["b.example"] != 5 || n != 200 {
			t.Errorf("b: %d requests, %d at once, want 200 and 5", n, s.most["b.example"])
		}
		if n := s.requestsAtOnce(); n != 10 {
			t.Errorf("%d requests at once to two hosts, want 10", n)
		}
		if len(f.queue.hosts) != 0 {
			t.Errorf("%d hosts are remembered, with nothing to remember", len(f.queue.hosts))
		}
	})
}

// TestWorkers bounds the requests at once to all hosts.
func TestWorkers(t *testing.T) {
	t.Parallel()
	handler := func(w http.ResponseWriter, r *http.Request) {
		_ = after(r, 20*time.Millisecond)
		fmt.Fprint(w, "x")
	}
	inBubble(t, Options{Workers: 7, PerHost: 2}, handler, func(t *testing.T, f *Fetcher, s *site) {
		var list []string
		for i := range 300 {
			list = append(list, fmt.Sprintf("http://h%d.example/", i%30))
		}
		fetch(t, f, list...)
		if n := s.requestsAtOnce(); n != 7 {
			t.Errorf("%d requests at once, want 7", n)
		}
	})
}

// TestTurn: URLs are requested in order, those of an earlier batch first.
func TestTurn(t *testing.T) {
	t.Parallel()
	var asked []string
	handler := func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Host+r.URL.Path)
		if r.Host+r.URL.Path == "a.example/1" {
			http.Redirect(w, r, "http://b.example/moved", http.StatusFound)
		}
		fmt.Fprint(w, "x")
	}
	inBubble(t, Options{Workers: 1, PerHost: 1}, handler, func(t *testing.T, f *Fetcher, _ *site) {
		first := f.Start(append(names("http://a.example/", 3), names("http://b.example/", 3)...))
		second := f.Start(names("http://a.example/x", 2))
		if _, err := second.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		const want = "a.example/0 a.example/1 b.example/moved a.example/2 b.example/0 b.example/1 b.example/2 a.example/x0 a.example/x1"
		if got := strings.Join(asked, " "); got != want {
			t.Errorf("asked %s, want %s", got, want)
		}
		first.Release()
		second.Release()
	})
}

// TestHandshakeEnds: Close ends a connection that is still being made.
func TestHandshakeEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := make(chan time.Time, 1)
		dial := func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				_, _ = io.Copy(io.Discard, far)
				broken <- time.Now()
			}()
			return near, nil
		}
		f, err := open(t.Context(), Options{Storage: storage.Settings{AllowPrivate: true, ConnectTimeout: 20}, Environ: map[string]string{}}, dial)
		if err != nil {
			t.Fatal(err)
		}
		f.Start([]string{"https://a.example/"})
		clock.Pass(time.Second)
		closed := time.Now()
		f.Close()
		if at := <-broken; !at.Equal(closed) {
			t.Errorf("the connection broke %v after Close", at.Sub(closed))
		}
	})
}

// TestEnd: whatever ends a fetcher or a batch ends the requests at once, and no goroutine remains:
// the bubble would fail.
func TestEnd(t *testing.T) {
	t.Parallel()
	handler := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/x0":
			fmt.Fprint(w, "x")
		case "/x1": // a pause that the client must not wait for
			w.Header().Set("Retry-After", "20")
			w.WriteHeader(http.StatusTooManyRequests)
		case "/x2":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "half")
			w.(http.Flusher).Flush()
			never(r)
		default:
			never(r)
		}
	}
	for _, c := range []struct {
		name string
		end  func(f *Fetcher, b *Batch, cancel func())
		kind errs.Kind
	}{
		{"Close", func(f *Fetcher, _ *Batch, _ func()) { f.Close() }, errs.Closed},
		{"context", func(_ *Fetcher, _ *Batch, cancel func()) { cancel() }, errs.Canceled},
		{"Release", func(_ *Fetcher, b *Batch, _ func()) { b.Release() }, errs.Closed},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(handler)
				s.dead["dead.example"] = true
				ctx, cancel := context.WithCancel(t.Context())
				f, err := open(ctx, Options{Workers: 8, PerHost: 4, Storage: storage.Settings{AllowPrivate: true}, Environ: map[string]string{}}, s.dial)
				if err != nil {
					t.Fatal(err)
				}
				b := f.Start(append(names("http://a.example/x", 20), names("http://dead.example/", 3)...))
				clock.Pass(time.Second)
				short, done := context.WithCancel(t.Context())
				done()
				if _, err := b.Wait(short); !errs.Is(err, errs.Canceled) {
					t.Errorf("Wait with a context that has ended: %v", err)
				}
				began := time.Now()
				c.end(f, b, cancel)
				if c.name == "Release" {
					synctest.Wait()
					if s.all != 0 || f.memory.used != 0 || len(f.pool.active) != 0 {
						t.Errorf("%d requests, %d bytes, %d jobs are left", s.all, f.memory.used, len(f.pool.active))
					}
					if r := fetch(t, f, "http://a.example/x0")[0]; string(r.Data) != "x" {
						t.Errorf("the next batch: %q, %q", r.Data, r.Reason)
					}
				}
				if _, err := b.Wait(t.Context()); !errs.Is(err, c.kind) {
					t.Errorf("Wait: %v, want kind %v", err, c.kind)
				}
				cancel()
				f.Close()
				f.Close()
				if took := time.Since(began); took != 0 {
					t.Errorf("the end took %v", took)
				}
				late := f.Start([]string{"http://a.example/x0"})
				if _, err := late.Wait(t.Context()); !errs.Is(err, errs.Closed) {
					t.Errorf("Start after the end: %v", err)
				}
				late.Release()
				s.close()
			})
		})
	}
}

// TestOptions: negative bounds and broken headers are refused, defaults fill the rest.
func TestOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{
		{Workers: -1},
		{PerHost: -1},
		{Attempts: -1},
		{MaxBytes: -1},
		{Memory: -1},
		{Spill: -1},
		{Timeout: -1},
		{Silence: -1},
		{Storage: storage.Settings{Headers: map[string]storage.Secret{"user-agent": "a\r\nb"}}},
		{Storage: storage.Settings{CAFile: "/no/such/file"}},
		{Storage: storage.Settings{Proxy: "no URL"}},
	} {
		if f, err := New(t.Context(), o); !errs.Is(err, errs.Invalid) {
			t.Errorf("%+v: %v", o, err)
			if err == nil {
				f.Close()
			}
		}
	}
	f := fetcher(t, Options{Timeout: 5 * time.Second})
	if f.o.Workers != 256 || f.o.Silence != 5*time.Second || f.o.Memory != 256<<20 {
		t.Errorf("%+v", f.o)
	}
	if f := fetcher(t, Options{Storage: storage.Settings{Timeout: 3}}); f.o.Silence != 3*time.Second {
		t.Errorf("silence %v, want that of the settings", f.o.Silence)
	}
}

// TestNoURLs: batches of nothing complete.
func TestNoURLs(t *testing.T) {
	t.Parallel()
	f := fetcher(t, Options{})
	fetch(t, f)
	for _, r := range fetch(t, f, "", "", "") {
		if r.Data != nil || r.Reason != "" {
			t.Errorf("no URL: %+v", r)
		}
	}
}
