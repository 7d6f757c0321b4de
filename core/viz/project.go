package viz

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/session"
	"deeplake/core/viz/pca"
)

// Bounds of a projection and of a selection.
const (
	mostProjected = 200_000 // rows; of more, every n-th is taken
	mostVector    = 1 << 16 // numbers of one vector
	mostSelected  = 200_000
	projectBlock  = 4 << 20 // bytes of the vectors that are in memory at once
)

// projection is the head of the answer of api/project.
type projection struct {
	Points  int       `json:"points"`
	Skipped int       `json:"skipped"`  // rows without a vector, or with one that is not finite
	Step    int64     `json:"step"`     // every step-th row was taken
	Dim     int64     `json:"dim"`      // numbers of a vector
	Share   []float64 `json:"variance"` // the part of the variance that each axis explains
}

// project answers with two coordinates for each row of a column of vectors.
func (s *Service) project(ctx context.Context, body []byte, to Answer) error {
	var in struct {
		ofView
		Column string `json:"column"`
		Method string `json:"method"`
		Rows   int64  `json:"rows"`
	}
	v, done, err := s.views.use(body, &in)
	if err != nil {
		return err
	}
	defer done()
	if in.Method != "" && in.Method != "pca" {
		return errs.New(errs.Invalid, "project %.100q: method is %.40q, want \"pca\"", in.Column, in.Method)
	}
	if in.Rows < 0 || in.Rows > mostProjected {
		return errs.New(errs.Invalid, "project %.100q: rows is %d, want 0 to %d", in.Column, in.Rows, mostProjected)
	}
	if in.Rows == 0 {
		in.Rows = mostProjected
	}
	if err := s.wait(ctx); err != nil {
		return err
	}
	defer func() { <-s.projecting }()
	p, err := newProjector(ctx, v, in.Column, in.Rows)
	if err != nil {
		return err
	}
	defer p.view.workers.Return(p.worker)
	answer, err := p.run(ctx)
	if err != nil {
		return err
	}
	to.Begin(mediaPoints)
	_, _ = to.Write(answer) // the client may be gone
	return nil
}

// wait lets one projection run at a time: it takes a core and memory for a while.
func (s *Service) wait(ctx context.Context) error {
	select {
	case s.projecting <- struct{}{}:
		return nil
	case <-ctx.Done():
		return errs.Cause(ctx, "project")
	}
}

// projector reads vectors block by block.
type projector struct {
	projection
	view   *openView
	column *wantedColumn
	worker *chunk.Worker
	rows   []int64
	refs   []chunk.Ref
	kept   []int // places in rows of finite vectors; nil: not known yet
}

func newProjector(ctx context.Context, v *openView, name string, most int64) (*projector, error) {
	col, err := v.Column(name)
	if err != nil {
		return nil, err
	}
	p := &projector{view: v, column: &wantedColumn{Column: col}}
	p.Step = max((v.Len()+most-1)/most, 1)
	for row := int64(0); row < v.Len(); row += p.Step {
		p.rows = append(p.rows, row)
	}
	p.refs = make([]chunk.Ref, len(p.rows))
	if col.Sequence() || !col.DType().Fixed() || math.IsNaN(element(col.DType(), make([]byte, 16), 0)) {
		return nil, errs.Op("project", name).New(errs.Type, "samples are not vectors of real numbers")
	}
	if err := col.Resolve(ctx, p.rows, p.refs); err != nil {
		return nil, err
	}
	for i := range p.refs {
		ref := &p.refs[i]
		if ref.Hole() {
			continue
		}
		n := ref.Size / int64(col.DType().Size())
		switch {
		case len(ref.Shape) != 1 || n < 1 || n > mostVector:
			return nil, errs.Op("project", name).New(errs.Type, "row %d has shape %v, want one axis of 1 to %d numbers", p.rows[i], []int64(ref.Shape), mostVector)
		case p.Dim == 0:
			p.Dim = n
		case n != p.Dim:
			return nil, errs.Op("project", name).New(errs.Type, "row %d has %d numbers and rows before it %d; want vectors of one length", p.rows[i], n, p.Dim)
		}
	}
	p.worker = v.workers.Borrow()
	return p, nil
}

