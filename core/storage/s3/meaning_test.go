package s3

import (
	"encoding/xml"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/internal/request"
	"deeplake/core/storage"
)

func connected(t testing.TB, o storage.Options) *store {
	t.Helper()
	if o.Environ == nil {
		o.Environ = map[string]string{}
	}
	s, err := connect(t.Context(), "bucket", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

func keys() storage.Settings {
	return storage.Settings{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "hunter2"}
}

func answered(status int, code, message string, header ...string) *request.Response {
	a := &request.Response{Method: http.MethodGet, Host: "store.example", Path: "/bucket/a", Status: status, Header: http.Header{}}
	for i := 0; i < len(header); i += 2 {
		a.Header.Set(header[i], header[i+1])
	}
	if code != "" {
		a.Text = []byte(`<?xml version="1.0"?><Error><Code>` + code + `</Code><Message>` + message + `</Message><Key>a</Key></Error>`)
	}
	return a
}

func typed(kind string, a *request.Response) *request.Response {
	a.Header.Set("Content-Type", kind)
	return a
}

// TestMeaning: the answers of Amazon and of compatible stores, as errors for callers.
func TestMeaning(t *testing.T) {
	t.Parallel()
	late := time.Now().Add(-30 * time.Minute).UTC().Format(http.TimeFormat)
	page := answered(200, "", "", "Content-Type", "text/html; charset=utf-8")
	page.Text = []byte("<!DOCTYPE html><html><body>Welcome to nginx!</body></html>")
	text := answered(404, "", "", "Content-Type", "text/plain")
	text.Text = []byte("404 page not found")
	for _, r := range []struct {
		name   string
		a      *request.Response
		kind   errs.Kind
		repeat storage.Repeat
		want   string
	}{
		{"no key", answered(404, "NoSuchKey", ""), errs.NotFound, 0, "no such object"},
		{"no bucket", answered(404, "NoSuchBucket", ""), errs.NotFound, 0, "check its name, or create it"},
		{"head", answered(404, "", ""), errs.NotFound, 0, "no such object"},
		{"denied", answered(403, "AccessDenied", "Access Denied"), errs.Denied, 0, "permissions"},
		{"unknown key", answered(403, "InvalidAccessKeyId", ""), errs.Denied, 0, "access_key_id"},
		{"unknown key of versitygw", answered(404, "XAdminUserNotFound", ""), errs.Denied, 0, "access_key_id"},
		{"signature", answered(403, "SignatureDoesNotMatch", ""), errs.Denied, 0, "secret_access_key"},
		{"expired", answered(400, "ExpiredToken", ""), errs.Denied, 0, "get new credentials"},
		{"slow down", answered(503, "SlowDown", "Please reduce your request rate."), errs.Storage, storage.Later, "SlowDown"},
		{"throttled", answered(400, "ThrottlingException", ""), errs.Storage, storage.Later, "Throttling"},
		{"internal", answered(500, "InternalError", ""), errs.Storage, storage.Soon, "InternalError"},
		{"internal behind 200", answered(200, "InternalError", ""), errs.Storage, storage.Soon, "InternalError"},
		{"conditional conflict", answered(409, "ConditionalRequestConflict", ""), errs.Storage, storage.Soon, ""},
		{"digest", answered(400, "BadDigest", ""), errs.Storage, storage.Soon, ""},
		{"timeout", answered(400, "RequestTimeout", ""), errs.Storage, storage.Soon, ""},
		{"precondition", answered(412, "PreconditionFailed", ""), errs.Conflict, 0, "changed"},
		{"archive", answered(403, "InvalidObjectState", ""), errs.Storage, 0, "restore it first"},
		{"not implemented", answered(501, "NotImplemented", "A header you provided"), errs.Unsupported, 0, "cannot do this (NotImplemented: A header you provided)"},
		{"XML as a page", typed("text/html; charset=utf-8", answered(404, "NoSuchKey", "")), errs.NotFound, 0, "no such object"},
		{"XML as text", typed("text/plain", answered(412, "PreconditionFailed", "")), errs.Conflict, 0, "changed"},
		{"an empty page", typed("text/html", answered(404, "", "")), errs.NotFound, 0, "no such object"},
		{"not modified", answered(304, "", ""), errs.Conflict, 0, "changed"},
		{"a file as a folder", answered(409, "ObjectParentIsFile", ""), errs.Invalid, 0, "key"},
		{"web page", page, errs.Storage, 0, "does not answer as S3"},
		{"another server", text, errs.Storage, 0, "does not answer as S3"},
		{"plain 503", answered(503, "", "", "Retry-After", "3"), errs.Storage, storage.Later, ""},
		{"plain 502", answered(502, "", ""), errs.Storage, storage.Soon, ""},
		{"clock", answered(403, "RequestTimeTooSkewed", "", "Date", late), errs.Storage, storage.Refresh, "ahead of"},
		{"unknown", answered(400, "MalformedACLError", "what?"), errs.Storage, 0, "MalformedACLError: what?"},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			s := connected(t, storage.Options{Settings: keys()})
			err := s.explain(r.a)
			if !errs.Is(err, r.kind) || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %v %q, want %v and %q", errs.KindOf(err), err, r.kind, r.want)
			}
			var f *storage.Fault
			if errors.As(err, &f) != (r.repeat != 0) || f != nil && f.Repeat != r.repeat {
				t.Errorf("got fault %+v, want repeat %d", f, r.repeat)
			}
		})
	}
}

