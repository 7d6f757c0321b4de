package samplecache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
)

// sample is one with its pixels.
type sample struct {
	ref  *chunk.Ref
	data []byte
}

// picture is a chunk of n samples of different shapes.
func picture(t *testing.T, seed uint64, n int) []sample {
	t.Helper()
	ctx := context.Background()
	store, err := (&mem.Space{}).Open(ctx, "c", storage.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	session := chunk.NewSession(store)
	b := chunk.NewBuilder(&chunk.Spec{DType: tensor.Uint8, Target: 64 << 20}, session)
	rng := rand.New(rand.NewPCG(seed, 0))
	samples := make([]sample, n)
	for i := range samples {
		shape := tensor.Shape{1 + rng.Int64N(60), 1 + rng.Int64N(60), 3}
		data := make([]byte, shape[0]*shape[1]*3)
		for k := range data {
			data[k] = byte(rng.Uint32())
		}
		if s, err := b.Add(ctx, chunk.Item{Data: data, Shape: shape}); err != nil || s != nil {
			t.Fatalf("one chunk is wanted: %v, %v", s, err)
		}
		samples[i] = sample{&chunk.Ref{Row: int64(i), Item: int64(i), Items: 1, Shape: shape, Size: int64(len(data)), Stored: int64(len(data))}, data}
	}
	s, err := b.Seal()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stream.Finish(ctx); err != nil {
		t.Fatal(err)
	}
	c, err := chunk.Open(store, "", "data/"+s.Session.String()+"/0", s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range samples {
		samples[i].ref.Chunk = c
	}
	return samples
}

// loads says how many of the samples are kept; one that comes back different fails the test.
func loads(t *testing.T, c Cache, samples []sample) (n int) {
	t.Helper()
	for i, s := range samples {
		got := make([]byte, len(s.data))
		has := c.Has(s.ref)
		if !c.Load(s.ref, got) {
			continue
		}
		n++
		if !bytes.Equal(got, s.data) {
			t.Fatalf("sample %d came back different", i)
		}
		if !has && !c.Has(s.ref) {
			t.Errorf("sample %d is kept, Has says it is not", i)
		}
	}
	return n
}

func storeAll(c Cache, samples []sample) {
	for _, s := range samples {
		c.Store(s.ref, s.data)
	}
}

// both runs a test over memory and disk.
func both(t *testing.T, limit int64, body func(t *testing.T, c Cache)) {
	for name, dir := range map[string]string{"memory": "", "disk": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			c, err := Open(Options{Bytes: limit, Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			body(t, c)
		})
	}
}

func TestKeepsSamples(t *testing.T) {
	t.Parallel()
	both(t, 64<<20, func(t *testing.T, c Cache) {
		a, b := picture(t, 1, 50), picture(t, 2, 50)
		if n := loads(t, c, a); n != 0 {
			t.Fatalf("an empty cache has %d samples", n)
		}
		storeAll(c, a)
		storeAll(c, a) // again changes nothing
		if n := loads(t, c, a); n != 50 {
			t.Errorf("%d samples are kept, want 50", n)
		}
		if n := loads(t, c, b); n != 0 {
			t.Errorf("%d samples of another chunk are kept", n)
		}
		if s := c.Stats(); s.Hits != 50 || s.Misses != 100 || s.Stored < 50 || s.Faults != 0 || s.Bytes == 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

// TestDatasetsOfEqualIDs: a dataset that repeats the ids, the directory and the size of another's
// chunk neither gets its pixels nor gives it its own, and another run of either finds what it kept.
func TestDatasetsOfEqualIDs(t *testing.T) {
	t.Parallel()
	both(t, 64<<20, func(t *testing.T, c Cache) {
		ours := picture(t, 1, 20)
		theirs := slices.Clone(ours)
		chunkOf := func(origin string, salt byte) *chunk.Chunk {
			b := chunk.NewBuilder(&chunk.Spec{DType: tensor.Uint8, Target: 64 << 20}, chunk.NewSession(ours[0].ref.Chunk.Store))
			for _, s := range ours {
				if _, err := b.Add(t.Context(), chunk.Item{Data: bytes.Repeat([]byte{salt}, len(s.data)), Shape: s.ref.Shape}); err != nil {
					t.Fatal(err)
				}
			}
			sealed, err := b.Seal()
			if err != nil {
				t.Fatal(err)
			}
			opened, err := chunk.Open(ours[0].ref.Chunk.Store, origin, ours[0].ref.Chunk.Key, sealed.Dir)
			if err != nil {
				t.Fatal(err)
			}
			return opened
		}
		give := func(to []sample, c *chunk.Chunk, salt byte) []sample {
			out := slices.Clone(to)
			for i := range out {
				ref := *out[i].ref
				ref.Chunk = c
				out[i] = sample{&ref, bytes.Repeat([]byte{salt}, len(out[i].data))}
			}
			return out
		}
		ours = give(ours, chunkOf("s3://bucket/a one", 1), 1)
		for what, c2 := range map[string]*chunk.Chunk{
			"another dataset": chunkOf("s3://bucket/a two", 1), "another place": chunkOf("s3://bucket/b one", 1), "other blocks": chunkOf("s3://bucket/a one", 2),
		} {
			theirs = give(theirs, c2, 9)
			storeAll(c, theirs)
			storeAll(c, ours)
			if n := loads(t, c, theirs); n != 20 {
				t.Errorf("%s: %d of its samples are kept, want 20", what, n)
			}
			if n := loads(t, c, ours); n != 20 {
				t.Errorf("%s: %d of ours are kept, want 20", what, n)
			}
		}
		if n := loads(t, c, give(ours, chunkOf("s3://bucket/a one", 1), 1)); n != 20 {
			t.Errorf("opened again: %d samples, want 20", n)
		}
	})
}

func TestKeepsWithinLimit(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	both(t, limit, func(t *testing.T, c Cache) {
		var all [][]sample
		for i := range 12 {
			s := picture(t, uint64(i), 40) // about 110 kB
			storeAll(c, s)
			all = append(all, s)
			if b := c.Stats().Bytes; b > limit {
				t.Fatalf("%d bytes are kept, want at most %d", b, limit)
			}
		}
		first, hit := loads(t, c, all[0]), 0
		for _, s := range all {
			hit += loads(t, c, s)
		}
		if first != 40 {
			t.Errorf("%d of the 40 samples kept first are still there", first)
		}
		if hit < 200 || hit > 440 {
			t.Errorf("%d samples are kept in a limit for about 370", hit)
		}
	})
}

func TestKeepsWholeSamplesOnly(t *testing.T) {
	t.Parallel()
	both(t, 64<<20, func(t *testing.T, c Cache) {
		s := picture(t, 1, 3)
		hole, tiled, seq, short := *s[0].ref, *s[0].ref, *s[0].ref, *s[0].ref
		hole.Chunk, tiled.Tiles, seq.Items = nil, []*chunk.Chunk{s[0].ref.Chunk}, 2
		for name, r := range map[string]*chunk.Ref{"hole": &hole, "tiled": &tiled, "sequence": &seq} {
			if c.Store(r, s[0].data); c.Has(r) || c.Load(r, make([]byte, len(s[0].data))) {
				t.Errorf("a %s is kept", name)
			}
		}
		if c.Store(&short, s[0].data[1:]); c.Has(&short) {
			t.Error("a sample of the wrong size is kept")
		}
	})
}

func TestParallel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	samples := picture(t, 1, 200)
	memory := NewMemory(64 << 20)
	defer memory.Close()
	caches := []Cache{memory}
	for range 2 { // two processes, as far as files can tell
		d, err := OpenDisk(dir, 64<<20)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		caches = append(caches, d)
	}
	var wg sync.WaitGroup
	for _, c := range caches {
		for k := range 4 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				got := make([]byte, 60*60*3)
				for i := range samples {
					s := samples[(i+k*50)%len(samples)]
					if c.Load(s.ref, got[:len(s.data)]) && !bytes.Equal(got[:len(s.data)], s.data) {
						t.Error("a sample came back different")
					}
					c.Store(s.ref, s.data)
				}
			}()
		}
	}
	wg.Wait()
	for i, c := range caches {
		if n := loads(t, c, samples); n != len(samples) {
			t.Errorf("cache %d has %d samples of %d: %+v", i, n, len(samples), c.Stats())
		}
	}
}

func TestDiskStays(t *testing.T) {
	t.Parallel()
	dir, samples := t.TempDir(), picture(t, 1, 20)
	first := disk(t, dir, 64<<20)
	storeAll(first, samples[:10])
	first.Close()
	second := disk(t, dir, 64<<20)
	if !second.Has(samples[3].ref) || second.Has(samples[13].ref) {
		t.Error("the next run does not see what the one before has kept")
	}
	if n := loads(t, second, samples); n != 10 {
		t.Errorf("the next run finds %d samples, want 10", n)
	}
	storeAll(second, samples)
	if n := loads(t, second, samples); n != 20 {
		t.Errorf("%d samples, want 20", n)
	}
}

func disk(t *testing.T, dir string, limit int64) *Disk {
	t.Helper()
	d, err := OpenDisk(dir, limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// files lists the files of chunks.
func files(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// TestDiskDamage flips bits all over a file: samples are lost, never wrong.
func TestDiskDamage(t *testing.T) {
	t.Parallel()
	dir, samples := t.TempDir(), picture(t, 1, 20)
	d := disk(t, dir, 64<<20)
	storeAll(d, samples)
	d.Close()
	paths := files(t, dir)
	if len(paths) != 1 {
		t.Fatalf("got files %q, want one", paths)
	}
	whole, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	lost := 0
	for i := range 300 {
		at := rng.IntN(len(whole))
		if i < 200 {
			at = i // head and table
		}
		broken := bytes.Clone(whole)
		broken[at] ^= 1 << rng.IntN(8)
		write(t, paths[0], broken)
		again := disk(t, dir, 64<<20)
		n := loads(t, again, samples)
		if n < 19 && at >= headBytes {
			t.Errorf("a bit of byte %d lost %d samples", at, 20-n)
		}
		lost += 20 - n
		again.Close()
	}
	if lost == 0 {
		t.Error("no bit was noticed")
	}
	for _, n := range []int{0, 5, headBytes, headBytes + 9, len(whole) / 2, len(whole) - 70} {
		write(t, paths[0], whole[:n])
		cut := disk(t, dir, 64<<20)
		loads(t, cut, samples)
		cut.Has(samples[0].ref)
		storeAll(cut, samples)
		loads(t, cut, samples)
		cut.Close()
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDiskMakesRoom: files of other runs make room, the one used longest ago first; those of this
// run stay.
func TestDiskMakesRoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var runs [][]sample
	for i := range 5 {
		s := picture(t, uint64(i), 40)
		d := disk(t, dir, 400_000) // for three
		storeAll(d, s)
		d.Close()
		then := time.Now().Add(time.Duration(i-10) * time.Hour)
		for _, path := range files(t, dir) {
			if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) < time.Hour {
				if err := os.Chtimes(path, then, then); err != nil {
					t.Fatal(err)
				}
			}
		}
		runs = append(runs, s)
	}
	d := disk(t, dir, 400_000)
	var found []int
	for _, s := range runs {
		found = append(found, loads(t, d, s))
	}
	if fmt.Sprint(found[3:]) != "[40 40]" || found[0] != 0 {
		t.Errorf("found %v, want the newest", found)
	}
}

func TestDiskCleansUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old, young := filepath.Join(dir, "ab", newPrefix+"1"), filepath.Join(dir, "ab", newPrefix+"2")
	if err := os.Mkdir(filepath.Dir(old), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, old, nil)
	write(t, young, nil)
	then := time.Now().Add(-2 * newAge)
	if err := os.Chtimes(old, then, then); err != nil {
		t.Fatal(err)
	}
	storeAll(disk(t, dir, 1<<20), picture(t, 1, 3))
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what a killed process left is still there: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("what a process is making is gone: %v", err)
	}
}

// TestDiskFails: a directory that goes away costs hits, and is told.
func TestDiskFails(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	d := disk(t, dir, 64<<20)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	write(t, dir, []byte("a file"))
	samples := picture(t, 1, 5)
	storeAll(d, samples)
	if n := loads(t, d, samples); n != 0 {
		t.Errorf("%d samples are kept nowhere", n)
	}
	if s := d.Stats(); s.Faults == 0 || s.Fault == "" {
		t.Errorf("no fault is told: %+v", s)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, nil)
	for name, test := range map[string]struct {
		options Options
		kind    errs.Kind
	}{
		"negative":  {Options{Bytes: -1}, errs.Invalid},
		"no limit":  {Options{Dir: path}, errs.Invalid},
		"no folder": {Options{Bytes: 1 << 20, Dir: path}, errs.Storage},
	} {
		if c, err := Open(test.options); !errs.Is(err, test.kind) || c != nil {
			t.Errorf("%s: got %v, %v (kind %v), want %v", name, c, err, errs.KindOf(err), test.kind)
		}
	}
	if c, err := Open(Options{}); c != nil || err != nil {
		t.Errorf("nothing asked for: got %v, %v", c, err)
	}
}
