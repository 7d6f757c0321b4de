package episodes

import (
	"context"
	"io"
	"math"

	"deeplake/core/errs"
	"deeplake/core/internal/lru"
	"deeplake/core/media"
	"deeplake/core/tensor"
)

const (
	// filmBytes bounds the memory of tables of videos whose episodes are not all taken.
	filmBytes = 128 << 20
	// packetBytes is the memory of a packet in tables.
	packetBytes = 44
	// maxVideoBytes bounds the videos of an episode that are copied.
	maxVideoBytes = 2 << 30
)

// film is a file of video, whose tables are read.
type film struct {
	*object
	table *media.Video
	shown []int32
	parts *media.Cutter
	err   error // the file cannot be used
}

// films reads files of video, each once for all of its episodes.
type films struct {
	files      *files
	containers media.Containers
	cache      *lru.Cache[string, *film]
}

func newFilms(f *files, containers media.Containers) *films {
	return &films{files: f, containers: containers, cache: lru.New[string, *film](filmBytes)}
}

// film reads the tables of a file.
func (f *films) film(ctx context.Context, key string) (*film, error) {
	return f.cache.Load(ctx, key, func() (*film, int64, error) {
		one := &film{}
		o, err := f.files.open(ctx, key)
		if err == nil && o.size == 0 {
			err = errs.New(errs.Invalid, "the file is empty")
		}
		if err == nil {
			one.object = o
			one.table, err = f.containers.Index(ctx, o, o.size)
			o.head = nil
		}
		switch {
		case err == nil:
			one.shown, one.parts = one.table.Shown(), media.NewCutter(f.containers, one.table)
		case bad(err) && ctx.Err() == nil:
			one.err = errs.New(errs.KindOf(err), "%s", reason(err))
		default:
			return nil, 0, err
		}
		bytes := int64(1 << 10)
		if one.table != nil {
			bytes += packetBytes * int64(len(one.table.Packets))
		}
		return one, bytes, nil
	})
}

// span finds the frames of an episode, n from a second of the file on: places in shown. Each must
// be shown at its time. LeRobot takes the frame whose number is nearest to the time by the mean
// rate, and holds its time against the tolerance: a frame that passes is this one.
func (f *film) span(from float64, n int64, fps float64) (first int, err error) {
	ticks := float64(f.table.Ticks)
	most := tolerance + 0.5/ticks + 1e-9
	at := func(i int) float64 { return float64(f.table.Packets[f.shown[i]].Time) / ticks }
	first = max(0, f.table.At(f.shown, int64(math.Floor((from-most)*ticks))))
	for first < len(f.shown) && at(first) < from-most {
		first++
	}
	if have := int64(len(f.shown) - first); have < n {
		return 0, errs.New(errs.Invalid, "the video has %d frames from %v s on, and the episode has %d", have, from, n)
	}
	begin := at(first)
	for i := range n {
		away := float64(i) / fps
		is := at(first + int(i))
		if math.Abs(is-(from+away)) > most || math.Abs(is-begin-away) > most {
			rate := ""
			if last := at(first + int(n) - 1); n > 1 && last > begin {
				if mean := float64(n-1) / (last - begin); math.Abs(mean-fps) > fps/1000 {
					rate = errs.New(errs.Invalid, "; it has %.4g frames a second, and info.json says %v", mean, fps).Error()
				}
			}
			return 0, errs.New(errs.Invalid, "frame %d is shown at %.6f s of the video, want %.6f s%s", i, is, from+away, rate)
		}
	}
	return first, nil
}

// sample makes the sample of an episode's video: of the whole file if the episode has all of it.
func (f *films) sample(ctx context.Context, e *episode, c clip, key string, in *info, link bool) (tensor.Sample, int64, error) {
	var none tensor.Sample
	one, err := f.film(ctx, key)
	if err != nil {
		return none, 0, err
	}
	if one.err != nil {
		return none, 0, one.err
	}
	n := e.length()
	if span := c.to - c.from; in.isThree && span < (float64(n)-0.5)/in.fps {
		return none, 0, errs.New(errs.Invalid, "the metadata give it %v s of the video, and its %d frames take %v s", span, n, float64(n)/in.fps)
	}
	first, err := one.span(c.from, n, in.fps)
	if err != nil {
		return none, 0, err
	}
	part := &media.Part{Bytes: one.size, Tables: one.table}
	if in.isThree && (first > 0 || n < int64(len(one.shown)) || c.from > tolerance) {
		if part, err = one.cut(ctx, first, int(n)); err != nil {
			return none, 0, err
		}
	}
	if part.Offset < 0 || part.Bytes < 1 || part.Offset > one.size-part.Bytes {
		return none, 0, errs.New(errs.Internal, "%d bytes at %d of a video of %d", part.Bytes, part.Offset, one.size)
	}
	if link {
		l := &tensor.Link{URL: f.files.url(key), Offset: part.Offset, Length: part.Bytes, Tag: one.tag, Size: one.size, Head: part.Head}
		return tensor.Sample{Form: tensor.FormLink, DType: tensor.Bytes, Link: l, Tables: part.Tables}, 0, nil
	}
	if bytes := part.Bytes + int64(len(part.Head)); bytes > maxVideoBytes {
		return none, 0, errs.New(errs.Invalid, "the video of the episode has %d bytes, want at most %d; --link (link=True) leaves it where it is", bytes, int64(maxVideoBytes))
	}
	return tensor.Sample{Form: tensor.FormEncoded, DType: tensor.Bytes, Data: part.Head, Tables: part.Tables, Link: &tensor.Link{Offset: part.Offset, Length: part.Bytes, Tag: one.tag}}, part.Bytes + int64(len(part.Head)), nil
}

// cut makes a file of n frames of the film.
func (f *film) cut(ctx context.Context, first, n int) (*media.Part, error) {
	at := func(i int) int64 { return f.table.Packets[f.shown[i]].Time }
	end := f.table.End
	if first+n < len(f.shown) {
		end = at(first + n)
	}
	part, err := f.parts.Part(ctx, f.object, at(first), end)
	if err != nil {
		return nil, err
	}
	if v, ok := part.Tables.(*media.Video); !ok || len(v.Shown()) != n {
		return nil, errs.New(errs.Invalid, "other frames than the %d of the episode are shown in its time", n)
	}
	return part, nil
}

// fill reads the bytes of a sample that is copied.
func (f *films) fill(ctx context.Context, s *tensor.Sample, key string) error {
	l := s.Link
	data := make([]byte, int64(len(s.Data))+l.Length)
	n := copy(data, s.Data)
	body, err := f.files.request(ctx, key, l.Offset, l.Length, l.Tag)
	if errs.Is(err, errs.Conflict) {
		return errs.New(errs.Conflict, "it was changed meanwhile; run the import again")
	}
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	if body.Len() != l.Length {
		return errs.New(errs.Corrupt, "it ends after %d bytes, want %d", l.Offset+body.Len(), l.Offset+l.Length)
	}
	if _, err := io.ReadFull(body, data[n:]); err != nil {
		return errs.Wrap(errs.Storage, "read", key, err)
	}
	s.Data, s.Link = data, nil
	return nil
}
