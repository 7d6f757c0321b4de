package chunk

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"sync/atomic"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
)

// Worker is the scratch memory and the sample decoders of one goroutine, kept from sample to
// sample. It remembers the last block of small samples, so that neighbours are read and checked
// once, and more of them where Keep says so.
type Worker struct {
	codecs   *codec.Registry
	decoders map[codec.ID]codec.Decoder
	stored   []byte // bytes as they lie in the store
	raw      []byte // a block after decompression
	tile     []byte
	run      []byte // files of one DecodeRun
	whole    []byte // pixels of a sample of which a region is wanted
	unturned []byte // pixels of an image as stored

	chunk    *Chunk // whose block is remembered
	block    int
	data     []byte       // its raw bytes, aliasing stored, raw, or borrowed memory
	borrowed bool         // data is prefetched memory
	held     *cachedBlock // that data is memory of

	cache *BlockCache // nil: none

	readAhead    ReadAhead // asked before the store; nil: there is none
	preferMapped bool      // see PreferMapped

	accepts  bool // see AcceptDamage
	accepted []Accepted
}

// NewWorker makes a worker with the codecs of reg.
func NewWorker(reg *codec.Registry) *Worker {
	return &Worker{codecs: reg, decoders: map[codec.ID]codec.Decoder{}}
}

// Close frees the decoders. The worker must not be used after it.
func (w *Worker) Close() {
	w.forget()
	for _, d := range w.decoders {
		d.Close()
	}
	w.decoders = nil
}

// Stored copies the sample in its stored form into dst, len(dst) == ref.Stored. A tiled array comes
// as one array; a tiled sample of a sample codec has no stored form of its own.
func (w *Worker) Stored(ctx context.Context, ref *Ref, dst []byte) error {
	if int64(len(dst)) != ref.Stored {
		return errs.New(errs.Internal, "read a sample of %d bytes into %d bytes", ref.Stored, len(dst))
	}
	if ref.Hole() {
		return errs.New(errs.Internal, "read a row that has no sample")
	}
	if ref.Computed != nil {
		copy(dst, ref.Computed)
		return nil
	}
	if ref.Tiles != nil {
		if ref.Chunk.Index.SampleCodec() != codec.None {
			return errs.New(errs.Unsupported, "the sample is stored in %d tiles, not as one file; read it decoded", len(ref.Tiles))
		}
		return w.tiled(ctx, ref, dst, codec.AsStored)
	}
	if u, ok := ref.Chunk.undecoded[ref.Item]; ok && ref.Items == 1 {
		copy(dst, u.File)
		return nil
	}
	return w.items(ctx, ref.Chunk, ref.Item, ref.Items, dst)
}

// Decode reads, checks and decodes the sample into dst, len(dst) == ref.Size: of a sequence all
// items, one after the other. want is the form that the shape of ref was resolved for.
func (w *Worker) Decode(ctx context.Context, ref *Ref, dst []byte, want codec.Channels) error {
	if int64(len(dst)) != ref.Size {
		return errs.New(errs.Internal, "decode a sample of %d bytes into %d bytes", ref.Size, len(dst))
	}
	if ref.Hole() {
		return errs.New(errs.Internal, "decode a row that has no sample")
	}
	if ref.Computed != nil {
		copy(dst, ref.Computed)
		return nil
	}
	if ref.Tiles != nil {
		return w.tiled(ctx, ref, dst, want)
	}
	if ref.Chunk.Index.SampleCodec() == codec.None {
		return w.items(ctx, ref.Chunk, ref.Item, ref.Items, dst)
	}
	for item := ref.Item; item < ref.Item+ref.Items; item++ {
		n, err := ref.Chunk.Index.Shape(item).Bytes(ref.Chunk.Index.DType())
		if err != nil {
			return err
		}
		if err := w.decodeItem(ctx, ref, ref.Chunk, item, dst[:n], want); err != nil {
			return err
		}
		dst = dst[n:]
	}
	return nil
}

// admit holds the file of an item against the directory of its chunk, before memory of the
// directory's shape is trusted to hold its pixels. A store, or the writer of a dataset, may have
// put another file there.
func (w *Worker) admit(c *Chunk, item int64, data []byte, want codec.Channels) error {
	sc, err := w.codecs.Sample(c.Index.SampleCodec())
	if err != nil {
		return err
	}
	h, err := w.codecs.Header(sc, data, want)
	if err != nil {
		return err
	}
	if d, s := c.Index.DType(), c.Index.Shape(item); !h.Agrees(d, s) {
		return errs.Op("read chunk", c.Key).New(errs.Corrupt, "the %s file of item %d holds %s of shape %s, its directory says %s of shape %s; replace the row", sc.Describe().Name(), item, h.DType, h.Shape, d, s)
	}
	return nil
}

