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

	"deeplake/core/codec"
	"deeplake/core/codec/jpeg"
	"deeplake/core/tensor"
)

// jpegTask mirrors dli_jpeg_task.
type jpegTask struct {
	packed, planes, pixels uint64
	channels               uint32
	firstGroup, firstTile  uint32
	_                      uint32
}

// packed is a file that was packed, with the pixels that the CPU decodes.
type packed struct {
	data     []uint64 // a packed image, aligned
	blocks   uint32
	want     []byte
	channels uint32
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
	p := packed{want: make([]byte, size), channels: uint32(h.Shape[2])}
	if err := d.Decode(p.want, file, want); err != nil {
		t.Fatal(err)
	}
	room := make([]uint64, size+1000)
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&room[0])), 8*len(room))
	n, err := d.(codec.Packer).Pack(raw, file, want)
	if err != nil {
		t.Fatal(err)
	}
	if n == 0 {
		return p, false
	}
	p.data = room[:(n+7)/8]
	p.blocks = *(*uint32)(unsafe.Pointer(&raw[16]))
	return p, true
}

// finish runs the kernels over images, all in one launch, and compares their pixels.
func finish(t *testing.T, images []packed) {
	t.Helper()
	const group, tile = 16, 1024
	var tasks []jpegTask
	var kept [][]byte
	var groups, tiles uint32
	address := func(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&b[0]))) }
	for _, p := range images {
		planes, pixels := bytes.Repeat([]byte{0xdb}, 64*int(p.blocks)), bytes.Repeat([]byte{0xdb}, len(p.want)+8)
		kept = append(kept, planes, pixels)
		tasks = append(tasks, jpegTask{packed: uint64(uintptr(unsafe.Pointer(&p.data[0]))), planes: address(planes), pixels: address(pixels),
			channels: p.channels, firstGroup: groups, firstTile: tiles})
		groups += (p.blocks + group - 1) / group
		tiles += (uint32(len(p.want))/p.channels + tile - 1) / tile
	}
	list := unsafe.Pointer(&tasks[0])
	if fake.run("dli_jpeg_samples", groups, 8*group, list, uint32(len(tasks))) == 0 || fake.run("dli_jpeg_pixels", tiles, 256, list, uint32(len(tasks))) == 0 {
		t.Fatal("the fake has no such kernel")
	}
	for i, p := range images {
		pixels := kept[2*i+1]
		if n := len(p.want); !bytes.Equal(pixels[:n], p.want) {
			at := 0
			for pixels[at] == p.want[at] {
				at++
			}
			t.Fatalf("image %d: byte %d of %d is %d, want %d", i, at, n, pixels[at], p.want[at])
		}
		if !bytes.Equal(pixels[len(p.want):], bytes.Repeat([]byte{0xdb}, 8)) {
			t.Fatalf("image %d: written beyond its end", i)
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
				finish(t, images)
			})
		}
	}
}

// TestPixelsOfFiles takes the files of the codec's tests, which other programs wrote.
func TestPixelsOfFiles(t *testing.T) {
	begin(t)
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
	finish(t, images)
}

// TestDamagedFiles changes bytes of files. A file that is packed must be one that the CPU decodes,
// to the same pixels.
func TestDamagedFiles(t *testing.T) {
	begin(t)
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
		n, err := d.(codec.Packer).Pack(raw, file, codec.RGB)
		if err != nil || n == 0 {
			refused++
			continue
		}
		p, ok := pack(t, file, codec.RGB) // fails where the CPU finds damage
		if !ok {
			t.Fatal("a file is packed once and not again")
		}
		finish(t, []packed{p})
		same++
	}
	if same < 100 || refused < 100 {
		t.Errorf("%d files are packed, %d are not: the test tries too little", same, refused)
	}
}
