package server

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"deeplake/core/errs"
)

// guard decides who may connect. A page shows a key, which works once, and gets the token, which
// every request names in a header. No cookie holds it: cookies are shared by all ports of a host.
type guard struct {
	token string
	hosts []string // names besides those of the loopback interface

	mu   sync.Mutex
	keys []key // that were not used yet, the oldest first
}

// key opens one page.
type key struct {
	text string
	own  bool // for a connection of the account of this process alone
}

// mostKeys unused keys are valid. An older one is forgotten.
const mostKeys = 32

func newGuard(hosts []string) *guard { return &guard{token: secret(), hosts: hosts} }

// secret returns 256 random bits as text.
func secret() string {
	b := make([]byte, 32)
	rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// key makes a key for one page. Other accounts can read an own key, but not use it.
func (g *guard) key(own bool) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.keys) == mostKeys {
		g.keys = slices.Delete(g.keys, 0, 1)
	}
	k := secret()
	g.keys = append(g.keys, key{k, own})
	return k
}

// enter takes a key and returns the token. isOwn reports whether this account has opened the
// connection; it is asked if the key needs that. A key that it refuses stays valid.
func (g *guard) enter(given string, isOwn func() bool) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, k := range g.keys {
		if subtle.ConstantTimeCompare([]byte(k.text), []byte(given)) == 1 {
			if k.own && !isOwn() {
				return "", errs.Op("open the visualizer", "").New(errs.Denied, "this link is for a browser of the account that shows the dataset, on the same machine; open the link that the program prints")
			}
			g.keys = slices.Delete(g.keys, i, i+1)
			return g.token, nil
		}
	}
	return "", errs.Op("open the visualizer", "").New(errs.Denied, "the key of this link was used before, or is of another server; get a new link")
}

// check refuses requests of strangers. A request of another site's page is refused even if it has
// the token.
func (g *guard) check(r *http.Request) error {
	if err := g.checkHost(r); err != nil {
		return err
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return errs.New(errs.Denied, "request of another site (Sec-Fetch-Site %.40q)", site)
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || u.Host != r.Host && !slices.Contains(g.hosts, u.Hostname()) {
			return errs.New(errs.Denied, "request of another origin, %.100q", origin)
		}
	}
	return nil
}

// checkHost refuses names that do not belong to the server: a hostile name that leads to this
// machine (DNS rebinding).
func (g *guard) checkHost(r *http.Request) error {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.Trim(r.Host, "[]")
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() || slices.Contains(g.hosts, host) {
		return nil
	}
	return errs.New(errs.Denied, "request for host %.100q, want localhost; name it by allow_hosts if a proxy stands before the visualizer", host)
}

// admit is check for requests that need the token.
func (g *guard) admit(r *http.Request) error {
	if err := g.check(r); err != nil {
		return err
	}
	return g.authorized(r)
}

// authorized reports whether the request has the token.
func (g *guard) authorized(r *http.Request) error {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || subtle.ConstantTimeCompare([]byte(given), []byte(g.token)) != 1 {
		return errs.New(errs.Denied, "request without the token of this server; open a new link")
	}
	return nil
}

// policy is the Content-Security-Policy: scripts of this origin alone, no inline script, and no
// request to any other place. Notebooks of this machine and of named hosts may frame the page.
func (g *guard) policy() string {
	frames := "'self' http://localhost:* http://127.0.0.1:* https://localhost:* https://127.0.0.1:* vscode-webview:"
	for _, h := range g.hosts {
		frames += " https://" + h + " https://" + h + ":* http://" + h + ":*"
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self'; connect-src 'self'; " +
		"worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors " + frames
}

func (g *guard) headers(h http.Header) {
	h.Set("Content-Security-Policy", g.policy())
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
}

// validHost reports whether a name may stand in a policy and be compared with a Host header.
func validHost(h string) bool {
	ok := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_'
	}
	return h != "" && len(h) <= 253 && strings.IndexFunc(h, func(c rune) bool { return !ok(c) }) < 0
}
