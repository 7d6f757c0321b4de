package httpstore

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// serving serves files as a web server does: with ranges, times, and no ETag.
func serving(t *testing.T, files map[string]string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, r.URL.Path, time.Unix(1_700_000_000, 0), strings.NewReader(text))
	}))
	t.Cleanup(server.Close)
	return server
}

func rest(server *httptest.Server) string { return strings.TrimPrefix(server.URL, "http://") }

func options(s storage.Settings) storage.Options {
	return storage.Options{Settings: s, Environ: map[string]string{}}
}

func provider(t *testing.T, rest string, s storage.Settings) storage.Provider {
	t.Helper()
	p, err := new(Stores).Opener("http")(t.Context(), rest, options(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func source(t *testing.T, rest string, s storage.Settings) storage.Source {
	t.Helper()
	out, err := new(Stores).SourceOpener("http")(t.Context(), rest, options(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	return out
}

func TestReads(t *testing.T) {
	t.Parallel()
	server := serving(t, map[string]string{"/a dir/data/x#?%41": "0123456789", "/a dir/empty": ""})
	p := provider(t, rest(server)+"/a%20dir/", storage.Settings{})
	if got, err := p.Get(t.Context(), "data/x#?%41"); err != nil || string(got) != "0123456789" {
		t.Errorf("get: %q, %v", got, err)
	}
	if got, err := p.Get(t.Context(), "empty"); err != nil || len(got) != 0 {
		t.Errorf("get of nothing: %q, %v", got, err)
	}
	dst := make([]byte, 4)
	if err := p.ReadAt(t.Context(), "data/x#?%41", dst, 3); err != nil || string(dst) != "3456" {
		t.Errorf("read: %q, %v", dst, err)
	}
	for name, c := range map[string]struct {
		key  string
		off  int64
		kind errs.Kind
	}{
		"missing": {"none", 0, errs.NotFound}, "behind": {"data/x#?%41", 8, errs.Corrupt}, "far": {"data/x#?%41", 1 << 40, errs.Corrupt},
		"negative": {"data/x#?%41", -1, errs.Invalid}, "key": {"../secret", 0, errs.Invalid},
	} {
		if err := p.ReadAt(t.Context(), c.key, dst, c.off); !errs.Is(err, c.kind) {
			t.Errorf("%s: got %v, want %v", name, err, c.kind)
		}
	}
	if p.URI() != server.URL+"/a%20dir/" {
		t.Errorf("uri %q", p.URI())
	}
}

func TestNothingIsWritten(t *testing.T) {
	t.Parallel()
	p := provider(t, rest(serving(t, nil)), storage.Settings{})
	_, createErr := storage.Create(t.Context(), p, "a")
	for op, err := range map[string]error{
		"put": p.Put(t.Context(), "a", nil), "put-if-absent": p.PutIfAbsent(t.Context(), "a", nil), "delete": p.Delete(t.Context(), "a"), "create": createErr,
	} {
		if !errs.Is(err, errs.ReadOnly) {
			t.Errorf("%s: %v", op, err)
		}
	}
	if err := p.List(t.Context(), "", "", func(storage.Object) bool { return true }); !errs.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "s3://") {
		t.Errorf("list: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := p.Get(t.Context(), "a"); !errs.Is(err, errs.Closed) {
		t.Errorf("get after close: %v", err)
	}
}

func TestChangedObjectIsNoticed(t *testing.T) {
	t.Parallel()
	server := serving(t, map[string]string{"/a": "0123456789"})
	r := provider(t, rest(server), storage.Settings{}).(storage.Ranger)
	b, err := r.Range(t.Context(), "a", 2, 3, "")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if b.Tag() == "" {
		t.Error("the time of the last change is no tag")
	}
	if b, err := r.Range(t.Context(), "a", 5, 3, b.Tag()); err != nil {
		t.Error(err)
	} else {
		b.Close()
	}
	if _, err := r.Range(t.Context(), "a", 5, 3, "Sun, 06 Nov 1994 08:49:37 GMT"); !errs.Is(err, errs.Conflict) {
		t.Errorf("another tag: %v", err)
	}
}

// TestHeaders: the user's headers are sent to the site, to no other, and are in no error.
func TestHeaders(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header["Authorization"])+len(r.Header["X-Api-Key"]) > 0 {
			t.Errorf("a stranger is told %v", r.Header)
		}
		fmt.Fprint(w, "there")
	}))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer hunter2" || r.Header.Get("X-Api-Key") != "k" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		if r.URL.Path == "/away" {
			http.Redirect(w, r, other.URL, http.StatusFound)
			return
		}
		fmt.Fprint(w, "here")
	}))
	t.Cleanup(server.Close)
	good := storage.Settings{BearerToken: "hunter2", Headers: map[string]storage.Secret{"x-api-key": "k"}, AllowPrivate: true}
	o := options(good)
	o.Links = []storage.LinkRule{{Prefix: other.URL, Settings: &storage.Settings{}}}
	s, err := new(Stores).SourceOpener("http")(t.Context(), rest(server)+"/list.txt", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for name, want := range map[string]string{"here": "here", "away": "there", other.URL + "/x": "there"} {
		b, err := s.Range(t.Context(), name, 0, -1, "")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := io.ReadAll(b); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		b.Close()
	}
	bad := storage.Settings{BearerToken: "secret?"}
	if _, err := provider(t, rest(server), bad).Get(t.Context(), "a"); !errs.Is(err, errs.Denied) || strings.Contains(err.Error(), "secret?") {
		t.Errorf("refused: %v", err)
	}
}

