package faultproxy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"deeplake/go/tests/faultproxy"
)

// upstream is a server of one object that remembers its requests.
type upstream struct {
	*httptest.Server
	data     []byte
	mu       sync.Mutex
	received [][]byte
	asked    atomic.Int64
	hosts    sync.Map
}

func newUpstream(t *testing.T) *upstream {
	u := &upstream{data: make([]byte, 1<<20)}
	for i := range u.data {
		u.data[i] = byte(i) ^ byte(i>>8)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /object", func(w http.ResponseWriter, rq *http.Request) {
		http.ServeContent(w, rq, "", time.Time{}, bytes.NewReader(u.data))
	})
	mux.HandleFunc("GET /chunked", func(w http.ResponseWriter, _ *http.Request) {
		for at := 0; at < len(u.data); at += 10_000 {
			_, _ = w.Write(u.data[at:min(at+10_000, len(u.data))])
			w.(http.Flusher).Flush()
		}
	})
	mux.HandleFunc("GET /until-end", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\n\r\n"))
		_, _ = conn.Write(u.data)
	})
	mux.HandleFunc("PUT /object", func(_ http.ResponseWriter, rq *http.Request) {
		data, err := io.ReadAll(rq.Body)
		if err != nil {
			return
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		u.received = append(u.received, data)
	})
	mux.HandleFunc("PUT /refuse", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusPreconditionFailed) })
	mux.HandleFunc("POST /session", func(w http.ResponseWriter, rq *http.Request) {
		w.Header().Set("Location", "http://"+rq.Host+"/next")
	})
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, rq *http.Request) {
		u.asked.Add(1)
		u.hosts.Store(rq.Host, true)
		mux.ServeHTTP(w, rq)
	}))
	t.Cleanup(u.Close)
	return u
}

func (u *upstream) puts() [][]byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.received
}

// bench is an upstream, a proxy before it, and a client.
type bench struct {
	*upstream
	p *faultproxy.Proxy
	c *http.Client
}

func newBench(t *testing.T, rules ...faultproxy.Rule) *bench {
	return newBenchOf(t, faultproxy.Config{Seed: 1, Profile: faultproxy.Profile{Rules: rules}})
}

func newBenchOf(t *testing.T, c faultproxy.Config) *bench {
	u := newUpstream(t)
	c.Upstream = u.URL
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64, ExpectContinueTimeout: time.Second}
	t.Cleanup(transport.CloseIdleConnections)
	return &bench{u, faultproxy.New(t, c), &http.Client{Transport: transport}}
}

// got is an answer as a client reads it.
type got struct {
	rs   *http.Response
	data []byte
	err  error // of the request or of its body
}

func (b *bench) do(ctx context.Context, t *testing.T, method, path string, body []byte, headers ...string) got {
	t.Helper()
	rq, err := http.NewRequestWithContext(ctx, method, b.p.URL+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		rq.Header.Set(headers[i], headers[i+1])
	}
	rs, err := b.c.Do(rq)
	if err != nil {
		return got{err: err}
	}
	defer rs.Body.Close()
	data, err := io.ReadAll(rs.Body)
	return got{rs, data, err}
}

func (b *bench) get(t *testing.T, path string, headers ...string) got {
	t.Helper()
	return b.do(t.Context(), t, http.MethodGet, path, nil, headers...)
}

func (g got) ok(t *testing.T, status int, want []byte) {
	t.Helper()
	if g.err != nil {
		t.Fatalf("request: %v", g.err)
	}
	if g.rs.StatusCode != status || !bytes.Equal(g.data, want) {
		t.Fatalf("got status %d and %d bytes, want %d and %d bytes (equal: %v)", g.rs.StatusCode, len(g.data), status, len(want), bytes.Equal(g.data, want))
	}
}

