package ingest

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"deeplake/core/codec"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/ingest/annotations"
	"deeplake/core/ingest/episodes"
	"deeplake/core/ingest/table"
	"deeplake/core/internal/job"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

// The formats of a source that are not those of a single kind of table.
const (
	Images = "images"
	Videos = "videos"
	Table  = "table" // of any format
)

// ofTable reports whether the source has tables.
func (o Options) ofTable(source string) bool {
	if o.Format == Images || o.Format == Videos || slices.Contains(annotations.Formats(), o.Format) {
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

// refuseEpisodes refuses the option for episodes: the source is not of LeRobot.
func (o Options) refuseEpisodes(source string) error {
	if o.Episodes == nil {
		return nil
	}
	why := "the source is no dataset of it; leave episodes out"
	if o.Format != "" {
		why = fmt.Sprintf("format is %q; leave one of them out", o.Format)
	}
	return errs.Op("import from", storage.RedactURL(source)).New(errs.Invalid, "episodes are of LeRobot, and %s", why)
}

// checkTable checks the options of an import of tables.
func (o Options) checkTable(source string) error {
	if err := o.refuseEpisodes(source); err != nil {
		return err
	}
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
		Columns: o.Columns, Schema: o.Schema, Format: o.Format, Separator: o.Separator, Overwrite: o.Overwrite, LeaveOut: o.OnError == LeaveOut,
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
// image, a video or an archive: folders of images have tables about them.
func (l *source) hasTables(ctx context.Context) (bool, error) {
	if _, listed := l.Source.(*list); listed {
		return false, nil
	}
	tables, others, seen := 0, 0, 0
	err := l.Source.Objects(ctx, "", "", func(e storage.Entry) bool {
		seen++
		if l.way = l.wayOf(e.Key); l.way != "" {
			return false
		}
		if _, isImage := l.codecs.ByExtension(path.Ext(e.Key)); isImage || isArchive(e.Key) || l.isVideo(e.Key) {
			others++
		} else if table.Named(e.Key) {
			tables++
		}
		return others == 0 && seen < probedObjects
	})
	if err == nil && l.way != "" {
		err = errs.New(errs.Invalid, "%s", l.way)
	}
	return tables > 0 && others == 0, err
}

// isOfEpisodes reports whether the source is a dataset of LeRobot.
func (l *source) isOfEpisodes(ctx context.Context) (bool, error) {
	if _, listed := l.Source.(*list); listed {
		return false, nil // give the format
	}
	return episodes.Is(ctx, l.Source)
}

// checkEpisodes checks the options of an import of episodes.
func (o Options) checkEpisodes(source string) error {
	op := errs.Op("import from", storage.RedactURL(source))
	if o.OnError != "" && o.OnError != LeaveOut && o.OnError != Raise {
		return op.New(errs.Invalid, "on_error is %q, want %s or %s for episodes", o.OnError, LeaveOut, Raise)
	}
	if o.Checkpoint < 0 || o.Workers < 0 {
		return op.New(errs.Invalid, "checkpoint is %d and workers %d, want 1 or more", o.Checkpoint, o.Workers)
	}
	for _, option := range []struct {
		name  string
		given bool
	}{
		{"schema", len(o.Schema) > 0}, {"separator", o.Separator != ""}, {"urls", len(o.URLs) > 0}, {"apply_exif_orientation", o.Upright}, {"classes", o.Classes != nil}, {"labels", o.labels() != "auto"},
		{"splits", o.splits() != "auto"}, {"annotations", o.Annotations != ""}, {"masks", o.Masks}, {"compression", o.Compression != "" && o.Compression != "auto"}, {"size", o.Size != 0},
	} {
		if option.given {
			return op.New(errs.Invalid, "%s is not for episodes, and the source is a dataset of LeRobot; leave it out", option.name)
		}
	}
	if o.Link && strings.HasPrefix(source, "hf://") {
		return op.New(errs.Unsupported, "links into a repository of Hugging Face cannot be read; leave out --link (link=True) to copy its videos")
	}
	return nil
}

// startEpisodes begins to fill the dataset at uri with episodes.
func startEpisodes(env *dataset.Env, uri, source string, o Options) (*Job, error) {
	if err := o.checkEpisodes(source); err != nil {
		return nil, err
	}
	j := &Job{job.New[Progress]()}
	j.run(func(ctx context.Context) (*Report, error) {
		return j.episodes(ctx, env.For(o.Storage.Settings), uri, source, o)
	})
	return j, nil
}

// episodes fills the dataset at uri with the episodes of a dataset of LeRobot.
func (j *Job) episodes(ctx context.Context, env *dataset.Env, uri, source string, o Options) (*Report, error) {
	if err := o.checkEpisodes(source); err != nil {
		return nil, err
	}
	to, from := resolved(uri), resolved(source)
	if to == from || o.Overwrite && strings.HasPrefix(from, to+"/") {
		return nil, errs.Op("import from", storage.RedactURL(source)).New(errs.Invalid, "the dataset would lie in its place, or around it; choose another place for the dataset")
	}
	scheme, _, _ := strings.Cut(source, "://")
	isWeb := scheme == "http" || scheme == "https"
	if isWeb {
		source = strings.TrimSuffix(source, "/") + "/"
	}
	how := storage.NewLinkPolicy(uri, o.Storage).Named(source)
	if o.Source != nil {
		how = *o.Source
	}
	how.FollowLinks = o.FollowLinks
	lake, err := env.Sources.Open(ctx, source, how)
	if err != nil {
		return nil, errs.Wrap(errs.Storage, "import from", storage.RedactURL(source), err)
	}
	defer func() { _ = lake.Close() }()
	r, err := episodes.Run(ctx, env, uri, lake, episodes.Options{
		Columns: o.Columns, Episodes: o.Episodes, Link: o.Link, Overwrite: o.Overwrite, Raise: o.OnError == Raise, Workers: o.Workers,
		Checkpoint: o.Checkpoint, Once: o.Once, Message: o.Message, Storage: o.Storage, Web: isWeb,
	}, func(now episodes.Progress) { j.Update(func(p *Progress) { p.Progress = now }) })
	if r == nil {
		return nil, err
	}
	return &Report{Report: r.Report, Warned: r.Warned, Warnings: r.Warnings}, err
}