func TestListing(t *testing.T) {
	t.Parallel()
	server := serving(t, map[string]string{
		"/sub/list.txt": "# pictures\na/1.jpg\t5\r\n\nb c/2?.jpg\n../up.jpg\t2\nhttp://HOST/top.jpg\n",
		"/sub/a/1.jpg":  "first", "/sub/b c/2?.jpg": "second", "/up.jpg": "up", "/top.jpg": "top",
	})
	s := source(t, rest(server)+"/sub/list.txt", storage.Settings{})
	var names []string
	err := s.Objects(t.Context(), "", "", func(e storage.Entry) bool {
		names = append(names, fmt.Sprint(e.Key, " ", e.Size))
		return true
	})
	want := []string{"a/1.jpg 5", "b c/2?.jpg -1", "../up.jpg 2", "http://HOST/top.jpg -1"}
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("got %q, %v, want %q", names, err, want)
	}
	for name, want := range map[string]string{"a/1.jpg": "first", "b c/2?.jpg": "second", "b%20c/2%3F.jpg": "second", "../up.jpg": "up", server.URL + "/top.jpg": "top"} {
		b, err := s.Range(t.Context(), name, 0, -1, "")
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if got, err := io.ReadAll(b); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", name, got, err)
		}
		b.Close()
	}
	var some []string
	if err := s.Objects(t.Context(), "", "a/1.jpg", func(e storage.Entry) bool { some = append(some, e.Key); return false }); err != nil || len(some) != 1 || some[0] != "b c/2?.jpg" {
		t.Errorf("one after the first: %q, %v", some, err)
	}
}

// TestCheckName refuses what Range refuses without a request.
func TestCheckName(t *testing.T) {
	t.Parallel()
	server := serving(t, map[string]string{"/l": ""})
	s := source(t, rest(server)+"/l", storage.Settings{})
	for name, want := range map[string]errs.Kind{"https://elsewhere.example/a.jpg": errs.Denied, "http://": errs.Invalid, "": errs.Invalid} {
		if err := s.(interface{ CheckName(string) error }).CheckName(name); !errs.Is(err, want) {
			t.Errorf("%q: %v, want %v", name, err, want)
		}
	}
	for _, name := range []string{"a/1.jpg", server.URL + "/x.jpg"} {
		if err := s.(interface{ CheckName(string) error }).CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestBadListings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"page": {"<!DOCTYPE html>\n<html>", "web page"}, "size": {"a\tmany", "not a size"}, "negative": {"a\t-1", "not a size"},
		"no name": {"\t5", "no name"}, "binary": {strings.Repeat("x", maxLine+1), "not a listing file"},
		"picture": {"\xff\xd8\xff\xe0\x00\x10JFIF\t\b", "is no text"}, "control": {"a.jpg\t\b", "is no text"},
	} {
		s := source(t, rest(serving(t, map[string]string{"/l": c.text}))+"/l", storage.Settings{})
		err := s.Objects(t.Context(), "", "", func(storage.Entry) bool { return true })
		if !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBadAddresses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rest string
		s    storage.Settings
	}{
		{"", storage.Settings{}},
		{"user:hunter2@example.com/x", storage.Settings{}},
		{"example.com/x?signature=hunter2", storage.Settings{}},
		{"example.com/x", storage.Settings{Headers: map[string]storage.Secret{"a b": "hunter2"}}},
		{"example.com/x", storage.Settings{Headers: map[string]storage.Secret{"a": "hunter2\r\nb: c"}}},
		{"example.com/x", storage.Settings{Headers: map[string]storage.Secret{"range": "hunter2"}}},
		{"exa mple.com", storage.Settings{}},
	} {
		_, err := new(Stores).Opener("https")(t.Context(), c.rest, options(c.s))
		if !errs.Is(err, errs.Invalid) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("open %q: %v", c.rest, err)
		}
	}
}

func TestConnectionsAreShared(t *testing.T) {
	t.Parallel()
	stores := new(Stores)
	open := func(s storage.Settings) *Provider {
		p, err := stores.Opener("http")(t.Context(), "example.com", options(s))
		if err != nil {
			t.Fatal(err)
		}
		return p.(*Provider)
	}
	a, b, c := open(storage.Settings{}), open(storage.Settings{}), open(storage.Settings{BearerToken: "x", AllowInsecure: true})
	if a.site.client != b.site.client || a.site.client == c.site.client {
		t.Error("what has the same settings shares, what has others does not")
	}
	for _, p := range []*Provider{a, b, c} {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(stores.open) != 0 {
		t.Errorf("%d are open after the last use", len(stores.open))
	}
}

func FuzzListing(f *testing.F) {
	for _, line := range []string{"a\t5", "https://example.com/a?b#c", "../x", "%zz", "a b\t", "#", "//host/x", "http://u:p@h/", "\x00\xff", "?", "javascript:x"} {
		f.Add(line)
	}
	base := &url.URL{Scheme: "https", Host: "example.com", Path: "/dir/list.txt"}
	f.Fuzz(func(t *testing.T, line string) {
		e, ok, err := parseLine(line)
		if err != nil || !ok {
			return
		}
		if e.Key == "" || e.Size < -1 {
			t.Errorf("%q names %+v", line, e)
		}
		u, err := resolve(base, e.Key)
		if err != nil {
			return
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			t.Errorf("%q leads to %q", line, u)
		}
		if absolute := strings.HasPrefix(e.Key, "http://") || strings.HasPrefix(e.Key, "https://"); !absolute && u.Host != base.Host {
			t.Errorf("%q, which is relative, leads to another host: %q", line, u)
		}
	})
}
