package export

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"deeplake/core/chunk"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/read"
	"deeplake/core/session"
	"deeplake/core/storage"
	"deeplake/core/video"
)

// exporter writes the rows of a view.
type exporter struct {
	env    *dataset.Env
	view   *session.View
	uri    string
	o      Options
	layout layout
	job    *Job
	report *Report

	store     storage.Provider
	described dataset.Description
	columns   []*column // that are written
	divided   bool      // by the tensor "split"
	spread    bool      // the user has not chosen the size of shards
	parts     []*part
	workers   read.Pool[*chunk.Worker]
	readers   []*video.Reader // of columns of videos
	copies    chan struct{}   // one for each video that is copied

	mu    sync.Mutex // of what follows
	total written
}

func (e *exporter) run(ctx context.Context) (err error) {
	e.workers.New = func() *chunk.Worker { return e.view.NewWorker() }
	defer e.workers.Close()
	e.copies = make(chan struct{}, mostCopies)
	defer e.closeReaders()
	e.described = e.view.Describe()
	e.report.Rows = e.view.Len()
	e.job.Update(func(p *Progress) { p.Total = e.report.Rows })
	if err := e.plan(ctx); err != nil {
		return err
	}
	if err := e.choose(); err != nil {
		return err
	}
	to, err := e.layout.open(ctx, e)
	if err != nil {
		return err
	}
	plain := func(uri string) string { return strings.TrimSuffix(strings.TrimPrefix(uri, "file://"), "/") + "/" }
	if strings.HasPrefix(plain(e.uri), plain(e.described.URI)) {
		return errs.New(errs.Invalid, "the place lies inside the dataset %q; name another one", e.described.URI)
	}
	if e.store, err = e.env.Stores.Open(ctx, e.uri, e.o.Storage); err != nil {
		return err
	}
	defer func() {
		if failed := e.store.Close(); err == nil {
			err = failed
		}
	}()
	done, err := e.claim(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && len(done) == 0 {
			e.release(context.WithoutCancel(ctx))
		}
	}()
	if b, ok := to.(beginner); ok {
		if err := b.begin(ctx); err != nil {
			return err
		}
	}
	facts, err := e.write(ctx, to, done)
	if err != nil {
		return err
	}
	if err := to.finish(ctx, facts); err != nil {
		return err
	}
	e.report.written = e.total
	return e.forget(ctx)
}

// choose finds the tensors to write.
func (e *exporter) choose() error {
	names := e.o.Tensors
	if names == nil {
		for _, t := range e.described.Tensors {
			names = append(names, t.Name)
		}
	}
	for i, name := range names {
		at := slices.IndexFunc(e.described.Tensors, func(t dataset.TensorDescription) bool { return t.Name == name })
		if at < 0 {
			known := make([]string, len(e.described.Tensors))
			for k, t := range e.described.Tensors {
				known[k] = t.Name
			}
			return errs.New(errs.NotFound, "there is no tensor %q%s", name, errs.Suggest(name, known))
		}
		if slices.Contains(names[:i], name) {
			return errs.New(errs.Invalid, "tensor %q is named twice", name)
		}
		if e.divided && name == splitTensor {
			continue // names of folders and files have it
		}
		c, err := e.newColumn(&e.described.Tensors[at])
		if err != nil {
			return err
		}
		e.columns = append(e.columns, c)
	}
	if len(e.columns) == 0 {
		return errs.New(errs.Invalid, "there are no tensors to write")
	}
	return nil
}

// write writes the parts that are not done, and returns the facts of all.
func (e *exporter) write(ctx context.Context, to writer, done map[int]*partRecorded) ([][]byte, error) {
	facts := make([][]byte, len(e.parts))
	threads := task.Cores()
	if e.view.Remote() || !isLocal(e.store) {
		threads *= 2 // one waits for the network while the other works
	}
	g := task.New(ctx, threads)
	for i, p := range e.parts {
		if was := done[i]; was != nil {
			facts[i] = was.Facts
			e.count(was.Written)
			for _, n := range was.Notes {
				e.note(n.Tensor, n.Text)
			}
			e.mu.Lock()
			e.report.Resumed += p.n
			e.mu.Unlock()
			e.wrote(p.n)
			continue
		}
		if g.Context().Err() != nil {
			break
		}
		g.Go(func(ctx context.Context) (err error) {
			facts[i], err = e.one(ctx, to, p)
			return err
		})
	}
	err := g.Wait()
	if err == nil && ctx.Err() != nil {
		err = errs.Cause(ctx, "write files")
	}
	return facts, err
}

// one writes a part and its record, which makes its files durable.
func (e *exporter) one(ctx context.Context, to writer, p *part) ([]byte, error) {
	p.written = &tally{}
	about, err := to.part(ctx, p)
	if err != nil {
		return nil, err
	}
	facts, err := json.Marshal(about)
	if err != nil {
		return nil, err
	}
	r := partRecorded{Written: p.written.sum(), Facts: facts}
	if r.Written.Files <= fewFiles {
		r.Files = p.written.sizes
	}
	e.mu.Lock()
	r.Notes = slices.Clone(e.report.Notes)
	e.mu.Unlock()
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	e.count(r.Written)
	err = e.store.PutIfAbsent(ctx, fmt.Sprintf(partRecord, p.index), data)
	if errs.Is(err, errs.Exists) { // an attempt before, or another run of the same export
		err = nil
	}
	return facts, err
}

