package loader

import (
	"context"
	"slices"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/read"
	"deeplake/core/tensor"
	"deeplake/core/transform"
)

// Joint moves the annotations of a picture with it. Names of tensors that are not there are empty.
type Joint struct {
	Image     string   `json:"image"`
	Boxes     string   `json:"boxes"`
	Masks     []string `json:"masks"`
	Depth     []string `json:"depth"` // as masks, of which none belongs to a box
	Keypoints []string `json:"keypoints"`
	Labels    []string `json:"labels"` // one entry for each box on the first axis
	// Boxes smaller than these are dropped, with their labels, masks (height, width, boxes),
	// keypoints of COCO and points (boxes, points, 2); nil: none is
	Least *transform.Least `json:"least"`
	// see transform.ParseBoxMode; "": the mode in the tensor's info, or LTRB
	BoxMode string         `json:"box_mode"`
	Ops     transform.Spec `json:"ops"`
}

// role is the part of a field in its pipeline.
type role uint8

const (
	asPicture role = iota
	asMask
	asBoxes
	asPoints
	asKeypoints
	asLabels
	asDepth
)

// augment is the transform of a field between the decoder and the slab.
type augment struct {
	pipe       *transform.Pipeline
	role       role
	picture    int // field of the pictures that decide; a picture's own for itself
	owner      int // field of the boxes that its entries belong to; -1: none is dropped
	least      transform.Least
	boxes      transform.BoxFormat
	rois       bool // regions are decoded, not whole samples
	frames     bool // samples are clips, whose frames are decoded one by one
	stored     tensor.DType
	workspaces *workspacePool
}

// outcome is the shape and size of an item after its transform.
type outcome struct {
	shape tensor.Shape
	size  int64
}

// workspacePool keeps the memory of transforms between jobs.
type workspacePool struct {
	read.Pool[*transform.Workspace]
}

func newWorkspacePool() *workspacePool {
	return &workspacePool{read.Pool[*transform.Workspace]{New: func() *transform.Workspace { return &transform.Workspace{} }}}
}

// Return clears a workspace and takes it back.
func (s *workspacePool) Return(w *transform.Workspace) {
	w.Reset()
	s.Pool.Return(w)
}

// augmentAll assigns the fields to the transforms of o, and finds the elements that their results
// are padded with. It refuses a transform that does not suit its tensor.
func (o Options) augmentAll(fields []field, s *workspacePool) error {
	for name, spec := range o.Transform {
		if len(spec) == 0 {
			continue
		}
		if err := attach(fields, name, name, spec, asPicture, "", s); err != nil {
			return err
		}
	}
	for _, t := range o.Joint {
		if t.Image == "" {
			return errs.New(errs.Invalid, "Joint has no image; name the tensor of the pictures")
		}
		if err := t.attach(fields, s); err != nil {
			return err
		}
	}
	return fillAll(fields)
}

// attach gives the fields of t their augments.
func (t *Joint) attach(fields []field, s *workspacePool) error {
	if t.Least != nil && t.Boxes == "" || t.Least == nil && len(t.Labels) > 0 {
		return errs.New(errs.Invalid, "Joint has labels %q and boxes %q; boxes are dropped where both boxes and a least size are given", t.Labels, t.Boxes)
	}
	for _, m := range []struct {
		names []string
		role  role
	}{{[]string{t.Image}, asPicture}, {[]string{t.Boxes}, asBoxes}, {t.Masks, asMask}, {t.Keypoints, asPoints}, {t.Labels, asLabels}, {t.Depth, asDepth}} {
		for _, name := range m.names {
			if name == "" {
				continue
			}
			if err := attach(fields, name, t.Image, t.Ops, m.role, t.BoxMode, s); err != nil {
				return err
			}
			if t.Least != nil && m.role != asPicture && m.role != asDepth {
				a := fields[indexOf(fields, name)].augment
				a.owner, a.least = indexOf(fields, t.Boxes), *t.Least
			}
		}
	}
	return nil
}

// indexOf returns the place of a field by name, -1 if there is none.
func indexOf(fields []field, name string) int {
	return slices.IndexFunc(fields, func(f field) bool { return f.name == name })
}

