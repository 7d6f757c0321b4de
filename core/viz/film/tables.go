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

// tables is the tables of the videos of a view, without pictures. All methods but Close may be
// called in parallel.
type tables struct {
	view *session.View

	mu      sync.Mutex
	readers map[string]*video.Reader // by column; none decodes
}

// newTables returns the tables of a view, which must be open as long as they are.
func newTables(v *session.View) *tables {
	return &tables{view: v, readers: map[string]*video.Reader{}}
}

// Close frees what was read. No call may be running.
func (t *tables) Close() {
	for _, r := range t.readers {
		r.Close()
	}
}

// reader returns the reader of a column, which is opened when it is first used.
func (t *tables) reader(column string) (*video.Reader, error) {
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
func (t *tables) Times(ctx context.Context, column string, row int64, at float64) (viz.Times, error) {
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
