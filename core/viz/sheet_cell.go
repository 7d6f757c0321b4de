package viz

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"math"
	"strings"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/tensor"
	"deeplake/core/viz/draw"
)

// cell is one row of a sheet.
type cell struct {
	*sheet
	row     int64
	samples map[string][]sample // by tensor

	arrays map[string][]values // that were read
	texts  map[string]string
	worker *chunk.Worker
	canvas draw.Canvas
	area   draw.Canvas // of the picture
	scale  [2]float64  // pixels of the area for each of the picture
	size   [2]float64  // of the picture
}

// values are the numbers of a sample.
type values struct {
	dtype tensor.DType
	data  []byte
	shape tensor.Shape
	whole [2]int64 // height and width of a mask that was thinned
}

func (v *values) len() int                            { return len(v.data) / max(v.dtype.Size(), 1) }
func (v *values) at(i int) float64                    { return element(v.dtype, v.data, i) }
func (v *values) last(n int64) bool                   { return len(v.shape) > 0 && v.shape[len(v.shape)-1] == n }
func (v *values) finite(i int) bool                   { x := v.at(i); return !math.IsNaN(x) && !math.IsInf(x, 0) }
func (c *cell) ready(x, y float64) (float64, float64) { return x * c.scale[0], y * c.scale[1] }

// draw makes the picture of the cell. Only the end of the context is an error.
func (c *cell) draw(ctx context.Context, w *chunk.Worker) (image.Image, error) {
	size := c.cellSize()
	c.canvas, c.worker = draw.New(size.X, size.Y, groundColor()), w
	c.arrays, c.texts = map[string][]values{}, map[string]string{}
	c.canvas.Text(fmt.Sprint(c.row), 0, 0, size.X, dimColor())
	frame := c.canvas.Part(image.Rect(0, draw.CharHeight, size.X, draw.CharHeight+c.Cell))
	frame.Fill(frame.Rect, cellColor())
	err := task.Call(func() error { return c.drawPicture(ctx, frame) })
	for _, t := range c.overlays {
		if err == nil && c.size[0] > 0 {
			err = task.Call(func() error { return c.annotate(ctx, t) })
		}
	}
	if err != nil && ctx.Err() == nil {
		fault(frame, err)
	}
	for i, t := range c.captions {
		text, err := c.caption(ctx, t)
		with := textColor()
		if err != nil {
			text, with = err.Error(), errorColor()
		}
		c.canvas.Text(text, 0, draw.CharHeight*(1+i)+c.Cell, size.X, with)
	}
	if ctx.Err() != nil {
		return nil, errs.Cause(ctx, "plot")
	}
	return c.canvas, nil
}

// fault writes an error into a grey cell.
func fault(frame draw.Canvas, err error) {
	size := frame.Rect.Size()
	frame.Fill(frame.Rect, color.RGBA{205, 208, 214, 255})
	line, y := "", 4
	for _, word := range strings.Fields(err.Error()) {
		if line != "" && draw.CharWidth*(len(line)+1+len(word)) > size.X-8 {
			frame.Text(line, 4, y, size.X-8, errorColor())
			line, y = "", y+draw.CharHeight
		}
		line = strings.TrimSpace(line + " " + word)
	}
	frame.Text(line, 4, y, size.X-8, errorColor())
}

// drawPicture paints the picture and finds its place in the cell.
func (c *cell) drawPicture(ctx context.Context, frame draw.Canvas) error {
	one := c.first(c.picture.Name)
	if one == nil || one.failed != nil {
		return c.failedOf(one)
	}
	if one.ref.Hole() || one.item < 0 {
		frame.Text("no sample", 4, 4, c.Cell-8, dimColor())
		return nil
	}
	shape := one.ref.Shape
	if len(shape) < 2 || shape[0] < 1 || shape[1] < 1 {
		return errs.New(errs.Invalid, "the sample has shape %v, want a picture", []int64(shape))
	}
	height, width := fit(shape[0], shape[1], int64(c.Cell))
	left, top := (c.Cell-int(width))/2, (c.Cell-int(height))/2
	c.area = frame.Part(image.Rect(left, top, left+int(width), top+int(height)))
	if c.picture.Draw != "image" {
		c.area.Fill(c.area.Rect, color.RGBA{A: 255})
	} else if err := c.drawPixels(ctx, one, height, width); err != nil {
		return err
	}
	c.size = [2]float64{float64(shape[1]), float64(shape[0])}
	c.scale = [2]float64{float64(width) / c.size[0], float64(height) / c.size[1]}
	return nil
}

