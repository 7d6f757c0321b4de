package format

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Pieces is a leaf page of chunks that lie in many pieces, as scattered updates leave them. Its
// places follow each other without a gap: pieces of chunks, and rows without a sample between them.
type Pieces struct {
	Rows  []int64  // the first row of each place, and the row behind the last place
	Items []int64  // of each place, the item of its first row in the chunk; 0 without a sample
	Refs  []uint16 // of each place, an index into Chunks, or NoSample
	// Chunks are in order of their first pieces; Row, Rows and First are those of that piece.
	Chunks []Entry
}

// NoSample is the ref of rows without a sample.
const NoSample = math.MaxUint16

// Columns of a page of pieces that a leaf page does not have. One value a place: refs; one a chunk:
// steady.
const (
	colRefs   = colEnd
	colSteady = colEnd + 1
	colLast   = colEnd + 2
)

// Values of the column of refs. Larger ones are pieces of the chunk of that number, minus refKnown.
const (
	refNext  = iota // the first piece of the next chunk
	refHole         // rows without a sample
	refKnown        // another piece of the first chunk
)

// EncodePieces makes a page of pieces, frame included. One that DecodePieces would not take is
// errs.Invalid.
func EncodePieces(p Pieces) ([]byte, error) {
	payload, cuts, err := encodePieces(p)
	if err != nil {
		return nil, refused("page of pieces", err)
	}
	codec, stored := packParts(payload, cuts)
	return sealFrame(KindPieces, codec, stored, len(payload))
}

// DecodePieces is the strict inverse of EncodePieces. Nothing in the result is shared with data.
func DecodePieces(data []byte) (Pieces, error) {
	payload, err := DecodeFrame(KindPieces, data)
	if err != nil {
		return Pieces{}, err
	}
	p, err := decodePieces(payload)
	return p, damaged("page of pieces", err)
}

// HasPieces reports whether data claims to be a page of pieces, not a leaf page.
func HasPieces(data []byte) bool {
	return len(data) >= FrameHeadBytes && Kind(data[4]) == KindPieces
}

// steps are predictions of the items of places, from the piece before of the same chunk.
type steps struct {
	p    *Pieces
	last []int // of each chunk, the last place; -1: none yet
}

func newSteps(p *Pieces, chunks int) steps {
	s := steps{p: p, last: make([]int, chunks)}
	for i := range s.last {
		s.last[i] = -1
	}
	return s
}

// next predicts the item of a place: the next one of the chunk, and the one as far from the last
// piece as the rows are. first is true for the first piece of a chunk, which begins at 0.
func (s *steps) next(place int) (follows, steady int64, first bool) {
	ref := s.p.Refs[place]
	at := s.last[ref]
	s.last[ref] = place
	if at < 0 {
		return 0, 0, true
	}
	rows, item := s.p.Rows, s.p.Items[at]
	return item + rows[at+1] - rows[at], item + rows[place] - rows[at], false
}

// steady returns 1 for each chunk of which more items are found by the distance of rows than by
// the end of the last piece: updates have taken rows out of it. It is 0 for the chunks of updates.
func (p *Pieces) steady() []int64 {
	out := make([]int64, len(p.Chunks))
	s := newSteps(p, len(p.Chunks))
	for i, ref := range p.Refs {
		if ref == NoSample {
			continue
		}
		follows, steady, first := s.next(i)
		if first {
			continue
		}
		if p.Items[i] == steady {
			out[ref]++
		}
		if p.Items[i] == follows {
			out[ref]--
		}
	}
	for i, n := range out {
		out[i] = min(max(n, 0), 1)
	}
	return out
}

// check validates the places and the chunks together. Encoder and decoder call it.
func (p *Pieces) check() error {
	n := len(p.Refs)
	switch {
	case n < 1 || n > MaxPieces:
		return fmt.Errorf("%d places, want 1 to %d", n, MaxPieces)
	case len(p.Chunks) < 1 || len(p.Chunks) > MaxPageEntries:
		return fmt.Errorf("%d chunks, want 1 to %d", len(p.Chunks), MaxPageEntries)
	case len(p.Rows) != n+1 || len(p.Items) != n:
		return fmt.Errorf("%d rows and %d items of %d places", len(p.Rows), len(p.Items), n)
	case p.Refs[0] == NoSample || p.Refs[n-1] == NoSample:
		return errors.New("the first or the last rows have no sample")
	}
	at, seen := p.Rows[0], 0
	for i, ref := range p.Refs {
		rows := p.Rows[i+1] - p.Rows[i]
		if err := checkRange(p.Rows[i], rows, at); err != nil {
			return fmt.Errorf("place %d: %w", i, err)
		}
		at = p.Rows[i+1]
		if ref == NoSample {
			if p.Items[i] != 0 || p.Refs[i-1] == NoSample {
				return fmt.Errorf("place %d: rows without a sample have an item, or follow others", i)
			}
			continue
		}
		if int(ref) > seen || int(ref) >= len(p.Chunks) || p.Items[i] < 0 || p.Items[i] > MaxRows {
			return fmt.Errorf("place %d: item %d of chunk %d, of %d", i, p.Items[i], ref, len(p.Chunks))
		}
		e := &p.Chunks[ref]
		switch {
		case int(ref) == seen:
			seen++
			if e.Row != p.Rows[i] || e.Rows != rows || e.First != p.Items[i] {
				return fmt.Errorf("chunk %d begins at row %d, its first place at row %d", ref, e.Row, p.Rows[i])
			}
			if err := e.check(); err != nil {
				return fmt.Errorf("chunk %d: %w", ref, err)
			}
		case e.Tiles > 0:
			return fmt.Errorf("place %d: a second piece of a sample in tiles", i)
		}
	}
	if seen < len(p.Chunks) {
		return fmt.Errorf("%d chunks have a place, want %d", seen, len(p.Chunks))
	}
	return nil
}