// looks reports whether the planner reads samples of the field.
func (f *field) looks() bool {
	return f.upright || f.augment != nil && f.augment.role == asBoxes && f.augment.owner >= 0
}

// attach gives one field its augment.
func attach(fields []field, name, picture string, spec transform.Spec, r role, mode string, s *workspacePool) error {
	i, k := indexOf(fields, name), indexOf(fields, picture)
	if i < 0 || k < 0 {
		names := make([]string, len(fields))
		for j := range fields {
			names[j] = fields[j].name
		}
		if i < 0 {
			return unknown(name, names)
		}
		return unknown(picture, names)
	}
	f := &fields[i]
	pipe, err := transform.New(picture, spec)
	if err == nil && k != i && fields[k].seq {
		err = errs.New(errs.Invalid, "its pictures in %q are a sequence, and Joint takes one picture a row; use a Python callable", picture)
	}
	if err == nil && f.augment != nil {
		err = errs.New(errs.Invalid, "it stands in two transforms; name it in one")
	}
	if err == nil {
		f.augment = &augment{pipe: pipe, role: r, picture: k, owner: -1, stored: f.dtype, workspaces: s}
		err = f.augmentable(r, mode)
	}
	if err != nil {
		return errs.Op("transform of tensor", name).New(errs.Invalid, "%w", err)
	}
	return nil
}

// augmentable refuses a field that cannot have role r, and settles how it is read.
func (f *field) augmentable(r role, mode string) error {
	a := f.augment
	switch {
	case f.stored:
		return errs.New(errs.Invalid, "decode=\"bytes\" and \"pil\" deliver files, which native transforms do not take; decode the tensor, or use a Python callable")
	case f.text:
		return errs.New(errs.Invalid, "its samples are %s, native transforms take pictures; use a Python callable", f.dtype)
	case f.seq && r != asPicture:
		return errs.New(errs.Invalid, "it is a sequence, and Joint takes one sample a row; use a Python callable")
	}
	switch r {
	case asPicture:
		a.rois, a.frames = f.access.DecodeROIs != nil, f.access.DecodeFrames != nil
		if f.dtype != 0 && f.dtype != tensor.Uint8 {
			return a.pipe.Check(f.dtype, tensor.Shape{1, 1, 1})
		}
		f.dtype = a.pipe.DType()
	case asBoxes:
		return a.boxFormat(f.access.Info, mode, f.dtype)
	case asPoints:
		if f.access.HType == "keypoints_coco" {
			a.role = asKeypoints
		}
		return numbersOnly(f.dtype)
	}
	return nil
}

func numbersOnly(d tensor.DType) error {
	if d != 0 && !transform.Numbers(d) {
		return errs.New(errs.Type, "it is of %s, want integers, float32 or float64", d)
	}
	return nil
}

// boxFormat asks the call, then the tensor's info: {"coords": {"mode": "LTWH", "type":
// "fractional"}}.
func (a *augment) boxFormat(info map[string]any, mode string, d tensor.DType) error {
	coords, _ := info["coords"].(map[string]any)
	if given, ok := coords["mode"].(string); ok && mode == "" {
		mode = given
	}
	a.boxes.Fraction = coords["type"] == "fractional"
	var err error
	if a.boxes.Mode, err = transform.ParseBoxMode(mode); err != nil {
		return err
	}
	return numbersOnly(d)
}

// augmented computes the outcomes of the items of every part, before anything is decoded.
func (p *plan) augmented(ctx context.Context, key transform.Key, scratch *chunk.Worker, drop *dropper) error {
	for i := range p.parts {
		if err := p.keep(ctx, &p.parts[i], key, scratch, drop); err != nil {
			return err
		}
	}
	for i := range p.parts {
		part := &p.parts[i]
		part.outcomes = part.outcomes[:0]
		a := part.field.augment
		if a == nil {
			continue
		}
		pictures := &p.parts[a.picture]
		for k := range part.refs {
			m, err := a.result(key, &part.refs[k], pictures, k)
			if err == nil {
				err = p.reduce(part, k, &m)
			}
			if err != nil {
				position := part.positionOf(k)
				if err := drop.fail(ctx, position, part.rows[position].Row, part.field.name, err); err != nil {
					return err
				}
			}
			part.outcomes = append(part.outcomes, m)
		}
	}
	return nil
}

