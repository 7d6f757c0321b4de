package parquet

import (
	"fmt"

	"deeplake/core/arrow"
	"deeplake/core/errs"
)

// Bounds of a schema.
const (
	maxNodes = 1 << 16
	maxDepth = 60 // of columns; core/arrow allows 64
	maxLevel = 255
)

// shape is how a node's rows are made of levels.
type shape int

const (
	leafNode shape = iota
	structNode
	listNode // also of maps
)

// node is a column or a part of one. Levels are those of the format: an entry of a leaf is a value,
// or says by its definition level at which node the value is missing.
type node struct {
	shape
	element
	typ      *arrow.Type
	children []*node
	leaf     int // number of the first leaf in it

	defined int // definition level from which it is not null
	exists  int // definition level from which there is a place for it: an item of the list around
	repeats int // repetition level of the list around; 0: none
	items   int // of a list: definition level from which it has items
	fixed   int // of a list: number of its items, if the schema of Arrow states one; else 0
}

// tree builds the nodes of a schema.
type tree struct {
	elements []element
	at       int
	leaves   []*node
}

// newTree returns the columns of a schema, and all leaves.
func newTree(elements []element) (*node, []*node, error) {
	if len(elements) > maxNodes {
		return nil, nil, errs.New(errs.Unsupported, "the schema has %d nodes, want at most %d", len(elements), maxNodes)
	}
	t := &tree{elements: elements}
	root, err := t.content(t.next(), 0, 0, 0, 0)
	if err == nil && (root.shape != structNode || t.at != len(elements)) {
		err = errs.New(errs.Corrupt, "the schema is no tree of columns")
	}
	return root, t.leaves, err
}

func (t *tree) next() *element {
	t.at++
	return &t.elements[t.at-1]
}

// field builds the next node of the schema with its own repetition.
func (t *tree) field(def, rep, exists, depth int) (*node, error) {
	if t.at >= len(t.elements) {
		return nil, errs.New(errs.Corrupt, "the schema ends before its last column")
	}
	e := t.next()
	if e.repetition != repeated {
		if e.repetition == optional {
			def++
		}
		return t.content(e, def, rep, exists, depth)
	}
	// A repeated field outside of a list is a list of its own.
	list := &node{shape: listNode, element: *e, leaf: len(t.leaves), defined: def, exists: exists, repeats: rep, items: def + 1}
	item, err := t.content(e, def+1, rep+1, def+1, depth+1)
	if err != nil {
		return nil, err
	}
	list.children = []*node{item}
	list.typ = &arrow.Type{Name: e.name, Format: "+l", Children: []*arrow.Type{item.typ}}
	return list, nil
}

// content builds a node whose element and repetition are known.
func (t *tree) content(e *element, def, rep, exists, depth int) (*node, error) {
	n := &node{element: *e, leaf: len(t.leaves), defined: def, exists: exists, repeats: rep}
	switch {
	case depth > maxDepth || def > maxLevel || rep > maxLevel:
		return nil, errs.New(errs.Unsupported, "columns lie in each other more than %d deep", maxDepth)
	case e.children < 0 || e.children > int64(len(t.elements)-t.at):
		return nil, errs.New(errs.Corrupt, "column %q has %d fields, and the schema has %d more nodes", e.name, e.children, len(t.elements)-t.at)
	case e.isLeaf && e.children == 0:
		t.leaves = append(t.leaves, n)
		var err error
		n.typ, err = leafType(e)
		return n, err
	case t.isList(e):
		return n, t.list(n, depth)
	}
	n.shape = structNode
	n.typ = &arrow.Type{Name: e.name, Format: "+s"}
	for range e.children {
		child, err := t.field(def, rep, exists, depth+1)
		if err != nil {
			return nil, err
		}
		n.children, n.typ.Children = append(n.children, child), append(n.typ.Children, child.typ)
	}
	if len(t.leaves) == n.leaf && depth > 0 {
		return nil, errs.New(errs.Unsupported, "column %q is a struct without fields", e.name)
	}
	return n, nil
}

