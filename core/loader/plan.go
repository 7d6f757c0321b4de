package loader

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/read"
	"deeplake/core/slab"
	"deeplake/core/transform"
)

// work is a batch under construction. The planner plans it, the workers fill it, and the last of
// them finishes it.
type work struct {
	seq   int64
	batch *Batch // nil: planning failed, or every row was skipped
	cols  []int  // column of each part
	jobs  int64
	next  atomic.Int64 // job to be taken
	left  atomic.Int64 // jobs not done
	plan  *plan        // of the jobs; reused when left is 0
	bulk  *read.Bulk   // does the jobs instead of the plan; nil: it does not
	key   transform.Key
	split Split // of the images that a device can finish

	mu       sync.Mutex
	failed   []failure
	accepted []failure // delivered all the same

	// These are written before ready, which is set under the lock of the epoch.
	ready       bool
	err         error
	skips       []failure
	accepts     []failure
	loaded      int64 // rows delivered
	bytes       int64 // filled in the slab
	storedBytes int64 // of the same samples, as stored
}

// failure is a sample that could not be read.
type failure struct {
	position int // of the row in the batch
	row      int64
	tensor   string
	err      error
	named    bool // err names the file of the row, if one is known
}

// plan is the memory of one batch's planning, reused from batch to batch.
type plan struct {
	view   []int64 // rows of the view
	rows   []int64 // the same rows in the dataset
	valid  int     // the first ones count, the others are repeated
	marked bool    // add the column ValidName
	parts  []part
	order  []int32 // positions in the batch, in order of rows
	jobs   []job

	sorted  []int64     // view in order
	found   []chunk.Ref // of sorted
	sources []int32     // of rows: which view each is of; filled in where that is delivered
	sorter  read.Sorter

	tried bool                // the rows were located for a bulk read
	even  bool                // and they can be read so
	plans []*chunk.GatherPlan // of that read
}

// job is a run of items of one part.
type job struct {
	part  int
	items []int32 // nil: from to to themselves
	from  int32
	to    int32
}

// jobCost is the least cost of a job in nanoseconds: a thousand times the cost of taking a job.
const jobCost = 50_000

// Each job of samples that are decoded together has a fixed cost. Jobs are therefore as large as
// possible while every thread gets some of each batch. A job ends within maxRunCost, before the
// scheduler would preempt its thread.
const (
	jobsPerThread = 4
	maxRunCost    = 8_000_000
)

// maxItems bounds the items of one tensor in a batch: their positions are 32 bits wide.
const maxItems = 1<<31 - 1

// cost estimates how long an item takes, in nanoseconds, from the measured cost model of decoders
// and copies.
func (p *part) cost(i int) int64 {
	r := &p.refs[i]
	if p.field.encoded && !p.field.stored {
		cost := 2000 + 10*r.Stored + r.Size/2
		if p.field.augment != nil {
			// about two thirds of the picture are decoded, and the result costs more than a copy
			cost = cost*2/3 + p.length(i)
		}
		return cost
	}
	return 200 + p.length(i)/8
}

// planner makes works out of rows. It holds no state: any goroutine may use it.
type planner struct {
	fields  []field
	skip    bool // leave out rows that cannot be read
	index   bool // add the column of dataset rows
	source  bool // and that of the views they are of
	slab    func(size int64) (*slab.Slab, error)
	threads int // that will do the jobs
	key     transform.Key
	bulk    *bulkChance   // nil: samples are read one by one
	scratch *chunk.Worker // reads how images are turned, and boxes; nil where no field looks
}

// plan makes w a batch of the rows p.view, in the memory of p. The batch delivers plan's error. A
// batch with all rows skipped stays nil.
func (pl *planner) plan(ctx context.Context, w *work, p *plan) error {
	wanted := len(p.view)
	w.key = pl.key
	if pl.locate(ctx, p) && pl.gather(w, p) {
		return nil
	}
	if err := pl.resolve(ctx, w, p); err != nil {
		return err
	}
	if len(p.view) == 0 && wanted > 0 {
		return nil
	}
	return pl.arrange(w, p)
}

