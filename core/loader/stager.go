package loader

import (
	"errors"

	"deeplake/core/chunk"
	"deeplake/core/slab"
)

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
	// means that no copy runs. ErrRefused means that the device cannot decode one of the files, and
	// they have to come in another form.
	Stage(s *Staging) (*slab.Slab, error)
	// Reclaim drops the references to slabs whose copies have ended. If there are none and wait is
	// true, it waits for the earliest copy. It reports whether it has dropped one.
	Reclaim(wait bool) (bool, error)
	// Split says who decodes the images of the next batches.
	Split() Split
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

// Copy is a part of a batch that is copied unchanged. Its numbers are offsets in the slabs, and
// bytes.
type Copy struct{ From, To, Size int64 }

// Form is the form in which an image comes to a device.
type Form = chunk.Form

// The forms.
const (
	AsPixels = chunk.AsPixels
	AsPacked = chunk.AsPacked
	AsFile   = chunk.AsFile
)

// Split divides the images of a batch: parts from 0 to 1 that add up to at most 1. The CPU packs
// the others, and the device finishes them.
type Split struct {
	CPU  float64 `json:"cpu"`  // finished by the CPU
	File float64 `json:"file"` // decoded by the device alone
}

// ErrRefused is the error of Stage for files that the device does not decode.
var ErrRefused = errors.New("the device does not decode a file")

// Image is an image that the device finishes. Its numbers are offsets in the slabs, and bytes. What
// lies at From is the packed transform, if there is one, then the image in its form: AsPixels are
// those that the transform takes.
type Image struct {
	From, Size    int64 // From is a multiple of 8
	To            int64 // of its result
	Length        int64 // of its result
	Form          Form
	Transformed   bool
	Height, Width int // of the whole image
	Channels      int // of its pixels
}

// StagerStats are the figures of a Stager.
type StagerStats struct {
	Copies int64      `json:"copies"` // of batches
	Bytes  int64      `json:"bytes"`  // copied to the device
	Images int64      `json:"images"` // that the device has finished
	Files  int64      `json:"files"`  // of these, that it has decoded alone
	Split  Split      `json:"split"`  // of the next batch
	Memory slab.Stats `json:"memory"` // of the device
}
