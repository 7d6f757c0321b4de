package tests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/all"
	"deeplake/core/storage/storagetest"
	"deeplake/go/tests/faultproxy"
	"deeplake/go/tests/objectstore"
)

// The stores behind "s3://..." and "gs://...", against real servers, and through a proxy that
// disturbs requests as networks and stores do.

// lake is one place in an object store, as seen by a user.
type lake struct {
	stores   storage.Registry
	uri      string
	settings storage.Settings
}

// lakeKind is a kind of server.
type lakeKind struct {
	name    string
	server  func(testing.TB) *objectstore.Server
	dialect faultproxy.Dialect
}

func lakeKinds() []lakeKind {
	kinds := []lakeKind{
		{"s3", objectstore.S3, faultproxy.DialectS3},
		{"gcs", objectstore.GCS, faultproxy.DialectGCS},
	}
	if os.Getenv("DEEPLAKE_TEST_MINIO") != "" {
		kinds = append(kinds, lakeKind{"minio", objectstore.MinIO, faultproxy.DialectS3})
	}
	return kinds
}

// newLake is an empty bucket of a server. Where p is not nil, it is reached through p.
func newLake(t *testing.T, s *objectstore.Server, p *faultproxy.Proxy) *lake {
	t.Helper()
	stores, _ := all.New()
	l := &lake{stores: stores, uri: s.URI(s.NewBucket(t), "data", "set"), settings: s.Settings()}
	if p != nil {
		l.settings.Endpoint = p.URL
	}
	return l
}

// proxied puts a proxy before a server.
func proxied(t *testing.T, k lakeKind, s *objectstore.Server, rules ...faultproxy.Rule) *faultproxy.Proxy {
	t.Helper()
	return faultproxy.New(t, faultproxy.Config{
		Upstream: s.Endpoint, Dialect: k.dialect, RewriteHost: k.dialect == faultproxy.DialectGCS, Seed: 1,
		Profile: faultproxy.Profile{Rules: rules},
	})
}

