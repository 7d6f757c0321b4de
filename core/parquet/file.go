package parquet

import (
	"context"
	"encoding/base64"
	"math"
	"slices"

	"deeplake/core/arrow"
	"deeplake/core/arrow/ipc"
	"deeplake/core/errs"
	"deeplake/core/internal/ahead"
	"deeplake/core/internal/task"
)

const (
	magic = "PAR1"
	// footerGuess is the part of the file's end that is read first.
	footerGuess = 64 << 10
	// wholeBytes is the size of files that are read at once.
	wholeBytes = 4 << 20
	// maxFooter bounds the metadata.
	maxFooter = 256 << 20

	// batchRows and batchBytes bound a batch; the latter by the sizes that the metadata states.
	batchRows  = 1 << 16
	batchBytes = 32 << 20

	// aheadBytes bounds the bytes of all columns that are requested ahead.
	aheadBytes         = 64 << 20
	leastStep, maxStep = 64 << 10, 8 << 20
)

// File is an open Parquet file. All methods may be called in parallel.
type File struct {
	r      ahead.ReaderAt
	footer *footer
	root   *node
	leaves []*node
	rows   int64
}

// Open reads the metadata of a file of size bytes.
func Open(ctx context.Context, r ahead.ReaderAt, size int64) (*File, error) {
	if size < 12 {
		return nil, errs.New(errs.Corrupt, "it has %d bytes, which is no Parquet file", size)
	}
	if size <= wholeBytes {
		p := make([]byte, size)
		if err := r.ReadAt(ctx, p, 0); err != nil {
			return nil, err
		}
		r = ahead.Memory(p)
	}
	p, err := metadata(ctx, r, size)
	if err != nil {
		return nil, err
	}
	f := &File{r: r}
	if f.footer, err = parseFooter(p); err != nil {
		return nil, err
	}
	if f.root, f.leaves, err = newTree(f.footer.schema); err != nil {
		return nil, err
	}
	if err := f.checkGroups(size); err != nil {
		return nil, err
	}
	f.root.typ.Metadata = f.footer.metadata
	if text := f.footer.metadata["ARROW:schema"]; text != "" {
		// The schema adds to that of the file. A damaged one is not needed.
		if p, err := base64.StdEncoding.DecodeString(text); err == nil {
			if t, err := ipc.ParseSchema(p); err == nil {
				f.refine(t)
			}
		}
	}
	return f, nil
}

// metadata reads the bytes of the footer.
func metadata(ctx context.Context, r ahead.ReaderAt, size int64) ([]byte, error) {
	end := make([]byte, min(size, footerGuess))
	if err := r.ReadAt(ctx, end, size-int64(len(end))); err != nil {
		return nil, err
	}
	switch string(end[len(end)-4:]) {
	case magic:
	case "PARE":
		return nil, errs.New(errs.Unsupported, "it is encrypted; read it with pyarrow, and give the table")
	default:
		return nil, errs.New(errs.Corrupt, "it does not end as a Parquet file: it is cut, or of another format")
	}
	n := int64(le32(end[len(end)-8:]))
	if n > size-12 || n > maxFooter {
		return nil, errs.New(errs.Corrupt, "its metadata has %d bytes, and the file %d", n, size)
	}
	if n+8 > int64(len(end)) {
		end = make([]byte, n+8)
		if err := r.ReadAt(ctx, end, size-n-8); err != nil {
			return nil, err
		}
	}
	return end[int64(len(end))-8-n : len(end)-8], nil
}

// checkGroups checks that each column lies in the file.
func (f *File) checkGroups(size int64) error {
	for i := range f.footer.groups {
		g := &f.footer.groups[i]
		if g.rows < 0 || g.rows > math.MaxInt64-f.rows || len(g.columns) != len(f.leaves) {
			return errs.New(errs.Corrupt, "row group %d has %d rows and %d columns, want %d columns", i, g.rows, len(g.columns), len(f.leaves))
		}
		f.rows += g.rows
		for k := range g.columns {
			c := &g.columns[k]
			switch {
			case c.encrypted || f.footer.encrypted && !c.known:
				return errs.New(errs.Unsupported, "column %q is encrypted; read the file with pyarrow, and give the table", f.leaves[k].name)
			case c.elsewhere:
				return errs.New(errs.Unsupported, "column %q lies in another file", f.leaves[k].name)
			case !c.known || c.values < 0 || c.size < 0 || c.wide < 0 || c.from() < 0 || c.from() > size-c.size:
				return errs.New(errs.Corrupt, "column %q of row group %d has %d bytes at %d, and the file %d", f.leaves[k].name, i, c.size, c.from(), size)
			case f.leaves[k].repeats == 0 && c.values != g.rows:
				return errs.New(errs.Corrupt, "column %q of row group %d has %d values, and the group %d rows", f.leaves[k].name, i, c.values, g.rows)
			}
		}
	}
	return nil
}

