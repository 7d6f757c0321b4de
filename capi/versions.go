package main

/*
#include "go.h"
*/
import "C"

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"strings"
	"sync"
	"time"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/version"
)

// tell runs body with a dataset and hands the answer to the caller as JSON.
func tell(op string, c C.dl_context, h C.dl_dataset, out *C.dl_buffer, e *C.dl_error, body func(ctx context.Context, ds *dataset.Dataset) (any, error)) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		if err := wantOut(op, out != nil); err != nil {
			return err
		}
		answer, err := body(ctx, ds)
		if err != nil {
			return err
		}
		return fillJSON(out, answer)
	})
}

//export dlgo_dataset_branches
func dlgo_dataset_branches(c C.dl_context, h C.dl_dataset, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return tell("list branches", c, h, out, e, func(ctx context.Context, ds *dataset.Dataset) (any, error) {
		return ds.Versions().Branches(ctx)
	})
}

//export dlgo_dataset_create_branch
func dlgo_dataset_create_branch(c C.dl_context, h C.dl_dataset, name, at *C.dl_text, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		return ds.Versions().CreateBranch(ctx, text(name), text(at))
	})
}

//export dlgo_dataset_delete_branch
func dlgo_dataset_delete_branch(c C.dl_context, h C.dl_dataset, name *C.dl_text, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		return ds.Versions().DeleteBranch(ctx, text(name))
	})
}

//export dlgo_dataset_checkout
func dlgo_dataset_checkout(c C.dl_context, h C.dl_dataset, branch *C.dl_text, create C.int32_t, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		return ds.Checkout(ctx, text(branch), create != 0)
	})
}

//export dlgo_dataset_tags
func dlgo_dataset_tags(c C.dl_context, h C.dl_dataset, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return tell("list tags", c, h, out, e, func(ctx context.Context, ds *dataset.Dataset) (any, error) {
		return ds.Versions().Tags(ctx)
	})
}

//export dlgo_dataset_create_tag
func dlgo_dataset_create_tag(c C.dl_context, h C.dl_dataset, name, at, message *C.dl_text, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return tell("create tag", c, h, out, e, func(ctx context.Context, ds *dataset.Dataset) (any, error) {
		return ds.Versions().CreateTag(ctx, text(name), text(at), text(message))
	})
}

//export dlgo_dataset_delete_tag
func dlgo_dataset_delete_tag(c C.dl_context, h C.dl_dataset, name *C.dl_text, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		return ds.Versions().DeleteTag(ctx, text(name))
	})
}

//export dlgo_dataset_graph
func dlgo_dataset_graph(c C.dl_context, h C.dl_dataset, limit C.int64_t, all C.int32_t, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return tell("log", c, h, out, e, func(ctx context.Context, ds *dataset.Dataset) (any, error) {
		if limit < 0 || limit > 1<<31-1 {
			return nil, errs.Op("log", "").New(errs.Invalid, "limit is %d, want 0 (all) or more", int64(limit))
		}
		return ds.Versions().Graph(ctx, int(limit), all != 0)
	})
}

//export dlgo_dataset_diff
func dlgo_dataset_diff(c C.dl_context, h C.dl_dataset, a, b *C.dl_text, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return tell("diff", c, h, out, e, func(ctx context.Context, ds *dataset.Dataset) (any, error) {
		d, err := ds.Versions().Diff(ctx, text(a), text(b))
		if err != nil {
			return nil, err
		}
		d.Tensors = append([]version.TensorDiff{}, d.Tensors...) // a list, also of none
		return d, nil
	})
}

//export dlgo_dataset_history
func dlgo_dataset_history(c C.dl_context, h C.dl_dataset, row, limit C.int64_t, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return tell("history", c, h, out, e, func(ctx context.Context, ds *dataset.Dataset) (any, error) {
		if limit < 0 || limit > 1<<31-1 {
			return nil, errs.Op("history", "").New(errs.Invalid, "limit is %d, want 0 (all) or more", int64(limit))
		}
		return ds.Versions().History(ctx, int64(row), int(limit))
	})
}

//export dlgo_dataset_row_names
func dlgo_dataset_row_names(c C.dl_context, h C.dl_dataset, rows *C.dl_const_i64, n C.int64_t, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return tell("name rows", c, h, out, e, func(ctx context.Context, ds *dataset.Dataset) (any, error) {
		list, err := numbers("rows", rows, n)
		if err != nil {
			return nil, err
		}
		return ds.Versions().RowNames(ctx, list)
	})
}

