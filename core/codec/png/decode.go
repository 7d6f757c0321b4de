package png

import (
	"bytes"
	"io"
	"slices"

	"deeplake/core/codec"
	"deeplake/core/errs"
)

// batchSize is about how many bytes of rows are inflated at a time; they stay in the first-level
// caches.
const batchSize = 32 << 10

// maxWhole bounds the filtered rows that are inflated at once, which is quicker than in batches.
const maxWhole = 8 << 20

// decoder keeps its buffers from picture to picture.
type decoder struct {
	picture  picture
	form     codec.Channels // of the output
	want     int            // channels
	size     int            // bytes of one channel of a pixel
	inBatch  bool           // never inflate a file at once
	whole    wholeInflater
	isWhole  bool   // all rows are inflated
	inflated []byte // all rows, then those that are left
	all      []byte // their memory
	inflate  io.ReadCloser
	input    bytes.Reader
	joined   []byte // all IDAT bodies, where there is more than one
	batch    []byte // rows as inflated
	above    []byte // the unfiltered row before the batch
	native   []byte // one row with the file's channels
	region   []byte // pixels that are handed over
	thin     []byte // one row of an interlaced pass with the wanted channels
	closed   bool
}

// Decode needs memory for all rows if they have 8 MiB at most, else for a batch of them (32 KiB or
// one row). Where the file has its pixels in several pieces, it needs as much as these. More or
// fewer pixels than the header says are errs.Corrupt.
func (d *decoder) Decode(dst, data []byte, want codec.Channels) error {
	if d.closed {
		return errs.Op("decode png", "").New(errs.Closed, "decoder is closed")
	}
	if err := d.begin(data, want); err != nil {
		return err
	}
	p := &d.picture
	size := int64(d.want * d.size)
	if n := int64(len(dst)); n%size != 0 || n/size%int64(p.width) != 0 || n/size/int64(p.width) != int64(p.height) {
		return errs.Op("decode png", "").New(errs.Invalid, "output has %d bytes, want shape (%d, %d, %d) of %s", n, p.height, p.width, d.want, p.dtype(want))
	}
	defer d.input.Reset(nil) // data is the caller's
	if err := d.open(data, d.picture.height); err != nil {
		return err
	}
	if err := d.passes(dst); err != nil {
		return err
	}
	return d.end()
}

// begin reads the header.
func (d *decoder) begin(data []byte, want codec.Channels) (err error) {
	d.picture = picture{}
	if err = d.picture.parse(data); err == nil {
		d.want, err = d.picture.wanted(want)
	}
	d.form, d.size = want, d.picture.dtype(want).Size()
	return err
}

// Close drops the buffers. Closing twice is allowed.
func (d *decoder) Close() {
	d.whole.close()
	*d = decoder{closed: true}
}

// open inflates all rows, or sets the inflater on them. Only the first height rows are wanted.
func (d *decoder) open(data []byte, height int) error {
	p := &d.picture
	d.joined = d.joined[:0]
	var body []byte
	for at, i := p.idat, 0; i < p.pieces; i++ {
		c, err := readChunk(data, at)
		if err != nil {
			return err
		}
		if !c.intact(data, at) {
			return errs.Op("decode png", "").New(errs.Corrupt, "checksum of the chunk at byte %d does not match", at)
		}
		if p.pieces == 1 {
			body = c.body
		} else {
			d.joined = append(slices.Grow(d.joined, int(p.idatSize)-len(d.joined)), c.body...)
			body = d.joined
		}
		at = c.next
	}
	if d.isWhole = d.inflateWhole(body, height); d.isWhole {
		return nil
	}
	d.input.Reset(body)
	var err error
	if d.inflate == nil {
		d.inflate, err = newInflater(&d.input)
	} else {
		err = d.inflate.(inflateResetter).Reset(&d.input, nil)
	}
	return damaged(err)
}

// inflateWhole inflates all rows at once, if they are not too many and most are wanted. It returns
// false also for damaged rows: inflating them in batches finds the error.
func (d *decoder) inflateWhole(body []byte, height int) bool {
	n := d.picture.rawSize()
	if d.inBatch || n > maxWhole || height < d.picture.height/3 {
		return false
	}
	d.all = slices.Grow(d.all[:0], int(n)+slack)
	d.inflated = d.all[:n]
	return d.whole.inflate(d.inflated, body)
}

// next returns the next n bytes of rows, which may be changed, with slack behind them.
func (d *decoder) next(n int) ([]byte, error) {
	if d.isWhole {
		b := d.inflated[:n]
		d.inflated = d.inflated[n:]
		return b, nil
	}
	d.batch = slices.Grow(d.batch[:0], n+slack)[:n]
	_, err := io.ReadFull(d.inflate, d.batch)
	return d.batch, damaged(err)
}