// provider opens the place with all that stands between a user and a store.
func (l *lake) provider(t *testing.T) storage.Provider {
	t.Helper()
	p, err := l.stores.Open(t.Context(), l.uri, storage.Options{Create: true, Settings: l.settings, Environ: map[string]string{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func TestLakeConformance(t *testing.T) {
	t.Parallel()
	for _, k := range lakeKinds() {
		for name, cached := range map[string]bool{"plain": false, "cached": true} {
			t.Run(k.name+" "+name, func(t *testing.T) {
				t.Parallel()
				server := k.server(t)
				storagetest.Run(t, func(t *testing.T) (storage.Provider, func() storage.Provider) {
					l := newLake(t, server, nil)
					if cached {
						l.settings.CacheDir, l.settings.CacheBytes, l.settings.CacheMemoryBytes = t.TempDir(), 64<<20, 8<<20
					}
					return l.provider(t), func() storage.Provider { return l.provider(t) }
				})
			})
		}
	}
	t.Run("s3 over tls", func(t *testing.T) {
		t.Parallel()
		server := objectstore.S3TLS(t)
		storagetest.Run(t, func(t *testing.T) (storage.Provider, func() storage.Provider) {
			l := newLake(t, server, nil)
			return l.provider(t), func() storage.Provider { return l.provider(t) }
		})
	})
}

// storm is a little of everything that a new request cures.
func storm() []faultproxy.Rule {
	return []faultproxy.Rule{
		{Name: "slow down", P: 0.02, Do: faultproxy.SlowDown()},
		{Name: "internal", P: 0.01, Do: faultproxy.Answer(500, "InternalError", 0)},
		{Name: "refused", P: 0.01, Do: faultproxy.Refuse()},
		{Name: "lost", P: 0.02, Do: faultproxy.LoseAnswer()},
		{Name: "reset", P: 0.02, Do: faultproxy.ResetAt(faultproxy.Middle)},
		{Name: "ended", P: 0.02, Do: faultproxy.CloseAt(faultproxy.Middle)},
		{Name: "cut", Range: "bytes", P: 0.03, Do: faultproxy.CutAt(faultproxy.Middle)},
		{Name: "shifted", Range: "bytes", P: 0.03, Do: faultproxy.WrongRange()},
		{Name: "late", P: 0.02, Do: faultproxy.Delay(20*time.Millisecond, 10*time.Millisecond)},
	}
}

// TestLakeConformanceInAStorm: every promise holds while one request in ten goes wrong. PutIfAbsent
// may leave its outcome open.
func TestLakeConformanceInAStorm(t *testing.T) {
	t.Parallel()
	for _, k := range lakeKinds() {
		if testing.Short() && k.name != "s3" {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			server := k.server(t)
			p := proxied(t, k, server, storm()...)
			t.Cleanup(func() {
				c := p.Counts()
				t.Logf("%d requests, %d faults: %v", c.Requests, c.Faults, c.Rules)
				for _, r := range c.Rules {
					if r.Hit == 0 {
						t.Errorf("the fault %q never happened", r.Name)
					}
				}
			})
			storagetest.Run(t, func(t *testing.T) (storage.Provider, func() storage.Provider) {
				l := newLake(t, server, p)
				open := func() storage.Provider { return storagetest.Certain(l.provider(t)) }
				return open(), open
			})
		})
	}
}

// pattern is n bytes of which each piece is its own.
func pattern(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i) ^ byte(i>>8) ^ byte(i>>16)
	}
	return data
}

// TestLakeFaults: one fault of each kind in each call is cured, by few requests.
func TestLakeFaults(t *testing.T) {
	t.Parallel()
	data := pattern(1 << 20)
	calls := map[string]struct {
		match faultproxy.Rule
		call  func(ctx context.Context, p storage.Provider) error
	}{
		"get": {faultproxy.Rule{Method: "GET"}, func(ctx context.Context, p storage.Provider) error {
			got, err := p.Get(ctx, "data/a")
			return sameData(got, data, err)
		}},
		"read": {faultproxy.Rule{Method: "GET"}, func(ctx context.Context, p storage.Provider) error {
			got := make([]byte, 700_000)
			err := p.ReadAt(ctx, "data/a", got, 1234)
			return sameData(got, data[1234:701_234], err)
		}},
		"put": {faultproxy.Rule{Method: "PUT,POST"}, func(ctx context.Context, p storage.Provider) error {
			return errors.Join(p.Put(ctx, "data/b", data), holdsData(ctx, p, "data/b", data))
		}},
		"put if absent": {faultproxy.Rule{Method: "PUT,POST"}, func(ctx context.Context, p storage.Provider) error {
			err := storagetest.Certain(p).PutIfAbsent(ctx, "log/1", data[:1000])
			return errors.Join(err, holdsData(ctx, p, "log/1", data[:1000]))
		}},
		"list": {faultproxy.Rule{Method: "GET"}, func(ctx context.Context, p storage.Provider) error {
			n := 0
			err := p.List(ctx, "", "", func(storage.Object) bool { n++; return true })
			if err == nil && n != 1 {
				err = fmt.Errorf("list: %d objects, want 1", n)
			}
			return err
		}},
		"delete": {faultproxy.Rule{Method: "DELETE,POST"}, func(ctx context.Context, p storage.Provider) error {
			err := p.Delete(ctx, "data/a", "data/missing")
			if _, getErr := p.Get(ctx, "data/a"); !errs.Is(getErr, errs.NotFound) {
				err = errors.Join(err, fmt.Errorf("get after delete: %w", getErr))
			}
			return err
		}},
	}
	faults := map[string]faultproxy.Action{
		"503": faultproxy.SlowDown(), "500": faultproxy.Answer(500, "InternalError", 0), "429": faultproxy.Answer(429, "rateLimitExceeded", 0),
		"refused": faultproxy.Refuse(), "lost": faultproxy.LoseAnswer(), "reset after the head": faultproxy.ResetAt(0),
		"reset in the body": faultproxy.ResetAt(faultproxy.Middle), "ended": faultproxy.CloseAt(faultproxy.Middle),
		"stalled": faultproxy.StallAt(faultproxy.Middle, 0), "never answered": faultproxy.Delay(20*time.Second, 0),
	}
	// A write that is not answered takes six seconds until it is given up: one call stands for all.
	slow := func(call, fault string) bool {
		return fault == "stalled" && call != "get" && call != "read" ||
			fault == "never answered" && call != "get" && call != "read" && call != "put if absent"
	}
	for _, k := range lakeKinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			server := k.server(t)
			for callName, c := range calls {
				for faultName, do := range faults {
					if slow(callName, faultName) {
						continue
					}
					t.Run(callName+" "+faultName, func(t *testing.T) {
						t.Parallel()
						rule := c.match
						rule.Do, rule.Times = do, 1
						p := proxied(t, k, server)
						l := newLake(t, server, p)
						l.settings.Timeout = 1
						no := false
						l.settings.Hedge = &no
						provider := l.provider(t)
						if err := provider.Put(t.Context(), "data/a", data); err != nil {
							t.Fatal(err)
						}
						p.SetRules(t, rule)
						p.Reset()
						began := time.Now()
						if err := c.call(t.Context(), provider); err != nil {
							t.Error(err)
						}
						counts := p.Counts()
						if counts.Faults != 1 || counts.Requests > 8 {
							t.Errorf("%d faults in %d requests, want 1 in few: %+v", counts.Faults, counts.Requests, p.Requests())
						}
						if d := time.Since(began); d > 10*time.Second {
							t.Errorf("took %v", d)
						}
					})
				}
			}
		})
	}
}

func sameData(got, want []byte, err error) error {
	if err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("got %d bytes that are not the %d of the object", len(got), len(want))
	}
	return err
}