//export dlgo_dataset_merge
func dlgo_dataset_merge(c C.dl_context, h C.dl_dataset, ref, onConflict, message *C.dl_text, merged *C.int32_t, commit *C.dl_buffer, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		if err := wantOut("merge", merged != nil && commit != nil); err != nil {
			return err
		}
		on, err := version.StrategyOf("merge", text(onConflict))
		if err != nil {
			return err
		}
		made, took, err := ds.Merge(ctx, text(ref), on, text(message))
		if err != nil {
			return err
		}
		*merged = flag(took)
		return fillJSON(commit, made)
	})
}

// lay runs an operation that may make a version, and hands over the commit.
func lay(op string, c C.dl_context, h C.dl_dataset, done *C.int32_t, commit *C.dl_buffer, e *C.dl_error, body func(ctx context.Context, v dataset.Versions) (version.Committed, bool, error)) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		if err := wantOut(op, done != nil && commit != nil); err != nil {
			return err
		}
		made, did, err := body(ctx, ds.Versions())
		if err != nil {
			return err
		}
		*done = flag(did)
		return fillJSON(commit, made)
	})
}

//export dlgo_dataset_restore
func dlgo_dataset_restore(c C.dl_context, h C.dl_dataset, ref, message *C.dl_text, restored *C.int32_t, commit *C.dl_buffer, e *C.dl_error) C.dl_status {
	return lay("restore", c, h, restored, commit, e, func(ctx context.Context, v dataset.Versions) (version.Committed, bool, error) {
		return v.Restore(ctx, text(ref), text(message))
	})
}

//export dlgo_dataset_revert
func dlgo_dataset_revert(c C.dl_context, h C.dl_dataset, ref, onConflict, message *C.dl_text, reverted *C.int32_t, commit *C.dl_buffer, e *C.dl_error) C.dl_status {
	return lay("revert", c, h, reverted, commit, e, func(ctx context.Context, v dataset.Versions) (version.Committed, bool, error) {
		on, err := version.StrategyOf("revert", text(onConflict))
		if err != nil {
			return version.Committed{}, false, err
		}
		return v.Revert(ctx, text(ref), on, text(message))
	})
}

//export dlgo_dataset_rename_tensor
func dlgo_dataset_rename_tensor(c C.dl_context, h C.dl_dataset, from, to *C.dl_text, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		return ds.RenameTensor(ctx, text(from), text(to))
	})
}

//export dlgo_dataset_change_classes
func dlgo_dataset_change_classes(c C.dl_context, h C.dl_dataset, name, change *C.dl_text, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		var o struct {
			Rename string   `json:"rename"`
			Merge  []string `json:"merge"`
			Remove string   `json:"remove"`
			Into   string   `json:"into"`
			Add    []string `json:"add"`
		}
		if err := parse("change classes", text(change), &o); err != nil {
			return err
		}
		classes := dataset.ClassesOf(ds, text(name))
		switch {
		case o.Add != nil && o.Rename+o.Remove+o.Into == "" && o.Merge == nil:
			return classes.Add(ctx, o.Add)
		case o.Add != nil:
		case o.Merge != nil && o.Rename+o.Remove == "":
			return classes.Merge(ctx, o.Merge, o.Into)
		case o.Rename != "" && o.Remove == "" && o.Merge == nil:
			return classes.Rename(ctx, o.Rename, o.Into)
		case o.Remove != "" && o.Rename+o.Into == "" && o.Merge == nil:
			return classes.Remove(ctx, o.Remove)
		}
		return errs.Op("change classes of tensor", text(name)).New(errs.Invalid, `the change is %s, want one of "rename" and "merge", with "into", "remove" or "add"`, text(change))
	})
}

//export dlgo_dataset_delete_tensor
func dlgo_dataset_delete_tensor(c C.dl_context, h C.dl_dataset, name *C.dl_text, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		return ds.DeleteTensor(ctx, text(name))
	})
}

//export dlgo_dataset_views
func dlgo_dataset_views(c C.dl_context, h C.dl_dataset, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return tell("list views", c, h, out, e, func(ctx context.Context, ds *dataset.Dataset) (any, error) {
		return ds.Versions().Views(ctx)
	})
}

//export dlgo_dataset_delete_view
func dlgo_dataset_delete_view(c C.dl_context, h C.dl_dataset, name *C.dl_text, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		return ds.Versions().DeleteView(ctx, text(name))
	})
}

// gitPatience bounds the wait for git, which may lie on a network disk.
const gitPatience = 2 * time.Second

