package urls

import (
	"bufio"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deeplake/core/storage"
)

// TestReasons: every kind of failure has its own reason, from a real server.
func TestReasons(t *testing.T) {
	t.Parallel()
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; path {
		case "/ok", "/page":
			if path == "/page" {
				w.Header().Set("Content-Type", "text/html")
			}
			fmt.Fprint(w, "x")
		case "/empty", "/empty chunks":
			if path == "/empty chunks" {
				w.(http.Flusher).Flush()
			}
		case "/none":
			w.WriteHeader(http.StatusNoContent)
		case "/part":
			w.WriteHeader(http.StatusPartialContent)
			fmt.Fprint(w, "x")
		case "/gzip", "/none at all":
			w.Header().Set("Content-Encoding", path[1:])
			fmt.Fprint(w, "x")
		case "/fits", "/fits in chunks", "/large", "/large in chunks":
			n := 1 << 20
			if strings.HasPrefix(path, "/large") {
				n++
			}
			if strings.HasSuffix(path, "chunks") {
				w.(http.Flusher).Flush()
			}
			_, _ = w.Write(make([]byte, n))
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		case "/long head":
			for i := range 100 {
				w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 1000))
			}
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/hops/0":
			fmt.Fprint(w, "x")
		case "/nowhere":
			w.WriteHeader(http.StatusFound)
		case "/file":
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		case "/password":
			http.Redirect(w, r, "http://me:hunter2@"+r.Host+"/ok", http.StatusFound)
		case "/bad port":
			w.Header().Set("Location", "http://a.example:99999/")
			w.WriteHeader(http.StatusMovedPermanently)
		case "/long":
			w.Header().Set("Location", "/"+strings.Repeat("x", maxURL))
			w.WriteHeader(http.StatusSeeOther)
		case "/named":
			http.Redirect(w, r, "http://localhost"+server.URL[strings.LastIndex(server.URL, ":"):]+"/ok?token=hunter2#part", http.StatusTemporaryRedirect)
		default:
			var n int
			if _, err := fmt.Sscanf(path, "/hops/%d", &n); err == nil {
				http.Redirect(w, r, fmt.Sprint("../hops/", n-1), http.StatusPermanentRedirect)
				return
			}
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	secure := secureServer(t, http.NotFoundHandler())
	odd := answers(t, "220 mail.example ready\r\n")
	closed := httptest.NewServer(nil)
	closed.Close()
	address := strings.TrimPrefix(server.URL, "http://")

	f := loopback(t, Options{MaxBytes: 1 << 20, Attempts: 1})
	for url, want := range map[string]string{
		"/ok": "", "/page": "", "/none at all": "", "/fits": "", "/fits in chunks": "", "/hops/0": "", "/hops/10": "", "/named": "",
		"/missing?token=hunter2":             "404 Not Found",
		"/empty":                             "the answer is empty",
		"/empty chunks":                      "the answer is empty",
		"/none":                              "the answer is empty",
		"/part":                              "206 Partial Content",
		"/gzip":                              "the answer is compressed, which it must not be",
		"/large":                             "more than 1 MiB",
		"/large in chunks":                   "more than 1 MiB",
		"/endless":                           "more than 1 MiB",
		"/long head":                         "the head of the answer is longer than 64 KiB",
		"/loop":                              "more than 10 redirections",
		"/hops/11":                           "more than 10 redirections",
		"/nowhere":                           "302 Found",
		"/file":                              `"` + address + `" redirects to what is not a web address`,
		"/password":                          `"` + address + `" redirects to an address with a name or a password`,
		"/bad port":                          "a redirection: not a URL",
		"/long":                              "a redirection to a URL longer than 8 KiB",
		closed.URL:                           "connection refused",
		secure.URL:                           "the certificate is signed by an authority that is not known here",
		"https://" + address + "/":           "the host does not speak TLS",
		"http://" + odd + "/":                "the host does not speak HTTP",
		"http://no-such-host.invalid./a":     "the host does not exist",
		"ftp://a.example/":                   "the URL is neither http nor https",
		"file:///etc/passwd":                 "the URL is neither http nor https",
		"data:image/png;base64,AAAA":         "the URL is neither http nor https",
		"http://me:hunter2@a.example/":       "the URL holds a name or a password",
		"http://me@a.example/":               "the URL holds a name or a password",
		"http://me:hun/ter2@a.example/":      "not a URL",
		"a.example/x.jpg":                    "not a URL",
		"http://":                            "not a URL",
		"http:///x":                          "not a URL",
		"http:a.example":                     "not a URL",
		"http://a.example:0/":                "not a URL",
		"http://a.example:65536/":            "not a URL",
		"http://a b.example/":                "not a URL",
		"http://a\r\nHost: b/":               "not a URL",
		"http://a.example/%zz":               "not a URL",
		"http://[::1":                        "not a URL",
		"http://[fe80::1%25eth0]/":           "not a URL",
		"http://a.example/" + pad("x", 8200): "the URL is longer than 8 KiB",
	} {
		text := url
		if strings.HasPrefix(url, "/") {
			text = server.URL + strings.ReplaceAll(url, " ", "%20")
		}
		r := fetch(t, f, text)[0]
		if want == "the host does not exist" && r.Reason == "the address of the host cannot be found (DNS)" {
			continue // the server of names here gives no answer
		}
		if r.Reason != want {
			t.Errorf("%.60s: reason %q, want %q", url, r.Reason, want)
		}
		if strings.Contains(r.Reason+r.URL, "hunter2") {
			t.Errorf("%s: shows the password: %+v", url, r)
		}
		switch url {
		case "/hops/10":
			if r.URL != server.URL+"/hops/0" {
				t.Errorf("redirections led to %q", r.URL)
			}
		case "/named":
			if !strings.HasPrefix(r.URL, "http://localhost:") || !strings.HasSuffix(r.URL, "/ok?token=***") {
				t.Errorf("a redirection led to %q", r.URL)
			}
		case "/large", "/large in chunks", "/endless":
			if r.Bytes > 3<<20 {
				t.Errorf("%s: %d bytes were read", url, r.Bytes)
			}
		}
	}
}

