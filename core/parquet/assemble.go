package parquet

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"deeplake/core/arrow"
	"deeplake/core/errs"
)

// bitmap collects bits in order.
type bitmap struct {
	p     []byte
	n     int64
	zeros bool
}

func (b *bitmap) add(set bool) {
	if b.n&7 == 0 {
		b.p = append(b.p, 0)
	}
	if set {
		b.p[b.n>>3] |= 1 << (b.n & 7)
	} else {
		b.zeros = true
	}
	b.n++
}

// valid is the bitmap of nulls of an array; nil: there are none.
func (b *bitmap) valid() []byte {
	if !b.zeros {
		return nil
	}
	return b.p
}

// assemble makes the array of a node, and its type, of the entries of its leaves.
func (n *node) assemble(leaves []*vector) (*arrow.Type, *arrow.Data, error) {
	first := leaves[n.leaf]
	if n.shape == leafNode {
		return n.values(first)
	}
	d := &arrow.Data{}
	var valid bitmap
	entries := len(first.defs)
	if first.defs == nil {
		entries = first.count // all of them are values
	}
	at := int64(-1) // of a list: items so far
	for i := range entries {
		rep, def := level(first.reps, i), n.defined
		if first.defs != nil {
			def = int(first.defs[i])
		}
		switch {
		case n.shape == listNode && rep == n.repeats+1 && def >= n.items && at >= 0:
			at++
			d.Ends[len(d.Ends)-1] = at
			continue
		case rep > n.repeats || def < n.exists:
			continue
		}
		valid.add(def >= n.defined)
		if n.shape == listNode {
			if at < 0 {
				at, d.Ends = 0, append(d.Ends, 0)
			}
			if def >= n.items {
				at++
			}
			d.Ends = append(d.Ends, at)
		}
	}
	d.Rows, d.Valid = valid.n, valid.valid()
	if n.shape == listNode && d.Ends == nil {
		d.Ends = []int64{0}
	}
	t := *n.typ
	t.Children = nil
	for _, c := range n.children {
		ct, cd, err := c.assemble(leaves)
		if err != nil {
			return nil, nil, err
		}
		t.Children, d.Children = append(t.Children, ct), append(d.Children, cd)
	}
	if n.fixed > 0 {
		return &t, d, n.fix(&t, d)
	}
	return &t, d, nil
}

func level(levels []byte, i int) int {
	if levels == nil {
		return 0
	}
	return int(levels[i])
}

// fix turns lists into those of a fixed size, where null lists have items too.
func (n *node) fix(t *arrow.Type, d *arrow.Data) error {
	size := int64(n.fixed)
	for i := range d.Rows {
		length := d.Ends[i+1] - d.Ends[i]
		isNull := d.Valid != nil && d.Valid[i>>3]>>(i&7)&1 == 0
		if length != size && !isNull {
			return errs.New(errs.Corrupt, "column %q has a list of %d items, and its schema says %d", n.name, length, size)
		}
	}
	if d.Valid != nil {
		if err := pad(t.Children[0], d.Children[0], d.Ends, size); err != nil {
			return err
		}
	}
	d.Ends = nil
	return nil
}

// pad gives every list of rows size items: blank ones, where it has none.
func pad(t *arrow.Type, d *arrow.Data, ends []int64, size int64) error {
	rows := int64(len(ends) - 1)
	old := *d
	width := bitsOfType(t) / 8
	isBits := t.Format == "b"
	if rows > maxVector/max(width, 8)/size {
		return errTooLarge()
	}
	var valid, values bitmap
	d.Rows = rows * size
	if d.Ends != nil {
		d.Ends = make([]int64, 1, d.Rows+1)
		d.Ends[0] = old.Ends[0]
	}
	if width > 0 {
		d.Values = make([]byte, d.Rows*width)
	}
	for i := range rows {
		isBlank := ends[i] == ends[i+1]
		for k := range size {
			from := ends[i] + k
			valid.add(!isBlank && (old.Valid == nil || bitAt(old.Valid, from)))
			switch {
			case d.Ends != nil && isBlank:
				d.Ends = append(d.Ends, d.Ends[len(d.Ends)-1])
			case d.Ends != nil:
				d.Ends = append(d.Ends, old.Ends[from+1])
			case isBits:
				values.add(!isBlank && bitAt(old.Values, from))
			case width > 0 && !isBlank:
				copy(d.Values[(i*size+k)*width:], old.Values[from*width:(from+1)*width])
			}
		}
	}
	if isBits {
		d.Values = values.p
	}
	d.Valid = valid.valid()
	d.At = nil
	if old.Ends != nil {
		return nil // the items of texts and lists stay
	}
	per := int64(1)
	if strings.HasPrefix(t.Format, "+w:") {
		per, _ = strconv.ParseInt(t.Format[3:], 10, 64)
	}
	for i, c := range d.Children {
		below := make([]int64, len(ends))
		for k, end := range ends {
			below[k] = end * per
		}
		if err := pad(t.Children[i], c, below, size*per); err != nil {
			return err
		}
	}
	return nil
}

