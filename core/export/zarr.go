package export

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/tensor"
	"deeplake/core/zarr"
)

// zarrArrays writes arrays of Zarr: one for each tensor, whose first axis is the rows.
type zarrArrays struct {
	e       *exporter
	columns []*zarrColumn
	rows    []*column // of columns, for batches
	encoder *zarr.Encoder
	splits  map[string]int64 // rows of each
}

// zarrColumn is a tensor as an array.
type zarrColumn struct {
	*column
	kind  zarr.Kind
	dtype tensor.DType // of numbers, as they are stored
	time  tensor.Time
	shape tensor.Shape // of a sample; nil: texts or bytes
	pads  bool         // samples are smaller in part, and an array beside this one has their shapes
	rows  int64        // of a chunk
}

// Bounds of chunks: bytes and rows of numbers, and rows of others.
const (
	zarrChunk = 4 << 20
	zarrRows  = 1 << 16
	zarrTexts = 1 << 10
	zarrFiles = 16
	// leastRows of a part: chunks do not reach beyond it
	leastRows = 1 << 12
	// zarrAtOnce bounds the chunks of a part that wait to be written
	zarrAtOnce = 4
)

func openZarr(ctx context.Context, e *exporter) (writer, error) {
	w := &zarrArrays{e: e, splits: map[string]int64{}}
	for _, c := range e.columns {
		one, err := w.column(ctx, c)
		if err != nil {
			return nil, errs.New(errs.KindOf(err), "tensor %q: %w", c.Name(), err)
		}
		w.columns, w.rows = append(w.columns, one), append(w.rows, c)
	}
	for _, c := range w.columns {
		if c.pads && slices.ContainsFunc(w.columns, func(o *zarrColumn) bool { return o.Name() == shapeName(c.column) }) {
			return nil, errs.New(errs.Unsupported, "tensor %q has the name of the array with the shapes of %q; leave one out by tensors=", shapeName(c.column), c.Name())
		}
	}
	if err := w.divide(ctx); err != nil {
		return nil, err
	}
	var err error
	w.encoder, err = zarr.NewEncoder(task.Cores())
	return w, err
}

// column tells how a tensor is stored.
func (w *zarrArrays) column(ctx context.Context, c *column) (*zarrColumn, error) {
	out := &zarrColumn{column: c}
	for name := range strings.SplitSeq(c.Name(), "/") {
		if !isPart(name) || name == zarr.File || strings.HasPrefix(name, "__") {
			return nil, errs.New(errs.Unsupported, "its name can be no node of Zarr; leave it out by tensors=, or rename it")
		}
	}
	isTexts := c.kind == isText || c.kind == isJSON
	switch {
	case isTexts:
		if out.kind, out.rows = zarr.Texts, zarrTexts; c.list {
			w.e.note(c.Name(), "lists become texts of JSON")
		}
		return out, nil
	case c.list:
		return nil, errs.New(errs.Unsupported, "Zarr has no lists of arrays; leave it out by tensors=")
	case c.kind == isBytes || c.kind == isVideo:
		if out.kind, out.rows = zarr.Bytes, zarrFiles; c.kind == isVideo {
			out.rows = 1
		}
		return out, nil
	}
	least, most, err := w.shapes(ctx, c)
	if err != nil {
		return nil, err
	}
	isFixed := least != nil && least.Equal(most)
	if c.kind == isImage && !isFixed {
		out.kind, out.rows = zarr.Bytes, zarrFiles
		w.e.note(c.Name(), fmt.Sprintf("images have shapes from %s to %s, and are written as files in an array of bytes; resize them in a query to get pixels", shown(least), shown(most)))
		return out, nil
	}
	if !isFixed && (least == nil || !w.e.o.Pad) {
		remedy := "leave it out by tensors="
		if least != nil {
			remedy = "fill the others up with zeros by pad=True (--pad), or leave it out by tensors="
		}
		return nil, errs.New(errs.Unsupported, "its arrays have shapes from %s to %s, and an array of Zarr has one; %s", shown(least), shown(most), remedy)
	}
	if out.pads = !isFixed; out.pads {
		w.e.note(c.Name(), fmt.Sprintf("arrays are filled up with zeros to shape %s; %q has their shapes", most, shapeName(c)))
	}
	c.decoded = true
	return out, out.numbers(w.e, c, most)
}

