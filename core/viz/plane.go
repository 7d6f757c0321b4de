package viz

import (
	"context"
	"unsafe"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// plane is a picture, or a smaller form of it, that is read tile by tile.
type plane struct {
	one           *sample
	height, width int64 // in pixels of the plane
	factor        int64 // pixels of the picture for one of the plane, along each axis
	down          int64 // by the decoder
	tileH, tileW  int64
	pixel         int64 // bytes
}

// tileKey names a decoded tile: a chunk of a tiled sample, or a part of a sample in one piece.
type tileKey struct {
	chunk chunk.ID
	item  int64
	down  int64
	part  rect
}

const (
	tileBytes = 256 << 20 // decoded tiles that are kept
	pieceSide = 2048      // of the parts in which large files are decoded
	pieceMost = 16 << 20  // bytes of such a part
)

// planeOf chooses the plane for a region; nil: the sample is too large for this.
func planeOf(one *sample, w *chunk.Worker, r rect) (*plane, error) {
	ref := &one.ref
	s := ref.Shape
	p := &plane{one: one, height: s[0], width: s[1], factor: max(one.factor, 1), down: 1, pixel: int64(one.column.DType().Size())}
	for _, n := range s[2:] {
		p.pixel *= n
	}
	switch {
	case p.pixel == 0:
		return nil, errs.New(errs.Type, "read a region of a sample of shape %s, which has no channels", s)
	case ref.Tiles != nil && one.column.Access().DecodeROIs != nil:
		t := ref.Chunk.Index.Tile()
		if t == nil || len(t.Tile) != len(s) || !t.Tile[2:].Equal(s[2:]) {
			return nil, errs.New(errs.Unsupported, "read a region of a sample of shape %s whose tiles divide its channels", s)
		}
		p.tileH, p.tileW = t.Tile[0], t.Tile[1]
	case ref.Stored > mostBytes:
		return nil, nil
	case one.column.Access().DecodeROIs != nil && w.DecodesRegions(ref):
		if w.CanDownscale(ref) {
			for p.down < 8 && r.longer()/(2*p.down*p.factor) >= int64(one.column.want.Pixels) {
				p.down *= 2
			}
			p.factor *= p.down
			p.height, p.width = (s[0]+p.down-1)/p.down, (s[1]+p.down-1)/p.down
		}
		p.tileH, p.tileW = pieceSide, pieceSide
		for p.tileH > 1 && p.tileH*p.tileW*p.pixel > pieceMost {
			p.tileH, p.tileW = p.tileH/2, p.tileW/2
		}
	case ref.Size > mostBytes:
		return nil, nil
	default:
		p.tileH, p.tileW = s[0], s[1]
	}
	if p.tileH*p.tileW*p.pixel > mostBytes || p.source(p.part(r)) > mostSource {
		return nil, nil
	}
	return p, nil
}

// averages reports whether pixels are brightnesses, so that an average is a smaller picture.
func (p *plane) averages() bool {
	d := p.one.column.DType()
	return isPicture(p.one.column.htype) && (d == tensor.Uint8 || d == tensor.Uint16)
}

// part returns the region of the plane for one of the whole picture, rounded outwards.
func (p *plane) part(r rect) rect {
	f := p.factor
	return rect{min(r.top/f, p.height-1), min(r.left/f, p.width-1), min((r.bottom+f-1)/f, p.height), min((r.right+f-1)/f, p.width)}
}

// whole returns the region of the whole picture that a part of the plane shows.
func (p *plane) whole(r rect) []int64 {
	s, f := p.one.whole(), p.factor
	return []int64{r.top * f, r.left * f, min(r.bottom*f, s[0]), min(r.right*f, s[1])}
}

// touched returns the first and the last tile, by row and column, that a region touches.
func (p *plane) touched(r rect) rect {
	return rect{r.top / p.tileH, r.left / p.tileW, (r.bottom - 1) / p.tileH, (r.right - 1) / p.tileW}
}

// source returns the bytes of the tiles that a region touches.
func (p *plane) source(r rect) int64 {
	t := p.touched(r)
	height := min((t.bottom+1)*p.tileH, p.height) - t.top*p.tileH
	width := min((t.right+1)*p.tileW, p.width) - t.left*p.tileW
	return height * width * p.pixel
}

// eachTile decodes the tiles that a region touches, row by row, and gives their parts of it to a
// puzzle.
func (s *Service) eachTile(ctx context.Context, p *plane, r rect, w *chunk.Worker, to puzzle) error {
	sweeps := p.source(r) > sweepBytes
	if sweeps {
		select {
		case s.large <- struct{}{}:
			defer func() { <-s.large }()
		case <-ctx.Done():
			return errs.Cause(ctx, "read region")
		}
	}
	t := p.touched(r)
	var room []byte
	for ty := t.top; ty <= t.bottom; ty++ {
		bottom := min((ty+1)*p.tileH, p.height)
		for tx := t.left; tx <= t.right; tx++ {
			if ctx.Err() != nil {
				return errs.Cause(ctx, "read region")
			}
			at := rect{ty * p.tileH, tx * p.tileW, bottom, min((tx+1)*p.tileW, p.width)}
			pix, err := s.tile(ctx, p, at, w, sweeps, &room)
			if err != nil {
				return err
			}
			in := rect{max(at.top, r.top), max(at.left, r.left), min(at.bottom, r.bottom), min(at.right, r.right)}
			stride := at.width() * p.pixel
			to.add(pix[(in.top-at.top)*stride+(in.left-at.left)*p.pixel:], stride, in.top-r.top, in.left-r.left, in.height(), in.width())
		}
		to.done(min(bottom, r.bottom) - r.top)
	}
	return nil
}

// tile returns the pixels of a tile. A sweep over many tiles finds them in the cache, but leaves
// none there; it decodes into room.
func (s *Service) tile(ctx context.Context, p *plane, at rect, w *chunk.Worker, sweeps bool, room *[]byte) ([]byte, error) {
	ref := &p.one.ref
	size := at.height() * at.width() * p.pixel
	decode := func(dst []byte) error {
		space := s.spaces.Borrow()
		defer s.spaces.Return(space)
		region := codec.Region{X: int(at.left), Y: int(at.top), Width: int(at.width()), Height: int(at.height()), Downscale: int(p.down), Fast: p.down > 1}
		return decodeRegion(ctx, p.one, w, codec.ROI{Region: region, To: &copier{dst: dst, row: int(at.width() * p.pixel)}}, space)
	}
	var key tileKey
	if ref.Chunk != nil {
		key = tileKey{ref.Chunk.ID, ref.Item, p.down, at}
		if pix, ok := s.tiles.Get(key); ok {
			return pix, nil
		}
	}
	if ref.Chunk == nil || sweeps {
		if int64(cap(*room)) < size {
			*room = make([]byte, size)
		}
		return (*room)[:size], decode((*room)[:size])
	}
	return s.tiles.Load(ctx, key, func() ([]byte, int64, error) {
		pix := make([]byte, size)
		return pix, size + 128, decode(pix)
	})
}

// copier copies the pixels of a region.
type copier struct {
	dst []byte
	row int // bytes
}

// Deliver copies row by row.
func (t *copier) Deliver(pix []byte, stride int) error {
	for at, from := 0, 0; at < len(t.dst); at, from = at+t.row, from+stride {
		if len(pix)-from < t.row {
			return errs.New(errs.Internal, "a region of %d bytes comes with %d", len(t.dst), len(pix))
		}
		copy(t.dst[at:at+t.row], pix[from:])
	}
	return nil
}

// Native returns nil: Deliver copies the pixels.
func (t *copier) Native() (call, arg unsafe.Pointer) { return nil, nil }
