package mp4

import (
	"cmp"
	"math"
	"math/bits"

	"deeplake/core/media"
)

// movie is the content of the box moov.
type movie struct {
	ticks      uint32 // a second; of edits
	turns      int
	track      *track
	fragmented bool
	defaults   map[uint32]defaults // of fragments, by the number of the track
}

// track is one of the tracks of pictures.
type track struct {
	number  uint32
	turns   int
	ticks   uint32 // a second; of its own times
	edit    edit
	entries []entry // descriptions of its packets
	refs    []byte  // the box dref; nil where there is none
	stbl    []byte
}

// defaults are the values that the runs of a fragment leave out.
type defaults struct{ entry, duration, size, flags uint32 }

func newMovie(p []byte) (*movie, error) {
	m := &movie{defaults: map[uint32]defaults{}}
	var chosen []byte
	var damage error // of a track that may be of pictures
	tracks, enabled := 0, false
	err := each("moov", p, func(kind string, body []byte) error {
		switch kind {
		case "mvhd":
			return m.header(body)
		case "mvex":
			m.fragmented = true
			return m.extends(body)
		case "cmov":
			return unsupported(`box "moov" is compressed`)
		case "trak":
			tracks++
			ours, err := isVideo(body)
			damage = cmp.Or(damage, err)
			if enabled || !ours {
				return nil
			}
			tkhd, err := need("trak", body, 4, "tkhd")
			if err != nil {
				return err
			}
			if on := tkhd[3]&1 != 0; on || chosen == nil {
				chosen, enabled = body, on
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case chosen == nil && tracks == 0:
		return nil, invalid("it has no tracks")
	case chosen == nil && damage != nil:
		return nil, damage
	case chosen == nil:
		return nil, invalid("it has no track of pictures (tracks of other kinds: %d)", tracks)
	}
	m.track, err = newTrack(chosen, m)
	return m, err
}

// header takes the box mvhd.
func (m *movie) header(p []byte) error {
	clock, matrix := 12, 36
	if len(p) > 0 && p[0] == 1 {
		clock, matrix = 20, 48
	}
	if err := atLeast("mvhd", p, matrix+36); err != nil {
		return err
	}
	m.ticks, m.turns = be32(p[clock:]), turns(p[matrix:])
	return nil
}

// extends takes the box mvex, which says that fragments may follow.
func (m *movie) extends(p []byte) error {
	return each("mvex", p, func(kind string, body []byte) error {
		if kind != "trex" {
			return nil
		}
		if err := atLeast(kind, body, 24); err != nil {
			return err
		}
		m.defaults[be32(body[4:])] = defaults{be32(body[8:]), be32(body[12:]), be32(body[16:]), be32(body[20:])}
		return nil
	})
}

// isVideo reports whether the content of a box trak is of pictures.
func isVideo(trak []byte) (bool, error) {
	hdlr, err := need("trak", trak, 12, "mdia", "hdlr")
	return err == nil && string(hdlr[8:12]) == "vide", err
}

// turns returns the quarter turns clockwise of a matrix, 0 if it does anything else as well.
func turns(p []byte) int {
	const one = 1 << 16
	switch [4]int32{int32(be32(p)), int32(be32(p[4:])), int32(be32(p[12:])), int32(be32(p[16:]))} {
	case [4]int32{0, one, -one, 0}:
		return 1
	case [4]int32{-one, 0, 0, -one}:
		return 2
	case [4]int32{0, -one, one, 0}:
		return 3
	}
	return 0
}

func newTrack(p []byte, m *movie) (*track, error) {
	t := &track{}
	if err := t.header(p, m); err != nil {
		return nil, err
	}
	mdhd, err := need("trak", p, 24, "mdia", "mdhd")
	if err != nil {
		return nil, err
	}
	t.ticks = be32(mdhd[12:])
	if mdhd[0] == 1 {
		t.ticks = be32(mdhd[20:])
	}
	if t.ticks == 0 {
		return nil, invalid("its track of pictures has 0 ticks a second")
	}
	elst, err := walk("trak", p, "edts", "elst")
	if err != nil {
		return nil, err
	}
	if t.edit, err = newEdit(elst, m.ticks, t.ticks); err != nil {
		return nil, err
	}
	if m.fragmented {
		t.edit.end = math.MaxInt64 // many writers state the duration of the first fragment
	}
	minf, err := need("trak", p, 0, "mdia", "minf")
	if err != nil {
		return nil, err
	}
	if t.refs, err = walk("minf", minf, "dinf", "dref"); err != nil {
		return nil, err
	}
	if t.stbl, err = need("minf", minf, 0, "stbl"); err != nil {
		return nil, err
	}
	t.entries, err = newEntries(t.stbl)
	return t, err
}

// header takes the box tkhd.
func (t *track) header(trak []byte, m *movie) error {
	p, err := need("trak", trak, 4, "tkhd")
	if err != nil {
		return err
	}
	number, matrix := 12, 40
	if p[0] == 1 {
		number, matrix = 20, 52
	}
	if err := atLeast("tkhd", p, matrix+36); err != nil {
		return err
	}
	t.number = be32(p[number:])
	t.turns = (turns(p[matrix:]) + m.turns) % 4
	return nil
}

// edit is the part of a track that is shown.
type edit struct {
	start int64 // in the time of the track
	end   int64 // likewise; math.MaxInt64: that of the track
	delay int64 // before it is shown
}

// newEdit makes one edit of an edit list. The pauses at its begin are the delay, and those at its
// end count for nothing. Edits that continue each other are one.
func newEdit(elst []byte, movie, ticks uint32) (edit, error) {
	e := edit{end: math.MaxInt64}
	width := 12
	if len(elst) > 0 && elst[0] == 1 {
		width = 20
	}
	list, err := newTable("elst", elst, width)
	if err != nil || list.count() == 0 {
		return e, err
	}
	if movie == 0 {
		return e, invalid(`box "elst" has durations, and box "mvhd" has 0 ticks a second`)
	}
	found, paused := false, false
	for i := range list.count() {
		start, length, err := editAt(list, i, movie, ticks)
		switch rate := be32(list.at(i)[width-4:]); {
		case err != nil:
			return e, err
		case start < 0 && found:
			paused = true
			continue
		case start < 0:
			if e.delay += length; e.delay > media.MaxTime {
				return e, invalid(`box "elst" has pauses longer than any track`)
			}
			continue
		case rate != 1<<16:
			return e, unsupported("its edit list changes the rate to %g", float64(int32(rate))/(1<<16))
		case !found:
			found, e.start = true, start
		case paused || max(start-e.end, e.end-start) > int64(ticks/movie)+1:
			return e, unsupported("its edit list shows several parts of the track, which do not continue each other")
		}
		if e.end = start + length; length == 0 {
			e.end = math.MaxInt64
		}
	}
	return e, nil
}

// editAt returns the begin of an edit in the track, negative for a pause, and its length, both in
// ticks of the track. The length 0 reaches to the end.
func editAt(list table, i int, movie, ticks uint32) (start, length int64, err error) {
	p := list.at(i)
	duration, start := uint64(be32(p)), int64(int32(be32(p[4:])))
	if list.version == 1 {
		duration, start = be64(p), int64(be64(p[8:]))
	}
	length, ok := rescale(duration, ticks, movie)
	if !ok || start < -1 || start > media.MaxTime {
		return 0, 0, invalid(`entry %d of box "elst" has a time or a duration that no track can have`, i)
	}
	return start, length, nil
}

// rescale returns v of from ticks a second in ticks of to a second, rounded; false if that is more
// than any time.
func rescale(v uint64, to, from uint32) (int64, bool) {
	high, low := bits.Mul64(v, uint64(to))
	low, carry := bits.Add64(low, uint64(from/2), 0)
	if high += carry; high >= uint64(from) {
		return 0, false
	}
	q, _ := bits.Div64(high, low, uint64(from))
	return int64(q), q <= media.MaxTime
}
