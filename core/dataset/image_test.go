package dataset

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/codec/all"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// picture makes pixels: noise, or a gradient that every codec packs well.
func picture(seed uint64, isNoise bool, shape ...int64) tensor.Sample {
	s := zeros(tensor.Uint8, shape...)
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range s.Data {
		if isNoise {
			s.Data[i] = byte(rng.Uint32())
		} else {
			s.Data[i] = byte(uint64(i)/97 + seed)
		}
	}
	return s
}

// fileOf encodes a picture as a user's file.
func fileOf(t testing.TB, id codec.ID, s tensor.Sample) tensor.Sample {
	t.Helper()
	sc, err := all.All().Sample(id)
	if err != nil {
		t.Fatal(err)
	}
	data, err := sc.Encode(nil, s.Data, s.DType, s.Shape, codec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tensor.Sample{Form: tensor.FormEncoded, Data: data}
}

func decoded(t testing.TB, file tensor.Sample, want codec.Channels) []byte {
	t.Helper()
	id, _ := all.All().Sniff(file.Data)
	sc, err := all.All().Sample(id)
	if err != nil {
		t.Fatal(err)
	}
	h, err := sc.Header(file.Data, want)
	if err != nil {
		t.Fatal(err)
	}
	file.Shape, file.DType = h.Shape, h.DType
	pix, err := decodeFile(all.All(), &file, want)
	if err != nil {
		t.Fatal(err)
	}
	return pix
}

// storedOf reads the stored bytes of row 0 of x, and its decoded shape.
func storedOf(t testing.TB, d *Dataset) ([]byte, chunk.Ref, error) {
	t.Helper()
	v, err := d.View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	col, err := v.Column("x")
	if err != nil {
		t.Fatal(err)
	}
	refs := make([]chunk.Ref, 1)
	if err := col.Resolve(context.Background(), []int64{0}, refs); err != nil {
		t.Fatal(err)
	}
	w := v.NewWorker()
	defer w.Close()
	out := make([]byte, refs[0].Stored)
	return out, refs[0], col.Stored(context.Background(), &refs[0], out, w)
}

// TestFiles: files in the tensor's codec are stored unchanged, others are converted to it.
func TestFiles(t *testing.T) {
	t.Parallel()
	for _, compression := range []string{"none", "zstd", "png", "jpeg", "webp"} {
		for _, id := range []codec.ID{codec.JPEG, codec.PNG, codec.WebP} {
			for _, htype := range []string{"image", "image.rgb", "image.gray"} {
				t.Run(fmt.Sprint(compression, id, htype), func(t *testing.T) {
					t.Parallel()
					file := fileOf(t, id, picture(1, false, 40, 31, 3))
					d := fresh(t, TensorSpec{HType: htype, Compression: compression})
					if err := appendOne(d, file); err != nil {
						t.Fatal(err)
					}
					want := map[string]codec.Channels{"image": codec.AsStored, "image.rgb": codec.RGB, "image.gray": codec.Gray}[htype]
					pix := decoded(t, file, want)
					stored, ref, err := storedOf(t, d)
					if err != nil {
						t.Fatal(err)
					}
					ch := int64(3)
					if htype == "image.gray" {
						ch = 1
					}
					if !ref.Shape.Equal(tensor.Shape{40, 31, ch}) {
						t.Fatalf("shape %s", ref.Shape)
					}
					same := compression == map[codec.ID]string{codec.JPEG: "jpeg", codec.PNG: "png", codec.WebP: "webp"}[id]
					if same != bytes.Equal(stored, file.Data) {
						t.Fatalf("stored as it is: %v, want %v", !same, same)
					}
					got := readAll(t, must[*View](t)(d.View(context.Background())), "x")[0]
					if compression == "jpeg" && !same {
						if len(got) != len(pix) {
							t.Fatalf("%d bytes, want %d", len(got), len(pix))
						}
						return
					}
					if !bytes.Equal(got, pix) {
						t.Fatal("the pixels differ")
					}
				})
			}
		}
	}
}

func TestGrayPicture(t *testing.T) {
	t.Parallel()
	for _, compression := range []string{"none", "png", "jpeg"} {
		d := fresh(t, TensorSpec{HType: "image", Compression: compression})
		if err := appendOne(d, picture(1, false, 20, 30)); err != nil {
			t.Fatal(err)
		}
		if _, ref, _ := storedOf(t, d); !ref.Shape.Equal(tensor.Shape{20, 30, 1}) {
			t.Errorf("%s: shape %s, want (20, 30, 1)", compression, ref.Shape)
		}
	}
}

// TestTiledPictures: pictures around the bound of a chunk of 4 KiB, of which a sample may have 8
// KiB: whole, encoded whole although the pixels are over the bound, tiled because the file is over
// the bound, tiled before it is encoded.
func TestTiledPictures(t *testing.T) {
	t.Parallel()
	sizes := [][]int64{{40, 60, 3}, {52, 52, 3}, {53, 52, 3}, {60, 60, 3}, {100, 80, 3}, {300, 250, 1}, {140, 160, 3}, {150, 160, 3}, {200, 333, 3}, {3, 9000, 1}, {9000, 3, 4}}
	for _, compression := range []string{"none", "lz4", "png", "jpeg"} {
		t.Run(compression, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			d := fresh(t, TensorSpec{HType: "image", Compression: compression, ChunkBytes: 4096})
			var want []tensor.Sample
			for i, shape := range sizes {
				if compression == "jpeg" && shape[2] == 4 {
					continue
				}
				for _, isNoise := range []bool{false, true} {
					s := picture(uint64(i), isNoise, shape...)
					want = append(want, s)
					if err := appendOne(d, s); err != nil {
						t.Fatalf("shape %v, noise %v: %v", shape, isNoise, err)
					}
				}
			}
			// Repeats the pictures as updates, in another order, so that small and tiled ones
			// alternate.
			for _, k := range rand.New(rand.NewPCG(1, 1)).Perm(len(want)) {
				for _, s := range []tensor.Sample{picture(9, true, 5, 5, 3), picture(9, true, 99, 99, 3), want[k]} {
					if err := d.Update(ctx, []int64{int64(k)}, []tensor.Rows{{Tensor: "x", Samples: []tensor.Sample{s}}}); err != nil {
						t.Fatal(err)
					}
				}
			}
			if _, err := d.Commit(ctx, ""); err != nil {
				t.Fatal(err)
			}
			got := readAll(t, must[*View](t)(d.View(ctx)), "x")
			for i := range want {
				if compression == "jpeg" {
					if len(got[i]) != len(want[i].Data) || meanDifference(got[i], want[i].Data) > 60 {
						t.Errorf("picture %d of shape %s: %d bytes, want %d, or pixels far off", i, want[i].Shape, len(got[i]), len(want[i].Data))
					}
				} else if !bytes.Equal(got[i], want[i].Data) {
					t.Errorf("picture %d of shape %s differs", i, want[i].Shape)
				}
			}
		})
	}
}

