package format

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// dumper prints bytes as annotated hex. It reads FORMAT.md's layout with code of its own and shares
// nothing with the decoders, so that a golden file shows the bytes and not the view of the package
// believes.
type dumper struct {
	t    *testing.T
	data []byte
	at   int
	out  strings.Builder
}

func dump(t *testing.T, data []byte, layout func(*dumper)) string {
	t.Helper()
	d := &dumper{t: t, data: data}
	layout(d)
	if d.at != len(data) {
		t.Fatalf("dump ends at byte %d of %d", d.at, len(data))
	}
	return d.out.String()
}

// field prints n bytes as one line.
func (d *dumper) field(n int, format string, args ...any) []byte {
	d.t.Helper()
	if d.at+n > len(d.data) {
		d.t.Fatalf("dump: field "+format+" ends behind the data", args...)
	}
	b := d.data[d.at : d.at+n]
	if n > 0 {
		fmt.Fprintf(&d.out, "%04d-%04d: % x  # %s\n", d.at, d.at+n-1, b, fmt.Sprintf(format, args...))
	}
	d.at += n
	return b
}

func (d *dumper) note(format string, args ...any) { fmt.Fprintf(&d.out, "# "+format+"\n", args...) }

// peek is the number that n bytes in little-endian order from here stand for.
func (d *dumper) peek(n int) (v uint64) {
	for i := n - 1; i >= 0; i-- {
		v = v<<8 | uint64(d.data[d.at+i])
	}
	return v
}

func (d *dumper) fixed(n int, name string) uint64 {
	v := d.peek(n)
	d.field(n, "%s = %d", name, v)
	return v
}

func (d *dumper) text(n int, name string) { d.field(n, "%s = %q", name, d.data[d.at:d.at+n]) }

func (d *dumper) uuid(name string) {
	d.field(16, "%s = %s", name, hex.EncodeToString(d.data[d.at:d.at+16]))
}

// crc prints a checksum and whether it is right, computed bit by bit.
func (d *dumper) crc(name string, over []byte) {
	c := ^uint32(0)
	for _, b := range over {
		c ^= uint32(b)
		for range 8 {
			c = c>>1 ^ 0x82f63b78*(c&1)
		}
	}
	if got := uint32(d.peek(4)); got != ^c {
		d.t.Fatalf("dump: %s is %08x, want %08x", name, got, ^c)
	}
	d.field(4, "%s = %#08x, CRC-32C of %d bytes", name, ^c, len(over))
}

func (d *dumper) leb(name string, show func(v uint64) string) uint64 {
	v, n := uint64(0), 0
	for {
		b := d.data[d.at+n]
		v |= uint64(b&0x7f) << (7 * n)
		n++
		if b < 0x80 {
			break
		}
	}
	d.field(n, "%s = %s", name, show(v))
	return v
}

func (d *dumper) uvarint(name string) int {
	return int(d.leb(name, func(v uint64) string { return strconv.FormatUint(v, 10) }))
}

func (d *dumper) svarint(name string) {
	d.leb(name, func(v uint64) string {
		n := int64(v / 2)
		if v%2 == 1 {
			n = -n - 1
		}
		return fmt.Sprintf("%+d", n)
	})
}

// json prints the text 32 bytes a line, and pretty below it.
func (d *dumper) json(n int) {
	text := d.data[d.at : d.at+n]
	for end := d.at + n; d.at < end; {
		k := min(32, end-d.at)
		d.field(k, "%s", bytes.TrimSuffix(d.data[d.at:d.at+k], []byte("\n")))
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, bytes.TrimSpace(text), "", "  "); err != nil {
		d.t.Fatal(err)
	}
	for line := range strings.Lines(pretty.String()) {
		d.note("%s", strings.TrimSuffix(line, "\n"))
	}
}

func (d *dumper) frame(payload func(n int)) {
	head := d.data[:20]
	stored := d.data[24:]
	d.text(4, "magic")
	d.text(1, "kind")
	d.fixed(1, "version")
	packed := d.fixed(1, "compression")
	d.fixed(1, "reserved")
	d.fixed(4, "bytes before compression")
	n := int(d.fixed(4, "bytes as stored"))
	d.crc("CRC of salt and payload", stored)
	d.crc("CRC of head", head)
	d.uuid("salt")
	if packed != 0 {
		d.field(n, "payload, zstd")
		return
	}
	payload(n)
}

func (d *dumper) uuids(what string) {
	for i := range d.uvarint(what) {
		d.uuid(fmt.Sprintf("%s %d", what, i))
	}
}

func (d *dumper) columns(int) {
	for i := range d.uvarint("columns") {
		d.uuid(fmt.Sprintf("tensor of column %d", i))
		if height := d.fixed(1, "height of the root and 1"); height > 0 {
			d.uuid("root")
			d.uvarint("chunks")
			d.uvarint("bytes")
		}
		axes := d.fixed(1, "axes and 1")
		for range max(1, axes) - 1 {
			d.uvarint("least size of the axis")
			d.uvarint("largest size, minus that")
		}
	}
}

