package request

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

const tag = `"v1"`

// content returns the object that the servers of these tests give away.
func content() []byte {
	data := make([]byte, 100_000)
	for i := range data {
		data[i] = byte(i * i >> 5)
	}
	return data
}

// serve answers as a good web server does.
func serve(data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Etag", tag)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(data)))
	}
}

func client(t testing.TB, s storage.Settings) *Client {
	t.Helper()
	c, err := NewClient("endpoint", s, map[string]string{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func get(t testing.TB, c *Client, d *Dialect, url string, off, n int64, tag string) (storage.Body, error) {
	t.Helper()
	rq, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Get(t.Context(), d, rq, off, n, tag)
	if err == nil {
		t.Cleanup(func() { b.Close() })
	}
	return b, err
}

func TestRanges(t *testing.T) {
	t.Parallel()
	data := content()
	size := int64(len(data))
	server := httptest.NewServer(serve(data))
	defer server.Close()
	empty := httptest.NewServer(serve(nil))
	defer empty.Close()
	c := client(t, storage.Settings{})
	for _, r := range []struct {
		name    string
		off, n  int64
		tag     string
		want    int64
		kind    errs.Kind // 0: no error
		isEmpty bool      // of the empty object
	}{
		{name: "whole", off: 0, n: -1, want: size},
		{name: "first byte", off: 0, n: 1, want: 1},
		{name: "middle", off: 1000, n: 70_000, want: 70_000},
		{name: "rest", off: 99_000, n: -1, want: 1000},
		{name: "over the end", off: 99_000, n: 5000, want: 1000},
		{name: "huge", off: 5, n: 1<<63 - 1, want: size - 5},
		{name: "at the end", off: size, n: 10, kind: errs.Corrupt},
		{name: "behind the end", off: size + 1, n: 10, kind: errs.Corrupt},
		{name: "nothing", off: 5, n: 0, want: 0},
		{name: "nothing at the end", off: size, n: 0, want: 0},
		{name: "nothing behind the end", off: size + 1, n: 0, kind: errs.Corrupt},
		{name: "negative", off: -1, n: 1, kind: errs.Invalid},
		{name: "right tag", off: 1, n: 2, tag: tag, want: 2},
		{name: "right tag at the end", off: size, n: 2, tag: tag, kind: errs.Corrupt},
		{name: "rest at the end", off: size, n: -1, kind: errs.Corrupt},
		{name: "wrong tag", off: 1, n: 2, tag: `"v2"`, kind: errs.Conflict},
		{name: "weak tag", off: 1, n: 2, tag: `W/"v1"`, kind: errs.Conflict},
		{name: "empty whole", n: -1, isEmpty: true},
		{name: "empty part", n: 10, isEmpty: true},
		{name: "empty, behind", off: 1, n: 10, isEmpty: true, kind: errs.Corrupt},
	} {
		t.Run(r.name, func(t *testing.T) {
			url, all := server.URL, data
			if r.isEmpty {
				url, all = empty.URL, nil
			}
			b, err := get(t, c, &Dialect{}, url, r.off, r.n, r.tag)
			if r.kind != 0 {
				if !errs.Is(err, r.kind) {
					t.Fatalf("got %v, want an error of kind %v", err, r.kind)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(b)
			if err != nil || b.Len() != r.want || string(got) != string(all[r.off:r.off+r.want]) {
				t.Errorf("got %d bytes of %d, %v; want %d", len(got), b.Len(), err, r.want)
			}
			if b.Size() != int64(len(all)) {
				t.Errorf("size %d, want %d", b.Size(), len(all))
			}
			if r.tag != "" && b.Tag() != r.tag {
				t.Errorf("tag %q, want %q", b.Tag(), r.tag)
			}
		})
	}
}

// TestConnectionsAreReused: reading exactly the requested bytes leaves the connection for the next
// request.
func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(serve(content()))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	c := client(t, storage.Settings{})
	dst := make([]byte, 1000)
	for i := range 20 {
		b, err := get(t, c, &Dialect{}, server.URL, int64(i), int64(len(dst)), "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(b, dst); err != nil {
			t.Fatal(err)
		}
		if _, err := get(t, c, &Dialect{}, server.URL, 1<<20, 1, ""); !errs.Is(err, errs.Corrupt) {
			t.Fatal(err)
		}
	}
	// A refusal is closed early, and the server may not be done with it; reads alone must need one
	// connection.
	if n := connections.Load(); n > 21 {
		t.Errorf("40 requests opened %d connections", n)
	}
}

// TestWrongResponses: wrong heads of responses are refused before a byte of the body is read.
func TestWrongResponses(t *testing.T) {
	t.Parallel()
	answer := func(status int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			if status != http.StatusNotModified {
				fmt.Fprint(w, "0123456789")
			}
		}
	}
	for _, r := range []struct {
		name   string
		answer http.HandlerFunc
		kind   errs.Kind
		repeat storage.Repeat
	}{
		{"another range", answer(206, "Content-Range", "bytes 20-29/100"), errs.Storage, storage.Soon},
		{"a shorter range", answer(206, "Content-Range", "bytes 10-18/100", "Content-Length", "9"), errs.Storage, storage.Soon},
		{"a longer range", answer(206, "Content-Range", "bytes 10-20/100"), errs.Storage, storage.Soon},
		{"another length", answer(206, "Content-Range", "bytes 10-19/100", "Content-Length", "5"), errs.Storage, storage.Soon},
		{"no range", answer(206), errs.Storage, storage.Soon},
		{"no numbers", answer(206, "Content-Range", "bytes a-b/c"), errs.Storage, storage.Soon},
		{"outside of its own size", answer(206, "Content-Range", "bytes 10-19/15"), errs.Storage, storage.Soon},
		{"the whole object", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "01234567890123456789") }, errs.Unsupported, 0},
		{"a range that is there refused", answer(416, "Content-Range", "bytes */100"), errs.Storage, storage.Soon},
		{"not found", answer(404), errs.NotFound, 0},
		{"forbidden", answer(403), errs.Denied, 0},
		{"changed", answer(412), errs.Conflict, 0},
		{"moved", answer(301), errs.Storage, 0},
		{"slow down", answer(503, "Retry-After", "7"), errs.Storage, storage.Later},
		{"too many", answer(429), errs.Storage, storage.Later},
		{"broken", answer(500), errs.Storage, storage.Soon},
		{"bad gateway", answer(502), errs.Storage, storage.Soon},
		{"teapot", answer(418), errs.Storage, 0},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(r.answer)
			defer server.Close()
			_, err := get(t, client(t, storage.Settings{}), &Dialect{}, server.URL, 10, 10, "")
			if !errs.Is(err, r.kind) {
				t.Fatalf("got %v, want kind %v", err, r.kind)
			}
			var f *storage.Fault
			if errors.As(err, &f) != (r.repeat != 0) || f != nil && f.Repeat != r.repeat {
				t.Errorf("got fault %+v, want repeat %d", f, r.repeat)
			}
			if r.name == "slow down" && f.Wait != 7*time.Second {
				t.Errorf("wait %v, want 7s", f.Wait)
			}
		})
	}
}

