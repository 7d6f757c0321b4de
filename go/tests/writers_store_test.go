package tests

import (
	"context"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"deeplake/core/dataset"
	"deeplake/core/storage"
	"deeplake/core/tensor"
	"deeplake/core/version"
	"deeplake/core/version/maintain"
	"deeplake/go/tests/faultproxy"
	"deeplake/go/tests/objectstore"
)

// What copies and collections of garbage ask of a real store: that it moves the bytes itself, and
// that it dates objects.

// chunksFetched counts the requests for content below data/.
func chunksFetched(t *testing.T, p *faultproxy.Proxy) int {
	t.Helper()
	n := 0
	for _, r := range p.Requests() {
		u, err := url.Parse(r.Target)
		if err != nil {
			t.Fatal(err)
		}
		if r.Method == "GET" && strings.Contains(u.Path, "/data/") {
			n++
		}
	}
	return n
}

// noise is a column of n texts of 100 kB that nothing makes smaller.
func noise(n int) tensor.Rows {
	source := rand.NewChaCha8([32]byte{7})
	rows := tensor.Rows{Tensor: "noise"}
	for range n {
		data := make([]byte, 100_000)
		_, _ = source.Read(data)
		rows.Samples = append(rows.Samples, tensor.Sample{Form: tensor.FormText, DType: tensor.Bytes, Data: data})
	}
	return rows
}

// TestCopyWithinAStore: the store copies large objects by itself. Only the pages that the walk
// reads cross the network.
func TestCopyWithinAStore(t *testing.T) {
	t.Parallel()
	for _, k := range lakeKinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			p := proxied(t, k, k.server(t))
			s := bucketStand(t, k, p)
			env, o := s.program()
			d, err := dataset.Create(ctx, env, s.uri, dataset.CreateOptions{Storage: o})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = d.Close() }()
			if err := d.CreateTensor(ctx, dataset.TensorSpec{Name: "noise", DType: "bytes", ChunkBytes: 1 << 20}); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := d.Append(ctx, []tensor.Rows{noise(30)}, 30); err != nil {
					t.Fatal(err)
				}
				if _, err := d.Commit(ctx, "noise"); err != nil {
					t.Fatal(err)
				}
			}
			way := dataset.OpenOptions{Storage: o}
			copyTo := func(dst string, history bool) maintain.CopyReport {
				p.Reset()
				r, err := dataset.Copy(ctx, env, s.uri, dst, dataset.CopyOptions{CopyOptions: maintain.CopyOptions{History: history}, From: way, To: way})
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			for _, history := range []bool{false, true} {
				dst := s.uri + map[bool]string{false: "-rows", true: "-history"}[history]
				r := copyTo(dst, history)
				c := p.Counts()
				t.Logf("history %v: %d objects of %d bytes, %d copied by the store; %d requests, %d bytes sent, %d received", history, r.Objects, r.Bytes, r.Server, c.Requests, c.BytesIn, c.BytesOut)
				if n := chunksFetched(t, p); n > 0 || r.Server != r.Objects || r.Bytes < 6_000_000 || c.BytesIn+c.BytesOut > r.Bytes/20 {
					t.Errorf("history %v: %d chunks were fetched, %d of %d objects copied by the store", history, n, r.Server, r.Objects)
				}
				sameNoise(t, env, dst, way)
			}
			// The same copy into another store reads every chunk, as counted above.
			copyTo("mem://elsewhere", true)
			if n := chunksFetched(t, p); n == 0 {
				t.Error("a copy to another store fetches no chunk")
			}
		})
	}
}

// sameNoise wants the rows of noise twice.
func sameNoise(t *testing.T, env *dataset.Env, uri string, way dataset.OpenOptions) {
	t.Helper()
	d, err := dataset.Open(t.Context(), env, uri, way)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	v, err := d.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := samplesOf(t.Context(), v, "noise")
	if err != nil {
		t.Fatal(err)
	}
	want := noise(30).Samples
	if len(got) != 60 {
		t.Fatalf("%d rows, want 60", len(got))
	}
	for i := range got {
		if string(got[i]) != string(want[i%30].Data) {
			t.Fatalf("row %d differs", i)
		}
	}
}