// refine applies the schema of Arrow to the columns of its names.
func (f *File) refine(t *arrow.Type) {
	byName := map[string]*arrow.Type{}
	for _, c := range t.Children {
		byName[c.Name] = c
	}
	for _, c := range f.root.children {
		if of := byName[c.name]; of != nil {
			c.refine(of)
		}
	}
	for key, value := range t.Metadata {
		if _, ok := f.root.typ.Metadata[key]; !ok {
			f.root.typ.Metadata[key] = value
		}
	}
}

// Rows is the number of rows.
func (f *File) Rows() int64 { return f.rows }

// Columns are the names of the columns, in the order of the file.
func (f *File) Columns() []string {
	names := make([]string, len(f.root.children))
	for i, c := range f.root.children {
		names[i] = c.name
	}
	return names
}

// Options choose the rows and columns of a file.
type Options struct {
	Columns []string // in any order; nil: all
	From    int64    // the first row
	// Ahead requests bytes ahead: for stores across a network.
	Ahead bool
	// Places gives texts and bytes with their positions in the file.
	Places bool
}

// Rows reads the rows of a file in batches. One goroutine at a time may use it.
type Rows struct {
	f       *File
	group   *task.Group
	columns []*node
	leaves  []*column
	skip    int64 // rows before the first one, in its row group
	next    int64
	end     int64
}

// Read begins to read rows. The result must be closed. A column that is not there is errs.NotFound.
func (f *File) Read(ctx context.Context, o Options) (*Rows, error) {
	r := &Rows{f: f, next: o.From, end: f.rows}
	for _, name := range o.Columns {
		i := slices.IndexFunc(f.root.children, func(n *node) bool { return n.name == name })
		if i < 0 {
			return nil, errs.New(errs.NotFound, "there is no column %q", name)
		}
		r.columns = append(r.columns, f.root.children[i])
	}
	if o.Columns == nil {
		r.columns = f.root.children
	}
	if o.From < 0 || o.From > f.rows {
		return nil, errs.New(errs.Invalid, "the file has %d rows, and reading begins at %d", f.rows, o.From)
	}
	first, before := 0, int64(0)
	for first < len(f.footer.groups) && before+f.footer.groups[first].rows <= o.From {
		before += f.footer.groups[first].rows
		first++
	}
	r.skip = o.From - before
	if o.Ahead {
		r.group = task.New(ctx, 0)
	}
	used := 0
	for _, n := range r.columns {
		used += n.leavesOf()
	}
	r.leaves = make([]*column, len(f.leaves))
	for _, n := range r.columns {
		for leaf := n.leaf; leaf < n.leaf+n.leavesOf(); leaf++ {
			r.leaves[leaf] = r.column(leaf, first, used, n.shape == leafNode)
			r.leaves[leaf].places = o.Places
		}
	}
	return r, nil
}

// column opens a leaf from a row group on.
func (r *Rows) column(leaf, first, used int, top bool) *column {
	c := &column{node: r.f.leaves[leaf], top: top && r.f.leaves[leaf].typ.Format != "n"}
	step := min(max(aheadBytes/2/int64(used), leastStep), maxStep)
	o := ahead.Options{Group: r.group, Step: step, Depth: int(min(max(aheadBytes/(int64(used)*step), 2), 16))}
	var pages []ahead.Segment
	for i := first; i < len(r.f.footer.groups); i++ {
		meta := r.f.footer.groups[i].columns[leaf]
		c.chunks = append(c.chunks, meta)
		if meta.size > 0 {
			pages = append(pages, ahead.Segment{Off: meta.from(), Size: meta.size})
		}
	}
	c.stream = ahead.New(r.f.r, o, pages...)
	return c
}

