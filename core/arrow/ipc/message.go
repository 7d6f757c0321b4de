package ipc

import (
	"encoding/binary"
	"fmt"

	"deeplake/core/arrow"
	"deeplake/core/errs"
)

const (
	// maxTables bounds the tables of a message, and maxDepth types in each other, as in core/arrow.
	maxTables = 1 << 20
	maxDepth  = 64
)

// The kinds of messages.
const (
	schemaMessage     = 1
	dictionaryMessage = 2
	batchMessage      = 3
)

// field is the type of a column, with the numbers of its dictionaries.
type field struct {
	*arrow.Type
	children []*field
	values   *field // of the dictionary; nil: there is none
	id       int64  // the dictionary's
}

// ParseSchema reads the message of a schema, as Parquet files hold it: the type of all columns, a
// struct. The message is hostile input: each offset is checked.
func ParseSchema(message []byte) (*arrow.Type, error) {
	f, err := parseSchema(message)
	if err != nil {
		return nil, err
	}
	return f.Type, nil
}

func parseSchema(message []byte) (*field, error) {
	m, err := parseMessage(message)
	if err != nil {
		return nil, err
	}
	if kind := m.kind(); kind != schemaMessage && m.err == nil {
		return nil, errs.New(errs.Corrupt, "a message of type %d lies in the place of a schema", kind)
	}
	return m.table(2).schema()
}

// parseMessage reads the outermost table of a message, with the length in front of it or without.
func parseMessage(p []byte) (table, error) {
	size := len(p)
	if len(p) >= 8 && binary.LittleEndian.Uint32(p) == continuation {
		p = p[4:]
	}
	if len(p) < 8 {
		return table{}, errs.New(errs.Corrupt, "a message of Arrow has %d bytes", size)
	}
	b := &flat{p: p[4:], left: maxTables}
	m := b.root()
	return m, b.err
}

// kind is the kind of a message.
func (t table) kind() int64 { return t.number(1, 1, 0) }

// schema reads the types of all columns.
func (t table) schema() (*field, error) {
	all := &field{Type: &arrow.Type{Format: "+s", Metadata: t.metadata(2)}}
	for _, f := range t.tables(1) {
		all.add(f.field(0))
		if one := all.children[len(all.children)-1]; one.Format == "" && t.err == nil {
			return nil, errs.New(errs.Unsupported, "column %q has a type of Arrow that is not known; cast it", one.Name)
		}
	}
	if t.err == nil && t.number(0, 2, 0) != 0 {
		return nil, errs.New(errs.Unsupported, "its numbers are big-endian; write the file on another machine")
	}
	return all, t.err
}

func (f *field) add(child *field) {
	f.children = append(f.children, child)
	f.Children = append(f.Children, child.Type)
}

// flat reads flatbuffers. The first fault ends it: later reads give zero values.
type flat struct {
	p    []byte
	left int // tables that may be read: they may be the same one many times
	err  error
}

// table is a table of a flatbuffer; at is negative where there is none.
type table struct {
	*flat
	at int
}

func (b *flat) fail() {
	if b.err == nil {
		b.err = errs.New(errs.Corrupt, "the metadata of Arrow is damaged")
	}
}

// read reads a number of 1, 2, 4 or 8 bytes.
func (b *flat) read(at, size int) int64 {
	if b.err != nil || at < 0 || at > len(b.p)-size {
		b.fail()
		return 0
	}
	switch q := b.p[at:]; size {
	case 1:
		return int64(q[0])
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(q)))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(q)))
	default:
		return int64(binary.LittleEndian.Uint64(q))
	}
}

// follow returns where the offset at a place leads: forward.
func (b *flat) follow(at int) int {
	n := b.read(at, 4)
	if n <= 0 || n > int64(len(b.p)) {
		b.fail()
		return -1
	}
	return at + int(n)
}

func (b *flat) root() table { return b.tableAt(b.follow(0)) }

func (b *flat) tableAt(at int) table {
	if b.left--; b.left < 0 {
		b.fail()
	}
	if b.err != nil {
		return table{b, -1}
	}
	return table{b, at}
}

// place returns where a field of a table lies; -1: it has the default.
func (t table) place(field int) int {
	if t.at < 0 || t.err != nil {
		return -1
	}
	v := t.at - int(t.read(t.at, 4))
	if size := t.read(v, 2); t.err != nil || int64(4+2*field+2) > size {
		return -1
	}
	if off := t.read(v+4+2*field, 2); off > 0 {
		return t.at + int(off)
	}
	return -1
}