func TestTransparent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for range 3 {
		for _, path := range []string{"/object", "/chunked", "/until-end"} {
			b.get(t, path).ok(t, 200, b.data)
		}
		b.get(t, "/object", "Range", "bytes=100-299999").ok(t, 206, b.data[100:300_000])
		b.get(t, "/object", "Range", "bytes=5-5").ok(t, 206, b.data[5:6])
		b.get(t, "/missing").ok(t, 404, []byte("404 page not found\n"))
		if g := b.do(t.Context(), t, http.MethodHead, "/object", nil); g.err != nil || g.rs.ContentLength != int64(len(b.data)) {
			t.Errorf("head: got %+v", g)
		}
		for _, headers := range [][]string{nil, {"Expect", "100-continue"}} {
			b.do(t.Context(), t, http.MethodPut, "/object", b.data, headers...).ok(t, 200, nil)
			b.do(t.Context(), t, http.MethodPut, "/object", []byte("x"), headers...).ok(t, 200, nil)
		}
		b.chunkedPut(t)
	}
	for i, put := range b.puts() {
		if want := [][]byte{b.data, []byte("x"), b.data, []byte("x"), b.data}[i%5]; !bytes.Equal(put, want) {
			t.Errorf("put %d: the server has %d bytes, want %d", i, len(put), len(want))
		}
	}
	if _, own := b.hosts.Load(strings.TrimPrefix(b.p.URL, "http://")); !own {
		t.Error("the server did not see the Host that the client sent")
	}
	c := b.p.Counts()
	if n := b.asked.Load(); c.Requests != n || c.Requests != 36 || c.Methods["PUT"].Requests != 15 || c.Faults != 0 {
		t.Errorf("counts: got %+v, want 36 requests, as the server's %d", c, n)
	}
	if in, out := 3*(3*int64(len(b.data))+2), 3*(3*int64(len(b.data))+299_900+1+19); c.BytesIn != in || c.BytesOut != out {
		t.Errorf("bytes: got %d in and %d out, want %d and %d", c.BytesIn, c.BytesOut, in, out)
	}
}

func (b *bench) chunkedPut(t *testing.T) {
	t.Helper()
	rq, err := http.NewRequestWithContext(t.Context(), http.MethodPut, b.p.URL+"/object", io.MultiReader(bytes.NewReader(b.data)))
	if err != nil {
		t.Fatal(err)
	}
	rs, err := b.c.Do(rq)
	if err != nil {
		t.Fatal(err)
	}
	_ = rs.Body.Close()
}

func reset(err error) bool { return errors.Is(err, syscall.ECONNRESET) }

