package ingest

import (
	"context"
	"path"
	"slices"
	"strings"

	"deeplake/core/codec"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/ingest/annotations"
	"deeplake/core/ingest/table"
	"deeplake/core/internal/job"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

// The formats of a source that are not those of a single kind of table.
const (
	Images = "images"
	Table  = "table" // of any format
)

// ofTable reports whether the source has tables.
func (o Options) ofTable(source string) bool {
	if o.Format == Images || slices.Contains(annotations.Formats(), o.Format) {
		return false
	}
	return o.Format != "" || table.Named(plainPath(source))
}

// plainPath is a URI without its query.
func plainPath(uri string) string {
	for i := range uri {
		if uri[i] == '?' || uri[i] == '#' {
			return uri[:i]
		}
	}
	return uri
}

// checkTable checks the options of an import of tables.
func (o Options) checkTable(source string) error {
	op := errs.Op("import from", storage.RedactURL(source))
	if o.OnError != "" && o.OnError != LeaveOut && o.OnError != Raise {
		return op.New(errs.Invalid, "on_error is %q, want %s or %s for tables", o.OnError, LeaveOut, Raise)
	}
	if o.Checkpoint < 0 {
		return op.New(errs.Invalid, "checkpoint is %d, want 1 or more", o.Checkpoint)
	}
	fetches := len(o.URLs) > 0 // images, which may be brought to one size
	if o.Size < 0 || o.Size > maxFitSide {
		return op.New(errs.Invalid, "size is %d, want 1 to %d, or 0 to leave images as they are", o.Size, maxFitSide)
	}
	for name, given := range map[string]bool{
		"follow_links": o.FollowLinks, "apply_exif_orientation": o.Upright && o.Size == 0, "classes": o.Classes != nil, "labels": o.labels() != "auto",
		"splits": o.splits() != "auto", "annotations": o.Annotations != "", "masks": o.Masks, "compression": o.Compression != "" && o.Compression != "auto", "size": o.Size != 0 && !fetches,
	} {
		if given {
			return op.New(errs.Invalid, "%s is for images, and the source has a table; leave it out, or give format=%q", name, Images)
		}
	}
	return nil
}

// startTable begins to fill the dataset at uri with tables.
func startTable(env *dataset.Env, uri, source string, o Options) (*Job, error) {
	if err := o.checkTable(source); err != nil {
		return nil, err
	}
	j := &Job{job.New[Progress]()}
	j.run(func(ctx context.Context) (*Report, error) { return j.table(ctx, env, uri, source, o) })
	return j, nil
}

// table fills the dataset at uri with tables.
func (j *Job) table(ctx context.Context, env *dataset.Env, uri, source string, o Options) (*Report, error) {
	if err := o.checkTable(source); err != nil {
		return nil, err
	}
	if o.Overwrite && strings.HasPrefix(resolved(source), resolved(uri)+"/") {
		return nil, errs.Op("import from", source).New(errs.Invalid, "it lies inside %q, which would be replaced; choose another place for the dataset", uri)
	}
	to := table.Options{
		Columns: o.Columns, Schema: o.Schema, Format: o.Format, Overwrite: o.Overwrite, LeaveOut: o.OnError == LeaveOut,
		URLs: o.URLs, FailOnURL: o.OnError == Raise, Link: o.Link, Checkpoint: o.Checkpoint, Once: o.Once, Message: o.Message, Storage: o.Storage, Source: o.Source,
	}
	if o.Format == Table {
		to.Format = ""
	}
	if o.Size > 0 {
		f, err := newFit(env.Codecs, o.Size, o.form(codec.RGB))
		if err != nil {
			return nil, err
		}
		defer f.close()
		n := int64(o.Size)
		to.Fit = &table.Fit{Apply: f.apply, Tensor: dataset.TensorSpec{
			HType: "image.rgb", Compression: "jpeg", Quality: convertQuality, Shape: tensor.Shape{n, n, 3},
		}}
	}
	r, err := table.Run(ctx, env.For(o.Storage.Settings), uri, source, to, func(now table.Progress) {
		j.Update(func(p *Progress) { p.Progress = now })
	})
	if r == nil {
		return nil, err
	}
	return &Report{Report: *r}, err
}

// hasTables reports whether names at the beginning of the listing are of tables, and none is of an
// image or an archive: folders of images have tables about them.
func (l *source) hasTables(ctx context.Context) (bool, error) {
	if _, listed := l.Source.(*list); listed {
		return false, nil
	}
	tables, images, seen := 0, 0, 0
	err := l.Source.Objects(ctx, "", "", func(e storage.Entry) bool {
		seen++
		if _, isImage := l.codecs.ByExtension(path.Ext(e.Key)); isImage || isArchive(e.Key) {
			images++
		} else if table.Named(e.Key) {
			tables++
		}
		return images == 0 && seen < probedObjects
	})
	return tables > 0 && images == 0, err
}
