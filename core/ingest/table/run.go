package table

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"deeplake/core/csv"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/ingest/target"
	"deeplake/core/ingest/urls"
	"deeplake/core/storage"
	"deeplake/core/tfrecord"
)

const (
	// defaultCheckpoint is the number of rows between commits, and checkpointBytes that of bytes of
	// the source.
	defaultCheckpoint = 2_000_000
	checkpointBytes   = 4 << 30
	// shownNames bounds the files and rows that a report lists by name.
	shownNames = 1000
)

// Options are the settings of an import. Zero values mean the default.
type Options struct {
	Columns []string // to take; nil: all
	// Schema has tensors by name, in the place of those that columns make
	Schema    map[string]dataset.TensorSpec
	Format    string // of the files; "": as their names tell
	Separator string // of CSV: the character between values; "": as the first records tell
	Overwrite bool   // replace a dataset that is there, at the first commit
	// LeaveOut reports rows and files that cannot be taken, and those of URLs without an object;
	// else they are errors
	LeaveOut   bool
	URLs       []URLColumn
	Fit        *Fit   // of the images that URLs name; nil: they stay as they are
	FailOnURL  bool   // a URL without an object is an error; else its row says why
	Link       bool   // image files stay where they are, and rows link to them
	Checkpoint int64  // rows between commits
	Once       bool   // make a new dataset, with one commit at the end
	Message    string // of the last commit

	Storage storage.Options  // how the dataset is reached
	Source  *storage.Options // how the source is reached; nil: as storage.LinkPolicy.Named says
}

// Skip is a file, or a row of it, that was left out.
type Skip struct {
	Path   string `json:"path"` // relative to the source
	Reason string `json:"reason"`
}

// Report says what an import did.
type Report struct {
	URI       string   `json:"uri"`       // of the dataset
	Format    string   `json:"format"`    // of the files
	Rows      int64    `json:"rows"`      // of the dataset after it
	Added     int64    `json:"added"`     // by this run
	Unchanged int64    `json:"unchanged"` // files that were taken in before, and are as they were
	Resumed   int64    `json:"resumed"`   // rows that an earlier, interrupted run had committed
	Bytes     int64    `json:"bytes"`     // read by this run
	Skipped   int64    `json:"skipped"`
	Skips     []Skip   `json:"skips"`      // the first of them
	Gone      int64    `json:"gone"`       // files that are no longer there; their rows stay
	GoneNames []string `json:"gone_names"` // the first of them
	Commit    string   `json:"commit"`
	Version   uint64   `json:"version"`
	Complete  bool     `json:"complete"` // false: canceled; another run goes on from here
	Parts     []string `json:"parts"`    // values of SplitColumn that names of files made

	// Fetched counts the objects that URLs named, Failed the URLs without one, by reason.
	Fetched int64            `json:"fetched"`
	Failed  int64            `json:"failed"`
	Reasons map[string]int64 `json:"reasons"`
}

// Progress is where an import stands.
type Progress struct {
	Rows       int64 `json:"rows"`
	Files      int64 `json:"files"`
	Bytes      int64 `json:"bytes"`
	TotalFiles int64 `json:"total_files"`
	TotalBytes int64 `json:"total_bytes"` // 0: not known
}

// importer is one run of an import.
type importer struct {
	env    *dataset.Env
	o      Options
	place  string
	uri    string // of the source, without secrets
	source *source
	d      *dataset.Dataset
	fresh  bool // the dataset has no rows and no tensors yet
	made   bool // by this run
	report *Report
	tell   func(Progress)
	now    Progress

	schema  *schema
	tensors map[string]bool // of the dataset; true: rows are lists
	images  bool            // one of them takes links
	state   state
	settled bool     // the state in the dataset says that the import is complete
	named   []string // tensors of Options.Schema that the user has named

	fetcher *urls.Fetcher    // nil: no column has URLs
	ready   []*dataset.Batch // rows that are next
	held    []*urls.Batch    // whose objects are in ready, or were appended last

	pending      int64 // rows since the last commit
	pendingBytes int64
}