func TestFaults(t *testing.T) {
	t.Parallel()
	const at = 300_000
	for name, c := range map[string]struct {
		do    faultproxy.Action
		check func(b *bench, g got) error
	}{
		"reset before the answer": {faultproxy.Refuse(), func(b *bench, g got) error {
			if !reset(g.err) || b.asked.Load() != 0 {
				return fmt.Errorf("got %v after %d requests to the server, want a reset and none", g.err, b.asked.Load())
			}
			return nil
		}},
		"reset": {faultproxy.ResetAt(at), func(_ *bench, g got) error {
			if !reset(g.err) || len(g.data) > at {
				return fmt.Errorf("got %d bytes and %v, want at most %d and a reset", len(g.data), g.err, at)
			}
			return nil
		}},
		"reset after the head": {faultproxy.ResetAt(0), func(_ *bench, g got) error {
			if !reset(g.err) || len(g.data) != 0 {
				return fmt.Errorf("got %d bytes and %v, want a reset", len(g.data), g.err)
			}
			return nil
		}},
		"end": {faultproxy.CloseAt(at), func(b *bench, g got) error {
			if !errors.Is(g.err, io.ErrUnexpectedEOF) || !bytes.Equal(g.data, b.data[:at]) {
				return fmt.Errorf("got %d bytes and %v, want %d and an unexpected end", len(g.data), g.err, at)
			}
			return nil
		}},
		"end in the middle": {faultproxy.CloseAt(faultproxy.Middle), func(b *bench, g got) error {
			if !errors.Is(g.err, io.ErrUnexpectedEOF) || len(g.data) != len(b.data)/2 {
				return fmt.Errorf("got %d bytes and %v, want half and an unexpected end", len(g.data), g.err)
			}
			return nil
		}},
		"cut": {faultproxy.CutAt(at), func(b *bench, g got) error {
			if g.err != nil || !bytes.Equal(g.data, b.data[:at]) || g.rs.ContentLength != at {
				return fmt.Errorf("got %d bytes of %d and %v, want %d", len(g.data), g.rs.ContentLength, g.err, at)
			}
			return nil
		}},
		"flip": {faultproxy.FlipAt(at), func(b *bench, g got) error {
			want := bytes.Clone(b.data)
			want[at] ^= 1
			if g.err != nil || !bytes.Equal(g.data, want) {
				return fmt.Errorf("got %d bytes and %v, want all with a bit of byte %d flipped", len(g.data), g.err, at)
			}
			return nil
		}},
		"flip of the last": {faultproxy.FlipAt(1<<20 - 1), func(b *bench, g got) error {
			if g.err != nil || !bytes.Equal(g.data[:1<<20-1], b.data[:1<<20-1]) || g.data[1<<20-1] != b.data[1<<20-1]^1 {
				return fmt.Errorf("got %d bytes and %v", len(g.data), g.err)
			}
			return nil
		}},
		"behind the end": {faultproxy.ResetAt(2 << 20), func(b *bench, g got) error {
			if g.err != nil || !bytes.Equal(g.data, b.data) {
				return fmt.Errorf("got %d bytes and %v, want all", len(g.data), g.err)
			}
			return nil
		}},
		"no length": {faultproxy.Action{Fault: faultproxy.FaultNoLength}, func(b *bench, g got) error {
			if g.err != nil || !bytes.Equal(g.data, b.data) || g.rs.ContentLength != -1 {
				return fmt.Errorf("got %d bytes, length %d and %v", len(g.data), g.rs.ContentLength, g.err)
			}
			return nil
		}},
		"lost answer": {faultproxy.LoseAnswer(), func(b *bench, g got) error {
			if !reset(g.err) || b.asked.Load() != 1 {
				return fmt.Errorf("got %v after %d requests to the server, want a reset and 1", g.err, b.asked.Load())
			}
			return nil
		}},
		"expired token": {faultproxy.ExpiredToken(), answered(403, "<Code>ExpiredToken</Code>", "")},
		"clock skew":    {faultproxy.ClockSkew(), answered(403, "<Code>RequestTimeTooSkewed</Code>", "")},
		"slow down":     {faultproxy.Answer(503, "SlowDown", 7), answered(503, "<Code>SlowDown</Code>", "7")},
		"internal":      {faultproxy.Answer(500, "A&B", 0), answered(500, "<Code>A&amp;B</Code>", "")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, faultproxy.Rule{Times: 1, Do: c.do})
			if err := c.check(b, b.get(t, "/object")); err != nil {
				t.Error(err)
			}
			b.get(t, "/object").ok(t, 200, b.data)
			if n := b.p.Counts().Faults; n != 1 {
				t.Errorf("faults: got %d, want 1", n)
			}
		})
	}
}

func answered(status int, part, retryAfter string) func(*bench, got) error {
	return func(b *bench, g got) error {
		if g.err != nil || g.rs.StatusCode != status || !strings.Contains(string(g.data), part) ||
			g.rs.Header.Get("Retry-After") != retryAfter || b.asked.Load() != 0 {
			return fmt.Errorf("got %+v, %q", g.rs, g.data)
		}
		return nil
	}
}

