package loader

import (
	"context"
	"sync/atomic"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/read"
	"deeplake/core/slab"
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

// NullSuffix ends the name of the column of bools that marks holes. The column exists if
// ReadOptions.MarkHoles is set, the tensor is stacked, and a row is a hole; holes are zeros then.
// Only bulk reads mark holes: in a read of few rows, or of samples that cannot be read in bulk, a
// hole is an error.
const NullSuffix = "_null"

// cachedSlabs bounds the memory that a Reader keeps for the next read.
const cachedSlabs = 4 << 20

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
	src := r.src
	all := Options{BatchSize: 1, Tensors: o.Tensors, Collate: o.Collate, CollateOf: o.CollateOf, Padding: o.Padding, Decode: o.Decode, ReturnIndex: o.ReturnIndex, Workers: o.Workers,
		Transform: o.Transform, Joint: o.Joint, Upright: o.Upright}
	all, err := all.normal()
	if err != nil {
		return nil, errs.Wrap(errs.Invalid, "read rows", "", err)
	}
	fields, err := all.fields(src)
	if err == nil {
		err = all.augmentAll(fields, r.workspaces)
	}
	if err != nil {
		return nil, errs.Wrap(errs.Invalid, "read rows", "", err)
	}
	if len(rows) > maxItems {
		return nil, errs.Op("read rows", "").New(errs.Invalid, "%d rows at once, want at most %d", len(rows), maxItems)
	}
	n := src.Len()
	for _, row := range rows {
		if row < 0 || row >= n {
			return nil, errs.Op("read rows", "").New(errs.Range, "row %d is outside [0, %d)", row, n)
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
		return b, err
	}
	pl := &planner{fields: fields, index: all.ReturnIndex, slab: r.ring.Get, threads: all.Workers, key: transform.Key{Seed: o.Seed, Epoch: o.Epoch}}
	w := &work{}
	p := &plan{view: append([]int64{}, rows...)}
	if len(o.Upright) > 0 {
		pl.scratch = r.workers.Borrow()
		defer r.workers.Return(pl.scratch)
	}
	if err := pl.plan(ctx, w, p); err != nil {
		return nil, err
	}
	return w.readAll(ctx, r, min(all.Workers, task.Cores()))
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
