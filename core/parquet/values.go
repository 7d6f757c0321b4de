package parquet

import (
	"encoding/binary"

	"deeplake/core/errs"
)

const (
	// maxVector bounds the bytes of a column in one batch, levels and ends of texts included.
	maxVector = 512 << 20
	// piece is the number of entries after which the bytes are counted.
	piece = 1 << 12
)

// vector is entries of a leaf: levels, and the values of those that are not null.
type vector struct {
	reps, defs []byte // nil: all are 0
	count      int    // values
	fixed      []byte // of a fixed width; a byte for each bool
	data       []byte // texts
	ends       []int64
	at         []int64 // positions of the texts in the file, if they are wanted; -1: compressed
	codes      []int32 // numbers of the texts in dict, in the place of data and ends
	dict       *vector
}

// bytes is the memory of the vector.
func (v *vector) bytes() int {
	return len(v.reps) + len(v.defs) + len(v.fixed) + len(v.data) + 8*len(v.ends) + 8*len(v.at) + 4*len(v.codes)
}

// addTexts makes room for texts.
func (v *vector) addTexts() error {
	if len(v.ends) == 0 {
		v.ends = append(v.ends, 0)
	}
	if v.codes == nil {
		return nil
	}
	// The pages before were of a dictionary: their texts are written out.
	codes := v.codes
	v.codes = nil
	return v.expand(v.dict, codes)
}

// expand appends the texts of a dictionary.
func (v *vector) expand(dict *vector, codes []int32) error {
	for _, c := range codes {
		text := dict.data[dict.ends[c]:dict.ends[c+1]]
		if len(v.data)+len(text) > maxVector {
			return errTooLarge()
		}
		v.data = append(v.data, text...)
		v.ends = append(v.ends, int64(len(v.data)))
		if dict.at != nil {
			v.at = append(v.at, dict.at[c])
		}
	}
	return nil
}

func errTooLarge() error {
	return errs.New(errs.Unsupported, "a batch of rows has more than %d bytes in one column; write the file again, with smaller row groups", maxVector)
}

// decoder reads the values of a page.
type decoder interface {
	// read appends the next n values, at most piece of a data page. Those that take more memory
	// than their page are bounded here, others by the caller.
	read(v *vector, n int) error
}

func errShort() error { return errs.New(errs.Corrupt, "a page has fewer values than its header says") }

// fixedPlain reads values of a width.
type fixedPlain struct {
	p     []byte
	width int
}

func (d *fixedPlain) read(v *vector, n int) error {
	if len(d.p)/d.width < n {
		return errShort()
	}
	v.fixed = append(v.fixed, d.p[:n*d.width]...)
	d.p = d.p[n*d.width:]
	return nil
}

// boolPlain reads bits.
type boolPlain struct {
	p  []byte
	at int
}

func (d *boolPlain) read(v *vector, n int) error {
	if n > len(d.p)*8-d.at {
		return errShort()
	}
	for range n {
		v.fixed = append(v.fixed, d.p[d.at>>3]>>(d.at&7)&1)
		d.at++
	}
	return nil
}

// boolRuns reads bits in runs.
type boolRuns struct{ *runs }

func (d boolRuns) read(v *vector, n int) error {
	at := len(v.fixed)
	v.fixed = append(v.fixed, make([]byte, n)...)
	return read(d.runs, v.fixed[at:])
}

// placer notes the positions of the texts of a page, if they are wanted.
type placer struct {
	wanted bool
	at     int64 // position of p in the file; -1: p is in another form there
	p      []byte
}

// note adds the position of a text, which is a part of the page's values.
func (p *placer) note(v *vector, text []byte) {
	switch {
	case !p.wanted:
	case p.at < 0:
		v.at = append(v.at, -1)
	default:
		v.at = append(v.at, p.at+int64(cap(p.p)-cap(text))) // both end with the memory of the page
	}
}

// textPlain reads texts behind their lengths.
type textPlain struct {
	p []byte
	placer
}

func (d *textPlain) read(v *vector, n int) error {
	if err := v.addTexts(); err != nil {
		return err
	}
	for range n {
		if len(d.p) < 4 {
			return errShort()
		}
		size := int64(binary.LittleEndian.Uint32(d.p))
		if size > int64(len(d.p)-4) {
			return errs.New(errs.Corrupt, "a text of %d bytes lies in the last %d of its page", size, len(d.p)-4)
		}
		v.data = append(v.data, d.p[4:4+size]...)
		v.ends = append(v.ends, int64(len(v.data)))
		d.note(v, d.p[4:4+size])
		d.p = d.p[4+size:]
	}
	return nil
}

// numbered reads numbers of values in a dictionary.
type numbered struct {
	*runs
	dict  *vector
	width int // of its values; 0: texts
	keep  bool
	buf   []int32
}

func (d *numbered) read(v *vector, n int) error {
	for n > 0 {
		if d.buf == nil {
			d.buf = make([]int32, 1<<12)
		}
		part := d.buf[:min(n, len(d.buf))]
		if err := read(d.runs, part); err != nil {
			return err
		}
		for _, c := range part {
			if c < 0 || int(c) >= d.dict.count {
				return errs.New(errs.Corrupt, "a value has number %d of a dictionary of %d", uint32(c), d.dict.count)
			}
		}
		if err := d.add(v, part); err != nil {
			return err
		}
		n -= len(part)
	}
	return nil
}