func meanDifference(a, b []byte) int {
	sum := 0
	for i := range a {
		sum += max(int(a[i])-int(b[i]), int(b[i])-int(a[i]))
	}
	return sum / max(1, len(a))
}

// TestLargeFile: a file over the bound is stored unchanged, as is an item of a sequence.
func TestLargeFile(t *testing.T) {
	t.Parallel()
	s := picture(1, true, 200, 200, 3)
	file := fileOf(t, codec.PNG, s)
	d := fresh(t, TensorSpec{HType: "image", Compression: "png", ChunkBytes: 4096})
	if err := appendOne(d, file); err != nil {
		t.Fatal(err)
	}
	if stored, _, err := storedOf(t, d); err != nil || !bytes.Equal(stored, file.Data) {
		t.Fatalf("%d bytes, want the %d of the file: %v", len(stored), len(file.Data), err)
	}
	for _, compression := range []string{"png", "none"} {
		d = fresh(t, TensorSpec{HType: "sequence[image]", Compression: compression, ChunkBytes: 4096})
		if err := appendOne(d, s, picture(2, false, 3, 3, 3), file); err != nil {
			t.Fatal(err)
		}
		if err := appendOne(d); err != nil {
			t.Fatal(err)
		}
		want := slices.Concat(s.Data, picture(2, false, 3, 3, 3).Data, s.Data)
		if got := readAll(t, must[*View](t)(d.View(context.Background())), "x"); !bytes.Equal(got[0], want) || len(got[1]) != 0 || got[1] == nil {
			t.Fatalf("%s: %d and %d bytes, want %d and 0", compression, len(got[0]), len(got[1]), len(want))
		}
	}
}

// TestForeignBeyondMemory: files of another codec, without their pixels in memory between check and
// writing.
func TestForeignBeyondMemory(t *testing.T) {
	t.Parallel()
	flat := zeros(tensor.Uint8, 4000, 3000, 1) // 12 MB each, the files are small
	file := fileOf(t, codec.PNG, flat)
	d := fresh(t, TensorSpec{HType: "image", Compression: "lz4"})
	col := tensor.Rows{Tensor: "x", Samples: []tensor.Sample{file, file, file, file, file, file, file}}
	if err := d.Append(context.Background(), []tensor.Rows{col}, int64(len(col.Samples))); err != nil {
		t.Fatal(err)
	}
	for i, got := range readAll(t, must[*View](t)(d.View(context.Background())), "x") {
		if !bytes.Equal(got, flat.Data) {
			t.Fatalf("row %d differs", i)
		}
	}
}

// pngHeader returns a PNG file with this size in its header, and no pixels.
func pngHeader(w, h uint32) []byte {
	piece := func(name string, body []byte) []byte {
		out := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
		out = append(append(out, name...), body...)
		return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
	}
	ihdr := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)
	return slices.Concat([]byte("\x89PNG\r\n\x1a\n"), piece("IHDR", append(ihdr, 8, 2, 0, 0, 0)), piece("IDAT", make([]byte, 20)), piece("IEND", nil))
}

