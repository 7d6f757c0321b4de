package ingest

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"deeplake/core/codec"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/ingest/annotations"
	"deeplake/core/ingest/target"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

const (
	// windowRows and windowBytes bound the rows that are appended together.
	windowRows  = 512
	windowBytes = 16 << 20
	// defaultCheckpoint is the number of rows between commits, if these are of less than
	// checkpointBytes: of large files, a later run would have much to do again.
	defaultCheckpoint = 100_000
	checkpointBytes   = 16 << 30
	// convertQuality is the quality of pictures that are encoded again. It is high because the
	// first encoding has lost details already.
	convertQuality = 95
)

// importer is one run of an import.
type importer struct {
	env    *dataset.Env
	whole  *codec.Registry // refuses files that are cut
	source *source
	o      Options
	place  string           // URI of the dataset
	d      *dataset.Dataset // nil: the first usable row makes it
	// creation makes the dataset while the first rows come; nil: it is done, or has not begun
	creation *task.Group
	job      *Job
	report   *Report
	way      string // for files of another format, where there are some
	codec    codec.ID
	own      bool            // images keep the codecs of their files
	tensors  map[string]bool // of the dataset; true: rows are lists
	// names holds the kinds of tensors, also of those to come; otherKind keeps named members away
	names     map[string]*kind
	numbering map[string]numbering // of the labels, by tensor
	labels    bool                 // the first directory of an object is its class
	splits    bool                 // the first directories are splits
	after     string               // key of the last object that is written or left out
	again     string               // key of the archive that the run before has left half written
	partial   string               // key of the archive of which some rows are written, and not all
	done      int64                // objects
	version   uint64               // of the dataset, when only this import writes to it
	known     bool                 // there were rows when the run began
	usable    bool                 // a file has given a row, or has one already
	videos    bool                 // files are imported as videos
	noImages  bool                 // the tensor of images waits for the first one
	continued bool                 // an import lies there
	kinds     kindCounts           // of the files before the first usable one
	pending   int64                // changes since the last commit
	unsaved   int64                // bytes of them, read from the source
	settled   bool                 // the state in the dataset says that the import is complete

	// tensors that an export has described, beside shards
	described map[string]dataset.TensorSpec

	fit     *fit // nil: pictures stay as they are
	budget  *budget
	buffers buffers
	removed []span // rows of the view that are deleted since, in order

	identity string   // of the dataset
	versions []uint64 // that earlier imports made, and that are no longer the newest
	deleted  []uint64 // those of them with rows that were deleted since; guarded by mu

	set      annotations.Set // of the pictures; nil: none
	layout   string          // of set
	parts    bool            // a tensor has the split of each picture
	began    string          // after, when the run began
	pictures *dataset.Column // of the rows that are there; nil: none
	beside   storage.Source  // of the file with annotations; nil: source
	refused  error           // about the first file that may not be left out; nil: none

	window []row // to be appended
	held   int64 // bytes of it

	mu        sync.Mutex // guards goneCount, goneNames and deleted
	goneCount int64
	goneNames []string
	count     struct{ unchanged, deleted atomic.Int64 }
}

// write takes the rows of an object as they arrive, until wait is done.
func (im *importer) write(wait, ctx context.Context, o *object) error {
	defer im.budget.give(o.cost)
	if o.turn != nil {
		close(o.turn)
	}
	for {
		select {
		case rows, more := <-o.out:
			if more {
				held := size(rows)
				if err := im.writeRows(ctx, o, rows); err != nil {
					return err
				}
				if o.room != nil {
					o.room.give(held)
				}
				continue
			}
		case <-wait.Done():
			return wait.Err()
		}
		break
	}
	if err := cmp.Or(o.err, im.refused); err != nil {
		return err
	}
	if im.after, im.partial = o.Key, ""; !im.usable {
		im.kinds.add(o.Key)
		im.way = cmp.Or(im.way, im.env.Way(o.Key))
	}
	if im.done++; im.done%windowRows == 0 {
		im.tell()
	}
	return im.checkpoint(ctx)
}

