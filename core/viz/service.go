package viz

import (
	"bytes"
	"context"
	"encoding/json"
	"io"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/internal/lru"
	"deeplake/core/internal/task"
	"deeplake/core/read"
	"deeplake/core/session"
	"deeplake/core/storage"
	"deeplake/core/tensor"
	"deeplake/core/transform"
)

// Options are the settings of a service.
type Options struct {
	Session *session.Session
	Codecs  *codec.Registry
	Name    string // of the dataset; "": pages take the end of its URI
	// the first view of a page; it must stay open
	View *session.View
	// the dataset of the view: for other versions and saved views; nil: they are not shown
	Dataset *dataset.Dataset
	Storage storage.Options // of datasets that queries name
	// addresses that queries of pages may read, and what lies below, besides the shown datasets
	Allow []string
	// pages may save views in Dataset; nothing else is ever written
	SaveViews bool
	// makes files of small pictures; nil: they travel as pixels, which costs nothing where the page
	// is in the same browser
	Compress Compress
	// shows the videos of a view; nil: their files are sent alone, and their sizes in place of
	// pictures
	Videos func(v *session.View) Videos
}

// Videos shows the videos of a view, until it is closed. All methods may be called in parallel.
type Videos interface {
	// Times describes a video, with the times of the frames around a time, in seconds.
	Times(ctx context.Context, column string, row int64, at float64) (Times, error)
	// Poster returns the facts of a video, which ref has found, and its first frame as a picture
	// whose longer side has so many pixels.
	Poster(ctx context.Context, column string, row int64, ref *chunk.Ref, pixels int) (Poster, error)
	Close()
}

// Times is when the frames of a video are shown, in seconds, never falling.
type Times struct {
	First    int64     `json:"first"` // the number of the first frame in Times
	Times    []float64 `json:"times"`
	Frames   int64     `json:"frames"` // of the whole video
	Duration float64   `json:"duration"`
	Width    int       `json:"width"` // of the frames as they are shown
	Height   int       `json:"height"`
}

// Poster is a video as a cell shows it.
type Poster struct {
	Codec         string
	Height, Width int64 // of a frame
	Frames, Bytes int64
	Seconds       float64 // the time for which it is shown
	File          []byte  // of the picture; nil: there is none
	Media         string
	Reason        string // why there is no picture
}

// Compress makes a file of the pixels of a picture, and names its media type.
type Compress func(pix []byte, s tensor.Shape, o codec.Options) (file []byte, media string, err error)

// JPEG returns a function that makes JPEG files.
func JPEG(codecs *codec.Registry) Compress {
	return func(pix []byte, s tensor.Shape, o codec.Options) ([]byte, string, error) {
		c, err := codecs.Sample(codec.JPEG)
		if err != nil {
			return nil, "", err
		}
		file, err := c.Encode(nil, pix, tensor.Uint8, s, o)
		return file, c.Describe().Media, err
	}
}

// Service answers the calls of pages about one dataset, until it is closed. It knows nothing of how
// calls travel. All methods may be called in parallel.
type Service struct {
	o      Options
	views  views
	spaces read.Pool[*transform.Workspace]
	thumbs *lru.Cache[thumbKey, picture]
	tiles  *lru.Cache[tileKey, []byte]
	large  chan struct{} // holds the place of the one large sample that is in memory
	// holds the place of the one projection that runs
	projecting chan struct{}
	counts     counts
}

const thumbBytes = 128 << 20

// New makes a service. It must be closed.
func New(o Options) *Service {
	s := &Service{
		o: o, thumbs: lru.New[thumbKey, picture](thumbBytes), tiles: lru.New[tileKey, []byte](tileBytes),
		large: make(chan struct{}, 1), projecting: make(chan struct{}, 1),
	}
	s.spaces.New = func() *transform.Workspace { return &transform.Workspace{} }
	return s
}

// Close closes what pages have opened.
func (s *Service) Close() {
	s.views.close()
	s.spaces.Close()
}

// Videos returns the videos of an open view. The caller calls done after reading. A service without
// videos is errs.Unsupported.
func (s *Service) Videos(view string) (v Videos, done func(), err error) {
	of, done, err := s.views.get(view)
	if err == nil && of.videos == nil {
		done()
		err = errs.Op("play video", "").New(errs.Unsupported, "this program has no videos")
	}
	if err != nil {
		return nil, nil, err
	}
	return of.videos, done, nil
}

// Answer takes the answer of a call. Its methods are called in turn.
type Answer interface {
	// Begin is called once, before the first byte. An answer that has begun was no refusal.
	Begin(media string)
	io.Writer
	// Flush sends the bytes written so far. The end of the call sends the rest.
	Flush() error
}

// The media types of answers.
const (
	mediaJSON    = "application/json"
	mediaSamples = "application/x-deeplake-samples"
	mediaPoints  = "application/x-deeplake-points"
	mediaNumbers = "application/octet-stream"
)

// Call answers a call of web/PROTOCOL.md, by its name without "api/". After an error, the answer
// has not begun, and Refuse gives it. A panic is an error.
func (s *Service) Call(ctx context.Context, name string, body []byte, to Answer) error {
	return task.Call(func() error {
		switch name {
		case "samples":
			return s.samples(ctx, body, to)
		case "project":
			return s.project(ctx, body, to)
		case "values":
			return s.values(ctx, body, to)
		}
		call := s.calls()[name]
		if call == nil {
			return errs.New(errs.NotFound, "no call %.100q", name)
		}
		result, err := call(ctx, body)
		if err != nil {
			return err
		}
		return Write(to, result)
	})
}

// calls are the functions whose answer is one JSON value.
func (s *Service) calls() map[string]func(ctx context.Context, body []byte) (any, error) {
	return map[string]func(context.Context, []byte) (any, error){
		"open": s.open, "query": s.query, "explain": s.explain, "close": s.forget,
		"stats": s.stats, "versions": s.versions, "diff": s.diff, "words": words,
		"select": s.pick, "progress": s.progress, "save": s.save, "times": s.times,
	}
}

// Parse reads the body of a request. Unknown fields are errors.
func Parse(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return errs.Op("read request", "").New(errs.Invalid, "%w", err)
	}
	return nil
}

// Write answers with a value as JSON.
func Write(to Answer, result any) error {
	text, err := json.Marshal(result)
	if err != nil {
		return errs.Op("write answer", "").New(errs.Internal, "%w", err)
	}
	to.Begin(mediaJSON)
	_, _ = to.Write(text) // the client may be gone
	return nil
}
