package ingest

import (
	"context"
	"slices"
	"strings"

	"deeplake/core/codec"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/ingest/episodes"
	"deeplake/core/ingest/table"
	"deeplake/core/internal/job"
	"deeplake/core/storage"
)

// The ways to treat what cannot be taken in: a file of images, or a row or a file of a table.
const (
	LeaveOut = "skip"
	Accept   = "accept" // JPEG files that are cut
	Raise    = "raise"  // of tables
)

// Options are the settings of an import. Zero values mean the default.
type Options struct {
	Overwrite bool `json:"overwrite"` // replace a dataset that is there, at the first commit
	// leave the files where they are, and index the members of tar archives too
	Link bool `json:"link"`
	// follow symbolic links that lead out of a source folder
	FollowLinks bool `json:"follow_links"`
	// LeaveOut skips what cannot be taken in, and is the default for images; Accept stores JPEG
	// files that are cut as they are; Raise is the default for tables
	OnError string `json:"on_error"`
	// turn pictures as the orientation in their Exif data says; files are stored unchanged
	Upright bool `json:"apply_exif_orientation"`
	// class names in the order of their numbers; nil: the folders, in natural order
	Classes []string `json:"classes"`
	// "auto" (default): the first folder of a path is the class; "none"
	Labels string `json:"labels"`
	// "auto" (default): folders train, val and test are splits, with classes in them; "none"
	Splits string `json:"splits"`
	// objects read at once; default: 64, and 2 for each core from a folder
	Workers int `json:"workers"`
	// of the images: "auto" (default), "none", or the name of a sample codec
	Compression string `json:"compression"`
	// of the images: squares of so many pixels a side, cut out of the middle; 0: as they are
	Size int `json:"size"`
	// rows between commits; default 100,000 or as many as have 16 GiB, of tables 2,000,000
	Checkpoint int64  `json:"checkpoint"`
	Message    string `json:"message"` // of the last commit
	// the file with annotations, within the source; "": a file or folder by its name
	Annotations string `json:"annotations"`
	Masks       bool   `json:"masks"` // of annotations: a mask of each object, too

	// Format is Images, Videos, Table, episodes.Format, the name of a format of tables, or of a
	// layout of annotations; "" goes by names of the source, and by the first bytes of annotations
	Format  string                        `json:"format"`
	Columns []string                      `json:"columns"` // of tables, and features; nil: all
	Schema  map[string]dataset.TensorSpec `json:"schema"`  // of tables: tensors by name
	URLs    []table.URLColumn             `json:"urls"`    // of tables: columns of URLs to fetch
	// of CSV: the character between values; "" goes by the first records
	Separator string `json:"separator"`
	Once      bool   `json:"once"` // no commit before the end
	// of LeRobot: numbers of the episodes to take; nil: all
	Episodes []int64 `json:"episodes"`

	Storage storage.Options `json:"-"` // how the dataset is reached
	// how the source is reached; nil: as storage.LinkPolicy.Named says
	Source *storage.Options `json:"-"`
}

func (o Options) check(source string, reg *codec.Registry) error {
	names := []string{"auto"}
	for _, d := range reg.Samples() {
		names = append(names, d.Name())
	}
	if o.Compression != "" && o.Compression != codec.None.Name() && !slices.Contains(names, o.Compression) {
		return errs.Op("import from", source).New(errs.Invalid, "compression is %q, want %s or none", o.Compression, strings.Join(names, ", "))
	}
	if o.Labels != "" && o.Labels != "auto" && o.Labels != "none" {
		return errs.Op("import from", source).New(errs.Invalid, "labels is %q, want auto or none", o.Labels)
	}
	if o.Splits != "" && o.Splits != "auto" && o.Splits != "none" {
		return errs.Op("import from", source).New(errs.Invalid, "splits is %q, want auto or none", o.Splits)
	}
	if o.OnError != "" && o.OnError != LeaveOut && o.OnError != Accept && o.OnError != Raise {
		return errs.Op("import from", source).New(errs.Invalid, "on_error is %q, want %s, %s or %s", o.OnError, LeaveOut, Accept, Raise)
	}
	if o.Size < 0 || o.Size > maxFitSide {
		return errs.Op("import from", source).New(errs.Invalid, "size is %d, want 1 to %d, or 0 to leave pictures as they are", o.Size, maxFitSide)
	}
	if o.Size > 0 && o.Link {
		return errs.Op("import from", source).New(errs.Invalid, "size is %d, and links leave files as they are; leave one of them out", o.Size)
	}
	if o.Checkpoint < 0 || o.Workers < 0 {
		return errs.Op("import from", source).New(errs.Invalid, "checkpoint is %d and workers %d, want 1 or more", o.Checkpoint, o.Workers)
	}
	return o.checkClasses(source)
}

