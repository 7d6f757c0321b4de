package loader

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/order"
	"deeplake/core/storage"
	"deeplake/core/storage/local"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
	"deeplake/go/tests/clock"
)

// The set of these tests: more than leastReadAhead.
const (
	pagedRows  = 300
	pagedBytes = 256 << 10
)

// pagedStore is a store in memory with a page cache that holds advised and read pages, and forgets
// dropped ones.
type pagedStore struct {
	storage.Provider
	size int64 // of the cache

	mu      sync.Mutex
	pages   map[string][]byte // of each object: 1 for bytes in the cache
	held    int64
	most    int64 // held at once
	advised int64
	cold    int64 // bytes of samples that were read from the disk
	dropped int64
}

func (p *pagedStore) CacheBytes() int64 { return p.size }

func (p *pagedStore) Resident(key string, off int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.page(key, off+1)[off] == 1
}

func (p *pagedStore) ReadAhead(key string, off, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advised += p.load(key, off, n)
}

func (p *pagedStore) DropPages(key string, off, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	part := p.page(key, off+n)[off : off+n]
	gone := int64(bytes.Count(part, []byte{1}))
	clear(part)
	p.held -= gone
	p.dropped += gone
}

// page returns the state of an object's first n bytes. The caller has the lock.
func (p *pagedStore) page(key string, n int64) []byte {
	have := p.pages[key]
	if int64(len(have)) < n {
		have = append(have, make([]byte, n-int64(len(have)))...)
		p.pages[key] = have
	}
	return have
}

// load reads bytes into the cache, and counts those that were not there. The caller has the lock.
func (p *pagedStore) load(key string, off, n int64) int64 {
	part := p.page(key, off+n)[off : off+n]
	fresh := n - int64(bytes.Count(part, []byte{1}))
	copy(part, bytes.Repeat([]byte{1}, int(n)))
	p.held += fresh
	p.most = max(p.most, p.held)
	return fresh
}

func (p *pagedStore) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	if strings.HasPrefix(key, "data/") && len(dst) >= pagedBytes {
		p.mu.Lock()
		p.cold += p.load(key, off, int64(len(dst)))
		p.mu.Unlock()
	}
	return p.Provider.ReadAt(ctx, key, dst, off)
}

