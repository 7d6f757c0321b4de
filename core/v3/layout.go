package v3

import (
	"fmt"
	"slices"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/tensor"
)

// ref is a chunk as this format counts them: which objects of Deep Lake 3 it is made of.
type ref struct {
	tensor  *tensorState
	pieces  []piece
	rows    []rowRun        // sequences: the items of rows; nil: one of each
	tile    *format.TileRef // the chunk is a tile
	refused string          // why it cannot be read; "": it can
}

// piece is consecutive items of an object, or one item that lies in tiles.
type piece struct {
	key     string
	items   int64 // that the object has
	from, n int64 // of them
	mutable bool  // it belongs to a head: its writer may still change it

	inner  []string // the objects of the other tiles
	tiling tiling   // of an item in tiles
}

// tiled reports whether the piece is an item in tiles.
func (p *piece) tiled() bool { return p.tiling.tile != nil }

// name tells the parts of an object apart.
func (r *ref) name() string { return fmt.Sprint(r.pieces) }

// table numbers chunks. Chunks of one object that several commits share have one number.
type table struct {
	refs  map[format.UUID][]*ref
	known map[string]int64
}

// add returns the number of a chunk within the session of its tensor.
func (t *table) add(r *ref) int64 {
	session := r.tensor.session()
	name := ""
	if len(r.pieces) == 1 && r.rows == nil && r.tile == nil {
		name = fmt.Sprint(session, r.pieces[0], r.tensor.kind, r.refused)
		if n, ok := t.known[name]; ok {
			return n
		}
	}
	n := int64(len(t.refs[session]))
	t.refs[session] = append(t.refs[session], r)
	if name != "" {
		t.known[name] = n
	}
	return n
}

// session is the id under which the chunks of the tensor are numbered.
func (s *tensorState) session() format.UUID { return idOf("chunks", s.key) }

// stored is a chunk of the index of a tensor.
type stored struct {
	key   string
	first int64 // item of the tensor
	n     int64
	tiles int64 // of one sample: the chunks that follow are its other tiles
	inner []string
}

// layout makes the entries of the chunk map of a tensor.
type layout struct {
	l      *loader
	table  *table
	commit string
	t      *tensorState
	chunks []stored
	out    []format.Entry
}

// entries returns the entries of a tensor in a commit, as its axis has the rows.
func (l *loader) entries(s *state, t *tensorState, table *table) ([]format.Entry, error) {
	if t.kind.dtype == 0 { // no sample has decided it: rows have none
		return nil, nil
	}
	if t.entries != nil {
		return s.axis.placed(t.entries), nil
	}
	y := &layout{l: l, table: table, commit: s.id, t: t}
	err := y.index()
	if err == nil && t.kind.sequence {
		err = y.sequences()
	} else if err == nil {
		y.plain()
	}
	if err != nil {
		return nil, errs.Wrap(errs.Corrupt, "read", folder(s.id)+t.key+"/chunks_index/unsharded", err)
	}
	t.entries = y.out
	return s.axis.placed(y.out), nil
}

// index finds the object of each chunk, and the samples in tiles.
func (y *layout) index() error {
	next := int64(0)
	rows := y.t.chunks
	for i := 0; i < len(rows); i++ {
		r := rows[i]
		key, err := y.l.locate(y.commit, y.t.key, r.name())
		if err != nil {
			return err
		}
		c := stored{key: key, first: next, n: r.last + 1 - next}
		if c.n == 0 && i > 0 && rasters[y.t.kind.chunk] {
			// A tile, which nothing in a chunk of images tells from a sample.
			return errs.New(errs.Corrupt, "chunk %s has no sample: sample %d has tiles that tiles_index lacks, or the last write was cut short", r.name(), r.last)
		}
		if c.n == 0 {
			continue // a failed write has left it
		}
		next = r.last + 1
		if tiling, ok := y.t.tiles[r.last]; ok && y.t.kind.base == "link" {
			c.tiles = max(1, tiling.count())
		} else if ok && c.n == 1 {
			c.tiles = tiling.count()
			for ; i+1 < len(rows) && rows[i+1].last == r.last; i++ {
				inner, err := y.l.locate(y.commit, y.t.key, rows[i+1].name())
				if err != nil {
					return err
				}
				c.inner = append(c.inner, inner)
			}
			if c.tiles != int64(1+len(c.inner)) || c.tiles > format.MaxSideSlots {
				return errs.New(errs.Corrupt, "sample %d of shape %s has %d tiles of shape %s, want %d", r.last, tiling.sample, 1+len(c.inner), tiling.tile, c.tiles)
			}
		}
		y.chunks = append(y.chunks, c)
	}
	if next != y.t.meta.Length {
		return errs.New(errs.Corrupt, "its chunks have %d samples, tensor_meta.json says %d: the last write was cut short; open an older commit", next, y.t.meta.Length)
	}
	return nil
}