// sweepAhead makes up for the clock of a file server.
const sweepAhead = time.Hour

// forget removes the records of the export, which is whole, and what killed runs have left.
func (e *exporter) forget(ctx context.Context) error {
	if s, ok := storage.As[storage.Sweeper](e.store); ok {
		if _, _, err := s.Sweep(ctx, time.Now().Add(sweepAhead), false); err != nil {
			return err
		}
	}
	keys := make([]string, len(e.parts))
	for i := range keys {
		keys[i] = fmt.Sprintf(partRecord, i)
	}
	if err := e.store.Delete(ctx, keys...); err != nil {
		return err
	}
	return e.store.Delete(ctx, planRecord)
}

// wrote adds rows to the progress.
func (e *exporter) wrote(rows int64) { e.job.Update(func(p *Progress) { p.Rows += rows }) }

func (e *exporter) count(w written) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.total.Files += w.Files
	e.total.Bytes += w.Bytes
}

// note adds to the report how a tensor comes out.
func (e *exporter) note(tensor, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := Note{tensor, text}
	if !slices.Contains(e.report.Notes, n) {
		e.report.Notes = append(e.report.Notes, n)
	}
}

// tally counts the files of a part.
type tally struct {
	mu sync.Mutex
	written
	sizes map[string]int64 // of the files, if they are few
}

// fewFiles is the number of files of a part whose sizes its record has.
const fewFiles = 4

func (t *tally) add(key string, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Files++
	t.Bytes += bytes
	if t.sizes == nil {
		t.sizes = map[string]int64{}
	}
	if t.Files <= fewFiles {
		t.sizes[key] = bytes
	}
}

func (t *tally) sum() written {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.written
}

func isLocal(p storage.Provider) bool {
	_, ok := storage.As[storage.WholeLister](p) // a directory
	return ok
}

// put writes a file of a part.
func (e *exporter) put(ctx context.Context, p *part, key string, data []byte) error {
	p.written.add(key, int64(len(data)))
	return e.store.Put(ctx, key, data)
}

// describe writes the tensors in a file that imports read. nameOf gives the name of a tensor that
// an import makes, "" for one that it makes otherwise.
func (e *exporter) describe(ctx context.Context, nameOf func(c *column) string) error {
	var specs []dataset.TensorSpec
	for _, c := range e.columns {
		name := nameOf(c)
		if name == "" {
			continue
		}
		spec := dataset.TensorSpec{
			Name: name, HType: c.of.HType, Compression: c.of.Compression, ClassNames: c.of.ClassNames,
			AddClasses: c.of.ClassNames != nil && !c.of.Closed, Upright: c.of.Upright, Info: c.of.Info,
		}
		if c.of.DType != nil {
			spec.DType = *c.of.DType
		}
		if c.of.Time != "" {
			spec.DType = c.of.Time
		}
		if c.htype.IsImage() && !c.htype.IsMask() && c.Encoded() {
			spec.Compression = "" // files of other codecs than the first stay as they are
		}
		specs = append(specs, spec)
	}
	data, err := dataset.EncodeSchema(specs)
	if err != nil {
		return err
	}
	return e.about(ctx, dataset.SchemaFile, data)
}

// about writes a file about all parts.
func (e *exporter) about(ctx context.Context, key string, data []byte) error {
	e.count(written{1, int64(len(data))})
	return e.store.Put(ctx, key, data)
}

// file is a file of a part that is written piece by piece.
type file struct {
	storage.Stream
	key   string
	bytes int64
	buf   bytes.Buffer
}

// fileBuffer bounds the bytes that a file gathers before it passes them on.
const fileBuffer = 1 << 20

// create begins a file. The caller ends it by finish, or by Abort.
func (e *exporter) create(ctx context.Context, key string) (*file, error) {
	s, err := storage.Create(ctx, e.store, key)
	if err != nil {
		return nil, err
	}
	return &file{Stream: s, key: key}, nil
}

func (f *file) Write(p []byte) (int, error) {
	f.bytes += int64(len(p))
	if f.buf.Len() == 0 && len(p) >= fileBuffer {
		return f.Stream.Write(p)
	}
	_, _ = f.buf.Write(p)
	if f.buf.Len() < fileBuffer {
		return len(p), nil
	}
	return len(p), f.flush()
}

func (f *file) flush() error {
	_, err := f.Stream.Write(f.buf.Bytes())
	f.buf.Reset()
	return err
}

// finish makes the file visible.
func (f *file) finish(ctx context.Context, t *tally) error {
	if err := f.flush(); err != nil {
		return err
	}
	t.add(f.key, f.bytes)
	return f.Stream.Finish(ctx)
}

// whole writes a file of a part by fn.
func (e *exporter) whole(ctx context.Context, p *part, key string, fn func(f *file) error) error {
	f, err := e.create(ctx, key)
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := fn(f); err != nil {
		return err
	}
	return f.finish(ctx, p.written)
}
