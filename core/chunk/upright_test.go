package chunk

import (
	"bytes"
	"context"
	"testing"
	"unsafe"

	"deeplake/core/codec"
	"deeplake/core/codec/all"
	"deeplake/core/codec/codectest"
	"deeplake/core/tensor"
)

// TestTurnedImagesByEveryWay reads images of all orientations by every way of a worker: each gives
// the turned pixels, whether the form of the tensor turns them or the caller does.
func TestTurnedImagesByEveryWay(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	reg := all.All()
	w := NewWorker(reg)
	defer w.Close()
	pix := make([]byte, 20*30*3)
	for i := range pix {
		pix[i] = byte(i/3%30*8 + i/90*3)
	}
	for _, id := range []codec.ID{codec.JPEG, codec.PNG, codec.WebP} {
		sc, err := reg.Sample(id)
		if err != nil {
			t.Fatal(err)
		}
		file, err := sc.Encode(nil, pix, tensor.Uint8, tensor.Shape{20, 30, 3}, codec.Options{})
		if err != nil {
			t.Fatal(err)
		}
		stored := make([]byte, len(pix))
		dec := sc.NewDecoder()
		if err := dec.Decode(stored, file, codec.RGB); err != nil {
			t.Fatal(err)
		}
		dec.Close()
		for o := codec.Orientation(1); o <= 8; o++ {
			shape := o.Shape(tensor.Shape{20, 30, 3})
			want := make([]byte, len(pix))
			o.Turn(want, stored, 20, 30, 3, 90)
			data := codectest.WithExif(t, id, file, codectest.Exif(o))

			r := storeFiles(t, memStore(t), id, [][]byte{data}, shape)[0] // of a tensor that turns
			readEveryWay(ctx, t, w, r, codec.RGB|codec.Upright, o, want)
			before := *r
			if err := w.TurnUpright(ctx, r, codec.RGB|codec.Upright); err != nil || r.Orientation != before.Orientation {
				t.Fatalf("an upright image is turned again: %v", err)
			}

			r = storeFiles(t, memStore(t), id, [][]byte{data}, tensor.Shape{20, 30, 3})[0]
			for range 2 {
				if err := w.TurnUpright(ctx, r, codec.RGB); err != nil || r.Orientation != o || !r.Shape.Equal(shape) {
					t.Fatalf("%s: orientation %d, shape %v, %v; want %d, %v", id.Name(), r.Orientation, r.Shape, err, o, shape)
				}
			}
			readEveryWay(ctx, t, w, r, codec.RGB, o, want)
		}
	}
}

// readEveryWay compares the pixels of ref, of regions of 7 x 5 and of a smaller form with pixels.
func readEveryWay(ctx context.Context, t *testing.T, w *Worker, r *Ref, want codec.Channels, o codec.Orientation, pixels []byte) {
	t.Helper()
	failed := func(_ int, err error) { t.Fatal(err) }
	got := make([]byte, len(pixels))
	if err := w.Decode(ctx, r, got, want); err != nil || !bytes.Equal(got, pixels) {
		t.Fatalf("Decode of orientation %d: %v, or other pixels", o, err)
	}
	clear(got)
	if w.DecodeRun(ctx, []*Ref{r}, [][]byte{got}, want, failed); !bytes.Equal(got, pixels) {
		t.Fatalf("DecodeRun of orientation %d: other pixels", o)
	}
	for _, form := range []Form{AsPacked, AsFile} {
		var packed []byte
		form := []Form{form}
		w.PackRun(ctx, []*Ref{r}, form, nil, want, func(_ int, data []byte, f Form) {
			if f == AsPixels {
				packed = bytes.Clone(data)
			}
		}, failed)
		if packed != nil && !bytes.Equal(packed, pixels) {
			t.Fatalf("PackRun of orientation %d: other pixels", o)
		}
		if packed == nil && o.Turned() {
			t.Fatalf("PackRun hands a device an image of orientation %d", o)
		}
	}
	height, width := int(r.Shape[0]), int(r.Shape[1])
	for y := 0; y+7 <= height; y += 6 {
		for x := 0; x+5 <= width; x += 4 {
			sink := &pixelsOf{pixel: 3, width: 5}
			roi := codec.ROI{Region: codec.Region{X: x, Y: y, Width: 5, Height: 7}, To: sink}
			w.DecodeROIs(ctx, []*Ref{r}, []codec.ROI{roi}, want, failed)
			var cut []byte
			for row := range 7 {
				cut = append(cut, pixels[((y+row)*width+x)*3:][:15]...)
			}
			if !bytes.Equal(sink.pix, cut) {
				t.Fatalf("region at (%d, %d) of orientation %d: other pixels", x, y, o)
			}
		}
	}
	if w.CanDownscale(r) {
		sink := &pixelsOf{pixel: 3, width: width / 2}
		roi := codec.ROI{Region: codec.Region{Width: width / 2, Height: height / 2, Downscale: 2}, To: sink}
		w.DecodeROIs(ctx, []*Ref{r}, []codec.ROI{roi}, want, failed)
		for _, at := range [][2]int{{0, 0}, {0, width/2 - 1}, {height/2 - 1, 0}, {height/2 - 1, width/2 - 1}} {
			small, large := int(sink.pix[(at[0]*(width/2)+at[1])*3]), int(pixels[(at[0]*2*width+at[1]*2)*3])
			if small-large > 40 || large-small > 40 {
				t.Fatalf("half of orientation %d: %d at %v, want about %d", o, small, at, large)
			}
		}
	}
}

// pixelsOf collects a region.
type pixelsOf struct {
	pixel, width int
	pix          []byte
}

func (p *pixelsOf) Native() (call, arg unsafe.Pointer) { return nil, nil }

func (p *pixelsOf) Deliver(pix []byte, stride int) error {
	row := p.width * p.pixel
	for ; len(pix) >= row; pix = pix[min(stride, len(pix)):] {
		p.pix = append(p.pix, pix[:row]...)
	}
	return nil
}
