//go:build cgo && unix

package slab

import (
	"syscall"
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

// Another process sees the bytes of a file slab by its descriptor, until the ring unmaps it.
func TestFilesOfSlabs(t *testing.T) {
	t.Parallel()
	r := NewFileRing(0)
	s := get(t, r, mib)
	copy(s.Bytes(), "shared")
	fd := s.File()
	read := make([]byte, 6)
	if n, err := syscall.Pread(fd, read, 0); n != 6 || err != nil || string(read) != "shared" {
		t.Errorf("file %d has %q (%d, %v), want what the slab has", fd, read, n, err)
	}
	other, err := syscall.Dup(fd)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(other)
	r.Close()
	s.Release()
	var st syscall.Stat_t
	if err := syscall.Fstat(other, &st); err != nil || st.Size != 0 {
		t.Errorf("the file has %d bytes after the last release (%v), want none: others may map it", st.Size, err)
	}
	plain := NewRing(mib)
	defer plain.Close()
	p := get(t, plain, mib)
	defer p.Release()
	if p.File() != -1 {
		t.Errorf("a slab of another ring has file %d, want -1", p.File())
	}
}
