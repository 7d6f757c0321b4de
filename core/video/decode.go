package video

import (
	"context"
	"errors"
	"slices"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/media"
	"deeplake/core/media/color"
	"deeplake/core/media/ffmpeg"
)

// groupsInFlight bounds the groups that wait for bytes from a store, or are decoded.
const groupsInFlight = 16

// frameBytes is the size of a decoded frame.
func frameBytes(v *media.Video) int64 { return int64(v.Height) * int64(v.Width) * 3 }

// Frames decodes frames of a row, in any order and with repeats, into dst: for each its pixels as
// they are shown, (height, width, 3) in RGB. A frame that the video does not have is errs.Range. If
// it fails, dst is undefined.
func (r *Reader) Frames(ctx context.Context, row int64, frames []int64, dst []byte) error {
	s, err := r.find(ctx, row)
	if err != nil {
		return err
	}
	return r.fail(row, r.frames(ctx, s, frames, dst))
}

func (r *Reader) frames(ctx context.Context, s *stored, frames []int64, dst []byte) error {
	if have, want := int64(len(dst)), frameBytes(s.table.Video)*int64(len(frames)); have != want {
		return errs.New(errs.Invalid, "there is room for %d bytes, want %d", have, want)
	}
	w, err := s.plan(frames)
	if err != nil {
		return err
	}
	to := sink{room: into(dst, frameBytes(s.table.Video))}
	limit := cap(r.slots)
	if r.source.Remote() || s.ref.Chunk.Index.Linked() {
		limit = groupsInFlight
	}
	alone := r.reads.Add(1) == 1 // else the cores have other groups to decode
	defer r.reads.Add(-1)
	if threads := w.threads(cap(r.slots)); threads > 1 && alone {
		// A damaged packet is an error that several threads tell late: one thread then names it.
		d := &decoding{wanted: w, pool: &r.pool, slots: r.slots, to: to, threads: threads}
		if err := d.again(ctx, s.lengthenBy(w.groups[0], threads-1), d.ahead); !errs.OfSample(err) {
			return err
		}
	}
	g := task.New(ctx, limit)
	for _, one := range w.groups {
		g.Go(func(ctx context.Context) error {
			d := &decoding{wanted: w, pool: &r.pool, slots: r.slots, to: to, threads: 1}
			return d.again(ctx, one, d.ahead)
		})
	}
	return g.Wait()
}

// mostThreads bounds the threads of a decoder. Each has pictures of its own and holds back a frame.
const mostThreads = 8

// threads returns the number of threads that decode the groups, of so many cores: several for a
// single long group, which no other thread shares.
func (w *wanted) threads(cores int) int {
	codec := w.of.form.codec
	if len(w.groups) != 1 || codec != "h264" && codec != "hevc" || w.groups[0].Last-w.groups[0].First < longGroup {
		return 1
	}
	return min(cores, mostThreads)
}

// wanted is frames of a video, and the groups of packets that they need.
type wanted struct {
	of      *stored
	packets []int32 // of the frames
	groups  []media.Group
	places  map[int32][]int // of the frame of each packet, among the frames
}

// plan finds the packets that frames need.
func (s *stored) plan(frames []int64) (*wanted, error) {
	packets := make([]int32, len(frames))
	for i, f := range frames {
		if f < 0 || f >= int64(len(s.shown)) {
			return nil, errs.New(errs.Range, "frame %d is out of range, the video has %d", f, len(s.shown))
		}
		packets[i] = s.shown[f]
	}
	return s.planPackets(packets)
}

// planPackets finds the groups that the frames of packets need.
func (s *stored) planPackets(packets []int32) (*wanted, error) {
	w := &wanted{of: s, packets: packets, places: make(map[int32][]int, len(packets))}
	distinct := make([]int, 0, len(packets))
	for i, p := range packets {
		if w.places[p] == nil {
			distinct = append(distinct, int(p))
		}
		w.places[p] = append(w.places[p], i)
	}
	groups, err := s.table.Video.Needs(distinct)
	w.groups = join(groups)
	for i, g := range w.groups {
		w.groups[i] = s.lengthen(g)
	}
	return w, err
}

// longGroup is the number of packets of a group from which decoders keep their place in it.
const longGroup = 32

// rest returns the number of packets behind one in its group, which begins at first; 0 for short
// groups, which decoders do not keep a place in.
func (s *stored) rest(first, packet int) int {
	behind := s.table.Video.Packets[packet+1:]
	behind = behind[:min(len(behind), longGroup)]
	n := slices.IndexFunc(behind, func(p media.Packet) bool { return p.Key })
	if n < 0 {
		n = len(behind)
	}
	if packet-first+1+n < longGroup {
		return 0
	}
	return n
}

// lengthen adds the packets behind those of a long group that make the decoder deliver its last
// frames. It need not be drained then, and can go on from there.
func (s *stored) lengthen(g media.Group) media.Group {
	if s.form.delay > 0 {
		g = s.lengthenBy(g, s.form.delay+1)
	}
	return g
}