func shown(s tensor.Shape) string {
	if s == nil {
		return "several numbers of axes"
	}
	return s.String()
}

// numbers chooses the type of numbers, and the rows of a chunk.
func (out *zarrColumn) numbers(e *exporter, c *column, shape tensor.Shape) (err error) {
	out.dtype, out.shape = c.dtype, shape
	if c.of.Time != "" {
		if out.time, err = tensor.ParseTime(c.of.Time); err != nil {
			return err
		}
		if out.time.Zone != "" {
			e.note(c.Name(), fmt.Sprintf("times of the zone %s become times in UTC: arrays have no zones", out.time.Zone))
		}
	}
	if c.dtype == tensor.BFloat16 {
		out.dtype = tensor.Float32
		e.note(c.Name(), "bfloat16 becomes float32")
	}
	size, err := shape.Bytes(out.dtype)
	if err != nil {
		return err
	}
	out.rows = min(zarrRows, power(zarrChunk/max(size, 1)))
	return nil
}

// power returns the largest power of two that is at most n; at least 1.
func power(n int64) int64 { return 1 << (bits.Len64(uint64(max(n, 1))) - 1) }

// shapes returns the least and the greatest size of each axis over the samples of a tensor; nil if
// they have several numbers of axes. A row without a sample is an error.
func (w *zarrArrays) shapes(ctx context.Context, c *column) (least, most tensor.Shape, err error) {
	for _, p := range w.e.parts {
		for at := int64(0); at < p.n; at += batchRows {
			rows := p.rowsOf(at, min(batchRows, p.n-at))
			refs := make([]chunk.Ref, len(rows))
			if err := c.Resolve(ctx, rows, refs); err != nil {
				return nil, nil, err
			}
			for i := range refs {
				if refs[i].Hole() {
					return nil, nil, missing(c, rows[i])
				}
				s := refs[i].Shape
				if most == nil {
					least, most = append(tensor.Shape{}, s...), append(tensor.Shape{}, s...)
				}
				if len(s) != len(most) {
					return nil, nil, nil
				}
				for k, n := range s {
					least[k], most[k] = min(least[k], n), max(most[k], n)
				}
			}
		}
	}
	return least, most, nil
}

// missing refuses a row without a value.
func missing(c *column, row int64) error {
	return errs.InRow(errs.Unsupported, row, "row %d has no value, and Zarr has none; leave out the row by a query (WHERE %s IS NOT NULL), or the tensor by tensors=", row, c.Name())
}

// divide divides the rows anew, so that no chunk has rows of two parts.
func (w *zarrArrays) divide(ctx context.Context) error {
	stored, err := w.e.view.StoredBytes(ctx)
	if err != nil {
		return err
	}
	total := stored / max(w.e.view.Len(), 1) // of a row
	for _, c := range w.columns {
		if c.shape != nil {
			size, _ := c.shape.Bytes(c.dtype) // numbers has checked it
			total += size
		}
	}
	total = max(total, 1)
	rows := power(w.e.o.ShardBytes / total)
	if rows < leastRows {
		rows = min(leastRows, power(4*w.e.o.ShardBytes/total))
	}
	if n := w.e.view.Len(); w.e.spread && total*n > fewShards*smallShard {
		rows = min(rows, power(n/fewShards))
	}
	for _, c := range w.columns {
		c.rows = min(c.rows, rows)
	}
	var all []*part
	for _, p := range w.e.parts {
		if p.number > 0 {
			continue
		}
		n := int64(0)
		for _, other := range w.e.parts {
			if other.split == p.split {
				n += other.n
			}
		}
		w.splits[p.split] = n
		count := (n + rows - 1) / rows
		for k := range count {
			all = append(all, &part{index: len(all), split: p.split, number: int(k), of: int(count), from: k * rows, n: min(rows, n-k*rows), rows: p.rows})
		}
	}
	w.e.parts = all
	return nil
}

