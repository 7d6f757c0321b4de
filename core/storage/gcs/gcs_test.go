package gcs

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/limit"
	"deeplake/core/storage/retry"
)

// serve starts a store that answers by fn, and opens a provider of it.
func serve(t *testing.T, s storage.Settings, fn http.HandlerFunc) *Provider {
	t.Helper()
	server := httptest.NewServer(fn)
	t.Cleanup(server.Close)
	s.Endpoint = server.URL
	p, err := Open(t.Context(), "bucket/root", storage.Options{Settings: s, Environ: map[string]string{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p.(*Provider)
}

func refuse(status int, reason, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "2")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
			"code": status, "message": message, "errors": []any{map[string]any{"reason": reason, "message": message}},
		}})
	}
}

func page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprint(w, "<!doctype html><title>Welcome</title>")
}

func TestWhatRefusalsMean(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		answer http.HandlerFunc
		token  storage.Secret
		kind   errs.Kind
		again  storage.Repeat
		says   string
	}{
		"throttled":       {refuse(429, "rateLimitExceeded", "slow down"), "", errs.Storage, storage.Later, "fewer requests"},
		"throttled 403":   {refuse(403, "userRateLimitExceeded", "slow down"), "", errs.Storage, storage.Later, "fewer requests"},
		"busy":            {refuse(503, "backendError", "busy"), "", errs.Storage, storage.Later, "busy"},
		"fault":           {refuse(500, "internalError", "oops"), "", errs.Storage, storage.Soon, "oops"},
		"clash":           {refuse(409, "conflict", "edited"), "", errs.Storage, storage.Soon, "edited"},
		"forbidden":       {refuse(403, "forbidden", "x@y does not have storage.objects.get"), "t0psecret", errs.Denied, 0, `permission denied ("x@y does not`},
		"nobody":          {refuse(401, "required", "Anonymous caller does not have access"), "", errs.Denied, 0, "give credentials"},
		"expired":         {refuse(401, "authError", "Invalid Credentials"), "t0psecret", errs.Denied, 0, "give a bearer_token that is valid"},
		"bucket":          {refuse(404, "notFound", "The specified bucket does not exist."), "", errs.NotFound, 0, `there is no bucket "bucket"`},
		"any server":      {http.NotFound, "", errs.NotFound, 0, `or that is not Google Cloud Storage (it answers 404 Not Found: "404 page not found"); check the bucket's name and the endpoint`},
		"requester pays":  {refuse(400, "required", "Bucket is a requester pays bucket but no user project provided."), "", errs.Denied, 0, "give user_project"},
		"encrypted":       {refuse(400, "resourceIsEncryptedWithCustomerEncryptionKey", "The target object is encrypted by a customer-supplied encryption key."), "", errs.Denied, 0, "customer_key"},
		"a web page":      {page, "", errs.Storage, 0, "check the endpoint"},
		"a page of error": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>no</html>", 404) }, "", errs.Storage, 0, "web page"},
		"sent elsewhere":  {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) }, "", errs.Storage, 0, "check the endpoint"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, storage.Settings{BearerToken: c.token}, c.answer)
			_, get := p.Get(t.Context(), "k")
			for op, err := range map[string]error{
				"get": get, "put": p.Put(t.Context(), "k", []byte("x")),
				"list": p.List(t.Context(), "", "", func(storage.Object) bool { return true }),
			} {
				var fault *storage.Fault
				var again storage.Repeat
				if errors.As(err, &fault) {
					again = fault.Repeat
				}
				if errs.KindOf(err) != c.kind || again != c.again || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s: %v (%v, again %d), want %q (%v, again %d)", op, err, errs.KindOf(err), again, c.says, c.kind, c.again)
				}
				if again == storage.Later && fault.Wait != 2*time.Second {
					t.Errorf("%s: wait %v, want 2s", op, fault.Wait)
				}
				if strings.Contains(err.Error(), "t0psecret") {
					t.Errorf("%s: %v shows the token", op, err)
				}
			}
		})
	}
}

