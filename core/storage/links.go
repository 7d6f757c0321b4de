package storage

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"deeplake/core/errs"
)

// LinkRule extends or narrows where stored text may lead.
type LinkRule struct {
	// "scheme://", "scheme://host" or "scheme://host/path"; a path matches whole segments
	Prefix   string
	Settings *Settings // how to reach the address; nil refuses it
}

// LinkPolicy decides which URLs the text stored in a dataset may lead to, and with which settings:
// links, datasets that a saved view names, URLs of a listing file. Such text may be written by an
// attacker. It reaches the store of its own dataset, and what Options.Links adds. Secrets stay with
// the server that they were given for.
//
// A LinkPolicy does not change. All methods may be called in parallel.
type LinkPolicy struct {
	home address // of the dataset; the zero address trusts no other
	uri  string
	o    Options
}

// Grant says how a URL is opened.
type Grant struct {
	Options
	Rule string // prefix of the rule that applies; "" without one
}

// NewLinkPolicy returns the policy of the dataset at uri, which was opened with o.
func NewLinkPolicy(uri string, o Options) *LinkPolicy {
	o.Create, o.Public = false, false
	home, err := parseAddress(uri)
	if err != nil {
		home = address{}
	}
	return &LinkPolicy{home: home, uri: uri, o: o}
}

// Stored returns how a URL in stored text is opened. A URL that the policy does not allow is
// errs.Denied.
func (p *LinkPolicy) Stored(uri string) (Grant, error) {
	to, err := parseAddress(uri)
	if err != nil {
		return Grant{}, err
	}
	if r := p.rule(to); r != nil {
		if r.Settings == nil {
			return Grant{}, errs.Op("reach", RedactURL(uri)).New(errs.Denied, `link_storage refuses what lies below %q`, r.Prefix)
		}
		return p.by(r), nil
	}
	if p.home.sameStore(to) {
		return Grant{Options: p.o}, nil
	}
	for _, named := range p.o.Named {
		if at, err := parseAddress(named); err == nil && at.covers(to) {
			return Grant{Options: p.named(to)}, nil
		}
	}
	return Grant{}, p.refusal(uri, to)
}

// Named returns how a URL is opened that the user names, not stored text: every address is allowed.
// The settings of the dataset apply on the server that they were given for, and a rule's where one
// matches.
func (p *LinkPolicy) Named(uri string) Options {
	to, err := parseAddress(uri)
	if err != nil {
		return p.plain()
	}
	if r := p.rule(to); r != nil && r.Settings != nil {
		o := p.by(r).Options
		o.Public = false
		return o
	}
	return p.named(to)
}

// NamedPlaces returns the addresses that Options.Named gave.
func (p *LinkPolicy) NamedPlaces() []string { return p.o.Named }

// CanName reports whether a user may add links to uri: a dataset on another machine takes no files
// of this one, which no other reader could open.
func (p *LinkPolicy) CanName(uri string) error {
	to, err := parseAddress(uri)
	if err != nil {
		return err
	}
	r := p.rule(to)
	if r != nil && r.Settings == nil || to.isLocal() && !p.home.isLocal() {
		_, err = p.Stored(uri)
	}
	return err
}

func (p *LinkPolicy) named(to address) Options {
	if p.home.sameServer(to) {
		return p.o
	}
	return p.plain()
}

// by returns the options of a rule. A rule that names no host leaves hosts to the stored text:
// those must be public.
func (p *LinkPolicy) by(r *LinkRule) Grant {
	o := p.o
	o.Settings = *r.Settings
	at, err := parseAddress(r.Prefix)
	o.Public = err != nil || at.host == "" && !at.isLocal()
	return Grant{Options: o, Rule: r.Prefix}
}

// plain returns the options without secrets and without what only one store understands.
func (p *LinkPolicy) plain() Options {
	o, s := p.o, p.o.Settings
	o.Settings = Settings{
		CAFile: s.CAFile, Proxy: s.Proxy, MaxPixels: s.MaxPixels,
		MaxConnections: s.MaxConnections, MaxBytesInFlight: s.MaxBytesInFlight, ConnectTimeout: s.ConnectTimeout, Timeout: s.Timeout,
		RetryTime: s.RetryTime, MaxAttempts: s.MaxAttempts, Hedge: s.Hedge,
		CacheDir: s.CacheDir, CacheBytes: s.CacheBytes, CacheMemoryBytes: s.CacheMemoryBytes,
	}
	return o
}

