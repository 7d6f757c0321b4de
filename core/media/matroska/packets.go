package matroska

import (
	"math/bits"

	"deeplake/core/media"
)

// clock counts time: a unit of the file is a number of ticks.
type clock struct{ ticks, unit int64 }

const second = 1_000_000_000 // in nanoseconds

// clock returns that of the file. A tick is a unit of the file, if a second has a whole number of
// them, else a nanosecond.
func (f *file) clock() clock {
	if second%f.scale == 0 {
		return clock{ticks: second / f.scale, unit: 1}
	}
	return clock{ticks: second, unit: f.scale}
}

// time returns units of the file in ticks; false if that is more than any time.
func (c clock) time(units int64) (int64, bool) {
	if units < 0 {
		t, ok := c.time(-units)
		return -t, ok
	}
	high, low := bits.Mul64(uint64(units), uint64(c.unit))
	return int64(low), high == 0 && low <= media.MaxTime
}

// nanoseconds returns them in ticks, rounded; 0 for more than any time.
func (c clock) nanoseconds(n uint64) int64 {
	if n > media.MaxTime {
		return 0
	}
	one := uint64(second / c.ticks)
	return int64((n + one/2) / one)
}

// packets are those of the track, and the end of the last one.
type packets struct {
	list     []media.Packet
	shown    int
	last     int64 // time of the last shown frame
	duration int64 // of it; 0: not stated
	before   int64 // time of the frame that is shown before it
	two      bool  // there is one
}

// add takes the next packet. Its duration is 0 where none is stated.
func (c *packets) add(p media.Packet, duration int64) {
	c.list = append(c.list, p)
	if p.Hidden {
		return
	}
	c.shown++
	switch {
	case c.shown == 1:
		c.last, c.duration = p.Time, duration
	case p.Time == c.last:
		c.duration = duration
	case p.Time > c.last:
		c.before, c.two = c.last, true
		c.last, c.duration = p.Time, duration
	case !c.two || p.Time > c.before:
		c.before, c.two = p.Time, true
	}
}

// video is the result.
func (f *file) video() (*media.Video, error) {
	t, c := f.track, &f.packets
	switch {
	case len(c.list) == 0:
		return nil, invalid("its track of pictures has no frames")
	case c.shown == 0:
		return nil, invalid("none of its %d frames is shown", len(c.list))
	}
	v := &media.Video{
		Codec: t.codec, Setup: t.setup, Width: int(t.width), Height: int(t.height), Turns: t.turns(), Color: t.color(),
		Ticks: f.clock().ticks, End: f.end(), Packets: c.list,
	}
	return v, v.Check()
}

// end is that of the last frame: by its own duration, else by that of all frames, else by the one
// of the frame before. A frame that is alone is shown as long as the file lasts.
func (f *file) end() int64 {
	c, clock := &f.packets, f.clock()
	duration := c.duration
	if duration == 0 {
		duration = clock.nanoseconds(f.track.duration)
	}
	if duration == 0 && c.two {
		duration = c.last - c.before
	}
	if duration == 0 && f.length >= 1 && f.length <= media.MaxTime {
		if all, ok := clock.time(int64(f.length)); ok {
			duration = all - c.last
		}
	}
	return c.last + max(duration, 1)
}
