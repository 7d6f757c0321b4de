package video

import (
	"slices"
	"sync"

	"deeplake/core/media"
	"deeplake/core/media/ffmpeg"
)

// decoders keeps those that are not in use, for videos of the same form. Some keep their place in a
// video, and go on from there.
type decoders struct {
	library func() (*ffmpeg.Library, error)

	mu   sync.Mutex
	idle []idle // the last used at the end
	// closed: a decoder that comes back is freed
	closed bool
}

type idle struct {
	form    form
	decoder *ffmpeg.Decoder
	place   *position // nil: it has seen no packet
}

// position is where a decoder is in a video.
type position struct {
	of          *stored
	first, sent int            // the first packet, which is of a group, and the last one
	inside      map[int32]bool // packets whose frames did not come out yet
}

// reaches reports whether a decoder at a place can go on to all packets wanted of a group.
func (p *position) reaches(s *stored, g media.Group, wanted []int32) bool {
	if p == nil || p.of != s || p.first != g.First || p.sent < g.First || p.sent >= g.Last {
		return false
	}
	return !slices.ContainsFunc(wanted, func(packet int32) bool { return int(packet) <= p.sent && !p.inside[packet] })
}

// form tells decoders apart: one decoder serves all videos of a form.
type form struct {
	codec, setup  string
	width, height int
	color         media.Color
	delay         int // frames that a decoder holds back to put them in order
	threads       int
}

func formOf(v *media.Video) form {
	return form{codec: v.Codec, setup: string(v.Setup), width: v.Width, height: v.Height, color: v.Color, delay: v.Delay(), threads: 1}
}

const (
	// mostIdle bounds the decoders that are kept.
	mostIdle = 16
	// idleBytes bounds the memory of those that keep their places, about.
	idleBytes = 128 << 20
)

// memory estimates the bytes of a decoder: those of some pictures.
func (f *form) memory() int64 { return int64(9+3*f.threads) * int64(f.width) * int64(f.height) }

// resume returns a decoder that is within a group, before all packets that are wanted of it, and
// its place; nil: there is none.
func (p *decoders) resume(s *stored, g media.Group, wanted []int32) (*ffmpeg.Decoder, *position) {
	p.mu.Lock()
	defer p.mu.Unlock()
	best := -1
	for i := range p.idle {
		at := p.idle[i].place
		if at.reaches(s, g, wanted) && (best < 0 || at.sent > p.idle[best].place.sent) {
			best = i
		}
	}
	if best < 0 {
		return nil, nil
	}
	found := p.idle[best]
	p.idle = slices.Delete(p.idle, best, best+1)
	return found.decoder, found.place
}

// take returns a decoder of some threads that has seen no packet.
func (p *decoders) take(s *stored, threads int) (*ffmpeg.Decoder, error) {
	wanted := s.form
	wanted.threads = threads
	for {
		d, used := p.any(&wanted)
		if d == nil {
			break
		}
		if !used || d.Flush() == nil {
			return d, nil
		}
		d.Close()
	}
	lib, err := p.library()
	if err != nil {
		return nil, err
	}
	return lib.Open(s.table.Video, threads)
}

// any takes out a decoder of a form, and reports whether it has seen packets: one that has not, or
// else the one used longest ago, once there are as many as are kept. Nil: there is none.
func (p *decoders) any(f *form) (d *ffmpeg.Decoder, used bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fits := func(one idle) bool { return one.form == *f && one.place == nil }
	i := slices.IndexFunc(p.idle, fits)
	if i < 0 && p.full(f) {
		i = slices.IndexFunc(p.idle, func(one idle) bool { return one.form == *f })
	}
	if i < 0 {
		return nil, false
	}
	found := p.idle[i]
	p.idle = slices.Delete(p.idle, i, i+1)
	return found.decoder, found.place != nil
}

// full reports whether there is no room for another decoder of a form.
func (p *decoders) full(f *form) bool {
	sum := f.memory()
	for i := range p.idle {
		sum += p.idle[i].form.memory()
	}
	return len(p.idle) >= mostIdle || len(p.idle) > 0 && sum > idleBytes
}

// put keeps a decoder for the next group: at its place, or flushed if it has none.
func (p *decoders) put(s *stored, d *ffmpeg.Decoder, at *position) {
	if at == nil && d.Flush() != nil {
		d.Close()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		d.Close()
		return
	}
	f := s.form
	f.threads = d.Threads()
	for p.full(&f) {
		p.idle[0].decoder.Close()
		p.idle = slices.Delete(p.idle, 0, 1)
	}
	p.idle = append(p.idle, idle{f, d, at})
}

func (p *decoders) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.idle {
		one.decoder.Close()
	}
	p.idle, p.closed = nil, true
}