// rule returns the rule with the longest prefix of to, nil if none matches.
func (p *LinkPolicy) rule(to address) *LinkRule {
	var best *LinkRule
	longest := -1
	for i := range p.o.Links {
		r := &p.o.Links[i]
		at, err := parseAddress(r.Prefix)
		if err == nil && at.covers(to) && len(at.host)+len(at.path) > longest {
			best, longest = r, len(at.host)+len(at.path)
		}
	}
	return best
}

func (p *LinkPolicy) refusal(uri string, to address) error {
	remedy := to.scheme + "://" + to.host
	why := "text stored in a dataset leads only into the dataset's own store"
	if to.isLocal() {
		why = "a dataset on another machine does not read files of this one"
	}
	if to.scheme == "file" {
		remedy += path.Dir(to.path)
	}
	return errs.New(errs.Denied, "reach %q from %q: %s; to allow it give link_storage={%q: deeplake.Storage()}",
		RedactURL(uri), RedactURL(p.uri), why, remedy)
}

// CheckLinkRules refuses prefixes that no URL can match, and one that is given twice.
func CheckLinkRules(rules []LinkRule) error {
	var seen []string
	for _, r := range rules {
		scheme, _, found := strings.Cut(r.Prefix, "://")
		at, err := parseAddress(r.Prefix)
		if !found || scheme == "" || err != nil || at.climbs {
			return errs.New(errs.Invalid, `link_storage: %q is no prefix of URLs (want for example "s3://bucket", "https://host/path" or "file:///folder")`, RedactURL(r.Prefix))
		}
		key := at.scheme + "://" + at.host + at.path
		if slices.Contains(seen, key) {
			return errs.New(errs.Invalid, "link_storage: %q is given twice", r.Prefix)
		}
		seen = append(seen, key)
	}
	return nil
}

// address is a URI taken apart the way that the stores take it.
type address struct {
	scheme string // "gs" for "gcs" too
	host   string // host and port, or bucket; "" for files
	path   string // "" or begins with "/", without "/" at the end
	climbs bool   // a segment is ".." or has a "\": some servers leave the folder by it
}

func parseAddress(uri string) (address, error) {
	scheme, rest := split(uri)
	a := address{scheme: scheme}
	switch scheme {
	case "http", "https":
		if rest == "" {
			return a, nil
		}
		u, err := url.Parse(uri)
		if err != nil || u.Host == "" {
			return a, errs.New(errs.Invalid, `%q is not a URL`, RedactURL(uri))
		}
		a.host = webHost(scheme, u)
		a.setPath(u.Path)
	case "file":
		a.setPath(rest)
		if !a.climbs && a.path != "" {
			a.path = strings.TrimSuffix(path.Clean(a.path), "/")
		}
	case "gcs":
		a.scheme = "gs"
		fallthrough
	default:
		host, rest, found := strings.Cut(rest, "/")
		a.host = host
		if found {
			a.setPath("/" + rest)
		}
	}
	return a, nil
}

func (a *address) setPath(p string) {
	a.climbs = strings.Contains(p, `\`) || slices.Contains(strings.Split(p, "/"), "..")
	a.path = strings.TrimRight(p, "/")
}

// webHost is the host in lower case, without the port that the scheme implies.
func webHost(scheme string, u *url.URL) string {
	host := strings.ToLower(u.Host)
	port := map[string]string{"http": ":80", "https": ":443"}[scheme]
	return strings.TrimSuffix(host, port)
}

// Covers reports whether uri is prefix or lies below it. An empty prefix covers nothing.
func Covers(prefix, uri string) bool {
	a, err := parseAddress(prefix)
	if err != nil || prefix == "" {
		return false
	}
	to, err := parseAddress(uri)
	return err == nil && a.covers(to)
}

// isLocal reports whether the address is of this machine, or of this process.
func (a address) isLocal() bool { return a.scheme == "file" || a.scheme == "mem" }

// sameStore reports whether two addresses are of one store, so that text stored there may lead into
// it.
func (a address) sameStore(to address) bool {
	if a.isLocal() && to.isLocal() {
		return true
	}
	return a.scheme == to.scheme && a.host == to.host
}

// sameServer reports whether the same server answers for both: secrets given for the one may be
// sent for the other. Buckets of one kind of store share the endpoint of their settings.
func (a address) sameServer(to address) bool {
	return a.sameStore(to) || a.scheme == to.scheme && (a.scheme == "s3" || a.scheme == "gs")
}

// covers reports whether to lies below the prefix a.
func (a address) covers(to address) bool {
	switch {
	case a.scheme != to.scheme:
		return false
	case a.host == "" && a.path == "":
		return true
	case a.host != to.host:
		return false
	case a.path == "":
		return true
	}
	return !to.climbs && (to.path == a.path || strings.HasPrefix(to.path, a.path+"/"))
}
