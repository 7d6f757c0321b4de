package mp4

import (
	"context"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/media"
)

// File reads the tables of MP4 and QuickTime.
type File struct{}

var _ media.Container = File{}

// Name is "MP4".
func (File) Name() string { return "MP4" }

// Is reports whether the first bytes of a file, 64 or so, look like MP4 or QuickTime. Pictures that
// use the same boxes (HEIC, AVIF) do not.
func (File) Is(head []byte) bool {
	if len(head) < 12 {
		return false
	}
	size := be32(head)
	switch string(head[4:8]) {
	case "ftyp":
		switch string(head[8:12]) {
		case "avif", "avis", "heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1", "jp2 ", "jpx ", "crx ":
			return false
		}
		return size >= 16 && size < 1<<16
	case "mdat":
		return size == 0 || size == 1 || size >= 8
	case "moov", "wide", "free", "skip", "pnot", "styp", "moof":
		return size == 1 || size >= 8
	}
	return false
}

// Extensions are those of MP4 and QuickTime.
func (File) Extensions() []string { return []string{".mp4", ".m4v", ".mov"} }

// Extension goes by the brand of a file. QuickTime had no brands at first.
func (File) Extension(head []byte) string {
	if len(head) < 12 || string(head[4:8]) == "styp" || string(head[4:8]) == "moof" {
		return ".mp4"
	}
	brand := string(head[8:12])
	switch {
	case string(head[4:8]) != "ftyp" || brand == "qt  ":
		return ".mov"
	case strings.HasPrefix(brand, "M4V"):
		return ".m4v"
	}
	return ".mp4"
}

// Index reads the tables of a file of size bytes. It takes the first track of pictures that is
// enabled, else the first one. It reads the boxes that it needs, and up to 8 KiB beside each.
// A file that is damaged or has no pictures: errs.Invalid; encrypted or of unknown codecs, or with
// edits that no single run of frames shows: errs.Unsupported.
func (File) Index(ctx context.Context, r media.Reader, size int64) (*media.Video, error) {
	s := &source{r: r, size: size}
	m, next, err := s.movie(ctx)
	if err != nil {
		return nil, err
	}
	b := &builder{size: size, track: m.track}
	if err := b.progressive(); err != nil {
		return nil, err
	}
	if m.fragmented {
		f := &fragments{builder: b, defaults: m.defaults}
		if err := s.fragments(ctx, next, f); err != nil {
			return nil, err
		}
	}
	return b.video()
}

// movie finds the box moov, and returns where the next box begins.
func (s *source) movie(ctx context.Context) (*movie, int64, error) {
	for off := int64(0); off < s.size; {
		if ctx.Err() != nil {
			return nil, 0, errs.Cause(ctx, "index video")
		}
		b, err := s.box(ctx, off)
		if err != nil {
			if b.kind != "" && b.kind != "moov" {
				return nil, 0, errs.Wrap(errs.Invalid, `find box "moov"`, "", err)
			}
			return nil, 0, err
		}
		switch b.kind {
		case "moov":
			p, err := s.read(ctx, b)
			if err != nil {
				return nil, 0, err
			}
			m, err := newMovie(p)
			return m, b.end, err
		case "moof":
			return nil, 0, invalid(`box "moof" at byte %d comes before a box "moov"; give the file with its first segment`, off)
		}
		off = b.end
	}
	return nil, 0, invalid(`the file ends at byte %d without a box "moov"; it is cut, or its writer has not finished it`, s.size)
}

// fragments reads those from off on.
func (s *source) fragments(ctx context.Context, off int64, f *fragments) error {
	for off < s.size {
		if ctx.Err() != nil {
			return errs.Cause(ctx, "index video")
		}
		b, err := s.box(ctx, off)
		if err != nil {
			return err
		}
		if b.kind == "moof" {
			p, err := s.read(ctx, b)
			if err != nil {
				return err
			}
			if err := f.add(p, b.off); err != nil {
				return err
			}
		}
		off = b.end
	}
	return nil
}