func TestChunkedFaults(t *testing.T) {
	t.Parallel()
	const at = 12_345
	for name, c := range map[string]struct {
		do   faultproxy.Action
		ok   func(b *bench, g got) bool
		last bool
	}{
		"cut": {do: faultproxy.CutAt(at), ok: func(b *bench, g got) bool { return g.err == nil && bytes.Equal(g.data, b.data[:at]) }},
		"flip": {do: faultproxy.FlipAt(at), ok: func(b *bench, g got) bool {
			return g.err == nil && len(g.data) == len(b.data) && g.data[at] == b.data[at]^1 && bytes.Equal(g.data[at+1:], b.data[at+1:])
		}},
		"end": {do: faultproxy.CloseAt(at), ok: func(b *bench, g got) bool {
			return errors.Is(g.err, io.ErrUnexpectedEOF) && bytes.Equal(g.data, b.data[:at])
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, faultproxy.Rule{Times: 1, Do: c.do})
			if g := b.get(t, "/chunked"); !c.ok(b, g) {
				t.Errorf("got %d bytes, %v", len(g.data), g.err)
			}
			b.get(t, "/chunked").ok(t, 200, b.data)
		})
	}
}

func TestRanges(t *testing.T) {
	t.Parallel()
	b := newBench(t,
		// there is no range to get wrong
		faultproxy.Rule{Times: 1, Range: "none", Do: faultproxy.WrongRange()},
		faultproxy.Rule{Times: 1, Range: "bytes=10-", Do: faultproxy.WrongRange()},
		faultproxy.Rule{Times: 1, Range: "bytes=10-", Do: faultproxy.NoRange()},
	)
	b.get(t, "/object").ok(t, 200, b.data)
	g := b.get(t, "/object", "Range", "bytes=10-19")
	if g.rs.Header.Get("Content-Range") != "bytes 11-20/1048576" || len(g.data) != 10 {
		t.Errorf("wrong range: got %v", g.rs.Header)
	}
	g = b.get(t, "/object", "Range", "bytes=10-19")
	if g.rs.StatusCode != 200 || g.rs.Header.Get("Content-Range") != "" || len(g.data) != 10 {
		t.Errorf("no range: got %v", g.rs)
	}
	b.get(t, "/object", "Range", "bytes=10-19").ok(t, 206, b.data[10:20])
}

func TestStall(t *testing.T) {
	t.Parallel()
	b := newBench(t,
		faultproxy.Rule{Times: 1, Do: faultproxy.StallAt(1000, 0)},
		faultproxy.Rule{Times: 1, Do: faultproxy.StallAt(faultproxy.Middle, 50*time.Millisecond)},
	)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if g := b.do(ctx, t, http.MethodGet, "/object", nil); !errors.Is(g.err, context.DeadlineExceeded) || !bytes.Equal(g.data, b.data[:1000]) {
		t.Errorf("stall: got %d bytes and %v, want 1000 and no end", len(g.data), g.err)
	}
	began := time.Now()
	b.get(t, "/object").ok(t, 200, b.data)
	if d := time.Since(began); d < 50*time.Millisecond {
		t.Errorf("stall of 50 ms: took %v", d)
	}
}

func TestLostPut(t *testing.T) {
	t.Parallel()
	b := newBench(t, faultproxy.Rule{Method: "PUT", Header: "If-None-Match", Times: 1, Do: faultproxy.LoseAnswer()})
	b.do(t.Context(), t, http.MethodPut, "/object", []byte("first")).ok(t, 200, nil)
	if g := b.do(t.Context(), t, http.MethodPut, "/object", []byte("second"), "If-None-Match", "*"); !reset(g.err) {
		t.Errorf("lost answer: got %v, want a reset", g.err)
	}
	if puts := b.puts(); len(puts) != 2 || string(puts[1]) != "second" {
		t.Errorf("the server has %q, want both puts", puts)
	}
}

