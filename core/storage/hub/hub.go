// Package hub owns addresses of dataset repositories of Hugging Face, hf://datasets/owner/name: the
// files of a repository at one commit, and datasets in its folders, read-only.
//
// It turns addresses into URLs, and lists a repository by one request. Requests are those of the
// store for web servers. A token goes to the repository's server alone, not to the servers that
// this one sends requests on to.
package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/internal/request"
	"deeplake/core/storage"
)

const (
	scheme     = "hf://"
	mainServer = "https://huggingface.co"
	// maxListing bounds the bytes of a listing, and maxToken those of a file with a token.
	maxListing, maxToken = 256 << 20, 4 << 10
)

// place is the address of a folder or a file of a repository.
type place struct {
	repo     string // with its owner, where it has one
	revision string // a branch, a tag or a commit
	path     string
}

// parse reads what follows hf:// in an address.
func parse(rest string) (place, error) {
	kind, rest, _ := strings.Cut(rest, "/")
	if kind != "datasets" {
		return place{}, errs.Op("open", scheme+kind).New(errs.Invalid, "want %sdatasets/owner/name; files elsewhere are reached by https, and buckets by their S3 gateway", scheme)
	}
	parts := strings.Split(strings.TrimRight(rest, "/"), "/")
	p := place{revision: "main"}
	n := min(2, len(parts))
	name, revision, isPinned := strings.Cut(strings.Join(parts[:n], "/"), "@")
	p.repo, parts = name, parts[n:]
	if isPinned {
		// refs/convert/parquet, refs/pr/1
		if p.revision = revision; revision == "refs" && len(parts) > 1 {
			p.revision = strings.Join(append([]string{revision}, parts[:2]...), "/")
			parts = parts[2:]
		}
		if plain, err := url.PathUnescape(p.revision); err == nil {
			p.revision = plain
		}
	}
	p.path = strings.Join(parts, "/")
	isBad := func(s string) bool { return s == "" || s == "." || s == ".." || strings.ContainsAny(s, "?#%\\") }
	if slices.ContainsFunc(strings.Split(p.repo, "/"), isBad) || p.revision == "" || slices.Contains(strings.Split(p.path, "/"), "..") {
		return place{}, errs.Op("open", scheme+kind+"/"+rest).New(errs.Invalid, "want %sdatasets/owner/name, with @revision and a path behind it where needed", scheme)
	}
	return p, nil
}

// uri is the address.
func (p place) uri() string {
	out := scheme + "datasets/" + p.repo
	if p.revision != "main" {
		out += "@" + url.PathEscape(p.revision)
	}
	if p.path != "" {
		out += "/" + p.path
	}
	return out
}

// escaped escapes each part of a path.
func escaped(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}

// files is the URL below which the files of a revision lie, on a server.
func (p place) files(revision string) string {
	return "/datasets/" + escaped(p.repo) + "/resolve/" + url.PathEscape(revision) + "/"
}

// reach returns an address, the scheme and the host of its server, and the settings with the token
// for it: those of the user, or the environment's, as Hugging Face's own programs take them.
func reach(rest string, o storage.Options) (p place, web, host string, out storage.Options, err error) {
	if p, err = parse(rest); err != nil {
		return p, "", "", o, err
	}
	lookup := request.Lookup(o.Environ)
	server := strings.TrimRight(cmp.Or(o.Settings.Endpoint, lookup("HF_ENDPOINT"), mainServer), "/")
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return p, "", "", o, errs.Op("open", scheme).New(errs.Invalid, "the endpoint is %q, want a URL such as %s", storage.RedactURL(server), mainServer)
	}
	o.Settings.Endpoint = ""
	if o.Settings.BearerToken == "" && len(o.Settings.Headers) == 0 && !o.Settings.Anonymous {
		o.Settings.BearerToken = storage.Secret(token(lookup))
	}
	web, host, _ = strings.Cut(server, "://")
	return p, web, host, o, nil
}

// token returns the token of the environment, or of the file that `hf auth login` writes.
func token(lookup func(string) string) string {
	if given := cmp.Or(lookup("HF_TOKEN"), lookup("HUGGING_FACE_HUB_TOKEN")); given != "" {
		return strings.TrimSpace(given)
	}
	if isOn := strings.ToUpper(lookup("HF_HUB_DISABLE_IMPLICIT_TOKEN")); isOn == "1" || isOn == "TRUE" || isOn == "YES" || isOn == "ON" {
		return ""
	}
	path := lookup("HF_TOKEN_PATH")
	if home := lookup("HF_HOME"); path == "" && home != "" {
		path = filepath.Join(home, "token")
	}
	if home := lookup("HOME"); path == "" && home != "" {
		path = filepath.Join(home, ".cache", "huggingface", "token")
	}
	if path == "" {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	p, err := io.ReadAll(io.LimitReader(f, maxToken))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(p))
}

// Openers open addresses of repositories through those of web servers.
type Openers struct {
	Source   func(scheme string) storage.SourceOpener
	Provider func(scheme string) storage.Opener
}