func (c *cell) failedOf(one *sample) error {
	if one == nil {
		return errs.New(errs.NotFound, "no sample")
	}
	return one.failed
}

// first returns the first sample of a tensor in this row.
func (c *cell) first(name string) *sample {
	if list := c.samples[name]; len(list) > 0 {
		return &list[0]
	}
	return nil
}

// drawPixels paints the pixels of a picture into the area.
func (c *cell) drawPixels(ctx context.Context, one *sample, height, width int64) error {
	if size := max(one.ref.Size, one.ref.Stored); size > mostBytes {
		return errs.New(errs.Unsupported, "the sample has %d bytes, want at most %d", size, mostBytes)
	}
	leave, err := hold(ctx, c.large, one.ref.Size)
	if err != nil {
		return err
	}
	defer leave()
	v := values{dtype: tensor.Uint8, shape: tensor.Shape{height, width, 1}}
	if one.column.DType() == tensor.Uint8 && len(one.ref.Shape) == 3 {
		space := c.spaces.Borrow()
		defer c.spaces.Return(space)
		defer space.Reset()
		v.shape[2] = one.ref.Shape[2]
		v.data, err = shrunk(ctx, one, c.worker, height, width, space)
	} else {
		v, err = c.decoded(ctx, one)
	}
	if err != nil {
		return err
	}
	c.paintPixels(&v)
	return nil
}

// decoded reads a sample whole and thins it for the cell.
func (c *cell) decoded(ctx context.Context, one *sample) (values, error) {
	v := values{dtype: one.column.DType(), data: make([]byte, one.ref.Size)}
	if err := one.column.Decode(ctx, &one.ref, v.data, c.worker); err != nil {
		return v, err
	}
	if v.dtype.Size() == 0 || !v.dtype.Fixed() || v.dtype == tensor.Complex64 || v.dtype == tensor.Complex128 {
		return v, errs.New(errs.Unsupported, "samples of %s cannot be drawn", v.dtype)
	}
	v.shape = one.ref.Shape
	if t := one.column.htype; isPicture(t) || isMask(t) {
		v.whole = [2]int64{v.shape[0], v.shape[1]}
		v.data, v.shape = thin(v.data, v.shape, v.dtype.Size(), c.Cell)
	}
	return v, nil
}

// paintPixels paints grey, colour, or colour and alpha. Numbers that are no bytes go from black at
// the least to white at the greatest.
func (c *cell) paintPixels(v *values) {
	low, high := 0.0, 255.0
	if v.dtype == tensor.Bool {
		high = 1
	} else if v.dtype != tensor.Uint8 {
		low, high = math.Inf(1), math.Inf(-1)
		for i := range v.len() {
			if v.finite(i) {
				low, high = min(low, v.at(i)), max(high, v.at(i))
			}
		}
	}
	channels := 1
	if len(v.shape) > 2 {
		channels = int(v.shape[2])
	}
	gray := func(i int) uint8 {
		if !(high > low) {
			return 0
		}
		return uint8(min(max((v.at(i)-low)/(high-low)*255+0.5, 0), 255))
	}
	c.eachPixel(v, channels, func(x, y, i int) {
		if channels < 3 {
			g := gray(i)
			c.area.Tint(x, y, color.RGBA{g, g, g, 255}, 1)
			return
		}
		opacity := 1.0
		if channels == 4 {
			opacity = float64(gray(i+3)) / 255
		}
		c.area.Tint(x, y, color.RGBA{gray(i), gray(i + 1), gray(i + 2), 255}, opacity)
	})
}

// eachPixel calls back for each pixel of the area with the place of its numbers in an array.
func (c *cell) eachPixel(v *values, channels int, do func(x, y, i int)) {
	if len(v.shape) < 2 || v.shape[0] < 1 || v.shape[1] < 1 || channels < 1 {
		return
	}
	size := c.area.Rect.Size()
	height, width := int(v.shape[0]), int(v.shape[1])
	for y := range size.Y {
		line := min(y*height/size.Y, height-1) * width
		for x := range size.X {
			do(x, y, (line+min(x*width/size.X, width-1))*channels)
		}
	}
}
