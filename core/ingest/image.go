package ingest

import (
	"cmp"
	"context"
	"io"
	"path"

	"deeplake/core/codec"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/media"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

const (
	// maxFileBytes bounds one file: it must fit into one chunk, however large.
	maxFileBytes = 1 << 30
	// headBytes of a picture tell its shape nearly always, maxHeadBytes always.
	headBytes    = 16 << 10
	maxHeadBytes = 16 << 20

	// The memory of a row besides its file, of the head of a linked picture, and of a file whose
	// size the listing does not give.
	rowCost     = 1 << 10
	headCost    = 32 << 10
	unknownCost = 1 << 20
)

// fileFormat makes a row of each object that is a picture, or of each that is a video. It comes
// last in the table and takes any name: the content decides.
func fileFormat() Format {
	return Format{
		Probe: func(string) bool { return true },
		Cost:  (*importer).fileCost,
		Rows: func(ctx context.Context, im *importer, o *object) error {
			if im.videos {
				r, err := im.readVideo(ctx, o)
				if err != nil {
					return err
				}
				return o.sendOne(ctx, r)
			}
			if im.isOther(o.Key) {
				return o.sendOne(ctx, row{reason: im.notNamed(o.Key)})
			}
			if o.same {
				if same, err := im.sameAnnotations(ctx, o); same || err != nil {
					return cmp.Or(err, o.sendOne(ctx, row{reason: unchanged}))
				}
			}
			read := im.copyObject
			if im.o.Link {
				read = im.linkObject
			}
			r, err := read(ctx, o)
			if err == nil && im.set != nil && r.reason == "" {
				err = im.annotate(ctx, o, &r)
			}
			if err != nil {
				return err
			}
			return o.sendOne(ctx, r)
		},
	}
}

// fileCost adds the pixels of a picture that is resized: they may be far larger than its file.
func (im *importer) fileCost(e storage.Entry) int64 {
	fitted := 3 * int64(im.o.Size) * int64(im.o.Size)
	switch {
	case im.o.Link && im.videos:
		return tableCost
	case im.o.Link:
		return headCost
	case im.videos && e.Size < 0:
		return unknownVideo
	case e.Size < 0:
		return unknownCost + fitted
	default:
		return e.Size + rowCost + fitted
	}
}

// pictureName reports whether the extension of an object's name is one of a sample codec.
func (im *importer) pictureName(key string) bool {
	_, ok := im.env.Codecs.ByExtension(path.Ext(key))
	return ok
}

// copyObject reads a whole picture.
func (im *importer) copyObject(ctx context.Context, o *object) (row, error) {
	if !im.pictureName(o.Key) {
		body, _, err := im.ask(ctx, o, 0, media.HeadBytes)
		if err != nil {
			return row{}, err
		}
		data, err := io.ReadAll(body)
		_ = body.Close()
		if _, ok := im.env.Codecs.Sniff(data); !ok || err != nil {
			return row{reason: im.noPicture(data), other: true}, err
		}
	}
	body, from, err := im.ask(ctx, o, 0, -1)
	if err != nil {
		return row{}, err
	}
	defer func() { _ = body.Close() }()
	if o.was != nil && !o.same && im.set == nil && !from.Vague() && o.was.Same(from) {
		return row{reason: unchanged}, nil
	}
	n := body.Len()
	if n > maxFileBytes {
		return row{reason: errs.New(errs.Invalid, "the file has %d bytes, want at most %d", n, int64(maxFileBytes)).Error()}, nil
	}
	data := im.buffers.get(n)
	if _, err := io.ReadFull(body, data); err != nil {
		im.buffers.put(data)
		return row{}, errs.Wrap(errs.Storage, "read", o.Key, err)
	}
	if _, ok := im.env.Codecs.Sniff(data); !ok {
		im.buffers.put(data)
		return row{reason: im.noPicture(data)}, nil
	}
	r := row{bytes: n, from: from}
	r.set(imageKind, tensor.Sample{Form: tensor.FormEncoded, Data: data})
	r.values[0].memory = data
	if r.reason = im.placed(o.Key, &r); r.reason == "" && im.fit != nil {
		s, err := im.fit.apply(data)
		im.release(&r)
		if err != nil {
			return row{}, err // fetch tells by its kind whether the picture is at fault
		}
		r.values[0].Sample = s
	}
	return r, nil
}

func (im *importer) noPicture(data []byte) string {
	if len(data) == 0 {
		return "the file is empty"
	}
	if im.env.Containers.Of(data) != nil {
		return "a video, and this is an import of images; format=\"" + Videos + "\" imports the videos, into another dataset"
	}
	return "not a " + im.env.Codecs.Titles("or") + " file"
}

// placed sets the class of a row, if the import has classes, or returns the fault of its path.
func (im *importer) placed(key string, r *row) string {
	if !im.labels {
		return ""
	}
	class := im.source.classOf(key)
	if class == "" {
		return "lies outside the class folders, hence has no label"
	}
	r.set(labelKind, textSample(tensor.String, []byte(class)))
	return ""
}

// linkObject reads the beginning of a picture and links it.
func (im *importer) linkObject(ctx context.Context, o *object) (row, error) {
	for n := int64(headBytes); ; n *= 8 {
		if !im.pictureName(o.Key) && n == headBytes {
			n = headBytes / 8 // it may well be none
		}
		body, from, err := im.ask(ctx, o, 0, n)
		if err != nil {
			return row{}, err
		}
		if o.was != nil && !o.same && im.set == nil && !from.Vague() && o.was.Same(from) {
			_ = body.Close()
			return row{reason: unchanged}, nil
		}
		data := im.buffers.get(body.Len())
		_, err = io.ReadFull(body, data)
		_ = body.Close()
		if err != nil {
			return row{}, errs.Wrap(errs.Storage, "read", o.Key, err)
		}
		r := row{bytes: int64(len(data)), from: from}
		if from.Size < 0 {
			return row{reason: "the source does not say how large it is, hence it cannot be linked"}, nil
		}
		link := tensor.Link{URL: urlOf(im.source.URI(), o.Key), Length: from.Size, Tag: from.Tag, Size: from.Size}
		s, more, reason := im.linkTo(data, link, im.form(codec.RGB))
		im.buffers.put(data)
		if more && int64(len(data)) < from.Size && n < maxHeadBytes {
			continue
		}
		r.set(imageKind, s)
		if r.reason = reason; reason == "" {
			r.reason = im.placed(o.Key, &r)
		}
		return r, nil
	}
}

// form returns the form in which pictures are decoded.
func (im *importer) form(c codec.Channels) codec.Channels { return im.o.form(c) }

// form adds the turning of images to channels.
func (o Options) form(c codec.Channels) codec.Channels {
	if o.Upright {
		c |= codec.Upright
	}
	return c
}

// linkTo makes the sample of a link to a picture that begins with data. more says that the shape
// lies behind data.
func (im *importer) linkTo(data []byte, l tensor.Link, want codec.Channels) (s tensor.Sample, more bool, reason string) {
	if _, ok := im.env.Codecs.Sniff(data); !ok {
		return s, false, im.noPicture(data)
	}
	h, id, more, err := dataset.LookAtHead(im.env.Codecs, data, want)
	switch {
	case err != nil:
		return s, false, err.Error()
	case more:
		return s, true, "its beginning does not tell its shape; the file is cut or damaged"
	}
	l.Codec = uint8(id)
	return tensor.Sample{Form: tensor.FormLink, DType: h.DType, Shape: h.Shape, Link: &l}, false, ""
}
