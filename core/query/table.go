package query

import (
	"context"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
	"deeplake/core/tql"
)

// Table is rows that can be asked: one version of a dataset, or a view of it. It does not change.
// All methods may be called in parallel.
type Table interface {
	// Name is the name of the table in errors and plans, a URI.
	Name() string
	// Rows is the number of rows.
	Rows() int64
	// Columns lists the tensors in order of creation, then hidden columns.
	Columns() []Field
	// Resolve returns the type of a column that holds for all rows of this version, with its number
	// of axes. It reads index pages at most.
	Resolve(ctx context.Context, column int) (array.Type, error)
	// Zones returns the bounds in index pages of a column's rows [from, to): runs of rows, in
	// order, without a gap. It reads no samples.
	Zones(ctx context.Context, column int, from, to int64) ([]Zone, error)
	// Reader is the memory and the decoders of one goroutine.
	Reader() Reader
}

// RemoteTable is a Table that may lie behind a network.
type RemoteTable interface {
	// Remote reports whether reads are requests over a network.
	Remote() bool
}

// Field is a column of a table, as the schema describes it.
type Field struct {
	Name string
	Type array.Type
	// TextLists: the values are JSON lists of texts, as those of tags. Comparing one with a text
	// would always give NULL, and is refused.
	TextLists bool
	// Cost is the approximate time to read a value, in nanoseconds. Conditions on costly columns
	// are evaluated for fewer rows.
	Cost float64
	// Hidden: no name and no * means the column. SOURCE() reads a text, the files from which rows
	// were imported; functions of videos read bytes, the tables of Videos.
	Hidden bool
	// Videos: the values are videos, of which there are tables.
	Videos *Videos
	// Bytes estimates the size of a value in storage, Size its size in memory.
	Bytes, Size float64
}

// Videos is how a query learns of the videos of a column without reading them.
type Videos struct {
	Column int // of the same table, hidden: the tables of the videos
	// About reads a table.
	About func(table []byte) (VideoFacts, error)
}

// VideoFacts are those of a video.
type VideoFacts struct {
	Frames, Height, Width int64   // as they are shown
	Begin, End            float64 // of the frames, in seconds
}

// costOfTable is the time to read the table of a video, in nanoseconds.
const costOfTable = 20_000

// ofVideo is FRAMES, DURATION or FPS of a column of videos.
func (c *checker) ofVideo(x *tql.Call, s *scope) (*node, error) {
	if len(x.Args) != 1 || x.Star {
		return nil, c.fail(x.Pos(), "%s has %d arguments, want 1", x.Name, len(x.Args))
	}
	v, err := c.expr(x.Args[0], s)
	if err != nil {
		return nil, err
	}
	if v.t.HType != "video" {
		return nil, tql.Errorf(c.text, v.at, errs.Type, "%s wants a column of videos, %s is %s", x.Name, v.say, v.t)
	}
	if x.Name == "FRAMES" {
		return c.aboutVideo(x.Pos(), x.Name, v, array.Of(tensor.Int64), func(about []VideoFacts, null []bool) *array.Column {
			out := make([]int64, len(about))
			for i, f := range about {
				out[i] = f.Frames
			}
			return array.FromInts(out, null)
		})
	}
	return c.aboutVideo(x.Pos(), x.Name, v, array.Of(tensor.Float64), func(about []VideoFacts, null []bool) *array.Column {
		out := make([]float64, len(about))
		for i, f := range about {
			switch {
			case x.Name == "DURATION":
				out[i] = f.End
			case f.End > f.Begin:
				out[i] = float64(f.Frames) / (f.End - f.Begin)
			}
		}
		return array.FromFloats(out, null)
	})
}

// shapeOfVideo is SHAPE of a column of videos: frames, height, width and 3.
func (c *checker) shapeOfVideo(at tql.Pos, v *node) (*node, error) {
	t := array.Type{DType: tensor.Int64, Dims: 1, Shape: tensor.Shape{4}}
	return c.aboutVideo(at, "SHAPE", v, t, func(about []VideoFacts, null []bool) *array.Column {
		out := make([]int64, 0, 4*len(about))
		for _, f := range about {
			out = append(out, f.Frames, f.Height, f.Width, 3)
		}
		return array.FromArrays(t, tensor.Shape{4}, out, null)
	})
}

