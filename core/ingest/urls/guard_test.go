package urls

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"deeplake/core/storage"
)

const private = "the address is private; allow it with allow_private"

// TestPrivateAddresses: what leads to this machine or its networks is refused before a byte is
// sent: by number, by name, and behind a redirection of a public host.
func TestPrivateAddresses(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	secret := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, "secret")
	}))
	defer secret.Close()
	port := secret.URL[strings.LastIndex(secret.URL, ":"):]
	hidden := []string{
		secret.URL, "http://localhost" + port, "http://[::ffff:127.0.0.1]" + port + "/", "http://0.0.0.0" + port, "http://169.254.169.254/latest/meta-data",
		"http://10.0.0.1/", "http://[::1]" + port, "http://[fd00::1]/", "https://192.168.1.1/",
	}
	open := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		fmt.Fprint(w, "open")
	}))
	defer open.Close()

	f := fetcher(t, Options{})
	// A public host, as far as the tests can have one: the check sees all other addresses.
	checked := f.guard.Public.DialContext
	f.guard.Public.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == "public.example:80" {
			return new(net.Dialer).DialContext(ctx, network, open.Listener.Addr().String())
		}
		return checked(ctx, network, addr)
	}
	if r := fetch(t, f, "http://public.example/")[0]; string(r.Data) != "open" {
		t.Fatalf("the public host: %q", r.Reason)
	}
	for _, url := range hidden {
		for _, text := range []string{url, "http://public.example/?to=" + url, "http://public.example/?to=http://public.example/?to=" + url} {
			if r := fetch(t, f, text)[0]; r.Reason != private {
				t.Errorf("%s: reason %q, data %q", text, r.Reason, r.Data)
			}
		}
	}
	through := fetcher(t, Options{Storage: storage.Settings{Proxy: open.URL}})
	if r := fetch(t, through, "http://public.example/")[0]; string(r.Data) != "open" {
		t.Fatalf("through a proxy: %q", r.Reason)
	}
	for _, text := range []string{"http://169.254.169.254/", "http://localhost" + port, "http://public.example/?to=http://10.0.0.1/"} {
		if r := fetch(t, through, text)[0]; r.Reason != private {
			t.Errorf("through a proxy, %s: reason %q", text, r.Reason)
		}
	}
	if asked.Load() != 0 {
		t.Error("the private server was asked")
	}
	if r := fetch(t, loopback(t, Options{}), secret.URL)[0]; string(r.Data) != "secret" {
		t.Errorf("allowed: %q", r.Reason)
	}
}

// TestNoSecretsAreSent: the hosts of a table get nothing of the settings but the two headers that
// are meant for all.
func TestNoSecretsAreSent(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var heads []http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		heads = append(heads, r.Header)
		mu.Unlock()
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/", http.StatusFound)
		}
		fmt.Fprint(w, "x")
	}))
	defer server.Close()
	f := loopback(t, Options{Storage: storage.Settings{
		BearerToken: "hunter2", AccessKeyID: "hunter2", SecretAccessKey: "hunter2",
		Headers: map[string]storage.Secret{"authorization": "hunter2", "X-Key": "hunter2", "Cookie": "hunter2", "user-agent": "me", "Accept": "image/*"},
	}})
	fetch(t, f, server.URL+"/moved", server.URL+"/")
	if len(heads) != 3 {
		t.Fatalf("%d requests", len(heads))
	}
	for _, h := range heads {
		var sent []string
		for name := range h {
			sent = append(sent, name)
		}
		slices.Sort(sent)
		if strings.Join(sent, " ") != "Accept Accept-Encoding User-Agent" || h.Get("User-Agent") != "me" || h.Get("Accept") != "image/*" {
			t.Errorf("sent %v", h)
		}
	}
}