// TestBrokenBody: an answer that ends early is an error that says where, and worth another request.
func TestBrokenBody(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Range", "bytes 0-99/100")
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(http.StatusPartialContent)
		fmt.Fprint(w, "0123456789")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	b, err := get(t, client(t, storage.Settings{}), &Dialect{}, server.URL, 0, 100, "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(b)
	var f *storage.Fault
	if len(got) != 10 || !errors.As(err, &f) || f.Repeat != storage.Soon || !strings.Contains(err.Error(), "after 10 of 100 bytes") {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	if _, again := b.Read(make([]byte, 1)); again == nil || again == io.EOF {
		t.Errorf("a broken body goes on with %v", again)
	}
}

func TestCanceled(t *testing.T) {
	t.Parallel()
	asked, done := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
		}
		asked <- struct{}{}
		<-done
	}))
	defer server.Close()
	defer close(done)
	c := client(t, storage.Settings{})
	why := errors.New("the user went home")
	for _, path := range []string{"/head", "/body"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		rq, err := http.NewRequest(http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan error)
		go func() {
			b, err := c.Get(ctx, &Dialect{}, rq, 0, -1, "")
			if err == nil {
				_, err = io.ReadAll(b)
				b.Close()
			}
			failed <- err
		}()
		<-asked
		cancel(why)
		if err := <-failed; !errs.Is(err, errs.Canceled) || !errors.Is(err, why) {
			t.Errorf("%s: got %v, want canceled by %v", path, err, why)
		}
	}
}