// piece is items of a chunk of the index.
func (y *layout) piece(c *stored, from, n int64) piece {
	_, closed := y.l.tree.version(c.key)
	p := piece{key: c.key, items: c.n, from: from, n: n, mutable: !closed, inner: c.inner}
	if c.tiles > 0 {
		p.tiling = y.t.tiles[c.first]
	}
	return p
}

// add appends an entry of rows that follow the last one.
func (y *layout) add(rows, first, tiles int64, refs ...*ref) {
	e := format.Entry{Rows: rows, First: first, Session: y.t.session(), Tiles: tiles, Bytes: max(1, y.t.size) * max(1, tiles)}
	if n := len(y.out); n > 0 {
		e.Row = y.out[n-1].Row + y.out[n-1].Rows
	}
	for i, r := range refs {
		if r.tensor = y.t; r.refused == "" {
			r.refused = y.t.kind.refused
		}
		if n := y.table.add(r); i == 0 {
			e.Ordinal = n
		}
	}
	y.out = append(y.out, e)
}

// plain makes an entry of each chunk, and of each sample in tiles.
func (y *layout) plain() {
	for i := range y.chunks {
		c := &y.chunks[i]
		if y.t.kind.base == "link" {
			y.links(c)
			continue
		}
		if c.tiles == 0 {
			y.add(c.n, 0, 0, &ref{pieces: []piece{y.piece(c, 0, c.n)}})
			continue
		}
		p := y.piece(c, 0, 1)
		y.add(1, 0, c.tiles, p.grid(y.t)...)
	}
}

// grid makes the chunks of the tiles of an item.
func (p *piece) grid(t *tensorState) []*ref {
	sample, tile := t.kind.threeAxes(p.tiling.sample), t.kind.threeAxes(p.tiling.tile)
	refs := make([]*ref, 1+len(p.inner))
	for k := range refs {
		of := piece{key: p.key, items: 1, n: 1, mutable: p.mutable}
		if k > 0 {
			of.key = p.inner[k-1]
		}
		refs[k] = &ref{tensor: t, pieces: []piece{of}, tile: &format.TileRef{Sample: sample, Tile: tile, Index: int64(k)}}
	}
	return refs
}

// links makes entries of a chunk of links, a few rows each.
func (y *layout) links(c *stored) {
	refused := ""
	switch tiling := y.t.tiles[c.first+c.n-1]; {
	case c.tiles == 0:
	case c.n == 1 && y.t.kind.linked() && c.tiles == tiling.count() && c.tiles <= format.MaxSideSlots:
		// Each link of the grid is a tile; one object lists all.
		sample, tile := y.t.kind.threeAxes(tiling.sample), y.t.kind.threeAxes(tiling.tile)
		refs := make([]*ref, c.tiles)
		for k := range refs {
			p := y.piece(c, 0, 1)
			p.tiling = tiling
			refs[k] = &ref{pieces: []piece{p}, tile: &format.TileRef{Sample: sample, Tile: tile, Index: int64(k)}}
		}
		y.add(1, 0, c.tiles, refs...)
		return
	default:
		refused = "a sample is a grid of links"
	}
	each := c.n
	if y.t.kind.linked() {
		each = linksInChunk
	}
	for from := int64(0); from < c.n; from += each {
		n := min(each, c.n-from)
		y.add(n, 0, 0, &ref{pieces: []piece{y.piece(c, from, n)}, refused: refused})
	}
}

// threeAxes gives images of two axes the axis of their channel.
func (k *kind) threeAxes(s tensor.Shape) tensor.Shape {
	if k.image && len(s) == 2 {
		return tensor.Shape{s[0], s[1], 1}
	}
	return s
}

// rowRun is rows of as many items each.
type rowRun struct{ rows, items int64 }

