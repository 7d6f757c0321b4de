package request

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"deeplake/core/errs"
)

// reserved lists networks without a public host that the standard library calls neither loopback,
// private nor link-local. Some hold an IPv4 address in their last bits. All addresses in them are
// refused.
func reserved() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"),
		netip.MustParsePrefix("100.64.0.0/10"),      // carriers; the metadata service of Alibaba
		netip.MustParsePrefix("168.63.129.16/32"),   // the metadata service of Azure
		netip.MustParsePrefix("192.0.0.0/24"),       // the metadata service of Oracle
		netip.MustParsePrefix("198.18.0.0/15"),      // benchmarks
		netip.MustParsePrefix("240.0.0.0/4"),        // and broadcast
		netip.MustParsePrefix("::/96"),              // IPv4-compatible
		netip.MustParsePrefix("64:ff9b::/96"),       // NAT64
		netip.MustParsePrefix("64:ff9b:1::/48"),     // NAT64 of a network
		netip.MustParsePrefix("2001::/32"),          // Teredo
		netip.MustParsePrefix("2002::/16"),          // 6to4
		netip.MustParsePrefix("fec0::/10"),          // site-local
		netip.MustParsePrefix("::ffff:0:0:0/96"),    // IPv4-translated
		netip.MustParsePrefix("5f00::/16"),          // segment routing
		netip.MustParsePrefix("2001:db8::/32"),      // documentation
		netip.MustParsePrefix("192.88.99.0/24"),     // relays of 6to4
		netip.MustParsePrefix("255.255.255.255/32"), // broadcast
	}
}

// isPublic reports whether an address is one that any machine on the internet may have.
func isPublic(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() {
		return false
	}
	for _, p := range reserved() {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// IsLoopback reports whether a host, with or without a port, is this machine by its name or number.
func IsLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

func notPublic(host, addr string) error {
	return errs.New(errs.Denied, "host %q has the address %s, of this machine or a private network, and stored text or a redirection chose it; "+
		"if that is meant name the host in link_storage, or give allow_private=True to its storage", host, addr)
}

// controlPublic refuses to connect to addresses that are not public. It is a net.Dialer.Control: it
// sees each address after the name was resolved, so that a second resolution cannot bring another
// one.
func controlPublic(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !isPublic(at.Addr()) {
		return notPublic(address, address)
	}
	return nil
}

// Guard sends requests to public hosts only. All methods may be called in parallel. The transports
// may be changed before the first request.
type Guard struct {
	Direct *http.Transport // without a check
	Public *http.Transport // checks each address that it connects to
	Limit  time.Duration   // of one attempt to connect
}

// newGuard checks what t sends.
func newGuard(t *http.Transport, limit time.Duration) *Guard {
	public := t.Clone()
	public.Proxy = nil // a proxy resolves names itself
	public.DialContext = (&net.Dialer{Timeout: limit, KeepAlive: 30 * time.Second, Control: controlPublic}).DialContext
	public.TLSNextProto = t.TLSNextProto
	return &Guard{Direct: t, Public: public, Limit: limit}
}

// Guard returns a guard with connections of its own, made as those of c are.
func (c *Client) Guard() *Guard {
	own := c.reads.Clone()
	own.TLSNextProto = c.reads.TLSNextProto
	return newGuard(own, c.limit)
}

// RoundTrip sends rq, or returns errs.Denied in the chain of errors for a host that is not public.
// Where a proxy is used it resolves the name, and decides itself which networks it connects to;
// hosts given as numbers are checked all the same. It follows no redirection.
func (g *Guard) RoundTrip(rq *http.Request) (*http.Response, error) {
	proxy, err := g.Direct.Proxy(rq)
	if err != nil {
		return nil, err
	}
	if proxy == nil {
		return g.Public.RoundTrip(rq)
	}
	host := rq.URL.Hostname()
	if a, err := netip.ParseAddr(host); err == nil && !isPublic(a) || IsLoopback(host) {
		return nil, notPublic(host, host)
	}
	return g.Direct.RoundTrip(rq)
}

// CloseIdleConnections drops the connections that no request uses.
func (g *Guard) CloseIdleConnections() {
	g.Direct.CloseIdleConnections()
	g.Public.CloseIdleConnections()
}
