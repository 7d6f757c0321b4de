package media

import (
	"cmp"
	"slices"

	"deeplake/core/errs"
)

// Cut returns the video of the frames that begin at a time of [begin, end), in ticks. It has the
// packets that decoding them takes. Frames of the others are hidden, and times count from begin. A
// time at which no frame begins is errs.Range. The last frame is shown as long as in v.
func (v *Video) Cut(begin, end int64) (*Video, error) {
	var wanted []int
	last, next := begin, v.End // of the frames: the time of the last one, and at which that ends
	for i := range v.Packets {
		if p := &v.Packets[i]; !p.Hidden && p.Time >= begin && p.Time < end {
			wanted, last = append(wanted, i), max(last, p.Time)
		}
	}
	if len(wanted) == 0 {
		return nil, errs.Op("cut video", "").New(errs.Range, "no frame begins at a time from %.3f to %.3f s; the video ends at %.3f s", v.Seconds(begin), v.Seconds(end), v.Seconds(v.End))
	}
	groups, err := v.Needs(wanted)
	if err != nil {
		return nil, err
	}
	for i := range v.Packets {
		if p := &v.Packets[i]; !p.Hidden && p.Time > last {
			next = min(next, p.Time)
		}
	}
	out := *v
	out.End = max(next, last+1) - begin
	out.Packets = slices.Clone(v.Packets[groups[0].First : groups[len(groups)-1].Last+1])
	for i := range out.Packets {
		p := &out.Packets[i]
		p.Hidden = p.Hidden || p.Time < begin || p.Time >= end
		p.Time -= begin
	}
	return &out, out.Check()
}

// Span returns the bytes [from, to) of the file that have all packets.
func (v *Video) Span() (from, to int64) {
	if len(v.Packets) == 0 {
		return 0, 0
	}
	first := slices.MinFunc(v.Packets, func(a, b Packet) int { return cmp.Compare(a.Offset, b.Offset) })
	last := slices.MaxFunc(v.Packets, func(a, b Packet) int { return cmp.Compare(a.Offset+a.Bytes, b.Offset+b.Bytes) })
	return first.Offset, last.Offset + last.Bytes
}
