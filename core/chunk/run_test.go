package chunk

import (
	"bytes"
	"context"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/codec/all"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

// TestDecodeRunAsOneByOne decodes pictures of two codecs and arrays together, with a damaged file
// in every place.
func TestDecodeRunAsOneByOne(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	reg := all.All()
	store := memStore(t)
	const n = 12
	var refs []*Ref
	for _, id := range []codec.ID{codec.JPEG, codec.PNG, codec.None} {
		refs = append(refs, storePictures(t, store, reg, id, n)...)
	}
	for broken := -1; broken < n; broken++ {
		w := NewWorker(reg)
		if broken >= 0 {
			refs[broken] = damaged(t, store, reg)
		}
		var dst [][]byte
		for _, r := range refs {
			dst = append(dst, make([]byte, r.Size))
		}
		bad := map[int]error{}
		w.DecodeRun(ctx, refs, dst, codec.RGB, func(i int, err error) { bad[i] = err })
		for i, r := range refs {
			want := make([]byte, r.Size)
			err := w.Decode(ctx, r, want, codec.RGB)
			if (err != nil) != (bad[i] != nil) || (err != nil) != (i <= broken) {
				t.Fatalf("sample %d with sample %d broken: %v in the run, %v alone", i, broken, bad[i], err)
			}
			if err == nil && !bytes.Equal(dst[i], want) {
				t.Fatalf("sample %d with sample %d broken: other pixels in the run than alone", i, broken)
			}
			if err != nil && !errs.Is(bad[i], errs.Corrupt) {
				t.Fatalf("sample %d: %v, want errs.Corrupt", i, bad[i])
			}
		}
		w.Close()
	}
}

// storePictures makes a chunk of n small pictures.
func storePictures(t *testing.T, store storage.Provider, reg *codec.Registry, id codec.ID, n int) []*Ref {
	t.Helper()
	var files [][]byte
	shape := tensor.Shape{20, 30, 3}
	for k := range n {
		pix := make([]byte, 20*30*3)
		for i := range pix {
			pix[i] = byte(i*k + i/60)
		}
		if id != codec.None {
			sc, err := reg.Sample(id)
			if err != nil {
				t.Fatal(err)
			}
			if pix, err = sc.Encode(nil, pix, tensor.Uint8, shape, codec.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		files = append(files, pix)
	}
	return storeFiles(t, store, id, files, shape)
}

func storeFiles(t *testing.T, store storage.Provider, id codec.ID, files [][]byte, shape tensor.Shape) []*Ref {
	t.Helper()
	ctx := context.Background()
	session := NewSession(store)
	b := NewBuilder(&Spec{DType: tensor.Uint8, SampleCodec: id, Target: 8 << 20}, session)
	for _, f := range files {
		if _, err := b.Add(ctx, Item{Data: f, Shape: shape}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := b.Seal()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stream.Finish(ctx); err != nil {
		t.Fatal(err)
	}
	c, err := Open(store, "", "data/"+s.Session.String()+"/0", s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var refs []*Ref
	for i := range files {
		refs = append(refs, &Ref{Row: int64(i), Chunk: c, Item: int64(i), Items: 1, Shape: shape, Stored: c.Index.ItemBytes(int64(i)), Size: 20 * 30 * 3})
	}
	return refs
}

// damaged is a JPEG whose header is whole and whose scan is not.
func damaged(t *testing.T, store storage.Provider, reg *codec.Registry) *Ref {
	t.Helper()
	sc, err := reg.Sample(codec.JPEG)
	if err != nil {
		t.Fatal(err)
	}
	file, err := sc.Encode(nil, bytes.Repeat([]byte{7, 200, 90}, 600), tensor.Uint8, tensor.Shape{20, 30, 3}, codec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cut := append(append([]byte{}, file[:len(file)-40]...), 0xff, 0xd9)
	return storeFiles(t, store, codec.JPEG, [][]byte{cut}, tensor.Shape{20, 30, 3})[0]
}
