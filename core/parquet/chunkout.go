package parquet

import (
	"encoding/binary"

	"deeplake/core/errs"
)

const (
	// pageBytes and pageEntries bound a page, which has whole rows.
	pageBytes   = 1 << 20
	pageEntries = 1 << 18
	// sampleBytes is the part of a large first page that is compressed to find out whether
	// compression saves enough.
	sampleBytes = 1 << 20
)

// chunkWriter writes the pages of a leaf for a row group.
type chunkWriter struct {
	*Writer
	leaf  *outLeaf
	meta  chunkOut
	texts *textSet // of a dictionary of texts; nil: none
	codes []int32
	set   *numberSet // of a dictionary of numbers; nil: none
	plain []byte     // values, texts behind their lengths; not of a dictionary of texts
	bits  int        // of a number of the dictionary; 0: values are plain

	entry, value, at int // of the next page: its first entry, its first value, and where that lies
}

// chunk writes a leaf.
func (w *Writer) chunk(l *outLeaf) (chunkOut, error) {
	c := &chunkWriter{Writer: w, leaf: l, plain: l.values}
	c.meta.values, c.meta.nulls = int64(l.entries), int64(l.entries-l.count)
	c.meta.encodings = []int64{codingRLE, codingPlain}
	var values, head []byte
	distinct := 0
	switch c.choose(); {
	case c.texts != nil:
		values, head, distinct = c.texts.data, c.texts.data, len(c.texts.starts)
	case c.set != nil:
		values, distinct = c.set.data, c.set.n
		head = l.plain(nil, values)
	default:
		values = c.plain
	}
	if distinct > 0 {
		c.bits = codeBits(distinct)
		c.meta.encodings = append(c.meta.encodings, codingDict)
	}
	c.meta.least, c.meta.greatest = l.bounds(values)
	return c.meta, c.pages(head, distinct)
}

// choose makes a dictionary where it takes fewer bytes than plain values.
func (c *chunkWriter) choose() {
	l := c.leaf
	switch {
	case l.coded && l.texts != nil:
		if pays(len(l.texts.starts), len(l.texts.data), l.count, l.wideOf) {
			c.texts, c.codes = l.texts, l.codes
			return
		}
		c.plain = nil
		for _, code := range l.codes {
			from := l.texts.starts[code]
			c.plain = append(c.plain, l.texts.data[from:from+4+int64(l.texts.length(code))]...)
		}
	case l.coded:
	case l.isText():
		var set *textSet
		set, c.scratch = distinctTexts(l.values, c.scratch[:0])
		if set != nil && pays(len(set.starts), len(set.data), l.count, int64(len(l.values))) {
			c.texts, c.codes = set, c.scratch
		}
	case l.wide >= 4:
		set := newNumberSet(l.width)
		if set.add(l.values, min(maxDistinct, l.count)) && pays(set.n, set.n*l.wide, l.count, int64(l.count)*int64(l.wide)) {
			c.set = set
		}
	}
}

// pages writes the dictionary, if there is one, and all data pages.
func (c *chunkWriter) pages(dictionary []byte, distinct int) error {
	entries := c.page()
	if err := c.choosePacking(dictionary); err != nil {
		return err
	}
	c.meta.data = c.off
	if distinct > 0 {
		c.meta.dictionary = c.off
		if err := c.emit(dictionaryPage, codingPlain, distinct, dictionary, c.packedDict); err != nil {
			return err
		}
		c.meta.data = c.off
	}
	coding := int64(codingPlain)
	if c.bits > 0 {
		coding = codingDict
	}
	for first := true; ; first = false {
		if !first {
			if c.entry == c.leaf.entries {
				return nil
			}
			entries = c.page()
			if c.packed = c.packed[:0]; c.meta.codec == zstdPages && len(c.raw) <= maxPage {
				c.packed = c.zstd.EncodeAll(c.raw, c.packed)
			}
		}
		if err := c.emit(dataPage, coding, entries, c.raw, c.packed); err != nil {
			return err
		}
	}
}

