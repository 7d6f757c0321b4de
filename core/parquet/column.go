package parquet

import (
	"context"
	"hash/crc32"

	"deeplake/core/errs"
	"deeplake/core/internal/ahead"
)

// maxHeader bounds the bytes of a page header, which may hold statistics.
const maxHeader = 16 << 20

// column reads the entries of a leaf, through all row groups.
type column struct {
	*node
	stream *ahead.Stream
	chunks []chunkMeta // of the row groups from the first one on
	top    bool        // numbers of a dictionary may stay numbers
	places bool        // texts come with their positions in the file

	chunk  int   // number of the present one
	spent  int64 // bytes of its pages that were taken
	values int64 // entries of its pages that were begun
	dict   *vector

	left   int // entries of the page
	reps   *runs
	defs   *runs
	ahead  []byte // repetition levels that were read and not taken
	decode decoder
}

// width is the number of bytes of a value; 0: texts.
func (e *element) width() int {
	switch e.kind {
	case boolean:
		return 1
	case int32s, floats:
		return 4
	case int64s, doubles:
		return 8
	case int96s:
		return 12
	case fixedBytes:
		return int(e.length)
	}
	return 0
}

// maxDef and maxRep are the levels of a value.
func (c *column) maxDef() int { return c.defined }
func (c *column) maxRep() int { return c.repeats }

// read appends the entries of the next rows to v, or as many as are left. It returns the rows.
func (c *column) read(ctx context.Context, v *vector, rows int) (int, error) {
	got := 0
	for {
		if c.left == 0 {
			// A row may go on in the next page.
			if got == rows && c.maxRep() == 0 {
				return got, nil
			}
			more, err := c.nextPage(ctx)
			if err != nil || !more {
				return got, err
			}
			continue
		}
		n, begun, err := c.span(rows - got)
		if err != nil {
			return got, err
		}
		if n == 0 {
			return got, nil
		}
		if err := c.entries(v, n); err != nil {
			return got, err
		}
		got += begun
	}
}

// span returns how many entries belong to the next rows within a page, and how many rows begin in
// them. 0 entries: the next one begins a row too many.
func (c *column) span(rows int) (n, begun int, err error) {
	if c.maxRep() == 0 {
		n = min(c.left, rows)
		return n, n, nil
	}
	for n < c.left {
		if n == len(c.ahead) {
			at := len(c.ahead)
			if at > maxVector/2 {
				return 0, 0, errTooLarge()
			}
			c.ahead = append(c.ahead, make([]byte, min(1<<12, c.left-at))...)
			if err := read(c.reps, c.ahead[at:]); err != nil {
				return 0, 0, err
			}
		}
		if c.ahead[n] > byte(c.maxRep()) {
			return 0, 0, errs.New(errs.Corrupt, "a repetition level is %d, want at most %d", c.ahead[n], c.maxRep())
		}
		if c.ahead[n] == 0 {
			if begun == rows {
				break
			}
			begun++
		}
		n++
	}
	return n, begun, nil
}

// entries appends n entries of the page.
func (c *column) entries(v *vector, n int) error {
	for n > 0 {
		k := min(n, piece)
		if err := c.entriesOf(v, k); err != nil {
			return err
		}
		if v.bytes() > maxVector && v.count > 1 { // a single value is as large as its page
			return errTooLarge()
		}
		n -= k
	}
	return nil
}

// entriesOf appends a few entries.
func (c *column) entriesOf(v *vector, n int) error {
	if c.maxRep() > 0 {
		v.reps = append(v.reps, c.ahead[:n]...)
		c.ahead = c.ahead[n:]
	}
	present := n
	if c.maxDef() > 0 {
		at := len(v.defs)
		v.defs = append(v.defs, make([]byte, n)...)
		levels := v.defs[at:]
		if err := read(c.defs, levels); err != nil {
			return err
		}
		present = 0
		for _, level := range levels {
			if level == byte(c.maxDef()) {
				present++
			} else if level > byte(c.maxDef()) {
				return errs.New(errs.Corrupt, "a definition level is %d, want at most %d", level, c.maxDef())
			}
		}
	}
	c.left -= n
	v.count += present
	if present == 0 {
		return nil
	}
	return c.decode.read(v, present)
}

// nextPage begins the next page with entries; more is false at the end of the file.
func (c *column) nextPage(ctx context.Context) (more bool, err error) {
	for c.left == 0 {
		if c.chunk == len(c.chunks) {
			return false, nil
		}
		meta := &c.chunks[c.chunk]
		if c.spent >= meta.size || c.values >= meta.values {
			if c.values != meta.values {
				return false, errs.New(errs.Corrupt, "the pages of a column have %d entries, and its row group says %d", c.values, meta.values)
			}
			if err := c.skipRest(ctx, meta); err != nil {
				return false, err
			}
			c.chunk, c.spent, c.values, c.dict = c.chunk+1, 0, 0, nil
			continue
		}
		if err := c.page(ctx, meta); err != nil {
			return false, err
		}
	}
	return true, nil
}

