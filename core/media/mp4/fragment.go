package mp4

import (
	"math"

	"deeplake/core/media"
)

// fragments adds the packets of the boxes moof.
type fragments struct {
	*builder
	defaults map[uint32]defaults
}

// Flags of the boxes tfhd and trun, and of packets.
const (
	hasBase       = 0x1
	hasEntry      = 0x2
	hasDuration   = 0x8
	hasSize       = 0x10
	hasFlags      = 0x20
	hasOffset     = 0x1
	hasFirstFlags = 0x4
	eachDuration  = 0x100
	eachSize      = 0x200
	eachFlags     = 0x400
	eachShift     = 0x800

	// notSync and depends say that a packet needs others.
	notSync = 0x10000
	depends = 0x1000000
)

// part is the part of a fragment that belongs to one track.
type part struct {
	defaults
	ours bool
	base int64 // that offsets of runs count from
	next int64 // where a run without an offset begins
}

// add takes the content of a box moof, which begins at off.
func (f *fragments) add(p []byte, off int64) error {
	behind := off // the data of the part before
	return each("moof", p, func(kind string, traf []byte) error {
		if kind != "traf" {
			return nil
		}
		one, err := f.part(traf, off, behind)
		if err != nil {
			return err
		}
		err = each("traf", traf, func(kind string, body []byte) error {
			switch {
			case kind == "trun":
				return f.run(one, body)
			case kind == "tfdt" && one.ours:
				return f.begin(body)
			}
			return nil
		})
		behind = one.next
		return err
	})
}

// part reads the box tfhd.
func (f *fragments) part(traf []byte, moof, behind int64) (*part, error) {
	p, err := need("traf", traf, 8, "tfhd")
	if err != nil {
		return nil, err
	}
	flags, number := be32(p)&0xffffff, be32(p[4:])
	one := &part{defaults: f.defaults[number], ours: number == f.track.number, base: behind}
	if flags&0x20000 != 0 {
		one.base = moof
	}
	fields := p[8:]
	take := func(flag uint32, width int) (field []byte) {
		if flags&flag == 0 {
			return nil
		}
		if len(fields) < width {
			err = invalid(`box "tfhd" has %d bytes of content, and states more`, len(p))
			return nil
		}
		field, fields = fields[:width], fields[width:]
		return field
	}
	if v := take(hasBase, 8); v != nil {
		one.base = int64(be64(v))
	}
	for _, field := range []struct {
		flag uint32
		to   *uint32
	}{{hasEntry, &one.entry}, {hasDuration, &one.duration}, {hasSize, &one.size}, {hasFlags, &one.flags}} {
		if v := take(field.flag, 4); v != nil {
			*field.to = be32(v)
		}
	}
	if one.base < 0 || one.base > f.size {
		return nil, invalid("a fragment has its data at an offset that the file does not have")
	}
	one.next = one.base
	return one, err
}

// begin takes the box tfdt: the time at which the next packet is decoded.
func (f *fragments) begin(p []byte) error {
	width := 4
	if len(p) > 0 && p[0] == 1 {
		width = 8
	}
	if err := atLeast("tfdt", p, 4+width); err != nil {
		return err
	}
	if f.decoding = int64(be32(p[4:])); width == 8 {
		f.decoding = int64(be64(p[4:]))
	}
	if f.decoding < 0 || f.decoding > media.MaxTime {
		return invalid(`box "tfdt" has a time that no track can have`)
	}
	return nil
}

// run takes a box trun.
func (f *fragments) run(one *part, p []byte) error {
	r, err := newRun(p)
	if err != nil {
		return err
	}
	if r.hasOffset {
		one.next = one.base + r.offset
	}
	if !one.ours {
		return one.skip(r, f.size)
	}
	if r.count == 0 {
		return nil
	}
	if err := f.describe(one.entry); err != nil {
		return err
	}
	least := int64(1)
	if r.flags&eachSize == 0 {
		least = max(least, int64(one.size))
	}
	if err := f.reserve(r.count, r.count*least); err != nil {
		return err
	}
	for i := range r.count {
		s := r.next(one.defaults)
		if i == 0 && r.flags&hasFirstFlags != 0 {
			s.flags = r.first
		}
		key := s.flags&(notSync|depends) == 0
		if err := f.builder.add(one.next, int64(s.size), int64(s.duration), s.shift, key); err != nil {
			return err
		}
		one.next += int64(s.size)
	}
	return nil
}

// skip goes to the end of a run of another track.
func (p *part) skip(r *run, size int64) error {
	switch {
	case r.flags&eachSize != 0:
		for range r.count {
			p.next += int64(r.next(p.defaults).size)
		}
	case r.count > 0 && int64(p.size) > size/r.count:
		p.next = math.MaxInt64
	default:
		p.next += r.count * int64(p.size)
	}
	if p.next < 0 || p.next > size {
		return invalid("the file ends at byte %d within a fragment, whose data reach to byte %d", size, p.next)
	}
	return nil
}

// run is the content of a box trun.
type run struct {
	flags     uint32
	count     int64
	hasOffset bool
	offset    int64
	first     uint32 // flags of the first packet
	p         []byte // the packets
}

// sample is one packet of a run.
type sample struct {
	duration, size, flags uint32
	shift                 int64
}

func newRun(p []byte) (*run, error) {
	if err := atLeast("trun", p, 8); err != nil {
		return nil, err
	}
	r := &run{flags: be32(p) & 0xffffff, count: int64(be32(p[4:]))}
	head, width := int64(8), int64(0)
	for _, flag := range []uint32{hasOffset, hasFirstFlags} {
		if r.flags&flag != 0 {
			head += 4
		}
	}
	for _, flag := range []uint32{eachDuration, eachSize, eachFlags, eachShift} {
		if r.flags&flag != 0 {
			width += 4
		}
	}
	if head+r.count*width > int64(len(p)) {
		return nil, invalid(`box "trun" states %d packets of %d bytes, and has %d bytes`, r.count, width, len(p))
	}
	r.p = p[8:]
	if r.hasOffset = r.flags&hasOffset != 0; r.hasOffset {
		r.offset = int64(int32(r.take()))
	}
	if r.flags&hasFirstFlags != 0 {
		r.first = r.take()
	}
	return r, nil
}

// take returns the next number.
func (r *run) take() uint32 {
	v := be32(r.p)
	r.p = r.p[4:]
	return v
}

// next returns the next packet.
func (r *run) next(d defaults) sample {
	s := sample{duration: d.duration, size: d.size, flags: d.flags}
	if r.flags&eachDuration != 0 {
		s.duration = r.take()
	}
	if r.flags&eachSize != 0 {
		s.size = r.take()
	}
	if r.flags&eachFlags != 0 {
		s.flags = r.take()
	}
	if r.flags&eachShift != 0 {
		s.shift = int64(int32(r.take()))
	}
	return s
}
