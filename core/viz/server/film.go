package server

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/viz"
	"deeplake/core/viz/film"
)

const (
	// pieceBytes bounds the answer to a request of a range. Players ask for the next one when they
	// need it: nothing is read that they do not show.
	pieceBytes = 1 << 20
	// mostPieces are in memory at once, of all requests.
	mostPieces = 8
	// mostRange bounds the text of a range.
	mostRange = 64
)

// ofVideo is the body of requests that name a video.
type ofVideo struct {
	View   string `json:"view"`
	Column string `json:"column"`
	Row    int64  `json:"row"`
}

// films returns the videos of a view. The caller calls done after reading.
func (s *Server) films(view string) (*film.View, func(), error) {
	of, done, err := s.service.Videos(view)
	if err != nil {
		return nil, nil, err
	}
	v, ok := of.(*film.View)
	if !ok {
		done()
		return nil, nil, errs.Op("play video", "").New(errs.Internal, "videos of %T", of)
	}
	return v, done, nil
}

// video answers api/video: the facts of a video, and an address of its file for a player.
func (s *Server) video(ctx context.Context, body []byte, to *answer) error {
	var in ofVideo
	if err := viz.Parse(body, &in); err != nil {
		return err
	}
	v, done, err := s.films(in.View)
	if err != nil {
		return err
	}
	defer done()
	info, err := v.Info(ctx, in.Column, in.Row)
	if err != nil {
		return err
	}
	text := s.grants.give(grant{in.View, in.Column, in.Row, info.Media, info.Name, info.Bytes, time.Time{}}, s.now())
	return viz.Write(to, struct {
		film.Info
		URL string `json:"url"`
	}{info, "api/video/" + text})
}

// play sends the file that a grant stands for, or a range of it.
func (s *Server) play(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	if err := s.guard.check(r); err != nil {
		refuse(w, err)
		return
	}
	t, err := s.grants.use(r.PathValue("grant"), s.now())
	if err != nil {
		refuse(w, err)
		return
	}
	h.Set("Accept-Ranges", "bytes")
	from, to, part, ok := rangeOf(r.Header.Values("Range"), r.Header.Get("If-Range") != "", t.size)
	if !ok {
		h.Set("Content-Range", "bytes */"+strconv.FormatInt(t.size, 10))
		w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		return
	}
	v, done, err := s.films(t.view)
	if err != nil {
		refuse(w, err)
		return
	}
	defer done()
	begin := func() {
		h.Set("Content-Type", t.media)
		// Players pay no heed to it.
		h.Set("Content-Disposition", `attachment; filename="`+t.name+`"`)
		h.Set("Content-Length", strconv.FormatInt(to-from, 10))
		if part {
			h.Set("Content-Range", "bytes "+strconv.FormatInt(from, 10)+"-"+strconv.FormatInt(to-1, 10)+"/"+strconv.FormatInt(t.size, 10))
			w.WriteHeader(http.StatusPartialContent)
		}
	}
	if r.Method == http.MethodHead {
		begin()
		return
	}
	out := &answer{w, http.NewResponseController(w)}
	for at := from; at < to; {
		n := min(pieceBytes, to-at)
		err := s.piece(r.Context(), v, &t, at, n, func(data []byte) error {
			if at == from {
				begin()
			}
			_, err := out.Write(data)
			return err
		})
		if err != nil {
			if at == from {
				h.Del("Accept-Ranges")
				refuse(w, err)
			}
			return // the browser misses bytes, and says so
		}
		at += n
	}
}

// piece reads n bytes of a file and gives them to send.
func (s *Server) piece(ctx context.Context, v *film.View, t *grant, at, n int64, send func(data []byte) error) error {
	select {
	case s.pieces <- struct{}{}:
		defer func() { <-s.pieces }()
	case <-ctx.Done():
		return errs.Cause(ctx, "read video")
	}
	data := make([]byte, n)
	if err := task.Call(func() error { return v.ReadAt(ctx, t.column, t.row, data, at) }); err != nil {
		return err
	}
	return send(data)
}

// rangeOf returns the bytes [from, to) of a file that a request wants. part: it wants a range, and
// gets at most pieceBytes of it from its begin on, as RFC 9110 allows. ok is false for ranges that
// lie behind the file, and for those that no player sends: of other units, malformed, or several.
func rangeOf(values []string, conditional bool, size int64) (from, to int64, part, ok bool) {
	// Answers have no tag that a condition could name. So it fails, and the whole file is wanted.
	if len(values) == 0 || conditional {
		return 0, size, false, true
	}
	text, is := strings.CutPrefix(values[0], "bytes=")
	first, last, two := strings.Cut(text, "-")
	if len(values) > 1 || len(text) > mostRange || !is || !two || !digits(first) || !digits(last) || first == "" && last == "" {
		return 0, 0, false, false
	}
	end := size
	switch {
	case first == "": // the last bytes
		from = size - min(number(last), size)
	case last == "":
		from = number(first)
	default:
		from = number(first)
		if until := number(last); until < from {
			return 0, 0, false, false
		} else if until < size {
			end = until + 1
		}
	}
	if from >= size {
		return 0, 0, false, false
	}
	return from, min(end, from+pieceBytes), true, true
}

func digits(text string) bool { return strings.Trim(text, "0123456789") == "" }

// number reads digits. A number that is too large is the largest one.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return math.MaxInt64
	}
	return n
}
