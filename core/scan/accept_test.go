package scan

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/codec/all"
	"deeplake/core/codec/jpeg"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/order"
	"deeplake/core/samplecache"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
	"deeplake/core/transform"
)

// TestLoaderAcceptsDamage: on_error "accept" delivers every row of a damaged JPEG file once, counts
// it in each epoch, and keeps it from caches. Other errors, and other settings, do not change.
func TestLoaderAcceptsDamage(t *testing.T) {
	t.Parallel()
	if _, ok := jpeg.New().NewDecoder().(codec.DamageAcceptor); !ok {
		t.Skip("the decoder of this build accepts no damage")
	}
	ctx := context.Background()
	space := &mem.Space{}
	env := &dataset.Env{Stores: storage.Registry{"mem": space.Open}, Codecs: all.All(), Writer: "test"}
	ds := must[*dataset.Dataset](t)(dataset.Create(ctx, env, "mem://accept", dataset.CreateOptions{}))
	t.Cleanup(func() { _ = ds.Close() })
	for _, name := range []string{"x", "y"} {
		if err := ds.CreateTensor(ctx, dataset.TensorSpec{Name: name, HType: "image", Compression: "jpeg"}); err != nil {
			t.Fatal(err)
		}
	}
	pix := make([]byte, 64*48*3)
	for i := range pix {
		pix[i] = byte(i * i >> 7)
	}
	file := must[[]byte](t)(jpeg.New().Encode(nil, pix, tensor.Uint8, tensor.Shape{64, 48, 3}, codec.Options{}))
	damaged := append(append([]byte{}, file[:len(file)*2/3]...), 0xff, 0xd9)
	bad := map[string][]int{"x": {3, 4, 11}, "y": {4, 15}}
	const rows = 20
	var columns []tensor.Rows
	for _, name := range []string{"x", "y"} {
		samples := make([]tensor.Sample, rows)
		for i := range samples {
			samples[i] = tensor.Sample{Form: tensor.FormEncoded, Data: file}
		}
		for _, i := range bad[name] {
			samples[i].Data = damaged
		}
		columns = append(columns, tensor.Rows{Tensor: name, Samples: samples})
	}
	if err := ds.Append(ctx, columns, rows); err != nil {
		t.Fatal(err)
	}
	v := must[*dataset.View](t)(ds.View(ctx))
	var crop transform.Spec
	if err := json.Unmarshal([]byte(`[{"op":"CenterCrop","size":[40,40]}]`), &crop); err != nil {
		t.Fatal(err)
	}
	cache := samplecache.Options{Bytes: 64 << 20}
	both := map[string]transform.Spec{"x": crop, "y": crop}
	for name, o := range map[string]loader.Options{
		"plain": {}, "list": {Collate: loader.List}, "pad": {Collate: loader.Pad}, "one thread": {Workers: 1}, "on demand": {OnDemand: true},
		"shuffled": {Shuffle: order.Full}, "cached": {Cache: cache}, "cropped": {Transform: both}, "cached and cropped": {Cache: cache, Transform: both},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range []struct{ mode, want string }{
				{loader.Accept, "20 rows, 4 accepted, 0 skipped"}, {loader.Skip, "16 rows, 0 accepted, 4 skipped"}, {loader.Raise, "corrupt"},
			} {
				o.BatchSize, o.OnError = 6, c.mode
				l := must[*loader.Loader](t)(loader.Open(ctx, Plain(v), o))
				defer l.Close()
				for epoch := range int64(2) {
					if got := outcome(t, l, epoch); got != c.want {
						t.Errorf("%s, epoch %d: %s, want %s", c.mode, epoch, got, c.want)
					}
				}
			}
		})
	}
}

// outcome returns the figures of an epoch, or the kind of error that ends it.
func outcome(t *testing.T, l *loader.Loader, epoch int64) string {
	ctx := context.Background()
	e := must[*loader.Epoch](t)(l.Start(ctx, order.Pass{Epoch: epoch}))
	defer e.Close()
	for {
		b, err := e.Next(ctx)
		if err != nil {
			return errs.KindOf(err).String()
		}
		if b == nil {
			break
		}
		b.Release()
	}
	s := e.Stats()
	for _, n := range s.FirstAccepted {
		if n.Row == 4 && n.Tensor != "x" || n.Error == "" {
			t.Errorf("note %+v, want the first tensor, and the damage", n)
		}
	}
	if int(s.Accepted) != len(s.FirstAccepted) || int(s.Skipped) != len(s.FirstSkips) {
		t.Errorf("%d notes of %d accepted, %d of %d skipped rows", len(s.FirstAccepted), s.Accepted, len(s.FirstSkips), s.Skipped)
	}
	return fmt.Sprintf("%d rows, %d accepted, %d skipped", s.Rows, s.Accepted, s.Skipped)
}
