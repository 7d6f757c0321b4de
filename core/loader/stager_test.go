package loader

import (
	"sync"
	"testing"

	"deeplake/core/order"
	"deeplake/core/slab"
	"deeplake/core/tensor"
)

// slowDevice is a Stager whose copies end when Reclaim waits for them.
type slowDevice struct {
	memory *slab.Ring

	mu      sync.Mutex
	copying []*slab.Slab
}

func (d *slowDevice) Host(budget int64) (*slab.Ring, error) { return slab.NewRing(budget), nil }
func (d *slowDevice) SetBudget(bytes int64)                 { d.memory.SetBudget(bytes) }
func (d *slowDevice) Split() Split                          { return Split{} }
func (d *slowDevice) Stats() StagerStats                    { return StagerStats{} }

func (d *slowDevice) Stage(s *Staging) (*slab.Slab, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.Host.Retain()
	d.copying = append(d.copying, s.Host)
	return d.memory.Get(s.Size)
}

func (d *slowDevice) Reclaim(wait bool) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !wait || len(d.copying) == 0 {
		return false, nil
	}
	d.copying[0].Release()
	d.copying = d.copying[1:]
	return true, nil
}

func (d *slowDevice) Close() error {
	for {
		if got, err := d.Reclaim(true); !got || err != nil {
			d.memory.Close()
			return err
		}
	}
}

// TestSlowDevice holds that the loader waits for a device that falls behind. New page-locked memory
// would take longer than the copies.
func TestSlowDevice(t *testing.T) {
	columns := []*synthetic{{name: "images", encoded: true, stored: 40_000, shape: tensor.Shape{50, 50, 3}}}
	device := &slowDevice{memory: slab.NewRing(0)}
	o := Options{BatchSize: 10, Workers: 2, Prefetch: 3, Shuffle: order.Sequential, Stager: func() (Stager, error) { return device, nil }}
	l, err := Open(t.Context(), SourceOf(&syntheticSource{1000, columns}), o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 3 {
		pass(t, l)
	}
	if s := l.Stats().Slabs; s.Created > 5 {
		t.Errorf("%d slabs were made, want at most prefetch + 2: %+v", s.Created, s)
	}
}