// writeRows takes some rows of an object.
func (im *importer) writeRows(ctx context.Context, o *object, rows []row) error {
	for i := range rows {
		r := &rows[i]
		if r.reason == "" {
			im.chooseTensors(r)
			r.reason = cmp.Or(r.reason, im.given(r), im.mixedLabel(r))
		}
		switch {
		case r.reason == unchanged:
			im.usable = true
			im.count.unchanged.Add(1)
		case r.reason != "":
			im.skip(r, o.was)
			im.release(r)
		case o.was != nil && !o.format.Members:
			im.usable = true
			if err := im.update(ctx, o.was, r); err != nil {
				return err
			}
		default:
			if err := im.add(ctx, o, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// add puts a new row into the window. Rows of an archive replace those of its earlier version.
func (im *importer) add(ctx context.Context, o *object, r *row) error {
	if im.creation == nil && im.d == nil { // in this order: the creation sets d
		im.noImages = im.noImages || r.isOfVideos()
		switch err := im.try(ctx, r); {
		case bad(err):
			r.reason = err.Error()
			im.skip(r, nil)
			im.release(r)
			return nil
		case err != nil:
			return err
		}
		im.creation = task.New(ctx, 0)
		im.creation.Go(im.create)
	}
	im.usable = true
	if o.format.Members && im.partial != o.Key {
		im.partial = o.Key
		if o.was != nil {
			if err := im.flush(ctx); err != nil {
				return err
			}
			if err := im.remove(ctx, o.was); err != nil {
				return err
			}
		}
	}
	im.window = append(im.window, *r)
	if im.held += max(r.bytes, r.size()); len(im.window) < windowRows && im.held < windowBytes {
		return nil
	}
	return im.flush(ctx)
}

// release gives memory back that no row needs any more.
func (im *importer) release(r *row) {
	for i := range r.values {
		v := &r.values[i]
		if v.memory == nil {
			continue
		}
		im.buffers.put(v.memory)
		v.memory = nil
		if v.Form == tensor.FormEncoded {
			v.Data = nil // it was that memory
		}
	}
}

func (im *importer) skip(r *row, was *known) {
	reason := r.reason
	if was != nil && !formatOf(was.Path).Members {
		reason += "; its row keeps what it had"
	}
	if r.other {
		im.note(r.path, reason)
		return
	}
	im.leaveOut(r.path, reason)
}

// leaveOut reports a file, a member or an annotation that is left out. If none may be, the first
// one ends the import.
func (im *importer) leaveOut(path, reason string) {
	im.note(path, reason)
	if im.o.OnError == Raise && im.refused == nil {
		im.refused = errs.Op("import from", im.source.URI()).New(errs.Invalid, "%s: %s", path, reason)
	}
}

// warn reports a row that was taken in, though something about it looks wrong.
func (im *importer) warn(path, reason string) {
	im.report.Warned++
	if len(im.report.Warnings) < shownNames {
		im.report.Warnings = append(im.report.Warnings, Skip{Path: path, Reason: reason})
	}
}

// note reports a file that is left out, which ends no import.
func (im *importer) note(path, reason string) {
	im.report.Skipped++
	if len(im.report.Skips) < shownNames {
		im.report.Skips = append(im.report.Skips, Skip{Path: path, Reason: reason})
	}
}

// gone counts a missing object that has rows.
func (im *importer) gone(key string) {
	im.mu.Lock()
	defer im.mu.Unlock()
	im.goneCount++
	if len(im.goneNames) < shownNames {
		im.goneNames = append(im.goneNames, key)
	}
}

// tell updates the progress.
func (im *importer) tell() {
	rows := im.report.Resumed + im.report.Added
	im.job.Update(func(p *Progress) {
		p.Rows = rows
		p.Files = im.done + im.count.unchanged.Load()
		p.Bytes = im.report.Bytes
	})
}

// flush appends the window, all rows at once. If one is refused, it appends them one by one, and
// leaves out only the bad ones.
func (im *importer) flush(ctx context.Context) error {
	rows := im.window
	im.window, im.held = nil, 0
	if len(rows) == 0 {
		return nil
	}
	if err := im.created(); err != nil {
		return err
	}
	if err := im.makeTensors(ctx, rows); err != nil {
		return err
	}
	added := int64(0)
	err := im.d.Append(ctx, im.columns(rows, false), int64(len(rows)))
	switch {
	case err == nil:
		added = int64(len(rows))
		im.countRows(rows)
	case !bad(err):
		return err
	default:
		for i := range rows {
			switch err := im.appendRow(ctx, &rows[i]); {
			case err == nil:
				added++
				im.countRows(rows[i : i+1])
			case bad(err):
				rows[i].reason = err.Error()
				im.skip(&rows[i], nil)
			default:
				return err
			}
		}
	}
	for i := range rows {
		im.release(&rows[i])
	}
	im.report.Added += added
	im.pending += added
	im.tell()
	return nil
}

func (im *importer) countRows(rows []row) {
	for i := range rows {
		im.report.Bytes += rows[i].bytes
		im.unsaved += rows[i].bytes
		im.report.Objects += rows[i].objects
		if rows[i].warning != "" {
			im.warn(rows[i].path, rows[i].warning)
		}
		for _, fault := range rows[i].faults {
			im.leaveOut(rows[i].path, fault)
		}
		v := rows[i].value(imageTensor)
		if v == nil || v.Form != tensor.FormEncoded {
			continue
		}
		id, _ := im.env.Codecs.Sniff(v.Data)
		if id != im.codec && im.codec != codec.None && !im.own {
			im.report.Converted++
		}
		if im.isCut(id, v.Data) {
			im.report.Accepted++
		}
	}
}

// isCut reports whether a file that the import has accepted is cut.
func (im *importer) isCut(id codec.ID, data []byte) bool {
	if im.o.OnError != Accept {
		return false
	}
	sc, err := im.whole.Sample(id)
	if err != nil {
		return false
	}
	_, err = im.whole.Header(sc, data, codec.AsStored)
	return errs.Is(err, errs.Corrupt)
}

// update replaces the samples of the rows of an object that has changed.
func (im *importer) update(ctx context.Context, was *known, r *row) error {
	defer im.release(r)
	var rows []int64
	for _, s := range was.rows {
		for row := s.start; row < s.start+s.count; row++ {
			rows = append(rows, im.now(row))
		}
	}
	same := make([]row, len(rows))
	for i := range same {
		same[i] = *r
	}
	err := im.d.Update(ctx, rows, im.columns(same, true))
	switch {
	case err == nil:
		im.countRows(same[:1])
		im.report.Updated += int64(len(rows))
		im.pending += int64(len(rows))
		return nil
	case bad(err):
		r.reason = err.Error()
		im.skip(r, was)
		return nil
	}
	return err
}

// remove deletes the rows of a changed archive before those of its new version are appended.
func (im *importer) remove(ctx context.Context, was *known) error {
	for _, s := range was.rows {
		rows := make([]int64, s.count)
		for i := range rows {
			rows[i] = im.now(s.start + int64(i))
		}
		if err := im.d.DeleteRows(ctx, rows); err != nil {
			return err
		}
		i, _ := slices.BinarySearchFunc(im.removed, s.start, func(a span, start int64) int { return int(min(1, max(-1, a.start-start))) })
		im.removed = slices.Insert(im.removed, i, s)
		im.report.Removed += s.count
		im.pending += s.count
	}
	return nil
}

// now returns the present position of a row of the view at the run's start, after deletions.
func (im *importer) now(row int64) int64 {
	before := int64(0)
	for _, s := range im.removed {
		if s.start > row {
			break
		}
		before += s.count
	}
	return row - before
}

// bad reports whether err is about the sample and not about the store.
func bad(err error) bool {
	switch errs.KindOf(err) {
	case errs.Invalid, errs.Type, errs.Corrupt, errs.Unsupported:
		return true
	}
	return false
}

// checkpoint commits if enough rows are pending. It is called between two objects, so that a later
// run finds all rows of an object or none.
func (im *importer) checkpoint(ctx context.Context) error {
	if im.o.Once || !im.o.isDue(im.pending+int64(len(im.window)), im.unsaved) {
		return nil
	}
	return im.commit(ctx, false)
}

// isDue reports whether some changes, and the bytes of their files, are enough for a commit.
func (o Options) isDue(rows, bytes int64) bool {
	if o.Checkpoint > 0 {
		return rows >= o.Checkpoint
	}
	return rows >= defaultCheckpoint || bytes >= checkpointBytes
}

// commit commits a checkpoint, or with complete the end of the import. It makes no commit if
// nothing has changed.
func (im *importer) commit(ctx context.Context, complete bool) error {
	if err := cmp.Or(im.flush(ctx), im.refused); err != nil {
		return err
	}
	desc, err := im.d.Describe()
	if err != nil {
		return err
	}
	c := desc.Head
	if im.pending > 0 || !im.settled || desc.Dirty {
		info := map[string]any{}
		for k, v := range desc.Info {
			info[k] = v
		}
		info[target.StateKey] = im.state(complete)
		if err := im.d.SetInfo(ctx, info); err != nil {
			return err
		}
		if c, err = im.d.Commit(ctx, im.message(complete)); err != nil {
			return err
		}
	}
	im.pending, im.unsaved, im.settled = 0, 0, complete
	im.report.URI, im.report.Rows, im.report.Commit, im.report.Version, im.report.Complete = im.d.URI(), c.Rows, c.Commit, c.Version, complete
	alone := c.Version == im.version+1
	im.version = c.Version
	if im.known && !alone && !complete {
		return errs.Op("import to", im.d.URI()).New(errs.Conflict, "somebody else has committed meanwhile, and rows may have moved; run the import again, it goes on from here")
	}
	return nil
}

func (im *importer) message(complete bool) string {
	switch {
	case !complete:
		return "import from " + im.source.URI() + " (checkpoint)"
	case im.o.Message == "":
		return "import from " + im.source.URI()
	}
	return im.o.Message
}