func TestPreconditions(t *testing.T) {
	t.Parallel()
	p := serve(t, storage.Settings{}, refuse(412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold."))
	if err := p.PutIfAbsent(t.Context(), "k", nil); !errs.Is(err, errs.Exists) {
		t.Errorf("put if absent: %v", err)
	}
	if _, err := p.Range(t.Context(), "k", 0, 1, "17"); !errs.Is(err, errs.Conflict) {
		t.Errorf("range: %v", err)
	}
}

func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	key := "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=" // 32 characters
	var seen []*http.Request
	var bodies []string
	p := serve(t, storage.Settings{BearerToken: "tok", UserProject: "payer", CustomerKey: storage.Secret(key)}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen, bodies = append(seen, r), append(bodies, string(body))
		w.Header().Set("X-Goog-Generation", "7")
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Range", "bytes 2-3/9")
			w.WriteHeader(http.StatusPartialContent)
			fmt.Fprint(w, "ab")
			return
		}
		fmt.Fprint(w, `{"name": "root/a", "generation": "8"}`)
	})
	b, err := p.Range(t.Context(), "a/b", 2, 2, "7")
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	if err := p.PutIfAbsent(t.Context(), "a", []byte("text")); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 2 {
		t.Fatalf("%d requests, want 2", len(seen))
	}
	for i, r := range seen {
		if r.Header.Get("Authorization") != "Bearer tok" || r.URL.Query().Get("userProject") != "payer" || r.Header.Get("X-Goog-Encryption-Key") != key {
			t.Errorf("request %d: %s %v", i, r.URL, r.Header)
		}
	}
	get, put := seen[0], seen[1]
	if get.URL.EscapedPath() != "/download/storage/v1/b/bucket/o/root%2Fa%2Fb" || get.URL.Query().Get("ifGenerationMatch") != "7" ||
		get.Header.Get("Range") != "bytes=2-3" || get.Header.Get("Accept-Encoding") != "gzip" {
		t.Errorf("get %s %v", get.URL, get.Header)
	}
	if put.URL.Query().Get("ifGenerationMatch") != "0" || put.URL.Query().Get("uploadType") != "multipart" ||
		!strings.Contains(bodies[1], `"crc32c":"L1MZ4Q=="`) {
		t.Errorf("put %s %q", put.URL, bodies[1])
	}
}