// TestBadFiles: bad files are refused and change nothing.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	jpeg, png := fileOf(t, codec.JPEG, picture(1, false, 50, 60, 3)).Data, fileOf(t, codec.PNG, picture(1, false, 50, 60, 3)).Data
	huge := bytes.Clone(jpeg)
	if at := bytes.Index(huge, []byte{0xff, 0xc0}); at > 0 {
		binary.BigEndian.PutUint16(huge[at+5:], 65500)
		binary.BigEndian.PutUint16(huge[at+7:], 65500)
	} else {
		t.Fatal("the JPEG has no frame header")
	}
	flipped := bytes.Clone(png)
	flipped[len(flipped)-30] ^= 0xff
	cases := []struct {
		name        string
		data        []byte
		kind        errs.Kind
		want        string
		foreignOnly bool // noticed only where the pixels are decoded
	}{
		{"no file at all", []byte("hello world"), errs.Corrupt, "file (it begins with", false},
		{"nothing", nil, errs.Corrupt, "file (it begins with", false},
		{"a cut JPEG", jpeg[:len(jpeg)/2], errs.Corrupt, "file ends", false},
		{"a cut PNG", png[:len(png)/2], errs.Corrupt, "the file only", false},
		{"a JPEG of 65,500 x 65,500", huge, errs.Corrupt, "cannot hold", false},
		{"a PNG of 100,000 x 100,000", pngHeader(100_000, 100_000), errs.Corrupt, "cannot hold", false},
		{"a PNG of no size", pngHeader(0, 5), errs.Corrupt, "0", false},
		{"a PNG with damaged pixels", flipped, errs.Corrupt, "", true},
	}
	for _, c := range cases {
		for _, compression := range []string{"none", "jpeg", "png"} {
			d := fresh(t, TensorSpec{HType: "image", Compression: compression})
			col := tensor.Rows{Tensor: "x", Samples: []tensor.Sample{{Form: tensor.FormEncoded, Data: jpeg}, {Form: tensor.FormEncoded, Data: c.data}}}
			err := d.Append(context.Background(), []tensor.Rows{col}, 2)
			if c.foreignOnly && compression == "png" {
				if err != nil {
					t.Errorf("%s: %v; only its header is looked at", c.name, err)
				}
				continue
			}
			if !errs.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `"x": row 1`) {
				t.Errorf("%s into %s: %v, want one that is %s and says %q", c.name, compression, err, c.kind, c.want)
			}
			if v := must[*View](t)(d.View(context.Background())); v.Len() != 0 {
				t.Errorf("%s into %s: %d rows", c.name, compression, v.Len())
			}
		}
	}
	d := fresh(t, TensorSpec{HType: "bbox"})
	if err := appendOne(d, tensor.Sample{Form: tensor.FormEncoded, Data: jpeg}); !errs.Is(err, errs.Type) || !strings.Contains(err.Error(), "htype bbox does not take") {
		t.Errorf("a file for a bbox: %v", err)
	}
	d = fresh(t, TensorSpec{HType: "image", DType: "uint16"})
	if err := appendOne(d, tensor.Sample{Form: tensor.FormEncoded, Data: jpeg}); !errs.Is(err, errs.Type) || !strings.Contains(err.Error(), "dtype uint8, want uint16") {
		t.Errorf("a JPEG for uint16: %v", err)
	}
	d = fresh(t, TensorSpec{HType: "image", Shape: tensor.Shape{50, 61, 3}})
	if err := appendOne(d, tensor.Sample{Form: tensor.FormEncoded, Data: jpeg}); !errs.Is(err, errs.Type) || !strings.Contains(err.Error(), "shape (50, 60, 3), want (50, 61, 3)") {
		t.Errorf("a JPEG of another shape: %v", err)
	}
}

// TestUntileable: samples that cannot be cut are refused before anything is written.
func TestUntileable(t *testing.T) {
	t.Parallel()
	cases := []struct {
		spec   TensorSpec
		sample tensor.Sample
		want   string
	}{
		{TensorSpec{DType: "uint8"}, zeros(tensor.Uint8, 2, 2, 10_000), "cannot be cut into tiles"},
		{TensorSpec{HType: "image"}, zeros(tensor.Uint8, 5, 2, 10_000), "cannot be cut into tiles"},
		{TensorSpec{HType: "image", Compression: "png"}, zeros(tensor.Uint8, 200, 200, 5), "5 channels"},
		{TensorSpec{HType: "image", Compression: "jpeg"}, zeros(tensor.Uint8, 70_000, 1, 3), "65500 pixels a side"},
	}
	for _, c := range cases {
		c.spec.ChunkBytes = 4096
		if c.spec.Compression == "jpeg" {
			c.spec.ChunkBytes = 1 << 20
		}
		d := fresh(t, c.spec)
		if err := appendOne(d, c.sample); !errs.Is(err, errs.Type) && !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %v: %v, want one that says %q", c.sample.Shape, c.spec, err, c.want)
		}
		if err := appendOne(d, zeros(tensor.Uint8, 4, 4, 3)); err != nil {
			t.Errorf("the append after it: %v", err)
		}
	}
}
