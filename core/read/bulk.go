package read

import (
	"context"
	"slices"
	"sync"

	"deeplake/core/chunk"
)

// The cost of a job of a bulk read in nanoseconds, about: of a sample, of a block, and the least of
// a job.
const (
	bulkItemCost  = 4
	bulkBlockCost = 20_000
	bulkJobCost   = 200_000
)

// Bulk copies many small samples of one shape in each tensor, without a Ref for each.
type Bulk struct {
	tensors []bulkTensor
	jobs    []bulkJob

	mu     sync.Mutex
	failed Failure
}

// bulkTensor is one tensor of a bulk read.
type bulkTensor struct {
	name string
	plan *chunk.GatherPlan
	dst  []byte
}

// bulkJob is samples [from, to) of a tensor, the first of which is in the given run.
type bulkJob struct{ tensor, run, from, to int }

// Failure is a sample that a bulk read could not read.
type Failure struct {
	Tensor   int // in order of Add
	Position int // among the requested samples
	Err      error
}

// Add adds the samples of a plan. They go to dst in the requested order. Add clears the samples of
// holes.
func (b *Bulk) Add(name string, plan *chunk.GatherPlan, dst []byte) {
	for _, p := range plan.Holes {
		clear(dst[int64(p)*plan.Size : (int64(p)+1)*plan.Size])
	}
	b.tensors = append(b.tensors, bulkTensor{name, plan, dst})
	b.cut(len(b.tensors)-1, plan)
}

// cut makes jobs of whole blocks.
func (b *Bulk) cut(tensor int, plan *chunk.GatherPlan) {
	j, cost := bulkJob{tensor: tensor}, int64(0)
	for k := range plan.Runs {
		run := &plan.Runs[k]
		for at := run.From; at < run.To; {
			end := run.Chunk.BlockEnd(plan.Items, at, run.To)
			if cost == 0 {
				j.run, j.from = k, at
			}
			cost += bulkBlockCost + int64(end-at)*(bulkItemCost+plan.Size/8)
			if at = end; cost >= bulkJobCost || at == len(plan.Items) {
				j.to, cost = at, 0
				b.jobs = append(b.jobs, j)
			}
		}
	}
}

// Jobs returns the number of jobs.
func (b *Bulk) Jobs() int { return len(b.jobs) }

// Spans appends the bytes of a job, block by block as a job of single samples would.
func (b *Bulk) Spans(job int, out []chunk.Span) []chunk.Span {
	b.eachRun(job, func(t *bulkTensor, run *chunk.Run, from, to int) {
		items := t.plan.Items
		for at := from; at < to; at = run.Chunk.BlockEnd(items, at, to) {
			out = run.Chunk.Spans(items[at], 1, out)
		}
	})
	return out
}

// Run does a job. It fails for no sample: see Failure.
func (b *Bulk) Run(ctx context.Context, job int, w *chunk.Worker) error {
	b.eachRun(job, func(t *bulkTensor, run *chunk.Run, from, to int) {
		w.Gather(ctx, t.plan, run, from, to, t.dst, func(from, to int, err error) { b.fail(b.jobs[job].tensor, from, to, err) })
	})
	return nil
}

// eachRun calls fn for the part of a job in each run.
func (b *Bulk) eachRun(job int, fn func(t *bulkTensor, run *chunk.Run, from, to int)) {
	j := b.jobs[job]
	t := &b.tensors[j.tensor]
	for k, from := j.run, j.from; from < j.to; k++ {
		to := min(t.plan.Runs[k].To, j.to)
		fn(t, &t.plan.Runs[k], from, to)
		from = to
	}
}

// fail notes that samples [from, to) of a tensor could not be read. The failure of the first
// position stays, and of several tensors the first by name.
func (b *Bulk) fail(tensor, from, to int, err error) {
	first := from
	if positions := b.tensors[tensor].plan.Positions; positions != nil {
		first = int(slices.Min(positions[from:to]))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	f := &b.failed
	if f.Err == nil || first < f.Position || first == f.Position && b.tensors[tensor].name < b.tensors[f.Tensor].name {
		*f = Failure{tensor, first, err}
	}
}

// Failure returns the first sample that could not be read, once all jobs are done. Its Err is nil
// if all could.
func (b *Bulk) Failure() Failure { return b.failed }