// TestRedirects: redirects are followed a few times, without private headers.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var told atomic.Value
	told.Store("")
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		told.Store(r.Header.Get("Authorization") + r.Header.Get("X-Public"))
		serve(content())(w, r)
	}))
	defer away.Close()
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/here":
			http.Redirect(w, r, away.URL+"/x", http.StatusFound)
		case "/round":
			http.Redirect(w, r, server.URL+"/round", http.StatusFound)
		case "/file":
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		}
	}))
	defer server.Close()
	c := client(t, storage.Settings{})
	d := &Dialect{Redirects: 3, Private: []string{"Authorization"}, AllowPrivate: true}
	ask := func(path string, d *Dialect) error {
		rq, err := http.NewRequest(http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		rq.Header = http.Header{"Authorization": {"secret"}, "X-Public": {"yes"}}
		b, err := c.Get(t.Context(), d, rq, 10, 5, "")
		if err == nil {
			_, err = io.ReadAll(b)
			b.Close()
		}
		return err
	}
	if err := ask("/here", d); err != nil || told.Load() != "yes" {
		t.Errorf("redirected: %v, and was told %q", err, told.Load())
	}
	for _, path := range []string{"/round", "/file"} {
		if err := ask(path, d); !errs.Is(err, errs.Storage) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := ask("/here", &Dialect{}); !errs.Is(err, errs.Storage) {
		t.Errorf("not to be followed: %v", err)
	}
	told.Store("")
	if err := ask("/here", &Dialect{Redirects: 3}); !errs.Is(err, errs.Denied) || !strings.Contains(err.Error(), "allow_private") || told.Load() != "" {
		t.Errorf("to a host on this machine: %v, and was told %q", err, told.Load())
	}
}

// TestUnreachable: each way of not reaching a store has its own words, and none takes long.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	silent := listen(t, func(net.Conn) {})
	garbage := listen(t, func(c net.Conn) { fmt.Fprint(c, "220 mail.example.com ESMTP\r\n"); c.Close() })
	tlsServer := httptest.NewTLSServer(serve(content()))
	tlsServer.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(tlsServer.Close)
	closed := listen(t, nil)
	short := storage.Settings{Timeout: 0.2, ConnectTimeout: 0.2}
	for _, r := range []struct {
		name, url, want string
		settings        storage.Settings
	}{
		{"refused", "http://" + closed, "connection refused: nothing listens there", short},
		{"no such host", "http://no-such-host.invalid/x", "is not known (DNS)", short},
		{"silent", "http://" + silent, "does not answer within 200ms", short},
		{"silent TLS", "https://" + silent, "does not answer within 200ms", short},
		{"not HTTP", "http://" + garbage, "does not speak HTTP", short},
		{"not TLS", "https://" + strings.TrimPrefix(httpServer(t), "http://"), "does not speak TLS", storage.Settings{}},
		{"unknown authority", tlsServer.URL, "give its certificate as ca_file", storage.Settings{}},
		{"no proxy", "http://example.com/", "proxy \"" + closed + "\" cannot be reached", storage.Settings{Proxy: "http://user:hunter2@" + closed}},
		{"no proxy, https", "https://example.com/", "proxy \"" + closed + "\" cannot be reached", storage.Settings{Proxy: "http://user:hunter2@" + closed}},
		{"no such proxy", "https://example.com/", "host \"no-such-host.invalid\" is not known (DNS); check the proxy", storage.Settings{Proxy: "http://user:hunter2@no-such-host.invalid:3128"}},
		{"proxy of unknown authority", "http://example.com/", "certificate of \"" + strings.TrimPrefix(tlsServer.URL, "https://") + "\"", storage.Settings{Proxy: tlsServer.URL}},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			c := client(t, r.settings)
			var err error
			for range firstTries {
				if _, err = get(t, c, &Dialect{}, r.url, 0, 1, ""); err == nil {
					t.Fatal("no error")
				}
			}
			if !errs.Is(err, errs.Storage) || !strings.Contains(err.Error(), r.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %q, want %q in it", err, r.want)
			}
			if f := (*storage.Fault)(nil); errors.As(err, &f) {
				t.Errorf("%q is worth repeating for ever", err)
			}
			want := errs.RetryUnknown
			if slices.Contains([]string{"refused", "silent", "silent TLS", "no proxy", "no proxy, https"}, r.name) {
				want = errs.RetryYes
			}
			if got := errs.FieldsOf(err).Retry; got != want {
				t.Errorf("%q: another call may succeed: %v, want %v", err, got, want)
			}
		})
	}
}

