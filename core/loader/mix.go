package loader

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/order"
	"deeplake/core/read"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

// SourceName is the column of a mixture's batches that ReturnIndex adds beside IndexName: which
// view a row is of.
const SourceName = "_source"

// maxParts bounds the views of a mixture: choosing one costs a step for each.
const maxParts = 1024

// Part is one view of a mixture.
type Part struct {
	Source Source
	Label  string // for messages
}

// Mix is several views read as one, with the requested tensors of all. Its rows are numbered view
// after view. It is immutable and may be used in parallel.
type Mix struct {
	parts   []Part
	policy  order.MixPolicy
	names   []string
	columns map[string]read.Column
	starts  []int64 // where the rows of each part begin; the last is Len
}

// NewMix joins views. names lists the tensors; each has one element type in all views. Nil takes
// the tensors that all views have. The views must stay open while the mixture is in use.
func NewMix(parts []Part, names []string, b order.MixPolicy) (*Mix, error) {
	if len(parts) == 0 {
		return nil, errs.Op("mix", "").New(errs.Invalid, "there is no view, want at least one")
	}
	if len(parts) > maxParts {
		return nil, errs.New(errs.Invalid, "mix %d views: want 1 to %d", len(parts), maxParts)
	}
	m := &Mix{parts: slices.Clone(parts), policy: b, names: names, columns: map[string]read.Column{}, starts: make([]int64, 1, len(parts)+1)}
	for i, p := range parts {
		n := p.Source.Len()
		if n < 1 {
			return nil, errs.Op("mix views", "").New(errs.Invalid, "view %d, %s, has no rows; leave it out", i, p.Label)
		}
		m.starts = append(m.starts, m.starts[i]+n)
	}
	if names == nil {
		m.names = common(parts)
	} else if len(names) == 0 {
		return nil, errs.Op("mix views", "").New(errs.Invalid, "no tensors to load; name at least one")
	}
	if len(m.names) == 0 {
		return nil, errs.Op("mix", "").New(errs.Invalid, "no tensor is in all views: %s; rename some", tensorsOf(parts))
	}
	for _, name := range m.names {
		c, err := m.join(name)
		if err != nil {
			return nil, err
		}
		m.columns[name] = c
	}
	return m, b.Check(len(parts))
}

// isMix reports whether src is several views.
func isMix(src Source) bool {
	_, ok := src.(*Mix)
	return ok
}

// common lists the tensors that all parts have, in the order of the first.
func common(parts []Part) []string {
	var names []string
	for _, name := range parts[0].Source.Names() {
		if !slices.ContainsFunc(parts[1:], func(p Part) bool { return !slices.Contains(p.Source.Names(), name) }) {
			names = append(names, name)
		}
	}
	return names
}

// tensorsOf lists the tensors of each part for a message.
func tensorsOf(parts []Part) string {
	each := make([]string, len(parts))
	for i, p := range parts {
		each[i] = fmt.Sprintf("%s has %q", p.Label, p.Source.Names())
	}
	return strings.Join(each, "; ")
}

// join makes one column of all columns with this name.
func (m *Mix) join(name string) (read.Column, error) {
	j := &mixedColumn{mix: m, name: name}
	for i, p := range m.parts {
		c, err := p.Source.Column(name)
		if err != nil {
			return nil, errs.Op("mix views", "").New(errs.KindOf(err), "view %d, %s: %w", i, p.Label, err)
		}
		if i > 0 && (c.DType() != j.cols[0].DType() || c.Sequence() != j.cols[0].Sequence()) {
			return nil, errs.Op("mix tensor", name).New(errs.Type, "it is %s in view 0, %s, and %s in view %d, %s; want one type, or leave it out by tensors=", typeOf(j.cols[0]), m.parts[0].Label, typeOf(c), i, p.Label)
		}
		if i > 0 && c.Access().Time != j.access[0].Time {
			return nil, errs.Op("mix tensor", name).New(errs.Type, "its numbers count %q in view 0, %s, and %q in view %d, %s; want the same, or leave it out by tensors=", j.access[0].Time, m.parts[0].Label, c.Access().Time, i, p.Label)
		}
		if i > 0 && !reflect.DeepEqual(coordsOf(c), coordsOf(j.cols[0])) {
			return nil, errs.Op("mix tensor", name).New(errs.Type, "its info has the coords %v in view 0, %s, and %v in view %d, %s; want the same, or leave it out by tensors=", coordsOf(j.cols[0]), m.parts[0].Label, coordsOf(c), i, p.Label)
		}
		j.cols, j.access = append(j.cols, c), append(j.access, c.Access())
	}
	return j, nil
}