// array describes the array of a tensor in a split.
func (w *zarrArrays) array(c *zarrColumn, split string) *zarr.Array {
	n := w.splits[split]
	return &zarr.Array{
		Kind: c.kind, DType: c.dtype, Time: c.time, Shape: append([]int64{n}, c.shape...), Rows: min(c.rows, n), Attributes: c.attributes(),
	}
}

// shapesOf describes the array beside one that is filled up.
func (w *zarrArrays) shapesOf(c *zarrColumn, split string) *zarr.Array {
	n := w.splits[split]
	return &zarr.Array{DType: tensor.Int64, Shape: []int64{n, int64(len(c.shape))}, Rows: min(c.rows, n)}
}

// attributes are what users and imports read of a tensor.
func (c *zarrColumn) attributes() map[string]any {
	out := map[string]any{}
	for name, v := range c.of.Info {
		out[name] = v
	}
	if c.htype.Base != "generic" && !c.list {
		out["htype"] = c.of.HType
	}
	if c.column.kind == isBytes {
		out["dtype"] = "bytes"
	}
	if len(c.of.ClassNames) > 0 {
		out["class_names"] = c.of.ClassNames
	}
	return out
}

// zarrChunks are the chunks of an array that a part fills.
type zarrChunks struct {
	*zarr.Array
	folder string
	next   int64 // the chunk
	size   int64 // bytes of a chunk of numbers
	data   []byte
	held   int64 // rows in data
	items  zarr.Items
}

func (w *zarrArrays) chunksOf(p *part, a *zarr.Array, name string, size int64) *zarrChunks {
	return &zarrChunks{Array: a, folder: p.in(name) + "/", next: p.from / a.Rows, size: size * a.Rows}
}

// full reports whether the chunk has all its rows.
func (z *zarrChunks) full() bool { return max(z.held, z.items.Len()) == z.Rows }

// write writes the chunk in the background. An array without elements has no chunks.
func (z *zarrChunks) write(g *task.Group, w *zarrArrays, p *part) {
	if max(z.held, z.items.Len()) == 0 {
		return
	}
	key, data, items := z.folder+z.Key(z.next), z.data, z.items
	z.next, z.data, z.held, z.items = z.next+1, nil, 0, zarr.Items{}
	if z.Kind == zarr.Numbers && z.size == 0 {
		return
	}
	g.Go(func(ctx context.Context) (err error) {
		var out []byte
		if z.Kind == zarr.Numbers {
			out, err = w.encoder.Numbers(data, z.size)
		} else {
			out, err = w.encoder.Items(&items, z.Rows)
		}
		if err != nil {
			return errs.New(errs.KindOf(err), "%s: %w", key, err)
		}
		return w.e.put(ctx, p, key, out)
	})
}

func (w *zarrArrays) part(ctx context.Context, p *part) (any, error) {
	g := task.New(ctx, min(zarrAtOnce, w.e.lane()))
	arrays, shapes := make([]*zarrChunks, len(w.columns)), make([]*zarrChunks, len(w.columns))
	for i, c := range w.columns {
		size := int64(0)
		if c.shape != nil {
			size, _ = c.shape.Bytes(c.dtype) // numbers has checked it
		}
		arrays[i] = w.chunksOf(p, w.array(c, p.split), c.Name(), size)
		if c.pads {
			shapes[i] = w.chunksOf(p, w.shapesOf(c, p.split), shapeName(c.column), 8*int64(len(c.shape)))
		}
	}
	err := w.e.batches(g.Context(), p, w.rows, func(b *batch) error {
		for i, row := range b.rows {
			for k, c := range w.columns {
				if err := w.add(c, arrays[k], shapes[k], &b.columns[k][i], row); err != nil {
					return err
				}
				for _, z := range []*zarrChunks{arrays[k], shapes[k]} {
					if z != nil && z.full() {
						z.write(g, w, p)
					}
				}
			}
		}
		return nil
	})
	for _, z := range append(arrays, shapes...) {
		if z != nil && err == nil {
			z.write(g, w, p)
		}
	}
	if err != nil {
		g.Stop()
	}
	if failed := g.Wait(); failed != nil {
		err = failed // which has ended the batches
	}
	return nil, err
}

