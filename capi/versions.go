package main

/*
#include "go.h"
*/
import "C"

import (
	"context"
	"math"
	"slices"
	"time"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/version"
)

// operation is an operation on a dataset. Its options and its result are JSON.
type operation func(ctx context.Context, ds *dataset.Dataset, options string) (any, error)

// withOptions makes an operation from a function whose options are a struct.
func withOptions[O any](name string, body func(ctx context.Context, ds *dataset.Dataset, o O) (any, error)) operation {
	return func(ctx context.Context, ds *dataset.Dataset, options string) (any, error) {
		var o O
		if err := parse(name, options, &o); err != nil {
			return nil, err
		}
		return body(ctx, ds, o)
	}
}

// none are the options of an operation without any.
type none struct{}

type named struct {
	Name string `json:"name"`
}

// operationOf finds an operation by its name.
func operationOf(name string) (operation, error) {
	switch name {
	case "branches":
		return withOptions("list branches", func(ctx context.Context, ds *dataset.Dataset, _ none) (any, error) {
			return ds.Versions().Branches(ctx)
		}), nil
	case "create_branch":
		return withOptions("create branch", createBranch), nil
	case "delete_branch":
		return withOptions("delete branch", func(ctx context.Context, ds *dataset.Dataset, o named) (any, error) {
			return nil, ds.Versions().DeleteBranch(ctx, o.Name)
		}), nil
	case "checkout":
		return withOptions("checkout", checkout), nil
	case "tags":
		return withOptions("list tags", func(ctx context.Context, ds *dataset.Dataset, _ none) (any, error) { return ds.Versions().Tags(ctx) }), nil
	case "create_tag":
		return withOptions("create tag", createTag), nil
	case "delete_tag":
		return withOptions("delete tag", func(ctx context.Context, ds *dataset.Dataset, o named) (any, error) {
			return nil, ds.Versions().DeleteTag(ctx, o.Name)
		}), nil
	case "graph":
		return withOptions("log", graph), nil
	case "diff":
		return withOptions("diff", diff), nil
	case "merge":
		return withOptions("merge", merge), nil
	case "rename_tensor":
		return withOptions("rename tensor", renameTensor), nil
	case "delete_tensor":
		return withOptions("delete tensor", func(ctx context.Context, ds *dataset.Dataset, o named) (any, error) {
			return nil, ds.DeleteTensor(ctx, o.Name)
		}), nil
	case "rechunk":
		return withOptions("rechunk", func(ctx context.Context, ds *dataset.Dataset, o dataset.RechunkOptions) (any, error) {
			return ds.Rechunk(ctx, o)
		}), nil
	case "gc":
		return withOptions("gc", gc), nil
	case "fsck":
		return withOptions("fsck", fsck), nil
	case "copy":
		return withOptions("copy", copyTo), nil
	case "progress":
		return withOptions("progress", progress), nil
	case "views":
		return withOptions("list views", func(ctx context.Context, ds *dataset.Dataset, _ none) (any, error) { return ds.Versions().Views(ctx) }), nil
	case "delete_view":
		return withOptions("delete view", func(ctx context.Context, ds *dataset.Dataset, o named) (any, error) {
			return nil, ds.Versions().DeleteView(ctx, o.Name)
		}), nil
	}
	all := []string{
		"branches", "checkout", "copy", "create_branch", "create_tag", "delete_branch", "delete_tag", "delete_tensor", "delete_view", "diff", "fsck",
		"gc", "graph", "merge", "progress", "rechunk", "rename_tensor", "tags", "views",
	}
	return nil, errs.New(errs.Invalid, "run %q: no such operation (want one of %q)%s", name, all, errs.Suggest(name, all))
}

func createBranch(ctx context.Context, ds *dataset.Dataset, o struct {
	Name string `json:"name"`
	At   string `json:"at"`
}) (any, error) {
	return nil, ds.Versions().CreateBranch(ctx, o.Name, o.At)
}

func checkout(ctx context.Context, ds *dataset.Dataset, o struct {
	Name   string `json:"name"`
	Create bool   `json:"create"`
}) (any, error) {
	return nil, ds.Checkout(ctx, o.Name, o.Create)
}

func createTag(ctx context.Context, ds *dataset.Dataset, o struct {
	Name    string `json:"name"`
	At      string `json:"at"`
	Message string `json:"message"`
}) (any, error) {
	return ds.Versions().CreateTag(ctx, o.Name, o.At, o.Message)
}

func graph(ctx context.Context, ds *dataset.Dataset, o struct {
	Limit int  `json:"limit"`
	All   bool `json:"all"`
}) (any, error) {
	return ds.Versions().Graph(ctx, o.Limit, o.All)
}