// lengthenBy adds packets of a long group behind g.
func (s *stored) lengthenBy(g media.Group, packets int) media.Group {
	g.Last += min(packets, s.rest(g.First, g.Last))
	return g
}

// joinBelow is the number of packets from which a group is not joined with the next one. Another
// core may take that.
const joinBelow = 32

// join joins short groups that follow each other: a decoder goes on from one into the next. Apart,
// it would be drained and flushed between them.
func join(groups []media.Group) []media.Group {
	out := groups[:0]
	for _, g := range groups {
		if k := len(out) - 1; k >= 0 && out[k].Last+1 == g.First && out[k].Last-out[k].First < joinBelow {
			out[k].Last = g.Last
			continue
		}
		out = append(out, g)
	}
	return out
}

// sink takes frames, each by its place among the wanted ones: into room, or by deliver if room is
// nil. pix is valid until deliver returns.
type sink struct {
	room    func(at int) []byte
	deliver func(at int, pix []byte, stride int) error
}

// into returns the room for frames of a size that lie one behind the other.
func into(dst []byte, each int64) func(at int) []byte {
	return func(at int) []byte { return dst[int64(at)*each:][:each] }
}

// decoding is the work on groups of packets, one after the other.
type decoding struct {
	*wanted
	pool  *decoders
	slots chan struct{} // one for each core that decodes; nil: the caller has one
	by    ahead         // bytes that were fetched ahead; nil: all come from the store
	to    sink
	// threads of a decoder that is opened
	threads int

	missing []int32 // packets of a group whose frames are wanted, and did not come yet
	last    int     // of these packets
	decoder *ffmpeg.Decoder
	place   *position // of the decoder in the video; nil: it has been drained
	frame   ffmpeg.Frame
	upright []byte // pixels before they are turned
	pixels  []byte // of a frame that is delivered
}

// begin notes the frames of a group.
func (d *decoding) begin(g media.Group) {
	d.missing = d.missing[:0]
	for p := g.First; p <= g.Last; p++ {
		if d.places[int32(p)] != nil {
			d.missing, d.last = append(d.missing, int32(p)), p
		}
	}
}

// errLost is the error of a group of which frames did not come out of the decoder.
var errLost = errors.New("frames are lost")

// mostAgain bounds the attempts at a group.
const mostAgain = 8

// again decodes a group by run. While frames are lost, it tries again from an earlier key packet,
// each time twice as many key packets back. The last attempt begins at the first key packet.
func (d *decoding) again(ctx context.Context, g media.Group, run func(ctx context.Context, g media.Group) error) error {
	d.begin(g)
	if d.decoder, d.place = d.pool.resume(d.of, g, d.missing); d.decoder != nil {
		rest := g
		rest.First = d.place.sent + 1
		if err := run(ctx, rest); !errors.Is(err, errLost) {
			return err
		}
		d.begin(g)
	}
	for attempt := range mostAgain {
		err := run(ctx, g)
		if !errors.Is(err, errLost) {
			return err
		}
		keys := 1 << attempt
		if attempt == mostAgain-2 {
			keys = len(d.of.table.Video.Packets) // the first of all
		}
		first := d.of.keyBefore(g.First, keys)
		if first == g.First {
			break
		}
		g.First = first
	}
	return errs.New(errs.Corrupt, "the frame at %s did not come out of the decoder, and %d others; the file is damaged", d.of.time(d.missing[0]), len(d.missing)-1)
}

// refreshed reports whether a key packet begins a gradual refresh, and the video has an earlier
// key packet. Encoders state too early when such a refresh is complete, so decoding begins at a
// key frame that is complete at once.
func (d *decoding) refreshed(f fetched, first int) bool {
	v := d.of.table.Video
	return d.of.keyBefore(first, 1) != first && v.Recovery(f.packet(&v.Packets[first])) > 0
}

// keyBefore returns the key packet that is a number of them before a packet: the first one if there
// are fewer, and the packet itself if there is none.
func (s *stored) keyBefore(packet, keys int) int {
	found := packet
	for i := packet - 1; i >= 0 && keys > 0; i-- {
		if s.table.Video.Packets[i].Key {
			found, keys = i, keys-1
		}
	}
	return found
}

// serial decodes a group on the caller's goroutine.
func (d *decoding) serial(ctx context.Context, g media.Group) error {
	windows := d.of.windows(g)
	for i, window := range windows {
		f, err := d.of.fetch(ctx, window, d.by)
		if err != nil {
			d.giveBack(true)
			return err
		}
		if err := d.decode(ctx, f, window, i+1 == len(windows)); err != nil || len(d.missing) == 0 {
			return err
		}
	}
	return nil
}

// ahead decodes a group window by window. While one is decoded, the next one is fetched.
func (d *decoding) ahead(ctx context.Context, g media.Group) error {
	windows := d.of.windows(g)
	next := d.fetching(ctx, windows[0])
	for i, window := range windows {
		f, err := next()
		last := i+1 == len(windows)
		if err != nil {
			d.giveBack(true)
			return err
		}
		if !last {
			next = d.fetching(ctx, windows[i+1])
		}
		if err := d.decode(ctx, f, window, last); err != nil {
			if !last {
				_, _ = next() // nothing runs on
			}
			return err
		}
	}
	return nil
}

