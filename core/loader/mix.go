package loader

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/order"
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

// Mix is several views read as one, with the tensors that are asked for in all of them. Its rows
// are numbered view after view. It is immutable and may be used in parallel.
type Mix struct {
	parts   []Part
	policy  order.MixPolicy
	names   []string
	columns map[string]Column
	starts  []int64 // where the rows of each part begin; the last is Len
}

// NewMix joins views. names are the tensors, which must have one element type in all of them; nil
// takes those that all views have. The views must stay open as long as the mixture is used.
func NewMix(parts []Part, names []string, b order.MixPolicy) (*Mix, error) {
	if len(parts) < 1 || len(parts) > maxParts {
		return nil, errs.New(errs.Invalid, "mix %d views: want 1 to %d", len(parts), maxParts)
	}
	m := &Mix{parts: slices.Clone(parts), policy: b, names: names, columns: map[string]Column{}, starts: make([]int64, 1, len(parts)+1)}
	for i, p := range parts {
		n := p.Source.Len()
		if n < 1 {
			return nil, errs.New(errs.Invalid, "mix views: view %d, %s, has no rows; leave it out", i, p.Label)
		}
		m.starts = append(m.starts, m.starts[i]+n)
	}
	if names == nil {
		m.names = common(parts)
	} else if len(names) == 0 {
		return nil, errs.New(errs.Invalid, "mix views: no tensors to load; name at least one")
	}
	if len(m.names) == 0 {
		return nil, errs.New(errs.Invalid, "mix views: no tensor is in all of them; rename some")
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

// join makes one column of those called name.
func (m *Mix) join(name string) (Column, error) {
	j := &mixedColumn{mix: m, name: name}
	for i, p := range m.parts {
		c, err := p.Source.Column(name)
		if err != nil {
			return nil, errs.New(errs.KindOf(err), "mix views: view %d, %s: %w", i, p.Label, err)
		}
		if i > 0 && (c.DType() != j.cols[0].DType() || c.Sequence() != j.cols[0].Sequence()) {
			return nil, errs.New(errs.Type, "mix tensor %q: it is %s in view 0, %s, and %s in view %d, %s; want one type, or leave it out by tensors=",
				name, typeOf(j.cols[0]), m.parts[0].Label, typeOf(c), i, p.Label)
		}
		if i > 0 && !reflect.DeepEqual(coordsOf(c), coordsOf(j.cols[0])) {
			return nil, errs.New(errs.Type, "mix tensor %q: its info has the coords %v in view 0, %s, and %v in view %d, %s; want the same, or leave it out by tensors=",
				name, coordsOf(j.cols[0]), m.parts[0].Label, coordsOf(c), i, p.Label)
		}
		r, _ := c.(RunColumn)
		if !c.Encoded() {
			r = nil
		}
		if parts, ok := c.(ROIColumn); ok {
			j.regions = append(j.regions, parts)
		}
		j.cols, j.runs = append(j.cols, c), append(j.runs, r)
	}
	if len(j.regions) == len(j.cols) {
		return mixedROIs{j}, nil
	}
	return j, nil
}

// coordsOf is what a tensor's info says of its boxes: numbers that mean other places must not share
// a batch.
func coordsOf(c Column) any {
	if d, ok := c.(described); ok {
		return d.Info()["coords"]
	}
	return nil
}

func typeOf(c Column) string {
	if c.Sequence() {
		return "a sequence of " + c.DType().String()
	}
	return c.DType().String()
}

// Len is the number of rows of all views together.
func (m *Mix) Len() int64 { return m.starts[len(m.parts)] }

// Names lists the tensors.
func (m *Mix) Names() []string { return m.names }

// Column finds a tensor.
func (m *Mix) Column(name string) (Column, error) {
	if c := m.columns[name]; c != nil {
		return c, nil
	}
	return nil, unknown(name, m.names)
}

// StoredBytes is the size of all views.
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

// Remote reports whether one of the views lies behind a network.
func (m *Mix) Remote() bool {
	return slices.ContainsFunc(m.parts, func(p Part) bool { return remote(p.Source) })
}

// Traffic is that of all views that lie behind a network; what views share is counted for each.
func (m *Mix) Traffic() storage.Stats {
	var sum storage.Stats
	for _, p := range m.parts {
		if d, ok := p.Source.(remoteSource); ok && d.Remote() {
			sum.Add(d.Traffic())
		}
	}
	return sum
}

// part is the view of a row.
func (m *Mix) part(row int64) int {
	return sort.Search(len(m.parts)-1, func(i int) bool { return m.starts[i+1] > row })
}

// named says which view an error is about. A context that has ended is about none.
func (m *Mix) named(part int, err error) error {
	if err == nil || errs.Is(err, errs.Canceled) {
		return err
	}
	return errs.New(errs.KindOf(err), "%w (view %d of the mixture, %s)", err, part, m.parts[part].Label)
}

// mixedColumn is one tensor of all views of a mixture.
type mixedColumn struct {
	mix  *Mix
	name string
	cols []Column
	runs []RunColumn // nil: samples of the view are decoded one by one

	regions []ROIColumn // of the views that decode regions
}

func (c *mixedColumn) Name() string        { return c.name }
func (c *mixedColumn) DType() tensor.DType { return c.cols[0].DType() }
func (c *mixedColumn) Sequence() bool      { return c.cols[0].Sequence() }

func (c *mixedColumn) Encoded() bool {
	return slices.ContainsFunc(c.cols, func(c Column) bool { return c.Encoded() })
}

// HType is what the samples mean in the first view.
func (c *mixedColumn) HType() string {
	if d, ok := c.cols[0].(described); ok {
		return d.HType()
	}
	return ""
}

// Info is that of the first view; all have the same coords.
func (c *mixedColumn) Info() map[string]any {
	if d, ok := c.cols[0].(described); ok {
		return d.Info()
	}
	return nil
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

// DecodeRun hands each view the samples of its own that follow each other.
func (c *mixedColumn) DecodeRun(ctx context.Context, refs []*chunk.Ref, dst [][]byte, w *chunk.Worker, failed func(i int, err error)) {
	for from, to := 0, 0; from < len(refs); from = to {
		p := int(refs[from].Source)
		for to = from; to < len(refs) && int(refs[to].Source) == p; to++ {
		}
		if r := c.runs[p]; r != nil {
			r.DecodeRun(ctx, refs[from:to], dst[from:to], w, func(i int, err error) { failed(from+i, c.mix.named(p, err)) })
			continue
		}
		for i := from; i < to; i++ {
			if err := c.Decode(ctx, refs[i], dst[i], w); err != nil {
				failed(i, err)
			}
		}
	}
}

// mixedROIs is a mixedColumn all of whose views decode regions.
type mixedROIs struct{ *mixedColumn }

// DecodeROIs hands each view the samples of its own that follow each other.
func (c mixedROIs) DecodeROIs(ctx context.Context, refs []*chunk.Ref, parts []codec.ROI, w *chunk.Worker, failed func(i int, err error)) {
	for from, to := 0, 0; from < len(refs); from = to {
		p := int(refs[from].Source)
		for to = from; to < len(refs) && int(refs[to].Source) == p; to++ {
		}
		c.regions[p].DecodeROIs(ctx, refs[from:to], parts[from:to], w, func(i int, err error) { failed(from+i, c.mix.named(p, err)) })
	}
}

// Prefetch asks the views that lie behind a network.
func (c *mixedColumn) Prefetch(ctx context.Context, runs [][2]int64) (spans []chunk.Span, first error) {
	m := c.mix
	for p, col := range c.cols {
		a, ok := col.(PrefetchColumn)
		if !ok || !remote(m.parts[p].Source) {
			continue
		}
		var own [][2]int64
		for _, r := range runs {
			if from, to := max(r[0], m.starts[p]), min(r[1], m.starts[p+1]); from < to {
				own = append(own, [2]int64{from - m.starts[p], to - m.starts[p]})
			}
		}
		if len(own) == 0 {
			continue
		}
		more, err := a.Prefetch(ctx, own)
		spans = append(spans, more...)
		if first == nil {
			first = m.named(p, err)
		}
	}
	return spans, first
}

// StoredBytes estimates what lies behind a network.
func (c *mixedColumn) StoredBytes() (total int64) {
	for p, col := range c.cols {
		if a, ok := col.(PrefetchColumn); ok && remote(c.mix.parts[p].Source) {
			total += a.StoredBytes()
		}
	}
	return total
}

// Identity names the rows of a mixture: digests of those of its views, in order.
func (m *Mix) Identity() (dataset, commit, selection string, err error) {
	var sums [3]strings.Builder
	committed := true
	for _, p := range m.parts {
		d, c, s, err := identityOf(p.Source)
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
