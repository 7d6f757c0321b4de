//go:build cgo && linux

package cuda

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/codec/jpeg"
	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/slab"
	"deeplake/core/tensor"
	"deeplake/core/transform"
)

// withFiles opens a device that decodes files.
func withFiles(t *testing.T) *rig {
	t.Helper()
	t.Setenv(NVJPEGVariable, os.Getenv(DriverVariable))
	return newRigOf(t, 0, Options{Inexact: true})
}

// someFile is a file, with the pixels that the fake makes of it.
type someFile struct {
	data                    []byte
	height, width, channels int
}

func encode(t testing.TB, r *rand.Rand, height, width, channels int) someFile {
	t.Helper()
	file, err := jpeg.New().Encode(nil, drawn(r, height, width, channels, 0.1), tensor.Uint8, tensor.Shape{int64(height), int64(width), int64(channels)}, codec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return someFile{file, height, width, channels}
}

// refused returns the file with a comment that makes the fake refuse it.
func (f someFile) refused() someFile {
	comment := append([]byte{0xff, 0xfe, 0, 8}, "refuse"...)
	f.data = append(append(append([]byte(nil), f.data[:2]...), comment...), f.data[2:]...)
	return f
}

func (f someFile) pixels() []byte {
	row := f.width * f.channels
	all := make([]byte, f.height*row)
	for y := range f.height {
		for x := range row {
			all[y*row+x] = fake.pixel(unsafe.Pointer(&f.data[0]), uintptr(len(f.data)), uint32(x), uint32(y))
		}
	}
	return all
}

// transformed returns the file with a transform, and the result of that on the fake's pixels.
func (f someFile) transformed(t testing.TB, spec string, seed uint64) transformed {
	t.Helper()
	one, ok := onCPU(t, pipeline(t, spec), transform.Key{Seed: seed}, tensor.Shape{int64(f.height), int64(f.width), int64(f.channels)}, f.pixels())
	if !ok {
		t.Fatalf("%s does not suit the picture", spec)
	}
	head := *(*uint32)(unsafe.Pointer(&one.data[0]))
	data := aligned(int(head) + len(f.data))
	copy(data, one.data[:head])
	copy(data[head:], f.data)
	one.data, one.form, one.height, one.width = data, chunk.AsFile, f.height, f.width
	return one
}

// part is the file without a transform.
func (f someFile) part() part {
	return part{f.data, loader.Image{Size: int64(len(f.data)), Length: int64(f.height * f.width * f.channels), Form: chunk.AsFile, Height: f.height, Width: f.width, Channels: f.channels}}
}

func TestFiles(t *testing.T) {
	for _, hardware := range []bool{false, true} {
		begin(t)
		if hardware {
			t.Setenv("FAKE_NVJPEG_HARDWARE", "1")
		}
		r := rand.New(rand.NewPCG(13, 14))
		rig := withFiles(t)
		fake.delay(200) // files must stay until they are read
		for _, count := range []int{1, 5, 5, 2} {
			var files []someFile
			for k := range count {
				files = append(files, encode(t, r, 20+r.IntN(30), 20+r.IntN(30), 1+2*(k%2)))
			}
			parts := partsOf(files)
			memory, err := rig.stageParts(parts)
			if err != nil {
				t.Fatal(err)
			}
			for i, f := range files {
				if got, want := rig.result(memory, parts[i]), f.pixels(); !bytes.Equal(got, want) {
					t.Errorf("hardware %v, file %d of %d: %s", hardware, i, count, difference(got, want))
				}
			}
			memory.Release()
		}
		if s := rig.Stats(); s.Files != 13 || s.Images != 13 {
			t.Errorf("%d files, %d images, want 13", s.Files, s.Images)
		}
		rig.end()
	}
}

// TestTransformedFiles transforms files, packed files and pixels in one batch.
func TestTransformedFiles(t *testing.T) {
	begin(t)
	r := rand.New(rand.NewPCG(15, 16))
	rig := withFiles(t)
	defer rig.end()
	for _, spec := range []string{
		`[{"op":"RandomResizedCrop","size":23},{"op":"HorizontalFlip"},{"op":"Normalize","mean":[0.4,0.5,0.6],"std":[0.2,0.3,0.1]},{"op":"CHW"}]`,
		`[{"op":"ColorJitter","contrast":[0.2,3]}]`,
		`[{"op":"RandomCrop","size":9},{"op":"ColorJitter","contrast":[2,3],"saturation":[0,1]}]`,
		`[{"op":"Pad","padding":1,"padding_mode":"reflect"}]`,
	} {
		var pictures []transformed
		for k := range 9 {
			height, width := 20+r.IntN(30), 20+r.IntN(30)
			f := encode(t, r, height, width, 3)
			switch k % 3 {
			case 0:
				pictures = append(pictures, f.transformed(t, spec, r.Uint64()))
			case 1:
				one, _ := asFile(t, pipeline(t, spec), transform.Key{Seed: r.Uint64()}, f.data, tensor.Shape{int64(height), int64(width), 3})
				pictures = append(pictures, one)
			default:
				one, _ := onCPU(t, pipeline(t, spec), transform.Key{Seed: r.Uint64()}, tensor.Shape{int64(height), int64(width), 3}, f.pixels())
				pictures = append(pictures, one)
			}
		}
		compare(t, rig, pictures)
	}
}

// TestFilesWriteNoMemoryInUse holds that the hardware engine, which waits for no stream, writes
// neither the memory of a batch that a consumer still reads nor that of kernels that still run.
func TestFilesWriteNoMemoryInUse(t *testing.T) {
	begin(t)
	t.Setenv("FAKE_NVJPEG_HARDWARE", "1")
	r := rand.New(rand.NewPCG(23, 24))
	rig := withFiles(t)
	defer rig.end()
	t.Run("consumer", func(t *testing.T) {
		stream := consumer(t, 0)
		first, second := partsOf([]someFile{encode(t, r, 40, 50, 3)}), partsOf([]someFile{encode(t, r, 40, 50, 3)})
		memory, err := rig.stageParts(first)
		if err != nil {
			t.Fatal(err)
		}
		want, address := rig.result(memory, first[0]), memory.Address()
		if err := rig.device.acquire(memory, stream); err != nil {
			t.Fatal(err)
		}
		fake.hold(stream, 1)
		s := &seen{stream: stream, got: make([]byte, len(want))}
		s.begin(memory)
		memory.Release()
		if memory, err = rig.stageParts(second); err != nil {
			t.Fatal(err)
		}
		defer memory.Release()
		if memory.Address() != address {
			t.Fatal("the memory is not used again")
		}
		fake.decoded()
		fake.hold(stream, 0)
		if s.ok(); !bytes.Equal(s.got, want) {
			t.Errorf("the consumer reads %s", difference(s.got, want))
		}
	})
	t.Run("kernels", func(t *testing.T) {
		const spec = `[{"op":"RandomResizedCrop","size":23},{"op":"CHW"}]`
		pictures, parts, memory := make([][]transformed, 8), make([][]part, 8), make([]*slab.Slab, 8)
		for n := range pictures {
			for range 2 {
				pictures[n] = append(pictures[n], encode(t, r, 40, 50, 3).transformed(t, spec, r.Uint64()))
			}
			parts[n] = partsOf(pictures[n])
		}
		fake.delay(500)
		defer fake.delay(0)
		for n := range memory {
			var err error
			if memory[n], err = rig.stageParts(parts[n]); err != nil {
				t.Fatal(err)
			}
		}
		for n, m := range memory {
			for i, p := range parts[n] {
				if got := rig.result(m, p); !bytes.Equal(got, pictures[n][i].want) {
					t.Errorf("picture %d of batch %d: %s", i, n, difference(got, pictures[n][i].want))
				}
			}
			m.Release()
		}
	})
}

// TestFilesOfSeveralBatches decodes the files of several batches at once, and closes meanwhile.
func TestFilesOfSeveralBatches(t *testing.T) {
	begin(t)
	t.Setenv("FAKE_NVJPEG_HARDWARE", "1")
	r := rand.New(rand.NewPCG(25, 26))
	rig := withFiles(t)
	var files []someFile
	for range 5 {
		files = append(files, encode(t, r, 20+r.IntN(30), 20+r.IntN(30), 3))
	}
	var all, checked sync.WaitGroup
	checked.Add(6)
	for range 6 {
		all.Go(func() {
			for n := 0; ; n++ {
				parts := partsOf(files)
				memory, err := rig.stageParts(parts)
				if errs.Is(err, errs.Closed) && n > 0 {
					return
				}
				if err != nil {
					t.Errorf("batch %d: %v", n, err)
					if n == 0 {
						checked.Done()
					}
					return
				}
				if n == 0 {
					for i, f := range files {
						if got := rig.result(memory, parts[i]); !bytes.Equal(got, f.pixels()) {
							t.Errorf("file %d: %s", i, difference(got, f.pixels()))
						}
					}
					checked.Done()
				}
				memory.Release()
			}
		})
	}
	checked.Wait()
	if err := rig.Close(); err != nil {
		t.Error(err)
	}
	all.Wait()
	rig.host.Close()
}

// TestDecodersInUse holds that a device which still decodes files of an earlier batch gets no more.
func TestDecodersInUse(t *testing.T) {
	begin(t)
	r := rand.New(rand.NewPCG(29, 30))
	rig := withFiles(t)
	defer rig.end()
	idleBatches := func() {
		for range patience {
			memory, err := rig.stageParts(partsOf([]someFile{encode(t, r, 20, 30, 3)}))
			if err != nil {
				t.Fatal(err)
			}
			if err := rig.device.Read(make([]byte, 1), memory, 0); err != nil { // it has ended
				t.Fatal(err)
			}
			memory.Release()
		}
	}
	decoder := <-rig.decoders
	idleBatches()
	if split := rig.Split(); split.File != 0 {
		t.Errorf("while a decoder is in use: %+v", split)
	}
	rig.decoders <- decoder
	idleBatches()
	idleBatches()
	if split := rig.Split(); split.File == 0 {
		t.Errorf("with free decoders: %+v", split)
	}
}

// TestRefusedFiles holds that a refused file is told apart, that nothing runs on, and that a device
// which refuses all the time is not asked any more.
func TestRefusedFiles(t *testing.T) {
	begin(t)
	r := rand.New(rand.NewPCG(17, 18))
	rig := withFiles(t)
	defer rig.end()
	good := encode(t, r, 30, 40, 3)
	for n := range mostRefused {
		if _, err := rig.stageParts(partsOf([]someFile{good, encode(t, r, 20, 20, 3).refused(), good})); !errors.Is(err, loader.ErrRefused) {
			t.Fatalf("a refused file: %v", err)
		}
		rig.balance.eighths = -8
		if split := rig.Split(); n < mostRefused-2 && split.File == 0 {
			t.Errorf("after %d refusals: %+v", n+1, split)
		}
	}
	memory, err := rig.stageParts(partsOf([]someFile{good}))
	if err != nil {
		t.Fatal(err)
	}
	memory.Release()
	rig.balance.noFiles()
	if split := rig.Split(); split.File != 0 {
		t.Errorf("%+v", split)
	}
}

// TestFilesAreChecked holds that numbers which do not fit each other reach no decoder.
func TestFilesAreChecked(t *testing.T) {
	begin(t)
	rig := withFiles(t)
	defer rig.end()
	f := encode(t, rand.New(rand.NewPCG(19, 20)), 20, 30, 3)
	for name, spoil := range map[string]func(f *someFile){
		"lower":    func(f *someFile) { f.height = 0 },
		"channels": func(f *someFile) { f.channels = 0 },
	} {
		wrong := f
		spoil(&wrong)
		if _, err := rig.stageParts(partsOf([]someFile{wrong})); !errs.Is(err, errs.Internal) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, spoil := range map[string]func(one *transformed){
		"wider":     func(one *transformed) { one.width = 3 },
		"higher":    func(one *transformed) { one.height = 3 },
		"too large": func(one *transformed) { one.width = 1 << 30 },
		"channels":  func(one *transformed) { one.channels = 1 },
		"no file":   func(one *transformed) { one.data = one.data[:16] },
	} {
		one := f.transformed(t, `[{"op":"Resize","size":[9,11]}]`, 1)
		spoil(&one)
		if _, err := rig.stageParts(partsOf([]transformed{one})); !errs.Is(err, errs.Internal) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNoNVJPEG(t *testing.T) {
	begin(t)
	t.Setenv(NVJPEGVariable, "/nowhere/libnvjpeg.so")
	if _, err := NewStager(0, Options{Inexact: true}); !errs.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "pip install deeplake[cuda]") {
		t.Errorf("without the library: %v", err)
	}
}

// TestFaultsBesideNVJPEG lets each call of the driver fail once while files are decoded.
func TestFaultsBesideNVJPEG(t *testing.T) {
	t.Setenv(NVJPEGVariable, os.Getenv(DriverVariable))
	t.Setenv("FAKE_NVJPEG_HARDWARE", "1")
	r := rand.New(rand.NewPCG(27, 28))
	files := []someFile{encode(t, r, 20, 30, 3), encode(t, r, 20, 30, 1)}
	const spec = `[{"op":"RandomResizedCrop","size":9}]`
	pictures := []transformed{files[0].transformed(t, spec, 1), files[0].transformed(t, spec, 2)}
	scenario := func(tb testing.TB) error {
		s, err := NewStager(0, Options{Inexact: true})
		if err != nil {
			return err
		}
		defer s.Close()
		host, err := s.Host(1 << 20)
		if err != nil {
			return err
		}
		defer host.Close()
		r := &rig{Stager: s.(*Stager), host: host, tb: tb}
		for _, parts := range [][]part{partsOf(files), partsOf(pictures), partsOf(files)} {
			memory, err := r.stageParts(parts)
			if err != nil {
				return err
			}
			memory.Release()
		}
		return s.Close()
	}
	for _, call := range driverNames {
		t.Run(call, func(t *testing.T) { everyTurn(t, call, outOfMemory, scenario) })
	}
}

// TestFaultsOfNVJPEG lets each turn of each call fail.
func TestFaultsOfNVJPEG(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	files := []someFile{encode(t, r, 20, 30, 3), encode(t, r, 20, 30, 1)}
	for _, name := range nvjpegCalls {
		for nth := 1; nth <= 3; nth++ {
			begin(t)
			t.Setenv(NVJPEGVariable, os.Getenv(DriverVariable))
			fake.fail(name, int32(nth), 6)
			s, err := NewStager(0, Options{Inexact: true})
			if err != nil {
				if !errs.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "exact=True") {
					t.Errorf("%s %d: %v", name, nth, err)
				}
				continue
			}
			host, err := s.Host(1 << 20)
			if err != nil {
				t.Fatal(err)
			}
			rig := &rig{Stager: s.(*Stager), host: host, tb: t}
			for range 2 {
				memory, err := rig.stageParts(partsOf(files))
				if err == nil {
					memory.Release()
				} else if !errors.Is(err, loader.ErrRefused) {
					t.Errorf("%s %d: %v", name, nth, err)
				}
			}
			rig.end()
			if what, n := said(fake.left); n > 0 && !strings.HasSuffix(name, "Destroy") {
				t.Errorf("%s %d: %d things are left: %s", name, nth, n, what)
			}
		}
	}
}
