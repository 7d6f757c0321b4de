package ingest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/codec/jpeg"
	"deeplake/core/codec/png"
	"deeplake/core/codec/zstd"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

// TestFit brings pictures of one colour each to one size.
func TestFit(t *testing.T) {
	t.Parallel()
	env := testEnv()
	f, err := newFit(env.Codecs, 8, codec.RGB)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	for name, test := range map[string]struct {
		codec codec.ID
		shape tensor.Shape
	}{
		"wide jpeg":   {codec.JPEG, tensor.Shape{20, 50, 3}},
		"tall png":    {codec.PNG, tensor.Shape{31, 9, 3}},
		"grey png":    {codec.PNG, tensor.Shape{9, 10, 1}},
		"small jpeg":  {codec.JPEG, tensor.Shape{2, 3, 3}},
		"exact":       {codec.PNG, tensor.Shape{8, 8, 3}},
		"single line": {codec.PNG, tensor.Shape{1, 40, 3}},
	} {
		sc, err := env.Codecs.Sample(test.codec)
		if err != nil {
			t.Fatal(err)
		}
		n, _ := test.shape.Bytes(tensor.Uint8)
		pix := make([]byte, n)
		for i := range pix {
			pix[i] = 200
		}
		file, err := sc.Encode(nil, pix, tensor.Uint8, test.shape, codec.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := f.apply(file)
		if err != nil || !s.Shape.Equal(tensor.Shape{8, 8, 3}) || len(s.Data) != 8*8*3 {
			t.Errorf("%s: %v of %d bytes, %v", name, s.Shape, len(s.Data), err)
			continue
		}
		for i, v := range s.Data {
			if v < 199 || v > 201 {
				t.Errorf("%s: byte %d is %d, want 200", name, i, v)
				break
			}
		}
	}
	if _, err := f.apply([]byte("\xff\xd8\xff\xe0 nothing")); !bad(err) {
		t.Errorf("a damaged file: %v", err)
	}
}

// failing is a JPEG codec whose decoders fail with err.
type failing struct {
	codec.SampleCodec
	err error
}

func (f failing) NewDecoder() codec.Decoder { return failingDecoder{f.err} }

type failingDecoder struct{ err error }

func (d failingDecoder) Decode(_, _ []byte, _ codec.Channels) error { return d.err }
func (failingDecoder) Close()                                       {}

// TestFitFailures: a picture that cannot be decoded is left out, and where there is no memory to
// decode one, or a bug, the import fails: the next picture would be lost as well.
func TestFitFailures(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, map[string][]byte{"a.jpg": picture(t, 1, "jpeg"), "b.jpg": picture(t, 2, "jpeg")})
	for name, test := range map[string]struct {
		err   error
		fatal bool
	}{
		"damage":       {errs.Op("decode jpeg", "").New(errs.Corrupt, "it is cut"), false},
		"no memory":    {errs.Op("decode jpeg", "").New(errs.Internal, "out of memory"), true},
		"unclassified": {errors.New("an error without a kind"), true},
	} {
		env := testEnv()
		env.Codecs = codec.NewRegistry([]codec.Codec{zstd.New()}, []codec.SampleCodec{failing{jpeg.New(), test.err}, png.New()})
		j, err := Start(env, "mem://fit", root, Options{Size: 8})
		if err != nil {
			t.Fatal(err)
		}
		r, err := j.Wait(context.Background())
		j.Close()
		switch {
		case test.fatal && (!errs.Is(err, errs.KindOf(test.err)) && !errors.Is(err, test.err) || r != nil):
			t.Errorf("%s: %v, report %+v, want it to fail", name, err, r)
		case !test.fatal && (!errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "none of its 2 files") || !strings.Contains(err.Error(), "it is cut")):
			t.Errorf("%s: %v, report %+v, want both left out", name, err, r)
		}
	}
}

// TestCostHasThePixels: the bound of objects in flight counts their pixels, not only their files.
func TestCostHasThePixels(t *testing.T) {
	t.Parallel()
	const pixels = 3 * 256 * 256
	for name, test := range map[string]struct {
		o    Options
		e    storage.Entry
		want int64
	}{
		"as it is":        {Options{}, storage.Entry{Key: "a.jpg", Size: 5000}, 5000 + rowCost},
		"fitted":          {Options{Size: 256}, storage.Entry{Key: "a.jpg", Size: 5000}, 5000 + rowCost + pixels},
		"fitted, unknown": {Options{Size: 256}, storage.Entry{Key: "a.jpg", Size: -1}, unknownCost + pixels},
		"linked":          {Options{Link: true}, storage.Entry{Key: "a.jpg", Size: 5000}, headCost},
		"as large as can": {Options{Size: maxFitSide}, storage.Entry{Key: "a.jpg"}, rowCost + 3<<28},
	} {
		im := &importer{o: test.o}
		if got := formatOf(test.e.Key).Cost(im, test.e); got != test.want {
			t.Errorf("%s: %d bytes, want %d", name, got, test.want)
		}
	}
}

func TestFitIsChecked(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"negative": {Size: -1},
		"too much": {Size: maxFitSide + 1},
		"links":    {Size: 8, Link: true},
	} {
		if j, err := Start(testEnv(), "mem://fit", t.TempDir(), o); !errs.Is(err, errs.Invalid) {
			t.Errorf("%s: %v, want invalid", name, err)
			if j != nil {
				_, _ = j.Wait(context.Background())
			}
		}
	}
}

// TestMaxPixels: pictures of more pixels than are allowed are left out, with the name of the
// setting.
func TestMaxPixels(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, map[string][]byte{"a/small.jpg": picture(t, 0, "jpeg"), "a/large.jpg": picture(t, 4, "jpeg"), "b/large.png": picture(t, 4, "png")})
	for _, o := range []Options{{}, {Size: 8}, {Link: true}} {
		o.Source = &storage.Options{Settings: storage.Settings{MaxPixels: 20 * 16}}
		r := run(t, testEnv(), "mem://lake", root, o)
		if r.Skipped != 2 || !strings.Contains(r.Skips[0].Reason, "max_pixels") || !strings.Contains(r.Skips[1].Reason, "max_pixels") {
			t.Errorf("size %d, links %v: %+v, want two pictures left out for max_pixels", o.Size, o.Link, r.Skips)
		}
	}
}
