package hub_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/all"
)

const (
	firstCommit  = "0123456789abcdef0123456789abcdef01234567"
	secondCommit = "89abcdef0123456789abcdef0123456789abcdef"
)

// server answers as Hugging Face does: small files itself, those of LFS by another server.
type server struct {
	url    string
	mu     sync.Mutex
	token  string // "": none is wanted
	commit string
	files  map[string]string // those whose names begin with "large" are of LFS
	leaked bool              // a token came to the other server
	faults int               // requests to refuse first
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{commit: firstCommit, files: map[string]string{
		"README.md": "about", "data/small.csv": "a\n1\n", "data/large-é +%41.bin": strings.Repeat("large ", 1000), "other/x.txt": "x", "data/empty.txt": "",
	}}
	content := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leaked = s.leaked || r.Header.Get("Authorization") != ""
		w.Header().Set("ETag", `"of the other server"`)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(s.files[r.URL.Query().Get("file")]))
	}))
	t.Cleanup(content.Close)
	main := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.faults > 0 {
			s.faults--
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		if s.token != "" && r.Header.Get("Authorization") != "Bearer "+s.token {
			http.Error(w, `{"error":"Invalid username or password."}`, http.StatusUnauthorized)
			return
		}
		revisions := []string{"main", "v1.0", "refs/convert/parquet", s.commit}
		rest, isListing := strings.CutPrefix(r.URL.EscapedPath(), "/api/datasets/owner/name/revision/")
		if isListing && slices.Contains(revisions, unescaped(rest)) && r.URL.RawQuery == "blobs=true" {
			_ = json.NewEncoder(w).Encode(s.listing())
			return
		}
		rest, isFile := strings.CutPrefix(r.URL.EscapedPath(), "/datasets/owner/name/resolve/")
		revision, name, _ := strings.Cut(rest, "/")
		text, ok := s.files[unescaped(name)]
		switch {
		case !isFile || !ok || !slices.Contains(revisions, unescaped(revision)):
			http.Error(w, `{"error":"Repository not found"}`, http.StatusNotFound)
		case strings.Contains(name, "large"):
			http.Redirect(w, r, content.URL+"/?file="+url.QueryEscape(unescaped(name)), http.StatusFound)
		default:
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
		}
	}))
	t.Cleanup(main.Close)
	s.url = main.URL
	return s
}

func unescaped(text string) string {
	r, err := http.NewRequest(http.MethodGet, "http://x/"+text, nil)
	if err != nil {
		return ""
	}
	return r.URL.Path[1:]
}

func (s *server) listing() map[string]any {
	var all []map[string]any
	for name, text := range s.files {
		f := map[string]any{"rfilename": name, "size": len(text), "blobId": "blob of " + name}
		if strings.Contains(name, "large") {
			f["lfs"] = map[string]any{"sha256": "hash of " + name, "size": len(text)}
		}
		all = append(all, f)
	}
	return map[string]any{"id": "owner/name", "sha": s.commit, "siblings": all}
}

// open opens an address. home is a folder for the token of `hf auth login`.
func (s *server) open(t *testing.T, uri, home string, o storage.Options) (storage.Source, error) {
	t.Helper()
	o.Environ = map[string]string{"HF_ENDPOINT": s.url, "HF_HOME": home, "HF_TOKEN": o.Environ["HF_TOKEN"]}
	o.Settings.AllowPrivate = true // of the server that files are sent on to
	_, sources := all.New()
	source, err := sources.Open(t.Context(), uri, o)
	if err == nil {
		t.Cleanup(func() { _ = source.Close() })
	}
	return source, err
}

func read(ctx context.Context, s storage.Source, name string, off, n int64, tag string) (string, error) {
	b, err := s.Range(ctx, name, off, n, tag)
	if err != nil {
		return "", err
	}
	defer b.Close()
	p, err := io.ReadAll(b)
	return string(p), err
}