func (d *numbered) add(v *vector, codes []int32) error {
	if d.width > 0 && len(codes) > (maxVector-len(v.fixed))/d.width {
		return errTooLarge()
	}
	switch {
	case d.width == 4:
		for _, c := range codes {
			v.fixed = append(v.fixed, d.dict.fixed[4*c:4*c+4]...)
		}
	case d.width == 8:
		for _, c := range codes {
			v.fixed = append(v.fixed, d.dict.fixed[8*c:8*c+8]...)
		}
	case d.width > 0:
		for _, c := range codes {
			v.fixed = append(v.fixed, d.dict.fixed[int(c)*d.width:(int(c)+1)*d.width]...)
		}
	case d.keep && len(v.ends) <= 1 && (v.codes == nil || v.dict == d.dict):
		v.dict, v.codes = d.dict, append(v.codes, codes...)
	default:
		if err := v.addTexts(); err != nil {
			return err
		}
		return v.expand(d.dict, codes)
	}
	return nil
}

// integers reads integers of 4 or 8 bytes as differences.
type integers struct {
	*deltas
	width int
	buf   []int64
}

func (d *integers) read(v *vector, n int) error {
	for n > 0 {
		if d.buf == nil {
			d.buf = make([]int64, 1<<12)
		}
		part := d.buf[:min(n, len(d.buf))]
		if err := d.deltas.read(part); err != nil {
			return err
		}
		for _, i := range part {
			if d.width == 4 {
				v.fixed = binary.LittleEndian.AppendUint32(v.fixed, uint32(i))
			} else {
				v.fixed = binary.LittleEndian.AppendUint64(v.fixed, uint64(i))
			}
		}
		n -= len(part)
	}
	return nil
}

// textLengths reads texts whose lengths precede all of them.
type textLengths struct {
	lengths *deltas
	p       []byte
	placer
}

func newTextLengths(p []byte, places placer) (*textLengths, error) {
	lengths, err := newDeltas(p)
	if err != nil {
		return nil, err
	}
	scan := *lengths
	rest, err := scan.end()
	return &textLengths{lengths, rest, places}, err
}

// next returns the next text.
func (d *textLengths) next() ([]byte, error) {
	var n [1]int64
	if err := d.lengths.read(n[:]); err != nil {
		return nil, err
	}
	if n[0] < 0 || n[0] > int64(len(d.p)) {
		return nil, errs.New(errs.Corrupt, "a text of %d bytes lies in the last %d of its page", n[0], len(d.p))
	}
	text := d.p[:n[0]]
	d.p = d.p[n[0]:]
	return text, nil
}

func (d *textLengths) read(v *vector, n int) error {
	if err := v.addTexts(); err != nil {
		return err
	}
	for range n {
		text, err := d.next()
		if err != nil {
			return err
		}
		v.data = append(v.data, text...)
		v.ends = append(v.ends, int64(len(v.data)))
		d.note(v, text)
	}
	return nil
}

// textPrefixes reads texts that share their beginning with the text before.
type textPrefixes struct {
	prefixes *deltas
	suffixes *textLengths
	last     []byte
	width    int // of fixed bytes; 0: texts
	placer
}

func newTextPrefixes(p []byte, width int, places placer) (*textPrefixes, error) {
	prefixes, err := newDeltas(p)
	if err != nil {
		return nil, err
	}
	scan := *prefixes
	rest, err := scan.end()
	if err != nil {
		return nil, err
	}
	suffixes, err := newTextLengths(rest, placer{})
	places.at = -1 // texts are put together
	return &textPrefixes{prefixes: prefixes, suffixes: suffixes, width: width, placer: places}, err
}

func (d *textPrefixes) read(v *vector, n int) error {
	if d.width == 0 {
		if err := v.addTexts(); err != nil {
			return err
		}
	}
	for range n {
		var prefix [1]int64
		if err := d.prefixes.read(prefix[:]); err != nil {
			return err
		}
		suffix, err := d.suffixes.next()
		if err != nil {
			return err
		}
		if prefix[0] < 0 || prefix[0] > int64(len(d.last)) {
			return errs.New(errs.Corrupt, "a text shares %d bytes with one of %d", prefix[0], len(d.last))
		}
		d.last = append(d.last[:prefix[0]], suffix...)
		if d.width > 0 {
			if len(d.last) != d.width {
				return errs.New(errs.Corrupt, "a value has %d bytes, want %d", len(d.last), d.width)
			}
			v.fixed = append(v.fixed, d.last...)
		} else {
			v.data = append(v.data, d.last...)
			v.ends = append(v.ends, int64(len(v.data)))
			d.note(v, nil)
		}
		if len(v.data) > maxVector || len(v.fixed) > maxVector {
			return errTooLarge()
		}
	}
	return nil
}

// split reads values whose first bytes lie together, then their second bytes, and so on.
type split struct {
	p     []byte
	width int
	at    int
}

func (d *split) read(v *vector, n int) error {
	count := len(d.p) / d.width
	if n > count-d.at {
		return errShort()
	}
	from := len(v.fixed)
	v.fixed = append(v.fixed, make([]byte, n*d.width)...)
	out := v.fixed[from:]
	for b := range d.width {
		column := d.p[b*count+d.at:][:n]
		for i, value := range column {
			out[i*d.width+b] = value
		}
	}
	d.at += n
	return nil
}
