package loader

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/order"
	"deeplake/core/storage"
	stores "deeplake/core/storage/all"
	"deeplake/go/tests/faultproxy"
	"deeplake/go/tests/objectstore"
)

// copyTo copies the objects of a lake into another store.
func (l *remoteSet) copyTo(t *testing.T, to storage.Provider) {
	t.Helper()
	ctx := t.Context()
	from, err := l.env.Stores.Open(ctx, "mem://lake", storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	err = from.List(ctx, "", "", func(o storage.Object) bool {
		keys = append(keys, o.Key)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		data, err := from.Get(ctx, key)
		if err == nil {
			err = to.Put(ctx, key, data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A real server, behind a proxy that injects every fault, gives the epochs of a local disk.
func TestEpochFromServer(t *testing.T) {
	t.Parallel()
	server := objectstore.S3(t)
	registry, _ := stores.New()
	l := mixedRemoteSet(t, 200)
	uri := server.URI(server.NewBucket(t), "set")
	to, err := registry.Open(t.Context(), uri, storage.Options{Create: true, Settings: server.Settings(), Environ: map[string]string{}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = to.Close() }()
	l.copyTo(t, to)
	some := func(share float64, times int, a faultproxy.Action) []faultproxy.Rule {
		return []faultproxy.Rule{{Method: "GET", Path: "/data/", P: share, Times: times, Do: a}}
	}
	for name, rules := range map[string][]faultproxy.Rule{
		"clean":    nil,
		"slowdown": some(0.2, 0, faultproxy.SlowDown()),
		"reset":    some(0.2, 0, faultproxy.ResetAt(1000)),
		"flipped":  some(0, 10, faultproxy.FlipAt(500)),
	} {
		t.Run(name, func(t *testing.T) {
			proxy := faultproxy.New(t, faultproxy.Config{Upstream: server.Endpoint, Seed: 5})
			proxy.SetRules(t, rules...)
			settings := server.Settings()
			settings.Endpoint = proxy.URL
			env := &dataset.Env{Stores: registry, Codecs: all.All(), Writer: "test"}
			d, err := dataset.Open(t.Context(), env, uri, dataset.OpenOptions{ReadOnly: true, Storage: storage.Options{Settings: settings, Environ: map[string]string{}}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = d.Close() }()
			v, err := d.View(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, shuffle := range []string{order.Window, order.Full} {
				o := mixedOptions()
				o.Shuffle = shuffle
				want, _ := epochOf(t, SourceOf(l.local), o, 1)
				got, s := epochOf(t, SourceOf(v), o, 1)
				if !slices.Equal(got, want) {
					t.Errorf("%s: the epoch differs", shuffle)
				}
				if s.Fetch.Requests == 0 || s.Fetch.Store.Requests < s.Fetch.Requests {
					t.Errorf("%s: stats %+v name no requests", shuffle, s.Fetch)
				}
				if (name == "slowdown" || name == "reset") && s.Fetch.Store.Retries == 0 {
					t.Errorf("%s: stats %+v name no retries", shuffle, s.Fetch.Store)
				}
			}
		})
	}
}

// From opening a dataset that was never seen to its first batch no more than six requests follow
// each other.
func TestRoundTripsToFirstBatch(t *testing.T) {
	t.Parallel()
	l := plainRemoteSet(t)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		v := l.open(t, func(f *remoteStore) { f.rate = 1e15 })
		opened := time.Since(began)
		o := Options{BatchSize: 256, Shuffle: order.Window}
		loader := open2(t, SourceOf(v), o)
		defer loader.Close()
		e, err := loader.Start(context.Background(), order.Pass{})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		next(t, e).Release()
		trips := float64(time.Since(began)) / float64(l.remote.latency)
		t.Logf("%.1f requests to open, %.1f to the first batch", float64(opened)/float64(l.remote.latency), trips)
		if trips > 6.1 {
			t.Errorf("%.1f requests in sequence, want at most 6", trips)
		}
	})
}
