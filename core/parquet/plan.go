package parquet

import (
	"strconv"
	"strings"

	"deeplake/core/arrow"
	"deeplake/core/errs"
)

// outNode is a column that is written, or a part of one. Each may be null.
type outNode struct {
	shape
	name     string
	children []*outNode
	leaf     *outLeaf

	defined int   // definition level from which it is not null
	repeats int   // repetition level of the list around; 0: none
	fixed   bool  // a list of a fixed size
	places  int64 // of a fixed list: items of each row, null or not
}

// planner makes the schema of a file of the type of its rows.
type planner struct {
	elements []element
	leaves   []*outLeaf
}

// plan adds the root of the schema with the columns of t.
func (p *planner) plan(t *arrow.Type) (*outNode, error) {
	if t == nil || t.Format != "+s" || len(t.Children) == 0 || t.Dictionary != nil {
		return nil, writing("").New(errs.Invalid, "the type of rows is no struct of columns, want \"+s\" with children")
	}
	root := &outNode{shape: structNode}
	p.elements = append(p.elements, element{name: "schema", children: int64(len(t.Children)), converted: -1})
	return root, p.fields(root, t, nil)
}

// writing is the operation of errors about a column.
func writing(column string) errs.At { return errs.Op("write Parquet column", column) }

// fields adds the fields of a struct.
func (p *planner) fields(n *outNode, t *arrow.Type, path []string) error {
	seen := map[string]bool{}
	for _, c := range t.Children {
		if c == nil || seen[c.Name] {
			return writing(strings.Join(path, ".")).New(errs.Invalid, "a field is missing or has the name of another; names of fields must differ")
		}
		seen[c.Name] = true
		child, err := p.field(c, c.Name, n, path)
		if err != nil {
			return err
		}
		n.children = append(n.children, child)
	}
	return nil
}

// field adds a node below n. In a list n.defined and n.repeats are those of its items.
func (p *planner) field(t *arrow.Type, name string, n *outNode, path []string) (*outNode, error) {
	path = append(path[:len(path):len(path)], name)
	column := strings.Join(path, ".")
	if len(path) > maxDepth {
		return nil, writing(path[0]).New(errs.Unsupported, "types lie in each other too deep: a path has more than %d names", maxDepth)
	}
	if len(p.elements) >= maxNodes {
		return nil, writing(path[0]).New(errs.Unsupported, "the schema has more than %d nodes", maxNodes)
	}
	c := &outNode{name: column, defined: n.defined + 1, repeats: n.repeats}
	e := element{name: name, repetition: optional, converted: -1}
	head, rest, _ := strings.Cut(t.Format, ":")
	switch {
	case t.Format == "+s" && len(t.Children) == 0:
		return nil, writing(column).New(errs.Unsupported, "a struct has no fields, and Parquet cannot express it")
	case t.Format == "+s":
		c.shape, e.children = structNode, int64(len(t.Children))
		p.elements = append(p.elements, e)
		return c, p.fields(c, t, path)
	case (t.Format == "+l" || t.Format == "+L" || head == "+w") && len(t.Children) == 1 && t.Children[0] != nil:
		if head == "+w" {
			size, err := strconv.ParseInt(rest, 10, 32)
			if err != nil || size < 0 {
				return nil, writing(column).New(errs.Invalid, "lists have the type %q, want a size", t.Format)
			}
			c.fixed, c.places = true, size
		}
		c.shape, e.children, e.converted, e.logical.id = listNode, 1, convertedList, isList
		p.elements = append(p.elements, e, element{name: "list", repetition: repeated, children: 1, converted: -1})
		item := &outNode{defined: c.defined + 1, repeats: c.repeats + 1}
		child, err := p.field(t.Children[0], "element", item, append(path, "list"))
		c.children = []*outNode{child}
		return c, err
	}
	l, err := newLeaf(t, column, &e)
	if err != nil {
		return nil, err
	}
	l.path, l.defined, l.repeats = path, c.defined, c.repeats
	c.leaf = l
	p.elements = append(p.elements, e)
	p.leaves = append(p.leaves, l)
	return c, nil
}

