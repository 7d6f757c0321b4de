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
	parts   []bulkPart
	jobs    []int // where the parts of each end

	mu     sync.Mutex
	failed Failure
}

// bulkTensor is one tensor of a bulk read.
type bulkTensor struct {
	name string
	plan *chunk.GatherPlan
	dst  []byte
}

// bulkPart is samples [from, to) of a tensor, the first of which is in the given run.
type bulkPart struct{ tensor, run, from, to int }

// Failure is a sample that a bulk read could not read.
type Failure struct {
	Tensor   int // in order of Add
	Position int // among the requested samples
	Err      error
}

// Add adds the samples of a plan, before Cut. They go to dst in the requested order. Add clears the
// samples of holes.
func (b *Bulk) Add(name string, plan *chunk.GatherPlan, dst []byte) {
	for _, p := range plan.Holes {
		clear(dst[int64(p)*plan.Size : (int64(p)+1)*plan.Size])
	}
	b.tensors = append(b.tensors, bulkTensor{name, plan, dst})
}

// Cut makes jobs of whole blocks, at most about so many. A job of little work may span tensors.
func (b *Bulk) Cut(most int) {
	total := int64(0)
	for i := range b.tensors {
		plan := b.tensors[i].plan
		for k := range plan.Runs {
			total += int64(plan.Runs[k].To-plan.Runs[k].From) * itemCost(plan, &plan.Runs[k])
		}
	}
	want, cost := max(total/int64(max(most, 1)), bulkJobCost), int64(0)
	for i := range b.tensors {
		cost = b.cut(i, want, cost)
	}
	if cost > 0 {
		b.jobs = append(b.jobs, len(b.parts))
	}
}

// cut appends the samples of a tensor to jobs that cost about want each. cost is that of the job
// under way, before and after the call.
func (b *Bulk) cut(tensor int, want, cost int64) int64 {
	plan := b.tensors[tensor].plan
	p := bulkPart{tensor: tensor}
	for k := range plan.Runs {
		run := &plan.Runs[k]
		each := itemCost(plan, run)
		for at := run.From; at < run.To; {
			end := run.To
			if n := max((want-cost+each-1)/each, 1); int64(end-at) > n {
				end = run.Chunk.BlockEnd(plan.Items, at+int(n)-1, end)
			}
			cost += int64(end-at) * each
			if at = end; cost >= want {
				p.to, cost = at, 0
				b.parts = append(b.parts, p)
				b.jobs = append(b.jobs, len(b.parts))
				p.from, p.run = at, k
				if at == run.To {
					p.run++
				}
			}
		}
	}
	if p.to = len(plan.Items); p.from < p.to {
		b.parts = append(b.parts, p)
	}
	return cost
}

// itemCost estimates the cost of a sample of a run, with its share of the cost of blocks.
func itemCost(plan *chunk.GatherPlan, run *chunk.Run) int64 {
	n := int64(run.To - run.From)
	first, _ := run.Chunk.Index.BlockOf(plan.Items[run.From])
	last, _ := run.Chunk.Index.BlockOf(plan.Items[run.To-1])
	return bulkItemCost + plan.Size/8 + min(int64(last-first)+1, n)*bulkBlockCost/n
}

// Jobs returns the number of jobs.
func (b *Bulk) Jobs() int { return len(b.jobs) }

// Spans appends the bytes of a job, block by block as a job of single samples would.
func (b *Bulk) Spans(job int, out []chunk.Span) []chunk.Span {
	b.eachRun(job, func(tensor int, run *chunk.Run, from, to int) {
		items := b.tensors[tensor].plan.Items
		for at := from; at < to; at = run.Chunk.BlockEnd(items, at, to) {
			out = run.Chunk.Spans(items[at], 1, out)
		}
	})
	return out
}

// Run does a job. It fails for no sample: see Failure.
func (b *Bulk) Run(ctx context.Context, job int, w *chunk.Worker) error {
	b.eachRun(job, func(tensor int, run *chunk.Run, from, to int) {
		t := &b.tensors[tensor]
		w.Gather(ctx, t.plan, run, from, to, t.dst, func(from, to int, err error) { b.fail(tensor, from, to, err) })
	})
	return nil
}

// eachRun calls fn for the samples of a job in each run.
func (b *Bulk) eachRun(job int, fn func(tensor int, run *chunk.Run, from, to int)) {
	first := 0
	if job > 0 {
		first = b.jobs[job-1]
	}
	for _, p := range b.parts[first:b.jobs[job]] {
		runs := b.tensors[p.tensor].plan.Runs
		for k, from := p.run, p.from; from < p.to; k++ {
			to := min(runs[k].To, p.to)
			fn(p.tensor, &runs[k], from, to)
			from = to
		}
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
