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
	// Stage begins to copy the first n bytes of a slab of Host. It returns the memory on the device
	// with one reference. The Stager has a reference of its own to host until the copy has ended.
	// An error means that no copy runs.
	Stage(host *slab.Slab, n int64) (*slab.Slab, error)
	// Stats returns the figures of the copies and of the memory on the device.
	Stats() StagerStats
	// Close waits for the copies that run and drops their slabs. A second call does nothing.
	Close() error
}

// StagerStats are the figures of a Stager.
type StagerStats struct {
	Copies int64      `json:"copies"`
	Bytes  int64      `json:"bytes"`  // copied to the device
	Memory slab.Stats `json:"memory"` // of the device
}

// stage brings the arrays of a batch to the device. Text stays on the host. The batch owns what it
// owned before, on the device.
func (b *Batch) stage(to Stager) error {
	n, text := int64(0), false
	for i := range b.Columns {
		n = max(n, b.Columns[i].end())
		text = text || b.Columns[i].Kind == KindBytes
	}
	device, err := to.Stage(b.Slab, n)
	if err != nil {
		return err
	}
	host := b.Slab
	b.Slab = device
	if text {
		b.Host = host
	} else {
		host.Release()
	}
	return nil
}

// end returns the end of the arrays of a column in the slab, 0 for text.
func (c *BatchColumn) end() int64 {
	switch c.Kind {
	case KindArray:
		return c.Offset + c.Size
	case KindList:
		end := int64(0)
		for i := range c.Items {
			end = max(end, c.Items[i].Offset+c.Items[i].Size)
		}
		return end
	}
	return 0
}