// Close ends requests that are on their way.
func (r *Rows) Close() {
	if r.group != nil {
		r.group.Stop()
		_ = r.group.Wait()
	}
}

// Position is the number of the next row in the file.
func (r *Rows) Position() int64 { return r.next }

// size returns the rows of a batch from a row on: those of later row groups only as far as its
// bytes allow.
func (r *Rows) size(from int64) int {
	rows, bytes := int64(0), int64(batchBytes)
	for i := range r.f.footer.groups {
		g := &r.f.footer.groups[i]
		if from >= g.rows {
			from -= g.rows
			continue
		}
		each := r.each(i)
		n := min(g.rows-from, batchRows-rows, bytes/each)
		if rows += n; from+n < g.rows {
			break
		}
		bytes -= n * each
		from = 0
	}
	return int(min(r.end-r.next, max(1, rows)))
}

// each is the bytes of a row of a group, by the sizes that the metadata states.
func (r *Rows) each(group int) int64 {
	g := &r.f.footer.groups[group]
	each := int64(1)
	for k, c := range r.leaves {
		if c != nil {
			meta := &g.columns[k]
			each += meta.wide/g.rows + min(meta.values/g.rows, batchBytes)*int64(2+max(c.width(), 8))
		}
	}
	for _, n := range r.columns {
		each += n.padded(1)
	}
	return each
}

// padded is the bytes that lists of a fixed size have in each row, null or not.
func (n *node) padded(items int64) (bytes int64) {
	if items > batchBytes || n.shape == listNode && n.fixed == 0 {
		return min(items, batchBytes)
	}
	if n.shape == leafNode {
		return items * int64(max(n.width(), 1))
	}
	for _, c := range n.children {
		bytes += c.padded(items * int64(max(n.fixed, 1)))
	}
	return min(bytes, batchBytes)
}

// Next returns the next batch: a struct of the columns. It is nil at the end. Its memory stays
// valid.
func (r *Rows) Next(ctx context.Context) (*arrow.Column, error) {
	for r.skip > 0 { // of the group that has the next row
		n := int(min(r.skip, int64(max(1, r.size(r.next-r.skip)))))
		if _, err := r.read(ctx, n); err != nil {
			return nil, err
		}
		r.skip -= int64(n)
	}
	rows := r.size(r.next)
	if rows == 0 {
		return nil, nil
	}
	batch, err := r.read(ctx, rows)
	if err != nil {
		return nil, err
	}
	r.next += int64(rows)
	return r.assembled(ctx, batch, rows)
}

// read reads some rows of all leaves.
func (r *Rows) read(ctx context.Context, rows int) ([]*vector, error) {
	batch := make([]*vector, len(r.leaves))
	g := task.New(ctx, task.Cores())
	for i, c := range r.leaves {
		if c == nil {
			continue
		}
		batch[i] = &vector{}
		g.Go(func(ctx context.Context) error {
			got, err := c.read(ctx, batch[i], rows)
			if err == nil && got != rows {
				err = errs.New(errs.Corrupt, "it has fewer rows than the metadata says")
			}
			if err != nil {
				return errs.New(errs.KindOf(err), "column %q: %w", c.name, err)
			}
			return nil
		})
	}
	return batch, g.Wait()
}

// assembled makes the columns of a batch.
func (r *Rows) assembled(ctx context.Context, batch []*vector, rows int) (*arrow.Column, error) {
	all := &arrow.Type{Format: "+s", Metadata: r.f.root.typ.Metadata, Children: make([]*arrow.Type, len(r.columns))}
	data := &arrow.Data{Rows: int64(rows), Children: make([]*arrow.Data, len(r.columns))}
	g := task.New(ctx, task.Cores())
	for i, n := range r.columns {
		g.Go(func(context.Context) (err error) {
			all.Children[i], data.Children[i], err = n.assemble(batch)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	c, err := arrow.MakeColumn(all, data)
	if err != nil {
		return nil, errs.New(errs.Corrupt, "%w", err)
	}
	return c, nil
}

// Types returns the columns without rows, for a file that has none.
func (f *File) Types(columns []string) (*arrow.Column, error) {
	r, err := f.Read(context.Background(), Options{Columns: columns, From: f.rows})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	batch := make([]*vector, len(f.leaves))
	for i := range batch {
		batch[i] = &vector{}
	}
	return r.assembled(context.Background(), batch, 0)
}
