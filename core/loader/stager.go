package loader

import "deeplake/core/slab"

// Stager brings finished batches to a device. The cuda package fulfils it. Its methods may be
// called in parallel.
type Stager interface {
	// Host returns the ring of the memory that batches are decoded into, with memory from which
	// the device copies by itself. The caller closes it after the Stager.
	Host(budget int64) (*slab.Ring, error)
	// SetBudget sets the bytes of device memory that stay allocated when no batch is in use.
	SetBudget(bytes int64)
	// Stage begins to bring a batch to the device. It returns the memory on the device with one
	// reference. The Stager has a reference of its own to s.Host until the copy has ended. An error
	// means that no copy runs.
	Stage(s *Staging) (*slab.Slab, error)
	// CPUShare returns the part of the images, 0 to 1, that the CPU finishes in the next batches,
	// because the device falls behind.
	CPUShare() float64
	// Stats returns the figures of the copies and of the memory on the device.
	Stats() StagerStats
	// Close waits for the copies that run and drops their slabs. A second call does nothing.
	Close() error
}

// Staging describes a batch on the host, and where its parts lie on the device.
type Staging struct {
	Host   *slab.Slab // of the Stager's ring
	Size   int64      // of the batch on the device, in bytes
	Copies []Copy     // disjoint
	Images []Image    // that the device finishes; each lies behind the one before
}

// Copy is a part of a batch that is copied as it is. Its numbers are offsets in the slabs, and
// bytes.
type Copy struct{ From, To, Size int64 }

// Image is an image that the device finishes. Its numbers are offsets in the slabs, and bytes. What
// lies at From is the packed transform, if there is one, then the packed image of a codec.Packer or
// the pixels that the transform takes.
type Image struct {
	From, Size  int64 // From is a multiple of 8
	To          int64 // of its result
	Length      int64 // of its result
	Channels    int   // of its pixels
	Packed      bool  // by a codec.Packer
	Transformed bool
}

// StagerStats are the figures of a Stager.
type StagerStats struct {
	Copies int64      `json:"copies"` // of batches
	Bytes  int64      `json:"bytes"`  // copied to the device
	Images int64      `json:"images"` // that the device has finished
	Shared float64    `json:"shared"` // CPUShare
	Memory slab.Stats `json:"memory"` // of the device
}