// isList reports whether a group is a list or a map: one repeated field.
func (t *tree) isList(e *element) bool {
	marked := e.logical.id == isList || e.logical.id == isMap || e.converted == convertedMap || e.converted == convertedMapKeyValue || e.converted == convertedList
	return marked && e.children == 1 && t.at < len(t.elements) && t.elements[t.at].repetition == repeated
}

// list builds the items of a list or a map. Files of old writers have no group around the item.
func (t *tree) list(n *node, depth int) error {
	n.shape, n.items = listNode, n.defined+1
	e := t.next()
	isMapOf := e.children == 2 && n.logical.id != isList && n.converted != convertedList
	direct := e.isLeaf || e.children != 1 || e.name == "array" || e.name == n.name+"_tuple"
	var item *node
	var err error
	if direct {
		item, err = t.content(e, n.items, n.repeats+1, n.items, depth+1)
	} else {
		item, err = t.field(n.items, n.repeats+1, n.items, depth+1)
	}
	if err != nil {
		return err
	}
	n.children = []*node{item}
	n.typ = &arrow.Type{Name: n.name, Format: "+l", Children: []*arrow.Type{item.typ}}
	if isMapOf && item.shape == structNode {
		n.typ.Format = "+m"
	}
	return nil
}

// The converted types of old writers.
const (
	convertedUTF8        = 0
	convertedMap         = 1
	convertedMapKeyValue = 2
	convertedList        = 3
	convertedEnum        = 4
	convertedDecimal     = 5
	convertedDate        = 6
	convertedTimeMillis  = 7
	convertedTimeMicros  = 8
	convertedMillis      = 9
	convertedMicros      = 10
	convertedUint8       = 11
	convertedInt8        = 15
	convertedInt64       = 18
	convertedJSON        = 19
	convertedInterval    = 21
)

// meaning returns the logical type of a leaf, also of one that has only a converted type.
func (e *element) meaning() logical {
	c := e.converted
	switch {
	case e.logical.id != 0 || c < 0:
		return e.logical
	case c == convertedUTF8:
		return logical{id: isString}
	case c == convertedEnum:
		return logical{id: isEnum}
	case c == convertedDecimal:
		return logical{id: isDecimal, scale: e.scale, decimals: e.precision}
	case c == convertedDate:
		return logical{id: isDate}
	case c == convertedTimeMillis || c == convertedTimeMicros:
		return logical{id: isTime, utc: true, unit: c - convertedTimeMillis + 1}
	case c == convertedMillis || c == convertedMicros:
		return logical{id: isTimestamp, utc: true, unit: c - convertedMillis + 1}
	case c >= convertedUint8 && c < convertedInt8:
		return logical{id: isInteger, bits: 8 << (c - convertedUint8)}
	case c >= convertedInt8 && c <= convertedInt64:
		return logical{id: isInteger, bits: 8 << (c - convertedInt8), signed: true}
	case c == convertedJSON:
		return logical{id: isJSON}
	}
	return e.logical
}