// run finds the components and returns the answer.
func (p *projector) run(ctx context.Context) ([]byte, error) {
	if p.Dim > 0 {
		// The first pass finds the vectors that are finite.
		var kept []int
		err := p.each(ctx, func(at int, v []float64) {
			for _, x := range v {
				if math.IsNaN(x) || math.IsInf(x, 0) {
					return
				}
			}
			kept = append(kept, at)
		})
		if err != nil {
			return nil, err
		}
		p.kept = kept
	}
	p.Points, p.Skipped, p.Share = len(p.kept), len(p.rows)-len(p.kept), []float64{0, 0}
	var points []byte
	if p.Points > 0 {
		found, err := pca.Fit(ctx, int(p.Dim), p.Points, p.blocks)
		if err != nil {
			return nil, err
		}
		for k, v := range found.Variance {
			if found.Total > 0 {
				p.Share[k] = v / found.Total
			}
		}
		points = make([]byte, 0, 12*p.Points)
		err = p.each(ctx, func(at int, v []float64) {
			for _, x := range found.Project(v) {
				points = binary.LittleEndian.AppendUint32(points, math.Float32bits(float32(x)))
			}
			points = binary.LittleEndian.AppendUint32(points, uint32(p.rows[at]))
		})
		if err != nil {
			return nil, err
		}
	}
	head, err := json.Marshal(p.projection)
	if err != nil {
		return nil, errs.Op("write projection", "").New(errs.Internal, "%w", err)
	}
	for len(head)%4 != 0 {
		head = append(head, ' ')
	}
	out := append([]byte("DLP1"), 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(out[4:], uint32(len(head)))
	return append(append(out, head...), points...), nil
}

// blocks gives the vectors that are kept.
func (p *projector) blocks(ctx context.Context, use func(values []float64)) error {
	room := max(projectBlock/8/int(p.Dim), 1) * int(p.Dim)
	block := make([]float64, 0, room)
	err := p.each(ctx, func(_ int, v []float64) {
		if block = append(block, v...); len(block) == room {
			use(block)
			block = block[:0]
		}
	})
	if err == nil && len(block) > 0 {
		use(block)
	}
	return err
}

// each calls back for each vector: for all, until the finite ones are known.
func (p *projector) each(ctx context.Context, do func(at int, v []float64)) error {
	count := len(p.rows)
	if p.kept != nil {
		count = len(p.kept)
	}
	d := p.column.DType()
	bytes := p.Dim * int64(d.Size())
	run := int(max(min(projectBlock/bytes, 4096), 1))
	data, v := make([]byte, int64(run)*bytes), make([]float64, p.Dim)
	for from := 0; from < count; from += run {
		if ctx.Err() != nil {
			return errs.Cause(ctx, "project")
		}
		var at []int
		for i := from; i < min(from+run, count); i++ {
			if k := i; p.kept != nil {
				at = append(at, p.kept[i])
			} else if !p.refs[k].Hole() {
				at = append(at, k)
			}
		}
		if err := p.read(ctx, at, data, bytes); err != nil {
			return err
		}
		for i, k := range at {
			for j := range v {
				v[j] = element(d, data[int64(i)*bytes:], j)
			}
			do(k, v)
		}
	}
	return nil
}

// read decodes vectors, in one run where the column can.
func (p *projector) read(ctx context.Context, at []int, data []byte, bytes int64) error {
	refs, dst := make([]*chunk.Ref, len(at)), make([][]byte, len(at))
	for i, k := range at {
		refs[i], dst[i] = &p.refs[k], data[int64(i)*bytes:int64(i+1)*bytes]
	}
	var failed error
	if decode := p.column.Access().DecodeRun; decode != nil {
		decode(ctx, refs, dst, p.worker, func(i int, err error) { failed = errs.Wrap(errs.KindOf(err), "project", p.column.Name(), err) })
		return failed
	}
	for i, ref := range refs {
		if err := p.column.Decode(ctx, ref, dst[i], p.worker); err != nil {
			return err
		}
	}
	return nil
}

// pick opens a view of rows of a view, in the given order.
func (s *Service) pick(_ context.Context, body []byte) (any, error) {
	var in struct {
		ofView
		Rows []int64 `json:"rows"`
	}
	v, done, err := s.views.use(body, &in)
	if err != nil {
		return nil, err
	}
	defer done()
	if len(in.Rows) > mostSelected {
		return nil, errs.New(errs.Invalid, "select %d rows, want at most %d", len(in.Rows), mostSelected)
	}
	for _, row := range in.Rows {
		if row < 0 || row >= v.Len() {
			return nil, errs.New(errs.Range, "select row %d, want 0 to %d", row, v.Len()-1)
		}
	}
	part, err := v.Select(in.Rows)
	if err != nil {
		return nil, err
	}
	return s.admit(part, session.Info{}, v.branch, part.Close)
}

// values answers with a number for every step-th row of a column, NaN where it has none: what a map
// colours its points by.
func (s *Service) values(ctx context.Context, body []byte, to Answer) error {
	var in struct {
		ofView
		Column string `json:"column"`
		Step   int64  `json:"step"`
	}
	v, done, err := s.views.use(body, &in)
	if err != nil {
		return err
	}
	defer done()
	if in.Step < 1 || v.Len()/in.Step > mostProjected {
		return errs.New(errs.Invalid, "read values of %.100q: step is %d, want one that leaves at most %d rows", in.Column, in.Step, mostProjected)
	}
	col, err := v.Column(in.Column)
	if err != nil {
		return err
	}
	d := col.DType()
	if col.Sequence() || !d.Fixed() || d.Size() > 8 {
		return errs.Op("read values of", in.Column).New(errs.Type, "samples are not numbers")
	}
	var rows []int64
	for row := int64(0); row < v.Len(); row += in.Step {
		rows = append(rows, row)
	}
	p := &projector{column: &wantedColumn{Column: col}, rows: rows, refs: make([]chunk.Ref, len(rows)), worker: v.workers.Borrow()}
	defer v.workers.Return(p.worker)
	out, err := p.numbers(ctx)
	if err != nil {
		return err
	}
	to.Begin(mediaNumbers)
	_, _ = to.Write(out) // the client may be gone
	return nil
}

// numbers reads the number of each row.
func (p *projector) numbers(ctx context.Context) ([]byte, error) {
	if err := p.column.Resolve(ctx, p.rows, p.refs); err != nil {
		return nil, err
	}
	d := p.column.DType()
	out := make([]byte, 4*len(p.rows))
	for i := range p.rows {
		binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(float32(math.NaN())))
	}
	const run = 4096
	data := make([]byte, run*d.Size())
	for from := 0; from < len(p.rows); from += run {
		var at []int
		for i := from; i < min(from+run, len(p.rows)); i++ {
			if p.refs[i].Hole() {
				continue
			}
			if len(p.refs[i].Shape) > 0 {
				return nil, errs.Op("read values of", p.column.Name()).New(errs.Type, "row %d has shape %v, want a number", p.rows[i], []int64(p.refs[i].Shape))
			}
			at = append(at, i)
		}
		if err := p.read(ctx, at, data, int64(d.Size())); err != nil {
			return nil, err
		}
		for i, k := range at {
			binary.LittleEndian.PutUint32(out[4*k:], math.Float32bits(float32(element(d, data, i))))
		}
		if ctx.Err() != nil {
			return nil, errs.Cause(ctx, "read values")
		}
	}
	return out, nil
}