// bitsOfType is the number of bits of a value in Arrow; 0: values have no fixed place.
func bitsOfType(t *arrow.Type) int64 {
	head, rest, _ := strings.Cut(t.Format, ":")
	switch head {
	case "b":
		return 1
	case "c", "C":
		return 8
	case "s", "S", "e":
		return 16
	case "i", "I", "f", "tdD", "tts", "ttm":
		return 32
	case "l", "L", "g", "tdm", "ttu", "ttn", "tDs", "tDm", "tDu", "tDn", "tss", "tsm", "tsu", "tsn":
		return 64
	case "w":
		n, _ := strconv.ParseInt(rest, 10, 64)
		return 8 * n
	case "d":
		n, _ := strconv.ParseInt(rest[strings.LastIndex(rest, ",")+1:], 10, 64)
		return n
	}
	return 0
}

func bitAt(p []byte, i int64) bool { return p[i>>3]>>(i&7)&1 != 0 }

// values makes the array of a leaf.
func (n *node) values(v *vector) (*arrow.Type, *arrow.Data, error) {
	d := &arrow.Data{Rows: int64(v.count)}
	var places []int // of the values, if some rows are null
	if v.defs != nil && !n.whole(v) {
		var valid bitmap
		places = make([]int, 0, v.count)
		for _, def := range v.defs {
			if int(def) < n.exists {
				continue
			}
			isValue := int(def) == n.defined
			if isValue {
				places = append(places, int(valid.n))
			}
			valid.add(isValue)
		}
		d.Rows, d.Valid = valid.n, valid.valid()
		if d.Valid == nil {
			places = nil // lists are empty or null, items are not
		}
	}
	t := n.typ
	if width := n.width(); width > 0 {
		p, to, err := n.fixedValues(v)
		if err != nil {
			return nil, nil, err
		}
		if d.Values = p; places != nil {
			d.Values = spread(p, to, places, d.Rows)
		}
		if n.typ.Format == "b" {
			d.Values = packed(d.Values, d.Rows)
		}
		return t, d, nil
	}
	switch {
	case v.codes != nil:
		index := &arrow.Type{Name: t.Name, Format: "i", Metadata: t.Metadata, Dictionary: t.Dictionary}
		if index.Dictionary == nil {
			index.Dictionary = &arrow.Type{Format: t.Format}
		}
		d.Values = make([]byte, 0, 4*len(v.codes))
		for _, c := range v.codes {
			d.Values = binary.LittleEndian.AppendUint32(d.Values, uint32(c))
		}
		if places != nil {
			d.Values = spread(d.Values, 4, places, d.Rows)
		}
		d.Dictionary = &arrow.Data{Rows: int64(v.dict.count), Values: v.dict.data, Ends: v.dict.ends, At: v.dict.at}
		return index, d, nil
	case strings.HasPrefix(t.Format, "d:"):
		var err error
		if d.Values, err = n.decimals(v); err != nil {
			return nil, nil, err
		}
		if places != nil {
			d.Values = spread(d.Values, int(decimalWidth(n.meaning().decimals)), places, d.Rows)
		}
		return t, d, nil
	}
	d.Values, d.Ends, d.At = v.data, v.ends, v.at
	if len(d.Ends) == 0 {
		d.Ends = []int64{0}
	}
	if places != nil {
		d.Ends = make([]int64, 1, d.Rows+1)
		if v.at != nil {
			d.At = slices.Repeat([]int64{-1}, int(d.Rows))
			for i, row := range places {
				d.At[row] = v.at[i]
			}
		}
		next := 0
		for i := range int(d.Rows) {
			if next < len(places) && places[next] == i {
				next++
			}
			end := int64(0)
			if next > 0 {
				end = v.ends[next]
			}
			d.Ends = append(d.Ends, end)
		}
	}
	if t.Dictionary != nil {
		return numberTexts(t, d)
	}
	return t, d, nil
}

// whole reports whether each entry is a value.
func (n *node) whole(v *vector) bool { return len(v.defs) == v.count }