// OpenProvider opens a dataset in a folder of a repository. It is read-only.
func (h Openers) OpenProvider(ctx context.Context, rest string, o storage.Options) (storage.Provider, error) {
	p, web, host, o, err := reach(rest, o)
	if err != nil {
		return nil, err
	}
	return h.Provider(web)(ctx, host+p.files(p.revision)+escaped(p.path), o)
}

// OpenSource lists a repository at its present commit, which later requests name.
func (h Openers) OpenSource(ctx context.Context, rest string, o storage.Options) (storage.Source, error) {
	p, web, host, o, err := reach(rest, o)
	if err != nil {
		return nil, err
	}
	inner, err := h.Source(web)(ctx, host+"/", o)
	if err != nil {
		return nil, err
	}
	s := &Source{Source: inner, place: p}
	if err := s.list(ctx, web+"://"+host); err != nil {
		_ = inner.Close()
		hint := ""
		if errs.Is(err, errs.Denied) || errs.Is(err, errs.NotFound) {
			hint = "; a private or gated one needs a token: run `hf auth login`, or set HF_TOKEN"
		}
		return nil, errs.Op("open", p.uri()).New(errs.KindOf(err), "%w%s", err, hint)
	}
	return s, nil
}

// Source is the files of a repository below a path, at one commit. All methods may be called in
// parallel.
type Source struct {
	storage.Source // of the server
	place
	below   string // URL of the path
	entries []storage.Entry
	tags    map[string]string
}

// revision is the answer of a server about a revision of a repository.
type revision struct {
	Commit string `json:"sha"`
	Files  []struct {
		Name string `json:"rfilename"`
		Size *int64 `json:"size"`
		Blob string `json:"blobId"`
		LFS  *struct {
			Hash string `json:"sha256"`
		} `json:"lfs"`
	} `json:"siblings"`
}

// list reads the commit of the revision, and its files.
func (s *Source) list(ctx context.Context, server string) error {
	b, err := s.Source.Range(ctx, server+"/api/datasets/"+escaped(s.repo)+"/revision/"+url.PathEscape(s.revision)+"?blobs=true", 0, -1, "")
	if err != nil {
		return err
	}
	defer b.Close()
	p, err := io.ReadAll(io.LimitReader(b, maxListing+1))
	if err != nil {
		return errs.Wrap(errs.Storage, "read", "", err)
	}
	var of revision
	if len(p) > maxListing {
		return errs.New(errs.Unsupported, "the listing has more than %d bytes", maxListing)
	}
	if err := json.Unmarshal(p, &of); err != nil || of.Commit == "" {
		return errs.New(errs.Storage, "%q answers with no listing of a dataset", server)
	}
	s.below = server + s.files(of.Commit) + escaped(s.path)
	if s.path != "" {
		s.below += "/"
	}
	s.tags = map[string]string{}
	for _, f := range of.Files {
		key, isBelow := f.Name, true
		if s.path != "" {
			key, isBelow = strings.CutPrefix(f.Name, s.path+"/")
		}
		if !isBelow || key == "" || slices.Contains(strings.Split(f.Name, "/"), "..") {
			continue
		}
		e := storage.Entry{Key: key, Size: -1, Tag: f.Blob}
		if f.LFS != nil {
			e.Tag = f.LFS.Hash
		}
		if f.Size != nil && *f.Size >= 0 {
			e.Size = *f.Size
		}
		s.entries, s.tags[key] = append(s.entries, e), e.Tag
	}
	slices.SortFunc(s.entries, func(a, b storage.Entry) int { return strings.Compare(a.Key, b.Key) })
	return nil
}

// Objects lists the files; storage.Source.
func (s *Source) Objects(ctx context.Context, prefix, after string, fn func(storage.Entry) bool) error {
	for _, e := range s.entries {
		if err := ctx.Err(); err != nil {
			return errs.Wrap(errs.Canceled, "list", s.URI(), err)
		}
		if strings.HasPrefix(e.Key, prefix) && e.Key > after && !fn(e) {
			return nil
		}
	}
	return nil
}

// Range reads a part of a file; storage.Ranger. The commit does not change, and neither does the
// file: tag is not sent.
func (s *Source) Range(ctx context.Context, name string, off, n int64, tag string) (storage.Body, error) {
	have, ok := s.tags[name]
	if !ok {
		return nil, errs.Op("read", s.URI()+"/"+name).New(errs.NotFound, "no such file")
	}
	if tag != "" && tag != have {
		return nil, errs.Op("read", s.URI()+"/"+name).New(errs.Conflict, "the file has changed")
	}
	b, err := s.Source.Range(ctx, s.below+escaped(name), off, n, "")
	if err != nil {
		return nil, err
	}
	return body{b, have}, nil
}

// body has the tag of the listing.
type body struct {
	storage.Body
	tag string
}

// Tag is the hash of the file's content.
func (b body) Tag() string { return b.tag }

// URI is the address.
func (s *Source) URI() string { return s.uri() }