// fetching begins to fetch packets, and returns what waits for them.
func (d *decoding) fetching(ctx context.Context, g media.Group) func() (fetched, error) {
	var f fetched
	group := task.New(ctx, 1)
	group.Go(func(ctx context.Context) (err error) {
		f, err = d.of.fetch(ctx, g, nil)
		return err
	})
	return func() (fetched, error) {
		err := group.Wait()
		return f, err
	}
}

// decode takes the packets of a window, on one of the cores. The decoder goes back behind the last
// one, once all frames have come, and after an error.
func (d *decoding) decode(ctx context.Context, f fetched, g media.Group, last bool) (err error) {
	if d.slots != nil {
		select {
		case d.slots <- struct{}{}:
		case <-ctx.Done():
			d.giveBack(true)
			return errs.Cause(ctx, "decode video")
		}
		defer func() { <-d.slots }()
	}
	v := d.of.table.Video
	if d.decoder == nil {
		if d.refreshed(f, g.First) {
			return errLost
		}
		if d.decoder, err = d.pool.take(d.of, max(1, d.threads)); err != nil {
			return err
		}
		d.place = &position{of: d.of, first: g.First, inside: map[int32]bool{}}
	}
	defer func() {
		if err != nil || last || len(d.missing) == 0 {
			d.giveBack(err != nil)
		}
	}()
	for i := g.First; i <= g.Last && len(d.missing) > 0; i++ {
		if ctx.Err() != nil {
			return errs.Cause(ctx, "decode video")
		}
		p := &v.Packets[i]
		data := f.packet(p)
		if d.places[int32(i)] == nil && i < d.last && v.Disposable(data) {
			continue // no frame is made of it, and it is not wanted
		}
		// Frames carry the number of their packet: two may be shown at the same time.
		if err := d.decoder.Send(data, int64(i)); err != nil {
			return errs.Wrap(errs.Corrupt, "decode the packet at", d.of.time(int32(i)), err)
		}
		d.place.sent, d.place.inside[int32(i)] = i, true
		if err := d.receive(); err != nil {
			return err
		}
	}
	if !last || len(d.missing) == 0 {
		return nil
	}
	if err := d.decoder.Drain(); err != nil {
		return err
	}
	d.place = nil
	if err := d.receive(); err != nil {
		return err
	}
	if len(d.missing) > 0 {
		return errLost
	}
	return nil
}

// receive takes the frames that are ready, and writes those that are wanted.
func (d *decoding) receive() error {
	for len(d.missing) > 0 {
		ok, err := d.decoder.Receive(&d.frame)
		if err != nil || !ok {
			return err
		}
		p := int32(d.frame.Mark)
		if d.place != nil {
			delete(d.place.inside, p)
		}
		k := slices.Index(d.missing, p)
		if k < 0 {
			continue
		}
		d.missing = slices.Delete(d.missing, k, k+1)
		if err := d.write(p); err != nil {
			return err
		}
	}
	return nil
}

// write converts a frame into each of its places.
func (d *decoding) write(p int32) error {
	v := d.of.table.Video
	if d.frame.Width != v.Width || d.frame.Height != v.Height {
		return errs.New(errs.Unsupported, "the frame at %s has %d x %d pixels, the video %d x %d; videos whose size changes are not read", d.of.time(p), d.frame.Width, d.frame.Height, v.Width, v.Height)
	}
	places := d.places[p]
	if d.to.room == nil {
		each := frameBytes(v)
		d.pixels = slices.Grow(d.pixels[:0], int(each))[:each]
		if err := d.convert(d.pixels); err != nil {
			return err
		}
		_, width := v.Size()
		for _, at := range places {
			if err := d.to.deliver(at, d.pixels, 3*width); err != nil {
				return err
			}
		}
		return nil
	}
	first := d.to.room(places[0])
	if err := d.convert(first); err != nil {
		return err
	}
	for _, at := range places[1:] {
		copy(d.to.room(at), first)
	}
	return nil
}

// convert writes the pixels of the frame, turned as they are shown.
func (d *decoding) convert(dst []byte) error {
	p, turns := &d.frame.Picture, d.of.table.Video.Turns
	if turns == 0 {
		return color.Convert(dst, 3*p.Width, p)
	}
	d.upright = slices.Grow(d.upright[:0], len(dst))[:len(dst)]
	if err := color.Convert(d.upright, 3*p.Width, p); err != nil {
		return err
	}
	_, width := d.of.table.Video.Size()
	return color.Turn(dst, 3*width, d.upright, 3*p.Width, p.Width, p.Height, turns)
}

// giveBack returns the decoder. After an error its state is unknown.
func (d *decoding) giveBack(failed bool) {
	if d.decoder == nil {
		return
	}
	if failed {
		d.decoder.Close()
	} else {
		if d.place != nil && d.of.rest(d.place.first, d.place.sent) == 0 {
			d.place = nil
		}
		d.pool.put(d.of, d.decoder, d.place)
	}
	d.decoder, d.place = nil, nil
}
