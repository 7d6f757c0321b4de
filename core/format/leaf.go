package format

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"deeplake/core/errs"
)

// Ids of the columns of a leaf page.
const (
	colGap = iota + 1
	colRows
	colFirst
	colSession
	colOrdinal
	colBytes
	colSide
	colSlot
	colTiles
	colStats
	colEnd
)

// EncodeLeaf makes a leaf page, frame included. Entries that DecodeLeaf would not take are
// errs.Invalid.
func EncodeLeaf(l Leaf) ([]byte, error) {
	payload, err := encodeLeaf(l)
	if err != nil {
		return nil, refused("leaf page", err)
	}
	codec, stored := packParts(payload, planeCuts(payload, int64(len(l.Entries))))
	return sealFrame(KindLeaf, codec, stored, len(payload))
}

// planeCuts are the places in a payload where planes of bytes begin and end: the lower ones are
// random, the upper ones are not, and each is best compressed by itself.
func planeCuts(payload []byte, n int64) []int {
	r := reader{b: payload}
	r.count(MaxPageEntries, 1, "entries")
	r.uvarint(MaxRows, "first row")
	r.uuids(n, "sessions")
	r.uuids(n, "side pages")
	cols, err := r.columns(colEnd)
	if err != nil {
		return nil
	}
	var cuts []int
	end := len(payload)
	for col := colEnd - 1; col > 0; col-- { // bodies stand at the end, in order
		size := len(cols.body[col].b)
		if col == colRows || col == colBytes {
			for at := end; at > end-size && int64(end-at) <= 8*n && at >= 0; at -= int(n) {
				cuts = append(cuts, at)
			}
		}
		end -= size
	}
	slices.Sort(cuts)
	return cuts
}

// DecodeLeaf is the strict inverse of EncodeLeaf. Nothing in the result is shared with data.
func DecodeLeaf(data []byte) (Leaf, error) {
	payload, err := DecodeFrame(KindLeaf, data)
	if err != nil {
		return Leaf{}, err
	}
	l, err := decodeLeaf(payload)
	return l, damaged("leaf page", err)
}

// End is the row behind the last entry, 0 without entries.
func (l Leaf) End() int64 {
	if n := len(l.Entries); n > 0 {
		return l.Entries[n-1].Row + l.Entries[n-1].Rows
	}
	return 0
}

// step returns the number of ordinals and slots of an entry.
func (e *Entry) step() int64 { return max(1, e.Tiles) }

// predict guesses ordinal and slot of an entry from the one before it, since a writer numbers its
// chunks as it goes. prev is nil for the first entry.
func predict(prev, e *Entry) (ordinal, slot int64) {
	if prev == nil {
		return 0, 0
	}
	if prev.Session == e.Session {
		ordinal = prev.Ordinal + prev.step()
	}
	if prev.Side == e.Side && !e.Side.IsZero() {
		slot = prev.Slot + prev.step()
	}
	return ordinal, slot
}

// names numbers uuids in order of first appearance.
type names struct {
	index map[UUID]int64
	list  []UUID
}

func (t *names) of(u UUID) int64 {
	i, ok := t.index[u]
	if !ok {
		i = int64(len(t.list))
		t.index[u] = i
		t.list = append(t.list, u)
	}
	return i
}

func encodeLeaf(l Leaf) ([]byte, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	w := newLeafWriter()
	rows := make([]int64, len(l.Entries))
	end := l.Entries[0].Row
	for i := range l.Entries {
		e := &l.Entries[i]
		w.put(colGap, e.Row-end, false)
		w.put(colFirst, e.First, false)
		w.chunk(e)
		rows[i] = e.Rows
		end = e.Row + e.Rows
	}
	w.rows(rows)
	out := appendUvarint(nil, int64(len(l.Entries)))
	out = appendUvarint(out, l.Entries[0].Row)
	return w.appendTo(out), nil
}

// leafWriter collects the columns of a leaf page.
type leafWriter struct {
	sessions, sides names
	bodies          [colLast][]byte
	used            [colLast]bool
	bytes           []int64
	prev            *Entry // the last chunk
}

func newLeafWriter() *leafWriter {
	return &leafWriter{sessions: names{index: map[UUID]int64{}}, sides: names{index: map[UUID]int64{}}}
}

