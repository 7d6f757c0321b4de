package episodes

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/ingest/table"
	"deeplake/core/ingest/target"
	"deeplake/core/storage"
)

const (
	// Format names the format of a source, in options and reports.
	Format = "lerobot"
	// defaultCheckpoint is the number of episodes between commits, and checkpointBytes that of
	// bytes of the source.
	defaultCheckpoint = 5_000
	checkpointBytes   = 8 << 30
	// shownNames bounds the skips and the warnings that a report lists.
	shownNames = 1000
)

// Options are the settings of an import. Zero values mean the default.
type Options struct {
	Columns    []string // features to take; nil: all
	Episodes   []int64  // numbers of those to take; nil: all
	Link       bool     // videos stay where they are, and rows link to them
	Overwrite  bool     // replace a dataset that is there, at the first commit
	Raise      bool     // an episode that cannot be taken ends the import; else it is left out
	Workers    int      // episodes whose videos are read at once
	Checkpoint int64    // episodes between commits
	Once       bool     // make a new dataset, with one commit at the end
	Message    string   // of the last commit

	Storage storage.Options // how the dataset is reached
	Web     bool            // the source lists nothing: it is a web server
}

// Skip is an episode that was left out, with the file at fault; or a warning about a file.
type Skip = table.Skip

// Report says what an import did. Rows are episodes, and so are those that it counts as skipped.
type Report struct {
	table.Report
	Warned   int64
	Warnings []Skip // faults that left no episode out
}

// Progress is where an import stands. Its files are episodes.
type Progress = table.Progress

// Is reports whether a source is a dataset of LeRobot: by meta/info.json. One that is no JSON is an
// error, and so is one without a version beside other metadata of LeRobot.
func Is(ctx context.Context, s storage.Source) (bool, error) {
	f := &files{Source: s}
	data, err := f.whole(ctx, infoKey, maxInfo)
	if err == nil {
		return f.isInfo(ctx, data)
	}
	switch errs.KindOf(err) {
	case errs.NotFound, errs.Corrupt, errs.Denied, errs.Unsupported:
		return false, ctx.Err()
	}
	return false, err
}

// isInfo reports whether a file meta/info.json is of LeRobot. The films of a set are not taken for
// others because this file is damaged.
func (f *files) isInfo(ctx context.Context, data []byte) (bool, error) {
	if hasVersion(data) {
		return true, nil
	}
	if json.Valid(data) {
		beside, err := f.hasMeta(ctx)
		if !beside || err != nil {
			return false, err
		}
	}
	_, err := parseInfo(data)
	return false, errs.New(errs.Invalid, "%s: %w", infoKey, err)
}

// hasMeta reports whether there are metadata of episodes or of tasks.
func (f *files) hasMeta(ctx context.Context) (found bool, err error) {
	err = f.Objects(ctx, "meta/", "", func(e storage.Entry) bool {
		found = strings.HasPrefix(e.Key, "meta/episodes/") || slices.Contains([]string{"meta/episodes.jsonl", "meta/tasks.jsonl", "meta/tasks.parquet"}, e.Key)
		return !found
	})
	if err != nil && bad(err) {
		err = nil // a source that lists nothing
	}
	return found, err
}

// importer is one run of an import.
type importer struct {
	env    *dataset.Env
	o      Options
	place  string
	uri    string // of the source, without secrets
	files  *files
	films  *films
	set    *set
	by     *frames   // of version 3
	taken  []feature // features to take, without the numbers of episodes
	videos []feature // of them
	report *Report
	tell   func(Progress)
	now    Progress

	d        *dataset.Dataset
	made     bool // by this run
	tensors  map[string]bool
	state    state
	identity string // of the dataset
	settled  bool   // the state in the dataset says that the import is complete
	done     ranges
	read     map[string]bool // data files that were read, by the goroutine that reads
	split    bool            // there is a tensor of splits

	pending      int64 // rows since the last commit
	pendingBytes int64
}

// Run fills the dataset at place with the episodes of source. tell is called with the progress. A
// canceled import commits its rows, and returns errs.Canceled with its report.
func Run(ctx context.Context, env *dataset.Env, place string, source storage.Source, o Options, tell func(Progress)) (*Report, error) {
	im := &importer{
		env: env, o: o, place: place, uri: storage.RedactURL(source.URI()), tell: tell, tensors: map[string]bool{}, read: map[string]bool{},
		files:  &files{Source: source, root: source.URI(), isWeb: o.Web},
		report: &Report{Report: table.Report{Format: Format, Skips: []Skip{}, GoneNames: []string{}}, Warnings: []Skip{}},
	}
	im.films = newFilms(im.files, env.Containers)
	report, err := im.run(ctx)
	if im.d != nil {
		_ = im.d.Close()
	}
	if err != nil {
		err = errs.Wrap(errs.KindOf(err), "import from", im.uri, err)
	}
	return report, err
}

