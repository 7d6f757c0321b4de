package matroska

import (
	"bytes"
	"context"

	"deeplake/core/media"
)

// File reads the elements of Matroska and WebM.
type File struct{}

var _ media.Container = File{}

// Name is "Matroska".
func (File) Name() string { return "Matroska" }

// Is reports whether the first bytes of a file, 64 or so, are those of EBML. Matroska and WebM use
// it, and hardly anything else: Index refuses other uses.
func (File) Is(head []byte) bool { return bytes.HasPrefix(head, []byte{0x1a, 0x45, 0xdf, 0xa3}) }

// Extensions are those of Matroska and WebM.
func (File) Extensions() []string { return []string{".mkv", ".webm"} }

// Extension goes by the kind that the header states.
func (File) Extension(head []byte) string {
	header, ok := parse(head, 0)
	if !ok || header.open {
		return ".mkv"
	}
	for off := header.body; off < min(header.end, int64(len(head))); {
		e, ok := parse(head[off:], off)
		if !ok || e.open || e.end > int64(len(head)) {
			break
		}
		if e.id == idDocType && text(head[e.body:e.end]) == "webm" {
			return ".webm"
		}
		off = e.end
	}
	return ".mkv"
}

// Index finds the packets of a file of size bytes. It takes the first track of pictures that is
// enabled and a default, else the first enabled one, else the first one. A file that is damaged or
// has no pictures: errs.Invalid; encrypted, compressed or laced packets, or unknown codecs:
// errs.Unsupported.
//
// Index reads the head of each block, one request after the other. Where they lie 256 KiB apart or
// less in the mean, that reads the file in windows of 1 MiB: a thousand requests for a gigabyte.
// Else each head takes a request of 8 KiB: at most four thousand for a gigabyte.
func (File) Index(ctx context.Context, r media.Reader, size int64) (*media.Video, error) {
	f := &file{source: source{r: r, size: size}, scale: 1_000_000}
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	for off := f.segment.body; off < f.segment.end; {
		e, err := f.element(ctx, off, f.segment)
		if err != nil {
			return nil, err
		}
		if f.segment.open && (e.id == idHeader || e.id == idSegment) {
			break // that follows the first segment
		}
		if off, err = f.add(ctx, e); err != nil {
			return nil, err
		}
	}
	if f.track == nil {
		return nil, invalid(`the file ends at byte %d without an element "Tracks"; it is cut, or its writer has not finished it`, f.segment.end)
	}
	return f.video()
}

// file is a file whose elements are being read.
type file struct {
	source
	segment element
	places  map[id]int64 // of elements, as SeekHead has them
	info    bool         // was read
	scale   int64        // nanoseconds of a unit of time
	length  float64      // in such units
	track   *track
	packets packets
}

// begin reads the header, and finds the segment.
func (f *file) begin(ctx context.Context) error {
	all := element{id: idHeader, end: f.size}
	if f.size == 0 {
		return invalid("the file ends at byte 0, before its header")
	}
	header, err := f.element(ctx, 0, all)
	if err != nil {
		return err
	}
	if header.id != idHeader {
		return invalid("the file begins with element %v, want %v", header.id, idHeader)
	}
	if err := f.header(ctx, header); err != nil {
		return err
	}
	for off := header.end; off < f.size; {
		e, err := f.element(ctx, off, all)
		if err != nil {
			return err
		}
		if e.id == idSegment {
			f.segment = e
			return nil
		}
		off = e.end
	}
	return invalid("the file ends at byte %d without an element %v", f.size, idSegment)
}

// header checks the kind of the file.
func (f *file) header(ctx context.Context, e element) error {
	kind, version, ids, sizes := "", uint64(1), uint64(4), uint64(8)
	err := f.each(ctx, e, func(e element, body []byte) error {
		switch e.id {
		case idDocType:
			kind = text(body[:min(len(body), 64)])
		case idDocReadVersion:
			return e.number(body, &version)
		case idMaxIDLength:
			return e.number(body, &ids)
		case idMaxSizeLength:
			return e.number(body, &sizes)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case kind != "matroska" && kind != "webm":
		return invalid("element %v states the kind %q, want matroska or webm", idDocType, kind)
	case version > 4 || ids > 4 || sizes > 8:
		return unsupported("it needs a reader of version %d of Matroska, with ids of %d bytes and sizes of %d; this one knows 4, 4 and 8", version, ids, sizes)
	}
	return nil
}

// add takes an element of the segment, and returns where the next one begins.
func (f *file) add(ctx context.Context, e element) (int64, error) {
	var err error
	switch e.id {
	case idSeekHead:
		err = f.seekHead(ctx, e)
	case idInfo:
		err = f.addInfo(ctx, e)
	case idTracks:
		err = f.addTracks(ctx, e)
	case idCluster:
		if err = f.late(ctx, e); err != nil {
			return 0, err
		}
		return f.cluster(ctx, e)
	}
	return e.end, err
}

// seekHead notes where the segment has its other elements. The first one that says so counts.
func (f *file) seekHead(ctx context.Context, e element) error {
	if f.places != nil {
		return nil
	}
	f.places = map[id]int64{}
	return f.each(ctx, e, func(e element, body []byte) error {
		if e.id != idSeek {
			return nil
		}
		var kind, place uint64
		err := e.each(body, func(e element, body []byte) error {
			switch e.id {
			case idSeekID:
				return e.number(body, &kind)
			case idSeekPosition:
				return e.number(body, &place)
			}
			return nil
		})
		if err == nil && place < media.MaxFile && (kind == uint64(idInfo) || kind == uint64(idTracks)) {
			f.places[id(kind)] = f.segment.body + int64(place)
		}
		return err
	})
}

// late reads elements behind the clusters, which SeekHead names and clusters need.
func (f *file) late(ctx context.Context, cluster element) error {
	for _, kind := range []id{idInfo, idTracks} {
		off, ok := f.places[kind]
		if !ok || off >= f.segment.end || kind == idInfo && f.info || kind == idTracks && f.track != nil {
			continue
		}
		e, err := f.element(ctx, off, f.segment)
		if err != nil {
			return err
		}
		if e.id != kind {
			return invalid("element %v places %v at byte %d, where %v is", idSeekHead, kind, off, e.id)
		}
		if _, err := f.add(ctx, e); err != nil {
			return err
		}
	}
	if f.track == nil {
		return invalid("element %v at byte %d comes before an element %v; give the file with its beginning", idCluster, cluster.off, idTracks)
	}
	f.info = true // times count by now
	return nil
}

// addInfo takes the scale of times.
func (f *file) addInfo(ctx context.Context, e element) error {
	if f.info {
		return nil
	}
	f.info = true
	scale := uint64(f.scale)
	err := f.each(ctx, e, func(e element, body []byte) error {
		switch e.id {
		case idTimestampScale:
			err := e.number(body, &scale)
			if err == nil && (scale == 0 || scale > media.MaxTime) {
				err = invalid("element %v at byte %d is %d nanoseconds", e.id, e.off, scale)
			}
			return err
		case idDuration:
			return e.float(body, &f.length)
		}
		return nil
	})
	f.scale = int64(scale)
	return err
}
