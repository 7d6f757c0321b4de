//go:build cgo && linux

package cuda

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/codec/jpeg"
	"deeplake/core/loader"
	"deeplake/core/slab"
	"deeplake/core/tensor"
)

// packed is a file that was packed, with the pixels that the CPU decodes.
type packed struct {
	data     []uint64 // aligned
	size     int64    // bytes of data
	want     []byte
	channels int
}

func pack(t *testing.T, file []byte, want codec.Channels) (packed, bool) {
	t.Helper()
	c := jpeg.New()
	d := c.NewDecoder()
	defer d.Close()
	h, err := c.Header(file, want)
	if err != nil {
		t.Fatal(err)
	}
	size, _ := h.Shape.Bytes(h.DType)
	p := packed{want: make([]byte, size), channels: int(h.Shape[2])}
	if err := d.Decode(p.want, file, want); err != nil {
		t.Fatal(err)
	}
	room := make([]uint64, size+1000)
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&room[0])), 8*len(room))
	n, err := d.(codec.Packer).Pack(raw, file, want, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n == 0 {
		return p, false
	}
	p.data, p.size = room[:(n+7)/8], int64(n)
	return p, true
}

func (p packed) part() part {
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&p.data[0])), p.size)
	return part{raw, loader.Image{Size: p.size, Length: int64(len(p.want)), Channels: p.channels, Form: chunk.AsPacked}}
}

// finish brings packed images to the device in one batch, and compares their pixels.
func finish(t *testing.T, r *rig, images []packed) {
	t.Helper()
	parts := partsOf(images)
	memory, err := r.stageParts(parts)
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Release()
	for i, p := range images {
		if pixels := r.result(memory, parts[i]); !bytes.Equal(pixels, p.want) {
			t.Fatalf("image %d: %s", i, difference(pixels, p.want))
		}
	}
}

// drawn returns a picture: noise is the widest spectrum, else it is smooth.
func drawn(r *rand.Rand, h, w, channels int, noise float64) []byte {
	pix := make([]byte, h*w*channels)
	for i := range pix {
		x, y := i/channels%w, i/channels/w
		smooth := 128 + 60*float64(x%17)/17 - 60*float64(y%13)/13 + 20*float64(i%channels)
		pix[i] = byte(max(0, min(255, smooth+noise*(r.Float64()-0.5)*400)))
	}
	return pix
}

func TestPixelsEqualTheCPU(t *testing.T) {
	begin(t)
	rig := newRig(t, 0)
	defer rig.end()
	r := rand.New(rand.NewPCG(1, 2))
	c := jpeg.New()
	for _, ratio := range []string{"4:4:4", "4:2:2", "4:2:0"} {
		for _, quality := range []int{1, 30, 75, 95, 100} {
			t.Run(fmt.Sprint(ratio[2:], " ", quality), func(t *testing.T) {
				var images []packed
				for _, size := range [][2]int{{1, 1}, {2, 3}, {3, 2}, {4, 5}, {5, 4}, {7, 9}, {16, 16}, {17, 15}, {33, 31}, {40, 70}, {121, 87}} {
					for _, channels := range []int{1, 3} {
						for _, want := range []codec.Channels{codec.AsStored, codec.RGB, codec.Gray} {
							noise := r.Float64() * float64(quality) / 100
							pix := drawn(r, size[0], size[1], channels, noise)
							file, err := c.Encode(nil, pix, tensor.Uint8, tensor.Shape{int64(size[0]), int64(size[1]), int64(channels)},
								codec.Options{Quality: quality, Subsampling: ratio})
							if err != nil {
								t.Fatal(err)
							}
							p, ok := pack(t, file, want)
							if !ok {
								t.Fatalf("%v of %d channels is not packed", size, channels)
							}
							images = append(images, p)
						}
					}
				}
				finish(t, rig, images)
			})
		}
	}
}

// TestPixelsOfFiles takes the files of the codec's tests, which other programs wrote.
func TestPixelsOfFiles(t *testing.T) {
	begin(t)
	rig := newRig(t, 0)
	defer rig.end()
	var images []packed
	left := 0
	paths, _ := filepath.Glob(os.Getenv("DEEPLAKE_TEST_JPEGS"))
	if len(paths) == 0 {
		paths, _ = filepath.Glob("../core/codec/jpeg/testdata/*.jpg")
	}
	for _, path := range paths {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := jpeg.New().Header(file, codec.RGB); err != nil {
			continue
		}
		p, ok := pack(t, file, codec.RGB)
		if !ok {
			left++
			continue
		}
		images = append(images, p)
	}
	t.Logf("%d files are packed, %d are not", len(images), left)
	if len(images) == 0 {
		t.Skip("there are no files")
	}
	finish(t, rig, images)
}