// Run fills the dataset at place with the tables at uri. tell is called with the progress. A
// canceled import commits its rows, and returns errs.Canceled with its report.
func Run(ctx context.Context, env *dataset.Env, place, uri string, o Options, tell func(Progress)) (*Report, error) {
	im := &importer{env: env, o: o, place: place, uri: storage.RedactURL(uri), tell: tell, report: &Report{Skips: []Skip{}, GoneNames: []string{}}}
	if err := o.check(); err != nil {
		return nil, im.about(err)
	}
	how := storage.NewLinkPolicy(place, o.Storage).Named(uri)
	if o.Source != nil {
		how = *o.Source
	}
	var err error
	if im.source, err = openSource(ctx, env, uri, how, o.Format); err != nil {
		return nil, im.about(err)
	}
	defer im.source.end()
	if err := im.openFetcher(ctx, how); err != nil {
		return nil, im.about(err)
	}
	defer im.closeFetcher()
	im.report.Format = im.source.format.Name
	if err := im.source.setSeparator(o.Separator); err != nil {
		return nil, im.about(err)
	}
	if err := im.checkLinks(); err != nil {
		return nil, im.about(err)
	}
	report, err := im.run(ctx)
	if im.d != nil {
		_ = im.d.Close()
	}
	return report, im.about(err)
}

func (o Options) check() error {
	if o.Columns != nil && len(o.Columns) == 0 {
		return errs.New(errs.Invalid, "columns is empty; name some, or leave it out")
	}
	for i, name := range o.Columns {
		if slices.Contains(o.Columns[:i], name) {
			return errs.New(errs.Invalid, "columns names %q twice", name)
		}
	}
	return nil
}

// about names the source of an error.
func (im *importer) about(err error) error {
	if err == nil {
		return nil
	}
	return errs.Wrap(errs.KindOf(err), "import from", im.uri, err)
}

func (im *importer) run(ctx context.Context) (*Report, error) {
	if err := im.readSchema(ctx); err != nil {
		return nil, err
	}
	if err := im.open(ctx); err != nil {
		return nil, err
	}
	files, err := im.newFiles()
	if err == nil {
		err = im.know()
	}
	if err != nil {
		return nil, err
	}
	if im.schema, files, err = im.plan(ctx, files, im.leaveOut); err == nil {
		err = im.know()
	}
	if err != nil {
		return nil, im.unmake(err)
	}
	if err := im.checkNames(files); err != nil {
		return nil, im.unmake(err)
	}
	if err := im.checkLinked(files); err != nil {
		return nil, im.unmake(err)
	}
	for _, f := range files {
		im.now.TotalFiles++
		im.now.TotalBytes += f.size
	}
	im.tell(im.now)
	if len(files) == 0 && im.fresh {
		return nil, im.unmake(errs.New(errs.Invalid, "no file could be read%s", im.firstReason()))
	}
	if err := im.create(ctx); err != nil {
		return nil, err
	}
	// A cancellation leads to a commit, and must not interrupt it.
	write := context.WithoutCancel(ctx)
	err = im.files(ctx, write, files)
	canceled := err == nil && ctx.Err() != nil
	if err == nil && !canceled {
		err = im.checkColumns()
	}
	if err == nil && !canceled {
		err = im.typesAlone(write)
	}
	if err != nil || canceled && im.fresh && im.report.Version == 0 && (im.pending == 0 || im.o.Once) {
		return nil, im.unmake(cmp.Or(err, errs.Wrap(errs.Canceled, "import", "", ctx.Err())))
	}
	if err := im.commit(write, !canceled); err != nil {
		return nil, im.unmake(err)
	}
	if canceled {
		return im.report, errs.Wrap(errs.Canceled, "import", "", ctx.Err())
	}
	return im.report, nil
}

func (im *importer) firstReason() string {
	if len(im.report.Skips) == 0 {
		return ""
	}
	return ": " + im.report.Skips[0].Reason
}

// open opens the dataset of an earlier run, or an empty one. fresh says that it has no rows yet.
func (im *importer) open(ctx context.Context) error {
	im.tensors = map[string]bool{}
	im.fresh = true
	im.state = state{Source: im.source.uri, Format: im.source.format.Name, Columns: im.o.Columns, Separator: im.o.Separator, URLs: im.o.URLs, Size: im.size(), Link: im.o.Link, Schema: im.specs()}
	if im.o.Overwrite {
		return nil
	}
	d, err := target.Open(ctx, im.env, im.place, im.o.Storage)
	if d == nil || err != nil {
		return err
	}
	im.d, im.fresh = d, false
	if err := im.readTensors(); err != nil {
		return err
	}
	return im.resume()
}

