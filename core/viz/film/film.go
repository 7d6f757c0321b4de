package film

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/internal/area"
	"deeplake/core/internal/lru"
	"deeplake/core/media"
	"deeplake/core/media/ffmpeg"
	"deeplake/core/session"
	"deeplake/core/tensor"
	"deeplake/core/video"
	"deeplake/core/viz"
)

// Films makes pictures of videos, and keeps them for all views of a server. All methods may be
// called in parallel.
type Films struct {
	library    func() (*ffmpeg.Library, error)
	compress   viz.Compress
	containers media.Containers
	posters    *lru.Cache[posterKey, viz.Poster]
	large      chan struct{} // holds the place of the one large frame that is in memory
}

// posterKey names a picture: a sample, and how small it is.
type posterKey struct {
	chunk  chunk.ID
	item   int64
	pixels int
}

const (
	posterBytes   = 32 << 20 // of the pictures that are kept
	posterQuality = 80
	mostFrame     = 256 << 20 // bytes of the pixels of a frame of which a picture is made
	largeFrame    = 32 << 20  // one frame of this size is in memory at a time
)

// New returns films that library decodes, loaded at the first use of a decoder. containers tell
// files apart.
func New(library func() (*ffmpeg.Library, error), compress viz.Compress, containers media.Containers) *Films {
	return &Films{library: library, compress: compress, containers: containers, posters: lru.New[posterKey, viz.Poster](posterBytes), large: make(chan struct{}, 1)}
}

// View is the videos of a view; viz.Videos.
type View struct {
	*tables
	films *Films
}

var _ viz.Videos = (*View)(nil)

// Open returns the videos of a view, which must be open as long as they are.
func (f *Films) Open(v *session.View) viz.Videos {
	return &View{films: f, tables: newTables(v)}
}

// undrawn is why a video has no picture, with its facts.
type undrawn struct {
	error
	facts viz.Poster
}

// Poster returns the facts of a video, and its first frame as a picture whose longer side has at
// most so many pixels. Without FFmpeg, and for a damaged frame, the reason is in place of it.
func (v *View) Poster(ctx context.Context, column string, row int64, ref *chunk.Ref, pixels int) (viz.Poster, error) {
	build := func() (viz.Poster, int64, error) { return v.poster(ctx, column, row, pixels) }
	var out viz.Poster
	var err error
	if ref.Chunk != nil {
		out, err = v.films.posters.Load(ctx, posterKey{ref.Chunk.ID, ref.Item, pixels}, build)
	} else {
		out, _, err = build()
	}
	// Not kept: the next request may find FFmpeg, or another file behind a link.
	if u := (*undrawn)(nil); errors.As(err, &u) {
		out, err = u.facts, nil
		out.Reason = u.Error()
	}
	return out, err
}

func (v *View) poster(ctx context.Context, column string, row int64, pixels int) (viz.Poster, int64, error) {
	// A reader of its own, so that no decoder outlives the picture: each holds some frames.
	r, err := video.Open(v.view, column, v.films.library)
	if err != nil {
		return viz.Poster{}, 0, err
	}
	defer r.Close()
	info, err := r.Info(ctx, row)
	if err != nil {
		return viz.Poster{}, 0, err
	}
	out := viz.Poster{
		Codec: info.Codec, Height: int64(info.Height), Width: int64(info.Width), Frames: int64(info.Frames),
		Bytes: info.Bytes, Seconds: info.Duration - info.Begin,
	}
	out.File, out.Media, err = v.films.draw(ctx, r, row, &info, pixels)
	if err != nil && ctx.Err() == nil {
		err = &undrawn{err, out}
	}
	return out, int64(len(out.File)) + 256, err
}

// draw makes the picture of the first frame.
func (f *Films) draw(ctx context.Context, r *video.Reader, row int64, info *video.Info, pixels int) (file []byte, media string, err error) {
	size := int64(info.Height) * int64(info.Width) * 3
	if info.Frames == 0 || size > mostFrame {
		return nil, "", errs.New(errs.Unsupported, "no picture of %d x %d pixels is made, want at most %d bytes of them", info.Width, info.Height, int64(mostFrame))
	}
	if size > largeFrame {
		select {
		case f.large <- struct{}{}:
			defer func() { <-f.large }()
		case <-ctx.Done():
			return nil, "", errs.Cause(ctx, "read video")
		}
	}
	pix := make([]byte, size)
	if err := r.Frames(ctx, row, []int64{0}, pix); err != nil {
		return nil, "", err
	}
	height, width := info.Height, info.Width
	if longer := max(height, width); longer > pixels {
		side := func(n int) int { return max((n*pixels+longer/2)/longer, 1) }
		height, width = side(height), side(width)
		small := make([]byte, height*width*3)
		area.Reduce(small, pix, info.Height, info.Width, height, width, 3, 1)
		pix = small
	}
	return f.compress(pix, tensor.Shape{int64(height), int64(width), 3}, codec.Options{Quality: posterQuality})
}

// Info is the facts of a video, and what its file is called.
type Info struct {
	video.Info
	Media string `json:"media"` // the media type, of a table of this package
	Name  string `json:"name"`  // under which the file is saved
}

// Info describes the video of a row.
func (v *View) Info(ctx context.Context, column string, row int64) (Info, error) {
	r, err := v.reader(column)
	if err != nil {
		return Info{}, err
	}
	of, err := r.Info(ctx, row)
	if err != nil {
		return Info{}, err
	}
	head := make([]byte, min(of.Bytes, media.HeadBytes))
	if err := r.ReadAt(ctx, row, head, 0); err != nil {
		return Info{}, err
	}
	mediaType, extension := v.films.kindOf(head)
	number := v.view.Row(row)
	if number < 0 {
		number = row
	}
	return Info{Info: of, Media: mediaType, Name: safe(column) + "-" + strconv.FormatInt(number, 10) + extension}, nil
}

// ReadAt fills dst with bytes of the file of a row from off on, held against their checksums.
func (v *View) ReadAt(ctx context.Context, column string, row int64, dst []byte, off int64) error {
	r, err := v.reader(column)
	if err != nil {
		return err
	}
	return r.ReadAt(ctx, row, dst, off)
}

// types are the media types of files, by the extensions that containers give them. Nothing in a
// file becomes part of an answer's header.
var types = map[string]string{
	".mp4": "video/mp4", ".m4v": "video/mp4", ".mov": "video/quicktime", ".mkv": "video/x-matroska", ".webm": "video/webm",
}

// kindOf returns the media type and the extension of a file that begins with head.
func (f *Films) kindOf(head []byte) (mediaType, extension string) {
	extension = f.containers.Extension(head)
	if mediaType = types[extension]; mediaType == "" {
		return "application/octet-stream", ".bin"
	}
	return mediaType, extension
}

// mostName bounds the part of a file's name that is a tensor's.
const mostName = 80

// safe returns the name of a tensor as a part of a file's name: letters and digits of ASCII.
func safe(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, name)
	if name = strings.Trim(name[:min(len(name), mostName)], "-"); name == "" {
		return "video"
	}
	return name
}
