package clips

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/loader"
	"deeplake/core/media"
	"deeplake/core/media/ffmpeg"
	"deeplake/core/media/mediatest"
	"deeplake/core/media/mp4"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
	"deeplake/core/video"
)

// gop is the number of packets from one key packet of a film to the next.
const gop = 30

// film makes a large file of many groups of pictures, each packet of pad bytes and more.
func film(t testing.TB, groups, pad int, seed uint64) []byte {
	t.Helper()
	source := mediatest.Fixture(t, "gop250.mp4")
	v, err := mp4.File{}.Index(t.Context(), media.Bytes(source), int64(len(source)))
	if err != nil {
		t.Fatal(err)
	}
	packets := v.Packets[:gop]
	v.Packets, v.End = nil, 0
	const frame = 512 // ticks
	random := rand.New(rand.NewPCG(seed, 2))
	var body []byte
	for k := range groups {
		for _, p := range packets {
			// A unit of filler, which decoders pass over, follows the picture.
			data := append(bytes.Clone(source[p.Offset:][:p.Bytes]), binary.BigEndian.AppendUint32(nil, uint32(pad))...)
			data = append(data, 12)
			for range pad - 2 {
				data = append(data, byte(1+random.IntN(255)))
			}
			data = append(data, 0x80)
			p.Offset, p.Bytes, p.Time = int64(len(body)), int64(len(data)), p.Time+int64(k*frame*(gop+4))
			body = append(body, data...)
			v.Packets = append(v.Packets, p)
			v.End = max(v.End, p.Time+frame)
		}
	}
	return mediatest.NewReel(t, v, body)
}

// set is a dataset of videos "x" with their numbers "n": "mem" and "near" are near, "far" is across
// a network.
type set struct {
	env   *dataset.Env
	store *faultstore.Ranged // of the view far away that was opened last
	near  *faultstore.Store  // of "near"
}

// newSet stores files; nil: a row without one.
func newSet(t testing.TB, files ...[]byte) *set {
	t.Helper()
	space := &mem.Space{}
	s := &set{}
	s.env = &dataset.Env{Codecs: all.All(), Writer: "test", Containers: media.Containers{mp4.File{}, mediatest.Reel{}}, Stores: storage.Registry{
		"mem": space.Open,
		"far": func(ctx context.Context, rest string, o storage.Options) (storage.Provider, error) {
			p, err := space.Open(ctx, rest, o)
			s.store = faultstore.NewRanged(p, nil)
			return s.store, err
		},
		"near": func(ctx context.Context, rest string, o storage.Options) (storage.Provider, error) {
			p, err := space.Open(ctx, rest, o)
			s.near = faultstore.New(p, nil)
			return s.near, err
		},
	}}
	d, err := dataset.Create(t.Context(), s.env, "mem://set", dataset.CreateOptions{Tensors: []dataset.TensorSpec{{Name: "x", HType: "video"}, {Name: "n", DType: "int64"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	for i, file := range files {
		one := tensor.Sample{Form: tensor.FormHole}
		if file != nil {
			one = tensor.Sample{Form: tensor.FormEncoded, Data: file}
		}
		number := tensor.Sample{DType: tensor.Int64, Shape: tensor.Shape{}, Data: binary.LittleEndian.AppendUint64(nil, uint64(i))}
		if err := d.Append(t.Context(), []tensor.Rows{{Tensor: "x", Samples: []tensor.Sample{one}}, {Tensor: "n", Samples: []tensor.Sample{number}}}, 1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Commit(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	return s
}

// view opens the dataset again.
func (s *set) view(t testing.TB, scheme string) *dataset.View {
	t.Helper()
	d, err := dataset.Open(context.Background(), s.env, scheme+"://set", dataset.OpenOptions{ReadOnly: true})
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

// videos returns a reader of the videos of a view.
func videos(t testing.TB, v *dataset.View) *video.Reader {
	t.Helper()
	l := mediatest.FFmpeg(t, ffmpeg.Load)
	r, err := video.Open(loader.SourceOf(v), "x", func() (*ffmpeg.Library, error) { return l, nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// placed is clips of a view, and where they are.
type placed struct {
	*Source
	rows, starts []int64
	reader       *video.Reader
}

// place makes a source of clips of all videos.
func (s *set) place(t testing.TB, scheme string, o Options) placed {
	t.Helper()
	v := s.view(t, scheme)
	r := videos(t, v)
	rows, starts, err := Place(t.Context(), loader.SourceOf(v), r, o)
	if err != nil {
		t.Fatal(err)
	}
	all, err := v.Select(rows)
	if err != nil {
		t.Fatal(err)
	}
	src, err := Over(loader.SourceOf(all), r, o, rows, starts)
	if err != nil {
		t.Fatal(err)
	}
	return placed{src, rows, starts, r}
}

// options are those of clips one behind the other, with changes.
func options(change func(o *Options)) Options {
	o := Options{Tensor: "x", Length: 8, Stride: 1, Windows: Sliding, Short: Drop}
	if change != nil {
		change(&o)
	}
	return o
}

// pixels returns frames of a row, by the reader of videos.
func pixels(t testing.TB, r *video.Reader, row int64, frames []int64) []byte {
	t.Helper()
	info, err := r.Info(t.Context(), row)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, len(frames)*info.Height*info.Width*3)
	if err := r.Frames(t.Context(), row, frames, dst); err != nil {
		t.Fatal(err)
	}
	return dst
}
