package parquet

import "deeplake/core/errs"

// physical is a type of stored values.
type physical int

const (
	boolean physical = iota
	int32s
	int64s
	int96s
	floats
	doubles
	byteArrays
	fixedBytes
)

// element is one line of the schema, which lists its tree from the root, parents first.
type element struct {
	name       string
	kind       physical // of a leaf
	isLeaf     bool
	length     int64 // of fixedBytes
	repetition int64
	children   int64
	converted  int64 // -1: none
	scale      int64
	precision  int64
	logical    logical
}

const (
	required = 0
	optional = 1
	repeated = 2
)

// logical is the meaning that a writer gave to a leaf or a group.
type logical struct {
	id       int64 // of the union in the format; 0: none
	bits     int64
	signed   bool
	utc      bool
	unit     int64 // 1 milli, 2 micro, 3 nano
	scale    int64
	decimals int64 // precision
}

// Members of the union of logical types.
const (
	isString    = 1
	isMap       = 2
	isList      = 3
	isEnum      = 4
	isDecimal   = 5
	isDate      = 6
	isTime      = 7
	isTimestamp = 8
	isInteger   = 10
	isNull      = 11
	isJSON      = 12
	isBSON      = 13
	isUUID      = 14
	isFloat16   = 15
)

// chunkMeta describes a column of a row group.
type chunkMeta struct {
	codec      int64
	values     int64
	size       int64 // compressed, with page headers
	wide       int64 // uncompressed
	data       int64 // offset of the first data page
	dictionary int64 // offset of the dictionary; 0: none, or right before the data
	elsewhere  bool  // in another file
	encrypted  bool
	known      bool
}

// from is where the pages of the chunk begin.
func (c *chunkMeta) from() int64 {
	if c.dictionary > 0 && c.dictionary < c.data {
		return c.dictionary
	}
	return c.data
}

type rowGroup struct {
	rows    int64
	columns []chunkMeta
}

type footer struct {
	schema    []element
	rows      int64
	groups    []rowGroup
	metadata  map[string]string
	encrypted bool
}

// parseFooter reads the metadata at the end of a file.
func parseFooter(p []byte) (*footer, error) {
	t := &thrift{p: p}
	f := &footer{metadata: map[string]string{}}
	t.fields(func(id int64, _ byte) bool {
		switch id {
		case 2:
			t.list(func() { f.schema = append(f.schema, t.element()) })
		case 3:
			f.rows = t.int()
		case 4:
			t.list(func() { f.groups = append(f.groups, t.group()) })
		case 5:
			t.list(func() {
				var pair [3]string
				t.fields(func(id int64, _ byte) bool {
					if id != 1 && id != 2 {
						return false
					}
					pair[id] = string(t.bytes())
					return true
				})
				f.metadata[pair[1]] = pair[2]
			})
		case 8:
			f.encrypted = true
			return false
		default:
			return false
		}
		return true
	})
	if t.err == nil && len(f.schema) == 0 {
		return nil, errs.New(errs.Corrupt, "the metadata has no schema")
	}
	return f, t.err
}

func (t *thrift) element() element {
	e := element{converted: -1}
	t.fields(func(id int64, _ byte) bool {
		switch id {
		case 1:
			e.kind, e.isLeaf = physical(t.int()), true
		case 2:
			e.length = t.int()
		case 3:
			e.repetition = t.int()
		case 4:
			e.name = string(t.bytes())
		case 5:
			e.children = t.int()
		case 6:
			e.converted = t.int()
		case 7:
			e.scale = t.int()
		case 8:
			e.precision = t.int()
		case 10:
			e.logical = t.logical()
		default:
			return false
		}
		return true
	})
	return e
}

func (t *thrift) logical() logical {
	var l logical
	t.fields(func(id int64, kind byte) bool {
		if kind != thriftStruct {
			return false
		}
		l.id = id
		t.fields(func(field int64, kind byte) bool {
			switch {
			case id == isDecimal && field == 1:
				l.scale = t.int()
			case id == isDecimal && field == 2:
				l.decimals = t.int()
			case (id == isTime || id == isTimestamp) && field == 1:
				l.utc = kind == thriftTrue
			case (id == isTime || id == isTimestamp) && field == 2:
				t.fields(func(unit int64, _ byte) bool {
					l.unit = unit
					return false
				})
			case id == isInteger && field == 1:
				l.bits = int64(t.byte())
			case id == isInteger && field == 2:
				l.signed = kind == thriftTrue
			default:
				return false
			}
			return true
		})
		return true
	})
	return l
}

func (t *thrift) group() rowGroup {
	var g rowGroup
	t.fields(func(id int64, _ byte) bool {
		switch id {
		case 1:
			t.list(func() { g.columns = append(g.columns, t.chunk()) })
		case 3:
			g.rows = t.int()
		default:
			return false
		}
		return true
	})
	return g
}

func (t *thrift) chunk() chunkMeta {
	var c chunkMeta
	t.fields(func(id int64, _ byte) bool {
		switch id {
		case 1:
			c.elsewhere = len(t.bytes()) > 0
		case 3:
			c.known = true
			t.fields(func(id int64, _ byte) bool {
				switch id {
				case 4:
					c.codec = t.int()
				case 5:
					c.values = t.int()
				case 6:
					c.wide = t.int()
				case 7:
					c.size = t.int()
				case 9:
					c.data = t.int()
				case 11:
					c.dictionary = t.int()
				default:
					return false
				}
				return true
			})
		case 8, 9:
			c.encrypted = true
			return false
		default:
			return false
		}
		return true
	})
	return c
}

// The kinds of pages.
const (
	dataPage       = 0
	dictionaryPage = 2
	dataPageV2     = 3
)

// pageHeader precedes the bytes of a page.
type pageHeader struct {
	kind       int64
	wide, size int64 // uncompressed and compressed bytes
	crc        uint32
	hasCRC     bool
	values     int64
	encoding   int64
	defBytes   int64 // of levels in pages of version 2
	repBytes   int64
	defCoding  int64
	repCoding  int64
	packed     bool // the values are compressed
}

// parsePageHeader reads a header at the beginning of p, and returns its length.
func parsePageHeader(p []byte) (pageHeader, int, error) {
	t := &thrift{p: p}
	h := pageHeader{kind: -1, packed: true, defCoding: codingRLE, repCoding: codingRLE}
	t.fields(func(id int64, kind byte) bool {
		switch {
		case id == 1:
			h.kind = t.int()
		case id == 2:
			h.wide = t.int()
		case id == 3:
			h.size = t.int()
		case id == 4:
			h.crc, h.hasCRC = uint32(t.int()), true
		case (id == 5 || id == 7 || id == 8) && kind == thriftStruct:
			t.pageFields(&h, id)
		default:
			return false
		}
		return true
	})
	return h, t.at, t.err
}

// pageFields reads the header of a data page (5), a dictionary (7) or a data page of version 2 (8).
func (t *thrift) pageFields(h *pageHeader, of int64) {
	t.fields(func(id int64, kind byte) bool {
		switch {
		case id == 1:
			h.values = t.int()
		case of != 8 && id == 2, of == 8 && id == 4:
			h.encoding = t.int()
		case of == 5 && id == 3:
			h.defCoding = t.int()
		case of == 5 && id == 4:
			h.repCoding = t.int()
		case of == 8 && id == 5:
			h.defBytes = t.int()
		case of == 8 && id == 6:
			h.repBytes = t.int()
		case of == 8 && id == 7:
			h.packed = kind == thriftTrue
		default:
			return false
		}
		return true
	})
}
