package viz

import (
	"context"

	"deeplake/core/errs"
)

// save refuses: exported pages write nothing, and saving is a part of their program.
func (s *Service) save(context.Context, []byte) (any, error) {
	return nil, errs.Op("save view", "").New(errs.ReadOnly, "this page has no server and only reads; run deeplake visualize --save-views")
}