// stored lists the objects below a prefix.
func stored(t *testing.T, p storage.Provider, prefix string) map[string]storage.Object {
	t.Helper()
	out := map[string]storage.Object{}
	if err := p.List(t.Context(), prefix, "", func(o storage.Object) bool {
		out[o.Key] = o
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// appear returns the keys below data/ and map/ that do adds.
func appear(t *testing.T, p storage.Provider, do func()) []string {
	t.Helper()
	var keys []string
	before := [2]map[string]storage.Object{stored(t, p, "data/"), stored(t, p, "map/")}
	do()
	for i, prefix := range []string{"data/", "map/"} {
		for key, o := range stored(t, p, prefix) {
			if _, old := before[i][key]; old {
				continue
			}
			if o.Modified.IsZero() {
				t.Errorf("%s has no time", key)
			}
			keys = append(keys, key)
		}
	}
	return keys
}

// TestGCInABucket: neither a writer who is at work nor a reader of an old version nor one of a
// branch that was just deleted loses anything, whatever the clock of the machine says; old objects
// of a dead writer go.
func TestGCInABucket(t *testing.T) {
	t.Parallel()
	t.Run("s3", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		server, err := objectstore.Start(t.Context(), objectstore.Config{Kind: objectstore.KindS3, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Stop)
		k := lakeKind{"s3", func(testing.TB) *objectstore.Server { return server }, faultproxy.DialectS3}
		s := bucketStand(t, k, nil)
		bucket := filepath.Join(dir, "data", strings.TrimPrefix(s.uri, "s3://"))
		collect(t, s, func(key string) {
			old := time.Now().Add(-2 * time.Hour)
			if err := os.Chtimes(filepath.Join(bucket, key), old, old); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("gcs", func(t *testing.T) {
		t.Parallel()
		collect(t, bucketStand(t, lakeKinds()[1], nil), nil) // there, nothing can be made older
	})
}

// many are the labels from, from+1, ...
func many(from, n int64) []int64 {
	labels := make([]int64, n)
	for i := range labels {
		labels[i] = from + int64(i)
	}
	return labels
}

func collect(t *testing.T, s *stand, age func(key string)) {
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(s.create(ctx))
	p := s.provider(t)
	d := s.mustOpen(t, "")
	ok(extend(ctx, d, many(0, 100)...))
	old, err := d.Commit(ctx, "old")
	ok(err)
	ok(d.Versions().CreateBranch(ctx, "brief", ""))
	brief := s.mustOpen(t, "brief")
	ok(extend(ctx, brief, many(500, 100)...))
	_, err = brief.Commit(ctx, "brief")
	ok(err)
	reader := s.mustOpen(t, "brief")
	ok(d.Versions().DeleteBranch(ctx, "brief"))
	pinned, err := d.At(ctx, old.Commit)
	ok(err)
	defer func() { _ = pinned.Close() }()
	all := make([]int64, 100)
	for i := range all {
		all[i] = int64(i)
	}
	ok(d.Update(ctx, all, labelled(many(1000, 100)...)))
	_, err = d.Commit(ctx, "new values")
	ok(err)
	_, err = d.Rechunk(ctx, dataset.RechunkOptions{All: true})
	ok(err)

	// One writer is dead, one is slow.
	dead, slow := s.mustOpen(t, ""), s.mustOpen(t, "")
	leave := func(w *dataset.Dataset, from int64) []string {
		return appear(t, p, func() {
			ok(extend(ctx, w, many(from, 200)...))
			_, err := w.View(ctx) // everything is in the store
			ok(err)
		})
	}
	garbage := leave(dead, 2000)
	ok(dead.Close())
	waiting := leave(slow, 3000)
	if len(garbage) < 3 || len(waiting) < 3 {
		t.Fatalf("%d and %d objects of writers, want several", len(garbage), len(waiting))
	}
	if age == nil {
		garbage = nil
	} else {
		for _, key := range garbage {
			age(key)
		}
		for key := range stored(t, p, "data/") {
			if !slices.Contains(waiting, key) {
				age(key) // objects in use are as old
			}
		}
	}

	gone := 0
	for _, off := range []time.Duration{-30 * 24 * time.Hour, 30 * 24 * time.Hour} {
		gone += collectAt(t, p, off)
	}
	if gone != len(garbage) {
		t.Errorf("%d objects were removed, want the %d of the dead writer", gone, len(garbage))
	}
	for name, c := range map[string]struct {
		d    *dataset.Dataset
		want []int64
	}{"pinned": {pinned, many(0, 100)}, "deleted branch": {reader, slices.Concat(many(0, 100), many(500, 100))}, "head": {d, many(1000, 100)}} {
		if got, err := labelsOf(ctx, c.d); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
	_, err = slow.Commit(ctx, "slow")
	ok(err)
	for ref, want := range map[string][]int64{"main": slices.Concat(many(1000, 100), many(3000, 200)), old.Commit: many(0, 100)} {
		wantAt(t, s, ref, want)
	}
	checkWhole(t, s, false)
	// Without a grace period old versions stay, too.
	_, err = d.Versions().GC(ctx, maintain.GCOptions{})
	ok(err)
	wantAt(t, s, old.Commit, many(0, 100))
	checkWhole(t, s, true)
	// The objects of the deleted branch were removed early: no check takes that for damage.
	if r, err := d.Versions().GC(ctx, maintain.GCOptions{OlderThan: time.Hour}); err != nil || r.Objects > 0 {
		t.Errorf("another gc removes %d objects: %v", r.Objects, err)
	}
	env, o := s.program()
	way := dataset.OpenOptions{Storage: o}
	_, err = dataset.Copy(ctx, env, s.uri, s.uri+"-copy", dataset.CopyOptions{CopyOptions: maintain.CopyOptions{History: true}, From: way, To: way})
	ok(err)
	s.uri += "-copy"
	if _, err := s.mustOpen(t, "").Versions().GC(ctx, maintain.GCOptions{OlderThan: time.Hour}); err != nil {
		t.Errorf("gc of a copy: %v", err)
	}
	wantAt(t, s, old.Commit, many(0, 100))
	checkWhole(t, s, true)
}

// collectAt is a gc with a grace of an hour, on a machine whose clock is off. It gives the number
// of objects removed.
func collectAt(t *testing.T, p storage.Provider, off time.Duration) int {
	t.Helper()
	repo, err := version.Open(t.Context(), p, "test")
	if err != nil {
		t.Fatal(err)
	}
	repo.Now = func() time.Time { return time.Now().Add(off) }
	r, err := maintain.GC(t.Context(), repo, maintain.GCOptions{OlderThan: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if r.Young == 0 {
		t.Errorf("clock off by %v: nothing of the slow writer is young", off)
	}
	return int(r.Objects)
}

// wantAt opens a version again and wants its labels.
func wantAt(t *testing.T, s *stand, ref string, want []int64) {
	t.Helper()
	ctx := context.Background()
	at, err := s.mustOpen(t, "").At(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = at.Close() }()
	if got, err := labelsOf(ctx, at); err != nil || !slices.Equal(got, want) {
		t.Errorf("%s: %v %v", ref, got, err)
	}
}
