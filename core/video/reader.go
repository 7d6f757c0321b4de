package video

import (
	"context"
	"math"
	"sort"
	"strconv"
	"sync/atomic"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/lru"
	"deeplake/core/internal/task"
	"deeplake/core/media"
	"deeplake/core/media/ffmpeg"
	"deeplake/core/read"
	"deeplake/core/tensor"
)

// Source is rows with a tensor of videos.
type Source interface {
	// Column returns a tensor by its name, hidden or not.
	Column(name string) (read.Column, error)
	NewWorker() *chunk.Worker
	// Remote reports whether the bytes come over a network.
	Remote() bool
}

// tableBytes bounds the tables that a Reader keeps decoded.
const tableBytes = 64 << 20

// Reader reads the frames of one tensor. All methods may be called in parallel.
type Reader struct {
	name    string
	source  Source
	videos  read.Column
	tables  read.Column
	raw     atomic.Pointer[[][]byte] // tables as they are stored, if all were read together
	found   *lru.Cache[int64, *stored]
	workers read.Pool[*chunk.Worker]
	pool    decoders
	slots   chan struct{} // one for each core that decodes
	reads   atomic.Int32  // calls of Frames that run
}

// Open makes a reader of the tensor called name. library loads the decoders at the first use of
// one. A tensor without videos is errs.Type.
func Open(source Source, name string, library func() (*ffmpeg.Library, error)) (*Reader, error) {
	col, err := source.Column(name)
	if err != nil {
		return nil, err
	}
	tables := col.Access().Tables
	h, err := tensor.ParseHType(col.Access().HType)
	switch {
	case err == nil && !h.IsVideo():
		return nil, errs.Op("read video", name).New(errs.Type, "the tensor has htype %s, frames are of htype video", h)
	case tables == "":
		return nil, computed(name)
	}
	r := &Reader{name: name, source: source, videos: col, found: lru.New[int64, *stored](tableBytes), slots: make(chan struct{}, task.Cores())}
	if r.tables, err = source.Column(tables); errs.Is(err, errs.NotFound) {
		return nil, computed(name)
	} else if err != nil {
		return nil, err
	}
	r.workers.New = source.NewWorker
	r.pool.library = library
	return r, nil
}

// computed refuses rows that a query has computed: they have no tables.
func computed(name string) error {
	return errs.Op("read video", name).New(errs.Unsupported, "the rows are computed by a query, which leaves out where frames lie; read the bytes, materialize() the rows, or select rows without computed columns")
}

// Tables returns the name of the tensor with the tables of the videos.
func (r *Reader) Tables() string { return r.tables.Name() }

// KeepTables gives the reader the tables of rows as they are stored. A nil one is read when it is
// needed.
func (r *Reader) KeepTables(raw [][]byte) { r.raw.Store(&raw) }

// HasTables reports whether KeepTables was called.
func (r *Reader) HasTables() bool { return r.raw.Load() != nil }

// KeptTables returns what KeepTables was given, nil if it was not called.
func (r *Reader) KeptTables() [][]byte {
	if raw := r.raw.Load(); raw != nil {
		return *raw
	}
	return nil
}

// Close frees the decoders. No call may be running.
func (r *Reader) Close() {
	r.pool.close()
	r.workers.Close()
}

// Info describes a video.
type Info struct {
	Codec    string  `json:"codec"`
	Width    int     `json:"width"` // of the frames as they are shown
	Height   int     `json:"height"`
	Frames   int     `json:"frames"`
	Keys     int     `json:"key_frames"`
	Begin    float64 `json:"begin"`    // of the first frame, in seconds
	Duration float64 `json:"duration"` // to the end of the last frame, in seconds
	FPS      float64 `json:"fps"`      // frames a second in the mean; 0: the video has no duration
	Rotation int     `json:"rotation"` // clockwise, in degrees, of the encoded pictures
	Bytes    int64   `json:"bytes"`    // of the file
	Ticks    int64   `json:"-"`        // a second, of the clock of its times
}

// stored is a video in its place.
type stored struct {
	ref   chunk.Ref
	table *format.VideoTable
	shown []int32 // packets of the frames, in the order of showing
	ends  []int64 // of the parts of the file; none: it is linked
	form  form
}

// memory estimates the bytes that s takes.
func (s *stored) memory() int64 {
	const packet = 40
	return 1024 + packet*int64(len(s.table.Video.Packets)) + 4*int64(len(s.shown)) + 24*int64(len(s.ends)) + int64(len(s.table.Video.Setup))
}

// Info describes the video of a row, by its table. A row without a video is errs.NotFound.
func (r *Reader) Info(ctx context.Context, row int64) (Info, error) {
	s, err := r.find(ctx, row)
	if err != nil {
		return Info{}, err
	}
	v := s.table.Video
	info := Info{Codec: v.Codec, Frames: len(s.shown), Duration: s.end(), Rotation: 90 * v.Turns, Bytes: s.table.Bytes, Begin: s.begin(), Ticks: v.Ticks}
	info.Height, info.Width = v.Size()
	if shown := info.Duration - info.Begin; shown > 0 {
		info.FPS = float64(info.Frames) / shown
	}
	for i := range v.Packets {
		if v.Packets[i].Key {
			info.Keys++
		}
	}
	return info, nil
}

