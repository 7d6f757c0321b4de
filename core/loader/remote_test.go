package loader

import (
	"context"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"deeplake/core/codec"
	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
)

// remoteStore is a store behind a network: every request has a first byte that is late, and a
// bandwidth of its own. Under testing/synctest none of it takes real time.
type remoteStore struct {
	storage.Provider
	latency time.Duration
	rate    float64 // bytes a second of one request
	all     *pipe   // that all requests go through; nil: none

	mu       sync.Mutex
	gets     map[string]int   // requests by the first part of the key
	bytes    map[string]int64 // and their bytes
	flying   int
	most     int // requests at once
	flight   int64
	mostByte int64
	fault    func(key string, off, n int64) error // nil: none
	slow     func(key string, off int64) time.Duration
	damage   func(key string, dst []byte) // on the way
}

var _ storage.Ranger = (*remoteStore)(nil)

func newRemoteStore(p storage.Provider) *remoteStore {
	return &remoteStore{Provider: p, latency: 25 * time.Millisecond, rate: 90e6, gets: map[string]int{}, bytes: map[string]int64{}}
}

// begin takes the time to the first byte of a request and counts it. done is called when its answer
// has come, or will not.
func (f *remoteStore) begin(ctx context.Context, key string, off, n int64) (done func(), err error) {
	kind, _, _ := strings.Cut(key, "/")
	f.mu.Lock()
	f.gets[kind]++
	f.bytes[kind] += n
	f.flying++
	f.flight += n
	f.most, f.mostByte = max(f.most, f.flying), max(f.mostByte, f.flight)
	d := f.latency
	if f.slow != nil {
		d += f.slow(key, off)
	}
	if f.fault != nil {
		err = f.fault(key, off, n)
	}
	f.mu.Unlock()
	if late := pause(ctx, key, d); err == nil {
		err = late
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.flying--
		f.flight -= n
	}, err
}

// request performs a whole request of n bytes.
func (f *remoteStore) request(ctx context.Context, key string, off, n int64) error {
	done, err := f.begin(ctx, key, off, n)
	defer done()
	for own := newPipe(f.rate); n > 0 && err == nil; n -= quantum {
		err = f.move(ctx, key, own, min(n, quantum))
	}
	return err
}

// quantum is the number of bytes of a request that come together.
const quantum = 128 << 10

// move takes the time of n bytes of a request.
func (f *remoteStore) move(ctx context.Context, key string, own *pipe, n int64) error {
	return pause(ctx, key, max(own.take(n), f.all.take(n)))
}

func pause(ctx context.Context, key string, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return errs.Wrap(errs.Canceled, "read", key, context.Cause(ctx))
	}
}

// pipe is something that bytes go through one after the other.
type pipe struct {
	mu   sync.Mutex
	rate float64 // bytes a second
	free time.Time
}

func newPipe(rate float64) *pipe { return &pipe{rate: rate} }

// take says how long it is until n more bytes are through.
func (p *pipe) take(n int64) time.Duration {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.free.Before(now) {
		p.free = now
	}
	p.free = p.free.Add(time.Duration(float64(n) / p.rate * float64(time.Second)))
	return p.free.Sub(now)
}

// List takes a request too; listings here have one page.
func (f *remoteStore) List(ctx context.Context, prefix, after string, fn func(storage.Object) bool) error {
	if err := f.request(ctx, prefix, 0, 0); err != nil {
		return err
	}
	return f.Provider.List(ctx, prefix, after, fn)
}

func (f *remoteStore) Get(ctx context.Context, key string) ([]byte, error) {
	data, err := f.Provider.Get(ctx, key)
	if bad := f.request(ctx, key, 0, int64(len(data))); bad != nil {
		return nil, bad
	}
	return data, err
}

func (f *remoteStore) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	if err := f.request(ctx, key, off, int64(len(dst))); err != nil {
		return err
	}
	return f.read(ctx, key, dst, off)
}

// read takes no time.
func (f *remoteStore) read(ctx context.Context, key string, dst []byte, off int64) error {
	err := f.Provider.ReadAt(ctx, key, dst, off)
	if f.damage != nil {
		f.mu.Lock()
		f.damage(key, dst)
		f.mu.Unlock()
	}
	return err
}

