package video

import (
	"context"
	"slices"
	"sort"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/media"
	"deeplake/core/storage"
)

const (
	// mergeGap is the most bytes between two packets that are read with them: sound, or frames of
	// another track. A further request costs more than these.
	mergeGap = 128 << 10
	// windowBytes bounds the packets of a group that are in memory at once, but for one packet.
	windowBytes = 4 << 20
	// requestBytes bounds one read, but for one packet or part.
	requestBytes = 2 << 20
	// requestsInFlight bounds the reads of a window.
	requestsInFlight = 16
)

// windows cuts a group into runs of packets that are fetched together.
func (s *stored) windows(g media.Group) []media.Group {
	var out []media.Group
	size := int64(0)
	for i := g.First; i <= g.Last; i++ {
		n := s.table.Video.Packets[i].Bytes
		if k := len(out) - 1; k >= 0 && size+n <= windowBytes {
			out[k].Last, size = i, size+n
			continue
		}
		out, size = append(out, media.Group{First: i, Last: i}), n
	}
	return out
}

// run is bytes [from, to) of a file that are read together.
type run struct {
	from, to int64
	pieces   []piece // that packets take, in order; the bytes between them are read in vain
	data     []byte
}

// piece is bytes [from, to) of a file: whole parts, or those of a packet if the file has no parts.
type piece struct{ from, to int64 }

// runs returns the bytes that packets take, as they are read: in order of the file and apart.
func (s *stored) runs(g media.Group) []run {
	packets := append([]media.Packet(nil), s.table.Video.Packets[g.First:g.Last+1]...)
	sort.Slice(packets, func(a, b int) bool { return packets[a].Offset < packets[b].Offset })
	var out []run
	for i := range packets {
		from, to := s.whole(packets[i].Offset, packets[i].Offset+packets[i].Bytes)
		if k := len(out) - 1; k >= 0 {
			last := &out[k]
			if to <= last.to {
				continue
			}
			from = max(from, last.to)
			if from-last.to <= mergeGap && to-last.from <= requestBytes {
				last.to, last.pieces = to, append(last.pieces, piece{from, to})
				continue
			}
		}
		out = append(out, run{from: from, to: to, pieces: []piece{{from, to}}})
	}
	return out
}

// whole extends bytes [from, to) of the file to whole parts.
func (s *stored) whole(from, to int64) (int64, int64) {
	if len(s.ends) == 0 {
		return from, to
	}
	return s.start(s.partAt(from)), s.ends[s.partAt(to-1)]
}

// start returns where a part begins in the file.
func (s *stored) start(part int) int64 {
	if part == 0 {
		return 0
	}
	return s.ends[part-1]
}

// partAt returns the part that has a byte of the file.
func (s *stored) partAt(off int64) int {
	return sort.Search(len(s.ends), func(i int) bool { return s.ends[i] > off })
}

// ahead fills dst with a span that was fetched ahead of need; false: the store is to be asked.
type ahead func(ctx context.Context, s chunk.Span, dst []byte) (bool, error)

// fetched is the bytes of some packets.
type fetched []run