// TestFiles lists the files below a path, and reads all and parts of them.
func TestFiles(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.faults = 2 // which are repeated
	source, err := s.open(t, "hf://datasets/owner/name/data", t.TempDir(), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []storage.Entry
	if err := source.Objects(t.Context(), "", "", func(e storage.Entry) bool {
		got = append(got, e)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	large := "large-é +%41.bin"
	want := []storage.Entry{
		{Key: "empty.txt", Size: 0, Tag: "blob of data/empty.txt"},
		{Key: large, Size: 6000, Tag: "hash of data/" + large},
		{Key: "small.csv", Size: 4, Tag: "blob of data/small.csv"},
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got %v", got)
	}
	for _, c := range []struct {
		name   string
		off, n int64
		want   string
	}{
		{"small.csv", 0, -1, "a\n1\n"},
		{"small.csv", 2, 1, "1"},
		{large, 5994, 6, "large "},
		{large, 6, 5, "large"},
	} {
		for _, tag := range []string{"", want[1].Tag, want[2].Tag} {
			isOther := tag != "" && !strings.HasSuffix(tag, c.name)
			got, err := read(t.Context(), source, c.name, c.off, c.n, tag)
			if isOther && !errs.Is(err, errs.Conflict) || !isOther && (err != nil || got != c.want) {
				t.Errorf("%s from %d, tag %q: %q %v", c.name, c.off, tag, got, err)
			}
		}
	}
	if _, err := read(t.Context(), source, "none", 0, -1, ""); !errs.Is(err, errs.NotFound) {
		t.Error(err)
	}
	if source.URI() != "hf://datasets/owner/name/data" {
		t.Error(source.URI())
	}
}

// TestCommitStays: files are those of the commit that was listed.
func TestCommitStays(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	source, err := s.open(t, "hf://datasets/owner/name", t.TempDir(), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.commit = secondCommit
	s.mu.Unlock()
	if _, err := read(t.Context(), source, "data/small.csv", 0, -1, ""); !errs.Is(err, errs.NotFound) {
		t.Errorf("a file of another commit was read: %v", err)
	}
}

// TestRevisions opens branches, tags and pull requests.
func TestRevisions(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, revision := range []string{"@v1.0", "@refs/convert/parquet", "@refs%2Fconvert%2Fparquet", "@" + firstCommit, ""} {
		source, err := s.open(t, "hf://datasets/owner/name"+revision+"/data", t.TempDir(), storage.Options{})
		if err != nil {
			t.Fatal(revision, err)
		}
		if got, err := read(t.Context(), source, "small.csv", 0, -1, ""); err != nil || got != "a\n1\n" {
			t.Error(revision, got, err)
		}
		again, err := s.open(t, source.URI(), t.TempDir(), storage.Options{})
		if err != nil || again.URI() != source.URI() {
			t.Error(source.URI(), err)
		}
	}
}

// TestTokens: a private repository is read by the token of the settings, the environment or the
// file; it reaches no other server.
func TestTokens(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.token = "hf_secret"
	home := t.TempDir()
	_, err := s.open(t, "hf://datasets/owner/name", home, storage.Options{})
	if !errs.Is(err, errs.Denied) || !strings.Contains(err.Error(), "hf auth login") {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(home, "token"), []byte("hf_secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]storage.Options{
		"settings":    {Settings: storage.Settings{BearerToken: "hf_secret"}},
		"environment": {Environ: map[string]string{"HF_TOKEN": "hf_secret"}},
		"file":        {},
	} {
		at := home
		if name != "file" {
			at = t.TempDir()
		}
		source, err := s.open(t, "hf://datasets/owner/name/data", at, o)
		if err != nil {
			t.Fatal(name, err)
		}
		if _, err := read(t.Context(), source, "large-é +%41.bin", 0, 5, ""); err != nil {
			t.Error(name, err)
		}
	}
	if _, err := s.open(t, "hf://datasets/owner/name", home, storage.Options{Settings: storage.Settings{Anonymous: true}}); !errs.Is(err, errs.Denied) {
		t.Error(err)
	}
	if s.leaked {
		t.Error("the token went to the server of large files")
	}
}

// TestAddresses: addresses of no repository are refused without a request.
func TestAddresses(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, uri := range []string{
		"hf://models/owner/name", "hf://buckets/a/b", "hf://owner/name", "hf://datasets", "hf://datasets/", "hf://datasets/owner/..", "hf://datasets/owner/name/../x",
		"hf://datasets/owner/name@/x", "hf://datasets/owner/na?me", "hf://datasets//name",
	} {
		if _, err := s.open(t, uri, "", storage.Options{}); !errs.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if _, err := s.open(t, "hf://datasets/owner/none", "", storage.Options{}); !errs.Is(err, errs.NotFound) {
		t.Error(err)
	}
	for _, endpoint := range []string{"ftp://x", "huggingface.co", "https://a:b@x"} {
		if _, err := s.open(t, "hf://datasets/owner/name", "", storage.Options{Settings: storage.Settings{Endpoint: endpoint}}); !errs.Is(err, errs.Invalid) || strings.Contains(err.Error(), "a:b") {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
}

// TestHostileListings: names that climb are not listed; an answer of another form is an error.
func TestHostileListings(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.files["data/../../secret"], s.files["data/"] = "x", "x"
	source, err := s.open(t, "hf://datasets/owner/name/data", "", storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_ = source.Objects(t.Context(), "", "", func(e storage.Entry) bool {
		if e.Key == "" || strings.Contains(e.Key, "..") {
			t.Errorf("%q is listed", e.Key)
		}
		return true
	})
	for _, text := range []string{"", "{}", "[1]", `{"sha": 5}`} {
		broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
		if _, err := s.open(t, "hf://datasets/owner/name", "", storage.Options{Settings: storage.Settings{Endpoint: broken.URL}}); err == nil {
			t.Errorf("%q is a listing", text)
		}
		broken.Close()
	}
}
