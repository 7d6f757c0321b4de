package cuda

import "testing"

// TestBalance lets a device and a CPU of several speeds work side by side. The share must come near
// the one at which both need the same time.
func TestBalance(t *testing.T) {
	for _, c := range []struct {
		name             string
		pack, whole, gpu float64 // for an image: of the CPU to pack and to decode, of the device
		least, most      float64 // of the shares in the end
	}{
		{"fast device", 1, 2, 0.2, 0, 0},
		{"device as fast as packing", 1, 2, 1, 0, 0.25},
		{"slow device", 1, 2, 3, 0.375, 0.75}, // equal at 1/2
		{"very slow device", 1, 2, 50, 0.75, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b balance
			cpu, device := 0.0, 0.0 // when each is ready
			for n := range 1000 {
				share := b.share()
				cpu += share*c.whole + (1-share)*c.pack
				b.see(device > cpu)
				device = max(device, cpu) + (1-share)*c.gpu
				cpu = max(cpu, device-3) // memory for three batches
				if n > 500 && (share < c.least || share > c.most) {
					t.Fatalf("batch %d: the CPU has %v, want %v to %v", n, share, c.least, c.most)
				}
			}
		})
	}
}
