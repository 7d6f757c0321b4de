package cuda

import "testing"

// TestBalance lets a device and a CPU of several speeds work side by side. The split must come near
// the one at which both need the same time.
func TestBalance(t *testing.T) {
	for _, c := range []struct {
		name             string
		files            bool
		pack, whole, gpu float64 // for an image: of the CPU to pack and to decode, of the device
		alone            float64 // of the device to decode a file
		least, most      float64 // of the parts in the end: the CPU's less the files'
	}{
		{"fast device", false, 1, 2, 0.2, 0, 0, 0},
		{"device as fast as packing", false, 1, 2, 1, 0, 0, 0.25},
		{"slow device", false, 1, 2, 3, 0, 0.375, 0.75}, // equal at 1/2
		{"very slow device", false, 1, 2, 50, 0, 0.75, 1},
		{"files as fast as packing", true, 1, 2, 0.1, 1, -0.75, -0.375}, // equal at 9/19
		{"files for nothing", true, 1, 2, 0.1, 0.01, -1, -0.75},
		{"slow device with files", true, 1, 2, 3, 9, 0.375, 0.75},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := balance{files: c.files}
			cpu, device := 0.0, 0.0 // when each is ready
			for n := range 1000 {
				s := b.split()
				packed := 1 - s.CPU - s.File
				cpu += s.CPU*c.whole + packed*c.pack
				p := idle
				if device > cpu {
					p = working
				}
				b.see(p)
				device = max(device, cpu) + packed*c.gpu + s.File*c.alone
				cpu = max(cpu, device-3) // memory for three batches
				if got := s.CPU - s.File; n > 500 && (got < c.least || got > c.most) {
					t.Fatalf("batch %d: %+v, want %v to %v", n, s, c.least, c.most)
				}
			}
		})
	}
	b := balance{files: true, eighths: -8}
	b.noFiles()
	for range 100 {
		b.see(idle)
	}
	if s := b.split(); s.File != 0 || s.CPU != 0 {
		t.Errorf("without files: %+v", s)
	}
}