func (d *dumper) leaf(int) {
	n := d.uvarint("entries")
	d.uvarint("row of the first entry")
	d.leafColumns("entry", n, n)
}

func (d *dumper) pieces(int) {
	places := d.uvarint("places")
	n := d.uvarint("chunks")
	d.uvarint("row of the first place")
	d.leafColumns("place", places, n)
}

// leafColumns prints what follows the first row of a leaf page: columns of so many entries or
// places, and of chunks.
func (d *dumper) leafColumns(line string, lines, chunks int) {
	d.uuids("sessions")
	d.uuids("side pages")
	names := []string{"", "gap", "rows", "first item", "session", "ordinal, difference", "bytes", "side page", "slot, difference", "tiles", "statistics", "chunk", "steady"}
	if line == "place" {
		names[3] = "item, difference"
	}
	var ids []int
	for range d.uvarint("columns") {
		id := int(d.data[d.at])
		d.field(1, "column = %d, %s", id, names[id])
		d.uvarint("bytes of its body")
		ids = append(ids, id)
	}
	for _, id := range ids {
		of, n := line, lines
		if line == "place" && (id >= 4 && id <= 10 || id == 12) {
			of, n = "chunk", chunks
		}
		if id == 2 || id == 6 {
			d.planes(names[id], n)
			continue
		}
		for i := range n {
			name := fmt.Sprintf("%s %d: %s", of, i, names[id])
			switch {
			case id == 5 || id == 8 || id == 3 && line == "place":
				d.svarint(name)
			case id == 10:
				d.stats(name)
			default:
				d.uvarint(name)
			}
		}
	}
}

// planes prints the planes, and below them their values.
func (d *dumper) planes(name string, n int) {
	base := d.uvarint(name + ": base")
	width := int(d.fixed(1, name+": planes, 16 more without a sign"))
	sign := ", zigzag"
	if width >= 16 {
		width, sign = width-16, ""
	}
	values := make([]int, n)
	for p := range width {
		for i, b := range d.field(n, "%s: byte %d of each difference%s", name, width-1-p, sign) {
			values[i] = values[i]*256 + int(b)
		}
	}
	for i, v := range values {
		switch {
		case sign == "":
			values[i] = base + v
		case v%2 == 1:
			values[i] = base - v/2 - 1
		default:
			values[i] = base + v/2
		}
	}
	d.note("%s = %d", name, values)
}

func (d *dumper) stats(name string) {
	if d.uvarint(name+", bytes") == 0 {
		return
	}
	flags := d.fixed(1, "flags")
	if flags&1 != 0 {
		d.fixed(8, "minimum")
		d.fixed(8, "maximum")
	}
	if flags&2 != 0 {
		n := d.uvarint("axes")
		d.axes(n, "minimum of axis")
		d.axes(n, "maximum of axis")
	}
}

func (d *dumper) axes(n int, name string) {
	for i := range n {
		d.uvarint(fmt.Sprintf("%s %d", name, i))
	}
}

func (d *dumper) inner(int) {
	d.fixed(1, "height")
	n := d.uvarint("children")
	d.axes(n, "first row, difference, of child")
	d.axes(n, "leaf entries below child")
	for i := range n {
		d.uuid(fmt.Sprintf("page of child %d", i))
	}
}

func (d *dumper) side(int) {
	var sizes []int
	for i := range d.uvarint("slots") {
		sizes = append(sizes, d.uvarint(fmt.Sprintf("bytes of slot %d", i)))
	}
	for i, n := range sizes {
		d.note("slot %d", i)
		end := d.at + n
		d.directory()
		if d.at != end {
			d.t.Fatalf("dump: directory ends at %d, want %d", d.at, end)
		}
	}
}

func (d *dumper) bitmap(int) {
	for range d.fixed(8, "32-bit bitmaps") {
		d.fixed(4, "high half of rows")
		start := d.at
		cookie := d.peek(4)
		n, runs := 0, []byte(nil)
		if cookie&0xffff == 12347 {
			n = int(cookie>>16) + 1
			d.field(4, "cookie = 12347, with runs, and %d containers", n)
			runs = d.field((n+7)/8, "which are runs")
		} else {
			d.field(4, "cookie = 12346, without runs")
			n = int(d.fixed(4, "containers"))
		}
		var cards []int
		for i := range n {
			d.fixed(2, fmt.Sprintf("container %d: bits 16 to 31", i))
			cards = append(cards, int(d.fixed(2, "rows, minus 1"))+1)
		}
		for i := range n {
			if runs == nil || n >= 4 {
				d.fixed(4, fmt.Sprintf("container %d: offset", i))
			}
		}
		for i, card := range cards {
			d.note("container %d at offset %d", i, d.at-start)
			switch {
			case runs != nil && runs[i/8]>>(i%8)&1 == 1:
				for range d.fixed(2, "runs") {
					d.fixed(2, "start")
					d.fixed(2, "length, minus 1")
				}
			case card <= 4096:
				for range card {
					d.fixed(2, "row")
				}
			default:
				d.field(8192, "a bit for each row")
			}
		}
	}
}

