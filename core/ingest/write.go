package ingest

import (
	"context"
	"os"
	"path/filepath"

	"deeplake/core/codec"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

const (
	// windowFiles and windowBytes bound the files that are read before their rows are appended; one window is read
	// while the one before it is appended.
	windowFiles = 512
	windowBytes = 16 << 20
	// maxFileBytes bounds one file: it must fit into one chunk, however large.
	maxFileBytes = 1 << 30
	// defaultCheckpoint is the number of rows between commits.
	defaultCheckpoint = 100_000
	// convertQuality is the quality of pictures that are encoded again, high because the first encoding has lost already.
	convertQuality = 95
)

// stateKey is the member of the dataset's info under which an import says how far it is.
const stateKey = "ingest"

// importer is one run of an import.
type importer struct {
	f        *folder
	d        *dataset.Dataset
	job      *Job
	report   *Report
	codec    codec.ID
	last     string // path of the last file that is appended or skipped
	sinceRow int64  // rows since the last commit
	done     int64  // files
}

// window is a run of files read into memory.
type window struct {
	files []entry
	data  [][]byte
	bytes int64
}

// run is the whole import. A canceled one commits what it has.
func (f *folder) run(ctx context.Context, env *dataset.Env, uri string, j *Job) (*Report, error) {
	// What is committed must not be cut off by the cancellation that asks for it.
	write := context.WithoutCancel(ctx)
	im := &importer{f: f, job: j, report: &Report{Classes: f.classes, Skips: []Skip{}}}
	fresh, err := im.open(write, env, uri)
	if err != nil {
		return nil, err
	}
	defer func() { _ = im.d.Close() }()
	j.update(func(p *Progress) { p.TotalFiles, p.Rows = f.files, im.report.Resumed })
	err = im.pump(ctx, write)
	canceled := errs.Is(err, errs.Canceled)
	if err != nil && !canceled {
		return nil, err
	}
	if canceled && fresh && im.report.Added == 0 {
		_ = im.d.Close()
		return nil, errs.Wrap(errs.Canceled, "import from", f.root, firstErr(dataset.Delete(write, env, uri, storage.Options{}), err))
	}
	if commitErr := im.commit(write, !canceled); commitErr != nil {
		return nil, commitErr
	}
	return im.report, err
}

func firstErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// open makes the dataset, or opens what an interrupted run has left.
func (im *importer) open(ctx context.Context, env *dataset.Env, uri string) (fresh bool, err error) {
	id, _, err := env.Codecs.Parse(im.f.codec())
	if err != nil {
		return false, err
	}
	im.codec = id
	if !im.f.options.Overwrite {
		im.d, err = dataset.Open(ctx, env, uri, dataset.OpenOptions{})
		if err == nil {
			return false, im.resume(ctx)
		}
		if !errs.Is(err, errs.NotFound) {
			return false, err
		}
	}
	if im.d, err = dataset.Create(ctx, env, uri, dataset.CreateOptions{Overwrite: im.f.options.Overwrite}); err != nil {
		return false, err
	}
	return true, im.tensors(ctx)
}

// resume continues in the dataset of an interrupted import, and refuses any other.
func (im *importer) resume(ctx context.Context) error {
	desc, err := im.d.Describe()
	if err != nil {
		return err
	}
	if len(desc.Tensors) == 0 && desc.Head.Version == 0 {
		return im.tensors(ctx) // interrupted before the first commit
	}
	state, _ := desc.Info[stateKey].(map[string]any)
	source, _ := state["source"].(string)
	complete, _ := state["complete"].(bool)
	switch {
	case state == nil || complete:
		return errs.New(errs.Exists, "import to %q: a dataset exists there; choose another place, or overwrite it", desc.URI)
	case source != im.f.root:
		return errs.New(errs.Exists, "import to %q: an interrupted import from %q lies there; continue that one, or overwrite it", desc.URI, source)
	}
	im.last, _ = state["after"].(string)
	im.report.Resumed = desc.Rows
	return nil
}

func (im *importer) tensors(ctx context.Context) error {
	spec := dataset.TensorSpec{Name: "images", HType: "image.rgb", Compression: im.f.codec()}
	if im.codec == codec.JPEG {
		spec.Quality = convertQuality
	}
	if err := im.d.CreateTensor(ctx, spec); err != nil {
		return err
	}
	if im.f.classes == nil {
		return nil
	}
	return im.d.CreateTensor(ctx, dataset.TensorSpec{Name: "labels", HType: "class_label", ClassNames: im.f.classes})
}

// pump reads windows of files ahead and appends them in order.
func (im *importer) pump(ctx, write context.Context) error {
	g := task.New(ctx, 0)
	lists, windows := make(chan []entry), make(chan *window)
	g.Go(func(ctx context.Context) error {
		defer close(lists)
		return im.list(ctx, lists)
	})
	g.Go(func(ctx context.Context) error {
		defer close(windows)
		for files := range lists {
			w, err := im.read(ctx, files)
			if err != nil {
				return err
			}
			select {
			case windows <- w:
			case <-ctx.Done():
				return nil
			}
		}
		return nil
	})
	var err error
	for w := range windows {
		if err == nil && ctx.Err() == nil {
			if err = im.append(write, w); err != nil {
				g.Stop()
			}
		}
	}
	if waited := g.Wait(); err == nil {
		err = waited
	}
	if err == nil && ctx.Err() != nil {
		err = errs.Wrap(errs.Canceled, "import from", im.f.root, ctx.Err())
	}
	return err
}

// list sends the files that are still to be taken, in windows.
func (im *importer) list(ctx context.Context, out chan<- []entry) error {
	var files []entry
	bytes := int64(0)
	send := func() bool {
		select {
		case out <- files:
			files, bytes = nil, 0
			return true
		case <-ctx.Done():
			return false
		}
	}
	last := im.last // the state of the run before; the run itself moves on in another goroutine
	err := im.f.walk(ctx, func(file entry) bool {
		if last != "" && !after(file.path, last) {
			return true
		}
		if file.err == nil {
			file.size, file.err = im.f.sizeOf(file.path)
		}
		files = append(files, file)
		bytes += file.size
		return len(files) < windowFiles && bytes < windowBytes || send()
	})
	if err == nil && len(files) > 0 {
		send()
	}
	return err
}

// sizeOf is the size of a file, which windows are bounded by.
func (f *folder) sizeOf(path string) (int64, error) {
	st, err := os.Stat(filepath.Join(f.root, filepath.FromSlash(path)))
	switch {
	case err != nil:
		return 0, err
	case !st.Mode().IsRegular():
		return 0, errs.New(errs.Invalid, "not a regular file")
	case st.Size() > maxFileBytes:
		return 0, errs.New(errs.Invalid, "the file has %d bytes, want at most %d", st.Size(), int64(maxFileBytes))
	}
	return st.Size(), nil
}

func (im *importer) workers() int {
	if im.f.options.Workers > 0 {
		return im.f.options.Workers
	}
	return max(4, 2*task.Cores())
}

// read loads the files of a window in parallel.
func (im *importer) read(ctx context.Context, files []entry) (*window, error) {
	w := &window{files: files, data: make([][]byte, len(files))}
	n := im.workers()
	g := task.New(ctx, 0)
	for k := range n {
		g.Go(func(ctx context.Context) error {
			for i := k; i < len(files) && ctx.Err() == nil; i += n {
				if files[i].err == nil {
					w.data[i], files[i].err = os.ReadFile(filepath.Join(im.f.root, filepath.FromSlash(files[i].path)))
				}
			}
			return nil
		})
	}
	err := g.Wait()
	for _, d := range w.data {
		w.bytes += int64(len(d))
	}
	return w, err
}

// append appends the rows of a window. A file that the dataset refuses is skipped and reported.
func (im *importer) append(ctx context.Context, w *window) error {
	images := tensor.Rows{Tensor: "images"}
	labels := tensor.Rows{Tensor: "labels"}
	var from []int
	for i, file := range w.files {
		if reason := im.refuse(file, w.data[i]); reason != "" {
			im.skip(file.path, reason)
			continue
		}
		from = append(from, i)
		images.Samples = append(images.Samples, tensor.Sample{Form: tensor.FormEncoded, Data: w.data[i]})
		labels.Samples = append(labels.Samples, tensor.Sample{Form: tensor.FormText, DType: tensor.String, Data: []byte(file.class())})
		if id, _ := codec.Sniff(w.data[i]); id != im.codec && im.codec != codec.None {
			im.report.Converted++
		}
	}
	added, err := im.appendRows(ctx, w, from, images, labels)
	if err != nil {
		return err
	}
	im.report.Added += added
	im.report.Bytes += w.bytes
	im.done += int64(len(w.files))
	im.last = w.files[len(w.files)-1].path
	im.job.update(func(p *Progress) {
		p.Rows = im.report.Resumed + im.report.Added
		p.Files = im.done
		p.Bytes = im.report.Bytes
	})
	im.sinceRow += added
	checkpoint := im.f.options.Checkpoint
	if checkpoint == 0 {
		checkpoint = defaultCheckpoint
	}
	if im.sinceRow >= checkpoint {
		return im.commit(ctx, false)
	}
	return nil
}

// refuse says why a file is no image for this dataset, "" if it is one.
func (im *importer) refuse(file entry, data []byte) string {
	if file.err != nil {
		return file.err.Error()
	}
	if _, ok := codec.Sniff(data); !ok {
		if len(data) == 0 {
			return "the file is empty"
		}
		return "not a JPEG or PNG file"
	}
	if im.f.classes != nil && file.class() == "" {
		return "lies outside the class folders, hence has no label"
	}
	return ""
}

func (im *importer) skip(path, reason string) {
	im.report.Skipped++
	if len(im.report.Skips) < shownSkips {
		im.report.Skips = append(im.report.Skips, Skip{Path: path, Reason: reason})
	}
}

// appendRows appends all rows at once; where one of them is refused, the rows one by one, so that only the bad ones are
// left out.
func (im *importer) appendRows(ctx context.Context, w *window, from []int, images, labels tensor.Rows) (int64, error) {
	columns := func(lo, hi int) []tensor.Rows {
		cols := []tensor.Rows{{Tensor: images.Tensor, Samples: images.Samples[lo:hi]}}
		if im.f.classes != nil {
			cols = append(cols, tensor.Rows{Tensor: labels.Tensor, Samples: labels.Samples[lo:hi]})
		}
		return cols
	}
	err := im.d.Append(ctx, columns(0, len(from)), int64(len(from)))
	if err == nil || !bad(err) {
		return int64(len(from)), err
	}
	added := int64(0)
	for i, k := range from {
		err := im.d.Append(ctx, columns(i, i+1), 1)
		switch {
		case err == nil:
			added++
		case bad(err):
			im.skip(w.files[k].path, err.Error())
		default:
			return added, err
		}
	}
	return added, nil
}

// bad reports whether err is about the sample and not about the store.
func bad(err error) bool {
	switch errs.KindOf(err) {
	case errs.Invalid, errs.Type, errs.Corrupt, errs.Unsupported:
		return true
	}
	return false
}

// commit makes a checkpoint, or with complete the end of the import.
func (im *importer) commit(ctx context.Context, complete bool) error {
	desc, err := im.d.Describe()
	if err != nil {
		return err
	}
	info := map[string]any{}
	for k, v := range desc.Info {
		info[k] = v
	}
	info[stateKey] = map[string]any{"source": im.f.root, "after": im.last, "complete": complete}
	if err := im.d.SetInfo(ctx, info); err != nil {
		return err
	}
	message := im.f.options.Message
	switch {
	case !complete:
		message = "import from " + im.f.root + " (checkpoint)"
	case message == "":
		message = "import from " + im.f.root
	}
	c, err := im.d.Commit(ctx, message)
	if err != nil {
		return err
	}
	im.sinceRow = 0
	im.report.URI, im.report.Rows, im.report.Commit, im.report.Version, im.report.Complete = im.d.URI(), c.Rows, c.Commit, c.Version, complete
	return nil
}
