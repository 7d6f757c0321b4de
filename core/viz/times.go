package viz

import (
	"context"

	"deeplake/core/errs"
)

// times answers with the times of the frames around a time of a video. A video without frames has
// an empty list.
func (s *Service) times(ctx context.Context, body []byte) (any, error) {
	var in struct {
		ofView
		Column string  `json:"column"`
		Row    int64   `json:"row"`
		At     float64 `json:"at"` // seconds
	}
	v, done, err := s.views.use(body, &in)
	if err != nil {
		return nil, err
	}
	defer done()
	if v.videos == nil {
		return nil, errs.Op("read times", "").New(errs.Unsupported, "this program has no videos")
	}
	if in.Row < 0 || in.Row >= v.Len() {
		return nil, errs.New(errs.Range, "read times of row %d, want 0 to %d", in.Row, v.Len()-1)
	}
	out, err := v.videos.Times(ctx, in.Column, in.Row, in.At)
	if out.Times == nil {
		out.Times = []float64{}
	}
	return out, err
}