// Skip is a file that was left out, or rows of one.
type Skip = table.Skip

// shownNames bounds the files that a report lists by name.
const shownNames = 1000

// Report says what an import did: that of a table, and what images add. Its format is Images,
// Videos, or that of the tables.
type Report struct {
	table.Report
	Updated int64 `json:"updated"` // rows whose files have changed since they were taken in
	// earlier rows of changed archives, whose members were added again
	Removed int64 `json:"removed"`
	// files that are left out, since their rows were deleted after an earlier run
	Deleted int64    `json:"deleted"`
	Classes []string `json:"classes"`
	Splits  []Split  `json:"splits"` // all rows of the dataset in them
	// files of another kind than the tensor's, decoded and encoded again
	Converted int64  `json:"converted"`
	Codec     string `json:"codec"`    // the codec of the image tensor
	Lossy     int64  `json:"lossy"`    // of Converted, into a codec that changes pixels
	Accepted  int64  `json:"accepted"` // JPEG files that are cut, stored as they are
	Objects   int64  `json:"objects"`  // boxes, outlines and other annotations of the rows
	// rows that were taken in, though something about them looks wrong; the first ones by name
	Warned   int64  `json:"warned"`
	Warnings []Skip `json:"warnings"`
}

// Progress is where an import stands.
type Progress struct {
	table.Progress
	Done   bool    `json:"done"`
	Report *Report `json:"report"`
}

// Job is an import that runs in the background.
type Job struct{ *job.Job[Progress] }

// Start begins to fill the dataset at uri from source: a folder, or a URI of Env.Sources. It
// updates the dataset of an earlier import of the same source, and continues an interrupted one.
// Any other dataset at uri is errs.Exists, unless o.Overwrite.
func Start(env *dataset.Env, uri, source string, o Options) (*Job, error) {
	if o.Format == episodes.Format {
		return startEpisodes(env, uri, source, o)
	}
	if o.Link && strings.HasPrefix(source, "hf://") {
		return nil, errs.Op("import from", storage.RedactURL(source)).New(errs.Unsupported, "links into a repository of Hugging Face cannot be read; "+
			"leave out --link (link=True) to copy its files")
	}
	if o.ofTable(source) {
		return startTable(env, uri, source, o)
	}
	if err := o.check(source, env.Codecs); err != nil {
		return nil, err
	}
	env = env.For(o.Storage.Settings)
	if o.Source != nil && o.Source.Settings.MaxPixels != 0 {
		env = env.For(o.Source.Settings)
	}
	whole := env.Codecs
	if o.OnError == Accept {
		accepting := *env
		accepting.Codecs = env.Codecs.AcceptCut()
		env = &accepting
	}
	j := &Job{job.New[Progress]()}
	lake, err := openSource(j.Context(), env, uri, source, o)
	if err != nil {
		j.Close()
		return nil, err
	}
	im := &importer{
		env: env, whole: whole, source: lake, o: o, job: j, budget: newBudget(lake.budgetOf()),
		numbering: map[string]numbering{}, names: reservedNames(),
		report: &Report{Report: table.Report{Format: Images, Skips: []Skip{}, GoneNames: []string{}}},
	}
	j.run(func(ctx context.Context) (*Report, error) {
		defer func() { _ = lake.Close() }()
		if o.Format == "" {
			if is, err := lake.isOfEpisodes(ctx); is || err != nil {
				if err != nil {
					return nil, errs.Wrap(errs.Storage, "import from", lake.URI(), err)
				}
				return j.episodes(ctx, env, uri, source, o)
			}
			if is, err := lake.hasTables(ctx); is || err != nil {
				if err != nil {
					return nil, errs.Wrap(errs.Storage, "import from", lake.URI(), err)
				}
				return j.table(ctx, env, uri, source, o)
			}
		}
		if o.Columns != nil || o.Schema != nil || o.URLs != nil || o.Separator != "" {
			return nil, errs.Op("import from", lake.URI()).New(errs.Invalid, "columns, schema, separator and urls are of tables, and no file there is one by its name; give format=%q", "parquet")
		}
		if err := o.refuseEpisodes(source); err != nil {
			return nil, err
		}
		return im.run(ctx, uri)
	})
	return j, nil
}

// run does the work in the background.
func (j *Job) run(work func(ctx context.Context) (*Report, error)) {
	var report *Report
	j.Run(func(ctx context.Context) (err error) {
		report, err = work(ctx)
		return err
	}, func(p *Progress) { p.Done, p.Report = true, report })
}

// Wait returns when the import is done.
func (j *Job) Wait(ctx context.Context) (*Report, error) {
	p, done, err := j.Job.Wait(ctx)
	if !done {
		return nil, errs.Wrap(errs.Canceled, "wait for the import", "", ctx.Err())
	}
	return p.Report, err
}