// TestCopyThroughDecorators: a copy is one within the store, whatever both sides are wrapped in.
func TestCopyThroughDecorators(t *testing.T) {
	t.Parallel()
	var sent []string
	p := serve(t, storage.Settings{}, func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Method+" "+r.URL.EscapedPath())
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"done": true, "resource": {"bucket": "bucket", "name": "root/c/d", "generation": "8"}}`)
	})
	stack := func() storage.Provider {
		return retry.New(retry.Options{}).Provider(limit.New(storage.Settings{}).Provider(p))
	}
	from, to := stack(), stack()
	if done, err := to.(storage.Copier).CopyFrom(t.Context(), from, "a/b", "c/d"); err != nil || !done {
		t.Errorf("copy: %v, %v, want true", done, err)
	}
	if want := []string{"POST /storage/v1/b/bucket/o/root%2Fa%2Fb/rewriteTo/b/bucket/o/root%2Fc%2Fd"}; !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
	if done, err := to.(storage.Copier).CopyFrom(t.Context(), struct{ storage.Provider }{from}, "a/b", "c/d"); err != nil || done {
		t.Errorf("copy from a stranger: %v, %v, want false", done, err)
	}
}

func TestSettingsThatAreWrong(t *testing.T) {
	t.Parallel()
	wrong := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(wrong, []byte(`{"type": "service_account", "private_key": "t0psecret"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		rest string
		s    storage.Settings
		says string
	}{
		"bucket":           {"Bucket", storage.Settings{}, "not a name"},
		"no bucket":        {"", storage.Settings{}, "not a name"},
		"prefix":           {"bucket/a//b", storage.Settings{}, "not allowed"},
		"endpoint":         {"bucket", storage.Settings{Endpoint: "ftp://t0psecret@x"}, "not a base URL"},
		"customer key":     {"bucket", storage.Settings{CustomerKey: "t0psecret"}, "not the base64"},
		"credentials":      {"bucket", storage.Settings{CredentialsFile: wrong}, "read Google credentials"},
		"no such file":     {"bucket", storage.Settings{CredentialsFile: wrong + "x"}, "no such file"},
		"nobody can pay":   {"bucket", storage.Settings{Anonymous: true, RequesterPays: true}, "give user_project"},
		"no such ca":       {"bucket", storage.Settings{CAFile: wrong + "x"}, "check ca_file"},
		"proxy is nothing": {"bucket", storage.Settings{Proxy: "t0psecret"}, "proxy: not a URL"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Open(t.Context(), c.rest, storage.Options{Settings: c.s, Environ: map[string]string{}})
			if !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "t0psecret") {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

func TestWhoAsks(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := filepath.Join(home, ".config", "gcloud", "application_default_credentials.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	user := `{"type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": "r", "quota_project_id": "counted"}`
	if err := os.WriteFile(file, []byte(user), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		s      storage.Settings
		env    map[string]string
		google bool
		want   string
	}{
		"anonymous":            {storage.Settings{Anonymous: true, BearerToken: "t"}, nil, true, "nobody"},
		"token":                {storage.Settings{BearerToken: "t"}, nil, false, "fixed"},
		"a file":               {storage.Settings{CredentialsFile: file}, nil, false, "file"},
		"variable":             {storage.Settings{}, map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": file}, true, "file"},
		"gcloud's":             {storage.Settings{}, map[string]string{"HOME": home}, true, "file"},
		"gcloud's elsewhere":   {storage.Settings{}, map[string]string{"CLOUDSDK_CONFIG": filepath.Dir(file)}, true, "file"},
		"the machine":          {storage.Settings{}, map[string]string{"HOME": home + "x"}, true, "machine"},
		"not for other stores": {storage.Settings{}, map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": file}, false, "nobody"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.env == nil {
				c.env = map[string]string{}
			}
			id, err := identify(storage.Options{Settings: c.s, Environ: c.env}, c.google)
			if err != nil {
				t.Fatal(err)
			}
			got := "machine"
			switch {
			case id.make == nil:
				got = "nobody"
			case id.fixed:
				got = "fixed"
			case id.quota == "counted":
				got = "file"
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// metadata is the metadata server of a machine. Each token is new.
func metadata(t *testing.T) (host string) {
	t.Helper()
	tokens := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Metadata-Flavor") != "Google" {
			http.Error(w, "who asks?", http.StatusForbidden)
			return
		}
		tokens++
		fmt.Fprintf(w, `{"access_token": "token%d", "expires_in": 3600, "token_type": "Bearer"}`, tokens)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestTokensAreFreshAfterARefusal(t *testing.T) {
	t.Parallel()
	id, err := identify(storage.Options{Environ: map[string]string{"GCE_METADATA_HOST": metadata(t)}}, true)
	if err != nil {
		t.Fatal(err)
	}
	token := func() string {
		rq := httptest.NewRequest(http.MethodGet, "/", nil)
		if err := id.authorize(t.Context(), rq); err != nil {
			t.Fatal(err)
		}
		return rq.Header.Get("Authorization")
	}
	if a, b := token(), token(); a != "Bearer token1" || b != a {
		t.Errorf("got %q and %q, want the first token twice", a, b)
	}
	c := &Client{id: id}
	var fault *storage.Fault
	if err := c.unauthorized(&refusal{}); !errors.As(err, &fault) || fault.Repeat != storage.Refresh {
		t.Errorf("a refused token: %v, want one to be asked for again", err)
	}
	if again := token(); again != "Bearer token2" {
		t.Errorf("after a refusal: %q, want a new token", again)
	}
}

func TestNoCredentials(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	id, err := identify(storage.Options{Environ: map[string]string{"GCE_METADATA_HOST": strings.TrimPrefix(server.URL, "http://")}}, true)
	if err != nil {
		t.Fatal(err)
	}
	err = id.authorize(t.Context(), httptest.NewRequest(http.MethodGet, "/", nil))
	if !errs.Is(err, errs.Denied) || !strings.Contains(err.Error(), "no Google credentials found") {
		t.Errorf("%v", err)
	}
}

func TestSlowMetadataIsGivenUp(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stop }))
	defer server.Close()
	defer close(stop)
	id, err := identify(storage.Options{Environ: map[string]string{"GCE_METADATA_HOST": strings.TrimPrefix(server.URL, "http://")}}, true)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	err = id.authorize(t.Context(), httptest.NewRequest(http.MethodGet, "/", nil))
	if took := time.Since(start); !errs.Is(err, errs.Denied) || took > 5*time.Second {
		t.Errorf("%v after %v", err, took)
	}
}

// serviceAccount writes the key file of an account whose tokens come from server.
func serviceAccount(t *testing.T, name, server string) (file string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": name, "token_uri": server, "project_id": "its-project",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})),
	})
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestServiceAccounts(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, claims, _ := strings.Cut(r.FormValue("assertion"), ".")
		claims, _, _ = strings.Cut(claims, ".")
		if text, err := base64.RawURLEncoding.DecodeString(claims); err != nil || !strings.Contains(string(text), "good@x") {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error": "invalid_grant", "error_description": "Account was deleted."}`)
			return
		}
		fmt.Fprint(w, `{"access_token": "fresh", "expires_in": 3600, "token_type": "Bearer"}`)
	}))
	defer server.Close()
	for name, want := range map[string]string{"good@x": "Bearer fresh", "gone@x": "revoked or expired"} {
		file := serviceAccount(t, name, server.URL)
		id, err := identify(storage.Options{Settings: storage.Settings{CredentialsFile: file}, Environ: map[string]string{}}, true)
		if err != nil {
			t.Fatal(err)
		}
		rq := httptest.NewRequest(http.MethodGet, "/", nil)
		err = id.authorize(t.Context(), rq)
		got := rq.Header.Get("Authorization")
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || err != nil && !errs.Is(err, errs.Denied) || id.project != "its-project" {
			t.Errorf("%s of %q: got %q (%v), want %q", name, id.project, got, errs.KindOf(err), want)
		}
	}
}

func FuzzRefusal(f *testing.F) {
	f.Add(404, `{"error": {"code": 404, "message": "The specified bucket does not exist.", "errors": [{"reason": "notFound"}]}}`)
	f.Add(503, "<html>")
	f.Add(403, `{"error": 7}`)
	p, err := Open(context.Background(), "bucket", storage.Options{Settings: storage.Settings{Anonymous: true}, Environ: map[string]string{}})
	if err != nil {
		f.Fatal(err)
	}
	c := p.(*Provider).client
	f.Fuzz(func(t *testing.T, status int, text string) {
		r := &refusal{}
		r.Status, r.Text, r.Header = status, []byte(text), http.Header{}
		if err := c.explain(&r.Response); err == nil || errs.KindOf(err) == errs.Internal || len(err.Error()) > 2000 {
			t.Errorf("%d %q: %v", status, text, err)
		}
	})
}
