//go:build !js

package viz

import (
	"context"

	"deeplake/core/errs"
)

// save saves a view under a name, if the service may write.
func (s *Service) save(ctx context.Context, body []byte) (any, error) {
	var in struct {
		ofView
		Name    string `json:"name"`
		Replace bool   `json:"replace"`
	}
	v, done, err := s.views.use(body, &in)
	if err != nil {
		return nil, err
	}
	defer done()
	if !s.o.SaveViews {
		return nil, errs.New(errs.ReadOnly, "save view %.100q: this page only reads; start it with save_views=True or --save-views", in.Name)
	}
	ds, err := s.dataset()
	if err != nil {
		return nil, err
	}
	return struct{}{}, v.Save(ctx, ds, in.Name, in.Replace)
}