// add appends a value to the chunk of an array.
func (w *zarrArrays) add(c *zarrColumn, to, shapes *zarrChunks, v *value, row int64) error {
	in := func(err error) error {
		if err == nil {
			return nil
		}
		return errs.InRow(errs.KindOf(err), row, "row %d of tensor %q: %w", row, c.Name(), err)
	}
	switch {
	case v.hole:
		return errs.New(errs.Unsupported, "tensor %q: %w", c.Name(), missing(c.column, row))
	case c.list:
		return in(to.items.Add(listJSON(c.column, v)))
	case c.kind != zarr.Numbers && c.column.kind == isImage:
		file, err := w.e.picture(&v.Sample)
		if err != nil {
			return in(err)
		}
		return in(to.items.Add(file))
	case c.kind != zarr.Numbers:
		return in(to.items.Add(v.Data))
	}
	data := v.Data
	if c.column.dtype == tensor.BFloat16 {
		data, _ = tensor.Convert(tensor.Float32, tensor.BFloat16, data)
	}
	to.held++
	if !c.pads {
		if !v.Shape.Equal(c.shape) {
			return in(errs.New(errs.Type, "it has shape %s, want %s", v.Shape, c.shape))
		}
		to.data = append(to.data, data...)
		return nil
	}
	for _, n := range v.Shape {
		shapes.data = binary.LittleEndian.AppendUint64(shapes.data, uint64(n))
	}
	shapes.held++
	to.data = appendPadded(to.data, data, v.Shape, c.shape, int64(c.dtype.Size()))
	return nil
}

// appendPadded appends an array with zeros behind each axis, up to the shape most.
func appendPadded(dst, data []byte, shape, most tensor.Shape, size int64) []byte {
	if len(shape) == 0 {
		return append(dst, data...)
	}
	inner, whole := size, size
	for i := 1; i < len(shape); i++ {
		inner, whole = inner*shape[i], whole*most[i]
	}
	for i := range shape[0] {
		dst = appendPadded(dst, data[i*inner:][:inner], shape[1:], most[1:], size)
	}
	return append(dst, make([]byte, (most[0]-shape[0])*whole)...)
}

// finish writes the metadata of all arrays and groups: until then, nothing there is an array.
func (w *zarrArrays) finish(ctx context.Context, _ [][]byte) error {
	group, err := zarr.Group()
	if err != nil {
		return err
	}
	groups := map[string]bool{"": true}
	for split := range w.splits {
		p := &part{split: split}
		for _, c := range w.columns {
			nodes := map[string]*zarr.Array{c.Name(): w.array(c, split)}
			if c.pads {
				nodes[shapeName(c.column)] = w.shapesOf(c, split)
			}
			for name, a := range nodes {
				data, err := a.Metadata()
				if err != nil {
					return errs.New(errs.KindOf(err), "tensor %q: %w", name, err)
				}
				if err := w.e.about(ctx, p.in(name)+"/"+zarr.File, data); err != nil {
					return err
				}
				for at := p.in(name); strings.Contains(at, "/"); {
					at = at[:strings.LastIndex(at, "/")]
					groups[at+"/"] = true
				}
			}
		}
	}
	for at := range groups {
		if err := w.e.about(ctx, at+zarr.File, group); err != nil {
			return err
		}
	}
	return nil
}
