package loader

import (
	"context"
	"slices"
	"sync/atomic"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/read"
	"deeplake/core/slab"
	"deeplake/core/storage"
	"deeplake/core/tensor"
	"deeplake/core/transform"
)

// ReadOptions are the options of one batch of given rows. Fields have the meaning that they have in
// Options, and so have their zero values.
type ReadOptions struct {
	Tensors     []string                  `json:"tensors"`
	Collate     string                    `json:"collate"`
	CollateOf   map[string]string         `json:"collate_of"`
	Padding     map[string]Padding        `json:"padding"`
	Decode      map[string]string         `json:"decode"`
	ReturnIndex bool                      `json:"return_index"`
	MarkHoles   bool                      `json:"mark_holes"`  // see NullSuffix
	Workers     int                       `json:"num_workers"` // threads; few rows use fewer
	Transform   map[string]transform.Spec `json:"transform"`
	Upright     []string                  `json:"apply_exif_orientation"`
	Joint       []Joint                   `json:"together"`
	Seed        uint64                    `json:"seed"`  // of the draws of transforms
	Epoch       int64                     `json:"epoch"` // of the draws of transforms
}

// Given is a row in memory, as a Source of one row.
type Given struct {
	Row     int64 // its number, for draws
	Columns []GivenColumn
}

// GivenColumn is a sample in memory.
type GivenColumn struct {
	Named  string
	HType  string
	Info   map[string]any
	Sample tensor.Sample
}

// Transform delivers a row in memory as a batch of one row, as Reader.Read does with rows of a
// view. The caller releases its slab.
func Transform(ctx context.Context, g *Given, o ReadOptions) (*Batch, error) {
	r := NewReader(SourceOf(g))
	defer r.Close()
	return r.Read(ctx, []int64{0}, o)
}

// Len is 1.
func (g *Given) Len() int64 { return 1 }

// Names lists the columns.
func (g *Given) Names() []string {
	names := make([]string, len(g.Columns))
	for i := range g.Columns {
		names[i] = g.Columns[i].Named
	}
	return names
}

// Column finds a column by name.
func (g *Given) Column(name string) (*givenColumn, error) {
	for i := range g.Columns {
		if g.Columns[i].Named == name {
			return &givenColumn{&g.Columns[i], g.Row}, nil
		}
	}
	return nil, unknown(name, g.Names())
}

// StoredBytes is 0: nothing is stored.
func (g *Given) StoredBytes(context.Context) (int64, error) { return 0, nil }

// NewWorker makes scratch memory.
func (g *Given) NewWorker() *chunk.Worker { return chunk.NewWorker(nil) }

// Remote is false.
func (g *Given) Remote() bool { return false }

// Traffic is none.
func (g *Given) Traffic() storage.Stats { return storage.Stats{} }

// Identity is errs.Unsupported: the row is of no dataset.
func (g *Given) Identity() (dataset, commit, selection string, err error) {
	return "", "", "", errs.New(errs.Unsupported, "a row in memory is of no dataset")
}

// givenColumn is a GivenColumn as a read.Column.
type givenColumn struct {
	given *GivenColumn
	row   int64
}

func (c *givenColumn) Name() string        { return c.given.Named }
func (c *givenColumn) DType() tensor.DType { return c.given.Sample.DType }
func (c *givenColumn) Sequence() bool      { return false }
func (c *givenColumn) Encoded() bool       { return false }

func (c *givenColumn) Access() read.Access {
	return read.Access{HType: c.given.HType, Info: c.given.Info}
}

func (c *givenColumn) Resolve(_ context.Context, _ []int64, refs []chunk.Ref) error {
	s := &c.given.Sample
	n := int64(len(s.Data))
	for i := range refs {
		refs[i] = chunk.Ref{Row: c.row, Items: 1, Shape: s.Shape, Size: n, Stored: n, Computed: s.Data}
		if s.Data == nil {
			refs[i].Computed = []byte{} // a sample without elements is no hole
		}
	}
	return nil
}

func (c *givenColumn) Items(context.Context, *chunk.Ref, []chunk.Ref) error {
	return errs.New(errs.Internal, "a row in memory has no sequences")
}

func (c *givenColumn) Decode(_ context.Context, ref *chunk.Ref, dst []byte, _ *chunk.Worker) error {
	copy(dst, ref.Computed)
	return nil
}