// TestRefusedPut: answers in place of the server leave the connection usable, whatever was being
// sent.
func TestRefusedPut(t *testing.T) {
	t.Parallel()
	b := newBench(t, faultproxy.Rule{Method: "PUT", Path: "object", Do: faultproxy.SlowDown()})
	for _, headers := range [][]string{nil, {"Expect", "100-continue"}} {
		g := b.do(t.Context(), t, http.MethodPut, "/object", b.data, headers...)
		if g.err != nil || g.rs.StatusCode != 503 {
			t.Errorf("put: got %v, %v; want 503", g.rs, g.err)
		}
		b.get(t, "/object").ok(t, 200, b.data)
	}
	// A server that answers early: the client may see the answer or a broken connection, as without
	// the proxy.
	g := b.do(t.Context(), t, http.MethodPut, "/refuse", b.data)
	if g.err == nil && g.rs.StatusCode != 412 {
		t.Errorf("early answer: got %v", g.rs)
	}
	b.do(t.Context(), t, http.MethodPut, "/refuse", []byte("x")).ok(t, 412, nil)
}

func TestRulesInOrder(t *testing.T) {
	t.Parallel()
	answer := func(status int) faultproxy.Action { return faultproxy.Answer(status, "Test", 0) }
	b := newBench(t,
		faultproxy.Rule{Name: "never", Method: "DELETE", Do: answer(599)},
		faultproxy.Rule{Name: "third and fourth", Method: "GET", Skip: 2, Times: 2, Do: answer(501)},
		faultproxy.Rule{Name: "by path", Path: "x=1", Do: answer(502)},
		faultproxy.Rule{Name: "fifth", Skip: 4, Times: 1, Do: answer(503)},
	)
	for i, want := range []int{200, 502, 501, 501, 503, 200, 502} {
		path := "/object"
		if want == 502 || i == 2 {
			path = "/object?x=1"
		}
		if g := b.get(t, path); g.err != nil || g.rs.StatusCode != want {
			t.Errorf("request %d: got %v, %v; want status %d", i, g.rs, g.err, want)
		}
	}
	want := "[{never 0 0} {third and fourth 7 2} {by path 3 2} {fifth 7 1}]"
	if c := b.p.Counts(); fmt.Sprint(c.Rules) != want || c.Faults != 5 {
		t.Errorf("counts: got %v and %d faults, want %v and 5", c.Rules, c.Faults, want)
	}
	b.p.Reset()
	if c := b.p.Counts(); c.Requests != 0 || c.Rules[1].Matched != 0 || len(b.p.Requests()) != 0 {
		t.Errorf("after reset: got %+v", c)
	}
	b.p.SetRules(t)
	b.get(t, "/object?x=1").ok(t, 200, b.data)
	if seen := b.p.Requests(); len(seen) != 1 || seen[0].Client != "127.0.0.1" || seen[0].Target != "/object?x=1" || seen[0].Status != 200 || seen[0].Bytes != 1<<20 {
		t.Errorf("requests: got %+v", seen)
	}
}

// TestChance: the share holds, and the seed alone says which.
func TestChance(t *testing.T) {
	t.Parallel()
	var hits [3]string
	for i, seed := range []uint64{7, 7, 8} {
		b := newBenchOf(t, faultproxy.Config{Seed: seed, Profile: faultproxy.Profile{
			Rules: []faultproxy.Rule{{P: 0.1, Do: faultproxy.SlowDown()}},
		}})
		n := 0
		for range 500 {
			g := b.get(t, "/object", "Range", "bytes=0-0")
			if g.err != nil {
				t.Fatal(g.err)
			}
			if g.rs.StatusCode == 503 {
				n++
			}
			hits[i] += strconv.Itoa(g.rs.StatusCode / 500)
		}
		if n < 25 || n > 90 {
			t.Errorf("seed %d: %d of 500 are hit, want about 50", seed, n)
		}
	}
	if hits[0] != hits[1] || hits[0] == hits[2] {
		t.Error("the seed does not decide which requests are hit")
	}
}