// order is how the values of a leaf are compared.
type order int

const (
	unsignedOrder order = iota
	signedOrder
	floatOrder
	textOrder
)

// leafFormats are the values that can be written, besides times of a zone. The width is that of
// Arrow.
var leafFormats = map[string]struct {
	kind      physical
	width     int
	order     order
	converted int64
	logical   logical
}{
	"b":   {boolean, 1, unsignedOrder, -1, logical{}},
	"c":   {int32s, 1, signedOrder, 15, logical{id: isInteger, bits: 8, signed: true}},
	"C":   {int32s, 1, unsignedOrder, 11, logical{id: isInteger, bits: 8}},
	"s":   {int32s, 2, signedOrder, 16, logical{id: isInteger, bits: 16, signed: true}},
	"S":   {int32s, 2, unsignedOrder, 12, logical{id: isInteger, bits: 16}},
	"i":   {int32s, 4, signedOrder, 17, logical{id: isInteger, bits: 32, signed: true}},
	"I":   {int32s, 4, unsignedOrder, 13, logical{id: isInteger, bits: 32}},
	"l":   {int64s, 8, signedOrder, 18, logical{id: isInteger, bits: 64, signed: true}},
	"L":   {int64s, 8, unsignedOrder, 14, logical{id: isInteger, bits: 64}},
	"e":   {fixedBytes, 2, floatOrder, -1, logical{id: isFloat16}},
	"f":   {floats, 4, floatOrder, -1, logical{}},
	"g":   {doubles, 8, floatOrder, -1, logical{}},
	"u":   {byteArrays, 0, textOrder, convertedUTF8, logical{id: isString}},
	"U":   {byteArrays, 0, textOrder, convertedUTF8, logical{id: isString}},
	"z":   {byteArrays, 0, textOrder, -1, logical{}},
	"Z":   {byteArrays, 0, textOrder, -1, logical{}},
	"tdD": {int32s, 4, signedOrder, convertedDate, logical{id: isDate}},
	"tDs": {int64s, 8, signedOrder, -1, logical{}},
	"tDm": {int64s, 8, signedOrder, -1, logical{}},
	"tDu": {int64s, 8, signedOrder, -1, logical{}},
	"tDn": {int64s, 8, signedOrder, -1, logical{}},
	"tss": {int64s, 8, signedOrder, -1, logical{id: isTimestamp, unit: 1}},
	"tsm": {int64s, 8, signedOrder, -1, logical{id: isTimestamp, unit: 1}},
	"tsu": {int64s, 8, signedOrder, -1, logical{id: isTimestamp, unit: 2}},
	"tsn": {int64s, 8, signedOrder, -1, logical{id: isTimestamp, unit: 3}},
}

// newLeaf returns the leaf of a type, and describes it in its line of the schema.
func newLeaf(t *arrow.Type, column string, e *element) (*outLeaf, error) {
	format, zone, isTimeOf := strings.Cut(t.Format, ":")
	l := &outLeaf{column: column, coded: t.Dictionary != nil}
	if l.coded {
		if of := t.Dictionary.Format; format != "i" || t.Dictionary.Dictionary != nil || of != "u" && of != "U" {
			return nil, writing(column).New(errs.Unsupported, "numbers of type %q stand for values of type %q, want \"i\" for texts", t.Format, of)
		}
		format = "u"
	}
	f, ok := leafFormats[format]
	if !ok || isTimeOf != (f.logical.id == isTimestamp) || len(t.Children) > 0 {
		return nil, writing(column).New(errs.Unsupported, "values have the Arrow type %q, which is not written to Parquet", t.Format)
	}
	e.kind, e.isLeaf, e.converted, e.logical = f.kind, true, f.converted, f.logical
	if f.kind == fixedBytes {
		e.length = int64(f.width)
	}
	if zone != "" {
		e.logical.utc = true
		if e.logical.unit < 3 { // old writers have no other times, and all of theirs are of UTC
			e.converted = convertedMillis + e.logical.unit - 1
		}
	}
	l.kind, l.width, l.order, l.seconds = f.kind, f.width, f.order, format == "tss"
	l.wide = e.width()
	return l, nil
}