// keep finds the boxes of a part that are kept, of every row. It reads the boxes: the shapes in a
// batch depend on them.
func (p *plan) keep(ctx context.Context, part *part, key transform.Key, scratch *chunk.Worker, drop *dropper) error {
	f := part.field
	if f.augment == nil || f.augment.role != asBoxes || f.augment.owner < 0 {
		return nil
	}
	a, pictures := f.augment, &p.parts[f.augment.picture]
	space := a.workspaces.Borrow()
	defer a.workspaces.Return(space)
	part.kept = make([][]bool, len(part.refs))
	for k := range part.refs {
		r := &part.refs[k]
		if r.Hole() || drop.dropped(k) {
			continue
		}
		_, err := a.result(key, r, pictures, k)
		if err == nil {
			pic := pictures.refs[k].Shape
			key := key
			key.Row = r.Draw()
			h, wide := int(pic[0]), int(pic[1])
			data := make([]byte, r.Size)
			if err = f.col.Decode(ctx, r, data, scratch); err == nil {
				err = space.Boxes(a.pipe, key, h, wide, a.boxes, f.dtype, data)
			}
			if err == nil {
				part.kept[k], err = a.pipe.Keep(key, h, wide, a.boxes, f.dtype, data, a.least)
			}
		}
		if err != nil {
			if err := drop.fail(ctx, k, part.rows[k].Row, f.name, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// keptOf returns which entries of item k are kept along an axis; nil: all.
func (p *plan) keptOf(part *part, k int) (keep []bool, axis int) {
	a, axes := part.field.augment, len(part.refs[k].Shape)
	if a.owner < 0 || p.parts[a.owner].refs[k].Hole() || part.refs[k].Hole() {
		return nil, 0
	}
	switch {
	case a.role == asMask && axes == 3:
		axis = 2
	case a.role == asKeypoints:
		axis = 1
	case a.role == asMask, a.role == asPoints && axes < 3, axes == 0:
		return nil, 0
	}
	return p.parts[a.owner].kept[k], axis
}

// reduce removes the entries of dropped boxes from an outcome.
func (p *plan) reduce(part *part, k int, m *outcome) error {
	keep, axis := p.keptOf(part, k)
	if part.field.augment.role == asLabels && len(part.refs[k].Shape) == 0 && !part.refs[k].Hole() {
		return errs.New(errs.Type, "labels have no axes, want one entry for each box on the first axis")
	}
	if keep == nil {
		return nil
	}
	if m.shape[axis] != int64(len(keep)) {
		owner := &p.parts[part.field.augment.owner]
		return errs.New(errs.Type, "the sample has shape %s, and the row has %d boxes in tensor %q; want one entry for each box on axis %d, or leave it out of the Joint", part.refs[k].Shape, len(keep), owner.field.name, axis)
	}
	left := int64(0)
	for _, kept := range keep {
		if kept {
			left++
		}
	}
	if all := m.shape[axis]; left < all {
		m.shape = slices.Clone(m.shape)
		m.shape[axis], m.size = left, m.size/all*left
	}
	return nil
}

// result returns the outcome of one item.
func (a *augment) result(key transform.Key, r *chunk.Ref, pictures *part, k int) (outcome, error) {
	if r.Hole() {
		return outcome{}, nil
	}
	key.Row = r.Draw()
	if a.role == asPicture {
		return a.pictured(key, r)
	}
	pic := &pictures.refs[k]
	if pic.Hole() || len(pic.Shape) < 2 {
		return outcome{}, errs.New(errs.Type, "the row has no picture in tensor %q to be moved with", pictures.field.name)
	}
	switch {
	case a.role == asBoxes && (len(r.Shape) != 2 || r.Shape[1] != 4):
		return outcome{}, errs.New(errs.Type, "boxes have shape %s, want (boxes, 4)", r.Shape)
	case a.role == asPoints && (len(r.Shape) == 0 || r.Shape[len(r.Shape)-1] < 2):
		return outcome{}, errs.New(errs.Type, "points have shape %s, want (points, 2) or more numbers a point", r.Shape)
	case a.role == asKeypoints && (len(r.Shape) != 2 || r.Shape[0]%3 != 0):
		return outcome{}, errs.New(errs.Type, "keypoints have shape %s, want (3 x keypoints, instances)", r.Shape)
	case a.role != asMask && a.role != asDepth:
		return outcome{r.Shape, r.Size}, nil
	}
	if len(r.Shape) < 2 || r.Shape[0] != pic.Shape[0] || r.Shape[1] != pic.Shape[1] {
		return outcome{}, errs.New(errs.Type, "the mask has shape %s, its picture in tensor %q has %s; want the same height and width", r.Shape, pictures.field.name, pic.Shape)
	}
	h, w, err := a.pipe.Size(key, int(pic.Shape[0]), int(pic.Shape[1]))
	if err != nil {
		return outcome{}, err
	}
	s := append(tensor.Shape{int64(h), int64(w)}, r.Shape[2:]...)
	return outcome{s, r.Size / (r.Shape[0] * r.Shape[1]) * int64(h) * int64(w)}, nil
}

// pictured returns the outcome of a picture, or of all frames of a clip.
func (a *augment) pictured(key transform.Key, r *chunk.Ref) (outcome, error) {
	picture := r.Shape
	if a.frames {
		picture = r.Shape[1:]
	}
	if err := a.pipe.Check(a.stored0(r), picture); err != nil {
		return outcome{}, err
	}
	s, err := a.pipe.Shape(key, picture)
	if err != nil {
		return outcome{}, err
	}
	if a.frames {
		s = append(tensor.Shape{r.Shape[0]}, s...)
	}
	n, err := s.Bytes(a.pipe.DType())
	return outcome{s, n}, err
}

// stored0 returns the dtype of a sample; that of a column may not have been decided when the loader
// was opened.
func (a *augment) stored0(r *chunk.Ref) tensor.DType {
	if a.stored != 0 || r.Chunk == nil || r.Chunk.Index == nil {
		return a.stored
	}
	return r.Chunk.Index.DType()
}

// positionOf returns the row of the batch that item k belongs to: the last one that starts at k or
// before and is not empty.
func (p *part) positionOf(k int) int {
	if p.splits == nil {
		return k
	}
	position, _ := slices.BinarySearch(p.splits, int64(k)+1)
	return position - 1
}

// runAugmented reads, decodes and transforms all items of a job.
func (w *work) runAugmented(ctx context.Context, j *job, mem []byte, scratch *chunk.Worker) {
	p := &w.plan.parts[j.part]
	a := p.field.augment
	space := a.workspaces.Borrow()
	defer a.workspaces.Return(space)
	items := make([]int, 0, j.to-j.from)
	for k := j.from; k < j.to; k++ {
		i := int(k)
		if j.items != nil {
			i = int(j.items[k])
		}
		if !p.refs[i].Hole() {
			items = append(items, i)
		}
	}
	bad, dst := make([]bool, len(items)), make([][]byte, len(items))
	for k, i := range items {
		dst[k] = p.target(mem, i)
	}
	failed := func(k int, err error) {
		bad[k] = true
		w.fail(p, items[k], err)
	}
	switch {
	case a.frames:
		w.clips(ctx, p, items, dst, scratch, space, failed)
	case a.role == asPicture:
		w.pictures(ctx, p, items, dst, scratch, space, failed)
	default:
		pictures := &w.plan.parts[a.picture]
		for k, i := range items {
			if err := w.annotation(ctx, p, pictures, i, dst[k], scratch, space); err != nil {
				failed(k, err)
			}
		}
	}
	for k, i := range items {
		if !bad[k] {
			p.grow(mem, i, dst[k])
		}
	}
}

// pictures makes the jobs of pictures and has them decoded as far as these need.
func (w *work) pictures(ctx context.Context, p *part, items []int, dst [][]byte, scratch *chunk.Worker, space *transform.Workspace, failed func(k int, err error)) {
	a := p.field.augment
	refs, parts, of := make([]*chunk.Ref, 0, len(items)), make([]codec.ROI, 0, len(items)), make([]int, 0, len(items))
	for k, i := range items {
		r := &p.refs[i]
		key := w.key
		key.Row = r.Draw()
		job, err := space.Job(a.pipe, key, r.Shape, a.rois && scratch.CanDownscale(r), dst[k])
		if err != nil {
			failed(k, err)
			continue
		}
		refs, parts, of = append(refs, r), append(parts, codec.ROI{Region: codec.Region(job.Region()), To: job}), append(of, k)
	}
	p.decodeROIs(ctx, refs, parts, scratch, space, func(k int, err error) { failed(of[k], err) })
}

// clips transforms the frames of clips as they are decoded. All frames of a clip get the same
// draws.
func (w *work) clips(ctx context.Context, p *part, items []int, dst [][]byte, scratch *chunk.Worker, space *transform.Workspace, failed func(k int, err error)) {
	defer space.Reset()
	refs, jobs, of := make([]*chunk.Ref, 0, len(items)), make([]*transform.Job, 0, len(items)), make([]int, 0, len(items))
	for k, i := range items {
		r := &p.refs[i]
		key := w.key
		key.Row = r.Draw()
		job, err := space.Job(p.field.augment.pipe, key, r.Shape[1:], false, nil)
		if err != nil {
			failed(k, err)
			continue
		}
		refs, jobs, of = append(refs, r), append(jobs, job), append(of, k)
	}
	p.field.access.DecodeFrames(ctx, refs, scratch, func(i, frame int, pix []byte, stride int) error {
		r, job, to := refs[i], jobs[i], dst[of[i]]
		region, each := job.Region(), len(to)/int(r.Shape[0])
		if err := job.Into(to[frame*each:][:each]); err != nil {
			return err
		}
		return job.Deliver(pix[region.Y*stride+region.X*int(r.Shape[3]):], stride)
	}, func(i int, err error) { failed(of[i], err) })
}

// decodeROIs decodes the region rois[i] of refs[i] and delivers it.
func (p *part) decodeROIs(ctx context.Context, refs []*chunk.Ref, rois []codec.ROI, scratch *chunk.Worker, space *transform.Workspace, failed func(i int, err error)) {
	if p.field.augment.rois {
		p.field.access.DecodeROIs(ctx, refs, rois, scratch, failed)
		return
	}
	for i, r := range refs {
		pix := space.Bytes(int(r.Size))
		err := p.field.col.Decode(ctx, r, pix, scratch)
		if err == nil {
			err = chunk.Deliver(pix, r, &rois[i])
		}
		if err != nil {
			failed(i, err)
		}
	}
}

// annotation reads item i into dst and moves it with its picture.
func (w *work) annotation(ctx context.Context, p, pictures *part, i int, dst []byte, scratch *chunk.Worker, space *transform.Workspace) error {
	a, r, pic := p.field.augment, &p.refs[i], &pictures.refs[i]
	key := w.key
	key.Row = r.Draw()
	h, wide := int(pic.Shape[0]), int(pic.Shape[1])
	keep, axis := w.plan.keptOf(p, i)
	mask := a.role == asMask || a.role == asDepth
	read := dst
	if mask || keep != nil {
		defer space.Reset()
		read = space.Bytes(int(r.Size))
	}
	if err := p.field.col.Decode(ctx, r, read, scratch); err != nil || len(dst) == 0 {
		return err
	}
	d, shape := p.field.dtype, r.Shape
	if keep != nil {
		read = compact(read, shape, axis, keep, int64(d.Size()))
		shape = slices.Clone(shape)
		shape[axis] = p.shape(i)[axis]
	}
	if mask {
		return space.Mask(a.pipe, key, h, wide, len(read)/(h*wide), dst, read)
	}
	copy(dst, read)
	switch a.role {
	case asBoxes:
		return space.Boxes(a.pipe, key, h, wide, a.boxes, d, dst)
	case asPoints:
		return space.Points(a.pipe, key, h, wide, d, shape, dst)
	case asKeypoints:
		return space.Keypoints(a.pipe, key, h, wide, d, shape, dst)
	}
	return nil // labels
}

// compact moves the kept entries of an axis of a C-order array together, in place, and returns
// them.
func compact(data []byte, s tensor.Shape, axis int, keep []bool, elem int64) []byte {
	entry, n := elem, int64(0)
	for _, m := range s[axis+1:] {
		entry *= m
	}
	for at := int64(0); entry > 0 && at < int64(len(data)); {
		for _, kept := range keep {
			if kept {
				copy(data[n:n+entry], data[at:at+entry])
				n += entry
			}
			at += entry
		}
	}
	return data[:n]
}