// put adds a value to a column.
func (w *leafWriter) put(col int, v int64, signed bool) {
	w.used[col] = w.used[col] || v != 0
	if signed {
		w.bodies[col] = appendSvarint(w.bodies[col], v)
	} else {
		w.bodies[col] = appendUvarint(w.bodies[col], v)
	}
}

// chunk adds what an entry says of its chunk.
func (w *leafWriter) chunk(e *Entry) {
	ordinal, slot := predict(w.prev, e)
	side := int64(0)
	if !e.Side.IsZero() {
		side = w.sides.of(e.Side) + 1
	}
	w.put(colSession, w.sessions.of(e.Session), false)
	w.put(colOrdinal, e.Ordinal-ordinal, true)
	w.bytes = append(w.bytes, e.Bytes)
	w.used[colBytes] = w.used[colBytes] || e.Bytes != 0
	w.put(colSide, side, false)
	w.put(colSlot, e.Slot-slot, true)
	w.put(colTiles, e.Tiles, false)
	stats := e.Stats.append(nil)
	w.put(colStats, int64(len(stats)), false)
	w.bodies[colStats] = append(w.bodies[colStats], stats...)
	w.prev = e
}

// rows sets the numbers of rows of entries or places.
func (w *leafWriter) rows(rows []int64) {
	w.used[colRows] = true
	w.bodies[colRows] = appendPlanes(nil, rows)
}

// appendTo appends all that follows the first row. Nothing may be added after it.
func (w *leafWriter) appendTo(b []byte) []byte {
	w.bodies[colBytes] = appendPlanes(nil, w.bytes)
	return appendColumns(appendUUIDs(appendUUIDs(b, w.sessions.list), w.sides.list), w.bodies[:], w.used[:])
}

func appendUUIDs(b []byte, list []UUID) []byte {
	b = appendUvarint(b, int64(len(list)))
	for _, u := range list {
		b = append(b, u[:]...)
	}
	return b
}

// appendColumns appends the table of columns and their bodies.
func appendColumns(b []byte, bodies [][]byte, used []bool) []byte {
	n := int64(0)
	for _, u := range used {
		if u {
			n++
		}
	}
	b = appendUvarint(b, n)
	for col, u := range used {
		if u {
			b = appendUvarint(append(b, byte(col)), int64(len(bodies[col])))
		}
	}
	for col, u := range used {
		if u {
			b = append(b, bodies[col]...)
		}
	}
	return b
}

// check validates a leaf. Encoder and decoder call it.
func (l Leaf) check() error {
	if n := len(l.Entries); n < 1 || n > MaxPageEntries {
		return fmt.Errorf("%d entries, want 1 to %d", n, MaxPageEntries)
	}
	at := int64(0)
	for i := range l.Entries {
		e := &l.Entries[i]
		if err := first(checkRange(e.Row, e.Rows, at), e.check()); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		at = e.Row + e.Rows
	}
	return nil
}

func (e *Entry) check() error {
	switch {
	case e.First < 0 || e.First > MaxRows:
		return fmt.Errorf("first item is %d, want 0 to %d", e.First, int64(MaxRows))
	case e.Ordinal < 0 || e.Ordinal > MaxRows:
		return fmt.Errorf("ordinal is %d, want 0 to %d", e.Ordinal, int64(MaxRows))
	case e.Bytes < 0 || e.Bytes > MaxObjectBytes:
		return fmt.Errorf("%d bytes, want 0 to %d", e.Bytes, int64(MaxObjectBytes))
	case e.Slot < 0 || e.Slot >= MaxSideSlots || (e.Side.IsZero() && e.Slot != 0):
		return fmt.Errorf("slot is %d, want 0 to %d, and 0 without a side page", e.Slot, MaxSideSlots-1)
	case e.Tiles < 0 || e.Tiles > MaxSideSlots:
		return fmt.Errorf("%d tiles, want 0 to %d", e.Tiles, MaxSideSlots)
	case e.Tiles > 0 && (e.Rows != 1 || e.First != 0):
		return fmt.Errorf("tiles for %d rows from item %d, want 1 from 0", e.Rows, e.First)
	case e.Session.IsZero():
		return errors.New("session is zero")
	}
	return e.Stats.check()
}

