package film

import (
	"context"
	"sync"

	"deeplake/core/errs"
	"deeplake/core/media/ffmpeg"
	"deeplake/core/session"
	"deeplake/core/video"
	"deeplake/core/viz"
)

// mostTimes are sent on each side of a time.
const mostTimes = 256

// Tables is the tables of the videos of a view, without pictures; viz.Videos. All methods but Close
// may be called in parallel.
type Tables struct {
	view *session.View

	mu      sync.Mutex
	readers map[string]*video.Reader // by column; none decodes
}

var _ viz.Videos = (*Tables)(nil)

// OpenTables returns the tables of a view, which must be open as long as they are.
func OpenTables(v *session.View) viz.Videos { return newTables(v) }

func newTables(v *session.View) *Tables {
	return &Tables{view: v, readers: map[string]*video.Reader{}}
}

// Close frees what was read. No call may be running.
func (t *Tables) Close() {
	for _, r := range t.readers {
		r.Close()
	}
}

// reader returns the reader of a column, which is opened when it is first used.
func (t *Tables) reader(column string) (*video.Reader, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.readers[column]; r != nil {
		return r, nil
	}
	r, err := video.Open(t.view, column, noLibrary)
	if err == nil {
		t.readers[column] = r
	}
	return r, err
}

func noLibrary() (*ffmpeg.Library, error) {
	return nil, errs.New(errs.Internal, "a table of videos decodes no frame")
}

// Times describes the video of a row, with the times of the frames around a time, in seconds.
func (t *Tables) Times(ctx context.Context, column string, row int64, at float64) (viz.Times, error) {
	r, err := t.reader(column)
	if err != nil {
		return viz.Times{}, err
	}
	info, err := r.Info(ctx, row)
	if err != nil {
		return viz.Times{}, err
	}
	out := viz.Times{Frames: int64(info.Frames), Duration: info.Duration, Width: info.Width, Height: info.Height}
	out.First, out.Times, err = r.Near(ctx, row, at, mostTimes)
	return out, err
}
