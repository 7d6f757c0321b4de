package main

/*
#include "go.h"
*/
import "C"

import (
	"context"
	"math"
	"time"
	"unsafe"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/version"
	"deeplake/core/version/maintain"
)

// flag returns the truth value as C has it.
func flag(is bool) C.int32_t {
	if is {
		return 1
	}
	return 0
}

// textsOf copies strings of the caller.
func textsOf(what string, p *C.dl_texts, n C.int64_t) ([]string, error) {
	if n < 0 || n > 1<<20 || (n > 0 && p == nil) {
		return nil, errs.Op("read argument", what).New(errs.Invalid, "count is %d and the pointer is NULL or the count is out of bounds", int64(n))
	}
	var out []string
	for _, s := range unsafe.Slice((**C.dl_text)(unsafe.Pointer(p)), int(n)) {
		out = append(out, text(s))
	}
	return out, nil
}

//export dlgo_dataset_rechunk
func dlgo_dataset_rechunk(c C.dl_context, h C.dl_dataset, tensors *C.dl_texts, n, chunkBytes C.int64_t, all C.int32_t, message *C.dl_text, report *C.dl_rechunk_report, commit *C.dl_buffer, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		if err := wantOut("rechunk", report != nil && commit != nil); err != nil {
			return err
		}
		names, err := textsOf("tensors", tensors, n)
		if err != nil {
			return err
		}
		r, err := ds.Rechunk(ctx, dataset.RechunkOptions{Tensors: names, ChunkBytes: int64(chunkBytes), All: all != 0, Message: text(message)})
		if err != nil {
			return err
		}
		*report = C.dl_rechunk_report{rows: C.int64_t(r.Rows), bytes: C.int64_t(r.Bytes), before: C.int64_t(r.Before), after: C.int64_t(r.After)}
		return fillJSON(commit, r.Commit)
	})
}

//export dlgo_dataset_gc
func dlgo_dataset_gc(c C.dl_context, h C.dl_dataset, olderThan, expire *C.dl_const_f64, keepLast *C.dl_const_i64, dryRun C.int32_t, report *C.dl_gc_report, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		if err := wantOut("gc", report != nil); err != nil {
			return err
		}
		o, err := gcOptions(olderThan, expire, keepLast)
		if err != nil {
			return err
		}
		o.DryRun = dryRun != 0
		r, err := ds.Versions().GC(ctx, o)
		if err != nil {
			return err
		}
		*report = C.dl_gc_report{
			objects: C.int64_t(r.Objects), bytes: C.int64_t(r.Bytes), temp_files: C.int64_t(r.TempFiles), temp_bytes: C.int64_t(r.TempBytes),
			young: C.int64_t(r.Young), young_bytes: C.int64_t(r.YoungSize), expired: C.int64_t(r.Expired), commits: C.int64_t(r.Commits),
			kept: C.int64_t(r.Kept), kept_bytes: C.int64_t(r.KeptBytes),
		}
		return nil
	})
}

// gcOptions reads ages in seconds and the number of versions to keep; each may be NULL.
func gcOptions(olderThan, expire *C.dl_const_f64, keepLast *C.dl_const_i64) (maintain.GCOptions, error) {
	o := maintain.GCOptions{OlderThan: version.GCGrace}
	var err error
	if olderThan != nil {
		if o.OlderThan, err = seconds("gc", "older_than", float64(*olderThan)); err != nil {
			return o, err
		}
	}
	if keepLast != nil && (*keepLast < 1 || *keepLast > math.MaxInt32 || expire == nil) {
		return o, errs.Op("gc", "").New(errs.Invalid, "keep_last is %d, want 1 or more, and expire with it", int64(*keepLast))
	}
	if expire != nil {
		o.Expire = &maintain.Retention{}
		if o.Expire.Age, err = seconds("gc", "expire", float64(*expire)); err != nil {
			return o, err
		}
		if keepLast != nil {
			o.Expire.Last = int(*keepLast)
		}
	}
	return o, nil
}

func seconds(op, name string, n float64) (time.Duration, error) {
	if !(n >= 0 && n < math.MaxInt64/1e9) {
		return 0, errs.Op(op, "").New(errs.Invalid, "%s is %g seconds, want 0 or more", name, n)
	}
	return time.Duration(n * float64(time.Second)), nil
}

//export dlgo_dataset_fsck
func dlgo_dataset_fsck(c C.dl_context, h C.dl_dataset, data, repair C.int32_t, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return tell("fsck", c, h, out, e, func(ctx context.Context, ds *dataset.Dataset) (any, error) {
		return ds.Versions().Fsck(ctx, maintain.FsckOptions{MapsOnly: data == 0, Repair: repair != 0})
	})
}

//export dlgo_dataset_progress
func dlgo_dataset_progress(h C.dl_dataset, out *C.dl_progress, e *C.dl_error) C.dl_status {
	return onDataset(C.dl_context{}, h, e, func(_ context.Context, ds *dataset.Dataset) error {
		if err := wantOut("progress", out != nil); err != nil {
			return err
		}
		p := ds.Versions().Progress()
		*out = C.dl_progress{
			items: C.int64_t(p.Items.Load()), bytes: C.int64_t(p.Bytes.Load()),
			total_items: C.int64_t(p.TotalItems.Load()), total_bytes: C.int64_t(p.TotalBytes.Load()),
		}
		return nil
	})
}

func copyReport(r maintain.CopyReport) C.dl_copy_report {
	return C.dl_copy_report{
		objects: C.int64_t(r.Objects), bytes: C.int64_t(r.Bytes), skipped: C.int64_t(r.Skipped), server: C.int64_t(r.Server),
		commits: C.int64_t(r.Commits),
	}
}

//export dlgo_dataset_copy_to
func dlgo_dataset_copy_to(c C.dl_context, h C.dl_dataset, uri *C.dl_text, history C.int32_t, message, to *C.dl_text, report *C.dl_copy_report, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		if err := wantOut("copy", report != nil); err != nil {
			return err
		}
		place, err := reach("copy", text(to))
		if err != nil {
			return err
		}
		r, err := ds.Versions().Copy(ctx, text(uri), place, maintain.CopyOptions{History: history != 0, Message: text(message)})
		if err != nil {
			return err
		}
		*report = copyReport(r)
		return nil
	})
}

//export dlgo_dataset_copy
func dlgo_dataset_copy(c C.dl_context, src, dst, options *C.dl_text, report *C.dl_copy_report, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		var o struct {
			History bool      `json:"history"`
			Branch  string    `json:"branch"`
			At      string    `json:"at"`
			Message string    `json:"message"`
			From    reaching  `json:"from"`
			To      *reaching `json:"to"` // nil: as storage.LinkPolicy.Named says
		}
		if err := parse("copy", text(options), &o); err != nil {
			return err
		}
		if err := wantOut("copy", report != nil); err != nil {
			return err
		}
		from, err := o.From.options()
		if err != nil {
			return err
		}
		to := storage.NewLinkPolicy(text(src), from).Named(text(dst))
		if o.To != nil {
			if to, err = o.To.options(); err != nil {
				return err
			}
		}
		ctx, err := contextOf(c)
		if err != nil {
			return err
		}
		r, err := dataset.Copy(ctx, lib.env, text(src), text(dst), dataset.CopyOptions{
			CopyOptions: maintain.CopyOptions{History: o.History, Message: o.Message}, At: o.At,
			From: dataset.OpenOptions{Branch: o.Branch, Storage: from}, To: dataset.OpenOptions{Storage: to},
		})
		if err != nil {
			return err
		}
		*report = copyReport(r)
		return nil
	})
}