// encodePieces returns the payload, and where parts of it begin that are unlike each other.
func encodePieces(p Pieces) (payload []byte, cuts []int, err error) {
	if err := p.check(); err != nil {
		return nil, nil, err
	}
	w := newLeafWriter()
	for i := range p.Chunks {
		w.chunk(&p.Chunks[i])
	}
	steady := p.steady()
	for _, v := range steady {
		w.put(colSteady, v, false)
	}
	s := newSteps(&p, len(p.Chunks))
	rows, seen := make([]int64, len(p.Refs)), 0
	for i, ref := range p.Refs {
		rows[i] = p.Rows[i+1] - p.Rows[i]
		if ref == NoSample {
			w.put(colRefs, refHole, false)
			w.put(colFirst, 0, true)
			continue
		}
		if int(ref) == seen {
			seen++
			w.put(colRefs, refNext, false)
		} else {
			w.put(colRefs, refKnown+int64(ref), false)
		}
		item, far, _ := s.next(i)
		if steady[ref] == 1 {
			item = far
		}
		w.put(colFirst, p.Items[i]-item, true)
	}
	w.rows(rows)
	out := appendUvarint(nil, int64(len(p.Refs)))
	out = appendUvarint(out, int64(len(p.Chunks)))
	out = appendUvarint(out, p.Rows[0])
	out = w.appendTo(out)
	end := len(out)
	for col := colLast - 1; col > 0; col-- { // bodies stand at the end, in order
		if !w.used[col] {
			continue
		}
		end -= len(w.bodies[col])
		cuts = append(cuts, end)
		if col == colRows { // a part for each plane
			for at := end + len(w.bodies[col]) - len(p.Refs); at > end; at -= len(p.Refs) {
				cuts = append(cuts, at)
			}
		}
	}
	slices.Sort(cuts)
	return out, cuts, nil
}

func decodePieces(payload []byte) (p Pieces, err error) {
	r := reader{b: payload}
	places := r.count(MaxPieces, 1, "places")
	n := r.count(min(MaxPageEntries, places), 1, "chunks")
	row := r.uvarint(MaxRows, "first row")
	sessions := r.uuids(n, "sessions")
	sides := r.uuids(n, "side pages")
	cols, err := r.columns(colLast)
	if err != nil {
		return p, err
	}
	if places == 0 || n == 0 || len(sessions) == 0 {
		return p, errors.New("no places, no chunks or no sessions")
	}
	rows, err1 := cols.scattered(colRows, places)
	bytes, err2 := cols.scattered(colBytes, n)
	if err := first(err1, err2); err != nil {
		return p, err
	}
	p = Pieces{Rows: make([]int64, places+1), Items: make([]int64, places), Refs: make([]uint16, places), Chunks: make([]Entry, n)}
	var prev *Entry
	steady := make([]int64, n)
	for i := range p.Chunks {
		e := &p.Chunks[i]
		e.Bytes = bytes[i]
		if err := cols.chunk(e, prev, sessions, sides); err != nil {
			return p, fmt.Errorf("chunk %d: %w", i, err)
		}
		steady[i] = cols.unsigned(colSteady, 1)
		prev = e
	}
	if err := cols.places(&p, row, rows, steady); err != nil {
		return p, err
	}
	if cols.present[colGap] {
		return p, errors.New("a page of pieces has a column of gaps")
	}
	if err := first(cols.end(), p.check()); err != nil {
		return p, err
	}
	if !slices.Equal(steady, p.steady()) {
		return p, errors.New("the items of a chunk are coded the longer way")
	}
	return p, nil
}

// places sets the places. check validates the sums.
func (c *columns) places(p *Pieces, row int64, rows, steady []int64) error {
	s, seen := newSteps(p, len(p.Chunks)), 0
	for i := range p.Refs {
		p.Rows[i] = row
		if err := checkRange(row, rows[i], 0); err != nil {
			return fmt.Errorf("place %d: %w", i, err)
		}
		row += rows[i]
		p.Rows[i+1] = row
		ref, item := c.unsigned(colRefs, int64(len(p.Chunks)-1)+refKnown), c.signed(colFirst)
		switch ref {
		case refHole:
			p.Refs[i], p.Items[i] = NoSample, item
			continue
		case refNext:
			if seen == len(p.Chunks) {
				return fmt.Errorf("place %d is of chunk %d, of %d", i, seen, len(p.Chunks))
			}
			p.Refs[i] = uint16(seen)
			e := &p.Chunks[seen]
			e.Row, e.Rows, e.First = p.Rows[i], rows[i], item
			seen++
		default:
			if p.Refs[i] = uint16(ref - refKnown); int(p.Refs[i]) >= seen {
				return fmt.Errorf("place %d is of chunk %d, of %d so far", i, p.Refs[i], seen)
			}
		}
		follows, far, _ := s.next(i)
		if steady[p.Refs[i]] == 1 {
			follows = far
		}
		if p.Items[i] = follows + item; item < -MaxRows || item > MaxRows || p.Items[i] < 0 || p.Items[i] > MaxRows {
			return fmt.Errorf("place %d has item %d, want 0 to %d", i, p.Items[i], int64(MaxRows))
		}
	}
	return nil
}
