package viz

import (
	"context"
	"image"
	"image/color"
	"slices"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/read"
	"deeplake/core/session"
	"deeplake/core/tensor"
	"deeplake/core/transform"
	"deeplake/core/viz/draw"
)

// SheetOptions say how a sheet looks.
type SheetOptions struct {
	Columns int    `json:"columns"` // cells beside each other; 0: as many as fit into 1,000 pixels
	Tensor  string `json:"tensor"`  // the pictures, or masks; "": the first pictures
	Cell    int    `json:"cell"`    // the longer side of a picture in pixels
}

// The bounds of a sheet, and its measures in pixels.
const (
	leastCell   = 16
	mostCell    = 4096
	mostSheet   = 40_000_000 // of a sheet: 160 MB until it is a file
	sheetWidth  = 1000
	gap         = 6
	mostLines   = 3 // of text under a picture
	maskOpacity = 0.5
)

// groundColor and the functions below are the colours of a sheet: those of the page in its light
// theme.
func groundColor() color.RGBA { return color.RGBA{250, 250, 251, 255} }
func cellColor() color.RGBA   { return color.RGBA{234, 236, 240, 255} }
func textColor() color.RGBA   { return color.RGBA{25, 28, 34, 255} }
func dimColor() color.RGBA    { return color.RGBA{96, 102, 112, 255} }
func errorColor() color.RGBA  { return color.RGBA{190, 30, 20, 255} }

// sheet is a picture of many rows.
type sheet struct {
	SheetOptions
	view     *openView
	all      []tensorInfo
	picture  *tensorInfo
	overlays []*tensorInfo
	captions []*tensorInfo
	spaces   read.Pool[*transform.Workspace]
	large    chan struct{}
	canvas   draw.Canvas
}

// Sheet draws the pictures of rows side by side, with their annotations, as a PNG file. A sample
// that cannot be read is a cell with the error.
func Sheet(ctx context.Context, v *session.View, codecs *codec.Registry, rows []int64, o SheetOptions) ([]byte, error) {
	s := &sheet{SheetOptions: o, view: newOpenView(v, "", nil), all: layout(v.Describe().Tensors), large: make(chan struct{}, 1)}
	s.spaces.New = func() *transform.Workspace { return &transform.Workspace{} }
	defer s.view.blocks.Close()
	defer s.view.workers.Close()
	defer s.spaces.Close()
	if err := s.plan(rows); err != nil {
		return nil, err
	}
	if err := s.paint(ctx, rows); err != nil {
		return nil, err
	}
	size := s.canvas.Rect.Size()
	pix := make([]byte, 0, 3*size.X*size.Y)
	for i := 0; i < len(s.canvas.Pix); i += 4 {
		pix = append(pix, s.canvas.Pix[i:i+3]...)
	}
	c, err := codecs.Sample(codec.PNG)
	if err != nil {
		return nil, err
	}
	return c.Encode(nil, pix, tensor.Uint8, tensor.Shape{int64(size.Y), int64(size.X), 3}, codec.Options{})
}

// plan chooses the tensors to draw, and makes the canvas.
func (s *sheet) plan(rows []int64) error {
	if s.Cell < leastCell || s.Cell > mostCell {
		return errs.Op("plot", "").New(errs.Invalid, "cell is %d, want %d to %d pixels", s.Cell, leastCell, mostCell)
	}
	if s.Columns < 0 {
		return errs.Op("plot", "").New(errs.Invalid, "columns is %d, want at least 1", s.Columns)
	}
	for _, row := range rows {
		if row < 0 || row >= s.view.Len() {
			return errs.Op("plot", "").New(errs.Range, "row %d is out of range for %d rows", row, s.view.Len())
		}
	}
	if err := s.choose(); err != nil {
		return err
	}
	if s.Columns == 0 {
		s.Columns = max((sheetWidth-gap)/(s.Cell+gap), 1)
	}
	s.Columns = max(min(s.Columns, len(rows)), 1)
	lines := max((len(rows)+s.Columns-1)/s.Columns, 1)
	size := s.cellSize()
	width, height := s.Columns*(size.X+gap)+gap, lines*(size.Y+gap)+gap
	if int64(width)*int64(height) > mostSheet {
		return errs.Op("plot", "").New(errs.Invalid, "%d rows with cells of %d pixels make a picture of %d x %d pixels, want at most %d pixels; plot fewer rows or smaller cells",
			len(rows), s.Cell, width, height, mostSheet)
	}
	s.canvas = draw.New(width, height, groundColor())
	return nil
}

