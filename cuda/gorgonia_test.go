//go:build gorgonia_cu && cgo && linux

package cuda

import (
	"bytes"
	"testing"
	"unsafe"

	"gorgonia.org/cu"

	"deeplake/core/errs"
	"deeplake/core/loader"
)

// TestGorgonia copies an array of a batch by the package cu, on a stream of its own.
func TestGorgonia(t *testing.T) {
	begin(t)
	rig := newRig(t, 0)
	defer rig.end()
	host, err := rig.host.Get(1 << 10)
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte{1, 2, 3, 4}, 100)
	copy(host.Bytes()[64:], want)
	memory, err := rig.Stage(&loader.Staging{Host: host, Size: 1 << 10, Copies: []loader.Copy{{Size: 1 << 10}}})
	if err != nil {
		t.Fatal(err)
	}
	batch := &loader.Batch{Slab: memory, Host: host}
	column := &loader.BatchColumn{Name: "x", Kind: loader.KindArray, Offset: 64, Size: 400}
	if _, err := DevicePtr(batch, &loader.BatchColumn{Name: "y", Kind: loader.KindArray, OnHost: true}, cu.Stream{}); !errs.Is(err, errs.Invalid) {
		t.Errorf("a column on the host: %v", err)
	}
	if _, err := DevicePtr(batch, &loader.BatchColumn{Name: "z", Kind: loader.KindList}, cu.Stream{}); !errs.Is(err, errs.Invalid) {
		t.Errorf("a list: %v", err)
	}
	stream := consumer(t, 0)
	// cu makes no stream of a handle
	at, err := DevicePtr(batch, column, *(*cu.Stream)(unsafe.Pointer(&stream)))
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want))
	if code := fake.consume(stream, uint64(at), unsafe.Pointer(&got[0]), uintptr(len(got))); code != success {
		t.Fatal(code)
	}
	if code := fake.consumed(stream); code != success {
		t.Fatal(code)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the array differs: %v", got[:8])
	}
	batch.Release()
}