func (im *importer) run(ctx context.Context) (*Report, error) {
	if err := im.readMeta(ctx); err != nil {
		return nil, err
	}
	if err := im.open(ctx); err != nil {
		return nil, err
	}
	todo, err := im.todo()
	if err != nil {
		return nil, err
	}
	if im.state.Complete {
		im.report.Unchanged = im.done.count()
	}
	im.report.Resumed = 0
	if im.d != nil && !im.state.Complete {
		im.report.Resumed = im.done.count()
	}
	if err := im.moved(ctx); err != nil {
		return nil, err
	}
	im.now.TotalFiles = int64(len(todo))
	im.now.Rows = im.report.Resumed
	im.tell(im.now)
	// A cancellation leads to a commit, and must not interrupt it.
	write := context.WithoutCancel(ctx)
	if err := im.knownSplits(write); err != nil {
		return nil, err
	}
	err = im.episodes(ctx, write, todo)
	if err == nil && ctx.Err() == nil {
		err = im.otherFiles(ctx)
	}
	canceled := ctx.Err() != nil && (err == nil || errs.Is(err, errs.Canceled))
	if err != nil && !canceled {
		return nil, im.unmake(err)
	}
	if canceled && (im.d == nil || im.made && im.report.Version == 0 && (im.pending == 0 || im.o.Once)) {
		return nil, im.unmake(errs.Wrap(errs.Canceled, "import", "", ctx.Err()))
	}
	if im.d == nil || im.made && im.report.Added == 0 {
		why := ""
		if len(im.report.Skips) > 0 {
			why = ": " + im.report.Skips[0].Path + ": " + im.report.Skips[0].Reason
		}
		return nil, im.unmake(errs.New(errs.Invalid, "no episode could be taken%s", why))
	}
	if err := im.commit(write, !canceled); err != nil {
		return nil, im.unmake(err)
	}
	if canceled {
		return im.report, errs.Wrap(errs.Canceled, "import", "", ctx.Err())
	}
	return im.report, nil
}

// readMeta reads the metadata, and chooses the features.
func (im *importer) readMeta(ctx context.Context) error {
	data, err := im.files.whole(ctx, infoKey, maxInfo)
	if errs.Is(err, errs.NotFound) {
		return errs.New(errs.Invalid, "there is no file %s, so it is no dataset of LeRobot", infoKey)
	}
	if err != nil {
		return err
	}
	in, err := parseInfo(data)
	if err != nil {
		return errs.New(errs.KindOf(err), "%s: %w", infoKey, err)
	}
	if err := im.choose(in); err != nil {
		return err
	}
	names := make([]string, len(im.videos))
	for i, f := range im.videos {
		names[i] = f.name
	}
	if im.set, err = readSet(ctx, im.files, in, names); err != nil {
		return err
	}
	im.by = im.set.byFrames()
	if len(im.set.episodes) == 0 {
		return errs.New(errs.Invalid, "it has no episodes")
	}
	for _, w := range im.set.warnings {
		im.warn(w.Path, w.Reason)
	}
	return nil
}

// choose chooses the features to take. One of an unknown dtype is left out.
func (im *importer) choose(in *info) error {
	if im.o.Columns != nil && len(im.o.Columns) == 0 {
		return errs.New(errs.Invalid, "columns is empty; name some, or leave it out")
	}
	var names []string
	for _, f := range in.features {
		names = append(names, f.name)
	}
	for i, name := range im.o.Columns {
		if slices.Contains(im.o.Columns[:i], name) {
			return errs.New(errs.Invalid, "columns names %q twice", name)
		}
		if !slices.Contains(names, name) && name != taskTensor {
			return errs.New(errs.Invalid, "there is no feature %q%s; there are %s", name, errs.Suggest(name, names), short(strings.Join(names, ", ")))
		}
	}
	for _, f := range in.features {
		isNamed := slices.Contains(im.o.Columns, f.name)
		if im.o.Columns != nil && !isNamed || f.name == episodeIndex {
			continue
		}
		if f.kind == unknown {
			err := errs.New(errs.Unsupported, "feature %q has dtype %q, which this version does not know; leave it out by --columns (columns=[...])", f.name, short(f.named))
			if im.o.Raise || isNamed {
				return errs.New(errs.Unsupported, "%s: %w", infoKey, err)
			}
			im.warn(infoKey, err.Error()+"; it is left out")
			continue
		}
		im.taken = append(im.taken, f)
		if f.kind == video {
			im.videos = append(im.videos, f)
		}
	}
	if im.o.Link && len(im.videos) == 0 {
		return errs.New(errs.Invalid, "no feature is a video, which --link (link=True) leaves where it is; leave it out")
	}
	return nil
}

// warn notes a fault that leaves no episode out.
func (im *importer) warn(path, reason string) {
	im.report.Warned++
	if len(im.report.Warnings) < shownNames {
		im.report.Warnings = append(im.report.Warnings, Skip{Path: path, Reason: reason})
	}
}

// leaveOut reports an episode that cannot be taken. It returns an error if that ends the import.
func (im *importer) leaveOut(path string, e *episode, why string) error {
	why = errs.New(errs.Invalid, "episode %d: %s", e.index, why).Error()
	if im.o.Raise {
		return errs.New(errs.Invalid, "%s: %s; --on-error skip (on_error=\"skip\") leaves such episodes out", path, why)
	}
	im.report.Skipped++
	if len(im.report.Skips) < shownNames {
		im.report.Skips = append(im.report.Skips, Skip{Path: path, Reason: why})
	}
	return nil
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

// commit commits a checkpoint, or with complete the end of the import. It makes no commit if
// nothing has changed.
func (im *importer) commit(ctx context.Context, complete bool) error {
	desc, err := im.d.Describe()
	if err != nil {
		return err
	}
	c := desc.Head
	if im.pending > 0 || im.settled != complete || desc.Dirty {
		if err := im.d.SetInfo(ctx, im.infoWith(desc.Info, complete)); err != nil {
			return err
		}
		message := cmp.Or(im.o.Message, "import from "+im.uri)
		if !complete {
			message = "import from " + im.uri + " (checkpoint)"
		}
		if c, err = im.d.Commit(ctx, message); err != nil {
			return err
		}
	}
	im.pending, im.pendingBytes, im.settled = 0, 0, complete
	im.report.URI, im.report.Rows, im.report.Commit, im.report.Version, im.report.Complete = im.d.URI(), c.Rows, c.Commit, c.Version, complete
	im.report.Parts, err = im.parts()
	return err
}