func (f *remoteStore) Range(ctx context.Context, key string, off, n int64, _ string) (storage.Body, error) {
	if n < 0 {
		whole, err := f.Provider.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		n = int64(len(whole)) - off
	}
	done, err := f.begin(ctx, key, off, n)
	data := make([]byte, n)
	if err == nil {
		err = f.read(ctx, key, data, off)
	}
	if err != nil {
		done()
		return nil, err
	}
	return &body{ctx: ctx, store: f, key: key, own: newPipe(f.rate), left: data, n: n, done: sync.OnceFunc(done)}, nil
}

// body comes a quantum at a time.
type body struct {
	ctx   context.Context
	store *remoteStore
	key   string
	own   *pipe
	here  []byte // of left, that have come
	left  []byte
	n     int64
	done  func()
}

func (b *body) Read(dst []byte) (int, error) {
	if len(b.left) == 0 {
		return 0, io.EOF
	}
	if len(b.here) == 0 {
		step := min(len(b.left), quantum)
		if err := b.store.move(b.ctx, b.key, b.own, int64(step)); err != nil {
			return 0, err
		}
		b.here = b.left[:step]
	}
	n := copy(dst, b.here)
	b.here, b.left = b.here[n:], b.left[n:]
	return n, nil
}

func (b *body) Close() error {
	b.done()
	return nil
}

func (b *body) Len() int64  { return b.n }
func (b *body) Size() int64 { return -1 }
func (b *body) Tag() string { return "" }

// reset forgets the counters.
func (f *remoteStore) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gets, f.bytes, f.most, f.mostByte = map[string]int{}, map[string]int64{}, 0, 0
}

// remoteSet is one dataset, near and far.
type remoteSet struct {
	env    *dataset.Env
	remote *remoteStore
	local  *dataset.View
	set    []func(f *remoteStore)                    // of the next far
	wrap   func(p storage.Provider) storage.Provider // nil: bare
}

// newRemoteSet makes a dataset in memory by fill. The near view is not remote.
func newRemoteSet(t testing.TB, fill func(d *dataset.Dataset)) *remoteSet {
	t.Helper()
	ctx := context.Background()
	space := &mem.Space{}
	l := &remoteSet{}
	l.env = &dataset.Env{Codecs: all.All(), Writer: "test", Stores: storage.Registry{"mem": space.Open,
		"far": func(ctx context.Context, rest string, o storage.Options) (storage.Provider, error) {
			p, err := space.Open(ctx, rest, o)
			if err != nil {
				return nil, err
			}
			l.remote = newRemoteStore(p)
			for _, set := range l.set {
				set(l.remote)
			}
			if l.wrap != nil {
				return l.wrap(l.remote), nil
			}
			return l.remote, nil
		}}}
	d, err := dataset.Create(ctx, l.env, "mem://lake", dataset.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fill(d)
	if _, err := d.Commit(ctx, ""); err != nil {
		t.Fatal(err)
	}
	if l.local, err = d.View(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	l.open(t) // a decoder of zstd that is made in a bubble of synctest cannot be used in another
	return l
}

// open opens the dataset again, over the network, with codecs that belong to the bubble of
// synctest.
func (l *remoteSet) open(t testing.TB, set ...func(f *remoteStore)) *dataset.View {
	t.Helper()
	l.set = set
	env := *l.env
	env.Codecs = all.All()
	d, err := dataset.Open(context.Background(), &env, "far://lake", dataset.OpenOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	v, err := d.View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// create adds tensors.
func create(t testing.TB, d *dataset.Dataset, specs ...dataset.TensorSpec) {
	t.Helper()
	for _, s := range specs {
		if err := d.CreateTensor(context.Background(), s); err != nil {
			t.Fatal(err)
		}
	}
}

// pngOf returns a picture as a file: noise, so that its size is that of its pixels.
func pngOf(t testing.TB, seed int64, side int64) tensor.Sample {
	t.Helper()
	shape := tensor.Shape{side, side, 3}
	data := make([]byte, side*side*3)
	r := rand.New(rand.NewPCG(uint64(seed), 1))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	sc, err := all.All().Sample(codec.PNG)
	if err != nil {
		t.Fatal(err)
	}
	file, err := sc.Encode(nil, data, tensor.Uint8, shape, codec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tensor.Sample{Form: tensor.FormEncoded, Data: file}
}
