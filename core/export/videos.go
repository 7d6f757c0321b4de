package export

import (
	"context"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/video"
)

const (
	// apartBytes is the size above which a video is read piece by piece. Smaller ones are read with
	// the other samples of a batch, in fewer requests.
	apartBytes = 1 << 20
	// mostCopies bounds the videos that are copied at once, with some 10 MB of memory each.
	mostCopies = 8
)

// copyVideos lets large videos be copied without being in memory as a whole. The rows of a query
// with computed columns have no tables, and theirs are.
func (e *exporter) copyVideos(columns []*column) error {
	for _, c := range columns {
		if c.kind != isVideo || c.videos != nil {
			continue
		}
		r, err := video.Open(e.view, c.Name(), nil)
		if errs.Is(err, errs.Unsupported) {
			continue
		}
		if err != nil {
			return err
		}
		c.videos, e.readers = r, append(e.readers, r)
	}
	return nil
}

// closeReaders frees what copyVideos has opened.
func (e *exporter) closeReaders() {
	for _, r := range e.readers {
		r.Close()
	}
}

// isApart reports whether a sample is a video that is copied piece by piece.
func (c *column) isApart(ref *chunk.Ref) bool {
	return c.videos != nil && !ref.Hole() && ref.Stored > apartBytes
}

// pieces passes the video of a row to fn, piece by piece. fn does not keep a piece.
func (e *exporter) pieces(ctx context.Context, c *column, row int64, v *value, fn func(piece []byte) error) error {
	if v.apart == 0 {
		return fn(v.Data)
	}
	select {
	case e.copies <- struct{}{}:
	case <-ctx.Done():
		return errs.Cause(ctx, "copy a video")
	}
	defer func() { <-e.copies }()
	return c.videos.Copy(ctx, row, fn)
}

// videoExtension returns the extension of a video that begins with head, with its dot.
func (e *exporter) videoExtension(head []byte) string {
	if extension := e.env.Containers.Extension(head); extension != "" {
		return extension
	}
	return ".bin"
}

// putVideo writes the video of a row. name has no extension.
func (e *exporter) putVideo(ctx context.Context, p *part, name string, c *column, row int64, v *value) error {
	if v.apart == 0 {
		return e.put(ctx, p, name+e.videoExtension(v.Data), v.Data)
	}
	var f *file
	err := e.pieces(ctx, c, row, v, func(piece []byte) (err error) {
		if f == nil {
			if f, err = e.create(ctx, name+e.videoExtension(piece)); err != nil {
				return err
			}
		}
		_, err = f.Write(piece)
		return err
	})
	if f != nil {
		defer f.Abort()
	}
	if err == nil {
		err = f.finish(ctx, p.written)
	}
	if err != nil {
		return errs.InRow(errs.KindOf(err), row, "row %d of tensor %q: %w", row, c.Name(), err)
	}
	return nil
}