func (t table) number(field, size int, otherwise int64) int64 {
	if at := t.place(field); at >= 0 {
		return t.read(at, size)
	}
	return otherwise
}

func (t table) table(field int) table {
	if at := t.place(field); at >= 0 {
		return t.tableAt(t.follow(at))
	}
	return table{t.flat, -1}
}

func (t table) text(field int) string {
	at := t.place(field)
	if at < 0 {
		return ""
	}
	at = t.follow(at)
	n := t.read(at, 4)
	if t.err != nil || n < 0 || n > int64(len(t.p)-at-4) {
		t.fail()
		return ""
	}
	return string(t.p[at+4:][:n])
}

func (t table) tables(field int) []table {
	at := t.place(field)
	if at < 0 {
		return nil
	}
	at = t.follow(at)
	n := t.read(at, 4)
	if t.err != nil || n < 0 || n > int64(len(t.p)-at-4)/4 || n > int64(t.left) {
		t.fail()
		return nil
	}
	out := make([]table, n)
	for i := range out {
		out[i] = t.tableAt(t.follow(at + 4 + 4*i))
	}
	return out
}

// structs returns a vector of structs of 64-bit numbers, size of them each.
func (t table) structs(field, size int) []int64 {
	at := t.place(field)
	if at < 0 {
		return nil
	}
	at = t.follow(at)
	n := t.read(at, 4)
	if t.err != nil || n < 0 || n > int64(len(t.p)-at-4)/int64(8*size) {
		t.fail()
		return nil
	}
	out := make([]int64, n*int64(size))
	for i := range out {
		out[i] = t.read(at+4+8*i, 8)
	}
	return out
}

func (t table) metadata(field int) map[string]string {
	out := map[string]string{}
	for _, pair := range t.tables(field) {
		out[pair.text(0)] = pair.text(1)
	}
	return out
}

// field reads a column, with its children.
func (t table) field(depth int) *field {
	out := &field{Type: &arrow.Type{Name: t.text(0), Metadata: t.metadata(6)}}
	if depth > maxDepth {
		t.fail()
		return out
	}
	out.Format = formatOf(t.number(2, 1, 0), t.table(3))
	for _, child := range t.tables(5) {
		out.add(child.field(depth + 1))
	}
	if d := t.table(4); d.at >= 0 { // the type is that of the values
		values := &field{Type: &arrow.Type{Format: out.Format, Children: out.Children}, children: out.children}
		index := d.table(1)
		out.id, out.values, out.Dictionary = d.number(0, 8, 0), values, values.Type
		out.Format, out.Children, out.children = formatOf(2, index), nil, nil
		if index.at < 0 {
			out.Format = "i"
		}
	}
	return out
}

// formatOf returns the format of the C interface for a type of IPC; "" for one that is not known.
func formatOf(kind int64, t table) string {
	unit := func(field int, otherwise int64) string {
		return string("smun"[t.number(field, 2, otherwise)&3])
	}
	switch kind {
	case 2:
		letter := map[int64]string{8: "c", 16: "s", 32: "i", 64: "l"}[t.number(0, 4, 0)]
		if letter != "" && t.number(1, 1, 0) == 0 {
			return string(letter[0] - 'a' + 'A')
		}
		return letter
	case 3:
		return string("efg?"[t.number(0, 2, 0)&3])
	case 7:
		return fmt.Sprintf("d:%d,%d,%d", t.number(0, 4, 0), t.number(1, 4, 0), t.number(2, 4, 128))
	case 8:
		if t.number(0, 2, 1) == 0 {
			return "tdD"
		}
		return "tdm"
	case 9:
		return "tt" + unit(0, 1)
	case 10:
		return "ts" + unit(0, 0) + ":" + t.text(1)
	case 11:
		return "ti" + string("MDn?"[t.number(0, 2, 0)&3])
	case 14:
		return [2]string{"+us:", "+ud:"}[t.number(0, 2, 0)&1]
	case 15:
		return fmt.Sprintf("w:%d", t.number(0, 4, 0))
	case 16:
		return fmt.Sprintf("+w:%d", t.number(0, 4, 0))
	case 18:
		return "tD" + unit(0, 1)
	}
	return map[int64]string{
		1: "n", 4: "z", 5: "u", 6: "b", 12: "+l", 13: "+s", 17: "+m", 19: "Z", 20: "U", 21: "+L", 22: "+r",
		23: "vz", 24: "vu", 25: "+vl", 26: "+vL",
	}[kind]
}
