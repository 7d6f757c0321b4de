package viz

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
)

// farStore is a store behind a network that counts the requests for chunks, and their bytes.
type farStore struct {
	storage.Provider
	mu       sync.Mutex
	requests int
	bytes    int64
	gate     chan struct{} // reads wait until it is closed; nil: none waits
	held     chan struct{} // a read that waits says so here
}

// hold makes reads of chunks wait until release is called.
func (f *farStore) hold() (release func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	gate := make(chan struct{})
	f.gate, f.held = gate, make(chan struct{}, 1)
	return func() { close(gate) }
}

var _ storage.Ranger = (*farStore)(nil)

func (f *farStore) count(key string, n int64) {
	if !strings.HasPrefix(key, "data/") {
		return
	}
	f.mu.Lock()
	f.requests++
	f.bytes += n
	gate := f.gate
	f.mu.Unlock()
	if gate == nil {
		return
	}
	select {
	case f.held <- struct{}{}:
	default:
	}
	<-gate
}

func (f *farStore) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	f.count(key, int64(len(dst)))
	return f.Provider.ReadAt(ctx, key, dst, off)
}

func (f *farStore) Range(ctx context.Context, key string, off, n int64, _ string) (storage.Body, error) {
	data := make([]byte, n)
	f.count(key, n)
	if err := f.Provider.ReadAt(ctx, key, data, off); err != nil {
		return nil, err
	}
	return farBody{io.NopCloser(bytes.NewReader(data)), n}, nil
}

type farBody struct {
	io.ReadCloser
	n int64
}

func (b farBody) Len() int64  { return b.n }
func (b farBody) Size() int64 { return -1 }
func (b farBody) Tag() string { return "" }

// TestScreen reads a screen of pictures, boxes and labels from a store behind a network: by few
// requests, and by few more bytes than it sends.
func TestScreen(t *testing.T) {
	t.Parallel()
	const rows, screen = 400, 60
	stores, far := &mem.Space{}, &farStore{}
	env := &dataset.Env{Codecs: all.All(), Writer: "test", Stores: storage.Registry{
		"mem": func(ctx context.Context, uri string, o storage.Options) (storage.Provider, error) {
			p, err := stores.Open(ctx, uri, o)
			far.Provider = p
			return far, err
		},
	}}
	ds, err := dataset.Create(t.Context(), env, "mem://far", dataset.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer ds.Close()
	for _, s := range []dataset.TensorSpec{{Name: "image", HType: "image.rgb", Compression: "jpeg"}, {Name: "boxes", HType: "bbox"}, {Name: "label", HType: "class_label"}} {
		if err := ds.CreateTensor(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	var images, boxes, labels []tensor.Sample
	for i := range rows {
		pix := make([]byte, 100*100*3)
		for k := range pix {
			pix[k] = byte(r.Uint32())
		}
		images = append(images, array(tensor.Uint8, pix, 100, 100, 3))
		boxes = append(boxes, array(tensor.Float32, little(make([]float32, 40)), 10, 4))
		labels = append(labels, array(tensor.Int64, little(int64(i%7))))
	}
	if err := ds.Append(t.Context(), []tensor.Rows{{Tensor: "image", Samples: images}, {Tensor: "boxes", Samples: boxes}, {Tensor: "label", Samples: labels}}, rows); err != nil {
		t.Fatal(err)
	}
	if _, err := ds.Commit(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	f := serve(t, env, ds)
	at := make([]int64, screen)
	for i := range at {
		at[i] = 200 + int64(i)
	}
	far.requests, far.bytes = 0, 0
	sent := 0
	for _, one := range f.read(f.view, at, wanted{Name: "image", Pixels: 128}, wanted{Name: "boxes"}, wanted{Name: "label"}) {
		sent += len(one.body)
	}
	t.Logf("%d bytes sent, %d read by %d requests", sent, far.bytes, far.requests)
	if far.requests == 0 || far.requests > 6 {
		t.Errorf("%d requests for %d rows, want at most 6", far.requests, screen)
	}
	if far.bytes > int64(sent)*3/2 {
		t.Errorf("%d bytes are read for %d that are sent", far.bytes, sent)
	}
}
