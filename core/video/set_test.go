package video

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/media"
	"deeplake/core/media/color"
	"deeplake/core/media/ffmpeg"
	"deeplake/core/media/mediatest"
	"deeplake/core/media/mp4"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
)

// fixture returns a file of core/media/mp4 and its track.
func fixture(t testing.TB, name string) ([]byte, *media.Video) {
	t.Helper()
	file := mediatest.Fixture(t, name)
	v, err := mp4.File{}.Index(t.Context(), media.Bytes(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return file, v
}

// film is how a file is made of the packets of a fixture of H.264.
type film struct {
	fixture string
	packets int // that are taken of it; 0: all
	copies  int // of them, one behind the other
	pad     int // bytes of filler in each packet, at least 8; 0: none
	gap     int // most bytes between packets
	mixed   bool
}

// make returns the file and its track.
func (f film) make(t testing.TB, r *rand.Rand) ([]byte, *media.Video) {
	t.Helper()
	source, from := fixture(t, f.fixture)
	packets := from.Packets
	if f.packets > 0 {
		packets = packets[:f.packets]
	}
	first, last := packets[0].Time, packets[0].Time
	for _, p := range packets {
		first, last = min(first, p.Time), max(last, p.Time)
	}
	later := last - first + packets[1].Time - packets[0].Time
	v := *from
	v.Packets, v.End = nil, from.End+later*int64(f.copies)
	var datas [][]byte
	for k := range f.copies {
		for _, p := range packets {
			datas = append(datas, append(bytes.Clone(source[p.Offset:][:p.Bytes]), filler(r, f.pad)...))
			p.Time += later * int64(k)
			v.Packets = append(v.Packets, p)
		}
	}
	order := make([]int, len(datas))
	for i := range order {
		order[i] = i
	}
	if f.mixed {
		r.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
	}
	var body []byte
	for _, i := range order {
		body = append(body, noise(r, r.IntN(f.gap+1))...)
		v.Packets[i].Offset, v.Packets[i].Bytes = int64(len(body)), int64(len(datas[i]))
		body = append(body, datas[i]...)
	}
	return mediatest.NewReel(t, &v, body), &v
}

// filmed stores a film, and returns all its frames, and the source of the random bytes in it.
func filmed(t testing.TB, seed uint64, f film) (s *set, want [][]byte, random *rand.Rand) {
	t.Helper()
	random = rand.New(rand.NewPCG(seed, 30))
	file, v := f.make(t, random)
	return newSet(t, file), frames(t, v, file), random
}

// filler returns a unit of H.264 that decoders pass over.
func filler(r *rand.Rand, n int) []byte {
	if n == 0 {
		return nil
	}
	out := append([]byte{byte((n - 4) >> 24), byte((n - 4) >> 16), byte((n - 4) >> 8), byte(n - 4), 12}, noise(r, n-6)...)
	return append(out, 0x80)
}

// noise returns n bytes, none of them zero.
func noise(r *rand.Rand, n int) []byte {
	out := make([]byte, 0, n+8)
	for len(out) < n {
		out = binary.LittleEndian.AppendUint64(out, r.Uint64()|0x0101010101010101)
	}
	return out[:n]
}

// frames decodes a whole track in order, and returns its shown frames.
func frames(t testing.TB, v *media.Video, file []byte) [][]byte {
	t.Helper()
	d, err := mediatest.FFmpeg(t, ffmpeg.Load).Open(v, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	pictures := map[int64][]byte{}
	try := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	receive := func() {
		var f ffmpeg.Frame
		for {
			ok, err := d.Receive(&f)
			if try(err); !ok {
				return
			}
			pix := make([]byte, f.Width*f.Height*3)
			try(color.Convert(pix, 3*f.Width, &f.Picture))
			turned := make([]byte, len(pix))
			_, width := v.Size()
			try(color.Turn(turned, 3*width, pix, 3*f.Width, f.Width, f.Height, v.Turns))
			pictures[f.Mark] = turned
		}
	}
	for i := range v.Packets {
		p := &v.Packets[i]
		try(d.Send(file[p.Offset:][:p.Bytes], p.Time))
		receive()
	}
	try(d.Drain())
	receive()
	var out [][]byte
	for _, p := range v.Shown() {
		out = append(out, pictures[v.Packets[p].Time])
	}
	return out
}

// place is bytes of an object that were read.
type place struct {
	key      string
	from, to int64
}

// store notes the reads of its objects.
type store struct {
	storage.Provider
	mu     sync.Mutex
	reads  []place
	flying int64 // bytes in flight, and the most of them
	most   int64
	// before and behind each read; nil: nothing
	asked func(ctx context.Context, p place) error
	came  func(p place, dst []byte)
	got   func() // before a whole object is read; nil: nothing
}

func (s *store) Get(ctx context.Context, key string) ([]byte, error) {
	if s.got != nil {
		s.got()
	}
	return s.Provider.Get(ctx, key)
}

func (s *store) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	p, n := place{key, off, off + int64(len(dst))}, int64(len(dst))
	s.mu.Lock()
	s.reads = append(s.reads, p)
	s.flying += n
	s.most = max(s.most, s.flying)
	asked, came := s.asked, s.came
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.flying -= n
		s.mu.Unlock()
	}()
	if asked != nil {
		if err := asked(ctx, p); err != nil {
			return err
		}
	}
	err := s.Provider.ReadAt(ctx, key, dst, off)
	if err == nil && came != nil {
		came(p, dst)
	}
	return err
}

// reset forgets all reads, and sets the calls before and behind each read.
func (s *store) reset(asked func(ctx context.Context, p place) error, came func(p place, dst []byte)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads, s.most, s.asked, s.came = nil, 0, asked, came
}

// seen returns the reads since reset, in the order of places.
func (s *store) seen() []place {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(s.reads)
	slices.SortFunc(out, func(a, b place) int { return int(a.from - b.from) })
	return out
}

// far is a store across a network.
type far struct{ *store }

func (f far) Range(ctx context.Context, key string, off, n int64, _ string) (storage.Body, error) {
	if n < 0 {
		return nil, errs.New(errs.Unsupported, "a range without an end")
	}
	data := make([]byte, n)
	err := f.ReadAt(ctx, key, data, off)
	return &body{bytes.NewReader(data)}, err
}

type body struct{ *bytes.Reader }

var _ io.Reader = body{}

func (b *body) Close() error { return nil }
func (b *body) Len() int64   { return int64(b.Reader.Len()) }
func (b *body) Tag() string  { return "" }
func (b *body) Size() int64  { return -1 }

// set is a dataset of videos in memory: "mem" is near, "far" is across a network.
type set struct {
	env   *dataset.Env
	rows  int64
	store *store       // of the reader that was opened last
	opens atomic.Int64 // decoders that were made
}

// newSet stores files; nil: a row without one.
func newSet(t testing.TB, files ...[]byte) *set {
	t.Helper()
	space := &mem.Space{}
	s := &set{rows: int64(len(files))}
	open := func(remote bool) storage.Opener {
		return func(ctx context.Context, rest string, o storage.Options) (storage.Provider, error) {
			p, err := space.Open(ctx, rest, o)
			s.store = &store{Provider: p}
			if remote {
				return far{s.store}, err
			}
			return s.store, err
		}
	}
	s.env = &dataset.Env{
		Codecs: all.All(), Writer: "test", Containers: media.Containers{mp4.File{}, mediatest.Reel{}},
		Stores: storage.Registry{"mem": open(false), "far": open(true)},
	}
	d, err := dataset.Create(t.Context(), s.env, "mem://set", dataset.CreateOptions{Tensors: []dataset.TensorSpec{{Name: "x", HType: "video"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	for _, file := range files {
		one := tensor.Sample{Form: tensor.FormHole}
		if file != nil {
			one = tensor.Sample{Form: tensor.FormEncoded, Data: file}
		}
		if err := d.Append(t.Context(), []tensor.Rows{{Tensor: "x", Samples: []tensor.Sample{one}}}, 1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Commit(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	return s
}

// open returns a reader of the videos.
func (s *set) open(t testing.TB, scheme string) *Reader {
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
	return s.over(t, loader.SourceOf(v))
}

// over returns a reader of the videos of a source.
func (s *set) over(t testing.TB, src Source) *Reader {
	t.Helper()
	l := mediatest.FFmpeg(t, ffmpeg.Load)
	r, err := Open(src, "x", func() (*ffmpeg.Library, error) {
		s.opens.Add(1)
		return l, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// find returns a row's video, with its table.
func find(t testing.TB, r *Reader, row int64) *stored {
	t.Helper()
	s, err := r.find(t.Context(), row)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