// decodeItem decodes one item of a sample codec, which belongs to the sample ref.
func (w *Worker) decodeItem(ctx context.Context, ref *Ref, c *Chunk, item int64, dst []byte, want codec.Channels) error {
	dec, err := w.decoder(c.Index.SampleCodec())
	if err != nil {
		return err
	}
	if c.Index.Linked() {
		data := w.scratch(c.Index.ItemBytes(item))
		if err := w.link(ctx, c, item, data); err != nil {
			return err
		}
		return w.decodeFile(dec, ref, c, item, dst, data, want)
	}
	block, _ := c.Index.BlockOf(item)
	off, n := c.Index.ItemInBlock(item)
	data, err := w.load(ctx, c, block)
	if err != nil {
		return err
	}
	return w.decodeFile(dec, ref, c, item, dst, data[off:off+n], want)
}

func (w *Worker) decodeFile(dec codec.Decoder, ref *Ref, c *Chunk, item int64, dst, data []byte, want codec.Channels) error {
	if err := w.admit(c, item, data, want); err != nil {
		return err
	}
	decode := func() error {
		want, _ := want.Split()
		return dec.Decode(dst, data, want)
	}
	if o := w.orientation(c, ref, data, want); o.Turned() {
		decode = func() error { return w.decodeTurned(dec, o, c, item, dst, data, want) }
	}
	err := decode()
	if err != nil {
		err = w.accept(dec, ref, err, decode)
	}
	return err
}

// decoder is the worker's decoder of a sample codec.
func (w *Worker) decoder(id codec.ID) (codec.Decoder, error) {
	if dec := w.decoders[id]; dec != nil {
		return dec, nil
	}
	sc, err := w.codecs.Sample(id)
	if err != nil {
		return nil, err
	}
	dec := sc.NewDecoder()
	w.decoders[id] = dec
	return dec, nil
}

// items copies consecutive items into dst.
func (w *Worker) items(ctx context.Context, c *Chunk, item, count int64, dst []byte) error {
	if c.Index.Linked() {
		return w.links(ctx, c, item, count, dst)
	}
	end := item + count
	for item < end {
		block, first := c.Index.BlockOf(item)
		inBlock := c.Index.BlockItems(block)
		last := min(end, first+inBlock)
		if inBlock == last-item && c.Index.BlockCodec() == codec.None {
			// The block is wanted whole and as it lies: no scratch memory in between.
			_, n, _ := c.Index.BlockRange(block)
			data, err := w.borrow(ctx, c, block)
			if err == nil && data == nil {
				err = w.readOrLook(ctx, c, block, dst[:n])
			}
			if err != nil {
				return err
			}
			copy(dst, data)
			dst = dst[n:]
			item = last
			continue
		}
		name := blockName{c, block}
		if inBlock == last-item && name.packed() && !w.cache.takes(name) {
			_, _, raw := c.Index.BlockRange(block)
			if err := w.unpack(ctx, name, dst[:raw]); err != nil {
				return err
			}
			dst, item = dst[raw:], last
			continue
		}
		data, err := w.load(ctx, c, block)
		if err != nil {
			return err
		}
		from, _ := c.Index.ItemInBlock(item)
		tail, n := c.Index.ItemInBlock(last - 1)
		copied := copy(dst, data[from:tail+n])
		dst = dst[copied:]
		item = last
	}
	return nil
}

// load returns the raw bytes of a block, valid until the next call.
func (w *Worker) load(ctx context.Context, c *Chunk, block int) ([]byte, error) {
	if w.chunk == c && w.block == block && w.data != nil {
		return w.data, nil
	}
	w.forget()
	name := blockName{c, block}
	if w.cache.takes(name) {
		held, err := w.cache.load(ctx, name, func(dst []byte) error { return w.fill(ctx, name, dst) })
		if err != nil {
			return nil, err
		}
		if held != nil {
			w.chunk, w.block, w.data, w.held = c, block, held.data, held
			return w.data, nil
		}
	}
	data, borrowed, err := w.loadAnew(ctx, name)
	if err != nil {
		return nil, err
	}
	w.chunk, w.block, w.data, w.borrowed = c, block, data, borrowed
	return data, nil
}

// forget gives up the block that is remembered.
func (w *Worker) forget() {
	w.data, w.borrowed = nil, false
	if w.held != nil {
		w.held.release()
		w.held = nil
	}
}

