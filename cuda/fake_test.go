//go:build cgo && linux

package cuda

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
)

// TestMain builds the fake driver of go/tests/fakecuda and lets the package find it.
func TestMain(m *testing.M) { os.Exit(withFake(m.Run)) }

func withFake(run func() int) int {
	dir, err := os.MkdirTemp("", "fakecuda")
	if err == nil {
		defer os.RemoveAll(dir)
		err = loadFake(filepath.Join(dir, "libfakecuda.so"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build the fake driver:", err)
		return 1
	}
	return run()
}

func loadFake(path string) error {
	build := exec.Command("../go/tests/fakecuda/build.sh", path)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	if err := os.Setenv(DriverVariable, path); err != nil {
		return err
	}
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return err
	}
	for name, f := range map[string]any{
		"fail": &fake.fail, "delay": &fake.delay, "memory": &fake.memory, "hold": &fake.hold, "calls": &fake.calls,
		"violations": &fake.violations, "left": &fake.left, "deinitialize": &fake.deinitialize, "reset": &fake.reset,
		"consumer": &fake.consumer, "consume": &fake.consume, "consumed": &fake.consumed, "decoded": &fake.decoded, "run": &fake.run, "pixel": &fake.pixel,
	} {
		symbol, err := purego.Dlsym(handle, "fake_cuda_"+name)
		if err != nil {
			return err
		}
		purego.RegisterFunc(f, symbol)
	}
	return nil
}

// fake has the functions of fake.h. Its state is the process's: these tests are not parallel.
var fake struct {
	fail         func(call string, nth, code int32)
	delay        func(microseconds int32)
	memory       func(bytes uint64)
	hold         func(stream uintptr, held int32)
	calls        func(call string) int32
	violations   func(text *byte, size uintptr) int32
	left         func(text *byte, size uintptr) int32
	deinitialize func()
	reset        func()
	consumer     func(device int32, stream *uintptr) int32
	consume      func(stream uintptr, from uint64, to unsafe.Pointer, size uintptr) int32
	consumed     func(stream uintptr) int32
	decoded      func()
	pixel        func(file unsafe.Pointer, size uintptr, x, y uint32) uint8
	run          func(kernel string, blocks, threads uint32, tasks unsafe.Pointer, count uint32) int32
}

const launchFailed = 719

// said returns the text and the number that a function of the fake reports.
func said(f func(*byte, uintptr) int32) (string, int32) {
	room := make([]byte, 8<<10)
	n := f(&room[0], uintptr(len(room)))
	return text(&room[0]), n
}

// openSources opens the sources of the fake, so that a change of them counts for the cache of test
// results. Only files that are opened while tests run do.
var openSources = sync.OnceFunc(func() {
	for _, pattern := range []string{"../go/tests/fakecuda/*", "kernels/*", "../core/codec/jpeg/packed.h"} {
		sources, _ := filepath.Glob(pattern)
		for _, s := range sources {
			if f, err := os.Open(s); err == nil {
				_ = f.Close()
			}
		}
	}
})

// begin resets the fake. At the end of the test there is neither wrong use nor anything left.
func begin(t *testing.T) {
	t.Helper()
	openSources()
	fake.reset()
	t.Cleanup(func() {
		t.Helper()
		if what, n := said(fake.violations); n > 0 {
			t.Errorf("%d wrong uses of the driver:\n%s", n, what)
		}
		if what, n := said(fake.left); n > 0 {
			t.Errorf("%d things are left: %s", n, what)
		}
		fake.reset()
	})
}

// consumer returns a stream of the device's context, which must be open.
func consumer(t *testing.T, device int32) uintptr {
	t.Helper()
	var stream uintptr
	if code := fake.consumer(device, &stream); code != success {
		t.Fatalf("the fake gives no stream: %d", code)
	}
	return stream
}
