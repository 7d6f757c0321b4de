package table

import (
	"context"
	"maps"
	"slices"
	"strings"

	"deeplake/core/arrow"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/tensor"
)

// openFiles bounds the files whose metadata is read at once.
const openFiles = 32

// schema is the columns of all files, each with its widest type.
type schema struct {
	columns   []*column
	byName    map[string]*column
	isWritten bool // Format.Written
}

// column is the types that the files have for a tensor.
type column struct {
	name   string
	types  *arrow.Column // of the first file whose type has values
	file   string        // that file
	number tensor.DType  // the widest one; 0: no numbers
	varies bool          // files have other numbers
}

// plan reads the metadata of files, and returns the columns of all of them. leaveOut decides about
// a file that cannot be read.
func (im *importer) plan(ctx context.Context, files []*file, leaveOut func(f *file, err error) error) (*schema, []*file, error) {
	all := &schema{byName: map[string]*column{}, isWritten: im.source.format.Written}
	types, failed := make([]*arrow.Column, len(files)), make([]error, len(files))
	g := task.New(ctx, openFiles)
	for i, f := range files {
		g.Go(func(ctx context.Context) error {
			types[i], failed[i] = im.typesOf(ctx, f)
			if failed[i] != nil && (ctx.Err() != nil || !bad(failed[i])) {
				return failed[i]
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	var good []*file
	for i, f := range files {
		if failed[i] == nil {
			failed[i] = all.add(im, f, types[i])
		}
		if failed[i] == nil {
			good = append(good, f)
			continue
		}
		if err := leaveOut(f, failed[i]); err != nil {
			return nil, nil, err
		}
	}
	return all, good, nil
}

// readSchema adds the tensors that an export has described beside its files, unless the user has
// named them.
func (im *importer) readSchema(ctx context.Context) error {
	im.named = slices.Collect(maps.Keys(im.o.Schema))
	if !im.source.isFolder {
		return nil
	}
	found, err := dataset.ReadSchema(ctx, im.source)
	if err != nil || len(found) == 0 {
		return err
	}
	all := maps.Clone(im.o.Schema)
	if all == nil {
		all = map[string]dataset.TensorSpec{}
	}
	for _, spec := range found {
		if _, is := all[spec.Name]; !is {
			all[spec.Name] = spec
		}
	}
	im.o.Schema = all
	return nil
}

// checkNames checks the names in options against the columns of new files.
func (im *importer) checkNames(files []*file) error {
	if len(files) == 0 {
		return nil
	}
	names := make([]string, len(im.schema.columns))
	for i, c := range im.schema.columns {
		names[i] = c.name
	}
	unknown := func(name, by string) error {
		return errs.New(errs.Invalid, "there is no column %q, which %s names%s; there are %s", name, by, errs.Suggest(name, names), listed(names))
	}
	for _, u := range im.o.URLs {
		if im.schema.byName[u.Column] == nil {
			return unknown(u.Column, "the option for URLs")
		}
		for _, name := range []string{u.Tensor, u.errors()} {
			if im.schema.byName[name] != nil {
				return errs.New(errs.Invalid, "the objects of column %q would go to tensor %q, which is a column of the table; choose another name", u.Column, name)
			}
		}
	}
	for _, name := range im.named {
		isOfURL := slices.ContainsFunc(im.o.URLs, func(u URLColumn) bool { return u.Tensor == name })
		if _, there := im.tensors[name]; !there && !isOfURL && im.schema.byName[name] == nil {
			return unknown(name, "the schema")
		}
	}
	return nil
}

// checkColumns refuses columns that no row has. Files without types show it at their end.
func (im *importer) checkColumns() error {
	for _, name := range im.o.Columns {
		isThere := im.schema.byName[name] != nil || slices.ContainsFunc(im.schema.columns, func(c *column) bool { return strings.HasPrefix(c.name, name+"/") })
		if _, there := im.tensors[name]; !isThere && !there && im.source.format.Keys {
			return errs.New(errs.Invalid, "no row has a column %q; leave it out", name)
		}
	}
	return nil
}

// typesOf reads the types of the columns of a file that are taken, and its number of rows.
func (im *importer) typesOf(ctx context.Context, f *file) (*arrow.Column, error) {
	t, err := im.source.open(ctx, f)
	if err != nil {
		return nil, err
	}
	f.rows = t.Rows()
	switch t := t.(type) {
	case *values:
		f.known = t.known
		if im.o.Columns == nil && t.nameless != nil {
			return nil, im.source.wrong(f, t.nameless)
		}
	case *records:
		f.forms = t.forms
	}
	names, err := im.picked(f, t.Columns())
	if err != nil {
		return nil, err
	}
	types, err := t.Types(ctx, names)
	if err != nil {
		return nil, im.source.wrong(f, err)
	}
	return types, nil
}

// picked returns the columns to read of a file that has some.
func (im *importer) picked(f *file, have []string) ([]string, error) {
	seen := map[string]bool{}
	for _, name := range have {
		if seen[name] {
			return nil, errs.New(errs.Invalid, "%s: two columns have the name %q; rename one of them", f.key, name)
		}
		seen[name] = true
	}
	if im.o.Columns == nil {
		return have, nil
	}
	var names []string
	for _, u := range im.o.URLs {
		if seen[u.Column] && !slices.Contains(im.o.Columns, u.Column) {
			names = append(names, u.Column)
		}
	}
	for _, name := range im.o.Columns {
		isPart := slices.ContainsFunc(im.source.parts, func(p partition) bool { return p.name == name })
		switch {
		case seen[name] || im.source.format.Keys && !isPart:
			names = append(names, name)
		case !isPart:
			return nil, errs.New(errs.Invalid, "%s: there is no column %q%s; it has %s", f.key, name, errs.Suggest(name, have), listed(have))
		}
	}
	if names == nil {
		names = []string{}
	}
	return names, nil
}

// listed lists names for a message, the first sixteen of them.
func listed(names []string) string {
	out := ""
	for i, name := range names {
		if i == 16 {
			return out + ", ..."
		}
		if i > 0 {
			out += ", "
		}
		out += name
	}
	return out
}

// columnsOf returns the columns of a batch: those of the file, and of its folders' names.
func (im *importer) columnsOf(f *file, batch *arrow.Column) ([]tensorColumn, error) {
	fields, ok := batch.Fields()
	if !ok {
		return nil, errs.New(errs.Internal, "a batch is no struct of columns")
	}
	var out []tensorColumn
	for _, c := range fields {
		if !arrow.IsIndex(c.Name()) || len(fields) == 1 {
			out = im.flatten(out, "", c)
		}
	}
	for _, p := range im.source.parts {
		isWanted := im.o.Columns == nil || slices.Contains(im.o.Columns, p.name)
		isTaken := slices.ContainsFunc(out, func(c tensorColumn) bool { return c.name == p.name })
		if isTaken && p.name == SplitColumn {
			im.source.parted = nil // the files have a column of their own
		}
		if !isWanted || isTaken {
			continue
		}
		c, err := p.column(f, batch.Len())
		if err != nil {
			return nil, err
		}
		out = append(out, tensorColumn{p.name, c})
	}
	return out, nil
}

// tensorColumn is a column with the name of its tensor.
type tensorColumn struct {
	name string
	*arrow.Column
}

// flatten turns the fields of a struct into columns of a group, unless it is one tensor.
func (im *importer) flatten(out []tensorColumn, group string, c *arrow.Column) []tensorColumn {
	name := group + c.Name()
	_, isGiven := im.o.Schema[name]
	_, isTensor := im.tensors[name]
	if below, ok := c.Fields(); ok && !isGiven && !isTensor && !c.IsFile() && len(below) > 0 {
		for _, b := range below {
			out = im.flatten(out, name+"/", b)
		}
		return out
	}
	return append(out, tensorColumn{name, c})
}

// add joins the columns of a file with those of the others.
func (s *schema) add(im *importer, f *file, types *arrow.Column) error {
	columns, err := im.columnsOf(f, types)
	if err != nil {
		return err
	}
	return s.join(f, columns)
}

// join joins columns with those of files before.
func (s *schema) join(f *file, columns []tensorColumn) error {
	// A file that does not fit changes nothing.
	for _, c := range columns {
		if old := s.byName[c.name]; old != nil && !s.isWritten {
			if err := old.fits(f, c); err != nil {
				return err
			}
		}
	}
	for _, c := range columns {
		old := s.byName[c.name]
		switch {
		case old == nil:
			old = &column{name: c.name, types: c.Column, file: f.key, number: c.Number()}
			s.byName[c.name] = old
			s.columns = append(s.columns, old)
		case old.types.IsNull():
			old.types, old.file, old.number = c.Column, f.key, c.Number()
		case s.isWritten: // the reader gives one type for all files
		case old.number != 0 && c.Number() != 0 && c.Number() != old.number:
			old.number, old.varies = tensor.Join(old.number, c.Number()), true
		}
	}
	return nil
}

// fits refuses a column of another meaning in a later file.
func (c *column) fits(f *file, now tensorColumn) error {
	if c.types.IsNull() || now.IsNull() {
		return nil
	}
	was, is := c.types.Infer(), now.Infer()
	if was.HType == is.HType && was.DType == is.DType && (c.number != 0) == (now.Number() != 0) {
		return nil
	}
	return errs.New(errs.Type, "%s: column %q has type %s, and %s in %s; write one type, or leave the column out", f.key, c.name, now.Type(), c.types.Type(), c.file)
}

// widen joins the columns of rows with those before, as long as they have no tensors.
func (im *importer) widen(f *file, columns []tensorColumn) error {
	var open []tensorColumn
	for _, c := range columns {
		if _, there := im.tensors[c.name]; !there {
			open = append(open, c)
		}
	}
	return im.schema.join(f, open)
}

// ensure creates the tensors that columns of a batch lack. Earlier rows have no samples in them. A
// column without values waits for one with them.
func (im *importer) ensure(ctx context.Context, columns []tensorColumn) error {
	for _, c := range columns {
		planned := im.schema.byName[c.name]
		if _, there := im.tensors[c.name]; there || planned.types.IsNull() && c.IsNull() {
			continue
		}
		types := planned.types
		if !c.IsNull() {
			types = c.Column // with the first files, if it has files
		}
		if err := im.createColumn(ctx, planned, types); err != nil {
			return err
		}
	}
	if len(im.tensors) > 0 || len(im.schema.columns) == 0 {
		return nil
	}
	// Rows need a tensor, though no column has values.
	first := im.schema.columns[0]
	for _, c := range im.schema.columns { // of files to come
		if !c.types.IsNull() {
			first = c
			break
		}
	}
	return im.createColumn(ctx, first, first.types)
}

// createColumn creates the tensor of a column.
func (im *importer) createColumn(ctx context.Context, planned *column, types *arrow.Column) error {
	spec, given := im.o.Schema[planned.name]
	if !given {
		spec = dataset.SpecOf(types.Infer(), im.env)
		if planned.varies && spec.HType == "generic" {
			spec.DType = planned.number.String()
		}
		if planned.name == SplitColumn && im.source.parted != nil && spec.HType == "text" {
			spec = dataset.TensorSpec{HType: "class_label", ClassNames: im.source.parted, AddClasses: true}
		}
	}
	spec.Name = planned.name
	return im.createTensor(ctx, spec)
}

// readTensors reads which tensors there are; true: their rows are lists.
func (im *importer) readTensors() error {
	desc, err := im.d.Describe()
	if err != nil {
		return err
	}
	im.tensors = map[string]bool{}
	for _, t := range desc.Tensors {
		im.tensors[t.Name] = t.Sequence
		im.images = im.images || holdsImages(dataset.TensorSpec{HType: t.HType})
	}
	return nil
}

// rows returns the values of a batch for all tensors: those without a column get no samples.
func (im *importer) rows(columns []tensorColumn, fetched []objects, n int64) []tensor.Rows {
	out := make([]tensor.Rows, 0, len(im.tensors))
	has := map[string]bool{}
	for _, o := range fetched {
		for _, r := range o.columns() {
			has[r.Tensor] = true
			out = append(out, r)
		}
	}
	for _, c := range columns {
		if _, there := im.tensors[c.name]; !there {
			continue // it has no values
		}
		has[c.name] = true
		out = append(out, tensor.Rows{Tensor: c.name, Foreign: c.Column})
	}
	for name, list := range im.tensors {
		if has[name] {
			continue
		}
		col := tensor.Rows{Tensor: name, Samples: make([]tensor.Sample, n)}
		for i := range col.Samples {
			col.Samples[i].Form = tensor.FormHole
		}
		if list {
			col.RowItems = slices.Repeat([]int64{1}, int(n)) // a hole each
		}
		out = append(out, col)
	}
	return out
}