// Times writes the times of all frames into dst, in seconds. dst has room for as many as Info says.
func (r *Reader) Times(ctx context.Context, row int64, dst []float64) error {
	s, err := r.find(ctx, row)
	if err != nil {
		return err
	}
	if len(dst) != len(s.shown) {
		return r.fail(row, errs.New(errs.Invalid, "there is room for %d times, want %d", len(dst), len(s.shown)))
	}
	for i, p := range s.shown {
		dst[i] = s.seconds(p)
	}
	return nil
}

// At writes the frames that are shown at times, in seconds, into dst. A time at which none is shown
// is errs.Range.
func (r *Reader) At(ctx context.Context, row int64, times []float64, dst []int64) error {
	s, err := r.find(ctx, row)
	if err != nil {
		return err
	}
	v := s.table.Video
	for i, t := range times {
		frame := -1
		if t < s.end() { // no number is not
			ticks := math.Floor(t*float64(v.Ticks) + tickSlack)
			frame = v.At(s.shown, int64(max(ticks, -media.MaxTime-1)))
		}
		if frame < 0 {
			return r.fail(row, errs.New(errs.Range, "no frame is shown at %v s; the video is shown from %v to %v s", t, s.begin(), s.end()))
		}
		dst[i] = int64(frame)
	}
	return nil
}

// Near returns the times of the frames around a time, in seconds: of at most n up to it, and n
// behind it. first is the number of the first of them.
func (r *Reader) Near(ctx context.Context, row int64, at float64, n int) (first int64, times []float64, err error) {
	s, err := r.find(ctx, row)
	if err != nil {
		return 0, nil, err
	}
	next := sort.Search(len(s.shown), func(i int) bool { return s.seconds(s.shown[i]) > at })
	from, to := max(next-n, 0), min(next+n, len(s.shown))
	for _, p := range s.shown[from:to] {
		times = append(times, s.seconds(p))
	}
	return int64(from), times, nil
}

// begin returns the time of the first frame, in seconds.
func (s *stored) begin() float64 {
	if len(s.shown) == 0 {
		return 0
	}
	return s.seconds(s.shown[0])
}

// end returns the time at which the last frame is no longer shown, in seconds.
func (s *stored) end() float64 {
	return s.table.Video.Seconds(s.table.Video.End)
}

// seconds returns the time at which the frame of a packet is shown.
func (s *stored) seconds(packet int32) float64 {
	return s.table.Video.Seconds(s.table.Video.Packets[packet].Time)
}

// time names the time of the frame of a packet in messages.
func (s *stored) time(packet int32) string {
	return strconv.FormatFloat(s.seconds(packet), 'f', 3, 64) + " s"
}

// tickSlack makes up for the rounding of times: frame 7 of 30 a second begins at 0.2333 s, which is
// a little less than its tick.
const tickSlack = 1e-3

// find returns the video of a row with its table.
func (r *Reader) find(ctx context.Context, row int64) (*stored, error) {
	s, err := r.found.Load(ctx, row, func() (*stored, int64, error) {
		s, err := r.read(ctx, row)
		if err != nil {
			return nil, 0, err
		}
		return s, s.memory(), nil
	})
	return s, r.fail(row, err)
}

// fail names tensor and row in an error.
func (r *Reader) fail(row int64, err error) error {
	if err == nil {
		return nil
	}
	return errs.New(errs.KindOf(err), "read video %q, row %d: %w", r.name, row, err)
}

// read resolves a row, and decodes its table.
func (r *Reader) read(ctx context.Context, row int64) (*stored, error) {
	s := &stored{}
	var refs [1]chunk.Ref
	var raw []byte
	var noTable error
	// Both are looked up in index pages, which a store answers at the same time.
	g := task.New(ctx, 2)
	g.Go(func(ctx context.Context) error { return r.videos.Resolve(ctx, []int64{row}, refs[:]) })
	g.Go(func(ctx context.Context) error {
		raw, noTable = r.rawTable(ctx, row)
		return nil
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if s.ref = refs[0]; s.ref.Hole() {
		return nil, errs.New(errs.NotFound, "the row has no video")
	}
	if noTable != nil {
		return nil, noTable
	}
	var err error
	if s.table, err = format.DecodeVideo(raw); err != nil {
		return nil, err
	}
	if have, want := s.ref.Stored, s.table.Bytes; have != want {
		return nil, errs.New(errs.Corrupt, "the video has %d bytes, its table is of one of %d; run fsck", have, want)
	}
	if len(s.table.Parts) == 0 && !s.ref.Chunk.Index.Linked() {
		return nil, errs.New(errs.Corrupt, "the table of the video has no checksums; run fsck")
	}
	s.shown, s.form = s.table.Video.Shown(), formOf(s.table.Video)
	s.ends = make([]int64, len(s.table.Parts))
	at := int64(0)
	for i, p := range s.table.Parts {
		at += p.Bytes
		s.ends[i] = at
	}
	return s, nil
}

// rawTable returns the stored bytes of a row's table.
func (r *Reader) rawTable(ctx context.Context, row int64) ([]byte, error) {
	if kept := r.raw.Load(); kept != nil && row < int64(len(*kept)) && (*kept)[row] != nil {
		return (*kept)[row], nil
	}
	var refs [1]chunk.Ref
	if err := r.tables.Resolve(ctx, []int64{row}, refs[:]); err != nil {
		return nil, err
	}
	if refs[0].Hole() {
		return nil, errs.New(errs.Corrupt, "the video has no table; run fsck")
	}
	w := r.workers.Borrow()
	defer r.workers.Return(w)
	raw := make([]byte, refs[0].Size)
	return raw, r.tables.Decode(ctx, &refs[0], raw, w)
}