// TestDamagedFiles changes bytes of files. A file that is packed must be one that the CPU decodes,
// to the same pixels.
func TestDamagedFiles(t *testing.T) {
	begin(t)
	rig := newRig(t, 0)
	defer rig.end()
	r := rand.New(rand.NewPCG(3, 4))
	c := jpeg.New()
	d := c.NewDecoder()
	defer d.Close()
	room := make([]uint64, 1<<14)
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&room[0])), 8*len(room))
	same, refused := 0, 0
	for i := range 4000 {
		ratio := []string{"4:4:4", "4:2:2", "4:2:0"}[i%3]
		h, w := 1+r.IntN(40), 1+r.IntN(40)
		file, err := c.Encode(nil, drawn(r, h, w, 3, r.Float64()), tensor.Uint8, tensor.Shape{int64(h), int64(w), 3}, codec.Options{Quality: 1 + r.IntN(100), Subsampling: ratio})
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + r.IntN(3) {
			at := len(file) - 1 - r.IntN(len(file)/2) // mostly in the scan
			file[at] ^= byte(1 << r.IntN(8))
		}
		if _, err := c.Header(file, codec.RGB); err != nil {
			continue
		}
		n, err := d.(codec.Packer).Pack(raw, file, codec.RGB, 0)
		if err != nil || n == 0 {
			refused++
			continue
		}
		p, ok := pack(t, file, codec.RGB) // fails where the CPU finds damage
		if !ok {
			t.Fatal("a file is packed once and not again")
		}
		finish(t, rig, []packed{p})
		same++
	}
	if same < 100 || refused < 100 {
		t.Errorf("%d files are packed, %d are not: the test tries too little", same, refused)
	}
}

// scenarioImages are two small images.
var scenarioImages = func() []packed {
	var all []packed
	for _, channels := range []int{1, 3} {
		pix := drawn(rand.New(rand.NewPCG(5, 6)), 9, 11, channels, 0.2)
		file, err := jpeg.New().Encode(nil, pix, tensor.Uint8, tensor.Shape{9, 11, int64(channels)}, codec.Options{})
		if err != nil {
			panic(err)
		}
		d := jpeg.New().NewDecoder()
		room := make([]uint64, 1<<12)
		n, err := d.(codec.Packer).Pack(unsafe.Slice((*byte)(unsafe.Pointer(&room[0])), 8*len(room)), file, codec.AsStored, 0)
		if err != nil {
			panic(err)
		}
		d.Close()
		all = append(all, packed{data: room[:(n+7)/8], size: int64(n), want: make([]byte, len(pix)), channels: channels})
	}
	return all
}()

// TestSplit keeps a device at work, and then a training loop whose stream holds its memory. Only
// the first is a device that falls behind.
func TestSplit(t *testing.T) {
	for _, c := range []struct {
		name     string
		training bool
	}{
		{"the device is slow", false},
		{"training is slow", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			begin(t)
			r := newRig(t, 0)
			defer r.end()
			stream := consumer(t, 0)
			first := r.stage(4096, 1)
			if err := r.device.Read(make([]byte, 1), first, 0); err != nil { // the copy has ended
				t.Fatal(err)
			}
			address := first.Address()
			if c.training {
				fake.hold(stream, 1)
				if err := r.device.acquire(first, stream); err != nil {
					t.Fatal(err)
				}
			} else {
				fake.delay(300_000)
			}
			first.Release()
			var all []*slab.Slab
			for range 2 * patience {
				memory, err := r.stageParts(partsOf(scenarioImages[:1]))
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, memory)
				if c.training {
					r.awaitPast(working) // on the tables, which wait for nothing
				} else {
					r.awaitPast(waiting)
				}
			}
			if all[0].Address() != address {
				t.Fatal("the memory is not used again")
			}
			if got := r.Split(); (got.CPU > 0) == c.training || got.File != 0 {
				t.Errorf("the split is %+v", got)
			}
			fake.hold(stream, 0)
			fake.delay(0)
			for _, m := range all {
				m.Release()
			}
		})
	}
}