func diff(ctx context.Context, ds *dataset.Dataset, o struct {
	A string `json:"a"`
	B string `json:"b"`
}) (any, error) {
	d, err := ds.Versions().Diff(ctx, o.A, o.B)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"a": d.A, "b": d.B, "base": d.Base, "added": d.Added, "deleted": d.Deleted, "info": d.Info, "tensors": append([]version.TensorDiff{}, d.Tensors...),
	}, nil
}

func merge(ctx context.Context, ds *dataset.Dataset, o struct {
	Ref        string `json:"ref"`
	OnConflict string `json:"on_conflict"`
	Message    string `json:"message"`
}) (any, error) {
	on := version.Strategy(o.OnConflict)
	if on == "" {
		on = version.OnConflictError
	}
	if known := []version.Strategy{version.OnConflictError, version.OnConflictOurs, version.OnConflictTheirs}; !slices.Contains(known, on) {
		return nil, errs.New(errs.Invalid, "merge: on_conflict is %q, want one of %q", on, known)
	}
	c, merged, err := ds.Merge(ctx, o.Ref, on, o.Message)
	return map[string]any{"commit": c, "merged": merged}, err
}

func renameTensor(ctx context.Context, ds *dataset.Dataset, o struct {
	Old string `json:"old"`
	New string `json:"new"`
}) (any, error) {
	return nil, ds.RenameTensor(ctx, o.Old, o.New)
}

func gc(ctx context.Context, ds *dataset.Dataset, o struct {
	OlderThan *float64 `json:"older_than"` // seconds
	Expire    *float64 `json:"expire"`     // seconds; null: expire nothing
	KeepLast  *int     `json:"keep_last"`
	DryRun    bool     `json:"dry_run"`
}) (any, error) {
	opt := version.GCOptions{OlderThan: version.GCGrace, DryRun: o.DryRun}
	var err error
	if o.OlderThan != nil {
		if opt.OlderThan, err = seconds("older_than", *o.OlderThan); err != nil {
			return nil, err
		}
	}
	if o.KeepLast != nil && (*o.KeepLast < 1 || o.Expire == nil) {
		return nil, errs.New(errs.Invalid, "gc: keep_last is %d, want 1 or more, and expire with it", *o.KeepLast)
	}
	if o.Expire != nil {
		opt.Expire = &version.Retention{}
		if opt.Expire.Age, err = seconds("expire", *o.Expire); err != nil {
			return nil, err
		}
		if o.KeepLast != nil {
			opt.Expire.Last = *o.KeepLast
		}
	}
	return ds.Versions().GC(ctx, opt)
}

func seconds(name string, n float64) (time.Duration, error) {
	if !(n >= 0 && n < math.MaxInt64/1e9) {
		return 0, errs.New(errs.Invalid, "gc: %s is %g seconds, want 0 or more", name, n)
	}
	return time.Duration(n * float64(time.Second)), nil
}

func fsck(ctx context.Context, ds *dataset.Dataset, o struct {
	Data   *bool `json:"data"` // default: true
	Repair bool  `json:"repair"`
}) (any, error) {
	return ds.Versions().Fsck(ctx, version.FsckOptions{MapsOnly: o.Data != nil && !*o.Data, Repair: o.Repair})
}

func copyTo(ctx context.Context, ds *dataset.Dataset, o struct {
	URI     string   `json:"uri"`
	History bool     `json:"history"`
	Message string   `json:"message"`
	To      reaching `json:"to"`
}) (any, error) {
	to, err := o.To.options()
	if err != nil {
		return nil, err
	}
	return ds.Versions().Copy(ctx, o.URI, to, version.CopyOptions{History: o.History, Message: o.Message})
}

func progress(_ context.Context, ds *dataset.Dataset, _ none) (any, error) {
	p := ds.Versions().Progress()
	return map[string]int64{
		"items": p.Items.Load(), "bytes": p.Bytes.Load(), "total_items": p.TotalItems.Load(), "total_bytes": p.TotalBytes.Load(),
	}, nil
}

//export dlgo_dataset_run
func dlgo_dataset_run(c C.dl_context, h C.dl_dataset, name, options *C.dl_text, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		if err := wantOut("run", out != nil); err != nil {
			return err
		}
		run, err := operationOf(text(name))
		if err != nil {
			return err
		}
		answer, err := run(ctx, ds, text(options))
		if err != nil {
			return err
		}
		return fillJSON(out, answer)
	})
}

//export dlgo_dataset_copy
func dlgo_dataset_copy(c C.dl_context, src, dst, options *C.dl_text, out *C.dl_buffer, e *C.dl_error) C.dl_status {
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
		if err := wantOut("copy", out != nil); err != nil {
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
		report, err := dataset.Copy(ctx, lib.env, text(src), text(dst), dataset.CopyOptions{
			CopyOptions: version.CopyOptions{History: o.History, Message: o.Message}, At: o.At,
			From: dataset.OpenOptions{Branch: o.Branch, Storage: from}, To: dataset.OpenOptions{Storage: to},
		})
		if err != nil {
			return err
		}
		return fillJSON(out, report)
	})
}
