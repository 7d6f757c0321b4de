package litdata

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/klauspost/compress/zstd"

	"deeplake/core/errs"
)

const (
	// maxItems bounds the items of a chunk, whose offsets have 32 bits.
	maxItems = 1 << 28
	// maxItem bounds an item.
	maxItem = 1 << 30
	// firstBytes are allocated before any byte of an item is there.
	firstBytes = 1 << 20
	// windowBytes bounds the memory of a compressed chunk.
	windowBytes = 128 << 20

	framedMagic = "LDFZ01\x00\x00"
	zstdMagic   = "\x28\xb5\x2f\xfd"
	footerMagic = "LDARW01\x00"
)

// FooterBytes is the size of what Footer reads: the end of a chunk.
const FooterBytes = 12

// Footer returns the size of the Arrow file that lies before the last FooterBytes of a chunk; 0:
// there is none. Its rows are the items, in place of those that precede it.
func Footer(end []byte, size int64) (int64, error) {
	if len(end) != FooterBytes || string(end[4:]) != footerMagic {
		return 0, nil
	}
	n := int64(binary.LittleEndian.Uint32(end))
	if n == 0 || n > size-FooterBytes {
		return 0, errs.New(errs.Corrupt, "its Arrow file has %d bytes, and the chunk %d", n, size)
	}
	return n, nil
}

// chunk reads a chunk from its beginning.
type chunk struct {
	from     *bufio.Reader
	index    *Index
	offsets  []uint32
	n        int64 // items that were read
	frames   []frame
	frameEnd int64            // the item behind the open frame
	left     io.LimitedReader // of the open frame
	body     io.Reader        // of the items
	unpacker *zstd.Decoder    // nil: not needed so far
}

// frame is a compressed run of items.
type frame struct {
	items        int64
	skip, stored int64 // bytes of the file in front of it, and of it
}

// openChunk reads what precedes the items. The first bytes tell the layout. The chunk must
// be closed, with an error too.
func openChunk(from io.Reader, index *Index) (*chunk, error) {
	c := &chunk{from: bufio.NewReaderSize(from, 64<<10), index: index}
	head, err := c.from.Peek(8)
	if err != nil && !errors.Is(err, io.EOF) {
		return c, err
	}
	if bytes.HasPrefix(head, []byte(zstdMagic)) { // no chunk has as many items as this number
		if err := c.unpack(c.from); err != nil {
			return c, err
		}
		c.from = bufio.NewReaderSize(damaged{c.unpacker}, 64<<10)
	}
	c.body = c.from
	if string(head) == framedMagic {
		return c, c.openFramed()
	}
	return c, c.openClassic()
}

// unpack begins to decompress a stream.
func (c *chunk) unpack(from io.Reader) (err error) {
	if c.unpacker == nil {
		c.unpacker, err = zstd.NewReader(from, zstd.WithDecoderMaxWindow(windowBytes), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	} else {
		err = c.unpacker.Reset(from)
	}
	return errs.Wrap(errs.Corrupt, "decompress", "", err)
}

// close ends the use of the chunk.
func (c *chunk) close() {
	if c.unpacker != nil {
		c.unpacker.Close()
	}
}

// damaged decompresses bytes. Errors of the store keep their kind.
type damaged struct{ io.Reader }

func (r damaged) Read(dst []byte) (int, error) {
	n, err := r.Reader.Read(dst)
	if err != nil && !errors.Is(err, io.EOF) && errs.KindOf(err) == errs.Internal {
		err = errs.New(errs.Corrupt, "its Zstandard is damaged or cut: %w", err)
	}
	return n, err
}

// words reads numbers of 32 bits into memory that grows with them.
func (c *chunk) words(n int64, within string) (out []uint32, err error) {
	var word [4]byte
	for range n {
		if _, err := io.ReadFull(c.from, word[:]); err != nil {
			return nil, cut(err, within)
		}
		out = append(out, binary.LittleEndian.Uint32(word[:]))
	}
	return out, nil
}

// readOffsets reads the places of n items, of which the first one is known.
func (c *chunk) readOffsets(n, first int64) (err error) {
	if n > maxItems {
		return errs.New(errs.Corrupt, "it states %d items, want at most %d; this is no chunk of LitData, or it is damaged", n, maxItems)
	}
	if c.offsets, err = c.words(n+1, "its offsets"); err != nil {
		return err
	}
	if at := int64(c.offsets[0]); at != first {
		return errs.New(errs.Corrupt, "item 0 begins at byte %d, want %d; this is no chunk of LitData, or it is damaged", at, first)
	}
	for i, at := range c.offsets[1:] {
		if at < c.offsets[i] {
			return errs.New(errs.Corrupt, "item %d ends at byte %d, and begins at %d", i, at, c.offsets[i])
		}
	}
	return nil
}

func (c *chunk) openClassic() error {
	n, err := c.words(1, "its number of items")
	if err != nil {
		return err
	}
	if err := c.readOffsets(int64(n[0]), 4*(int64(n[0])+2)); err != nil {
		return err
	}
	if last := len(c.offsets) - 1; last > 0 && c.offsets[last] == c.offsets[0] && len(c.index.Leaves) > 0 && !c.index.Tokens {
		return errs.New(errs.Corrupt, "its items have no bytes, and it is cut within the Arrow file that has them")
	}
	return nil
}

// openFramed reads the directory of a chunk with compressed runs of items.
func (c *chunk) openFramed() error {
	// magic; version and flags; items; items of a frame; frames
	head, err := c.words(6, "its head")
	if err != nil {
		return err
	}
	if head[2] != 1 {
		return errs.New(errs.Unsupported, "its frames have version %d and flags %d, want 1 and 0", head[2]&0xffff, head[2]>>16)
	}
	n, frames := int64(head[3]), int64(head[5])
	if err := c.readOffsets(n, 0); err != nil {
		return err
	}
	if frames > n {
		return errs.New(errs.Corrupt, "it states %d frames of %d items", frames, n)
	}
	at, items := int64(24)+4*(n+1)+24*frames, int64(0)
	for i := range frames {
		w, err := c.words(6, "its frames")
		if err != nil {
			return err
		}
		count, off, stored := int64(w[1]), int64(w[2])|int64(w[3])<<32, int64(w[4])
		if int64(w[0]) != items || count == 0 || count > n-items || off < at {
			return errs.New(errs.Corrupt, "frame %d has %d items from item %d at byte %d, want some from item %d at byte %d or later", i, count, w[0], off, items, at)
		}
		if size := c.offsets[items+count] - c.offsets[items]; size != w[5] {
			return errs.New(errs.Corrupt, "frame %d has %d bytes, and its items %d", i, w[5], size)
		}
		c.frames = append(c.frames, frame{items: count, skip: off - at, stored: stored})
		at, items = off+stored, items+count
	}
	if items != n {
		return errs.New(errs.Corrupt, "its frames have %d items, want %d", items, n)
	}
	return nil
}

// cut returns the error of a read. The end of the chunk is damage.
func cut(err error, within string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errs.New(errs.Corrupt, "it is cut within %s", within)
	}
	return err
}