// choose finds the pictures, and the annotations over and under them.
func (s *sheet) choose() error {
	var names []string
	for i := range s.all {
		t := &s.all[i]
		if t.Draw != "image" && t.Draw != "mask" && t.Draw != "segments" {
			continue
		}
		names = append(names, t.Name)
		if s.picture == nil && (t.Name == s.Tensor || s.Tensor == "" && t.Draw == "image") {
			s.picture = t
		}
	}
	if s.picture == nil && s.Tensor == "" {
		return errs.Op("plot", "").New(errs.NotFound, "no tensor has pictures; give one an htype like \"image.rgb\", or name a tensor of masks by tensor=")
	}
	if s.picture == nil {
		return errs.Op("plot", "").New(errs.NotFound, "%q is no tensor of pictures or masks%s", s.Tensor, errs.Suggest(s.Tensor, names))
	}
	for i := range s.all {
		t := &s.all[i]
		switch t.Draw {
		case "boxes", "mask", "segments", "polygons", "keypoints", "points":
			if t.Over == s.picture.Name && t != s.picture {
				s.overlays = append(s.overlays, t)
			}
		}
	}
	if s.picture.Draw != "image" {
		s.overlays = append(s.overlays, s.picture)
	}
	for _, first := range []bool{true, false} { // labels first
		for i := range s.all {
			t := &s.all[i]
			if (t.Draw == "label") == first && (first || t.Draw == "text" || t.Draw == "number") && !t.Sequence && len(s.captions) < mostLines {
				s.captions = append(s.captions, t)
			}
		}
	}
	return nil
}

// cellSize returns the size of a cell: a line for the number of the row, the picture, and captions.
func (s *sheet) cellSize() image.Point {
	return image.Point{s.Cell, s.Cell + draw.CharHeight*(1+len(s.captions))}
}

// place returns the corner of a cell.
func (s *sheet) place(i int) image.Point {
	size := s.cellSize()
	return image.Point{gap + i%s.Columns*(size.X+gap), gap + i/s.Columns*(size.Y+gap)}
}

// paint reads rows and paints their cells, each row once.
func (s *sheet) paint(ctx context.Context, rows []int64) error {
	places := map[int64][]int{}
	var different []int64
	for i, row := range rows {
		if places[row] == nil {
			different = append(different, row)
		}
		places[row] = append(places[row], i)
	}
	cells := make([]cell, len(different))
	at := make(map[int64]*cell, len(different))
	for i, row := range different {
		cells[i] = cell{sheet: s, row: row, samples: map[string][]sample{}}
		at[row] = &cells[i]
	}
	for _, name := range s.columns() {
		want := &wanted{Name: name, Pixels: s.Cell, Items: s.items(name)}
		all, err := find(ctx, s.view, different, want, nil)
		if err != nil {
			return err
		}
		for _, one := range all {
			c := at[one.row]
			c.samples[name] = append(c.samples[name], one)
		}
	}
	j := read.Jobs{Count: len(cells), Threads: task.Cores(), Run: func(ctx context.Context, k int, w *chunk.Worker) error {
		made, err := cells[k].draw(ctx, w)
		if err != nil {
			return err
		}
		for _, i := range places[cells[k].row] {
			s.canvas.Paste(made, s.place(i)) // cells do not overlap
		}
		cells[k].samples = nil
		return nil
	}}
	if s.view.Remote() {
		j.Spans = func(k int, spans []chunk.Span) []chunk.Span {
			for _, list := range cells[k].samples {
				for i := range list {
					if one := &list[i]; one.failed == nil && one.readable() {
						spans = one.ref.Spans(spans)
					}
				}
			}
			return spans
		}
	}
	err := j.Do(ctx, &s.view.workers)
	if err == nil && ctx.Err() != nil {
		err = errs.Cause(ctx, "plot")
	}
	return err
}

// columns returns the names of the tensors to read.
func (s *sheet) columns() []string {
	names := []string{s.picture.Name}
	for _, list := range [][]*tensorInfo{s.overlays, s.captions} {
		for _, t := range list {
			names = append(names, t.Name)
		}
	}
	for _, t := range s.overlays {
		for _, l := range labelsOf(s.all, t) {
			names = append(names, l.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// items returns which items of a tensor are read: all of lists, the first of sequences.
func (s *sheet) items(name string) *[2]int64 {
	at := slices.IndexFunc(s.all, func(t tensorInfo) bool { return t.Name == name })
	if s.all[at].Sequence {
		return &[2]int64{0, 1}
	}
	return nil
}
