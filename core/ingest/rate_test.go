package ingest

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/storage/storagetest"
	"deeplake/core/tensor"
	"deeplake/go/tests/clock"
)

// A store across a network, by a clock that only it advances: each request takes farDelay, and then
// the time of its bytes at farRate. Computing takes no time, so the tests measure how many requests
// run at once, and which wait for others.
const (
	remoteDelay = 25 * time.Millisecond
	remoteRate  = 90 << 20 // bytes a second and connection
)

func travel(n int) { clock.Pass(remoteDelay + time.Duration(n)*time.Second/remoteRate) }

// remoteStore is a store at a distance, which forgets what chunks hold. Its streams leave as one
// request, as those of a few megabytes do.
type remoteStore struct{ storage.Provider }

func (s remoteStore) Get(ctx context.Context, key string) ([]byte, error) {
	data, err := s.Provider.Get(ctx, key)
	travel(len(data))
	return data, err
}

func (s remoteStore) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	travel(len(dst))
	return s.Provider.ReadAt(ctx, key, dst, off)
}

func (s remoteStore) Put(ctx context.Context, key string, data []byte) error {
	travel(len(data))
	if strings.HasPrefix(key, "data/") {
		data = nil
	}
	return s.Provider.Put(ctx, key, data)
}

func (s remoteStore) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	travel(len(data))
	return s.Provider.PutIfAbsent(ctx, key, data)
}

func (s remoteStore) List(ctx context.Context, prefix, after string, fn func(storage.Object) bool) error {
	travel(0)
	return s.Provider.List(ctx, prefix, after, fn)
}

// remoteSource is a lake at a distance.
type remoteSource struct{ storage.Source }

func (l remoteSource) Range(ctx context.Context, key string, off, n int64, tag string) (storage.Body, error) {
	b, err := l.Source.Range(ctx, key, off, n, tag)
	if err == nil {
		travel(int(b.Len()))
	}
	return b, err
}

// Objects lists pages of a thousand, one after the other.
func (l remoteSource) Objects(ctx context.Context, prefix, after string, fn func(storage.Entry) bool) error {
	n := 0
	return l.Source.Objects(ctx, prefix, after, func(e storage.Entry) bool {
		if n++; n%1000 == 1 {
			travel(0)
		}
		return fn(e)
	})
}

// TestMain makes the zstd coders that all tests share outside of any test: channels that a synctest
// bubble makes cannot be used outside of it.
func TestMain(m *testing.M) {
	if err := warm(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func warm() error {
	ctx := context.Background()
	d, err := dataset.Create(ctx, testEnv(), "mem://warm", dataset.CreateOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	if err := d.CreateTensor(ctx, dataset.TensorSpec{Name: "x", DType: "bytes", Compression: "zstd"}); err != nil {
		return err
	}
	long := make([]byte, 1<<16)
	rows := []tensor.Rows{{Tensor: "x", Samples: []tensor.Sample{{Form: tensor.FormText, DType: tensor.Bytes, Data: long}}}}
	if err := d.Append(ctx, rows, 1); err != nil {
		return err
	}
	if err := d.SetInfo(ctx, map[string]any{"long": string(bytes.Repeat([]byte("x"), 1<<16))}); err != nil {
		return err
	}
	if _, err := d.Commit(ctx, ""); err != nil {
		return err
	}
	again, err := d.At(ctx, "1")
	if err != nil {
		return err
	}
	return again.Close()
}

// photo is a file of about size bytes.
func photo(t testing.TB, size int) []byte {
	t.Helper()
	r := rand.New(rand.NewPCG(1, uint64(size)))
	img := image.NewGray(image.Rect(0, 0, 256, size/256))
	for i := range img.Pix {
		img.Pix[i] = byte(r.Uint32())
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 85}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestLineRate: an import keeps all its requests in flight. It takes little longer than a loop that
// only reads the objects with as many requests at once. The bounds leave room for the
// round trips before the first object and after the last one.
func TestLineRate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		objects, bytes int
		least          float64 // part of the rate of the loop
	}{{6000, 40_000, 0.85}, {3000, 400_000, 0.78}} {
		t.Run(fmt.Sprint(c.bytes), func(t *testing.T) {
			t.Parallel()
			lake := &storagetest.Lake{}
			data := photo(t, c.bytes)
			for i := range c.objects {
				lake.Put(fmt.Sprintf("class/%06d.jpg", i), data)
			}
			var loop, whole time.Duration
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				space := &mem.Space{}
				far := func(ctx context.Context, rest string, o storage.Options) (storage.Provider, error) {
					p, err := space.Open(ctx, rest, o)
					return remoteStore{p}, err
				}
				farther := func(ctx context.Context, rest string, o storage.Options) (storage.Source, error) {
					s, err := lake.Open(ctx, rest, o)
					return remoteSource{s}, err
				}
				begin := time.Now()
				readAllOf(t, remoteSource{lake}, c.objects)
				loop = time.Since(begin)
				env := &dataset.Env{Stores: storage.Registry{"mem": far}, Sources: storage.Sources{"lake": farther}, Codecs: all.All(), Writer: "test"}
				begin = time.Now()
				j, err := Start(env, "mem://d", "lake://b", Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer j.Close()
				if r, err := j.Wait(ctx); err != nil || r.Rows != int64(c.objects) {
					t.Fatalf("%+v, %v", r, err)
				}
				whole = time.Since(begin)
			})
			t.Logf("a loop of reads takes %v, the import %v: %.2f of its rate", loop, whole, loop.Seconds()/whole.Seconds())
			if got := loop.Seconds() / whole.Seconds(); got < c.least {
				t.Errorf("%.2f of the rate of a loop of reads, want %.2f", got, c.least)
			}
		})
	}
}

// readAllOf is the loop.
func readAllOf(t *testing.T, s storage.Source, n int) {
	t.Helper()
	g := task.New(context.Background(), 0)
	var mu sync.Mutex
	next := 0
	for range sourceWorkers {
		g.Go(func(ctx context.Context) error {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= n {
					return nil
				}
				b, err := s.Range(ctx, fmt.Sprintf("class/%06d.jpg", i), 0, -1, "")
				if err != nil {
					return err
				}
				if _, err := io.Copy(io.Discard, b); err != nil {
					return err
				}
			}
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}