// fill reads, checks and decompresses a block into dst.
func (w *Worker) fill(ctx context.Context, b blockName, dst []byte) error {
	if b.packed() {
		return w.unpack(ctx, b, dst)
	}
	data, err := w.borrow(ctx, b.chunk, b.block)
	if err != nil {
		return err
	}
	if data == nil {
		return w.readBlock(ctx, b.chunk, b.block, dst)
	}
	copy(dst, data)
	return nil
}

// unpack decodes a compressed block to its place.
func (w *Worker) unpack(ctx context.Context, b blockName, dst []byte) error {
	data, err := w.borrow(ctx, b.chunk, b.block)
	if err != nil {
		return err
	}
	if data == nil {
		_, stored, _ := b.chunk.Index.BlockRange(b.block)
		data = w.scratch(stored)
		if err := w.readBlock(ctx, b.chunk, b.block, data); err != nil {
			return err
		}
	}
	return w.decompress(b, dst, data)
}

func (w *Worker) decompress(b blockName, dst, data []byte) error {
	bc, err := w.codecs.Bytes(b.chunk.Index.BlockCodec())
	if err == nil {
		err = bc.Decode(dst, data)
	}
	return errs.Wrap(errs.Corrupt, "read chunk", b.chunk.Key, err)
}

// loadAnew reads, checks and decompresses a block into memory of the worker. borrowed reports that
// it lies in prefetched memory.
func (w *Worker) loadAnew(ctx context.Context, b blockName) (data []byte, borrowed bool, err error) {
	if data, err = w.borrow(ctx, b.chunk, b.block); err != nil {
		return nil, false, err
	}
	_, stored, raw := b.chunk.Index.BlockRange(b.block)
	borrowed = data != nil
	if !borrowed {
		w.stored = grow(w.stored, stored)
		data = w.stored
		if err := w.readBlock(ctx, b.chunk, b.block, data); err != nil {
			return nil, false, err
		}
	}
	if !b.packed() {
		return data, borrowed, nil
	}
	w.raw = grow(w.raw, raw)
	return w.raw, false, w.decompress(b, w.raw, data)
}

// scratch is memory for n bytes, valid until the next call; the block that was remembered is
// forgotten.
func (w *Worker) scratch(n int64) []byte {
	w.forget()
	w.stored = grow(w.stored, n)
	return w.stored
}

// readBlock reads the stored bytes of a block and checks them.
func (w *Worker) readBlock(ctx context.Context, c *Chunk, block int, dst []byte) error {
	off, _, _ := c.Index.BlockRange(block)
	if err := c.readAt(ctx, dst, off); err != nil {
		return err
	}
	err := checkBlock(c, block, dst)
	if err == nil || !storage.Remote(c.Store) {
		return err
	}
	// Networks damage bytes, and no range of an object has a checksum of its own: request it once
	// more.
	storage.Forget(c.Store, c.Key)
	if err := c.Store.ReadAt(ctx, c.Key, dst, off); err != nil {
		return missing(c.Key, err)
	}
	return checkBlock(c, block, dst)
}

// missing turns the absence of a chunk into damage: the dataset is not whole.
func missing(key string, err error) error {
	if errs.Is(err, errs.NotFound) {
		return errs.Op("read chunk", key).New(errs.Corrupt, "the object is missing from the dataset: %w", err)
	}
	return err
}

// grow returns a slice of n bytes, reusing p where it can.
func grow(p []byte, n int64) []byte {
	if int64(cap(p)) < n {
		return make([]byte, n, n+n/4)
	}
	return p[:n]
}

// Open makes a readable chunk from its encoded directory. origin names its dataset and where that
// lies, for caches that are shared.
func Open(store storage.Provider, origin, key string, rawDir []byte) (*Chunk, error) {
	dir, err := format.DecodeDirectory(rawDir)
	if err != nil {
		return nil, errs.Wrap(errs.Corrupt, "read the directory of chunk", key, err)
	}
	return &Chunk{Store: store, Key: key, ID: identify(origin, key, rawDir), Index: dir.Index(), mapped: new(atomic.Pointer[mappedChunk])}, nil
}

// identify hashes what says which chunk this is: keys are chosen by the writer of a dataset, so
// that another dataset can repeat them. The directory has the shapes and the checksums of blocks.
func identify(origin, key string, rawDir []byte) ID {
	h := sha256.New()
	for _, part := range []string{origin, key} {
		_ = binary.Write(h, binary.LittleEndian, uint64(len(part)))
		_, _ = io.WriteString(h, part)
	}
	_, _ = h.Write(rawDir)
	return ID(h.Sum(nil))
}