// choosePacking compresses the first page and the dictionary, if that saves a part of their bytes.
func (c *chunkWriter) choosePacking(dictionary []byte) error {
	if err := c.bounded(c.raw); err != nil {
		return err
	}
	if err := c.bounded(dictionary); err != nil {
		return err
	}
	c.packed, c.packedDict = c.packed[:0], c.packedDict[:0]
	if c.leaf.asIs {
		return nil
	}
	sample := c.raw
	if len(sample) > 4*sampleBytes {
		sample = sample[len(sample)-sampleBytes:]
	}
	c.packed = c.zstd.EncodeAll(sample, c.packed)
	if dictionary != nil {
		c.packedDict = c.zstd.EncodeAll(dictionary, c.packedDict)
	}
	if before, after := len(sample)+len(dictionary), len(c.packed)+len(c.packedDict); after*20 > before*19 {
		return nil
	}
	c.meta.codec = zstdPages
	if len(sample) < len(c.raw) {
		c.packed = c.zstd.EncodeAll(c.raw, c.packed[:0])
	}
	return nil
}

func (c *chunkWriter) bounded(p []byte) error {
	if len(p) > maxPage {
		return writing(c.leaf.column).New(errs.Unsupported, "a row has more than %d bytes in one column; write shorter lists", maxPage)
	}
	return nil
}

// emit writes a page, compressed or not.
func (c *chunkWriter) emit(kind, coding int64, values int, raw, packed []byte) error {
	body := raw
	if c.meta.codec != plainPages {
		body = packed
	}
	for _, p := range [][]byte{raw, body} {
		if err := c.bounded(p); err != nil {
			return err
		}
	}
	head := pageHead(kind, int64(len(raw)), int64(len(body)), int64(values), coding)
	c.meta.wide += int64(len(head) + len(raw))
	c.meta.size += int64(len(head) + len(body))
	if err := c.put(head); err != nil {
		return err
	}
	return c.put(body)
}

// page makes the bytes of the next page, and returns the number of its entries.
func (c *chunkWriter) page() int {
	l, from, value, at := c.leaf, c.entry, c.value, c.at
	c.span()
	entries := c.entry - from
	c.raw = c.raw[:0]
	if l.repeats > 0 {
		c.raw = c.levels(c.raw, l.reps[from:c.entry], l.repeats)
	}
	if l.defs != nil {
		c.raw = c.levels(c.raw, l.defs[from:c.entry], l.defined)
	} else {
		c.raw = c.sameLevels(c.raw, entries, l.defined)
	}
	switch {
	case c.texts != nil:
		c.raw = appendRuns(append(c.raw, byte(c.bits)), c.codes[value:c.value], c.bits)
	case c.set != nil:
		c.numbers = c.set.codes(c.numbers[:0], c.plain[at:c.at])
		c.raw = appendRuns(append(c.raw, byte(c.bits)), c.numbers, c.bits)
	case l.kind == boolean:
		c.raw = appendBits(c.raw, c.plain[at:c.at], 1)
	case l.isText():
		c.raw = append(c.raw, c.plain[at:c.at]...)
	default:
		c.raw = l.plain(c.raw, c.plain[at:c.at])
	}
	return entries
}

// levels appends levels behind their length.
func (c *chunkWriter) levels(dst, levels []byte, most int) []byte {
	at := len(dst)
	dst = appendRuns(append(dst, 0, 0, 0, 0), levels, bitsOf(most))
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// sameLevels appends n equal levels behind their length.
func (c *chunkWriter) sameLevels(dst []byte, n, level int) []byte {
	at := len(dst)
	dst = binary.AppendUvarint(append(dst, 0, 0, 0, 0), uint64(n)<<1)
	dst = append(dst, byte(level))
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// span finds the end of the next page: that of the first row with which it is large enough.
func (c *chunkWriter) span() {
	l, from := c.leaf, c.entry
	walks := l.isText() && c.texts == nil // over texts, whose sizes differ
	most := c.pageEntries                 // values of a page
	switch {
	case c.bits > 0:
		most = min(most, c.pageBytes*8/c.bits)
	case l.wide > 0 && l.kind != boolean:
		most = min(most, c.pageBytes/l.wide)
	}
	most = max(1, most)
	if l.repeats == 0 && l.defs == nil && !walks {
		n := min(most, l.entries-from)
		c.entry, c.value, c.at = from+n, c.value+n, c.at+n*l.width
		return
	}
	value, size := c.value, 0
	for ; c.entry < l.entries; c.entry++ {
		isFull := size >= c.pageBytes || c.value-value >= most || c.entry-from >= c.pageEntries
		if isFull && (l.repeats == 0 || l.reps[c.entry] == 0) {
			return
		}
		if l.defs != nil && l.defs[c.entry] != byte(l.defined) {
			continue
		}
		if c.value++; walks {
			n := 4 + int(le32(c.plain[c.at:]))
			size += n
			c.at += n
		} else {
			c.at += l.width
		}
	}
}