// skipRest passes over bytes of the chunk behind its last entry.
func (c *column) skipRest(ctx context.Context, meta *chunkMeta) error {
	for c.spent < meta.size {
		n := min(meta.size-c.spent, 1<<20)
		if err := c.stream.Need(ctx, n); err != nil {
			return err
		}
		if int64(len(c.stream.Bytes())) < n {
			return errs.New(errs.Corrupt, "the file is cut")
		}
		c.stream.Take(n)
		c.spent += n
	}
	return nil
}

// header reads the header of the next page.
func (c *column) header(ctx context.Context, meta *chunkMeta) (pageHeader, error) {
	for size := int64(1 << 10); ; size *= 8 {
		size = min(size, meta.size-c.spent)
		if err := c.stream.Need(ctx, size); err != nil {
			return pageHeader{}, err
		}
		have := min(int64(len(c.stream.Bytes())), meta.size-c.spent)
		h, n, err := parsePageHeader(c.stream.Bytes()[:have])
		if err != nil && have >= size && size < meta.size-c.spent && size < maxHeader {
			continue // the header may go on
		}
		if err != nil {
			return h, err
		}
		c.stream.Take(int64(n))
		c.spent += int64(n)
		return h, nil
	}
}

// page reads the next page of a chunk: a dictionary, or entries.
func (c *column) page(ctx context.Context, meta *chunkMeta) error {
	h, err := c.header(ctx, meta)
	if err != nil {
		return err
	}
	switch {
	case h.size < 0 || h.size > meta.size-c.spent:
		return errs.New(errs.Corrupt, "a page has %d bytes, and its column %d more", h.size, meta.size-c.spent)
	case h.values < 0 || h.values > meta.values-c.values && h.kind != dictionaryPage:
		return errs.New(errs.Corrupt, "a page has %d entries, and its column %d more", h.values, meta.values-c.values)
	case h.size > maxPage || h.wide > maxPage:
		return errs.New(errs.Unsupported, "a page has %d bytes, want at most %d", max(h.size, h.wide), maxPage)
	}
	if err := c.stream.Need(ctx, h.size); err != nil {
		return err
	}
	if int64(len(c.stream.Bytes())) < h.size {
		return errs.New(errs.Corrupt, "the file is cut")
	}
	p := c.stream.Take(h.size)
	at := meta.from() + c.spent
	c.spent += h.size
	if h.hasCRC && crc32.ChecksumIEEE(p) != h.crc {
		return errs.New(errs.Corrupt, "the checksum of a page is wrong")
	}
	switch h.kind {
	case dictionaryPage:
		return c.dictionary(meta, &h, p, at)
	case dataPage:
		return c.version1(meta, &h, p, at)
	case dataPageV2:
		return c.version2(meta, &h, p, at)
	}
	return nil // of another kind, which readers pass over
}

func (c *column) dictionary(meta *chunkMeta, h *pageHeader, p []byte, at int64) error {
	if h.encoding != codingPlain && h.encoding != codingPlainDict {
		return errs.New(errs.Unsupported, "a dictionary has the encoding %d", h.encoding)
	}
	places := c.placer(meta.codec == plainPages, at)
	p, err := unpack(meta.codec, p, h.wide)
	if err != nil {
		return err
	}
	if h.values > int64(len(p)) { // a value has a byte or more
		return errs.New(errs.Corrupt, "a dictionary of %d bytes has %d values", len(p), h.values)
	}
	dict := &vector{count: int(h.values), ends: []int64{0}}
	places.p = p
	d, err := c.decoderOf(codingPlain, p, places)
	if err != nil {
		return err
	}
	if err := d.read(dict, dict.count); err != nil {
		return err
	}
	if dict.bytes() > maxVector && dict.count > 1 {
		return errTooLarge()
	}
	c.dict = dict
	return nil
}

// version1 begins a page whose levels and values are compressed together.
func (c *column) version1(meta *chunkMeta, h *pageHeader, p []byte, at int64) error {
	places := c.placer(meta.codec == plainPages, at)
	p, err := unpack(meta.codec, p, h.wide)
	if err != nil {
		return err
	}
	places.p = p
	c.ahead = c.ahead[:0]
	if c.reps, p, err = levels1(c.maxRep(), h.repCoding, h.values, p); err != nil {
		return err
	}
	if c.defs, p, err = levels1(c.maxDef(), h.defCoding, h.values, p); err != nil {
		return err
	}
	return c.begin(h, p, places)
}

// levels1 takes levels off the beginning of a page of version 1.
func levels1(level int, coding, n int64, p []byte) (*runs, []byte, error) {
	if level == 0 {
		return nil, p, nil
	}
	size := int64(0)
	switch coding {
	case codingRLE:
		if len(p) < 4 {
			return nil, nil, errShort()
		}
		size = int64(le32(p))
		p = p[4:]
	case codingBits:
		size = (n*int64(bitsOf(level)) + 7) / 8
	default:
		return nil, nil, errs.New(errs.Unsupported, "levels have the encoding %d", coding)
	}
	if size > int64(len(p)) {
		return nil, nil, errs.New(errs.Corrupt, "the levels of a page have %d bytes of %d", size, len(p))
	}
	if coding == codingBits {
		return &runs{width: bitsOf(level), group: reversed(p[:size], bitsOf(level)), left: int(n)}, p[size:], nil
	}
	r, err := newRuns(p[:size], bitsOf(level))
	return r, p[size:], err
}