// TestReached: a host that has answered before is worth waiting for.
func TestReached(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(serve(content()))
	c := client(t, storage.Settings{})
	if _, err := get(t, c, &Dialect{}, server.URL, 0, 1, ""); err != nil || !c.Reached() {
		t.Fatal(err, c.Reached())
	}
	server.Close()
	for range 2 * firstTries {
		_, err := get(t, c, &Dialect{}, server.URL, 0, 1, "")
		if f := (*storage.Fault)(nil); !errors.As(err, &f) {
			t.Fatalf("%v is final", err)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	notPEM := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(notPEM, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct {
		name, want string
		s          storage.Settings
		env        map[string]string
	}{
		{"missing file", "check ca_file", storage.Settings{CAFile: "/nowhere/ca.pem"}, nil},
		{"no certificate", "no certificate in it", storage.Settings{CAFile: notPEM}, nil},
		{"no certificate by environment", "no certificate in it", storage.Settings{}, map[string]string{"SSL_CERT_FILE": notPEM}},
		{"proxy", "not a URL", storage.Settings{Proxy: "hunter2:::"}, nil},
	} {
		_, err := NewClient("endpoint", r.s, r.env)
		if !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), r.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v", r.name, err)
		}
	}
}

// TestCertificatesOfTheSystem: certificates of the process's own SSL_CERT_FILE belong to the
// system's. The first connection that needs them reads them, once.
func TestCertificatesOfTheSystem(t *testing.T) {
	server := httptest.NewTLSServer(serve(content()))
	defer server.Close()
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for _, r := range []struct {
		name string
		text string
		ok   bool
	}{
		{"one", string(text), true},
		{"one after something else", "hello\n-----BEGIN EMPTY-----\n-----END EMPTY-----\n" + string(text), true},
		{"one with a header", strings.Replace(string(text), "\n", "\nName: value\n\n", 1), false},
		{"none", "hello", false},
		{"broken", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("hello")})), false},
	} {
		name := filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(name, []byte(r.text), 0o600); err != nil {
			t.Fatal(err)
		}
		other, err := authorities(name)
		if (err == nil) != r.ok || r.ok && other == nil {
			t.Errorf("%s, of the settings: got %v, %v", r.name, other, err)
		}
		t.Setenv("SSL_CERT_FILE", name)
		pool, err := authorities(name)
		if (err == nil) != r.ok || (pool == nil) != (!r.ok || runtime.GOOS == "linux") {
			t.Errorf("%s, of the system: got %v, %v", r.name, pool, err)
		}
	}
}

// TestProxyOfTheEnvironment: the environment is the one that was given.
func TestProxyOfTheEnvironment(t *testing.T) {
	t.Parallel()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host != "store.example" {
			t.Errorf("the proxy was asked for %q", r.URL)
		}
		serve(content())(w, r)
	}))
	defer proxy.Close()
	c, err := NewClient("endpoint", storage.Settings{}, map[string]string{"http_proxy": proxy.URL, "NO_PROXY": "direct.invalid"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := get(t, c, &Dialect{}, "http://store.example/a", 0, 1, ""); err != nil {
		t.Error(err)
	}
	if _, err := get(t, c, &Dialect{}, "http://direct.invalid/a", 0, 1, ""); err == nil {
		t.Error("NO_PROXY was not heard")
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	c := client(t, storage.Settings{})
	h := http.Header{"Date": {time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)}}
	ahead, news := c.SetDate(h)
	if !news || (ahead+time.Hour).Abs() > 2*time.Second || (time.Until(c.Now())+time.Hour).Abs() > 3*time.Second {
		t.Errorf("an hour behind: %v, %v, now %v", ahead, news, c.Now())
	}
	if _, news := c.SetDate(h); news {
		t.Error("the same clock again is no news")
	}
	if _, news := c.SetDate(http.Header{}); news {
		t.Error("no date is no news")
	}
}

// listen takes connections and gives them to each; nil: nothing listens at the address.
func listen(t *testing.T, each func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if each == nil {
		l.Close()
		return l.Addr().String()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			each(c)
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func httpServer(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(serve(content()))
	t.Cleanup(server.Close)
	return server.URL
}
