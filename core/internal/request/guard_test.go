package request

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

func TestIsPublic(t *testing.T) {
	t.Parallel()
	for _, a := range []string{
		"127.0.0.1", "127.8.8.8", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.100.100.200", "168.63.129.16", "192.0.0.192",
		"0.0.0.0", "0.1.2.3", "224.0.0.1", "240.0.0.1", "255.255.255.255", "198.18.0.1", "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1",
		"::ffff:169.254.169.254", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "64:ff9b::7f00:1", "2002:7f00:1::1", "2001:0:1::1",
	} {
		if isPublic(netip.MustParseAddr(a)) {
			t.Errorf("%s passes for public", a)
		}
	}
	for _, a := range []string{"1.1.1.1", "8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.0.1", "2606:4700::1111", "::ffff:8.8.8.8"} {
		if !isPublic(netip.MustParseAddr(a)) {
			t.Errorf("%s does not pass for public", a)
		}
	}
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST:80": true, "a.localhost": true, "127.0.0.1:9000": true, "[::1]:9000": true, "::1": true, "localhost.": true,
		"localhost.evil.example": false, "10.0.0.1": false, "127.0.0.1.evil.example": false, "": false,
	} {
		if IsLoopback(host) != want {
			t.Errorf("%q: loopback is %v", host, !want)
		}
	}
}

// TestPublicHostsOnly: a name that leads to this machine is refused when its address is known, and
// nothing is sent.
func TestPublicHostsOnly(t *testing.T) {
	t.Parallel()
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer server.Close()
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	c := client(t, storage.Settings{})
	for _, url := range []string{server.URL, "http://localhost" + port, "http://[::ffff:127.0.0.1]" + port, "http://0.0.0.0" + port, "http://0" + port} {
		if _, err := get(t, c, &Dialect{Public: true}, url+"/x", 0, 1, ""); !errs.Is(err, errs.Denied) || !strings.Contains(err.Error(), "allow_private") {
			if !errs.Is(err, errs.Storage) || !strings.Contains(err.Error(), "DNS") {
				// "0" is no name everywhere
				t.Errorf("%s: %v", url, err)
			}
		}
	}
	if asked {
		t.Error("the server was asked")
	}
	through := client(t, storage.Settings{Proxy: server.URL})
	if _, err := get(t, through, &Dialect{Public: true}, "http://169.254.169.254/x", 0, 1, ""); !errs.Is(err, errs.Denied) || asked {
		t.Errorf("through a proxy: %v, asked %v", err, asked)
	}
	if _, err := get(t, c, &Dialect{Public: true, AllowPrivate: true}, server.URL, 0, -1, ""); err != nil || !asked {
		t.Errorf("allowed: %v", err)
	}
}

// TestNoWayBackToClear: https does not lead to http, not even on one host.
func TestNoWayBackToClear(t *testing.T) {
	t.Parallel()
	d := &Dialect{Redirects: 3, AllowPrivate: true}
	rq := httptest.NewRequest(http.MethodGet, "https://a.example/x", nil)
	for _, to := range []string{"http://a.example/x", "http://b.example/"} {
		if _, err := d.follow(rq, to); !errs.Is(err, errs.Denied) {
			t.Errorf("%s: %v", to, err)
		}
	}
	if _, err := d.follow(rq, "https://me:hunter2@b.example/"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("with a password: %v", err)
	}
	if next, err := d.follow(rq, "/y"); err != nil || next.URL.String() != "https://a.example/y" {
		t.Errorf("on the same host: %v", err)
	}
}
