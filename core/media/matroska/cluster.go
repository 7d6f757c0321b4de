package matroska

import (
	"context"
	"encoding/binary"

	"deeplake/core/media"
)

// block is the head of an element SimpleBlock or Block.
type block struct {
	ours     bool  // of the track
	time     int64 // from that of the cluster
	flags    byte
	off, end int64 // of the data
	first    byte  // of them
}

// Flags of blocks.
const (
	isKey       = 0x80 // of a SimpleBlock
	isInvisible = 0x08
	isLaced     = 0x06
)

// cluster adds the packets of a cluster, and returns where the next element begins.
func (f *file) cluster(ctx context.Context, c element) (int64, error) {
	time := int64(unknown)
	for off := c.body; off < c.end; {
		e, err := f.element(ctx, off, c)
		if err != nil {
			return 0, err
		}
		if c.open && e.id.top() {
			return off, nil
		}
		switch e.id {
		case idTimestamp:
			time, err = f.number(ctx, e)
		case idSimpleBlock:
			err = f.simple(ctx, e, time)
		case idBlockGroup:
			err = f.group(ctx, e, time)
		case idEncryptedBlock:
			err = unsupported("element %v at byte %d is encrypted; give the file decrypted", e.id, off)
		}
		if err != nil {
			return 0, err
		}
		f.passed(e.end - off)
		off = e.end
	}
	return c.end, nil
}

// number reads an element that is a time or a duration.
func (f *file) number(ctx context.Context, e element) (int64, error) {
	p, err := f.content(ctx, e)
	if err != nil {
		return 0, err
	}
	var n uint64
	if err := e.number(p, &n); err != nil {
		return 0, err
	}
	if n > media.MaxTime {
		return 0, invalid("element %v at byte %d is a time that no track can have", e.id, e.off)
	}
	return int64(n), nil
}

// simple adds the packet of a SimpleBlock of a cluster of the given time.
func (f *file) simple(ctx context.Context, e element, time int64) error {
	b, err := f.block(ctx, e)
	if err != nil || !b.ours {
		return err
	}
	return f.packet(b, e, time, 0, b.flags&isKey != 0)
}

// group adds the packet of a BlockGroup. It needs others if the group names some.
func (f *file) group(ctx context.Context, g element, time int64) error {
	var b block
	var from element
	duration, key := int64(0), true
	for off := g.body; off < g.end; {
		e, err := f.element(ctx, off, g)
		if err != nil {
			return err
		}
		switch e.id {
		case idBlock:
			if from.id != 0 {
				return invalid("element %v at byte %d has a second element %v at byte %d", g.id, g.off, e.id, off)
			}
			from = e
			if b, err = f.block(ctx, e); err == nil && !b.ours {
				return nil
			}
		case idBlockDuration:
			duration, err = f.number(ctx, e)
		case idReferenceBlock:
			key = false
		}
		if err != nil {
			return err
		}
		off = e.end
	}
	if !b.ours {
		return nil
	}
	return f.packet(b, from, time, duration, key)
}

// block reads the head of a block.
func (f *file) block(ctx context.Context, e element) (block, error) {
	const most = 8 + 3 + 1
	p, err := f.bytes(ctx, e.body, min(e.end-e.body, most))
	if err != nil {
		return block{}, err
	}
	number, n := newSize(p)
	if n == 0 || len(p) < n+3 {
		return block{}, invalid("element %v at byte %d has no head of a block in its %d bytes", e.id, e.off, e.end-e.body)
	}
	b := block{ours: uint64(number) == f.track.number, off: e.body + int64(n) + 3, end: e.end}
	b.time, b.flags = int64(int16(binary.BigEndian.Uint16(p[n:]))), p[n+2]
	if len(p) > n+3 {
		b.first = p[n+3]
	}
	return b, nil
}

// packet adds the packet of a block, which lies in an element.
func (f *file) packet(b block, e element, cluster, duration int64, key bool) error {
	n := len(f.packets.list)
	switch {
	case b.flags&isLaced != 0:
		return unsupported("element %v at byte %d has several frames (lacing), which no writer makes of pictures", e.id, e.off)
	case b.off == b.end:
		return invalid("frame %d has no bytes (element %v at byte %d)", n, e.id, e.off)
	case cluster == unknown:
		return invalid("element %v at byte %d comes before the element %v of its cluster", e.id, e.off, idTimestamp)
	case n == media.MaxFrames:
		return invalid("it has more than %d frames", media.MaxFrames)
	}
	clock := f.clock()
	time, ok := clock.time(cluster + b.time)
	long, fits := clock.time(duration)
	if !ok || !fits {
		return invalid("element %v at byte %d has a time that no track can have", e.id, e.off)
	}
	// Pictures of VP8 that only others need say so themselves: not all writers set the flag.
	hidden := b.flags&isInvisible != 0 || f.track.codec == "vp8" && b.first&0x10 == 0
	f.packets.add(media.Packet{Offset: b.off, Bytes: b.end - b.off, Time: time, Key: key, Hidden: hidden}, long)
	return nil
}