// create makes the dataset of a first run.
func (im *importer) create(ctx context.Context) (err error) {
	if im.d != nil {
		return nil
	}
	im.d, err = dataset.Create(ctx, im.env, im.place, dataset.CreateOptions{Overwrite: im.o.Overwrite, AtCommit: true, Storage: im.o.Storage})
	im.made = err == nil
	return err
}

// unmake removes or withdraws a dataset that this run has made and not committed. It returns err.
func (im *importer) unmake(err error) error {
	if !im.made || im.report.Version > 0 {
		return err
	}
	d := im.d
	im.d = nil
	return target.Remove(context.Background(), im.env, d, im.place, im.o.Storage, err)
}

// leaveOut reports a file or rows that cannot be taken. It returns the error if they may not be
// left out.
func (im *importer) leaveOut(f *file, err error) error {
	if !im.o.LeaveOut {
		return err
	}
	im.skip(f.key, err)
	return nil
}

func (im *importer) skip(path string, err error) {
	im.report.Skipped++
	if len(im.report.Skips) < shownNames {
		im.report.Skips = append(im.report.Skips, Skip{path, err.Error()})
	}
}

// bad reports whether err is about the content of a file and not about the store.
func bad(err error) bool {
	switch errs.KindOf(err) {
	case errs.Invalid, errs.Type, errs.Corrupt, errs.Unsupported, errs.Conflict, errs.NotFound:
		return true
	}
	return false
}

// typesAlone creates the tensors of tables without rows, and of columns without values.
func (im *importer) typesAlone(ctx context.Context) error {
	for _, c := range im.schema.columns {
		if _, there := im.tensors[c.name]; there {
			continue
		}
		if err := im.createColumn(ctx, c, c.types); err != nil {
			return err
		}
	}
	return nil
}

// know describes the columns of files without types to their readers: by the tensors, else by the
// beginnings of all files.
func (im *importer) know() error {
	s := im.source
	s.known, s.forms, s.documents, s.rounded = map[string]csv.Known{}, map[string]tfrecord.Form{}, nil, nil
	note := func(name, htype, dtype string, isStated bool) {
		if form := recordForm(htype, dtype); form != tfrecord.Unknown {
			s.forms[name] = form
		}
		k := knownOf(htype, dtype)
		k.Lenient = isStated
		s.known[name] = k
		if htype == "json" {
			s.documents = append(s.documents, name)
		}
		if isStated && strings.HasPrefix(dtype, "float") {
			s.rounded = append(s.rounded, name)
		}
	}
	if im.d != nil {
		desc, err := im.d.Describe()
		if err != nil {
			return err
		}
		for _, t := range desc.Tensors {
			if dtype := t.DType; dtype != nil {
				note(t.Name, t.HType, cmp.Or(t.Time, *dtype), false)
			}
			if t.Sequence {
				s.forms[t.Name] |= tfrecord.List
			}
		}
	}
	for name, spec := range im.o.Schema {
		note(name, spec.HType, spec.DType, true)
	}
	decided := maps.Clone(s.forms)
	for _, f := range s.files {
		for name, found := range f.forms {
			if decided[name]&^tfrecord.List == tfrecord.Unknown {
				s.forms[name] = tfrecord.Join(s.forms[name], found)
			}
			s.forms[name] |= found & tfrecord.List
		}
		for name, found := range f.known {
			k := s.known[name]
			if !k.Fixed {
				k.Kinds = csv.Join(k.Kinds, found.Kinds)
				s.known[name] = k
			}
		}
	}
	return nil
}

// commit commits a checkpoint, or with complete the end of the import. It makes no commit if
// nothing has changed.
func (im *importer) commit(ctx context.Context, complete bool) error {
	desc, err := im.d.Describe()
	if err != nil {
		return err
	}
	c := desc.Head
	if im.pending > 0 || !im.settled || desc.Dirty {
		if err := im.d.SetInfo(ctx, im.state.in(desc.Info, complete)); err != nil {
			return err
		}
		message := cmp.Or(im.o.Message, "import from "+im.source.uri)
		if !complete {
			message = "import from " + im.source.uri + " (checkpoint)"
		}
		if c, err = im.d.Commit(ctx, message); err != nil {
			return err
		}
	}
	im.pending, im.pendingBytes, im.settled = 0, 0, complete
	im.report.URI, im.report.Rows, im.report.Commit, im.report.Version, im.report.Complete = im.d.URI(), c.Rows, c.Commit, c.Version, complete
	im.report.Parts = im.splitsOf()
	return nil
}
