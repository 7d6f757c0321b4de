package cuda

import "deeplake/core/loader"

// progress tells what a device does when the CPU has finished a batch.
type progress int

const (
	waiting progress = iota // its memory is still in use by the streams of a training loop
	working
	idle
)

// balance divides the images of a batch between the CPU and a device, so that neither waits for the
// other for long. It measures whether the device still works on earlier batches when the CPU has
// finished the next one. A device that is idle gets whole files, if it may; one that falls behind
// gets fewer, and then fewer packed images. A device that waits for training is neither.
type balance struct {
	files   bool // the device may decode whole files
	eighths int  // above 0: that the CPU finishes; below 0: that the device decodes alone
	row     int  // batches in a row that found the device working; negative: idle
}

// patience is the number of batches that in a row must find the device alike: one slow batch means
// nothing.
const patience = 8

// see notes what the device does when a batch of the CPU is ready.
func (b *balance) see(p progress) {
	switch p {
	case waiting:
		b.row = 0
	case working:
		b.row = max(b.row, 0) + 1
	case idle:
		b.row = min(b.row, 0) - 1
	}
	least := 0
	if b.files {
		least = -8
	}
	switch {
	case b.row >= patience:
		b.eighths, b.row = min(b.eighths+1, 8), 0
	case b.row <= -patience:
		b.eighths, b.row = max(b.eighths-1, least), 0
	}
}

// noFiles ends the decoding of whole files by the device.
func (b *balance) noFiles() { b.files, b.eighths = false, max(b.eighths, 0) }

// split returns the parts of the next batch.
func (b *balance) split() loader.Split {
	part := float64(b.eighths) / 8
	return loader.Split{CPU: max(part, 0), File: max(-part, 0)}
}