// secureServer is a server with a certificate that is not known, and no word about it.
func secureServer(t *testing.T, h http.Handler) *httptest.Server {
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

func pad(text string, n int) string { return strings.Repeat(text, n) }

// answers is the address of a server that says text to everyone.
func answers(t *testing.T, text string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = bufio.NewReader(c).ReadString('\n')
				fmt.Fprint(c, text)
			}()
		}
	}()
	return l.Addr().String()
}

// TestSettings: the authorities, the proxy and the time to connect of the settings are used.
func TestSettings(t *testing.T) {
	t.Parallel()
	secure := secureServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/back" {
			http.Redirect(w, r, "http://"+r.Host+"/", http.StatusFound)
			return
		}
		fmt.Fprint(w, "x")
	}))
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	f := loopback(t, Options{Storage: storage.Settings{CAFile: file}})
	if r := fetch(t, f, secure.URL)[0]; string(r.Data) != "x" {
		t.Error(r.Reason)
	}
	if r := fetch(t, f, secure.URL+"/back")[0]; !strings.HasSuffix(r.Reason, "redirects from https to http, which is not followed") {
		t.Error(r.Reason)
	}
	other := strings.Replace(secure.URL, "127.0.0.1", "localhost", 1)
	if r := fetch(t, f, other)[0]; r.Reason != "the certificate is not valid for the host or the time" {
		t.Errorf("another name: %q", r.Reason)
	}

	closed := httptest.NewServer(nil)
	closed.Close()
	f = loopback(t, Options{Attempts: 1, Storage: storage.Settings{Proxy: closed.URL}})
	if r := fetch(t, f, "http://a.example/")[0]; r.Reason != "the proxy cannot be reached" {
		t.Errorf("a proxy that is down: %q", r.Reason)
	}

	// It accepts connections, and is silent in the handshake.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f = loopback(t, Options{Storage: storage.Settings{ConnectTimeout: 0.05}})
	if r := fetch(t, f, "https://"+l.Addr().String())[0]; r.Reason != "no TLS connection within 50ms" {
		t.Errorf("a handshake without end: %q", r.Reason)
	}
}

// TestAmount: bounds are written as people write them.
func TestAmount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{1: "1 bytes", 1000: "1000 bytes", 8 << 10: "8 KiB", 64 << 20: "64 MiB", 1<<20 + 1024: "1025 KiB"} {
		if got := amount(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// FuzzURL: any text of a table gives a result, and no reason repeats a part of it.
func FuzzURL(f *testing.F) {
	for _, text := range []string{
		"", " ", "http://a.example/x.jpg", "https://a.example:8443/é?q=1#f", "http://[::1]:80/", "http://user:pass@a/", "javascript:alert(1)", "//a/b",
		"http://xn--a.example", "http://BÜCHER.example", "http://a.example/\x00", "http://%41/", "http://a..b/", "http://.", "http://1.2.3", "http://-/",
		"http://a.example./%2e%2e/", "HTTP://A.EXAMPLE", "http://a.example?x", "http://a.example#", "http:/a", "http://0x7f.1/", "http://a:b:c/",
	} {
		f.Add(text)
	}
	s := newSite(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "x") })
	f.Cleanup(s.close)
	fetcher, err := open(f.Context(), Options{
		Attempts: 1, Timeout: 10 * time.Second, Environ: map[string]string{}, Storage: storage.Settings{AllowPrivate: true},
	}, s.dial)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(fetcher.Close)
	direct := fetcher.guard.Direct
	direct.DialTLSContext = direct.DialContext // the servers of memory speak no TLS
	f.Fuzz(func(t *testing.T, text string) {
		r := fetch(t, fetcher, text)[0]
		if text == "" && (r.Data != nil || r.Reason != "") {
			t.Errorf("no URL: %+v", r)
		}
		if user, _, found := strings.Cut(text, "@"); found && len(user) > 20 && strings.Contains(r.Reason, user) {
			t.Errorf("%q shows a password: %q", text, r.Reason)
		}
	})
}