// reversed changes numbers that begin at the highest bit of a byte into those from the lowest on.
func reversed(p []byte, width int) []byte {
	out := make([]byte, len(p)+1)
	for i := range len(p) * 8 / width {
		for b := range width {
			at := i*width + b
			if p[at>>3]>>(7-at&7)&1 != 0 {
				to := i*width + width - 1 - b
				out[to>>3] |= 1 << (to & 7)
			}
		}
	}
	return out[:len(p)]
}

// version2 begins a page whose levels precede its values, uncompressed.
func (c *column) version2(meta *chunkMeta, h *pageHeader, p []byte, at int64) error {
	if h.repBytes < 0 || h.defBytes < 0 || h.repBytes > int64(len(p)) || h.defBytes > int64(len(p))-h.repBytes || h.wide < h.repBytes+h.defBytes {
		return errs.New(errs.Corrupt, "the levels of a page have %d and %d bytes of %d", h.repBytes, h.defBytes, len(p))
	}
	reps, defs, rest := p[:h.repBytes], p[h.repBytes:h.repBytes+h.defBytes], p[h.repBytes+h.defBytes:]
	var err error
	c.ahead = c.ahead[:0]
	c.reps, c.defs = nil, nil
	if c.maxRep() > 0 {
		if c.reps, err = newRuns(reps, bitsOf(c.maxRep())); err != nil {
			return err
		}
	}
	if c.maxDef() > 0 {
		if c.defs, err = newRuns(defs, bitsOf(c.maxDef())); err != nil {
			return err
		}
	}
	places := c.placer(!h.packed || meta.codec == plainPages, at)
	places.p = p
	// A page without values may have no bytes to decompress.
	if wide := h.wide - h.repBytes - h.defBytes; h.packed && meta.codec != plainPages && (wide > 0 || len(rest) > 0) {
		if rest, err = unpack(meta.codec, rest, wide); err != nil {
			return err
		}
	}
	return c.begin(h, rest, places)
}

// placer returns the placer of a page that lies at a position of the file.
func (c *column) placer(isPlain bool, at int64) placer {
	if !isPlain {
		at = -1
	}
	return placer{wanted: c.places, at: at}
}

// begin makes the entries of a page the next ones.
func (c *column) begin(h *pageHeader, p []byte, places placer) error {
	var err error
	c.decode, err = c.decoderOf(h.encoding, p, places)
	c.left = int(h.values)
	c.values += h.values
	return err
}

// decoderOf returns the decoder of the values of a page.
func (c *column) decoderOf(coding int64, p []byte, places placer) (decoder, error) {
	width := c.width()
	switch {
	case coding == codingDict || coding == codingPlainDict:
		if c.dict == nil {
			return nil, errs.New(errs.Corrupt, "a page has numbers of a dictionary, and its column has none")
		}
		if len(p) == 0 {
			return &fixedPlain{width: 1}, nil // all entries are null
		}
		r, err := newRuns(p[1:], int(p[0]))
		return &numbered{runs: r, dict: c.dict, width: width, keep: c.top}, err
	case coding == codingPlain && c.kind == boolean:
		return &boolPlain{p: p}, nil
	case coding == codingPlain && width > 0:
		return &fixedPlain{p: p, width: width}, nil
	case coding == codingPlain:
		return &textPlain{p, places}, nil
	case coding == codingRLE && c.kind == boolean:
		if len(p) < 4 || int64(le32(p)) > int64(len(p)-4) {
			return nil, errShort()
		}
		r, err := newRuns(p[4:4+le32(p)], 1)
		return boolRuns{r}, err
	case coding == codingDelta && (c.kind == int32s || c.kind == int64s):
		if len(p) == 0 {
			return &fixedPlain{width: 1}, nil
		}
		d, err := newDeltas(p)
		return &integers{deltas: d, width: width}, err
	case coding == codingDeltaLength && width == 0:
		return emptyOr(p, func(p []byte) (*textLengths, error) { return newTextLengths(p, places) })
	case coding == codingDeltaBytes && (width == 0 || c.kind == fixedBytes):
		return emptyOr(p, func(p []byte) (*textPrefixes, error) { return newTextPrefixes(p, width, places) })
	case coding == codingSplit && width > 1:
		return &split{p: p, width: width}, nil
	}
	return nil, errs.New(errs.Unsupported, "a page has the encoding %d for values of type %d", coding, c.kind)
}

// emptyOr returns a decoder of no values for a page whose entries are all null.
func emptyOr[D decoder](p []byte, of func(p []byte) (D, error)) (decoder, error) {
	if len(p) == 0 {
		return &fixedPlain{width: 1}, nil
	}
	return of(p)
}

func le32(p []byte) uint32 {
	return uint32(p[0]) | uint32(p[1])<<8 | uint32(p[2])<<16 | uint32(p[3])<<24
}