// author names the user in commits, tags and views: DEEPLAKE_AUTHOR, else the name and address in
// the configuration of git, else the account.
var author = sync.OnceValue(func() string { return authorOf(os.Getenv, gitSetting) })

func authorOf(getenv, git func(name string) string) string {
	if name := strings.TrimSpace(getenv("DEEPLAKE_AUTHOR")); name != "" {
		return name
	}
	name, address := git("user.name"), git("user.email")
	switch {
	case name != "" && address != "":
		return name + " <" + address + ">"
	case name != "" || address != "":
		return name + address
	}
	if name := getenv("USER"); name != "" {
		return name
	}
	if account, err := user.Current(); err == nil {
		return account.Username
	}
	return ""
}

// gitSetting returns a setting of git for the current folder; "" without git. It reads settings
// only, and asks for nothing.
func gitSetting(name string) string {
	ctx, cancel := context.WithTimeout(context.Background(), gitPatience)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", "config", "--get", name).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

//export dlgo_dataset_commit_once
func dlgo_dataset_commit_once(c C.dl_context, h C.dl_dataset, message, key *C.dl_text, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return tell("commit", c, h, out, e, func(ctx context.Context, ds *dataset.Dataset) (any, error) {
		return dataset.CommitOnce(ctx, ds, text(message), text(key))
	})
}

//export dlgo_dataset_begin_write
func dlgo_dataset_begin_write(c C.dl_context, h C.dl_dataset, lease *C.dl_const_f64, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		if err := wantOut("begin distributed write", out != nil); err != nil {
			return err
		}
		within := dataset.DefaultLease
		if lease != nil {
			var err error
			if within, err = seconds("begin distributed write", "lease", float64(*lease)); err != nil {
				return err
			}
		}
		token, err := dataset.WritesTo(ds).Begin(ctx, within)
		if err == nil {
			err = fill(out, token)
		}
		return err
	})
}

//export dlgo_dataset_end_write
func dlgo_dataset_end_write(c C.dl_context, h C.dl_dataset, token *C.dl_text, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		return dataset.WritesTo(ds).End(ctx, []byte(text(token)))
	})
}

//export dlgo_task_open
func dlgo_task_open(c C.dl_context, uri, token, key, options *C.dl_text, out *C.dl_dataset, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		place, err := reach("open task", text(options))
		if err != nil {
			return err
		}
		if err := wantOut("open task", out != nil); err != nil {
			return err
		}
		ctx, err := contextOf(c)
		if err != nil {
			return err
		}
		ds, err := dataset.OpenTask(ctx, lib.env, text(uri), []byte(text(token)), text(key), place)
		if err != nil {
			return err
		}
		out.id = C.uint64_t(lib.datasets.put(ds))
		return nil
	})
}

//export dlgo_dataset_fragment
func dlgo_dataset_fragment(c C.dl_context, h C.dl_dataset, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return onDataset(c, h, e, func(ctx context.Context, ds *dataset.Dataset) error {
		if err := wantOut("make fragment", out != nil); err != nil {
			return err
		}
		fragment, err := dataset.FragmentOf(ctx, ds)
		if err == nil {
			err = fill(out, fragment)
		}
		return err
	})
}

//export dlgo_dataset_commit_fragments
func dlgo_dataset_commit_fragments(c C.dl_context, h C.dl_dataset, token *C.dl_text, fragments *C.dl_texts, n C.int64_t, options *C.dl_text, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return tell("commit fragments", c, h, out, e, func(ctx context.Context, ds *dataset.Dataset) (any, error) {
		var o dataset.CommitFragmentsOptions
		if err := parse("commit fragments", text(options), &o); err != nil {
			return nil, err
		}
		texts, err := textsOf("fragments", fragments, n)
		if err != nil {
			return nil, err
		}
		parts := make([][]byte, len(texts))
		for i, one := range texts {
			parts[i] = []byte(one)
		}
		return dataset.WritesTo(ds).Commit(ctx, []byte(text(token)), parts, o)
	})
}

//export dlgo_dataset_rechunk_rows
func dlgo_dataset_rechunk_rows(c C.dl_context, h C.dl_dataset, options *C.dl_text, report *C.dl_buffer, e *C.dl_error) C.dl_status {
	return tell("rechunk", c, h, report, e, func(ctx context.Context, ds *dataset.Dataset) (any, error) {
		var o dataset.RechunkOptions
		if err := parse("rechunk", text(options), &o); err != nil {
			return nil, err
		}
		return ds.Rechunk(ctx, o)
	})
}