// newPagedSet makes a dataset in such a store, with the cache empty.
func newPagedSet(t *testing.T, size int64) (*pagedStore, *dataset.View) {
	t.Helper()
	ctx := t.Context()
	space, paged := &mem.Space{}, &pagedStore{size: size, pages: map[string][]byte{}}
	env := &dataset.Env{Codecs: all.All(), Writer: "test", Stores: storage.Registry{"mem": func(ctx context.Context, rest string, o storage.Options) (storage.Provider, error) {
		p, err := space.Open(ctx, rest, o)
		paged.Provider = p
		return paged, err
	}}}
	d, err := dataset.Create(ctx, env, "mem://paged", dataset.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return paged, pagedView(t, d)
}

// pagedView fills a dataset with arrays of random bytes, and returns all rows.
func pagedView(t *testing.T, d *dataset.Dataset) *dataset.View {
	t.Helper()
	ctx := t.Context()
	create(t, d, dataset.TensorSpec{Name: "x", DType: "uint8", Shape: tensor.Shape{pagedBytes}, ChunkBytes: 1 << 20})
	data := make([]byte, pagedRows*pagedBytes)
	r := rand.New(rand.NewPCG(1, 2))
	for i := 0; i < len(data); i += 8 {
		data[i] = byte(r.Uint32())
	}
	if err := d.Append(ctx, []tensor.Rows{{Tensor: "x", Array: &tensor.Array{DType: tensor.Uint8, Shape: tensor.Shape{pagedBytes}, Data: data}}}, pagedRows); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Commit(ctx, ""); err != nil {
		t.Fatal(err)
	}
	v, err := d.View(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// deliverAll fails unless the epoch delivers all rows, and closes it. It returns digests of the
// batches.
func deliverAll(t *testing.T, e *Epoch) (digests []string) {
	t.Helper()
	rows := 0
	for b := next(t, e); b != nil; b = next(t, e) {
		rows += b.Rows
		digests = append(digests, digest(b))
		b.Release()
	}
	if rows != pagedRows {
		t.Errorf("%d rows, want %d", rows, pagedRows)
	}
	e.Close()
	return digests
}

// Samples are in the page cache before they are read. A set that fits stays there. Of a larger set,
// the bytes in the cache stay bounded, a part of the chunks stays for the next epoch, and all else
// is dropped. The batches are the same as without a cache.
func TestReadAhead(t *testing.T) {
	t.Parallel()
	const stored = pagedRows * pagedBytes
	for _, c := range []struct {
		name    string
		shuffle string
		size    int64
		most    int64 // bytes in the cache at once
		blocks  int64 // windows slide over blocks of so many bytes
	}{
		{"window, fits", order.Window, 2 * stored, stored, 0},
		{"sequential, fits", order.Sequential, 2 * stored, stored, 0},
		{"full, fits", order.Full, 2 * stored, stored, 0},
		{"window, larger", order.Window, stored / 2, stored * 3 / 4, 0},
		{"window, slides, fits", order.Window, 2 * stored, stored, 1 << 20},
		{"window, slides, larger", order.Window, stored / 2, stored * 3 / 4, 1 << 20},
		{"sequential, larger", order.Sequential, stored / 2, stored * 3 / 4, 0},
		{"full, larger", order.Full, stored / 2, stored * 3 / 4, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			paged, v := newPagedSet(t, c.size)
			o := Options{BatchSize: 16, Workers: 2, Shuffle: c.shuffle, ShuffleBytes: stored / 10, blockBytes: c.blocks}
			ld := open2(t, SourceOf(v), o)
			defer ld.Close()
			for epoch := range int64(2) {
				e := start(t, ld, epoch)
				deliverAll(t, e)
				paged.check(t, epoch, c.size >= stored, c.most)
			}
		})
	}
}

// check compares the figures of an epoch with their bounds, and begins to count again.
func (p *pagedStore) check(t *testing.T, epoch int64, fits bool, most int64) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	const stored = pagedRows * pagedBytes
	t.Logf("epoch %d: %d advised, %d cold, %d dropped, at most %d held, %d left", epoch, p.advised, p.cold, p.dropped, p.most, p.held)
	if p.cold > stored/50 {
		t.Errorf("epoch %d: %d bytes of samples were read from the disk one by one, want next to none", epoch, p.cold)
	}
	if p.most > most {
		t.Errorf("epoch %d: %d bytes in the cache, want at most %d", epoch, p.most, most)
	}
	switch {
	case fits && (p.dropped > 0 || epoch > 0 && p.advised > 0):
		t.Errorf("epoch %d: %d bytes were dropped and %d advised of a set that fits", epoch, p.dropped, p.advised)
	case !fits && (p.dropped < stored/4 || epoch > 0 && p.advised > stored*9/10):
		t.Errorf("epoch %d: %d bytes were dropped and %d read again; want a part of the chunks to stay", epoch, p.dropped, p.advised)
	}
	p.advised, p.cold, p.dropped, p.most = 0, 0, 0, p.held
}

// Batches that need two windows while the limit admits one, or less, do not wait for ever.
func TestReadAheadBelowAWindow(t *testing.T) {
	t.Parallel()
	const stored = pagedRows * pagedBytes
	for _, kind := range []string{order.Window, order.Sequential, order.Full} {
		for _, size := range []int64{1, pagedBytes, stored / 25, stored / 9} {
			t.Run(fmt.Sprintf("%s/%d", kind, size), func(t *testing.T) {
				t.Parallel()
				_, v := newPagedSet(t, size)
				ld := open2(t, SourceOf(v), Options{BatchSize: 7, Workers: 2, Shuffle: kind, ShuffleBytes: stored / 10})
				defer ld.Close()
				e := start(t, ld, 0)
				rows := 0
				for b := next(t, e); b != nil; b = next(t, e) {
					rows += b.Rows
					b.Release()
				}
				if rows != pagedRows {
					t.Errorf("%d rows, want %d", rows, pagedRows)
				}
			})
		}
	}
}

// A pass that ends early ends the advice, even while it waits for batches.
func TestReadAheadEnds(t *testing.T) {
	t.Parallel()
	paged, v := newPagedSet(t, pagedRows*pagedBytes/4)
	ld := open2(t, SourceOf(v), Options{BatchSize: 16, Workers: 2, Prefetch: 2})
	defer ld.Close()
	e := start(t, ld, 0)
	next(t, e).Release()
	clock.Await(t, time.Minute, "the advice does not reach its limit", func() bool {
		paged.mu.Lock()
		defer paged.mu.Unlock()
		return paged.advised > pagedRows*pagedBytes/8
	})
	e.Close() // hangs if the advice does not end
	paged.mu.Lock()
	defer paged.mu.Unlock()
	if paged.advised > pagedRows*pagedBytes/2 {
		t.Errorf("%d bytes were advised for one batch, want at most a half of %d", paged.advised, pagedRows*pagedBytes)
	}
}

// Samples of 256 KiB are read in bulk, from mapped pages, if all of them stay in the page cache.
// The first epoch reads them.
func TestLargeSamplesInBulk(t *testing.T) {
	t.Parallel()
	const stored = pagedRows * pagedBytes
	for size, most := range map[int64]int64{3 * stored: bulkCached, stored: bulkSample, 0: bulkSample} {
		_, v := newPagedSet(t, size)
		ld := open2(t, SourceOf(v), Options{BatchSize: 64, Workers: 2})
		for epoch, want := range []int64{bulkSample, most} {
			e := start(t, ld, int64(epoch))
			if c := e.bulkChance(t.Context()); c == nil || c.limit != want {
				t.Errorf("a page cache of %d bytes, epoch %d: %+v, want samples of %d bytes", size, epoch, c, want)
			}
			deliverAll(t, e)
		}
		ld.Close()
	}
}

// Arrays that a second pass copies from mapped files are those of the first, which reads them.
func TestMappedArrays(t *testing.T) {
	t.Parallel()
	env := &dataset.Env{Codecs: all.All(), Writer: "test", Stores: storage.Registry{"file": local.Open}}
	d, err := dataset.Create(t.Context(), env, "file://"+t.TempDir()+"/d", dataset.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	ld := open2(t, SourceOf(pagedView(t, d)), Options{BatchSize: 64, Workers: 2, Shuffle: order.Window})
	defer ld.Close()
	read := deliverAll(t, start(t, ld, 0))
	e := start(t, ld, 0)
	if runtime.GOOS == "linux" && (!e.again || e.bulkChance(t.Context()).limit != bulkCached) {
		t.Error("the second pass is not read in bulk")
	}
	if mapped := deliverAll(t, e); !slices.Equal(mapped, read) {
		t.Errorf("mapped %v\nread %v", mapped, read)
	}
}