// fetch reads the bytes of packets, and holds them against the checksums of their parts. With an
// ahead, it reads on the caller's goroutine.
func (s *stored) fetch(ctx context.Context, g media.Group, by ahead) (fetched, error) {
	f := fetched(s.runs(g))
	if len(f) > 1 && by == nil {
		group := task.New(ctx, requestsInFlight)
		for i := range f {
			group.Go(func(ctx context.Context) error { return s.readRun(ctx, &f[i], nil) })
		}
		return f, group.Wait()
	}
	for i := range f {
		if err := s.readRun(ctx, &f[i], by); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// ReadAt fills dst with the bytes of a video's file from off on. It reads the parts that have them,
// and holds these against their checksums. Bytes outside of the file are errs.Range.
func (r *Reader) ReadAt(ctx context.Context, row int64, dst []byte, off int64) error {
	s, err := r.find(ctx, row)
	if err != nil || len(dst) == 0 {
		return err
	}
	if size := s.table.Bytes; off < 0 || off > size || int64(len(dst)) > size-off {
		return r.fail(row, errs.New(errs.Range, "%d bytes at %d are not in a file of %d", len(dst), off, size))
	}
	from, to := s.whole(off, off+int64(len(dst)))
	one := run{from: from, to: to, pieces: []piece{{from, to}}}
	if err := s.readRun(ctx, &one, nil); err != nil {
		return r.fail(row, err)
	}
	copy(dst, one.data[off-from:])
	return nil
}

func (s *stored) readRun(ctx context.Context, r *run, by ahead) error {
	r.data = slices.Grow(r.data[:0], int(r.to-r.from))[:r.to-r.from]
	err := s.readPieces(ctx, r, by)
	if err != nil {
		return err
	}
	err = s.checkRun(r)
	c := s.ref.Chunk
	if err == nil || c.Index.Linked() || !storage.Remote(c.Store) {
		return err
	}
	// Networks damage bytes: request them once more.
	storage.Forget(c.Store, c.Key)
	if err := s.readPieces(ctx, r, nil); err != nil {
		return err
	}
	return s.checkRun(r)
}

// readPieces fills a run. With an ahead, it takes the parts that were fetched ahead of need. The
// prefetcher keeps bytes that two clips share apart from others, so readPieces looks for each part
// alone. One request reads neighbouring parts that are missing.
func (s *stored) readPieces(ctx context.Context, r *run, by ahead) error {
	if by == nil {
		return s.readAt(ctx, r, r.from, r.to)
	}
	from, to := int64(-1), int64(-1) // that no one has fetched
	head := int64(len(s.ref.Head()))
	for _, p := range r.pieces {
		if p.from < head { // it is in memory, and no clip needs it
			return s.readAt(ctx, r, r.from, r.to)
		}
		for at := p.from; at < p.to; {
			end := p.to
			if len(s.ends) > 0 {
				end = s.ends[s.partAt(at)]
			}
			span, err := s.ref.Part(at, end-at)
			if err != nil {
				return err
			}
			there, err := by(ctx, span, r.data[at-r.from:end-r.from])
			if err != nil {
				return err
			}
			if there && from >= 0 {
				if err := s.readAt(ctx, r, from, to); err != nil {
					return err
				}
				from = -1
			}
			if !there {
				if from < 0 {
					from = at
				}
				to = end
			}
			at = end
		}
	}
	if from < 0 {
		return nil
	}
	return s.readAt(ctx, r, from, to)
}

// readAt reads bytes [from, to) of the file, which a run has, from the store.
func (s *stored) readAt(ctx context.Context, r *run, from, to int64) error {
	dst := r.data[from-r.from : to-r.from]
	if head := s.ref.Head(); from < int64(len(head)) {
		n := copy(dst, head[from:])
		if from, dst = from+int64(n), dst[n:]; len(dst) == 0 {
			return nil
		}
	}
	span, err := s.ref.Part(from, int64(len(dst)))
	if err != nil {
		return err
	}
	return span.Read(ctx, dst)
}

// checkRun holds the pieces of a run against the checksums of their parts.
func (s *stored) checkRun(r *run) error {
	if len(s.ends) == 0 {
		return nil
	}
	for _, p := range r.pieces {
		for i := s.partAt(p.from); i < len(s.ends) && s.start(i) < p.to; i++ {
			part := r.data[s.start(i)-r.from : s.ends[i]-r.from]
			if got, want := format.CRC(part), s.table.Parts[i].CRC; got != want {
				return errs.Op("read chunk", s.ref.Chunk.Key).New(errs.Corrupt, "bytes %d to %d of the video have checksum 0x%08x, want 0x%08x (corrupt)",
					s.start(i), s.ends[i], got, want)
			}
		}
	}
	return nil
}

// packet returns the bytes of a packet. Where they were read in several requests, they are joined.
func (f fetched) packet(p *media.Packet) []byte {
	i := sort.Search(len(f), func(i int) bool { return f[i].to > p.Offset })
	data := f[i].data[p.Offset-f[i].from:]
	if int64(len(data)) >= p.Bytes {
		return data[:p.Bytes]
	}
	out := append(make([]byte, 0, p.Bytes), data...)
	for i++; int64(len(out)) < p.Bytes; i++ {
		out = append(out, f[i].data[:min(p.Bytes-int64(len(out)), int64(len(f[i].data)))]...)
	}
	return out
}
