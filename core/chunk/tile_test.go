package chunk

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"deeplake/core/codec"
	"deeplake/core/codec/all"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/tensor"
)

func TestTileShape(t *testing.T) {
	t.Parallel()
	cases := []struct {
		shape tensor.Shape
		size  int64
		limit int64
		want  tensor.Shape // nil: refused
	}{
		{tensor.Shape{1000}, 1, 300, tensor.Shape{250}},
		{tensor.Shape{999}, 1, 300, tensor.Shape{250}},
		{tensor.Shape{100, 100, 3}, 1, 10_000, tensor.Shape{50, 50, 3}},
		{tensor.Shape{100, 100, 3}, 1, 30_000, tensor.Shape{100, 100, 3}},
		{tensor.Shape{4, 10_000, 3}, 2, 20_000, tensor.Shape{4, 625, 3}},
		{tensor.Shape{2, 2, 100_000}, 1, 1000, nil}, // channels stay whole
		{tensor.Shape{100, 100}, 8, 7, nil},
		{tensor.Shape{1 << 30}, 1, 512, nil}, // more tiles than a side page has slots
		{tensor.Shape{}, 16, 8, nil},
		{tensor.Shape{0, 1 << 39}, 1, 8, tensor.Shape{0, 1 << 39}},
	}
	for _, c := range cases {
		got, err := TileShape(c.shape, c.size, c.limit)
		if c.want == nil {
			if !errs.Is(err, errs.Invalid) {
				t.Errorf("TileShape(%s, %d) = %s, %v, want an error", c.shape, c.limit, got, err)
			}
			continue
		}
		if err != nil || !got.Equal(c.want) {
			t.Errorf("TileShape(%s, %d) = %s, %v, want %s", c.shape, c.limit, got, err, c.want)
		}
	}
}

// cutAll writes a sample as tiles and gives what reads it.
func cutAll(t *testing.T, spec *Spec, data []byte, shape tensor.Shape, limit int64, encode func([]byte, tensor.Shape) []byte) *Ref {
	t.Helper()
	store := memStore(t)
	session := NewSession(store)
	size := int64(spec.DType.Size())
	tile, err := TileShape(shape, size, limit)
	if err != nil {
		t.Fatal(err)
	}
	ref := &Ref{Items: 1, Shape: shape, Size: int64(len(data)), Stored: int64(len(data))}
	for i := range Tiles(shape, tile) {
		part, s := Cut(data, shape, tile, i, size)
		if encode != nil {
			part = encode(part, s)
		}
		sealed, err := WriteTile(context.Background(), spec, session, Item{Data: part, Shape: s}, format.TileRef{Sample: shape, Tile: tile, Index: i})
		if err != nil {
			t.Fatal(err)
		}
		if err := sealed.Stream.Finish(context.Background()); err != nil {
			t.Fatal(err)
		}
		c, err := Open(store, "", format.DataKey(sealed.Session, sealed.Ordinal), sealed.Dir)
		if err != nil {
			t.Fatal(err)
		}
		ref.Tiles = append(ref.Tiles, c)
	}
	ref.Chunk = ref.Tiles[0]
	return ref
}

func TestTiles(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 9))
		d := []tensor.DType{tensor.Uint8, tensor.Int16, tensor.Float64}[rng.IntN(3)]
		shape := make(tensor.Shape, 1+rng.IntN(5))
		for i := range shape {
			shape[i] = 1 + rng.Int64N(12)
		}
		if len(shape) == 1 {
			shape[0] = 1 + rng.Int64N(3000)
		}
		channels := int64(1)
		if len(shape) >= 3 {
			channels = shape[len(shape)-1]
		}
		limit := int64(d.Size()) * (channels + rng.Int64N(200))
		t.Run(fmt.Sprintf("%d %s of %s", seed, shape, d), func(t *testing.T) {
			t.Parallel()
			it := array(rng, noise, d, shape...)
			spec := &Spec{Tensor: format.NewUUID(), DType: d, Target: 1 << 20}
			if seed%2 == 0 {
				spec.BlockCodec = blockCodec(t, codec.Zstd)
			}
			ref := cutAll(t, spec, it.Data, shape, limit, nil)
			w := NewWorker(all.All())
			defer w.Close()
			got := make([]byte, ref.Size)
			if err := w.Decode(context.Background(), ref, got, codec.AsStored); err != nil || !bytes.Equal(got, it.Data) {
				t.Fatalf("%d tiles read back differently: %v", len(ref.Tiles), err)
			}
			clear(got)
			if err := w.Stored(context.Background(), ref, got); err != nil || !bytes.Equal(got, it.Data) {
				t.Fatalf("%d tiles read back differently as stored: %v", len(ref.Tiles), err)
			}
		})
	}
}