// rowItems lists the items of each row; nil: one item a row.
func (r *ref) rowItems() (out []int64) {
	for _, u := range r.rows {
		out = slices.Grow(out, int(u.rows))
		for range u.rows {
			out = append(out, u.items)
		}
	}
	return out
}

// run is sequences that lie within one chunk.
type run struct {
	chunk *stored // nil: they have no items
	from  int64   // the first item
	rows  []rowRun
	n     int64 // how many
	empty int64 // of them
	end   int64 // the item behind the last
}

// sequences makes an entry of the sequences within each chunk, and of each one that lies in
// several.
func (y *layout) sequences() error {
	at, next, rows := 0, int64(0), int64(0)
	var open run
	flush := func() {
		if open.n > 0 {
			y.addRun(&open)
		}
		open = run{}
	}
	for _, q := range y.t.sequences {
		if q.items > 0 && q.first != next {
			return errs.New(errs.Corrupt, "sequence %d does not follow the one before", rows)
		}
		for rows <= q.last {
			n := q.last + 1 - rows // sequences of this step
			for at < len(y.chunks) && y.chunks[at].first+y.chunks[at].n <= next {
				at++
			}
			switch {
			case q.items == 0:
				n = min(n, maxSpread-open.empty)
				open.n, open.empty, open.rows = open.n+n, open.empty+n, append(open.rows, rowRun{n, 0})
				if open.empty == maxSpread {
					flush()
				}
			case at == len(y.chunks) || q.items > y.t.meta.Length-next:
				return errs.New(errs.Corrupt, "sequence %d ends at item %d of %d", rows, next+q.items, y.t.meta.Length)
			default:
				c := &y.chunks[at]
				if n = min(n, (c.first+c.n-next)/q.items); n == 0 {
					flush()
					y.addAcross(at, next, q.items)
					n = 1
					break
				}
				if y.t.kind.linked() { // each link is looked at: few together
					n = min(n, max(1, linksInChunk/q.items))
				}
				if open.chunk != nil && (open.chunk != c || y.t.kind.linked() && open.end-open.from+n*q.items > linksInChunk) {
					flush()
				}
				if open.chunk == nil {
					open.chunk, open.from = c, next
				}
				open.n, open.end, open.rows = open.n+n, next+n*q.items, append(open.rows, rowRun{n, q.items})
			}
			next, rows = next+n*q.items, rows+n
		}
	}
	flush()
	if next != y.t.meta.Length {
		return errs.New(errs.Corrupt, "its sequences have %d items, tensor_meta.json says %d", next, y.t.meta.Length)
	}
	return nil
}

// addRun adds the sequences of a run. Items of the chunk in front of them and behind them are rows
// that no entry has.
func (y *layout) addRun(u *run) {
	if u.chunk == nil {
		y.add(u.n, 0, 0, &ref{rows: u.rows})
		return
	}
	if y.t.kind.linked() || y.t.kind.nested() { // their items are converted: no more than needed
		y.add(u.n, 0, 0, &ref{pieces: []piece{y.piece(u.chunk, u.from-u.chunk.first, u.end-u.from)}, rows: u.rows, refused: u.chunk.refused(y.t)})
		return
	}
	r := &ref{pieces: []piece{y.piece(u.chunk, 0, u.chunk.n)}}
	first := int64(0)
	if lead := u.from - u.chunk.first; lead > 0 {
		r.rows, first = append(r.rows, rowRun{1, lead}), 1
	}
	r.rows = append(r.rows, u.rows...)
	if tail := u.chunk.first + u.chunk.n - u.end; tail > 0 {
		r.rows = append(r.rows, rowRun{1, tail})
	}
	y.add(u.n, first, 0, r)
}

// refused says why items of a sequence cannot be read; "": they can.
func (c *stored) refused(t *tensorState) string {
	if c.tiles > 0 && t.kind.base == "link" {
		return "an item of a sequence is a grid of links"
	}
	return ""
}

// addAcross adds a sequence whose items lie in several chunks, from chunk at on.
func (y *layout) addAcross(at int, first, items int64) {
	r := &ref{rows: []rowRun{{1, items}}}
	for end := first + items; first < end; at++ {
		c := &y.chunks[at]
		from := first - c.first
		n := min(c.n-from, end-first)
		r.pieces = append(r.pieces, y.piece(c, from, n))
		if why := c.refused(y.t); why != "" {
			r.refused = why
		}
		first += n
	}
	y.add(1, 0, 0, r)
}
