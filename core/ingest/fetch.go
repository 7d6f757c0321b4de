package ingest

import (
	"context"
	"io"

	"deeplake/core/codec"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

const (
	// budgetBytes bounds the bytes that are fetched and not yet written.
	budgetBytes = 64 << 20
	// waitingObjects bounds the objects on their way, however small.
	waitingObjects = 4096
	// listedAhead is the number of objects that are listed before they are fetched. It keeps the
	// fetchers busy while a page of the listing is read.
	listedAhead = 4096
	// maxFileBytes bounds one file: it must fit into one chunk, however large.
	maxFileBytes = 1 << 30
	// sourceWorkers is the number of requests at once to a store across a network; the store's own
	// limit may be lower.
	sourceWorkers = 64
	// sniffBytes tell what a file is whose name does not.
	sniffBytes = 16
	// headBytes of a picture tell its shape nearly always, maxHeadBytes always.
	headBytes    = 16 << 10
	maxHeadBytes = 16 << 20
)

// row is a row to be, or why something is none.
type row struct {
	path   string // names it in a report
	reason string // not empty: it is left out
	image  tensor.Sample
	class  string // "": none
	label  []byte // int64, or nil
	text   []byte // or nil
	json   []byte // or nil
	memory []byte // to give back when the row is written
	bytes  int64
	from   origin
}

// pipeline finds objects, fetches them side by side, and gives them to write in the order of the
// listing. The context of write ends when the rows of an object may never come. ready is called
// once, while the first objects are on their way.
func (im *importer) pipeline(ctx context.Context, v *dataset.View, write func(ctx context.Context, o *object) error, ready func() error) error {
	g := task.New(ctx, 0)
	found, todo, order := make(chan *object, listedAhead), make(chan *object), make(chan *object, waitingObjects)
	g.Go(func(ctx context.Context) error {
		defer close(found)
		return im.match(ctx, v, func(o *object) bool { return handOn(ctx, found, o) })
	})
	g.Go(func(ctx context.Context) error {
		defer close(todo)
		defer close(order)
		for o := range found {
			o.cost = im.costOf(o.Entry)
			o.out = make(chan []row, im.depth(o))
			// The writer waits for those that come first.
			if !im.budget.take(ctx, o.cost) || !handOn(ctx, order, o) || !handOn(ctx, todo, o) {
				break
			}
		}
		return nil
	})
	for range im.workers() {
		g.Go(func(ctx context.Context) error {
			for o := range todo {
				o.err = im.fetch(ctx, o)
				close(o.out)
			}
			return nil
		})
	}
	err := ready()
	if err != nil {
		g.Stop()
	}
	for o := range order {
		if err == nil {
			if err = ctx.Err(); err == nil {
				err = write(g.Context(), o)
			}
			if err != nil {
				g.Stop()
			}
		}
	}
	if waited := g.Wait(); err == nil {
		err = waited
	}
	if ctx.Err() != nil {
		return errs.Wrap(errs.Canceled, "import from", im.source.URI(), ctx.Err())
	}
	return err
}

// handOn sends an object to the channel, and reports whether ctx was not cancelled before.
func handOn(ctx context.Context, to chan<- *object, o *object) bool {
	select {
	case to <- o:
		return true
	case <-ctx.Done():
		return false
	}
}

// depth is the number of portions of rows that may wait to be written.
func (im *importer) depth(o *object) int {
	if im.o.Link && isArchive(o.Key) {
		return archivePortions
	}
	return 1
}

func (im *importer) workers() int {
	switch {
	case im.o.Workers > 0:
		return im.o.Workers
	case im.source.local:
		return max(4, 2*task.Cores())
	default:
		return sourceWorkers
	}
}

// fetch makes the rows of an object. An error is about the source; a fault of the object
// becomes a row with a reason.
func (im *importer) fetch(ctx context.Context, o *object) error {
	var r row
	var err error
	switch {
	case isArchive(o.Key) && im.o.Link:
		err = im.indexArchive(ctx, o)
	case isArchive(o.Key):
		r.reason = "an archive of files; index it in place with link, or unpack it first"
	case im.o.Link:
		r, err = im.linkObject(ctx, o)
	default:
		r, err = im.copyObject(ctx, o)
	}
	if err != nil {
		if im.fatal(ctx, err) {
			return err
		}
		r = row{reason: err.Error()}
	} else if isArchive(o.Key) && im.o.Link {
		return nil
	}
	r.path = o.Key
	if r.from.key == "" {
		r.from = o.origin()
	}
	return o.send(ctx, []row{r})
}

// send hands rows to the writer, waiting for room.
func (o *object) send(ctx context.Context, rows []row) error {
	select {
	case o.out <- rows:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fatal reports whether err is about more than one object. A folder that fails now and then is read
// on; a store across a network that fails in spite of repetitions, or refuses, will do so for the
// next object too.
func (im *importer) fatal(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return true
	}
	switch errs.KindOf(err) {
	case errs.Storage, errs.Denied:
		return !im.source.local
	case errs.Closed, errs.Canceled, errs.Internal:
		return true
	}
	return false
}

// ask begins to read an object from off on as the listing has named it, or as it is now where it
// has changed since. what it is stands in the origin.
func (im *importer) ask(ctx context.Context, o *object, off, n int64) (storage.Body, origin, error) {
	body, err := im.source.Range(ctx, o.Key, off, n, o.Tag)
	if errs.Is(err, errs.Conflict) {
		body, err = im.source.Range(ctx, o.Key, off, n, "")
	}
	from := o.origin()
	if err != nil {
		return nil, from, err
	}
	if tag := body.Tag(); tag != "" && tag != from.tag {
		from.tag = tag
	}
	if size := body.Size(); size >= 0 {
		from.size = size
	}
	return body, from, nil
}

// unchanged is a row for an object of which the listing did not tell enough to leave it alone.
const unchanged = "unchanged"

// copyObject reads a whole picture.
func (im *importer) copyObject(ctx context.Context, o *object) (row, error) {
	if !im.pictureName(o.Key) {
		body, _, err := im.ask(ctx, o, 0, sniffBytes)
		if err != nil {
			return row{}, err
		}
		data, err := io.ReadAll(body)
		_ = body.Close()
		if _, ok := im.env.Codecs.Sniff(data); !ok || err != nil {
			return row{reason: noPicture(data)}, err
		}
	}
	body, from, err := im.ask(ctx, o, 0, -1)
	if err != nil {
		return row{}, err
	}
	defer func() { _ = body.Close() }()
	if o.was != nil && !from.vague() && o.was.same(from) {
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
		return row{reason: noPicture(data)}, nil
	}
	r := row{image: tensor.Sample{Form: tensor.FormEncoded, Data: data}, memory: data, bytes: n, from: from}
	if r.reason = im.placed(o.Key, &r); r.reason == "" && im.fit != nil {
		r.image, err = im.fit.apply(data)
		im.release(&r)
		if err != nil {
			// whether of the picture, or of what it takes to fit one, fetch tells by its kind
			return row{}, err
		}
	}
	return r, nil
}

func noPicture(data []byte) string {
	if len(data) == 0 {
		return "the file is empty"
	}
	return "not a JPEG, PNG or WebP file"
}

// placed sets the class of a row, if the import has classes, or returns the fault of its path.
func (im *importer) placed(key string, r *row) string {
	if !im.labels {
		return ""
	}
	if r.class = classOf(key); r.class == "" {
		return "lies outside the class folders, hence has no label"
	}
	return ""
}

// linkObject reads the beginning of a picture that stays where it is.
func (im *importer) linkObject(ctx context.Context, o *object) (row, error) {
	for n := int64(headBytes); ; n *= 8 {
		if !im.pictureName(o.Key) && n == headBytes {
			n = headBytes / 8 // it may well be none
		}
		body, from, err := im.ask(ctx, o, 0, n)
		if err != nil {
			return row{}, err
		}
		if o.was != nil && !from.vague() && o.was.same(from) {
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
		if from.size < 0 {
			return row{reason: "the source does not say how large it is, hence it cannot be linked"}, nil
		}
		more := false
		r.image, more, r.reason = im.linkTo(data, tensor.Link{URL: urlOf(im.source.URI(), o.Key), Length: from.size, Tag: from.tag, Size: from.size})
		im.buffers.put(data)
		if more && int64(len(data)) < from.size && n < maxHeadBytes {
			continue
		}
		if r.reason == "" {
			r.reason = im.placed(o.Key, &r)
		}
		return r, nil
	}
}

// linkTo makes the sample of a link to a picture that begins with data.
func (im *importer) linkTo(data []byte, l tensor.Link) (s tensor.Sample, more bool, reason string) {
	if _, ok := im.env.Codecs.Sniff(data); !ok {
		return s, false, noPicture(data)
	}
	h, id, more, err := dataset.LookAtHead(im.env.Codecs, data, codec.RGB)
	switch {
	case err != nil:
		return s, false, err.Error()
	case more:
		return s, true, "its beginning does not tell its shape; the file is cut or damaged"
	}
	l.Codec = uint8(id)
	return tensor.Sample{Form: tensor.FormLink, DType: h.DType, Shape: h.Shape, Link: &l}, false, ""
}
