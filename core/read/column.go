package read

import (
	"context"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Column is one tensor of a view, or a computed column. All methods are safe in parallel; parallel
// calls need distinct Workers.
//
// A row is a position in the view. Errors need not name tensor and row: the caller adds them.
type Column interface {
	Name() string
	// DType is the element type that Decode delivers.
	DType() tensor.DType
	// Sequence reports whether a row is a list of items.
	Sequence() bool
	// Encoded reports whether samples are files (JPEG, PNG, WebP) that cost far more to decode than
	// to copy.
	Encoded() bool
	// Resolve finds rows and fills refs, len(refs) == len(rows). Rows are in any order and may
	// repeat. It reads index pages, never samples. Ref.Row is the dataset row, also of a hole.
	// After an error refs is undefined.
	Resolve(ctx context.Context, rows []int64, refs []chunk.Ref) error
	// Items splits a sequence: it fills items, len(items) == ref.Items, with one Ref each that
	// Decode and Stored accept. It is called only if Sequence() is true.
	Items(ctx context.Context, ref *chunk.Ref, items []chunk.Ref) error
	// Decode reads, checks and decodes the sample of ref into dst, len(dst) == ref.Size. Callers
	// proceed in chunk and item order within a run of small samples, because a Worker caches its
	// last block. After an error dst is undefined. ref is never a hole.
	Decode(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error
	// Stored copies the sample as stored (the JPEG file, the raw array) into dst, len(dst) ==
	// ref.Stored.
	Stored(ctx context.Context, ref *chunk.Ref, dst []byte, w *chunk.Worker) error
	// Access returns the optional abilities.
	Access() Access
}

// Level is a tensor whose samples are those of another one, with each side divided by a factor and
// rounded up.
type Level struct {
	Name   string
	Factor int64
}

// Zone is consecutive rows of a column, and what is known of their samples.
type Zone struct {
	From, To int64
	Hole     bool  // no row has a sample
	Bytes    int64 // as stored, about
	// Samples are single numbers from Min to Max, none of them NaN, if Bounded.
	Bounded  bool
	Min, Max float64
	// Attained reports whether Min and Max are numbers of these rows. It may read the directory of
	// a chunk. Nil: it is not known.
	Attained func(ctx context.Context) (bool, error)
}

// Access is the optional abilities of a Column: a nil function is an ability that it lacks. A
// wrapper copies the struct and replaces the functions that it changes.
type Access struct {
	// DecodeRun decodes refs[i], none of them a hole, into dst[i] as Decode would, at less cost
	// than one by one. It calls failed for samples that could not be read; the others are decoded.
	DecodeRun func(ctx context.Context, refs []*chunk.Ref, dst [][]byte, w *chunk.Worker, failed func(i int, err error))
	// PackRun packs refs[i], none of them a hole, for a device that finishes them, and delivers
	// each; see chunk.Worker.PackRun. rois may be nil. Columns without files that a device finishes
	// lack it.
	PackRun func(ctx context.Context, refs []*chunk.Ref, forms []chunk.Form, rois []codec.ROI, w *chunk.Worker, deliver chunk.Packed, failed func(i int, err error))
	// DecodeROIs decodes regions rois[i] of refs[i], none of them a hole, and delivers them; see
	// chunk.Worker.DecodeROIs.
	DecodeROIs func(ctx context.Context, refs []*chunk.Ref, rois []codec.ROI, w *chunk.Worker, failed func(i int, err error))
	// TurnUpright makes ref, which is no hole, the image that Exif data turns; see
	// chunk.Worker.TurnUpright. Columns that are no images, or upright already, lack it.
	TurnUpright func(ctx context.Context, ref *chunk.Ref, w *chunk.Worker) error
	// Prefetch returns the bytes that reading runs [from, to) of rows takes. It reads index pages,
	// and leaves them where Resolve finds them. Rows that cannot be found are left out, and the
	// first error comes along.
	Prefetch func(ctx context.Context, runs [][2]int64) ([]chunk.Span, error)
	// StoredBytes estimates the stored size of all rows that Prefetch knows of.
	StoredBytes int64
	// Chunks estimates how many chunks have these rows; 0: it is not known.
	Chunks int64
	// Unpacked estimates the bytes of all rows that lie in compressed blocks of small samples,
	// which are decompressed as a whole. It depends only on the version and the rows. Nil: there
	// are none.
	Unpacked func(ctx context.Context) (int64, error)
	// GatherPlan plans a bulk read of small samples of one shape. It returns nil if the samples
	// differ in shape, or if there are none.
	GatherPlan func(ctx context.Context, rows []int64) (*chunk.GatherPlan, error)
	// CopyRange copies the samples of rows [from, to), which are arrays of the given shape, into
	// dst. It returns false, dst then being undefined, where they are not, where a row has no
	// sample, and where other ways are faster or report the error.
	CopyRange func(ctx context.Context, from, to int64, shape tensor.Shape, dst []byte, w *chunk.Worker) (bool, error)
	// Zones returns what index pages say of all rows: runs of rows in order, without a gap. It
	// reads no sample. Nil: there are too many of them.
	Zones func(ctx context.Context) ([]Zone, error)
	// Origin names the file from which a row of the dataset was imported, "" if none is known. A
	// column of several datasets finds the one in err, the error about the row. Nil: no row was
	// imported.
	Origin func(ctx context.Context, row int64, err error) string
	// HType is the meaning of the samples, as given: "image.rgb", "bbox".
	HType string
	// Time says which time int64 numbers count; the zero value: none.
	Time tensor.Time
	// Levels are tensors of the same dataset that hold the pictures smaller, the largest first.
	Levels []Level
	// Tables is the tensor of the same dataset that has the tables of the videos; "": the samples
	// are no videos.
	Tables string
	// Epoch returns the column as an epoch of a seed shows it: with other clips of the videos. Nil:
	// it is the same in all.
	Epoch func(seed uint64, epoch int64) Column
	// Clips says that refs are of parts of samples, which no cache of samples can tell apart.
	Clips bool
	// DecodeFrames decodes the frames of refs, each of shape (frames, height, width, 3), and
	// delivers those of refs[i] one by one, in any order, some twice. pix is valid until deliver
	// returns. It calls failed for samples that could not be read. Nil: refs have no frames.
	DecodeFrames func(ctx context.Context, refs []*chunk.Ref, w *chunk.Worker, deliver func(i, frame int, pix []byte, stride int) error, failed func(i int, err error))
	// Info is the user's notes about the tensor. It is shared, read-only.
	Info map[string]any
}

// NameFile adds the file of the row at fault to an error of the column's samples, if both are
// known.
func (a *Access) NameFile(ctx context.Context, err error) error {
	if err == nil || a.Origin == nil || errs.Is(err, errs.Canceled) {
		return err
	}
	row, ok := errs.RowOf(err)
	if !ok {
		return err
	}
	file := a.Origin(ctx, row, err)
	if file == "" {
		return err
	}
	return errs.New(errs.KindOf(err), "%w; row %d is from %q", err, row, file)
}
