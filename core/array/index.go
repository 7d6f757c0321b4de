package array

import (
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Item is one of the places between the brackets of x[...]. At, Low, High and Step are scalar
// columns of whole numbers, that may differ from row to row; a text as At is a key of JSON.
type Item struct {
	Ellipsis, Slice     bool
	At, Low, High, Step *Column
}

// cut selects count elements of one axis, from start on, step apart. drop removes the axis.
type cut struct {
	start, step, count int
	drop               bool
}

// itemValue returns the bound of a slice or index at a row; given is false without one.
func itemValue(c *Column, row int) (v int64, given, null bool) {
	if c == nil {
		return 0, false, false
	}
	if c.IsNull(row) {
		return 0, false, true
	}
	lo, _ := c.Span(row)
	if d, ok := c.Data.([]int64); ok { // as numbers in a query are
		return d[lo], true, false
	}
	switch x := c.Vector().At(lo).(type) {
	case int64:
		return x, true, false
	case uint64:
		return int64(min(x, 1<<62)), true, false
	}
	return 0, true, false
}

// cutOf returns the cut of an axis by an item, as in Python. ok is false for a single index out of
// bounds.
func cutOf(it *Item, row, size int) (c cut, null bool, err error) {
	if !it.Slice {
		at, _, none := itemValue(it.At, row)
		if none {
			return cut{}, true, nil
		}
		place := at
		if at < 0 {
			place += int64(size)
		}
		if place < 0 || place >= int64(size) {
			return cut{}, false, errs.New(errs.Range, "index %d is out of bounds for an axis of size %d", at, size)
		}
		return cut{int(place), 1, 1, true}, false, nil
	}
	low, hasLow, n1 := itemValue(it.Low, row)
	high, hasHigh, n2 := itemValue(it.High, row)
	step, hasStep, n3 := itemValue(it.Step, row)
	if n1 || n2 || n3 {
		return cut{}, true, nil
	}
	if !hasStep {
		step = 1
	}
	if step == 0 {
		return cut{}, false, errs.New(errs.Invalid, "the step of a slice is 0")
	}
	return sliceOf(int64(size), low, high, step, hasLow, hasHigh), false, nil
}

func sliceOf(size, low, high, step int64, hasLow, hasHigh bool) cut {
	least, most := int64(0), size // of a bound, as step goes up
	first, last := int64(0), size
	if step < 0 {
		least, most = -1, size-1
		first, last = size-1, -1
	}
	bound := func(v int64, given bool, otherwise int64) int64 {
		if !given {
			return otherwise
		}
		if v < 0 {
			v = max(v, -1<<62) + size
		}
		return min(max(v, least), most)
	}
	from, to := bound(low, hasLow, first), bound(high, hasHigh, last)
	n := int64(0)
	switch {
	case step > 0 && to > from:
		n = (to-from-1)/step + 1
	case step < 0 && from > to:
		n = (from-to-1)/max(-step, 1) + 1
		if step == -1<<63 {
			n = 1
		}
	}
	if n <= 1 {
		step = 1
	}
	return cut{int(from), int(step), int(n), false}
}

// axesOf assigns items to axes. A whole axis has nil.
func axesOf(dims int, items []Item) ([]*Item, error) {
	places := 0
	dots := -1
	for i := range items {
		if items[i].Ellipsis {
			if dots >= 0 {
				return nil, errs.New(errs.Invalid, "an index can have one ... only")
			}
			dots = i
			continue
		}
		places++
	}
	if places > dims {
		return nil, errs.New(errs.Range, "%d indices for an array of %d axes", places, dims)
	}
	out := make([]*Item, dims)
	axis := 0
	for i := range items {
		if i == dots {
			axis += dims - places
			continue
		}
		out[axis] = &items[i]
		axis++
	}
	return out, nil
}

func checkItem(it *Item) error {
	for _, c := range []*Column{it.At, it.Low, it.High, it.Step} {
		if c != nil && c.DType != 0 && !(c.Scalar() && c.Integer()) {
			return errs.New(errs.Type, "index of %s: want whole numbers", c.Type)
		}
	}
	return nil
}

// IndexType returns the type of x[items]. The columns of items may have no rows; where they are
// Const, more is known.
func IndexType(x Type, items []Item) (Type, error) {
	if x.DType == 0 || len(items) == 0 {
		return x, nil
	}
	if x.DType == tensor.JSON && !x.List && x.Dims == 0 {
		for i := range items {
			at := items[i].At
			if at == nil || at.DType != 0 && !(at.Scalar() && (at.Integer() || at.Text())) {
				return Type{}, errs.New(errs.Type, "index of json: want a key in quotes or a whole number")
			}
		}
		return x.Bare(), nil
	}
	for i := range items {
		if err := checkItem(&items[i]); err != nil {
			return Type{}, err
		}
	}
	if x.List {
		return listIndexType(x, items)
	}
	if x.Dims == 0 {
		hint := ""
		if x.Text() {
			hint = "; SUBSTRING takes a part of a text"
		}
		return Type{}, errs.New(errs.Type, "index of %s: it has no axes%s", x, hint)
	}
	out := x
	out.Weak = false
	if x.Dims == Unranked {
		out.HType = ""
		if x.Label() {
			out.HType = x.HType
		}
		return out.WithAxes(nil), nil
	}
	axes, err := axesOf(x.Dims, items)
	if err != nil {
		return Type{}, errs.New(errs.Range, "%s: %w", x, err)
	}
	shape := tensor.Shape{}
	for i, size := range x.Axes() {
		n, err := sizeAfter(axes[i], size)
		if err != nil {
			return Type{}, err
		}
		if n != -2 {
			shape = append(shape, n)
		}
	}
	out.HType = meaning(x, axes, shape)
	if !axes[x.Dims-1].whole() {
		out.Boxes, out.BoxUnit = "", NoBoxUnit
	}
	return out.WithAxes(shape), nil
}

// whole reports whether all of an axis is left.
func (it *Item) whole() bool {
	return it == nil || it.Slice && it.Low == nil && it.High == nil && it.Step == nil
}

// meaning returns the htype of a part of x with this shape. It is the htype of x if the part is a
// sample of that htype, and "" otherwise.
func meaning(x Type, axes []*Item, shape tensor.Shape) string {
	kept := func(axis int) bool { return axes[axis] == nil || axes[axis].Slice }
	last := axes[x.Dims-1]
	switch x.HType {
	case "class_label":
		return x.HType // numbers mean the same alone
	case "image", "image.rgb", "image.gray":
		switch {
		case x.Dims != 3 || len(shape) != 3:
			return ""
		case last.whole() || shape[2] == x.Axes()[2]:
			return x.HType
		case shape[2] == 1 && x.DType != tensor.Float32:
			return "image.gray"
		}
		return "image" // some of the channels
	case "binary_mask", "segment_mask", "instance_label":
		if x.Dims < 2 || kept(0) && kept(1) {
			return x.HType
		}
		return ""
	case "keypoints_coco":
		if len(shape) == x.Dims && axes[0].whole() {
			return x.HType
		}
		return ""
	}
	if len(shape) == x.Dims && last.whole() { // boxes, points, embeddings
		return x.HType
	}
	return ""
}

// sizeAfter returns the size of an axis behind an item: -1 is not known, -2 no axis.
func sizeAfter(it *Item, size int64) (int64, error) {
	if it == nil {
		return size, nil
	}
	fixed := size >= 0
	for _, c := range []*Column{it.At, it.Low, it.High, it.Step} {
		fixed = fixed && (c == nil || c.Const && c.DType != 0 && !c.IsNull(0))
	}
	if !fixed {
		if !it.Slice {
			return -2, nil
		}
		if it.Low == nil && it.High == nil && it.Step == nil {
			return size, nil
		}
		return -1, nil
	}
	c, _, err := cutOf(it, 0, int(size))
	if err != nil {
		return 0, err
	}
	if c.drop {
		return -2, nil
	}
	return int64(c.count), nil
}

func listIndexType(x Type, items []Item) (Type, error) {
	item := ItemType(x)
	if items[0].Ellipsis {
		return Type{}, errs.New(errs.Type, "index of a %s: the first index picks items, ... cannot", x)
	}
	out, err := IndexType(item, items[1:])
	if err != nil {
		return out, err
	}
	out.List = items[0].Slice
	return out, nil
}

// Index returns x[items], by the rules of NumPy. A single index out of bounds is an error that
// names the row. Slices are cut to the axis. A missing key of JSON, or a NULL index, gives NULL.
func Index(w *Work, x *Column, items []Item) (*Column, error) {
	t, err := IndexType(x.Type, items)
	if err != nil {
		return nil, err
	}
	if x.DType == 0 || len(items) == 0 {
		return x, nil
	}
	cols := []*Column{x}
	for i := range items {
		for _, c := range []*Column{items[i].At, items[i].Low, items[i].High, items[i].Step} {
			if c != nil {
				cols = append(cols, c)
			}
		}
	}
	n, constant := RowsOf(cols...)
	if constant {
		x = x.OnlyRow()
		n, constant = 1, true
	}
	var out *Column
	switch {
	case x.List:
		out, err = indexLists(w, t, x, items, n)
	case x.DType == tensor.JSON && x.Dims == 0:
		out, err = indexJSON(w, t, x, items, n)
	default:
		out, err = indexArrays(w, t, x, items, n)
	}
	if err == nil && constant {
		total, _ := RowsOf(cols...)
		out = out.Repeat(total)
	}
	return out, err
}

func indexJSON(w *Work, t Type, x *Column, items []Item, n int) (*Column, error) {
	d := Elems[string](x)
	out := &Column{Type: t, N: n, Same: tensor.Shape{}, Null: make([]bool, n)}
	dst, room := Room[string](w, n)
	if !room {
		return nil, w.Err()
	}
	for i := range n {
		if !w.Step(textSteps) {
			break
		}
		ok := !x.IsNull(i)
		s := ""
		if ok {
			s = d[x.StoredAt(i)]
		}
		for k := 0; k < len(items) && ok; k++ {
			if !StepJSON(w, s) {
				return nil, w.Err()
			}
			switch v := items[k].At.Value(i).(type) {
			case string:
				s, ok = pathJSON(w, s, v, 0, false)
			case int64:
				s, ok = pathJSON(w, s, "", v, true)
			default:
				ok = false
			}
		}
		if out.Null[i] = !ok; ok {
			dst[i] = s
		}
	}
	out.Data = dst
	return out, nil
}

func indexLists(w *Work, t Type, x *Column, items []Item, n int) (*Column, error) {
	var rows, owner []int
	null := make([]bool, n)
	ends := make([]int, n)
	for i := range n {
		if null[i] = x.IsNull(i); !null[i] {
			lo, hi := x.ItemSpan(i)
			c, none, err := cutOf(&items[0], i, hi-lo)
			if err != nil {
				return nil, InRow(errs.KindOf(err), i, "row %d: %w", Here, err)
			}
			if null[i] = none; !none {
				for k := range c.count {
					rows, owner = append(rows, lo+c.start+k*c.step), append(owner, i)
				}
			}
		}
		if !items[0].Slice && null[i] {
			rows, owner = append(rows, -1), append(owner, i)
		}
		ends[i] = len(rows)
	}
	picked := ItemsOf(x).TakeIn(w, rows)
	if w.Err() != nil {
		return nil, w.Err()
	}
	rest := make([]Item, len(items)-1)
	for i, it := range items[1:] {
		for _, c := range []**Column{&it.At, &it.Low, &it.High, &it.Step} {
			if *c != nil {
				*c = (*c).Take(owner)
			}
		}
		rest[i] = it
	}
	picked, err := Index(w, picked, rest)
	if err != nil {
		return nil, err
	}
	if !items[0].Slice {
		return Retyped(picked, t), nil
	}
	out := FromLists(picked, ends, null)
	out.Type = t
	return out, nil
}

func indexArrays(w *Work, t Type, x *Column, items []Item, n int) (*Column, error) {
	if x.Uniform() && !x.Const && fixedItems(items) {
		return indexUniform(w, t, x, items)
	}
	if !w.Reserve((shapeBytes + 8) * int64(n)) {
		return nil, w.Err()
	}
	shapes := make([]tensor.Shape, n)
	total := 0
	list := &cutter{items: items}
	for i := range n {
		if !w.Step(textSteps) {
			return nil, w.Err()
		}
		s := x.ShapeAt(i)
		if s == nil {
			continue
		}
		cuts, null, err := list.of(s, i)
		if err != nil {
			return nil, InRow(errs.KindOf(err), i, "row %d: %w", Here, err)
		}
		if !null {
			shapes[i] = list.shape(cuts)
			total += SizeOf(shapes[i])
		}
	}
	src := x.Vector()
	v, ok := RoomOf(w, t.DType, total)
	if !ok {
		return nil, w.Err()
	}
	at := 0
	for i, s := range shapes {
		if s == nil || SizeOf(s) == 0 {
			continue
		}
		cuts, _, err := list.of(x.ShapeAt(i), i)
		if err != nil {
			return nil, err
		}
		if !w.Step(SizeOf(s)) {
			return nil, w.Err()
		}
		lo, _ := x.Span(i)
		v.crop(at, src, lo, x.ShapeAt(i), cuts)
		at += SizeOf(s)
	}
	return Regular(FromRows(t, shapes, v.Data())), nil
}

func fixedItems(items []Item) bool {
	for _, it := range items {
		for _, c := range []*Column{it.At, it.Low, it.High, it.Step} {
			if c != nil && !c.Const {
				return false
			}
		}
	}
	return true
}

// indexUniform has to look at the items once.
func indexUniform(w *Work, t Type, x *Column, items []Item) (*Column, error) {
	if x.N == 0 {
		return Empty(t), nil
	}
	list := &cutter{items: items}
	cuts, null, err := list.of(x.Same, 0)
	if err != nil {
		for i := range x.N {
			if !x.IsNull(i) {
				return nil, InRow(errs.KindOf(err), i, "row %d: %w", Here, err)
			}
		}
		return Nothing(t, x.N), nil
	}
	if null {
		return Nothing(t, x.N), nil
	}
	shape := list.shape(cuts)
	k, each := SizeOf(shape), x.RowSize()
	out := &Column{Type: t.WithAxes(shape), N: x.N, Same: shape, Null: x.Null}
	src := x.Vector()
	v, ok := RoomOf(w, t.DType, k*x.N)
	if !ok {
		return nil, w.Err()
	}
	if k > 0 {
		for i := range x.N {
			if !w.Step(k) {
				break
			}
			v.crop(i*k, src, i*each, x.Same, cuts)
		}
	}
	out.Data = v.Data()
	out.Type.Dims, out.Type.Shape = t.Dims, t.Shape
	return out, nil
}

// cutter computes the cuts of arrays, row by row.
type cutter struct {
	items []Item
	axes  []*Item // of the items, for as many axes as the last row had
	cuts  []cut
	sizes []int64 // of the shapes that were made
}

// of returns the cuts of an array of shape s. They are valid until the next call.
func (c *cutter) of(s tensor.Shape, row int) (cuts []cut, null bool, err error) {
	if c.axes == nil || len(c.axes) != len(s) {
		if c.axes, err = axesOf(len(s), c.items); err != nil {
			return nil, false, errs.New(errs.Range, "shape %s: %w", s, err)
		}
		c.cuts = make([]cut, len(s))
	}
	for i, it := range c.axes {
		c.cuts[i] = cut{0, 1, int(s[i]), false}
		if it != nil {
			var none bool
			if c.cuts[i], none, err = cutOf(it, row, int(s[i])); err != nil {
				return nil, false, err
			}
			null = null || none
		}
	}
	return c.cuts, null, nil
}

// shape returns the shape that is left by cuts.
func (c *cutter) shape(cuts []cut) tensor.Shape {
	from := len(c.sizes)
	for _, k := range cuts {
		if !k.drop {
			c.sizes = append(c.sizes, int64(k.count))
		}
	}
	if from == len(c.sizes) {
		return tensor.Shape{}
	}
	return tensor.Shape(c.sizes[from:len(c.sizes):len(c.sizes)])
}
