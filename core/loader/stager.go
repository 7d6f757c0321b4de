package loader

import "context"

// Stager brings finished batches to a device. The cuda package fulfils it in a later version;
// nothing here calls it yet.
//
// The contract: slabs are registered once (pinned), copies run on a stream of their own, and the
// host never waits for them. A Stager is used by one loader, its methods by one goroutine at a
// time.
type Stager interface {
	// Register makes mem known to the device before the first copy from it. The memory outlives the
	// Stager's use of it: Close comes first.
	Register(mem []byte) error
	// Stage begins the copy of a batch. It returns the address of the slab on the device and the
	// event of the finished copy. The loader keeps the slab until then. An error means that no copy
	// began.
	Stage(ctx context.Context, b *Batch) (device Staged, err error)
	// Close waits for the copies that run and forgets the registered memory.
	Close() error
}

// Staged is a batch on its way to a device.
type Staged interface {
	// Address is where the slab begins on the device: a column lies at Address + Offset.
	Address() uintptr
	// Wait makes stream, a handle of the device's interface, wait for the copy. The host does not
	// wait.
	Wait(stream uintptr) error
	// Release reports that the consumer has dropped the last array of the batch.
	Release()
}