func (c *givenColumn) Stored(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error {
	return c.Decode(ctx, ref, dst, w)
}

// NullSuffix ends the name of the column of bools that marks holes. The column exists if
// ReadOptions.MarkHoles is set, the tensor is stacked, and a row is a hole; holes are zeros then.
// Only bulk reads mark holes: in a read of few rows, or of samples that cannot be read in bulk, a
// hole is an error.
const NullSuffix = "_null"

// cachedSlabs bounds the memory that a Reader keeps for the next read. Streams of rows hold a batch
// while they read the next: new pages for each would take longer than the reads.
const cachedSlabs = 16 << 20

// readerBlocks bounds the memory in which a Reader caches blocks of small samples.
const readerBlocks = 8 << 20

// Reader reads given rows of a view, batch by batch, and keeps memory and decoders in between: most
// reads are of one row. All methods may be called in parallel.
type Reader struct {
	src        Source
	ring       *slab.Ring
	workers    read.Pool[*chunk.Worker]
	blocks     *chunk.BlockCache // of workers
	workspaces *workspacePool    // of transforms
}

// NewReader makes a reader of src, which must be closed.
func NewReader(src Source) *Reader {
	r := &Reader{src: src, ring: slab.NewRing(cachedSlabs), blocks: chunk.NewBlockCache(readerBlocks), workspaces: newWorkspacePool()}
	r.workers.New = func() *chunk.Worker {
		w := src.NewWorker()
		w.CacheBlocks(r.blocks)
		return w
	}
	return r
}

// Close frees the memory for reuse. Batches stay valid; reads after it are errs.Closed.
func (r *Reader) Close() {
	r.workers.Close()
	r.blocks.Close()
	r.workspaces.Close()
	r.ring.Close()
}

// Read delivers rows of the view as one batch, in the given order; repeats are allowed. The caller
// releases its slab. Without rows, the batch is empty and its stacked columns have the shape (0,).
// After an error there is no slab to release.
func (r *Reader) Read(ctx context.Context, rows []int64, o ReadOptions) (*Batch, error) {
	b, fields, err := r.read(ctx, rows, o)
	if err != nil && len(fields) > 0 {
		err = fields[0].access.NameFile(ctx, err)
	}
	return b, err
}

// read is Read, and returns the tensors.
func (r *Reader) read(ctx context.Context, rows []int64, o ReadOptions) (*Batch, []field, error) {
	src := r.src
	all := Options{BatchSize: 1, Tensors: o.Tensors, Collate: o.Collate, CollateOf: o.CollateOf, Padding: o.Padding, Decode: o.Decode, ReturnIndex: o.ReturnIndex, Workers: o.Workers,
		Transform: o.Transform, Joint: o.Joint, Upright: o.Upright}
	all, err := all.normal()
	if err != nil {
		return nil, nil, errs.Wrap(errs.Invalid, "read rows", "", err)
	}
	fields, err := all.fields(src)
	if err == nil {
		fields = fieldsIn(fields, o.Seed, o.Epoch)
		err = all.augmentAll(fields, r.workspaces)
	}
	if err != nil {
		return nil, nil, errs.Wrap(errs.Invalid, "read rows", "", err)
	}
	if len(rows) > maxItems {
		return nil, nil, errs.Op("read rows", "").New(errs.Invalid, "%d rows at once, want at most %d", len(rows), maxItems)
	}
	n := src.Len()
	for _, row := range rows {
		if row < 0 || row >= n {
			return nil, nil, errs.Op("read rows", "").New(errs.Range, "row %d is outside [0, %d)", row, n)
		}
	}
	if src.Remote() {
		cols := make([]read.Access, len(fields))
		for i := range fields {
			cols[i] = fields[i].access
		}
		warm(ctx, cols, rows)
	}
	if b, err := r.bulk(ctx, fields, rows, &all, o.MarkHoles && len(fields) == 1); b != nil || err != nil {
		return b, fields, err
	}
	pl := &planner{fields: fields, index: all.ReturnIndex, slab: r.ring.Get, threads: all.Workers, key: transform.Key{Seed: o.Seed, Epoch: o.Epoch}}
	w := &work{}
	p := &plan{view: append([]int64{}, rows...)}
	if slices.ContainsFunc(fields, func(f field) bool { return f.looks() }) {
		pl.scratch = r.workers.Borrow()
		defer r.workers.Return(pl.scratch)
	}
	if err := pl.plan(ctx, w, p); err != nil {
		return nil, fields, err
	}
	b, err := w.readAll(ctx, r, min(all.Workers, task.Cores()))
	return b, fields, err
}

// spans appends the bytes that a job needs.
func (p *plan) spans(k int, out []chunk.Span) []chunk.Span {
	j := &p.jobs[k]
	for i := j.from; i < j.to; i++ {
		item := i
		if j.items != nil {
			item = j.items[i]
		}
		out = p.parts[j.part].refs[item].Spans(out)
	}
	return out
}

// readAll does the jobs of w on up to threads goroutines and gives the batch.
func (w *work) readAll(ctx context.Context, r *Reader, threads int) (*Batch, error) {
	var halt atomic.Bool
	err := r.do(ctx, int(w.jobs), threads, w.plan.spans, func(ctx context.Context, k int, scratch *chunk.Worker) error {
		w.run(ctx, &w.plan.jobs[k], scratch, &halt)
		return nil
	})
	if err == nil {
		w.settle(false)
		err = w.err
	}
	if err != nil {
		w.batch.Release()
		return nil, err
	}
	return w.batch, nil
}

// do does the jobs of one read, and prefetches their spans over a network.
func (r *Reader) do(ctx context.Context, jobs, threads int, spans func(k int, out []chunk.Span) []chunk.Span, run func(ctx context.Context, k int, w *chunk.Worker) error) error {
	j := read.Jobs{Count: jobs, Threads: threads, Run: run}
	if r.src.Remote() {
		j.Spans = spans
	}
	err := j.Do(ctx, &r.workers)
	if err == nil && ctx.Err() != nil {
		err = errs.Cause(ctx, "load batch")
	}
	return err
}
