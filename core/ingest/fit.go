package ingest

import (
	"encoding/json"
	"fmt"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/tensor"
	"deeplake/core/transform"
)

// maxFitBytes bounds the pixels of a picture that is brought to another size: as many are decoded
// at once as there are cores.
const maxFitBytes = 1 << 30

const maxFitSide = 1 << 14

// fit brings pictures to one size: the shorter side resized to Size, then the square in the middle.
// All methods may be called in parallel.
type fit struct {
	reg      *codec.Registry
	pipeline *transform.Pipeline
	form     codec.Channels // RGB, maybe upright
	// one for each core: decoding more at once takes memory and saves nothing
	tools chan *tools
}

// tools are the buffers and codecs for one picture.
type tools struct {
	space    transform.Workspace
	decoders map[codec.ID]codec.Decoder
}

func newFit(reg *codec.Registry, size int, form codec.Channels) (*fit, error) {
	var spec transform.Spec
	text := fmt.Sprintf(`[{"op": "Resize", "size": [%d]}, {"op": "CenterCrop", "size": [%d, %d]}]`, size, size, size)
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		return nil, err
	}
	p, err := transform.New("images", spec)
	if err != nil {
		return nil, err
	}
	f := &fit{reg: reg, pipeline: p, form: form, tools: make(chan *tools, task.Cores())}
	for range cap(f.tools) {
		f.tools <- &tools{decoders: map[codec.ID]codec.Decoder{}}
	}
	return f, nil
}

// close frees the tools. No call may be in progress.
func (f *fit) close() {
	for range cap(f.tools) {
		t := <-f.tools
		for _, d := range t.decoders {
			d.Close()
		}
		t.space.Close()
	}
}

// apply makes pixels of a file.
func (f *fit) apply(data []byte) (tensor.Sample, error) {
	t := <-f.tools
	defer func() { f.tools <- t }()
	id, _ := f.reg.Sniff(data)
	sc, err := f.reg.Sample(id)
	if err != nil {
		return tensor.Sample{}, err
	}
	head, err := f.reg.Header(sc, data, f.form)
	if err != nil {
		return tensor.Sample{}, err
	}
	if err := f.pipeline.Check(head.DType, head.Shape); err != nil {
		return tensor.Sample{}, err
	}
	whole, err := head.Shape.Bytes(head.DType)
	if err != nil || whole > maxFitBytes {
		return tensor.Sample{}, errs.New(errs.Invalid, "the picture has shape %s, want at most %d bytes of pixels", head.Shape, int64(maxFitBytes))
	}
	shape, err := f.pipeline.Shape(transform.Key{}, head.Shape)
	if err != nil {
		return tensor.Sample{}, err
	}
	n, err := shape.Bytes(f.pipeline.DType())
	if err != nil {
		return tensor.Sample{}, err
	}
	if t.decoders[id] == nil {
		t.decoders[id] = sc.NewDecoder()
	}
	pix := make([]byte, n)
	o := codec.AsIs
	if _, upright := f.form.Split(); upright {
		o, _ = sc.Describe().Orientation(data)
	}
	if err := t.decode(f.pipeline, t.decoders[id], data, o, head.Shape, pix, int(whole)); err != nil {
		return tensor.Sample{}, err
	}
	return tensor.Sample{Form: tensor.FormArray, DType: f.pipeline.DType(), Shape: shape, Data: pix}, nil
}

// decode makes dst of the image in data, which o turns to have shape s.
func (t *tools) decode(p *transform.Pipeline, d codec.Decoder, data []byte, o codec.Orientation, s tensor.Shape, dst []byte, whole int) error {
	defer t.space.Reset()
	j, err := t.space.Job(p, transform.Key{}, s, false, dst)
	if err != nil {
		return err
	}
	r := j.Region()
	height, width, pixel := int(s[0]), int(s[1]), int(s[2])
	if parts, ok := d.(codec.ROIDecoder); ok {
		part := codec.ROI{Region: codec.Region(r), To: j}
		if o.Turned() {
			part = o.TurnedROI(part, height, width, pixel, make([]byte, r.Height*r.Width*pixel))
		}
		_, err := parts.DecodeROIs([][]byte{data}, []codec.ROI{part}, codec.RGB)
		return err
	}
	pix := make([]byte, whole)
	if o.Turned() {
		err = o.Decode(d, pix, data, s, codec.RGB, make([]byte, whole))
	} else {
		err = d.Decode(pix, data, codec.RGB)
	}
	if err != nil {
		return err
	}
	stride := width * pixel
	return j.Deliver(pix[r.Y*stride+r.X*pixel:], stride)
}
