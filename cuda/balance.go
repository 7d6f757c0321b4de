package cuda

// balance divides the work of decoding between the CPU and a device, so that neither waits for the
// other for long. Measured is what counts: whether the device still works on earlier batches when
// the CPU has finished the next one.
type balance struct {
	eighths int // that the CPU finishes by itself
	busy    int // batches in a row that found the device at work; negative: idle
}

// patience is how many batches in a row must find the device alike: one slow batch means nothing.
const patience = 8

// see notes the state of the device when a batch of the CPU is ready.
func (b *balance) see(busy bool) {
	switch {
	case busy:
		b.busy = max(b.busy, 0) + 1
	default:
		b.busy = min(b.busy, 0) - 1
	}
	switch {
	case b.busy >= patience:
		b.eighths, b.busy = min(b.eighths+1, 8), 0
	case b.busy <= -patience:
		b.eighths, b.busy = max(b.eighths-1, 0), 0
	}
}

// share returns the part of the images that the CPU finishes.
func (b *balance) share() float64 { return float64(b.eighths) / 8 }