// resolve finds the samples of all rows, and drops the rows to skip.
func (pl *planner) resolve(ctx context.Context, w *work, p *plan) error {
	if len(p.parts) != len(pl.fields) {
		p.parts = make([]part, len(pl.fields))
	}
	p.sort(ctx)
	drop := &dropper{skip: pl.skip, work: w}
	for i := range p.parts {
		p.parts[i].field = &pl.fields[i]
		if err := p.find(ctx, &p.parts[i], drop); err != nil {
			return err
		}
	}
	for i := range p.parts {
		if err := checkHoles(&p.parts[i], drop); err != nil {
			return err
		}
	}
	drop.apply(p)
	for {
		for i := range p.parts {
			if err := p.parts[i].expand(ctx, drop); err != nil {
				return err
			}
		}
		for i := range p.parts {
			if err := p.parts[i].turnUpright(ctx, pl.scratch, drop); err != nil {
				return err
			}
		}
		if err := p.augmented(ctx, pl.key, pl.scratch, drop); err != nil {
			return err
		}
		if !drop.apply(p) {
			break
		}
	}
	p.rows, p.sources = p.rows[:0], p.sources[:0]
	for i := range p.parts[0].rows {
		p.rows = append(p.rows, p.parts[0].rows[i].Row)
		if pl.source {
			p.sources = append(p.sources, p.parts[0].rows[i].Source)
		}
	}
	return nil
}

// sort brings the rows into order.
func (p *plan) sort(ctx context.Context) {
	p.sorted = append(p.sorted[:0], p.view...)
	p.order = append(p.order[:0], p.sorter.Sort(ctx, p.sorted)...)
}