func TestLink(t *testing.T) {
	t.Parallel()
	b := newBenchOf(t, faultproxy.Config{Profile: faultproxy.Profile{Link: faultproxy.Link{DelayMS: 30}}})
	took := func(n int) time.Duration {
		began := time.Now()
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				if g := b.get(t, "/object"); g.err != nil || !bytes.Equal(g.data, b.data) {
					t.Errorf("got %d bytes, %v", len(g.data), g.err)
				}
			})
		}
		all.Wait()
		return time.Since(began)
	}
	if d := took(1); d < 30*time.Millisecond {
		t.Errorf("delay of 30 ms: took %v", d)
	}
	b.p.SetLink(faultproxy.Link{Rate: 10 << 20})
	if d := took(4); d < 90*time.Millisecond || d > time.Second {
		t.Errorf("4 x 1 MiB at 10 MiB/s each: took %v, want 100 ms", d)
	}
	b.p.SetLink(faultproxy.Link{AllRate: 10 << 20})
	if d := took(4); d < 350*time.Millisecond {
		t.Errorf("4 x 1 MiB at 10 MiB/s together: took %v, want 400 ms", d)
	}
	b.p.SetLink(faultproxy.Link{})
	b.p.SetRules(t, faultproxy.Rule{Do: faultproxy.Slow(10 << 20)})
	if d := took(1); d < 90*time.Millisecond {
		t.Errorf("1 MiB at 10 MiB/s: took %v, want 100 ms", d)
	}
	if c := b.p.Counts(); c.Peak < 2 || c.Active != 0 {
		t.Errorf("peak: got %d, %d active", c.Peak, c.Active)
	}
}

func TestRewriteHost(t *testing.T) {
	t.Parallel()
	b := newBenchOf(t, faultproxy.Config{RewriteHost: true})
	g := b.do(t.Context(), t, http.MethodPost, "/session", nil)
	if g.err != nil || g.rs.Header.Get("Location") != b.p.URL+"/next" {
		t.Errorf("location: got %v, %v; want the proxy's", g.rs, g.err)
	}
	if _, own := b.hosts.Load(strings.TrimPrefix(b.p.URL, "http://")); own {
		t.Error("the server saw the proxy's address as Host")
	}
}

// TestListen asks for an address of documentation, which no machine has.
func TestListen(t *testing.T) {
	t.Parallel()
	p, err := faultproxy.Start(faultproxy.Config{Upstream: "http://127.0.0.1:1", Listen: "192.0.2.1"})
	if err == nil {
		p.Close()
		t.Errorf("listens at %s, want an error", p.URL)
	}
}

func TestBadRules(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`[{"do":{"fault":"explode"}}]`, `[{"do":{}}]`, `[{"metod":"GET","do":{"fault":"lose"}}]`, `[{"p":2,"do":{"fault":"lose"}}]`,
		`[{"do":{"fault":"answer"}}]`, `[{"do":{"fault":"slow"}}]`, `[{"do":{"fault":"reset","at":-2}}]`, `{`,
	} {
		if _, err := faultproxy.ParseRules([]byte(text)); err == nil {
			t.Errorf("rules %s: no error", text)
		}
	}
	if _, err := faultproxy.Start(faultproxy.Config{Upstream: "https://x"}); err == nil {
		t.Error("proxy for https: no error")
	}
	rules, err := faultproxy.ParseRules([]byte(`[{"method":"GET","skip":1,"times":2,"p":0.5,"do":{"fault":"stall","at":-1,"delay_ms":5}}]`))
	if err != nil || rules[0].Do.At != faultproxy.Middle || rules[0].Do.DelayMS != 5 {
		t.Errorf("rules: got %+v, %v", rules, err)
	}
}