// coordsOf returns the convention of a tensor's boxes, from its info. Boxes of different
// conventions must not share a batch.
func coordsOf(c read.Column) any { return c.Access().Info["coords"] }

func typeOf(c read.Column) string {
	if c.Sequence() {
		return "a sequence of " + c.DType().String()
	}
	return c.DType().String()
}

// Len returns the number of rows of all views together.
func (m *Mix) Len() int64 { return m.starts[len(m.parts)] }

// Names lists the tensors.
func (m *Mix) Names() []string { return m.names }

// Column finds a tensor.
func (m *Mix) Column(name string) (read.Column, error) {
	if c := m.columns[name]; c != nil {
		return c, nil
	}
	return nil, unknown(name, m.names)
}

// StoredBytes returns the size of all views.
func (m *Mix) StoredBytes(ctx context.Context) (int64, error) {
	total := int64(0)
	for _, p := range m.parts {
		n, err := p.Source.StoredBytes(ctx)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// NewWorker makes a worker of the first view; all views know the same codecs.
func (m *Mix) NewWorker() *chunk.Worker { return m.parts[0].Source.NewWorker() }

// Remote reports whether one of the views is remote.
func (m *Mix) Remote() bool {
	return slices.ContainsFunc(m.parts, func(p Part) bool { return p.Source.Remote() })
}

// Traffic returns the sum over all remote views. A store that views share counts once for each.
func (m *Mix) Traffic() storage.Stats {
	var sum storage.Stats
	for _, p := range m.parts {
		if p.Source.Remote() {
			sum.Add(p.Source.Traffic())
		}
	}
	return sum
}

// part returns the view of a row.
func (m *Mix) part(row int64) int {
	return sort.Search(len(m.parts)-1, func(i int) bool { return m.starts[i+1] > row })
}

// named adds the view to an error. An ended context belongs to none.
func (m *Mix) named(part int, err error) error {
	if err == nil || errs.Is(err, errs.Canceled) {
		return err
	}
	return &partError{part, errs.New(errs.KindOf(err), "%w (view %d of the mixture, %s)", err, part, m.parts[part].Label)}
}

// partError is an error about a view of a mixture.
type partError struct {
	part int
	error
}

func (e *partError) Unwrap() error { return e.error }

// mixedColumn is one tensor of all views of a mixture.
type mixedColumn struct {
	mix    *Mix
	name   string
	cols   []read.Column
	access []read.Access // of cols
}

func (c *mixedColumn) Name() string        { return c.name }
func (c *mixedColumn) DType() tensor.DType { return c.cols[0].DType() }
func (c *mixedColumn) Sequence() bool      { return c.cols[0].Sequence() }

func (c *mixedColumn) Encoded() bool {
	return slices.ContainsFunc(c.cols, func(c read.Column) bool { return c.Encoded() })
}

// Access joins the abilities of the views. The first view gives the meaning of the samples; all
// have the same coords.
func (c *mixedColumn) Access() read.Access {
	a := read.Access{DecodeRun: c.decodeRun, DecodeROIs: c.decodeROIs, DecodeFrames: c.decodeFrames, Prefetch: c.prefetch, GatherPlan: c.gatherPlan, HType: c.access[0].HType, Time: c.access[0].Time, Info: c.access[0].Info}
	for p, own := range c.access {
		if own.TurnUpright != nil {
			a.TurnUpright = c.turnUpright
		}
		if own.DecodeROIs == nil {
			a.DecodeROIs = nil
		}
		if own.DecodeFrames == nil {
			a.DecodeFrames = nil
		}
		if own.GatherPlan == nil {
			a.GatherPlan = nil
		}
		if own.Prefetch != nil && c.mix.parts[p].Source.Remote() {
			a.StoredBytes += own.StoredBytes
		}
		if own.Origin != nil {
			a.Origin = c.origin
		}
		if own.Epoch != nil {
			a.Epoch = c.epoch
		}
		a.Clips = a.Clips || own.Clips
	}
	return a
}

// epoch returns the column as an epoch shows it.
func (c *mixedColumn) epoch(seed uint64, epoch int64) read.Column {
	out := &mixedColumn{mix: c.mix, name: c.name, cols: slices.Clone(c.cols), access: slices.Clone(c.access)}
	for i := range out.cols {
		if at := c.access[i].Epoch; at != nil {
			out.cols[i] = at(seed, epoch)
			out.access[i] = out.cols[i].Access()
		}
	}
	return out
}

// origin names the file of a row of the view that err is about.
func (c *mixedColumn) origin(ctx context.Context, row int64, err error) string {
	var at *partError
	if !errors.As(err, &at) || c.access[at.part].Origin == nil {
		return ""
	}
	return c.access[at.part].Origin(ctx, row, err)
}

// gatherPlan joins the plans of the views. It returns nil unless the rows of each view follow each
// other and all have samples of one shape.
func (c *mixedColumn) gatherPlan(ctx context.Context, rows []int64) (*chunk.GatherPlan, error) {
	m := c.mix
	joined := &chunk.GatherPlan{Items: make([]int64, 0, len(rows))}
	for from, to, last := 0, 0, -1; from < len(rows); from = to {
		if rows[from] < 0 || rows[from] >= m.Len() {
			return nil, nil
		}
		p := m.part(rows[from])
		if p <= last {
			return nil, nil
		}
		var own []int64
		for to = from; to < len(rows) && rows[to] >= m.starts[p] && rows[to] < m.starts[p+1]; to++ {
			own = append(own, rows[to]-m.starts[p])
		}
		plan, err := c.access[p].GatherPlan(ctx, own)
		if plan == nil || err != nil || len(plan.Holes) > 0 || last >= 0 && !plan.Shape.Equal(joined.Shape) {
			return nil, m.named(p, err)
		}
		join(joined, plan, from)
		last = p
	}
	if len(joined.Runs) == 0 {
		return nil, nil
	}
	return joined, nil
}

// join appends the samples of plan, which has no holes, to those of l. Its first row is the
// requested one number from.
func join(l, plan *chunk.GatherPlan, from int) {
	if plan.Positions != nil && l.Positions == nil {
		l.Positions = sequence(0, from)
	}
	if plan.Positions == nil && l.Positions != nil {
		l.Positions = append(l.Positions, sequence(from, from+len(plan.Items))...)
	}
	for _, at := range plan.Positions {
		l.Positions = append(l.Positions, at+int32(from))
	}
	for _, run := range plan.Runs {
		run.From, run.To = run.From+from, run.To+from
		l.Runs = append(l.Runs, run)
	}
	l.Items = append(l.Items, plan.Items...)
	l.Shape, l.Size = plan.Shape, plan.Size
}

// sequence returns the numbers [from, to).
func sequence(from, to int) []int32 {
	out := make([]int32, to-from)
	for i := range out {
		out[i] = int32(from + i)
	}
	return out
}

// Resolve asks view by view: rows mostly come in order.
func (c *mixedColumn) Resolve(ctx context.Context, rows []int64, refs []chunk.Ref) error {
	m := c.mix
	var own []int64
	for from, to := 0, 0; from < len(rows); from = to {
		if rows[from] < 0 || rows[from] >= m.Len() {
			return errs.New(errs.Range, "row %d is out of range, there are %d rows", rows[from], m.Len())
		}
		p := m.part(rows[from])
		own = own[:0]
		for to = from; to < len(rows) && rows[to] >= m.starts[p] && rows[to] < m.starts[p+1]; to++ {
			own = append(own, rows[to]-m.starts[p])
		}
		if err := c.cols[p].Resolve(ctx, own, refs[from:to]); err != nil {
			return m.named(p, err)
		}
		for i := from; i < to; i++ {
			refs[i].Source = int32(p)
		}
	}
	return nil
}

func (c *mixedColumn) Items(ctx context.Context, ref *chunk.Ref, items []chunk.Ref) error {
	p := ref.Source
	if err := c.cols[p].Items(ctx, ref, items); err != nil {
		return c.mix.named(int(p), err)
	}
	for i := range items {
		items[i].Source = p
	}
	return nil
}

func (c *mixedColumn) Decode(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error {
	return c.mix.named(int(ref.Source), c.cols[ref.Source].Decode(ctx, ref, dst, w))
}

func (c *mixedColumn) Stored(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error {
	return c.mix.named(int(ref.Source), c.cols[ref.Source].Stored(ctx, ref, dst, w))
}

// eachView calls fn for runs of refs that are of one view.
func eachView(refs []*chunk.Ref, fn func(view, from, to int)) {
	for from, to := 0, 0; from < len(refs); from = to {
		p := refs[from].Source
		for to = from; to < len(refs) && refs[to].Source == p; to++ {
		}
		fn(int(p), from, to)
	}
}

// decodeRun hands each view its own samples that follow each other.
func (c *mixedColumn) decodeRun(ctx context.Context, refs []*chunk.Ref, dst [][]byte, w *chunk.Worker, failed func(i int, err error)) {
	eachView(refs, func(p, from, to int) {
		if run := c.access[p].DecodeRun; run != nil && (c.cols[p].Encoded() || c.access[p].Clips) {
			run(ctx, refs[from:to], dst[from:to], w, func(i int, err error) { failed(from+i, c.mix.named(p, err)) })
			return
		}
		for i := from; i < to; i++ {
			if err := c.Decode(ctx, refs[i], dst[i], w); err != nil {
				failed(i, err)
			}
		}
	})
}

// decodeROIs hands each view its own samples that follow each other.
func (c *mixedColumn) decodeROIs(ctx context.Context, refs []*chunk.Ref, rois []codec.ROI, w *chunk.Worker, failed func(i int, err error)) {
	eachView(refs, func(p, from, to int) {
		c.access[p].DecodeROIs(ctx, refs[from:to], rois[from:to], w, func(i int, err error) { failed(from+i, c.mix.named(p, err)) })
	})
}

// decodeFrames hands each view its own samples that follow each other.
func (c *mixedColumn) decodeFrames(ctx context.Context, refs []*chunk.Ref, w *chunk.Worker, deliver func(i, frame int, pix []byte, stride int) error, failed func(i int, err error)) {
	eachView(refs, func(p, from, to int) {
		c.access[p].DecodeFrames(ctx, refs[from:to], w, func(i, frame int, pix []byte, stride int) error {
			return deliver(from+i, frame, pix, stride)
		}, func(i int, err error) { failed(from+i, c.mix.named(p, err)) })
	})
}

// turnUpright does nothing for a view whose column is upright already.
func (c *mixedColumn) turnUpright(ctx context.Context, ref *chunk.Ref, w *chunk.Worker) error {
	turn := c.access[ref.Source].TurnUpright
	if turn == nil {
		return nil
	}
	return c.mix.named(int(ref.Source), turn(ctx, ref, w))
}

// prefetch asks the views behind a network.
func (c *mixedColumn) prefetch(ctx context.Context, runs [][2]int64) (spans []chunk.Span, first error) {
	m := c.mix
	for p, own := range c.access {
		if own.Prefetch == nil || !m.parts[p].Source.Remote() {
			continue
		}
		var rows [][2]int64
		for _, r := range runs {
			if from, to := max(r[0], m.starts[p]), min(r[1], m.starts[p+1]); from < to {
				rows = append(rows, [2]int64{from - m.starts[p], to - m.starts[p]})
			}
		}
		if len(rows) == 0 {
			continue
		}
		more, err := own.Prefetch(ctx, rows)
		spans = append(spans, more...)
		if first == nil {
			first = m.named(p, err)
		}
	}
	return spans, first
}

// Identity names the rows of a mixture by the digests of its views' rows, in order.
func (m *Mix) Identity() (dataset, commit, selection string, err error) {
	var sums [3]strings.Builder
	committed := true
	for _, p := range m.parts {
		d, c, s, err := p.Source.Identity()
		if err != nil {
			return "", "", "", err
		}
		committed = committed && c != ""
		for i, text := range []string{d, c, s} {
			sums[i].WriteString(strconv.Quote(text))
		}
	}
	digest := func(i int) string {
		sum := sha256.Sum256([]byte(sums[i].String()))
		return "mix-" + hex.EncodeToString(sum[:16])
	}
	if committed {
		commit = digest(1)
	}
	return digest(0), commit, digest(2), nil
}