func damaged(err error) error {
	if err == nil {
		return nil
	}
	return errs.Op("decode png", "").New(errs.Corrupt, "pixels are damaged or cut: %w", err)
}

// end makes sure that the pixels end where the image does, which also checks their checksum.
func (d *decoder) end() error {
	if d.isWhole {
		return nil
	}
	var one [1]byte
	n, err := io.ReadFull(d.inflate, one[:])
	if n != 0 {
		return errs.Op("decode png", "").New(errs.Corrupt, "more pixels than the header says")
	}
	if err != io.EOF {
		return damaged(err)
	}
	return nil
}

// pass is a sub-image of an interlaced file: the pixels from (x, y) in steps of (dx, dy).
type pass struct{ x, y, dx, dy int }

func adam7() [7]pass {
	return [7]pass{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}
}

func (d *decoder) passes(dst []byte) error {
	if !d.picture.interlaced {
		return d.pass(dst, pass{0, 0, 1, 1})
	}
	for _, a := range adam7() {
		if err := d.pass(dst, a); err != nil {
			return err
		}
	}
	return nil
}

// size returns how many pixels and rows of an image belong to a; none if one is not positive.
func (a pass) size(p *picture) (width, height int) {
	return (p.width - a.x + a.dx - 1) / a.dx, (p.height - a.y + a.dy - 1) / a.dy
}

// rawSize is the number of bytes that the rows have with their filters.
func (p *picture) rawSize() int64 {
	passes := []pass{{0, 0, 1, 1}}
	if p.interlaced {
		all := adam7()
		passes = all[:]
	}
	sum := int64(0)
	for _, a := range passes {
		if width, height := a.size(p); width > 0 && height > 0 {
			sum += int64(height) * int64(p.rowSize(width))
		}
	}
	return sum
}

// rowSize is the number of bytes that a row of so many pixels has with its filter.
func (p *picture) rowSize(width int) int { return 1 + (width*p.bits()+7)/8 }

// pass inflates, unfilters and stores the rows of a.
func (d *decoder) pass(dst []byte, a pass) error {
	width, height := a.size(&d.picture)
	if width <= 0 || height <= 0 {
		return nil
	}
	return d.rows(width, height, a, func(y int, raw []byte) { d.store(dst, raw, width, a, y) })
}

// rows inflates and unfilters the first rows of a, and shows each with its number in the image.
func (d *decoder) rows(width, height int, a pass, show func(y int, raw []byte)) error {
	p := &d.picture
	rowSize := p.rowSize(width)
	perBatch := min(max(1, batchSize/rowSize), height)
	d.above = slices.Grow(d.above[:0], rowSize-1+slack)[:rowSize-1]
	clear(d.above)
	for row := 0; row < height; row += perBatch {
		n := min(perBatch, height-row)
		batch, err := d.next(n * rowSize)
		if err != nil {
			return err
		}
		if good := unfilterRows(batch, d.above, (p.bits()+7)/8); good < n {
			return errs.Op("decode png", "").New(errs.Corrupt, "row %d has filter %d, want 0 to 4", a.y+(row+good)*a.dy, batch[good*rowSize])
		}
		for i := range n {
			show(a.y+(row+i)*a.dy, batch[i*rowSize+1:(i+1)*rowSize])
		}
		copy(d.above, batch[(n-1)*rowSize+1:])
	}
	return nil
}

// store converts one row of a pass and puts it into row y of dst.
func (d *decoder) store(dst, raw []byte, width int, a pass, y int) {
	p := &d.picture
	pixel := d.want * d.size
	to := dst[y*p.width*pixel:][: p.width*pixel : p.width*pixel]
	if a.dx == 1 {
		d.convert(to, raw, width)
		return
	}
	d.thin = slices.Grow(d.thin[:0], width*pixel)[:width*pixel]
	d.convert(d.thin, raw, width)
	for i := range width {
		copy(to[(a.x+i*a.dx)*pixel:], d.thin[i*pixel:(i+1)*pixel])
	}
}

// convert makes the wanted channels of a raw row.
func (d *decoder) convert(to, raw []byte, width int) {
	p := &d.picture
	if d.form == codec.Labels {
		p.labels(to, raw, width)
		return
	}
	if d.form == codec.Binary {
		p.binary(to, raw, width)
		return
	}
	from := p.channels()
	if from == d.want {
		p.expand(to, raw, width)
		return
	}
	n := width * from * d.size
	d.native = slices.Grow(d.native[:0], n)[:n]
	p.expand(d.native, raw, width)
	if p.depth == 16 {
		mix16(to, d.native, from, d.want)
	} else {
		mix8(to, d.native, from, d.want)
	}
}