func TestControl(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	control := httptest.NewServer(b.p.Control())
	t.Cleanup(control.Close)
	call := func(method, path, body string) (int, string) {
		rq, err := http.NewRequestWithContext(t.Context(), method, control.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		rs, err := http.DefaultClient.Do(rq)
		if err != nil {
			t.Fatal(err)
		}
		defer rs.Body.Close()
		text, err := io.ReadAll(rs.Body)
		if err != nil {
			t.Fatal(err)
		}
		return rs.StatusCode, string(text)
	}
	if status, text := call("PUT", "/rules", `[{"name":"n","do":{"fault":"answer","status":418,"code":"Teapot"}}]`); status != 200 {
		t.Fatalf("rules: %d %s", status, text)
	}
	if g := b.get(t, "/object"); g.err != nil || g.rs.StatusCode != 418 {
		t.Errorf("got %v, %v", g.rs, g.err)
	}
	if _, text := call("GET", "/counts", ""); !strings.Contains(text, `"faults":1`) || !strings.Contains(text, `"name":"n"`) {
		t.Errorf("counts: %s", text)
	}
	if _, text := call("GET", "/requests", ""); !strings.Contains(text, `"status":418`) {
		t.Errorf("requests: %s", text)
	}
	for path, body := range map[string]string{
		"/rules": `[{"do":{"fault":"x"}}]`, "/link": `{"x":1}`, "/profile": `{"rules":[{"do":{}}]}`, "/profile?name=x": "",
	} {
		if status, _ := call("PUT", path, body); status != http.StatusBadRequest {
			t.Errorf("%s with %s: status %d, want 400", path, body, status)
		}
	}
	for path, body := range map[string]string{"/link": `{"delay_ms":1}`, "/profile?name=lan": ""} {
		if status, _ := call("PUT", path, body); status != 200 {
			t.Errorf("%s: status %d", path, status)
		}
	}
	if status, _ := call("POST", "/reset", ""); status != 200 || b.p.Counts().Requests != 0 {
		t.Errorf("reset: status %d, %+v", status, b.p.Counts())
	}
}

// TestStorm: many clients through many faults at once get right answers or errors, and Close ends
// everything.
func TestStorm(t *testing.T) {
	t.Parallel()
	b := newBench(t,
		faultproxy.Rule{P: 0.1, Do: faultproxy.SlowDown()}, faultproxy.Rule{P: 0.1, Do: faultproxy.ResetAt(faultproxy.Middle)},
		faultproxy.Rule{P: 0.1, Do: faultproxy.CloseAt(5000)}, faultproxy.Rule{P: 0.1, Do: faultproxy.Refuse()},
		faultproxy.Rule{P: 0.1, Do: faultproxy.LoseAnswer()}, faultproxy.Rule{P: 0.1, Do: faultproxy.Delay(time.Millisecond, time.Millisecond)},
	)
	var all sync.WaitGroup
	for w := range uint64(8) {
		all.Go(func() {
			dice := rand.New(rand.NewPCG(w, 0))
			for range 50 {
				off := dice.IntN(len(b.data) - 1)
				end := off + dice.IntN(len(b.data)-off)
				g := b.get(t, "/object", "Range", fmt.Sprintf("bytes=%d-%d", off, end))
				if g.err == nil && g.rs.StatusCode == 206 && !bytes.Equal(g.data, b.data[off:end+1]) {
					t.Errorf("range %d-%d: wrong bytes without an error", off, end)
				}
				if g := b.do(t.Context(), t, http.MethodPut, "/object", b.data[off:end]); g.err == nil && g.rs.StatusCode != 200 && g.rs.StatusCode != 503 {
					t.Errorf("put: %v", g.rs)
				}
			}
		})
	}
	all.Wait()
	for _, put := range b.puts() {
		if !bytes.Contains(b.data, put) {
			t.Error("the server got bytes that nobody sent")
		}
	}
	b.p.Close()
	if c := b.p.Counts(); c.Active != 0 || c.Faults < 100 || c.Requests < 800 {
		// net/http repeats some
		t.Errorf("counts: %+v", c)
	}
}
