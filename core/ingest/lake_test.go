package ingest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"deeplake/core/chunk"
	"deeplake/core/dataset"
	"deeplake/core/dataset/origin"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/storagetest"
)

// lakeEnv is testEnv with a lake at lake://b.
func lakeEnv() (*dataset.Env, *storagetest.Lake) {
	env, lake := testEnv(), &storagetest.Lake{}
	env.Sources["lake"] = lake.Open
	return env, lake
}

// sourceLinks returns options that permit links into the lake.
func sourceLinks() storage.Options {
	return storage.Options{Links: []storage.LinkRule{{Prefix: "lake://b", Settings: &storage.Settings{}}}}
}

// origins reads where the rows of a dataset came from.
func origins(t *testing.T, env *dataset.Env, uri string) []string {
	t.Helper()
	var out []string
	for _, p := range stored(t, env, uri, origin.Tensor) {
		o, err := origin.Decode(p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, o.Path)
	}
	return out
}

// decoded reads the pixels of a tensor, row by row.
func decoded(t *testing.T, env *dataset.Env, uri string) [][]byte {
	t.Helper()
	ctx := context.Background()
	d, err := dataset.Open(ctx, env, uri, dataset.OpenOptions{Storage: sourceLinks()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	v, err := d.View(ctx)
	if err != nil {
		t.Fatal(err)
	}
	col, err := v.Column("images")
	if err != nil {
		t.Fatal(err)
	}
	w := v.NewWorker()
	defer w.Close()
	out := make([][]byte, v.Len())
	for i := range out {
		refs := make([]chunk.Ref, 1)
		if err := col.Resolve(ctx, []int64{int64(i)}, refs); err != nil {
			t.Fatal(err)
		}
		if refs[0].Hole() {
			continue
		}
		out[i] = make([]byte, refs[0].Size)
		if err := col.Decode(ctx, &refs[0], out[i], w); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestLakeIsBroughtUpToDate runs an import again and again while objects come, change and go.
func TestLakeIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	for _, link := range []bool{false, true} {
		t.Run(fmt.Sprintf("link=%v", link), func(t *testing.T) {
			t.Parallel()
			env, lake := lakeEnv()
			uri, o := "mem://d", Options{Link: link}
			put := func(key string, seed int) { lake.Put("train/"+key, picture(t, seed, "jpeg")) }
			for i := range 30 {
				put(fmt.Sprintf("c%d/%03d.jpg", i%3, i), i)
			}
			lake.Put("train/c1/readme.md", []byte("hello"))
			lake.Put("train/c1/", nil) // a marker of a console
			lake.Put("other/x.jpg", picture(t, 1, "jpeg"))
			lake.Put("train/lost.jpg", picture(t, 2, "jpeg"))
			r := run(t, env, uri, "lake://b/train", o)
			if r.Added != 30 || r.Rows != 30 || r.Skipped != 2 || !r.Complete || fmt.Sprint(r.Classes) != "[c0 c1 c2]" {
				t.Fatalf("first: %+v", r)
			}
			keys := origins(t, env, uri)
			if !slices.IsSorted(keys) || keys[0] != "c0/000.jpg" {
				t.Fatalf("rows came from %v", keys)
			}
			first := r.Version
			before := lake.Bytes.Load()
			if r = run(t, env, uri, "lake://b/train", o); r.Added != 0 || r.Unchanged != 30 || r.Version != first || r.Updated != 0 {
				t.Fatalf("again: %+v", r)
			}
			if read := lake.Bytes.Load() - before; read > 20000 {
				t.Errorf("%d bytes were read to find nothing new", read)
			}
			put("c0/0000.jpg", 100) // in the middle, of a new and of an old class
			put("c9/000.jpg", 101)
			put("c2/005.jpg", 102) // changed
			lake.Remove("train/c1/001.jpg")
			r = run(t, env, uri, "lake://b/train", o)
			if r.Added != 2 || r.Updated != 1 || r.Gone != 1 || r.GoneNames[0] != "c1/001.jpg" || r.Rows != 32 || r.Unchanged != 28 {
				t.Fatalf("changed: %+v", r)
			}
			put("c0/0000.jpg", 103)
			put("a/first.jpg", 104)
			if r = run(t, env, uri, "lake://b/train", o); r.Added != 1 || r.Updated != 1 || r.Unchanged != 30 || r.Gone != 1 {
				t.Fatalf("changed again: %+v", r)
			}
			lake.Put("train/c1/001.jpg", picture(t, 1, "jpeg")) // back
			run(t, env, uri, "lake://b/train", o)
			keys = origins(t, env, uri)
			images := stored(t, env, uri, "images")
			for i, key := range keys {
				want, err := lake.Range(context.Background(), "train/"+key, 0, -1, "")
				if err != nil {
					t.Fatal(err)
				}
				got := make([]byte, want.Len())
				if _, _ = want.Read(got); !bytes.Equal(got, images[i]) {
					t.Errorf("row %d is not %q", i, key)
				}
			}
			if labels := stored(t, env, uri, "labels"); labels[31][0] != 3 || labels[32][0] != 4 {
				t.Errorf("labels of the new classes: %v %v", labels[31], labels[32])
			}
		})
	}
}

// TestKnownRowsMerge holds the merge of many runs against a sorted list.
func TestKnownRowsMerge(t *testing.T) {
	t.Parallel()
	env, lake := lakeEnv()
	r := rand.New(rand.NewPCG(1, 2))
	all := map[string]bool{}
	data := picture(t, 1, "jpeg")
	for range 12 {
		for range 40 {
			key := fmt.Sprintf("k%04d.jpg", r.IntN(3000))
			all[key] = true
			lake.Put(key, data)
		}
		run(t, env, "mem://d", "lake://b", Options{})
	}
	ctx := context.Background()
	d, err := dataset.Open(ctx, env, "mem://d", dataset.OpenOptions{Storage: sourceLinks()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	v, err := d.View(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []string{"", "k1500.jpg"} {
		k, err := openKnown(ctx, v, after)
		if err != nil {
			t.Fatal(err)
		}
		if len(k.runs) < 5 {
			t.Fatalf("%d runs", len(k.runs))
		}
		var got []string
		for k.peek() != nil {
			one, err := k.take(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if len(one.rows) != 1 || one.rows[0].count != 1 {
				t.Fatalf("%q has rows %v", one.Path, one.rows)
			}
			got = append(got, one.Path)
		}
		k.close()
		var want []string
		for key := range all {
			if key > after {
				want = append(want, key)
			}
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("after %q: %d keys, want %d", after, len(got), len(want))
		}
	}
}

// TestLakeIsReadSideBySide: many requests at once, within the budget, and rows in the order of the
// listing.
func TestLakeIsReadSideBySide(t *testing.T) {
	t.Parallel()
	env, lake := lakeEnv()
	lake.Delay = time.Millisecond
	for i := range 1500 {
		lake.Put(fmt.Sprintf("%04d.jpg", i), picture(t, i%50, "jpeg"))
	}
	r := run(t, env, "mem://d", "lake://b", Options{Checkpoint: 400})
	if r.Rows != 1500 || r.Version != 4 {
		t.Fatalf("report: %+v", r)
	}
	if peak := lake.Peak.Load(); peak < 16 || peak > sourceWorkers+1 {
		t.Errorf("%d requests at once", peak)
	}
	if !slices.IsSorted(origins(t, env, "mem://d")) {
		t.Error("the rows are not in the order of the listing")
	}
}

// TestInterruptedLakeGoesOn: committed objects are not read again.
func TestInterruptedLakeGoesOn(t *testing.T) {
	t.Parallel()
	env, lake := lakeEnv()
	for i := range 900 {
		lake.Put(fmt.Sprintf("%04d.jpg", i), picture(t, i%50, "jpeg"))
	}
	outage := true
	lake.Fail = func(key string, _, _ int64) error {
		if outage && key >= "0777.jpg" && key != "meta/info.json" {
			return errs.Op("read", key).New(errs.Storage, "the network is gone")
		}
		return nil
	}
	j, err := Start(env, "mem://d", "lake://b", Options{Checkpoint: 200})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Wait(context.Background()); !errs.Is(err, errs.Storage) || !strings.Contains(err.Error(), "the network is gone") {
		t.Fatalf("an outage: %v", err)
	}
	outage = false
	before := lake.Requests.Load()
	r := run(t, env, "mem://d", "lake://b", Options{Checkpoint: 200})
	if r.Resumed != 600 || r.Added != 300 || r.Rows != 900 || !r.Complete {
		t.Fatalf("report: %+v", r)
	}
	if n := lake.Requests.Load() - before; n > 330 {
		t.Errorf("%d requests for 300 objects", n)
	}
}

// TestOtherDatasetsAreLeftAlone: an import goes on in its own dataset only.
func TestOtherDatasetsAreLeftAlone(t *testing.T) {
	t.Parallel()
	env, lake := lakeEnv()
	lake.Put("a/x.jpg", picture(t, 1, "jpeg"))
	lake.Put("b/y.jpg", picture(t, 2, "jpeg"))
	run(t, env, "mem://d", "lake://b/a", Options{})
	ctx := context.Background()
	d, err := dataset.Create(ctx, env, "mem://mine", dataset.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.CreateTensor(ctx, dataset.TensorSpec{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Commit(ctx, ""); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		uri, source string
		o           Options
	}{
		"another source":     {"mem://d", "lake://b/b", Options{}},
		"copied, now linked": {"mem://d", "lake://b/a", Options{Link: true}},
		"a dataset by hand":  {"mem://mine", "lake://b/a", Options{}},
	} {
		j, err := Start(env, c.uri, c.source, c.o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Wait(ctx); !errs.Is(err, errs.Exists) {
			t.Errorf("%s: %v", name, err)
		}
		j.Close()
	}
}
