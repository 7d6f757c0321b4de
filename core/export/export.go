package export

import (
	"context"
	"slices"
	"strings"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/internal/job"
	"deeplake/core/session"
	"deeplake/core/storage"
)

// Options are the settings of an export. Zero values mean the default.
type Options struct {
	Format  string   `json:"format"`  // one of Formats
	Tensors []string `json:"tensors"` // nil: all
	// "auto" (default): the values of a tensor "split" divide the files; "none"
	Splits string `json:"splits"`
	// of a shard, about; default: 256 MiB, of MDS 64 MiB
	ShardBytes int64 `json:"shard_bytes"`
	// arrays of several shapes are filled up with zeros, in formats that hold one shape
	Pad bool `json:"pad"`

	Storage storage.Options `json:"-"` // how the target is reached
}

// bounds of ShardBytes.
const (
	leastShard = 1 << 10
	mostShard  = 2 << 30
)

// written is the number of files and bytes that were written.
type written struct {
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
}

// Report says what an export did.
type Report struct {
	Format string   `json:"format"`
	Rows   int64    `json:"rows"`
	Splits []string `json:"splits"`
	written
	Resumed int64 `json:"resumed"` // rows of parts that an earlier run had written
	// tensors that the format does not hold, or changes
	Notes []Note `json:"notes"`
}

// Note names a tensor that files do not hold, or hold changed, and the change.
type Note struct {
	Tensor string `json:"tensor"`
	Text   string `json:"text"`
}

// Progress counts the rows of an export.
type Progress struct {
	Rows   int64   `json:"rows"`
	Total  int64   `json:"total"`
	Done   bool    `json:"done"`
	Report *Report `json:"report"`
}

// Job is an export that runs in the background.
type Job struct{ *job.Job[Progress] }

// Wait returns when the export is done.
func (j *Job) Wait(ctx context.Context) (*Report, error) {
	p, done, err := j.Job.Wait(ctx)
	if !done {
		return nil, errs.Wrap(errs.Canceled, "wait for the export", "", ctx.Err())
	}
	return p.Report, err
}

// layout is a kind of files: one line of layouts.
type layout struct {
	name string
	// shard is the default of Options.ShardBytes; 0: a row is a file, and parts are small
	shard int64
	// open chooses the tensors, and refuses those that the format does not hold.
	open func(ctx context.Context, e *exporter) (writer, error)
}

// writer writes the files of a layout.
type writer interface {
	// part writes the files of a part. It returns facts for finish, which a later run has too.
	part(ctx context.Context, p *part) (any, error)
	// finish writes the files about all parts. facts has what part returned, as JSON.
	finish(ctx context.Context, facts [][]byte) error
}

// beginner is a writer that writes files before those of the parts: ones that show faults of rows.
type beginner interface {
	begin(ctx context.Context) error
}

// layouts lists all kinds of files.
func layouts() []layout {
	return []layout{
		{"folder", 0, openFolder},
		{"webdataset", 256 << 20, openWebDataset},
		{"mds", 64 << 20, openMDS},
		{"tfrecord", 256 << 20, openTFRecord},
		{"parquet", 256 << 20, openParquet},
		{"zarr", 256 << 20, openZarr},
		{"coco", 0, openCOCO},
		{"yolo", 0, openYOLO},
	}
}

// Formats lists the names of all layouts.
func Formats() (names []string) {
	for _, l := range layouts() {
		names = append(names, l.name)
	}
	return names
}

func (o *Options) check(uri string) (layout, error) {
	op := errs.Op("export to", uri)
	at := slices.IndexFunc(layouts(), func(l layout) bool { return l.name == o.Format })
	if at < 0 {
		return layout{}, op.New(errs.Invalid, "format is %q, want %s%s", o.Format, strings.Join(Formats(), ", "), errs.Suggest(o.Format, Formats()))
	}
	if o.Splits != "" && o.Splits != "auto" && o.Splits != "none" {
		return layout{}, op.New(errs.Invalid, "splits is %q, want auto or none", o.Splits)
	}
	l := layouts()[at]
	switch {
	case o.Pad && l.name != "zarr":
		return l, op.New(errs.Invalid, "pad is for zarr, and the format is %s; leave it out", l.name)
	case o.ShardBytes == 0:
		o.ShardBytes = l.shard
	case o.ShardBytes < leastShard || o.ShardBytes > mostShard:
		return l, op.New(errs.Invalid, "shard_bytes is %d, want %d to %d", o.ShardBytes, leastShard, int64(mostShard))
	case l.shard == 0:
		return l, op.New(errs.Invalid, "shard_bytes is %d, and %s has no shards; leave it out", o.ShardBytes, l.name)
	}
	return l, nil
}

// Start begins to write the rows of a view below uri, which must be empty, or hold a part of the
// same export. The view must stay open until the job is closed.
func Start(env *dataset.Env, v *session.View, uri string, o Options) (*Job, error) {
	spread := o.ShardBytes == 0
	l, err := o.check(uri)
	if err != nil {
		return nil, err
	}
	o.Storage.Create = true
	j := &Job{job.New[Progress]()}
	e := &exporter{env: env, view: v, uri: uri, o: o, layout: l, spread: spread, job: j, report: &Report{Format: l.name, Splits: []string{}, Notes: []Note{}}}
	j.Run(func(ctx context.Context) error {
		return errs.Wrap(errs.Internal, "export to", uri, e.run(ctx))
	}, func(p *Progress) { p.Done, p.Report = true, e.report })
	return j, nil
}
