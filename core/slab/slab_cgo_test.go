//go:build cgo && unix

package slab

import (
	"testing"

	"deeplake/core/errs"
)

// The kernel maps more shared memory than there is and kills the process at first touch; the ring
// must refuse before.
func TestRefusesMoreThanTheMachineHas(t *testing.T) {
	t.Parallel()
	r := NewRing(mib)
	defer r.Close()
	if s, err := r.Get(1 << 44); !errs.Is(err, errs.Invalid) {
		t.Errorf("16 TiB: %v, %v, want invalid", s, err)
	}
	if s := r.Stats(); s.Bytes != 0 || s.Slabs != 0 {
		t.Errorf("stats %+v after a refusal, want nothing mapped", s)
	}
}