// aboutVideo is a function of type t of the facts of a column of videos. values makes them of
// the facts of each row; those of a NULL are zeros.
func (c *checker) aboutVideo(at tql.Pos, name string, of *node, t array.Type, values func(about []VideoFacts, null []bool) *array.Column) (*node, error) {
	videos := of.videos
	if videos == nil {
		return nil, tql.Errorf(c.text, of.at, errs.Unsupported, "%s wants a column of videos of a dataset, and %s comes from another query or a function; write %s in the query of the dataset", name, of.say, name)
	}
	r := *of.ref
	r.column = videos.Column
	tables := &node{at: of.at, t: array.Of(tensor.Bytes), ref: &r, extra: -1, cost: costOfTable, size: 1024, say: "table of " + of.say}
	tables.id = c.intern("column ", r.origin, " ", r.column)
	return c.apply(at, name, t, costOfTable, []*node{tables}, func(w *array.Work, a []*array.Column) (*array.Column, error) {
		raw, _ := a[0].Data.([]string)
		about := make([]VideoFacts, len(raw))
		for i := range raw {
			if w.Err() != nil {
				return nil, w.Err()
			}
			if a[0].IsNull(i) {
				continue
			}
			var err error
			if about[i], err = videos.About([]byte(raw[i])); err != nil {
				return nil, err
			}
		}
		out := values(about, a[0].Null)
		out.N, out.Const = a[0].N, a[0].Const
		return out, nil
	})
}

// Zone is a run of rows with known bounds.
type Zone struct {
	From, To int64
	Hole     bool // no row has a value
	// Min and Max bound the values of scalars: int64, uint64, float64 or bool, both nil where
	// nothing is known. With bounds, no value is NaN, and none is NULL.
	Min, Max any
	// MinShape and MaxShape bound each axis; nil: unknown.
	MinShape, MaxShape tensor.Shape
	Bytes              int64 // as stored, of all rows, about
}

// Want selects the aspect of the values to read.
type Want uint8

// The parts of a column that a query may need.
const (
	Values Want = iota
	// int64 arrays: the shape of each value; of a list the number of items. Reads index pages alone
	Shapes
	Nulls  // bool: there is no value. Reads index pages alone
	Length // int64: bytes of text and opaque values, items of a list. Reads index pages alone
)

// Reader reads columns of a table. It is used by one goroutine at a time.
type Reader interface {
	// Read reads rows of a column. part, with Values, selects a part of each array as array.Index
	// would; the reader reads no more than it needs for that. An error names row and column.
	Read(ctx context.Context, column int, rows Rows, want Want, part []Span) (*array.Column, error)
	// Bytes is the number of bytes that were read from the store, or from memory in front of it,
	// and Decoded how many came of it.
	Bytes() (read, decoded int64)
	Close()
}

// Recycler is a Reader that can reuse memory.
type Recycler interface {
	// Recycle takes back the memory of a column that Read returned, unless a column of kept shares
	// it. The caller must not use the column afterwards, or columns that share its memory, such as
	// slices of array.Column.Slice.
	Recycle(c *array.Column, kept ...*array.Column)
}

// Borrower is a Reader with columns that may already lie in memory.
type Borrower interface {
	// Borrow returns the first rows of a range in place, as many as lie together. Nil: they must be
	// read. The rows, and anything that shares their memory, must not be read after Return.
	Borrow(ctx context.Context, column int, rows Rows) (*array.Column, error)
	// Return ends the use of all that was borrowed.
	Return()
}

// Rows are rows of a table: From to From+N, or List. A list that a reader has seen does not change
// while the reader is in use: columns of one list share work.
type Rows struct {
	From, N int64
	List    []int64 // N of them, in any order; nil: the range
}

// At is row i.
func (r Rows) At(i int) int64 {
	if r.List != nil {
		return r.List[i]
	}
	return r.From + int64(i)
}

// Span selects a part of one axis, as in Python; Low, High and Step are nil if left out.
type Span struct {
	Ellipsis        bool
	At              *int64 // a single index: the axis is gone
	Low, High, Step *int64
}

// Tables opens the tables that FROM names.
type Tables interface {
	// Table opens a dataset at a version: ref is a branch, a tag or a commit, "" the newest.
	Table(ctx context.Context, name, ref string) (Table, error)
}