func holdsData(ctx context.Context, p storage.Provider, key string, want []byte) error {
	got, err := p.Get(ctx, key)
	return sameData(got, want, err)
}

// TestLakeResumes: a body that breaks goes on where it broke.
func TestLakeResumes(t *testing.T) {
	t.Parallel()
	for _, k := range lakeKinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			server := k.server(t)
			p := proxied(t, k, server)
			l := newLake(t, server, p)
			provider := l.provider(t)
			data := pattern(8 << 20)
			if err := provider.Put(t.Context(), "data/a", data); err != nil {
				t.Fatal(err)
			}
			p.SetRules(t, faultproxy.Rule{Times: 3, Do: faultproxy.CloseAt(2 << 20)})
			p.Reset()
			got := make([]byte, len(data))
			if err := sameData(got, data, provider.ReadAt(t.Context(), "data/a", got, 0)); err != nil {
				t.Fatal(err)
			}
			if c := p.Counts(); c.Faults != 3 || c.BytesOut > int64(len(data))+1<<20 {
				t.Errorf("%d bytes came for %d, with %d faults: %+v", c.BytesOut, len(data), c.Faults, p.Requests())
			}
		})
	}
}

// TestLakeRefusals: a failure that no repetition cures is an error of its own with the way out, and
// comes within ten seconds.
func TestLakeRefusals(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	for name, c := range map[string]struct {
		only  string // the kind of server, "" for all
		rules []faultproxy.Rule
		spoil func(l *lake)
		part  string // of the message
	}{
		"missing bucket":  {spoil: func(l *lake) { l.uri = strings.SplitAfter(l.uri, "://")[0] + "no-such-bucket-here/x" }, part: "no-such-bucket-here"},
		"wrong secret":    {only: "s3", spoil: func(l *lake) { l.settings.SecretAccessKey = "wrong" }, part: "secret"},
		"unknown key":     {only: "s3", spoil: func(l *lake) { l.settings.AccessKeyID = "nobody" }, part: "key"},
		"expired token":   {only: "s3", rules: []faultproxy.Rule{{Do: faultproxy.ExpiredToken()}}, part: "expired"},
		"clock skew":      {only: "s3", rules: []faultproxy.Rule{{Do: faultproxy.ClockSkew()}}, part: "clock"},
		"access denied":   {only: "s3", rules: []faultproxy.Rule{{Do: faultproxy.Answer(403, "AccessDenied", 0)}}, part: "denied"},
		"forbidden":       {only: "gcs", rules: []faultproxy.Rule{{Do: faultproxy.Answer(403, "forbidden", 0)}}, part: ""},
		"unauthorized":    {only: "gcs", rules: []faultproxy.Rule{{Do: faultproxy.Answer(401, "authError", 0)}}, part: ""},
		"nobody there":    {spoil: func(l *lake) { l.settings.Endpoint = "http://127.0.0.1:1" }, part: "127.0.0.1:1"},
		"unknown host":    {spoil: func(l *lake) { l.settings.Endpoint = "http://no-such-host.invalid" }, part: "no-such-host.invalid"},
		"another server":  {spoil: func(l *lake) { l.settings.Endpoint = other.URL }, part: ""},
		"nothing answers": {rules: []faultproxy.Rule{{Do: faultproxy.Delay(time.Minute, 0)}}, part: ""},
	} {
		for _, k := range lakeKinds() {
			if c.only != "" && c.only != k.name {
				continue
			}
			t.Run(k.name+" "+name, func(t *testing.T) {
				t.Parallel()
				server := k.server(t)
				l := newLake(t, server, proxied(t, k, server, c.rules...))
				if c.spoil != nil {
					c.spoil(l)
				}
				p := l.provider(t)
				var all sync.WaitGroup // what waits for an answer in vain waits side by side
				for op, call := range map[string]func() error{
					"get":  func() error { _, err := p.Get(t.Context(), "data/a"); return err },
					"list": func() error { return p.List(t.Context(), "", "", func(storage.Object) bool { return true }) },
					"put":  func() error { return p.PutIfAbsent(t.Context(), "log/a", []byte("x")) },
				} {
					all.Go(func() {
						began := time.Now()
						err := call()
						if d := time.Since(began); d > 10*time.Second {
							t.Errorf("%s: took %v, want at most 10 s", op, d)
						}
						if err == nil || errs.KindOf(err) == errs.Internal || !strings.Contains(err.Error(), c.part) {
							t.Errorf("%s: got %v, want an error about %q", op, err, c.part)
						} else {
							t.Logf("%s: %v: %v", op, errs.KindOf(err), err)
						}
						if err != nil && (strings.Contains(err.Error(), "testsecret1") || strings.Contains(fmt.Sprintf("%+v", err), "testsecret1")) {
							t.Errorf("%s: the error shows the secret: %v", op, err)
						}
					})
				}
				all.Wait()
			})
		}
	}
}