// numberTexts turns texts into numbers of a dictionary.
func numberTexts(t *arrow.Type, d *arrow.Data) (*arrow.Type, *arrow.Data, error) {
	seen := map[string]uint32{}
	dict := &arrow.Data{Ends: []int64{0}}
	codes := make([]byte, 0, 4*d.Rows)
	for i := range d.Rows {
		text := d.Values[d.Ends[i]:d.Ends[i+1]]
		code, ok := seen[string(text)]
		if !ok && (d.Valid == nil || bitAt(d.Valid, i)) {
			code = uint32(len(seen))
			seen[string(text)] = code
			dict.Values = append(dict.Values, text...)
			dict.Ends = append(dict.Ends, int64(len(dict.Values)))
			dict.Rows++
		}
		codes = binary.LittleEndian.AppendUint32(codes, code)
	}
	return t, &arrow.Data{Rows: d.Rows, Valid: d.Valid, Values: codes, Dictionary: dict}, nil
}

// spread puts values of a width to their places among rows.
func spread(p []byte, width int, places []int, rows int64) []byte {
	out := make([]byte, rows*int64(width))
	for i := 0; i < len(places); {
		k := i + 1
		for k < len(places) && places[k] == places[k-1]+1 {
			k++
		}
		copy(out[places[i]*width:], p[i*width:k*width])
		i = k
	}
	return out
}

// packed turns a byte for each bool into a bit.
func packed(p []byte, rows int64) []byte {
	out := make([]byte, (rows+7)/8)
	for i := range rows {
		out[i>>3] |= p[i] & 1 << (i & 7)
	}
	return out
}

// fixedValues returns values of a fixed width as Arrow stores them, with their width there.
func (n *node) fixedValues(v *vector) (p []byte, to int, err error) {
	format, from := n.typ.Format, n.width()
	switch {
	case n.kind == int96s:
		p, err = nanoseconds(v.fixed)
		return p, 8, err
	case strings.HasPrefix(format, "d:"):
		p, err = n.decimals(v)
		return p, int(decimalWidth(n.meaning().decimals)), err
	}
	to = map[string]int{"c": 1, "C": 1, "s": 2, "S": 2, "i": 4, "I": 4, "l": 8, "L": 8}[format]
	switch {
	case to == 0 || to == from:
		return v.fixed, from, nil
	case to > from:
		return widened(v.fixed, from, to, format[0] >= 'a'), to, nil
	}
	p = make([]byte, 0, v.count*to)
	for i := range v.count {
		p = append(p, v.fixed[i*from:][:to]...)
	}
	return p, to, nil
}

// widened gives integers more bytes.
func widened(p []byte, from, to int, signed bool) []byte {
	out := make([]byte, 0, len(p)/from*to)
	for i := 0; i < len(p); i += from {
		out = append(out, p[i:i+from]...)
		fill := byte(0)
		if signed && p[i+from-1]&0x80 != 0 {
			fill = 0xff
		}
		for range to - from {
			out = append(out, fill)
		}
	}
	return out
}

// nanoseconds turns nanoseconds of a Julian day into those since 1970.
func nanoseconds(p []byte) ([]byte, error) {
	const epoch, day = 2440588, 86400e9
	out := make([]byte, 0, len(p)/12*8)
	for i := 0; i < len(p); i += 12 {
		days := int64(le32(p[i+8:])) - epoch
		hi, lo := bits.Mul64(uint64(max(days, -days)), day)
		if hi != 0 || lo > 1<<62 {
			return nil, errs.New(errs.Unsupported, "a time lies %d days from 1970, which nanoseconds of 64 bits do not reach", days)
		}
		out = binary.LittleEndian.AppendUint64(out, uint64(days*day)+binary.LittleEndian.Uint64(p[i:]))
	}
	return out, nil
}

// decimals turns integers, or bytes from the highest on, into decimals of Arrow.
func (n *node) decimals(v *vector) ([]byte, error) {
	to := int(decimalWidth(n.meaning().decimals))
	switch n.kind {
	case int32s, int64s:
		return widened(v.fixed, n.width(), to, true), nil
	}
	out := make([]byte, 0, v.count*to)
	for i := range v.count {
		var p []byte
		if n.kind == fixedBytes {
			p = v.fixed[i*n.width():][:n.width()]
		} else {
			p = v.data[v.ends[i]:v.ends[i+1]]
		}
		if len(p) > to || len(p) == 0 {
			return nil, errs.New(errs.Corrupt, "a decimal has %d bytes, want 1 to %d", len(p), to)
		}
		for k := len(p) - 1; k >= 0; k-- {
			out = append(out, p[k])
		}
		fill := byte(0)
		if p[0]&0x80 != 0 {
			fill = 0xff
		}
		for range to - len(p) {
			out = append(out, fill)
		}
	}
	return out, nil
}