func decodeLeaf(payload []byte) (Leaf, error) {
	r := reader{b: payload}
	// Entries that differ in nothing take no bytes each.
	n := r.uvarint(MaxPageEntries, "entries")
	row := r.uvarint(MaxRows, "first row")
	sessions := r.uuids(n, "sessions")
	sides := r.uuids(n, "side pages")
	cols, err := r.columns(colEnd)
	if err != nil {
		return Leaf{}, err
	}
	if n == 0 || len(sessions) == 0 {
		return Leaf{}, errors.New("no entries or no sessions")
	}
	l := Leaf{Entries: make([]Entry, n)}
	if err := cols.fill(l.Entries, row, sessions, sides); err != nil {
		return Leaf{}, err
	}
	return l, l.check()
}

func (r *reader) uuids(limit int64, what string) []UUID {
	list := make([]UUID, r.count(limit, 16, what))
	for i := range list {
		if list[i] = r.uuid(what); list[i].IsZero() {
			r.fail("%s: a uuid is zero", what)
		}
	}
	return list
}

// columns are the bodies by id; one that is left out has present false and yields zeros.
type columns struct {
	body    [colLast]reader
	present [colLast]bool
	nonzero [colLast]bool
}

// columns reads the columns, whose ids are below end.
func (r *reader) columns(end byte) (*columns, error) {
	c := &columns{}
	n := r.count(math.MaxUint8, 2, "columns")
	last := byte(0)
	var ids [colLast]byte
	var sizes [colLast]int64
	for i := range n {
		id := r.byte("column id")
		if r.err != nil {
			return nil, r.err
		}
		if id >= end {
			return nil, errs.New(errs.Unsupported, "column %d is not known; a newer version of this library may read it", id)
		}
		if id <= last {
			return nil, fmt.Errorf("column %d stands behind column %d", id, last)
		}
		last = id
		ids[i], sizes[i] = id, r.uvarint(MaxPageRaw, "bytes of a column")
	}
	for i := range n {
		c.body[ids[i]] = reader{b: r.bytes(sizes[i], "column")}
		c.present[ids[i]] = true
	}
	return c, r.end()
}

func (c *columns) unsigned(col int, limit int64) int64 {
	if !c.present[col] {
		return 0
	}
	v := c.body[col].uvarint(limit, "value")
	c.nonzero[col] = c.nonzero[col] || v != 0
	return v
}

func (c *columns) signed(col int) int64 {
	if !c.present[col] {
		return 0
	}
	v := c.body[col].svarint("value")
	c.nonzero[col] = c.nonzero[col] || v != 0
	return v
}

// fill sets the entries. Values that would overflow are caught by their range, which is checked
// before they are used.
func (c *columns) fill(entries []Entry, row int64, sessions, sides []UUID) error {
	var prev *Entry
	rows, err1 := c.scattered(colRows, int64(len(entries)))
	bytes, err2 := c.scattered(colBytes, int64(len(entries)))
	if err := first(err1, err2); err != nil {
		return err
	}
	for i := range entries {
		e := &entries[i]
		gap := c.unsigned(colGap, MaxRows)
		if i == 0 && gap != 0 {
			return errors.New("entry 0 has a gap before it")
		}
		row += gap
		e.Row, e.Rows = row, rows[i]
		if err := checkRange(row, e.Rows, 0); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		row += e.Rows
		e.First = c.unsigned(colFirst, MaxRows)
		e.Bytes = bytes[i]
		if err := c.chunk(e, prev, sessions, sides); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		if err := e.check(); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		prev = e
	}
	return c.end()
}

// chunk sets what an entry says of its chunk, but its bytes.
func (c *columns) chunk(e, prev *Entry, sessions, sides []UUID) (err error) {
	e.Session = sessions[c.unsigned(colSession, int64(len(sessions)-1))]
	if k := c.unsigned(colSide, int64(len(sides))); k > 0 {
		e.Side = sides[k-1]
	}
	e.Tiles = c.unsigned(colTiles, MaxSideSlots)
	ordinal, slot := predict(prev, e)
	e.Ordinal = ordinal + c.signed(colOrdinal)
	e.Slot = slot + c.signed(colSlot)
	stats := c.body[colStats].bytes(c.unsigned(colStats, MaxPageRaw), "statistics")
	e.Stats, err = decodeStats(stats)
	return err
}

func (c *columns) end() error {
	for col := range c.body {
		if err := c.body[col].end(); err != nil {
			return fmt.Errorf("column %d: %w", col, err)
		}
		if c.present[col] && !c.nonzero[col] {
			return fmt.Errorf("column %d has only zeros and should be left out", col)
		}
	}
	return nil
}
