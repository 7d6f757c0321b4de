//go:build !cgo

package transform

import "unsafe"

// native is nothing in builds without C.
type native struct{}

type memory struct{}

func (memory) free() {}

func allocate(ints int) []int32 { return make([]int32, ints) } // never nil

func release([]int32) {}

func (ws *Workspace) ready(*Job) error { return nil }

func (*axis) layFast(*reach, []span, int, int, span) bool { return false }

func (j *Job) forget() { j.dst = nil }

// Deliver does the work, given the pixels of Region.
func (j *Job) Deliver(pix []byte, stride int) error {
	if err := j.check(pix, stride); err != nil {
		return err
	}
	j.run(pix, stride)
	return nil
}

// Native is nil: there is no C in this build.
func (j *Job) Native() (call, arg unsafe.Pointer) { return nil, nil }
