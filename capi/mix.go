package main

/*
#include "go.h"
*/
import "C"

import (
	"unsafe"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/order"
	"deeplake/core/scan"
)

//export dlgo_view_with_weights
func dlgo_view_with_weights(h C.dl_view, weights *C.dl_const_f64, n C.int64_t, out *C.dl_view, e *C.dl_error) C.dl_status {
	return onView(h, e, func(v *viewHandle) error {
		if err := wantOut("weigh rows", out != nil); err != nil {
			return err
		}
		if int64(n) != v.source.Len() || (n > 0 && weights == nil) {
			return errs.New(errs.Invalid, "weigh rows: %d weights for %d rows, want one for each row", int64(n), v.source.Len())
		}
		w, err := order.NewWeights(unsafe.Slice((*float64)(unsafe.Pointer(weights)), int(n)))
		if err != nil {
			return errs.Wrap(errs.Invalid, "weigh rows", "", err)
		}
		weighed, err := v.subset(func(d *dataset.View) (*dataset.View, error) { return d, nil },
			func(a *scan.Result) (*scan.Result, error) { return a, nil })
		if err != nil {
			return err
		}
		weighed.weights = w
		out.id = C.uint64_t(lib.views.put(weighed))
		return nil
	})
}

// mixing is how several views become one: JSON of dl_loader_mix.
type mixing struct {
	order.MixPolicy
	Labels []string `json:"labels"`
}

//export dlgo_loader_mix
func dlgo_loader_mix(c C.dl_context, views *C.dl_views, n C.int64_t, mix, options *C.dl_text, out *C.dl_loader, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		if err := wantOut("mix views", out != nil && (n <= 0 || views != nil)); err != nil {
			return err
		}
		ctx, err := contextOf(c)
		if err != nil {
			return err
		}
		var how mixing
		if err := parse("mix views", text(mix), &how); err != nil {
			return err
		}
		var o loader.Options
		if err := parse("mix views", text(options), &o); err != nil {
			return err
		}
		if n < 0 || int64(len(how.Labels)) != int64(n) {
			return errs.New(errs.Invalid, "mix %d views: there are %d labels, want one for each", int64(n), len(how.Labels))
		}
		parts := make([]loader.Part, n)
		for i, h := range unsafe.Slice(views, int(n)) {
			v, err := lib.views.get(uint64(h.id))
			if err != nil {
				return err
			}
			if v.weights != nil {
				return errs.New(errs.Invalid, "mix views: the rows of view %d, %s, have weights; give weights to the views instead", i, how.Labels[i])
			}
			parts[i] = loader.Part{Source: v.source, Label: how.Labels[i]}
		}
		m, err := loader.NewMix(parts, o.Tensors, how.MixPolicy)
		if err != nil {
			return err
		}
		l, err := loader.Open(ctx, m, o)
		if err != nil {
			return err
		}
		out.id = C.uint64_t(lib.loaders.put(&loading{Loader: l, epochs: map[uint64]struct{}{}}))
		return nil
	})
}
