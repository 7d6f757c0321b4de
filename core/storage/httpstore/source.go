package httpstore

import (
	"bufio"
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/web"
)

// maxLine bounds a line of a listing.
const maxLine = 16 << 10

// Source holds the objects of a listing file. Each line of it is an absolute URL, or a path
// relative to the file's own URL, followed by a tab and the size where that is known; empty lines
// and lines that begin with "#" are skipped. Names are the text of the lines. A URL on another host
// is read where storage.LinkPolicy allows it, without the secrets of the listing's host. All
// methods may be called in parallel.
type Source struct {
	site
	stores *Stores
	policy *storage.LinkPolicy

	mu   sync.Mutex
	away map[string]*site // by origin and rule
}

// Range asks for a part of what name says; storage.Ranger.
func (s *Source) Range(ctx context.Context, name string, off, n int64, tag string) (storage.Body, error) {
	if err := s.Admit(ctx, "read", name); err != nil {
		return nil, err
	}
	u, err := resolve(s.base, name)
	if err != nil {
		return nil, errs.Wrap(errs.Invalid, "read", storage.RedactURL(name), err)
	}
	at := &s.site
	if !s.isHome(u) {
		if at, err = s.other(ctx, u); err != nil {
			return nil, errs.Wrap(errs.Storage, "read", storage.RedactURL(name), err)
		}
	}
	return at.Ask(ctx, name, u, off, n, tag)
}

// CheckName returns the error for which Range refuses a name without a request: errs.Invalid for no
// URL, errs.Denied for a host that the policy refuses.
func (s *Source) CheckName(name string) error {
	u, err := resolve(s.base, name)
	if err != nil || s.isHome(u) {
		return err
	}
	_, err = s.policy.Stored(u.String())
	return err
}

// other opens the host of u, which the listing names, or gives the one that is open.
func (s *Source) other(ctx context.Context, u *url.URL) (*site, error) {
	grant, err := s.policy.Stored(u.String())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := u.Scheme + "://" + u.Host + " " + grant.Rule
	if at := s.away[key]; at != nil {
		return at, nil
	}
	at := &site{}
	if err := s.stores.take(ctx, u.Scheme, u.Host+"/", grant.Options, at); err != nil {
		return nil, err
	}
	if s.away == nil {
		s.away = map[string]*site{}
	}
	s.away[key] = at
	return at, nil
}

// Close ends the use of the connections, which are closed with the last user.
func (s *Source) Close() error {
	s.mu.Lock()
	for key, at := range s.away {
		_ = at.Close()
		delete(s.away, key)
	}
	s.mu.Unlock()
	return s.site.Close()
}

// Objects reads the listing file line by line, in the order of the file; storage.Source.
func (s *Source) Objects(ctx context.Context, prefix, after string, fn func(storage.Entry) bool) error {
	const op = "list"
	if err := s.Admit(ctx, op, s.URI()); err != nil {
		return err
	}
	b, err := s.Ask(ctx, s.URI(), s.base, 0, -1, "")
	if err != nil {
		return err
	}
	defer b.Close()
	in := bufio.NewScanner(b)
	in.Buffer(make([]byte, 4<<10), maxLine)
	for number := 1; in.Scan(); number++ {
		e, ok, err := parseLine(in.Text())
		if err != nil {
			return errs.Op("list", s.URI()).New(errs.Invalid, "line %d: %w", number, err)
		}
		if !ok || !strings.HasPrefix(e.Key, prefix) || after != "" && e.Key <= after {
			continue
		}
		if !fn(e) {
			return nil
		}
		if err := s.Admit(ctx, op, s.URI()); err != nil {
			return err
		}
	}
	if errors.Is(in.Err(), bufio.ErrTooLong) {
		return errs.Op("list", s.URI()).New(errs.Invalid, "a line is longer than %d bytes; this is not a listing file", maxLine)
	}
	return errs.Wrap(errs.Storage, op, s.URI(), in.Err())
}

// parseLine reads one line; ok is false for those that name nothing.
func parseLine(line string) (e storage.Entry, ok bool, err error) {
	line = strings.TrimSuffix(line, "\r")
	if line == "" || line[0] == '#' {
		return e, false, nil
	}
	if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return e, false, errs.New(errs.Invalid, "the file is no text; give the URL of a text file with one URL or path in each line")
	}
	name, size, sized := strings.Cut(line, "\t")
	e = storage.Entry{Key: name, Size: -1}
	if sized {
		if e.Size, err = strconv.ParseInt(strings.TrimSpace(size), 10, 64); err != nil || e.Size < 0 {
			return e, false, errs.New(errs.Invalid, "%q is not a size", size)
		}
	}
	if begin := strings.ToLower(line[:min(len(line), 14)]); strings.HasPrefix(begin, "<!doctype") || strings.HasPrefix(begin, "<html") {
		return e, false, errs.New(errs.Invalid, "the file is a web page; give the URL of a text file with one URL or path in each line")
	}
	if name == "" {
		return e, false, errs.New(errs.Invalid, "no name before the tab")
	}
	return e, true, nil
}

// resolve is the URL of name. A relative one is a path: "?" and "#" belong to it, and "%41" is
// already escaped.
func resolve(base *url.URL, name string) (*url.URL, error) {
	if scheme, _, found := strings.Cut(name, "://"); found && (scheme == "http" || scheme == "https") {
		u, err := url.Parse(name)
		if err != nil || u.Hostname() == "" || u.User != nil {
			return nil, errs.New(errs.Invalid, "not a URL without a password in it")
		}
		u.Fragment = ""
		return u, nil
	}
	if name == "" {
		return nil, errs.New(errs.Invalid, "the name is empty")
	}
	path, err := url.PathUnescape(name)
	raw := name
	if err != nil {
		path, raw = name, web.Escape(name)
	}
	ref := &url.URL{Path: path, RawPath: raw}
	if ref.EscapedPath() != raw { // bytes that a URL cannot hold
		ref.RawPath = ""
	}
	out := base.ResolveReference(ref)
	out.RawQuery = ""
	return out, nil
}