func TestTilesOfPNG(t *testing.T) {
	t.Parallel()
	png, err := all.All().Sample(codec.PNG)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 9))
	for _, shape := range []tensor.Shape{{50, 70, 3}, {33, 1, 1}, {7, 90, 4}} {
		it := array(rng, noise, tensor.Uint8, shape...)
		spec := &Spec{Tensor: format.NewUUID(), DType: tensor.Uint8, SampleCodec: codec.PNG, Target: 1 << 20}
		ref := cutAll(t, spec, it.Data, shape, 900, func(p []byte, s tensor.Shape) []byte {
			file, err := png.Encode(nil, p, tensor.Uint8, s, codec.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return file
		})
		w := NewWorker(all.All())
		defer w.Close()
		got := make([]byte, ref.Size)
		if err := w.Decode(context.Background(), ref, got, codec.AsStored); err != nil || !bytes.Equal(got, it.Data) {
			t.Fatalf("%s: %v", shape, err)
		}
		if err := w.Stored(context.Background(), ref, got); shape.Equal(tensor.Shape{50, 70, 3}) && !errs.Is(err, errs.Unsupported) {
			t.Fatalf("stored bytes of tiles of png: %v", err)
		}
	}
}

// TestForeignTiles: chunks that are not the tiles of one sample are refused, whatever they say.
// taken is a region that was handed over.
type taken struct {
	pix    []byte
	stride int
}

func (t *taken) Deliver(pix []byte, stride int) error {
	t.pix, t.stride = slices.Clone(pix), stride
	return nil
}

func (t *taken) Native() (call, arg unsafe.Pointer) { return nil, nil }

// A region of a tiled image reads the tiles that have some of it, and no others.
func TestRegionsOfTiles(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 9))
	for _, shape := range []tensor.Shape{{50, 70, 3}, {41, 33}, {1, 90, 2}} {
		it := array(rng, noise, tensor.Uint16, shape...)
		spec := &Spec{Tensor: format.NewUUID(), DType: tensor.Uint16, Target: 1 << 20}
		ref := cutAll(t, spec, it.Data, shape, 900, nil)
		tile := ref.Tiles[0].Index.Tile().Tile
		pixel := int(ref.Size / (shape[0] * shape[1]))
		for range 50 {
			r := codec.Region{Y: rng.IntN(int(shape[0])), X: rng.IntN(int(shape[1]))}
			r.Height, r.Width = 1+rng.IntN(int(shape[0])-r.Y), 1+rng.IntN(int(shape[1])-r.X)
			var got taken
			held := &counted{}
			w := NewWorker(all.All())
			w.SetReadAhead(held)
			w.DecodeROIs(context.Background(), []*Ref{ref}, []codec.ROI{{Region: r, To: &got}}, codec.AsStored, func(_ int, err error) { t.Errorf("%+v: %v", r, err) })
			w.Close()
			for y := range r.Height {
				from := ((r.Y+y)*int(shape[1]) + r.X) * pixel
				if want := it.Data[from : from+r.Width*pixel]; !bytes.Equal(got.pix[y*got.stride:][:len(want)], want) {
					t.Fatalf("%s, %+v: row %d differs", shape, r, y)
				}
			}
			tiles := func(at, n int, side int64) int { return (at+n-1)/int(side) - at/int(side) + 1 }
			if want := tiles(r.Y, r.Height, tile[0]) * tiles(r.X, r.Width, tile[1]); len(held.objects) != want {
				t.Fatalf("%s, %+v: %d tiles of %s were read, want %d", shape, r, len(held.objects), tile, want)
			}
		}
	}
}

// counted holds nothing and notes the requested objects.
type counted struct{ objects map[string]bool }

func (c *counted) Bytes(_ context.Context, object string, _, _ int64) ([]byte, error) {
	if c.objects == nil {
		c.objects = map[string]bool{}
	}
	c.objects[object] = true
	return nil, nil
}

func TestForeignTiles(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 9))
	shape := tensor.Shape{40, 40}
	make2 := func(d tensor.DType, shape tensor.Shape, limit int64) *Ref {
		it := array(rng, noise, d, shape...)
		return cutAll(t, &Spec{Tensor: format.NewUUID(), DType: d, Target: 1 << 20}, it.Data, shape, limit, nil)
	}
	good := make2(tensor.Uint8, shape, 500)
	others := map[string]*Chunk{
		"another dtype":  make2(tensor.Int16, shape, 1000).Tiles[1],
		"another sample": make2(tensor.Uint8, tensor.Shape{40, 41}, 500).Tiles[1],
		"another grid":   make2(tensor.Uint8, shape, 900).Tiles[1],
		"another place":  good.Tiles[2],
	}
	plain := newWritten(t, Spec{DType: tensor.Uint8, Target: 1 << 20})
	plain.took(plain.b.Add(context.Background(), array(rng, noise, tensor.Uint8, 20, 20)))
	plain.seal()
	others["no tile"] = plain.chunks()[0]
	for name, c := range others {
		ref := *good
		ref.Tiles = append([]*Chunk{}, good.Tiles...)
		ref.Tiles[1] = c
		w := NewWorker(all.All())
		defer w.Close()
		if err := w.Decode(context.Background(), &ref, make([]byte, ref.Size), codec.AsStored); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