// find resolves one column in order of rows, so that neighbours in a chunk follow each other. If
// that fails, it resolves row by row, so that the error names the row.
func (p *plan) find(ctx context.Context, part *part, drop *dropper) error {
	n := len(p.view)
	p.found = slices.Grow(p.found[:0], n)[:n]
	clear(p.found)
	part.rows = slices.Grow(part.rows[:0], n)[:n]
	if part.field.col.Resolve(ctx, p.sorted, p.found) == nil {
		for k, i := range p.order {
			part.rows[i] = p.found[k]
		}
		return nil
	}
	for i, row := range p.view {
		part.rows[i] = chunk.Ref{}
		if err := part.field.col.Resolve(ctx, p.view[i:i+1], part.rows[i:i+1]); err != nil {
			// the number in the dataset is unknown; in a whole dataset it is the same
			part.rows[i] = chunk.Ref{Row: row}
			if err := drop.fail(ctx, i, row, part.field.name, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// byRow lists the positions of rows in order of rows, in the memory of order.
func byRow(order []int32, rows []int64) []int32 {
	order = order[:0]
	for i := range rows {
		order = append(order, int32(i))
	}
	if !slices.IsSorted(rows) {
		slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(rows[a], rows[b]), cmp.Compare(a, b)) })
	}
	return order
}

// checkHoles finds rows without a sample: null if the user takes a list, else an error.
func checkHoles(p *part, drop *dropper) error {
	p.null = nil
	for i := range p.rows {
		if !p.rows[i].Hole() || drop.dropped(i) {
			continue
		}
		if p.field.needsAll() {
			err := errs.New(errs.Type, "row %d of tensor %q has no sample; a query with %s IS NOT NULL leaves such rows out, and collate=\"list\" gives None for them", p.rows[i].Row, p.field.name, p.field.name)
			if !drop.skip {
				return err
			}
			drop.add(i, p.rows[i].Row, p.field.name, err)
			continue
		}
		if p.null == nil {
			p.null = make([]bool, len(p.rows))
		}
		p.null[i] = true
	}
	return nil
}

// expand finds the items of sequences. Of other tensors, rows are the items.
func (p *part) expand(ctx context.Context, drop *dropper) error {
	if !p.field.seq {
		p.refs = p.rows
		return nil
	}
	p.splits = make([]int64, 1, len(p.rows)+1)
	p.refs = nil // a slice of its own: rows may be expanded again after a row was dropped
	for i := range p.rows {
		r := &p.rows[i]
		from := len(p.refs)
		if !r.Hole() && r.Items > 0 {
			if r.Items > maxItems-int64(from) {
				return errs.New(errs.Invalid, "the sequences of tensor %q have more than %d items in one batch; use a smaller batch_size", p.field.name, maxItems)
			}
			p.refs = slices.Grow(p.refs, int(r.Items))[:from+int(r.Items)]
			clear(p.refs[from:])
			if err := p.field.col.Items(ctx, r, p.refs[from:]); err != nil {
				if err := drop.fail(ctx, i, r.Row, p.field.name, err); err != nil {
					return err
				}
			}
			if most := p.field.mostItems(); int64(len(p.refs)-from) > most {
				p.refs = p.refs[:from+int(most)]
			}
		}
		p.splits = append(p.splits, int64(len(p.refs)))
	}
	return nil
}

// turnUpright turns the images of a field for which the user wants it.
func (p *part) turnUpright(ctx context.Context, scratch *chunk.Worker, drop *dropper) error {
	if !p.field.upright {
		return nil
	}
	for i := range p.refs {
		position := p.positionOf(i)
		if p.refs[i].Hole() || drop.dropped(position) {
			continue
		}
		if err := p.field.access.TurnUpright(ctx, &p.refs[i], scratch); err != nil {
			if err := drop.fail(ctx, position, p.rows[position].Row, p.field.name, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// arrange lays the batch out in a slab and cuts it into jobs.
func (pl *planner) arrange(w *work, p *plan) error {
	var l layout
	b := &Batch{Index: w.seq, Rows: len(p.view)}
	w.cols = w.cols[:0]
	for i := range p.parts {
		cols, err := l.column(&p.parts[i])
		if err != nil {
			return err
		}
		w.cols = append(w.cols, len(b.Columns))
		b.Columns = append(b.Columns, cols...)
	}
	tensors := len(b.Columns)
	err := l.marks(pl, p, b)
	if err != nil {
		return err
	}
	if b.Slab, err = pl.slab(l.used); err != nil {
		return err
	}
	mem := b.Slab.Bytes()
	for i := range p.parts {
		last := tensors
		if i+1 < len(w.cols) {
			last = w.cols[i+1]
		}
		fixed(mem, &p.parts[i], b.Columns[w.cols[i]:last])
	}
	p.mark(b, b.Columns[tensors:])
	w.batch, w.plan = b, p
	pl.cut(w, p)
	return nil
}

// cut makes the jobs. Items are in order of rows, hence of chunks, so that a worker meets the items
// of one block together. Clips that need the same packets are in one job, however long it takes.
func (pl *planner) cut(w *work, p *plan) {
	inOrder := len(p.order) == len(p.rows)
	for k := 1; inOrder && k < len(p.order); k++ {
		inOrder = p.rows[p.order[k-1]] <= p.rows[p.order[k]]
	}
	if !inOrder { // rows were dropped, or the view has an order of its own
		p.order = byRow(p.order, p.rows)
	}
	p.jobs = p.jobs[:0]
	for i := range p.parts {
		part := &p.parts[i]
		items := p.order
		if part.splits != nil {
			items = nil // sequences of a batch are read as they come
		} else if part.field.access.Clips {
			part.near = byPart(part.near, p.order, part.refs)
			items = part.near
		}
		target := pl.target(part)
		var sum int64
		var group shared
		from := 0
		for k := range part.count() {
			item := k
			if items != nil {
				item = int(items[k])
			}
			w.bytes += part.length(item)
			w.storedBytes += part.refs[item].Stored
			if !group.add(&part.refs[item]) && sum >= target {
				p.jobs = append(p.jobs, job{part: i, items: items, from: int32(from), to: int32(k)})
				from, sum = k, 0
			}
			sum += part.cost(item)
		}
		if n := part.count(); from < n {
			p.jobs = append(p.jobs, job{part: i, items: items, from: int32(from), to: int32(n)})
		}
	}
	w.jobs = int64(len(p.jobs))
	w.left.Store(w.jobs)
}

// byPart lists the items of a tensor of parts of samples, as clips are, in the memory of out: parts
// of one sample follow each other, in order of their bytes. order is that of the rows.
func byPart(out, order []int32, refs []chunk.Ref) []int32 {
	out = append(out[:0], order...)
	slices.SortStableFunc(out, func(a, b int32) int {
		x, y := &refs[a], &refs[b]
		first, _ := extent(x)
		second, _ := extent(y)
		return cmp.Or(cmp.Compare(x.Source, y.Source), cmp.Compare(x.Row, y.Row), cmp.Compare(first, second))
	})
	return out
}

// extent returns the range of bytes that a part of a sample needs of its object; (0, 0) if it needs
// none.
func extent(r *chunk.Ref) (from, to int64) {
	if r.Partial == nil || len(r.Partial.Spans) == 0 {
		return 0, 0
	}
	from = r.Partial.Spans[0].Offset
	for _, s := range r.Partial.Spans {
		from, to = min(from, s.Offset), max(to, s.Offset+s.Bytes)
	}
	return from, to
}

// shared follows the items of a job.
type shared struct {
	last *chunk.Ref
	to   int64 // the end of the bytes that the last items need
}

// add reports whether an item is a part of the sample of the item before, and needs bytes that this
// or an earlier one needs. The decoder of such parts does less for all of them than one by one.
func (s *shared) add(r *chunk.Ref) bool {
	from, to := extent(r)
	same := s.last != nil && s.last.Source == r.Source && s.last.Chunk == r.Chunk && s.last.Item == r.Item && from < s.to
	if !same {
		s.to = 0
	}
	s.last, s.to = r, max(s.to, to)
	return same
}

// target returns the cost that a job of part should have.
func (pl *planner) target(part *part) int64 {
	if !part.field.runs && part.field.augment == nil {
		return jobCost
	}
	all := int64(0)
	for i := range part.count() {
		all += part.cost(i)
	}
	return min(max(all/int64(jobsPerThread*max(pl.threads, 1)), jobCost), maxRunCost)
}

// dropper collects the rows of a batch to skip.
type dropper struct {
	skip bool
	work *work
	bad  []bool
	any  bool
}

// fail notes a sample that could not be found, or returns the error that ends the epoch.
func (d *dropper) fail(ctx context.Context, position int, row int64, name string, err error) error {
	if ctx.Err() != nil {
		return errs.Wrap(errs.Canceled, "load batch", "", context.Cause(ctx))
	}
	err = rowError(name, row, err)
	if !d.skip || !errs.OfSample(err) {
		return err
	}
	d.add(position, row, name, err)
	return nil
}

func (d *dropper) add(position int, row int64, name string, err error) {
	for len(d.bad) <= position {
		d.bad = append(d.bad, false)
	}
	if !d.bad[position] {
		d.bad[position], d.any = true, true
		d.work.skips = append(d.work.skips, failure{row: row, tensor: name, err: err})
	}
}

func (d *dropper) dropped(position int) bool { return position < len(d.bad) && d.bad[position] }

// apply takes the dropped rows out of the plan and reports whether there were any.
func (d *dropper) apply(p *plan) bool {
	if !d.any {
		return false
	}
	keep := make([]bool, len(p.view))
	for i := range keep {
		keep[i] = !d.dropped(i)
	}
	for _, cachedCol := range keep[:p.valid] {
		if !cachedCol {
			p.valid--
		}
	}
	p.view = filter(p.view, keep)
	for i := range p.parts {
		part := &p.parts[i]
		part.rows = filter(part.rows, keep)
		if part.null != nil {
			part.null = filter(part.null, keep)
		}
	}
	d.bad, d.any = d.bad[:0], false
	return true
}

// filter removes, in place, the elements of s for which keep is false.
func filter[T any](s []T, keep []bool) []T {
	n := 0
	for i := range s {
		if keep[i] {
			s[n] = s[i]
			n++
		}
	}
	return s[:n]
}

// rowError adds the sample to err.
func rowError(name string, row int64, err error) error {
	k := errs.KindOf(err)
	return errs.InRow(k, row, "read row %d of tensor %q: %w", row, name, err)
}
