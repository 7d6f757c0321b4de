package mp4

import (
	"bytes"
	"math"

	"deeplake/core/media"
)

// builder collects the packets of a track in the order of decoding.
type builder struct {
	size    int64 // of the file
	track   *track
	entry   int // that describes the first packets, from 1 on; 0: none was read
	content content

	packets  []media.Packet
	bytes    int64 // of all packets
	decoding int64 // time of the next packet
	duration int64 // of the last packet that has one
	shown    bool  // some frame is
	last     int64 // time of the last shown frame
	end      int64 // of that frame
	cut      bool  // frames behind the edit are not shown
}

// describe takes the number, from 1 on, of the entry that describes the next packets.
func (b *builder) describe(number uint32) error {
	n := int(number)
	switch t := b.track; {
	case n == b.entry:
		return nil
	case n < 1 || n > len(t.entries):
		return invalid(`packets have description %d, and box "stsd" has %d`, number, len(t.entries))
	case b.entry == 0:
		var err error
		b.entry = n
		b.content, err = t.entries[n-1].read(t.refs)
		return err
	default:
		first, other := &t.entries[b.entry-1], &t.entries[n-1]
		if !other.equal && (first.kind != other.kind || !bytes.Equal(first.body, other.body)) {
			return unsupported("the parameters of its codec change within the track, at frame %d", len(b.packets))
		}
		other.equal = true
		return nil
	}
}

// reserve makes place for n packets, of which at least the given bytes must lie in the file.
func (b *builder) reserve(n, least int64) error {
	if n > int64(media.MaxFrames-len(b.packets)) {
		return invalid("it has %d frames or more, want at most %d", int64(len(b.packets))+n, media.MaxFrames)
	}
	if least > b.size-b.bytes {
		return invalid("%d frames have %d bytes or more, and the file has %d", int64(len(b.packets))+n, b.bytes+least, b.size)
	}
	if len(b.packets) == 0 {
		b.packets = make([]media.Packet, 0, n)
	}
	return nil
}

// add takes the next packet, which is shown offset ticks after its time of decoding.
func (b *builder) add(off, bytes, duration, offset int64, key bool) error {
	n := len(b.packets)
	if bytes < 1 || off < 0 || off > b.size || bytes > b.size-off {
		return b.misplaced(off, bytes)
	}
	if b.bytes += bytes; b.bytes > b.size {
		return invalid("the first %d frames have %d bytes, and the file has %d", n+1, b.bytes, b.size)
	}
	e := &b.track.edit
	at := b.decoding + offset
	if b.decoding += duration; b.decoding > media.MaxTime {
		return invalid("frame %d ends later than any track can", n)
	}
	if duration > 0 {
		b.duration = duration
	}
	p := media.Packet{Offset: off, Bytes: bytes, Time: at - e.start + e.delay, Key: key, Hidden: at >= e.end}
	b.packets = append(b.packets, p)
	b.cut = b.cut || p.Hidden
	if !p.Hidden && (!b.shown || p.Time >= b.last) {
		b.shown, b.last, b.end = true, p.Time, p.Time+max(b.duration, 1)
	}
	return nil
}

// misplaced is the error of a packet that does not lie in the file.
func (b *builder) misplaced(off, bytes int64) error {
	n := len(b.packets)
	if bytes < 1 {
		return invalid("frame %d has no bytes", n)
	}
	if off < 0 || off > math.MaxInt64-bytes {
		return invalid("frame %d lies at an offset that no file has", n)
	}
	return invalid("the file ends at byte %d, before or within frame %d, which has the bytes %d to %d", b.size, n, off, off+bytes)
}

// video is the result.
func (b *builder) video() (*media.Video, error) {
	t := b.track
	if len(b.packets) == 0 {
		return nil, invalid("its track of pictures has no frames")
	}
	if b.shown {
		b.hide()
	}
	if !b.shown {
		return nil, invalid("its edit list shows none of its %d frames", len(b.packets))
	}
	if e := &t.edit; b.cut { // the last frame is shown until the edit ends
		b.end = e.end - e.start + e.delay
	}
	c := &b.content
	v := &media.Video{
		Codec: c.codec, Setup: c.setup, Width: c.width, Height: c.height, Turns: t.turns, Color: c.color,
		Ticks: int64(t.ticks), End: b.end, Packets: b.packets,
	}
	return v, v.Check()
}

// hide hides the frames that end before the edit begins. The last frame before its begin ends where
// the next one begins.
func (b *builder) hide() {
	begin := b.track.edit.delay
	if b.end <= begin {
		b.shown = false
		return
	}
	first := -1 // of the shown frames
	for i := range b.packets {
		p := &b.packets[i]
		if p.Time <= begin && !p.Hidden && (first < 0 || p.Time >= b.packets[first].Time) {
			first = i
		}
	}
	if first < 0 {
		return
	}
	for i := range b.packets {
		p := &b.packets[i]
		if p.Time < begin && i != first {
			p.Hidden = true
		}
	}
}
