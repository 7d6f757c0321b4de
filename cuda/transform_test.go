//go:build cgo && linux

package cuda

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/codec/jpeg"
	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/tensor"
	"deeplake/core/transform"
)

// transformed is a picture with its transform, as the loader stages it.
type transformed struct {
	data     []byte // at an address that is a multiple of 8
	channels int
	form     chunk.Form // of what follows the transform in data
	height   int        // of a file
	width    int
	want     []byte
}

func pipeline(t testing.TB, spec string) *transform.Pipeline {
	t.Helper()
	var ops transform.Spec
	if err := json.Unmarshal([]byte(spec), &ops); err != nil {
		t.Fatal(err)
	}
	p, err := transform.New("images", ops)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// aligned returns memory at an address that is a multiple of 8.
func aligned(n int) []byte {
	room := make([]uint64, n/8+1)
	return unsafe.Slice((*byte)(unsafe.Pointer(&room[0])), n)
}

// onCPU computes the result of a picture on the CPU, and packs its transform with the pixels of its
// region.
func onCPU(t testing.TB, p *transform.Pipeline, key transform.Key, shape tensor.Shape, pix []byte) (transformed, bool) {
	t.Helper()
	if p.Check(tensor.Uint8, shape) != nil {
		return transformed{}, false
	}
	out, err := p.Shape(key, shape)
	if errs.Is(err, errs.Type) {
		return transformed{}, false // it is too small for a crop
	}
	if err != nil {
		t.Fatal(err)
	}
	n, _ := out.Bytes(p.DType())
	var space transform.Workspace
	defer space.Close()
	job, err := space.Job(p, key, shape, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := job.Pack()
	if err != nil {
		t.Fatal(err)
	}
	channels := 1
	if len(shape) == 3 {
		channels = int(shape[2])
	}
	r, width := job.Region(), int(shape[1])
	row := r.Width * channels
	result := transformed{channels: channels, want: aligned(int(n)), data: aligned(packed.Size() + r.Height*row)}
	packed.Write(result.data)
	for y := range r.Height {
		copy(result.data[packed.Size()+y*row:], pix[((r.Y+y)*width+r.X)*channels:][:row])
	}
	if err := job.Into(result.want); err != nil {
		t.Fatal(err)
	}
	if err := job.Deliver(pix[(r.Y*width+r.X)*channels:], width*channels); err != nil {
		t.Fatal(err)
	}
	return result, true
}

// asFile is onCPU of a JPEG file, with the packed file in place of the region.
func asFile(t testing.TB, p *transform.Pipeline, key transform.Key, file []byte, shape tensor.Shape) (transformed, bool) {
	t.Helper()
	d := jpeg.New().NewDecoder()
	defer d.Close()
	pix := make([]byte, shape[0]*shape[1]*shape[2])
	if err := d.Decode(pix, file, codec.RGB); err != nil {
		t.Fatal(err)
	}
	result, ok := onCPU(t, p, key, shape, pix)
	if !ok {
		return result, false
	}
	room := aligned(2*len(pix) + 4096)
	job := (*[8]uint32)(unsafe.Pointer(&result.data[0])) // a dli_packed_job
	n, err := d.(codec.Packer).Pack(room, file, codec.RGB, int(job[3]+job[5]))
	if err != nil || n == 0 {
		t.Fatalf("pack: %d, %v", n, err)
	}
	head := int(job[0])
	data := aligned(head + n)
	copy(data, result.data[:head])
	copy(data[head:], room[:n])
	result.data, result.form = data, chunk.AsPacked
	return result, true
}

func (t transformed) part() part {
	return part{t.data, loader.Image{Size: int64(len(t.data)), Length: int64(len(t.want)), Channels: t.channels, Form: t.form, Transformed: true, Height: t.height, Width: t.width}}
}

// compare brings pictures to the device in one batch, and compares the results with the CPU's.
func compare(t *testing.T, r *rig, pictures []transformed) {
	t.Helper()
	parts := partsOf(pictures)
	memory, err := r.stageParts(parts)
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Release()
	for i, p := range pictures {
		if got := r.result(memory, parts[i]); !bytes.Equal(got, p.want) {
			t.Errorf("picture %d: %s", i, difference(got, p.want))
		}
	}
}

func difference(got, want []byte) string {
	first, count := -1, 0
	for i := range got {
		if got[i] != want[i] {
			if count++; first < 0 {
				first = i
			}
		}
	}
	return fmt.Sprintf("%d of %d bytes differ; byte %d is %d, want %d", count, len(got), first, got[first], want[first])
}

// pipelines have every operation, every filter, and every form of the result.
var pipelines = []string{
	`[{"op":"CHW"}]`,
	`[{"op":"ToFloat"}]`,
	`[{"op":"ToFloat","scale":false,"bits":"16"},{"op":"CHW"}]`,
	`[{"op":"Normalize","mean":[0.4],"std":[0.2]},{"op":"CHW"}]`,
	`[{"op":"Normalize","mean":[0.485,0.456,0.406],"std":[0.229,0.224,0.225]},{"op":"ToFloat","bits":"bf16"},{"op":"CHW"}]`,
	`[{"op":"Normalize","mean":[0,0,0],"std":[1e-9,1e6,1e38]},{"op":"ToFloat","bits":"16"}]`,
	// every second value lies in the middle of two of the result
	`[{"op":"ToFloat","scale":false,"bits":"bf16"},{"op":"Normalize","mean":[512],"std":[1]}]`,
	`[{"op":"ToFloat","scale":false,"bits":"16"},{"op":"Normalize","mean":[4096],"std":[1]}]`,
	`[{"op":"RandomResizedCrop","size":23},{"op":"HorizontalFlip"},{"op":"Normalize","mean":[0.4,0.5,0.6],"std":[0.2,0.3,0.1]},{"op":"CHW"}]`,
	`[{"op":"RandomResizedCrop","size":[40,17],"fast":true},{"op":"VerticalFlip"}]`,
	`[{"op":"Resize","size":[9,50]}]`,
	`[{"op":"Resize","size":[50,9]},{"op":"HorizontalFlip","p":1},{"op":"VerticalFlip","p":1}]`,
	`[{"op":"Resize","size":30},{"op":"CenterCrop","size":24}]`,
	`[{"op":"Resize","size":[21,22],"interpolation":"nearest"},{"op":"HorizontalFlip","p":1}]`,
	`[{"op":"Resize","size":[21,22],"interpolation":"nearest-exact"}]`,
	`[{"op":"Resize","size":[21,32],"interpolation":"bicubic"}]`,
	`[{"op":"Resize","size":[61,12],"interpolation":"lanczos"}]`,
	`[{"op":"Resize","size":[21,32],"interpolation":"box"},{"op":"ToFloat","bits":"16"}]`,
	`[{"op":"Resize","size":[21,32],"interpolation":"hamming"}]`,
	`[{"op":"CenterCrop","size":[80,10]}]`,
	`[{"op":"RandomCrop","size":12,"padding":3,"fill":7,"pad_if_needed":true},{"op":"CHW"}]`,
	`[{"op":"Pad","padding":[1,2,3,0],"padding_mode":"edge"},{"op":"Resize","size":[16,16]}]`,
	`[{"op":"Pad","padding":1,"padding_mode":"reflect"}]`,
	`[{"op":"Pad","padding":2,"padding_mode":"symmetric"},{"op":"ColorJitter","brightness":0.9}]`,
	`[{"op":"ColorJitter","contrast":[0.2,3]}]`,
	`[{"op":"ColorJitter","saturation":[0,4]},{"op":"ToFloat","bits":"bf16"}]`,
	`[{"op":"ColorJitter","brightness":0.4,"contrast":0.4,"saturation":0.4},{"op":"CenterCrop","size":11},{"op":"Normalize","mean":[0.5],"std":[0.5]}]`,
	`[{"op":"CenterCrop","size":20},{"op":"ColorJitter","contrast":2},{"op":"RandomResizedCrop","size":15},{"op":"ColorJitter","contrast":2},{"op":"CHW"}]`,
}

// TestTransformsEqualTheCPU compares every bit.
func TestTransformsEqualTheCPU(t *testing.T) {
	begin(t)
	rig := newRig(t, 0)
	defer rig.end()
	r := rand.New(rand.NewPCG(7, 8))
	for _, spec := range pipelines {
		p := pipeline(t, spec)
		var pictures []transformed
		for n, size := range [][2]int{{1, 1}, {3, 2}, {9, 40}, {31, 33}, {64, 47}, {120, 31}} {
			for _, channels := range []int{1, 3, 5} {
				shape := tensor.Shape{int64(size[0]), int64(size[1]), int64(channels)}
				key := transform.Key{Seed: r.Uint64(), Row: int64(n)}
				if one, ok := onCPU(t, p, key, shape, drawn(r, size[0], size[1], channels, 1)); ok {
					pictures = append(pictures, one)
				}
			}
			shape := tensor.Shape{int64(size[0]), int64(size[1]), 3}
			for _, ratio := range []string{"4:4:4", "4:2:2", "4:2:0"} {
				file, err := jpeg.New().Encode(nil, drawn(r, size[0], size[1], 3, 0.1), tensor.Uint8, shape, codec.Options{Quality: 80, Subsampling: ratio})
				if err != nil {
					t.Fatal(err)
				}
				if one, ok := asFile(t, p, transform.Key{Seed: r.Uint64()}, file, shape); ok {
					pictures = append(pictures, one)
				}
			}
		}
		if len(pictures) < 6 {
			t.Errorf("%s: only %d pictures", spec, len(pictures))
			continue
		}
		t.Run(spec, func(t *testing.T) { compare(t, rig, pictures) })
	}
}

// TestRegionsOfFiles makes small crops of large files, which need few of their blocks.
func TestRegionsOfFiles(t *testing.T) {
	begin(t)
	rig := newRig(t, 0)
	defer rig.end()
	r := rand.New(rand.NewPCG(9, 10))
	p := pipeline(t, `[{"op":"RandomCrop","size":[5,6]}]`)
	for _, ratio := range []string{"4:4:4", "4:2:2", "4:2:0"} {
		shape := tensor.Shape{75, 83, 3}
		file, err := jpeg.New().Encode(nil, drawn(r, 75, 83, 3, 0.3), tensor.Uint8, shape, codec.Options{Quality: 90, Subsampling: ratio})
		if err != nil {
			t.Fatal(err)
		}
		var pictures []transformed
		for range 300 {
			one, ok := asFile(t, p, transform.Key{Seed: r.Uint64()}, file, shape)
			if !ok {
				t.Fatal("the crop does not fit")
			}
			pictures = append(pictures, one)
		}
		compare(t, rig, pictures)
	}
}

// TestStagingIsChecked holds that numbers which do not fit each other reach no kernel.
func TestStagingIsChecked(t *testing.T) {
	begin(t)
	rig := newRig(t, 0)
	defer rig.end()
	r := rand.New(rand.NewPCG(11, 12))
	shape := tensor.Shape{20, 30, 3}
	p := pipeline(t, `[{"op":"Resize","size":[9,11]}]`)
	file, err := jpeg.New().Encode(nil, drawn(r, 20, 30, 3, 0.1), tensor.Uint8, shape, codec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	made := func(packed bool) transformed {
		var one transformed
		if packed {
			one, _ = asFile(t, p, transform.Key{}, file, shape)
		} else {
			one, _ = onCPU(t, p, transform.Key{}, shape, drawn(r, 20, 30, 3, 1))
		}
		return one
	}
	number := func(one *transformed, field int) *uint32 { return (*uint32)(unsafe.Pointer(&one.data[4*field])) }
	for name, spoil := range map[string]func(one *transformed){
		"a longer transform":  func(one *transformed) { *number(one, 0) += 1 << 20 },
		"an odd size":         func(one *transformed) { *number(one, 0) += 4 },
		"no passes":           func(one *transformed) { *number(one, 1) = 0 },
		"more passes":         func(one *transformed) { *number(one, 1) = 1 << 20 },
		"a region outside":    func(one *transformed) { *number(one, 2) += 1 << 31 },
		"a wider region":      func(one *transformed) { *number(one, 4)++ },
		"more channels":       func(one *transformed) { *number(one, 6)++ },
		"a larger result":     func(one *transformed) { *number(one, 8)++ },
		"a result of floats":  func(one *transformed) { *number(one, 9) = 1 },
		"nothing but a head":  func(one *transformed) { one.data = one.data[:40] },
		"a transform by half": func(one *transformed) { one.data = one.data[:*number(one, 0)/2] },
		"missing bytes":       func(one *transformed) { one.data = one.data[:len(one.data)-8] },
	} {
		for _, packed := range []bool{false, true} {
			one := made(packed)
			if spoil(&one); name == "a region outside" && !packed {
				continue // the pixels are there
			}
			memory, err := rig.stageParts(partsOf([]transformed{one}))
			if err == nil {
				memory.Release()
			}
			if !errs.Is(err, errs.Internal) {
				t.Errorf("%s, packed %v: %v, want an internal error", name, packed, err)
			}
		}
	}
}

// scenarioPictures are two small pictures whose transform takes every kernel.
var scenarioPictures = sync.OnceValue(func() []transformed {
	var t testing.T // panics where a test would fail
	p := pipeline(&t, `[{"op":"Resize","size":[5,4]},{"op":"ColorJitter","contrast":[2,2]},{"op":"ToFloat"}]`)
	shape := tensor.Shape{9, 11, 3}
	pix := drawn(rand.New(rand.NewPCG(5, 6)), 9, 11, 3, 0.2)
	file, err := jpeg.New().Encode(nil, pix, tensor.Uint8, shape, codec.Options{})
	if err != nil {
		panic(err)
	}
	region, _ := onCPU(&t, p, transform.Key{}, shape, pix)
	packed, _ := asFile(&t, p, transform.Key{}, file, shape)
	return []transformed{region, packed}
})

// FuzzTransform compares pipelines as users write them.
func FuzzTransform(f *testing.F) {
	for i, spec := range pipelines {
		f.Add(spec, uint8(i), uint8(7*i), uint8(i), uint64(i))
	}
	f.Fuzz(func(t *testing.T, spec string, height, width, channels uint8, seed uint64) {
		var ops transform.Spec
		if json.Unmarshal([]byte(spec), &ops) != nil {
			return
		}
		p, err := transform.New("images", ops)
		if err != nil {
			return
		}
		shape := tensor.Shape{1 + int64(height%100), 1 + int64(width%100), 1 + int64(channels%4)}
		key := transform.Key{Seed: seed}
		if out, err := p.Shape(key, shape); p.Check(tensor.Uint8, shape) != nil || err != nil || out[0]*out[1]*out[2] > 1<<16 {
			return
		}
		r := rand.New(rand.NewPCG(seed, 1))
		one, ok := onCPU(t, p, key, shape, drawn(r, int(shape[0]), int(shape[1]), int(shape[2]), 1))
		if !ok {
			return
		}
		begin(t)
		rig := newRig(t, 0)
		defer rig.end()
		compare(t, rig, []transformed{one})
	})
}
