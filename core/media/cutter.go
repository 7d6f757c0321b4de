package media

import (
	"context"
	"slices"
	"sync"
)

// Cutter makes files of parts of one file. All methods may be called in parallel.
type Cutter struct {
	containers Containers

	mu    sync.Mutex
	video *Video // without the key packets that refresh frames piece by piece, as far as known
	owned bool   // its packets are no one else's
	plain bool   // a key packet but the first one is complete at once, so all are
}

// NewCutter makes a Cutter of the file that has a video.
func NewCutter(c Containers, v *Video) *Cutter {
	return &Cutter{containers: c, video: v, plain: v.Codec != "h264"}
}

const (
	// recoveryBytes of a packet have its messages, and the kind of its first slice.
	recoveryBytes = 2 << 10
	// mostRefreshes is the number of key packets that refresh piece by piece from which the first
	// packet alone is taken for complete.
	mostRefreshes = 8
)

// Part makes a file of the frames that begin at a time of [begin, end), in ticks, as Video.Cut
// returns them. A part of a video of H.264 begins at a key packet that is complete at once: of
// others, encoders state too early when they are. Part reads the beginning of that packet.
func (c *Cutter) Part(ctx context.Context, file Reader, begin, end int64) (*Part, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for refreshes := 0; ; {
		cut, err := c.video.Cut(begin, end)
		if err != nil {
			return nil, err
		}
		first := &cut.Packets[0]
		at := slices.IndexFunc(c.video.Packets, func(p Packet) bool { return p.Offset == first.Offset })
		if c.plain || !slices.ContainsFunc(c.video.Packets[:max(at, 0)], func(p Packet) bool { return p.Key }) {
			return c.containers.Part(cut)
		}
		head := make([]byte, min(first.Bytes, recoveryBytes))
		if err := file.ReadAt(ctx, head, first.Offset); err != nil {
			return nil, err
		}
		if c.video.Recovery(head) <= 0 {
			c.plain = true
			continue
		}
		refreshes++
		c.forget(at, refreshes >= mostRefreshes)
	}
}

// forget takes a key packet for one in the middle of a group, or all but the first.
func (c *Cutter) forget(at int, all bool) {
	if !c.owned {
		own := *c.video
		own.Packets, c.owned = slices.Clone(own.Packets), true
		c.video = &own
	}
	packets := c.video.Packets
	packets[at].Key = false
	if !all {
		return
	}
	first := slices.IndexFunc(packets, func(p Packet) bool { return p.Key })
	for i := range packets[first+1:] {
		packets[first+1+i].Key = false
	}
}
