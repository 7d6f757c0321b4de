package all

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/cache"
	"deeplake/core/storage/gcs"
	"deeplake/core/storage/s3"
	"deeplake/core/storage/storagetest"
	"deeplake/go/tests/objectstore"
)

// TestStackConformance runs the suite over everything that a user of a bucket with a cache has in
// between.
func TestStackConformance(t *testing.T) {
	t.Parallel()
	server := objectstore.S3(t)
	stores, _ := New()
	storagetest.Run(t, func(t *testing.T) (storage.Provider, func() storage.Provider) {
		uri := server.URI(server.NewBucket(t), "some", "prefix")
		o := storage.Options{Create: true, Settings: server.Settings(), Environ: map[string]string{}}
		o.Settings.CacheDir, o.Settings.CacheMemoryBytes = t.TempDir(), 1<<20
		reopen := func() storage.Provider {
			p, err := stores.Open(t.Context(), uri, o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { p.Close() })
			return p
		}
		return reopen(), reopen
	})
}

func TestWhatIsInside(t *testing.T) {
	t.Parallel()
	stores, _ := New()
	o := storage.Options{Environ: map[string]string{"STORAGE_EMULATOR_HOST": "http://127.0.0.1:1"}}
	o.Settings.CacheDir = t.TempDir()
	for _, uri := range []string{"s3://bucket/a", "gs://bucket/a", "gcs://bucket/a", "https://example.com/a", "http://example.com/a"} {
		p, err := stores.Open(t.Context(), uri, o)
		if err != nil {
			t.Errorf("open %q: %v", uri, err)
			continue
		}
		if _, ok := p.(*cache.Store); !ok || !storage.Remote(p) {
			t.Errorf("%s: the outermost is a %T, want a cache that answers ranges", uri, p)
		}
		switch storage.Innermost(p).(type) {
		case *s3.Provider, *gcs.Provider, storage.Ranger:
		default:
			t.Errorf("%s: the innermost is a %T", uri, storage.Innermost(p))
		}
		if err := p.Close(); err != nil {
			t.Errorf("close %q: %v", uri, err)
		}
	}
	if _, err := stores.Open(t.Context(), "s4://bucket", o); !errs.Is(err, errs.Unsupported) {
		t.Errorf("an unknown scheme: %v", err)
	}
	o.Settings.CacheBytes = -1
	if _, err := stores.Open(t.Context(), "s3://bucket", o); !errs.Is(err, errs.Invalid) {
		t.Errorf("a negative cache: %v", err)
	}
}

// TestLayersAreShared: one limit and one cache for all that is opened in a bucket, and none of it
// after the last use.
func TestLayersAreShared(t *testing.T) {
	t.Parallel()
	n := &network{}
	get := func(rest string, s storage.Settings) layers {
		l, err := n.layers("s3", rest, s)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	s := storage.Settings{CacheMemoryBytes: 1 << 20}
	a, b := get("bucket/a", s), get("bucket/b", s)
	if a != b {
		t.Error("two datasets of a bucket do not share their layers")
	}
	s.MaxConnections = 3
	if c := get("bucket/a", s); c.limiter == a.limiter || c.limiter.Connections() != 3 {
		t.Error("other settings share a limit")
	}
	if d := get("other/a", s); d.limiter == a.limiter {
		t.Error("another bucket shares a limit")
	}
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)

	a, b = layers{}, layers{}
	deadline := time.Now().Add(10 * time.Second)
	for {
		runtime.GC()
		n.mu.Lock()
		n.forget()
		left := len(n.shared)
		n.mu.Unlock()
		if left == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d layers are left that nobody uses", left)
		}
		runtime.Gosched()
	}
}

func TestUnchanging(t *testing.T) {
	t.Parallel()
	keys := []string{"tsf.json", "hint/x", "refs/heads/main.0", "database/x"}
	if i := slices.IndexFunc(keys, unchanging); i >= 0 {
		t.Errorf("%q would be cached, but may change", keys[i])
	}
	const id = "0123456789abcdef0123456789abcdef"
	for key, want := range map[string]bool{
		"data/" + id + "/7": true, "map/" + id: true, "txn/" + id: true, "log/" + id + "/00000000000000000001": true,
		// A tensor of Deep Lake 3 may have any of these names, and its files change.
		"data/tensor_meta.json": false, "data/chunks/0123456789abcdef": false, "log/chunks_index/unsharded": false, "map/" + id + "0": false,
		"tsf.json": false, "hint/" + id: false, "refs/tags/data": false, "x/data/" + id: false,
	} {
		if got := unchanging(key); got != want {
			t.Errorf("unchanging(%q) is %v, want %v", key, got, want)
		}
	}
}
