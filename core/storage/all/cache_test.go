package all

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"deeplake/core/storage"
)

// TestCacheTellsStoresApart: buckets of one name at two endpoints, and the objects that one server
// shows to two accounts, share a folder of a cache and none of its pages. Equal stores share them.
func TestCacheTellsStoresApart(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	serve := func(name string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			who, _, _ := strings.Cut(r.Header.Get("Authorization"), "/") // the access key
			http.ServeContent(w, r, "", time.Unix(1_700_000_000, 0), strings.NewReader(fmt.Sprint(name, " ", who, " ", r.Header.Get("X-Tenant"))))
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	one, two := serve("one"), serve("two")
	dir := t.TempDir()
	for _, memory := range []int64{0, 1 << 20} {
		stores, _ := New()
		get := func(uri string, s storage.Settings) (string, bool) {
			s.CacheMemoryBytes = memory
			if memory == 0 {
				s.CacheDir = dir
			}
			p, err := stores.Open(t.Context(), uri, storage.Options{Settings: s, Environ: map[string]string{}})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			before := requests.Load()
			text, err := p.Get(t.Context(), "log/0123456789abcdef0123456789abcdef/1")
			if err != nil {
				t.Fatal(err)
			}
			return string(text), requests.Load() > before
		}
		keys := func(endpoint, id string) storage.Settings {
			return storage.Settings{Endpoint: endpoint, AccessKeyID: id, SecretAccessKey: "hunter2", Region: "r"}
		}
		tenant := func(name string) storage.Settings {
			return storage.Settings{Headers: map[string]storage.Secret{"X-Tenant": storage.Secret(name)}}
		}
		for _, c := range []struct {
			name, uri string
			s         storage.Settings
			want      string
			asks      bool
		}{
			{"the first", "s3://bucket/set", keys(one, "a"), "one AWS4-HMAC-SHA256 Credential=a ", true},
			{"another endpoint", "s3://bucket/set", keys(two, "a"), "two AWS4-HMAC-SHA256 Credential=a ", true},
			{"another account", "s3://bucket/set", keys(one, "b"), "one AWS4-HMAC-SHA256 Credential=b ", true},
			{"nobody", "s3://bucket/set", storage.Settings{Endpoint: one, Anonymous: true, Region: "r"}, "one  ", true},
			{"the first again", "s3://bucket/set", keys(one, "a"), "one AWS4-HMAC-SHA256 Credential=a ", false},
			{"a tenant", one + "/set", tenant("x"), "one  x", true},
			{"another tenant", one + "/set", tenant("y"), "one  y", true},
			{"a tenant again", one + "/set", tenant("x"), "one  x", false},
		} {
			if got, asked := get(c.uri, c.s); got != c.want || asked != c.asks && (c.asks || memory == 0) {
				// unused memory goes
				t.Errorf("%s, memory %d: got %q, asked %v, want %q, %v", c.name, memory, got, asked, c.want, c.asks)
			}
		}
	}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		text, err := io.ReadAll(f)
		if strings.Contains(path+string(text), "hunter2") {
			t.Errorf("%s shows a secret", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
