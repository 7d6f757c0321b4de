package ingest

import (
	"archive/tar"
	"context"
	"io"
	"path"

	"deeplake/core/dataset/origin"
	"deeplake/core/errs"
	"deeplake/core/ingest/target"
	"deeplake/core/media"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

const (
	// maxVideoBytes bounds a video that is copied, and those of one sample of an archive together:
	// a video is one piece of memory.
	maxVideoBytes = 2 << 30
	// unknownVideo is the memory of a video whose size the listing does not give. A larger one is
	// read when the writer has come to it, so that one at a time is in memory.
	unknownVideo = 8 << 20
	// growFrom is the first piece of memory of a video whose size may be a lie.
	growFrom = 8 << 20
	// tableCost is the memory of the tables of a linked video while they are read.
	tableCost = 2 << 20
	// packetCost is the memory of a packet in tables.
	packetCost = 40
	// lookedAt bounds the files that are opened to learn their kind, where no name tells it.
	lookedAt = 8
)

// isVideo reports whether the name of an object is that of a video.
func (l *source) isVideo(key string) bool { return l.containers.Named(path.Ext(listPath(key))) }

// chooseMedia decides whether the files of the source are imported as images or as videos: as the
// user says, as the import before did, as the names tell, or else as the first files are.
func (im *importer) chooseMedia(ctx context.Context) error {
	l, was := im.source, false
	if im.d != nil {
		desc, err := im.d.Describe()
		if err != nil {
			return err
		}
		state, isOfImport := desc.Info[target.StateKey].(map[string]any)
		im.continued = isOfImport
		was, _ = state["videos"].(bool)
	}
	switch {
	case im.o.Format != "":
		im.videos = im.o.Format == Videos
	case im.continued:
		im.videos = was
	case l.image == "" && l.video == "" && l.shards == 0:
		im.videos = im.beginsWithVideo(ctx)
	default:
		im.videos = l.image == "" && l.video != ""
	}
	if !im.videos {
		return nil
	}
	im.noImages, im.report.Format = true, Videos
	op := errs.Op("import from", l.URI())
	for option, given := range map[string]bool{"annotations": im.o.Annotations != "", "masks": im.o.Masks, `on_error="accept"`: im.o.OnError == Accept} {
		if given {
			return op.New(errs.Invalid, "%s is for images, and the source has videos; leave it out", option)
		}
	}
	compresses := im.o.Compression != "" && im.o.Compression != "auto"
	for option, given := range map[string]bool{"size": im.o.Size > 0, "compression": compresses, "apply_exif_orientation": im.o.Upright} {
		if given && l.shards == 0 { // which may have images
			return op.New(errs.Invalid, "%s is for images, and videos are stored as they are; leave it out, or give format=%q to import the images of the source", option, Images)
		}
	}
	return nil
}

// checkMedia refuses a source with images and videos, of which the user has not chosen one. A later
// run of an import, and one of images with annotations, report the files of the other kind.
func (im *importer) checkMedia() error {
	l := im.source
	if l.image == "" || l.video == "" || im.o.Format != "" || im.continued || im.set != nil {
		return nil
	}
	return errs.Op("import from", l.URI()).New(errs.Invalid, "it has images, such as %q, and videos, such as %q, and an import takes one kind; "+
		"give format=%q or format=%q, and import the others into another dataset", l.image, l.video, Images, Videos)
}

// beginsWithVideo reports whether the first file with a known content is a video. Faults are those
// of the import, which reads the files again.
func (im *importer) beginsWithVideo(ctx context.Context) bool {
	if len(im.env.Containers) == 0 {
		return false
	}
	var first []storage.Entry
	look := func(e storage.Entry) bool {
		if !isMarker(e) && !im.source.isOwn(e.Key) {
			first = append(first, e)
		}
		return len(first) < lookedAt
	}
	if im.source.local {
		_ = im.source.Source.Objects(ctx, "", "", look)
	} else {
		for _, e := range im.source.first {
			if !look(e) {
				break
			}
		}
	}
	for _, e := range first {
		body, err := im.source.Range(ctx, e.Key, 0, media.HeadBytes, "")
		if err != nil {
			continue
		}
		head, err := io.ReadAll(body)
		_ = body.Close()
		if _, isImage := im.env.Codecs.Sniff(head); isImage && err == nil {
			return false
		}
		if im.env.Containers.Of(head) != nil && err == nil {
			return true
		}
	}
	return false
}

// readVideo makes a row of a video.
func (im *importer) readVideo(ctx context.Context, o *object) (row, error) {
	if !im.source.isVideo(o.Key) { // it may well be none
		head, _, err := im.peek(ctx, o)
		if err != nil || im.env.Containers.Of(head) == nil {
			return row{reason: im.noVideo(head), other: true}, err
		}
	}
	read := im.copyVideo
	if im.o.Link {
		read = im.linkVideo
	}
	r, err := read(ctx, o)
	if err == nil && r.reason == "" {
		r.reason = im.placed(o.Key, &r)
	}
	return r, err
}

// peek reads the first bytes of an object.
func (im *importer) peek(ctx context.Context, o *object) (head []byte, from origin.Origin, err error) {
	body, from, err := im.ask(ctx, o, 0, media.HeadBytes)
	if err != nil {
		return nil, from, err
	}
	defer func() { _ = body.Close() }()
	head, err = io.ReadAll(body)
	return head, from, errs.Wrap(errs.Storage, "read", o.Key, err)
}

// copyVideo reads a whole video.
func (im *importer) copyVideo(ctx context.Context, o *object) (row, error) {
	body, from, err := im.ask(ctx, o, 0, -1)
	if err != nil {
		return row{}, err
	}
	defer func() { _ = body.Close() }()
	if o.was != nil && !from.Vague() && o.was.Same(from) {
		return row{reason: unchanged}, nil
	}
	n := body.Len()
	if o.Size < 0 && n > unknownVideo && !o.isNext() {
		_ = body.Close() // a server does not wait
		if err := o.wait(ctx); err != nil {
			return row{}, err
		}
		return im.copyVideo(ctx, o)
	}
	head := make([]byte, min(n, media.HeadBytes))
	if _, err := io.ReadFull(body, head); err != nil {
		return row{}, errs.Wrap(errs.Storage, "read", o.Key, err)
	}
	switch {
	case im.env.Containers.Of(head) == nil:
		return row{reason: im.noVideo(head)}, nil
	case n > maxVideoBytes:
		return row{reason: tooLarge(n)}, nil
	}
	r := row{bytes: n, from: from}
	s, err := im.readFile(ctx, o.Key, head, body, n, true)
	if err != nil {
		return row{}, err // fetch tells by its kind whether the video is at fault
	}
	r.set(videoKind, s)
	r.values[0].memory = s.Data
	return r, nil
}

// linkVideo reads the tables of a video, and links it.
func (im *importer) linkVideo(ctx context.Context, o *object) (row, error) {
	head, from, err := im.peek(ctx, o)
	switch {
	case err != nil:
		return row{}, err
	case o.was != nil && !from.Vague() && o.was.Same(from):
		return row{reason: unchanged}, nil
	case im.env.Containers.Of(head) == nil:
		return row{reason: im.noVideo(head)}, nil
	case from.Size < 0:
		return row{reason: "the source does not say how large it is, hence it cannot be linked"}, nil
	}
	file := &objectFile{source: im.source, key: o.Key, tag: from.Tag}
	s, err := file.link(ctx, tensor.Link{URL: urlOf(im.source.URI(), o.Key), Length: from.Size, Tag: from.Tag, Size: from.Size})
	if err != nil {
		return row{}, err
	}
	r := row{bytes: int64(len(head)) + file.bytes, from: from}
	r.set(videoKind, s)
	return r, nil
}

func tooLarge(n int64) string {
	return errs.New(errs.Invalid, "the video has %d bytes, want at most %d; --link (link=True) leaves it where it is", n, int64(maxVideoBytes)).Error()
}

// noVideo says why a file that begins with head is left out of an import of videos.
func (im *importer) noVideo(head []byte) string {
	if len(head) == 0 {
		return "the file is empty"
	}
	if _, isImage := im.env.Codecs.Sniff(head); isImage {
		return "an image, and this is an import of videos; format=\"" + Images + "\" imports the images, into another dataset"
	}
	return "not a video of " + im.env.Containers.Titles()
}

// readFile reads a video of size bytes, of which head is read already. If size may be a lie, memory
// grows with the bytes that are there.
func (im *importer) readFile(ctx context.Context, name string, head []byte, rest io.Reader, size int64, isSure bool) (tensor.Sample, error) {
	first := size
	if !isSure {
		first = min(size, growFrom)
	}
	data := im.buffers.get(first)[:0]
	for data = append(data, head...); int64(len(data)) < size; {
		n := min(size, int64(cap(data)))
		if int64(len(data)) == n {
			n = min(size, 4*n)
			less := data
			data = append(make([]byte, 0, n), less...)
			im.buffers.put(less)
		}
		have := len(data)
		data = data[:n]
		if _, err := io.ReadFull(rest, data[have:]); err != nil {
			im.buffers.put(data)
			return tensor.Sample{}, errs.Wrap(errs.Storage, "read", name, err)
		}
	}
	v, err := im.env.Containers.Index(ctx, media.Bytes(data), size)
	if err != nil {
		im.buffers.put(data)
		return tensor.Sample{}, err
	}
	return tensor.Sample{Form: tensor.FormEncoded, DType: tensor.Bytes, Data: data, Tables: v}, nil
}

// objectFile is an object of the source, or a part of one, whose tables are read.
type objectFile struct {
	source *source
	key    string
	tag    string
	offset int64 // of the part
	bytes  int64 // that were read
}

// ReadAt reads bytes of the object, if it is still the one of the tag.
func (f *objectFile) ReadAt(ctx context.Context, dst []byte, off int64) error {
	body, err := f.source.Range(ctx, f.key, f.offset+off, int64(len(dst)), f.tag)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	n, err := io.ReadFull(body, dst)
	f.bytes += int64(n)
	return errs.Wrap(errs.Storage, "read", f.key, err)
}

// link reads the tables of the file, and makes a sample that links to it.
func (f *objectFile) link(ctx context.Context, l tensor.Link) (tensor.Sample, error) {
	v, err := f.source.containers.Index(ctx, f, l.Length)
	return tensor.Sample{Form: tensor.FormLink, DType: tensor.Bytes, Link: &l, Tables: v}, err
}

// packets is the memory of the tables of a sample.
func packets(s *tensor.Sample) int64 {
	if v, ok := s.Tables.(*media.Video); ok {
		return packetCost * int64(len(v.Packets))
	}
	return 0
}

// video takes the video of a sample, after a look at its beginning.
func (s *shard) video(ctx context.Context, v value, h *tar.Header, at int64, data io.Reader) error {
	im := s.im
	if h.Size > maxVideoBytes-s.videos && !im.o.Link {
		s.leaveOut(v.path, tooLarge(h.Size))
		return nil
	}
	head := make([]byte, min(h.Size, media.HeadBytes))
	if _, err := io.ReadFull(data, head); err != nil {
		return err
	}
	if im.env.Containers.Of(head) == nil {
		s.leaveOut(v.path, im.noVideo(head))
		return nil
	}
	var err error
	if im.o.Link {
		file := &objectFile{source: im.source, key: s.name, tag: s.from.Tag, offset: at}
		v.Sample, err = file.link(ctx, tensor.Link{URL: s.url, Offset: at, Length: h.Size, Tag: s.from.Tag, Size: s.from.Size})
		if err != nil && !bad(err) {
			return sendError{err} // of the source, of which r knows nothing
		}
	} else {
		if h.Size > archiveCost {
			if err := s.wait(ctx); err != nil {
				return sendError{err}
			}
		}
		v.Sample, err = im.readFile(ctx, h.Name, head, data, h.Size, !s.packed)
		v.memory = v.Data
	}
	switch {
	case err != nil && bad(err):
		s.leaveOut(v.path, err.Error())
		return nil
	case err != nil:
		return err
	}
	s.videos += int64(len(v.Data))
	s.add(v, max(int64(len(v.Data)), int64(len(head))))
	return nil
}
