package arrow

import (
	"regexp"
	"slices"

	"deeplake/core/tensor"
)

// Holder knows which names of a dataset are taken.
type Holder interface {
	// Holds reports whether name is that of a tensor, or of a group of tensors.
	Holds(name string) (isTensor, isGroup bool, err error)
	// Empty reports whether the dataset has no tensors, so that columns make them.
	Empty() bool
}

var indexName = regexp.MustCompile(`^__index_level_\d+__$`)

// IsIndex reports whether a column is the index of a data frame, as pandas names it in tables. No
// tensor may have such a name.
func IsIndex(name string) bool { return indexName.MatchString(name) }

// Tensors returns the columns of a struct of columns for the tensors of their names. The fields of
// a struct belong to the group of its name. The index of a data frame is left out. ok is false if
// the column is no struct.
func (c *Column) Tensors(of Holder) (rows []tensor.Rows, ok bool, err error) {
	fields, ok := c.Fields()
	if !ok {
		return nil, false, nil
	}
	rows, err = columns(nil, of, "", fields)
	return rows, true, err
}

func columns(rows []tensor.Rows, of Holder, group string, fields []*Column) ([]tensor.Rows, error) {
	for _, f := range fields {
		name := group + f.Name()
		if IsIndex(name) && len(fields) > 1 {
			continue
		}
		isTensor, isGroup, err := of.Holds(name)
		if err != nil {
			return nil, err
		}
		if below, ok := f.Fields(); ok && isGroup && !isTensor && !(f.IsFile() && of.Empty()) {
			if rows, err = columns(rows, of, name+"/", below); err != nil {
				return nil, err
			}
			continue
		}
		rows = append(rows, tensor.Rows{Tensor: name, Foreign: f})
	}
	return rows, nil
}

// Slice returns n rows from row on. They must be there.
func (c *Column) Slice(from, n int64) *Column {
	out := *c
	out.parts, out.above = nil, nil
	for i, v := range c.parts {
		take := min(n, max(0, v.n-from))
		part := *v
		part.slice(min(from, v.n), take)
		out.parts = append(out.parts, &part)
		above := c.above[i]
		if above != nil {
			above = above[min(from, v.n):][:take]
		}
		out.above = append(out.above, above)
		n -= take
		from = max(0, from-v.n)
	}
	return &out
}

// Pick returns some columns of a struct of columns, in the order of names; nil: all. Names that it
// lacks are left out.
func (c *Column) Pick(names []string) *Column {
	if names == nil || c.field.kind != kindStruct {
		return c
	}
	out := *c
	t := *c.field.dataType
	t.fields = nil
	out.field.dataType, out.parts = &t, make([]*values, len(c.parts))
	for i, v := range c.parts {
		part := *v
		part.dataType, part.children = &t, nil
		out.parts[i] = &part
	}
	for _, name := range names {
		at := slices.IndexFunc(c.field.fields, func(f field) bool { return f.name == name })
		if at < 0 {
			continue
		}
		t.fields = append(t.fields, c.field.fields[at])
		for i, v := range c.parts {
			out.parts[i].children = append(out.parts[i].children, v.children[at])
		}
	}
	return &out
}

// Number returns the dtype of numbers, also of lists of them; 0 for other types, and for times.
func (c *Column) Number() tensor.DType {
	leaf := c.field.leaf()
	if leaf.dictionary == nil && leaf.extension == "" && (leaf.kind == kindNumber || leaf.kind == kindBool) {
		return leaf.dtype
	}
	return 0
}

// Time names the times of a column, also of lists of them; "" for other types.
func (c *Column) Time() string {
	leaf := c.field.leaf()
	if leaf.kind != kindTime || leaf.dictionary != nil || leaf.extension != "" {
		return ""
	}
	return leaf.counts
}

// Type is the type of the column, as Arrow prints it.
func (c *Column) Type() string { return c.field.dataType.name }

// IsNull reports whether the type of the column has no values.
func (c *Column) IsNull() bool { return c.field.leaf().kind == kindNull }

// Texts returns the texts of a column, "" for a null; ok is false for columns of other types.
func (c *Column) Texts() (texts []string, ok bool) {
	for i, v := range c.parts {
		if v.kind == kindNull {
			texts = append(texts, make([]string, v.n)...)
			continue
		}
		missing := v.missing(c.above[i])
		text, isText := textsOf(v)
		if !isText {
			return nil, false
		}
		for k := range v.n {
			if missing != nil && missing[k] {
				texts = append(texts, "")
				continue
			}
			one, ok := text(k)
			if !ok {
				return nil, false
			}
			texts = append(texts, one)
		}
	}
	return slices.Clip(texts), true
}

// textsOf returns a function that gives the text of a row; ok is false for other types.
func textsOf(v *values) (text func(row int64) (string, bool), ok bool) {
	of := v
	if v.dictionary != nil {
		of = v.dict
	}
	if of.dtype != tensor.String || of.dictionary != nil || of.kind != kindText && of.kind != kindView {
		return nil, false
	}
	if v.dictionary == nil {
		return func(row int64) (string, bool) { return string(v.text(row)), true }, true
	}
	return func(row int64) (string, bool) {
		size := int64(v.dtype.Size())
		code := int64sOf(v.dtype, v.data[(v.offset+row)*size:][:size])[0]
		if code < 0 || code >= of.n {
			return "", false
		}
		if of.null(code) {
			return "", true
		}
		return string(of.text(code)), true
	}, true
}