// leafType returns the type of Arrow for the values of a leaf.
func leafType(e *element) (*arrow.Type, error) {
	l := e.meaning()
	t := &arrow.Type{Name: e.name}
	if e.kind < boolean || e.kind > fixedBytes {
		return nil, errs.New(errs.Unsupported, "column %q has the physical type %d, which is not known", e.name, e.kind)
	}
	if e.kind == fixedBytes && (e.length < 1 || e.length > maxPage) {
		return nil, errs.New(errs.Corrupt, "column %q has values of %d bytes", e.name, e.length)
	}
	isInt := e.kind == int32s || e.kind == int64s
	switch {
	case l.id == isNull:
		t.Format = "n"
	case l.id == isDecimal && (isInt || e.kind == byteArrays || e.kind == fixedBytes):
		if l.decimals < 1 || l.decimals > 76 || l.scale < 0 || l.scale > l.decimals || e.kind == fixedBytes && e.length > 32 {
			return nil, errs.New(errs.Unsupported, "column %q has decimals of %d digits, %d of them after the point", e.name, l.decimals, l.scale)
		}
		t.Format = fmt.Sprintf("d:%d,%d,%d", l.decimals, l.scale, 8*decimalWidth(l.decimals))
	case l.id == isDate && e.kind == int32s:
		t.Format = "tdD"
	case l.id == isTime && isInt:
		t.Format = "tt" + unitOf(l.unit)
	case l.id == isTimestamp && e.kind == int64s:
		if t.Format = "ts" + unitOf(l.unit) + ":"; l.utc {
			t.Format += "UTC"
		}
	case l.id == isInteger && isInt && (l.bits == 8 || l.bits == 16 || l.bits == 32 || l.bits == 64):
		letter := map[int64]string{8: "c", 16: "s", 32: "i", 64: "l"}[l.bits]
		if t.Format = letter; !l.signed {
			t.Format = string(letter[0] - 'a' + 'A')
		}
	case l.id == isFloat16 && e.kind == fixedBytes && e.length == 2:
		t.Format = "e"
	case l.id == isUUID && e.kind == fixedBytes && e.length == 16:
		t.Format, t.Metadata = "w:16", map[string]string{"ARROW:extension:name": "arrow.uuid"}
	case (l.id == isString || l.id == isEnum) && e.kind == byteArrays:
		t.Format = "u"
	case l.id == isJSON && e.kind == byteArrays:
		t.Format, t.Metadata = "u", map[string]string{"ARROW:extension:name": "arrow.json"}
	case e.converted == convertedInterval && e.kind == fixedBytes:
		t.Format = "tin"
	default:
		t.Format = map[physical]string{
			boolean: "b", int32s: "i", int64s: "l", int96s: "tsn:", floats: "f", doubles: "g", byteArrays: "z",
			fixedBytes: fmt.Sprintf("w:%d", e.length),
		}[e.kind]
	}
	return t, nil
}

func unitOf(unit int64) string {
	switch unit {
	case 1:
		return "m"
	case 2:
		return "u"
	}
	return "n"
}

// decimalWidth is the number of bytes of decimals in Arrow.
func decimalWidth(digits int64) int64 {
	if digits > 38 {
		return 32
	}
	return 16
}

// refine adds to a column from the schema of Arrow: dictionaries, zones, durations, lists of a
// fixed size, extensions and metadata, which Parquet cannot express. Parts that do not fit are
// left.
func (n *node) refine(t *arrow.Type) {
	for key, value := range t.Metadata {
		if n.typ.Metadata == nil {
			n.typ.Metadata = map[string]string{}
		}
		n.typ.Metadata[key] = value
	}
	format := t.Format
	switch {
	case n.shape == listNode && len(t.Children) == 1 && len(format) > 1 && format[0] == '+':
		var items int
		if count, _ := fmt.Sscanf(format, "+w:%d", &items); count == 1 && items > 0 && n.typ.Format == "+l" {
			n.typ.Format, n.fixed = format, items
		}
		n.children[0].refine(t.Children[0])
	case n.shape == structNode && format == "+s":
		byName := map[string]*arrow.Type{}
		for _, c := range t.Children {
			byName[c.Name] = c
		}
		for _, c := range n.children {
			if child := byName[c.name]; child != nil {
				c.refine(child)
			}
		}
	case n.shape != leafNode:
	case t.Dictionary != nil && n.typ.Format == "u":
		n.typ.Format, n.typ.Dictionary = "i", &arrow.Type{Format: "u"}
	case len(format) > 4 && format[:2] == "ts" && len(n.typ.Format) > 4 && n.typ.Format[:2] == "ts":
		n.typ.Format = n.typ.Format[:4] + format[4:]
	case len(format) == 3 && format[:2] == "tD" && n.typ.Format == "l":
		n.typ.Format = format
	}
}

// leavesOf counts the leaves of a node.
func (n *node) leavesOf() int {
	if n.shape == leafNode {
		return 1
	}
	count := 0
	for _, c := range n.children {
		count += c.leavesOf()
	}
	return count
}