// TestClockThatWillNotFit: where the store's clock is known already, the clock is not why, and
// asking again is no use.
func TestClockThatWillNotFit(t *testing.T) {
	t.Parallel()
	s := connected(t, storage.Options{Settings: keys()})
	a := answered(403, "RequestTimeTooSkewed", "", "Date", time.Now().Add(time.Hour+20*time.Second).UTC().Format(http.TimeFormat))
	for i, want := range []bool{true, false} {
		err := s.explain(a)
		if f := (*storage.Fault)(nil); errors.As(err, &f) != want || !strings.Contains(err.Error(), "1h0m") {
			t.Errorf("answer %d: %v, worth repeating: %v, want %v", i, err, !want, want)
		}
	}
}

// TestOtherRegion: a region that the user has not said is corrected, one that he has is an error.
func TestOtherRegion(t *testing.T) {
	t.Parallel()
	redirect := answered(301, "PermanentRedirect", "", "X-Amz-Bucket-Region", "eu-west-1")
	malformed := answered(400, "", "")
	malformed.Text = []byte(`<Error><Code>AuthorizationHeaderMalformed</Code><Message>m</Message><Region>eu-west-1</Region></Error>`)
	head := answered(400, "", "", "X-Amz-Bucket-Region", "eu-west-1")
	head.Method = http.MethodHead
	for name, a := range map[string]*request.Response{"301": redirect, "400": malformed, "head": head} {
		s := connected(t, storage.Options{Settings: keys(), Environ: map[string]string{"AWS_REGION": "us-west-2"}})
		if got := s.where.Load().url("a b").String(); got != "https://bucket.s3.us-west-2.amazonaws.com/a%20b" {
			t.Errorf("the first place is %q", got)
		}
		for range 2 { // the second is of a request that was under way
			err := s.explain(a)
			if f := (*storage.Fault)(nil); !errors.As(err, &f) || f.Repeat != storage.Refresh {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got := s.where.Load().url("a").String(); got != "https://bucket.s3.eu-west-1.amazonaws.com/a" {
			t.Errorf("%s: moved to %q", name, got)
		}
		o := storage.Options{Settings: keys()}
		o.Settings.Region = "us-west-2"
		err := connected(t, o).explain(a)
		if f := (*storage.Fault)(nil); errors.As(err, &f) || !strings.Contains(err.Error(), `set region to "eu-west-1"`) {
			t.Errorf("%s, with a region given: %v", name, err)
		}
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, r := range []struct {
		bucket, endpoint, region string
		pathStyle                *bool
		want, wantRegion         string
	}{
		{"bucket", "", "", nil, "https://bucket.s3.us-east-1.amazonaws.com/k", "us-east-1"},
		{"bucket", "", "eu-central-1", nil, "https://bucket.s3.eu-central-1.amazonaws.com/k", "eu-central-1"},
		{"bucket", "", "cn-north-1", nil, "https://bucket.s3.cn-north-1.amazonaws.com.cn/k", "cn-north-1"},
		{"bucket.with.dots", "", "", nil, "https://s3.us-east-1.amazonaws.com/bucket.with.dots/k", "us-east-1"},
		{"bucket", "", "", &yes, "https://s3.us-east-1.amazonaws.com/bucket/k", "us-east-1"},
		{"bucket", "http://127.0.0.1:9000/", "", nil, "http://127.0.0.1:9000/bucket/k", "us-east-1"},
		{"bucket", "http://127.0.0.1:9000", "", &no, "http://127.0.0.1:9000/bucket/k", "us-east-1"},
		{"bucket", "https://objects.example/s3", "x", nil, "https://objects.example/s3/bucket/k", "x"},
		{"bucket", "https://objects.example:8443", "", &no, "https://bucket.objects.example:8443/k", "us-east-1"},
		{"bucket", "https://abc.r2.cloudflarestorage.com", "", nil, "https://abc.r2.cloudflarestorage.com/bucket/k", "auto"},
	} {
		p, err := targetOf(t.Context(), r.bucket, r.endpoint, r.region, r.pathStyle)
		if err != nil {
			t.Errorf("%+v: %v", r, err)
			continue
		}
		if got := p.url("k").String(); got != r.want || p.region != r.wantRegion {
			t.Errorf("%q at %q: got %q in %q, want %q in %q", r.bucket, r.endpoint, got, p.region, r.want, r.wantRegion)
		}
	}
}

func TestBadSettings(t *testing.T) {
	t.Parallel()
	key := "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=" // 32 digits
	for _, r := range []struct {
		rest string
		s    storage.Settings
		want string
	}{
		{"", keys(), "is not a name"},
		{"a", keys(), "is not a name"},
		{"a b c", keys(), "is not a name"},
		{"x--x-s3", keys(), "S3 Express"},
		{"bucket//a", keys(), "is not allowed"},
		{"bucket/../a", keys(), "is not allowed"},
		{"bucket/" + strings.Repeat("a", 200), keys(), "want at most 124"},
		{"bucket", storage.Settings{AccessKeyID: "x"}, "give both"},
		{"bucket", storage.Settings{SecretAccessKey: "hunter2"}, "give both"},
		{"bucket", storage.Settings{Endpoint: "objects.example"}, "endpoint is not the URL"},
		{"bucket", storage.Settings{Endpoint: "https://user:hunter2@objects.example"}, "endpoint is not the URL"},
		{"bucket", storage.Settings{Encryption: "rot13"}, "encryption"},
		{"bucket", storage.Settings{Checksums: "never"}, "checksums"},
		{"bucket", storage.Settings{CustomerKey: "hunter2"}, "customer_key"},
		{"bucket", storage.Settings{CustomerKey: storage.Secret(key), Encryption: "AES256"}, "give one"},
		{"bucket", storage.Settings{CustomerKey: storage.Secret(key), Endpoint: "http://objects.example"}, "https"},
		{"bucket", storage.Settings{CAFile: "/nowhere"}, "ca_file"},
		{"bucket", storage.Settings{Profile: "nobody"}, `profile "nobody" is in neither of`},
	} {
		p, err := new(Stores).Open(t.Context(), r.rest, storage.Options{Settings: r.s, Environ: map[string]string{"HOME": t.TempDir()}})
		if err == nil {
			p.Close()
			t.Errorf("open %q with %+v: no error", r.rest, r.s)
			continue
		}
		if !strings.Contains(err.Error(), r.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("open %q: got %q, want %q in it", r.rest, err, r.want)
		}
	}
}

// TestCredentials: where they are looked for, in which order.
func TestCredentials(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	shared := write("credentials", "[default]\naws_access_key_id=of-default\naws_secret_access_key=s\n\n[work]\naws_access_key_id=of-work\naws_secret_access_key=s\naws_session_token=t\n")
	config := write("config", "[default]\nregion=eu-west-3\n\n[profile work]\nregion=ap-south-1\nendpoint_url=https://work.example\n\n[profile none]\nregion=eu-west-3\n"+
		"\n[profile made]\ncredential_process=echo '{\"Version\":1,\"AccessKeyId\":\"of-process\",\"SecretAccessKey\":\"s\"}'\n")
	env := func(more ...string) map[string]string {
		m := map[string]string{"AWS_SHARED_CREDENTIALS_FILE": shared, "AWS_CONFIG_FILE": config, "AWS_EC2_METADATA_DISABLED": "true"}
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	for _, r := range []struct {
		name       string
		s          storage.Settings
		env        map[string]string
		key        string // "": Denied with want
		want       string
		wantRegion string
	}{
		{"settings", keys(), env("AWS_ACCESS_KEY_ID", "of-env", "AWS_SECRET_ACCESS_KEY", "s"), "AKIDEXAMPLE", "", "eu-west-3"},
		{"environment", storage.Settings{}, env("AWS_ACCESS_KEY_ID", "of-env", "AWS_SECRET_ACCESS_KEY", "s", "AWS_DEFAULT_REGION", "r-1"), "of-env", "", "r-1"},
		{"a profile beats the environment", storage.Settings{Profile: "work"}, env("AWS_ACCESS_KEY_ID", "of-env", "AWS_SECRET_ACCESS_KEY", "s"), "of-work", "", "ap-south-1"},
		{"default profile", storage.Settings{}, env(), "of-default", "", "eu-west-3"},
		{"profile of the environment", storage.Settings{}, env("AWS_PROFILE", "work"), "of-work", "", "ap-south-1"},
		{"process", storage.Settings{Profile: "made"}, env(), "of-process", "", "us-east-1"},
		{"a profile without", storage.Settings{Profile: "none"}, env(), "", `profile "none" has no credentials`, "eu-west-3"},
		{"nothing", storage.Settings{}, map[string]string{"AWS_EC2_METADATA_DISABLED": "true"}, "", "AWS_ACCESS_KEY_ID", "us-east-1"},
		{"container that is a stranger", storage.Settings{}, map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://evil.example/x"}, "", "neither https nor", "us-east-1"},
		{"token file that is missing", storage.Settings{}, map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "/nowhere", "AWS_ROLE_ARN": "arn:aws:iam::1:role/x"}, "", "web identity", "us-east-1"},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			s := connected(t, storage.Options{Settings: r.s, Environ: r.env})
			c, err := s.creds.Retrieve(t.Context())
			if r.key == "" {
				if !errs.Is(err, errs.Denied) || !strings.Contains(err.Error(), r.want) {
					t.Errorf("got %v, want %q", err, r.want)
				}
			} else if err != nil || c.AccessKeyID != r.key {
				t.Errorf("got %q, %v, want %q", c.AccessKeyID, err, r.key)
			}
			if got := s.where.Load().region; got != r.wantRegion {
				t.Errorf("region %q, want %q", got, r.wantRegion)
			}
		})
	}
}

// TestNewCredentials: expired ones are looked up again, in the files of then.
func TestNewCredentials(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "credentials")
	write := func(key string) {
		if err := os.WriteFile(file, []byte("[default]\naws_access_key_id="+key+"\naws_secret_access_key=s\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	s := connected(t, storage.Options{Environ: map[string]string{"AWS_SHARED_CREDENTIALS_FILE": file}})
	if c, err := s.creds.Retrieve(t.Context()); err != nil || c.AccessKeyID != "old" {
		t.Fatal(c.AccessKeyID, err)
	}
	write("new")
	err := s.explain(answered(400, "ExpiredToken", ""))
	if f := (*storage.Fault)(nil); !errors.As(err, &f) || f.Repeat != storage.Refresh {
		t.Errorf("got %v", err)
	}
	if c, err := s.creds.Retrieve(t.Context()); err != nil || c.AccessKeyID != "new" {
		t.Errorf("got %q, %v", c.AccessKeyID, err)
	}
}

func TestStoresAreShared(t *testing.T) {
	t.Parallel()
	stores := new(Stores)
	open := func(rest string, s storage.Settings) *Provider {
		p, err := stores.Open(t.Context(), rest, storage.Options{Settings: s, Environ: map[string]string{}})
		if err != nil {
			t.Fatal(err)
		}
		return p.(*Provider)
	}
	a, b := open("bucket/a", keys()), open("bucket/b", keys())
	other := keys()
	other.SecretAccessKey = "other"
	c := open("bucket/a", other)
	if a.store != b.store || a.store == c.store {
		t.Error("what has the same settings shares, what has others does not")
	}
	for _, p := range []*Provider{a, b, c} {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(stores.open) != 0 {
		t.Errorf("%d stores are open after the last use", len(stores.open))
	}
}

func FuzzEscaped(f *testing.F) {
	f.Add("a/b c")
	f.Add("../x?y#z%20")
	f.Add("\xff\x00日")
	f.Fuzz(func(t *testing.T, name string) {
		p := &target{base: &url.URL{Scheme: "http", Host: "h", Path: "/bucket"}}
		u := p.url(name)
		if got, err := url.PathUnescape(u.EscapedPath()); err != nil || got != "/bucket/"+name {
			t.Errorf("%q became %q, %v", name, u.EscapedPath(), err)
		}
		if u.EscapedPath() != "/bucket/"+escaped(name) {
			t.Errorf("%q is sent as %q, signed as %q", name, u.EscapedPath(), escaped(name))
		}
	})
}

func FuzzRefusal(f *testing.F) {
	f.Add([]byte(`<Error><Code>SlowDown</Code><Message>m</Message></Error>`), 503)
	f.Add([]byte(`<html>`), 404)
	f.Add([]byte(xml.Header), 301)
	f.Fuzz(func(t *testing.T, text []byte, status int) {
		s := connected(t, storage.Options{Settings: keys()})
		a := answered(status, "", "")
		a.Text = text
		if err := s.explain(a); err == nil || errs.Is(err, errs.Internal) {
			t.Errorf("%q with %d is explained by %v", text, status, err)
		}
	})
}