// chunk prints a chunk whose blocks have the given sizes.
func (d *dumper) chunk(blocks []int) {
	d.text(4, "magic")
	d.fixed(1, "version")
	d.field(11, "reserved")
	d.uuid("session")
	d.fixed(8, "ordinal")
	d.uuid("tensor")
	d.fixed(4, "reserved")
	d.crc("CRC of head", d.data[:60])
	for i, n := range blocks {
		d.text(n, fmt.Sprintf("block %d", i))
	}
	start := d.at
	d.note("directory")
	d.directory()
	stored, trailer := d.data[start:d.at], d.data[d.at:]
	d.note("trailer")
	d.fixed(8, "offset of directory")
	d.fixed(4, "bytes of directory as stored")
	d.fixed(4, "bytes of directory before compression")
	d.fixed(1, "compression")
	d.fixed(3, "reserved")
	d.crc("CRC of directory", stored)
	d.crc("CRC of trailer", trailer[:24])
	d.text(4, "magic")
}

func (d *dumper) directory() {
	dtype := d.fixed(1, "dtype")
	d.fixed(1, "sample codec")
	d.fixed(1, "block codec")
	flags := d.fixed(1, "flags")
	n := d.uvarint("items")
	if dtype < 32 {
		for i := range d.uvarint("shape runs") {
			d.uvarint(fmt.Sprintf("run %d: items", i))
			d.axes(d.uvarint("axes"), "axis")
		}
	}
	if flags&4 != 0 {
		d.links(n, flags&8 != 0)
	} else {
		d.blocks(n)
	}
	if flags&1 != 0 {
		d.axes(d.uvarint("sequence rows"), "items of row")
	}
	if flags&2 != 0 {
		axes := d.uvarint("axes of the sample")
		d.axes(axes, "sample axis")
		d.axes(axes, "tile axis")
		d.uvarint("index of the tile")
	}
}

func (d *dumper) blocks(n int) {
	switch d.fixed(1, "item sizes (0 by shape, 1 one for all, 2 each)") {
	case 1:
		d.uvarint("bytes of every item")
	case 2:
		d.axes(n, "bytes of item")
	}
	blocks, k := 0, d.uvarint("items per block (0: each its own)")
	if k > 0 {
		blocks = (n + k - 1) / k
	} else {
		blocks = d.uvarint("blocks")
		d.axes(blocks, "items of block")
	}
	if d.fixed(1, "block sizes (0 sum of items, 1 each)") == 1 {
		d.axes(blocks, "bytes of block")
	}
	for i := range blocks {
		d.field(4, "CRC of block %d = %#08x", i, d.peek(4))
	}
}

func (d *dumper) links(n int, headed bool) {
	for i := range d.uvarint("linked objects") {
		d.uvarint(fmt.Sprintf("object %d: bytes of the URL shared with the one before", i))
		d.text(d.uvarint("bytes of the URL that follow"), "URL")
		d.text(d.uvarint("bytes of the tag"), "tag")
		d.uvarint("bytes of the object and 1 (0: not known)")
	}
	for range n {
		d.svarint("object, minus that of the item before")
	}
	for range n {
		d.svarint("offset, minus the end of the item before in the same object")
	}
	d.axes(n, "length of item")
	if !headed {
		return
	}
	heads := make([]int, n)
	for i := range heads {
		heads[i] = d.uvarint("bytes of the head")
	}
	for i, h := range heads {
		if h > 0 {
			d.field(h, "head of item %d", i)
		}
	}
}

// undump reads the bytes back from annotated hex.
func undump(t *testing.T, text string) []byte {
	t.Helper()
	var data []byte
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		span, digits, _ := strings.Cut(line, ": ")
		b, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
		if want := fmt.Sprintf("%04d-%04d", len(data), len(data)+len(b)-1); err != nil || span != want {
			t.Fatalf("golden line %q: want span %s, %v", line, want, err)
		}
		data = append(data, b...)
	}
	return data
}

func (d *dumper) view(int) {
	d.json(d.uvarint("bytes of the head"))
	n := d.uvarint("runs of rows")
	for i := range n {
		d.svarint(fmt.Sprintf("run %d: first row, from the end of the one before", i))
		d.uvarint(fmt.Sprintf("run %d: rows, one less", i))
	}
}
