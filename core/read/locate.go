package read

import (
	"context"
	"slices"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
)

// Map locates the rows of one tensor. All methods may be called in parallel. A row is a row of the
// dataset.
type Map interface {
	// Seeker returns what finds the segments of single rows.
	Seeker() Seeker
	// Split appends the parts of runs [from, to), each in one segment, without holes. It reads
	// index pages, but no directories. It omits rows without a found segment, and returns the first
	// error.
	Split(ctx context.Context, runs, out [][2]int64) ([][2]int64, error)
	// Segments appends the segments of runs [from, to) of rows, in their order. Row -1 has no
	// sample. It reads index pages and the directories of chunks, and checks segments against them.
	Segments(ctx context.Context, runs [][2]int64, out []Segment) ([]Segment, error)
	// Find finds many rows, which do not fall. It replaces each by its place in its chunk. It reads
	// index pages and the directory of each chunk. Places need not be checked against it.
	Find(ctx context.Context, rows []int64, f *Found) error
}

// Seeker finds segments of rows that mostly rise. It is for one goroutine.
type Seeker interface {
	// Segment returns a segment from row on, as large as possible. If row has no sample, the
	// segment may end at end, which is behind row: callers need no rows from there on. It reads
	// index pages and the directory of a chunk. The segment need not be checked against the
	// directory.
	Segment(ctx context.Context, row, end int64) (Segment, error)
}

// Found is the chunks of rows.
type Found struct {
	Chunks []*chunk.Chunk // each once
	Of     []int32        // of each row, an index into Chunks; -1: it has no sample
	Tiled  bool           // some sample is in tiles: the search has stopped
}

// Locator finds rows one after the other. It remembers the last segment, so that each segment is
// looked up once if rows come in order. It is for one goroutine.
type Locator struct {
	m    Seeker
	last Segment
}

// NewLocator returns a locator of m.
func NewLocator(m Map) Locator { return Locator{m: m.Seeker()} }

// seek returns the segment that contains row; see Map.Segment. It is valid until the next call.
func (l *Locator) seek(ctx context.Context, row, end int64) (*Segment, error) {
	s := &l.last
	if row >= s.Row && row < s.Row+s.Rows {
		return s, nil
	}
	var err error
	if *s, err = l.m.Segment(ctx, row, end); err != nil {
		*s = Segment{}
	}
	return s, err
}

// Ref finds one row and fills ref.
func (l *Locator) Ref(ctx context.Context, row int64, ref *chunk.Ref) error {
	s, err := l.seek(ctx, row, row+1)
	if err != nil {
		return err
	}
	return s.Ref(row-s.Row, ref)
}

// Locate appends the segments of runs [from, to) of rows, in their order. Row -1 has no sample. If
// remote is set, index pages come over a network, and Locate reads the pages of all runs at once.
func Locate(ctx context.Context, m Map, runs [][2]int64, remote bool, out []Segment) ([]Segment, error) {
	if remote && (len(runs) > 1 || len(runs) == 1 && runs[0][1]-runs[0][0] > 1) {
		_, _ = Spans(ctx, m, runs) // brings the pages; an error comes again below
	}
	return m.Segments(ctx, runs, out)
}

// Spans returns the bytes that reading runs [from, to) of rows takes. It reads the index pages of
// many runs at once. Spans come in order of runs and may overlap. Rows that cannot be found are
// left out: the first error comes along with the spans of the others.
func Spans(ctx context.Context, m Map, runs [][2]int64) ([]chunk.Span, error) {
	parts, err := inGroups(ctx, len(runs), func(ctx context.Context, from, to int, out [][2]int64) ([][2]int64, error) {
		return m.Split(ctx, runs[from:to], out)
	})
	spans, damage := inGroups(ctx, len(parts), func(ctx context.Context, from, to int, out []chunk.Span) ([]chunk.Span, error) {
		l := NewLocator(m)
		var first error
		for _, r := range parts[from:to] {
			if ctx.Err() != nil {
				break
			}
			var err error
			if out, err = l.spans(ctx, r, out); err != nil && first == nil {
				first = err
			}
		}
		return out, first
	})
	if err == nil {
		err = damage
	}
	if ctx.Err() != nil {
		err = errs.Wrap(errs.Canceled, "find samples", "", context.Cause(ctx))
	}
	return spans, err
}

// spans appends the spans of a run that lies in one segment.
func (l *Locator) spans(ctx context.Context, r [2]int64, out []chunk.Span) ([]chunk.Span, error) {
	s, err := l.seek(ctx, r[0], r[1])
	if err != nil {
		return out, err
	}
	p := s.part(r[0], r[1])
	if err := p.check(); err != nil {
		return out, err
	}
	return p.Spans(out), nil
}

// lookupsInFlight is the number of runs that are looked up at once. Their index pages are small, so
// that latency counts; of other formats, each chunk has one of its own.
const lookupsInFlight = 96

// inGroups divides n things into groups, gives each to fn in a goroutine of its own, and joins the
// results in order. It returns the first error, which does not stop the other groups.
func inGroups[T any](ctx context.Context, n int, fn func(ctx context.Context, from, to int, out []T) ([]T, error)) ([]T, error) {
	groups := min(n, lookupsInFlight)
	if groups < 2 {
		return fn(ctx, 0, n, nil)
	}
	results, failed := make([][]T, groups), make([]error, groups)
	g := task.New(ctx, 0)
	for i := range groups {
		g.Go(func(ctx context.Context) error {
			results[i], failed[i] = fn(ctx, i*n/groups, (i+1)*n/groups, nil)
			return nil
		})
	}
	err := g.Wait() // of a panic
	for _, f := range failed {
		if err == nil {
			err = f
		}
	}
	return slices.Concat(results...), err
}