// item names an item.
func item(n int64) string { return "item " + strconv.FormatInt(n, 10) }

// next returns the bytes of the next item; ok is false behind the last one. An item that cannot be
// decompressed gives an error and ok.
func (c *chunk) next() (p []byte, ok bool, err error) {
	if ok, err := c.open(0); !ok || err != nil {
		return nil, false, err
	}
	size := int64(c.offsets[c.n+1]) - int64(c.offsets[c.n])
	if size > maxItem {
		return nil, false, errs.New(errs.Invalid, "%s has %d bytes, want at most %d", item(c.n), size, maxItem)
	}
	if p, err = readUpTo(c.body, size); err == nil && int64(len(p)) < size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, false, cut(err, item(c.n))
	}
	c.n++
	if c.index.Packed {
		p, err = c.unpacked(p)
	}
	return p, true, err
}

// unpacked decompresses an item.
func (c *chunk) unpacked(p []byte) ([]byte, error) {
	if err := c.unpack(bytes.NewReader(p)); err != nil {
		return nil, err
	}
	out, err := readUpTo(damaged{c.unpacker}, maxItem+1)
	if err != nil {
		return nil, errs.New(errs.Corrupt, "cannot be decompressed: %w", err)
	}
	if len(out) > maxItem {
		return nil, errs.New(errs.Invalid, "has more than %d bytes", maxItem)
	}
	return out, nil
}

// readUpTo reads size bytes, or up to the end, into memory that grows with them.
func readUpTo(from io.Reader, size int64) (p []byte, err error) {
	for size > 0 {
		step := min(size, max(firstBytes, int64(len(p))))
		if int64(len(p)) == 0 {
			step = min(step, 64<<10)
		}
		at := len(p)
		p = slices.Grow(p, int(step))[:at+int(step)]
		n, err := io.ReadFull(from, p[at:])
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return p[:at+n], nil
		}
		if err != nil {
			return nil, err
		}
		size -= step
	}
	return p, nil
}

// open makes the next item ready, and opens its frame. Frames that end before item from are passed
// over. ok is false behind the last item.
func (c *chunk) open(from int64) (ok bool, err error) {
	for len(c.frames) > 0 && c.n == c.frameEnd {
		f := c.frames[0]
		c.frames = c.frames[1:]
		if err := c.discard(c.left.N + f.skip); err != nil {
			return false, err
		}
		c.frameEnd += f.items
		c.left = io.LimitedReader{R: c.from, N: f.stored}
		if c.frameEnd <= from {
			c.n = c.frameEnd
			continue
		}
		if err := c.unpack(&c.left); err != nil {
			return false, err
		}
		c.body = damaged{c.unpacker}
	}
	return c.n+1 < int64(len(c.offsets)), nil
}

// discard passes over bytes of the file.
func (c *chunk) discard(n int64) error {
	_, err := io.CopyN(io.Discard, c.from, n)
	return cut(err, "the bytes in front of "+item(c.n))
}

// skip passes over the next item; ok is false behind the last one. From is the first item that is
// wanted.
func (c *chunk) skip(from int64) (ok bool, err error) {
	if ok, err := c.open(from); !ok || err != nil || c.n >= from {
		return ok, err
	}
	if _, err := io.CopyN(io.Discard, c.body, int64(c.offsets[c.n+1])-int64(c.offsets[c.n])); err != nil {
		return false, cut(err, item(c.n))
	}
	c.n++
	return true, nil
}

// divide returns the values of an item: their sizes come first.
func (x *Index) divide(p []byte) ([][]byte, error) {
	if x.Tokens {
		return [][]byte{p}, nil
	}
	head := 4 * len(x.Leaves)
	if len(p) < head {
		return nil, errs.New(errs.Corrupt, "has %d bytes for the sizes of %d values", len(p), len(x.Leaves))
	}
	sizes, p := p[:head], p[head:]
	values := make([][]byte, len(x.Leaves))
	for i := range values {
		n := int64(binary.LittleEndian.Uint32(sizes[4*i:]))
		if n > int64(len(p)) {
			return nil, errs.New(errs.Corrupt, "has %d bytes for the value %q, and %d are left", n, x.Leaves[i].Name, len(p))
		}
		values[i], p = p[:n:n], p[n:]
	}
	if len(p) > 0 {
		return nil, errs.New(errs.Corrupt, "has %d bytes behind its values", len(p))
	}
	return values, nil
}
