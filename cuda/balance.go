package cuda

import "deeplake/core/loader"

// balance divides the images of a batch between the CPU and a device, so that neither waits for the
// other for long. It measures whether the device still works on earlier batches when the CPU has
// finished the next one. A device that is idle gets whole files, if it may; one that falls behind
// gets fewer, and then fewer packed images.
type balance struct {
	files   bool // the device may decode whole files
	eighths int  // above 0: that the CPU finishes; below 0: that the device decodes alone
	busy    int  // batches in a row that found the device at work; negative: idle
}

// patience is how many batches in a row must find the device alike: one slow batch means nothing.
const patience = 8

// see notes the state of the device when a batch of the CPU is ready.
func (b *balance) see(busy bool) {
	least := 0
	if b.files {
		least = -8
	}
	if busy {
		b.busy = max(b.busy, 0) + 1
	} else {
		b.busy = min(b.busy, 0) - 1
	}
	switch {
	case b.busy >= patience:
		b.eighths, b.busy = min(b.eighths+1, 8), 0
	case b.busy <= -patience:
		b.eighths, b.busy = max(b.eighths-1, least), 0
	}
}

// noFiles ends the decoding of whole files by the device.
func (b *balance) noFiles() { b.files, b.eighths = false, max(b.eighths, 0) }

// split returns the parts of the next batch.
func (b *balance) split() loader.Split {
	part := float64(b.eighths) / 8
	return loader.Split{CPU: max(part, 0), File: max(-part, 0)}
}
