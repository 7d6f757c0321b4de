package server

import (
	"net/http"
	"runtime"
	"strings"
	"testing"

	"deeplake/core/errs"
)

// TestStrangers tries all ways in without leave.
func TestStrangers(t *testing.T) {
	t.Parallel()
	f := serve(t, Options{})
	token := f.token
	set := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h[pairs[i]] = []string{pairs[i+1]}
		}
		return h
	}
	own := "http://" + f.Address()
	for name, c := range map[string]struct {
		header http.Header
		want   int
	}{
		"with the token":         {set(), 200},
		"same origin":            {set("Origin", own, "Sec-Fetch-Site", "same-origin"), 200},
		"no token":               {set("Authorization", ""), 403},
		"another token":          {set("Authorization", "Bearer "+strings.Repeat("A", len(token))), 403},
		"the token as a cookie":  {set("Authorization", "", "Cookie", "token="+token), 403},
		"another scheme":         {set("Authorization", "Basic "+token), 403},
		"DNS rebinding":          {set("Host", "evil.example"), 403},
		"rebinding with port":    {set("Host", "evil.example:80"), 403},
		"a prefix of localhost":  {set("Host", "localhost.evil.example"), 403},
		"an address elsewhere":   {set("Host", "192.168.1.7:80"), 403},
		"localhost, other port":  {set("Host", "localhost:8888", "Origin", "http://localhost:8888"), 200},
		"another origin":         {set("Origin", "http://evil.example"), 403},
		"another port's origin":  {set("Origin", "http://127.0.0.1:1"), 403},
		"an opaque origin":       {set("Origin", "null"), 403},
		"another site":           {set("Sec-Fetch-Site", "cross-site"), 403},
		"a sister site":          {set("Sec-Fetch-Site", "same-site"), 403},
		"a form":                 {set("Content-Type", "text/plain"), 400},
		"a form with parameters": {set("Content-Type", "application/x-www-form-urlencoded"), 400},
	} {
		if r, body := f.request("POST", "/api/words", "{}", c.header); r.StatusCode != c.want {
			t.Errorf("%s: %d %s, want %d", name, r.StatusCode, body, c.want)
		}
	}
	for _, method := range []string{"GET", "PUT", "DELETE", "OPTIONS", "HEAD"} {
		r, _ := f.request(method, "/api/words", "{}", nil)
		if r.StatusCode != 404 || r.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d", method, r.StatusCode)
		}
	}
	if r, _ := f.request("POST", "/api/words", "{}"+strings.Repeat(" ", mostBody), nil); r.StatusCode != 400 {
		t.Errorf("a long body: %d", r.StatusCode)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	f := serve(t, Options{})
	f.token = ""
	key := f.Key()
	var in struct{ Token string }
	f.call("enter", map[string]string{"key": key}, &in)
	for _, wrong := range []string{key, "", key[1:], in.Token} {
		if status, why := f.refused("enter", map[string]string{"key": wrong}); status != 403 || why.Kind != "denied" {
			t.Errorf("key %q: %d %+v", wrong, status, why)
		}
	}
	first := f.Key()
	for range mostKeys {
		f.Key()
	}
	if status, _ := f.refused("enter", map[string]string{"key": first}); status != 403 || len(f.guard.keys) > mostKeys {
		t.Errorf("the oldest of many keys: %d, %d are kept", status, len(f.guard.keys))
	}
	if link := f.Link(); !strings.HasPrefix(link, "http://127.0.0.1:") || !strings.Contains(link, "/#key=") {
		t.Errorf("the link is %s", link)
	}
}

// TestOwnKeys: a key in the argument list of a browser serves no other account, and stays valid.
func TestOwnKeys(t *testing.T) {
	t.Parallel()
	g := newGuard(nil)
	own := g.key(true)
	if token, err := g.enter(own, func() bool { return false }); !errs.Is(err, errs.Denied) || token != "" {
		t.Errorf("another account: %q, %v", token, err)
	}
	if token, err := g.enter(own, func() bool { return true }); err != nil || token != g.token {
		t.Errorf("this account: %v", err)
	}
	if _, err := g.enter(own, func() bool { return true }); !errs.Is(err, errs.Denied) {
		t.Errorf("the second use: %v", err)
	}
	f := serve(t, Options{})
	key := f.OwnKey()
	if known := runtime.GOOS == "linux"; known != (key != "") {
		t.Fatalf("the key is %q", key)
	}
	if key == "" {
		return
	}
	f.token = ""
	var in struct{ Token string }
	if f.call("enter", map[string]string{"key": key}, &in); in.Token == "" {
		t.Error("no token for this account")
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	f := serve(t, Options{})
	f.token = ""
	for path, want := range map[string]string{
		"/": "text/html; charset=utf-8", "/index.html": "text/html; charset=utf-8", "/assets/app-1.js": "text/javascript; charset=utf-8",
	} {
		r, body := f.request("GET", path, "", nil)
		policy := r.Header.Get("Content-Security-Policy")
		if r.StatusCode != 200 || r.Header.Get("Content-Type") != want || len(body) == 0 {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.Header.Get("Content-Type"))
		}
		if !strings.Contains(policy, "default-src 'none'; script-src 'self';") || strings.Contains(policy, "unsafe") ||
			r.Header.Get("X-Content-Type-Options") != "nosniff" || r.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: headers %v", path, r.Header)
		}
		if immutable := strings.Contains(r.Header.Get("Cache-Control"), "immutable"); immutable != strings.HasPrefix(path, "/assets/") {
			t.Errorf("%s: Cache-Control %q", path, r.Header.Get("Cache-Control"))
		}
	}
	for _, path := range []string{"/../guard.go", "/..%2f..%2fetc/passwd", "/assets", "/assets/", "/nothing", "//etc/passwd", "/%00", "/assets/..%5c..%5cx"} {
		if r, body := f.request("GET", path, "", nil); r.StatusCode == 200 && !strings.Contains(string(body), "<title>page") {
			t.Errorf("%s: %d %.60s", path, r.StatusCode, body)
		}
	}
	if r, _ := f.request("GET", "/", "", http.Header{"Host": []string{"evil.example"}}); r.StatusCode != 403 {
		t.Errorf("the page under another name: %d", r.StatusCode)
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	f := serve(t, Options{Hosts: []string{"hub.example.org"}})
	if r, _ := f.request("POST", "/api/words", "{}", http.Header{"Host": []string{"hub.example.org"}, "Origin": []string{"https://hub.example.org"}}); r.StatusCode != 200 {
		t.Errorf("a named proxy: %d", r.StatusCode)
	}
	for name, c := range map[string]struct {
		o    Options
		kind errs.Kind
		want string
	}{
		"host":  {Options{Hosts: []string{"a b; script-src *"}, Page: newPage(t)}, errs.Invalid, "allow_hosts"},
		"port":  {Options{Port: 1 << 20, Page: newPage(t)}, errs.Invalid, "65535"},
		"page":  {Options{Page: t.TempDir()}, errs.NotFound, "make web"},
		"where": {Options{Host: "203.0.113.7", Page: newPage(t)}, errs.Storage, "another port"},
	} {
		if _, err := Listen(c.o); errs.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
